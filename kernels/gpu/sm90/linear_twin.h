/* linear_twin.h - five taps of a convolution as eight, by which two rows of y share products.
 *
 * Rows 2 i and 2 i + 1 of y, of the rows e[i] = x[2 i] and o[i] = x[2 i + 1] of x and the taps h0
 * ... h4:
 *   s   = h1 (o[i] + e[i + 1]) + h3 (o[i + 1] + e[i + 2])
 *   y0  = s + h0 e[i] + (h2 - h1) e[i + 1] + (h4 - h3) e[i + 2]
 *   y1  = s + (h0 - h1) o[i] + (h2 - h3) o[i + 1] + h4 o[i + 2]
 * which is eight products for two rows instead of ten. Sums and differences of operands are rounded
 * once more: the squared error of y grows by half. */
#ifndef BI_LINEAR_TWIN_H
#define BI_LINEAR_TWIN_H

#include "../../linear.h"

/* The eight of channel c of a row of w, [5][channels], in the order in which they are multiplied:
 * h1, h2 - h1, h0 - h1, h0, h3, h4 - h3, h2 - h3, h4, each rounded to float once. */
static inline void bi_twin_taps(const float *row, int64_t channels, int64_t c,
                                float eight[BI_TWIN_PRODUCTS])
{
    float h[BI_TWIN_TAPS];
    for (int i = 0; i < BI_TWIN_TAPS; i++)
        h[i] = row[i * channels + c];
    eight[0] = h[1];
    eight[1] = h[2] - h[1];
    eight[2] = h[0] - h[1];
    eight[3] = h[0];
    eight[4] = h[3];
    eight[5] = h[4] - h[3];
    eight[6] = h[2] - h[3];
    eight[7] = h[4];
}

#endif

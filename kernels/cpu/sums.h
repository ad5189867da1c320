/* sums.h - sums in float64 of columns, and how they lie among float32 (../list_sums.h). */
#ifndef BI_CPU_SUMS_H
#define BI_CPU_SUMS_H

#include <stdint.h>
#include <string.h>

enum { STRIP = 64 }; /* columns that a task sums up */

/* How many strips so many columns have. */
static inline int64_t strips(int32_t width)
{
    return (width + STRIP - 1) / STRIP;
}

/* Writes n sums as two rows: the second is what rounding leaves of the first. */
static inline void put_sums(float *y, int64_t ldy, const double *sums, int n)
{
    for (int c = 0; c < n; c++) {
        y[c] = (float)sums[c];
        y[ldy + c] = (float)(sums[c] - (double)y[c]);
    }
}

/* Reads n partial sums, whose words are rows `parts` and, ld further, the one below. */
static inline void load_parts(double *sums, const float *parts, int64_t ld, int n)
{
    for (int c = 0; c < n; c++) {
        uint32_t low, high;
        uint64_t bits;
        memcpy(&low, parts + c, sizeof low);
        memcpy(&high, parts + ld + c, sizeof high);
        bits = (uint64_t)high << 32 | low;
        memcpy(sums + c, &bits, sizeof bits);
    }
}

/* Writes them there. */
static inline void store_parts(float *parts, int64_t ld, const double *sums, int n)
{
    for (int c = 0; c < n; c++) {
        uint64_t bits;
        uint32_t low, high;
        memcpy(&bits, sums + c, sizeof bits);
        low = (uint32_t)bits;
        high = (uint32_t)(bits >> 32);
        memcpy(parts + c, &low, sizeof low);
        memcpy(parts + ld + c, &high, sizeof high);
    }
}

#endif

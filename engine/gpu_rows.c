/* gpu_rows.c - rows of weights as kernels of GPUs take them (ops/op.h: bi_layout), made of rows in
 * float32. */
#include <math.h>
#include <string.h>

#include "../kernels/cpu/cpu.h"
#include "../kernels/halves.h"
#include "../kernels/gpu/sm90/linear_terms.h"
#include "../kernels/gpu/sm90/linear_twin.h"
#include "gpu.h"

/* Is a row of this layout made of a whole row? */
static bool by_rows(enum bi_layout layout)
{
    return layout == BI_LAYOUT_LINEAR_HALVES || layout == BI_LAYOUT_LINEAR_TWIN ||
           layout == BI_LAYOUT_LINEAR_TERMS;
}

size_t bi_gpu_rows_unit(enum bi_layout layout, size_t k)
{
    return by_rows(layout) ? k : 1;
}

size_t bi_gpu_rows_size(enum bi_layout layout, size_t k)
{
    switch (layout) {
    case BI_LAYOUT_LINEAR_F16:
        return 2 * k;
    case BI_LAYOUT_LINEAR_HALVES:
        return 2 * BI_HALVES_TERMS * k;
    case BI_LAYOUT_LINEAR_TWIN:
        return 2 * BI_TWIN_PRODUCTS * (k / BI_TWIN_TAPS);
    case BI_LAYOUT_LINEAR_TERMS:
        return 2 * (size_t)bi_terms_stride((int64_t)k);
    default:
        return 4 * k;
    }
}

enum { RUN = 64 /* numbers that are converted at once */ };
_Static_assert((int)RUN == (int)BI_TERMS_SLICE, "terms are written slice by slice");

/* Rows of width k: high terms twice, low terms by a factor (halves.h). */
static void write_halves(const struct bi_cpu_kernels *host, uint16_t *dst, const float *src,
                         size_t rows, size_t k)
{
    for (size_t r = 0; r < rows; r++, src += k, dst += BI_HALVES_TERMS * k) {
        float low[RUN];
        host->to_half(dst, src, (int64_t)k);
        memcpy(dst + k, dst, k * sizeof *dst);
        for (size_t at = 0, n; at < k; at += n) {
            n = k - at < RUN ? k - at : RUN;
            for (size_t c = 0; c < n; c++)
                low[c] = (src[at + c] - bi_f16_to_f32(dst[at + c])) * (float)BI_HALVES_SCALE;
            host->to_half(dst + 2 * k + at, low, (int64_t)n);
        }
    }
}

/* Rows of five taps, of width k, as eight. */
static void write_twin(const struct bi_cpu_kernels *host, uint16_t *dst, const float *src,
                       size_t rows, size_t k)
{
    const size_t channels = k / BI_TWIN_TAPS;
    for (size_t r = 0; r < rows; r++, src += k, dst += BI_TWIN_PRODUCTS * channels)
        for (size_t at = 0, n; at < channels; at += n) {
            float eight[BI_TWIN_PRODUCTS][RUN];
            n = channels - at < RUN ? channels - at : RUN;
            for (size_t c = 0; c < n; c++) {
                float taps[BI_TWIN_PRODUCTS];
                bi_twin_taps(src, (int64_t)channels, (int64_t)(at + c), taps);
                for (size_t i = 0; i < BI_TWIN_PRODUCTS; i++)
                    eight[i][c] = taps[i];
            }
            for (size_t i = 0; i < BI_TWIN_PRODUCTS; i++)
                host->to_half(dst + i * channels + at, eight[i], (int64_t)n);
        }
}

/* Rows of width k in two terms, and their exponent. */
static void write_terms(const struct bi_cpu_kernels *host, uint16_t *dst, const float *src,
                        size_t rows, size_t k)
{
    const size_t columns = (size_t)bi_terms_columns((int64_t)k);
    for (size_t r = 0; r < rows; r++, src += k, dst += bi_terms_stride((int64_t)k)) {
        float largest = 0;
        for (size_t c = 0; c < k; c++)
            largest = fabsf(src[c]) > largest ? fabsf(src[c]) : largest;
        const int32_t q = bi_terms_unit(largest);
        const float scale = bi_terms_power(-q);
        for (size_t at = 0; at < columns; at += RUN) {
            float v[RUN] = {0};
            for (size_t c = 0; c < RUN && at + c < k; c++)
                v[bi_terms_place((int64_t)c)] = src[at + c] * scale;
            host->to_half(dst + at, v, RUN);
            for (size_t c = 0; c < RUN; c++)
                v[c] -= bi_f16_to_f32(dst[at + c]);
            host->to_half(dst + columns + at, v, RUN);
        }
        memset(dst + 2 * columns, 0, 16);
        memcpy(dst + 2 * columns, &q, sizeof q);
    }
}

void bi_gpu_rows_write(const struct bi_cpu_kernels *host, enum bi_layout layout, void *dst,
                       const float *src, size_t count, size_t k)
{
    if (layout == BI_LAYOUT_LINEAR_HALVES)
        write_halves(host, dst, src, count / k, k);
    else if (layout == BI_LAYOUT_LINEAR_TWIN)
        write_twin(host, dst, src, count / k, k);
    else if (layout == BI_LAYOUT_LINEAR_TERMS)
        write_terms(host, dst, src, count / k, k);
    else if (layout == BI_LAYOUT_LINEAR_F16)
        host->to_half(dst, src, (int64_t)count);
    else
        memcpy(dst, src, count * sizeof *src);
}

/* half.c - numbers to float16, for weights on their way to a GPU. */
#include "entries.h"

void BI_ISA_NAME(to_half)(uint16_t *dst, const float *src, int64_t n)
{
    int64_t i = 0;
    uint16_t last[VW];
    for (; i + VW <= n; i += VW)
        vf_store_half(dst + i, vf_load(src + i));
    if (i < n) {
        vf_store_half(last, vf_load_n(src + i, (int)(n - i)));
        memcpy(dst + i, last, (size_t)(n - i) * sizeof *last);
    }
}

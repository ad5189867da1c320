/* dtype.c - element types of tensors in files and graphs. */
#include "dtype.h"

#include <string.h>

static const struct {
    const char *safetensors, *text;
    unsigned bits;
} dtypes[] = {
#define BI_X(name, st, nbits, txt) {st, txt, nbits},
    BI_DTYPE_LIST(BI_X)
#undef BI_X
};

const char *bi_dtype_name(enum bi_dtype dtype)
{
    return (unsigned)dtype < BI_DTYPE_COUNT ? dtypes[dtype].text : "unknown";
}

unsigned bi_dtype_bits(enum bi_dtype dtype)
{
    return (unsigned)dtype < BI_DTYPE_COUNT ? dtypes[dtype].bits : 0;
}

enum bi_dtype bi_dtype_from_safetensors(const char *name, size_t n)
{
    unsigned i = 0;
    while (i < BI_DTYPE_COUNT &&
           (strlen(dtypes[i].safetensors) != n || memcmp(dtypes[i].safetensors, name, n)))
        i++;
    return (enum bi_dtype)i;
}

bool bi_dtype_is_loadable(enum bi_dtype dtype)
{
    return (unsigned)dtype <= BI_BOOL;
}

void bi_dtype_to_f32(enum bi_dtype dtype, const void *src, size_t n, float *dst)
{
    const uint8_t *p = src;
    switch (dtype) {
    case BI_F32:
        if (n)
            memcpy(dst, p, n * 4);
        break;
    case BI_F16:
        for (size_t i = 0; i < n; i++)
            dst[i] = bi_f16_to_f32(bi_le16(p + 2 * i));
        break;
    case BI_BF16:
        for (size_t i = 0; i < n; i++)
            dst[i] = bi_bf16_to_f32(bi_le16(p + 2 * i));
        break;
    case BI_F64:
        for (size_t i = 0; i < n; i++) {
            double d;
            memcpy(&d, p + 8 * i, 8);
            dst[i] = (float)d;
        }
        break;
    case BI_I64:
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)(int64_t)bi_le64(p + 8 * i);
        break;
    case BI_I32:
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)(int32_t)bi_le32(p + 4 * i);
        break;
    default: /* BI_U8, BI_BOOL */
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)p[i];
        break;
    }
}

/* dtype.h - element types of tensors in files and graphs. */
#ifndef BI_DTYPE_H
#define BI_DTYPE_H

#include "base.h"

/* X(NAME, safetensors name, bits, text) in the order of docs; the first eight are loaded,
 * the rest is listed only. */
#define BI_DTYPE_LIST(X)                                                                           \
    X(F32, "F32", 32, "float32")                                                                   \
    X(F16, "F16", 16, "float16")                                                                   \
    X(BF16, "BF16", 16, "bfloat16")                                                                \
    X(F64, "F64", 64, "float64")                                                                   \
    X(I64, "I64", 64, "int64")                                                                     \
    X(I32, "I32", 32, "int32")                                                                     \
    X(U8, "U8", 8, "uint8")                                                                        \
    X(BOOL, "BOOL", 8, "bool")                                                                     \
    X(I8, "I8", 8, "int8")                                                                         \
    X(I16, "I16", 16, "int16")                                                                     \
    X(U16, "U16", 16, "uint16")                                                                    \
    X(U32, "U32", 32, "uint32")                                                                    \
    X(U64, "U64", 64, "uint64")                                                                    \
    X(C64, "C64", 64, "complex64")                                                                 \
    X(C128, "C128", 128, "complex128")                                                             \
    X(F8_E5M2, "F8_E5M2", 8, "float8_e5m2")                                                        \
    X(F8_E4M3, "F8_E4M3", 8, "float8_e4m3")                                                        \
    X(F8_E8M0, "F8_E8M0", 8, "float8_e8m0")                                                        \
    X(F8_E4M3FNUZ, "F8_E4M3FNUZ", 8, "float8_e4m3fnuz")                                            \
    X(F8_E5M2FNUZ, "F8_E5M2FNUZ", 8, "float8_e5m2fnuz")                                            \
    X(F4, "F4", 4, "float4")                                                                       \
    X(F6_E2M3, "F6_E2M3", 6, "float6_e2m3")                                                        \
    X(F6_E3M2, "F6_E3M2", 6, "float6_e3m2")

enum bi_dtype {
#define BI_X(name, st, bits, text) BI_##name,
    BI_DTYPE_LIST(BI_X)
#undef BI_X
        BI_DTYPE_COUNT
};

const char *bi_dtype_name(enum bi_dtype dtype); /* "float32"; "unknown" for none of the list */
unsigned bi_dtype_bits(enum bi_dtype dtype);    /* bits of an element; 0 for none of the list */
/* By safetensors name, name[0, n) in capitals; BI_DTYPE_COUNT when unknown. */
enum bi_dtype bi_dtype_from_safetensors(const char *name, size_t n);
/* Can values of this type be read as float32 (bi_dtype_to_f32)? */
bool bi_dtype_is_loadable(enum bi_dtype dtype);
/* Converts n packed little-endian elements at src (any alignment) to float32: 64-bit types and I32
 * are rounded to nearest, a BOOL is its byte. Loadable types only: another one is read as U8. */
void bi_dtype_to_f32(enum bi_dtype dtype, const void *src, size_t n, float *dst);

#endif

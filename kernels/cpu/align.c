/* align.c - alignment in 8- and 16-bit lanes; the code is in align_lanes.h. */
#include "align.h"

#include <string.h>

#include "entries.h"
#include "lanes.h"

/* One by one, which says what letters there are. */
static bool encode_slowly(struct bi_align_coder *c, const char *letters, size_t n, uint8_t *codes)
{
    uint8_t all = 0;
    for (size_t k = 0; k < n; k++) {
        const uint8_t letter = (uint8_t)letters[k], code = c->code[letter];
        codes[k] = code;
        all |= code;
        c->used |= code < 32 ? 1u << code : 0;
        if (letter >= '@' && letter < '@' + 32)
            c->met[letter - '@'] = code;
    }
    if (all < BI_ALIGN_NO_CODE)
        return true;
    memset(codes, 0, n); /* kernels get codes that are in the tables */
    return false;
}

/* Vectors of upper-case letters that were met before; a sequence with any other goes slowly. */
static bool encode(struct bi_align_coder *c, const char *letters, size_t n, uint8_t *codes)
{
#ifdef LANES_PICK32
    const v8 first = v8_set1('@'), past = v8_set1(32);
    v8 all = v8_set1(0);
    if (n < W8)
        return encode_slowly(c, letters, n, codes);
    for (size_t k = 0; k < n; k += W8) {
        const size_t at = k + W8 <= n ? k : n - W8;
        const v8 index = v8_sub(v8_load(letters + at), first), code = v8_pick32(c->met, index);
        all = v8_or(all, v8_or(code, v8_ge_bit(index, past, BI_ALIGN_NO_CODE)));
        v8_store(codes + at, code);
    }
    if (!v8_high(all))
        return true;
#endif
    return encode_slowly(c, letters, n, codes);
}

#include "align_wave.h"

#include "align_local.h"

#define LANE 8
#include "align_lanes.h"
#undef LANE
#define LANE 16
#include "align_lanes.h"
#undef LANE

#if BI_ISA_ID == BI_ISA_ID_avx512

static void many_vbmi(struct bi_align_many *a)
{
    if (!bi_cpu_align_many_vbmi(a))
        many8(a);
}

static const struct bi_align_kernels kernels_vbmi = {.bits = 8,
                                                     .lanes = W8,
                                                     .rows = {W8, 2 * W8, 4 * W8},
                                                     .columns = MANY_COLUMNS,
                                                     .many = many_vbmi,
                                                     .many_scratch = many_scratch8,
                                                     .strip = strip8,
                                                     .wave = wave,
                                                     .local16 = local16,
                                                     .local32 = local32,
                                                     .encode = encode};

#endif

const struct bi_align_kernels *BI_ISA_NAME(align)(int bits)
{
#if BI_ISA_ID == BI_ISA_ID_avx512
    if (bits == 8 && bi_cpu_has_vbmi())
        return &kernels_vbmi;
#endif
    return bits == 8 ? &align_kernels8 : &align_kernels16;
}

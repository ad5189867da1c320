/* mix.c - cases of the mix kernel. */
#include "checkkernel.h"
#include "kernels/attention.h"

static void check(struct ck *ck, const struct ck_lengths *n, int heads, int d, bool grids,
                  const char *note)
{
    typedef struct bi_mix_params T;
    const enum bi_axis axis = grids ? BI_AXIS_GRID : BI_AXIS_TOKENS;
    const int64_t width = (int64_t)heads * d, longest = n->longest + 3;
    T p = {.n_heads = heads,
           .head_dim = d,
           .ldh = longest,
           .axis = (int32_t)axis,
           .seqs = grids ? BI_AXIS_TOKENS : BI_AXIS_SEQS};
    double pairs = 0;
    for (int i = 0; i < n->n; i++)
        pairs += (double)n->of[i] * n->of[i];
    ck_check(ck,
             &(struct ck_case){.entry = "mix",
                               .reference = bi_op_mix.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .start = offsetof(T, start),
                               .row_start = grids,
                               .arrays =
                                   {
                                       {CK_ARRAY(T, p, ldp), CK_IN, axis, .width = heads * longest,
                                        .fill = CK_MAPS, .limit = longest},
                                       {CK_ARRAY(T, v, ldv), CK_IN, axis, .width = width},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, axis, .width = width},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               .absolute = 1e-5,
                               .relative = 1e-5,
                               .flops = 2 * pairs * (double)width,
                               .note = note});
}

static void cases(struct ck *ck)
{
    static const int widths[] = {16, 24, 32, 64, 128, 1, 6, 10};
    static const int32_t edges[] = {1, 2, 3, 12, 15, 16, 17, 47, 48, 49, 127, 128, 129, 0, -1};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(1, 475);
        check(ck, &n, 20, 16, false, "H=20 d=16 S=475");
        check(ck, &n, 20, 64, false, "H=20 d=64 S=475");
        return;
    }
    for (int i = 0; i < 40; i++) {
        struct ck_lengths n = i < 8 ? ck_lengths_of(edges) : ck_lengths(ck, 6, 100);
        check(ck, &n, (int)ck_random(ck, 1, 3), widths[i % 8], false, i < 8 ? "edges" : "random");
    }
    static const int32_t grids[] = {1, 2, 3, 17, 0, 5, -1};
    struct ck_lengths n = ck_lengths_of(grids);
    check(ck, &n, 2, 10, true, "rows of grids");
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"mix_f16", {CK_AT(mix, v), CK_AT(mix, y), CK_END}, 1e-6, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_mix = {.stem = "mix", .cases = cases, .entries = entries};

/* block_attention.c - cases of the block_attention kernel. */
#include "checkkernel.h"
#include "kernels/block_attention.h"

static void check(struct ck *ck, const struct ck_lengths *n, int heads, int d, const char *note)
{
    typedef struct bi_block_attention_params T;
    const enum bi_axis tokens = BI_AXIS_TOKENS;
    T p = {.n_heads = heads, .head_dim = d, .scale = 0.7f, .ldb = heads};
    const int64_t width = (int64_t)heads * d;
    ck_check(ck, &(struct ck_case){.entry = "block_attention",
                                   .reference = bi_op_block_attention.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .start = offsetof(T, start),
                                   .rows = offsetof(T, rows),
                                   .arrays =
                                       {
                                           {CK_ARRAY(T, q, ldq), CK_IN, tokens, .width = width},
                                           {CK_ARRAY(T, k, ldk), CK_IN, tokens, .width = width},
                                           {CK_ARRAY(T, v, ldv), CK_IN, tokens, .width = width},
                                           {CK_PLAIN(T, bias), CK_IN, tokens,
                                            .width = (int64_t)BI_BLOCK_KEYS * heads},
                                           {CK_ARRAY(T, y, ldy), CK_OUT, tokens, .width = width},
                                       },
                                   .lengths = n->of,
                                   .n_seqs = n->n,
                                   .absolute = 2e-5,
                                   .relative = 1e-5,
                                   .nmse = 1e-11,
                                   .flops = 4.0 * n->tokens * BI_BLOCK_KEYS * (double)width,
                                   .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 31, 32, 33, 47, 48, 49, 80, 81, 0, 200, -1};
    static const int widths[] = {32, 16, 2, 3, 64, 30};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(1, 8000);
        check(ck, &n, 4, 32, "H=4 d=32, 8000 atoms");
        return;
    }
    for (int i = 0; i < 18; i++) {
        struct ck_lengths n = i < 3 ? ck_lengths_of(edges) : ck_lengths(ck, 5, 170);
        check(ck, &n, (int)ck_random(ck, 1, 4), widths[i % 6], i < 3 ? "edges" : "random");
    }
}

const struct ck_op ck_block_attention = {.stem = "block_attention", .cases = cases};

/* window_attention.c - cases of the window_attention kernel. */
#include "checkkernel.h"
#include "kernels/window_attention.h"

static void check(struct ck *ck, const struct ck_lengths *n, int heads, int d, int reach,
                  const char *note)
{
    typedef struct bi_window_attention_params T;
    const enum bi_axis tokens = BI_AXIS_TOKENS;
    T p = {.n_heads = heads, .head_dim = d, .reach = reach, .scale = 1.3f, .eps = 1e-6f};
    const int64_t width = (int64_t)heads * d;
    ck_check(ck, &(struct ck_case){
                     .entry = "window_attention",
                     .reference = bi_op_window_attention.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .start = offsetof(T, start),
                     .rows = offsetof(T, rows),
                     .arrays =
                         {
                             {CK_ARRAY(T, q, ldq), CK_IN, tokens, .width = width},
                             {CK_ARRAY(T, k, ldk), CK_IN, tokens, .width = width},
                             {CK_ARRAY(T, v, ldv), CK_IN, tokens, .width = width},
                             {CK_ARRAY(T, table, ldt), CK_IN, tokens, .width = d, .scale = 0.7},
                             {CK_ARRAY(T, y, ldy), CK_OUT, tokens, .width = width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 2e-5,
                     .relative = 1e-5,
                     .nmse = 1e-11,
                     .flops = 4.0 * n->tokens * (2.0 * reach + 1) * (double)width,
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 31, 32, 33, 63, 64, 65, 0, 200, -1};
    static const int widths[] = {32, 16, 2, 24, 64, 30};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(1, 8000);
        check(ck, &n, 4, 32, 64, "H=4 d=32, 8000 atoms, reach 64");
        return;
    }
    for (int i = 0; i < 24; i++) {
        struct ck_lengths n = i < 4 ? ck_lengths_of(edges) : ck_lengths(ck, 5, 150);
        check(ck, &n, (int)ck_random(ck, 1, 4), widths[i % 6],
              i % 4 == 3 ? (int)ck_random(ck, 0, 300) : (int)ck_random(ck, 0, 70),
              i < 4 ? "edges" : "random");
    }
}

const struct ck_op ck_window_attention = {.stem = "window_attention", .cases = cases};

/* point_attention.c - cases of the point_attention kernel. */
#include "checkkernel.h"
#include "kernels/point_attention.h"

#include <math.h>

/* Sizes of a case. */
struct sizes {
    int heads, c, keys, values, bins, pair;
    bool bias;
};

static void check(struct ck *ck, const struct ck_lengths *n, struct sizes s, int first,
                  const char *note)
{
    typedef struct bi_point_attention_params T;
    const int64_t width = (int64_t)s.heads * s.c;
    const enum bi_axis tokens = BI_AXIS_TOKENS;
    T p = {.n_heads = s.heads,
           .head_dim = s.c,
           .n_keys = s.keys,
           .n_values = s.values,
           .n_bins = s.bins,
           .width = s.pair,
           .scale = 1 / sqrtf(3 * (float)s.c),
           .by_distance = 0.5f / sqrtf(13.5f * (float)s.keys),
           .eps = 1e-7f};
    double pairs = 0;
    for (int i = 0; i < n->n; i++)
        pairs += (double)n->of[i] * n->of[i];
    ck_check(ck, &(struct ck_case){
                     .entry = "point_attention",
                     .reference = bi_op_point_attention.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .start = offsetof(T, start),
                     .grid_start = s.bias || s.pair ? offsetof(T, grid_start) : CK_NONE,
                     .arrays =
                         {
                             {CK_ARRAY(T, q, ldq), CK_IN, tokens, .width = width},
                             {CK_ARRAY(T, k, ldk), CK_IN, tokens, .width = width},
                             {CK_ARRAY(T, v, ldv), CK_IN, tokens, .width = width},
                             {CK_ARRAY(T, points, ldp), CK_IN, tokens,
                              .width = 3 * (int64_t)s.heads * s.keys, .scale = 0.7},
                             {CK_ARRAY(T, more, ldm), CK_IN, tokens,
                              .width = 3 * (int64_t)s.heads * (s.keys + s.values), .scale = 0.7},
                             {CK_ARRAY(T, frame, ldf), CK_IN, tokens, .width = 7, .scale = 0.5,
                              .absent = first},
                             {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = s.heads},
                             {CK_PLAIN(T, number), CK_IN, tokens, .width = 1, .fill = CK_IDS,
                              .limit = 700, .absent = !s.bins},
                             {CK_ARRAY(T, bias, ldb), CK_IN, BI_AXIS_GRID, .width = s.heads,
                              .scale = 3, .absent = !s.bias},
                             {CK_ARRAY(T, pair, ldz), CK_IN, BI_AXIS_GRID, .width = s.pair,
                              .absent = !s.pair},
                             {CK_ARRAY(T, y, ldy), CK_OUT, tokens,
                              .width = s.heads * (s.c + 4 * (int64_t)s.values + s.bins + s.pair)},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 1e-5,
                     .relative = 1e-5,
                     .flops = pairs * s.heads * (4.0 * s.c + 9.0 * s.keys + 6.0 * s.values),
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 31, 32, 33, 127, 128, 129, 0, 5, -1};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(16, 230);
        check(ck, &n, (struct sizes){12, 16, 4, 8, 128, 0, false}, 0, "H=12 S=230 x 16, 128 bins");
        check(ck, &n, (struct sizes){12, 16, 4, 8, 0, 0, false}, 0, "H=12 S=230 x 16");
        check(ck, &n, (struct sizes){12, 16, 4, 8, 0, 128, true}, 0, "H=12 S=230 x 16, pairs");
        return;
    }
    for (int i = 0; i < 16; i++) {
        struct ck_lengths n = i < 3 ? ck_lengths_of(edges) : ck_lengths(ck, 5, 90);
        struct sizes s = {(int)ck_random(ck, 1, 3), 16, 4, 8, i % 3 ? 128 : 0, 0, false};
        if (i % 2) {
            s.c = (int)ck_random(ck, 1, BI_POINT_HEAD);
            s.keys = (int)ck_random(ck, 1, BI_POINT_KEYS);
            s.values = (int)ck_random(ck, 1, (BI_POINT_VALUES - s.c) / 3);
            s.bins = (int)ck_random(ck, 0, BI_POINT_BINS);
        }
        check(ck, &n, s, i % 4 == 2, i < 3 ? "edges" : "random");
        s.bias = i % 4 != 3;
        s.pair = i < 3 ? BI_POINT_PAIR : (int)ck_random(ck, !s.bias, BI_POINT_PAIR);
        s.bins = 0;
        check(ck, &n, s, i % 4 == 2, i < 3 ? "edges, pairs" : "random, pairs");
    }
}

const struct ck_op ck_point_attention = {.stem = "point_attention", .cases = cases};

/* rel_attention.c - cases of the rel_attention kernel. */
#include <math.h>

#include "checkkernel.h"
#include "kernels/rel_attention.h"

static void check(struct ck *ck, const struct ck_lengths *one, int windows, int n, int first,
                  int queries, int heads, int key_dim, int value_dim, const char *note)
{
    typedef struct bi_rel_attention_params T;
    const int64_t d = heads * key_dim, e = heads * value_dim;
    T p = {.n = n,
           .first = first,
           .n_queries = queries,
           .n_heads = heads,
           .key_dim = key_dim,
           .value_dim = value_dim,
           .n_windows = windows,
           .scale = 1 / sqrtf((float)key_dim)};
    ck_check(
        ck,
        &(struct ck_case){
            .entry = "rel_attention",
            .reference = bi_op_rel_attention.reference,
            .params = &p,
            .params_size = sizeof p,
            .arrays =
                {
                    {CK_ARRAY(T, q, ldq), CK_IN, BI_AXIS_FIXED, .rows = windows * queries,
                     .width = d},
                    {CK_ARRAY(T, k, ldk), CK_IN, BI_AXIS_FIXED, .rows = windows * n, .width = d},
                    {CK_ARRAY(T, v, ldv), CK_IN, BI_AXIS_FIXED, .rows = windows * n, .width = e},
                    {CK_ARRAY(T, r, ldr), CK_IN, BI_AXIS_FIXED, .rows = 2 * (int64_t)n - 1,
                     .width = d},
                    {CK_PLAIN(T, u), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = d, .scale = 0.5},
                    {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = d, .scale = 0.5},
                    {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED, .rows = windows * queries,
                     .width = e},
                },
            .lengths = one->of,
            .n_seqs = one->n,
            .absolute = 1e-5,
            .relative = 1e-5,
            .nmse = 1e-11,
            .flops = 2.0 * windows * heads * queries * n * (2 * key_dim + value_dim),
            .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t lengths[] = {1, -1};
    struct ck_lengths one = ck_lengths_of(lengths);
    if (ck_bench(ck)) {
        check(ck, &one, 1, 1536, 0, 1536, 8, 64, 192, "n=1536 H=8 d=64 e=192");
        return;
    }
    check(ck, &one, 1, 1, 0, 1, 1, 1, 1, "one token");
    check(ck, &one, 1, 300, 0, 300, 2, 16, 24, "two tiles");
    check(ck, &one, 1, 130, 0, 130, 2, 64, 192, "d=64 e=192");
    check(ck, &one, 1, 320, 66, 129, 1, 64, 192, "d=64 e=192, some queries");
    check(ck, &one, 2, 128, 5, 70, 2, 64, 192, "two windows");
    check(ck, &one, 17, 64, 3, 1, 8, 64, 192, "more tiles than multiprocessors");
    for (int i = 0; i < 24; i++) {
        const int n = (int)ck_random(ck, 1, i % 3 ? 150 : 290);
        const int first = i % 2 ? (int)ck_random(ck, 0, n - 1) : 0;
        check(ck, &one, i % 4 ? 1 : 3, n, first, (int)ck_random(ck, 1, n - first),
              (int)ck_random(ck, 1, 3), (int)ck_random(ck, 1, 66), (int)ck_random(ck, 1, 100),
              "random");
    }
}

/* clang-format off */
#define REL_ATTENTION(name)                                                                        \
    {name,                                                                                         \
     {CK_AT(rel_attention, q), CK_AT(rel_attention, k), CK_AT(rel_attention, v),                   \
      CK_AT(rel_attention, r), CK_AT(rel_attention, y), CK_END},                                   \
     2e-2, 4e-3, 2e-5, NULL}
static const struct ck_entry entries[] = {
    REL_ATTENTION("rel_attention_f16"),
    REL_ATTENTION("rel_attention_sm90_f16"),
    {0},
};
/* clang-format on */

const struct ck_op ck_rel_attention = {.stem = "rel_attention", .cases = cases, .entries = entries};

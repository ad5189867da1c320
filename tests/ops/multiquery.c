/* multiquery.c - cases of the multiquery kernel: with and without rotation, bias and cap. */
#include <math.h>

#include "checkkernel.h"
#include "kernels/multiquery.h"

typedef struct bi_multiquery_params T;

/* Runs of n = side pool rows; even widths d where they are rotated. */
static void check(struct ck *ck, const struct ck_lengths *one, int runs, int side, int pool,
                  int heads, int d, int e, bool rotated, bool biased, float cap, const char *note)
{
    const int64_t n = (int64_t)side * pool, rows = runs * n;
    T p = {.rows = rows,
           .n = (int32_t)n,
           .n_heads = heads,
           .d = d,
           .e = e,
           .pool = pool,
           .scale = 1 / sqrtf((float)d),
           .cap = cap};
    ck_check(ck, &(struct ck_case){
                     .entry = "multiquery",
                     .reference = bi_op_multiquery.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .arrays =
                         {
                             {CK_ARRAY(T, q, ldq), CK_IN, BI_AXIS_FIXED, .rows = rows,
                              .width = heads * d, .scale = 2},
                             {CK_ARRAY(T, k, ldk), CK_IN, BI_AXIS_FIXED, .rows = rows, .width = d},
                             {CK_ARRAY(T, v, ldv), CK_IN, BI_AXIS_FIXED, .rows = rows, .width = e},
                             {CK_PLAIN(T, table), CK_IN, BI_AXIS_FIXED, .rows = n, .width = d,
                              .absent = !rotated},
                             {CK_ARRAY(T, bias, ldb), CK_IN, BI_AXIS_FIXED,
                              .rows = biased ? (int64_t)runs * side * side : 1, .width = heads,
                              .scale = 3, .absent = !biased},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED, .rows = rows,
                              .width = heads * e},
                         },
                     .lengths = one->of,
                     .n_seqs = one->n,
                     .absolute = 1e-5,
                     .relative = 1e-5,
                     .nmse = 1e-11,
                     .flops = 2.0 * (double)rows * heads * (double)n * (d + e),
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    if (ck_bench(ck)) {
        check(ck, &one, 1, 64, 16, 8, 128, 192, true, true, 5, "n=1024 H=8 d=128 e=192 rotated");
        check(ck, &one, 1, 512, 16, 8, 128, 192, false, true, 5, "n=8192 H=8 d=128 e=192 bias");
        check(ck, &one, 512, 512, 1, 1, 128, 128, false, false, 0, "512 runs of 512, d=e=128");
        check(ck, &one, 1, 4096, 1, 2, 192, 192, false, false, 0, "n=4096 H=2 d=e=192");
        return;
    }
    check(ck, &one, 1, 1, 1, 1, 1, 1, false, false, 0, "one row");
    check(ck, &one, 1, 9, 16, 2, 16, 24, true, true, 5, "two tiles, rotated, bias, cap");
    check(ck, &one, 5, 20, 1, 1, 16, 16, false, false, 0, "runs");
    check(ck, &one, 2, 3, 16, 8, 128, 192, true, true, 5, "d=128 e=192");
    check(ck, &one, 2, 5, 16, 8, 128, 192, false, true, 5, "d=128 e=192, no table");
    check(ck, &one, 2, 9, 16, 1, 128, 128, false, true, 0, "d=e=128, bias, no cap");
    check(ck, &one, 2, 41, 1, 2, 192, 192, true, false, 0, "d=e=192, rotated, no cap");
    check(ck, &one, 2, 45, 1, 2, 192, 192, false, false, 0, "d=e=192, no table");
    check(ck, &one, 1, 3, 16, 3, 160, 129, false, true, 0, "widths between, bias");
    check(ck, &one, 1, 7, 48, 3, 24, 33, false, true, 2, "widths that are padded");
    check(ck, &one, 3, 150, 1, 2, 32, 16, false, false, 7, "keys that end in a tile");
    for (int i = 0; i < 24; i++) {
        const int pool = i % 3 ? (int)ck_random(ck, 1, 16) : 1;
        check(ck, &one, (int)ck_random(ck, 1, 3), (int)ck_random(ck, 1, 8 + 160 / pool / 4), pool,
              (int)ck_random(ck, 1, 4), 2 * (int)ck_random(ck, 1, 33), (int)ck_random(ck, 1, 70),
              i % 2, i % 4 < 2, i % 5 ? 5 : 0, "random");
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"multiquery_capped_f16_f16",
     {CK_AT(multiquery, q), CK_AT(multiquery, k), CK_AT(multiquery, v), CK_AT(multiquery, y),
      CK_END}, 8e-3, 2e-3, 1e-5, NULL},
    {"multiquery_f16_f16",
     {CK_AT(multiquery, q), CK_AT(multiquery, k), CK_AT(multiquery, v), CK_AT(multiquery, y),
      CK_END}, 8e-3, 2e-3, 1e-5, NULL},
    {"multiquery_wide_f16_f16",
     {CK_AT(multiquery, q), CK_AT(multiquery, k), CK_AT(multiquery, v), CK_AT(multiquery, y),
      CK_END}, 8e-3, 2e-3, 1e-5, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_multiquery = {.stem = "multiquery", .cases = cases, .entries = entries};

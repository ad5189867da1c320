/* rope.c - cases of the rope kernel. */
#include "checkkernel.h"
#include "kernels/rope.h"

typedef struct bi_rope_params T;

/* Runs of n rows, without sequences. */
static void check_runs(struct ck *ck, int runs, int n, int heads, int d)
{
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    const int64_t width = (int64_t)heads * d, rows = (int64_t)runs * n;
    T p = {.rows = rows, .n = n, .n_heads = heads, .head_dim = d};
    ck_check(
        ck,
        &(struct ck_case){
            .entry = "rope",
            .reference = bi_op_rope.reference,
            .params = &p,
            .params_size = sizeof p,
            .arrays =
                {
                    {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED, .rows = rows, .width = width},
                    {CK_PLAIN(T, table), CK_IN, BI_AXIS_FIXED, .rows = n, .width = d, .scale = 0.7},
                    {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED, .rows = rows, .width = width},
                },
            .lengths = one.of,
            .n_seqs = one.n,
            .absolute = 1e-6,
            .relative = 1e-6,
            .note = "runs"});
}

static void check(struct ck *ck, const struct ck_lengths *n, int heads, int d, const char *note)
{
    const int64_t width = (int64_t)heads * d;
    T p = {.axis = BI_AXIS_TOKENS, .n_heads = heads, .head_dim = d};
    ck_check(ck, &(struct ck_case){
                     .entry = "rope",
                     .reference = bi_op_rope.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .start = offsetof(T, start),
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = width},
                             {CK_PLAIN(T, table), CK_IN, BI_AXIS_LONGEST, .width = d, .scale = 0.7},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 1e-6,
                     .relative = 1e-6,
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const int widths[] = {16, 24, 32, 64, 128, 2, 6, 10};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 20, 32, "3800 x 640");
        return;
    }
    for (int i = 0; i < 40; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, 5), widths[i % 8], "random");
        check_runs(ck, (int)ck_random(ck, 1, 3), (int)ck_random(ck, 1, 60),
                   (int)ck_random(ck, 1, 5), widths[i % 8]);
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"rope_f16", {CK_AT(rope, x), CK_AT(rope, y), CK_END}, 1e-6, 6e-4, 1e-7, NULL},
    {"rope_f32_f16", {CK_AT(rope, y), CK_END}, 1e-6, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_rope = {.stem = "rope", .cases = cases, .entries = entries};

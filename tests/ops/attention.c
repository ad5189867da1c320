/* attention.c - cases of the attention kernel. */
#include "checkkernel.h"
#include "kernels/attention.h"

static void check_bias(struct ck *ck, const struct ck_lengths *n, int heads, int d, int table,
                       float scale, double spread, int reach, const char *note)
{
    struct bi_attention_params p = {.n_heads = heads,
                                    .head_dim = d,
                                    .scale = scale,
                                    .reach = reach,
                                    .axis = BI_AXIS_TOKENS,
                                    .seqs = BI_AXIS_SEQS};
    typedef struct bi_attention_params T;
    const int64_t width = (int64_t)heads * d;
    double pairs = 0; /* a score of hundreds is known to 1e-5, its exponential no better */
    for (int i = 0; i < n->n; i++)
        pairs += (double)n->of[i] * n->of[i];
    ck_check(
        ck,
        &(struct ck_case){
            .entry = "attention",
            .reference = bi_op_attention.reference,
            .params = &p,
            .params_size = sizeof p,
            .start = offsetof(T, start),
            .arrays =
                {
                    {CK_ARRAY(T, q, ldq), CK_IN, BI_AXIS_TOKENS, .width = width, .scale = spread},
                    {CK_ARRAY(T, k, ldk), CK_IN, BI_AXIS_TOKENS, .width = width, .scale = spread},
                    {CK_ARRAY(T, v, ldv), CK_IN, BI_AXIS_TOKENS, .width = width},
                    {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                    {CK_PLAIN(T, table), CK_IN, BI_AXIS_LONGEST, .width = d, .scale = 0.7,
                     .absent = !table},
                    {CK_PLAIN(T, bias), CK_IN, BI_AXIS_FIXED, .rows = heads, .width = 2 * reach + 1,
                     .scale = 3, .absent = !reach},
                },
            .lengths = n->of,
            .n_seqs = n->n,
            .absolute = spread > 4 ? 3e-4
                        : reach    ? 4e-5
                                   : 1e-5,
            .relative = 1e-5,
            .nmse = spread > 4 ? 1e-9 : 1e-11,
            .flops = 4 * pairs * (double)width,
            .note = note});
}

/* Float32 alone: numbers that are no float16, and their products near 1 or nothing. of: scales of
 * q, k, v. */
static void check_hostile(struct ck *ck, const char *entry, int d, int table, const double of[3],
                          enum ck_fill fill, const char *note)
{
    typedef struct bi_attention_params T;
    static const int32_t lengths[] = {1, 33, 129, 0, 70, -1};
    struct ck_lengths n = ck_lengths_of(lengths);
    T p = {
        .n_heads = 2, .head_dim = d, .scale = 0.3f, .axis = BI_AXIS_TOKENS, .seqs = BI_AXIS_SEQS};
    ck_check(
        ck, &(struct ck_case){.entry = entry,
                              .reference = bi_op_attention.reference,
                              .params = &p,
                              .params_size = sizeof p,
                              .start = offsetof(T, start),
                              .arrays =
                                  {
                                      {CK_ARRAY(T, q, ldq), CK_IN, BI_AXIS_TOKENS, .width = 2 * d,
                                       .fill = fill, .scale = of[0]},
                                      {CK_ARRAY(T, k, ldk), CK_IN, BI_AXIS_TOKENS, .width = 2 * d,
                                       .fill = fill, .scale = of[1]},
                                      {CK_ARRAY(T, v, ldv), CK_IN, BI_AXIS_TOKENS, .width = 2 * d,
                                       .fill = fill, .scale = of[2]},
                                      {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = 2 * d},
                                      {CK_PLAIN(T, table), CK_IN, BI_AXIS_LONGEST, .width = d,
                                       .scale = 0.7, .absent = !table},
                                  },
                              .lengths = n.of,
                              .n_seqs = n.n,
                              .gpu_only = true,
                              .absolute = of[2] * (fill == CK_WIDE ? 0.1 : 1e-5),
                              .relative = 1e-5,
                              .nmse = 1e-11,
                              .note = note});
}

/* A bias by pairs; grids: attention over their rows, which share it. */
static void check_pairs(struct ck *ck, const struct ck_lengths *n, int heads, int d, int table,
                        double spread, bool grids, const char *note)
{
    typedef struct bi_attention_params T;
    const enum bi_axis axis = grids ? BI_AXIS_GRID : BI_AXIS_TOKENS;
    T p = {.n_heads = heads,
           .head_dim = d,
           .scale = 0.3f,
           .axis = (int32_t)axis,
           .seqs = grids ? BI_AXIS_TOKENS : BI_AXIS_SEQS};
    const int64_t width = (int64_t)heads * d;
    ck_check(ck, &(struct ck_case){
                     .entry = "attention",
                     .reference = bi_op_attention.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .start = offsetof(T, start),
                     .row_start = grids,
                     .grid_start = offsetof(T, grid_start),
                     .arrays =
                         {
                             {CK_ARRAY(T, q, ldq), CK_IN, axis, .width = width, .scale = spread},
                             {CK_ARRAY(T, k, ldk), CK_IN, axis, .width = width, .scale = spread},
                             {CK_ARRAY(T, v, ldv), CK_IN, axis, .width = width},
                             {CK_ARRAY(T, y, ldy), CK_OUT, axis, .width = width},
                             {CK_PLAIN(T, table), CK_IN, BI_AXIS_LONGEST, .width = d, .scale = 0.7,
                              .absent = !table},
                             {CK_ARRAY(T, grid_bias, ldgb), CK_IN, BI_AXIS_GRID, .width = heads,
                              .scale = 3},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = spread > 4 ? 3e-4 : 4e-5,
                     .relative = 1e-5,
                     .nmse = spread > 4 ? 1e-9 : 1e-11,
                     .note = note});
}

static void check(struct ck *ck, const struct ck_lengths *n, int heads, int d, int table,
                  float scale, double spread, const char *note)
{
    check_bias(ck, n, heads, d, table, scale, spread, 0, note);
}

static void cases(struct ck *ck)
{
    static const int widths[] = {16, 24, 32, 64, 128, 2, 6, 8, 10, 48, 72, 80};
    if (ck_bench(ck)) {
        static const struct {
            int d, s, table;
            const char *note;
        } sizes[] = {{16, 475, 1, "H=20 d=16 S=475"},   {24, 475, 1, "H=20 d=24 S=475"},
                     {32, 475, 1, "H=20 d=32 S=475"},   {128, 475, 1, "H=20 d=128 S=475"},
                     {64, 475, 1, "H=20 d=64 S=475"},   {64, 2000, 1, "H=20 d=64 S=2000"},
                     {16, 80, 1, "H=20 d=16 S=80 x16"}, {64, 475, 0, "not rotated"},
                     {128, 475, 0, "not rotated"}};
        for (size_t i = 0; i < BI_COUNT(sizes); i++) {
            struct ck_lengths n = ck_same(sizes[i].s < 100 ? 16 : 1, sizes[i].s);
            check(ck, &n, 20, sizes[i].d, sizes[i].table, 0.25f, 1, sizes[i].note);
        }
        return;
    }
    /* every width against every edge of blocks and tiles */
    static const int32_t edges[] = {1,  2,  3,  11,  12,  13,  15, 16, 17,
                                    47, 48, 49, 127, 128, 129, 0,  -1};
    for (size_t i = 0; i < BI_COUNT(widths); i++) {
        struct ck_lengths n = ck_lengths_of(edges);
        check(ck, &n, 1 + (int)(i % 3), widths[i], 1, 0.3f, 1, "edges");
        check_bias(ck, &n, 2, widths[i], 0, 0.3f, 1, 1 + (int)ck_random(ck, 0, 99), "edges, bias");
        n = ck_lengths(ck, 6, 150);
        check(ck, &n, (int)ck_random(ck, 1, 3), widths[i], 0, 1, 0.5, "no table");
        check_bias(ck, &n, (int)ck_random(ck, 1, 3), widths[i], (int)i % 2, 0.3f, 1,
                   (int)ck_random(ck, 1, 200), "bias");
    }
    for (int i = 0; i < 48; i++) {
        struct ck_lengths n = ck_lengths(ck, 8, 100);
        check(ck, &n, (int)ck_random(ck, 1, 4), widths[ck_random(ck, 0, BI_COUNT(widths) - 1)],
              (int)ck_random(ck, 0, 1), 0.25f, 1, "random");
    }
    /* more rows than a task takes; scores of hundreds, so that maxima move by whole tiles */
    static const int32_t longer[] = {479, 480, 481, -1}, longest[] = {1030, -1};
    struct ck_lengths n = ck_lengths_of(longer);
    check(ck, &n, 1, 16, 1, 0.25f, 1, "rows of a task");
    n = ck_lengths_of(longest);
    check(ck, &n, 1, 16, 1, 0.25f, 1, "long");
    check_bias(ck, &n, 1, 16, 0, 0.25f, 1, 91, "long, bias");
    n = ck_lengths(ck, 4, 300);
    check(ck, &n, 2, 16, 0, 1, 8, "large scores");
    n = ck_lengths(ck, 4, 300);
    check(ck, &n, 2, 24, 0, 1, 1e-4, "small scores");
    for (size_t i = 0; i < BI_COUNT(widths); i++) {
        static const int32_t grids[] = {1, 2, 3, 17, 0, 33, -1};
        n = ck_lengths_of(edges);
        check_pairs(ck, &n, 1 + (int)(i % 3), widths[i], (int)i % 2, 1, false, "edges, pairs");
        n = ck_lengths_of(grids);
        check_pairs(ck, &n, 1 + (int)(i % 3), widths[i], (int)i % 2, i == 2 ? 8 : 1, true,
                    "rows of grids");
    }
    static const struct {
        const char *entry;
        int d;
    } full[] = {{"attention_near_d32_f32", 20},   {"attention_near_d48_f32", 40},
                {"attention_near_d64_f32", 64},   {"attention_near_d80_f32", 72},
                {"attention_near_d128_f32", 128}, {"attention_d64_f32", 64}};
    static const double scales[][3] = {
        {1e30, 1e-30, 1e30}, {1e-30, 1e30, 1e-30}, {1e-25, 1e-25, 1}, {1, 1, 1e34}};
    for (size_t i = 0; i < BI_COUNT(full); i++) {
        for (size_t j = 0; j < BI_COUNT(scales); j++)
            check_hostile(ck, full[i].entry, full[i].d, (int)j % 2, scales[j], CK_NORMAL,
                          "hostile scales");
        check_hostile(ck, full[i].entry, full[i].d, 0, (const double[]){1e-6, 1e-2, 1e20}, CK_WIDE,
                      "all magnitudes");
    }
    /* in rows of few keys often all scores are far below zero */
    n = ck_lengths_of(edges);
    check(ck, &n, 3, 16, 0, 1, 8, "large scores, few keys");
}

/* clang-format off */
#define ATTENTION(name)                                                                            \
    {name,                                                                                         \
     {CK_AT(attention, q), CK_AT(attention, k), CK_AT(attention, v), CK_AT(attention, y), CK_END}, \
     8e-3, 2e-3, 1e-5, NULL}
static const struct ck_entry entries[] = {
    ATTENTION("attention_sm90_d16_f16"),
    ATTENTION("attention_sm90_d32_f16"),
    ATTENTION("attention_sm90_d64_f16"),
    ATTENTION("attention_sm90_d128_f16"),
    ATTENTION("attention_d16_f16"),
    ATTENTION("attention_d32_f16"),
    ATTENTION("attention_d64_f16"),
    ATTENTION("attention_d128_f16"),
    ATTENTION("attention_grid_d32_f16"),
    ATTENTION("attention_grid_d64_f16"),
    ATTENTION("attention_bias_d64_f16"),
    ATTENTION("attention_bias_d128_f16"),
    {0},
};
/* clang-format on */

const struct ck_op ck_attention = {.stem = "attention", .cases = cases, .entries = entries};

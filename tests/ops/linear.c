/* linear.c - cases of the linear kernel with everything that may follow the product. */
#include "checkkernel.h"
#include "kernels/linear.h"

static void check_gated(struct ck *ck, const struct ck_lengths *n, int out, int in, int act,
                        const char *note)
{
    typedef struct bi_linear_params T;
    T p = {.axis = BI_AXIS_TOKENS, .n = 2 * out, .k = in, .act = act, .gated = out};
    ck_check(ck,
             &(struct ck_case){.entry = "linear",
                               .reference = bi_op_linear.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .rows = offsetof(T, rows),
                               .gated = offsetof(T, gated),
                               .arrays =
                                   {
                                       {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = in},
                                       {CK_PLAIN(T, w), CK_WEIGHT, BI_AXIS_FIXED, .rows = 2 * out,
                                        .width = in, .scale = 0.2},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = out},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               .absolute = 5e-5 + 4e-7 * in,
                               .relative = 4e-5,
                               .nmse = 1e-11,
                               .flops = 4.0 * n->tokens * out * in,
                               .cpu_only = !n->tokens,
                               .note = note});
}

static void check(struct ck *ck, const struct ck_lengths *n, int out, int in, int act, int bias,
                  int residual, const char *note)
{
    typedef struct bi_linear_params T;
    T p = {.axis = BI_AXIS_TOKENS, .n = out, .k = in, .act = act};
    ck_check(ck,
             &(struct ck_case){.entry = "linear",
                               .reference = bi_op_linear.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .rows = offsetof(T, rows),
                               .arrays =
                                   {
                                       {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = in},
                                       {CK_PLAIN(T, w), CK_WEIGHT, BI_AXIS_FIXED, .rows = out,
                                        .width = in, .scale = 0.2},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = out},
                                       {CK_PLAIN(T, bias), CK_IN, BI_AXIS_FIXED, .rows = 1,
                                        .width = out, .absent = !bias},
                                       {CK_ARRAY(T, residual, ldr), CK_IN, BI_AXIS_TOKENS,
                                        .width = out, .absent = !residual},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               /* long sums of a matrix unit, which cuts, are off by more */
                               .absolute = 2e-5 + (in > 700 ? 3e-8 * (in - 700) : 0),
                               .relative = 1e-5,
                               .nmse = 1e-11,
                               .flops = 2.0 * n->tokens * out * in,
                               .cpu_only = !n->tokens, /* for how the CPU splits a product */
                               .note = note});
}

/* Heads of width d, of which the first are rotated (queries, keys) and the last are not
 * (values). */
static void check_rotated(struct ck *ck, const struct ck_lengths *n, int rotated, int others, int d,
                          int in, int bias, const char *note)
{
    typedef struct bi_linear_params T;
    const int out = (rotated + others) * d;
    T p = {.axis = BI_AXIS_TOKENS, .n = out, .k = in, .n_rotated = rotated * d, .head_dim = d};
    ck_check(ck, &(struct ck_case){
                     .entry = "linear",
                     .reference = bi_op_linear.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .start = offsetof(T, start),
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = in},
                             {CK_PLAIN(T, w), CK_WEIGHT, BI_AXIS_FIXED, .rows = out, .width = in,
                              .scale = 0.2},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = out},
                             {CK_PLAIN(T, bias), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = out,
                              .absent = !bias},
                             {CK_PLAIN(T, table), CK_IN, BI_AXIS_LONGEST, .width = d, .scale = 0.7},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 4e-5,
                     .relative = 1e-5,
                     .nmse = 1e-11,
                     .flops = 2.0 * n->tokens * out * in,
                     .gpu_only = 1,
                     .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(2, 475);
        check_rotated(ck, &n, 40, 20, 64, 1280, 1, "950 x 3840 x 1280 rotated");
        check(ck, &n, 960, 320, BI_ACT_NONE, 1, 0, "950 x 960 x 320");
        check(ck, &n, 1280, 320, BI_ACT_GELU, 1, 0, "950 x 1280 x 320 gelu");
        check(ck, &n, 320, 1280, BI_ACT_NONE, 1, 1, "950 x 320 x 1280 residual");
        check_gated(ck, &n, 1536, 960, BI_ACT_SILU, "950 x 2 1536 x 960 silu gate");
        check(ck, &n, 1280, 1280, BI_ACT_NONE, 1, 1, "950 x 1280 x 1280 residual");
        check(ck, &n, 128, 128, BI_ACT_NONE, 0, 1, "950 x 128 x 128 residual");
        return;
    }
    for (int i = 0; i < 80; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 50);
        check(ck, &n, (int)ck_random(ck, 1, i % 4 ? 70 : 400),
              (int)ck_random(ck, 1, i % 5 ? 90 : 700),
              i % 2   ? BI_ACT_GELU
              : i % 3 ? BI_ACT_NONE
                      : BI_ACT_RELU,
              i / 2 % 2, i / 4 % 2, "random");
    }
    for (int i = 0; i < 12; i++) { /* GPUs multiply these in terms (linear_near.cu) */
        struct ck_lengths n = ck_lengths(ck, 6, 50);
        check(ck, &n, (int)ck_random(ck, 64, 200), (int)ck_random(ck, 64, i % 4 ? 200 : 1500),
              BI_ACT_NONE, i % 2, i / 2 % 2, "both wide");
    }
    for (int i = 0; i < 12; i++) { /* as Hopper does (linear_terms_sm90.cu) */
        struct ck_lengths n = ck_lengths(ck, 6, 90);
        check(ck, &n, (int)ck_random(ck, 256, 500), (int)ck_random(ck, 256, i % 4 ? 400 : 2500),
              i % 5, i % 2, i / 2 % 2, "large");
        check_gated(ck, &n, (int)ck_random(ck, 8, 14) * 16, (int)ck_random(ck, 256, 400),
                    BI_ACT_SILU, "gated, large");
    }
    for (int i = 0; i < 36; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 50);
        int act = 1 + i % 4, in = (int)ck_random(ck, 1, i % 5 ? 90 : 700);
        check(ck, &n, (int)ck_random(ck, 1, 100), in, act, i / 4 % 2, i / 8 % 2, "activations");
        check_gated(ck, &n, (int)ck_random(ck, 1, 10) * 16, in, act, "gated");
        check_gated(ck, &n, (int)ck_random(ck, 1, 70), i % 9 ? in : 1500, act, "gated, odd");
    }
    for (int i = 0; i < 24; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 50);
        check_rotated(ck, &n, (int)ck_random(ck, 1, 6), (int)ck_random(ck, 0, 3), 16 << i % 3,
                      (int)ck_random(ck, 1, i % 4 ? 12 : 80) * 8, i / 3 % 2, "rotated");
    }
    struct ck_lengths none = ck_same(1, 0);
    check(ck, &none, 70, 90, BI_ACT_NONE, 1, 1, "no rows");
    check_gated(ck, &none, 48, 90, BI_ACT_GELU, "gated, no rows");
}

/* clang-format off */
#define X_W CK_AT(linear, x), CK_AT(linear, w)
#define LINEAR_HALF(name, same)                                                                    \
    {name, {X_W, CK_AT(linear, residual), CK_AT(linear, y), CK_END}, 1e-6, 6e-4, 1e-7, same}
#define LINEAR_FULL(name, same) {name, {X_W, CK_END}, 0, 0, 0, same}
#define LINEAR_GATED(name, same) {name, {X_W, CK_AT(linear, y), CK_END}, 1e-6, 6e-4, 1e-7, same}
#define LINEAR_SM90(kind, same) LINEAR_HALF("linear_sm90_" kind "f16", same)
#define LINEAR_FOLLOWED(entry, more, same)                                                         \
    {"linear_sm90_" entry "_f16",                                                                  \
     {X_W, CK_AT(linear, y), CK_AT(linear, more), CK_AT(linear, residual), CK_AT(linear, more_x),  \
      CK_AT(linear, more_w), CK_END},                                                              \
     1e-6, 6e-4, 1e-7, same}
/* sums of rows and differences of taps are rounded, too */
#define LINEAR_TWIN(entry, same)                                                                   \
    {"linear_sm90_" entry "_f16", {X_W, CK_AT(linear, y), CK_AT(linear, also), CK_END},            \
     3e-2, 2e-3, 4e-7, same}
#define LINEAR_POOLED(tile, same)                                                                  \
    {"linear_sm90_" tile "pooled_f32", {X_W, CK_AT(linear, odd), CK_END}, 0, 0, 0, same}
static const struct ck_entry entries[] = {
    LINEAR_HALF("linear_f16_f16", NULL),
    LINEAR_HALF("linear_small_f16_f16", "linear_f16_f16"),
    LINEAR_FULL("linear_f16_f32", NULL),
    LINEAR_FULL("linear_small_f16_f32", "linear_f16_f32"),
    LINEAR_GATED("linear_gated_f16_f16", NULL),
    LINEAR_GATED("linear_gated_small_f16_f16", "linear_gated_f16_f16"),
    LINEAR_SM90("small_", NULL),
    LINEAR_SM90("", "linear_sm90_small_f16"),
    LINEAR_SM90("128x64_", "linear_sm90_small_f16"),
    LINEAR_SM90("64x64_", "linear_sm90_small_f16"),
    LINEAR_SM90("32x64_", "linear_sm90_small_f16"),
    LINEAR_SM90("32x32_", "linear_sm90_small_f16"),
    LINEAR_SM90("192x96_", "linear_sm90_small_f16"),
    LINEAR_SM90("192x192_", "linear_sm90_small_f16"),
    LINEAR_SM90("rotated_", NULL),
    LINEAR_SM90("small_rotated_", "linear_sm90_rotated_f16"),
    LINEAR_SM90("128x64_rotated_", "linear_sm90_rotated_f16"),
    LINEAR_SM90("64x64_rotated_", "linear_sm90_rotated_f16"),
    LINEAR_SM90("32x64_rotated_", "linear_sm90_rotated_f16"),
    LINEAR_SM90("gated_", NULL),
    LINEAR_SM90("small_gated_", "linear_sm90_gated_f16"),
    LINEAR_FOLLOWED("normed", also, NULL),
    LINEAR_FOLLOWED("small_normed", also, "linear_sm90_normed_f16"),
    LINEAR_FOLLOWED("192x192_normed", also, "linear_sm90_normed_f16"),
    LINEAR_TWIN("twin_normed", NULL),
    LINEAR_TWIN("small_twin_normed", "linear_sm90_twin_normed_f16"),
    LINEAR_FOLLOWED("paired", also, NULL),
    LINEAR_FOLLOWED("small_paired", also, "linear_sm90_paired_f16"),
    LINEAR_FOLLOWED("192x192_paired", also, "linear_sm90_paired_f16"),
    LINEAR_FOLLOWED("pooled", odd, NULL),
    LINEAR_FOLLOWED("small_pooled", odd, "linear_sm90_pooled_f16"),
    LINEAR_FOLLOWED("192x96_pooled", odd, "linear_sm90_pooled_f16"),
    LINEAR_POOLED("", NULL),
    LINEAR_POOLED("small_", "linear_sm90_pooled_f32"),
    LINEAR_POOLED("192x96_", "linear_sm90_pooled_f32"),
    LINEAR_FULL("linear_sm90_small_f32", NULL),
    LINEAR_FULL("linear_sm90_f32", "linear_sm90_small_f32"),
    LINEAR_FULL("linear_sm90_128x64_f32", "linear_sm90_small_f32"),
    LINEAR_FULL("linear_sm90_64x64_f32", "linear_sm90_small_f32"),
    LINEAR_FULL("linear_sm90_32x64_f32", "linear_sm90_small_f32"),
    LINEAR_FULL("linear_sm90_32x32_f32", "linear_sm90_small_f32"),
    LINEAR_FULL("linear_sm90_192x96_f32", "linear_sm90_small_f32"),
    {"linear_sm90_terms_64x64_f32", {CK_END}, 0, 0, 0, NULL},
    {"linear_sm90_terms_64x32_f32", {CK_END}, 0, 0, 0, "linear_sm90_terms_64x64_f32"},
    {"linear_sm90_terms_128x128_f32", {CK_END}, 0, 0, 0, "linear_sm90_terms_64x64_f32"},
    {"linear_sm90_terms_128x160_f32", {CK_END}, 0, 0, 0, "linear_sm90_terms_64x64_f32"},
    {"linear_small_f32", {CK_END}, 0, 0, 0, "linear_f32"},
    {"linear_near_32_f32", {CK_END}, 0, 0, 0, "linear_near_f32"},
    {"linear_near_few_f32", {CK_END}, 0, 0, 0, "linear_near_f32"},
    {0},
};
/* clang-format on */

const struct ck_op ck_linear = {.stem = "linear", .cases = cases, .entries = entries};

/* layernorm.c - cases of the layernorm kernel. */
#include "checkkernel.h"
#include "kernels/layernorm.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, double spread, int groups,
                  int bias, const char *note)
{
    /* two or three numbers may lie so close together that their mean is known no better */
    typedef struct bi_layernorm_params T;
    T p = {.axis = BI_AXIS_TOKENS, .width = width, .groups = groups, .eps = 1e-5f};
    const int whole = (groups > 1 ? groups : 1) * width;
    ck_check(
        ck, &(struct ck_case){.entry = "layernorm",
                              .reference = bi_op_layernorm.reference,
                              .params = &p,
                              .params_size = sizeof p,
                              .rows = offsetof(T, rows),
                              .arrays =
                                  {
                                      {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = whole,
                                       .scale = spread},
                                      {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1,
                                       .width = whole, .fill = CK_GAIN, .scale = 0.3},
                                      {CK_PLAIN(T, b), CK_IN, BI_AXIS_FIXED, .rows = 1,
                                       .width = whole, .absent = !bias},
                                      {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = whole},
                                  },
                              .lengths = n->of,
                              .n_seqs = n->n,
                              .absolute = width < 8 ? 4e-3 : 4e-6,
                              .relative = 4e-6,
                              .nmse = width < 8 ? 1e-7 : 1e-12,
                              .note = note});
}

/* Queries and keys side by side, each normalised and then rotated. */
static void check_rotated(struct ck *ck, const struct ck_lengths *n, int heads, int d, int bias,
                          const char *note)
{
    typedef struct bi_layernorm_params T;
    const int width = heads * d;
    T p = {.axis = BI_AXIS_TOKENS, .width = width, .groups = 2, .eps = 1e-5f, .head_dim = d};
    ck_check(ck, &(struct ck_case){
                     .entry = "layernorm",
                     .reference = bi_op_layernorm.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .start = offsetof(T, start),
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = 2 * width},
                             {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = 2 * width,
                              .fill = CK_GAIN, .scale = 0.3},
                             {CK_PLAIN(T, b), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = 2 * width,
                              .absent = !bias},
                             {CK_PLAIN(T, table), CK_IN, BI_AXIS_LONGEST, .width = d, .scale = 0.7},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = 2 * width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 8e-6,
                     .relative = 4e-6,
                     .nmse = 1e-12,
                     .gpu_only = 1,
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const double spreads[] = {1, 1e-3, 100};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 320, 1, 0, 1, "3800 x 320");
        check(ck, &n, 1280, 1, 0, 1, "3800 x 1280");
        check(ck, &n, 1536, 1, 0, 1, "3800 x 1536");
        return;
    }
    for (int width = 1; width <= 40; width++) {
        struct ck_lengths n = ck_lengths(ck, 4, 20);
        check(ck, &n, width, spreads[width % 3], width % 4, width % 3 != 1, "narrow");
    }
    struct ck_lengths many = ck_same(9, 500); /* more rows than the blocks of a GPU take at once */
    check(ck, &many, 36, 1, 0, 1, "many rows");
    struct ck_lengths some = ck_lengths(ck, 3, 20);
    for (int width = 1276; width <= 1540; width += 52)
        check(ck, &some, width, 1, 0, 1, "wide");
    for (int i = 0; i < 30; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, 1400), spreads[i % 3], i % 5 == 4 ? 2 : 0, i % 2,
              "random");
    }
    for (int i = 0; i < 16; i++) {
        struct ck_lengths n = ck_lengths(ck, 5, 40);
        check_rotated(ck, &n, (int)ck_random(ck, 1, 9), 16 << i % 4, i % 3, "rotated");
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"layernorm_f32_f16", {CK_AT(layernorm, y), CK_AT(layernorm, copy), CK_END},
     1e-6, 6e-4, 1e-7, NULL},
    {"layernorm_wide_f32_f16", {CK_AT(layernorm, y), CK_AT(layernorm, copy), CK_END},
     1e-6, 6e-4, 1e-7, "layernorm_f32_f16"},
    {"layernorm_rotated_f16_f16", {CK_AT(layernorm, x), CK_AT(layernorm, y), CK_END},
     1e-6, 6e-4, 1e-7, NULL},
    {"layernorm_f16_f16",
     {CK_AT(layernorm, x), CK_AT(layernorm, y), CK_AT(layernorm, copy), CK_END},
     1e-6, 6e-4, 1e-7, NULL},
    {"layernorm_f32_f32", {CK_AT(layernorm, copy), CK_END}, 1e-6, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_layernorm = {.stem = "layernorm", .cases = cases, .entries = entries};

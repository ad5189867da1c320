/* norm_act.c - cases of the norm_act kernel. */
#include "checkkernel.h"
#include "kernels/norm_act.h"

static void check(struct ck *ck, const struct ck_lengths *n, int rows, int width, int pad, int act,
                  int affine, enum ck_fill fill, const char *note)
{
    typedef struct bi_norm_act_params T;
    const enum bi_axis axis = rows ? BI_AXIS_FIXED : BI_AXIS_TOKENS;
    T p = {.axis = (int32_t)axis, .width = width, .pad = pad, .act = act, .rows = rows};
    ck_check(
        ck, &(struct ck_case){
                .entry = "norm_act",
                .reference = bi_op_norm_act.reference,
                .params = &p,
                .params_size = sizeof p,
                .rows = rows ? CK_NONE : offsetof(T, rows),
                .arrays =
                    {
                        {CK_ARRAY(T, x, ldx), CK_IN, axis, .rows = rows, .width = width,
                         .fill = fill, .scale = 4},
                        {CK_ARRAY(T, y, ldy), CK_OUT, axis, .rows = rows + 2 * pad, .width = width},
                        {CK_PLAIN(T, scale), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width,
                         .fill = CK_GAIN, .absent = !affine},
                        {CK_PLAIN(T, shift), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width,
                         .absent = !affine},
                    },
                /* a sum near zero, and then e^(1.702 z) of a large one, is as good as its terms */
                .lengths = n->of,
                .n_seqs = n->n,
                .absolute = affine ? 4e-6 : 2e-7,
                .relative = 3e-6,
                .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t one[] = {1, -1};
    struct ck_lengths n = ck_lengths_of(one);
    if (ck_bench(ck)) {
        for (int act = BI_NORM_ACT_NONE; act <= BI_NORM_ACT_TANH; act++)
            check(ck, &n, 4096, 768, 2, act, 1, CK_NORMAL, "4096 x 768");
        return;
    }
    for (int i = 0; i < 72; i++) {
        const int act = i % 6, wide = i % 4 == 3;
        struct ck_lengths packed = ck_lengths(ck, 6, 60);
        check(ck, i % 2 ? &packed : &n, i % 2 ? 0 : (int)ck_random(ck, 1, 40),
              (int)ck_random(ck, 1, i % 3 ? 70 : 700), i % 2 ? 0 : (int)ck_random(ck, 0, 7), act,
              !wide && i % 7 < 5, wide ? CK_WIDE : CK_NORMAL, "random");
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"norm_act_f32_f32", {CK_END}, 1e-6, 1e-6, 0, NULL},
    {"norm_act_f32_f16", {CK_AT(norm_act, y), CK_END}, 1e-6, 6e-4, 1e-7, NULL},
    {"norm_act_f16_f16", {CK_AT(norm_act, x), CK_AT(norm_act, y), CK_END},
     1e-6, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_norm_act = {.stem = "norm_act", .cases = cases, .entries = entries};

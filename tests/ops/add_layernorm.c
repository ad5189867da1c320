/* add_layernorm.c - cases of the layernorm kernel with a sum in front. */
#include "checkkernel.h"
#include "kernels/layernorm.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, double spread,
                  const char *note)
{
    /* two or three numbers may lie so close together that their mean is known no better */
    typedef struct bi_layernorm_params T;
    T p = {.axis = BI_AXIS_TOKENS, .width = width, .eps = 1e-5f};
    ck_check(
        ck,
        &(struct ck_case){
            .entry = "layernorm",
            .reference = bi_op_add_layernorm.reference,
            .params = &p,
            .params_size = sizeof p,
            .rows = offsetof(T, rows),
            .arrays =
                {
                    {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = width, .scale = spread},
                    {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width,
                     .fill = CK_GAIN, .scale = 0.3},
                    {CK_PLAIN(T, b), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width},
                    {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                    {CK_ARRAY(T, add, lda), CK_IN, BI_AXIS_TOKENS, .width = width, .scale = spread},
                    {CK_ARRAY(T, sum, lds), CK_OUT, BI_AXIS_TOKENS, .width = width},
                },
            .lengths = n->of,
            .n_seqs = n->n,
            .absolute = width < 8 ? 4e-3 : 4e-6,
            .relative = 4e-6,
            .nmse = width < 8 ? 1e-7 : 1e-12,
            .note = note});
}

static void cases(struct ck *ck)
{
    static const double spreads[] = {1, 1e-3, 100};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 320, 1, "3800 x 320");
        check(ck, &n, 1280, 1, "3800 x 1280");
        return;
    }
    for (int width = 1; width <= 40; width++) {
        struct ck_lengths n = ck_lengths(ck, 4, 20);
        check(ck, &n, width, spreads[width % 3], "narrow");
    }
    for (int i = 0; i < 30; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, 1400), spreads[i % 3], "random");
    }
}

const struct ck_op ck_add_layernorm = {.stem = "add_layernorm", .cases = cases};

/* unary.h - cases of unary, which computes several functions. */
#ifndef BI_TEST_UNARY_H
#define BI_TEST_UNARY_H

#include "checkkernel.h"

#include "kernels/unary.h"

struct unary_case {
    int32_t function;
    float factor;
    void (*reference)(const void *params);
    double scale; /* the inputs are about as large */
    double absolute, relative;
};

static inline void unary_check(struct ck *ck, const struct unary_case *of,
                               const struct ck_lengths *n, int width, enum ck_fill fill,
                               enum bi_axis axis, const char *note)
{
    typedef struct bi_unary_params T;
    T p = {.axis = (int32_t)axis, .width = width, .function = of->function, .factor = of->factor};
    ck_check(ck, &(struct ck_case){
                     .entry = "unary",
                     .reference = of->reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, axis, .rows = n->tokens, .width = width,
                              .fill = fill, .scale = of->scale},
                             {CK_ARRAY(T, y, ldy), CK_OUT, axis, .rows = n->tokens, .width = width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = of->absolute,
                     .relative = of->relative,
                     .note = note});
}

static inline void unary_cases(struct ck *ck, const struct unary_case *of)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        unary_check(ck, of, &n, 640, CK_NORMAL, BI_AXIS_TOKENS, "3800 x 640");
        return;
    }
    for (int i = 0; i < 40; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        unary_check(ck, of, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 700),
                    i % 4 ? CK_NORMAL : CK_WIDE, i % 5 ? BI_AXIS_TOKENS : BI_AXIS_FIXED, "random");
    }
}

#endif

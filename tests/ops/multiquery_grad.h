/* multiquery_grad.h - cases of the derivatives of multiquery, which have one struct of params. */
#ifndef BI_TEST_MULTIQUERY_GRAD_H
#define BI_TEST_MULTIQUERY_GRAD_H

#include <math.h>

#include "checkkernel.h"
#include "kernels/multiquery_grad.h"

struct mg_shape {
    int runs, side, pool, heads, d, e;
    bool rotated, biased;
    float cap;
};

enum mg_which { MG_QUERIES, MG_KEYS, MG_BIAS };

/* Runs of n = side pool rows; even widths d where they are rotated. */
static inline void mg_check(struct ck *ck, enum mg_which which, const struct mg_shape *shape,
                            const char *note)
{
    typedef struct bi_multiquery_grad_params T;
    static const char *const names[] = {"multiquery_grad", "multiquery_grad_keys",
                                        "multiquery_grad_bias"};
    static void (*const *const references[])(const void *params) = {
        &bi_op_multiquery_grad.reference, &bi_op_multiquery_grad_keys.reference,
        &bi_op_multiquery_grad_bias.reference};
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    const struct mg_shape *s = shape;
    const int64_t n = (int64_t)s->side * s->pool, rows = s->runs * n, h = s->heads;
    const int64_t places = (int64_t)s->runs * s->side * s->side;
    const bool absent = which == MG_BIAS ? false : !s->biased;
    T p = {.of = {.rows = rows,
                  .n = (int32_t)n,
                  .n_heads = s->heads,
                  .d = s->d,
                  .e = s->e,
                  .pool = s->pool,
                  .scale = 1 / sqrtf((float)s->d),
                  .cap = s->cap}};
    struct ck_case c = {
        .entry = names[which],
        .reference = *references[which],
        .params = &p,
        .params_size = sizeof p,
        .arrays = {{CK_ARRAY(T, of.q, of.ldq), CK_IN, BI_AXIS_FIXED, .rows = rows,
                    .width = h * s->d},
                   {CK_ARRAY(T, of.k, of.ldk), CK_IN, BI_AXIS_FIXED, .rows = rows, .width = s->d},
                   {CK_ARRAY(T, of.v, of.ldv), CK_IN, BI_AXIS_FIXED, .rows = rows, .width = s->e},
                   {CK_PLAIN(T, of.table), CK_IN, BI_AXIS_FIXED, .rows = n, .width = s->d,
                    .absent = !s->rotated},
                   {CK_ARRAY(T, of.bias, of.ldb), CK_IN, BI_AXIS_FIXED, .rows = places, .width = h,
                    .absent = absent},
                   {CK_ARRAY(T, dy, lddy), CK_IN, BI_AXIS_FIXED, .rows = rows, .width = h * s->e,
                    .scale = which == MG_QUERIES ? 1 : 0.1},
                   /* a softmax gives sums near the largest logit, 1 / n and 0 */
                   {CK_ARRAY(T, sums, lds), which == MG_QUERIES ? CK_OUT : CK_IN, BI_AXIS_FIXED,
                    .rows = rows, .width = 3 * h, .scale = which == MG_QUERIES ? 1 : 0.05}},
        .lengths = one.of,
        .n_seqs = one.n,
        .absolute = 5e-5,
        .relative = 5e-5,
        .nmse = 1e-10,
        .note = note};
    if (which == MG_QUERIES)
        c.arrays[7] = (struct ck_array){CK_ARRAY(T, dq, lddq), CK_OUT, BI_AXIS_FIXED, .rows = rows,
                                        .width = h * s->d};
    if (which == MG_KEYS) {
        c.arrays[7] = (struct ck_array){CK_ARRAY(T, dk, lddk), CK_OUT, BI_AXIS_FIXED, .rows = rows,
                                        .width = s->d};
        c.arrays[8] = (struct ck_array){CK_ARRAY(T, dv, lddv), CK_OUT, BI_AXIS_FIXED, .rows = rows,
                                        .width = s->e};
    }
    if (which == MG_BIAS)
        c.arrays[7] = (struct ck_array){CK_ARRAY(T, dbias, lddb), CK_OUT, BI_AXIS_FIXED,
                                        .rows = places, .width = h};
    ck_check(ck, &c);
}

static inline void mg_cases(struct ck *ck, enum mg_which which)
{
    static const struct mg_shape shapes[] = {
        {1, 1, 1, 1, 1, 1, false, false, 0},    {1, 5, 16, 2, 16, 24, true, true, 5},
        {3, 20, 1, 1, 16, 16, false, false, 0}, {2, 3, 16, 2, 128, 192, true, true, 5},
        {1, 9, 3, 2, 128, 256, false, true, 0}, {1, 2, 128, 1, 6, 5, true, true, 2}};
    if (ck_bench(ck))
        return;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        mg_check(ck, which, &shapes[i], "chosen");
    for (int i = 0; i < 10; i++) {
        const int pool = i % 3 ? (int)ck_random(ck, 1, 16) : 1;
        const struct mg_shape s = {(int)ck_random(ck, 1, 3),
                                   (int)ck_random(ck, 1, 4 + 50 / pool),
                                   pool,
                                   (int)ck_random(ck, 1, 3),
                                   2 * (int)ck_random(ck, 1, 20),
                                   (int)ck_random(ck, 1, 50),
                                   i % 2,
                                   i % 4 < 2,
                                   i % 5 ? 5 : 0};
        mg_check(ck, which, &s, "random");
    }
}

#endif

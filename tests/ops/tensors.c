/* tensors.c - cases of ops on the matrices and on the edges of atoms, and their derivatives. */
#include "tensors.h"

#include <math.h>

enum { CASES = 12 };

/* ---- matrices ---- */

static float *numbers(struct ck_graph *g, int64_t n)
{
    return ck_graph_floats(g, n, 0.7);
}

void ck_matrices(struct ck *ck, const struct bi_op *op, enum bi_tensor_function function)
{
    typedef struct bi_tensor_map_params T;
    const struct bi_tensor_shape *shape = &bi_tensor_shapes[function];
    for (int i = 0; i < (ck_bench(ck) ? 1 : CASES); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, ck_bench(ck) ? 500 : i ? 60 : 1, 4);
        const int64_t n = g.counts.n_tokens;
        T p = {.counts = &g.counts,
               .rows = n + i % 3,
               .width = ck_bench(ck) ? 128 : (int32_t)ck_random(ck, 1, i % 2 ? 40 : 140),
               .function = (int32_t)function,
               .parts = i % 2 ? 3 : 1,
               .so3 = i % 4 == 1};
        struct ck_fixed c = {.entry = "tensor_map",
                             .reference = op->reference,
                             .params = &p,
                             .params_size = sizeof p,
                             .absolute = 3e-5,
                             .relative = 3e-6,
                             .note = op->name};
        int n_in = 0;
        for (int k = 0; k < BI_TENSOR_MAP_IN; k++) {
            const int m = bi_tensor_numbers(shape->n_in[k], p.parts);
            n_in += m != 0;
            if (m < 0)
                p.in[k] = i % 3 ? numbers(&g, n) : NULL;
            else if (m)
                p.in[k] = numbers(&g, n * m * p.width);
        }
        /* the last matrix of a derivative may be left out in part */
        if (i == 5 && n_in > 5 && shape->n_in[n_in - 1] == 5)
            p.in[n_in - 1] = NULL;
        for (int k = 0; k < BI_TENSOR_MAP_OUT && shape->n_out[k]; k++) {
            const int64_t size = n * bi_tensor_numbers(shape->n_out[k], p.parts) * p.width;
            p.out[k] = ck_graph_zeros(&g, size);
            c.arrays[k] = (struct ck_fixed_array){offsetof(T, out) + (size_t)k * sizeof *p.out,
                                                  4 * (size_t)size, CK_FIXED_F32};
        }
        ck_check_fixed(ck, &c);
        ck_graph_free(&g);
    }
}

/* Gives function 0 or 1 of a pair random inputs, and outputs. */
static void fill_one(struct ck_graph *g, struct bi_tensor_pair_params *p, int which, int i,
                     struct ck_fixed *c, int *n_arrays)
{
    struct bi_tensor_map_params *one = &p->of[which];
    const struct bi_tensor_shape *shape = &bi_tensor_shapes[one->function];
    const int64_t n = g->counts.n_tokens;
    for (int k = 0; k < BI_TENSOR_MAP_IN && shape->n_in[k]; k++) {
        const int m = bi_tensor_numbers(shape->n_in[k], one->parts);
        if (m > 0 || i % 3)
            one->in[k] = numbers(g, m < 0 ? n : n * m * one->width);
    }
    for (int k = 0; k < BI_TENSOR_MAP_OUT && shape->n_out[k]; k++) {
        const int64_t size = n * bi_tensor_numbers(shape->n_out[k], one->parts) * one->width;
        one->out[k] = ck_graph_zeros(g, size);
        c->arrays[(*n_arrays)++] = (struct ck_fixed_array){
            (size_t)((char *)&one->out[k] - (char *)p), 4 * (size_t)size, CK_FIXED_F32};
    }
}

void ck_pairs(struct ck *ck, enum bi_tensor_function first, enum bi_tensor_function second)
{
    for (int i = 0; i < CASES && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 60 : 1, 4);
        struct bi_tensor_pair_params p;
        struct ck_fixed c = {.entry = "tensor_pair",
                             .reference = bi_op_tensor_pair.reference,
                             .params = &p,
                             .params_size = sizeof p,
                             .absolute = 1e-4,
                             .relative = 1e-5,
                             .gpu_only = 1,
                             .note = "random"};
        int n_arrays = 0;
        p.of[0] = p.of[1] = (struct bi_tensor_map_params){
            .counts = &g.counts,
            .rows = g.counts.n_tokens + i % 3,
            .width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 140),
            .function = (int32_t)first,
            .parts = i % 2 ? 3 : 1};
        p.of[1].function = (int32_t)second;
        for (int which = 0; which < 2; which++)
            fill_one(&g, &p, which, i, &c, &n_arrays);
        ck_check_fixed(ck, &c);
        ck_graph_free(&g);
    }
}

/* ---- edges ---- */

float *ck_atoms_numbers(struct ck_atoms *a, int m, bool zeros)
{
    const int64_t n = (int64_t)a->n * m * a->edges.width;
    return zeros ? ck_graph_zeros(&a->memory, n) : numbers(&a->memory, n);
}

/* The vector from atom j to atom i; its length. */
static double vector_of(const float *x, int32_t i, int32_t j, float v[3])
{
    double square = 0;
    for (int k = 0; k < 3; k++) {
        v[k] = x[3 * i + k] - x[3 * j + k];
        square += (double)v[k] * (double)v[k];
    }
    return sqrt(square);
}

struct ck_atoms ck_atoms_new(struct ck *ck, int32_t n, int32_t width)
{
    const double cutoff = 4;
    struct ck_atoms a = {.memory = ck_graph_new(ck, 1, 4, 4),
                         .n = n ? n : (int32_t)ck_random(ck, 1, 40),
                         .edges = {.cutoff = (float)cutoff, .width = width}};
    struct ck_graph *g = &a.memory;
    const int32_t most = a.n * a.n;
    float *x = ck_graph_floats(g, 3 * (int64_t)a.n, cbrt((double)a.n)), v[3];
    float *vector = ck_graph_zeros(g, 3 * (int64_t)most + 3);
    int32_t *start = ck_graph_ints(g, a.n + 1, 1), *col = ck_graph_ints(g, most + 1, 1);
    int32_t *reverse = ck_graph_ints(g, most + 1, 1);
    a.edges.knots = (int32_t)ck_random(ck, 4, 40);
    for (int32_t i = 0; i < a.n; i++) {
        for (int32_t j = 0; j < a.n; j++) {
            const double r = vector_of(x, i, j, v);
            if (j == i || r >= cutoff || r < 0.3)
                continue;
            for (int k = 0; k < 3; k++)
                vector[3 * a.n_edges + k] = v[k];
            col[a.n_edges++] = j;
        }
        start[i + 1] = a.n_edges;
    }
    for (int32_t i = 0; i < a.n; i++)
        for (int32_t e = start[i]; e < start[i + 1]; e++)
            for (int32_t b = start[col[e]]; b < start[col[e] + 1]; b++)
                if (col[b] == i)
                    reverse[e] = b;
    a.counts = (struct bi_counts){
        .n_tokens = a.n, .n_seqs = 1, .longest = a.n, .n_edges = a.n_edges};
    a.edges.start = start;
    a.edges.col = col;
    a.edges.reverse = reverse;
    a.edges.vector = vector;
    a.edges.rows = a.n;
    a.edges.table = ck_graph_floats(g, 12 * (int64_t)width * a.edges.knots, 0.3);
    return a;
}

void ck_atoms_free(struct ck_atoms *a)
{
    ck_graph_free(&a->memory);
}

static struct ck_atoms random_atoms(struct ck *ck, int i)
{
    struct ck_atoms a = ck_bench(ck) ? ck_atoms_new(ck, 600, 128)
                                     : ck_atoms_new(ck, i ? 0 : 1,
                                                    (int32_t)ck_random(ck, 1, i % 2 ? 40 : 140));
    return a;
}

static void add_array(struct ck_fixed *c, size_t pointer, int64_t n)
{
    int k = 0;
    while (c->arrays[k].size)
        k++;
    if (n)
        c->arrays[k] = (struct ck_fixed_array){pointer, 4 * (size_t)n, CK_FIXED_F32};
}

/* Bounds of what is added over so many neighbours and channels. */
static struct ck_fixed check_of(const struct bi_op *op, const char *entry, void *params,
                                size_t size)
{
    return (struct ck_fixed){.entry = entry,
                             .reference = op->reference,
                             .params = params,
                             .params_size = size,
                             .absolute = 2e-3,
                             .relative = 2e-5,
                             .note = "random"};
}

void ck_atoms_embed(struct ck *ck, const struct bi_op *op, bool gradient)
{
    typedef struct bi_tensor_embed_params T;
    for (int i = 0; i < (ck_bench(ck) ? 1 : CASES); i++) {
        struct ck_atoms a = random_atoms(ck, i);
        struct ck_graph *g = &a.memory;
        const int64_t w = a.edges.width;
        T p = {.edges = a.edges,
               .code = ck_graph_ints(g, a.n, 5),
               .own = numbers(g, 5 * w),
               .other = numbers(g, 5 * w),
               .self = i % 2 && !gradient ? numbers(g, w) : NULL};
        struct ck_fixed c = check_of(op, gradient ? "tensor_embed_grad" : "tensor_embed", &p,
                                     sizeof p);
        p.edges.counts = &a.counts;
        for (int k = 0; k < 3; k++) {
            if (gradient) {
                p.g[k] = i == 3 && k == 1 ? NULL : ck_atoms_numbers(&a, 2 * k + 1, false);
                continue;
            }
            p.y[k] = ck_atoms_numbers(&a, 2 * k + 1, true);
            add_array(&c, offsetof(T, y) + (size_t)k * sizeof *p.y, a.n * (2 * k + 1) * w);
        }
        if (gradient) {
            p.more_vector = i % 2 ? numbers(g, 3 * (int64_t)a.n_edges + 3) : NULL;
            p.dvector = ck_graph_zeros(g, 3 * (int64_t)a.n_edges + 3);
            add_array(&c, offsetof(T, dvector), 3 * (int64_t)a.n_edges);
        }
        ck_check_fixed(ck, &c);
        ck_atoms_free(&a);
    }
}

void ck_atoms_message(struct ck *ck, const struct bi_op *op, bool gradient)
{
    typedef struct bi_tensor_message_params T;
    for (int i = 0; i < (ck_bench(ck) ? 1 : CASES); i++) {
        struct ck_atoms a = random_atoms(ck, i);
        const int64_t w = a.edges.width;
        T p = {.edges = a.edges, .self = i % 2 ? numbers(&a.memory, 3 * w) : NULL};
        struct ck_fixed c = check_of(op, gradient ? "tensor_message_grad" : "tensor_message", &p,
                                     sizeof p);
        p.edges.counts = &a.counts;
        if (i % 4 > 1) /* atoms get their own */
            p.edges.reverse = NULL;
        for (int k = 0; k < 3; k++) {
            p.x[k] = ck_atoms_numbers(&a, 2 * k + 1, false);
            if (gradient)
                p.g[k] = i == 3 && k == 1 ? NULL : ck_atoms_numbers(&a, 2 * k + 1, false);
            if (gradient && i % 3)
                p.more[k] = ck_atoms_numbers(&a, 2 * k + 1, false);
            p.y[k] = ck_atoms_numbers(&a, 2 * k + 1, true);
            add_array(&c, offsetof(T, y) + (size_t)k * sizeof *p.y, a.n * (2 * k + 1) * w);
        }
        if (gradient) {
            p.more_vector = i % 2 ? numbers(&a.memory, 3 * (int64_t)a.n_edges + 3) : NULL;
            p.dvector = ck_graph_zeros(&a.memory, 3 * (int64_t)a.n_edges + 3);
            add_array(&c, offsetof(T, dvector), 3 * (int64_t)a.n_edges);
        }
        ck_check_fixed(ck, &c);
        ck_atoms_free(&a);
    }
}

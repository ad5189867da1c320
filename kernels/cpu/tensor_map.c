/* tensor_map.c - functions of an atom's matrices (tensor_map.h). A task is a run of atoms (rows.h);
 * a vector holds channels. */
#include "entries.h"
#include "rows.h"

#define BI_NUM vf
#define BI_REAL float
#define BI_TENSOR_FN BI_INLINE
#include "../tensor_math.h"

/* Numbers of an atom, in and out, which a task is measured by. */
enum { ATOM_NUMBERS = 36 };

int64_t BI_ISA_NAME(tensor_map_tasks)(const void *params, int n_threads)
{
    const struct bi_tensor_map_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, BI_AXIS_TOKENS, p->rows),
                     (int64_t)ATOM_NUMBERS * p->width);
}

/* Channels f ... f + n - 1 of atom i. */
BI_INLINE void map_one(const struct bi_tensor_map_params *p, int function, int64_t i, int f, int n)
{
    const struct bi_tensor_shape *shape = &bi_tensor_shapes[function];
    vf x[BI_TENSOR_NUMBERS], y[BI_TENSOR_NUMBERS], c = vf_set1(1);
    int at = 0;
    for (int k = 0; k < BI_TENSOR_MAP_IN; k++) {
        const int m = bi_tensor_numbers(shape->n_in[k], p->parts);
        if (m < 0 && p->in[k])
            c = vf_set1(p->in[k][i]);
        for (int j = 0; j < m; j++)
            x[at++] = p->in[k] ? vf_load_n(p->in[k] + (i * m + j) * p->width + f, n) : vf_zero();
    }
    bi_tensor_apply(function, p->parts, p->so3, x, c, y);
    at = 0;
    for (int k = 0; k < BI_TENSOR_MAP_OUT; k++) {
        const int m = bi_tensor_numbers(shape->n_out[k], p->parts);
        for (int j = 0; j < m; j++, at++)
            if (p->out[k])
                vf_store_n(p->out[k] + (i * m + j) * p->width + f, y[at], n);
    }
}

#define MAP(function)                                                                              \
    case function:                                                                                 \
        for (int64_t i = rows.first; i < rows.end; i++)                                            \
            for (int f = 0; f < p->width; f += VW)                                                 \
                map_one(p, function, i, f, lanes(f, p->width));                                    \
        break;

void BI_ISA_NAME(tensor_map_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_tensor_map_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, BI_AXIS_TOKENS, p->rows),
                                       (int64_t)ATOM_NUMBERS * p->width);
    (void)n_tasks;
    (void)scratch;
    switch (p->function) { /* constants: each loop is its own */
        MAP(BI_TENSOR_NORM)
        MAP(BI_TENSOR_NORM_GRAD)
        MAP(BI_TENSOR_NORMALISE)
        MAP(BI_TENSOR_NORMALISE_GRAD)
        MAP(BI_TENSOR_PRODUCT)
        MAP(BI_TENSOR_PRODUCT_GRAD)
        MAP(BI_TENSOR_UPDATE)
        MAP(BI_TENSOR_UPDATE_GRAD)
        MAP(BI_TENSOR_SCALE)
        MAP(BI_TENSOR_SCALE_GRAD)
    }
}

BI_CPU_ENTRY(tensor_map)

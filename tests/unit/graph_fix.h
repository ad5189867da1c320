/* graph_fix.h - small graphs for the tests of graph/, and what they give on the references. */
#ifndef GRAPH_FIX_H
#define GRAPH_FIX_H

#include "exec.h"

#include "../../graph/rules.h"

static struct bi_env env; /* set in main */

enum { T = 11, B = 3, V = 9 }; /* the bucket; the batch is smaller */

struct fix {
    struct bi_graph *g;
    struct exec x;
    bi_value_id ids, scale, start, rows;
    int n_weights;
};

/* Makes the starts of pairs of the batch from the starts of its sequences. */
static inline void fix_pairs(struct fix *f)
{
    struct exec *x = &f->x;
    for (int s = 0; s < x->counts.n_seqs; s++) {
        const int32_t n = x->start[s + 1] - x->start[s];
        x->grid_start[s + 1] = x->grid_start[s] + n * n;
        for (int32_t i = 0; i < n; i++)
            x->row_start[x->start[s] + i + 1] = x->grid_start[s] + (i + 1) * n;
    }
    x->counts.n_grid = x->grid_start[x->counts.n_seqs];
}

/* A graph with the four inputs and a batch of sequences 4, 2 and 3 in a larger bucket. */
static inline void fix_open(struct fix *f)
{
    static const int32_t start[] = {0, 4, 6, 9};
    *f = (struct fix){0};
    CHECK_EQ(bi_graph_new(&f->g, &env, NULL), 0);
    f->g->n_tokens = T;
    f->g->n_seqs = B + 1;
    f->g->longest = 5;
    f->g->n_rows = 4;
    f->x.counts = (struct bi_counts){.n_tokens = 9, .n_seqs = B, .n_rows = 3, .longest = 4};
    memcpy(f->x.start, start, sizeof start);
    fix_pairs(f);
    for (int i = 0; i < 9; i++) {
        f->x.ids[i] = (i * 5 + 2) % V;
        f->x.scale[i] = 0.5f + 0.1f * (float)i;
    }
    for (int i = 0; i < 3; i++)
        f->x.rows[i] = 7 - 3 * i;
    f->ids = bi_input(f->g, "ids", BI_I32, BI_AXIS_TOKENS, T);
    f->scale = bi_input(f->g, "scale", BI_F32, BI_AXIS_TOKENS, T);
    f->start = bi_input(f->g, "start", BI_I32, BI_AXIS_SEQS, B + 2);
    f->rows = bi_input(f->g, "rows", BI_I32, BI_AXIS_ROWS, 4);
}

static inline bi_value_id weight(struct fix *f, int rank, int64_t rows, int64_t cols, float offset)
{
    return exec_weight(f->g, &f->x, f->n_weights++, rank, rows, cols, offset);
}

static inline bi_value_id embedding(struct fix *f, int64_t width)
{
    return bi_embedding(f->g, weight(f, 2, V, width, 0), f->ids);
}

static inline bi_value_id linear(struct fix *f, bi_value_id x, int64_t n)
{
    int64_t k = x == BI_NONE ? 1 : f->g->values[x].shape[1];
    bi_value_id y = bi_matmul(f->g, x, weight(f, 2, n, k, 0));
    return bi_add(f->g, y, weight(f, 1, n, 1, 0));
}

static inline bi_value_id norm(struct fix *f, bi_value_id x)
{
    int64_t n = x == BI_NONE ? 1 : f->g->values[x].shape[1];
    bi_value_id w = weight(f, 1, n, 1, 1);
    return bi_layernorm(f->g, x, w, weight(f, 1, n, 1, 0), 1e-5f);
}

static inline void output(struct fix *f, bi_value_id value)
{
    bi_output(f->g, value, 1, -1, "out");
}

/* The same graph twice: one stays plain. Build it with `build`. */
typedef void (*builder)(struct fix *f);

static inline int count_op(const struct bi_graph *g, enum bi_op_kind op)
{
    int n = 0;
    for (size_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].op == op;
    return n;
}

static inline void finish(struct fix *f)
{
    struct bioinfer_error err = {0};
    if (!CHECK_EQ(bi_graph_verify(f->g, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    bi_graph_dce(f->g);
}

/* Runs both forms; the largest relative difference of any output. */
static inline double compare(const struct fix *a, const struct fix *b)
{
    struct bi_memory_plan pa = {0}, pb = {0};
    unsigned char *oa = exec_run(&a->x, a->g, &pa), *ob = exec_run(&b->x, b->g, &pb);
    double worst = oa && ob ? 0 : 1e9;
    CHECK_EQ(a->g->n_outputs, b->g->n_outputs);
    for (size_t k = 0; oa && ob && k < a->g->n_outputs; k++)
        worst = fmax(worst, exec_difference(&a->x, a->g, &pa, oa, b->g, &pb, ob, k));
    free(oa);
    free(ob);
    bi_memory_plan_free(&pa);
    bi_memory_plan_free(&pb);
    return worst;
}

static inline bi_value_id table(struct fix *f, int d)
{
    return bi_rope_table(f->g, weight(f, 1, d / 2, 1, 1), 5);
}

/* softmax(q k^T), as a model writes it. */
static inline bi_value_id maps(struct fix *f, bi_value_id q, bi_value_id k)
{
    return bi_softmax(f->g, bi_scores(f->g, q, k, f->start, 2), f->start);
}

static inline bi_value_id attention(struct fix *f, bi_value_id q, bi_value_id k, bi_value_id v)
{
    return bi_mix(f->g, maps(f, q, k), v, f->start);
}

#endif

/* orientation.c - cases of the orientation kernel. */
#include "graphs.h"

#include <math.h>

static struct bi_orientation_params params_of(struct ck_graph *g)
{
    return (struct bi_orientation_params){.counts = &g->counts,
                                          .rows = g->counts.n_tokens,
                                          .width = 15,
                                          .first = 3,
                                          .k = g->k,
                                          .x = g->x,
                                          .index = g->index,
                                          .start = g->start,
                                          .y = ck_graph_zeros(g, 7 * (int64_t)g->counts.n_edges)};
}

static void check(struct ck_graph *g, void (*reference)(const void *params), const char *note)
{
    struct bi_orientation_params p = params_of(g);
    ck_check_fixed(g->ck,
                   &(struct ck_fixed){.entry = "orientation",
                                      .reference = reference,
                                      .params = &p,
                                      .params_size = sizeof p,
                                      .absolute = 2e-3,
                                      .relative = 1e-4,
                                      .note = note,
                                      .arrays = {{offsetof(struct bi_orientation_params, y),
                                                  28 * (size_t)g->counts.n_edges, CK_FIXED_F32}}});
}

/* Moves residues 0, 1 and 2, 3 and 4, ... of each structure away from each other: two residues are
 * bonded to each other alone. */
static void part_pairs(struct ck_graph *g)
{
    for (int s = 0; s < g->counts.n_seqs; s++)
        for (int32_t i = g->start[s]; i < g->start[s + 1]; i++)
            for (int c = 0; c < 3; c++)
                g->x[15 * (int64_t)i + 3 + c] += 20 * (float)((i - g->start[s] + 1) / 2);
}

/* The frames of such two residues have one axis each, which point against each other, so that all
 * parts of the quaternion are 0, as published programs have it. NaN: the op's reference has not. */
static void pairs_reference(const void *params)
{
    const struct bi_orientation_params *p = params;
    bi_op_orientation.reference(params);
    for (int s = 0; s < p->counts->n_seqs; s++) {
        const int64_t first = p->start[s] + 1, last = p->start[s + 1] - 3; /* that have a frame */
        for (int64_t i = first; i <= last; i++)
            for (int n = 0; n < p->k; n++) {
                const int64_t j = p->index[i * p->k + n];
                float *y = p->y + (i * p->k + n) * 7;
                if (j == i || j < first || j > last || (j - first) / 2 != (i - first) / 2)
                    continue;
                for (int c = 3; c < 7; c++)
                    y[c] = y[c] == 0 ? 0 : NAN;
            }
    }
}

static void cases(struct ck *ck)
{
    for (int i = 0; i < 10 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, (int)ck_random(ck, 1, 48));
        check(&g, bi_op_orientation.reference, "random");
        ck_graph_free(&g);
    }
    for (int i = 0; i < 3 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, 70, 4);
        part_pairs(&g);
        check(&g, pairs_reference, "pairs");
        ck_graph_free(&g);
    }
}

const struct ck_op ck_orientation = {.stem = "orientation", .cases = cases};

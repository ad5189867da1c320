/* edge_count.c - edge_count: the neighbours of each atom, counted (kernels/atom_edges.h).
 *   position, frame, place, order, first of atom_cells -> found [N, 32], degree [N], int32 */
#include <string.h>

#include "atoms.h"

static int edge_count_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const int64_t n = bi_in(g, node, 0)->shape[0];
    const int st = bi_expect_atoms(g, node, err);
    if (st)
        return st;
    bi_out_ints(g, node, 0, BI_AXIS_TOKENS, n, BI_EDGE_SHARES);
    bi_out_ints(g, node, 1, BI_AXIS_TOKENS, n, 0);
    return 0;
}

static void edge_count_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "edge_count", struct bi_atom_edges_params, .counts = bi_atom_counts(b),
              .position = b->in[0], .frame = b->in[1], .place = b->in[2], .order = b->in[3],
              .first = b->in[4], .found = b->out[0], .degree = b->out[1],
              .rows = bi_in(g, node, 0)->shape[0]);
}

/* Share by share. */
static void edge_count_reference(const void *params)
{
    const struct bi_atom_edges_params *p = params;
    const int64_t n = bi_edge_atoms(p);
    for (int64_t at = 0; at < n * BI_EDGE_SHARES; at++) {
        const int32_t i = (int32_t)(at / BI_EDGE_SHARES), share = (int32_t)(at % BI_EDGE_SHARES);
        int64_t seen = 0;
        struct bi_around a;
        if (!share)
            p->degree[i] = 0;
        p->found[at] = 0;
        bi_around_start(&a, p, &p->place[i]);
        while (bi_around_next(&a, p))
            for (int32_t k = a.first; k < a.end; k++) {
                const enum bi_nearness near = bi_look(p, &a, &p->place[i], i, p->order[k]);
                const int32_t before = bi_edge_degree(p, i);
                if (seen++ % BI_EDGE_SHARES != share || near == BI_NEAR_NOT)
                    continue;
                p->found[at]++;
                p->degree[i] = p->degree[i] < 0 || near == BI_NEAR_TOUCHES ? -2 - before
                                                                           : 1 + before;
            }
    }
}

/* Returns how many each share finds. */
bi_value_id bi_edge_count(struct bi_graph *g, const struct bi_atom_values *atoms,
                          bi_value_id *degree)
{
    const bi_value_id id = bi_node_add(
        g, BI_OP_EDGE_COUNT,
        BI_IN(atoms->position, atoms->frame, atoms->place, atoms->order, atoms->first), NULL);
    *degree = bi_other_output(g, id, 1);
    return id;
}

const struct bi_op bi_op_edge_count = {
    .name = "edge_count",
    .infer = edge_count_infer,
    .launch = edge_count_launch,
    .reference = edge_count_reference,
    .cost = bi_cost_bytes,
    .required = 31,
};

/* knn.c - cases of the knn kernel. */
#include "graphs.h"

#include <math.h>

/* Cells of 6 angstrom for structures with more unmasked residues than neighbours. */
static void make_cells(struct ck_graph *g, struct bi_knn_params *p)
{
    int32_t *cells = ck_graph_ints(g, 40000 + 2 * (int64_t)g->counts.n_tokens, 1), at = 0;
    struct bi_cell_grid *grids = (void *)ck_graph_ints(g, 8 * (int64_t)g->counts.n_seqs, 1);
    for (int s = 0; s < g->counts.n_seqs; s++) {
        struct bi_cell_grid *grid = &grids[s];
        float low[3] = {1e9f, 1e9f, 1e9f}, high[3] = {-1e9f, -1e9f, -1e9f};
        int32_t usable = 0, total = 1;
        for (int32_t i = g->start[s]; i < g->start[s + 1]; i++)
            for (int c = 0; c < 3 && g->mask[i] != 0; c++) {
                const float v = g->x[(int64_t)i * 15 + 3 + c];
                low[c] = v < low[c] ? v : low[c];
                high[c] = v > high[c] ? v : high[c];
                usable += c == 0;
            }
        if (usable <= g->k)
            continue;
        for (grid->size = 6; total; grid->size *= 1.5f) {
            total = 1;
            for (int c = 0; c < 3; c++) {
                grid->origin[c] = low[c];
                grid->n[c] = (int32_t)floorf((high[c] - low[c]) / grid->size) + 1;
                total *= grid->n[c];
            }
            if (total < 10000)
                break;
        }
        grid->first = at + usable;
        for (int32_t cell = 0, n = at; cell <= total; cell++) {
            cells[grid->first + cell] = n;
            for (int32_t i = g->start[s]; cell < total && i < g->start[s + 1]; i++) {
                int32_t mine = 0;
                for (int c = 0; c < 3; c++) {
                    const float v = g->x[(int64_t)i * 15 + 3 + c];
                    mine = mine * grid->n[c] + (int32_t)floorf((v - low[c]) / grid->size);
                }
                if (g->mask[i] != 0 && mine == cell)
                    cells[n++] = i;
            }
        }
        at = grid->first + total + 1;
    }
    p->cells = cells;
    p->grid = grids;
}

static void cases(struct ck *ck)
{
    for (int i = 0; i < 16 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 300 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_knn_params p = {.counts = c,
                                  .rows = c->n_tokens,
                                  .width = 15,
                                  .first = 3,
                                  .k = g.k,
                                  .x = g.x,
                                  .mask = g.mask,
                                  .start = g.start};
        p.index = ck_graph_ints(&g, c->n_edges, 1);
        p.distance = ck_graph_zeros(&g, c->n_edges);
        if (i % 2)
            make_cells(&g, &p);
        ck_check_fixed(ck, &(struct ck_fixed){.entry = "knn",
                                              .reference = bi_op_knn.reference,
                                              .params = &p,
                                              .params_size = sizeof p,
                                              .absolute = 0,
                                              .relative = 0,
                                              .note = "random",
                                              .arrays = {{offsetof(struct bi_knn_params, index),
                                                          4 * (size_t)c->n_edges, CK_FIXED_I32},
                                                         {offsetof(struct bi_knn_params, distance),
                                                          4 * (size_t)c->n_edges, CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_knn = {.stem = "knn", .cases = cases};

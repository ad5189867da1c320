/* atoms.c - frames of random atoms for the cases of ops that find their edges. */
#include "atoms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../loaders/neighbours.h"

enum { MOST_FRAMES = 3, MOST_ATOMS = 300 };

static const struct {
    const char *name;
    const struct bi_op *op;
} launches[] = {{"atom_cells", &bi_op_atom_cells},
                {"edge_count", &bi_op_edge_count},
                {"edge_start", &bi_op_edge_start},
                {"edge_list", &bi_op_edge_list},
                {"edge_reverse", &bi_op_edge_reverse}};

static double random01(struct ck *ck)
{
    return (double)ck_random(ck, 0, 1 << 30) / (double)(1 << 30);
}

/* Puts n atoms into a cell, and some outside it. */
static struct bi_atom_frame make_frame(struct ck *ck, int i, double *x, int32_t n)
{
    const double size = cbrt((double)n) * (i % 2 ? 2.2 : 3), cutoff = i % 3 ? 4 : 5.5;
    const bool periodic[3] = {i % 4 != 0, i % 4 > 1, i % 4 > 2};
    struct bi_neighbour_grid grid;
    struct bioinfer_error err = {0};
    struct bi_atom_frame f = {0};
    double cell[9];
    for (int k = 0; k < 9; k++)
        cell[k] = ((k % 4 == 0) + (i % 2 ? 0.5 * random01(ck) - 0.2 : 0)) * size;
    for (int32_t a = 0; a < n; a++) {
        double at[3];
        for (int k = 0; k < 3; k++)
            at[k] = random01(ck) + (double)(ck_random(ck, 0, 9) ? 0 : ck_random(ck, -3, 3));
        for (int k = 0; k < 3; k++)
            x[3 * a + k] = at[0] * cell[k] + at[1] * cell[3 + k] + at[2] * cell[6 + k];
    }
    if (i == 5 && n > 1) /* one on another */
        memcpy(x + 3 * (n - 1), x, 3 * sizeof *x);
    if (bi_neighbours_grid(&grid, (uint32_t)n, x, cell, periodic, cutoff, &err)) {
        fprintf(stderr, "atoms: %s\n", err.text);
        exit(1);
    }
    memcpy(f.cell, grid.cell, sizeof f.cell);
    memcpy(f.inverse, grid.inverse, sizeof f.inverse);
    memcpy(f.low, grid.low, sizeof f.low);
    memcpy(f.width, grid.width, sizeof f.width);
    memcpy(f.n_bins, grid.n_bins, sizeof f.n_bins);
    memcpy(f.reach, grid.reach, sizeof f.reach);
    f.cutoff2 = grid.cutoff2;
    f.nearly2 = grid.nearly2;
    f.n_atoms = n;
    for (int k = 0; k < 3; k++)
        f.periodic |= (int32_t)periodic[k] << k;
    return f;
}

void ck_frames_new(struct ck_frames *f, struct ck *ck, int i, int upto)
{
    *f = (struct ck_frames){.memory = ck_graph_new(ck, 1, 4, 4)};
    struct ck_graph *g = &f->memory;
    struct bi_atom_edges_params *p = &f->params;
    const int32_t n_frames = 1 + i % MOST_FRAMES, most = MOST_FRAMES * MOST_ATOMS;
    const int64_t edges = i == 7 ? 5 : most * 200;
    double *x = (double *)ck_graph_ints(g, 6 * most, 1);
    struct bi_atom_frame *frame = (void *)ck_graph_ints(g, MOST_FRAMES * BI_FRAME_WORDS, 1);
    int32_t n = 0, bins = 0;
    for (int32_t s = 0; s < n_frames; s++) {
        const int32_t atoms = (int32_t)(i == 0   ? 1
                                        : i % 2  ? ck_random(ck, 256, MOST_ATOMS)
                                        : i == 2 ? 1 + s
                                                 : ck_random(ck, 1, 60));
        frame[s] = make_frame(ck, i + s, x + 3 * n, atoms);
        frame[s].first_atom = n;
        frame[s].first_bin = bins;
        n += atoms;
        bins += frame[s].n_bins[0] * frame[s].n_bins[1] * frame[s].n_bins[2];
    }
    f->counts = (struct bi_counts){
        .n_tokens = n, .n_seqs = n_frames, .longest = n, .n_edges = (int32_t)edges};
    *p = (struct bi_atom_edges_params){.counts = &f->counts,
                                       .position = x,
                                       .frame = frame,
                                       .place = (void *)ck_graph_ints(g, most * BI_PLACE_WORDS, 1),
                                       .order = ck_graph_ints(g, most, 1),
                                       .first = ck_graph_ints(g, bi_atom_bins(most), 1),
                                       .work = ck_graph_ints(g, most, 1),
                                       .found = ck_graph_ints(g, most * BI_EDGE_SHARES, 1),
                                       .degree = ck_graph_ints(g, most, 1),
                                       .report = ck_graph_ints(g, BI_REPORT_WORDS, 1),
                                       .start = ck_graph_ints(g, most + 1, 1),
                                       .col = ck_graph_ints(g, edges, 1),
                                       .reverse = ck_graph_ints(g, edges, 1),
                                       .key = (void *)ck_graph_ints(g, 2 * edges, 1),
                                       .loose = (void *)ck_graph_ints(g, 2 * edges, 1),
                                       .vector = ck_graph_zeros(g, 3 * edges),
                                       .rows = n + i % 3,
                                       .capacity = edges};
    for (int k = 0; k < upto; k++)
        launches[k].op->reference(p);
    f->n_edges = p->start[n];
}

void ck_frames_free(struct ck_frames *f)
{
    ck_graph_free(&f->memory);
}

void ck_frames_check(struct ck *ck, struct ck_frames *f, int launch,
                     const struct ck_fixed_array *arrays, int n)
{
    struct ck_fixed c = {.entry = launches[launch].name,
                         .reference = launches[launch].op->reference,
                         .params = &f->params,
                         .params_size = sizeof f->params,
                         .note = "random"};
    memcpy(c.arrays, arrays, (size_t)n * sizeof *arrays);
    ck_check_fixed(ck, &c);
}

/* fires.c - random relaxations, for the cases of ops of kernels/fire.h. */
#include "fires.h"

#include <math.h>
#include <string.h>

#include "graphs.h"
#include "kernels/fire.h"

enum { CASES = 20, SEVERAL = 14 }; /* from SEVERAL on a batch has many frames */

static double number(struct ck *ck, double scale)
{
    return scale * (double)ck_random(ck, -1000000, 1000000) * 1e-6;
}

static struct bi_fire_atom *make_atoms(struct ck *ck, struct ck_graph *g, int32_t n, bool holds)
{
    struct bi_fire_atom *a = (void *)ck_graph_ints(g, (int64_t)n * BI_FIRE_ATOM_NUMBERS * 2, 1);
    for (int32_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            a[i].x[k] = number(ck, 30);
            a[i].v[k] = number(ck, 0.3);
        }
    for (int32_t i = 0; i < n && holds; i++)
        a[i].held = (double)ck_random(ck, 0, 7);
    return a;
}

static void set_state(struct ck *ck, struct bi_fire *s, int i, double n)
{
    *s = (struct bi_fire){0};
    s->fmax = i == 6 ? 1e3 : 0.05;
    s->steps = i == 7 ? 12 : 500;
    s->std = 1.5;
    s->cell_moves = i % 2;
    s->made = 12;
    s->end = i == 8 ? BI_FIRE_STEPS : BI_FIRE_GOES_ON;
    s->dt = i == 9 ? 0.95 : 0.3 + number(ck, 0.2); /* 0.95: it grows no further than 1 */
    s->mix = 0.09;
    s->downhill = i == 4 ? -1 : i % 3 ? 7 : 2;
    for (int k = 0; k < 9; k++) {
        const double one = k % 4 == 0;
        s->given[k] = s->cell[k] = 12 * one + number(ck, 2);
        s->gradient[k] = one + number(ck, 0.05);
        s->before[k] = one + number(ck, 0.05);
        s->x[k] = n * s->gradient[k];
        s->v[k] = i == 13 ? -one * n * 9 : number(ck, 0.1); /* it collapses */
    }
    bi_fire_take_cell(s, n);
}

/* States of frames with n atoms each; in a case of many frames each is of another case. */
static struct bi_fire *make_states(struct ck *ck, struct ck_graph *g, int i, const int32_t *n,
                                   int32_t n_frames)
{
    struct bi_fire *s = (void *)ck_graph_ints(g, 2 * (int64_t)BI_FIRE_NUMBERS * n_frames, 1);
    for (int32_t f = 0; f < n_frames; f++)
        set_state(ck, &s[f], i < SEVERAL ? i : i == SEVERAL ? 6 : (i + f) % SEVERAL, n[f]);
    return s;
}

static struct bi_atom_frame *make_frames(struct ck_graph *g, const int32_t *n, int32_t n_frames)
{
    struct bi_atom_frame *all = (void *)ck_graph_ints(g, (int64_t)BI_FRAME_WORDS * n_frames, 1);
    int32_t first = 0;
    for (int32_t at = 0; at < n_frames; first += n[at++]) {
        struct bi_atom_frame *f = &all[at];
        const int32_t bins = n[at] > 256 ? 2 : 1;
        *f = (struct bi_atom_frame){
            .cutoff2 = 25, .nearly2 = 25.001, .periodic = 7, .first_atom = first, .n_atoms = n[at]};
        for (int k = 0; k < 3; k++) {
            f->n_bins[k] = bins;
            f->reach[k] = 1;
            f->width[k] = bins > 1 ? 1.0 / bins : 0;
            f->cell[4 * k] = 12;
            f->inverse[4 * k] = 1.0 / 12;
        }
    }
    return all;
}

/* Sizes of the frames of a batch; returns their sum. */
static int32_t make_sizes(struct ck *ck, int i, int32_t *n, int32_t n_frames)
{
    int32_t sum = 0;
    for (int32_t f = 0; f < n_frames; f++) {
        n[f] = i < 2            ? 1
               : i == 3         ? 82
               : i == 5         ? 86
               : i < SEVERAL    ? (int32_t)ck_random(ck, 1, 700)
               : i == CASES - 1 ? 1
               : f % 4 == i % 4 ? (int32_t)ck_random(ck, 80, 400)
                                : (int32_t)ck_random(ck, 1, 9);
        sum += n[f];
    }
    return sum;
}

void ck_fires(struct ck *ck, const struct bi_op *op)
{
    typedef struct bi_fire_params T;
    enum { MOST_FRAMES = 40 };
    for (int i = 0; i < CASES && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 1, 4, 4);
        const int32_t n_frames = i < SEVERAL      ? 1
                                 : i == SEVERAL   ? 3 /* all are over at once */
                                 : i == CASES - 1 ? MOST_FRAMES
                                                  : (int32_t)ck_random(ck, 2, MOST_FRAMES);
        int32_t sizes[MOST_FRAMES];
        const int32_t n = make_sizes(ck, i, sizes, n_frames);
        const size_t all = (size_t)n, frames = (size_t)n_frames;
        struct bi_counts counts = {
            .n_tokens = i == 12 ? 0 : n, .n_seqs = n_frames, .longest = n, .n_edges = 9};
        float *force = ck_graph_floats(&g, 12 * (int64_t)n, 4);
        T p = {.counts = &counts,
               .from = make_atoms(ck, &g, n, i % 4 > 1),
               .begin = make_states(ck, &g, i, sizes, n_frames),
               .atom = make_atoms(ck, &g, n, i % 4 > 1),
               .state = make_states(ck, &g, i, sizes, n_frames),
               .uploaded = make_frames(&g, sizes, n_frames),
               .frame = make_frames(&g, sizes, n_frames),
               .position = (double *)ck_graph_ints(&g, 6 * (int64_t)n, 1),
               .force = force,
               .rows = n + i % 2};
        if (i == 10 || i == 11 || i == 16)
            force[12 * (n / 2) + 1] = i == 10 ? NAN : INFINITY;
        ck_check_fixed(
            ck, &(struct ck_fixed){
                    .entry = op->name,
                    .reference = op->reference,
                    .params = &p,
                    .params_size = sizeof p,
                    .note = i < SEVERAL ? "random" : "several frames",
                    .arrays = {{offsetof(T, atom), sizeof *p.atom * all, CK_FIXED_I32},
                               {offsetof(T, state), sizeof *p.state * frames, CK_FIXED_I32},
                               {offsetof(T, counts), sizeof counts, CK_FIXED_I32},
                               {offsetof(T, frame), sizeof *p.frame * frames, CK_FIXED_I32},
                               {offsetof(T, position), 3 * sizeof(double) * all, CK_FIXED_I32}}});
        ck_graph_free(&g);
    }
}

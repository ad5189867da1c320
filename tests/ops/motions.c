/* motions.c - random atoms that move, for the cases of ops of kernels/motion.h. */
#include "motions.h"

#include <math.h>

#include "graphs.h"
#include "kernels/motion.h"

static double number(struct ck *ck, double scale)
{
    return scale * (double)ck_random(ck, -1000000, 1000000) * 1e-6;
}

static struct bi_motion_atom *make_atoms(struct ck *ck, struct ck_graph *g, int32_t n, bool wild,
                                         bool holds)
{
    struct bi_motion_atom *a = (void *)ck_graph_ints(g, (int64_t)n * BI_MOTION_NUMBERS * 2, 1);
    for (int32_t i = 0; i < n; i++) {
        a[i].mass = 12 + number(ck, 11);
        a[i].step = 4294967290.0 + (double)ck_random(ck, 0, 9);
        a[i].held = holds ? (double)ck_random(ck, 0, 7) : 0;
        for (int k = 0; k < 3; k++) {
            a[i].x[k] = number(ck, 30);
            a[i].p[k] = number(ck, wild ? 1e3 : 3);
            a[i].f[k] = number(ck, 9);
        }
    }
    return a;
}

/* Frames of random sizes that add up to n atoms. */
static struct bi_atom_frame *make_frames(struct ck *ck, struct ck_graph *g, int32_t n,
                                         int32_t n_frames)
{
    struct bi_atom_frame *f = (void *)ck_graph_ints(g, (int64_t)BI_FRAME_WORDS * n_frames, 1);
    int32_t first = 0;
    for (int32_t at = 0; at < n_frames; at++) {
        const int32_t others = n_frames - at - 1, left = n - first - others;
        f[at] = (struct bi_atom_frame){.first_atom = first,
                                       .n_atoms = others ? (int32_t)ck_random(ck, 1, left) : left};
        first += f[at].n_atoms;
    }
    return f;
}

static struct bi_motion_facts *make_facts(struct ck *ck, struct ck_graph *g, int i,
                                          int32_t n_frames)
{
    struct bi_motion_facts *all = (void *)ck_graph_ints(g, (int64_t)BI_MOTION_WORDS * n_frames, 1);
    for (int32_t f = 0; f < n_frames; f++)
        all[f] = (struct bi_motion_facts){.dt = 0.05 + number(ck, 0.04),
                                          .keep = (i + f) % 3 ? 0.99 : 1,
                                          .heat = (i + f) % 3 ? 5e-4 : 0,
                                          .std = 1.5,
                                          .seed = (uint64_t)ck_random(ck, 0, INT32_MAX) << 20};
    return all;
}

void ck_motions(struct ck *ck, const struct bi_op *op)
{
    typedef struct bi_motion_params T;
    for (int i = 0; i < 12 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 1, 4, 4);
        const int32_t n_frames = i < 8 ? 1 : (int32_t)ck_random(ck, 2, 40);
        const int32_t n = i ? (int32_t)ck_random(ck, n_frames, 700) : 1;
        struct bi_counts counts = {.n_tokens = n, .n_seqs = n_frames, .longest = n};
        float *force = ck_graph_floats(&g, 12 * (int64_t)n, 4);
        T p = {.counts = &counts,
               .facts = make_facts(ck, &g, i, n_frames),
               .frame = n_frames > 1 ? make_frames(ck, &g, n, n_frames) : NULL,
               .from = make_atoms(ck, &g, n, false, i > 4),
               .atom = make_atoms(ck, &g, n, i == 3, i > 4),
               .force = force,
               .position = (double *)ck_graph_ints(&g, 6 * (int64_t)n, 1),
               .rows = n + i % 2};
        if (i == 4 || i == 10)
            force[12 * (n / 2)] = INFINITY;
        ck_check_fixed(ck,
                       &(struct ck_fixed){
                           .entry = op->name,
                           .reference = op->reference,
                           .params = &p,
                           .params_size = sizeof p,
                           .note = i < 8 ? "random" : "several frames",
                           .arrays = {{offsetof(T, atom), sizeof *p.atom * (size_t)n, CK_FIXED_I32},
                                      {offsetof(T, position), 24 * (size_t)n, CK_FIXED_I32}}});
        ck_graph_free(&g);
    }
}

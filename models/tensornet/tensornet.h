/* tensornet.h - what the files of TensorNet share. */
#ifndef BI_TENSORNET_H
#define BI_TENSORNET_H

#include "../energy.h"
#include "settings.h"

/* ---- radial.c: functions of a distance ---- */

struct bi_tensornet_radial {
    enum bi_tensornet_rbf kind;
    int n;
    double cutoff;
    const double *means, *betas; /* EXPNORM; GAUSS: offsets, and the coefficient alone */
};

/* e [n] at r, and the derivatives by r, of EXPNORM (times the cosine cutoff), GAUSS and
 * BESSEL_SMOOTH (both without it); no other kind may be given. */
void bi_tensornet_radial_at(const struct bi_tensornet_radial *radial, double r, double *e,
                            double *de);
/* The cosine cutoff, 1 at r = 0 and 0 from `cutoff` on; *slope: its derivative by r. */
double bi_tensornet_cutoff_at(double cutoff, double r, double *slope);

/* A function of r with n values: fills y and dy, its derivative. */
struct bi_tensornet_curve {
    void (*at)(const void *user, double r, double *y, double *dy);
    const void *user;
    int n;
    double cutoff;
};

/* Gives the table of cubic pieces of a curve, rows [knots][4][n] as kernels/tensor_edges.h has
 * them, in the arena; there are as many knots as it takes for pieces to be nearer to the curve than
 * float32 is, a power of 2 from 256 on. The curve is asked at distances 0 to cutoff, both included.
 * MISMATCH: 4,096 are not enough. */
int bi_tensornet_table(struct bi_arena *arena, const struct bi_tensornet_curve *curve,
                       float **table, int *knots, struct bioinfer_error *err);

/* ---- ops/atom_edges.c ---- */

/* The inputs of models/energy.h that edges are found from, and the report, of zeros yet. */
struct bi_tensornet_places {
    bi_value_id position, frame, report;
    bi_value_id atoms, motion; /* where they move, motion is the facts or the state; BI_NONE */
    bi_value_id uploaded;      /* the frame; `frame` may be that of a cell that moves */
    bi_value_id by_frame;      /* the same, by which atoms that move find their frame; BI_NONE */
};

/* Adds the inputs that shape asks for, and fills *places. Where atoms move, position is BI_NONE,
 * for the caller to set; else atoms and motion are. */
void bi_tensornet_inputs(struct bi_graph *g, const struct bi_energy_shape *shape,
                         struct bi_tensornet_places *places);
/* Begins the loop that moves the atoms, and sets where they are. */
void bi_tensornet_move(struct bi_graph *g, const struct bi_energy_shape *shape,
                       struct bi_tensornet_places *places);
/* Gives the atoms their forces, ends the loop, and adds the outputs of atoms that move. */
void bi_tensornet_moved(struct bi_graph *g, const struct bi_energy_shape *shape,
                        struct bi_tensornet_places *places, bi_value_id forces);
/* Adds the ops that find the edges, with room for n_edges, and fills *edges. places->position is
 * set; places->report becomes the one that tells in the end whether there was room. */
void bi_tensornet_edges(struct bi_graph *g, struct bi_tensornet_places *places, int64_t n_edges,
                        struct bi_edge_values *edges);

#endif

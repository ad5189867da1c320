/* net.h - what the files of DiffDock's networks share.
 *
 *   irreps.c      features that turn with space
 *   edges.c       which points exchange messages
 *   conv.c        convolution over edges
 *   weights.c     settings and tensors of a checkpoint
 *   features.c    rows, first features of nodes and edges
 *   receptor.c    a protein without poses, checks
 *   score.c       scores of poses, v1.0 and v1.1
 *   confidence.c  confidence in poses
 *   heads.c       from the last features to scores of a pose */
#ifndef BI_DIFFDOCK_NET_H
#define BI_DIFFDOCK_NET_H

#include "conv.h"
#include "diffdock.h"

enum {
    BI_DIFFDOCK_WIDEST = 128, /* ns, nv and widths of embeddings */
    BI_DIFFDOCK_LAYERS = 12,
    BI_DIFFDOCK_BONDS = 4, /* types */
    BI_DIFFDOCK_HARMONICS = 9,
    BI_DIFFDOCK_LIGAND_NEIGHBOURS = 32,
    BI_DIFFDOCK_CROSS_NEIGHBOURS = 10000
};

/* y = W3 relu(W0 x + b0) + b3. */
struct bi_two_layers {
    struct bi_dense first, last;
};

/* A network that makes numbers of an edge: its bond's type, the time, its smeared length. A part
 * begins at column ..._at of the first layer's input, -1 = it is not there. */
struct bi_edge_network {
    struct bi_two_layers net;
    int bond_at, time_at, distance_at, n_distances;
    double stop; /* centres of the smearing are spread over [0, stop] */
};

/* First features of nodes. `linear` and `model` are v1.0's, `extra` is v1.1's. */
struct bi_node_encoder {
    int n_tables;
    int32_t n_rows[BI_DIFFDOCK_LIGAND_FEATURES];
    const float *table[BI_DIFFDOCK_LIGAND_FEATURES]; /* [n_rows][ns] */
    struct bi_dense linear, model, extra;
};

enum { BI_DIFFDOCK_OLD_CONVS = 4 };
/* The convolutions of a layer of v1.0. */
enum { BI_LIG_TO_LIG, BI_REC_TO_LIG, BI_REC_TO_REC, BI_LIG_TO_REC };

/* The convolutions of a layer of the confidence network, in the order of their tensors. */
enum {
    BI_ALL_LIG_LIG,
    BI_ALL_LIG_REC,
    BI_ALL_LIG_ATOM,
    BI_ALL_ATOM_ATOM,
    BI_ALL_ATOM_LIG,
    BI_ALL_ATOM_REC,
    BI_ALL_REC_REC,
    BI_ALL_REC_LIG,
    BI_ALL_REC_ATOM,
    BI_ALL_CONVS
};

/* The layers after the mean over atoms: the norm after a product as a scale and a shift. */
struct bi_predictor {
    struct bi_dense layer[3];
    const float *scale[2], *shift[2];
};

struct bi_diffdock {
    const struct bi_env *env;
    struct bi_arena arena;
    struct bi_diffdock_settings settings;
    struct bi_node_encoder ligand, residue;
    struct bi_edge_network ligand_edge, residue_edge, cross_edge, centre_edge, torsion_edge;
    struct bi_two_layers residue_time; /* NEW */
    struct bi_irreps_conv old[BI_DIFFDOCK_LAYERS][BI_DIFFDOCK_OLD_CONVS];
    struct bi_irreps_conv residue_first[BI_DIFFDOCK_LAYERS], ligand_first[BI_DIFFDOCK_LAYERS];
    struct bi_irreps_conv merged[BI_DIFFDOCK_LAYERS];
    struct bi_irreps_conv centre, torsion;
    struct bi_two_layers shift_norm, turn_norm;
    struct bi_dense torsion_first, torsion_last;
    /* CONFIDENCE; cross_edge is the ligand's with residues */
    struct bi_node_encoder atom;
    struct bi_edge_network atom_edge, ligand_atom_edge, atom_residue_edge;
    struct bi_irreps_conv *all; /* [n_layers][BI_ALL_CONVS] */
    struct bi_predictor predictor;
};

/* Edges with all that a convolution wants of them. */
struct bi_edge_set {
    int32_t n;
    const int32_t *to, *from;
    float *sh, *attr;
};

struct bi_diffdock_receptor {
    const struct bi_env *env;
    struct bi_arena arena;
    const struct bi_diffdock *model;
    struct bi_diffdock_protein protein;
    struct bi_pose_edges edges;
    const float *base; /* [n][ns] features of residues, but for the time's part */
    /* NEW: features after the layers that see the protein alone, [n][width], and edges. */
    int width;
    const float *x;
    float *attr, *sh; /* [edges.n][ns], [edges.n][(lmax + 1)^2] */
    /* CONFIDENCE: first features at time 0, [][ns], and edges. */
    const float *time, *residue_x, *atom_x;
    struct bi_pose_edges atom_edges, members;
    struct bi_edge_set residue_set, atom_set, member_set; /* a member: an atom in its residue */
};

/* ---- features.c ---- */

/* The bias and the time's part of the first layer, [first.stride] of the arena; NULL: no memory. */
float *bi_edge_network_row(const struct bi_edge_network *net, int time_width, const float *time,
                           struct bi_arena *arena);
/* Fills attr and sh of the edges of a list, from `first` on, in the arena; vectors go from x[to] to
 * y[from]; the first n_bonds edges have the types listed. row: bi_edge_network_row(). */
int bi_edge_set_make(struct bi_edge_set *set, const struct bi_run *run,
                     const struct bi_edge_network *net, const float *row, int ns, int lmax,
                     const struct bi_pose_edges *list, const double (*x)[3], const double (*y)[3],
                     const int32_t *bond_type, int32_t n_bonds, struct bioinfer_error *err);
/* Bonds, then neighbours within the radius, in the arena's run->env; *list is to be freed. */
int bi_ligand_edges(struct bi_pose_edges *list, const struct bi_diffdock_ligand *ligand,
                    const double (*x)[3], double radius, struct bioinfer_error *err);
/* [n][ns] of the arena: sums of embeddings and what the encoder makes of language model rows,
 * without the time's part. NULL: no memory. */
float *bi_node_base(const struct bi_diffdock *model, const struct bi_node_encoder *encoder,
                    int32_t n, const int32_t *features, const float *embedding, int lm_width,
                    struct bi_arena *arena);
/* Adds the time's part to rows of bi_node_base(). */
int bi_node_add_time(const struct bi_diffdock *model, const struct bi_node_encoder *encoder,
                     int32_t n, const float *base, const float *time, float *out,
                     struct bi_arena *arena);
/* Checks numbers of features against the encoder's tables; `what` names the node. */
int bi_node_check(const struct bi_node_encoder *encoder, int32_t n, const int32_t *features,
                  const char *what, struct bioinfer_error *err);

/* Zeros of the arena; NULL: no memory. */
float *bi_rows_take(const struct bi_run *run, int32_t n, int width);
/* to += x, whose rows are narrower, and + y, unless it is NULL. */
void bi_messages_add(float *to, int width, const float *x, int x_width, const float *y, int32_t n);
/* x and its messages along edges among its own n nodes, in *out of the arena. */
int bi_residual_conv(const struct bi_irreps_conv *conv, const struct bi_run *run,
                     const struct bi_edge_set *set, const float *x, int32_t n, float **out,
                     struct bioinfer_error *err);

/* ---- receptor.c ---- */

/* INVALID: a coordinate is not finite or too far away; `what` names the point. */
int bi_positions_check(const double (*x)[3], int64_t n, const char *what,
                       struct bioinfer_error *err);
/* INVALID: a number of the ligand is out of range. */
int bi_ligand_check(const struct bi_diffdock *model, const struct bi_diffdock_ligand *ligand,
                    struct bioinfer_error *err);

/* ---- confidence.c ---- */

/* Fills what CONFIDENCE wants of a receptor that has its base and its edges. */
int bi_confidence_receptor(struct bi_diffdock_receptor *r, const struct bi_run *run,
                           struct bioinfer_error *err);

/* ---- heads.c ---- */

/* Score of a pose from the ligand's last features, [n][centre.in.width]. */
int bi_diffdock_heads(const struct bi_diffdock *model, const struct bi_run *run,
                      const struct bi_diffdock_ligand *ligand, const struct bi_diffdock_time *time,
                      const double (*x)[3], const float *features, struct bi_diffdock_score *score,
                      struct bioinfer_error *err);
/* y = last(relu(first(x))) of one row; x has first.in numbers, y last.stride. */
void bi_two_layers_row(const struct bi_two_layers *net, const float *x, float *y);

#endif

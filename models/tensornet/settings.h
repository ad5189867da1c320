/* settings.h - what a checkpoint of a TensorNet says about itself.
 *
 * Read from model.json beside state.pt (MatGL) or from hyper_parameters of a Lightning checkpoint
 * (torchmd-net). What the network cannot be built without is not guessed: where that is missing or
 * has no meaning here, it is an error. */
#ifndef BI_TENSORNET_SETTINGS_H
#define BI_TENSORNET_SETTINGS_H

#include "../../loaders/checkpoint.h"

enum { BI_TENSORNET_ELEMENTS = 119, BI_TENSORNET_MAX_LAYERS = 16 };

/* MATGL_1_DGL: version 1 of MatGL's DGL code (all of MatGL 1.0 to 1.3). Atom i sums over its
 *          neighbours j; the factor of elements is emb2 [emb[j]; emb[i]], and a message is
 *          sum_j g(r_ij) Y_i: of the atom itself.
 * MATGL_1_PYG: version 1 of its PyG code (1.3.0 to 2.1): a message is sum_j g(r_ij) Y_j.
 * MATGL_2: of MatGL 2.2 and later: emb2 [emb[i]; emb[j]], sum_j g(r_ij) Y_j.
 * TORCHMD: torchmd-net's TensorNet, with an edge from each atom to itself, and charges.
 * TORCHMD_2: its TensorNet2, with charges that the network equilibrates. */
enum bi_tensornet_kind {
    BI_TENSORNET_MATGL_1_DGL,
    BI_TENSORNET_MATGL_1_PYG,
    BI_TENSORNET_MATGL_2,
    BI_TENSORNET_TORCHMD,
    BI_TENSORNET_TORCHMD_2
};

/* EXPNORM and GAUSS: torchmd-net's; BESSEL_SMOOTH: MatGL's with use_smooth, one function for each
 * n < max_n; BESSEL: without it, max_n x max_l functions; GAUSS_MATGL: Gaussians of one width. */
enum bi_tensornet_rbf {
    BI_RBF_EXPNORM,
    BI_RBF_GAUSS,
    BI_RBF_BESSEL_SMOOTH,
    BI_RBF_BESSEL,
    BI_RBF_GAUSS_MATGL
};

enum bi_tensornet_act {
    BI_TENSORNET_SILU,
    BI_TENSORNET_SSP, /* softplus less ln 2 */
    BI_TENSORNET_TANH,
    BI_TENSORNET_SIGMOID
};

struct bi_tensornet_settings {
    enum bi_tensornet_kind kind;
    enum bi_tensornet_rbf rbf;
    enum bi_tensornet_act act;
    bool so3;          /* equivariance_invariance_group is SO(3): the product is 2 Y M */
    bool old_layout;   /* the 3 F scalar factors of an atom or edge are ordered f x 3 + k */
    const char *order; /* torchmd-net: which order they have and how it is known; else NULL */
    uint32_t channels, n_layers, n_rbf;
    uint32_t max_n, max_l; /* orders of the Bessel functions */
    double width;          /* width of GAUSS_MATGL */
    double cutoff_lower, cutoff;
    /* E = std x sum of the network + mean + sum of references */
    double mean, std;
    uint32_t n_embedded; /* rows of the table of elements */
    int16_t
        row[BI_TENSORNET_ELEMENTS]; /* row of an atomic number there, -1: it is not in the model */
    double reference[BI_TENSORNET_ELEMENTS]; /* by atomic number */
    bool has_references;
    bool takes_charge; /* the energy depends on the total charge */
    /* TORCHMD_2 alone */
    uint32_t q_dim, n_head_layers; /* hidden layers of the head */
    double q_weights[BI_TENSORNET_MAX_LAYERS + 1];
    bool coulomb;          /* the head adds the energy of the charges */
    double coulomb_cutoff; /* 0 = all pairs, no cell */
    const char *prefix;    /* begins all names of tensors: "model." or "" */
};

/* Does the checkpoint name itself a TensorNet, or another force field that is refused by name? True
 * of whatever MatGL or torchmd-net wrote with its settings, so reading these may still fail. */
bool bi_tensornet_recognise(const struct bi_checkpoint *cp);
/* Needs nothing freed. UNSUPPORTED: another family (CHGNet, M3GNet, ...) or another version, named,
 * and a hyper parameter of torchmd-net that is missing or has no meaning; FORMAT: such a setting of
 * MatGL, a tensor that is missing, or cutoffs without meaning; LIMIT: too many channels, layers or
 * radial functions, no channel or no radial function. After a failure *out is untouched.
 * factor_order: "old" (torchmd-net before 3.0) or "new", of the factors of a checkpoint of
 * torchmd-net; NULL = as the file shows, and where it does not, new, which the log is told.
 * INVALID: another word, or any for MatGL's files. */
int bi_tensornet_settings_read(struct bi_tensornet_settings *out, const struct bi_checkpoint *cp,
                               const char *factor_order, struct bioinfer_error *err);

#endif

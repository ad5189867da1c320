/* diffdock.h - the networks of DiffDock: scores of poses, and confidence in them.
 *
 * A complex is a ligand as a graph of bonds and a protein as a graph of residues (CA). The score
 * network says for each pose how it should be shifted, turned and its bonds turned. The confidence
 * network sees all atoms of the protein, and rates the whole pose. Positions are in angstrom; a
 * pose and a receptor share one frame.
 *
 * Source: gcorso/DiffDock b4704d9 and tag v1.0: models/old_cg_model.py, cg_model.py,
 * old_aa_model.py, tensor_layers.py. */
#ifndef BI_DIFFDOCK_H
#define BI_DIFFDOCK_H

#include "../../loaders/checkpoint.h"
#include "../../loaders/yaml.h"
#include "edges.h"

enum bi_diffdock_kind {
    BI_DIFFDOCK_OLD,       /* the score network of v1.0 */
    BI_DIFFDOCK_NEW,       /* the score network of v1.1, DiffDock-L */
    BI_DIFFDOCK_CONFIDENCE /* the confidence network of both */
};

enum { BI_DIFFDOCK_LIGAND_FEATURES = 16, BI_DIFFDOCK_ATOM_FEATURES = 4 };

/* The settings of the authors' model_parameters.yml, whose names stand in parentheses. */
struct bi_diffdock_settings {
    enum bi_diffdock_kind kind;
    int ns, nv;
    int n_layers;           /* (num_conv_layers) */
    int n_embedding_layers; /* (num_prot_emb_layers); NEW alone, else 0 */
    int lmax;               /* (sh_lmax) 1 or 2 */
    int fc_layers;          /* (tp_weights_layers) 2 or 3 */
    bool reduced;           /* (reduce_pseudoscalars) */
    bool ungrouped;         /* (no_differentiate_convolutions); NEW alone */
    bool no_batch_norm, no_torsion;
    int time_width, distance_width, cross_width; /* (sigma_, distance_, cross_distance_embed_dim) */
    double time_scale;                           /* (embedding_scale) */
    double ligand_radius;                        /* (max_radius) */
    double cross_radius;                         /* (cross_max_distance) */
    bool dynamic_cross;                          /* (dynamic_max_cross) */
    bool scale_by_sigma;
    bool graph_centre; /* atom 0, not the edge's own, is taken for each edge of the centre */
    int lm_width;  /* columns of a residue's language model embedding, 0 = there is no embedding */
    int n_outputs; /* CONFIDENCE alone */
    /* (receptor_radius, c_alpha_max_neighbors, not_knn_only_graph), and, CONFIDENCE alone,
     * (atom_radius, atom_max_neighbors). In v1.0 the point receives, in v1.1 its neighbours do. */
    struct bi_near_rule residues, atoms;
};

/* A ligand: heavy atoms, and bonds in both directions, one after the other. */
struct bi_diffdock_ligand {
    int32_t n, n_bonds, n_torsions;
    const int32_t (*features)[BI_DIFFDOCK_LIGAND_FEATURES];
    const int32_t (*bonds)[2];
    const int32_t *bond_type;     /* single, double, triple, aromatic */
    const int32_t (*torsions)[2]; /* u, v: the part of v turns */
};

/* Residues of a protein; CONFIDENCE alone looks at atoms, of which there is one at least. */
struct bi_diffdock_protein {
    int32_t n, n_atoms;
    const double (*ca)[3];
    const int32_t *type;    /* 0 to 37 */
    const float *embedding; /* [n][lm_width] */
    const double (*atoms)[3];
    const int32_t (*features)[BI_DIFFDOCK_ATOM_FEATURES];
    const int32_t *residue; /* each atom's */
};

/* The moment of a step: time and noise. */
struct bi_diffdock_time {
    const float *embedding; /* [time_width], bi_diffdock_embed_time() */
    double sigma;           /* the shift's */
    double turn_norm;       /* expected norm of the score of a rotation */
    double torsion_norm;    /* expected square of the score of a torsion */
};

/* The scores of one pose; NaN where directions vanish. */
struct bi_diffdock_score {
    double shift[3], turn[3];
    double *torsions; /* [n_torsions], the caller's */
};

/* Settings of sampling. Kinds are shift, turn, torsion. */
enum { BI_DIFFDOCK_KINDS = 3 };
struct bi_diffdock_noise {
    double low[BI_DIFFDOCK_KINDS], high[BI_DIFFDOCK_KINDS]; /* (..._sigma_min, ..._sigma_max) */
    bool nearest_alone; /* edges of a protein have no radius (not_knn_only_graph) */
};

/* Which network the tensors of a checkpoint are of. MISMATCH: of none. */
int bi_diffdock_tell(enum bi_diffdock_kind *out, const struct bi_checkpoint *cp,
                     struct bioinfer_error *err);
/* Fills settings and, of a score network, noise from the authors' settings of this checkpoint, and
 * marks the keys that were used. Of a CONFIDENCE, `noise` is an input: its score network gave
 * it. old: residues receive as in v1.0. Keys that nothing here knows are named once, in the log
 * of env. FORMAT: a value is missing or of another type; UNSUPPORTED: a setting that is not
 * computed; MISMATCH: settings and tensors contradict each other. The words have file and line. */
int bi_diffdock_settings_read(struct bi_diffdock_settings *out, struct bi_diffdock_noise *noise,
                              const struct bi_env *env, struct bi_yaml *yaml,
                              const struct bi_checkpoint *cp, bool old, struct bioinfer_error *err);

struct bi_diffdock;
struct bi_diffdock_receptor;
/* The settings that it was opened with. */
const struct bi_diffdock_settings *bi_diffdock_settings_of(const struct bi_diffdock *model);

/* Reads the weights. `settings` and the checkpoint need not stay. INVALID: settings that are out of
 * range or not computed; MISMATCH: a tensor is missing, has another shape, or is not known, or a
 * table of distances contradicts the settings; FORMAT: a weight is not finite. */
int bi_diffdock_open(struct bi_diffdock **out, const struct bi_env *env,
                     const struct bi_checkpoint *cp, const struct bi_diffdock_settings *settings,
                     struct bioinfer_error *err);
void bi_diffdock_close(struct bi_diffdock **model);

/* Computes all that does not depend on poses and times. The model and the protein's arrays must
 * stay. INVALID: a number of the protein is out of range. */
int bi_diffdock_receptor_new(struct bi_diffdock_receptor **out, const struct bi_diffdock *model,
                             const struct bi_diffdock_protein *protein, int n_threads,
                             struct bioinfer_error *err);
void bi_diffdock_receptor_free(struct bi_diffdock_receptor **receptor);

/* Sines and cosines of t in [0, 1], float32 throughout as in training: [time_width]. */
void bi_diffdock_embed_time(const struct bi_diffdock_settings *settings, double t, float *out);

/* Shows tests the features after each layer; NULL = nobody looks. */
struct bi_diffdock_watch {
    void (*layer)(void *user, int pose, bool ligand, int layer, int32_t n, int width,
                  const float *x);
    void *user;
};

/* Scores of n poses, each [ligand->n][3]; a pose's score does not depend on the others. INVALID: a
 * number of the ligand is out of range, or the model is a CONFIDENCE; LIMIT: too many edges. */
int bi_diffdock_score(const struct bi_diffdock_receptor *receptor,
                      const struct bi_diffdock_ligand *ligand, const struct bi_diffdock_time *time,
                      const double (*poses)[3], int n, int n_threads,
                      const struct bi_diffdock_watch *watch, struct bi_diffdock_score *scores,
                      struct bioinfer_error *err);

/* Confidence in n poses, [n][n_outputs]; of several outputs the first one counts. Statuses are
 * as of bi_diffdock_score(), with INVALID where the model is no CONFIDENCE. */
int bi_diffdock_confidence(const struct bi_diffdock_receptor *receptor,
                           const struct bi_diffdock_ligand *ligand, const double (*poses)[3], int n,
                           int n_threads, const struct bi_diffdock_watch *watch, double *outputs,
                           struct bioinfer_error *err);

#endif

/* esmfold2.h - ESMFold2: its sizes, its weights, the parts of its graphs, and its programs.
 *
 * Products are x W^T, without a bias unless `b` says so. Norms have eps 1e-5 over all columns. */
#ifndef BI_ESMFOLD2_H
#define BI_ESMFOLD2_H

#include "../esmc.h"
#include "../fold.h"

enum {
    ESMFOLD2_TYPES = 33,          /* kinds of residues and bases that a token may be */
    ESMFOLD2_ATOM_NUMBERS = 5,    /* an atom's: x, y, z in angstrom, charge, 1 */
    ESMFOLD2_ATOM_CODES = 5,      /* an atom's: its element, four letters */
    ESMFOLD2_ALIGNED_NUMBERS = 2, /* an aligned row's: is one deleted, a measure of how many */
    ESMFOLD2_RELATIONS = 4,       /* rows of the table of relative positions that a pair adds up */
    ESMFOLD2_ATOM_LAYERS = 16,    /* the most of each kind of layer */
    ESMFOLD2_LAYERS = 256
};

/* ---- weights: indices in the model's table, -1 = there is none ---- */

struct esmfold2_linear {
    int w, b;
};

/* r = value(x) sigmoid(gate(x)) of x = norm_in(z), once as a and once as b; u = sum a b;
 * out(norm_out(u)) sigmoid(gate(x)). */
struct esmfold2_triangle {
    struct esmfold2_linear norm_in, a_value, b_value, a_gate, b_gate, norm_out, out, gate;
};

/* down(silu(gate(x)) up(x)) of x = norm(y); norm is {-1, -1} where the layer has its own. */
struct esmfold2_transition {
    struct esmfold2_linear norm, gate, up, down;
};

struct esmfold2_pair_layer {
    struct esmfold2_triangle outgoing, incoming;
    struct esmfold2_transition transition;
};

/* modulation [6 a, a]: shift, scale, gate of attention, then of the transition. */
struct esmfold2_atom_layer {
    struct esmfold2_linear modulation, q, k, v, gate, out;
    struct esmfold2_transition transition;
};

/* features [a, 389]; to_token [tokens' width, a]. */
struct esmfold2_atom_encoder {
    struct esmfold2_linear features, norm, to_token;
    struct esmfold2_atom_layer layers[ESMFOLD2_ATOM_LAYERS];
};

/* A norm that a condition modulates: norm has a weight alone, gate has a bias. */
struct esmfold2_adaptive {
    struct esmfold2_linear norm, gate, shift;
};

/* A layer of the token transformer. q has a bias; so have attention_gate and transition_gate. */
struct esmfold2_token_layer {
    struct esmfold2_adaptive before_attention, before_transition;
    struct esmfold2_linear q, k, v, gate, out, attention_gate, transition_gate;
    struct esmfold2_linear pair_norm, bias; /* bias [heads, c] */
    struct esmfold2_transition transition;
};

struct esmfold2_diffusion {
    struct esmfold2_linear frequencies, phases; /* [fourier]: vectors, in w */
    struct esmfold2_linear pair_norm, pair, single_norm, single, noise_norm, noise;
    struct esmfold2_transition pair_transition[2], single_transition[2];
    struct esmfold2_linear coordinates; /* [a, 6], of which columns 3 to 5 meet zeros */
    struct esmfold2_atom_encoder encoder;
    struct esmfold2_linear step_norm, single_to_token, token_norm;
    struct esmfold2_token_layer *layers;
    struct esmfold2_linear to_atom, atom_norm, position; /* [a, tokens' width], [a], [3, a] */
    struct esmfold2_atom_layer decoder[ESMFOLD2_ATOM_LAYERS];
};

struct esmfold2_confidence {
    struct esmfold2_linear boundaries, distances; /* [127] in angstrom, in w; [128, c] */
    struct esmfold2_linear pair_norm, single_norm;
    struct esmfold2_linear row, column, product_row, product_column, product_out;
    struct esmfold2_pair_layer *layers;
    struct esmfold2_linear pool, pooled; /* [1, c], [s, c] */
    struct esmfold2_linear level_norm, errors_norm, distance_errors_norm;
    struct esmfold2_linear levels; /* [23 bins, s]: made, by the place of an atom in its token */
    struct esmfold2_linear errors, distance_errors; /* [64, c] */
};

/* A layer over an alignment. Outer products of what two tokens have in its rows, left and right,
 * change pairs; then rows become averages over tokens, weighted by pairs, but in the last layer. */
struct esmfold2_aligned_layer {
    struct esmfold2_linear outer_norm, left, right, outer; /* outer [c, 32 32], with a bias */
    struct esmfold2_linear row_norm, pair_norm, weight, value, gate, out; /* weight [heads, c] */
    struct esmfold2_transition transition;
};

struct esmfold2_alignment {
    struct esmfold2_linear rows, single; /* [m, 35] kind, is one deleted, how many; [m, 451] */
    struct esmfold2_aligned_layer *layers;
    struct esmfold2_pair_layer *pairs; /* one after each of them */
};

/* ---- sizes ---- */

/* By the names that config.json of transformers has. */
enum esmfold2_size {
    ESMFOLD2_SINGLE,          /* hidden_size */
    ESMFOLD2_PAIR,            /* pairwise_hidden_size: c */
    ESMFOLD2_INPUTS,          /* single_inputs_size */
    ESMFOLD2_WINDOW,          /* sliding_window: atoms, half of them on each side */
    ESMFOLD2_RESIDUE_BINS,    /* num_relative_residx_bins */
    ESMFOLD2_CHAIN_BINS,      /* num_relative_chain_bins */
    ESMFOLD2_LOOPS,           /* num_loops: passes after the first one */
    ESMFOLD2_ELEMENTS,        /* max_atomic_number */
    ESMFOLD2_LETTERS,         /* char_vocab_size */
    ESMFOLD2_NAME,            /* max_chars */
    ESMFOLD2_TOKEN_ATOMS,     /* max_atoms_per_token */
    ESMFOLD2_TRUNK,           /* layers of the trunk, counted in the file */
    ESMFOLD2_CODA,            /* parcae_num_coda_layers */
    ESMFOLD2_ATOM,            /* atom_encoder: hidden_size */
    ESMFOLD2_ATOM_OUT,        /* output_dim */
    ESMFOLD2_N_ATOM_LAYERS,   /* num_hidden_layers */
    ESMFOLD2_ATOM_HEADS,      /* num_attention_heads */
    ESMFOLD2_ATOM_HEAD,       /* head_dim */
    ESMFOLD2_ATOM_HIDDEN,     /* intermediate_size */
    ESMFOLD2_SPATIAL_PAIRS,   /* num_spatial_rope_pairs_per_axis */
    ESMFOLD2_UID_PAIRS,       /* num_uid_rope_pairs */
    ESMFOLD2_DISTOGRAM,       /* structure_head: num_distogram_bins */
    ESMFOLD2_SAMPLES,         /* num_diffusion_samples */
    ESMFOLD2_STEPS,           /* inference_num_steps: points of the schedule */
    ESMFOLD2_TOKEN,           /* diffusion_module: hidden_size */
    ESMFOLD2_FOURIER,         /* fourier_dim */
    ESMFOLD2_TOKEN_LAYERS,    /* num_hidden_layers */
    ESMFOLD2_TOKEN_HEADS,     /* num_attention_heads */
    ESMFOLD2_TOKEN_HIDDEN,    /* intermediate_size */
    ESMFOLD2_PAIR_HIDDEN,     /* pair_intermediate_size */
    ESMFOLD2_CONFIDENCE,      /* confidence_head: num_hidden_layers */
    ESMFOLD2_LEVEL_BINS,      /* num_plddt_bins */
    ESMFOLD2_ERROR_BINS,      /* num_pae_bins */
    ESMFOLD2_DISTANCE_BINS,   /* num_pde_bins */
    ESMFOLD2_DISTANCES,       /* distogram_bins */
    ESMFOLD2_LM_LAYERS,       /* lm_encoder: num_hidden_layers */
    ESMFOLD2_PAIR_TRANSITION, /* pair_transition_intermediate_size */
    /* The last ones are 0 where the model reads no alignment. */
    ESMFOLD2_ALIGNED_LAYERS, /* msa_encoder: num_hidden_layers */
    ESMFOLD2_ALIGNED,        /* hidden_size: m */
    ESMFOLD2_OUTER,          /* outer_hidden_size */
    ESMFOLD2_ALIGNED_HEADS,  /* num_attention_heads */
    ESMFOLD2_ALIGNED_HEAD,   /* head_dim */
    ESMFOLD2_ALIGNED_HIDDEN, /* intermediate_size */
    ESMFOLD2_SIZES
};

enum esmfold2_real {
    ESMFOLD2_SPATIAL_BASE, /* atom_encoder: spatial_rope_base_frequency */
    ESMFOLD2_UID_BASE,     /* uid_rope_base_frequency */
    ESMFOLD2_SIGMA,        /* diffusion_module: sigma_data */
    ESMFOLD2_GAMMA,        /* structure_head: gamma_0 */
    ESMFOLD2_GAMMA_MIN,    /* gamma_min */
    ESMFOLD2_NOISE_SCALE,  /* noise_scale */
    ESMFOLD2_STEP_SCALE,   /* step_scale */
    ESMFOLD2_SIGMA_MAX,    /* inference_sigma_max_ratio, in units of sigma_data */
    ESMFOLD2_SIGMA_MIN,    /* inference_sigma_min_ratio, the same */
    ESMFOLD2_EXPONENT,     /* inference_exponent */
    ESMFOLD2_SIGMA_CAP,    /* inference_sigma_cap, in angstrom */
    ESMFOLD2_DROPOUT,      /* lm_encoder: lm_dropout */
    ESMFOLD2_REALS
};

struct esmfold2 {
    bool old; /* tensors have the names that the authors published first */
    int64_t size[ESMFOLD2_SIZES];
    float real[ESMFOLD2_REALS];
    const struct bi_esmc *stem;
    int64_t stem_width;
    float *mix;                                       /* [layers + 1] shares of the stem's levels */
    struct esmfold2_linear level_norm, level;         /* [stem's width], [c, stem's width] */
    struct esmfold2_linear down, meet, met, met_norm; /* two tokens meet: meet [c, 2 c] */
    struct esmfold2_atom_encoder atoms;
    struct esmfold2_linear row, column, positions;            /* [c, 451] twice, [c, 139] */
    struct esmfold2_linear bonds;                             /* [c, 1], which no protein needs */
    struct esmfold2_linear decay, input_norm, input, readout; /* decay [c], input [c, c]: made */
    struct esmfold2_linear distogram;
    struct esmfold2_pair_layer *trunk, *lm, *coda;
    struct esmfold2_diffusion diffusion;
    struct esmfold2_confidence confidence;
    struct esmfold2_alignment alignment;
};

/* Recognises, opens and checks every tensor, as struct bi_model_def has it. */
bool esmfold2_recognise(const struct bi_checkpoint *cp);
/* The same: opens the model. */
int esmfold2_open(struct bi_model *model, struct bioinfer_error *err);

/* ---- stem.c ---- */

/* Binds ESM C, f->stem, of tensors "esmc.*". A file without them gets tensors of the folder that
 * config.json names as esmc_id. MISMATCH: there is none, or one of other sizes; what
 * bi_hub_resolve() and bi_checkpoint_open() give. */
int esmfold2_open_stem(struct bi_model *model, struct esmfold2 *f, struct bioinfer_error *err);

/* ---- the graph at hand ---- */

/* T tokens, A atoms, G pairs and B records of a batch; inputs that a program does not have are
 * BI_NONE. Axes: tokens BI_AXIS_TOKENS, atoms BI_AXIS_ATOMS, pairs BI_AXIS_GRID, records
 * BI_AXIS_SEQS. Atoms of a token follow each other, and so do tokens of a record. */
struct esmfold2_graph {
    const struct bi_model *model;
    const struct esmfold2 *f;
    struct bi_graph *g;
    const struct bi_fold_shape *shape;
    bi_value_id start;       /* [B + 1] first token of each record */
    bi_value_id grid_start;  /* [B + 1] first pair */
    bi_value_id row_start;   /* [T + 1] first pair of each token */
    bi_value_id atom_start;  /* [B + 1] first atom of each record */
    bi_value_id token_atoms; /* [T + 1] first atom of each token */
    bi_value_id atom_token;  /* [A, 1] the token of each atom: an index for gather_sum */
    bi_value_id atom_place;  /* [A, 1] its place in the token, from 0 */
    bi_value_id seen_atom;   /* [T, 1] the atom by which distances of tokens are told */
    bi_value_id numbers;     /* [A, ESMFOLD2_ATOM_NUMBERS] float32 */
    bi_value_id codes;       /* [A, ESMFOLD2_ATOM_CODES] columns of `features`, from 0 */
    bi_value_id turns;       /* [A, head] cosines of head / 2 angles, then sines */
    bi_value_id tail;        /* [T, 451] features of tokens, 0 in columns that atoms fill */
    bi_value_id grid_rows;   /* [G] number of each pair, where pairs are computed in parts */
    bi_value_id relations;   /* [G, ESMFOLD2_RELATIONS] columns of `positions` */
};

/* Values that the trunk leaves, and a sample reads. */
struct esmfold2_trunk {
    bi_value_id single;    /* [T, 451] */
    bi_value_id pair;      /* [G, c], after the coda */
    bi_value_id positions; /* [G, c], of relative positions */
};

/* ---- parts (model.c, alignment.c, atoms.c, diffusion.c, confidence.c) ---- */

/* The value of a weight. */
bi_value_id esmfold2_value(const struct esmfold2_graph *b, int index);
/* x W^T, and b where there is one. */
bi_value_id esmfold2_product(const struct esmfold2_graph *b, bi_value_id x,
                             struct esmfold2_linear l);
/* A norm of all columns; without a bias where b is -1. */
bi_value_id esmfold2_norm(const struct esmfold2_graph *b, bi_value_id x, struct esmfold2_linear l);
/* y sigmoid(x W + b) */
bi_value_id esmfold2_gated(const struct esmfold2_graph *b, bi_value_id x,
                           struct esmfold2_linear gate, bi_value_id y);
/* down(silu(gate x) up x), without the norm and without the sum. */
bi_value_id esmfold2_swiglu(const struct esmfold2_graph *b, bi_value_id x,
                            const struct esmfold2_transition *t);
/* x + swiglu(norm(x)) */
bi_value_id esmfold2_transit(const struct esmfold2_graph *b, bi_value_id x,
                             const struct esmfold2_transition *t);
/* Where memory does not hold what layers make of all pairs at once (shape->n_parts), it is made in
 * parts: between begin and end nodes work on the rows of a part, which esmfold2_rows() gives of a
 * value, and esmfold2_put() writes what was made of them over the rows of x, which is one that a
 * node has made. Else nothing changes: rows are all rows, and put gives its rows. */
void esmfold2_begin(const struct esmfold2_graph *b);
void esmfold2_end(const struct esmfold2_graph *b);
bool esmfold2_in_parts(const struct esmfold2_graph *b);
bi_value_id esmfold2_rows(const struct esmfold2_graph *b, bi_value_id x);
bi_value_id esmfold2_put(const struct esmfold2_graph *b, bi_value_id x, bi_value_id rows);
/* [G, width] to be written by parts; BI_NONE where there are none. */
bi_value_id esmfold2_room(const struct esmfold2_graph *b, int64_t width);
/* [G, c] after n layers. In parts they overwrite z. */
bi_value_id esmfold2_pair_layers(const struct esmfold2_graph *b, bi_value_id z,
                                 const struct esmfold2_pair_layer *layers, int64_t n);

/* [G, c] pairs z after the layers over an alignment, of single [T, 451]; z itself where the model
 * reads none (alignment.c). Adds the inputs of alignments. */
bi_value_id esmfold2_align(const struct esmfold2_graph *b, bi_value_id z, bi_value_id single);

/* [A, a] norm(features W): what an encoder begins with, and the condition of its layers. */
bi_value_id esmfold2_atom_features(const struct esmfold2_graph *b,
                                   const struct esmfold2_atom_encoder *e);
/* [A, a] after n layers, on the condition [A, a]. */
bi_value_id esmfold2_atom_layers(const struct esmfold2_graph *b, bi_value_id h,
                                 bi_value_id condition, const struct esmfold2_atom_layer *layers,
                                 int64_t n);
/* [T, width of to_token], the mean over the atoms of each token of relu(to_token(h)). */
bi_value_id esmfold2_to_tokens(const struct esmfold2_graph *b, bi_value_id h,
                               struct esmfold2_linear to_token);

/* A sample: atoms [A, 3] in angstrom at the end of the sampler's steps, of the inputs "noise",
 * "plan", "levels" and "record" (docs/design/folding.md). */
bi_value_id esmfold2_sample(const struct esmfold2_graph *b, const struct esmfold2_trunk *t);
/* Outputs of kinds BI_FOLD_PLACES, BI_FOLD_LEVELS ([T, 23 bins], by the place of an atom in its
 * token), BI_FOLD_ERRORS and BI_FOLD_DISTANCE_ERRORS for atoms [A, 3]. */
void esmfold2_rate(const struct esmfold2_graph *b, const struct esmfold2_trunk *t,
                   bi_value_id atoms);

/* ---- programs: what is kept ---- */

#define ESMFOLD2_KEPT_STEM "stem"   /* [T, c] of ESM C's levels, before tokens meet */
#define ESMFOLD2_KEPT_PAIRS "pairs" /* [G, c] the state of the loop; of the last pass the pair */

#endif

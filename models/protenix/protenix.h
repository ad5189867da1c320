/* protenix.h - Protenix: its weights, sizes by shapes of tensors, and the parts of its graphs.
 *
 * Products are x W^T, with a bias where `b` is not -1. Norms have eps 1e-5 over all columns, and a
 * bias where `b` is not -1. */
#ifndef BI_PROTENIX_H
#define BI_PROTENIX_H

#include "../fold.h"

enum {
    PROTENIX_TYPES = 32,      /* kinds of residues, bases, ligands, gaps */
    PROTENIX_TAIL = 65,       /* features of a token after its atoms': kind, profile, deletions */
    PROTENIX_ELEMENTS = 128,  /* columns of elements */
    PROTENIX_LETTERS = 64,    /* columns of each letter of an atom's name */
    PROTENIX_CODES = 6,       /* an atom's: is it there, its element, four letters */
    PROTENIX_FEATURES = 385,  /* columns that these codes name */
    PROTENIX_RELATIONS = 4,   /* rows of a table of relative positions that a pair adds up */
    PROTENIX_POSITIONS = 139, /* rows of such a table */
    PROTENIX_DISTANCES = 40,  /* numbers of a template's pair: bins of distances, is C-beta there */
    PROTENIX_AXES = 4,        /* the rest: a unit vector, are both frames there */
    PROTENIX_TEMPLATES = 4,   /* the most of a record */
    PROTENIX_PLACES = 24,     /* places of atoms in a token, for which pLDDT has weights */
    PROTENIX_LEVELS = 50,     /* bins of pLDDT */
    PROTENIX_BINS = 64,       /* bins of errors */
    PROTENIX_LAYERS = 256     /* the most of each kind */
};

/* ---- weights: indices in the model's table, -1 = there is none ---- */

struct protenix_linear {
    int w, b;
};

/* a = value(x) sigmoid(gate(x)) of x = norm_in(z), likewise b; u = sum a b;
 * out(norm_out(u)) sigmoid(gate(x)). */
struct protenix_triangle {
    struct protenix_linear norm_in, a_value, a_gate, b_value, b_gate, norm_out, out, gate;
};

/* Attention within rows of pairs; bias [heads, c]. */
struct protenix_rows {
    struct protenix_linear norm, bias, q, k, v, gate, out;
    int32_t heads, width;
};

/* down(silu(gate(x)) up(x)) of x = norm(y); norm is {-1, -1} where the layer has its own. */
struct protenix_transition {
    struct protenix_linear norm, gate, up, down;
};

/* Attention of tokens, or of atoms, that pairs bias: q has a bias; bias [heads, pairs' width]. */
struct protenix_attention {
    struct protenix_linear q, k, v, gate, out, pair_norm, bias;
    int32_t heads, width;
};

/* A layer of pairs, and of single tokens where the stack has them. */
struct protenix_layer {
    struct protenix_triangle outgoing, incoming;
    struct protenix_rows start, end;
    struct protenix_transition transition;
    struct protenix_linear norm;
    struct protenix_attention attention;
    struct protenix_transition single_transition;
};

struct protenix_stack {
    struct protenix_layer *layers;
    int64_t n;
};

/* A norm that a condition modulates: norm has a weight alone, gate has a bias. */
struct protenix_adaptive {
    struct protenix_linear norm, gate, shift;
};

/* A layer of tokens or atoms on a condition. Keys of atoms have a norm of their own. */
struct protenix_conditioned {
    struct protenix_adaptive before_attention, before_keys, before_transition;
    struct protenix_attention attention;
    struct protenix_linear attention_gate, transition_gate; /* both have a bias */
    struct protenix_transition transition;
};

struct protenix_conditioned_stack {
    struct protenix_conditioned *layers;
    int64_t n;
};

/* features [a, PROTENIX_FEATURES]. Those from single_norm to noisy are of samples alone. */
struct protenix_encoder {
    struct protenix_linear place, charge, features; /* atoms': [a, 3], [a, 1] */
    struct protenix_linear offset, near, same;      /* pairs': [k, 3], [k, 1] twice */
    struct protenix_linear query, key, mlp[3];      /* [k, a] twice, [k, k] */
    struct protenix_linear single_norm, single;     /* [a, s] */
    struct protenix_linear pair_norm, pair;         /* [k, c] */
    struct protenix_linear noisy, to_token;         /* [a, 3], [tokens' width, a] */
    struct protenix_conditioned_stack layers;
};

struct protenix_template {
    struct protenix_linear pair_norm, pair, features, norm, out;
    struct protenix_stack layers; /* none: templates are not looked at */
};

/* A layer over an alignment; the last one changes pairs alone. */
struct protenix_aligned {
    struct protenix_linear outer_norm, left, right, outer;
    struct protenix_linear row_norm, value, pair_norm, weight, gate, out;
    struct protenix_transition transition;
};

struct protenix_alignment {
    struct protenix_linear rows, single; /* [m, 34], [m, inputs] */
    struct protenix_aligned *layers;
    struct protenix_stack pairs; /* a layer after each of them */
};

struct protenix_diffusion {
    struct protenix_linear positions, pair_norm, pair;
    struct protenix_transition pair_transition[2], single_transition[2];
    struct protenix_linear single_norm, single, noise_norm, noise;
    struct protenix_linear frequencies, phases; /* [fourier]: vectors, in w */
    struct protenix_encoder encoder;
    struct protenix_linear step_norm, step, token_norm;
    struct protenix_conditioned_stack tokens;
    struct protenix_linear to_atom, atom_norm, position;
    struct protenix_conditioned_stack decoder;
};

struct protenix_confidence {
    struct protenix_linear single_norm, row, column;
    struct protenix_linear distances, slope; /* made: [40, c] by the class of a distance; [c] */
    struct protenix_stack layers;
    struct protenix_linear errors_norm, errors, distance_errors_norm, distance_errors;
    struct protenix_linear levels_norm, levels;     /* made: [24 50, s] by an atom's place */
    struct protenix_linear resolved_norm, resolved; /* made: [24 2, s] */
};

struct protenix {
    int64_t single, pair, inputs, atom, atom_pair, token, aligned, fourier;
    struct protenix_encoder atoms;
    struct protenix_linear single_init, row_init, column_init, positions, bonds;
    struct protenix_linear pair_norm, pair_again, single_norm, single_again;
    struct protenix_template template;
    struct protenix_alignment alignment;
    struct protenix_stack trunk;
    struct protenix_diffusion diffusion;
    struct protenix_confidence confidence;
    struct protenix_linear distogram, contacts; /* contacts made: [1, 64] */
    /* Settings of the published configurations, which files do not have: mini and tiny, known by a
     * single layer of atoms in their diffusion, take fewer passes and steps without noise. */
    int32_t cycles, steps;
    float gamma, step_scale;
};

/* Does the checkpoint have the names of Protenix? */
bool protenix_recognise(const struct bi_checkpoint *cp);
/* Opens the model, as struct bi_model_def has it (weights.c). */
int protenix_open(struct bi_model *model, struct bioinfer_error *err);

/* ---- the graph at hand ---- */

/* A template, or several that are the same. */
struct protenix_slot {
    int32_t copies;
    bool placed; /* it has distances and axes, else none is known */
};

/* T tokens, A atoms, W places of keys of atoms, G pairs and B records of a batch; atoms of a token
 * follow each other, and so do tokens of a record. */
struct protenix_graph {
    const struct bi_model *model;
    const struct protenix *f;
    struct bi_graph *g;
    const struct bi_fold_shape *shape;
    struct protenix_slot slots[PROTENIX_TEMPLATES]; /* up to 0 copies */
    bi_value_id start;                              /* [B + 1] first token of each record */
    bi_value_id grid_start;                         /* [B + 1] first pair */
    bi_value_id row_start;                          /* [T + 1] first pair of each token */
    bi_value_id atom_start;                         /* [B + 1] first atom of each record */
    bi_value_id token_atoms;                        /* [T + 1] first atom of each token */
    bi_value_id atom_token;                         /* [A, 1] the token of each atom */
    bi_value_id key_query, key_atom, key_pair; /* [W, 1] of a place: its atom, the key, the pair of
                                                  their tokens; -1 where there is no key */
    bi_value_id seen_atom; /* [T, 1] the atom by which distances of tokens are told */
    bi_value_id relations; /* [G, 4] rows of tables of positions, -1 = none */
};

/* Values that the trunk leaves. */
struct protenix_trunk {
    bi_value_id inputs, single, pair; /* [T, inputs], [T, s], [G, c] */
};

/* ---- parts ---- */

/* The value of a weight. */
bi_value_id protenix_value(const struct protenix_graph *b, int index);
/* x W^T, and b where there is one. */
bi_value_id protenix_product(const struct protenix_graph *b, bi_value_id x,
                             struct protenix_linear l);
/* A norm of all columns; without a bias where b is -1. */
bi_value_id protenix_norm(const struct protenix_graph *b, bi_value_id x, struct protenix_linear l);
/* A norm without weights. */
bi_value_id protenix_plain_norm(const struct protenix_graph *b, bi_value_id x);
bi_value_id protenix_relu(const struct protenix_graph *b, bi_value_id x);
/* y sigmoid(gate(x)) */
bi_value_id protenix_gated(const struct protenix_graph *b, bi_value_id x,
                           struct protenix_linear gate, bi_value_id y);
/* down(silu(gate x) up x), without the norm and without the sum. */
bi_value_id protenix_swiglu(const struct protenix_graph *b, bi_value_id x,
                            const struct protenix_transition *t);
/* x + swiglu(norm(x)) */
bi_value_id protenix_transit(const struct protenix_graph *b, bi_value_id x,
                             const struct protenix_transition *t);
/* q of x with its bias, divided by the root of a head's width. */
bi_value_id protenix_queries(const struct protenix_graph *b, bi_value_id x,
                             const struct protenix_attention *a);
/* Attention of tokens x [T, ...] with biases of pairs [G, heads]: out(sigmoid(gate x) y). */
bi_value_id protenix_attend(const struct protenix_graph *b, bi_value_id x, bi_value_id bias,
                            const struct protenix_attention *a);
/* [G, heads] of pairs z. */
bi_value_id protenix_bias(const struct protenix_graph *b, bi_value_id z,
                          const struct protenix_attention *a);
/* Changes pairs *z, and single tokens *s unless s is NULL. */
void protenix_layers(const struct protenix_graph *b, const struct protenix_stack *stack,
                     bi_value_id *s, bi_value_id *z);
/* [G, c] rows of a table of relative positions [c, 139]. */
bi_value_id protenix_positions(const struct protenix_graph *b, struct protenix_linear table);

/* A norm's modulation by a condition. */
struct protenix_modulation {
    bi_value_id gate, shift;
};

/* Values that modulate a layer of atoms, and the biases of its pairs: no step changes them. */
struct protenix_atom_condition {
    struct protenix_modulation before_attention, before_keys, before_transition;
    bi_value_id attention_gate, transition_gate, bias;
};

/* Atoms and their pairs: condition [A, a], pairs [W, k], before any layer; noisy atoms are added to
 * the condition at each step. trunk NULL: of the trunk's own inputs; else pairs [G, c] of the
 * diffusion, and single tokens. */
struct protenix_atoms {
    bi_value_id condition, pairs;
};
struct protenix_atoms protenix_atoms(const struct protenix_graph *b,
                                     const struct protenix_encoder *e, bi_value_id single,
                                     bi_value_id pair);
struct protenix_modulation protenix_modulate(const struct protenix_graph *b, bi_value_id condition,
                                             const struct protenix_adaptive *w);
/* gate x + shift of x = plain norm of a */
bi_value_id protenix_adapt(const struct protenix_graph *b, bi_value_id a,
                           struct protenix_modulation m);
struct protenix_atom_condition protenix_condition(const struct protenix_graph *b,
                                                  const struct protenix_atoms *atoms,
                                                  const struct protenix_conditioned *layer);
/* [A, a] after a layer. */
bi_value_id protenix_atom_layer(const struct protenix_graph *b, bi_value_id h,
                                const struct protenix_atom_condition *c,
                                const struct protenix_conditioned *layer);
/* [T, width], the mean over the atoms of each token of relu(to_token(h)). */
bi_value_id protenix_to_tokens(const struct protenix_graph *b, bi_value_id h,
                               struct protenix_linear to_token);

/* [T, inputs], what is known of tokens before any pass (trunk.c). */
bi_value_id protenix_inputs(const struct protenix_graph *b);
/* A pass over what the last one left. */
struct protenix_trunk protenix_pass(const struct protenix_graph *b,
                                    const struct protenix_trunk *before);
/* [G, c] pairs after templates, after the alignment. */
bi_value_id protenix_templates(const struct protenix_graph *b, bi_value_id z);
bi_value_id protenix_align(const struct protenix_graph *b, bi_value_id z, bi_value_id inputs);

/* Values of a diffusion that no step changes (diffusion.c). */

/* [A, 3] in angstrom after the sampler's steps, of the inputs "noise", "plan", "levels" and
 * "record" (docs/design/folding.md). */
bi_value_id protenix_sample(const struct protenix_graph *b, const struct protenix_trunk *t);
/* Outputs of kinds BI_FOLD_PLACES, BI_FOLD_LEVELS, BI_FOLD_ERRORS and BI_FOLD_DISTANCE_ERRORS for
 * atoms [A, 3]; beside these "resolved" [T, 24 2], logits, and "contacts" [G, 1], probabilities. */
void protenix_rate(const struct protenix_graph *b, const struct protenix_trunk *t,
                   bi_value_id atoms);

/* Adds the inputs that all programs read. */
void protenix_add_inputs(struct protenix_graph *b);
/* Writes the program of shape->program: BI_FOLD_STEM keeps "inputs"; passes keep "single" and
 * "pairs"; BI_FOLD_SAMPLE draws atoms and rates them. g and shape are set, and slots for passes. */
void protenix_build(struct protenix_graph *b);

#define PROTENIX_KEPT_INPUTS "inputs"
#define PROTENIX_KEPT_SINGLE "single"
#define PROTENIX_KEPT_PAIRS "pairs"

#endif

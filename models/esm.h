/* esm.h - the encoder that several families share, each with letters, positions or a feed-forward
 * block of its own. */
#ifndef BI_ESM_H
#define BI_ESM_H

#include "model.h"

/* A family's share of the architecture. */
struct bi_esm_kind {
    const char *name; /* "esm2", where a size has no name */
    /* Names of published sizes, ended by a NULL name. */
    const struct bi_esm_size {
        int n_layers, width;
        const char *name;
    } *sizes;
    bool learned;       /* a table of positions is added to the embedding, instead of rotations */
    bool gated;         /* silu(x Wg) * (x Wu), without biases, instead of gelu(x W1 + b1) */
    bool exact_rope;    /* rotary frequencies that a file lacks are not rounded to float16 */
    bool token_dropout; /* unless config.json says otherwise */
    float eps;          /* unless config.json says otherwise */
    int n_suffix;       /* 1: <eos> stands behind a sequence; <cls> always stands in front */
    bool other_words;   /* vocab.txt, where there is one, is of another part of the model */
};

/* Indices of weights in the model's table; -1 = the checkpoint has none. */
struct bi_esm_layer {
    int norm1_w, norm1_b, q_w, q_b, k_w, k_b, v_w, v_b, out_w, out_b;
    int norm2_w, norm2_b, fc1_w, fc1_b, fc2_w, fc2_b, contact_w;
    int up_w; /* gated: fc1_w is the gate */
};

/* The first member of a family's configuration. The family sets the first group before
 * bi_esm_open(). */
struct bi_esm {
    const struct bi_esm_kind *kind;
    const char *const *symbols; /* [vocab] by id */
    int32_t vocab, mask, pad;

    int layout, which;     /* how a file names its tensors: places in tables of esm.c */
    const char *prefix;    /* in front of the trunk's names in the file */
    const char *lm_prefix; /* in front of lm_head */
    int64_t n_layers, width, n_heads, head_dim, ffn, n_positions;
    bool token_dropout;
    float eps;
    int embed, inv_freq, positions, norm0_w, norm0_b, norm_w, norm_b;
    int dense_w, dense_b, lm_norm_w, lm_norm_b, lm_w, lm_b; /* -1: no LM head */
    int contact_b;                                          /* -1: no contact head */
    struct bi_esm_layer *layers;
};

/* Facts that names, shapes and config.json of a file tell. */
struct bi_esm_facts {
    uint64_t vocab;      /* rows of the embedding */
    bool learned, gated; /* as in struct bi_esm_kind */
};
/* False: the file is none of this architecture, and *facts is untouched. */
bool bi_esm_facts(const struct bi_checkpoint *cp, struct bi_esm_facts *facts);

/* Reads the configuration and binds every weight. vocab.txt, where there is one, must have the
 * symbols. Sets model->config and all facts of the model; *e lives as long as the model. Heads for
 * logits and contacts may be missing: can_include is without them then. MISMATCH: a tensor is
 * missing, or one, the vocabulary or config.json does not fit the others; UNSUPPORTED: config.json
 * asks for a vocab_size, positions or an activation that this kind has not. */
int bi_esm_open(struct bi_model *model, struct bi_esm *e, struct bioinfer_error *err);

/* As those of struct bi_model_def, for models whose configuration begins with a struct bi_esm. */
void bi_esm_build(const struct bi_model *model, struct bi_graph *g, const struct bi_shape *shape,
                  const struct bi_wants *wants);
/* The sum [T, width] over all representations, each times one of weights [n_layers + 1], in a graph
 * with the inputs of bi_esm_build(). */
bi_value_id bi_esm_mix(const struct bi_model *model, struct bi_graph *g,
                       const struct bi_shape *shape, const float *weights);
void bi_esm_token_scale(const struct bi_model *model, const int32_t *ids, size_t n, float *scale);
int bi_esm_settings(const struct bi_model *model, struct bi_hash *to);

/* ---- the alphabet of 33 symbols ---- */

enum {
    BI_ESM_VOCAB = 33,
    BI_ESM_CLS = 0,
    BI_ESM_PAD = 1,
    BI_ESM_EOS = 2,
    BI_ESM_UNK = 3,
    BI_ESM_MASK = 32
};
/* Opens a family of that alphabet, as bi_esm_open(), with a struct bi_esm in the model's arena. */
int bi_esm_open_residues(struct bi_model *model, const struct bi_esm_kind *kind,
                         struct bioinfer_error *err);
/* The same with a struct bi_esm of the family's own, whose lifetime is the model's. */
int bi_esm_open_in(struct bi_model *model, struct bi_esm *e, const struct bi_esm_kind *kind,
                   struct bioinfer_error *err);
/* The token of a capital letter, '.' or '-'; -1 = it has none, as J and small letters. The model is
 * not looked at. */
int bi_esm_residue_token(const struct bi_model *model, char residue);
/* CLS, a token for each residue and EOS, in place of what *out had; "<mask>" and its like are one
 * token, "<pad>" only where positions are not learned. J (leucine or isoleucine) has no token and
 * is read as X, which out->n_mapped counts, unless raw. BAD_RESIDUE: another character has none. A
 * record without residues gives CLS and EOS. out->ids, of model->env, is freed by who owns out,
 * also after a failure. */
int bi_esm_encode(const struct bi_model *model, const struct bioinfer_record *record, bool raw,
                  struct bi_tokens *out, struct bioinfer_error *err);

#endif

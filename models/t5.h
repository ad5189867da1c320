/* t5.h - the encoder of T5 that several families share, each with a vocabulary of its own. */
#ifndef BI_T5_H
#define BI_T5_H

#include "model.h"

/* Indices of weights in the model's table. */
struct bi_t5_layer {
    int norm1, q_w, k_w, v_w, out_w, norm2, wi, wi2, wo; /* wi2 -1: not gated */
};

/* The first member of a family's configuration. */
struct bi_t5 {
    const char *prefix; /* in front of all names of the file */
    int64_t n_layers, width, n_heads, head_dim, ffn, vocab;
    bool gated;
    enum { BI_T5_RELU, BI_T5_GELU_TANH } act;
    float eps;
    int embed, norm, bias;
    struct bi_t5_layer *layers;
    int32_t letters[256]; /* token by character, -1 = none; set by the family */
    int32_t eos, unk;
};

/* The table of position buckets; NULL when the file is none of this architecture. */
const struct bi_tensor *bi_t5_buckets(const struct bi_checkpoint *cp);
/* Does the vocabulary beside the weights have this piece? */
bool bi_t5_has_piece(const struct bi_checkpoint *cp, const char *piece);
/* Reads the configuration, binds every weight and reads the vocabulary. Sets model->config and all
 * facts of the model; the tokens in front, none so far, and its name are the family's. */
int bi_t5_open(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err);
/* Writes the graph, as build() of struct bi_model_def. */
void bi_t5_build(const struct bi_model *model, struct bi_graph *g, const struct bi_shape *shape,
                 const struct bi_wants *wants);
int bi_t5_residue_token(const struct bi_model *model, char residue);

/* The mark in front of a piece that begins a word. */
#define BI_T5_SPACE "\xe2\x96\x81"

#endif

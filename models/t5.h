/* t5.h - T5 as several families share it, each with a vocabulary of its own: the encoder, and the
 * decoder of weights that classify sequences. */
#ifndef BI_T5_H
#define BI_T5_H

#include "model.h"

/* Indices of weights in the model's table. */
struct bi_t5_layer {
    int norm1, q_w, k_w, v_w, out_w, norm2, wi, wi2, wo; /* wi2 -1: not gated */
};

/* A layer of the decoder: `self` has its attention to tokens in front, and its feed-forward; the
 * others attend to the encoder. */
struct bi_t5_decoder_layer {
    struct bi_t5_layer self;
    int norm, q_w, k_w, v_w, out_w;
};

struct bi_t5_decoder {
    int64_t n_layers;
    int bias, norm;
    struct bi_t5_decoder_layer *layers;
};

/* The first member of a family's configuration. */
struct bi_t5 {
    const char *prefix; /* in front of all names of the file */
    int64_t n_layers, width, n_heads, head_dim, ffn, vocab;
    bool gated;
    enum { BI_T5_RELU, BI_T5_GELU_TANH } act;
    float eps;
    int embed, norm, bias;
    int before; /* the table of tokens that the decoder reads, where there is one */
    struct bi_t5_layer *layers;
    struct bi_t5_decoder *decoder; /* NULL: the weights do not classify sequences by one */
    int32_t letters[256];          /* token by character, -1 = none; set by the family */
    int32_t eos, unk;
};

/* The table of position buckets; NULL when the file is none of this architecture, by its tensors or
 * by config.json's model_type, which may be missing. It belongs to the checkpoint. */
const struct bi_tensor *bi_t5_buckets(const struct bi_checkpoint *cp);
/* Does the vocabulary beside the weights have this piece? False where there is none, too. */
bool bi_t5_has_piece(const struct bi_checkpoint *cp, const char *piece);
/* Reads the configuration, binds every weight and reads the vocabulary, of a checkpoint for which
 * bi_t5_buckets() gives a table. Sets model->config and all facts of the model; the tokens in
 * front, none so far, e->letters, all -1 so far, and its name are the family's. MISMATCH: a tensor
 * is missing, or does not fit the others or config.json, or the vocabulary has too many pieces or
 * lacks </s> or <unk>; NOT_FOUND: there is no vocabulary beside the weights; UNSUPPORTED: another
 * feed_forward_proj, or distances that the buckets cannot have. */
int bi_t5_open(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err);
/* Writes the graph, as build() of struct bi_model_def. */
void bi_t5_build(const struct bi_model *model, struct bi_graph *g, const struct bi_shape *shape,
                 const struct bi_wants *wants);
/* As facts() of struct bi_model_def. */
int bi_t5_settings(const struct bi_model *model, struct bi_hash *to);
/* Parts that encoder and decoder share, of rows that their norm has passed: attention of rows x to
 * rows `to`, times out_w (bias -1 = none; *maps gets the weights of the keys), and the
 * feed-forward. Neither adds the rows that it began with. Errors stay in the graph. */
bi_value_id bi_t5_attend(const struct bi_model *model, struct bi_graph *g,
                         const struct bi_t5_layer *l, bi_value_id x, bi_value_id to, int bias,
                         bi_value_id start, bi_value_id *maps);
bi_value_id bi_t5_feed_forward(const struct bi_model *model, struct bi_graph *g,
                               const struct bi_t5_layer *l, bi_value_id h);
/* Which bucket of `buckets` a distance n >= 0 has. A distance n below buckets / 2 has bucket n;
 * further ones share the rest by their logarithm in float32, up to bucket buckets - 1, which all
 * from max_distance on have. buckets is 2 or more, max_distance above buckets / 2. */
int64_t bi_t5_bucket(int64_t n, int64_t buckets, int64_t max_distance);
/* A weight's place in a table of indices, its name here and in files, its shape of widths D, heads
 * I and feed-forward F, and the kind of feed-forward that has it. */
struct bi_t5_name {
    size_t at;
    const char *canonical, *file;
    enum { BI_T5_D, BI_T5_ID, BI_T5_DI, BI_T5_FD, BI_T5_DF } shape;
    enum { BI_T5_ANY, BI_T5_PLAIN, BI_T5_GATED } when;
};
/* Binds the weight of a layer, where a feed-forward of this model's kind has it, else does nothing,
 * leaves the index and returns 0; `base` is the table. Statuses are those of bi_model_bind(). */
int bi_t5_bind(struct bi_model *model, const struct bi_t5 *e, const struct bi_t5_name *n, int layer,
               void *base, struct bioinfer_error *err);

/* ---- t5_decoder.c ---- */

/* Binds the decoder where the weights are those of T5ForSequenceClassification, and sets before_id
 * and has_decoder of the model; others leave e->decoder NULL, which returns 0. MISMATCH: a tensor
 * of the decoder is missing or does not fit, or decoder_start_token_id is no token. */
int bi_t5_decoder_open(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err);
/* Writes the decoder, which reads the tokens again, each a place later, and the last row of the
 * encoder x; and the classifier's logits of its row at </s>. The model must have the decoder and
 * the classifier. Errors stay in the graph. */
void bi_t5_decoder_build(const struct bi_model *model, struct bi_graph *g,
                         const struct bi_shape *shape, bi_value_id x, bi_value_id start);

/* The token of one character, as e->letters has it; -1 = it has none. */
int bi_t5_residue_token(const struct bi_model *model, char residue);

/* The mark in front of a piece that begins a word. */
#define BI_T5_SPACE "\xe2\x96\x81"

#endif

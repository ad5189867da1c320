/* tracks.h - what families from DNA windows to tracks share: convolution blocks, transformer
 * layers with relative positions, and the finding of their weights. */
#ifndef BI_MODELS_TRACKS_H
#define BI_MODELS_TRACKS_H

#include "programs.h"

/* Where the tensors of a checkpoint are. */
struct bi_tracks_source {
    struct bi_model *model;
    const char *prefix; /* in front of every name */
    /* Names that begin with [i][0] may begin with [i][1] instead; ends with NULL. */
    const char *const (*aliases)[2];
    double norm_eps; /* epsilon of batch norms */
    /* Batch norms take no mean away, and convolutions with a tensor `name`.scale [out] are
     * standardised: each filter less its mean, to a sum of squares of scale^2. */
    bool rms;
};

/* A tensor by its name behind the prefix, or, where that is not there, by the first alias that fits
 * the begin of the name, alone; NULL = there is none. Names are cut to 199 bytes. */
const struct bi_tensor *bi_tracks_find(const struct bi_tracks_source *s, const char *fmt, ...)
    BI_PRINTF(2, 3);
/* The same; MISMATCH with the name when it is not there, and *tensor is NULL. All functions below
 * with an err give MISMATCH where a tensor is missing or has another shape, and UNSUPPORTED or
 * MISMATCH where its type cannot be used; they add what they bind to model->n_parameters, and it
 * lives as long as the model. */
int bi_tracks_need(const struct bi_tracks_source *s, const struct bi_tensor **tensor,
                   struct bioinfer_error *err, const char *fmt, ...) BI_PRINTF(4, 5);

/* Indices into the model's table of weights. */
struct bi_conv {
    int scale, shift; /* the norm in front, -1 = none */
    int w, b;
    int64_t in, out, taps;
};

/* Bases are one-hot in this many columns, four of them zeros: 16 bytes of float16, the least that
 * the copy engine of a GPU takes as a row. */
enum { BI_TRACKS_BASE_WIDTH = 8 };

/* Bases of the largest window that any family takes. */
enum { BI_TRACKS_MOST = 1 << 24 };

/* A convolution `name`.weight [out, in, taps] (out and taps as found, taps odd and at most 255),
 * .bias; with in 4 and no norm these are bases, with zeros up to BI_TRACKS_BASE_WIDTH. norm: the
 * batch norm in front, folded into a scale and a shift; NULL = none, and both are -1. */
int bi_tracks_conv(const struct bi_tracks_source *s, struct bi_conv *conv, const char *norm,
                   const char *name, int64_t in, struct bioinfer_error *err);
/* `name`.weight [out, in] as a plain matrix (trailing dimensions of 1 allowed); out as found when
 * *out is 0, which is set then: MISMATCH above 2^24. */
int bi_tracks_matrix(const struct bi_tracks_source *s, int *index, const char *name, int64_t *out,
                     int64_t in, struct bioinfer_error *err);
/* The scale and the shift [n] that a batch norm is, x scale + shift, in the model's arena. With
 * s->rms the tensor of means is not needed. */
int bi_tracks_norm(const struct bi_tracks_source *s, const char *norm, int64_t n, double **scale,
                   double **shift, struct bioinfer_error *err);
/* Any weight, under a name that is copied, which w->name becomes; *index is its place in the
 * model's table. */
int bi_tracks_weight(const struct bi_tracks_source *s, int *index, struct bi_weight *w,
                     const char *name, struct bioinfer_error *err);
/* A small tensor of exactly n elements, whatever its rank, in the model's arena. MISMATCH: it has
 * another number, or more than 2^20. */
int bi_tracks_read(const struct bi_tracks_source *s, float **values, int64_t n, const char *name,
                   struct bioinfer_error *err);
/* A tensor of n elements, whatever its rank, as a weight of rank 1; *index is its place. */
int bi_tracks_vector(const struct bi_tracks_source *s, int *index, const char *name, int64_t n,
                     struct bioinfer_error *err);
/* A weight of values made at load, which must live as long as the model, and count as no
 * parameters; *index is its place. */
int bi_tracks_values(const struct bi_tracks_source *s, int *index, const char *name, int rank,
                     int64_t rows, int64_t cols, const float *values, struct bioinfer_error *err);

/* A transformer layer with relative positions: indices into the table of weights, -1 = none. */
struct bi_tracks_layer {
    int norm1_w, norm1_b, q, k, v, u, w, out_w, out_b;
    int norm2_w, norm2_b, fc1_w, fc1_b, fc2_w, fc2_b;
};

/* Attention with rotary places, of which two heads share keys and values (tracks_rotary.c). */
struct bi_rotary_group {
    int q, q_b, k, k_b, v, v_b, out;
};

struct bi_rotary_layer {
    struct bi_rotary_group *group;
    int out_b;
};

/* The rotary attention of all layers. */
struct bi_rotary {
    struct bi_rotary_layer *layer; /* NULL: attention has relative positions */
    int64_t n_heads, width;
    int table;
};

/* All transformer layers of a model. */
struct bi_tracks_layers {
    struct bi_tracks_layer *layer;
    struct bi_rotary rotary;
    int n, n_heads;
    int r; /* matrices of all layers, one below the other: they have the same operand */
    int64_t width, key_dim, value_dim, hidden, n_features; /* n_features: of a position */
    float eps;
};

/* Binds "transformer.L.0.fn.1.mha.*" of n_layers; config.json says heads, 8 where it does not, and
 * the rotation. The window is set (bi_tracks_window). MISMATCH: heads do not divide the width into
 * an even number of even parts of at most 192, too. */
int bi_rotary_open(const struct bi_tracks_source *s, struct bi_rotary *r, int n_layers,
                   int64_t width, struct bioinfer_error *err);
/* The attention of a layer, with what its output layer adds: [n, width] of the same. */
bi_value_id bi_rotary_attend(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                             const struct bi_rotary *r, int layer);

/* "transformer.L.0.fn.*" and "transformer.L.1.fn.*", layers counted as found, at most 256. *layers
 * is zeroed before. Sets n_layers, width, n_heads and head_dim of the model, too. MISMATCH: there
 * is none, or the first one's shapes are no heads; LIMIT: too many features of positions. */
int bi_tracks_layers(const struct bi_tracks_source *s, struct bi_tracks_layers *layers,
                     int64_t width, float eps, struct bioinfer_error *err);
/* Adds what was found of the layers, without the places of weights. */
void bi_tracks_settings(const struct bi_tracks_layers *layers, struct bi_hash *to);
/* The weight [BI_BASES, BI_TRACKS_BASE_WIDTH] of bases: A, C, G, T, none, a quarter of each; *index
 * is its place. */
int bi_tracks_bases(const struct bi_tracks_source *s, int *index, struct bioinfer_error *err);
/* Sets window, token_size and n_tokens of model->tracks: the asked window, else `usual`. INVALID
 * when it is not a multiple of `step` tokens, below that, or above `most` bases. */
int bi_tracks_window(struct bi_model *model, int64_t token_size, int64_t step, int64_t most,
                     int64_t usual, struct bioinfer_error *err);

/* Completes heads that are named after what they are, such as "human": all have the same bins, all
 * features and one trunk. A name is the output's, too, and the organism's where it is "human" or
 * "mouse"; of others that is NULL. */
void bi_tracks_bins(struct bi_tracks *t, int64_t bin_size, int64_t n_bins, int64_t first_bin);

/* ---- graphs ---- */

/* conv(act(norm(x))) + bias, zeros around the activation: as many rows as x has. act: of enum
 * bi_norm_act. */
bi_value_id bi_tracks_conv_block(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                                 const struct bi_conv *conv, int act);
/* The tokens that the last layer gives: first ... first + kept - 1 of n_tokens, or, of n_windows
 * windows one behind the other, those whose rows are listed. first is of each window. */
struct bi_tracks_kept {
    int64_t first, kept, n_windows;
    bi_value_id rows; /* BI_NONE: one window */
};
/* x: [n_windows * n_tokens, width]; positions: [2 n_tokens - 1, n_features], BI_NONE of layers with
 * rotary places. It gives crop->kept
 * rows, or, where there are crop->rows, one for each row that these list. Only the queries and the
 * residual of the last layer are cropped; its keys see all tokens. */
bi_value_id bi_tracks_transformer(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                                  bi_value_id positions, const struct bi_tracks_layers *layers,
                                  const struct bi_tracks_kept *crop);
/* softplus(x w^T + b) of the head, and of the tracks, that are asked for; w and b are indices into
 * the model's table of weights, by head. */
bi_value_id bi_tracks_output(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                             const int *w, const int *b, const struct bi_tracks_asked *asked);
/* Rows first ... first + kept - 1; x itself when that is all, or the graph has failed. */
bi_value_id bi_tracks_crop(struct bi_graph *g, bi_value_id x, int64_t first, int64_t kept);

#endif

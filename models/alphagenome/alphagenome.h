/* alphagenome.h - what the files of this family share.
 *
 *   model.c     sizes and graph
 *   weights.c   the weights of all layers in front of the heads
 *   heads.c     the weights of the heads, and which tracks are real */
#ifndef BI_ALPHAGENOME_H
#define BI_ALPHAGENOME_H

#include "../tracks.h"

enum {
    AG_DOWN = 10,   /* levels at most */
    AG_BLOCKS = 64, /* layers of the tower at most */
    AG_POOLED = 16, /* tokens of a place of the grid */
    AG_SITES = 512, /* splice sites of a class at most */
    AG_ORGANISMS = 2,
    AG_NAME = 120 /* bytes of a tensor's name */
};

/* A product with w and b added, or a norm of these two: indices into the table of weights. */
struct ag_affine {
    int w, b;
};

struct ag_down {
    struct bi_conv first, second;
};

struct ag_up {
    struct bi_conv in, skip, out;
    float scale;
};

struct ag_pairs {
    struct ag_affine norm, pair, row_norm, value, mlp_norm, fc1, fc2;
    int q, k, q_bias, k_bias, distances, yq, yk, row_q, row_k;
    int64_t n_heads;
};

struct ag_block {
    bool updates;
    struct ag_pairs pairs;
    struct ag_affine bias_norm, norm, q_norm, k_norm, v_norm, out, mlp_norm, fc1, fc2;
    int bias, q, k, v;
};

enum ag_head_kind { AG_TRACKS, AG_CONTACTS, AG_SITE_CLASSES, AG_USAGE, AG_JUNCTIONS };

/* A head of one organism, at one resolution. */
struct ag_head {
    enum ag_head_kind kind;
    int organism, resolution;
    struct ag_affine linear;
    int gain, mean;
    float exponent;
    int sites[4]; /* junctions: as the op takes them */
};

/* The configuration, and indices of all weights. */
struct alphagenome {
    struct bi_tracks tracks;
    struct bi_conv dna, dna_block;
    struct ag_down down[AG_DOWN];
    struct ag_up up[AG_DOWN + 1];
    struct ag_block block[AG_BLOCKS];
    int n_down, n_blocks, bases, table, edges, site_frequencies;
    int organism[AG_ORGANISMS], n_organisms;
    bool tanh_gelu; /* in the tower; else gelu by erf */
    int64_t n_heads, key, grid_width;
    struct ag_affine fine[AG_ORGANISMS], coarse[AG_ORGANISMS],
        grid[AG_ORGANISMS]; /* output embedders */
    int fine_skip;
    int64_t n_sites;
    struct ag_head head[BI_TRACKS_HEADS];
    struct ag_affine site_rows[AG_ORGANISMS]; /* 1,536 -> 768 of junctions */
    struct ag_affine site_classes[AG_ORGANISMS];
    int64_t n_classes[AG_ORGANISMS]; /* columns of site_classes */
    int each_class; /* [n, n], row i is 1 at class i of a site: its rows choose classes */
};

extern const char *const ag_organisms[AG_ORGANISMS];

/* ---- weights.c ---- */

/* Writes name.part to text [AG_NAME], a name cut to 79 bytes and a part to 39, and returns text,
 * which neither may be. */
const char *ag_join(char *text, const char *name, const char *part);
/* A matrix [*out, in], whose out is as found where it is 0. gain: times each row; NULL = 1.
 * evens_first: see struct bi_weight. *index: its place in the model's table. A convolution of one
 * tap is as good. gain must live as long as the model. MISMATCH: the tensor, name.weight, is
 * missing or has another shape; UNSUPPORTED: values of its type cannot be used. */
int ag_matrix(const struct bi_tracks_source *s, int *index, const char *name, int64_t *out,
              int64_t in, const double *gain, int64_t evens_first, struct bioinfer_error *err);
/* 0, or NOMEM where p is NULL, with the path of the checkpoint in the message. */
int ag_need_memory(const struct bi_tracks_source *s, const void *p, struct bioinfer_error *err);
/* d_c = c + g_c, g geometric from 1 to `farthest` - n + 1 in n terms; the frequencies are 1 / d. */
float ag_frequency(int64_t c, int64_t n, int64_t farthest);
/* Channels of the skip at level i, whose rows are 2^i bases: level 0 has those of the first
 * convolution, level i those that down[i - 1] gives. */
int64_t ag_skip_width(const struct alphagenome *a, int i);

/* Bind the weights of the convolutions in front of the tower, and behind it: 0, or MISMATCH with
 * the name of a tensor that is missing or has another shape, as all below. *a is all zeros before.
 * The decoder also sets what tiles are cut by, and is opened when the window is known. The encoder
 * also sets n_down, the levels up to the first without a block1.conv.weight, at most
 * AG_DOWN, and the reach of the model's tracks; MISMATCH also where a level has fewer channels than
 * the one before. */
int ag_open_encoder(const struct bi_tracks_source *s, struct alphagenome *a,
                    struct bioinfer_error *err);
int ag_open_decoder(const struct bi_tracks_source *s, struct alphagenome *a,
                    struct bioinfer_error *err);
/* Binds the tower's layers, of rows of `width`, and the embedding of organisms. Layers are those up
 * to the first without an mha.q_proj.weight, at most AG_BLOCKS; none is no failure. Sets n_layers,
 * width, n_heads and head_dim of the model, too. MISMATCH also: more than AG_ORGANISMS organisms,
 * or layers that differ in their heads or the grid's width. */
int ag_open_tower(const struct bi_tracks_source *s, struct alphagenome *a, int64_t width,
                  struct bioinfer_error *err);
/* Binds the output embedders, behind all of the others; sets width: of the rows of 1 base and of
 * 128 that they give. s->model->config is *a. */
int ag_open_embedders(const struct bi_tracks_source *s, struct alphagenome *a, int64_t width[2],
                      struct bioinfer_error *err);

/* ---- heads.c ---- */

/* Heads of all organisms, by organism, then output, then resolution, without those that have no
 * track; width: of the rows that they read, of 1 base and of 128. Sets the model's heads, and
 * n_sites where config.json has max_splice_sites, from 1 to AG_SITES (else MISMATCH). */
int ag_open_heads(const struct bi_tracks_source *s, struct alphagenome *a, const int64_t width[2],
                  struct bioinfer_error *err);

#endif

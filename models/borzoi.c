/* borzoi.c - Borzoi: 524,288 bases to tracks of 32 bases.
 *
 * x [L, 4] one-hot (A, C, G, T; anything else is zeros):
 *
 *   cb(x)  = conv(tanh_gelu(bn(x))) + b      zeros around the activation, never around x
 *   x = max2(conv15(x) + b);  N times: x = cb5(x), max2 between them;  u0 = x
 *   u1 = cb5(max2(u0));  x = max2(u1)        tokens of 2^(N + 2) bases
 *   layers:  x = x + MHA(ln(x));  x = x + W2 relu(W1 ln(x) + b1) + b2
 *   x = sep(twice(cb1(x)) + cb1(u1));  x = sep(twice(cb1(x)) + cb1(u0))
 *   sep(x) = depthwise3(x) Wp^T + b          zeros around x, no norm, no activation
 *   central bins;  e = tanh_gelu(cb1(x)) (small models: tanh_gelu(x));
 *   tracks = softplus(e Wh^T + bh)
 *
 * MHA: kernels/rel_attention.h; positions are central masks of growing width, then the same
 * times the sign. Facts that cost others a bug: norms have eps 1e-3, gelu is the tanh form (both
 * unlike Enformer's), upsampling follows its block, there is no residual in the tower.
 *
 * Layout: the PyTorch port's names; tools/borzoi_weights.py writes them from Keras HDF5.
 * Flashzoi (grouped-query attention with rotary positions) is not read.
 * Sources: calico/borzoi; calico/baskerville; johahi/borzoi-pytorch.
 *
 * Sections: configuration, opening, graph. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tracks.h"

enum { MAX_TOWER = 10, USUAL_WINDOW = 524288, USUAL_BINS = 6144 };

/* ---- configuration ---- */

struct separable {
    int taps, w, b; /* weights: depthwise [3, C], pointwise, bias */
};

struct borzoi {
    struct bi_conv dna, tower[MAX_TOWER], unet;
    struct bi_conv side[2], up[2]; /* [0] at the finest level */
    struct separable sep[2];
    struct bi_conv final;
    bool has_final;
    int n_tower;
    struct bi_tracks_layers layers;
    int bases, positions;
    int64_t n_bins;
    int head_w[BI_TRACKS_HEADS], head_b[BI_TRACKS_HEADS];
};

static bool borzoi_recognise(const struct bi_checkpoint *cp)
{
    return bi_checkpoint_find(cp, "conv_dna.conv_layer.weight") &&
           bi_checkpoint_find(cp, "res_tower.0.conv_layer.weight");
}

/* ---- opening ---- */

static int open_block(const struct bi_tracks_source *s, struct bi_conv *conv, const char *name,
                      int64_t in, struct bioinfer_error *err)
{
    char norm[64], full[64];
    snprintf(norm, sizeof norm, "%s.norm", name);
    snprintf(full, sizeof full, "%s.conv_layer", name);
    return bi_tracks_conv(s, conv, norm, full, in, err);
}

/* A block of one tap and as many channels out as given. */
static int open_point(const struct bi_tracks_source *s, struct bi_conv *conv, const char *name,
                      int64_t in, int64_t out, struct bioinfer_error *err)
{
    int st = open_block(s, conv, name, in, err);
    if (!st && (conv->taps != 1 || conv->out != out))
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: %s: %lld channels of %lld taps, expected %lld of "
                     "1",
                     s->model->cp->path, name, (long long)conv->out, (long long)conv->taps,
                     (long long)out);
    return st;
}

/* Depthwise [C, 1, taps] becomes [taps, C]. */
static int open_separable(const struct bi_tracks_source *s, struct separable *y, const char *name,
                          int64_t width, struct bioinfer_error *err)
{
    const struct bi_tensor *t;
    float *values, *turned;
    char full[64];
    int64_t out = width;
    int st;
    snprintf(full, sizeof full, "%s.conv_layer.0.weight", name);
    if ((st = bi_tracks_need(s, &t, err, "%s", full)))
        return st;
    if (t->rank != 3 || t->shape[0] != (uint64_t)width || t->shape[1] != 1 || t->shape[2] != 3)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [%lld, 1, 3]", s->model->cp->path,
                       full, (long long)width);
    if ((st = bi_model_read(s->model, t, &values, err)))
        return st;
    if (!(turned = bi_arena_calloc(&s->model->arena, (size_t)width, 3 * sizeof *turned)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", s->model->cp->path, full);
    for (int64_t c = 0; c < width; c++)
        for (int64_t k = 0; k < 3; k++)
            turned[k * width + c] = values[c * 3 + k];
    s->model->n_parameters += 3 * width;
    if ((st = bi_tracks_values(s, &y->taps, full, 2, 3, width, turned, err)))
        return st;
    snprintf(full, sizeof full, "%s.conv_layer.1", name);
    if ((st = bi_tracks_matrix(s, &y->w, full, &out, width, err)))
        return st;
    snprintf(full, sizeof full, "%s.conv_layer.1.bias", name);
    return bi_tracks_vector(s, &y->b, full, width, err);
}

/* P [2 n - 1, F]: is |position| less than r^i - 1, i = 1 ... F / 2, r^(F / 2) = n + 1? */
static int open_positions(const struct bi_tracks_source *s, struct borzoi *b,
                          struct bioinfer_error *err)
{
    struct bi_model *m = s->model;
    int64_t n = m->tracks.n_tokens, width = b->layers.n_features, half = width / 2;
    float *p, rate;
    if (m->positions)
        return bi_fail(err, BIOINFER_INVALID, "%s: positions '%.60s': this family knows one kind",
                       m->cp->path, m->positions);
    if (width < 2 || width % 2)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %lld features of a position, expected an even "
                       "number",
                       m->cp->path, (long long)width);
    if (!(p = bi_arena_calloc(&m->arena, (size_t)(2 * n - 1), (size_t)width * sizeof *p)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: features of positions", m->cp->path);
    rate = (float)exp(log((double)n + 1) / (double)half);
    for (int64_t r = 0; r < 2 * n - 1; r++) {
        int64_t at = r - (n - 1), a = at < 0 ? -at : at;
        for (int64_t i = 0; i < half; i++) {
            float inside = powf(rate, (float)(i + 1)) - 1 > (float)a;
            p[r * width + i] = inside;
            p[r * width + half + i] = at < 0 ? -inside : at > 0 ? inside : 0;
        }
    }
    return bi_tracks_values(s, &b->positions, "positions", 2, 2 * n - 1, width, p, err);
}

static int open_heads(const struct bi_tracks_source *s, struct borzoi *b, int64_t width,
                      struct bioinfer_error *err)
{
    static const char *const names[] = {"human", "mouse"};
    struct bi_tracks *t = &s->model->tracks;
    for (size_t i = 0; i < BI_COUNT(names); i++) {
        char name[32];
        int64_t out = 0;
        int st;
        if (!bi_tracks_find(s, "%s_head.weight", names[i]))
            continue;
        snprintf(name, sizeof name, "%s_head", names[i]);
        if ((st = bi_tracks_matrix(s, &b->head_w[t->n_heads], name, &out, width, err)))
            return st;
        snprintf(name, sizeof name, "%s_head.bias", names[i]);
        if ((st = bi_tracks_vector(s, &b->head_b[t->n_heads], name, out, err)))
            return st;
        t->heads[t->n_heads++] = (struct bi_tracks_head){.name = names[i], .n_tracks = (int)out};
    }
    return t->n_heads ? 0
                      : bi_fail(err, BIOINFER_MISMATCH, "%s: no human_head and no mouse_head",
                                s->model->cp->path);
}

static int open_sizes(struct bi_model *m, struct borzoi *b, struct bioinfer_error *err)
{
    struct bi_tracks *t = &m->tracks;
    int64_t usual = USUAL_WINDOW, bins = USUAL_BINS, all;
    int st = bi_config_int(m, "seq_length", 1, 1 << 24, &usual, err);
    if (st < 0 || (st = bi_tracks_window(m, (int64_t)4 << b->n_tower, usual, err)) ||
        (st = bi_config_int(m, "bins_to_return", 1, 1 << 24, &bins, err)) < 0)
        return st;
    t->reach = b->dna.taps / 2;
    for (int i = 0; i < b->n_tower; i++)
        t->reach += b->tower[i].taps / 2 << (i + 1);
    t->reach += b->unet.taps / 2 << (b->n_tower + 1);
    all = 4 * t->n_tokens;
    if (bins > all && !m->window)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: bins_to_return is %lld, a window "
                       "has %lld bins",
                       m->cp->path, (long long)bins, (long long)all);
    b->n_bins = bins < all ? bins : all;
    return 0;
}

static int borzoi_open(struct bi_model *m, struct bioinfer_error *err)
{
    struct borzoi *b = bi_arena_calloc(&m->arena, 1, sizeof *b);
    struct bi_tracks_source s = {.model = m, .prefix = "", .norm_eps = 1e-3};
    int64_t width;
    int st;
    if (!b)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", m->cp->path);
    m->config = b;
    m->name = "borzoi";
    if (bi_tracks_find(&s, "transformer.0.0.fn.1.mha.Wqkv.weight"))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: the attention of Flashzoi is not supported",
                       m->cp->path);
    if ((st = bi_tracks_conv(&s, &b->dna, NULL, "conv_dna.conv_layer", 4, err)))
        return st;
    width = b->dna.out;
    while (!st && b->n_tower < MAX_TOWER &&
           bi_tracks_find(&s, "res_tower.%d.conv_layer.weight", 2 * b->n_tower)) {
        char name[32];
        snprintf(name, sizeof name, "res_tower.%d", 2 * b->n_tower);
        st = open_block(&s, &b->tower[b->n_tower], name, width, err);
        width = b->tower[b->n_tower++].out;
    }
    if (st || (st = open_block(&s, &b->unet, "unet1.1", width, err)) ||
        (st = open_sizes(m, b, err)) ||
        (st = open_point(&s, &b->side[0], "horizontal_conv0", width, b->unet.out, err)))
        return st;
    m->tracks.features[0] = (struct bi_feature){"u0", 4, width};
    m->tracks.features[1] = (struct bi_feature){"u1", 2, b->unet.out};
    m->tracks.n_features = 2;
    width = b->unet.out;
    if ((st = open_point(&s, &b->side[1], "horizontal_conv1", width, width, err)) ||
        (st = open_point(&s, &b->up[0], "upsampling_unet0.0", width, width, err)) ||
        (st = open_point(&s, &b->up[1], "upsampling_unet1.0", width, width, err)) ||
        (st = open_separable(&s, &b->sep[0], "separable0", width, err)) ||
        (st = open_separable(&s, &b->sep[1], "separable1", width, err)) ||
        (st = bi_tracks_layers(&s, &b->layers, width, 1e-3f, err)))
        return st;
    b->has_final = bi_tracks_find(&s, "final_joined_convs.0.conv_layer.weight") != NULL;
    if (b->has_final) {
        if ((st = open_block(&s, &b->final, "final_joined_convs.0", width, err)))
            return st;
        width = b->final.out;
    }
    if ((st = open_heads(&s, b, width, err)) || (st = bi_tracks_bases(&s, &b->bases, err)))
        return st;
    bi_tracks_bins(&m->tracks, (int64_t)1 << b->n_tower, b->n_bins,
                   (4 * m->tracks.n_tokens - b->n_bins) / 2);
    return open_positions(&s, b, err);
}

/* ---- graph ---- */

static bi_value_id pool(struct bi_graph *g, bi_value_id x)
{
    return bi_pair_pool(g, x, BI_NONE);
}

/* Makes u0 and u1. */
static void borzoi_features(const struct bi_model *m, struct bi_graph *g, bi_value_id bases,
                            bi_value_id *u)
{
    const struct borzoi *b = m->config;
    bi_value_id x = bi_embedding(g, bi_model_value(m, g, b->bases), bases);
    x = bi_tracks_conv_block(m, g, x, &b->dna, BI_NORM_ACT_NONE);
    for (int i = 0; i < b->n_tower; i++)
        x = bi_tracks_conv_block(m, g, pool(g, x), &b->tower[i], BI_NORM_ACT_TANH_GELU);
    u[0] = x;
    u[1] = bi_tracks_conv_block(m, g, pool(g, x), &b->unet, BI_NORM_ACT_TANH_GELU);
}

static bi_value_id finer(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                         bi_value_id skip, int level)
{
    const struct borzoi *b = m->config;
    const struct separable *y = &b->sep[level];
    x = bi_tracks_conv_block(m, g, x, &b->up[level], BI_NORM_ACT_TANH_GELU);
    skip = bi_tracks_conv_block(m, g, skip, &b->side[level], BI_NORM_ACT_TANH_GELU);
    x = bi_upsample(g, x, skip);
    x = bi_norm_act(g, x, BI_NONE, BI_NONE, BI_NORM_ACT_NONE, 1);
    x = bi_depthwise(g, x, bi_model_value(m, g, y->taps));
    return bi_add(g, bi_matmul(g, x, bi_model_value(m, g, y->w)), bi_model_value(m, g, y->b));
}

static void borzoi_tracks(const struct bi_model *m, struct bi_graph *g, const bi_value_id *u,
                          const struct bi_tracks_shape *shape)
{
    const struct borzoi *b = m->config;
    const struct bi_tracks *t = &m->tracks;
    bi_value_id x = bi_tracks_transformer(m, g, pool(g, u[1]), bi_model_value(m, g, b->positions),
                                          &b->layers,
                                          &(struct bi_tracks_kept){0, t->n_tokens, 1, BI_NONE});
    x = finer(m, g, x, u[1], 1);
    x = finer(m, g, x, u[0], 0);
    x = bi_tracks_crop(g, x, t->heads[0].first_bin, t->heads[0].n_bins);
    if (b->has_final)
        x = bi_tracks_conv_block(m, g, x, &b->final, BI_NORM_ACT_TANH_GELU);
    x = bi_norm_act(g, x, BI_NONE, BI_NONE, BI_NORM_ACT_TANH_GELU, 0);
    bi_tracks_outputs(m, g, x, b->head_w, b->head_b, shape);
}

static const struct bi_release releases[] = {
    {"johahi/borzoi-replicate-0", "see its page", NULL, 0, 0}, {0}};

const struct bi_model_def bi_model_borzoi = {
    .name = "borzoi",
    .summary = "RNA coverage and chromatin tracks from 524,288 bases of DNA",
    .default_name = "johahi/borzoi-replicate-0",
    .letters = BIOINFER_LETTERS_BASES,
    .releases = releases,
    .recognise = borzoi_recognise,
    .open = borzoi_open,
    .build_features = borzoi_features,
    .build_tracks = borzoi_tracks,
};

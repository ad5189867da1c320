/* borzoi.c - Borzoi and Flashzoi: 524,288 bases to tracks of 32 bases; Borzoi Prime: of 16 bases.
 *
 * x [L, 4] one-hot (A, C, G, T or U; others of IUPAC are zeros):
 *
 *   cb(x)  = conv(tanh_gelu(bn(x))) + b      zeros around the activation, never around x
 *   x = max2(conv15(x) + b);  N times: x = cb5(x), max2 between them;  u0 = x
 *   u1 = cb5(max2(u0));  Prime: u2 = cb5(max2(u1));  x = max2(the last u)
 *   layers:  x = x + MHA(ln(x));  x = x + W2 relu(W1 ln(x) + b1) + b2
 *   for each u, the last one first:  x = sep(twice(cb1(x)) + cb1(u))
 *   sep(x) = depthwise3(x) Wp^T + b          zeros around x, no norm, no activation
 *   central bins;  e = tanh_gelu(cb1(x)) (Prime, small models: tanh_gelu(x));
 *   tracks = softplus(e Wh^T + bh)
 *
 * Tokens are of 2^(N + levels) bases. MHA: kernels/rel_attention.h, whose positions are central
 * masks of growing width, then the same times the sign; of Flashzoi tracks_rotary.c. Facts that
 * cost others a bug: norms have eps 1e-3, gelu is the tanh form (both unlike Enformer's),
 * upsampling follows its block, there is no residual in the tower.
 *
 * Layout: the PyTorch port's names, by which the variants are told; tools/borzoi_weights.py writes
 * them from Keras HDF5. config.json says bins_to_return, return_center_bins_only and heads.
 * Sources: calico/borzoi; calico/baskerville; johahi/borzoi-pytorch.
 *
 * Sections: configuration, opening, graph. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tracks.h"

enum {
    MAX_TOWER = 10,
    MAX_LEVELS = 3,
    USUAL_WINDOW = 524288,
    USUAL_BASES = 196608, /* that all bins have, of each variant */
    EDGE_BINS = 16        /* left out on each side where all others are given */
};

/* ---- configuration ---- */

struct separable {
    int taps, w, b; /* weights: depthwise [3, C], pointwise, bias */
};

struct borzoi {
    struct bi_tracks tracks;
    struct bi_conv dna, tower[MAX_TOWER];
    struct bi_conv unet[MAX_LEVELS];                 /* [0]: the tower gives it */
    struct bi_conv side[MAX_LEVELS], up[MAX_LEVELS]; /* [0] at the finest level */
    struct separable sep[MAX_LEVELS];
    struct bi_conv final;
    bool has_final;
    int n_tower, n_levels;
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
    int64_t n = m->tracks->n_tokens, width = b->layers.n_features, half = width / 2;
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
    struct bi_tracks *t = s->model->tracks;
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

/* Bins of a window of which n_all have values, as config.json says it. */
static int open_bins(struct bi_model *m, struct borzoi *b, int64_t n_all,
                     struct bioinfer_error *err)
{
    const struct bi_json *centre = bi_json_get(m->cp->config, "return_center_bins_only");
    int64_t bins = USUAL_BASES >> b->n_tower;
    bool centred = true;
    int st = bi_config_int(m, "bins_to_return", 1, 1 << 24, &bins, err);
    if (st < 0)
        return st;
    if (centre && !bi_json_bool(centre, &centred))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: return_center_bins_only: expected true or false",
                       m->cp->path);
    if (!centred)
        bins = n_all - 2 * EDGE_BINS;
    if (bins > n_all && !m->window)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: bins_to_return is %lld, a window "
                       "has %lld bins",
                       m->cp->path, (long long)bins, (long long)n_all);
    if (bins < 1)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: a window of %lld bins, of which %d on each side are left out",
                       m->cp->path, (long long)n_all, EDGE_BINS);
    b->n_bins = bins < n_all ? bins : n_all;
    return 0;
}

static int open_sizes(struct bi_model *m, struct borzoi *b, struct bioinfer_error *err)
{
    struct bi_tracks *t = m->tracks;
    int64_t usual = USUAL_WINDOW;
    int st = bi_config_int(m, "seq_length", 1, 1 << 24, &usual, err);
    if (st < 0 || (st = bi_tracks_window(m, (int64_t)1 << (b->n_tower + b->n_levels), 1,
                                         BI_TRACKS_MOST, usual, err)))
        return st;
    t->reach = b->dna.taps / 2;
    for (int i = 0; i < b->n_tower; i++)
        t->reach += b->tower[i].taps / 2 << (i + 1);
    for (int i = 1; i < b->n_levels; i++)
        t->reach += b->unet[i].taps / 2 << (b->n_tower + i);
    return open_bins(m, b, t->n_tokens << b->n_levels, err);
}

/* Convolutions up to the tokens; *width: of these. */
static int open_convolutions(const struct bi_tracks_source *s, struct borzoi *b, int64_t *width,
                             struct bioinfer_error *err)
{
    int st = bi_tracks_conv(s, &b->dna, NULL, "conv_dna.conv_layer", 4, err);
    char name[32];
    *width = b->dna.out;
    while (!st && b->n_tower < MAX_TOWER &&
           bi_tracks_find(s, "res_tower.%d.conv_layer.weight", 2 * b->n_tower)) {
        snprintf(name, sizeof name, "res_tower.%d", 2 * b->n_tower);
        st = open_block(s, &b->tower[b->n_tower], name, *width, err);
        *width = b->tower[b->n_tower++].out;
    }
    b->unet[0].out = *width;
    b->n_levels = bi_tracks_find(s, "unet2.1.conv_layer.weight") ? MAX_LEVELS : MAX_LEVELS - 1;
    for (int i = 1; !st && i < b->n_levels; i++) {
        snprintf(name, sizeof name, "unet%d.1", i);
        st = open_block(s, &b->unet[i], name, *width, err);
        *width = b->unet[i].out;
    }
    return st;
}

/* Binds the layers that bring tokens of `width` to the bins of a level. */
static int open_level(const struct bi_tracks_source *s, struct borzoi *b, int level, int64_t width,
                      struct bioinfer_error *err)
{
    static const char *const features[MAX_LEVELS] = {"u0", "u1", "u2"};
    struct bi_tracks *t = s->model->tracks;
    const int64_t in = b->unet[level].out;
    char name[32];
    int st;
    t->features[level] = (struct bi_feature){features[level], 1 << (b->n_levels - level), in};
    t->n_features = b->n_levels;
    snprintf(name, sizeof name, "horizontal_conv%d", level);
    if ((st = open_point(s, &b->side[level], name, in, width, err)))
        return st;
    snprintf(name, sizeof name, "upsampling_unet%d.0", level);
    if ((st = open_point(s, &b->up[level], name, width, width, err)))
        return st;
    snprintf(name, sizeof name, "separable%d", level);
    return open_separable(s, &b->sep[level], name, width, err);
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
    m->tracks = &b->tracks;
    m->name = "borzoi";
    if ((st = open_convolutions(&s, b, &width, err)) || (st = open_sizes(m, b, err)))
        return st;
    for (int i = 0; !st && i < b->n_levels; i++)
        st = open_level(&s, b, i, width, err);
    if (st || (st = bi_tracks_layers(&s, &b->layers, width, 1e-3f, err)))
        return st;
    b->has_final = bi_tracks_find(&s, "final_joined_convs.0.conv_layer.weight") != NULL;
    if (b->has_final) {
        if ((st = open_block(&s, &b->final, "final_joined_convs.0", width, err)))
            return st;
        width = b->final.out;
    }
    if ((st = open_heads(&s, b, width, err)) || (st = bi_tracks_bases(&s, &b->bases, err)))
        return st;
    bi_tracks_bins(m->tracks, (int64_t)1 << b->n_tower, b->n_bins,
                   ((m->tracks->n_tokens << b->n_levels) - b->n_bins) / 2);
    b->positions = -1;
    return b->layers.rotary.layer && !m->positions ? 0 : open_positions(&s, b, err);
}

/* ---- graph ---- */

static bi_value_id pool(struct bi_graph *g, bi_value_id x)
{
    return bi_pair_pool(g, x, BI_NONE);
}

/* Makes u0, u1 and, where there is a third level, u2. */
static void borzoi_features(const struct bi_model *m, struct bi_graph *g, bi_value_id bases,
                            bi_value_id *u)
{
    const struct borzoi *b = m->config;
    bi_value_id x = bi_embedding(g, bi_model_value(m, g, b->bases), bases);
    x = bi_tracks_conv_block(m, g, x, &b->dna, BI_NORM_ACT_NONE);
    for (int i = 0; i < b->n_tower; i++)
        x = bi_tracks_conv_block(m, g, pool(g, x), &b->tower[i], BI_NORM_ACT_TANH_GELU);
    u[0] = x;
    for (int i = 1; i < b->n_levels; i++)
        u[i] = bi_tracks_conv_block(m, g, pool(g, u[i - 1]), &b->unet[i], BI_NORM_ACT_TANH_GELU);
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

static void borzoi_trunk(const struct bi_model *m, struct bi_graph *g, const bi_value_id *u,
                         const struct bi_tracks_trunk *of, bi_value_id *rows)
{
    const struct borzoi *b = m->config;
    const struct bi_tracks *t = m->tracks;
    const bi_value_id positions = b->positions < 0 ? BI_NONE : bi_model_value(m, g, b->positions);
    bi_value_id x = bi_tracks_transformer(m, g, pool(g, u[b->n_levels - 1]), positions, &b->layers,
                                          &(struct bi_tracks_kept){0, t->n_tokens, 1, BI_NONE});
    (void)of;
    for (int i = b->n_levels - 1; i >= 0; i--)
        x = finer(m, g, x, u[i], i);
    x = bi_tracks_crop(g, x, t->heads[0].first_bin, t->heads[0].n_bins);
    if (b->has_final)
        x = bi_tracks_conv_block(m, g, x, &b->final, BI_NORM_ACT_TANH_GELU);
    rows[0] = bi_norm_act(g, x, BI_NONE, BI_NONE, BI_NORM_ACT_TANH_GELU, 0);
}

static bi_value_id borzoi_head(const struct bi_model *m, struct bi_graph *g,
                               const bi_value_id *rows, const struct bi_tracks_asked *asked)
{
    const struct borzoi *b = m->config;
    return bi_tracks_output(m, g, rows[0], b->head_w, b->head_b, asked);
}

static const struct bi_tracks_def network = {
    .features = borzoi_features, .trunk = borzoi_trunk, .head = borzoi_head};

#define RELEASE(name) {"johahi/" name, "see its page", NULL, 0, 0}
#define REPLICATES(stem, end)                                                                      \
    RELEASE(stem "-0" end), RELEASE(stem "-1" end), RELEASE(stem "-2" end), RELEASE(stem "-3" end)

static int borzoi_facts(const struct bi_model *m, struct bi_hash *to)
{
    const struct borzoi *b = m->config;
    bi_hash_int(to, "n_tower", b->n_tower);
    bi_hash_int(to, "n_levels", b->n_levels);
    bi_hash_int(to, "has_final", b->has_final);
    bi_hash_int(to, "n_bins", b->n_bins);
    bi_tracks_settings(&b->layers, to);
    return 0;
}

static const struct bi_release releases[] = {REPLICATES("borzoi-replicate", ""),
                                             REPLICATES("borzoi-replicate", "-mouse"),
                                             REPLICATES("flashzoi-replicate", ""),
                                             REPLICATES("borzoi-prime-replicate", ""),
                                             {0}};

const struct bi_model_def bi_model_borzoi = {
    .name = "borzoi",
    .summary = "RNA coverage and chromatin tracks from 524,288 bases of DNA",
    .default_name = "johahi/borzoi-replicate-0",
    .letters = BIOINFER_LETTERS_BASES,
    .releases = releases,
    .recognise = borzoi_recognise,
    .open = borzoi_open,
    .kind = &bi_kind_tracks,
    .def = &network,
    .facts = borzoi_facts,
};

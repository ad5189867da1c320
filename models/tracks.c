/* tracks.c - what families from DNA windows to tracks share.
 *
 * Sections: finding weights, binding them, layers, graphs. */
#include "tracks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 200, MAX_LAYERS = 256 };

/* ---- finding weights ---- */

static const struct bi_tensor *find_name(const struct bi_tracks_source *s, const char *name)
{
    char full[2 * NAME_SIZE];
    const struct bi_tensor *t;
    snprintf(full, sizeof full, "%s%s", s->prefix, name);
    if ((t = bi_checkpoint_find(s->model->cp, full)))
        return t;
    for (int i = 0; s->aliases && s->aliases[i][0]; i++) {
        size_t n = strlen(s->aliases[i][0]);
        if (strncmp(name, s->aliases[i][0], n))
            continue;
        snprintf(full, sizeof full, "%s%s%s", s->prefix, s->aliases[i][1], name + n);
        return bi_checkpoint_find(s->model->cp, full);
    }
    return NULL;
}

const struct bi_tensor *bi_tracks_find(const struct bi_tracks_source *s, const char *fmt, ...)
{
    char name[NAME_SIZE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    return find_name(s, name);
}

int bi_tracks_need(const struct bi_tracks_source *s, const struct bi_tensor **tensor,
                   struct bioinfer_error *err, const char *fmt, ...)
{
    char name[NAME_SIZE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    if ((*tensor = find_name(s, name)))
        return 0;
    return bi_fail(err, BIOINFER_MISMATCH, "%s: tensor %s%s is missing", s->model->cp->path,
                   s->prefix, name);
}

/* ---- binding ---- */

static const char *keep_name(const struct bi_tracks_source *s, const char *name)
{
    return bi_arena_strndup(&s->model->arena, name, strlen(name));
}

int bi_tracks_weight(const struct bi_tracks_source *s, int *index, struct bi_weight *w,
                     const char *name, struct bioinfer_error *err)
{
    if (!(w->name = keep_name(s, name)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", s->model->cp->path);
    *index = bi_model_weight(s->model, w, err);
    if (*index < 0)
        return *index;
    if (w->tensor)
        s->model->n_parameters += w->row_block || w->n_columns
                                      ? w->shape[0] * (w->rank == 2 ? w->shape[1] : 1)
                                      : (int64_t)w->tensor->n_elements;
    return 0;
}

int bi_tracks_values(const struct bi_tracks_source *s, int *index, const char *name, int rank,
                     int64_t rows, int64_t cols, const float *values, struct bioinfer_error *err)
{
    struct bi_weight w = {.values = values, .rank = rank, .shape = {rows, cols}};
    return bi_tracks_weight(s, index, &w, name, err);
}

int bi_tracks_read(const struct bi_tracks_source *s, float **values, int64_t n, const char *name,
                   struct bioinfer_error *err)
{
    const struct bi_tensor *t;
    int st = bi_tracks_need(s, &t, err, "%s", name);
    if (!st && t->n_elements != (uint64_t)n)
        st = bi_fail(err, BIOINFER_MISMATCH, "%s: %s: %llu elements, expected %lld",
                     s->model->cp->path, t->name, (unsigned long long)t->n_elements, (long long)n);
    if (!st)
        st = bi_model_read(s->model, t, values, err);
    if (!st)
        s->model->n_parameters += n;
    return st;
}

int bi_tracks_vector(const struct bi_tracks_source *s, int *index, const char *name, int64_t n,
                     struct bioinfer_error *err)
{
    float *values = NULL;
    int st = bi_tracks_read(s, &values, n, name, err);
    return st ? st : bi_tracks_values(s, index, name, 1, n, 1, values, err);
}

/* (x - mean) / sqrt(var + eps) * w + b as x * scale + shift. */
int bi_tracks_norm(const struct bi_tracks_source *s, const char *norm, int64_t n, double **scale,
                   double **shift, struct bioinfer_error *err)
{
    static const char *const parts[] = {"weight", "bias", "running_var", "running_mean"};
    float *of[4] = {NULL};
    char name[NAME_SIZE];
    int st = 0;
    for (int i = 0; !st && i < (s->rms ? 3 : 4); i++) {
        snprintf(name, sizeof name, "%s.%s", norm, parts[i]);
        st = bi_tracks_read(s, &of[i], n, name, err);
    }
    *scale = bi_arena_calloc(&s->model->arena, (size_t)n, sizeof **scale);
    *shift = bi_arena_calloc(&s->model->arena, (size_t)n, sizeof **shift);
    if (!st && (!*scale || !*shift))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: %s", s->model->cp->path, norm);
    for (int64_t c = 0; !st && c < n; c++) {
        (*scale)[c] = (double)of[0][c] / sqrt((double)of[2][c] + s->norm_eps);
        (*shift)[c] = (double)of[1][c] - (of[3] ? (double)of[3][c] * (*scale)[c] : 0);
    }
    return st;
}

/* Values that are doubles, as a weight. */
static int add_doubles(const struct bi_tracks_source *s, int *index, const double *values,
                       int64_t n, const char *norm, const char *part, struct bioinfer_error *err)
{
    float *floats = bi_arena_calloc(&s->model->arena, (size_t)n, sizeof *floats);
    char name[NAME_SIZE];
    if (!floats)
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", s->model->cp->path, norm);
    for (int64_t c = 0; c < n; c++)
        floats[c] = (float)values[c];
    snprintf(name, sizeof name, "%s.%s", norm, part);
    return bi_tracks_values(s, index, name, 1, n, 1, floats, err);
}

static int fold_norm(const struct bi_tracks_source *s, const char *norm, int64_t n,
                     struct bi_conv *conv, struct bioinfer_error *err)
{
    double *scale, *shift;
    int st = bi_tracks_norm(s, norm, n, &scale, &shift, err);
    if (!st)
        st = add_doubles(s, &conv->scale, scale, n, norm, "scale", err);
    return st ? st : add_doubles(s, &conv->shift, shift, n, norm, "shift", err);
}

/* The scale of a standardised convolution, as the gain of its weight. */
static int standardise(const struct bi_tracks_source *s, struct bi_weight *w, const char *name,
                       struct bioinfer_error *err)
{
    const int64_t n = w->shape[0];
    float *scale;
    double *gain;
    char full[NAME_SIZE];
    int st;
    snprintf(full, sizeof full, "%s.scale", name);
    if (!s->rms || !bi_tracks_find(s, "%s", full))
        return 0;
    if ((st = bi_tracks_read(s, &scale, n, full, err)))
        return st;
    if (!(gain = bi_arena_calloc(&s->model->arena, (size_t)n, sizeof *gain)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", s->model->cp->path, full);
    for (int64_t i = 0; i < n; i++)
        gain[i] = (double)scale[i];
    w->gain = gain;
    w->standardised = true;
    return 0;
}

int bi_tracks_conv(const struct bi_tracks_source *s, struct bi_conv *conv, const char *norm,
                   const char *name, int64_t in, struct bioinfer_error *err)
{
    struct bi_weight w = {.rank = 2};
    char full[NAME_SIZE];
    int st;
    conv->in = in;
    conv->scale = conv->shift = -1;
    snprintf(full, sizeof full, "%s.weight", name);
    if ((st = bi_tracks_need(s, &w.tensor, err, "%s", full)))
        return st;
    if (w.tensor->rank < 3 || w.tensor->shape[2] > 255 || w.tensor->shape[2] % 2 == 0 ||
        w.tensor->shape[0] > 1 << 20)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [out, %lld, odd number of taps]",
                       s->model->cp->path, w.tensor->name, (long long)in);
    conv->out = (int64_t)w.tensor->shape[0];
    conv->taps = w.taps = (int64_t)w.tensor->shape[2];
    w.shape[0] = conv->out;
    w.channels = in == 4 && !norm ? in : 0;
    w.shape[1] = (w.channels ? BI_TRACKS_BASE_WIDTH : in) * conv->taps;
    if ((st = standardise(s, &w, name, err)) || (st = bi_tracks_weight(s, &conv->w, &w, full, err)))
        return st;
    snprintf(full, sizeof full, "%s.bias", name);
    if ((st = bi_tracks_vector(s, &conv->b, full, conv->out, err)))
        return st;
    return norm ? fold_norm(s, norm, in, conv, err) : 0;
}

int bi_tracks_matrix(const struct bi_tracks_source *s, int *index, const char *name, int64_t *out,
                     int64_t in, struct bioinfer_error *err)
{
    struct bi_weight w = {.rank = 2};
    char full[NAME_SIZE];
    int st;
    snprintf(full, sizeof full, "%s.weight", name);
    if ((st = bi_tracks_need(s, &w.tensor, err, "%s", full)))
        return st;
    if (!*out && w.tensor->rank && w.tensor->shape[0] <= 1 << 24)
        *out = (int64_t)w.tensor->shape[0];
    w.taps = w.tensor->rank > 2;
    w.shape[0] = *out;
    w.shape[1] = in;
    return bi_tracks_weight(s, index, &w, full, err);
}

void bi_tracks_settings(const struct bi_tracks_layers *l, struct bi_hash *to)
{
    bi_hash_int(to, "n_layers", l->n);
    bi_hash_int(to, "n_heads", l->n_heads);
    bi_hash_int(to, "width", l->width);
    bi_hash_int(to, "key_dim", l->key_dim);
    bi_hash_int(to, "value_dim", l->value_dim);
    bi_hash_int(to, "hidden", l->hidden);
    bi_hash_int(to, "n_features", l->n_features);
    bi_hash_real(to, "eps", (double)l->eps);
    bi_hash_int(to, "rotary", l->rotary.layer != NULL);
    bi_hash_int(to, "rotary heads", l->rotary.n_heads);
    bi_hash_int(to, "rotary width", l->rotary.width);
}

int bi_tracks_bases(const struct bi_tracks_source *s, int *index, struct bioinfer_error *err)
{
    static const float table[BI_BASES][BI_TRACKS_BASE_WIDTH] = {
        {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0},
        {0, 0, 0, 1}, {0, 0, 0, 0}, {0.25f, 0.25f, 0.25f, 0.25f}};
    return bi_tracks_values(s, index, "bases", 2, BI_BASES, BI_TRACKS_BASE_WIDTH, table[0], err);
}

int bi_tracks_window(struct bi_model *model, int64_t token_size, int64_t step, int64_t most,
                     int64_t usual, struct bioinfer_error *err)
{
    struct bi_tracks *t = model->tracks;
    const int64_t least = token_size * step;
    t->window = model->window ? model->window : usual;
    t->token_size = token_size;
    if (t->window < least || t->window > most || t->window % least)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: a window of %lld bases: expected a multiple of "
                       "%lld up to %lld",
                       model->cp->path, (long long)t->window, (long long)least, (long long)most);
    t->n_tokens = t->window / token_size;
    return 0;
}

void bi_tracks_bins(struct bi_tracks *t, int64_t bin_size, int64_t n_bins, int64_t first_bin)
{
    for (int i = 0; i < t->n_heads; i++) {
        const char *name = t->heads[i].name;
        t->heads[i].output = name;
        t->heads[i].organism = !strcmp(name, "human") || !strcmp(name, "mouse") ? name : NULL;
        t->heads[i].bin_size = bin_size;
        t->heads[i].n_bins = n_bins;
        t->heads[i].first_bin = first_bin;
        t->heads[i].n_features = t->n_features;
    }
}

/* ---- layers ---- */

struct part {
    const char *name;
    int *index;
    int64_t out, in; /* in 0: a vector of out */
};

static int open_parts(const struct bi_tracks_source *s, int l, const struct part *parts, size_t n,
                      struct bioinfer_error *err)
{
    int st = 0;
    for (size_t i = 0; !st && i < n; i++) {
        int64_t out = parts[i].out;
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "transformer.%d.%s", l, parts[i].name);
        st = parts[i].in ? bi_tracks_matrix(s, parts[i].index, name, &out, parts[i].in, err)
                         : bi_tracks_vector(s, parts[i].index, name, out, err);
    }
    return st;
}

/* Norms and the two linear layers behind attention. */
static int open_rest(const struct bi_tracks_source *s, struct bi_tracks_layers *all, int l,
                     struct bioinfer_error *err)
{
    struct bi_tracks_layer *y = &all->layer[l];
    const int64_t width = all->width, hidden = all->hidden;
    const struct part parts[] = {
        {"0.fn.0.weight", &y->norm1_w, width, 0}, {"0.fn.0.bias", &y->norm1_b, width, 0},
        {"1.fn.0.weight", &y->norm2_w, width, 0}, {"1.fn.0.bias", &y->norm2_b, width, 0},
        {"1.fn.1.bias", &y->fc1_b, hidden, 0},    {"1.fn.4.bias", &y->fc2_b, width, 0},
        {"1.fn.1", &y->fc1_w, hidden, width},     {"1.fn.4", &y->fc2_w, width, hidden}};
    return open_parts(s, l, parts, BI_COUNT(parts), err);
}

static int open_attention(const struct bi_tracks_source *s, struct bi_tracks_layers *all, int l,
                          struct bioinfer_error *err)
{
    struct bi_tracks_layer *y = &all->layer[l];
    const int64_t width = all->width, keys = all->n_heads * all->key_dim;
    const int64_t values = all->n_heads * all->value_dim;
    const struct part parts[] = {
        {"0.fn.1.rel_content_bias", &y->u, keys, 0}, {"0.fn.1.rel_pos_bias", &y->w, keys, 0},
        {"0.fn.1.to_out.bias", &y->out_b, width, 0}, {"0.fn.1.to_q", &y->q, keys, width},
        {"0.fn.1.to_k", &y->k, keys, width},         {"0.fn.1.to_v", &y->v, values, width},
        {"0.fn.1.to_out", &y->out_w, width, values}};
    return open_parts(s, l, parts, BI_COUNT(parts), err);
}

/* [n keys, n_features], those of layer 0 first. */
static int open_positions(const struct bi_tracks_source *s, struct bi_tracks_layers *all,
                          struct bioinfer_error *err)
{
    const int64_t keys = all->n_heads * all->key_dim, n = keys * all->n_features;
    const struct bi_tensor *t;
    float *values;
    if (keys > 1 << 16 || n > 1 << 24)
        return bi_fail(err, BIOINFER_LIMIT, "%s: positions of %lld features for %lld columns",
                       s->model->cp->path, (long long)all->n_features, (long long)keys);
    if (!(values = bi_arena_calloc(&s->model->arena, (size_t)(all->n * n), sizeof *values)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: positions", s->model->cp->path);
    for (int l = 0; l < all->n; l++) {
        int st = bi_tracks_need(s, &t, err, "transformer.%d.0.fn.1.to_rel_k.weight", l);
        if (!st && (t->rank != 2 || t->shape[0] != (uint64_t)keys ||
                    t->shape[1] != (uint64_t)all->n_features || !bi_dtype_is_loadable(t->dtype)))
            st = bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected numbers [%lld, %lld]",
                         s->model->cp->path, t->name, (long long)keys, (long long)all->n_features);
        if (st || (st = bi_tensor_read_f32(s->model->cp, t, 0, (uint64_t)n, values + l * n, err)))
            return st;
        s->model->n_parameters += n;
    }
    return bi_tracks_values(s, &all->r, "transformer.to_rel_k", 2, all->n * keys, all->n_features,
                            values, err);
}

/* Sizes of relative attention, by the first layer. */
static int size_attention(const struct bi_tracks_source *s, struct bi_tracks_layers *layers,
                          struct bioinfer_error *err)
{
    const struct bi_tensor *u, *v, *r;
    int st;
    if ((st = bi_tracks_need(s, &u, err, "transformer.0.0.fn.1.rel_content_bias")) ||
        (st = bi_tracks_need(s, &v, err, "transformer.0.0.fn.1.to_v.weight")) ||
        (st = bi_tracks_need(s, &r, err, "transformer.0.0.fn.1.to_rel_k.weight")))
        return st;
    if (u->rank != 4 || u->shape[1] < 1 || u->shape[1] > 1024 || u->shape[3] < 1 ||
        u->shape[3] > 1024 || v->rank != 2 || v->shape[0] % u->shape[1] || !v->shape[0] ||
        v->shape[0] / u->shape[1] > 1024 || r->rank != 2 || r->shape[1] > 1 << 16)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: the shapes of the first layer's attention are "
                       "no heads of one width",
                       s->model->cp->path);
    layers->n_heads = (int)u->shape[1];
    layers->key_dim = (int64_t)u->shape[3];
    layers->value_dim = (int64_t)(v->shape[0] / u->shape[1]);
    layers->n_features = (int64_t)r->shape[1];
    return 0;
}

/* Attention of all layers, of either kind. */
static int open_attentions(const struct bi_tracks_source *s, struct bi_tracks_layers *layers,
                           bool rotary, struct bioinfer_error *err)
{
    int st;
    if (rotary) {
        st = bi_rotary_open(s, &layers->rotary, layers->n, layers->width, err);
        layers->n_heads = (int)layers->rotary.n_heads;
        layers->key_dim = layers->value_dim = layers->rotary.width;
        return st;
    }
    st = size_attention(s, layers, err);
    for (int l = 0; !st && l < layers->n; l++)
        st = open_attention(s, layers, l, err);
    return st ? st : open_positions(s, layers, err);
}

int bi_tracks_layers(const struct bi_tracks_source *s, struct bi_tracks_layers *layers,
                     int64_t width, float eps, struct bioinfer_error *err)
{
    const bool rotary = bi_tracks_find(s, "transformer.0.0.fn.1.mha.Wqkv.weight");
    const struct bi_tensor *f;
    int st;
    layers->width = width;
    layers->eps = eps;
    while (layers->n < MAX_LAYERS && bi_tracks_find(s, "transformer.%d.0.fn.1.%s.weight", layers->n,
                                                    rotary ? "mha.Wqkv" : "to_q"))
        layers->n++;
    s->model->n_layers = layers->n;
    if (!layers->n)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: no transformer layer", s->model->cp->path);
    if ((st = bi_tracks_need(s, &f, err, "transformer.0.1.fn.1.weight")))
        return st;
    layers->hidden = f->rank == 2 && f->shape[0] <= 1 << 24 ? (int64_t)f->shape[0] : 0;
    if (!layers->hidden)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [hidden, %lld]",
                       s->model->cp->path, f->name, (long long)width);
    if (!(layers->layer = bi_arena_calloc(&s->model->arena, (size_t)layers->n,
                                          sizeof *layers->layer)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: layers", s->model->cp->path);
    for (int l = 0; !st && l < layers->n; l++)
        st = open_rest(s, layers, l, err);
    if (!st)
        st = open_attentions(s, layers, rotary, err);
    s->model->width = (int)width;
    s->model->n_heads = layers->n_heads;
    s->model->head_dim = (int)layers->key_dim;
    return st;
}

/* ---- graphs ---- */

static bi_value_id weight(const struct bi_model *m, struct bi_graph *g, int index)
{
    return index < 0 ? BI_NONE : bi_model_value(m, g, index);
}

static bi_value_id linear(const struct bi_model *m, struct bi_graph *g, bi_value_id x, int w, int b)
{
    return bi_add(g, bi_matmul(g, x, weight(m, g, w)), weight(m, g, b));
}

bi_value_id bi_tracks_conv_block(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                                 const struct bi_conv *conv, int act)
{
    int64_t rows = g->status ? 1 : g->values[x].shape[0];
    bi_value_id y = bi_norm_act(g, x, weight(m, g, conv->scale), weight(m, g, conv->shift), act,
                                (int32_t)(conv->taps / 2));
    if (conv->taps > 1)
        y = bi_windows(g, y, 0, rows, (int32_t)conv->taps);
    return linear(m, g, y, conv->w, conv->b);
}

bi_value_id bi_tracks_crop(struct bi_graph *g, bi_value_id x, int64_t first, int64_t kept)
{
    if (g->status || (!first && kept == g->values[x].shape[0]))
        return x;
    return bi_windows(g, x, (int32_t)first, kept, 1);
}

static bi_value_id cropped(struct bi_graph *g, bi_value_id x, const struct bi_tracks_kept *crop)
{
    return crop->rows == BI_NONE ? bi_tracks_crop(g, x, crop->first, crop->kept)
                                 : bi_select_rows(g, x, crop->rows);
}

/* Attention of layer l over h, with what its output layer adds, for the queries that are kept. */
static bi_value_id attend(const struct bi_model *m, struct bi_graph *g, bi_value_id h,
                          bi_value_id positions, const struct bi_tracks_layers *layers, int l,
                          const struct bi_tracks_kept *crop)
{
    const struct bi_tracks_layer *y = &layers->layer[l];
    const int64_t keys = layers->n_heads * layers->key_dim;
    const bool last = l + 1 == layers->n;
    bi_value_id in[6];
    if (layers->rotary.layer) {
        h = bi_rotary_attend(m, g, h, &layers->rotary, l);
        return last ? cropped(g, h, crop) : h;
    }
    in[0] = bi_matmul(g, last ? cropped(g, h, crop) : h, weight(m, g, y->q));
    in[1] = bi_matmul(g, h, weight(m, g, y->k));
    in[2] = bi_matmul(g, h, weight(m, g, y->v));
    in[3] = bi_columns(g, positions, (int32_t)(l * keys), (int32_t)keys);
    in[4] = weight(m, g, y->u);
    in[5] = weight(m, g, y->w);
    h = bi_rel_attention(g, in, (int32_t)crop->n_windows, layers->n_heads,
                         last ? (int32_t)crop->first : 0, 1 / sqrtf((float)layers->key_dim));
    return linear(m, g, h, y->out_w, y->out_b);
}

bi_value_id bi_tracks_transformer(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                                  bi_value_id positions, const struct bi_tracks_layers *layers,
                                  const struct bi_tracks_kept *crop)
{
    if (positions != BI_NONE) { /* in the type of operands, and what all layers make of them */
        positions = bi_norm_act(g, positions, BI_NONE, BI_NONE, BI_NORM_ACT_NONE, 0);
        positions = bi_matmul(g, positions, weight(m, g, layers->r));
    }
    for (int l = 0; l < layers->n; l++) {
        const struct bi_tracks_layer *y = &layers->layer[l];
        bi_value_id h;
        h = bi_layernorm(g, x, weight(m, g, y->norm1_w), weight(m, g, y->norm1_b), layers->eps);
        h = attend(m, g, h, positions, layers, l, crop);
        x = bi_add(g, l + 1 == layers->n ? cropped(g, x, crop) : x, h);
        h = bi_layernorm(g, x, weight(m, g, y->norm2_w), weight(m, g, y->norm2_b), layers->eps);
        h = bi_norm_act(g, linear(m, g, h, y->fc1_w, y->fc1_b), BI_NONE, BI_NONE, BI_NORM_ACT_RELU,
                        0);
        x = bi_add(g, x, linear(m, g, h, y->fc2_w, y->fc2_b));
    }
    return x;
}

bi_value_id bi_tracks_output(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                             const int *w, const int *b, const struct bi_tracks_asked *asked)
{
    bi_value_id head = weight(m, g, w[asked->head]), bias = weight(m, g, b[asked->head]);
    if (asked->tracks) {
        head = bi_weight_rows(g, head, asked->tracks, asked->n_tracks);
        bias = bi_weight_rows(g, bias, asked->tracks, asked->n_tracks);
    }
    x = bi_add(g, bi_matmul(g, x, head), bias);
    return bi_norm_act(g, x, BI_NONE, BI_NONE, BI_NORM_ACT_SOFTPLUS, 0);
}

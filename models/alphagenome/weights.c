/* weights.c - the weights of AlphaGenome in front of the heads.
 *
 * Norms without a mean, of whole channels, become a scale and a shift; those behind a layer are
 * part of its weight and bias. All of that is done in double.
 *
 * Sections: helpers, encoder and decoder, tower, output embedders. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alphagenome.h"

enum {
    FARTHEST = 8192,               /* tokens that rotations tell apart */
    WIDEST = FARTHEST / AG_POOLED, /* reach of distances in the grid */
    WIDEST_KEY = 128,              /* that attention takes, and ... */
    WIDEST_VALUE = 256
};

const char *const ag_organisms[AG_ORGANISMS] = {"human", "mouse"};

/* ---- helpers ---- */

/* name.part */
const char *ag_join(char *text, const char *name, const char *part)
{
    snprintf(text, AG_NAME, "%.79s.%.39s", name, part);
    return text;
}

/* A matrix [*out, in], whose out is as found where it is 0. gain: times each row; NULL = 1. */
int ag_matrix(const struct bi_tracks_source *s, int *index, const char *name, int64_t *out,
              int64_t in, const double *gain, int64_t evens_first, struct bioinfer_error *err)
{
    struct bi_weight w = {.rank = 2, .gain = gain, .evens_first = evens_first};
    char full[AG_NAME];
    int st = bi_tracks_need(s, &w.tensor, err, "%s", ag_join(full, name, "weight"));
    if (st)
        return st;
    if (!*out && w.tensor->rank && w.tensor->shape[0] <= 1 << 24)
        *out = (int64_t)w.tensor->shape[0];
    w.taps = w.tensor->rank > 2;
    w.shape[0] = *out;
    w.shape[1] = in;
    return bi_tracks_weight(s, index, &w, full, err);
}

int ag_need_memory(const struct bi_tracks_source *s, const void *p, struct bioinfer_error *err)
{
    return p ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: weights", s->model->cp->path);
}

static int vector(const struct bi_tracks_source *s, int *index, const char *name, const char *part,
                  int64_t n, struct bioinfer_error *err)
{
    char full[AG_NAME];
    return bi_tracks_vector(s, index, ag_join(full, name, part), n, err);
}

/* name.weight and name.bias [n]. */
static int norm(const struct bi_tracks_source *s, struct ag_affine *a, const char *name, int64_t n,
                struct bioinfer_error *err)
{
    int st = vector(s, &a->w, name, "weight", n, err);
    return st ? st : vector(s, &a->b, name, "bias", n, err);
}

/* A matrix and its bias, which may be left out. */
static int linear(const struct bi_tracks_source *s, struct ag_affine *a, const char *name,
                  int64_t *out, int64_t in, struct bioinfer_error *err)
{
    int st = ag_matrix(s, &a->w, name, out, in, NULL, 0, err);
    return st ? st : vector(s, &a->b, name, "bias", *out, err);
}

/* Numbers [n] as a weight. */
static int doubles(const struct bi_tracks_source *s, int *index, const char *name, const char *part,
                   const double *values, int64_t n, struct bioinfer_error *err)
{
    float *floats = bi_arena_calloc(&s->model->arena, (size_t)n, sizeof *floats);
    char full[AG_NAME];
    int st = ag_need_memory(s, floats, err);
    for (int64_t i = 0; !st && i < n; i++)
        floats[i] = (float)values[i];
    return st ? st : bi_tracks_values(s, index, ag_join(full, name, part), 1, n, 1, floats, err);
}

/* The batch norm in front of a layer, as a scale and a shift. */
static int before(const struct bi_tracks_source *s, struct ag_affine *a, const char *name,
                  int64_t n, struct bioinfer_error *err)
{
    double *scale, *shift;
    int st = bi_tracks_norm(s, name, n, &scale, &shift, err);
    if (!st)
        st = doubles(s, &a->w, name, "scale", scale, n, err);
    return st ? st : doubles(s, &a->b, name, "shift", shift, n, err);
}

/* A layer [*out, in] and the batch norm behind it, as one layer. more [*out]: what is added then;
 * NULL = nothing. bias false: the layer has none. */
static int followed(const struct bi_tracks_source *s, struct ag_affine *a, const char *name,
                    const char *behind, int64_t *out, int64_t in, const float *more,
                    struct bioinfer_error *err)
{
    double *scale, *shift;
    float *bias;
    char full[AG_NAME];
    const struct bi_tensor *t;
    int st = bi_tracks_need(s, &t, err, "%s", ag_join(full, name, "bias"));
    if (st)
        return st;
    if (!*out)
        *out = (int64_t)(t->n_elements <= 1 << 20 ? t->n_elements : 0);
    if ((st = bi_tracks_norm(s, behind, *out, &scale, &shift, err)) ||
        (st = ag_matrix(s, &a->w, name, out, in, scale, 0, err)) ||
        (st = bi_tracks_read(s, &bias, *out, full, err)))
        return st;
    for (int64_t i = 0; i < *out; i++)
        shift[i] += (double)bias[i] * scale[i] + (more ? (double)more[i] : 0);
    return doubles(s, &a->b, name, "bias", shift, *out, err);
}

/* ---- encoder and decoder ---- */

static int conv(const struct bi_tracks_source *s, struct bi_conv *c, const char *name, int64_t in,
                int64_t out, int taps, struct bioinfer_error *err)
{
    char before_it[AG_NAME], full[AG_NAME];
    int st = bi_tracks_conv(s, c, ag_join(before_it, name, "norm"), ag_join(full, name, "conv"), in,
                            err);
    if (!st && ((out && c->out != out) || c->taps != taps))
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: %s: %lld channels of %lld taps, expected %lld of %d", s->model->cp->path,
                     name, (long long)c->out, (long long)c->taps, (long long)out, taps);
    return st;
}

/* Bases on either side of its own that a row of the skip at a level follows from. */
static int64_t encoder_reach(const struct alphagenome *a, int level)
{
    int64_t bases = a->dna.taps / 2 + a->dna_block.taps / 2;
    for (int i = 0; i < level; i++)
        bases += (int64_t)(a->down[i].first.taps / 2 + a->down[i].second.taps / 2) << (i + 1);
    return bases;
}

int ag_open_encoder(const struct bi_tracks_source *s, struct alphagenome *a,
                    struct bioinfer_error *err)
{
    struct bi_tracks *t = s->model->tracks;
    int64_t width;
    int st = bi_tracks_conv(s, &a->dna, NULL, "encoder.dna_embedder.conv1", 4, err);
    if (st)
        return st;
    width = a->dna.out;
    st = conv(s, &a->dna_block, "encoder.dna_embedder.block", width, width, 5, err);
    for (; !st && a->n_down < AG_DOWN; a->n_down++) {
        struct ag_down *d = &a->down[a->n_down];
        char name[AG_NAME];
        if (!bi_tracks_find(s, "encoder.down_blocks.%d.block1.conv.weight", a->n_down))
            break;
        snprintf(name, sizeof name, "encoder.down_blocks.%d.block1", a->n_down);
        if ((st = conv(s, &d->first, name, width, 0, 5, err)))
            return st;
        if (d->first.out < width)
            return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: %lld channels of %lld",
                           s->model->cp->path, name, (long long)d->first.out, (long long)width);
        width = d->first.out;
        snprintf(name, sizeof name, "encoder.down_blocks.%d.block2", a->n_down);
        st = conv(s, &d->second, name, width, width, 5, err);
    }
    t->reach = encoder_reach(a, a->n_down);
    return st;
}

/* Channels of the skip at level i, whose rows are 2^i bases. */
int64_t ag_skip_width(const struct alphagenome *a, int i)
{
    return i ? a->down[i - 1].second.out : a->dna.out;
}

/* Tokens on either side that a fine row follows from through the decoder: the rows that each level
 * reaches, and the coarser ones that these lie in. anew: the skips are not at hand, so the bases
 * that they follow from count, too. */
static int64_t decoder_reach(const struct alphagenome *a, bool anew)
{
    const int64_t token = a->tracks.token_size;
    int64_t rows = 0, bases = 0;
    for (int i = a->n_down; i >= 0; i--) {
        const int level = a->n_down - i;
        const int64_t skips = rows + a->up[i].out.taps / 2;
        const int64_t of_skips = (skips << level) + encoder_reach(a, level);
        bases = anew && of_skips > bases ? of_skips : bases;
        rows = (skips + 1) / 2 + a->up[i].in.taps / 2;
    }
    bases = (bases + token - 1) / token;
    return rows > bases ? rows : bases;
}

int ag_open_decoder(const struct bi_tracks_source *s, struct alphagenome *a,
                    struct bioinfer_error *err)
{
    struct bi_tracks *t = s->model->tracks;
    int64_t width = ag_skip_width(a, a->n_down);
    int st = 0;
    for (int i = 0; !st && i <= a->n_down; i++) { /* up[0] is the coarsest, as in the file */
        const int64_t out = ag_skip_width(a, a->n_down - i);
        struct ag_up *u = &a->up[i];
        float *scale;
        char name[AG_NAME];
        snprintf(name, sizeof name, "decoder.up_blocks.%d.conv_in", i);
        if ((st = conv(s, &u->in, name, width, out, 5, err)))
            return st;
        snprintf(name, sizeof name, "decoder.up_blocks.%d.pointwise", i);
        if ((st = conv(s, &u->skip, name, out, out, 1, err)))
            return st;
        snprintf(name, sizeof name, "decoder.up_blocks.%d.conv_out", i);
        if ((st = conv(s, &u->out, name, out, out, 5, err)))
            return st;
        snprintf(name, sizeof name, "decoder.up_blocks.%d.residual_scale", i);
        if ((st = bi_tracks_read(s, &scale, 1, name, err)))
            return st;
        u->scale = scale[0];
        width = out;
    }
    t->halo = (t->reach + t->token_size - 1) / t->token_size;
    if (t->halo < decoder_reach(a, false))
        t->halo = decoder_reach(a, false);
    t->halo_anew = decoder_reach(a, true);
    return st;
}

/* ---- tower ---- */

/* d_c = c + g_c, g geometric from 1 to `farthest` - n + 1 in n terms; the frequencies are 1 / d. In
 * float32, step by step as the port has it: a site a million bases away turns by what these steps
 * round, so the exact series would be another model. */
float ag_frequency(int64_t c, int64_t n, int64_t farthest)
{
    const float last = (float)log10((double)(farthest - n + 1)), ten = 2.302585093f;
    const float step = n > 1 ? last / (float)(n - 1) : 0;
    const float at = c < n / 2 || n == 1 ? step * (float)c : last - step * (float)(n - 1 - c);
    const float scaled_at = at * ten;
    return 1 / ((float)c + (float)exp((double)scaled_at));
}

/* Cosines and sines [tokens, key] of rotations, in halves. */
static int make_table(const struct bi_tracks_source *s, struct alphagenome *a,
                      struct bioinfer_error *err)
{
    const int64_t n = s->model->tracks->n_tokens, half = a->key / 2;
    float *table = bi_arena_calloc(&s->model->arena, (size_t)n, (size_t)a->key * sizeof *table);
    int st = ag_need_memory(s, table, err);
    for (int64_t r = 0; !st && r < n; r++)
        for (int64_t c = 0; c < half; c++) {
            const float angle = (float)r * ag_frequency(c, half, FARTHEST);
            table[r * a->key + c] = (float)cos((double)angle);
            table[r * a->key + half + c] = (float)sin((double)angle);
        }
    return st ? st : bi_tracks_values(s, &a->table, "rotations", 2, n, a->key, table, err);
}

/* The terms of each class of distances, [2 F + 1, H d]: W (f, sign f) + b, where the first k of the
 * F masks f are 0 in class F +- k. */
static int make_distances(const struct bi_tracks_source *s, struct alphagenome *a,
                          struct ag_pairs *p, const char *name, int64_t width,
                          struct bioinfer_error *err)
{
    const struct bi_tensor *t;
    float *w, *b, *rows, *edges;
    int64_t f;
    char full[AG_NAME];
    int st;
    if ((st = bi_tracks_need(s, &t, err, "%s", ag_join(full, name, "weight"))))
        return st;
    f = t->rank == 2 && t->shape[1] <= 1024 ? (int64_t)t->shape[1] / 2 : 0;
    if (f < 1 || f > WIDEST || t->shape[1] % 2)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected an even number of columns",
                       s->model->cp->path, full);
    if ((st = bi_tracks_read(s, &w, width * 2 * f, full, err)) ||
        (st = bi_tracks_read(s, &b, width, ag_join(full, name, "bias"), err)))
        return st;
    rows = bi_arena_calloc(&s->model->arena, (size_t)(2 * f + 1), (size_t)width * sizeof *rows);
    edges = bi_arena_calloc(&s->model->arena, (size_t)f, sizeof *edges);
    if ((st = ag_need_memory(s, rows && edges ? rows : NULL, err)))
        return st;
    for (int64_t i = 0; i < f; i++)
        edges[i] = (float)i + (float)exp(log((double)(WIDEST - f + 1)) * (double)i / (double)f);
    for (int64_t r = 0; r < 2 * f + 1; r++)
        for (int64_t c = 0; c < width; c++) {
            const int64_t k = r < f ? f - r : r - f;
            double sum = (double)b[c];
            for (int64_t i = k; i < f; i++)
                sum += (double)w[c * 2 * f + i] + (r < f   ? -1
                                                   : r > f ? 1
                                                           : 0) *
                                                      (double)w[c * 2 * f + f + i];
            rows[r * width + c] = (float)sum;
        }
    st = bi_tracks_values(s, &p->distances, name, 2, 2 * f + 1, width, rows, err);
    return st ? st : bi_tracks_values(s, &a->edges, "edges", 1, f, 1, edges, err);
}

static int open_pairs(const struct bi_tracks_source *s, struct alphagenome *a, struct ag_pairs *p,
                      int layer, int64_t width, struct bioinfer_error *err)
{
    const struct bi_tensor *t;
    int64_t inner = 0, grid = 0, hidden = 0;
    char at[AG_NAME], name[AG_NAME];
    int st;
    snprintf(at, sizeof at, "tower.blocks.%d.pair_update", layer);
    if ((st = bi_tracks_need(s, &t, err, "%s.seq2pair.linear_pair.weight", at)))
        return st;
    p->n_heads = t->rank == 2 && t->shape[1] <= 1024 ? (int64_t)t->shape[1] : 0;
    if ((st = norm(s, &p->norm, ag_join(name, at, "seq2pair.norm_seq2pair"), width, err)) ||
        (st = ag_matrix(s, &p->q, ag_join(name, at, "seq2pair.linear_q"), &inner, width, NULL, 0,
                        err)) ||
        (st = ag_matrix(s, &p->k, ag_join(name, at, "seq2pair.linear_k"), &inner, width, NULL, 0,
                        err)))
        return st;
    if (p->n_heads < 1 || inner % p->n_heads || inner > 1 << 16)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: %lld columns of %lld heads",
                       s->model->cp->path, name, (long long)inner, (long long)p->n_heads);
    if ((st = make_distances(s, a, p, ag_join(name, at, "seq2pair.linear_pos_features"), inner,
                             err)) ||
        (st = vector(s, &p->q_bias, at, "seq2pair.q_r_bias", inner, err)) ||
        (st = vector(s, &p->k_bias, at, "seq2pair.k_r_bias", inner, err)) ||
        (st = linear(s, &p->pair, ag_join(name, at, "seq2pair.linear_pair"), &grid, p->n_heads,
                     err)) ||
        (st = ag_matrix(s, &p->yq, ag_join(name, at, "seq2pair.linear_y_q"), &grid, width, NULL, 0,
                        err)) ||
        (st = ag_matrix(s, &p->yk, ag_join(name, at, "seq2pair.linear_y_k"), &grid, width, NULL, 0,
                        err)))
        return st;
    if (layer && grid != a->grid_width)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: %lld columns, the grid has %lld",
                       s->model->cp->path, name, (long long)grid, (long long)a->grid_width);
    a->grid_width = grid;
    if ((st = norm(s, &p->row_norm, ag_join(name, at, "row_attn.norm"), grid, err)) ||
        (st = ag_matrix(s, &p->row_q, ag_join(name, at, "row_attn.linear_q"), &grid, grid, NULL, 0,
                        err)) ||
        (st = ag_matrix(s, &p->row_k, ag_join(name, at, "row_attn.linear_k"), &grid, grid, NULL, 0,
                        err)) ||
        (st = linear(s, &p->value, ag_join(name, at, "row_attn.linear_v"), &grid, grid, err)) ||
        (st = norm(s, &p->mlp_norm, ag_join(name, at, "pair_mlp.norm"), grid, err)) ||
        (st = linear(s, &p->fc1, ag_join(name, at, "pair_mlp.linear1"), &hidden, grid, err)))
        return st;
    return linear(s, &p->fc2, ag_join(name, at, "pair_mlp.linear2"), &grid, hidden, err);
}

/* The norm of a head's width, for each of n heads; in the order of the rows of q and k where they
 * are rotated. */
static int head_norm(const struct bi_tracks_source *s, struct ag_affine *a, const char *name,
                     int64_t n, int64_t width, bool rotated, struct bioinfer_error *err)
{
    static const char *const parts[] = {"weight", "bias"};
    int *index[] = {&a->w, &a->b};
    int st = 0;
    for (int i = 0; !st && i < 2; i++) {
        float *from, *to = bi_arena_calloc(&s->model->arena, (size_t)(n * width), sizeof *to);
        char full[AG_NAME];
        if ((st = ag_need_memory(s, to, err)) ||
            (st = bi_tracks_read(s, &from, width, ag_join(full, name, parts[i]), err)))
            return st;
        for (int64_t c = 0; c < n * width; c++) {
            const int64_t at = c % width, half = width / 2;
            to[c] = from[!rotated ? at : at < half ? 2 * at : 2 * (at - half) + 1];
        }
        st = bi_tracks_values(s, index[i], full, 1, n * width, 1, to, err);
    }
    return st;
}

static int open_attention(const struct bi_tracks_source *s, struct alphagenome *a,
                          struct ag_block *b, const char *at, int64_t width,
                          struct bioinfer_error *err)
{
    const struct bi_tensor *key, *value, *q;
    int64_t keys, d, e = 0, grid_heads = 0;
    char name[AG_NAME], behind[AG_NAME];
    int st;
    if ((st = bi_tracks_need(s, &key, err, "%s.mha.norm_k.weight", at)) ||
        (st = bi_tracks_need(s, &value, err, "%s.mha.norm_v.weight", at)) ||
        (st = bi_tracks_need(s, &q, err, "%s.mha.q_proj.weight", at)))
        return st;
    d = (int64_t)key->n_elements;
    e = (int64_t)value->n_elements;
    keys = q->rank == 2 && q->shape[0] <= 1 << 16 ? (int64_t)q->shape[0] : 0;
    if (d < 2 || d > WIDEST_KEY || d % 2 || e < 1 || e > WIDEST_VALUE || keys < d || keys % d ||
        (a->n_heads && (a->n_heads != keys / d || a->key != d)))
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s.mha: queries of %lld columns, keys of %lld",
                       s->model->cp->path, at, (long long)keys, (long long)d);
    a->n_heads = keys / d;
    a->key = d;
    if ((st = before(s, &b->bias_norm, ag_join(name, at, "attn_bias.norm"), a->grid_width, err)) ||
        (st = ag_matrix(s, &b->bias, ag_join(name, at, "attn_bias.proj"), &grid_heads,
                        a->grid_width, NULL, 0, err)))
        return st;
    if (grid_heads != a->n_heads)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: biases of %lld heads, expected %lld",
                       s->model->cp->path, name, (long long)grid_heads, (long long)a->n_heads);
    if ((st = before(s, &b->norm, ag_join(name, at, "mha.norm"), width, err)) ||
        (st = ag_matrix(s, &b->q, ag_join(name, at, "mha.q_proj"), &keys, width, NULL, d, err)) ||
        (st = ag_matrix(s, &b->k, ag_join(name, at, "mha.k_proj"), &d, width, NULL, d, err)) ||
        (st = ag_matrix(s, &b->v, ag_join(name, at, "mha.v_proj"), &e, width, NULL, 0, err)) ||
        (st = head_norm(s, &b->q_norm, ag_join(name, at, "mha.norm_q"), a->n_heads, d, true,
                        err)) ||
        (st = head_norm(s, &b->k_norm, ag_join(name, at, "mha.norm_k"), 1, d, true, err)) ||
        (st = head_norm(s, &b->v_norm, ag_join(name, at, "mha.norm_v"), 1, e, false, err)))
        return st;
    return followed(s, &b->out, ag_join(name, at, "mha.linear_embedding"),
                    ag_join(behind, at, "mha.final_norm"), &width, a->n_heads * e, NULL, err);
}

static int open_block(const struct bi_tracks_source *s, struct alphagenome *a, int layer,
                      int64_t width, struct bioinfer_error *err)
{
    struct ag_block *b = &a->block[layer];
    int64_t hidden = 0;
    char at[AG_NAME], name[AG_NAME], behind[AG_NAME];
    int st = 0;
    snprintf(at, sizeof at, "tower.blocks.%d", layer);
    b->updates = bi_tracks_find(s, "%s.pair_update.seq2pair.linear_q.weight", at) != NULL;
    if (b->updates)
        st = open_pairs(s, a, &b->pairs, layer, width, err);
    if (st || (st = open_attention(s, a, b, at, width, err)) ||
        (st = before(s, &b->mlp_norm, ag_join(name, at, "mlp.norm"), width, err)) ||
        (st = linear(s, &b->fc1, ag_join(name, at, "mlp.fc1"), &hidden, width, err)))
        return st;
    return followed(s, &b->fc2, ag_join(name, at, "mlp.fc2"), ag_join(behind, at, "mlp.final_norm"),
                    &width, hidden, NULL, err);
}

static int open_organisms(const struct bi_tracks_source *s, struct alphagenome *a, int64_t width,
                          struct bioinfer_error *err)
{
    const struct bi_tensor *t;
    float *rows;
    int st = bi_tracks_need(s, &t, err, "organism_embed.weight");
    if (st)
        return st;
    a->n_organisms = t->rank == 2 && t->shape[0] <= AG_ORGANISMS ? (int)t->shape[0] : 0;
    if (!a->n_organisms)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected up to %d organisms",
                       s->model->cp->path, t->name, AG_ORGANISMS);
    st = bi_tracks_read(s, &rows, a->n_organisms * width, "organism_embed.weight", err);
    for (int o = 0; !st && o < a->n_organisms; o++)
        st = bi_tracks_values(s, &a->organism[o], "organism_embed", 1, width, 1, rows + o * width,
                              err);
    return st;
}

int ag_open_tower(const struct bi_tracks_source *s, struct alphagenome *a, int64_t width,
                  struct bioinfer_error *err)
{
    int st = open_organisms(s, a, width, err);
    while (!st && a->n_blocks < AG_BLOCKS &&
           bi_tracks_find(s, "tower.blocks.%d.mha.q_proj.weight", a->n_blocks))
        st = open_block(s, a, a->n_blocks++, width, err);
    s->model->n_layers = a->n_blocks;
    s->model->width = (int)width;
    s->model->n_heads = (int)a->n_heads;
    s->model->head_dim = (int)a->key;
    return st ? st : make_table(s, a, err);
}

/* ---- output embedders ---- */

/* Biases of a layer and of the norm behind it, for each organism; gain: of the norm, by rows. */
static int open_embedder(const struct bi_tracks_source *s, struct ag_affine *of, const char *name,
                         int64_t *out, int64_t in, const double **gain, struct bioinfer_error *err)
{
    const struct alphagenome *a = s->model->config;
    double *scale, *shift, *sum;
    float *bias, *more;
    char at[AG_NAME], full[AG_NAME];
    const struct bi_tensor *t;
    int st;
    if ((st = bi_tracks_need(s, &t, err, "%s.project_in.bias", name)))
        return st;
    *out = t->n_elements <= 1 << 16 ? (int64_t)t->n_elements : 0;
    snprintf(full, sizeof full, "%s.project_in.bias", name);
    if ((st = bi_tracks_read(s, &bias, *out, full, err)) ||
        (st = bi_tracks_norm(s, ag_join(full, name, "norm"), *out, &scale, &shift, err)) ||
        (st = bi_tracks_read(s, &more, a->n_organisms * *out,
                             ag_join(full, name, "organism_embed.weight"), err)) ||
        (st = ag_matrix(s, &of[0].w, ag_join(at, name, "project_in"), out, in, scale, 0, err)))
        return st;
    *gain = scale;
    if ((st = ag_need_memory(s, sum = bi_arena_calloc(&s->model->arena, (size_t)*out, sizeof *sum),
                             err)))
        return st;
    for (int o = 0; !st && o < a->n_organisms; o++) {
        for (int64_t c = 0; c < *out; c++)
            sum[c] = (double)bias[c] * scale[c] + shift[c] + (double)more[o * *out + c];
        of[o].w = of[0].w;
        st = doubles(s, &of[o].b, name, ag_organisms[o], sum, *out, err);
    }
    return st;
}

static int open_grid(const struct bi_tracks_source *s, struct alphagenome *a,
                     struct bioinfer_error *err)
{
    const int64_t n = a->grid_width;
    float *bias, *more, *sum;
    int w, st;
    if ((st = bi_tracks_vector(s, &w, "embedder_pair.norm.weight", n, err)) ||
        (st = bi_tracks_read(s, &bias, n, "embedder_pair.norm.bias", err)) ||
        (st = bi_tracks_read(s, &more, a->n_organisms * n, "embedder_pair.organism_embed.weight",
                             err)))
        return st;
    for (int o = 0; !st && o < a->n_organisms; o++) {
        if ((st = ag_need_memory(s, sum = bi_arena_calloc(&s->model->arena, (size_t)n, sizeof *sum),
                                 err)))
            return st;
        for (int64_t c = 0; c < n; c++)
            sum[c] = (float)((double)bias[c] + (double)more[o * n + c]);
        a->grid[o].w = w;
        st = bi_tracks_values(s, &a->grid[o].b, "embedder_pair.bias", 1, n, 1, sum, err);
    }
    return st;
}

int ag_open_embedders(const struct bi_tracks_source *s, struct alphagenome *a, int64_t width[2],
                      struct bioinfer_error *err)
{
    const double *gain;
    int st;
    if ((st = open_embedder(s, a->coarse, "embedder_128bp", &width[1], ag_skip_width(a, a->n_down),
                            &gain, err)) ||
        (st = open_embedder(s, a->fine, "embedder_1bp", &width[0], ag_skip_width(a, 0), &gain,
                            err)) ||
        (st = ag_matrix(s, &a->fine_skip, "embedder_1bp.project_skip", &width[0], width[1], gain, 0,
                        err)))
        return st;
    return open_grid(s, a, err);
}

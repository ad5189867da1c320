/* tracks_rotary.c - attention of layers whose queries share keys and values in groups and are
 * rotated by their place, as the module MHA of the package flash-attn computes it.
 *
 * x [n, D], H heads of width d = D / H, G = H / 2 of keys and values:
 *
 *   q, k, v = x Wqkv^T + b, of which the first H d columns are q, the next G d k, the last G d v
 *   y = concatenated over heads h: softmax(d^-1/2 q'[h] k'[h / 2]^T) v[h / 2];   y Wo^T + bo
 *
 * q' and k' are q and k of which channels i and i + R / 2, i < R / 2, are rotated by angle
 * p base^(-2 i / R) at place p, R being 128 in published weights and base 20,000. Channels from R
 * on stay as they are.
 *
 * A group is one use of op multiquery. That rotates channels i and i + d / 2, so the rows of q and
 * k are read in another order, and angles are 0 from R / 2 on: products of q and k are the same.
 * What the groups give meets in the sum of their products with columns of Wo.
 *
 * Sources: flash_attn/modules/mha.py, flash_attn/layers/rotary.py; johahi/borzoi-pytorch. */
#include <math.h>
#include <stdio.h>

#include "tracks.h"

enum { SHARED = 2, WIDEST = 192, USUAL_ROTATED = 128, USUAL_BASE = 20000, NAME = 96 };

static int open_table(const struct bi_tracks_source *s, struct bi_rotary *r, int64_t rotated,
                      int64_t base, struct bioinfer_error *err)
{
    const int64_t n = s->model->tracks->n_tokens, d = r->width, half = d / 2;
    float *table = bi_arena_calloc(&s->model->arena, (size_t)n, (size_t)d * sizeof *table);
    if (!table)
        return bi_fail(err, BIOINFER_NOMEM, "%s: rotations", s->model->cp->path);
    for (int64_t c = 0; c < half; c++) {
        const float power = (float)pow((double)base, (double)((float)(2 * c) / (float)rotated));
        const float frequency = c < rotated / 2 ? 1 / power : 0;
        for (int64_t p = 0; p < n; p++) {
            const float angle = (float)p * frequency; /* rounded, as the package does */
            table[p * d + c] = (float)cos((double)angle);
            table[p * d + half + c] = (float)sin((double)angle);
        }
    }
    return bi_tracks_values(s, &r->table, "rotations", 2, n, d, table, err);
}

/* Rows first ... first + n - 1 of Wqkv and of its bias. rotated: of each head; 0 = as they are. */
static int open_part(const struct bi_tracks_source *s, int *w, int *b, const char *at,
                     int64_t first, int64_t n, const struct bi_rotary *r, int64_t rotated,
                     struct bioinfer_error *err)
{
    struct bi_weight part = {.rank = 2,
                             .shape = {n, r->n_heads * r->width},
                             .row_first = (uint64_t)first,
                             .row_block = (uint64_t)n,
                             .row_step = (uint64_t)n,
                             .head_rows = rotated ? r->width : 0,
                             .rotated = rotated};
    char name[NAME];
    int st;
    snprintf(name, sizeof name, "%s.Wqkv.weight", at);
    if ((st = bi_tracks_need(s, &part.tensor, err, "%s", name)) ||
        (st = bi_tracks_weight(s, w, &part, name, err)))
        return st;
    part.rank = 1;
    part.shape[1] = 1;
    snprintf(name, sizeof name, "%s.Wqkv.bias", at);
    if ((st = bi_tracks_need(s, &part.tensor, err, "%s", name)))
        return st;
    return bi_tracks_weight(s, b, &part, name, err);
}

static int open_groups(const struct bi_tracks_source *s, const struct bi_rotary *r,
                       struct bi_rotary_layer *y, const char *at, int64_t rotated,
                       struct bioinfer_error *err)
{
    const int64_t d = r->width, queries = r->n_heads * d, groups = r->n_heads / SHARED;
    const int64_t keys = queries, values = queries + groups * d;
    struct bi_weight out = {.rank = 2, .shape = {queries, SHARED * d}, .n_columns = queries};
    char name[NAME];
    int st;
    snprintf(name, sizeof name, "%s.out_proj.bias", at);
    if ((st = bi_tracks_vector(s, &y->out_b, name, queries, err)))
        return st;
    snprintf(name, sizeof name, "%s.out_proj.weight", at);
    if ((st = bi_tracks_need(s, &out.tensor, err, "%s", name)))
        return st;
    for (int64_t g = 0; !st && g < groups; g++) {
        struct bi_rotary_group *to = &y->group[g];
        out.column_first = g * SHARED * d;
        if ((st = open_part(s, &to->q, &to->q_b, at, g * SHARED * d, SHARED * d, r, rotated,
                            err)) ||
            (st = open_part(s, &to->k, &to->k_b, at, keys + g * d, d, r, rotated, err)) ||
            (st = open_part(s, &to->v, &to->v_b, at, values + g * d, d, r, 0, err)))
            break;
        st = bi_tracks_weight(s, &to->out, &out, name, err);
    }
    return st;
}

int bi_rotary_open(const struct bi_tracks_source *s, struct bi_rotary *r, int n_layers,
                   int64_t width, struct bioinfer_error *err)
{
    struct bi_model *m = s->model;
    int64_t heads = 8, rotated = USUAL_ROTATED, base = USUAL_BASE;
    const struct bi_tensor *t;
    int st;
    if ((st = bi_config_int(m, "heads", SHARED, 1024, &heads, err)) < 0 ||
        (st = bi_config_int(m, "rotary_emb_dim", 2, WIDEST, &rotated, err)) < 0 ||
        (st = bi_config_int(m, "rotary_emb_base", 2, 1 << 24, &base, err)) < 0)
        return st;
    if (heads % SHARED || width % heads || width / heads > WIDEST || width / heads % 2 ||
        rotated % 2 || rotated > width / heads)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: %lld heads in %lld columns, of which %lld are rotated: "
                       "expected an even number of heads of an even width up to %d",
                       m->cp->path, (long long)heads, (long long)width, (long long)rotated, WIDEST);
    r->n_heads = heads;
    r->width = width / heads;
    r->layer = bi_arena_calloc(&m->arena, (size_t)n_layers, sizeof *r->layer);
    for (int l = 0; !st && l < n_layers; l++) {
        struct bi_rotary_layer *y = r->layer ? &r->layer[l] : NULL;
        char at[NAME / 2];
        if (y)
            y->group = bi_arena_calloc(&m->arena, (size_t)(heads / SHARED), sizeof *y->group);
        if (!y || !y->group)
            return bi_fail(err, BIOINFER_NOMEM, "%s: layers", m->cp->path);
        snprintf(at, sizeof at, "transformer.%d.0.fn.1.mha", l);
        if ((st = bi_tracks_need(s, &t, err, "%s.Wqkv.weight", at)))
            return st;
        if (t->rank != 2 || t->shape[0] != 2 * (uint64_t)width)
            return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [%lld, %lld]", m->cp->path,
                           t->name, (long long)(2 * width), (long long)width);
        st = open_groups(s, r, y, at, rotated, err);
    }
    return st ? st : open_table(s, r, rotated, base, err);
}

bi_value_id bi_rotary_attend(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                             const struct bi_rotary *r, int layer)
{
    const struct bi_rotary_layer *y = &r->layer[layer];
    bi_value_id sum = BI_NONE;
    for (int64_t i = 0; i < r->n_heads / SHARED; i++) {
        const struct bi_rotary_group *group = &y->group[i];
        const int w[] = {group->q, group->k, group->v}, b[] = {group->q_b, group->k_b, group->v_b};
        bi_value_id in[5], h;
        for (int k = 0; k < 3; k++)
            in[k] = bi_add(g, bi_matmul(g, x, bi_model_value(m, g, w[k])),
                           bi_model_value(m, g, b[k]));
        in[3] = bi_model_value(m, g, r->table);
        in[4] = BI_NONE;
        h = bi_multiquery(g, in, SHARED, (int32_t)m->tracks->n_tokens, 1 / sqrtf((float)r->width),
                          0);
        h = bi_matmul(g, h, bi_model_value(m, g, group->out));
        sum = bi_add(g, h, sum == BI_NONE ? bi_model_value(m, g, y->out_b) : sum);
    }
    return sum;
}

/* model.c - AlphaGenome: up to 1,048,576 bases to tracks of 1 and 128 bases, contact maps,
 * splice sites and junctions, of human and mouse.
 *
 * x [S, 4] one-hot (A, C, G, T or U; others of IUPAC are zeros), n = S / 128 tokens, P = n / 16:
 *
 *   cb(x)    = conv(quick_gelu(rbn(x))) + b          zeros around the activation, never around x
 *   encoder: x = conv15(x) + b;  x = x + cb5(x);  six times: x = max2(x);  y = cb5(x) + x, which
 *            has fewer channels;  x = y + cb5(y).  Before each max2 it is a skip of the decoder.
 *   tower:   x = max2(x) + organism;  blocks: every other one updates the grid of pairs [P P, C];
 *            x = x + rbn(We attention(rbn(x)) + be);  x = x + rbn(W2 relu(W1 rbn(x) + b1) + b2)
 *   pairs:   s = lnr(mean of 16 rows of x);  a = q k^T + half of what distances add;
 *            g = a Wp + bp + yq(gelu(s)) of the row + yk(gelu(s)) of the column, added to the grid;
 *            g = g + attention of each row over its columns;  g = g + W2 relu(W1 lnr(g) + b1) + b2
 *   e128 = quick_gelu(rbn(x W + b) + organism)
 *   decoder: seven times: y = cb5(x) + the first channels of x;  y = c twice(y) + cb1(skip);
 *            x = y + cb5(y)
 *   e1   = quick_gelu(rbn(x W + b + e128 Ws of the token) + organism)
 *   eg   = quick_gelu(lnr(the grid made symmetric) + organism)
 *   heads: kernels/track_rows.h (unclip) of e1 or e128; linear of eg; softmax and sigmoid of e1;
 *            counts of junctions of the rows of e1 at the most likely splice sites
 *            (kernels/junctions.h)
 *
 * Facts that cost others a bug: rbn takes no mean away, lnr neither, but both have an offset; the
 * convolutions of five taps are standardised; the bias is inside the soft cap of attention; rotary
 * positions are of neighbouring channels (here of halves: rows of q and k are read in that order);
 * values of 128 bases are sums; padding tracks behind the real ones mean nothing and are not given;
 * real tracks of usage are two runs; gelu of the tower is by erf, as the PyTorch port has it, or
 * with "gelu": "tanh" in config.json the tanh form, as JAX has it.
 *
 * Layout: the state dict of the PyTorch port.
 * Sources: google-deepmind/alphagenome_research; genomicsxai/alphagenome-pytorch.
 *
 * Sections: opening, graph. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alphagenome.h"

enum { USUAL_WINDOW = 1 << 20 };

static const double CAP = 5;
static const double LEAST_SITE = 0.1;

static bool alphagenome_recognise(const struct bi_checkpoint *cp)
{
    return bi_checkpoint_find(cp, "encoder.dna_embedder.conv1.weight") &&
           bi_checkpoint_find(cp, "tower.blocks.0.pair_update.seq2pair.linear_q.weight");
}

/* ---- opening ---- */

static int open_sizes(struct bi_model *m, const struct alphagenome *a, struct bioinfer_error *err)
{
    struct bi_tracks *t = m->tracks;
    const int64_t token = (int64_t)2 << a->n_down;
    int64_t usual = USUAL_WINDOW;
    int st = bi_config_int(m, "seq_length", 1, USUAL_WINDOW, &usual, err);
    if (st < 0 || (st = bi_tracks_window(m, token, AG_POOLED, USUAL_WINDOW, usual, err)))
        return st;
    t->features[0] = (struct bi_feature){"trunk", 1, ag_skip_width(a, a->n_down)};
    t->n_features = 1;
    for (int i = a->n_down; i >= 0; i--) {
        static const char *const names[] = {"skip0", "skip1", "skip2", "skip3", "skip4", "skip5",
                                            "skip6", "skip7", "skip8", "skip9", "skip10"};
        t->features[t->n_features++] = (struct bi_feature){names[i], 2 << (a->n_down - i),
                                                           ag_skip_width(a, i)};
    }
    return 0;
}

/* Which gelu the tower has. */
static int open_gelu(struct bi_model *m, struct alphagenome *a, struct bioinfer_error *err)
{
    const struct bi_json *given = bi_json_get(m->cp->config, "gelu");
    const char *name = bi_json_string(given);
    if (!given || (name && !strcmp(name, "erf")))
        return 0;
    if (!name || strcmp(name, "tanh") != 0)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: gelu is '%.40s', expected \"erf\" or \"tanh\"",
                       m->cp->path, name ? name : "no text");
    a->tanh_gelu = true;
    m->variant = "gelu=tanh";
    return 0;
}

static int alphagenome_open(struct bi_model *m, struct bioinfer_error *err)
{
    struct alphagenome *a = bi_arena_calloc(&m->arena, 1, sizeof *a);
    struct bi_tracks_source s = {.model = m, .prefix = "", .norm_eps = 1e-5, .rms = true};
    int64_t width, embedded[2];
    int st;
    if (!a)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", m->cp->path);
    m->config = a;
    m->tracks = &a->tracks;
    m->name = "alphagenome";
    a->n_sites = AG_SITES;
    if (m->positions)
        return bi_fail(err, BIOINFER_INVALID, "%s: positions '%.60s': this family knows one kind",
                       m->cp->path, m->positions);
    if ((st = open_gelu(m, a, err)) || (st = ag_open_encoder(&s, a, err)) ||
        (st = open_sizes(m, a, err)))
        return st;
    width = ag_skip_width(a, a->n_down);
    if ((st = ag_open_tower(&s, a, width, err)) || (st = ag_open_decoder(&s, a, err)) ||
        (st = ag_open_embedders(&s, a, embedded, err)) ||
        (st = ag_open_heads(&s, a, embedded, err)))
        return st;
    return bi_tracks_bases(&s, &a->bases, err);
}

/* ---- graph ---- */

static const float EPS = 1e-5f;

static bi_value_id value(const struct bi_model *m, struct bi_graph *g, int index)
{
    return bi_model_value(m, g, index);
}

static bi_value_id times(const struct bi_model *m, struct bi_graph *g, bi_value_id x, int w)
{
    return bi_matmul(g, x, value(m, g, w));
}

static bi_value_id layer(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                         struct ag_affine l)
{
    return bi_add(g, times(m, g, x, l.w), value(m, g, l.b));
}

static bi_value_id act(struct bi_graph *g, bi_value_id x, int which)
{
    return bi_norm_act(g, x, BI_NONE, BI_NONE, which, 0);
}

static bi_value_id scaled(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                          struct ag_affine norm_of)
{
    return bi_norm_act(g, x, value(m, g, norm_of.w), value(m, g, norm_of.b), BI_NORM_ACT_NONE, 0);
}

static bi_value_id rms(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                       struct ag_affine l)
{
    return bi_add(g, bi_rmsnorm(g, x, value(m, g, l.w), EPS), value(m, g, l.b));
}

static bi_value_id block_of(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                            const struct bi_conv *c)
{
    return bi_tracks_conv_block(m, g, x, c, BI_NORM_ACT_QUICK_GELU);
}

/* That of the tower. */
static bi_value_id gelu(const struct bi_model *m, struct bi_graph *g, bi_value_id x)
{
    const struct alphagenome *a = m->config;
    return a->tanh_gelu ? act(g, x, BI_NORM_ACT_TANH_GELU) : bi_gelu(g, x);
}

static bi_value_id pooled(struct bi_graph *g, bi_value_id x)
{
    return bi_pair_pool(g, x, BI_NONE);
}

/* The finest skip. */
static bi_value_id alphagenome_last(const struct bi_model *m, struct bi_graph *g, bi_value_id bases)
{
    const struct alphagenome *a = m->config;
    bi_value_id x = bi_embedding(g, value(m, g, a->bases), bases);
    x = bi_tracks_conv_block(m, g, x, &a->dna, BI_NORM_ACT_NONE);
    return bi_add(g, x, block_of(m, g, x, &a->dna_block));
}

static void alphagenome_features(const struct bi_model *m, struct bi_graph *g, bi_value_id bases,
                                 bi_value_id *features)
{
    const struct alphagenome *a = m->config;
    bi_value_id x = alphagenome_last(m, g, bases);
    features[a->n_down + 1] = x;
    for (int i = 0; i < a->n_down; i++) {
        const struct ag_down *d = &a->down[i];
        x = pooled(g, x);
        x = bi_add_narrow(g, block_of(m, g, x, &d->first), x);
        x = bi_add(g, x, block_of(m, g, x, &d->second));
        features[a->n_down - i] = x;
    }
    features[0] = pooled(g, x);
}

static bi_value_id update_pairs(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                                bi_value_id grid, const struct ag_pairs *p, int32_t side)
{
    const struct alphagenome *a = m->config;
    const int32_t heads = (int32_t)p->n_heads;
    bi_value_id s = rms(m, g, bi_mean_rows(g, x, AG_POOLED), p->norm), active = gelu(m, g, s);
    bi_value_id q = times(m, g, s, p->q), k = times(m, g, s, p->k), y, h, in[5];
    bi_value_id by_row = bi_head_products(g, bi_add(g, q, value(m, g, p->q_bias)),
                                          value(m, g, p->distances), heads, 1);
    bi_value_id by_column = bi_head_products(g, bi_add(g, k, value(m, g, p->k_bias)),
                                             value(m, g, p->distances), heads, 1);
    y = bi_grid_logits(g, bi_head_products(g, q, k, heads, 1), by_row, by_column,
                       value(m, g, a->edges), heads);
    y = bi_outer_add(g, layer(m, g, y, p->pair), times(m, g, active, p->yq),
                     times(m, g, active, p->yk), BI_NONE, BI_NONE);
    grid = grid == BI_NONE ? y : bi_add(g, grid, y);
    h = rms(m, g, grid, p->row_norm);
    in[0] = times(m, g, h, p->row_q);
    in[1] = times(m, g, h, p->row_k);
    in[2] = layer(m, g, h, p->value);
    in[3] = in[4] = BI_NONE;
    grid = bi_add(g, grid, bi_multiquery(g, in, 1, side, 1 / sqrtf((float)a->grid_width), 0));
    h = act(g, layer(m, g, rms(m, g, grid, p->mlp_norm), p->fc1), BI_NORM_ACT_RELU);
    return bi_add(g, grid, layer(m, g, h, p->fc2));
}

static bi_value_id attend(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                          bi_value_id grid, const struct ag_block *b)
{
    const struct alphagenome *a = m->config;
    const int32_t heads = (int32_t)a->n_heads;
    bi_value_id h = scaled(m, g, x, b->norm), in[5];
    in[0] = bi_layernorm_groups(g, times(m, g, h, b->q), value(m, g, b->q_norm.w),
                                value(m, g, b->q_norm.b), heads, EPS);
    in[1] = bi_layernorm(g, times(m, g, h, b->k), value(m, g, b->k_norm.w),
                         value(m, g, b->k_norm.b), EPS);
    in[2] = bi_layernorm(g, times(m, g, h, b->v), value(m, g, b->v_norm.w),
                         value(m, g, b->v_norm.b), EPS);
    in[3] = value(m, g, a->table);
    in[4] = times(m, g, gelu(m, g, scaled(m, g, grid, b->bias_norm)), b->bias);
    h = bi_multiquery(g, in, heads, (int32_t)m->tracks->n_tokens, 1 / sqrtf((float)a->key),
                      (float)CAP);
    return layer(m, g, h, b->out);
}

/* x after the tower; *grid: the pairs. */
static bi_value_id tower(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                         bi_value_id *grid)
{
    const struct alphagenome *a = m->config;
    *grid = BI_NONE;
    for (int i = 0; i < a->n_blocks; i++) {
        const struct ag_block *b = &a->block[i];
        bi_value_id h;
        if (b->updates)
            *grid = update_pairs(m, g, x, *grid, &b->pairs,
                                 (int32_t)(m->tracks->n_tokens / AG_POOLED));
        x = bi_add(g, x, attend(m, g, x, *grid, b));
        h = act(g, layer(m, g, scaled(m, g, x, b->mlp_norm), b->fc1), BI_NORM_ACT_RELU);
        x = bi_add(g, x, layer(m, g, h, b->fc2));
    }
    return x;
}

/* The finest rows. */
static bi_value_id decode(const struct bi_model *m, struct bi_graph *g, const bi_value_id *features,
                          bi_value_id x, bi_value_id coarse, int organism)
{
    const struct alphagenome *a = m->config;
    for (int i = 0; i <= a->n_down; i++) {
        const struct ag_up *u = &a->up[i];
        const bool narrower = u->in.out < u->in.in;
        bi_value_id y = bi_add(g, block_of(m, g, x, &u->in),
                               narrower ? bi_columns(g, x, 0, (int32_t)u->in.out) : x);
        if (u->scale != 1)
            y = bi_scale(g, y, u->scale);
        y = bi_upsample(g, y, block_of(m, g, features[1 + i], &u->skip));
        x = bi_add(g, y, block_of(m, g, y, &u->out));
    }
    x = bi_upsample(g, times(m, g, coarse, a->fine_skip), layer(m, g, x, a->fine[organism]));
    return act(g, x, BI_NORM_ACT_QUICK_GELU);
}

/* The rows of a weight that the asked tracks have. */
static bi_value_id chosen(const struct bi_model *m, struct bi_graph *g, int index,
                          const struct bi_tracks_asked *asked)
{
    bi_value_id w = value(m, g, index);
    return asked->tracks ? bi_weight_rows(g, w, asked->tracks, asked->n_tracks) : w;
}

/* Scales and offsets of the asked tracks of a strand, of n on each. */
static bi_value_id of_strand(const struct bi_model *m, struct bi_graph *g, int index, int strand,
                             int64_t n, const struct bi_tracks_asked *asked)
{
    bi_value_id w = value(m, g, index), y;
    int32_t *rows;
    int64_t n_rows = 0;
    if (!asked->tracks || g->status)
        return w;
    if (!(rows = bi_calloc(m->env, (size_t)(2 * asked->n_tracks), sizeof *rows)))
        return bi_graph_fail(g, BIOINFER_NOMEM, "tracks of junctions");
    for (int part = 0; part < 2; part++)
        for (int64_t i = 0; i < asked->n_tracks; i++)
            if (asked->tracks[i] / n == strand)
                rows[n_rows++] = (int32_t)(part * n + asked->tracks[i] % n);
    y = n_rows ? bi_weight_rows(g, w, rows, n_rows) : BI_NONE;
    bi_free(m->env, rows);
    return y;
}

/* The rows that heads read, and those of tokens behind the tower. */
enum { FINE, COARSE, GRID, TOKENS };

static void alphagenome_trunk(const struct bi_model *m, struct bi_graph *g,
                              const bi_value_id *features, const struct bi_tracks_trunk *of,
                              bi_value_id *rows)
{
    const struct alphagenome *a = m->config;
    const int organism = a->head[of->asked[0].head].organism;
    bool coarse = false, pairs = false;
    bi_value_id grid, x = bi_add(g, features[0], value(m, g, a->organism[organism]));
    for (int i = 0; i < of->n_asked; i++) {
        const struct ag_head *h = &a->head[of->asked[i].head];
        pairs |= h->kind == AG_CONTACTS;
        coarse |= h->kind != AG_CONTACTS;
    }
    rows[TOKENS] = x = tower(m, g, x, &grid);
    if (pairs) {
        grid = bi_symmetrise(g, grid, (int32_t)(m->tracks->n_tokens / AG_POOLED));
        rows[GRID] = act(g, rms(m, g, grid, a->grid[organism]), BI_NORM_ACT_QUICK_GELU);
    }
    if (coarse)
        rows[COARSE] = act(g, layer(m, g, x, a->coarse[organism]), BI_NORM_ACT_QUICK_GELU);
}

static void alphagenome_refine(const struct bi_model *m, struct bi_graph *g,
                               const bi_value_id *features, const struct bi_tracks_trunk *of,
                               bi_value_id *rows)
{
    const struct alphagenome *a = m->config;
    rows[FINE] = decode(m, g, features, rows[TOKENS], rows[COARSE],
                        a->head[of->asked[0].head].organism);
}

static bi_value_id alphagenome_head(const struct bi_model *m, struct bi_graph *g,
                                    const bi_value_id *rows, const struct bi_tracks_asked *asked)
{
    const struct alphagenome *a = m->config;
    const struct ag_head *h = &a->head[asked->head];
    bi_value_id x = rows[h->kind == AG_CONTACTS ? GRID : h->resolution == 1 ? FINE : COARSE];
    if (h->kind == AG_JUNCTIONS)
        return x;
    if (h->kind == AG_SITE_CLASSES) {
        x = bi_row_softmax(g, layer(m, g, x, h->linear));
        return asked->tracks ? bi_matmul(g, x, chosen(m, g, a->each_class, asked)) : x;
    }
    x = bi_add(g, bi_matmul(g, x, chosen(m, g, h->linear.w, asked)),
               chosen(m, g, h->linear.b, asked));
    if (h->kind == AG_TRACKS)
        x = bi_unclip(g, x, chosen(m, g, h->gain, asked), chosen(m, g, h->mean, asked),
                      h->exponent);
    return h->kind == AG_USAGE ? bi_sigmoid(g, x) : x;
}

static bi_value_id alphagenome_classes(const struct bi_model *m, struct bi_graph *g,
                                       bi_value_id rows, const struct bi_tracks_asked *asked)
{
    const struct alphagenome *a = m->config;
    return bi_row_softmax(g, layer(m, g, rows, a->site_classes[a->head[asked->head].organism]));
}

static bi_value_id alphagenome_sites(const struct bi_model *m, struct bi_graph *g,
                                     bi_value_id classes, const struct bi_tracks_asked *asked)
{
    const struct alphagenome *a = m->config;
    (void)asked;
    return bi_top_rows(g, classes, BI_TRACKS_SITES, (int32_t)a->n_sites, (float)LEAST_SITE);
}

static bi_value_id alphagenome_find(const struct bi_model *m, struct bi_graph *g, bi_value_id found,
                                    bi_value_id sites, int64_t step)
{
    (void)m;
    return bi_find_sites(g, found, sites, step);
}

static bi_value_id alphagenome_counts(const struct bi_model *m, struct bi_graph *g,
                                      bi_value_id rows, bi_value_id sites,
                                      const struct bi_tracks_asked *asked)
{
    const struct alphagenome *a = m->config;
    const struct ag_head *h = &a->head[asked->head];
    const int64_t n_tracks = m->tracks->heads[asked->head].n_tracks;
    bi_value_id in[3 + BI_TRACKS_SITES];
    in[0] = layer(m, g, rows, a->site_rows[h->organism]);
    in[1] = sites;
    in[2] = bi_rope_at(g, sites, value(m, g, a->site_frequencies));
    for (int i = 0; i < BI_TRACKS_SITES; i++)
        in[3 + i] = of_strand(m, g, h->sites[i], i / 2, n_tracks / 2, asked);
    return bi_junctions(g, in);
}

static const struct bi_tracks_def network = {.features = alphagenome_features,
                                             .trunk = alphagenome_trunk,
                                             .refine = alphagenome_refine,
                                             .last = alphagenome_last,
                                             .head = alphagenome_head,
                                             .classes = alphagenome_classes,
                                             .sites = alphagenome_sites,
                                             .find = alphagenome_find,
                                             .counts = alphagenome_counts};

static int alphagenome_facts(const struct bi_model *m, struct bi_hash *to)
{
    const struct alphagenome *a = m->config;
    bi_hash_int(to, "n_down", a->n_down);
    bi_hash_int(to, "n_blocks", a->n_blocks);
    bi_hash_int(to, "n_organisms", a->n_organisms);
    bi_hash_int(to, "tanh_gelu", a->tanh_gelu);
    bi_hash_int(to, "n_heads", a->n_heads);
    bi_hash_int(to, "key", a->key);
    bi_hash_int(to, "grid_width", a->grid_width);
    bi_hash_int(to, "n_sites", a->n_sites);
    for (int i = 0; i < a->n_organisms; i++)
        bi_hash_int(to, "n_classes", 1 + a->n_classes[i]);
    for (int i = 0; i < a->n_blocks; i++) {
        bi_hash_int(to, "updates", 1 + a->block[i].updates);
        bi_hash_int(to, "pairs", 1 + a->block[i].pairs.n_heads);
    }
    for (int i = 0; i <= a->n_down; i++)
        bi_hash_real(to, "scale", (double)a->up[i].scale);
    for (int i = 0; i < m->tracks->n_heads; i++) {
        bi_hash_int(to, "head", 1 + (int)a->head[i].kind);
        bi_hash_int(to, "organism", a->head[i].organism);
        bi_hash_int(to, "resolution", a->head[i].resolution);
        bi_hash_real(to, "exponent", (double)a->head[i].exponent);
    }
    return 0;
}

static const struct bi_release releases[] = {
    {"gtca/alphagenome_pytorch",
     "AlphaGenome model terms: weights and outputs for non-commercial use only "
     "(deepmind.google.com/science/alphagenome/model-terms)",
     "model_all_folds.safetensors", 0, 920000000},
    {0}};

const struct bi_model_def bi_model_alphagenome = {
    .name = "alphagenome",
    .summary = "expression, chromatin, contacts, splicing from up to a megabase",
    .default_name = "gtca/alphagenome_pytorch",
    .letters = BIOINFER_LETTERS_BASES,
    .releases = releases,
    .gpu = true,
    .recognise = alphagenome_recognise,
    .open = alphagenome_open,
    .kind = &bi_kind_tracks,
    .def = &network,
    .facts = alphagenome_facts,
};

/* weights.c - Protenix: names and shapes of its tensors, as the state_dict of the published program
 * has them.
 *
 * Sizes come from shapes: widths from a few tensors, heads and hidden widths of each layer from its
 * own, numbers of layers by counting. No configuration lies beside the weights. */
#include <math.h>
#include <string.h>

#include "protenix.h"

/* ---- binding ---- */

/* After the first failure `st` stays, and nothing more is bound. */
struct binder {
    struct bi_model *m;
    struct protenix *f;
    struct bioinfer_error *err;
    int st;
};

static const char *join(struct binder *b, const char *prefix, const char *name, const char *end)
{
    const char *made = b->st ? NULL : bi_arena_printf(&b->m->arena, "%s%s%s", prefix, name, end);
    if (!made && !b->st)
        b->st = bi_fail(b->err, BIOINFER_NOMEM, "%s: names", b->m->cp->path);
    return made ? made : "";
}

/* The prefix of a layer. */
static const char *layer_of(struct binder *b, const char *prefix, int64_t i)
{
    const char *made = b->st ? NULL
                             : bi_arena_printf(&b->m->arena, "%s%lld.", prefix, (long long)i);
    if (!made && !b->st)
        b->st = bi_fail(b->err, BIOINFER_NOMEM, "%s: names", b->m->cp->path);
    return made ? made : "";
}

/* The tensor prefix + name + ".weight", which must have that rank. NULL after a failure. */
static const struct bi_tensor *tensor_of(struct binder *b, const char *prefix, const char *name,
                                         int rank)
{
    const char *whole = join(b, prefix, name, ".weight");
    const struct bi_tensor *t = b->st ? NULL : bi_model_find(b->m, whole);
    if (b->st || (t && t->rank == rank && t->n_elements))
        return t;
    b->st = t ? bi_fail(b->err, BIOINFER_MISMATCH,
                        "%s: %s: rank %d or no numbers, expected rank %d", b->m->cp->path, whole,
                        t->rank, rank)
              : bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: missing", b->m->cp->path, whole);
    return NULL;
}

/* Rows or columns of a matrix; 1 after a failure. */
static int64_t size_of(struct binder *b, const char *prefix, const char *name, int dimension)
{
    const struct bi_tensor *t = tensor_of(b, prefix, name, 2);
    if (t && t->shape[dimension] <= 1 << 20)
        return (int64_t)t->shape[dimension];
    if (t)
        b->st = bi_fail(b->err, BIOINFER_LIMIT, "%s: %s: more than 2^20 rows or columns",
                        b->m->cp->path, t->name);
    return 1;
}

static void bind_part(struct binder *b, int *to, const char *file, int64_t rows, int64_t columns)
{
    const struct bi_binding binding = {
        .canonical = file, .prefix = "", .file = file, .rows = rows, .columns = columns};
    if (!b->st)
        b->st = bi_model_bind(b->m, &binding, 0, to, b->err);
}

enum with { PLAIN, BIASED };

/* Binds a matrix, or with 0 columns a norm. */
static void bind(struct binder *b, struct protenix_linear *l, const char *prefix, const char *name,
                 int64_t rows, int64_t columns, enum with with)
{
    *l = (struct protenix_linear){-1, -1};
    bind_part(b, &l->w, join(b, prefix, name, ".weight"), rows, columns);
    if (with == BIASED)
        bind_part(b, &l->b, join(b, prefix, name, ".bias"), rows, 0);
}

/* How many layers there are: names of layer i begin with prefix, i, a dot and `first`. */
static int64_t count(struct binder *b, const char *prefix, const char *first)
{
    int64_t n = 0;
    while (!b->st && n <= PROTENIX_LAYERS &&
           bi_model_find(b->m, join(b, layer_of(b, prefix, n), first, "")))
        n++;
    if (n > PROTENIX_LAYERS)
        b->st = bi_fail(b->err, BIOINFER_LIMIT, "%s: %s: more than %d layers", b->m->cp->path,
                        prefix, PROTENIX_LAYERS);
    return n;
}

static void *layers_of(struct binder *b, int64_t n, size_t size)
{
    void *made = b->st ? NULL : bi_arena_calloc(&b->m->arena, (size_t)n + 1, size);
    if (!made && !b->st)
        b->st = bi_fail(b->err, BIOINFER_NOMEM, "%s: layers", b->m->cp->path);
    return made;
}

/* ---- layers of pairs ---- */

static void bind_triangle(struct binder *b, struct protenix_triangle *t, const char *p, int64_t c)
{
    const int64_t hidden = size_of(b, p, "linear_a_p", 0);
    bind(b, &t->norm_in, p, "layer_norm_in", c, 0, BIASED);
    bind(b, &t->a_value, p, "linear_a_p", hidden, c, PLAIN);
    bind(b, &t->a_gate, p, "linear_a_g", hidden, c, PLAIN);
    bind(b, &t->b_value, p, "linear_b_p", hidden, c, PLAIN);
    bind(b, &t->b_gate, p, "linear_b_g", hidden, c, PLAIN);
    bind(b, &t->norm_out, p, "layer_norm_out", hidden, 0, BIASED);
    bind(b, &t->out, p, "linear_z", c, hidden, PLAIN);
    bind(b, &t->gate, p, "linear_g", c, c, PLAIN);
}

/* Sets the width of a head. */
static void split(struct binder *b, const char *prefix, int64_t all, int64_t heads, int32_t *n,
                  int32_t *width)
{
    if (!b->st && (heads < 1 || all % heads))
        b->st = bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: %lld heads of %lld columns",
                        b->m->cp->path, prefix, (long long)heads, (long long)all);
    *n = (int32_t)heads;
    *width = (int32_t)(b->st ? 1 : all / heads);
}

static void bind_rows(struct binder *b, struct protenix_rows *r, const char *p, int64_t c)
{
    const int64_t heads = size_of(b, p, "linear", 0), all = size_of(b, p, "mha.linear_q", 0);
    split(b, p, all, heads, &r->heads, &r->width);
    bind(b, &r->norm, p, "layer_norm", c, 0, BIASED);
    bind(b, &r->bias, p, "linear", heads, c, PLAIN);
    bind(b, &r->q, p, "mha.linear_q", all, c, PLAIN);
    bind(b, &r->k, p, "mha.linear_k", all, c, PLAIN);
    bind(b, &r->v, p, "mha.linear_v", all, c, PLAIN);
    bind(b, &r->gate, p, "mha.linear_g", all, c, PLAIN);
    bind(b, &r->out, p, "mha.linear_o", c, all, PLAIN);
}

static void bind_transition(struct binder *b, struct protenix_transition *t, const char *p,
                            int64_t c)
{
    const int64_t hidden = size_of(b, p, "linear_no_bias_a", 0);
    bind(b, &t->norm, p, "layernorm1", c, 0, BIASED);
    bind(b, &t->gate, p, "linear_no_bias_a", hidden, c, PLAIN);
    bind(b, &t->up, p, "linear_no_bias_b", hidden, c, PLAIN);
    bind(b, &t->down, p, "linear_no_bias", c, hidden, PLAIN);
}

/* c: of x; pairs: of what biases it, whose norm has a bias in trunks alone. */
static void bind_attention(struct binder *b, struct protenix_attention *a, const char *p, int64_t c,
                           int64_t pairs, enum with norm)
{
    const int64_t heads = size_of(b, p, "linear_nobias_z", 0);
    const char *of = join(b, p, "attention.", "");
    const int64_t all = size_of(b, of, "linear_q", 0);
    split(b, p, all, heads, &a->heads, &a->width);
    bind(b, &a->q, of, "linear_q", all, c, BIASED);
    bind(b, &a->k, of, "linear_k", all, c, PLAIN);
    bind(b, &a->v, of, "linear_v", all, c, PLAIN);
    bind(b, &a->gate, of, "linear_g", all, c, PLAIN);
    bind(b, &a->out, of, "linear_o", c, all, PLAIN);
    bind(b, &a->pair_norm, p, "layernorm_z", pairs, 0, norm);
    bind(b, &a->bias, p, "linear_nobias_z", heads, pairs, PLAIN);
}

/* single 0: the layers change pairs alone. */
static void bind_layers(struct binder *b, struct protenix_stack *stack, const char *prefix,
                        int64_t n, const char *within, int64_t c, int64_t single)
{
    stack->n = n;
    stack->layers = layers_of(b, n, sizeof *stack->layers);
    for (int64_t i = 0; !b->st && i < n; i++) {
        struct protenix_layer *l = &stack->layers[i];
        const char *p = join(b, layer_of(b, prefix, i), within, "");
        bind_triangle(b, &l->outgoing, join(b, p, "tri_mul_out.", ""), c);
        bind_triangle(b, &l->incoming, join(b, p, "tri_mul_in.", ""), c);
        bind_rows(b, &l->start, join(b, p, "tri_att_start.", ""), c);
        bind_rows(b, &l->end, join(b, p, "tri_att_end.", ""), c);
        bind_transition(b, &l->transition, join(b, p, "pair_transition.", ""), c);
        if (!single)
            continue;
        bind(b, &l->norm, p, "attention_pair_bias.layernorm_a", single, 0, BIASED);
        bind_attention(b, &l->attention, join(b, p, "attention_pair_bias.", ""), single, c, BIASED);
        bind_transition(b, &l->single_transition, join(b, p, "single_transition.", ""), single);
    }
}

/* ---- conditioned layers ---- */

static void bind_adaptive(struct binder *b, struct protenix_adaptive *a, const char *p, int64_t c,
                          int64_t condition)
{
    bind(b, &a->norm, p, "layernorm_s", condition, 0, PLAIN);
    bind(b, &a->gate, p, "linear_s", c, condition, BIASED);
    bind(b, &a->shift, p, "linear_nobias_s", c, condition, PLAIN);
}

static void bind_conditioned(struct binder *b, struct protenix_conditioned_stack *stack,
                             const char *prefix, int64_t c, int64_t condition, int64_t pairs,
                             bool keys)
{
    stack->n = count(b, prefix, "attention_pair_bias.linear_nobias_z.weight");
    stack->layers = layers_of(b, stack->n, sizeof *stack->layers);
    for (int64_t i = 0; !b->st && i < stack->n; i++) {
        struct protenix_conditioned *l = &stack->layers[i];
        const char *p = join(b, layer_of(b, prefix, i), "attention_pair_bias.", "");
        const char *t = join(b, layer_of(b, prefix, i), "conditioned_transition_block.", "");
        const int64_t hidden = size_of(b, t, "linear_nobias_a1", 0);
        bind_adaptive(b, &l->before_attention, join(b, p, "layernorm_a.", ""), c, condition);
        if (keys)
            bind_adaptive(b, &l->before_keys, join(b, p, "layernorm_kv.", ""), c, condition);
        bind_attention(b, &l->attention, p, c, pairs, PLAIN);
        bind(b, &l->attention_gate, p, "linear_a_last", c, condition, BIASED);
        bind_adaptive(b, &l->before_transition, join(b, t, "adaln.", ""), c, condition);
        l->transition.norm = (struct protenix_linear){-1, -1};
        bind(b, &l->transition.gate, t, "linear_nobias_a1", hidden, c, PLAIN);
        bind(b, &l->transition.up, t, "linear_nobias_a2", hidden, c, PLAIN);
        bind(b, &l->transition.down, t, "linear_nobias_b", c, hidden, PLAIN);
        bind(b, &l->transition_gate, t, "linear_s", c, condition, BIASED);
    }
}

static const char atom_layers[] = "atom_transformer.diffusion_transformer.blocks.";

/* A block of attention takes heads of up to 64. */
static void bind_encoder(struct binder *b, struct protenix_encoder *e, const char *p, int64_t token,
                         bool samples)
{
    const int64_t a = b->f->atom, k = b->f->atom_pair;
    static const char *const mlp[] = {"small_mlp.1", "small_mlp.3", "small_mlp.5"};
    bind(b, &e->place, p, "linear_no_bias_ref_pos", a, 3, PLAIN);
    bind(b, &e->charge, p, "linear_no_bias_ref_charge", a, 1, PLAIN);
    bind(b, &e->features, p, "linear_no_bias_f", a, PROTENIX_FEATURES, PLAIN);
    bind(b, &e->offset, p, "linear_no_bias_d", k, 3, PLAIN);
    bind(b, &e->near, p, "linear_no_bias_invd", k, 1, PLAIN);
    bind(b, &e->same, p, "linear_no_bias_v", k, 1, PLAIN);
    bind(b, &e->query, p, "linear_no_bias_cl", k, a, PLAIN);
    bind(b, &e->key, p, "linear_no_bias_cm", k, a, PLAIN);
    for (int i = 0; i < 3; i++)
        bind(b, &e->mlp[i], p, mlp[i], k, k, PLAIN);
    if (samples) {
        bind(b, &e->single_norm, p, "layernorm_s", b->f->single, 0, PLAIN);
        bind(b, &e->single, p, "linear_no_bias_s", a, b->f->single, PLAIN);
        bind(b, &e->pair_norm, p, "layernorm_z", b->f->pair, 0, PLAIN);
        bind(b, &e->pair, p, "linear_no_bias_z", k, b->f->pair, PLAIN);
        bind(b, &e->noisy, p, "linear_no_bias_r", a, 3, PLAIN);
    }
    bind(b, &e->to_token, p, "linear_no_bias_q", token, a, PLAIN);
    bind_conditioned(b, &e->layers, join(b, p, atom_layers, ""), a, a, k, true);
}

/* ---- values that are made here ---- */

/* Adds a weight of values in the model's arena. */
static void add_made(struct binder *b, struct protenix_linear *to, const char *name, float *values,
                     int64_t rows, int64_t columns)
{
    const struct bi_weight made = {.name = name,
                                   .values = values,
                                   .rank = columns ? 2 : 1,
                                   .shape = {rows, columns ? columns : 1}};
    *to = (struct protenix_linear){-1, -1};
    if (b->st)
        return;
    to->w = bi_model_weight(b->m, &made, b->err);
    b->st = to->w < 0 ? to->w : 0;
}

/* All n numbers of a tensor, which must be finite, and room for as many and `more`; NULL after a
 * failure. */
static const float *read_all(struct binder *b, const char *name, int64_t n, int64_t more,
                             float **room)
{
    const struct bi_tensor *t = b->st ? NULL : bi_model_find(b->m, name);
    float *values = NULL;
    if (b->st)
        return NULL;
    if (!t || t->n_elements != (uint64_t)n) {
        b->st = bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: missing, or not of %lld numbers",
                        b->m->cp->path, name, (long long)n);
        return NULL;
    }
    if ((b->st = bi_model_read(b->m, t, &values, b->err)))
        return NULL;
    for (int64_t i = 0; i < n && !b->st; i++)
        if (!isfinite(values[i]))
            b->st = bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: number %lld is %g", b->m->cp->path,
                            name, (long long)i, (double)values[i]);
    if (!b->st && !(*room = bi_arena_calloc(&b->m->arena, (size_t)(n + more), sizeof **room)))
        b->st = bi_fail(b->err, BIOINFER_NOMEM, "%s: %s", b->m->cp->path, name);
    b->m->n_parameters += n;
    return b->st ? NULL : values;
}

/* A matrix for each place of an atom in its token, turned: bins of all places are rows. */
static void make_places(struct binder *b, struct protenix_linear *to, const char *name,
                        int64_t bins)
{
    const int64_t s = b->f->single;
    const struct bi_tensor *t = b->st ? NULL : bi_model_find(b->m, name);
    float *made = NULL;
    const float *read;
    if (t && (t->rank != 3 || t->shape[0] != PROTENIX_PLACES || t->shape[1] != (uint64_t)s))
        b->st = bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: expected [%d, %lld, %lld]",
                        b->m->cp->path, name, PROTENIX_PLACES, (long long)s, (long long)bins);
    if (!(read = read_all(b, name, PROTENIX_PLACES * s * bins, 0, &made)))
        return;
    for (int64_t p = 0; p < PROTENIX_PLACES; p++)
        for (int64_t k = 0; k < bins; k++)
            for (int64_t i = 0; i < s; i++)
                made[(p * bins + k) * s + i] = read[(p * s + i) * bins + k];
    add_made(b, to, name, made, PROTENIX_PLACES * bins, s);
}

/* Rows for classes of distances, of which the first is of none; and what distances are multiplied
 * by. Edges of the classes must be those that graphs have. */
static void make_distances(struct binder *b, struct protenix_confidence *h)
{
    enum { CLASSES = PROTENIX_DISTANCES - 1 };
    static const char *const edges[] = {"confidence_head.lower_bins", "confidence_head.upper_bins"};
    const int64_t c = b->f->pair;
    float *made = NULL, *slope = NULL;
    const float *read = read_all(b, "confidence_head.linear_no_bias_d.weight", CLASSES * c, c,
                                 &made);
    for (int64_t k = 0; read && k < CLASSES; k++)
        for (int64_t i = 0; i < c; i++)
            made[(k + 1) * c + i] = read[i * CLASSES + k];
    add_made(b, &h->distances, "distances", made, PROTENIX_DISTANCES, c);
    if ((read = read_all(b, "confidence_head.linear_no_bias_d_wo_onehot.weight", c, 0, &slope)))
        memcpy(slope, read, sizeof *slope * (size_t)c);
    add_made(b, &h->slope, "slope", slope, c, 0);
    for (int which = 0; which < 2; which++) {
        float *room;
        read = read_all(b, edges[which], CLASSES, 0, &room);
        for (int64_t k = 0; read && !b->st && k < CLASSES - which; k++)
            if (!(fabs((double)read[k] - (3.25 + 1.25 * (double)(k + which))) < 1e-4))
                b->st = bi_fail(b->err, BIOINFER_UNSUPPORTED,
                                "%s: %s: number %lld is %g, expected %g", b->m->cp->path,
                                edges[which], (long long)k, (double)read[k],
                                3.25 + 1.25 * (double)(k + which));
    }
}

/* Sums of the probabilities of distances below 8 angstrom. */
static void make_contacts(struct binder *b)
{
    float *made = b->st ? NULL : bi_arena_calloc(&b->m->arena, PROTENIX_BINS, sizeof *made);
    if (!made && !b->st)
        b->st = bi_fail(b->err, BIOINFER_NOMEM, "%s: contacts", b->m->cp->path);
    for (int k = 0; made && k < PROTENIX_BINS; k++)
        made[k] = 2.3125 + (k + 0.5) * (21.6875 - 2.3125) / PROTENIX_BINS < 8;
    add_made(b, &b->f->contacts, "contacts", made, 1, PROTENIX_BINS);
}

/* ---- parts ---- */

static void bind_template(struct binder *b, struct protenix_template *t)
{
    static const char p[] = "template_embedder.", layers[] = "template_embedder.pairformer_stack."
                                                             "blocks.";
    const int64_t n = count(b, layers, "tri_att_start.linear.weight"), c = b->f->pair;
    int64_t width;
    if (!n) /* older files have the rest, which nothing reads */
        return;
    width = size_of(b, p, "linear_no_bias_z", 0);
    bind(b, &t->pair_norm, p, "layernorm_z", c, 0, BIASED);
    bind(b, &t->pair, p, "linear_no_bias_z", width, c, PLAIN);
    bind(b, &t->features, p, "linear_no_bias_a", width,
         PROTENIX_DISTANCES + 2 * PROTENIX_TYPES + PROTENIX_AXES, PLAIN);
    bind_layers(b, &t->layers, layers, n, "", width, 0);
    bind(b, &t->norm, p, "layernorm_v", width, 0, BIASED);
    bind(b, &t->out, p, "linear_no_bias_u", c, width, PLAIN);
}

static void bind_alignment(struct binder *b, struct protenix_alignment *a)
{
    static const char p[] = "msa_module.", of[] = "msa_module.blocks.";
    const int64_t n = count(b, of, "outer_product_mean_msa.linear_1.weight"), m = b->f->aligned;
    const int64_t c = b->f->pair;
    bind(b, &a->rows, p, "linear_no_bias_m", m, PROTENIX_TYPES + 2, PLAIN);
    bind(b, &a->single, p, "linear_no_bias_s", m, b->f->inputs, PLAIN);
    a->layers = layers_of(b, n, sizeof *a->layers);
    for (int64_t i = 0; !b->st && i < n; i++) {
        struct protenix_aligned *l = &a->layers[i];
        const char *outer = join(b, layer_of(b, of, i), "outer_product_mean_msa.", "");
        const char *rest = join(b, layer_of(b, of, i), "msa_stack.", "");
        const char *mean = join(b, rest, "msa_pair_weighted_averaging.", "");
        const int64_t width = size_of(b, outer, "linear_1", 0);
        int64_t heads, all;
        bind(b, &l->outer_norm, outer, "layer_norm", m, 0, BIASED);
        bind(b, &l->left, outer, "linear_1", width, m, PLAIN);
        bind(b, &l->right, outer, "linear_2", width, m, PLAIN);
        bind(b, &l->outer, outer, "linear_out", c, width * width, BIASED);
        if (i + 1 == n) /* it leaves rows as they are */
            break;
        heads = size_of(b, mean, "linear_no_bias_z", 0);
        all = size_of(b, mean, "linear_no_bias_mv", 0);
        bind(b, &l->row_norm, mean, "layernorm_m", m, 0, BIASED);
        bind(b, &l->value, mean, "linear_no_bias_mv", all, m, PLAIN);
        bind(b, &l->pair_norm, mean, "layernorm_z", c, 0, BIASED);
        bind(b, &l->weight, mean, "linear_no_bias_z", heads, c, PLAIN);
        bind(b, &l->gate, mean, "linear_no_bias_mg", all, m, PLAIN);
        bind(b, &l->out, mean, "linear_no_bias_out", m, all, PLAIN);
        bind_transition(b, &l->transition, join(b, rest, "transition_m.", ""), m);
    }
    bind_layers(b, &a->pairs, of, n, "pair_stack.", c, 0);
}

#define DIFFUSION "diffusion_module."
#define CONDITIONING DIFFUSION "diffusion_conditioning."

static void bind_diffusion(struct binder *b, struct protenix_diffusion *d)
{
    static const char p[] = DIFFUSION, of[] = CONDITIONING;
    static const char decoder[] = DIFFUSION "atom_attention_decoder.";
    const int64_t c = b->f->pair, s = b->f->single, a = b->f->atom, token = b->f->token;
    bind(b, &d->positions, of, "relpe.linear_no_bias", c, PROTENIX_POSITIONS, PLAIN);
    bind(b, &d->pair_norm, of, "layernorm_z", 2 * c, 0, PLAIN);
    bind(b, &d->pair, of, "linear_no_bias_z", c, 2 * c, PLAIN);
    bind_transition(b, &d->pair_transition[0], CONDITIONING "transition_z1.", c);
    bind_transition(b, &d->pair_transition[1], CONDITIONING "transition_z2.", c);
    bind(b, &d->single_norm, of, "layernorm_s", s + b->f->inputs, 0, PLAIN);
    bind(b, &d->single, of, "linear_no_bias_s", s, s + b->f->inputs, PLAIN);
    bind_part(b, &d->frequencies.w, CONDITIONING "fourier_embedding.w", b->f->fourier, 0);
    bind_part(b, &d->phases.w, CONDITIONING "fourier_embedding.b", b->f->fourier, 0);
    bind(b, &d->noise_norm, of, "layernorm_n", b->f->fourier, 0, PLAIN);
    bind(b, &d->noise, of, "linear_no_bias_n", s, b->f->fourier, PLAIN);
    bind_transition(b, &d->single_transition[0], CONDITIONING "transition_s1.", s);
    bind_transition(b, &d->single_transition[1], CONDITIONING "transition_s2.", s);
    bind_encoder(b, &d->encoder, DIFFUSION "atom_attention_encoder.", token, true);
    bind(b, &d->step_norm, p, "layernorm_s", s, 0, PLAIN);
    bind(b, &d->step, p, "linear_no_bias_s", token, s, PLAIN);
    bind_conditioned(b, &d->tokens, DIFFUSION "diffusion_transformer.blocks.", token, s, c, false);
    bind(b, &d->token_norm, p, "layernorm_a", token, 0, PLAIN);
    bind(b, &d->to_atom, decoder, "linear_no_bias_a", a, token, PLAIN);
    bind(b, &d->atom_norm, decoder, "layernorm_q", a, 0, PLAIN);
    bind(b, &d->position, decoder, "linear_no_bias_out", 3, a, PLAIN);
    bind_conditioned(b, &d->decoder, join(b, decoder, atom_layers, ""), a, a, b->f->atom_pair,
                     true);
}

static void bind_confidence(struct binder *b, struct protenix_confidence *h)
{
    static const char p[] = "confidence_head.", of[] = "confidence_head.pairformer_stack.blocks.";
    const int64_t c = b->f->pair, s = b->f->single, inputs = b->f->inputs;
    bind(b, &h->single_norm, p, "input_strunk_ln", s, 0, BIASED);
    bind(b, &h->row, p, "linear_no_bias_s2", c, inputs, PLAIN);
    bind(b, &h->column, p, "linear_no_bias_s1", c, inputs, PLAIN);
    make_distances(b, h);
    bind_layers(b, &h->layers, of, count(b, of, "tri_att_start.linear.weight"), "", c, s);
    bind(b, &h->errors_norm, p, "pae_ln", c, 0, BIASED);
    bind(b, &h->errors, p, "linear_no_bias_pae", PROTENIX_BINS, c, PLAIN);
    bind(b, &h->distance_errors_norm, p, "pde_ln", c, 0, BIASED);
    bind(b, &h->distance_errors, p, "linear_no_bias_pde", PROTENIX_BINS, c, PLAIN);
    bind(b, &h->levels_norm, p, "plddt_ln", s, 0, BIASED);
    make_places(b, &h->levels, "confidence_head.plddt_weight", PROTENIX_LEVELS);
    bind(b, &h->resolved_norm, p, "resolved_ln", s, 0, BIASED);
    make_places(b, &h->resolved, "confidence_head.resolved_weight", 2);
}

static void bind_trunk(struct binder *b)
{
    static const char of[] = "pairformer_stack.blocks.";
    struct protenix *f = b->f;
    const int64_t c = f->pair, s = f->single;
    bind_encoder(b, &f->atoms, "input_embedder.atom_attention_encoder.", f->inputs - PROTENIX_TAIL,
                 false);
    bind(b, &f->positions, "", "relative_position_encoding.linear_no_bias", c, PROTENIX_POSITIONS,
         PLAIN);
    bind(b, &f->single_init, "", "linear_no_bias_sinit", s, f->inputs, PLAIN);
    bind(b, &f->row_init, "", "linear_no_bias_zinit1", c, s, PLAIN);
    bind(b, &f->column_init, "", "linear_no_bias_zinit2", c, s, PLAIN);
    bind(b, &f->bonds, "", "linear_no_bias_token_bond", c, 1, PLAIN);
    bind(b, &f->pair_norm, "", "layernorm_z_cycle", c, 0, BIASED);
    bind(b, &f->pair_again, "", "linear_no_bias_z_cycle", c, c, PLAIN);
    bind(b, &f->single_norm, "", "layernorm_s", s, 0, BIASED);
    bind(b, &f->single_again, "", "linear_no_bias_s", s, s, PLAIN);
    bind_template(b, &f->template);
    bind_alignment(b, &f->alignment);
    bind_layers(b, &f->trunk, of, count(b, of, "tri_att_start.linear.weight"), "", c, s);
    bind(b, &f->distogram, "", "distogram_head.linear", PROTENIX_BINS, c, BIASED);
}

/* ---- opening ---- */

/* Names of tensors that open() reads as values, or that no result needs, as they begin. */
static const char *const read_once[] = {"confidence_head.plddt_weight",
                                        "confidence_head.resolved_weight",
                                        "confidence_head.lower_bins",
                                        "confidence_head.upper_bins",
                                        "confidence_head.linear_no_bias_d.weight",
                                        "confidence_head.linear_no_bias_d_wo_onehot.weight"};

/* Tensors of kinds of models that are not computed. */
static const struct {
    const char *begin, *what;
} others[] = {{"constraint_embedder.", "constraints"},
              {"input_embedder.linear_esm", "embeddings of a language model"}};

static bool is_known(const struct binder *b, const struct bi_tensor *t)
{
    for (size_t i = 0; i < BI_COUNT(read_once); i++)
        if (!strcmp(t->name, read_once[i]))
            return true;
    for (size_t k = 0; k < b->m->n_weights; k++)
        if (b->m->weights[k].tensor == t)
            return true;
    return !t->n_elements ||
           (!b->f->template.layers.n && !strncmp(t->name, "template_embedder.", 18));
}

static void check_names(struct binder *b)
{
    const struct bi_checkpoint *cp = b->m->cp;
    for (size_t i = 0; !b->st && i < cp->n_tensors; i++) {
        const char *name = cp->tensors[i].name;
        for (size_t k = 0; !b->st && k < BI_COUNT(others); k++)
            if (!strncmp(name, others[k].begin, strlen(others[k].begin)) &&
                cp->tensors[i].n_elements)
                b->st = bi_fail(b->err, BIOINFER_UNSUPPORTED,
                                "%s: %s: models with %s are not computed", cp->path, name,
                                others[k].what);
        if (!b->st && !is_known(b, &cp->tensors[i]))
            b->st = bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: no tensor of Protenix", cp->path,
                            name);
    }
}

static const char *const marks[] = {"diffusion_module.diffusion_conditioning.relpe.linear_no_bias."
                                    "weight",
                                    "msa_module.linear_no_bias_m.weight"};

bool protenix_recognise(const struct bi_checkpoint *cp)
{
    return bi_checkpoint_find(cp, marks[0]) && bi_checkpoint_find(cp, marks[1]);
}

static void find_sizes(struct binder *b, struct protenix *f)
{
    static const char encoder[] = DIFFUSION "atom_attention_encoder.";
    const struct bi_tensor *fourier = b->st
                                          ? NULL
                                          : bi_model_find(b->m, CONDITIONING "fourier_embedding.w");
    f->single = size_of(b, "", "linear_no_bias_sinit", 0);
    f->inputs = size_of(b, "", "linear_no_bias_sinit", 1);
    f->pair = size_of(b, "", "linear_no_bias_zinit1", 0);
    f->aligned = size_of(b, "msa_module.", "linear_no_bias_m", 0);
    f->atom = size_of(b, encoder, "linear_no_bias_ref_pos", 0);
    f->atom_pair = size_of(b, encoder, "linear_no_bias_d", 0);
    f->token = size_of(b, encoder, "linear_no_bias_q", 0);
    if (b->st)
        return;
    if (!fourier || fourier->rank != 1 || !fourier->n_elements || fourier->n_elements > 1 << 20)
        b->st = bi_fail(b->err, BIOINFER_MISMATCH,
                        "%s: %sfourier_embedding.w: missing, or no vector", b->m->cp->path,
                        CONDITIONING);
    else if (f->inputs <= PROTENIX_TAIL)
        b->st = bi_fail(b->err, BIOINFER_MISMATCH,
                        "%s: linear_no_bias_sinit.weight: %lld columns, expected more than %d",
                        b->m->cp->path, (long long)f->inputs, PROTENIX_TAIL);
    else
        f->fourier = (int64_t)fourier->n_elements;
}

/* There must be a layer of each kind but templates'. */
static void check_layers(struct binder *b)
{
    const struct protenix *f = b->f;
    const struct {
        const char *name;
        int64_t n;
    } all[] = {{"pairformer_stack", f->trunk.n},
               {"msa_module", f->alignment.pairs.n},
               {"input_embedder.atom_attention_encoder", f->atoms.layers.n},
               {DIFFUSION "atom_attention_encoder", f->diffusion.encoder.layers.n},
               {DIFFUSION "diffusion_transformer", f->diffusion.tokens.n},
               {DIFFUSION "atom_attention_decoder", f->diffusion.decoder.n},
               {"confidence_head", f->confidence.layers.n}};
    for (size_t i = 0; !b->st && i < BI_COUNT(all); i++)
        if (!all[i].n)
            b->st = bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: no layers", b->m->cp->path,
                            all[i].name);
}

int protenix_open(struct bi_model *m, struct bioinfer_error *err)
{
    struct protenix *f = bi_arena_calloc(&m->arena, 1, sizeof *f);
    struct binder b = {.m = m, .f = f, .err = err};
    bool small;
    if (!f)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", m->cp->path);
    find_sizes(&b, f);
    bind_trunk(&b);
    bind_diffusion(&b, &f->diffusion);
    bind_confidence(&b, &f->confidence);
    make_contacts(&b);
    check_layers(&b);
    check_names(&b);
    if (b.st)
        return b.st;
    small = f->diffusion.encoder.layers.n == 1;
    f->cycles = small ? 4 : 10;
    f->steps = small ? 5 : 200;
    f->gamma = small ? 0 : 0.8f;
    f->step_scale = small ? 1 : 1.5f;
    m->config = f;
    m->name = "protenix";
    m->width = (int)f->single;
    m->n_layers = (int)f->trunk.n;
    m->can_include = m->default_include = 0;
    return 0;
}

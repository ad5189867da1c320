/* embed.c - the task embed: sessions that give embeddings, logits, contacts, attentions, labels.
 *
 * Sections: layers and kinds, life, graphs, arrays of a result, the task, public calls. */
#define _GNU_SOURCE
#include "embed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../models/head.h"

enum { MAX_TOKENS = BIOINFER_MAX_RESIDUES }; /* in one sequence */

/* ---- layers and kinds ---- */

static const struct {
    unsigned bit;
    const char *name;
} kinds[] = {{BIOINFER_MEAN, "mean"},         {BIOINFER_PER_RESIDUE, "per-residue"},
             {BIOINFER_BOS, "bos"},           {BIOINFER_LOGITS, "logits"},
             {BIOINFER_CONTACTS, "contacts"}, {BIOINFER_ATTENTIONS, "attentions"},
             {BIOINFER_HEAD, "head"},         {BIOINFER_CLASS_LOGITS, "class-logits"}};

enum { LAYER_KINDS = BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_BOS };

unsigned bioinfer_include_from_name(const char *name)
{
    for (size_t i = 0; name && i < BI_COUNT(kinds); i++)
        if (!strcmp(kinds[i].name, name))
            return kinds[i].bit;
    return 0;
}

const char *bioinfer_include_name(unsigned bit)
{
    for (size_t i = 0; i < BI_COUNT(kinds); i++)
        if (kinds[i].bit == bit)
            return kinds[i].name;
    return NULL;
}

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* params.layers -> layer_order (as asked, each once) and wants.layers (ascending). */
static int resolve_layers(struct bioinfer_session *s, const struct bi_model *m,
                          struct bioinfer_error *err)
{
    int n_model = m->n_layers, last = n_model, n = 0;
    const int *asked = s->params.n_layers ? s->params.layers : &last;
    int n_asked = s->params.n_layers ? s->params.n_layers : 1;
    if (n_asked < 0 || !asked)
        return bi_fail(err, BIOINFER_INVALID, "layers: %d of them, none given", n_asked);
    s->layers = bi_calloc(s->task.env, (size_t)n_asked, sizeof *s->layers);
    s->layer_order = bi_calloc(s->task.env, (size_t)n_asked, sizeof *s->layer_order);
    if (!s->layers || !s->layer_order)
        return bi_fail(err, BIOINFER_NOMEM, "layers");
    for (int i = 0; i < n_asked; i++) {
        int layer = asked[i] < 0 ? asked[i] + n_model + 1 : asked[i];
        bool seen = false;
        if (layer < 0 || layer > n_model)
            return bi_fail(err, BIOINFER_INVALID, "layer %d: %s has layers 0 (embedding) to %d",
                           asked[i], m->name, n_model);
        for (int k = 0; k < n; k++)
            seen |= s->layer_order[k] == layer;
        if (!seen)
            s->layer_order[n++] = layer;
    }
    memcpy(s->layers, s->layer_order, (size_t)n * sizeof *s->layers);
    qsort(s->layers, (size_t)n, sizeof *s->layers, compare_int);
    s->wants.layers = s->layers;
    s->wants.n_layers = n;
    return 0;
}

static int resolve_include(struct bioinfer_session *s, const struct bioinfer_model *model,
                           struct bioinfer_error *err)
{
    const struct bi_model *m = &model->base;
    unsigned include = s->params.include ? s->params.include : m->default_include;
    for (unsigned bit = 1; bit; bit <<= 1) {
        if (!(include & bit) || m->can_include & bit)
            continue;
        if (!bioinfer_include_name(bit))
            return bi_fail(err, BIOINFER_INVALID, "include: unknown bit 0x%x", bit);
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: these weights have no head for %s%s",
                       model->path, bioinfer_include_name(bit),
                       bit == BIOINFER_CONTACTS
                           ? " (fair-esm keeps it in <name>-contact-regression.pt beside the "
                             "weights)"
                           : "");
    }
    s->wants.include = include;
    return 0;
}

static int copy_params(struct bioinfer_session *s, const struct bioinfer_session_params *params,
                       struct bioinfer_error *err)
{
    int st = bi_params_copy(&s->params, sizeof s->params, params, "session params", err);
    if (!st && s->params.no_rules && !(s->no_rules = bi_strdup(s->task.env, s->params.no_rules)))
        st = bi_fail(err, BIOINFER_NOMEM, "session");
    return st;
}

/* ---- graphs ---- */

static int build_graph(void *user, struct bi_graph *g, struct bioinfer_error *err)
{
    const struct bi_sequence_graph *of = user;
    (void)err;
    g->n_tokens = of->shape.n_tokens;
    g->n_seqs = of->shape.n_seqs;
    g->n_rows = of->shape.n_rows;
    g->longest = of->shape.longest;
    of->model->def->build(of->model, g, &of->shape, &of->wants);
    return 0;
}

/* Lists of layers are told apart by address: the session has one, and scores have none. */
int bi_session_recipe(struct bioinfer_session *s, const struct bi_batch *b, struct bi_wants wants,
                      struct bi_recipe *recipe)
{
    const struct bi_counts *c = &b->capacity;
    wants.wide = b->wide;
    s->graph = (struct bi_sequence_graph){
        &s->task.model->base, {c->n_tokens, c->n_seqs, c->longest, c->n_rows}, wants};
    *recipe = (struct bi_recipe){
        .key = {{(uint64_t)c->n_tokens, (uint64_t)c->n_seqs, (uint64_t)c->longest,
                 (uint64_t)c->n_rows, wants.include, (uint64_t)(uintptr_t)wants.layers,
                 (uint64_t)wants.n_layers, wants.wide}},
        .build = build_graph,
        .user = &s->graph,
        .wide = wants.wide,
        .no_rules = s->no_rules};
    return 0;
}

static int embed_recipe(struct bi_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                        struct bioinfer_error *err)
{
    struct bioinfer_session *s = (struct bioinfer_session *)t;
    (void)err;
    return bi_session_recipe(s, b, s->wants, recipe);
}

/* ---- life ---- */

static const struct bi_task_def embed_def;

int bioinfer_session_new(bioinfer_session **out, const bioinfer_model *model,
                         const struct bioinfer_session_params *params, struct bioinfer_error *err)
{
    struct bioinfer_session *s = NULL;
    int st;
    if (!out || !model)
        return bi_fail(err, BIOINFER_INVALID, "session: out and model must be given");
    *out = NULL;
    if ((st = bi_context_check(model->ctx, err)))
        return st;
    if (!model->base.def->build)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s takes no sequences of residues",
                       model->path, model->base.def->name);
    if (!(s = bi_zalloc(model->base.env, sizeof *s)))
        return bi_fail(err, BIOINFER_NOMEM, "session");
    s->task.def = &embed_def;
    s->task.env = model->base.env;
    if ((st = copy_params(s, params, err)) || (st = resolve_layers(s, &model->base, err)) ||
        (st = resolve_include(s, model, err)) ||
        (st = bi_task_open(&s->task, model, s->params.batch_tokens, s->params.memory_limit, err)))
        goto out;
    s->task.progress = s->params.progress;
    s->task.progress_user = s->params.progress_user;
    *out = s;
    s = NULL;
out:
    bioinfer_session_free(&s);
    return st;
}

int bioinfer_session_prepare(bioinfer_session *s, struct bioinfer_error *err)
{
    int st;
    if (!s)
        return bi_fail(err, BIOINFER_INVALID, "prepare: a session must be given");
    if ((st = bi_task_enter(&s->task, err)))
        return st;
    st = bi_task_load(&s->task, err);
    bi_task_leave(&s->task);
    return st;
}

void bioinfer_session_free(bioinfer_session **session)
{
    struct bioinfer_session *s = session ? *session : NULL;
    if (!s)
        return;
    bi_task_close(&s->task);
    bi_free(s->task.env, s->layers);
    bi_free(s->task.env, s->layer_order);
    bi_free(s->task.env, s->no_rules);
    bi_free(s->task.env, s);
    *session = NULL;
}

/* ---- arrays of a result ---- */

/* Array number k of a result, in the order it is handed out. */
struct bi_embed_slot {
    unsigned kind;
    int layer;
};

static int count_kinds(unsigned include)
{
    int n = 0;
    for (size_t i = 0; i < BI_COUNT(kinds); i++)
        n += (include & kinds[i].bit) != 0;
    return n;
}

/* Layers in the order asked for, kinds within each; then what belongs to no layer. */
static int list_slots(const struct bioinfer_session *s, struct bi_embed_slot *slots)
{
    int n = 0;
    for (int l = 0; l < s->wants.n_layers; l++)
        for (size_t i = 0; i < BI_COUNT(kinds); i++)
            if (s->wants.include & kinds[i].bit & LAYER_KINDS)
                slots[n++] = (struct bi_embed_slot){kinds[i].bit, s->layer_order[l]};
    for (size_t i = 0; i < BI_COUNT(kinds); i++)
        if (s->wants.include & kinds[i].bit & ~(unsigned)LAYER_KINDS)
            slots[n++] = (struct bi_embed_slot){kinds[i].bit, -1};
    return n;
}

static int max_slots(const struct bioinfer_session *s)
{
    return s->wants.n_layers * 3 + (int)BI_COUNT(kinds);
}

static int64_t n_residues(const struct bi_model *m, int64_t n_tokens)
{
    int64_t n = n_tokens - m->n_prefix - m->n_suffix;
    return n > 0 ? n : 0;
}

/* Shape of one array for a record of n_tokens; returns its elements. */
static int64_t slot_shape(const struct bi_model *m, const struct bi_embed_slot *slot,
                          int64_t n_tokens, struct bioinfer_array *a)
{
    int64_t n = n_residues(m, n_tokens), total = 1;
    *a = (struct bioinfer_array){.kind = bioinfer_include_name(slot->kind), .layer = slot->layer};
    switch (slot->kind) {
    case BIOINFER_PER_RESIDUE:
        a->n_dims = 2;
        a->shape[0] = n;
        a->shape[1] = m->width;
        break;
    case BIOINFER_LOGITS:
        a->n_dims = 2;
        a->shape[0] = n;
        a->shape[1] = m->vocab_size;
        break;
    case BIOINFER_CONTACTS:
        a->n_dims = 2;
        a->shape[0] = a->shape[1] = n;
        break;
    case BIOINFER_ATTENTIONS:
        a->n_dims = 4;
        a->shape[0] = m->n_layers;
        a->shape[1] = m->n_heads;
        a->shape[2] = a->shape[3] = n_tokens;
        break;
    case BIOINFER_HEAD:
    case BIOINFER_CLASS_LOGITS: {
        const struct bi_head *h = bi_head_of(m, slot->kind);
        a->n_dims = h->input == BI_HEAD_RESIDUES ? 2 : 1;
        a->shape[0] = h->input == BI_HEAD_RESIDUES ? n : h->n_classes;
        a->shape[1] = h->n_classes;
        break;
    }
    default: /* mean, bos */
        a->n_dims = 1;
        a->shape[0] = m->width;
        break;
    }
    for (int i = 0; i < a->n_dims; i++)
        total *= a->shape[i];
    return total;
}

/* False when a value is not finite. */
static bool copy_finite(float *dst, const float *src, int64_t n)
{
    uint32_t worst = 0;
    for (int64_t i = 0; i < n; i++) {
        union {
            float f;
            uint32_t u;
        } v = {.f = src[i]};
        uint32_t exponent = v.u & 0x7F800000;
        worst = exponent > worst ? exponent : worst;
        dst[i] = v.f;
    }
    return worst != 0x7F800000;
}

/* Rows of logits to what the head's activation makes of them. */
static void activate(const struct bi_head *h, float *x, int64_t n)
{
    for (; n > 0 && h->activation != BI_HEAD_NONE; n--, x += h->n_classes) {
        double max = -INFINITY, sum = 0;
        for (int c = 0; c < h->n_classes; c++)
            max = fmax(max, (double)x[c]);
        for (int c = 0; c < h->n_classes; c++)
            sum += exp((double)x[c] - max);
        for (int c = 0; c < h->n_classes; c++)
            x[c] = (float)(h->activation == BI_HEAD_SOFTMAX ? exp((double)x[c] - max) / sum
                                                            : 1 / (1 + exp(-(double)x[c])));
    }
}

/* The head of an array that has labels; NULL = it has none. */
static const struct bi_head *head_with_labels(const struct bi_model *m, unsigned kind)
{
    const bool is_head = kind == BIOINFER_HEAD || kind == BIOINFER_CLASS_LOGITS;
    const struct bi_head *h = is_head ? bi_head_of(m, kind) : NULL;
    return h && h->problem != BI_HEAD_REGRESSION ? h : NULL;
}

/* Puts the class of one row: the best one, or all whose logits are above 0 with ',' between. */
static void put_label(struct bi_buf *text, const struct bi_head *h, const float *x)
{
    int best = 0, n = 0;
    for (int c = 1; c < h->n_classes; c++)
        best = x[c] > x[best] ? c : best;
    if (h->problem == BI_HEAD_ONE_CLASS)
        bi_buf_puts(text, h->classes[best]);
    for (int c = 0; h->problem == BI_HEAD_ANY_CLASSES && c < h->n_classes; c++)
        if (x[c] > 0) {
            bi_buf_puts(text, n++ ? "," : "");
            bi_buf_puts(text, h->classes[c]);
        }
    if (h->problem == BI_HEAD_ANY_CLASSES && !n)
        bi_buf_putc(text, '-');
}

/* The classes of n rows, as bioinfer_result.labels; NULL = no memory. */
static char *labels_of(const struct bi_env *env, const struct bi_head *h, const float *x, int64_t n)
{
    const bool close = h->one_letter && h->problem == BI_HEAD_ONE_CLASS;
    struct bi_buf text = {.env = env};
    for (int64_t i = 0; i < n; i++, x += h->n_classes) {
        if (i && !close)
            bi_buf_putc(&text, ' ');
        put_label(&text, h, x);
    }
    char *labels = text.failed ? NULL : bi_strdup(env, bi_buf_text(&text));
    bi_buf_free(&text);
    return labels;
}

/* Copies what output `o` holds for a sequence of n_tokens into the record's array. False: a value
 * is not finite. */
static bool copy_output(const struct bi_model *m, const struct bi_batch_place *place,
                        const struct bi_output *o, int64_t n_tokens, float *dst)
{
    const int64_t start = place->at.n_tokens, longest = place->slot->plan->graph->longest;
    int64_t n = n_residues(m, n_tokens), ld;
    const float *src = bi_batch_output(place, o, &ld);
    bool finite = true;
    switch (o->kind) {
    case BIOINFER_HEAD:
    case BIOINFER_CLASS_LOGITS: {
        const struct bi_head *h = bi_head_of(m, (unsigned)o->kind);
        const bool each = h->input == BI_HEAD_RESIDUES;
        src += (each ? start + m->n_prefix : place->index) * ld;
        n = each ? n : 1;
        if (!copy_finite(dst, src, n * ld))
            return false;
        activate(h, dst, n);
        return true;
    }
    case BIOINFER_PER_RESIDUE:
    case BIOINFER_LOGITS:
        return copy_finite(dst, src + (start + m->n_prefix) * ld, n * ld);
    case BIOINFER_CONTACTS:
        for (int64_t i = 0; i < n; i++)
            finite &= copy_finite(dst + i * n, src + (start + m->n_prefix + i) * ld, n);
        return finite;
    case BIOINFER_ATTENTIONS:
        dst += o->layer * m->n_heads * n_tokens * n_tokens;
        for (int64_t h = 0; h < m->n_heads; h++)
            for (int64_t i = 0; i < n_tokens; i++)
                finite &= copy_finite(dst + (h * n_tokens + i) * n_tokens,
                                      src + (start + i) * ld + h * longest, n_tokens);
        return finite;
    default:
        return copy_finite(dst, src + place->index * ld, ld);
    }
}

/* ---- the task ---- */

int bi_session_check_length(const struct bioinfer_session *s, const char *id, int64_t n_tokens,
                            struct bioinfer_error *err)
{
    int64_t n = n_residues(&s->task.model->base, n_tokens), max = MAX_TOKENS;
    if (s->params.max_length > 0 && s->params.max_length < max)
        max = s->params.max_length;
    if (s->task.model->base.max_tokens && n_tokens > s->task.model->base.max_tokens)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "record '%.60s' has %lld residues, the model has places for %lld", id,
                       (long long)n,
                       (long long)n_residues(&s->task.model->base, s->task.model->base.max_tokens));
    if (n > max)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "record '%.60s' has %lld residues, at most %lld are allowed", id,
                       (long long)n, (long long)max);
    return n ? 0 : bi_fail(err, BIOINFER_EMPTY, "record '%.60s' has no residues", id);
}

/* One record. */
struct embed_unit {
    struct bi_unit unit;
    struct bi_item item;
    uint64_t ordinal;
    int32_t *ids;
    int64_t n_tokens; /* 0 where the status was known at once */
    float *data;      /* the arrays, one behind the other; NULL before they are computed */
};

/* Elements of all arrays of a record. */
static int64_t n_elements(const struct bioinfer_session *s, int64_t n_tokens)
{
    struct bioinfer_array a;
    int64_t total = 0;
    for (int k = 0; k < s->n_slots; k++)
        total += slot_shape(&s->task.model->base, &s->slots[k], n_tokens, &a);
    return total;
}

/* Makes the token ids of a record. A failure of the record is its own status; the return value is
 * for what ends the run. */
static int encode(struct bioinfer_session *s, struct embed_unit *e, const struct bioinfer_record *r,
                  struct bioinfer_error *err)
{
    const struct bi_model *m = &s->task.model->base;
    struct bioinfer_error why = {0};
    int st = r->status;
    if (st) {
        snprintf(why.text, sizeof why.text, "%s", r->message ? r->message : "");
    } else if (!r->length || !r->sequence) {
        st = bi_fail(&why, BIOINFER_EMPTY, "record '%.60s' has no residues", e->unit.id);
    } else if (!(st = m->def->encode(m, r, s->params.raw_residues, &s->tokens, &why))) {
        s->n_mapped += s->tokens.n_mapped;
        st = bi_session_check_length(s, e->unit.id, (int64_t)s->tokens.n, &why);
    }
    if (st == BIOINFER_NOMEM && !r->status)
        return bi_fail(err, st, "%s", why.text);
    if (st) {
        bi_unit_fail(s->task.env, &e->unit, st, why.text);
        return 0;
    }
    if (!(e->ids = bi_calloc(s->task.env, s->tokens.n, sizeof *e->ids)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': tokens", e->unit.id);
    memcpy(e->ids, s->tokens.ids, s->tokens.n * sizeof *e->ids);
    e->n_tokens = (int64_t)s->tokens.n;
    return 0;
}

static int embed_read(struct bi_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct bioinfer_session *s = (struct bioinfer_session *)t;
    struct embed_unit *e = (struct embed_unit *)u;
    struct bioinfer_record r = {0};
    int32_t n;
    int st = s->source(s->source_user, &r, err);
    if (st <= 0)
        return st;
    e->ordinal = r.ordinal;
    if (!(u->id = bi_strdup(t->env, r.id ? r.id : "")))
        return bi_fail(err, BIOINFER_NOMEM, "record");
    if ((st = encode(s, e, &r, err)))
        return st;
    if (!u->status) {
        n = (int32_t)e->n_tokens;
        e->item = (struct bi_item){
            .unit = u, .weight = n, .size = {.n_tokens = n, .n_seqs = 1, .longest = n}};
        u->items = &e->item;
        u->n_items = 1;
        u->result_size = 4 * (uint64_t)n_elements(s, n);
    }
    return 1;
}

enum { IDS, START };
static const struct bi_task_input embed_inputs[] = {
    [IDS] = {.name = "ids", .axis = BI_AXIS_TOKENS, .row_size = sizeof(int32_t)},
    [START] = {.name = "start", .rebase = BI_AXIS_TOKENS, .starts = true}};
const char *const bi_session_made[1] = {"scale"};

static const void *embed_rows(const struct bi_task *t, const struct bi_item *item, int input)
{
    (void)t;
    return input == IDS ? ((const struct embed_unit *)item->unit)->ids : NULL;
}

void bi_session_scale(const struct bi_task *t, const struct bi_item *item,
                      const struct bi_batch_place *place)
{
    const struct bi_model *m = &t->model->base;
    const int32_t *ids = bi_batch_input(place, "ids");
    float *scale = bi_batch_input(place, bi_session_made[0]);
    if (scale)
        m->def->token_scale(m, ids + place->at.n_tokens, (size_t)item->size.n_tokens,
                            scale + place->at.n_tokens);
}

static int embed_collect(struct bi_task *t, struct bi_item *item,
                         const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct bioinfer_session *s = (struct bioinfer_session *)t;
    const struct bi_model *m = &t->model->base;
    const struct bi_graph *g = place->slot->plan->graph;
    struct embed_unit *e = (struct embed_unit *)item->unit;
    const int64_t total = n_elements(s, e->n_tokens);
    const char *bad = NULL;
    int64_t at = 0;
    bi_free(t->env, e->data); /* from a batch that is run again */
    if (!(e->data = bi_calloc(t->env, (size_t)total + 1, sizeof *e->data)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': %lld bytes of results", e->unit.id,
                       (long long)total * 4);
    for (int k = 0; k < s->n_slots; k++) {
        const struct bi_embed_slot *slot = &s->slots[k];
        struct bioinfer_array a;
        const int64_t n = slot_shape(m, slot, e->n_tokens, &a);
        for (size_t j = 0; t->model->caps.runs && j < g->n_outputs; j++) {
            const struct bi_output *o = &g->outputs[j];
            const bool mine = (unsigned)o->kind == slot->kind &&
                              (slot->layer == o->layer || slot->layer < 0);
            if (mine && !copy_output(m, place, o, e->n_tokens, e->data + at))
                bad = a.kind;
        }
        at += n;
    }
    return bad ? bi_fail(err, BIOINFER_NONFINITE, "%s: a value is not finite", bad) : 0;
}

static int embed_result(struct bi_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct bioinfer_session *s = (struct bioinfer_session *)t;
    const struct bi_model *m = &t->model->base;
    struct embed_unit *e = (struct embed_unit *)u;
    struct bioinfer_result result = {.ordinal = e->ordinal,
                                     .id = u->id,
                                     .length = n_residues(m, e->n_tokens),
                                     .status = u->status,
                                     .message = u->message ? u->message : "",
                                     .arrays = s->arrays,
                                     .n_layers_kept = s->wants.n_layers,
                                     .n_kinds = count_kinds(s->wants.include)};
    const struct bi_head *head;
    int64_t at = 0;
    char *labels = NULL;
    int st;
    if (u->status && !u->message)
        result.message = bioinfer_status_name(u->status);
    for (int k = 0; !u->status && k < s->n_slots; k++) {
        const int64_t n = slot_shape(m, &s->slots[k], e->n_tokens, &s->arrays[k]);
        s->arrays[k].data = e->data + at;
        head = labels ? NULL : head_with_labels(m, s->slots[k].kind);
        if (head && !(labels = labels_of(t->env, head, e->data + at, n / head->n_classes)))
            return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': labels", u->id);
        at += n;
        result.n_arrays++;
    }
    result.labels = labels;
    t->exec->profile.records++;
    t->exec->profile.residues += (uint64_t)result.length;
    st = s->sink(s->sink_user, &result, err);
    bi_free(t->env, labels);
    return st;
}

static void embed_drop(struct bi_task *t, struct bi_unit *u)
{
    struct embed_unit *e = (struct embed_unit *)u;
    bi_free(t->env, e->ids);
    bi_free(t->env, e->data);
}

static const struct bi_task_def embed_def = {
    .name = "embed",
    .unit_size = sizeof(struct embed_unit),
    .smallest = {.n_tokens = 16, .n_seqs = 1, .longest = 16},
    .inputs = embed_inputs,
    .n_inputs = BI_COUNT(embed_inputs),
    .made = bi_session_made,
    .n_made = BI_COUNT(bi_session_made),
    .read = embed_read,
    .recipe = embed_recipe,
    .rows = embed_rows,
    .fill = bi_session_scale,
    .collect = embed_collect,
    .result = embed_result,
    .drop = embed_drop};

/* ---- public calls ---- */

int bioinfer_session_run(bioinfer_session *s, bioinfer_source source, void *source_user,
                         bioinfer_sink sink, void *sink_user, struct bioinfer_error *err)
{
    struct bi_task *t = s ? &s->task : NULL;
    int st;
    if (!s || !source || !sink)
        return bi_fail(err, BIOINFER_INVALID, "run: session, source and sink must be given");
    if ((st = bi_task_enter(t, err)))
        return st;
    s->source = source;
    s->source_user = source_user;
    s->sink = sink;
    s->sink_user = sink_user;
    s->n_mapped = 0;
    t->n_wide = 0;
    s->slots = bi_calloc(t->env, (size_t)max_slots(s), sizeof *s->slots);
    s->arrays = bi_calloc(t->env, (size_t)max_slots(s), sizeof *s->arrays);
    if (!s->slots || !s->arrays) {
        st = bi_fail(err, BIOINFER_NOMEM, "results");
        goto out;
    }
    s->n_slots = list_slots(s, s->slots);
    st = bi_task_run(t, err);
    if (s->n_mapped)
        bi_log(t->env, BIOINFER_LOG_WARNING,
               "%d residues were read as X: the model has no token "
               "for them, or its published recipe replaces them",
               s->n_mapped);
    if (t->n_wide)
        bi_log(t->env, BIOINFER_LOG_WARNING,
               "%llu records left the range of float16 and were "
               "computed again in float32",
               (unsigned long long)t->n_wide);
out:
    bi_free(t->env, s->tokens.ids);
    bi_free(t->env, s->slots);
    bi_free(t->env, s->arrays);
    s->tokens = (struct bi_tokens){0};
    s->slots = NULL;
    s->arrays = NULL;
    bi_task_leave(t);
    return st;
}

struct array_source {
    const struct bioinfer_record *records;
    size_t n, at;
};

static int next_of_array(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct array_source *a = user;
    (void)err;
    if (a->at == a->n)
        return 0;
    *record = a->records[a->at++];
    return 1;
}

int bioinfer_session_run_records(bioinfer_session *session, const struct bioinfer_record *records,
                                 size_t n_records, bioinfer_sink sink, void *sink_user,
                                 struct bioinfer_error *err)
{
    struct array_source a = {records, n_records, 0};
    if (!records && n_records)
        return bi_fail(err, BIOINFER_INVALID, "run: records must be given");
    return bioinfer_session_run(session, next_of_array, &a, sink, sink_user, err);
}

void bioinfer_session_set_profile(bioinfer_session *session, int on)
{
    if (session)
        session->task.exec->profiling = on != 0;
}

int bioinfer_session_get_profile(bioinfer_session *s, struct bioinfer_profile *profile)
{
    return s && profile ? bi_task_get_profile(&s->task, profile) : BIOINFER_INVALID;
}

int bioinfer_session_dump(bioinfer_session *s, int64_t n_residues_asked, int fused, int trace,
                          int (*write)(void *user, const char *text, size_t len), void *user,
                          struct bioinfer_error *err)
{
    struct bi_counts one = {.n_seqs = 1};
    if (!s || !write || n_residues_asked < 1 || n_residues_asked > MAX_TOKENS)
        return bi_fail(err, BIOINFER_INVALID, "dump: 1 to %d residues", MAX_TOKENS);
    one.n_tokens = one.longest = (int32_t)n_residues_asked + s->task.model->base.n_prefix +
                                 s->task.model->base.n_suffix;
    return bi_task_dump(&s->task, &one, fused, trace, write, user, err);
}

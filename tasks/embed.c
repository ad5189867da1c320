/* embed.c - the task embed: embeddings, logits, contacts, attentions, labels.
 *
 * Sections: layers and kinds, arrays of a result, the task, life. */
#define _GNU_SOURCE
#include "embed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/larger.h"
#include "../models/head.h"
#include "table.h"

/* ---- layers and kinds ---- */

enum { LAYER_KINDS = BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_BOS };

unsigned bioinfer_include_from_name(const char *name)
{
    for (size_t i = 0; name && i < BI_N_KINDS; i++)
        if (!strcmp(bi_kinds[i].name, name))
            return bi_kinds[i].bit;
    return 0;
}

const char *bioinfer_include_name(unsigned bit)
{
    for (size_t i = 0; i < BI_N_KINDS; i++)
        if (bi_kinds[i].bit == bit)
            return bi_kinds[i].name;
    return NULL;
}

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Fills layer_order (as asked, each once) and wants.layers (ascending). */
static int resolve_layers(struct bi_embed *s, const struct bioinfer_embed_params *p,
                          struct bioinfer_error *err)
{
    const struct bi_model *m = &s->base.task.model->base;
    int n_model = m->n_layers, last = n_model, n = 0;
    const int *asked = p->n_layers ? p->layers : &last;
    int n_asked = p->n_layers ? p->n_layers : 1;
    s->layers = bi_calloc(s->base.task.env, (size_t)n_asked, sizeof *s->layers);
    s->layer_order = bi_calloc(s->base.task.env, (size_t)n_asked, sizeof *s->layer_order);
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

static int resolve_include(struct bi_embed *s, unsigned asked, struct bioinfer_error *err)
{
    const struct bioinfer_model *model = s->base.task.model;
    const struct bi_model *m = &model->base;
    unsigned include = asked ? asked : m->default_include;
    for (unsigned bit = 1; bit; bit <<= 1) {
        if (!(include & bit) || m->can_include & bit)
            continue;
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: these weights have no head for %s%s",
                       model->path, bioinfer_include_name(bit),
                       bit == BIOINFER_CONTACTS ? bi_contacts_hint : "");
    }
    s->wants.include = include;
    return 0;
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
    for (size_t i = 0; i < BI_N_KINDS; i++)
        n += (include & bi_kinds[i].bit) != 0;
    return n;
}

/* Layers in the order asked for, kinds within each; then what belongs to no layer. */
static int list_slots(const struct bi_embed *s, struct bi_embed_slot *slots)
{
    int n = 0;
    for (int l = 0; l < s->wants.n_layers; l++)
        for (size_t i = 0; i < BI_N_KINDS; i++)
            if (s->wants.include & bi_kinds[i].bit & LAYER_KINDS)
                slots[n++] = (struct bi_embed_slot){bi_kinds[i].bit, s->layer_order[l]};
    for (size_t i = 0; i < BI_N_KINDS; i++)
        if (s->wants.include & bi_kinds[i].bit & ~(unsigned)LAYER_KINDS)
            slots[n++] = (struct bi_embed_slot){bi_kinds[i].bit, -1};
    return n;
}

static int max_slots(const struct bi_embed *s)
{
    return s->wants.n_layers * 3 + (int)BI_N_KINDS;
}

/* Shape of one array for a record of n_tokens; returns its elements. */
static int64_t slot_shape(const struct bi_model *m, const struct bi_embed_slot *slot,
                          int64_t n_tokens, struct bioinfer_array *a)
{
    int64_t n = bi_sequences_residues(m, n_tokens), total = 1;
    *a = (struct bioinfer_array){.kind = bioinfer_include_name(slot->kind),
                                 .has_layer = slot->layer >= 0,
                                 .layer = slot->layer >= 0 ? slot->layer : 0};
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
            max = bi_larger(max, (double)x[c]);
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
    int64_t n = bi_sequences_residues(m, n_tokens), ld;
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

/* One record. */
struct embed_unit {
    struct bi_sequence_unit base;
    struct bi_item item;
    struct bi_embed_spare of; /* the arrays, one after the other; none before they are computed */
};

/* Elements. From the first on malloc() maps each piece anew; all spares are 64 MiB at most. */
enum { LARGE = 32768, LARGEST = (16 << 20) / BI_EMBED_SPARES };

/* Room for n elements, which hold anything; a spare one of up to twice as many, if there is one. */
static struct bi_embed_spare take_room(struct bi_embed *s, int64_t n)
{
    struct bi_embed_spare *best = NULL, of = {0};
    for (int i = 0; i < BI_EMBED_SPARES; i++)
        if (s->spares[i].room >= n && s->spares[i].room / 2 <= n &&
            (!best || s->spares[i].room < best->room))
            best = &s->spares[i];
    if (best) {
        of = *best;
        *best = (struct bi_embed_spare){0};
        return of;
    }
    of.data = bi_alloc(s->base.task.env, (size_t)n * sizeof *of.data);
    of.room = of.data ? n : 0;
    return of;
}

/* Keeps a large piece in the place of the smallest one, frees others. */
static void give_room(struct bi_embed *s, struct bi_embed_spare of)
{
    struct bi_embed_spare *least = &s->spares[0];
    for (int i = 1; i < BI_EMBED_SPARES; i++)
        if (s->spares[i].room < least->room)
            least = &s->spares[i];
    if (of.room >= LARGE && of.room <= LARGEST && of.room > least->room) {
        bi_free(s->base.task.env, least->data);
        *least = of;
    } else {
        bi_free(s->base.task.env, of.data);
    }
}

/* Elements of all arrays of a record. */
static int64_t n_elements(const struct bi_embed *s, int64_t n_tokens)
{
    struct bioinfer_array a;
    int64_t total = 0;
    for (int k = 0; k < s->n_slots; k++)
        total += slot_shape(&s->base.task.model->base, &s->slots[k], n_tokens, &a);
    return total;
}

static int embed_read(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct bi_embed *s = (struct bi_embed *)t;
    struct embed_unit *e = (struct embed_unit *)u;
    struct bioinfer_record r;
    int32_t n;
    int st = bi_sequences_read(&s->base, &e->base, &r, err);
    if (st != 1 || u->status)
        return st;
    n = (int32_t)e->base.n_tokens;
    e->item = (struct bi_item){
        .unit = u, .weight = n, .size = {.n_tokens = n, .n_seqs = 1, .longest = n}};
    u->items = &e->item;
    u->n_items = 1;
    u->result_size = 4 * (uint64_t)n_elements(s, n);
    return 1;
}

static int embed_recipe(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                        struct bioinfer_error *err)
{
    struct bi_embed *s = (struct bi_embed *)t;
    (void)err;
    return bi_sequences_recipe(&s->base, b, s->wants, recipe);
}

enum { IDS, START };
static const struct bi_task_input embed_inputs[] = {
    [IDS] = {.name = "ids", .axis = BI_AXIS_TOKENS, .row_size = sizeof(int32_t)},
    [START] = {.name = "start", .rebase = BI_AXIS_TOKENS, .starts = true}};

static const void *embed_rows(const struct bioinfer_task *t, const struct bi_item *item, int input)
{
    (void)t;
    return input == IDS ? ((const struct embed_unit *)item->unit)->base.ids : NULL;
}

static int embed_collect(struct bioinfer_task *t, struct bi_item *item,
                         const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct bi_embed *s = (struct bi_embed *)t;
    const struct bi_model *m = &t->model->base;
    const struct bi_graph *g = place->slot->plan->graph;
    struct embed_unit *e = (struct embed_unit *)item->unit;
    const int64_t total = n_elements(s, e->base.n_tokens);
    const char *bad = NULL;
    int64_t at = 0;
    give_room(s, e->of); /* from a batch that is run again */
    e->of = take_room(s, total + 1);
    if (!e->of.data)
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': %lld bytes of results", item->unit->id,
                       (long long)total * 4);
    for (int k = 0; k < s->n_slots; k++) {
        const struct bi_embed_slot *slot = &s->slots[k];
        struct bioinfer_array a;
        const int64_t n = slot_shape(m, slot, e->base.n_tokens, &a);
        bool is_made = false;
        for (size_t j = 0; t->model->caps.runs && j < g->n_outputs; j++) {
            const struct bi_output *o = &g->outputs[j];
            const bool mine = (unsigned)o->kind == slot->kind &&
                              (slot->layer == o->layer || slot->layer < 0);
            is_made |= mine;
            if (mine && !copy_output(m, place, o, e->base.n_tokens, e->of.data + at))
                bad = a.kind;
        }
        if (!is_made) /* a device that computes nothing */
            memset(e->of.data + at, 0, (size_t)n * sizeof *e->of.data);
        at += n;
    }
    return bad ? bi_fail(err, BIOINFER_NONFINITE, "%s: a value is not finite", bad) : 0;
}

static int embed_result(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct bi_embed *s = (struct bi_embed *)t;
    const struct bi_model *m = &t->model->base;
    struct embed_unit *e = (struct embed_unit *)u;
    struct bioinfer_result result = {.ordinal = e->base.ordinal,
                                     .id = u->id,
                                     .length = bi_sequences_residues(m, e->base.n_tokens),
                                     .status = u->status,
                                     .message = bi_unit_message(u),
                                     .arrays = s->arrays,
                                     .n_layers_kept = s->wants.n_layers,
                                     .n_kinds = count_kinds(s->wants.include)};
    const struct bi_head *head;
    int64_t at = 0;
    char *labels = NULL;
    int st;
    for (int k = 0; !u->status && k < s->n_slots; k++) {
        const int64_t n = slot_shape(m, &s->slots[k], e->base.n_tokens, &s->arrays[k]);
        s->arrays[k].data = e->of.data + at;
        head = labels ? NULL : head_with_labels(m, s->slots[k].kind);
        if (head && !(labels = labels_of(t->env, head, e->of.data + at, n / head->n_classes)))
            return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': labels", u->id);
        at += n;
        result.n_arrays++;
    }
    result.labels = labels;
    t->exec->profile.records++;
    t->exec->profile.residues += (uint64_t)result.length;
    st = t->sink(t->sink_user, &result, err);
    bi_free(t->env, labels);
    return st;
}

static void embed_drop(struct bioinfer_task *t, struct bi_unit *u)
{
    struct embed_unit *e = (struct embed_unit *)u;
    bi_free(t->env, e->base.ids);
    give_room((struct bi_embed *)t, e->of);
}

static void embed_end(struct bioinfer_task *t)
{
    bi_sequences_end((struct bi_sequences *)t);
}

static void embed_free(struct bioinfer_task *t)
{
    struct bi_embed *s = (struct bi_embed *)t;
    bi_sequences_free(&s->base);
    bi_free(t->env, s->layers);
    bi_free(t->env, s->layer_order);
    bi_free(t->env, s->slots);
    bi_free(t->env, s->arrays);
    for (int i = 0; i < BI_EMBED_SPARES; i++)
        bi_free(t->env, s->spares[i].data);
}

const struct bi_task_def bi_task_embed = {.name = "embed",
                                          .kind = &bi_kind_sequences,
                                          .unit_size = sizeof(struct embed_unit),
                                          .smallest = {.n_tokens = 16, .n_seqs = 1, .longest = 16},
                                          .inputs = embed_inputs,
                                          .n_inputs = BI_COUNT(embed_inputs),
                                          .made = bi_sequences_made,
                                          .n_made = BI_COUNT(bi_sequences_made),
                                          .one = bi_sequences_one,
                                          .read = embed_read,
                                          .recipe = embed_recipe,
                                          .rows = embed_rows,
                                          .fill = bi_sequences_fill,
                                          .collect = embed_collect,
                                          .result = embed_result,
                                          .drop = embed_drop,
                                          .end = embed_end,
                                          .free = embed_free};

/* ---- life ---- */

static int open_embed(struct bi_embed *s, const struct bioinfer_embed_params *params,
                      struct bioinfer_error *err)
{
    const struct bi_env *env = s->base.task.env;
    struct bioinfer_embed_params p = {0};
    int st;
    if ((st = bi_params_take(&p, sizeof p, params, "embed", err)) ||
        (st = resolve_layers(s, &p, err)) || (st = resolve_include(s, p.include, err)))
        return st;
    s->slots = bi_calloc(env, (size_t)max_slots(s), sizeof *s->slots);
    s->arrays = bi_calloc(env, (size_t)max_slots(s), sizeof *s->arrays);
    if (!s->slots || !s->arrays)
        return bi_fail(err, BIOINFER_NOMEM, "results");
    s->n_slots = list_slots(s, s->slots);
    return bi_sequences_open(&s->base,
                             &(struct bi_sequence_params){.tokens_at_once = p.tokens_at_once,
                                                          .max_length = p.max_length,
                                                          .memory_limit = p.memory_limit,
                                                          .raw_residues = p.raw_residues,
                                                          .no_rules = p.no_rules,
                                                          .progress = p.progress,
                                                          .progress_user = p.progress_user},
                             err);
}

int bioinfer_embed_open(bioinfer_task **out, const bioinfer_model *model,
                        const struct bioinfer_embed_params *params, struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_embed, sizeof(struct bi_embed), err);
    if (!st && (st = open_embed((struct bi_embed *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

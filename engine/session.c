/* session.c - records to results: window, packing, batches, input order.
 *
 * Records are read ahead into a window, sorted by length and packed without padding into
 * batches of at most batch_tokens; results leave in input order. What company a sequence has
 * never changes its bytes (kernels see to that), so any grouping is right.
 *
 * Sections: life, one batch, results, the window, one run, public calls. Plans, buffers and transfers
 * are the executor's (exec.c). */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../models/head.h"
#include "engine.h"

enum {
    WINDOW_BATCHES = 16,         /* batches read ahead */
    WINDOW_RECORDS = 16384,
    MAX_TOKENS = BIOINFER_MAX_RESIDUES, /* of one sequence */
    GPU_BATCH_TOKENS = 16384
};
static const uint64_t WINDOW_PAYLOAD = 256u << 20; /* bytes of results kept back */

double bi_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- life ---- */

static const struct {
    unsigned bit;
    const char *name;
} kinds[] = {{BIOINFER_MEAN, "mean"},         {BIOINFER_PER_RESIDUE, "per-residue"},
             {BIOINFER_BOS, "bos"},           {BIOINFER_LOGITS, "logits"},
             {BIOINFER_CONTACTS, "contacts"}, {BIOINFER_ATTENTIONS, "attentions"},
             {BIOINFER_HEAD, "head"}};

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
static int resolve_layers(struct bioinfer_session *s, struct bioinfer_error *err)
{
    int n_model = s->model->base.n_layers, last = n_model, n = 0;
    const int *asked = s->params.n_layers ? s->params.layers : &last;
    int n_asked = s->params.n_layers ? s->params.n_layers : 1;
    if (n_asked < 0 || !asked)
        return bi_fail(err, BIOINFER_INVALID, "layers: %d of them, none given", n_asked);
    s->layers = bi_calloc(s->env, (size_t)n_asked, sizeof *s->layers);
    s->layer_order = bi_calloc(s->env, (size_t)n_asked, sizeof *s->layer_order);
    if (!s->layers || !s->layer_order)
        return bi_fail(err, BIOINFER_NOMEM, "layers");
    for (int i = 0; i < n_asked; i++) {
        int layer = asked[i] < 0 ? asked[i] + n_model + 1 : asked[i];
        bool seen = false;
        if (layer < 0 || layer > n_model)
            return bi_fail(err, BIOINFER_INVALID, "layer %d: %s has layers 0 (embedding) to %d",
                           asked[i], s->model->base.name, n_model);
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

static int resolve_include(struct bioinfer_session *s, struct bioinfer_error *err)
{
    const struct bi_model *m = &s->model->base;
    unsigned include = s->params.include ? s->params.include : m->default_include;
    for (unsigned bit = 1; bit; bit <<= 1) {
        if (!(include & bit) || m->can_include & bit)
            continue;
        if (!bioinfer_include_name(bit))
            return bi_fail(err, BIOINFER_INVALID, "include: unknown bit 0x%x", bit);
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: these weights have no head for %s%s",
                       s->model->path, bioinfer_include_name(bit),
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
    if (!st && s->params.no_rules && !(s->no_rules = bi_strdup(s->env, s->params.no_rules)))
        st = bi_fail(err, BIOINFER_NOMEM, "session");
    return st;
}

/* What a recipe's build() needs to know. */
struct graph_of {
    const struct bi_model *model;
    struct bi_shape shape;
    struct bi_wants wants;
};

static int build_graph(void *user, struct bi_graph *g, struct bioinfer_error *err)
{
    const struct graph_of *of = user;
    (void)err;
    g->n_tokens = of->shape.n_tokens;
    g->n_seqs = of->shape.n_seqs;
    g->n_rows = of->shape.n_rows;
    g->longest = of->shape.longest;
    of->model->def->build(of->model, g, &of->shape, &of->wants);
    return 0;
}

/* The recipe of a shape; it points into `graph`. Lists of layers are told apart by address:
 * the session has one, and scores have none. */
static void recipe_for(const struct bioinfer_session *s, const struct bi_wants *wants,
                       const struct bi_shape *shape, struct graph_of *graph,
                       struct bi_recipe *recipe)
{
    *graph = (struct graph_of){&s->model->base, *shape, *wants};
    *recipe = (struct bi_recipe){
        .key = {{(uint64_t)shape->n_tokens, (uint64_t)shape->n_seqs, (uint64_t)shape->longest,
                 (uint64_t)shape->n_rows, wants->include, (uint64_t)(uintptr_t)wants->layers,
                 (uint64_t)wants->n_layers, wants->wide}},
        .build = build_graph, .user = graph, .wide = wants->wide, .no_rules = s->no_rules};
}

int bioinfer_session_new(bioinfer_session **out, const bioinfer_model *model,
                         const struct bioinfer_session_params *params,
                         struct bioinfer_error *err)
{
    struct bioinfer_session *s = NULL;
    struct bi_rule_trace probe = {{0}, NULL};
    struct graph_of graph;
    struct bi_recipe recipe;
    struct bi_graph *g = NULL;
    int64_t wide;
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
    s->env = model->base.env;
    s->model = (struct bioinfer_model *)(uintptr_t)model; /* its store fills under a lock */
    atomic_flag_clear(&s->busy);
    if ((st = copy_params(s, params, err)) || (st = resolve_layers(s, err)) ||
        (st = resolve_include(s, err)) ||
        (st = bi_exec_new(&s->exec, s->model, s->params.memory_limit, err)))
        goto out;
    /* names of rules are checked here, not in the middle of a run */
    recipe_for(s, &s->wants, &(struct bi_shape){16, 1, 16, 16}, &graph, &recipe);
    recipe.trace = &probe;
    st = bi_plan_graph(&g, s->model, &recipe, true, err);
    bi_graph_free(&g);
    if (st)
        goto out;
    /* On the CPU the feed-forward block of a batch stays in the last-level cache: within 16 MiB.
     * On a GPU a batch fills the chip several times over. */
    wide = (16 << 20) / (16 * (int64_t)model->base.width);
    s->batch_tokens = s->params.batch_tokens > 0 ? s->params.batch_tokens
                      : model->caps.async        ? GPU_BATCH_TOKENS
                      : wide < 1024              ? 1024
                      : wide > 4096              ? 4096
                                                 : wide;
    if (s->batch_tokens > INT32_MAX / 4)
        s->batch_tokens = INT32_MAX / 4;
    *out = s;
    s = NULL;
out:
    bioinfer_session_free(&s);
    return st;
}

int bioinfer_session_prepare(bioinfer_session *s, struct bioinfer_error *err)
{
    struct bi_plan *plan = NULL;
    struct graph_of graph;
    struct bi_recipe recipe;
    int st;
    if (!s)
        return bi_fail(err, BIOINFER_INVALID, "prepare: a session must be given");
    if ((st = bi_session_enter(s, err)))
        return st;
    /* which weights a graph takes, and in which layout, does not depend on its shape */
    recipe_for(s, &s->wants, &(struct bi_shape){16, 1, 16, 0}, &graph, &recipe);
    if (!(st = bi_plan_new(&plan, s->model, &recipe, err)))
        st = bi_plan_load(plan, s->model, err);
    bi_plan_free(&plan, s->env);
    bi_session_leave(s);
    return st;
}

void bioinfer_session_free(bioinfer_session **session)
{
    struct bioinfer_session *s = session ? *session : NULL;
    if (!s)
        return;
    bi_exec_free(&s->exec);
    bi_free(s->env, s->layers);
    bi_free(s->env, s->layer_order);
    bi_free(s->env, s->no_rules);
    bi_free(s->env, s);
    *session = NULL;
}

int bi_session_enter(struct bioinfer_session *s, struct bioinfer_error *err)
{
    int st = bi_context_check(s->model->ctx, err);
    if (st)
        return st;
    if (atomic_flag_test_and_set(&s->busy))
        return bi_fail(err, BIOINFER_MISUSE, "the session is in use by another thread");
    return 0;
}

void bi_session_leave(struct bioinfer_session *s)
{
    atomic_flag_clear(&s->busy);
}

/* ---- one batch ---- */

/* Fills the input block; how many of the plan's inputs it knew. */
static int fill_input(const struct bi_model *m, const struct bi_exec_slot *slot,
                      const struct bi_item *items, int64_t n_items)
{
    int32_t *ids = bi_exec_input(slot, "ids"), *start = bi_exec_input(slot, "start");
    int32_t *rows = bi_exec_input(slot, "rows"), at = 0, row = 0;
    float *scale = bi_exec_input(slot, "scale");
    for (int64_t i = 0; i < n_items; i++) {
        const struct bi_item *item = &items[i];
        if (ids) {
            memcpy(ids + at, item->ids, (size_t)item->n_tokens * sizeof *ids);
            if (item->mask_at >= 0)
                ids[at + item->mask_at] = m->mask_id;
        }
        if (scale)
            m->def->token_scale(m, ids + at, (size_t)item->n_tokens, scale + at);
        for (int64_t k = 0; rows && k < item->n_rows; k++)
            rows[row++] = at + (int32_t)item->rows[k];
        if (start)
            start[i] = at;
        at += (int32_t)item->n_tokens;
    }
    for (int64_t i = n_items; start && i <= slot->plan->graph->n_seqs; i++)
        start[i] = at;
    return (ids != NULL) + (start != NULL) + (rows != NULL) + (scale != NULL);
}

int bi_session_start(struct bioinfer_session *s, const struct bi_wants *wants,
                     const struct bi_item *items, int64_t n_items, struct bi_batch *batch,
                     struct bioinfer_error *err)
{
    const struct bi_model *m = &s->model->base;
    struct bi_exec_batch b = {0};
    struct bi_exec_slot *slot;
    struct bi_recipe recipe;
    struct graph_of graph;
    int64_t n_tokens = 0, n_rows = 0, longest = 0;
    int st;
    for (int64_t i = 0; i < n_items; i++) {
        n_tokens += items[i].n_tokens;
        n_rows += items[i].n_rows;
        b.pairs += (double)items[i].n_tokens * (double)items[i].n_tokens;
        if (items[i].n_tokens > longest)
            longest = items[i].n_tokens;
    }
    b.counts = (struct bi_counts){.n_tokens = (int32_t)n_tokens, .n_seqs = (int32_t)n_items,
                                  .n_rows = (int32_t)n_rows, .longest = (int32_t)longest};
    recipe_for(s, wants,
               &(struct bi_shape){bi_bucket(n_tokens), bi_bucket(n_items), bi_bucket(longest),
                                  n_rows ? bi_bucket(n_rows) : 0},
               &graph, &recipe);
    b.recipe = &recipe;
    if ((st = bi_exec_begin(s->exec, &b, &slot, err)))
        return st;
    if (fill_input(m, slot, items, n_items) != slot->plan->n_inputs)
        return bi_fail(err, BIOINFER_INTERNAL, "%s: the graph has an input that sessions do not "
                       "know", m->def->name);
    *batch = (struct bi_batch){.slot = slot, .n_items = n_items};
    return bi_exec_submit(s->exec, slot, err);
}

int bi_session_batch(struct bioinfer_session *s, const struct bi_wants *wants,
                     const struct bi_item *items, int64_t n_items, struct bi_batch *batch,
                     struct bioinfer_error *err)
{
    int st = bi_session_start(s, wants, items, n_items, batch, err);
    return st ? st : bi_exec_wait(s->exec, batch->slot, err);
}

/* ---- results ---- */

/* One record of the window. */
struct entry {
    uint64_t ordinal;
    char *id;
    char *message; /* NULL = none */
    int status;
    int32_t *ids;
    int64_t n_tokens; /* 0 when status is set before any run */
    float *data;      /* arrays one behind the other, NULL before the run */
    bool wide;        /* left the range of float16: to be computed in float32 */
    bool done;
};

/* Array number k of a result, in the order it is handed out. */
struct slot {
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
static int list_slots(const struct bioinfer_session *s, struct slot *slots)
{
    int n = 0;
    for (int l = 0; l < s->wants.n_layers; l++)
        for (size_t i = 0; i < BI_COUNT(kinds); i++)
            if (s->wants.include & kinds[i].bit & LAYER_KINDS)
                slots[n++] = (struct slot){kinds[i].bit, s->layer_order[l]};
    for (size_t i = 0; i < BI_COUNT(kinds); i++)
        if (s->wants.include & kinds[i].bit & ~(unsigned)LAYER_KINDS)
            slots[n++] = (struct slot){kinds[i].bit, -1};
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
static int64_t slot_shape(const struct bi_model *m, const struct slot *slot, int64_t n_tokens,
                          struct bioinfer_array *a)
{
    int64_t n = n_residues(m, n_tokens), total = 1;
    *a = (struct bioinfer_array){.kind = bioinfer_include_name(slot->kind),
                                 .layer = slot->layer};
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
        a->n_dims = m->head->mean ? 1 : 2;
        a->shape[0] = m->head->mean ? m->head->n_classes : n;
        a->shape[1] = m->head->n_classes;
        break;
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
        union { float f; uint32_t u; } v = {.f = src[i]};
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

/* The best class of each of n rows, as bioinfer_result.labels; NULL = no memory. */
static char *labels_of(const struct bi_env *env, const struct bi_head *h, const float *x,
                       int64_t n)
{
    struct bi_buf text = {.env = env};
    for (int64_t i = 0; i < n; i++, x += h->n_classes) {
        int best = 0;
        for (int c = 1; c < h->n_classes; c++)
            best = x[c] > x[best] ? c : best;
        if (i && !h->one_letter)
            bi_buf_putc(&text, ' ');
        bi_buf_puts(&text, h->classes[best]);
    }
    char *labels = text.failed ? NULL : bi_strdup(env, bi_buf_text(&text));
    bi_buf_free(&text);
    return labels;
}

/* Copies what output `o` holds for sequence `at`, which begins at token `start`, into the record's
 * array. */
static bool copy_output(const struct bioinfer_session *s, const struct bi_batch *b,
                        const struct bi_output *o, int64_t at, int64_t start, int64_t n_tokens,
                        float *dst)
{
    const struct bi_model *m = &s->model->base;
    int64_t n = n_residues(m, n_tokens), ld;
    const float *src = bi_exec_output(b->slot, o, &ld);
    bool finite = true;
    switch (o->kind) {
    case BIOINFER_HEAD:
        src += (m->head->mean ? at : start + m->n_prefix) * ld;
        n = m->head->mean ? 1 : n;
        if (!copy_finite(dst, src, n * ld))
            return false;
        activate(m->head, dst, n);
        return true;
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
                                      src + (start + i) * ld + h * b->slot->plan->graph->longest,
                                      n_tokens);
        return finite;
    default:
        return copy_finite(dst, src + at * ld, ld);
    }
}

static void entry_fail(struct bioinfer_session *s, struct entry *e, int status,
                       const char *text)
{
    bi_free(s->env, e->data);
    e->data = NULL;
    e->status = status;
    e->done = true;
    if (!e->message)
        e->message = bi_strdup(s->env, text); /* NULL: shown as the status word alone */
}

static int collect(struct bioinfer_session *s, const struct bi_batch *b, struct entry **entries,
                   const struct slot *slots, int n_slots, struct bioinfer_error *err)
{
    const struct bi_model *m = &s->model->base;
    const struct bi_graph *g = b->slot->plan->graph;
    int64_t start = 0;
    for (int64_t i = 0; i < b->n_items; start += entries[i++]->n_tokens) {
        struct entry *e = entries[i];
        struct bioinfer_array a;
        int64_t total = 0, at = 0;
        const char *bad = NULL;
        for (int k = 0; k < n_slots; k++)
            total += slot_shape(m, &slots[k], e->n_tokens, &a);
        bi_free(s->env, e->data); /* of a batch that is run again after a failure */
        if (!(e->data = bi_calloc(s->env, (size_t)total + 1, sizeof *e->data)))
            return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': %lld bytes of results", e->id,
                           (long long)total * 4);
        for (int k = 0; k < n_slots; k++) {
            int64_t n = slot_shape(m, &slots[k], e->n_tokens, &a);
            for (size_t j = 0; s->model->caps.runs && j < g->n_outputs; j++) {
                const struct bi_output *o = &g->outputs[j];
                bool mine = (unsigned)o->kind == slots[k].kind &&
                            (slots[k].layer == o->layer || slots[k].layer < 0);
                if (mine && !copy_output(s, b, o, i, start, e->n_tokens, e->data + at))
                    bad = a.kind;
            }
            at += n;
        }
        if (bad && s->model->half && !e->wide) {
            e->wide = true;
            continue;
        }
        e->done = true;
        if (bad) {
            char text[96];
            snprintf(text, sizeof text, "%s: a value is not finite", bad);
            entry_fail(s, e, BIOINFER_NONFINITE, text);
        }
    }
    return 0;
}

/* ---- the window ---- */

struct window {
    struct entry *entries;
    size_t n, cap, next; /* next to hand out */
    struct entry **order; /* by length */
    size_t cap_order;
    int64_t tokens;
    uint64_t payload;
};

static void entry_free(const struct bi_env *env, struct entry *e)
{
    bi_free(env, e->id);
    bi_free(env, e->message);
    bi_free(env, e->ids);
    bi_free(env, e->data);
    *e = (struct entry){0};
}

static void window_clear(const struct bi_env *env, struct window *w)
{
    for (size_t i = 0; i < w->n; i++)
        entry_free(env, &w->entries[i]);
    w->n = w->next = 0;
    w->tokens = 0;
    w->payload = 0;
}

int bi_session_check_length(const struct bioinfer_session *s, const char *id, int64_t n_tokens,
                            struct bioinfer_error *err)
{
    int64_t n = n_residues(&s->model->base, n_tokens), max = MAX_TOKENS;
    if (s->params.max_length > 0 && s->params.max_length < max)
        max = s->params.max_length;
    if (s->model->base.max_tokens && n_tokens > s->model->base.max_tokens)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "record '%.60s' has %lld residues, the model has places for %lld", id,
                       (long long)n,
                       (long long)n_residues(&s->model->base, s->model->base.max_tokens));
    if (n > max)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "record '%.60s' has %lld residues, at most %lld are allowed", id,
                       (long long)n, (long long)max);
    return n ? 0 : bi_fail(err, BIOINFER_EMPTY, "record '%.60s' has no residues", id);
}

/* Takes a record into the window. A failure of the record is its own status. */
static int window_add(struct bioinfer_session *s, struct window *w,
                      const struct bioinfer_record *r, struct bi_tokens *tokens,
                      const struct slot *slots, int n_slots, int *n_mapped,
                      struct bioinfer_error *err)
{
    const struct bi_model *m = &s->model->base;
    struct bioinfer_error why = {0};
    struct entry *e;
    int st = r->status;
    if (!bi_grow(s->env, &w->entries, &w->cap, w->n + 1, sizeof *w->entries))
        return bi_fail(err, BIOINFER_NOMEM, "window of %zu records", w->n + 1);
    e = &w->entries[w->n];
    *e = (struct entry){.ordinal = r->ordinal};
    if (!(e->id = bi_strdup(s->env, r->id ? r->id : "")))
        return bi_fail(err, BIOINFER_NOMEM, "window of %zu records", w->n + 1);
    w->n++;
    if (st) {
        snprintf(why.text, sizeof why.text, "%s", r->message ? r->message : "");
    } else if (!r->length || !r->sequence) {
        st = bi_fail(&why, BIOINFER_EMPTY, "record '%.60s' has no residues", e->id);
    } else if ((st = m->def->encode(m, r, s->params.raw_residues, tokens, &why))) {
        if (st == BIOINFER_NOMEM)
            return bi_fail(err, st, "%s", why.text);
    } else {
        struct bioinfer_array a;
        *n_mapped += tokens->n_mapped;
        if (!(st = bi_session_check_length(s, e->id, (int64_t)tokens->n, &why))) {
            if (!(e->ids = bi_calloc(s->env, tokens->n, sizeof *e->ids)))
                return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': tokens", e->id);
            memcpy(e->ids, tokens->ids, tokens->n * sizeof *e->ids);
            e->n_tokens = (int64_t)tokens->n;
            w->tokens += e->n_tokens;
            for (int k = 0; k < n_slots; k++)
                w->payload += 4 * (uint64_t)slot_shape(m, &slots[k], e->n_tokens, &a);
        }
    }
    if (st)
        entry_fail(s, e, st, why.text);
    return 0;
}

/* Longest first, so that the largest buffers come first; ties by input order. */
static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    if (x->n_tokens != y->n_tokens)
        return x->n_tokens < y->n_tokens ? 1 : -1;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/* ---- one run ---- */

/* A batch on its way and the records it is of. */
struct flight {
    struct bi_batch batch;
    struct entry **order;
    int64_t n; /* 0 = none */
};

/* While the device computes a batch, the host reads records into the window to come, packs the
 * next batch, cuts and delivers the one before. */
struct run {
    struct bioinfer_session *s;
    bioinfer_source source;
    void *source_user;
    bioinfer_sink sink;
    void *sink_user;
    struct slot *slots;
    struct bioinfer_array *arrays;
    int n_slots, n_mapped;
    int more; /* of the source: 1 there may be, 0 no, < 0 its status */
    bool wide; /* batches are computed in float32 */
    size_t n_wide; /* records that were computed again so */
    struct bi_tokens tokens;
    struct bi_item *items; /* of the batch that is packed */
    size_t cap_items;
    struct window windows[2], *now, *old; /* old: run, not delivered to the end; NULL = none */
    struct flight flight;
};

/* Reads records until the window holds `limit` tokens. */
static int read_window(struct run *r, struct window *w, int64_t limit, struct bioinfer_error *err)
{
    int st = 0;
    while (!st && r->more > 0 && w->n < WINDOW_RECORDS && w->tokens < limit &&
           w->payload < WINDOW_PAYLOAD) {
        struct bioinfer_record record = {0};
        if ((r->more = r->source(r->source_user, &record, err)) > 0)
            st = window_add(r->s, w, &record, &r->tokens, r->slots, r->n_slots, &r->n_mapped,
                            err);
    }
    return st;
}

/* Packs and submits order[0, n): as bi_session_start. */
static int start(struct run *r, struct entry **order, int64_t n, struct bi_batch *batch,
                 struct bioinfer_error *err)
{
    struct bi_wants wants = r->s->wants;
    wants.wide = r->wide;
    if (!bi_grow(r->s->env, &r->items, &r->cap_items, (size_t)n, sizeof *r->items))
        return bi_fail(err, BIOINFER_NOMEM, "batch of %lld records", (long long)n);
    for (int64_t i = 0; i < n; i++)
        r->items[i] = (struct bi_item){.ids = order[i]->ids, .n_tokens = order[i]->n_tokens,
                                       .mask_at = -1};
    return bi_session_start(r->s, &wants, r->items, n, batch, err);
}

static bool is_memory(int st)
{
    return st == BIOINFER_TOO_LONG || st == BIOINFER_NOMEM;
}

static int run_halves(struct run *r, struct entry **order, int64_t n, struct bioinfer_error *err);
static int run_wide(struct run *r, struct entry **order, int64_t n, struct bioinfer_error *err);

/* Waits for a batch and cuts it. */
static int land(struct run *r, struct flight *flight, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    struct flight f = *flight;
    int st;
    flight->n = 0;
    if (!f.n)
        return 0;
    st = bi_exec_wait(r->s->exec, f.batch.slot, &why);
    if (!st)
        st = collect(r->s, &f.batch, f.order, r->slots, r->n_slots, &why);
    if (is_memory(st))
        return run_halves(r, f.order, f.n, err);
    return st ? bi_fail(err, st, "%s", why.text) : run_wide(r, f.order, f.n, err);
}

/* Runs order[0, n) with nothing beside it; halves the batch when memory does not do. */
static int run_halves(struct run *r, struct entry **order, int64_t n, struct bioinfer_error *err)
{
    int64_t done = 0, step = n;
    int st = land(r, &r->flight, err);
    while (done < n && !st) {
        int64_t count = n - done < step ? n - done : step;
        struct bioinfer_error why = {0};
        struct bi_batch batch;
        st = start(r, order + done, count, &batch, &why);
        if (!st)
            st = bi_exec_wait(r->s->exec, batch.slot, &why);
        if (!st)
            st = collect(r->s, &batch, order + done, r->slots, r->n_slots, &why);
        if (!st) {
            done += count;
        } else if (!is_memory(st)) {
            bi_fail(err, st, "%s", why.text);
        } else if (count > 1) {
            step = count / 2;
            st = 0;
        } else {
            char text[sizeof why.text];
            snprintf(text, sizeof text, "record '%.60s': %.900s", order[done]->id, why.text);
            entry_fail(r->s, order[done], st, text);
            done++;
            st = 0;
        }
    }
    return st || r->wide ? st : run_wide(r, order, n, err);
}

/* Those of order[0, n) whose values left the range of float16, once more in float32. An overflow
 * cannot go unseen: it is infinite in the operand, infinite or NaN in all that depends on it. */
static int run_wide(struct run *r, struct entry **order, int64_t n, struct bioinfer_error *err)
{
    struct entry **wide = NULL;
    int64_t n_wide = 0;
    int st = 0;
    for (int64_t i = 0; i < n; i++)
        n_wide += order[i]->wide && !order[i]->done;
    if (!n_wide)
        return 0;
    if ((st = land(r, &r->flight, err)))
        return st;
    if (!(wide = bi_calloc(r->s->env, (size_t)n_wide, sizeof(*wide))))
        return bi_fail(err, BIOINFER_NOMEM, "batch of %lld records", (long long)n_wide);
    for (int64_t i = 0, k = 0; i < n; i++)
        if (order[i]->wide && !order[i]->done)
            wide[k++] = order[i];
    r->wide = true;
    st = run_halves(r, wide, n_wide, err);
    r->wide = false;
    r->n_wide += (size_t)n_wide;
    bi_free(r->s->env, wide);
    return st;
}

/* Sends order[0, n) on its way and lands the batch before it. */
static int launch(struct run *r, struct entry **order, int64_t n, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    struct flight before, next = {.order = order, .n = n};
    int st = start(r, order, n, &next.batch, &why);
    if (st == 1) /* not beside the one on its way */
        st = (st = land(r, &r->flight, err)) ? st : start(r, order, n, &next.batch, &why);
    if (is_memory(st))
        return run_halves(r, order, n, err);
    if (st)
        return why.status ? bi_fail(err, st, "%s", why.text) : st;
    before = r->flight;
    r->flight = next;
    return r->s->model->caps.async ? land(r, &before, err) : land(r, &r->flight, err);
}

/* Hands out every result of a window that is ready and next in the input. */
static int deliver_window(struct run *r, struct window *w, struct bioinfer_error *err)
{
    struct bioinfer_session *s = r->s;
    const struct bi_model *m = &s->model->base;
    while (w->next < w->n && w->entries[w->next].done) {
        struct entry *e = &w->entries[w->next++];
        struct bioinfer_result result = {
            .ordinal = e->ordinal, .id = e->id, .length = n_residues(m, e->n_tokens),
            .status = e->status, .message = e->message ? e->message : "",
            .arrays = r->arrays, .n_layers_kept = s->wants.n_layers,
            .n_kinds = count_kinds(s->wants.include)};
        int64_t at = 0;
        char *labels = NULL;
        int st;
        if (e->status && !e->message)
            result.message = bioinfer_status_name(e->status);
        for (int k = 0; !e->status && k < r->n_slots; k++) {
            int64_t n = slot_shape(m, &r->slots[k], e->n_tokens, &r->arrays[k]);
            r->arrays[k].data = e->data + at;
            if (r->slots[k].kind == BIOINFER_HEAD &&
                !(labels = labels_of(s->env, m->head, e->data + at, n / m->head->n_classes)))
                return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': labels", e->id);
            at += n;
            result.n_arrays++;
        }
        result.labels = labels;
        s->exec->profile.records++;
        s->exec->profile.residues += (uint64_t)result.length;
        st = r->sink(r->sink_user, &result, err);
        bi_free(s->env, labels);
        entry_free(s->env, e);
        if (st)
            return st;
    }
    return 0;
}

static int deliver(struct run *r, struct bioinfer_error *err)
{
    int st;
    if (r->old) {
        if ((st = deliver_window(r, r->old, err)) || r->old->next < r->old->n)
            return st;
        window_clear(r->s->env, r->old);
        r->old = NULL;
    }
    return deliver_window(r, r->now, err);
}

static int progress(struct run *r, struct bioinfer_error *err)
{
    const struct bioinfer_session_params *p = &r->s->params;
    const struct bioinfer_profile *figures = &r->s->exec->profile;
    if (p->progress && p->progress(p->progress_user, figures->records, figures->residues))
        return bi_fail(err, BIOINFER_CANCELLED, "cancelled after %" PRIu64 " records",
                       figures->records);
    return 0;
}

/* Sends every batch of the window `now` on its way; the last one may still fly. */
static int run_window(struct run *r, struct bioinfer_error *err)
{
    struct bioinfer_session *s = r->s;
    struct window *w = r->now, *next = w == r->windows ? r->windows + 1 : r->windows;
    size_t n = 0, first = 0;
    int st = 0;
    if (!bi_grow(s->env, &w->order, &w->cap_order, w->n, sizeof *w->order))
        return bi_fail(err, BIOINFER_NOMEM, "order of %zu records", w->n);
    for (size_t i = 0; i < w->n; i++)
        if (!w->entries[i].done)
            w->order[n++] = &w->entries[i];
    if (n)
        qsort(w->order, n, sizeof *w->order, compare_entries);
    while (!st && first < n) {
        size_t end = first;
        int64_t tokens = 0, ahead = next->tokens + 2 * s->batch_tokens;
        while (end < n && (end == first || tokens + w->order[end]->n_tokens <= s->batch_tokens))
            tokens += w->order[end++]->n_tokens;
        if (!(st = launch(r, w->order + first, (int64_t)(end - first), err)))
            st = deliver(r, err);
        first = end;
        if (!st && r->flight.n && !r->old)
            st = read_window(r, next, ahead < WINDOW_BATCHES * s->batch_tokens
                                          ? ahead
                                          : WINDOW_BATCHES * s->batch_tokens, err);
        if (!st)
            st = progress(r, err);
    }
    if (!st && r->old) /* this window had nothing to run */
        st = land(r, &r->flight, err);
    return st ? st : deliver(r, err);
}

static int run_all(struct run *r, struct bioinfer_error *err)
{
    struct bioinfer_session *s = r->s;
    int st = 0;
    r->now = r->windows;
    r->more = 1;
    for (;;) {
        /* the first window is one batch, so that first results come early */
        bool first = !s->exec->profile.batches && !r->flight.n;
        if (!r->now->n)
            st = read_window(r, r->now, s->batch_tokens * (first ? 1 : WINDOW_BATCHES), err);
        if (st || !r->now->n)
            break;
        /* what was read before a failing source is still delivered */
        if ((st = run_window(r, err)))
            return st;
        if (r->now->next < r->now->n)
            r->old = r->now;
        else
            window_clear(s->env, r->now);
        r->now = r->now == r->windows ? r->windows + 1 : r->windows;
    }
    if (!st && r->flight.n && !(st = land(r, &r->flight, err)) && !(st = deliver(r, err)))
        st = progress(r, err);
    return st ? st : r->more;
}

/* ---- public calls ---- */

int bioinfer_session_run(bioinfer_session *s, bioinfer_source source, void *source_user,
                         bioinfer_sink sink, void *sink_user, struct bioinfer_error *err)
{
    struct run r = {.s = s, .source = source, .source_user = source_user, .sink = sink,
                    .sink_user = sink_user};
    double begun = bi_now();
    int st;
    if (!s || !source || !sink)
        return bi_fail(err, BIOINFER_INVALID, "run: session, source and sink must be given");
    if ((st = bi_session_enter(s, err)))
        return st;
    r.slots = bi_calloc(s->env, (size_t)max_slots(s), sizeof *r.slots);
    r.arrays = bi_calloc(s->env, (size_t)max_slots(s), sizeof *r.arrays);
    if (!r.slots || !r.arrays) {
        st = bi_fail(err, BIOINFER_NOMEM, "results");
        goto out;
    }
    r.n_slots = list_slots(s, r.slots);
    st = run_all(&r, err);
    if (r.n_mapped)
        bi_log(s->env, BIOINFER_LOG_WARNING, "%d residues were read as X: the model has no token "
               "for them, or its published recipe replaces them", r.n_mapped);
    if (r.n_wide)
        bi_log(s->env, BIOINFER_LOG_WARNING, "%zu records left the range of float16 and were "
               "computed again in float32", r.n_wide);
out:
    bi_exec_abandon(s->exec);
    for (int i = 0; i < 2; i++) {
        window_clear(s->env, &r.windows[i]);
        bi_free(s->env, r.windows[i].entries);
        bi_free(s->env, r.windows[i].order);
    }
    bi_free(s->env, r.tokens.ids);
    bi_free(s->env, r.items);
    bi_free(s->env, r.slots);
    bi_free(s->env, r.arrays);
    s->exec->profile.seconds += bi_now() - begun;
    bi_session_leave(s);
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

int bioinfer_session_run_records(bioinfer_session *session,
                                 const struct bioinfer_record *records, size_t n_records,
                                 bioinfer_sink sink, void *sink_user, struct bioinfer_error *err)
{
    struct array_source a = {records, n_records, 0};
    if (!records && n_records)
        return bi_fail(err, BIOINFER_INVALID, "run: records must be given");
    return bioinfer_session_run(session, next_of_array, &a, sink, sink_user, err);
}

void bioinfer_session_set_profile(bioinfer_session *session, int on)
{
    if (session)
        session->exec->profiling = on != 0;
}

int bioinfer_session_get_profile(bioinfer_session *s, struct bioinfer_profile *profile)
{
    return s && profile ? bi_exec_get_profile(s->exec, profile) : BIOINFER_INVALID;
}

int bioinfer_session_dump(bioinfer_session *s, int64_t n_residues_asked, int fused, int trace,
                          int (*write)(void *user, const char *text, size_t len), void *user,
                          struct bioinfer_error *err)
{
    struct graph_of graph;
    struct bi_recipe recipe;
    int64_t n;
    if (!s || !write || n_residues_asked < 1 || n_residues_asked > MAX_TOKENS)
        return bi_fail(err, BIOINFER_INVALID, "dump: 1 to %d residues", MAX_TOKENS);
    n = n_residues_asked + s->model->base.n_prefix + s->model->base.n_suffix;
    recipe_for(s, &s->wants, &(struct bi_shape){n, 1, n, 0}, &graph, &recipe);
    return bi_plan_dump(s->model, &recipe, fused, trace, write, user, err);
}

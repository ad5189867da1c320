/* session.c - records to results: window, packing, batches, input order.
 *
 * Records are read ahead into a window, sorted by length and packed without padding into
 * batches of at most batch_tokens; results leave in input order. What company a sequence has
 * never changes its bytes (kernels see to that), so any grouping is right.
 *
 * Sections: life, memory and plans, one batch, results, the window, public calls. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

enum {
    WINDOW_BATCHES = 16,         /* batches read ahead */
    WINDOW_RECORDS = 16384,
    MAX_TOKENS = 1 << 20         /* of one sequence */
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
             {BIOINFER_CONTACTS, "contacts"}, {BIOINFER_ATTENTIONS, "attentions"}};

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

int bioinfer_session_new(bioinfer_session **out, const bioinfer_model *model,
                         const struct bioinfer_session_params *params,
                         struct bioinfer_error *err)
{
    struct bioinfer_session *s = NULL;
    struct bi_rule_trace probe = {{0}, NULL};
    struct bi_graph *g = NULL;
    int64_t wide;
    int st;
    if (!out || !model)
        return bi_fail(err, BIOINFER_INVALID, "session: out and model must be given");
    *out = NULL;
    if ((st = bi_context_check(model->ctx, err)))
        return st;
    if (!(s = bi_zalloc(model->base.env, sizeof *s)))
        return bi_fail(err, BIOINFER_NOMEM, "session");
    s->env = model->base.env;
    s->model = (struct bioinfer_model *)(uintptr_t)model; /* its store fills under a lock */
    atomic_flag_clear(&s->busy);
    if ((st = copy_params(s, params, err)) || (st = resolve_layers(s, err)) ||
        (st = resolve_include(s, err)) ||
        (st = model->ops->queue_new(&s->queue, model->device, err)))
        goto out;
    /* names of rules are checked here, not in the middle of a run */
    st = bi_plan_graph(&g, &(struct bi_compile){.model = s->model, .shape = {16, 1, 16, 16},
                                                .wants = s->wants, .no_rules = s->no_rules,
                                                .trace = &probe}, true, err);
    bi_graph_free(&g);
    if (st)
        goto out;
    /* feed-forward block of a batch within 16 MiB: stays in the last-level cache */
    wide = (16 << 20) / (16 * (int64_t)model->base.width);
    s->batch_tokens = s->params.batch_tokens > 0 ? s->params.batch_tokens
                      : wide < 1024              ? 1024
                      : wide > 4096              ? 4096
                                                 : wide;
    if (s->batch_tokens > INT32_MAX / 4)
        s->batch_tokens = INT32_MAX / 4;
    s->memory_limit = s->params.memory_limit > 0 ? (uint64_t)s->params.memory_limit
                      : model->caps.memory_free  ? model->caps.memory_free / 10 * 9
                                                 : UINT64_MAX / 2;
    *out = s;
    s = NULL;
out:
    bioinfer_session_free(&s);
    return st;
}

static void drop_plan(struct bioinfer_session *s, int at)
{
    if (s->plans[at] && s->model->ops->release)
        s->model->ops->release(s->queue, &s->plans[at]->program);
    bi_plan_free(&s->plans[at], s->env);
}

void bioinfer_session_free(bioinfer_session **session)
{
    struct bioinfer_session *s = session ? *session : NULL;
    if (!s)
        return;
    for (int i = 0; i < BI_PLAN_CACHE; i++)
        drop_plan(s, i);
    s->model->ops->free(s->model->device, &s->input);
    s->model->ops->free(s->model->device, &s->activation);
    s->model->ops->free(s->model->device, &s->output);
    s->model->ops->queue_free(&s->queue);
    bi_free(s->env, s->host_input);
    bi_free(s->env, s->host_output);
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

/* ---- memory and plans ---- */

/* A moved buffer starts a generation, also when a later one cannot be had: plans bound to
 * the old addresses must not run. */
static int grow_device(struct bioinfer_session *s, struct bi_buffer *b, uint64_t size,
                       struct bioinfer_error *err)
{
    const struct bi_backend_ops *ops = s->model->ops;
    if (b->size >= size && b->ptr)
        return 0;
    ops->free(s->model->device, b);
    s->generation++;
    s->profile.allocations++;
    return ops->alloc(s->model->device, b, size ? size : BI_ALIGN, err);
}

static int grow_host(struct bioinfer_session *s, unsigned char **b, uint64_t *have,
                     uint64_t size, struct bioinfer_error *err)
{
    if (*have >= size && *b)
        return 0;
    bi_free(s->env, *b);
    *have = 0;
    s->profile.allocations++;
    if (!(*b = bi_zalloc(s->env, (size_t)(size ? size : BI_ALIGN))))
        return bi_fail(err, BIOINFER_NOMEM, "%" PRIu64 " bytes of memory for a batch", size);
    *have = size ? size : BI_ALIGN;
    return 0;
}

static bool same_wants(const struct bi_wants *a, const struct bi_wants *b)
{
    return a->include == b->include && a->n_layers == b->n_layers && a->layers == b->layers;
}

/* Bytes a plan needs beside the weights. */
static uint64_t plan_size(const struct bi_plan *p)
{
    return p->memory.activation_size + 2 * (p->memory.input_size + p->memory.output_size);
}

static int plan_for(struct bioinfer_session *s, const struct bi_wants *wants,
                    const struct bi_shape *shape, struct bi_plan **out,
                    struct bioinfer_error *err)
{
    struct bi_compile c = {.model = s->model, .wants = *wants, .no_rules = s->no_rules};
    struct bi_plan *p = NULL;
    int oldest = 0, st;
    c.shape.n_tokens = bi_bucket(shape->n_tokens);
    c.shape.n_seqs = bi_bucket(shape->n_seqs);
    c.shape.longest = bi_bucket(shape->longest);
    c.shape.n_rows = shape->n_rows ? bi_bucket(shape->n_rows) : 0;
    for (int i = 0; i < BI_PLAN_CACHE; i++) {
        struct bi_plan *q = s->plans[i];
        if (q && !memcmp(&q->shape, &c.shape, sizeof c.shape) && same_wants(&q->wants, wants))
            p = q;
        if (!q || (s->plans[oldest] && q->used < s->plans[oldest]->used))
            oldest = i;
    }
    if (!p) {
        if ((st = bi_plan_new(&p, &c, err)))
            return st;
        drop_plan(s, oldest);
        s->plans[oldest] = p;
        s->profile.plans++;
    }
    p->used = ++s->clock;
    if (plan_size(p) > s->memory_limit)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "%lld tokens need %.1f MiB beside the weights, %.1f MiB are allowed",
                       (long long)shape->n_tokens, (double)plan_size(p) / 1048576,
                       (double)s->memory_limit / 1048576);
    if ((st = grow_device(s, &s->input, p->memory.input_size, err)) ||
        (st = grow_device(s, &s->activation, p->memory.activation_size, err)) ||
        (st = grow_device(s, &s->output, p->memory.output_size, err)) ||
        (st = grow_host(s, &s->host_input, &s->host_input_size, p->memory.input_size, err)) ||
        (st = grow_host(s, &s->host_output, &s->host_output_size, p->memory.output_size, err)))
        return st;
    if (p->bound != s->generation) {
        st = bi_plan_bind(p, s->model, s->input.ptr, s->activation.ptr, s->output.ptr, err);
        if (!st)
            st = s->model->ops->prepare(s->queue, &p->program, err);
        if (st)
            return st;
        p->bound = s->generation;
    }
    if (s->profiling && !p->program.seconds &&
        !(p->program.seconds = bi_calloc(s->env, (size_t)p->program.n_launches + 1,
                                         sizeof *p->program.seconds)))
        return bi_fail(err, BIOINFER_NOMEM, "profile");
    if (p->memory.activation_size > s->profile.activation_size)
        s->profile.activation_size = p->memory.activation_size;
    s->profile.weight_size = s->model->store.size;
    *out = p;
    return 0;
}

/* ---- one batch ---- */

static void *input_at(struct bioinfer_session *s, const struct bi_plan *p,
                      enum bi_input_kind kind)
{
    return p->input_at[kind] < 0 ? NULL : s->host_input + p->input_at[kind];
}

/* Fills the input block; returns the bytes of it that matter. */
static void fill_input(struct bioinfer_session *s, const struct bi_plan *p,
                       const struct bi_item *items, int64_t n_items,
                       const struct bi_counts *counts)
{
    const struct bi_model *m = &s->model->base;
    int32_t *ids = input_at(s, p, BI_IN_IDS), *start = input_at(s, p, BI_IN_START);
    int32_t *rows = input_at(s, p, BI_IN_ROWS), at = 0, row = 0;
    float *scale = input_at(s, p, BI_IN_SCALE);
    memcpy(s->host_input, counts, sizeof *counts);
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
    for (int64_t i = n_items; start && i <= p->shape.n_seqs; i++)
        start[i] = at;
}

static void add_profile(struct bioinfer_session *s, const struct bi_plan *p,
                        const struct bi_item *items, int64_t n_items, int64_t n_tokens)
{
    double squares = 0, share = (double)n_tokens / (double)p->shape.n_tokens, attention;
    if (!s->profiling)
        return;
    for (int64_t i = 0; i < n_items; i++)
        squares += (double)items[i].n_tokens * (double)items[i].n_tokens;
    attention = squares / ((double)p->shape.n_tokens * (double)p->shape.longest);
    for (int i = 0; i < p->program.n_launches; i++) {
        struct bioinfer_op_profile *o = &s->ops[p->op_of[i]];
        bool pairs = !strcmp(p->program.launches[i].entry, "attention") ||
                     !strcmp(p->program.launches[i].entry, "attention_contacts") ||
                     !strcmp(p->program.launches[i].entry, "scores") ||
                     !strcmp(p->program.launches[i].entry, "mix");
        o->launches++;
        o->seconds += p->program.seconds[i];
        o->flops += p->program.launches[i].flops * (pairs ? attention : share);
        o->bytes += p->program.launches[i].bytes * (pairs ? attention : share);
        p->program.seconds[i] = 0;
    }
}

int bi_session_batch(struct bioinfer_session *s, const struct bi_wants *wants,
                     const struct bi_item *items, int64_t n_items, struct bi_batch *batch,
                     struct bioinfer_error *err)
{
    const struct bi_backend_ops *ops = s->model->ops;
    struct bi_shape shape = {0};
    struct bi_counts counts;
    struct bi_plan *p;
    int st;
    for (int64_t i = 0; i < n_items; i++) {
        shape.n_tokens += items[i].n_tokens;
        shape.n_rows += items[i].n_rows;
        if (items[i].n_tokens > shape.longest)
            shape.longest = items[i].n_tokens;
    }
    shape.n_seqs = n_items;
    if ((st = plan_for(s, wants, &shape, &p, err)))
        return st;
    counts = (struct bi_counts){(int32_t)shape.n_tokens, (int32_t)n_items, (int32_t)shape.n_rows,
                                (int32_t)shape.longest};
    fill_input(s, p, items, n_items, &counts);
    if ((st = ops->upload(s->queue, s->input.ptr, s->host_input, p->memory.input_size, err)) ||
        (st = ops->submit(s->queue, &p->program, &counts, err)) ||
        (st = ops->download(s->queue, s->host_output, s->output.ptr, p->memory.output_size,
                            err)) ||
        (st = ops->wait(s->queue, err)))
        return st;
    s->profile.uploads++;
    s->profile.submits++;
    s->profile.downloads++;
    s->profile.batches++;
    s->profile.tokens += (uint64_t)shape.n_tokens;
    add_profile(s, p, items, n_items, shape.n_tokens);
    *batch = (struct bi_batch){.plan = p, .output = s->host_output,
                               .start = input_at(s, p, BI_IN_START), .n_items = n_items};
    return 0;
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

/* Copies what output `o` holds for sequence `at` into the record's array. */
static bool copy_output(const struct bioinfer_session *s, const struct bi_batch *b,
                        const struct bi_output *o, int64_t at, float *dst)
{
    const struct bi_model *m = &s->model->base;
    const struct bi_slot *slot = &b->plan->memory.slots[o->value];
    const float *src = (const float *)(const void *)(b->output + slot->offset);
    int64_t start = b->start[at], n_tokens = b->start[at + 1] - start;
    int64_t n = n_residues(m, n_tokens), ld = slot->ld;
    bool finite = true;
    switch (o->kind) {
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
                                      src + (start + i) * ld + h * b->plan->shape.longest,
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
    for (int64_t i = 0; i < b->n_items; i++) {
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
            for (size_t j = 0; s->model->caps.runs && j < b->plan->graph->n_outputs; j++) {
                const struct bi_output *o = &b->plan->graph->outputs[j];
                bool mine = (unsigned)o->kind == slots[k].kind &&
                            (slots[k].layer == o->layer || slots[k].layer < 0);
                if (mine && !copy_output(s, b, o, i, e->data + at))
                    bad = a.kind;
            }
            at += n;
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

/* Runs order[first, first + n); halves the batch when memory does not do. */
static int run_group(struct bioinfer_session *s, struct entry **order, int64_t n,
                     const struct slot *slots, int n_slots, struct bioinfer_error *err)
{
    struct bi_item *items = bi_calloc(s->env, (size_t)n, sizeof *items);
    struct bi_batch batch;
    int64_t done = 0, step = n;
    int st = 0;
    if (!items)
        return bi_fail(err, BIOINFER_NOMEM, "batch of %lld records", (long long)n);
    while (done < n && !st) {
        int64_t count = n - done < step ? n - done : step;
        struct bioinfer_error why = {0};
        for (int64_t i = 0; i < count; i++)
            items[i] = (struct bi_item){.ids = order[done + i]->ids,
                                        .n_tokens = order[done + i]->n_tokens, .mask_at = -1};
        st = bi_session_batch(s, &s->wants, items, count, &batch, &why);
        if (!st)
            st = collect(s, &batch, order + done, slots, n_slots, &why);
        if (!st) {
            done += count;
        } else if (st != BIOINFER_TOO_LONG && st != BIOINFER_NOMEM) {
            bi_fail(err, st, "%s", why.text);
        } else if (count > 1) {
            step = count / 2;
            st = 0;
        } else {
            char text[252];
            snprintf(text, sizeof text, "record '%.60s': %.180s", order[done]->id, why.text);
            entry_fail(s, order[done], st == BIOINFER_NOMEM ? st : BIOINFER_TOO_LONG, text);
            done++;
            st = 0;
        }
    }
    bi_free(s->env, items);
    return st;
}

/* Hands out every result that is ready and next in the input. */
static int deliver(struct bioinfer_session *s, struct window *w, const struct slot *slots,
                   int n_slots, struct bioinfer_array *arrays, bioinfer_sink sink,
                   void *sink_user, struct bioinfer_error *err)
{
    const struct bi_model *m = &s->model->base;
    while (w->next < w->n && w->entries[w->next].done) {
        struct entry *e = &w->entries[w->next++];
        struct bioinfer_result r = {
            .ordinal = e->ordinal, .id = e->id, .length = n_residues(m, e->n_tokens),
            .status = e->status, .message = e->message ? e->message : "",
            .arrays = arrays, .n_layers_kept = s->wants.n_layers,
            .n_kinds = count_kinds(s->wants.include)};
        int64_t at = 0;
        int st;
        if (e->status && !e->message)
            r.message = bioinfer_status_name(e->status);
        for (int k = 0; !e->status && k < n_slots; k++) {
            int64_t n = slot_shape(m, &slots[k], e->n_tokens, &arrays[k]);
            arrays[k].data = e->data + at;
            at += n;
            r.n_arrays++;
        }
        s->profile.records++;
        s->profile.residues += (uint64_t)r.length;
        st = sink(sink_user, &r, err);
        entry_free(s->env, e);
        if (st)
            return st;
    }
    return 0;
}

static int run_window(struct bioinfer_session *s, struct window *w, const struct slot *slots,
                      int n_slots, struct bioinfer_array *arrays, bioinfer_sink sink,
                      void *sink_user, struct bioinfer_error *err)
{
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
        int64_t tokens = 0;
        while (end < n && (end == first || tokens + w->order[end]->n_tokens <= s->batch_tokens))
            tokens += w->order[end++]->n_tokens;
        st = run_group(s, w->order + first, (int64_t)(end - first), slots, n_slots, err);
        first = end;
        if (!st)
            st = deliver(s, w, slots, n_slots, arrays, sink, sink_user, err);
        if (!st && s->params.progress &&
            s->params.progress(s->params.progress_user, s->profile.records, s->profile.residues))
            st = bi_fail(err, BIOINFER_CANCELLED, "cancelled after %" PRIu64 " records",
                         s->profile.records);
    }
    return st ? st : deliver(s, w, slots, n_slots, arrays, sink, sink_user, err);
}

/* ---- public calls ---- */

int bioinfer_session_run(bioinfer_session *s, bioinfer_source source, void *source_user,
                         bioinfer_sink sink, void *sink_user, struct bioinfer_error *err)
{
    struct window w = {0};
    struct bi_tokens tokens = {0};
    struct slot *slots = NULL;
    struct bioinfer_array *arrays = NULL;
    double begun = bi_now();
    int n_slots, n_mapped = 0, more = 1, st;
    if (!s || !source || !sink)
        return bi_fail(err, BIOINFER_INVALID, "run: session, source and sink must be given");
    if ((st = bi_session_enter(s, err)))
        return st;
    slots = bi_calloc(s->env, (size_t)max_slots(s), sizeof *slots);
    arrays = bi_calloc(s->env, (size_t)max_slots(s), sizeof *arrays);
    if (!slots || !arrays) {
        st = bi_fail(err, BIOINFER_NOMEM, "results");
        goto out;
    }
    n_slots = list_slots(s, slots);
    while (!st && more > 0) {
        /* the first window is one batch, so that first results come early */
        int64_t limit = s->batch_tokens * (s->profile.batches ? WINDOW_BATCHES : 1);
        while (w.n < WINDOW_RECORDS && w.tokens < limit && w.payload < WINDOW_PAYLOAD) {
            struct bioinfer_record r = {0};
            if ((more = source(source_user, &r, err)) <= 0)
                break;
            if ((st = window_add(s, &w, &r, &tokens, slots, n_slots, &n_mapped, err)))
                break;
        }
        if (!st && w.n) /* what was read before a failing source is still delivered */
            st = run_window(s, &w, slots, n_slots, arrays, sink, sink_user, err);
        window_clear(s->env, &w);
    }
    if (!st && more < 0)
        st = more;
    if (n_mapped)
        bi_log(s->env, BIOINFER_LOG_WARNING, "%d residues without a token (J) were read as X",
               n_mapped);
out:
    window_clear(s->env, &w);
    bi_free(s->env, w.entries);
    bi_free(s->env, w.order);
    bi_free(s->env, tokens.ids);
    bi_free(s->env, slots);
    bi_free(s->env, arrays);
    s->profile.seconds += bi_now() - begun;
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
        session->profiling = on != 0;
}

int bioinfer_session_get_profile(bioinfer_session *s, struct bioinfer_profile *profile)
{
    size_t size;
    int n = 0;
    if (!s || !profile || profile->struct_size < sizeof profile->struct_size)
        return BIOINFER_INVALID;
    for (int i = 0; i < BI_OP_COUNT; i++)
        if (s->ops[i].launches) {
            s->ops_shown[n] = s->ops[i];
            s->ops_shown[n++].op = bi_ops[i]->name;
        }
    size = profile->struct_size;
    s->profile.struct_size = size;
    s->profile.n_ops = n;
    s->profile.ops = s->ops_shown;
    memcpy(profile, &s->profile, size < sizeof s->profile ? size : sizeof s->profile);
    return 0;
}

int bioinfer_session_dump(bioinfer_session *s, int64_t n_residues_asked, int fused, int trace,
                          int (*write)(void *user, const char *text, size_t len), void *user,
                          struct bioinfer_error *err)
{
    struct bi_buf text;
    struct bi_rule_trace firings = {{0}, NULL};
    struct bi_graph *g = NULL;
    struct bi_compile c;
    int64_t n;
    int st;
    if (!s || !write || n_residues_asked < 1 || n_residues_asked > MAX_TOKENS)
        return bi_fail(err, BIOINFER_INVALID, "dump: 1 to %d residues", MAX_TOKENS);
    text = (struct bi_buf){.env = s->env};
    n = n_residues_asked + s->model->base.n_prefix + s->model->base.n_suffix;
    firings.text = trace ? &text : NULL;
    c = (struct bi_compile){.model = s->model, .shape = {n, 1, n, 0}, .wants = s->wants,
                            .no_rules = s->no_rules, .trace = &firings};
    if ((st = bi_plan_graph(&g, &c, fused || trace, err)))
        goto out;
    if (!trace)
        bi_graph_dump(g, &text);
    for (int i = 0; trace && bi_rule_name(i); i++)
        bi_buf_printf(&text, "%-20s %d\n", bi_rule_name(i), firings.fired[i]);
    if (text.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "dump");
    else if (write(user, text.data, text.size))
        st = bi_fail(err, BIOINFER_IO, "dump: the caller's write failed");
out:
    bi_graph_free(&g);
    bi_buf_free(&text);
    return st;
}

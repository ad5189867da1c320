/* runner.c - units to results, for every task: window, batches, order.
 *
 * Units are read ahead into a window, their items sorted by weight and packed without padding into
 * batches of at most batch_tokens; results leave in the order of units. The company of an item
 * never changes its bytes (kernels see to that), so any grouping is right.
 *
 * Sections: life, counts, windows, one batch, halves and float32, results, one run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"

enum {
    WINDOW_BATCHES = 16, /* batches read ahead */
    WINDOW_UNITS = 16384,
    GPU_BATCH_TOKENS = 16384,
    GRID_OF_TOKEN = 256, /* pairs of tokens that take about the memory of a token */
    AGAIN = 2
};
static const uint64_t WINDOW_RESULTS = 256u << 20; /* bytes of results kept back */

struct window {
    struct bi_unit **units;
    size_t n, cap, next;    /* next: the first that is not handed out */
    struct bi_item **order; /* as they are computed */
    size_t cap_order;
    int64_t load; /* in tokens of batches */
    uint64_t result_size;
};

/* A batch on its way and its items. */
struct flight {
    struct bi_exec_slot *slot;
    struct bi_item **order;
    size_t n; /* 0 = none */
};

/* While the device computes a batch, the host reads units into the window to come, packs the next
 * batch, collects and hands out the one before. */
struct run {
    struct bioinfer_task *t;
    uint64_t n_read;
    int more;  /* 1: the source may have more units; 0: it has none; NONE_NOW: none at present;
               * < 0: it failed with that */
    bool wide; /* batches are computed in float32 */
    struct window windows[2], *now, *old; /* old: computed, not all handed out; NULL = none */
    struct flight flight;
};

/* ---- life ---- */

static int64_t batch_tokens_of(const struct bioinfer_model *model, int64_t asked)
{
    /* On the CPU the feed-forward block of a batch stays in the last-level cache: within 16 MiB,
     * but for widths above 1,024. On a GPU a batch fills the chip several times over. */
    int64_t cached = (16 << 20) / (16 * (int64_t)model->base.width);
    int64_t tokens = asked > 0           ? asked
                     : model->caps.async ? GPU_BATCH_TOKENS
                     : cached < 1024     ? 1024
                     : cached > 4096     ? 4096
                                         : cached;
    return tokens < INT32_MAX / 4 ? tokens : INT32_MAX / 4;
}

static int recipe_of(struct bioinfer_task *t, const struct bi_counts *counts,
                     struct bi_recipe *recipe, struct bioinfer_error *err)
{
    const struct bi_batch b = {.counts = *counts, .capacity = *counts, .wide = t->wide};
    return t->def->recipe(t, &b, recipe, err);
}

int bi_task_fits(struct bioinfer_task *t, const struct bi_recipe *recipe, bool *fits,
                 struct bioinfer_error *err)
{
    return bi_exec_fits(t->exec, recipe, fits, err);
}

int bi_task_open(struct bioinfer_task *t, const struct bioinfer_model *model, int64_t batch_tokens,
                 int64_t memory_limit, struct bioinfer_error *err)
{
    struct bi_rule_trace probe = {{0}, NULL};
    struct bi_graph *g = NULL;
    struct bi_recipe recipe;
    int st;
    t->env = model->base.env;
    /* not const: weights that are loaded fill its store, under a lock */
    t->model = (struct bioinfer_model *)(uintptr_t)model;
    if (memory_limit < 0)
        return bi_fail(err, BIOINFER_INVALID, "%s: a memory limit of %lld bytes", t->def->name,
                       (long long)memory_limit);
    t->batch_tokens = batch_tokens_of(model, batch_tokens);
    atomic_flag_clear(&t->busy);
    if ((st = bi_exec_new(&t->exec, t->model, memory_limit, err)) ||
        (st = recipe_of(t, &t->def->smallest, &recipe, err)))
        return st;
    recipe.trace = &probe;
    st = bi_plan_graph(&g, t->model, &recipe, true, err);
    bi_graph_free(&g);
    return st;
}

void bi_task_ask(struct bioinfer_task *t, int (*ask)(void *user), void *user)
{
    bi_exec_ask(t->exec, ask, user);
}

void bi_task_close(struct bioinfer_task *t)
{
    bi_exec_free(&t->exec);
}

int bi_task_enter(struct bioinfer_task *t, struct bioinfer_error *err)
{
    int st = bi_context_check(t->ctx, err);
    if (st)
        return st;
    if (atomic_flag_test_and_set(&t->busy))
        return bi_fail(
            err, BIOINFER_MISUSE,
            "the task is in use by another thread, or by the run that called this one back");
    return 0;
}

void bi_task_leave(struct bioinfer_task *t)
{
    atomic_flag_clear(&t->busy);
}

int bi_task_load(struct bioinfer_task *t, struct bioinfer_error *err)
{
    struct bi_plan *plan = NULL;
    struct bi_recipe recipe;
    int st;
    /* the weights a graph takes, and in which layout, does not depend on its shape */
    if (!(st = recipe_of(t, &t->def->smallest, &recipe, err)) &&
        !(st = bi_plan_new(&plan, t->model, &recipe, err)))
        st = bi_plan_load(plan, t->model, err);
    bi_plan_free(&plan, t->env);
    return st;
}

int bi_task_dump(struct bioinfer_task *t, const struct bi_counts *counts, int fused, int trace,
                 int (*write)(void *user, const char *text, size_t len), void *user,
                 struct bioinfer_error *err)
{
    struct bi_recipe recipe;
    int st = recipe_of(t, counts, &recipe, err);
    return st ? st : bi_plan_dump(t->model, &recipe, fused, trace, write, user, err);
}

int bi_task_get_profile(struct bioinfer_task *t, struct bioinfer_profile *profile)
{
    return bi_exec_get_profile(t->exec, profile);
}

/* ---- counts ---- */

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Pairs of tokens may be more than a count has room for, long before tokens are. */
static int32_t sum_of(int32_t a, int32_t b)
{
    return a < INT32_MAX - b ? a + b : INT32_MAX;
}

static void add_counts(struct bi_counts *sum, const struct bi_counts *c)
{
#define SUM(a, b) sum_of(a, b)
#define MOST(a, b) larger(a, b)
#define NONE(a, b) 0
#define BI_COUNT_ROW(field, joins) sum->field = joins(sum->field, c->field);
#include "../kernels/axes.inc"
#undef SUM
#undef MOST
#undef NONE
}

/* Is the part of an item another one than that of the item before it (NULL = there is none)? */
static bool part_begins(const struct bi_item *before, const struct bi_item *item)
{
    return item->part && (!before || before->part != item->part);
}

/* Adds an item behind the item `before`, NULL = there is none. */
static void add_item(struct bi_counts *sum, const struct bi_item *before,
                     const struct bi_item *item)
{
    if (part_begins(before, item))
        add_counts(sum, &item->part_size);
    add_counts(sum, &item->size);
}

static int64_t load_of(const struct bioinfer_task *t, const struct bi_counts *counts)
{
    return t->def->load ? t->def->load(counts)
                        : larger(counts->n_tokens, counts->n_grid / GRID_OF_TOKEN);
}

static struct bi_item *before(struct bi_item *const *order, size_t i)
{
    return i ? order[i - 1] : NULL;
}

/* ---- windows ---- */

static void unit_free(struct bioinfer_task *t, struct bi_unit *u)
{
    t->def->drop(t, u);
    bi_free(t->env, u->id);
    bi_free(t->env, u->message);
    bi_free(t->env, u);
}

static void window_clear(struct bioinfer_task *t, struct window *w)
{
    for (; w->next < w->n; w->next++)
        unit_free(t, w->units[w->next]);
    w->n = w->next = 0;
    w->load = 0;
    w->result_size = 0;
}

void bi_unit_fail(const struct bi_env *env, struct bi_unit *u, int status, const char *message)
{
    u->status = status;
    if (!u->message)
        u->message = bi_strdup(env, message); /* NULL: shown as the status alone */
}

const char *bi_unit_message(const struct bi_unit *u)
{
    return u->message ? u->message : u->status ? bioinfer_status_name(u->status) : "";
}

/* The load of a window that is read ahead. */
static int64_t window_load(const struct bioinfer_task *t)
{
    return t->window_load ? t->window_load : WINDOW_BATCHES * t->batch_tokens;
}

/* Reads one unit into the window: 1, 0 = there is none, NONE_NOW, < 0 = status. */
static int read_unit(struct run *r, struct window *w, struct bioinfer_error *err)
{
    struct bioinfer_task *t = r->t;
    struct bi_counts counts = {0};
    struct bi_unit *u;
    int st;
    if (!bi_grow(t->env, &w->units, &w->cap, w->n + 1, sizeof(*w->units)) ||
        !(u = bi_zalloc(t->env, t->def->unit_size)))
        return bi_fail(err, BIOINFER_NOMEM, "window of %zu records", w->n + 1);
    if ((st = t->def->read(t, u, err)) != 1) {
        unit_free(t, u);
        return st;
    }
    u->number = r->n_read++;
    u->n_left = u->n_items;
    u->is_over |= !u->n_items || !t->def->next;
    w->units[w->n++] = u;
    w->result_size += u->result_size;
    /* far more than a window takes is enough to know: counts have 32 bits */
    for (size_t i = 0; i < u->n_items && load_of(t, &counts) < INT32_MAX / 4; i++)
        add_item(&counts, i ? &u->items[i - 1] : NULL, &u->items[i]);
    w->load += load_of(t, &counts);
    return 1;
}

/* Reads units until the window holds items of `limit` tokens. A source that fails does so after the
 * units before it. */
static void read_window(struct run *r, struct window *w, int64_t limit, struct bioinfer_error *err)
{
    while (r->more == 1 && w->n < WINDOW_UNITS && w->load < limit &&
           w->result_size < WINDOW_RESULTS)
        r->more = read_unit(r, w, err);
}

/* By program; those of one heaviest first, so that the largest buffers come first; ties in the
 * order of units. */
static int compare_items(const void *a, const void *b)
{
    const struct bi_item *x = *(struct bi_item *const *)a, *y = *(struct bi_item *const *)b;
    if (x->program != y->program)
        return x->program < y->program ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    if (x->unit->number != y->unit->number)
        return x->unit->number < y->unit->number ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* ---- one batch ---- */

static int32_t bucket(int32_t n)
{
    const int64_t room = n ? bi_bucket(n) : 0;
    return room < INT32_MAX ? (int32_t)room : INT32_MAX;
}

static struct bi_counts capacity_of(const struct bi_counts *c)
{
    struct bi_counts room;
#define BI_COUNT_ROW(field, joins) room.field = bucket(c->field);
#include "../kernels/axes.inc"
    return room;
}

void *bi_batch_input(const struct bi_batch_place *place, const char *name)
{
    return bi_exec_input(place->slot, name);
}

void *bi_batch_input_trip(const struct bi_batch_place *place, const char *name, int64_t trip)
{
    return bi_exec_input_trip(place->slot, name, trip);
}

const void *bi_batch_output(const struct bi_batch_place *place, const struct bi_output *output,
                            int64_t *ld)
{
    return bi_exec_output(place->slot, output, ld);
}

/* Makes input `in`, a table of starts, of order[0, n); up to the bucket's end it has the last one.
 */
static void pack_starts(const struct bi_task_input *in, const struct bi_graph *g, int32_t *to,
                        struct bi_item *const *order, size_t n)
{
    const struct bi_counts bucket = bi_graph_bucket(g);
    const enum bi_axis axis = in->axis ? in->axis : BI_AXIS_SEQS;
    struct bi_counts at = {0};
    int64_t made = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t n_starts = in->axis ? bi_live_rows(&order[i]->size, (int)axis, 0) : 1;
        const int64_t rows = bi_live_rows(&order[i]->size, (int)in->rebase, 0);
        const int64_t first = bi_live_rows(&at, (int)in->rebase, 0);
        for (int64_t k = 0; k < n_starts; k++)
            to[made++] = (int32_t)(first + rows / n_starts * k);
        add_item(&at, before(order, i), order[i]);
    }
    while (made <= bi_live_rows(&bucket, (int)axis, 0))
        to[made++] = (int32_t)bi_live_rows(&at, (int)in->rebase, 0);
}

/* Packs input number `input` of order[0, n). False: this plan does not use it. */
static bool pack_input(const struct bioinfer_task *t, const struct bi_exec_slot *slot,
                       struct bi_item *const *order, size_t n, int input)
{
    const struct bi_task_input *in = &t->def->inputs[input];
    unsigned char *to = bi_exec_input(slot, in->name);
    struct bi_counts at = {0};
    if (!to)
        return false;
    if (in->starts) {
        pack_starts(in, slot->plan->graph, (int32_t *)to, order, n);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        const struct bi_item *item = order[i];
        const int32_t base = (int32_t)bi_live_rows(&at, in->rebase, 0);
        const size_t n_rows = (size_t)bi_live_rows(&item->size, in->axis, 0);
        const void *rows = t->def->rows(t, item, input);
        unsigned char *mine = to + (size_t)bi_live_rows(&at, in->axis, 0) * in->row_size;
        if (rows)
            memcpy(mine, rows, n_rows * in->row_size);
        for (size_t k = 0; rows && in->rebase && k < n_rows; k++)
            ((int32_t *)mine)[k] += base;
        add_item(&at, before(order, i), item);
    }
    return true;
}

static int pack(const struct bioinfer_task *t, const struct bi_exec_slot *slot,
                struct bi_item *const *order, size_t n, struct bioinfer_error *err)
{
    struct bi_batch_place place = {.slot = slot, .n_items = (int64_t)n};
    int n_known = 0;
    for (int k = 0; k < t->def->n_inputs; k++)
        n_known += pack_input(t, slot, order, n, k);
    for (int k = 0; k < t->def->n_made; k++)
        n_known += bi_exec_input(slot, t->def->made[k]) != NULL;
    if (n_known != slot->plan->n_inputs)
        return bi_fail(err, BIOINFER_INTERNAL,
                       "%s: the graph has an input that task %s does not "
                       "know",
                       t->model->base.def->name, t->def->name);
    for (size_t i = 0; t->def->fill && i < n; i++) {
        place.index = (int64_t)i;
        place.part_begins = part_begins(before(order, i), order[i]);
        t->def->fill(t, order[i], &place);
        add_item(&place.at, before(order, i), order[i]);
    }
    return 0;
}

/* Packs and submits order[0, n). 1: not beside the batch on its way, see bi_exec_begin. */
static int start(struct run *r, struct bi_item **order, size_t n, struct bi_exec_slot **slot,
                 struct bioinfer_error *err)
{
    struct bioinfer_task *t = r->t;
    struct bi_batch b = {.items = order, .n_items = n, .wide = r->wide || t->wide};
    struct bi_exec_batch batch = {0};
    struct bi_recipe recipe;
    int st;
    for (size_t i = 0; i < n; i++) {
        const double n_tokens = order[i]->size.n_tokens;
        add_item(&b.counts, before(order, i), order[i]);
        batch.pairs += n_tokens * n_tokens;
    }
    if (b.counts.n_grid == INT32_MAX)
        return bi_fail(err, BIOINFER_TOO_LONG, "a batch of %d pairs of tokens or more", INT32_MAX);
    b.capacity = capacity_of(&b.counts);
    batch.counts = b.counts;
    batch.recipe = &recipe;
    if ((st = t->def->recipe(t, &b, &recipe, err)) ||
        (st = bi_exec_begin(t->exec, &batch, slot, err)) || (st = pack(t, *slot, order, n, err)))
        return st;
    return bi_exec_submit(t->exec, *slot, err);
}

static void settle(struct bi_item *item)
{
    if (item->state != BI_ITEM_DONE)
        item->unit->n_left--;
    item->state = BI_ITEM_DONE;
}

/* Gives the outputs of a batch to its items. AGAIN: it must be computed again. */
static int collect(struct run *r, const struct bi_exec_slot *slot, struct bi_item **order, size_t n,
                   struct bioinfer_error *err)
{
    struct bioinfer_task *t = r->t;
    struct bi_batch_place place = {.slot = slot, .n_items = (int64_t)n};
    int again = t->def->again ? t->def->again(t, order, &place, err) : 0;
    if (again)
        return again < 0 ? again : AGAIN;
    for (size_t i = 0; i < n; add_item(&place.at, before(order, i), order[i]), i++) {
        struct bi_item *item = order[i];
        struct bioinfer_error why = {0};
        int st = 0;
        place.index = (int64_t)i;
        place.part_begins = part_begins(before(order, i), item);
        if (!item->unit->status)
            st = t->def->collect(t, item, &place, &why);
        if (st == BIOINFER_NONFINITE && t->model->half && !r->wide && !t->wide) {
            item->state = BI_ITEM_WIDE;
            continue;
        }
        if (st == BIOINFER_NONFINITE)
            bi_unit_fail(t->env, item->unit, st, why.text);
        else if (st)
            return bi_fail(err, st, "%s", why.text);
        settle(item);
    }
    return 0;
}

/* ---- halves and float32 ---- */

static bool is_memory(int st)
{
    return st == BIOINFER_TOO_LONG || st == BIOINFER_NOMEM;
}

static int run_halves(struct run *r, struct bi_item **order, size_t n, struct bioinfer_error *err);
static int run_wide(struct run *r, struct bi_item **order, size_t n, struct bioinfer_error *err);

/* Waits for a batch and collects it. */
static int land(struct run *r, struct flight *flight, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    struct flight f = *flight;
    int st;
    flight->n = 0;
    if (!f.n)
        return 0;
    if (!(st = bi_exec_wait(r->t->exec, f.slot, &why)))
        st = collect(r, f.slot, f.order, f.n, &why);
    if (is_memory(st) || st == AGAIN)
        return run_halves(r, f.order, f.n, err);
    return st ? bi_fail(err, st, "%s", why.text) : run_wide(r, f.order, f.n, err);
}

/* Memory does not hold order[0]: runs what the task has in its place, or gives its unit that
 * status. */
static int run_instead(struct run *r, struct bi_item **order, const struct bioinfer_error *why,
                       struct bioinfer_error *err)
{
    struct bioinfer_task *t = r->t;
    struct bi_unit *u = order[0]->unit;
    struct bi_item **instead = NULL;
    const size_t n = t->def->too_large ? t->def->too_large(t, order[0], 1, &instead) : 0;
    if (!n) {
        char text[sizeof why->text];
        snprintf(text, sizeof text, "record '%.60s': %.900s", u->id, why->text);
        bi_unit_fail(t->env, u, why->status, text);
    }
    u->n_left += n;
    settle(order[0]);
    return n ? run_halves(r, instead, n, err) : 0;
}

/* Runs order[0, n) with nothing beside it; halves the batch when memory does not do, and runs it
 * again where the task asks for it. */
static int run_halves(struct run *r, struct bi_item **order, size_t n, struct bioinfer_error *err)
{
    size_t done = 0, step = n;
    int st = land(r, &r->flight, err);
    while (done < n && !st) {
        size_t count = n - done < step ? n - done : step;
        struct bioinfer_error why = {0};
        struct bi_exec_slot *slot;
        if (order[done]->state == BI_ITEM_DONE) { /* collected before memory failed another one */
            done++;
            continue;
        }
        if (!(st = start(r, order + done, count, &slot, &why)) &&
            !(st = bi_exec_wait(r->t->exec, slot, &why)))
            st = collect(r, slot, order + done, count, &why);
        if (!st) {
            done += count;
        } else if (st == AGAIN) { /* the items have other sizes now */
            st = 0;
        } else if (!is_memory(st)) {
            bi_fail(err, st, "%s", why.text);
        } else if (count > 1) {
            if (r->t->def->too_large)
                r->t->def->too_large(r->t, order[done], count, NULL);
            step = count / 2;
            st = 0;
        } else {
            why.status = st;
            st = run_instead(r, order + done++, &why, err);
        }
    }
    return st || r->wide ? st : run_wide(r, order, n, err);
}

/* Runs the items of order[0, n) whose values left the range of float16 once more in float32. An
 * overflow cannot go unseen: it is infinite in the operand, infinite or NaN in all that depends on
 * it. */
static int run_wide(struct run *r, struct bi_item **order, size_t n, struct bioinfer_error *err)
{
    struct bi_item **wide = NULL;
    size_t n_wide = 0;
    int st = 0;
    for (size_t i = 0; i < n; i++)
        n_wide += order[i]->state == BI_ITEM_WIDE;
    if (!n_wide)
        return 0;
    if ((st = land(r, &r->flight, err)))
        return st;
    if (!(wide = bi_calloc(r->t->env, n_wide, sizeof(*wide))))
        return bi_fail(err, BIOINFER_NOMEM, "batch of %zu items", n_wide);
    n_wide = 0;
    for (size_t i = 0; i < n; i++) {
        if (order[i]->state != BI_ITEM_WIDE)
            continue;
        r->t->n_wide += !order[i]->unit->was_wide;
        order[i]->unit->was_wide = true;
        wide[n_wide++] = order[i];
    }
    r->wide = true;
    st = run_halves(r, wide, n_wide, err);
    r->wide = false;
    bi_free(r->t->env, wide);
    return st;
}

/* Sends order[0, n) on its way and lands the batch before it. */
static int launch(struct run *r, struct bi_item **order, size_t n, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    struct flight before, next = {.order = order, .n = n};
    int st = start(r, order, n, &next.slot, &why);
    if (st == 1) /* not beside the one on its way */
        st = (st = land(r, &r->flight, err)) ? st : start(r, order, n, &next.slot, &why);
    if (is_memory(st))
        return run_halves(r, order, n, err);
    if (st)
        return why.status ? bi_fail(err, st, "%s", why.text) : st;
    before = r->flight;
    r->flight = next;
    return r->t->model->caps.async ? land(r, &before, err) : land(r, &r->flight, err);
}

/* ---- results ---- */

/* Hands out every unit of a window that is done and next in order. */
static int deliver_window(struct run *r, struct window *w, struct bioinfer_error *err)
{
    while (w->next < w->n && !w->units[w->next]->n_left && w->units[w->next]->is_over) {
        struct bi_unit *u = w->units[w->next++];
        int st = r->t->def->result(r->t, u, err);
        unit_free(r->t, u);
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
        window_clear(r->t, r->old);
        r->old = NULL;
    }
    return deliver_window(r, r->now, err);
}

static int progress(struct run *r, struct bioinfer_error *err)
{
    const struct bioinfer_task *t = r->t;
    const struct bioinfer_profile *figures = &t->exec->profile;
    if (t->progress &&
        t->progress(t->progress_user, figures->records, figures->residues + t->part_residues))
        return bi_fail(err, BIOINFER_CANCELLED, "cancelled after %" PRIu64 " records",
                       figures->records);
    return 0;
}

/* ---- one run ---- */

/* Does a unit of the window have items to come? */
static bool goes_on(const struct window *w)
{
    size_t i = w->next;
    while (i < w->n && w->units[i]->is_over)
        i++;
    return i < w->n;
}

/* Asks the task for further items of the units whose items are done. What has to go out before
 * them does so when all units in front are handed out; until then that unit waits. */
static int next_items(struct bioinfer_task *t, struct window *w, struct bioinfer_error *err)
{
    for (size_t i = w->next; i < w->n; i++) {
        struct bi_unit *u = w->units[i];
        int st = 0;
        if (u->is_over || u->n_left || (u->has_piece && !u->status && i > w->next))
            continue;
        if (u->has_piece && !u->status)
            st = t->def->result(t, u, err);
        u->has_piece = false;
        if (st || (st = u->status ? 0 : t->def->next(t, u, err)) < 0)
            return st;
        u->is_over |= !st;
        u->n_left = st ? u->n_items : 0;
    }
    return 0;
}

/* Lists the items of a window that wait, as they are to be computed. */
static int sort_items(struct bioinfer_task *t, struct window *w, size_t *n,
                      struct bioinfer_error *err)
{
    *n = 0;
    for (size_t i = w->next; i < w->n; i++)
        *n += w->units[i]->n_left;
    if (!bi_grow(t->env, &w->order, &w->cap_order, *n, sizeof(*w->order)))
        return bi_fail(err, BIOINFER_NOMEM, "order of %zu items", *n);
    *n = 0;
    for (size_t i = w->next; i < w->n; i++)
        for (size_t k = 0; w->units[i]->n_left && k < w->units[i]->n_items; k++)
            w->order[(*n)++] = &w->units[i]->items[k];
    if (*n)
        qsort(w->order, *n, sizeof(*w->order), compare_items);
    return 0;
}

/* Gives the end of the next batch, order[*first, end). Items of failed units are passed over. */
static size_t next_batch(const struct bioinfer_task *t, struct bi_item **order, size_t *first,
                         size_t n)
{
    struct bi_counts counts = {0};
    int64_t load = 0;
    size_t end;
    for (; *first < n && order[*first]->unit->status; ++*first)
        settle(order[*first]);
    for (end = *first; end < n; end++) {
        const int64_t before = load;
        add_item(&counts, end > *first ? order[end - 1] : NULL, order[end]);
        load = load_of(t, &counts);
        if (end > *first && (order[end]->program != order[*first]->program ||
                             (load > t->batch_tokens && load > before)))
            break; /* an item that adds nothing to the load always fits */
    }
    return t->def->take && end > *first ? *first + t->def->take(t, order + *first, end - *first)
                                        : end;
}

/* Sends every batch of the items of `now` that wait on its way; the last one may still fly. */
static int run_items(struct run *r, size_t n, struct bioinfer_error *err)
{
    struct bioinfer_task *t = r->t;
    struct window *w = r->now, *next = w == r->windows ? r->windows + 1 : r->windows;
    size_t first = 0, end;
    int st = 0;
    while (!st && (end = next_batch(t, w->order, &first, n), end > first)) {
        const int64_t most = window_load(t);
        const int64_t ahead = next->load + 2 * t->batch_tokens;
        if (!(st = launch(r, w->order + first, end - first, err)))
            st = deliver(r, err);
        first = end;
        if (!st && r->flight.n && !r->old)
            read_window(r, next, ahead < most ? ahead : most, err);
        if (!st)
            st = progress(r, err);
    }
    return st;
}

/* Runs the window `now`. Where no unit has items that follow others, the last batch may still
 * fly. */
static int run_window(struct run *r, struct bioinfer_error *err)
{
    struct bioinfer_task *t = r->t;
    size_t n;
    int st = sort_items(t, r->now, &n, err);
    if (!st)
        st = run_items(r, n, err);
    if (!st && (r->old || goes_on(r->now))) /* this window had nothing to run, or more may follow */
        st = land(r, &r->flight, err);
    if (!st)
        st = deliver(r, err);
    while (!st && goes_on(r->now)) {
        if (!(st = next_items(t, r->now, err)) && !(st = sort_items(t, r->now, &n, err)) &&
            !(st = run_items(r, n, err)) && !(st = land(r, &r->flight, err)))
            st = deliver(r, err);
    }
    return st;
}

/* Lands the batch that flies, and hands out what is left. */
static int settle_all(struct run *r, struct bioinfer_error *err)
{
    int st = 0;
    if (r->flight.n && !(st = land(r, &r->flight, err)) && !(st = deliver(r, err)))
        st = progress(r, err);
    return st;
}

static int run_all(struct run *r, struct bioinfer_error *err)
{
    struct bioinfer_task *t = r->t;
    uint64_t n_out = 0;
    int st = 0;
    r->now = r->windows;
    r->more = 1;
    for (;;) {
        /* the first window is one batch, so that first results come early */
        const bool first = !t->exec->profile.passes && !r->flight.n;
        if (!r->now->n)
            read_window(r, r->now, first ? t->batch_tokens : window_load(t), err);
        if (!r->now->n && r->more == BIOINFER_NONE_NOW && r->n_read > n_out) {
            if ((st = settle_all(r, err)))
                return st;
            n_out = r->n_read; /* all is handed out: the source is asked again */
            r->more = 1;
            continue;
        }
        if (!r->now->n)
            break;
        /* units read before a source failed are still delivered */
        if ((st = run_window(r, err)))
            return st;
        if (r->now->next < r->now->n)
            r->old = r->now;
        else
            window_clear(t, r->now);
        r->now = r->now == r->windows ? r->windows + 1 : r->windows;
    }
    st = settle_all(r, err);
    return st ? st : r->more;
}

int bi_task_run(struct bioinfer_task *t, struct bioinfer_error *err)
{
    struct run r = {.t = t};
    const double begun = bi_now();
    const int st = run_all(&r, err);
    bi_exec_abandon(t->exec);
    for (int i = 0; i < 2; i++) {
        window_clear(t, &r.windows[i]);
        bi_free(t->env, r.windows[i].units);
        bi_free(t->env, r.windows[i].order);
    }
    t->exec->profile.seconds += bi_now() - begun;
    return st;
}

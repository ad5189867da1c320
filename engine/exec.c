/* exec.c - the executor: cache of plans, two slots of buffers, batches, figures.
 *
 * Sections: life, memory, plans, one batch, figures. */
#include "exec.h"

#include <inttypes.h>
#include <string.h>

#include "engine.h"

/* ---- life ---- */

int bi_exec_new(struct bi_exec **out, struct bioinfer_model *model, int64_t memory_limit,
                struct bioinfer_error *err)
{
    struct bi_exec *x = bi_zalloc(model->base.env, sizeof *x);
    int st;
    *out = NULL;
    if (!x)
        return bi_fail(err, BIOINFER_NOMEM, "executor");
    x->env = model->base.env;
    x->model = model;
    x->memory_limit = memory_limit > 0          ? (uint64_t)memory_limit
                      : model->caps.memory_free ? model->caps.memory_free / 10 * 9
                                                : UINT64_MAX / 2;
    for (int i = 0; i < BI_SLOTS; i++)
        x->slots[i] = (struct bi_exec_slot){.index = i, .copies = &x->copies[i]};
    if ((st = model->ops->queue_new(&x->queue, model->device, err)))
        bi_exec_free(&x);
    *out = x;
    return st;
}

static void drop_plan(struct bi_exec *x, int at)
{
    struct bi_plan *p = x->plans[at];
    for (int i = 0; p && x->model->ops->release && i < BI_SLOTS; i++)
        x->model->ops->release(x->queue, &p->programs[i]);
    bi_plan_free(&x->plans[at], x->env);
}

/* An idle slot's blocks go. */
static void drop_blocks(struct bi_exec *x, struct bi_exec_slot *s)
{
    x->model->ops->free(x->model->device, &s->device_input);
    x->model->ops->free(x->model->device, &s->device_output);
    x->model->ops->host_free(x->model->device, s->input);
    x->model->ops->host_free(x->model->device, s->output);
    s->input = s->output = NULL;
    s->input_size = s->output_size = 0;
    s->generation = ++x->generation;
}

void bi_exec_free(struct bi_exec **exec)
{
    struct bi_exec *x = *exec;
    if (!x)
        return;
    if (x->queue)
        bi_exec_abandon(x);
    for (int i = 0; i < BI_PLAN_CACHE; i++)
        drop_plan(x, i);
    for (int i = 0; i < BI_SLOTS; i++)
        drop_blocks(x, &x->slots[i]);
    bi_kept_drop_all(x);
    x->model->ops->free(x->model->device, &x->activation);
    x->model->ops->queue_free(&x->queue);
    bi_free(x->env, x);
    *exec = NULL;
}

/* ---- memory ---- */

static int grow_device(struct bi_exec *x, struct bi_buffer *b, uint64_t size, bool *moved,
                       struct bioinfer_error *err)
{
    const struct bi_backend_ops *ops = x->model->ops;
    if (b->size >= size && b->ptr)
        return 0;
    ops->free(x->model->device, b);
    *moved = true;
    x->profile.allocations++;
    return ops->alloc(x->model->device, b, size ? size : BI_ALIGN, err);
}

static int grow_host(struct bi_exec *x, unsigned char **b, uint64_t *have, uint64_t size,
                     struct bioinfer_error *err)
{
    const struct bi_backend_ops *ops = x->model->ops;
    void *ptr = NULL;
    int st;
    if (*have >= size && *b)
        return 0;
    ops->host_free(x->model->device, *b);
    *b = NULL;
    *have = 0;
    x->profile.allocations++;
    if ((st = ops->host_alloc(x->model->device, &ptr, size ? size : BI_ALIGN, err)))
        return st;
    *b = ptr;
    *have = size ? size : BI_ALIGN;
    return 0;
}

/* Blocks for a batch of this plan. A moved buffer starts a generation, also when a later one
 * cannot be had: programs bound to the old addresses must not run. */
static int grow(struct bi_exec *x, struct bi_exec_slot *s, const struct bi_memory_plan *m,
                struct bioinfer_error *err)
{
    bool moved = false, all_moved = false;
    int st = grow_device(x, &s->device_input, m->input_size, &moved, err);
    if (!st)
        st = grow_device(x, &s->device_output, m->output_size, &moved, err);
    if (!st)
        st = grow_device(x, &x->activation, m->activation_size, &all_moved, err);
    if (!st)
        st = grow_host(x, &s->input, &s->input_size, m->upload_size, err);
    if (!st)
        st = grow_host(x, &s->output, &s->output_size, m->download_size, err);
    for (int i = 0; (moved || all_moved) && i < BI_SLOTS; i++)
        if (all_moved || i == s->index)
            x->slots[i].generation = ++x->generation;
    return st;
}

/* Bytes of a batch's blocks, on the device and on the host. */
static uint64_t blocks_size(const struct bi_memory_plan *m)
{
    return m->input_size + m->output_size + m->upload_size + m->download_size;
}

/* The batch on its way beside slot s; NULL = there is none. */
static struct bi_exec_slot *other_running(struct bi_exec *x, const struct bi_exec_slot *s)
{
    for (int i = 0; i < BI_SLOTS; i++)
        if (i != s->index && x->slots[i].state == BI_SLOT_RUNNING)
            return &x->slots[i];
    return NULL;
}

/* Makes a batch of `alone` bytes fit beside slots and kept values, while no batch is on its way:
 * blocks of other slots go, then kept values into host memory. */
static int make_room(struct bi_exec *x, const struct bi_exec_slot *s, uint64_t alone,
                     uint64_t others, struct bioinfer_error *err)
{
    for (int i = 0; alone + others + x->kept_size > x->memory_limit && i < BI_SLOTS; i++)
        if (i != s->index)
            drop_blocks(x, &x->slots[i]);
    return alone + x->kept_size > x->memory_limit ? bi_kept_spill(x, err) : 0;
}

static int memory_for(struct bi_exec *x, struct bi_exec_slot *s, const struct bi_plan *p,
                      const struct bi_counts *counts, bool kept_stay, struct bioinfer_error *err)
{
    const struct bi_exec_slot *other = other_running(x, s);
    uint64_t alone = p->memory.activation_size + blocks_size(&p->memory), others = 0;
    uint64_t stay = kept_stay ? bi_kept_in_use(x) : 0;
    bool grows = x->activation.size < p->memory.activation_size;
    int st;
    if (alone + stay > x->memory_limit)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "%d tokens need %.1f MiB beside the weights, %.1f MiB are allowed",
                       counts->n_tokens, (double)(alone + stay) / 1048576,
                       (double)x->memory_limit / 1048576);
    for (int i = 0; i < BI_SLOTS; i++)
        others += i != s->index ? bi_slot_size(&x->slots[i]) : 0;
    if (alone + others + x->kept_size > x->memory_limit)
        bi_kept_drop_spare(x);
    /* blocks of another slot count; when it is not at work they can go */
    if (other && (alone + others + x->kept_size > x->memory_limit || grows))
        return 1;
    if ((!other && (st = make_room(x, s, alone, others, err))) ||
        (st = grow(x, s, &p->memory, err)) != BIOINFER_NOMEM)
        return st;
    if (other)
        return 1;
    for (int i = 0; i < BI_SLOTS; i++)
        drop_blocks(x, &x->slots[i]);
    st = bi_kept_spill(x, err);
    return st ? st : grow(x, s, &p->memory, err);
}

/* ---- plans ---- */

static bool in_use(const struct bi_exec *x, const struct bi_plan *p)
{
    bool used = false;
    for (int i = 0; i < BI_SLOTS; i++)
        used |= x->slots[i].plan == p && x->slots[i].state != BI_SLOT_IDLE;
    return used;
}

/* Has a plan of the first key room for what the second asks for, being equal else? A size of 0 is
 * none at all. */
static bool has_room(const struct bi_plan_key *plan, const struct bi_plan_key *asked)
{
    const int64_t *has = (const void *)plan->shape, *asks = (const void *)asked->shape;
    const size_t at = plan->n_sizes * sizeof *has;
    if (plan->build != asked->build || plan->n_sizes != asked->n_sizes ||
        plan->wide != asked->wide ||
        memcmp(plan->shape + at, asked->shape + at, sizeof plan->shape - at) != 0)
        return false;
    for (size_t i = 0; i < plan->n_sizes; i++)
        if (has[i] < asks[i] || !has[i] != !asks[i])
            return false;
    return true;
}

/* The plan in the cache for a key: its own, or among many the smallest that has room; NULL = there
 * is none. */
static struct bi_plan *cached_plan(struct bi_exec *x, const struct bi_plan_key *key)
{
    struct bi_plan *roomy = NULL;
    int n = 0;
    for (int i = 0; i < BI_PLAN_CACHE; i++) {
        struct bi_plan *q = x->plans[i];
        n += q != NULL;
        if (q && !memcmp(&q->key, key, sizeof q->key))
            return q;
        if (q && has_room(&q->key, key) &&
            (!roomy || q->memory.activation_size < roomy->memory.activation_size))
            roomy = q;
    }
    return n < BI_PLANS_MANY ? NULL : roomy;
}

/* The place in the cache for a new plan: an empty one, or that of the plan used longest ago. */
static int oldest_plan(const struct bi_exec *x)
{
    int oldest = -1;
    for (int i = 0; i < BI_PLAN_CACHE; i++) {
        const struct bi_plan *q = x->plans[i];
        const uint64_t used = q ? q->used : 0;
        if (!in_use(x, q) && (oldest < 0 || (x->plans[oldest] && used < x->plans[oldest]->used)))
            oldest = i;
    }
    return oldest;
}

static int find_plan(struct bi_exec *x, const struct bi_recipe *recipe, struct bi_plan **out,
                     struct bioinfer_error *err)
{
    const struct bi_plan_key key = bi_plan_key_of(recipe);
    struct bi_plan *p = cached_plan(x, &key);
    int st;
    if (!p) {
        const int at = oldest_plan(x);
        if ((st = bi_plan_new(&p, x->model, recipe, err)))
            return st;
        drop_plan(x, at);
        x->plans[at] = p;
        x->profile.plans++;
    }
    p->used = ++x->clock;
    *out = p;
    return 0;
}

int bi_exec_fits(struct bi_exec *x, const struct bi_recipe *recipe, bool *fits,
                 struct bioinfer_error *err)
{
    struct bi_plan *p;
    const int st = find_plan(x, recipe, &p, err);
    if (!st)
        *fits = p->memory.activation_size + blocks_size(&p->memory) <= x->memory_limit;
    return st;
}

/* ---- one batch ---- */

/* The first slot that is not at work; a batch that was cut is over. */
static struct bi_exec_slot *free_slot(struct bi_exec *x)
{
    for (int i = 0; i < BI_SLOTS; i++)
        if (x->slots[i].state != BI_SLOT_RUNNING) {
            x->slots[i].state = BI_SLOT_IDLE;
            return &x->slots[i];
        }
    return NULL;
}

int bi_exec_begin(struct bi_exec *x, const struct bi_exec_batch *batch, struct bi_exec_slot **slot,
                  struct bioinfer_error *err)
{
    struct bi_exec_slot *s = free_slot(x);
    struct bi_counts counts = batch->counts;
    struct bi_program *program;
    struct bi_plan *p;
    int st;
    *slot = NULL;
    if (!s)
        return 1;
    if ((st = find_plan(x, batch->recipe, &p, err)) ||
        (st = bi_axes_count(p->graph, &counts, err)) ||
        (st = memory_for(x, s, p, &counts, batch->recipe->kept_stay, err)))
        return st;
    program = &p->programs[s->index];
    if (x->profiling && !program->seconds) {
        if (!(program->seconds = bi_calloc(x->env, p->n_launches + 1, sizeof *program->seconds)))
            return bi_fail(err, BIOINFER_NOMEM, "profile");
        p->bound[s->index] = 0; /* a timed program is prepared differently */
    }
    if (p->bound[s->index] != s->generation) {
        st = bi_plan_bind(p, s->index, x->model, s->device_input.ptr, x->activation.ptr,
                          s->device_output.ptr, err);
        if (!st)
            st = x->model->ops->prepare(x->queue, program, err);
        if (st)
            return st;
        p->bound[s->index] = s->generation;
    }
    if (p->memory.activation_size > x->profile.activation_size)
        x->profile.activation_size = p->memory.activation_size;
    if (p->memory.input_size + p->memory.output_size > x->profile.io_size)
        x->profile.io_size = p->memory.input_size + p->memory.output_size;
    x->profile.weight_size = x->model->store.size;
    s->plan = p;
    s->counts = counts;
    s->pairs = batch->pairs;
    *s->copies = (struct bi_exec_copies){.n = 0};
    s->state = BI_SLOT_FILLING;
    memcpy(s->input, &s->counts, sizeof s->counts);
    *slot = s;
    return 0;
}

void *bi_exec_input_trip(const struct bi_exec_slot *s, const char *name, int64_t trip)
{
    const struct bi_plan_input *in = s->plan->inputs;
    for (int i = 0; i < s->plan->n_inputs; i++)
        if (!strcmp(in[i].name, name))
            return s->input + in[i].offset + (uint64_t)trip * in[i].step;
    return NULL;
}

void *bi_exec_input(const struct bi_exec_slot *s, const char *name)
{
    return bi_exec_input_trip(s, name, 0);
}

void bi_exec_ask(struct bi_exec *x, int (*ask)(void *user), void *user)
{
    if (x->model->ops->ask)
        x->model->ops->ask(x->queue, ask, user);
}

int bi_exec_submit(struct bi_exec *x, struct bi_exec_slot *s, struct bioinfer_error *err)
{
    const struct bi_backend_ops *ops = x->model->ops;
    const struct bi_plan *p = s->plan;
    int st;
    if ((st = ops->upload(x->queue, s->index, s->device_input.ptr, s->input, p->memory.upload_size,
                          err)) ||
        (st = bi_kept_copy(x, s, false, err)) ||
        (st = ops->submit(x->queue, s->index, &p->programs[s->index], &s->counts, err)) ||
        (st = bi_kept_copy(x, s, true, err)) ||
        (st = ops->download(x->queue, s->index, s->output, s->device_output.ptr,
                            p->memory.download_size, err))) {
        ops->wait(x->queue, BI_ALL_SLOTS, NULL); /* launches that did start still read the blocks */
        s->state = BI_SLOT_IDLE;
        return st;
    }
    s->state = BI_SLOT_RUNNING;
    x->profile.uploads++;
    x->profile.submits++;
    x->profile.downloads++;
    return 0;
}

static void add_profile(struct bi_exec *x, const struct bi_exec_slot *s)
{
    const struct bi_plan *p = s->plan;
    const struct bi_graph *g = p->graph;
    const struct bi_program *program = &p->programs[s->index];
    double share = g->n_tokens ? (double)s->counts.n_tokens / (double)g->n_tokens : 1;
    double attention = g->n_tokens && g->longest && s->pairs > 0
                           ? s->pairs / ((double)g->n_tokens * (double)g->longest)
                           : share;
    x->profile.passes++;
    x->profile.tokens += (uint64_t)s->counts.n_tokens;
    for (int i = 0; program->seconds && i < program->n_launches; i++) {
        struct bioinfer_op_profile *o = &x->ops[p->op_of[i]];
        const struct bi_launch *l = &program->launches[i];
        o->launches++;
        o->seconds += program->seconds[i];
        o->flops += l->flops * (l->op->pairs ? attention : share);
        o->bytes += l->bytes * (l->op->pairs ? attention : share);
        program->seconds[i] = 0;
    }
}

int bi_exec_wait(struct bi_exec *x, struct bi_exec_slot *s, struct bioinfer_error *err)
{
    int st;
    if (s->state != BI_SLOT_RUNNING)
        return bi_fail(err, BIOINFER_INTERNAL, "slot %d is not at work", s->index);
    st = x->model->ops->wait(x->queue, s->index, err);
    if (st)
        x->model->ops->wait(x->queue, BI_ALL_SLOTS, NULL);
    s->state = st ? BI_SLOT_IDLE : BI_SLOT_DONE;
    if (!st)
        add_profile(x, s);
    return st;
}

const void *bi_exec_output(const struct bi_exec_slot *s, const struct bi_output *output,
                           int64_t *ld)
{
    const struct bi_slot *at = &s->plan->memory.slots[output->value];
    *ld = at->ld;
    return s->output + at->offset;
}

void bi_exec_abandon(struct bi_exec *x)
{
    bool running = false;
    for (int i = 0; i < BI_SLOTS; i++) {
        running |= x->slots[i].state == BI_SLOT_RUNNING;
        x->slots[i].state = BI_SLOT_IDLE;
    }
    if (running)
        x->model->ops->wait(x->queue, BI_ALL_SLOTS, NULL);
}

/* ---- figures ---- */

int bi_exec_get_profile(struct bi_exec *x, struct bioinfer_profile *profile)
{
    size_t size;
    int n = 0;
    if (profile->struct_size < sizeof profile->struct_size)
        return BIOINFER_INVALID;
    for (int i = 0; i < BI_OP_COUNT; i++)
        if (x->ops[i].launches) {
            x->ops_shown[n] = x->ops[i];
            x->ops_shown[n++].op = bi_ops[i]->name;
        }
    size = profile->struct_size;
    x->profile.struct_size = size;
    x->profile.n_ops = n;
    x->profile.ops = x->ops_shown;
    memcpy(profile, &x->profile, size < sizeof x->profile ? size : sizeof x->profile);
    return 0;
}

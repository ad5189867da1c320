/* kept.c - kept values: what one program of an executor gives and others read, in device memory.
 *
 * A kept value is a block of the device that a batch's program fills and that other batches copy
 * into their input blocks, on the device: its bytes cross no bus. It counts as memory of batches.
 * Where the limit or the device does not do, it lies in host memory instead, and is copied from and
 * to there: the bytes are the same. */
#include <string.h>

#include "engine.h"

/* Bytes that batches hold at present, on the device and on the host. */
static uint64_t held_by_batches(const struct bi_exec *x)
{
    uint64_t held = x->activation.size;
    for (int i = 0; i < BI_SLOTS; i++)
        held += bi_slot_size(&x->slots[i]);
    return held;
}

static void drop(struct bi_exec *x, struct bi_kept **at)
{
    struct bi_kept *k = *at;
    *at = k->next;
    x->kept_size -= k->device.size;
    x->model->ops->free(x->model->device, &k->device);
    x->model->ops->host_free(x->model->device, k->host);
    bi_free(x->env, k);
}

void bi_kept_drop_spare(struct bi_exec *x)
{
    for (struct bi_kept **at = &x->kept; *at;) {
        if ((*at)->spare)
            drop(x, at);
        else
            at = &(*at)->next;
    }
}

void bi_kept_drop_all(struct bi_exec *x)
{
    while (x->kept)
        drop(x, &x->kept);
}

uint64_t bi_kept_in_use(const struct bi_exec *x)
{
    uint64_t size = 0;
    for (const struct bi_kept *k = x->kept; k; k = k->next)
        size += k->spare ? 0 : k->size;
    return size;
}

/* The smallest spare block that holds `size` bytes and is not much larger; NULL = there is none. */
static struct bi_kept *find_spare(const struct bi_exec *x, uint64_t size)
{
    struct bi_kept *best = NULL;
    for (struct bi_kept *k = x->kept; k; k = k->next)
        if (k->spare && k->device.ptr && k->device.size >= size && k->device.size / 2 <= size &&
            (!best || k->device.size < best->device.size))
            best = k;
    return best;
}

/* Takes memory of the device: 0, or NOMEM where the limit or the device does not do. */
static int take_device(struct bi_exec *x, struct bi_buffer *b, uint64_t size,
                       struct bioinfer_error *err)
{
    const uint64_t limit = x->memory_limit, batches = held_by_batches(x);
    int st;
    if (batches + x->kept_size + size > limit)
        bi_kept_drop_spare(x);
    if (batches + x->kept_size + size > limit)
        return bi_fail(err, BIOINFER_NOMEM, "kept values of %llu bytes", (unsigned long long)size);
    st = x->model->ops->alloc(x->model->device, b, size, err);
    if (st == BIOINFER_NOMEM) {
        bi_kept_drop_spare(x);
        st = x->model->ops->alloc(x->model->device, b, size, err);
    }
    return st;
}

int bi_kept_new(struct bi_kept **out, struct bi_exec *x, uint64_t size, struct bioinfer_error *err)
{
    struct bi_kept *k = find_spare(x, size);
    int st = 0;
    *out = k;
    if (k) {
        k->spare = false;
        return 0;
    }
    if (!(k = bi_zalloc(x->env, sizeof *k)))
        return bi_fail(err, BIOINFER_NOMEM, "kept value");
    x->profile.allocations++;
    k->size = size ? size : BI_ALIGN;
    if ((st = take_device(x, &k->device, k->size, NULL)) == BIOINFER_NOMEM)
        st = x->model->ops->host_alloc(x->model->device, &k->host, k->size, err);
    else if (st)
        bi_fail(err, st, "kept values of %llu bytes", (unsigned long long)k->size);
    if (st) {
        bi_free(x->env, k);
        return st;
    }
    x->kept_size += k->device.size;
    k->next = x->kept;
    x->kept = k;
    *out = k;
    return 0;
}

void bi_kept_free(struct bi_exec *x, struct bi_kept **kept)
{
    struct bi_kept *k = *kept, **at = &x->kept;
    *kept = NULL;
    if (!k)
        return;
    k->spare = true;
    while (*at != k)
        at = &(*at)->next;
    if (!k->device.ptr) /* in host memory as there was no other: the next one may be luckier */
        drop(x, at);
}

int bi_kept_spill(struct bi_exec *x, struct bioinfer_error *err)
{
    const struct bi_backend_ops *ops = x->model->ops;
    int st = 0;
    bi_kept_drop_spare(x);
    for (struct bi_kept *k = x->kept; !st && k; k = k->next) {
        if (!k->device.ptr)
            continue;
        if ((st = ops->host_alloc(x->model->device, &k->host, k->size, err)))
            return st;
        if ((st = ops->copy(x->queue, BI_COPY_OUT, k->host, k->device.ptr, k->size, err)) ||
            (st = ops->wait(x->queue, BI_ALL_SLOTS, err))) {
            ops->wait(x->queue, BI_ALL_SLOTS, NULL);
            ops->host_free(x->model->device, k->host);
            k->host = NULL;
            return st;
        }
        x->kept_size -= k->device.size;
        ops->free(x->model->device, &k->device);
    }
    return st;
}

/* ---- of a batch ---- */

static void add_copy(struct bi_exec_copies *c, struct bi_kept *kept, uint64_t at, bool gives,
                     uint64_t offset, uint64_t size)
{
    if (c->n == BI_EXEC_COPIES)
        c->too_many = true;
    else if (size)
        c->of[c->n++] = (struct bi_exec_copy){kept, at, offset, size, gives};
}

void bi_kept_take(const struct bi_exec_slot *s, const char *input, uint64_t to,
                  struct bi_kept *kept, uint64_t from, uint64_t size)
{
    const struct bi_plan *p = s->plan;
    for (int i = 0; i < p->n_kept; i++)
        if (!strcmp(p->kept[i].name, input))
            add_copy(s->copies, kept, from, false, p->kept[i].offset + to, size);
}

void bi_kept_give(const struct bi_exec_slot *s, const struct bi_output *output, uint64_t from,
                  struct bi_kept *kept, uint64_t to, uint64_t size)
{
    add_copy(s->copies, kept, to, true, s->plan->memory.slots[output->value].offset + from, size);
}

int bi_kept_copy(struct bi_exec *x, const struct bi_exec_slot *s, bool gives,
                 struct bioinfer_error *err)
{
    const struct bi_backend_ops *ops = x->model->ops;
    int st = 0;
    if (s->copies->too_many)
        return bi_fail(err, BIOINFER_INTERNAL, "a batch has more than %d copies of kept values",
                       BI_EXEC_COPIES);
    for (int i = 0; !st && i < s->copies->n; i++) {
        const struct bi_exec_copy *c = &s->copies->of[i];
        const bool there = c->kept->device.ptr != NULL;
        char *kept = (char *)(there ? c->kept->device.ptr : c->kept->host) + c->at;
        if (c->gives != gives)
            continue;
        if (gives)
            st = ops->copy(x->queue, there ? BI_COPY_WITHIN : BI_COPY_OUT, kept,
                           (char *)s->device_output.ptr + c->offset, c->size, err);
        else
            st = ops->copy(x->queue, there ? BI_COPY_WITHIN : BI_COPY_IN,
                           (char *)s->device_input.ptr + c->offset, kept, c->size, err);
    }
    return st;
}

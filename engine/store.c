/* store.c - weights on the device, each once per layout; loaded when a plan first needs them. */
#include <math.h>
#include <string.h>

#include "../kernels/linear.h"
#include "engine.h"

enum { CHUNK_SIZE = 8 << 20 }; /* bytes of float32 read at a time */

int bi_store_new(struct bi_store *store, struct bioinfer_error *err)
{
    if (pthread_mutex_init(&store->lock, NULL))
        return bi_fail(err, BIOINFER_NOMEM, "lock of the weights");
    store->ready = true;
    return 0;
}

void bi_store_free(struct bioinfer_model *model)
{
    struct bi_store *s = &model->store;
    for (size_t i = 0; i < s->n; i++)
        model->ops->free(model->device, &s->entries[i].buffer);
    if (model->base.env)
        bi_free(model->base.env, s->entries);
    if (s->ready)
        pthread_mutex_destroy(&s->lock);
    *s = (struct bi_store){0};
}

static int check_finite(const struct bioinfer_model *model, const char *name, const float *x,
                        int64_t n, struct bioinfer_error *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return bi_fail(err, BIOINFER_NONFINITE, "%s: weight %s holds a value that is not "
                           "finite", model->path, name);
    return 0;
}

/* Rows [first, first + n) of weights stacked on each other. */
static int read_rows(struct bioinfer_model *model, const struct bi_value *value, int64_t first,
                     int64_t n, int64_t k, float *dst, struct bioinfer_error *err)
{
    int st = 0;
    for (int i = 0; !st && n && i < value->n_parts; i++) {
        const struct bi_weight *w = &model->base.weights[value->parts[i]];
        int64_t rows = w->shape[0] - first;
        if (rows <= 0) {
            first -= w->shape[0];
            continue;
        }
        rows = rows < n ? rows : n;
        st = bi_weight_read(&model->base, w, first, rows, dst, err);
        if (!st && model->check_weights)
            st = check_finite(model, w->name, dst, rows * k, err);
        dst += rows * k;
        n -= rows;
        first = 0;
    }
    return st;
}

/* The same in the order of bi_gate_row(): runs of a block. */
static int read_gated(struct bioinfer_model *model, const struct bi_value *value, int32_t block,
                      int64_t first, int64_t n, int64_t k, float *dst, struct bioinfer_error *err)
{
    const int64_t h = value->shape[0] / 2;
    int st = 0;
    for (int64_t at = 0, run; !st && at < n; at += run) {
        const int64_t row = bi_gate_row(first + at, h, block);
        for (run = 1; at + run < n && bi_gate_row(first + at + run, h, block) == row + run;)
            run++;
        st = read_rows(model, value, row, run, k, dst + at * k, err);
    }
    return st;
}

static int load(struct bioinfer_model *model, const struct bi_value *value,
                enum bi_layout layout, int32_t gate_block, struct bi_buffer *buffer,
                struct bioinfer_error *err)
{
    int64_t n = value->shape[0], k = value->rank == 2 ? value->shape[1] : 1;
    int64_t panel = layout == BI_LAYOUT_LINEAR ? model->caps.weight_panel : 1;
    int64_t step = CHUNK_SIZE / (int64_t)sizeof(float) / k / panel * panel;
    float *rows = NULL;
    int st;
    if (step < panel)
        step = panel;
    if (step > n)
        step = (n + panel - 1) / panel * panel;
    if ((st = model->ops->alloc(model->device, buffer,
                                model->ops->weight_size(model->device, layout, n, k), err)))
        return st;
    if (!(rows = bi_calloc(model->base.env, (size_t)step, (size_t)k * sizeof *rows))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: rows of %s", model->path, value->name);
        goto out;
    }
    for (int64_t at = 0; !st && at < n; at += step) {
        int64_t count = n - at < step ? n - at : step;
        st = gate_block ? read_gated(model, value, gate_block, at, count, k, rows, err)
                        : read_rows(model, value, at, count, k, rows, err);
        if (!st)
            st = model->ops->weight_write(model->device, buffer->ptr, layout, n, k, at, count,
                                          rows, err);
    }
out:
    bi_free(model->base.env, rows);
    if (st)
        model->ops->free(model->device, buffer);
    return st;
}

int bi_store_get(struct bioinfer_model *model, const struct bi_value *value,
                 enum bi_layout layout, int32_t gate_block, void **ptr,
                 struct bioinfer_error *err)
{
    struct bi_store *s = &model->store;
    struct bi_store_entry e = {.n_parts = value->n_parts, .layout = layout,
                               .gate_block = gate_block};
    int st = 0;
    memcpy(e.parts, value->parts, sizeof e.parts);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n; i++)
        if (s->entries[i].layout == layout && s->entries[i].gate_block == gate_block &&
            s->entries[i].n_parts == e.n_parts &&
            !memcmp(s->entries[i].parts, e.parts, (size_t)e.n_parts * sizeof e.parts[0])) {
            *ptr = s->entries[i].buffer.ptr;
            goto out;
        }
    if (!bi_grow(model->base.env, &s->entries, &s->cap, s->n + 1, sizeof *s->entries)) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: table of weights", model->path);
        goto out;
    }
    if ((st = load(model, value, layout, gate_block, &e.buffer, err)))
        goto out;
    s->size += e.buffer.size;
    s->entries[s->n++] = e;
    *ptr = e.buffer.ptr;
out:
    pthread_mutex_unlock(&s->lock);
    return st;
}

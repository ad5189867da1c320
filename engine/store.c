/* store.c - weights on the device, each once per layout; loaded when a plan first needs them. */
#include <math.h>
#include <string.h>

#include "../kernels/linear.h"
#include "engine.h"

enum { CHUNK_SIZE = 4 << 20 }; /* bytes of float32 a thread reads at a time */

int bi_store_new(struct bi_store *store, struct bioinfer_error *err)
{
    if (pthread_mutex_init(&store->lock, NULL))
        return bi_fail(err, BIOINFER_NOMEM, "lock of the weights");
    store->ready = true;
    return 0;
}

static void drop_entry(struct bioinfer_model *model, struct bi_store_entry *e)
{
    model->ops->free(model->device, &e->buffer);
    bi_free(model->base.env, e->rows);
    e->rows = NULL;
}

void bi_store_free(struct bioinfer_model *model)
{
    struct bi_store *s = &model->store;
    for (size_t i = 0; i < s->n; i++)
        drop_entry(model, &s->entries[i]);
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

/* Columns [column, column + k) of rows [first, first + n) of one weight. */
static int read_columns(struct bioinfer_model *model, const struct bi_weight *w, int64_t first,
                        int64_t n, int64_t column, int64_t k, float *dst,
                        struct bioinfer_error *err)
{
    int64_t width = w->rank == 2 ? w->shape[1] : 1;
    float *row;
    int st = 0;
    if (width == k)
        return bi_weight_read(&model->base, w, first, n, dst, err);
    if (!(row = bi_calloc(model->base.env, (size_t)width, sizeof *row)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: a row of %s", model->path, w->name);
    for (int64_t r = 0; !st && r < n; r++, dst += k)
        if (!(st = bi_weight_read(&model->base, w, first + r, 1, row, err)))
            memcpy(dst, row + column, (size_t)k * sizeof *dst);
    bi_free(model->base.env, row);
    return st;
}

/* Places [first, first + n) of a list of rows of one weight; runs of neighbours are read at once. */
static int read_list(struct bioinfer_model *model, const struct bi_value *value, int64_t first,
                     int64_t n, int64_t k, float *dst, struct bioinfer_error *err)
{
    const struct bi_weight *w = &model->base.weights[value->parts[0]];
    const int32_t *rows = value->rows + first;
    int st = 0;
    for (int64_t at = 0, run; !st && at < n; at += run) {
        for (run = 1; at + run < n && rows[at + run] == rows[at] + run;)
            run++;
        st = read_columns(model, w, rows[at], run, value->columns[0], k, dst + at * k, err);
    }
    return !st && model->check_weights ? check_finite(model, w->name, dst, n * k, err) : st;
}

/* Rows [first, first + n) of weights stacked on each other. */
static int read_rows(struct bioinfer_model *model, const struct bi_value *value, int64_t first,
                     int64_t n, int64_t k, float *dst, struct bioinfer_error *err)
{
    int st = 0;
    if (value->rows)
        return read_list(model, value, first, n, k, dst, err);
    for (int i = 0; !st && n && i < value->n_parts; i++) {
        const struct bi_weight *w = &model->base.weights[value->parts[i]];
        int64_t rows = w->shape[0] - first;
        if (rows <= 0) {
            first -= w->shape[0];
            continue;
        }
        rows = rows < n ? rows : n;
        st = read_columns(model, w, first, rows, value->columns[i], k, dst, err);
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

/* ---- loading: pieces of rows, by several threads ---- */

/* Some rows of one weight. */
struct piece {
    struct bi_store_entry *entry;
    const struct bi_value *value;
    int64_t first, rows;
};

static int64_t width_of(const struct bi_value *value)
{
    return value->rank == 2 ? value->shape[1] : 1;
}

/* Rows of a piece: CHUNK_SIZE bytes of float32, in whole panels. */
static int64_t piece_rows(const struct bioinfer_model *model, const struct bi_value *value,
                          enum bi_layout layout)
{
    int64_t panel = layout == BI_LAYOUT_LINEAR ? model->caps.weight_panel : 1;
    int64_t n = value->shape[0];
    int64_t step = CHUNK_SIZE / (int64_t)sizeof(float) / width_of(value) / panel * panel;
    if (step < panel)
        step = panel;
    return step < n ? step : n;
}

static int load_piece(struct bioinfer_model *model, const struct piece *p, float *rows,
                      struct bioinfer_error *err)
{
    int64_t n = p->value->shape[0], k = width_of(p->value);
    int st = p->entry->gate_block
                 ? read_gated(model, p->value, p->entry->gate_block, p->first, p->rows, k, rows,
                              err)
                 : read_rows(model, p->value, p->first, p->rows, k, rows, err);
    return st ? st : model->ops->weight_write(model->device, p->entry->buffer.ptr,
                                              p->entry->layout, n, k, p->first, p->rows, rows,
                                              err);
}

/* Every piece lands in a place of its own, so neither their order nor the number of threads
 * changes a byte. The error told is that of the first piece that failed. */
static int load_pieces(struct bioinfer_model *model, const struct piece *pieces, int64_t n,
                       struct bioinfer_error *err)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the three below */
    struct bioinfer_error why = {0};
    int64_t worst_at = n, largest = 0;
    int worst = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t size = pieces[i].rows * width_of(pieces[i].value);
        largest = size > largest ? size : largest;
    }
#pragma omp parallel num_threads(model->ctx->n_threads) if (n > 1)
    {
        float *rows = bi_calloc(model->base.env, (size_t)largest, sizeof *rows);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n; i++) {
            struct bioinfer_error mine = {0};
            int st;
            bool go;
            pthread_mutex_lock(&lock);
            go = i < worst_at;
            pthread_mutex_unlock(&lock);
            if (!go)
                continue;
            st = rows ? load_piece(model, &pieces[i], rows, &mine)
                      : bi_fail(&mine, BIOINFER_NOMEM, "%s: rows of %s", model->path,
                                pieces[i].value->name);
            if (!st)
                continue;
            pthread_mutex_lock(&lock);
            if (i < worst_at) {
                worst_at = i;
                worst = st;
                why = mine;
            }
            pthread_mutex_unlock(&lock);
        }
        bi_free(model->base.env, rows);
    }
    return worst ? bi_fail(err, worst, "%s", why.text) : 0;
}

static bool same_rows(const struct bi_store_entry *e, const struct bi_value *v)
{
    if (!e->rows || !v->rows)
        return !e->rows && !v->rows;
    return e->n_rows == v->shape[0] &&
           !memcmp(e->rows, v->rows, (size_t)e->n_rows * sizeof *e->rows);
}

static struct bi_store_entry *find(const struct bi_store *s, const struct bi_weight_need *need)
{
    const struct bi_value *v = need->value;
    for (size_t i = 0; i < s->n; i++)
        if (s->entries[i].layout == need->layout &&
            s->entries[i].gate_block == need->gate_block && s->entries[i].n_parts == v->n_parts &&
            s->entries[i].width == width_of(v) && same_rows(&s->entries[i], v) &&
            !memcmp(s->entries[i].columns, v->columns, sizeof v->columns) &&
            !memcmp(s->entries[i].parts, v->parts, (size_t)v->n_parts * sizeof v->parts[0]))
            return &s->entries[i];
    return NULL;
}

/* Entries with memory for what is not there yet, behind those that are. */
static int add_entries(struct bioinfer_model *model, const struct bi_weight_need *needs, size_t n,
                       struct bioinfer_error *err)
{
    struct bi_store *s = &model->store;
    for (size_t i = 0; i < n; i++) {
        const struct bi_value *v = needs[i].value;
        struct bi_store_entry e = {.n_parts = v->n_parts, .layout = needs[i].layout,
                                   .gate_block = needs[i].gate_block, .value = v};
        int st;
        if (find(s, &needs[i]))
            continue;
        memcpy(e.parts, v->parts, sizeof e.parts);
        memcpy(e.columns, v->columns, sizeof e.columns);
        e.width = width_of(v);
        if (!bi_grow(model->base.env, &s->entries, &s->cap, s->n + 1, sizeof *s->entries))
            return bi_fail(err, BIOINFER_NOMEM, "%s: table of weights", model->path);
        if (v->rows) {
            e.n_rows = v->shape[0];
            if (!(e.rows = bi_calloc(model->base.env, (size_t)e.n_rows, sizeof *e.rows)))
                return bi_fail(err, BIOINFER_NOMEM, "%s: rows of %s", model->path, v->name);
            memcpy(e.rows, v->rows, (size_t)e.n_rows * sizeof *e.rows);
        }
        if ((st = model->ops->alloc(model->device, &e.buffer,
                                    model->ops->weight_size(model->device, e.layout, v->shape[0],
                                                            width_of(v)), err))) {
            bi_free(model->base.env, e.rows);
            return st;
        }
        s->entries[s->n++] = e;
    }
    return 0;
}

/* Fills the entries from `first` on. */
static int fill_entries(struct bioinfer_model *model, size_t first, struct bioinfer_error *err)
{
    struct bi_store *s = &model->store;
    struct piece *pieces = NULL;
    size_t cap = 0;
    int64_t n = 0;
    int st = 0, flushed;
    for (size_t i = first; i < s->n; i++) {
        struct bi_store_entry *e = &s->entries[i];
        int64_t step = piece_rows(model, e->value, e->layout), rows = e->value->shape[0];
        for (int64_t at = 0; at < rows; at += step) {
            if (!bi_grow(model->base.env, &pieces, &cap, (size_t)n + 1, sizeof *pieces)) {
                st = bi_fail(err, BIOINFER_NOMEM, "%s: pieces of weights", model->path);
                goto out;
            }
            pieces[n++] = (struct piece){e, e->value, at, rows - at < step ? rows - at : step};
        }
    }
    st = load_pieces(model, pieces, n, err);
    flushed = model->ops->weight_flush ? model->ops->weight_flush(model->device, st ? NULL : err)
                                       : 0;
    st = st ? st : flushed;
out:
    bi_free(model->base.env, pieces);
    return st;
}

int bi_store_load(struct bioinfer_model *model, const struct bi_weight_need *needs, size_t n,
                  void **ptrs, struct bioinfer_error *err)
{
    struct bi_store *s = &model->store;
    size_t before;
    int st;
    pthread_mutex_lock(&s->lock);
    before = s->n;
    if (!(st = add_entries(model, needs, n, err)) && s->n > before)
        st = fill_entries(model, before, err);
    for (size_t i = before; i < s->n; i++) {
        s->entries[i].value = NULL; /* the caller's */
        if (st)
            drop_entry(model, &s->entries[i]);
        else
            s->size += s->entries[i].buffer.size;
    }
    if (st)
        s->n = before;
    for (size_t i = 0; !st && i < n; i++)
        ptrs[i] = find(s, &needs[i])->buffer.ptr;
    pthread_mutex_unlock(&s->lock);
    return st;
}

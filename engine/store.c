/* store.c - weights on the device, each once per layout; loaded when a plan first needs them.
 *
 * Each weight gets a checksum of its values, for the fingerprint of the model: while the weight is
 * read for the first time as a whole, or by bi_store_sum() when no plan has read it so far. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "../base/team.h"
#include "../kernels/cpu/cpu.h"
#include "../kernels/linear.h"
#include "engine.h"

enum { CHUNK_SIZE = 1 << 20 }; /* bytes of float32 a thread reads at a time: less than its cache */

int bi_store_new(struct bioinfer_model *model, struct bioinfer_error *err)
{
    struct bi_store *s = &model->store;
    const size_t n = model->base.n_weights;
    s->sums = bi_calloc(model->base.env, n + 1, sizeof *s->sums);
    s->of_weight = bi_calloc(model->base.env, n + 1, sizeof *s->of_weight);
    if (!s->sums || !s->of_weight || pthread_mutex_init(&s->lock, NULL))
        return bi_fail(err, BIOINFER_NOMEM, "%s: table of weights", model->path);
    for (size_t i = 0; i < n; i++)
        s->of_weight[i] = -1;
    s->ready = true;
    bi_checksum_init(&s->keys);
    s->checksum = bi_cpu_kernels_usable(0)->checksum;
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
    if (model->base.env) {
        bi_free(model->base.env, s->entries);
        bi_free(model->base.env, s->of_weight);
        bi_free(model->base.env, s->sums);
    }
    if (s->ready)
        pthread_mutex_destroy(&s->lock);
    *s = (struct bi_store){0};
}

static int check_finite(const struct bioinfer_model *model, const char *name, const float *x,
                        int64_t n, struct bioinfer_error *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return bi_fail(err, BIOINFER_NONFINITE,
                           "%s: weight %s holds a value that is not "
                           "finite",
                           model->path, name);
    return 0;
}

static int64_t weight_width(const struct bi_weight *w)
{
    return w->rank == 2 ? w->shape[1] : 1;
}

/* Rows [first, first + n) of one weight, all columns, added to its checksum. A weight of rank 1 is
 * one row there, so it must come as a whole. */
static int read_summed(struct bioinfer_model *model, const struct bi_weight *w, int64_t first,
                       int64_t n, float *dst, struct bioinfer_error *err)
{
    struct bi_store *s = &model->store;
    struct bi_weight_sum *of = &s->sums[w - model->base.weights];
    uint64_t sum[2] = {0};
    int st = bi_weight_read(&model->base, w, first, n, dst, err);
    if (st)
        return st;
    if (w->rank == 1)
        s->checksum(sum, &s->keys, dst, 0, 1, n);
    else
        s->checksum(sum, &s->keys, dst, first, n, w->shape[1]);
    for (int k = 0; k < 2; k++)
        atomic_fetch_add_explicit(&of->sum[k], sum[k], memory_order_relaxed);
    return 0;
}

/* Columns [column, column + k) of rows [first, first + n) of one weight. */
static int read_columns(struct bioinfer_model *model, const struct bi_weight *w, int64_t first,
                        int64_t n, int64_t column, int64_t k, float *dst,
                        struct bioinfer_error *err)
{
    int64_t width = weight_width(w);
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

/* Places [first, first + n) of a list of rows of one weight; runs of neighbours are read at
 * once. */
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

/* Rows [first, first + n) of a transposed weight: columns of it, of each of its taps. */
static int read_transposed(struct bioinfer_model *model, const struct bi_value *value,
                           int64_t first, int64_t n, float *dst, struct bioinfer_error *err)
{
    const struct bi_weight *w = &model->base.weights[value->parts[0]];
    const int64_t taps = value->transposed, width = w->shape[1] / taps;
    const int64_t height = value->shape[1] / taps;
    float *row = bi_calloc(model->base.env, (size_t)w->shape[1], sizeof *row);
    int st = row ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: a row of %s", model->path, w->name);
    for (int64_t r = 0; !st && r < height; r++) {
        st = bi_weight_read(&model->base, w, value->rows ? value->rows[r] : r, 1, row, err);
        for (int64_t i = 0; !st && i < taps; i++)
            for (int64_t c = 0; c < n; c++)
                dst[(c * taps + i) * height + r] = row[(taps - 1 - i) * width + first + c];
    }
    bi_free(model->base.env, row);
    return !st && model->check_weights ? check_finite(model, w->name, dst, n * taps * height, err)
                                       : st;
}

/* Rows [first, first + n) of weights stacked on each other. Bit i of `sums`: part i is summed. */
static int read_rows(struct bioinfer_model *model, const struct bi_value *value, unsigned sums,
                     int64_t first, int64_t n, int64_t k, float *dst, struct bioinfer_error *err)
{
    int st = 0;
    if (value->transposed)
        return read_transposed(model, value, first, n, dst, err);
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
        st = sums >> i & 1 ? read_summed(model, w, first, rows, dst, err)
                           : read_columns(model, w, first, rows, value->columns[i], k, dst, err);
        if (!st && model->check_weights)
            st = check_finite(model, w->name, dst, rows * k, err);
        dst += rows * k;
        n -= rows;
        first = 0;
    }
    return st;
}

/* The same in the order of bi_gate_row(): runs of a block. */
static int read_gated(struct bioinfer_model *model, const struct bi_value *value, unsigned sums,
                      int32_t block, int64_t first, int64_t n, int64_t k, float *dst,
                      struct bioinfer_error *err)
{
    const int64_t h = value->shape[0] / 2;
    int st = 0;
    for (int64_t at = 0, run; !st && at < n; at += run) {
        const int64_t row = bi_gate_row(first + at, h, block);
        for (run = 1; at + run < n && bi_gate_row(first + at + run, h, block) == row + run;)
            run++;
        st = read_rows(model, value, sums, row, run, k, dst + at * k, err);
    }
    return st;
}

/* ---- loading: pieces of rows, by several threads ---- */

/* Some rows of an entry, or of one weight whose checksum alone is wanted. */
struct piece {
    struct bi_store_entry *entry; /* NULL: of `weight` */
    const struct bi_value *value;
    const struct bi_weight *weight;
    int64_t first, rows, width;
};

struct pieces {
    struct piece *list;
    size_t cap;
    int64_t n;
};

static int64_t width_of(const struct bi_value *value)
{
    return value->rank == 2 ? value->shape[1] : 1;
}

/* Rows of a piece: CHUNK_SIZE bytes of float32, in whole panels. */
static int64_t piece_rows(const struct bioinfer_model *model, const struct bi_value *value,
                          enum bi_layout layout)
{
    const bool packed = layout == BI_LAYOUT_LINEAR || layout == BI_LAYOUT_PANELS;
    const int64_t panel = packed ? model->caps.weight_panel : 1;
    int64_t n = value->shape[0];
    int64_t step = CHUNK_SIZE / (int64_t)sizeof(float) / width_of(value) / panel * panel;
    if (step < panel)
        step = panel;
    return step < n ? step : n;
}

static int load_piece(struct bioinfer_model *model, const struct piece *p, float *rows,
                      struct bioinfer_error *err)
{
    const struct bi_store_entry *e = p->entry;
    int64_t n, k = p->width;
    int st;
    if (!e)
        return read_summed(model, p->weight, p->first, p->rows, rows, err);
    n = p->value->shape[0];
    st = e->gate_block
             ? read_gated(model, p->value, e->sums, e->gate_block, p->first, p->rows, k, rows, err)
             : read_rows(model, p->value, e->sums, p->first, p->rows, k, rows, err);
    return st ? st
              : model->ops->weight_write(model->device, p->entry->buffer.ptr, p->entry->layout, n,
                                         k, p->first, p->rows, rows, err);
}

struct loading {
    struct bioinfer_model *model;
    const struct piece *pieces;
    int64_t n, largest; /* values of the largest piece */
    _Atomic int64_t next;
    pthread_mutex_t lock; /* guards what is below */
    struct bioinfer_error why;
    int64_t worst_at;
    int worst;
};

/* Loads piece i unless one before it failed. */
static void load_one(struct loading *l, int64_t i, float *rows)
{
    struct bioinfer_error mine = {0};
    int st;
    bool go;
    pthread_mutex_lock(&l->lock);
    go = i < l->worst_at;
    pthread_mutex_unlock(&l->lock);
    if (!go)
        return;
    st = rows ? load_piece(l->model, &l->pieces[i], rows, &mine)
              : bi_fail(&mine, BIOINFER_NOMEM, "%s: rows of %s", l->model->path,
                        l->pieces[i].entry ? l->pieces[i].value->name : l->pieces[i].weight->name);
    if (!st)
        return;
    pthread_mutex_lock(&l->lock);
    if (i < l->worst_at) {
        l->worst_at = i;
        l->worst = st;
        l->why = mine;
    }
    pthread_mutex_unlock(&l->lock);
}

static void load_some(void *user, const struct bi_share *share)
{
    struct loading *l = user;
    float *rows = bi_calloc(l->model->base.env, (size_t)l->largest, sizeof *rows);
    int64_t i;
    if (!rows && share->thread)
        return; /* the others do without this thread */
    while ((i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed)) < l->n)
        load_one(l, i, rows);
    bi_free(l->model->base.env, rows);
}

/* Every piece lands in a place of its own, so neither their order nor the number of threads
 * changes a byte. The error told is that of the first piece that failed. */
static int load_pieces(struct bioinfer_model *model, const struct piece *pieces, int64_t n,
                       struct bioinfer_error *err)
{
    struct loading l = {
        .model = model, .pieces = pieces, .n = n, .worst_at = n, .lock = PTHREAD_MUTEX_INITIALIZER};
    for (int64_t i = 0; i < n; i++) {
        int64_t size = pieces[i].rows * pieces[i].width;
        l.largest = size > l.largest ? size : l.largest;
    }
    bi_team_run(model->base.env, n > 1 ? model->ctx->n_threads : 1, load_some, &l);
    return l.worst ? bi_fail(err, l.worst, "%s", l.why.text) : 0;
}

/* The length of a value's list of rows. */
static int64_t rows_taken(const struct bi_value *v)
{
    return v->transposed ? v->shape[1] / v->transposed : v->shape[0];
}

static bool same_rows(const struct bi_store_entry *e, const struct bi_value *v)
{
    if (!e->rows || !v->rows)
        return !e->rows && !v->rows;
    return e->n_rows == rows_taken(v) &&
           !memcmp(e->rows, v->rows, (size_t)e->n_rows * sizeof *e->rows);
}

static struct bi_store_entry *find(const struct bi_store *s, const struct bi_weight_need *need)
{
    const struct bi_value *v = need->value;
    for (int32_t i = s->of_weight[v->parts[0]]; i >= 0; i = s->entries[i].next) {
        struct bi_store_entry *e = &s->entries[i];
        if (e->layout == need->layout && e->gate_block == need->gate_block &&
            e->n_parts == v->n_parts && e->width == width_of(v) && same_rows(e, v) &&
            e->transposed == v->transposed && !memcmp(e->columns, v->columns, sizeof v->columns) &&
            !memcmp(e->parts, v->parts, (size_t)v->n_parts * sizeof v->parts[0]))
            return e;
    }
    return NULL;
}

/* Entries with memory for what is not there yet, behind those that are. */
static int add_entries(struct bioinfer_model *model, const struct bi_weight_need *needs, size_t n,
                       struct bioinfer_error *err)
{
    struct bi_store *s = &model->store;
    for (size_t i = 0; i < n; i++) {
        const struct bi_value *v = needs[i].value;
        struct bi_store_entry e = {.n_parts = v->n_parts,
                                   .layout = needs[i].layout,
                                   .gate_block = needs[i].gate_block,
                                   .transposed = v->transposed,
                                   .value = v};
        int st;
        if (find(s, &needs[i]))
            continue;
        memcpy(e.parts, v->parts, sizeof e.parts);
        memcpy(e.columns, v->columns, sizeof e.columns);
        e.width = width_of(v);
        if (!bi_grow(model->base.env, &s->entries, &s->cap, s->n + 1, sizeof *s->entries))
            return bi_fail(err, BIOINFER_NOMEM, "%s: table of weights", model->path);
        if (v->rows) {
            e.n_rows = rows_taken(v);
            if (!(e.rows = bi_calloc(model->base.env, (size_t)e.n_rows, sizeof *e.rows)))
                return bi_fail(err, BIOINFER_NOMEM, "%s: rows of %s", model->path, v->name);
            memcpy(e.rows, v->rows, (size_t)e.n_rows * sizeof *e.rows);
        }
        if ((st = model->ops->alloc(
                 model->device, &e.buffer,
                 model->ops->weight_size(model->device, e.layout, v->shape[0], width_of(v)),
                 err))) {
            bi_free(model->base.env, e.rows);
            return st;
        }
        e.next = s->of_weight[e.parts[0]];
        s->of_weight[e.parts[0]] = (int32_t)s->n;
        s->entries[s->n++] = e;
    }
    return 0;
}

/* The pieces of `like`, an entry or a weight of so many rows, `step` rows each. */
static int add_pieces(const struct bioinfer_model *model, struct pieces *p, struct piece like,
                      int64_t rows, int64_t step, struct bioinfer_error *err)
{
    for (int64_t at = 0; at < rows; at += step) {
        if (!bi_grow(model->base.env, &p->list, &p->cap, (size_t)p->n + 1, sizeof *p->list))
            return bi_fail(err, BIOINFER_NOMEM, "%s: pieces of weights", model->path);
        like.first = at;
        like.rows = rows - at < step ? rows - at : step;
        p->list[p->n++] = like;
    }
    return 0;
}

/* Chooses the parts of an entry whose checksum is made while it is filled, `step` rows at a time:
 * those that it has as a whole, and that nothing has summed or is about to. */
static void choose_sums(struct bioinfer_model *model, struct bi_store_entry *e, int64_t step)
{
    int64_t rows = 0;
    for (int i = 0; i < e->n_parts; i++)
        rows += model->base.weights[e->parts[i]].shape[0];
    if (e->rows || e->transposed || rows != e->value->shape[0] ||
        (e->value->rank == 1 && rows > step))
        return;
    for (int i = 0; i < e->n_parts; i++) {
        struct bi_weight_sum *sum = &model->store.sums[e->parts[i]];
        if (sum->state != BI_SUM_NONE || e->columns[i] ||
            e->width != weight_width(&model->base.weights[e->parts[i]]))
            continue;
        sum->state = BI_SUM_BEGUN;
        e->sums |= 1u << i;
    }
}

/* After a fill: what was summed is complete, or to be summed from the start. */
static void settle_sums(struct bioinfer_model *model, bool ok)
{
    for (size_t i = 0; i < model->base.n_weights; i++) {
        struct bi_weight_sum *sum = &model->store.sums[i];
        if (sum->state != BI_SUM_BEGUN)
            continue;
        sum->state = ok ? BI_SUM_DONE : BI_SUM_NONE;
        for (int k = 0; !ok && k < 2; k++)
            atomic_store_explicit(&sum->sum[k], 0, memory_order_relaxed);
    }
}

/* Fills the entries from `first` on. */
static int fill_entries(struct bioinfer_model *model, size_t first, struct bioinfer_error *err)
{
    struct bi_store *s = &model->store;
    struct pieces pieces = {0};
    int st = 0, flushed;
    for (size_t i = first; !st && i < s->n; i++) {
        struct bi_store_entry *e = &s->entries[i];
        const struct piece like = {.entry = e, .value = e->value, .width = e->width};
        const int64_t step = piece_rows(model, e->value, e->layout);
        choose_sums(model, e, step);
        st = add_pieces(model, &pieces, like, e->value->shape[0], step, err);
    }
    if (!st) {
        st = load_pieces(model, pieces.list, pieces.n, err);
        flushed = model->ops->weight_flush
                      ? model->ops->weight_flush(model->device, st ? NULL : err)
                      : 0;
        st = st ? st : flushed;
    }
    settle_sums(model, !st);
    bi_free(model->base.env, pieces.list);
    return st;
}

int bi_store_sum(struct bioinfer_model *model, struct bioinfer_error *err)
{
    struct pieces pieces = {0};
    int st = 0;
    for (size_t i = 0; !st && i < model->base.n_weights; i++) {
        const struct bi_weight *w = &model->base.weights[i];
        const struct piece like = {.weight = w, .width = weight_width(w)};
        const int64_t step = w->rank == 1 || !w->shape[1]
                                 ? w->shape[0]
                                 : CHUNK_SIZE / (int64_t)sizeof(float) / w->shape[1];
        if (model->store.sums[i].state != BI_SUM_NONE)
            continue;
        model->store.sums[i].state = BI_SUM_BEGUN;
        st = add_pieces(model, &pieces, like, w->shape[0], step ? step : 1, err);
    }
    if (!st)
        st = load_pieces(model, pieces.list, pieces.n, err);
    settle_sums(model, !st);
    bi_free(model->base.env, pieces.list);
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
        s->size += st ? 0 : s->entries[i].buffer.size;
    }
    while (st && s->n > before) {
        struct bi_store_entry *e = &s->entries[--s->n];
        s->of_weight[e->parts[0]] = e->next;
        drop_entry(model, e);
    }
    for (size_t i = 0; !st && i < n; i++)
        ptrs[i] = find(s, &needs[i])->buffer.ptr;
    pthread_mutex_unlock(&s->lock);
    return st;
}

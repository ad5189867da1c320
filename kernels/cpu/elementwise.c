/* elementwise.c - kernels that visit every number once: embedding, scale_rows, select_rows,
 * unary, add, mul, positions, rope_table, rope. A task is a run of rows (rows.h). */
#include "../add.h"
#include "../embedding.h"
#include "../halves.h"
#include "../mul.h"
#include "../positions.h"
#include "../rope.h"
#include "../rope_table.h"
#include "../scale_rows.h"
#include "../select_rows.h"
#include "../embedding_windows.h"
#include "../sequence_windows.h"
#include "../unary.h"
#include "attention_tile.h"
#include "entries.h"
#include "math.h"
#include "rows.h"

static void copy_row(float *y, const float *x, int width)
{
    memcpy(y, x, sizeof *y * (size_t)width);
}

static void scale_row(float *y, const float *x, float by, int width)
{
    for (int c = 0; c < width; c += VW) {
        const int n = lanes(c, width);
        vf_store_n(y + c, vf_mul(vf_load_n(x + c, n), vf_set1(by)), n);
    }
}

/* ---- embedding, scale_rows, select_rows ---- */

ROW_TASKS(embedding)

void BI_ISA_NAME(embedding_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_embedding_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = p->table + (int64_t)p->ids[r] * p->width;
        if (p->scale)
            scale_row(p->y + r * p->ldy, x, p->scale[r], p->width);
        else
            copy_row(p->y + r * p->ldy, x, p->width);
    }
}

ROW_TASKS(scale_rows)

void BI_ISA_NAME(scale_rows_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_scale_rows_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        scale_row(p->y + r * p->ldy, p->x + r * p->ldx, p->scale[r], p->width);
}

ROW_TASKS(select_rows)

void BI_ISA_NAME(select_rows_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_select_rows_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        copy_row(p->y + r * p->ldy, p->x + (int64_t)p->index[r] * p->ldx, p->width);
}

/* ---- halves: no CPU plan has it, the reference backend and the tests do ---- */

ROW_TASKS(halves)

/* The nearest number that float16 holds, ties to even; what is larger than 65,504 stays. */
static float to_half(float x)
{
    const float grid = 0.75f; /* the last place is that of float16 numbers below 2^-14 */
    uint32_t bits;
    if (x < 0x1p-14f && x > -0x1p-14f)
        return x < 0 ? -((grid - x) - grid) : (x + grid) - grid;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~(uint32_t)0x1fff;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void BI_ISA_NAME(halves_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_halves_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int32_t c = 0; c < p->width; c++) {
            const float x = p->x[r * p->ldx + c], high = to_half(x);
            float *y = p->y + r * p->ldy + c;
            y[0] = high;
            y[p->width] = to_half(x - high);
            y[2 * p->width] = to_half(high * (1.0f / BI_HALVES_SCALE));
        }
}

/* ---- unary ---- */

ROW_TASKS(unary)

BI_INLINE vf apply(int function, vf x, vf factor)
{
    switch (function) {
    case BI_UNARY_GELU:
        return vf_gelu(x);
    case BI_UNARY_SIGMOID:
        return vf_div(vf_set1(1), vf_add(vf_set1(1), vf_exp(vf_neg(x))));
    case BI_UNARY_SILU:
        return vf_silu(x);
    default:
        return vf_mul(x, factor);
    }
}

BI_INLINE void unary_rows(const struct bi_unary_params *p, struct rows rows, int function)
{
    const vf factor = vf_set1(p->factor);
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = p->x + r * p->ldx;
        float *y = p->y + r * p->ldy;
        int c = 0;
        for (; c + VW <= p->width; c += VW)
            vf_store(y + c, apply(function, vf_load(x + c), factor));
        if (c < p->width) {
            const int n = p->width - c;
            vf_store_n(y + c, apply(function, vf_load_n(x + c, n), factor), n);
        }
    }
}

void BI_ISA_NAME(unary_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_unary_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    switch (p->function) { /* constants: each loop is its own */
    case BI_UNARY_GELU:
        unary_rows(p, rows, BI_UNARY_GELU);
        break;
    case BI_UNARY_SIGMOID:
        unary_rows(p, rows, BI_UNARY_SIGMOID);
        break;
    case BI_UNARY_SILU:
        unary_rows(p, rows, BI_UNARY_SILU);
        break;
    default:
        unary_rows(p, rows, BI_UNARY_SCALE);
    }
}

/* ---- add ---- */

ROW_TASKS(add)

void BI_ISA_NAME(add_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_add_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *a = p->a + r * p->lda;
        const float *b = p->b + (p->broadcast == BI_BROADCAST_NONE ? r * p->ldb : 0);
        float *y = p->y + r * p->ldy;
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf v = p->broadcast == BI_BROADCAST_SCALAR ? vf_set1(*b) : vf_load_n(b + c, n);
            vf_store_n(y + c, vf_add(vf_load_n(a + c, n), v), n);
        }
    }
}

/* ---- mul ---- */

ROW_TASKS(mul)

void BI_ISA_NAME(mul_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_mul_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf_store_n(
                p->y + r * p->ldy + c,
                vf_mul(vf_load_n(p->a + r * p->lda + c, n), vf_load_n(p->b + r * p->ldb + c, n)),
                n);
        }
}

/* ---- positions, rope_table, rope ---- */

static int64_t sequence_of(const int32_t *start, int64_t n_seqs, int64_t t);

int64_t BI_ISA_NAME(positions_tasks)(const void *params, int n_threads)
{
    const struct bi_positions_params *p = params;
    (void)n_threads;
    return row_tasks(p->counts->n_tokens, p->width);
}

void BI_ISA_NAME(positions_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_positions_params *p = params;
    const struct rows rows = task_rows(task, p->counts->n_tokens, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t t = rows.first; t < rows.end; t++) {
        const int64_t at = t - p->start[sequence_of(p->start, p->counts->n_seqs, t)];
        copy_row(p->y + t * p->ldy, p->table + (at + p->first) * p->width, p->width);
    }
}

int64_t BI_ISA_NAME(embedding_windows_tasks)(const void *params, int n_threads)
{
    const struct bi_embedding_windows_params *p = params;
    (void)n_threads;
    return row_tasks(p->rows, (int64_t)p->taps * p->width);
}

void BI_ISA_NAME(embedding_windows_run)(const void *params, int64_t task, int64_t n_tasks,
                                        void *scratch)
{
    const struct bi_embedding_windows_params *p = params;
    const struct rows rows = task_rows(task, p->rows, (int64_t)p->taps * p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int64_t t = 0; t < p->taps; t++) {
            const int64_t at = r + t - p->pad;
            float *y = p->y + r * p->ldy + t * p->width;
            if (at >= 0 && at < p->n)
                copy_row(y, p->table + (int64_t)p->ids[at] * p->width, p->width);
            else
                memset(y, 0, sizeof *y * (size_t)p->width);
        }
}

int64_t BI_ISA_NAME(sequence_windows_tasks)(const void *params, int n_threads)
{
    const struct bi_sequence_windows_params *p = params;
    (void)n_threads;
    return row_tasks(p->counts->n_tokens, (int64_t)p->taps * p->width);
}

void BI_ISA_NAME(sequence_windows_run)(const void *params, int64_t task, int64_t n_tasks,
                                       void *scratch)
{
    const struct bi_sequence_windows_params *p = params;
    const struct rows rows = task_rows(task, p->counts->n_tokens, (int64_t)p->taps * p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t t = rows.first; t < rows.end; t++) {
        const int64_t s = sequence_of(p->start, p->counts->n_seqs, t);
        const int64_t first = p->start[s] + p->n_prefix, end = p->start[s + 1] - p->n_suffix;
        for (int64_t k = 0; k < p->taps; k++) {
            const int64_t from = t + k - p->taps / 2;
            float *y = p->y + t * p->ldy + k * p->width;
            if (t >= first && t < end && from >= first && from < end)
                copy_row(y, p->x + from * p->ldx, p->width);
            else
                memset(y, 0, sizeof *y * (size_t)p->width);
        }
    }
}

int64_t BI_ISA_NAME(rope_table_tasks)(const void *params, int n_threads)
{
    const struct bi_rope_table_params *p = params;
    (void)n_threads;
    return row_tasks(p->counts->longest, 8 * (int64_t)p->n);
}

void BI_ISA_NAME(rope_table_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_rope_table_params *p = params;
    const struct rows rows = task_rows(task, p->counts->longest, 8 * (int64_t)p->n);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        float *y = p->y + r * 2 * p->n;
        for (int i = 0; i < p->n; i++) {
            const float angle = (float)r * p->inv_freq[i];
            y[i] = cosf(angle);
            y[p->n + i] = sinf(angle);
        }
    }
}

int64_t BI_ISA_NAME(rope_tasks)(const void *params, int n_threads)
{
    const struct bi_rope_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, p->axis, p->rows), (int64_t)p->n_heads * p->head_dim);
}

/* The sequence of token t: the last one that starts at or before it, empty ones skipped. */
static int64_t sequence_of(const int32_t *start, int64_t n_seqs, int64_t t)
{
    int64_t low = 0, high = n_seqs; /* start[low] <= t < start[high] */
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (start[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void BI_ISA_NAME(rope_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_rope_params *p = params;
    const int d = p->head_dim;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows),
                                       (int64_t)p->n_heads * d);
    (void)n_tasks;
    (void)scratch;
    for (int64_t t = rows.first; t < rows.end; t++) {
        const int64_t position = p->start
                                     ? t - p->start[sequence_of(p->start, p->counts->n_seqs, t)]
                                     : t % p->n;
        for (int h = 0; h < p->n_heads; h++)
            rotate_row(p->y + t * p->ldy + h * d, p->x + t * p->ldx + h * d,
                       p->table + position * d, d, 1);
    }
}

BI_CPU_ENTRY(embedding)
BI_CPU_ENTRY(scale_rows)
BI_CPU_ENTRY(select_rows)
BI_CPU_ENTRY(halves)
BI_CPU_ENTRY(unary)
BI_CPU_ENTRY(add)
BI_CPU_ENTRY(mul)
BI_CPU_ENTRY(positions)
BI_CPU_ENTRY(embedding_windows)
BI_CPU_ENTRY(sequence_windows)
BI_CPU_ENTRY(rope_table)
BI_CPU_ENTRY(rope)

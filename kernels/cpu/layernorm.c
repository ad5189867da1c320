/* layernorm.c - layer norm of rows, and the mean of (normalised) rows of each sequence. */
#include "../layernorm.h"

#include "../mean_pool.h"
#include "entries.h"
#include "rows.h"

struct moments {
    float mean, by; /* by = 1 / sqrt(var + eps) */
};

/* Four sums, lane by lane, then a tree: an order that depends on the width alone. rms: as if
 * the mean were 0. */
BI_INLINE struct moments row_moments(const float *x, int width, float eps, int rms)
{
    const int whole = width / (4 * VW) * 4 * VW;
    const float n = (float)width;
    vf s[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
    float mean = 0;
    int c = 0;
    if (!rms) {
        for (; c < whole; c += 4 * VW)
            for (int u = 0; u < 4; u++)
                s[u] = vf_add(s[u], vf_load(x + c + u * VW));
        for (; c < width; c += VW)
            s[0] = vf_add(s[0], vf_load_n(x + c, lanes(c, width)));
        mean = vf_hsum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3]))) / n;
    }

    const vf m = vf_set1(mean);
    for (int u = 0; u < 4; u++)
        s[u] = vf_zero();
    for (c = 0; c < whole; c += 4 * VW)
        for (int u = 0; u < 4; u++) {
            vf a = vf_sub(vf_load(x + c + u * VW), m);
            s[u] = vf_fma(a, a, s[u]);
        }
    for (; c < width; c += VW) {
        const int k = lanes(c, width);
        vf a = vf_select(vm_first(k), vf_sub(vf_load_n(x + c, k), m), vf_zero());
        s[0] = vf_fma(a, a, s[0]);
    }
    const float var = vf_hsum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3]))) / n;
    return (struct moments){mean, 1 / sqrtf(var + eps)};
}

BI_INLINE vf load(const float *p, int n)
{
    return n == VW ? vf_load(p) : vf_load_n(p, n);
}

/* Columns c ... c + n - 1 of a row, normalised; b may be NULL. */
BI_INLINE vf normal(const float *x, struct moments m, const float *w, const float *b, int c, int n)
{
    const vf z = vf_mul(vf_sub(load(x + c, n), vf_set1(m.mean)), vf_set1(m.by));
    return vf_fma(z, load(w + c, n), b ? load(b + c, n) : vf_zero());
}

static void normalise(float *y, const float *x, const struct bi_layernorm_params *p, int group)
{
    const struct moments m = row_moments(x, p->width, p->eps, p->rms);
    const float *w = p->w + group * p->width, *b = p->b ? p->b + group * p->width : NULL;
    int c = 0;
    for (; c + VW <= p->width; c += VW)
        vf_store(y + c, normal(x, m, w, b, c, VW));
    if (c < p->width)
        vf_store_n(y + c, normal(x, m, w, b, c, p->width - c), p->width - c);
}

static int groups(const struct bi_layernorm_params *p)
{
    return p->groups > 1 ? p->groups : 1;
}

int64_t BI_ISA_NAME(layernorm_tasks)(const void *params, int n_threads)
{
    const struct bi_layernorm_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, p->axis, p->rows), groups(p) * p->width);
}

void BI_ISA_NAME(layernorm_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_layernorm_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows),
                                       groups(p) * p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = p->x + r * p->ldx;
        if (p->add) {
            const float *add = p->add + r * p->lda;
            float *sum = p->sum + r * p->lds;
            int c = 0;
            for (; c + VW <= p->width; c += VW)
                vf_store(sum + c, vf_add(vf_load(x + c), vf_load(add + c)));
            for (; c < p->width; c++)
                sum[c] = x[c] + add[c];
            x = sum;
        }
        for (int g = 0; g < groups(p); g++)
            normalise(p->y + r * p->ldy + g * p->width, x + g * p->width, p, g);
        if (p->copy)
            memcpy((float *)p->copy + r * p->ldc, p->y + r * p->ldy,
                   sizeof *p->y * (size_t)p->width);
    }
}

/* ---- mean_pool: a sequence, or a strip of columns of it, is a task ---- */

enum { STRIP = 4 * VW };

static int64_t strips(const struct bi_mean_pool_params *p)
{
    return p->w ? 1 : (p->width + STRIP - 1) / STRIP;
}

int64_t BI_ISA_NAME(mean_pool_tasks)(const void *params, int n_threads)
{
    const struct bi_mean_pool_params *p = params;
    (void)n_threads;
    return p->counts->n_seqs * strips(p);
}

/* sum[0 ... width) over rows first ... end - 1 of x, row by row. */
static void add_rows(float *sum, const float *x, int64_t ldx, struct rows rows, int width)
{
    for (int c = 0; c < width; c += VW) {
        const int k = lanes(c, width);
        vf s = vf_zero();
        for (int64_t t = rows.first; t < rows.end; t++)
            s = vf_add(s, vf_load_n(x + t * ldx + c, k));
        vf_store_n(sum + c, s, k);
    }
}

static void add_normal_rows(float *sum, const struct bi_mean_pool_params *p, struct rows rows)
{
    for (int c = 0; c < p->width; c++)
        sum[c] = 0;
    for (int64_t t = rows.first; t < rows.end; t++) {
        const float *x = p->x + t * p->ldx;
        const struct moments m = row_moments(x, p->width, p->eps, p->rms);
        for (int c = 0; c < p->width; c += VW) {
            const int k = lanes(c, p->width);
            vf y = normal(x, m, p->w, p->b, c, k);
            vf_store_n(sum + c, vf_add(vf_load_n(sum + c, k), y), k);
        }
    }
}

void BI_ISA_NAME(mean_pool_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_mean_pool_params *p = params;
    const int64_t n_strips = strips(p), seq = task / n_strips;
    const int first = (int)(task % n_strips) * STRIP;
    const int left = p->width - first, width = p->w || left < STRIP ? left : STRIP;
    const struct rows rows = {p->start[seq] + p->n_prefix, p->start[seq + 1] - p->n_suffix};
    float *sum = scratch, *y = p->y + seq * p->ldy + first;
    (void)n_tasks;
    if (p->w)
        add_normal_rows(sum, p, rows);
    else
        add_rows(sum, p->x + first, p->ldx, rows, width);
    const float by = rows.end > rows.first ? 1 / (float)(rows.end - rows.first) : 0;
    for (int c = 0; c < width; c++)
        y[c] = sum[c] * by;
}

size_t BI_ISA_NAME(mean_pool_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_mean_pool_params *p = params;
    (void)rows;
    (void)longest;
    return sizeof(float) * (size_t)(p->w ? p->width : STRIP);
}

BI_CPU_ENTRY(layernorm)
BI_CPU_ENTRY_SCRATCH(mean_pool)

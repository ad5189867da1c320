/* frames.c - rows seen in the eight frames of their axes. A task is a run of rows (rows.h). */
#include "../frames.h"
#include "entries.h"
#include "rows.h"

int64_t BI_ISA_NAME(frames_tasks)(const void *params, int n_threads)
{
    const struct bi_frames_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, p->axis, p->rows), p->width);
}

void BI_ISA_NAME(frames_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_frames_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const int32_t code = p->code[r];
        const float *base = p->base + code / BI_FRAMES * p->ldb;
        const float *at = p->at + 3 * (int64_t)(code / BI_FRAMES);
        vf a[3];
        for (int k = 0; k < 3; k++)
            a[k] = vf_set1(code >> k & 1 ? -at[k] : at[k]);
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf y = vf_load_n(base + c, n);
            for (int k = 0; k < 3; k++)
                y = vf_fma(a[k], vf_load_n(p->w + (int64_t)k * p->width + c, n), y);
            vf_store_n(p->y + r * p->ldy + c, y, n);
        }
    }
}

BI_CPU_ENTRY(frames)

/* frame_update.c - a small rotation and translation of each residue's frame. A task is a run of
 * rows (rows.h). */
#include "../frame_update.h"
#include "../rigid.h"
#include "entries.h"
#include "rows.h"

int64_t BI_ISA_NAME(frame_update_tasks)(const void *params, int n_threads)
{
    const struct bi_frame_update_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, p->axis, p->rows), BI_FRAME);
}

void BI_ISA_NAME(frame_update_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    static const float identity[BI_FRAME] = {1};
    const struct bi_frame_update_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), BI_FRAME);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *f = p->frame ? p->frame + r * p->ldf : identity, *u = p->u + r * p->ldu;
        const struct bi_rotation m = bi_rotation_of(f);
        const float q[4] = {f[0] - (f[1] * u[0] + f[2] * u[1] + f[3] * u[2]),
                            f[1] + (f[0] * u[0] + f[2] * u[2] - f[3] * u[1]),
                            f[2] + (f[0] * u[1] + f[3] * u[0] - f[1] * u[2]),
                            f[3] + (f[0] * u[2] + f[1] * u[1] - f[2] * u[0])};
        const float size = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        float *y = p->y + r * p->ldy;
        for (int i = 0; i < 3; i++)
            y[4 + i] = f[4 + i] +
                       (m.of[3 * i] * u[3] + m.of[3 * i + 1] * u[4] + m.of[3 * i + 2] * u[5]);
        for (int i = 0; i < 4; i++)
            y[i] = q[i] / size;
    }
}

BI_CPU_ENTRY(frame_update)

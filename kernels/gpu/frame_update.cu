/* frame_update.cu - a small rotation and translation of each residue's frame, one a thread. */
#include "lib/gpu.h"

#define BI_RIGID_FUNCTION DEV
#include "../frame_update.h"
#include "../rigid.h"

KERNEL(frame_update_f32, struct bi_frame_update_params, 256, 1)
{
    const int64_t r = (int64_t)block_x() * 256 + thread_id();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const float *u = p.u + r * p.ldu;
    float f[BI_FRAME] = {1, 0, 0, 0, 0, 0, 0}, q[4], t[3];
    if (p.frame)
#pragma GCC unroll 7
        for (int i = 0; i < BI_FRAME; i++)
            f[i] = p.frame[r * p.ldf + i];
    const bi_rotation m = bi_rotation_of(f);
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++)
        t[i] = f[4 + i] + (m.of[3 * i] * u[3] + m.of[3 * i + 1] * u[4] + m.of[3 * i + 2] * u[5]);
    q[0] = f[0] - (f[1] * u[0] + f[2] * u[1] + f[3] * u[2]);
    q[1] = f[1] + (f[0] * u[0] + f[2] * u[2] - f[3] * u[1]);
    q[2] = f[2] + (f[0] * u[1] + f[3] * u[0] - f[1] * u[2]);
    q[3] = f[3] + (f[0] * u[2] + f[1] * u[1] - f[2] * u[0]);
    const float size = __builtin_sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    float *y = p.y + r * p.ldy;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        y[i] = q[i] / size;
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++)
        y[4 + i] = t[i];
}

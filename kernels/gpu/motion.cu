/* motion.cu - steps of molecular dynamics, an atom to a thread (motion.h). */
#include "lib/gpu.h"

#pragma clang force_cuda_host_device begin
#include "../motion.h"
#pragma clang force_cuda_host_device end

enum { MOTION_THREADS = 256 };

DEV int64_t my_moving_atom()
{
    return (int64_t)block_x() * MOTION_THREADS + thread_id();
}

KERNEL(motion_start_f32, struct bi_motion_params, MOTION_THREADS, 2)
{
    const int64_t i = my_moving_atom();
    if (i < bi_motion_rows(&p))
        p.atom[i] = p.from[i];
}

KERNEL(motion_move_f32, struct bi_motion_params, MOTION_THREADS, 2)
{
    const int64_t i = my_moving_atom();
    if (i < bi_motion_rows(&p))
        bi_motion_move_at(&p, i);
}

KERNEL(motion_kick_f32, struct bi_motion_params, MOTION_THREADS, 2)
{
    const int64_t i = my_moving_atom();
    if (i < bi_motion_rows(&p))
        bi_motion_kick_at(&p, i);
}

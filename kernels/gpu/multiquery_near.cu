/* multiquery_near.cu - attention of which all heads share keys and values, f32 on matrix units, as
 * multiquery_tile.h says. Errors are those of float32 sums, and on NVIDIA 2^-21 of the products
 * beside (gpu.h). */
#include "lib/multiquery_tile.h"

/* Queries stay in registers where waves have 64 lanes: on NVIDIA a fragment has two terms of each
 * number, too many. Without copies beside the products, and with queries in shared memory, there is
 * room for one tile. */
enum {
    MQ_NEAR_HELD = WAVE == 64,
    MQ_NEAR_STAGES = COPY_ASYNC || MQ_NEAR_HELD ? 2 : 1,
    MQ_NEAR_PAD = COPY_ASYNC ? 16 : 4
};

template <int D, bool capped>
struct mq_near
    : mq_sizes<float, D, 192, capped, 128, 64, 16, MQ_NEAR_STAGES, MQ_NEAR_HELD, MQ_NEAR_PAD, 4> {
};

KERNEL(multiquery_near_capped_f32, struct bi_multiquery_params, 128, 1)
{
    multiquery<mq_near<BI_MULTIQUERY_KEY_GPU, true>, float>(p);
}

KERNEL(multiquery_near_f32, struct bi_multiquery_params, 128, 1)
{
    multiquery<mq_near<BI_MULTIQUERY_KEY_GPU, false>, float>(p);
}

KERNEL(multiquery_near_wide_f32, struct bi_multiquery_params, 128, 1)
{
    multiquery<mq_near<192, false>, float>(p);
}

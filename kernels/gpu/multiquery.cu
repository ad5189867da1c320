/* multiquery.cu - attention of which all heads share keys and values, f16 on matrix units, as
 * multiquery_tile.h says. For f32 see multiquery_near.cu and multiquery_f32.cu. */
#include "lib/multiquery_tile.h"

/* Queries stay in registers where keys arrive without them. Wide heads come in launches of few
 * rows, which small blocks spread over the chip. */
template <int D, int E, bool capped, int threads>
struct mq_half
    : mq_sizes<f16, D, E, capped, threads, threads / 2, COPY_ASYNC ? 64 : 16, 2, COPY_ASYNC, 8, 8> {
};

KERNEL(multiquery_capped_f16_f16, struct bi_multiquery_params, 256, 1)
{
    multiquery<mq_half<BI_MULTIQUERY_KEY_GPU, 192, true, 256>, f16>(p);
}

KERNEL(multiquery_f16_f16, struct bi_multiquery_params, 256, 1)
{
    multiquery<mq_half<BI_MULTIQUERY_KEY_GPU, 128, false, 256>, f16>(p);
}

KERNEL(multiquery_wide_f16_f16, struct bi_multiquery_params, 128, 1)
{
    multiquery<mq_half<192, 192, false, 128>, f16>(p);
}

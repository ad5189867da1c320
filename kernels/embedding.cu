/* embedding.cu - y[t, :] = table[ids[t], :] scale[t]; table f32 or f16, y f32. */
#include "gpu_rows.h"

#include "embedding.h"

template <typename T> DEV void embed(const struct bi_embedding_params &p)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const T *x = (const T *)p.table + (int64_t)p.ids[r] * p.width;
    float *y = p.y + r * p.ldy;
    const bool whole = fours((const T *)p.table, p.width) && fours(p.y, p.ldy);
    const float scale = p.scale ? p.scale[r] : 1.0f;
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        store4(y, c, p.width, whole, load4(x, c, p.width, whole) * scale);
}

KERNEL(embedding_f32, struct bi_embedding_params, ROW_THREADS, 4)
{
    embed<float>(p);
}

KERNEL(embedding_f16, struct bi_embedding_params, ROW_THREADS, 4)
{
    embed<f16>(p);
}

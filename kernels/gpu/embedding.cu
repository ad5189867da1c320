/* embedding.cu - y[t, :] = table[ids[t], :] scale[t]; table f32 or f16, y f32. And
 * embedding_windows: the rows of several neighbours side by side, table f32, y f32 or f16. */
#include "lib/gpu_rows.h"

#include "../embedding.h"
#include "../embedding_windows.h"

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

template <typename T> DEV void windows(const struct bi_embedding_windows_params &p)
{
    const int width = p.taps * p.width, lanes = BI_EMBEDDING_WINDOWS_LANES(width);
    const int64_t r = (int64_t)block_x() * (ROW_THREADS / lanes) + thread_id() / lanes;
    T *y = (T *)p.y + r * p.ldy;
    if (r >= p.rows)
        return;
    const bool whole = fours((T *)p.y, p.ldy);
    const bool wide = fours(p.table, p.width); /* a tap is fours of columns */
    for (int c = thread_id() % lanes * 4; c < width; c += 4 * lanes) {
        f32x4 v = {0, 0, 0, 0};
        if (wide) {
            const int64_t at = r + c / p.width - p.pad;
            if (at >= 0 && at < p.n)
                v = load_four(p.table + (int64_t)p.ids[at] * p.width + c % p.width);
        } else {
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                const int64_t at = r + (c + i) / p.width - p.pad;
                if (c + i < width && at >= 0 && at < p.n)
                    v[i] = p.table[(int64_t)p.ids[at] * p.width + (c + i) % p.width];
            }
        }
        store4(y, c, width, whole, v);
    }
}

KERNEL(embedding_windows_f32, struct bi_embedding_windows_params, ROW_THREADS, 4)
{
    windows<float>(p);
}

KERNEL(embedding_windows_f16, struct bi_embedding_windows_params, ROW_THREADS, 4)
{
    windows<f16>(p);
}

/* add.cu - y = a + b, b of the same shape, one row, or one number. */
#include "lib/gpu_rows.h"

#include "../add.h"

template <typename T> DEV void add(const struct bi_add_params &p)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const T *a = (const T *)p.a, *b = (const T *)p.b;
    T *y = (T *)p.y;
    const bool each = p.broadcast == BI_BROADCAST_NONE, one = p.broadcast == BI_BROADCAST_SCALAR;
    const bool whole = fours(a, p.lda) && fours(y, p.ldy) && (one || fours(b, each ? p.ldb : 0));
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 v = load4(a + r * p.lda, c, p.width, whole);
        if (one)
            v += (float)b[0];
        else
            v += load4(b + (each ? r * p.ldb : 0), c, p.width, whole);
        store4(y + r * p.ldy, c, p.width, whole, v);
    }
}

KERNEL(add_f32, struct bi_add_params, ROW_THREADS, 4)
{
    add<float>(p);
}

KERNEL(add_f16, struct bi_add_params, ROW_THREADS, 4)
{
    add<f16>(p);
}

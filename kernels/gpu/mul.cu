/* mul.cu - y = a * b, element by element. */
#include "lib/gpu_rows.h"

#include "../mul.h"

template <typename T> DEV void mul(const struct bi_mul_params &p)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const T *a = (const T *)p.a, *b = (const T *)p.b;
    T *y = (T *)p.y;
    const bool whole = fours(a, p.lda) && fours(b, p.ldb) && fours(y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        store4(y + r * p.ldy, c, p.width, whole,
               load4(a + r * p.lda, c, p.width, whole) * load4(b + r * p.ldb, c, p.width, whole));
}

KERNEL(mul_f32, struct bi_mul_params, ROW_THREADS, 4)
{
    mul<float>(p);
}

KERNEL(mul_f16, struct bi_mul_params, ROW_THREADS, 4)
{
    mul<f16>(p);
}

/* align_wave.h - one wavefront of an alignment by penalties; align.c includes it once.
 *
 * struct bi_align_wave in align.h says what is computed. The plain loops are those that a compiler
 * makes vectors of. */

/* Offsets beyond the end of their diagonal, which is `limit`, become NONE; others stay. */
BI_INLINE int32_t wave_within(int32_t offset, int32_t limit)
{
    return offset > limit ? BI_ALIGN_WAVE_NONE : offset;
}

/* The larger of two offsets. */
BI_INLINE int32_t wave_larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The smaller of two offsets. */
BI_INLINE int32_t wave_smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The furthest column of paths that end in a gap of the query's residues, or of the target's. */
BI_INLINE int32_t wave_up(const int32_t *open, const int32_t *more, int64_t k, int32_t limit)
{
    return wave_within(wave_larger(open[k + 1], more[k + 1]), limit);
}
BI_INLINE int32_t wave_left(const int32_t *open, const int32_t *more, int64_t k, int32_t limit)
{
    return wave_within(wave_larger(open[k - 1], more[k - 1]) + 1, limit);
}

/* One wavefront where opening a gap costs more than extending it: a->f, a->e and a->h, without the
 * matches behind h. What is written overlaps nothing that is read. */
static void wave_affine(const struct bi_align_wave *a)
{
    const int32_t *const open_f = a->open_f, *const more_f = a->more_f;
    const int32_t *const open_e = a->open_e, *const more_e = a->more_e;
    const int32_t *const mismatch = a->mismatch;
    int32_t *const restrict f = a->f, *const restrict e = a->e, *const restrict h = a->h;
    const int64_t lo = a->lo, hi = a->hi;
    const int32_t n = a->n, m = a->m;
#pragma GCC ivdep
    for (int64_t k = lo; k <= hi; k++) {
        const int32_t limit = wave_smaller(m, (int32_t)k + n);
        const int32_t up = wave_up(open_f, more_f, k, limit);
        const int32_t left = wave_left(open_e, more_e, k, limit);
        const int32_t diagonal = wave_within(mismatch[k] + 1, limit);

        f[k] = up;
        e[k] = left;
        h[k] = wave_larger(diagonal, wave_larger(up, left));
    }
}

/* The same where gaps have two pieces: a->f2 and a->e2, too. */
static void wave_two(const struct bi_align_wave *a)
{
    const int32_t *const open_f = a->open_f, *const more_f = a->more_f;
    const int32_t *const open_e = a->open_e, *const more_e = a->more_e;
    const int32_t *const open_f2 = a->open_f2, *const more_f2 = a->more_f2;
    const int32_t *const open_e2 = a->open_e2, *const more_e2 = a->more_e2;
    const int32_t *const mismatch = a->mismatch;
    int32_t *const restrict f = a->f, *const restrict e = a->e, *const restrict h = a->h;
    int32_t *const restrict f2 = a->f2, *const restrict e2 = a->e2;
    const int64_t lo = a->lo, hi = a->hi;
    const int32_t n = a->n, m = a->m;
#pragma GCC ivdep
    for (int64_t k = lo; k <= hi; k++) {
        const int32_t limit = wave_smaller(m, (int32_t)k + n);
        const int32_t up = wave_up(open_f, more_f, k, limit);
        const int32_t left = wave_left(open_e, more_e, k, limit);
        const int32_t up2 = wave_up(open_f2, more_f2, k, limit);
        const int32_t left2 = wave_left(open_e2, more_e2, k, limit);
        const int32_t diagonal = wave_within(mismatch[k] + 1, limit);

        f[k] = up;
        e[k] = left;
        f2[k] = up2;
        e2[k] = left2;
        h[k] = wave_larger(diagonal, wave_larger(wave_larger(up, left), wave_larger(up2, left2)));
    }
}

/* One wavefront where it costs the same: a->h alone, likewise. */
static void wave_linear(const struct bi_align_wave *a)
{
    const int32_t *const open_f = a->open_f, *const open_e = a->open_e;
    const int32_t *const mismatch = a->mismatch;
    int32_t *const restrict h = a->h;
    const int64_t lo = a->lo, hi = a->hi;
    const int32_t n = a->n, m = a->m;
#pragma GCC ivdep
    for (int64_t k = lo; k <= hi; k++) {
        const int32_t limit = wave_smaller(m, (int32_t)k + n);
        const int32_t up = wave_within(open_f[k + 1], limit);
        const int32_t left = wave_within(open_e[k - 1] + 1, limit);
        const int32_t diagonal = wave_within(mismatch[k] + 1, limit);

        h[k] = wave_larger(diagonal, wave_larger(up, left));
    }
}

/* How many residues agree from here on. It reads 8 bytes at a time until two differ, so the PAD
 * bytes behind the ends must be there, and differ from all others. */
BI_INLINE int32_t wave_equal(const uint8_t *q, const uint8_t *t)
{
    int32_t n = 0;
    for (;; n += 8) {
        uint64_t a, b;
        memcpy(&a, q + n, 8);
        memcpy(&b, t + n, 8);
        if (a != b) {
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            return n + (__builtin_clzll(a ^ b) >> 3);
#else
            return n + (__builtin_ctzll(a ^ b) >> 3);
#endif
        }
    }
}

/* The wave() of struct bi_align_kernels: makes the wavefront, of f and e too unless a->f is NULL,
 * and moves each h that is not negative along equal letters. */
static void wave(const struct bi_align_wave *a)
{
    if (a->f2)
        wave_two(a);
    else if (a->f)
        wave_affine(a);
    else
        wave_linear(a);
    int32_t *const h = a->h;
    const uint8_t *const query = a->query, *const target = a->target;
    const int64_t hi = a->hi;

    for (int64_t k = a->lo; k <= hi; k++) {
        const int64_t j = h[k];
        if (j >= 0)
            h[k] = (int32_t)j + wave_equal(query + (j - k), target + j);
    }
}

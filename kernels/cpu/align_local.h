/* align_local.h - a strip of a local alignment; align.c includes it once.
 *
 * struct bi_align_local in align.h says what is computed. Lanes are rows, and row r is at column
 * s - r in step s. Numbers of 16 bits are vectors; those of 32 bits, which few pairs need, are
 * plain loops that a compiler makes vectors of. */

enum { LOCAL_ROWS = BI_ALIGN_LOCAL_ROWS, LOCAL_VECTORS = LOCAL_ROWS / W16 };

/* row[r][s]: S + bias of row r in step s, at column s - r; rows from n_rows on score as no_row. */
static void local_profile(const struct bi_align_local *a, const uint8_t *row[LOCAL_ROWS])
{
    for (int r = 0; r < LOCAL_ROWS; r++)
        row[r] = a->profile + (r < a->n_rows ? a->query[r] : a->no_row) * a->stride - r - 1;
}

/* S + bias of all rows in BLOCK steps from `first` on: scores [BLOCK][LOCAL_ROWS]. */
BI_INLINE void local_scores(uint8_t *scores, const uint8_t *const *row, int64_t first)
{
    uint8_t turned[BI_ALIGN_BLOCK * W8];
    for (int k = 0; k < LOCAL_ROWS / W8; k++) {
        v8_turn16(turned, row + k * W8, first);
        for (int s = 0; s < BI_ALIGN_BLOCK; s++)
            memcpy(scores + s * LOCAL_ROWS + k * W8, turned + s * W8, W8);
    }
}

/* Offers a cell of the score looked for, row r at column j, which is taken where it lies in columns
 * 1 to m and comes before what was found: in a lower column, or by_row in a lower row. Of equal
 * ones the cell offered first stays: as steps ascend, the one in the lower row, by_row in the lower
 * column. a->found_j is 0 before the first. */
BI_INLINE void local_offer(struct bi_align_local *a, int r, int64_t j)
{
    if (j < 1 || j > a->m || (a->found_j && (a->by_row ? r >= a->found_r : j >= a->found_j)))
        return;
    a->found_j = j;
    a->found_r = r;
}

/* The low bytes of LOCAL_ROWS lanes. */
BI_INLINE void local_narrow(uint8_t *restrict to, const uint16_t *restrict lanes)
{
    for (int r = 0; r < LOCAL_ROWS; r++)
        to[r] = (uint8_t)lanes[r];
}

/* ---- 16 bits ---- */

struct local16_rows {
    v16 h, e, f, corner, best; /* corner: H of the row above, a column back */
    v16 e2, f2;
};

/* Flags of the pieces of one direction, as enum bi_align_flag has them. */
BI_INLINE v16 local16_pieces(v16 h, v16 one, v16 two, const struct bi_align_local *a,
                             const uint16_t from, const uint16_t first, const uint16_t second)
{
    const v16 is_one = v16_eq_bit(h, one, from), is_two = v16_eq_bit(h, two, from);
    const v16 goes = v16_ge_bit(v16_subs(one, v16_set1((uint16_t)a->extend)),
                                v16_subs(h, v16_set1((uint16_t)a->open)), first);
    const v16 goes2 = v16_ge_bit(v16_subs(two, v16_set1((uint16_t)a->extend2)),
                                 v16_subs(h, v16_set1((uint16_t)a->open2)), second);
    const v16 alone = v16_eq_bit(v16_sub(is_one, is_two), v16_set1(from), UINT16_MAX);

    return v16_or(v16_or(is_one, is_two),
                  v16_select(alone, v16_sub(goes, v16_eq_bit(goes2, v16_set1(second), first)),
                             v16_or(goes, goes2)));
}

/* The same as local16_step() with gaps of two pieces; up_f2: F2 of the row above each. */
BI_INLINE v16 local16_two(struct local16_rows *c, v16 up_h, v16 up_f, v16 up_f2, v16 score,
                          const struct bi_align_local *a, const bool with_flags)
{
    const v16 open = v16_set1((uint16_t)a->open), extend = v16_set1((uint16_t)a->extend);
    const v16 open2 = v16_set1((uint16_t)a->open2), extend2 = v16_set1((uint16_t)a->extend2);
    const v16 diagonal = v16_subs(v16_add(c->corner, score), v16_set1((uint16_t)a->bias));
    const v16 e = v16_max(v16_subs(c->h, open), v16_subs(c->e, extend));
    const v16 f = v16_max(v16_subs(up_h, open), v16_subs(up_f, extend));
    const v16 e2 = v16_max(v16_subs(c->h, open2), v16_subs(c->e2, extend2));
    const v16 f2 = v16_max(v16_subs(up_h, open2), v16_subs(up_f2, extend2));
    const v16 h = v16_max(diagonal, v16_max(v16_max(e, f), v16_max(e2, f2)));
    v16 flags = h;
    if (with_flags) {
        flags = v16_or(v16_eq_bit(h, diagonal, BI_ALIGN_DIAGONAL),
                       v16_eq_bit(h, v16_set1(0), BI_ALIGN_BEGIN));
        flags = v16_or(flags, local16_pieces(h, f, f2, a, BI_ALIGN_FROM_F, BI_ALIGN_EXTEND_F,
                                             BI_ALIGN_EXTEND_F2));
        flags = v16_or(flags, local16_pieces(h, e, e2, a, BI_ALIGN_FROM_E, BI_ALIGN_EXTEND_E,
                                             BI_ALIGN_EXTEND_E2));
    }
    c->corner = up_h;
    c->h = h;
    c->e = e;
    c->f = f;
    c->e2 = e2;
    c->f2 = f2;
    c->best = v16_max(c->best, h);
    return flags;
}

/* One step of W16 rows; up_h, up_f: of the row above each. Returns flags if they are wanted, else
 * H. c->best takes what is larger of H. */
BI_INLINE v16 local16_step(struct local16_rows *c, v16 up_h, v16 up_f, v16 score,
                           const struct bi_align_local *a, const bool with_flags)
{
    const v16 open = v16_set1((uint16_t)a->open), extend = v16_set1((uint16_t)a->extend);
    const v16 diagonal = v16_subs(v16_add(c->corner, score), v16_set1((uint16_t)a->bias));
    const v16 e = v16_max(v16_subs(c->h, open), v16_subs(c->e, extend));
    const v16 f = v16_max(v16_subs(up_h, open), v16_subs(up_f, extend));
    const v16 h = v16_max(v16_max(diagonal, e), f);
    v16 flags = h;
    if (with_flags) {
        const v16 opened = v16_subs(h, open);
        flags = v16_or(v16_eq_bit(h, diagonal, BI_ALIGN_DIAGONAL),
                       v16_eq_bit(h, f, BI_ALIGN_FROM_F));
        flags = v16_or(flags, v16_eq_bit(h, e, BI_ALIGN_FROM_E));
        flags = v16_or(flags, v16_eq_bit(h, v16_set1(0), BI_ALIGN_BEGIN));
        flags = v16_or(flags, v16_ge_bit(v16_subs(f, extend), opened, BI_ALIGN_EXTEND_F));
        flags = v16_or(flags, v16_ge_bit(v16_subs(e, extend), opened, BI_ALIGN_EXTEND_E));
    }
    c->corner = up_h;
    c->h = h;
    c->e = e;
    c->f = f;
    c->best = v16_max(c->best, h);
    return flags;
}

/* Runs one strip of a local alignment in 16 bits, as struct bi_align_local says. With flags nothing
 * is looked for: found_j and found_r stay. two: a->open2 is not 0; else nothing of F2 is used. */
BI_INLINE void local16_run(struct bi_align_local *a, const bool with_flags, const bool two)
{
    const uint8_t *row[LOCAL_ROWS];
    uint8_t scores[BI_ALIGN_BLOCK * LOCAL_ROWS];
    uint16_t wide[BI_ALIGN_BLOCK * LOCAL_ROWS], lanes[LOCAL_ROWS];
    const uint16_t *const h_in = a->h_in, *const f_in = a->f_in, *const f2_in = a->f2_in;
    uint16_t *const h_out = a->h_out, *const f_out = a->f_out, *const f2_out = a->f2_out;
    struct local16_rows c[LOCAL_VECTORS];
    local_profile(a, row);
    for (int k = 0; k < LOCAL_VECTORS; k++)
        c[k].h = c[k].e = c[k].f = c[k].corner = c[k].best = c[k].e2 = c[k].f2 = v16_set1(0);
    for (int64_t first = 1; first < a->m + LOCAL_ROWS; first += BI_ALIGN_BLOCK) {
        local_scores(scores, row, first);
        for (int k = 0; k < BI_ALIGN_BLOCK * LOCAL_ROWS; k++)
            wide[k] = scores[k];
        for (int64_t s = first; s < first + BI_ALIGN_BLOCK && s < a->m + LOCAL_ROWS; s++) {
            const uint16_t *score = wide + (s - first) * LOCAL_ROWS;
            for (int k = LOCAL_VECTORS - 1; k >= 0; k--) {
                const v16 above_h = k ? c[k - 1].h : v16_set1(s <= a->m ? h_in[s - 1] : 0);
                const v16 above_f = k ? c[k - 1].f : v16_set1(s <= a->m ? f_in[s - 1] : 0);
                const v16 up_h = v16_shift(c[k].h, above_h), up_f = v16_shift(c[k].f, above_f);
                const v16 x = v16_load(score + k * W16);
                v16 flags, above_f2 = above_f;
                if (two) {
                    above_f2 = k ? c[k - 1].f2 : v16_set1(s <= a->m ? f2_in[s - 1] : 0);
                    flags = local16_two(&c[k], up_h, up_f, v16_shift(c[k].f2, above_f2), x, a,
                                        with_flags);
                } else {
                    flags = local16_step(&c[k], up_h, up_f, x, a, with_flags);
                }
                if (with_flags || a->wanted)
                    v16_store(lanes + k * W16, flags);
            }
            if (with_flags)
                local_narrow(a->flags + (s - 1) * LOCAL_ROWS, lanes);
            for (int r = 0; !with_flags && a->wanted && r < a->n_rows; r++)
                if (lanes[r] == a->wanted)
                    local_offer(a, r, s - r);
            if (s >= LOCAL_ROWS) {
                h_out[s - LOCAL_ROWS] = v16_last(c[LOCAL_VECTORS - 1].h);
                f_out[s - LOCAL_ROWS] = v16_last(c[LOCAL_VECTORS - 1].f);
                if (two)
                    f2_out[s - LOCAL_ROWS] = v16_last(c[LOCAL_VECTORS - 1].f2);
            }
        }
    }
    for (int k = 0; k < LOCAL_VECTORS; k++)
        v16_store(lanes + k * W16, c[k].best);
    a->best = 0;
    for (int r = 0; r < a->n_rows; r++)
        a->best = lanes[r] > a->best ? lanes[r] : a->best;
}

/* One function for each shape, so that each has a frame of its own. */
static __attribute__((noinline)) void local16_flags(struct bi_align_local *a)
{
    local16_run(a, true, false);
}

/* The same without flags. */
static __attribute__((noinline)) void local16_plain(struct bi_align_local *a)
{
    local16_run(a, false, false);
}

/* Gaps of two pieces, with flags. */
static __attribute__((noinline)) void local16_two_flags(struct bi_align_local *a)
{
    local16_run(a, true, true);
}

/* Gaps of two pieces, without flags. */
static __attribute__((noinline)) void local16_two_plain(struct bi_align_local *a)
{
    local16_run(a, false, true);
}

/* The local16() of struct bi_align_kernels. The caller sets a->found_j to 0. Where a->flags is not
 * NULL, a->wanted is ignored. */
static void local16(struct bi_align_local *a)
{
    if (a->open2)
        (a->flags ? local16_two_flags : local16_two_plain)(a);
    else
        (a->flags ? local16_flags : local16_plain)(a);
}

/* ---- 32 bits ---- */

/* H, E and F of all rows, index 0 the row above the strip. */
struct local32_rows {
    int32_t h[3][LOCAL_ROWS + 1]; /* by turns: the step at hand and the two before it */
    int32_t f[2][LOCAL_ROWS + 1];
    int32_t f2[2][LOCAL_ROWS + 1];
    int32_t e[LOCAL_ROWS], e2[LOCAL_ROWS], best[LOCAL_ROWS];
};

/* Flags of the pieces of one direction, as enum bi_align_flag has them. */
BI_INLINE int32_t local32_pieces(int32_t h, int32_t one, int32_t two,
                                 const struct bi_align_local *a, int32_t from, int32_t first,
                                 int32_t second)
{
    const bool is_one = h == one, is_two = h == two, alone = is_one & !is_two;
    const bool goes = one - a->extend >= h - a->open, goes2 = two - a->extend2 >= h - a->open2;
    return (is_one | is_two ? from : 0) | (goes & !(alone & goes2) ? first : 0) |
           (goes2 & !alone ? second : 0);
}

/* The same as local32_step() with gaps of two pieces. */
BI_INLINE void local32_two(struct local32_rows *w, const uint8_t *scores, int64_t step,
                           const struct bi_align_local *a, uint8_t *flags)
{
    const int32_t *const left = w->h[(step + 2) % 3] + 1, *const corner = w->h[(step + 1) % 3];
    const int32_t *const up = w->h[(step + 2) % 3], *const up_f = w->f[(step + 1) % 2];
    const int32_t *const up_f2 = w->f2[(step + 1) % 2];
    int32_t *const restrict h = w->h[step % 3] + 1, *const restrict f = w->f[step % 2] + 1;
    int32_t *const restrict f2 = w->f2[step % 2] + 1;
    int32_t *const restrict e = w->e, *const restrict e2 = w->e2, *const restrict best = w->best;
#pragma GCC ivdep
    for (int r = 0; r < LOCAL_ROWS; r++) {
        const int32_t diagonal = corner[r] + scores[r] - a->bias;
        const int32_t gap_e = wave_larger(left[r] - a->open, e[r] - a->extend);
        const int32_t gap_f = wave_larger(up[r] - a->open, up_f[r] - a->extend);
        const int32_t gap_e2 = wave_larger(left[r] - a->open2, e2[r] - a->extend2);
        const int32_t gap_f2 = wave_larger(up[r] - a->open2, up_f2[r] - a->extend2);
        const int32_t gap = wave_larger(wave_larger(gap_e, gap_e2), wave_larger(gap_f, gap_f2));
        const int32_t x = wave_larger(wave_larger(diagonal, 0), gap);

        if (flags)
            flags[r] = (uint8_t)((x == diagonal ? BI_ALIGN_DIAGONAL : 0) |
                                 (x == 0 ? BI_ALIGN_BEGIN : 0) |
                                 local32_pieces(x, gap_f, gap_f2, a, BI_ALIGN_FROM_F,
                                                BI_ALIGN_EXTEND_F, BI_ALIGN_EXTEND_F2) |
                                 local32_pieces(x, gap_e, gap_e2, a, BI_ALIGN_FROM_E,
                                                BI_ALIGN_EXTEND_E, BI_ALIGN_EXTEND_E2));
        e[r] = gap_e;
        f[r] = gap_f;
        e2[r] = gap_e2;
        f2[r] = gap_f2;
        h[r] = x;
        best[r] = wave_larger(best[r], x);
    }
}

/* One step: scores are S + bias of each row. flags may be NULL, else it gives those of the rows. H
 * and F above the strip, at index 0 of the step before, are the caller's to set. */
BI_INLINE void local32_step(struct local32_rows *w, const uint8_t *scores, int64_t step,
                            const struct bi_align_local *a, uint8_t *flags)
{
    const int32_t open = a->open, extend = a->extend, bias = a->bias;
    const int32_t *const left = w->h[(step + 2) % 3] + 1, *const corner = w->h[(step + 1) % 3];
    const int32_t *const up = w->h[(step + 2) % 3], *const up_f = w->f[(step + 1) % 2];
    int32_t *const restrict h = w->h[step % 3] + 1, *const restrict f = w->f[step % 2] + 1;
    int32_t *const restrict e = w->e, *const restrict best = w->best;
#pragma GCC ivdep
    for (int r = 0; r < LOCAL_ROWS; r++) {
        const int32_t diagonal = corner[r] + scores[r] - bias;
        const int32_t gap_e = wave_larger(left[r] - open, e[r] - extend);
        const int32_t gap_f = wave_larger(up[r] - open, up_f[r] - extend);
        const int32_t x = wave_larger(wave_larger(diagonal, 0), wave_larger(gap_e, gap_f));

        if (flags)
            flags[r] = (uint8_t)((x == diagonal ? BI_ALIGN_DIAGONAL : 0) |
                                 (x == gap_f ? BI_ALIGN_FROM_F : 0) |
                                 (x == gap_e ? BI_ALIGN_FROM_E : 0) |
                                 (gap_f - extend >= x - open ? BI_ALIGN_EXTEND_F : 0) |
                                 (gap_e - extend >= x - open ? BI_ALIGN_EXTEND_E : 0) |
                                 (x == 0 ? BI_ALIGN_BEGIN : 0));
        e[r] = gap_e;
        f[r] = gap_f;
        h[r] = x;
        best[r] = wave_larger(best[r], x);
    }
}

/* The local32() of struct bi_align_kernels: the same in 32 bits, for scores beyond 16; but it looks
 * for a->wanted with flags, too. */
static void local32(struct bi_align_local *a)
{
    struct local32_rows w = {.f = {{0}}};
    const uint8_t *row[LOCAL_ROWS];
    uint8_t scores[BI_ALIGN_BLOCK * LOCAL_ROWS];
    const int32_t *const h_in = a->h_in, *const f_in = a->f_in, *const f2_in = a->f2_in;
    int32_t *const h_out = a->h_out, *const f_out = a->f_out, *const f2_out = a->f2_out;
    local_profile(a, row);
    for (int64_t s = 1; s < a->m + LOCAL_ROWS; s++) {
        const uint8_t *score = scores + (s - 1) % BI_ALIGN_BLOCK * LOCAL_ROWS;
        if (score == scores)
            local_scores(scores, row, s);
        w.h[(s + 2) % 3][0] = s <= a->m ? h_in[s - 1] : 0;
        w.f[(s + 1) % 2][0] = s <= a->m ? f_in[s - 1] : 0;
        w.f2[(s + 1) % 2][0] = a->open2 && s <= a->m ? f2_in[s - 1] : 0;
        if (a->open2)
            local32_two(&w, score, s, a, a->flags ? a->flags + (s - 1) * LOCAL_ROWS : NULL);
        else if (a->flags)
            local32_step(&w, score, s, a, a->flags + (s - 1) * LOCAL_ROWS);
        else
            local32_step(&w, score, s, a, NULL);
        for (int r = 0; a->wanted && r < a->n_rows; r++)
            if (w.h[s % 3][r + 1] == a->wanted)
                local_offer(a, r, s - r);
        if (s >= LOCAL_ROWS) {
            h_out[s - LOCAL_ROWS] = w.h[s % 3][LOCAL_ROWS];
            f_out[s - LOCAL_ROWS] = w.f[s % 2][LOCAL_ROWS];
            if (a->open2)
                f2_out[s - LOCAL_ROWS] = w.f2[s % 2][LOCAL_ROWS];
        }
    }
    a->best = 0;
    for (int r = 0; r < a->n_rows; r++)
        a->best = wave_larger(a->best, w.best[r]);
}

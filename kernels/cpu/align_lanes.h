/* align_lanes.h - the two alignment kernels for one width of lanes; align.c includes it with
 * LANE = 8 and with LANE = 16. Formulas and names: ../align.h. */

#define L_(name, bits) name##bits
#define L__(name, bits) L_(name, bits)
#define L(name) L__(name, LANE)          /* strip8 */
#define VEC L__(v, LANE)                 /* v8 */
#define V_(bits, name) v##bits##_##name
#define V__(bits, name) V_(bits, name)
#define V(name) V__(LANE, name)          /* v8_add */
#define W L__(W, LANE)
#define lane_t L__(lane, LANE)

#if LANE == 8
typedef uint8_t lane8;
#else
typedef uint16_t lane16;
#endif

struct L(cell) {
    VEC u, v, x, y;
};

/* One cell in every lane: u, y of the left, v, x of above become the cell's own. */
BI_INLINE VEC L(cell_step)(struct L(cell) *c, VEC s, VEC gap, const int kind, const bool flags)
{
    const VEC a = kind == BI_ALIGN_LINEAR ? c->v : V(add)(c->x, c->v);
    const VEC b = kind == BI_ALIGN_LINEAR ? c->u : V(add)(c->y, c->u);
    const VEC z = V(max)(s, V(max)(a, b));
    const VEC u = V(sub)(z, c->v), v = V(sub)(z, c->u);
    VEC f = gap;

    c->u = u;
    c->v = v;
    if (kind == BI_ALIGN_AFFINE) {
        const VEC zg = V(sub)(z, gap);
        c->x = V(subs)(a, zg);
        c->y = V(subs)(b, zg);
    } else if (kind == BI_ALIGN_STEEP) {
        c->x = V(subs)(V(add)(a, gap), z);
        c->y = V(subs)(V(add)(b, gap), z);
    }
    if (flags) {
        f = V(or)(V(eq_bit)(z, s, BI_ALIGN_DIAGONAL), V(eq_bit)(z, a, BI_ALIGN_FROM_F));
        f = V(or)(f, V(eq_bit)(z, b, BI_ALIGN_FROM_E));
        f = V(or)(f, V(ge_bit)(V(add)(a, gap), z, BI_ALIGN_EXTEND_F));
        f = V(or)(f, V(ge_bit)(V(add)(b, gap), z, BI_ALIGN_EXTEND_E));
    }
    return f;
}

/* ---- one pair: lanes are rows, a step is an anti-diagonal of the strip ---- */

/* S2 of BLOCK steps from `step` on, for all rows. */
BI_INLINE void L(strip_scores)(lane_t *scores, const lane_t *const *row, int64_t step,
                               const int n_vectors)
{
    for (int k = 0; k < n_vectors; k++)
        V(turn16)(scores + k * W * BI_ALIGN_BLOCK, row + k * W, step);
}

BI_INLINE void L(strip_flags)(uint8_t *to, VEC f)
{
#if LANE == 8
    v8_store(to, f);
#else
    uint16_t wide[W16];
    v16_store(wide, f);
    for (int l = 0; l < W16; l++)
        to[l] = (uint8_t)wide[l];
#endif
}

/* BLOCK steps; `edges`: some rows are outside of columns 1 .. m, or pad rows. */
BI_INLINE void L(strip_block)(const struct bi_align_strip *a, struct L(cell) *c,
                              const lane_t *scores, const lane_t *numbers,
                              const lane_t *pads, int64_t step,
                              uint8_t *flags, const int n_vectors, const int kind,
                              const bool edges, const bool with_flags)
{
    const int rows = n_vectors * W;
    const VEC gap = V(set1)((lane_t)a->gap);
    const lane_t *v_in = a->v_in, *x_in = a->x_in;
    lane_t *v_out = a->v_out, *x_out = a->x_out;

    for (int i = 0; i < BI_ALIGN_BLOCK; i++) {
        const int64_t s = step + i, lowest = s > a->m ? s - a->m : 0;
        const lane_t span = (lane_t)((s < rows ? s : rows) - 1 - lowest);
        for (int k = n_vectors - 1; k >= 0; k--) {
            c[k].v = V(shift)(c[k].v, k ? c[k - 1].v : V(set1)(v_in[s - 1]));
            if (kind != BI_ALIGN_LINEAR)
                c[k].x = V(shift)(c[k].x, k ? c[k - 1].x : V(set1)(x_in[s - 1]));
        }
#pragma GCC unroll 4
        for (int k = 0; k < n_vectors; k++) {
            const struct L(cell) old = c[k];
            const VEC f = L(cell_step)(&c[k], V(load)(scores + (k * BI_ALIGN_BLOCK + i) * W), gap,
                                       kind, with_flags);
            if (with_flags)
                L(strip_flags)(flags + i * rows + k * W, f);
            if (edges) { /* row r is active while 1 <= s - r <= m */
                const VEC r = V(load)(numbers + k * W), low = V(set1)((lane_t)lowest);
                const VEC on = lowest < rows
                                   ? V(ge_bit)(V(set1)(span), V(sub)(r, low), (lane_t)-1)
                                   : V(set1)(0);
                const VEC pass = V(load)(pads + k * W);
                c[k].u = V(select)(on, c[k].u, old.u);
                c[k].v = V(select)(pass, old.v, c[k].v);
                if (kind != BI_ALIGN_LINEAR) {
                    c[k].y = V(select)(on, c[k].y, old.y);
                    c[k].x = V(select)(pass, old.x, c[k].x);
                }
            }
        }
        if (!edges || s >= rows) {
            v_out[s - rows] = V(last)(c[n_vectors - 1].v);
            x_out[s - rows] = V(last)(c[n_vectors - 1].x);
        }
    }
}

BI_INLINE void L(strip_run)(const struct bi_align_strip *a, const int n_vectors, const int kind,
                            const bool with_flags)
{
    const int rows = n_vectors * W;
    lane_t *state = a->state;
    const lane_t *profile = a->profile, *row[BI_ALIGN_STRIP_ROWS];
    lane_t scores[BI_ALIGN_BLOCK * 4 * W], numbers[4 * W], pads[4 * W];
    struct L(cell) c[4];
    const int64_t end = a->m + rows;

    for (int r = 0; r < rows; r++) /* row[r][s]: column s - r */
        row[r] = profile + (r < a->pad ? 0 : a->query[r] * a->stride) - r - 1;
    for (int r = 0; r < rows; r++) {
        numbers[r] = (lane_t)r;
        pads[r] = (lane_t)-(r < a->pad);
    }
    for (int k = 0; k < n_vectors; k++) {
        c[k].u = V(load)(state + k * W);
        c[k].y = V(load)(state + rows + k * W);
        c[k].v = V(load)(state + 2 * rows + k * W);
        c[k].x = V(load)(state + 3 * rows + k * W);
    }
    for (int64_t s = a->first; s < a->last && s < end; s += BI_ALIGN_BLOCK) {
        uint8_t *flags = with_flags ? a->flags + (s - a->first) * rows : NULL;
        const bool edges = a->pad || s < rows || s + BI_ALIGN_BLOCK - 1 > a->m;
        L(strip_scores)(scores, row, s, n_vectors);
        if (edges)
            L(strip_block)(a, c, scores, numbers, pads, s, flags, n_vectors, kind, true, with_flags);
        else
            L(strip_block)(a, c, scores, numbers, pads, s, flags, n_vectors, kind, false, with_flags);
    }
    for (int k = 0; k < n_vectors; k++) {
        V(store)(state + k * W, c[k].u);
        V(store)(state + rows + k * W, c[k].y);
        V(store)(state + 2 * rows + k * W, c[k].v);
        V(store)(state + 3 * rows + k * W, c[k].x);
    }
}

/* One function for each shape, so that each has a frame of its own. */
#define L_STRIP(n, name, kind)                                                             \
    static __attribute__((noinline)) void L(strip_##n##_##name)(const struct bi_align_strip *a) \
    {                                                                                      \
        L(strip_run)(a, n, kind, false);                                                   \
    }                                                                                      \
    static __attribute__((noinline)) void L(flags_##n##_##name)(const struct bi_align_strip *a) \
    {                                                                                      \
        L(strip_run)(a, n, kind, true);                                                    \
    }
L_STRIP(1, linear, BI_ALIGN_LINEAR)
L_STRIP(2, linear, BI_ALIGN_LINEAR)
L_STRIP(1, affine, BI_ALIGN_AFFINE)
L_STRIP(2, affine, BI_ALIGN_AFFINE)
L_STRIP(2, steep, BI_ALIGN_STEEP)
#if VREGS == 32
L_STRIP(4, linear, BI_ALIGN_LINEAR)
L_STRIP(4, affine, BI_ALIGN_AFFINE)
#endif

static void L(strip)(const struct bi_align_strip *a)
{
    const bool linear = a->kind == BI_ALIGN_LINEAR;

#define L_CALL(n, name) (a->flags ? L(flags_##n##_##name)(a) : L(strip_##n##_##name)(a))
    if (a->kind == BI_ALIGN_STEEP) /* rare: the middle size is enough */
        L_CALL(2, steep);
    else if (a->rows == W)
        linear ? L_CALL(1, linear) : L_CALL(1, affine);
#if VREGS == 32
    else if (a->rows == 4 * W)
        linear ? L_CALL(4, linear) : L_CALL(4, affine);
#endif
    else
        linear ? L_CALL(2, linear) : L_CALL(2, affine);
#undef L_CALL
}

/* ---- many pairs: a lane is a pair ----
 *
 * Sequences end together, at row N and column M of the longest; what a shorter one has in
 * front of its first residue are pad cells, which pass the border on. Rows go in strips of
 * MANY_ROWS so that profiles and the U and Y of a strip stay in the cache; V and X of all
 * columns lie in memory between strips; MANY_COLUMNS columns go through the registers at a
 * time. */

#if !defined MANY_ROWS
#define MANY_ROWS 256
#define MANY_COLUMNS (VREGS == 32 ? 4 : 2)
#endif

static int64_t L(many_up)(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

static size_t L(many_scratch)(int64_t n, int64_t m, int32_t letters)
{
    const int64_t M = L(many_up)(m, MANY_COLUMNS), rows = n < MANY_ROWS ? n : MANY_ROWS;
    const int64_t R = L(many_up)(rows, BI_ALIGN_BLOCK);
    return sizeof(lane_t) * (size_t)W * (size_t)(2 * M + 2 * R + (R + W) * letters + 64) + 64;
}

/* Profile of one lane for the rows of a strip: [letters][stride], stride in whole vectors. */
BI_INLINE void L(many_profile)(lane_t *to, const struct bi_align_many *a, const uint8_t *codes,
                               int64_t stride)
{
    const lane_t *table = a->table;
    for (int32_t t = 0; t < a->letters; t++) {
        const lane_t *row = table + t * BI_ALIGN_LETTERS;
#if LANE == 8 && defined LANES_PICK32
        for (int64_t r = 0; r < stride; r += W)
            v8_store(to + t * stride + r, v8_pick32(row, v8_load(codes + r)));
#else
        for (int64_t r = 0; r < stride; r++)
            to[t * stride + r] = row[codes[r]];
#endif
    }
}

struct L(many) { /* what the parts of one call share */
    lane_t *v, *x, *u, *y, *profile;
    const lane_t *from[MANY_COLUMNS][W];
    int64_t R, N, M;
    int64_t stride; /* of a profile: R in whole vectors */
    int64_t skip_rows[W], skip_columns[W]; /* pad cells in front of each lane */
    int64_t most_rows, most_columns;
};

BI_INLINE void L(many_block)(const struct bi_align_many *a, struct L(many) *w, int64_t row,
                             int64_t strip, int64_t column, struct L(cell) *c, const int kind,
                             const bool edges, const bool flags)
{
    const VEC gap = V(set1)((lane_t)(a->open - a->extend));
    lane_t scores[MANY_COLUMNS][BI_ALIGN_BLOCK * W];
    VEC column_pad[MANY_COLUMNS];

    for (int j = 0; j < MANY_COLUMNS; j++) {
        V(turn16)(scores[j], w->from[j], row);
        if (edges) {
            lane_t mask[W];
            for (int l = 0; l < W; l++)
                mask[l] = (lane_t)-(column + j < w->skip_columns[l]);
            column_pad[j] = V(load)(mask);
        }
    }
    for (int i = 0; i < BI_ALIGN_BLOCK; i++) {
        lane_t *u = w->u + (row + i) * W, *y = w->y + (row + i) * W;
        VEC row_pad = gap;
        struct L(cell) cell = {.u = V(load)(u), .y = V(load)(y)};
        if (edges) {
            lane_t mask[W];
            for (int l = 0; l < W; l++)
                mask[l] = (lane_t)-(strip + row + i < w->skip_rows[l]);
            row_pad = V(load)(mask);
        }
#pragma GCC unroll 4
        for (int j = 0; j < MANY_COLUMNS; j++) {
            struct L(cell) old;
            cell.v = c[j].v;
            cell.x = c[j].x;
            old = cell;
            const VEC f = L(cell_step)(&cell, V(load)(scores[j] + i * W), gap, kind, flags);
            if (flags)
                L(strip_flags)(a->flags + ((strip + row + i) * w->M + column + j) * W, f);
            if (edges) {
                cell.v = V(select)(row_pad, old.v, cell.v);
                cell.u = V(select)(column_pad[j], old.u, cell.u);
                if (kind != BI_ALIGN_LINEAR) {
                    cell.x = V(select)(row_pad, old.x, cell.x);
                    cell.y = V(select)(column_pad[j], old.y, cell.y);
                }
            }
            c[j].v = cell.v;
            c[j].x = cell.x;
        }
        V(store)(u, cell.u);
        V(store)(y, cell.y);
    }
}

BI_INLINE void L(many_strip)(const struct bi_align_many *a, struct L(many) *w, int64_t strip,
                             const int kind, const bool flags)
{
    for (int64_t column = 0; column < w->M; column += MANY_COLUMNS) {
        struct L(cell) c[MANY_COLUMNS];
        for (int j = 0; j < MANY_COLUMNS; j++) {
            for (int l = 0; l < W; l++) {
                const int64_t at = column + j - w->skip_columns[l];
                const int32_t letter = l < a->n_pairs && at >= 0 ? a->target[l][at] : 0;
                w->from[j][l] = w->profile + ((int64_t)l * a->letters + letter) * w->stride;
            }
            c[j].v = V(load)(w->v + (column + j) * W);
            c[j].x = V(load)(w->x + (column + j) * W);
        }
        for (int64_t row = 0; row < w->R; row += BI_ALIGN_BLOCK)
            if (column < w->most_columns || strip + row < w->most_rows)
                L(many_block)(a, w, row, strip, column, c, kind, true, flags);
            else
                L(many_block)(a, w, row, strip, column, c, kind, false, flags);
        for (int j = 0; j < MANY_COLUMNS; j++) {
            V(store)(w->v + (column + j) * W, c[j].v);
            V(store)(w->x + (column + j) * W, c[j].x);
        }
    }
}

/* One function for each shape, so that each has a frame of its own. */
#define L_MANY(name, kind, flags)                                                          \
    static __attribute__((noinline)) void L(many_##name)(const struct bi_align_many *a,   \
                                                         struct L(many) *w, int64_t strip) \
    {                                                                                      \
        L(many_strip)(a, w, strip, kind, flags);                                           \
    }
L_MANY(linear, BI_ALIGN_LINEAR, false)
L_MANY(affine, BI_ALIGN_AFFINE, false)
L_MANY(steep, BI_ALIGN_STEEP, false)
L_MANY(linear_flags, BI_ALIGN_LINEAR, true)
L_MANY(affine_flags, BI_ALIGN_AFFINE, true)
L_MANY(steep_flags, BI_ALIGN_STEEP, true)

static void L(many_kind)(const struct bi_align_many *a, struct L(many) *w, int64_t strip)
{
    if (a->kind == BI_ALIGN_LINEAR)
        a->flags ? L(many_linear_flags)(a, w, strip) : L(many_linear)(a, w, strip);
    else if (a->kind == BI_ALIGN_AFFINE)
        a->flags ? L(many_affine_flags)(a, w, strip) : L(many_affine)(a, w, strip);
    else
        a->flags ? L(many_steep_flags)(a, w, strip) : L(many_steep)(a, w, strip);
}

static void L(many)(struct bi_align_many *a)
{
    struct L(many) w = {0};
    int64_t n = 0, m = 0, side[W] = {0}, side_best[W] = {0};

    for (int l = 0; l < a->n_pairs; l++) {
        n = a->n[l] > n ? a->n[l] : n;
        m = a->m[l] > m ? a->m[l] : m;
    }
    w.N = L(many_up)(n, BI_ALIGN_BLOCK);
    w.M = L(many_up)(m, MANY_COLUMNS);
    for (int l = 0; l < W; l++) { /* idle lanes are pads throughout */
        w.skip_rows[l] = l < a->n_pairs ? w.N - a->n[l] : 0;
        w.skip_columns[l] = l < a->n_pairs ? w.M - a->m[l] : 0;
        w.most_rows = w.skip_rows[l] > w.most_rows ? w.skip_rows[l] : w.most_rows;
        w.most_columns = w.skip_columns[l] > w.most_columns ? w.skip_columns[l] : w.most_columns;
    }
    w.v = a->scratch;
    w.x = w.v + w.M * W;
    w.u = w.x + w.M * W;
    for (int64_t j = 0; j < w.M; j++)
        for (int l = 0; l < W; l++)
            w.v[j * W + l] =
                (lane_t)(j == w.skip_columns[l] ? a->top.first : a->top.rest);
    memset(w.x, 0, sizeof(lane_t) * (size_t)(w.M * W));

    for (int64_t strip = 0; strip < w.N; strip += MANY_ROWS) {
        w.R = w.N - strip < MANY_ROWS ? w.N - strip : MANY_ROWS;
        w.y = w.u + w.R * W;
        w.profile = w.y + w.R * W;
        w.stride = L(many_up)(w.R, W);
        memset(w.y, 0, sizeof(lane_t) * (size_t)(w.R * W));
        for (int l = 0; l < W; l++) {
            uint8_t codes[MANY_ROWS] = {0};
            for (int64_t r = 0; r < w.R; r++) {
                const int64_t at = strip + r - w.skip_rows[l];
                codes[r] = l < a->n_pairs && at >= 0 ? a->query[l][at] : 0;
                w.u[r * W + l] = (lane_t)(at == 0 ? a->left.first : a->left.rest);
            }
            L(many_profile)(w.profile + (int64_t)l * a->letters * w.stride, a, codes, w.stride);
        }
        L(many_kind)(a, &w, strip);
        for (int64_t r = 0; a->free_column && r < w.R; r++)
            for (int l = 0; l < W; l++) {
                if (strip + r < w.skip_rows[l])
                    continue;
                side[l] += w.u[r * W + l] - a->open;
                if (strip + r == w.skip_rows[l] || side[l] > side_best[l])
                    side_best[l] = side[l];
            }
    }
    for (int l = 0; l < a->n_pairs; l++) {
        int64_t sum = 0, best = INT64_MIN;
        for (int64_t j = w.skip_columns[l]; j < w.M; j++) {
            sum += w.v[j * W + l] - a->open;
            best = sum > best ? sum : best;
        }
        a->score[l] = a->free_row && best > sum ? best : sum;
        if (a->free_column && sum - side[l] + side_best[l] > a->score[l])
            a->score[l] = sum - side[l] + side_best[l];
    }
}

static const struct bi_align_kernels L(align_kernels) = {
    .bits = LANE, .lanes = W,
    .rows = {W, 2 * W, VREGS == 32 ? 4 * W : 0}, .columns = MANY_COLUMNS,
    .many = L(many), .many_scratch = L(many_scratch), .strip = L(strip),
    .encode = encode,
};

#undef L_
#undef L__
#undef L
#undef L_STRIP
#undef L_MANY
#undef VEC
#undef V_
#undef V__
#undef V
#undef W
#undef lane_t

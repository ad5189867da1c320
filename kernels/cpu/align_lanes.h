/* align_lanes.h - the two alignment kernels for one width of lanes; align.c includes it with
 * LANE = 8 and with LANE = 16. Formulas and names: ../align.h. */

#define L_(name, bits) name##bits
#define L__(name, bits) L_(name, bits)
#define L(name) L__(name, LANE) /* strip8 */
#define VEC L__(v, LANE)        /* v8 */
#define V_(bits, name) v##bits##_##name
#define V__(bits, name) V_(bits, name)
#define V(name) V__(LANE, name) /* v8_add */
#define MASK L__(m, LANE)       /* m8 */
#define M_(bits, name) m##bits##_##name
#define M__(bits, name) M_(bits, name)
#define M(name) M__(LANE, name) /* m8_and */
#define W L__(W, LANE)
#define lane_t L__(lane, LANE)

#if LANE == 8
typedef uint8_t lane8;
#else
typedef uint16_t lane16;
#endif

struct L(cell) {
    VEC u, v, x, y, x2, y2;
};

/* How paths go on at a cell: where H comes from, and whether F below and E on the right do not
 * begin here. */
struct L(choice) {
    MASK diagonal, up, left, goes_down, goes_right;
};

/* o - e; of two pieces also o - e2 and o2 - o. */
struct L(gaps) {
    VEC one, two, dearer;
};

/* Flags of the pieces a and b of one direction, where the larger one is z, as enum bi_align_flag
 * has them; b2: b + o2 - o, z2: z + o2 - o, so that nothing is negative. */
BI_INLINE VEC L(piece_flags)(VEC a, VEC b2, VEC z, VEC z2, const struct L(gaps) *g,
                             const lane_t from, const lane_t first, const lane_t second)
{
    const VEC one = V(eq_bit)(z, a, from), two = V(eq_bit)(z2, b2, from);
    const VEC goes = V(ge_bit)(V(add)(a, g->one), z, first);
    const VEC goes2 = V(ge_bit)(V(add)(b2, g->two), z, second);
    const VEC alone = V(eq_bit)(V(sub)(one, two), V(set1)(from), (lane_t)-1);
    return V(or)(V(or)(one, two),
                 V(select)(alone, V(sub)(goes, V(eq_bit)(goes2, V(set1)(second), first)),
                           V(or)(goes, goes2)));
}

/* As L(cell_step) below with gaps of two pieces. */
BI_INLINE VEC L(two_step)(struct L(cell) *c, VEC s, const struct L(gaps) *g, const bool flags)
{
    const VEC a = V(add)(c->x, c->v), b = V(add)(c->y, c->u);
    const VEC a2 = V(add)(c->x2, c->v), b2 = V(add)(c->y2, c->u);
    const VEC far = V(subs)(V(max)(a2, b2), g->dearer);
    const VEC z = V(max)(V(max)(s, far), V(max)(a, b));
    const VEC u = V(sub)(z, c->v), v = V(sub)(z, c->u);
    VEC f = z;
    c->u = u;
    c->v = v;
    c->x = V(subs)(V(add)(a, g->one), z);
    c->y = V(subs)(V(add)(b, g->one), z);
    c->x2 = V(subs)(V(add)(a2, g->two), z);
    c->y2 = V(subs)(V(add)(b2, g->two), z);
    if (flags) {
        const VEC z2 = V(add)(z, g->dearer);
        f = V(eq_bit)(z, s, BI_ALIGN_DIAGONAL);
        f = V(or)(f, L(piece_flags)(a, a2, z, z2, g, BI_ALIGN_FROM_F, BI_ALIGN_EXTEND_F,
                                    BI_ALIGN_EXTEND_F2));
        f = V(or)(f, L(piece_flags)(b, b2, z, z2, g, BI_ALIGN_FROM_E, BI_ALIGN_EXTEND_E,
                                    BI_ALIGN_EXTEND_E2));
    }
    return f;
}

/* One cell in every lane: u, y of the left, v, x of above become the cell's own. Returns its flags
 * where `flags` is set, else nothing of use. choice may be NULL, and is not set with kind TWO; x, y
 * stay as they are with kind LINEAR. */
BI_INLINE VEC L(cell_step)(struct L(cell) *c, VEC s, const struct L(gaps) *gaps, const int kind,
                           const bool flags, struct L(choice) *choice)
{
    const VEC gap = gaps->one;
    if (kind == BI_ALIGN_TWO)
        return L(two_step)(c, s, gaps, flags);
    const VEC a = kind == BI_ALIGN_LINEAR ? c->v : V(add)(c->x, c->v);
    const VEC b = kind == BI_ALIGN_LINEAR ? c->u : V(add)(c->y, c->u);
    const VEC z = V(max)(V(max)(s, a), b);
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
    if (choice)
        *choice = (struct L(choice)){M(equal)(z, s), M(equal)(z, a), M(equal)(z, b),
                                     M(least)(V(add)(a, gap), z), M(least)(V(add)(b, gap), z)};
    return f;
}

/* Writes the flags of a vector of cells, a byte for each lane, W in all. */
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

#if !defined LANES_LOOKUP
/* ---- one pair: lanes are rows, a step is an anti-diagonal of the strip ---- */

/* S2 of BLOCK steps from `step` on, for all rows. */
BI_INLINE void L(strip_scores)(lane_t *scores, const lane_t *const *row, int64_t step,
                               const int n_vectors)
{
    for (int k = 0; k < n_vectors; k++)
        V(turn16)(scores + k * W * BI_ALIGN_BLOCK, row + k * W, step);
}

/* BLOCK steps; `edges`: some rows are outside of columns 1 .. m, or pad rows. */
BI_INLINE void L(strip_block)(const struct bi_align_strip *a, struct L(cell) *c,
                              const lane_t *scores, const lane_t *numbers, const lane_t *pads,
                              int64_t step, uint8_t *flags, const int n_vectors, const int kind,
                              const bool edges, const bool with_flags)
{
    const int rows = n_vectors * W;
    const struct L(gaps) gap = {V(set1)((lane_t)a->gap), V(set1)((lane_t)a->gap2),
                                V(set1)((lane_t)a->dearer)};
    const lane_t *v_in = a->v_in, *x_in = a->x_in, *x2_in = a->x2_in;
    lane_t *v_out = a->v_out, *x_out = a->x_out, *x2_out = a->x2_out;
    for (int i = 0; i < BI_ALIGN_BLOCK; i++) {
        const int64_t s = step + i, lowest = s > a->m ? s - a->m : 0;
        const lane_t span = (lane_t)((s < rows ? s : rows) - 1 - lowest);
        for (int k = n_vectors - 1; k >= 0; k--) {
            c[k].v = V(shift)(c[k].v, k ? c[k - 1].v : V(set1)(v_in[s - 1]));
            if (kind != BI_ALIGN_LINEAR)
                c[k].x = V(shift)(c[k].x, k ? c[k - 1].x : V(set1)(x_in[s - 1]));
            if (kind == BI_ALIGN_TWO)
                c[k].x2 = V(shift)(c[k].x2, k ? c[k - 1].x2 : V(set1)(x2_in[s - 1]));
        }
#pragma GCC unroll 4
        for (int k = 0; k < n_vectors; k++) {
            const struct L(cell) old = c[k];
            const VEC f = L(cell_step)(&c[k], V(load)(scores + (k * BI_ALIGN_BLOCK + i) * W), &gap,
                                       kind, with_flags, NULL);
            if (with_flags)
                L(strip_flags)(flags + i * rows + k * W, f);
            if (edges) { /* row r is active while 1 <= s - r <= m */
                const VEC r = V(load)(numbers + k * W), low = V(set1)((lane_t)lowest);
                const VEC on = lowest < rows ? V(ge_bit)(V(set1)(span), V(sub)(r, low), (lane_t)-1)
                                             : V(set1)(0);
                const VEC pass = V(load)(pads + k * W);
                c[k].u = V(select)(on, c[k].u, old.u);
                c[k].v = V(select)(pass, old.v, c[k].v);
                if (kind != BI_ALIGN_LINEAR) {
                    c[k].y = V(select)(on, c[k].y, old.y);
                    c[k].x = V(select)(pass, old.x, c[k].x);
                }
                if (kind == BI_ALIGN_TWO) {
                    c[k].y2 = V(select)(on, c[k].y2, old.y2);
                    c[k].x2 = V(select)(pass, old.x2, c[k].x2);
                }
            }
        }
        if (!edges || s >= rows) {
            v_out[s - rows] = V(last)(c[n_vectors - 1].v);
            x_out[s - rows] = V(last)(c[n_vectors - 1].x);
            if (kind == BI_ALIGN_TWO)
                x2_out[s - rows] = V(last)(c[n_vectors - 1].x2);
        }
    }
}

/* Runs one strip of n_vectors vectors of rows; kind: enum bi_align_kind. struct bi_align_strip
 * (cpu/align.h) says what it reads and leaves. All but a are constants. It goes from step a->first
 * to a->last or the end of the strip, and can go on from there. */
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
        pads[r] = (lane_t) - (r < a->pad);
    }
    for (int k = 0; k < n_vectors; k++) {
        c[k].u = V(load)(state + k * W);
        c[k].y = V(load)(state + rows + k * W);
        c[k].v = V(load)(state + 2 * rows + k * W);
        c[k].x = V(load)(state + 3 * rows + k * W);
        if (kind == BI_ALIGN_TWO) {
            c[k].y2 = V(load)(state + 4 * rows + k * W);
            c[k].x2 = V(load)(state + 5 * rows + k * W);
        }
    }
    for (int64_t s = a->first; s < a->last && s < end; s += BI_ALIGN_BLOCK) {
        uint8_t *flags = with_flags ? a->flags + (s - a->first) * rows : NULL;
        const bool edges = a->pad || s < rows || s + BI_ALIGN_BLOCK - 1 > a->m;
        L(strip_scores)(scores, row, s, n_vectors);
        if (edges)
            L(strip_block)(a, c, scores, numbers, pads, s, flags, n_vectors, kind, true,
                           with_flags);
        else
            L(strip_block)(a, c, scores, numbers, pads, s, flags, n_vectors, kind, false,
                           with_flags);
    }
    for (int k = 0; k < n_vectors; k++) {
        V(store)(state + k * W, c[k].u);
        V(store)(state + rows + k * W, c[k].y);
        V(store)(state + 2 * rows + k * W, c[k].v);
        V(store)(state + 3 * rows + k * W, c[k].x);
        if (kind == BI_ALIGN_TWO) {
            V(store)(state + 4 * rows + k * W, c[k].y2);
            V(store)(state + 5 * rows + k * W, c[k].x2);
        }
    }
}

/* One function for each shape, so that each has a frame of its own. */
#define L_STRIP(n, name, kind)                                                                     \
    static __attribute__((noinline)) void L(strip_##n##_##name)(const struct bi_align_strip *a)    \
    {                                                                                              \
        L(strip_run)(a, n, kind, false);                                                           \
    }                                                                                              \
    static __attribute__((noinline)) void L(flags_##n##_##name)(const struct bi_align_strip *a)    \
    {                                                                                              \
        L(strip_run)(a, n, kind, true);                                                            \
    }
L_STRIP(1, linear, BI_ALIGN_LINEAR)
L_STRIP(2, linear, BI_ALIGN_LINEAR)
L_STRIP(1, affine, BI_ALIGN_AFFINE)
L_STRIP(2, affine, BI_ALIGN_AFFINE)
L_STRIP(2, steep, BI_ALIGN_STEEP)
L_STRIP(2, two, BI_ALIGN_TWO)
#if VREGS == 32
L_STRIP(4, linear, BI_ALIGN_LINEAR)
L_STRIP(4, affine, BI_ALIGN_AFFINE)
#endif

/* The strip() of struct bi_align_kernels: picks the loop for its rows, its kind and its flags. Rows
 * are W, 2 W or, with 32 registers, 4 W; with kinds STEEP and TWO always 2 W. */
static void L(strip)(const struct bi_align_strip *a)
{
    const bool linear = a->kind == BI_ALIGN_LINEAR;
#define L_CALL(n, name) (a->flags ? L(flags_##n##_##name)(a) : L(strip_##n##_##name)(a))
    if (a->kind == BI_ALIGN_STEEP) /* rare: the middle size is enough */
        L_CALL(2, steep);
    else if (a->kind == BI_ALIGN_TWO)
        L_CALL(2, two);
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

#endif

#include "align_many.h"

#if !defined LANES_LOOKUP
static const struct bi_align_kernels L(align_kernels) = {
    .bits = LANE,
    .lanes = W,
    .rows = {W, 2 * W, VREGS == 32 ? 4 * W : 0},
    .columns = MANY_COLUMNS,
    .many = L(many),
    .many_scratch = L(many_scratch),
    .strip = L(strip),
    .wave = wave,
    .local16 = local16,
    .local32 = local32,
    .encode = encode,
};
#endif

#undef L_
#undef L__
#undef L
#undef L_STRIP
#undef L_MANY
#undef VEC
#undef MASK
#undef M_
#undef M__
#undef M
#undef V_
#undef V__
#undef V
#undef W
#undef lane_t

/* align_many.h - many pairs at once, a lane is a pair, for the lanes of align_lanes.h, which
 * includes it.
 *
 * Sequences end together, at row N and column M of the longest; what a shorter one has in
 * front of its first residue are pad cells, which pass the border on. Rows go in strips of
 * MANY_ROWS so that what belongs to a row stays in the cache; V and X of all columns lie in
 * memory between strips; MANY_COLUMNS columns go through the registers at a time.
 *
 * The S2 of a cell of all pairs come from profiles: for each pair and letter of its target a line
 * of S2 along the query, 16 rows of which are turned round at a time; or, with LANES_LOOKUP
 * (align_vbmi.c), from one table in registers by the two letters.
 *
 * Counts go along with cells: what lies on the path of H, of F below and of E on the right of it.
 *
 * Sections: sizes, scores, counts, cells, strips, the call. */

/* ---- sizes ---- */

#if !defined MANY_SIZES
#define MANY_SIZES
enum {
    MANY_ROWS = 240, /* in whole BLOCKs, below 256: numbers of rows are lanes */
    MANY_COLUMNS = VREGS == 32 ? 4 : 2,
    MANY_COUNTS = 4 /* vectors of counts that a row or column has */
};
#endif

struct L(many) {        /* the parts of one call share it */
    lane_t *v, *x, *x2; /* [M][W] */
    lane_t *u, *y, *y2; /* [R][W], of a strip */
    int64_t N, M, R;
    int64_t skip_rows[W], skip_columns[W]; /* pad cells in front of each lane */
    int64_t most_rows, most_columns;       /* the most of these */
    lane_t *column_counts, *row_counts;    /* [M], [R][COUNTS][W]: those of F or E, then H's */
#if defined LANES_LOOKUP
    uint8_t *query, *query2; /* [R][W], of a strip: numbers of letters, as below */
    uint8_t *target;         /* [M][W] codes */
    uint8_t target_number[64], target_number2[64], query_number[64], query_number2[64];
    uint8_t table[256];
#else
    lane_t *query_codes, *target_codes; /* [R][W], [M][W], for counts */
    lane_t *profile;
    int64_t stride;
    const lane_t *from[MANY_COLUMNS][W];
#endif
};

/* x rounded up to a multiple of `to`; x >= 0. */
BI_INLINE int64_t L(many_up)(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

/* From one line of a profile to the next: an odd number of cache lines, else the rows in use of
 * all of them would share few sets of a cache. */
BI_INLINE int64_t L(many_stride)(int64_t rows)
{
    const int64_t size = (int64_t)sizeof(lane_t);
    return (L(many_up)(rows * size, 128) + 64) / size;
}

/* Bytes of scratch memory that a call for pairs of up to n x m residues takes, of any kind of
 * costs; counts: with bi_align_many.counts, which takes more. */
BI_INLINE size_t L(many_scratch)(int64_t n, int64_t m, int32_t letters, bool counts)
{
    const int64_t rows = L(many_up)(n < MANY_ROWS ? n : MANY_ROWS, BI_ALIGN_BLOCK);
    const int64_t columns = L(many_up)(m, BI_ALIGN_BLOCK);
    return sizeof(lane_t) * (size_t)W *
               (size_t)(3 * columns + 4 * rows + L(many_stride)(rows) * letters +
                        (counts ? MANY_COUNTS + 1 : 0) * (columns + rows)) +
           64;
}

/* Codes of BLOCK rows or columns from `at` on of all lanes, 0 in pads and in lanes without a pair:
 * lane l's in to[l]. */
BI_INLINE void L(many_codes)(const struct bi_align_many *a, const uint8_t *const *sequence,
                             const int64_t *skip, int64_t at, uint8_t to[W][BI_ALIGN_BLOCK])
{
    for (int l = 0; l < W; l++)
        for (int k = 0; k < BI_ALIGN_BLOCK; k++)
            to[l][k] = l < a->n_pairs && at + k >= skip[l] ? sequence[l][at + k - skip[l]] : 0;
}

/* ---- scores ---- */

#if defined LANES_LOOKUP

enum { MANY_SQUARE = 11, MANY_TRIANGLE = 22 }; /* letters whose pairs the tables hold */

/* Fills the table of S2 less 2 (o - e), and the numbers of letters, from a->used, which has no more
 * than SQUARE letters, or TRIANGLE of a symmetric table where `square` is false.
 *
 * Pairs of few letters have their S2 at q + n t. Of more letters each unordered pair has one,
 * at max(q + t (t + 1) / 2, t + q (q + 1) / 2): the larger letter gives the triangle. */
static void L(many_table)(const struct bi_align_many *a, struct L(many) *w, const bool square)
{
    const uint8_t *s2 = a->table; /* [target][query] */
    uint8_t code[BI_ALIGN_LETTERS];
    const int gap = a->open - a->extend;
    int n = 0;
    for (int c = 0; c < BI_ALIGN_LETTERS; c++)
        if (a->used >> c & 1)
            code[n++] = (uint8_t)c;
    for (int t = 0; t < n; t++) {
        w->query_number[code[t]] = (uint8_t)t;
        w->target_number2[code[t]] = (uint8_t)(t * (t + 1) / 2);
        w->target_number[code[t]] = (uint8_t)(square ? n * t : t);
        /* a square does not need these otherwise; the same letters have the same number so */
        w->query_number2[code[t]] = square ? w->target_number[code[t]] : w->target_number2[code[t]];
        for (int q = 0; q < (square ? n : t + 1); q++)
            w->table[q + (square ? n * t : t * (t + 1) / 2)] =
                (uint8_t)(s2[code[t] * BI_ALIGN_LETTERS + code[q]] - 2 * gap);
    }
}

/* The cell of align_lanes.h in other terms, of one operation less where nothing saturates: with
 * g = o - e and everything as signed numbers,
 *   U - g, V - g                 for U, V
 *   A - 2 g (cell below), B - 2 g (cell on the right)   for X, Y
 *   M = Z - 2 g = max(S + 2 e, A - 2 g, B - 2 g)
 * the next A is max(Z, A + g) - U, so A - 2 g becomes max(M - g, A - 2 g) - (U - g), and B
 * likewise. What is compared lies in [-3 g, max(S) + 2 e].
 *
 * Gives the flags if they are wanted, else nothing of use. choice may be NULL. */
BI_INLINE v8 L(signed_step)(struct L(cell) *c, v8 s, v8 gap, const int kind, const bool flags,
                            struct L(choice) *choice)
{
    const v8 a = kind == BI_ALIGN_LINEAR ? c->v : c->x, b = kind == BI_ALIGN_LINEAR ? c->u : c->y;
    const v8 m = v8_max_signed(v8_max_signed(s, a), b), open = v8_sub(m, gap);
    const v8 down = v8_max_signed(open, a), right = v8_max_signed(open, b);
    const v8 u = v8_sub(m, c->v), v = v8_sub(m, c->u);
    v8 f = gap;
    if (kind != BI_ALIGN_LINEAR) {
        c->x = v8_sub(down, c->u);
        c->y = v8_sub(right, c->v);
    }
    c->u = u;
    c->v = v;
    if (flags) {
        f = v8_or_eq(v8_set1(0), m, s, v8_set1(BI_ALIGN_DIAGONAL));
        f = v8_or_eq(f, m, a, v8_set1(BI_ALIGN_FROM_F));
        f = v8_or_eq(f, m, b, v8_set1(BI_ALIGN_FROM_E));
        f = v8_or_eq(f, down, a, v8_set1(BI_ALIGN_EXTEND_F));
        f = v8_or_eq(f, right, b, v8_set1(BI_ALIGN_EXTEND_E));
    }
    if (choice)
        *choice = (struct L(choice)){m8_equal(m, s), m8_equal(m, a), m8_equal(m, b),
                                     m8_equal(down, a), m8_equal(right, b)};
    return f;
}

/* Codes of BLOCK rows or columns of all lanes, turned round: to[k * W + l]. most: the most pads of
 * a lane. In the last block of columns up to BLOCK - MANY_COLUMNS codes behind the end of a target
 * are read, too. */
BI_INLINE void L(many_letters)(const struct bi_align_many *a, const uint8_t *const *sequence,
                               const int64_t *skip, int64_t most, int64_t at, uint8_t *to)
{
    uint8_t codes[W][BI_ALIGN_BLOCK];
    const uint8_t *from[W];
    if (at < most || a->n_pairs < W)
        L(many_codes)(a, sequence, skip, at, codes);
    for (int l = 0; l < W; l++)
        from[l] = at < most || a->n_pairs < W ? codes[l] : sequence[l] + at - skip[l];
    v8_turn16(to, from, 0);
}

/* Fills w->target: codes of all columns, as the tables take them. */
static void L(many_target)(const struct bi_align_many *a, struct L(many) *w)
{
    for (int64_t j = 0; j < w->M; j += BI_ALIGN_BLOCK)
        L(many_letters)(a, a->target, w->skip_columns, w->most_columns, j, w->target + j * W);
}

/* Fills w->query and w->query2 for the rows of a strip, as the tables take them. */
static void L(many_query)(const struct bi_align_many *a, struct L(many) *w, int64_t strip)
{
    const v8 number = v8_load(w->query_number), number2 = v8_load(w->query_number2);
    for (int64_t r = 0; r < w->R; r += BI_ALIGN_BLOCK) {
        uint8_t *to = w->query + r * W, *to2 = w->query2 + r * W;
        L(many_letters)(a, a->query, w->skip_rows, w->most_rows, strip + r, to);
        for (int i = 0; i < BI_ALIGN_BLOCK; i++) {
            const v8 code = v8_load(to + i * W);
            v8_store(to + i * W, v8_pick64(number, code));
            v8_store(to2 + i * W, v8_pick64(number2, code));
        }
    }
}

#else

/* Profile of one lane for the rows of a strip: [letters][stride]. Lines of letters that are not in
 * a->used are left as they were. */
BI_INLINE void L(many_profile)(lane_t *to, const struct bi_align_many *a, const uint8_t *codes,
                               int64_t rows, int64_t stride)
{
    const lane_t *table = a->table;
    for (int32_t t = 0; t < a->letters; t++) {
        const lane_t *row = table + t * BI_ALIGN_LETTERS;
        if (!(a->used >> t & 1))
            continue;
#if LANE == 8 && defined LANES_PICK32
        for (int64_t r = 0; r < rows; r += W)
            v8_store(to + t * stride + r, v8_pick32(row, v8_load(codes + r)));
#else
        for (int64_t r = 0; r < rows; r++)
            to[t * stride + r] = row[codes[r]];
#endif
    }
}

/* Makes the profiles of the rows of a strip: lines of S2 for each pair and letter. */
static void L(many_query)(const struct bi_align_many *a, struct L(many) *w, int64_t strip)
{
    uint8_t codes[MANY_ROWS + W];
    w->stride = L(many_stride)(w->R);
    for (int l = 0; l < W; l++) {
        const int64_t at = strip - w->skip_rows[l], pads = at < 0 ? (-at < w->R ? -at : w->R) : 0;
        memset(codes, 0, sizeof codes);
        if (l < a->n_pairs && pads < w->R)
            memcpy(codes + pads, a->query[l] + at + pads, (size_t)(w->R - pads));
        for (int64_t r = 0; a->counts && r < w->R; r++)
            w->query_codes[r * W + l] = codes[r];
        L(many_profile)(w->profile + (int64_t)l * a->letters * w->stride, a, codes, w->R,
                        w->stride);
    }
}

/* Writes the codes of all columns, 0 for pads, lane by lane. */
static void L(many_target_codes)(const struct bi_align_many *a, struct L(many) *w)
{
    for (int l = 0; l < W; l++)
        for (int64_t j = 0; j < w->M; j++)
            w->target_codes[j * W + l] = l < a->n_pairs && j >= w->skip_columns[l]
                                             ? a->target[l][j - w->skip_columns[l]]
                                             : 0;
}

/* Lines of the letters of MANY_COLUMNS columns from `column` on; pads, and lanes without a pair,
 * get the line of letter 0. */
BI_INLINE void L(many_lines)(const struct bi_align_many *a, struct L(many) *w, int64_t column)
{
    for (int l = 0; l < W; l++) {
        const lane_t *profile = w->profile + (int64_t)l * a->letters * w->stride;
        const int64_t at = column - w->skip_columns[l];
        for (int j = 0; j < MANY_COLUMNS; j++)
            w->from[j][l] = profile +
                            (l < a->n_pairs && at + j >= 0 ? a->target[l][at + j] * w->stride : 0);
    }
}

#endif

/* ---- counts ---- */

/* Equal letters and letters that face letters on a path. */
struct L(counts) {
    VEC matches, aligned;
};

/* Reads two vectors of counts, those of matches first. */
BI_INLINE struct L(counts) L(counts_load)(const lane_t *from)
{
    return (struct L(counts)){V(load)(from), V(load)(from + W)};
}

/* Writes what counts_load() reads. */
BI_INLINE void L(counts_store)(lane_t *to, struct L(counts) c)
{
    V(store)(to, c.matches);
    V(store)(to + W, c.aligned);
}

/* Gives a where m is true, else b. */
BI_INLINE struct L(counts) L(counts_pick)(MASK m, struct L(counts) a, struct L(counts) b)
{
    return (struct L(counts)){M(pick)(m, a.matches, b.matches), M(pick)(m, a.aligned, b.aligned)};
}

/* In all lanes or in none: E comes before F, as for EMBOSS; a match comes last, as for WFA2. */
struct L(order) {
    MASK left_first, match_last;
};

/* Counts of a cell, as bi_align_step() walks: corner are those of H above on the left; f and e,
 * of F and E that lead here, become those of what leaves the cell. Gives those of H. Ties between
 * diagonal, F and E are broken by `order`; equal: both letters are the same. */
BI_INLINE struct L(counts)
    L(counts_step)(struct L(counts) corner, struct L(counts) *f, struct L(counts) *e,
                   const struct L(choice) *c, MASK equal, const struct L(order) *order)
{
    const VEC one = V(set1)(1);
    const MASK up = M(clear)(c->up, M(and)(c->left, order->left_first));
    const MASK gap = M(and)(order->match_last, M(or)(c->up, c->left));
    const MASK diagonal = M(clear)(c->diagonal, M(and)(equal, gap));
    struct L(counts) h = L(counts_pick)(up, *f, *e);
    h = L(counts_pick)(
        diagonal,
        (struct L(counts)){M(add)(equal, corner.matches, one), V(add)(corner.aligned, one)}, h);
    *f = L(counts_pick)(c->goes_down, *f, h);
    *e = L(counts_pick)(c->goes_right, *e, h);
    return h;
}

/* ---- cells ---- */

/* Lanes whose pads reach beyond `at`: all ones, others 0. left: pads from 0 on, at most 255; `at`
 * is below 255. */
BI_INLINE VEC L(many_pads)(VEC left, int64_t at)
{
    return V(ge_bit)(left, V(set1)((lane_t)(at + 1)), (lane_t)-1);
}

/* For each lane, how many pad cells are left in front of it from cell `from` on, at most 255. */
BI_INLINE VEC L(many_left)(const int64_t *skip, int64_t from)
{
    lane_t left[W];
    for (int l = 0; l < W; l++)
        left[l] = (lane_t)(skip[l] < from ? 0 : skip[l] - from > 255 ? 255 : skip[l] - from);
    return V(load)(left);
}

/* Some columns, as they are for all rows. */
struct L(columns) {
    VEC pad[MANY_COLUMNS];
    VEC rows_left;
    struct L(order) order;
    struct L(counts) corner; /* H's in the row above, left of the first column */
    struct L(counts) f[MANY_COLUMNS], h[MANY_COLUMNS];
#if defined LANES_LOOKUP
    VEC target[MANY_COLUMNS], target2[MANY_COLUMNS], table[4];
#endif
};

#if defined LANES_LOOKUP
/* S2 of a row and column j of all pairs, from the table of both letters. */
BI_INLINE v8 L(many_score)(const struct L(many) *w, const struct L(columns) *k, int64_t row, int j,
                           const bool square)
{
    const v8 q = v8_load(w->query + row * W), q2 = v8_load(w->query2 + row * W);
    if (square)
        return v8_pick128(k->table, v8_add(q, k->target[j]));
    return v8_pick256(k->table, v8_max(v8_add(q, k->target2[j]), v8_add(q2, k->target[j])));
}
#endif

/* Whether letters of a row and of column j of these are the same; pads are letter 0. */
BI_INLINE MASK L(many_equal)(const struct L(many) *w, const struct L(columns) *k, int64_t row,
                             int64_t column, int j, const bool square)
{
#if defined LANES_LOOKUP
    return m8_equal(v8_load((square ? w->query2 : w->query) + row * W), k->target[j]);
#else
    return M(equal)(V(load)(w->query_codes + row * W), V(load)(w->target_codes + (column + j) * W));
#endif
}

/* Counts of a cell of a row that has those of E and, in corner, of H above on its left, which
 * become what the next cell needs; pads: nothing was met there, which needs `edges`. */
BI_INLINE void L(many_count)(struct L(columns) *k, int j, struct L(counts) *e,
                             struct L(counts) *corner, const struct L(choice) *choice, MASK equal,
                             VEC row_pad, const bool edges)
{
    const struct L(counts) above = k->h[j], none = {V(set1)(0), V(set1)(0)};
    k->h[j] = L(counts_step)(*corner, &k->f[j], e, choice, equal, &k->order);
    if (edges) {
        const MASK pad = M(of)(V(or)(row_pad, k->pad[j]));
        k->h[j] = L(counts_pick)(pad, none, k->h[j]);
        k->f[j] = L(counts_pick)(pad, none, k->f[j]);
        *e = L(counts_pick)(pad, none, *e);
    }
    *corner = above;
}

/* Runs BLOCK rows of a block of columns, from the cells c on; score and c are those behind them.
 * kind, square, edges, flags and counts are constants. edges: some cells may be pads, else none is
 * taken for one. flags: writes them to a->flags; else what is there stays. */
BI_INLINE void L(many_block)(const struct bi_align_many *a, struct L(many) *w, int64_t row,
                             int64_t strip, int64_t column, struct L(cell) *c, VEC *score,
                             struct L(columns) *k, lane_t (*scores)[BI_ALIGN_BLOCK * W],
                             const int kind, const bool square, const bool edges, const bool flags,
                             const bool counts)
{
    const struct L(gaps) gap = {V(set1)((lane_t)(a->open - a->extend)),
                                V(set1)((lane_t)(a->open - a->extend2)),
                                V(set1)((lane_t)(a->open2 - a->open))};
#if !defined LANES_LOOKUP
    (void)square, (void)score;
    for (int j = 0; j < MANY_COLUMNS; j++)
        V(turn16)(scores[j], w->from[j], row);
#endif
    for (int i = 0; i < BI_ALIGN_BLOCK; i++) {
        lane_t *u = w->u + (row + i) * W, *y = w->y + (row + i) * W;
        VEC row_pad = gap.one;
        struct L(cell) cell = {.u = V(load)(u), .y = V(load)(y)};
        if (kind == BI_ALIGN_TWO)
            cell.y2 = V(load)(w->y2 + (row + i) * W);
        lane_t *row_counts = w->row_counts + (row + i) * MANY_COUNTS * W;
        struct L(counts) e, left, corner = k->corner;
        struct L(choice) choice;
        if (edges)
            row_pad = L(many_pads)(k->rows_left, row + i);
        if (counts) {
            e = L(counts_load)(row_counts);
            left = L(counts_load)(row_counts + 2 * W);
        }
#pragma GCC unroll 8
        for (int j = 0; j < MANY_COLUMNS; j++) {
            struct L(cell) old;
#if !defined LANES_LOOKUP
            const VEC s = V(load)(scores[j] + i * W);
#else
            const VEC s = score[j]; /* that of the next row while this one waits for itself */
            score[j] = L(many_score)(w, k, row + i + 1, j, square);
#endif
            cell.v = c[j].v;
            cell.x = c[j].x;
            if (kind == BI_ALIGN_TWO)
                cell.x2 = c[j].x2;
            old = cell;
#if defined LANES_LOOKUP
            const VEC f = L(signed_step)(&cell, s, gap.one, kind, flags, counts ? &choice : NULL);
#else
            const VEC f = L(cell_step)(&cell, s, &gap, kind, flags, counts ? &choice : NULL);
#endif
            if (counts)
                L(many_count)(k, j, &e, &corner, &choice,
                              L(many_equal)(w, k, row + i, column, j, square), row_pad, edges);
            if (flags)
                L(strip_flags)(a->flags + ((strip + row + i) * w->M + column + j) * W, f);
            if (edges) {
                cell.v = V(select)(row_pad, old.v, cell.v);
                cell.u = V(select)(k->pad[j], old.u, cell.u);
                if (kind != BI_ALIGN_LINEAR) {
                    cell.x = V(select)(row_pad, old.x, cell.x);
                    cell.y = V(select)(k->pad[j], old.y, cell.y);
                }
                if (kind == BI_ALIGN_TWO) {
                    cell.x2 = V(select)(row_pad, old.x2, cell.x2);
                    cell.y2 = V(select)(k->pad[j], old.y2, cell.y2);
                }
            }
            c[j].v = cell.v;
            c[j].x = cell.x;
            if (kind == BI_ALIGN_TWO)
                c[j].x2 = cell.x2;
        }
        V(store)(u, cell.u);
        V(store)(y, cell.y);
        if (kind == BI_ALIGN_TWO)
            V(store)(w->y2 + (row + i) * W, cell.y2);
        if (counts) {
            L(counts_store)(row_counts, e);
            L(counts_store)(row_counts + 2 * W, k->h[MANY_COLUMNS - 1]);
            k->corner = left;
        }
    }
}

/* ---- strips ---- */

/* Whether the flags of a block are wanted: some of its cells lie in the band, or a->band is
 * false. */
BI_INLINE bool L(many_in_band)(const struct bi_align_many *a, const struct L(many) *w, int64_t row,
                               int64_t column)
{
    const int64_t diagonal = column - row - (w->M - w->N);
    return !a->band || (diagonal + MANY_COLUMNS > a->low && diagonal - BI_ALIGN_BLOCK < a->high);
}

/* Runs all columns of the strip of rows that begins at row `strip`. Flags of blocks that lie wholly
 * outside the band are not written. */
BI_INLINE void L(many_strip)(const struct bi_align_many *a, struct L(many) *w, int64_t strip,
                             const int kind, const bool square, const bool flags, const bool counts)
{
    struct L(columns) k = {.rows_left = L(many_left)(w->skip_rows, strip)};
    struct L(counts) corner = {V(set1)(0), V(set1)(0)};
#if defined LANES_LOOKUP
    lane_t(*scores)[BI_ALIGN_BLOCK * W] = NULL;
#else
    lane_t scores[MANY_COLUMNS][BI_ALIGN_BLOCK * W]; /* for a block */
#endif

    k.order.left_first = M(all)(a->ties == BI_ALIGN_TIES_EMBOSS);
    k.order.match_last = M(all)(a->ties == BI_ALIGN_TIES_WFA);

#if defined LANES_LOOKUP
    for (int i = 0; i < 4; i++)
        k.table[i] = v8_load(w->table + 64 * i);
#endif
    for (int64_t column = 0; column < w->M; column += MANY_COLUMNS) {
        struct L(cell) c[MANY_COLUMNS];
        VEC score[MANY_COLUMNS];
        const VEC left = L(many_left)(w->skip_columns, column);
#if !defined LANES_LOOKUP
        L(many_lines)(a, w, column);
#endif
        for (int j = 0; j < MANY_COLUMNS; j++) {
#if defined LANES_LOOKUP
            const VEC code = v8_load(w->target + (column + j) * W);
            k.target[j] = v8_pick64(v8_load(w->target_number), code);
            k.target2[j] = v8_pick64(v8_load(w->target_number2), code);
            score[j] = L(many_score)(w, &k, 0, j, square);
#endif
            k.pad[j] = L(many_pads)(left, j);
            c[j].v = V(load)(w->v + (column + j) * W);
            c[j].x = V(load)(w->x + (column + j) * W);
            if (kind == BI_ALIGN_TWO)
                c[j].x2 = V(load)(w->x2 + (column + j) * W);
            if (counts) {
                const lane_t *from = w->column_counts + (column + j) * MANY_COUNTS * W;
                k.f[j] = L(counts_load)(from);
                k.h[j] = L(counts_load)(from + 2 * W);
            }
        }
        k.corner = corner;
        corner = k.h[MANY_COLUMNS - 1];
        for (int64_t row = 0; row < w->R; row += BI_ALIGN_BLOCK) {
            const bool edges = column < w->most_columns || strip + row < w->most_rows;
            const bool wanted = flags && L(many_in_band)(a, w, strip + row, column);
            if (edges && wanted)
                L(many_block)(a, w, row, strip, column, c, score, &k, scores, kind, square, true,
                              flags, counts);
            else if (wanted)
                L(many_block)(a, w, row, strip, column, c, score, &k, scores, kind, square, false,
                              flags, counts);
            else if (edges)
                L(many_block)(a, w, row, strip, column, c, score, &k, scores, kind, square, true,
                              false, counts);
            else
                L(many_block)(a, w, row, strip, column, c, score, &k, scores, kind, square, false,
                              false, counts);
        }
        for (int j = 0; j < MANY_COLUMNS; j++) {
            V(store)(w->v + (column + j) * W, c[j].v);
            V(store)(w->x + (column + j) * W, c[j].x);
            if (kind == BI_ALIGN_TWO)
                V(store)(w->x2 + (column + j) * W, c[j].x2);
            if (counts) {
                lane_t *to = w->column_counts + (column + j) * MANY_COUNTS * W;
                L(counts_store)(to, k.f[j]);
                L(counts_store)(to + 2 * W, k.h[j]);
            }
        }
    }
}

/* One function for each shape, so that each has a frame of its own. */
#define L_MANY(name, kind, square, flags, counts)                                                  \
    static __attribute__((noinline)) void L(many_##name)(const struct bi_align_many *a,            \
                                                         struct L(many) *w, int64_t strip)         \
    {                                                                                              \
        L(many_strip)(a, w, strip, kind, square, flags, counts);                                   \
    }
L_MANY(linear, BI_ALIGN_LINEAR, false, false, false)
L_MANY(affine, BI_ALIGN_AFFINE, false, false, false)
L_MANY(linear_flags, BI_ALIGN_LINEAR, false, true, false)
L_MANY(affine_flags, BI_ALIGN_AFFINE, false, true, false)
L_MANY(linear_counts, BI_ALIGN_LINEAR, false, false, true)
L_MANY(affine_counts, BI_ALIGN_AFFINE, false, false, true)
#if defined LANES_LOOKUP /* whose affine cells are right for steep scores, too */
L_MANY(square_linear_counts, BI_ALIGN_LINEAR, true, false, true)
L_MANY(square_affine_counts, BI_ALIGN_AFFINE, true, false, true)
L_MANY(square_linear, BI_ALIGN_LINEAR, true, false, false)
L_MANY(square_affine, BI_ALIGN_AFFINE, true, false, false)
L_MANY(square_linear_flags, BI_ALIGN_LINEAR, true, true, false)
L_MANY(square_affine_flags, BI_ALIGN_AFFINE, true, true, false)
#else
L_MANY(steep, BI_ALIGN_STEEP, false, false, false)
L_MANY(steep_flags, BI_ALIGN_STEEP, false, true, false)
L_MANY(two, BI_ALIGN_TWO, false, false, false)
L_MANY(two_flags, BI_ALIGN_TWO, false, true, false)
#endif

/* Picks the loop with counts for linear or else affine costs, and runs it; no flags. square: with
 * LANES_LOOKUP, as many_table() has it. */
static void L(many_counts)(const struct bi_align_many *a, struct L(many) *w, int64_t strip,
                           bool square)
{
    const bool linear = a->kind == BI_ALIGN_LINEAR;
#define L_CALL(name) L(many_##name##_counts)(a, w, strip)
#if defined LANES_LOOKUP
    if (square) {
        linear ? L_CALL(square_linear) : L_CALL(square_affine);
        return;
    }
#endif
    (void)square;
    linear ? L_CALL(linear) : L_CALL(affine);
#undef L_CALL
}

/* Picks the loop for the kind of costs, and for flags, and runs it. With LANES_LOOKUP, STEEP is run
 * as AFFINE, and TWO must not be given. */
static void L(many_kind)(const struct bi_align_many *a, struct L(many) *w, int64_t strip,
                         bool square)
{
    const bool linear = a->kind == BI_ALIGN_LINEAR;
#define L_CALL(name) (a->flags ? L(many_##name##_flags)(a, w, strip) : L(many_##name)(a, w, strip))
#if defined LANES_LOOKUP
    if (square)
        linear ? L_CALL(square_linear) : L_CALL(square_affine);
    else
        linear ? L_CALL(linear) : L_CALL(affine);
#else
    (void)square;
    if (a->kind == BI_ALIGN_STEEP)
        L_CALL(steep);
    else if (a->kind == BI_ALIGN_TWO)
        L_CALL(two);
    else
        linear ? L_CALL(linear) : L_CALL(affine);
#endif
#undef L_CALL
}

/* Adds differences of H along rows or columns [first, last) of all lanes to sum; best takes what is
 * larger on the way, after each difference, but not the sum it began with. Those of pads do not
 * count. d[0] belongs to `first`; lanes without a pair get numbers that mean nothing. */
BI_INLINE void L(many_sum)(const lane_t *d, const struct bi_align_many *a, const int64_t *skip,
                           int64_t most, int64_t first, int64_t last, int64_t *sum, int64_t *best)
{
#if defined LANES_LOOKUP
    const int32_t open = a->extend;
    typedef int8_t difference;
#else
    const int32_t open = a->open;
    typedef lane_t difference;
#endif
    int64_t at = first;
    for (; at < last && at < most; at++)
        for (int l = 0; l < W; l++)
            if (at >= skip[l]) {
                sum[l] += (difference)d[(at - first) * W + l] - open;
                best[l] = sum[l] > best[l] ? sum[l] : best[l];
            }
    for (; at < last; at++)
        for (int l = 0; l < W; l++) {
            sum[l] += (difference)d[(at - first) * W + l] - open;
            best[l] = sum[l] > best[l] ? sum[l] : best[l];
        }
}

/* As many_sum(), of pairs alone: what is best on the way, the first of equal ones, with its place
 * and with its counts, which are those of H in [last - first][COUNTS][W]. */
static void L(many_best)(const lane_t *d, const lane_t *counts, const struct bi_align_many *a,
                         const int64_t *skip, int64_t first, int64_t last, int64_t *sum,
                         struct bi_align_best *best)
{
#if defined LANES_LOOKUP
    const int32_t open = a->extend;
    typedef int8_t difference;
#else
    const int32_t open = a->open;
    typedef lane_t difference;
#endif
    for (int64_t at = first; at < last; at++, d += W, counts += MANY_COUNTS * W)
        for (int l = 0; l < a->n_pairs; l++) {
            if (at < skip[l])
                continue;
            sum[l] += (difference)d[l] - open;
            if (sum[l] > best[l].score)
                best[l] = (struct bi_align_best){sum[l], at - skip[l] + 1, counts[2 * W + l],
                                                 counts[3 * W + l]};
        }
}

/* ---- the call ---- */

/* Writes U, Y or V, X of the border in front of rows or columns [first, last) to d and gaps. */
static void L(many_border)(const struct bi_align_many *a, const struct bi_align_border *border,
                           const int64_t *skip, int64_t first, int64_t last, lane_t *d,
                           lane_t *gaps)
{
#if defined LANES_LOOKUP
    const int32_t gap = a->open - a->extend, rest = border->rest - gap, one = border->first - gap;
    const int32_t gap_rest = rest - gap, gap_one = one - gap;
#else
    const int32_t rest = border->turn ? border->far : border->rest, one = border->first;
    const int32_t gap_rest = 0, gap_one = 0;
#endif
    for (int64_t k = 0; k < (last - first) * W; k++) {
        d[k] = (lane_t)rest;
        gaps[k] = (lane_t)gap_rest;
    }
    for (int l = 0; l < a->n_pairs; l++)
        if (skip[l] >= first && skip[l] < last) {
            d[(skip[l] - first) * W + l] = (lane_t)one;
            gaps[(skip[l] - first) * W + l] = (lane_t)gap_one;
        }
    for (int l = 0; border->turn && l < a->n_pairs; l++)
        for (int64_t k = skip[l] > first ? skip[l] : first; k < last && k <= skip[l] + border->turn;
             k++)
            d[(k - first) * W + l] = (lane_t)bi_align_border_at(border, k - skip[l]);
}

/* The many() of struct bi_align_kernels: aligns n_pairs pairs at once, a lane each, as struct
 * bi_align_many says. It sets score, and with a->counts matches and aligned, of these pairs;
 * a->used must have all codes that are in the sequences. */
static void L(many)(struct bi_align_many *a)
{
    struct L(many) w = {0};
    int64_t n = 0, m = 0, side[W] = {0}, side_best[W], end[W] = {0}, end_best[W];
    bool square = false;
    for (int l = 0; l < a->n_pairs; l++) {
        n = a->n[l] > n ? a->n[l] : n;
        m = a->m[l] > m ? a->m[l] : m;
    }
    w.N = L(many_up)(n, BI_ALIGN_BLOCK);
    w.M = L(many_up)(m, MANY_COLUMNS);
    for (int l = 0; l < W; l++) {
        w.skip_rows[l] = l < a->n_pairs ? w.N - a->n[l] : 0;
        w.skip_columns[l] = l < a->n_pairs ? w.M - a->m[l] : 0;
        w.most_rows = w.skip_rows[l] > w.most_rows ? w.skip_rows[l] : w.most_rows;
        w.most_columns = w.skip_columns[l] > w.most_columns ? w.skip_columns[l] : w.most_columns;
        side_best[l] = end_best[l] = INT64_MIN;
    }
    for (int l = 0; a->counts && l < a->n_pairs; l++)
        a->row[l] = a->column[l] = (struct bi_align_best){.score = INT64_MIN};
    w.v = a->scratch;
    w.x = w.v + w.M * W;
    w.u = w.x + w.M * W;
    w.y = w.u + L(many_up)(n < MANY_ROWS ? n : MANY_ROWS, BI_ALIGN_BLOCK) * W;
    w.x2 = w.y + (w.y - w.u); /* see many_scratch() */
    w.y2 = w.x2 + w.M * W;
    L(many_border)(a, &a->top, w.skip_columns, 0, w.M, w.v, w.x);
    if (a->kind == BI_ALIGN_TWO)
        memset(w.x2, 0, (size_t)(w.M * W) * sizeof *w.x2);
    if (a->counts) {
        const size_t before = L(many_scratch)(n, m, a->letters, false) - 64;
        w.column_counts = w.v + before / sizeof *w.v;
        w.row_counts = w.column_counts + w.M * MANY_COUNTS * W;
        memset(w.column_counts, 0, (size_t)(w.M * MANY_COUNTS * W) * sizeof *w.v);
    }
#if defined LANES_LOOKUP
    w.query = w.y + (w.y - w.u);
    w.query2 = w.query + (w.y - w.u);
    w.target = w.query2 + (w.y - w.u);
    square = __builtin_popcount(a->used) <= MANY_SQUARE;
    L(many_table)(a, &w, square);
    L(many_target)(a, &w);
#else
    w.profile = a->kind == BI_ALIGN_TWO ? w.y2 + (w.y - w.u) : w.x2;
    if (a->counts) {
        w.query_codes = w.row_counts + (w.y - w.u) * MANY_COUNTS;
        w.target_codes = w.query_codes + (w.y - w.u);
        L(many_target_codes)(a, &w);
    }
#endif
    for (int64_t strip = 0; strip < w.N; strip += MANY_ROWS) {
        w.R = w.N - strip < MANY_ROWS ? w.N - strip : MANY_ROWS;
        L(many_border)(a, &a->left, w.skip_rows, strip, strip + w.R, w.u, w.y);
        if (a->kind == BI_ALIGN_TWO)
            memset(w.y2, 0, (size_t)(w.R * W) * sizeof *w.y2);
        L(many_query)(a, &w, strip);
        if (a->counts) {
            memset(w.row_counts, 0, (size_t)(w.R * MANY_COUNTS * W) * sizeof *w.v);
            L(many_counts)(a, &w, strip, square);
        } else {
            L(many_kind)(a, &w, strip, square);
        }
        if (a->free_column && a->counts)
            L(many_best)(w.u, w.row_counts, a, w.skip_rows, strip, strip + w.R, side, a->column);
        else if (a->free_column)
            L(many_sum)(w.u, a, w.skip_rows, w.most_rows, strip, strip + w.R, side, side_best);
    }
    if (a->free_row && a->counts)
        L(many_best)(w.v, w.column_counts, a, w.skip_columns, 0, w.M, end, a->row);
    else
        L(many_sum)(w.v, a, w.skip_columns, w.most_columns, 0, w.M, end, end_best);
    for (int l = 0; a->counts && l < a->n_pairs; l++) {
        const lane_t *h = w.column_counts + ((w.M - 1) * MANY_COUNTS + 2) * W + l;
        a->matches[l] = h[0];
        a->aligned[l] = h[W];
        a->corner[l] = end[l];
        end_best[l] = a->row[l].score;
        side_best[l] = a->column[l].score;
        if (a->free_column)
            a->column[l].score += end[l] - side[l];
    }
    for (int l = 0; l < a->n_pairs; l++) {
        a->score[l] = a->free_row ? end_best[l] : end[l];
        if (a->free_column && end[l] - side[l] + side_best[l] > a->score[l])
            a->score[l] = end[l] - side[l] + side_best[l];
    }
}

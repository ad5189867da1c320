/* align_pair.c - one pair on the CPU: strips of rows from top to bottom, and back.
 *
 * The way down keeps what a strip needs to be computed again: the row above it and, every
 * WINDOW steps, its state. The way back asks for flags of one window at a time, only of those
 * that the path crosses, so a traceback costs a few percent of the cells again and memory
 * proportional to cells / 100. Where that is beyond the limit, only every g-th strip keeps its
 * row on the way down; g strips at a time are then computed once more on the way back, which
 * needs memory proportional to the length times the root of the number of strips.
 *
 * In a band of diagonals a strip has the columns from its first row's lowest diagonal to its last
 * row's highest. What lies beside them is a gap that goes on, down the column in front of them and
 * right along the last row: no path that scores more than it should, and differences within their
 * bounds, as each is some path's. Where the best paths lie in the band, cells and flags on them are
 * those of the whole matrix.
 *
 * Sections: plan, strips, down, ends, back. */
#include "align.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "../base/team.h"

enum {
    WINDOW = 1024,          /* steps between two kept states */
    DIRECT = 1 << 20,       /* bytes of flags that are kept whole on the way down */
    SHARED = 1 << 26,       /* cells from which a pair goes to several threads */
    SMALL_BUFFER = 16 << 20 /* bytes; larger ones have the size that is asked for */
};

/* ---- plan ---- */

int64_t bi_align_most(const struct bi_align_scoring *s, int32_t high)
{
    return 2 * (int64_t)s->open + (s->open2 ? s->open2 : s->open) + high;
}

/* Where no begin is free. */
static struct bi_align_border border_of(const struct bi_align_scoring *s)
{
    struct bi_align_border b = {.rest = s->open - s->extend};
    if (!s->open2)
        return b;
    b.turn = (s->open2 - s->open) / (s->extend - s->extend2) + 1;
    b.turning = (int32_t)(s->open - (bi_align_gap(s, b.turn + 1) - bi_align_gap(s, b.turn)));
    b.far = s->open - s->extend2;
    return b;
}

void bi_align_plan_make(struct bi_align_plan *p, const struct bi_align_scoring *s,
                        const struct bi_align_kernels *(*kernels)(int bits))
{
    int32_t high = 0, low = INT32_MAX;
    bool asymmetric = false;
    *p = (struct bi_align_plan){.scoring = *s};
    for (int a = 0; a < s->n_letters; a++)
        for (int b = 0; b < s->n_letters; b++) {
            high = s->score[a][b] > high ? s->score[a][b] : high;
            low = s->score[a][b] < low ? s->score[a][b] : low;
            asymmetric |= s->score[a][b] != s->score[b][a];
        }
    const int64_t most = bi_align_most(s, high);
    p->kernels = most < 256 ? kernels(8) : most < 65536 ? kernels(16) : NULL;
    p->kind = s->open2                        ? BI_ALIGN_TWO
              : s->open == s->extend          ? BI_ALIGN_LINEAR
              : low >= -(s->open + s->extend) ? BI_ALIGN_AFFINE
                                              : BI_ALIGN_STEEP;
    p->symmetric = !asymmetric;
    p->counts = p->kernels && (p->kind == BI_ALIGN_LINEAR || p->kind == BI_ALIGN_AFFINE) &&
                low >= -2 * (int64_t)s->open && !s->local;
    p->left = p->top = border_of(s);
    if (s->free_ends & BIOINFER_FREE_QUERY_BEGIN)
        p->left = (struct bi_align_border){.first = s->open, .rest = s->open};
    if (s->free_ends & BIOINFER_FREE_TARGET_BEGIN)
        p->top = (struct bi_align_border){.first = s->open, .rest = s->open};
    for (int a = 0; p->kernels && a < s->n_letters; a++)
        for (int b = 0; b < s->n_letters; b++) {
            const int32_t s2 = s->score[a][b] + 2 * s->open;
            const uint16_t v = (uint16_t)(s2 > 0 ? s2 : 0);
            p->table16[a * BI_ALIGN_LETTERS + b] = p->table16_t[b * BI_ALIGN_LETTERS + a] = v;
            p->table8[a * BI_ALIGN_LETTERS + b] = (uint8_t)v;
            p->table8_t[b * BI_ALIGN_LETTERS + a] = (uint8_t)v;
        }
}

int bi_align_buffer_need(const struct bi_env *env, struct bi_align_buffer *b, uint64_t size,
                         struct bioinfer_error *err)
{
    if (size <= b->size)
        return 0;
    if (b->size && size < SMALL_BUFFER) /* pairs come by size: the next one asks for more again */
        size += size / 2;
    bi_free(env, b->ptr);
    b->size = 0;
    if (size > SIZE_MAX / 2 || !(b->ptr = bi_alloc(env, (size_t)size))) {
        b->ptr = NULL;
        return bi_fail(err, BIOINFER_NOMEM, "%llu bytes for an alignment",
                       (unsigned long long)size);
    }
    b->size = size;
    return 0;
}

void bi_align_work_free(struct bi_align_work *w)
{
    struct bi_align_buffer *all[] = {&w->profile, &w->rows,  &w->corners,
                                     &w->flags,   &w->state, &w->scratch};
    for (size_t i = 0; i < BI_COUNT(all); i++) {
        bi_free(w->env, all[i]->ptr);
        *all[i] = (struct bi_align_buffer){0};
    }
}

/* ---- strips ---- */

struct pair {
    const struct bi_align_plan *plan;
    const struct bi_align_kernels *k;
    const struct bi_align_input *in;
    struct bi_align_work *work;
    int64_t lane;             /* bytes of one */
    int64_t in_row, in_state; /* kinds of differences that rows, and states, have */
    int64_t rows, pad;        /* rows of a strip; pad rows in front of the first */
    int64_t n_strips, steps;  /* steps of a strip, in whole blocks */
    int64_t stride, row_size; /* lanes */
    int64_t group;            /* strips between two kept rows */
    int64_t windows;          /* kept states of a strip */
    int64_t low, high;        /* diagonals j - i; all of them: -n to m */
    bool band;                /* or some */
    unsigned free_ends;       /* bits of enum bioinfer_align_end */
    struct bi_align_border left, top;
    bool corner;        /* the last cell may be an end that is not free */
    bool direct, dense; /* flags kept whole; rows of all strips kept */
};

static int64_t round_up(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

/* The columns of a strip; rows from row i = base + 1 on. */
static int64_t first_column(const struct pair *p, int64_t strip)
{
    const int64_t column = strip * p->rows - p->pad + 1 + p->low;
    return column > 1 ? column : 1;
}

static int64_t last_column(const struct pair *p, int64_t strip)
{
    const int64_t column = (strip + 1) * p->rows - p->pad + p->high;
    return column < p->in->m ? column : p->in->m;
}

static int64_t steps_of(const struct pair *p, int64_t strip)
{
    return round_up(last_column(p, strip) - first_column(p, strip) + p->rows, BI_ALIGN_BLOCK);
}

/* The first column of the row that a strip reads: rows that are kept begin where the strip above
 * began. */
static int64_t origin(const struct pair *p, int64_t strip)
{
    return p->dense && strip ? first_column(p, strip - 1) : 1;
}

/* The row (V, then X, X2) that strip `strip` of a pair reads, when rows are kept in `slot`s. */
static char *row_at(const struct pair *p, int64_t slot)
{
    return (char *)p->work->rows.ptr + slot * p->in_row * p->row_size * p->lane;
}

static int64_t state_size(const struct pair *p)
{
    return p->in_state * p->rows * p->lane;
}

static char *state_at(const struct pair *p, int64_t slot, int64_t window)
{
    return (char *)p->work->corners.ptr + (slot * p->windows + window) * state_size(p);
}

static void put(const struct pair *p, void *lanes, int64_t i, int32_t value)
{
    if (p->lane == 1)
        ((uint8_t *)lanes)[i] = (uint8_t)value;
    else
        ((uint16_t *)lanes)[i] = (uint16_t)value;
}

static int32_t get(const struct pair *p, const void *lanes, int64_t i)
{
    return p->lane == 1 ? ((const uint8_t *)lanes)[i] : ((const uint16_t *)lanes)[i];
}

static int make_profile(const struct pair *p, struct bioinfer_error *err)
{
    const struct bi_align_scoring *s = &p->plan->scoring;
    const int64_t m = p->in->m;
    uint64_t size;
    int st;
    if (!bi_mul_size((uint64_t)p->stride * (uint64_t)p->lane, (uint64_t)s->n_letters, &size))
        return bi_fail(err, BIOINFER_LIMIT, "a target of %lld residues", (long long)m);
    if ((st = bi_align_buffer_need(p->work->env, &p->work->profile, size, err)))
        return st;
    bool used[BI_ALIGN_LETTERS] = {false};
    for (int64_t i = 0; i < p->in->n; i++)
        used[p->in->query[i]] = true;
    used[0] = true; /* pad rows look there */
    for (int a = 0; a < s->n_letters; a++) {
        if (!used[a])
            continue;
        if (p->lane == 1) {
            uint8_t *to = (uint8_t *)p->work->profile.ptr + a * p->stride;
            const uint8_t *from = p->plan->table8 + a * BI_ALIGN_LETTERS;
            memset(to, 0, (size_t)p->stride);
            for (int64_t j = 0; j < m; j++)
                to[p->rows + j] = from[p->in->target[j]];
        } else {
            uint16_t *to = (uint16_t *)p->work->profile.ptr + a * p->stride;
            const uint16_t *from = p->plan->table16 + a * BI_ALIGN_LETTERS;
            memset(to, 0, (size_t)p->stride * 2);
            for (int64_t j = 0; j < m; j++)
                to[p->rows + j] = from[p->in->target[j]];
        }
    }
    return 0;
}

/* The state of a strip before its first step: the left border, or a gap that goes on from `in`, the
 * row above, or with two pieces one that begins there. Returns U of its first row. */
static int32_t start_state(const struct pair *p, int64_t strip, const void *in, void *state)
{
    const int64_t column = first_column(p, strip);
    const struct bi_align_scoring *s = &p->plan->scoring;
    const bool two = p->plan->kind == BI_ALIGN_TWO;
    const struct bi_align_border gap = border_of(s);
    int32_t first = 0;
    memset(state, 0, (size_t)state_size(p));
    if (column > 1 && !two)
        first = get(p, (const char *)in + p->row_size * p->lane, column - 1 - origin(p, strip));
    for (int64_t r = 0; r < p->rows; r++) {
        const int64_t i = strip * p->rows - p->pad + r;
        if (column > 1)
            put(p, state, r, r || two ? bi_align_border_at(&gap, r) : first);
        else
            put(p, state, r, bi_align_border_at(&p->left, i));
    }
    return first;
}

/* Goes on with the row below a strip to where the next one ends: a gap of the query, which with two
 * pieces begins there. */
static void extend_row(const struct pair *p, int64_t strip, void *out, const void *state)
{
    const int64_t last = last_column(p, strip), from = origin(p, strip + 1);
    const struct bi_align_border gap = border_of(&p->plan->scoring);
    const bool two = p->plan->kind == BI_ALIGN_TWO;
    for (int64_t j = last + 1; strip + 1 < p->n_strips && j <= last_column(p, strip + 1); j++) {
        const int64_t k = j - last - 1;
        put(p, out, j - from,
            k || two ? bi_align_border_at(&gap, k) : get(p, state, 2 * p->rows - 1));
        for (int64_t x = 1; x < p->in_row; x++)
            put(p, (char *)out + x * p->row_size * p->lane, j - from, 0);
    }
}

/* The border above the first strip: V, as far as a row goes, and X. */
static void start_row(const struct pair *p, void *row)
{
    memset(row, 0, (size_t)(p->in_row * p->row_size * p->lane));
    for (int64_t j = 0; j < p->in->m && j < p->row_size; j++)
        put(p, row, j, bi_align_border_at(&p->top, j));
}

/* Steps [first, last) of a strip; in and out: rows as row_at() gives them. */
static void run_strip(const struct pair *p, int64_t strip, int64_t first, int64_t last,
                      const void *in, void *out, void *state, uint8_t *flags)
{
    const int64_t pad = strip ? 0 : p->pad, column = first_column(p, strip);
    const char *above = (const char *)in + (column - origin(p, strip)) * p->lane;
    char *below = (char *)out + (column - origin(p, strip + 1)) * p->lane;
    const struct bi_align_scoring *s = &p->plan->scoring;
    const struct bi_align_strip a = {
        .query = p->in->query + strip * p->rows - p->pad, /* the pads are not read */
        .rows = (int32_t)p->rows,
        .pad = (int32_t)pad,
        .profile = (const char *)p->work->profile.ptr + (p->rows + column - 1) * p->lane,
        .stride = p->stride,
        .m = last_column(p, strip) - column + 1,
        .first = first,
        .last = last,
        .gap = s->open - s->extend,
        .gap2 = s->open - s->extend2,
        .dearer = s->open2 - s->open,
        .kind = p->plan->kind,
        .v_in = above,
        .x_in = above + p->row_size * p->lane,
        .v_out = below,
        .x_out = below + p->row_size * p->lane,
        .x2_in = p->in_row > 2 ? above + 2 * p->row_size * p->lane : NULL,
        .x2_out = p->in_row > 2 ? below + 2 * p->row_size * p->lane : NULL,
        .state = state,
        .flags = flags};
    p->k->strip(&a);
}

/* ---- down ---- */

/* Strip `strip`, whole, from row slot `from` to row slot `to`, keeping states when `keep`. Returns
 * U of the border's first row. */
static int32_t whole_strip(const struct pair *p, int64_t strip, int64_t from, int64_t to,
                           int64_t keep, void *state, void *side)
{
    uint8_t *flags = p->direct ? (uint8_t *)p->work->flags.ptr + strip * p->steps * p->rows : NULL;
    const int32_t corner = start_state(p, strip, row_at(p, from), state);
    const int64_t end = 1 + steps_of(p, strip);
    for (int64_t w = 0; 1 + w * WINDOW < end && (keep >= 0 || !w); w++) {
        const int64_t first = 1 + w * WINDOW;
        if (keep >= 0)
            memcpy(state_at(p, keep, w), state, (size_t)state_size(p));
        run_strip(p, strip, keep >= 0 ? first : 1,
                  keep >= 0 && first + WINDOW < end ? first + WINDOW : end, row_at(p, from),
                  row_at(p, to), state, flags);
    }
    if (side) /* U of column m */
        memcpy((char *)side + strip * p->rows * p->lane, state, (size_t)(p->rows * p->lane));
    extend_row(p, strip, row_at(p, to), state);
    return corner;
}

struct strips {
    const struct pair *p;
    bool keep_rows;
    void *states, *side;
    _Atomic int64_t *done;
};

static void run_strips(void *user, const struct bi_share *share)
{
    const struct strips *s = user;
    const struct pair *p = s->p;
    const bool keep_rows = s->keep_rows;
    _Atomic int64_t *done = s->done;
    const int64_t windows = (p->steps + WINDOW - 1) / WINDOW, size = state_size(p);
    char *state = (char *)s->states + share->thread * size;
    for (int64_t k = share->thread; k < p->n_strips; k += share->n_threads) {
        start_state(p, k, NULL, state);
        for (int64_t w = 0; w < windows; w++) {
            const int64_t first = 1 + w * WINDOW;
            int64_t last = first + WINDOW, need;
            last = last < 1 + p->steps ? last : 1 + p->steps;
            /* columns below `last` are out of the strip above after its step last - 2 + rows */
            need = last + p->rows - 1 < p->steps ? last + p->rows - 1 : p->steps;
            while (k && atomic_load_explicit(&done[k - 1], memory_order_acquire) < need)
                sched_yield();
            if (keep_rows)
                memcpy(state_at(p, k, w), state, (size_t)size);
            run_strip(p, k, first, last, row_at(p, keep_rows ? k : 0),
                      row_at(p, keep_rows ? k + 1 : 0), state, NULL);
            atomic_store_explicit(&done[k], last - 1, memory_order_release);
        }
        if (s->side)
            memcpy((char *)s->side + k * p->rows * p->lane, state, (size_t)(p->rows * p->lane));
    }
}

/* The same, strips spread over threads, each a few windows behind the one above it. */
static void shared_strips(const struct pair *p, int n_threads, bool keep_rows, void *states,
                          _Atomic int64_t *done, void *side)
{
    struct strips s = {p, keep_rows, states, side, done};
    for (int64_t k = 0; k < p->n_strips; k++)
        atomic_store(&done[k], 0);
    bi_team_run(p->work->env, n_threads, run_strips, &s);
}

/* ---- ends ---- */

/* H[i][0]. */
static int64_t left_at(const struct pair *p, int64_t i)
{
    return !i || p->free_ends & BIOINFER_FREE_QUERY_BEGIN ? 0 : -bi_align_gap(&p->plan->scoring, i);
}

/* Where the alignment ends, from V of the last row and U of the last column. */
static struct bi_align_end find_end(const struct pair *p, const void *v, const void *side)
{
    const struct bi_align_scoring *s = &p->plan->scoring;
    const int64_t n = p->in->n, m = p->in->m;
    const bool free_row = s->free_ends & BIOINFER_FREE_TARGET_END;
    const bool free_column = s->free_ends & BIOINFER_FREE_QUERY_END;
    struct bi_align_end row = {INT64_MIN, n, 0}, column = {INT64_MIN, 0, m};
    int64_t h = bi_align_left(s, n), up = 0;
    for (int64_t j = 1; j <= m; j++) {
        h += get(p, v, j - 1) - s->open;
        if (free_row)
            bi_align_offer(&row, h, n, j);
    }
    for (int64_t i = 0; free_column && i < n; i++)
        up += get(p, side, i + p->pad) - s->open;
    up = h - up; /* H[0][m] */
    for (int64_t i = 1; free_column && i <= n; i++) {
        up += get(p, side, i - 1 + p->pad) - s->open;
        bi_align_offer(&column, up, i, m);
    }
    return bi_align_or_nothing(s, n, m,
                               bi_align_best_end(s, (struct bi_align_end){h, n, m}, row, column));
}

/* Turns H where a strip of a band begins, in the row above it and the column in front, into that of
 * the next strip, or for the last one H[n][m]. row: the one below it; corner: U of its border's
 * first row. */
static int64_t follow_band(const struct pair *p, int64_t strip, int64_t h, int32_t corner,
                           const void *row)
{
    const struct bi_align_scoring *s = &p->plan->scoring;
    const int64_t column = first_column(p, strip), from = origin(p, strip + 1);
    const int64_t end = strip + 1 < p->n_strips ? first_column(p, strip + 1) : p->in->m + 1;
    h = column == 1                     ? left_at(p, (strip + 1) * p->rows - p->pad)
        : p->plan->kind == BI_ALIGN_TWO ? h - bi_align_gap(s, p->rows)
                                        : h + corner - s->open - (p->rows - 1) * (int64_t)s->extend;
    for (int64_t j = column; j < end; j++)
        h += get(p, row, j - from) - s->open;
    return h;
}

/* Where the alignment ends in a band, from h, which is H[n][m], V of the last row and U of the last
 * column of each strip, of which those that have column m count. */
static struct bi_align_end find_band_end(const struct pair *p, int64_t h, const void *v,
                                         const void *side)
{
    const struct bi_align_scoring *s = &p->plan->scoring;
    const int64_t n = p->in->n, m = p->in->m, last = p->n_strips - 1;
    const int64_t first = first_column(p, last), from = origin(p, p->n_strips);
    struct bi_align_end row = {INT64_MIN, n, 0}, column = {INT64_MIN, 0, m};
    const struct bi_align_end corner = {p->corner ? h : INT64_MIN, n, m};
    int64_t at = h;
    for (int64_t j = m; p->free_ends & BIOINFER_FREE_TARGET_END && j >= first; j--) {
        if (at >= row.score) /* the first of equal ones */
            row = (struct bi_align_end){at, n, j};
        at -= get(p, v, j - from) - s->open;
    }
    at = h;
    for (int64_t i = n; p->free_ends & BIOINFER_FREE_QUERY_END && i > 0; i--) {
        if (last_column(p, (i - 1 + p->pad) / p->rows) < m)
            break;
        if (at >= column.score)
            column = (struct bi_align_end){at, i, m};
        at -= get(p, side, i - 1 + p->pad) - s->open;
    }
    return bi_align_best_end(s, corner, row, column);
}

/* ---- back ---- */

/* Follows the path through one strip, whose flags of steps [first, ...) are given, until it
 * leaves the strip or these steps. */
static void follow(const struct pair *p, int64_t strip, int64_t first, const uint8_t *flags,
                   struct bi_align_walk *walk, struct bi_align_path *path)
{
    const int64_t base = strip * p->rows - p->pad, column = first_column(p, strip);
    while (walk->i && walk->j) {
        const int64_t r = walk->i - 1 - base, s = walk->j - column + 1 + r;
        if (r < 0 || s < first)
            return;
        bi_align_step(&p->plan->scoring, p->in, flags[(s - first) * p->rows + r], walk, path);
    }
}

static int64_t strip_of(const struct pair *p, int64_t i)
{
    return (i - 1 + p->pad) / p->rows;
}

/* Through strip `strip`, whose row and states are in slots `row` and `slot`. `waste` takes the
 * row below, known already. */
static void back_strip(const struct pair *p, int64_t strip, int64_t row, int64_t slot, void *waste,
                       void *state, struct bi_align_walk *walk, struct bi_align_path *path)
{
    const int64_t base = strip * p->rows - p->pad, column = first_column(p, strip);
    uint8_t *flags = p->work->flags.ptr;
    while (walk->i && walk->j >= column && walk->i > base) {
        const int64_t s = walk->j - column + walk->i - base, w = (s - 1) / WINDOW;
        const int64_t first = 1 + w * WINDOW;
        memcpy(state, state_at(p, slot, w), (size_t)state_size(p));
        run_strip(p, strip, first, 1 + round_up(s, BI_ALIGN_BLOCK), row_at(p, row), waste, state,
                  flags);
        follow(p, strip, first, flags, walk, path);
    }
}

/* It stops early where the path leaves the band, which then has not all of the best paths. */
static void back(const struct pair *p, void *state, void *waste, struct bi_align_walk *walk,
                 struct bi_align_path *path)
{
    while (walk->i && walk->j) {
        const int64_t strip = strip_of(p, walk->i);
        if (walk->j < first_column(p, strip) || walk->j > last_column(p, strip))
            return;
        if (p->direct) {
            follow(p, strip, 1, (uint8_t *)p->work->flags.ptr + strip * p->steps * p->rows, walk,
                   path);
        } else if (p->dense) {
            back_strip(p, strip, strip, strip, waste, state, walk, path);
        } else {
            /* row slots: one of each group, then the rows inside of one group */
            const int64_t g = strip / p->group, first = g * p->group;
            const int64_t inner = (p->n_strips + p->group - 1) / p->group + 1;
            for (int64_t k = first; k <= strip; k++)
                whole_strip(p, k, k == first ? g : inner + k - first - 1, inner + k - first,
                            k - first, state, NULL);
            for (int64_t k = strip; k >= first && walk->i && walk->j; k--)
                back_strip(p, k, k == first ? g : inner + k - first - 1, k - first, waste, state,
                           walk, path);
        }
    }
}

/* ---- the pair ---- */

static uint64_t strip_size(const struct pair *p)
{
    return (uint64_t)(p->lane * p->in_row * p->row_size + p->windows * state_size(p));
}

/* Lanes of a row of so many columns, at most m, and of what kernels touch behind it. */
static int64_t row_size(const struct pair *p, int64_t columns)
{
    columns = columns < p->in->m ? columns : p->in->m;
    return round_up(columns + p->rows + 2 * BI_ALIGN_BLOCK, 64);
}

/* Chooses what is kept. */
static int choose(struct pair *p, bool trace, bool *sparse, struct bioinfer_error *err)
{
    const uint64_t limit = p->plan->memory_limit;
    p->direct = trace && p->n_strips * p->steps * p->rows <= DIRECT;
    if (trace && !p->direct) /* rows are kept, of the columns that two strips have */
        p->row_size = row_size(p, p->high - p->low + 2 * p->rows);
    p->dense = trace && !p->direct;
    p->group = 1;
    if (!p->dense || (uint64_t)p->n_strips <= limit / strip_size(p))
        return 0;
    if (p->band)
        return bi_fail(err, BIOINFER_LIMIT, "a band of %lld diagonals is above the memory limit",
                       (long long)(p->high - p->low + 1));
    p->dense = false;
    *sparse = true;
    p->row_size = row_size(p, p->in->m);
    while (p->group * p->group < p->n_strips)
        p->group++;
    if ((uint64_t)(2 * p->group + 2) > limit / strip_size(p))
        return bi_fail(err, BIOINFER_LIMIT,
                       "the traceback of %lld x %lld residues needs %llu MiB, the limit is %llu; "
                       "the score alone needs none of it",
                       (long long)p->in->n, (long long)p->in->m,
                       (unsigned long long)(strip_size(p) * (uint64_t)(2 * p->group + 2) >> 20),
                       (unsigned long long)(limit >> 20));
    return 0;
}

/* The columns that a strip of so many rows has at most. */
static int64_t columns_in(const struct pair *p, int64_t rows)
{
    const int64_t band = p->high - p->low + rows;
    return band < p->in->m ? band : p->in->m;
}

static void shape(struct pair *p)
{
    const int32_t *sizes = p->k->rows;
    int64_t least = INT64_MAX;
    int size = 0;
    /* a step of one vector waits for its own results, so it costs as much as one of two or
     * three; larger strips have longer ramps and more idle rows */
    for (int k = 0; k < 3 && sizes[k]; k++) {
        const int64_t strips = (p->in->n + sizes[k] - 1) / sizes[k];
        const int64_t cost = strips * (columns_in(p, sizes[k]) + sizes[k]) *
                             (k == 0   ? 5
                              : k == 1 ? 6
                                       : 9);
        if (cost < least) {
            least = cost;
            size = k;
        }
    }
    const bool two = p->plan->kind == BI_ALIGN_TWO;
    if (two || p->plan->kind == BI_ALIGN_STEEP)
        size = 1;
    p->in_row = two ? 3 : 2;
    p->in_state = two ? 6 : 4;
    p->rows = sizes[size];
    p->lane = p->k->bits / 8;
    p->n_strips = (p->in->n + p->rows - 1) / p->rows;
    p->pad = p->n_strips * p->rows - p->in->n;
    p->steps = round_up(columns_in(p, p->rows) + p->rows - 1, BI_ALIGN_BLOCK);
    p->windows = (p->steps + WINDOW - 1) / WINDOW;
    p->stride = p->in->m + 2 * p->rows + 2 * BI_ALIGN_BLOCK;
    p->row_size = row_size(p, p->in->m);
}

/* A pair whose diagonals are given. */
static int run_pair(struct pair p, int n_threads, struct bi_align_end *end,
                    struct bi_align_walk *begin, struct bi_align_path *path, bool *sparse,
                    struct bioinfer_error *err)
{
    const struct bi_align_plan *plan = p.plan;
    const struct bi_align_input *in = p.in;
    struct bi_align_work *work = p.work;
    const bool free_column = p.free_ends & BIOINFER_FREE_QUERY_END;
    const struct bi_env *env = work->env;
    int64_t last = 0, slots = 1, kept = 0, h = 0;
    char *state, *waste, *side;
    _Atomic int64_t *done = NULL;
    int st;
    *sparse = false;
    shape(&p);
    if ((st = choose(&p, path != NULL, sparse, err)) || (st = make_profile(&p, err)))
        return st;
    if (p.dense) {
        slots = p.n_strips + 1;
        kept = p.n_strips;
    } else if (*sparse) {
        slots = (p.n_strips + p.group - 1) / p.group + 1 + p.group;
        kept = p.group;
    }
    const bool shared = n_threads > 1 && !*sparse && !p.direct && p.n_strips > 1 &&
                        in->n > SHARED / in->m;
    const uint64_t flags = !path      ? 0
                           : p.direct ? (uint64_t)(p.n_strips * p.steps * p.rows)
                                      : (uint64_t)(WINDOW * p.rows);
    const int64_t states = shared ? n_threads : 1, size = state_size(&p);
    const int64_t row = p.in_row * p.row_size * p.lane;
    const int64_t side_size = free_column ? p.n_strips * p.rows * p.lane : 0;
    if ((st = bi_align_buffer_need(env, &work->rows, (uint64_t)(slots * row), err)) ||
        (st = bi_align_buffer_need(env, &work->corners, (uint64_t)(kept * p.windows * size),
                                   err)) ||
        (st = bi_align_buffer_need(env, &work->flags, flags, err)) ||
        (st = bi_align_buffer_need(env, &work->state,
                                   (uint64_t)(states * size + row + side_size +
                                              (shared ? p.n_strips * (int64_t)sizeof *done : 0)),
                                   err)))
        return st;
    waste = work->state.ptr;
    done = (void *)(waste + row);
    state = (char *)(done + (shared ? p.n_strips : 0));
    side = state + states * size;
    start_row(&p, row_at(&p, 0));
    if (shared) {
        shared_strips(&p, n_threads, p.dense, state, done, free_column ? side : NULL);
        last = p.dense ? p.n_strips : 0;
    }
    for (int64_t k = 0; !shared && k < p.n_strips; k++) {
        /* in place, but into the next slot behind the last strip of a group */
        const bool step = p.dense || (*sparse && (k % p.group == 0));
        const int64_t from = last;
        if (step)
            last++;
        const int32_t corner = whole_strip(&p, k, from, last, p.dense ? k : -1, state,
                                           free_column ? side : NULL);
        if (p.band)
            h = follow_band(&p, k, h, corner, row_at(&p, last));
    }
    *end = p.band ? find_band_end(&p, h, row_at(&p, last), side)
                  : find_end(&p, row_at(&p, last), side);
    if (path) {
        struct bi_align_walk walk = {.i = end->i, .j = end->j};
        back(&p, state, waste, &walk, path);
        if (walk.i && walk.j)
            return bi_fail(err, BIOINFER_INTERNAL,
                           "the path of a pair leaves its band at %lld, %lld", (long long)walk.i,
                           (long long)walk.j);
        bi_align_border(&plan->scoring, &walk, path);
        bi_align_path_finish(path);
        *begin = walk;
        if (path->failed)
            st = bi_fail(err, BIOINFER_NOMEM, "path of an alignment");
    }
    return st;
}

int bi_align_pair(const struct bi_align_plan *plan, struct bi_align_work *work,
                  const struct bi_align_input *in, int n_threads, struct bi_align_end *end,
                  struct bi_align_walk *begin, struct bi_align_path *path, bool *sparse,
                  struct bioinfer_error *err)
{
    const struct pair p = {.plan = plan,
                           .k = plan->kernels,
                           .in = in,
                           .work = work,
                           .low = -in->n,
                           .high = in->m,
                           .free_ends = plan->scoring.free_ends,
                           .left = plan->left,
                           .top = plan->top};
    const struct bi_env *env = work->env;
    *sparse = false;
    if (!p.k && path && (uint64_t)in->n > plan->memory_limit / (uint64_t)in->m)
        return bi_fail(err, BIOINFER_LIMIT,
                       "the traceback of %lld x %lld residues needs %llu MiB, as these costs take "
                       "more than 16 bits; the limit is %llu",
                       (long long)in->n, (long long)in->m,
                       (unsigned long long)(((uint64_t)in->n * (uint64_t)in->m >> 20) + 1),
                       (unsigned long long)(plan->memory_limit >> 20));
    if (!p.k)
        return bi_align_reference(env, &plan->scoring, in, end, begin, path, err);
    return run_pair(p, n_threads, end, begin, path, sparse, err);
}

int bi_align_band(const struct bi_align_plan *plan, struct bi_align_work *work,
                  const struct bi_align_input *in, int64_t low, int64_t high,
                  struct bi_align_end *end, struct bi_align_walk *begin, struct bi_align_path *path,
                  struct bioinfer_error *err)
{
    const struct bi_align_place place = {.in = *in, .low = low, .high = high, .corner = true};
    return bi_align_band_free(plan, work, &place, end, begin, path, err);
}

int bi_align_band_free(const struct bi_align_plan *plan, struct bi_align_work *work,
                       const struct bi_align_place *place, struct bi_align_end *end,
                       struct bi_align_walk *begin, struct bi_align_path *path,
                       struct bioinfer_error *err)
{
    const struct bi_align_border gap = border_of(&plan->scoring);
    const bool left = place->free_ends & BIOINFER_FREE_QUERY_BEGIN;
    const bool top = place->free_ends & BIOINFER_FREE_TARGET_BEGIN;
    const struct pair p = {.plan = plan,
                           .k = plan->kernels,
                           .in = &place->in,
                           .work = work,
                           .low = place->low,
                           .high = place->high,
                           .band = true,
                           .free_ends = place->free_ends,
                           .left = left ? plan->left : gap,
                           .top = top ? plan->top : gap,
                           .corner = place->corner};
    bool sparse;
    return run_pair(p, 1, end, begin, path, &sparse, err);
}

/* align.c - the definition of alignment, and the steps of a traceback. */
#include "align.h"

#include <string.h>

enum { MOST_RUN = (1 << 28) - 1 };

/* ---- paths ---- */

void bi_align_path_push(struct bi_align_path *path, int op, int64_t length)
{
    if (!length || path->failed)
        return;
    if (path->n && (path->run[path->n - 1] & 15) == (uint32_t)op) {
        length += path->run[path->n - 1] >> 4;
        path->n--;
    }
    if (length > MOST_RUN ||
        !bi_grow(path->env, &path->run, &path->cap, path->n + 1, sizeof *path->run)) {
        path->failed = true;
        return;
    }
    path->run[path->n++] = (uint32_t)length << 4 | (uint32_t)op;
}

void bi_align_path_finish(struct bi_align_path *path)
{
    for (size_t a = 0, b = path->n; a + 1 < b; a++) {
        const uint32_t run = path->run[a];
        path->run[a] = path->run[--b];
        path->run[b] = run;
    }
}

void bi_align_path_free(struct bi_align_path *path)
{
    bi_free(path->env, path->run);
    *path = (struct bi_align_path){.env = path->env};
}

/* ---- traceback ---- */

static void walk_diagonal(bool equal, struct bi_align_walk *walk, struct bi_align_path *path)
{
    bi_align_path_push(path, equal ? BI_CIGAR_EQ : BI_CIGAR_X, 1);
    walk->i--;
    walk->j--;
}

static void walk_up(struct bi_align_walk *walk, struct bi_align_path *path)
{
    bi_align_path_push(path, BI_CIGAR_I, 1);
    walk->i--;
    walk->state = BI_WALK_F;
}

static void walk_left(struct bi_align_walk *walk, struct bi_align_path *path)
{
    bi_align_path_push(path, BI_CIGAR_D, 1);
    walk->j--;
    walk->state = BI_WALK_E;
}

/* A step where gaps have one piece. */
static void step(const struct bi_align_scoring *s, const struct bi_align_input *in, unsigned flags,
                 struct bi_align_walk *walk, struct bi_align_path *path)
{
    const int q = in->query[walk->i - 1], t = in->target[walk->j - 1];
    const bool equal = q == t;
    bool diagonal, up = flags & BI_ALIGN_FROM_F, left = flags & BI_ALIGN_FROM_E;
    /* a gap is left only where opening it here is strictly better than extending it */
    if (walk->state == BI_WALK_F && flags & BI_ALIGN_EXTEND_F) {
        walk_up(walk, path);
        return;
    }
    if (walk->state == BI_WALK_E && flags & BI_ALIGN_EXTEND_E) {
        walk_left(walk, path);
        return;
    }
    walk->state = BI_WALK_H;
    /* kernels raise S + 2 o to 0; a cell of 0 is then not that diagonal's */
    diagonal = flags & BI_ALIGN_DIAGONAL && s->score[q][t] + 2 * (int64_t)s->open >= 0;
    if (s->ties == BIOINFER_TIES_WFA && equal && (up || left))
        diagonal = false; /* mismatch, F, E, match */
    if (diagonal)
        walk_diagonal(equal, walk, path);
    else if (up && !(s->ties == BIOINFER_TIES_EMBOSS && left))
        walk_up(walk, path);
    else
        walk_left(walk, path);
}

/* F, or E, at a cell, as the flags of two pieces tell it. */
struct pieces {
    bool second;     /* the gap that leads to the cell is of the second piece */
    bool extends[2]; /* a gap of the first, of the second piece that leaves the cell */
};

static struct pieces pieces_of(bool from, bool first, bool second)
{
    return (struct pieces){from && second,
                           {first || (from && !second), second || (from && !first)}};
}

/* Turns flags of two pieces into those of one: that of the gap the walk is in. */
static unsigned one_piece(unsigned flags, const struct bi_align_walk *walk, struct pieces *f,
                          struct pieces *e)
{
    const unsigned same = BI_ALIGN_DIAGONAL | BI_ALIGN_FROM_F | BI_ALIGN_FROM_E | BI_ALIGN_BEGIN;
    *f = pieces_of(flags & BI_ALIGN_FROM_F, flags & BI_ALIGN_EXTEND_F, flags & BI_ALIGN_EXTEND_F2);
    *e = pieces_of(flags & BI_ALIGN_FROM_E, flags & BI_ALIGN_EXTEND_E, flags & BI_ALIGN_EXTEND_E2);
    return (flags & same) | (f->extends[walk->state == BI_WALK_F2] ? BI_ALIGN_EXTEND_F : 0) |
           (e->extends[walk->state == BI_WALK_E2] ? BI_ALIGN_EXTEND_E : 0);
}

/* The walk with a gap of the first piece for one of the second. */
static struct bi_align_walk in_first(const struct bi_align_walk *walk)
{
    struct bi_align_walk w = *walk;
    w.state = w.state == BI_WALK_F2 ? BI_WALK_F : w.state == BI_WALK_E2 ? BI_WALK_E : w.state;
    return w;
}

void bi_align_step(const struct bi_align_scoring *s, const struct bi_align_input *in,
                   unsigned flags, struct bi_align_walk *walk, struct bi_align_path *path)
{
    struct bi_align_walk w;
    struct pieces f, e;
    if (!s->open2) {
        step(s, in, flags, walk, path);
        return;
    }
    flags = one_piece(flags, walk, &f, &e);
    w = in_first(walk);
    const bool extends = (w.state == BI_WALK_F && flags & BI_ALIGN_EXTEND_F) ||
                         (w.state == BI_WALK_E && flags & BI_ALIGN_EXTEND_E);
    const int was = (int)walk->state;
    step(s, in, flags, &w, path);
    *walk = w;
    if (extends)
        walk->state = was;
    else if (w.state == BI_WALK_F && f.second)
        walk->state = BI_WALK_F2;
    else if (w.state == BI_WALK_E && e.second)
        walk->state = BI_WALK_E2;
}

bool bi_align_begins(const struct bi_align_scoring *s, unsigned flags,
                     const struct bi_align_walk *walk)
{
    struct bi_align_walk first;
    struct pieces f, e;
    if (s->open2) {
        flags = one_piece(flags, walk, &f, &e);
        first = in_first(walk);
        walk = &first;
    }
    if ((walk->state == BI_WALK_F && flags & BI_ALIGN_EXTEND_F) ||
        (walk->state == BI_WALK_E && flags & BI_ALIGN_EXTEND_E))
        return false;
    return flags & BI_ALIGN_BEGIN;
}

void bi_align_border(const struct bi_align_scoring *s, struct bi_align_walk *walk,
                     struct bi_align_path *path)
{
    if (!(s->free_ends & BIOINFER_FREE_QUERY_BEGIN)) {
        bi_align_path_push(path, BI_CIGAR_I, walk->i);
        walk->i = 0;
    }
    if (!(s->free_ends & BIOINFER_FREE_TARGET_BEGIN)) {
        bi_align_path_push(path, BI_CIGAR_D, walk->j);
        walk->j = 0;
    }
}

int64_t bi_align_gap(const struct bi_align_scoring *s, int64_t n)
{
    const int64_t one = s->open + (n - 1) * (int64_t)s->extend;
    const int64_t two = s->open2 + (n - 1) * (int64_t)s->extend2;
    return s->open2 && two < one ? two : one;
}

int64_t bi_align_left(const struct bi_align_scoring *s, int64_t i)
{
    return !i || s->free_ends & BIOINFER_FREE_QUERY_BEGIN ? 0 : -bi_align_gap(s, i);
}

int64_t bi_align_top(const struct bi_align_scoring *s, int64_t j)
{
    return !j || s->free_ends & BIOINFER_FREE_TARGET_BEGIN ? 0 : -bi_align_gap(s, j);
}

/* ---- the definition ---- */

void bi_align_offer(struct bi_align_end *best, int64_t score, int64_t i, int64_t j)
{
    if (score > best->score)
        *best = (struct bi_align_end){score, i, j};
}

struct bi_align_end bi_align_best_end(const struct bi_align_scoring *s, struct bi_align_end corner,
                                      struct bi_align_end row, struct bi_align_end column)
{
    const bool corner_first = s->ties == BIOINFER_TIES_EMBOSS;
    struct bi_align_end best = corner;
    if (row.score > best.score || (row.score == best.score && row.j < corner.j && !corner_first))
        best = row;
    if (column.score > best.score ||
        (column.score == best.score && best.j == corner.j && best.i == corner.i && !corner_first))
        best = column;
    return best;
}

struct bi_align_end bi_align_or_nothing(const struct bi_align_scoring *s, int64_t n, int64_t m,
                                        struct bi_align_end best)
{
    const bool emboss = s->ties == BIOINFER_TIES_EMBOSS;
    struct bi_align_end nothing = {INT64_MIN, n, 0};
    if (s->free_ends & BIOINFER_FREE_TARGET_END)
        nothing.score = bi_align_left(s, n);
    if (s->free_ends & BIOINFER_FREE_QUERY_END &&
        (bi_align_top(s, m) > nothing.score ||
         (bi_align_top(s, m) == nothing.score && emboss && n == 1 && m > 1)))
        nothing = (struct bi_align_end){bi_align_top(s, m), 0, m};
    if (nothing.score > best.score ||
        (nothing.score == best.score && emboss && !(best.i == n && best.j == m)))
        best = nothing;
    return best;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Offers a row of a local alignment to the best so far. */
static void offer_local(const struct bi_align_scoring *s, const int64_t *h, int64_t i, int64_t m,
                        struct bi_align_end *best)
{
    const bool by_column = s->ties != BIOINFER_TIES_EMBOSS;
    for (int64_t j = 1; j <= m; j++)
        if (h[j] > best->score || (h[j] && h[j] == best->score && by_column && j < best->j))
            *best = (struct bi_align_end){h[j], i, j};
}

/* Bits of two pieces of one direction as enum bi_align_flag has them; one, two: whether they are H;
 * goes, goes2: whether they extend. */
static unsigned piece_flags(bool one, bool two, bool goes, bool goes2, unsigned from,
                            unsigned first, unsigned second)
{
    const bool alone = one && !two;
    return (one || two ? from : 0) | (goes && !(alone && goes2) ? first : 0) |
           (goes2 && !alone ? second : 0);
}

/* The same of two pieces; f2: that of the row above becomes this one's, too. */
static void reference_row_of_two(const struct bi_align_scoring *s, const struct bi_align_input *in,
                                 int64_t i, int64_t *h, int64_t *f, int64_t *f2, uint8_t *flags)
{
    const int64_t o = s->open, e = s->extend, o2 = s->open2, e2 = s->extend2;
    int64_t diagonal = h[0], gap = INT64_MIN / 4, gap2 = gap;
    h[0] = s->local ? 0 : bi_align_left(s, i);
    for (int64_t j = 1; j <= in->m; j++) {
        const int64_t match = diagonal + s->score[in->query[i - 1]][in->target[j - 1]];
        gap = max64(h[j - 1] - o, gap - e);
        gap2 = max64(h[j - 1] - o2, gap2 - e2);
        f[j] = max64(h[j] - o, f[j] - e);
        f2[j] = max64(h[j] - o2, f2[j] - e2);
        diagonal = h[j];
        h[j] = max64(max64(match, s->local ? 0 : match),
                     max64(max64(gap, gap2), max64(f[j], f2[j])));
        if (flags)
            flags[j - 1] = (uint8_t)((h[j] == match ? BI_ALIGN_DIAGONAL : 0) |
                                     (s->local && !h[j] ? BI_ALIGN_BEGIN : 0) |
                                     piece_flags(h[j] == f[j], h[j] == f2[j], f[j] - e >= h[j] - o,
                                                 f2[j] - e2 >= h[j] - o2, BI_ALIGN_FROM_F,
                                                 BI_ALIGN_EXTEND_F, BI_ALIGN_EXTEND_F2) |
                                     piece_flags(h[j] == gap, h[j] == gap2, gap - e >= h[j] - o,
                                                 gap2 - e2 >= h[j] - o2, BI_ALIGN_FROM_E,
                                                 BI_ALIGN_EXTEND_E, BI_ALIGN_EXTEND_E2));
    }
}

/* One row: h, f of the row above become this one's. */
static void reference_row(const struct bi_align_scoring *s, const struct bi_align_input *in,
                          int64_t i, int64_t *h, int64_t *f, int64_t *f2, uint8_t *flags)
{
    const int64_t o = s->open, e = s->extend, none = INT64_MIN / 4;
    int64_t diagonal = h[0], gap = none;
    if (s->open2) {
        reference_row_of_two(s, in, i, h, f, f2, flags);
        return;
    }
    h[0] = s->local ? 0 : bi_align_left(s, i);
    for (int64_t j = 1; j <= in->m; j++) {
        const int64_t match = diagonal + s->score[in->query[i - 1]][in->target[j - 1]];
        gap = max64(h[j - 1] - o, gap - e);
        f[j] = max64(h[j] - o, f[j] - e);
        diagonal = h[j];
        h[j] = max64(match, max64(gap, f[j]));
        h[j] = s->local ? max64(h[j], 0) : h[j];
        if (flags)
            flags[j - 1] = (uint8_t)((h[j] == match ? BI_ALIGN_DIAGONAL : 0) |
                                     (h[j] == f[j] ? BI_ALIGN_FROM_F : 0) |
                                     (h[j] == gap ? BI_ALIGN_FROM_E : 0) |
                                     (f[j] - e >= h[j] - o ? BI_ALIGN_EXTEND_F : 0) |
                                     (gap - e >= h[j] - o ? BI_ALIGN_EXTEND_E : 0) |
                                     (s->local && !h[j] ? BI_ALIGN_BEGIN : 0));
    }
}

int bi_align_reference(const struct bi_env *env, const struct bi_align_scoring *s,
                       const struct bi_align_input *in, struct bi_align_end *end,
                       struct bi_align_walk *begin, struct bi_align_path *path,
                       struct bioinfer_error *err)
{
    const bool free_row = s->free_ends & BIOINFER_FREE_TARGET_END;
    const bool free_column = s->free_ends & BIOINFER_FREE_QUERY_END;
    int64_t *h = bi_calloc(env, (size_t)in->m + 1, sizeof *h);
    int64_t *f = bi_calloc(env, (size_t)in->m + 1, sizeof *f);
    int64_t *f2 = s->open2 ? bi_calloc(env, (size_t)in->m + 1, sizeof *f2) : NULL;
    uint8_t *flags = path ? bi_calloc(env, (size_t)in->n, (size_t)in->m) : NULL;
    struct bi_align_end row = {INT64_MIN, in->n, 0}, column = {INT64_MIN, 0, in->m};
    int st = 0;
    if (!h || !f || (s->open2 && !f2) || (path && !flags)) {
        st = bi_fail(err, BIOINFER_NOMEM, "alignment of %lld x %lld residues", (long long)in->n,
                     (long long)in->m);
        goto out;
    }
    for (int64_t j = 0; j <= in->m; j++) {
        h[j] = s->local ? 0 : bi_align_top(s, j);
        f[j] = INT64_MIN / 4;
        if (f2)
            f2[j] = INT64_MIN / 4;
    }
    *end = (struct bi_align_end){0};
    for (int64_t i = 1; i <= in->n; i++) {
        reference_row(s, in, i, h, f, f2, flags ? flags + (i - 1) * in->m : NULL);
        if (s->local)
            offer_local(s, h, i, in->m, end);
        if (free_column)
            bi_align_offer(&column, h[in->m], i, in->m);
    }
    for (int64_t j = 1; free_row && j <= in->m; j++)
        bi_align_offer(&row, h[j], in->n, j);
    if (!s->local) {
        *end = bi_align_best_end(s, (struct bi_align_end){h[in->m], in->n, in->m}, row, column);
        *end = bi_align_or_nothing(s, in->n, in->m, *end);
    }
    if (path) {
        struct bi_align_walk w = {.i = end->i, .j = end->j};
        while (w.i && w.j) {
            const unsigned cell = flags[(w.i - 1) * in->m + w.j - 1];
            if (bi_align_begins(s, cell, &w))
                break;
            bi_align_step(s, in, cell, &w, path);
        }
        if (!s->local)
            bi_align_border(s, &w, path);
        bi_align_path_finish(path);
        *begin = w;
        if (path->failed)
            st = bi_fail(err, BIOINFER_NOMEM, "path of an alignment");
    }
out:
    bi_free(env, h);
    bi_free(env, f);
    bi_free(env, f2);
    bi_free(env, flags);
    return st;
}

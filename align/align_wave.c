/* align_wave.c - wavefronts of a pair: see align_wave.h.
 *
 * With h(i, j) the least penalty of a path from (0, 0) to (i, j), wavefront s has of each diagonal
 * k = j - i the furthest column to which paths of penalty s lead. h never falls along a diagonal,
 * as the last step of a path to (i + 1, j + 1) is on it, or a gap from a cell whose neighbour up
 * the diagonal costs no more; the same holds for paths that end in a gap. So a path of penalty s
 * leads to a cell where wavefront s reaches it, and the flags by which a traceback chooses are
 * comparisons with offsets of a few wavefronts:
 *   H = F at (i, j): f of s reaches j        H = H[i-1][j-1] + S: a match, or h of s - mismatch
 *   H = E: e of s reaches j                  reaches j - 1
 *   the gap goes on: f (e) of s - extend reaches j; of a second piece f2 (e2) likewise
 * The steps are those of bi_align_step(), and so are the paths, whatever the ties.
 *
 * Sections: costs, memory, steps, a pair, the path. */
#include "align_wave.h"

#include <string.h>

enum {
    NONE = BI_ALIGN_WAVE_NONE,
    PAD = BI_ALIGN_WAVE_PAD,
    MOST_COST = 1024,    /* wavefronts that a step looks back */
    MOST_GROWTH = 64,    /* diagonals by which it may become wider meanwhile */
    CHUNK = 1 << 16,     /* offsets of a piece of memory, at least */
    RETAINED = 16 << 20, /* bytes of wavefronts that are kept for later pairs */
    STEP_CELLS = 32,     /* cells that stand for what a wavefront costs beside its own */
    BEAM_LAG = 96,       /* residues that a diagonal may lag behind in bi_wave_bound() */
    MOST_PENALTY = 1 << 28
};

/* ---- costs ---- */

int64_t bi_align_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Whether code a goes with those of `set`: all match alike, and no two of them do. */
static bool belongs(const struct bi_align_scoring *s, uint32_t set, int a, int32_t match,
                    int32_t mismatch)
{
    if (s->score[a][a] != match)
        return false;
    for (int b = 0; b < s->n_letters; b++)
        if (set >> b & 1 && (s->score[a][b] != mismatch || s->score[b][a] != mismatch))
            return false;
    return true;
}

/* The letters that go together, and their scores; false: fewer than two are used. */
static bool find_letters(struct bi_wave_costs *c, const struct bi_align_scoring *s, uint32_t used)
{
    int letter[2], n = 0;
    *c = (struct bi_wave_costs){0};
    for (int a = 0; a < s->n_letters && n < 2; a++)
        if (used >> a & 1)
            letter[n++] = a;
    if (n < 2)
        return false;
    c->match = s->score[letter[0]][letter[0]];
    c->other = s->score[letter[0]][letter[1]];
    for (int a = 0; a < s->n_letters; a++)
        if (used >> a & 1 && belongs(s, c->letters, a, c->match, c->other))
            c->letters |= 1u << a;
    return true;
}

/* Divides penalties, in points, by what divides them all, and sets them where they are neither too
 * large nor too unlike; trim 0: nothing is trimmed. open, extend: of the query's residues, of the
 * target's, and where n is 4 the same of a second piece. */
static void set_costs(struct bi_wave_costs *c, int64_t mismatch, const int64_t *open,
                      const int64_t *extend, int n, int64_t trim)
{
    int64_t most = mismatch, unit = mismatch, least = extend[0];
    for (int k = 0; k < n; k++) {
        most = open[k] > most ? open[k] : most;
        least = extend[k] < least ? extend[k] : least;
        unit = bi_align_divisor(unit, bi_align_divisor(open[k], extend[k]));
    }
    unit = bi_align_divisor(unit, trim);
    if (mismatch <= 0 || least <= 0 || most > MOST_COST * unit || most / least > MOST_GROWTH)
        return;
    c->mismatch = (int32_t)(mismatch / unit);
    c->open = (int32_t)(open[0] / unit);
    c->open_e = (int32_t)(open[1] / unit);
    c->extend = (int32_t)(extend[0] / unit);
    c->extend_e = (int32_t)(extend[1] / unit);
    if (n > 2) {
        c->open2 = (int32_t)(open[2] / unit);
        c->open2_e = (int32_t)(open[3] / unit);
        c->extend2 = (int32_t)(extend[2] / unit);
        c->extend2_e = (int32_t)(extend[3] / unit);
    }
    c->trim = (int32_t)(trim / unit);
    c->least = (int32_t)(least / unit);
    c->unit = (int32_t)unit;
    c->most = (int32_t)(most / unit);
}

/* The same, with costs of gaps `times` those of the scoring, and so much more for each residue of
 * the query, or of the target. */
static void set_gaps(struct bi_wave_costs *c, const struct bi_align_scoring *s, int64_t times,
                     int64_t mismatch, int64_t query, int64_t target, int64_t trim)
{
    const int64_t open[] = {times * s->open + query, times * s->open + target,
                            times * s->open2 + query, times * s->open2 + target};
    const int64_t extend[] = {times * s->extend + query, times * s->extend + target,
                              times * s->extend2 + query, times * s->extend2 + target};
    set_costs(c, mismatch, open, extend, s->open2 ? 4 : 2, trim);
}

void bi_wave_costs_make(struct bi_wave_costs *c, const struct bi_align_scoring *s, uint32_t used)
{
    if (!find_letters(c, s, used) || s->free_ends || s->local)
        return;
    set_gaps(c, s, 2, 2 * ((int64_t)c->match - c->other), c->match, c->match, 0);
}

void bi_wave_costs_make_free(struct bi_wave_costs *c, const struct bi_align_scoring *s,
                             uint32_t used, enum bi_wave_whole whole)
{
    const unsigned own = whole == BI_WAVE_QUERY
                             ? BIOINFER_FREE_QUERY_BEGIN | BIOINFER_FREE_QUERY_END
                             : BIOINFER_FREE_TARGET_BEGIN | BIOINFER_FREE_TARGET_END;
    if (!find_letters(c, s, used) || !s->free_ends || s->local)
        return;
    const int64_t match = c->match, f = whole == BI_WAVE_QUERY ? match : 0, e = match - f;
    if (match < 0 || (s->free_ends & own && !match))
        return;
    c->whole = whole;
    c->free_ends = s->free_ends;
    set_gaps(c, s, 1, match - c->other, f, e, s->free_ends & own ? match : 0);
}

int64_t bi_wave_score(const struct bi_wave_costs *c, const struct bi_align_input *in,
                      int64_t penalty)
{
    if (c->whole == BI_WAVE_BOTH)
        return ((in->n + in->m) * c->match - penalty * c->unit) / 2;
    return (c->whole == BI_WAVE_QUERY ? in->n : in->m) * c->match - penalty * c->unit;
}

int64_t bi_wave_free_penalty(const struct bi_wave_costs *c, const struct bi_align_input *in,
                             int64_t score)
{
    return ((c->whole == BI_WAVE_QUERY ? in->n : in->m) * c->match - score) / c->unit;
}

/* How far beyond 0 and `end` a path can go: one gap there and one back, each of either piece, cost
 * at most the penalty. */
static int64_t reach_beyond(const struct bi_wave_costs *c, int64_t end, int64_t penalty)
{
    const int64_t open[] = {c->open, c->open2}, extend[] = {c->extend, c->extend2};
    const int n = c->open2 ? 2 : 1;
    int64_t far = end > 0 ? end : 0;
    for (int there = 0; there < n; there++)
        for (int back = 0; back < n; back++) {
            const int64_t rest = penalty - open[there] - open[back], e = extend[back];
            const int64_t most = (rest + extend[there] + (end + 1) * e) / (extend[there] + e);
            far = rest >= 0 && most > far ? most : far;
        }
    return far;
}

void bi_wave_band(const struct bi_wave_costs *c, const struct bi_align_input *in, int64_t penalty,
                  int64_t *low, int64_t *high)
{
    *high = reach_beyond(c, in->m - in->n, penalty);
    *low = -reach_beyond(c, in->n - in->m, penalty);
}

/* ---- memory ---- */

struct wavefront {
    int32_t *h, *f, *e;       /* by diagonal */
    int32_t *f2, *e2;         /* NULL where gaps have one piece, as f and e where they are linear */
    int32_t lo, hi;           /* computed; lo > hi: none */
    int32_t full_lo, full_hi; /* computed, or NONE all round */
};

struct chunk {
    int32_t *at;
    size_t size;
    int32_t last; /* the wavefront that came last into it */
};

/* Wavefronts 0 to s, or the last ones of these. */
struct front {
    uint64_t keep; /* bytes of wavefronts that may be kept; 0: none is, once it is read */
    bool beam;
    int32_t s, lo, hi; /* so far the outermost diagonals */
    int32_t n;         /* places in waves, when not all are kept */
    struct wavefront *waves;
    size_t waves_cap;
    struct chunk *chunks; /* n_chunks in use, first .. */
    size_t n_chunks, chunks_cap, n_owned, used;
    uint64_t kept; /* bytes of the chunks in use */
    int64_t cells;
};

struct bi_wave {
    const struct bi_env *env;
    const struct bi_align_kernels *kernels;
    const struct bi_wave_costs *costs;
    const struct bi_align_input *in;
    struct bi_align_buffer texts, none;
    uint8_t *query, *target;
    int32_t none_lo, none_hi;           /* diagonals that `none` has */
    int32_t bound;                      /* INT32_MAX: unknown */
    const struct bi_align_place *place; /* NULL: no end is free */
    int32_t limit, found;               /* penalties: the most, and the least so far */
    struct front exact, quick;
};

int bi_wave_new(struct bi_wave **out, const struct bi_env *env,
                const struct bi_align_kernels *kernels, struct bioinfer_error *err)
{
    if (!(*out = bi_zalloc(env, sizeof **out)))
        return bi_fail(err, BIOINFER_NOMEM, "wavefronts");
    (*out)->env = env;
    (*out)->kernels = kernels;
    return 0;
}

/* Frees the chunks behind those that have so many bytes together. */
static void trim(const struct bi_env *env, struct front *f, uint64_t bytes)
{
    uint64_t size = 0;
    size_t n = 0;
    for (; n < f->n_owned && (size += f->chunks[n].size * sizeof *f->chunks[n].at) <= bytes; n++)
        ;
    while (f->n_owned > n)
        bi_free(env, f->chunks[--f->n_owned].at);
    f->n_chunks = f->n_chunks < n ? f->n_chunks : n;
}

static void free_front(const struct bi_env *env, struct front *f)
{
    trim(env, f, 0);
    bi_free(env, f->chunks);
    bi_free(env, f->waves);
}

void bi_wave_end(struct bi_wave *w)
{
    trim(w->env, &w->exact, RETAINED);
    trim(w->env, &w->quick, RETAINED);
}

void bi_wave_free(struct bi_wave **wave)
{
    struct bi_wave *w = *wave;
    if (!w)
        return;
    free_front(w->env, &w->exact);
    free_front(w->env, &w->quick);
    bi_free(w->env, w->texts.ptr);
    bi_free(w->env, w->none.ptr);
    bi_free(w->env, w);
    *wave = NULL;
}

/* Makes the next chunk one of at least `size` offsets: one whose wavefronts are no longer read
 * moves to the end, else one of an earlier pair is taken, or new memory. */
static bool next_chunk(const struct bi_wave *w, struct front *f, size_t size)
{
    if (!f->keep && f->n_chunks > 1 && f->chunks[0].last < f->s - w->costs->most) {
        const struct chunk oldest = f->chunks[0];
        memmove(f->chunks, f->chunks + 1, (f->n_chunks - 1) * sizeof *f->chunks);
        f->chunks[f->n_chunks - 1] = oldest;
    } else {
        if (f->n_chunks == f->n_owned) {
            if (!bi_grow(w->env, &f->chunks, &f->chunks_cap, f->n_owned + 1, sizeof *f->chunks))
                return false;
            f->chunks[f->n_owned++] = (struct chunk){0};
        }
        f->n_chunks++;
    }
    struct chunk *c = &f->chunks[f->n_chunks - 1];
    if (c->size < size) {
        const size_t room = size > CHUNK ? 2 * size : CHUNK;
        bi_free(w->env, c->at);
        c->size = 0;
        if (room > SIZE_MAX / 8 || !(c->at = bi_alloc(w->env, room * sizeof *c->at))) {
            c->at = NULL;
            return false;
        }
        c->size = room;
    }
    f->kept += c->size * sizeof *c->at;
    f->used = 0;
    return true;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Whether wavefronts have paths that end in gaps apart from all others. */
static bool is_affine(const struct bi_wave_costs *c)
{
    return c->open != c->extend || c->open2;
}

/* How many offsets wavefronts have of a diagonal. */
static int n_lists(const struct bi_wave_costs *c)
{
    return c->open2 ? 5 : is_affine(c) ? 3 : 1;
}

/* Room for wavefront s, and for as many diagonals more as those that read it may have. */
static bool make_room(const struct bi_wave *w, struct front *f, struct wavefront *x, int32_t lo,
                      int32_t hi)
{
    const struct bi_wave_costs *c = w->costs;
    const int32_t more = c->most / (c->trim ? smaller(c->least, c->trim) : c->least) + 4;
    const int32_t first = lo - more, last = hi + more;
    const size_t width = (size_t)(last - first + 1), size = (size_t)n_lists(c) * width;
    if (!f->n_chunks || f->chunks[f->n_chunks - 1].size - f->used < size)
        if (!next_chunk(w, f, size))
            return false;
    struct chunk *to = &f->chunks[f->n_chunks - 1];
    x->h = to->at + f->used - first;
    x->f = is_affine(c) ? x->h + width : NULL;
    x->e = is_affine(c) ? x->f + width : NULL;
    x->f2 = c->open2 ? x->e + width : NULL;
    x->e2 = c->open2 ? x->f2 + width : NULL;
    f->used += size;
    to->last = f->s;
    return true;
}

static void fill_none(int32_t *at, int32_t from, int32_t to)
{
    for (int32_t k = from; at && k <= to; k++)
        at[k] = NONE;
}

/* Makes all offsets of diagonals NONE. */
static void empty(const struct wavefront *x, int32_t from, int32_t to)
{
    int32_t *all[] = {x->h, x->f, x->e, x->f2, x->e2};
    for (size_t a = 0; from <= to && a < BI_COUNT(all); a++)
        fill_none(all[a], from, to);
}

/* Makes a wavefront readable from lo to hi. */
static void widen(struct wavefront *x, int32_t lo, int32_t hi)
{
    empty(x, lo, x->full_lo - 1);
    empty(x, x->full_hi + 1, hi);
    x->full_lo = lo < x->full_lo ? lo : x->full_lo;
    x->full_hi = hi > x->full_hi ? hi : x->full_hi;
}

/* An array of NONE, readable from lo to hi. */
static const int32_t *none_at(struct bi_wave *w, int32_t lo, int32_t hi, struct bioinfer_error *err)
{
    if (!w->none.ptr || lo < w->none_lo || hi > w->none_hi) {
        const int32_t first = 2 * (lo < w->none_lo ? lo : w->none_lo) - 64;
        const int32_t last = 2 * (hi > w->none_hi ? hi : w->none_hi) + 64;
        const uint64_t size = (uint64_t)(last - first + 1) * sizeof(int32_t);
        w->none_lo = w->none_hi = 0;
        if (bi_align_buffer_need(w->env, &w->none, size, err))
            return NULL;
        fill_none(w->none.ptr, 0, last - first);
        w->none_lo = first;
        w->none_hi = last;
    }
    return (const int32_t *)w->none.ptr - w->none_lo;
}

/* ---- steps ---- */

static struct wavefront *wave_at(const struct front *f, int32_t s)
{
    return &f->waves[f->keep ? s : s % f->n];
}

static struct wavefront *source(const struct front *f, int32_t back)
{
    struct wavefront *x = f->s < back ? NULL : wave_at(f, f->s - back);
    return x && x->lo <= x->hi ? x : NULL;
}

/* Diagonals from which the bound can still be met. */
static void clip(const struct bi_wave *w, const struct front *f, int32_t *lo, int32_t *hi)
{
    const int64_t end = w->in->m - w->in->n;
    int64_t first = w->place ? w->place->low : -w->in->n;
    int64_t last = w->place ? w->place->high : w->in->m;
    if (!f->beam && !w->place && w->bound != INT32_MAX) {
        const int64_t reach = (w->bound - f->s) / w->costs->least;
        first = first > end - reach ? first : end - reach;
        last = last < end + reach ? last : end + reach;
    }
    *lo = *lo > first ? *lo : (int32_t)first;
    *hi = *hi < last ? *hi : (int32_t)last;
}

static bool is_empty(const struct wavefront *x, int32_t k)
{
    return x->h[k] < 0 && (!x->f || (x->f[k] < 0 && x->e[k] < 0)) &&
           (!x->f2 || (x->f2[k] < 0 && x->e2[k] < 0));
}

/* How far diagonal k has come: by both sequences, or by the one that is to be aligned, twice. */
static int64_t come(const struct bi_wave *w, const struct wavefront *x, int32_t k)
{
    const int64_t j = x->h[k];
    return w->costs->whole == BI_WAVE_BOTH    ? 2 * j - k
           : w->costs->whole == BI_WAVE_QUERY ? 2 * (j - k)
                                              : 2 * j;
}

/* Drops diagonals at both ends that lag behind. */
static void narrow(const struct bi_wave *w, struct wavefront *x)
{
    int64_t least = INT64_MIN;
    if (x->hi - x->lo < 8)
        return;
    for (int32_t k = x->lo; k <= x->hi; k++) {
        const int64_t far = come(w, x, k) - BEAM_LAG;
        least = far > least ? far : least;
    }
    while (x->lo < x->hi && come(w, x, x->lo) < least)
        x->lo++;
    while (x->hi > x->lo && come(w, x, x->hi) < least)
        x->hi--;
    if (x->lo == x->full_lo && x->hi == x->full_hi)
        return;
    empty(x, x->full_lo, x->lo - 1);
    empty(x, x->hi + 1, x->full_hi);
}

/* A place for wavefront f->s. */
static struct wavefront *next_place(const struct bi_wave *w, struct front *f)
{
    if (f->keep && (size_t)f->s >= f->waves_cap &&
        !bi_grow(w->env, &f->waves, &f->waves_cap, (size_t)f->s + 1, sizeof *f->waves))
        return NULL;
    struct wavefront *x = wave_at(f, f->s);
    *x = (struct wavefront){.lo = 1, .hi = 0, .full_lo = 1, .full_hi = 0};
    return x;
}

/* The penalty of a path that ends at the end of diagonal k, -1 where it may not end there. */
static int64_t pays_at_end(const struct bi_wave *w, int64_t k)
{
    const int64_t n = w->in->n, m = w->in->m, end = m - n;
    const bool free = w->place->free_ends &
                      (k < end ? BIOINFER_FREE_TARGET_END : BIOINFER_FREE_QUERY_END);
    if (k == end)
        return 0;
    if (!free || k <= -n || k >= m)
        return -1;
    if (k < end) /* (n, n + k) */
        return w->costs->whole == BI_WAVE_TARGET ? w->costs->trim * (end - k) : 0;
    return w->costs->whole == BI_WAVE_QUERY ? w->costs->trim * (k - end) : 0; /* (m - k, m) */
}

/* Notes which free ends this wavefront reaches. */
static void note_ends(struct bi_wave *w, const struct front *f)
{
    const struct wavefront *x = wave_at(f, f->s);
    const int32_t n = (int32_t)w->in->n, m = (int32_t)w->in->m;
    int32_t any = 0;
    for (int32_t k = x->lo; k <= x->hi; k++)
        any |= x->h[k] >= smaller(m, k + n);
    for (int32_t k = x->lo; any && k <= x->hi; k++)
        if (x->h[k] >= smaller(m, k + n)) {
            const int64_t more = pays_at_end(w, k);
            if (more >= 0 && f->s + more < w->found)
                w->found = (int32_t)(f->s + more);
        }
}

static bool is_done(const struct bi_wave *w, const struct front *f)
{
    const struct wavefront *x = wave_at(f, f->s);
    const int32_t end = (int32_t)(w->in->m - w->in->n);
    if (w->place)
        return w->found <= f->s;
    return x->lo <= end && end <= x->hi && x->h[end] >= w->in->m;
}

/* Where matches from (i, j) on lead on its diagonal: the column. */
static int32_t follow_matches(const struct bi_wave *w, int32_t i, int32_t j)
{
    for (;; i += 8, j += 8) {
        uint64_t a, b;
        memcpy(&a, w->query + i, 8);
        memcpy(&b, w->target + j, 8);
        if (a != b)
            break;
    }
    while (w->query[i] == w->target[j])
        i++, j++;
    return j;
}

/* The diagonals on which paths begin that have paid s so far; *lo > *hi: none. */
static void begins(const struct bi_wave *w, int32_t s, int32_t *lo, int32_t *hi)
{
    const struct bi_wave_costs *c = w->costs;
    const bool left = w->place && w->place->free_ends & BIOINFER_FREE_QUERY_BEGIN;
    const bool top = w->place && w->place->free_ends & BIOINFER_FREE_TARGET_BEGIN;
    const bool pays_left = c->whole == BI_WAVE_QUERY, pays_top = c->whole == BI_WAVE_TARGET;
    *lo = 1, *hi = 0;
    if (!s) {
        *lo = left && !pays_left
                  ? (int32_t)(w->place->low > -w->in->n ? w->place->low : 1 - w->in->n)
                  : 0;
        *hi = top && !pays_top
                  ? (int32_t)(w->place->high < w->in->m ? w->place->high : w->in->m - 1)
                  : 0;
    } else if (((left && pays_left) || (top && pays_top)) && s % c->trim == 0) {
        const int32_t k = pays_left ? -(s / c->trim) : s / c->trim;
        if (k >= w->place->low && k <= w->place->high && k > -w->in->n && k < w->in->m)
            *lo = *hi = k;
    }
}

/* Wavefront 0: matches from the start, or from all free ones. */
static int first_step(struct bi_wave *w, struct front *f, struct bioinfer_error *err)
{
    struct wavefront *x;
    f->s = 0;
    begins(w, 0, &f->lo, &f->hi);
    if (!(x = next_place(w, f)) || !make_room(w, f, x, f->lo, f->hi))
        return bi_fail(err, BIOINFER_NOMEM, "wavefronts");
    x->lo = x->full_lo = f->lo;
    x->hi = x->full_hi = f->hi;
    for (int32_t k = x->lo; k <= x->hi; k++) {
        x->h[k] = follow_matches(w, k < 0 ? -k : 0, k > 0 ? k : 0);
        if (x->f)
            x->f[k] = x->e[k] = NONE;
        if (x->f2)
            x->f2[k] = x->e2[k] = NONE;
    }
    f->cells += f->hi - f->lo;
    if (f->beam)
        narrow(w, x);
    if (w->place)
        note_ends(w, f);
    return 0;
}

static int step(struct bi_wave *w, struct front *f, struct bioinfer_error *err)
{
    enum { MISMATCH, OPEN_F, MORE_F, OPEN_E, MORE_E, OPEN_F2, MORE_F2, OPEN_E2, MORE_E2, SOURCES };
    const struct bi_wave_costs *c = w->costs;
    const bool affine = is_affine(c), two = c->open2;
    struct wavefront *x, *from[SOURCES];
    int32_t lo = INT32_MAX, hi = INT32_MIN, begin_lo = 1, begin_hi = 0;
    f->s++;
    f->cells += STEP_CELLS;
    if (!(x = next_place(w, f)))
        return bi_fail(err, BIOINFER_NOMEM, "wavefronts");
    from[MISMATCH] = source(f, c->mismatch);
    from[OPEN_F] = source(f, c->open);
    from[MORE_F] = affine ? source(f, c->extend) : NULL;
    from[OPEN_E] = source(f, c->open_e);
    from[MORE_E] = affine ? source(f, c->extend_e) : NULL;
    from[OPEN_F2] = two ? source(f, c->open2) : NULL;
    from[MORE_F2] = two ? source(f, c->extend2) : NULL;
    from[OPEN_E2] = two ? source(f, c->open2_e) : NULL;
    from[MORE_E2] = two ? source(f, c->extend2_e) : NULL;
    for (int a = 0; a < SOURCES; a++)
        if (from[a]) {
            lo = from[a]->lo - (a > 0) < lo ? from[a]->lo - (a > 0) : lo;
            hi = from[a]->hi + (a > 0) > hi ? from[a]->hi + (a > 0) : hi;
        }
    if (w->place)
        begins(w, f->s, &begin_lo, &begin_hi);
    if (begin_lo <= begin_hi) {
        lo = begin_lo < lo ? begin_lo : lo;
        hi = begin_hi > hi ? begin_hi : hi;
    }
    if (lo > hi)
        return 0;
    clip(w, f, &lo, &hi);
    if (lo > hi)
        return 0;
    f->lo = lo < f->lo ? lo : f->lo;
    f->hi = hi > f->hi ? hi : f->hi;
    int32_t room_lo = f->lo, room_hi = f->hi;
    clip(w, f, &room_lo, &room_hi);
    const int32_t *none = none_at(w, lo - 1, hi + 1, err);
    if (!none || !make_room(w, f, x, room_lo, room_hi))
        return bi_fail(err, BIOINFER_NOMEM, "wavefronts");
    for (int a = 0; a < SOURCES; a++)
        if (from[a])
            widen(from[a], lo - 1, hi + 1);
    const struct bi_align_wave a = {.open_f = from[OPEN_F] ? from[OPEN_F]->h : none,
                                    .open_e = from[OPEN_E] ? from[OPEN_E]->h : none,
                                    .more_f = from[MORE_F] ? from[MORE_F]->f : none,
                                    .more_e = from[MORE_E] ? from[MORE_E]->e : none,
                                    .mismatch = from[MISMATCH] ? from[MISMATCH]->h : none,
                                    .open_f2 = from[OPEN_F2] ? from[OPEN_F2]->h : none,
                                    .open_e2 = from[OPEN_E2] ? from[OPEN_E2]->h : none,
                                    .more_f2 = from[MORE_F2] ? from[MORE_F2]->f2 : none,
                                    .more_e2 = from[MORE_E2] ? from[MORE_E2]->e2 : none,
                                    .f = x->f,
                                    .e = x->e,
                                    .h = x->h,
                                    .f2 = x->f2,
                                    .e2 = x->e2,
                                    .lo = lo,
                                    .hi = hi,
                                    .n = (int32_t)w->in->n,
                                    .m = (int32_t)w->in->m,
                                    .query = w->query,
                                    .target = w->target};
    w->kernels->wave(&a);
    for (int32_t k = begin_lo; k <= begin_hi; k++) {
        const int32_t j = follow_matches(w, k < 0 ? -k : 0, k > 0 ? k : 0);
        x->h[k] = j > x->h[k] ? j : x->h[k];
    }
    f->cells += hi - lo + 1;
    x->full_lo = lo;
    x->full_hi = hi;
    while (lo <= hi && is_empty(x, lo))
        lo++;
    while (lo <= hi && is_empty(x, hi))
        hi--;
    x->lo = lo;
    x->hi = hi;
    if (f->beam && lo <= hi)
        narrow(w, x);
    if (w->place)
        note_ends(w, f);
    return 0;
}

/* Steps until the end is reached (1) or `most` cells are filled (0). */
static int run(struct bi_wave *w, struct front *f, int64_t most, struct bioinfer_error *err)
{
    int st;
    while (!is_done(w, f)) {
        if (f->cells >= most || f->s >= w->limit || (f->keep && f->kept > f->keep))
            return 0;
        if ((st = step(w, f, err)))
            return st;
    }
    return 1;
}

/* ---- a pair ---- */

static int open_front(struct bi_wave *w, struct front *f, uint64_t keep, bool beam,
                      struct bioinfer_error *err)
{
    f->keep = keep;
    f->beam = beam;
    f->s = f->lo = f->hi = 0;
    f->n = w->costs->most + 1;
    f->n_chunks = f->used = 0;
    f->kept = 0;
    f->cells = 0;
    if (!keep && !bi_grow(w->env, &f->waves, &f->waves_cap, (size_t)f->n, sizeof *f->waves))
        return bi_fail(err, BIOINFER_NOMEM, "wavefronts");
    return first_step(w, f, err);
}

/* Begins a pair; place NULL: no end is free. */
static int start(struct bi_wave *w, const struct bi_wave_costs *c, const struct bi_align_input *in,
                 const struct bi_align_place *place, int32_t limit, uint64_t keep,
                 struct bioinfer_error *err)
{
    int st = bi_align_buffer_need(w->env, &w->texts, (uint64_t)(in->n + in->m + 2 * PAD), err);
    if (st)
        return st;
    w->costs = c;
    w->in = in;
    w->place = place;
    w->limit = limit;
    w->bound = w->found = INT32_MAX;
    w->query = w->texts.ptr;
    w->target = w->query + in->n + PAD;
    memcpy(w->query, in->query, (size_t)in->n);
    memset(w->query + in->n, BI_ALIGN_NO_CODE, PAD);
    memcpy(w->target, in->target, (size_t)in->m);
    memset(w->target + in->m, BI_ALIGN_NO_CODE + 1, PAD);
    return open_front(w, &w->exact, keep, false, err);
}

int bi_wave_start(struct bi_wave *w, const struct bi_wave_costs *c, const struct bi_align_input *in,
                  uint64_t keep, struct bioinfer_error *err)
{
    return start(w, c, in, NULL, MOST_PENALTY, keep, err);
}

int bi_wave_start_free(struct bi_wave *w, const struct bi_wave_costs *c,
                       const struct bi_align_place *place, int32_t limit, uint64_t keep,
                       struct bioinfer_error *err)
{
    return start(w, c, &place->in, place, limit, keep, err);
}

int bi_wave_run(struct bi_wave *w, int64_t most, struct bioinfer_error *err)
{
    return run(w, &w->exact, most, err);
}

int bi_wave_bound(struct bi_wave *w, int64_t most, struct bioinfer_error *err)
{
    int st;
    w->found = INT32_MAX;
    if (!(st = open_front(w, &w->quick, 0, true, err)) && (st = run(w, &w->quick, most, err)) == 1)
        w->bound = w->quick.s;
    w->found = INT32_MAX;
    return st;
}

int32_t bi_wave_penalty(const struct bi_wave *w)
{
    return w->exact.s;
}

int32_t bi_wave_most(const struct bi_wave *w)
{
    return w->bound;
}

int64_t bi_wave_cells(const struct bi_wave *w)
{
    return w->exact.cells + w->quick.cells;
}

int64_t bi_wave_left(const struct bi_wave *w)
{
    const int64_t bound = w->bound, s = w->exact.s;
    /* as many diagonals as penalties lead to and as lead back; those so far are done */
    return (bound - s) * STEP_CELLS + (bound * bound - s * s) / (2 * w->costs->least);
}

uint64_t bi_wave_left_size(const struct bi_wave *w)
{
    return (uint64_t)(bi_wave_left(w) * n_lists(w->costs)) * sizeof(int32_t);
}

/* ---- the path ---- */

static int32_t offset(const struct wavefront *x, const int32_t *at, int32_t k)
{
    return x && x->full_lo <= k && k <= x->full_hi ? at[k] : NONE;
}

struct walker {
    const struct front *f;
    const struct bi_wave_costs *c;
};

static const struct wavefront *kept_at(const struct walker *w, int32_t s)
{
    return s < 0 || !w->f->waves[s].h ? NULL : &w->f->waves[s];
}

/* The furthest column of diagonal k to which paths of penalty s lead that end in a gap: f, e, or
 * those of a second piece, which there must be. */
static int32_t reach_in(const struct walker *w, int gap, int32_t s, int32_t k)
{
    const struct bi_wave_costs *c = w->c;
    const struct wavefront *x = kept_at(w, s);
    switch (gap) {
    case BI_WALK_F2:
        return offset(x, x ? x->f2 : NULL, k);
    case BI_WALK_E2:
        return offset(x, x ? x->e2 : NULL, k);
    case BI_WALK_F:
        if (is_affine(c))
            return offset(x, x ? x->f : NULL, k);
        x = kept_at(w, s - c->open);
        return offset(x, x ? x->h : NULL, k + 1);
    default:
        if (is_affine(c))
            return offset(x, x ? x->e : NULL, k);
        x = kept_at(w, s - c->open_e);
        return offset(x, x ? x->h : NULL, k - 1) + 1;
    }
}

/* The same in a gap of either piece; *gap: in which. */
static int32_t reach_either(const struct walker *w, int first, int second, int64_t j, int32_t s,
                            int32_t k, int *gap)
{
    const int32_t far = reach_in(w, first, s, k);
    const int32_t far2 = w->c->open2 ? reach_in(w, second, s, k) : NONE;
    *gap = far2 >= j ? second : first;
    return far > far2 ? far : far2;
}

struct gap_costs {
    int32_t open, extend;
};

static struct gap_costs costs_of(const struct bi_wave_costs *c, int gap)
{
    switch (gap) {
    case BI_WALK_F:
        return (struct gap_costs){c->open, c->extend};
    case BI_WALK_E:
        return (struct gap_costs){c->open_e, c->extend_e};
    case BI_WALK_F2:
        return (struct gap_costs){c->open2, c->extend2};
    default:
        return (struct gap_costs){c->open2_e, c->extend2_e};
    }
}

/* Leaves a cell by a residue in such a gap. */
static void leave_in(int gap, struct bi_align_walk *at, struct bi_align_path *path)
{
    const bool up = gap == BI_WALK_F || gap == BI_WALK_F2;
    bi_align_path_push(path, up ? BI_CIGAR_I : BI_CIGAR_D, 1);
    at->i -= up;
    at->j -= !up;
    at->state = gap;
}

static int32_t reach(const struct walker *w, int32_t s, int32_t k)
{
    const struct wavefront *x = kept_at(w, s);
    return offset(x, x ? x->h : NULL, k);
}

/* How many residues in front of q and t agree, at most `most`. */
static int64_t equal_before(const uint8_t *q, const uint8_t *t, int64_t most)
{
    int64_t n = 0;
    uint64_t a, b;
    for (; n + 8 <= most; n += 8) {
        memcpy(&a, q - n - 8, 8);
        memcpy(&b, t - n - 8, 8);
        if (a != b)
            break;
    }
    while (n < most && q[-n - 1] == t[-n - 1])
        n++;
    return n;
}

/* Whether the best path ends at the end of diagonal k. */
static bool ends_at(const struct bi_wave *wave, const struct walker *w, int64_t k)
{
    const int64_t n = wave->in->n, m = wave->in->m, more = pays_at_end(wave, k);
    return more >= 0 &&
           reach(w, (int32_t)(wave->exact.s - more), (int32_t)k) >= (k + n < m ? k + n : m);
}

/* Where the best path ends, of several as the matrix chooses; with its score 0. */
static struct bi_align_end find_end(const struct bi_wave *wave, const struct walker *w,
                                    const struct bi_align_scoring *s)
{
    const int64_t n = wave->in->n, m = wave->in->m, end = m - n;
    struct bi_align_end corner = {-1, n, m}, row = {-1, n, 0}, column = {-1, 0, m};
    if (!wave->place)
        return (struct bi_align_end){0, n, m};
    if (wave->place->corner && ends_at(wave, w, end))
        corner.score = 0;
    if (wave->place->free_ends & BIOINFER_FREE_TARGET_END)
        for (int64_t k = wave->place->low; row.score && k <= end; k++)
            if (ends_at(wave, w, k))
                row = (struct bi_align_end){0, n, n + k};
    if (wave->place->free_ends & BIOINFER_FREE_QUERY_END)
        for (int64_t k = wave->place->high; column.score && k >= end; k--)
            if (ends_at(wave, w, k))
                column = (struct bi_align_end){0, m - k, m};
    return bi_align_best_end(s, corner, row, column);
}

void bi_wave_path(const struct bi_wave *wave, const struct bi_align_scoring *scoring,
                  struct bi_align_walk *begin, struct bi_align_end *end, struct bi_align_path *path)
{
    const struct bi_wave_costs *c = wave->costs;
    const struct walker w = {&wave->exact, c};
    int32_t s = wave->exact.s;
    *end = find_end(wave, &w, scoring);
    struct bi_align_walk at = {.i = end->i, .j = end->j};
    if (wave->place)
        s -= (int32_t)pays_at_end(wave, at.j - at.i);
    while (at.i && at.j) {
        const int32_t k = (int32_t)(at.j - at.i);
        if (at.state != BI_WALK_H) { /* the gap goes on, or was opened here */
            const struct gap_costs gap = costs_of(c, at.state);
            if (reach_in(&w, at.state, s - gap.extend, k) >= at.j) {
                s -= gap.extend;
                leave_in(at.state, &at, path);
                continue;
            }
            s -= gap.open;
            at.state = BI_WALK_H;
        }
        int in_up, in_left;
        const int32_t far_up = reach_either(&w, BI_WALK_F, BI_WALK_F2, at.j, s, k, &in_up);
        const int32_t far_left = reach_either(&w, BI_WALK_E, BI_WALK_E2, at.j, s, k, &in_left);
        int64_t most = at.i < at.j ? at.i : at.j;
        if (scoring->ties == BIOINFER_TIES_WFA) { /* matches come behind gaps */
            const int64_t gap = far_up > far_left ? far_up : far_left;
            most = most < at.j - gap ? most : at.j - gap;
        }
        const int64_t n = most > 0 ? equal_before(wave->query + at.i, wave->target + at.j, most)
                                   : 0;
        if (n) {
            bi_align_path_push(path, BI_CIGAR_EQ, n);
            at.i -= n;
            at.j -= n;
            continue;
        }
        const bool up = far_up >= at.j, left = far_left >= at.j;
        const bool differ = wave->query[at.i - 1] != wave->target[at.j - 1];
        if (differ && reach(&w, s - c->mismatch, k) >= at.j - 1) {
            s -= c->mismatch;
            bi_align_path_push(path, BI_CIGAR_X, 1);
            at.i--;
            at.j--;
        } else {
            const bool goes_up = up && !(scoring->ties == BIOINFER_TIES_EMBOSS && left);
            leave_in(goes_up ? in_up : in_left, &at, path);
        }
    }
    bi_align_border(scoring, &at, path);
    bi_align_path_finish(path);
    *begin = at;
}

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
 *   the gap goes on: f (e) of s - extend reaches j
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
 * large nor too unlike; trim 0: nothing is trimmed. */
static void set_costs(struct bi_wave_costs *c, int64_t mismatch, const int64_t open[2],
                      const int64_t extend[2], int64_t trim)
{
    const int64_t least = extend[0] < extend[1] ? extend[0] : extend[1];
    int64_t most = mismatch, unit = mismatch;

    if (mismatch <= 0 || least <= 0)
        return;
    for (int k = 0; k < 2; k++) {
        most = open[k] > most ? open[k] : most;
        unit = bi_align_divisor(unit, bi_align_divisor(open[k], extend[k]));
    }
    unit = bi_align_divisor(unit, trim);
    if (most > MOST_COST * unit || most / least > MOST_GROWTH)
        return;
    c->mismatch = (int32_t)(mismatch / unit);
    c->open = (int32_t)(open[0] / unit);
    c->open_e = (int32_t)(open[1] / unit);
    c->extend = (int32_t)(extend[0] / unit);
    c->extend_e = (int32_t)(extend[1] / unit);
    c->trim = (int32_t)(trim / unit);
    c->unit = (int32_t)unit;
    c->most = (int32_t)(most / unit);
}

void bi_wave_costs_make(struct bi_wave_costs *c, const struct bi_align_scoring *s, uint32_t used)
{
    if (!find_letters(c, s, used) || s->free_ends || s->local || s->open2)
        return;
    const int64_t open = 2 * (int64_t)s->open + c->match;
    const int64_t extend = 2 * (int64_t)s->extend + c->match;
    set_costs(c, 2 * ((int64_t)c->match - c->other), (int64_t[]){open, open},
              (int64_t[]){extend, extend}, 0);
}

void bi_wave_costs_make_free(struct bi_wave_costs *c, const struct bi_align_scoring *s,
                             uint32_t used, enum bi_wave_whole whole)
{
    const unsigned own = whole == BI_WAVE_QUERY
                             ? BIOINFER_FREE_QUERY_BEGIN | BIOINFER_FREE_QUERY_END
                             : BIOINFER_FREE_TARGET_BEGIN | BIOINFER_FREE_TARGET_END;

    if (!find_letters(c, s, used) || !s->free_ends || s->local || s->open2)
        return;
    const int64_t match = c->match, f = whole == BI_WAVE_QUERY ? match : 0, e = match - f;
    if (match < 0 || (s->free_ends & own && !match))
        return;
    c->whole = whole;
    c->free_ends = s->free_ends;
    set_costs(c, match - c->other, (int64_t[]){s->open + f, s->open + e},
              (int64_t[]){s->extend + f, s->extend + e}, s->free_ends & own ? match : 0);
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

/* How far beyond 0 and `end` a path can go: 2 o + (2 far - end - 2) e, gaps there and back, is at
 * most the penalty. */
static int64_t reach_beyond(const struct bi_wave_costs *c, int64_t end, int64_t penalty)
{
    const int64_t least = end > 0 ? end : 0, rest = penalty - 2 * (int64_t)c->open;
    const int64_t far = rest < 0 ? 0 : (rest / c->extend + end + 2) / 2;

    return far > least ? far : least;
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

/* Room for wavefront s, and for as many diagonals more as those that read it may have. */
static bool make_room(const struct bi_wave *w, struct front *f, struct wavefront *x, int32_t lo,
                      int32_t hi)
{
    const struct bi_wave_costs *c = w->costs;
    const bool affine = c->open != c->extend;
    const int32_t per_gap = smaller(c->extend, c->extend_e);
    const int32_t more = c->most / (c->trim ? smaller(per_gap, c->trim) : per_gap) + 4;
    const int32_t first = lo - more, last = hi + more;
    const size_t width = (size_t)(last - first + 1), size = affine ? 3 * width : width;

    if (!f->n_chunks || f->chunks[f->n_chunks - 1].size - f->used < size)
        if (!next_chunk(w, f, size))
            return false;
    struct chunk *to = &f->chunks[f->n_chunks - 1];
    x->h = to->at + f->used - first;
    x->f = affine ? x->h + width : NULL;
    x->e = affine ? x->f + width : NULL;
    f->used += size;
    to->last = f->s;
    return true;
}

static void fill_none(int32_t *at, int32_t from, int32_t to)
{
    for (int32_t k = from; at && k <= to; k++)
        at[k] = NONE;
}

/* Makes a wavefront readable from lo to hi. */
static void widen(struct wavefront *x, int32_t lo, int32_t hi)
{
    int32_t *all[] = {x->h, x->f, x->e};

    for (int a = 0; a < 3; a++) {
        fill_none(all[a], lo, x->full_lo - 1);
        fill_none(all[a], x->full_hi + 1, hi);
    }
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
        const int64_t reach = (w->bound - f->s) / w->costs->extend;
        first = first > end - reach ? first : end - reach;
        last = last < end + reach ? last : end + reach;
    }
    *lo = *lo > first ? *lo : (int32_t)first;
    *hi = *hi < last ? *hi : (int32_t)last;
}

static bool is_empty(const struct wavefront *x, int32_t k)
{
    return x->h[k] < 0 && (!x->f || (x->f[k] < 0 && x->e[k] < 0));
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
    fill_none(x->h, x->full_lo, x->lo - 1);
    fill_none(x->f, x->full_lo, x->lo - 1);
    fill_none(x->e, x->full_lo, x->lo - 1);
    fill_none(x->h, x->hi + 1, x->full_hi);
    fill_none(x->f, x->hi + 1, x->full_hi);
    fill_none(x->e, x->hi + 1, x->full_hi);
}

/* A place for wavefront f->s. */
static struct wavefront *next_place(const struct bi_wave *w, struct front *f)
{
    if (f->keep && !bi_grow(w->env, &f->waves, &f->waves_cap, (size_t)f->s + 1, sizeof *f->waves))
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
    enum { MISMATCH, OPEN_F, MORE_F, OPEN_E, MORE_E, SOURCES };
    const struct bi_wave_costs *c = w->costs;
    const bool affine = c->open != c->extend;
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
                                    .f = x->f,
                                    .e = x->e,
                                    .h = x->h,
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
    return (bound - s) * STEP_CELLS + (bound * bound - s * s) / (2 * w->costs->extend);
}

uint64_t bi_wave_left_size(const struct bi_wave *w)
{
    const uint64_t lists = w->costs->open != w->costs->extend ? 3 : 1;

    return (uint64_t)bi_wave_left(w) * lists * sizeof(int32_t);
}

/* ---- the path ---- */

static int32_t offset(const struct wavefront *x, const int32_t *at, int32_t k)
{
    return x && x->full_lo <= k && k <= x->full_hi ? at[k] : NONE;
}

struct walker {
    const struct front *f;
    const struct bi_wave_costs *c;
    bool affine;
};

static const struct wavefront *kept_at(const struct walker *w, int32_t s)
{
    return s < 0 || !w->f->waves[s].h ? NULL : &w->f->waves[s];
}

/* The furthest column of diagonal k to which paths of penalty s lead that end in a gap: f. */
static int32_t reach_up(const struct walker *w, int32_t s, int32_t k)
{
    const struct wavefront *x = kept_at(w, w->affine ? s : s - w->c->open);

    return w->affine ? offset(x, x ? x->f : NULL, k) : offset(x, x ? x->h : NULL, k + 1);
}

/* The same in a gap of the query: e. */
static int32_t reach_left(const struct walker *w, int32_t s, int32_t k)
{
    const struct wavefront *x = kept_at(w, w->affine ? s : s - w->c->open_e);

    return w->affine ? offset(x, x ? x->e : NULL, k) : offset(x, x ? x->h : NULL, k - 1) + 1;
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
    const struct walker w = {&wave->exact, c, c->open != c->extend};
    int32_t s = wave->exact.s;

    *end = find_end(wave, &w, scoring);
    struct bi_align_walk at = {.i = end->i, .j = end->j};
    if (wave->place)
        s -= (int32_t)pays_at_end(wave, at.j - at.i);
    while (at.i && at.j) {
        const int32_t k = (int32_t)(at.j - at.i);
        if (at.state != BI_WALK_H) { /* the gap goes on, or was opened here */
            const bool up = at.state == BI_WALK_F;
            const int32_t more = up ? reach_up(&w, s - c->extend, k)
                                    : reach_left(&w, s - c->extend_e, k);
            if (more >= at.j) {
                s -= up ? c->extend : c->extend_e;
                bi_align_path_push(path, at.state == BI_WALK_F ? BI_CIGAR_I : BI_CIGAR_D, 1);
                at.i -= at.state == BI_WALK_F;
                at.j -= at.state == BI_WALK_E;
                continue;
            }
            s -= up ? c->open : c->open_e;
            at.state = BI_WALK_H;
        }
        const int32_t far_up = reach_up(&w, s, k), far_left = reach_left(&w, s, k);
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
        } else if (up && !(scoring->ties == BIOINFER_TIES_EMBOSS && left)) {
            bi_align_path_push(path, BI_CIGAR_I, 1);
            at.i--;
            at.state = BI_WALK_F;
        } else {
            bi_align_path_push(path, BI_CIGAR_D, 1);
            at.j--;
            at.state = BI_WALK_E;
        }
    }
    bi_align_border(scoring, &at, path);
    bi_align_path_finish(path);
    *begin = at;
}

/* align_words.c - words of a pair with free ends, and where its alignments can lie.
 *
 * One sequence, here the whole one, is cut into words of eight letters, one behind the other. An
 * alignment pays for what breaks words: a mismatch, or a gap between two residues of a word, breaks
 * one, a gap of k of its own residues up to 1 + (k + 6) / 8, and so do k residues that a free end
 * leaves out. So an alignment of a penalty up to P has at least n - broken(P) words of n without a
 * change, and these occur in the other sequence, each on the diagonal by which the path passes
 * there. All its diagonals lie within reach(P), which gaps of that penalty can go. Where so many
 * occurrences lie so close to each other, alignments can be, and nowhere else.
 *
 * Words that are broken have been paid for, and what is left goes less far: with a price y for each
 * diagonal that a gap goes and a price z for each word that is broken, none of which together are
 * above what a mismatch or a gap costs, a path of P that breaks b words goes (P - z b) / y at the
 * most. It breaks all but those that occur so close to each other. A gap of two pieces costs what
 * one of them does, so that what holds for gaps of either holds for it.
 *
 * Sections: words, places. */
#include "align_wave.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD = 8,        /* letters */
    FEW = 48,        /* occurrences that are sorted as they come */
    MOST_EACH = 4,   /* occurrences of a word that are kept, on average, and */
    BY_CHANCE = 64,  /* one more for so many letters of the other sequence */
    LEAST_TABLE = 64 /* places of the table */
};

/* ---- words ---- */

void bi_align_words_free(struct bi_align_words *w)
{
    struct bi_align_buffer *all[] = {&w->table, &w->next, &w->diagonals};
    for (size_t i = 0; i < BI_COUNT(all); i++) {
        bi_free(w->env, all[i]->ptr);
        *all[i] = (struct bi_align_buffer){0};
    }
}

static uint64_t word_at(const uint8_t *codes)
{
    uint64_t word;
    memcpy(&word, codes, WORD);
    return word;
}

static uint32_t place_of(uint64_t word, int bits)
{
    return (uint32_t)(word * 0x9e3779b97f4a7c15u >> (64 - bits));
}

static int by_value(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts diagonals, most of which are in order. */
static void sort(int32_t *d, int64_t n)
{
    if (n > FEW) {
        qsort(d, (size_t)n, sizeof *d, by_value);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const int32_t x = d[i];
        int64_t at = i;
        for (; at && d[at - 1] > x; at--)
            d[at] = d[at - 1];
        d[at] = x;
    }
}

int bi_align_words_find(struct bi_align_words *w, const struct bi_align_input *in,
                        enum bi_wave_whole whole, struct bioinfer_error *err)
{
    const bool by_query = whole == BI_WAVE_QUERY;
    const uint8_t *from = by_query ? in->query : in->target;
    const uint8_t *text = by_query ? in->target : in->query;
    const int64_t length = by_query ? in->m : in->n, n = (by_query ? in->n : in->m) / WORD;
    const int64_t most = MOST_EACH * n + length / BY_CHANCE;
    int32_t *first, *next, *diagonals;
    int bits = 0, st;
    while (1 << bits < LEAST_TABLE || (1 << bits) / 8 < n)
        bits++;
    if ((st = bi_align_buffer_need(w->env, &w->table, sizeof *first << bits, err)) ||
        (st = bi_align_buffer_need(w->env, &w->next, (uint64_t)n * sizeof *next, err)) ||
        (st = bi_align_buffer_need(w->env, &w->diagonals, (uint64_t)most * sizeof *diagonals, err)))
        return st;
    w->n = n;
    w->n_found = 0;
    first = w->table.ptr;
    next = w->next.ptr;
    diagonals = w->diagonals.ptr;
    memset(first, 0, sizeof *first << bits);
    for (int64_t k = n; k > 0; k--) { /* numbers from 1: 0 is none */
        int32_t *at = &first[place_of(word_at(from + WORD * (k - 1)), bits)];
        next[k - 1] = *at;
        *at = (int32_t)k;
    }
    for (int64_t j = 0; j + WORD <= length; j++) {
        const uint64_t word = word_at(text + j);
        for (int32_t k = first[place_of(word, bits)]; k; k = next[k - 1]) {
            const int64_t i = WORD * (int64_t)(k - 1);
            if (word_at(from + i) != word)
                continue;
            if (w->n_found == most)
                return 0;
            diagonals[w->n_found++] = (int32_t)(by_query ? j - i : i - j);
        }
    }
    sort(diagonals, w->n_found);
    return n > 0;
}

int64_t bi_align_words_most(const struct bi_align_words *w, int64_t reach)
{
    const int32_t *d = w->diagonals.ptr;
    int64_t most = 0;
    for (int64_t first = 0, last = 0; last < w->n_found; last++) {
        while (d[last] - d[first] > reach)
            first++;
        most = last - first + 1 > most ? last - first + 1 : most;
    }
    return most;
}

/* ---- places ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Costs of gaps of one piece: of the whole sequence's residues, and the least of both sides. */
struct piece {
    int64_t open, extend;
    int64_t least_open, least_extend;
};

/* Gives the pieces of gaps, at most 2; returns how many there are. */
static int pieces_of(const struct bi_wave_costs *c, struct piece p[2])
{
    const bool query = c->whole == BI_WAVE_QUERY;
    p[0] = (struct piece){query ? c->open : c->open_e, query ? c->extend : c->extend_e,
                          smaller(c->open, c->open_e), smaller(c->extend, c->extend_e)};
    p[1] = (struct piece){query ? c->open2 : c->open2_e, query ? c->extend2 : c->extend2_e,
                          smaller(c->open2, c->open2_e), smaller(c->extend2, c->extend2_e)};
    return c->open2 ? 2 : 1;
}

/* How many words a penalty can break at the most. */
static int64_t broken(const struct bi_wave_costs *c, int64_t penalty)
{
    struct piece p[2];
    const int n_pieces = pieces_of(c, p);
    int64_t word = 2 * (int64_t)c->mismatch, most;
    /* twice the least that a word costs: in a gap of its own residues the first word costs `open`,
     * the second one `extend`, and each further one eight times that */
    for (int k = 0; k < n_pieces; k++) {
        word = smaller(word, 2 * p[k].least_open);
        word = smaller(word, smaller(p[k].open + p[k].extend, 2 * WORD * p[k].extend));
    }
    if (c->trim) /* so does a free end, whose first word costs `trim` */
        word = smaller(word, 2 * WORD * (int64_t)c->trim);
    most = 2 * penalty / word;
    for (int ends = 1; c->trim && ends <= 2 && penalty >= ends * (int64_t)c->trim; ends++) {
        const int64_t n = ends + 2 * (penalty - ends * (int64_t)c->trim) / word;
        most = n > most ? n : most;
    }
    return most;
}

/* How far apart diagonals of a path can lie that gaps alone pay for: one gap goes farther than
 * several of its price. */
static int64_t reach(const struct bi_wave_costs *c, int64_t penalty)
{
    struct piece p[2];
    const int n_pieces = pieces_of(c, p);
    int64_t far = 0;
    for (int k = 0; k < n_pieces; k++)
        if (penalty >= p[k].least_open)
            far = larger(far, (penalty - p[k].least_open) / p[k].least_extend + 1);
    return far;
}

/* The same where so many words are broken as well; -1: no path pays no more. */
static int64_t reach_of_rest(const struct bi_wave_costs *c, int64_t penalty, int64_t n_broken)
{
    struct piece p[2];
    const int n_pieces = pieces_of(c, p);
    int64_t far = reach(c, penalty);
    n_broken -= c->trim ? 2 : 0; /* at free ends, for next to nothing */
    for (int parts = 4; parts > 1 && n_broken > 0; parts--) { /* y in quarters of an extension */
        const int64_t y = (int64_t)parts * c->least;
        int64_t z = 4 * (int64_t)c->mismatch;
        for (int k = 0; k < n_pieces; k++) {
            z = smaller(z, 4 * p[k].least_open - y);
            z = smaller(z, 2 * (p[k].open + p[k].extend) - y);
            z = smaller(z, WORD * (4 * p[k].extend - y));
        }
        if (c->trim)
            z = smaller(z, 4 * WORD * (int64_t)c->trim);
        if (z > 0 && 4 * penalty < z * n_broken)
            return -1;
        if (z > 0)
            far = smaller(far, (4 * penalty - z * n_broken) / y);
    }
    return far;
}

bool bi_align_words_range(const struct bi_align_words *w, const struct bi_wave_costs *c,
                          int64_t limit, int64_t *low, int64_t *high, bool *anywhere)
{
    const int64_t least = w->n - broken(c, limit);
    const int32_t *d = w->diagonals.ptr;
    int64_t far = reach(c, limit);
    *low = INT64_MAX;
    *high = INT64_MIN;
    *anywhere = least < 1;
    for (int times = 0; !*anywhere && times < 3 && far > 0; times++) {
        const int64_t most = bi_align_words_most(w, far);
        if (most < least)
            return false;
        far = reach_of_rest(c, limit, w->n - most);
    }
    if (far < 0)
        return false;
    for (int64_t k = 0; !*anywhere && k + least <= w->n_found; k++)
        if (d[k + least - 1] - (int64_t)d[k] <= far) {
            *low = smaller(*low, d[k + least - 1] - far);
            *high = d[k] + far;
        }
    return *low <= *high;
}

bool bi_align_place_make(const struct bi_wave_costs *c, const struct bi_align_input *in,
                         int64_t low, int64_t high, struct bi_align_place *p)
{
    const int64_t end = in->m - in->n;
    /* where a begin, or an end, is not free, all paths pass by its diagonal */
    if ((low > 0 && !(c->free_ends & BIOINFER_FREE_TARGET_BEGIN)) ||
        (high < 0 && !(c->free_ends & BIOINFER_FREE_QUERY_BEGIN)) ||
        (high < end && !(c->free_ends & BIOINFER_FREE_TARGET_END)) ||
        (low > end && !(c->free_ends & BIOINFER_FREE_QUERY_END)))
        return false;
    *p = (struct bi_align_place){.in = *in, .low = low, .high = high};
    p->free_ends = c->free_ends;
    p->corner = true;
    if (c->whole == BI_WAVE_QUERY) { /* columns that no such path has */
        p->target_begin = low > 0 ? low : 0;
        p->in.m = smaller(in->m, in->n + high) - p->target_begin;
        p->corner = high >= end;
        if (!p->corner)
            p->free_ends &= ~(unsigned)BIOINFER_FREE_QUERY_END;
        if (p->target_begin)
            p->free_ends &= ~(unsigned)BIOINFER_FREE_QUERY_BEGIN;
    } else { /* rows */
        p->query_begin = high < 0 ? -high : 0;
        p->in.n = smaller(in->n, in->m - low) - p->query_begin;
        p->corner = low <= end;
        if (!p->corner)
            p->free_ends &= ~(unsigned)BIOINFER_FREE_TARGET_END;
        if (p->query_begin)
            p->free_ends &= ~(unsigned)BIOINFER_FREE_TARGET_BEGIN;
    }
    if (p->in.n < 1 || p->in.m < 1)
        return false;
    p->in.query += p->query_begin;
    p->in.target += p->target_begin;
    p->low += p->query_begin - p->target_begin;
    p->high += p->query_begin - p->target_begin;
    /* the corners among them */
    p->low = smaller(p->low, smaller(0, p->in.m - p->in.n));
    p->high = -smaller(-p->high, smaller(0, p->in.n - p->in.m));
    return true;
}

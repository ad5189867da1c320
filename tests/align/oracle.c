/* oracle.c - see oracle.h. */
#include "oracle.h"

#include <stdlib.h>

#define NONE (INT64_MIN / 4)

/* ---- dynamic programming over suffixes: best[state][i][j] is what the rest, from residue i of
 * the query and j of the target on, can still bring, when the column before was `state` ---- */

/* QGAP: the query has the gap, the target a residue; 2: by the second piece of the costs */
enum { MATCH, QGAP, TGAP, QGAP2, TGAP2, STATES };

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The cost of a gap of n residues. */
static int64_t gap(const struct oracle_scoring *s, int64_t n)
{
    const int64_t one = s->open + (n - 1) * (int64_t)s->extend;
    const int64_t two = s->open2 + (n - 1) * (int64_t)s->extend2;
    return s->open2 && two < one ? two : one;
}

int64_t oracle_score(const struct oracle_scoring *s, const uint8_t *q, int n, const uint8_t *t,
                     int m)
{
    const size_t wide = (size_t)m + 1;
    const int states = s->open2 ? STATES : QGAP2;
    int64_t *best = malloc((size_t)states * ((size_t)n + 1) * wide * sizeof *best), top = NONE;
#define BEST(state, i, j)                                                                          \
    best[((size_t)(state) * ((size_t)n + 1) + (size_t)(i)) * wide + (size_t)(j)]
    for (int i = n; i >= 0; i--)
        for (int j = m; j >= 0; j--)
            for (int before = 0; before < states; before++) {
                int64_t b = NONE;
                /* to stop here leaves the rest of one side unaligned, all of it where nothing
                 * was aligned before */
                if ((i == n && j == m) || s->local)
                    b = 0;
                if (i == n && s->free_ends & BIOINFER_FREE_TARGET_END)
                    b = larger(b, 0);
                if (j == m && s->free_ends & BIOINFER_FREE_QUERY_END)
                    b = larger(b, 0);
                if (i < n && j < m)
                    b = larger(b, s->score[q[i]][t[j]] + BEST(MATCH, i + 1, j + 1));
                if (j < m)
                    b = larger(b, BEST(QGAP, i, j + 1) - (before == QGAP ? s->extend : s->open));
                if (i < n)
                    b = larger(b, BEST(TGAP, i + 1, j) - (before == TGAP ? s->extend : s->open));
                if (j < m && s->open2)
                    b = larger(b,
                               BEST(QGAP2, i, j + 1) - (before == QGAP2 ? s->extend2 : s->open2));
                if (i < n && s->open2)
                    b = larger(b,
                               BEST(TGAP2, i + 1, j) - (before == TGAP2 ? s->extend2 : s->open2));
                BEST(before, i, j) = b;
            }
    top = BEST(MATCH, 0, 0);
    for (int i = 1; s->free_ends & BIOINFER_FREE_QUERY_BEGIN && i <= n; i++)
        top = larger(top, BEST(MATCH, i, 0));
    for (int j = 1; s->free_ends & BIOINFER_FREE_TARGET_BEGIN && j <= m; j++)
        top = larger(top, BEST(MATCH, 0, j));
    for (int i = 0; s->local && i <= n; i++)
        for (int j = 0; j <= m; j++)
            top = larger(top, BEST(MATCH, i, j));
    free(best);
    return top;
#undef BEST
}

/* ---- enumeration ---- */

struct all {
    const struct oracle_scoring *s;
    const uint8_t *q, *t;
    int n, m;
    int64_t best;
};

/* run: residues of the gap that ends here. */
static void extend(struct all *a, int i, int j, int before, int run, int64_t score)
{
    const int64_t first = gap(a->s, 1), more = run ? gap(a->s, run + 1) - gap(a->s, run) : first;
    if (i == a->n && j == a->m) {
        a->best = larger(a->best, score);
        return;
    }
    if (i < a->n && j < a->m)
        extend(a, i + 1, j + 1, MATCH, 0, score + a->s->score[a->q[i]][a->t[j]]);
    if (j < a->m)
        extend(a, i, j + 1, QGAP, before == QGAP ? run + 1 : 1,
               score - (before == QGAP ? more : first));
    if (i < a->n)
        extend(a, i + 1, j, TGAP, before == TGAP ? run + 1 : 1,
               score - (before == TGAP ? more : first));
}

int64_t oracle_enumerate(const struct oracle_scoring *s, const uint8_t *q, int n, const uint8_t *t,
                         int m)
{
    struct all a = {s, q, t, n, m, NONE};
    extend(&a, 0, 0, MATCH, 0, 0);
    return a.best;
}

/* ---- CIGARs ---- */

int64_t oracle_cigar(const struct oracle_scoring *s, const uint8_t *q, const uint8_t *t,
                     const struct bioinfer_alignment *a, int64_t n, int64_t m)
{
    int64_t i = a->query_begin, j = a->target_begin, score = 0;
    if (!s->local && ((i && !(s->free_ends & BIOINFER_FREE_QUERY_BEGIN)) ||
                      (j && !(s->free_ends & BIOINFER_FREE_TARGET_BEGIN)) || (i && j) ||
                      (a->query_end < n && !(s->free_ends & BIOINFER_FREE_QUERY_END)) ||
                      (a->target_end < m && !(s->free_ends & BIOINFER_FREE_TARGET_END)) ||
                      (a->query_end < n && a->target_end < m)))
        return INT64_MIN;
    for (size_t k = 0; k < a->n_cigar; k++) {
        const int64_t length = a->cigar[k] >> 4;
        const int op = a->cigar[k] & 15;
        if (!length || (k && (a->cigar[k - 1] & 15) == (uint32_t)op))
            return INT64_MIN;
        if (op == 1 || op == 2) {
            score -= gap(s, length);
            i += op == 1 ? length : 0;
            j += op == 2 ? length : 0;
            continue;
        }
        for (int64_t x = 0; x < length; x++) {
            if (i >= n || j >= m || op != (q[i] == t[j] ? 7 : 8))
                return INT64_MIN;
            score += s->score[q[i++]][t[j++]];
        }
    }
    return i == a->query_end && j == a->target_end ? score : INT64_MIN;
}

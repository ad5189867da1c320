/* align_owns.c - what a score says about where its path can lie: see align.h. */
#include "align.h"

#include <string.h>

/* Whether no pair of letters scores more than their owns. */
static bool are_enough(const struct bi_align_owns *o, const struct bi_align_scoring *s,
                       uint32_t used)
{
    for (int a = 0; a < s->n_letters; a++)
        for (int b = 0; b < s->n_letters; b++)
            if (used >> a & used >> b & 1 &&
                2 * (int64_t)s->score[a][b] > (int64_t)o->own[a] + o->own[b])
                return false;
    return true;
}

/* The most that a letter scores with any, as either side. */
static int32_t most_of(const struct bi_align_scoring *s, uint32_t used, int a)
{
    int32_t most = s->score[a][a];
    for (int b = 0; b < s->n_letters; b++)
        if (used >> b & 1) {
            most = s->score[a][b] > most ? s->score[a][b] : most;
            most = s->score[b][a] > most ? s->score[b][a] : most;
        }
    return most;
}

/* The average over pairs of letters that differ. */
static int32_t mean_mismatch(const struct bi_align_owns *o, const struct bi_align_scoring *s,
                             uint32_t used)
{
    int64_t sum = 0, n = 0;
    for (int a = 0; a < s->n_letters; a++)
        for (int b = 0; b < s->n_letters; b++)
            if (a != b && used >> a & used >> b & 1) {
                sum += (int64_t)o->own[a] + o->own[b] - 2 * (int64_t)s->score[a][b];
                n++;
            }
    return n && sum / n < INT32_MAX ? (int32_t)(sum / n) : 0;
}

void bi_align_owns_make(struct bi_align_owns *o, const struct bi_align_scoring *s, uint32_t used)
{
    const int32_t extend = s->open2 ? s->extend2 : s->extend;
    *o = (struct bi_align_owns){.least = INT32_MAX};
    if (s->free_ends || s->local || !used)
        return;
    for (int a = 0; a < s->n_letters; a++)
        o->own[a] = s->score[a][a];
    if (!are_enough(o, s, used))
        for (int a = 0; a < s->n_letters; a++)
            o->own[a] = most_of(s, used, a);
    for (int a = 0; a < s->n_letters; a++)
        if (used >> a & 1 && o->own[a] < o->least)
            o->least = o->own[a];
    o->mismatch = mean_mismatch(o, s, used);
    o->usable = o->mismatch > 0 && 2 * (int64_t)extend + o->least > 0;
}

int64_t bi_align_owns_penalty(const struct bi_align_owns *o, const struct bi_align_input *in,
                              int64_t score)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < in->n; i++)
        sum += o->own[in->query[i]];
    for (int64_t j = 0; j < in->m; j++)
        sum += o->own[in->target[j]];
    return sum - 2 * score;
}

/* The least penalty of gaps of n residues of one sequence: one gap costs no more than several. */
static int64_t least_of_gaps(const struct bi_align_owns *o, const struct bi_align_scoring *s,
                             int64_t n)
{
    return n ? 2 * bi_align_gap(s, n) + n * o->least : 0;
}

/* How far beyond 0 and `end` a path can go, at most to `last`. */
static int64_t reach_beyond(const struct bi_align_owns *o, const struct bi_align_scoring *s,
                            int64_t end, int64_t penalty, int64_t last)
{
    int64_t low = end > 0 ? end : 0, high = last;
    while (low < high) {
        const int64_t far = low + (high - low + 1) / 2;
        if (least_of_gaps(o, s, far) + least_of_gaps(o, s, far - end) <= penalty)
            low = far;
        else
            high = far - 1;
    }
    return low;
}

void bi_align_owns_band(const struct bi_align_owns *o, const struct bi_align_scoring *s,
                        const struct bi_align_input *in, int64_t penalty, int64_t *low,
                        int64_t *high)
{
    *high = reach_beyond(o, s, in->m - in->n, penalty, in->m);
    *low = -reach_beyond(o, s, in->n - in->m, penalty, in->n);
}

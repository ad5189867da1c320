/* scores_lists.c - which rows of outputs the device sums up for the scorers of a window's variants.
 *
 * A list is the rows of the window that a score is made of: those around a variant, the exons of a
 * gene, its body, the rows in front of a site. The window has each of them once, whatever number of
 * variants ask for it; a variant has its own, whose rows are those that lie beside them. */
#include "scores.h"

#include <string.h>

void bi_score_lists_free(const struct bi_env *env, struct bi_list_maker *of, size_t n)
{
    for (size_t i = 0; of && i < n; i++) {
        bi_free(env, of[i].rows);
        bi_free(env, of[i].against);
        bi_free(env, of[i].ends);
    }
    bi_free(env, of);
}

/* Makes room for n more rows and one more list; false: no memory. */
static bool make_room(const struct bi_env *env, struct bi_list_maker *l, size_t n)
{
    const size_t all = (size_t)l->n_rows + n;
    return bi_grow(env, &l->rows, &l->cap_rows, all, sizeof *l->rows) &&
           bi_grow(env, &l->against, &l->cap_against, all, sizeof *l->against) &&
           bi_grow(env, &l->ends, &l->cap, (size_t)l->n + 1, sizeof *l->ends);
}

static int32_t first_of(const struct bi_list_maker *l, int32_t list)
{
    return list ? l->ends[list - 1] : 0;
}

/* Ends the list that stands behind the last one, of n rows: its number, or that of one with the
 * same rows, which are compared with the same ones. */
static int32_t end_list(struct bi_list_maker *l, int32_t n)
{
    const int32_t at = l->n_rows;
    for (int32_t i = 0; i < l->n; i++) {
        const int32_t first = first_of(l, i);
        const size_t size = (size_t)n * sizeof *l->rows;
        if (l->ends[i] - first == n && (!n || (!memcmp(l->rows + first, l->rows + at, size) &&
                                               !memcmp(l->against + first, l->against + at, size))))
            return i;
    }
    l->n_rows += n;
    l->ends[l->n] = l->n_rows;
    return l->n++;
}

int bi_score_lists_add(const struct bi_env *env, struct bi_list_maker *own,
                       struct bi_list_maker *changed, const struct bi_alleles *alleles,
                       const struct bi_row_ranges *of, struct bi_score_list *made)
{
    int64_t n = 0;
    int32_t at;
    if (bi_alleles_check(alleles))
        return BIOINFER_INVALID;
    for (size_t i = 0; i < of->n; i++) {
        if (of->at[i][0] < 0 || of->at[i][0] > of->at[i][1] || of->at[i][1] > alleles->n_rows)
            return BIOINFER_INVALID;
        n += of->at[i][1] - of->at[i][0];
    }
    if (own->n_rows + n > INT32_MAX || changed->n_rows + n > INT32_MAX)
        return BIOINFER_LIMIT;
    if (!make_room(env, own, (size_t)n) || !make_room(env, changed, (size_t)n))
        return BIOINFER_NOMEM;
    at = own->n_rows;
    for (size_t i = 0; i < of->n; i++)
        for (int64_t r = of->at[i][0]; r < of->at[i][1]; r++) {
            own->against[at] = 0;
            own->rows[at++] = (int32_t)(r * of->step + of->first);
        }
    made->own = end_list(own, (int32_t)n);
    at = changed->n_rows;
    for (size_t i = 0; i < of->n; i++)
        for (int64_t r = of->at[i][0]; r < of->at[i][1]; r++) {
            const int64_t beside = bi_aligned_row(alleles, r);
            changed->against[at] = first_of(own, made->own) + at - changed->n_rows;
            changed->rows[at++] = (int32_t)(beside < 0 ? beside : beside * of->step + of->first);
        }
    made->changed = end_list(changed, (int32_t)n);
    made->n_rows = n;
    if (alleles->inserted > 0) {
        const int64_t end = alleles->joint + alleles->inserted + 1;
        changed->first = (int32_t)alleles->joint;
        changed->end = (int32_t)(end < alleles->n_rows ? end : alleles->n_rows);
    }
    return 0;
}

int bi_score_lists_mark(const struct bi_env *env, struct bi_list_maker *l,
                        const unsigned char *marked, int64_t n)
{
    size_t n_marked = 0;
    for (int64_t i = 0; i < n; i++)
        n_marked += marked[i] != 0;
    if (!make_room(env, l, n_marked))
        return BIOINFER_NOMEM;
    for (int64_t i = 0; i < n; i++)
        if (marked[i])
            l->rows[l->n_rows++] = (int32_t)i;
    return 0;
}

void bi_score_lists_give(const struct bi_list_maker *l, int kind, bool own, struct bi_row_lists *to)
{
    const bool compared = kind == BI_ROWS_GAP || kind == BI_ROWS_GAP_SUMS;
    *to = (struct bi_row_lists){.rows = l->rows,
                                .against = compared && !own ? l->against : NULL,
                                .ends = compared && own ? NULL : l->ends,
                                .n = compared && own ? 0 : l->n,
                                .n_rows = l->n_rows,
                                .first = l->first,
                                .end = l->end};
}

double bi_score_list_sum(const struct bi_score_sums *s, int32_t list, int track)
{
    const float *high = s->values + (int64_t)2 * list * s->n_tracks + track;
    return (double)high[0] + (double)high[s->n_tracks];
}

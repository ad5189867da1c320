/* tracks_sites.c - sites of junctions that a record gives, beside the bases of its window.
 *
 * Counts of two alleles can be compared where they are of the same sites. Places are those of the
 * first allele; behind bases that were inserted or deleted, the row that stands for a place in the
 * window of the other one lies elsewhere. */
#include <string.h>

#include "tracks.h"

enum { NO_ROW = -1 };

static int check_sites(const struct bi_tracks_task *s, const struct bi_given_sites *sites,
                       struct bioinfer_error *err)
{
    const int64_t window = s->t->window, more = sites->inserted;
    const int64_t side = s->junctions ? s->junctions->h->side : 0;
    if (!s->junctions)
        return bi_fail(err, BIOINFER_INVALID, "sites of junctions, which are not asked for");
    if (!sites->at || sites->n < 1 || sites->n > side)
        return bi_fail(err, BIOINFER_INVALID, "%lld sites of a class, expected 1 to %lld",
                       (long long)sites->n, (long long)side);
    if (more <= -window || more >= window || (more && (sites->joint < 0 || sites->joint >= window)))
        return bi_fail(err, BIOINFER_INVALID, "sites: %lld bases inserted after base %lld of %lld",
                       (long long)more, (long long)sites->joint, (long long)window);
    for (int64_t i = 0; i < BI_TRACKS_SITES * sites->n; i++) {
        const int32_t at = sites->at[i], before = i % sites->n ? sites->at[i - 1] : NO_ROW;
        const bool first = i % sites->n == 0;
        if (at < NO_ROW || at >= window ||
            (!first && at != NO_ROW && (before == NO_ROW || at <= before)))
            return bi_fail(err, BIOINFER_INVALID,
                           "site %lld of class %lld is at %d: expected bases of %lld, ascending",
                           (long long)(i % sites->n), (long long)(i / sites->n), at,
                           (long long)window);
    }
    return 0;
}

int bi_sites_take(const struct bi_tracks_task *s, struct bi_sites *to,
                  const struct bi_given_sites *sites, struct bioinfer_error *err)
{
    const int st = check_sites(s, sites, err);
    const int64_t side = st ? 0 : s->junctions->h->side;
    if (st)
        return st;
    if (!(to->at = bi_calloc(s->task.env, (size_t)(BI_TRACKS_SITES * side), sizeof *to->at)))
        return bi_fail(err, BIOINFER_NOMEM, "sites of a window");
    for (int64_t i = 0; i < BI_TRACKS_SITES * side; i++)
        to->at[i] = i % side < sites->n ? sites->at[i / side * sites->n + i % side] : NO_ROW;
    to->joint = sites->joint;
    to->inserted = sites->inserted;
    for (to->n_span = 1; to->n_span <= to->inserted; to->n_span *= 2)
        ;
    return 0;
}

/* Finds the row of the window that stands for a place of the first allele. */
static int64_t row_of(const struct bi_sites *sites, int64_t more, int64_t window, int64_t at)
{
    if (at < 0 || (more > 0 && at >= window - more))
        return NO_ROW;
    if (!more || at <= sites->joint)
        return more < 0 && at >= window + more ? NO_ROW : at;
    return more < 0 && at <= sites->joint - more ? NO_ROW : at + more;
}

/* Finds where a row of the window is among those that the program has; NO_ROW: nowhere. */
static int64_t place_of(const struct bi_row_lists *rows, int64_t row)
{
    int64_t first = 0, end = rows ? rows->n_rows : 0;
    if (!rows || row < 0)
        return row;
    while (first < end) {
        const int64_t middle = (first + end) / 2;
        if (rows->rows[middle] < row)
            first = middle + 1;
        else
            end = middle;
    }
    return first < rows->n_rows && rows->rows[first] == row ? first : NO_ROW;
}

void bi_sites_fill(const struct bi_tracks_task *s, const struct bi_sites *sites, bool first,
                   const struct bi_row_lists *of, const struct bi_batch_place *place)
{
    const int64_t n = BI_TRACKS_SITES * s->junctions->h->side, window = s->t->window;
    const int64_t more = first ? 0 : sites->inserted, n_span = first ? 1 : sites->n_span;
    int32_t *rows = bi_batch_input(place, "site_rows"), *spans = bi_batch_input(place, "spans");
    int32_t *in_span = bi_batch_input(place, "site_spans");
    memcpy(bi_batch_input(place, "sites"), sites->at, (size_t)n * sizeof *sites->at);
    for (int64_t i = 0; i < n_span; i++) { /* the last row again and again */
        const int64_t row = sites->joint + (i < more ? i : more);
        spans[i] = (int32_t)(more <= 0 ? 0 : place_of(of, row < window ? row : window - 1));
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = row_of(sites, more, window, sites->at[i]);
        const bool spans_all = more > 0 && row >= 0 && sites->at[i] == sites->joint;
        rows[i] = spans_all ? NO_ROW : (int32_t)place_of(of, row);
        in_span[i] = spans_all ? 0 : NO_ROW;
    }
}

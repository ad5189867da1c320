/* tracks_lists.c - lists of rows of a window, which are summed up on the device: little of a window
 * of many bases, and of many tracks, is to be brought out then.
 *
 * Programs have room for lists of a size that a power of two is; it grows to the largest that a
 * record has asked for, so that many windows share a program. Rows that changes are compared with
 * are kept on the device while the changes are computed.
 *
 * Sections: the task's, a record's, a program's, counts of junctions. */
#include <stdio.h>
#include <string.h>

#include "tracks.h"

/* ---- the task's ---- */

int bi_lists_open(struct bi_tracks_task *s, const int *lists, struct bioinfer_error *err)
{
    static const int kinds[] = {[BI_ROWS_SUMS] = BI_LIST_SUM,
                                [BI_ROWS_GAP] = BI_LIST_GAP,
                                [BI_ROWS_GAP_SUMS] = BI_LIST_GAPS,
                                [BI_ROWS_COUNTS] = BI_LIST_SUM};
    if (!lists)
        return 0;
    if (s->n_views > 1 || s->shifts[0] || s->sums)
        return bi_fail(err, BIOINFER_INVALID,
                       "tracks: lists of rows have no shifts, sums or other strand");
    for (int changed = 0; changed < 2; changed++)
        if (!(s->lists[changed] = bi_calloc(s->task.env, (size_t)s->n_outputs, sizeof **s->lists)))
            return bi_fail(err, BIOINFER_NOMEM, "outputs");
    for (int i = 0; i < s->n_outputs; i++) {
        const int kind = lists[i];
        const struct bi_tracks_head *h = s->of[i].h;
        const bool junctions = h->kind == BIOINFER_JUNCTIONS;
        bool compared;
        if (kind < BI_ROWS_ALL || kind > BI_ROWS_COUNTS)
            return bi_fail(err, BIOINFER_INVALID, "%s: lists %d, expected up to %d", h->name, kind,
                           BI_ROWS_COUNTS);
        if (junctions != (kind == BI_ROWS_COUNTS))
            return bi_fail(err, BIOINFER_INVALID, "%s: lists %d: %s", h->name, kind,
                           junctions ? "junctions are counted" : "only junctions are counted");
        if (kind == BI_ROWS_ALL)
            continue;
        if (i >= BI_LISTED_OUTPUTS)
            return bi_fail(err, BIOINFER_INVALID, "%s: lists are of the first %d outputs", h->name,
                           BI_LISTED_OUTPUTS);
        compared = kind != BI_ROWS_SUMS;
        for (int changed = 0; changed < 2; changed++)
            s->lists[changed][i] = (struct bi_tracks_lists){.any = true,
                                                            .kept = junctions ||
                                                                    (compared && !changed),
                                                            .kind = kinds[kind],
                                                            .n = 1,
                                                            .size = 1,
                                                            .others = 1};
    }
    return 0;
}

/* ---- a record's ---- */

/* Are the rows of an output compared with those of the record's own window? */
static bool is_compared(const struct bi_tracks_task *s, int output)
{
    return s->lists[0][output].kept && !s->lists[1][output].kept;
}

/* Are junctions counted from its rows? */
static bool is_counted(const struct bi_tracks_task *s, int output)
{
    return s->lists[1][output].kept;
}

static int check_rows(const struct bi_tracks_task *s, int output, size_t window,
                      const struct bi_row_lists *l, const struct bi_row_lists *own,
                      struct bioinfer_error *err)
{
    const struct bi_tracks_head *h = s->of[output].h;
    const bool compared = is_compared(s, output), counted = is_counted(s, output);
    for (int32_t i = 0; counted && i < l->n_rows; i++)
        if (l->rows[i] < 0 || l->rows[i] >= s->t->window || (i && l->rows[i] <= l->rows[i - 1]))
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: lists of window %zu: row %d is %d: expected bases of %lld, "
                           "ascending",
                           h->name, window, i, l->rows[i], (long long)s->t->window);
    for (int32_t i = 0; !counted && i < l->n_rows; i++) {
        const int32_t row = l->rows[i];
        if (row < (compared && !window ? BI_LIST_NONE : BI_LIST_SPAN) || row >= h->n_bins)
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: lists of window %zu: row %d, expected less than %lld", h->name,
                           window, row, (long long)h->n_bins);
        if (row == BI_LIST_SPAN && (l->first < 0 || l->first >= l->end || l->end > h->n_bins))
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: lists of window %zu: the largest of rows %d to %d, of %lld",
                           h->name, window, l->first, l->end, (long long)h->n_bins);
        if (compared && window && (l->against[i] < 0 || l->against[i] >= own->n_rows))
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: lists of window %zu: row %d is compared with row %d of %d", h->name,
                           window, i, l->against[i], own->n_rows);
    }
    return 0;
}

/* window: 0 is the record's own, and i its change i - 1. */
static int check_lists(const struct bi_tracks_task *s, int output, size_t window,
                       const struct bi_row_lists *l, const struct bi_row_lists *own,
                       struct bioinfer_error *err)
{
    const bool compared = is_compared(s, output);
    const char *name = s->of[output].h->name;
    if (!s->lists[0][output].any && (l->n || l->n_rows))
        return bi_fail(err, BIOINFER_INVALID, "%s: lists of window %zu: the output has none", name,
                       window);
    if (l->n > BI_MOST_LISTS)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: lists of window %zu: %d lists, expected up to %d", name, window, l->n,
                       BI_MOST_LISTS);
    if (l->n < 0 || l->n_rows < 0 || (l->n_rows && !l->rows) || (l->n && !l->ends) ||
        (compared && (window ? l->n_rows && !l->against : l->n > 0)) ||
        (is_counted(s, output) && l->n))
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: lists of window %zu: %d lists of %d rows, which are not given", name,
                       window, l->n, l->n_rows);
    for (int32_t i = 0; i < l->n; i++)
        if (l->ends[i] < (i ? l->ends[i - 1] : 0) || l->ends[i] > l->n_rows)
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: lists of window %zu: list %d ends at row %d of %d", name, window, i,
                           l->ends[i], l->n_rows);
    return check_rows(s, output, window, l, own, err);
}

static const int32_t *copy_ints(int32_t **at, const int32_t *from, int32_t n)
{
    int32_t *to = *at;
    if (from && n)
        memcpy(to, from, (size_t)n * sizeof *to);
    *at += from ? n : 0;
    return from ? to : NULL;
}

/* Copies all lists, which are checked, and their numbers. */
static int copy_lists(const struct bi_tracks_task *s, struct bi_window_lists *lists,
                      const struct bi_row_lists *from, size_t n_windows, struct bioinfer_error *err)
{
    const size_t n = n_windows * (size_t)s->n_outputs;
    size_t n_ints = 0;
    int32_t *at;
    if (!(lists->of = bi_calloc(s->task.env, n, sizeof *lists->of)))
        return bi_fail(err, BIOINFER_NOMEM, "lists of %zu windows", n_windows);
    for (size_t i = 0; i < n; i++)
        n_ints += (from[i].against ? 2 : 1) * (size_t)from[i].n_rows + (size_t)from[i].n;
    if (!(lists->ints = at = bi_calloc(s->task.env, n_ints + 1, sizeof *at)))
        return bi_fail(err, BIOINFER_NOMEM, "lists of %zu windows", n_windows);
    for (size_t i = 0; i < n; i++) {
        lists->of[i] = from[i];
        lists->of[i].rows = copy_ints(&at, from[i].rows, from[i].n_rows);
        lists->of[i].against = copy_ints(&at, from[i].against, from[i].n_rows);
        lists->of[i].ends = copy_ints(&at, from[i].ends, from[i].n);
    }
    return 0;
}

/* Makes room in programs for n, and says whether there was too little. */
static bool grow(int32_t *room, int32_t n)
{
    const int32_t before = *room;
    while (*room < n)
        *room *= 2;
    return *room != before;
}

/* Finds the row of the window that tells which tile entry `at` of a list is of, where the entry in
 * front of it is of row `before`. */
static int32_t row_of_entry(const struct bi_row_lists *l, int32_t at, int32_t before)
{
    return l->rows[at] >= 0 ? l->rows[at] : l->rows[at] == BI_LIST_SPAN ? l->end - 1 : before;
}

/* Do the rows of each list ascend, so that tiles find them in the lists' order? */
static bool ascends(const struct bi_row_lists *l)
{
    for (int32_t i = 0, at = 0; i < l->n; i++)
        for (int32_t row = 0, before = 0; at < l->ends[i]; at++, before = row)
            if ((row = row_of_entry(l, at, before)) < before)
                return false;
    return true;
}

/* Sizes the programs and the values of the windows. */
static void size_lists(struct bi_tracks_task *s, struct bi_window_lists *lists, size_t n_windows)
{
    bool grown = false;
    for (int i = 0; i < s->n_outputs; i++)
        for (size_t w = 0; w < n_windows; w++) {
            const struct bi_row_lists *l = &lists->of[w * (size_t)s->n_outputs + (size_t)i];
            struct bi_tracks_lists *room = &s->lists[w > 0][i];
            struct bi_tracks_extent *extent = &lists->extent[w > 0][i];
            if (!room->any)
                continue;
            grown |= grow(&room->n, l->n) | grow(&room->size, l->n_rows);
            if (!room->kept && !room->scattered && !ascends(l))
                grown = room->scattered = true;
            extent->rows = 2 * l->n > extent->rows ? 2 * l->n : extent->rows;
            if (!w)
                grown |= grow(&s->lists[1][i].others, l->n_rows);
            lists->compares |= room->kept && n_windows > 1;
        }
    s->lists_generation += grown;
    lists->generation = s->lists_generation;
    for (int changed = 0; changed < 2; changed++)
        for (int i = 0; i < s->n_outputs; i++) {
            const struct bi_tracks_output *o = &s->of[i];
            struct bi_tracks_extent *extent = &lists->extent[changed][i];
            extent->at = lists->n_values[changed];
            if (is_counted(s, i))
                extent->rows = changed ? 2 * o->h->n_bins : 0;
            extent->rows = s->lists[0][i].any ? extent->rows : bi_tracks_rows(s, o);
            lists->n_values[changed] += extent->rows * o->n_tracks;
            lists->shape[changed][i] = s->lists[changed][i];
        }
}

int bi_lists_take(struct bi_tracks_task *s, struct bi_window_unit *w,
                  const struct bioinfer_record *from, struct bioinfer_error *err)
{
    static const struct bi_tracks_asks nothing;
    const struct bi_tracks_asks *asks = s->asks ? s->asks : &nothing;
    const size_t n_windows = 1 + from->n_changes, n = (size_t)s->n_outputs;
    struct bi_window_lists *l;
    int st = 0;
    if (!s->lists[0] != !asks->lists)
        return bi_fail(err, BIOINFER_INVALID, "a window %s lists of rows, the task %s",
                       asks->lists ? "with" : "without", s->lists[0] ? "has some" : "has none");
    if (!asks->lists)
        return 0;
    for (size_t i = 0; !st && i < n_windows * n; i++)
        st = check_lists(s, (int)(i % n), i / n, &asks->lists[i], &asks->lists[i % n], err);
    if (!st && s->junctions && from->n_changes && !asks->choose)
        st = bi_fail(err, BIOINFER_INVALID, "lists of junctions, whose sites nothing chooses");
    if (st)
        return st;
    if (!(w->lists = l = bi_zalloc(s->task.env, sizeof *l)) ||
        !(l->shape[0] = bi_calloc(s->task.env, 2 * n, sizeof **l->shape)) ||
        !(l->extent[0] = bi_calloc(s->task.env, 2 * n, sizeof **l->extent)))
        return bi_fail(err, BIOINFER_NOMEM, "lists of %zu windows", n_windows);
    if (s->junctions && (!(l->counted = bi_calloc(s->task.env, n_windows, sizeof *l->counted)) ||
                         !(l->sites = bi_calloc(s->task.env, n_windows, sizeof *l->sites))))
        return bi_fail(err, BIOINFER_NOMEM, "sites of %zu windows", n_windows);
    l->choose = asks->choose;
    l->choose_user = asks->choose_user;
    l->shape[1] = l->shape[0] + n;
    l->extent[1] = l->extent[0] + n;
    if ((st = copy_lists(s, l, asks->lists, n_windows, err)))
        return st;
    size_lists(s, l, n_windows);
    return 0;
}

int64_t bi_lists_rows(const struct bi_tracks_task *s, const struct bi_window_unit *w,
                      int32_t change, int i)
{
    if (!w->lists || !w->lists->shape[0][i].any)
        return s->of[i].h->n_bins;
    return 2 * (int64_t)w->lists->of[(change + 1) * (int64_t)s->n_outputs + i].n;
}

void bi_lists_drop(struct bi_tracks_task *s, struct bi_window_unit *w)
{
    struct bi_window_lists *l = w->lists;
    if (!l)
        return;
    bi_kept_free(s->task.exec, &l->kept);
    bi_lists_drop_piece(s, w);
    bi_free(s->task.env, l->counted);
    bi_free(s->task.env, l->sites);
    bi_free(s->task.env, l->of);
    bi_free(s->task.env, l->ints);
    bi_free(s->task.env, l->shape[0]);
    bi_free(s->task.env, l->extent[0]);
    bi_free(s->task.env, l);
    w->lists = NULL;
}

/* ---- a program's ---- */

void bi_lists_drop_piece(struct bi_tracks_task *s, struct bi_window_unit *w)
{
    struct bi_window_lists *l = w->lists;
    for (size_t i = w->first; l && l->counted && l->sites && i < w->first + w->n; i++) {
        bi_kept_free(s->task.exec, &l->counted[i]);
        bi_free(s->task.env, l->sites[i].at);
        l->sites[i].at = NULL;
    }
}

/* Bytes of the rows that the window, or a change, keeps of an output. */
static uint64_t kept_size(const struct bi_tracks_task *s, const struct bi_window_unit *w,
                          bool changed, int output)
{
    const struct bi_tracks_lists *l = &w->lists->shape[changed][output];
    const struct bi_tracks_output *o = &s->of[output];
    const int64_t width = is_counted(s, output) ? o->h->row_width
                          : o->all_tracks       ? o->h->n_tracks /* as the program has them */
                                                : o->n_tracks;
    return l->kept ? (uint64_t)l->size * (uint64_t)width * sizeof(float) : 0;
}

int bi_lists_take_room(struct bi_tracks_task *s, struct bi_window_unit *w, int32_t change,
                       struct bioinfer_error *err)
{
    struct bi_kept **kept;
    uint64_t size = 0;
    if (!w->lists || !w->lists->compares || (change >= 0 && !w->lists->counted))
        return 0;
    kept = change < 0 ? &w->lists->kept : &w->lists->counted[change];
    for (int i = 0; i < s->n_outputs; i++)
        size += kept_size(s, w, change >= 0, i);
    return *kept ? 0 : bi_kept_new(kept, s->task.exec, size, err);
}

/* Fills "lists<i>" as the op list_sums takes it, or the rows that are kept. */
static void fill_lists(const struct bi_row_lists *l, const struct bi_tracks_lists *room,
                       int32_t *to)
{
    int32_t *rows = to + (room->kept ? 0 : 2 + room->n), *against = rows + room->size;
    bool span = false;
    for (int32_t i = 0; !room->kept && i < room->n; i++)
        to[2 + i] = i < l->n ? l->ends[i] : l->n ? l->ends[l->n - 1] : 0;
    for (int32_t i = 0; i < room->size; i++) {
        rows[i] = i < l->n_rows ? l->rows[i] : BI_LIST_NONE;
        span |= rows[i] == BI_LIST_SPAN;
    }
    if (!room->kept) {
        to[0] = span ? l->first : 0;
        to[1] = span ? l->end : 0;
    }
    for (int32_t i = 0; room->kind != BI_LIST_SUM && !room->kept && i < room->size; i++)
        against[i] = i < l->n_rows ? l->against[i] : 0;
}

/* Fills "cuts<i>" of each tile, where the program has it: the entries of the lists, which ascend,
 * that are the tile's. Lists of `room` behind the last one have none. */
static void fill_cuts(const struct bi_tracks_task *s, const struct bi_row_lists *l,
                      const struct bi_tracks_lists *room, const struct bi_tracks_tiles *tiles,
                      int index, const struct bi_batch_place *place)
{
    const int64_t rows = s->t->features[s->t->n_features - 1].rows;
    const int32_t *before = NULL;
    char name[24];
    snprintf(name, sizeof name, "cuts%d", index);
    for (int64_t k = 0; tiles->n > 1 && k < tiles->n; k++) {
        int32_t *cuts = bi_batch_input_trip(place, name, k), *ends;
        int64_t first, end;
        if (!cuts)
            return;
        ends = cuts + room->n;
        bi_tracks_own(s->t, tiles, k, &first, &end);
        for (int32_t i = 0; i < room->n; i++) {
            const int32_t last = i < l->n ? l->ends[i] : l->n ? l->ends[l->n - 1] : 0;
            int32_t at = before ? before[i] : i && i <= l->n ? l->ends[i - 1] : i ? last : 0;
            cuts[i] = at;
            for (int32_t row = 0; at < last; at++)
                if ((row = row_of_entry(l, at, row)) >= end * rows)
                    break;
            ends[i] = at;
        }
        before = ends;
    }
}

void bi_lists_fill(const struct bi_tracks_task *s, const struct bi_window_unit *w, int32_t change,
                   const struct bi_tracks_tiles *tiles, const struct bi_batch_place *place)
{
    const bool changed = change >= 0;
    const struct bi_row_lists *of = w->lists->of + (change + 1) * (int64_t)s->n_outputs;
    uint64_t at = 0;
    char name[24];
    for (int i = 0; i < s->n_outputs; i++) {
        const uint64_t size = kept_size(s, w, false, i);
        const struct bi_output *output = &place->slot->plan->graph->outputs[i];
        if (!w->lists->shape[changed][i].any)
            continue;
        snprintf(name, sizeof name, "lists%d", i);
        fill_lists(&of[i], &w->lists->shape[changed][i], bi_batch_input(place, name));
        fill_cuts(s, &of[i], &w->lists->shape[changed][i], tiles, i, place);
        snprintf(name, sizeof name, "reference%d", i);
        if (changed && is_counted(s, i))
            bi_kept_give(place->slot, output, 0, w->lists->counted[change], 0,
                         kept_size(s, w, true, i));
        else if (size && changed)
            bi_kept_take(place->slot, name, 0, w->lists->kept, at, size);
        else if (size && w->lists->kept)
            bi_kept_give(place->slot, output, 0, w->lists->kept, at, size);
        at += size;
    }
}

/* ---- counts of junctions ---- */

/* Has the sites of one change chosen. */
static int choose_sites(struct bi_tracks_task *s, struct bi_window_unit *w, size_t change,
                        const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct bi_given_sites sites = {.n = 0};
    struct bioinfer_error why = {0};
    int *status = &w->added[w->n + change - w->first];
    int st;
    if (*status)
        return 0;
    if ((st = w->lists->choose(w->lists->choose_user, r, change, &sites, err)) || !sites.n)
        return st;
    st = bi_sites_take(s, &w->lists->sites[change], &sites, &why);
    if (st == BIOINFER_NOMEM)
        return bi_fail(err, st, "%s", why.text);
    *status = st;
    return 0;
}

int bi_lists_choose(struct bi_tracks_task *s, struct bi_window_unit *w,
                    const struct bioinfer_result *r, size_t *n, struct bioinfer_error *err)
{
    int st = 0;
    *n = 0;
    for (size_t i = w->first; !st && i < w->first + w->n; i++) {
        st = choose_sites(s, w, i, r, err);
        *n += w->lists->sites[i].at != NULL;
    }
    return st;
}

void bi_counts_fill(const struct bi_tracks_task *s, const struct bi_window_unit *w, int32_t change,
                    bool of_window, const struct bi_batch_place *place)
{
    const int output = (int)(s->junctions - s->of);
    const struct bi_window_lists *l = w->lists;
    const struct bi_row_lists *of =
        &l->of[(of_window ? 0 : change + 1) * (int64_t)s->n_outputs + output];
    uint64_t at = 0;
    for (int i = 0; of_window && i < output; i++)
        at += kept_size(s, w, false, i);
    bi_kept_take(place->slot, "rows", 0, of_window ? l->kept : l->counted[change], at,
                 kept_size(s, w, !of_window, output));
    bi_sites_fill(s, &l->sites[change], of_window, of, place);
}

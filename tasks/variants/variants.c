/* variants.c - variants that share a window: windows with the other allele, rows of scores.
 *
 * An insertion or a deletion moves what stands on one side of it. A window with the other allele
 * keeps the bases on the left in their places, and those on the right move: then a sum over bins
 * also counts what enters or leaves at the window's right end. Or it keeps those on the right, and
 * what enters does so at the left end. By default both are computed, and a score is the mean of
 * their scores, as baskerville's snps.py takes it (commit 544073b). */
#include <stdio.h>
#include <string.h>

#include "../../base/team.h"
#include "variants.h"

enum { AT_ONCE = 32 }; /* variants whose scores are made before they are written */

static const size_t MOST_BASES = 32 << 20; /* changes of a window have these, and one more change */

/* ---- windows ---- */

static char without_case(char letter)
{
    letter |= 0x20;
    return letter == 'u' ? 't' : letter;
}

/* Compares the letters of REF with the genome's, without regard to case; U is T. */
static int check_reference(const struct bi_variants_task *t, struct bi_spot *p, int64_t start,
                           struct bioinfer_error *err)
{
    const char *bases = t->reference + (p->start - start);
    size_t n = strlen(p->reference);
    char text[BI_WHY_SIZE];
    for (size_t i = 0; i < n; i++)
        if (without_case(p->reference[i]) != without_case(bases[i])) {
            snprintf(text, sizeof text,
                     "line %llu: REF is %.40s, the genome has %.*s at "
                     "%.60s:%lld",
                     (unsigned long long)p->line, p->reference, n < 40 ? (int)n : 40, bases,
                     p->chrom, (long long)p->start + 1);
            return bi_spot_fail(t->task.env, p, BIOINFER_MISMATCH, text, err);
        }
    return 0;
}

/* The sides whose bases keep their places where ALT is longer or shorter than REF. */
enum side { LEFT = 1, RIGHT = 2, BOTH = LEFT | RIGHT };

/* The sides that a variant's windows keep; LEFT where ALT is as long as REF, as its bases on both
 * sides keep their places then. Scorers align rows for themselves. */
static enum side sides_of(const struct bi_variants_task *t, const struct bi_spot *p)
{
    static const enum side sides[] = {
        [BIOINFER_INDEL_BOTH] = BOTH, [BIOINFER_INDEL_LEFT] = LEFT, [BIOINFER_INDEL_RIGHT] = RIGHT};
    if (t->scores || strlen(p->reference) == strlen(p->alternative))
        return LEFT;
    return sides[t->params.indel];
}

/* How many windows a variant takes: 1 or 2. */
static int count_sides(const struct bi_variants_task *t, const struct bi_spot *p)
{
    return sides_of(t, p) == BOTH ? 2 : 1;
}

/* Writes the `length` bases from base `at` of the window on with the alternative allele there: what
 * stands behind it moves, and the window's end is filled up from the genome. */
static int keep_left(const struct bi_variants_task *t, const struct bi_spot *p, int64_t start,
                     int64_t at, int64_t length, char *bases, struct bioinfer_error *err)
{
    const int64_t window = t->window;
    const int64_t old = (int64_t)strlen(p->reference), new = (int64_t)strlen(p->alternative);
    const int64_t left = length - new, kept = window - at - old;
    memcpy(bases, p->alternative, (size_t)(left < 0 ? length : new));
    if (left <= 0)
        return 0;
    if (left <= kept) {
        memcpy(bases + new, t->reference + at + old, (size_t)left);
        return 0;
    }
    memcpy(bases + new, t->reference + at + old, (size_t)kept);
    memset(bases + new + kept, 'N', (size_t)(left - kept));
    if (start + window >= bi_genome_length(t->genome, p->chrom))
        return 0;
    return bi_genome_read(t->genome, p->chrom, start + window, start + window + left - kept,
                          bases + new + kept, err);
}

/* Writes the bases of the window up to the end of REF, which begins at base `at`, with the
 * alternative allele for their end: what stands before it moves, and the window's start is
 * filled up from the genome. */
static int keep_right(const struct bi_variants_task *t, const struct bi_spot *p, int64_t start,
                      int64_t at, char *bases, struct bioinfer_error *err)
{
    const int64_t old = (int64_t)strlen(p->reference), new = (int64_t)strlen(p->alternative);
    const int64_t more = new - old, front = at - more; /* bases before ALT */
    if (front <= 0) {
        memcpy(bases, p->alternative - front, (size_t)(new + front));
        return 0;
    }
    memcpy(bases + front, p->alternative, (size_t)new);
    if (more >= 0) {
        memcpy(bases, t->reference + more, (size_t)front);
        return 0;
    }
    memcpy(bases - more, t->reference, (size_t)at);
    memset(bases, 'N', (size_t)-more);
    return start <= 0 ? 0 : bi_genome_read(t->genome, p->chrom, start + more, start, bases, err);
}

/* Adds the changes that a variant makes to the window, LEFT first; the bases of
 * all of them go to t->bases. */
static int ask_variant(struct bi_variants_task *t, const struct bi_places_unit *u,
                       const struct bi_spot *p, struct bi_places_window *w,
                       struct bioinfer_error *err)
{
    const int64_t at = p->start - u->start, window = t->window;
    const int64_t old = (int64_t)strlen(p->reference), new = (int64_t)strlen(p->alternative);
    const enum side sides = sides_of(t, p);
    int st = 0;
    for (enum side side = LEFT; !st && side <= RIGHT; side = (enum side)(2 * side)) {
        const bool left = side == LEFT;
        const int64_t length = !left                              ? at + old
                               : old == new && at + new <= window ? new
                                                                  : window - at;
        char *bases;
        if (!(sides & side))
            continue;
        if (!(bases = bi_buf_reserve(&t->bases, (size_t)length)))
            return bi_fail(err, BIOINFER_NOMEM, "%s", p->name);
        st = left ? keep_left(t, p, u->start, at, length, bases, err)
                  : keep_right(t, p, u->start, at, bases, err);
        t->bases.size += (size_t)length;
        if (!st)
            st = bi_add_change(t, w, left ? at : 0, length, NULL, err);
    }
    return st;
}

/* The base in the middle of the window around variants. Where these are scored as the released tool
 * scores them, the window is its: around the middle of REF, and half a base right of it. */
static int64_t middle_of(const struct bi_variants_task *t, const struct bi_spot *first,
                         const struct bi_spot *last)
{
    return t->scores ? (first->start + last->end + 1) / 2 : (first->start + last->start) / 2;
}

/* A window takes the variants of a unit until their bases are many; the next one takes those that
 * are left. */
static int ask_variants(struct bi_variants_task *t, struct bi_places_unit *u,
                        struct bi_places_window *w, struct bioinfer_error *err)
{
    const struct bi_spot *first = &u->of[0], *last = &u->of[u->n - 1];
    const size_t most = t->most_changes ? t->most_changes : SIZE_MAX;
    struct bioinfer_change *changes;
    size_t used = 0;
    int st;
    t->bases.size = 0;
    w->first = u->next;
    if (!w->first && !first->status &&
        (st = bi_read_window(t, first->chrom, middle_of(t, first, last), &u->start, err)))
        return st;
    for (; u->next < u->n && t->bases.size < MOST_BASES && w->n_changes < most; u->next++, w->n++) {
        struct bi_spot *p = &u->of[u->next];
        if (!p->status && (st = check_reference(t, p, u->start, err)))
            return st;
        if (!p->status && (st = ask_variant(t, u, p, w, err)))
            return st;
    }
    changes = (struct bioinfer_change *)(void *)t->changes.data;
    for (size_t i = 0; i < w->n_changes; i++) { /* the bases lie still now */
        changes[i].bases = t->bases.data + used;
        used += (size_t)changes[i].length;
    }
    w->last = u->next == u->n;
    w->status = w->n_changes ? 0 : BIOINFER_INVALID; /* each has its own */
    w->text = "";
    w->sequence = w->status ? NULL : t->reference;
    return 0;
}

/* ---- scores ---- */

/* A variant in the piece at hand: some of its changes, [first, first + n) of the piece, and where
 * these are the last of them its scores [n_stats, n_tracks]. */
struct scored {
    size_t first;
    int n, n_all; /* n_all: changes of the variant */
    int status;   /* the first change without values has this one */
    bool ends;
    double *sums; /* the scores of all changes so far added up */
    float *scores;
};

/* Adds the scores of a change of the piece at hand. */
static void add_scored(const struct bi_variants_task *t, const struct bioinfer_result *v,
                       size_t change, double *to)
{
    const float *other = v->changed->values + (int64_t)change * t->n_values;
    for (int s = 0; s < t->n_stats; s++)
        for (int i = 0; i < t->n_outputs; i++) {
            const struct bi_variants_output *o = &t->of[i];
            for (int k = 0; k < o->is.n_tracks; k++)
                *to++ += bi_track_score(t, o, v->arrays[i].data, other + o->is.values_at,
                                        t->stats[s], k);
        }
}

/* The scores of a variant are the means of its changes' scores. False: no memory. */
static bool make_scored(const struct bi_variants_task *t, const struct bioinfer_result *v,
                        struct scored *y)
{
    const size_t n = (size_t)(t->n_tracks * t->n_stats);
    if (!y->sums && !(y->sums = bi_calloc(t->task.env, n, sizeof *y->sums)))
        return false;
    for (int i = 0; i < y->n; i++) {
        if (!y->status)
            y->status = v->changed->statuses[y->first + (size_t)i];
        if (!y->status)
            add_scored(t, v, y->first + (size_t)i, y->sums);
    }
    if (!y->ends || y->status)
        return true;
    if (!(y->scores = bi_calloc(t->task.env, n, sizeof *y->scores)))
        return false;
    for (size_t k = 0; k < n; k++)
        y->scores[k] = (float)(y->sums[k] / y->n_all);
    return true;
}

/* y: NULL where there are no scores. */
static int put_variant(struct bi_variants_task *t, const struct bi_places_unit *u, int i,
                       const struct scored *y, int status, const char *message,
                       struct bioinfer_error *err)
{
    const struct bi_spot *p = &u->of[i];
    const char *texts[] = {p->name, p->reference, p->alternative};
    struct bioinfer_array arrays[BI_STATS * BI_MOST_OUTPUTS];
    char names[BI_STATS * BI_MOST_OUTPUTS][48];
    int n = 0;
    for (int s = 0; y && s < t->n_stats; s++)
        for (int k = 0; k < t->n_outputs; k++, n++) {
            const struct bi_variants_output *o = &t->of[k];
            const char *stat = bi_stat_names[t->stats[s]];
            snprintf(names[n], sizeof names[n], "%s.%s", o->is.array, stat);
            arrays[n] = (struct bioinfer_array){.kind = t->n_outputs > 1 ? names[n] : stat,
                                                .n_dims = 1,
                                                .shape = {o->is.n_tracks},
                                                .data = y->scores + s * t->n_tracks + o->first};
        }
    bi_row_columns_text(&t->columns, p->chrom, strlen(p->chrom));
    bi_row_columns_i64(&t->columns, p->start + 1);
    for (size_t k = 0; k < BI_COUNT(texts); k++)
        bi_row_columns_text(&t->columns, texts[k], strlen(texts[k]));
    return bi_put_result(t, u, i, status, message, arrays, t->n_stats * t->n_outputs, err);
}

struct scoring {
    const struct bi_variants_task *task;
    const struct bioinfer_result *values;
    struct scored *scored;
    _Atomic bool failed;
};

static void score_some(void *user, int thread, int64_t first, int64_t end)
{
    struct scoring *s = user;
    for (int64_t i = first; i < end; i++)
        if (!make_scored(s->task, s->values, &s->scored[i]))
            s->failed = true;
}

/* Deals the changes of the piece, from *at on, to the variants of the window that are to come next:
 * how many, the last of which may not have all of its own. */
static int deal(const struct bi_variants_task *t, struct bi_window_flight *f,
                const struct bioinfer_result *r, size_t *at, struct scored *scored)
{
    const size_t n_changes = r->status ? 0 : r->changed->n;
    int n = 0;
    for (int64_t i = f->taken; n < AT_ONCE && i < f->n && *at < n_changes; i++) {
        const struct bi_spot *p = &f->unit->of[f->first + i];
        struct scored *y = &scored[n];
        if (p->status)
            continue;
        *y = (struct scored){.first = *at, .n_all = count_sides(t, p)};
        y->n = y->n_all - (f->half ? 1 : 0);
        if (f->half) { /* which the piece before has begun */
            y->sums = f->half;
            y->status = f->half_status;
            f->half = NULL;
        }
        y->ends = *at + (size_t)y->n <= n_changes;
        if (!y->ends)
            y->n = (int)(n_changes - *at);
        *at += (size_t)y->n;
        n++;
    }
    return n;
}

/* Puts the results of the next variants, changes of which are from *at on in the piece, and of the
 * places between them that have none; `all`: also behind the last. */
static int put_some(struct bi_variants_task *t, struct bi_window_flight *f,
                    const struct bioinfer_result *r, size_t *at, bool all,
                    struct bioinfer_error *err)
{
    const struct bi_places_unit *u = f->unit;
    struct scored scored[AT_ONCE] = {{0}};
    struct scoring scoring = {t, r, scored, false};
    const int n = deal(t, f, r, at, scored);
    int k = 0, st;
    bi_team_for(t->task.env, bioinfer_context_threads(t->task.ctx), n, 1, score_some, &scoring);
    st = scoring.failed ? bi_fail(err, BIOINFER_NOMEM, "%s", u->of[0].name) : 0;
    for (; !st && f->taken < f->n && (k < n || all); f->taken++) {
        const int i = (int)(f->first + f->taken);
        const struct bi_spot *p = &u->of[i];
        struct scored *y = &scored[k];
        if (p->status)
            st = put_variant(t, u, i, NULL, p->status, p->message, err);
        else if (r->status)
            st = put_variant(t, u, i, NULL, r->status, r->message, err);
        else if (!y->ends) { /* the other change comes with the next piece */
            f->half = y->sums;
            f->half_status = y->status;
            y->sums = NULL;
            break;
        } else {
            st = put_variant(t, u, i, y->status ? NULL : y, y->status, bi_change_text(y->status),
                             err);
            k++;
        }
    }
    for (int i = 0; i < n; i++) {
        bi_free(t->task.env, scored[i].sums);
        bi_free(t->task.env, scored[i].scores);
    }
    return st;
}

static int take_variants(struct bi_variants_task *t, struct bi_window_flight *f,
                         const struct bioinfer_result *r, struct bioinfer_error *err)
{
    const size_t n = r->status ? 0 : r->changed->n;
    size_t at = 0;
    int st = 0;
    while (!st && at < n)
        st = put_some(t, f, r, &at, false, err);
    return st || r->more ? st : put_some(t, f, r, &at, true, err);
}

const struct bi_places_kind bi_variants_kind = {ask_variants, take_variants};

/* variants.c - variants that share a window: windows with the other allele, rows of scores. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 64 }; /* variants whose scores are made before they are written */

static const size_t MOST_BASES = 32 << 20; /* changes of a window have these, and one more change */

/* ---- windows ---- */

/* Compares the letters of REF with the genome's, without regard to case. */
static int check_reference(const struct tracker *t, struct place *p, int64_t start,
                           struct bioinfer_error *err)
{
    const char *bases = t->reference + (p->start - start);
    size_t n = strlen(p->reference);
    char text[MAX_TEXT];

    for (size_t i = 0; i < n; i++)
        if ((p->reference[i] | 0x20) != (bases[i] | 0x20)) {
            snprintf(text, sizeof text,
                     "line %llu: REF is %.40s, the genome has %.*s at "
                     "%.60s:%lld",
                     (unsigned long long)p->line, p->reference, n < 40 ? (int)n : 40, bases,
                     p->chrom, (long long)p->start + 1);
            return place_fail(p, BIOINFER_MISMATCH, text, err);
        }
    return 0;
}

/* Room for the bases that a change takes; NULL = no memory. Those given before may move. */
static char *make_bases(struct compute *c, size_t used, size_t n)
{
    if (used + n > c->cap_bases) {
        const size_t cap = used + n > 2 * c->cap_bases ? used + n : 2 * c->cap_bases;
        char *bases = realloc(c->bases, cap);
        if (!bases)
            return NULL;
        c->bases = bases;
        c->cap_bases = cap;
    }
    return c->bases + used;
}

/* Writes the `length` bases from base `at` of the window on with the alternative allele there: what
 * stands behind it moves, and the window's end is filled up from the genome. */
static int make_changed(const struct tracker *t, const struct place *p, int64_t start, int64_t at,
                        int64_t length, char *bases, struct bioinfer_error *err)
{
    const int64_t window = t->info.window;
    const int64_t old = (int64_t)strlen(p->reference), new = (int64_t)strlen(p->alternative);
    const int64_t left = length - new, kept = window - at - old;
    int64_t contig;

    memcpy(bases, p->alternative, (size_t)(left < 0 ? length : new));
    if (left <= 0)
        return 0;
    if (left <= kept) {
        memcpy(bases + new, t->reference + at + old, (size_t)left);
        return 0;
    }
    memcpy(bases + new, t->reference + at + old, (size_t)kept);
    memset(bases + new + kept, 'N', (size_t)(left - kept));
    if (bioinfer_genome_length(t->genome, p->chrom, &contig) || start + window >= contig)
        return 0;
    return bioinfer_genome_read(t->genome, p->chrom, start + window, start + window + left - kept,
                                bases + new + kept, err);
}

/* Adds the change that a variant makes to the window; `used` counts the bases of all of them, at
 * t->compute.bases + used for now. */
static int ask_variant(struct tracker *t, const struct unit *u, const struct place *p,
                       struct window *w, size_t *used, struct bioinfer_error *err)
{
    const int64_t at = p->start - u->start;
    const int64_t old = (int64_t)strlen(p->reference), new = (int64_t)strlen(p->alternative);
    const int64_t length = old == new && at + new <= t->info.window ? new : t->info.window - at;
    char *bases = make_bases(&t->compute, *used, (size_t)length);
    int st;

    if (!bases)
        return no_memory(err, p->name);
    if ((st = make_changed(t, p, u->start, at, length, bases, err)))
        return st;
    *used += (size_t)length;
    return add_change(t, w, at, length, NULL, err);
}

/* The base in the middle of the window around variants. Where these are scored as the released tool
 * scores them, the window is its: around the middle of REF, and half a base right of it. */
static int64_t middle_of(const struct tracker *t, const struct place *first,
                         const struct place *last)
{
    return t->scores ? (first->start + last->end + 1) / 2 : (first->start + last->start) / 2;
}

/* A window takes the variants of a unit until their bases are many; the next one takes those that
 * are left. */
static int ask_variants(struct tracker *t, struct unit *u, struct window *w,
                        struct bioinfer_error *err)
{
    const struct place *first = &u->of[0], *last = &u->of[u->n - 1];
    const size_t most = t->most_changes ? t->most_changes : SIZE_MAX;
    size_t used = 0;
    int st;

    w->first = u->next;
    if (!w->first && !first->status &&
        (st = read_window(t, first->chrom, middle_of(t, first, last), &u->start, err)))
        return st;
    for (; u->next < u->n && used < MOST_BASES && w->n_changes < most; u->next++, w->n++) {
        struct place *p = &u->of[u->next];
        if (!p->status && (st = check_reference(t, p, u->start, err)))
            return st;
        if (!p->status && (st = ask_variant(t, u, p, w, &used, err)))
            return st;
    }
    used = 0;
    for (size_t i = 0; i < w->n_changes; i++) { /* they lie still now */
        t->compute.changes[i].bases = t->compute.bases + used;
        used += (size_t)t->compute.changes[i].length;
    }
    w->last = u->next == u->n;
    w->status = w->n_changes ? 0 : BIOINFER_INVALID; /* each has its own */
    w->text = "";
    w->sequence = w->status ? NULL : t->reference;
    return 0;
}

/* ---- scores ---- */

/* Scores of a variant [n_stats, n_tracks] and, for a table, their text. */
struct scored {
    float *scores;
    char *text;
    size_t n_text;
};

static void free_scored(struct scored *y)
{
    free(y->scores);
    free(y->text);
    *y = (struct scored){0};
}

/* The scores of a change of the piece at hand. False: no memory. */
static bool make_scored(const struct tracker *t, const struct bioinfer_result *v, size_t change,
                        struct scored *y)
{
    enum { MOST_DIGITS = 24 };
    const float *other = v->changed->values + (int64_t)change * t->n_values;
    const int n = t->n_tracks;
    float *to;

    if (!(y->scores = malloc((size_t)(n * t->n_stats) * sizeof *y->scores)) ||
        (t->to_table && !(y->text = malloc((size_t)(n * t->n_stats) * MOST_DIGITS))))
        return false;
    to = y->scores;
    for (int s = 0; s < t->n_stats; s++)
        for (int i = 0; i < t->n_outputs; i++) {
            const struct output *o = &t->of[i];
            for (int k = 0; k < o->is.n_tracks; k++)
                *to++ = (float)track_score(t, o, v->arrays[i].data, other + o->is.values_at,
                                           t->stats_of[s], k);
        }
    for (int k = 0; t->to_table && k < n * t->n_stats; k++)
        y->n_text += (size_t)snprintf(y->text + y->n_text, MOST_DIGITS, "\t%.9g",
                                      (double)y->scores[k]);
    return true;
}

/* y: NULL where there are no scores. */
static void put_row(struct tracker *t, const struct place *p, const struct scored *y, int status)
{
    cli_output_printf(&t->row, "%s\t%lld\t%s\t%s\t%s\t%s", p->chrom, (long long)p->start + 1,
                      p->name, p->reference, p->alternative,
                      status ? bioinfer_status_name(status) : "ok");
    if (y)
        cli_output_write(&t->row, y->text, y->n_text);
    for (int k = 0; !y && k < t->n_tracks * t->n_stats; k++)
        cli_output_write(&t->row, "\t", 1);
    cli_output_write(&t->row, "\n", 1);
}

static int put_variant(struct tracker *t, const struct unit *u, int i, const struct scored *y,
                       int status, const char *message, struct bioinfer_error *err)
{
    struct bioinfer_array arrays[N_STATS * MAX_OUTPUTS];
    char names[N_STATS * MAX_OUTPUTS][48];
    int n = 0;

    for (int s = 0; y && s < t->n_stats; s++)
        for (int k = 0; k < t->n_outputs; k++, n++) {
            const struct output_facts *is = &t->of[k].is;
            const char *stat = stat_names[t->stats_of[s]];
            snprintf(names[n], sizeof names[n], "%s.%s", is->array, stat);
            arrays[n] = (struct bioinfer_array){.kind = t->n_outputs > 1 ? names[n] : stat,
                                                .n_dims = 1,
                                                .shape = {is->n_tracks},
                                                .data = y->scores + s * t->n_tracks + is->first};
        }
    if (t->to_table && !t->scores)
        put_row(t, &u->of[i], y, status);
    return put_result(t, u, i, status, message, arrays, t->n_stats * t->n_outputs, err);
}

static int fail_variant(struct tracker *t, const struct unit *u, int i, int status,
                        const char *message, struct bioinfer_error *err)
{
    return put_variant(t, u, i, NULL, status, message, err);
}

struct scoring {
    const struct tracker *tracker;
    const struct bioinfer_result *values;
    size_t first; /* change */
    struct scored *scored;
    _Atomic bool failed;
};

static void score_one(void *user, int at)
{
    struct scoring *s = user;
    const struct bioinfer_result *v = s->values;
    const size_t change = s->first + (size_t)at;

    if (!v->changed->statuses[change] && !make_scored(s->tracker, v, change, &s->scored[at]))
        s->failed = true;
}

/* Puts the results of n changes, from `first` of those of r on, and of the places between them that
 * have none; `all`: also behind the last. */
static int put_some(struct tracker *t, struct flight *f, const struct bioinfer_result *r,
                    size_t first, size_t n, bool all, struct bioinfer_error *err)
{
    const struct unit *u = f->unit;
    struct scored scored[AT_ONCE] = {{0}};
    struct scoring scoring = {t, r, first, scored, false};
    size_t at = 0;
    int st;

    cli_parallel(bioinfer_context_threads(t->cli->ctx), (int)n, score_one, &scoring);
    st = scoring.failed ? no_memory(err, u->of[0].name) : 0;
    for (; !st && f->taken < f->n && (at < n || all); f->taken++) {
        const int i = (int)(f->first + f->taken);
        const struct place *p = &u->of[i];
        if (p->status)
            st = fail_variant(t, u, i, p->status, p->message, err);
        else if (r->status)
            st = fail_variant(t, u, i, r->status, r->message, err);
        else {
            const int status = r->changed->statuses[first + at];
            st = put_variant(t, u, i, status ? NULL : &scored[at], status, change_text(status),
                             err);
            at++;
        }
    }
    for (size_t i = 0; i < n; i++)
        free_scored(&scored[i]);
    return st;
}

static int take_variants(struct tracker *t, struct flight *f, const struct bioinfer_result *r,
                         struct bioinfer_error *err)
{
    const size_t n = r->status ? 0 : r->changed->n;
    int st = 0;

    for (size_t first = 0; !st && first < n; first += AT_ONCE)
        st = put_some(t, f, r, first, n - first < AT_ONCE ? n - first : AT_ONCE, false, err);
    return st || r->more ? st : put_some(t, f, r, n, 0, true, err);
}

const struct kind variants_kind = {"variants", ask_variants, take_variants, fail_variant};

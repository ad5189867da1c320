/* variants.c - variants of VCF: those that share a window, windows with the other allele, scores.
 *
 * A unit is a cluster: variants on one contig, in order, that start within --cluster bases of the
 * first. Without --cluster it is one variant, and so is one that cannot be used. The window of the
 * reference lies around the middle of the first and the last, so the scores of a cluster depend on
 * which variants are in it: the input alone decides that. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 64 }; /* variants whose scores are made before they are written */

static const size_t MOST_KEPT = 64 << 20; /* bytes of one cluster; behind them another one begins */
static const size_t MOST_BASES = 32 << 20; /* changes of a window have these, and one more change */

/* ---- clusters ---- */

/* Whether the variant has a window, or why not. */
static bool check_variant(const struct run *run, struct place *p)
{
    const struct bioinfer_locus *l = &p->l;
    char text[MAX_TEXT];
    int st = l->status;

    if (st)
        return true;
    if (!(st = check_place(run->genome, l, text, sizeof text)) &&
        l->end - l->start > run->info.window / 4) {
        snprintf(text, sizeof text,
                 "line %llu: REF of %lld bases, more than a quarter of "
                 "a window",
                 (unsigned long long)l->line, (long long)(l->end - l->start));
        st = BIOINFER_TOO_LONG;
    }
    return !st || place_fail(p, st, text);
}

/* The next variant: 1, 0 = the end, < 0 = status. */
static int next_variant(struct run *run, struct place *p, struct bioinfer_error *err)
{
    struct bioinfer_locus l;
    int st = bioinfer_loci_next(run->loci, &l, err);

    if (st > 0 && (!place_copy(p, &l) || !check_variant(run, p))) {
        place_free(p);
        err->status = st = BIOINFER_NOMEM;
        snprintf(err->text, sizeof err->text, "the next variant");
    }
    return st;
}

/* Whether a variant belongs to the unit. */
static bool joins(const struct run *run, const struct unit *u, const struct bioinfer_locus *l)
{
    const struct bioinfer_locus *first = &u->of[0].l, *last = &u->of[u->n - 1].l;

    return !l->status && !strcmp(first->chrom, l->chrom) && l->start >= last->start &&
           l->start - first->start <= run->cli->options->cluster && u->size < MOST_KEPT;
}

/* Moves a variant into the unit. */
static int add(struct run *run, struct unit *u, struct place *p, struct bioinfer_error *err)
{
    const struct bioinfer_locus l = p->l; /* whose strings stay where they are */

    if (!unit_add(u, p)) {
        place_free(p);
        err->status = BIOINFER_NOMEM;
        snprintf(err->text, sizeof err->text, "variants that share a window");
        return BIOINFER_NOMEM;
    }
    if (run->job)
        cli_output_printf(&u->key, "%s\t%lld\t%s\t%s\t%s\n", l.chrom, (long long)l.start, l.name,
                          l.reference, l.alternative);
    return 0;
}

static int read_cluster(struct run *run, struct unit *u, struct bioinfer_error *err)
{
    struct place p = run->ahead;
    int st = 1;

    run->ahead = (struct place){0};
    if ((!p.text && (st = next_variant(run, &p, err)) <= 0) || (st = add(run, u, &p, err)))
        return st;
    if (!run->cli->options->cluster || u->of[0].l.status)
        return 1;
    while ((st = next_variant(run, &p, err)) > 0) {
        if (!joins(run, u, &p.l)) {
            run->ahead = p;
            return 1;
        }
        if ((st = add(run, u, &p, err)))
            return st;
    }
    return st ? st : 1;
}

/* ---- windows ---- */

/* Letters of REF against the genome's, without regard to case; false: no memory. */
static bool check_reference(const struct run *run, struct place *p, int64_t start)
{
    const struct bioinfer_locus *l = &p->l;
    const char *bases = run->reference + (l->start - start);
    size_t n = strlen(l->reference);
    char text[MAX_TEXT];

    for (size_t i = 0; i < n; i++)
        if ((l->reference[i] | 0x20) != (bases[i] | 0x20)) {
            snprintf(text, sizeof text,
                     "line %llu: REF is %.40s, the genome has %.*s at "
                     "%.60s:%lld",
                     (unsigned long long)l->line, l->reference, n < 40 ? (int)n : 40, bases,
                     l->chrom, (long long)l->start + 1);
            return place_fail(p, BIOINFER_MISMATCH, text);
        }
    return true;
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
static int make_changed(const struct run *run, const struct bioinfer_locus *l, int64_t start,
                        int64_t at, int64_t length, char *bases, struct bioinfer_error *err)
{
    const int64_t window = run->info.window;
    const int64_t old = (int64_t)strlen(l->reference), new = (int64_t)strlen(l->alternative);
    const int64_t left = length - new, kept = window - at - old;

    memcpy(bases, l->alternative, (size_t)(left < 0 ? length : new));
    if (left <= 0)
        return 0;
    if (left <= kept) {
        memcpy(bases + new, run->reference + at + old, (size_t)left);
        return 0;
    }
    memcpy(bases + new, run->reference + at + old, (size_t)kept);
    memset(bases + new + kept, 'N', (size_t)(left - kept));
    if (start + window >= bioinfer_genome_length(run->genome, l->chrom))
        return 0;
    return bioinfer_genome_read(run->genome, l->chrom, start + window, start + window + left - kept,
                                bases + new + kept, err);
}

/* Adds the change that a variant makes to the window; `used` counts the bases of all of them, at
 * run->compute.bases + used for now. An exit code. */
static int ask_variant(struct run *run, const struct unit *u, const struct bioinfer_locus *l,
                       struct window *w, size_t *used)
{
    const int64_t at = l->start - u->start;
    const int64_t old = (int64_t)strlen(l->reference), new = (int64_t)strlen(l->alternative);
    const int64_t length = old == new && at + new <= run->info.window ? new : run->info.window - at;
    struct bioinfer_error err = {0};
    char *bases = make_bases(&run->compute, *used, (size_t)length);
    int st;

    if (!bases)
        return CLI_EXIT_NO_MEMORY;
    if ((st = make_changed(run, l, u->start, at, length, bases, &err)))
        return run_failed(run, st, &err);
    *used += (size_t)length;
    return add_change(run, w, at, length, NULL) ? CLI_EXIT_OK : CLI_EXIT_NO_MEMORY;
}

/* A window takes the variants of a unit until their bases are many; the next one takes those that
 * are left. */
static int ask_variants(struct run *run, struct unit *u, struct window *w)
{
    const struct bioinfer_locus *first = &u->of[0].l, *last = &u->of[u->n - 1].l;
    struct bioinfer_error err = {0};
    size_t used = 0;
    int st, code;

    w->first = u->next;
    if (!w->first && !first->status &&
        (st = read_window(run, first->chrom, (first->start + last->start) / 2, &u->start, &err)))
        return run_failed(run, st, &err);
    for (; u->next < u->n && used < MOST_BASES; u->next++, w->n++) {
        struct place *p = &u->of[u->next];
        if (!p->l.status && !check_reference(run, p, u->start))
            return CLI_EXIT_NO_MEMORY;
        if (!p->l.status && (code = ask_variant(run, u, &p->l, w, &used)))
            return code;
    }
    used = 0;
    for (size_t i = 0; i < w->n_changes; i++) { /* they lie still now */
        run->compute.changes[i].bases = run->compute.bases + used;
        used += (size_t)run->compute.changes[i].length;
    }
    w->last = u->next == u->n;
    w->status = w->n_changes ? 0 : BIOINFER_INVALID; /* each has its own */
    w->text = "";
    w->sequence = w->status ? NULL : run->reference;
    return CLI_EXIT_OK;
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

/* values: of the reference window; other: of the changed one. False: no memory. */
static bool make_scored(const struct run *run, const float *values, const float *other,
                        struct scored *y)
{
    enum { MOST_DIGITS = 24 };
    const int n = run->info.n_tracks;

    if (!(y->scores = malloc((size_t)(n * run->n_stats) * sizeof *y->scores)) ||
        (run->to_table && !(y->text = malloc((size_t)(n * run->n_stats) * MOST_DIGITS))))
        return false;
    for (int s = 0; s < run->n_stats; s++)
        for (int k = 0; k < n; k++)
            y->scores[s * n + k] = (float)track_score(run, values, other, run->stats_of[s], k);
    for (int k = 0; run->to_table && k < n * run->n_stats; k++)
        y->n_text += (size_t)snprintf(y->text + y->n_text, MOST_DIGITS, "\t%.9g",
                                      (double)y->scores[k]);
    return true;
}

/* y: NULL where there are no scores. */
static void put_row(struct run *run, const struct bioinfer_locus *l, const struct scored *y,
                    int status)
{
    cli_output_printf(&run->table, "%s\t%lld\t%s\t%s\t%s\t%s", l->chrom, (long long)l->start + 1,
                      l->name, l->reference, l->alternative,
                      status ? bioinfer_status_name(status) : "ok");
    if (y)
        cli_output_write(&run->table, y->text, y->n_text);
    for (int k = 0; !y && k < run->info.n_tracks * run->n_stats; k++)
        cli_output_write(&run->table, "\t", 1);
    cli_output_write(&run->table, "\n", 1);
}

static int put_variant(struct run *run, const struct unit *u, int i, const struct scored *y,
                       int status, const char *message)
{
    struct bioinfer_array arrays[N_STATS];
    const int n = run->info.n_tracks;

    for (int s = 0; y && s < run->n_stats; s++)
        arrays[s] = (struct bioinfer_array){.kind = stat_names[run->stats_of[s]],
                                            .layer = -1,
                                            .n_dims = 1,
                                            .shape = {n},
                                            .data = y->scores + s * n};
    if (run->to_table)
        put_row(run, &u->of[i].l, y, status);
    return put_result(run, u, i, status, message, arrays, run->n_stats);
}

struct scoring {
    const struct run *run;
    const struct bioinfer_window_result *values;
    size_t first; /* change */
    struct scored *scored;
    _Atomic bool failed;
};

static void score_one(void *user, int at)
{
    struct scoring *s = user;
    const struct bioinfer_window_result *v = s->values;
    const size_t change = s->first + (size_t)at;

    if (!v->statuses[change] &&
        !make_scored(s->run, v->values, v->changed + (int64_t)change * s->run->n_values,
                     &s->scored[at]))
        s->failed = true;
}

/* Puts the results of n changes, from `first` of those of r on, and of the places between them that
 * have none; `all`: also behind the last. */
static int put_some(struct run *run, struct flight *f, const struct bioinfer_window_result *r,
                    size_t first, size_t n, bool all)
{
    struct unit *u = f->unit;
    struct scored scored[AT_ONCE] = {{0}};
    struct scoring scoring = {run, r, first, scored, false};
    size_t at = 0;
    int code;

    cli_parallel(bioinfer_context_threads(run->cli->ctx), (int)n, score_one, &scoring);
    code = scoring.failed ? CLI_EXIT_NO_MEMORY : CLI_EXIT_OK;
    for (; !code && f->taken < f->n && (at < n || all); f->taken++) {
        const int i = (int)(f->first + f->taken);
        const struct bioinfer_locus *l = &u->of[i].l;
        if (l->status)
            code = put_variant(run, u, i, NULL, l->status, l->message);
        else if (r->status)
            code = put_variant(run, u, i, NULL, r->status, r->message);
        else {
            const int status = r->statuses[first + at];
            code = put_variant(run, u, i, status ? NULL : &scored[at], status, change_text(status));
            at++;
        }
    }
    for (size_t i = 0; i < n; i++)
        free_scored(&scored[i]);
    return code;
}

static int take_variants(struct run *run, struct flight *f, const struct bioinfer_window_result *r)
{
    const size_t n = r->status ? 0 : r->n_changes;
    int code = CLI_EXIT_OK;

    for (size_t first = 0; !code && first < n; first += AT_ONCE)
        code = put_some(run, f, r, first, n - first < AT_ONCE ? n - first : AT_ONCE, false);
    return code || !r->is_last ? code : put_some(run, f, r, n, 0, true);
}

const struct kind variants_kind = {"variants", read_cluster, ask_variants, take_variants};

/* variants.c - variants of VCF: those that share a window, windows with the other allele, scores.
 *
 * A unit is a cluster: variants on one contig, in order, that start within --cluster bases of the
 * first. Without --cluster it is one variant, and so is one that cannot be used. The window of the
 * reference lies around the middle of the first and the last, so the scores of a cluster depend on
 * which variants are in it: the input alone decides that. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

static const size_t MOST_KEPT = 64 << 20; /* bytes of one cluster; behind them another one begins */

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

/* The window with the alternative allele: what stands before it stays where it is, what stands
 * behind it moves, and the window's end is filled up from the genome. */
static int make_changed(const struct run *run, const struct bioinfer_locus *l, int64_t start,
                        char *changed, struct bioinfer_error *err)
{
    const int64_t window = run->info.window, at = l->start - start;
    const int64_t old = (int64_t)strlen(l->reference), new = (int64_t)strlen(l->alternative);
    int64_t left = window - at - new, kept = window - at - old;

    memcpy(changed, run->reference, (size_t)at);
    memcpy(changed + at, l->alternative, (size_t)(left < 0 ? window - at : new));
    if (left <= 0)
        return 0;
    if (left <= kept) {
        memcpy(changed + at + new, run->reference + at + old, (size_t)left);
        return 0;
    }
    memcpy(changed + at + new, run->reference + at + old, (size_t)kept);
    memset(changed + at + new + kept, 'N', (size_t)(left - kept));
    if (start + window >= bioinfer_genome_length(run->genome, l->chrom))
        return 0;
    return bioinfer_genome_read(run->genome, l->chrom, start + window, start + window + left - kept,
                                changed + at + new + kept, err);
}

static int ask_variants(struct run *run, struct unit *u, struct window *w)
{
    const struct bioinfer_locus *first = &u->of[0].l, *last = &u->of[u->n - 1].l;
    struct bioinfer_error err = {0};
    int st;

    w->first = u->next;
    w->again = u->next != 0;
    w->shared = u->n > 1;
    if (!w->again && !first->status &&
        (st = read_window(run, first->chrom, (first->start + last->start) / 2, &u->start, &err)))
        return run_failed(run, st, &err);
    for (; u->next < u->n && w->n < run->compute.at_once; u->next++, w->n++) {
        struct place *p = &u->of[u->next];
        if (!p->l.status && !check_reference(run, p, u->start))
            return CLI_EXIT_NO_MEMORY;
        if (p->l.status)
            continue;
        if ((st = make_changed(run, &p->l, u->start, run->changed[w->n_changed], &err)))
            return run_failed(run, st, &err);
        w->n_changed++;
    }
    w->changed = run->changed;
    w->last = u->next == u->n;
    w->status = w->shared ? 0 : first->status;
    w->text = first->message;
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
    const struct values *values;
    struct scored *scored;
    _Atomic bool failed;
};

static void score_one(void *user, int at)
{
    struct scoring *s = user;
    const struct values *v = s->values;

    if (!v->statuses[at] &&
        !make_scored(s->run, v->window, v->changed + at * s->run->n_values, &s->scored[at]))
        s->failed = true;
}

static int take_variants(struct run *run, const struct window *w, const struct values *v)
{
    struct unit *u = w->unit;
    struct scored scored[AT_ONCE] = {{0}};
    struct scoring scoring = {run, v, scored, false};
    const int n_ran = v->status ? 0 : w->n_changed;
    int code, at = 0;

    cli_parallel(bioinfer_context_threads(run->cli->ctx), n_ran, score_one, &scoring);
    code = scoring.failed ? CLI_EXIT_NO_MEMORY : CLI_EXIT_OK;
    for (int i = 0; !code && i < w->n; i++) {
        const struct bioinfer_locus *l = &u->of[w->first + i].l;
        if (v->status || l->status) /* the window's, or its own */
            code = put_variant(run, u, (int)w->first + i, NULL, v->status ? v->status : l->status,
                               v->status ? v->text : l->message);
        else {
            code = put_variant(run, u, (int)w->first + i, v->statuses[at] ? NULL : &scored[at],
                               v->statuses[at], v->statuses[at] ? v->texts[at] : "");
            at++;
        }
    }
    for (int i = 0; i < n_ran; i++)
        free_scored(&scored[i]);
    return code;
}

const struct kind variants_kind = {"variants", read_cluster, ask_variants, take_variants};

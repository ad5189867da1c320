/* windows.c - records of FASTA and intervals of BED as windows of DNA, and their mutagenesis. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(struct bioinfer_error *err)
{
    err->status = BIOINFER_NOMEM;
    snprintf(err->text, sizeof err->text, "the next record");
    return BIOINFER_NOMEM;
}

/* ---- records and intervals ---- */

static int read_record(struct run *run, struct unit *u, struct bioinfer_error *err)
{
    struct bioinfer_record r;
    struct place p = {0};
    char text[MAX_TEXT];
    int st = bioinfer_reader_next(run->cli->reader, &r, err);
    bool ok;

    if (st <= 0)
        return st;
    if (!r.status && r.length != (size_t)run->info.window) {
        snprintf(text, sizeof text,
                 "%zu bases, a window has %lld (--window takes "
                 "others; --genome reads windows around intervals)",
                 r.length, (long long)run->info.window);
        r.status = BIOINFER_INVALID;
        r.message = text;
    }
    ok = place_copy(&p, &(struct bioinfer_locus){.chrom = "",
                                                 .name = r.id,
                                                 .reference = "",
                                                 .alternative = "",
                                                 .ordinal = r.ordinal,
                                                 .status = r.status,
                                                 .message = r.status ? r.message : ""}) &&
         unit_add(u, &p);
    place_free(&p);
    u->sequence = r.sequence ? r.sequence : "";
    u->length = r.length;
    return ok ? 1 : no_memory(err);
}

static int read_interval(struct run *run, struct unit *u, struct bioinfer_error *err)
{
    struct bioinfer_locus l;
    struct place p = {0};
    char text[MAX_TEXT];
    int st = bioinfer_loci_next(run->loci, &l, err);
    bool ok;

    if (st <= 0)
        return st;
    ok = place_copy(&p, &l);
    if (ok && !l.status && (st = check_place(run->genome, &l, text, sizeof text)))
        ok = place_fail(&p, st, text);
    ok = ok && unit_add(u, &p);
    place_free(&p);
    if (ok && run->job)
        cli_output_printf(&u->key, "%s\t%lld\t%lld\t%s\t%c", l.chrom, (long long)l.start,
                          (long long)l.end, l.name, l.strand ? l.strand : '.');
    return ok ? 1 : no_memory(err);
}

/* A window of which there will be no values. */
static void ask_nothing(const struct unit *u, struct window *w)
{
    w->status = u->of[0].l.status;
    w->text = u->of[0].l.message;
    w->last = true;
}

static int ask_window(struct run *run, struct unit *u, struct window *w)
{
    const struct bioinfer_locus *l = &u->of[0].l;
    struct bioinfer_error err = {0};
    int st;

    ask_nothing(u, w);
    if (w->status)
        return CLI_EXIT_OK;
    if (!run->loci) {
        w->sequence = u->sequence;
        return CLI_EXIT_OK;
    }
    if ((st = read_window(run, l->chrom, (l->start + l->end) / 2, &u->start, &err)))
        return run_failed(run, st, &err);
    w->sequence = run->reference;
    return CLI_EXIT_OK;
}

static int take_window(struct run *run, const struct window *w, const struct values *v)
{
    const struct unit *u = w->unit;
    const struct bioinfer_array a = {.kind = "tracks",
                                     .layer = -1,
                                     .n_dims = 2,
                                     .shape = {run->info.n_bins, run->info.n_tracks},
                                     .data = v->window};
    const char *contig = u->of[0].l.chrom;
    int code = put_result(run, u, 0, v->status, v->text, &a, 1);

    if (code || v->status || !run->to_coverage)
        return code;
    return coverage_put(&run->coverage, contig, bioinfer_genome_length(run->genome, contig),
                        u->start + run->info.first_bin * run->info.bin_size, run->info.n_bins,
                        v->window);
}

const struct kind records_kind = {"windows", read_record, ask_window, take_window};
const struct kind intervals_kind = {"intervals", read_interval, ask_window, take_window};

/* ---- mutagenesis ---- */

static int read_locus(struct run *run, struct unit *u, struct bioinfer_error *err)
{
    int st = read_interval(run, u, err);
    struct place *p = &u->of[0];
    char text[MAX_TEXT];

    if (st <= 0 || p->l.status)
        return st;
    if (p->l.end - p->l.start < 1 || p->l.end - p->l.start > run->info.window) {
        snprintf(text, sizeof text, "line %llu: %lld bases, expected 1 to %lld",
                 (unsigned long long)p->l.line, (long long)(p->l.end - p->l.start),
                 (long long)run->info.window);
        if (!place_fail(p, BIOINFER_INVALID, text))
            return no_memory(err);
    }
    return st;
}

/* Reads the window of a locus, of which each of run->changed becomes a copy, and makes room. */
static int begin_locus(struct run *run, struct unit *u)
{
    const struct bioinfer_locus *l = &u->of[0].l;
    const size_t n = (size_t)((l->end - l->start) * 4 * run->info.n_tracks);
    struct bioinfer_error err = {0};
    int st;

    if (!(u->scores = calloc(n, sizeof *u->scores)))
        return CLI_EXIT_NO_MEMORY;
    if ((st = read_window(run, l->chrom, (l->start + l->end) / 2, &u->start, &err)))
        return run_failed(run, st, &err);
    for (int i = 0; i < run->compute.at_once; i++)
        memcpy(run->changed[i], run->reference, (size_t)run->info.window);
    run->n_waiting = 0;
    return CLI_EXIT_OK;
}

/* Change i puts base i % 4 at place i / 4. */
static int ask_locus(struct run *run, struct unit *u, struct window *w)
{
    static const char letters[] = "ACGT";
    const struct bioinfer_locus *l = &u->of[0].l;
    const int64_t n = 4 * (l->end - l->start);
    int code;

    if (l->status || u->status) { /* the interval has one, or what was computed of it */
        ask_nothing(u, w);
        return CLI_EXIT_OK;
    }
    w->again = u->next != 0;
    if (!w->again && (code = begin_locus(run, u)))
        return code;
    for (int k = 0; k < run->n_waiting; k++) { /* as they were */
        const int64_t at = l->start - u->start + run->waiting[k] / 4;
        run->changed[k][at] = run->reference[at];
    }
    for (run->n_waiting = 0; u->next < n && run->n_waiting < run->compute.at_once; u->next++) {
        const int64_t at = l->start - u->start + u->next / 4;
        if ((run->reference[at] & ~0x20) == letters[u->next % 4])
            continue;
        run->changed[run->n_waiting][at] = letters[u->next % 4];
        run->waiting[run->n_waiting++] = u->next;
    }
    w->sequence = run->reference;
    w->changed = run->changed;
    w->n_changed = run->n_waiting;
    w->shared = true;
    w->last = u->next == n;
    return CLI_EXIT_OK;
}

/* Keeps why a locus has no scores: that of its window, or of the first change that has none. */
static void fail_locus(struct unit *u, const struct window *w, const struct values *v)
{
    u->status = v->status;
    snprintf(u->why, sizeof u->why, "%s", v->text);
    for (int k = 0; !u->status && k < w->n_changed; k++)
        if (v->statuses[k]) {
            u->status = v->statuses[k];
            snprintf(u->why, sizeof u->why, "%s", v->texts[k]);
        }
}

/* scores [bases, 4, tracks]: SAD of each base at each place, 0 where it is the genome's own. */
static int take_locus(struct run *run, const struct window *w, const struct values *v)
{
    struct unit *u = w->unit;
    const struct bioinfer_locus *l = &u->of[0].l;
    const int64_t tracks = run->info.n_tracks;
    const struct bioinfer_array a = {.kind = "ism",
                                     .layer = -1,
                                     .n_dims = 3,
                                     .shape = {l->end - l->start, 4, tracks},
                                     .data = u->scores};

    if (!u->status)
        fail_locus(u, w, v);
    for (int k = 0; !u->status && k < w->n_changed; k++)
        for (int t = 0; t < tracks; t++)
            u->scores[run->waiting[k] * tracks + t] = (float)track_score(
                run, v->window, v->changed + k * run->n_values, SAD, t);
    if (w->last)
        return put_result(run, u, 0, u->status, u->why, &a, 1);
    if (cli_progress_tick(run->cli, run->n_records, (uint64_t)u->next))
        return cli_fail(run->cli, CLI_AT_RUN, BIOINFER_CANCELLED, NULL);
    return CLI_EXIT_OK;
}

const struct kind mutagenesis_kind = {"intervals", read_locus, ask_locus, take_locus};

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

static int take_window(struct run *run, struct flight *f, const struct bioinfer_window_result *r)
{
    const struct unit *u = f->unit;
    const struct bioinfer_array a = {.kind = "tracks",
                                     .layer = -1,
                                     .n_dims = 2,
                                     .shape = {run->info.n_bins, run->info.n_tracks},
                                     .data = r->values};
    const char *contig = u->of[0].l.chrom;
    int code = put_result(run, u, 0, r->status, r->message, &a, 1);

    if (code || r->status || !run->to_coverage)
        return code;
    return coverage_put(&run->coverage, contig, bioinfer_genome_length(run->genome, contig),
                        u->start + run->info.first_bin * run->info.bin_size, run->info.n_bins,
                        r->values);
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

/* Reads the window of a locus, and makes room. */
static int begin_locus(struct run *run, struct unit *u)
{
    const struct bioinfer_locus *l = &u->of[0].l;
    const size_t n = (size_t)((l->end - l->start) * 4);
    struct bioinfer_error err = {0};
    int st;

    if (!(u->scores = calloc(n * (size_t)run->info.n_tracks, sizeof *u->scores)) ||
        !(u->scored = calloc(n, sizeof *u->scored)))
        return CLI_EXIT_NO_MEMORY;
    if ((st = read_window(run, l->chrom, (l->start + l->end) / 2, &u->start, &err)))
        return run_failed(run, st, &err);
    return CLI_EXIT_OK;
}

/* Base i % 4 comes to place i / 4, where it is not there. */
static int ask_locus(struct run *run, struct unit *u, struct window *w)
{
    static const char letters[] = "ACGT";
    const struct bioinfer_locus *l = &u->of[0].l;
    const int64_t n = 4 * (l->end - l->start);
    int code;

    ask_nothing(u, w);
    if (w->status)
        return CLI_EXIT_OK;
    if ((code = begin_locus(run, u)))
        return code;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = l->start - u->start + i / 4;
        if ((run->reference[at] & ~0x20) == letters[i % 4])
            continue;
        u->scored[w->n_changes] = i;
        if (!add_change(run, w, at, 1, letters + i % 4))
            return CLI_EXIT_NO_MEMORY;
    }
    w->sequence = run->reference;
    return CLI_EXIT_OK;
}

/* Keeps why a locus has no scores: that of its window, or of the first change that has none. */
static void fail_locus(struct unit *u, const struct bioinfer_window_result *r)
{
    u->status = r->status;
    snprintf(u->why, sizeof u->why, "%s", r->message);
    for (size_t k = 0; !u->status && k < r->n_changes; k++)
        if (r->statuses[k]) {
            u->status = r->statuses[k];
            snprintf(u->why, sizeof u->why, "%s", change_text(u->status));
        }
}

/* scores [bases, 4, tracks]: SAD of each base at each place, 0 where it is the genome's own. */
static int take_locus(struct run *run, struct flight *f, const struct bioinfer_window_result *r)
{
    struct unit *u = f->unit;
    const struct bioinfer_locus *l = &u->of[0].l;
    const int64_t tracks = run->info.n_tracks;
    const struct bioinfer_array a = {.kind = "ism",
                                     .layer = -1,
                                     .n_dims = 3,
                                     .shape = {l->end - l->start, 4, tracks},
                                     .data = u->scores};

    if (!u->status)
        fail_locus(u, r);
    for (size_t k = 0; !u->status && k < r->n_changes; k++)
        for (int t = 0; t < tracks; t++)
            u->scores[u->scored[r->first_change + k] * tracks + t] = (float)track_score(
                run, r->values, r->changed + (int64_t)k * run->n_values, SAD, t);
    return r->is_last ? put_result(run, u, 0, u->status, u->why, &a, 1) : CLI_EXIT_OK;
}

const struct kind mutagenesis_kind = {"intervals", read_locus, ask_locus, take_locus};

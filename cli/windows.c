/* windows.c - windows of records and intervals, and the mutagenesis of intervals. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

/* ---- records and intervals ---- */

/* A window of which there will be no values. */
static void ask_nothing(const struct unit *u, struct window *w)
{
    w->status = u->of[0].status;
    w->text = u->of[0].message;
    w->last = true;
}

static int ask_record(struct tracker *t, struct unit *u, struct window *w,
                      struct bioinfer_error *err)
{
    (void)t, (void)err;
    ask_nothing(u, w);
    w->sequence = w->status ? NULL : u->sequence;
    return 0;
}

static int ask_interval(struct tracker *t, struct unit *u, struct window *w,
                        struct bioinfer_error *err)
{
    const struct place *p = &u->of[0];
    int st;

    ask_nothing(u, w);
    if (w->status)
        return 0;
    if ((st = read_window(t, p->chrom, (p->start + p->end) / 2, &u->start, err)))
        return st;
    w->sequence = t->reference;
    return 0;
}

/* Contributions as one track of single bases. */
static int put_bases(struct tracker *t, const struct unit *u, const struct bioinfer_result *r,
                     struct bioinfer_error *err)
{
    struct bioinfer_array a = r->arrays[0];

    a.kind = "tracks";
    a.n_dims = 2;
    a.shape[1] = 1;
    return put_result(t, u, 0, 0, "", &a, 1, err);
}

static int take_window(struct tracker *t, struct flight *f, const struct bioinfer_result *r,
                       struct bioinfer_error *err)
{
    const struct unit *u = f->unit;
    const bool bases = t->cli->options->contributions;
    const int64_t size = bases ? 1 : t->info.bin_size, first = bases ? 0 : t->info.first_bin;
    int64_t length = 0;

    if (t->to_coverage && !r->status) {
        bioinfer_genome_length(t->genome, u->of[0].chrom, &length); /* an interval lies on it */
        cli_output_printf(&t->row, "%s\t%lld\t%lld\t%lld", u->of[0].chrom, (long long)length,
                          (long long)(u->start + first * size), (long long)size);
        if (bases)
            return put_bases(t, u, r, err);
    }
    return put_result(t, u, 0, r->status, r->message, r->arrays, r->n_arrays, err);
}

const struct kind records_kind = {"windows", ask_record, take_window, NULL};
const struct kind intervals_kind = {"intervals", ask_interval, take_window, NULL};

/* ---- mutagenesis ---- */

/* Base i % 4 comes to place i / 4, where it is not there. */
static int ask_locus(struct tracker *t, struct unit *u, struct window *w,
                     struct bioinfer_error *err)
{
    static const char letters[] = "ACGT";
    const struct place *p = &u->of[0];
    const int64_t n = 4 * (p->end - p->start);
    int st;

    if ((st = ask_interval(t, u, w, err)) || w->status)
        return st;
    if (!(u->scores = calloc((size_t)n * (size_t)t->info.n_tracks, sizeof *u->scores)) ||
        !(u->scored = calloc((size_t)n, sizeof *u->scored)))
        return no_memory(err, p->name);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = p->start - u->start + i / 4;
        if ((t->reference[at] & ~0x20) == letters[i % 4])
            continue;
        u->scored[w->n_changes] = i;
        if ((st = add_change(t, w, at, 1, letters + i % 4, err)))
            return st;
    }
    return 0;
}

/* Keeps why a locus has no scores: that of its window, or of the first change that has none. */
static void fail_locus(struct unit *u, const struct bioinfer_result *r)
{
    u->status = r->status;
    snprintf(u->why, sizeof u->why, "%s", r->message);
    for (size_t k = 0; !u->status && k < r->changed->n; k++)
        if (r->changed->statuses[k]) {
            u->status = r->changed->statuses[k];
            snprintf(u->why, sizeof u->why, "%s", change_text(u->status));
        }
}

/* scores [bases, 4, tracks]: SAD of each base at each place, 0 where it is the genome's own. */
static int take_locus(struct tracker *t, struct flight *f, const struct bioinfer_result *r,
                      struct bioinfer_error *err)
{
    struct unit *u = f->unit;
    const struct place *p = &u->of[0];
    const int64_t tracks = t->info.n_tracks;
    const struct bioinfer_array a = {
        .kind = "ism", .n_dims = 3, .shape = {p->end - p->start, 4, tracks}, .data = u->scores};

    if (!u->status)
        fail_locus(u, r);
    for (size_t k = 0; !u->status && k < r->changed->n; k++)
        for (int i = 0; i < tracks; i++)
            u->scores[u->scored[r->changed->first + k] * tracks + i] = (float)track_score(
                t, r->arrays[0].data, r->changed->values + (int64_t)k * t->n_values, SAD, i);
    return !r->more ? put_result(t, u, 0, u->status, u->why, &a, 1, err) : 0;
}

const struct kind mutagenesis_kind = {"intervals", ask_locus, take_locus, NULL};

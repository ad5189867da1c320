/* windows.c - windows of records and intervals, and the mutagenesis of intervals. */
#include <stdio.h>
#include <string.h>

#include "variants.h"

/* ---- records and intervals ---- */

/* A window of which there will be no values. */
static void ask_nothing(const struct bi_places_unit *u, struct bi_places_window *w)
{
    w->status = u->of[0].status;
    w->text = u->of[0].message;
    w->last = true;
}

static int ask_record(struct bi_variants_task *t, struct bi_places_unit *u,
                      struct bi_places_window *w, struct bioinfer_error *err)
{
    ask_nothing(u, w);
    w->sequence = w->status ? NULL : u->sequence;
    w->length = u->length;
    return 0;
}

static int ask_interval(struct bi_variants_task *t, struct bi_places_unit *u,
                        struct bi_places_window *w, struct bioinfer_error *err)
{
    const struct bi_spot *p = &u->of[0];
    int st;
    ask_nothing(u, w);
    if (w->status)
        return 0;
    if ((st = bi_read_window(t, p->chrom, (p->start + p->end) / 2, &u->start, err)))
        return st;
    w->sequence = t->reference;
    return 0;
}

/* Says where the arrays of a result lie: a line for each output, or for contributions and gradient.
 * bin: the bases of one, 0 = the output's bins, which begin where the window does. */
static void put_places(struct bi_variants_task *t, const struct bi_places_unit *u, int64_t first,
                       int64_t bin)
{
    const int n = t->params.contributions ? 2 : t->n_outputs;
    const long long length = (long long)bi_genome_length(t->genome, u->of[0].chrom);
    for (int i = 0; i < n; i++) {
        const struct bioinfer_tracks_info *is = &t->of[i < t->n_outputs ? i : 0].is;
        bi_buf_printf(&t->where, "%s%s\t%lld\t%lld\t%lld", i ? "\n" : "", u->of[0].chrom, length,
                      (long long)(bin ? first : first + is->first_bin * is->bin_size),
                      (long long)(bin ? bin : is->bin_size));
    }
}

static int take_window(struct bi_variants_task *t, struct bi_window_flight *f,
                       const struct bioinfer_result *r, struct bioinfer_error *err)
{
    const struct bi_places_unit *u = f->unit;
    if (t->genome && !r->status)
        put_places(t, u, u->start, 0);
    return bi_put_result(t, u, 0, r->status, r->message, r->arrays, r->n_arrays, err);
}

const struct bi_places_kind bi_records_kind = {ask_record, take_window};
const struct bi_places_kind bi_intervals_kind = {ask_interval, take_window};

/* ---- mutagenesis ---- */

/* Is a letter of the genome this base? U is T. */
static bool is_base(char letter, char base)
{
    letter &= (char)~0x20;
    return letter == base || (letter == 'U' && base == 'T');
}

/* Base i % 4 comes to place i / 4, where it is not there. */
static int ask_locus(struct bi_variants_task *t, struct bi_places_unit *u,
                     struct bi_places_window *w, struct bioinfer_error *err)
{
    static const char letters[] = "ACGT";
    const struct bi_spot *p = &u->of[0];
    const int64_t n = 4 * (p->end - p->start);
    int st;
    if ((st = ask_interval(t, u, w, err)) || w->status)
        return st;
    if (!(u->scores = bi_calloc(t->task.env, (size_t)n * (size_t)t->n_tracks, sizeof *u->scores)) ||
        !(u->scored = bi_calloc(t->task.env, (size_t)n, sizeof *u->scored)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", p->name);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = p->start - u->start + i / 4;
        if (is_base(t->reference[at], letters[i % 4]))
            continue;
        u->scored[w->n_changes] = i;
        if ((st = bi_add_change(t, w, at, 1, letters + i % 4, err)))
            return st;
    }
    return 0;
}

/* Keeps why a locus has no scores: that of its window, or of the first change without values. */
static void fail_locus(struct bi_places_unit *u, const struct bioinfer_result *r)
{
    u->status = r->status;
    snprintf(u->why, sizeof u->why, "%s", r->message);
    for (size_t k = 0; !u->status && k < r->changed->n; k++)
        if (r->changed->statuses[k]) {
            u->status = r->changed->statuses[k];
            snprintf(u->why, sizeof u->why, "%s", bi_change_text(u->status));
        }
}

/* Adds the scores of an output of the piece at hand: SAD of each base at each place, 0 where it is
 * the genome's own. scores: [bases, 4, tracks]. */
static void add_scores(const struct bi_variants_task *t, const struct bi_places_unit *u,
                       const struct bioinfer_result *r, int index, float *scores)
{
    const struct bi_variants_output *o = &t->of[index];
    const int tracks = o->is.n_tracks;
    for (size_t k = 0; k < r->changed->n; k++) {
        const float *other = r->changed->values + (int64_t)k * t->n_values + o->is.values_at;
        for (int i = 0; i < tracks; i++)
            scores[u->scored[r->changed->first + k] * tracks + i] = (float)bi_track_score(
                t, o, r->arrays[index].data, other, BI_STAT_SAD, i);
    }
}

static int take_locus(struct bi_variants_task *t, struct bi_window_flight *f,
                      const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct bi_places_unit *u = f->unit;
    const struct bi_spot *p = &u->of[0];
    const int64_t n = p->end - p->start;
    struct bioinfer_array arrays[BI_MOST_OUTPUTS];
    if (!u->status)
        fail_locus(u, r);
    for (int i = 0; i < t->n_outputs; i++) {
        const struct bi_variants_output *o = &t->of[i];
        float *scores = u->scores ? u->scores + 4 * n * o->first : NULL;
        arrays[i] = (struct bioinfer_array){.kind = t->n_outputs > 1 ? o->is.array : "ism",
                                            .n_dims = 3,
                                            .shape = {n, 4, o->is.n_tracks},
                                            .data = scores};
        if (!u->status)
            add_scores(t, u, r, i, scores);
    }
    if (r->more)
        return 0;
    if (!u->status)
        put_places(t, u, p->start, 1);
    return bi_put_result(t, u, 0, u->status, u->why, arrays, t->n_outputs, err);
}

const struct bi_places_kind bi_mutagenesis_kind = {ask_locus, take_locus};

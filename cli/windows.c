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

/* Says where the arrays of a result lie: a line for each output, or for contributions and gradient.
 * bin: the bases of one, 0 = those of the output's bins, which begin where the window does. */
static void put_places(struct tracker *t, const struct unit *u, int64_t first, int64_t bin)
{
    const int n = t->cli->options->contributions && !t->to_coverage ? 2 : t->n_outputs;
    int64_t length = 0;

    bioinfer_genome_length(t->genome, u->of[0].chrom, &length); /* an interval lies on it */
    for (int i = 0; i < n; i++) {
        const struct output_facts *is = &t->of[i < t->n_outputs ? i : 0].is;
        cli_output_printf(&t->row, "%s%s\t%lld\t%lld\t%lld", i ? "\n" : "", u->of[0].chrom,
                          (long long)length,
                          (long long)(bin ? first : first + is->first_bin * is->bin_size),
                          (long long)(bin ? bin : is->bin_size));
    }
}

static int take_window(struct tracker *t, struct flight *f, const struct bioinfer_result *r,
                       struct bioinfer_error *err)
{
    const struct unit *u = f->unit;

    if (t->genome && !r->status)
        put_places(t, u, u->start, 0);
    if (t->to_coverage && t->cli->options->contributions && !r->status)
        return put_bases(t, u, r, err);
    return put_result(t, u, 0, r->status, r->message, r->arrays, r->n_arrays, err);
}

const struct kind records_kind = {"windows", ask_record, take_window, NULL};
const struct kind intervals_kind = {"intervals", ask_interval, take_window, NULL};

/* ---- mutagenesis ---- */

/* Is a letter of the genome this base? U is T. */
static bool is_base(char letter, char base)
{
    letter &= (char)~0x20;
    return letter == base || (letter == 'U' && base == 'T');
}

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
    if (!(u->scores = calloc((size_t)n * (size_t)t->n_tracks, sizeof *u->scores)) ||
        !(u->scored = calloc((size_t)n, sizeof *u->scored)))
        return no_memory(err, p->name);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = p->start - u->start + i / 4;
        if (is_base(t->reference[at], letters[i % 4]))
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

/* Adds the scores of an output of the piece at hand: SAD of each base at each place, 0 where it is
 * the genome's own. scores: [bases, 4, tracks]. */
static void add_scores(const struct tracker *t, const struct unit *u,
                       const struct bioinfer_result *r, int index, float *scores)
{
    const struct output *o = &t->of[index];
    const int tracks = o->is.n_tracks;

    for (size_t k = 0; k < r->changed->n; k++) {
        const float *other = r->changed->values + (int64_t)k * t->n_values + o->is.values_at;
        for (int i = 0; i < tracks; i++)
            scores[u->scored[r->changed->first + k] * tracks + i] = (float)track_score(
                t, o, r->arrays[index].data, other, SAD, i);
    }
}

static int take_locus(struct tracker *t, struct flight *f, const struct bioinfer_result *r,
                      struct bioinfer_error *err)
{
    struct unit *u = f->unit;
    const struct place *p = &u->of[0];
    const int64_t n = p->end - p->start;
    struct bioinfer_array arrays[MAX_OUTPUTS];

    if (!u->status)
        fail_locus(u, r);
    for (int i = 0; i < t->n_outputs; i++) {
        const struct output_facts *is = &t->of[i].is;
        float *scores = u->scores ? u->scores + 4 * n * is->first : NULL;
        arrays[i] = (struct bioinfer_array){.kind = t->n_outputs > 1 ? is->array : "ism",
                                            .n_dims = 3,
                                            .shape = {n, 4, is->n_tracks},
                                            .data = scores};
        if (!u->status)
            add_scores(t, u, r, i, scores);
    }
    if (r->more)
        return 0;
    if (!u->status)
        put_places(t, u, p->start, 1);
    return put_result(t, u, 0, u->status, u->why, arrays, t->n_outputs, err);
}

const struct kind mutagenesis_kind = {"intervals", ask_locus, take_locus, NULL};

/* report.c - results of jobs: scores, headers, sequences, log-probabilities.
 * Source of the formats: dauparas/ProteinMPNN:protein_mpnn_run.py */
#include "../design.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/number.h"

/* ---- results ---- */

/* x with four decimals, whatever the locale: exact, for x of float32 times 10,000 fits a
 * double; halves to even, as the reference prints. */
static void put_decimals(struct bi_buf *out, float x)
{
    double v = rint((double)x * 10000);
    if (!(fabs(v) < 1e15)) {
        bi_buf_puts(out, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        return;
    }
    bi_buf_printf(out, "%s%lld.%04lld", signbit(x) && v != 0 ? "-" : "", (long long)fabs(v) / 10000,
                  (long long)fabs(v) % 10000);
}

/* As Python writes a float: 0.1, 1.0, 1e-06. */
static void put_float(struct bi_buf *out, double x)
{
    char text[BI_NUMBER_SIZE];
    int power = 0;
    if (x < 1e-4) {
        while (x < 1) {
            x *= 10;
            power++;
        }
        x = rint(x * 1e12) / 1e12;
        bi_print_f64(text, x);
        bi_buf_printf(out, "%se-%02d", text, power);
        return;
    }
    bi_print_f64(text, x);
    bi_buf_printf(out, "%s%s", text, strchr(text, '.') ? "" : ".0");
}

static void log_softmax(float *y, const float *logits)
{
    double largest = (double)logits[0], sum = 0;
    for (int c = 1; c < BI_SYMBOLS; c++)
        largest = (double)logits[c] > largest ? (double)logits[c] : largest;
    for (int c = 0; c < BI_SYMBOLS; c++)
        sum += exp((double)logits[c] - largest);
    for (int c = 0; c < BI_SYMBOLS; c++)
        y[c] = (float)((double)logits[c] - largest - log(sum));
}

/* Fills in the distributions that a job's tokens were drawn from, zero where nothing was. */
static void fill_probs(const struct bi_design_run *d, const struct bi_job *j, float *probs)
{
    const struct bi_entry *e = j->entry;
    const float *logits = j->drawn_from ? j->drawn_from : j->logits;
    double terms[BI_TERMS], q[BI_SYMBOLS], largest, sum;
    memset(probs, 0, (size_t)e->n * BI_SYMBOLS * sizeof *probs);
    for (int64_t t = 0; t < e->n; t++) {
        const struct bi_step *s = &j->plan[t];
        bool all = e->n_ties != 0; /* the reference keeps those of fixed positions too */
        if (!s->group || s->runs != 1 || (s->code >= 0 && !all))
            continue;
        bi_entry_terms(e, &d->params, &d->side, bi_entry_has_terms(e) ? s->terms : 0,
                       j->temperature, terms);
        for (int c = 0; c < BI_SYMBOLS; c++) {
            float z = 0;
            for (int64_t i = t - s->group + 1; i <= t; i++)
                z += j->weight[i] *
                     (logits[(int64_t)j->plan[i].position * BI_SYMBOLS + c] /
                      (float)j->temperature) /
                     (float)s->group;
            q[c] = (double)z + terms[c];
        }
        largest = q[0];
        sum = 0;
        for (int c = 1; c < BI_SYMBOLS; c++)
            largest = q[c] > largest ? q[c] : largest;
        for (int c = 0; c < BI_SYMBOLS; c++)
            sum += q[c] = exp(q[c] - largest);
        for (int c = 0; c < BI_SYMBOLS; c++)
            q[c] = (terms[3 * BI_SYMBOLS] * q[c] / sum + terms[BI_SYMBOLS + c]) *
                   terms[2 * BI_SYMBOLS + c];
        sum = 0;
        for (int c = 0; c < BI_SYMBOLS; c++)
            sum += q[c];
        for (int64_t i = t - s->group + 1; i <= t; i++)
            for (int c = 0; c < BI_SYMBOLS; c++)
                probs[(int64_t)j->plan[i].position * BI_SYMBOLS + c] =
                    (float)(bi_entry_has_terms(e) && (d->params.pssm_log_odds || e->omit)
                                ? q[c] / sum
                                : q[c]);
    }
}

/* Mean of -log p over tokens of weight w. */
static float score_of(const struct bi_entry *e, const float *log_probs, const int32_t *codes,
                      const float *w)
{
    double sum = 0, total = 0;
    for (int64_t i = 0; i < e->n; i++) {
        sum -= (double)(log_probs[i * BI_SYMBOLS + codes[i]] * w[i]);
        total += (double)w[i];
    }
    return (float)(sum / total);
}

static void put_chains(struct bi_buf *out, const struct bi_entry *e, bool designed)
{
    const char *sep = "";
    bi_buf_putc(out, '[');
    for (size_t s = 0; s < e->n_segments; s++)
        if (e->segments[s].designed == designed) {
            bi_buf_printf(out, "%s'%s'", sep, e->segments[s].id);
            sep = ", ";
        }
    bi_buf_putc(out, ']');
}

static void put_sequence(struct bi_report *r, const struct bi_entry *e, const int32_t *codes)
{
    r->sequence.size = r->order.size = 0;
    for (size_t s = 0; s < e->n_segments; s++) {
        const struct bi_segment *g = &e->segments[s];
        bi_buf_printf(&r->order, "%s%s", s ? " " : "", g->id);
        if (!g->designed && !r->run->params.all_chains)
            continue;
        if (s)
            bi_buf_putc(&r->sequence, '/');
        for (int64_t i = 0; i < g->n; i++)
            bi_buf_puts(&r->sequence, r->run->model->tokens[codes[g->begin + i]]);
    }
}

/* As the reference's; scores, of which it writes no FASTA, also say of what they are. */
static void put_native_header(struct bi_report *r, const struct bi_job *j, float score,
                              float global_score)
{
    const struct bi_design_facts *f = r->run->model->design;
    const struct bi_entry *e = j->entry;
    bi_buf_puts(&r->header, e->name);
    if (j->kind == BI_JOB_SCORE)
        bi_buf_printf(&r->header, ", sequence=%s, sample=%d", j->sequence ? j->sequence : "native",
                      j->number);
    bi_buf_puts(&r->header, ", score=");
    put_decimals(&r->header, score);
    bi_buf_puts(&r->header, ", global_score=");
    put_decimals(&r->header, global_score);
    bi_buf_puts(&r->header, ", fixed_chains=");
    put_chains(&r->header, e, false);
    bi_buf_puts(&r->header, ", designed_chains=");
    put_chains(&r->header, e, true);
    bi_buf_printf(&r->header, ", %s=%s, git_hash=unknown, seed=%" PRIu64,
                  f->ca_only ? "CA_model_name" : "model_name", f->variant, r->run->params.seed);
}

/* Hands out a sequence: its design, log p and, where `probs`, what it was drawn from. */
static int hand_out(struct bi_report *r, const struct bi_design_round *round,
                    struct bioinfer_design *v, bool probs, bool more, struct bioinfer_error *err)
{
    const struct bi_entry *e = round->entry;
    const struct bioinfer_array arrays[] = {
        {.kind = "log-probs", .n_dims = 2, .shape = {e->n, BI_SYMBOLS}, .data = r->log_probs},
        {.kind = "probs", .n_dims = 2, .shape = {e->n, BI_SYMBOLS}, .data = r->probs}};
    const struct bioinfer_result result = {.ordinal = e->ordinal,
                                           .id = e->name,
                                           .length = e->n,
                                           .message = "",
                                           .n_arrays = probs ? 2 : 1,
                                           .arrays = arrays,
                                           .n_layers_kept = 1,
                                           .n_kinds = probs ? 2 : 1,
                                           .piece = (*round->n_pieces)++,
                                           .more = more,
                                           .sequence = bi_buf_text(&r->sequence),
                                           .design = v};
    v->header = bi_buf_text(&r->header);
    v->chain_order = bi_buf_text(&r->order);
    v->mask = e->mask;
    v->design_mask = r->mask;
    if (!v->header || !result.sequence || !v->chain_order)
        return bi_fail(err, BIOINFER_NOMEM, "%s: result", e->name);
    return round->sink(round->user, &result, err);
}

/* Hands out the end of a structure without a sequence: why there is none, or nothing. */
static int hand_out_end(struct bi_report *r, const struct bi_design_round *round,
                        struct bioinfer_error *err)
{
    const struct bi_entry *e = round->entry;
    const struct bioinfer_result result = {.ordinal = e->ordinal,
                                           .id = e->name,
                                           .length = e->n,
                                           .status = e->status,
                                           .message = e->status ? e->message : "",
                                           .n_layers_kept = 1,
                                           .n_kinds = 1,
                                           .piece = (*round->n_pieces)++};
    return round->sink(round->user, &result, err);
}

/* One job, or `copies` native ones of which the mean is told. */
static int report_job(struct bi_report *r, const struct bi_design_round *round,
                      const struct bi_job *j, int copies, bool more, struct bioinfer_error *err)
{
    struct bi_entry *e = j->entry;
    struct bioinfer_design v = {.is_native = j->kind != BI_JOB_SAMPLE && !j->sequence,
                                .sequence_id = j->sequence,
                                .sample = j->number,
                                .temperature = j->temperature,
                                .codes = j->codes};
    double score = 0, global_score = 0, same = 0, open = 0;
    for (int64_t i = 0; i < e->n; i++) {
        r->mask[i] = bi_is_open(e, i);
        same += r->mask[i] != 0 && j->codes[i] == e->codes[i];
        open += (double)r->mask[i];
    }
    for (int c = copies - 1; c >= 0; c--) {
        for (int64_t i = 0; i < e->n; i++)
            log_softmax(r->log_probs + i * BI_SYMBOLS, j[c].logits + i * BI_SYMBOLS);
        score += (double)score_of(e, r->log_probs, j[c].codes, r->mask) / copies;
        global_score += (double)score_of(e, r->log_probs, j[c].codes, e->mask) / copies;
    }
    v.score = (float)score;
    v.global_score = (float)global_score;
    v.recovery = (float)(same / open);
    put_sequence(r, e, j->codes);
    r->header.size = 0;
    if (j->kind == BI_JOB_SAMPLE) {
        fill_probs(r->run, j, r->probs);
        bi_buf_puts(&r->header, "T=");
        put_float(&r->header, j->temperature);
        bi_buf_printf(&r->header, ", sample=%d, score=", j->number);
        put_decimals(&r->header, v.score);
        bi_buf_puts(&r->header, ", global_score=");
        put_decimals(&r->header, v.global_score);
        bi_buf_puts(&r->header, ", seq_recovery=");
        put_decimals(&r->header, v.recovery);
    } else {
        put_native_header(r, j, v.score, v.global_score);
    }
    return hand_out(r, round, &v, j->kind == BI_JOB_SAMPLE, more, err);
}

/* The positions of one draw of orders, each from its own job. */
static int report_conditions(struct bi_report *r, const struct bi_design_round *round,
                             const struct bi_job *j, size_t n, bool more,
                             struct bioinfer_error *err)
{
    struct bi_entry *e = j->entry;
    struct bioinfer_design v = {.is_native = 1, .sample = j->number, .codes = e->codes};
    memset(r->log_probs, 0, (size_t)e->n * BI_SYMBOLS * sizeof *r->log_probs);
    for (int64_t i = 0; i < e->n; i++)
        r->mask[i] = bi_is_open(e, i);
    for (size_t i = 0; i < n; i++)
        log_softmax(r->log_probs + (int64_t)j[i].position * BI_SYMBOLS, j[i].logits);
    v.score = score_of(e, r->log_probs, e->codes, r->mask);
    v.global_score = v.score;
    v.recovery = 1;
    put_sequence(r, e, e->codes);
    r->header.size = 0;
    put_native_header(r, j, v.score, v.global_score);
    return hand_out(r, round, &v, false, more, err);
}

static bool finite_job(const struct bi_job *j)
{
    int64_t n = (j->kind == BI_JOB_CONDITION ? 1 : j->entry->n) * BI_SYMBOLS;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(j->logits[i]))
            return false;
    return true;
}

/* Makes room for what a result points to. */
static int make_room(struct bi_report *r, const struct bi_entry *e, struct bioinfer_error *err)
{
    const struct bi_env *env = r->run->env;
    const size_t rows = (size_t)e->n * BI_SYMBOLS;
    return bi_grow(env, &r->log_probs, &r->cap_log_probs, rows, sizeof *r->log_probs) &&
                   bi_grow(env, &r->probs, &r->cap_probs, rows, sizeof *r->probs) &&
                   bi_grow(env, &r->mask, &r->cap_mask, (size_t)e->n, sizeof *r->mask)
               ? 0
               : bi_fail(err, BIOINFER_NOMEM, "%s: results", e->name);
}

/* All results of a round, or the one that says why there are none. */
int bi_design_report(struct bi_report *r, const struct bi_design_round *round,
                     struct bioinfer_error *err)
{
    struct bi_entry *e = round->entry;
    const struct bi_job *jobs = round->jobs->of;
    const size_t n = round->jobs->n;
    int st = 0;
    for (size_t i = 0; round->runs && !e->status && i < n; i++)
        if (!finite_job(&jobs[i])) {
            e->status = BIOINFER_NONFINITE;
            snprintf(e->message, sizeof e->message, "%s: a logit is not finite", e->name);
        }
    if (e->status || !n)
        return e->status || round->last ? hand_out_end(r, round, err) : 0;
    if ((st = make_room(r, e, err)))
        return st;
    for (size_t i = 0, end; !st && i < n; i = end) {
        const bool each = jobs[i].kind == BI_JOB_CONDITION;
        const int copies = jobs[i].kind == BI_JOB_NATIVE ? r->run->copies : 1;
        for (end = i + 1; each && end < n && jobs[end].number == jobs[i].number;)
            end++;
        end = each ? end : i + (size_t)copies;
        st = each ? report_conditions(r, round, jobs + i, end - i, end < n || !round->last, err)
                  : report_job(r, round, jobs + i, copies, end < n || !round->last, err);
    }
    return st;
}

void bi_design_report_reset(struct bi_report *r, const struct bi_design_run *run)
{
    bi_free(run->env, r->log_probs);
    bi_free(run->env, r->probs);
    bi_free(run->env, r->mask);
    bi_buf_free(&r->header);
    bi_buf_free(&r->sequence);
    bi_buf_free(&r->order);
    *r = (struct bi_report){.run = run};
    r->header.env = r->sequence.env = r->order.env = run->env;
}

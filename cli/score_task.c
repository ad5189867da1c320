/* score_task.c - the task of scores: log p of a record becomes the text of its rows.
 *
 * log p of a record is a table [length, vocab_size], row = position from 0. */
#include "score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char standard[] = "ACDEFGHIKLMNPQRSTVWY";

const struct bioinfer_score_params *cli_score_params(const struct cli_options *o)
{
    return bioinfer_params_struct(o->params);
}

bool cli_score_is_pppl(const struct cli_options *o)
{
    const char *method = cli_given(o, "method");
    return method && !strcmp(method, "pppl");
}

bool cli_score_wants_windows(const struct cli *cli, const struct bioinfer_result *r)
{
    const struct bioinfer_score_params *p = cli_score_params(cli->options);
    return r->status == BIOINFER_TOO_LONG && !p->window && cli->info.longest > 0 &&
           r->length > cli->info.longest && r->length <= BIOINFER_MAX_RESIDUES &&
           (!p->max_length || r->length <= p->max_length);
}

static int no_memory(const char *id, struct bioinfer_error *err)
{
    return cli_status_no_memory(err, "%.100s: out of memory for its scores", id);
}

int cli_score_give(struct cli_scorer *s, const struct bioinfer_result *scores, int status,
                   const char *why, struct bioinfer_error *err)
{
    char counts[96];
    struct bioinfer_text texts[] = {{"text", s->work.text.text, s->work.text.n_text},
                                    {CLI_COUNTS, counts, 0}};
    struct bioinfer_result r = {.ordinal = scores->ordinal,
                                .id = scores->id,
                                .length = scores->length,
                                .message = "",
                                .texts = texts};
    int st = s->work.text.status;
    texts[1].length = (size_t)snprintf(
        counts, sizeof counts, "%llu %llu %llu", (unsigned long long)s->n_values,
        (unsigned long long)s->n_failed, (unsigned long long)s->n_rows);
    s->work.text.n_text = 0;
    if (st)
        return no_memory(r.id, err);
    if (status && texts[0].length) {
        r.n_texts = 1;
        r.more = 1;
        if ((st = s->work.sink(s->work.sink_user, &r, err)))
            return st;
        r.piece = 1;
        r.more = 0;
        texts[0].length = 0;
    }
    r.status = status;
    r.message = status && why ? why : "";
    r.n_texts = 2 - !texts[0].length;
    r.texts = texts + !texts[0].length;
    return s->work.sink(s->work.sink_user, &r, err);
}

/* ---- rows of a record ---- */

static void write_scan(struct cli_scorer *s, const struct bioinfer_result *r)
{
    size_t vocab = (size_t)s->work.cli->info.vocab_size;
    for (size_t i = 0; i < (size_t)r->length; i++) {
        unsigned char wild = (unsigned char)r->sequence[i];
        const float *row = r->arrays[0].data + i * vocab;
        for (const char *m = standard; *m; m++) {
            int wt = s->token[wild], mt = s->token[(unsigned char)*m];
            cli_output_field(&s->work.text, r->id);
            cli_output_printf(&s->work.text, "\t%lld\t%c\t%c\t", (long long)i + s->offset, wild,
                              *m);
            if (wt >= 0 && mt >= 0 && isfinite(row[mt] - row[wt]))
                cli_output_printf(&s->work.text, "%.6f", (double)row[mt] - (double)row[wt]);
            cli_output_write(&s->work.text, "\n", 1);
        }
    }
    s->n_values = (uint64_t)r->length * (sizeof standard - 1);
}

/* BIOINFER_NONFINITE when there is no score. */
static int write_pppl(struct cli_scorer *s, const struct bioinfer_result *r)
{
    const double pll = cli_log_likelihood(s->work.cli, s->token, r);
    if (!isfinite(pll))
        return BIOINFER_NONFINITE;
    cli_output_field(&s->work.text, r->id);
    cli_output_printf(&s->work.text, "\t%llu\t%.6f\t%.6f\n", (unsigned long long)r->length, pll,
                      exp(-pll / (double)r->length));
    s->n_values = 1;
    return BIOINFER_OK;
}

/* A bioinfer_sink: makes a table of scores text. */
static int take_scores(void *user, const struct bioinfer_result *scores, struct bioinfer_error *err)
{
    struct cli_scorer *s = user;
    int st = scores->status;
    if (s->work.cli->options->mutations)
        return cli_score_table_give(s, scores, err);
    s->n_values = 0;
    if (!st && s->pppl)
        st = write_pppl(s, scores);
    else if (!st)
        write_scan(s, scores);
    return cli_score_give(s, scores, st, scores->message, err);
}

/* A bioinfer_source: a record, or the wild type, of which the positions of the table are to be
 * computed. */
static int next_to_score(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_scorer *s = user;
    int st = s->work.source(s->work.source_user, record, err);
    if (st != 1 || !s->work.cli->options->mutations)
        return st;
    if (cli_score_table_positions(s, record->length))
        return no_memory(record->id, err);
    record->positions = s->positions.at;
    record->n_positions = s->positions.n;
    s->work.cli->progress.expected = record->n_positions;
    return 1;
}

/* ---- the task ---- */

static int begin(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct cli_scorer *s = cli->task;
    s->pppl = cli_score_is_pppl(o);
    s->offset = o->has_offset ? o->offset : 1;
    return o->mutations ? cli_score_table_read(s) : CLI_EXIT_OK;
}

static int opened(struct cli *cli)
{
    cli_residue_tokens(cli, ((struct cli_scorer *)cli->task)->token);
    return CLI_EXIT_OK;
}

static void end(void *state)
{
    struct cli_scorer *s = state;
    cli_positions_free(&s->positions);
    bi_csv_free(&s->csv);
    free(s->scores);
}

/* A masked method computes the record once for each of its residues. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    struct cli_weight w = cli_weigh_sequence(cli, record);
    if (cli_score_params(cli->options)->method != BIOINFER_WT_MARGINALS)
        w.work *= w.work;
    return w;
}

const struct cli_task cli_score_task = {.name = "score",
                                        .size = sizeof(struct cli_scorer),
                                        .begin = begin,
                                        .opened = opened,
                                        .next = next_to_score,
                                        .take = take_scores,
                                        .end = end,
                                        .weigh = weigh};

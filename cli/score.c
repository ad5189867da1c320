/* score.c - `bioinfer score MODEL INPUT`: zero-shot scores of a masked language model.
 *
 *   --mutations FILE   one wild type; the table comes back with one more column
 *   (none)             every record, every position, the 20 standard residues
 *   --method pppl      every record: log-likelihood and perplexity
 *
 * log p of a record is a table [length, vocab_size], row = position from 0. */
#include "pool/worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../loaders/csv.h"

static const char standard[] = "ACDEFGHIKLMNPQRSTVWY";

/* The task: a record becomes the text of its rows. */
struct scorer {
    struct cli *cli;
    bool pppl; /* --method pppl */
    int64_t offset;
    int token[256];                      /* gives the id of a residue letter, -1 = none */
    struct bi_csv csv;                   /* the table of --mutations, ... */
    int column;                          /* ... where its mutants are, ... */
    double *scores;                      /* ... and [n_rows] what they have, NaN = none */
    struct cli_output text;              /* gathers the rows of one record */
    uint64_t n_values, n_failed, n_rows; /* counts of the record at hand */
    struct cli_positions positions;      /* the table touches these, where there is one */
    /* Where the run at hand reads and writes. */
    bioinfer_source source;
    bioinfer_sink sink;
    void *source_user, *sink_user;
};

/* The command: where records come from and their rows go. */
struct score {
    struct cli *cli;
    struct cli_pool *pool; /* NULL: this process computes */
    bioinfer_job *job;     /* NULL: text goes to `out` */
    struct cli_output out;
    const struct bioinfer_record *wild_type; /* NULL: all records of the input are scored */
    bool given;                              /* the wild type has been read */
    enum cli_stage stage;                    /* where the failure was that stopped the run */
    struct bioinfer_job_stats stats;
    uint64_t n_records, n_failed, n_values;
    uint64_t n_long,
        n_too_long; /* records beyond the window, or the model's longest; without a result */
};

static int method_of(const char *name)
{
    return name && !strcmp(name, "wt-marginals") ? BIOINFER_WT_MARGINALS
                                                 : BIOINFER_MASKED_MARGINALS;
}

static bool is_pppl(const struct cli_options *o)
{
    return o->method && !strcmp(o->method, "pppl");
}

static int no_memory(const char *id, struct bioinfer_error *err)
{
    err->status = BIOINFER_NOMEM;
    snprintf(err->text, sizeof err->text, "%.100s: out of memory for its scores", id);
    return BIOINFER_NOMEM;
}

/* Hands the rows of a record, or the reason why there are none, to the sink. Where a table has rows
 * of both kinds, the reason is a piece of its own. */
static int give(struct scorer *s, const struct bioinfer_result *scores, int status, const char *why,
                struct bioinfer_error *err)
{
    char counts[96];
    struct bioinfer_text texts[] = {{"text", s->text.text, s->text.n_text},
                                    {CLI_COUNTS, counts, 0}};
    struct bioinfer_result r = {.ordinal = scores->ordinal,
                                .id = scores->id,
                                .length = scores->length,
                                .message = "",
                                .texts = texts};
    int st = s->text.status;

    texts[1].length = (size_t)snprintf(
        counts, sizeof counts, "%llu %llu %llu", (unsigned long long)s->n_values,
        (unsigned long long)s->n_failed, (unsigned long long)s->n_rows);
    s->text.n_text = 0;
    if (st)
        return no_memory(r.id, err);
    if (status && texts[0].length) {
        r.n_texts = 1;
        r.more = 1;
        if ((st = s->sink(s->sink_user, &r, err)))
            return st;
        r.piece = 1;
        r.more = 0;
        texts[0].length = 0;
    }
    r.status = status;
    r.message = status && why ? why : "";
    r.n_texts = 2 - !texts[0].length;
    r.texts = texts + !texts[0].length;
    return s->sink(s->sink_user, &r, err);
}

/* ---- without --mutations ---- */

static void write_scan(struct scorer *s, const struct bioinfer_result *r)
{
    size_t vocab = (size_t)s->cli->info.vocab_size;

    for (size_t i = 0; i < (size_t)r->length; i++) {
        unsigned char wild = (unsigned char)r->sequence[i];
        const float *row = r->arrays[0].data + i * vocab;
        for (const char *m = standard; *m; m++) {
            int wt = s->token[wild], mt = s->token[(unsigned char)*m];
            cli_output_field(&s->text, r->id);
            cli_output_printf(&s->text, "\t%lld\t%c\t%c\t", (long long)i + s->offset, wild, *m);
            if (wt >= 0 && mt >= 0 && isfinite(row[mt] - row[wt]))
                cli_output_printf(&s->text, "%.6f", (double)row[mt] - (double)row[wt]);
            cli_output_write(&s->text, "\n", 1);
        }
    }
    s->n_values = (uint64_t)r->length * (sizeof standard - 1);
}

/* BIOINFER_NONFINITE when there is no score. */
static int write_pppl(struct scorer *s, const struct bioinfer_result *r)
{
    const double pll = cli_log_likelihood(s->cli, s->token, r);

    if (!isfinite(pll))
        return BIOINFER_NONFINITE;
    cli_output_field(&s->text, r->id);
    cli_output_printf(&s->text, "\t%llu\t%.6f\t%.6f\n", (unsigned long long)r->length, pll,
                      exp(-pll / (double)r->length));
    s->n_values = 1;
    return BIOINFER_OK;
}

/* A bioinfer_sink: makes a table of scores text. */
static int take_scores(void *user, const struct bioinfer_result *scores, struct bioinfer_error *err)
{
    struct scorer *s = user;
    int st = scores->status;

    s->n_values = 0;
    if (!st && s->pppl)
        st = write_pppl(s, scores);
    else if (!st)
        write_scan(s, scores);
    return give(s, scores, st, scores->message, err);
}

/* ---- with --mutations ---- */

/* Finds the positions that the table touches: one masked pass for each. */
static int collect_positions(struct scorer *s, size_t length)
{
    const char *mutant;
    int st = 0;

    s->positions.n = 0;
    for (size_t i = 0; i < s->csv.n_rows && !st; i++)
        if ((mutant = bi_csv_cell(&s->csv, &s->csv.rows[i], s->column)))
            st = cli_positions_add(&s->positions, mutant, s->offset);
    return st ? st : cli_positions_sort(&s->positions, length);
}

/* Do the wild-type letters of a mutation stand at its positions? */
static bool fits(const char *mutation, int64_t offset, const struct bioinfer_result *scores)
{
    int64_t position;
    char part[64];

    while (mutation) {
        size_t n = strcspn(mutation, ":");
        if (!n || n >= sizeof part)
            return false;
        memcpy(part, mutation, n);
        part[n] = 0;
        if (bioinfer_mutation_positions(part, offset, &position, 1, NULL) != 1 || position < 0 ||
            position >= scores->length || scores->sequence[position] != part[0])
            return false;
        mutation = mutation[n] ? mutation + n + 1 : NULL;
    }
    return true;
}

/* Tables that count from 0 are common enough to say so. */
static void suggest_offset(struct scorer *s, const struct bioinfer_result *scores)
{
    size_t n_fit = 0, n_fit_other = 0, n_values = 0;
    int64_t other = s->offset ? 0 : 1;
    const char *mutant;

    for (size_t i = 0; i < s->csv.n_rows; i++)
        if ((mutant = bi_csv_cell(&s->csv, &s->csv.rows[i], s->column))) {
            n_values++;
            n_fit += fits(mutant, s->offset, scores);
            n_fit_other += fits(mutant, other, scores);
        }
    if (n_fit_other > n_fit)
        cli_say(s->cli, "with --offset %d, %zu of %zu mutants would match the sequence (now %zu)",
                (int)other, n_fit_other, n_values, n_fit);
}

/* Gives the status of the first row without a score. With --strict the rows behind it are not
 * scored. */
static int score_rows(struct scorer *s, const struct bioinfer_result *scores)
{
    const char *path = s->cli->options->mutations;
    struct bioinfer_error err;
    int status = 0;

    for (size_t i = 0; i < s->csv.n_rows; i++) {
        const struct bi_csv_row *row = &s->csv.rows[i];
        double score = NAN;
        int st;
        s->scores[i] = NAN;
        if (!row->n_fields || (status && s->cli->options->strict))
            continue;
        s->n_rows++;
        err.text[0] = '\0';
        if (!(st = bi_csv_check(&s->csv, row, &err)) &&
            (st = bioinfer_score_mutation(s->cli->model, scores,
                                          bi_csv_cell(&s->csv, row, s->column), s->offset, &score,
                                          &err)))
            bi_csv_fail(&s->csv, row, &err, "%s", err.text);
        if (!st && isfinite(score)) {
            s->scores[i] = score;
            s->n_values++;
            continue;
        }
        s->n_failed++;
        if (!status)
            status = st ? st : BIOINFER_NONFINITE;
        if (st)
            cli_say_lost(s->cli, "%s", err.text);
        else
            cli_say_lost(s->cli, "%s: line %llu: score is not finite", path,
                         (unsigned long long)row->line);
    }
    return status;
}

static void write_rows(struct scorer *s)
{
    const struct bi_csv *csv = &s->csv;
    const char sep = csv->separator;
    const char *end = *csv->header.end ? csv->header.end : "\n";

    /* lines before the header stay, too */
    cli_output_write(&s->text, csv->text, (size_t)(csv->header.text - csv->text));
    cli_output_write(&s->text, csv->header.text, csv->header.len);
    cli_output_write(&s->text, &sep, 1);
    cli_csv_cell(&s->text, sep, s->cli->info.name);
    cli_output_write(&s->text, end, strlen(end));
    for (size_t i = 0; i < csv->n_rows; i++) {
        const struct bi_csv_row *row = &csv->rows[i];
        cli_output_write(&s->text, row->text, row->len);
        if (row->n_fields)
            cli_output_write(&s->text, &sep, 1);
        if (isfinite(s->scores[i]))
            cli_output_printf(&s->text, "%.6f", s->scores[i]);
        end = *row->end ? row->end : "\n";
        cli_output_write(&s->text, end, strlen(end));
    }
}

/* A bioinfer_source: the wild type, of which the positions of the table are to be computed. */
static int next_wild_type(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct scorer *s = user;
    int st = s->source(s->source_user, record, err);

    if (st != 1)
        return st;
    if (collect_positions(s, record->length))
        return no_memory(record->id, err);
    record->positions = s->positions.at;
    record->n_positions = s->positions.n;
    s->cli->progress.expected = record->n_positions;
    return 1;
}

/* Returns true if a record has no result for its length, and windows would give it one. */
static bool wants_windows(const struct cli *cli, const struct bioinfer_result *r)
{
    const struct cli_options *o = cli->options;

    return r->status == BIOINFER_TOO_LONG && !o->window && cli->info.longest > 0 &&
           r->length > cli->info.longest && r->length <= BIOINFER_MAX_RESIDUES &&
           (!o->max_length || r->length <= o->max_length);
}

/* A bioinfer_sink: makes the rows of the table. */
static int take_wild_type(void *user, const struct bioinfer_result *scores,
                          struct bioinfer_error *err)
{
    struct scorer *s = user;
    char why[96];
    int status;

    if (scores->status) { /* nothing of the table can be scored */
        err->status = scores->status;
        snprintf(err->text, sizeof err->text, "%s", scores->message);
        if (wants_windows(s->cli, scores))
            snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text),
                     ": --window %lld scores it in windows", (long long)s->cli->info.longest);
        return scores->status;
    }
    s->n_values = s->n_failed = s->n_rows = 0;
    status = score_rows(s, scores);
    if (!status || !s->cli->options->strict)
        write_rows(s);
    if (s->n_failed)
        suggest_offset(s, scores);
    snprintf(why, sizeof why, "%llu of %llu mutants have no score", (unsigned long long)s->n_failed,
             (unsigned long long)s->n_rows);
    return give(s, scores, status, why, err);
}

/* ---- the task ---- */

static int read_table(struct scorer *s)
{
    const struct cli_options *o = s->cli->options;
    const char *const names[] = {o->mutation_col ? o->mutation_col : "mutant"};
    int code = cli_table_read(s->cli, &s->csv, o->mutations);

    if (!code)
        code = cli_table_columns(s->cli, &s->csv, names, 1, 1, &s->column);
    if (!code && !cli_suffix_fits(o, s->csv.separator == '\t' ? "tsv" : "csv"))
        code = CLI_EXIT_USAGE;
    if (!code && !(s->scores = malloc(s->csv.n_rows * sizeof *s->scores)))
        code = cli_no_memory(s->cli, "scores of the table");
    return code;
}

static int begin(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct scorer *s = calloc(1, sizeof *s);

    if (!(cli->task = s))
        return cli_fail(cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    s->cli = cli;
    s->pppl = is_pppl(o);
    s->offset = o->has_offset ? o->offset : 1;
    return o->mutations ? read_table(s) : CLI_EXIT_OK;
}

static int open_task(struct cli *cli, cli_tick tick)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_score_params params = BIOINFER_PARAMS(
        struct bioinfer_score_params, .method = method_of(o->method), .window = o->window,
        .tokens_at_once = o->batch_tokens, .max_length = o->max_length,
        .raw_residues = o->raw_residues, .no_rules = o->no_rules[0] ? o->no_rules : NULL,
        .progress = tick, .progress_user = cli);
    struct bioinfer_error err = {0};
    int st = bioinfer_score_open(&cli->sequences, cli->model, &params, &err);

    if (st)
        return cli_fail(cli, CLI_AT_CONFIG, st, &err);
    if (o->profile)
        bioinfer_task_set_profile(cli->sequences, 1);
    cli_residue_tokens(cli, ((struct scorer *)cli->task)->token);
    return CLI_EXIT_OK;
}

static int run_task(struct cli *cli, bioinfer_source source, void *source_user, bioinfer_sink sink,
                    void *sink_user, struct bioinfer_error *err)
{
    struct scorer *s = cli->task;

    s->source = source;
    s->source_user = source_user;
    s->sink = sink;
    s->sink_user = sink_user;
    if (cli->options->mutations)
        return bioinfer_task_run(cli->sequences, next_wild_type, s, take_wild_type, s, err);
    return bioinfer_task_run(cli->sequences, source, source_user, take_scores, s, err);
}

static void end(struct cli *cli)
{
    struct scorer *s = cli->task;

    bioinfer_task_close(&cli->sequences);
    if (!s)
        return;
    cli_positions_free(&s->positions);
    bi_csv_free(&s->csv);
    free(s->scores);
    cli_output_close(&s->text);
    free(s);
    cli->task = NULL;
}

/* A masked method computes the record once for each of its residues. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    struct cli_weight w = cli_weigh_sequence(cli, record);

    if (method_of(cli->options->method) != BIOINFER_WT_MARGINALS)
        w.work *= w.work;
    return w;
}

const struct cli_task cli_score_task = {.begin = begin,
                                        .open = open_task,
                                        .run = run_task,
                                        .profile = cli_print_profile,
                                        .end = end,
                                        .weigh = weigh};

/* ---- records in and rows out ---- */

/* The wild type as the caller's own: the reader's copy ends with its next record. */
static int read_wild_type(struct score *s, struct bioinfer_record *record, char **text)
{
    struct cli *cli = s->cli;
    struct bioinfer_error err = {0};
    struct bioinfer_record more = {0};
    size_t id_size;
    int st = cli_next_protein(cli, record, &err);

    if (st < 0)
        return cli_fail(cli, CLI_AT_READ, st, &err);
    if (!st) {
        cli_say(cli, "%s: no records", cli->input_name);
        return CLI_EXIT_DATA;
    }
    if (record->status || !record->length) {
        cli_say(cli, "%s: %s", record->id,
                record->status ? record->message : "the wild type is empty");
        return CLI_EXIT_DATA;
    }
    id_size = strlen(record->id) + 1;
    if (!(*text = malloc(id_size + record->length + 1)))
        return cli_fail(cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    memcpy(*text, record->id, id_size);
    memcpy(*text + id_size, record->sequence, record->length);
    (*text)[id_size + record->length] = 0;
    record->id = *text;
    record->sequence = *text + id_size;
    record->description = "";
    record->message = "";
    if ((st = bioinfer_reader_next(cli->reader, &more, &err)) < 0)
        return cli_fail(cli, CLI_AT_READ, st, &err);
    if (st) {
        cli_say(cli, "%s: --mutations needs one wild type, the file has a second record '%s'",
                cli->input_name, more.id);
        return CLI_EXIT_DATA;
    }
    return CLI_EXIT_OK;
}

static int seek_block(void *user, uint64_t ordinal, struct bioinfer_error *err)
{
    struct score *s = user;
    const int st = bioinfer_reader_seek(s->cli->reader, s->cli->index, ordinal, err);

    if (st < 0)
        s->stage = CLI_AT_READ;
    return st;
}

/* A bioinfer_source: the records of the input, or the wild type alone. */
static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct score *s = user;
    int st;

    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    if (s->wild_type) {
        if (s->given)
            return 0;
        *record = *s->wild_type;
        return s->given = true;
    }
    st = cli_next_protein(s->cli, record, err);
    if (st < 0)
        s->stage = CLI_AT_READ;
    else if (st > 0 && !record->status)
        s->cli->progress.read_residues += record->length;
    return st;
}

/* The records that the job hands out. */
static int take_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct score *s = user;
    int st = bioinfer_job_source(s->job, record, err);

    if (st < 0 && s->stage == CLI_AT_RUN)
        s->stage = s->wild_type                                   ? CLI_AT_INPUT
                   : st == BIOINFER_NO_SPACE || st == BIOINFER_IO ? CLI_AT_WRITE
                                                                  : CLI_AT_READ;
    return st;
}

/* A record that cannot be scored is named; the run goes on unless --strict. */
static int lose_record(struct score *s, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    if (!s->wild_type)
        cli_say_lost(s->cli, "%s: no result: %s%s%s", r->id, bioinfer_status_name(r->status),
                     *r->message ? ": " : "", r->message);
    if (!s->cli->options->strict)
        return 0;
    s->stage = CLI_AT_READ;
    s->cli->lost_record = true;
    err->status = BIOINFER_FORMAT;
    snprintf(err->text, sizeof err->text, "--strict: stopped, nothing written");
    return BIOINFER_FORMAT;
}

static int take_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct score *s = user;
    struct bioinfer_result r = *result;
    unsigned long long counts[3] = {0};
    int st = 0;

    if (s->wild_type && r.status == BIOINFER_DEVICE) { /* all there is to compute */
        snprintf(err->text, sizeof err->text, "%s", r.message);
        return r.status;
    }
    if (!r.more) {
        const int64_t most = s->cli->options->window ? s->cli->options->window
                                                     : s->cli->info.longest;
        s->n_too_long += wants_windows(s->cli, &r);
        s->n_long += !r.status && most > 0 && r.length > most;
        cli_take_counts(&r, counts, 3);
        s->n_values += counts[0];
        s->n_failed += s->wild_type ? counts[1] : r.status != 0;
        s->n_records += s->wild_type ? counts[2] : 1;
        if (r.status && (st = lose_record(s, &r, err)))
            return st;
    }
    if (s->job) {
        st = bioinfer_job_sink(s->job, &r, err);
    } else {
        for (int i = 0; i < r.n_texts; i++)
            cli_output_write(&s->out, r.texts[i].text, r.texts[i].length);
        st = s->out.status; /* a closed pipe or a full disk: the rest is in vain */
    }
    if (st)
        s->stage = CLI_AT_WRITE;
    return st;
}

static const char *head_of(const struct cli_options *o)
{
    return is_pppl(o) ? "id\tlength\tpll\tpppl\n" : "id\tposition\twildtype\tmutant\tscore\n";
}

static bool any_records(struct score *s)
{
    s->stats.struct_size = sizeof s->stats;
    /* records of the journal count, too: an input that holds none now is not the one it was */
    return s->n_records || (s->job && !bioinfer_job_get_stats(s->job, &s->stats) &&
                            (s->stats.input_records || s->stats.records));
}

static int pending(void *user)
{
    struct score *s = user;

    return bioinfer_job_pending(s->job);
}

static int score_all(struct score *s)
{
    const struct cli_run_io io = {.source = s->job ? take_record : next_record,
                                  .sink = take_result,
                                  .pending = s->job ? pending : NULL,
                                  .user = s,
                                  .input_size = cli_inputs_size(s->cli),
                                  .in_order = !s->job};
    struct bioinfer_error err = {0};
    int st;

    if (s->job)
        bioinfer_job_set_source(s->job, next_record, s);
    else if (!s->wild_type)
        cli_output_printf(&s->out, "%s", head_of(s->cli->options));
    if (!s->wild_type)
        s->cli->progress.reader = s->cli->inputs.n > 1 ? NULL : s->cli->reader;
    st = cli_task_run(s->cli, &cli_score_task, s->pool, &io, &err);
    if (s->out.status)
        st = cli_output_finish(&s->out, &err); /* which knows the reason */
    if (st)
        return cli_fail(s->cli, cli_stop_signal() ? CLI_AT_RUN : s->stage, st, &err);
    if (!s->wild_type && !any_records(s)) {
        cli_say(s->cli, "%s: no records", s->cli->input_name);
        if (s->job)
            bioinfer_job_discard(s->job);
        return CLI_EXIT_DATA;
    }
    return CLI_EXIT_OK;
}

static int score_mutations(struct score *s)
{
    struct bioinfer_record record = {0};
    char *text = NULL;
    int code = read_wild_type(s, &record, &text);

    if (!code) {
        s->wild_type = &record;
        code = score_all(s);
        s->wild_type = NULL;
    }
    free(text);
    return code;
}

/* ---- the command ---- */

/* Says how records of more residues than the model was trained with were scored. */
static void say_long(struct score *s)
{
    const long long window = s->cli->options->window, longest = s->cli->info.longest;

    if (window && s->n_long)
        cli_say(s->cli, "%llu of more than %lld residues: in windows of %lld, by ProteinGym's rule",
                (unsigned long long)s->n_long, window, window);
    else if (s->n_long)
        cli_say(s->cli,
                "%llu of more than %lld residues: in one pass (--window %lld: in windows, as "
                "ProteinGym has them)",
                (unsigned long long)s->n_long, longest, longest);
    else if (s->n_too_long)
        cli_say(s->cli, "--window %lld scores longer records in windows", longest);
}

static void say_summary(struct score *s)
{
    struct cli *cli = s->cli;
    const char *path = s->job ? cli->options->output : s->out.path;

    if (!cli->options->quiet)
        cli_say(cli, "%llu scores in %.2f s, model %s from %s, %s %s %s%s%s",
                (unsigned long long)s->n_values, cli_now() - cli->progress.start, cli->info.name,
                cli->info.path, cli->info.device, cli->info.kernels, cli->info.precision,
                path ? " -> " : "", path ? path : "");
    if (!cli->options->quiet)
        say_long(s);
    if (s->job && !cli->options->quiet)
        cli_job_say_shard(cli, &s->stats, path);
    if (s->job && s->stats.failed && !cli->options->mutations)
        cli_job_say_failed(cli, "records", &s->stats, cli->options->n_shards ? NULL : path);
    else if (s->n_failed)
        cli_say(cli, "%llu of %llu %s have no score", (unsigned long long)s->n_failed,
                (unsigned long long)s->n_records, cli->options->mutations ? "mutants" : "records");
}

/* All that changes results and is no part of the model's fingerprint. */
static void describe_options(const struct cli_options *o, struct cli_output *text)
{
    static const char *const names[] = {"", "masked-marginals", "wt-marginals", "pppl"};

    cli_output_printf(text, "method=%s offset=%lld mutation-col=", names[method_of(o->method)],
                      (long long)(o->has_offset ? o->offset : 1));
    cli_output_printf(text, "%s max-length=%lld raw-residues=%d no-rule=%s",
                      !o->mutations     ? ""
                      : o->mutation_col ? o->mutation_col
                                        : "mutant",
                      (long long)o->max_length, o->raw_residues, o->no_rules);
    if (o->window)
        cli_output_printf(text, " window=%lld", (long long)o->window);
    cli_output_write(text, "", 1);
}

static int open_output(struct score *s)
{
    struct cli *cli = s->cli;
    const struct cli_options *o = cli->options;
    const struct bioinfer_job_input table = {"mutations", o->mutations};
    struct bioinfer_job_params params = cli_job_params(cli, "score");
    struct bioinfer_error err = {0};
    struct bioinfer_writer_params writer;
    struct cli_output options = {0};
    int st, code;

    if (!cli_job_wanted(o)) {
        st = cli_output_open(&s->out, o->output, &err);
        return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
    }
    if ((code = cli_fingerprint(cli)))
        return code;
    writer = cli_writer_params(cli);
    params.writer = &writer;
    params.inputs = &table;
    params.n_inputs = o->mutations != NULL;
    params.text_head = o->mutations ? "" : head_of(o);
    if (!o->mutations && (code = cli_job_open_index(cli, &params)))
        return code;
    params.seek = seek_block;
    describe_options(o, &options);
    params.options = options.text;
    if (!(st = options.status))
        st = bioinfer_job_open(&s->job, cli->ctx, o->output, &params, &err);
    cli_output_close(&options);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

static int finish(struct score *s)
{
    struct bioinfer_error err = {0};
    int st;

    if (s->job)
        return cli_job_finish(s->cli, s->job, &s->stats);
    st = cli_output_finish(&s->out, &err);
    return st ? cli_fail(s->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

int cli_score(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct score s = {.cli = cli, .stage = CLI_AT_RUN};
    int code;

    if (o->dry_run)
        return cli_dry_run(cli, &cli_score_task);
    if (!cli_job_needs_file(cli, o->output))
        return CLI_EXIT_USAGE;
    if ((code = cli_open_context(cli)) || (code = cli_open_reader(cli, BIOINFER_MAX_RESIDUES)) ||
        (code = cli_score_task.begin(cli)) ||
        (code = cli_task_open(cli, &cli_score_task, &s.pool)) || (code = open_output(&s)))
        goto out;
    cli_progress_start(cli);
    code = o->mutations ? score_mutations(&s) : score_all(&s);
    cli_progress_end(cli);
    if (code) {
        code = cli_job_stopped(cli, s.job, code);
        goto out;
    }
    if (o->profile && !s.pool)
        cli_print_profile(cli);
    if ((code = finish(&s)))
        goto out;
    say_summary(&s);
    if (s.job ? s.stats.failed != 0 : s.n_failed != 0)
        code = CLI_EXIT_RECORDS;
out:
    cli_pool_close(&s.pool);
    bioinfer_job_close(&s.job);
    cli_output_close(&s.out);
    cli_score_task.end(cli);
    return code;
}

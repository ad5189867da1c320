/* score.c - `bioinfer score MODEL INPUT`: zero-shot scores of a masked language model.
 *
 *   --mutations FILE   one wild type; the table comes back with one more column
 *   (none)             every record, every position, the 20 standard residues
 *   --method pppl      every record: log-likelihood and perplexity
 *
 * log p of a record is a table [length, vocab_size], row = position from 0. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char standard[] = "ACDEFGHIKLMNPQRSTVWY";

struct score {
    struct cli *cli;
    bioinfer_job *job;     /* NULL: text goes straight to `out`, ... */
    struct cli_output out; /* ... which otherwise gathers that of one record */
    bool reading;          /* a failure is the reader's */
    struct bioinfer_job_stats stats;
    int method; /* enum bioinfer_score_method */
    int64_t offset;
    int token[256]; /* of a residue letter, -1 = none */
    uint64_t n_records, n_failed, n_values;
};

static int method_of(const char *name)
{
    if (!name || !strcmp(name, "masked-marginals"))
        return BIOINFER_MASKED_MARGINALS;
    return strcmp(name, "pppl") ? BIOINFER_WT_MARGINALS : BIOINFER_PPPL;
}

/* Letters the vocabulary lacks are read as X, as the engine does. */
static void find_tokens(struct score *s)
{
    for (int c = 0; c < 256; c++)
        s->token[c] = -1;
    for (int id = 0; id < s->cli->info.vocab_size; id++) {
        const char *symbol = bioinfer_model_token(s->cli->model, id);
        if (symbol && symbol[0] && !symbol[1])
            s->token[(unsigned char)symbol[0]] = id;
    }
    for (int c = 'A'; c <= 'Z'; c++)
        if (s->token[c] < 0)
            s->token[c] = s->token['X'];
}

static float *new_table(const struct score *s, const struct bioinfer_record *record)
{
    size_t vocab = (size_t)s->cli->info.vocab_size;

    if (!vocab || record->length > SIZE_MAX / sizeof(float) / vocab)
        return NULL;
    return malloc((record->length * vocab + 1) * sizeof(float));
}

/* Hands the text of a record, or why there is none, to the job. */
static int give_record(struct score *s, const struct bioinfer_record *record, int status,
                       const char *why)
{
    const struct cli_unit unit = {record->ordinal, record->id, (int64_t)record->length, status,
                                  why};
    struct bioinfer_error err = {0};
    int st = s->job ? cli_job_put(s->job, &unit, 0, false, &s->out, &err) : 0;

    return st ? cli_fail(s->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* A record that cannot be scored is named and counted; the run goes on unless --strict.
 */
static int lose_record(struct score *s, const struct bioinfer_record *record, int status,
                       const char *why)
{
    s->n_failed++;
    cli_say_lost(s->cli, "%s: no result: %s%s%s", record->id, bioinfer_status_name(status),
                 why && *why ? ": " : "", why ? why : "");
    if (!s->cli->options->strict)
        return give_record(s, record, status, why);
    cli_say(s->cli, "--strict: stopped, nothing written");
    return CLI_EXIT_DATA;
}

/* What belongs to one record; everything else ends the run. */
static bool is_record_status(int status)
{
    return status <= BIOINFER_EMPTY;
}

/* ---- without --mutations ---- */

static void write_scan(struct score *s, const struct bioinfer_record *r, const float *logp)
{
    size_t vocab = (size_t)s->cli->info.vocab_size;

    for (size_t i = 0; i < r->length; i++) {
        unsigned char wild = (unsigned char)r->sequence[i];
        const float *row = logp + i * vocab;
        for (const char *m = standard; *m; m++) {
            int wt = s->token[wild], mt = s->token[(unsigned char)*m];
            cli_output_field(&s->out, r->id);
            cli_output_printf(&s->out, "\t%lld\t%c\t%c\t", (long long)i + s->offset, wild, *m);
            if (wt >= 0 && mt >= 0 && isfinite(row[mt] - row[wt]))
                cli_output_printf(&s->out, "%.6f", (double)row[mt] - (double)row[wt]);
            cli_output_write(&s->out, "\n", 1);
        }
    }
    s->n_values += r->length * (sizeof standard - 1);
}

static int write_pppl(struct score *s, const struct bioinfer_record *r, const float *logp)
{
    size_t vocab = (size_t)s->cli->info.vocab_size;
    double pll = 0;

    for (size_t i = 0; i < r->length; i++) {
        int id = s->token[(unsigned char)r->sequence[i]];
        pll += id < 0 ? NAN : (double)logp[i * vocab + (size_t)id];
    }
    if (!isfinite(pll))
        return lose_record(s, r, BIOINFER_NONFINITE, NULL);
    cli_output_field(&s->out, r->id);
    cli_output_printf(&s->out, "\t%llu\t%.6f\t%.6f\n", (unsigned long long)r->length, pll,
                      exp(-pll / (double)r->length));
    s->n_values++;
    return give_record(s, r, 0, NULL);
}

static int score_record(struct score *s, const struct bioinfer_record *record)
{
    struct bioinfer_error err = {0};
    float *logp = NULL;
    int st, code = CLI_EXIT_OK;

    s->n_records++;
    if (record->status)
        return lose_record(s, record, record->status, record->message);
    if (!record->length)
        return lose_record(s, record, BIOINFER_EMPTY, NULL);
    if (!(logp = new_table(s, record)))
        return cli_fail(s->cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    s->cli->progress.read_residues += record->length;
    st = bioinfer_score_table(s->cli->session, record, s->method, NULL, 0, logp, &err);
    if (st && is_record_status(st))
        code = lose_record(s, record, st, err.text);
    else if (st)
        code = cli_fail(s->cli, CLI_AT_RUN, st, &err);
    else if (s->method == BIOINFER_PPPL)
        code = write_pppl(s, record, logp);
    else {
        write_scan(s, record, logp);
        code = give_record(s, record, 0, NULL);
    }
    free(logp);
    return code;
}

/* A bioinfer_source: the records of the input. */
static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct score *s = user;
    int st;

    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    st = cli_next_protein(s->cli, record, err);
    s->reading = st < 0;
    return st;
}

static int seek_block(void *user, uint64_t ordinal, struct bioinfer_error *err)
{
    struct score *s = user;
    const int st = bioinfer_reader_seek(s->cli->reader, s->cli->index, ordinal, err);

    s->reading = st < 0;
    return st;
}

static const char *head_of(const struct score *s)
{
    return s->method == BIOINFER_PPPL ? "id\tlength\tpll\tpppl\n"
                                      : "id\tposition\twildtype\tmutant\tscore\n";
}

static bool any_records(struct score *s)
{
    s->stats.struct_size = sizeof s->stats;
    /* records of the journal count, too: an input that holds none now is not the one it was */
    return s->n_records || (s->job && !bioinfer_job_get_stats(s->job, &s->stats) &&
                            (s->stats.input_records || s->stats.records));
}

static int score_all(struct score *s)
{
    struct bioinfer_record record = {0};
    struct bioinfer_error err = {0};
    int st, code;

    s->cli->progress.reader = s->cli->reader;
    if (s->job)
        bioinfer_job_set_source(s->job, next_record, s);
    else
        cli_output_printf(&s->out, "%s", head_of(s));
    while ((st = s->job ? bioinfer_job_source(s->job, &record, &err)
                        : next_record(s, &record, &err)) > 0) {
        if ((code = score_record(s, &record)))
            return code;
        if (s->out.status) /* a closed pipe or a full disk: the rest is in vain */
            break;
    }
    if (st < 0)
        return cli_fail(s->cli,
                        s->reading || (st != BIOINFER_NO_SPACE && st != BIOINFER_IO) ? CLI_AT_READ
                                                                                     : CLI_AT_WRITE,
                        st, &err);
    if (!any_records(s)) {
        cli_say(s->cli, "%s: no records", s->cli->input_name);
        if (s->job)
            bioinfer_job_discard(s->job);
        return CLI_EXIT_DATA;
    }
    return CLI_EXIT_OK;
}

/* ---- with --mutations ---- */

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

static int compare_positions(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The positions the table touches, ascending, each once: one masked pass for each. */
static int collect_positions(const struct score *s, const struct cli_csv *csv, size_t length,
                             int64_t **out, size_t *n_out)
{
    int64_t *all = NULL, *grown;
    size_t n = 0, cap = 0, kept = 0;

    for (size_t i = 0; i < csv->n_rows; i++) {
        const char *text = csv->rows[i].value;
        int n_row = text ? bioinfer_mutation_positions(text, s->offset, NULL, 0, NULL) : 0;
        if (n_row <= 0)
            continue;
        if (cap - n < (size_t)n_row) {
            cap = 2 * cap + (size_t)n_row + 64;
            if (!(grown = realloc(all, cap * sizeof *all))) {
                free(all);
                return BIOINFER_NOMEM;
            }
            all = grown;
        }
        bioinfer_mutation_positions(text, s->offset, all + n, n_row, NULL);
        n += (size_t)n_row;
    }
    if (n)
        qsort(all, n, sizeof *all, compare_positions);
    for (size_t i = 0; i < n; i++)
        if (all[i] >= 0 && (uint64_t)all[i] < length && (!kept || all[kept - 1] != all[i]))
            all[kept++] = all[i];
    *out = all;
    *n_out = kept;
    return BIOINFER_OK;
}

/* Do the wild-type letters of a mutation stand at its positions? */
static bool fits(const char *mutation, int64_t offset, const struct bioinfer_record *record)
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
            (uint64_t)position >= record->length || record->sequence[position] != part[0])
            return false;
        mutation = mutation[n] ? mutation + n + 1 : NULL;
    }
    return true;
}

/* Tables that count from 0 are common enough to say so. */
static void suggest_offset(struct score *s, const struct cli_csv *csv,
                           const struct bioinfer_record *record)
{
    size_t n_fit = 0, n_fit_other = 0, n_values = 0;
    int64_t other = s->offset ? 0 : 1;

    for (size_t i = 0; i < csv->n_rows; i++)
        if (csv->rows[i].value) {
            n_values++;
            n_fit += fits(csv->rows[i].value, s->offset, record);
            n_fit_other += fits(csv->rows[i].value, other, record);
        }
    if (n_fit_other > n_fit)
        cli_say(s->cli, "with --offset %d, %zu of %zu mutants would match the sequence (now %zu)",
                (int)other, n_fit_other, n_values, n_fit);
}

/* *status gets that of the first row without a score. */
static int score_rows(struct score *s, struct cli_csv *csv, int *status,
                      const struct bioinfer_record *record, const float *logp)
{
    const char *path = s->cli->options->mutations;
    struct bioinfer_error err;
    int st;

    for (size_t i = 0; i < csv->n_rows; i++) {
        struct cli_csv_row *row = &csv->rows[i];
        if (!row->len)
            continue;
        err = (struct bioinfer_error){.text = "the row has no such column"};
        st = !row->value ? BIOINFER_FORMAT
                         : bioinfer_score_mutation(s->cli->model, record, logp, row->value,
                                                   s->offset, &row->score, &err);
        s->n_records++;
        row->scored = !st && isfinite(row->score);
        if (row->scored) {
            s->n_values++;
            continue;
        }
        s->n_failed++;
        if (!*status)
            *status = st ? st : BIOINFER_NONFINITE;
        cli_say_lost(s->cli, "%s:%ld: %s", path, row->line, st ? err.text : "score is not finite");
        if (s->cli->options->strict) {
            cli_say(s->cli, "--strict: stopped, nothing written");
            return CLI_EXIT_DATA;
        }
    }
    return CLI_EXIT_OK;
}

static void write_rows(struct score *s, const struct cli_csv *csv)
{
    const char sep = csv->separator;
    const char *end = *csv->header.end ? csv->header.end : "\n";

    cli_output_write(&s->out, csv->data, (size_t)(csv->header.text - csv->data)); /* BOM */
    cli_output_write(&s->out, csv->header.text, csv->header.len);
    cli_output_write(&s->out, &sep, 1);
    cli_csv_cell(&s->out, sep, s->cli->info.name);
    cli_output_write(&s->out, end, strlen(end));
    for (size_t i = 0; i < csv->n_rows; i++) {
        const struct cli_csv_row *row = &csv->rows[i];
        cli_output_write(&s->out, row->text, row->len);
        if (row->len)
            cli_output_write(&s->out, &sep, 1);
        if (row->scored)
            cli_output_printf(&s->out, "%.6f", row->score);
        end = *row->end ? row->end : "\n";
        cli_output_write(&s->out, end, strlen(end));
    }
}

/* Gives the table to the job: its text, and how many of its rows have no score. */
static int give_table(struct score *s, const struct bioinfer_record *record, int status)
{
    char why[96];
    const struct cli_unit unit = {record->ordinal, record->id, (int64_t)record->length, status,
                                  why};
    struct bioinfer_error err = {0};
    int st;

    snprintf(why, sizeof why, "%llu of %llu mutants have no score", (unsigned long long)s->n_failed,
             (unsigned long long)s->n_records);
    st = cli_job_put(s->job, &unit, 0, status != 0, &s->out, &err);
    if (!st && status)
        st = cli_job_put(s->job, &unit, 1, false, NULL, &err);
    return st ? cli_fail(s->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* The wild type, which is all of a job's input. */
struct one_record {
    const struct bioinfer_record *record;
    bool given;
};

static int next_wild_type(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct one_record *one = user;

    (void)err;
    if (one->given)
        return 0;
    *record = *one->record;
    return one->given = true;
}

static int score_table(struct score *s, struct cli_csv *csv, const struct bioinfer_record *record)
{
    struct cli *cli = s->cli;
    struct bioinfer_error err = {0};
    int64_t *positions = NULL;
    size_t n_positions = 0;
    float *logp = NULL;
    int st, status = 0, code = CLI_EXIT_OK;

    if (!(logp = new_table(s, record)) ||
        collect_positions(s, csv, record->length, &positions, &n_positions)) {
        code = cli_fail(cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
        goto out;
    }
    for (size_t i = 0; i < record->length * (size_t)cli->info.vocab_size; i++)
        logp[i] = NAN;
    cli->progress.expected = n_positions;
    if (n_positions && (st = bioinfer_score_table(cli->session, record, s->method, positions,
                                                  n_positions, logp, &err))) {
        code = cli_fail(cli, CLI_AT_RUN, st, &err);
        goto out;
    }
    if (!(code = score_rows(s, csv, &status, record, logp)))
        write_rows(s, csv);
    if (s->n_failed)
        suggest_offset(s, csv, record);
    if (!code && s->job)
        code = give_table(s, record, status);
out:
    free(logp);
    free(positions);
    return code;
}

static int score_mutations(struct score *s, struct cli_csv *csv)
{
    struct bioinfer_record record = {0};
    struct one_record one = {&record, false};
    struct bioinfer_error err = {0};
    char *text = NULL;
    int st = 1, code = read_wild_type(s, &record, &text);

    if (!code && s->job) {
        bioinfer_job_set_source(s->job, next_wild_type, &one);
        st = bioinfer_job_source(s->job, &record, &err);
    }
    if (!code && st > 0 && !(code = score_table(s, csv, &record)) && s->job)
        st = bioinfer_job_source(s->job, &record, &err); /* which tells it that this was all */
    if (!code && st < 0)
        code = cli_fail(s->cli, CLI_AT_INPUT, st, &err);
    free(text);
    return code;
}

/* ---- the command ---- */

static void say_summary(struct score *s)
{
    struct cli *cli = s->cli;
    const char *path = s->job ? cli->options->output : s->out.path;

    if (!cli->options->quiet)
        cli_say(cli, "%llu scores in %.2f s, model %s from %s, %s %s %s%s%s",
                (unsigned long long)s->n_values, cli_now() - cli->progress.start, cli->info.name,
                cli->info.path, cli->info.device, cli->info.kernels, cli->info.precision,
                path ? " -> " : "", path ? path : "");
    if (s->job && !cli->options->quiet)
        cli_job_say_shard(cli, &s->stats, path);
    if (s->job && s->stats.failed && !cli->options->mutations)
        cli_job_say_failed(cli, "records", &s->stats, cli->options->n_shards ? NULL : path);
    else if (s->n_failed)
        cli_say(cli, "%llu of %llu %s have no score", (unsigned long long)s->n_failed,
                (unsigned long long)s->n_records, cli->options->mutations ? "mutants" : "records");
}

/* All that changes results and is no part of the model's fingerprint. */
static void describe_options(const struct score *s, char *text, size_t size)
{
    static const char *const names[] = {"", "masked-marginals", "wt-marginals", "pppl"};
    const struct cli_options *o = s->cli->options;

    snprintf(text, size,
             "method=%s offset=%lld mutation-col=%s max-length=%lld raw-residues=%d "
             "no-rule=%s",
             names[s->method], (long long)s->offset,
             !o->mutations     ? ""
             : o->mutation_col ? o->mutation_col
                               : "mutant",
             (long long)o->max_length, o->raw_residues, o->no_rules);
}

static int open_output(struct score *s)
{
    struct cli *cli = s->cli;
    const struct cli_options *o = cli->options;
    const struct bioinfer_job_input table = {"mutations", o->mutations};
    struct bioinfer_job_params params = cli_job_params(cli, "score");
    struct bioinfer_error err = {0};
    struct bioinfer_writer_params writer;
    char options[2048];
    int st, code;

    if (!cli_job_wanted(o)) {
        st = cli_output_open(&s->out, o->output, &err);
        return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
    }
    if ((code = cli_fingerprint(cli)))
        return code;
    writer = cli_writer_params(cli);
    describe_options(s, options, sizeof options);
    params.writer = &writer;
    params.options = options;
    params.inputs = &table;
    params.n_inputs = o->mutations != NULL;
    params.text_head = o->mutations ? "" : head_of(s);
    if (!o->mutations && (code = cli_job_open_index(cli, &params)))
        return code;
    params.seek = seek_block;
    st = bioinfer_job_open(&s->job, cli->ctx, o->output, &params, &err);
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
    struct score s = {
        .cli = cli, .method = method_of(o->method), .offset = o->has_offset ? o->offset : 1};
    struct bioinfer_error err = {0};
    struct cli_csv csv = {0};
    int code;

    if (!cli_job_needs_file(cli, o->output))
        return CLI_EXIT_USAGE;
    if ((code = cli_open_context(cli)) || (code = cli_open_reader(cli, BIOINFER_MAX_RESIDUES)))
        goto out;
    if (o->mutations && (code = cli_csv_read(&csv, o->mutations,
                                             o->mutation_col ? o->mutation_col : "mutant", &err))) {
        cli_say(cli, "%s", err.text);
        goto out;
    }
    if ((code = cli_open_model(cli)) || (code = cli_open_session(cli, 0, cli_progress_tick)))
        goto out;
    find_tokens(&s);
    if ((code = open_output(&s)))
        goto out;
    cli_progress_start(cli);
    code = o->mutations ? score_mutations(&s, &csv) : score_all(&s);
    cli_progress_end(cli);
    if (code) {
        code = cli_job_stopped(cli, s.job, code);
        goto out;
    }
    if (o->profile)
        cli_print_profile(cli);
    if ((code = finish(&s)))
        goto out;
    say_summary(&s);
    if (s.job ? s.stats.failed != 0 : s.n_failed != 0)
        code = CLI_EXIT_RECORDS;
out:
    bioinfer_job_close(&s.job);
    cli_output_close(&s.out);
    cli_csv_free(&csv);
    return code;
}

/* embed.c - `bioinfer MODEL INPUT`: records in, one result each, a file out. */
#include "run.h"

#include "../writers/units.h"

#include <stdlib.h>
#include <string.h>

struct embedding {
    struct cli_run run;
    char *path;                  /* names the output */
    char units[128];             /* that its arrays have */
    struct cli_output tokens;    /* tell() writes them, in a run without workers */
    struct bioinfer_error range; /* why the result at hand does not fit --dtype */
};

static bool is_text(const char *format)
{
    return format && (!strcmp(format, "tsv") || !strcmp(format, "jsonl"));
}

static bool is_dump(const struct cli_options *o)
{
    return o->dump_graph || o->trace_rules;
}

unsigned cli_include(const struct cli_options *o)
{
    const unsigned asked = cli_embed_params(o)->include;
    return !asked && is_text(o->format) && !o->head ? BIOINFER_MEAN : asked;
}

/* ---- the task ---- */

static void fill(const struct cli_options *o, void *params)
{
    ((struct bioinfer_embed_params *)params)->include = cli_include(o);
}

/* The tokens, which name the columns of logits: each with a NUL. */
static void tell(const struct cli *cli, struct cli_output *text)
{
    const char *token;
    if (cli_include(cli->options) & BIOINFER_LOGITS)
        for (int i = 0; (token = bioinfer_model_token(cli->model, i)); i++)
            cli_output_write(text, token, strlen(token) + 1);
}

static int hear(struct cli *cli, const char *facts, size_t n)
{
    cli->tokens = n ? facts : NULL;
    cli->n_tokens = n;
    return CLI_EXIT_OK;
}

const struct cli_task cli_embed_task = {
    .name = "embed", .fill = fill, .weigh = cli_weigh_sequence, .tell = tell, .hear = hear};

/* ---- the output ---- */

/* Lists the units of the arrays. */
static void list_units(struct embedding *e)
{
    const unsigned include = cli_include(e->run.cli->options);
    size_t n = 0;
    for (unsigned bit = 1; bit && bit <= include; bit <<= 1) {
        const char *kind = include & bit ? bioinfer_include_name(bit) : "";
        const char *unit = bi_unit_of_kind(kind);
        if (unit && n < sizeof e->units)
            n += (size_t)snprintf(e->units + n, sizeof e->units - n, "%s%s=%s", n ? "," : "", kind,
                                  unit);
    }
    e->run.measures = e->units;
}

/* Names the output, "-" = standard output. */
static int name_output(struct embedding *e)
{
    struct cli *cli = e->run.cli;
    const struct cli_options *o = cli->options;
    const char *format = o->format ? o->format : "npz";
    const char *model = o->model ? o->model : "embed"; /* the weights say which it is */
    const char *given = o->output ? o->output : is_text(o->format) ? "-" : NULL;
    const size_t size = (given ? strlen(given) : strlen(cli->inputs.of[0])) + strlen(model) +
                        strlen(format) + 3;
    if (given && !strcmp(given, "-") && !is_text(o->format)) {
        cli_say(cli, "standard output takes --format tsv or jsonl");
        return CLI_EXIT_USAGE;
    }
    if (!given && !strcmp(o->input, "-")) {
        cli_say(cli, "reading standard input: name the output with -o, or use --format "
                     "tsv or jsonl");
        return CLI_EXIT_USAGE;
    }
    if (!given && cli->inputs.n > 1) {
        cli_say(cli, "several inputs: name the output with -o");
        return CLI_EXIT_USAGE;
    }
    if (!(e->path = malloc(size)))
        return cli_no_memory(cli, "the name of the output");
    if (given)
        strcpy(e->path, given);
    else
        snprintf(e->path, size, "%s.%s.%s", cli->inputs.of[0], model, format);
    e->run.output = e->path;
    list_units(e);
    if (strcmp(e->path, "-"))
        e->run.journal = CLI_JOURNAL_ALWAYS;
    return cli_job_needs_file(cli, e->path) ? CLI_EXIT_OK : CLI_EXIT_USAGE;
}

static void describe(struct cli_run *run, struct cli_output *text)
{
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_embed_params *p = cli_embed_params(o);
    const unsigned include = cli_include(o);
    const char *comma = "";
    cli_output_printf(text, "include=");
    for (unsigned bit = 1; bit && bit <= include; bit <<= 1)
        if (include & bit) {
            cli_output_printf(text, "%s%s", comma, bioinfer_include_name(bit));
            comma = ",";
        }
    cli_output_printf(text, " layers=%s", p->n_layers ? "" : "-1");
    for (int i = 0; i < p->n_layers; i++)
        cli_output_printf(text, "%s%d", i ? "," : "", p->layers[i]);
    cli_output_printf(text, " max-length=%lld raw-residues=%d no-rule=%s", (long long)p->max_length,
                      p->raw_residues, p->no_rules ? p->no_rules : "");
    if (o->dtype && !strcmp(o->dtype, "f16")) /* which records fail depends on it */
        cli_output_printf(text, " dtype=f16");
}

/* ---- names first: reading them takes seconds, and what follows may take days ---- */

struct names {
    struct cli_run *run;
    bioinfer_context *ctx;
    bioinfer_reader *reader;
    size_t input;       /* that is read */
    uint64_t first, at; /* the numbers of its first record, and of the next one */
};

static int open_names(void *user, bioinfer_context *silent, struct bioinfer_error *err)
{
    struct names *n = user;
    const struct bioinfer_reader_params params = {.struct_size = sizeof params,
                                                  .residues = n->run->cli->options->raw_residues
                                                                  ? BIOINFER_RESIDUES_RAW
                                                                  : BIOINFER_RESIDUES_DEFAULT};
    n->ctx = silent;
    n->first = n->at;
    return bioinfer_reader_open(&n->reader, silent, n->run->cli->inputs.of[n->input], &params, err);
}

/* A bioinfer_source: the next record of all inputs that the job is to be told of. */
static int next_name(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct names *n = user;
    const bioinfer_index *index = n->run->cli->index;
    const uint64_t want = index ? bioinfer_job_wants(n->run->job, n->at) : n->at;
    int st = 0;
    if (index && want >= bioinfer_index_records(index))
        return 0;
    if (index && want - want % bioinfer_index_block(index) > n->at)
        st = bioinfer_reader_seek(n->reader, index, want - want % bioinfer_index_block(index), err);
    while (!st && !(st = bioinfer_reader_next(n->reader, record, err)) &&
           n->input + 1 < n->run->cli->inputs.n) {
        bioinfer_reader_close(&n->reader);
        n->input++;
        st = open_names(n, n->ctx, err);
    }
    if (st > 0) {
        record->ordinal += n->first;
        n->at = record->ordinal + 1;
    }
    return st;
}

static void close_names(void *user)
{
    bioinfer_reader_close(&((struct names *)user)->reader);
}

static int look_ahead(struct cli_run *run)
{
    struct names names = {.run = run};
    const struct cli_ahead ahead = {open_names, next_name, close_names, &names};
    return cli_run_look_ahead(run, &ahead);
}

/* ---- the command ---- */

static int check(struct cli_run *run)
{
    struct cli *cli = run->cli;
    const int code = cli_sequences_find(cli, &cli->inputs);
    return code || cli->options->dry_run || is_dump(cli->options)
               ? code
               : name_output((struct embedding *)run);
}

/* Finds the length of the first record, whose graph --dump-graph and --trace-rules show. */
static int measure(struct cli_run *run)
{
    struct cli *cli = run->cli;
    struct bioinfer_record record = {0};
    struct bioinfer_error err = {0};
    struct embedding *e = (struct embedding *)run;
    const int st = is_dump(cli->options) ? bioinfer_reader_next(cli->reader, &record, &err) : 1;
    if (cli->model) { /* else workers told it */
        tell(cli, &e->tokens);
        hear(cli, e->tokens.text, e->tokens.n_text);
    }
    if (e->tokens.status)
        return cli_no_memory(cli, "the names of tokens");
    run->tokens = (int64_t)record.length;
    if (st < 0)
        return cli_fail(cli, CLI_AT_READ, st, &err);
    if (st && !record.status)
        return CLI_EXIT_OK;
    cli_say(cli, "%s: %s", cli->input_name, st ? record.message : "no records");
    return CLI_EXIT_DATA;
}

/* A number that --dtype cannot hold costs the record, not the run. */
static int take(struct cli_run *run, struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct embedding *e = (struct embedding *)run;
    struct bioinfer_job_stats *stats = &run->stats;
    const int st = r->status ? 0 : bioinfer_result_fits(r, run->cli->options->dtype, &e->range);
    (void)err;
    if (st) {
        r->status = st;
        r->message = e->range.text;
        r->n_arrays = 0;
        r->labels = NULL;
    }
    if (run->job)
        return 0;
    stats->records++;
    stats->failed += r->status != 0;
    stats->residues += r->status ? 0 : (uint64_t)r->length;
    stats->by_status[(unsigned)-r->status % CLI_COUNT(stats->by_status)]++;
    return 0;
}

static void say(struct cli_run *run)
{
    const struct bioinfer_model_info *info = &run->cli->info;
    const struct bioinfer_job_stats *stats = &run->stats;
    const double seconds = cli_now() - run->cli->progress.start;
    char extra[96] = "";
    size_t used = 0;
    if (stats->copied)
        used = (size_t)snprintf(extra, sizeof extra, ", %llu of them copies",
                                (unsigned long long)stats->copied);
    if (stats->resumed)
        snprintf(extra + used, sizeof extra - used, ", %llu from before",
                 (unsigned long long)stats->resumed);
    cli_say(run->cli,
            "%llu records%s, %llu residues in %.2f s (%.0f residues/s), model %s from "
            "%s, %s %s %s%s%s",
            (unsigned long long)(stats->records - stats->failed), extra,
            (unsigned long long)stats->residues, seconds,
            (double)stats->residues / (seconds > 0 ? seconds : 1), info->name, info->path,
            info->device, info->kernels, info->precision, run->job ? " -> " : "",
            run->job ? run->output : "");
}

int cli_embed(struct cli *cli)
{
    struct embedding e = {.run = {.cli = cli,
                                  .task = &cli_embed_task,
                                  .check = check,
                                  .ready = measure,
                                  .indexed = true,
                                  .length = "residues",
                                  .copies = true,
                                  .describe = describe,
                                  .ahead = look_ahead,
                                  .take = take,
                                  .strict_status = true,
                                  .records = "records",
                                  .result = "result",
                                  .say = say,
                                  .tokens_of = "logits"}};
    const int code = cli_run(&e.run);
    cli_output_close(&e.tokens);
    free(e.path);
    return code;
}

/* embed.c - `bioinfer MODEL INPUT`: records in, one result each, a file out. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_STATUSES 32 /* record statuses are small negative numbers */

struct run {
    struct cli *cli;
    bioinfer_writer *writer;
    enum cli_stage stage; /* of the failure that stopped the run */
    uint64_t n_records, n_failed, n_residues;
    uint64_t by_status[N_STATUSES];
};

/* ---- where results go ---- */

static bool is_text(const char *format)
{
    return format && (!strcmp(format, "tsv") || !strcmp(format, "jsonl"));
}

static bool known_format(const char *format)
{
    char list[128] = "";
    const char *name;

    for (int i = 0; (name = bioinfer_writer_format(i)); i++) {
        if (!strcmp(name, format))
            return true;
        if (strlen(list) + strlen(name) + 3 < sizeof list)
            strcat(strcat(list, *list ? ", " : ""), name);
    }
    cli_say(NULL, "--format: '%s' is not one of %s", format, list);
    return false;
}

static bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;

    return !stat(a, &sa) && !stat(b, &sb) && S_ISREG(sa.st_mode) &&
           sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* The path of the output as a new string, "-" = standard output. NULL: said why. */
static char *output_path(struct cli *cli, int *code)
{
    const struct cli_options *o = cli->options;
    const char *format = o->format ? o->format : "npz";
    bool from_stdin = !strcmp(o->input, "-");
    const char *model = o->model ? o->model : "embed"; /* the weights say which it is */
    size_t size = strlen(o->input) + strlen(model) + strlen(format) + 3;
    char *path;

    *code = CLI_EXIT_USAGE;
    if (o->format && !known_format(o->format))
        return NULL;
    if (o->output && !strcmp(o->output, "-") && !is_text(o->format)) {
        cli_say(cli, "standard output takes --format tsv or jsonl");
        return NULL;
    }
    if (!o->output && !is_text(o->format) && from_stdin) {
        cli_say(cli, "reading standard input: name the output with -o, or use --format "
                     "tsv or jsonl");
        return NULL;
    }
    if (o->output && !from_stdin && same_file(o->output, o->input)) {
        cli_say(cli, "%s: output and input are the same file", o->output);
        return NULL;
    }
    *code = CLI_EXIT_NO_MEMORY;
    if (o->output)
        size = strlen(o->output) + 1;
    if (!(path = malloc(size)))
        return NULL;
    if (o->output)
        strcpy(path, o->output);
    else if (is_text(o->format))
        strcpy(path, "-");
    else
        snprintf(path, size, "%s.%s.%s", o->input, model, format);
    *code = CLI_EXIT_OK;
    return path;
}

/* ---- the run ---- */

static int next_record(void *user, struct bioinfer_record *record,
                       struct bioinfer_error *err)
{
    struct run *run = user;
    struct cli *cli = run->cli;
    int st;

    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    st = bioinfer_reader_next(cli->reader, record, err);
    if (st < 0)
        run->stage = CLI_AT_READ;
    else if (st > 0 && !record->status)
        cli->progress.read_residues += record->length;
    return st;
}

static int take_result(void *user, const struct bioinfer_result *result,
                       struct bioinfer_error *err)
{
    struct run *run = user;
    int st;

    run->n_records++;
    if (result->status) {
        run->n_failed++;
        run->by_status[(unsigned)-result->status % N_STATUSES]++;
        cli_say(run->cli, "%s: no result: %s%s%s", result->id,
                bioinfer_status_name(result->status), *result->message ? ": " : "",
                result->message);
        if (run->cli->options->strict) {
            run->stage = CLI_AT_READ;
            err->status = result->status;
            snprintf(err->text, sizeof err->text, "--strict: stopped, nothing written");
            return result->status;
        }
    } else {
        run->n_residues += (uint64_t)result->length;
    }
    st = bioinfer_writer_put(run->writer, result, err);
    if (st)
        run->stage = CLI_AT_WRITE;
    return st;
}

static void say_failed(struct run *run, const char *path)
{
    char text[256] = "", list[4096];
    size_t used = 0;

    for (unsigned s = 1; s < N_STATUSES; s++)
        if (run->by_status[s] && used < sizeof text)
            used += (size_t)snprintf(
                text + used, sizeof text - used, "%s%llu %s", used ? ", " : "",
                (unsigned long long)run->by_status[s], bioinfer_status_name(-(int)s));
    snprintf(list, sizeof list, "%.4000s.failed.tsv", path);
    cli_say(run->cli, "%llu of %llu records have no result: %s%s%s",
            (unsigned long long)run->n_failed, (unsigned long long)run->n_records, text,
            access(list, F_OK) ? "" : "; see ", access(list, F_OK) ? "" : list);
}

static void say_summary(struct run *run, const char *path)
{
    const struct cli *cli = run->cli;
    double seconds = cli_now() - cli->progress.start;

    if (cli->options->quiet)
        return;
    cli_say(run->cli,
            "%llu records, %llu residues in %.2f s (%.0f residues/s), model %s from "
            "%s, %s %s %s%s%s",
            (unsigned long long)(run->n_records - run->n_failed),
            (unsigned long long)run->n_residues, seconds,
            (double)run->n_residues / (seconds > 0 ? seconds : 1), cli->info.name,
            cli->info.path, cli->info.device, cli->info.kernels, cli->info.precision,
            strcmp(path, "-") ? " -> " : "", strcmp(path, "-") ? path : "");
}

/* ---- --dump-graph and --trace-rules: for the first record, instead of a run ---- */

static int dump(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_record record = {0};
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st = bioinfer_reader_next(cli->reader, &record, &err);

    if (st < 0)
        return cli_fail(cli, CLI_AT_READ, st, &err);
    if (!st || record.status) {
        cli_say(cli, "%s: %s", cli->input_name, st ? record.message : "no records");
        return CLI_EXIT_DATA;
    }
    cli_output_open(&out, NULL, &err);
    st = bioinfer_session_dump(cli->session, (int64_t)record.length,
                               !o->dump_graph || strcmp(o->dump_graph, "plain"),
                               o->trace_rules, cli_output_callback, &out, &err);
    if (st && !out.status)
        return cli_fail(cli, CLI_AT_RUN, st, &err);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

int cli_embed(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli, .stage = CLI_AT_RUN};
    struct bioinfer_writer_params params = BIOINFER_PARAMS(
        struct bioinfer_writer_params, .format = o->format,
        .suffix_duplicates = o->dup_ids && !strcmp(o->dup_ids, "suffix"),
        .json_floats = o->json_floats);
    struct bioinfer_error err = {0};
    bool dumping = o->dump_graph || o->trace_rules;
    unsigned include = o->include;
    char *path = NULL;
    int st, code = CLI_EXIT_OK;

    if (!dumping && !(path = output_path(cli, &code)))
        return code;
    if (!include && is_text(o->format))
        include = BIOINFER_MEAN;
    if ((code = cli_open_context(cli)) || (code = cli_open_reader(cli)) ||
        (code = cli_open_model(cli)) || (code = cli_open_session(cli, include)))
        goto out;
    if (dumping) {
        code = dump(cli);
        goto out;
    }
    params.model = cli->info.name;
    params.fingerprint = cli->info.fingerprint;
    if ((st = bioinfer_writer_open(&run.writer, cli->ctx, path, &params, &err))) {
        code = cli_fail(cli, CLI_AT_CREATE, st, &err);
        goto out;
    }
    cli->progress.reader = cli->reader;
    cli_progress_start(cli);
    st = bioinfer_session_run(cli->session, next_record, &run, take_result, &run, &err);
    cli_progress_end(cli);
    if (st) {
        code = cli_fail(cli, cli_stop_signal() ? CLI_AT_RUN : run.stage, st, &err);
        goto out;
    }
    if (!run.n_records) {
        cli_say(cli, "%s: no records", cli->input_name);
        code = CLI_EXIT_DATA;
        goto out;
    }
    if ((st = bioinfer_writer_finish(run.writer, &err))) {
        code = cli_fail(cli, CLI_AT_WRITE, st, &err);
        goto out;
    }
    if (o->profile)
        cli_print_profile(cli);
    say_summary(&run, path);
    if (run.n_failed) {
        say_failed(&run, path);
        code = CLI_EXIT_RECORDS;
    }
out:
    bioinfer_writer_close(&run.writer);
    free(path);
    return code;
}

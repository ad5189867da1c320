/* main.c - dispatch, exit codes, signals and messages of the command.
 *
 * Standard output carries results only; every word goes to standard error. The first
 * SIGINT or SIGTERM asks the run to stop at the next batch, the second ends at once. */
#include "options.h"
#include "pool/worker.h"

#include "../writers/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    if (stop_signal)
        _exit(128 + number);
    stop_signal = number;
}

int cli_stop_signal(void)
{
    return stop_signal;
}

static void install_signals(void)
{
    struct sigaction action = {0}, old;
    static const int stops[] = {SIGINT, SIGTERM};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < CLI_COUNT(stops); i++) {
        /* a shell starts background jobs with SIGINT ignored: leave it so */
        if (!sigaction(stops[i], NULL, &old) && old.sa_handler == SIG_IGN)
            continue;
        action.sa_handler = on_signal;
        sigaction(stops[i], &action, NULL);
    }
    action.sa_handler = SIG_IGN; /* a closed pipe is a status, not a death */
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL); /* so is a file size limit */
}

/* If a standard stream is closed, the next file opened would take its number, and
 * messages would land in the output. What is opened instead refuses the use, as a
 * closed one does. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            _exit(CLI_EXIT_IO);
}

void (*cli_say_hook)(const char *text);
void (*cli_note_hook)(const char *text);

/* Whether words are lines of JSON: --log-json, which is looked for before anything can be said. */
static bool log_json;

/* Says a line as {"time": ..., "level": ..., "message": ...}. */
static void say_json(const char *level, const char *text)
{
    const struct bi_env env = bi_env_default();
    struct bi_buf line = {.env = &env};
    const time_t now = time(NULL);
    struct tm t;
    char when[32] = "";

    if (!strncmp(text, "warning: ", 9)) {
        level = "warning";
        text += 9;
    }
    if (gmtime_r(&now, &t))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &t);
    bi_buf_printf(&line, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", when, level);
    bi_put_json(&line, text);
    bi_buf_puts(&line, "}\n");
    if (!line.failed)
        fwrite(line.data, 1, line.size, stderr);
    bi_buf_free(&line);
}

static void put_words(void *user, const char *text, size_t n)
{
    fwrite(text, 1, n, user);
}

void cli_say(struct cli *cli, const char *fmt, ...)
{
    va_list args;
    char text[4096]; /* an id may be longer than anybody reads */

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (cli_say_hook) {
        cli_say_hook(text);
        return;
    }
    if (log_json) {
        say_json(!cli || cli->failing ? "error" : "info", text);
        return;
    }
    if (cli)
        cli_progress_clear(cli);
    flockfile(stderr);
    fputs("bioinfer: ", stderr);
    cli_escape(put_words, stderr, text, strlen(text));
    fputc('\n', stderr);
    funlockfile(stderr);
}

void cli_say_lost(struct cli *cli, const char *fmt, ...)
{
    enum { NAMED = 10 };
    char text[4096];
    va_list args;

    if (!cli->options->strict && (cli->options->quiet || cli->n_told++ >= NAMED)) {
        if (!cli->options->quiet && cli->n_told == NAMED + 1)
            cli_say(cli, "further records without a result are counted, not named");
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cli_say(cli, "%s", text);
}

static int exit_of(enum cli_stage stage, int status)
{
    switch (status) { /* the same at every stage */
    case BIOINFER_OK:
        return CLI_EXIT_OK;
    case BIOINFER_NOMEM:
        return CLI_EXIT_NO_MEMORY;
    case BIOINFER_CANCELLED:
        return stop_signal ? 128 + stop_signal : CLI_EXIT_INTERRUPTED;
    case BIOINFER_CLOSED_PIPE:
        return CLI_EXIT_CLOSED_PIPE;
    case BIOINFER_NO_SPACE:
        return CLI_EXIT_IO;
    case BIOINFER_DEVICE:
    case BIOINFER_DEVICE_LOST:
        return CLI_EXIT_NO_DEVICE;
    case BIOINFER_FORKED:
    case BIOINFER_MISUSE:
    case BIOINFER_INTERNAL:
        return CLI_EXIT_INTERNAL;
    }
    switch (stage) {
    case CLI_AT_SETUP:
        return status == BIOINFER_INVALID ? CLI_EXIT_USAGE : CLI_EXIT_NO_DEVICE;
    case CLI_AT_INPUT:
        return status == BIOINFER_NOT_FOUND || status == BIOINFER_IO ? CLI_EXIT_NO_INPUT
                                                                     : CLI_EXIT_DATA;
    case CLI_AT_MODEL:
        return CLI_EXIT_WEIGHTS;
    case CLI_AT_CONFIG:
        return status == BIOINFER_LIMIT ? CLI_EXIT_NO_MEMORY : CLI_EXIT_USAGE;
    case CLI_AT_CREATE:
        return status == BIOINFER_INVALID || status == BIOINFER_UNSUPPORTED ? CLI_EXIT_USAGE
                                                                            : CLI_EXIT_NO_OUTPUT;
    case CLI_AT_READ:
        return status == BIOINFER_IO ? CLI_EXIT_IO : CLI_EXIT_DATA;
    case CLI_AT_RUN:
        return status == BIOINFER_LIMIT   ? CLI_EXIT_NO_MEMORY
               : status == BIOINFER_IO    ? CLI_EXIT_IO
               : status <= BIOINFER_EMPTY ? CLI_EXIT_DATA
                                          : CLI_EXIT_INTERNAL;
    case CLI_AT_WRITE: /* INVALID: this format cannot hold what --include asks for */
        return status == BIOINFER_INVALID || status == BIOINFER_UNSUPPORTED ? CLI_EXIT_USAGE
               : status == BIOINFER_IO || status == BIOINFER_NOT_FOUND      ? CLI_EXIT_IO
                                                                            : CLI_EXIT_DATA;
    }
    return CLI_EXIT_INTERNAL;
}

/* A word as a shell takes it. */
static bool put_word(char *text, size_t size, const char *word)
{
    size_t n = strlen(text);
    bool plain = *word && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789@%+=:,./_-") == strlen(word);

    if (n && n < size)
        text[n++] = ' ';
    if (!plain && n < size)
        text[n++] = '\'';
    for (; *word && n + 6 < size; word++) {
        const char *put = *word == '\'' ? "'\\''" : (char[2]){*word, 0};
        memcpy(text + n, put, strlen(put));
        n += strlen(put);
    }
    if (!plain && n < size)
        text[n++] = '\'';
    text[n < size ? n : size - 1] = '\0';
    return !*word && n < size;
}

/* The command as it was given, with more options. */
static void say_again(struct cli *cli, const char *options)
{
    const struct cli_options *o = cli->options;
    char text[3000] = "";
    bool whole = true;

    for (int i = 0; i < o->argc && whole; i++)
        whole = put_word(text, sizeof text, o->argv[i]);
    if (whole)
        cli_say(cli, "with a suffix they differ: %s %s", text, options);
    else
        cli_say(cli, "the same command with %s makes them differ", options);
}

int cli_fail(struct cli *cli, enum cli_stage stage, int status, const struct bioinfer_error *err)
{
    const char *text = err && err->text[0]        ? err->text
                       : status == BIOINFER_NOMEM ? "out of memory"
                                                  : bioinfer_status_name(status);
    const char *resume = cli ? cli->options->resume : NULL;
    int code = exit_of(stage, status);

    if (cli)
        cli->failing = true;
    if (status == BIOINFER_CANCELLED)
        cli_say(cli, "stopped by %s", stop_signal == SIGTERM ? "SIGTERM" : "SIGINT");
    else if (status == BIOINFER_NOMEM && !strstr(text, "memory") && !strstr(text, strerror(EMFILE)))
        cli_say(cli, "out of memory: %s", text);
    else if (code != CLI_EXIT_CLOSED_PIPE) /* nobody reads on: the exit code says it */
        cli_say(cli, "%s", text);
    if (cli && status == BIOINFER_DUPLICATE_ID)
        say_again(cli, cli->kept && (!resume || !strcmp(resume, "no")) ? "--dup-ids suffix --resume"
                                                                       : "--dup-ids suffix");
    if (cli)
        cli->failing = false;
    return code;
}

int cli_no_memory(struct cli *cli, const char *what)
{
    cli_say(cli, "out of memory for %s", what);
    return CLI_EXIT_NO_MEMORY;
}

static void on_log(void *user, int level, const char *text)
{
    struct cli *cli = user;

    if (cli_note_hook && (level == BIOINFER_LOG_NAMED || level == BIOINFER_LOG_ERROR))
        cli_note_hook(text);
    if (level == BIOINFER_LOG_ERROR) { /* results are there, but not all that there should be */
        cli->lost_data = true;
        cli_say(cli, "%s", text);
    } else if (!cli->options->quiet && !cli->hushed)
        cli_say(cli, "%s%s", level == BIOINFER_LOG_INFO ? "" : "warning: ", text);
}

int cli_open_context(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_context_params params = BIOINFER_PARAMS(
        struct bioinfer_context_params, .log = on_log, .log_user = cli,
        .n_threads = (int)o->threads, .cpu_mask = o->cpu_mask);
    struct bioinfer_error err = {0};
    int st = bioinfer_context_new(&cli->ctx, &params, &err);

    return st ? cli_fail(cli, CLI_AT_SETUP, st, &err) : CLI_EXIT_OK;
}

/* One protein of FEWEST residues among 10^12 has none but these letters. */
static bool looks_like_nucleotides(const struct bioinfer_record *r)
{
    enum { FEWEST = 20 };

    return r->length >= FEWEST && strspn(r->sequence, "ACGTUN") == r->length;
}

static struct bioinfer_reader_params reader_params(const struct cli_options *o, uint64_t longest)
{
    return BIOINFER_PARAMS(struct bioinfer_reader_params,
                           .residues = o->raw_residues ? BIOINFER_RESIDUES_RAW
                                                       : BIOINFER_RESIDUES_DEFAULT,
                           .max_length = longest);
}

/* Reads the next record of all inputs, one behind the other, which count on. */
static int next_of_inputs(struct cli *cli, struct bioinfer_record *record,
                          struct bioinfer_error *err)
{
    struct cli_paths *p = &cli->inputs;
    int st;

    while (!(st = bioinfer_reader_next(cli->reader, record, err)) && cli->at_input + 1 < p->n) {
        const struct bioinfer_reader_params params = reader_params(cli->options,
                                                                   BIOINFER_MAX_RESIDUES);
        bioinfer_reader_close(&cli->reader);
        cli->first_ordinal = cli->next_ordinal;
        cli->input_name = p->of[++cli->at_input];
        if ((st = bioinfer_reader_open(&cli->reader, cli->ctx, cli->input_name, &params, err)))
            return st;
    }
    if (st > 0) {
        record->ordinal += cli->first_ordinal;
        cli->next_ordinal = record->ordinal + 1;
    }
    return st;
}

int cli_next_protein(struct cli *cli, struct bioinfer_record *record, struct bioinfer_error *err)
{
    const int st = next_of_inputs(cli, record, err);

    if (st > 0 && !record->status && !cli->told_nucleotides && !cli->options->quiet &&
        looks_like_nucleotides(record) &&
        cli_letters_of(cli->info.family) != BIOINFER_LETTERS_BASES) {
        cli->told_nucleotides = true;
        cli_say(cli,
                "warning: %s, %s: all letters are A, C, G, T, U or N, as of nucleotides; they "
                "are taken for amino acids",
                cli->input_name, record->id);
    }
    return st;
}

int cli_open_reader(struct cli *cli, uint64_t longest)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_reader_params params = reader_params(o, longest);
    struct bioinfer_error err = {0};
    const char *path = o->input;
    int st, code;

    if (o->command & CLI_BOTH) {
        if (!cli->inputs.n && (code = cli_sequences_find(cli, &cli->inputs)))
            return code;
        path = cli->inputs.of[0];
    }
    cli->input_name = strcmp(path, "-") ? path : "standard input";
    st = bioinfer_reader_open(&cli->reader, cli->ctx, path, &params, &err);
    return st ? cli_fail(cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

/* A device that is not there is told apart from broken weights before they are opened.
 */
int cli_check_device(struct cli *cli)
{
    const char *name = cli->options->device;
    char known[256] = "auto";
    struct bioinfer_device device;

    if (!name || !strcmp(name, "auto"))
        return CLI_EXIT_OK;
    /* Opening a GPU takes tenths of a second, so it is done once, for the model. `reference`, the
     * definitions of the ops, is for checks (tools/same.py) and stands in no list. */
    if (!strncmp(name, "cuda:", 5) || !strncmp(name, "hip:", 4) || !strcmp(name, "reference"))
        return CLI_EXIT_OK;
    for (int i = 0;; i++) {
        memset(&device, 0, sizeof device);
        device.struct_size = sizeof device;
        if (bioinfer_device_get(cli->ctx, i, &device))
            break;
        if (!strcmp(device.name, name)) {
            if (device.usable)
                return CLI_EXIT_OK;
            cli_say(cli, "--device %s: %s", name, device.reason);
            return CLI_EXIT_NO_DEVICE;
        }
        if (device.usable && strlen(known) + strlen(device.name) + 3 < sizeof known)
            strcat(strcat(known, ", "), device.name);
    }
    cli_say(cli, "--device %s: no such device, expected one of: %s", name, known);
    return CLI_EXIT_NO_DEVICE;
}

/* Is the CPU the only device that a run with this --device can get? */
static bool cpu_alone(struct cli *cli)
{
    const char *name = cli->options->device;
    struct bioinfer_device device;

    if (name && strcmp(name, "auto"))
        return !strcmp(name, "cpu");
    for (int i = 0;; i++) {
        memset(&device, 0, sizeof device);
        device.struct_size = sizeof device;
        if (bioinfer_device_get(cli->ctx, i, &device))
            return true;
        if (device.usable && strcmp(device.name, "cpu"))
            return false;
    }
}

int cli_open_model(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_model_params params = BIOINFER_PARAMS(
        struct bioinfer_model_params, .family = o->model, .device = o->device,
        .precision = o->precision, .check_weights = o->check_weights,
        .window = o->command == CLI_SCORE ? 0 : o->window, .positions = o->positions,
        .rope_frequencies = o->rope_frequencies, .factor_order = o->factor_order,
        .strict_pickle = o->strict_pickle, .verify = o->verify,
        .head = o->command & (CLI_EMBED | CLI_SERVE) ? o->head : NULL, .adapter = o->adapter,
        .ensemble = o->ensemble, .n_ensemble = o->n_ensemble);
    struct bioinfer_error err = {0};
    int st, code = cli_check_device(cli);

    if (code)
        return code;
    if (o->precision && !strcmp(o->precision, "fp16") && cpu_alone(cli)) {
        cli_say(cli, "--precision fp16 needs a GPU: the CPU computes in fp32");
        return CLI_EXIT_USAGE;
    }
    st = bioinfer_model_open(&cli->model, cli->ctx, o->weights, &params, &err);
    if (st)
        return cli_fail(cli, CLI_AT_MODEL, st, &err);
    cli->info.struct_size = sizeof cli->info;
    st = bioinfer_model_get_info(cli->model, &cli->info);
    return st ? cli_fail(cli, CLI_AT_MODEL, st, NULL) : CLI_EXIT_OK;
}

int cli_fingerprint(struct cli *cli)
{
    struct bioinfer_error err = {0};
    int st;

    if (cli->fingerprint) /* from workers, or from before */
        return CLI_EXIT_OK;
    st = cli->sequences ? bioinfer_task_prepare(cli->sequences, &err) : 0;
    if (!st)
        st = bioinfer_model_fingerprint(cli->model, &cli->fingerprint, &err);
    return st ? cli_fail(cli, CLI_AT_MODEL, st, &err) : CLI_EXIT_OK;
}

int cli_sign_first(struct cli *cli, struct bioinfer_writer_params *params,
                   struct bioinfer_error *err)
{
    int st = 0;

    if (!params->format || strcmp(params->format, "safetensors"))
        return 0; /* others end with it, and weights are summed up meanwhile */
    if (!cli->fingerprint)
        st = bioinfer_model_fingerprint(cli->model, &cli->fingerprint, err);
    params->fingerprint = cli->fingerprint;
    return st;
}

int cli_sign(struct cli *cli, bioinfer_writer *writer)
{
    struct bioinfer_error err = {0};
    int st, code = cli_fingerprint(cli);

    if (code)
        return code;
    st = bioinfer_writer_set_fingerprint(writer, cli->fingerprint, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

void cli_close(struct cli *cli)
{
    bioinfer_task_close(&cli->sequences);
    bioinfer_model_close(&cli->model);
    bioinfer_reader_close(&cli->reader);
    cli_paths_free(&cli->inputs);
    bioinfer_index_close(&cli->index);
    bioinfer_context_free(&cli->ctx);
}

/* Stdio still holds a part of the result: a failure to flush it must be heard. */
static int flush_stdout(int code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    return code ? code : CLI_EXIT_IO;
}

/* Gives the task that the workers of a command compute. */
static const struct cli_task *task_of(int command)
{
    return command == CLI_SCORE      ? &cli_score_task
           : command == CLI_DESIGN   ? &cli_design_task
           : command == CLI_TRACKS   ? &cli_tracks_task
           : command == CLI_ALIGN    ? &cli_align_task
           : command == CLI_AFFINITY ? &cli_affinity_task
           : command == CLI_ENERGY   ? &cli_energy_task
                                     : &cli_embed_task;
}

/* Runs the command, or one of its workers; returns an exit code. */
static int run_command(struct cli *cli, const char *worker)
{
    switch (worker ? 0 : cli->options->command) {
    case 0:
        return cli_worker(cli, task_of(cli->options->command), worker);
    case CLI_SCORE:
        return cli_score(cli);
    case CLI_TRACKS:
        return cli_tracks(cli);
    case CLI_DESIGN:
        return cli_design(cli);
    case CLI_AFFINITY:
        return cli_affinity(cli);
    case CLI_ENERGY:
        return cli_energy(cli);
    case CLI_INFO:
        return cli_info(cli);
    case CLI_REPORT:
    case CLI_PLOT:
        return cli_report(cli);
    case CLI_MD:
    case CLI_RELAX:
        return cli_motion(cli);
    case CLI_MOLECULE:
        return cli_molecule(cli);
    case CLI_ALIGN:
        return cli_align(cli);
    case CLI_DEVICES:
        return cli_devices(cli);
    case CLI_MERGE:
        return cli_merge(cli);
    case CLI_INDEX:
        return cli_index(cli);
    case CLI_SERVE:
        return cli_serve(cli);
    default:
        return cli_embed(cli);
    }
}

int main(int argc, char **argv)
{
    static struct cli_options options;
    struct cli cli = {.options = &options};
    int code;

    const char *worker = NULL;

    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        log_json = log_json || !strcmp(argv[i], "--log-json");
    hold_standard_streams();
    install_signals();
    if (argc > 1 && !strncmp(argv[1], "--worker=", 9)) { /* started by pool.c */
        worker = argv[1] + 9;
        argv[1] = argv[0];
        argv++;
        argc--;
    }
    if (!cli_parse(&options, argc, argv)) {
        code = options.words ? CLI_EXIT_USAGE : CLI_EXIT_NO_MEMORY;
        free(options.words);
        return code;
    }
    if (options.help) {
        cli_help(&options);
        free(options.words);
        return flush_stdout(CLI_EXIT_OK);
    }
    if (options.models) {
        code = cli_models(&cli);
        cli_close(&cli);
        free(options.words);
        return flush_stdout(code);
    }
    if (options.license) {
        code = cli_license(&cli);
        cli_close(&cli);
        free(options.words);
        return flush_stdout(code);
    }
    if (options.completion) {
        const bool known = cli_completion(options.completion);
        if (!known)
            cli_say(NULL, "completion: '%s' is not one of bash|zsh|fish", options.completion);
        free(options.words);
        return flush_stdout(known ? CLI_EXIT_OK : CLI_EXIT_USAGE);
    }
    if (options.version) {
        printf("bioinfer %s\n", bioinfer_version());
        free(options.words);
        return flush_stdout(CLI_EXIT_OK);
    }
    code = run_command(&cli, worker);
    if (!code && cli.lost_data && !worker && options.command != CLI_SERVE)
        code = CLI_EXIT_RECORDS;
    cli_close(&cli);
    free(options.words);
    return flush_stdout(code);
}

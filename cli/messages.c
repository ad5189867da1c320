/* messages.c - words of the command on standard error, and the exit codes of failures. */
#include "options.h"

#include "../writers/text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void (*cli_say_hook)(const char *text);
void (*cli_note_hook)(const char *text);

static bool log_json;

void cli_say_as_json(void)
{
    log_json = true;
}

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
        return cli_stop_signal() ? 128 + cli_stop_signal() : CLI_EXIT_INTERRUPTED;
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
        cli_say(cli, "stopped by %s", cli_stop_signal() == SIGTERM ? "SIGTERM" : "SIGINT");
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

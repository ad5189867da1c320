/* main.c - from the command line to the command, and the signals that stop it.
 *
 * Standard output carries results only; every word goes to standard error. The first
 * SIGINT or SIGTERM asks the run to stop at the next batch, the second ends at once. */
#include "options.h"
#include "pool/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
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

/* Stdio still holds a part of the result: a failure to flush it must be heard. */
static int flush_stdout(int code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    return code ? code : CLI_EXIT_IO;
}

/* Runs the command, or one of its workers; returns an exit code. */
static int run_command(struct cli *cli, const char *worker)
{
    const struct cli_subcommand *command = cli_subcommand_of(cli->options->command);
    int code;
    if (worker && !command->task) {
        cli_say(cli, "`bioinfer %s` has no workers", command->name);
        return CLI_EXIT_USAGE;
    }
    if (worker)
        return cli_worker(cli, command->task, worker);
    code = command->run(cli);
    return !code && cli->lost_data && command->command != CLI_SERVE ? CLI_EXIT_RECORDS : code;
}

static int print_completion(const char *shell)
{
    if (cli_completion(shell))
        return CLI_EXIT_OK;
    cli_say(NULL, "completion: '%s' is not one of bash|zsh|fish", shell);
    return CLI_EXIT_USAGE;
}

/* Runs what the options ask for; returns an exit code. */
static int run(struct cli *cli, const char *worker)
{
    const struct cli_options *o = cli->options;
    if (o->help)
        cli_help(o);
    else if (o->models)
        return cli_models(cli);
    else if (o->license)
        return cli_license(cli);
    else if (o->completion)
        return print_completion(o->completion);
    else if (o->version)
        printf("bioinfer %s\n", bioinfer_version());
    else
        return run_command(cli, worker);
    return CLI_EXIT_OK;
}

int main(int argc, char **argv)
{
    static struct cli_options options;
    struct cli cli = {.options = &options};
    const char *worker = NULL;
    int code;
    clock_gettime(CLOCK_REALTIME, &cli.began);
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--log-json"))
            cli_say_as_json(); /* before anything is said */
    hold_standard_streams();
    install_signals();
    if (argc > 1 && !strncmp(argv[1], "--worker=", 9)) { /* started by pool.c */
        worker = argv[1] + 9;
        argv[1] = argv[0];
        argv++;
        argc--;
    }
    if (cli_parse(&options, argc, argv))
        code = flush_stdout(run(&cli, worker));
    else
        code = options.words ? CLI_EXIT_USAGE : CLI_EXIT_NO_MEMORY;
    cli_close(&cli);
    cli_options_free(&options);
    return code;
}

/* pool_devices.c - the workers that --device and --workers ask for. */
#define _GNU_SOURCE
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool cli_pool_wanted(const struct cli_options *o)
{
    const char *d = o->device;
    if (o->dump_graph || o->trace_rules)
        return false;
    return o->workers || (d && strcmp(d, "auto") && strcmp(d, "cpu"));
}

static int add_workers(struct cli_pool *p, const char *device, size_t n)
{
    int64_t count = p->cli->options->workers ? p->cli->options->workers : 1;
    if (n == 4 && !memcmp(device, "auto", 4)) {
        device = "cpu";
        n = 3;
    }
    if (!n || n >= sizeof p->workers[0].device || memchr(device, '/', n)) {
        cli_say(p->cli, "--device: '%.*s' is not the name of a device", (int)n, device);
        return CLI_EXIT_NO_DEVICE;
    }
    for (int i = 0; i < p->n_workers; i++)
        if (strlen(p->workers[i].device) == n && !memcmp(p->workers[i].device, device, n)) {
            cli_say(p->cli, "--device: %.*s is there twice; --workers starts several", (int)n,
                    device);
            return CLI_EXIT_USAGE;
        }
    if (count > CLI_MAX_WORKERS - p->n_workers) {
        cli_say(p->cli, "--workers: more than %d in all", CLI_MAX_WORKERS);
        return CLI_EXIT_USAGE;
    }
    for (; count > 0; count--)
        memcpy(p->workers[p->n_workers++].device, device, n);
    return CLI_EXIT_OK;
}

/* --device all: what `bioinfer devices` says in a process of its own. */
static int add_all(struct cli_pool *p)
{
    char *argv[] = {p->cli->options->argv[0], "devices", NULL};
    posix_spawn_file_actions_t actions;
    int out[2], code = CLI_EXIT_OK, e;
    char line[512], *tab;
    pid_t pid;
    FILE *f;
    if (pipe2(out, O_CLOEXEC)) {
        cli_say(p->cli, "--device all: cannot list the devices: %s", strerror(errno));
        return CLI_EXIT_NO_DEVICE;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    e = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    if (e || !(f = fdopen(out[0], "r"))) {
        close(out[0]);
        cli_say(p->cli, "--device all: cannot list the devices: %s", strerror(e ? e : errno));
        return CLI_EXIT_NO_DEVICE;
    }
    while (!code && fgets(line, sizeof line, f))
        if ((tab = strchr(line, '\t')) && !strncmp(tab, "\tyes\t", 5) && strncmp(line, "cpu\t", 4))
            code = add_workers(p, line, (size_t)(tab - line));
    fclose(f);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return code || p->n_workers ? code : add_workers(p, "cpu", 3);
}

int cli_pool_devices(struct cli_pool *p)
{
    const struct cli_options *o = p->cli->options;
    const char *d = o->device ? o->device : "cpu";
    int code = CLI_EXIT_OK, on_cpu = 0, threads;
    if (!strcmp(d, "all"))
        code = add_all(p);
    else
        for (; d && !code; d = strchr(d, ',') ? strchr(d, ',') + 1 : NULL)
            code = add_workers(p, d, strcspn(d, ","));
    if (code)
        return code;
    for (int i = 0; i < p->n_workers; i++)
        on_cpu += !strcmp(p->workers[i].device, "cpu");
    /* workers on the CPU share its threads; a GPU needs few */
    threads = bioinfer_context_threads(p->cli->ctx);
    for (int i = 0; i < p->n_workers; i++) {
        int n = threads / (on_cpu ? on_cpu : p->n_workers);
        p->workers[i].threads = n > 0 ? n : 1;
    }
    return CLI_EXIT_OK;
}

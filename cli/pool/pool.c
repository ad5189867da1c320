/* pool.c - the loop of the pool of worker processes, its beginning and its end. */
#include "pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { WATCHDOG = 600 }; /* seconds */

/* ---- the loop ---- */

static int feed(struct cli_pool *p, struct cli_pool_worker *w)
{
    while (w->ready && w->n_chunks < CLI_AHEAD && !p->status) {
        struct cli_chunk *c = p->again;
        if (c)
            p->again = c->again;
        else if (!(c = cli_pool_new_chunk(p)))
            return 0;
        if (!cli_pool_put_chunk(w, c))
            return cli_pool_no_memory(p);
        if (!w->n_chunks) {
            c->begun = cli_now();
            w->heard = c->begun; /* the watchdog counts from here */
        }
        w->chunks[w->n_chunks++] = c;
    }
    return 0;
}

/* Polls once; workers that are due are started, silent ones ended. */
static int turn(struct cli_pool *p)
{
    struct pollfd fds[2 * CLI_MAX_WORKERS];
    struct cli_pool_worker *of[2 * CLI_MAX_WORKERS];
    double now = cli_now(), wait = 0.2;
    int n = 0, st = 0, alive = 0;
    for (int i = 0; i < p->n_workers; i++) {
        struct cli_pool_worker *w = &p->workers[i];
        if (w->given_up)
            continue;
        alive++;
        if (!w->pid && w->start_at > now) {
            wait = w->start_at - now < wait ? w->start_at - now : wait;
            continue;
        }
        if (!w->pid && (st = cli_pool_spawn(p, w)))
            return st;
        if ((w->n_chunks || !w->ready) && now - w->heard > p->watchdog && !w->hung) {
            w->hung = true;
            kill(w->pid, SIGKILL);
        }
        fds[n] = (struct pollfd){.fd = w->from, .events = POLLIN};
        of[n++] = w;
        if (w->out_size) {
            fds[n] = (struct pollfd){.fd = w->to, .events = POLLOUT};
            of[n++] = w;
        }
    }
    if (!alive) {
        snprintf(p->err.text, sizeof p->err.text, "no device is left");
        return p->status = BIOINFER_DEVICE_LOST;
    }
    if (poll(fds, (nfds_t)n, (int)(wait * 1000) + 1) < 0 && errno != EINTR)
        return p->status = BIOINFER_INTERNAL;
    for (int i = 0; i < n && !p->status; i++) {
        struct cli_pool_worker *w = of[i];
        if (!fds[i].revents || !w->pid)
            continue;
        if (fds[i].fd == w->to)
            cli_pool_write(w);
        else if (!cli_pool_read(p, w) && !p->status && (st = cli_pool_ended(p, w)) && !p->status)
            p->status = st;
    }
    return p->status;
}

static bool busy(const struct cli_pool *p)
{
    if (p->again || p->first)
        return true;
    for (int i = 0; i < p->n_workers; i++)
        if (p->workers[i].n_chunks)
            return true;
    return false;
}

int cli_pool_run(struct cli_pool *p, const struct cli_run_io *io, struct bioinfer_error *err)
{
    int st = 0;
    p->io = io;
    while (!p->status) {
        if (cli_progress_tick(p->cli, p->cli->progress.records, p->cli->progress.residues)) {
            p->status = BIOINFER_CANCELLED;
            break;
        }
        for (int i = 0; i < p->n_workers && !p->status; i++)
            feed(p, &p->workers[i]);
        if (p->ended && !busy(p) && !(io->pending && io->pending(io->user)))
            break;
        turn(p);
    }
    /* an input that fails in its middle: what came before is still computed */
    if (p->broken && p->status != BIOINFER_CANCELLED) {
        struct bioinfer_error kept = p->err;
        st = p->status;
        p->status = 0;
        while (!p->status && busy(p) && !cli_stop_signal()) {
            for (int i = 0; i < p->n_workers && p->again; i++)
                feed(p, &p->workers[i]);
            turn(p);
        }
        p->status = st;
        p->err = kept;
    }
    *err = p->err;
    return p->status;
}

/* ---- open and close ---- */

int cli_pool_open(struct cli_pool **out, struct cli *cli, const struct cli_task *task)
{
    struct cli_pool *p = calloc(1, sizeof *p);
    int code, st = 0;
    *out = p;
    if (!p)
        return cli_no_memory(cli, "the workers");
    p->cli = cli;
    p->task = task;
    p->last = &p->first;
    p->chunk_work = CLI_FIRST_CHUNK;
    p->begun = cli_now();
    p->watchdog = cli->options->watchdog ? (double)cli->options->watchdog : WATCHDOG;
    cli_allow_many_files(); /* four for each worker */
    if ((code = cli_pool_devices(p)))
        return code;
    for (int waiting = 1; waiting && !st && !cli_stop_signal();) {
        st = turn(p);
        waiting = 0;
        for (int i = 0; i < p->n_workers; i++)
            waiting += !p->workers[i].ready && !p->workers[i].given_up;
    }
    if (!st && cli_stop_signal())
        st = BIOINFER_CANCELLED;
    if (st)
        return p->exit_code ? p->exit_code : cli_fail(cli, CLI_AT_MODEL, st, &p->err);
    cli->info = (struct bioinfer_model_info){.struct_size = sizeof cli->info,
                                             .family = p->hello.family,
                                             .name = p->hello.name,
                                             .architecture = p->hello.architecture,
                                             .path = p->hello.path,
                                             .device = p->n_workers > 1 ? "workers"
                                                                        : p->workers[0].device,
                                             .kernels = p->hello.kernels,
                                             .precision = p->hello.precision,
                                             .longest = p->hello.longest};
    cli->fingerprint = p->fingerprint;
    return task->hear ? task->hear(cli, p->facts, p->n_facts) : CLI_EXIT_OK;
}

void cli_pool_close(struct cli_pool **pool)
{
    struct cli_pool *p = *pool;
    if (!p)
        return;
    for (int i = 0; i < p->n_workers; i++)
        cli_pool_end_worker(p, &p->workers[i]);
    free(p->said);
    free(p->facts);
    cli_pool_free_chunks(p);
    free(p);
    *pool = NULL;
}

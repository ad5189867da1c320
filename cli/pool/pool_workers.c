/* pool_workers.c - worker processes: started, written to, read from, replaced. */
#define _GNU_SOURCE
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PATIENCE = 6, KILLS = 5 };
enum { ASIDE = 20 }; /* records in a row: then it is the device after all */
static const uint64_t SHARED_KEPT = 64 << 20; /* bytes of a shared memory that stay */
enum { CONTENT = 33 }; /* characters of a fingerprint that do not depend on the device */

/* ---- frames out ---- */

static bool put_out(struct cli_pool_worker *w, const void *bytes, size_t n)
{
    if (!cli_pool_grow(&w->out, &w->out_cap, w->out_size + n, 1))
        return false;
    memcpy(w->out + w->out_size, bytes, n);
    w->out_size += n;
    return true;
}

bool cli_pool_put_chunk(struct cli_pool_worker *w, const struct cli_chunk *c)
{
    static const char zeros[8];
    struct cli_run_head head = {.n = c->n - c->n_done, .careful = c->careful};
    struct cli_frame frame = {.type = CLI_RUN, .number = c->number};
    size_t start = w->out_size + sizeof frame;
    bool ok = put_out(w, &frame, sizeof frame) && put_out(w, &head, sizeof head);
    for (size_t i = 0; ok && i < c->n; i++) {
        const struct cli_held *r = &c->records[i];
        struct cli_run_record one = {.index = i,
                                     .length = r->length,
                                     .status = r->status,
                                     .n_id = r->n_id,
                                     .n_description = r->n_description,
                                     .n_message = r->n_message};
        size_t n = r->n_id + r->n_description + r->n_message + r->length + 1;
        if (!r->done)
            ok = put_out(w, &one, sizeof one) && put_out(w, r->texts, n) &&
                 put_out(w, zeros, -n % 8);
    }
    if (!ok)
        return false;
    frame.size = w->out_size - start;
    memcpy(w->out + start - sizeof frame, &frame, sizeof frame);
    return true;
}

void cli_pool_write(struct cli_pool_worker *w)
{
    ssize_t n = write(w->to, w->out + w->out_at, w->out_size - w->out_at);
    if (n > 0)
        w->out_at += (size_t)n; /* a failure shows at the other end too */
    if (w->out_at == w->out_size)
        w->out_at = w->out_size = 0;
}

static void close_shared(struct cli_pool_worker *w)
{
    while (w->n_shared > 0)
        close(w->shared[--w->n_shared]);
}

/* Makes the files through which the worker sends large results: all or none. Their numbers lie
 * beyond those that the worker has them under. */
static void open_shared(struct cli_pool_worker *w)
{
    w->n_shared = 0;
    for (int k = 0; k < CLI_SHARED; k++) {
        const int fd = memfd_create("bioinfer", MFD_CLOEXEC);
        const int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, CLI_SHARED_FD + CLI_SHARED);
        if (fd >= 0)
            close(fd);
        if (high < 0) {
            close_shared(w);
            return;
        }
        w->shared[w->n_shared++] = high;
    }
}

int cli_pool_spawn(struct cli_pool *p, struct cli_pool_worker *w)
{
    const struct cli_options *o = p->cli->options;
    const char *told = p->cli->told;
    char spec[192], **argv = calloc((size_t)o->argc + 2, sizeof *argv);
    posix_spawn_file_actions_t actions;
    int in[2] = {-1, -1}, out[2] = {-1, -1}, e = 0;
    if (!argv)
        return cli_pool_no_memory(p);
    open_shared(w);
    snprintf(spec, sizeof spec, "--worker=%s/%d:%d%s%s", w->device, w->threads, w->n_shared,
             told ? ":" : "", told ? told : "");
    argv[0] = o->argv[0];
    argv[1] = spec;
    memcpy(argv + 2, o->argv + 1, (size_t)(o->argc - 1) * sizeof *argv);
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
        e = errno;
    } else {
        fcntl(out[1], F_SETPIPE_SZ, 1 << 20); /* fewer and larger reads; may be refused */
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
        for (int k = 0; k < w->n_shared; k++)
            posix_spawn_file_actions_adddup2(&actions, w->shared[k], CLI_SHARED_FD + k);
        e = posix_spawn(&w->pid, "/proc/self/exe", &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    free(argv);
    if (in[0] >= 0)
        close(in[0]);
    if (out[1] >= 0)
        close(out[1]);
    if (e) {
        w->pid = 0;
        close_shared(w);
        if (in[1] >= 0)
            close(in[1]);
        if (out[0] >= 0)
            close(out[0]);
        snprintf(p->err.text, sizeof p->err.text, "cannot start a worker for %s: %s", w->device,
                 strerror(e));
        return p->status = BIOINFER_DEVICE;
    }
    w->to = in[1];
    w->from = out[0];
    fcntl(w->to, F_SETFL, O_NONBLOCK);
    fcntl(w->from, F_SETFL, O_NONBLOCK);
    w->ready = w->started = w->hung = false;
    w->frame_got = 0;
    w->bytes_got = 0;
    w->out_size = w->out_at = 0;
    w->why[0] = '\0';
    w->heard = cli_now();
    return 0;
}

/* ---- frames in ---- */

static int bad_frame(struct cli_pool *p, const struct cli_pool_worker *w)
{
    snprintf(p->err.text, sizeof p->err.text, "%s: a worker sent a frame that cannot be",
             w->device);
    return p->status = BIOINFER_INTERNAL;
}

static int check_hello(struct cli_pool *p, struct cli_pool_worker *w)
{
    struct cli_hello h;
    if (w->frame.size < sizeof h)
        return bad_frame(p, w);
    memcpy(&h, w->bytes, sizeof h);
    w->ready = true;
    w->ready_after = w->ready_after > 0 ? w->ready_after : cli_now() - p->begun;
    if (!p->facts) { /* this is the first worker */
        p->hello = h;
        p->n_facts = (size_t)w->frame.size - sizeof h;
        if (!(p->facts = malloc(p->n_facts + 1)))
            return cli_pool_no_memory(p);
        memcpy(p->facts, w->bytes + sizeof h, p->n_facts);
        p->facts[p->n_facts] = '\0';
    }
    if (strncmp(p->hello.fingerprint, h.fingerprint, CONTENT)) {
        snprintf(p->err.text, sizeof p->err.text,
                 "%s: the worker has read other weights than the workers before: did the file "
                 "change?",
                 w->device);
        return p->status = BIOINFER_MISMATCH;
    }
    if (strstr(p->fingerprint, h.fingerprint))
        return 0;
    if (p->io) { /* running: only what was there at the start may come back */
        snprintf(p->err.text, sizeof p->err.text,
                 "%s: the new worker has another model or build than the one before", w->device);
        return p->status = BIOINFER_MISMATCH;
    }
    if (strlen(p->fingerprint) + strlen(h.fingerprint) + 2 < sizeof p->fingerprint)
        sprintf(p->fingerprint + strlen(p->fingerprint), "%s%s", p->fingerprint[0] ? "+" : "",
                h.fingerprint);
    return 0;
}

/* Takes a result that lies in shared memory, and gives the memory back to the worker. */
static int take_shared(struct cli_pool *p, struct cli_pool_worker *w)
{
    const uint32_t k = w->frame.number - 1;
    const struct cli_frame taken = {.type = CLI_TAKEN, .number = k};
    struct stat file;
    uint64_t size;
    void *bytes;
    int st;
    if (k >= (uint32_t)w->n_shared || w->frame.size != sizeof size || fstat(w->shared[k], &file))
        return bad_frame(p, w);
    memcpy(&size, w->bytes, sizeof size);
    if (!size || (uint64_t)file.st_size < size)
        return bad_frame(p, w);
    bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, w->shared[k], 0);
    if (bytes == MAP_FAILED)
        return cli_pool_no_memory(p);
    st = cli_pool_take(p, w->chunks[0], bytes, size);
    munmap(bytes, size);
    if (size > SHARED_KEPT && ftruncate(w->shared[k], 0)) /* else its pages serve the next one */
        return bad_frame(p, w);
    return st || put_out(w, &taken, sizeof taken) ? st : cli_pool_no_memory(p);
}

static int take_result(struct cli_pool *p, struct cli_pool_worker *w)
{
    w->faults = w->aside = 0;
    w->first_after = w->first_after > 0 ? w->first_after : cli_now() - p->begun;
    if (w->n_chunks && w->frame.number)
        return take_shared(p, w);
    if (w->n_chunks)
        return cli_pool_take(p, w->chunks[0], w->bytes, w->frame.size);
    snprintf(p->err.text, sizeof p->err.text, "a worker sent a result nobody asked for");
    return BIOINFER_INTERNAL;
}

static void chunk_done(struct cli_pool *p, struct cli_pool_worker *w)
{
    const double now = cli_now();
    if (!w->n_chunks)
        return;
    cli_pool_chunk_took(p, now - w->chunks[0]->begun);
    w->n_records += w->chunks[0]->n;
    w->chunks[0] = w->chunks[1];
    w->n_chunks--;
    if (w->n_chunks)
        w->chunks[0]->begun = now;
}

/* Tells whether no worker has said these words while it opened the weights: all of them read the
 * same ones, and have the same to say. */
static bool is_new(struct cli_pool *p, const char *words, size_t n)
{
    char *grown;
    for (size_t at = 0; at < p->n_said; at += strlen(p->said + at) + 1)
        if (strlen(p->said + at) == strnlen(words, n) && !strncmp(p->said + at, words, n))
            return false;
    if ((grown = realloc(p->said, p->n_said + n + 1))) { /* else it may be said again */
        p->said = grown;
        n = strnlen(words, n);
        memcpy(grown + p->n_said, words, n);
        grown[p->n_said + n] = '\0';
        p->n_said += n + 1;
    }
    return true;
}

static int take_frame(struct cli_pool *p, struct cli_pool_worker *w)
{
    struct cli_fault fault = {0};
    switch (w->frame.type) {
    case CLI_HELLO:
        return check_hello(p, w);
    case CLI_START:
        if (w->frame.size == sizeof w->start) {
            memcpy(&w->start, w->bytes, sizeof w->start);
            w->started = true;
        }
        return 0;
    case CLI_RESULT:
        return take_result(p, w);
    case CLI_DONE:
        chunk_done(p, w);
        w->started = false;
        return cli_pool_deliver(p);
    case CLI_SAY:
        if (w->ready || is_new(p, w->bytes, (size_t)w->frame.size))
            cli_say(p->cli, "%.*s", (int)w->frame.size, w->bytes);
        return 0;
    case CLI_NOTE:
        if (w->frame.size && !w->bytes[w->frame.size - 1])
            bioinfer_context_note(p->cli->ctx, w->bytes);
        return 0;
    case CLI_FAULT:
    case CLI_FAIL:
        memcpy(&fault, w->bytes, w->frame.size < sizeof fault ? w->frame.size : sizeof fault);
        fault.text[sizeof fault.text - 1] = '\0';
        snprintf(w->why, sizeof w->why, "%s", fault.text);
        if (w->frame.type == CLI_FAULT)
            return 0; /* the end of the process follows */
        if (fault.stage < 0 && p->io && w->faults <= PATIENCE)
            return 0; /* a device that was there may be back in a moment */
        if (fault.stage < 0)
            p->exit_code = fault.status;
        snprintf(p->err.text, sizeof p->err.text, "%s", fault.text);
        return p->status = fault.stage < 0 ? BIOINFER_DEVICE : fault.status;
    }
    return 0; /* TICK: it is alive */
}

bool cli_pool_read(struct cli_pool *p, struct cli_pool_worker *w)
{
    for (int rounds = 0; rounds < 64 && !p->status; rounds++) {
        bool head = w->frame_got < sizeof w->frame;
        char *to = head ? (char *)&w->frame + w->frame_got : w->bytes + w->bytes_got;
        size_t want = head ? sizeof w->frame - w->frame_got
                           : (size_t)(w->frame.size - w->bytes_got);
        ssize_t n = want ? read(w->from, to, want) : 0;

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (!n && want)
            return false;
        w->heard = cli_now();
        if (head) {
            if ((w->frame_got += (size_t)n) < sizeof w->frame)
                continue;
            if (w->frame.size > w->bytes_cap) {
                free(w->bytes);
                w->bytes_cap = w->frame.size;
                if (!(w->bytes = malloc(w->bytes_cap))) {
                    w->bytes_cap = 0;
                    cli_pool_no_memory(p);
                    return true;
                }
            }
            w->bytes_got = 0;
        } else {
            w->bytes_got += (uint64_t)n;
        }
        if (w->bytes_got == w->frame.size) {
            int st = take_frame(p, w);
            if (st && !p->status)
                p->status = st;
            w->frame_got = 0;
        }
    }
    return true;
}

/* ---- faults ---- */

static void describe_end(struct cli_pool_worker *w, int how)
{
    if (w->hung)
        snprintf(w->why, sizeof w->why, "silent for too long");
    else if (w->why[0])
        return;
    else if (WIFSIGNALED(how))
        snprintf(w->why, sizeof w->why, "signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
    else
        snprintf(w->why, sizeof w->why, "exit status %d", WEXITSTATUS(how));
}

int cli_pool_ended(struct cli_pool *p, struct cli_pool_worker *w)
{
    static const double delays[PATIENCE + 1] = {0, 0, 1, 1, 2, 3, 5};
    struct cli_chunk *running = w->n_chunks ? w->chunks[0] : NULL;
    bool killed;
    int how = 0, st = 0;
    close(w->to);
    close(w->from);
    close_shared(w);
    while (waitpid(w->pid, &how, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
    describe_end(w, how);
    killed = !w->hung && WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
    if (running && running->careful && w->started && w->start < running->n &&
        !running->records[w->start].done) {
        struct cli_held *r = &running->records[w->start];
        r->kills += killed ? 1 : KILLS;
        if (r->kills >= KILLS) {
            st = cli_pool_set_aside(p, running, w->start, w);
            if (++w->aside <= ASIDE)
                w->faults = 0; /* it was the record, not the device */
        }
    }
    for (int k = w->n_chunks - 1; k >= 0; k--) {
        struct cli_chunk *c = w->chunks[k];
        c->careful |= c == running && w->ready;
        if (c->n_done < c->n) {
            c->again = p->again;
            p->again = c;
        }
    }
    w->n_chunks = 0;
    w->ready = w->started = false;
    w->faults++;
    if (!st)
        st = cli_pool_deliver(p);
    if (w->faults > PATIENCE) {
        w->given_up = true;
        cli_say(p->cli, "%s is given up after %d failures in a row: %s", w->device, w->faults,
                w->why);
    } else if (!p->cli->options->quiet) {
        cli_say(p->cli, "warning: the worker of %s ended (%s) and is replaced", w->device, w->why);
    }
    w->start_at = cli_now() + delays[w->faults <= PATIENCE ? w->faults : PATIENCE];
    return st;
}

void cli_pool_end_worker(struct cli_pool *p, struct cli_pool_worker *w)
{
    struct cli_frame quit = {.type = CLI_QUIT};
    double until = cli_now() + 5;
    if (p->cli->options->profile)
        cli_say(p->cli, "%s: ready after %.3f s, first result after %.3f s, %" PRIu64 " records",
                w->device, w->ready_after, w->first_after, w->n_records);
    if (w->pid && !p->status && !w->n_chunks && w->ready && p->cli->options->profile) {
        if (write(w->to, &quit, sizeof quit) == sizeof quit)
            while (waitpid(w->pid, NULL, WNOHANG) == 0 && cli_now() < until)
                poll(NULL, 0, 10);
    }
    if (w->pid) {
        kill(w->pid, SIGKILL); /* the end of its input comes too late where it computes */
        close(w->to);
        close(w->from);
        close_shared(w);
        waitpid(w->pid, NULL, 0);
    }
    free(w->bytes);
    free(w->out);
}

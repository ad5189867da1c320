/* pool.c - worker processes, one per device, over one queue of records.
 *
 * The command itself opens no device. It cuts the records into chunks of about a second of
 * work, smaller ones as the end of a plain file comes near, and keeps two with every worker. When a worker ends, is silent for longer than the
 * watchdog allows, or reports its device lost, a new one takes its place; of the chunk it
 * was computing, what has no result yet is done again one record at a time. A record at
 * which a worker ends again is set aside with status device_error. (Workers killed by
 * SIGKILL from outside are not held against a record until the fifth time.) A device that
 * fails six times in a row without one result in between is given up.
 *
 * Sections: 1 chunks  2 workers  3 frames in  4 faults  5 the loop  6 open and close */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker.h"

extern char **environ;

enum { MAX_WORKERS = 256, AHEAD = 2, PATIENCE = 6, KILLS = 5, MAX_ARRAYS = 4096, MAX_TEXTS = 16 };
enum { FIRST_CHUNK = 16384, SMALLEST_CHUNK = 4096, LARGEST_CHUNK = 4 << 20 }; /* residues */
enum { MAX_CHUNK = 16384 };                                                   /* records */
enum { ASIDE = 20 };     /* records in a row: then it is the device after all */
enum { WATCHDOG = 600 }; /* seconds */
enum { CONTENT = 33 };   /* characters of a fingerprint that do not depend on the device */
#define CHUNK_SECONDS 1.0

struct record {
    uint64_t ordinal, length;
    int status;
    bool done;
    int kills;   /* of workers that were computing it alone */
    char *texts; /* id, description, message, sequence, each with a NUL */
    size_t n_id, n_description, n_message;
    void *held; /* its packed result, until its turn comes */
    uint64_t held_size;
};

struct chunk {
    struct chunk *next;  /* by number: all that are not delivered */
    struct chunk *again; /* of the queue of what is to be done again */
    uint32_t number;
    struct record *records;
    size_t n, cap, n_done, n_delivered;
    uint64_t residues;
    bool careful;
    double begun;
};

struct worker {
    char device[32];
    int threads;
    pid_t pid; /* 0 = not running */
    int to, from;
    bool ready, given_up;
    struct chunk *chunks[AHEAD]; /* [0] is being computed */
    int n_chunks;
    struct cli_frame frame; /* coming in */
    size_t frame_got;
    char *bytes;
    uint64_t bytes_got, bytes_cap;
    char *out; /* going out */
    size_t out_size, out_at, out_cap;
    bool started;
    uint64_t start; /* ordinal of a careful chunk */
    int faults;     /* in a row */
    int aside;      /* records set aside in a row, without a result between them */
    double heard, start_at;
    bool hung;
    char why[sizeof((struct cli_fault *)0)->text];
};

struct cli_pool {
    struct cli *cli;
    const struct cli_pool_io *io;
    struct worker workers[MAX_WORKERS];
    int n_workers;
    struct chunk *first, **last; /* not delivered, by number */
    struct chunk *again;
    uint32_t n_chunks;
    uint64_t chunk_residues;
    uint64_t input_size, input_read; /* bytes of a plain input file, 0 = not known; about */
    bool ended, stopping;
    double watchdog;
    struct bioinfer_array arrays[MAX_ARRAYS];
    struct cli_hello hello;
    char fingerprint[256];
    int status;    /* what ends the run */
    int exit_code; /* said by a worker */
    char *said;    /* by workers before they were ready: texts, a NUL behind each */
    size_t n_said;
    struct bioinfer_error err;
};

static int no_memory(struct cli_pool *p)
{
    snprintf(p->err.text, sizeof p->err.text, "out of memory for records in flight");
    return p->status = BIOINFER_NOMEM;
}

/* Room for n elements of `size` bytes in *array; doubles *cap. */
static bool grow(void *array, size_t *cap, size_t n, size_t size)
{
    size_t more = *cap ? *cap : 64;
    void *old, *grown;

    if (n <= *cap)
        return true;
    while (more < n)
        more *= 2;
    memcpy(&old, array, sizeof old);
    if (!(grown = realloc(old, more * size)))
        return false;
    memcpy(array, &grown, sizeof grown);
    *cap = more;
    return true;
}

/* ---- 1 chunks ---- */

static void chunk_free(struct chunk *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->records[i].texts);
        free(c->records[i].held);
    }
    free(c->records);
    free(c);
}

static int add_record(struct cli_pool *p, struct chunk *c, const struct bioinfer_record *r)
{
    const char *texts[] = {r->id, r->description ? r->description : "",
                           r->message ? r->message : ""};
    size_t n[3], total = r->length + 1;
    struct record *to;
    char *at;

    for (int i = 0; i < 3; i++)
        total += n[i] = strlen(texts[i]) + 1;
    if (!grow(&c->records, &c->cap, c->n + 1, sizeof *c->records) || !(at = malloc(total)))
        return no_memory(p);
    to = &c->records[c->n++];
    *to = (struct record){.ordinal = r->ordinal,
                          .length = r->length,
                          .status = r->status,
                          .texts = at,
                          .n_id = n[0],
                          .n_description = n[1],
                          .n_message = n[2]};
    for (int i = 0; i < 3; i++) {
        memcpy(at, texts[i], n[i]);
        at += n[i];
    }
    if (r->length)
        memcpy(at, r->sequence, r->length);
    at[r->length] = '\0';
    c->residues += r->length;
    p->input_read += r->length + r->length / 70 + n[0] + n[1] + 4; /* a header, broken lines */
    return 0;
}

/* Of the next chunk, at most. Several workers share what is left in ever smaller pieces, so that none
 * computes for long when the others are done. */
static uint64_t most_residues(const struct cli_pool *p)
{
    uint64_t share;

    if (p->n_workers < 2 || p->input_read >= p->input_size)
        return p->chunk_residues;
    share = (p->input_size - p->input_read) / (2 * AHEAD * (uint64_t)p->n_workers);
    share = share > FIRST_CHUNK ? share : FIRST_CHUNK;
    return share < p->chunk_residues ? share : p->chunk_residues;
}

/* The next chunk of new records, NULL when the source has none now. */
static struct chunk *new_chunk(struct cli_pool *p)
{
    const uint64_t most = most_residues(p);
    struct chunk *c;
    int st = 1;

    if (p->ended && p->io->pending && p->io->pending(p->io->user))
        p->ended = false;
    if (p->ended || p->status || !(c = calloc(1, sizeof *c)))
        return NULL;
    while (c->n < MAX_CHUNK && c->residues < most) {
        struct bioinfer_record r = {0};
        if ((st = p->io->source(p->io->user, &r, &p->err)) <= 0 || add_record(p, c, &r))
            break;
    }
    p->ended = st == 0;
    if (st < 0 && !p->status) {
        p->status = st;
        p->ended = true; /* what was read before it is still delivered */
    }
    if (!c->n) {
        chunk_free(c);
        return NULL;
    }
    c->number = p->n_chunks++;
    *p->last = c;
    p->last = &c->next;
    return c;
}

static int deliver(struct cli_pool *p, struct record *r, const void *bytes, uint64_t size)
{
    struct bioinfer_result result;
    struct bioinfer_text texts[MAX_TEXTS];
    int st = bioinfer_result_unpack(&result, p->arrays, MAX_ARRAYS, texts, MAX_TEXTS, bytes, size,
                                    &p->err);

    if (!st && result.ordinal != r->ordinal) {
        st = BIOINFER_INTERNAL;
        snprintf(p->err.text, sizeof p->err.text, "a worker mixed up its records");
    }
    if (!st && !(st = p->io->sink(p->io->user, &result, &p->err))) {
        p->cli->progress.records++;
        p->cli->progress.residues += result.status ? 0 : (uint64_t)result.length;
    }
    return st;
}

/* Results whose turn has come, and chunks that are done with. */
static int deliver_held(struct cli_pool *p)
{
    struct chunk *c;
    int st = 0;

    while (!st && (c = p->first)) {
        while (!st && p->io->in_order && c->n_delivered < c->n && c->records[c->n_delivered].held) {
            struct record *r = &c->records[c->n_delivered++];
            st = deliver(p, r, r->held, r->held_size);
            free(r->held);
            r->held = NULL;
        }
        if (c->n_done < c->n || (p->io->in_order && c->n_delivered < c->n))
            break;
        for (int i = 0; i < p->n_workers; i++) /* its DONE has not come yet */
            for (int k = 0; k < p->workers[i].n_chunks; k++)
                if (p->workers[i].chunks[k] == c)
                    return st;
        if (!(p->first = c->next))
            p->last = &p->first;
        chunk_free(c);
    }
    return st;
}

static int take_bytes(struct cli_pool *p, struct chunk *c, struct record *r, const void *bytes,
                      uint64_t size)
{
    r->done = true;
    c->n_done++;
    if (!p->io->in_order)
        return deliver(p, r, bytes, size);
    if (!(r->held = malloc(size)))
        return no_memory(p);
    memcpy(r->held, bytes, size);
    r->held_size = size;
    return deliver_held(p);
}

/* ---- 2 workers ---- */

static bool put_out(struct worker *w, const void *bytes, size_t n)
{
    if (!grow(&w->out, &w->out_cap, w->out_size + n, 1))
        return false;
    memcpy(w->out + w->out_size, bytes, n);
    w->out_size += n;
    return true;
}

static bool put_chunk(struct worker *w, const struct chunk *c)
{
    static const char zeros[8];
    struct cli_run_head head = {.n = c->n - c->n_done, .careful = c->careful};
    struct cli_frame frame = {.type = CLI_RUN, .number = c->number};
    size_t start = w->out_size + sizeof frame;
    bool ok = put_out(w, &frame, sizeof frame) && put_out(w, &head, sizeof head);

    for (size_t i = 0; ok && i < c->n; i++) {
        const struct record *r = &c->records[i];
        struct cli_run_record one = {.ordinal = r->ordinal,
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

static void write_out(struct worker *w)
{
    ssize_t n = write(w->to, w->out + w->out_at, w->out_size - w->out_at);

    if (n > 0)
        w->out_at += (size_t)n; /* a failure shows at the other end too */
    if (w->out_at == w->out_size)
        w->out_at = w->out_size = 0;
}

static int spawn(struct cli_pool *p, struct worker *w)
{
    const struct cli_options *o = p->cli->options;
    char spec[96], **argv = calloc((size_t)o->argc + 2, sizeof *argv);
    posix_spawn_file_actions_t actions;
    int in[2] = {-1, -1}, out[2] = {-1, -1}, e = 0;

    if (!argv)
        return no_memory(p);
    snprintf(spec, sizeof spec, "--worker=%s/%d", w->device, w->threads);
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

/* ---- 3 frames in ---- */

static int check_hello(struct cli_pool *p, struct worker *w)
{
    struct cli_hello h;

    if (w->frame.size != sizeof h)
        return p->status = BIOINFER_INTERNAL;
    memcpy(&h, w->bytes, sizeof h);
    w->ready = true;
    if (!p->hello.name[0])
        p->hello = h;
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

static int take_result(struct cli_pool *p, struct worker *w)
{
    struct chunk *c = w->n_chunks ? w->chunks[0] : NULL;
    uint64_t ordinal = 0;

    if (w->frame.size >= 24)
        memcpy(&ordinal, w->bytes + 16, sizeof ordinal); /* pack.h */
    w->faults = w->aside = 0;
    for (size_t i = 0; c && i < c->n; i++) { /* results come in order: it is mostly the first */
        struct record *r = &c->records[(c->n_done + i) % c->n];

        if (r->ordinal == ordinal && !r->done)
            return take_bytes(p, c, r, w->bytes, w->frame.size);
    }
    snprintf(p->err.text, sizeof p->err.text, "a worker sent a result nobody asked for");
    return BIOINFER_INTERNAL;
}

static void chunk_done(struct cli_pool *p, struct worker *w)
{
    double now = cli_now(), took;

    if (!w->n_chunks)
        return;
    took = now - w->chunks[0]->begun;
    if (took < CHUNK_SECONDS / 2 && p->chunk_residues < LARGEST_CHUNK)
        p->chunk_residues *= 2;
    else if (took > 2 * CHUNK_SECONDS && p->chunk_residues > SMALLEST_CHUNK)
        p->chunk_residues /= 2;
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

static int take_frame(struct cli_pool *p, struct worker *w)
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
        return deliver_held(p);
    case CLI_SAY:
        if (w->ready || is_new(p, w->bytes, (size_t)w->frame.size))
            cli_say(p->cli, "%.*s", (int)w->frame.size, w->bytes);
        return 0;
    case CLI_FAULT:
    case CLI_FAIL:
        memcpy(&fault, w->bytes, w->frame.size < sizeof fault ? w->frame.size : sizeof fault);
        fault.text[sizeof fault.text - 1] = '\0';
        snprintf(w->why, sizeof w->why, "%s", fault.text);
        if (w->frame.type == CLI_FAULT)
            return 0; /* its end follows */
        if (fault.stage < 0 && p->io && w->faults <= PATIENCE)
            return 0; /* a device that was there may be back in a moment */
        if (fault.stage < 0)
            p->exit_code = fault.status;
        snprintf(p->err.text, sizeof p->err.text, "%s", fault.text);
        return p->status = fault.stage < 0 ? BIOINFER_DEVICE : fault.status;
    }
    return 0; /* TICK: it is alive */
}

/* Reads what there is; false when the worker has ended. */
static bool read_frames(struct cli_pool *p, struct worker *w)
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
                    no_memory(p);
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

/* ---- 4 faults ---- */

struct copy {
    char *at;
};

static int copy_piece(void *user, const void *bytes, size_t n)
{
    struct copy *copy = user;

    memcpy(copy->at, bytes, n);
    copy->at += n;
    return 0;
}

static int set_aside(struct cli_pool *p, struct chunk *c, struct record *r, const struct worker *w)
{
    struct bioinfer_result result = {.ordinal = r->ordinal,
                                     .id = r->texts,
                                     .length = (int64_t)r->length,
                                     .status = BIOINFER_DEVICE};
    char text[512], *packed;
    uint64_t size;
    struct copy out;
    int st;

    snprintf(text, sizeof text,
             "record '%.60s': the worker of %s ended twice while "
             "computing it: %.200s",
             r->texts, w->device, w->why);
    result.message = text;
    size = bioinfer_result_size(&result);
    if (!(packed = malloc(size)))
        return no_memory(p);
    out.at = packed;
    st = bioinfer_result_pack(&result, copy_piece, &out, &p->err);
    if (!st)
        st = take_bytes(p, c, r, packed, size);
    free(packed);
    return st;
}

static void describe_end(struct worker *w, int how)
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

/* A worker has ended: what it had goes back into the queue. */
static int worker_ended(struct cli_pool *p, struct worker *w)
{
    static const double delays[PATIENCE + 1] = {0, 0, 1, 1, 2, 3, 5};
    struct chunk *running = w->n_chunks ? w->chunks[0] : NULL;
    bool killed;
    int how = 0, st = 0;

    close(w->to);
    close(w->from);
    while (waitpid(w->pid, &how, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
    describe_end(w, how);
    killed = !w->hung && WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
    if (running && running->careful && w->started)
        for (size_t i = 0; i < running->n && !st; i++) {
            struct record *r = &running->records[i];
            if (r->ordinal != w->start || r->done)
                continue;
            r->kills += killed ? 1 : KILLS;
            if (r->kills >= KILLS) {
                st = set_aside(p, running, r, w);
                if (++w->aside <= ASIDE)
                    w->faults = 0; /* it was the record, not the device */
            }
        }
    for (int k = w->n_chunks - 1; k >= 0; k--) {
        struct chunk *c = w->chunks[k];
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
        st = deliver_held(p);
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

/* ---- 5 the loop ---- */

static int feed(struct cli_pool *p, struct worker *w)
{
    while (w->ready && w->n_chunks < AHEAD && !p->status) {
        struct chunk *c = p->again;
        if (c)
            p->again = c->again;
        else if (!(c = new_chunk(p)))
            return 0;
        if (!put_chunk(w, c))
            return no_memory(p);
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
    struct pollfd fds[2 * MAX_WORKERS];
    struct worker *of[2 * MAX_WORKERS];
    double now = cli_now(), wait = 0.2;
    int n = 0, st = 0, alive = 0;

    for (int i = 0; i < p->n_workers; i++) {
        struct worker *w = &p->workers[i];
        if (w->given_up)
            continue;
        alive++;
        if (!w->pid && w->start_at > now) {
            wait = w->start_at - now < wait ? w->start_at - now : wait;
            continue;
        }
        if (!w->pid && (st = spawn(p, w)))
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
        struct worker *w = of[i];
        if (!fds[i].revents || !w->pid)
            continue;
        if (fds[i].fd == w->to)
            write_out(w);
        else if (!read_frames(p, w) && !p->status && (st = worker_ended(p, w)) && !p->status)
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

int cli_pool_run(struct cli_pool *p, const struct cli_pool_io *io, struct bioinfer_error *err)
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
    if (p->status && p->ended && p->status != BIOINFER_CANCELLED) {
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

/* ---- 6 open and close ---- */

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
    if (count > MAX_WORKERS - p->n_workers) {
        cli_say(p->cli, "--workers: more than %d in all", MAX_WORKERS);
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

    if (pipe2(out, O_CLOEXEC))
        return CLI_EXIT_INTERNAL;
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

static int list_devices(struct cli_pool *p)
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
    /* those on the CPU share its threads; those of GPUs need few */
    threads = bioinfer_context_threads(p->cli->ctx);
    for (int i = 0; i < p->n_workers; i++) {
        int n = threads / (on_cpu ? on_cpu : p->n_workers);
        p->workers[i].threads = n > 0 ? n : 1;
    }
    return CLI_EXIT_OK;
}

/* Bytes of a plain file, 0 when it is none or cannot be read: who reads it says why. */
static uint64_t plain_size(const char *path)
{
    unsigned char magic[2] = {0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool plain = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && read(fd, magic, 2) == 2 &&
                 !(magic[0] == 0x1f && magic[1] == 0x8b);

    if (fd >= 0)
        close(fd);
    return plain ? (uint64_t)st.st_size : 0;
}

int cli_pool_open(struct cli_pool **out, struct cli *cli)
{
    struct cli_pool *p = calloc(1, sizeof *p);
    int code, st = 0;

    *out = p;
    if (!p)
        return CLI_EXIT_NO_MEMORY;
    p->cli = cli;
    p->last = &p->first;
    p->chunk_residues = FIRST_CHUNK;
    p->input_size = cli->options->input ? plain_size(cli->options->input) : 0;
    p->watchdog = cli->options->watchdog ? (double)cli->options->watchdog : WATCHDOG;
    if ((code = list_devices(p)))
        return code;
    for (int waiting = 1; waiting && !st && !cli_stop_signal();) {
        st = turn(p);
        waiting = 0;
        for (int i = 0; i < p->n_workers; i++)
            waiting += !p->workers[i].ready;
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
                                             .precision = p->hello.precision};
    cli->fingerprint = p->fingerprint;
    return CLI_EXIT_OK;
}

void cli_pool_close(struct cli_pool **pool)
{
    struct cli_pool *p = *pool;

    if (!p)
        return;
    for (int i = 0; i < p->n_workers; i++) {
        struct worker *w = &p->workers[i];
        struct cli_frame quit = {.type = CLI_QUIT};
        double until = cli_now() + 5;
        if (w->pid && !p->status && !w->n_chunks && w->ready && p->cli->options->profile) {
            if (write(w->to, &quit, sizeof quit) == sizeof quit)
                while (waitpid(w->pid, NULL, WNOHANG) == 0 && cli_now() < until)
                    poll(NULL, 0, 10);
        }
        if (w->pid) {
            kill(w->pid, SIGKILL); /* its input would end too, but it may be computing */
            close(w->to);
            close(w->from);
            waitpid(w->pid, NULL, 0);
        }
        free(w->bytes);
        free(w->out);
    }
    free(p->said);
    while (p->first) {
        struct chunk *next = p->first->next;
        chunk_free(p->first);
        p->first = next;
    }
    free(p);
    *pool = NULL;
}

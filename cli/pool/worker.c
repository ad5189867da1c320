/* worker.c - the process that computes for a command that does not touch the device. */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TICK_PERIOD 0.2 /* seconds */

int (*cli_worker_meets)(const char *id, struct bioinfer_error *err);

struct chunk {
    struct chunk *next;
    uint32_t number;
    uint64_t size;
    char bytes[];
};

/* One per process: the log callback and the hook of cli_say have no other way to it. */
static struct worker {
    struct cli *cli;
    const struct cli_task *task;
    pthread_mutex_t lock; /* guards the queue */
    pthread_cond_t more;
    struct chunk *first, **last;
    bool quit;
    bool shared[CLI_SHARED]; /* may be written */
    int n_shared;
    pthread_mutex_t output; /* frames leave whole */
    char buffer[1 << 16];
    size_t buffered;
    double ticked;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .more = PTHREAD_COND_INITIALIZER,
            .output = PTHREAD_MUTEX_INITIALIZER,
            .last = &worker.first};

/* ---- frames out ---- */

static void write_out(const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n) {
        ssize_t r = write(STDOUT_FILENO, p, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            _exit(CLI_EXIT_INTERNAL); /* nobody reads on */
        p += r;
        n -= (size_t)r;
    }
}

/* Small pieces are gathered, large ones go as they are. */
static int gather(void *user, const void *bytes, size_t n)
{
    (void)user;
    if (n > sizeof worker.buffer - worker.buffered) {
        write_out(worker.buffer, worker.buffered);
        worker.buffered = 0;
    }
    if (n > sizeof worker.buffer / 4) {
        write_out(worker.buffer, worker.buffered);
        worker.buffered = 0;
        write_out(bytes, n);
    } else {
        memcpy(worker.buffer + worker.buffered, bytes, n);
        worker.buffered += n;
    }
    return 0;
}

static void flush_out(void)
{
    write_out(worker.buffer, worker.buffered);
    worker.buffered = 0;
}

static void send_frame(enum cli_frame_type type, uint32_t number, const void *bytes, size_t n)
{
    struct cli_frame frame = {.type = (uint32_t)type, .number = number, .size = n};
    pthread_mutex_lock(&worker.output);
    gather(NULL, &frame, sizeof frame);
    if (n) /* bytes may be NULL then */
        gather(NULL, bytes, n);
    flush_out();
    pthread_mutex_unlock(&worker.output);
}

static void say(const char *text)
{
    send_frame(CLI_SAY, 0, text, strlen(text) + 1);
}

static void note(const char *text)
{
    send_frame(CLI_NOTE, 0, text, strlen(text) + 1);
}

static void leave(enum cli_frame_type type, int stage, int status, const char *text)
{
    struct cli_fault fault = {.stage = stage, .status = status};
    snprintf(fault.text, sizeof fault.text, "%s", text);
    send_frame(type, 0, &fault, sizeof fault);
    _exit(type == CLI_FAULT ? CLI_EXIT_NO_DEVICE : CLI_EXIT_INTERNAL);
}

/* ---- frames in ---- */

static void read_in(void *bytes, size_t n)
{
    char *p = bytes;
    while (n) {
        ssize_t r = read(STDIN_FILENO, p, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            _exit(0); /* the command has gone */
        p += r;
        n -= (size_t)r;
    }
}

static void *read_frames(void *user)
{
    (void)user;
    for (;;) {
        struct cli_frame frame;
        struct chunk *chunk = NULL;

        read_in(&frame, sizeof frame);
        if (frame.type == CLI_RUN) {
            if (!(chunk = malloc(sizeof *chunk + frame.size)))
                leave(CLI_FAIL, CLI_AT_RUN, BIOINFER_NOMEM, "a chunk of records");
            *chunk = (struct chunk){.number = frame.number, .size = frame.size};
            read_in(chunk->bytes, frame.size);
        }
        pthread_mutex_lock(&worker.lock);
        if (frame.type == CLI_TAKEN && frame.number < CLI_SHARED) {
            worker.shared[frame.number] = true;
        } else if (chunk) {
            *worker.last = chunk;
            worker.last = &chunk->next;
        } else if (frame.type == CLI_QUIT) {
            worker.quit = true;
        }
        pthread_cond_signal(&worker.more);
        pthread_mutex_unlock(&worker.lock);
    }
    return NULL;
}

/* NULL when the command has no more. */
static struct chunk *next_chunk(void)
{
    struct chunk *chunk;
    pthread_mutex_lock(&worker.lock);
    while (!worker.first && !worker.quit)
        pthread_cond_wait(&worker.more, &worker.lock);
    if ((chunk = worker.first) && !(worker.first = chunk->next))
        worker.last = &worker.first;
    pthread_mutex_unlock(&worker.lock);
    return chunk;
}

/* ---- a chunk ---- */

struct cursor {
    const char *at;
    uint64_t left;
};

static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cursor *c = user;
    struct cli_run_record head;
    (void)err;
    if (!c->left)
        return 0;
    memcpy(&head, c->at, sizeof head);
    c->at += sizeof head;
    *record = (struct bioinfer_record){.ordinal = head.index,
                                       .length = head.length,
                                       .status = (int)head.status,
                                       .id = c->at,
                                       .description = c->at + head.n_id,
                                       .message = c->at + head.n_id + head.n_description};
    record->sequence = record->message + head.n_message;
    c->at = record->sequence + head.length + 1;
    c->at += -(uintptr_t)c->at % 8;
    c->left--;
    return 1;
}

struct one {
    const struct bioinfer_record *record;
    bool given;
};

static int next_of_one(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct one *one = user;
    (void)err;
    if (one->given)
        return 0;
    *record = *one->record;
    return one->given = true;
}

/* Where a result is written in a shared memory. */
struct place {
    int fd;
    off_t at;
    bool failed; /* the system has no room for it */
};

static int write_shared(void *user, const void *bytes, size_t n)
{
    struct place *place = user;
    const char *p = bytes;
    while (n && !place->failed) {
        const ssize_t r = pwrite(place->fd, p, n, place->at);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0) {
            place->failed = true;
            break;
        }
        p += r;
        n -= (size_t)r;
        place->at += r;
    }
    return 0;
}

/* Waits until one of the shared memories may be written, and gives its number. */
static int next_shared(void)
{
    int k = 0;
    pthread_mutex_lock(&worker.lock);
    for (;; pthread_cond_wait(&worker.more, &worker.lock)) {
        for (k = 0; k < worker.n_shared && !worker.shared[k];)
            k++;
        if (k < worker.n_shared)
            break;
    }
    worker.shared[k] = false;
    pthread_mutex_unlock(&worker.lock);
    return k;
}

/* Sends a result through shared memory; 1: there is no room for it. */
static int send_shared(const struct bioinfer_result *result, uint64_t size,
                       struct bioinfer_error *err)
{
    const int k = next_shared();
    struct place place = {.fd = CLI_SHARED_FD + k};
    int st = bioinfer_result_pack(result, write_shared, &place, err);
    if (!st && !place.failed) {
        send_frame(CLI_RESULT, (uint32_t)k + 1, &size, sizeof size);
        return 0;
    }
    pthread_mutex_lock(&worker.lock);
    worker.shared[k] = true;
    pthread_mutex_unlock(&worker.lock);
    return st ? st : 1;
}

static int send_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct cli_frame frame = {.type = CLI_RESULT, .size = bioinfer_result_size(result)};
    int st;
    (void)user;
    if (worker.n_shared && frame.size >= CLI_SHARED_FROM &&
        (st = send_shared(result, frame.size, err)) <= 0)
        return st;
    pthread_mutex_lock(&worker.output);
    gather(NULL, &frame, sizeof frame);
    st = bioinfer_result_pack(result, gather, NULL, err);
    flush_out();
    pthread_mutex_unlock(&worker.output);
    return st;
}

static int tick(void *user, uint64_t records, uint64_t residues)
{
    double now = cli_now();
    (void)user;
    (void)records;
    (void)residues;
    if (now - worker.ticked > TICK_PERIOD) {
        worker.ticked = now;
        send_frame(CLI_TICK, 0, NULL, 0);
    }
    return 0;
}

static int compute(const struct chunk *chunk, struct bioinfer_error *err)
{
    struct bioinfer_record record;
    struct cli_run_head head;
    struct cursor cursor;
    int st = 0;
    memcpy(&head, chunk->bytes, sizeof head);
    cursor = (struct cursor){chunk->bytes + sizeof head, head.n};
    if (cli_worker_meets && !head.careful) {
        struct cursor look = cursor;
        while (!st && next_record(&look, &record, err))
            st = cli_worker_meets(record.id, err);
    }
    if (st)
        return st;
    if (!head.careful)
        return cli_task_compute(worker.cli, worker.task, next_record, &cursor, send_result, NULL,
                                err);
    while (!st && next_record(&cursor, &record, err)) {
        struct one one = {&record, false};
        send_frame(CLI_START, 0, &record.ordinal, sizeof record.ordinal);
        if (cli_worker_meets)
            st = cli_worker_meets(record.id, err);
        if (!st)
            st = cli_task_compute(worker.cli, worker.task, next_of_one, &one, send_result, NULL,
                                  err);
    }
    return st;
}

/* ---- life ---- */

static void copy_text(char *dst, size_t size, const char *src)
{
    snprintf(dst, size, "%s", src ? src : "");
}

static void send_hello(const struct cli *cli)
{
    const struct bioinfer_model_info *info = &cli->info;
    struct cli_output bytes = {0};
    struct cli_hello h;
    memset(&h, 0, sizeof h);
    copy_text(h.family, sizeof h.family, info->family);
    copy_text(h.name, sizeof h.name, info->name);
    copy_text(h.architecture, sizeof h.architecture, info->architecture);
    copy_text(h.path, sizeof h.path, info->path);
    copy_text(h.device, sizeof h.device, info->device);
    copy_text(h.kernels, sizeof h.kernels, info->kernels);
    copy_text(h.precision, sizeof h.precision, info->precision);
    h.longest = info->longest;
    copy_text(h.fingerprint, sizeof h.fingerprint, cli->fingerprint);
    cli_output_write(&bytes, (const char *)&h, sizeof h);
    if (worker.task->tell)
        worker.task->tell(cli, &bytes);
    if (bytes.status)
        leave(CLI_FAIL, CLI_AT_SETUP, BIOINFER_NOMEM, "out of memory for the facts of a task");
    send_frame(CLI_HELLO, 0, bytes.text, bytes.n_text);
    cli_output_close(&bytes);
}

int cli_worker(struct cli *cli, const struct cli_task *task, const char *spec)
{
    struct cli_options options = *cli->options;
    char device[64];
    const char *slash = strrchr(spec, '/'), *shared = slash ? strchr(slash, ':') : NULL;
    const char *told = shared ? strchr(shared + 1, ':') : NULL;
    struct bioinfer_error err = {0};
    struct chunk *chunk;
    pthread_t reader;
    int st, code;
    /* the command is told by the terminal or a job scheduler; we follow it */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* leaves even when stopped */
    if (!slash || (size_t)(slash - spec) >= sizeof device)
        return CLI_EXIT_USAGE;
    snprintf(device, sizeof device, "%.*s", (int)(slash - spec), spec);
    options.device = device;
    options.threads = atoi(slash + 1);
    worker.n_shared = shared ? atoi(shared + 1) : 0;
    cli->told = told ? told + 1 : NULL;
    if (worker.n_shared < 0 || worker.n_shared > CLI_SHARED)
        return CLI_EXIT_USAGE;
    for (int k = 0; k < worker.n_shared; k++)
        worker.shared[k] = true;
    cli->options = &options;
    worker.cli = cli;
    worker.task = task;
    cli_say_hook = say;
    cli_note_hook = note;
    if (pthread_create(&reader, NULL, read_frames, NULL))
        return CLI_EXIT_NO_MEMORY;
    if ((code = cli_task_begin(cli, task)) || (code = cli_open_context(cli)) ||
        (code = cli_task_open_here(cli, task, tick)) ||
        (!task->no_model && (code = cli_fingerprint(cli))))
        leave(CLI_FAIL, -1, code, "");
    send_hello(cli);
    while ((chunk = next_chunk())) {
        if ((st = compute(chunk, &err)))
            leave(st == BIOINFER_DEVICE_LOST || st == BIOINFER_DEVICE ? CLI_FAULT : CLI_FAIL,
                  CLI_AT_RUN, st, err.text[0] ? err.text : bioinfer_status_name(st));
        send_frame(CLI_DONE, chunk->number, NULL, 0);
        free(chunk);
    }
    if (options.profile)
        cli_print_profile(cli);
    fflush(stderr);
    _exit(0); /* the reader still waits for input */
}

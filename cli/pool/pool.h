/* pool.h - worker processes over one queue of records, from the inside.
 *
 *   pool.c           the loop; opening and closing
 *   pool_chunks.c    records read ahead in chunks, and results on their way to the sink
 *   pool_workers.c   processes: started, written to, read from, replaced
 *   pool_devices.c   the workers that --device and --workers ask for
 *
 * The command itself opens no device. It cuts the records into chunks of about a second of work,
 * smaller ones as the end of a plain file comes near, and keeps two with every worker. When a
 * worker ends, is silent for longer than the watchdog allows, or reports its device lost, a new one
 * takes its place; of the chunk that it was computing, what has no whole result yet is done again
 * one record at a time. A record at which a worker ends again is set aside, with status
 * device_error. (Workers killed by SIGKILL from outside are not held against a record until the
 * fifth time.) A worker that fails seven times in a row without one result in between is given
 * up. */
#ifndef BI_CLI_POOL_H
#define BI_CLI_POOL_H

#include <sys/types.h>

#include "worker.h"

enum { CLI_MAX_WORKERS = 256, CLI_AHEAD = 2, CLI_MAX_ARRAYS = 4096, CLI_MAX_TEXTS = 16 };
enum { CLI_MAX_COLUMNS = 64 };
enum { CLI_SMALLEST_CHUNK = 4096, CLI_LARGEST_CHUNK = 4 << 20 }; /* work */

/* A record that was read, until its result is with the sink. */
struct cli_held {
    uint64_t ordinal, length;
    int status;
    bool done;
    int kills;         /* workers that ended while they computed it alone */
    uint32_t n_pieces; /* counts pieces of its result, from the worker that computes it now */
    char *texts;       /* id, description, message, sequence, each with a NUL */
    size_t n_id, n_description, n_message;
    char *packed; /* pieces of its result, one behind the other, until its turn comes */
    uint64_t packed_size, packed_cap;
};

/* Records that go to a worker together. */
struct cli_chunk {
    struct cli_chunk *next;  /* by number: all that are not delivered */
    struct cli_chunk *again; /* the next one that is to be done again */
    uint32_t number;
    struct cli_held *records;
    size_t n, cap, n_done, n_delivered;
    uint64_t work;
    bool careful;
    double begun;
};

/* A worker process, as the command sees it. */
struct cli_pool_worker {
    char device[32];
    int threads;
    pid_t pid; /* 0 = not running */
    int to, from;
    int shared[CLI_SHARED], n_shared; /* descriptors */
    bool ready, given_up;
    struct cli_chunk *chunks[CLI_AHEAD]; /* [0] is being computed */
    int n_chunks;
    struct cli_frame frame; /* coming in */
    size_t frame_got;
    char *bytes;
    uint64_t bytes_got, bytes_cap;
    char *out; /* going out */
    size_t out_size, out_at, out_cap;
    bool started;
    uint64_t start; /* index of the record of a careful chunk that is being computed */
    int faults;     /* in a row */
    int aside;      /* records set aside in a row, without a result between them */
    double heard, start_at;
    double ready_after, first_after; /* seconds from the pool's start; 0 = not yet */
    uint64_t n_records;              /* that it has answered */
    bool hung;
    char why[sizeof((struct cli_fault *)0)->text];
};

/* All workers, and the records on their way. */
struct cli_pool {
    struct cli *cli;
    const struct cli_task *task;
    const struct cli_run_io *io; /* NULL until the run begins */
    struct cli_pool_worker workers[CLI_MAX_WORKERS];
    int n_workers;
    struct cli_chunk *first, **last; /* not delivered, by number */
    struct cli_chunk *again;
    uint32_t n_chunks;
    uint64_t chunk_work;            /* the size of a chunk, by the time that earlier ones took */
    uint64_t work_read, bytes_read; /* sums over all records read */
    uint64_t packed_size;           /* bytes of results that wait for their turn */
    bool ended, broken;             /* the source has no more; it failed */
    double watchdog, begun;
    struct bioinfer_array arrays[CLI_MAX_ARRAYS];
    struct bioinfer_text texts[CLI_MAX_TEXTS];
    struct bioinfer_column columns[CLI_MAX_COLUMNS];
    struct cli_hello hello;
    char *facts; /* that its task told; NULL = no worker is ready yet */
    size_t n_facts;
    char fingerprint[256];
    int status;    /* the reason for which the run ends */
    int exit_code; /* said by a worker */
    char *said;    /* by workers before they were ready: texts, a NUL behind each */
    size_t n_said;
    struct bioinfer_error err;
};

/* Gives room for n elements of `size` bytes in *array, by doubling *cap; false: no memory, and both
 * are untouched. */
bool cli_pool_grow(void *array, size_t *cap, size_t n, size_t size);
/* Ends the run for want of memory; NOMEM. An int of any function below is a status of the run where
 * a comment says nothing else: words are in p->err, and who calls puts it into p->status. */
int cli_pool_no_memory(struct cli_pool *p);

/* ---- pool_chunks.c ---- */

/* Gives the next chunk of new records, which the pool owns; NULL when the source has none now, too
 * many results wait for their turn, or there is no memory for a chunk. Where the source fails, its
 * status is in p->status, and records read before it are still a chunk. */
struct cli_chunk *cli_pool_new_chunk(struct cli_pool *p);
/* Takes a packed result, or a piece of one, of a record of the chunk, and hands it on where its
 * turn has come; piece 0 takes the place of what there was. A status, also the sink's; INTERNAL:
 * nobody asked for it, or pieces are in a wrong order. */
int cli_pool_take(struct cli_pool *p, struct cli_chunk *c, const void *bytes, uint64_t size);
/* Hands on results whose turn has come, and frees chunks that are done with, in order of their
 * numbers: one that a worker has not said to be done stops it. A status, that of the sink. */
int cli_pool_deliver(struct cli_pool *p);
/* Ends a record at which the worker ended twice: its result is that it has none, status DEVICE. A
 * status, as of cli_pool_take(). */
int cli_pool_set_aside(struct cli_pool *p, struct cli_chunk *c, uint64_t index,
                       const struct cli_pool_worker *w);
/* Sets the size of the chunks to come by the seconds that one took: twice the size below half a
 * second, half of it above two, from CLI_SMALLEST_CHUNK to CLI_LARGEST_CHUNK. */
void cli_pool_chunk_took(struct cli_pool *p, double seconds);
/* Frees all chunks that are not delivered, with their results. */
void cli_pool_free_chunks(struct cli_pool *p);

/* ---- pool_workers.c ---- */

/* Starts the process of a worker that does not run, with its pipes and shared memories, and does
 * not wait for it: 0, NOMEM, or DEVICE where the system starts none; p->status has it, too. */
int cli_pool_spawn(struct cli_pool *p, struct cli_pool_worker *w);
/* Puts the records of a chunk that have no result yet among the bytes that go to the worker; false:
 * no memory, and the run is to end, as part of the frame may be there. */
bool cli_pool_put_chunk(struct cli_pool_worker *w, const struct cli_chunk *c);
/* Writes what the pipe takes; it never waits. A failure is not told: cli_pool_read() meets it. */
void cli_pool_write(struct cli_pool_worker *w);
/* Reads what there is and does what frames say; false when the worker has ended, true also where
 * p->status has become a failure. */
bool cli_pool_read(struct cli_pool *p, struct cli_pool_worker *w);
/* Waits for the process of a worker that ended, queues again what it had, sets aside the record
 * that ended it again, and sets when the next one starts, or w->given_up. A status, that of
 * cli_pool_set_aside() or cli_pool_deliver(). */
int cli_pool_ended(struct cli_pool *p, struct cli_pool_worker *w);
/* Ends the process, if there is one, and frees what the worker has. One that is idle first prints
 * its profile where --profile asks for it and the run did not fail, for 5 seconds at most. */
void cli_pool_end_worker(struct cli_pool *p, struct cli_pool_worker *w);

/* ---- pool_devices.c ---- */

/* Fills p->workers, with names and threads; "all" without a GPU is the CPU. An exit code: NO_DEVICE
 * for a text that can be no name, USAGE for one that is there twice, or more than CLI_MAX_WORKERS
 * workers. Whether devices are there their workers tell. */
int cli_pool_devices(struct cli_pool *p);

#endif

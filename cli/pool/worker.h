/* worker.h - what a worker process and the command that supervises it say to each other.
 *
 * The command starts itself as `bioinfer --worker=DEVICE/THREADS:SHARED[:TOLD] ...`, where TOLD is
 * what the command says of its input (cli->told). Standard input brings frames, standard output
 * takes them, standard error is the command's own. A frame is a struct cli_frame and `size` bytes
 * behind it. Both ends are the same program on the same machine, so numbers are as they lie in
 * memory.
 *
 *   to the worker    RUN    records of chunk `number`: struct cli_run_head, then for each a
 *                           struct cli_run_record and its texts, each with a NUL, padded to 8
 *                    TAKEN  the shared memory `number` may be written again
 *                    QUIT   print the profile if asked for, and leave
 *   from the worker  HELLO  struct cli_hello: the model is open
 *                    START  uint64_t index: its computing begins (careful chunks)
 *                    RESULT a packed result (bioinfer_result_pack), or a piece of one; with a
 *                           number, a uint64_t alone: that many bytes of one are in the shared
 *                           memory number - 1
 *                    TICK   still computing
 *                    DONE   chunk `number` is done
 *                    SAY    a message for the user
 *                    NOTE   a text of BIOINFER_LOG_NAMED or BIOINFER_LOG_ERROR, for the job
 *                    FAULT  struct cli_fault: the device is lost; the worker leaves
 *                    FAIL   struct cli_fault: the run cannot go on; the worker leaves
 *
 * A result of more than a MiB goes through shared memory: two files without a name (memfd_create),
 * which the worker writes by turns and the pool maps. So no limit of /dev/shm plays a part, and
 * what a worker that was killed had in them is gone with the descriptors. Where the system gives no
 * such file, or cannot make it large enough, the result goes through the pipe.
 *
 * A worker knows a record by its index in the chunk: that is the ordinal of START and RESULT.
 *
 * The worker reads its input in a thread of its own: it takes chunks ahead, and when the
 * input ends it leaves at once, so no worker outlives the command. */
#ifndef BI_CLI_WORKER_H
#define BI_CLI_WORKER_H

#include "../task.h"

enum cli_frame_type {
    CLI_RUN = 1,
    CLI_TAKEN,
    CLI_QUIT,
    CLI_HELLO,
    CLI_START,
    CLI_RESULT,
    CLI_TICK,
    CLI_DONE,
    CLI_SAY,
    CLI_NOTE,
    CLI_FAULT,
    CLI_FAIL
};

/* Shared memories of a worker, its descriptors from CLI_SHARED_FD on; the fewest bytes of a result
 * that goes there. */
enum { CLI_SHARED = 2, CLI_SHARED_FD = 3, CLI_SHARED_FROM = (1 << 20) + 1 };

/* The head of a frame. */
struct cli_frame {
    uint32_t type, number;
    uint64_t size; /* bytes that follow */
};

/* The facts of the task (struct cli_task) follow it. */
struct cli_hello {
    char family[32], name[256], architecture[128], path[1024], device[64], kernels[64];
    char precision[16], fingerprint[64];
    int64_t longest; /* as in bioinfer_model_info */
};

struct cli_run_head {
    uint64_t n, careful; /* careful: one record at a time, each announced by START */
};

struct cli_run_record {
    uint64_t index, length;
    int64_t status;
    uint64_t n_id, n_description, n_message; /* bytes, NUL included */
};

struct cli_fault {
    int32_t stage, status; /* stage -1: the message was said, status is an exit code */
    char text[sizeof((struct bioinfer_error *)0)->text];
};

/* ---- worker.c ---- */

/* `bioinfer --worker=DEVICE/THREADS:SHARED[:TOLD]`, all other options as the command has them. It
 * ends the process, and returns only where it cannot begin: USAGE for a spec that cannot be,
 * NO_MEMORY without a thread, neither with words. */
int cli_worker(struct cli *cli, const struct cli_task *task, const char *spec);
/* Called for every record before it is computed; a status ends the worker with it. NULL, but in
 * the program that tests/jobs/fault.c makes of these sources. */
extern int (*cli_worker_meets)(const char *id, struct bioinfer_error *err);

/* ---- pool.c: the other side ---- */

/* Starts a worker for every device of the list and waits until all have their model open; fills
 * cli->info and cli->fingerprint, whose texts are the pool's, and calls task->hear. Returns an exit
 * code. After a failure, too, cli_pool_close() frees *pool. */
int cli_pool_open(struct cli_pool **pool, struct cli *cli, const struct cli_task *task);
/* Computes all records of io->source; a status, also that of source or sink. Where the source
 * fails, records before it are still computed. DEVICE_LOST: no device is left; CANCELLED: a signal
 * came; MISMATCH: a new worker has another model. For one run of a pool, as a failure stays. */
int cli_pool_run(struct cli_pool *pool, const struct cli_run_io *io, struct bioinfer_error *err);
/* Ends the workers; with --profile idle ones print theirs first, unless the run failed. */
void cli_pool_close(struct cli_pool **pool);
/* Do these options ask for worker processes, that is, for --workers or a device other than the CPU,
 * and for no graph or trace of rules? */
bool cli_pool_wanted(const struct cli_options *o);

#endif

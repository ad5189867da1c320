/* task.c - a task opened and run, in this process or by a pool of workers. */
#include "pool/worker.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_task_pooled(const struct cli *cli, const struct cli_task *task)
{
    const struct cli_options *o = cli->options;
    if (o->dry_run || (task->ordered && task->ordered(o)))
        return false;
    if (task->inside && !o->workers && !(o->device && strchr(o->device, ',')) &&
        !(o->device && !strcmp(o->device, "all")))
        return false;
    return cli_pool_wanted(o);
}

/* ---- the task in this process ---- */

int cli_task_begin(struct cli *cli, const struct cli_task *task)
{
    struct cli_work *work;
    if (cli->task)
        return CLI_EXIT_OK;
    if (!(work = calloc(1, task->size ? task->size : sizeof *work)))
        return cli_fail(cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    work->cli = cli;
    cli->task = work;
    return task->begin ? task->begin(cli) : CLI_EXIT_OK;
}

/* Opens the library's task by its name and parameters; an exit code. */
static int open_named(struct cli *cli, const struct cli_task *task, cli_tick tick)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    int st;
    if (task->fill)
        task->fill(o, bioinfer_params_struct(o->params));
    st = bioinfer_task_open(&cli->sequences, cli->ctx, cli->model, o->params, &err);
    if (st)
        return cli_fail(cli,
                        task->reads_files && st != BIOINFER_INVALID && st != BIOINFER_UNSUPPORTED
                            ? CLI_AT_INPUT
                            : CLI_AT_CONFIG,
                        st, &err);
    bioinfer_task_set_progress(cli->sequences, tick, cli);
    return CLI_EXIT_OK;
}

int cli_task_open_here(struct cli *cli, const struct cli_task *task, cli_tick tick)
{
    int code;
    if (!task->no_model && (code = cli_open_model(cli)))
        return code;
    if ((code = task->open ? task->open(cli, tick) : open_named(cli, task, tick)))
        return code;
    cli->loads_late = task->loads_late;
    if (cli->options->profile)
        bioinfer_task_set_profile(cli->sequences, 1);
    return task->opened ? task->opened(cli) : CLI_EXIT_OK;
}

int cli_task_compute(struct cli *cli, const struct cli_task *task, bioinfer_source source,
                     void *source_user, bioinfer_sink sink, void *sink_user,
                     struct bioinfer_error *err)
{
    struct cli_work *work = cli->task;
    int st;
    work->source = source;
    work->source_user = source_user;
    work->sink = sink;
    work->sink_user = sink_user;
    if (task->run)
        return task->run(work, err);
    st = bioinfer_task_run(cli->sequences, task->next ? task->next : source,
                           task->next ? work : source_user, task->take ? task->take : sink,
                           task->take ? work : sink_user, err);
    return st || !task->flush ? st : task->flush(work, err);
}

int cli_task_lose(struct cli *cli, const struct cli_task *task,
                  const struct bioinfer_record *record, int status, const char *message,
                  bioinfer_sink sink, void *sink_user, struct bioinfer_error *err)
{
    struct cli_work *work = cli->task;
    const struct bioinfer_result lost = {
        .ordinal = record->ordinal,
        .id = record->id,
        .length = task->lose || task->of_files ? 0 : (int64_t)record->length,
        .status = status,
        .message = message};
    work->sink = sink;
    work->sink_user = sink_user;
    return task->lose ? task->lose(work, record, &lost, err) : sink(sink_user, &lost, err);
}

void cli_task_end(struct cli *cli, const struct cli_task *task)
{
    struct cli_work *work = cli->task;
    bioinfer_task_close(&cli->sequences);
    if (!work)
        return;
    if (task->end)
        task->end(work);
    cli_output_close(&work->text);
    free(work);
    cli->task = NULL;
}

int cli_status_no_memory(struct bioinfer_error *err, const char *fmt, ...)
{
    va_list args;
    err->status = BIOINFER_NOMEM;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    return BIOINFER_NOMEM;
}

int cli_work_give(struct cli_work *work, const struct bioinfer_result *result, int noted,
                  struct bioinfer_error *err)
{
    char counts[32];
    struct bioinfer_text texts[] = {{"text", work->text.text, work->text.n_text},
                                    {CLI_COUNTS, counts, 0}};
    struct bioinfer_result piece = {.ordinal = result->ordinal,
                                    .id = result->id,
                                    .length = result->length,
                                    .message = "",
                                    .texts = texts,
                                    .n_texts = 2};
    int st;
    if (work->text.status)
        return cli_status_no_memory(err, "out of memory for a row");
    texts[1].length = (size_t)snprintf(counts, sizeof counts, "%d", noted);
    work->text.n_text = 0;
    if (!result->status)
        return work->sink(work->sink_user, &piece, err);
    piece.n_texts = 1;
    piece.more = 1;
    if ((st = work->sink(work->sink_user, &piece, err)))
        return st;
    piece.piece = 1;
    piece.more = 0;
    piece.status = result->status;
    piece.message = result->message;
    piece.texts = texts + 1;
    return work->sink(work->sink_user, &piece, err);
}

/* ---- here or in workers ---- */

int cli_task_open(struct cli *cli, const struct cli_task *task, struct cli_pool **pool)
{
    return cli_task_pooled(cli, task) ? cli_pool_open(pool, cli, task)
                                      : cli_task_open_here(cli, task, cli_progress_tick);
}

int cli_task_run(struct cli *cli, const struct cli_task *task, struct cli_pool *pool,
                 const struct cli_run_io *io, struct bioinfer_error *err)
{
    int st;
    if (pool)
        return cli_pool_run(pool, io, err);
    do
        st = cli_task_compute(cli, task, io->source, io->user, io->sink, io->user, err);
    while (!st && io->pending && io->pending(io->user));
    return st;
}

/* ---- weights, counts, sizes ---- */

struct cli_weight cli_weigh_sequence(const struct cli *cli, const struct bioinfer_record *r)
{
    const char *description = r->description ? r->description : "";
    /* a header, broken lines */
    const uint64_t bytes = r->length + r->length / 70 + strlen(r->id) + strlen(description) + 6;
    (void)cli;
    return (struct cli_weight){.work = r->length, .bytes = bytes};
}

void cli_take_counts(struct bioinfer_result *r, unsigned long long *counts, int n)
{
    const struct bioinfer_text *last = r->n_texts ? &r->texts[r->n_texts - 1] : NULL;
    char text[128], *at = text, *end;
    if (!last || strcmp(last->name, CLI_COUNTS))
        return;
    snprintf(text, sizeof text, "%.*s", (int)last->length, last->text);
    r->n_texts--;
    for (int i = 0; i < n; i++, at = end) {
        const unsigned long long value = strtoull(at, &end, 10);
        if (end == at)
            return;
        counts[i] = value;
    }
}

uint64_t cli_plain_size(const char *path)
{
    unsigned char magic[2] = {0};
    struct stat st;
    /* a FIFO is not opened: its writer would write into what is closed at once */
    int fd = !stat(path, &st) && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool plain = fd >= 0 && read(fd, magic, 2) == 2 && !(magic[0] == 0x1f && magic[1] == 0x8b);
    if (fd >= 0)
        close(fd);
    return plain ? (uint64_t)st.st_size : 0;
}

uint64_t cli_inputs_size(const struct cli *cli)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < cli->inputs.n; i++) {
        const uint64_t size = cli_plain_size(cli->inputs.of[i]);
        if (!size)
            return 0;
        sum += size;
    }
    return sum;
}

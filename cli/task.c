/* task.c - a task opened and run, in this process or by a pool of workers. */
#include "pool/worker.h"

#include <fcntl.h>
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

int cli_task_open(struct cli *cli, const struct cli_task *task, struct cli_pool **pool)
{
    int code;

    if (cli_task_pooled(cli, task))
        return cli_pool_open(pool, cli, task);
    if (!task->no_model && (code = cli_open_model(cli)))
        return code;
    return task->open(cli, cli_progress_tick);
}

int cli_task_run(struct cli *cli, const struct cli_task *task, struct cli_pool *pool,
                 const struct cli_run_io *io, struct bioinfer_error *err)
{
    int st;

    if (pool)
        return cli_pool_run(pool, io, err);
    do
        st = task->run(cli, io->source, io->user, io->sink, io->user, err);
    while (!st && io->pending && io->pending(io->user));
    return st;
}

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
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool plain = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && read(fd, magic, 2) == 2 &&
                 !(magic[0] == 0x1f && magic[1] == 0x8b);

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

/* align.c - the task align: a stream of pairs, whose results come in order.
 *
 * A unit is what a source gives at a time: pairs in the caller's memory. It has no graph, so the
 * task computes it itself. */
#include "../align/aligner.h"
#include "tasks.h"

struct align_task {
    struct bioinfer_task task;
    struct bi_aligner *aligner;
    const struct bioinfer_align_stream *stream;
};

struct align_unit {
    struct bi_unit base;
    struct bioinfer_pairs pairs;
};

static struct bi_align_room *room_of(struct align_task *t, const struct bi_unit *u)
{
    return &t->aligner->rooms[u->number % BI_DIRECT_AHEAD];
}

static int align_read(struct bioinfer_task *task, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct align_task *t = (struct align_task *)task;
    struct align_unit *u = (struct align_unit *)unit;
    struct bi_align_room *room = room_of(t, unit);
    const int st = t->stream->source(t->stream->user, &u->pairs, err);
    if (st <= 0)
        return st;
    if (u->pairs.n && !u->pairs.pairs)
        return bi_fail(err, BIOINFER_INVALID, "alignment: %zu pairs without letters", u->pairs.n);
    if (!bi_grow(task->env, &room->results, &room->cap, u->pairs.n + 1, sizeof *room->results))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of sequences", u->pairs.n);
    return 1;
}

static int align_direct(struct bioinfer_task *task, struct bi_unit *unit,
                        struct bioinfer_error *err)
{
    struct align_task *t = (struct align_task *)task;
    const struct align_unit *u = (struct align_unit *)unit;
    struct bi_align_room *room = room_of(t, unit);
    return bi_aligner_run_into(t->aligner, &room->kept, u->pairs.pairs, u->pairs.n, room->results,
                               err);
}

static int align_result(struct bioinfer_task *task, struct bi_unit *unit,
                        struct bioinfer_error *err)
{
    struct align_task *t = (struct align_task *)task;
    const struct align_unit *u = (struct align_unit *)unit;
    return t->stream->sink(t->stream->user, &u->pairs, room_of(t, unit)->results, err);
}

static void align_drop(struct bioinfer_task *task, struct bi_unit *unit)
{
    (void)task;
    (void)unit; /* the pairs are the caller's, the results lie in a room */
}

static const struct bi_task_def align_def = {.name = "pairwise",
                                             .unit_size = sizeof(struct align_unit),
                                             .read = align_read,
                                             .direct = align_direct,
                                             .result = align_result,
                                             .drop = align_drop};

int bioinfer_align_run(bioinfer_task *task, const struct bioinfer_align_stream *stream,
                       struct bioinfer_error *err)
{
    struct align_task t = {.task.def = &align_def, .aligner = bi_align_task_aligner(task)};
    struct bioinfer_align_stream s = {0};
    int st;
    if (!t.aligner)
        return bi_fail(err, BIOINFER_INVALID, "align stream: a task of alignments must be given");
    if ((st = bi_params_copy(&s, sizeof s, stream, "align stream", err)))
        return st;
    if (!s.source || !s.sink)
        return bi_fail(err, BIOINFER_INVALID, "align stream: source and sink must be given");
    if ((st = bi_task_enter(task, err)))
        return st;
    t.stream = &s;
    t.task.env = task->env;
    st = bi_task_run_direct(&t.task, err);
    bi_task_leave(task);
    return st;
}

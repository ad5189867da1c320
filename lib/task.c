/* task.c - the public calls that every task shares. */
#include "../engine/task.h"

#include <string.h>

void bioinfer_task_close(bioinfer_task **task)
{
    struct bioinfer_task *t = task ? *task : NULL;
    if (!t)
        return;
    bi_task_close(t);
    t->def->free(t);
    bi_free(t->env, t);
    *task = NULL;
}

void bioinfer_task_set_progress(bioinfer_task *t,
                                int (*progress)(void *user, uint64_t records, uint64_t residues),
                                void *user)
{
    if (!t)
        return;
    t->progress = progress;
    t->progress_user = user;
}

int bioinfer_task_prepare(bioinfer_task *t, struct bioinfer_error *err)
{
    int st;
    if (!t)
        return bi_fail(err, BIOINFER_INVALID, "prepare: a task must be given");
    t = t->inner ? t->inner : t;
    if ((st = bi_task_enter(t, err)))
        return st;
    st = t->def->direct ? 0 : bi_task_load(t, err);
    bi_task_leave(t);
    return st;
}

/* Runs a task that was entered. */
static int run_entered(bioinfer_task *t, bioinfer_source source, void *source_user,
                       bioinfer_sink sink, void *sink_user, struct bioinfer_error *err)
{
    int st;
    t->source = source;
    t->source_user = source_user;
    t->sink = sink;
    t->sink_user = sink_user;
    t->n_wide = t->part_residues = 0;
    st = t->def->run      ? t->def->run(t, err)
         : t->def->direct ? bi_task_run_alone(t, err)
                          : bi_task_run(t, err);
    if (t->def->end)
        t->def->end(t);
    if (t->n_wide)
        bi_log(t->env, BIOINFER_LOG_WARNING,
               "%llu records left the range of float16 and were "
               "computed again in float32",
               (unsigned long long)t->n_wide);
    return st;
}

int bioinfer_task_run(bioinfer_task *t, bioinfer_source source, void *source_user,
                      bioinfer_sink sink, void *sink_user, struct bioinfer_error *err)
{
    int st;
    if (!t || !source || !sink)
        return bi_fail(err, BIOINFER_INVALID, "run: task, source and sink must be given");
    if ((st = bi_task_enter(t, err)))
        return st;
    st = run_entered(t, source, source_user, sink, sink_user, err);
    bi_task_leave(t);
    return st;
}

struct array_source {
    const struct bioinfer_record *records;
    size_t n, at;
};

static int next_of_array(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct array_source *a = user;
    (void)err;
    if (a->at == a->n)
        return 0;
    *record = a->records[a->at++];
    return 1;
}

int bioinfer_task_compute(bioinfer_task *task, const struct bioinfer_record *records,
                          size_t n_records, bioinfer_sink sink, void *sink_user,
                          struct bioinfer_error *err)
{
    struct array_source a = {records, n_records, 0};
    if (!records && n_records)
        return bi_fail(err, BIOINFER_INVALID, "compute: records must be given");
    return bioinfer_task_run(task, next_of_array, &a, sink, sink_user, err);
}

void bioinfer_task_set_profile(bioinfer_task *t, int on)
{
    t = t && t->inner ? t->inner : t;
    if (t && t->def->direct)
        t->def->set_profile(t, on != 0);
    else if (t)
        t->exec->profiling = on != 0;
}

int bioinfer_task_get_profile(bioinfer_task *t, struct bioinfer_profile *profile)
{
    const size_t size = profile ? profile->struct_size : 0;
    if (!t || size < sizeof profile->struct_size)
        return BIOINFER_INVALID;
    t = t->inner ? t->inner : t;
    if (!t->def->direct)
        return bi_task_get_profile(t, profile);
    memcpy(profile, t->def->profile(t), size < sizeof *profile ? size : sizeof *profile);
    profile->struct_size = size;
    return 0;
}

int bioinfer_task_dump(bioinfer_task *t, int64_t n_residues, int fused, int trace,
                       int (*write)(void *user, const char *text, size_t len), void *user,
                       struct bioinfer_error *err)
{
    struct bi_counts one;
    if (!t || !write || n_residues < 1 || n_residues > BIOINFER_MAX_RESIDUES)
        return bi_fail(err, BIOINFER_INVALID, "dump: 1 to %d residues", BIOINFER_MAX_RESIDUES);
    t = t->inner ? t->inner : t;
    if (t->def->direct)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "dump: task %s has no graph", t->def->name);
    one = t->def->one ? t->def->one(t, n_residues) : t->def->smallest;
    return bi_task_dump(t, &one, fused, trace, write, user, err);
}

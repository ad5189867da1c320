/* task.c - the task rescore: poses of ligands, rated by Vina's scoring function.
 *
 * A record is the text of a molecule in its pose. A unit is a block of records, whose texts are
 * copied, as a source keeps one record at a time; threads take poses of it one by one, and nothing
 * that one computes reaches another. There is no graph and no model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../base/team.h"
#include "../tasks.h"
#include "rescore.h"
#include "../table.h"

enum { BLOCK_OF_THREAD = 64, BLOCK_TEXT = 4 << 20 };

/* A record of the block: where its texts begin in `text`, and what became of it. */
struct entry {
    struct bioinfer_record record; /* texts are offsets until the block is read */
    size_t id, file, sequence;
    bool has_file;
    struct bioinfer_rescored found;
    uint8_t notes;
    struct bioinfer_error why; /* why.status not 0: there is no result */
};

/* Room that a thread works in. */
struct hand {
    struct bi_molecule mol;
    struct bi_rater rater;
};

struct rescore {
    struct bioinfer_task task;
    struct bi_site site;
    struct bi_vina *vina;
    struct bi_slopes *slopes; /* NULL = poses stay as they are */
    bool with_text;
    struct hand *hands;
    int n_threads;
    struct bi_buf text;
    struct entry *entries;
    struct bi_buf *poses; /* [cap_poses] the pose of each entry, as a text */
    size_t n, cap_entries, cap_poses;
    int more; /* the source's last answer; 1 before it was asked */
    struct bioinfer_error source_error;
    uint8_t told;
    struct bioinfer_profile profile;
};

/* ---- reading ---- */

static size_t put_text(struct bi_buf *text, const char *s, size_t n)
{
    const size_t at = text->size;
    bi_buf_append(text, s, n);
    bi_buf_putc(text, '\0');
    return at;
}

static int add_entry(struct rescore *t, const struct bioinfer_record *r, struct bioinfer_error *err)
{
    struct entry e = {.record = *r, .why.status = r->status, .has_file = r->file != NULL};
    if (r->status)
        snprintf(e.why.text, sizeof e.why.text, "%s", r->message);
    const size_t cap = t->cap_poses;
    e.record.length = r->status ? 0 : r->length;
    e.id = put_text(&t->text, r->id, strlen(r->id));
    e.file = put_text(&t->text, r->file ? r->file : "", r->file ? strlen(r->file) : 0);
    e.sequence = put_text(&t->text, r->status ? "" : r->sequence, e.record.length);
    if (t->text.failed ||
        !bi_grow(t->task.env, &t->entries, &t->cap_entries, t->n + 1, sizeof *t->entries))
        return bi_fail(err, BIOINFER_NOMEM, "%zu poses", t->n + 1);
    if (!bi_grow(t->task.env, &t->poses, &t->cap_poses, t->n + 1, sizeof *t->poses))
        return bi_fail(err, BIOINFER_NOMEM, "%zu poses", t->n + 1);
    for (size_t i = cap; i < t->cap_poses; i++)
        t->poses[i] = (struct bi_buf){.env = t->task.env};
    t->poses[t->n].size = 0;
    t->poses[t->n].failed = false;
    t->entries[t->n++] = e;
    return 0;
}

/* Reads a block. What ends it before it is full is what the next call returns. */
static int rescore_read(struct bioinfer_task *task, struct bi_unit *unit,
                        struct bioinfer_error *err)
{
    struct rescore *t = (struct rescore *)task;
    const size_t most = (size_t)t->n_threads * BLOCK_OF_THREAD;
    int st;
    (void)unit;
    t->n = t->text.size = 0;
    t->text.failed = false;
    while (t->more == 1 && t->n < most && t->text.size < BLOCK_TEXT) {
        struct bioinfer_record r = {0};
        t->more = task->source(task->source_user, &r, &t->source_error);
        if (t->more == 1 && (st = add_entry(t, &r, err)))
            return st;
    }
    for (size_t i = 0; i < t->n; i++) {
        struct entry *e = &t->entries[i];
        e->record.id = t->text.data + e->id;
        e->record.file = e->has_file ? t->text.data + e->file : NULL;
        e->record.sequence = t->text.data + e->sequence;
    }
    if (t->n)
        return 1;
    st = t->more;
    if (st < 0 && err)
        *err = t->source_error;
    if (st == BIOINFER_NONE_NOW)
        t->more = 1;
    return st;
}

/* ---- computing ---- */

static int rate(const struct rescore *t, struct entry *e, struct hand *h, struct bi_buf *text,
                struct bioinfer_error *err)
{
    const struct bi_judge judge = {&t->site, t->vina, t->slopes};
    int st = bi_pose_rate(&judge, &h->rater, &h->mol, &e->found, err);
    if (st || !t->with_text || (st = bi_pose_write(text, &h->mol, &h->rater.pose, err)))
        return st;
    bi_buf_printf(text, "> <affinity>\n%.6f\n\n$$$$\n", e->found.affinity);
    return text->failed ? bi_fail(err, BIOINFER_NOMEM, "a pose of %d atoms", (int)h->rater.pose.n)
                        : 0;
}

static void rate_one(const struct rescore *t, struct entry *e, struct hand *h, struct bi_buf *text)
{
    const struct bioinfer_record *r = &e->record;
    struct bioinfer_error own = {0};
    int st = bi_record_molecule(t->task.env, r, &h->mol, &e->why);
    if ((e->why.status = st))
        return;
    e->notes = h->mol.notes;
    h->rater.pose.env = t->task.env;
    if (!(st = bi_pose_make(&h->rater.pose, &h->mol, &own)))
        st = rate(t, e, h, text, &own);
    if (st)
        e->why.status = bi_fail(&e->why, st, "%s: record %llu, line %llu: %s",
                                r->file ? r->file : r->id,
                                (unsigned long long)(r->number ? r->number : 1),
                                (unsigned long long)(r->line ? r->line : 1), own.text);
}

/* Rates poses [first, end); bi_team_for() calls it. */
static void rate_some(void *user, int thread, int64_t first, int64_t end)
{
    struct rescore *t = user;
    for (int64_t i = first; i < end; i++)
        if (!t->entries[i].why.status)
            rate_one(t, &t->entries[i], &t->hands[thread], &t->poses[i]);
}

static int rescore_direct(struct bioinfer_task *task, struct bi_unit *unit,
                          struct bioinfer_error *err)
{
    struct rescore *t = (struct rescore *)task;
    const double begun = bi_now();
    (void)unit;
    bi_team_for(task->env, t->n_threads, (int64_t)t->n, 1, rate_some, t);
    t->profile.seconds += bi_now() - begun;
    t->profile.passes++;
    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].why.status == BIOINFER_NOMEM)
            return bi_fail(err, BIOINFER_NOMEM, "%s", t->entries[i].why.text);
    return 0;
}

static int rescore_result(struct bioinfer_task *task, struct bi_unit *unit,
                          struct bioinfer_error *err)
{
    struct rescore *t = (struct rescore *)task;
    uint64_t n_atoms = 0;
    (void)unit;
    for (size_t i = 0; i < t->n; i++) {
        const struct entry *e = &t->entries[i];
        const bool lost = e->why.status != 0;
        const struct bioinfer_text text = {"sdf", t->poses[i].data, t->poses[i].size};
        const struct bioinfer_result r = {.ordinal = e->record.ordinal,
                                          .id = e->record.id,
                                          .length = lost ? 0 : e->found.n_atoms,
                                          .status = e->why.status,
                                          .message = lost ? e->why.text : "",
                                          .n_texts = t->with_text && !lost,
                                          .texts = &text,
                                          .rescored = lost ? NULL : &e->found};
        int st;
        bi_molecule_tell(task->env, e->record.id, e->notes, &t->told);
        t->profile.records++;
        t->profile.residues += (uint64_t)r.length;
        n_atoms += (uint64_t)r.length;
        if ((st = task->sink(task->sink_user, &r, err)))
            return st;
    }
    if (task->progress && task->progress(task->progress_user, t->n, n_atoms))
        return bi_fail(err, BIOINFER_CANCELLED, "stopped by progress");
    return 0;
}

/* ---- life ---- */

static void rescore_drop(struct bioinfer_task *task, struct bi_unit *unit)
{
    (void)task;
    (void)unit; /* all of a block is the task's, for the next one */
}

static void rescore_end(struct bioinfer_task *task)
{
    struct rescore *t = (struct rescore *)task;
    t->more = 1;
    t->told = 0;
    t->source_error = (struct bioinfer_error){0};
}

static void rescore_set_profile(struct bioinfer_task *task, bool on)
{
    (void)task;
    (void)on; /* figures cost nothing */
}

static const struct bioinfer_profile *rescore_profile(struct bioinfer_task *task)
{
    return &((struct rescore *)task)->profile;
}

static void rescore_free(struct bioinfer_task *task)
{
    struct rescore *t = (struct rescore *)task;
    for (int i = 0; t->hands && i < t->n_threads; i++) {
        bi_molecule_free(&t->hands[i].mol);
        bi_rater_free(&t->hands[i].rater);
    }
    for (size_t i = 0; i < t->cap_poses; i++)
        bi_buf_free(&t->poses[i]);
    bi_free(task->env, t->poses);
    bi_free(task->env, t->slopes);
    bi_free(task->env, t->hands);
    bi_free(task->env, t->vina);
    bi_free(task->env, t->entries);
    bi_buf_free(&t->text);
    bi_arena_reset(&t->site.arena);
}

static const struct bi_task_def rescore_def = {.name = "rescore",
                                               .unit_size = sizeof(struct bi_unit),
                                               .read = rescore_read,
                                               .direct = rescore_direct,
                                               .result = rescore_result,
                                               .drop = rescore_drop,
                                               .end = rescore_end,
                                               .set_profile = rescore_set_profile,
                                               .profile = rescore_profile,
                                               .free = rescore_free};

static int open_site(struct rescore *t, const struct bioinfer_rescore_params *p,
                     struct bioinfer_error *err)
{
    const struct bi_env *env = t->task.env;
    struct bi_structure s = {0};
    int st = bi_structure_open(&s, env, p->receptor, err);
    t->site.arena.env = env;
    if (!st)
        st = bi_site_build(&t->site, &s, p->hetero != 0, err);
    if (!st)
        bi_site_tell(env, p->receptor, &s, &t->site);
    bi_structure_close(&s);
    return st;
}

static int open_rescore(struct rescore *t, const struct bioinfer_rescore_params *params,
                        struct bioinfer_error *err)
{
    const struct bi_env *env = t->task.env;
    struct bioinfer_rescore_params p = {0};
    int st = bi_params_take(&p, sizeof p, params, "rescore", err);
    if (st)
        return st;
    if (!p.receptor)
        return bi_fail(err, BIOINFER_INVALID, "rescore: a receptor must be given");
    t->more = 1;
    t->text.env = env;
    t->n_threads = t->task.ctx->n_threads;
    t->task.progress = p.progress;
    t->task.progress_user = p.progress_user;
    if (!(t->hands = bi_calloc(env, (size_t)t->n_threads, sizeof *t->hands)) ||
        !(t->vina = bi_alloc(env, sizeof *t->vina)))
        return bi_fail(err, BIOINFER_NOMEM, "rescore: %d threads", t->n_threads);
    bi_vina_fill(t->vina);
    t->with_text = p.text != 0;
    if (p.minimize) {
        if (!(t->slopes = bi_alloc(env, sizeof *t->slopes)))
            return bi_fail(err, BIOINFER_NOMEM, "rescore: tables of slopes");
        bi_slopes_fill(t->slopes);
    }
    return open_site(t, &p, err);
}

int bioinfer_rescore_open(bioinfer_task **out, bioinfer_context *ctx,
                          const struct bioinfer_rescore_params *params, struct bioinfer_error *err)
{
    int st = bi_task_new_direct(out, ctx, &rescore_def, sizeof(struct rescore), err);
    if (!st && (st = open_rescore((struct rescore *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

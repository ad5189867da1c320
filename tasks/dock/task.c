/* task.c - the task dock: a small molecule becomes poses beside a receptor, ranked and checked.
 *
 * A record is the text of a molecule, and a unit one record. Its samples go through the sampler
 * together; the confidence network rates their last poses; the best ones are rated by Vina's
 * function. All that a receptor gives is computed once, also where records name theirs and the next
 * one names the same.
 *
 * Sections: a record's samples, their ranks, poses, results, life, opening. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../table.h"
#include "../tasks.h"
#include "networks.h"

enum { DEFAULT_SAMPLES = 10, MOST_POSES = 4096 };

/* A pose that is handed out. */
struct found {
    struct bioinfer_docked docked;
    struct bioinfer_rescored rescored;
    bool is_rated;
    double (*x)[3];
    size_t cap_x;
    struct bi_buf text;
};

/* A sample's place among the others. */
struct ranked {
    int32_t sample;
    double value; /* the more the better; NaN comes last */
};

struct dock {
    struct bioinfer_task task;
    struct bi_arena arena; /* texts and lists of the parameters */
    struct bi_dock_networks networks;
    struct bi_dock_language language;
    bool is_fixed, hetero, with_text;
    struct bi_dock_target target;       /* the last one; with is_fixed the only one */
    struct bioinfer_error target_error; /* status not 0: the target cannot be used */
    const char *noise;
    int64_t *seeds;
    int n_seeds, n_samples, n, top; /* n: samples of all seeds */
    struct bi_vina *vina;
    struct bi_slopes *slopes; /* NULL = poses stay as they are */
    /* the record at hand */
    struct bioinfer_record record;
    struct bioinfer_error why; /* status not 0: there is no result */
    struct bi_molecule mol;
    struct bi_dock_ligand ligand;
    struct bi_rater rater;
    struct bi_dock_sample *samples; /* [n] */
    double (*x)[3];                 /* [n][atoms], in the receptor's frame */
    size_t cap_x;
    double *outputs, *confidence; /* the network's; [n] first ones */
    double (*good)[3];            /* poses of the samples that have one */
    size_t cap_good;
    struct ranked *ranks; /* [n_good] */
    int n_good;
    struct found *found; /* [n_found] of `top` */
    int n_found;
    bool is_known; /* Vina's function knows all elements of the molecule */
    uint8_t told;
    struct bioinfer_profile profile;
};

/* ---- a record's samples ---- */

static int ask(void *user)
{
    const struct dock *d = user;
    return d->task.progress && d->task.progress(d->task.progress_user, 0, 0);
}

/* The receptor of a record, computed unless the record before had the same. */
static int find_target(struct dock *d, struct bioinfer_error *err)
{
    const char *path = d->record.receptor;
    if (d->is_fixed)
        return 0;
    if (!path)
        return bi_fail(err, BIOINFER_INVALID, "the record names no receptor");
    if (!d->target.path || strcmp(d->target.path, path)) {
        bi_dock_target_free(&d->target);
        d->target_error = (struct bioinfer_error){0};
        bi_dock_target_make(&d->target, &d->networks, &d->language, path, d->hetero,
                            d->task.ctx->n_threads, &d->target_error);
    }
    if (d->target_error.status)
        return bi_fail(err, d->target_error.status, "%s", d->target_error.text);
    return 0;
}

/* A number of the molecule, which random numbers follow: what it is and where its atoms lie. */
static uint64_t number_of(const struct dock *d)
{
    const struct bi_dock_ligand *l = &d->ligand;
    struct bi_hash hash = {{0x646f636bu, 0x706f7365u}};
    bi_hash_bytes(&hash, l->features, (size_t)l->n * sizeof *l->features);
    bi_hash_bytes(&hash, l->bonds, (size_t)l->n_bonds * sizeof *l->bonds);
    bi_hash_bytes(&hash, l->bond_type, (size_t)l->n_bonds * sizeof *l->bond_type);
    for (int32_t i = 0; i < l->n; i++)
        bi_hash_bytes(&hash, d->mol.atoms[i].x, sizeof d->mol.atoms[i].x);
    return hash.h[0];
}

/* Random numbers of a file count for the first record alone: others have another size, and are
 * told so. */
static int sample(struct dock *d, struct bioinfer_error *err)
{
    const size_t size = (size_t)d->n * (size_t)d->ligand.n;
    struct bi_dock_recorded recorded = {.arena.env = d->task.env};
    struct bi_dock_run run = {.plan = &d->networks.plan,
                              .receptor = d->target.score,
                              .spread = d->target.receptor.spread,
                              .ligand = &d->ligand,
                              .record = number_of(d),
                              .n_threads = d->task.ctx->n_threads,
                              .ask = ask,
                              .user = d};
    int st = 0;
    if (!bi_grow(d->task.env, &d->x, &d->cap_x, size, sizeof *d->x) ||
        !bi_grow(d->task.env, &d->good, &d->cap_good, size, sizeof *d->good))
        return bi_fail(err, BIOINFER_NOMEM, "%d samples of %d atoms", d->n, (int)d->ligand.n);
    for (int i = 0; i < d->n; i++)
        d->samples[i] = (struct bi_dock_sample){.seed = d->seeds[i / d->n_samples],
                                                .number = i % d->n_samples};
    if (d->noise) {
        st = bi_dock_recorded_read(&recorded, d->noise, run.plan->schedule.n_run, d->n, &d->ligand,
                                   err);
        run.recorded = &recorded;
    }
    if (!st)
        st = bi_dock_sample(&run, d->samples, d->n, d->x, err);
    bi_arena_reset(&recorded.arena);
    return st;
}

/* ---- their ranks ---- */

static int compare(const void *a, const void *b)
{
    const struct ranked *p = a, *q = b;
    const bool p_last = isnan(p->value), q_last = isnan(q->value);
    if (p_last != q_last)
        return p_last ? 1 : -1;
    if (!p_last && p->value != q->value)
        return p->value > q->value ? -1 : 1;
    return (p->sample > q->sample) - (p->sample < q->sample);
}

/* Puts a sample's places into the rater, which knows the molecule, in the frame of the file. */
static void place(struct dock *d, int32_t number)
{
    struct bi_pose *p = &d->rater.pose;
    const double(*x)[3] = (const double(*)[3])d->x + (size_t)number * (size_t)d->ligand.n;
    for (int32_t i = 0; i < p->n; i++)
        for (int k = 0; k < 3; k++)
            p->x[i][k] = x[p->atom[i]][k] + d->target.receptor.centre[k];
    bi_pose_round(p);
}

/* Confidence in the poses there are; NaN where there is no network. */
static int find_confidence(struct dock *d, struct bioinfer_error *err)
{
    const size_t size = (size_t)d->ligand.n;
    const struct bi_diffdock_ligand view = bi_dock_view(&d->ligand);
    int st = 0, at = 0, step = 0;
    d->n_good = 0;
    for (int i = 0; i < d->n; i++) {
        d->confidence[i] = NAN;
        if (d->samples[i].status)
            continue;
        memcpy(d->good + size * (size_t)d->n_good, d->x + size * (size_t)i, size * sizeof *d->x);
        d->ranks[d->n_good++] = (struct ranked){i, NAN};
    }
    if (!d->n_good || !d->networks.confidence)
        return 0;
    step = bi_diffdock_settings_of(d->networks.confidence)->n_outputs;
    st = bi_diffdock_confidence(d->target.confidence, &view, (const double(*)[3])d->good, d->n_good,
                                d->task.ctx->n_threads, NULL, d->outputs, err);
    for (int i = 0; i < d->n && !st; i++)
        if (!d->samples[i].status)
            d->confidence[i] = d->outputs[(size_t)at++ * (size_t)step];
    return st;
}

static int rank(struct dock *d, struct bioinfer_error *err)
{
    const struct bi_judge judge = {&d->target.site, d->vina, NULL};
    struct bioinfer_error unknown = {0};
    int st = find_confidence(d, err);
    if (st)
        return st;
    d->rater.pose.env = d->task.env;
    st = bi_pose_make(&d->rater.pose, &d->mol, &unknown);
    d->is_known = !st;
    if (st && st != BIOINFER_UNSUPPORTED)
        return bi_fail(err, st, "%s", unknown.text);
    st = 0;
    for (int i = 0; i < d->n_good && !st; i++) {
        struct ranked *r = &d->ranks[i];
        struct bioinfer_rescored rated;
        r->value = d->confidence[r->sample];
        if (d->networks.confidence || !d->is_known)
            continue;
        place(d, r->sample);
        if (!(st = bi_pose_rate(&judge, &d->rater, &d->mol, &rated, err)))
            r->value = -rated.affinity;
    }
    if (d->n_good)
        qsort(d->ranks, (size_t)d->n_good, sizeof *d->ranks, compare);
    return st;
}

/* ---- poses ---- */

static void put_field(struct bi_buf *text, const char *name, double value, int digits)
{
    if (!isnan(value))
        bi_buf_printf(text, "> <%s>\n%.*f\n\n", name, digits, value);
}

static int write_pose(struct dock *d, struct found *f, struct bioinfer_error *err)
{
    int st = bi_pose_write(&f->text, &d->mol, &d->rater.pose, err);
    if (st)
        return st;
    put_field(&f->text, "rank", f->docked.rank, 0);
    put_field(&f->text, "confidence", f->docked.confidence, 4);
    put_field(&f->text, "affinity", f->is_rated ? f->rescored.affinity : (double)NAN, 6);
    put_field(&f->text, "seed", (double)f->docked.seed, 0);
    put_field(&f->text, "sample", f->docked.sample, 0);
    bi_buf_puts(&f->text, "$$$$\n");
    return f->text.failed ? bi_fail(err, BIOINFER_NOMEM, "a pose of %d atoms", (int)d->ligand.n)
                          : 0;
}

/* The pose of a rank, from 0. */
static int finish_pose(struct dock *d, int number, struct bioinfer_error *err)
{
    const struct bi_judge judge = {&d->target.site, d->vina, d->slopes};
    const int32_t sample = d->ranks[number].sample;
    struct found *f = &d->found[number];
    struct bi_pose *p = &d->rater.pose;
    int st = d->is_known ? bi_pose_make(p, &d->mol, err) : bi_pose_place(p, &d->mol, err);
    f->text.env = d->task.env;
    f->text.size = 0;
    f->text.failed = false;
    if (st)
        return st;
    place(d, sample);
    f->is_rated = d->is_known;
    if (d->is_known && (st = bi_pose_rate(&judge, &d->rater, &d->mol, &f->rescored, err)))
        return st;
    if (!bi_grow(d->task.env, &f->x, &f->cap_x, (size_t)p->n, sizeof *f->x))
        return bi_fail(err, BIOINFER_NOMEM, "a pose of %d atoms", (int)p->n);
    memcpy(f->x, p->x, (size_t)p->n * sizeof *f->x);
    f->docked = (struct bioinfer_docked){.rank = number + 1,
                                         .seed = d->samples[sample].seed,
                                         .sample = d->samples[sample].number,
                                         .confidence = d->confidence[sample],
                                         .n_atoms = p->n,
                                         .positions = f->x[0]};
    return d->with_text ? write_pose(d, f, err) : 0;
}

static int compute(struct dock *d, struct bioinfer_error *err)
{
    int st;
    if ((st = find_target(d, err)) || (st = bi_dock_ligand_make(&d->ligand, &d->mol, err)) ||
        (st = sample(d, err)) || (st = rank(d, err)))
        return st;
    if (!d->n_good)
        return bi_fail(err, BIOINFER_NONFINITE, "none of %d samples has a pose: %s", d->n,
                       d->samples[0].status == BIOINFER_NONFINITE ? "their scores are not finite"
                                                                  : "they went astray");
    while (!st && d->n_found < d->top && d->n_found < d->n_good)
        if (!(st = finish_pose(d, d->n_found, err)))
            d->n_found++;
    return st;
}

/* ---- results ---- */

static int dock_read(struct bioinfer_task *task, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct dock *d = (struct dock *)task;
    (void)unit;
    d->record = (struct bioinfer_record){0};
    return task->source(task->source_user, &d->record, err);
}

static int dock_direct(struct bioinfer_task *task, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct dock *d = (struct dock *)task;
    const struct bioinfer_record *r = &d->record;
    const double begun = bi_now();
    struct bioinfer_error own = {0};
    int st = r->status;
    (void)unit;
    d->n_found = d->n_good = 0;
    d->why = (struct bioinfer_error){.status = r->status};
    if (st)
        snprintf(d->why.text, sizeof d->why.text, "%s", r->message ? r->message : "");
    else if (!(st = bi_record_molecule(task->env, r, &d->mol, &d->why))) {
        bi_molecule_tell(task->env, r->id, d->mol.notes, &d->told);
        if ((st = compute(d, &own)))
            bi_fail(&d->why, st, "%s: record %llu, line %llu: %s", r->file ? r->file : r->id,
                    (unsigned long long)(r->number ? r->number : 1),
                    (unsigned long long)(r->line ? r->line : 1), own.text);
    }
    d->why.status = st;
    d->profile.seconds += bi_now() - begun;
    d->profile.passes++;
    if (st == BIOINFER_NOMEM || st == BIOINFER_CANCELLED)
        return bi_fail(err, st, "%s", d->why.text);
    return 0;
}

/* Pose or lost sample number `piece`, into *r and *docked. */
static void fill_piece(const struct dock *d, uint32_t piece, struct bioinfer_result *r,
                       struct bioinfer_docked *docked, struct bioinfer_text *text)
{
    int lost = (int)piece - d->n_found;
    r->docked = docked;
    if (lost < 0) {
        const struct found *f = &d->found[piece];
        *docked = f->docked;
        *text = (struct bioinfer_text){"sdf", f->text.data, f->text.size};
        r->n_texts = d->with_text;
        r->rescored = f->is_rated ? &f->rescored : NULL;
        return;
    }
    for (int i = 0; i < d->n; i++)
        if (d->samples[i].status && !lost--)
            *docked = (struct bioinfer_docked){.seed = d->samples[i].seed,
                                               .sample = d->samples[i].number,
                                               .status = d->samples[i].status,
                                               .confidence = NAN};
}

static int dock_result(struct bioinfer_task *task, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct dock *d = (struct dock *)task;
    const bool failed = d->why.status != 0;
    const uint32_t n = failed ? 1 : (uint32_t)(d->n_found + d->n - d->n_good);
    int st = 0;
    (void)unit;
    for (uint32_t i = 0; i < n && !st; i++) {
        struct bioinfer_docked docked = {0};
        struct bioinfer_text text = {0};
        struct bioinfer_result r = {.ordinal = d->record.ordinal,
                                    .id = d->record.id,
                                    .length = failed ? 0 : d->rater.pose.n,
                                    .status = d->why.status,
                                    .message = failed ? d->why.text : "",
                                    .piece = i,
                                    .more = i + 1 < n,
                                    .texts = &text};
        if (!failed)
            fill_piece(d, i, &r, &docked, &text);
        st = task->sink(task->sink_user, &r, err);
    }
    d->profile.records++;
    d->profile.residues += failed ? 0 : (uint64_t)d->rater.pose.n;
    if (!st && task->progress &&
        task->progress(task->progress_user, 1, failed ? 0 : (uint64_t)d->rater.pose.n))
        st = bi_fail(err, BIOINFER_CANCELLED, "stopped by progress");
    return st;
}

/* ---- life ---- */

static void dock_drop(struct bioinfer_task *task, struct bi_unit *unit)
{
    (void)task;
    (void)unit; /* all of a record is the task's, for the next one */
}

static void dock_end(struct bioinfer_task *task)
{
    ((struct dock *)task)->told = 0;
}

static void dock_set_profile(struct bioinfer_task *task, bool on)
{
    (void)task;
    (void)on; /* figures cost nothing */
}

static const struct bioinfer_profile *dock_profile(struct bioinfer_task *task)
{
    return &((struct dock *)task)->profile;
}

static void dock_free(struct bioinfer_task *task)
{
    struct dock *d = (struct dock *)task;
    const struct bi_env *env = task->env;
    bi_dock_target_free(&d->target);
    bi_dock_language_close(&d->language);
    bi_dock_networks_close(&d->networks);
    bi_molecule_free(&d->mol);
    bi_dock_ligand_free(&d->ligand);
    bi_rater_free(&d->rater);
    for (int i = 0; d->found && i < d->top; i++) {
        bi_free(env, d->found[i].x);
        bi_buf_free(&d->found[i].text);
    }
    bi_free(env, d->vina);
    bi_free(env, d->slopes);
    bi_free(env, d->x);
    bi_free(env, d->good);
    bi_arena_reset(&d->arena);
}

static const struct bi_task_def dock_def = {.name = "dock",
                                            .unit_size = sizeof(struct bi_unit),
                                            .read = dock_read,
                                            .direct = dock_direct,
                                            .result = dock_result,
                                            .drop = dock_drop,
                                            .end = dock_end,
                                            .set_profile = dock_set_profile,
                                            .profile = dock_profile,
                                            .free = dock_free};

/* ---- opening ---- */

static int check(const struct bioinfer_dock_params *p, struct bioinfer_error *err)
{
    if (p->n_seeds > MOST_POSES)
        return bi_fail(err, BIOINFER_INVALID, "dock: %d seeds, at most %d", p->n_seeds, MOST_POSES);
    for (int i = 0; i < p->n_seeds; i++)
        for (int k = 0; k < i; k++)
            if (p->seeds[k] == p->seeds[i])
                return bi_fail(err, BIOINFER_INVALID, "dock: seed %lld comes twice",
                               (long long)p->seeds[i]);
    return 0;
}

/* A copy of a text in the arena; *to stays NULL for NULL. */
static int keep(struct dock *d, const char *text, const char **to, struct bioinfer_error *err)
{
    if (text && !(*to = bi_arena_strndup(&d->arena, text, strlen(text))))
        return bi_fail(err, BIOINFER_NOMEM, "dock: parameters");
    return 0;
}

static int make_room(struct dock *d, const struct bioinfer_dock_params *p,
                     struct bioinfer_error *err)
{
    const int width = d->networks.confidence
                          ? bi_diffdock_settings_of(d->networks.confidence)->n_outputs
                          : 1;
    const size_t n = (size_t)d->n;
    if (!(d->seeds = bi_arena_calloc(&d->arena, (size_t)d->n_seeds, sizeof *d->seeds)) ||
        !(d->samples = bi_arena_calloc(&d->arena, n, sizeof *d->samples)) ||
        !(d->outputs = bi_arena_calloc(&d->arena, n, (size_t)width * sizeof *d->outputs)) ||
        !(d->confidence = bi_arena_calloc(&d->arena, n, sizeof *d->confidence)) ||
        !(d->ranks = bi_arena_calloc(&d->arena, n, sizeof *d->ranks)) ||
        !(d->found = bi_arena_calloc(&d->arena, (size_t)d->top, sizeof *d->found)) ||
        !(d->vina = bi_alloc(d->task.env, sizeof *d->vina)) ||
        (p->minimize && !(d->slopes = bi_alloc(d->task.env, sizeof *d->slopes))))
        return bi_fail(err, BIOINFER_NOMEM, "dock: %zu samples", n);
    for (int i = 0; i < p->n_seeds; i++)
        d->seeds[i] = p->seeds[i];
    bi_vina_fill(d->vina);
    if (d->slopes)
        bi_slopes_fill(d->slopes);
    return 0;
}

static int open_dock(struct dock *d, const struct bioinfer_dock_params *params,
                     struct bioinfer_error *err)
{
    const struct bi_env *env = d->task.env;
    struct bioinfer_dock_params p = {0};
    int st = bi_params_take(&p, sizeof p, params, "dock", err);
    d->arena.env = d->ligand.env = d->networks.env = env;
    if (st || (st = check(&p, err)))
        return st;
    d->language.ctx = d->task.ctx;
    d->networks.convention = p.convention;
    d->hetero = p.hetero != 0;
    d->with_text = p.text != 0;
    d->task.progress = p.progress;
    d->task.progress_user = p.progress_user;
    d->n_seeds = p.n_seeds ? p.n_seeds : 1;
    d->n_samples = p.samples ? p.samples : DEFAULT_SAMPLES;
    d->top = p.top ? p.top : 1;
    if (d->n_seeds > MOST_POSES / d->n_samples)
        return bi_fail(err, BIOINFER_INVALID, "dock: %d seeds of %d samples, at most %d in all",
                       d->n_seeds, d->n_samples, MOST_POSES);
    d->n = d->n_seeds * d->n_samples;
    d->top = d->top < d->n ? d->top : d->n;
    if ((st = keep(d, p.language, &d->language.path, err)) ||
        (st = keep(d, p.noise, &d->noise, err)) ||
        (st = bi_dock_networks_open(&d->networks, p.weights, p.settings, p.steps, err)) ||
        (st = make_room(d, &p, err)) || !p.receptor)
        return st;
    d->is_fixed = true;
    st = bi_dock_target_make(&d->target, &d->networks, &d->language, p.receptor, d->hetero,
                             d->task.ctx->n_threads, err);
    bi_dock_language_close(&d->language); /* no other receptor comes */
    return st;
}

int bioinfer_dock_open(bioinfer_task **out, bioinfer_context *ctx,
                       const struct bioinfer_dock_params *params, struct bioinfer_error *err)
{
    int st = bi_task_new_direct(out, ctx, &dock_def, sizeof(struct dock), err);
    if (!st && (st = open_dock((struct dock *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

/* sample.c - poses of a ligand: from noise, step by step, by the scores of a network. */
#include <math.h>
#include <string.h>

#include "dock.h"

/* A pose whose first atom is farther from the receptor's centre than this, in angstrom, is lost. */
static const double farthest = 1e5;

static int no_memory(struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "no memory for the samples of a ligand");
}

int bi_dock_plan_make(struct bi_dock_plan *out, const struct bi_dock_schedule *schedule,
                      const struct bi_diffdock_settings *settings, struct bioinfer_error *err)
{
    const size_t n = (size_t)schedule->n_run, width = (size_t)settings->time_width;
    int st = bi_dock_schedule_check(schedule, err);
    if (st)
        return st;
    out->schedule = *schedule;
    out->time_width = settings->time_width;
    out->no_torsion = settings->no_torsion;
    if (!(out->steps = bi_arena_calloc(&out->arena, n, sizeof *out->steps)) ||
        !(out->times = bi_arena_calloc(&out->arena, n * width, sizeof *out->times)))
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        bi_dock_step_fill(&out->steps[i], schedule, (int)i);
        bi_diffdock_embed_time(settings, out->steps[i].time, out->times + i * width);
    }
    return 0;
}

struct bi_diffdock_ligand bi_dock_view(const struct bi_dock_ligand *l)
{
    return (struct bi_diffdock_ligand){
        .n = l->n,
        .n_bonds = l->n_bonds,
        .n_torsions = l->n_torsions,
        .features = (const int32_t(*)[BI_DIFFDOCK_LIGAND_FEATURES])l->features,
        .bonds = (const int32_t(*)[2])l->bonds,
        .bond_type = l->bond_type,
        .torsions = (const int32_t(*)[2])l->torsions};
}

/* Room for the samples of a ligand. */
struct room {
    struct bi_arena arena;
    double (*poses)[3]; /* samples that are not lost, one after the other */
    struct bi_diffdock_score *scores;
    double *torsions; /* the scores' */
    double *random;   /* [n_torsions], one sample's */
    double *work;     /* a step's */
};

static int make_room(struct room *r, const struct bi_dock_ligand *l, size_t n,
                     struct bioinfer_error *err)
{
    const size_t atoms = (size_t)l->n, turns = (size_t)l->n_torsions + 1;
    if (!(r->poses = bi_arena_calloc(&r->arena, n * atoms, sizeof *r->poses)) ||
        !(r->scores = bi_arena_calloc(&r->arena, n, sizeof *r->scores)) ||
        !(r->torsions = bi_arena_calloc(&r->arena, n * turns, sizeof *r->torsions)) ||
        !(r->random = bi_arena_calloc(&r->arena, turns, sizeof *r->random)) ||
        !(r->work = bi_arena_calloc(&r->arena, 6 * atoms + turns, sizeof *r->work)))
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        r->scores[i].torsions = r->torsions + i * turns;
    return 0;
}

static struct bi_dock_place place_of(const struct bi_dock_run *run, const struct bi_dock_sample *s,
                                     int step)
{
    return (struct bi_dock_place){.seed = (uint64_t)s->seed,
                                  .record = run->record,
                                  .sample = (uint32_t)s->number,
                                  .step = (uint32_t)step};
}

/* The random numbers of sample i in a step. */
static void draw(const struct bi_dock_run *run, const struct bi_dock_ligand *l,
                 const struct bi_dock_sample *samples, int i, int step, double *torsions,
                 struct bi_dock_move *out)
{
    const struct bi_dock_recorded *from = run->recorded;
    if (from) {
        const double *row = from->noise +
                            ((int64_t)step * from->n_samples + i) * (6 + (int64_t)from->n_torsions);
        *out = (struct bi_dock_move){.shift = {row[0], row[1], row[2]},
                                     .turn = {row[3], row[4], row[5]},
                                     .torsions = row + 6};
        return;
    }
    const struct bi_dock_place at = place_of(run, &samples[i], step);
    bi_dock_draw(out, torsions, l, &at);
}

static bool is_near(const double (*x)[3], int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            if (!(fabs(x[i][k]) < farthest))
                return false;
    return true;
}

static int take_step(const struct bi_dock_run *run, const struct bi_dock_ligand *l,
                     struct bi_dock_sample *samples, int n, int step, struct room *r,
                     double (*x)[3], struct bioinfer_error *err)
{
    const struct bi_dock_plan *plan = run->plan;
    const struct bi_dock_step *s = &plan->steps[step];
    const struct bi_diffdock_ligand view = bi_dock_view(l);
    const struct bi_diffdock_time time = {plan->times + (size_t)step * (size_t)plan->time_width,
                                          s->sigma[BI_DOCK_SHIFT], s->turn_norm, s->torsion_norm};
    const size_t size = (size_t)l->n;
    int n_left = 0, at = 0, st;
    for (int i = 0; i < n; i++)
        if (!samples[i].status)
            memcpy(r->poses + size * (size_t)n_left++, x + size * (size_t)i, size * sizeof *x);
    if (!n_left)
        return 0;
    st = bi_diffdock_score(run->receptor, &view, &time, (const double(*)[3])r->poses, n_left,
                           run->n_threads, NULL, r->scores, err);
    if (st)
        return st;
    for (int i = 0; i < n; i++) {
        double(*pose)[3] = x + size * (size_t)i;
        struct bi_dock_move score, random;
        if (samples[i].status)
            continue;
        const struct bi_diffdock_score *given = &r->scores[at++];
        memcpy(score.shift, given->shift, sizeof score.shift);
        memcpy(score.turn, given->turn, sizeof score.turn);
        score.torsions = given->torsions;
        draw(run, l, samples, i, step, r->random, &random);
        if (!bi_dock_pose_step(pose, l, s, &score, &random, r->work))
            samples[i].status = BIOINFER_NONFINITE;
        else if (!is_near((const double(*)[3])pose, l->n))
            samples[i].status = BIOINFER_OUT_OF_RANGE;
        if (run->moved)
            run->moved(run->user, step, i, (const double(*)[3])pose);
    }
    return 0;
}

int bi_dock_sample(const struct bi_dock_run *run, struct bi_dock_sample *samples, int n,
                   double (*x)[3], struct bioinfer_error *err)
{
    const struct bi_dock_plan *plan = run->plan;
    struct bi_dock_ligand l = *run->ligand;
    struct room r = {.arena.env = run->ligand->env};
    int st;
    if (plan->no_torsion)
        l.n_torsions = 0;
    st = make_room(&r, &l, (size_t)n, err);
    for (int i = 0; i < n && !st; i++) {
        const struct bi_dock_place at = place_of(run, &samples[i], BI_DOCK_START);
        double(*pose)[3] = x + (size_t)i * (size_t)l.n;
        samples[i].status = 0;
        if (run->recorded && run->recorded->start)
            memcpy(pose, run->recorded->start + (size_t)i * (size_t)l.n,
                   (size_t)l.n * sizeof *pose);
        else
            bi_dock_pose_start(pose, &l, &plan->schedule, run->spread, &at, r.random);
        if (!is_near((const double(*)[3])pose, l.n))
            samples[i].status = BIOINFER_NONFINITE;
    }
    for (int step = 0; step < plan->schedule.n_run && !st; step++)
        st = run->ask && run->ask(run->user)
                 ? bi_fail(err, BIOINFER_CANCELLED, "stopped by progress")
                 : take_step(run, &l, samples, n, step, &r, x, err);
    bi_arena_reset(&r.arena);
    return st;
}

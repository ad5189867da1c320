/* run.c - molecular dynamics and relaxation of files, over the task energy. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/number.h"
#include "../energy.h"
#include "motion.h"

/* ---- forces ---- */

struct computed {
    struct bi_motion *m;
    const struct bi_chunk *chunk; /* NULL: forces alone */
    int status;
    char message[sizeof(((struct bioinfer_error *)0)->text)];
};

struct source {
    bioinfer_task *task;
    const char *id;
};

static int take_energy(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct computed *c = user;
    const struct bioinfer_energy *e = r->energy;
    struct bi_motion *m = c->m;
    (void)err;
    c->status = r->status;
    snprintf(c->message, sizeof c->message, "%s", r->message);
    if (r->status || (c->chunk && c->chunk->failed))
        return 0;
    if (!e || !e->forces)
        return bi_fail(err, BIOINFER_INVALID, "motion: the task gives no forces");
    m->energy = e->energy;
    memcpy(m->force, e->forces, 3 * (size_t)m->n * sizeof *m->force);
    m->has_stress = e->stress != NULL;
    if (e->stress)
        memcpy(m->stress, e->stress, sizeof m->stress);
    return 0;
}

/* Computes the frame of c->m. */
static int compute(const struct source *s, struct computed *c, struct bioinfer_error *err)
{
    const struct bi_motion *m = c->m;
    const struct bioinfer_atoms atoms = {
        .n = m->n,
        .numbers = m->number,
        .positions = m->position,
        .cell = m->cell,
        .periodic = {m->periodic[0], m->periodic[1], m->periodic[2]},
        .charge = m->charge,
        .has_charge = m->has_charge};
    const struct bioinfer_record record = {
        .id = s->id, .description = "", .sequence = "", .atoms = &atoms};
    return bi_task_compute_one(s->task, &record, take_energy, c, err);
}

static int compute_forces(void *user, struct bi_motion *m, struct bioinfer_error *err)
{
    struct computed c = {.m = m, .status = BIOINFER_INTERNAL};
    int st = compute(user, &c, err);
    return st || !c.status ? st : bi_fail(err, c.status, "%s", c.message);
}

/* ---- molecular dynamics ---- */

/* The only frame of a file. */
static int read_one(const struct bi_env *env, const char *path, struct bi_frame *frame,
                    struct bioinfer_error *err)
{
    struct bi_frames *in = NULL;
    struct bi_frame second = {0};
    int st = bi_frames_open(&in, env, path, err), more = 0;
    if (!st && (st = bi_frames_next(in, frame, err)) == 0)
        st = bi_fail(err, BIOINFER_EMPTY, "%s: no frame", path);
    else if (st > 0)
        st = frame->status ? bi_fail(err, frame->status, "%s", frame->message) : 0;
    if (!st && (more = bi_frames_next(in, &second, err)) != 0)
        st = more < 0 ? more
                      : bi_fail(err, BIOINFER_INVALID,
                                "%s: has several frames, and a molecular dynamics begins from one",
                                path);
    bi_frame_free(&second);
    bi_frames_close(&in);
    return st;
}

/* Says why a frame cannot be moved as its file wants it. */
static int check_motion(const struct bi_frame *frame, bool dynamics, struct bioinfer_error *err)
{
    const char *why = frame->cannot_hold ? frame->cannot_hold
                      : dynamics         ? frame->cannot_begin
                                         : NULL;
    return why ? bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s", frame->name, why) : 0;
}

/* Says what of a frame a molecular dynamics does not follow, and what it takes for velocities. */
static void note_dynamics(const struct bi_env *env, const struct bi_frame *frame,
                          const struct bi_motion *m)
{
    if (frame->has_velocities)
        bi_log(env, BIOINFER_LOG_NAMED,
               "%s: begins with the velocities of the file, taken as angstrom per femtosecond: "
               "%.1f kelvin",
               frame->name, bi_motion_temperature(m));
    if (frame->unused & BI_UNUSED_MASSES)
        bi_log(env, BIOINFER_LOG_NAMED,
               "%s: the masses of the file are not used: atoms have standard atomic weights",
               frame->name);
    if (frame->unused & BI_UNUSED_CELL_VELOCITIES)
        bi_log(env, BIOINFER_LOG_NAMED,
               "%s: the velocities of the cell are not used: the cell stays as it is", frame->name);
}

/* Checks the parameters and puts what they leave out into them. */
static int complete_md(struct bioinfer_md_params *p, struct bioinfer_error *err)
{
    p->steps = p->steps ? p->steps : 1000;
    p->every = p->every ? p->every : 100;
    p->dt = p->dt != 0 ? p->dt : 0.5;
    p->friction = p->nve ? 0 : p->friction != 0 ? p->friction : 1;
    if (!(p->dt > 0) || p->dt > 100)
        return bi_fail(err, BIOINFER_INVALID, "md: a step of %g fs, expected above 0, at most 100",
                       p->dt);
    if (!(p->temperature >= 0) || p->temperature > 1e6)
        return bi_fail(err, BIOINFER_INVALID, "md: %g kelvin, expected 0 to 1e6", p->temperature);
    if (!p->nve && (!(p->friction > 0) || p->friction > 1e5))
        return bi_fail(err, BIOINFER_INVALID,
                       "md: a friction of %g/ps, expected above 0, at most "
                       "1e5",
                       p->friction);
    if (p->steps >= (uint64_t)1 << 39)
        return bi_fail(err, BIOINFER_LIMIT, "md: more than 2^39 steps");
    return 0;
}

/* All that decides the numbers of the trajectory, beside the atoms of its first frame,
 * which the file has. The text belongs to the buffer. */
static int describe(bioinfer_task *task, const struct bioinfer_md_params *p, bool draw,
                    const struct bi_motion *m, struct bi_buf *text, const char **out,
                    struct bioinfer_error *err)
{
    const char *fingerprint, *no_rules = bi_energy_no_rules(task);
    struct bi_hash momenta = {{1, 2}};
    char number[4][BI_NUMBER_SIZE];
    int st = bioinfer_model_fingerprint(task->model, &fingerprint, err);
    if (st)
        return st;
    bi_print_f64(number[0], p->dt);
    bi_print_f64(number[1], p->temperature);
    bi_print_f64(number[2], p->friction);
    bi_print_f64(number[3], m->charge);
    bi_hash_reals(&momenta, "momenta", m->momentum, 3 * (size_t)m->n);
    bi_buf_printf(text, "%s dt=%s temperature=%s", p->nve ? "nve" : "langevin", number[0],
                  number[1]);
    if (!p->nve)
        bi_buf_printf(text, " friction=%s", number[2]);
    bi_buf_printf(text, " seed=%" PRIu64 " every=%" PRIu64 " pbc=%c%c%c charge=%s", p->seed,
                  p->every, "FT"[m->periodic[0]], "FT"[m->periodic[1]], "FT"[m->periodic[2]],
                  m -> has_charge ? number[3] : "none");
    if (draw)
        bi_buf_puts(text, " momenta=drawn");
    else
        bi_buf_printf(text, " momenta=%016" PRIx64, momenta.h[0]);
    bi_buf_printf(text, " no-rule=%s weights=%s", *no_rules ? no_rules : "none", fingerprint);
    *out = bi_buf_text(text);
    return *out ? 0 : bi_fail(err, BIOINFER_NOMEM, "the description of a run");
}

/* A run of steps by the graph of the task. */
struct steps {
    struct source *source;
    const struct bioinfer_md_params *p;
    const struct bi_dynamics *dynamics;
    struct bi_motion_atom *atoms; /* [n] */
    uint64_t next;                /* the step at hand; 0 = the forces before the first one */
    int stopped;                  /* given by stop() within a step; 0 = go on */
};

/* Steps of a leap at most: some tenths of a second of a large system, and a caller that wants to
 * end the run need not wait for long. */
static uint32_t most_steps(uint32_t n_atoms)
{
    const uint32_t n = 100000 / n_atoms;
    return n < 1 ? 1 : n < 100 ? n : 100;
}

/* Makes steps on the device (struct bi_run). */
static int leap(void *user, struct bi_motion *m, uint64_t step, uint32_t n, bool *made,
                struct bioinfer_error *err)
{
    struct steps *s = user;
    struct bi_chunk chunk = {.steps = (int32_t)n, .atoms = s->atoms};
    struct computed c = {.m = m, .chunk = &chunk, .status = BIOINFER_INTERNAL};
    int st;
    s->next = step + 1;
    bi_dynamics_facts(s->dynamics, &chunk.facts);
    for (size_t i = 0; i < m->n; i++) {
        struct bi_motion_atom *a = &s->atoms[i];
        *a = (struct bi_motion_atom){.mass = m->mass[i], .step = (double)step, .held = m->held[i]};
        memcpy(a->x, m->position + 3 * i, sizeof a->x);
        memcpy(a->p, m->momentum + 3 * i, sizeof a->p);
        memcpy(a->f, m->force + 3 * i, sizeof a->f);
    }
    bi_energy_move(s->source->task, &chunk);
    st = compute(s->source, &c, err);
    bi_energy_move(s->source->task, NULL);
    *made = !st && !c.status && !chunk.failed;
    for (size_t i = 0; i < m->n && *made; i++) {
        memcpy(m->position + 3 * i, s->atoms[i].x, sizeof s->atoms[i].x);
        memcpy(m->momentum + 3 * i, s->atoms[i].p, sizeof s->atoms[i].p);
    }
    return st;
}

/* Tells the caller how the run stands. */
static int show(void *user, const struct bi_motion *m, uint64_t step, struct bioinfer_error *err)
{
    struct steps *s = user;
    const struct bioinfer_md_params *p = s->p;
    const struct bioinfer_md_state state = {.step = step,
                                            .time = (double)step * p->dt,
                                            .energy = m->energy,
                                            .kinetic = bi_motion_kinetic(m),
                                            .temperature = bi_motion_temperature(m)};
    int st = p->progress ? p->progress(p->progress_user, &state) : 0;
    s->next = step + 1;
    if (!st && p->stop)
        st = p->stop(p->stop_user);
    return st ? bi_fail(err, st, "md: stopped at step %llu", (unsigned long long)step) : 0;
}

/* Asks within a step whether to go on. */
static int ask_md(void *user)
{
    struct steps *s = user;
    s->stopped = s->p->stop(s->p->stop_user);
    return s->stopped;
}

static int run_md(struct source *s, const struct bioinfer_md_params *p, const char *path,
                  const struct bi_frame *frame, struct bioinfer_error *err)
{
    const struct bi_forces forces = {compute_forces, s};
    struct bi_dynamics d = {.dt = p->dt * BI_FEMTOSECOND,
                            .temperature = p->temperature,
                            .friction = p->friction / (1000 * BI_FEMTOSECOND)};
    struct steps steps = {.source = s, .p = p, .dynamics = &d};
    const struct bi_run run = {.dynamics = &d,
                               .forces = &forces,
                               .steps = p->steps,
                               .every = p->every,
                               .draw = !frame->has_momenta,
                               .leap = leap,
                               .most = most_steps(frame->n),
                               .each = show,
                               .user = &steps};
    struct bi_trajectory t = {.file = BI_APPEND_NONE, .dt = p->dt};
    struct bi_motion m = {0};
    struct bi_buf words = {.env = s->task->env};
    int st = bi_motion_open(&m, s->task->env, frame, err);
    bi_random_start(&d.random, BI_RNG_NATIVE, p->seed, 0);
    if (!st)
        st = describe(s->task, p, run.draw, &m, &words, &t.run, err);
    if (!st && !(steps.atoms = bi_calloc(s->task->env, frame->n, sizeof *steps.atoms)))
        st = bi_fail(err, BIOINFER_NOMEM, "%u atoms", frame->n);
    m.n_threads = s->task->model->ctx->n_threads;
    if (!st)
        note_dynamics(s->task->env, frame, &m);
    bi_task_ask(s->task, p->stop ? ask_md : NULL, &steps);
    if (!st)
        st = bi_trajectory_run(&t, path, p->resume != 0, &run, &m, err);
    bi_task_ask(s->task, NULL, NULL);
    if (st && steps.stopped)
        st = steps.next
                 ? bi_fail(err, steps.stopped, "md: stopped within step %" PRIu64, steps.next)
                 : bi_fail(err, steps.stopped, "md: stopped before a step was made");
    bi_trajectory_close(&t);
    bi_motion_close(&m);
    bi_buf_free(&words);
    bi_free(s->task->env, steps.atoms);
    return st;
}

int bioinfer_md(bioinfer_task *energy, const char *input, const char *trajectory,
                const struct bioinfer_md_params *params, struct bioinfer_error *err)
{
    struct bioinfer_md_params p = {0};
    struct bi_frame frame = {0};
    struct source s = {energy, NULL};
    int st;
    if (!energy || !input || !trajectory || !bi_energy_is(energy))
        return bi_fail(err, BIOINFER_INVALID,
                       "md: a task of energies, input and trajectory must be given");
    if ((st = bi_task_enter(energy, err)))
        return st;
    if ((st = bi_params_copy(&p, sizeof p, params, "md params", err)) ||
        (st = complete_md(&p, err)) || (st = read_one(energy->env, input, &frame, err)) ||
        (st = check_motion(&frame, true, err)))
        goto out;
    bi_energy_settle(energy, &frame);
    s.id = frame.name;
    st = run_md(&s, &p, trajectory, &frame, err);
out:
    bi_frame_free(&frame);
    bi_task_leave(energy);
    return st;
}

/* ---- relaxation ---- */

/* Makes steps on the device (struct bi_relaxation). */
static int leap_fire(void *user, struct bi_motion *m, struct bi_fire *fire,
                     struct bi_fire_atom *atoms, uint32_t n, bool *made, struct bioinfer_error *err)
{
    const struct source *s = user;
    struct bi_chunk chunk = {.steps = (int32_t)n, .fire = fire, .fire_atoms = atoms};
    struct computed c = {.m = m, .chunk = &chunk, .status = BIOINFER_INTERNAL};
    int st;
    bi_energy_move(s->task, &chunk);
    st = compute(s, &c, err);
    bi_energy_move(s->task, NULL);
    *made = !st && !c.status && !chunk.failed;
    return st;
}

int bi_relax_on(bioinfer_task *energy, const char *id, const struct bi_relaxation *r,
                struct bi_motion *m, uint64_t *done, bool *relaxed, struct bioinfer_error *err)
{
    struct source s = {energy, id};
    const struct bi_forces forces = {compute_forces, &s};
    struct bi_relaxation of = *r;
    of.leap = r->most ? leap_fire : NULL;
    of.user = &s;
    return bi_relax(&of, m, &forces, done, relaxed, err);
}

/* A frame that is relaxed, as its caller sees it. */
struct shown {
    const struct bioinfer_relax_params *p;
    struct bioinfer_relax_state state;
    int stopped; /* given by a callback; 0 = go on */
};

static int ask_relax(void *user)
{
    struct shown *s = user;
    s->stopped = s->p->stop(s->p->stop_user);
    return s->stopped;
}

static int show_relax(void *user, uint64_t step, double largest, struct bioinfer_error *err)
{
    struct shown *s = user;
    s->state.step = step;
    s->state.largest = largest;
    if (s->p->progress)
        s->stopped = s->p->progress(s->p->progress_user, &s->state);
    if (!s->stopped && s->p->stop)
        ask_relax(s);
    return s->stopped ? bi_fail(err, s->stopped, "stopped") : 0;
}

/* Relaxes one frame; its text is in `text` where it has a result. */
static int relax_one(bioinfer_task *energy, const struct bioinfer_relax_params *p,
                     const struct bi_frame *frame, struct bioinfer_relaxed *result,
                     struct bi_buf *text, int *stopped, struct bioinfer_error *why)
{
    struct shown shown = {.p = p, .state.id = frame->name};
    const struct bi_relaxation r = {.fmax = p->fmax,
                                    .cell = p->cell != 0,
                                    .steps = p->steps,
                                    .each = show_relax,
                                    .each_user = &shown,
                                    .least = 8,
                                    .most = most_steps(frame->n)};
    struct bi_motion m = {0};
    bool relaxed = false;
    char words[64];
    int st = check_motion(frame, false, why);
    if (!st)
        st = bi_motion_open(&m, energy->env, frame, why);
    bi_task_ask(energy, p->stop ? ask_relax : NULL, &shown);
    if (!st)
        st = bi_relax_on(energy, frame->name, &r, &m, &result->steps, &relaxed, why);
    bi_task_ask(energy, NULL, NULL);
    *stopped = shown.stopped;
    if (!st) {
        result->relaxed = relaxed;
        result->energy = m.energy;
        result->largest = bi_motion_largest_force(&m);
        m.n_threads = energy->model->ctx->n_threads;
        snprintf(words, sizeof words, "relaxed=%c", relaxed ? 'T' : 'F');
        bi_motion_write(&m, frame->name, false, words, text);
    }
    bi_motion_close(&m);
    return st;
}

static int relax_frame(bioinfer_task *energy, const struct bioinfer_relax_params *p,
                       const struct bi_frame *frame, struct bi_buf *text, struct bi_out *out,
                       uint64_t *n_written, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    struct bioinfer_relaxed result = {
        .id = frame->name, .status = frame->status, .message = frame->message};
    int st = 0, stopped = 0;
    text->size = 0;
    if (!result.status &&
        (result.status = relax_one(energy, p, frame, &result, text, &stopped, &why)))
        result.message = why.text;
    if (stopped)
        return bi_fail(err, stopped, "relax: stopped at step %llu of %s",
                       (unsigned long long)result.steps, frame->name);
    if (text->failed || result.status == BIOINFER_NOMEM)
        return bi_fail(err, BIOINFER_NOMEM, "%s", frame->name);
    if (result.status == BIOINFER_DEVICE || result.status == BIOINFER_DEVICE_LOST)
        return bi_fail(err, result.status, "%s", result.message);
    if (!result.status && (st = bi_out_write(out, text->data, text->size, err)))
        return st;
    *n_written += !result.status;
    st = p->done ? p->done(p->done_user, &result) : 0;
    return st ? bi_fail(err, st, "relax: stopped at %s", frame->name) : 0;
}

/* Opens the output, which must not be there. */
static int open_output(struct bi_out *out, const struct bi_env *env, const char *path,
                       struct bioinfer_error *err)
{
    int st = bi_out_open(out, env, path, err); /* says what is no file */
    if (!st && !out->is_stdout && (bi_path_exists(path) || bi_path_is_link(path)))
        st = bi_fail(err, BIOINFER_INVALID, "%s: is there already: remove it, or name another file",
                     path);
    return st;
}

/* Finishes the output of a run with this status and error. The frames of one that failed are kept,
 * where there are any; a failure to do so is told with the run's. */
static int finish_output(struct bi_out *out, uint64_t n_written, int st, struct bioinfer_error *err)
{
    struct bioinfer_error lost = {0};
    const struct bioinfer_error before = err ? *err : lost;
    if (!st)
        return bi_out_finish(out, err);
    if (!n_written || out->failure.status || !bi_out_finish(out, &lost))
        return st;
    return bi_fail(err, lost.status, "%.120s; before that: %.110s", lost.text, before.text);
}

int bioinfer_relax(bioinfer_task *energy, const char *input, const char *output,
                   const struct bioinfer_relax_params *params, struct bioinfer_error *err)
{
    struct bioinfer_relax_params p = {0};
    struct bi_frames *in = NULL;
    struct bi_frame frame = {0};
    struct bi_out out = BI_OUT_NONE;
    struct bi_buf text = {0};
    uint64_t n_written = 0;
    int st;
    if (!energy || !input || !output || !bi_energy_is(energy))
        return bi_fail(err, BIOINFER_INVALID,
                       "relax: a task of energies, input and output must be given");
    text.env = energy->env;
    if ((st = bi_params_copy(&p, sizeof p, params, "relax params", err)))
        return st;
    p.fmax = p.fmax != 0 ? p.fmax : 0.05;
    p.steps = p.steps ? p.steps : 500;
    if (!(p.fmax > 0))
        return bi_fail(err, BIOINFER_INVALID, "relax: fmax %g, expected above 0", p.fmax);
    if ((st = bi_task_enter(energy, err)))
        return st;
    if ((st = bi_frames_open(&in, energy->env, input, err)) ||
        (st = open_output(&out, energy->env, output, err)))
        goto out;
    while ((st = bi_frames_next(in, &frame, err)) > 0 &&
           !(st = relax_frame(energy, &p, &frame, &text, &out, &n_written, err)))
        continue;
    st = finish_output(&out, n_written, st, err);
out:
    bi_out_close(&out);
    bi_buf_free(&text);
    bi_frame_free(&frame);
    bi_frames_close(&in);
    bi_task_leave(energy);
    return st;
}

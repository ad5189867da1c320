/* md.c - the task md: frames that move by their forces, each with a trajectory that grows.
 *
 * A unit is a frame with one item. The first time it gives the forces at its places, and then a
 * chunk of steps each time (`next`): those up to the next frame of its trajectory, which all frames
 * of a batch make together on the device (kernels/motion.h). The trajectory is the checkpoint: its
 * last whole frame has places and momenta to the last bit. Where the device cannot make the steps
 * of a chunk, they are made one by one, and the host says why one fails. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/number.h"
#include "../../base/seen.h"
#include "../../kernels/motion.h"
#include "../energy.h"
#include "motion.h"
#include "../table.h"

struct md {
    struct bi_energy of;
    struct bioinfer_md_params p;
    char *trajectory;
    struct bi_dynamics dynamics;
    struct bi_seen seen; /* the ids of a run of many frames */
    bool any;            /* a frame was read */
};

struct md_unit {
    struct bi_energy_unit of;
    struct bi_motion m;
    struct bi_motion_atom *atoms; /* [n] */
    struct bi_trajectory t;
    struct bi_buf words; /* t.run */
    char *path;
    bool draw;             /* momenta are drawn */
    uint64_t step, begins; /* that was made; that this run began from */
    uint64_t alone_until;  /* up to this step chunks have one */
    int32_t chunk;         /* steps of the item; 0: it gives the forces of the first places */
    bool failed;           /* the last chunk could not be made */
};

/* ---- what a run is ---- */

/* Checks the parameters and puts what they leave out into them. */
static int complete(struct bioinfer_md_params *p, struct bioinfer_error *err)
{
    p->steps = p->steps ? p->steps : 1000;
    p->every = p->every ? p->every : 100;
    p->dt = p->dt != 0 ? p->dt : 0.5;
    p->friction = p->thermostat ? 0 : p->friction != 0 ? p->friction : 1;
    p->temperature = p->temperature != 0 || p->no_temperature ? p->temperature : 300;
    if (!p->trajectory || !*p->trajectory)
        return bi_fail(err, BIOINFER_INVALID, "md: a trajectory must be named");
    if (p->steps >= (uint64_t)1 << 39)
        return bi_fail(err, BIOINFER_LIMIT, "md: more than 2^39 steps");
    return 0;
}

/* Describes all that decides the numbers of the trajectory, beside the atoms of its first frame,
 * which the file has. */
static int describe(const struct md *d, struct md_unit *u, struct bioinfer_error *err)
{
    const struct bioinfer_md_params *p = &d->p;
    const struct bi_motion *m = &u->m;
    const char *fingerprint, *no_rules = d->of.no_rules ? d->of.no_rules : "none";
    struct bi_buf *text = &u->words;
    struct bi_hash momenta = {{1, 2}};
    char number[4][BI_NUMBER_SIZE];
    int st = bioinfer_model_fingerprint(d->of.task.model, &fingerprint, err);
    if (st)
        return st;
    bi_print_f64(number[0], p->dt);
    bi_print_f64(number[1], p->temperature);
    bi_print_f64(number[2], p->friction);
    bi_print_f64(number[3], m->charge);
    bi_hash_reals(&momenta, "momenta", m->momentum, 3 * (size_t)m->n);
    text->env = d->of.task.env;
    bi_buf_printf(text, "%s dt=%s temperature=%s", p->thermostat ? "nve" : "langevin", number[0],
                  number[1]);
    if (!p->thermostat)
        bi_buf_printf(text, " friction=%s", number[2]);
    bi_buf_printf(text, " seed=%" PRIu64 " every=%" PRIu64 " pbc=%c%c%c charge=%s", p->seed,
                  p->every, "FT"[m->periodic[0]], "FT"[m->periodic[1]], "FT"[m->periodic[2]],
                  m -> has_charge ? number[3] : "none");
    if (u->draw)
        bi_buf_puts(text, " momenta=drawn");
    else
        bi_buf_printf(text, " momenta=%016" PRIx64, momenta.h[0]);
    bi_buf_printf(text, " no-rule=%s weights=%s", no_rules, fingerprint);
    u->t.run = bi_buf_text(text);
    return u->t.run ? 0 : bi_fail(err, BIOINFER_NOMEM, "the description of a run");
}

/* Says what of a frame a molecular dynamics does not follow, and what it takes for velocities. */
static void note(const struct bi_env *env, const struct bioinfer_record *r,
                 const struct bi_motion *m)
{
    const char *words = r->description ? r->description : "";
    if (strstr(words, BI_FRAME_VELOCITIES))
        bi_log(env, BIOINFER_LOG_NAMED,
               "%s: begins with the velocities of the file, taken as angstrom per femtosecond: "
               "%.1f kelvin",
               r->id, bi_motion_temperature(m));
    if (strstr(words, BI_FRAME_MASSES))
        bi_log(env, BIOINFER_LOG_NAMED,
               "%s: the masses of the file are not used: atoms have standard atomic weights",
               r->id);
    if (strstr(words, BI_FRAME_CELL_VELOCITIES))
        bi_log(env, BIOINFER_LOG_NAMED,
               "%s: the velocities of the cell are not used: the cell stays as it is", r->id);
}

/* ---- units ---- */

/* Names the trajectory of a frame. */
static int name_path(struct md *d, struct md_unit *u, struct bioinfer_error *err)
{
    const char *id = u->of.base.id;
    struct bi_buf path = {.env = d->of.task.env};
    struct bi_seen_slot *slot;
    int st;
    if (d->p.folder) {
        if (!*id || *id == '.' || strchr(id, '/') || strlen(id) > 200)
            return bi_fail(err, BIOINFER_INVALID, "'%.80s' is no name of a trajectory", id);
        if ((st = bi_seen_add(&d->seen, id, strlen(id), &slot)) < 0)
            return bi_fail(err, st, "%s", id);
        if (!st)
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: an earlier frame has this name, and its trajectory", id);
    }
    bi_buf_puts(&path, d->trajectory);
    if (d->p.folder)
        bi_buf_printf(&path, "%s%s.extxyz",
                      d->trajectory[strlen(d->trajectory) - 1] == '/' ? "" : "/", id);
    if (!bi_buf_text(&path))
        return bi_fail(err, BIOINFER_NOMEM, "%s", id);
    u->t.path = u->path = path.data;
    return 0;
}

/* Without a folder there is one frame, which is found out before its file is made. */
static int check_only(struct md *d, struct bioinfer_error *err)
{
    struct bioinfer_record second = {0};
    int st = 0;
    if (!d->p.folder && !d->any)
        st = d->of.task.source(d->of.task.source_user, &second, err);
    d->any = true;
    if (st == 1)
        return bi_fail(err, BIOINFER_INVALID,
                       "md: the input has several frames, and a trajectory begins from one; a "
                       "folder has a trajectory of each");
    return st == BIOINFER_NONE_NOW ? 0 : st;
}

/* Momenta are read back from the trajectory with this bound, too. */
static int check_momenta(const struct bioinfer_atoms *a, struct bioinfer_error *err)
{
    for (size_t i = 0; a->momenta && i < 3 * a->n; i++)
        if (!(fabs(a->momenta[i]) <= BI_FRAME_MAX_POSITION))
            return bi_fail(err, BIOINFER_INVALID, "atom %zu: a momentum of %g", i / 3 + 1,
                           a->momenta[i]);
    return 0;
}

/* Makes the atoms of a unit, and names its file. */
static int begin(struct md *d, struct md_unit *u, const struct bioinfer_record *r,
                 const struct bioinfer_atoms *atoms, struct bioinfer_error *err)
{
    const struct bi_env *env = d->of.task.env;
    struct bioinfer_atoms of = u->of.atoms;
    int st;
    of.momenta = atoms->momenta;
    of.held = atoms->held;
    u->draw = !of.momenta;
    if ((st = check_momenta(&of, err)) || (st = bi_motion_open(&u->m, env, &of, err)) ||
        (st = name_path(d, u, err)) || (st = describe(d, u, err)))
        return st;
    if (!(u->atoms = bi_calloc(env, of.n, sizeof *u->atoms)))
        return bi_fail(err, BIOINFER_NOMEM, "%zu atoms", of.n);
    u->m.n_threads = d->of.task.model->ctx->n_threads;
    note(env, r, &u->m);
    u->t.dt = d->p.dt;
    u->t.steps = d->p.steps;
    u->t.every = d->p.every;
    u->t.many = d->p.folder != 0;
    return 0;
}

static int take_up(struct md *d, struct md_unit *u, struct bioinfer_error *err)
{
    int st = bi_trajectory_open(&u->t, d->of.task.env, d->p.resume != 0, &u->m, &u->step, err);
    if (st)
        return st;
    u->begins = u->step;
    if (!u->t.has_frame && u->draw)
        bi_dynamics_start(&d->dynamics, &u->m);
    memcpy(u->of.positions, u->m.position, 3 * (size_t)u->m.n * sizeof *u->of.positions);
    return bi_energy_moved(&d->of, &u->of, err);
}

static int md_read(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct md *d = (struct md *)t;
    struct md_unit *u = (struct md_unit *)unit;
    struct bioinfer_record record = {0};
    struct bioinfer_atoms atoms = {0};
    struct bioinfer_error why = {0};
    int st = bi_energy_read(&d->of, &u->of, &record, &atoms, err);
    if (st != 1)
        return st;
    st = unit->status;
    if (!st && !(st = bi_frame_obeyed(&record, true, &why)))
        st = begin(d, u, &record, &atoms, &why);
    if (st == BIOINFER_NOMEM)
        return bi_fail(err, st, "%s", why.text);
    if (st)
        bi_unit_fail(t->env, unit, st, why.text);
    /* the record is not to be read from here on */
    if ((st = check_only(d, err)))
        return st;
    if (!unit->status && (st = take_up(d, u, &why)))
        bi_unit_fail(t->env, unit, st, why.text);
    if (unit->status)
        unit->n_items = 0;
    return st == BIOINFER_NOMEM ? bi_fail(err, st, "%s", why.text) : 1;
}

/* ---- batches ---- */

static int md_recipe(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                     struct bioinfer_error *err)
{
    const bool moves = !b->items || b->items[0]->program > 0;
    (void)err;
    bi_energy_recipe((struct bi_energy *)t, b, moves ? BI_MOVES_DYNAMICS : BI_MOVES_NOT, recipe);
    return 0;
}

static void md_fill(const struct bioinfer_task *t, const struct bi_item *item,
                    const struct bi_batch_place *place)
{
    const struct md *d = (const struct md *)t;
    const struct md_unit *u = (const struct md_unit *)item->unit;
    struct bi_motion_atom *atoms = bi_batch_input(place, "atoms");
    struct bi_motion_facts *facts = bi_batch_input(place, "facts");
    bi_energy_fill(&d->of, &u->of, place);
    if (!atoms)
        return;
    memcpy(atoms + place->at.n_tokens, u->atoms, u->m.n * sizeof *atoms);
    facts += place->index;
    bi_dynamics_facts(&d->dynamics, facts);
    facts->std = d->of.facts->std;
}

static const char *const md_made[] = {"code", "position", "frame", "by_charge", "atoms", "facts"};

/* The host's forces for a step that the device could not make: they say why there are none. */
struct why_not {
    struct md *d;
    struct md_unit *u;
};

static int no_forces(void *user, struct bi_motion *m, struct bioinfer_error *err)
{
    const struct why_not *w = user;
    int st;
    memcpy(w->u->of.positions, m->position, 3 * (size_t)m->n * sizeof *m->position);
    if ((st = bi_energy_moved(&w->d->of, &w->u->of, err)) ||
        (st = bi_energy_name_touches(&w->d->of, &w->u->of, err)))
        return st;
    return bi_fail(err, BIOINFER_NONFINITE, "the energy or a force is not finite");
}

/* Fails a unit whose forces at the first places, or whose chunk of one step, could not be made. */
static int fail_unit(struct md *d, struct md_unit *u, struct bioinfer_error *err)
{
    struct why_not w = {d, u};
    const struct bi_forces forces = {no_forces, &w};
    struct bioinfer_error why = {0};
    int st = u->chunk ? bi_dynamics_step(&d->dynamics, &u->m, u->step + 1, &forces, &why)
                      : no_forces(&w, &u->m, &why);
    if (st == BIOINFER_NOMEM)
        return bi_fail(err, st, "%s", why.text);
    bi_unit_fail(d->of.task.env, &u->of.base, st ? st : BIOINFER_INTERNAL, why.text);
    return 0;
}

static int md_collect(struct bioinfer_task *t, struct bi_item *item,
                      const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct md *d = (struct md *)t;
    struct md_unit *u = (struct md_unit *)item->unit;
    struct bi_motion *m = &u->m;
    int64_t ld;
    const int32_t *report = bi_energy_output(place, BI_ENERGY_REPORT, &ld);
    const struct bi_motion_atom *atoms = bi_energy_output(place, BI_ENERGY_MOTION, &ld);
    const bool touches = report[BI_REPORT_TOUCHES] != 0;
    bool good = bi_energy_take_outputs(&d->of, &u->of, place) && !touches;
    if (touches && place->n_items > 1) /* perhaps another one: each is tried alone */
        return bi_fail(err, BIOINFER_TOO_LONG, "atoms lie on each other");
    atoms = atoms ? atoms + place->at.n_tokens : NULL;
    for (size_t i = 0; i < m->n && atoms; i++)
        good = good && atoms[i].bad == 0;
    u->failed = !good;
    if (!good)
        return u->chunk > 1 ? 0 : fail_unit(d, u, err);
    for (size_t i = 0; i < m->n && atoms; i++) {
        memcpy(m->position + 3 * i, atoms[i].x, sizeof atoms[i].x);
        memcpy(m->momentum + 3 * i, atoms[i].p, sizeof atoms[i].p);
    }
    memcpy(m->force, u->of.forces, 3 * (size_t)m->n * sizeof *m->force);
    m->energy = u->of.energy;
    if ((m->has_stress = bi_energy_set_stress(&d->of, &u->of)))
        memcpy(m->stress, u->of.stress, sizeof m->stress);
    u->step += (uint64_t)u->chunk;
    return 0;
}

/* ---- chunks ---- */

static struct bioinfer_md_state state_of(const struct md *d, const struct md_unit *u)
{
    return (struct bioinfer_md_state){.step = u->step,
                                      .time = (double)u->step * d->p.dt,
                                      .energy = u->m.energy,
                                      .kinetic = bi_motion_kinetic(&u->m),
                                      .temperature = bi_motion_temperature(&u->m),
                                      .id = u->of.base.id};
}

/* Tells the caller how the run stands, and asks whether to go on. */
static int show(const struct md *d, const struct md_unit *u, struct bioinfer_error *err)
{
    const struct bioinfer_md_state state = state_of(d, u);
    int st = d->p.progress ? d->p.progress(d->p.progress_user, &state) : 0;
    if (!st && d->p.stop)
        st = d->p.stop(d->p.stop_user);
    return st ? bi_fail(err, st, "md: stopped at step %" PRIu64 " of %s", u->step, u->of.base.id)
              : 0;
}

/* How many steps are made at once: up to the next frame. The first one is made alone, so that the
 * caller hears soon. */
static int32_t steps_at_once(const struct md *d, const struct md_unit *u)
{
    const uint64_t most = bi_motion_most_steps(u->m.n);
    uint64_t n = d->p.every - u->step % d->p.every;
    n = n < d->p.steps - u->step ? n : d->p.steps - u->step;
    n = n < most ? n : most;
    return u->step == u->begins || u->step < u->alone_until ? 1 : (int32_t)n;
}

/* Makes the item of the next chunk. */
static int set_chunk(struct md *d, struct md_unit *u, struct bioinfer_error *err)
{
    const struct bi_motion *m = &u->m;
    int st;
    u->chunk = steps_at_once(d, u);
    for (size_t i = 0; i < m->n; i++) {
        struct bi_motion_atom *a = &u->atoms[i];
        *a = (struct bi_motion_atom){
            .mass = m->mass[i], .step = (double)u->step, .held = m->held[i]};
        memcpy(a->x, m->position + 3 * i, sizeof a->x);
        memcpy(a->p, m->momentum + 3 * i, sizeof a->p);
        memcpy(a->f, m->force + 3 * i, sizeof a->f);
    }
    memcpy(u->of.positions, m->position, 3 * (size_t)m->n * sizeof *m->position);
    if ((st = bi_energy_moved(&d->of, &u->of, err)))
        return st;
    u->of.item.state = BI_ITEM_WAITS;
    u->of.item.program = u->of.item.size.n_steps = u->chunk;
    return 0;
}

static int md_next(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct md *d = (struct md *)t;
    struct md_unit *u = (struct md_unit *)unit;
    const bool at_frame = u->step % d->p.every == 0 || u->step == d->p.steps;
    struct bioinfer_error why = {0};
    int st = 0;
    if (u->failed)
        u->alone_until = u->step + (uint64_t)u->chunk;
    else if (u->chunk ? at_frame : !u->t.has_frame)
        st = bi_trajectory_put(&u->t, &u->m, u->step, err);
    if (!st && !u->failed && u->chunk)
        st = show(d, u, err);
    if (st || u->step == d->p.steps)
        return st;
    st = set_chunk(d, u, &why);
    if (st == BIOINFER_NOMEM)
        return bi_fail(err, st, "%s", why.text);
    if (st)
        bi_unit_fail(t->env, unit, st, why.text);
    return !st;
}

/* ---- results ---- */

static int md_result(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct md *d = (struct md *)t;
    struct md_unit *u = (struct md_unit *)unit;
    const struct bioinfer_md_state state = state_of(d, u);
    struct bioinfer_energy energy = bi_energy_told(&u->of, u->m.has_stress);
    struct bioinfer_atoms atoms = u->of.atoms;
    atoms.positions = u->m.position;
    atoms.momenta = u->m.momentum;
    energy.atoms = &atoms;
    const struct bioinfer_result result = {.ordinal = u->of.ordinal,
                                           .id = unit->id,
                                           .length = unit->status ? 0 : (int64_t)u->m.n,
                                           .status = unit->status,
                                           .message = bi_unit_message(unit),
                                           .energy = unit->status ? NULL : &energy,
                                           .moved = unit->status ? NULL : &state};
    bi_trajectory_close(&u->t);
    t->exec->profile.records++;
    t->exec->profile.residues += (uint64_t)result.length;
    return t->sink(t->sink_user, &result, err);
}

static void md_drop(struct bioinfer_task *t, struct bi_unit *unit)
{
    struct md_unit *u = (struct md_unit *)unit;
    bi_trajectory_close(&u->t);
    bi_motion_close(&u->m);
    if (u->words.env)
        bi_buf_free(&u->words);
    bi_free(t->env, u->path);
    bi_free(t->env, u->atoms);
    bi_energy_drop(t, unit);
}

/* The next run has frames of its own. */
static void md_end(struct bioinfer_task *t)
{
    struct md *d = (struct md *)t;
    d->any = false;
    bi_seen_free(&d->seen);
}

static void md_free(struct bioinfer_task *t)
{
    struct md *d = (struct md *)t;
    md_end(t);
    bi_free(t->env, d->trajectory);
    bi_energy_free(t);
}

const struct bi_task_def bi_task_md = {.name = "md",
                                       .kind = &bi_kind_energy,
                                       .unit_size = sizeof(struct md_unit),
                                       .smallest = BI_ENERGY_SMALLEST_MOVE,
                                       .made = md_made,
                                       .n_made = BI_COUNT(md_made),
                                       .one = bi_energy_one,
                                       .read = md_read,
                                       .recipe = md_recipe,
                                       .fill = md_fill,
                                       .again = bi_energy_again,
                                       .collect = md_collect,
                                       .next = md_next,
                                       .result = md_result,
                                       .drop = md_drop,
                                       .end = md_end,
                                       .free = md_free};

/* ---- life ---- */

static int open_md(struct md *d, const struct bioinfer_md_params *params,
                   struct bioinfer_error *err)
{
    struct bioinfer_md_params *p = &d->p;
    int st;
    d->seen.env = d->of.task.env;
    if ((st = bi_params_take(p, sizeof *p, params, "md", err)) || (st = complete(p, err)))
        return st;
    if (!(d->trajectory = bi_strdup(d->of.task.env, p->trajectory)))
        return bi_fail(err, BIOINFER_NOMEM, "md");
    d->dynamics = (struct bi_dynamics){.dt = p->dt * BI_FEMTOSECOND,
                                       .temperature = p->temperature,
                                       .friction = p->friction / (1000 * BI_FEMTOSECOND)};
    bi_random_start(&d->dynamics.random, BI_RNG_NATIVE, p->seed, 0);
    if ((st = bi_energy_begin(&d->of, &BI_ENERGY_PARAMS(p), err)))
        return st;
    /* trajectories are finished by a few batches, rather than all of them grow side by side */
    d->of.task.window_load = 2 * d->of.task.batch_tokens;
    if (p->stop)
        bi_task_ask(&d->of.task, p->stop, p->stop_user);
    return 0;
}

int bioinfer_md_open(bioinfer_task **out, const bioinfer_model *model,
                     const struct bioinfer_md_params *params, struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_md, sizeof(struct md), err);
    if (!st && (st = open_md((struct md *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

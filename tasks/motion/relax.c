/* relax.c - the task relax: each frame moves to a minimum of its energy, by the fast inertial
 * relaxation engine.
 *
 * A unit is a frame with one item, which is computed once for each chunk of steps (`next`). All
 * frames of a batch make their steps together on the device (kernels/fire.h), and one that is over
 * leaves the batches to come. Where the device cannot make the steps of a chunk, they are made in
 * chunks of one, so that the one that fails is known. With a cell the variables are those of ASE's
 * UnitCellFilter: places in the cell that was given, and n times the gradient F of the deformation,
 * cell = given cell x F^T.
 *
 * Source: Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006). */
#include <math.h>
#include <string.h>

#include "../../kernels/fire.h"
#include "../energy.h"
#include "motion.h"
#include "../table.h"

enum {
    LEAST_FORCES = 8,  /* a chunk has at least these */
    SHARE_AT_ONCE = 8, /* a chunk has one step for this many that were made */
    TOGETHER = 0,      /* programs: chunks of many steps ... */
    ALONE = 1          /* ... and of one */
};

struct relax {
    struct bi_energy of;
    struct bioinfer_relax_params p;
    int32_t chunk; /* forces of each chunk; 0 = as usual */
};

struct relax_unit {
    struct bi_energy_unit of;
    struct bi_motion m; /* the frame as it came, and at last as it is relaxed */
    struct bi_fire fire;
    struct bi_fire_atom *atoms; /* [n] */
    bool alone, failed;         /* chunks have one step; the last one could not be made */
};

/* ---- units ---- */

/* How many forces the next chunk finds. */
static int32_t forces_at_once(const struct relax *r, const struct relax_unit *u)
{
    const uint64_t made = (uint64_t)u->fire.made, left = r->p.steps - made;
    const uint64_t most = bi_motion_most_steps(u->m.n);
    uint64_t n = made / SHARE_AT_ONCE;
    n = n < LEAST_FORCES ? LEAST_FORCES : n;
    n = n > most ? most : n;
    n = r->chunk ? (uint64_t)r->chunk : n;
    return (int32_t)(n <= left ? n : left + 1); /* after the last step they are looked at */
}

static void set_chunk(const struct relax *r, struct relax_unit *u)
{
    struct bi_item *item = &u->of.item;
    item->program = u->alone ? ALONE : TOGETHER;
    item->size.n_steps = u->alone ? 1 : forces_at_once(r, u);
}

/* Puts the variables into places and cell; false: the cell is none to go on with. */
static bool take_variables(struct relax_unit *u)
{
    if (!bi_fire_take_cell(&u->fire, u->m.n))
        return false;
    if (u->fire.cell_moves > 0)
        memcpy(u->of.cell, u->fire.cell, sizeof u->of.cell);
    for (size_t i = 0; i < u->m.n; i++)
        bi_fire_position(&u->fire, u->atoms[i].x, u->of.positions + 3 * i);
    return true;
}

static int begin(const struct relax *r, struct relax_unit *u, const struct bioinfer_atoms *atoms,
                 struct bioinfer_error *err)
{
    const struct bi_env *env = r->of.task.env;
    const int *periodic = u->of.atoms.periodic;
    const size_t n = atoms->n;
    if (r->p.cell && !(periodic[0] && periodic[1] && periodic[2]))
        return bi_fail(
            err, BIOINFER_INVALID,
            "a cell is relaxed along all three axes: the frame is not periodic along all");
    if (bi_motion_open(&u->m, env, atoms, err) || !(u->atoms = bi_calloc(env, n, sizeof *u->atoms)))
        return bi_fail(err, BIOINFER_NOMEM, "%zu atoms", n);
    u->fire.fmax = r->p.fmax;
    u->fire.steps = (double)r->p.steps;
    u->fire.std = r->of.facts->std;
    u->fire.cell_moves = r->p.cell != 0;
    bi_fire_begin(&u->fire);
    for (size_t i = 0; i < n; i++) {
        memcpy(u->atoms[i].x, u->m.position + 3 * i, sizeof u->atoms[i].x);
        u->atoms[i].held = u->m.held[i];
    }
    memcpy(u->fire.given, u->m.cell, sizeof u->fire.given);
    for (size_t k = 0; k < 3 && r->p.cell; k++)
        u->fire.x[4 * k] = u->m.n;
    if (r->p.cell)
        take_variables(u);
    set_chunk(r, u);
    return 0;
}

static int relax_read(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct relax *r = (struct relax *)t;
    struct relax_unit *u = (struct relax_unit *)unit;
    struct bioinfer_record record = {0};
    struct bioinfer_atoms atoms = {0};
    struct bioinfer_error why = {0};
    int st = bi_energy_read(&r->of, &u->of, &record, &atoms, err);
    if (st != 1 || unit->status)
        return st;
    if (!(st = bi_frame_obeyed(&record, false, &why)))
        st = begin(r, u, &atoms, &why);
    if (st == BIOINFER_NOMEM)
        return bi_fail(err, st, "%s", why.text);
    if (st)
        bi_unit_fail(t->env, unit, st, why.text);
    if (st)
        unit->n_items = 0;
    return 1;
}

/* ---- batches ---- */

static int relax_recipe(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                        struct bioinfer_error *err)
{
    (void)err;
    bi_energy_recipe((struct bi_energy *)t, b, BI_MOVES_FIRE, recipe);
    return 0;
}

static void relax_fill(const struct bioinfer_task *t, const struct bi_item *item,
                       const struct bi_batch_place *place)
{
    const struct relax_unit *u = (const struct relax_unit *)item->unit;
    struct bi_fire_atom *atoms = bi_batch_input(place, "fire_atoms");
    struct bi_fire *states = bi_batch_input(place, "relaxation");
    bi_energy_fill((const struct bi_energy *)t, &u->of, place);
    memcpy(atoms + place->at.n_tokens, u->atoms, u->m.n * sizeof *atoms);
    states[place->index] = u->fire;
}

static const char *const relax_made[] = {"code", "frame", "by_charge", "fire_atoms", "relaxation"};

/* Says why the step of a chunk of one cannot be made; `after`: the state after it. */
static int say_failure(struct relax *r, struct relax_unit *u, const struct bi_fire *after,
                       bool finite, bool touches, struct bioinfer_error *err)
{
    int st = touches ? bi_energy_name_touches(&r->of, &u->of, err) : 0;
    if (st || !finite)
        return st ? st : bi_fail(err, BIOINFER_NONFINITE, "the energy or a force is not finite");
    u->fire = *after;
    if (take_variables(u) && (st = bi_energy_moved(&r->of, &u->of, err)))
        return st;
    return bi_fail(err, BIOINFER_NONFINITE, "the cell collapsed, or grew without end");
}

static int relax_collect(struct bioinfer_task *t, struct bi_item *item,
                         const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct relax *r = (struct relax *)t;
    struct relax_unit *u = (struct relax_unit *)item->unit;
    struct bioinfer_error why = {0};
    int64_t ld;
    const struct bi_fire_atom *atoms = bi_energy_output(place, BI_ENERGY_MOTION, &ld);
    const struct bi_fire *fire = bi_energy_output(place, BI_ENERGY_FIRE, &ld);
    const int32_t *report = bi_energy_output(place, BI_ENERGY_REPORT, &ld);
    const bool touches = report[BI_REPORT_TOUCHES] != 0;
    const bool finite = bi_energy_take_outputs(&r->of, &u->of, place);
    int st;
    fire += place->index;
    if (touches && place->n_items > 1) /* perhaps another one: each is tried alone */
        return bi_fail(err, BIOINFER_TOO_LONG, "atoms lie on each other");
    u->failed = touches || !finite || fire->end >= BI_FIRE_FAILED;
    if (u->failed && u->alone) {
        st = say_failure(r, u, fire, finite, touches, &why);
        if (st == BIOINFER_NOMEM)
            return bi_fail(err, st, "%s", why.text);
        bi_unit_fail(t->env, &u->of.base, st, why.text);
        return 0;
    }
    if (u->failed)
        return 0;
    u->fire = *fire;
    memcpy(u->atoms, atoms + place->at.n_tokens, u->m.n * sizeof *atoms);
    u->of.base.is_over = u->fire.end > BI_FIRE_GOES_ON;
    return 0;
}

/* ---- chunks ---- */

/* Tells the caller how the relaxation stands, and asks whether to go on. */
static int show(const struct relax *r, const struct relax_unit *u, struct bioinfer_error *err)
{
    const struct bioinfer_relax_state state = {
        .id = u->of.base.id, .step = (uint64_t)u->fire.made, .largest = u->fire.largest};
    int st = r->p.progress ? r->p.progress(r->p.progress_user, &state) : 0;
    if (!st && r->p.stop)
        st = r->p.stop(r->p.stop_user);
    return st ? bi_fail(err, st, "relax: stopped at step %llu of %s",
                        (unsigned long long)state.step, state.id)
              : 0;
}

static int relax_next(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct relax *r = (struct relax *)t;
    struct relax_unit *u = (struct relax_unit *)unit;
    struct bioinfer_error why = {0};
    int st;
    if (u->failed) {
        u->alone = true;
        u->failed = false;
    } else {
        if ((st = show(r, u, err)))
            return st;
        st = take_variables(u)
                 ? bi_energy_moved(&r->of, &u->of, &why)
                 : bi_fail(&why, BIOINFER_NONFINITE, "the cell collapsed, or grew without end");
        if (st == BIOINFER_NOMEM)
            return bi_fail(err, st, "%s", why.text);
        if (st) {
            bi_unit_fail(t->env, unit, st, why.text);
            return 0;
        }
    }
    u->of.item.state = BI_ITEM_WAITS;
    set_chunk(r, u);
    return 1;
}

/* ---- results ---- */

/* Fills u->m with what the frame is now, as the last forces have it. */
static void take_end(struct relax *r, struct relax_unit *u)
{
    struct bi_motion *m = &u->m;
    const size_t n = m->n;
    take_variables(u);
    memcpy(m->position, u->of.positions, 3 * n * sizeof *m->position);
    memcpy(m->force, u->of.forces, 3 * n * sizeof *m->force);
    if (u->fire.cell_moves > 0)
        memcpy(m->cell, u->of.cell, sizeof m->cell);
    m->energy = u->of.energy;
    if ((m->has_stress = bi_energy_set_stress(&r->of, &u->of)))
        memcpy(m->stress, u->of.stress, sizeof m->stress);
    m->n_threads = r->of.task.model->ctx->n_threads;
}

static int relax_result(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct relax *r = (struct relax *)t;
    struct relax_unit *u = (struct relax_unit *)unit;
    struct bi_buf *frame = &r->of.text;
    struct bioinfer_text text = {"extxyz", NULL, 0};
    struct bioinfer_relaxed relaxed = {.relaxed = u->fire.end == BI_FIRE_RELAXED,
                                       .steps = (uint64_t)u->fire.made};
    struct bioinfer_energy energy = {0};
    int st;
    if (!unit->status) {
        if ((st = show(r, u, err)))
            return st;
        take_end(r, u);
        relaxed.energy = u->m.energy;
        relaxed.largest = bi_motion_largest_force(&u->m);
        energy = bi_energy_told(&u->of, u->m.has_stress);
        *frame = (struct bi_buf){.env = t->env, .data = frame->data, .cap = frame->cap};
        bi_motion_write(&u->m, unit->id, false, relaxed.relaxed ? "relaxed=T" : "relaxed=F", frame);
        if (!bi_buf_text(frame))
            return bi_fail(err, BIOINFER_NOMEM, "a frame of %u atoms", u->m.n);
        text.text = frame->data;
        text.length = frame->size;
    }
    const struct bioinfer_result result = {.ordinal = u->of.ordinal,
                                           .id = unit->id,
                                           .length = unit->status ? 0 : (int64_t)u->m.n,
                                           .status = unit->status,
                                           .message = bi_unit_message(unit),
                                           .texts = &text,
                                           .n_texts = text.text != NULL,
                                           .energy = unit->status ? NULL : &energy,
                                           .relaxed = unit->status ? NULL : &relaxed};
    t->exec->profile.records++;
    t->exec->profile.residues += (uint64_t)result.length;
    return t->sink(t->sink_user, &result, err);
}

static void relax_drop(struct bioinfer_task *t, struct bi_unit *unit)
{
    struct relax_unit *u = (struct relax_unit *)unit;
    bi_motion_close(&u->m);
    bi_free(t->env, u->atoms);
    bi_energy_drop(t, unit);
}

const struct bi_task_def bi_task_relax = {.name = "relax",
                                          .kind = &bi_kind_energy,
                                          .unit_size = sizeof(struct relax_unit),
                                          .smallest = BI_ENERGY_SMALLEST_MOVE,
                                          .made = relax_made,
                                          .n_made = BI_COUNT(relax_made),
                                          .one = bi_energy_one,
                                          .read = relax_read,
                                          .recipe = relax_recipe,
                                          .fill = relax_fill,
                                          .again = bi_energy_again,
                                          .collect = relax_collect,
                                          .next = relax_next,
                                          .result = relax_result,
                                          .drop = relax_drop,
                                          .free = bi_energy_free};

/* ---- life ---- */

void bi_relax_set_chunk(bioinfer_task *t, int32_t n)
{
    ((struct relax *)t)->chunk = n;
}

static int open_relax(struct relax *r, const struct bioinfer_relax_params *params,
                      struct bioinfer_error *err)
{
    int st = bi_params_take(&r->p, sizeof r->p, params, "relax", err);
    if (st)
        return st;
    r->p.fmax = r->p.fmax != 0 ? r->p.fmax : 0.05;
    r->p.steps = r->p.steps ? r->p.steps : 500;
    if (!(st = bi_energy_begin(&r->of, &BI_ENERGY_PARAMS(&r->p), err)) && r->p.stop)
        bi_task_ask(&r->of.task, r->p.stop, r->p.stop_user);
    return st;
}

int bioinfer_relax_open(bioinfer_task **out, const bioinfer_model *model,
                        const struct bioinfer_relax_params *params, struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_relax, sizeof(struct relax), err);
    if (!st && (st = open_relax((struct relax *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

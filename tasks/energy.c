/* energy.c - the task energy: energies, forces and stress of frames of atoms.
 *
 * A record is a frame; its unit has one item, whose tokens are atoms. Their positions are uploaded
 * in double, and the pairs within the cutoff are found by the graph (kernels/atom_edges.h), which
 * has room for as many as were guessed: a batch with more is computed again, with room for them.
 * The energies of atoms are added up here, in double.
 *
 * Sections: frames, edges, units, batches, results, life. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../kernels/atom_edges.h"
#include "../loaders/chem/molecule.h"
#include "../loaders/neighbours.h"
#include "../models/energy.h"
#include "../writers/extxyz.h"
#include "energy.h"
#include "frames.h"
#include "table.h"

_Static_assert(sizeof(struct bi_energy_shape) == 4 * sizeof(int64_t), "no padding");

enum {
    EDGES_GUESSED = 40,  /* an atom has so many, before any are counted */
    MOST_GUESSED = 4096, /* so that those of a batch have 32 bits */
    MOST_EDGES = INT32_MAX / 4
};

/* ---- frames ---- */

/* Says why atoms that a caller gives cannot be used. */
static int check_atoms(const struct bioinfer_atoms *a, struct bioinfer_error *err)
{
    static const double no_cell[9] = {0};
    const bool periodic[3] = {a->periodic[0] != 0, a->periodic[1] != 0, a->periodic[2] != 0};
    if (!a->n)
        return bi_fail(err, BIOINFER_EMPTY, "a frame without atoms");
    if (a->n > BI_FRAME_MAX_ATOMS || !a->numbers || !a->positions)
        return bi_fail(err, BIOINFER_INVALID, "%zu atoms, numbers and positions must be given",
                       a->n);
    for (size_t i = 0; i < 3 * a->n; i++)
        if (!(fabs(a->positions[i]) <= BI_FRAME_MAX_POSITION))
            return bi_fail(err, BIOINFER_INVALID, "atom %zu: a coordinate of %g angstrom",
                           i / 3 + 1, a->positions[i]);
    for (int k = 0; a->cell && k < 9; k++)
        if (!(fabs(a->cell[k]) <= BI_FRAME_MAX_POSITION))
            return bi_fail(err, BIOINFER_INVALID, "a cell vector of %g angstrom", a->cell[k]);
    if (a->has_charge && !(fabs(a->charge) <= BI_FRAME_MAX_CHARGE))
        return bi_fail(err, BIOINFER_INVALID, "a charge of %g", a->charge);
    return bi_cell_check(a->cell ? a->cell : no_cell, periodic, err);
}

static const char *symbol_of(int32_t number)
{
    return bi_element((uint32_t)number)->symbol;
}

/* Names the elements that the model knows. */
static int unknown_element(const struct bi_energy *e, size_t atom, int32_t number,
                           struct bioinfer_error *err)
{
    char list[160] = "";
    size_t n = 0;
    int known = 0;
    for (int z = 1; z < BI_ENERGY_ELEMENTS; z++) {
        if (e->facts->code[z] < 0)
            continue;
        known++;
        if (n < sizeof list - 8)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? " " : "",
                                  bi_element((uint32_t)z)->symbol);
    }
    return bi_fail(err, BIOINFER_UNSUPPORTED,
                   "atom %zu: element %d%s%s is not in the model, which knows %d: %s%s", atom + 1,
                   (int)number, number > 0 && number < BI_ENERGY_ELEMENTS ? ", " : "",
                   number > 0 && number < BI_ENERGY_ELEMENTS ? bi_element((uint32_t)number)->symbol
                                                             : "",
                   known, list, n >= sizeof list - 8 ? " ..." : "");
}

/* Which axes are periodic, by the parameters. */
static void settle_axes(const struct bi_energy *e, const double cell[9], int periodic[3])
{
    for (int k = 0; k < 3; k++) {
        const double *v = cell + 3 * k;
        if (e->p.pbc == BIOINFER_PBC_NONE)
            periodic[k] = 0;
        else if (e->p.pbc == BIOINFER_PBC_XYZ)
            periodic[k] = v[0] != 0 || v[1] != 0 || v[2] != 0;
    }
}

/* Takes the charge of the frame, or that for frames that state none. One that the model does not
 * know is told once. */
static int take_charge(struct bi_energy *e, struct bi_energy_unit *u, struct bioinfer_error *err)
{
    struct bioinfer_atoms *a = &u->atoms;
    if (!a->has_charge && e->p.has_charge) {
        a->charge = e->p.charge;
        a->has_charge = 1;
    }
    if (e->facts->takes_charge && !a->has_charge)
        return bi_fail(err, BIOINFER_INVALID,
                       "the model's energies depend on the charge, and the frame has none");
    if (!e->facts->takes_charge && a->has_charge && a->charge != 0 && !e->said_charge) {
        e->said_charge = true;
        bi_log(e->task.env, BIOINFER_LOG_NAMED,
               "%s: a charge of %g, which these weights do not know: energies are the same for any "
               "charge (this is said once)",
               u->base.id, a->charge);
    }
    return 0;
}

/* Takes the atoms of a record into the unit, with what the parameters say of all frames. */
static int take_atoms(struct bi_energy *e, struct bi_energy_unit *u, const struct bioinfer_atoms *a,
                      struct bioinfer_error *err)
{
    const size_t n = a->n;
    double *positions;
    int32_t *numbers;
    int st = check_atoms(a, err);
    if (st)
        return st;
    for (size_t i = 0; i < n; i++)
        if (a->numbers[i] < 1 || a->numbers[i] >= BI_ENERGY_ELEMENTS ||
            e->facts->code[a->numbers[i]] < 0)
            return unknown_element(e, i, a->numbers[i], err);
    if (!(positions = bi_calloc(e->task.env, n, 6 * sizeof *positions + sizeof *numbers)))
        return bi_fail(err, BIOINFER_NOMEM, "%zu atoms", n);
    u->memory = positions;
    u->positions = positions;
    u->forces = positions + 3 * n;
    numbers = (int32_t *)(positions + 6 * n);
    memcpy(positions, a->positions, 3 * n * sizeof *positions);
    memcpy(numbers, a->numbers, n * sizeof *numbers);
    u->atoms = *a;
    u->atoms.numbers = numbers;
    u->atoms.positions = positions;
    u->atoms.momenta = NULL; /* these two are the record's, which is soon gone */
    u->atoms.held = NULL;
    if (a->cell)
        memcpy(u->cell, a->cell, sizeof u->cell);
    u->atoms.cell = a->cell ? u->cell : NULL;
    settle_axes(e, u->cell, u->atoms.periodic);
    return take_charge(e, u, err);
}

/* ---- edges ---- */

/* How many edges an atom of a crystal has on average, by the density; 0: it is none. */
static double edges_by_density(const struct bi_energy *e, const struct bi_energy_unit *u)
{
    const double r = e->facts->cutoff, volume = fabs(bi_cell_volume(u->cell));
    return u->frame.periodic == 7 && volume > 0 ? 4.2 * r * r * r * (double)u->atoms.n / volume : 0;
}

/* How many edges a frame may have: as many for each atom as other frames had, and, of a crystal,
 * as its density makes. A wrong guess costs time alone. */
static int32_t guess_edges(const struct bi_energy *e, const struct bi_energy_unit *u)
{
    const double n = (double)u->atoms.n, by_density = edges_by_density(e, u);
    double each = e->edges_per_atom > 0 ? e->edges_per_atom : EDGES_GUESSED;
    each = fmax(each, by_density);
    return (int32_t)fmin(n * fmin(each, MOST_GUESSED) + 1, MOST_EDGES);
}

/* Says how the neighbours of a frame's atoms are to be looked for. */
static int set_frame(const struct bi_energy *e, struct bi_energy_unit *u,
                     struct bioinfer_error *err)
{
    struct bi_atom_frame *f = &u->frame;
    struct bi_neighbour_grid grid;
    const bool periodic[3] = {u->atoms.periodic[0] != 0, u->atoms.periodic[1] != 0,
                              u->atoms.periodic[2] != 0};
    int st = bi_neighbours_grid(&grid, (uint32_t)u->atoms.n, u->atoms.positions, u->cell, periodic,
                                e->facts->cutoff, err);
    if (st)
        return st;
    _Static_assert((int)BI_NEIGHBOURS_BINS == (int)BI_BINS_PER_ATOM, "there is room for the bins");
    *f = (struct bi_atom_frame){0};
    memcpy(f->cell, grid.cell, sizeof f->cell);
    memcpy(f->inverse, grid.inverse, sizeof f->inverse);
    memcpy(f->low, grid.low, sizeof f->low);
    memcpy(f->width, grid.width, sizeof f->width);
    memcpy(f->n_bins, grid.n_bins, sizeof f->n_bins);
    memcpy(f->reach, grid.reach, sizeof f->reach);
    f->cutoff2 = grid.cutoff2;
    f->nearly2 = grid.nearly2;
    f->n_atoms = (int32_t)u->atoms.n;
    for (int k = 0; k < 3; k++)
        f->periodic |= (int32_t)periodic[k] << k;
    /* a cell of 1 angstrom around a protein, say, would take minutes to count */
    if (edges_by_density(e, u) * (double)f->n_atoms > 2.0 * MOST_EDGES)
        return bi_fail(err, BIOINFER_LIMIT,
                       "more than %d pairs of atoms within the cutoff: %zu atoms in a cell of %g "
                       "cubic angstrom",
                       MOST_EDGES, u->atoms.n, fabs(bi_cell_volume(u->cell)));
    return 0;
}

int bi_energy_name_touches(const struct bi_energy *e, struct bi_energy_unit *u,
                           struct bioinfer_error *err)
{
    struct bi_neighbours near = {.env = e->task.env};
    const bool periodic[3] = {u->atoms.periodic[0] != 0, u->atoms.periodic[1] != 0,
                              u->atoms.periodic[2] != 0};
    int st = bi_neighbours_find(&near, (uint32_t)u->atoms.n, u->atoms.positions, u->cell, periodic,
                                e->facts->cutoff, MOST_EDGES, err);
    bi_neighbours_free(&near);
    return st;
}

/* ---- units ---- */

static void make_item(const struct bi_energy *e, struct bi_energy_unit *u)
{
    const int32_t n = (int32_t)u->atoms.n;
    u->item = (struct bi_item){
        .unit = &u->base,
        .size = {.n_tokens = n, .n_seqs = 1, .longest = n, .n_edges = guess_edges(e, u)},
        .weight = n};
    u->base.items = &u->item;
    u->base.n_items = 1;
    u->base.result_size = sizeof *u + (uint64_t)n * 64;
}

int bi_energy_moved(const struct bi_energy *e, struct bi_energy_unit *u, struct bioinfer_error *err)
{
    int st = check_atoms(&u->atoms, err);
    if (!st && !(st = set_frame(e, u, err)))
        make_item(e, u);
    return st;
}

/* Parses the text of a record, which is one frame. */
static int parse(struct bi_energy *e, const struct bioinfer_record *r, struct bioinfer_atoms *atoms,
                 struct bioinfer_error *why)
{
    struct bi_frames *in = NULL;
    int st = bi_frames_open_memory(&in, e->task.env, r->id, r->sequence, r->length, why);
    e->frame.env = e->task.env;
    if (!st) {
        st = bi_frames_next(in, &e->frame, why);
        if (!st)
            st = bi_fail(why, BIOINFER_EMPTY, "%s: no frame", r->id);
        else if (st > 0 && (st = e->frame.status))
            memcpy(why->text, e->frame.message, sizeof why->text);
    }
    bi_frames_close(&in);
    if (!st)
        bi_frame_atoms(&e->frame, atoms);
    return st;
}

int bi_energy_read(struct bi_energy *e, struct bi_energy_unit *u, struct bioinfer_record *r,
                   struct bioinfer_atoms *atoms, struct bioinfer_error *err)
{
    const struct bi_env *env = e->task.env;
    struct bioinfer_error why = {0};
    int st = e->task.source(e->task.source_user, r, err);
    if (st != 1)
        return st;
    u->ordinal = r->ordinal;
    if (!(u->base.id = bi_strdup(env, r->id)))
        return bi_fail(err, BIOINFER_NOMEM, "record");
    if (r->status) {
        bi_unit_fail(env, &u->base, r->status, r->message);
        return 1;
    }
    st = r->atoms ? 0 : parse(e, r, atoms, &why);
    if (r->atoms)
        *atoms = *r->atoms;
    if (!st && !(st = take_atoms(e, u, atoms, &why)) && !(st = set_frame(e, u, &why)))
        make_item(e, u);
    if (st == BIOINFER_NOMEM)
        return bi_fail(err, st, "%s", why.text);
    if (st)
        bi_unit_fail(env, &u->base, st, why.text);
    return 1;
}

static int energy_read(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct bioinfer_record r = {0};
    struct bioinfer_atoms atoms = {0};
    unit->is_over = true;
    return bi_energy_read((struct bi_energy *)t, (struct bi_energy_unit *)unit, &r, &atoms, err);
}

/* ---- batches ---- */

static int build_graph(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    const struct bi_energy_shape *of = shape;
    const struct bi_model *model = user;
    (void)err;
    g->n_tokens = of->n_atoms;
    g->n_seqs = of->n_frames;
    g->n_rows = 1;
    g->longest = of->n_atoms;
    ((const struct bi_energy_def *)model->def->def)->build(model, g, of);
    return 0;
}

void bi_energy_recipe(struct bi_energy *e, const struct bi_batch *b, enum bi_energy_moves moves,
                      struct bi_recipe *recipe)
{
    struct bi_energy_shape *s = &e->shape;
    *s = (struct bi_energy_shape){.n_atoms = b->capacity.n_tokens,
                                  .n_frames = b->capacity.n_seqs,
                                  .n_edges = b->capacity.n_edges > 0 ? b->capacity.n_edges : 1,
                                  .gradient = !e->p.energy_only,
                                  .moves = moves};
    /* float32 throughout: energies are differences of large numbers */
    *recipe = (struct bi_recipe){.build = build_graph,
                                 .user = &e->task.model->base,
                                 .shape = s,
                                 .shape_size = sizeof *s,
                                 .n_sizes = 3,
                                 .wide = true,
                                 .no_rules = e->no_rules};
}

static int energy_recipe(struct bioinfer_task *t, const struct bi_batch *b,
                         struct bi_recipe *recipe, struct bioinfer_error *err)
{
    (void)err;
    bi_energy_recipe((struct bi_energy *)t, b, BI_MOVES_NOT, recipe);
    return 0;
}

static int32_t n_bins(const struct bi_atom_frame *f)
{
    return f->n_bins[0] * f->n_bins[1] * f->n_bins[2];
}

void bi_energy_fill(const struct bi_energy *e, const struct bi_energy_unit *u,
                    const struct bi_batch_place *place)
{
    const int32_t n = (int32_t)u->atoms.n, atom = place->at.n_tokens;
    int32_t *code = bi_batch_input(place, "code");
    float *by_charge = bi_batch_input(place, "by_charge");
    double *position = bi_batch_input(place, "position");
    struct bi_atom_frame *frame = bi_batch_input(place, "frame");
    frame += place->index;
    *frame = u->frame;
    frame->first_atom = atom;
    if (place->index)
        frame->first_bin = frame[-1].first_bin + n_bins(frame - 1);
    if (position)
        memcpy(position + 3 * (size_t)atom, u->atoms.positions, 3 * (size_t)n * sizeof *position);
    for (int32_t i = 0; i < n; i++) {
        code[atom + i] = e->facts->code[u->atoms.numbers[i]];
        if (by_charge)
            by_charge[atom + i] = (float)(1 + e->facts->by_charge * u->atoms.charge);
    }
}

static void energy_fill(const struct bioinfer_task *t, const struct bi_item *item,
                        const struct bi_batch_place *place)
{
    bi_energy_fill((const struct bi_energy *)t, (const struct bi_energy_unit *)item->unit, place);
}

static const char *const energy_made[] = {"code", "position", "frame", "by_charge"};

/* ---- results ---- */

/* Adds up what atoms gave: the energies, and of forces and virials. */
static bool take_outputs(const struct bi_energy *e, struct bi_energy_unit *u, const float *y,
                         int64_t ldy, const float *f, int64_t ldf)
{
    double sum = 0, references = 0, largest = 0;
    memset(u->virial, 0, sizeof u->virial);
    for (size_t i = 0; i < u->atoms.n; i++) {
        const float *row = f ? f + (int64_t)i * ldf : NULL;
        double square = 0;
        sum += (double)y[(int64_t)i * ldy];
        references += e->facts->reference[u->atoms.numbers[i]];
        for (int k = 0; row && k < 3; k++) {
            const double force = e->facts->std * (double)row[k];
            u->forces[3 * i + (size_t)k] = force;
            square += force * force;
        }
        for (int k = 0; row && k < 9; k++)
            u->virial[k] += e->facts->std * (double)row[3 + k];
        largest = fmax(largest, square);
        if (!isfinite(square))
            return false;
    }
    u->network = e->facts->std * sum + e->facts->mean;
    u->energy = u->network + references;
    u->largest = sqrt(largest);
    return isfinite(u->network);
}

const void *bi_energy_output(const struct bi_batch_place *place, int kind, int64_t *ld)
{
    const struct bi_graph *g = place->slot->plan->graph;
    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].kind == kind)
            return bi_batch_output(place, &g->outputs[i], ld);
    return NULL;
}

int bi_energy_again(struct bioinfer_task *t, struct bi_item *const *items,
                    const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct bi_energy *e = (struct bi_energy *)t;
    const struct bi_energy_shape *room = bi_plan_shape(place->slot->plan);
    int64_t ld, atoms = 0, guessed = 0;
    const int32_t *report = bi_energy_output(place, BI_ENERGY_REPORT, &ld);
    const double edges = report[BI_REPORT_EDGES];
    for (int64_t i = 0; i < place->n_items; i++) {
        atoms += items[i]->size.n_tokens;
        guessed += items[i]->size.n_edges;
    }
    if (report[BI_REPORT_EDGES] > MOST_EDGES)
        return bi_fail(err, BIOINFER_TOO_LONG, "more than %d pairs of atoms within the cutoff",
                       MOST_EDGES);
    /* one dense frame is forgotten after some others */
    e->edges_per_atom = fmax(0.95 * e->edges_per_atom, edges / (double)atoms);
    if (edges <= (double)room->n_edges)
        return 0;
    for (int64_t i = 0; i < place->n_items; i++)
        items[i]->size.n_edges = (int32_t)(items[i]->size.n_edges * (edges / (double)guessed)) + 1;
    return 1;
}

bool bi_energy_take_outputs(const struct bi_energy *e, struct bi_energy_unit *u,
                            const struct bi_batch_place *place)
{
    int64_t ldy = 0, ldf = 0;
    const float *f = bi_energy_output(place, BI_ENERGY_FORCES, &ldf);
    const float *y = bi_energy_output(place, BI_ENERGY_ATOMS, &ldy);
    return take_outputs(e, u, y + place->at.n_tokens * ldy, ldy,
                        f ? f + place->at.n_tokens * ldf : NULL, ldf);
}

static int energy_collect(struct bioinfer_task *t, struct bi_item *item,
                          const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct bi_energy_unit *u = (struct bi_energy_unit *)item->unit;
    int64_t ld = 0;
    const int32_t *report = bi_energy_output(place, BI_ENERGY_REPORT, &ld);
    struct bioinfer_error why = {0};
    int st;
    if (report[BI_REPORT_TOUCHES] &&
        (st = bi_energy_name_touches((struct bi_energy *)t, u, &why))) {
        if (st == BIOINFER_NOMEM)
            return bi_fail(err, st, "%s", why.text);
        bi_unit_fail(t->env, &u->base, st, why.text);
        return 0;
    }
    return bi_energy_take_outputs((struct bi_energy *)t, u, place)
               ? 0
               : bi_fail(err, BIOINFER_NONFINITE, "the energy or a force is not finite");
}

/* The frame as an extended XYZ with all that is known of it. */
static int put_text(struct bi_energy *e, const struct bi_energy_unit *u, bool stress,
                    struct bioinfer_error *err)
{
    const struct bioinfer_atoms *a = &u->atoms;
    const bool periodic[3] = {a->periodic[0] != 0, a->periodic[1] != 0, a->periodic[2] != 0};
    const struct bi_extxyz frame = {.n = (uint32_t)a->n,
                                    .number = a->numbers,
                                    .symbol = symbol_of,
                                    .position = a->positions,
                                    .force = e->p.energy_only ? NULL : u->forces,
                                    .cell = a->cell,
                                    .periodic = a->cell ? periodic : NULL,
                                    .stress = stress ? u->stress : NULL,
                                    .energy = u->energy,
                                    .has_energy = true,
                                    .charge = a->charge,
                                    .has_charge = a->has_charge != 0,
                                    .name = u->base.id,
                                    .n_threads = e->task.model->ctx->n_threads};
    e->text.env = e->task.env;
    e->text.size = 0;
    e->text.failed = false; /* that an earlier frame had no memory */
    bi_put_extxyz(&e->text, &frame);
    return bi_buf_text(&e->text) ? 0 : bi_fail(err, BIOINFER_NOMEM, "a frame of %zu atoms", a->n);
}

bool bi_energy_set_stress(const struct bi_energy *e, struct bi_energy_unit *u)
{
    const double volume = u->atoms.cell ? fabs(bi_cell_volume(u->cell)) : 0;
    const bool stress = !e->p.energy_only && volume > 0 &&
                        (u->atoms.periodic[0] || u->atoms.periodic[1] || u->atoms.periodic[2]);
    for (int k = 0; stress && k < 9; k++)
        u->stress[k] = u->virial[k] / volume;
    return stress;
}

struct bioinfer_energy bi_energy_told(const struct bi_energy_unit *u, bool stress)
{
    return (struct bioinfer_energy){.energy = u->energy,
                                    .network = u->network,
                                    .n_atoms = u->atoms.n,
                                    .largest = u->largest,
                                    .forces = u->forces,
                                    .stress = stress ? u->stress : NULL,
                                    .atoms = &u->atoms};
}

static int energy_result(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct bi_energy *e = (struct bi_energy *)t;
    struct bi_energy_unit *u = (struct bi_energy_unit *)unit;
    struct bioinfer_text text = {"extxyz", NULL, 0};
    int st;
    const bool stress = bi_energy_set_stress(e, u);
    struct bioinfer_energy energy = bi_energy_told(u, stress);
    energy.forces = e->p.energy_only ? NULL : u->forces;
    if (e->p.as_text && !unit->status) {
        if ((st = put_text(e, u, stress, err)))
            return st;
        text.text = e->text.data;
        text.length = e->text.size;
    }
    const struct bioinfer_result result = {.ordinal = u->ordinal,
                                           .id = unit->id,
                                           .length = unit->status ? 0 : (int64_t)u->atoms.n,
                                           .status = unit->status,
                                           .message = bi_unit_message(unit),
                                           .texts = &text,
                                           .n_texts = text.text != NULL,
                                           .energy = unit->status ? NULL : &energy};
    t->exec->profile.records++;
    t->exec->profile.residues += (uint64_t)result.length;
    return t->sink(t->sink_user, &result, err);
}

void bi_energy_drop(struct bioinfer_task *t, struct bi_unit *unit)
{
    struct bi_energy_unit *u = (struct bi_energy_unit *)unit;
    bi_free(t->env, u->memory);
}

struct bi_counts bi_energy_one(const struct bioinfer_task *t, int64_t n_residues)
{
    const int32_t n = (int32_t)n_residues;
    (void)t;
    return (struct bi_counts){.n_tokens = n, .n_seqs = 1, .longest = n, .n_edges = 40 * n};
}

void bi_energy_free(struct bioinfer_task *t)
{
    struct bi_energy *e = (struct bi_energy *)t;
    bi_free(t->env, e->no_rules);
    if (e->text.env)
        bi_buf_free(&e->text);
    if (e->frame.env)
        bi_frame_free(&e->frame);
}

const struct bi_task_def bi_task_energy = {.name = "energy",
                                           .kind = &bi_kind_energy,
                                           .unit_size = sizeof(struct bi_energy_unit),
                                           .smallest = BI_ENERGY_SMALLEST,
                                           .made = energy_made,
                                           .n_made = BI_COUNT(energy_made),
                                           .one = bi_energy_one,
                                           .read = energy_read,
                                           .recipe = energy_recipe,
                                           .fill = energy_fill,
                                           .again = bi_energy_again,
                                           .collect = energy_collect,
                                           .result = energy_result,
                                           .drop = bi_energy_drop,
                                           .free = bi_energy_free};

/* ---- life ---- */

int bi_energy_begin(struct bi_energy *e, const struct bioinfer_energy_params *params,
                    struct bioinfer_error *err)
{
    const struct bioinfer_model *model = e->task.model;
    int64_t atoms;
    int st;
    e->def = model->base.def->def;
    if ((st = bi_params_take(&e->p, sizeof e->p, params, "energy", err)))
        return st;
    e->p.has_charge = e->p.has_charge || e->p.charge != 0;
    e->facts = e->def->facts(&model->base);
    if (e->p.charge != 0 && !e->facts->takes_charge)
        return bi_fail(
            err, BIOINFER_UNSUPPORTED,
            "%s: a charge of %g is given, and these weights know none: energies would be "
            "the same for any charge",
            model->path, e->p.charge);
    if (e->p.no_rules && !(e->no_rules = bi_strdup(e->task.env, e->p.no_rules)))
        return bi_fail(err, BIOINFER_NOMEM, "energy");
    /* an atom takes about 150 kB of activations with forces and 128 channels */
    atoms = e->p.tokens_at_once > 0 ? e->p.tokens_at_once : model->caps.half ? 1 << 14 : 1 << 10;
    e->task.progress = e->p.progress;
    e->task.progress_user = e->p.progress_user;
    return bi_task_open(&e->task, model, atoms, e->p.memory_limit, err);
}

int bioinfer_energy_open(bioinfer_task **out, const bioinfer_model *model,
                         const struct bioinfer_energy_params *params, struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_energy, sizeof(struct bi_energy), err);
    if (!st && (st = bi_energy_begin((struct bi_energy *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

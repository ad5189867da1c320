/* energy.c - the task energy: energies, forces and stress of frames of atoms.
 *
 * A record is a frame; its unit has one item, whose tokens are atoms. The pairs of atoms within the
 * cutoff are found when a frame is read, and their vectors are uploaded: float32 of differences in
 * double, so places far from the origin lose nothing. What atoms give is added up here in double.
 *
 * Sections: frames, edges, units, batches, results, life. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../loaders/chem/molecule.h"
#include "../../loaders/neighbours.h"
#include "../../models/energy.h"
#include "../../writers/extxyz.h"
#include "frames.h"
#include "task.h"

struct energy_unit {
    struct bi_unit base;
    struct bi_item item;
    uint64_t ordinal;
    /* The frame, in one block of memory. */
    struct bioinfer_atoms atoms;
    double cell[9];
    void *memory;
    double *forces;
    /* Edges of its atoms (kernels/tensor_edges.h). */
    int32_t *start, *col, *reverse;
    float (*vector)[3];
    double energy, network, virial[9], stress[9], largest;
};

/* The graph of a recipe is made from these. */
struct graph {
    const struct bi_model *model;
    struct bi_energy_shape shape;
};

struct energy {
    struct bioinfer_task task;
    const struct bi_energy_def *def;
    const struct bi_energy_facts *facts;
    struct bioinfer_energy_params p;
    char *no_rules;
    struct bi_frame frame; /* that of a record that is a text */
    struct bi_neighbours near;
    struct bi_buf text; /* the result at hand */
    struct graph graph;
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
static int unknown_element(const struct energy *e, size_t atom, int32_t number,
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

/* Takes the atoms of a record into the unit, with what the parameters say of all frames. */
static int take_atoms(const struct energy *e, struct energy_unit *u, const struct bioinfer_atoms *a,
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
    u->forces = positions + 3 * n;
    numbers = (int32_t *)(positions + 6 * n);
    memcpy(positions, a->positions, 3 * n * sizeof *positions);
    memcpy(numbers, a->numbers, n * sizeof *numbers);
    u->atoms = *a;
    u->atoms.numbers = numbers;
    u->atoms.positions = positions;
    if (a->cell)
        memcpy(u->cell, a->cell, sizeof u->cell);
    u->atoms.cell = a->cell ? u->cell : NULL;
    for (int k = 0; k < 3; k++) {
        const double *v = u->cell + 3 * k;
        if (e->p.ignore_cell)
            u->atoms.periodic[k] = 0;
        else if (e->p.repeat_all)
            u->atoms.periodic[k] = v[0] != 0 || v[1] != 0 || v[2] != 0;
    }
    if (!a->has_charge && e->p.has_charge) {
        u->atoms.charge = e->p.charge;
        u->atoms.has_charge = 1;
    }
    if (e->facts->takes_charge && !u->atoms.has_charge)
        return bi_fail(err, BIOINFER_INVALID,
                       "the model's energies depend on the charge, and the frame has none");
    return 0;
}

/* ---- edges ---- */

/* The edge of the list from col[e] back to atom i. */
static int64_t find_reverse(const struct bi_neighbours *l, uint32_t i, uint64_t e)
{
    const int32_t want[4] = {(int32_t)i, -l->shift[e][0], -l->shift[e][1], -l->shift[e][2]};
    uint64_t first = l->row_start[l->col[e]], end = l->row_start[l->col[e] + 1];
    while (first < end) {
        const uint64_t m = first + (end - first) / 2;
        const int32_t have[4] = {(int32_t)l->col[m], l->shift[m][0], l->shift[m][1],
                                 l->shift[m][2]};
        int k = 0;
        while (k < 3 && have[k] == want[k])
            k++;
        if (have[k] == want[k])
            return (int64_t)m;
        if (have[k] < want[k])
            first = m + 1;
        else
            end = m;
    }
    return -1;
}

static void set_vector(const struct energy_unit *u, const struct bi_neighbours *l, uint32_t i,
                       uint64_t e, float v[3])
{
    const double *x = u->atoms.positions + 3 * (size_t)i;
    const double *y = u->atoms.positions + 3 * (size_t)l->col[e];
    for (int k = 0; k < 3; k++) {
        double image = 0;
        for (int s = 0; s < 3; s++)
            image += l->shift[e][s] * u->cell[3 * s + k];
        v[k] = (float)(x[k] - y[k] - image);
    }
}

static int find_edges(struct energy *e, struct energy_unit *u, struct bioinfer_error *err)
{
    const struct bi_env *env = e->task.env;
    const bool periodic[3] = {u->atoms.periodic[0] != 0, u->atoms.periodic[1] != 0,
                              u->atoms.periodic[2] != 0};
    struct bi_neighbours *l = &e->near;
    const size_t n = u->atoms.n;
    int st = bi_neighbours_find(l, (uint32_t)n, u->atoms.positions, u->cell, periodic,
                                e->facts->cutoff, INT32_MAX / 4, err);
    if (st)
        return st;
    u->start = bi_calloc(env, n + 1 + 2 * l->n_edges, sizeof *u->start);
    u->vector = bi_calloc(env, l->n_edges + 1, sizeof *u->vector);
    if (!u->start || !u->vector)
        return bi_fail(err, BIOINFER_NOMEM, "%llu pairs of atoms", (unsigned long long)l->n_edges);
    u->col = u->start + n + 1;
    u->reverse = u->col + l->n_edges;
    for (size_t i = 0; i <= n; i++)
        u->start[i] = (int32_t)l->row_start[i];
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t k = l->row_start[i]; k < l->row_start[i + 1]; k++) {
            const int64_t back = find_reverse(l, i, k);
            if (back < 0)
                return bi_fail(err, BIOINFER_INTERNAL, "atoms %u and %u are neighbours one way",
                               i + 1, l->col[k] + 1);
            u->col[k] = (int32_t)l->col[k];
            u->reverse[k] = (int32_t)back;
            set_vector(u, l, i, k, u->vector[k]);
        }
    return 0;
}

/* ---- units ---- */

static void make_item(struct energy_unit *u)
{
    const int32_t n = (int32_t)u->atoms.n;
    u->item = (struct bi_item){
        .unit = &u->base,
        .size = {.n_tokens = n, .n_seqs = 1, .longest = n, .n_edges = u->start[n]},
        .weight = n};
    u->base.items = &u->item;
    u->base.n_items = 1;
    u->base.is_over = true;
    u->base.result_size = sizeof *u + (uint64_t)n * 64 + (uint64_t)u->start[n] * 20;
}

/* Parses the text of a record, which is one frame. */
static int parse(struct energy *e, const struct bioinfer_record *r, struct bioinfer_atoms *atoms,
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

static int energy_read(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct energy *e = (struct energy *)t;
    struct energy_unit *u = (struct energy_unit *)unit;
    struct bioinfer_record r = {0};
    struct bioinfer_error why = {0};
    struct bioinfer_atoms atoms = {0};
    int st = t->source(t->source_user, &r, err);
    if (st != 1)
        return st;
    u->ordinal = r.ordinal;
    if (!(unit->id = bi_strdup(t->env, r.id)))
        return bi_fail(err, BIOINFER_NOMEM, "record");
    if (r.status) {
        bi_unit_fail(t->env, unit, r.status, r.message);
        return 1;
    }
    st = r.atoms ? 0 : parse(e, &r, &atoms, &why);
    if (!st && !(st = take_atoms(e, u, r.atoms ? r.atoms : &atoms, &why)))
        st = find_edges(e, u, &why);
    if (st == BIOINFER_NOMEM)
        return bi_fail(err, st, "%s", why.text);
    if (st)
        bi_unit_fail(t->env, unit, st, why.text);
    else
        make_item(u);
    return 1;
}

/* ---- batches ---- */

static int build_graph(void *user, struct bi_graph *g, struct bioinfer_error *err)
{
    const struct graph *of = user;
    (void)err;
    g->n_tokens = of->shape.n_atoms;
    g->n_seqs = g->n_rows = 1;
    g->longest = of->shape.n_atoms;
    of->model->def->energy->build(of->model, g, &of->shape);
    return 0;
}

static int energy_recipe(struct bioinfer_task *t, const struct bi_batch *b,
                         struct bi_recipe *recipe, struct bioinfer_error *err)
{
    struct energy *e = (struct energy *)t;
    struct bi_energy_shape *s = &e->graph.shape;
    (void)err;
    e->graph.model = &t->model->base;
    *s = (struct bi_energy_shape){.n_atoms = b->capacity.n_tokens,
                                  .n_edges = b->capacity.n_edges > 0 ? b->capacity.n_edges : 1,
                                  .gradient = !e->p.energy_only};
    /* float32 throughout: energies are differences of large numbers */
    *recipe = (struct bi_recipe){
        .key = {{(uint64_t)s->n_atoms, (uint64_t)s->n_edges, s->gradient}, .n_sizes = 2},
        .build = build_graph,
        .user = &e->graph,
        .wide = true,
        .no_rules = e->no_rules};
    return 0;
}

static void energy_fill(const struct bioinfer_task *t, const struct bi_item *item,
                        const struct bi_batch_place *place)
{
    const struct energy *e = (const struct energy *)t;
    const struct energy_unit *u = (const struct energy_unit *)item->unit;
    const int32_t n = (int32_t)u->atoms.n, edges = u->start[n];
    const int32_t atom = place->at.n_tokens, edge = place->at.n_edges;
    int32_t *code = bi_batch_input(place, "code"), *start = bi_batch_input(place, "start");
    int32_t *col = bi_batch_input(place, "col"), *reverse = bi_batch_input(place, "reverse");
    float *by_charge = bi_batch_input(place, "by_charge");
    float(*vector)[3] = bi_batch_input(place, "vector");
    for (int32_t i = 0; i < n; i++) {
        code[atom + i] = e->facts->code[u->atoms.numbers[i]];
        start[atom + i] = edge + u->start[i];
        if (by_charge)
            by_charge[atom + i] = (float)(1 + e->facts->by_charge * u->atoms.charge);
    }
    start[atom + n] = edge + edges; /* the next frame writes the same number */
    for (int32_t k = 0; k < edges; k++) {
        col[edge + k] = atom + u->col[k];
        if (reverse)
            reverse[edge + k] = edge + u->reverse[k];
    }
    memcpy(vector + edge, u->vector, (size_t)edges * sizeof *vector);
}

static const char *const energy_made[] = {"code", "start", "col", "reverse", "vector", "by_charge"};

/* ---- results ---- */

/* Adds up what atoms gave: the energies, and of forces and virials. */
static bool take_outputs(const struct energy *e, struct energy_unit *u, const float *y, int64_t ldy,
                         const float *f, int64_t ldf)
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

static int energy_collect(struct bioinfer_task *t, struct bi_item *item,
                          const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct energy_unit *u = (struct energy_unit *)item->unit;
    const struct bi_graph *g = place->slot->plan->graph;
    const float *y = NULL, *f = NULL;
    int64_t ldy = 0, ldf = 0;
    for (size_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i].kind == BI_ENERGY_ATOMS)
            y = bi_batch_output(place, &g->outputs[i], &ldy);
        else
            f = bi_batch_output(place, &g->outputs[i], &ldf);
    }
    y += place->at.n_tokens * ldy;
    if (f)
        f += place->at.n_tokens * ldf;
    return take_outputs((struct energy *)t, u, y, ldy, f, ldf)
               ? 0
               : bi_fail(err, BIOINFER_NONFINITE, "the energy or a force is not finite");
}

/* The frame as an extended XYZ with all that is known of it. */
static int put_text(struct energy *e, const struct energy_unit *u, bool stress,
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
                                    .name = u->base.id};
    e->text.env = e->task.env;
    e->text.size = 0;
    e->text.failed = false; /* that an earlier frame had no memory */
    bi_put_extxyz(&e->text, &frame);
    return bi_buf_text(&e->text) ? 0 : bi_fail(err, BIOINFER_NOMEM, "a frame of %zu atoms", a->n);
}

static int energy_result(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct energy *e = (struct energy *)t;
    struct energy_unit *u = (struct energy_unit *)unit;
    struct bioinfer_text text = {"extxyz", NULL, 0};
    int st;
    const double volume = u->atoms.cell ? fabs(bi_cell_volume(u->cell)) : 0;
    const bool stress = !e->p.energy_only && volume > 0 &&
                        (u->atoms.periodic[0] || u->atoms.periodic[1] || u->atoms.periodic[2]);
    for (int k = 0; stress && k < 9; k++)
        u->stress[k] = u->virial[k] / volume;
    const struct bioinfer_energy energy = {.energy = u->energy,
                                           .network = u->network,
                                           .n_atoms = u->atoms.n,
                                           .largest = u->largest,
                                           .forces = e->p.energy_only ? NULL : u->forces,
                                           .stress = stress ? u->stress : NULL,
                                           .atoms = &u->atoms};
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

static void energy_drop(struct bioinfer_task *t, struct bi_unit *unit)
{
    struct energy_unit *u = (struct energy_unit *)unit;
    bi_free(t->env, u->memory);
    bi_free(t->env, u->start);
    bi_free(t->env, u->vector);
}

static struct bi_counts energy_one(const struct bioinfer_task *t, int64_t n_residues)
{
    const int32_t n = (int32_t)n_residues;
    (void)t;
    return (struct bi_counts){.n_tokens = n, .n_seqs = 1, .longest = n, .n_edges = 40 * n};
}

static void energy_free(struct bioinfer_task *t)
{
    struct energy *e = (struct energy *)t;
    bi_free(t->env, e->no_rules);
    if (e->text.env)
        bi_buf_free(&e->text);
    if (e->frame.env)
        bi_frame_free(&e->frame);
    if (e->near.env)
        bi_neighbours_free(&e->near);
}

static const struct bi_task_def energy_def = {
    .name = "energy",
    .unit_size = sizeof(struct energy_unit),
    .smallest = {.n_tokens = 16, .n_seqs = 1, .longest = 16, .n_edges = 256},
    .made = energy_made,
    .n_made = BI_COUNT(energy_made),
    .one = energy_one,
    .read = energy_read,
    .recipe = energy_recipe,
    .fill = energy_fill,
    .collect = energy_collect,
    .result = energy_result,
    .drop = energy_drop,
    .free = energy_free};

/* ---- life ---- */

static int open_energy(struct energy *e, const struct bioinfer_energy_params *params,
                       struct bioinfer_error *err)
{
    const struct bioinfer_model *model = e->task.model;
    int64_t atoms;
    int st;
    if (!(e->def = model->base.def->energy))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s gives no energies of atoms", model->path,
                       model->base.def->name);
    if ((st = bi_params_copy(&e->p, sizeof e->p, params, "energy params", err)))
        return st;
    if (e->p.has_charge && !(fabs(e->p.charge) <= BI_FRAME_MAX_CHARGE))
        return bi_fail(err, BIOINFER_INVALID, "energy: a charge of %g", e->p.charge);
    if (e->p.ignore_cell && e->p.repeat_all)
        return bi_fail(err, BIOINFER_INVALID,
                       "energy: ignore_cell and repeat_all exclude each other");
    e->facts = e->def->facts(&model->base);
    e->near.env = e->task.env;
    if (e->p.no_rules && !(e->no_rules = bi_strdup(e->task.env, e->p.no_rules)))
        return bi_fail(err, BIOINFER_NOMEM, "energy");
    /* an atom takes about 150 kB of activations with forces and 128 channels */
    atoms = e->p.atoms_at_once > 0 ? e->p.atoms_at_once : model->caps.half ? 1 << 14 : 1 << 10;
    e->task.progress = e->p.progress;
    e->task.progress_user = e->p.progress_user;
    return bi_task_open(&e->task, model, atoms, e->p.memory_limit, err);
}

int bioinfer_energy_open(bioinfer_task **out, const bioinfer_model *model,
                         const struct bioinfer_energy_params *params, struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &energy_def, sizeof(struct energy), err);
    if (!st && (st = open_energy((struct energy *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

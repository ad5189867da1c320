/* affinity.c - the task affinity: energies of ligands in their poses.
 *
 * A record is the text of a molecule; its unit has one item: a complex of tokens, which are the
 * atoms of the ligand and those of the pocket around it. Items share their receptor as a part: it
 * is packed, and its atoms computed, once a batch. The family says what a receptor and a complex
 * are (models/affinity.h); their places in a batch are decided here.
 *
 * Sections: molecules in, receptors, molecules, units, batches, results, life. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../base/team.h"
#include "../models/affinity.h"
#include "tasks.h"
#include "table.h"

enum { FRAMES = BI_FRAMES_OF_TOKEN, DEFAULT_POCKET = 50 };

/* Records that are read ahead for the threads to share: so many for each thread, at most so many,
 * of so many bytes. */
enum { AHEAD_OF_THREAD = 8, MOST_AHEAD = 256, TEXT_AHEAD = 4 << 20 };

/* A receptor, held by the units that use it, by the task while it may be asked for again, and by
 * the parameters. */
struct receptor {
    struct bi_receptor of;
    char *path;
    int n_holders;
    int status; /* not 0: it cannot be used, and message says why */
    char message[sizeof(((struct bioinfer_error *)0)->text)];
};

struct affinity_unit {
    struct bi_unit base;
    struct bi_item item;
    struct bi_complex complex;
    struct receptor *receptor;
    uint64_t ordinal;
    float energy;
    int64_t n_pairs;
};

/* A record that is read ahead, and the complex that a thread made of it. */
struct ahead {
    struct bioinfer_record record; /* texts of it are copies, in `text` */
    char *text;
    size_t cap_text;
    struct receptor *receptor;
    struct bi_complex complex;
    uint8_t notes;             /* the molecule has these */
    struct bioinfer_error why; /* why.status not 0: there is no complex */
};

struct affinity {
    struct bioinfer_task task;
    const struct bi_affinity_def *def;
    struct bi_affinity_options options;
    struct receptor *fixed;        /* that of the parameters; NULL = records name theirs */
    struct receptor *latest;       /* the one that the record before named */
    struct bi_molecule *molecules; /* one for each thread */
    int n_threads;
    struct ahead *ahead; /* records ahead[next_ahead, n_ahead) are read and not handed out */
    size_t n_ahead, next_ahead, cap_ahead;
    int source_status; /* that of the source behind them; 1: it is to be asked */
    struct bioinfer_error source_error;
    struct bi_affinity_shape shape; /* the last recipe points to it */
    char *no_rules;
    int32_t part_row;    /* where the part of the item that is packed begins */
    uint64_t n_squashed; /* ligands with a bond that is too short */
    uint8_t told;        /* notes of molecules that were told */
};

/* No bond is so short, in angstrom; bonds of heavy atoms in nanometres are. */
static const double shortest_bond = 0.4;

/* ---- places that cannot be angstrom ---- */

static double distance_of(const float *a, const float *b)
{
    double sum = 0;
    for (int k = 0; k < 3; k++)
        sum += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
    return sqrt(sum);
}

/* Says it of a receptor where two atoms of a residue are nearer than any bond is. */
static void check_receptor(const struct bi_env *env, const char *path, const struct bi_receptor *r)
{
    for (int32_t i = 0; i < r->n_residues; i++) {
        const struct bi_receptor_residue *of = &r->residues[i];
        for (int32_t a = of->row; a < of->row + of->n; a++)
            for (int32_t b = of->row; b < a; b++) {
                const double d = distance_of(r->x[a], r->x[b]);
                if (d >= shortest_bond)
                    continue;
                bi_log(env, BIOINFER_LOG_WARNING,
                       "%s: residue %d: two atoms are %.3g apart, which is no distance in "
                       "angstrom: are the coordinates in nanometres?",
                       path, (int)i + 1, d);
                return;
            }
    }
}

/* Says it of the first ligand with such a bond, and counts the others. */
static void check_ligand(struct affinity *a, const struct bi_complex *c, const char *id)
{
    double least = shortest_bond;
    for (int32_t i = 0; i < c->n_atoms; i++)
        for (int32_t k = c->start[i]; k < c->start[i + 1]; k++)
            least = fmin(least, distance_of(c->x[i], c->x[c->bond_from[c->into[k]]]));
    if (least < shortest_bond && !a->n_squashed++)
        bi_log(a->task.env, BIOINFER_LOG_WARNING,
               "%s: a bond of %.3g, which is none in angstrom: are the atoms in their places, and "
               "are these in nanometres?",
               id, least);
}

/* ---- molecules in ---- */

struct bioinfer_ligands {
    const struct bi_env *env;
    struct bi_molecules *of;
    char *path;
    char id[256], message[sizeof(((struct bioinfer_error *)0)->text)];
};

int bioinfer_ligands_open(bioinfer_ligands **out, bioinfer_context *ctx, const char *path,
                          struct bioinfer_error *err)
{
    bioinfer_ligands *l;
    int st;
    if (!out || !ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "ligands: out, context and path must be given");
    *out = NULL;
    if (!(l = bi_zalloc(&ctx->env, sizeof *l)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    l->env = &ctx->env;
    st = (l->path = bi_strdup(l->env, strcmp(path, "-") ? path : "standard input"))
             ? bi_molecules_open(&l->of, l->env, path, err)
             : bi_fail(err, BIOINFER_NOMEM, "%s", path);
    if (st)
        bioinfer_ligands_close(&l);
    *out = l;
    return st;
}

void bioinfer_ligands_close(bioinfer_ligands **ligands)
{
    bioinfer_ligands *l = ligands ? *ligands : NULL;
    if (!l)
        return;
    bi_molecules_close(&l->of);
    bi_free(l->env, l->path);
    bi_free(l->env, l);
    *ligands = NULL;
}

/* The name that a record begins with, or its number. */
static void name_record(bioinfer_ligands *l, const struct bi_mol_text *text)
{
    struct bi_mol_text lines = *text;
    size_t n;
    bool any = bi_mol_next_line(&lines);
    if (any && lines.length && lines.line[0] == '@') /* MOL2: the line behind its mark */
        any = bi_mol_next_line(&lines);
    for (n = any ? lines.length : 0; n && (unsigned char)lines.line[n - 1] <= ' ';)
        n--;
    while (n && (unsigned char)*lines.line <= ' ') {
        lines.line++;
        n--;
    }
    if (n >= 6 && (!memcmp(lines.line, "ATOM  ", 6) || !memcmp(lines.line, "HETATM", 6)))
        n = 0; /* a line of atoms is no name */
    if (n)
        snprintf(l->id, sizeof l->id, "%.*s", (int)(n < 255 ? n : 255), lines.line);
    else
        snprintf(l->id, sizeof l->id, "molecule_%llu", (unsigned long long)text->ordinal);
}

int bioinfer_ligands_source(void *ligands, struct bioinfer_record *record,
                            struct bioinfer_error *err)
{
    bioinfer_ligands *l = ligands;
    struct bioinfer_error why = {0};
    struct bi_mol_text text;
    bool whole;
    int st;
    if (!l || !record)
        return bi_fail(err, BIOINFER_INVALID, "ligands: a record must be given");
    if ((st = bi_molecules_next_text(l->of, &text, &whole, err)) <= 0)
        return st;
    name_record(l, &text);
    *record = (struct bioinfer_record){.id = l->id,
                                       .description = "",
                                       .sequence = text.at,
                                       .length = (size_t)(text.end - text.at),
                                       .ordinal = text.ordinal - 1,
                                       .message = "",
                                       .file = l->path,
                                       .number = text.ordinal,
                                       .line = text.number + 1};
    if (!whole) {
        record->status = bi_mol_fail(&text, &why, BIOINFER_LIMIT, "a record of more than %d bytes",
                                     BI_MOL_MAX_RECORD);
        snprintf(l->message, sizeof l->message, "%s", why.text);
        record->message = l->message;
        record->length = 0;
    }
    return 1;
}

/* ---- receptors ---- */

static void release(const struct bi_env *env, struct receptor **receptor)
{
    struct receptor *r = *receptor;
    *receptor = NULL;
    if (!r || --r->n_holders)
        return;
    bi_arena_reset(&r->of.arena);
    bi_free(env, r->path);
    bi_free(env, r);
}

/* Reads a receptor. One that cannot be used is there with its status; the return value is for want
 * of memory. */
static int read_receptor(const struct affinity *a, const char *path, struct receptor **out,
                         struct bioinfer_error *err)
{
    const struct bi_env *env = a->task.env;
    struct bioinfer_error why = {0};
    struct bi_structure s = {0};
    struct receptor *r = bi_zalloc(env, sizeof *r);
    if (!r || !(r->path = bi_strdup(env, path))) {
        bi_free(env, r);
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    }
    r->n_holders = 1;
    r->of.arena.env = env;
    r->status = bi_structure_open(&s, env, path, &why);
    if (!r->status)
        r->status = a->def->receptor(&r->of, env, &s, &why);
    bi_structure_close(&s);
    memcpy(r->message, why.text, sizeof r->message);
    if (!r->status && r->of.n_unknown)
        bi_log(env, BIOINFER_LOG_INFO,
               "%s: %d of %d residues have names that are none of the 20 amino acids', so their "
               "atoms do not count",
               path, (int)r->of.n_unknown, (int)r->of.n_residues);
    if (!r->status)
        check_receptor(env, path, &r->of);
    if (!r->status && r->of.n_without_ca)
        bi_log(env, BIOINFER_LOG_INFO,
               "%s: %d of %d residues have no CA: for the pocket they stand at the origin of the "
               "coordinates",
               path, (int)r->of.n_without_ca, (int)r->of.n_residues);
    if (r->status == BIOINFER_NOMEM) {
        release(env, &r);
        return bi_fail(err, BIOINFER_NOMEM, "%s", why.text);
    }
    *out = r;
    return 0;
}

/* The receptor of a record, as the unit holds it. */
static int find_receptor(struct affinity *a, const struct bioinfer_record *record,
                         struct receptor **out, struct bioinfer_error *err)
{
    int st;
    *out = NULL;
    if (record->receptor && (!a->latest || strcmp(a->latest->path, record->receptor))) {
        release(a->task.env, &a->latest);
        if ((st = read_receptor(a, record->receptor, &a->latest, err)))
            return st;
    }
    *out = record->receptor ? a->latest : a->fixed;
    if (*out)
        (*out)->n_holders++;
    return 0;
}

/* ---- molecules ---- */

int bi_record_molecule(const struct bi_env *env, const struct bioinfer_record *r,
                       struct bi_molecule *mol, struct bioinfer_error *why)
{
    struct bi_molecules *in = NULL;
    const char *name = r->file ? r->file : r->id;
    int st = bi_molecules_open_memory(&in, env, name, r->sequence, r->length, why);
    if (!st) {
        bi_molecules_begin_at(in, r->number ? r->number - 1 : 0, r->line ? r->line - 1 : 0);
        st = bi_molecules_next(in, mol, why);
        if (!st)
            st = bi_fail(why, BIOINFER_EMPTY, "%s: record %llu, line %llu: no molecule", name,
                         (unsigned long long)r->number, (unsigned long long)r->line);
        else if (st > 0 && (st = mol->status))
            memcpy(why->text, mol->message, sizeof why->text);
    }
    bi_molecules_close(&in);
    return st;
}

static int join(const struct affinity *a, struct ahead *r, struct bi_molecule *mol)
{
    const struct bioinfer_record *of = &r->record;
    struct bioinfer_error own = {0};
    int st = bi_record_molecule(a->task.env, of, mol, &r->why);
    r->notes = st ? 0 : mol->notes;
    if (st)
        return st;
    r->complex.env = a->task.env;
    if ((st = a->def->join(&r->complex, &r->receptor->of, mol, &a->options, &own)))
        bi_fail(&r->why, st, "%s: record %llu, line %llu: %s", of->file ? of->file : of->id,
                (unsigned long long)(of->number ? of->number : 1),
                (unsigned long long)(of->line ? of->line : 1), own.text);
    return st;
}

/* Makes the complexes of records [first, end); bi_team_for() calls it. */
static void join_some(void *user, int thread, int64_t first, int64_t end)
{
    struct affinity *a = user;
    for (int64_t i = first; i < end; i++)
        if (!a->ahead[i].why.status)
            a->ahead[i].why.status = join(a, &a->ahead[i], &a->molecules[thread]);
}

/* Copies a text of a record behind those that are there; NULL stays NULL. */
static const char *keep(struct ahead *r, size_t *used, const char *text, size_t n)
{
    char *copy = r->text + *used;
    if (!text)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    *used += n + 1;
    return copy;
}

/* Keeps a record, whose texts the source may overwrite. */
static int keep_record(const struct affinity *a, struct ahead *r, const struct bioinfer_record *of,
                       struct bioinfer_error *err)
{
    const size_t n_id = strlen(of->id), n_file = of->file ? strlen(of->file) : 0;
    const size_t n_message = of->status ? strlen(of->message) : 0;
    const size_t n = of->status ? 0 : of->length;
    size_t used = 0;
    if (!bi_grow(a->task.env, &r->text, &r->cap_text, n + n_id + n_file + n_message + 4, 1))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s' of %zu bytes", of->id, n);
    r->record = *of;
    r->record.id = keep(r, &used, of->id, n_id);
    r->record.file = keep(r, &used, of->file, n_file);
    r->record.sequence = keep(r, &used, of->sequence, n);
    r->why = (struct bioinfer_error){.status = of->status};
    if (of->status)
        snprintf(r->why.text, sizeof r->why.text, "%s", of->message);
    return 0;
}

/* Reads one record behind those that are read ahead: 1, or what the source gave. */
static int read_ahead(struct affinity *a, struct bioinfer_error *err)
{
    struct bioinfer_record record = {0};
    struct ahead *r;
    const size_t cap = a->cap_ahead;
    int st;
    if (!bi_grow(a->task.env, &a->ahead, &a->cap_ahead, a->n_ahead + 1, sizeof *a->ahead))
        return bi_fail(err, BIOINFER_NOMEM, "%zu records", a->n_ahead + 1);
    memset(a->ahead + cap, 0, (a->cap_ahead - cap) * sizeof *a->ahead);
    if ((st = a->task.source(a->task.source_user, &record, err)) != 1)
        return st;
    r = &a->ahead[a->n_ahead];
    if ((st = keep_record(a, r, &record, err)) ||
        (!record.status && (st = find_receptor(a, &record, &r->receptor, err))))
        return st;
    if (!r->why.status && !r->receptor)
        r->why.status = bi_fail(&r->why, BIOINFER_INVALID, "no receptor is given");
    else if (!r->why.status && (r->why.status = r->receptor->status))
        memcpy(r->why.text, r->receptor->message, sizeof r->receptor->message);
    a->n_ahead++;
    return 1;
}

/* Reads records ahead, and has all threads make their complexes. */
static void fill_ahead(struct affinity *a)
{
    const size_t most = (size_t)a->n_threads * AHEAD_OF_THREAD;
    size_t n_bytes = 0;
    a->n_ahead = a->next_ahead = 0;
    while (a->source_status == 1 && n_bytes < TEXT_AHEAD && a->n_ahead < MOST_AHEAD &&
           a->n_ahead < (a->n_threads > 1 ? most : 1)) {
        a->source_status = read_ahead(a, &a->source_error);
        n_bytes += a->source_status == 1 ? a->ahead[a->n_ahead - 1].record.length : 0;
    }
    bi_team_for(a->task.env, a->n_threads, (int64_t)a->n_ahead, 1, join_some, a);
}

/* Forgets records that were not handed out. */
static void drop_ahead(struct affinity *a)
{
    for (size_t i = 0; i < a->cap_ahead; i++) {
        release(a->task.env, &a->ahead[i].receptor);
        bi_complex_free(&a->ahead[i].complex);
    }
    a->n_ahead = a->next_ahead = 0;
    a->source_status = 1;
}

/* ---- units ---- */

/* Columns of lists of bonds, so that few graphs are made. */
static int32_t degree_class(int32_t degree)
{
    return degree <= 4 ? 4 : degree <= 8 ? 8 : BI_MOL_MAX_NEIGHBOURS;
}

/* The item of a unit whose complex is made. */
static void make_item(struct affinity_unit *u)
{
    const struct bi_complex *c = &u->complex;
    u->item = (struct bi_item){.unit = &u->base,
                               .program = degree_class(c->degree),
                               .part = u->receptor,
                               .part_size = {.n_rows = u->receptor->of.n_rows},
                               .size = {.n_tokens = FRAMES * c->n_tokens,
                                        .n_seqs = FRAMES,
                                        .longest = c->n_tokens,
                                        .n_samples = 1,
                                        .n_sampled = c->n_tokens,
                                        .n_atoms = c->n_atoms,
                                        .n_edges = c->n_bonds}};
    u->base.items = &u->item;
    u->base.n_items = 1;
    u->base.is_over = true;
    u->base.result_size = sizeof *u;
}

static int affinity_read(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct affinity *a = (struct affinity *)t;
    struct affinity_unit *u = (struct affinity_unit *)unit;
    struct ahead *r;
    if (a->next_ahead == a->n_ahead)
        fill_ahead(a);
    if (a->next_ahead == a->n_ahead) { /* the source's status behind them holds once */
        const int st = a->source_status;
        a->source_status = 1;
        return st < 0 ? bi_fail(err, st, "%s", a->source_error.text) : st;
    }
    r = &a->ahead[a->next_ahead++];
    u->ordinal = r->record.ordinal;
    u->receptor = r->receptor;
    u->complex = r->complex;
    r->receptor = NULL;
    r->complex = (struct bi_complex){0};
    if (!(unit->id = bi_strdup(t->env, r->record.id)))
        return bi_fail(err, BIOINFER_NOMEM, "record");
    if (r->why.status == BIOINFER_NOMEM)
        return bi_fail(err, BIOINFER_NOMEM, "%s", r->why.text);
    if (r->why.status) {
        bi_unit_fail(t->env, unit, r->why.status, r->why.text);
    } else {
        check_ligand(a, &u->complex, unit->id);
        bi_molecule_tell(t->env, unit->id, r->notes, &a->told);
        make_item(u);
    }
    return 1;
}

/* ---- batches ---- */

_Static_assert(sizeof(struct bi_affinity_shape) == 7 * sizeof(int64_t), "no padding");

static int build_graph(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    const struct bi_affinity_shape *of = shape;
    const struct bi_model *model = user;
    (void)err;
    g->n_tokens = FRAMES * of->n_tokens;
    g->n_seqs = FRAMES * of->n_complexes;
    g->n_rows = of->n_rows;
    g->longest = of->longest;
    ((const struct bi_affinity_def *)model->def->def)->build(model, g, of);
    return 0;
}

static int64_t at_least_one(int64_t n)
{
    return n > 0 ? n : 1;
}

static int affinity_recipe(struct bioinfer_task *t, const struct bi_batch *b,
                           struct bi_recipe *recipe, struct bioinfer_error *err)
{
    struct affinity *a = (struct affinity *)t;
    const struct bi_counts *c = &b->capacity;
    struct bi_affinity_shape *s = &a->shape;
    (void)err;
    *s = (struct bi_affinity_shape){.n_complexes = c->n_samples,
                                    .n_tokens = c->n_sampled,
                                    .longest = c->longest,
                                    .n_rows = c->n_rows,
                                    .n_atoms = at_least_one(c->n_atoms),
                                    .n_bonds = at_least_one(c->n_edges),
                                    .degree = b->n_items ? b->items[0]->program : degree_class(0)};
    *recipe = (struct bi_recipe){.build = build_graph,
                                 .user = &t->model->base,
                                 .shape = s,
                                 .shape_size = sizeof *s,
                                 .n_sizes = 6,
                                 .wide = b->wide,
                                 .no_rules = a->no_rules};
    return 0;
}

/* The row of token i of a complex in frame f: frame by frame, each as a sequence. */
static int32_t row_of_frame(const struct bi_complex *c, const struct bi_batch_place *place,
                            int32_t f, int32_t i)
{
    return FRAMES * place->at.n_sampled + f * c->n_tokens + i;
}

/* The tokens of a complex: rows of the receptor, and where each frame has them. */
static void fill_tokens(const struct affinity *a, const struct bi_complex *c,
                        const struct bi_batch_place *place)
{
    const int32_t first = place->at.n_sampled, n = c->n_tokens;
    const int32_t first_row = row_of_frame(c, place, 0, 0);
    int32_t *row = bi_batch_input(place, "row"), *code = bi_batch_input(place, "code");
    int32_t *start = bi_batch_input(place, "start"), *sets = bi_batch_input(place, "sets");
    int32_t(*frame_rows)[FRAMES] = bi_batch_input(place, "frame_rows");
    for (int32_t i = 0; i < n; i++)
        row[first + i] = a->part_row + c->row[i];
    for (int32_t f = 0; f < FRAMES; f++) {
        const int32_t base = row_of_frame(c, place, f, 0);
        for (int32_t i = 0; i < n; i++)
            code[base + i] = FRAMES * (first + i) + f;
        start[FRAMES * place->index + f] = base;
    }
    for (int32_t i = 0; i < n; i++) /* eight numbers side by side are stored at once */
        for (int32_t f = 0; f < FRAMES; f++)
            frame_rows[first + i][f] = first_row + f * n + i;
    sets[place->index] = first;
    if (place->index + 1 < place->n_items)
        return;
    for (int64_t s = FRAMES * place->n_items; s <= place->slot->plan->graph->n_seqs; s++)
        start[s] = FRAMES * (first + n);
    sets[place->n_items] = first + n;
}

/* Row r of a list of bonds in columns; `but` is left out. */
static void list_bonds(int32_t *to, int32_t degree, const struct bi_complex *c, int32_t atom,
                       int32_t but, int32_t base)
{
    int32_t n = 0;
    for (int32_t k = c->start[atom]; k < c->start[atom + 1]; k++)
        if (c->into[k] != but)
            to[n++] = base + c->into[k];
    while (n < degree)
        to[n++] = -1;
}

static void fill_ligand(const struct bi_complex *c, int32_t degree,
                        const struct bi_batch_place *place)
{
    const int32_t atom = place->at.n_atoms, bond = place->at.n_edges;
    const size_t n = (size_t)c->n_atoms, m = (size_t)c->n_bonds;
    int32_t *bonds = bi_batch_input(place, "atom_bonds");
    int32_t *before = bi_batch_input(place, "bond_before");
    int32_t *token = bi_batch_input(place, "atom_token");
    int32_t(*frame_rows)[FRAMES] = bi_batch_input(place, "atom_frame_rows");
    memcpy((float(*)[3])bi_batch_input(place, "ligand_x") + atom, c->x, n * sizeof *c->x);
    memcpy((float *)bi_batch_input(place, "atom_mass") + atom, c->atom_mass,
           n * sizeof *c->atom_mass);
    memcpy((int32_t(*)[BI_ATOM_CODES])bi_batch_input(place, "atom_code") + atom, c->atom_code,
           n * sizeof *c->atom_code);
    memcpy((float *)bi_batch_input(place, "bond_mass") + bond, c->bond_mass,
           m * sizeof *c->bond_mass);
    memcpy((int32_t(*)[BI_BOND_CODES])bi_batch_input(place, "bond_code") + bond, c->bond_code,
           m * sizeof *c->bond_code);
    for (int32_t i = 0; i < c->n_atoms; i++) {
        const bool is_token = c->atom_token[i] >= 0;
        token[atom + i] = is_token ? place->at.n_sampled + c->atom_token[i] : -1;
        for (int32_t f = 0; f < FRAMES; f++)
            frame_rows[atom + i][f] = is_token ? row_of_frame(c, place, f, c->atom_token[i]) : -1;
        list_bonds(bonds + (int64_t)(atom + i) * degree, degree, c, i, -1, bond);
    }
    for (int32_t k = 0; k < c->n_bonds; k++)
        list_bonds(before + (int64_t)(bond + k) * degree, degree, c, c->bond_from[k],
                   c->bond_reverse[k], bond);
}

static void affinity_fill(const struct bioinfer_task *t, const struct bi_item *item,
                          const struct bi_batch_place *place)
{
    struct affinity *a = (struct affinity *)(uintptr_t)t;
    const struct affinity_unit *u = (const struct affinity_unit *)item->unit;
    const struct bi_receptor *r = &u->receptor->of;
    const struct bi_complex *c = &u->complex;
    int32_t(*span)[4] = bi_batch_input(place, "span");
    if (place->part_begins) {
        a->part_row = place->at.n_rows;
        memcpy((float(*)[3])bi_batch_input(place, "receptor_x") + a->part_row, r->x,
               (size_t)r->n_rows * sizeof *r->x);
        memcpy((int32_t(*)[2])bi_batch_input(place, "receptor_code") + a->part_row, r->code,
               (size_t)r->n_rows * sizeof *r->code);
    }
    fill_tokens(a, c, place);
    fill_ligand(c, item->program, place);
    span[place->index][0] = place->at.n_atoms;
    span[place->index][1] = place->at.n_atoms + c->n_atoms;
    span[place->index][2] = place->at.n_sampled + c->n_ligand;
    span[place->index][3] = place->at.n_sampled + c->n_tokens;
}

static const char *const affinity_made[] = {
    "ligand_x",   "receptor_x",     "sets",       "receptor_code", "row",
    "atom_code",  "atom_mass",      "atom_bonds", "bond_code",     "bond_mass",
    "start",      "bond_before",    "atom_token", "code",          "span",
    "frame_rows", "atom_frame_rows"};

/* ---- results ---- */

static int affinity_collect(struct bioinfer_task *t, struct bi_item *item,
                            const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct affinity_unit *u = (struct affinity_unit *)item->unit;
    const struct bi_graph *g = place->slot->plan->graph;
    const int64_t n_shares = g->values[g->outputs[0].value].shape[1] / 2;
    double energy = 0, n_pairs = 0;
    int64_t ld;
    const float *y = bi_batch_output(place, &g->outputs[0], &ld);
    (void)t;
    y += place->index * ld;
    for (int64_t i = 0; i < n_shares; i++) {
        energy += (double)y[i];
        n_pairs += (double)y[n_shares + i];
    }
    u->energy = (float)energy;
    u->n_pairs = (int64_t)lround(n_pairs);
    return isfinite(u->energy) ? 0 : bi_fail(err, BIOINFER_NONFINITE, "the energy is not finite");
}

static int affinity_result(struct bioinfer_task *t, struct bi_unit *unit,
                           struct bioinfer_error *err)
{
    const struct affinity_unit *u = (const struct affinity_unit *)unit;
    const struct bi_complex *c = &u->complex;
    const struct bioinfer_affinity affinity = {.energy = u->energy,
                                               .n_pairs = u->n_pairs,
                                               .n_atoms = c->n_atoms,
                                               .n_pocket_atoms = c->n_tokens - c->n_ligand,
                                               .n_pocket_residues = c->n_pocket_residues,
                                               .distance = (double)c->distance};
    const struct bioinfer_result result = {.ordinal = u->ordinal,
                                           .id = unit->id,
                                           .length = unit->status ? 0 : c->n_atoms,
                                           .status = unit->status,
                                           .message = bi_unit_message(unit),
                                           .affinity = unit->status ? NULL : &affinity};
    t->exec->profile.records++;
    t->exec->profile.residues += (uint64_t)result.length;
    return t->sink(t->sink_user, &result, err);
}

static void affinity_drop(struct bioinfer_task *t, struct bi_unit *unit)
{
    struct affinity_unit *u = (struct affinity_unit *)unit;
    bi_complex_free(&u->complex);
    release(t->env, &u->receptor);
}

static struct bi_counts affinity_one(const struct bioinfer_task *t, int64_t n_residues)
{
    const int32_t n = (int32_t)n_residues;
    (void)t;
    return (struct bi_counts){.n_tokens = FRAMES * n,
                              .n_seqs = FRAMES,
                              .longest = n,
                              .n_rows = n,
                              .n_samples = 1,
                              .n_sampled = n,
                              .n_atoms = 16,
                              .n_edges = 32};
}

static void affinity_end(struct bioinfer_task *t)
{
    struct affinity *a = (struct affinity *)t;
    if (a->n_squashed > 1)
        bi_log(t->env, BIOINFER_LOG_WARNING, "%llu ligands have bonds shorter than %g angstrom",
               (unsigned long long)a->n_squashed, shortest_bond);
    a->n_squashed = 0;
    a->told = 0;
    drop_ahead(a);
    release(t->env, &a->latest);
}

static void affinity_free(struct bioinfer_task *t)
{
    struct affinity *a = (struct affinity *)t;
    release(t->env, &a->latest);
    release(t->env, &a->fixed);
    drop_ahead(a);
    for (size_t i = 0; i < a->cap_ahead; i++)
        bi_free(t->env, a->ahead[i].text);
    bi_free(t->env, a->ahead);
    for (int i = 0; a->molecules && i < a->n_threads; i++)
        bi_molecule_free(&a->molecules[i]);
    bi_free(t->env, a->molecules);
    bi_free(t->env, a->no_rules);
}

const struct bi_task_def bi_task_affinity = {.name = "affinity",
                                             .kind = &bi_kind_affinity,
                                             .unit_size = sizeof(struct affinity_unit),
                                             .smallest = {.n_tokens = FRAMES * 16,
                                                          .n_seqs = FRAMES,
                                                          .longest = 16,
                                                          .n_rows = 16,
                                                          .n_samples = 1,
                                                          .n_sampled = 16,
                                                          .n_atoms = 4,
                                                          .n_edges = 8},
                                             .made = affinity_made,
                                             .n_made = BI_COUNT(affinity_made),
                                             .one = affinity_one,
                                             .read = affinity_read,
                                             .recipe = affinity_recipe,
                                             .fill = affinity_fill,
                                             .collect = affinity_collect,
                                             .result = affinity_result,
                                             .drop = affinity_drop,
                                             .end = affinity_end,
                                             .free = affinity_free};

/* ---- life ---- */

static int open_affinity(struct affinity *a, const struct bioinfer_affinity_params *params,
                         struct bioinfer_error *err)
{
    const struct bioinfer_model *model = a->task.model;
    struct bioinfer_affinity_params p = {0};
    int64_t tokens;
    int st;
    a->def = model->base.def->def;
    if ((st = bi_params_take(&p, sizeof p, params, "affinity", err)))
        return st;
    a->source_status = 1;
    a->n_threads = a->task.ctx->n_threads;
    if (!(a->molecules = bi_calloc(a->task.env, (size_t)a->n_threads, sizeof *a->molecules)))
        return bi_fail(err, BIOINFER_NOMEM, "affinity: %d threads", a->n_threads);
    a->options.n_pocket = p.pocket ? p.pocket : DEFAULT_POCKET;
    a->options.drop_unknown = p.drop_unknown != 0;
    if (p.no_rules && !(a->no_rules = bi_strdup(a->task.env, p.no_rules)))
        return bi_fail(err, BIOINFER_NOMEM, "affinity");
    if (p.receptor && (st = read_receptor(a, p.receptor, &a->fixed, err)))
        return st;
    if (a->fixed && a->fixed->status)
        return bi_fail(err, a->fixed->status, "%s", a->fixed->message);
    /* about 430 tokens of a complex, in eight frames */
    tokens = p.tokens_at_once > 0 ? p.tokens_at_once : model->caps.half ? 1 << 18 : 1 << 14;
    a->task.progress = p.progress;
    a->task.progress_user = p.progress_user;
    return bi_task_open(&a->task, model, tokens, p.memory_limit, err);
}

int bioinfer_affinity_open(bioinfer_task **out, const bioinfer_model *model,
                           const struct bioinfer_affinity_params *params,
                           struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_affinity, sizeof(struct affinity), err);
    if (!st && (st = open_affinity((struct affinity *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

const char *bioinfer_affinity_caveat(const bioinfer_model *model)
{
    const struct bi_affinity_def *def = model ? bi_family_def(model->base.def, &bi_kind_affinity)
                                              : NULL;
    return def && def->caveat ? def->caveat : "";
}

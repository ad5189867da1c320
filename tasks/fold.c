/* fold.c - the task fold: structures of the chains of a complex.
 *
 * A record is a complex, its unit has one item at a time: all chains, one after another. The graph
 * gives frames, torsions and probabilities of pLDDT (models/fold.h); atoms are placed here. Where a
 * family folds in passes, an item is the stem or a pass, and a wave is a pass of all units of a
 * window. Only the next pass reads what a pass keeps, so a pass that is computed anew finds its
 * inputs as they were. A family that draws atoms makes passes and samples for each seed, on one
 * stem.
 *
 * Sections: chains, units, batches, life. Results are in fold_result.c. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../models/fold.h"
#include "../models/folding/atoms.h"
#include "../models/folding/confidence.h"
#include "../writers/structure.h"
#include "fold.h"
#include "table.h"

enum { MOST_CHAINS = 4096, SHORTEST_DNA = 20, MOST_TOKENS = 46340, MOST_CYCLES = 1000 };
enum { PARTS = 16 };    /* More would save nothing: most is taken by triangles. */
enum { WINDOW = 1024 }; /* tokens whose kept values lie side by side */

_Static_assert(sizeof(struct bi_fold_shape) == 10 * sizeof(int64_t), "its padding is zeroed");

/* ---- chains ---- */

static bool is_separator(char c)
{
    return c == ':' || c == '|';
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* A chain of a record. */
struct chain {
    const char *letters;
    size_t n;
};

/* Takes the next chain of a text; false: there is none. *left NULL = the text is over. */
static bool next_chain(const char **left, const char *end, struct chain *chain)
{
    const char *at = *left;
    if (!at)
        return false;
    chain->letters = at;
    while (at < end && !is_separator(*at))
        at++;
    chain->n = (size_t)(at - chain->letters);
    *left = at < end ? at + 1 : NULL;
    return true;
}

/* Names the letters that the family knows. */
static int unknown_letter(const struct fold *f, const struct chain *chain, size_t place, int number,
                          struct bioinfer_error *err)
{
    const unsigned char c = (unsigned char)chain->letters[place];
    struct bi_fold_token token;
    char known[27], shown[8];
    int n = 0;
    for (char letter = 'A'; letter <= 'Z'; letter++)
        if (f->def->token(&token, letter, 0, 0))
            known[n++] = letter;
    known[n] = '\0';
    snprintf(shown, sizeof shown, c > ' ' && c < 0x7F ? "'%c'" : "0x%02X", c);
    return bi_fail(err, BIOINFER_BAD_RESIDUE,
                   "chain %d, residue %zu is %s, expected one of %s, and ':' between chains",
                   number, place + 1, shown, known);
}

/* A chain of bases would pass as one of alanine, cysteine, glycine and threonine. */
static bool looks_like_dna(const struct chain *chain)
{
    size_t n = 0;
    for (size_t i = 0; i < chain->n; i++)
        n += strchr("ACGTUN", upper(chain->letters[i])) != NULL;
    return chain->n >= SHORTEST_DNA && n == chain->n;
}

static int check_chain(const struct fold *f, const struct chain *chain, int number,
                       struct bioinfer_error *err)
{
    const struct bi_fold_def *def = f->def;
    struct bi_fold_token token;
    if (!chain->n)
        return bi_fail(err, BIOINFER_EMPTY,
                       "chain %d has no residues: ':' or '|' stands between two chains", number);
    if (looks_like_dna(chain) && !f->p.force)
        return bi_fail(err, BIOINFER_BAD_RESIDUE,
                       "chain %d, of %zu letters, looks like DNA or RNA: amino acids are folded",
                       number, chain->n);
    for (size_t i = 0; i < chain->n; i++)
        if (!def->token(&token, upper(chain->letters[i]), 0, 0))
            return unknown_letter(f, chain, i, number, err);
    if (def->longest_chain && chain->n > (size_t)def->longest_chain && !f->p.force)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "chain %d has %zu residues, %s is for chains of up to %d", number, chain->n,
                       f->task.model->base.name, def->longest_chain);
    if (chain->n < (size_t)def->shortest_chain && !f->p.force)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "chain %d has %zu residue%s, %s is for chains of at least %d", number,
                       chain->n, chain->n == 1 ? "" : "s", f->task.model->base.name,
                       def->shortest_chain);
    return 0;
}

/* Checks all that is to be known of a record before there is memory for it. */
static int check_record(const struct fold *f, const struct bioinfer_record *r, struct fold_unit *u,
                        struct bioinfer_error *err)
{
    const int64_t most = f->p.max_length > 0 && f->p.max_length < BIOINFER_MAX_RESIDUES
                             ? f->p.max_length
                             : BIOINFER_MAX_RESIDUES;
    const char *left = r->sequence, *end = r->sequence + r->length;
    struct chain chain;
    size_t n = 0, n_chains = 0;
    int st;
    if (!r->length || !r->sequence)
        return bi_fail(err, BIOINFER_EMPTY, "no residues");
    while (next_chain(&left, end, &chain)) {
        n += chain.n;
        n_chains++;
    }
    if (n > (size_t)most)
        return bi_fail(err, BIOINFER_TOO_LONG, "%zu residues, at most %lld are allowed", n,
                       (long long)most);
    if (n_chains > MOST_CHAINS)
        return bi_fail(err, BIOINFER_LIMIT, "%zu chains, at most %d are allowed", n_chains,
                       MOST_CHAINS);
    n_chains = 0;
    for (left = r->sequence; next_chain(&left, end, &chain);)
        if ((st = check_chain(f, &chain, (int)++n_chains, err)))
            return st;
    if (f->def->n_chains && n_chains != (size_t)f->def->n_chains)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%zu chain%s, %s folds %s", n_chains,
                       n_chains == 1 ? "" : "s", f->task.model->base.name, f->def->takes);
    u->n = (int32_t)n;
    u->n_chains = (int32_t)n_chains;
    if (f->n_passes)
        n += (n_chains - 1) * (size_t)f->def->passes->n_linkers;
    if (f->n_passes && n > MOST_TOKENS)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "%zu residues, with linkers, have more pairs than are counted (%d)", n,
                       INT32_MAX);
    u->n_tokens = (int32_t)n;
    return 0;
}

/* ---- units ---- */

/* Takes a piece of the unit's block, and moves *at to its end. */
static void *piece(char **at, size_t n, size_t size)
{
    void *here = *at;
    *at += (n * size + 7) / 8 * 8;
    return here;
}

int bi_fold_n_structures(const struct fold *f)
{
    return f->n_samples ? f->n_samples * f->n_seeds : 1;
}

int bi_fold_round(const struct fold *f)
{
    return f->n_passes + f->n_samples;
}

/* Bytes of the arrays of a structure. */
static size_t structure_size(const struct fold_unit *u, bool passes)
{
    const struct fold_structure *s = u->of;
    const size_t n = (size_t)u->n, all = n * (sizeof *s->x + sizeof *s->plddt);
    return all + (passes ? n * (n * sizeof *s->pae + sizeof *s->level) : 0) + 4 * (size_t)8;
}

/* Makes the unit's block, for n residues of n_chains. */
static bool make_room(const struct fold *f, struct fold_unit *u)
{
    const size_t n = (size_t)u->n, chains = (size_t)u->n_chains, tokens = (size_t)u->n_tokens;
    const size_t each = sizeof *u->token + 2, structures = (size_t)bi_fold_n_structures(f);
    const size_t of_token = sizeof *u->code + sizeof *u->number + sizeof *u->ids + sizeof *u->rows +
                            sizeof *u->scale + sizeof *u->chain + 1;
    const bool passes = f->n_passes > 0;
    char *at = bi_calloc(f->task.env, 1,
                         chains * (sizeof *u->chains + sizeof *u->names) + n * each +
                             (tokens + 2 * chains) * of_token + 16 * 8 +
                             structures * (sizeof *u->of + structure_size(u, passes)));
    if (!at)
        return false;
    u->chains = piece(&at, chains, sizeof *u->chains);
    u->names = piece(&at, chains, sizeof *u->names);
    u->of = piece(&at, structures, sizeof *u->of);
    for (size_t k = 0; k < structures; k++) {
        struct fold_structure *s = &u->of[k];
        s->number = (int)k;
        s->ptm = s->iptm = (double)NAN;
        s->x = piece(&at, n, sizeof *s->x);
        s->plddt = piece(&at, n, sizeof *s->plddt);
        s->pae = passes ? piece(&at, n * n, sizeof *s->pae) : NULL;
        s->level = passes ? piece(&at, n, sizeof *s->level) : NULL;
    }
    u->code = piece(&at, tokens, sizeof *u->code);
    u->number = piece(&at, tokens, sizeof *u->number);
    u->token = piece(&at, n, sizeof *u->token);
    u->chain = piece(&at, tokens, sizeof *u->chain);
    u->ids = piece(&at, tokens + 2 * chains, sizeof *u->ids);
    u->rows = piece(&at, tokens, sizeof *u->rows);
    u->scale = piece(&at, tokens + 2 * chains, sizeof *u->scale);
    u->letters = piece(&at, tokens, 1);
    u->sequence = piece(&at, n + 1, 1);
    u->atoms = piece(&at, n, 1);
    return true;
}

/* Adds token `at`, and returns the letter whose atoms it has. Numbers go on from chain to chain
 * where there are linkers, which belong to the chain before them. */
static char add_token(const struct fold *f, struct fold_unit *u, char letter, int chain, int place,
                      int32_t at)
{
    struct bi_fold_token token;
    f->def->token(&token, letter, chain, place);
    memcpy(u->code[at], token.code, sizeof token.code);
    u->number[at] = f->n_passes ? at + chain * f->def->passes->chain_step : token.number;
    u->letters[at] = letter;
    u->chain[at] = chain;
    return token.atoms;
}

/* Sets the names of a residue's atoms; their number. A residue may be without. */
int bi_fold_atom_names(const struct fold *f, const struct fold_unit *u, int32_t residue,
                       const char *names[BI_FOLDED_ATOMS])
{
    const struct bi_folded_residue *of;
    if (!u->atoms[residue])
        return 0;
    if (f->def->atoms)
        return f->def->atoms->names(u->atoms[residue], names);
    of = bi_folded_residue(u->atoms[residue]);
    for (int k = 0; k < of->n_atoms; k++)
        names[k] = of->atoms[k].name;
    return of->n_atoms;
}

int bi_fold_n_atoms(const struct fold *f, const struct fold_unit *u, int32_t residue)
{
    const char *names[BI_FOLDED_ATOMS];
    return bi_fold_atom_names(f, u, residue, names);
}

/* Sets what the stem reads: all tokens as one sequence, or, where samples follow, each chain. */
static void set_stem(const struct fold *f, struct fold_unit *u)
{
    const struct bi_model *model = &f->task.model->base;
    int32_t first = 0;
    for (int32_t i = 0; i < u->n_tokens; i++)
        u->rows[i] = 1 + i + (f->n_samples ? 2 * u->chain[i] : 0);
    if (!f->n_samples) {
        f->def->passes->tokens(model, u->letters, u->n_tokens, u->ids, u->scale);
        return;
    }
    for (int c = 0; c < u->n_chains; c++) {
        const int64_t n = u->chains[c].n_residues;
        f->def->passes->tokens(model, u->letters + first, n, u->ids + first + 2 * c,
                               u->scale + first + 2 * c);
        first += (int32_t)n;
    }
}

/* Fills the unit with the residues of a record that was checked. */
static void take_chains(const struct fold *f, const struct bioinfer_record *r, struct fold_unit *u)
{
    const char *left = r->sequence, *end = r->sequence + r->length;
    struct chain chain;
    int32_t at = 0, token = 0;
    for (int c = 0; next_chain(&left, end, &chain); c++) {
        for (int k = 0; f->n_passes && c && k < f->def->passes->n_linkers; k++)
            add_token(f, u, f->def->passes->linker, c - 1, 0, token++);
        if (f->def->chain_names)
            u->names[c][0] = f->def->chain_names[c];
        else
            bi_chain_name(u->names[c], c);
        u->chains[c] = (struct bioinfer_fold_chain){
            .name = u->names[c], .first = at, .n_residues = (int64_t)chain.n};
        for (size_t i = 0; i < chain.n; i++, at++) {
            u->sequence[at] = upper(chain.letters[i]);
            u->token[at] = token;
            u->atoms[at] = add_token(f, u, u->sequence[at], c, (int)i, token++);
            u->n_atoms += bi_fold_n_atoms(f, u, at);
        }
    }
    if (f->n_passes)
        set_stem(f, u);
}

static int64_t longest_chain(const struct fold_unit *u)
{
    int64_t longest = 0;
    for (int c = 0; c < u->n_chains; c++)
        longest = u->chains[c].n_residues > longest ? u->chains[c].n_residues : longest;
    return longest;
}

/* The program of the unit's step. */
static enum bi_fold_program program_of(const struct fold *f, const struct fold_unit *u)
{
    int step;
    if (!f->n_passes)
        return BI_FOLD_WHOLE;
    if (!u->step)
        return BI_FOLD_STEM;
    step = (u->step - 1) % bi_fold_round(f) + 1;
    if (step > f->n_passes)
        return BI_FOLD_SAMPLE;
    if (step == f->n_passes)
        return step == 1 ? BI_FOLD_ONLY : BI_FOLD_LAST;
    return step == 1 ? BI_FOLD_FIRST : BI_FOLD_AGAIN;
}

/* The last step of a unit. */
static int last_step(const struct fold *f)
{
    return f->n_seeds * bi_fold_round(f);
}

/* Makes the item of the unit's step. */
static void set_item(const struct fold *f, struct fold_unit *u)
{
    const enum bi_fold_program program = program_of(f, u);
    const int32_t stems = f->n_samples ? u->n_chains : 1;
    const int32_t n = program == BI_FOLD_STEM ? u->n_tokens + 2 * stems : u->n_tokens;
    u->item = (struct bi_item){.unit = &u->base,
                               .number = u->step,
                               .program = (int32_t)program,
                               .weight = n,
                               .size = {.n_tokens = n, .n_seqs = 1, .longest = n}};
    if (program == BI_FOLD_STEM) {
        u->item.size.n_rows = u->n_tokens;
        u->item.size.n_seqs = stems;
    } else if (f->n_passes) {
        u->item.size.n_grid = n * n;
    }
    if (f->n_samples && program != BI_FOLD_STEM)
        u->item.size.n_atoms = (int32_t)u->n_atoms;
    if (f->aligns && program != BI_FOLD_STEM && program != BI_FOLD_SAMPLE)
        u->item.size.n_aligned = n * (u->alignment.depth ? u->alignment.depth : 1);
    if (program == BI_FOLD_SAMPLE)
        u->item.size.n_steps = (int32_t)f->n_steps;
    u->base.items = &u->item;
    u->base.n_items = 1;
    u->base.is_over = u->step == last_step(f);
}

static int fold_read(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct fold *f = (struct fold *)t;
    struct fold_unit *u = (struct fold_unit *)unit;
    struct bioinfer_record r = {0};
    struct bioinfer_error why = {0};
    int st = t->source(t->source_user, &r, err);
    if (st != 1)
        return st;
    u->ordinal = r.ordinal;
    if (!(unit->id = bi_strdup(t->env, r.id ? r.id : "")))
        return bi_fail(err, BIOINFER_NOMEM, "record");
    if (r.status) {
        bi_unit_fail(t->env, unit, r.status, r.message ? r.message : "");
        return 1;
    }
    if (!(st = check_record(f, &r, u, &why))) {
        if (!make_room(f, u))
            st = bi_fail(&why, BIOINFER_NOMEM, "%d residues: no memory for structures, %d of them",
                         u->n, bi_fold_n_structures(f));
        else
            take_chains(f, &r, u);
        if (!st)
            st = bi_fold_align(f, &r, u, &why);
        if (!st && f->p.text == BIOINFER_FOLD_PDB)
            st = bi_pdb_holds(u->n_chains, longest_chain(u), u->n_atoms, &why);
    }
    if (st) {
        char text[sizeof why.text + 80];
        snprintf(text, sizeof text, "record '%.60s': %s", unit->id, why.text);
        bi_unit_fail(t->env, unit, st, text);
        return 1;
    }
    set_item(f, u);
    unit->result_size = (uint64_t)bi_fold_n_structures(f) * structure_size(u, f->n_passes > 0);
    return 1;
}

/* ---- batches ---- */

static int build_graph(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    const struct bi_fold_shape *of = shape;
    const struct bi_model *model = user;
    (void)err;
    g->n_tokens = of->n_tokens;
    g->n_seqs = of->n_records;
    g->longest = of->longest;
    g->n_rows = of->n_rows;
    g->n_grid = of->n_grid;
    ((const struct bi_fold_def *)model->def->def)->build(model, g, of);
    return 0;
}

/* Is a kept value, by its number, made by this program, or read by it? Samples read the last
 * pass's. */
static bool gives(const struct fold *f, enum bi_fold_program program, int kept)
{
    if (!f->kept[kept].name)
        return false;
    if (!kept)
        return program == BI_FOLD_STEM;
    return program == BI_FOLD_FIRST || program == BI_FOLD_AGAIN ||
           (f->n_samples && (program == BI_FOLD_LAST || program == BI_FOLD_ONLY));
}

static bool takes(const struct fold *f, enum bi_fold_program program, int kept)
{
    if (!f->kept[kept].name || program == BI_FOLD_STEM)
        return false;
    if (!kept)
        return program != BI_FOLD_SAMPLE;
    return program == BI_FOLD_AGAIN || program == BI_FOLD_LAST || program == BI_FOLD_SAMPLE;
}

/* Bytes of the rows of a kept value that these counts stand for. */
static uint64_t kept_size(const struct bi_fold_kept *kept, const struct bi_counts *counts)
{
    return (uint64_t)bi_live_rows(counts, (int)kept->axis, 0) * (uint64_t)kept->width *
           sizeof(float);
}

/* Counts of the unit's tokens in passes, which have no more than MOST_TOKENS. */
static struct bi_counts counts_of(const struct fold_unit *u)
{
    return (struct bi_counts){.n_tokens = u->n_tokens, .n_grid = u->n_tokens * u->n_tokens};
}

/* Takes room for all that an item is to keep, unless there is some. */
static int keep_room(const struct fold *f, const struct bi_item *item, struct bioinfer_error *err)
{
    struct fold_unit *u = (struct fold_unit *)item->unit;
    struct bi_counts counts;
    int st = 0;
    if (!f->n_passes)
        return 0;
    counts = counts_of(u);
    for (int k = 0; !st && k < BI_FOLD_KEPT; k++)
        if (gives(f, (enum bi_fold_program)item->program, k) && !u->fresh[k])
            st = bi_kept_new(&u->fresh[k], f->task.exec, kept_size(&f->kept[k], &counts), err);
    return st;
}

/* Each item copies at most all kept values in and all but one out. */
static size_t fold_take(const struct bioinfer_task *t, struct bi_item *const *items, size_t n)
{
    const size_t most = BI_EXEC_COPIES / (2 * BI_FOLD_KEPT);
    (void)items;
    return ((const struct fold *)t)->n_passes && n > most ? most : n;
}

static const char *const made[] = {BI_FOLD_MADE, "grid_rows"};

/* Names kept values of an item, which begin at place->at. */
static void fold_fill(const struct bioinfer_task *t, const struct bi_item *item,
                      const struct bi_batch_place *place)
{
    const struct fold *f = (const struct fold *)t;
    const struct fold_unit *u = (const struct fold_unit *)item->unit;
    const enum bi_fold_program program = (enum bi_fold_program)item->program;
    const struct bi_graph *g = place->slot->plan->graph;
    struct bi_counts at = place->at, counts;
    if (!f->n_passes)
        return;
    if (f->n_samples)
        bi_fold_fill(f, u, program, place);
    counts = counts_of(u);
    if (program == BI_FOLD_STEM)
        at.n_tokens = at.n_rows; /* without <cls> and <eos> */
    for (int k = 0; k < BI_FOLD_KEPT; k++) {
        const uint64_t first = kept_size(&f->kept[k], &at), size = kept_size(&f->kept[k], &counts);
        if (takes(f, program, k))
            bi_kept_take(place->slot, f->kept[k].name, first, u->kept[k], 0, size);
        for (size_t i = 0; gives(f, program, k) && i < g->n_outputs; i++)
            if (g->outputs[i].kept && !strcmp(g->outputs[i].name, f->kept[k].name))
                bi_kept_give(place->slot, &g->outputs[i], first, u->fresh[k], 0, size);
    }
}

/* The next pass reads what this one kept. */
static int fold_next(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    const struct fold *f = (const struct fold *)t;
    struct fold_unit *u = (struct fold_unit *)unit;
    (void)err;
    if (u->step == last_step(f))
        return 0;
    for (int k = 0; k < BI_FOLD_KEPT; k++)
        if (u->fresh[k]) {
            bi_kept_free(t->exec, &u->kept[k]);
            u->kept[k] = u->fresh[k];
            u->fresh[k] = NULL;
        }
    u->step++;
    set_item(f, u);
    return 1;
}

/* Has a record that memory does not hold computed in parts. *fits is false where it does not hold
 * that either: the record is refused then. */
static int choose_parts(struct fold *f, const struct bi_recipe *recipe, bool *fits,
                        struct bioinfer_error *err)
{
    int st = 0;
    *fits = false;
    if (!f->parts_alone)
        st = bi_task_fits(&f->task, recipe, fits, err);
    if (st || *fits || f->shape.n_grid % PARTS)
        return st;
    f->shape.n_parts = PARTS;
    return bi_task_fits(&f->task, recipe, fits, err);
}

static int fold_recipe(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                       struct bioinfer_error *err)
{
    struct fold *f = (struct fold *)t;
    const struct bi_counts *c = &b->capacity;
    bool fits = true; /* else it is refused: nothing of it is to be kept */
    int st = 0;
    memset(&f->shape, 0, sizeof f->shape);
    f->shape.n_records = c->n_seqs;
    f->shape.n_tokens = c->n_tokens;
    f->shape.longest = c->longest;
    f->shape.n_grid = f->n_passes ? c->n_grid : 0;
    f->shape.n_rows = f->n_passes ? c->n_rows : 0;
    f->shape.n_atoms = f->n_samples ? c->n_atoms : 0;
    f->shape.n_aligned = f->aligns ? c->n_aligned : 0;
    f->shape.uncorrected = f->p.uncorrected != 0;
    f->shape.program = b->items && b->n_items ? b->items[0]->program
                       : f->n_passes          ? BI_FOLD_LAST
                                              : BI_FOLD_WHOLE;
    f->shape.n_steps = f->shape.program == BI_FOLD_SAMPLE ? f->n_steps : 0;
    f->shape.n_parts = 1;
    *recipe = (struct bi_recipe){.build = build_graph,
                                 .user = &t->model->base,
                                 .shape = &f->shape,
                                 .shape_size = sizeof f->shape,
                                 .n_sizes = 7,
                                 .wide = b->wide,
                                 .no_rules = f->no_rules};
    if (b->items && b->n_items == 1 && f->n_passes && f->def->passes->in_parts && c->n_grid)
        st = choose_parts(f, recipe, &fits, err);
    for (size_t i = 0; !st && fits && i < (b->items ? b->n_items : 0); i++)
        st = keep_room(f, b->items[i], err);
    return st;
}

enum { CODE, NUMBER, START, GRID_START, ROW_START, ATOM_START, ALIGNED_START, IDS, SCALE, ROWS };
static const struct bi_task_input fold_inputs[] = {
    [CODE] = {.name = "code", .axis = BI_AXIS_TOKENS, .row_size = BI_FOLD_CODES * sizeof(int32_t)},
    [NUMBER] = {.name = "number", .axis = BI_AXIS_TOKENS, .row_size = sizeof(int32_t)},
    [START] = {.name = "start", .rebase = BI_AXIS_TOKENS, .starts = true},
    [GRID_START] = {.name = "grid_start", .rebase = BI_AXIS_GRID, .starts = true},
    [ROW_START] = {.name = "row_start",
                   .axis = BI_AXIS_TOKENS,
                   .rebase = BI_AXIS_GRID,
                   .starts = true},
    [ATOM_START] = {.name = "atom_start", .rebase = BI_AXIS_ATOMS, .starts = true},
    [ALIGNED_START] = {.name = "aligned_start", .rebase = BI_AXIS_ALIGNED, .starts = true},
    [IDS] = {.name = "ids", .axis = BI_AXIS_TOKENS, .row_size = sizeof(int32_t)},
    [SCALE] = {.name = BI_INPUT_SCALE, .axis = BI_AXIS_TOKENS, .row_size = sizeof(float)},
    [ROWS] = {.name = "rows",
              .axis = BI_AXIS_ROWS,
              .row_size = sizeof(int32_t),
              .rebase = BI_AXIS_TOKENS}};

static const void *fold_rows(const struct bioinfer_task *t, const struct bi_item *item, int input)
{
    const struct fold_unit *u = (const struct fold_unit *)item->unit;
    (void)t;
    switch (input) {
    case CODE:
        return u->code;
    case NUMBER:
        return u->number;
    case IDS:
        return u->ids;
    case SCALE:
        return u->scale;
    case ROWS:
        return u->rows;
    default:
        return NULL;
    }
}

/* Rows of an item of the output of a kind, and how many numbers they have; NULL: there is no such
 * output. */
const float *bi_fold_rows_of(const struct bi_batch_place *place, int kind, int64_t *ld,
                             int64_t *width)
{
    const struct bi_graph *g = place->slot->plan->graph;
    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].kind == kind) {
            const float *y = bi_batch_output(place, &g->outputs[i], ld);
            *width = g->values[g->outputs[i].value].shape[1];
            return y + bi_live_rows(&place->at, (int)g->values[g->outputs[i].value].axis, 0) * *ld;
        }
    return NULL;
}

/* The expectation of n probabilities of equal bins from 0 to 1. */
static double expectation(const float *p, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += (double)p[k] * ((double)k + 0.5) / (double)n;
    return sum;
}

/* False also where one is NaN. */
bool bi_fold_all_within(const float *x, int64_t n, float most)
{
    bool within = true;
    for (int64_t i = 0; i < n; i++)
        within &= fabsf(x[i]) <= most;
    return within;
}

/* Sets aligned errors and pTM, which counts linkers as the published program does. */
static void take_errors(struct fold_unit *u, const float *p, int64_t ld)
{
    const int64_t n = u->n_tokens;
    u->of->ptm = bi_folded_tm(p, ld, n);
    for (int32_t i = 0; i < u->n; i++)
        for (int32_t j = 0; j < u->n; j++)
            u->of->pae[(int64_t)i * u->n + j] = (float)bi_folded_error(
                p + (u->token[i] * n + u->token[j]) * ld);
}

/* Sets the pLDDT of a residue, its CA's where atoms have their own, which are set, too. */
static void take_level(const struct fold *f, struct fold_unit *u, int32_t residue,
                       const float *bins, int64_t n, bool of_atoms)
{
    const int64_t each = n / BI_FOLDED_NAMES;
    u->of->plddt[residue] = (float)(of_atoms ? bi_folded_level(bins + each, (int)each)
                                             : expectation(bins, n));
    for (int k = 0; of_atoms && k < bi_fold_n_atoms(f, u, residue); k++) {
        const int name = bi_folded_name(bi_folded_residue(u->atoms[residue])->atoms[k].name);
        u->of->level[residue][k] = (float)bi_folded_level(bins + name * each, (int)each);
    }
}

static int fold_collect(struct bioinfer_task *t, struct bi_item *item,
                        const struct bi_batch_place *place, struct bioinfer_error *err)
{
    const struct fold *f = (const struct fold *)t;
    struct fold_unit *u = (struct fold_unit *)item->unit;
    const struct fold_structure *s = u->of;
    int64_t ldf, lda, ldc, lde, width, n_bins;
    const float *frame, *angles, *bins, *levels, *errors;
    if (t->model->caps.runs && item->program == BI_FOLD_SAMPLE)
        return bi_fold_collect_sample(f, u, place, err);
    if (!t->model->caps.runs || !u->base.is_over) /* computes nothing, or passes follow */
        return 0;
    frame = bi_fold_rows_of(place, BI_FOLD_FRAME, &ldf, &width);
    angles = bi_fold_rows_of(place, BI_FOLD_ANGLES, &lda, &width);
    bins = bi_fold_rows_of(place, BI_FOLD_CONFIDENCE, &ldc, &n_bins);
    if ((levels = bins ? NULL : bi_fold_rows_of(place, BI_FOLD_LEVELS, &ldc, &n_bins)))
        bins = levels;
    if ((errors = bi_fold_rows_of(place, BI_FOLD_ERRORS, &lde, &width))) {
        take_errors(u, errors, lde);
        if (!isfinite(s->ptm) || !bi_fold_all_within(s->pae, (int64_t)u->n * u->n, FLT_MAX))
            return bi_fail(err, BIOINFER_NONFINITE, "pTM or an aligned error is not finite");
    }
    for (int32_t i = 0; i < u->n; i++) {
        const int64_t at = u->token[i];
        if (u->atoms[i])
            bi_folded_place(s->x[i], bi_folded_residue(u->atoms[i]), frame + at * ldf,
                            angles + at * lda, f->def->least);
        take_level(f, u, i, bins + at * ldc, n_bins, levels != NULL);
        if (!isfinite(s->plddt[i]) ||
            (levels && !bi_fold_all_within(s->level[i], bi_fold_n_atoms(f, u, i), FLT_MAX)))
            return bi_fail(err, BIOINFER_NONFINITE, "residue %d: a pLDDT is not finite", i + 1);
        if (!bi_fold_all_within(s->x[i][0], (int64_t)3 * bi_fold_n_atoms(f, u, i),
                                bi_fold_farthest))
            return bi_fail(err, BIOINFER_NONFINITE,
                           "residue %d: an atom is not finite, or farther off than %g angstrom",
                           i + 1, (double)bi_fold_farthest);
    }
    return 0;
}

static void fold_drop(struct bioinfer_task *t, struct bi_unit *unit)
{
    struct fold_unit *u = (struct fold_unit *)unit;
    for (int k = 0; k < BI_FOLD_KEPT; k++) {
        bi_kept_free(t->exec, &u->kept[k]);
        bi_kept_free(t->exec, &u->fresh[k]);
    }
    bi_free(t->env, u->chains);
    bi_free(t->env, u->aligned);
    bi_free(t->env, u->deleted);
}

static struct bi_counts fold_one(const struct bioinfer_task *t, int64_t n_residues)
{
    const int32_t n = (int32_t)n_residues;
    (void)t;
    return (struct bi_counts){.n_tokens = n,
                              .n_seqs = 1,
                              .longest = n,
                              .n_rows = n,
                              .n_grid = n > MOST_TOKENS ? INT32_MAX : n * n,
                              .n_atoms = n > INT32_MAX / 8 ? INT32_MAX : 8 * n,
                              .n_aligned = n,
                              .n_steps = 1};
}

static void fold_free(struct bioinfer_task *t)
{
    struct fold *f = (struct fold *)t;
    bi_free(t->env, f->no_rules);
    bi_free(t->env, f->msa);
    bi_free(t->env, f->levels);
    bi_free(t->env, f->seeds);
    bi_free(t->env, f->atoms);
    bi_free(t->env, f->coordinates);
    if (f->text.env)
        bi_buf_free(&f->text);
}

const struct bi_task_def bi_task_fold = {.name = "fold",
                                         .kind = &bi_kind_fold,
                                         .unit_size = sizeof(struct fold_unit),
                                         .smallest = {.n_tokens = 16,
                                                      .n_seqs = 1,
                                                      .longest = 16,
                                                      .n_rows = 16,
                                                      .n_grid = 256,
                                                      .n_atoms = 256,
                                                      .n_aligned = 16,
                                                      .n_steps = 1},
                                         .inputs = fold_inputs,
                                         .n_inputs = BI_COUNT(fold_inputs),
                                         .one = fold_one,
                                         .read = fold_read,
                                         .recipe = fold_recipe,
                                         .rows = fold_rows,
                                         .take = fold_take,
                                         .fill = fold_fill,
                                         .made = made,
                                         .n_made = BI_COUNT(made),
                                         .next = fold_next,
                                         .collect = fold_collect,
                                         .result = bi_fold_result,
                                         .drop = fold_drop,
                                         .free = fold_free};

/* ---- life ---- */

static int open_fold(struct fold *f, const struct bioinfer_fold_params *params,
                     struct bioinfer_error *err)
{
    const struct bioinfer_model *model = f->task.model;
    int st;
    f->def = model->base.def->def;
    if ((st = bi_params_take(&f->p, sizeof f->p, params, "fold", err)))
        return st;
    if (f->p.uncorrected && !f->def->correction)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: uncorrected is asked for, and this family makes no correction",
                       model->path);
    if (f->p.include & BIOINFER_FOLD_PAE && !f->def->passes)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s gives no aligned errors (pae)", model->path);
    if (f->p.cycles && !f->def->passes)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s folds in one pass, without cycles",
                       model->path);
    if (f->p.cycles < 0 || f->p.cycles > (f->p.no_cycles ? 0 : MOST_CYCLES))
        return bi_fail(err, BIOINFER_INVALID, "fold: %d cycles, expected 0 to %d", f->p.cycles,
                       f->p.no_cycles ? 0 : MOST_CYCLES);
    if (f->def->passes) {
        f->def->passes->kept(&model->base, f->kept);
        f->n_passes = f->p.cycles || f->p.no_cycles ? 1 + f->p.cycles
                                                    : f->def->passes->usual(&model->base);
        f->task.window_load = WINDOW;
    }
    if ((st = bi_fold_open_samples(f, err)))
        return st;
    if ((st = bi_fold_open_alignments(f, err)))
        return st;
    if (f->p.tokens_at_once < 0 || f->p.max_length < 0)
        return bi_fail(err, BIOINFER_INVALID, "fold: %lld tokens at once, records of up to %lld",
                       (long long)f->p.tokens_at_once, (long long)f->p.max_length);
    if (f->p.no_rules && !(f->no_rules = bi_strdup(f->task.env, f->p.no_rules)))
        return bi_fail(err, BIOINFER_NOMEM, "fold");
    f->task.progress = f->p.progress;
    f->task.progress_user = f->p.progress_user;
    return bi_task_open(&f->task, model, f->p.tokens_at_once, f->p.memory_limit, err);
}

int bioinfer_fold_open(bioinfer_task **out, const bioinfer_model *model,
                       const struct bioinfer_fold_params *params, struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_fold, sizeof(struct fold), err);
    if (!st && (st = open_fold((struct fold *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

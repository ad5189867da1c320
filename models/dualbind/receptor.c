/* receptor.c - a protein as DualBind sees it: heavy atoms of residues with standard names.
 *
 * The rules are those of Biopython's PDBParser in its default mode: one model; chains in the order
 * in which they begin, residues of a chain likewise, whatever lies between their atoms; of
 * alternate locations of an atom the first of the highest occupancy; of two residues at one place
 * the one read last. Residues named HOH and WAT are left out; all others stay, also ions and
 * ligands, whose names are unknown: these have no atoms and their CA stands at the origin. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dualbind.h"

enum { SLOTS = 14 };

/* Atoms by slot; the kinds are numbers of `types`. */
static const char *const types[DB_ATOM_TYPES] = {
    "",    "N",   "CA",  "C",   "O",   "CB",  "CG", "CG1", "CG2", "OG",  "OG1", "SG", "CD",
    "CD1", "CD2", "ND1", "ND2", "OD1", "OD2", "SD", "CE",  "CE1", "CE2", "CE3", "NE", "NE1",
    "NE2", "OE1", "OE2", "CH2", "NH1", "NH2", "OH", "CZ",  "CZ2", "CZ3", "NZ",  "OXT"};

static const struct {
    const char *name;
    const char *slots[SLOTS - 4]; /* behind N, CA, C, O */
} residues[DB_RESIDUES] = {
    {"", {0}},
    {"ALA", {"CB"}},
    {"ARG", {"CB", "CG", "CD", "NE", "CZ", "NH1", "NH2"}},
    {"ASN", {"CB", "CG", "OD1", "ND2"}},
    {"ASP", {"CB", "CG", "OD1", "OD2"}},
    {"CYS", {"CB", "SG"}},
    {"GLN", {"CB", "CG", "CD", "OE1", "NE2"}},
    {"GLU", {"CB", "CG", "CD", "OE1", "OE2"}},
    {"GLY", {0}},
    {"HIS", {"CB", "CG", "ND1", "CD2", "CE1", "NE2"}},
    {"ILE", {"CB", "CG1", "CG2", "CD1"}},
    {"LEU", {"CB", "CG", "CD1", "CD2"}},
    {"LYS", {"CB", "CG", "CD", "CE", "NZ"}},
    {"MET", {"CB", "CG", "SD", "CE"}},
    {"PHE", {"CB", "CG", "CD1", "CD2", "CE1", "CE2", "CZ"}},
    {"PRO", {"CB", "CG", "CD"}},
    {"SER", {"CB", "OG"}},
    {"THR", {"CB", "OG1", "CG2"}},
    {"TRP", {"CB", "CG", "CD1", "CD2", "NE1", "CE2", "CE3", "CZ2", "CZ3", "CH2"}},
    {"TYR", {"CB", "CG", "CD1", "CD2", "CE1", "CE2", "CZ", "OH"}},
    {"VAL", {"CB", "CG1", "CG2"}}};

static int residue_of(const char *name)
{
    for (int i = 1; i < DB_RESIDUES; i++)
        if (!strcmp(residues[i].name, name))
            return i;
    return 0;
}

static int type_of(const char *name)
{
    for (int i = 1; i < DB_ATOM_TYPES; i++)
        if (!strcmp(types[i], name))
            return i;
    return 0;
}

static const char *slot_name(int residue, int slot)
{
    return slot < 4 ? types[1 + slot] : residues[residue].slots[slot - 4];
}

/* ---- residues ---- */

/* Atoms of one residue that follow each other in the file. */
struct run {
    const struct bi_atom *atoms;
    size_t n, place; /* place: of the first one in the file */
    int32_t chain;   /* chains are numbered in the order in which they begin */
    size_t residue;  /* the place where its residue begins */
};

static bool is_water(const struct bi_atom *a)
{
    return !strcmp(a->residue, "HOH") || !strcmp(a->residue, "WAT");
}

/* Biopython's name of a residue: that of what is no protein says what it is. */
static int compare_names(const struct bi_atom *a, const struct bi_atom *b)
{
    if (a->het != b->het)
        return a->het ? 1 : -1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->icode != b->icode)
        return a->icode < b->icode ? -1 : 1;
    return a->het ? strcmp(a->residue, b->residue) : 0;
}

static int by_name(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    const int c = compare_names(x->atoms, y->atoms);
    if (x->chain != y->chain)
        return x->chain < y->chain ? -1 : 1;
    return c ? c : x->place < y->place ? -1 : x->place > y->place;
}

static int by_place(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    if (x->chain != y->chain)
        return x->chain < y->chain ? -1 : 1;
    if (x->residue != y->residue)
        return x->residue < y->residue ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

enum { MAX_CHAINS = 1024 };

/* The number of a chain by the run that begins it, or of a new one; -1: there are too many. */
static int32_t chain_of(const char *name, const struct bi_atom **chains, int32_t *n_chains)
{
    for (int32_t k = *n_chains; k > 0; k--)
        if (!strcmp(chains[k - 1]->chain, name))
            return k - 1;
    return *n_chains < MAX_CHAINS ? (*n_chains)++ : -1;
}

/* Runs of a structure by residue. `runs` has room for all atoms. */
static int find_runs(const struct bi_structure *s, struct run *runs, size_t *n_runs,
                     struct bioinfer_error *err)
{
    const struct bi_atom *chains[MAX_CHAINS];
    int32_t n_chains = 0;
    size_t n = 0;
    int st;
    for (size_t i = 0, end; i < s->n_atoms; i = end) {
        const struct bi_atom *a = &s->atoms[i];
        const bool here = n && !strcmp(runs[n - 1].atoms->chain, a->chain);
        for (end = i;
             end < s->n_atoms && !strcmp(s->atoms[end].chain, a->chain) &&
             !compare_names(&s->atoms[end], a) && !strcmp(s->atoms[end].residue, a->residue);
             end++)
            ;
        if (is_water(a))
            continue;
        for (size_t k = i; k < end; k++)
            if ((st = bi_atom_check(s, &s->atoms[k], BI_FAULT_NUMBER | BI_FAULT_CHAIN, err)))
                return st;
        runs[n] = (struct run){a, end - i, i, here ? runs[n - 1].chain : 0, i};
        if (!here && (runs[n].chain = chain_of(a->chain, chains, &n_chains)) < 0)
            return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d chains", s->name, MAX_CHAINS);
        chains[runs[n++].chain] = a;
    }
    qsort(runs, n, sizeof *runs, by_name);
    for (size_t i = 1; i < n; i++)
        if (runs[i].chain == runs[i - 1].chain && !compare_names(runs[i].atoms, runs[i - 1].atoms))
            runs[i].residue = runs[i - 1].residue;
    qsort(runs, n, sizeof *runs, by_place);
    *n_runs = n;
    return 0;
}

/* The atom of that name in runs[0, n) that all have the name `residue`; NULL = there is none. */
static const struct bi_atom *find_atom(const struct run *runs, size_t n, const char *residue,
                                       const char *name)
{
    const struct bi_atom *found = NULL;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; !strcmp(runs[i].atoms->residue, residue) && k < runs[i].n; k++) {
            const struct bi_atom *a = &runs[i].atoms[k];
            if (!strcmp(a->name, name) && (!found || (a->altloc != ' ' && found->altloc != ' ' &&
                                                      a->occupancy > found->occupancy)))
                found = a;
        }
    return found;
}

static int add_residue(struct bi_receptor *r, const struct bi_structure *s, const struct run *runs,
                       size_t n, struct bioinfer_error *err)
{
    int st;
    const char *name = runs[n - 1].atoms->residue;
    const int kind = residue_of(name);
    struct bi_receptor_residue *to = &r->residues[r->n_residues++];
    bool has_ca = false;
    *to = (struct bi_receptor_residue){.unknown = !kind, .row = r->n_rows};
    r->n_unknown += !kind;
    for (int slot = 0; kind && slot < SLOTS && slot_name(kind, slot); slot++) {
        const struct bi_atom *a = find_atom(runs, n, name, slot_name(kind, slot));
        if (a && (st = bi_atom_check(s, a, BI_FAULT_POSITION, err)))
            return st;
        if (a && slot == 1)
            memcpy(to->ca, a->x, sizeof to->ca);
        has_ca = has_ca || (a && slot == 1);
        if (!a || !db_is_somewhere(a->x))
            continue;
        memcpy(r->x[r->n_rows], a->x, sizeof *r->x);
        r->code[r->n_rows][0] = kind;
        r->code[r->n_rows++][1] = DB_RESIDUES + type_of(slot_name(kind, slot));
    }
    r->n_without_ca += kind && !has_ca;
    to->n = r->n_rows - to->row;
    return 0;
}

int db_receptor(struct bi_receptor *out, const struct bi_env *env, const struct bi_structure *s,
                struct bioinfer_error *err)
{
    struct bi_receptor r = {.arena = {.env = env}};
    struct run *runs = NULL;
    size_t n = 0;
    int st = 0;
    if (s->n_models > 1)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: %d models, expected one", s->name, s->n_models);
    else if (!(runs = bi_calloc(env, s->n_atoms + 1, sizeof *runs)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: %zu atoms", s->name, s->n_atoms);
    if (!st)
        st = find_runs(s, runs, &n, err);
    if (!st && n > BI_MAX_RESIDUES)
        st = bi_fail(err, BIOINFER_LIMIT, "%s: %zu residues, at most %d", s->name, n,
                     BI_MAX_RESIDUES);
    if (!st && (!(r.name = bi_arena_strndup(&r.arena, s->name, strlen(s->name))) ||
                !(r.residues = bi_arena_calloc(&r.arena, n + 1, sizeof *r.residues)) ||
                !(r.x = bi_arena_calloc(&r.arena, s->n_atoms + 1, sizeof *r.x)) ||
                !(r.code = bi_arena_calloc(&r.arena, s->n_atoms + 1, sizeof *r.code))))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: %zu residues", s->name, n);
    for (size_t i = 0, end; !st && i < n; i = end) {
        for (end = i; end < n && runs[end].residue == runs[i].residue; end++)
            ;
        st = add_residue(&r, s, runs + i, end - i, err);
    }
    if (!st && !r.n_rows)
        st = bi_fail(err, BIOINFER_EMPTY, "%s: no atom of a residue with a standard name", s->name);
    bi_free(env, runs);
    if (st)
        bi_arena_reset(&r.arena);
    *out = r;
    return st;
}

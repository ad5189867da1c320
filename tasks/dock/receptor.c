/* receptor.c - a protein as DiffDock's networks see it: residues by their CA, and their atoms. */
#include <math.h>
#include <string.h>

#include "dock.h"

enum { MOST_ATOMS = 1000 }; /* a residue's, hydrogens and alternates too */
enum { SLOTS = 14, MISC_TYPE = 37, MISC_ELEMENT = 118, MISC_TYPE_2 = 22, MISC_TYPE_3 = 37 };

static const double farthest = 1e4; /* angstrom */

/* ---- tables ---- */

/* Types of residues in the order of the network's table; the last one, misc, has no name. */
static const char *const types[BI_DOCK_RESIDUE_TYPES - 1] = {
    "ALA", "ARG", "ASN", "ASP", "CYS", "GLN", "GLU", "GLY", "HIS", "ILE", "LEU", "LYS", "MET",
    "PHE", "PRO", "SER", "THR", "TRP", "TYR", "VAL", "HIP", "HIE", "TPO", "HID", "LEV", "MEU",
    "PTR", "GLV", "CYT", "SEP", "HIZ", "CYM", "GLM", "ASQ", "TYS", "CYX", "GLZ"};
static const char letters_of_types[] = "ARNDCQEGHILKMFPSTWYV";

/* Residues that are read as another one, whose atoms they have but for hydrogens and Se. */
static const char *const parents[][2] = {{"HID", "HIS"}, {"HIE", "HIS"}, {"HIP", "HIS"},
                                         {"HSD", "HIS"}, {"HSE", "HIS"}, {"HSP", "HIS"},
                                         {"CYX", "CYS"}, {"MSE", "MET"}};
/* Modified residues that V11 gives the type of another one, and of whose atoms it takes four. */
static const char *const modified[][2] = {{"CME", "CYS"}, {"CSB", "CYS"}, {"CSO", "CYS"},
                                          {"MEN", "ASN"}, {"PHD", "ASP"}, {"PTR", "TYR"},
                                          {"SEP", "SER"}, {"TPO", "THR"}};
/* Letters of V10 of residues whose type is misc. */
static const char *const letters[][2] = {{"PYL", "O"}, {"SEC", "U"}, {"ASX", "B"},
                                         {"GLX", "Z"}, {"XAA", "X"}, {"XLE", "J"}};

/* Atoms after N, CA, C and O, for the 20 residues in the order of the types. */
static const char *const atoms_of[20][SLOTS - 4] = {
    {"CB"},
    {"CB", "CG", "CD", "NE", "CZ", "NH1", "NH2"},
    {"CB", "CG", "OD1", "ND2"},
    {"CB", "CG", "OD1", "OD2"},
    {"CB", "SG"},
    {"CB", "CG", "CD", "OE1", "NE2"},
    {"CB", "CG", "CD", "OE1", "OE2"},
    {NULL},
    {"CB", "CG", "ND1", "CD2", "CE1", "NE2"},
    {"CB", "CG1", "CG2", "CD1"},
    {"CB", "CG", "CD1", "CD2"},
    {"CB", "CG", "CD", "CE", "NZ"},
    {"CB", "CG", "SD", "CE"},
    {"CB", "CG", "CD1", "CD2", "CE1", "CE2", "CZ"},
    {"CB", "CG", "CD"},
    {"CB", "OG"},
    {"CB", "OG1", "CG2"},
    {"CB", "CG", "CD1", "CD2", "CE2", "CE3", "NE1", "CZ2", "CZ3", "CH2"},
    {"CB", "CG", "CD1", "CD2", "CE1", "CE2", "CZ", "OH"},
    {"CB", "CG1", "CG2"}};
static const char *const backbone[] = {"N", "CA", "C", "O"};

static const char *const types_2[MISC_TYPE_2] = {"C*", "CA", "CB", "CD", "CE", "CG", "CH", "CZ",
                                                 "N*", "ND", "NE", "NH", "NZ", "O*", "OD", "OE",
                                                 "OG", "OH", "OX", "S*", "SD", "SG"};
static const char *const types_3[MISC_TYPE_3] = {
    "C",   "CA",  "CB",  "CD",  "CD1", "CD2", "CE",  "CE1", "CE2", "CE3", "CG",  "CG1", "CG2",
    "CH2", "CZ",  "CZ2", "CZ3", "N",   "ND1", "ND2", "NE",  "NE1", "NE2", "NH1", "NH2", "NZ",
    "O",   "OD1", "OD2", "OE1", "OE2", "OG",  "OG1", "OH",  "OXT", "SD",  "SG"};

/* The place of a word in a table of n, or n. */
static int32_t find(const char *word, const char *const *table, int32_t n)
{
    int32_t i = 0;
    while (i < n && strcmp(word, table[i]) != 0)
        i++;
    return i;
}

static const char *partner(const char *name, const char *const (*pairs)[2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, pairs[i][0]))
            return pairs[i][1];
    return NULL;
}

/* ---- residues of the file ---- */

/* Atoms [first, end) of the structure, which are one residue's. */
struct group {
    const struct bi_atom *ca;
    size_t first, end;
    int32_t chain; /* in the order in which chains begin */
    int32_t type;
    bool by_table; /* V11: all atoms of its type; else the backbone's */
    char letter, alternate;
};

struct build {
    const struct bi_structure *s;
    enum bi_dock_release release;
    struct bi_arena arena; /* the receptor does not keep it */
    struct group *groups;
    size_t *chains; /* the atom that each begins with */
    int32_t n, n_chains;
};

static bool same_place(const struct bi_atom *a, const struct bi_atom *b)
{
    return a->model == b->model && a->number == b->number && a->icode == b->icode &&
           !strcmp(a->chain, b->chain);
}

/* V11's alternate location of a residue: A, else 1, else its first one; ' ': none. */
static char alternate_of(const struct build *b, const struct group *g)
{
    char found = ' ';
    for (size_t k = g->first; k < g->end && found != 'A'; k++) {
        const char at = b->s->atoms[k].altloc;
        if (at == 'A' || (at != ' ' && (found == ' ' || at == '1')))
            found = at;
    }
    return found;
}

/* The atom of that name that the rules take; NULL: there is none. */
static const struct bi_atom *atom_of(const struct build *b, const struct group *g, const char *name)
{
    const struct bi_atom *found = NULL;
    for (size_t k = g->first; k < g->end; k++) {
        const struct bi_atom *a = &b->s->atoms[k];
        if (strcmp(a->name, name) != 0)
            continue;
        if (b->release == BI_DOCK_V10 ? !found || a->occupancy > found->occupancy
                                      : !found && (a->altloc == ' ' || a->altloc == g->alternate))
            found = a;
    }
    return found;
}

/* Type, letter and whether a table names the atoms, by the residue's name. */
static void name_group(const struct build *b, struct group *g, const char *name,
                       struct bi_dock_receptor *out)
{
    const char *parent = partner(name, parents, BI_COUNT(parents)), *as;
    out->n_mapped += parent != NULL;
    name = parent ? parent : name;
    g->by_table = true;
    if (b->release == BI_DOCK_V11 && (as = partner(name, modified, BI_COUNT(modified)))) {
        g->by_table = false;
        name = as;
    }
    g->type = find(name, types, b->release == BI_DOCK_V10 ? MISC_TYPE : 20);
    if (b->release == BI_DOCK_V11 && g->type == 20)
        g->type = MISC_TYPE;
    as = partner(name, letters, BI_COUNT(letters));
    g->letter = g->type < 20                ? letters_of_types[g->type]
                : b->release == BI_DOCK_V11 ? 'G'
                : as                        ? *as
                                            : '-';
    g->by_table = g->by_table && g->type < 20;
    out->n_misc += g->type == MISC_TYPE;
}

/* The number of the chain, or of a new one. */
static int32_t chain_of(struct build *b, size_t atom)
{
    for (int32_t k = b->n_chains; k > 0; k--)
        if (!strcmp(b->s->atoms[b->chains[k - 1]].chain, b->s->atoms[atom].chain))
            return k - 1;
    b->chains[b->n_chains] = atom;
    return b->n_chains++;
}

static int check_position(const struct build *b, const struct bi_atom *a,
                          struct bioinfer_error *err)
{
    int st = bi_atom_check(b->s, a, BI_FAULT_POSITION | BI_FAULT_CHAIN | BI_FAULT_NUMBER, err);
    for (int k = 0; !st && k < 3; k++)
        if (!(fabs((double)a->x[k]) <= farthest))
            st = bi_fail(err, BIOINFER_FORMAT,
                         "%s: atom %s of residue %d lies at %g, beyond %g "
                         "angstrom",
                         b->s->name, a->name, (int)a->number, (double)a->x[k], farthest);
    return st;
}

/* Does the residue take part? */
static bool takes_part(const struct build *b, const struct group *g, struct bi_dock_receptor *out)
{
    const struct bi_atom *first = &b->s->atoms[g->first];
    const bool n_and_c = atom_of(b, g, "N") && atom_of(b, g, "C");
    const bool protein = bi_is_protein(first);
    const bool named = b->release == BI_DOCK_V10 ? strcmp(first->residue, "HOH") != 0 : protein;
    const bool whole = g->ca && (b->release == BI_DOCK_V11 || n_and_c);
    out->n_left_out += !named && !bi_is_water(first) && g->ca && n_and_c;
    out->n_incomplete += named && protein && !whole;
    return named && whole;
}

static int find_groups(struct build *b, struct bi_dock_receptor *out, struct bioinfer_error *err)
{
    const struct bi_structure *s = b->s;
    const struct bi_atom *last = NULL; /* the residue that was taken last */
    for (size_t i = 0, end; i < s->n_atoms && s->atoms[i].model == s->atoms[0].model; i = end) {
        struct group g = {.first = i};
        for (end = i + 1; end < s->n_atoms && same_place(&s->atoms[end], &s->atoms[i]) &&
                          !strcmp(s->atoms[end].residue, s->atoms[i].residue);
             end++)
            ;
        g.end = end;
        if (end - i > MOST_ATOMS)
            return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d atoms of one residue", s->name,
                           MOST_ATOMS);
        g.alternate = alternate_of(b, &g);
        g.ca = atom_of(b, &g, "CA");
        if ((last && same_place(last, &s->atoms[i])) || !takes_part(b, &g, out))
            continue; /* a second residue of one place is an alternate of the first */
        last = &s->atoms[i];
        if (b->n == BI_DOCK_MOST_RESIDUES)
            return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d residues", s->name,
                           BI_DOCK_MOST_RESIDUES);
        g.chain = chain_of(b, i);
        name_group(b, &g, s->atoms[i].residue, out);
        b->groups[b->n++] = g;
    }
    if (!b->n)
        return bi_fail(err, BIOINFER_EMPTY, "%s: no residue of a protein with %s", s->name,
                       b->release == BI_DOCK_V10 ? "N, CA and C" : "a CA");
    if (b->n == 1)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: a single residue, two or more are wanted",
                       s->name);
    return 0;
}

/* ---- atoms ---- */

/* The atomic number less 1 that the network's table has, by the element's column or, where it is
 * blank, by the first letter of the name. */
static int32_t element_of(const struct bi_atom *a, bool by_name)
{
    const char *name = a->name;
    uint8_t z;
    while (*name >= '0' && *name <= '9')
        name++;
    if (by_name || !*a->element)
        z = bi_element_find(name, *name != '\0');
    else if (!strcmp(a->element, "CD") || !strcmp(a->element, "Cd"))
        z = 6; /* a carbon called CD, in files whose columns are shifted */
    else
        z = !strcmp(a->element, "D") ? 1 : bi_element_find(a->element, strlen(a->element));
    return z ? z - 1 : MISC_ELEMENT;
}

static int add_atom(struct bi_dock_receptor *out, const struct build *b, const struct group *g,
                    const struct bi_atom *a, int32_t residue, struct bioinfer_error *err)
{
    int32_t *code = out->features[out->n_atoms];
    const bool misc = b->release == BI_DOCK_V11 && g->type == MISC_TYPE;
    char two[3] = {a->name[0], a->name[0] && a->name[1] ? a->name[1] : '*', 0};
    int st = check_position(b, a, err);
    if (st)
        return st;
    code[0] = g->type;
    code[1] = misc ? MISC_ELEMENT : element_of(a, b->release == BI_DOCK_V11);
    code[2] = misc ? MISC_TYPE_2 : find(two, types_2, MISC_TYPE_2);
    code[3] = misc ? MISC_TYPE_3 : find(a->name, types_3, MISC_TYPE_3);
    for (int k = 0; k < 3; k++)
        out->atoms[out->n_atoms][k] = (double)a->x[k] - out->centre[k];
    out->residue[out->n_atoms++] = residue;
    return 0;
}

static int add_atoms(struct bi_dock_receptor *out, const struct build *b, const struct group *g,
                     int32_t residue, struct bioinfer_error *err)
{
    int st = 0;
    if (b->release == BI_DOCK_V10) {
        for (size_t k = g->first; !st && k < g->end; k++) {
            const struct bi_atom *a = &b->s->atoms[k];
            if (a == atom_of(b, g, a->name) && element_of(a, false) != 0)
                st = add_atom(out, b, g, a, residue, err);
        }
        return st;
    }
    for (int slot = 0; !st && slot < (g->by_table ? SLOTS : 4); slot++) {
        const char *name = slot < 4 ? backbone[slot] : atoms_of[g->type][slot - 4];
        const struct bi_atom *a = name ? atom_of(b, g, name) : NULL;
        if (a)
            st = add_atom(out, b, g, a, residue, err);
    }
    return st;
}

/* ---- the receptor ---- */

static int allocate(struct bi_dock_receptor *out, const struct build *b, struct bioinfer_error *err)
{
    struct bi_arena *arena = &out->arena;
    const size_t n = (size_t)b->n;
    size_t n_atoms = 0;
    for (int32_t i = 0; i < b->n; i++)
        n_atoms += b->groups[i].end - b->groups[i].first;
    if (!(out->ca = bi_arena_calloc(arena, n, sizeof *out->ca)) ||
        !(out->type = bi_arena_calloc(arena, n, sizeof *out->type)) ||
        !(out->letters = bi_arena_calloc(arena, n + 1, 1)) ||
        !(out->chain_start = bi_arena_calloc(arena, (size_t)b->n_chains + 1,
                                             sizeof *out->chain_start)) ||
        !(out->atoms = bi_arena_calloc(arena, n_atoms, sizeof *out->atoms)) ||
        !(out->features = bi_arena_calloc(arena, n_atoms, sizeof *out->features)) ||
        !(out->residue = bi_arena_calloc(arena, n_atoms, sizeof *out->residue)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %zu residues", b->s->name, n);
    return 0;
}

/* Sums in float64 over the groups, in the order of the file. */
static int find_centre(struct bi_dock_receptor *out, const struct build *b,
                       struct bioinfer_error *err)
{
    for (int32_t i = 0; i < b->n; i++) {
        int st = check_position(b, b->groups[i].ca, err);
        if (st)
            return st;
        for (int k = 0; k < 3; k++)
            out->centre[k] += (double)b->groups[i].ca->x[k] / b->n;
    }
    return 0;
}

static int fill(struct bi_dock_receptor *out, const struct build *b, struct bioinfer_error *err)
{
    double square = 0;
    int st = find_centre(out, b, err);
    out->n_chains = b->n_chains;
    for (int32_t chain = 0; !st && chain < b->n_chains; chain++) {
        out->chain_start[chain] = out->n;
        for (int32_t i = 0; !st && i < b->n; i++) {
            const struct group *g = &b->groups[i];
            if (g->chain != chain)
                continue;
            out->type[out->n] = g->type;
            out->letters[out->n] = g->letter;
            for (int k = 0; k < 3; k++) {
                out->ca[out->n][k] = (double)g->ca->x[k] - out->centre[k];
                square += out->ca[out->n][k] * out->ca[out->n][k];
            }
            st = add_atoms(out, b, g, out->n++, err);
        }
    }
    out->chain_start[out->n_chains] = out->n;
    out->spread = sqrt(square / b->n);
    return st;
}

int bi_dock_receptor_make(struct bi_dock_receptor *out, const struct bi_structure *s,
                          enum bi_dock_release release, struct bioinfer_error *err)
{
    const struct bi_env *env = out->arena.env;
    struct build b = {.s = s, .release = release, .arena.env = env};
    int st = 0;
    out->n_models = s->n_models;
    if (!(b.groups = bi_arena_calloc(&b.arena, BI_DOCK_MOST_RESIDUES, sizeof *b.groups)) ||
        !(b.chains = bi_arena_calloc(&b.arena, BI_DOCK_MOST_RESIDUES, sizeof *b.chains)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: residues", s->name);
    if (!st && !(st = find_groups(&b, out, err)) && !(st = allocate(out, &b, err)))
        st = fill(out, &b, err);
    bi_arena_reset(&b.arena);
    return st;
}

/* ligand_pdb.c - the ligands of a PDB file as one molecule.
 *
 * Atoms that belong to neither protein nor water; alternate locations none, A and 1, as RDKit has
 * it, where each atom has one of these; of several models the first. Bonds are read from CONECT
 * records; one that the lower numbered atom lists twice is double, three times triple. A file says
 * nothing of other orders: then all are single. */
#include <stdlib.h>
#include <string.h>

#include "../structure.h"
#include "molecule.h"

static bool is_record(const struct bi_mol_text *t, const char *name)
{
    return t->length >= strlen(name) && !memcmp(t->line, name, strlen(name));
}

/* The name of a residue or an atom, as bi_is_protein() wants it. */
static void copy_columns(const struct bi_mol_text *t, size_t from, size_t width, char *out)
{
    size_t n;
    const char *text = bi_mol_columns(t, from, width, &n);
    memcpy(out, text, n);
    out[n] = '\0';
}

/* The element's columns, else the first letters of the atom's name. */
static uint8_t element_of(const struct bi_mol_text *t)
{
    size_t n;
    const char *text = bi_mol_columns(t, 76, 2, &n);
    uint8_t z = bi_element_find(text, n);
    if (z || n)
        return z;
    text = bi_mol_columns(t, 12, 2, &n);
    while (n && text[0] >= '0' && text[0] <= '9') {
        text++;
        n--;
    }
    if (n == 2 && (z = bi_element_find(text, 2)) && t->line[12] != ' ')
        return z;
    return bi_element_find(text, n ? 1 : 0);
}

/* "2+", "1-", in either order, 0, or nothing. */
static bool read_charge(const struct bi_mol_text *t, int8_t *out)
{
    size_t n;
    const char *text = bi_mol_columns(t, 78, 2, &n);
    const bool sign_first = n && (text[0] == '+' || text[0] == '-');
    const char digit = n ? text[sign_first] : '0', sign = n < 2 ? '+' : text[!sign_first];
    if (digit < '0' || digit > '8' || (sign != '+' && sign != '-') || (n == 1 && digit != '0'))
        return false;
    *out = (int8_t)(sign == '+' ? digit - '0' : '0' - digit);
    return true;
}

/* Each bond may stand twice, and as often as its order says. */
enum { MAX_CONECT = 6 * BI_MOL_MAX_BONDS };

/* An atom as all its alternates have it. */
struct place {
    char residue[10]; /* chain, number and insertion code, then the residue's name */
    char atom[4];
    bool is_read;
    uint64_t line;
};

struct ligand {
    struct bi_mol_text *t;
    struct place *places; /* all atoms of neither protein nor water */
    size_t n_places, cap_places;
    int *serials; /* the file's numbers of the molecule's atoms */
    size_t cap_serials;
    uint32_t n_conect; /* fields of CONECT records, each of which is compared with all bonds */
    bool ascending;
};

static int add_place(struct bi_molecule *mol, struct ligand *l, bool is_read,
                     struct bioinfer_error *err)
{
    struct place p = {.is_read = is_read, .line = l->t->number};
    if (!bi_grow(mol->env, &l->places, &l->cap_places, l->n_places + 1, sizeof *l->places))
        return bi_mol_fail(l->t, err, BIOINFER_NOMEM, "%zu atoms", l->n_places + 1);
    for (size_t i = 0; i < sizeof p.residue - 3; i++)
        p.residue[i] = l->t->length > 20 + i ? l->t->line[20 + i] : ' ';
    for (size_t i = 0; i < 3; i++)
        p.residue[sizeof p.residue - 3 + i] = l->t->length > 17 + i ? l->t->line[17 + i] : ' ';
    for (size_t i = 0; i < sizeof p.atom; i++)
        p.atom[i] = l->t->length > 12 + i ? l->t->line[12 + i] : ' ';
    l->places[l->n_places++] = p;
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    const int by_residue = memcmp(x->residue, y->residue, sizeof x->residue);
    const int by_atom = by_residue ? by_residue : memcmp(x->atom, y->atom, sizeof x->atom);
    return by_atom ? by_atom : (x->line > y->line) - (x->line < y->line);
}

/* Fails where an atom is left out at all its alternates: one of a residue of which others are read,
 * or of a residue whose place in the chain has no other name that is read. */
static int check_places(struct ligand *l, struct bioinfer_error *err)
{
    const size_t in_chain = sizeof l->places->residue - 3;
    const struct place *const p = l->places;
    if (l->n_places)
        qsort(l->places, l->n_places, sizeof *l->places, compare_places);
    for (size_t i = 0, end; i < l->n_places; i = end) {
        bool reads_chain = false;
        for (end = i; end < l->n_places && !memcmp(p[i].residue, p[end].residue, in_chain); end++)
            reads_chain |= p[end].is_read;
        for (size_t k = i, last; k < end; k = last) { /* residues of one name */
            bool reads_residue = false;
            for (last = k; last < end && !memcmp(p[k].residue, p[last].residue, sizeof p->residue);)
                reads_residue |= p[last++].is_read;
            for (size_t a = k, next; a < last; a = next) { /* the places of one atom */
                bool reads = false;
                for (next = a; next < last && !memcmp(p[a].atom, p[next].atom, sizeof p->atom);)
                    reads |= p[next++].is_read;
                if (reads || (!reads_residue && reads_chain))
                    continue;
                l->t->number = p[a].line;
                return bi_mol_fail(l->t, err, BIOINFER_FORMAT,
                                   "atom '%.4s' has no alternate location that is read: expected "
                                   "none, A or 1 in column 17",
                                   p[a].atom);
            }
        }
    }
    return 0;
}

static int read_atom(struct bi_molecule *mol, struct ligand *l, struct bioinfer_error *err)
{
    struct bi_mol_atom atom = {0};
    struct bi_atom named = {.altloc = l->t->length > 16 ? l->t->line[16] : ' '};
    size_t n;
    const char *word;
    const bool is_read = named.altloc == ' ' || named.altloc == 'A' || named.altloc == '1';
    int serial, st;
    copy_columns(l->t, 17, 3, named.residue);
    if (bi_is_protein(&named) || bi_is_water(&named))
        return 0;
    if ((st = add_place(mol, l, is_read, err)))
        return st;
    if (!is_read) {
        mol->notes |= BI_MOL_NOTE_ALTERNATES;
        return 0;
    }
    for (size_t i = 0; i < 3; i++) {
        word = bi_mol_columns(l->t, 30 + 8 * i, 8, &n);
        if (!bi_mol_coordinate(word, n, &atom.x[i]))
            return bi_mol_fail(l->t, err, BIOINFER_FORMAT,
                               "coordinate '%.*s', expected a number below 10^6", (int)n, word);
    }
    if (!(atom.element = element_of(l->t)))
        return bi_mol_fail(l->t, err, BIOINFER_FORMAT,
                           "an atom without an element in columns 77 "
                           "to 78 or in its name");
    if (!read_charge(l->t, &atom.charge)) {
        word = bi_mol_columns(l->t, 78, 2, &n);
        return bi_mol_fail(l->t, err, BIOINFER_FORMAT,
                           "charge '%.*s' in columns 79 to 80, expected as in 1+", (int)n, word);
    }
    word = bi_mol_columns(l->t, 6, 5, &n);
    if (!bi_mol_int(word, n, &serial))
        serial = -1; /* no CONECT record can name it */
    if ((st = bi_mol_add_atom(mol, &atom, l->t, err)))
        return st;
    if (!bi_grow(mol->env, &l->serials, &l->cap_serials, mol->n_atoms, sizeof *l->serials))
        return bi_mol_fail(l->t, err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
    l->serials[mol->n_atoms - 1] = serial;
    if (mol->n_atoms > 1 && l->serials[mol->n_atoms - 2] >= serial)
        l->ascending = false;
    if (mol->n_atoms == 1)
        memcpy(mol->name, named.residue, sizeof named.residue);
    return 0;
}

static bool find_atom(const struct bi_molecule *mol, const struct ligand *l, int serial,
                      uint32_t *out)
{
    uint32_t low = 0, high = mol->n_atoms;
    if (!l->ascending) {
        while (low < high && l->serials[low] != serial)
            low++;
        high = low;
    }
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (l->serials[middle] < serial)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low;
    return low < mol->n_atoms && l->serials[low] == serial;
}

static int read_bonds(struct bi_molecule *mol, struct ligand *l, struct bioinfer_error *err)
{
    uint32_t ends[2];
    size_t n;
    int serial, st = 0;
    const char *word = bi_mol_columns(l->t, 6, 5, &n);
    if (!bi_mol_int(word, n, &serial) || !find_atom(mol, l, serial, &ends[0]))
        return 0; /* an atom that is left out */
    for (size_t k = 0; !st && k < 4; k++) {
        struct bi_mol_bond bond = {.a = ends[0], .order = 1};
        uint32_t at = 0;
        word = bi_mol_columns(l->t, 11 + 5 * k, 5, &n);
        if (!bi_mol_int(word, n, &serial) || !find_atom(mol, l, serial, &ends[1]))
            continue;
        if (++l->n_conect > MAX_CONECT)
            return bi_mol_fail(l->t, err, BIOINFER_LIMIT, "more than %d bonds in CONECT records",
                               MAX_CONECT);
        bond.b = ends[1];
        while (at < mol->n_bonds && !(mol->bonds[at].a == bond.a && mol->bonds[at].b == bond.b) &&
               !(mol->bonds[at].a == bond.b && mol->bonds[at].b == bond.a))
            at++;
        if (at == mol->n_bonds)
            st = bi_mol_add_bond(mol, &bond, l->t, err);
        else if (mol->bonds[at].a == bond.a && mol->bonds[at].order < 3)
            mol->bonds[at].order++;
    }
    return st;
}

int bi_ligand_pdb_read(struct bi_molecule *mol, struct bi_mol_text *t, struct bioinfer_error *err)
{
    struct ligand l = {.t = t, .ascending = true};
    bool first_model = true;
    int st = 0;
    mol->format = "PDB";
    while (!st && bi_mol_next_line(t)) {
        if (is_record(t, "ENDMDL"))
            first_model = false;
        else if (is_record(t, "ATOM  ") || is_record(t, "HETATM")) {
            if (first_model)
                st = read_atom(mol, &l, err);
            else
                mol->notes |= BI_MOL_NOTE_MODELS;
        } else if (is_record(t, "CONECT"))
            st = read_bonds(mol, &l, err);
    }
    if (!st && mol->notes & BI_MOL_NOTE_ALTERNATES)
        st = check_places(&l, err);
    if (!st && !mol->n_atoms)
        st = bi_mol_fail(t, err, BIOINFER_EMPTY, "no atom that is neither protein nor water");
    if (!st && mol->n_atoms > 1 && !mol->n_bonds)
        st = bi_mol_fail(t, err, BIOINFER_FORMAT,
                         "%u atoms without a CONECT record: their bonds "
                         "are not known; an SDF file says them",
                         mol->n_atoms);
    if (!st && !(st = bi_mol_connect(mol, t, err)))
        for (uint32_t i = 0; i < mol->n_atoms; i++) /* as RDKit reads it */
            if (mol->atoms[i].element == 7 && !mol->atoms[i].charge && bi_mol_bond_sum(mol, i) == 4)
                mol->atoms[i].charge = 1;
    bi_free(mol->env, l.serials);
    bi_free(mol->env, l.places);
    return st;
}

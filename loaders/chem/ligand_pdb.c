/* ligand_pdb.c - the ligands of a PDB file as one molecule.
 *
 * Atoms that belong to neither protein nor water; of several places of an atom the first or A; of
 * several models the first. Bonds are those of CONECT records; one that the lower numbered atom
 * lists twice is double, three times triple. A file says nothing of other orders: then all are
 * single. */
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

/* "2+", "1-", or nothing. */
static int8_t charge_of(const struct bi_mol_text *t)
{
    size_t n;
    const char *text = bi_mol_columns(t, 78, 2, &n);
    if (n != 2 || text[0] < '1' || text[0] > '8' || (text[1] != '+' && text[1] != '-'))
        return 0;
    return (int8_t)(text[1] == '+' ? text[0] - '0' : '0' - text[0]);
}

/* Each bond may stand twice, and as often as its order says. */
enum { MAX_CONECT = 6 * BI_MOL_MAX_BONDS };

struct ligand {
    struct bi_mol_text *t;
    int *serials; /* the file's numbers of the molecule's atoms */
    size_t cap_serials;
    uint32_t n_conect; /* fields of CONECT records, each of which is compared with all bonds */
    bool ascending;
};

static int read_atom(struct bi_molecule *mol, struct ligand *l, struct bioinfer_error *err)
{
    struct bi_mol_atom atom = {.charge = charge_of(l->t)};
    struct bi_atom named = {.altloc = l->t->length > 16 ? l->t->line[16] : ' '};
    size_t n;
    const char *word;
    int serial, st;
    copy_columns(l->t, 17, 3, named.residue);
    if (bi_is_protein(&named) || bi_is_water(&named) ||
        (named.altloc != ' ' && named.altloc != 'A' && named.altloc != '1'))
        return 0;
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
        else if (first_model && (is_record(t, "ATOM  ") || is_record(t, "HETATM")))
            st = read_atom(mol, &l, err);
        else if (is_record(t, "CONECT"))
            st = read_bonds(mol, &l, err);
    }
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
    return st;
}

/* ligand.c - Protenix: a ligand that a file gives, as a chemical component (ligand.h). */
#include <stdio.h>
#include <string.h>

#include "../../loaders/chem/molecule.h"
#include "ligand.h"

enum { HYDROGEN = 1, MOST = 99 };

/* Sets the name of an atom: its element in capitals, and how many of it there are so far. */
static bool name_atom(struct bi_component_atom *a, const struct bi_mol_atom *from, int32_t *counts)
{
    const char *symbol = bi_element(from->element)->symbol;
    char name[16];
    const int n = snprintf(name, sizeof name, "%s%d", symbol, ++counts[from->element]);
    if (n >= (int)sizeof a->name)
        return false;
    for (int i = 0; i <= n; i++)
        a->name[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    return true;
}

static int convert(struct bi_component *to, const struct bi_env *env, const struct bi_molecule *mol,
                   const char *path, struct bioinfer_error *err)
{
    int32_t counts[256] = {0};
    int32_t *where = bi_calloc(env, (size_t)mol->n_atoms + 1, sizeof *where);
    int st = 0;
    if (!where ||
        !bi_grow(env, &to->atoms, &to->cap_atoms, (size_t)mol->n_atoms + 1, sizeof *to->atoms) ||
        !bi_grow(env, &to->bonds, &to->cap_bonds, (size_t)mol->n_bonds + 1, sizeof *to->bonds)) {
        bi_free(env, where);
        return bi_fail(err, BIOINFER_NOMEM, "%s: %u atoms", path, mol->n_atoms);
    }
    for (uint32_t i = 0; !st && i < mol->n_atoms; i++) {
        const struct bi_mol_atom *from = &mol->atoms[i];
        struct bi_component_atom *a = &to->atoms[to->n_atoms];
        where[i] = from->element == HYDROGEN ? -1 : to->n_atoms;
        *a = (struct bi_component_atom){
            .element = from->element, .charge = from->charge, .placed = true};
        memcpy(a->x, from->x, sizeof a->x);
        if (!name_atom(a, from, counts))
            st = bi_fail(err, BIOINFER_LIMIT, "%s: more atoms of %s than names of four letters",
                         path, bi_element(from->element)->symbol);
        to->n_atoms += where[i] >= 0;
    }
    for (uint32_t i = 0; !st && i < mol->n_bonds; i++) {
        const struct bi_mol_bond *from = &mol->bonds[i];
        if (where[from->a] >= 0 && where[from->b] >= 0)
            to->bonds[to->n_bonds++] = (struct bi_component_bond){where[from->a], where[from->b],
                                                                  from->order};
    }
    if (!st && !to->n_atoms)
        st = bi_fail(err, BIOINFER_EMPTY, "%s: no atoms but hydrogens", path);
    if (!st && to->n_atoms > BI_COMPONENT_ATOMS)
        st = bi_fail(err, BIOINFER_LIMIT, "%s: %d atoms, expected at most %d", path, to->n_atoms,
                     BI_COMPONENT_ATOMS);
    bi_free(env, where);
    return st;
}

int protenix_ligand_read(struct bi_component *to, const struct bi_env *env, const char *path,
                         int32_t number, struct bioinfer_error *err)
{
    struct bi_molecule mol = {.env = env}, more = {.env = env};
    struct bi_molecules *m = NULL;
    int st;
    if (number < 1 || number > MOST)
        return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d ligands from files", path, MOST);
    to->kind = BI_COMPONENT_OTHER;
    to->letter = '?';
    snprintf(to->code, sizeof to->code, "l%02d", number);
    if ((st = bi_molecules_open(&m, env, path, err)))
        return st;
    st = bi_molecules_next(m, &mol, err);
    if (!st)
        st = bi_fail(err, BIOINFER_EMPTY, "%s: no molecule", path);
    else if (st > 0 && mol.status)
        st = bi_fail(err, mol.status, "%s", mol.message);
    else if (st > 0 && !mol.has_3d)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: expected places in three dimensions", path);
    else if (st > 0 && (st = bi_molecules_next(m, &more, err)) > 0)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: several molecules, expected one", path);
    if (!st)
        st = convert(to, env, &mol, path, err);
    bi_molecule_free(&mol);
    bi_molecule_free(&more);
    bi_molecules_close(&m);
    return st;
}

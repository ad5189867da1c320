/* hydrogens.c - hydrogens that a file spells out become counts on the atoms they are bonded to. */
#include "molecule.h"

/* Is the hydrogen, which is bonded to atom i, what tells E from Z? So it is in R2C=N-H, where no
 * other neighbour of the nitrogen could. */
static bool tells_stereo(const struct bi_molecule *mol, uint32_t i, uint32_t hydrogen)
{
    const struct bi_mol_near *near = mol->near + mol->start[i];
    const struct bi_mol_near other = near[near[0].atom == hydrogen];
    const struct bi_mol_bond *b = &mol->bonds[other.bond];
    if (bi_mol_degree(mol, i) != 2 || b->order != 2 || b->either)
        return false;
    for (uint32_t k = mol->start[other.atom]; k < mol->start[other.atom + 1]; k++)
        if (mol->bonds[mol->near[k].bond].order == 1)
            return true;
    return false;
}

/* Does the hydrogen become a count? One that bridges, stands alone, is an isotope or tells E from Z
 * says more than a count, so it stays; so does one whose neighbour is a hydrogen. */
static bool is_removed(const struct bi_molecule *mol, uint32_t i)
{
    const struct bi_mol_atom *h = &mol->atoms[i];
    struct bi_mol_near near;
    if (h->element != 1 || h->isotope || bi_mol_degree(mol, i) != 1)
        return false;
    near = mol->near[mol->start[i]];
    return mol->bonds[near.bond].order == 1 && mol->atoms[near.atom].element != 1 &&
           !tells_stereo(mol, near.atom, i);
}

int bi_mol_remove_hydrogens(struct bi_molecule *mol, const struct bi_mol_text *text,
                            struct bioinfer_error *err)
{
    uint32_t n = 0, n_bonds = 0;
    uint32_t *place = bi_calloc(mol->env, mol->n_atoms + 1, sizeof *place);
    if (!place)
        return bi_mol_fail(text, err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        if (is_removed(mol, i)) {
            place[i] = UINT32_MAX;
            mol->atoms[mol->near[mol->start[i]].atom].n_h++;
        } else
            place[i] = n++;
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        if (place[i] != UINT32_MAX)
            mol->atoms[place[i]] = mol->atoms[i];
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        struct bi_mol_bond b = mol->bonds[k];
        if (place[b.a] == UINT32_MAX || place[b.b] == UINT32_MAX)
            continue;
        b.a = place[b.a];
        b.b = place[b.b];
        mol->bonds[n_bonds++] = b;
    }
    mol->n_removed = mol->n_atoms - n;
    mol->n_atoms = n;
    mol->n_bonds = n_bonds;
    bi_free(mol->env, place);
    return bi_mol_connect(mol, text, err);
}

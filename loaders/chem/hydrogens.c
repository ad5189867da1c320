/* hydrogens.c - hydrogens that a file spells out become counts on the atoms they are bonded to. */
#include "molecule.h"

/* Does the hydrogen become a count? One that bridges, stands alone, is an isotope or carries a
 * charge of +1 says more than a count, so it stays; so does one whose neighbour is a hydrogen. */
static bool is_removed(const struct bi_molecule *mol, uint32_t i)
{
    const struct bi_mol_atom *h = &mol->atoms[i];
    return h->element == 1 && !h->isotope && h->charge <= 0 && bi_mol_degree(mol, i) == 1 &&
           mol->bonds[mol->near[mol->start[i]].bond].order == 1 &&
           mol->atoms[mol->near[mol->start[i]].atom].element != 1;
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

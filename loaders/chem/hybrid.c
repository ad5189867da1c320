/* hybrid.c - conjugation and hybridisation, by RDKit's rules as far as it documents them, and the
 * steps of perception in their order. */
#include "molecule.h"

/* ---- conjugation ---- */

static int bonded(const struct bi_molecule *mol, uint32_t i)
{
    return (int)bi_mol_degree(mol, i) + mol->atoms[i].n_h;
}

static bool may_conjugate(const struct bi_molecule *mol, uint32_t i)
{
    const struct bi_mol_atom *atom = &mol->atoms[i];
    const struct bi_element *e = bi_element(atom->element);
    const int sum = bi_mol_bond_sum(mol, i) + atom->n_h;
    if (!atom->charge && sum > e->valences[0])
        return false;
    if (atom->element > 10 && (e->outer == 5 || (e->outer == 6 && bonded(mol, i) >= 2)))
        return false;
    return bi_mol_pi_electrons(mol, i) > 0;
}

static bool is_multiple(const struct bi_mol_bond *b)
{
    return b->aromatic || b->order == 2 || b->order == 3;
}

/* A multiple bond of an atom makes itself and the atom's other bonds conjugated, where the atoms at
 * all ends can take part. */
static void conjugate_at(struct bi_molecule *mol, uint32_t i)
{
    if (!may_conjugate(mol, i) || bonded(mol, i) < 2 || bonded(mol, i) > 3)
        return;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        struct bi_mol_bond *first = &mol->bonds[mol->near[k].bond];
        if (!is_multiple(first) || !may_conjugate(mol, mol->near[k].atom))
            continue;
        for (uint32_t l = mol->start[i]; l < mol->start[i + 1]; l++) {
            const uint32_t other = mol->near[l].atom;
            if (l != k && bonded(mol, other) <= 3 && may_conjugate(mol, other))
                first->conjugated = mol->bonds[mol->near[l].bond].conjugated = true;
        }
    }
}

void bi_mol_find_conjugated(struct bi_molecule *mol)
{
    for (uint32_t k = 0; k < mol->n_bonds; k++)
        mol->bonds[k].conjugated = mol->bonds[k].aromatic;
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        conjugate_at(mol, i);
}

/* ---- hybridisation ---- */

/* Orbitals that hold a neighbour, a pair of electrons or an unpaired one. */
static int n_orbitals(const struct bi_molecule *mol, uint32_t i)
{
    const struct bi_mol_atom *atom = &mol->atoms[i];
    const int outer = bi_element(atom->element)->outer;
    const int sum = bi_mol_bond_sum(mol, i) + atom->n_h;
    const int left = outer - (sum + atom->charge);
    if (atom->element <= 1)
        return bi_mol_bonded(mol, i);
    if (sum + outer - atom->charge < 8)
        return bi_mol_bonded(mol, i) + (left - atom->n_radicals) / 2 + atom->n_radicals;
    return bi_mol_bonded(mol, i) + left / 2;
}

static uint8_t hybrid_of(const struct bi_molecule *mol, uint32_t i)
{
    const int z = mol->atoms[i].element;
    /* neighbours alone decide for the heaviest elements, and for metals with four to six of
     * them in space */
    const bool by_neighbours = z >= 89 || (mol->has_3d && bi_is_metal((uint32_t)z) &&
                                           bonded(mol, i) >= 4 && bonded(mol, i) <= 6);
    const int n = by_neighbours ? bonded(mol, i) : n_orbitals(mol, i);
    bool conjugated = false;
    if (n == 4 && bonded(mol, i) <= 3)
        for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
            conjugated = conjugated || mol->bonds[mol->near[k].bond].conjugated;
    switch (n) {
    case 2:
        return BI_HYBRID_SP;
    case 3:
        return BI_HYBRID_SP2;
    case 4:
        return conjugated ? BI_HYBRID_SP2 : BI_HYBRID_SP3;
    case 5:
        return BI_HYBRID_SP3D;
    case 6:
        return BI_HYBRID_SP3D2;
    }
    return n <= 1 ? BI_HYBRID_S : BI_HYBRID_UNKNOWN;
}

void bi_mol_find_hybrids(struct bi_molecule *mol)
{
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        mol->atoms[i].hybrid = hybrid_of(mol, i);
}

/* ---- all steps ---- */

int bi_mol_perceive(struct bi_molecule *mol, const struct bi_mol_text *text,
                    struct bioinfer_error *err)
{
    int st = bi_mol_kekulize(mol, text, err);
    if (st)
        return st;
    bi_mol_normalise(mol);
    if ((st = bi_mol_add_hydrogens(mol, text, err)) || (st = bi_mol_find_rings(mol, text, err)) ||
        (st = bi_mol_find_aromatic(mol, text, err)))
        return st;
    bi_mol_find_conjugated(mol);
    bi_mol_find_hybrids(mol);
    return bi_mol_find_stereo(mol, text, err);
}

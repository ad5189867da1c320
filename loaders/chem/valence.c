/* valence.c - charges written in one way, hydrogens that a file leaves out, unpaired electrons.
 *
 * An atom with charge q has the valences of the element q places before it: N+ those of C, O- those
 * of F. Phosphorus, sulphur, arsenic and selenium keep their higher valences when they are
 * negative. */
#include "molecule.h"

int bi_mol_bond_sum(const struct bi_molecule *mol, uint32_t i)
{
    int sum = 0;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
        if (b->order == BI_MOL_ORDER_DATIVE)
            sum += b->b == i;
        else
            sum += b->order;
    }
    return sum;
}

int bi_mol_bonded(const struct bi_molecule *mol, uint32_t i)
{
    int n = mol->atoms[i].n_h;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
        n += b->order && !(b->order == BI_MOL_ORDER_DATIVE && b->a == i);
    }
    return n;
}

/* ---- allowed valences ---- */

static bool keeps_high_valences(int z)
{
    return z == 15 || z == 16 || z == 33 || z == 34;
}

bool bi_mol_valence_ok(const struct bi_mol_atom *atom, int sum, int *n_h)
{
    const struct bi_element *own = bi_element(atom->element), *like = own;
    int shift = 0;
    bool any = own->valences[own->n_valences - 1] < 0;
    *n_h = 0;
    if (any && own->n_valences == 1)
        return true;
    if (keeps_high_valences(atom->element) && atom->charge < 0 &&
        (atom->element - atom->charge) % 18 != 16)
        shift = -atom->charge;
    else if (atom->charge) {
        const int z = atom->element - atom->charge;
        if (z <= 0 || z >= BI_ELEMENTS)
            return true;
        like = bi_element((uint32_t)z);
        any = any || like->valences[like->n_valences - 1] < 0;
    }
    for (int k = 0; k < like->n_valences; k++) {
        const int valence = like->valences[k] - shift;
        if (like->valences[k] >= 0 && valence >= sum && valence >= 0) {
            *n_h = valence - sum;
            return true;
        }
    }
    return any;
}

/* ---- normal forms ---- */

static struct bi_mol_bond *bond_at(const struct bi_molecule *mol, uint32_t k)
{
    return &mol->bonds[mol->near[k].bond];
}

/* A neutral nitrogen of valence 5 gives a bond's electrons to its first doubly bonded oxygen, or
 * to a triply bonded nitrogen. */
static void normalise_nitrogen(struct bi_molecule *mol, uint32_t i)
{
    struct bi_mol_atom *n = &mol->atoms[i];
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        struct bi_mol_atom *other = &mol->atoms[mol->near[k].atom];
        struct bi_mol_bond *b = bond_at(mol, k);
        if (!other->charge &&
            ((other->element == 8 && b->order == 2) || (other->element == 7 && b->order == 3))) {
            b->order--;
            other->charge = -1;
            n->charge = 1;
            return;
        }
    }
}

/* A neutral phosphorus of valence 5 with three neighbours, one =O and one =C or =N, gives the
 * oxygen both electrons of a bond. */
static void normalise_phosphorus(struct bi_molecule *mol, uint32_t i)
{
    struct bi_mol_bond *oxide = NULL;
    uint32_t oxygen = 0;
    bool ylide = false;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const struct bi_mol_atom *other = &mol->atoms[mol->near[k].atom];
        if (bond_at(mol, k)->order != 2)
            continue;
        if (other->element == 8 && !other->charge && !oxide) {
            oxide = bond_at(mol, k);
            oxygen = mol->near[k].atom;
        }
        ylide = ylide || ((other->element == 6 || other->element == 7) &&
                          bi_mol_degree(mol, mol->near[k].atom) >= 2);
    }
    if (!oxide || !ylide)
        return;
    oxide->order = 1;
    mol->atoms[oxygen].charge = -1;
    mol->atoms[i].charge = 1;
}

/* All double bonds of a neutral halogen become charges when its neighbours are all oxygens. */
static void normalise_halogen(struct bi_molecule *mol, uint32_t i)
{
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
        if (mol->atoms[mol->near[k].atom].element != 8)
            return;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        struct bi_mol_atom *oxygen = &mol->atoms[mol->near[k].atom];
        if (bond_at(mol, k)->order == 2 && !oxygen->charge) {
            bond_at(mol, k)->order = 1;
            oxygen->charge = -1;
            mol->atoms[i].charge++;
        }
    }
}

/* An atom whose bonds exceed its valences gives its single bonds to metals both electrons, one
 * bond after the other, until they do not. */
static void make_dative(struct bi_molecule *mol, uint32_t i)
{
    const struct bi_mol_atom *atom = &mol->atoms[i];
    int n_h;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        struct bi_mol_bond *b = bond_at(mol, k);
        if (bi_mol_valence_ok(atom, bi_mol_bond_sum(mol, i) + atom->n_h, &n_h))
            return;
        if (b->order == 1 && bi_is_metal(mol->atoms[mol->near[k].atom].element)) {
            b->order = BI_MOL_ORDER_DATIVE;
            b->a = i;
            b->b = mol->near[k].atom;
        }
    }
}

void bi_mol_normalise(struct bi_molecule *mol)
{
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        const struct bi_mol_atom *atom = &mol->atoms[i];
        const int z = atom->element;
        const int sum = bi_mol_bond_sum(mol, i) + atom->n_h;
        if (z == 7 && !atom->charge && sum == 5)
            normalise_nitrogen(mol, i);
        else if (z == 15 && !atom->charge && sum == 5 && bi_mol_degree(mol, i) == 3 && !atom->n_h)
            normalise_phosphorus(mol, i);
        else if ((z == 17 || z == 35 || z == 53) && !atom->charge &&
                 (sum == 3 || sum == 5 || sum == 7))
            normalise_halogen(mol, i);
    }
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        if (!bi_is_metal(mol->atoms[i].element) && mol->atoms[i].element != 1)
            make_dative(mol, i);
}

/* ---- hydrogens and unpaired electrons ---- */

/* Electrons that are missing to a full shell, or beyond it to the next valence of the element; but
 * no more than the bonds leave of the outer shell. */
static int unpaired(const struct bi_mol_atom *atom, int sum)
{
    const struct bi_element *e = bi_element(atom->element);
    const int left = e->outer - sum - atom->charge;
    int missing = (atom->element <= 2 ? 2 : 8) - e->outer - sum + atom->charge;
    for (int k = 0; missing < 0 && k < e->n_valences; k++)
        missing = e->valences[k] - sum + atom->charge;
    missing = missing > 0 ? missing : 0;
    return left >= 0 && left < missing ? left : missing;
}

int bi_mol_add_hydrogens(struct bi_molecule *mol, const struct bi_mol_text *text,
                         struct bioinfer_error *err)
{
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        struct bi_mol_atom *atom = &mol->atoms[i];
        const int sum = bi_mol_bond_sum(mol, i) + atom->n_h;
        int n_h;
        if (!bi_mol_valence_ok(atom, sum + atom->n_radicals, &n_h) &&
            !bi_mol_valence_ok(atom, sum, &n_h))
            return bi_mol_fail(text, err, BIOINFER_FORMAT,
                               "atom %u (%s, charge %+d) has a valence of "
                               "%d, which is more than it can have",
                               i + 1, bi_element(atom->element)->symbol, atom->charge, sum);
        if (!atom->no_more_h)
            atom->n_h = (uint8_t)(atom->n_h + n_h);
        else if (bi_element(atom->element)->valences[0] >= 0)
            atom->n_radicals = (uint8_t)unpaired(atom, sum);
    }
    return 0;
}

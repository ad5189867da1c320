/* kekulize.c - single and double bonds in place of those that a file calls aromatic. */
#include "molecule.h"

enum { DEAD_ENDS = 5000 }; /* until it is given up; sound molecules have few */

static const uint32_t NONE = UINT32_MAX;

/* Does the atom need one of its aromatic bonds to be double? */
static bool needs_double(const struct bi_molecule *mol, uint32_t i)
{
    const struct bi_mol_atom *atom = &mol->atoms[i];
    int sum = atom->n_h + atom->n_radicals, n_aromatic = 0, n_free;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
        n_aromatic += b->order == BI_MOL_ORDER_AROMATIC;
        sum += b->order == BI_MOL_ORDER_AROMATIC ? 1
               : b->order == BI_MOL_ORDER_DATIVE ? b->b == i
                                                 : b->order;
    }
    if (!n_aromatic || !bi_mol_valence_ok(atom, sum, &n_free) || !n_free)
        return false;
    return atom->element == 6 ? !atom->charge || atom->no_more_h : atom->charge >= 0;
}

/* The unmatched atom that needs a partner and has the fewest to choose from; NONE: all have one. */
static uint32_t next_atom(const struct bi_molecule *mol, const bool *needs, const uint32_t *partner)
{
    uint32_t best = NONE, fewest = NONE;
    for (uint32_t i = 0; i < mol->n_atoms && fewest; i++) {
        uint32_t n = 0;
        if (!needs[i] || partner[i] != NONE)
            continue;
        for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
            const struct bi_mol_near near = mol->near[k];
            n += mol->bonds[near.bond].order == BI_MOL_ORDER_AROMATIC && needs[near.atom] &&
                 partner[near.atom] == NONE;
        }
        if (n < fewest) {
            fewest = n;
            best = i;
        }
    }
    return best;
}

/* Pairs each atom that needs a double bond with a neighbour that does, going back from dead ends.
 * chosen[d] is the atom of step d, at[d] the neighbour it tries next. */
static bool pair_atoms(const struct bi_molecule *mol, const bool *needs, uint32_t *partner,
                       uint32_t *chosen, uint32_t *at)
{
    const uint64_t most = (uint64_t)mol->n_atoms + DEAD_ENDS;
    uint32_t depth = 0;
    chosen[0] = NONE;
    for (uint64_t steps = 0; steps < most; steps++) {
        if (chosen[depth] == NONE) {
            if ((chosen[depth] = next_atom(mol, needs, partner)) == NONE)
                return true;
            at[depth] = mol->start[chosen[depth]];
        }
        const uint32_t i = chosen[depth];
        for (; at[depth] < mol->start[i + 1]; at[depth]++) {
            const struct bi_mol_near near = mol->near[at[depth]];
            if (mol->bonds[near.bond].order == BI_MOL_ORDER_AROMATIC && needs[near.atom] &&
                partner[near.atom] == NONE)
                break;
        }
        if (at[depth] < mol->start[i + 1]) {
            partner[i] = mol->near[at[depth]].atom;
            partner[partner[i]] = i;
            chosen[++depth] = NONE;
            continue;
        }
        if (!depth--)
            return false;
        partner[partner[chosen[depth]]] = NONE;
        partner[chosen[depth]] = NONE;
        at[depth]++;
    }
    return false;
}

static uint32_t first_aromatic(const struct bi_molecule *mol)
{
    for (uint32_t k = 0; k < mol->n_bonds; k++)
        if (mol->bonds[k].order == BI_MOL_ORDER_AROMATIC)
            return k;
    return NONE;
}

int bi_mol_kekulize(struct bi_molecule *mol, const struct bi_mol_text *text,
                    struct bioinfer_error *err)
{
    const size_t n = mol->n_atoms;
    const uint32_t first = first_aromatic(mol);
    uint32_t *partner;
    bool *needs;
    int st = 0;
    if (first == NONE)
        return 0;
    partner = bi_calloc(mol->env, 3 * n + 3, sizeof *partner);
    needs = bi_calloc(mol->env, n + 1, sizeof *needs);
    if (!partner || !needs) {
        st = bi_mol_fail(text, err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
        goto out;
    }
    for (uint32_t i = 0; i < n; i++) {
        partner[i] = NONE;
        needs[i] = needs_double(mol, i);
    }
    if (!pair_atoms(mol, needs, partner, partner + n, partner + 2 * n + 1)) {
        st = bi_mol_fail(text, err, BIOINFER_FORMAT,
                         "the aromatic bonds, the first one of atoms %u and %u, cannot be written "
                         "as single and double ones: is a hydrogen missing?",
                         mol->bonds[first].a + 1, mol->bonds[first].b + 1);
        goto out;
    }
    for (uint32_t k = first; k < mol->n_bonds; k++)
        if (mol->bonds[k].order == BI_MOL_ORDER_AROMATIC)
            mol->bonds[k].order = partner[mol->bonds[k].a] == mol->bonds[k].b ? 2 : 1;
out:
    bi_free(mol->env, needs);
    bi_free(mol->env, partner);
    return st;
}

/* aromatic.c - which atoms and bonds are aromatic.
 *
 * Each atom of a ring gives 0, 1 or 2 electrons, or has no part in aromaticity. A ring, or a few
 * that share bonds, is aromatic when it has 4k + 2 of them. The rules are those that RDKit
 * documents, as rules for counting electrons; docs/molecules.md says how far they agree. */
#include <string.h>

#include "molecule.h"

enum {
    MAX_TOGETHER = 6,     /* rings that are looked at as one */
    MAX_FUSED_SIZE = 24,  /* atoms of a ring that is looked at together with others */
    MAX_SUBSETS = 100000, /* tried for one system of rings */
    NO_PART = -1,
};

struct aromatic {
    struct bi_molecule *mol;
    int8_t *electrons; /* that each atom gives; NO_PART */
    uint32_t *rings;   /* the candidates */
    uint32_t n_rings;
    uint8_t *times;  /* rings of the subset that each atom, and each bond, is in */
    uint32_t *group; /* the first candidate that each one is joined to */
    uint8_t *bonds_times;
    bool *done; /* the bond is known to be aromatic */
    uint32_t n_subsets;
};

static uint32_t ring_size(const struct bi_molecule *mol, uint32_t ring)
{
    return mol->ring_start[ring + 1] - mol->ring_start[ring];
}

/* ---- electrons ---- */

int bi_mol_pi_electrons(const struct bi_molecule *mol, uint32_t i)
{
    const struct bi_mol_atom *atom = &mol->atoms[i];
    const struct bi_element *e = bi_element(atom->element);
    const int valence = e->valences[0];
    const int bonded = bi_mol_bonded(mol, i), degree = bonded - atom->n_h;
    int lone, n;
    if (valence <= 1 || bonded > 3)
        return NO_PART;
    lone = e->outer - valence - atom->charge;
    n = valence - bonded + (lone > 0 ? lone : 0) - atom->n_radicals;
    return n > 1 && bi_mol_bond_sum(mol, i) - degree > 1 ? 1 : n;
}

/* Does the atom at the other end of a double bond take its electrons? */
static bool takes(const struct bi_mol_atom *other, const struct bi_mol_atom *atom)
{
    const uint8_t theirs = bi_element(other->element)->outer;
    const uint8_t ours = bi_element(atom->element)->outer;
    return theirs > ours || (theirs == ours && other->element < atom->element);
}

/* Electrons that an atom gives to a ring. */
static int donated(const struct bi_molecule *mol, uint32_t i)
{
    const struct bi_mol_atom *atom = &mol->atoms[i], *outside = NULL;
    bool in_ring = false; /* a multiple bond */
    int n = bi_mol_pi_electrons(mol, i);
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
        if (b->order < 2 || b->order == BI_MOL_ORDER_DATIVE)
            continue;
        if (b->in_ring)
            in_ring = true;
        else
            outside = &mol->atoms[mol->near[k].atom];
    }
    if (n < 0)
        return NO_PART;
    if (n == 0)
        return outside ? 0 : in_ring ? 1 : NO_PART;
    if (n == 1 && outside)
        return takes(outside, atom) ? 0 : 1;
    if (n == 1)
        return in_ring ? 1 : atom->charge == 1 ? 0 : NO_PART;
    n -= outside && takes(outside, atom);
    return n % 2 ? 1 : 2;
}

/* Elements, valences and bonds that let an atom be aromatic at all. */
static bool may_be_aromatic(const struct bi_molecule *mol, uint32_t i)
{
    const struct bi_mol_atom *atom = &mol->atoms[i];
    const int like = atom->element - atom->charge;
    const int lowest = bi_element(like > 0 ? (uint32_t)like : 0)->valences[0];
    int n_multiple = 0;
    if (!atom->in_ring || (atom->element > 18 && atom->element != 34 && atom->element != 52))
        return false;
    if (lowest > 0 && bi_mol_bond_sum(mol, i) + atom->n_h > lowest)
        return false;
    if (atom->n_radicals && (atom->element != 6 || atom->charge))
        return false;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const uint8_t order = mol->bonds[mol->near[k].bond].order;
        n_multiple += order == 2 || order == 3;
    }
    return n_multiple < 2;
}

/* ---- rings together ---- */

static void count(struct aromatic *a, uint32_t ring, int by)
{
    const struct bi_molecule *mol = a->mol;
    for (uint32_t k = mol->ring_start[ring]; k < mol->ring_start[ring + 1]; k++) {
        a->times[mol->ring_atoms[k]] = (uint8_t)(a->times[mol->ring_atoms[k]] + by);
        a->bonds_times[mol->ring_bonds[k]] = (uint8_t)(a->bonds_times[mol->ring_bonds[k]] + by);
    }
}

/* Do two rings share one bond, and no more? */
static bool are_fused(const struct bi_molecule *mol, uint32_t x, uint32_t y)
{
    uint32_t n = 0;
    if (ring_size(mol, x) > MAX_FUSED_SIZE || ring_size(mol, y) > MAX_FUSED_SIZE)
        return false;
    for (uint32_t k = mol->ring_start[x]; k < mol->ring_start[x + 1]; k++)
        for (uint32_t l = mol->ring_start[y]; l < mol->ring_start[y + 1]; l++)
            n += mol->ring_bonds[k] == mol->ring_bonds[l];
    return n == 1;
}

/* Are the rings one piece? */
static bool are_connected(const struct aromatic *a, const uint32_t *members, uint32_t n)
{
    uint32_t reached = 1, before = 0; /* bits */
    while (reached != before) {
        before = reached;
        for (uint32_t x = 0; x < n; x++)
            for (uint32_t y = 0; y < n; y++)
                if (before >> x & 1 && !(reached >> y & 1) &&
                    are_fused(a->mol, a->rings[members[x]], a->rings[members[y]]))
                    reached |= (uint32_t)1 << y;
    }
    return reached == ((uint32_t)1 << n) - 1;
}

/* Marks the rings when their electrons are 4k + 2; atoms that three or more of them share lie
 * inside and do not count. */
static void try_subset(struct aromatic *a, const uint32_t *members, uint32_t n)
{
    struct bi_molecule *mol = a->mol;
    int sum = 0;
    for (uint32_t m = 0; m < n; m++)
        count(a, a->rings[members[m]], 1);
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t r = a->rings[members[m]], k = mol->ring_start[r]; k < mol->ring_start[r + 1];
             k++) {
            const uint32_t i = mol->ring_atoms[k];
            if (a->times[i] == 1) /* an atom in two rings is met twice */
                sum += 2 * a->electrons[i];
            else if (a->times[i] == 2)
                sum += a->electrons[i];
        }
    sum /= 2;
    if (sum >= 2 && (sum - 2) % 4 == 0)
        for (uint32_t m = 0; m < n; m++)
            for (uint32_t r = a->rings[members[m]], k = mol->ring_start[r];
                 k < mol->ring_start[r + 1]; k++) {
                mol->atoms[mol->ring_atoms[k]].aromatic = true;
                if (a->bonds_times[mol->ring_bonds[k]] == 1)
                    mol->bonds[mol->ring_bonds[k]].aromatic = a->done[mol->ring_bonds[k]] = true;
            }
    for (uint32_t m = 0; m < n; m++)
        count(a, a->rings[members[m]], -1);
}

static bool all_done(const struct aromatic *a, const uint32_t *members, uint32_t n)
{
    const struct bi_molecule *mol = a->mol;
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t r = a->rings[members[m]], k = mol->ring_start[r]; k < mol->ring_start[r + 1];
             k++)
            if (!a->done[mol->ring_bonds[k]])
                return false;
    return true;
}

/* All connected subsets of the rings of a group, by their number of rings. */
static void try_group(struct aromatic *a, const uint32_t *group, uint32_t n)
{
    uint32_t place[MAX_TOGETHER], members[MAX_TOGETHER];
    a->n_subsets = 0;
    for (uint32_t size = 1; size <= MAX_TOGETHER && size <= n; size++) {
        for (uint32_t k = 0; k < size; k++)
            place[k] = k;
        for (;;) {
            uint32_t k = size;
            if (a->n_subsets++ > MAX_SUBSETS || all_done(a, group, n))
                return;
            for (uint32_t m = 0; m < size; m++)
                members[m] = group[place[m]];
            if (are_connected(a, members, size))
                try_subset(a, members, size);
            while (k && place[k - 1] == n - size + k - 1)
                k--;
            if (!k)
                break;
            place[k - 1]++;
            for (; k < size; k++)
                place[k] = place[k - 1] + 1;
        }
    }
}

/* Rings that share bonds, directly or through others, are one group. `members` has room for all. */
static void try_groups(struct aromatic *a, uint32_t *members)
{
    for (uint32_t r = 0; r < a->n_rings; r++)
        a->group[r] = UINT32_MAX;
    for (uint32_t first = 0; first < a->n_rings; first++) {
        uint32_t n = 0, n_sorted = 0;
        if (a->group[first] != UINT32_MAX)
            continue;
        a->group[first] = first;
        members[n++] = first;
        for (uint32_t at = 0; at < n; at++)
            for (uint32_t r = first + 1; r < a->n_rings; r++)
                if (a->group[r] == UINT32_MAX &&
                    are_fused(a->mol, a->rings[members[at]], a->rings[r])) {
                    a->group[r] = first;
                    members[n++] = r;
                }
        for (uint32_t r = first; r < a->n_rings; r++)
            if (a->group[r] == first)
                members[n_sorted++] = r;
        try_group(a, members, n);
    }
}

int bi_mol_find_aromatic(struct bi_molecule *mol, const struct bi_mol_text *text,
                         struct bioinfer_error *err)
{
    const size_t n = mol->n_atoms, m = mol->n_bonds, n_rings = mol->n_rings;
    struct aromatic a = {.mol = mol};
    uint8_t *bytes;
    uint32_t *numbers;
    if (!n_rings)
        return 0;
    bytes = bi_calloc(mol->env, 2 * n + 2 * m + 1, 1);
    numbers = bi_calloc(mol->env, 3 * n_rings + 1, sizeof *numbers);
    if (bytes && numbers) {
        a.times = bytes;
        a.electrons = (int8_t *)(bytes + n);
        a.bonds_times = bytes + 2 * n;
        a.done = (bool *)(bytes + 2 * n + m);
        a.rings = numbers;
        a.group = numbers + n_rings;
        for (uint32_t i = 0; i < n; i++)
            a.electrons[i] = (int8_t)(may_be_aromatic(mol, i) ? donated(mol, i) : NO_PART);
        for (uint32_t r = 0; r < n_rings; r++) {
            bool all = true;
            for (uint32_t k = mol->ring_start[r]; k < mol->ring_start[r + 1]; k++)
                all = all && a.electrons[mol->ring_atoms[k]] != NO_PART;
            if (all)
                a.rings[a.n_rings++] = r;
        }
        try_groups(&a, numbers + 2 * n_rings);
    }
    bi_free(mol->env, bytes);
    bi_free(mol->env, numbers);
    return bytes && numbers
               ? 0
               : bi_mol_fail(text, err, BIOINFER_NOMEM, "aromaticity of %u atoms", mol->n_atoms);
}

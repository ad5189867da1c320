/* ligand.c - a small molecule as DiffDock's networks see it. */
#include <math.h>
#include <string.h>

#include "dock.h"

static const double farthest = 1e4; /* angstrom */

/* ---- features ---- */

/* A value's place in a table of 0 to most - 1, whose last row is for all others. */
static int32_t place(int value, int most)
{
    return value >= 0 && value < most ? value : most;
}

static int32_t hybrid_of(uint8_t hybrid)
{
    return hybrid >= BI_HYBRID_SP && hybrid <= BI_HYBRID_SP3D2 ? hybrid - BI_HYBRID_SP : 5;
}

/* Hydrogens that RDKit calls implicit. Aromatic atoms but carbon, stereocentres, and atoms whose
 * valence the file states have explicit ones. */
static int n_implicit(const struct bi_mol_atom *a)
{
    const bool explicit = (a->aromatic && a->element != 6) || a->chiral || a->no_more_h;
    return explicit ? 0 : a->n_h;
}

static void code_atom(const struct bi_molecule *mol, uint32_t i, int32_t *code)
{
    const struct bi_mol_atom *a = &mol->atoms[i];
    code[0] = place(a->element - 1, 118);
    code[1] = a->chiral;
    code[2] = place((int)bi_mol_degree(mol, i) + a->n_h, 11);
    code[3] = place(a->charge + 5, 11);
    code[4] = place(n_implicit(a), 7);
    code[5] = place(a->n_h, 9); /* not those that are atoms */
    code[6] = place(a->n_radicals, 5);
    code[7] = hybrid_of(a->hybrid);
    code[8] = a->aromatic;
    for (int k = 9; k < BI_DOCK_LIGAND_FEATURES; k++)
        code[k] = 0;
}

/* How many rings an atom is in, and whether it is in one of 3 to 8 atoms. */
static void code_rings(const struct bi_molecule *mol, int32_t (*codes)[BI_DOCK_LIGAND_FEATURES])
{
    for (uint32_t r = 0; r < mol->n_rings; r++) {
        const uint32_t size = mol->ring_start[r + 1] - mol->ring_start[r];
        for (uint32_t k = mol->ring_start[r]; k < mol->ring_start[r + 1]; k++) {
            int32_t *code = codes[mol->ring_atoms[k]];
            code[9] = place(code[9] + 1, 7);
            if (size >= 3 && size <= 8)
                code[10 + size - 3] = 1;
        }
    }
}

/* ---- bonds that turn ---- */

/* Marks the part of the molecule that holds atom a once bond k is gone; returns its size. */
static int32_t part_of(const struct bi_molecule *mol, uint32_t a, uint32_t bond, int32_t *part)
{
    int32_t *stack = part + mol->n_atoms, n = 0, size = 0;
    memset(part, 0, mol->n_atoms * sizeof *part);
    part[a] = 1;
    stack[n++] = (int32_t)a;
    while (n) {
        const uint32_t i = (uint32_t)stack[--n];
        size++;
        for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
            const struct bi_mol_near *near = &mol->near[k];
            if (near->bond != bond && !part[near->atom]) {
                part[near->atom] = 1;
                stack[n++] = (int32_t)near->atom;
            }
        }
    }
    return size;
}

/* The smaller part beside a bond turns; of equal ones the part with the first atom. A single atom
 * does not turn. */
static int add_torsion(struct bi_dock_ligand *l, const struct bi_molecule *mol, uint32_t bond,
                       struct bioinfer_error *err)
{
    const struct bi_mol_bond *b = &mol->bonds[bond];
    const int32_t size = b->in_ring ? l->n : part_of(mol, b->a, bond, l->part);
    const int32_t other = l->n - size;
    const bool of_a = size < other || (size == other && l->part[0]);
    const size_t at = (size_t)l->n_torsions * (size_t)l->n;
    if (!other || size == 1 || other == 1)
        return 0;
    if (l->n_torsions == BI_DOCK_MOST_TORSIONS)
        return bi_fail(err, BIOINFER_LIMIT, "more than %d bonds that turn", BI_DOCK_MOST_TORSIONS);
    if (!bi_grow(l->env, &l->torsions, &l->cap_torsions, (size_t)l->n_torsions + 1,
                 sizeof *l->torsions) ||
        !bi_grow(l->env, &l->moved, &l->cap_moved, at + (size_t)l->n, 1))
        return bi_fail(err, BIOINFER_NOMEM, "%d atoms", (int)l->n);
    l->torsions[l->n_torsions][0] = (int32_t)(of_a ? b->b : b->a);
    l->torsions[l->n_torsions][1] = (int32_t)(of_a ? b->a : b->b);
    for (int32_t i = 0; i < l->n; i++)
        l->moved[at + (size_t)i] = (l->part[i] != 0) == of_a;
    l->n_torsions++;
    return 0;
}

/* ---- the ligand ---- */

static int check(const struct bi_molecule *mol, struct bioinfer_error *err)
{
    uint32_t n_heavy = 0;
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        const struct bi_mol_atom *a = &mol->atoms[i];
        n_heavy += a->element > 1;
        for (int k = 0; k < 3; k++)
            if (!(fabs(a->x[k]) <= farthest))
                return bi_fail(err, BIOINFER_FORMAT, "atom %u lies at %g, beyond %g angstrom",
                               i + 1, a->x[k], farthest);
    }
    if (!n_heavy)
        return bi_fail(err, BIOINFER_EMPTY, "%u atoms, none of them heavier than hydrogen",
                       mol->n_atoms);
    if (mol->n_atoms > BI_DOCK_MOST_ATOMS)
        return bi_fail(err, BIOINFER_LIMIT, "%u atoms, at most %d", mol->n_atoms,
                       BI_DOCK_MOST_ATOMS);
    if (!mol->has_3d && mol->n_atoms > 1)
        return bi_fail(err, BIOINFER_FORMAT,
                       "no place in space: z is 0 for all of its %u atoms; a conformer is needed",
                       mol->n_atoms);
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        const struct bi_mol_bond *b = &mol->bonds[k];
        if ((b->order < 1 || b->order > 3) && !b->aromatic)
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "atoms %u and %u are joined by a %s, which has no features", b->a + 1,
                           b->b + 1, b->order ? "dative bond" : "bond of order 0");
    }
    return 0;
}

static bool make_room(struct bi_dock_ligand *l, const struct bi_molecule *mol)
{
    const struct bi_env *e = l->env;
    const size_t n = mol->n_atoms, m = 2 * (size_t)mol->n_bonds + 1;
    return bi_grow(e, &l->features, &l->cap_features, n, sizeof *l->features) &&
           bi_grow(e, &l->x, &l->cap_x, n, sizeof *l->x) &&
           bi_grow(e, &l->part, &l->cap_part, 2 * n, sizeof *l->part) &&
           bi_grow(e, &l->bonds, &l->cap_bonds, m, sizeof *l->bonds) &&
           bi_grow(e, &l->bond_type, &l->cap_bond_type, m, sizeof *l->bond_type);
}

int bi_dock_ligand_make(struct bi_dock_ligand *l, const struct bi_molecule *mol,
                        struct bioinfer_error *err)
{
    double mean[3] = {0};
    int st = check(mol, err);
    if (st)
        return st;
    if (!make_room(l, mol))
        return bi_fail(err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
    l->n = (int32_t)mol->n_atoms;
    l->n_bonds = 2 * (int32_t)mol->n_bonds;
    l->n_torsions = 0;
    if (part_of(mol, 0, UINT32_MAX, l->part) != l->n)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "several parts that no bond joins, as in a salt; one part is wanted");
    for (int32_t i = 0; i < l->n; i++) {
        code_atom(mol, (uint32_t)i, l->features[i]);
        for (int k = 0; k < 3; k++)
            mean[k] += mol->atoms[i].x[k] / l->n;
    }
    for (int32_t i = 0; i < l->n; i++)
        for (int k = 0; k < 3; k++)
            l->x[i][k] = mol->atoms[i].x[k] - mean[k];
    code_rings(mol, l->features);
    for (uint32_t k = 0; !st && k < mol->n_bonds; k++) {
        const struct bi_mol_bond *b = &mol->bonds[k];
        for (uint32_t way = 0; way < 2; way++) {
            l->bonds[2 * k + way][0] = (int32_t)(way ? b->b : b->a);
            l->bonds[2 * k + way][1] = (int32_t)(way ? b->a : b->b);
            l->bond_type[2 * k + way] = b->aromatic ? 3 : b->order - 1;
        }
        st = add_torsion(l, mol, k, err);
    }
    return st;
}

void bi_dock_ligand_free(struct bi_dock_ligand *l)
{
    if (!l->env)
        return;
    bi_free(l->env, l->features);
    bi_free(l->env, l->bonds);
    bi_free(l->env, l->bond_type);
    bi_free(l->env, l->torsions);
    bi_free(l->env, l->moved);
    bi_free(l->env, l->x);
    bi_free(l->env, l->part);
    *l = (struct bi_dock_ligand){0};
}

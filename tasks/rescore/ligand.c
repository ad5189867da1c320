/* ligand.c - the heavy atoms of a pose: types by what they are bonded to, and which bonds turn. */
#include <string.h>

#include "rescore.h"

enum { H = 1, C = 6, N = 7, O = 8, F = 9, P = 15, S = 16 };
enum { ROUNDS = 100 };

/* ---- types ---- */

/* Hydrogens of an atom, those that are atoms of the molecule among them. */
static int hydrogens_of(const struct bi_molecule *mol, uint32_t i)
{
    int n = mol->atoms[i].n_h;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
        n += mol->atoms[mol->near[k].atom].element == H;
    return n;
}

static int neighbours_of(const struct bi_molecule *mol, uint32_t i)
{
    return (int)bi_mol_degree(mol, i) + mol->atoms[i].n_h;
}

static int valence_of(const struct bi_molecule *mol, uint32_t i)
{
    return bi_mol_bond_sum(mol, i) + mol->atoms[i].n_h;
}

/* Has the atom a double bond to one of these elements? */
static bool has_double(const struct bi_molecule *mol, uint32_t i, bool (*wanted)(uint8_t element))
{
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
        if (b->order == 2 && !b->aromatic && wanted(mol->atoms[mol->near[k].atom].element))
            return true;
    }
    return false;
}

static bool is_any(uint8_t element)
{
    (void)element;
    return true;
}

/* Does a nitrogen give its pair of electrons away to no neighbour, nor to a charge? */
static bool accepts(const struct bi_molecule *mol, uint32_t i)
{
    if (mol->atoms[i].charge == 1)
        return false;
    if (neighbours_of(mol, i) != 3 || valence_of(mol, i) != 3)
        return true;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const uint32_t j = mol->near[k].atom;
        const struct bi_mol_atom *a = &mol->atoms[j];
        if (a->aromatic ||
            (a->element == C && neighbours_of(mol, j) == 3 && valence_of(mol, j) == 4) ||
            (a->element == N && neighbours_of(mol, j) == 2 && has_double(mol, j, is_any)))
            return false;
    }
    return true;
}

static bool has_hetero(const struct bi_molecule *mol, uint32_t i)
{
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const uint8_t z = mol->atoms[mol->near[k].atom].element;
        if (z != C && z != H)
            return true;
    }
    return false;
}

static int type_of(const struct bi_molecule *mol, uint32_t i)
{
    const uint8_t z = mol->atoms[i].element;
    const bool donor = hydrogens_of(mol, i) > 0;
    if (z == C)
        return has_hetero(mol, i) ? BI_VINA_C_P : BI_VINA_C_H;
    if (z == O)
        return donor ? BI_VINA_O_DA : BI_VINA_O_A;
    if (z == N)
        return accepts(mol, i) ? donor ? BI_VINA_N_DA : BI_VINA_N_A
               : donor         ? BI_VINA_N_D
                               : BI_VINA_N_P;
    return bi_vina_type_of(z);
}

/* ---- rotors ---- */

static int heavy_of(const struct bi_molecule *mol, uint32_t i)
{
    int n = 0;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
        n += mol->atoms[mol->near[k].atom].element != H;
    return n;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * 0x9e3779b97f4a7c15u;
    return a ^ a >> 29;
}

/* Numbers that atoms of the same surroundings share, up to ROUNDS bonds away; `old` has room for as
 * many. */
static void find_kinds(const struct bi_molecule *mol, uint64_t *kind, uint64_t *old)
{
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        const struct bi_mol_atom *a = &mol->atoms[i];
        kind[i] = mix(mix(a->element, (uint64_t)(a->charge + 128)),
                      (uint64_t)hydrogens_of(mol, i) << 1 | a->aromatic);
    }
    for (uint32_t round = 0; round < mol->n_atoms && round < ROUNDS; round++) {
        memcpy(old, kind, mol->n_atoms * sizeof *old);
        for (uint32_t i = 0; i < mol->n_atoms; i++) {
            uint64_t sum = 0;
            for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
                const struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
                sum += mix(old[mol->near[k].atom], b->aromatic ? 4 : b->order);
            }
            kind[i] = mix(old[i], sum);
        }
    }
}

static bool has_triple(const struct bi_molecule *mol, uint32_t i)
{
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
        if (mol->bonds[mol->near[k].bond].order == 3)
            return true;
    return false;
}

static bool is_o_n_s(uint8_t z)
{
    return z == O || z == N || z == S;
}

/* Is the bond from n to c one of an amide or amidine, and does it stay? It turns where the
 * nitrogen bears two different heavy atoms beside. */
static bool is_amide(const struct bi_molecule *mol, const uint64_t *kind, uint32_t n, uint32_t c)
{
    uint64_t other[2] = {0};
    int n_other = 0;
    if (mol->atoms[n].element != N || mol->atoms[n].aromatic || neighbours_of(mol, n) != 3 ||
        mol->atoms[c].element != C || mol->atoms[c].aromatic || neighbours_of(mol, c) != 3 ||
        !has_double(mol, c, is_o_n_s))
        return false;
    for (uint32_t k = mol->start[n]; k < mol->start[n + 1]; k++)
        if (mol->near[k].atom != c && mol->atoms[mol->near[k].atom].element != H && n_other < 2)
            other[n_other++] = kind[mol->near[k].atom];
    return n_other < 2 || other[0] == other[1];
}

/* Has the end of a bond something beside it that turning moves: heavy atoms or polar hydrogens? */
static bool moves(const struct bi_molecule *mol, uint32_t i)
{
    const uint8_t z = mol->atoms[i].element;
    const bool polar = z == N || z == O || z == F || z == P || z == S;
    return heavy_of(mol, i) > 1 || (polar && hydrogens_of(mol, i) > 0);
}

static bool turns(const struct bi_molecule *mol, const uint64_t *kind, const struct bi_mol_bond *b)
{
    if (b->in_ring || b->aromatic || mol->atoms[b->a].element == H ||
        mol->atoms[b->b].element == H || !moves(mol, b->a) || !moves(mol, b->b))
        return false;
    if (b->order == 3) /* the neighbours lie on one axis */
        return true;
    return b->order == 1 && !has_triple(mol, b->a) && !has_triple(mol, b->b) &&
           !is_amide(mol, kind, b->a, b->b) && !is_amide(mol, kind, b->b, b->a);
}

/* ---- the pose ---- */

static bool make_room(struct bi_pose *p, const struct bi_molecule *mol)
{
    const struct bi_env *e = p->env;
    const size_t n = mol->n_atoms + 1;
    return bi_grow(e, &p->x, &p->cap_x, n, sizeof *p->x) &&
           bi_grow(e, &p->type, &p->cap_type, n, sizeof *p->type) &&
           bi_grow(e, &p->atom, &p->cap_atom, n, sizeof *p->atom) &&
           bi_grow(e, &p->number, &p->cap_number, n, sizeof *p->number) &&
           bi_grow(e, &p->rotor, &p->cap_rotor, mol->n_bonds + 1, sizeof *p->rotor) &&
           bi_grow(e, &p->kind, &p->cap_kind, 2 * n, sizeof *p->kind);
}

int bi_pose_place(struct bi_pose *p, const struct bi_molecule *mol, struct bioinfer_error *err)
{
    if (!make_room(p, mol))
        return bi_fail(err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
    p->n = 0;
    p->n_rotors = 0;
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        const struct bi_mol_atom *a = &mol->atoms[i];
        p->number[i] = a->element == H ? -1 : p->n;
        if (a->element == H)
            continue;
        if (p->n == BI_POSE_MAX_ATOMS)
            return bi_fail(err, BIOINFER_LIMIT, "more than %d heavy atoms", BI_POSE_MAX_ATOMS);
        memcpy(p->x[p->n], a->x, sizeof a->x);
        p->atom[p->n++] = i;
    }
    if (!p->n)
        return bi_fail(err, BIOINFER_EMPTY, "%u atoms, none of them heavier than hydrogen",
                       mol->n_atoms);
    return 0;
}

int bi_pose_make(struct bi_pose *p, const struct bi_molecule *mol, struct bioinfer_error *err)
{
    const int st = bi_pose_place(p, mol, err);
    if (st)
        return st;
    for (int32_t i = 0; i < p->n; i++) {
        p->type[i] = (uint8_t)type_of(mol, p->atom[i]);
        if (p->type[i] == BI_VINA_NONE)
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "atom %u is %s, an element that Vina's function does not know",
                           p->atom[i] + 1, bi_element(mol->atoms[p->atom[i]].element)->symbol);
    }
    if (!mol->has_3d)
        return bi_fail(err, BIOINFER_FORMAT,
                       "no place in space: z is 0 for all of its %u atoms; a docked or built pose "
                       "is needed",
                       mol->n_atoms);
    find_kinds(mol, p->kind, p->kind + mol->n_atoms);
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        const struct bi_mol_bond *b = &mol->bonds[k];
        if ((p->rotor[k] = turns(mol, p->kind, b)))
            p->n_rotors += 0.5 * (heavy_of(mol, b->a) > 1) + 0.5 * (heavy_of(mol, b->b) > 1);
    }
    return 0;
}

void bi_pose_free(struct bi_pose *p)
{
    if (!p->env)
        return;
    bi_free(p->env, p->x);
    bi_free(p->env, p->type);
    bi_free(p->env, p->atom);
    bi_free(p->env, p->number);
    bi_free(p->env, p->rotor);
    bi_free(p->env, p->kind);
    *p = (struct bi_pose){0};
}

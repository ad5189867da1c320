/* ligand.c - a small molecule as DualBind sees it, and the pocket around it.
 *
 * An atom is a row of 133 numbers, a bond of 14 (chemprop 1's features; docs/docking.md has the
 * table). All but the mass are 0 or 1, so only the places of the ones are kept. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "dualbind.h"

/* Where each group of an atom's numbers begins. */
enum {
    ELEMENT = 0,
    DEGREE = 101,
    CHARGE = 108,
    CHIRAL = 114,
    HYDROGENS = 119,
    HYBRID = 125,
    AROMATIC = 131
};
/* The same of a bond's. */
enum { ORDER = 1, CONJUGATED = 5, IN_RING = 6, STEREO = 7 };

enum { N_ELEMENTS = 100, MOST_BONDS = 5, MOST_HYDROGENS = 4, AROMATIC_BOND = 4 };

/* ---- features ---- */

static int charge_of(int charge)
{
    static const int places[] = {-1, -2, 1, 2, 0};
    for (int i = 0; i < (int)BI_COUNT(places); i++)
        if (charge == places[i])
            return CHARGE + i;
    return CHARGE + (int)BI_COUNT(places);
}

static int hybrid_of(int hybrid)
{
    switch (hybrid) {
    case BI_HYBRID_SP:
        return HYBRID;
    case BI_HYBRID_SP2:
        return HYBRID + 1;
    case BI_HYBRID_SP3:
        return HYBRID + 2;
    case BI_HYBRID_SP3D:
        return HYBRID + 3;
    case BI_HYBRID_SP3D2:
        return HYBRID + 4;
    default:
        return HYBRID + 5;
    }
}

static void code_atom(const struct bi_molecule *mol, uint32_t i, int32_t code[BI_ATOM_CODES],
                      float *mass)
{
    const struct bi_mol_atom *a = &mol->atoms[i];
    const int degree = (int)bi_mol_degree(mol, i) + a->n_h;
    code[0] = ELEMENT + (a->element <= N_ELEMENTS ? a->element - 1 : N_ELEMENTS);
    code[1] = DEGREE + (degree <= MOST_BONDS ? degree : MOST_BONDS + 1);
    code[2] = charge_of(a->charge);
    code[3] = CHIRAL + a->chiral;
    code[4] = HYDROGENS + (a->n_h <= MOST_HYDROGENS ? a->n_h : MOST_HYDROGENS + 1);
    code[5] = hybrid_of(a->hybrid);
    code[6] = a->aromatic ? AROMATIC : -1;
    /* a mass number is that of the isotope to three digits */
    *mass = 0.01f * (a->isotope ? (float)a->isotope : bi_element(a->element)->mass);
}

static int stereo_of(int stereo)
{
    return STEREO + (stereo == BI_STEREO_ANY ? 1
                     : stereo == BI_STEREO_Z ? 2
                     : stereo == BI_STEREO_E ? 3
                                             : 0);
}

/* The last codes of a bond; those before them are of the atom that it comes from. */
static void code_bond(const struct bi_mol_bond *b, int32_t *code)
{
    code[0] = DB_ATOM + ORDER + (b->aromatic ? AROMATIC_BOND : b->order) - 1;
    code[1] = b->conjugated ? DB_ATOM + CONJUGATED : -1;
    code[2] = b->in_ring ? DB_ATOM + IN_RING : -1;
    code[3] = DB_ATOM + stereo_of(b->stereo);
}

static bool make_room(struct bi_complex *c, size_t n_atoms, size_t n_bonds)
{
    const struct bi_env *e = c->env;
    return bi_grow(e, &c->x, &c->cap_x, n_atoms, sizeof *c->x) &&
           bi_grow(e, &c->atom_mass, &c->cap_atom_mass, n_atoms, sizeof *c->atom_mass) &&
           bi_grow(e, &c->atom_code, &c->cap_atom_code, n_atoms, sizeof *c->atom_code) &&
           bi_grow(e, &c->atom_token, &c->cap_atom_token, n_atoms, sizeof *c->atom_token) &&
           bi_grow(e, &c->start, &c->cap_start, n_atoms + 1, sizeof *c->start) &&
           bi_grow(e, &c->into, &c->cap_into, n_bonds + 1, sizeof *c->into) &&
           bi_grow(e, &c->bond_code, &c->cap_bond_code, n_bonds + 1, sizeof *c->bond_code) &&
           bi_grow(e, &c->bond_from, &c->cap_bond_from, n_bonds + 1, sizeof *c->bond_from) &&
           bi_grow(e, &c->bond_reverse, &c->cap_bond_reverse, n_bonds + 1,
                   sizeof *c->bond_reverse) &&
           bi_grow(e, &c->bond_mass, &c->cap_bond_mass, n_bonds + 1, sizeof *c->bond_mass);
}

/* Says what of the molecule this family cannot take. */
static int check(const struct bi_molecule *mol, struct bioinfer_error *err)
{
    uint32_t n_heavy = 0;
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        n_heavy += mol->atoms[i].element > 1;
    if (!n_heavy)
        return bi_fail(err, BIOINFER_EMPTY, "%u atoms, none of them heavier than hydrogen",
                       mol->n_atoms);
    if (!mol->has_3d)
        return bi_fail(err, BIOINFER_FORMAT,
                       "no place in space: z is 0 for all of its %u atoms; a docked or built pose "
                       "is needed",
                       mol->n_atoms);
    for (uint32_t k = 0; k < mol->n_bonds; k++)
        if ((mol->bonds[k].order < 1 || mol->bonds[k].order > 3) && !mol->bonds[k].aromatic)
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "atoms %u and %u are joined by a %s, which has no features",
                           mol->bonds[k].a + 1, mol->bonds[k].b + 1,
                           mol->bonds[k].order ? "dative bond" : "bond of order 0");
    return 0;
}

/* The ligand's arrays: bonds 2 k and 2 k + 1 are bond k of the molecule, from a to b and back. */
static int add_ligand(struct bi_complex *c, const struct bi_molecule *mol,
                      struct bioinfer_error *err)
{
    double sum[3] = {0, 0, 0};
    int32_t n_into = 0;
    if (!make_room(c, mol->n_atoms, 2 * (size_t)mol->n_bonds))
        return bi_fail(err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
    c->n_atoms = (int32_t)mol->n_atoms;
    c->n_bonds = 2 * (int32_t)mol->n_bonds;
    c->n_ligand = c->degree = 0;
    for (int32_t i = 0; i < c->n_atoms; i++) {
        const uint32_t at = mol->start[i], n = bi_mol_degree(mol, (uint32_t)i);
        for (int k = 0; k < 3; k++) {
            c->x[i][k] = (float)mol->atoms[i].x[k];
            sum[k] += (double)c->x[i][k];
        }
        code_atom(mol, (uint32_t)i, c->atom_code[i], &c->atom_mass[i]);
        c->atom_token[i] = db_is_somewhere(c->x[i]) ? c->n_ligand++ : -1;
        c->degree = (int32_t)n > c->degree ? (int32_t)n : c->degree;
        c->start[i] = n_into;
        for (uint32_t k = at; k < at + n; k++) {
            const uint32_t bond = mol->near[k].bond;
            c->into[n_into++] = (int32_t)(2 * bond + (mol->bonds[bond].a == (uint32_t)i));
        }
    }
    c->start[c->n_atoms] = n_into;
    for (int32_t k = 0; k < c->n_bonds; k++) {
        const struct bi_mol_bond *b = &mol->bonds[k / 2];
        c->bond_from[k] = (int32_t)(k % 2 ? b->b : b->a);
        c->bond_reverse[k] = k ^ 1;
        c->bond_mass[k] = c->atom_mass[c->bond_from[k]];
        memcpy(c->bond_code[k], c->atom_code[c->bond_from[k]], sizeof *c->atom_code);
        code_bond(b, c->bond_code[k] + BI_ATOM_CODES);
    }
    for (int k = 0; k < 3; k++)
        c->centroid[k] = (float)(sum[k] / c->n_atoms);
    return 0;
}

/* ---- pocket ---- */

struct near {
    float distance; /* from the ligand's centre to the CA */
    int32_t residue;
};

/* A heap with the farthest at its top, so that the n nearest of many stay. Of equally far ones the
 * first in the file stays. */
static bool is_farther(const struct near *a, const struct near *b)
{
    return a->distance > b->distance || (a->distance >= b->distance && a->residue > b->residue);
}

static void sink(struct near *heap, int32_t n, int32_t at)
{
    for (;;) {
        int32_t top = at;
        for (int32_t k = 2 * at + 1; k <= 2 * at + 2 && k < n; k++)
            if (is_farther(&heap[k], &heap[top]))
                top = k;
        if (top == at)
            return;
        const struct near t = heap[at];
        heap[at] = heap[top];
        heap[top] = t;
        at = top;
    }
}

/* Puts the residues of the pocket into heap[0, n), in no order; n. */
static int32_t find_pocket(struct bi_complex *c, const struct bi_receptor *r,
                           const struct bi_affinity_options *o, struct near *heap)
{
    int32_t n = 0;
    c->distance = FLT_MAX;
    for (int32_t i = 0; i < r->n_residues; i++) {
        const struct bi_receptor_residue *res = &r->residues[i];
        struct near near = {0, i};
        double square = 0;
        if (res->unknown && o->drop_unknown)
            continue;
        for (int k = 0; k < 3; k++) {
            const double d = (double)res->ca[k] - (double)c->centroid[k];
            square += d * d;
        }
        near.distance = (float)sqrt(square);
        if (!res->unknown && near.distance < c->distance)
            c->distance = near.distance;
        if (n < o->n_pocket) {
            heap[n++] = near;
            for (int32_t k = n / 2 - 1; n == o->n_pocket && k >= 0; k--)
                sink(heap, n, k);
        } else if (is_farther(&heap[0], &near)) {
            heap[0] = near;
            sink(heap, n, 0);
        }
    }
    return n;
}

/* Appends the tokens of the pocket in the order of the file. */
static int add_pocket(struct bi_complex *c, const struct bi_receptor *r,
                      const struct bi_affinity_options *o, struct bioinfer_error *err)
{
    const int32_t room = o->n_pocket < r->n_residues ? o->n_pocket : r->n_residues;
    struct near *heap = bi_calloc(c->env, (size_t)room + 1, sizeof *heap);
    bool *in = bi_calloc(c->env, (size_t)r->n_residues + 1, sizeof *in);
    struct bi_affinity_options own = {.n_pocket = room, .drop_unknown = o->drop_unknown};
    int64_t n_tokens = c->n_ligand;
    int st = heap && in ? 0 : bi_fail(err, BIOINFER_NOMEM, "a pocket of %d residues", room);
    c->n_pocket_residues = st ? 0 : find_pocket(c, r, &own, heap);
    for (int32_t k = 0; k < c->n_pocket_residues; k++) {
        in[heap[k].residue] = true;
        n_tokens += r->residues[heap[k].residue].n;
    }
    if (!st && !bi_grow(c->env, &c->row, &c->cap_row, (size_t)n_tokens + 1, sizeof *c->row))
        st = bi_fail(err, BIOINFER_NOMEM, "a pocket of %d residues", room);
    c->n_tokens = c->n_ligand;
    for (int32_t i = 0; !st && i < c->n_ligand; i++)
        c->row[i] = 0;
    for (int32_t i = 0; !st && i < r->n_residues; i++)
        for (int32_t k = 0; in[i] && k < r->residues[i].n; k++)
            c->row[c->n_tokens++] = r->residues[i].row + k;
    bi_free(c->env, heap);
    bi_free(c->env, in);
    return st;
}

int db_join(struct bi_complex *c, const struct bi_receptor *r, const struct bi_molecule *mol,
            const struct bi_affinity_options *o, struct bioinfer_error *err)
{
    int st;
    if ((st = check(mol, err)) || (st = add_ligand(c, mol, err)) || (st = add_pocket(c, r, o, err)))
        return st;
    if (!c->n_ligand)
        return bi_fail(err, BIOINFER_EMPTY, "all atoms are at the origin");
    return 0;
}

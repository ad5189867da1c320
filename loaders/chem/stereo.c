/* stereo.c - chirality and E or Z from coordinates.
 *
 * Atoms are ranked by their elements, then by the ranks of their neighbours, again and again
 * (Labute, 1996). An atom is a centre when its neighbours have different ranks; a double bond is E
 * or Z when both ends have substituents of different ranks. What was found makes ranks differ that
 * were equal, so it is done again until nothing new is found. Ring atoms whose two ways round the
 * ring are equal count when the ring has another such atom, as in 1,4-dimethylcyclohexane. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "molecule.h"

enum {
    MAX_ROUNDS = 100,  /* in one ranking; ranks of longer chains stay equal */
    MAX_RANKINGS = 10, /* the most that stereo can depend on other stereo */
    SMALL_RING = 8,    /* double bonds in smaller rings have one form */
};

struct key {
    const uint32_t *words;
    uint32_t n, atom;
};

struct stereo {
    struct bi_molecule *mol;
    /* for each atom: its rank, what its stereo adds to it, and the chirality that its coordinates
     * have if it is a centre */
    uint32_t *rank, *label;
    uint8_t *tag;
    bool *double_bond; /* for each bond: may it be E or Z? */
    struct key *keys;
    uint32_t *words, *offset; /* key of atom i: words[offset[i]] and on */
};

/* ---- ranks ---- */

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    const uint32_t n = x->n < y->n ? x->n : y->n;
    for (uint32_t k = 0; k < n; k++)
        if (x->words[k] != y->words[k])
            return x->words[k] < y->words[k] ? -1 : 1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return x->atom < y->atom ? -1 : x->atom > y->atom;
}

static bool same_key(const struct key *x, const struct key *y)
{
    return x->n == y->n && !memcmp(x->words, y->words, x->n * sizeof *x->words);
}

/* How often a neighbour counts: twice the order of the bond; a phosphorus at the other end of a
 * double bond once, so that P=O and P-O with a charge differ. */
static uint32_t weight(const struct bi_molecule *mol, const struct bi_mol_bond *b,
                       uint32_t neighbour)
{
    if (b->aromatic)
        return 3;
    if (b->order == BI_MOL_ORDER_DATIVE)
        return 2;
    if (b->order == 2 && mol->atoms[neighbour].element == 15 &&
        (bi_mol_degree(mol, neighbour) == 3 || bi_mol_degree(mol, neighbour) == 4))
        return 1;
    return 2u * b->order;
}

/* The key of an atom: its rank, then those of its neighbours, the highest first, and hydrogens. */
static uint32_t make_key(const struct stereo *s, uint32_t i, uint32_t *key)
{
    const struct bi_molecule *mol = s->mol;
    uint32_t n = 0;
    key[n++] = s->rank[i];
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const uint32_t rank = s->rank[mol->near[k].atom] + 1;
        uint32_t at = n;
        const uint32_t times = weight(mol, &mol->bonds[mol->near[k].bond], mol->near[k].atom);
        while (at > 1 && key[at - 1] < rank)
            at--;
        memmove(key + at + times, key + at, (n - at) * sizeof *key);
        for (uint32_t t = 0; t < times; t++)
            key[at + t] = rank;
        n += times;
    }
    for (uint32_t h = 0; h < mol->atoms[i].n_h; h++)
        key[n++] = 0;
    return n;
}

/* Sorts the keys and gives ranks by them; returns how many different ones there are. */
static uint32_t rank_keys(struct stereo *s)
{
    const uint32_t n = s->mol->n_atoms;
    uint32_t rank = 0;
    qsort(s->keys, n, sizeof *s->keys, compare_keys);
    for (uint32_t k = 0; k < n; k++) {
        if (k && !same_key(&s->keys[k - 1], &s->keys[k]))
            rank = k;
        s->rank[s->keys[k].atom] = rank;
    }
    for (uint32_t k = 1, different = 1;; k++) {
        if (k >= n)
            return different;
        different += s->rank[s->keys[k].atom] != s->rank[s->keys[k - 1].atom];
    }
}

static void rank_atoms(struct stereo *s, bool again)
{
    const struct bi_molecule *mol = s->mol;
    uint32_t different, before = 0;
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        uint32_t *key = s->words + s->offset[i];
        key[0] = again ? s->rank[i] : mol->atoms[i].element;
        key[1] = again ? s->label[i] : mol->atoms[i].isotope;
        s->keys[i] = (struct key){key, 2, i};
    }
    different = rank_keys(s);
    for (int round = 0; round < MAX_ROUNDS && different > before; round++) {
        before = different;
        for (uint32_t i = 0; i < mol->n_atoms; i++) {
            uint32_t *key = s->words + s->offset[i];
            s->keys[i] = (struct key){key, make_key(s, i, key), i};
        }
        different = rank_keys(s);
    }
}

/* ---- what coordinates say ---- */

static void away(const struct bi_molecule *mol, uint32_t from, uint32_t to, double *v)
{
    for (int d = 0; d < 3; d++)
        v[d] = mol->atoms[to].x[d] - mol->atoms[from].x[d];
}

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The turn of the first three neighbours, in the order of the bonds, seen from the first one. */
static uint8_t turn_at(const struct bi_molecule *mol, uint32_t i)
{
    const double flat = 0.1; /* cubic angstrom */
    const struct bi_mol_near *near = mol->near + mol->start[i];
    double v[3][3], c[3], volume;
    for (int k = 0; k < 3; k++)
        away(mol, i, near[k].atom, v[k]);
    cross(v[1], v[2], c);
    volume = dot(v[0], c);
    return volume < -flat ? BI_CHIRAL_CW : volume > flat ? BI_CHIRAL_CCW : BI_CHIRAL_NONE;
}

/* ---- what may have stereo ---- */

static bool in_ring_below(const struct bi_molecule *mol, uint32_t bond, uint32_t size)
{
    for (uint32_t r = 0; r < mol->n_rings; r++)
        for (uint32_t k = mol->ring_start[r];
             mol->ring_start[r + 1] - mol->ring_start[r] < size && k < mol->ring_start[r + 1]; k++)
            if (mol->ring_bonds[k] == bond)
                return true;
    return false;
}

/* Does the file say that a bond of this atom may lie on either side? */
static bool is_wavy_at(const struct bi_molecule *mol, uint32_t i)
{
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
        if (b->either && b->order == 1 && b->a == i)
            return true;
    }
    return false;
}

/* Four neighbours, a hydrogen among them at most; or three, and a pair of electrons that stays
 * where it is: of sulphoxides and sulphonium, and their selenium. Coordinates are no proof that
 * nitrogen or phosphorus with three neighbours keeps its turn. */
static bool may_be_centre(const struct bi_molecule *mol, uint32_t i)
{
    const struct bi_mol_atom *atom = &mol->atoms[i];
    const uint32_t degree = bi_mol_degree(mol, i);
    const int sum = bi_mol_bond_sum(mol, i) + atom->n_h;
    if (is_wavy_at(mol, i))
        return false;
    if (degree == 4 || (degree == 3 && atom->n_h == 1))
        return degree + atom->n_h == 4;
    return degree == 3 && !atom->n_h && (atom->element == 16 || atom->element == 34) &&
           ((sum == 4 && !atom->charge) || (sum == 3 && atom->charge == 1));
}

/* Can the atom be an end of a double bond that is E or Z? It has one neighbour or two beside the
 * bond, one of them by a single bond: sulphines, C=S=O, have no E or Z. */
static bool may_be_end(const struct bi_molecule *mol, uint32_t i)
{
    const uint32_t degree = bi_mol_degree(mol, i);
    bool single = false;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
        single = single || b->aromatic || b->order == 1 || b->order == BI_MOL_ORDER_DATIVE;
    }
    return degree >= 2 && degree + mol->atoms[i].n_h <= 3 && single &&
           (degree > 2 || mol->atoms[i].hybrid != BI_HYBRID_SP);
}

static bool may_be_e_or_z(const struct bi_molecule *mol, uint32_t bond)
{
    const struct bi_mol_bond *b = &mol->bonds[bond];
    return b->order == 2 && !b->aromatic && may_be_end(mol, b->a) && may_be_end(mol, b->b) &&
           !(b->in_ring && in_ring_below(mol, bond, SMALL_RING));
}

/* ---- centres ---- */

static bool has_equal_neighbours(const struct stereo *s, uint32_t i)
{
    const struct bi_molecule *mol = s->mol;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
        for (uint32_t l = mol->start[i]; l < k; l++)
            if (s->rank[mol->near[k].atom] == s->rank[mol->near[l].atom])
                return true;
    return false;
}

/* 1 or 2: the turn of the neighbours by rank, which no order of the file changes. */
static uint32_t handedness(const struct stereo *s, uint32_t i)
{
    const struct bi_molecule *mol = s->mol;
    uint32_t odd = s->tag[i] == BI_CHIRAL_CW;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
        for (uint32_t l = mol->start[i]; l < k; l++)
            odd ^= s->rank[mol->near[k].atom] > s->rank[mol->near[l].atom];
    return 1 + odd;
}

static bool find_centres(struct stereo *s)
{
    bool found = false;
    for (uint32_t i = 0; i < s->mol->n_atoms; i++)
        if (s->tag[i] && !s->mol->atoms[i].chiral && !has_equal_neighbours(s, i)) {
            s->mol->atoms[i].chiral = s->tag[i];
            s->label[i] = 4 * handedness(s, i);
            found = true;
        }
    return found;
}

/* May an atom with equal neighbours be a centre by its ring? With two neighbours outside it these
 * differ; with one two ways round are equal, or three, as in cages; with none, two alone of them
 * are: where two rings meet in one atom and both have equal ways round it is no centre. */
static bool is_ring_centre(const struct stereo *s, uint32_t i)
{
    const struct bi_molecule *mol = s->mol;
    uint32_t outside[2] = {0}, n_outside = 0, n_ring = 0, n_different = 0;
    if (!s->tag[i] || mol->atoms[i].chiral || bi_mol_degree(mol, i) + mol->atoms[i].n_h < 4)
        return false;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
        const uint32_t rank = s->rank[mol->near[k].atom];
        bool seen = false;
        if (!mol->bonds[mol->near[k].bond].in_ring) {
            outside[n_outside % 2] = rank;
            n_outside++;
            continue;
        }
        for (uint32_t l = mol->start[i]; l < k; l++)
            seen = seen ||
                   (mol->bonds[mol->near[l].bond].in_ring && s->rank[mol->near[l].atom] == rank);
        n_ring++;
        n_different += !seen;
    }
    switch (n_outside) {
    case 0:
        return n_ring == n_different + 1;
    case 1:
        return n_ring > n_different;
    case 2:
        return n_ring == 2 && outside[0] != outside[1];
    }
    return false;
}

/* Ring centres count in pairs: alone in its ring one has a mirror image that is itself. */
static void find_ring_centres(struct stereo *s)
{
    struct bi_molecule *mol = s->mol;
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        s->label[i] = is_ring_centre(s, i);
    for (uint32_t r = 0; r < mol->n_rings; r++) {
        uint32_t n = 0;
        for (uint32_t k = mol->ring_start[r]; k < mol->ring_start[r + 1]; k++)
            n += s->label[mol->ring_atoms[k]] > 0;
        for (uint32_t k = mol->ring_start[r]; k < mol->ring_start[r + 1] && n > 1; k++)
            if (s->label[mol->ring_atoms[k]])
                mol->atoms[mol->ring_atoms[k]].chiral = s->tag[mol->ring_atoms[k]];
    }
}

/* ---- double bonds ---- */

/* The substituent of the higher rank at one end of a bond; false: two are equal. */
static bool substituent(const struct stereo *s, uint32_t end, uint32_t bond, uint32_t *out)
{
    const struct bi_molecule *mol = s->mol;
    uint32_t best = UINT32_MAX;
    for (uint32_t k = mol->start[end]; k < mol->start[end + 1]; k++) {
        const struct bi_mol_near near = mol->near[k];
        if (near.bond == bond)
            continue;
        if (best != UINT32_MAX && s->rank[near.atom] == s->rank[best])
            return false;
        if (best == UINT32_MAX || s->rank[near.atom] > s->rank[best])
            best = near.atom;
    }
    *out = best;
    return best != UINT32_MAX &&
           !(mol->atoms[end].n_h && mol->atoms[best].element == 1 && !mol->atoms[best].isotope);
}

/* Z: both substituents lie on one side of the bond; none: an end has no direction. */
static uint8_t side(const struct bi_molecule *mol, const struct bi_mol_bond *b, uint32_t p,
                    uint32_t q)
{
    double axis[3], u[3], v[3], m[3], n[3], length;
    away(mol, b->a, b->b, axis);
    away(mol, b->a, p, u);
    away(mol, b->b, q, v);
    cross(axis, u, m);
    cross(axis, v, n);
    length = dot(axis, axis);
    if (dot(m, m) <= 1e-4 * length * dot(u, u) || dot(n, n) <= 1e-4 * length * dot(v, v))
        return BI_STEREO_NONE;
    return dot(m, n) > 0 ? BI_STEREO_Z : BI_STEREO_E;
}

static bool find_double_bonds(struct stereo *s)
{
    struct bi_molecule *mol = s->mol;
    bool found = false;
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        struct bi_mol_bond *b = &mol->bonds[k];
        uint32_t p, q;
        if (!s->double_bond[k] || b->stereo || b->either || !substituent(s, b->a, k, &p) ||
            !substituent(s, b->b, k, &q))
            continue;
        b->stereo = side(mol, b, p, q);
        if (b->stereo) {
            s->label[b->a] |= b->stereo == BI_STEREO_Z ? 1 : 2;
            s->label[b->b] |= b->stereo == BI_STEREO_Z ? 1 : 2;
            found = true;
        }
    }
    return found;
}

/* ---- both ---- */

static bool find_candidates(struct stereo *s)
{
    const struct bi_molecule *mol = s->mol;
    bool any = false;
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        s->tag[i] = mol->has_3d && may_be_centre(mol, i) ? turn_at(mol, i) : BI_CHIRAL_NONE;
        any = any || s->tag[i];
    }
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        struct bi_mol_bond *b = &s->mol->bonds[k];
        s->double_bond[k] = may_be_e_or_z(mol, k);
        if (s->double_bond[k] && b->either)
            b->stereo = BI_STEREO_ANY;
        any = any || s->double_bond[k];
    }
    return any;
}

static size_t lay_out_keys(struct stereo *s)
{
    const struct bi_molecule *mol = s->mol;
    uint32_t at = 0;
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        s->offset[i] = at;
        at += 2 + mol->atoms[i].n_h;
        for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
            at += weight(mol, &mol->bonds[mol->near[k].bond], mol->near[k].atom);
    }
    return at;
}

int bi_mol_find_stereo(struct bi_molecule *mol, const struct bi_mol_text *text,
                       struct bioinfer_error *err)
{
    const struct bi_env *env = mol->env;
    const size_t n = mol->n_atoms, m = mol->n_bonds;
    struct stereo s = {.mol = mol};
    uint32_t *numbers = bi_calloc(env, 3 * n, sizeof *numbers);
    int st = 0;
    s.tag = bi_calloc(env, n, 1);
    s.double_bond = bi_calloc(env, m + 1, sizeof *s.double_bond);
    if (!numbers || !s.tag || !s.double_bond)
        goto no_memory;
    s.rank = numbers;
    s.label = numbers + n;
    s.offset = numbers + 2 * n;
    if (!find_candidates(&s))
        goto out;
    s.words = bi_calloc(env, lay_out_keys(&s), sizeof *s.words);
    s.keys = bi_calloc(env, n, sizeof *s.keys);
    if (!s.words || !s.keys)
        goto no_memory;
    for (int k = 0; k < MAX_RANKINGS; k++) {
        rank_atoms(&s, k > 0);
        const bool centres = find_centres(&s);
        if (!find_double_bonds(&s) && !centres)
            break;
    }
    find_ring_centres(&s);
    goto out;
no_memory:
    st = bi_mol_fail(text, err, BIOINFER_NOMEM, "stereo of %zu atoms", n);
out:
    bi_free(env, numbers);
    bi_free(env, s.tag);
    bi_free(env, s.double_bond);
    bi_free(env, s.words);
    bi_free(env, s.keys);
    return st;
}

/* rings.c - the rings of a molecule.
 *
 * Bonds that are no bridge make up ring systems. In each, candidates are the shortest rings through
 * an atom r and a bond or an atom opposite to it, r being the highest numbered atom of the ring
 * (Vismara, 1997). By ascending size, a ring that is no sum (symmetric difference of bonds) of
 * smaller ones is relevant; as many independent ones as there are independent cycles make a
 * smallest set of smallest rings, and all relevant ones are kept, as RDKit's symmetrised set does
 * for the rings that occur in practice. */
#include <stdlib.h>
#include <string.h>

#include "molecule.h"

enum {
    MAX_RING_ATOMS = 2000, /* in one ring system */
    MAX_CANDIDATES = 500000,
    MAX_PATHS = 64, /* rings of one candidate; more share all bonds but those of smaller rings */
    MAX_INDEPENDENT = 1000, /* rings of a system */
    MAX_TRIED = 50000,      /* rings of a system that are compared with smaller ones */
};

struct candidate {
    uint32_t size, root, p, q; /* p and q are neighbours of each other, or p the middle of q's */
    uint32_t middle;           /* the atom between p and q, NONE where they are bonded */
};

static const uint32_t NONE = UINT32_MAX;

struct rings {
    struct bi_molecule *mol;
    const struct bi_mol_text *text;
    uint32_t *column; /* a bond's number among those of its system; NONE */
    uint32_t *system; /* the number of each atom's ring system; NONE */
    uint32_t n_systems;
    uint32_t *distance, *queue; /* from the root, below it */
    struct candidate *candidates;
    size_t n_candidates, cap_candidates;
    /* independent rings as sets of bonds, in echelon form: row k has its first bit at pivot[k] */
    uint64_t *rows, *sum;
    uint32_t *pivot;
    uint32_t n_rows, words, n_tried;
    size_t cap_rows, cap_pivot;
    uint32_t *path; /* the atoms of the ring that is being made */
};

static int no_memory(const struct rings *r, struct bioinfer_error *err)
{
    return bi_mol_fail(r->text, err, BIOINFER_NOMEM, "rings of %u atoms", r->mol->n_atoms);
}

/* ---- bonds in rings ---- */

/* Marks bonds that are no bridges, and neither dative nor of order 0, by depth first search without
 * recursion; fills in_ring. */
static void mark_bonds(struct bi_molecule *mol, uint32_t *order, uint32_t *low, uint32_t *stack,
                       uint32_t *next, uint32_t *entry)
{
    uint32_t n_seen = 0;
    for (uint32_t k = 0; k < mol->n_bonds; k++)
        mol->bonds[k].in_ring = mol->bonds[k].order && mol->bonds[k].order != BI_MOL_ORDER_DATIVE;
    memset(order, 0, mol->n_atoms * sizeof *order);
    for (uint32_t first = 0; first < mol->n_atoms; first++) {
        uint32_t depth = 0;
        if (order[first])
            continue;
        stack[depth++] = first;
        entry[first] = NONE;
        next[first] = mol->start[first];
        order[first] = low[first] = ++n_seen;
        while (depth) {
            const uint32_t i = stack[depth - 1];
            if (next[i] < mol->start[i + 1]) {
                const struct bi_mol_near near = mol->near[next[i]++];
                if (near.bond == entry[i] || !mol->bonds[near.bond].order ||
                    mol->bonds[near.bond].order == BI_MOL_ORDER_DATIVE)
                    continue;
                if (order[near.atom]) {
                    low[i] = low[i] < order[near.atom] ? low[i] : order[near.atom];
                    continue;
                }
                entry[near.atom] = near.bond;
                next[near.atom] = mol->start[near.atom];
                order[near.atom] = low[near.atom] = ++n_seen;
                stack[depth++] = near.atom;
            } else {
                depth--;
                if (!depth)
                    continue;
                const uint32_t above = stack[depth - 1];
                low[above] = low[above] < low[i] ? low[above] : low[i];
                if (low[i] > order[above])
                    mol->bonds[entry[i]].in_ring = false;
            }
        }
    }
    for (uint32_t k = 0; k < mol->n_bonds; k++)
        if (mol->bonds[k].in_ring)
            mol->atoms[mol->bonds[k].a].in_ring = mol->atoms[mol->bonds[k].b].in_ring = true;
}

/* Numbers the ring systems: atoms that bonds in rings connect. */
static void find_systems(struct rings *r)
{
    struct bi_molecule *mol = r->mol;
    r->n_systems = 0;
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        r->system[i] = NONE;
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        uint32_t n = 0;
        if (!mol->atoms[i].in_ring || r->system[i] != NONE)
            continue;
        r->queue[n++] = i;
        r->system[i] = r->n_systems;
        while (n) {
            const uint32_t at = r->queue[--n];
            for (uint32_t k = mol->start[at]; k < mol->start[at + 1]; k++) {
                const struct bi_mol_near near = mol->near[k];
                if (mol->bonds[near.bond].in_ring && r->system[near.atom] == NONE) {
                    r->system[near.atom] = r->n_systems;
                    r->queue[n++] = near.atom;
                }
            }
        }
        r->n_systems++;
    }
}

/* ---- candidates ---- */

/* Distances from the root over bonds in rings, through atoms below the root; returns how many atoms
 * were reached, which r->queue lists by ascending distance. */
static uint32_t measure(struct rings *r, uint32_t root)
{
    const struct bi_molecule *mol = r->mol;
    uint32_t n = 0;
    r->queue[n++] = root;
    r->distance[root] = 0;
    for (uint32_t at = 0; at < n; at++) {
        const uint32_t i = r->queue[at];
        for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
            const struct bi_mol_near near = mol->near[k];
            if (mol->bonds[near.bond].in_ring && near.atom < root &&
                r->distance[near.atom] == NONE) {
                r->distance[near.atom] = r->distance[i] + 1;
                r->queue[n++] = near.atom;
            }
        }
    }
    return n;
}

static void forget(struct rings *r, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        r->distance[r->queue[k]] = NONE;
}

static int add_candidate(struct rings *r, uint32_t size, uint32_t root, uint32_t p, uint32_t q,
                         uint32_t middle, struct bioinfer_error *err)
{
    if (r->n_candidates >= MAX_CANDIDATES)
        return bi_mol_fail(r->text, err, BIOINFER_LIMIT,
                           "a ring system with more than %d "
                           "candidates for rings",
                           MAX_CANDIDATES);
    if (!bi_grow(r->mol->env, &r->candidates, &r->cap_candidates, r->n_candidates + 1,
                 sizeof *r->candidates))
        return no_memory(r, err);
    r->candidates[r->n_candidates++] = (struct candidate){size, root, p, q, middle};
    return 0;
}

/* Rings whose highest atom is the root: opposite to it lies a bond between two atoms of one
 * distance, or an atom with two neighbours that are nearer by one. */
static int find_candidates(struct rings *r, uint32_t root, struct bioinfer_error *err)
{
    const struct bi_molecule *mol = r->mol;
    const uint32_t n = measure(r, root);
    int st = 0;
    for (uint32_t at = 1; !st && at < n; at++) {
        const uint32_t y = r->queue[at], d = r->distance[y];
        for (uint32_t k = mol->start[y]; !st && k < mol->start[y + 1]; k++) {
            const struct bi_mol_near p = mol->near[k];
            if (!mol->bonds[p.bond].in_ring || r->distance[p.atom] == NONE || p.atom > root)
                continue;
            if (r->distance[p.atom] == d && p.atom < y)
                st = add_candidate(r, 2 * d + 1, root, y, p.atom, NONE, err);
            if (r->distance[p.atom] + 1 != d || d < 2)
                continue;
            for (uint32_t l = mol->start[y]; !st && l < k; l++) {
                const struct bi_mol_near q = mol->near[l];
                if (mol->bonds[q.bond].in_ring && r->distance[q.atom] != NONE &&
                    r->distance[q.atom] + 1 == d)
                    st = add_candidate(r, 2 * d, root, p.atom, q.atom, y, err);
            }
        }
    }
    forget(r, n);
    return st;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    if (x->q != y->q)
        return x->q < y->q ? -1 : 1;
    return x->middle < y->middle ? -1 : x->middle > y->middle;
}

/* ---- independence ---- */

static uint32_t bond_between(const struct bi_molecule *mol, uint32_t a, uint32_t b)
{
    for (uint32_t k = mol->start[a]; k < mol->start[a + 1]; k++)
        if (mol->near[k].atom == b)
            return mol->near[k].bond;
    return NONE;
}

static void reduce(struct rings *r, uint32_t n_rows)
{
    for (uint32_t k = 0; k < n_rows; k++)
        if (r->sum[r->pivot[k] / 64] >> r->pivot[k] % 64 & 1)
            for (uint32_t w = 0; w < r->words; w++)
                r->sum[w] ^= r->rows[(size_t)k * r->words + w];
}

/* Does the ring in r->sum depend on the first n_rows rings? Leaves what is left of it there. */
static bool depends(struct rings *r, uint32_t n_rows)
{
    reduce(r, n_rows);
    for (uint32_t w = 0; w < r->words; w++)
        if (r->sum[w])
            return false;
    return true;
}

static int add_row(struct rings *r, struct bioinfer_error *err)
{
    uint32_t w = 0, bit = 0;
    if (!bi_grow(r->mol->env, &r->rows, &r->cap_rows, ((size_t)r->n_rows + 1) * r->words,
                 sizeof *r->rows) ||
        !bi_grow(r->mol->env, &r->pivot, &r->cap_pivot, (size_t)r->n_rows + 1, sizeof *r->pivot))
        return no_memory(r, err);
    while (!r->sum[w])
        w++;
    while (!(r->sum[w] >> bit & 1))
        bit++;
    memcpy(r->rows + (size_t)r->n_rows * r->words, r->sum, r->words * sizeof *r->sum);
    r->pivot[r->n_rows++] = 64 * w + bit;
    return 0;
}

/* ---- rings ---- */

static int keep_ring(struct rings *r, uint32_t size, struct bioinfer_error *err)
{
    struct bi_molecule *mol = r->mol;
    const uint32_t begin = mol->n_rings ? mol->ring_start[mol->n_rings] : 0;
    if (!bi_grow(mol->env, &mol->ring_start, &mol->cap_rings, mol->n_rings + 2,
                 sizeof *mol->ring_start) ||
        !bi_grow(mol->env, &mol->ring_atoms, &mol->cap_ring_atoms, begin + size,
                 sizeof *mol->ring_atoms) ||
        !bi_grow(mol->env, &mol->ring_bonds, &mol->cap_ring_bonds, begin + size,
                 sizeof *mol->ring_bonds))
        return no_memory(r, err);
    for (uint32_t k = 0; k < size; k++) {
        mol->ring_atoms[begin + k] = r->path[k];
        mol->ring_bonds[begin + k] = bond_between(mol, r->path[k], r->path[(k + 1) % size]);
    }
    mol->ring_start[0] = 0;
    mol->ring_start[++mol->n_rings] = begin + size;
    return 0;
}

/* The ring in r->path: kept when it does not depend on smaller ones, counted when it does not
 * depend on any. */
static int take_ring(struct rings *r, uint32_t size, uint32_t n_smaller, struct bioinfer_error *err)
{
    int st;
    if (++r->n_tried > MAX_TRIED)
        return bi_mol_fail(r->text, err, BIOINFER_LIMIT, "a ring system with more than %d rings",
                           MAX_TRIED);
    memset(r->sum, 0, r->words * sizeof *r->sum);
    for (uint32_t k = 0; k < size; k++) {
        const uint32_t b = r->column[bond_between(r->mol, r->path[k], r->path[(k + 1) % size])];
        r->sum[b / 64] |= (uint64_t)1 << b % 64;
    }
    if (depends(r, n_smaller))
        return 0;
    if ((st = keep_ring(r, size, err)))
        return st;
    for (uint32_t k = n_smaller; k < r->n_rows; k++)
        if (r->sum[r->pivot[k] / 64] >> r->pivot[k] % 64 & 1)
            for (uint32_t w = 0; w < r->words; w++)
                r->sum[w] ^= r->rows[(size_t)k * r->words + w];
    for (uint32_t w = 0; w < r->words; w++)
        if (r->sum[w])
            return add_row(r, err);
    return 0;
}

/* The number `choice` of the shortest ways from an atom to the root is written to way[0], which is
 * the atom itself, and on; false: there are no more ways. */
static bool choose_way(const struct rings *r, uint32_t from, uint32_t root, uint32_t choice,
                       uint32_t *way)
{
    const struct bi_molecule *mol = r->mol;
    for (uint32_t i = from, at = 0;; at++) {
        uint32_t n = 0, chosen = NONE;
        way[at] = i;
        if (i == root)
            return !choice;
        for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
            const struct bi_mol_near near = mol->near[k];
            n += mol->bonds[near.bond].in_ring && near.atom <= root &&
                 r->distance[near.atom] != NONE && r->distance[near.atom] + 1 == r->distance[i];
        }
        const uint32_t wanted = choice % n;
        choice /= n;
        n = 0;
        for (uint32_t k = mol->start[i]; chosen == NONE; k++) {
            const struct bi_mol_near near = mol->near[k];
            if (mol->bonds[near.bond].in_ring && near.atom <= root &&
                r->distance[near.atom] != NONE && r->distance[near.atom] + 1 == r->distance[i] &&
                n++ == wanted)
                chosen = near.atom;
        }
        i = chosen;
    }
}

/* All rings of a candidate: each shortest way from p with each one from q that meets it in the root
 * alone. */
static int take_candidate(struct rings *r, const struct candidate *c, uint32_t n_smaller,
                          struct bioinfer_error *err)
{
    const uint32_t half = r->distance[c->p]; /* a way has half + 1 atoms and ends in the root */
    uint32_t *back = r->path + c->size + 2;
    int st = 0, n = 0;
    for (uint32_t a = 0; !st && n < MAX_PATHS && choose_way(r, c->p, c->root, a, r->path); a++)
        for (uint32_t b = 0; !st && n < MAX_PATHS && choose_way(r, c->q, c->root, b, back); b++) {
            bool apart = true;
            for (uint32_t k = 0; k < half; k++)
                apart = apart && r->path[k] != back[k];
            n++;
            if (!apart)
                continue;
            for (uint32_t k = 0; k < half; k++)
                r->path[half + 1 + k] = back[half - 1 - k];
            if (c->middle != NONE)
                r->path[2 * half + 1] = c->middle;
            st = take_ring(r, c->size, n_smaller, err);
        }
    return st;
}

/* ---- a system ---- */

/* Numbers its bonds; returns how many independent rings it has. */
static uint32_t number_bonds(struct rings *r, uint32_t system, uint32_t *n_atoms)
{
    const struct bi_molecule *mol = r->mol;
    uint32_t n_bonds = 0;
    *n_atoms = 0;
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        *n_atoms += r->system[i] == system;
    for (uint32_t k = 0; k < mol->n_bonds; k++)
        if (mol->bonds[k].in_ring && r->system[mol->bonds[k].a] == system)
            r->column[k] = n_bonds++;
    r->words = (n_bonds + 63) / 64;
    return n_bonds - *n_atoms + 1;
}

static int find_in_system(struct rings *r, uint32_t system, struct bioinfer_error *err)
{
    uint32_t n_atoms, n_smaller = 0, size = 0, root = NONE, n_reached = 0;
    const uint32_t n_independent = number_bonds(r, system, &n_atoms);
    int st = 0;
    if ((n_atoms > MAX_RING_ATOMS && n_independent > 1) || n_independent > MAX_INDEPENDENT)
        return bi_mol_fail(r->text, err, BIOINFER_LIMIT,
                           "a ring system of %u atoms and %u rings, "
                           "expected at most %d and %d",
                           n_atoms, n_independent, MAX_RING_ATOMS, MAX_INDEPENDENT);
    r->n_rows = r->n_tried = 0;
    r->n_candidates = 0;
    for (uint32_t i = 0; !st && i < r->mol->n_atoms; i++)
        if (r->system[i] == system)
            st = find_candidates(r, i, err);
    if (!st && r->n_candidates)
        qsort(r->candidates, r->n_candidates, sizeof *r->candidates, compare_candidates);
    for (size_t k = 0; !st && k < r->n_candidates; k++) {
        const struct candidate *c = &r->candidates[k];
        if (c->size != size) {
            if (r->n_rows == n_independent)
                break;
            size = c->size;
            n_smaller = r->n_rows;
        }
        if (c->root != root) {
            forget(r, n_reached);
            root = c->root;
            n_reached = measure(r, root);
        }
        st = take_candidate(r, c, n_smaller, err);
    }
    forget(r, n_reached);
    r->mol->n_sssr += r->n_rows;
    return st;
}

int bi_mol_find_rings(struct bi_molecule *mol, const struct bi_mol_text *text,
                      struct bioinfer_error *err)
{
    const size_t n = (size_t)mol->n_atoms + 1, m = (size_t)mol->n_bonds + 1;
    struct rings r = {.mol = mol, .text = text};
    uint32_t *room = bi_calloc(mol->env, 6 * n + m + 8, sizeof *room);
    int st = 0;
    mol->n_rings = mol->n_sssr = 0;
    if (!room)
        return no_memory(&r, err);
    mark_bonds(mol, room, room + n, room + 2 * n, room + 3 * n, room + 4 * n);
    r.system = room;
    r.distance = room + n;
    r.queue = room + 2 * n;
    r.path = room + 3 * n; /* a ring and a way, at most two rings long with what lies between */
    r.column = room + 6 * n + 8;
    find_systems(&r);
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        r.distance[i] = NONE;
    if (!(r.sum = bi_calloc(mol->env, m / 64 + 1, sizeof *r.sum)))
        st = no_memory(&r, err);
    for (uint32_t s = 0; !st && s < r.n_systems; s++)
        st = find_in_system(&r, s, err);
    bi_free(mol->env, room);
    bi_free(mol->env, r.sum);
    bi_free(mol->env, r.candidates);
    bi_free(mol->env, r.rows);
    bi_free(mol->env, r.pivot);
    return st;
}

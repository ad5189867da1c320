/* site.c - the atoms of a receptor, as Vina's function sees them. */
#include <math.h>
#include <string.h>

#include "rescore.h"

enum { H = 1, C = 6, N = 7, O = 8, P = 15, S = 16, SE = 34, AT = 85 };

static const double farthest = 1e6, shortest_bond = 0.4;

/* ---- elements ---- */

int bi_vina_type_of(uint32_t z)
{
    switch (z) {
    case S:
    case SE:
        return BI_VINA_S;
    case P:
        return BI_VINA_P;
    case 9:
        return BI_VINA_F;
    case 17:
        return BI_VINA_CL;
    case 35:
        return BI_VINA_BR;
    case 53:
        return BI_VINA_I;
    case 14:
        return BI_VINA_SI;
    case AT:
        return BI_VINA_AT;
    case 5:
        return BI_VINA_B;
    }
    return bi_is_metal(z) ? BI_VINA_METAL : BI_VINA_NONE;
}

/* Covalent radii by which Vina finds bonds, in angstrom. */
static double radius_of(uint8_t z)
{
    switch (z) {
    case H:
        return 0.37;
    case C:
        return 0.77;
    case N:
        return 0.75;
    case O:
        return 0.73;
    case S:
        return 1.02;
    case P:
        return 1.06;
    case 9:
        return 0.71;
    case 17:
        return 0.99;
    case 35:
        return 1.14;
    case 53:
        return 1.33;
    }
    return 0; /* metals and others bond to nothing here */
}

/* The element that the columns of an atom name; of proteins without that column the first letter of
 * the atom's name, of others a name that begins in the first column may have two. */
static uint8_t element_of(const struct bi_atom *a)
{
    const char *name = a->name;
    size_t n;
    uint8_t z;
    if (*a->element)
        return !strcmp(a->element, "D") ? H : bi_element_find(a->element, strlen(a->element));
    while (*name >= '0' && *name <= '9')
        name++;
    n = strlen(name);
    if (!bi_is_protein(a) && !a->indent && n > 1 && (z = bi_element_find(name, 2)))
        return z;
    return *name == 'D' ? H : bi_element_find(name, n > 0);
}

/* ---- atoms of the file ---- */

struct place {
    const struct bi_atom *atom;
    double x[3];
    int32_t residue;
    uint8_t element, type;
};

struct build {
    struct bi_arena arena; /* the site does not keep it */
    struct place *atoms, *sorted;
    int32_t n, n_residues;
    bool *has_h; /* [n_residues] */
    struct bi_cells cells;
};

static bool same_residue(const struct bi_atom *a, const struct bi_atom *b)
{
    return a->number == b->number && a->icode == b->icode && !strcmp(a->chain, b->chain) &&
           !strcmp(a->residue, b->residue);
}

/* The first atom after the residue that begins at `first`. */
static size_t residue_end(const struct bi_structure *s, size_t first)
{
    size_t end = first + 1;
    while (end < s->n_atoms && s->atoms[end].model == s->atoms[first].model &&
           same_residue(&s->atoms[end], &s->atoms[first]))
        end++;
    return end;
}

/* The alternate location that is taken of a residue: A, else 1, else its first one; ' ': none. */
static char alternate_of(const struct bi_structure *s, size_t first, size_t end)
{
    char found = ' ';
    for (size_t k = first; k < end && found != 'A'; k++) {
        const char at = s->atoms[k].altloc;
        if (at == 'A' || (at != ' ' && (found == ' ' || at == '1')))
            found = at;
    }
    return found;
}

static bool keeps_group(const struct bi_structure *s, size_t first, size_t end, bool hetero)
{
    return hetero || !s->atoms[first].het || bi_is_protein(&s->atoms[first]) || end == first + 1;
}

/* The number of thousandths that a file has written, of the float that it was read as. */
static double written(float x)
{
    const double thousandths = nearbyint(1000 * (double)x) / 1000;
    return (float)thousandths == x ? thousandths : (double)x;
}

static int take_atom(struct bi_site *out, struct build *b, const struct bi_structure *s,
                     const struct bi_atom *a, struct bioinfer_error *err)
{
    struct place *p = &b->atoms[b->n];
    int st = bi_atom_check(s, a, BI_FAULT_POSITION, err);
    if (st)
        return st;
    *p = (struct place){.atom = a, .residue = b->n_residues, .element = element_of(a)};
    for (int k = 0; k < 3; k++) {
        p->x[k] = written(a->x[k]);
        if (!(fabs(p->x[k]) < farthest))
            return bi_fail(err, BIOINFER_FORMAT, "%s: atom %s of %s %d lies at %g, beyond %g",
                           s->name, a->name, a->residue, (int)a->number, p->x[k], farthest);
    }
    if (p->element == H)
        b->has_h[b->n_residues] = true;
    else if (!p->element || (p->element != C && p->element != N && p->element != O &&
                             bi_vina_type_of(p->element) == BI_VINA_NONE)) {
        out->n_ignored++;
        return 0;
    }
    b->n++;
    return 0;
}

static int take_atoms(struct bi_site *out, struct build *b, const struct bi_structure *s,
                      bool hetero, struct bioinfer_error *err)
{
    int st = 0;
    for (size_t i = 0, end; !st && i < s->n_atoms && s->atoms[i].model == s->atoms[0].model;
         i = end) {
        end = residue_end(s, i);
        if (bi_is_water(&s->atoms[i]))
            continue;
        if (!keeps_group(s, i, end, hetero)) {
            out->n_hetero += (int32_t)(end - i);
            continue;
        }
        const char taken = alternate_of(s, i, end);
        for (size_t k = i; !st && k < end; k++)
            if (s->atoms[k].altloc == ' ' || s->atoms[k].altloc == taken)
                st = take_atom(out, b, s, &s->atoms[k], err);
            else
                out->n_alternates++;
        b->n_residues++;
    }
    return st;
}

/* ---- cubes ---- */

static int32_t clamp(double at, int32_t n)
{
    return at < 0 ? 0 : at >= n ? n - 1 : (int32_t)at;
}

bool bi_cells_range(const struct bi_cells *c, const double x[3], double radius, int32_t from[3],
                    int32_t to[3])
{
    for (int k = 0; k < 3; k++) {
        const double low = floor((x[k] - radius - c->low[k]) / c->edge),
                     high = floor((x[k] + radius - c->low[k]) / c->edge);
        if (!(high >= 0 && low < c->n[k]))
            return false;
        from[k] = clamp(low, c->n[k]);
        to[k] = clamp(high, c->n[k]);
    }
    return true;
}

static int32_t cell_of(const struct bi_cells *c, const double x[3])
{
    int32_t at[3];
    for (int k = 0; k < 3; k++)
        at[k] = clamp(floor((x[k] - c->low[k]) / c->edge), c->n[k]);
    return (at[2] * c->n[1] + at[1]) * c->n[0] + at[0];
}

/* Chooses cubes: of 4 angstrom, or larger ones where the atoms lie far apart. */
static void choose_cells(struct bi_cells *c, const struct place *atoms, int32_t n)
{
    double high[3] = {0}, count;
    for (int k = 0; k < 3; k++) {
        c->low[k] = INFINITY;
        high[k] = -INFINITY;
        for (int32_t i = 0; i < n; i++) {
            c->low[k] = fmin(c->low[k], atoms[i].x[k]);
            high[k] = fmax(high[k], atoms[i].x[k]);
        }
    }
    c->edge = 4;
    do {
        count = 1;
        for (int k = 0; k < 3; k++)
            count *= floor((high[k] - c->low[k]) / c->edge) + 1;
        c->edge *= 2;
    } while (count > 16.0 * n + 4096);
    c->edge /= 2;
    for (int k = 0; k < 3; k++)
        c->n[k] = (int32_t)floor((high[k] - c->low[k]) / c->edge) + 1;
}

/* Sorts atoms into cubes: sorted[] is in their order then, and within one in the file's. */
static bool sort_atoms(struct build *b, struct bi_arena *arena, struct place *sorted)
{
    struct bi_cells *c = &b->cells;
    choose_cells(c, b->atoms, b->n);
    const int32_t n_cells = c->n[0] * c->n[1] * c->n[2];
    if (!(c->start = bi_arena_calloc(arena, (size_t)n_cells + 2, sizeof *c->start)))
        return false;
    for (int32_t i = 0; i < b->n; i++)
        c->start[cell_of(c, b->atoms[i].x) + 2]++;
    for (int32_t k = 2; k < n_cells + 2; k++)
        c->start[k] += c->start[k - 1];
    for (int32_t i = 0; i < b->n; i++)
        sorted[c->start[cell_of(c, b->atoms[i].x) + 1]++] = b->atoms[i];
    return true;
}

/* ---- types ---- */

struct bonded {
    int n_h, n_heavy, n_hetero;
};

/* Counts atoms within 1.1 times the sum of two covalent radii, as Vina finds bonds. */
static struct bonded find_bonded(const struct build *b, const struct place *p)
{
    const struct bi_cells *c = &b->cells;
    struct bonded out = {0, 0, 0};
    int32_t from[3], to[3];
    bi_cells_range(c, p->x, 3, from, to);
    for (int32_t k = from[2]; k <= to[2]; k++)
        for (int32_t j = from[1]; j <= to[1]; j++) {
            const int32_t row = (k * c->n[1] + j) * c->n[0];
            for (int32_t i = c->start[row + from[0]]; i < c->start[row + to[0] + 1]; i++) {
                const struct place *q = &b->sorted[i];
                const double most = 1.1 * (radius_of(p->element) + radius_of(q->element));
                double r2 = 0;
                for (int a = 0; a < 3; a++)
                    r2 += (p->x[a] - q->x[a]) * (p->x[a] - q->x[a]);
                if (q == p || !radius_of(q->element) || r2 >= most * most ||
                    r2 < shortest_bond * shortest_bond)
                    continue;
                out.n_h += q->element == H;
                out.n_heavy += q->element != H;
                out.n_hetero += q->element != H && q->element != C;
            }
        }
    return out;
}

/* Atoms of side chains that bear hydrogens, and whether they accept none. HIS is taken for HIE. */
static const struct {
    char residue[4], name[4];
    bool accepts_none;
} templates[] = {
    {"SER", "OG", false},  {"THR", "OG1", false}, {"TYR", "OH", false},  {"LYS", "NZ", true},
    {"ARG", "NE", true},   {"ARG", "NH1", true},  {"ARG", "NH2", true},  {"ASN", "ND2", true},
    {"GLN", "NE2", true},  {"TRP", "NE1", true},  {"HIS", "NE2", false}, {"HID", "ND1", false},
    {"HIE", "NE2", false}, {"HIP", "ND1", false}, {"HIP", "NE2", false}, {"HSD", "ND1", false},
    {"HSE", "NE2", false}, {"HSP", "ND1", false}, {"HSP", "NE2", false}};

static int template_of(const struct bi_atom *a)
{
    for (size_t i = 0; i < BI_COUNT(templates); i++)
        if (!strcmp(a->name, templates[i].name) && !strcmp(a->residue, templates[i].residue))
            return (int)i;
    return -1;
}

/* The type of a nitrogen or oxygen. */
static int polar_type(const struct build *b, const struct place *p, const struct bonded *near)
{
    const bool protein = bi_is_protein(p->atom), backbone = !strcmp(p->atom->name, "N");
    const int row = protein ? template_of(p->atom) : -1;
    bool donor = near->n_h > 0, accepts;
    if (!b->has_h[p->residue] && protein)
        donor = row >= 0 ||
                (backbone && (strcmp(p->atom->residue, "PRO") != 0 || near->n_heavy < 3));
    if (p->element == O)
        return donor ? BI_VINA_O_DA : BI_VINA_O_A;
    accepts = protein ? !backbone && !donor && (row < 0 || !templates[row].accepts_none)
                      : near->n_h + near->n_heavy < 3 && !donor;
    return accepts ? BI_VINA_N_A : donor ? BI_VINA_N_D : BI_VINA_N_P;
}

static int type_of(const struct build *b, const struct place *p)
{
    struct bonded near;
    if (p->element != C && p->element != N && p->element != O)
        return bi_vina_type_of(p->element);
    near = find_bonded(b, p);
    if (p->element == C)
        return near.n_hetero ? BI_VINA_C_P : BI_VINA_C_H;
    return polar_type(b, p, &near);
}

/* ---- the site ---- */

static void count_bare(struct bi_site *out, const struct build *b)
{
    for (int32_t i = 0; i < b->n; i++)
        if (!i || b->atoms[i].residue != b->atoms[i - 1].residue)
            out->n_bare += !b->has_h[b->atoms[i].residue] && bi_is_protein(b->atoms[i].atom);
}

/* Copies heavy atoms, with types, cube by cube. */
static int copy_atoms(struct bi_site *out, struct build *b, const struct bi_structure *s,
                      struct bioinfer_error *err)
{
    const struct build all = *b;
    struct place *heavy = b->atoms;
    int32_t n = 0;
    for (int32_t i = 0; i < all.n; i++)
        if (all.sorted[i].element != H) {
            heavy[n] = all.sorted[i];
            heavy[n++].type = (uint8_t)type_of(&all, &all.sorted[i]);
        }
    if (!n)
        return bi_fail(err, BIOINFER_EMPTY, "%s: no heavy atom of a protein, a metal or a group",
                       s->name);
    b->n = n;
    out->n = n;
    if (!(out->x = bi_arena_calloc(&out->arena, (size_t)n, sizeof *out->x)) ||
        !(out->type = bi_arena_alloc(&out->arena, (size_t)n)) ||
        !(out->element = bi_arena_alloc(&out->arena, (size_t)n)) ||
        !sort_atoms(b, &out->arena, b->sorted))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %d atoms", s->name, (int)n);
    out->cells = b->cells;
    for (int32_t i = 0; i < n; i++) {
        memcpy(out->x[i], b->sorted[i].x, sizeof *out->x);
        out->type[i] = b->sorted[i].type;
        out->element[i] = b->sorted[i].element;
    }
    return 0;
}

int bi_site_build(struct bi_site *out, const struct bi_structure *s, bool hetero,
                  struct bioinfer_error *err)
{
    struct build b = {.arena = {.env = out->arena.env}};
    int st = 0;
    if (!(b.atoms = bi_arena_calloc(&b.arena, s->n_atoms + 1, sizeof *b.atoms)) ||
        !(b.sorted = bi_arena_calloc(&b.arena, s->n_atoms + 1, sizeof *b.sorted)) ||
        !(b.has_h = bi_arena_calloc(&b.arena, s->n_atoms + 1, sizeof *b.has_h)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: %zu atoms", s->name, s->n_atoms);
    if (!st)
        st = take_atoms(out, &b, s, hetero, err);
    if (!st && !b.n)
        st = bi_fail(err, BIOINFER_EMPTY, "%s: no atom of a protein, a metal or a group", s->name);
    if (!st && !sort_atoms(&b, &b.arena, b.sorted))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: %zu atoms", s->name, s->n_atoms);
    if (!st) {
        count_bare(out, &b);
        st = copy_atoms(out, &b, s, err);
    }
    bi_arena_reset(&b.arena);
    return st;
}

void bi_site_tell(const struct bi_env *env, const char *path, const struct bi_structure *s,
                  const struct bi_site *site)
{
    if (s->n_models > 1)
        bi_log(env, BIOINFER_LOG_NAMED, "%s: the first of %d models is read", path,
               (int)s->n_models);
    if (site->n_hetero)
        bi_log(env, BIOINFER_LOG_INFO,
               "%s: %d atoms of HETATM groups are left out; --hetero keeps co-factors", path,
               (int)site->n_hetero);
    if (site->n_ignored)
        bi_log(env, BIOINFER_LOG_NAMED,
               "%s: %d atoms are left out: Vina's function does not know their elements", path,
               (int)site->n_ignored);
    if (site->n_alternates)
        bi_log(env, BIOINFER_LOG_INFO, "%s: %d atoms of further alternate locations are left out",
               path, (int)site->n_alternates);
    if (site->n_bare)
        bi_log(env, BIOINFER_LOG_INFO,
               "%s: %d residues have no hydrogens: their donors are told by names, HIS as HIE",
               path, (int)site->n_bare);
}

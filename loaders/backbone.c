/* backbone.c - chains of residues out of atoms, by the rules of the two reference parsers.
 * Source: dauparas/ProteinMPNN:protein_mpnn_utils.py, parse_PDB_biounits;
 * dauparas/LigandMPNN:data_utils.py, parse_PDB */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "structure.h"

static const struct {
    const char *name;
    char letter;
} residues[] = {{"ALA", 'A'}, {"ARG", 'R'}, {"ASN", 'N'}, {"ASP", 'D'}, {"CYS", 'C'},
                {"GLN", 'Q'}, {"GLU", 'E'}, {"GLY", 'G'}, {"HIS", 'H'}, {"ILE", 'I'},
                {"LEU", 'L'}, {"LYS", 'K'}, {"MET", 'M'}, {"PHE", 'F'}, {"PRO", 'P'},
                {"SER", 'S'}, {"THR", 'T'}, {"TRP", 'W'}, {"TYR", 'Y'}, {"VAL", 'V'}};

static char letter_of(const char *name)
{
    for (size_t i = 0; i < BI_COUNT(residues); i++)
        if (!strcmp(residues[i].name, name))
            return residues[i].letter;
    return '-';
}

/* One atom of a chain on its way into order. */
struct entry {
    const struct bi_atom *atom;
    size_t at, place;   /* in the file: the atom, and its residue */
    uint32_t by_number; /* the index of the residue in the chain, sorted by number */
};

/* By number, insertion code (none first), place in the file. */
static int by_number(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->atom->number != y->atom->number)
        return x->atom->number < y->atom->number ? -1 : 1;
    if (x->atom->icode != y->atom->icode)
        return x->atom->icode < y->atom->icode ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* By place of the residue, then of the atom. */
static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool same_residue(const struct entry *a, const struct entry *b)
{
    return a->atom->number == b->atom->number && a->atom->icode == b->atom->icode;
}

static bool is_named(const struct entry *e, const char *name)
{
    return !strcmp(e->atom->name, name);
}

/* Fills in where the residues of entries stand, which are sorted by number: their first CA, or
 * first atom where there is none. */
static void place_residues(struct entry *e, size_t n)
{
    uint32_t residue = 0;
    for (size_t i = 0, end; i < n; i = end, residue++) {
        const struct entry *found = NULL;
        for (end = i; end < n && same_residue(&e[end], &e[i]); end++)
            if (!found && is_named(&e[end], "CA"))
                found = &e[end];
        for (size_t k = i; k < end; k++) {
            e[k].place = found ? found->at : e[i].at;
            e[k].by_number = residue;
        }
    }
}

/* Residues whose N is within 2 angstrom of the C of the residue before, in the order of entries. */
static size_t count_bonds(const struct entry *e, size_t n)
{
    const float *before = NULL;
    size_t bonds = 0;
    for (size_t i = 0, end; i < n; i = end) {
        const float *c = NULL, *to = NULL;
        for (end = i; end < n && same_residue(&e[end], &e[i]); end++) {
            if (!c && is_named(&e[end], "C"))
                c = e[end].atom->x;
            if (!to && is_named(&e[end], "N"))
                to = e[end].atom->x;
        }
        if (before && to) {
            const float x = before[0] - to[0], y = before[1] - to[1], z = before[2] - to[2];
            bonds += x * x + y * y + z * z < 4;
        }
        before = c;
    }
    return bonds;
}

/* Puts entries, which are sorted by number, into the order asked for, and counts what that moves.
 */
static void put_in_order(struct bi_backbone *b, const char *chain, struct entry *e, size_t n)
{
    bool same = true;
    size_t bonds;
    uint32_t at = 0;
    place_residues(e, n);
    for (size_t i = 1; i < n; i++)
        same &= e[i].place >= e[i - 1].place;
    if (same)
        return;
    bonds = count_bonds(e, n);
    qsort(e, n, sizeof *e, by_place);
    for (size_t i = 0; i < n; i++) {
        at += i && e[i].place != e[i - 1].place;
        if ((i && e[i].place == e[i - 1].place) || e[i].by_number == at)
            continue;
        if (!b->n_moved++)
            snprintf(b->first_moved, sizeof b->first_moved, "%s%d%.1s", chain, e[i].atom->number,
                     e[i].atom->icode == ' ' ? "" : &e[i].atom->icode);
    }
    b->n_bonds_number += bonds;
    b->n_bonds_file += count_bonds(e, n);
    if (!b->by_file)
        qsort(e, n, sizeof *e, by_number);
}

static struct bi_residue empty_residue(int32_t number, char icode, bool gap)
{
    struct bi_residue r = {.letter = '-', .icode = icode, .gap = gap, .number = number};
    for (int a = 0; a < BI_BACKBONE; a++)
        for (int i = 0; i < 3; i++)
            r.x[a][i] = NAN;
    return r;
}

static void place_atom(struct bi_backbone *b, struct bi_residue *r, const struct bi_atom *atom)
{
    static const char *const names[BI_BACKBONE] = {"N", "CA", "C", "O"};
    for (int a = 0; a < BI_BACKBONE; a++) {
        if (strcmp(names[a], atom->name))
            continue;
        if (isnan(r->x[a][0]))
            memcpy(r->x[a], atom->x, sizeof r->x[a]);
        else
            b->n_altlocs++;
    }
}

static bool is_mse(const struct bi_atom *a)
{
    return a->het && !strcmp(a->residue, "MSE");
}

/* Is the entry an atom of a residue of the chain? Which residues those are is for has_ca. */
static bool belongs(const struct bi_atom *a, const struct bi_structure *s,
                    enum bi_backbone_rules rules)
{
    return rules == BI_RULES_LIGAND ? bi_is_read(a, s) && bi_is_protein(a) : !a->het || is_mse(a);
}

/* Is it an atom that the rules read past, and of what is neither protein nor water? */
static bool is_other(const struct bi_atom *a, const struct bi_structure *s,
                     enum bi_backbone_rules rules)
{
    return !bi_is_water(a) &&
           (rules == BI_RULES_GAPS ? a->het && !is_mse(a) : bi_is_read(a, s) && !bi_is_protein(a));
}

/* Entries [0, n) without the residues that have no CA, which are counted; the number that stay. */
static size_t drop_without_ca(struct bi_backbone *b, struct entry *e, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < n; i = end) {
        bool ca = false;
        for (end = i; end < n && same_residue(&e[end], &e[i]); end++)
            ca |= is_named(&e[end], "CA");
        b->n_without_ca += !ca;
        for (size_t k = i; ca && k < end; k++)
            e[kept++] = e[k];
    }
    return kept;
}

/* How many residues the entries of a chain are, with the gaps between them. */
static int64_t count_residues(const struct entry *e, size_t n, bool gaps)
{
    int64_t count = n > 0;
    for (size_t i = 1; i < n; i++) {
        const int64_t step = (int64_t)e[i].atom->number - e[i - 1].atom->number;
        if (!same_residue(&e[i], &e[i - 1]))
            count += gaps && step > 1 ? step : 1;
    }
    return count;
}

/* Fills one residue from the entries that begin with *e; gives how many they are. */
static size_t fill_residue(struct bi_backbone *b, const struct bi_chain *chain,
                           struct bi_residue *r, const struct entry *e, size_t n, bool gaps)
{
    size_t i = 0;
    *r = empty_residue(e->atom->number, e->atom->icode, false);
    r->letter = letter_of(gaps && is_mse(e->atom) ? "MET" : e->atom->residue);
    b->n_unknown += r->letter == '-';
    b->n_icodes += r->icode != ' ';
    b->n_mse += gaps && is_mse(e->atom);
    for (; i < n && same_residue(&e[i], e); i++)
        place_atom(b, r, e[i].atom);
    if (isnan(r->x[0][0]) || isnan(r->x[1][0]) || isnan(r->x[2][0]) || isnan(r->x[3][0])) {
        if (!b->n_missing++)
            snprintf(b->first_missing, sizeof b->first_missing, "%s%d%.1s", chain->id, r->number,
                     r->icode == ' ' ? "" : &r->icode);
    }
    return i;
}

/* Atoms of one chain, residues in their order, into its residues. */
static int fill_chain(struct bi_backbone *b, struct bi_chain *chain, const struct entry *e,
                      size_t n, enum bi_backbone_rules rules, const char *name,
                      struct bioinfer_error *err)
{
    const bool gaps = rules == BI_RULES_GAPS;
    const int64_t count = count_residues(e, n, gaps);
    size_t at = 0, n_numbered = 0;
    if (count > BI_MAX_RESIDUES)
        return bi_fail(err, BIOINFER_LIMIT,
                       "%s: chain %s: residue numbers %d to %d; absent ones "
                       "count as gaps, and a chain has at most %d residues",
                       name, chain->id, e[0].atom->number, e[n - 1].atom->number, BI_MAX_RESIDUES);
    for (size_t i = 0; i < n; i++)
        n_numbered = e[i].by_number >= n_numbered ? (size_t)e[i].by_number + 1 : n_numbered;
    if (!(chain->residues = bi_calloc(b->env, (size_t)count, sizeof *chain->residues)) ||
        !(chain->by_number = bi_calloc(b->env, n_numbered, sizeof *chain->by_number)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: chain %s of %lld residues", name, chain->id,
                       (long long)count);
    chain->n = (size_t)count;
    chain->n_numbered = n_numbered;
    for (size_t i = 0; i < n;) {
        const int32_t number = e[i].atom->number;
        while (gaps && at && chain->residues[at - 1].number < number - 1) {
            int32_t absent = chain->residues[at - 1].number + 1;
            chain->residues[at++] = empty_residue(absent, ' ', true);
            b->n_gaps++;
        }
        chain->by_number[e[i].by_number] = (uint32_t)at;
        i += fill_residue(b, chain, &chain->residues[at++], &e[i], n - i, gaps);
    }
    return 0;
}

const struct bi_residue *bi_chain_find(const struct bi_chain *chain, int32_t number, char icode)
{
    size_t low = 0, high = chain->n_numbered;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct bi_residue *r = &chain->residues[chain->by_number[middle]];
        if (r->number == number && r->icode == icode)
            return r;
        if (r->number < number || (r->number == number && r->icode < icode))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

enum { RANK_OTHER = 62, RANK_NONE };

/* Rank of a chain's name: A-Z, a-z, 0-9; other names, and none, where they are read; -1: it is not
 * read. */
static int rank_of(const char *id, bool any, bool none)
{
    if (id[0] && !id[1]) {
        if (id[0] >= 'A' && id[0] <= 'Z')
            return id[0] - 'A';
        if (id[0] >= 'a' && id[0] <= 'z')
            return 26 + id[0] - 'a';
        if (id[0] >= '0' && id[0] <= '9')
            return 52 + id[0] - '0';
    }
    return id[0] && any ? RANK_OTHER : !id[0] && none ? RANK_NONE : -1;
}

static bool is_backbone(const struct bi_atom *a)
{
    return !strcmp(a->name, "N") || !strcmp(a->name, "CA") || !strcmp(a->name, "C") ||
           !strcmp(a->name, "O");
}

/* Fails where a residue is there twice: two residues that share a number would become one. */
static int check_twice(const struct bi_structure *s, const struct entry *e, size_t n,
                       struct bioinfer_error *err)
{
    const struct entry *ca = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!is_named(&e[i], "CA"))
            continue;
        if (ca && same_residue(ca, &e[i]) && ca->atom->altloc == e[i].atom->altloc)
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: chain '%s': residue %d%.1s has two CA atoms: expected one, or "
                           "alternate locations",
                           s->name, ca->atom->chain, ca->atom->number,
                           ca->atom->icode == ' ' ? "" : &ca->atom->icode);
        ca = &e[i];
    }
    return 0;
}

/* How many protein residues of the first model have a CA, and none that is read. */
static size_t count_unread(const struct bi_backbone *b, const struct bi_structure *s)
{
    const struct bi_atom *last = NULL;
    size_t n = 0, chain = 0;
    for (size_t i = 0; i < s->n_atoms; i++) {
        const struct bi_atom *a = &s->atoms[i];
        if (strcmp(a->name, "CA") || !bi_is_protein(a) || a->model != s->atoms[0].model ||
            bi_is_read(a, s) || a->faults)
            continue;
        if (chain >= b->n_chains || strcmp(b->chains[chain].id, a->chain))
            for (chain = 0; chain < b->n_chains && strcmp(b->chains[chain].id, a->chain);)
                chain++;
        if (chain < b->n_chains && bi_chain_find(&b->chains[chain], a->number, a->icode))
            continue;
        n += !last || last->number != a->number || last->icode != a->icode ||
             strcmp(last->chain, a->chain);
        last = a;
    }
    return n;
}

static int add_chain(struct bi_backbone *b, const char *id, const struct bi_structure *s,
                     enum bi_backbone_rules rules, struct entry *e, struct bioinfer_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_atoms; i++) {
        const struct bi_atom *a = &s->atoms[i];
        int st;
        if (!belongs(a, s, rules) || strcmp(a->chain, id))
            continue;
        if ((st = bi_atom_check(
                 s, a, BI_FAULT_NUMBER | BI_FAULT_CHAIN | (is_backbone(a) ? BI_FAULT_POSITION : 0),
                 err)))
            return st;
        e[n++] = (struct entry){.atom = a, .at = i};
    }
    qsort(e, n, sizeof *e, by_number);
    if (rules == BI_RULES_LIGAND) {
        const int st = check_twice(s, e, n, err);
        if (st)
            return st;
        n = drop_without_ca(b, e, n);
    }
    if (!n)
        return 0;
    put_in_order(b, id, e, n);
    if (!bi_grow(b->env, &b->chains, &b->cap_chains, b->n_chains + 1, sizeof *b->chains))
        return bi_fail(err, BIOINFER_NOMEM, "%s: chains", s->name);
    b->chains[b->n_chains] = (struct bi_chain){0};
    memcpy(b->chains[b->n_chains].id, id, sizeof b->chains[0].id);
    return fill_chain(b, &b->chains[b->n_chains++], e, n, rules, s->name, err);
}

int bi_backbone_build(struct bi_backbone *out, const struct bi_structure *s,
                      enum bi_backbone_rules rules, enum bi_residue_order order,
                      struct bioinfer_error *err)
{
    enum { MAX_CHAINS = 4096 };
    struct bi_backbone b = {.env = s->env, .n_models = s->n_models};
    const bool none = rules == BI_RULES_LIGAND;
    const bool any = none || (s->format && !strcmp(s->format, "mmCIF"));
    char(*ids)[8] = NULL;
    size_t n_ids = 0, cap = 0, n_residues = 0;
    struct entry *e = bi_calloc(s->env, s->n_atoms + 1, sizeof *e);
    int st = e ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: %zu atoms", s->name, s->n_atoms);
    b.one_model = none;
    b.by_file = order == BI_ORDER_FILE || (order == BI_ORDER_OF_RULES && none);
    for (size_t i = 0; !st && i < s->n_atoms; i++) {
        const struct bi_atom *a = &s->atoms[i];
        bool seen = i && !strcmp(a->chain, s->atoms[i - 1].chain);
        bool first = !i || a->number != s->atoms[i - 1].number || !seen ||
                     a->icode != s->atoms[i - 1].icode;
        if (!belongs(a, s, rules)) {
            b.n_other += first && is_other(a, s, rules);
            continue;
        }
        if (rank_of(a->chain, any, none) < 0) {
            b.n_unnamed += first;
            continue;
        }
        for (size_t k = 0; k < n_ids; k++)
            if (!strcmp(ids[k], a->chain)) {
                seen = true;
                break;
            } else {
                seen = false;
            }
        if (n_ids && seen)
            continue;
        if (n_ids == MAX_CHAINS)
            st = bi_fail(err, BIOINFER_LIMIT, "%s: more than %d chains", s->name, MAX_CHAINS);
        else if (!bi_grow(s->env, &ids, &cap, n_ids + 1, sizeof *ids))
            st = bi_fail(err, BIOINFER_NOMEM, "%s: chains", s->name);
        else
            memcpy(ids[n_ids++], a->chain, sizeof *ids);
    }
    for (int rank = 0; !st && rank <= RANK_NONE; rank++)
        for (size_t k = 0; !st && k < n_ids; k++)
            if (rank_of(ids[k], any, none) == rank)
                st = add_chain(&b, ids[k], s, rules, e, err);
    if (!st && rules == BI_RULES_LIGAND)
        b.n_unread = count_unread(&b, s);
    for (size_t k = 0; k < b.n_chains; k++)
        n_residues += b.chains[k].n;
    if (!st && !b.n_chains)
        st = bi_fail(err, BIOINFER_EMPTY,
                     "%s: no protein chain with a name (%zu residues without "
                     "one, %zu of neither protein nor water)",
                     s->name, b.n_unnamed, b.n_other);
    if (!st && n_residues > BI_MAX_RESIDUES)
        st = bi_fail(err, BIOINFER_LIMIT, "%s: %zu residues, at most %d", s->name, n_residues,
                     BI_MAX_RESIDUES);
    bi_free(s->env, ids);
    bi_free(s->env, e);
    if (st)
        bi_backbone_free(&b);
    *out = b;
    return st;
}

void bi_backbone_free(struct bi_backbone *b)
{
    if (!b->env)
        return;
    for (size_t i = 0; i < b->n_chains; i++) {
        bi_free(b->env, b->chains[i].residues);
        bi_free(b->env, b->chains[i].by_number);
    }
    bi_free(b->env, b->chains);
    *b = (struct bi_backbone){0};
}

void bi_backbone_describe(const struct bi_backbone *b, struct bi_buf *out)
{
    const char *sep = "";
#define SAY(n, ...)                                                                                \
    if (n) {                                                                                       \
        bi_buf_puts(out, sep);                                                                     \
        bi_buf_printf(out, __VA_ARGS__);                                                           \
        sep = "; ";                                                                                \
    }
    SAY(b->n_missing, "%zu residues lack a backbone atom and are masked (first %s)", b->n_missing,
        b->first_missing)
    SAY(b->n_gaps, "%zu absent residue numbers are gaps (X)", b->n_gaps)
    SAY(b->n_unknown, "%zu residues of other names are X", b->n_unknown)
    SAY(b->n_icodes, "%zu residues with insertion codes", b->n_icodes)
    SAY(b->n_mse, "%zu MSE read as MET", b->n_mse)
    SAY(b->n_altlocs, "%zu repeated backbone atoms (alternates, later models): the first counts",
        b->n_altlocs)
    SAY(b->n_unread,
        "%zu residues left out whose alternate location is neither none nor A, or whose occupancy "
        "is 0",
        b->n_unread)
    SAY(b->n_without_ca,
        "%zu residues of a protein have no CA that is read: they are no part of a chain",
        b->n_without_ca)
    SAY(b->n_models > 1, "%d models: %s", (int)b->n_models,
        b->one_model ? "the first is read"
                     : "all are read as one, in which the first of repeated atoms counts")
    SAY(b->n_unnamed, "%zu residues in chains without a usable name left out", b->n_unnamed)
#undef SAY
}

void bi_backbone_describe_order(const struct bi_backbone *b, struct bi_buf *out)
{
    if (b->n_moved && !b->by_file)
        bi_buf_printf(out,
                      "residues are sorted by number and insertion code, which moves %zu of them "
                      "away from their place in the file (first %s); by number %zu of these "
                      "chains' residues are bonded to the one before, in the file's order %zu",
                      b->n_moved, b->first_moved, b->n_bonds_number, b->n_bonds_file);
    else if (b->n_moved && b->n_bonds_number > b->n_bonds_file)
        bi_buf_printf(out,
                      "residues are in the order of the file, where %zu of them do not stand by "
                      "their numbers (first %s); by number %zu of these chains' residues are "
                      "bonded to the one before, in the file's order %zu",
                      b->n_moved, b->first_moved, b->n_bonds_number, b->n_bonds_file);
}

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
    size_t at;
};

/* By number, insertion code (none first), place in the file. */
static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->atom->number != y->atom->number)
        return x->atom->number < y->atom->number ? -1 : 1;
    if (x->atom->icode != y->atom->icode)
        return x->atom->icode < y->atom->icode ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool same_residue(const struct entry *a, const struct entry *b)
{
    return a->atom->number == b->atom->number && a->atom->icode == b->atom->icode;
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

/* Entries [0, n) without the residues that have no CA; the number that stay. */
static size_t drop_without_ca(struct entry *e, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < n; i = end) {
        bool ca = false;
        for (end = i; end < n && same_residue(&e[end], &e[i]); end++)
            ca |= !strcmp(e[end].atom->name, "CA");
        for (size_t k = i; ca && k < end; k++)
            e[kept++] = e[k];
    }
    return kept;
}

/* Sorted atoms of one chain into its residues. */
static int fill_chain(struct bi_backbone *b, struct bi_chain *chain, const struct entry *e,
                      size_t n, enum bi_backbone_rules rules, const char *name,
                      struct bioinfer_error *err)
{
    const bool gaps = rules == BI_RULES_GAPS;
    int64_t span = (int64_t)e[n - 1].atom->number - e[0].atom->number + 1;
    size_t groups = 1, numbers = 1, at = 0;
    for (size_t i = 1; i < n; i++) {
        groups += !same_residue(&e[i], &e[i - 1]);
        numbers += e[i].atom->number != e[i - 1].atom->number;
    }
    if (!gaps)
        span = (int64_t)numbers;
    if (span + (int64_t)(groups - numbers) > BI_MAX_RESIDUES)
        return bi_fail(err, BIOINFER_LIMIT,
                       "%s: chain %s: residue numbers %d to %d; absent ones "
                       "count as gaps, and a chain has at most %d residues",
                       name, chain->id, e[0].atom->number, e[n - 1].atom->number, BI_MAX_RESIDUES);
    chain->n = (size_t)span + groups - numbers;
    if (!(chain->residues = bi_calloc(b->env, chain->n, sizeof *chain->residues)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: chain %s of %zu residues", name, chain->id,
                       chain->n);
    for (size_t i = 0; i < n;) {
        struct bi_residue *r;
        int32_t number = e[i].atom->number;
        while (gaps && i && at && chain->residues[at - 1].number < number - 1) {
            int32_t absent = chain->residues[at - 1].number + 1;
            chain->residues[at++] = empty_residue(absent, ' ', true);
            b->n_gaps++;
        }
        r = &chain->residues[at++];
        *r = empty_residue(number, e[i].atom->icode, false);
        r->letter = letter_of(gaps && is_mse(e[i].atom) ? "MET" : e[i].atom->residue);
        b->n_unknown += r->letter == '-';
        b->n_icodes += r->icode != ' ';
        b->n_mse += gaps && is_mse(e[i].atom);
        for (size_t first = i; i < n && same_residue(&e[i], &e[first]); i++)
            place_atom(b, r, e[i].atom);
        if (isnan(r->x[0][0]) || isnan(r->x[1][0]) || isnan(r->x[2][0]) || isnan(r->x[3][0])) {
            if (!b->n_missing++)
                snprintf(b->first_missing, sizeof b->first_missing, "%s%d%.1s", chain->id, number,
                         r->icode == ' ' ? "" : &r->icode);
        }
    }
    return 0;
}

/* Rank of a chain's name: A-Z, a-z, 0-9; longer names behind; -1: never read. */
static int rank_of(const char *id, bool any)
{
    if (id[0] && !id[1]) {
        if (id[0] >= 'A' && id[0] <= 'Z')
            return id[0] - 'A';
        if (id[0] >= 'a' && id[0] <= 'z')
            return 26 + id[0] - 'a';
        if (id[0] >= '0' && id[0] <= '9')
            return 52 + id[0] - '0';
    }
    return id[0] && any ? 62 : -1;
}

static int add_chain(struct bi_backbone *b, const char *id, const struct bi_structure *s,
                     enum bi_backbone_rules rules, struct entry *e, struct bioinfer_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_atoms; i++)
        if (belongs(&s->atoms[i], s, rules) && !strcmp(s->atoms[i].chain, id))
            e[n++] = (struct entry){&s->atoms[i], i};
    qsort(e, n, sizeof *e, compare);
    if (rules == BI_RULES_LIGAND)
        n = drop_without_ca(e, n);
    if (!n)
        return 0;
    if (!bi_grow(b->env, &b->chains, &b->cap_chains, b->n_chains + 1, sizeof *b->chains))
        return bi_fail(err, BIOINFER_NOMEM, "%s: chains", s->name);
    b->chains[b->n_chains] = (struct bi_chain){0};
    memcpy(b->chains[b->n_chains].id, id, sizeof b->chains[0].id);
    return fill_chain(b, &b->chains[b->n_chains++], e, n, rules, s->name, err);
}

int bi_backbone_build(struct bi_backbone *out, const struct bi_structure *s,
                      enum bi_backbone_rules rules, struct bioinfer_error *err)
{
    enum { MAX_CHAINS = 4096 };
    struct bi_backbone b = {.env = s->env, .n_models = s->n_models};
    bool any = s->format && !strcmp(s->format, "mmCIF");
    char(*ids)[8] = NULL;
    size_t n_ids = 0, cap = 0, n_residues = 0;
    struct entry *e = bi_calloc(s->env, s->n_atoms + 1, sizeof *e);
    int st = e ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: %zu atoms", s->name, s->n_atoms);
    for (size_t i = 0; !st && i < s->n_atoms; i++) {
        const struct bi_atom *a = &s->atoms[i];
        bool seen = i && !strcmp(a->chain, s->atoms[i - 1].chain);
        bool first = !i || a->number != s->atoms[i - 1].number || !seen ||
                     a->icode != s->atoms[i - 1].icode;
        if (!belongs(a, s, rules)) {
            b.n_other += first && is_other(a, s, rules);
            continue;
        }
        if (rank_of(a->chain, any) < 0) {
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
    for (int rank = 0; !st && rank <= 62; rank++)
        for (size_t k = 0; !st && k < n_ids; k++)
            if (rank_of(ids[k], any) == rank)
                st = add_chain(&b, ids[k], s, rules, e, err);
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
    for (size_t i = 0; i < b->n_chains; i++)
        bi_free(b->env, b->chains[i].residues);
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
    SAY(b->n_models > 1, "%d models", (int)b->n_models)
    SAY(b->n_unnamed, "%zu residues in chains without a usable name left out", b->n_unnamed)
#undef SAY
}

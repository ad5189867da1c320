/* tokens.c - Protenix: tokens and atoms of a job's chains (tokens.h).
 *
 * Sections: components, atoms that leave, tokens, bonds, chains, frames, features. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokens.h"

/* ---- what is known of components ---- */

/* Usual residues and bases in the order of kinds. Seen: the atom by which distances are told. */
static const struct usual {
    const char *code, *seen;
    char letter;
} usual[] = {{"ALA", "CB", 'A'}, {"ARG", "CB", 'R'}, {"ASN", "CB", 'N'}, {"ASP", "CB", 'D'},
             {"CYS", "CB", 'C'}, {"GLN", "CB", 'Q'}, {"GLU", "CB", 'E'}, {"GLY", "CA", 'G'},
             {"HIS", "CB", 'H'}, {"ILE", "CB", 'I'}, {"LEU", "CB", 'L'}, {"LYS", "CB", 'K'},
             {"MET", "CB", 'M'}, {"PHE", "CB", 'F'}, {"PRO", "CB", 'P'}, {"SER", "CB", 'S'},
             {"THR", "CB", 'T'}, {"TRP", "CB", 'W'}, {"TYR", "CB", 'Y'}, {"VAL", "CB", 'V'},
             {"UNK", "CB", 'X'}, {"A", "C4", 'A'},   {"G", "C4", 'G'},   {"C", "C2", 'C'},
             {"U", "C2", 'U'},   {"N", "C1'", 'N'},  {"DA", "C4", 'A'},  {"DG", "C4", 'G'},
             {"DC", "C2", 'C'},  {"DT", "C2", 'T'},  {"DN", "C1'", 'N'}};

enum { UNKNOWN = 20, RNA = 21, RNA_UNKNOWN = 25, DNA = 26, DNA_UNKNOWN = 30, USUAL = 31 };

/* The place of a code among the usual ones, -1: it is none. */
static int find_usual(const char *code)
{
    for (int i = 0; i < USUAL; i++)
        if (!strcmp(usual[i].code, code))
            return i;
    return -1;
}

/* The kind that a component is read as. */
static int32_t kind_of(const struct bi_component *c)
{
    const int first = c->kind == BI_COMPONENT_PEPTIDE ? 0 : c->kind == BI_COMPONENT_RNA ? RNA : DNA;
    const int unknown = c->kind == BI_COMPONENT_PEPTIDE ? UNKNOWN
                        : c->kind == BI_COMPONENT_RNA   ? RNA_UNKNOWN
                                                        : DNA_UNKNOWN;
    if (c->kind == BI_COMPONENT_OTHER)
        return UNKNOWN;
    for (int i = first; i <= unknown; i++)
        if (usual[i].letter == c->letter)
            return i;
    return unknown;
}

/* ---- a job at work ---- */

struct atom {
    char name[5];
    uint8_t element;
    int8_t charge;
    bool placed, polymer;
    int32_t token, slot, space;
    float at[3];
};

struct token {
    const char *code;
    int32_t chain, residue, entity, copy, type, first, seen, usual; /* usual -1: an atom */
    enum bi_component_kind kind;
};

struct bond {
    int32_t a, b; /* tokens */
};

struct job {
    const struct bi_env *env;
    const struct bi_components *components;
    const char *name;
    struct bioinfer_error *err;
    struct bi_component at_hand, before, other; /* other: MET, for places of MSE */
    struct atom *atoms;
    struct token *tokens;
    struct bond *bonds;
    size_t n_atoms, n_tokens, n_bonds, cap_atoms, cap_tokens, cap_bonds;
    int32_t n_chains, n_spaces;
    /* The component at hand: atoms that leave, room for a group of them, tokens and numbers of
     * atoms. */
    bool gone[BI_COMPONENT_ATOMS], group[BI_COMPONENT_ATOMS];
    int32_t where[BI_COMPONENT_ATOMS], atom[BI_COMPONENT_ATOMS];
    /* Covalent bonds that a job names: where a bond's pairs begin, and the atoms of each pair. */
    const struct protenix_parts *parts;
    int32_t *first_pair, (*pairs)[2];
};

static int no_room(const struct job *j)
{
    return bi_fail(j->err, BIOINFER_NOMEM, "%s: tokens and atoms", j->name);
}

/* ---- atoms that leave ---- */

/* Marks atoms that hang together with atom a, without the bond to `from`; false: one of them does
 * not leave. */
static bool mark_group(const struct bi_component *c, int32_t a, int32_t from, bool *group)
{
    bool grows = true;
    memset(group, 0, sizeof *group * (size_t)c->n_atoms);
    group[a] = true;
    while (grows) {
        grows = false;
        for (int32_t i = 0; i < c->n_bonds; i++) {
            const int32_t p = c->bonds[i].a, q = c->bonds[i].b;
            if ((p == a && q == from) || (q == a && p == from) || group[p] == group[q])
                continue;
            group[p] = group[q] = grows = true;
        }
    }
    for (int32_t i = 0; i < c->n_atoms; i++)
        if (group[i] && !c->atoms[i].leaves)
            return false;
    return true;
}

static int32_t find_atom(const struct bi_component *c, const char *name)
{
    for (int32_t i = 0; i < c->n_atoms; i++)
        if (!strcmp(c->atoms[i].name, name))
            return i;
    return -1;
}

/* Marks in `gone` the first group that leaves atom `name` when it is bonded. */
static void leave(const struct bi_component *c, const char *name, bool *gone, bool *group)
{
    const int32_t a = find_atom(c, name);
    for (int32_t i = 0; a >= 0 && i < c->n_bonds; i++) {
        const int32_t p = c->bonds[i].a, q = c->bonds[i].b;
        const int32_t next = p == a ? q : q == a ? p : -1;
        if (next < 0 || !c->atoms[next].leaves || c->atoms[a].leaves || gone[next])
            continue;
        if (!mark_group(c, next, a, group))
            return;
        for (int32_t k = 0; k < c->n_atoms; k++)
            gone[k] = gone[k] || group[k];
        return;
    }
}

/* Atoms of a and of b between which a chain of their kinds has a bond; false: there is none. */
static bool link_of(const struct bi_component *a, const struct bi_component *b, const char **from,
                    const char **to)
{
    const bool bases = (a->kind == BI_COMPONENT_DNA || a->kind == BI_COMPONENT_RNA) &&
                       (b->kind == BI_COMPONENT_DNA || b->kind == BI_COMPONENT_RNA);
    const bool peptides = a->kind == BI_COMPONENT_PEPTIDE && b->kind == BI_COMPONENT_PEPTIDE;
    *from = bases ? "O3'" : "C";
    *to = bases ? "P" : "N";
    return (bases || peptides) && find_atom(a, *from) >= 0 && find_atom(b, *to) >= 0;
}

/* ---- tokens ---- */

static int add_token(struct job *j, struct token t)
{
    if (j->n_tokens == 46340)
        return bi_fail(j->err, BIOINFER_LIMIT, "%s: more than 46340 tokens", j->name);
    if (!bi_grow(j->env, &j->tokens, &j->cap_tokens, j->n_tokens + 1, sizeof t))
        return no_room(j);
    t.first = t.seen = (int32_t)j->n_atoms;
    j->tokens[j->n_tokens++] = t;
    return 0;
}

/* Adds atoms of the component at hand but for those that are gone; t says what is common to its
 * tokens. */
static int add_component(struct job *j, struct token t)
{
    const struct bi_component *c = &j->at_hand;
    const bool mse = !strcmp(c->code, "MSE");
    double centre[3] = {0, 0, 0};
    const size_t first = j->n_atoms;
    int st = 0;
    t.kind = c->kind;
    t.type = kind_of(c);
    t.usual = c->kind == BI_COMPONENT_OTHER ? -1 : find_usual(mse ? "MET" : c->code);
    if (mse && (st = bi_components_find(j->components, "MET", &j->other, j->err)))
        return st;
    if (t.usual >= 0 && (st = add_token(j, t)))
        return st;
    for (int32_t i = 0; !st && i < c->n_atoms; i++) {
        const struct bi_component_atom *from = &c->atoms[i];
        struct atom a = {.element = from->element,
                         .charge = from->charge,
                         .placed = from->placed,
                         .space = j->n_spaces};
        j->where[i] = j->atom[i] = -1;
        if (j->gone[i])
            continue;
        if (t.usual < 0 && (st = add_token(j, t)))
            return st;
        if (!bi_grow(j->env, &j->atoms, &j->cap_atoms, j->n_atoms + 1, sizeof a))
            return no_room(j);
        memcpy(a.name, from->name, sizeof a.name);
        if (mse && !strcmp(a.name, "SE")) {
            memcpy(a.name, "SD", sizeof "SD");
            a.element = 16;
        }
        a.token = (int32_t)j->n_tokens - 1;
        a.slot = t.usual < 0 ? 0 : mse ? find_atom(&j->other, a.name) : i;
        for (int k = 0; k < 3; k++) {
            a.at[k] = from->placed ? (float)from->x[k] : 0;
            centre[k] += (double)a.at[k];
        }
        if (t.usual >= 0 && !strcmp(a.name, usual[t.usual].seen))
            j->tokens[j->n_tokens - 1].seen = (int32_t)j->n_atoms;
        j->where[i] = a.token;
        j->atom[i] = (int32_t)j->n_atoms;
        j->atoms[j->n_atoms++] = a;
    }
    for (size_t a = first; !st && a < j->n_atoms; a++)
        for (int k = 0; k < 3; k++)
            j->atoms[a].at[k] = (float)((double)j->atoms[a].at[k] -
                                        centre[k] / (double)(j->n_atoms - first));
    j->n_spaces++;
    for (int32_t i = 0; !st && t.usual < 0 && i < c->n_bonds; i++) {
        const struct bond b = {j->where[c->bonds[i].a], j->where[c->bonds[i].b]};
        if (b.a < 0 || b.b < 0)
            continue;
        if (!bi_grow(j->env, &j->bonds, &j->cap_bonds, j->n_bonds + 1, sizeof b))
            return no_room(j);
        j->bonds[j->n_bonds++] = b;
    }
    return st;
}

/* Finds a component of a chain, into *to. */
static int look(struct job *j, const struct protenix_chain *chain, int32_t i,
                struct bi_component *to)
{
    const struct bi_component *own = chain->own;
    if (!own)
        return bi_components_find(j->components, chain->codes[i], to, j->err);
    if (!bi_grow(j->env, &to->atoms, &to->cap_atoms, (size_t)own->n_atoms + 1, sizeof *to->atoms) ||
        !bi_grow(j->env, &to->bonds, &to->cap_bonds, (size_t)own->n_bonds + 1, sizeof *to->bonds))
        return no_room(j);
    memcpy(to->code, own->code, sizeof to->code);
    to->kind = own->kind;
    to->letter = own->letter;
    to->n_atoms = own->n_atoms;
    to->n_bonds = own->n_bonds;
    memcpy(to->atoms, own->atoms, sizeof *to->atoms * (size_t)own->n_atoms);
    if (own->n_bonds)
        memcpy(to->bonds, own->bonds, sizeof *to->bonds * (size_t)own->n_bonds);
    return 0;
}

/* ---- bonds that a job names ---- */

/* Is the end in this component? */
static bool is_at(const struct protenix_end *end, const struct token *t)
{
    return end->chain == t->entity && end->position == t->residue - 1 &&
           (end->copy < 0 || end->copy == t->copy);
}

/* Marks what leaves the component at hand for its bonds that the job names. */
static int leave_for_bonds(struct job *j, const struct token *t)
{
    const struct protenix_parts *parts = j->parts;
    for (int32_t b = 0; b < 2 * parts->n_bonds; b++) {
        const struct protenix_end *end = &parts->bonds[b / 2].ends[b % 2];
        int32_t atom;
        if (!is_at(end, t))
            continue;
        atom = find_atom(&j->at_hand, end->atom);
        if (atom < 0 || j->gone[atom])
            return bi_fail(j->err, BIOINFER_NOT_FOUND,
                           "%s: bond %d: no atom %s in component %d (%s) of sequence %d%s", j->name,
                           b / 2 + 1, end->atom, t->residue, t->code, t->entity + 1,
                           atom < 0 ? "" : ", which lost it to its neighbour");
    }
    for (int32_t b = 0; b < 2 * parts->n_bonds; b++) {
        const struct protenix_end *end = &parts->bonds[b / 2].ends[b % 2];
        if (is_at(end, t))
            leave(&j->at_hand, end->atom, j->gone, j->group);
    }
    return 0;
}

/* Notes atoms of the component that was added, where bonds begin or end. */
static int note_ends(struct job *j, const struct token *t)
{
    const struct protenix_parts *parts = j->parts;
    for (int32_t b = 0; b < 2 * parts->n_bonds; b++) {
        const struct protenix_end *end = &parts->bonds[b / 2].ends[b % 2];
        int32_t atom;
        if (!is_at(end, t))
            continue;
        atom = j->atom[find_atom(&j->at_hand, end->atom)];
        if (atom < 0)
            return bi_fail(j->err, BIOINFER_UNSUPPORTED,
                           "%s: bond %d: atom %s of component %d (%s) of sequence %d leaves for "
                           "another bond",
                           j->name, b / 2 + 1, end->atom, t->residue, t->code, t->entity + 1);
        j->pairs[j->first_pair[b / 2] + (end->copy < 0 ? t->copy : 0)][b % 2] = atom;
    }
    return 0;
}

/* Do bonds of polymers leave this pair of atoms out? Those that the sequence tells. */
static bool is_plain(const struct job *j, int32_t a, int32_t b)
{
    const struct token *p = &j->tokens[j->atoms[a].token], *q = &j->tokens[j->atoms[b].token];
    const bool polymers = p->kind != BI_COMPONENT_OTHER && q->kind != BI_COMPONENT_OTHER;
    const bool inside = p->usual < 0 && q->usual < 0 && j->atoms[a].space == j->atoms[b].space;
    return polymers && !inside && p->chain == q->chain && abs(p->residue - q->residue) <= 1;
}

/* Room for the atoms of all bonds' pairs. */
static int begin_bonds(struct job *j)
{
    const struct protenix_parts *parts = j->parts;
    int64_t n = 0;
    if (!(j->first_pair = bi_calloc(j->env, (size_t)parts->n_bonds + 1, sizeof *j->first_pair)))
        return no_room(j);
    for (int32_t b = 0; b < parts->n_bonds; b++) {
        const struct protenix_end *end = &parts->bonds[b].ends[0];
        n += end->copy < 0 ? parts->chains[end->chain].copies : 1;
        if (n > INT32_MAX)
            return bi_fail(j->err, BIOINFER_LIMIT, "%s: more than %d bonds", j->name, INT32_MAX);
        j->first_pair[b + 1] = (int32_t)n;
    }
    j->pairs = bi_calloc(j->env, (size_t)n + 1, sizeof *j->pairs);
    return j->pairs ? 0 : no_room(j);
}

static int end_bonds(struct job *j)
{
    for (int32_t k = 0; k < j->first_pair[j->parts->n_bonds]; k++) {
        const int32_t a = j->pairs[k][0], b = j->pairs[k][1];
        if (a == b)
            return bi_fail(j->err, BIOINFER_INVALID, "%s: a bond joins atom %s with itself",
                           j->name, j->atoms[a].name);
        if (is_plain(j, a, b))
            continue;
        if (!bi_grow(j->env, &j->bonds, &j->cap_bonds, j->n_bonds + 1, sizeof *j->bonds))
            return no_room(j);
        j->bonds[j->n_bonds++] = (struct bond){j->atoms[a].token, j->atoms[b].token};
    }
    return 0;
}

/* ---- chains ---- */

/* One copy of a chain. */
static int add_chain(struct job *j, const struct protenix_chain *chain, struct token t)
{
    int st = 0;
    for (int32_t i = 0; !st && i < chain->n; i++) {
        const char *from, *to;
        memset(j->gone, 0, sizeof j->gone);
        if ((st = look(j, chain, i, &j->at_hand)))
            break;
        t.code = chain->codes[i];
        t.residue = i + 1;
        if (chain->polymer && i > 0) {
            if ((st = look(j, chain, i - 1, &j->before)))
                break;
            if (!link_of(&j->before, &j->at_hand, &from, &to))
                return bi_fail(j->err, BIOINFER_UNSUPPORTED,
                               "%s: chain %d: components %d (%s) and %d (%s) have no bond in a "
                               "polymer",
                               j->name, t.entity + 1, i, chain->codes[i - 1], i + 1, t.code);
            leave(&j->at_hand, to, j->gone, j->group);
        }
        if (chain->polymer && i + 1 < chain->n) {
            if ((st = look(j, chain, i + 1, &j->before)))
                break;
            if (link_of(&j->at_hand, &j->before, &from, &to))
                leave(&j->at_hand, from, j->gone, j->group);
        }
        if (!(st = leave_for_bonds(j, &t)) && !(st = add_component(j, t)))
            st = note_ends(j, &t);
    }
    return st;
}

/* Says of all atoms of a chain whether most of them are of a polymer. */
static void tell_polymers(struct job *j, size_t first)
{
    size_t n[4] = {0}; /* in the order of the published names: dna, ligand, protein, rna */
    int most = 0;
    for (size_t a = first; a < j->n_atoms; a++) {
        const enum bi_component_kind k = j->tokens[j->atoms[a].token].kind;
        n[k == BI_COMPONENT_DNA     ? 0
          : k == BI_COMPONENT_OTHER ? 1
          : k == BI_COMPONENT_RNA   ? 3
                                    : 2]++;
    }
    for (int k = 1; k < 4; k++)
        most = n[k] >= n[most] ? k : most;
    for (size_t a = first; a < j->n_atoms; a++)
        j->atoms[a].polymer = most != 1;
}

/* The number of a sequence: the published program sorts their numbers, from 1, as text. */
static int32_t rank_of(int32_t entity, int32_t n)
{
    char mine[16], other[16];
    int32_t rank = 0;
    snprintf(mine, sizeof mine, "%d", entity + 1);
    for (int32_t i = 0; i < n; i++) {
        snprintf(other, sizeof other, "%d", i + 1);
        rank += strcmp(other, mine) < 0;
    }
    return rank;
}

static int add_chains(struct job *j)
{
    const struct protenix_chain *chains = j->parts->chains;
    const int32_t n = j->parts->n;
    int st = begin_bonds(j);
    for (int32_t e = 0; e < n; e++)
        for (int32_t k = 0; !st && k < chains[e].copies; k++) {
            const size_t first = j->n_atoms;
            st = add_chain(j, &chains[e],
                           (struct token){.chain = j->n_chains++, .entity = e, .copy = k});
            if (!st)
                tell_polymers(j, first);
        }
    if (!st)
        st = end_bonds(j);
    for (size_t i = 0; !st && i < j->n_tokens; i++)
        j->tokens[i].entity = rank_of(j->tokens[i].entity, n);
    if (!st && !j->n_tokens)
        st = bi_fail(j->err, BIOINFER_EMPTY, "%s: no chains", j->name);
    return st;
}

/* ---- frames ---- */

static int32_t atoms_end(const struct job *j, size_t token)
{
    return token + 1 < j->n_tokens ? j->tokens[token + 1].first : (int32_t)j->n_atoms;
}

static bool has_name(const struct job *j, size_t token, const char *name)
{
    for (int32_t a = j->tokens[token].first; a < atoms_end(j, token); a++)
        if (!strcmp(j->atoms[a].name, name))
            return true;
    return false;
}

/* Does an atom with the two atoms nearest to it in its conformer give a frame? They must not stand
 * in a line: 25 to 155 degrees. */
static bool atom_frame(const struct job *j, int32_t b)
{
    double best[2] = {INFINITY, INFINITY}, dot = 0, square[2] = {0, 0}, angle;
    int32_t near[2] = {-1, -1}, first = b, end = b;
    while (first > 0 && j->atoms[first - 1].space == j->atoms[b].space)
        first--;
    while ((size_t)end < j->n_atoms && j->atoms[end].space == j->atoms[b].space)
        end++;
    for (int32_t a = first; a < end; a++) {
        double far = 0;
        for (int k = 0; k < 3; k++) {
            const double d = (double)j->atoms[a].at[k] - (double)j->atoms[b].at[k];
            far += d * d;
        }
        if (a == b || far >= best[1])
            continue;
        const int at = far < best[0] ? 0 : 1;
        if (!at) {
            best[1] = best[0];
            near[1] = near[0];
        }
        best[at] = far;
        near[at] = a;
    }
    if (near[1] < 0 || !j->atoms[b].placed || !j->atoms[near[0]].placed ||
        !j->atoms[near[1]].placed)
        return false;
    for (int k = 0; k < 3; k++) {
        const double p = (double)j->atoms[near[0]].at[k] - (double)j->atoms[b].at[k];
        const double q = (double)j->atoms[near[1]].at[k] - (double)j->atoms[b].at[k];
        dot += p * q;
        square[0] += p * p;
        square[1] += q * q;
    }
    if (!(square[0] > 1e-16) || !(square[1] > 1e-16))
        return false;
    angle = acos(fmax(-1, fmin(1, dot / sqrt(square[0] * square[1])))) * 57.29577951308232;
    return angle > 25 && angle < 155;
}

static bool gives_frame(const struct job *j, size_t i)
{
    const struct token *t = &j->tokens[i];
    if (t->usual < 0 || atoms_end(j, i) - t->first < 2)
        return atom_frame(j, t->first);
    return has_name(j, i, t->kind == BI_COMPONENT_PEPTIDE ? "N" : "C1'");
}

/* ---- features ---- */

void *protenix_tokens_room(struct protenix_tokens *to, const struct bi_env *env, size_t n,
                           size_t size)
{
    void *room = to->n_rooms < (int)BI_COUNT(to->room) ? bi_calloc(env, n + 1, size) : NULL;
    if (room)
        to->room[to->n_rooms++] = room;
    return room;
}

static int write_tokens(const struct job *j, struct protenix_tokens *to)
{
    struct protenix_features *f = &to->f;
    const size_t n = j->n_tokens;
    int32_t *ints = protenix_tokens_room(to, j->env, 9 * n + 1, sizeof *ints),
            *first = ints + 8 * n;
    float *profile = protenix_tokens_room(to, j->env, n * PROTENIX_TYPES, sizeof *profile);
    float *zeros = protenix_tokens_room(to, j->env, 3 * n, sizeof *zeros);
    float *bonds = protenix_tokens_room(to, j->env, n * n, sizeof *bonds);
    to->frame = protenix_tokens_room(to, j->env, n, sizeof *to->frame);
    to->codes = protenix_tokens_room(to, j->env, n, sizeof *to->codes);
    if (!ints || !profile || !zeros || !bonds || !to->frame || !to->codes)
        return no_room(j);
    for (size_t i = 0; i < n; i++) {
        const struct token *t = &j->tokens[i];
        const int32_t row[] = {t->chain,   t->residue, t->entity, t->copy,
                               (int32_t)i, t->type,    t->seen};
        for (size_t k = 0; k < BI_COUNT(row); k++)
            ints[k * n + i] = row[k];
        first[i] = t->first;
        profile[i * PROTENIX_TYPES + (size_t)t->type] = 1;
        to->frame[i] = gives_frame(j, i);
        to->codes[i] = t->code;
    }
    first[n] = (int32_t)j->n_atoms;
    for (size_t k = 0; k < j->n_bonds; k++) {
        const size_t a = (size_t)j->bonds[k].a, b = (size_t)j->bonds[k].b;
        bonds[a * n + b] = bonds[b * n + a] = 1;
    }
    f->chain = ints;
    f->residue = ints + n;
    f->entity = ints + 2 * n;
    f->copy = ints + 3 * n;
    f->index = ints + 4 * n;
    f->type = f->aligned = ints + 5 * n;
    f->seen = ints + 6 * n;
    f->first_atom = first;
    f->profile = profile;
    f->deletions = zeros;
    f->deleted = zeros + n;
    f->deletion = zeros + 2 * n;
    f->bonds = bonds;
    f->n_tokens = (int64_t)n;
    f->depth = 1;
    return 0;
}

static int write_atoms(const struct job *j, struct protenix_tokens *to)
{
    struct protenix_features *f = &to->f;
    const size_t n = j->n_atoms;
    int32_t *ints = protenix_tokens_room(to, j->env, 7 * n, sizeof *ints);
    float *reals = protenix_tokens_room(to, j->env, 5 * n, sizeof *reals);
    to->polymer = protenix_tokens_room(to, j->env, n, sizeof *to->polymer);
    to->names = protenix_tokens_room(to, j->env, n, sizeof *to->names);
    if (!ints || !reals || !to->polymer || !to->names)
        return no_room(j);
    for (size_t i = 0; i < n; i++) {
        const struct atom *a = &j->atoms[i];
        const size_t letters = strlen(a->name);
        ints[i] = a->element - 1;
        ints[n + i] = a->space;
        ints[2 * n + i] = a->slot;
        for (size_t k = 0; k < 4; k++) {
            const int32_t code = k < letters ? a->name[k] - 32 : 0;
            ints[3 * n + 4 * i + k] = code < 0 ? 0 : code > 63 ? 63 : code;
        }
        memcpy(reals + 3 * i, a->at, sizeof a->at);
        reals[3 * n + i] = a->charge;
        reals[4 * n + i] = a->placed;
        to->polymer[i] = a->polymer;
        memcpy(to->names[i], a->name, sizeof a->name);
    }
    f->element = ints;
    f->space = ints + n;
    f->slot = ints + 2 * n;
    f->letters = ints + 3 * n;
    f->place = reals;
    f->charge = reals + 3 * n;
    f->known = reals + 4 * n;
    f->n_atoms = (int64_t)n;
    return 0;
}

int protenix_tokens_make(struct protenix_tokens *to, const struct bi_env *env,
                         const struct bi_components *components, const struct protenix_parts *parts,
                         struct bioinfer_error *err)
{
    struct job *j = bi_calloc(env, 1, sizeof *j);
    int st;
    if (!j)
        return bi_fail(err, BIOINFER_NOMEM, "%s: tokens and atoms", parts->name);
    j->env = env;
    j->components = components;
    j->parts = parts;
    j->name = parts->name;
    j->err = err;
    st = add_chains(j);
    if (!st)
        st = write_tokens(j, to);
    if (!st)
        st = write_atoms(j, to);
    bi_component_free(env, &j->at_hand);
    bi_component_free(env, &j->before);
    bi_component_free(env, &j->other);
    bi_free(env, j->atoms);
    bi_free(env, j->tokens);
    bi_free(env, j->bonds);
    bi_free(env, j->first_pair);
    bi_free(env, j->pairs);
    bi_free(env, j);
    return st;
}

void protenix_tokens_free(const struct bi_env *env, struct protenix_tokens *tokens)
{
    for (int i = 0; i < tokens->n_rooms; i++)
        bi_free(env, tokens->room[i]);
    *tokens = (struct protenix_tokens){.n_rooms = 0};
}

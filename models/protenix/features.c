/* features.c - Protenix: inputs of graphs that the host makes of a record's features. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../kernels/block_attention.h"
#include "features.h"

/* ---- checks ---- */

static int bad(const char *name, const char *what, int64_t at, int64_t got, int64_t least,
               int64_t most, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_INVALID, "%s: %s %lld is %lld, expected %lld to %lld", name, what,
                   (long long)at, (long long)got, (long long)least, (long long)most);
}

/* Numbers of a list between two others. */
static int check(const char *name, const char *what, const int32_t *values, int64_t n, int64_t most,
                 struct bioinfer_error *err)
{
    for (int64_t i = 0; i < n; i++)
        if (values[i] < 0 || values[i] > most)
            return bad(name, what, i, values[i], 0, most, err);
    return 0;
}

int protenix_check(const struct protenix_features *f, const char *name, struct bioinfer_error *err)
{
    int st = 0;
    int32_t templates = 0;
    if (f->n_tokens < 1 || f->n_tokens > 46340) /* pairs are counted in 31 bits */
        return bad(name, "the number of tokens", 0, f->n_tokens, 1, 46340, err);
    if (f->depth < 1)
        return bad(name, "the number of aligned rows", 0, f->depth, 1, INT32_MAX, err);
    if (f->n_templates < 0 || f->n_templates > PROTENIX_TEMPLATES)
        return bad(name, "the number of templates", 0, f->n_templates, 0, PROTENIX_TEMPLATES, err);
    if (f->first_atom[0])
        return bad(name, "the first atom of token", 0, f->first_atom[0], 0, 0, err);
    for (int64_t i = 0; i < f->n_tokens; i++) {
        const int64_t first = f->first_atom[i], end = f->first_atom[i + 1];
        if (end <= first || end > first + PROTENIX_PLACES)
            return bad(name, "atoms of token", i, end - first, 1, PROTENIX_PLACES, err);
        if (f->seen[i] < first || f->seen[i] >= end)
            return bad(name, "the atom that stands for token", i, f->seen[i], first, end - 1, err);
    }
    if (f->first_atom[f->n_tokens] != f->n_atoms)
        return bad(name, "atoms of tokens", f->n_tokens, f->first_atom[f->n_tokens], f->n_atoms,
                   f->n_atoms, err);
    if ((st = check(name, "the kind of token", f->type, f->n_tokens, PROTENIX_TYPES - 1, err)) ||
        (st = check(name, "the kind of aligned", f->aligned, f->depth * f->n_tokens,
                    PROTENIX_TYPES - 1, err)) ||
        (st = check(name, "the element of atom", f->element, f->n_atoms, PROTENIX_ELEMENTS - 1,
                    err)) ||
        (st = check(name, "the place in its token of atom", f->slot, f->n_atoms,
                    PROTENIX_PLACES - 1, err)) ||
        (st = check(name, "letter", f->letters, 4 * f->n_atoms, PROTENIX_LETTERS - 1, err)))
        return st;
    for (int64_t k = 0; k < f->n_templates; k++) {
        templates += f->templates[k].copies;
        if ((st = check(name, "the kind in a template of token", f->templates[k].type, f->n_tokens,
                        PROTENIX_TYPES - 1, err)))
            return st;
    }
    if (f->n_templates && templates != PROTENIX_TEMPLATES)
        return bad(name, "the sum of templates", 0, templates, PROTENIX_TEMPLATES,
                   PROTENIX_TEMPLATES, err);
    return 0;
}

/* ---- atoms ---- */

static void describe(const struct protenix_features *f, int64_t a, int32_t *codes)
{
    const bool known = f->known[a] > 0;
    codes[0] = known ? 0 : -1;
    codes[1] = known ? 1 + f->element[a] : -1;
    for (int k = 0; k < 4; k++)
        codes[2 + k] = known ? 1 + PROTENIX_ELEMENTS + k * PROTENIX_LETTERS + f->letters[4 * a + k]
                             : -1;
}

/* Inputs that have a row for each atom, or tell where atoms are. */
static bool fill_atoms(const struct protenix_features *f, const char *input, void *to,
                       const struct bi_counts *at)
{
    int32_t *ints = to;
    float *reals = to;
    const int64_t a0 = at->n_atoms;
    if (!strcmp(input, "token_atoms")) {
        for (int64_t i = 0; i <= f->n_tokens; i++)
            ints[at->n_tokens + i] = (int32_t)(a0 + f->first_atom[i]);
    } else if (!strcmp(input, "seen_atom")) {
        for (int64_t i = 0; i < f->n_tokens; i++)
            ints[at->n_tokens + i] = (int32_t)(a0 + f->seen[i]);
    } else if (!strcmp(input, "atom_token")) {
        for (int64_t i = 0; i < f->n_tokens; i++)
            for (int64_t a = f->first_atom[i]; a < f->first_atom[i + 1]; a++)
                ints[a0 + a] = (int32_t)(at->n_tokens + i);
    } else if (!strcmp(input, "codes")) {
        for (int64_t a = 0; a < f->n_atoms; a++)
            describe(f, a, ints + (a0 + a) * PROTENIX_CODES);
    } else if (!strcmp(input, "places")) {
        for (int64_t a = 0; a < f->n_atoms; a++)
            for (int k = 0; k < 3; k++)
                reals[3 * (a0 + a) + k] = f->known[a] * f->place[3 * a + k];
    } else if (!strcmp(input, "charges")) {
        for (int64_t a = 0; a < f->n_atoms; a++)
            reals[a0 + a] = f->known[a] * (float)asinh((double)f->charge[a]);
    } else {
        return false;
    }
    return true;
}

/* A place of a key. */
struct key {
    int64_t row, atom, key; /* row: of the batch; key -1: there is none */
};

static struct key key_at(const struct protenix_features *f, const struct bi_counts *at, int64_t a,
                         int64_t j)
{
    const int64_t key = bi_block_key(a, j);
    return (struct key){(at->n_atoms + a) * BI_BLOCK_KEYS + j, a,
                        key >= 0 && key < f->n_atoms ? key : -1};
}

/* The token of an atom, from the token of one near it. */
static int64_t token_of(const struct protenix_features *f, int64_t atom, int64_t near)
{
    while (f->first_atom[near] > atom)
        near--;
    while (f->first_atom[near + 1] <= atom)
        near++;
    return near;
}

/* Inputs that have a row for each place of a key. */
static bool fill_keys(const struct protenix_features *f, const char *input, void *to,
                      const struct bi_counts *at)
{
    const bool query = !strcmp(input, "key_query"), atom = !strcmp(input, "key_atom");
    const bool pair = !strcmp(input, "key_pair"), offset = !strcmp(input, "key_offset");
    const bool near = !strcmp(input, "key_near"), same = !strcmp(input, "key_same");
    int32_t *ints = to;
    float *reals = to;
    int64_t i = 0, j = 0;
    if (!query && !atom && !pair && !offset && !near && !same)
        return false;
    for (int64_t r = 0; r < f->n_atoms * BI_BLOCK_KEYS; r++) {
        const struct key k = key_at(f, at, r / BI_BLOCK_KEYS, r % BI_BLOCK_KEYS);
        const bool one = k.key >= 0 && f->space[k.key] == f->space[k.atom];
        float d[3] = {0, 0, 0};
        double square = 0;
        for (int c = 0; c < 3 && one; c++) {
            d[c] = f->place[3 * k.atom + c] - f->place[3 * k.key + c];
            square += (double)d[c] * (double)d[c];
        }
        if (query)
            ints[k.row] = k.key < 0 ? -1 : (int32_t)(at->n_atoms + k.atom);
        else if (atom)
            ints[k.row] = k.key < 0 ? -1 : (int32_t)(at->n_atoms + k.key);
        else if (pair && k.key < 0)
            ints[k.row] = -1;
        else if (pair) {
            i = token_of(f, k.atom, i);
            j = token_of(f, k.key, j);
            ints[k.row] = (int32_t)(at->n_grid + i * f->n_tokens + j);
        } else if (offset)
            memcpy(reals + 3 * k.row, d, sizeof d);
        else if (near)
            reals[k.row] = one ? (float)(1 / (1 + square)) : 0;
        else
            reals[k.row] = one;
    }
    return true;
}

/* ---- tokens and pairs ---- */

static int32_t offset_code(int64_t a, int64_t b, int32_t reach)
{
    const int64_t d = a - b + reach;
    return (int32_t)(d < 0 ? 0 : d > 2 * reach ? 2 * reach : d);
}

/* Rows of a table of positions: of residues, tokens, is it one sequence, copies. */
static void relate(const struct protenix_features *f, int64_t i, int64_t j, int32_t *to)
{
    const bool chain = f->chain[i] == f->chain[j];
    const bool residue = chain && f->residue[i] == f->residue[j];
    const bool entity = f->entity[i] == f->entity[j];
    to[0] = chain ? offset_code(f->residue[i], f->residue[j], 32) : 65;
    to[1] = 66 + (residue ? offset_code(f->index[i], f->index[j], 32) : 65);
    to[2] = entity ? 132 : -1;
    to[3] = 133 + (entity ? offset_code(f->copy[i], f->copy[j], 2) : 5);
}

/* Inputs that have a row for each token or pair. */
static bool fill_tokens(const struct protenix_features *f, const char *input, void *to,
                        const struct bi_counts *at)
{
    const int64_t n = f->n_tokens;
    int32_t *ints = to;
    float *reals = to;
    if (!strcmp(input, "tail")) {
        for (int64_t i = 0; i < n; i++) {
            float *row = reals + (at->n_tokens + i) * PROTENIX_TAIL;
            memset(row, 0, sizeof *row * PROTENIX_TAIL);
            row[f->type[i]] = 1;
            memcpy(row + PROTENIX_TYPES, f->profile + i * PROTENIX_TYPES,
                   sizeof *row * PROTENIX_TYPES);
            row[2 * PROTENIX_TYPES] = f->deletions[i];
        }
    } else if (!strcmp(input, "record")) {
        for (int64_t i = 0; i < n; i++)
            ints[at->n_tokens + i] = at->n_seqs;
    } else if (!strcmp(input, "relations")) {
        for (int64_t r = 0; r < n * n; r++)
            relate(f, r / n, r % n, ints + (at->n_grid + r) * PROTENIX_RELATIONS);
    } else if (!strcmp(input, "bonds")) {
        memcpy(reals + at->n_grid, f->bonds, sizeof *reals * (size_t)(n * n));
    } else if (!strcmp(input, "aligned_share")) {
        for (int64_t r = 0; r < n * n; r++)
            reals[at->n_grid + r] = (float)(1 / ((double)f->depth + 1e-3));
    } else {
        return false;
    }
    return true;
}

/* Rows of alignments, token by token. */
static bool fill_aligned(const struct protenix_features *f, const char *input, void *to,
                         const struct bi_counts *at)
{
    const bool token = !strcmp(input, "aligned_token"), type = !strcmp(input, "aligned_type");
    int32_t *ints = to;
    float *reals = to;
    if (!token && !type && strcmp(input, "aligned_numbers") != 0)
        return false;
    for (int64_t i = 0; i < f->n_tokens; i++)
        for (int64_t s = 0; s < f->depth; s++) {
            const int64_t r = at->n_aligned + i * f->depth + s, from = s * f->n_tokens + i;
            if (token)
                ints[r] = (int32_t)(at->n_tokens + i);
            else if (type)
                ints[r] = f->aligned[from];
            else {
                reals[2 * r] = f->deleted[from];
                reals[2 * r + 1] = f->deletion[from];
            }
        }
    return true;
}

/* ---- templates ---- */

/* Numbers of pairs within a chain; 0 between chains. */
static void fill_within(const struct protenix_features *f, const float *from, int64_t width,
                        float *to)
{
    for (int64_t r = 0; r < f->n_tokens * f->n_tokens; r++) {
        const bool one = f->chain[r / f->n_tokens] == f->chain[r % f->n_tokens];
        for (int64_t c = 0; c < width; c++)
            to[r * width + c] = from && one ? from[r * width + c] : 0;
    }
}

/* Names end with the number of the template. */
static bool fill_template(const struct protenix_features *f, const char *input, void *to,
                          const struct bi_counts *at)
{
    char what[32];
    int k;
    if (sscanf(input, "template_%31[a-z]_%d", what, &k) != 2 || k < 0 || k >= f->n_templates)
        return false;
    if (!strcmp(what, "row") || !strcmp(what, "column")) {
        const int32_t first = PROTENIX_DISTANCES + (what[0] == 'r' ? PROTENIX_TYPES : 0);
        for (int64_t i = 0; i < f->n_tokens; i++)
            ((int32_t *)to)[at->n_tokens + i] = first + f->templates[k].type[i];
    } else if (!strcmp(what, "distances")) {
        fill_within(f, f->templates[k].distances, PROTENIX_DISTANCES,
                    (float *)to + (int64_t)at->n_grid * PROTENIX_DISTANCES);
    } else if (!strcmp(what, "axes")) {
        fill_within(f, f->templates[k].axes, PROTENIX_AXES,
                    (float *)to + (int64_t)at->n_grid * PROTENIX_AXES);
    } else {
        return false;
    }
    return true;
}

bool protenix_fill(const struct protenix_features *f, const char *input, void *to,
                   const struct bi_counts *at)
{
    return fill_atoms(f, input, to, at) || fill_keys(f, input, to, at) ||
           fill_tokens(f, input, to, at) || fill_aligned(f, input, to, at) ||
           fill_template(f, input, to, at);
}

/* molecule.c - a molecule's atoms and bonds, and the lines that its readers read. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../base/number.h"
#include "molecule.h"

/* ---- lines ---- */

bool bi_mol_next_line(struct bi_mol_text *t)
{
    const char *end;
    if (t->at == t->end)
        return false;
    end = memchr(t->at, '\n', (size_t)(t->end - t->at));
    t->line = t->at;
    t->length = (size_t)((end ? end : t->end) - t->at);
    t->at = end ? end + 1 : t->end;
    t->number++;
    if (t->length && t->line[t->length - 1] == '\r')
        t->length--;
    return true;
}

int bi_mol_fail(const struct bi_mol_text *t, struct bioinfer_error *err, int status,
                const char *fmt, ...)
{
    char words[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    return bi_fail(err, status, "%s: record %llu, line %llu: %s", t->name,
                   (unsigned long long)t->ordinal, (unsigned long long)t->number, words);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

const char *bi_mol_columns(const struct bi_mol_text *t, size_t from, size_t width, size_t *n)
{
    size_t to = from + width;
    to = to < t->length ? to : t->length;
    from = from < to ? from : to;
    while (from < to && is_blank(t->line[from]))
        from++;
    while (to > from && is_blank(t->line[to - 1]))
        to--;
    *n = to - from;
    return t->line + from;
}

const char *bi_mol_word(const struct bi_mol_text *t, size_t *at, size_t *n)
{
    size_t i = *at;
    const char *word;
    while (i < t->length && is_blank(t->line[i]))
        i++;
    word = t->line + i;
    while (i < t->length && !is_blank(t->line[i]))
        i++;
    *n = (size_t)(t->line + i - word);
    *at = i;
    return *n ? word : NULL;
}

bool bi_mol_int(const char *word, size_t n, int *out)
{
    const bool negative = n && word[0] == '-';
    size_t i = n && (word[0] == '-' || word[0] == '+');
    int value = 0;
    if (i == n || n - i > 9)
        return false;
    for (; i < n; i++) {
        if (word[i] < '0' || word[i] > '9')
            return false;
        value = value * 10 + (word[i] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

bool bi_mol_coordinate(const char *word, size_t n, double *out)
{
    if (n && word[0] == '+') {
        word++;
        n--;
    }
    return bi_parse_f64(word, n, out) && fabs(*out) < 1e6;
}

void bi_mol_name(struct bi_molecule *mol, const struct bi_mol_text *t)
{
    size_t n;
    const char *text = bi_mol_columns(t, 0, t->length, &n);
    n = n < sizeof mol->name ? n : sizeof mol->name - 1;
    memcpy(mol->name, text, n);
    mol->name[n] = '\0';
}

/* ---- atoms and bonds ---- */

void bi_mol_clear(struct bi_molecule *mol)
{
    mol->n_atoms = mol->n_bonds = mol->n_removed = mol->n_rings = mol->n_sssr = 0;
    mol->notes = 0;
    mol->has_3d = false;
}

int bi_mol_add_atom(struct bi_molecule *mol, const struct bi_mol_atom *atom,
                    const struct bi_mol_text *t, struct bioinfer_error *err)
{
    if (mol->n_atoms >= BI_MOL_MAX_ATOMS)
        return bi_mol_fail(t, err, BIOINFER_LIMIT, "more than %d atoms", BI_MOL_MAX_ATOMS);
    if (!bi_grow(mol->env, &mol->atoms, &mol->cap_atoms, mol->n_atoms + 1, sizeof *mol->atoms))
        return bi_mol_fail(t, err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms + 1);
    mol->atoms[mol->n_atoms++] = *atom;
    mol->has_3d = mol->has_3d || atom->x[2] != 0;
    return 0;
}

int bi_mol_add_bond(struct bi_molecule *mol, const struct bi_mol_bond *bond,
                    const struct bi_mol_text *t, struct bioinfer_error *err)
{
    if (bond->a == bond->b)
        return bi_mol_fail(t, err, BIOINFER_FORMAT, "a bond of atom %u with itself", bond->a + 1);
    if (mol->n_bonds >= BI_MOL_MAX_BONDS)
        return bi_mol_fail(t, err, BIOINFER_LIMIT, "more than %d bonds", BI_MOL_MAX_BONDS);
    if (!bi_grow(mol->env, &mol->bonds, &mol->cap_bonds, mol->n_bonds + 1, sizeof *mol->bonds))
        return bi_mol_fail(t, err, BIOINFER_NOMEM, "%u bonds", mol->n_bonds + 1);
    mol->bonds[mol->n_bonds++] = *bond;
    return 0;
}

static void fill_neighbours(struct bi_molecule *mol)
{
    const uint32_t n = mol->n_atoms;
    memset(mol->start, 0, (n + 2) * sizeof *mol->start);
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        mol->start[mol->bonds[k].a + 2]++;
        mol->start[mol->bonds[k].b + 2]++;
    }
    for (uint32_t i = 1; i <= n; i++)
        mol->start[i + 1] += mol->start[i];
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        const struct bi_mol_bond *b = &mol->bonds[k];
        mol->near[mol->start[b->a + 1]++] = (struct bi_mol_near){b->b, k};
        mol->near[mol->start[b->b + 1]++] = (struct bi_mol_near){b->a, k};
    }
}

int bi_mol_connect(struct bi_molecule *mol, const struct bi_mol_text *t, struct bioinfer_error *err)
{
    if (!bi_grow(mol->env, &mol->start, &mol->cap_start, mol->n_atoms + 2, sizeof *mol->start) ||
        !bi_grow(mol->env, &mol->near, &mol->cap_near, 2 * (size_t)mol->n_bonds + 1,
                 sizeof *mol->near))
        return bi_mol_fail(t, err, BIOINFER_NOMEM, "neighbours of %u atoms", mol->n_atoms);
    fill_neighbours(mol);
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        const struct bi_mol_near *near = mol->near + mol->start[i];
        const uint32_t degree = bi_mol_degree(mol, i);
        if (degree > BI_MOL_MAX_NEIGHBOURS)
            return bi_mol_fail(t, err, BIOINFER_LIMIT, "atom %u has %u bonds, expected at most %d",
                               i + 1, degree, BI_MOL_MAX_NEIGHBOURS);
        for (uint32_t k = 1; k < degree; k++)
            for (uint32_t l = 0; l < k; l++)
                if (near[k].atom == near[l].atom)
                    return bi_mol_fail(t, err, BIOINFER_FORMAT,
                                       "atoms %u and %u have more than one bond", i + 1,
                                       near[k].atom + 1);
    }
    return 0;
}

void bi_molecule_free(struct bi_molecule *mol)
{
    if (!mol || !mol->env)
        return;
    bi_free(mol->env, mol->atoms);
    bi_free(mol->env, mol->bonds);
    bi_free(mol->env, mol->start);
    bi_free(mol->env, mol->near);
    bi_free(mol->env, mol->ring_start);
    bi_free(mol->env, mol->ring_atoms);
    bi_free(mol->env, mol->ring_bonds);
    *mol = (struct bi_molecule){0};
}

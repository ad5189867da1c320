/* components.c - chemical components by their codes (components.h).
 *
 *     bioinfer components 1
 *     > CODE peptide|dna|rna|other LETTER
 *     NAME ELEMENT CHARGE -|L X Y Z      an atom; L: it leaves; one "?" for an unknown place
 *     = A B ORDER                        a bond of atoms A and B, from 0
 *
 * Words have one blank between. Opening finds where components begin; their lines are read when
 * they are asked for. */
#include <string.h>

#include "../base/file.h"
#include "../base/number.h"
#include "chem/molecule.h"
#include "components.h"

static const char first_line[] = "bioinfer components 1";
static const char *const kinds[] = {"peptide", "dna", "rna", "other"};

/* Where a component begins. */
struct place {
    char code[BI_COMPONENT_CODE + 1];
    enum bi_component_kind kind;
    char letter;
    uint64_t line;
    size_t at, end; /* bytes of its lines after the first */
};

struct bi_components {
    const struct bi_env *env;
    char *name, *owned; /* owned: the text, where it was read from a file */
    const char *text;
    size_t size;
    struct place *places;
    size_t n, cap;
};

/* ---- lines and words ---- */

struct line {
    const char *at;
    size_t n;
};

/* The line at *at, which moves to the next one. */
static struct line next_line(const char *text, size_t size, size_t *at)
{
    const char *from = text + *at, *end = memchr(from, '\n', size - *at);
    struct line l = {from, end ? (size_t)(end - from) : size - *at};
    *at += l.n + (end != NULL);
    if (l.n && l.at[l.n - 1] == '\r')
        l.n--;
    return l;
}

/* Cuts the line into words; gives their number, `most` + 1 where there are more. */
static int words_of(struct line l, struct line *words, int most)
{
    int n = 0;
    for (size_t at = 0; at <= l.n; n++) {
        const char *from = l.at + at, *end = memchr(from, ' ', l.n - at);
        const size_t size = end ? (size_t)(end - from) : l.n - at;
        if (n == most)
            return most + 1;
        words[n] = (struct line){from, size};
        at += size + 1;
    }
    return n;
}

static bool is(struct line word, const char *text)
{
    return strlen(text) == word.n && !memcmp(word.at, text, word.n);
}

/* A whole number of at most 6 digits. */
static bool whole(struct line word, int32_t *to)
{
    const bool minus = word.n && word.at[0] == '-';
    int32_t value = 0;
    if (word.n - minus < 1 || word.n - minus > 6)
        return false;
    for (size_t i = minus; i < word.n; i++) {
        if (word.at[i] < '0' || word.at[i] > '9')
            return false;
        value = 10 * value + (word.at[i] - '0');
    }
    *to = minus ? -value : value;
    return true;
}

/* Text of a word for messages. */
static int shown(struct line word)
{
    return word.n < 40 ? (int)word.n : 40;
}

static int wrong(const struct bi_components *c, uint64_t number, struct line l, const char *want,
                 struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: '%.*s', expected %s", c->name,
                   (unsigned long long)number, shown(l), l.at, want);
}

/* ---- opening ---- */

/* Takes the first line of a component, which begins where `at` says. */
static int add(struct bi_components *c, struct line l, uint64_t number, size_t at,
               struct bioinfer_error *err)
{
    struct line words[4];
    struct place *p;
    int kind = 0;
    if (words_of(l, words, 4) != 4 || words[3].n != 1 || words[3].at[0] <= ' ' || words[1].n < 1 ||
        words[1].n > BI_COMPONENT_CODE || memchr(words[1].at, '\0', words[1].n))
        return wrong(c, number, l, "'> CODE KIND LETTER'", err);
    while (kind <= BI_COMPONENT_OTHER && !is(words[2], kinds[kind]))
        kind++;
    if (kind > BI_COMPONENT_OTHER)
        return wrong(c, number, words[2], "peptide, dna, rna or other", err);
    if (!bi_grow(c->env, &c->places, &c->cap, c->n + 1, sizeof *c->places))
        return bi_fail(err, BIOINFER_NOMEM, "%s: components", c->name);
    p = &c->places[c->n];
    *p = (struct place){
        .kind = (enum bi_component_kind)kind, .letter = words[3].at[0], .line = number, .at = at};
    memcpy(p->code, words[1].at, words[1].n);
    if (c->n && strcmp(c->places[c->n - 1].code, p->code) >= 0)
        return wrong(c, number, words[1], "a code after the one before it", err);
    c->n++;
    return 0;
}

static int scan(struct bi_components *c, struct bioinfer_error *err)
{
    size_t at = 0;
    uint64_t number = 1;
    int st = 0;
    struct line l = next_line(c->text, c->size, &at);
    if (!is(l, first_line))
        return wrong(c, 1, l, "'bioinfer components 1'", err);
    while (!st && at < c->size) {
        const size_t begin = at;
        l = next_line(c->text, c->size, &at);
        number++;
        if (l.n && l.at[0] == '>') {
            if (c->n)
                c->places[c->n - 1].end = begin;
            st = add(c, l, number, at, err);
        } else if (!c->n) {
            st = wrong(c, number, l, "'> CODE KIND LETTER'", err);
        }
    }
    if (!st && c->n)
        c->places[c->n - 1].end = c->size;
    return st;
}

/* Takes `owned`, which may be NULL, also after a failure. */
static int open_text(struct bi_components **out, const struct bi_env *env, const char *name,
                     char *owned, const char *text, size_t size, struct bioinfer_error *err)
{
    struct bi_components *c = bi_calloc(env, 1, sizeof *c);
    int st = 0;
    if (!c) {
        bi_free(env, owned);
        return bi_fail(err, BIOINFER_NOMEM, "%s: components", name);
    }
    *c = (struct bi_components){.env = env, .owned = owned, .text = text, .size = size};
    c->name = bi_strdup(env, name);
    st = c->name ? scan(c, err) : bi_fail(err, BIOINFER_NOMEM, "%s: components", name);
    if (st)
        bi_components_close(&c);
    else
        *out = c;
    return st;
}

int bi_components_open_memory(struct bi_components **out, const struct bi_env *env,
                              const char *name, const void *bytes, size_t size,
                              struct bioinfer_error *err)
{
    return open_text(out, env, name, NULL, bytes, size, err);
}

int bi_components_open(struct bi_components **out, const struct bi_env *env, const char *path,
                       struct bioinfer_error *err)
{
    char *text;
    size_t size;
    int st;
    if (!path)
        return open_text(out, env, "components within the program", NULL, bi_components_text,
                         strlen(bi_components_text), err);
    if ((st = bi_file_slurp(env, path, UINT64_C(1) << 30, &text, &size, err)))
        return st;
    return open_text(out, env, path, text, text, size, err);
}

size_t bi_components_count(const struct bi_components *c)
{
    return c->n;
}

const char *bi_components_code(const struct bi_components *c, size_t index)
{
    return index < c->n ? c->places[index].code : NULL;
}

/* ---- a component ---- */

static int read_atom(const struct bi_components *c, struct line l, uint64_t number,
                     struct bi_component *to, struct bioinfer_error *err)
{
    struct bi_component_atom a = {.name = ""};
    struct line words[7];
    const int n = words_of(l, words, 7);
    int32_t charge = 0;
    if ((n != 5 && n != 7) || words[0].n < 1 || words[0].n > 4 ||
        memchr(words[0].at, '\0', words[0].n) || !whole(words[2], &charge) || charge < -99 ||
        charge > 99 || (!is(words[3], "-") && !is(words[3], "L")) || (n == 5 && !is(words[4], "?")))
        return wrong(c, number, l, "an atom or a bond", err);
    if (!(a.element = bi_element_find(words[1].at, words[1].n)))
        return wrong(c, number, words[1], "an element", err);
    a.placed = n == 7;
    for (int k = 0; k < 3 && a.placed; k++)
        if (!bi_parse_f64(words[4 + k].at, words[4 + k].n, &a.x[k]) || !(a.x[k] > -1e6) ||
            !(a.x[k] < 1e6))
            return wrong(c, number, words[4 + k], "angstrom", err);
    memcpy(a.name, words[0].at, words[0].n);
    a.charge = (int8_t)charge;
    a.leaves = is(words[3], "L");
    for (int32_t i = 0; i < to->n_atoms; i++)
        if (!strcmp(to->atoms[i].name, a.name))
            return wrong(c, number, words[0], "a name that no other atom has", err);
    if (to->n_atoms == BI_COMPONENT_ATOMS)
        return bi_fail(err, BIOINFER_LIMIT, "%s: line %llu: more than %d atoms", c->name,
                       (unsigned long long)number, BI_COMPONENT_ATOMS);
    if (!bi_grow(c->env, &to->atoms, &to->cap_atoms, (size_t)to->n_atoms + 1, sizeof a))
        return bi_fail(err, BIOINFER_NOMEM, "%s: atoms", c->name);
    to->atoms[to->n_atoms++] = a;
    return 0;
}

static int read_bond(const struct bi_components *c, struct line l, uint64_t number,
                     struct bi_component *to, struct bioinfer_error *err)
{
    struct bi_component_bond b;
    struct line words[4];
    if (words_of(l, words, 4) != 4 || words[0].n != 1 || !whole(words[1], &b.a) ||
        !whole(words[2], &b.b) || !whole(words[3], &b.order) || b.order < 1 || b.order > 4)
        return wrong(c, number, l, "'= ATOM ATOM ORDER'", err);
    if (b.a < 0 || b.b < 0 || b.a == b.b || b.a >= to->n_atoms || b.b >= to->n_atoms)
        return wrong(c, number, l, "two atoms before it", err);
    if (to->n_bonds == BI_COMPONENT_BONDS)
        return bi_fail(err, BIOINFER_LIMIT, "%s: line %llu: more than %d bonds", c->name,
                       (unsigned long long)number, BI_COMPONENT_BONDS);
    if (!bi_grow(c->env, &to->bonds, &to->cap_bonds, (size_t)to->n_bonds + 1, sizeof b))
        return bi_fail(err, BIOINFER_NOMEM, "%s: bonds", c->name);
    to->bonds[to->n_bonds++] = b;
    return 0;
}

static const struct place *find(const struct bi_components *c, const char *code)
{
    size_t low = 0, high = c->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(c->places[middle].code, code);
        if (!order)
            return &c->places[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int bi_components_find(const struct bi_components *c, const char *code, struct bi_component *to,
                       struct bioinfer_error *err)
{
    const struct place *p = find(c, code);
    uint64_t number;
    size_t at;
    int st = 0;
    to->n_atoms = to->n_bonds = 0;
    if (!p)
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s: no component '%.40s'", c->name, code);
    memcpy(to->code, p->code, sizeof to->code);
    to->kind = p->kind;
    to->letter = p->letter;
    number = p->line;
    for (at = p->at; !st && at < p->end;) {
        const struct line l = next_line(c->text, p->end, &at);
        number++;
        st = l.n && l.at[0] == '=' ? read_bond(c, l, number, to, err)
                                   : read_atom(c, l, number, to, err);
    }
    if (!st && !to->n_atoms)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: component %s has no atoms", c->name,
                     (unsigned long long)p->line, p->code);
    return st;
}

void bi_component_free(const struct bi_env *env, struct bi_component *component)
{
    bi_free(env, component->atoms);
    bi_free(env, component->bonds);
    *component = (struct bi_component){.code = ""};
}

void bi_components_close(struct bi_components **c)
{
    if (!*c)
        return;
    const struct bi_env *env = (*c)->env;
    bi_free(env, (*c)->places);
    bi_free(env, (*c)->name);
    bi_free(env, (*c)->owned);
    bi_free(env, *c);
    *c = NULL;
}

/* mmcif.c - the atoms of an mmCIF file: category _atom_site of the first data block, columns in
 * any order, as a loop or as one row of key and value. Chain, residue number and residue name as
 * the authors gave them (auth_*), which is what PDB files have; label_* where those are absent. */
#include <math.h>
#include <string.h>

#include "../base/number.h"
#include "reader.h"
#include "structure.h"

/* ---- tokens ---- */

enum kind { END, VALUE, TAG, LOOP, DATA, BLOCK };

struct lexer {
    const char *name, *text;
    size_t size, at;
    long line;
    enum kind kind;
    const char *value;
    size_t n;
    bool quoted;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool word_is(const struct lexer *x, const char *word, size_t n)
{
    if (x->n < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((x->value[i] >= 'A' && x->value[i] <= 'Z' ? x->value[i] + 32 : x->value[i]) != word[i])
            return false;
    return true;
}

/* ";" at the start of a line up to the next one at the start of a line. */
static int text_field(struct lexer *x, struct bioinfer_error *err)
{
    long begun = x->line;
    x->value = x->text + ++x->at;
    while (x->at < x->size) {
        if (x->text[x->at] == '\n') {
            x->line++;
            if (x->at + 1 < x->size && x->text[x->at + 1] == ';') {
                x->n = (size_t)(x->text + x->at - x->value);
                x->at += 2;
                return 0;
            }
        }
        x->at++;
    }
    return bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: text that begins here has no end", x->name,
                   begun);
}

static int next_token(struct lexer *x, struct bioinfer_error *err)
{
    const char *t = x->text;
    while (x->at < x->size && (is_space(t[x->at]) || t[x->at] == '#')) {
        if (t[x->at] == '#')
            while (x->at < x->size && t[x->at] != '\n')
                x->at++;
        else
            x->line += t[x->at++] == '\n';
    }
    x->kind = VALUE;
    x->quoted = false;
    x->value = t + x->at;
    x->n = 0;
    if (x->at >= x->size) {
        x->kind = END;
        return 0;
    }
    if (t[x->at] == ';' && (!x->at || t[x->at - 1] == '\n')) {
        x->quoted = true;
        return text_field(x, err);
    }
    if (t[x->at] == '\'' || t[x->at] == '"') { /* ends before white space only */
        char quote = t[x->at];
        x->quoted = true;
        x->value = t + ++x->at;
        while (x->at < x->size && t[x->at] != '\n' &&
               !(t[x->at] == quote && (x->at + 1 == x->size || is_space(t[x->at + 1]))))
            x->at++;
        if (x->at == x->size || t[x->at] == '\n')
            return bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: a quoted value has no end", x->name,
                           x->line);
        x->n = (size_t)(t + x->at++ - x->value);
        return 0;
    }
    while (x->at < x->size && !is_space(t[x->at]))
        x->at++;
    x->n = (size_t)(t + x->at - x->value);
    if (x->value[0] == '_')
        x->kind = TAG;
    else if (x->n == 5 && word_is(x, "loop_", 5))
        x->kind = LOOP;
    else if (word_is(x, "data_", 5))
        x->kind = DATA;
    else if (word_is(x, "save_", 5) || word_is(x, "global_", 7) || word_is(x, "stop_", 5))
        x->kind = BLOCK;
    return 0;
}

/* ---- atoms ---- */

/* clang-format off */
enum column { GROUP, ELEMENT, ATOM, ATOM_LABEL, ALT, RESIDUE, RESIDUE_LABEL, CHAIN, CHAIN_LABEL,
              NUMBER, NUMBER_LABEL, ICODE, X, Y, Z, OCCUPANCY, B, MODEL, N_COLUMNS };

static const char *const column_names[N_COLUMNS] = {
    [GROUP] = "group_pdb", [ELEMENT] = "type_symbol", [ATOM] = "auth_atom_id",
    [ATOM_LABEL] = "label_atom_id", [ALT] = "label_alt_id", [RESIDUE] = "auth_comp_id",
    [RESIDUE_LABEL] = "label_comp_id", [CHAIN] = "auth_asym_id",
    [CHAIN_LABEL] = "label_asym_id", [NUMBER] = "auth_seq_id",
    [NUMBER_LABEL] = "label_seq_id", [ICODE] = "pdbx_pdb_ins_code", [X] = "cartn_x",
    [Y] = "cartn_y", [Z] = "cartn_z", [OCCUPANCY] = "occupancy",
    [B] = "b_iso_or_equiv",
    [MODEL] = "pdbx_pdb_model_num"};
/* clang-format on */

struct cell {
    const char *text;
    size_t n; /* 0: absent, "." or "?" */
};

static int column_of(const struct lexer *x)
{
    static const char prefix[] = "_atom_site.";
    struct lexer rest = *x;
    if (!word_is(x, prefix, sizeof prefix - 1))
        return -2;
    rest.value += sizeof prefix - 1;
    rest.n -= sizeof prefix - 1;
    for (int c = 0; c < N_COLUMNS; c++)
        if (rest.n == strlen(column_names[c]) && word_is(&rest, column_names[c], rest.n))
            return c;
    return -1;
}

static void copy(char *dst, size_t size, struct cell c)
{
    size_t n = c.n < size - 1 ? c.n : size - 1;
    memcpy(dst, c.text ? c.text : "", n);
    dst[n] = '\0';
}

static struct cell either(const struct cell *row, int a, int b)
{
    return row[a].n ? row[a] : row[b];
}

static bool whole(struct cell c, int32_t *out)
{
    double v;
    if (!c.n || !bi_parse_f64(c.text, c.n, &v) || v < -1e8 || v > 1e8 || v != (double)(int32_t)v)
        return false;
    *out = (int32_t)v;
    return true;
}

static int add_row(struct bi_structure *s, const struct lexer *x, const struct cell *row,
                   struct bioinfer_error *err)
{
    struct bi_atom a = {.icode = ' ', .altloc = ' ', .occupancy = 1, .b = NAN, .model = 1};
    struct cell chain = either(row, CHAIN, CHAIN_LABEL), number = either(row, NUMBER, NUMBER_LABEL);
    struct bi_unread fault = {.line = x->line};
    double v;
    int st = 0;
    copy(a.name, sizeof a.name, either(row, ATOM, ATOM_LABEL));
    copy(a.residue, sizeof a.residue, either(row, RESIDUE, RESIDUE_LABEL));
    copy(a.element, sizeof a.element, row[ELEMENT]);
    a.het = row[GROUP].n == 6 && !memcmp(row[GROUP].text, "HETATM", 6);
    copy(a.chain, sizeof a.chain, chain);
    fault.kind = BI_FAULT_CHAIN;
    if (chain.n >= sizeof a.chain)
        st = bi_structure_unread(s, &a, fault, chain.text, chain.n, err);
    fault.kind = BI_FAULT_NUMBER;
    if (!st && !whole(number, &a.number))
        st = bi_structure_unread(s, &a, fault, number.text, number.n, err);
    if (row[ICODE].n)
        a.icode = row[ICODE].text[0];
    if (row[ALT].n)
        a.altloc = row[ALT].text[0];
    fault.kind = BI_FAULT_POSITION;
    for (int i = 0; !st && i < 3; i++) {
        struct cell c = row[X + i];
        if (c.n && bi_parse_f64(c.text, c.n, &v) && v >= -1e6 && v <= 1e6) {
            a.x[i] = (float)v;
            continue;
        }
        a.x[i] = NAN;
        if (!(a.faults & BI_FAULT_POSITION))
            st = bi_structure_unread(s, &a, fault, c.text, c.n, err);
    }
    if (st)
        return st;
    if (row[OCCUPANCY].n && bi_parse_f64(row[OCCUPANCY].text, row[OCCUPANCY].n, &v) && v >= -1e6 &&
        v <= 1e6)
        a.occupancy = (float)v;
    if (row[B].n && bi_parse_f64(row[B].text, row[B].n, &v) && v >= -1e6 && v <= 1e6)
        a.b = (float)v;
    if (row[MODEL].n && (!whole(row[MODEL], &a.model) || a.model < 0))
        return bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: model '%s'", s->name, x->line,
                       bi_quote(row[MODEL].text, row[MODEL].n).text);
    if (!s->n_atoms || s->atoms[s->n_atoms - 1].model != a.model)
        s->n_models++;
    return bi_structure_add(s, &a, err);
}

static void take(struct cell *row, int column, const struct lexer *x)
{
    bool none = !x->quoted && x->n == 1 && (x->value[0] == '.' || x->value[0] == '?');
    if (column >= 0)
        row[column] = (struct cell){x->value, none ? 0 : x->n};
}

static bool has_columns(const bool *have)
{
    return have[X] && have[Y] && have[Z] && (have[ATOM] || have[ATOM_LABEL]) &&
           (have[RESIDUE] || have[RESIDUE_LABEL]) && (have[CHAIN] || have[CHAIN_LABEL]) &&
           (have[NUMBER] || have[NUMBER_LABEL]);
}

/* A loop; its tags follow. Leaves the token behind it. */
static int read_loop(struct bi_structure *s, struct lexer *x, struct bioinfer_error *err)
{
    enum { MAX_TAGS = 512 };
    int8_t column[MAX_TAGS];
    bool have[N_COLUMNS] = {false}, mine = false;
    struct cell row[N_COLUMNS] = {{0}};
    int n = 0, at = 0, st;
    while (!(st = next_token(x, err)) && x->kind == TAG) {
        int c = column_of(x);
        if (n == MAX_TAGS)
            return bi_fail(err, BIOINFER_LIMIT, "%s: line %ld: a loop of more than %d items",
                           s->name, x->line, MAX_TAGS);
        if (c >= 0 && have[c])
            return bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: item %s twice", s->name, x->line,
                           column_names[c]);
        mine |= c > -2;
        if (c >= 0)
            have[c] = true;
        column[n++] = (int8_t)c;
    }
    if (!st && mine && !has_columns(have))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %ld: _atom_site lacks a name, residue, "
                       "chain, number or coordinate",
                       s->name, x->line);
    while (!st && x->kind == VALUE) {
        if (!n)
            return bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: a loop without items", s->name,
                           x->line);
        if (mine)
            take(row, column[at], x);
        if (++at == n) {
            at = 0;
            if (mine && (st = add_row(s, x, row, err)))
                return st;
        }
        st = next_token(x, err);
    }
    if (!st && at)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: a loop of %d items ends within a row",
                     s->name, x->line, n);
    return st;
}

int bi_mmcif_read(struct bi_structure *s, const char *text, size_t size, struct bioinfer_error *err)
{
    struct lexer x = {.name = s->name, .text = text, .size = size, .line = 1};
    struct cell row[N_COLUMNS] = {{0}};
    bool have[N_COLUMNS] = {false}, single = false;
    int blocks = 0, st;
    s->format = "mmCIF";
    st = next_token(&x, err);
    while (!st && x.kind != END) {
        int column;
        if (x.kind == DATA && blocks++) {
            bi_log(s->env, BIOINFER_LOG_NAMED,
                   "%s: line %ld: a further data block is not read: the first one counts", s->name,
                   x.line);
            break;
        }
        if (x.kind == LOOP) {
            st = read_loop(s, &x, err);
            continue;
        }
        if (x.kind != TAG) {
            if (x.kind == VALUE)
                return bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: '%s' belongs to no item",
                               s->name, x.line, bi_quote(x.value, x.n).text);
            st = next_token(&x, err);
            continue;
        }
        column = column_of(&x);
        if ((st = next_token(&x, err)))
            break;
        if (x.kind != VALUE)
            return bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: an item without a value", s->name,
                           x.line);
        take(row, column, &x);
        if (column >= 0) {
            single = true;
            have[column] = true;
        }
        st = next_token(&x, err);
    }
    if (!st && single && has_columns(have))
        st = add_row(s, &x, row, err);
    return st;
}

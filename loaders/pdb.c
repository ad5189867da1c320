/* pdb.c - opening a structure file of either kind; PDB records by their columns.
 * Numbers of residues above 9999: hybrid-36, https://cci.lbl.gov/hybrid_36 */
#include <math.h>
#include <string.h>

#include "../base/file.h"
#include "../base/number.h"
#include "gunzip.h"
#include "reader.h"
#include "structure.h"

/* ---- opening ---- */

int bi_structure_add(struct bi_structure *s, const struct bi_atom *atom, struct bioinfer_error *err)
{
    if (s->n_atoms >= BI_MAX_ATOMS)
        return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d atoms", s->name, BI_MAX_ATOMS);
    if (!bi_grow(s->env, &s->atoms, &s->cap_atoms, s->n_atoms + 1, sizeof *s->atoms))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %zu atoms", s->name, s->n_atoms + 1);
    s->atoms[s->n_atoms++] = *atom;
    return 0;
}

int bi_structure_unread(struct bi_structure *s, struct bi_atom *atom, struct bi_unread fault,
                        const char *text, size_t n, struct bioinfer_error *err)
{
    if (!bi_grow(s->env, &s->faults, &s->cap_faults, s->n_faults + 1, sizeof *s->faults))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %zu atoms", s->name, s->n_atoms + 1);
    n = n < sizeof fault.text - 1 ? n : sizeof fault.text - 1;
    memcpy(fault.text, n ? text : "", n);
    fault.text[n] = '\0';
    fault.atom = s->n_atoms;
    atom->faults |= fault.kind;
    s->faults[s->n_faults++] = fault;
    return 0;
}

int bi_atom_check(const struct bi_structure *s, const struct bi_atom *atom, int fields,
                  struct bioinfer_error *err)
{
    const size_t at = (size_t)(atom - s->atoms);
    size_t low = 0, high = s->n_faults;
    const struct bi_unread *f;
    if (!(atom->faults & fields))
        return 0;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (s->faults[middle].atom < at)
            low = middle + 1;
        else
            high = middle;
    }
    while (!(s->faults[low].kind & fields))
        low++;
    f = &s->faults[low];
    if (f->kind == BI_FAULT_CHAIN)
        return bi_fail(
            err, BIOINFER_LIMIT, "%s: line %ld: chain '%s': names have at most %d characters",
            s->name, f->line, bi_quote(f->text, strlen(f->text)).text, (int)sizeof atom->chain - 1);
    if (!f->column)
        return bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: %s '%s'", s->name, f->line,
                       f->kind == BI_FAULT_NUMBER ? "residue number" : "coordinate",
                       bi_quote(f->text, strlen(f->text)).text);
    return bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: %s '%s' in columns %d-%d", s->name, f->line,
                   f->kind == BI_FAULT_NUMBER ? "residue number" : "coordinate",
                   bi_quote(f->text, strlen(f->text)).text, f->column,
                   f->column + (f->kind == BI_FAULT_NUMBER ? 4 : 7));
}

static bool ends_in(const char *text, size_t n, const char *suffix)
{
    size_t k = strlen(suffix);
    return n > k && !memcmp(text + n - k, suffix, k);
}

/* First token data_ (any case), behind white space and comments. */
static bool is_mmcif(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size) {
        if (text[i] == '#')
            while (i < size && text[i] != '\n')
                i++;
        else if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n')
            break;
        else
            i++;
    }
    return size - i >= 5 && (text[i] | 32) == 'd' && (text[i + 1] | 32) == 'a' &&
           (text[i + 2] | 32) == 't' && (text[i + 3] | 32) == 'a' && text[i + 4] == '_';
}

/* Copies a text in which carriage returns end lines, with line feeds in their place; *out stays
 * NULL where there are none. Caller frees *out. */
static int end_lines(const struct bi_env *env, const char *name, const char *text, size_t size,
                     char **out, struct bioinfer_error *err)
{
    const char *at = text, *end = text + size;
    while ((at = at < end ? memchr(at, '\r', (size_t)(end - at)) : NULL) && at + 1 < end &&
           at[1] == '\n')
        at += 2;
    if (!at || at + 1 == end)
        return 0;
    if (!(*out = bi_alloc(env, size + 1)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %zu bytes of text", name, size);
    memcpy(*out, text, size);
    (*out)[size] = '\0';
    for (size_t i = (size_t)(at - text); i < size; i++)
        if (text[i] == '\r' && (i + 1 == size || text[i + 1] != '\n'))
            (*out)[i] = '\n';
    return 0;
}

/* Cuts the first of the suffixes that the name ends in. */
static void cut_suffix(char *name, const char *const *suffixes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ends_in(name, strlen(name), suffixes[i])) {
            name[strlen(name) - strlen(suffixes[i])] = '\0';
            return;
        }
}

char *bi_structure_name(const struct bi_env *env, const char *path)
{
    static const char *const suffixes[] = {".pdb", ".ent", ".cif", ".mmcif", ".PDB", ".CIF"};
    static const char *const packed[] = {".gz", ".GZ"};
    char *name = bi_strdup(env, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    if (name) {
        cut_suffix(name, packed, BI_COUNT(packed));
        cut_suffix(name, suffixes, BI_COUNT(suffixes));
    }
    return name;
}

int bi_structure_open_memory(struct bi_structure *out, const struct bi_env *env, const char *name,
                             const char *text, size_t size, struct bioinfer_error *err)
{
    struct bi_structure s = {.env = env};
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    char *inflated = NULL, *ended = NULL;
    size_t mark;
    int st = 0;
    if (!(s.name = bi_strdup(env, base)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", name);
    if (size >= 2 && (uint8_t)text[0] == 0x1f && (uint8_t)text[1] == 0x8b) {
        st = bi_gunzip_memory(env, name, text, size, BI_MAX_STRUCTURE_SIZE, &inflated, &size, err);
        text = inflated;
    }
    if (!st && (mark = bi_text_mark(text, size))) {
        text += mark;
        size -= mark;
    }
    if (!st && !(st = end_lines(env, name, text, size, &ended, err)) && ended)
        text = ended;
    if (!st)
        st = is_mmcif(text, size) ? bi_mmcif_read(&s, text, size, err)
                                  : bi_pdb_read(&s, text, size, err);
    if (!st && !s.n_atoms)
        st = bi_fail(err, BIOINFER_EMPTY, "%s: no ATOM record%s", name,
                     size ? ": expected a PDB or mmCIF file" : ", the file is empty");
    bi_free(env, s.name); /* messages had it in full */
    if (!(s.name = bi_structure_name(env, name)) && !st)
        st = bi_fail(err, BIOINFER_NOMEM, "%s", name);
    bi_free(env, inflated);
    bi_free(env, ended);
    if (st)
        bi_structure_close(&s);
    *out = s;
    return st;
}

int bi_structure_open(struct bi_structure *out, const struct bi_env *env, const char *path,
                      struct bioinfer_error *err)
{
    char *text = NULL;
    size_t size;
    int st = bi_file_slurp(env, path, BI_MAX_STRUCTURE_SIZE, &text, &size, err);
    *out = (struct bi_structure){0};
    if (!st)
        st = bi_structure_open_memory(out, env, path, text, size, err);
    bi_free(env, text);
    return st;
}

void bi_structure_close(struct bi_structure *s)
{
    if (!s || !s->env)
        return;
    bi_free(s->env, s->name);
    bi_free(s->env, s->atoms);
    bi_free(s->env, s->faults);
    bi_free(s->env, s->cells);
    *s = (struct bi_structure){0};
}

/* ---- PDB ---- */

struct line {
    const char *text;
    size_t n; /* without the end and trailing white space */
    long number;
};

/* Columns [from, to] (1-based) without the white space around them; *n their number. */
static const char *columns(const struct line *l, size_t from, size_t to, size_t *n)
{
    size_t begin = from - 1 < l->n ? from - 1 : l->n, end = to < l->n ? to : l->n;
    while (begin < end && (l->text[begin] == ' ' || l->text[begin] == '\t'))
        begin++;
    while (end > begin && (l->text[end - 1] == ' ' || l->text[end - 1] == '\t'))
        end--;
    *n = end - begin;
    return l->text + begin;
}

static void copy(char *dst, size_t size, const char *text, size_t n)
{
    n = n < size - 1 ? n : size - 1;
    memcpy(dst, text, n);
    dst[n] = '\0';
}

static bool whole_number(const char *text, size_t n, int32_t *out)
{
    bool negative = n && text[0] == '-';
    int64_t v = 0;
    size_t i = negative || (n && text[0] == '+');
    if (i == n || n - i > 9)
        return false;
    for (; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        v = 10 * v + (text[i] - '0');
    }
    *out = (int32_t)(negative ? -v : v);
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Four digits of base 36, of which the first is a letter and all letters have its case: numbers
 * from 10,000 on, capital letters first. */
static bool hybrid_36(const char *text, int32_t *out)
{
    const char a = text[0] >= 'a' ? 'a' : 'A';
    int32_t v = 0;
    if (!is_letter(text[0]))
        return false;
    for (int i = 0; i < 4; i++) {
        if (text[i] >= '0' && text[i] <= '9')
            v = 36 * v + (text[i] - '0');
        else if (text[i] >= a && text[i] <= a + 25)
            v = 36 * v + (text[i] - a) + 10;
        else
            return false;
    }
    *out = v - 10 * 36 * 36 * 36 + 10000 + (a == 'a' ? 26 * 36 * 36 * 36 : 0);
    return true;
}

/* Number and insertion code of columns 23-27; false: there is no number. */
static bool read_number(const struct line *l, struct bi_atom *a)
{
    size_t n;
    const char *t = columns(l, 23, 26, &n);
    if (n == 4 && (l->n < 27 || l->text[26] == ' ' || is_letter(l->text[26])) &&
        hybrid_36(t, &a->number)) {
        a->icode = l->n >= 27 ? l->text[26] : ' ';
        return true;
    }
    t = columns(l, 23, 27, &n);
    if (n && is_letter(t[n - 1]))
        a->icode = t[--n];
    return whole_number(t, n, &a->number);
}

static int read_atom(struct bi_structure *s, const struct line *l, bool het, int32_t model,
                     struct bioinfer_error *err)
{
    struct bi_atom a = {
        .het = het, .model = model, .icode = ' ', .altloc = ' ', .occupancy = 1, .b = NAN};
    struct bi_unread fault = {.line = l->number, .kind = BI_FAULT_NUMBER, .column = 23};
    size_t n;
    const char *t = columns(l, 13, 16, &n);
    double v;
    int st = 0;
    copy(a.name, sizeof a.name, t, n);
    a.indent = n ? (uint8_t)(t - l->text - 12) : 0;
    if (l->n >= 17)
        a.altloc = l->text[16];
    t = columns(l, 18, 20, &n);
    copy(a.residue, sizeof a.residue, t, n);
    a.chain[0] = l->n >= 22 && l->text[21] != ' ' ? l->text[21] : '\0';
    if (!read_number(l, &a)) {
        t = columns(l, 23, 27, &n);
        st = bi_structure_unread(s, &a, fault, t, n, err);
        a.number = 0;
        a.icode = ' ';
    }
    for (int i = 0; !st && i < 3; i++) {
        t = columns(l, 31 + 8 * (size_t)i, 38 + 8 * (size_t)i, &n);
        if (bi_parse_f64(t, n, &v) && v >= -1e6 && v <= 1e6) {
            a.x[i] = (float)v;
            continue;
        }
        a.x[i] = NAN;
        fault.kind = BI_FAULT_POSITION;
        fault.column = (uint8_t)(31 + 8 * i);
        if (!(a.faults & BI_FAULT_POSITION))
            st = bi_structure_unread(s, &a, fault, t, n, err);
    }
    t = columns(l, 55, 60, &n);
    if (bi_parse_f64(t, n, &v) && v >= -1e6 && v <= 1e6)
        a.occupancy = (float)v;
    t = columns(l, 61, 66, &n);
    if (bi_parse_f64(t, n, &v) && v >= -1e6 && v <= 1e6)
        a.b = (float)v;
    t = columns(l, 77, 78, &n);
    copy(a.element, sizeof a.element, t, n);
    return st ? st : bi_structure_add(s, &a, err);
}

/* Keeps a CRYST1 record for the model at hand or else the next one. */
static int read_cryst1(struct bi_structure *s, const struct line *l, int32_t model,
                       struct bioinfer_error *err)
{
    struct bi_cryst1 cell = {.model = model, .line = l->number};
    if (s->n_cells && s->cells[s->n_cells - 1].model == model)
        s->n_cells--;
    if (!bi_grow(s->env, &s->cells, &s->cap_cells, s->n_cells + 1, sizeof *s->cells))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %zu cells", s->name, s->n_cells + 1);
    copy(cell.text, sizeof cell.text, l->text, l->n);
    s->cells[s->n_cells++] = cell;
    return 0;
}

static bool is_record(const struct line *l, const char *name)
{
    const size_t n = strlen(name);
    return l->n >= n && !memcmp(l->text, name, n);
}

/* A line of a PDB. *open: a model has begun and not ended. */
static int read_line(struct bi_structure *s, const struct line *l, bool *open,
                     struct bioinfer_error *err)
{
    const bool het = is_record(l, "HETATM"), atom = het || is_record(l, "ATOM");
    if (is_record(l, "MODEL ") || (atom && !*open)) {
        if (s->n_models == BI_MAX_ATOMS)
            return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d models", s->name, BI_MAX_ATOMS);
        s->n_models++;
        *open = true;
    } else if (is_record(l, "ENDMDL") || is_record(l, "END ") || (l->n == 3 && is_record(l, "END")))
        *open = false;
    if (is_record(l, "CRYST1"))
        return read_cryst1(s, l, s->n_models + !*open, err);
    return atom ? read_atom(s, l, het, s->n_models, err) : 0;
}

int bi_pdb_read(struct bi_structure *s, const char *text, size_t size, struct bioinfer_error *err)
{
    struct line l = {.number = 0};
    bool open = false;
    int st = 0;
    s->format = "PDB";
    for (size_t at = 0; !st && at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t next = end ? (size_t)(end - text) + 1 : size;
        l.text = text + at;
        l.n = next - at;
        l.number++;
        while (l.n && (l.text[l.n - 1] == '\n' || l.text[l.n - 1] == '\r' ||
                       l.text[l.n - 1] == ' ' || l.text[l.n - 1] == '\t'))
            l.n--;
        st = memchr(l.text, '\0', l.n)
                 ? bi_fail(err, BIOINFER_FORMAT, "%s: line %ld: a NUL byte: this is no text",
                           s->name, l.number)
                 : read_line(s, &l, &open, err);
        at = next;
    }
    return st;
}

/* xyz.c - XYZ files, plain and extended.
 *
 * A frame is a line with the number of atoms, a line of comment, and a line for each atom. In an
 * extended file the comment has words key=value, with blanks around the = or without, and keys in
 * quotes or without: Lattice (nine numbers), pbc, Properties (names, types and widths of the
 * columns), charge or total_charge, step, run. Symbols are read in any case, as ASE does.
 * Source: github.com/libAtoms/extxyz */
#include <string.h>

#include "../base/number.h"
#include "chem/molecule.h"
#include "frames.h"
#include "reader.h"

enum { MAX_KEY = 64, MAX_VALUE = 4096 };

/* Columns of an atom: where each of what is read begins, -1 = nowhere. */
struct columns {
    int symbol, number, position, momentum, velocity, mask;
    int mask_width;  /* 1 or 3 */
    bool mask_holds; /* it says what is fixed, not what may move */
    int masses;
    int n;     /* columns that a line must have */
    bool more; /* others may stand behind them */
};

struct comment {
    bool extended, has_lattice, has_pbc, has_properties, has_step, has_run;
    const char *other_cell; /* a key that is none of Lattice and means a cell */
    struct columns columns;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool same(const char *text, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        const char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
        if (c != (word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]))
            return false;
    }
    return word[n] == '\0';
}

/* ---- key=value ---- */

/* Reads what is quoted ("...", '...', {...}, [...]) or one bare word into value[]; *n its length.
 * False: the quote has no end, or the value has no room. */
static bool read_value(const char *line, size_t size, size_t *at, char *value, size_t *n)
{
    static const char open[] = "\"'{[", close[] = "\"'}]";
    const char *quote = *at < size && line[*at] ? strchr(open, line[*at]) : NULL;
    size_t i = *at, k = 0;
    if (quote) {
        const char end = close[quote - open];
        for (i++; i < size && line[i] != end; i++) {
            if (line[i] == '\\' && i + 1 < size)
                i++;
            if (k == MAX_VALUE)
                return false;
            value[k++] = line[i];
        }
        if (i++ >= size)
            return false;
    } else {
        for (; i < size && !is_space(line[i]); i++) {
            if (k == MAX_VALUE)
                return false;
            value[k++] = line[i];
        }
    }
    *at = i;
    *n = k;
    return true;
}

/* `want` numbers, parted by white space or commas; *got counts the words. */
static bool read_numbers(const char *text, size_t n, double limit, double *out, int want, int *got)
{
    bool good = true;
    *got = 0;
    for (size_t i = 0; i < n;) {
        size_t from;
        while (i < n && (is_space(text[i]) || strchr(",[]", text[i])))
            i++;
        for (from = i; i < n && !is_space(text[i]) && !strchr(",[]", text[i]);)
            i++;
        if (i == from)
            continue;
        good = good && *got < want && bi_frames_number(text + from, i - from, limit, &out[*got]);
        ++*got;
    }
    return good && *got == want;
}

static int read_lattice(struct bi_frames *f, struct bi_frame *frame, const char *text, size_t n,
                        struct bioinfer_error *err)
{
    int got;
    if (!read_numbers(text, n, BI_FRAME_MAX_POSITION, frame->cell, 9, &got))
        return bi_frames_fail(f, err, BIOINFER_FORMAT,
                              got == 9
                                  ? "Lattice '%s': expected nine finite numbers"
                                  : "Lattice '%s' has %d numbers, expected nine: three vectors",
                              bi_quote(text, n).text, got);
    return 0;
}

static int read_pbc(struct bi_frames *f, struct bi_frame *frame, const char *text, size_t n,
                    struct bioinfer_error *err)
{
    int got = 0;
    for (size_t at = 0; at < n;) {
        const char *word = text + at;
        size_t length = 0;
        while (at + length < n && !is_space(word[length]) && !strchr(",[]", word[length]))
            length++;
        at += length + 1;
        if (!length)
            continue;
        const bool yes = same(word, length, "t") || same(word, length, "true") ||
                         same(word, length, "1");
        const bool no = same(word, length, "f") || same(word, length, "false") ||
                        same(word, length, "0");
        if ((!yes && !no) || got == 3)
            return bi_frames_fail(f, err, BIOINFER_FORMAT, "pbc '%s': expected three of T and F",
                                  bi_quote(text, n).text);
        frame->periodic[got++] = yes;
    }
    if (got == 1)
        frame->periodic[1] = frame->periodic[2] = frame->periodic[0];
    else if (got != 3)
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "pbc '%s': expected three of T and F",
                              bi_quote(text, n).text);
    return 0;
}

/* One of NAME:TYPE:WIDTH. *at moves behind it. */
static bool read_property(const char *text, size_t n, size_t *at, const char **name, size_t *length,
                          char *type, uint64_t *width)
{
    size_t i = *at, end[3] = {0}, k = 0;
    for (; i <= n && k < 3; i++)
        if (i == n || text[i] == ':')
            end[k++] = i;
    if (k < 3 || end[1] != end[0] + 2 || end[0] == *at ||
        !bi_frames_count(text + end[1] + 1, end[2] - end[1] - 1, BI_FRAME_MAX_COLUMNS, width) ||
        !*width)
        return false;
    *name = text + *at;
    *length = end[0] - *at;
    *type = text[end[0] + 1];
    *at = i;
    return strchr("SRIL", *type) && *type;
}

static int read_properties(struct bi_frames *f, struct columns *c, const char *text, size_t n,
                           struct bioinfer_error *err)
{
    static const struct {
        const char *name;
        char type;
        uint64_t width;
        int place; /* in at[] */
    } known[] = {{"species", 'S', 1, 0},   {"element", 'S', 1, 0},  {"symbols", 'S', 1, 0},
                 {"Z", 'I', 1, 1},         {"numbers", 'I', 1, 1},  {"pos", 'R', 3, 2},
                 {"positions", 'R', 3, 2}, {"momenta", 'R', 3, 3},  {"vel", 'R', 3, 4},
                 {"velo", 'R', 3, 4},      {"velocity", 'R', 3, 4}, {"velocities", 'R', 3, 4},
                 {"move_mask", 'L', 0, 5}, {"fixed", 'L', 0, 5},    {"fixed_atoms", 'L', 0, 5},
                 {"frozen", 'L', 0, 5},    {"mass", 'R', 1, 6},     {"masses", 'R', 1, 6}};
    static const char *const others[] = {"fixed", "fixed_atoms", "frozen",
                                         "fix",   "constraints", "selective_dynamics"};
    int at[7] = {-1, -1, -1, -1, -1, -1, -1}, column = 0, mask_width = 0;
    bool mask_holds = false;
    for (size_t i = 0; i < n;) {
        const char *name;
        size_t length;
        uint64_t width;
        char type;
        if (!read_property(text, n, &i, &name, &length, &type, &width))
            return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                  "Properties '%s': expected name:S, R, I or L:columns, repeated",
                                  bi_quote(text, n).text);
        bool is_known = false;
        for (size_t k = 0; k < BI_COUNT(known); k++)
            is_known |= strlen(known[k].name) == length && !memcmp(name, known[k].name, length);
        for (size_t k = 0; k < BI_COUNT(others) && !is_known; k++)
            if (same(name, length, others[k]))
                bi_frames_note(f, BI_NOTE_FIXED,
                               "the column %s is not read: move_mask or fixed, L:1 or L:3, says "
                               "what is fixed",
                               others[k]);
        for (size_t k = 0; k < BI_COUNT(known); k++) {
            if (strlen(known[k].name) != length || memcmp(name, known[k].name, length))
                continue;
            if (known[k].place == 5 && type == 'L' && (width == 1 || width == 3)) {
                mask_width = (int)width;
                mask_holds = known[k].name[0] == 'f';
            } else if (known[k].type != type || known[k].width != width)
                return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                      "Properties: %s:%c:%llu, expected %s:%c:%s", known[k].name,
                                      type, (unsigned long long)width, known[k].name, known[k].type,
                                      known[k].width == 3   ? "3"
                                      : known[k].width == 1 ? "1"
                                                            : "1 or 3");
            if (at[known[k].place] >= 0)
                return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                      "Properties: %s is there, or is meant, a second time",
                                      known[k].name);
            at[known[k].place] = column;
        }
        column += (int)width;
        if (column > BI_FRAME_MAX_COLUMNS)
            return bi_frames_fail(f, err, BIOINFER_LIMIT, "Properties: more than %d columns",
                                  BI_FRAME_MAX_COLUMNS);
    }
    if (at[2] < 0 || (at[0] < 0 && at[1] < 0))
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "Properties '%s': no %s",
                              bi_quote(text, n).text, at[2] < 0 ? "pos:R:3" : "species:S:1");
    *c = (struct columns){at[0],      at[1],      at[2], at[3],  at[4], at[5],
                          mask_width, mask_holds, at[6], column, false};
    return 0;
}

static int read_run(struct bi_frames *f, struct bi_frame *frame, const char *text, size_t n,
                    struct bioinfer_error *err)
{
    if (!bi_grow(f->env, &frame->run, &frame->cap_run, n + 1, 1))
        return bi_frames_fail(f, err, BIOINFER_NOMEM, "run");
    memcpy(frame->run, text, n);
    frame->run[n] = '\0';
    return 0;
}

/* charge, or another key that means it; several may be there. */
static int read_charge(struct bi_frames *f, struct bi_frame *frame, const char *key, size_t key_n,
                       const char *text, size_t n, struct bioinfer_error *err)
{
    double charge;
    if (!bi_frames_number(text, n, BI_FRAME_MAX_CHARGE, &charge))
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "%s '%s': expected a charge",
                              bi_quote(key, key_n).text, bi_quote(text, n).text);
    if (frame->has_charge && charge != frame->charge)
        return bi_frames_fail(f, err, BIOINFER_FORMAT,
                              "words of the charge differ: %g and %g of %s", frame->charge, charge,
                              bi_quote(key, key_n).text);
    frame->charge = charge;
    frame->has_charge = true;
    return 0;
}

/* Takes one key=value of an extended comment, or the charge of any. */
static int take_value(struct bi_frames *f, struct bi_frame *frame, struct comment *c,
                      const char *key, size_t key_n, const char *value, size_t n,
                      struct bioinfer_error *err)
{
    bool *const seen[] = {&c->has_lattice, &c->has_pbc, &c->has_properties, &c->has_step,
                          &c->has_run};
    static const char *const words[] = {"lattice", "pbc", "properties", "step", "run"};
    static const char *const spins[] = {"spin", "multiplicity", "spin_multiplicity", "total_spin"};
    static const char *const charges[] = {"charge",           "total_charge",  "net_charge",
                                          "molecular_charge", "system_charge", "formal_charge"};
    static const char *const cells[] = {"cell", "unit_cell", "box", "lattice_vectors"};
    size_t k = 0;
    for (size_t i = 0; i < BI_COUNT(charges); i++)
        if (same(key, key_n, charges[i]))
            return read_charge(f, frame, key, key_n, value, n, err);
    for (size_t i = 0; i < BI_COUNT(spins); i++)
        if (same(key, key_n, spins[i]))
            bi_frames_note(f, BI_NOTE_SPIN, "%s=%s: the energies of no model here depend on it",
                           spins[i], bi_quote(value, n).text);
    for (size_t i = 0; i < BI_COUNT(cells); i++)
        if (same(key, key_n, cells[i]))
            c->other_cell = cells[i];
    while (k < BI_COUNT(words) && !same(key, key_n, words[k]))
        k++;
    if (k == BI_COUNT(words) || (!c->extended && k != 1))
        return 0;
    if (*seen[k])
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "%s is there a second time",
                              bi_quote(key, key_n).text);
    *seen[k] = true;
    if (k == 3)
        frame->has_step = bi_frames_count(value, n, UINT64_MAX / 20, &frame->step);
    return k == 0   ? read_lattice(f, frame, value, n, err)
           : k == 1 ? read_pbc(f, frame, value, n, err)
           : k == 2 ? read_properties(f, &c->columns, value, n, err)
           : k == 4 ? read_run(f, frame, value, n, err)
                    : 0;
}

/* Where a word of the comment that begins at `at` ends. */
static size_t word_end(const char *line, size_t n, size_t at)
{
    while (at < n && !is_space(line[at]))
        at++;
    return at;
}

static size_t skip_space(const char *line, size_t n, size_t at)
{
    while (at < n && is_space(line[at]))
        at++;
    return at;
}

/* The key, bare or in quotes, of a key=value that begins at `at`: *key [*key_n] is in the line, and
 * its value begins at *value, behind the = and blanks. False: there is no key=value. */
static bool find_key(const char *line, size_t n, size_t at, const char **key, size_t *key_n,
                     size_t *value)
{
    const char quote = at < n && (line[at] == '"' || line[at] == '\'') ? line[at] : '\0';
    size_t from = at + (quote != 0), end = from;
    while (
        end < n && end - from <= MAX_KEY &&
        (quote ? line[end] != quote : !is_space(line[end]) && line[end] != '=' && line[end] != '"'))
        end++;
    const size_t sign = skip_space(line, n, end + (quote != 0));
    if (end == from || end - from > MAX_KEY || sign >= n || line[sign] != '=')
        return false;
    *key = line + from;
    *key_n = end - from;
    *value = skip_space(line, n, sign + 1);
    return true;
}

/* Is there Lattice= or Properties= at the beginning of a word? */
static bool is_extended(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *key;
        size_t key_n, value;
        if ((!i || is_space(line[i - 1])) && find_key(line, n, i, &key, &key_n, &value) &&
            (same(key, key_n, "lattice") || same(key, key_n, "properties")))
            return true;
    }
    return false;
}

/* Fails where the word at `at`, which is no key=value, is Lattice or Properties and what looks like
 * a value follows it: a number, a quote, or for Properties name:type:width. */
static int check_word(struct bi_frames *f, const char *line, size_t n, size_t at,
                      struct bioinfer_error *err)
{
    static const char *const keys[] = {"lattice", "properties"};
    for (size_t k = 0; k < BI_COUNT(keys); k++) {
        const size_t from = at + (at < n && strchr("\"'", line[at]) != NULL);
        size_t i = from + strlen(keys[k]);
        if (i > n || !same(line + from, i - from, keys[k]))
            continue;
        while (i < n && (is_space(line[i]) || strchr("\"':=", line[i])))
            i++;
        const size_t sign = i < n && strchr("+-.", line[i]) ? i + 1 : i;
        if (i < n && (strchr("{[", line[i]) || line[i - 1] == '"' || line[i - 1] == '\'' ||
                      (sign < n && line[sign] >= '0' && line[sign] <= '9') ||
                      (k == 1 && memchr(line + i, ':', word_end(line, n, i) - i))))
            return bi_frames_fail(f, err, BIOINFER_FORMAT, "'%s': expected %s",
                                  bi_quote(line + at, word_end(line, n, i) - at).text,
                                  k ? "Properties=name:type:columns" : "Lattice=\"nine numbers\"");
    }
    return 0;
}

/* Takes the key=value or passes the word at *at, which moves behind it. */
static int take_word(struct bi_frames *f, struct bi_frame *frame, struct comment *c,
                     const char *line, size_t n, size_t *at, struct bioinfer_error *err)
{
    char value[MAX_VALUE + 1];
    const char *key, *next;
    size_t key_n, length = 0, from = 0, behind;
    if (!find_key(line, n, *at, &key, &key_n, &from) || key[key_n - 1] == ':') {
        int st = check_word(f, line, n, *at, err);
        if (!st && c->extended && strchr("\"'{[", line[*at]) &&
            !read_value(line, n, at, value, &length))
            st = bi_frames_fail(f, err, BIOINFER_FORMAT, "a quote without its end");
        *at = word_end(line, n, *at);
        return st;
    }
    *at = from;
    if (is_space(line[from - 1]) && find_key(line, n, from, &next, &length, &behind))
        return take_value(f, frame, c, key, key_n, "", 0, err); /* as in `a= b=1` */
    if (read_value(line, n, at, value, &length))
        return take_value(f, frame, c, key, key_n, value, length, err);
    *at = word_end(line, n, from);
    return c->extended ? bi_frames_fail(f, err, BIOINFER_FORMAT,
                                        "%s: a quote without its end, or more than %d bytes",
                                        bi_quote(key, key_n).text, MAX_VALUE)
                       : 0;
}

static int read_comment(struct bi_frames *f, struct bi_frame *frame, struct comment *c,
                        const char *line, size_t n, struct bioinfer_error *err)
{
    int st = 0;
    c->columns = (struct columns){0, -1, 1, -1, -1, -1, 0, false, -1, 4, true};
    c->extended = is_extended(line, n);
    for (size_t i = skip_space(line, n, 0); !st && i < n; i = skip_space(line, n, i))
        st = take_word(f, frame, c, line, n, &i, err);
    if (!st && c->has_lattice && !c->has_pbc)
        frame->periodic[0] = frame->periodic[1] = frame->periodic[2] = true;
    if (!st && c->has_pbc && !c->has_lattice)
        for (int k = 0; k < 3 && !st; k++)
            if (frame->periodic[k])
                st = bi_frames_fail(f, err, BIOINFER_FORMAT,
                                    "pbc says that the frame is periodic, but there is no Lattice");
    if (!st && c->other_cell && !c->has_lattice)
        bi_frames_note(
            f, BI_NOTE_CELL,
            "%s= is not read, and without Lattice=\"nine numbers\" the frame has no cell",
            c->other_cell);
    if (c->columns.masses >= 0)
        frame->unused |= BI_UNUSED_MASSES;
    frame->format = c->extended ? "extended XYZ" : "XYZ";
    return st;
}

/* ---- atoms ---- */

static int read_vector(struct bi_frames *f, const char *const *words, const size_t *lengths,
                       const char *what, double *out, struct bioinfer_error *err)
{
    for (int k = 0; k < 3; k++)
        if (!bi_frames_number(words[k], lengths[k], BI_FRAME_MAX_POSITION, &out[k]))
            return bi_frames_fail(f, err, BIOINFER_FORMAT,
                                  "%s '%s': expected a number between -1e7 and 1e7", what,
                                  bi_quote(words[k], lengths[k]).text);
    return 0;
}

static int read_element(struct bi_frames *f, const struct columns *c, const char *const *words,
                        const size_t *lengths, int32_t *out, struct bioinfer_error *err)
{
    const int i = c->number >= 0 ? c->number : c->symbol;
    uint64_t number = 0;
    const bool is_number = bi_frames_count(words[i], lengths[i], 118, &number) && number;
    const int32_t found = c->symbol >= 0 ? bi_element_find(words[c->symbol], lengths[c->symbol])
                                         : 0;
    if (c->symbol >= 0 && c->number >= 0 && found && is_number && (uint64_t)found != number)
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "the symbol '%s' and the number %llu differ",
                              bi_quote(words[c->symbol], lengths[c->symbol]).text,
                              (unsigned long long)number);
    *out = is_number ? (int32_t)number : found;
    if (is_number && c->number < 0 && !f->numbered)
        bi_frames_note(
            f, BI_NOTE_NUMBERS,
            "numbers in the place of symbols are atomic numbers, as %s of %llu: types of "
            "LAMMPS want symbols in their place",
            bi_element((uint32_t)number)->symbol, (unsigned long long)number);
    f->numbered |= is_number && c->number < 0;
    if (!*out)
        return bi_frames_fail(f, err, BIOINFER_FORMAT,
                              "'%s' is no element: expected a symbol as in Cl, or its number",
                              bi_quote(words[i], lengths[i]).text);
    return 0;
}

/* The momentum of an atom, by its velocity where there is no column of momenta, and what it holds:
 * F in move_mask, as ASE has it, or T in fixed. */
static int read_motion(struct bi_frames *f, struct bi_frame *frame, const struct columns *c,
                       const char *const *words, const size_t *lengths, struct bioinfer_error *err)
{
    const bool is_velocity = c->momentum < 0;
    const int at = is_velocity ? c->velocity : c->momentum;
    double v[3];
    int st = 0, held = 0;
    if (at >= 0 && (st = read_vector(f, words + at, lengths + at,
                                     is_velocity ? "velocity" : "momentum", v, err)))
        return st;
    if (at >= 0 && (st = bi_frames_move(f, frame, frame->n, v, is_velocity, err)))
        return st;
    for (int k = 0; k < c->mask_width; k++) {
        const char *word = words[c->mask + k];
        const size_t n = lengths[c->mask + k];
        const bool is_false = same(word, n, "f") || same(word, n, "false") || same(word, n, "0");
        if (!is_false && !same(word, n, "t") && !same(word, n, "true") && !same(word, n, "1"))
            return bi_frames_fail(f, err, BIOINFER_FORMAT, "%s '%s': expected T or F",
                                  c->mask_holds ? "fixed" : "move_mask", bi_quote(word, n).text);
        held |= is_false != c->mask_holds ? (c->mask_width == 1 ? BI_HELD_ALL : 1 << k) : 0;
    }
    return c->mask_width ? bi_frames_hold(f, frame, frame->n, held, err) : 0;
}

static int read_atom(struct bi_frames *f, struct bi_frame *frame, const struct columns *c,
                     const char *line, size_t n, struct bioinfer_error *err)
{
    const char *words[BI_FRAME_MAX_COLUMNS + 1];
    size_t lengths[BI_FRAME_MAX_COLUMNS + 1], at = 0;
    const size_t i = frame->n;
    int k = 0, st;
    while (k <= BI_FRAME_MAX_COLUMNS &&
           (words[k] = bi_frames_word(line, n, &at, &lengths[k])) != NULL)
        k++;
    if (k < c->n || (k > c->n && !c->more))
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "%d columns, expected %s%d", k,
                              c->more ? "at least " : "", c->n);
    if ((st = bi_frames_grow(f, frame, err)) ||
        (st = read_element(f, c, words, lengths, &frame->number[i], err)) ||
        (st = read_vector(f, words + c->position, lengths + c->position, "coordinate",
                          &frame->position[3 * i], err)))
        return st;
    if ((st = read_motion(f, frame, c, words, lengths, err)))
        return st;
    frame->n++;
    return 0;
}

int bi_xyz_read(struct bi_frames *f, struct bi_frame *frame, bool *none, struct bioinfer_error *err)
{
    struct bioinfer_error first = {0}, of_cell = {0};
    struct comment c = {0};
    const char *line;
    uint64_t count = 0;
    size_t n = 0, at = 0, length = 0;
    const char *word = NULL;
    int st, bad = 0;
    while (!word && (st = bi_frames_line(f, &line, &n, err)) > 0) {
        at = 0;
        word = bi_frames_word(line, n, &at, &length);
    }
    if (st <= 0) {
        *none = !st;
        f->done = true;
        return st;
    }
    frame->line = f->line;
    if (!bi_frames_count(word, length, UINT64_MAX / 20, &count) ||
        bi_frames_word(line, n, &at, &n)) {
        f->done = true; /* nothing says where the next frame begins */
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "'%s': expected the number of atoms",
                              bi_quote(word, length).text);
    }
    if (count > BI_FRAME_MAX_ATOMS) {
        f->done = true;
        return bi_frames_fail(f, err, BIOINFER_LIMIT, "%llu atoms, at most %d are read",
                              (unsigned long long)count, BI_FRAME_MAX_ATOMS);
    }
    if ((st = bi_frames_line(f, &line, &n, err)) > 0)
        bad = read_comment(f, frame, &c, line, n, &first);
    if (st > 0 && !bad && !count)
        bad = bi_frames_fail(f, &first, BIOINFER_EMPTY, "a frame without atoms");
    if (st > 0 && !bad && (bad = bi_cell_check(frame->cell, frame->periodic, &of_cell)))
        bad = bi_frames_fail(f, &first, bad, "%s", of_cell.text);
    for (uint64_t i = 0; i < count && st > 0; i++)
        if ((st = bi_frames_line(f, &line, &n, err)) > 0 && !bad)
            bad = read_atom(f, frame, &c.columns, line, n, &first);
        else if (!st && !bad) {
            f->done = true;
            return bi_frames_fail(f, err, BIOINFER_FORMAT, "the file ends after %llu of %llu atoms",
                                  (unsigned long long)i, (unsigned long long)count);
        }
    f->done = st <= 0;
    if (st < 0)
        return st;
    if (!st && !bad)
        return bi_frames_fail(f, err, BIOINFER_FORMAT, "the file ends before the comment");
    if (bad && err)
        *err = first;
    return bad;
}

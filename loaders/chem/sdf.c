/* sdf.c - one record of an SDF or MOL file, V2000 or V3000.
 *
 * header    the name, two lines that are not used
 * V2000     counts, atoms, bonds, properties (charges, radicals, isotopes)
 * V3000     blocks of free fields
 * data      items behind M  END, which are not used
 *
 * V2000 has fields of fixed width that may touch: it is never cut at spaces. */
#include <stdlib.h>
#include <string.h>

#include "molecule.h"

static bool is_text(const char *word, size_t n, const char *text)
{
    return n == strlen(text) && !memcmp(word, text, n);
}

static bool line_is(const struct bi_mol_text *t, const char *text)
{
    return t->length >= strlen(text) && !memcmp(t->line, text, strlen(text));
}

/* An integer in columns; blank ones are 0. */
static int column_int(const struct bi_mol_text *t, size_t from, size_t width, const char *what,
                      int *out, struct bioinfer_error *err)
{
    size_t n;
    const char *word = bi_mol_columns(t, from, width, &n);
    *out = 0;
    if (!n || bi_mol_int(word, n, out))
        return 0;
    return bi_mol_fail(t, err, BIOINFER_FORMAT,
                       "%s: got '%.*s' in columns %zu to %zu, expected a "
                       "number",
                       what, (int)n, word, from + 1, from + width);
}

/* The element of an atom symbol; D and T are isotopes of hydrogen. */
static int read_symbol(const struct bi_mol_text *t, const char *word, size_t n,
                       struct bi_mol_atom *atom, struct bioinfer_error *err)
{
    static const char *const queries[] = {"*", "A",  "Q",  "L",  "R",   "R#",  "X", "M",
                                          "Q", "AH", "QH", "LP", "Pol", "Mod", "Du"};
    if (is_text(word, n, "D") || is_text(word, n, "T")) {
        atom->isotope = word[0] == 'D' ? 2 : 3;
        atom->element = 1;
        return 0;
    }
    if ((atom->element = bi_element_find(word, n)))
        return 0;
    for (size_t i = 0; i < BI_COUNT(queries); i++)
        if (is_text(word, n, queries[i]))
            return bi_mol_fail(t, err, BIOINFER_UNSUPPORTED,
                               "atom '%s' stands for any of several "
                               "atoms or for a group, expected an element",
                               queries[i]);
    return bi_mol_fail(t, err, BIOINFER_FORMAT, "atom symbol '%.*s', expected an element",
                       (int)(n < 8 ? n : 8), word);
}

static int read_order(const struct bi_mol_text *t, int type, uint32_t a, uint32_t b, uint8_t *order,
                      struct bioinfer_error *err)
{
    if ((type >= 1 && type <= 4) || type == 9) {
        *order = type == 9 ? BI_MOL_ORDER_DATIVE : (uint8_t)type;
        return 0;
    }
    return bi_mol_fail(t, err, type >= 5 && type <= 10 ? BIOINFER_UNSUPPORTED : BIOINFER_FORMAT,
                       "bond of atoms %u and %u has type %d%s, expected 1, 2, 3, 4 or 9", a, b,
                       type,
                       type == 10              ? " (a hydrogen bond)"
                       : type >= 5 && type < 9 ? " (a query)"
                                               : "");
}

static int check_charge(const struct bi_mol_text *t, int charge, struct bioinfer_error *err)
{
    return charge >= -15 && charge <= 15
               ? 0
               : bi_mol_fail(t, err, BIOINFER_FORMAT, "charge %d, expected -15 to 15", charge);
}

/* Unpaired electrons of the file's code: 1 singlet, 2 doublet, 3 triplet. */
static int read_radical(const struct bi_mol_text *t, int code, uint8_t *out,
                        struct bioinfer_error *err)
{
    static const uint8_t electrons[] = {0, 2, 1, 2};
    if (code < 0 || code > 3)
        return bi_mol_fail(t, err, BIOINFER_FORMAT, "radical code %d, expected 0 to 3", code);
    *out = electrons[code];
    return 0;
}

static int check_isotope(const struct bi_mol_text *t, int mass, struct bioinfer_error *err)
{
    return mass >= 0 && mass <= 999
               ? 0
               : bi_mol_fail(t, err, BIOINFER_FORMAT, "mass number %d, expected 0 to 999", mass);
}

/* The file states the valence of an atom: what its bonds leave of it are hydrogens. Kept in n_h
 * until the bonds are read. */
static int read_valence(const struct bi_mol_text *t, int valence, bool none,
                        struct bi_mol_atom *atom, struct bioinfer_error *err)
{
    if (none)
        valence = 0;
    else if (!valence)
        return 0;
    if (valence < 0 || valence > 14)
        return bi_mol_fail(t, err, BIOINFER_FORMAT, "valence %d, expected 0 to 14", valence);
    atom->no_more_h = true;
    atom->n_h = (uint8_t)valence;
    return 0;
}

/* How much of the valence that a file states an atom's bonds take: `twice` is double the sum of
 * their orders, an aromatic one being 1.5. Of a sum that aromatic bonds lift over a valence of the
 * element by up to 1.5, as of the sulphur of thiophene or a carbon between two rings, that valence;
 * else halves are rounded up, all as RDKit does. */
static int taken_valence(const struct bi_mol_atom *atom, int twice, bool aromatic)
{
    int allowed = twice / 2, n_h;
    while (allowed && !(bi_mol_valence_ok(atom, allowed, &n_h) && !n_h))
        allowed--;
    return aromatic && allowed && twice - 2 * allowed <= 3 ? allowed : (twice + 1) / 2;
}

/* Takes the bonds from the valences that the file states, so that hydrogens are left. */
static int settle_valences(struct bi_molecule *mol, const struct bi_mol_text *t,
                           struct bioinfer_error *err)
{
    struct sum {
        int twice;
        bool aromatic;
    } *sums = bi_calloc(mol->env, mol->n_atoms + 1, sizeof *sums);
    if (!sums)
        return bi_mol_fail(t, err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        const struct bi_mol_bond *b = &mol->bonds[k];
        const bool dative = b->order == BI_MOL_ORDER_DATIVE;
        const bool aromatic = b->order == BI_MOL_ORDER_AROMATIC;
        sums[b->a].twice += dative ? 0 : aromatic ? 3 : 2 * b->order;
        sums[b->b].twice += dative ? 2 : aromatic ? 3 : 2 * b->order;
        sums[b->a].aromatic |= aromatic;
        sums[b->b].aromatic |= aromatic;
    }
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        struct bi_mol_atom *atom = &mol->atoms[i];
        const int taken = taken_valence(atom, sums[i].twice, sums[i].aromatic);
        if (atom->no_more_h)
            atom->n_h = atom->n_h > taken ? (uint8_t)(atom->n_h - taken) : 0;
    }
    bi_free(mol->env, sums);
    return 0;
}

/* A single bond that may lie on either side says so of the double bonds at its ends. */
static void settle_sides(struct bi_molecule *mol)
{
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        const struct bi_mol_bond *wavy = &mol->bonds[k];
        for (uint32_t l = 0; wavy->either && wavy->order == 1 && l < mol->n_bonds; l++) {
            struct bi_mol_bond *b = &mol->bonds[l];
            b->either = b->either || (b->order == 2 && (b->a == wavy->a || b->a == wavy->b ||
                                                        b->b == wavy->a || b->b == wavy->b));
        }
    }
}

/* ---- V2000 ---- */

static int read_atom(struct bi_molecule *mol, struct bi_mol_text *t, struct bioinfer_error *err)
{
    static const int8_t charges[] = {0, 3, 2, 1, 0, -1, -2, -3};
    struct bi_mol_atom atom = {0};
    int mass, code, hydrogens, valence, st = 0;
    size_t n;
    const char *word;
    for (int i = 0; i < 3; i++) {
        word = bi_mol_columns(t, (size_t)i * 10, 10, &n);
        if (!bi_mol_coordinate(word, n, &atom.x[i]))
            return bi_mol_fail(t, err, BIOINFER_FORMAT,
                               "coordinate '%.*s' of atom %u, expected a "
                               "number below 10^6",
                               (int)n, word, mol->n_atoms + 1);
    }
    word = bi_mol_columns(t, 31, 3, &n);
    if ((st = read_symbol(t, word, n, &atom, err)) ||
        (st = column_int(t, 34, 2, "mass difference", &mass, err)) ||
        (st = column_int(t, 36, 3, "charge", &code, err)) ||
        (st = column_int(t, 42, 3, "hydrogen count", &hydrogens, err)) ||
        (st = column_int(t, 48, 3, "valence", &valence, err)))
        return st;
    if (code < 0 || code > 7)
        return bi_mol_fail(t, err, BIOINFER_FORMAT, "charge code %d, expected 0 to 7", code);
    atom.charge = charges[code];
    if (mass) {
        mass += (int)(bi_element(atom.element)->mass + 0.5f);
        if ((st = check_isotope(t, mass, err)))
            return st;
        atom.isotope = (uint16_t)mass;
    }
    if (hydrogens) { /* a query; as in RDKit, the atom has the hydrogens that are drawn */
        atom.no_more_h = true;
        mol->notes |= BI_MOL_NOTE_HYDROGENS;
    }
    if ((st = read_valence(t, valence, valence == 15, &atom, err)))
        return st;
    return bi_mol_add_atom(mol, &atom, t, err);
}

static int read_bond(struct bi_molecule *mol, struct bi_mol_text *t, struct bioinfer_error *err)
{
    struct bi_mol_bond bond = {0};
    int ends[2], type, stereo, st;
    if ((st = column_int(t, 0, 3, "first atom of a bond", &ends[0], err)) ||
        (st = column_int(t, 3, 3, "second atom of a bond", &ends[1], err)) ||
        (st = column_int(t, 6, 3, "type of a bond", &type, err)) ||
        (st = column_int(t, 9, 3, "stereo of a bond", &stereo, err)))
        return st;
    for (int e = 0; e < 2; e++)
        if (ends[e] < 1 || (uint32_t)ends[e] > mol->n_atoms)
            return bi_mol_fail(t, err, BIOINFER_FORMAT, "bond of atom %d, expected 1 to %u",
                               ends[e], mol->n_atoms);
    bond.a = (uint32_t)ends[0] - 1;
    bond.b = (uint32_t)ends[1] - 1;
    if ((st = read_order(t, type, bond.a + 1, bond.b + 1, &bond.order, err)))
        return st;
    bond.either = (type == 2 && stereo == 3) || (type == 1 && stereo == 4);
    return bi_mol_add_bond(mol, &bond, t, err);
}

/* "M  ZBO", "M  ZCH" and "M  HYD" (Clark, J. Chem. Inf. Model. 51:3149, 2011): a count, then pairs
 * of a bond and its order, or of an atom and its charge or its hydrogens, in place of what other
 * lines say to other programs. `hydrogens`: takes HYD alone, once all orders are known; else all
 * but these. */
static int read_zero_order(struct bi_molecule *mol, struct bi_mol_text *t, bool hydrogens,
                           struct bioinfer_error *err)
{
    const char kind = t->line[4]; /* B, C or Y */
    const uint32_t most = kind == 'B' ? mol->n_bonds : mol->n_atoms;
    int n, place, value, st = column_int(t, 6, 3, "count of a property line", &n, err);
    for (int k = 0; !st && hydrogens == (kind == 'Y') && k < n; k++) {
        if ((st = column_int(t, 9 + 8 * (size_t)k, 4, "place of a property line", &place, err)) ||
            (st = column_int(t, 13 + 8 * (size_t)k, 4, "value of a property line", &value, err)))
            return st;
        if (place < 1 || (uint32_t)place > most)
            return bi_mol_fail(t, err, BIOINFER_FORMAT, "property of %s %d, expected 1 to %u",
                               kind == 'B' ? "bond" : "atom", place, most);
        if (kind == 'B' && (value < 0 || value > 3))
            return bi_mol_fail(t, err, BIOINFER_FORMAT, "order %d of bond %d, expected 0 to 3",
                               value, place);
        if (kind == 'Y' && (value < 0 || value > 14))
            return bi_mol_fail(t, err, BIOINFER_FORMAT, "%d hydrogens of atom %d, expected 0 to 14",
                               value, place);
        struct bi_mol_atom *atom = &mol->atoms[place - 1];
        if (kind == 'B') {
            mol->bonds[place - 1].order = (uint8_t)value;
        } else if (kind == 'C') {
            if (!(st = check_charge(t, value, err)))
                atom->charge = (int8_t)value;
        } else {
            atom->n_h = (uint8_t)value;
            atom->no_more_h = true;
        }
    }
    return st;
}

static bool is_zero_order(const struct bi_mol_text *t)
{
    return t->length >= 6 && (line_is(t, "M  ZBO") || line_is(t, "M  ZCH") || line_is(t, "M  HYD"));
}

/* "M  CHG", "M  RAD", "M  ISO": a count, then pairs of an atom and a value. Any CHG or RAD line
 * cancels the charge codes of the atom lines. */
static int read_property(struct bi_molecule *mol, struct bi_mol_text *t, bool *cancelled,
                         struct bioinfer_error *err)
{
    const char kind = t->line[3];
    int n, atom, value, st = column_int(t, 6, 3, "count of a property line", &n, err);
    if (st)
        return st;
    if (kind != 'I' && !*cancelled) {
        for (uint32_t i = 0; i < mol->n_atoms; i++)
            mol->atoms[i].charge = 0, mol->atoms[i].n_radicals = 0;
        *cancelled = true;
    }
    for (int k = 0; k < n; k++) {
        if ((st = column_int(t, 9 + 8 * (size_t)k, 4, "atom of a property line", &atom, err)) ||
            (st = column_int(t, 13 + 8 * (size_t)k, 4, "value of a property line", &value, err)))
            return st;
        if (atom < 1 || (uint32_t)atom > mol->n_atoms)
            return bi_mol_fail(t, err, BIOINFER_FORMAT, "property of atom %d, expected 1 to %u",
                               atom, mol->n_atoms);
        struct bi_mol_atom *a = &mol->atoms[atom - 1];
        st = kind == 'C'   ? check_charge(t, value, err)
             : kind == 'R' ? read_radical(t, value, &a->n_radicals, err)
                           : check_isotope(t, value, err);
        if (st)
            return st;
        if (kind == 'C')
            a->charge = (int8_t)value;
        else if (kind == 'I')
            a->isotope = (uint16_t)value;
    }
    return 0;
}

/* "M  SUB", "M  UNS" and "M  RBC": a count, then pairs of an atom and how many neighbours it has,
 * whether it has double bonds, or how many of its bonds are in rings; 0 asks nothing. */
static int refuse_query(struct bi_mol_text *t, struct bioinfer_error *err)
{
    int n, atom, value, st = column_int(t, 6, 3, "count of a property line", &n, err);
    for (int k = 0; !st && k < n; k++)
        if (!(st = column_int(t, 9 + 8 * (size_t)k, 4, "atom of a property line", &atom, err)) &&
            !(st = column_int(t, 13 + 8 * (size_t)k, 4, "value of a property line", &value, err)) &&
            value)
            st = bi_mol_fail(t, err, BIOINFER_UNSUPPORTED,
                             "'%.6s' of atom %d, a query, expected a molecule", t->line, atom);
    return st;
}

static int need_line(struct bi_mol_text *t, const char *what, struct bioinfer_error *err)
{
    if (bi_mol_next_line(t))
        return 0;
    return bi_mol_fail(t, err, BIOINFER_FORMAT, "the record ends here, expected %s", what);
}

static int read_v2000(struct bi_molecule *mol, struct bi_mol_text *t, int n_atoms, int n_bonds,
                      struct bioinfer_error *err)
{
    bool cancelled = false;
    struct bi_mol_text again;
    int st = 0;
    for (int i = 0; !st && i < n_atoms; i++)
        if (!(st = need_line(t, "an atom", err)))
            st = read_atom(mol, t, err);
    for (int i = 0; !st && i < n_bonds; i++)
        if (!(st = need_line(t, "a bond", err)))
            st = read_bond(mol, t, err);
    again = *t;
    while (!st && !(st = need_line(t, "'M  END'", err)) && !line_is(t, "M  END")) {
        if (is_zero_order(t))
            st = read_zero_order(mol, t, false, err);
        else if (line_is(t, "M  CHG") || line_is(t, "M  RAD") || line_is(t, "M  ISO"))
            st = read_property(mol, t, &cancelled, err);
        else if (line_is(t, "M  SUB") || line_is(t, "M  UNS") || line_is(t, "M  RBC"))
            st = refuse_query(t, err);
        else if (line_is(t, "M  ALS"))
            st = bi_mol_fail(t, err, BIOINFER_UNSUPPORTED, "a list of atoms, expected an element");
        else if (line_is(t, "A  ") || line_is(t, "G  "))
            st = need_line(t, "the text of an atom", err);
        else if (!line_is(t, "M  ") && !line_is(t, "V  ") && !line_is(t, "S  SKP") && t->length)
            st = bi_mol_fail(t, err, BIOINFER_FORMAT,
                             "'%.*s', expected a property line or "
                             "'M  END': are the counts right?",
                             (int)(t->length < 40 ? t->length : 40), t->line);
    }
    if (!st)
        st = settle_valences(mol, t, err);
    while (!st && bi_mol_next_line(&again) && !line_is(&again, "M  END"))
        if (is_zero_order(&again))
            st = read_zero_order(mol, &again, true, err);
    return st;
}

/* ---- V3000 ---- */

enum { LOGICAL_LINE = 4096 };

/* A line of V3000 with its continuations, "M  V30 " and all '-' taken away. */
struct v3000 {
    struct bi_mol_text *t;
    struct bi_mol_text words; /* the joined line */
    char joined[LOGICAL_LINE];
    int *numbers; /* the file's numbers of its atoms */
    size_t cap_numbers;
};

static int next_v3000(struct v3000 *v, struct bioinfer_error *err)
{
    bool more = true;
    size_t n = 0;
    while (more) {
        int st = need_line(v->t, "'M  V30 END CTAB'", err);
        size_t length;
        if (st)
            return st;
        if (!line_is(v->t, "M  V30 "))
            return bi_mol_fail(v->t, err, BIOINFER_FORMAT, "got '%.*s', expected 'M  V30 '",
                               (int)(v->t->length < 40 ? v->t->length : 40), v->t->line);
        length = v->t->length - 7;
        more = length && v->t->line[v->t->length - 1] == '-';
        length -= more;
        if (n + length > sizeof v->joined)
            return bi_mol_fail(v->t, err, BIOINFER_LIMIT,
                               "a line of more than %d bytes with its "
                               "continuations",
                               LOGICAL_LINE);
        memcpy(v->joined + n, v->t->line + 7, length);
        n += length;
    }
    v->words = *v->t;
    v->words.line = v->joined;
    v->words.length = n;
    return 0;
}

/* As bi_mol_word(), but "(...)" and "\"...\"" belong to the word they stand in. */
static const char *next_word(const struct v3000 *v, size_t *at, size_t *n)
{
    const struct bi_mol_text *w = &v->words;
    size_t i = *at;
    int depth = 0;
    bool quoted = false;
    const char *word;
    while (i < w->length && (w->line[i] == ' ' || w->line[i] == '\t'))
        i++;
    word = w->line + i;
    for (; i < w->length && (depth || quoted || (w->line[i] != ' ' && w->line[i] != '\t')); i++) {
        if (w->line[i] == '"')
            quoted = !quoted;
        else if (!quoted)
            depth += w->line[i] == '(' ? 1 : w->line[i] == ')' && depth ? -1 : 0;
    }
    *n = (size_t)(w->line + i - word);
    *at = i;
    return *n ? word : NULL;
}

static int word_int(const struct v3000 *v, size_t *at, const char *what, int *out,
                    struct bioinfer_error *err)
{
    size_t n;
    const char *word = next_word(v, at, &n);
    if (word && bi_mol_int(word, n, out))
        return 0;
    return bi_mol_fail(v->t, err, BIOINFER_FORMAT, "%s: got '%.*s', expected a number", what,
                       (int)(word ? (n < 40 ? n : 40) : 0), word ? word : "");
}

/* KEY=VALUE behind an atom. */
static int read_option(struct bi_molecule *mol, const struct v3000 *v, const char *word, size_t n,
                       struct bi_mol_atom *atom, struct bioinfer_error *err)
{
    static const char *const keys[] = {
        "CHG=", "RAD=", "MASS=", "VAL=", "HCOUNT=", "SUBST=", "UNSAT=", "RBCNT="};
    int value, st = 0;
    for (size_t k = 0; k < BI_COUNT(keys); k++) {
        const size_t len = strlen(keys[k]);
        if (n < len || memcmp(word, keys[k], len))
            continue;
        if (!bi_mol_int(word + len, n - len, &value))
            return bi_mol_fail(v->t, err, BIOINFER_FORMAT,
                               "got '%.*s', expected a number after "
                               "%s",
                               (int)(n < 40 ? n : 40), word, keys[k]);
        if (k == 0) {
            if (!(st = check_charge(v->t, value, err)))
                atom->charge = (int8_t)value;
        } else if (k == 1)
            st = read_radical(v->t, value, &atom->n_radicals, err);
        else if (k == 2) {
            if (!(st = check_isotope(v->t, value, err)))
                atom->isotope = (uint16_t)value;
        } else if (k == 3)
            st = read_valence(v->t, value, value == -1, atom, err);
        else if (k == 4)
            mol->notes |= value ? BI_MOL_NOTE_HYDROGENS : 0;
        else if (value)
            st = bi_mol_fail(v->t, err, BIOINFER_UNSUPPORTED,
                             "'%.*s', a query, expected a molecule", (int)(n < 40 ? n : 40), word);
        return st;
    }
    return 0; /* others say nothing about the molecule itself */
}

static int read_atom_v3000(struct bi_molecule *mol, struct v3000 *v, struct bioinfer_error *err)
{
    struct bi_mol_atom atom = {0};
    size_t at = 0, n;
    const char *word;
    int number, map, st = word_int(v, &at, "number of an atom", &number, err);
    if (st)
        return st;
    if (!(word = next_word(v, &at, &n)))
        return bi_mol_fail(v->t, err, BIOINFER_FORMAT, "the line ends, expected an atom's symbol");
    if (word[0] == '[' || is_text(word, n, "NOT"))
        return bi_mol_fail(v->t, err, BIOINFER_UNSUPPORTED, "a list of atoms, expected an element");
    if ((st = read_symbol(v->t, word, n, &atom, err)))
        return st;
    for (int i = 0; i < 3; i++) {
        word = next_word(v, &at, &n);
        if (!word || !bi_mol_coordinate(word, n, &atom.x[i]))
            return bi_mol_fail(v->t, err, BIOINFER_FORMAT,
                               "coordinate %d of atom %d: got '%.*s', "
                               "expected a number below 10^6",
                               i + 1, number, (int)(word ? (n < 40 ? n : 40) : 0),
                               word ? word : "");
    }
    if ((st = word_int(v, &at, "map number of an atom", &map, err)))
        return st;
    while (!st && (word = next_word(v, &at, &n)))
        st = read_option(mol, v, word, n, &atom, err);
    if (!st &&
        !bi_grow(mol->env, &v->numbers, &v->cap_numbers, mol->n_atoms + 1, sizeof *v->numbers))
        st = bi_mol_fail(v->t, err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
    if (!st && !(st = bi_mol_add_atom(mol, &atom, v->t, err)))
        v->numbers[mol->n_atoms - 1] = number;
    return st;
}

/* The atom with this number; most files count from 1. */
static int find_atom(const struct bi_molecule *mol, const struct v3000 *v, int number,
                     uint32_t *out, struct bioinfer_error *err)
{
    if (number >= 1 && (uint32_t)number <= mol->n_atoms && v->numbers[number - 1] == number) {
        *out = (uint32_t)number - 1;
        return 0;
    }
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        if (v->numbers[i] == number) {
            *out = i;
            return 0;
        }
    return bi_mol_fail(v->t, err, BIOINFER_FORMAT, "a bond of atom %d, which is not there", number);
}

static int read_bond_v3000(struct bi_molecule *mol, struct v3000 *v, struct bioinfer_error *err)
{
    struct bi_mol_bond bond = {0};
    size_t at = 0, n;
    const char *word;
    int number, type, a, b, st;
    if ((st = word_int(v, &at, "number of a bond", &number, err)) ||
        (st = word_int(v, &at, "type of a bond", &type, err)) ||
        (st = word_int(v, &at, "first atom of a bond", &a, err)) ||
        (st = word_int(v, &at, "second atom of a bond", &b, err)) ||
        (st = find_atom(mol, v, a, &bond.a, err)) || (st = find_atom(mol, v, b, &bond.b, err)) ||
        (st = read_order(v->t, type, (uint32_t)a, (uint32_t)b, &bond.order, err)))
        return st;
    while ((word = next_word(v, &at, &n)))
        if (is_text(word, n, "CFG=2"))
            bond.either = type == 1 || type == 2;
        else if (n >= 7 && !memcmp(word, "ENDPTS=", 7))
            return bi_mol_fail(v->t, err, BIOINFER_UNSUPPORTED, "a bond with several ends");
    return bi_mol_add_bond(mol, &bond, v->t, err);
}

/* The lines between "BEGIN ATOM" or "BEGIN BOND" and its end. */
static int read_block(struct bi_molecule *mol, struct v3000 *v, bool bonds, int expected,
                      struct bioinfer_error *err)
{
    const char *end = bonds ? "END BOND" : "END ATOM";
    int st = 0, got = 0;
    while (!st && !(st = next_v3000(v, err)) && !line_is(&v->words, end)) {
        st = bonds ? read_bond_v3000(mol, v, err) : read_atom_v3000(mol, v, err);
        got++;
    }
    if (!st && got != expected)
        st = bi_mol_fail(v->t, err, BIOINFER_FORMAT,
                         "%d lines in the block, expected %d by the "
                         "counts line",
                         got, expected);
    return st;
}

static int read_ctab(struct bi_molecule *mol, struct v3000 *v, struct bioinfer_error *err)
{
    int n_atoms = -1, n_bonds = 0, st = 0;
    bool has_atoms = false, has_bonds = false;
    size_t at = 7;
    while (!st && !(st = next_v3000(v, err)) && !line_is(&v->words, "END CTAB")) {
        if (line_is(&v->words, "COUNTS ")) {
            if (!(st = word_int(v, &at, "number of atoms", &n_atoms, err)))
                st = word_int(v, &at, "number of bonds", &n_bonds, err);
        } else if (line_is(&v->words, "BEGIN ATOM") && !has_atoms) {
            has_atoms = true;
            st = read_block(mol, v, false, n_atoms, err);
        } else if (line_is(&v->words, "BEGIN BOND") && has_atoms && !has_bonds) {
            has_bonds = true;
            st = read_block(mol, v, true, n_bonds, err);
        } else if (line_is(&v->words, "BEGIN ATOM") || line_is(&v->words, "BEGIN BOND"))
            st = bi_mol_fail(v->t, err, BIOINFER_FORMAT,
                             "'%.10s', expected one block of atoms and "
                             "then one of bonds",
                             v->joined);
    }
    if (!st && (n_atoms < 0 || (n_atoms && !has_atoms) || (n_bonds && !has_bonds)))
        st = bi_mol_fail(v->t, err, BIOINFER_FORMAT, "the table ends without its %s",
                         n_atoms < 0 ? "COUNTS line"
                         : has_atoms ? "bonds"
                                     : "atoms");
    return st;
}

static int read_v3000(struct bi_molecule *mol, struct bi_mol_text *t, struct bioinfer_error *err)
{
    struct v3000 v = {.t = t};
    int st = next_v3000(&v, err);
    if (!st && !line_is(&v.words, "BEGIN CTAB"))
        st = bi_mol_fail(t, err, BIOINFER_FORMAT, "expected 'M  V30 BEGIN CTAB'");
    if (!st)
        st = read_ctab(mol, &v, err);
    while (!st && !(st = need_line(t, "'M  END'", err)) && !line_is(t, "M  END"))
        ;
    bi_free(mol->env, v.numbers);
    return st ? st : settle_valences(mol, t, err);
}

/* ---- a record ---- */

static bool has_version(const struct bi_mol_text *t, const char *version)
{
    size_t n;
    const char *word = bi_mol_columns(t, 33, 6, &n);
    return is_text(word, n, version);
}

/* Old programs end the counts line early; then it is V2000. */
static bool is_unversioned(const struct bi_mol_text *t)
{
    size_t n;
    int count;
    const char *word = bi_mol_columns(t, 0, 3, &n);
    return t->length >= 6 && t->length <= 35 && bi_mol_int(word, n, &count);
}

/* Behind M  END come data items only. A second molecule there, for want of "$$$$", would be lost.
 */
static int skip_data(struct bi_mol_text *t, struct bioinfer_error *err)
{
    while (bi_mol_next_line(t))
        if (has_version(t, "V2000") || has_version(t, "V3000"))
            return bi_mol_fail(t, err, BIOINFER_FORMAT,
                               "another molecule begins here, expected "
                               "'$$$$' before it");
    return 0;
}

int bi_sdf_read(struct bi_molecule *mol, struct bi_mol_text *t, struct bioinfer_error *err)
{
    int n_atoms, n_bonds, st = 0;
    bool v3000;
    if (bi_mol_next_line(t))
        bi_mol_name(mol, t);
    if ((st = need_line(t, "two more header lines", err)) ||
        (st = need_line(t, "one more header line", err)) ||
        (st = need_line(t, "the counts line", err)))
        return st;
    v3000 = has_version(t, "V3000");
    if (!v3000 && !has_version(t, "V2000") && !is_unversioned(t))
        return bi_mol_fail(t, err, BIOINFER_FORMAT,
                           "got '%.*s', expected a counts line that ends "
                           "in V2000 or V3000",
                           (int)(t->length < 60 ? t->length : 60), t->line);
    mol->format = v3000 ? "SDF V3000" : "SDF V2000";
    if ((st = column_int(t, 0, 3, "number of atoms", &n_atoms, err)) ||
        (st = column_int(t, 3, 3, "number of bonds", &n_bonds, err)))
        return st;
    if (n_atoms < 0 || n_bonds < 0)
        return bi_mol_fail(t, err, BIOINFER_FORMAT, "%d atoms and %d bonds", n_atoms, n_bonds);
    st = v3000 ? read_v3000(mol, t, err) : read_v2000(mol, t, n_atoms, n_bonds, err);
    if (!st && !mol->n_atoms)
        st = bi_mol_fail(t, err, BIOINFER_EMPTY, "no atoms");
    if (!st)
        settle_sides(mol);
    return st ? st : skip_data(t, err);
}

/* mol2.c - one molecule of a Tripos MOL2 file: sections of free fields.
 *
 * Formal charges stand in the section UNITY_ATOM_ATTR, if anywhere. All others follow from types
 * (O.co2, C.cat) and, where hydrogens are spelled out, from bonds: nitrogen with four is N+, oxygen
 * with one is O-, and aromatic bonds that cannot alternate have N+ in their rings. Atoms without
 * bonds are the ions of their elements. */
#include <string.h>

#include "molecule.h"

enum section { MOLECULE, ATOM, BOND, ATTRIBUTES, OTHER };

struct mol2 {
    struct bi_mol_text *t;
    int n_atoms, n_bonds; /* by the counts line */
    int *ids;             /* the file's numbers of the atoms */
    uint8_t *types;       /* enum type of each atom */
    bool *charged;        /* the file says the charge of an atom */
    size_t cap_ids, cap_types, cap_charged;
    uint32_t atom; /* whose attributes are read: n_attributes more lines */
    int n_attributes;
};

enum type { TYPE_PLAIN, TYPE_CO2, TYPE_CAT };

static bool is_word(const char *word, size_t n, const char *text)
{
    return word && n == strlen(text) && !memcmp(word, text, n);
}

/* The next line that says something; false at the end of the record. */
static bool next_line(struct bi_mol_text *t)
{
    while (bi_mol_next_line(t)) {
        size_t at = 0, n;
        const char *word = bi_mol_word(t, &at, &n);
        if (word && word[0] != '#')
            return true;
    }
    return false;
}

static bool is_section(const struct bi_mol_text *t)
{
    return t->length >= 9 && !memcmp(t->line, "@<TRIPOS>", 9);
}

static enum section section_of(const struct bi_mol_text *t)
{
    static const char *const names[] = {"MOLECULE", "ATOM", "BOND", "UNITY_ATOM_ATTR"};
    size_t at = 9, n;
    const char *word = bi_mol_word(t, &at, &n);
    for (enum section s = MOLECULE; s < OTHER; s++)
        if (is_word(word, n, names[s]))
            return s;
    return OTHER;
}

static int word_int(const struct mol2 *m, size_t *at, const char *what, int *out,
                    struct bioinfer_error *err)
{
    size_t n;
    const char *word = bi_mol_word(m->t, at, &n);
    if (word && bi_mol_int(word, n, out))
        return 0;
    return bi_mol_fail(m->t, err, BIOINFER_FORMAT, "%s: got '%.*s', expected a number", what,
                       (int)(word ? (n < 40 ? n : 40) : 0), word ? word : "");
}

/* ---- sections ---- */

/* Name and counts; types of molecule and charges are not used. */
static int read_molecule(struct bi_molecule *mol, struct mol2 *m, struct bioinfer_error *err)
{
    size_t at = 0;
    int st;
    if (!bi_mol_next_line(m->t))
        return bi_mol_fail(m->t, err, BIOINFER_FORMAT, "the record ends here, expected a name");
    bi_mol_name(mol, m->t);
    if (!next_line(m->t) || is_section(m->t))
        return bi_mol_fail(m->t, err, BIOINFER_FORMAT, "expected the number of atoms and bonds");
    if ((st = word_int(m, &at, "number of atoms", &m->n_atoms, err)))
        return st;
    size_t n;
    const char *word = bi_mol_word(m->t, &at, &n);
    if (word && (!bi_mol_int(word, n, &m->n_bonds) || m->n_bonds < 0))
        return bi_mol_fail(m->t, err, BIOINFER_FORMAT, "number of bonds: got '%.*s'",
                           (int)(n < 40 ? n : 40), word);
    return 0;
}

/* The element is what stands before the dot of a type: C.ar, Cl, O.co2. */
static int read_type(const struct mol2 *m, const char *word, size_t n, struct bi_mol_atom *atom,
                     uint8_t *type, struct bioinfer_error *err)
{
    const char *dot = memchr(word, '.', n);
    const size_t length = dot ? (size_t)(dot - word) : n;
    atom->element = word[0] >= 'A' && word[0] <= 'Z' ? bi_element_find(word, length) : 0;
    if (is_word(word, length, "Du") || is_word(word, length, "LP") ||
        is_word(word, length, "Any") || is_word(word, length, "Hal") ||
        is_word(word, length, "Het") || is_word(word, length, "Hev"))
        return bi_mol_fail(m->t, err, BIOINFER_UNSUPPORTED, "atom type '%.*s' is no element's",
                           (int)n, word);
    if (!atom->element)
        return bi_mol_fail(m->t, err, BIOINFER_FORMAT,
                           "atom type '%.*s', expected a SYBYL type as in C.ar",
                           (int)(n < 16 ? n : 16), word);
    *type = is_word(word, n, "O.co2")   ? TYPE_CO2
            : is_word(word, n, "C.cat") ? TYPE_CAT
                                        : TYPE_PLAIN;
    return 0;
}

static int read_atom(struct bi_molecule *mol, struct mol2 *m, struct bioinfer_error *err)
{
    struct bi_mol_atom atom = {0};
    size_t at = 0, n;
    const char *word;
    uint8_t type = TYPE_PLAIN;
    int id, st = word_int(m, &at, "number of an atom", &id, err);
    if (st)
        return st;
    bi_mol_word(m->t, &at, &n); /* the atom's name, which is not used */
    for (int i = 0; i < 3; i++) {
        word = bi_mol_word(m->t, &at, &n);
        if (!word || !bi_mol_coordinate(word, n, &atom.x[i]))
            return bi_mol_fail(m->t, err, BIOINFER_FORMAT,
                               "coordinate %d of atom %d: got '%.*s', expected a number below 10^6",
                               i + 1, id, (int)(word ? (n < 40 ? n : 40) : 0), word ? word : "");
    }
    if (!(word = bi_mol_word(m->t, &at, &n)))
        return bi_mol_fail(m->t, err, BIOINFER_FORMAT, "the line ends, expected an atom's type");
    if ((st = read_type(m, word, n, &atom, &type, err)) ||
        (st = bi_mol_add_atom(mol, &atom, m->t, err)))
        return st;
    if (!bi_grow(mol->env, &m->ids, &m->cap_ids, mol->n_atoms, sizeof *m->ids) ||
        !bi_grow(mol->env, &m->types, &m->cap_types, mol->n_atoms, 1) ||
        !bi_grow(mol->env, &m->charged, &m->cap_charged, mol->n_atoms, sizeof *m->charged))
        return bi_mol_fail(m->t, err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
    m->ids[mol->n_atoms - 1] = id;
    m->types[mol->n_atoms - 1] = type;
    m->charged[mol->n_atoms - 1] = false;
    return 0;
}

static int find_atom(const struct bi_molecule *mol, const struct mol2 *m, int id, uint32_t *out,
                     struct bioinfer_error *err)
{
    if (id >= 1 && (uint32_t)id <= mol->n_atoms && m->ids[id - 1] == id) {
        *out = (uint32_t)id - 1;
        return 0;
    }
    for (*out = 0; *out < mol->n_atoms; ++*out)
        if (m->ids[*out] == id)
            return 0;
    return bi_mol_fail(m->t, err, BIOINFER_FORMAT, "a line of atom %d, which is not there", id);
}

static int read_bond(struct bi_molecule *mol, struct mol2 *m, struct bioinfer_error *err)
{
    static const struct {
        const char *word;
        uint8_t order;
    } types[] = {{"1", 1}, {"2", 2}, {"3", 3}, {"am", 1}, {"ar", BI_MOL_ORDER_AROMATIC}};
    struct bi_mol_bond bond = {0};
    size_t at = 0, n;
    const char *word;
    int number, a, b, st;
    if ((st = word_int(m, &at, "number of a bond", &number, err)) ||
        (st = word_int(m, &at, "first atom of a bond", &a, err)) ||
        (st = word_int(m, &at, "second atom of a bond", &b, err)) ||
        (st = find_atom(mol, m, a, &bond.a, err)) || (st = find_atom(mol, m, b, &bond.b, err)))
        return st;
    word = bi_mol_word(m->t, &at, &n);
    for (size_t k = 0; k < BI_COUNT(types); k++)
        if (is_word(word, n, types[k].word))
            bond.order = types[k].order;
    if (!bond.order)
        return bi_mol_fail(m->t, err,
                           is_word(word, n, "du") || is_word(word, n, "un") ||
                                   is_word(word, n, "nc")
                               ? BIOINFER_UNSUPPORTED
                               : BIOINFER_FORMAT,
                           "bond of atoms %d and %d has type '%.*s', expected 1, 2, 3, am or ar", a,
                           b, (int)(word ? (n < 16 ? n : 16) : 0), word ? word : "");
    return bi_mol_add_bond(mol, &bond, m->t, err);
}

/* A line of UNITY_ATOM_ATTR: an atom and how many attributes follow, or one of them. */
static int read_attribute(struct bi_molecule *mol, struct mol2 *m, struct bioinfer_error *err)
{
    size_t at = 0, n;
    const char *word;
    int value, st;
    if (!m->n_attributes) {
        if ((st = word_int(m, &at, "number of an atom", &value, err)) ||
            (st = find_atom(mol, m, value, &m->atom, err)) ||
            (st = word_int(m, &at, "number of attributes", &m->n_attributes, err)))
            return st;
        return m->n_attributes >= 0
                   ? 0
                   : bi_mol_fail(m->t, err, BIOINFER_FORMAT, "%d attributes", m->n_attributes);
    }
    m->n_attributes--;
    word = bi_mol_word(m->t, &at, &n);
    if (!is_word(word, n, "charge")) {
        mol->notes |= BI_MOL_NOTE_ATTRIBUTES;
        return 0;
    }
    if ((st = word_int(m, &at, "charge", &value, err)))
        return st;
    if (value < -15 || value > 15)
        return bi_mol_fail(m->t, err, BIOINFER_FORMAT, "charge %d, expected -15 to 15", value);
    mol->atoms[m->atom].charge = (int8_t)value;
    m->charged[m->atom] = true;
    return 0;
}

/* ---- charges ---- */

/* Writes the bonds that a guanidinium shares as one double bond and single ones: the nitrogen that
 * the file gives a charge, or else the first one, gets it. */
static void settle_cation(struct bi_molecule *mol, const struct mol2 *m, uint32_t centre)
{
    bool given = false;
    for (uint32_t k = mol->start[centre]; k < mol->start[centre + 1]; k++) {
        struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
        const uint32_t other = mol->near[k].atom;
        if (!given && b->order == BI_MOL_ORDER_AROMATIC && m->charged[other] &&
            mol->atoms[other].charge > 0) {
            b->order = 2;
            given = true;
        }
    }
    for (uint32_t k = mol->start[centre]; k < mol->start[centre + 1]; k++)
        given = given || mol->bonds[mol->near[k].bond].order == 2;
    for (uint32_t k = mol->start[centre]; k < mol->start[centre + 1]; k++) {
        struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
        if (b->order != BI_MOL_ORDER_AROMATIC || mol->atoms[mol->near[k].atom].element != 7)
            continue;
        b->order = given ? 1 : 2;
        given = true;
    }
}

static bool is_shared_oxygen(const struct bi_molecule *mol, const struct mol2 *m, uint32_t i)
{
    return m->types[i] == TYPE_CO2 && bi_mol_degree(mol, i) == 1;
}

/* How many of n oxygens that share a charge are doubly bonded to an atom whose other bonds are
 * `rest`: one, of sulphur as many as its valences allow, and one is left to have the charge. */
static int doubles_of(uint8_t element, int rest, int n)
{
    if (element == 16 || element == 34)
        for (int d = n - 1; d > 0; d--)
            if (rest + n + d == 6 || rest + n + d == 4)
                return d;
    return 1;
}

/* Writes the bonds that O.co2 share, of a carboxylate, phosphate or sulphonate, as double ones and
 * single ones, the first oxygens' double: where a file has all of them aromatic, or all single as
 * Amber's tleap, or all double. Those that the file gives a charge are single. Bonds that differ
 * are the file's own choice. */
static void settle_oxygens(struct bi_molecule *mol, const struct mol2 *m, uint32_t centre)
{
    int n = 0, rest = mol->atoms[centre].n_h, order = 0;
    bool same = true, has_double = false;
    for (uint32_t k = mol->start[centre]; k < mol->start[centre + 1]; k++) {
        const struct bi_mol_bond *b = &mol->bonds[mol->near[k].bond];
        if (is_shared_oxygen(mol, m, mol->near[k].atom)) {
            same = same && (!n || b->order == order);
            order = b->order;
            n++;
        } else {
            has_double = has_double || b->order == 2;
            rest += b->order == BI_MOL_ORDER_AROMATIC ? 1 : b->order;
        }
    }
    if (!same || (order != BI_MOL_ORDER_AROMATIC && (n < 2 || order > 2)))
        return;
    const bool sulphur = mol->atoms[centre].element == 16 || mol->atoms[centre].element == 34;
    int left = has_double && !sulphur ? 0 : doubles_of(mol->atoms[centre].element, rest, n);
    for (uint32_t k = mol->start[centre]; k < mol->start[centre + 1]; k++)
        if (is_shared_oxygen(mol, m, mol->near[k].atom)) {
            const uint32_t other = mol->near[k].atom;
            const bool single = m->charged[other] && mol->atoms[other].charge;
            mol->bonds[mol->near[k].bond].order = !single && left-- > 0 ? 2 : 1;
        }
}

/* The charge of an atom without bonds: of metals that have one ion, and of halogens; 0: of
 * others. */
static int8_t ion_charge(uint8_t element)
{
    static const struct {
        uint8_t element;
        int8_t charge;
    } ions[] = {{3, 1},  {11, 1}, {19, 1}, {37, 1}, {55, 1},  {4, 2},   {12, 2},
                {20, 2}, {38, 2}, {56, 2}, {30, 2}, {48, 2},  {80, 2},  {13, 3},
                {31, 3}, {49, 3}, {47, 1}, {9, -1}, {17, -1}, {35, -1}, {53, -1}};
    for (size_t k = 0; k < BI_COUNT(ions); k++)
        if (ions[k].element == element)
            return ions[k].charge;
    return 0;
}

/* Is the only neighbour a nitrogen with four bonds, as in N-oxides and nitro groups? */
static bool is_oxide(const struct bi_molecule *mol, uint32_t i)
{
    const uint32_t other = mol->near[mol->start[i]].atom;
    return mol->atoms[other].element == 7 && bi_mol_bond_sum(mol, other) == 4;
}

/* The charge with which an atom needs no further hydrogen, its bonds being whole. */
static void settle_charge(struct bi_molecule *mol, const struct mol2 *m, uint32_t i,
                          bool explicit_h)
{
    static const int8_t charges[] = {0, 1, -1, 2, -2, 3};
    struct bi_mol_atom *atom = &mol->atoms[i];
    const int sum = bi_mol_bond_sum(mol, i);
    int n_h;
    if (m->charged[i])
        return;
    if (!bi_mol_degree(mol, i) && (atom->charge = ion_charge(atom->element)))
        return;
    if (m->types[i] == TYPE_CO2) {
        atom->charge = sum == 1 ? -1 : 0;
        return;
    }
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
        if (mol->bonds[mol->near[k].bond].order == BI_MOL_ORDER_AROMATIC)
            return;
    if (!explicit_h && atom->element == 8 && sum == 1 && is_oxide(mol, i)) {
        atom->charge = -1;
        return;
    }
    if (atom->element == 6 || atom->element == 1 || (!explicit_h && sum < 4))
        return;
    for (size_t k = 0; k < BI_COUNT(charges); k++) {
        atom->charge = charges[k];
        if (bi_mol_valence_ok(atom, sum, &n_h) && !n_h)
            return;
    }
    atom->charge = 0;
}

/* Nitrogen with aromatic bonds has a charge when its other bonds leave it no choice. */
static void settle_aromatic(struct bi_molecule *mol, const struct mol2 *m, uint32_t i)
{
    uint32_t n_aromatic = 0;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
        n_aromatic += mol->bonds[mol->near[k].bond].order == BI_MOL_ORDER_AROMATIC;
    if (!m->charged[i] && mol->atoms[i].element == 8 && n_aromatic && bi_mol_degree(mol, i) > 2)
        mol->atoms[i].charge = 1;
}

/* A nitrogen whose two aromatic bonds and one other leave it no valence for a double bond. */
static bool may_be_cation(const struct bi_molecule *mol, const struct mol2 *m, uint32_t i)
{
    uint32_t n_aromatic = 0;
    for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++)
        n_aromatic += mol->bonds[mol->near[k].bond].order == BI_MOL_ORDER_AROMATIC;
    return mol->atoms[i].element == 7 && !m->charged[i] && !mol->atoms[i].charge &&
           n_aromatic == 2 && bi_mol_degree(mol, i) == 3;
}

/* Where all hydrogens are there and aromatic bonds still do not alternate, as few nitrogens as do,
 * up to MOST, have a charge: pyridinium, imidazolium. The first ones that do; bonds that cannot
 * alternate even so are left as they are, for bi_mol_kekulize() to refuse. */
static int settle_cations(struct bi_molecule *mol, const struct mol2 *m, struct bioinfer_error *err)
{
    enum { MOST = 3, CANDIDATES = 8, ATOMS = 1000 };
    struct bioinfer_error own = {0};
    uint32_t place[CANDIDATES], n = 0;
    int st = bi_mol_kekulize(mol, m->t, &own);
    if (st != BIOINFER_FORMAT || mol->n_atoms > ATOMS) {
        if (st && err)
            *err = own;
        return st;
    }
    for (uint32_t i = 0; i < mol->n_atoms && n < CANDIDATES; i++)
        if (may_be_cation(mol, m, i))
            place[n++] = i;
    for (int most = 1; most <= MOST && st == BIOINFER_FORMAT; most++)
        for (uint32_t set = 1; set < (uint32_t)1 << n; set++) {
            int size = 0;
            for (uint32_t k = 0; k < n; k++)
                size += set >> k & 1;
            if (size != most)
                continue;
            for (uint32_t k = 0; k < n; k++)
                mol->atoms[place[k]].charge = set >> k & 1;
            st = bi_mol_kekulize(mol, m->t, &own);
            if (!st)
                return 0;
            if (st != BIOINFER_FORMAT)
                break;
        }
    for (uint32_t k = 0; k < n; k++)
        mol->atoms[place[k]].charge = 0;
    if (err)
        *err = own;
    return st;
}

static int settle(struct bi_molecule *mol, const struct mol2 *m, struct bioinfer_error *err)
{
    bool explicit_h = false;
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        explicit_h = explicit_h || mol->atoms[i].element == 1;
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        if (m->types[i] == TYPE_CAT)
            settle_cation(mol, m, i);
        else if (is_shared_oxygen(mol, m, i))
            settle_oxygens(mol, m, mol->near[mol->start[i]].atom);
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        settle_charge(mol, m, i, explicit_h);
        settle_aromatic(mol, m, i);
    }
    return explicit_h ? settle_cations(mol, m, err) : 0;
}

/* ---- a record ---- */

static int read_sections(struct bi_molecule *mol, struct mol2 *m, struct bioinfer_error *err)
{
    enum section section = OTHER;
    uint32_t seen = 0;
    int st = 0;
    while (!st && next_line(m->t)) {
        if (is_section(m->t)) {
            if (m->n_attributes)
                break;
            section = section_of(m->t);
            if (section != OTHER && seen >> section & 1)
                return bi_mol_fail(m->t, err, BIOINFER_FORMAT, "this section stands here twice");
            seen |= section == OTHER ? 0 : (uint32_t)1 << section;
            if (section == MOLECULE)
                st = read_molecule(mol, m, err);
        } else if (section == ATOM)
            st = read_atom(mol, m, err);
        else if (section == ATTRIBUTES)
            st = read_attribute(mol, m, err);
        else if (section == BOND)
            st = read_bond(mol, m, err);
    }
    if (!st && m->n_attributes)
        return bi_mol_fail(m->t, err, BIOINFER_FORMAT, "%d attributes of an atom are missing",
                           m->n_attributes);
    if (!st && !(seen >> MOLECULE & 1))
        st = bi_mol_fail(m->t, err, BIOINFER_FORMAT, "no section @<TRIPOS>MOLECULE");
    return st;
}

int bi_mol2_read(struct bi_molecule *mol, struct bi_mol_text *t, struct bioinfer_error *err)
{
    struct mol2 m = {.t = t};
    int st;
    mol->format = "MOL2";
    st = read_sections(mol, &m, err);
    if (!st && (mol->n_atoms != (uint32_t)m.n_atoms || mol->n_bonds != (uint32_t)m.n_bonds))
        st = bi_mol_fail(t, err, BIOINFER_FORMAT,
                         "%u atoms and %u bonds, expected %d and %d by "
                         "the counts line",
                         mol->n_atoms, mol->n_bonds, m.n_atoms, m.n_bonds);
    if (!st && !mol->n_atoms)
        st = bi_mol_fail(t, err, BIOINFER_EMPTY, "no atoms");
    if (!st && !(st = bi_mol_connect(mol, t, err)))
        st = settle(mol, &m, err);
    bi_free(mol->env, m.ids);
    bi_free(mol->env, m.types);
    bi_free(mol->env, m.charged);
    return st;
}

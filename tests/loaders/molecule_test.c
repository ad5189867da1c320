/* molecule_test.c - files of small molecules: what is read, what is refused and why. */
#include "../../base/file.h"
#include "../../loaders/chem/molecule.h"
#include "../failing.h"
#include "../test.h"

#define HEAD "ethanol\n  by hand\n\n"
#define COUNTS "  3  2  0  0  0  0  0  0  0  0999 V2000\n"
#define ATOMS                                                                                      \
    "    0.0000    1.0000    2.0000 C   0  0\n"                                                    \
    "    1.5000    1.0000    2.0000 C   0  0\n"                                                    \
    "    2.0000    2.2000    2.0000 O   0  0\n"
#define BONDS "  1  2  1  0\n  2  3  1  0\n"
#define END "M  END\n"
#define GOOD HEAD COUNTS ATOMS BONDS END "$$$$\n"

#define V30(text) "M  V30 " text "\n"
#define V3_HEAD HEAD "  0  0  0     0  0            999 V3000\n" V30("BEGIN CTAB")
#define V3_ATOMS                                                                                   \
    V30("BEGIN ATOM")                                                                              \
    V30("7 C 0 0 1 0")                                                                             \
    V30("3 C 1.5 0 -") V30("1 0 CHG=-1") V30("9 O 2 1.2 1 0 CFG=1 MASS=18 VAL=-1") V30("END ATOM")
#define V3_BONDS V30("BEGIN BOND") V30("1 1 7 3") V30("2 2 3 9 CFG=1") V30("END BOND")
#define V3_END V30("END CTAB") END "$$$$\n"

static struct bi_env env;

static struct bi_molecules *open_text(const char *text)
{
    struct bioinfer_error err = {0};
    struct bi_molecules *m = NULL;
    env = bi_env_default();
    CHECK(!bi_molecules_open_memory(&m, &env, "some.sdf", text, strlen(text), &err));
    return m;
}

/* The first molecule of a text. */
static void first(struct bi_molecule *mol, const char *text)
{
    struct bioinfer_error err = {0};
    struct bi_molecules *m = open_text(text);
    CHECK_EQ(bi_molecules_next(m, mol, &err), 1);
    bi_molecules_close(&m);
}

static void refused(const char *text, int status, const char *why)
{
    struct bi_molecule mol = {0};
    first(&mol, text);
    if (!CHECK_EQ(mol.status, status) || !CHECK_HAS(mol.message, why))
        fprintf(stderr, "    of: %s\n", text);
    CHECK_HAS(mol.message, "some.sdf: record 1, line ");
    CHECK_EQ(mol.n_atoms, 0);
    bi_molecule_free(&mol);
}

static void reads_v2000(void)
{
    struct bi_molecule mol = {0};
    first(&mol, GOOD);
    CHECK_EQ(mol.status, 0);
    CHECK_STR(mol.name, "ethanol");
    CHECK_STR(mol.format, "SDF V2000");
    CHECK(mol.has_3d);
    if (CHECK_EQ(mol.n_atoms, 3) && CHECK_EQ(mol.n_bonds, 2)) {
        CHECK_EQ(mol.atoms[2].element, 8);
        CHECK(mol.atoms[1].x[0] == 1.5);
        CHECK_EQ(mol.bonds[1].b, 2);
        CHECK_EQ(bi_mol_degree(&mol, 1), 2);
        CHECK_EQ(mol.near[mol.start[1] + 1].atom, 2);
    }
    bi_molecule_free(&mol);
}

/* A byte order mark hides neither the format nor the name. */
static void reads_behind_a_mark(void)
{
    struct bi_molecule mol = {0};
    first(&mol, "\xEF\xBB\xBF" GOOD);
    CHECK_STR(mol.name, "ethanol");
    bi_molecule_free(&mol);
    first(&mol, "\xEF\xBB\xBF@<TRIPOS>MOLECULE\nm\n1 0\nSMALL\nNO_CHARGES\n"
                "@<TRIPOS>ATOM\n1 O 0 0 0 O.3\n");
    CHECK_STR(mol.name, "m");
    CHECK_STR(mol.format, "MOL2");
    CHECK_EQ(mol.n_atoms, 1);
    bi_molecule_free(&mol);
}

static void reads_properties(void)
{
    struct bi_molecule mol = {0};
    first(&mol, HEAD COUNTS
          "    0.0000    0.0000    0.0000 C   1  5\n"
          "    0.0000    0.0000    0.0000 N   0  3  0  0  0  4\n"
          "    0.0000    0.0000    0.0000 D   0  0\n" BONDS
          "M  CHG  1   2   1\nM  RAD  1   1   2\nM  XYZ anything\nA    1\ntext\n" END "$$$$\n");
    if (CHECK_EQ(mol.n_atoms, 3)) {
        CHECK_EQ(mol.atoms[0].charge, 0); /* the line CHG cancels the codes of atom lines */
        CHECK_EQ(mol.atoms[0].isotope, 13);
        CHECK_EQ(mol.atoms[0].n_radicals, 1);
        CHECK_EQ(mol.atoms[1].charge, 1);
        CHECK(mol.atoms[1].no_more_h);
        CHECK_EQ(mol.atoms[1].n_h, 2); /* a valence of 4, two bonds */
        CHECK_EQ(mol.atoms[2].element, 1);
        CHECK_EQ(mol.atoms[2].isotope, 2);
    }
    CHECK(!mol.has_3d);
    bi_molecule_free(&mol);
}

/* As in RDKit 2026.9: hydrogens are drawn, or a valence leaves them; V3000 has no such rule. */
static void reads_counts_of_hydrogens(void)
{
    struct bi_molecule mol = {0};
    first(&mol, HEAD COUNTS "    0.0000    0.0000    0.0000 C   0  0  0  2\n"
                            "    0.0000    0.0000    0.0000 C   0  0  0  1  0  4\n"
                            "    0.0000    0.0000    0.0000 O   0  0  0  0\n" BONDS END "$$$$\n");
    CHECK_EQ(mol.notes, BI_MOL_NOTE_HYDROGENS);
    if (CHECK_EQ(mol.n_atoms, 3)) {
        CHECK(mol.atoms[0].no_more_h && mol.atoms[0].n_h == 0);
        CHECK(mol.atoms[1].no_more_h && mol.atoms[1].n_h == 2);
        CHECK(!mol.atoms[2].no_more_h);
    }
    first(&mol, HEAD COUNTS ATOMS BONDS "M  SUB  1   1   0\n" END "$$$$\n");
    CHECK(mol.n_atoms == 3 && !mol.notes);
    first(&mol, V3_HEAD V30("COUNTS 1 0 0 0 0") V30("BEGIN ATOM")
                    V30("1 C 0 0 0 0 HCOUNT=2 SUBST=0") V30("END ATOM") V3_END);
    CHECK_EQ(mol.notes, BI_MOL_NOTE_HYDROGENS);
    CHECK(mol.n_atoms == 1 && !mol.atoms[0].no_more_h);
    bi_molecule_free(&mol);
}

static void reads_v3000(void)
{
    struct bi_molecule mol = {0};
    first(&mol, V3_HEAD V30("COUNTS 3 2 0 0 0") V3_ATOMS V3_BONDS V30("BEGIN COLLECTION")
                    V30("MDLV30/STEABS ATOMS=(1 7)") V30("END COLLECTION") V3_END);
    CHECK_STR(mol.message, "");
    CHECK_STR(mol.format, "SDF V3000");
    if (CHECK_EQ(mol.n_atoms, 3) && CHECK_EQ(mol.n_bonds, 2)) {
        CHECK_EQ(mol.atoms[1].charge, -1);
        CHECK(mol.atoms[1].x[0] == 1.5 && mol.atoms[1].x[2] == 1);
        CHECK_EQ(mol.atoms[2].isotope, 18);
        CHECK(mol.atoms[2].no_more_h);
        CHECK_EQ(mol.bonds[1].a, 1);
        CHECK_EQ(mol.bonds[1].b, 2);
        CHECK_EQ(mol.bonds[1].order, 2);
    }
    bi_molecule_free(&mol);
}

/* Hydrogens become counts, but for those that say more. */
static void counts_hydrogens(void)
{
    struct bi_molecule mol = {0};
    first(&mol, HEAD "  8  5  0  0  0  0  0  0  0  0999 V2000\n"
                     "    0.0000    0.0000    0.0000 H   0  0\n"
                     "    0.0000    0.0000    0.0000 C   0  0\n"
                     "    0.0000    0.0000    0.0000 D   0  0\n"
                     "    0.0000    0.0000    0.0000 N   0  0\n"
                     "    0.0000    0.0000    0.0000 H   0  0\n"
                     "    0.0000    0.0000    0.0000 O   0  0\n"
                     "    0.0000    0.0000    0.0000 H   0  0\n"
                     "    0.0000    0.0000    0.0000 H   0  3\n"
                     "  1  2  1\n  2  3  1\n  2  4  2\n  4  5  1\n  6  7  1\n" END "$$$$\n");
    CHECK_STR(mol.message, "");
    CHECK_EQ(mol.n_removed, 2);
    if (CHECK_EQ(mol.n_atoms, 6) && CHECK_EQ(mol.n_bonds, 3)) {
        CHECK_EQ(mol.atoms[0].element, 6);
        CHECK_EQ(mol.atoms[0].n_h, 1);
        CHECK_EQ(mol.atoms[1].isotope, 2);
        CHECK_EQ(mol.atoms[3].element, 1); /* tells E from Z */
        CHECK_EQ(mol.atoms[2].n_h, 0);
        CHECK_EQ(mol.atoms[4].n_h, 2);
        CHECK_EQ(mol.atoms[5].charge, 1); /* bonded to nothing */
        CHECK_EQ(mol.bonds[2].b, 3);
    }
    bi_molecule_free(&mol);
}

static void refuses_v2000(void)
{
    refused(HEAD COUNTS ATOMS BONDS "M  ALS   1  2 F C   N   \n" END, BIOINFER_UNSUPPORTED,
            "a list of atoms");
    refused(HEAD COUNTS ATOMS BONDS "M  SUB  2   1   0   2  -2\n" END, BIOINFER_UNSUPPORTED,
            "'M  SUB' of atom 2, a query, expected a molecule");
    refused(HEAD COUNTS ATOMS BONDS "M  UNS  1   1   1\n" END, BIOINFER_UNSUPPORTED, "a query");
    refused(HEAD COUNTS ATOMS BONDS "M  RBC  1   1   2\n" END, BIOINFER_UNSUPPORTED, "a query");
    refused(V3_HEAD V30("COUNTS 1 0 0 0 0") V30("BEGIN ATOM") V30("1 C 0 0 0 0 RBCNT=-1")
                V30("END ATOM") V3_END,
            BIOINFER_UNSUPPORTED, "'RBCNT=-1', a query, expected a molecule");
    refused(HEAD "  x  2  0  0  0  0  0  0  0  0999 V2000\n", BIOINFER_FORMAT,
            "line 4: number of atoms: got 'x' in columns 1 to 3");
    refused(HEAD "oops\n" ATOMS BONDS END, BIOINFER_FORMAT,
            "line 4: got 'oops', expected a counts");
    refused(HEAD "  0  0  0  0  0  0  0  0  0  0999 V2000\n" END, BIOINFER_EMPTY, "no atoms");
    refused(HEAD "  4  2  0  0  0  0  0  0  0  0999 V2000\n" ATOMS BONDS END, BIOINFER_FORMAT,
            "line 8: coordinate '1  2  1' of atom 4");
    refused(HEAD "  2  2  0  0  0  0  0  0  0  0999 V2000\n" ATOMS BONDS END, BIOINFER_FORMAT,
            "line 7");
    refused(HEAD "  3  1  0  0  0  0  0  0  0  0999 V2000\n" ATOMS BONDS END, BIOINFER_FORMAT,
            "are the counts right?");
    refused(HEAD COUNTS ATOMS "  1  2  1\n  2  4  1\n" END, BIOINFER_FORMAT, "bond of atom 4");
    refused(HEAD COUNTS ATOMS "  1  2  1\n  2  2  1\n" END, BIOINFER_FORMAT, "with itself");
    refused(HEAD COUNTS ATOMS "  1  2  1\n  2  1  1\n" END, BIOINFER_FORMAT, "more than one bond");
    refused(HEAD COUNTS ATOMS "  1  2  1\n  2  3  8\n" END, BIOINFER_UNSUPPORTED,
            "bond of atoms 2 and 3 has type 8 (a query)");
    refused(HEAD COUNTS ATOMS "  1  2  1\n  2  3 10\n" END, BIOINFER_UNSUPPORTED, "hydrogen bond");
    refused(HEAD COUNTS ATOMS BONDS "M  ZBO  1   3   0\n" END, BIOINFER_FORMAT,
            "property of bond 3, expected 1 to 2");
    refused(HEAD COUNTS ATOMS BONDS "M  ZBO  1   1   4\n" END, BIOINFER_FORMAT,
            "order 4 of bond 1");
    refused(HEAD COUNTS ATOMS BONDS "M  HYD  1   1  99\n" END, BIOINFER_FORMAT,
            "99 hydrogens of atom 1");
    refused(HEAD COUNTS ATOMS "  1  2  1\n  2  3  0\n" END, BIOINFER_FORMAT, "type 0");
    refused(HEAD COUNTS ATOMS BONDS, BIOINFER_FORMAT, "expected 'M  END'");
    refused(HEAD COUNTS ATOMS BONDS END GOOD, BIOINFER_FORMAT, "expected '$$$$' before it");
    refused(HEAD COUNTS ATOMS BONDS "M  CHG  1   4   1\n" END, BIOINFER_FORMAT, "of atom 4");
    refused(HEAD COUNTS ATOMS BONDS "M  CHG  1   1  99\n" END, BIOINFER_FORMAT, "charge 99");
    refused(HEAD COUNTS ATOMS BONDS "M  RAD  1   1   7\n" END, BIOINFER_FORMAT, "radical code 7");
    refused(HEAD "  1  0  0  0  0  0  0  0  0  0999 V2000\n"
                 "    0.0000    0.0000    0.0000 R#  0  0\n" END,
            BIOINFER_UNSUPPORTED, "atom 'R#'");
    refused(HEAD "  1  0  0  0  0  0  0  0  0  0999 V2000\n"
                 "    0.0000    0.0000    0.0000 Zz  0  0\n" END,
            BIOINFER_FORMAT, "atom symbol 'Zz'");
    refused(HEAD "  1  0  0  0  0  0  0  0  0  0999 V2000\n"
                 "       nan    0.0000    0.0000 C   0  0\n" END,
            BIOINFER_FORMAT, "coordinate 'nan'");
    refused("one line", BIOINFER_FORMAT, "line 1: the record ends here");
}

static void refuses_v3000(void)
{
    refused(V3_HEAD V3_END, BIOINFER_FORMAT, "without its COUNTS line");
    refused(V3_HEAD V30("COUNTS 4 2") V3_ATOMS V3_BONDS V3_END, BIOINFER_FORMAT,
            "3 lines in the block, expected 4");
    refused(V3_HEAD V30("COUNTS 3 2") V3_ATOMS V3_END, BIOINFER_FORMAT, "without its bonds");
    refused(V3_HEAD V30("COUNTS 3 2") V3_BONDS V3_END, BIOINFER_FORMAT, "one block of atoms");
    refused(V3_HEAD V30("COUNTS 3 2") V3_ATOMS V3_ATOMS V3_END, BIOINFER_FORMAT, "one block of");
    refused(V3_HEAD V30("COUNTS 3 2") V3_ATOMS V30("BEGIN BOND") V30("1 1 7 1") V3_END,
            BIOINFER_FORMAT, "a bond of atom 1, which is not there");
    refused(V3_HEAD V30("COUNTS 3 2") V3_ATOMS V30("BEGIN BOND")
                V30("1 1 7 3 ENDPTS=(2 7 3) ATTACH=ANY") V3_END,
            BIOINFER_UNSUPPORTED, "several ends");
    refused(V3_HEAD V30("COUNTS 1 0") V30("BEGIN ATOM") V30("1 [C,N] 0 0 0 0") V3_END,
            BIOINFER_UNSUPPORTED, "a list of atoms");
    refused(V3_HEAD V30("COUNTS 1 0") V30("BEGIN ATOM") V30("1 C 0 0"), BIOINFER_FORMAT,
            "coordinate 3 of atom 1");
    refused(V3_HEAD "COUNTS 1 0\n", BIOINFER_FORMAT, "expected 'M  V30 '");
}

/* A bad record costs itself only; the line of the next one is known. */
static void goes_on_behind_a_bad_record(void)
{
    struct bi_molecule mol = {0};
    struct bi_molecules *m = open_text(GOOD HEAD "broken\n$$$$\r\n" GOOD HEAD COUNTS ATOMS BONDS END
                                                 "\n\n");
    static const int want[] = {0, BIOINFER_FORMAT, 0, 0};
    static const int lines[] = {1, 12, 17, 28};
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(bi_molecules_next(m, &mol, NULL), 1);
        CHECK_EQ(mol.status, want[i]);
        CHECK_EQ(mol.ordinal, i + 1);
        CHECK_EQ(mol.line, lines[i]);
    }
    CHECK_EQ(bi_molecules_next(m, &mol, NULL), 0); /* blank lines are no record */
    CHECK_EQ(bi_molecules_next(m, &mol, NULL), 0);
    bi_molecules_close(&m);
    bi_molecule_free(&mol);
}

static void skips_a_record_that_is_too_long(void)
{
    const size_t huge = BI_MOL_MAX_RECORD + 1000;
    char *text = malloc(huge + sizeof GOOD + 8);
    struct bi_molecule mol = {0};
    struct bi_molecules *m;
    memset(text, 'x', huge);
    for (size_t i = 79; i < huge; i += 80)
        text[i] = '\n';
    strcpy(text + huge, "\n$$$$\n" GOOD);
    m = open_text(text);
    CHECK_EQ(bi_molecules_next(m, &mol, NULL), 1);
    CHECK_EQ(mol.status, BIOINFER_LIMIT);
    CHECK_EQ(bi_molecules_next(m, &mol, NULL), 1);
    CHECK_EQ(mol.status, 0);
    CHECK_EQ(bi_molecules_next(m, &mol, NULL), 0);
    bi_molecules_close(&m);
    bi_molecule_free(&mol);
    free(text);
}

/* Thousands of molecules take the memory of one, and any allocation may fail. */
static void keeps_no_memory(void)
{
    enum { MANY = 5000 };
    char *text = malloc(MANY * sizeof GOOD), *end = text;
    for (int i = 0; i < MANY; i++, end += sizeof GOOD - 1)
        memcpy(end, GOOD, sizeof GOOD);
    for (long at = 0; at < 40; at++) {
        struct failing f = {.fail_at = at};
        struct bi_molecule mol = {0};
        struct bi_molecules *m = NULL;
        struct bioinfer_error err = {0};
        long live = 0, n = 0;
        int st;
        env = bi_env_default();
        env.alloc = failing_alloc;
        env.free = failing_free;
        env.alloc_user = &f;
        st = bi_molecules_open_memory(&m, &env, "some.sdf", text, (size_t)(end - text), &err);
        while (!st && (st = bi_molecules_next(m, &mol, &err)) > 0) {
            CHECK(!mol.status);
            CHECK(!n++ || f.n_live <= live);
            live = f.n_live;
            st = at && n > 20 ? 1 : 0;
        }
        CHECK(at ? st == BIOINFER_NOMEM || n > 20 : n == MANY && !st);
        bi_molecule_free(&mol);
        bi_molecules_close(&m);
        CHECK_EQ(f.n_live, 0);
    }
    free(text);
}

/* ---- perception ---- */

/* A carbon skeleton as V2000: bonds are pairs of letters, 'a' the first atom. */
static void skeleton(struct bi_molecule *mol, int n_atoms, const char *pairs, int type)
{
    static char text[20000];
    char *at = text;
    at += sprintf(at, HEAD "%3d%3d  0  0  0  0  0  0  0  0999 V2000\n", n_atoms,
                  (int)strlen(pairs) / 2);
    for (int i = 0; i < n_atoms; i++)
        at += sprintf(at, "    0.0000    0.0000    0.0000 C   0  0\n");
    for (; *pairs; pairs += 2)
        at += sprintf(at, "%3d%3d%3d\n", pairs[0] - 'a' + 1, pairs[1] - 'a' + 1, type);
    strcpy(at, END "$$$$\n");
    first(mol, text);
    CHECK_STR(mol->message, "");
}

static void finds_rings(void)
{
    struct bi_molecule mol = {0};
    skeleton(&mol, 8, "abbccddaeffgghheaebfcgdh", 1); /* cubane: five faces give the sixth */
    CHECK_EQ(mol.n_sssr, 5);
    CHECK_EQ(mol.n_rings, 6);
    CHECK_EQ(mol.atoms[0].n_h, 1);
    skeleton(&mol, 8, "abbccddeeffaagghhd", 1); /* bicyclo[2.2.2]octane: any two of three */
    CHECK_EQ(mol.n_sssr, 2);
    CHECK_EQ(mol.n_rings, 3);
    skeleton(&mol, 7, "abbccadeeffddg", 1); /* two rings apart, one with a tail */
    CHECK_EQ(mol.n_sssr, 2);
    CHECK(mol.atoms[0].in_ring && mol.atoms[3].in_ring && !mol.atoms[6].in_ring);
    CHECK(mol.bonds[5].in_ring && !mol.bonds[6].in_ring);
    bi_molecule_free(&mol);
}

static void kekulizes(void)
{
    struct bi_molecule mol = {0};
    int n_double = 0;
    skeleton(&mol, 10, "abbccddeeffgghhiijjaaf", 4);
    for (uint32_t k = 0; k < mol.n_bonds; k++)
        n_double += mol.bonds[k].order == 2;
    CHECK_EQ(n_double, 5);
    CHECK(mol.atoms[0].aromatic && mol.atoms[9].aromatic);
    CHECK_EQ(mol.atoms[1].n_h, 1);
    CHECK_EQ(mol.atoms[1].hybrid, BI_HYBRID_SP2);
    bi_molecule_free(&mol);
    refused(HEAD
            "  3  3  0  0  0  0  0  0  0  0999 V2000\n"
            "    0.0000    0.0000    0.0000 C   0  0\n    0.0000    0.0000    0.0000 C   0  0\n"
            "    0.0000    0.0000    0.0000 C   0  0\n  1  2  4\n  2  3  4\n  3  1  4\n" END,
            BIOINFER_FORMAT, "cannot be written as single and double ones");
}

/* Aromatic bonds take 1.5 of a valence that the file states, as RDKit 2026.09.1 has it. */
static void settles_stated_valences(void)
{
    static const struct {
        const char *name, *of_first; /* element, charge code and valence of the first atom */
        int size;                    /* atoms of the ring */
        int n_h;                     /* the first atom's; -1: the bonds cannot alternate */
    } cases[] = {{"benzene", "C   0  0  0  0  0  4", 6, 1},
                 {"phenyl", "C   0  0  0  0  0  3", 6, 0},
                 {"pyridine", "N   0  0  0  0  0  3", 6, 0},
                 {"pyridinium", "N   0  3  0  0  0  4", 6, 1},
                 {"pyrylium", "O   0  3  0  0  0  3", 6, 0},
                 {"furan", "O   0  0  0  0  0  2", 5, 0},
                 {"thiophene", "S   0  0  0  0  0  2", 5, 0},
                 {"pyrrole", "N   0  0  0  0  0  4", 5, 1},
                 {"no pyrrole", "N   0  0  0  0  0  3", 5, -1},
                 {"tropylium", "C   0  3  0  0  0  4", 7, 1},
                 {"no tropylium", "C   0  3  0  0  0  3", 7, -1},
                 {"phenyl cation", "C   0  3  0  0  0  3", 6, 0},
                 {"cyclopentadienide", "C   0  5  0  0  0  4", 5, 1},
                 {"none", "C   0  5  0  0  0  3", 5, -1}};
    for (size_t c = 0; c < BI_COUNT(cases); c++) {
        struct bi_molecule mol = {0};
        char text[1000];
        size_t at = (size_t)sprintf(text, HEAD "%3d%3d  0  0  0  0  0  0  0  0999 V2000\n",
                                    cases[c].size, cases[c].size);
        for (int i = 0; i < cases[c].size; i++)
            at += (size_t)sprintf(text + at, "%10d    0.0000    0.0000 %s\n", i,
                                  i ? "C   0  0  0  0  0  4" : cases[c].of_first);
        for (int i = 0; i < cases[c].size; i++)
            at += (size_t)sprintf(text + at, "%3d%3d  4\n", i + 1, (i + 1) % cases[c].size + 1);
        sprintf(text + at, END "$$$$\n");
        first(&mol, text);
        if (!CHECK_EQ(mol.status, cases[c].n_h < 0 ? BIOINFER_FORMAT : 0))
            fprintf(stderr, "    %s: %s\n", cases[c].name, mol.message);
        for (uint32_t i = 0; i < mol.n_atoms; i++)
            if (!CHECK_EQ(mol.atoms[i].n_h, i ? 1 : cases[c].n_h))
                fprintf(stderr, "    %s: atom %u\n", cases[c].name, i + 1);
        bi_molecule_free(&mol);
    }
}

static void normalises(void)
{
    struct bi_molecule mol = {0};
    first(&mol, HEAD "  4  3  0  0  0  0  0  0  0  0999 V2000\n"
                     "    0.0000    0.0000    0.0000 C   0  0\n"
                     "    0.0000    0.0000    0.0000 N   0  0\n"
                     "    0.0000    0.0000    0.0000 O   0  0\n"
                     "    0.0000    0.0000    0.0000 O   0  0\n"
                     "  1  2  1\n  2  3  2\n  2  4  2\n" END "$$$$\n");
    if (CHECK_EQ(mol.n_atoms, 4)) {
        CHECK_EQ(mol.atoms[1].charge, 1);
        CHECK_EQ(mol.atoms[2].charge, -1);
        CHECK_EQ(mol.atoms[3].charge, 0);
        CHECK_EQ(mol.bonds[1].order, 1);
        CHECK_EQ(mol.atoms[0].n_h, 3);
        CHECK(mol.bonds[2].conjugated && !mol.bonds[0].conjugated);
    }
    bi_molecule_free(&mol);
    refused(HEAD COUNTS ATOMS "  1  2  3\n  2  3  2\n" END, BIOINFER_FORMAT,
            "atom 2 (C, charge +0) has a valence of 5");
}

/* A dense graph has more rings than chemistry has; the search ends. */
static void bounds_the_search_for_rings(void)
{
    enum { N = 60, PAIRS = N * (N - 1) / 2 };
    char *text = malloc(200000), *at = text;
    at += sprintf(at, V3_HEAD V30("COUNTS %d %d") V30("BEGIN ATOM"), N, PAIRS);
    for (int i = 1; i <= N; i++)
        at += sprintf(at, V30("%d U 0 0 0 0"), i);
    at += sprintf(at, V30("END ATOM") V30("BEGIN BOND"));
    for (int i = 1, k = 1; i <= N; i++)
        for (int j = i + 1; j <= N; j++)
            at += sprintf(at, V30("%d 1 %d %d"), k++, i, j);
    strcpy(at, V30("END BOND") V3_END);
    refused(text, BIOINFER_LIMIT, "a ring system of 60 atoms and 1711 rings");
    free(text);
}

/* ---- stereo ---- */

/* A centre with four neighbours, or three: elements by letter, places on a tetrahedron. */
static void tetrahedron(struct bi_molecule *mol, const char *elements, int order_of_bonds)
{
    static const int at[][3] = {{0, 0, 0}, {1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    const int n = (int)strlen(elements);
    char text[2000], *end = text;
    end += sprintf(end, HEAD "%3d%3d  0  0  0  0  0  0  0  0999 V2000\n", n, n - 1);
    for (int i = 0; i < n; i++)
        end += sprintf(end, "%10d%10d%10d %-3c 0  0\n", at[i][0], at[i][1], at[i][2], elements[i]);
    for (int i = 1; i < n; i++)
        end += sprintf(end, "  1%3d  1\n", order_of_bonds > 0 ? i + 1 : n + 1 - i);
    strcpy(end, END "$$$$\n");
    first(mol, text);
    CHECK_STR(mol->message, "");
}

static void finds_centres(void)
{
    struct bi_molecule mol = {0};
    tetrahedron(&mol, "CNOFS", 1);
    const int turn = mol.atoms[0].chiral;
    CHECK(turn != BI_CHIRAL_NONE);
    tetrahedron(&mol, "CONFS", 1); /* two places changed: the mirror image, in the same order */
    CHECK_EQ(mol.atoms[0].chiral, turn);
    tetrahedron(&mol, "CNOFS", -1); /* the four bonds backwards: an even change */
    CHECK_EQ(mol.atoms[0].chiral, turn);
    tetrahedron(&mol, "CNOF", -1); /* three backwards: an odd one; the hydrogen comes last */
    CHECK_EQ(mol.atoms[0].chiral, BI_CHIRAL_CW + BI_CHIRAL_CCW - turn);
    tetrahedron(&mol, "CNOF", 1);
    CHECK_EQ(mol.atoms[0].chiral, turn);
    tetrahedron(&mol, "CNOFF", 1);
    CHECK_EQ(mol.atoms[0].chiral, BI_CHIRAL_NONE);
    tetrahedron(&mol, "NCOF", 1); /* turns inside out by itself */
    CHECK_EQ(mol.atoms[0].chiral, BI_CHIRAL_NONE);
    tetrahedron(&mol, "PCOF", 1); /* RDKit takes no turn of P(III) from coordinates */
    CHECK_EQ(mol.atoms[0].chiral, BI_CHIRAL_NONE);
    bi_molecule_free(&mol);
}

/* 2-butene in a plane; y is the side of its last carbon, stereo the field of the double bond. */
static int butene(int y, int stereo, const char *last)
{
    struct bi_molecule mol = {0};
    char text[2000];
    int found;
    sprintf(text,
            HEAD "  4  3  0  0  0  0  0  0  0  0999 V2000\n"
                 "   -1.0000    1.0000    0.0000 C   0  0\n"
                 "    0.0000    0.0000    0.0000 C   0  0\n"
                 "    1.0000    0.0000    0.0000 C   0  0\n"
                 "    2.0000%10.4f    0.0000 %-3s 0  0\n"
                 "  1  2  1  0\n  2  3  2%3d\n  3  4  1  0\n" END "$$$$\n",
            (double)y, last, stereo);
    first(&mol, text);
    CHECK_STR(mol.message, "");
    found = mol.n_bonds == 3 ? mol.bonds[1].stereo : -1;
    CHECK(mol.n_bonds < 3 || (!mol.bonds[0].stereo && !mol.bonds[2].stereo));
    bi_molecule_free(&mol);
    return found;
}

static void tells_e_from_z(void)
{
    CHECK_EQ(butene(1, 0, "C"), BI_STEREO_Z);
    CHECK_EQ(butene(-1, 0, "C"), BI_STEREO_E);
    CHECK_EQ(butene(-1, 0, "Br"), BI_STEREO_E);
    CHECK_EQ(butene(1, 3, "C"), BI_STEREO_ANY);
    CHECK_EQ(butene(0, 0, "C"), BI_STEREO_NONE); /* a straight end has no side */
    CHECK_EQ(butene(1, 0, "H"), BI_STEREO_NONE); /* propene */
}

/* Bonds of order 0, as RDKit reads them: borane-ammonia in Clark's form, which has charges and a
 * single bond for other programs; and dative bonds. */
static void reads_weak_bonds(void)
{
    struct bi_molecule mol = {0};
    first(&mol, HEAD "  2  1  0  0  0  0  0  0  0  0999 V2000\n"
                     "    0.0000    0.0000    0.0000 B   0  5\n"
                     "    1.0000    0.0000    0.0000 N   0  3\n  1  2  1\n"
                     "M  CHG  2   1  -1   2   1\nM  ZCH  2   1   0   2   0\n"
                     "M  HYD  1   1   3\nM  ZBO  1   1   0\n" END "$$$$\n");
    CHECK_STR(mol.message, "");
    if (CHECK_EQ(mol.n_bonds, 1)) {
        CHECK_EQ(mol.bonds[0].order, 0);
        CHECK_EQ(mol.atoms[0].charge, 0);
        CHECK_EQ(mol.atoms[0].n_h, 3);
        CHECK_EQ(mol.atoms[1].charge, 0);
        CHECK_EQ(mol.atoms[1].n_h, 3);
        CHECK_EQ(mol.atoms[1].hybrid, BI_HYBRID_SP3);
    }
    first(&mol, HEAD "  2  1  0  0  0  0  0  0  0  0999 V2000\n"
                     "    0.0000    0.0000    0.0000 N   0  0\n"
                     "    1.4000    0.3000    0.1000 Fe  0  0\n  1  2  9\n" END "$$$$\n");
    CHECK_STR(mol.message, "");
    if (CHECK_EQ(mol.n_bonds, 1)) {
        CHECK_EQ(mol.bonds[0].order, BI_MOL_ORDER_DATIVE);
        CHECK_EQ(mol.bonds[0].a, 0);
        CHECK_EQ(mol.atoms[0].n_h, 3);
        CHECK_EQ(mol.atoms[0].hybrid, BI_HYBRID_SP3);
    }
    bi_molecule_free(&mol);
}

/* A line of a data item may begin with $$$$; one that has no more ends the record. */
static void reads_dollars(void)
{
    struct bi_molecule mol = {0};
    struct bi_molecules *m = open_text(HEAD COUNTS ATOMS BONDS END
                                       "> <x>\n$$$$x\n\n$$$$\n" GOOD HEAD COUNTS ATOMS BONDS END
                                       "> <x>\nno blank\n$$$$ \n" GOOD);
    for (int k = 0; k < 4; k++) {
        CHECK_EQ(bi_molecules_next(m, &mol, NULL), 1);
        CHECK_EQ(mol.n_atoms, 3);
    }
    CHECK_EQ(bi_molecules_next(m, &mol, NULL), 0);
    bi_molecules_close(&m);
    bi_molecule_free(&mol);
}

/* A wavy bond: the turn of its first atom is not known, nor are the double bonds at its ends. */
static void reads_wavy_bonds(void)
{
    struct bi_molecule mol = {0};
    first(&mol, HEAD "  5  4  0  0  0  0  0  0  0  0999 V2000\n"
                     "   -0.8839    1.9741    0.0000 C   0  0\n"
                     "   -0.1695    2.3866    0.0000 C   0  0\n"
                     "   -1.5984    2.3866    0.0000 C   0  0\n"
                     "    0.5450    1.9741    0.0000 C   0  0\n"
                     "   -0.8839    1.1491    0.0000 H   0  0\n"
                     "  1  2  2  0\n  1  3  1  0\n  2  4  1  0\n  1  5  1  4\n" END "$$$$\n");
    CHECK_STR(mol.message, "");
    CHECK(mol.n_bonds > 0 && mol.bonds[0].stereo == BI_STEREO_ANY);
    for (int wavy = 0; wavy < 2; wavy++) {
        char text[1000];
        sprintf(text,
                HEAD "  5  4  0  0  0  0  0  0  0  0999 V2000\n"
                     "    0.0000    0.0000    0.0000 C   0  0\n"
                     "    1.0000    1.0000    1.0000 F   0  0\n"
                     "    1.0000   -1.0000   -1.0000 Cl  0  0\n"
                     "   -1.0000    1.0000   -1.0000 Br  0  0\n"
                     "   -1.0000   -1.0000    1.0000 I   0  0\n"
                     "  1  2  1  %d\n  1  3  1  0\n  1  4  1  0\n  1  5  1  0\n" END "$$$$\n",
                4 * wavy);
        first(&mol, text);
        CHECK(mol.n_atoms == 5 && (mol.atoms[0].chiral == BI_CHIRAL_NONE) == wavy);
    }
    bi_molecule_free(&mol);
}

/* ---- MOL2 and PDB ---- */

#define MOL2(counts) "# by hand\n@<TRIPOS>MOLECULE\nacetate\n" counts "\nSMALL\nNO_CHARGES\n\n"
#define MOL2_ATOMS                                                                                 \
    "@<TRIPOS>ATOM\n1 C1 0.0 0.0 0.5 C.3 1 LIG 0.1\n2 C2 1.5 0.0 0.0 C.2\n"                        \
    "3 O1 2.1 1.1 0.0 O.co2\n7 O2 2.1 -1.1 0.0 O.co2\n"
#define MOL2_BONDS "@<TRIPOS>BOND\n1 1 2 1\n2 2 3 ar\n3 2 7 ar\n"

static void reads_mol2(void)
{
    struct bi_molecule mol = {0};
    struct bi_molecules *m = open_text(
        MOL2(" 4 3 0 0 0") MOL2_ATOMS MOL2_BONDS
        "@<TRIPOS>SUBSTRUCTURE\n1 LIG 1\n\n" MOL2("1") "@<TRIPOS>ATOM\n1 N 0 0 0 N.4\n");
    CHECK_EQ(bi_molecules_next(m, &mol, NULL), 1);
    CHECK_STR(mol.message, "");
    CHECK_STR(mol.name, "acetate");
    CHECK_STR(mol.format, "MOL2");
    if (CHECK_EQ(mol.n_atoms, 4) && CHECK_EQ(mol.n_bonds, 3)) {
        CHECK_EQ(mol.atoms[2].charge, 0);
        CHECK_EQ(mol.atoms[3].charge, -1);
        CHECK_EQ(mol.bonds[1].order, 2);
        CHECK_EQ(mol.bonds[2].order, 1);
        CHECK_EQ(mol.bonds[2].b, 3);
        CHECK_EQ(mol.atoms[0].n_h, 3);
    }
    CHECK_EQ(bi_molecules_next(m, &mol, NULL), 1);
    CHECK_STR(mol.message, "");
    CHECK_EQ(mol.n_atoms, 1);
    CHECK_EQ(mol.line, 21);
    CHECK_EQ(bi_molecules_next(m, &mol, NULL), 0);
    bi_molecules_close(&m);
    bi_molecule_free(&mol);
}

/* The sum of charges and of counted hydrogens of a MOL2 record. */
static void mol2_sums(const char *text, int charge, int n_h)
{
    struct bi_molecule mol = {0};
    int charges = 0, hydrogens = 0;
    first(&mol, text);
    CHECK_STR(mol.message, "");
    for (uint32_t i = 0; i < mol.n_atoms; i++) {
        charges += mol.atoms[i].charge;
        hydrogens += mol.atoms[i].n_h;
    }
    CHECK(mol.n_atoms > 0);
    CHECK_EQ(charges, charge);
    CHECK_EQ(hydrogens, n_h);
    bi_molecule_free(&mol);
}

#define RING_ATOMS                                                                                 \
    "@<TRIPOS>ATOM\n1 N 0 0 0 N.ar\n2 C 1 0 0 C.ar\n3 C 2 0 0 C.ar\n4 C 3 0 0 C.ar\n"              \
    "5 C 4 0 0 C.ar\n6 C 5 0 0 C.ar\n7 H 0 1 0 H\n8 H 1 1 0 H\n9 H 2 1 0 H\n10 H 3 1 0 H\n"        \
    "11 H 4 1 0 H\n"
#define RING_BONDS                                                                                 \
    "1 1 2 ar\n2 2 3 ar\n3 3 4 ar\n4 4 5 ar\n5 5 6 ar\n6 6 1 ar\n7 2 7 1\n8 3 8 1\n9 4 9 1\n"      \
    "10 5 10 1\n11 6 11 1\n"

/* Charges as RDKit 2026.09.1 has them, but of zinc the one ion that there is. */
static void settles_mol2(void)
{
    static const char *const orders[] = {"1", "2", "ar"};
    static const struct {
        const char *type;
        int charge;
    } ions[] = {{"Na", 1}, {"K", 1},   {"Mg", 2},  {"Ca", 2}, {"Zn", 2}, {"Al", 3},
                {"F", -1}, {"Cl", -1}, {"Br", -1}, {"I", -1}, {"Fe", 0}};
    char text[1500];
    for (size_t k = 0; k < BI_COUNT(orders); k++) { /* tleap writes all as single bonds */
        const char *o = orders[k];
        sprintf(text, MOL2("4 3") MOL2_ATOMS "@<TRIPOS>BOND\n1 1 2 1\n2 2 3 %s\n3 2 7 %s\n", o, o);
        mol2_sums(text, -1, 3);
        sprintf(text,
                MOL2("8 7") "@<TRIPOS>ATOM\n1 C 0 0 0 C.3\n2 S 1 0 0 S.o2\n3 O 2 0 0 O.co2\n"
                            "4 O 3 0 0 O.co2\n5 O 4 0 0 O.co2\n6 H 5 0 0 H\n7 H 6 0 0 H\n"
                            "8 H 7 0 0 H\n@<TRIPOS>BOND\n1 1 2 1\n2 2 3 %s\n3 2 4 %s\n4 2 5 %s\n"
                            "5 1 6 1\n6 1 7 1\n7 1 8 1\n",
                o, o, o);
        mol2_sums(text, -1, 3); /* methanesulphonate */
        sprintf(text,
                MOL2("9 8") "@<TRIPOS>ATOM\n1 C 0 0 0 C.3\n2 O 1 0 0 O.3\n3 P 2 0 0 P.3\n"
                            "4 O 3 0 0 O.co2\n5 O 4 0 0 O.co2\n6 O 5 0 0 O.co2\n7 H 6 0 0 H\n"
                            "8 H 7 0 0 H\n9 H 8 0 0 H\n@<TRIPOS>BOND\n1 1 2 1\n2 2 3 1\n"
                            "3 3 4 %s\n4 3 5 %s\n5 3 6 %s\n6 1 7 1\n7 1 8 1\n8 1 9 1\n",
                o, o, o);
        mol2_sums(text, -2, 3); /* methyl phosphate */
    }
    for (size_t k = 0; k < BI_COUNT(ions); k++) {
        sprintf(text, MOL2("1 0") "@<TRIPOS>ATOM\n1 X 0 0 0 %s\n", ions[k].type);
        mol2_sums(text, ions[k].charge, 0);
    }
    mol2_sums(MOL2("3 2") "@<TRIPOS>ATOM\n1 C 0 0 0 C.2\n2 O 1 0 0 O.2\n3 N 2 0 0 N.am\n"
                          "@<TRIPOS>BOND\n1 1 2 2\n2 1 3 am\n",
              0, 3); /* formamide */
    mol2_sums(MOL2("12 12") RING_ATOMS "12 H 0 2 0 H\n@<TRIPOS>BOND\n" RING_BONDS "12 1 12 1\n", 1,
              6);                                                           /* pyridinium */
    mol2_sums(MOL2("11 11") RING_ATOMS "@<TRIPOS>BOND\n" RING_BONDS, 0, 5); /* pyridine */
    mol2_sums(MOL2("10 10") "@<TRIPOS>ATOM\n1 N 0 0 0 N.ar\n2 C 1 0 0 C.ar\n3 N 2 0 0 N.ar\n"
                            "4 C 3 0 0 C.ar\n5 C 4 0 0 C.ar\n6 H 5 0 0 H\n7 H 6 0 0 H\n"
                            "8 H 7 0 0 H\n9 H 8 0 0 H\n10 H 9 0 0 H\n@<TRIPOS>BOND\n1 1 2 ar\n"
                            "2 2 3 ar\n3 3 4 ar\n4 4 5 ar\n5 5 1 ar\n6 1 6 1\n7 2 7 1\n8 3 8 1\n"
                            "9 4 9 1\n10 5 10 1\n",
              1, 5); /* imidazolium */
}

#define UNITY "@<TRIPOS>UNITY_ATOM_ATTR\n"

/* Charges that the file gives are obeyed, whichever of several oxygens has one. */
static void reads_charges_of_mol2(void)
{
    struct bi_molecule mol = {0};
    first(&mol, MOL2("4 3") "@<TRIPOS>ATOM\n1 C 0 0 0 C.3\n2 C 1 0 0 C.2\n3 O 2 0 0 O.co2\n"
                            "4 O 3 0 0 O.co2\n@<TRIPOS>BOND\n1 1 2 1\n2 2 3 ar\n3 2 4 ar\n" UNITY
                            "3 1\ncharge -1\n4 2\ncharge 0\nchiral S\n");
    CHECK_STR(mol.message, "");
    if (CHECK_EQ(mol.n_atoms, 4)) {
        CHECK(mol.atoms[2].charge == -1 && mol.bonds[1].order == 1);
        CHECK(mol.atoms[3].charge == 0 && mol.bonds[2].order == 2);
        CHECK_EQ(mol.notes, BI_MOL_NOTE_ATTRIBUTES);
    }
    bi_molecule_free(&mol);
    /* without hydrogens nothing else says that the nitrogen is charged, or which one */
    mol2_sums(
        MOL2("2 1") "@<TRIPOS>ATOM\n1 C 0 0 0 C.3\n2 N 1 0 0 N.4\n@<TRIPOS>BOND\n1 1 2 1\n" UNITY
                    "2 1\ncharge 1\n",
        1, 6);
    mol2_sums(MOL2("1 0") "@<TRIPOS>ATOM\n1 FE 0 0 0 Fe\n" UNITY "1 1\ncharge 3\n", 3, 0);
    mol2_sums(MOL2("1 0") "@<TRIPOS>ATOM\n1 ZN 0 0 0 Zn\n" UNITY "1 1\ncharge 0\n", 0, 0);
    first(&mol, MOL2("4 3") "@<TRIPOS>ATOM\n1 C 0 0 0 C.cat\n2 N 1 0 0 N.pl3\n3 N 2 0 0 N.pl3\n"
                            "4 N 3 0 0 N.pl3\n@<TRIPOS>BOND\n1 1 2 ar\n2 1 3 ar\n3 1 4 ar\n" UNITY
                            "3 1\ncharge 1\n");
    CHECK_STR(mol.message, "");
    CHECK(mol.n_bonds == 3 && mol.bonds[1].order == 2 && mol.atoms[2].charge == 1);
    bi_molecule_free(&mol);
}

static void refuses_mol2(void)
{
    refused(MOL2("1 0") "@<TRIPOS>ATOM\n1 C 0 0 0 C.3\n" UNITY "1 1\ncharge x\n", BIOINFER_FORMAT,
            "charge: got 'x'");
    refused(MOL2("1 0") "@<TRIPOS>ATOM\n1 C 0 0 0 C.3\n" UNITY "1 1\ncharge 99\n", BIOINFER_FORMAT,
            "charge 99, expected");
    refused(MOL2("1 0") "@<TRIPOS>ATOM\n1 C 0 0 0 C.3\n" UNITY "2 1\ncharge 1\n", BIOINFER_FORMAT,
            "a line of atom 2");
    refused(MOL2("1 0") "@<TRIPOS>ATOM\n1 C 0 0 0 C.3\n" UNITY "1 1\n@<TRIPOS>SET\n",
            BIOINFER_FORMAT, "1 attributes of an atom are missing");
    refused(MOL2("5 3") MOL2_ATOMS MOL2_BONDS, BIOINFER_FORMAT, "expected 5 and 3");
    refused(MOL2("x") MOL2_ATOMS, BIOINFER_FORMAT, "number of atoms: got 'x'");
    refused(MOL2("1 0") "@<TRIPOS>ATOM\n1 C 0 0 0 ca\n", BIOINFER_FORMAT, "atom type 'ca'");
    refused(MOL2("1 0") "@<TRIPOS>ATOM\n1 C 0 0 0 Du\n", BIOINFER_UNSUPPORTED, "atom type 'Du'");
    refused(MOL2("1 0") "@<TRIPOS>ATOM\n1 C 0 x 0 C.3\n", BIOINFER_FORMAT, "coordinate 2");
    refused(MOL2("4 3") MOL2_ATOMS "@<TRIPOS>BOND\n1 1 2 1\n2 2 3 nc\n", BIOINFER_UNSUPPORTED,
            "bond of atoms 2 and 3 has type 'nc'");
    refused(MOL2("4 3") MOL2_ATOMS "@<TRIPOS>BOND\n1 1 4 1\n", BIOINFER_FORMAT, "a line of atom 4");
    refused(MOL2("4 3") MOL2_ATOMS MOL2_ATOMS, BIOINFER_FORMAT, "stands here twice");
    refused(MOL2("0 0"), BIOINFER_EMPTY, "no atoms");
}

#define PDB_ATOM(record, serial, name, res, xyz, element)                                          \
    record serial " " name " " res " A   1    " xyz "  1.00  0.00          " element "\n"
#define PDB_LIGAND                                                                                 \
    PDB_ATOM("ATOM  ", "    1", " CA ", "GLY", "   9.000   9.000   9.000", " C")                   \
    PDB_ATOM("HETATM", "    2", " C1 ", "LIG", "   0.000   0.000   0.500", " C")                   \
    PDB_ATOM("HETATM", "    3", " C2 ", "LIG", "   1.500   0.000   0.000", "  ")                   \
    PDB_ATOM("HETATM", "    4", " O1 ", "LIG", "   2.100   1.100   0.000", " O")                   \
    PDB_ATOM("HETATM", "    5", " O2 ", "LIG", "   2.100  -1.100   0.000", " O1-")                 \
    PDB_ATOM("HETATM", "    6", " O2 ", "LIG", "   2.100  -1.200   0.000", " O")                   \
    PDB_ATOM("HETATM", "    7", " O  ", "HOH", "   5.000   5.000   5.000", " O")

static void reads_pdb(void)
{
    struct bi_molecule mol = {0};
    char text[] = PDB_LIGAND "CONECT    2    3\nCONECT    3    2    4    5    4\nCONECT    4    3\n"
                             "CONECT    1    2\nEND\n";
    text[5 * (sizeof PDB_ATOM("HETATM", "    6", " O2 ", "LIG", "   2.100  -1.200   0.000", " O") -
              1) +
         18] = 'B'; /* another place of an atom; one line is longer by a charge */
    first(&mol, text);
    CHECK_STR(mol.message, "");
    CHECK_STR(mol.name, "LIG");
    CHECK_STR(mol.format, "PDB");
    if (CHECK_EQ(mol.n_atoms, 4) && CHECK_EQ(mol.n_bonds, 3)) {
        CHECK_EQ(mol.atoms[1].element, 6);
        CHECK_EQ(mol.bonds[1].order, 2);
        CHECK_EQ(mol.atoms[3].charge, -1);
        CHECK_EQ(mol.atoms[0].n_h, 3);
    }
    bi_molecule_free(&mol);
    refused(PDB_LIGAND "END\n", BIOINFER_FORMAT, "without a CONECT record");
    refused(PDB_ATOM("ATOM  ", "    1", " CA ", "GLY", "   9.000   9.000   9.000", " C"),
            BIOINFER_EMPTY, "neither protein nor water");
    refused(PDB_ATOM("HETATM", "    1", " C1 ", "LIG", "   x.000   9.000   9.000", " C"),
            BIOINFER_FORMAT, "coordinate 'x.000'");
    refused(PDB_ATOM("HETATM", "    1", " ?? ", "LIG", "   1.000   9.000   9.000", "  "),
            BIOINFER_FORMAT, "without an element");
}

#define PDB_ROW(name, alt, res, x, charge)                                                         \
    "HETATM    2 " name alt res " A   1    " x "   0.000   0.000  1.00  0.00           C" charge   \
    "\n"

/* Alternates but none, A and 1 are left out and told, unless an atom has no other place. */
static void reads_alternates_of_pdb(void)
{
    static const struct {
        const char *text;
        int n_atoms; /* 0: refused */
        int notes;
    } cases[] = {
        {PDB_ROW(" C1 ", "A", "LIG", "   1.000", "") PDB_ROW(" C1 ", "B", "LIG", "   2.000", ""), 1,
         BI_MOL_NOTE_ALTERNATES},
        {PDB_ROW(" C1 ", "B", "LIG", "   1.000", "") PDB_ROW(" C1 ", "C", "LIG", "   2.000", ""), 0,
         0},
        {PDB_ROW(" C1 ", " ", "LIG", "   1.000", "") PDB_ROW(" C2 ", "B", "LIG", "   2.000", ""), 0,
         0},
        {PDB_ROW(" C1 ", "A", "LIG", "   1.000", "") PDB_ROW(" C2 ", "B", "LIH", "   2.000", ""), 1,
         BI_MOL_NOTE_ALTERNATES},
        {"MODEL        1\n" PDB_ROW(
             " C1 ", " ", "LIG", "   1.000",
             "") "ENDMDL\nMODEL        2\n" PDB_ROW(" C1 ", " ", "LIG", "   2.000", "") "ENDMDL\n",
         1, BI_MOL_NOTE_MODELS}};
    struct bi_molecule mol = {0};
    struct bioinfer_error err = {0};
    struct bi_molecules *m = open_text(PDB_ROW(" C1 ", " ", "LIG", "   1.000", "") "END\n" PDB_ROW(
        " O1 ", " ", "LIG", "   2.000", "") "END\n");
    for (int x = 1; x <= 2; x++)
        CHECK(bi_molecules_next(m, &mol, &err) == 1 && mol.n_atoms == 1 && mol.atoms[0].x[0] == x);
    bi_molecules_close(&m);
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        if (!cases[i].n_atoms)
            refused(cases[i].text, BIOINFER_FORMAT, "has no alternate location that is read");
        first(&mol, cases[i].text);
        if (!CHECK_EQ(mol.n_atoms, cases[i].n_atoms) || !CHECK_EQ(mol.notes, cases[i].notes))
            fprintf(stderr, "    case %zu: %s\n", i, mol.message);
    }
    bi_molecule_free(&mol);
}

/* Charges in columns 79-80, with the sign after the digit or before it. */
static void reads_charges_of_pdb(void)
{
    static const struct {
        const char *text;
        int charge;
    } cases[] = {{PDB_ROW(" C1 ", " ", "LIG", "   1.000", "1-"), -1},
                 {PDB_ROW(" C1 ", " ", "LIG", "   1.000", "-1"), -1},
                 {PDB_ROW(" C1 ", " ", "LIG", "   1.000", "+1"), 1},
                 {PDB_ROW(" C1 ", " ", "LIG", "   1.000", " 0"), 0}};
    struct bi_molecule mol = {0};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        first(&mol, cases[i].text);
        if (!CHECK_EQ(mol.n_atoms, 1) || !CHECK_EQ(mol.atoms[0].charge, cases[i].charge))
            fprintf(stderr, "    case %zu: %s\n", i, mol.message);
    }
    bi_molecule_free(&mol);
    refused(PDB_ROW(" C1 ", " ", "LIG", "   1.000", " 1"), BIOINFER_FORMAT, "charge '1'");
    refused(PDB_ROW(" C1 ", " ", "LIG", "   1.000", "1x"), BIOINFER_FORMAT, "charge '1x'");
}

static void refuses_smiles(void)
{
    static const struct {
        const char *name, *text;
        bool refused;
    } cases[] = {{"library.smi", "no SMILES at all\n", true},
                 {"library.smi.gz", "x\n", true},
                 {"library.ism", "smiles\n", true},
                 {"a.smi", GOOD, false},
                 {"a.smi", "", false},
                 {"a.sdf", "CCO", true},
                 {"a.sdf",
                  "\xef\xbb\xbf"
                  "CCO ethanol\r\n[2H]C(Cl)(Cl)Br,x\n\nc1cc%10ccc1.N%10\n",
                  true},
                 {"a.sdf", "SMILES Name\nF/C=C\\F 1\n", true},
                 {"a.sdf", "CCO\n\n\nO=C=O\nno SMILES\n", true},
                 {"a.sdf", "SMILES\n", false},
                 {"a.sdf", "CCO\nCCX\n", false},
                 {"a.sdf", "\nCCO\n", false},
                 {"a.sdf", "C1CC\n", false},
                 {"a.sdf", "C(C\n", false},
                 {"a.sdf", "C)C(\n", false},
                 {"a.sdf", "[12]\n", false},
                 {"a.sdf", "[C\n", false},
                 {"a.sdf", "CCO\n$$$$\n", false},
                 {"CCO", "CCO\n\n\n" COUNTS ATOMS BONDS END, false}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        const char *name = cases[i].name, *text = cases[i].text;
        struct bi_molecule mol = {0};
        struct bioinfer_error err = {0};
        struct bi_molecules *m = NULL;
        int st[2] = {0};
        env = bi_env_default();
        CHECK(!bi_molecules_open_memory(&m, &env, name, text, strlen(text), &err));
        for (int k = 0; k < 2; k++)
            st[k] = bi_molecules_next(m, &mol, &err);
        if (!CHECK_EQ(st[0] < 0 && st[1] < 0, cases[i].refused))
            fprintf(stderr, "    case %zu: %s\n", i, text);
        if (cases[i].refused) {
            CHECK_EQ(st[0], BIOINFER_UNSUPPORTED);
            CHECK_HAS(err.text, name);
            CHECK_HAS(err.text, "python3 -m bioinfer.conformers library.");
        }
        bi_molecule_free(&mol);
        bi_molecules_close(&m);
    }
}

/* A record of a file that was told apart already is none of SMILES. */
static void reads_one_record_alone(void)
{
    struct bi_molecule mol = {0};
    struct bi_molecules *m = open_text("CCO\n");
    bi_molecules_begin_at(m, 1, 9);
    CHECK_EQ(bi_molecules_next(m, &mol, NULL), 1);
    CHECK_EQ(mol.status, BIOINFER_FORMAT);
    bi_molecules_close(&m);
    bi_molecule_free(&mol);
}

int main(void)
{
    TEST(reads_v2000);
    TEST(reads_behind_a_mark);
    TEST(reads_properties);
    TEST(reads_counts_of_hydrogens);
    TEST(reads_v3000);
    TEST(counts_hydrogens);
    TEST(refuses_v2000);
    TEST(refuses_v3000);
    TEST(goes_on_behind_a_bad_record);
    TEST(skips_a_record_that_is_too_long);
    TEST(keeps_no_memory);
    TEST(refuses_smiles);
    TEST(reads_one_record_alone);
    TEST(finds_rings);
    TEST(kekulizes);
    TEST(settles_stated_valences);
    TEST(normalises);
    TEST(bounds_the_search_for_rings);
    TEST(finds_centres);
    TEST(tells_e_from_z);
    TEST(reads_weak_bonds);
    TEST(reads_dollars);
    TEST(reads_wavy_bonds);
    TEST(reads_mol2);
    TEST(settles_mol2);
    TEST(reads_charges_of_mol2);
    TEST(refuses_mol2);
    TEST(reads_alternates_of_pdb);
    TEST(reads_charges_of_pdb);
    TEST(reads_pdb);
    return test_report();
}

/* structure_test.c - what PDB and mmCIF files can say beside plain rows: numbers above 9999, rows
 * that nobody needs, line ends, chains without a name, orders of residues. */
#include <math.h>
#include <string.h>

#include "../../loaders/structure.h"
#include "../test.h"

#define ATOM(record, serial, name, residue, chain, number, x, y)                                   \
    record serial " " name " " residue " " chain number "   " x y "   0.000  1.00  0.00\n"
/* A residue of a chain along x, of which atoms stand 1.3 to 1.5 angstrom from each other. */
#define N(chain, number, x) ATOM("ATOM  ", "    1", " N  ", "ALA", chain, number, x, "   0.000")
#define CA(chain, number, x) ATOM("ATOM  ", "    2", " CA ", "ALA", chain, number, x, "   0.000")
#define C(chain, number, x) ATOM("ATOM  ", "    3", " C  ", "ALA", chain, number, x, "   0.000")
#define O(chain, number, x) ATOM("ATOM  ", "    4", " O  ", "ALA", chain, number, x, "   1.200")
#define RESIDUE(chain, number, tens)                                                               \
    N(chain, number, "  " tens "0.000")                                                            \
    CA(chain, number, "  " tens "1.400")                                                           \
    C(chain, number, "  " tens "2.800") O(chain, number, "  " tens "2.800")
#define ION(number)                                                                                \
    "HETATM    9 ZN    ZN A" number "      1.000   2.000   three  1.00  0.00          ZN\n"

struct fixture {
    struct bi_env env;
    struct bi_structure s;
    struct bi_backbone b;
    struct bioinfer_error err;
};

static int read_text(struct fixture *f, const char *text, size_t n)
{
    *f = (struct fixture){.env = bi_env_default()};
    return bi_structure_open_memory(&f->s, &f->env, "a.pdb", text, n, &f->err);
}

static int build(struct fixture *f, enum bi_backbone_rules rules, enum bi_residue_order order)
{
    bi_backbone_free(&f->b);
    return bi_backbone_build(&f->b, &f->s, rules, order, &f->err);
}

static void close_all(struct fixture *f)
{
    bi_backbone_free(&f->b);
    bi_structure_close(&f->s);
}

static bool says(const struct fixture *f, const char *what)
{
    if (strstr(f->err.text, what))
        return true;
    fprintf(stderr, "    said: %s\n", f->err.text);
    return false;
}

/* Values of iotbx's hybrid_36.py: hy36decode(4, "A000") = 10000 and on. */
static void decodes_hybrid_36(void)
{
    static const struct {
        const char *field;
        int32_t number;
        char icode;
    } cases[] = {{"A000 ", 10000, ' '},   {"A00A ", 10010, ' '},   {"AA00 ", 22960, ' '},
                 {"ZZZZ ", 1223055, ' '}, {"a000 ", 1223056, ' '}, {"zzzz ", 2436111, ' '},
                 {"A000B", 10000, 'B'},   {" 112A", 112, 'A'},     {"112A ", 112, 'A'},
                 {"9999 ", 9999, ' '},    {"10000", 10000, ' '},   {" -99 ", -99, ' '}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        char text[] = CA("A", "NUMB ", "   1.000");
        memcpy(text + 22, cases[i].field, 5);
        CHECK(!read_text(&f, text, sizeof text - 1));
        if (CHECK_EQ(f.s.n_atoms, 1)) {
            CHECK(!bi_atom_check(&f.s, f.s.atoms, BI_FAULT_NUMBER, &f.err));
            CHECK_EQ(f.s.atoms[0].number, cases[i].number);
            CHECK_EQ(f.s.atoms[0].icode, cases[i].icode);
        }
        close_all(&f);
    }
}

/* Numbers and positions that cannot be read are errors of those who want them. */
static void faults_stay_in_their_atom(void)
{
    static const char *const fields[] = {"**** ", "     ", "A0?0 ", "A00a ", "a00A "};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct fixture f;
        char water[] = RESIDUE("A", "   1 ", "1")
            ATOM("HETATM", "    9", " O  ", "HOH", "A", "NUMB ", "   9.000", "   9.000");
        char own[] = RESIDUE("A", "   1 ", "1") CA("A", "NUMB ", "   9.000");
        memcpy(strstr(water, "NUMB "), fields[i], 5);
        memcpy(strstr(own, "NUMB "), fields[i], 5);
        for (int rules = BI_RULES_GAPS; rules <= BI_RULES_LIGAND; rules++) {
            CHECK(!read_text(&f, water, sizeof water - 1));
            CHECK(!build(&f, (enum bi_backbone_rules)rules, BI_ORDER_OF_RULES));
            CHECK(f.b.n_chains == 1 && f.b.chains[0].n == 1);
            close_all(&f);
            CHECK(!read_text(&f, own, sizeof own - 1));
            CHECK_EQ(build(&f, (enum bi_backbone_rules)rules, BI_ORDER_OF_RULES), BIOINFER_FORMAT);
            CHECK(says(&f, "a: line 5: residue number") && says(&f, "columns 23-27"));
            close_all(&f);
        }
    }
}

static void positions_fail_where_they_count(void)
{
    static const char side[] = RESIDUE("A", "   1 ", "1")
        ATOM("ATOM  ", "    9", " CG ", "ALA", "A", "   1 ", "********", "   9.000");
    static const char own[] = N("A", "   1 ", "   1.000") CA("A", "   1 ", "     nan");
    static const char *const ions[] = {RESIDUE("A", "   1 ", "1") ION("   2 "),
                                       RESIDUE("A", "   1 ", "1") ION("**** ")};
    struct bi_ligand ligand = {0};
    struct fixture f;
    CHECK(!read_text(&f, side, sizeof side - 1));
    CHECK(isnan(f.s.atoms[4].x[0]));
    CHECK(!build(&f, BI_RULES_GAPS, BI_ORDER_OF_RULES));
    CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES));
    close_all(&f);
    CHECK(!read_text(&f, own, sizeof own - 1));
    CHECK_EQ(build(&f, BI_RULES_GAPS, BI_ORDER_OF_RULES), BIOINFER_FORMAT);
    CHECK(says(&f, "a: line 2: coordinate 'nan' in columns 31-38"));
    close_all(&f);
    for (size_t i = 0; i < BI_COUNT(ions); i++) { /* the second has no number either */
        CHECK(!read_text(&f, ions[i], strlen(ions[i])));
        CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES));
        CHECK_EQ(bi_ligand_build(&ligand, &f.s, &f.err), BIOINFER_FORMAT);
        CHECK(says(&f, "a: line 5: coordinate 'three' in columns 47-54"));
        bi_ligand_free(&ligand);
        close_all(&f);
    }
}

/* mmCIF with codes of insertion and numbers of models. */
static void mmcif_insertions_and_models(void)
{
#define ROWS                                                                                       \
    "data_x\nloop_\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.auth_asym_id\n" \
    "_atom_site.auth_seq_id\n_atom_site.pdbx_PDB_ins_code\n_atom_site.pdbx_PDB_model_num\n"        \
    "_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n"
    static const char text[] = ROWS "CA SER H 52 ? 1 0 0 0\nCA GLY H 52 A 1 3.8 0 0\n"
                                    "CA SER H 52 . 2 0 0 0\n";
    static const char negative[] = ROWS "CA SER H 52 ? -1 0 0 0\n";
    struct fixture f;
    CHECK(!read_text(&f, text, sizeof text - 1));
    if (CHECK_EQ(f.s.n_atoms, 3)) {
        CHECK_EQ(f.s.n_models, 2);
        CHECK(f.s.atoms[0].icode == ' ' && f.s.atoms[1].icode == 'A');
        CHECK(f.s.atoms[2].icode == ' ' && f.s.atoms[2].model == 2);
    }
    close_all(&f);
    CHECK_EQ(read_text(&f, negative, sizeof negative - 1), BIOINFER_FORMAT);
    CHECK(says(&f, "a.pdb: line 12: model '-1'"));
    close_all(&f);
}

/* mmCIF with labels alone: what is no polymer has no number there. */
static void mmcif_with_labels_alone(void)
{
#define HEAD                                                                                       \
    "data_x\nloop_\n_atom_site.group_PDB\n_atom_site.type_symbol\n_atom_site.label_atom_id\n"      \
    "_atom_site.label_comp_id\n_atom_site.label_asym_id\n_atom_site.label_seq_id\n"                \
    "_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n"
    static const char whole[] = HEAD
        "ATOM N N ALA A 1 0 0 0\nATOM C CA ALA A 1 1.4 0 0\n"
        "ATOM C C ALA A 1 2.8 0 0\nATOM O O ALA A 1 2.8 1.2 0\n"
        "HETATM ZN ZN ZN B . 9 9 9\nHETATM O O HOH LONGNAMES . 8 8 8\n";
    static const char none[] = HEAD "ATOM C CA ALA A . 1.4 0 0\n";
    static const char longer[] = HEAD "ATOM C CA ALA LONGNAMES 1 1.4 0 0\n";
    struct bi_ligand ligand = {0};
    struct fixture f;
    CHECK(!read_text(&f, whole, sizeof whole - 1));
    CHECK(!build(&f, BI_RULES_GAPS, BI_ORDER_OF_RULES));
    CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES));
    CHECK(f.b.n_chains == 1 && f.b.chains[0].n == 1 && f.b.n_missing == 0);
    CHECK(!bi_ligand_build(&ligand, &f.s, &f.err));
    CHECK(ligand.n == 1 && ligand.atoms[0].element == 30);
    bi_ligand_free(&ligand);
    close_all(&f);
    CHECK(!read_text(&f, none, sizeof none - 1));
    CHECK_EQ(build(&f, BI_RULES_GAPS, BI_ORDER_OF_RULES), BIOINFER_FORMAT);
    CHECK(says(&f, "a: line 12: residue number ''"));
    close_all(&f);
    CHECK(!read_text(&f, longer, sizeof longer - 1));
    CHECK_EQ(build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES), BIOINFER_LIMIT);
    CHECK(says(&f, "a: line 12: chain 'LONGNAMES': names have at most 7 characters"));
    close_all(&f);
}

static void lines_end_as_they_like(void)
{
    static const char text[] = RESIDUE("A", "   1 ", "1") RESIDUE("A", "   2 ", "2");
    static const char cif[] = "# made\r" HEAD "ATOM C CA ALA A 1 1.4 0 0\n";
    char other[sizeof text], returns[sizeof cif];
    for (int every = 1; every <= 2; every++) { /* all ends, and some of them */
        struct fixture f;
        int n = 0;
        memcpy(other, text, sizeof text);
        for (char *c = other; *c; c++)
            if (*c == '\n' && n++ % every == 0)
                *c = '\r';
        CHECK(!read_text(&f, other, sizeof other - 1));
        CHECK_EQ(f.s.n_atoms, 8);
        CHECK(!build(&f, BI_RULES_GAPS, BI_ORDER_OF_RULES));
        close_all(&f);
    }
    memcpy(returns, cif, sizeof cif);
    for (char *c = returns; *c; c++)
        *c = *c == '\n' ? '\r' : *c;
    struct fixture f;
    CHECK(!read_text(&f, returns, sizeof returns - 1));
    CHECK(f.s.n_atoms == 1 && !strcmp(f.s.format, "mmCIF"));
    close_all(&f);
}

/* LigandMPNN reads the chain that has no name; ProteinMPNN does not. */
static void chains_without_a_name(void)
{
    static const char text[] = RESIDUE("A", "   7 ", "1") RESIDUE(" ", "   1 ", "2")
        RESIDUE("-", "   3 ", "3");
    struct fixture f;
    CHECK(!read_text(&f, text, sizeof text - 1));
    CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES));
    if (CHECK_EQ(f.b.n_chains, 3)) {
        CHECK(!strcmp(f.b.chains[0].id, "A") && !strcmp(f.b.chains[1].id, "-"));
        CHECK(!f.b.chains[2].id[0] && f.b.chains[2].residues[0].number == 1);
    }
    CHECK(!build(&f, BI_RULES_GAPS, BI_ORDER_OF_RULES));
    CHECK(f.b.n_chains == 1 && f.b.n_unnamed == 2);
    close_all(&f);
}

static void check_order(const struct fixture *f, const char *want)
{
    char got[64] = "";
    for (size_t i = 0; f->b.n_chains == 1 && i < f->b.chains[0].n; i++) {
        const struct bi_residue *r = &f->b.chains[0].residues[i];
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d%.1s%s", i ? " " : "", r->number,
                 r->icode == ' ' ? "" : &r->icode, r->gap ? "-" : "");
    }
    if (!CHECK(!strcmp(got, want)))
        fprintf(stderr, "    %s, expected %s\n", got, want);
}

/* The order in which an antibody's numbers go, along the chain. The atoms of one residue that stand
 * apart are one residue still. */
static void orders_of_residues(void)
{
    static const char text[] = RESIDUE("H", " 111 ", "1") RESIDUE("H", " 112A", "2")
        RESIDUE("H", " 112 ", "3") N("H", " 115 ", "  40.000") CA("H", " 115 ", "  41.400")
            RESIDUE("H", " 113 ", "5") C("H", " 115 ", "  42.800") O("H", " 115 ", "  42.800");
    struct bi_buf said = {0};
    struct fixture f;
    CHECK(!read_text(&f, text, sizeof text - 1));
    said.env = &f.env;
    CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES));
    check_order(&f, "111 112A 112 115 113");
    CHECK_EQ(f.b.n_missing, 0);
    CHECK(bi_chain_find(&f.b.chains[0], 112, 'A') == &f.b.chains[0].residues[1]);
    CHECK(bi_chain_find(&f.b.chains[0], 113, ' ') == &f.b.chains[0].residues[4]);
    CHECK(!bi_chain_find(&f.b.chains[0], 114, ' ') && !bi_chain_find(&f.b.chains[0], 112, 'B'));
    CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_NUMBER));
    check_order(&f, "111 112 112A 113 115");
    CHECK(!build(&f, BI_RULES_GAPS, BI_ORDER_OF_RULES));
    check_order(&f, "111 112 112A 113 114- 115");
    CHECK(bi_chain_find(&f.b.chains[0], 115, ' ') == &f.b.chains[0].residues[5]);
    CHECK(!bi_chain_find(&f.b.chains[0], 114, ' '));
    CHECK_EQ(f.b.n_moved, 4);
    bi_backbone_describe_order(&f.b, &said);
    CHECK(said.size && strstr(bi_buf_text(&said), "first H112A"));
    said.size = 0;
    CHECK(!build(&f, BI_RULES_GAPS, BI_ORDER_FILE));
    check_order(&f, "111 112A 112 113- 114- 115 113");
    bi_backbone_describe_order(&f.b, &said);
    CHECK_EQ(said.size, 0);
    bi_buf_free(&said);
    close_all(&f);
}

static void finds_insertions(void)
{
    static const char text[] = RESIDUE("H", "  52 ", "1") RESIDUE("H", "  52A", "2")
        RESIDUE("H", "  52B", "3");
    static const char codes[] = " AB";
    struct fixture f;
    CHECK(!read_text(&f, text, sizeof text - 1));
    CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES));
    for (int i = 0; codes[i]; i++)
        CHECK(bi_chain_find(&f.b.chains[0], 52, codes[i]) == &f.b.chains[0].residues[i]);
    CHECK(!bi_chain_find(&f.b.chains[0], 52, 'C'));
    close_all(&f);
}

/* Residues in disorder in the file: by number each is bonded to the one before. */
static void names_the_order_that_is_not_bonded(void)
{
#define NEXT(number, a, b, c)                                                                      \
    N("A", number, a) CA("A", number, b) C("A", number, c) O("A", number, c)
    static const char text[] = NEXT("   1 ", "   0.000", "   1.500", "   3.000")
        NEXT("   3 ", "   8.600", "  10.100", "  11.600")
            NEXT("   2 ", "   4.300", "   5.800", "   7.300");
    struct bi_buf said = {0};
    struct fixture f;
    CHECK(!read_text(&f, text, sizeof text - 1));
    said.env = &f.env;
    CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES));
    CHECK(f.b.n_moved == 2 && f.b.n_bonds_number == 2 && f.b.n_bonds_file == 0);
    bi_backbone_describe_order(&f.b, &said);
    CHECK(said.size && strstr(bi_buf_text(&said), "in the order of the file"));
    bi_buf_free(&said);
    close_all(&f);
}

/* Residues that the rules LIGAND do not read are counted; a number used twice is an error. */
static void alternates_and_numbers_twice(void)
{
#define ALT(alt, occupancy, x)                                                                     \
    "ATOM      2  CA " alt "ALA A   2    " x "   0.000   0.000  " occupancy "  0.00\n"
    static const char text[] = RESIDUE("A", "   1 ", "1") ALT("B", "0.50", "   5.000")
        ALT("C", "0.50", "   5.100");
    static const char absent[] = RESIDUE("A", "   1 ", "1") ALT(" ", "0.00", "   5.000");
    static const char both[] = RESIDUE("A", "   1 ", "1") ALT("A", "0.50", "   5.000")
        ALT("B", "0.50", "   5.100");
    static const char twice[] = RESIDUE("A", "   1 ", "1") ALT(" ", "1.00", "   5.000")
        ALT(" ", "1.00", "  25.000");
    struct fixture f;
    struct bi_buf said = {0};
    CHECK(!read_text(&f, text, sizeof text - 1));
    said.env = &f.env;
    CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES));
    CHECK(f.b.chains[0].n == 1 && f.b.n_unread == 1);
    bi_backbone_describe(&f.b, &said);
    CHECK(said.size && strstr(bi_buf_text(&said), "1 residues left out whose alternate"));
    bi_buf_free(&said);
    CHECK(!build(&f, BI_RULES_GAPS, BI_ORDER_OF_RULES));
    CHECK(f.b.chains[0].n == 2 && f.b.n_altlocs == 1 && f.b.chains[0].residues[1].x[BI_CA][0] == 5);
    close_all(&f);
    CHECK(!read_text(&f, absent, sizeof absent - 1));
    CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES));
    CHECK(f.b.chains[0].n == 1 && f.b.n_unread == 1);
    close_all(&f);
    CHECK(!read_text(&f, both, sizeof both - 1));
    CHECK(!build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES));
    CHECK(f.b.chains[0].n == 2 && f.b.n_unread == 0);
    close_all(&f);
    CHECK(!read_text(&f, twice, sizeof twice - 1));
    CHECK_EQ(build(&f, BI_RULES_LIGAND, BI_ORDER_OF_RULES), BIOINFER_FORMAT);
    CHECK(says(&f, "chain 'A': residue 2 has two CA atoms"));
    close_all(&f);
}

int main(void)
{
    TEST(alternates_and_numbers_twice);
    TEST(decodes_hybrid_36);
    TEST(faults_stay_in_their_atom);
    TEST(positions_fail_where_they_count);
    TEST(mmcif_insertions_and_models);
    TEST(mmcif_with_labels_alone);
    TEST(lines_end_as_they_like);
    TEST(chains_without_a_name);
    TEST(orders_of_residues);
    TEST(finds_insertions);
    TEST(names_the_order_that_is_not_bonded);
    return test_report();
}

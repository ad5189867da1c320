/* ligand_test.c - what is protein, what stands around it: LigandMPNN's rules on a small file. */
#include <string.h>

#include "../../loaders/structure.h"
#include "../test.h"

/* Serial numbers and the like are left to chance: columns count. */
static const char text[] =
    "ATOM      1  N   ALA A   1      11.000  12.000  13.000  1.00  0.00           N\n"
    "ATOM      2  CA  ALA A   1      12.000  12.000  13.000  1.00  0.00           C\n"
    "ATOM      3  C   ALA A   1      13.000  12.000  13.000  1.00  0.00           C\n"
    "ATOM      4  O   ALA A   1      14.000  12.000  13.000  1.00  0.00           O\n"
    "ATOM      5  N   GLY A   9      15.000  12.000  13.000  1.00  0.00           N\n"
    "ATOM      6  CA BGLY A   9      16.000  12.000  13.000  0.40  0.00           C\n"
    "ATOM      7  CA AGLY A   9      16.500  12.000  13.000  0.60  0.00           C\n"
    "ATOM      8  C   GLY A   9      17.000  12.000  13.000  1.00  0.00           C\n"
    "ATOM      9  O   GLY A   9      18.000  12.000  13.000  1.00  0.00           O\n"
    "HETATM   10  CA  MSE A  10      19.000  12.000  13.000  1.00  0.00           C\n"
    "HETATM   11 SE   MSE A  10      19.500  12.000  13.000  1.00  0.00          SE\n"
    "ATOM     12  N   SER A  11      20.000  12.000  13.000  1.00  0.00           N\n" /* no CA */
    "ATOM     13  P    DA B   1      21.000  12.000  13.000  1.00  0.00           P\n"
    "ATOM     14  C1'  DA B   1      22.000  12.000  13.000  0.00  0.00           C\n" /* absent */
    "HETATM   15 ZN    ZN A 201      23.000  12.000  13.000  1.00  0.00          Zn\n"
    "HETATM   16 MO   MOO A 202      24.000  12.000  13.000  1.00  0.00          MO\n" /* wrong */
    "HETATM   17  O   HOH A 301      25.000  12.000  13.000  1.00  0.00           O\n"
    "HETATM   18  H1  LIG   302      26.000  12.000  13.000  1.00  0.00           H\n"
    "HETATM   19  C1 BLIG   302      27.000  12.000  13.000  1.00  0.00           C\n"
    "HETATM   20  C1 ALIG   302      28.000  12.000  13.000  1.00  0.00           C\n"
    "END\n";

static void reads_by_its_rules(void)
{
    static const struct bi_ligand_atom want[] = {
        {{20, 12, 13}, 7}, {{21, 12, 13}, 15}, {{23, 12, 13}, 30}, {{28, 12, 13}, 6}};
    struct bi_env env = bi_env_default();
    struct bi_structure s = {0};
    struct bi_backbone b = {0};
    struct bi_ligand l = {0};
    struct bi_buf said = {0};
    struct bioinfer_error err = {0};
    if (!CHECK(!bi_structure_open_memory(&s, &env, "small.pdb", text, sizeof text - 1, &err)) ||
        !CHECK(!bi_backbone_build(&b, &s, BI_RULES_LIGAND, BI_ORDER_OF_RULES, &err)) ||
        !CHECK(!bi_ligand_build(&l, &s, &err)))
        fprintf(stderr, "    %s\n", err.text);
    CHECK_EQ(b.n_chains, 1);
    if (b.n_chains && CHECK_EQ(b.chains[0].n, 3)) { /* no gaps, MSE by its own name */
        CHECK_EQ(b.chains[0].residues[1].number, 9);
        CHECK_EQ(b.chains[0].residues[2].letter, '-');
        CHECK(b.chains[0].residues[1].x[BI_CA][0] == 16.5f);
    }
    CHECK_EQ(b.n_other, 4);
    CHECK_EQ(b.n_without_ca, 1);
    CHECK_EQ(l.n_unread, 2);
    CHECK_EQ(l.n_hydrogen, 1);
    CHECK_EQ(l.n_unknown, 1);
    if (CHECK_EQ(l.n, sizeof want / sizeof want[0]))
        for (size_t i = 0; i < l.n; i++) {
            CHECK_EQ(l.atoms[i].element, want[i].element);
            CHECK(l.atoms[i].x[0] == want[i].x[0]);
        }
    said.env = &env;
    bi_backbone_describe(&b, &said);
    CHECK(said.size && strstr(bi_buf_text(&said), "1 residues of a protein have no CA"));
    bi_buf_free(&said);
    bi_ligand_free(&l);
    bi_backbone_free(&b);
    bi_structure_close(&s);
}

/* By ProteinMPNN's rules the same file has gaps, and no MSE under its own name. */
static void reads_by_the_other_rules(void)
{
    struct bi_env env = bi_env_default();
    struct bi_structure s = {0};
    struct bi_backbone b = {0};
    struct bioinfer_error err = {0};
    if (!CHECK(!bi_structure_open_memory(&s, &env, "small.pdb", text, sizeof text - 1, &err)) ||
        !CHECK(!bi_backbone_build(&b, &s, BI_RULES_GAPS, BI_ORDER_OF_RULES, &err)))
        fprintf(stderr, "    %s\n", err.text);
    CHECK_EQ(b.n_gaps, 7);
    CHECK_EQ(b.n_mse, 1);
    CHECK_EQ(b.n_other, 3); /* the water is not counted */
    bi_backbone_free(&b);
    bi_structure_close(&s);
}

/* The first line counts behind a byte order mark, too. */
static void reads_behind_a_mark(void)
{
    static const char marked[] =
        "\xEF\xBB\xBF"
        "ATOM      1  N   ALA A   1      11.104   6.134  -6.504  1.00  0.00           N\n";
    struct bi_env env = bi_env_default();
    struct bi_structure s = {0};
    struct bioinfer_error err = {0};
    CHECK(!bi_structure_open_memory(&s, &env, "m.pdb", marked, sizeof marked - 1, &err));
    CHECK_EQ(s.n_atoms, 1);
    bi_structure_close(&s);
}

int main(void)
{
    TEST(reads_by_its_rules);
    TEST(reads_by_the_other_rules);
    TEST(reads_behind_a_mark);
    return test_report();
}

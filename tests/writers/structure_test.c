/* structure_test.c - structures as PDB and mmCIF: columns, limits, names, and the folder of files
 * that holds them. */
#define _GNU_SOURCE
#include "../../writers/structure.h"
#include "../../loaders/structure.h"
#include "frame.h"

#include <sys/stat.h>

enum { MANY = 100200 };

static struct bioinfer_fold_atom atoms[MANY];
static struct bioinfer_fold_chain chains[80];
static char chain_names[80][8], sequence[MANY + 1];
static float plddt[MANY];

/* A complex of alanines with one atom each. */
static struct bioinfer_fold make(int n_chains, int64_t n_residues)
{
    int64_t at = 0;
    for (int c = 0; c < n_chains; c++) {
        const int64_t n = (n_residues - at) / (n_chains - c);
        bi_chain_name(chain_names[c], c);
        chains[c] = (struct bioinfer_fold_chain){
            .name = chain_names[c], .first = at, .n_residues = n, .kind = 'P', .entity = c};
        at += n;
    }
    for (int64_t i = 0; i < n_residues; i++) {
        atoms[i] = (struct bioinfer_fold_atom){
            .name = "CA", .element = "C", .residue = (int32_t)i, .plddt = 0.5f};
        sequence[i] = 'A';
        plddt[i] = 0.5f;
    }
    sequence[n_residues] = '\0';
    return (struct bioinfer_fold){.n_chains = n_chains,
                                  .n_residues = n_residues,
                                  .n_atoms = n_residues,
                                  .chains = chains,
                                  .sequence = sequence,
                                  .atoms = atoms,
                                  .plddt = plddt,
                                  .mean_plddt = 0.5};
}

static void names_of_chains(void)
{
    char name[8];
    static const struct {
        int64_t i;
        const char *name;
    } cases[] = {{0, "A"},   {25, "Z"},  {26, "a"},    {61, "9"},
                 {62, "AA"}, {63, "AB"}, {3905, "99"}, {3906, "AAA"}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        bi_chain_name(name, cases[i].i);
        CHECK_STR(name, cases[i].name);
    }
}

static void columns_of_pdb(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_buf out = {.env = &env};
    struct bioinfer_fold f = make(2, 3);
    struct bioinfer_error err = {0};
    memcpy(sequence, "AXG", 3);
    atoms[0].position[0] = -999.9994f;
    atoms[0].position[1] = 9999.9985f;
    atoms[0].position[2] = -0.0004f;
    atoms[1] = (struct bioinfer_fold_atom){"CG1", "C", 1, {1.0005f, 2.5f, -3.25f}, 1};
    plddt[1] = 1;
    plddt[2] = atoms[2].plddt = 0.00004f;
    CHECK_EQ(bi_put_pdb(&out, "a name\n\xc3", &f, &err), 0);
    CHECK_STR(bi_buf_text(&out),
              "TITLE     a name__"
              "                                                              \n"
              "REMARK   1 B-FACTORS ARE 100 TIMES THE PREDICTED LDDT (PLDDT)"
              "                   \n"
              "ATOM      1  CA  ALA A   1    -999.9999999.998   0.000  1.00 50.00           C  \n"
              "TER       2      ALA A   1                                                      \n"
              "ATOM      3  CG1 UNK B   1       1.000   2.500  -3.250  1.00100.00           C  \n"
              "ATOM      4  CA  GLY B   2       0.000   0.000   0.000  1.00  0.00           C  \n"
              "TER       5      GLY B   2                                                      \n"
              "END                                                                             \n");
    bi_buf_free(&out);
    out.env = &env;
    atoms[0].position[1] = 10000;
    CHECK_EQ(bi_put_pdb(&out, "x", &f, &err), BIOINFER_LIMIT);
    CHECK_HAS(err.text, "write mmCIF");
    bi_buf_free(&out);
}

static void limits_of_pdb(void)
{
    static const struct {
        int n_chains;
        int64_t n;
        int status;
        const char *words;
    } cases[] = {{62, 620, 0, ""},
                 {63, 630, BIOINFER_LIMIT, "63 chains: a PDB file holds 62; write mmCIF"},
                 {1, 9999, 0, ""},
                 {1, 10000, BIOINFER_LIMIT, "a chain of 10000 residues"},
                 {11, 99988, 0, ""},
                 {11, 99989, BIOINFER_LIMIT, "99989 atoms in 11 chains"}};
    const struct bi_env env = bi_env_default();
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        const struct bioinfer_fold f = make(cases[i].n_chains, cases[i].n);
        struct bi_buf out = {.env = &env};
        struct bioinfer_error err = {0};
        CHECK_EQ(bi_put_pdb(&out, "x", &f, &err), cases[i].status);
        CHECK_HAS(err.text, cases[i].words);
        bi_buf_free(&out);
    }
}

/* A file of more than PDB holds is read back from mmCIF, with the names of all chains. */
static void large_cif(void)
{
    const struct bi_env env = bi_env_default();
    const struct bioinfer_fold f = make(70, 100100);
    struct bi_buf out = {.env = &env};
    struct bi_structure s = {0};
    struct bioinfer_error err = {0};
    bool good = true;
    for (int64_t i = 0; i < f.n_atoms; i++)
        atoms[i].position[0] = (float)i / 8 - 7000;
    bi_put_cif(&out, "it's \"x\"\n#", &f);
    if (!CHECK(bi_buf_text(&out) != NULL) ||
        !CHECK_EQ(bi_structure_open_memory(&s, &env, "x", out.data, out.size, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return;
    }
    CHECK_HAS(out.data, "data_it's_\"x\"_#\n");
    CHECK_HAS(out.data, "_entry.id 'it_s \"x\"_#'\n");
    CHECK_EQ(s.n_atoms, (size_t)f.n_atoms);
    for (size_t i = 0, c = 0; i < s.n_atoms; i++) {
        c += (int64_t)i == chains[c].first + chains[c].n_residues;
        good &= !strcmp(s.atoms[i].chain, chains[c].name) &&
                s.atoms[i].number == (int64_t)i - chains[c].first + 1 &&
                s.atoms[i].x[0] == atoms[i].position[0] && !strcmp(s.atoms[i].residue, "ALA");
    }
    CHECK(good);
    bi_structure_close(&s);
    bi_buf_free(&out);
}

/* ---- chains of all kinds ---- */

/* Two copies of a peptide with an unusual residue, DNA, RNA, a ligand of two components, an ion. */
static struct bioinfer_fold of_all_kinds(void)
{
    static struct bioinfer_fold_chain all[] = {{"A", 0, 2, 0.5, 'P', 0}, {"B", 2, 2, 0.5, 'P', 0},
                                               {"C", 4, 1, 0.5, 'D', 1}, {"D", 5, 1, 0.5, 'R', 2},
                                               {"E", 6, 2, 0.5, 'L', 3}, {"F", 8, 1, 0.5, 'L', 4}};
    static const char codes[][6] = {"MET", "SEP", "MET", "SEP", "DA", "PSU", "NAG", "BMA", "MG"};
    static const char *const names[] = {"CA", "P", "CA", "P", "O5'", "C5", "C1", "C1", "MG"};
    struct bioinfer_fold f = make(1, 9);
    for (int i = 0; i < 9; i++)
        snprintf(atoms[i].name, sizeof atoms[i].name, "%s", names[i]);
    memcpy(atoms[8].element, "MG", 3);
    memcpy(sequence, "MSMSAUXXX", 9);
    f.chains = all;
    f.n_chains = 6;
    f.components = codes;
    return f;
}

static void kinds_of_chains(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_buf out = {.env = &env};
    const struct bioinfer_fold f = of_all_kinds();
    struct bioinfer_error err = {0};
    bi_put_cif(&out, "x", &f);
    if (!CHECK(bi_buf_text(&out) != NULL))
        return;
    CHECK_HAS(out.data, "_entity.type\n1 polymer\n2 polymer\n3 polymer\n4 non-polymer\n"
                        "5 non-polymer\n");
    CHECK_HAS(out.data, "\n1 polypeptide(L) A,B\n;M(SEP)\n;\n"
                        "2 polydeoxyribonucleotide C\n;(DA)\n;\n"
                        "3 polyribonucleotide D\n;(PSU)\n;\n");
    CHECK_HAS(out.data, "_struct_asym.entity_id\nA 1\nB 1\nC 2\nD 3\nE 4\nF 5\n");
    CHECK_HAS(out.data, "_entity_poly_seq.mon_id\n1 1 MET\n1 2 SEP\n2 1 DA\n3 1 PSU\n#");
    CHECK_HAS(out.data, "_pdbx_nonpoly_scheme.pdb_strand_id\nE 4 NAG 1 1 E\nE 4 BMA 2 2 E\n"
                        "F 5 MG 1 1 F\n");
    CHECK_HAS(out.data, "\nE BMA . 2 50.00 1 8\n");
    CHECK_HAS(out.data, "\nATOM 3 C CA . MET B 1 1 ? ");
    CHECK_HAS(out.data, "\nHETATM 4 C P . SEP B 1 2 ? ");
    CHECK_HAS(out.data, "\nATOM 5 C \"O5'\" . DA C 2 1 ? ");
    CHECK_HAS(out.data, "\nHETATM 8 C C1 . BMA E 4 . ? ");
    CHECK_HAS(out.data, " 50.00 2 BMA E C1 1\n");
    out.size = 0;
    CHECK_EQ(bi_put_pdb(&out, "x", &f, &err), 0);
    CHECK(bi_buf_text(&out) != NULL);
    CHECK_HAS(out.data, "\nATOM      7  O5'  DA C   1 ");
    CHECK_HAS(out.data, "\nTER       8       DA C   1");
    CHECK_HAS(out.data, "\nHETATM   12  C1  BMA E   2 ");
    CHECK_HAS(out.data, "\nHETATM   13 MG    MG F   1 ");
    CHECK_HAS(out.data, "          MG  \nEND ");
    bi_buf_free(&out);
}

static void names_too_long_for_pdb(void)
{
    static const char codes[][6] = {"A1LU6"};
    const struct bi_env env = bi_env_default();
    struct bi_buf out = {.env = &env};
    struct bioinfer_fold f = make(1, 1);
    struct bioinfer_error err = {0};
    f.components = codes;
    CHECK_EQ(bi_put_pdb(&out, "x", &f, &err), BIOINFER_LIMIT);
    CHECK_HAS(err.text, "component A1LU6: a PDB file holds codes of three letters");
    chains[0].name = "AB";
    f.components = (const char(*)[6]) "ALA\0\0";
    CHECK_EQ(bi_put_pdb(&out, "x", &f, &err), BIOINFER_LIMIT);
    CHECK_HAS(err.text, "chain AB: a PDB file holds names of one letter");
    bi_buf_free(&out);
}

/* ---- a folder of files ---- */

static struct bioinfer_result result_of(const char *id, struct bioinfer_text *texts, int n)
{
    return (struct bioinfer_result){.id = id, .message = "", .texts = texts, .n_texts = n};
}

static void files_of_records(void)
{
    const struct bi_env env = bi_env_default();
    const struct bioinfer_writer_params p = {.struct_size = sizeof p, .files = "id\n"};
    struct bioinfer_text texts[2] = {{"cif", "atoms", 5}, {"row", "a\t1\n", 4}};
    struct bioinfer_text bad = {"../x", "", 0};
    const float numbers[2] = {1, 2};
    const struct bioinfer_array array = {
        .kind = "plddt", .n_dims = 1, .shape = {2}, .data = numbers};
    struct bioinfer_result r = result_of("../a:b", texts, 2);
    struct bioinfer_error err = {0};
    struct bioinfer_writer *w = NULL;
    struct stat found;
    CHECK_EQ(bi_writer_open(&w, &env, in_folder("out"), &p, &err), 0);
    CHECK_EQ(bi_writer_put(w, &r, &err), 0);
    r = result_of("b", texts, 1);
    r.arrays = &array;
    r.n_arrays = 1;
    CHECK_EQ(bi_writer_put(w, &r, &err), 0);
    r = result_of("c", NULL, 0);
    r.status = BIOINFER_EMPTY; /* has no file */
    CHECK_EQ(bi_writer_put(w, &r, &err), 0);
    CHECK_EQ(bi_writer_finish(w, &err), 0);
    bi_writer_close(&w);
    check_text("out/_._a_b.cif", "atoms");
    check_text("out/b.cif", "atoms");
    check_text("out/scores.tsv", "id\na\t1\n");
    CHECK(!stat(in_folder("out/b.npz"), &found) && found.st_size > 128);
    /* the folder is there now; names that meet; a text that would lead out of the folder */
    CHECK_EQ(bi_writer_open(&w, &env, in_folder("out"), &p, &err), BIOINFER_IO);
    CHECK_HAS(err.text, "there already");
    bi_writer_close(&w);
    CHECK_EQ(bi_writer_open(&w, &env, in_folder("other"), &p, &err), 0);
    r = result_of("a/b", texts, 2);
    CHECK_EQ(bi_writer_put(w, &r, &err), 0);
    r.id = "a:b";
    CHECK_EQ(bi_writer_put(w, &r, &err), BIOINFER_DUPLICATE_ID);
    bi_writer_close(&w);
    CHECK_EQ(bi_writer_open(&w, &env, in_folder("other"), &p, &err), 0);
    r = result_of("a", &bad, 1);
    CHECK_EQ(bi_writer_put(w, &r, &err), BIOINFER_INVALID);
    bi_writer_close(&w);
    CHECK_EQ(stat(in_folder("other"), &found), -1); /* nothing of them is left */
}

/* Pieces of a record have one name, and a part of it each. */
static void files_of_pieces(void)
{
    const struct bi_env env = bi_env_default();
    const struct bioinfer_writer_params p = {.struct_size = sizeof p, .files = "id\n"};
    struct bioinfer_text texts[3] = {{"cif", "first", 5}, {"row", "a\t1\n", 4}, {"part", "x-0", 3}};
    char longest[181], name[600];
    struct stat found;
    struct bioinfer_result r = result_of("a", texts, 3);
    struct bioinfer_error err = {0};
    struct bioinfer_writer *w = NULL;
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    CHECK_EQ(bi_writer_open(&w, &env, in_folder("pieces"), &p, &err), 0);
    for (r.piece = 0; r.piece < 2; r.piece++) {
        r.more = !r.piece;
        CHECK_EQ(bi_writer_put(w, &r, &err), 0);
        texts[0].text = "other";
        texts[2] = (struct bioinfer_text){"part", "x-1", 3};
    }
    r = result_of(longest, texts, 3);
    texts[2] = (struct bioinfer_text){"part", "seed-9000000000000000000_sample-4095", 36};
    CHECK_EQ(bi_writer_put(w, &r, &err), 0);
    CHECK_EQ(bi_writer_finish(w, &err), 0);
    bi_writer_close(&w);
    check_text("pieces/a_x-0.cif", "first");
    check_text("pieces/a_x-1.cif", "other");
    snprintf(name, sizeof name, "%s/pieces/%s_seed-9000000000000000000_sample-4095.cif", folder,
             longest);
    CHECK(!stat(name, &found) && found.st_size == 5);
    check_text("pieces/scores.tsv", "id\na\t1\na\t1\na\t1\n");
    /* names that meet, parts that are none */
    CHECK_EQ(bi_writer_open(&w, &env, in_folder("met"), &p, &err), 0);
    texts[2] = (struct bioinfer_text){"part", "b", 1};
    r = result_of("a", texts, 3);
    CHECK_EQ(bi_writer_put(w, &r, &err), 0);
    r = result_of("a_b", texts, 2);
    CHECK_EQ(bi_writer_put(w, &r, &err), BIOINFER_DUPLICATE_ID);
    CHECK_HAS(err.text, "files named a_b already");
    bi_writer_close(&w);
    static const char *const bad[] = {"", "../x", "A", "a.b",
                                      "0123456789012345678901234567890123456789x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_EQ(bi_writer_open(&w, &env, in_folder("met"), &p, &err), 0);
        texts[2] = (struct bioinfer_text){"part", bad[i], strlen(bad[i])};
        r = result_of("a", texts, 3);
        CHECK_EQ(bi_writer_put(w, &r, &err), BIOINFER_INVALID);
        bi_writer_close(&w);
    }
}

int main(void)
{
    if (!mkdtemp(folder))
        return 2;
    TEST(names_of_chains);
    TEST(columns_of_pdb);
    TEST(limits_of_pdb);
    TEST(large_cif);
    TEST(kinds_of_chains);
    TEST(names_too_long_for_pdb);
    TEST(files_of_records);
    TEST(files_of_pieces);
    empty_folder();
    rmdir(folder);
    return test_report();
}

/* atoms_test.c - frames out of every format, and all that files can get wrong. */
#include "../../loaders/frames.h"

#include <zlib.h>

#include "../failing.h"
#include "../test.h"

struct reader {
    struct bi_env env;
    struct bi_frames *of;
    struct bi_frame frame;
    struct bioinfer_error err;
};

static void begin(struct reader *r, const char *name, const char *text, size_t size)
{
    *r = (struct reader){.env = bi_env_default()};
    if (!CHECK(!bi_frames_open_memory(&r->of, &r->env, name, text, size, &r->err)))
        fprintf(stderr, "    %s\n", r->err.text);
}

static bool next(struct reader *r)
{
    return r->of && bi_frames_next(r->of, &r->frame, &r->err) > 0;
}

static void end(struct reader *r)
{
    CHECK(!next(r));
    bi_frame_free(&r->frame);
    bi_frames_close(&r->of);
}

/* ---- formats ---- */

static void reads_extended_xyz(void)
{
    static const char text[] =
        "\xEF\xBB\xBF"
        "2\n"
        "Lattice=\"10 0 0 0 11 0 0 1 12\" Properties=pos:R:3:forces:R:3:species:S:1:id:I:1 "
        "pbc=\"T F T\" energy=-1.5 total_charge=-1 comment=\"with = and \\\"quotes\\\"\"\r\n"
        "0.5 1 2 0 0 0 Cl 1\r\n"
        "-1.5e0 1e-3 2 9 9 9 H 2\r\n"
        "1\n"
        "Properties=species:S:1:pos:R:3:momenta:R:3 step=400 run=\"a=1 b\" pbc=[F, F, F] flag\n"
        "O 1 2 3 0.25 -0.5 1\n\n"
        "3\n"
        "Lattice='5 0 0 0 5 0 0 0 5' Properties=Z:I:1:pos:R:3\n"
        "8 0 0 0\n1 0 0 1\n1 0 1 0";
    struct reader r;
    begin(&r, "folder/many.extxyz", text, sizeof text - 1);
    if (CHECK(next(&r)) && CHECK_EQ(r.frame.status, 0)) {
        CHECK_STR(r.frame.name, "many:1");
        CHECK_STR(r.frame.format, "extended XYZ");
        CHECK(r.frame.n == 2 && r.frame.number[0] == 17 && r.frame.number[1] == 1);
        CHECK(r.frame.position[0] == 0.5 && r.frame.position[3] == -1.5);
        CHECK(r.frame.cell[4] == 11 && r.frame.cell[7] == 1 && r.frame.cell[8] == 12);
        CHECK(r.frame.periodic[0] && !r.frame.periodic[1] && r.frame.periodic[2]);
        CHECK(r.frame.has_charge && r.frame.charge == -1 && !r.frame.has_momenta);
    }
    if (CHECK(next(&r)) && CHECK_EQ(r.frame.status, 0)) {
        CHECK(r.frame.n == 1 && r.frame.line == 5 && r.frame.number[0] == 8);
        CHECK(r.frame.has_momenta && r.frame.momentum[1] == -0.5);
        CHECK(r.frame.has_step && r.frame.step == 400 && !r.frame.has_charge);
        CHECK(!r.frame.periodic[0] && r.frame.cell[0] == 0 && r.frame.ends_line);
        CHECK_STR(r.frame.run, "a=1 b");
        CHECK_EQ(r.frame.end, strstr(text, "\n3\n") - text);
    }
    if (CHECK(next(&r)) && CHECK_EQ(r.frame.status, 0)) {
        CHECK(r.frame.n == 3 && r.frame.number[0] == 8 && r.frame.number[2] == 1);
        CHECK(r.frame.periodic[0] && r.frame.periodic[1] && r.frame.periodic[2]);
        CHECK(r.frame.end == sizeof text - 1 && !r.frame.ends_line && !r.frame.run[0]);
    }
    end(&r);
}

static void reads_plain_xyz(void)
{
    static const char text[] =
        "2\nAlice's water, charge=1 and an open \" quote\nO 0 0 0 7 x\n1 0 0 1\n";
    struct reader r;
    begin(&r, "a.xyz", text, sizeof text - 1);
    if (CHECK(next(&r)) && CHECK_EQ(r.frame.status, 0)) {
        CHECK_STR(r.frame.format, "XYZ");
        CHECK(r.frame.n == 2 && r.frame.number[1] == 1 && r.frame.charge == 1);
    }
    end(&r);
}

static void reads_poscar(void)
{
    static const char text[] = "12\n2.0\n1 0 0\n0 2 0\n0 0.5 3 a comment\nMo_pv S\n1 2\n"
                               "Selective dynamics\nDirect\n0 0 0 T T F\n"
                               "0.5 0.5 0.5 T T T\n1 0 0 F F F\n\n0 0 0\n";
    static const char cartesian[] = "x\n-48\n1 0 0\n0 2 0\n0 0 3\nH\n1\nCart\n0.5 1 2\n";
    struct reader r;
    begin(&r, "POSCAR", text, sizeof text - 1);
    if (CHECK(next(&r)) && CHECK_EQ(r.frame.status, 0)) {
        CHECK_STR(r.frame.name, "POSCAR");
        CHECK(r.frame.n == 3 && r.frame.number[0] == 42 && r.frame.number[2] == 16);
        CHECK(r.frame.cell[0] == 2 && r.frame.cell[7] == 1 && r.frame.cell[8] == 6);
        CHECK(r.frame.position[3] == 1 && r.frame.position[4] == 2.5 && r.frame.position[5] == 3);
        CHECK(r.frame.periodic[0] && r.frame.periodic[2]);
    } else {
        fprintf(stderr, "    %s\n", r.frame.message);
    }
    end(&r);
    begin(&r, "b.vasp", cartesian, sizeof cartesian - 1);
    if (CHECK(next(&r)) && CHECK_EQ(r.frame.status, 0)) {
        CHECK_STR(r.frame.name, "b");
        CHECK(fabs(r.frame.cell[0] - 2) < 1e-14 && fabs(r.frame.position[2] - 4) < 1e-14);
    }
    end(&r);
}

#define ATOM(x, element)                                                                           \
    "ATOM      1  CA  ALA A   1    " x "   2.000   3.000  1.00  0.00          " element "\n"

static void reads_pdb(void)
{
    static const char text[] = "CRYST1   10.000   20.000   30.000  90.00  90.00  60.00 P 1\n"
                               "MODEL        1\n" ATOM(" 138.315", " C")
                                   ATOM("   1.001", "ZN") "ENDMDL\nMODEL        2\n" ATOM(
                                       "   7.000", " H") "ENDMDL\n";
    struct reader r;
    begin(&r, "two.pdb", text, sizeof text - 1);
    if (CHECK(next(&r)) && CHECK_EQ(r.frame.status, 0)) {
        CHECK_STR(r.frame.name, "two:1");
        CHECK(r.frame.n == 2 && r.frame.number[0] == 6 && r.frame.number[1] == 30);
        CHECK(r.frame.position[0] == 138.315 && r.frame.position[3] == 1.001);
        CHECK(r.frame.periodic[0] && fabs(r.frame.cell[3] - 10) < 1e-12);
        CHECK(r.frame.cell[8] == 30 && r.frame.cell[1] == 0);
    } else {
        fprintf(stderr, "    %s\n", r.frame.message);
    }
    CHECK(next(&r) && r.frame.n == 1 && r.frame.number[0] == 1);
    end(&r);
}

static void reads_gzip(void)
{
    static const char text[] = "1\n\nHe 0 0 0\n";
    unsigned char packed[200];
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text,
                  .avail_in = sizeof text - 1,
                  .next_out = packed,
                  .avail_out = sizeof packed};
    struct reader r;
    CHECK(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    deflateEnd(&z);
    begin(&r, "he.xyz.gz", (const char *)packed, z.total_out);
    CHECK(next(&r) && r.frame.number[0] == 2);
    CHECK_STR(r.frame.name, "he:1");
    end(&r);
    CHECK(bi_frames_open_memory(&r.of, &r.env, "cut.xyz.gz", packed, z.total_out - 9, &r.err));
    CHECK_HAS(r.err.text, "cut.xyz.gz: truncated");
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (CHECK(f != NULL)) {
        fputs(text, f);
        fclose(f);
    }
}

/* A folder gives its files in the order of their names; one that cannot be read costs itself. */
static void reads_folders(void)
{
    static const char *const names[] = {"a.xyz", "b.xyz", "c", "POSCAR_d", ".e.xyz"};
    static const char *const texts[] = {
        "1\n\nH 0 0 0\n1\n\nO 0 0 0\n", "\x1f\x8b nothing", "1\n\nH 0 0 0\n",
        "c\n1\n1 0 0\n0 1 0\n0 0 1\nLi\n1\nD\n0 0 0\n", "1\n\nH 0 0 0\n"};
    static const char *const want[] = {"POSCAR_d", "a:1", "a:2", "b"};
    char folder[] = "/tmp/bi_atoms_XXXXXX", path[64];
    struct reader r = {.env = bi_env_default()};
    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    CHECK_EQ(bi_frames_open(&r.of, &r.env, folder, &r.err), BIOINFER_NOT_FOUND);
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        write_file(path, texts[i]);
    }
    CHECK(!bi_frames_open(&r.of, &r.env, folder, &r.err));
    for (size_t i = 0; i < 4; i++)
        if (CHECK(next(&r))) {
            CHECK_STR(r.frame.name, want[i]);
            CHECK_EQ(r.frame.status != 0, i == 3);
        }
    end(&r);
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    remove(folder);
}

/* ---- what is wrong ---- */

#define EXT(comment, line) "1\nProperties=species:S:1:pos:R:3 " comment "\n" line "\n"
#define CELL(vectors) EXT("Lattice=\"" vectors "\"", "H 0 0 0")

static const struct {
    const char *text, *says; /* NULL: it is good */
    int status;
} bad[] = {
    {"", "the file is empty", BIOINFER_EMPTY},
    {"\n\n", "blank lines alone", BIOINFER_EMPTY},
    {"hello\n", "line 1: 'hello': expected the number of atoms", BIOINFER_FORMAT},
    {"2 3\n\n", "expected the number of atoms", BIOINFER_FORMAT},
    {"-1\n\n", "expected the number of atoms", BIOINFER_FORMAT},
    {"99999999999999999999999\n\n", "expected the number of atoms", BIOINFER_FORMAT},
    {"10000001\n\n", "at most 10000000", BIOINFER_LIMIT},
    {"0\n\n", "a frame without atoms", BIOINFER_EMPTY},
    {"3\n", "ends before the comment", BIOINFER_FORMAT},
    {"3\nx\nH 0 0 0\n", "line 3: the file ends after 1 of 3 atoms", BIOINFER_FORMAT},
    {"1\nx\nH 0 0\n", "line 3: 3 columns, expected at least 4", BIOINFER_FORMAT},
    {"1\nx\nH nan 0 0\n", "coordinate 'nan'", BIOINFER_FORMAT},
    {"1\nx\nH 0 inf 0\n", "coordinate 'inf'", BIOINFER_FORMAT},
    {"1\nx\nH 1e308 0 0\n", "coordinate '1e308'", BIOINFER_FORMAT},
    {"1\nx\nH 1e999 0 0\n", "coordinate '1e999'", BIOINFER_FORMAT},
    {"1\nx\nH 0 0 0x1\n", "coordinate '0x1'", BIOINFER_FORMAT},
    {"1\nx\nXx 0 0 0\n", "'Xx' is no element", BIOINFER_FORMAT},
    {"1\nx\nCL 0 0 0\n", "'CL' is no element", BIOINFER_FORMAT},
    {"1\nx\n0 0 0 0\n", "'0' is no element", BIOINFER_FORMAT},
    {"1\nx\n119 0 0 0\n", "'119' is no element", BIOINFER_FORMAT},
    {"1\ncharge=x\nH 0 0 0\n", "charge 'x': expected a charge", BIOINFER_FORMAT},
    {"1\ncharge=1 total_charge=2\nH 0 0 0\n", "differ: 1 and 2", BIOINFER_FORMAT},
    {"1\ncharge=1 total_charge=1\nH 0 0 0\n", NULL, 0},
    {EXT("", "H 0 0 0 0"), "5 columns, expected 4", BIOINFER_FORMAT},
    {EXT("pbc=\"T F F\"", "H 0 0 0"), "no Lattice", BIOINFER_FORMAT},
    {EXT("pbc=\"F F F\"", "H 0 0 0"), NULL, 0},
    {EXT("pbc=\"T F\"", "H 0 0 0"), "pbc 'T F'", BIOINFER_FORMAT},
    {EXT("pbc=\"T F F F\"", "H 0 0 0"), "pbc 'T F F F'", BIOINFER_FORMAT},
    {EXT("pbc=\"T F x\"", "H 0 0 0"), "pbc 'T F x'", BIOINFER_FORMAT},
    {CELL("5 0 0 0 5 0 0 0 5"), NULL, 0},
    {CELL("-5 0 0 0 5 0 0 0 5"), NULL, 0}, /* left-handed */
    {CELL("5 0 0 0 5 0"), "has 6 numbers, expected nine", BIOINFER_FORMAT},
    {CELL("5 0 0 0 5 0 0 0 5 1"), "has 10 numbers", BIOINFER_FORMAT},
    {CELL("5 0 0 0 5 0 0 0 nan"), "expected nine finite numbers", BIOINFER_FORMAT},
    {CELL("5 0 0 0 5 0 0 0 1e308"), "expected nine finite numbers", BIOINFER_FORMAT},
    {CELL("5 0 0 0 5 0 0 0 0"), "no vector", BIOINFER_FORMAT},
    {CELL("5 0 0 0 5 0 5 5 0"), "no volume", BIOINFER_FORMAT},
    {CELL("5 0 0 0 5 0 0 0 0"), "axis 3", BIOINFER_FORMAT},
    {EXT("Lattice=\"5 0 0 0 5 0 0 0 0\" pbc=\"T T F\"", "H 0 0 0"), NULL, 0},
    {EXT("Lattice=\"5 0 0 0 5 0 0 0 5", "H 0 0 0"), "Lattice: a quote", BIOINFER_FORMAT},
    {EXT("Lattice=\"5 0 0 0 5 0 0 0 5\" Lattice=\"1\"", "H 0 0 0"), "second", BIOINFER_FORMAT},
    {EXT("Properties=species:S:1:pos:R:3", "H 0 0 0"), "second", BIOINFER_FORMAT},
    {"1\nProperties=species:S:1:pos:R:2\nH 0 0\n", "pos:R:2, expected pos:R:3", BIOINFER_FORMAT},
    {"1\nProperties=species:S:1\nH\n", "no pos:R:3", BIOINFER_FORMAT},
    {"1\nProperties=pos:R:3\n0 0 0\n", "no species:S:1", BIOINFER_FORMAT},
    {"1\nProperties=pos:R\n0 0 0\n", "expected name:S", BIOINFER_FORMAT},
    {"1\nProperties=pos:R:0:a:S:1\n0 0 0\n", "expected name:S", BIOINFER_FORMAT},
    {"1\nProperties=x:R:200:y:R:200\n0\n", "more than 256 columns", BIOINFER_LIMIT},
    {"1\nProperties=species:S:1:Z:I:1:pos:R:3\nH 8 0 0 0\n", "differ", BIOINFER_FORMAT},
    {"c\n1 1\n1 0 0\n0 1 0\n0 0 1\nH\n1\nD\n0 0 0\n", "number of atoms", BIOINFER_FORMAT},
    {"c\n0\n1 0 0\n0 1 0\n0 0 1\nH\n1\nD\n0 0 0\n", "a scale of 0", BIOINFER_FORMAT},
    {"c\n1\n1 0 0\n0 1 0\n0 0 1\n1\nD\n0 0 0\n", "VASP 4", BIOINFER_FORMAT},
    {"c\n1\n1 0 0\n0 1 0\n0 0 1\nH O\n1\nD\n0 0 0\n", "1 numbers of atoms for 2", BIOINFER_FORMAT},
    {"c\n1\n1 0 0\n0 1 0\n1 1 0\nH\n1\nD\n0 0 0\n", "no volume", BIOINFER_FORMAT},
    {"c\n1\n1 0 0\n0 1 0\n0 0 1\nH\n0\nD\n", "without atoms", BIOINFER_EMPTY},
    {"c\n1\n1 0 0\n0 1 0\n0 0 1\nH\n2\nD\n0 0 0\n", "ends before a coordinate", BIOINFER_FORMAT},
    {"c\n1\n1 0 0\n0 1 0\n0 0 1\nH\n1\nD\n0 0\n", "2 coordinates", BIOINFER_FORMAT},
    {"c\n1\n1 0 0\n0 1 0\n0 0 1\nH\n1\nD\nnan 0 0\n", "'nan' is no finite", BIOINFER_FORMAT},
    {"c\n1\n1 0 0\n0 1 0\n0 0 1\nH\n1\nquark\n0 0 0\n", "Direct or Cartesian", BIOINFER_FORMAT},
    {"c\n1e7\n1e3 0 0\n0 1 0\n0 0 1\nH\n1\nD\n0 0 0\n", "beyond 1e7", BIOINFER_FORMAT},
    {"data_x\nloop_\n_atom_site.id\n", NULL, BIOINFER_FORMAT},
    {"CRYST1   10.000   20.000\n" ATOM("   7.000", " H"), "CRYST1", BIOINFER_FORMAT},
    {"CRYST1   10.000   20.000   30.000  90.00  90.00 180.00\n" ATOM("   7.000", " H"), "CRYST1",
     BIOINFER_FORMAT},
    {"CRYST1    1.000    1.000    1.000  90.00  90.00  90.00\n" ATOM("   7.000", " H"), NULL, 0},
    {ATOM("     nan", " H"), "coordinate 'nan'", BIOINFER_FORMAT},
    {ATOM("   7.000", "  "), "element '' in columns", BIOINFER_FORMAT},
    {ATOM("   7.000", "QQ"), "element 'QQ' in columns", BIOINFER_FORMAT},
};

static void names_what_is_wrong(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct reader r;
        bool any = false;
        begin(&r, "bad.xyz", bad[i].text, strlen(bad[i].text));
        while (next(&r) && !any) {
            any = true;
            if (!CHECK(bad[i].says || !bad[i].status ? r.frame.status == bad[i].status
                                                     : r.frame.status != 0) ||
                (bad[i].says && !CHECK_HAS(r.frame.message, bad[i].says)))
                fprintf(stderr, "    case %zu: %s\n", i, r.frame.message);
            CHECK(!r.frame.status == !r.frame.message[0]);
            if (r.frame.status)
                CHECK_HAS(r.frame.message, "bad.xyz");
        }
        CHECK(any);
        bi_frame_free(&r.frame);
        bi_frames_close(&r.of);
    }
}

/* The reader of XYZ has the same statuses for who wants no words. */
static void needs_no_words(void)
{
    int n = 0;
    for (size_t i = 0; i < BI_COUNT(bad); i++) {
        struct reader r;
        bool none = false;
        begin(&r, "bad.xyz", bad[i].text, strlen(bad[i].text));
        if (r.of && r.of->format == BI_FRAMES_XYZ) {
            r.frame.env = &r.env;
            const int st = bi_xyz_read(r.of, &r.frame, &none, NULL);
            /* a file without a frame is no failure of its reader */
            CHECK_EQ(none && !st ? BIOINFER_EMPTY : st, bad[i].status);
            n++;
        }
        bi_frame_free(&r.frame);
        bi_frames_close(&r.of);
    }
    CHECK(n > 40);
}

/* A bad frame costs itself alone: those before and behind it are read. */
static void goes_on_behind_a_bad_frame(void)
{
    static const char text[] = "1\na\nH 0 0 0\n"
                               "2\nLattice=\"1 2 3\"\nH 0 0 0\nH 0 0 1\n"
                               "2\nb\nH x 0 0\nH 0 0 1\n"
                               "0\nnone\n"
                               "1\nc\nO 0 0 1\n"
                               "2\nd\nO 0 0 1\n";
    static const int status[] = {0, BIOINFER_FORMAT, BIOINFER_FORMAT, BIOINFER_EMPTY,
                                 0, BIOINFER_FORMAT};
    static const char *const says[] = {"",
                                       "bad.xyz: frame 2: line 5: Lattice",
                                       "frame 3: line 10: coordinate 'x'",
                                       "frame 4: line 13",
                                       "",
                                       "frame 6: line 19: the file ends after 1 of 2"};
    struct reader r;
    begin(&r, "bad.xyz", text, sizeof text - 1);
    for (size_t i = 0; i < sizeof status / sizeof status[0]; i++)
        if (CHECK(next(&r))) {
            CHECK_EQ(r.frame.status, status[i]);
            CHECK_EQ(r.frame.ordinal, i + 1);
            CHECK_HAS(r.frame.message, says[i]);
        }
    end(&r);
}

/* ---- cells ---- */

static void completes_cells(void)
{
    static const double given[][9] = {{0},
                                      {3, 4, 0},
                                      {0, 0, 0, 0, 0, 2},
                                      {0, 0, 0, 0, 0, 0, 1, 1, 1},
                                      {3, 0, 0, 0, 0, 0, 1, 2, 0},
                                      {0, 0, 0, 1, 2, 3, -3, 2, 1}};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        double out[9], area;
        bi_cell_complete(given[i], out);
        for (int k = 0; k < 9; k += 3) {
            const double *a = given[i] + k;
            const bool there = a[0] != 0 || a[1] != 0 || a[2] != 0;
            if (there)
                CHECK(!memcmp(a, out + k, 3 * sizeof *a));
            else /* a vector of length 1 */
                CHECK(fabs(out[k] * out[k] + out[k + 1] * out[k + 1] + out[k + 2] * out[k + 2] -
                           1) < 1e-14);
        }
        area = fabs(bi_cell_volume(out));
        CHECK(area > 0.9);
        CHECK(!bi_cell_check(given[i], (bool[3]){false, false, false}, NULL));
    }
}

/* Any allocation may fail, and nothing is left behind. */
static void survives_failing_allocations(void)
{
    static const char text[] = "1\nLattice=\"5 0 0 0 5 0 0 0 5\" "
                               "Properties=species:S:1:pos:R:3:momenta:R:3\nH 0 0 0 1 1 1\n";
    int st = BIOINFER_NOMEM;
    for (long at = 1; st == BIOINFER_NOMEM && at < 1000; at++) {
        struct failing f = {.fail_at = at};
        struct bi_env env = bi_env_default();
        struct bioinfer_error err = {0};
        struct bi_frame frame = {0};
        struct bi_frames *in = NULL;
        env.alloc = failing_alloc;
        env.free = failing_free;
        env.alloc_user = &f;
        st = bi_frames_open_memory(&in, &env, "a.xyz", text, sizeof text - 1, &err);
        while (!st && (st = bi_frames_next(in, &frame, &err)) > 0)
            st = frame.status;
        bi_frame_free(&frame);
        bi_frames_close(&in);
        CHECK_EQ(f.n_live, 0);
        CHECK(!st || st == BIOINFER_NOMEM);
        CHECK(at > 5 || st);
    }
    CHECK_EQ(st, 0);
}

int main(void)
{
    TEST(reads_extended_xyz);
    TEST(reads_plain_xyz);
    TEST(reads_poscar);
    TEST(reads_pdb);
    TEST(reads_gzip);
    TEST(reads_folders);
    TEST(names_what_is_wrong);
    TEST(needs_no_words);
    TEST(goes_on_behind_a_bad_frame);
    TEST(completes_cells);
    TEST(survives_failing_allocations);
    return test_report();
}

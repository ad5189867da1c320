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
    char log[2000];
};

static void keep_log(void *user, int level, const char *text)
{
    struct reader *r = user;
    const size_t n = strlen(r->log);
    (void)level;
    snprintf(r->log + n, sizeof r->log - n, "%s\n", text);
}

static void begin(struct reader *r, const char *name, const char *text, size_t size)
{
    *r = (struct reader){.env = bi_env_default()};
    r->env.log = keep_log;
    r->env.log_user = r;
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
        CHECK(r.frame.periodic[0] && r.frame.periodic[2] && r.frame.has_held);
        CHECK(r.frame.held[2] == BI_HELD_ALL && !r.frame.held[1] && !r.frame.has_momenta);
        CHECK(r.frame.held[0] == 4 && !r.frame.cannot_hold);
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

/* ---- what is fixed ---- */

/* F in Selective dynamics fixes the coordinate along a vector of the cell. Where the others lead
 * along whole axes that is a component of the place; else the frame says that it cannot be done. */
static void reads_selective_dynamics(void)
{
    static const struct {
        const char *cell, *flags;
        int held; /* -1: it cannot be said */
    } cases[] = {{"9 0 0\n0 9 0\n0 0 9", "T T T", 0},
                 {"9 0 0\n0 9 0\n0 0 9", "F F F", BI_HELD_ALL},
                 {"9 0 0\n0 9 0\n0 0 9", "T F T ! surface", 2},
                 {"9 0 0\n0 9 0\n0 0 9", ".FALSE. .TRUE. .T.", 1},
                 {"0 9 0\n9 0 0\n0 0 9", "F T T", 2}, /* the first vector is along y */
                 {"9 0 0\n-4.5 7.8 0\n0 0 20", "T T F", 4},
                 {"9 0 0\n-4.5 7.8 0\n0 0 20", "F F T", 3},
                 {"9 0 0\n-4.5 7.8 0\n0 0 20", "F T T", -1},
                 {"9 0 0\n-4.5 7.8 0\n0 0 20", "F F F", BI_HELD_ALL},
                 {"9 0 0\n0 9 0\n1 1 9", "T T F", 4}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        char text[200];
        struct reader r;
        snprintf(text, sizeof text, "c\n1\n%s\nH\n1\nselective\nDirect\n0 0 0.5 %s\n",
                 cases[i].cell, cases[i].flags);
        begin(&r, "POSCAR", text, strlen(text));
        if (!CHECK(next(&r) && !r.frame.status))
            fprintf(stderr, "    %s\n", r.frame.message);
        CHECK_EQ(r.frame.cannot_hold != NULL, cases[i].held < 0);
        CHECK_EQ(r.frame.has_held, cases[i].held > 0);
        CHECK(cases[i].held <= 0 || r.frame.held[0] == cases[i].held);
        end(&r);
    }
}

static void reads_move_masks(void)
{
    static const char text[] = "2\nProperties=species:S:1:pos:R:3:move_mask:L:1\n"
                               "H 0 0 0 T\nH 0 0 1 F\n"
                               "2\nProperties=move_mask:L:3:species:S:1:pos:R:3\n"
                               "F T F H 0 0 0\n1 0 True H 0 0 1\n"
                               "1\nProperties=species:S:1:pos:R:3\nH 0 0 0\n"
                               "1\nProperties=species:S:1:pos:R:3:move_mask:L:1\nH 0 0 0 T\n"
                               "2\nProperties=species:S:1:pos:R:3:fixed:L:1\n"
                               "H 0 0 0 T\nH 0 0 1 F\n"
                               "1\nProperties=species:S:1:pos:R:3:frozen:L:3\nH 0 0 0 T 0 1\n"
                               "1\nProperties=species:S:1:pos:R:3:fixed_atoms:L:1\nH 0 0 0 F\n";
    struct reader r;
    begin(&r, "a.xyz", text, sizeof text - 1);
    CHECK(next(&r) && r.frame.has_held && !r.frame.held[0] && r.frame.held[1] == BI_HELD_ALL);
    CHECK(next(&r) && r.frame.has_held && r.frame.held[0] == 5 && r.frame.held[1] == 2);
    CHECK(next(&r) && !r.frame.has_held);
    CHECK(next(&r) && !r.frame.has_held && !r.frame.cannot_hold);
    CHECK(next(&r) && r.frame.has_held && r.frame.held[0] == BI_HELD_ALL && !r.frame.held[1]);
    CHECK(next(&r) && r.frame.has_held && r.frame.held[0] == 5);
    CHECK(next(&r) && !r.frame.has_held);
    CHECK_STR(r.log, "");
    end(&r);
}

/* ---- how atoms move ---- */

/* Velocities are in angstrom per femtosecond: ASE 3.29 reads the POSCAR's and gives these momenta
 * (atoms.get_momenta()) for a hydrogen, but for its mass of 1.008. */
static void reads_velocities(void)
{
    static const char *const names[] = {"vel", "velo", "velocity", "velocities"};
    static const char poscar[] = "c\n1\n9 0 0\n0 9 0\n0 0 9\nH\n2\nDirect\n0 0 0\n0 0 0.5\n";
    const double want[3] = {1.008 * 0.01 / 0.09822694750253276, 0,
                            -1.008 * 0.02 / 0.09822694750253276};
    char text[600];
    struct reader r;
    for (size_t i = 0; i < BI_COUNT(names); i++) {
        snprintf(text, sizeof text,
                 "1\nProperties=species:S:1:pos:R:3:%s:R:3\nH 0 0 0 .01 0 -.02\n", names[i]);
        begin(&r, "a.xyz", text, strlen(text));
        CHECK(next(&r) && r.frame.has_momenta && r.frame.has_velocities);
        for (int k = 0; k < 3; k++)
            CHECK(fabs(r.frame.momentum[k] - want[k]) < 1e-6);
        end(&r);
    }
    static const struct {
        const char *behind;
        bool has, cannot;
        unsigned unused;
    } cases[] = {
        {"\n.01 0 -.02\n0 1 2\n", true, false, 0},
        {"Cartesian\n.01 0 -.02\n0 1 2\n\n1\n5.0\n", true, false, 0},
        {"Lattice velocities and vectors\n1\n0 0 0\n0 0 0\n0 0 0\n9 0 0\n0 9 0\n1 1 9\n"
         "Cartesian\n.01 0 -.02\n0 1 2\n",
         true, false, BI_UNUSED_CELL_VELOCITIES},
        {"Lattice velocities and vectors\n1\n0 0 0\n0 0 0\n0 0 0\n9 0 0\n0 9 0\n0 0 9\n\n"
         ".01 0 -.02\n0 1 2\n",
         true, false, BI_UNUSED_CELL_VELOCITIES},
        {"\n0.00000000E+00 0 0\n0 0 0\n", false, false, 0}, /* as VASP writes behind relaxations */
        {"Direct\n.01 0 -.02\n0 1 2\n", false, true, 0},
        {"\n.01 0 -.02\n", false, true, 0},
        {"\n.01 0 -.02\n0 x 2\n", false, true, 0},
        {"\nx 0 -.02\n0 1 2\n", false, true, 0},
        {"\nnan 0 -.02\n0 1 2\n", false, true, 0},
        {"\n0.01 0\n0 1 2\n", false, true, 0},
        {"\n", false, false, 0},
        {"", false, false, 0},
        {"\n1\n5.0\n", false, false, 0}, /* a predictor and corrector */
        {"made by hand\nin 2020\n", false, false, 0},
    };
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        snprintf(text, sizeof text, "%s%s", poscar, cases[i].behind);
        begin(&r, "POSCAR", text, strlen(text));
        if (!CHECK(next(&r) && !r.frame.status))
            fprintf(stderr, "    case %zu: %s\n", i, r.frame.message);
        CHECK_EQ(r.frame.has_momenta, cases[i].has);
        CHECK_EQ(r.frame.cannot_begin != NULL, cases[i].cannot);
        CHECK_EQ(r.frame.unused, cases[i].unused);
        CHECK_EQ(strstr(r.log, "lines after the coordinates are not read, as 'made by hand'") !=
                     NULL,
                 i + 1 == BI_COUNT(cases));
        for (int k = 0; k < 3 && r.frame.has_momenta; k++)
            CHECK(fabs(r.frame.momentum[k] - want[k]) < 1e-6);
        end(&r);
    }
}

/* A second POSCAR behind the first is refused, whatever stands between them. */
static void refuses_further_poscars(void)
{
    static const char one[] = "c\n1\n9 0 0\n0 9 0\n0 0 9\nH\n2\nDirect\n0 0 0\n0 0 0.5\n";
    static const char *const behind[] = {
        "%s",
        "Cu bulk\n1.0\n9 0 0\n0 9 0\n0 0 9\nCu_pv\n1\nCartesian\n0 0 0\n",
        "\n0 0 0\n0 0 0\n%s",
        "\n0 0 0\n0 0 0\n\n1\n5.0\n0 0 0 0\n0 0 0\n0 0 0\n0 0 0\n%s",
        "li\n1 1 1\n9 0 0\n0 9 0\n0 0 9\n1 1\nSelective dynamics\nDirect\n0 0 0 T T T\n",
        "H O C\n1.0\n9 0 0\n0 9 0\n0 0 9\n2 1 1\nDirect\n0 0 0\n",
        "li\n1\n9 0 0\n0 9 0\n0 0 9\n2 1 1\nSelective\nDirect\n0 0 0 T T T\n"};
    for (size_t i = 0; i < BI_COUNT(behind); i++) {
        char text[600];
        struct reader r;
        size_t n = (size_t)snprintf(text, sizeof text, "%s", one);
        snprintf(text + n, sizeof text - n, behind[i], one);
        begin(&r, "POSCAR", text, strlen(text));
        if (!CHECK(next(&r) && r.frame.status == BIOINFER_FORMAT) ||
            !CHECK(strstr(r.frame.message, "a further POSCAR after the first")))
            fprintf(stderr, "    case %zu: %s\n", i, r.frame.message);
        end(&r);
    }
}

/* Each configuration of an XDATCAR is a frame; a head before one gives it a cell of its own, and
 * one that cannot be used costs itself. */
static void reads_xdatcar(void)
{
    static const char head[] = "ice\n1\n9 0 0\n0 9 0\n0 0 9\nO H\n1 1\n";
    char text[900];
    struct reader r;
    snprintf(text, sizeof text,
             "%sDirect configuration=     1\n0 0 0\n0 0 .5\n"
             "Direct configuration=     2\n0 0 0\n0 x .25\n"
             "ice\n2\n5 0 0\n0 5 0\n0 0 5\nO H\n1 1\nDirect configuration=     3\n0 0 0\n0 0 .5\n"
             "Direct configuration=     4\n0 0 0\n0 0 .1\n\n"
             "Direct configuration=     5\n0 0 0\n",
             head);
    begin(&r, "XDATCAR", text, strlen(text));
    CHECK(next(&r) && !r.frame.status && r.frame.n == 2 && r.frame.position[5] == 4.5);
    CHECK_STR(r.frame.name, "XDATCAR:1");
    CHECK_STR(r.frame.format, "XDATCAR");
    CHECK(next(&r) && r.frame.status == BIOINFER_FORMAT);
    CHECK_HAS(r.frame.message, "XDATCAR: frame 2: line 13: a coordinate: 'x'");
    CHECK(next(&r) && !r.frame.status && r.frame.cell[8] == 10 && r.frame.position[5] == 5);
    CHECK(next(&r) && !r.frame.status && r.frame.cell[8] == 10 && r.frame.position[5] == 1);
    CHECK_STR(r.frame.name, "XDATCAR:4");
    CHECK(next(&r) && r.frame.status == BIOINFER_FORMAT);
    CHECK_HAS(r.frame.message, "frame 5: line 29: the file ends before a coordinate");
    end(&r);
}

/* Words that other readers read, too. */
static void reads_what_others_read(void)
{
    static const struct {
        const char *text, *log;
        int first, second; /* elements; 0 = it cannot be used */
    } cases[] = {
        {"2\n\nCL 0 0 0\no 0 0 1\n", "", 17, 8},
        {"2\nLattice=\"5 0 0 0 5 0 0 0 5\" pbc=[T,T,F] Properties=species:S:1:pos:R:3\n"
         "H 0 0 0\nH 0 0 1\n",
         "", 1, 1},
        {"c\n1\n9 0 0\n0 9 0\n0 0 9\nNa Cl # kinds\n1 1 ! two\nD\n0 0 0\n0 0 .5\n", "", 11, 17},
        {"Na Cl  rock salt\n1\n9 0 0\n0 9 0\n0 0 9\n1 1 ! two\nD\n0 0 0\n0 0 .5\n",
         "elements are in the first line, 'Na Cl  rock salt'", 11, 17},
        {"Na Cl Br\n1\n9 0 0\n0 9 0\n0 0 9\n1 1\nD\n0 0 0\n0 0 .5\n", "", 0, 0},
        {"salt\n1\n9 0 0\n0 9 0\n0 0 9\n1 1\nD\n0 0 0\n0 0 .5\n", "", 0, 0},
        {"2\nspin=2\nH 0 0 0\nH 0 0 1\n2\nspin=2\nH 0 0 0\nH 0 0 1\n",
         "frame 1: spin=2: the energies of no model here depend on it\n1 more frames have a spin",
         1, 1}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct reader r;
        begin(&r, "a", cases[i].text, strlen(cases[i].text));
        CHECK(next(&r));
        if (!CHECK_EQ(r.frame.status, cases[i].first ? 0 : BIOINFER_FORMAT))
            fprintf(stderr, "    case %zu: %s\n", i, r.frame.message);
        CHECK(r.frame.status || (r.frame.n == 2 && r.frame.number[0] == cases[i].first &&
                                 r.frame.number[1] == cases[i].second));
        CHECK(i != 1 || (r.frame.periodic[0] && r.frame.periodic[1] && !r.frame.periodic[2]));
        while (next(&r))
            continue;
        end(&r);
        CHECK_HAS(r.log, cases[i].log);
        CHECK(!r.log[0] == !cases[i].log[0]);
    }
}

/* Blanks around =, quotes around keys: values of ASE 3.29.0. It takes `charge=-1` for the value of
 * a in `a= charge=-1`, and refuses a word that begins at the end of a quote. */
static void reads_keys_as_they_come(void)
{
#define BOX "5 0 0 0 6 0 0 0 7"
    static const struct {
        const char *comment;
        double cell, charge;
        bool has_charge;
    } cases[] = {
        {"Lattice = \"" BOX "\" Properties=species:S:1:pos:R:3", 7, 0, false},
        {"Lattice =\"" BOX "\" charge\t=  1", 7, 1, true},
        {"Lattice= '" BOX "' charge = -2", 7, -2, true},
        {"\"Lattice\" = \"" BOX "\" 'charge'=1", 7, 1, true},
        {"\"charge\"=1", 0, 1, true},
        {"charge = 1", 0, 1, true},
        {"water, total_charge = -1 and more", 0, -1, true},
        {"a= charge=-1", 0, -1, true},
        {"net_charge=-1", 0, -1, true},
        {"Lattice=\"" BOX "\" formal_charge=2 charge=2", 7, 2, true},
        {"flag Lattice=\"" BOX "\"charge=3", 7, 3, true},
        {"a=\"Lattice=\" \"my key\"=5 Lattice = \"" BOX "\" pbc = \"T T T\"", 7, 0, false},
        {"lattice-matched films, Properties of water; energy == 5", 0, 0, false},
    };
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        char text[300];
        struct reader r;
        snprintf(text, sizeof text, "1\n%s\nH 0 0 0\n", cases[i].comment);
        begin(&r, "a.xyz", text, strlen(text));
        if (!CHECK(next(&r) && !r.frame.status))
            fprintf(stderr, "    case %zu: %s\n", i, r.frame.message);
        CHECK(r.frame.cell[8] == cases[i].cell && r.frame.periodic[0] == (cases[i].cell > 0));
        CHECK(r.frame.charge == cases[i].charge && r.frame.has_charge == cases[i].has_charge);
        CHECK_STR(r.frame.format, cases[i].cell > 0 ? "extended XYZ" : "XYZ");
        end(&r);
    }
}

/* Words that are not read, and whose meaning is another than what is computed. */
static void names_words_that_are_not_read(void)
{
    static const struct {
        const char *text, *log;
    } cases[] = {
        {"1\nProperties=species:S:1:pos:R:3:constraints:I:1\nH 0 0 0 1\n",
         "the column constraints is not read: move_mask or fixed"},
        {"1\nProperties=species:S:1:pos:R:3:Fixed:L:1\nH 0 0 0 T\n",
         "the column fixed is not read"},
        {"1\ncell = \"" BOX "\"\nH 0 0 0\n", "cell= is not read, and without Lattice"},
        {"1\nLattice=\"" BOX "\" cell=\"" BOX "\"\nH 0 0 0\n", NULL},
        {"2\nAtoms. Timestep: 0\n1 0 0 0\n2 0 0 1\n",
         "numbers in the place of symbols are atomic numbers, as H of 1"},
        {"1\nProperties=Z:I:1:pos:R:3\n1 0 0 0\n", NULL},
    };
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        char text[500];
        struct reader r;
        snprintf(text, sizeof text, "%s%s", cases[i].text, cases[i].text);
        begin(&r, "a.xyz", text, strlen(text));
        CHECK(next(&r) && !r.frame.status);
        CHECK(next(&r) && !r.frame.status);
        end(&r);
        if (!CHECK(!cases[i].log == !r.log[0]) || !cases[i].log)
            continue;
        CHECK_HAS(r.log, cases[i].log);
        CHECK_HAS(r.log, "frame 1: ");
        CHECK_HAS(r.log, "\n1 more frames ");
        CHECK(!strstr(r.log, "frame 2: "));
    }
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

#define CRYST1(a) "CRYST1   " a "   20.000   30.000  90.00  90.00  90.00 P 1\n"

/* A CRYST1 holds from its model on, and END ends a model as ENDMDL does. */
static void reads_cells_of_models(void)
{
    static const struct {
        const char *text;
        double a[4]; /* the first length of each frame, 1 = no cell, -1 = a bad one, 0 = no more */
    } cases[] = {
        {CRYST1("10.000") ATOM("   1.000", " H") "END\n" ATOM("   2.000", " H") "END\n" CRYST1(
             "12.000") ATOM("   3.000", " H") "END   \n",
         {10, 10, 12}},
        {CRYST1("10.000") "MODEL        1\n" ATOM("   1.000", " H") "ENDMDL\n" CRYST1(
             "11.000") "MODEL        2\n" ATOM("   2.000", " H") "ENDMDL\nEND\n",
         {10, 11}},
        {"MODEL        1\n" CRYST1("10.000")
             ATOM("   1.000", " H") "ENDMDL\n"
                                    "MODEL        2\n" CRYST1("11.000")
                                        ATOM("   2.000", " H") "ENDMDL\n",
         {10, 11}},
        {"REMARK\n" ATOM("   1.000", " H") CRYST1("10.000") "END\n", {10}},
        {"REMARK\n" ATOM("   1.000", " H") "END\n" CRYST1("10.000") ATOM("   2.000", " H"),
         {1, 10}},
        {CRYST1("10.000")
             ATOM("   1.000", " H") "END\n"
                                    "CRYST1    1.000    1.000    1.000  90.00  90.00  90.00\n" ATOM(
                                        "   2.000", " H"),
         {10, 1}},
        {CRYST1("10.000") ATOM("   1.000", " H") "END\n" CRYST1("x     ")
             ATOM("   2.000", " H") "END\n" ATOM("   3.000", " H") "END\n" CRYST1("12.000")
                 ATOM("   4.000", " H"),
         {10, -1, -1, 12}},
        {CRYST1("10.000") ATOM("   1.000", " H") "ENDMDL\n" CRYST1("11.000"), {-1}},
        {"CRYST1   10.000   20.000   30.000  90.00  90.00  90.00 P 1\rMODEL        1\r"
         "ATOM      1  CA  ALA A   1       1.000   2.000   3.000  1.00  0.00           H\rEND\r"
         "CRYST1   11.000   20.000   30.000  90.00  90.00  90.00 P 1\rMODEL        2\r"
         "ATOM      1  CA  ALA A   1       2.000   2.000   3.000  1.00  0.00           H\rEND\r",
         {10, 11}},
        {"REMARK\n" ATOM("   1.0\0", " H"), {-1}}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct reader r;
        begin(&r, "a.pdb", cases[i].text,
              i + 1 < BI_COUNT(cases) ? strlen(cases[i].text) : 7 + sizeof ATOM("   1.0\0", " H"));
        for (int k = 0; k < 4 && cases[i].a[k] != 0; k++) {
            const double a = cases[i].a[k];
            if (!CHECK(next(&r)) || !CHECK_EQ(r.frame.status, a < 0 ? BIOINFER_FORMAT : 0) ||
                (a > 0 && (!CHECK_EQ(r.frame.n, 1) || !CHECK(r.frame.position[0] == k + 1) ||
                           !CHECK(r.frame.periodic[0] == (a > 1)) ||
                           !CHECK(a == 1 || r.frame.cell[0] == a))))
                fprintf(stderr, "    case %zu, frame %d: %s\n", i, k + 1, r.frame.message);
        }
        end(&r);
    }
}

#define ROW(name, alt, residue, x, occupancy)                                                      \
    "HETATM    1 " name alt residue " A   1    " x "   2.000   3.000  " occupancy "  0.00\n"

/* Elements that columns 77-78 do not say come from the name: by the columns in which it stands, but
 * in proteins and water by its first letter. */
static void reads_elements_of_names(void)
{
    static const struct {
        const char *name, *residue;
        int number;
    } cases[] = {{" CA ", "ALA", 6},  {"CA  ", "ALA", 6},  {"CA  ", " CA", 20}, {" CA ", "LIG", 6},
                 {"1HB ", "ALA", 1},  {"HG11", "VAL", 1},  {"HG  ", " HG", 80}, {"HO5'", " DA", 1},
                 {"SE  ", "MSE", 34}, {"FE  ", "HEM", 26}, {" O  ", "HOH", 8},  {" P  ", " DA", 15},
                 {"ZN  ", " ZN", 30}, {"CL1 ", "LIG", 17}, {" X1 ", "LIG", 0}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        char text[100];
        struct reader r;
        snprintf(text, sizeof text,
                 "HETATM    1 %s %s A   1       1.000   2.000   3.000  1.00  0.00\n", cases[i].name,
                 cases[i].residue);
        begin(&r, "a.pdb", text, strlen(text));
        if (!CHECK(next(&r) && !r.frame.status == (cases[i].number != 0)) ||
            !CHECK(!cases[i].number || r.frame.number[0] == cases[i].number))
            fprintf(stderr, "    case %zu: '%s' of %s: %s\n", i, cases[i].name, cases[i].residue,
                    r.frame.message);
        CHECK(!cases[i].number || strstr(r.log, "it is taken from the name"));
        end(&r);
    }
}

/* The alternate location of the highest occupancy is read, for a whole residue: the first of equal
 * ones, whatever their letters. */
static void chooses_alternates(void)
{
    static const struct {
        const char *text;
        double x[4]; /* where atoms that are read lie; 0 = no more */
        bool told;
    } cases[] = {
        {ROW(" O  ", "B", "HOH", "   1.000", "1.00") ROW(" H1 ", "B", "HOH", "   2.000", "1.00")
             ROW(" H2 ", "B", "HOH", "   3.000", "1.00"),
         {1, 2, 3},
         false},
        {ROW(" O  ", "1", "HOH", "   1.000", "0.40") ROW(" O  ", "2", "HOH", "   2.000", "0.60")
             ROW(" H1 ", "1", "HOH", "   3.000", "0.40")
                 ROW(" H1 ", "2", "HOH", "   4.000", "0.60"),
         {2, 4},
         true},
        {ROW(" O  ", " ", "LIG", "   1.000", "1.00") ROW(" C1 ", "B", "LIG", "   2.000", "0.50")
             ROW(" C1 ", "A", "LIG", "   3.000", "0.50")
                 ROW(" C2 ", "A", "LIG", "   4.000", "0.50"),
         {1, 2},
         true},
        {ROW(" N  ", "A", "SER", "   1.000", "0.30") ROW(" N  ", "B", "THR", "   2.000", "0.70")
             ROW(" C  ", "A", "SER", "   3.000", "0.30"),
         {2},
         true}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct reader r;
        uint32_t n = 0;
        while (n < 4 && cases[i].x[n] != 0)
            n++;
        begin(&r, "a.pdb", cases[i].text, strlen(cases[i].text));
        CHECK(next(&r) && !r.frame.status);
        CHECK_EQ(r.frame.n, n);
        for (uint32_t k = 0; k < n && k < r.frame.n; k++)
            CHECK(r.frame.position[3 * k] == cases[i].x[k]);
        CHECK_EQ(strstr(r.log, "1 residues have alternate locations") != NULL, cases[i].told);
        end(&r);
    }
}

/* A space group is named, but for one without operations; a model that cannot be used costs itself
 * alone. */
static void names_space_groups(void)
{
    static const char *const groups[] = {"P 1", "P1", "1", "", "P 21 21 21"};
    for (size_t i = 0; i < BI_COUNT(groups); i++) {
        char text[600];
        struct reader r;
        snprintf(
            text, sizeof text,
            "CRYST1   10.000   20.000   30.000  90.00  90.00  90.00 %-11s   4\nMODEL        1\n"
            "%sENDMDL\nMODEL        2\n%sENDMDL\n",
            groups[i], ATOM("   7.000", "QQ"), ATOM("   7.000", " H"));
        begin(&r, "a.pdb", text, strlen(text));
        CHECK(next(&r) && r.frame.status == BIOINFER_FORMAT);
        CHECK(next(&r) && !r.frame.status && r.frame.periodic[2]);
        end(&r);
        CHECK_EQ(r.log[0] != 0, i == 4);
        CHECK(i < 4 || strstr(r.log, "space group 'P 21 21 21', whose operations are not applied"));
    }
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
    {"1\nProperties=species:S:1:pos:R:3:move_mask:L:1\nH 0 0 0 x\n", "move_mask 'x'",
     BIOINFER_FORMAT},
    {"1\nProperties=species:S:1:pos:R:3:move_mask:L:2\nH 0 0 0 T T\n",
     "expected move_mask:L:1 or 3", BIOINFER_FORMAT},
    {"1\nProperties=species:S:1:pos:R:3:vel:R:1\nH 0 0 0 1\n", "expected vel:R:3", BIOINFER_FORMAT},
    {"1\nProperties=species:S:1:pos:R:3:vel:R:3\nH 0 0 0 1 x 0\n", "velocity 'x'", BIOINFER_FORMAT},
    {"c\n1\n1 0 0\n0 1 0\n0 0 1\nH\n1\nS\nD\n0 0 0 T T\n", "2 flags, expected three",
     BIOINFER_FORMAT},
    {"c\n1\n1 0 0\n0 1 0\n0 0 1\nH\n1\nS\nD\n0 0 0 T x F\n", "'x': expected T or F",
     BIOINFER_FORMAT},
    {"c\n1\n1 0 0\n0 1 0\n0 0 1\nCL\n1\nD\n0 0 0\n", "'CL' is no element", BIOINFER_FORMAT},
    {"1\nx\n0 0 0 0\n", "'0' is no element", BIOINFER_FORMAT},
    {"1\nx\n119 0 0 0\n", "'119' is no element", BIOINFER_FORMAT},
    {"1\ncharge=x\nH 0 0 0\n", "charge 'x': expected a charge", BIOINFER_FORMAT},
    {"1\ncharge=1 net_charge=0\nH 0 0 0\n", "words of the charge differ: 1 and 0 of net_charge",
     BIOINFER_FORMAT},
    {"1\nProperties=species:S:1:pos:R:3:move_mask:L:1:fixed:L:1\nH 0 0 0 T F\n",
     "fixed is there, or is meant, a second time", BIOINFER_FORMAT},
    {"1\nProperties=species:S:1:pos:R:3:fixed:L:1\nH 0 0 0 x\n", "fixed 'x': expected T or F",
     BIOINFER_FORMAT},
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
    {CELL("100 0 0 100 1e-5 0 0 0 100"), "no volume", BIOINFER_FORMAT}, /* a flat cell */
    {CELL("5 0 0 0 5 0 0 0 0"), "axis 3", BIOINFER_FORMAT},
    {EXT("Lattice=\"5 0 0 0 5 0 0 0 0\" pbc=\"T T F\"", "H 0 0 0"), NULL, 0},
    {EXT("Lattice=\"5 0 0 0 5 0 0 0 5", "H 0 0 0"), "Lattice: a quote", BIOINFER_FORMAT},
    {EXT("Lattice \"5 0 0 0 5 0 0 0 5\"", "H 0 0 0"), "expected Lattice=", BIOINFER_FORMAT},
    {EXT("Lattice: 5 0 0 0 5 0 0 0 5", "H 0 0 0"), "expected Lattice=", BIOINFER_FORMAT},
    {"1\nLattice\"5 0 0 0 5 0 0 0 5\"\nH 0 0 0\n", "expected Lattice=", BIOINFER_FORMAT},
    {"1\nlattice 5 0 0 0 5 0 0 0 5\nH 0 0 0\n", "expected Lattice=", BIOINFER_FORMAT},
    {"1\nProperties species:S:1:pos:R:3\nH 0 0 0\n", "expected Properties=", BIOINFER_FORMAT},
    {"1\nProperties:species:S:1:pos:R:3\nH 0 0 0\n", "expected Properties=", BIOINFER_FORMAT},
    {"1\nLattice:=\"5 0 0 0 5 0 0 0 5\"\nH 0 0 0\n", "expected Lattice=", BIOINFER_FORMAT},
    {"1\nLattice=\nH 0 0 0\n", "has 0 numbers, expected nine", BIOINFER_FORMAT},
    {"1\ncharge =\nH 0 0 0\n", "charge '': expected a charge", BIOINFER_FORMAT},
    {"1\npbc=\"T T T\"\nH 0 0 0\n", "no Lattice", BIOINFER_FORMAT},
    {EXT("Lattice=\"5 0 0 0 5 0 0 0 5\"x", "H 0 0 0"), NULL, 0},
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
    {"c\n-1 1 1\n1 0 0\n0 1 0\n0 0 1\nH\n1\nD\n0 0 0\n", "above 0", BIOINFER_FORMAT},
    {"c\n1 -1 1\n1 0 0\n0 1 0\n0 0 1\nH\n1\nD\n0 0 0\n", "above 0", BIOINFER_FORMAT},
    {"c\n1 1 0\n1 0 0\n0 1 0\n0 0 1\nH\n1\nD\n0 0 0\n", "above 0", BIOINFER_FORMAT},
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
                               "Properties=species:S:1:pos:R:3:momenta:R:3:move_mask:L:1\n"
                               "H 0 0 0 1 1 1 F\n";
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
    TEST(reads_cells_of_models);
    TEST(reads_selective_dynamics);
    TEST(reads_move_masks);
    TEST(reads_velocities);
    TEST(refuses_further_poscars);
    TEST(reads_xdatcar);
    TEST(reads_what_others_read);
    TEST(reads_keys_as_they_come);
    TEST(names_words_that_are_not_read);
    TEST(reads_elements_of_names);
    TEST(chooses_alternates);
    TEST(names_space_groups);
    TEST(reads_gzip);
    TEST(reads_folders);
    TEST(names_what_is_wrong);
    TEST(needs_no_words);
    TEST(goes_on_behind_a_bad_frame);
    TEST(completes_cells);
    TEST(survives_failing_allocations);
    return test_report();
}

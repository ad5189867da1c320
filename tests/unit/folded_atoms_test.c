/* folded_atoms_test.c - atoms from frames and torsions, against FlashABB's package; their names,
 * and pTM. */
#include <stdbool.h>

#include "models/folding/atoms.h"
#include "models/folding/confidence.h"
#include "tests/test.h"

/* Made by tools/golden_flashabb.py: a residue of each kind. */
static const struct golden {
    char letter;
    float frame[BI_FOLDED_FRAME], angles[BI_FOLDED_ANGLES], x[3 * BI_FOLDED_ATOMS];
} golden[] = {
#include "data/folded_atoms.inc"
};

enum { KINDS = sizeof golden / sizeof *golden };

static double distance(const float a[3], const float b[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum);
}

/* The package computes in float32, 20 A from the origin: 2e-6 A a number. */
static void atoms_are_the_package_s(void)
{
    double worst = 0;
    CHECK_EQ(KINDS, 20);
    for (int r = 0; r < KINDS; r++) {
        const struct bi_folded_residue *residue = bi_folded_residue(golden[r].letter);
        float x[BI_FOLDED_ATOMS][3];
        CHECK(residue != NULL);
        if (!residue)
            continue;
        CHECK_EQ(residue->letter, golden[r].letter);
        bi_folded_place(x, residue, golden[r].frame, golden[r].angles, 1e-7);
        for (int i = 0; i < BI_FOLDED_ATOMS; i++) {
            const double off = distance(x[i], golden[r].x + 3 * i);
            worst = off > worst ? off : worst;
            CHECK(off < 1e-5);
            CHECK(i < residue->n_atoms || !(x[i][0] != 0 || x[i][1] != 0 || x[i][2] != 0));
        }
    }
    printf("worst distance %.2g A\n", worst);
}

/* Angles count by their direction, down to the root of eps. */
static void angles_have_any_length(void)
{
    const struct golden *r = &golden[1]; /* arginine, with four side chain angles */
    const struct bi_folded_residue *residue = bi_folded_residue(r->letter);
    float angles[BI_FOLDED_ANGLES], x[BI_FOLDED_ATOMS][3], y[BI_FOLDED_ATOMS][3];
    for (int i = 0; i < BI_FOLDED_ANGLES; i++)
        angles[i] = r->angles[i] * (i % 4 < 2 ? 3.5f : 0.25f);
    bi_folded_place(x, residue, r->frame, angles, 1e-7);
    for (int i = 0; i < BI_FOLDED_ATOMS; i++)
        CHECK(distance(x[i], r->x + 3 * i) < 1e-5);
    for (int i = 0; i < BI_FOLDED_ANGLES; i++)
        angles[i] = r->angles[i] * 1e-3f;
    bi_folded_place(x, residue, r->frame, angles, 1e-6);
    bi_folded_place(y, residue, r->frame, angles, 1e-2);
    CHECK(distance(x[10], r->x + 30) < 1e-4); /* NH2 */
    CHECK(distance(y[10], r->x + 30) > 0.1);
}

/* Slots of the backbone are the same in all residues. */
static void names_are_known(void)
{
    CHECK(bi_folded_residue('X') == NULL);
    CHECK(bi_folded_residue('a') == NULL);
    CHECK(bi_folded_residue('\0') == NULL);
    CHECK_STR(bi_folded_residue('W')->name, "TRP");
    CHECK_EQ(bi_folded_residue('W')->n_atoms, 14);
    CHECK_STR(bi_folded_residue('W')->atoms[13].name, "CH2");
    CHECK_EQ(bi_folded_residue('G')->n_atoms, 4);
    for (int r = 0; r < KINDS; r++)
        for (int i = 0; i < 4; i++)
            CHECK_STR(bi_folded_residue(golden[r].letter)->atoms[i].name, i == 0   ? "N"
                                                                          : i == 1 ? "CA"
                                                                          : i == 2 ? "C"
                                                                                   : "O");
}

/* Atoms of a residue have places of their own in the order of atom37. */
static void atoms_have_places(void)
{
    CHECK_EQ(bi_folded_name("CA"), 1);
    CHECK_EQ(bi_folded_name("OXT"), 36);
    CHECK_EQ(bi_folded_name("H"), -1);
    for (int r = 0; r < KINDS; r++) {
        const struct bi_folded_residue *residue = bi_folded_residue(golden[r].letter);
        bool taken[BI_FOLDED_NAMES] = {false};
        for (int i = 0; i < residue->n_atoms; i++) {
            const int name = bi_folded_name(residue->atoms[i].name);
            if (CHECK(name >= 0 && name < BI_FOLDED_NAMES && !taken[name]))
                taken[name] = true;
        }
    }
}

/* A NaN in any pair of any row makes pTM NaN. */
static void bad_errors_are_seen(void)
{
    enum { N = 3, ALL = N * N * BI_FOLDED_ERRORS };
    float p[ALL];
    for (int i = 0; i < ALL; i++)
        p[i] = 1.0f / BI_FOLDED_ERRORS;
    CHECK(bi_folded_tm(p, BI_FOLDED_ERRORS, N) > 0);
    for (int i = 0; i < ALL; i++) {
        const float good = p[i];
        p[i] = NAN;
        CHECK(isnan(bi_folded_tm(p, BI_FOLDED_ERRORS, N)));
        p[i] = good;
    }
}

int main(void)
{
    TEST(atoms_are_the_package_s);
    TEST(angles_have_any_length);
    TEST(names_are_known);
    TEST(atoms_have_places);
    TEST(bad_errors_are_seen);
    return test_report();
}

/* components_test.c - chemical components: those within the program, files that contradict
 * themselves, each with the words that must come, and every allocation failing in turn. */
#include <math.h>
#include <string.h>

#include "../../loaders/chem/molecule.h"
#include "../../loaders/components.h"
#include "failing_reads.h"
#include "../test.h"

#define HEAD "bioinfer components 1\n"
#define TWO                                                                                        \
    HEAD "> AB other ?\nC1 C 0 - 0 1.5 -2\nC2 C -1 L ?\n= 0 1 2\n> MG other ?\nMG MG 2 - 0 0 0\n"

static int open_text(struct bi_components **c, const struct bi_env *env, const char *text,
                     struct bioinfer_error *err)
{
    return bi_components_open_memory(c, env, "x.txt", text, strlen(text), err);
}

/* Bonds are as long as bonds are, and a few components as the wwPDB has them. */
static void within_the_program(void)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_components *c = NULL;
    struct bi_component to = {.code = ""};
    size_t n_atoms = 0, n_bonds = 0;
    if (!CHECK_EQ(bi_components_open(&c, &env, NULL, &err), 0))
        return;
    CHECK_EQ(bi_components_count(c), 177);
    CHECK(!bi_components_code(c, 177));
    for (size_t i = 0; i < bi_components_count(c); i++) {
        const char *code = bi_components_code(c, i);
        if (!CHECK_EQ(bi_components_find(c, code, &to, &err), 0))
            fprintf(stderr, "    %s\n", err.text);
        CHECK_STR(to.code, code);
        n_atoms += (size_t)to.n_atoms;
        n_bonds += (size_t)to.n_bonds;
        for (int32_t k = 0; k < to.n_bonds; k++) {
            const struct bi_component_atom *a = &to.atoms[to.bonds[k].a];
            const struct bi_component_atom *b = &to.atoms[to.bonds[k].b];
            const double length = sqrt((a->x[0] - b->x[0]) * (a->x[0] - b->x[0]) +
                                       (a->x[1] - b->x[1]) * (a->x[1] - b->x[1]) +
                                       (a->x[2] - b->x[2]) * (a->x[2] - b->x[2]));
            if (a->placed && b->placed && !CHECK(length > 1 && length < 3.2))
                fprintf(stderr, "    %s: %s and %s are %.2f A apart\n", code, a->name, b->name,
                        length);
        }
    }
    CHECK(n_atoms > 2500 && n_bonds > n_atoms - 500);
    CHECK_EQ(bi_components_find(c, "ALA", &to, &err), 0);
    CHECK_EQ(to.kind, BI_COMPONENT_PEPTIDE);
    CHECK_EQ(to.n_atoms, 6);
    CHECK_EQ(to.n_bonds, 5);
    CHECK_EQ(to.letter, 'A');
    CHECK_STR(to.atoms[1].name, "CA");
    CHECK_STR(to.atoms[5].name, "OXT");
    CHECK(to.atoms[5].leaves && !to.atoms[3].leaves);
    CHECK_EQ(to.atoms[0].element, 7);
    CHECK(fabs(to.atoms[0].x[0] - -0.966) < 1e-9);
    CHECK_EQ(bi_components_find(c, "DA", &to, &err), 0);
    CHECK_EQ(to.kind, BI_COMPONENT_DNA);
    CHECK_EQ(bi_components_find(c, "U", &to, &err), 0);
    CHECK_EQ(to.kind, BI_COMPONENT_RNA);
    CHECK_EQ(bi_components_find(c, "SEP", &to, &err), 0);
    CHECK(to.kind == BI_COMPONENT_PEPTIDE && to.letter == 'S');
    CHECK_EQ(bi_components_find(c, "MG", &to, &err), 0);
    CHECK(to.letter == '?' && to.kind == BI_COMPONENT_OTHER);
    CHECK(to.n_atoms == 1 && to.atoms[0].element == 12 && to.atoms[0].charge == 2);
    CHECK_EQ(bi_components_find(c, "ala", &to, &err), BIOINFER_NOT_FOUND);
    CHECK_HAS(err.text, "no component 'ala'");
    bi_component_free(&env, &to);
    bi_components_close(&c);
    CHECK(!c);
}

static void small_file(void)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_components *c = NULL;
    struct bi_component to = {.code = ""};
    CHECK_EQ(open_text(&c, &env, TWO, &err), 0);
    CHECK_EQ(bi_components_count(c), 2);
    CHECK_EQ(bi_components_find(c, "AB", &to, &err), 0);
    CHECK(to.n_atoms == 2 && to.n_bonds == 1);
    CHECK(to.atoms[0].placed && to.atoms[0].x[1] > 1.4 && to.atoms[0].x[2] < -1.9);
    CHECK(!to.atoms[1].placed && to.atoms[1].leaves && to.atoms[1].charge == -1);
    CHECK(to.bonds[0].a == 0 && to.bonds[0].b == 1 && to.bonds[0].order == 2);
    bi_component_free(&env, &to);
    bi_components_close(&c);
    CHECK_EQ(open_text(&c, &env, HEAD, &err), 0);
    CHECK_EQ(bi_components_count(c), 0);
    bi_components_close(&c);
    CHECK_EQ(bi_components_open(&c, &env, "/no/such.txt", &err), BIOINFER_NOT_FOUND);
}

/* Refused when it is opened: code NULL; else when the component is read. */
static void refusals(void)
{
    static const struct {
        const char *text, *code, *words;
    } bad[] = {
        {"", NULL, "line 1: '', expected 'bioinfer components 1'"},
        {"bioinfer components 2\n", NULL, "line 1: 'bioinfer components 2'"},
        {HEAD "C1 C 0 - ?\n", NULL, "line 2: 'C1 C 0 - ?', expected '> CODE KIND LETTER'"},
        {HEAD "> TOOLONG other ?\n", NULL, "line 2: '> TOOLONG other ?'"},
        {HEAD "> A other\n", NULL, "line 2: '> A other', expected '> CODE KIND LETTER'"},
        {HEAD "> A thing ?\n", NULL, "line 2: 'thing', expected peptide, dna, rna or other"},
        {HEAD "> B other ?\n> A other ?\n", NULL, "line 3: 'A', expected a code after"},
        {HEAD "> A other ?\n> A other ?\n", NULL, "line 3: 'A', expected a code after"},
        {HEAD "> A other ?\n", "A", "line 2: component A has no atoms"},
        {HEAD "> A other ?\nC1 C 0 -\n", "A", "line 3: 'C1 C 0 -', expected an atom or a bond"},
        {HEAD "> A other ?\nC1 C 0 - 1 2\n", "A", "line 3"},
        {HEAD "> A other ?\nC1 C 0 - 1 2 x\n", "A", "line 3: 'x', expected angstrom"},
        {HEAD "> A other ?\nC1 C 0 - 1 2 1e9\n", "A", "line 3: '1e9', expected angstrom"},
        {HEAD "> A other ?\nC1 Qq 0 - ?\n", "A", "line 3: 'Qq', expected an element"},
        {HEAD "> A other ?\nC1 C 100 - ?\n", "A", "line 3"},
        {HEAD "> A other ?\nC1 C 0 M ?\n", "A", "line 3"},
        {HEAD "> A other ?\nC1234 C 0 - ?\n", "A", "line 3"},
        {HEAD "> A other ?\nC1 C 0 - ?\nC1 C 0 - ?\n", "A", "line 4: 'C1', expected a name that"},
        {HEAD "> A other ?\nC1 C 0 - ?\n= 0 1 1\n", "A", "line 4: '= 0 1 1', expected two atoms"},
        {HEAD "> A other ?\nC1 C 0 - ?\n= 0 0 1\n", "A", "expected two atoms before it"},
        {HEAD "> A other ?\nC1 C 0 - ?\nC2 C 0 - ?\n= 0 1 5\n", "A", "'= ATOM ATOM ORDER'"},
    };
    const struct bi_env env = bi_env_default();
    for (size_t i = 0; i < BI_COUNT(bad); i++) {
        struct bioinfer_error err = {0};
        struct bi_components *c = NULL;
        struct bi_component to = {.code = ""};
        const int st = open_text(&c, &env, bad[i].text, &err);
        CHECK_EQ(st, bad[i].code ? 0 : BIOINFER_FORMAT);
        if (bad[i].code && !st)
            CHECK_EQ(bi_components_find(c, bad[i].code, &to, &err), BIOINFER_FORMAT);
        CHECK_HAS(err.text, bad[i].words);
        CHECK_HAS(err.text, "x.txt");
        bi_component_free(&env, &to);
        bi_components_close(&c);
    }
}

static int use(struct failing *f, struct bioinfer_error *err)
{
    struct bi_env env = bi_env_default();
    struct bi_components *c = NULL;
    struct bi_component to = {.code = ""};
    int st;
    env.alloc = failing_alloc;
    env.free = failing_free;
    env.alloc_user = f;
    st = open_text(&c, &env, TWO, err);
    if (!st)
        st = bi_components_find(c, "AB", &to, err);
    bi_component_free(&env, &to);
    bi_components_close(&c);
    return st;
}

static void failures(void)
{
    each_allocation_fails(use, 3);
}

int main(void)
{
    TEST(within_the_program);
    TEST(small_file);
    TEST(refusals);
    TEST(failures);
    return test_report();
}

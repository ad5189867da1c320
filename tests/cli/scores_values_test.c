/* scores_values_test.c GOLDEN GTF - scores of variants against those of the released tool's own
 * functions (tools/golden_scorers.py), and what the functions refuse. */
#include <stdint.h>

#include "../../cli/scores_values.h"
#include "../../loaders/gtf.h"
#include "../test.h"

enum { ROWS = 1024, TRACKS = 37, MOST_FIELDS = 64 };

static struct bi_gtf *genes;
static const char *golden_path;

/* ---- arrays that are not stored ---- */

/* Makes the values of golden_scorers.py: value(). */
static float *make_values(uint32_t seed, size_t n)
{
    float *values = malloc(n * sizeof *values);
    if (!values)
        exit(2);
    for (size_t i = 0; i < n; i++) {
        uint32_t h = (uint32_t)(i * 2654435761u + seed * 40503u);
        double f;
        h ^= h >> 15;
        h *= 2246822519u;
        h ^= h >> 13;
        f = (h >> 8) / 16777216.0;
        values[i] = (float)(10 * f * f);
    }
    return values;
}

/* ---- cases ---- */

struct golden {
    char *field[MOST_FIELDS]; /* name, numbers */
    int n_fields;
    const char *values; /* behind '=' */
};

static long number(const struct golden *c, int i)
{
    return strtol(c->field[i], NULL, 10);
}

/* Compares n values with those of the case, which has no others. */
static void compare(const struct golden *c, const float *got, int n, double most)
{
    char *end = NULL;
    const char *at = c->values;
    for (int i = 0; i < n; i++) {
        const double want = strtod(at, &end);
        if (!CHECK(end != at && fabs((double)got[i] - want) <= most * fmax(fabs(want), 1))) {
            fprintf(stderr, "    %s %s: track %d: got %.9g, expected %.9g\n", c->field[0],
                    c->field[1], i, (double)got[i], want);
            return;
        }
        at = end;
    }
    CHECK(!at[strspn(at, " \n")]);
}

static void take_indel(struct alleles *a, long at, long old, long new)
{
    a->joint = at + (old < new ? old : new) - 1;
    a->inserted = new - old;
}

static void test_center(const struct golden *c)
{
    int64_t first, end;
    float got[2];
    center_rows(number(c, 1), number(c, 2), number(c, 3), number(c, 4), &first, &end);
    got[0] = (float)first;
    got[1] = (float)end;
    compare(c, got, 2, 0);
}

static void test_rows(const struct golden *c, const struct alleles *a)
{
    static const struct {
        const char *name;
        enum aggregation how;
    } all[] = {{"DIFF_MEAN", DIFF_MEAN},
               {"DIFF_SUM", DIFF_SUM},
               {"DIFF_SUM_LOG2", DIFF_SUM_LOG2},
               {"DIFF_LOG2_SUM", DIFF_LOG2_SUM},
               {"L2_DIFF", L2_DIFF},
               {"L2_DIFF_LOG1P", L2_DIFF_LOG1P},
               {"ACTIVE_MEAN", ACTIVE_MEAN},
               {"ACTIVE_SUM", ACTIVE_SUM}};
    float got[TRACKS];
    int i = 0;
    while (strcmp(all[i].name, c->field[1]))
        i++;
    CHECK_EQ(alleles_rows(a, number(c, 2), number(c, 3), all[i].how, got), 0);
    compare(c, got, TRACKS, 2e-4); /* sums there are float32 */
}

static void test_gene(const struct golden *c, struct alleles a)
{
    static const int64_t ranges[][2] = {{10, 60}, {500, 530}, {1000, 1024}};
    float got[TRACKS];
    take_indel(&a, number(c, 2), number(c, 3), number(c, 4));
    CHECK_EQ(alleles_gene(&a, ranges, 3,
                          !strcmp(c->field[1], "lfc")      ? GENE_LFC
                          : !strcmp(c->field[1], "active") ? GENE_ACTIVE
                                                           : GENE_SPLICING,
                          got),
             0);
    compare(c, got, TRACKS, 2e-6);
}

static void test_contacts(const struct golden *c, struct alleles a)
{
    float got[TRACKS];
    a.n_rows = 16;
    CHECK_EQ(alleles_contacts(&a, number(c, 1), got), 0);
    compare(c, got, TRACKS, 2e-6);
}

static void test_sites(const struct golden *c, struct alleles a)
{
    static const int64_t ranges[][2] = {{100, 150}, {200, 230}, {400, 520}, {600, 700}, {690, 800}};
    float got[TRACKS], *reference = make_values(1, ROWS * TRACKS);
    for (int i = 200; i < 230; i++)
        reference[i * TRACKS + 3] = 0;
    a.reference = reference;
    take_indel(&a, number(c, 2), number(c, 3), number(c, 4));
    CHECK_EQ(alleles_sites(&a, ranges, (size_t)number(c, 1), got), 0);
    compare(c, got, TRACKS, 1e-5);
    free(reference);
}

/* ---- genes ---- */

struct listed {
    char text[4000];
    size_t n;
    int64_t start;
};

static int list_gene(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    struct listed *l = user;
    (void)err;
    l->n += (size_t)snprintf(l->text + l->n, sizeof l->text - l->n, " %s", gene->id);
    return 0;
}

static void test_bodies(const struct golden *c)
{
    struct listed l = {{0}, 0, 0};
    const long pos = number(c, 1) - 1, old = number(c, 2), new = number(c, 3);
    CHECK_EQ(bi_gtf_find(genes, BI_GENES_OVERLAPPING, "chr1", pos, pos + (old > new ? old : new),
                         list_gene, &l, NULL),
             0);
    CHECK_EQ(strncmp(l.text, c->values, strlen(l.text)), 0);
    CHECK_EQ(strlen(l.text), strcspn(c->values, "\n"));
}

/* ---- genes and junctions: all that are found, as lines of the golden file ---- */

struct places {
    FILE *to;
    const char *contig, *gene;
    long at, start, end;
    const struct alleles *alleles;
    const float *sites;
};

static int print_exons(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    const struct places *p = user;
    (void)err;
    fprintf(p->to, "exons %s %ld %ld %s =", p->contig, p->start, p->end, gene->id);
    for (size_t i = 0; i < gene->n_exons; i++)
        fprintf(p->to, " %lld %lld", (long long)gene->exons[i][0], (long long)gene->exons[i][1]);
    fprintf(p->to, "\n");
    return 0;
}

static int print_junction(void *user, const struct junction *j)
{
    const struct places *p = user;
    fprintf(p->to, "junction %ld %s %lld %lld =", p->at, p->gene, (long long)j->start + 1000,
            (long long)j->end + 1000);
    for (int i = 0; i < 3; i++)
        fprintf(p->to, " %.9g", (double)j->scores[i]);
    fprintf(p->to, "\n");
    return 0;
}

static int print_junctions(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    struct places *p = user;
    (void)err;
    if (strcmp(gene->type, "protein_coding"))
        return 0;
    p->gene = gene->id;
    return alleles_junctions(p->alleles, p->sites, gene->strand, gene->start - 1000,
                             gene->end - 1000, print_junction, p);
}

/* The lines of the golden file that begin with a word. */
static void lines_of(const char *word, char *text, size_t size)
{
    FILE *f = fopen(golden_path, "r");
    char line[4000];
    size_t n = 0;
    if (!f)
        exit(2);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, word, strlen(word)))
            n += (size_t)snprintf(text + n, size - n, "%s", line);
    fclose(f);
}

static void compare_lines(const char *word, struct places *p)
{
    static char got[8000], want[8000];
    size_t n;
    rewind(p->to);
    n = fread(got, 1, sizeof got - 1, p->to);
    got[n] = 0;
    fclose(p->to);
    lines_of(word, want, sizeof want);
    CHECK(n > 0);
    CHECK_STR(got, want);
}

static void exons_are_those_of_the_tool(void)
{
    static const long at[][2] = {{1000, 2024}, {0, 1024},    {1100, 1300},
                                 {1499, 1500}, {1500, 1501}, {5000, 6000}};
    struct places p = {.to = tmpfile()};
    for (size_t i = 0; p.to && i < sizeof at / sizeof *at; i++)
        for (int c = 0; c < 2; c++) {
            p.contig = c ? "chr2" : "chr1";
            p.start = at[i][0];
            p.end = at[i][1];
            CHECK_EQ(bi_gtf_find(genes, BI_GENES_STARTING, p.contig, p.start, p.end, print_exons,
                                 &p, NULL),
                     0);
        }
    compare_lines("exons", &p);
}

static void junctions_are_those_of_the_tool(void)
{
    static const float sites[4][8] = {{20, 50, 300, 410, -1, -1, -1, -1},
                                      {30, 90, 333, 470, 800, -1, -1, -1},
                                      {25, 95, 420, 700, -1, -1, -1, -1},
                                      {60, 120, 380, -1, -1, -1, -1, -1}};
    float *reference = make_values(1, 8 * 8 * 6), *alternative = make_values(2, 8 * 8 * 6);
    const struct alleles a = {reference, alternative, 8, 6, 0, 0};
    struct places p = {.to = tmpfile(), .alleles = &a, .sites = &sites[0][0]};
    for (p.at = 1100; p.to && p.at <= 1450; p.at += 350)
        CHECK_EQ(bi_gtf_find(genes, BI_GENES_OVERLAPPING, "chr1", p.at - 1, p.at, print_junctions,
                             &p, NULL),
                 0);
    compare_lines("junction", &p);
    free(reference);
    free(alternative);
}

/* ---- all cases ---- */

static void scores_are_those_of_the_tool(void)
{
    FILE *f = fopen(golden_path, "r");
    float *reference = make_values(1, ROWS * TRACKS), *alternative = make_values(2, ROWS * TRACKS);
    const struct alleles a = {reference, alternative, ROWS, TRACKS, 0, 0};
    static char line[4000];
    int n = 0;
    if (!f)
        exit(2);
    while (fgets(line, sizeof line, f)) {
        struct golden c = {.n_fields = 0};
        char *values = strchr(line, '=');
        if (!CHECK(values != NULL))
            break;
        *values = 0;
        c.values = values + 1;
        for (char *p = strtok(line, " "); p && c.n_fields < MOST_FIELDS; p = strtok(NULL, " "))
            c.field[c.n_fields++] = p;
        n++;
        if (!strcmp(c.field[0], "center"))
            test_center(&c);
        else if (!strcmp(c.field[0], "rows"))
            test_rows(&c, &a);
        else if (!strcmp(c.field[0], "gene"))
            test_gene(&c, a);
        else if (!strcmp(c.field[0], "contacts"))
            test_contacts(&c, a);
        else if (!strcmp(c.field[0], "sites"))
            test_sites(&c, a);
        else if (!strcmp(c.field[0], "bodies"))
            test_bodies(&c);
    }
    CHECK(n > 80);
    fclose(f);
    free(reference);
    free(alternative);
}

static void odd_questions(void)
{
    static const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int64_t none[1][2] = {{2, 2}}, outside[1][2] = {{0, 5}};
    struct alleles a = {values, values, 4, 2, 0, 0};
    float got[2] = {0};
    CHECK_EQ(alleles_gene(&a, none, 1, GENE_LFC, got), 0);
    CHECK(isnan(got[0]) && isnan(got[1]));
    CHECK_EQ(alleles_gene(&a, outside, 1, GENE_LFC, got), BIOINFER_INVALID);
    CHECK_EQ(alleles_rows(&a, 3, 5, DIFF_SUM, got), BIOINFER_INVALID);
    CHECK_EQ(alleles_rows(&a, 3, 2, DIFF_SUM, got), BIOINFER_INVALID);
    CHECK_EQ(alleles_contacts(&a, 4, got), BIOINFER_INVALID);
    CHECK_EQ(alleles_sites(&a, none, MOST_SITES + 1, got), BIOINFER_INVALID);
    a.inserted = 5; /* more than there are rows */
    CHECK_EQ(alleles_gene(&a, none, 1, GENE_LFC, got), BIOINFER_INVALID);
    a.inserted = -1;
    a.joint = 4;
    CHECK_EQ(alleles_gene(&a, none, 1, GENE_LFC, got), BIOINFER_INVALID);
    a.n_tracks = 0;
    CHECK_EQ(alleles_rows(&a, 0, 1, DIFF_SUM, got), BIOINFER_INVALID);
    CHECK_EQ(alleles_rows(NULL, 0, 1, DIFF_SUM, got), BIOINFER_INVALID);
}

int main(int argc, char **argv)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    if (argc != 3)
        return 2;
    golden_path = argv[1];
    if (bi_gtf_open(&genes, &env, argv[2], &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    TEST(scores_are_those_of_the_tool);
    TEST(exons_are_those_of_the_tool);
    TEST(junctions_are_those_of_the_tool);
    TEST(odd_questions);
    bi_gtf_close(&genes);
    return test_report();
}

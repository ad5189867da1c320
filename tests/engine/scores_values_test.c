/* scores_values_test.c GOLDEN GTF - scores of variants against those of the released tool's own
 * functions (tools/golden_scorers.py), and what the functions refuse. */
#include <stdint.h>

#include "../../tasks/variants/scores.h"
#include "../../kernels/list_sums.h"
#include "../../loaders/gtf.h"
#include "../../ops/op.h"
#include "../test.h"

enum { ROWS = 1024, TRACKS = 37, MOST_FIELDS = 64 };

static struct bi_env env;
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

static void take_indel(struct bi_alleles *a, long at, long old, long new)
{
    a->joint = at + (old < new ? old : new) - 1;
    a->inserted = new - old;
}

static void test_center(const struct golden *c)
{
    int64_t first, end;
    float got[2];
    bi_center_rows(number(c, 1), number(c, 2), number(c, 3), number(c, 4), &first, &end);
    got[0] = (float)first;
    got[1] = (float)end;
    compare(c, got, 2, 0);
}

/* ---- sums, as the device makes them ---- */

/* Sums of lists of rows of both alleles, by the plain loops of the op. */
struct summed {
    struct bi_list_maker own, changed;
    struct bi_score_list of[8];
    int n, status; /* n: lists; status: why there are none */
    float *reference, *alternative;
};

static float *sum_lists(const struct bi_list_maker *l, int kind, const float *x, const float *other)
{
    const int32_t n = l->n, size = l->n_rows;
    int32_t *lists = calloc(2 + (size_t)n + 2 * (size_t)size, sizeof *lists);
    float *sums = calloc(2 * (size_t)n * TRACKS + 1, sizeof *sums);
    if (!lists || !sums)
        exit(2);
    lists[0] = l->first;
    lists[1] = l->end;
    memcpy(lists + 2, l->ends, (size_t)n * sizeof *lists);
    memcpy(lists + 2 + n, l->rows, (size_t)size * sizeof *lists);
    memcpy(lists + 2 + n + size, l->against, (size_t)size * sizeof *lists);
    bi_op_list_sums.reference(&(struct bi_list_sums_params){.x = x,
                                                            .other = other,
                                                            .lists = lists,
                                                            .y = sums,
                                                            .ldx = TRACKS,
                                                            .ldo = TRACKS,
                                                            .ldy = TRACKS,
                                                            .size = size,
                                                            .n = n,
                                                            .width = TRACKS,
                                                            .kind = kind});
    free(lists);
    return sums;
}

/* Sums up each of n lists. kind: of the alternative, whose rows are compared with the reference's
 * unless it is BI_LIST_SUM. */
static struct summed sum_up(const struct bi_alleles *a, int kind, const struct bi_row_ranges *of,
                            int n)
{
    struct summed s = {.n = n};
    float *kept;
    for (int i = 0; i < n && !s.status; i++)
        s.status = bi_score_lists_add(&env, &s.own, &s.changed, a, &of[i], &s.of[i]);
    if (s.status)
        return s;
    if (!(kept = calloc((size_t)s.own.n_rows * TRACKS + 1, sizeof *kept)))
        exit(2);
    for (int32_t i = 0; i < s.own.n_rows; i++)
        memcpy(kept + (size_t)i * TRACKS, a->reference + (int64_t)s.own.rows[i] * TRACKS,
               TRACKS * sizeof *kept);
    s.reference = sum_lists(&s.own, BI_LIST_SUM, a->reference, NULL);
    s.alternative = sum_lists(&s.changed, kind, a->alternative, kept);
    free(kept);
    return s;
}

static double own_sum(const struct summed *s, int i, int track)
{
    return bi_score_list_sum(&(struct bi_score_sums){s->reference, TRACKS}, s->of[i].own, track);
}

static double changed_sum(const struct summed *s, int i, int track)
{
    return bi_score_list_sum(&(struct bi_score_sums){s->alternative, TRACKS}, s->of[i].changed,
                             track);
}

static void summed_free(struct summed *s)
{
    struct bi_list_maker *l[] = {&s->own, &s->changed};
    for (int i = 0; i < 2; i++) {
        bi_free(&env, l[i]->rows);
        bi_free(&env, l[i]->against);
        bi_free(&env, l[i]->ends);
    }
    free(s->reference);
    free(s->alternative);
}

static void test_rows(const struct golden *c, const struct bi_alleles *a)
{
    static const struct {
        const char *name;
        enum bi_aggregation how;
    } all[] = {{"DIFF_MEAN", BI_DIFF_MEAN},
               {"DIFF_SUM", BI_DIFF_SUM},
               {"DIFF_LOG2_SUM", BI_DIFF_LOG2_SUM},
               {"ACTIVE_MEAN", BI_ACTIVE_MEAN},
               {"ACTIVE_SUM", BI_ACTIVE_SUM}};
    const int64_t range[1][2] = {{number(c, 2), number(c, 3)}};
    const struct bi_row_ranges of = {.at = range, .n = 1, .step = 1};
    struct summed s;
    float got[TRACKS];
    size_t i = 0;
    while (i < sizeof all / sizeof *all && strcmp(all[i].name, c->field[1]))
        i++;
    if (i == sizeof all / sizeof *all) { /* no recommended scorer has these */
        CHECK(!strncmp(c->field[1], "L2_DIFF", 7) || !strcmp(c->field[1], "DIFF_SUM_LOG2"));
        return;
    }
    s = sum_up(a, BI_LIST_SUM, &of, 1);
    for (int t = 0; t < TRACKS; t++)
        got[t] = (float)bi_score_of_sums(all[i].how, own_sum(&s, 0, t), changed_sum(&s, 0, t),
                                         s.of[0].n_rows);
    compare(c, got, TRACKS, 2e-4); /* sums there are float32 */
    summed_free(&s);
}

static void test_gene(const struct golden *c, struct bi_alleles a)
{
    static const int64_t ranges[][2] = {{10, 60}, {500, 530}, {1000, 1024}};
    const struct bi_row_ranges of = {.at = ranges, .n = 3, .step = 1};
    const bool splicing = !strcmp(c->field[1], "splicing");
    const enum bi_gene_score how = !strcmp(c->field[1], "lfc") ? BI_GENE_LFC : BI_GENE_ACTIVE;
    struct summed s;
    float got[TRACKS], gaps[TRACKS] = {0}, of_arrays[TRACKS];
    take_indel(&a, number(c, 2), number(c, 3), number(c, 4));
    s = sum_up(&a, splicing ? BI_LIST_GAP : BI_LIST_SUM, &of, 1);
    for (int t = 0; t < TRACKS; t++)
        got[t] = (float)(splicing ? changed_sum(&s, 0, t)
                                  : bi_score_of_gene(how, own_sum(&s, 0, t), changed_sum(&s, 0, t),
                                                     s.of[0].n_rows));
    compare(c, got, TRACKS, 2e-6);
    for (int i = 0; splicing && i < 3; i++) {
        CHECK_EQ(bi_alleles_gap(&a, ranges[i][0], ranges[i][1], of_arrays), 0);
        for (int t = 0; t < TRACKS; t++)
            gaps[t] = fmaxf(gaps[t], of_arrays[t]);
    }
    CHECK(!splicing || !memcmp(gaps, got, sizeof gaps));
    summed_free(&s);
}

static void test_contacts(const struct golden *c, struct bi_alleles a)
{
    static const int64_t column[1][2] = {{0, 16}};
    const struct bi_row_ranges of = {.at = column, .n = 1, .step = 16, .first = number(c, 1)};
    struct summed s;
    float got[TRACKS];
    a.n_rows = 16;
    s = sum_up(&a, BI_LIST_GAPS, &of, 1);
    for (int t = 0; t < TRACKS; t++)
        got[t] = (float)(changed_sum(&s, 0, t) / 16);
    compare(c, got, TRACKS, 2e-6);
    summed_free(&s);
}

static void test_sites(const struct golden *c, struct bi_alleles a)
{
    static const int64_t ranges[][2] = {{100, 150}, {200, 230}, {400, 520}, {600, 700}, {690, 800}};
    const int n = (int)number(c, 1);
    struct bi_row_ranges of[5];
    struct summed s;
    float got[TRACKS], *reference = make_values(1, ROWS * TRACKS);
    for (int i = 200; i < 230; i++)
        reference[i * TRACKS + 3] = 0;
    a.reference = reference;
    take_indel(&a, number(c, 2), number(c, 3), number(c, 4));
    for (int i = 0; i < n; i++)
        of[i] = (struct bi_row_ranges){.at = ranges + i, .n = 1, .step = 1};
    s = sum_up(&a, BI_LIST_SUM, of, n);
    for (int t = 0; t < TRACKS; t++) {
        double own[5], changed[5];
        for (int i = 0; i < n; i++) {
            own[i] = own_sum(&s, i, t);
            changed[i] = changed_sum(&s, i, t);
        }
        got[t] = (float)bi_score_of_sites(own, changed, (size_t)n);
    }
    compare(c, got, TRACKS, 1e-5);
    summed_free(&s);
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
    const struct bi_alleles *alleles;
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

static int print_junction(void *user, const struct bi_junction *j)
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
    return bi_alleles_junctions(&env, p->alleles, p->sites, gene->strand, gene->start - 1000,
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
    const struct bi_alleles a = {reference, alternative, 8, 6, 0, 0};
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
    const struct bi_alleles a = {reference, alternative, ROWS, TRACKS, 0, 0};
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

/* A list that is asked for twice is one. */
static void lists_are_shared(void)
{
    static const int64_t first[][2] = {{1, 3}, {5, 6}}, same[][2] = {{1, 2}, {2, 3}, {5, 6}},
                         none[][2] = {{2, 2}};
    const struct bi_alleles a = {NULL, NULL, 8, 2, 5, 2};
    const struct bi_row_ranges of[] = {{first, 2, 1, 0}, {none, 1, 1, 0}, {same, 3, 1, 0}};
    struct bi_list_maker own = {0}, changed = {0};
    struct bi_score_list list[3];
    for (int i = 0; i < 3; i++)
        CHECK_EQ(bi_score_lists_add(&env, &own, &changed, &a, &of[i], &list[i]), 0);
    CHECK(list[0].own == 0 && list[1].own == 1 && list[2].own == 0);
    CHECK(list[0].changed == 0 && list[1].changed == 1 && list[2].changed == 0);
    CHECK(own.n == 2 && own.n_rows == 3 && changed.n == 2 && changed.n_rows == 3);
    CHECK(own.rows[2] == 5 && changed.rows[2] == BI_ROW_SPAN);
    CHECK(changed.first == 5 && changed.end == 8);
    CHECK(changed.against[2] == 2);
    bi_free(&env, own.rows), bi_free(&env, own.against), bi_free(&env, own.ends);
    bi_free(&env, changed.rows), bi_free(&env, changed.against), bi_free(&env, changed.ends);
}

static void odd_questions(void)
{
    static const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int64_t none[1][2] = {{2, 2}}, outside[1][2] = {{0, 5}}, turned[1][2] = {{3, 2}};
    struct bi_alleles a = {values, values, 4, 2, 0, 0};
    const struct bi_row_ranges fit = {none, 1, 1, 0},
                               unfit[] = {{outside, 1, 1, 0}, {turned, 1, 1, 0}};
    float got[2] = {0};
    CHECK(isnan(bi_score_of_gene(BI_GENE_LFC, 0, 0, 0)));
    CHECK_EQ(bi_score_of_sites(NULL, NULL, 0), 0);
    for (int i = 0; i < 2; i++) {
        struct summed s = sum_up(&a, BI_LIST_SUM, &unfit[i], 1);
        CHECK_EQ(s.status, BIOINFER_INVALID);
        summed_free(&s);
    }
    CHECK_EQ(bi_alleles_gap(&a, 3, 5, got), BIOINFER_INVALID);
    CHECK_EQ(bi_alleles_gap(&a, 3, 2, got), BIOINFER_INVALID);
    for (int i = 0; i < 3; i++) {
        struct bi_alleles odd = a;
        struct summed s;
        odd.inserted = i == 0 ? 5 : -1; /* more than there are rows */
        odd.joint = i == 1 ? 4 : 0;
        odd.n_tracks = i == 2 ? 0 : 2;
        s = sum_up(&odd, BI_LIST_SUM, &fit, 1);
        CHECK_EQ(s.status, BIOINFER_INVALID);
        CHECK_EQ(bi_alleles_gap(&odd, 0, 1, got), BIOINFER_INVALID);
        summed_free(&s);
    }
    CHECK_EQ(bi_alleles_gap(NULL, 0, 1, got), BIOINFER_INVALID);
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    if (argc != 3)
        return 2;
    env = bi_env_default();
    golden_path = argv[1];
    if (bi_gtf_open(&genes, &env, argv[2], &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    TEST(scores_are_those_of_the_tool);
    TEST(exons_are_those_of_the_tool);
    TEST(junctions_are_those_of_the_tool);
    TEST(lists_are_shared);
    TEST(odd_questions);
    bi_gtf_close(&genes);
    return test_report();
}

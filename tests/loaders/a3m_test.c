/* a3m_test.c - alignments: rows and what they have deleted, files that are refused with their line,
 * and every allocation failing in turn. */
#include <unistd.h>

#include "../../loaders/a3m.h"
#include "../folder.h"
#include "../test.h"
#include "failing_reads.h"

static char folder[512], path[600];

static void put(const char *text)
{
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL))
        exit(1);
    fputs(text, file);
    fclose(file);
}

static void read_rows(void)
{
    static const int32_t deleted[] = {0, 0, 0, 2, 0, 1, 0, 3, 0};
    static const int64_t keys[] = {-1, 12, -5};
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_a3m a;
    put("#3\t1\n>query monkey=\r\nMK\r\nX \r\n\n>b key=-x key=12\nghM-f\nX.k\n>c key=-5\nAbc.-Bq");
    if (!CHECK_EQ(bi_a3m_read(&a, &env, path, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    CHECK_EQ(a.columns, 3);
    CHECK_EQ(a.depth, 3);
    CHECK(!memcmp(a.letters, "MKXM-XA-B", 9));
    for (int i = 0; i < 9; i++)
        CHECK_EQ(a.deleted[i], deleted[i]);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(a.key[i], keys[i]);
    CHECK_STR(a.headers + a.header[0], "query monkey=");
    CHECK_STR(a.headers + a.header[2], "c key=-5");
    bi_a3m_free(&env, &a);
    CHECK(!a.letters);
    CHECK_EQ(bi_a3m_read_text(&a, &env, "a text", ">q\nMK\n>b\nM-", 11, &err), 0);
    CHECK(a.depth == 2 && !memcmp(a.letters, "MKM-", 4));
    bi_a3m_free(&env, &a);
    CHECK_EQ(bi_a3m_read_text(&a, &env, "a text", ">q\nMK\n>b\nM", 10, &err), BIOINFER_FORMAT);
    CHECK_HAS(err.text, "a text: line 3: row 2 has 1 columns");
    bi_a3m_free(&env, &a);
}

static void refusals(void)
{
    static const struct {
        const char *text, *words;
        int status;
    } bad[] = {
        {"", "no rows", BIOINFER_EMPTY},
        {"#3\n", "no rows", BIOINFER_EMPTY},
        {">a\n", "line 1: the first row has no residues", BIOINFER_EMPTY},
        {">a\nmk.\n>b\nMK\n", "line 1: the first row has no residues", BIOINFER_EMPTY},
        {"MKW\n", "line 1: expected a header", BIOINFER_FORMAT},
        {">a\nMK-W\n", "the first row has a gap in column 3", BIOINFER_FORMAT},
        {">a\n---\n>b\n---\n", "the first row has a gap in column 1", BIOINFER_FORMAT},
        {">a\nMKW\n>b\nMK\n", "line 3: row 2 has 2 columns, expected 3", BIOINFER_FORMAT},
        {">a\nMKW\n>b\nMKWW\n>c\nMKW\n", "line 3: row 2 has 4 columns", BIOINFER_FORMAT},
        {">a\nMKW\n>b\n>c\nMKW\n", "line 3: row 2 has 0 columns", BIOINFER_FORMAT},
        {">a\nMKW\n>b\nM*W\n", "line 4: character 2 is '*'", BIOINFER_FORMAT},
        {">a\nM W\n", "line 2: character 2 is 0x20", BIOINFER_FORMAT},
        {">a\nMK\xC3\xA9\n", "line 2: character 3 is 0xC3", BIOINFER_FORMAT},
    };
    const struct bi_env env = bi_env_default();
    for (size_t i = 0; i < BI_COUNT(bad); i++) {
        struct bioinfer_error err = {0};
        struct bi_a3m a;
        put(bad[i].text);
        CHECK_EQ(bi_a3m_read(&a, &env, path, &err), bad[i].status);
        CHECK_HAS(err.text, bad[i].words);
        CHECK_HAS(err.text, path);
        bi_a3m_free(&env, &a);
    }
}

static void bounds(void)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_a3m a;
    FILE *file = fopen(path, "wb");
    for (int i = 0; file && i < BI_A3M_ROWS + 3; i++)
        fputs(i == BI_A3M_ROWS + 1 ? ">a\nragged\n" : ">a\nMK\n", file);
    CHECK(file && !fclose(file));
    CHECK_EQ(bi_a3m_read(&a, &env, path, &err), 0);
    CHECK_EQ(a.depth, BI_A3M_ROWS);
    bi_a3m_free(&env, &a);
    file = fopen(path, "wb");
    fputs(">a\n", file);
    for (int i = 0; file && i <= BI_A3M_COLUMNS; i++)
        fputc('M', file);
    CHECK(file && !fclose(file));
    CHECK_EQ(bi_a3m_read(&a, &env, path, &err), BIOINFER_LIMIT);
    bi_a3m_free(&env, &a);
    CHECK_EQ(bi_a3m_read(&a, &env, "/no/such.a3m", &err), BIOINFER_NOT_FOUND);
    bi_a3m_free(&env, &a);
}

static int use(struct failing *f, struct bioinfer_error *err)
{
    struct bi_env env = bi_env_default();
    struct bi_a3m a;
    int st;
    env.alloc = failing_alloc;
    env.free = failing_free;
    env.alloc_user = f;
    st = bi_a3m_read(&a, &env, path, err);
    bi_a3m_free(&env, &a);
    return st;
}

static void failures(void)
{
    put(">a\nMKW\n>b\nMK-\n");
    each_allocation_fails(use, 3);
}

int main(void)
{
    if (!test_folder(folder, sizeof folder, "a3m"))
        return 2;
    snprintf(path, sizeof path, "%s/x.a3m", folder);
    TEST(read_rows);
    TEST(refusals);
    TEST(bounds);
    TEST(failures);
    unlink(path);
    rmdir(folder);
    return test_report();
}

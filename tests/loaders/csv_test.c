/* csv_test.c - tables of text: what each word of the format gives, tables and rows that are
 * refused with their line, and every allocation failing in turn. The values are those that RFC 4180
 * and Python's csv module give. */
#include <string.h>

#include "../../loaders/csv.h"
#include "failing_reads.h"
#include "../test.h"

/* A table as text: rows with '|' between values and ';' behind them, a faulty one as "!line". */
static void show(const struct bi_csv *t, char *text, size_t size)
{
    const struct bi_csv_row *row;
    size_t at = 0, n = 0;
    int st;
    *text = '\0';
    while ((st = bi_csv_next(t, &at, &row, NULL)) && n < size) {
        if (st < 0)
            n += (size_t)snprintf(text + n, size - n, "!%d", (int)row->line);
        for (int i = 0; st > 0 && i < (int)row->n_fields; i++)
            n += (size_t)snprintf(text + n, size - n, "%s%s", i ? "|" : "", bi_csv_cell(t, row, i));
        n += (size_t)snprintf(text + n, size - n, ";");
    }
}

static const struct good {
    const char *text, *columns, *rows;
} good[] = {
    {"a,b\n1,2\n3,4\n", "a|b", "1|2;3|4;"},
    {"a,b\n1,2\n3,4", "a|b", "1|2;3|4;"},
    {"a,b\r\n1,2\r\n", "a|b", "1|2;"},
    {"a,b\r1,2\r3,4\r", "a|b", "1|2;3|4;"},
    {"\xEF\xBB\xBF"
     "a,b\n1,2\n",
     "a|b", "1|2;"},
    {"# note, with a comma\n#more\r\n\na,b\n1,2\n", "a|b", "1|2;"},
    {"a\tb\n1,5\t2\n", "a|b", "1,5|2;"},
    {"\"a\tb\",c\n1,2\n", "a\tb|c", "1|2;"}, /* a tab in quotes separates nothing */
    {"a,b\n\"1,5\",\"x\"\"y\"\n", "a|b", "1,5|x\"y;"},
    {"a,b\n\"1\n2\",3\n4,5\n", "a|b", "1\n2|3;4|5;"},
    {"a,b\n 1 , \"2\" \n\t3\t,4\n", "a|b", "1|2;3|4;"},
    {"a,b\n5\" long,2\n", "a|b", "5\" long|2;"}, /* a quote that does not begin a field */
    {"a,b\n\n1,2\n  \n3,4\n\n", "a|b", "1|2;3|4;"},
    {"a,b\n,\n\"\",2\n", "a|b", "|;|2;"},
    {",b\n0,1\n", "|b", "0|1;"}, /* pandas names no column of its index */
    /* rows that are faulty, and no others */
    {"mutant\nA4G:Y5F\nA4G,Y5F\nK2A\n", "mutant", "A4G:Y5F;!3;K2A;"},
    {"a,b\n1\n2,3,4\n5,6\n7,8,\n", "a|b", "!2;!3;5|6;!5;"},
    {"a,b\n\"x\ny\",1\n\"2\"z,3\n4,5\n", "a|b", "x\ny|1;!4;4|5;"},
    {"a,b\n1,2\n# a note\n", "a|b", "1|2;!3;"}, /* a comment below the header is a row */
};

static void good_tables(void)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    char text[400];
    for (size_t i = 0; i < BI_COUNT(good); i++) {
        struct bi_csv t;
        size_t n = 0;
        const char *cell;
        CHECK_EQ(bi_csv_read_memory(&t, &env, "x.csv", good[i].text, strlen(good[i].text), &err),
                 0);
        if (!t.text)
            continue;
        cell = t.header.cells;
        for (size_t k = 0; k < t.header.n_fields; k++, cell = bi_csv_cell_next(cell))
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", k ? "|" : "", cell);
        CHECK_STR(text, good[i].columns);
        show(&t, text, sizeof text);
        CHECK_STR(text, good[i].rows);
        bi_csv_free(&t);
        bi_csv_free(&t);
    }
}

static const struct bad {
    const char *text, *column, *words; /* column: which is needed; row 1 is then checked */
} bad[] = {
    {"", "a", "x.csv: the table is empty"},
    {"# a\n\n", "a", "x.csv: the table is empty"},
    {"a,b\n\n", "a", "x.csv: no row below the header"},
    {"a,b\n1,\"2\n3,4\n", "a", "x.csv: line 2: a quote begins here that is not closed"},
    {"\"a,b\n1,2\n", "a", "x.csv: line 1: a quote begins here that is not closed"},
    {"\n\"a\"b,c\n1,2\n", "c", "x.csv: line 2: text after a closing quote"},
    {"#x\nb,c\n1,2\n", "a",
     "x.csv: line 2: the header has no column 'a': 'b,c' (lines before it that begin with # are "
     "comments)"},
    {"a,b,a\n1,2,3\n", "a", "x.csv: line 1: two columns 'a', number 1 and 3"},
    {"a\nA4G,Y5F\n", "a",
     "x.csv: line 2: 2 fields, the header has 1 (a value with a comma stands in quotes)"},
    {"a\tb\n1\n", "a", "x.csv: line 2: 1 fields, the header has 2"},
    {"a\n\"1\" 2\n", "a", "x.csv: line 2: text after a closing quote"},
};

static void bad_tables(void)
{
    const struct bi_env env = bi_env_default();
    for (size_t i = 0; i < BI_COUNT(bad); i++) {
        struct bioinfer_error err = {0};
        struct bi_csv t;
        const struct bi_csv_row *row;
        size_t at = 0;
        int column;
        if (!bi_csv_read_memory(&t, &env, "x.csv", bad[i].text, strlen(bad[i].text), &err) &&
            !bi_csv_need(&t, bad[i].column, &column, &err)) {
            CHECK_EQ(bi_csv_next(&t, &at, &row, &err), BIOINFER_FORMAT);
            CHECK(!bi_csv_cell(&t, row, 0));
        }
        CHECK_EQ(err.status, BIOINFER_FORMAT);
        CHECK_EQ(strncmp(err.text, bad[i].words, strlen(bad[i].words)), 0);
        if (strncmp(err.text, bad[i].words, strlen(bad[i].words)))
            CHECK_STR(err.text, bad[i].words);
        bi_csv_free(&t);
    }
    {
        struct bioinfer_error err = {0};
        struct bi_csv t;
        CHECK_EQ(bi_csv_read_memory(&t, &env, "x.csv", "a\n1\0\n", 5, &err), BIOINFER_FORMAT);
        CHECK_EQ(bi_csv_read(&t, &env, "/none/x.csv", &err), BIOINFER_NOT_FOUND);
    }
}

static int use(struct failing *f, struct bioinfer_error *err)
{
    struct bi_env env = bi_env_default();
    struct bi_csv t;
    int column, st;
    env.alloc = failing_alloc;
    env.free = failing_free;
    env.alloc_user = f;
    st = bi_csv_read_memory(&t, &env, "x.csv", "a,b\n1,2\n3,4\n", 12, err);
    if (!st)
        st = bi_csv_need(&t, "b", &column, err);
    bi_csv_free(&t);
    return st;
}

static void failures(void)
{
    each_allocation_fails(use, 4);
}

int main(void)
{
    TEST(good_tables);
    TEST(bad_tables);
    TEST(failures);
    return test_report();
}

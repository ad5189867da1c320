/* yaml_test.c - settings in flat YAML: what values are, and which texts are refused where. */
#include "../../loaders/yaml.h"
#include "../test.h"

static struct bi_env env;
static struct bioinfer_error err;

static int read_text(struct bi_yaml *y, const char *text)
{
    return bi_yaml_read_memory(y, &env, "model_parameters.yml", text, strlen(text), &err);
}

static void values(void)
{
    static const struct {
        const char *text;
        enum bi_yaml_kind kind;
        double number;
        const char *value;
        size_t n_items;
    } cases[] = {{"", BI_YAML_NULL, 0, "", 0},
                 {"null", BI_YAML_NULL, 0, "null", 0},
                 {"~ # none", BI_YAML_NULL, 0, "~", 0},
                 {"true", BI_YAML_BOOL, 0, "true", 0},
                 {"48", BI_YAML_NUMBER, 48, "48", 0},
                 {"-1", BI_YAML_NUMBER, -1, "-1", 0},
                 {"1.0e-05", BI_YAML_NUMBER, 1e-5, "1.0e-05", 0},
                 {".inf", BI_YAML_TEXT, 0, ".inf", 0},
                 {"data/a b.pt", BI_YAML_TEXT, 0, "data/a b.pt", 0},
                 {"a\n  long one\n  # no more", BI_YAML_TEXT, 0, "a long one", 0},
                 {"'it''s # 1'", BI_YAML_TEXT, 0, "it's # 1", 0},
                 {"\"a \\\"b\\\"\"", BI_YAML_TEXT, 0, "a \"b\"", 0},
                 {"'48'", BI_YAML_TEXT, 0, "48", 0},
                 {"'48", BI_YAML_OTHER, 0, NULL, 0},
                 {"\"\\u0041\"", BI_YAML_OTHER, 0, NULL, 0},
                 {"\n- 2.0", BI_YAML_LIST, 0, "2.0", 1},
                 {"\n  - 2.0\n  - 5.0", BI_YAML_LIST, 0, "2.0", 2},
                 {"[2.0, 5.0, 7]", BI_YAML_LIST, 0, "2.0", 3},
                 {"[]", BI_YAML_LIST, 0, NULL, 0},
                 {"[1, [2]]", BI_YAML_OTHER, 0, NULL, 0},
                 {"[1,, 2]", BI_YAML_OTHER, 0, NULL, 0},
                 {"\n- - 1", BI_YAML_OTHER, 0, NULL, 0},
                 {"\n  a: 1\n  b: 2", BI_YAML_OTHER, 0, NULL, 0},
                 {"!!python/tuple\n- 1\n- 2", BI_YAML_OTHER, 0, NULL, 0},
                 {"|\n  a block", BI_YAML_OTHER, 0, NULL, 0},
                 {"&a 1", BI_YAML_OTHER, 0, NULL, 0}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        char text[128];
        struct bi_yaml y;
        const struct bi_yaml_entry *e;
        snprintf(text, sizeof text, "---\nbefore: 1\nkey: %s\nafter: 2\r\n...\n", cases[i].text);
        CHECK_EQ(read_text(&y, text), 0);
        e = bi_yaml_find(&y, "key");
        if (!CHECK(e && e->kind == cases[i].kind) || !CHECK_EQ(y.n, 3))
            fprintf(stderr, "    key: %s\n", cases[i].text);
        if (e) {
            CHECK(e->number == cases[i].number);
            CHECK_EQ(e->line, 3);
            CHECK(e->n_items == cases[i].n_items || e->kind == BI_YAML_OTHER);
            if (cases[i].value)
                CHECK_STR(e->text, cases[i].value);
        }
        CHECK((e = bi_yaml_find(&y, "after")) && e->number == 2 && e->whole);
        CHECK(!bi_yaml_find(&y, "none"));
        bi_yaml_free(&y);
    }
}

static void refused(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {{"a: 1\n\tb: 2", "line 2: a tab"},
                 {"a: 1\nb: 2\n\na: 3", "line 4: a key that comes twice: 'a'"},
                 {"a: 1\nb: \xff", "line 2: byte 0xff is no UTF-8"},
                 {"a: 1\nb: \x01", "line 2: a control character, 0x01"},
                 {"- 1", "line 1: an item of a list without a key"},
                 {"a: 1\n- 1", "line 2: an item of a list after a key that has a value"},
                 {"  a: 1", "line 1: the first line is indented"},
                 {"a: 1\nb", "line 2: expected 'key: value' or '- item': 'b'"},
                 {"a:1", "line 1: expected"},
                 {"{a: 1}", "line 1: expected"},
                 {"a: 1\n...\nb: 2", "line 3: a line after the end"},
                 {"'a: 1", "line 1: expected"}};
    struct bi_yaml y;
    char *large = calloc(1, BI_YAML_MOST_BYTES + 2);
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        if (!CHECK_EQ(read_text(&y, cases[i].text), BIOINFER_FORMAT))
            fprintf(stderr, "    %s\n", cases[i].text);
        CHECK_HAS(err.text, cases[i].words);
        CHECK_HAS(err.text, "model_parameters.yml: ");
        bi_yaml_free(&y);
    }
    CHECK_EQ(bi_yaml_read_memory(&y, &env, "n", "a: 1\0b: 2", 9, &err), BIOINFER_FORMAT);
    bi_yaml_free(&y);
    memset(large, '#', BI_YAML_MOST_BYTES + 1);
    CHECK_EQ(read_text(&y, large), BIOINFER_LIMIT);
    bi_yaml_free(&y);
    for (int i = 0; i < BI_YAML_MOST_KEYS + 1; i++)
        sprintf(large + 8 * i, "k%05d:\n", i);
    CHECK_EQ(read_text(&y, large), BIOINFER_LIMIT);
    bi_yaml_free(&y);
    free(large);
    CHECK_EQ(bi_yaml_read(&y, &env, "/no/such.yml", &err), BIOINFER_NOT_FOUND);
    bi_yaml_free(&y);
}

int main(void)
{
    env = bi_env_default();
    TEST(values);
    TEST(refused);
    return test_report();
}

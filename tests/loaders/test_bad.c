/* test_bad.c - every malformed file is refused with its status and its words.
 * --write-corpus DIR writes the files to DIR/<fuzz target>/ instead. */
#include "../test.h"

#include "../../loaders/pickle.h"
#include "cases.h"

static struct bi_env env;
static const char *corpus;
static int n_cases;

static int open_pickle(const void *bytes, size_t size, struct bioinfer_error *err)
{
    struct bi_pickle p = {.env = &env, .label = "test.pkl"};
    struct bi_pickle_value v;
    struct bi_file f = BI_FILE_NONE;
    uint64_t stop;
    p.legacy = ((const char *)bytes)[0] & 1;
    p.strict = ((const char *)bytes)[0] & 2;
    int st = bi_file_from_memory(&f, &env, "test.pkl", (const char *)bytes + 1, size - 1, err);
    if (!st)
        st = bi_pickle_read(&p, &f, 0, f.size, &stop, &v, err);
    bi_pickle_free(&p);
    bi_file_close(&f);
    return st;
}

static void check_case(const struct bad_case *c, const void *bytes, size_t size,
                       const struct bi_named_bytes *files, size_t n_files)
{
    struct bioinfer_error err = {0};
    struct bi_checkpoint *cp = NULL;
    int st;
    n_cases++;
    if (c->kind == CASE_PICKLE)
        st = open_pickle(bytes, size, &err);
    else if (c->kind == CASE_FOLDER)
        st = bi_checkpoint_open_folder_memory(&cp, &env, files, n_files, NULL, &err);
    else
        st = bi_checkpoint_open_memory(&cp, &env, "test", bytes, size, NULL, &err);
    if (!CHECK(st == c->status && err.status == st && !cp) || !CHECK(strstr(err.text, c->expected)))
        fprintf(stderr, "    %s/%s: status %d '%s'\n    expected %d '...%s...'\n", c->target,
                c->name, st, err.text, c->status, c->expected);
    /* words are optional */
    if (c->kind == CASE_WEIGHTS)
        CHECK_EQ(bi_checkpoint_open_memory(&cp, &env, "test", bytes, size, NULL, NULL), st);
    bi_checkpoint_close(&cp);
}

static void write_case(const struct bad_case *c, const void *bytes, size_t size,
                       const struct bi_named_bytes *files, size_t n_files)
{
    char path[1024];
    FILE *f;
    (void)files;
    (void)n_files;
    if (!c->target)
        return;
    snprintf(path, sizeof path, "%s/%s/%s", corpus, c->target, c->name);
    if (!CHECK((f = fopen(path, "wb")) != NULL))
        return;
    CHECK_EQ(fwrite(bytes, 1, size, f), size);
    CHECK_EQ(fclose(f), 0);
}

int main(int argc, char **argv)
{
    case_visitor *visit = check_case;
    static const struct {
        const char *name;
        void (*cases)(const struct bi_env *env, case_visitor *visit);
        int at_least;
    } groups[] = {{"safetensors", safetensors_cases, 60},
                  {"other", other_cases, 25},
                  {"zip", zip_cases, 80},
                  {"legacy", legacy_cases, 20},
                  {"pickle", pickle_cases, 75},
                  {"folder", folder_cases, 40}};
    env = bi_env_default();
    if (argc == 3 && !strcmp(argv[1], "--write-corpus")) {
        corpus = argv[2];
        visit = write_case;
    }
    for (size_t i = 0; i < BI_COUNT(groups); i++) {
        test_name = groups[i].name;
        n_cases = 0;
        groups[i].cases(&env, visit);
        if (!corpus) {
            printf("%s: %d cases\n", groups[i].name, n_cases);
            CHECK(n_cases >= groups[i].at_least);
        }
    }
    return test_report();
}

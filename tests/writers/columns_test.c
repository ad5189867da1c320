/* columns_test.c - arrays over all records: lists and rows that are wrong, and failures of the
 * system at every call, which leave nothing behind. What is written is read by
 * tests/cli/test_energy.py. */
#define _GNU_SOURCE
#include "../../writers/writer.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "../failing.h"
#include "../folder.h"
#include "../faults.h"
#include "../test.h"

/* libhdf5 loses the memory of a file that it could not close. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

static const char *const formats[] = {"npz", "h5"};
static size_t n_formats = 1; /* h5 is counted where this build has it */
static const char list[] = "energy\t<f8\trecord\t-\teV\n"
                           "stress\t<f8\trecord\t3,3\t\n"
                           "numbers\t<i4\titem\t-\t\n"
                           "forces\t<f4\titem\t3\teV/angstrom\n";

static char folder[200], out[220];

static int open_with(struct bioinfer_writer **w, const struct bi_env *env, const char *format,
                     const char *columns, struct bioinfer_error *err)
{
    const struct bioinfer_writer_params p = {
        .struct_size = sizeof p, .format = format, .columns = columns};
    return bi_writer_open(w, env, out, &p, err);
}

/* Puts a record whose text says that it has n items, and has the rows of `rows`. */
static int put(struct bioinfer_writer *w, const char *id, int64_t n, int64_t rows,
               struct bioinfer_error *err)
{
    static char text[1 << 16];
    const size_t size = 8 + 80 + 16 * (size_t)rows;
    const struct bioinfer_text texts[] = {{"text", text, size}};
    const struct bioinfer_result r = {.id = id, .message = "", .n_texts = 1, .texts = texts};
    memcpy(text, &n, sizeof n);
    return bi_writer_put(w, &r, err);
}

static int write_all(const struct bi_env *env, const char *format, struct bioinfer_error *err)
{
    const struct bioinfer_result lost = {.id = "lost", .message = "", .status = BIOINFER_EMPTY};
    struct bioinfer_writer *w = NULL;
    int st = open_with(&w, env, format, list, err);
    if (!st && !(st = put(w, "a", 3, 3, err)) && !(st = bi_writer_put(w, &lost, err)) &&
        !(st = put(w, "a", 0, 0, err)) && !(st = put(w, "b", 4000, 4000, err)))
        st = bi_writer_finish(w, err);
    bi_writer_close(&w);
    return st;
}

/* Files in the folder. */
static int n_files(void)
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static void refuses_lists(void)
{
    static const struct {
        const char *list, *words;
    } cases[] = {
        {"energy\t<f8\trecord\t-\n", "line 1"},
        {"energy\t<f8\trecord\t-\teV", "line 1"},
        {"energy\t<f8\trecord\t-\teV\tmore\n", "line 1"},
        {"Energy\t<f8\trecord\t-\teV\n", "line 1"},
        {"\t<f8\trecord\t-\teV\n", "line 1"},
        {"../energy\t<f8\trecord\t-\teV\n", "line 1"},
        {"energy\t<f2\trecord\t-\teV\n", "line 1"},
        {"energy\t<f8\tatom\t-\teV\n", "line 1"},
        {"energy\t<f8\titem\t0\teV\n", "line 1"},
        {"energy\t<f8\titem\t3,\teV\n", "line 1"},
        {"energy\t<f8\titem\t3,3,3\teV\n", "line 1"},
        {"energy\t<f8\titem\t33\teV\n", "line 1"},
        {"a\t<f8\titem\t3\t\na\t<f8\titem\t3\t\n", "line 2"},
        {"a\t<f8\titem\t3\t\nids\t<f8\titem\t3\t\n", "line 2"},
        {"a\t<f8\titem\t3\t\n\n", "line 2"},
        {"offsets\t<i8\trecord\t-\t\n", "line 1"},
        {"a_name_of_more_than_thirty_two_letters\t<f8\trecord\t-\teV\n", "line 1"},
        {"a\t<f4\titem\t-\t\nb\t<f4\titem\t-\t\nc\t<f4\titem\t-\t\nd\t<f4\titem\t-\t\n"
         "e\t<f4\titem\t-\t\nf\t<f4\titem\t-\t\ng\t<f4\titem\t-\t\nh\t<f4\titem\t-\t\n"
         "i\t<f4\titem\t-\t\nj\t<f4\titem\t-\t\nk\t<f4\titem\t-\t\nl\t<f4\titem\t-\t\n"
         "m\t<f4\titem\t-\t\nn\t<f4\titem\t-\t\no\t<f4\titem\t-\t\np\t<f4\titem\t-\t\n"
         "q\t<f4\titem\t-\t\n",
         "line 17"},
    };
    struct bi_env env = bi_env_default();
    struct bioinfer_writer *w = NULL;
    struct bioinfer_error err = {0};
    for (size_t f = 0; f < n_formats; f++)
        for (size_t i = 0; i < BI_COUNT(cases); i++) {
            CHECK_EQ(open_with(&w, &env, formats[f], cases[i].list, &err), BIOINFER_INVALID);
            CHECK_HAS(err.text, cases[i].words);
            CHECK_EQ(n_files(), 0);
        }
    CHECK_EQ(open_with(&w, &env, "npy", list, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "npy holds no arrays of all records");
    const struct bioinfer_writer_params half = {
        .struct_size = sizeof half, .format = "npz", .dtype = "f16", .columns = list};
    CHECK_EQ(bi_writer_open(&w, &env, out, &half, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "types of their own");
    CHECK_EQ(n_files(), 0);
}

static void refuses_rows(void)
{
    static const struct {
        int64_t n, rows;
    } cases[] = {{3, 2}, {2, 3}, {-1, 0}, {INT64_MAX, 1}, {(int64_t)1 << 60, 0}};
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    for (size_t f = 0; f < n_formats; f++)
        for (size_t i = 0; i <= BI_COUNT(cases); i++) {
            const struct bioinfer_text text = {"text", "1234567", 7};
            const struct bioinfer_result shorter = {
                .id = "x", .message = "", .n_texts = 1, .texts = &text};
            const struct bioinfer_result none = {.id = "x", .message = ""};
            struct bioinfer_writer *w = NULL;
            CHECK_EQ(open_with(&w, &env, formats[f], list, &err), 0);
            CHECK_EQ(put(w, "good", 1, 1, &err), 0);
            CHECK_EQ(i < BI_COUNT(cases) ? put(w, "x", cases[i].n, cases[i].rows, &err)
                                         : bi_writer_put(w, &shorter, &err),
                     BIOINFER_FORMAT);
            CHECK_HAS(err.text, "'x': its rows of");
            bi_writer_close(&w);
            CHECK_EQ(open_with(&w, &env, formats[f], list, &err), 0);
            CHECK_EQ(bi_writer_put(w, &none, &err), BIOINFER_INVALID);
            bi_writer_close(&w);
            CHECK_EQ(n_files(), 0);
        }
}

/* ---- failures ---- */

static void survives_faults(void)
{
    static const struct {
        enum bi_fault kind;
        int error, status;
    } cases[] = {{BI_FAULT_OPEN, ENOSPC, BIOINFER_NO_SPACE},
                 {BI_FAULT_WRITE, ENOSPC, BIOINFER_NO_SPACE},
                 {BI_FAULT_READ, EIO, BIOINFER_IO},
                 {BI_FAULT_SYNC, EIO, BIOINFER_IO},
                 {BI_FAULT_RENAME, EIO, BIOINFER_IO}};
    for (size_t i = 0; i < n_formats * BI_COUNT(cases); i++) {
        const char *format = formats[i / BI_COUNT(cases)];
        const size_t k = i % BI_COUNT(cases);
        int at = 1;
        for (bool met = true; met; at++) {
            struct test_fault f = {cases[k].kind, at, 0, cases[k].error, false};
            struct bi_env env = bi_env_default();
            struct bioinfer_error err = {0};
            env.fault = test_on_fault;
            env.fault_user = &f;
            const int st = write_all(&env, format, &err);
            met = f.count >= at;
            CHECK_EQ(st, met ? cases[k].status : 0);
            CHECK_EQ(n_files(), !met);
            unlink(out);
        }
        CHECK(at > 2); /* it was met */
    }
}

static void survives_no_memory(void)
{
    for (size_t i = 0; i < n_formats; i++)
        for (long n = 1, met = 1; met; n++) {
            struct failing f = {.fail_at = n};
            struct bi_env env = bi_env_default();
            struct bioinfer_error err = {0};
            env.alloc = failing_alloc;
            env.free = failing_free;
            env.alloc_user = &f;
            const int st = write_all(&env, formats[i], &err);
            met = f.n_calls >= n;
            CHECK_EQ(st, met ? BIOINFER_NOMEM : 0);
            CHECK_EQ(f.n_live, 0);
            CHECK_EQ(n_files(), !met);
            unlink(out);
        }
}

int main(void)
{
    if (!test_folder(folder, sizeof folder, "columns"))
        return 2;
    snprintf(out, sizeof out, "%s/out", folder);
    for (int i = 0; bi_writer_format(i); i++)
        n_formats += !strcmp(bi_writer_format(i), "h5");
    TEST(refuses_lists);
    TEST(refuses_rows);
    TEST(survives_faults);
    TEST(survives_no_memory);
    CHECK_EQ(rmdir(folder), 0);
    return test_report();
}

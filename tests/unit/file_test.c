/* file_test.c - files whose calls fail: an output that misses bytes never gets its name, and a
 * folder that cannot be read to its end does not look like a shorter one. */
#define _GNU_SOURCE
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../folder.h"
#include "../test.h"

enum { LARGE = 300000 }; /* beyond the buffer of an output */

static char folder[200];
static char bytes[LARGE];

/* Call number `at` of a kind fails, all others pass. */
struct fault {
    enum bi_fault kind;
    int at, count;
};

static int on_fault(void *user, enum bi_fault kind)
{
    struct fault *f = user;
    return kind == f->kind && ++f->count == f->at ? EIO : 0;
}

static const char *in_folder(const char *name)
{
    static char path[sizeof folder + 20];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

enum call { WRITE_LARGE, WRITE_SMALL, FLUSH, PATCH, READ_BACK, FINISH, N_CALLS };

static int call(struct bi_out *out, enum call which, struct bioinfer_error *err)
{
    char got[10];
    switch (which) {
    case WRITE_LARGE:
        return bi_out_write(out, bytes, LARGE, err);
    case WRITE_SMALL:
        return bi_out_write(out, bytes, 10, err);
    case FLUSH:
        return bi_out_flush(out, err);
    case PATCH:
        return bi_out_patch(out, 0, "0123456789", 10, err);
    case READ_BACK:
        return bi_out_read(out, 0, got, sizeof got, err);
    default:
        return bi_out_finish(out, err);
    }
}

/* A call of which one step fails once, then every other call: all give the status and the words of
 * the first, the file that was there stays, and nothing is left beside it. */
static void failures_are_final(void)
{
    static const struct {
        enum call first;
        enum bi_fault kind;
    } cases[] = {{WRITE_LARGE, BI_FAULT_WRITE}, {FLUSH, BI_FAULT_WRITE},  {PATCH, BI_FAULT_WRITE},
                 {READ_BACK, BI_FAULT_WRITE},   {FINISH, BI_FAULT_WRITE}, {FINISH, BI_FAULT_SYNC},
                 {FINISH, BI_FAULT_RENAME}};
    for (size_t k = 0; k < BI_COUNT(cases); k++)
        for (enum call then = 0; then < N_CALLS; then++)
            for (int with_words = 0; with_words < 2; with_words++) {
                struct fault f = {cases[k].kind, 1, 0};
                struct bi_env env = bi_env_default();
                struct bioinfer_error first = {0}, err = {0};
                struct bi_out out = BI_OUT_NONE;
                FILE *old = fopen(in_folder("x"), "wb");
                fputs("old", old);
                fclose(old);
                CHECK_EQ(bi_out_open(&out, &env, in_folder("x"), &err), 0);
                CHECK_EQ(call(&out, WRITE_SMALL, &err), 0);
                env.fault = on_fault;
                env.fault_user = &f;
                CHECK_EQ(call(&out, cases[k].first, with_words ? &first : NULL), BIOINFER_IO);
                CHECK_EQ(call(&out, then, &err), BIOINFER_IO);
                CHECK_EQ(err.status, BIOINFER_IO);
                CHECK_HAS(err.text, folder);
                if (with_words)
                    CHECK_STR(err.text, first.text);
                CHECK_EQ(call(&out, FINISH, &err), BIOINFER_IO);
                bi_out_close(&out);

                char *text = NULL;
                size_t size;
                CHECK_EQ(bi_file_slurp(&env, in_folder("x"), 10, &text, &size, &err), 0);
                CHECK_STR(text, "old");
                bi_free(&env, text);
                bi_path_remove(in_folder("x"));
                CHECK_EQ(rmdir(folder), 0);
                CHECK_EQ(mkdir(folder, 0777), 0);
            }
}

/* A read of bytes that are not there says so and nothing is missing. */
static void reading_back_is_not_final(void)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_out out = BI_OUT_NONE;
    char got[20];
    CHECK_EQ(bi_out_open(&out, &env, in_folder("x"), &err), 0);
    CHECK_EQ(bi_out_write(&out, "0123456789", 10, &err), 0);
    CHECK_EQ(bi_out_read(&out, 0, got, 20, &err), BIOINFER_FORMAT);
    CHECK_EQ(bi_out_finish(&out, &err), 0);
    bi_out_close(&out);
    CHECK(bi_path_is_regular(in_folder("x")));
    bi_path_remove(in_folder("x"));
}

static int count_name(void *user, const char *name)
{
    CHECK_EQ(name[0], 'n');
    return ++*(int *)user == 10 ? -1000 : 0;
}

/* A folder of six names, and `.` and `..`, fails at each of its nine reads, and is read. */
static void a_folder_that_fails_does_not_end(void)
{
    for (int at = 1; at <= 10; at++) {
        struct fault f = {BI_FAULT_LIST, at, 0};
        struct bi_env env = bi_env_default();
        struct bioinfer_error err = {0};
        int n = 0;
        CHECK_EQ(bi_folder_make(&env, in_folder("f"), &err), 0);
        for (int i = 0; i < 6; i++) {
            char name[20];
            snprintf(name, sizeof name, "f/n%d", i);
            CHECK_EQ(bi_folder_make(&env, in_folder(name), &err), 0);
        }
        env.fault = on_fault;
        env.fault_user = &f;
        CHECK_EQ(bi_folder_list(&env, in_folder("f"), count_name, &n, &err),
                 at < 10 ? BIOINFER_IO : 0);
        if (at < 10)
            CHECK_HAS(err.text, in_folder("f"));
        CHECK(n <= 6 && (at < 10 || n == 6));
        env.fault = NULL;
        n = 9; /* the function's own failure is given as it is */
        CHECK_EQ(bi_folder_list(&env, in_folder("f"), count_name, &n, &err), -1000);
        bi_folder_remove(&env, in_folder("f"));
    }
}

/* A FIFO is refused, to be read or to be written, without a wait for its other end. */
static void a_fifo_is_refused(void)
{
    const struct bi_env env = bi_env_default();
    CHECK_EQ(mkfifo(in_folder("p"), 0666), 0);
    for (int read_only = 0; read_only < 2; read_only++) {
        struct bi_append file = BI_APPEND_NONE;
        struct bioinfer_error err = {0};
        CHECK_EQ(bi_append_open(&file, &env, in_folder("p"), read_only, &err), BIOINFER_IO);
        CHECK_HAS(err.text, "expected a regular file");
        bi_append_close(&file);
    }
    bi_path_remove(in_folder("p"));
}

static atomic_bool writes;

static void *write_fifo(void *path)
{
    const int fd = open(path, O_WRONLY); /* waits for a reader */
    writes = true;
    close(fd);
    return NULL;
}

/* Nor is a FIFO opened to find out: its writer would take that for its reader, and lose what it
 * writes. */
static void a_fifo_keeps_its_writer(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_file file = BI_FILE_NONE;
    struct bioinfer_error err = {0};
    pthread_t writer;
    char path[sizeof folder + 20];
    int fd;
    snprintf(path, sizeof path, "%s", in_folder("w"));
    CHECK_EQ(mkfifo(path, 0666), 0);
    CHECK_EQ(pthread_create(&writer, NULL, write_fifo, path), 0);
    usleep(20000); /* it waits by now; if not, nothing is found */
    CHECK_EQ(bi_file_open(&file, &env, path, &err), BIOINFER_IO);
    CHECK_HAS(err.text, "expected a regular file");
    usleep(20000);
    CHECK(!writes);
    fd = open(path, O_RDONLY | O_NONBLOCK);
    CHECK_EQ(pthread_join(writer, NULL), 0);
    close(fd);
    bi_path_remove(path);
}

int main(void)
{
    if (!test_folder(folder, sizeof folder, "file"))
        return 1;
    TEST(failures_are_final);
    TEST(reading_back_is_not_final);
    TEST(a_folder_that_fails_does_not_end);
    TEST(a_fifo_is_refused);
    TEST(a_fifo_keeps_its_writer);
    CHECK_EQ(rmdir(folder), 0);
    return test_report();
}

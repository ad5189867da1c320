/* writer_faults_test.c - every output format while system calls fail, the disk is full, names are
 * taken, or the reader of a pipe goes away. */
#define _GNU_SOURCE
#include "frame.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "../faults.h"

static const struct shape mean_large = {"mean", 6, 1, {70000}}; /* beyond the write buffer */

/* Three records, one of them failed, with file "x" of a format. */
static int run(const struct bi_env *env, const char *format, struct bioinfer_error *err)
{
    struct bioinfer_writer *w = NULL;
    struct bioinfer_writer_params p = {.struct_size = sizeof p, .format = format};
    int st = bi_writer_open(&w, env, in_folder("x"), &p, err);
    if (!st && !(st = put(w, 0, "a", 0, &mean_large, 1, 1, 1, err)) &&
        !(st = put(w, 1, "b", BIOINFER_EMPTY, NULL, 0, 1, 1, err)) &&
        !(st = put(w, 2, "c", 0, &mean_large, 1, 1, 1, err)))
        st = bi_writer_finish(w, err);
    bi_writer_close(&w);
    return st;
}

static long fail_each(const char *format, enum bi_fault kind, int error, bool once)
{
    for (int at = 1;; at++) {
        struct test_fault f = {kind, at, 0, error, once};
        struct bi_env env = bi_env_default();
        struct bioinfer_error err = {0};
        int st, expected = error == EINTR ? 0 : bi_status_from_errno(error);
        env.fault = test_on_fault;
        env.fault_user = &f;
        st = run(&env, format, &err);
        if (f.count < at) {
            CHECK_EQ(st, 0);
            empty_folder();
            return at - 1;
        }
        CHECK_EQ(st, expected);
        if (st) {
            CHECK_EQ(err.status, st);
            CHECK_HAS(err.text, folder);
            if (!CHECK_STR(listing(), ""))
                fprintf(stderr, "    %s: call %d of kind %d\n", format, at, (int)kind);
        }
        empty_folder();
    }
}

static void survives_faults(void)
{
    static const struct {
        enum bi_fault kind;
        int error;
        bool once;
    } cases[] = {
        {BI_FAULT_ALLOC, ENOMEM, true},  {BI_FAULT_ALLOC, ENOMEM, false},
        {BI_FAULT_OPEN, EACCES, true},   {BI_FAULT_OPEN, ENOSPC, true},
        {BI_FAULT_WRITE, ENOSPC, true},  {BI_FAULT_WRITE, ENOSPC, false},
        {BI_FAULT_WRITE, EIO, true},     {BI_FAULT_WRITE, EPIPE, true},
        {BI_FAULT_WRITE, EDQUOT, true},  {BI_FAULT_WRITE, EINTR, true},
        {BI_FAULT_READ, EIO, true},      {BI_FAULT_SYNC, EIO, true},
        {BI_FAULT_SYNC, ENOSPC, false},  {BI_FAULT_RENAME, EIO, true},
        {BI_FAULT_RENAME, EACCES, true},
    };
    for (int i = 0; bi_writer_format(i); i++) {
        long n = 0;
        for (size_t k = 0; k < BI_COUNT(cases); k++)
            n += fail_each(bi_writer_format(i), cases[k].kind, cases[k].error, cases[k].once);
        CHECK(n >= 20);
    }
}

/* Links under names that others could guess lead nowhere, and two writers of one file never share
 * what they write into: the one that finishes last has the name. */
static void shares_no_temporary_file(void)
{
    struct bi_env env = bi_env_default();
    for (int i = 0; bi_writer_format(i); i++) {
        const char *sides[] = {"x", "x.data", "x.index", "x.ids.txt"};
        struct bioinfer_error err = {0};
        char link[64];
        FILE *victim = fopen(in_folder("victim"), "wb");
        fputs("mine", victim);
        fclose(victim);
        for (size_t k = 0; k < BI_COUNT(sides); k++) {
            snprintf(link, sizeof link, "%s.tmp.%ld", sides[k], (long)getpid());
            CHECK_EQ(symlink("victim", in_folder(link)), 0);
        }
        CHECK_EQ(run(&env, bi_writer_format(i), &err), 0);
        check_text("victim", "mine");
        empty_folder();
    }
    struct bi_out a = BI_OUT_NONE, b = BI_OUT_NONE;
    CHECK_EQ(bi_out_open(&a, &env, in_folder("x"), NULL), 0);
    CHECK_EQ(bi_out_write(&a, "first", 5, NULL), 0);
    CHECK_EQ(bi_out_open(&b, &env, in_folder("x"), NULL), 0);
    CHECK_EQ(bi_out_write(&b, "second", 6, NULL), 0);
    CHECK(strcmp(a.temp, b.temp));
    CHECK_EQ(bi_out_finish(&b, NULL), 0);
    check_text("x", "second");
    CHECK_EQ(bi_out_finish(&a, NULL), 0);
    check_text("x", "first");
    bi_out_close(&a);
    bi_out_close(&b);
    CHECK_STR(listing(), "x");
    empty_folder();
}

/* A failing run leaves the file of an earlier one alone. */
static void keeps_the_old_file(void)
{
    for (int i = 0; bi_writer_format(i); i++)
        for (int kind = BI_FAULT_SYNC; kind <= BI_FAULT_RENAME; kind++) {
            struct test_fault f = {(enum bi_fault)kind, 1, 0, EIO, true};
            struct bi_env env = bi_env_default();
            struct bioinfer_error err;
            FILE *old = fopen(in_folder("x"), "wb");
            fputs("old", old);
            fclose(old);
            env.fault = test_on_fault;
            env.fault_user = &f;
            CHECK_EQ(run(&env, bi_writer_format(i), &err), BIOINFER_IO);
            check_text("x", "old");
            CHECK_STR(listing(), "x");
            empty_folder();
        }
}

/* The system's own "file too large", which also reaches libhdf5. */
static void survives_a_full_disk(void)
{
    struct rlimit old, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    for (int i = 0; bi_writer_format(i); i++)
        for (rlim_t size = 0; size < 700000; size += size < 4096 ? 2048 : 116000) {
            struct bi_env env = bi_env_default();
            struct bioinfer_error err;
            bool npz = strcmp(bi_writer_format(i), "tsv") && strcmp(bi_writer_format(i), "jsonl");
            rlim_t needed = strcmp(bi_writer_format(i), "esm-pt") ? 560000 : 280000;
            int st;
            small = old;
            small.rlim_cur = size;
            setrlimit(RLIMIT_FSIZE, &small);
            st = run(&env, bi_writer_format(i), &err);
            setrlimit(RLIMIT_FSIZE, &old);
            CHECK(st == BIOINFER_NO_SPACE || (!st && size > needed));
            if (npz && size < needed)
                CHECK_EQ(st, BIOINFER_NO_SPACE);
            if (st)
                CHECK_STR(listing(), "");
            empty_folder();
        }
    signal(SIGXFSZ, handler);
}

/* Standard output: whole records in order, and a reader that goes away. */
static void writes_to_a_pipe(void)
{
    static const char *const formats[] = {"jsonl", "tsv"};
    for (int i = 0; i < 2; i++)
        for (int gone = 0; gone < 2; gone++) {
            struct bi_env env = bi_env_default();
            struct bioinfer_writer *w = NULL;
            struct bioinfer_writer_params p = {.struct_size = sizeof p, .format = formats[i]};
            struct bioinfer_error err;
            int fds[2], saved, st;
            char text[4096] = "";
            fflush(stdout);
            saved = dup(1);
            if (!CHECK(!pipe(fds)))
                return;
            dup2(fds[1], 1);
            close(fds[1]);
            if (gone)
                close(fds[0]);
            st = bi_writer_open(&w, &env, "-", &p, &err);
            if (!st && !(st = put(w, 0, "a", 0, &mean5, 1, 1, 1, &err)))
                st = bi_writer_finish(w, &err);
            bi_writer_close(&w);
            dup2(saved, 1); /* close() has left it open */
            close(saved);
            CHECK_EQ(st, gone ? BIOINFER_CLOSED_PIPE : 0);
            if (gone) {
                CHECK_HAS(err.text, "standard output: write");
            } else {
                CHECK(read(fds[0], text, sizeof text - 1) > 0);
                CHECK_HAS(text, i ? "a\t3\tok\t" : "{\"ordinal\":0,\"id\":\"a\"");
                close(fds[0]);
            }
        }
    CHECK_STR(listing(), "");
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    TEST(survives_faults);
    TEST(keeps_the_old_file);
    TEST(shares_no_temporary_file);
    TEST(survives_a_full_disk);
    TEST(writes_to_a_pipe);
    rmdir(folder);
    return test_report();
}

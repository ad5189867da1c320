/* coverage_test.c - bedGraph and BigWig of windows that come in any order and overlap.
 *
 * Lines are compared with those that the definition gives; a BigWig of bins put one behind the
 * other with that of all at once; memory over N windows with that over 4 N. */
#define _GNU_SOURCE
#include "../../writers/bigwig.h"
#include "../../writers/writer.h"

#include <malloc.h>
#include <math.h>
#include <unistd.h>

#include "../failing.h"
#include "../folder.h"
#include "../test.h"

enum { BIN = 10 };

static char folder[200], out[220];

static const char *in_output(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", out, name);
    return path;
}

static void remove_output(void)
{
    struct bi_env env = bi_env_default();
    bi_folder_remove(&env, out);
}

static int open_as(struct bioinfer_writer **w, const struct bi_env *env, const char *format,
                   const char *tracks, struct bioinfer_error *err)
{
    const struct bioinfer_writer_params p = {
        .struct_size = sizeof p, .format = format, .tracks = tracks};
    return bi_writer_open(w, env, out, &p, err);
}

/* Puts a window of n bins with 2 tracks, whose second is ten times the first. */
static int put(struct bioinfer_writer *w, const char *place, int64_t n, const float *first,
               struct bioinfer_error *err)
{
    float values[64];
    const struct bioinfer_array a = {
        .kind = "tracks", .layer = -1, .n_dims = 2, .shape = {n, 2}, .data = values};
    const struct bioinfer_text text = {"window", place, strlen(place)};
    const struct bioinfer_result r = {.id = "x",
                                      .message = "",
                                      .n_arrays = 1,
                                      .arrays = &a,
                                      .n_layers_kept = 1,
                                      .n_kinds = 1,
                                      .n_texts = 1,
                                      .texts = &text};
    for (int64_t i = 0; i < n; i++) {
        values[2 * i] = first[i];
        values[2 * i + 1] = 10 * first[i];
    }
    return bi_writer_put(w, &r, err);
}

static void check_text(const char *name, const char *expected)
{
    struct bi_env env = bi_env_default();
    char *text = NULL;
    size_t size = 0;
    CHECK_EQ(bi_file_slurp(&env, in_output(name), 1 << 20, &text, &size, NULL), 0);
    CHECK_STR(text ? text : "", expected);
    free(text);
}

/* ---- what is written ---- */

static const struct {
    const char *place; /* contig, its length, first bin, bases of a bin */
    int64_t n;
    float values[5];
} windows[] = {
    {"b\t95\t70\t10", 4, {1, 2, 2, 9}}, /* the last bin begins beyond the contig */
    {"a\t200\t50\t10", 3, {3, 5, 5}},
    {"a\t200\t-15\t10", 4, {7, 7, 1, 1}}, /* two bins begin before it */
    {"a\t200\t60\t10", 4, {1, 5, 5, 8}},  /* overlaps the second by two bins */
    {"a\t200\t60\t10", 1, {0}},           /* a third value of one bin */
    {"a\t200\t100\t10", 1, {8}},          /* touches what is before: a group of its own */
};

static int put_all(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    int st = 0;
    for (size_t i = 0; i < BI_COUNT(windows) && !st; i++)
        st = put(w, windows[i].place, windows[i].n, windows[i].values, err);
    return st;
}

static void covers(void)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bioinfer_writer *w = NULL;
    CHECK_EQ(open_as(&w, &env, "bedgraph", "one\nt/wo\n", &err), 0);
    CHECK_EQ(put_all(w, &err), 0);
    CHECK_EQ(bi_writer_finish(w, &err), 0);
    bi_writer_close(&w);
    check_text("one.bedgraph", "a\t5\t25\t1\n"
                               "a\t50\t60\t3\n"
                               "a\t60\t70\t2\n"
                               "a\t70\t90\t5\n"
                               "a\t90\t100\t8\n"
                               "a\t100\t110\t8\n"
                               "b\t70\t80\t1\n"
                               "b\t80\t95\t2\n");
    check_text("t_wo.bedgraph", "a\t5\t25\t10\n"
                                "a\t50\t60\t30\n"
                                "a\t60\t70\t20\n"
                                "a\t70\t90\t50\n"
                                "a\t90\t100\t80\n"
                                "a\t100\t110\t80\n"
                                "b\t70\t80\t10\n"
                                "b\t80\t95\t20\n");
    remove_output();
}

static double real_at(const char *p)
{
    double x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The BigWig of the first track, in the lines above: its summary counts bases, not bins, and its
 * index ends with the last contig. */
static void sums_up(void)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bioinfer_writer *w = NULL;
    char *text = NULL;
    size_t size = 0;
    CHECK_EQ(open_as(&w, &env, "bigwig", "one\ntwo\n", &err), 0);
    CHECK_EQ(put_all(w, &err), 0);
    CHECK_EQ(bi_writer_finish(w, &err), 0);
    bi_writer_close(&w);
    CHECK_EQ(bi_file_slurp(&env, in_output("one.bw"), 1 << 20, &text, &size, NULL), 0);
    if (CHECK(size > 64 && bi_le32(text) == 0x888FFC26)) {
        const char *summary = text + bi_le64(text + 44), *index = text + bi_le64(text + 24);
        CHECK_EQ(bi_le64(summary), 20 + 10 + 10 + 20 + 10 + 10 + 10 + 15);
        CHECK(real_at(summary + 8) == 1 && real_at(summary + 16) == 8);
        CHECK(real_at(summary + 24) == 20 + 30 + 20 + 100 + 80 + 80 + 10 + 30);
        CHECK(real_at(summary + 32) == 20 + 90 + 40 + 500 + 640 + 640 + 10 + 60);
        CHECK_EQ(bi_le32(index), 0x2468ACE0);
        CHECK(bi_le32(index + 16) == 0 && bi_le32(index + 20) == 5); /* contig a */
        CHECK(bi_le32(index + 24) == 1 && bi_le32(index + 28) == 95);
    }
    bi_free(&env, text);
    remove_output();
}

static void refuses(void)
{
    static const struct {
        const char *place, *words;
        int status;
        float value;
    } cases[] = {
        {"a\t100\t0", "does not say where", BIOINFER_INVALID, 1},
        {"a\t100\t0\t10\t1", "does not say where", BIOINFER_INVALID, 1},
        {"a\t100\t0\t10 ", "does not say where", BIOINFER_INVALID, 1},
        {"a\t100\t0\t0", "does not say where", BIOINFER_INVALID, 1},
        {"a\t100\t0x\t10", "does not say where", BIOINFER_INVALID, 1},
        {"a\t100\t-\t10", "does not say where", BIOINFER_INVALID, 1},
        {"a\t100\t9223372036854775807\t10", "does not say where", BIOINFER_INVALID, 1},
        {"a\t99999999999999999999\t0\t10", "does not say where", BIOINFER_INVALID, 1},
        {"a\t-1\t0\t10", "does not say where", BIOINFER_INVALID, 1},
        {"", "does not say where", BIOINFER_INVALID, 1},
        {"a\t100\t0\t20", "bins of 20 bases, expected 10", BIOINFER_INVALID, 1},
        {"b\t90\t0\t10", "contig b of 90 bases, before it had 95", BIOINFER_INVALID, 1},
        {"a\t200\t55\t10", "a from 50 on: windows overlap, and not by whole bins", BIOINFER_LIMIT,
         1},
        {"c\t200\t0\t10", "value of c:0 is not finite", BIOINFER_NONFINITE, INFINITY},
        {"c\t5000000000\t0\t10", "of 5000000000 bases: BigWig takes", BIOINFER_LIMIT, 1},
    };
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bioinfer_writer *w = NULL;
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        CHECK_EQ(open_as(&w, &env, "bigwig", "one\ntwo\n", &err), 0);
        CHECK_EQ(put_all(w, &err), 0);
        int st = put(w, cases[i].place, 1, &cases[i].value, &err);
        st = st ? st : bi_writer_finish(w, &err);
        CHECK_EQ(st, cases[i].status);
        CHECK_HAS(err.text, cases[i].words);
        bi_writer_close(&w);
        remove_output();
    }
    CHECK_EQ(open_as(&w, &env, "bigwig", "one\n", &err), 0);
    CHECK_EQ(put_all(w, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "takes arrays [bins, tracks] of each record, of 1 tracks in all");
    bi_writer_close(&w);
    CHECK_EQ(open_as(&w, &env, "bigwig", "one\na\none\n", &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "two tracks of the name 'one'");
    CHECK_EQ(open_as(&w, &env, "bedgraph", NULL, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "needs the names of tracks");
    remove_output();
    FILE *f = fopen(out, "wb");
    CHECK(f && !fclose(f));
    CHECK_EQ(open_as(&w, &env, "bedgraph", "one\n", &err), BIOINFER_IO);
    CHECK_HAS(err.text, "is a file; these formats write a folder");
    unlink(out);
}

/* ---- BigWig by pieces ---- */

static void extends(void)
{
    enum { N = 5000 };
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    static float values[N];
    char *text[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    CHECK_EQ(bi_folder_make(&env, out, &err), 0);
    for (int i = 0; i < N; i++)
        values[i] = (float)(i * 37 % 101);
    for (int pieces = 0; pieces < 2; pieces++) {
        struct bioinfer_bigwig *b = NULL;
        const int first = pieces ? 1 : N;
        CHECK_EQ(bi_bigwig_open(&b, &env, in_output("x.bw"), &err), 0);
        CHECK_EQ(bi_bigwig_extend(b, values, 1, &err), BIOINFER_MISUSE);
        CHECK_EQ(bi_bigwig_put(b, "a", N * BIN - 3, 0, BIN, values, first, &err), 0);
        for (int i = first, n = 1; i < N; i += n) {
            n = i % 700 + 1 < N - i ? i % 700 + 1 : N - i;
            CHECK_EQ(bi_bigwig_extend(b, values + i, n, &err), 0);
        }
        CHECK_EQ(bi_bigwig_extend(b, values, 1, &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, "begin beyond its 49997 bases");
        CHECK_EQ(bi_bigwig_finish(b, &err), 0);
        bi_bigwig_close(&b);
        CHECK_EQ(
            bi_file_slurp(&env, in_output("x.bw"), 1 << 20, &text[pieces], &size[pieces], NULL), 0);
    }
    CHECK(size[0] == size[1] && !memcmp(text[0], text[1], size[0]));
    CHECK(size[0] > 200 && bi_le16(text[0] + 6) > 0);
    for (int i = 0; i < bi_le16(text[0] + 6); i++) { /* zoom levels end where the contig does */
        const char *index = text[0] + bi_le64(text[0] + 64 + 24 * i + 16);
        CHECK(bi_le32(index) == 0x2468ACE0 && bi_le32(index + 20) == 0);
        CHECK_EQ(bi_le32(index + 28), N * BIN - 3);
    }
    free(text[0]);
    free(text[1]);
    remove_output();
}

/* Runs touch; two values of one base are refused. */
static void runs_share_no_base(void)
{
    static const float values[3] = {1, 2, 3};
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    CHECK_EQ(bi_folder_make(&env, out, &err), 0);
    for (int64_t start = 3 * BIN; start >= 3 * BIN - 1; start--) {
        struct bioinfer_bigwig *b = NULL;
        CHECK_EQ(bi_bigwig_open(&b, &env, in_output("x.bw"), &err), 0);
        CHECK_EQ(bi_bigwig_put(b, "a", 1000, start, BIN, values, 3, &err), 0);
        CHECK_EQ(bi_bigwig_put(b, "a", 1000, 0, BIN, values, 3, &err), 0);
        CHECK_EQ(bi_bigwig_finish(b, &err), start == 3 * BIN ? 0 : BIOINFER_INVALID);
        bi_bigwig_close(&b);
    }
    remove_output();
}

/* ---- memory ---- */

struct meter {
    size_t now, most;
};

static void *metered_alloc(void *user, size_t size)
{
    struct meter *m = user;
    void *p = aligned_alloc(64, (size + 63) / 64 * 64);
    m->now += p ? malloc_usable_size(p) : 0;
    m->most = m->now > m->most ? m->now : m->most;
    return p;
}

static void metered_free(void *user, void *p)
{
    struct meter *m = user;
    m->now -= p ? malloc_usable_size(p) : 0;
    free(p);
}

/* Gives the most memory that n windows of 2,000 values take, each of which overlaps the next. */
static size_t most_memory(const char *format, int n)
{
    enum { BINS = 1000 };
    static float values[2 * BINS];
    struct meter m = {0};
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bioinfer_writer *w = NULL;
    char place[80];
    const struct bioinfer_array a = {
        .kind = "tracks", .layer = -1, .n_dims = 2, .shape = {BINS, 2}, .data = values};
    env.alloc = metered_alloc;
    env.free = metered_free;
    env.alloc_user = &m;
    for (int i = 0; i < 2 * BINS; i++)
        values[i] = (float)(i % 17);
    CHECK_EQ(open_as(&w, &env, format, "one\ntwo\n", &err), 0);
    for (int i = 0; i < n; i++) {
        const int length = snprintf(place, sizeof place, "a\t900000000\t%d\t%d",
                                    (n - i) * BINS / 2 * BIN, BIN);
        const struct bioinfer_text text = {"window", place, (size_t)length};
        const struct bioinfer_result r = {
            .id = "", .message = "", .n_arrays = 1, .arrays = &a, .n_texts = 1, .texts = &text};
        CHECK_EQ(bi_writer_put(w, &r, &err), 0);
    }
    CHECK_EQ(bi_writer_finish(w, &err), 0);
    bi_writer_close(&w);
    CHECK_EQ(m.now, 0);
    remove_output();
    return m.most;
}

static void stays_small(void)
{
    static const char *const formats[] = {"bedgraph", "bigwig"};
    for (size_t i = 0; i < BI_COUNT(formats); i++) {
        const int n = 200;
        const size_t few = most_memory(formats[i], n), many = most_memory(formats[i], 4 * n);
        printf("%s: %zu bytes for %d windows, %zu for %d\n", formats[i], few, n, many, 4 * n);
        CHECK(many < few + 3 * (size_t)n * 100); /* 24 bytes in an array that doubles */
    }
}

/* ---- failures ---- */

static void failures(void)
{
    static const char *const formats[] = {"bedgraph", "bigwig"};
    for (size_t i = 0; i < BI_COUNT(formats); i++) {
        bool met = true;
        for (long n = 1; met; n++) {
            struct failing f = {.fail_at = n};
            struct bi_env env = bi_env_default();
            struct bioinfer_error err = {0};
            struct bioinfer_writer *w = NULL;
            env.alloc = failing_alloc;
            env.free = failing_free;
            env.alloc_user = &f;
            int st = open_as(&w, &env, formats[i], "one\ntwo\n", &err);
            if (!st && !(st = put_all(w, &err)))
                st = bi_writer_finish(w, &err);
            bi_writer_close(&w);
            met = f.n_calls >= n;
            CHECK_EQ(st, met ? BIOINFER_NOMEM : 0);
            CHECK_EQ(f.n_live, 0);
            CHECK(!st || err.text[0]);
            remove_output();
        }
    }
}

int main(void)
{
    if (!test_folder(folder, sizeof folder, "coverage"))
        return 2;
    snprintf(out, sizeof out, "%s/out", folder);
    TEST(covers);
    TEST(sums_up);
    TEST(refuses);
    TEST(extends);
    TEST(runs_share_no_base);
    TEST(stays_small);
    TEST(failures);
    CHECK_EQ(rmdir(folder), 0);
    return test_report();
}

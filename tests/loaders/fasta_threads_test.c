/* fasta_threads_test.c - the FASTA reader with threads: the records, messages and counts of one
 * thread, wherever blocks are cut, whatever fails in a thread.
 *
 * Sections: 1 texts  2 cuts  3 files  4 faults */
#define _GNU_SOURCE
#include "../../loaders/fasta.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"

/* ---- 1 texts ---- */

static char file_path[64];

static struct {
    char data[8 << 20];
    size_t n;
} mixed;

/* Records of all kinds, sound ones in most places. */
static void make_mixed(size_t n_records)
{
    static const char *const kinds[] = {">%zu plain\nMKTAYIAKQR\nQISFVKSHFS\n",
                                        ">%zu\nmktayiakqrqis\n",
                                        ">%zu\nMKT*\n",
                                        ">%zu \r\nMKT\r\nAYI\r\n",
                                        ">%zu\nM-KT..A\n\n",
                                        ">%zu\n;c\nMKTAY\n; >d\nIAK\n"};
    static const char *const odd[] = {
        ">%zu\nMK7T\n",        ">\nMKT\n",           ">%zu\n\n", ">%zu\nMK*T\nA\n",
        ">%zu\tx\001y\nMKT\n", ">%zu\nMK>T\r\r\nA\n"};
    mixed.n = 0;
    for (size_t i = 0; i < n_records; i++) {
        char text[80];
        const unsigned k = random_below(40);
        const char *form = k < 4    ? odd[random_below(6)]
                           : k < 20 ? kinds[random_below(6)]
                                    : kinds[0];
        int len = snprintf(text, sizeof text, form, i);
        if (!CHECK(mixed.n + (size_t)len <= sizeof mixed.data))
            return;
        memcpy(mixed.data + mixed.n, text, (size_t)len);
        mixed.n += (size_t)len;
    }
}

/* ---- 2 cuts ---- */

static struct outcome {
    char text[1 << 14]; /* all records, the end, and at last the log */
    size_t n;
    char log[1 << 10];
} outcome;

static void say(const char *fmt, ...) BI_PRINTF(1, 2);
static void say(const char *fmt, ...)
{
    va_list args;
    int n;
    va_start(args, fmt);
    n = vsnprintf(outcome.text + outcome.n, sizeof outcome.text - outcome.n, fmt, args);
    va_end(args);
    if (CHECK(n >= 0 && outcome.n + (size_t)n < sizeof outcome.text))
        outcome.n += (size_t)n;
}

static void on_log(void *user, int level, const char *text)
{
    const size_t n = strlen(outcome.log);
    (void)user;
    snprintf(outcome.log + n, sizeof outcome.log - n, "%d: %s\n", level, text);
}

static void say_record(const struct bioinfer_record *x)
{
    say("%llu %s %s %.*s %d %s\n", (unsigned long long)x->ordinal, x->id, x->description,
        (int)x->length, x->sequence, x->status, x->message);
    CHECK(x->sequence[x->length] == '\0');
}

/* The text in blocks of so many bytes, 0: by this thread alone. */
static void read_text(const char *text, size_t n, size_t block, bool many)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_reader *r = NULL;
    struct bioinfer_records *x;
    struct bioinfer_record one;
    struct bioinfer_error err = {0};
    struct bioinfer_reader_params p = BIOINFER_PARAMS(struct bioinfer_reader_params,
                                                      .n_threads = block ? 2 : 0);
    int st;
    outcome.n = 0;
    outcome.log[0] = '\0';
    env.log = on_log;
    if (!CHECK(!bi_fasta_open_memory(&r, &env, "t.fa", text, n, &p, &err)))
        return;
    if (block)
        bi_fasta_tune_blocks(r, block);
    if (!many)
        while ((st = bi_fasta_next(r, &one, &err)) > 0)
            say_record(&one);
    else
        while ((st = bi_fasta_next_many(r, &x, &err)) > 0) {
            for (size_t i = 0; i < x->n_records; i++)
                say_record(&x->records[i]);
            bi_fasta_many_free(&x);
        }
    say("%d %s\n%s", st, st ? err.text : "", outcome.log);
    bi_fasta_close(&r);
}

/* Boundaries at every byte of texts, of which some end in errors. */
static void cuts_anywhere(void)
{
    static struct outcome serial;
    static const char *const starts[] = {"", "\xEF\xBB\xBF", "; note\n \n", "MKT\n", "\n\n@x\n"};
    for (size_t k = 0; k < BI_COUNT(starts); k++) {
        static char text[1 << 12];
        size_t n = strlen(starts[k]);
        make_mixed(16);
        memcpy(text, starts[k], n);
        memcpy(text + n, mixed.data, mixed.n);
        n += mixed.n - (k == 2); /* without the last LF */
        read_text(text, n, 0, false);
        serial = outcome;
        for (size_t block = 1; block <= n / 2 + 1; block++) {
            read_text(text, n, block, block % 2);
            if (!CHECK_STR(outcome.text, serial.text))
                fprintf(stderr, "    in blocks of %zu\n", block);
        }
    }
}

/* ---- 3 files ---- */

static uint64_t digest(uint64_t hash, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001B3u;
    return hash ^ n;
}

/* A digest of all records of the file; blocks 0: by this thread alone. Calls of next() and
 * next_many() follow each other in any order. */
static uint64_t digest_file(size_t block, long *n_records, uint64_t *done)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_reader *r = NULL;
    struct bioinfer_error err = {0};
    struct bioinfer_reader_params p = BIOINFER_PARAMS(struct bioinfer_reader_params,
                                                      .n_threads = block ? 4 : 1);
    struct bioinfer_records *kept = NULL;
    uint64_t hash = 1, total;
    int st = 1;
    *n_records = 0;
    if (!CHECK(!bi_fasta_open(&r, &env, file_path, &p, &err)))
        return 0;
    if (block)
        bi_fasta_tune_blocks(r, block);
    while (st > 0) {
        struct bioinfer_records *many = NULL;
        struct bioinfer_record one;
        const struct bioinfer_record *x = &one;
        size_t n = 1;
        if (random_below(3)) {
            st = bi_fasta_next(r, &one, &err);
        } else if ((st = bi_fasta_next_many(r, &many, &err)) > 0) {
            x = many->records;
            n = many->n_records;
        }
        for (size_t i = 0; st > 0 && i < n; i++) {
            CHECK_EQ(x[i].ordinal, (*n_records)++);
            hash = digest(hash, x[i].id, strlen(x[i].id));
            hash = digest(hash, x[i].description, strlen(x[i].description));
            hash = digest(hash, x[i].sequence, x[i].length);
            hash = digest(hash, x[i].message, strlen(x[i].message));
        }
        if (many) {
            bi_fasta_many_free(&kept); /* blocks outlive others, and the reader */
            kept = many;
        }
    }
    CHECK_EQ(st, 0);
    bi_fasta_progress(r, done, &total);
    bi_fasta_close(&r);
    bi_fasta_many_free(&kept);
    return hash;
}

static void reads_large_files(void)
{
    uint64_t done, hash;
    long n_records, n;
    make_mixed(100000);
    write_file(file_path, mixed.data, mixed.n);
    hash = digest_file(0, &n_records, &done);
    CHECK_EQ(n_records, 100000);
    CHECK_EQ(done, mixed.n);
    for (size_t block = 100; block < mixed.n; block *= 7) {
        CHECK_EQ(digest_file(block, &n, &done), hash);
        CHECK_EQ(n, n_records);
        CHECK_EQ(done, mixed.n);
    }
}

/* ---- 4 faults ---- */

/* Threads that cannot read or have no memory leave it to the caller, who says so if it must. */
static atomic_int n_faults;

static int fail_some(void *user, enum bi_fault kind)
{
    const int n = atomic_fetch_add(&n_faults, 1);
    return kind == (enum bi_fault)((int *)user)[0] && n >= 40 && n % ((int *)user)[1] == 0 ? EIO
                                                                                           : 0;
}

static void survives_faults_of_threads(void)
{
    make_mixed(20000);
    write_file(file_path, mixed.data, mixed.n);
    for (int k = 0; k < 40; k++) {
        int rule[] = {k % 2 ? BI_FAULT_READ : BI_FAULT_ALLOC, 1 + k};
        struct bi_env env = bi_env_default();
        struct bioinfer_reader *r = NULL;
        struct bioinfer_record x;
        struct bioinfer_error err = {0};
        struct bioinfer_reader_params p = BIOINFER_PARAMS(struct bioinfer_reader_params,
                                                          .n_threads = 4);
        uint64_t n = 0;
        int st;
        env.fault = fail_some;
        env.fault_user = rule;
        atomic_store(&n_faults, 0);
        if (!CHECK(!bi_fasta_open(&r, &env, file_path, &p, &err)))
            continue;
        bi_fasta_tune_blocks(r, 5000);
        while ((st = bi_fasta_next(r, &x, &err)) > 0)
            CHECK_EQ(x.ordinal, n++);
        CHECK(st ? st == (k % 2 ? BIOINFER_IO : BIOINFER_NOMEM) && n < 20000 : n == 20000);
        bi_fasta_close(&r);
    }
}

/* A file that is cut while it is read: what is gone is gone, and nothing else. */
static void survives_shrinking(void)
{
    make_mixed(50000);
    for (int k = 0; k < 4; k++) {
        struct bi_env env = bi_env_default();
        struct bioinfer_reader *r = NULL;
        struct bioinfer_record x;
        struct bioinfer_error err = {0};
        struct bioinfer_reader_params p = BIOINFER_PARAMS(struct bioinfer_reader_params,
                                                          .n_threads = 4);
        uint64_t n = 0;
        write_file(file_path, mixed.data, mixed.n);
        if (!CHECK(!bi_fasta_open(&r, &env, file_path, &p, &err)))
            continue;
        bi_fasta_tune_blocks(r, 2000);
        while (bi_fasta_next(r, &x, &err) > 0) {
            CHECK_EQ(x.ordinal, n++);
            if (n == 5000)
                CHECK(!truncate(file_path, (off_t)(mixed.n / 4 * (size_t)k)));
        }
        CHECK(n >= 5000 && n < 50000);
        bi_fasta_close(&r);
    }
}

int main(void)
{
    char folder[] = "/tmp/bioinfer-fasta-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    snprintf(file_path, sizeof file_path, "%s/t.fa", folder);
    TEST(cuts_anywhere);
    TEST(reads_large_files);
    TEST(survives_faults_of_threads);
    TEST(survives_shrinking);
    unlink(file_path);
    rmdir(folder);
    return test_report();
}

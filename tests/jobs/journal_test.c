/* journal_test.c - a job from inside: what a failure of the disk says, however much is asked after
 * it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../jobs/job.h"
#include "../test.h"

static char folder[64], path[96], inside[96];

struct fault {
    enum bi_fault kind;
    int at, count, error;
};

/* The call number `at` of its kind fails, for one reason; all behind it fail for another. */
static int on_fault(void *user, enum bi_fault kind)
{
    struct fault *f = user;
    if (kind != f->kind || ++f->count < f->at)
        return 0;
    return f->count == f->at ? f->error : EIO;
}

/* Stands before the C library's: which files were synced, in order, and how long they were. */
static struct synced {
    ino_t file;
    off_t size;
} synced[8];
static int n_synced;

int fdatasync(int fd)
{
    struct stat is;
    if (!fstat(fd, &is))
        synced[n_synced++ % (int)BI_COUNT(synced)] = (struct synced){is.st_ino, is.st_size};
    return (int)syscall(SYS_fdatasync, fd);
}

static int next(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    int *n = user;
    static char id[16];
    (void)err;
    if (*n == 60)
        return 0;
    snprintf(id, sizeof id, "r%d", (*n)++);
    *r = (struct bioinfer_record){
        .id = id, .description = "", .sequence = "ACDE", .length = 4, .message = ""};
    return 1;
}

/* A job whose results are wide; it commits after every tenth. The first status that is not 0, and
 * what every call behind it says. */
static int run(const struct bi_env *env, struct bioinfer_error *first)
{
    static float data[6000];
    const struct bioinfer_writer_params w = {.struct_size = sizeof w, .format = "npz"};
    const struct bioinfer_job_params p = {
        .struct_size = sizeof p, .writer = &w, .options = "o", .no_dedup = 1};
    const struct bioinfer_array array = {
        .kind = "mean", .has_layer = 1, .layer = 1, .n_dims = 1, .shape = {6000}, .data = data};
    struct bioinfer_job *job = NULL;
    struct bioinfer_record r;
    struct bioinfer_error err = {0};
    int n = 0, st = bi_job_open(&job, env, path, &p, first), got;
    if (st)
        return st;
    job->source = next;
    job->source_user = &n;
    for (int i = 0; i < 60; i++) {
        if ((got = bi_job_source(job, &r, st ? &err : first)) == 1) {
            struct bioinfer_result result = {.ordinal = r.ordinal,
                                             .id = r.id,
                                             .description = "",
                                             .length = 4,
                                             .message = "",
                                             .arrays = &array,
                                             .n_arrays = 1,
                                             .n_layers_kept = 1,
                                             .n_kinds = 1};
            got = bi_job_sink(job, &result, st ? &err : first);
            n_synced = 0;
            if (!got && i % 10 == 9) {
                got = bi_job_commit(job, st ? &err : first);
                CHECK(got || n_synced == 2);
            }
        }
        if (st) { /* it is told again and again */
            CHECK_EQ(got, st);
            CHECK_STR(err.text, first->text);
            CHECK_EQ(err.status, st);
        }
        st = st ? st : got < 0 ? got : 0;
    }
    if (st) {
        CHECK_EQ(bi_job_commit(job, NULL), job->part.journal.n_group ? st : 0);
        bi_job_close(&job);
        return st;
    }
    bi_job_source(job, &r, NULL);
    st = bi_job_finish(job, first);
    bi_job_close(&job);
    return st;
}

static void clear(void)
{
    struct bi_env env = bi_env_default();
    char part[128];
    snprintf(part, sizeof part, "%s.part", path);
    bi_folder_remove(&env, part);
    unlink(path);
    snprintf(part, sizeof part, "%s.manifest.tsv", path);
    unlink(part);
}

static void first_failure_is_told(void)
{
    static const struct {
        enum bi_fault kind;
        int error, status;
    } cases[] = {{BI_FAULT_WRITE, ENOSPC, BIOINFER_NO_SPACE},
                 {BI_FAULT_SYNC, ENOSPC, BIOINFER_NO_SPACE},
                 {BI_FAULT_WRITE, EDQUOT, BIOINFER_NO_SPACE}};
    for (size_t k = 0; k < BI_COUNT(cases); k++) {
        int at = 1;
        for (;; at++) {
            struct fault f = {cases[k].kind, at, 0, cases[k].error};
            struct bi_env env = bi_env_default();
            struct bioinfer_error err = {0};
            int st;
            env.fault = on_fault;
            env.fault_user = &f;
            st = run(&env, &err);
            clear();
            if (f.count < at) {
                CHECK_EQ(st, 0);
                break;
            }
            CHECK_EQ(st, cases[k].status);
            CHECK_HAS(err.text, strerror(cases[k].error));
        }
        CHECK(at > 5);
    }
}

static int n_reads;

static int count_reads(void *user, enum bi_fault kind)
{
    (void)user;
    n_reads += kind == BI_FAULT_READ;
    return 0;
}

/* The results of a job that goes on are not read before they are asked for. */
static void resume_reads_no_results(void)
{
    const struct bioinfer_writer_params w = {.struct_size = sizeof w, .format = "npz"};
    const struct bioinfer_job_params p = {.struct_size = sizeof p,
                                          .writer = &w,
                                          .options = "o",
                                          .no_dedup = 1,
                                          .resume = BIOINFER_RESUME_MATCH};
    struct fault f = {BI_FAULT_RENAME, 2, 0,
                      ENOSPC}; /* behind that of job.json: all is in the journal */
    struct bi_env env = bi_env_default();
    struct bioinfer_job *job = NULL;
    struct bioinfer_record r;
    struct bioinfer_error err = {0};
    int n = 0;
    env.fault = on_fault;
    env.fault_user = &f;
    CHECK_EQ(run(&env, &err), BIOINFER_NO_SPACE);
    env.fault = count_reads;
    CHECK_EQ(bi_job_open(&job, &env, path, &p, &err), 0);
    CHECK_EQ(job->stats.resumed, 60);
    job->source = next;
    job->source_user = &n;
    while (bi_job_source(job, &r, &err) == 1)
        CHECK(false);
    CHECK_EQ(n_reads <= 6, true); /* job.json, records as they were committed, and no payload */
    bi_job_close(&job);
    clear();
}

/* Records that were written in another order than they are asked for are read once. */
static void near_records_are_read_once(void)
{
    enum { N = 64 * 32, BLOCKS = N / 64 };
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_journal j;
    struct bi_journal_record r;
    env.fault = count_reads;
    CHECK_EQ(bi_journal_open(&j, &env, folder, false, &err), 0);
    for (uint64_t i = 0; i < N; i++) {
        r = (struct bi_journal_record){.ordinal = i};
        bi_journal_begin(&j, &r);
        CHECK_EQ(bi_journal_write(&j, &i, sizeof i, &err), 0);
        CHECK_EQ(bi_journal_end(&j, &r, &err), 0);
    }
    CHECK_EQ(bi_journal_commit(&j, false, &err), 0);
    for (int kept = 1; kept <= BLOCKS; kept += BLOCKS - 1) {
        CHECK_EQ(bi_journal_keep(&j, (size_t)kept, &err), 0);
        n_reads = 0;
        for (uint64_t i = 0; i < N; i++) {
            const uint64_t at = i % BLOCKS * 64 + i / BLOCKS; /* each of another block */
            CHECK_EQ(bi_journal_get(&j, at, &r, &err), 0);
            CHECK_EQ(r.ordinal, at);
        }
        CHECK_EQ(n_reads, kept == 1 ? N : BLOCKS);
    }
    bi_journal_close(&j);
    snprintf(inside, sizeof inside, "%s/data", folder);
    unlink(inside);
    snprintf(inside, sizeof inside, "%s/journal", folder);
    unlink(inside);
}

static int count_records(void *user, const struct bi_journal_record *r, struct bioinfer_error *err)
{
    uint64_t *next = user;
    (void)err;
    CHECK_EQ(r->ordinal, *next);
    ++*next;
    return 0;
}

/* Recovers the journal in the folder: `want` records are whole, and `lost` behind them are not. */
static void recovers(uint64_t want, uint64_t lost)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_journal j;
    uint64_t found = 0, n_lost = 0;
    CHECK_EQ(bi_journal_open(&j, &env, folder, false, &err), 0);
    CHECK_EQ(bi_journal_recover(&j, true, count_records, &found, &n_lost, &err), 0);
    CHECK_EQ(found, want);
    CHECK_EQ(n_lost, lost);
    bi_journal_close(&j);
}

static off_t size_of(const struct bi_append *file, ino_t *number)
{
    struct stat is = {0};
    CHECK(!fstat(file->fd, &is));
    *number = is.st_ino;
    return is.st_size;
}

/* A record that a commit syncs is on the disk after its payload; one that no sync came to is not
 * said to be. What a machine that goes down keeps, the files as far as they were synced, has all of
 * the former. */
static void synced_records_are_on_disk(void)
{
    enum { COMMITS = 3, EACH = 5 };
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_journal j;
    struct bi_journal_record r;
    ino_t data, log;
    uint64_t found = 0, n_lost;
    off_t data_size = 0, log_size = 0;
    CHECK_EQ(bi_journal_open(&j, &env, folder, false, &err), 0);
    for (int k = 0; k <= COMMITS; k++) { /* the last one is not synced */
        const bool sync = k < COMMITS;
        const off_t log_before = size_of(&j.log, &log);
        n_synced = 0;
        for (uint64_t i = 0; i < EACH; i++) {
            r = (struct bi_journal_record){.ordinal = (uint64_t)k * EACH + i};
            bi_journal_begin(&j, &r);
            CHECK_EQ(bi_journal_write(&j, "payload", 8, &err), 0);
            CHECK_EQ(bi_journal_end(&j, &r, &err), 0);
        }
        for (uint64_t i = j.n - EACH; i < j.n; i++) { /* they are there before they are on disk */
            CHECK_EQ(bi_journal_get(&j, i, &r, &err), 0);
            CHECK_EQ(r.ordinal, i);
        }
        CHECK_EQ(bi_journal_commit(&j, sync, &err), 0);
        CHECK_EQ(n_synced, sync ? 2 : 0);
        if (sync) { /* the payload first, and no record of it before that */
            data_size = size_of(&j.data, &data);
            log_size = size_of(&j.log, &log);
            CHECK_EQ(log_size, log_before + EACH * BI_JOURNAL_RECORD);
            CHECK(synced[0].file == data && synced[0].size == data_size);
            CHECK(synced[1].file == log && synced[1].size == log_size);
        }
        CHECK_EQ(bi_journal_get(&j, j.n - 1, &r, &err), 0);
        CHECK_EQ((r.flags & BI_JOURNAL_SYNCED) != 0, sync);
    }
    bi_journal_close(&j);
    /* the records came to the disk, their payload did not: a hole is in its place */
    snprintf(inside, sizeof inside, "%s/data", folder);
    CHECK(!truncate(inside, data_size) && !truncate(inside, data_size + 8 * EACH));
    CHECK_EQ(bi_journal_open(&j, &env, folder, false, &err), 0);
    CHECK_EQ(bi_journal_recover(&j, true, count_records, &found, &n_lost, &err), 0);
    CHECK_EQ(found, COMMITS * EACH);
    CHECK_EQ(n_lost, EACH);
    CHECK_EQ(size_of(&j.data, &data), data_size);
    CHECK_EQ(size_of(&j.log, &log), log_size);
    bi_journal_close(&j);
    CHECK(!truncate(inside, data_size - 1)); /* the last payload misses a byte */
    recovers(COMMITS * EACH - 1, 1);
    unlink(inside);
    snprintf(inside, sizeof inside, "%s/journal", folder);
    unlink(inside);
}

/* A record of which any byte is another one is not taken for one, and none behind it is. */
static void damaged_records_are_lost(void)
{
    enum { N = 3 };
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    for (long at = 0; at < BI_JOURNAL_RECORD; at++) {
        struct bi_journal j;
        FILE *f;
        int byte = 0;
        CHECK_EQ(bi_journal_open(&j, &env, folder, false, &err), 0);
        for (uint64_t i = 0; i < N; i++) {
            struct bi_journal_record r = {.ordinal = i};
            bi_journal_begin(&j, &r);
            CHECK_EQ(bi_journal_write(&j, "payload", 8, &err), 0);
            CHECK_EQ(bi_journal_end(&j, &r, &err), 0);
        }
        CHECK_EQ(bi_journal_commit(&j, true, &err), 0);
        bi_journal_close(&j);
        snprintf(inside, sizeof inside, "%s/journal", folder);
        f = fopen(inside, "r+b");
        CHECK(f && !fseek(f, BI_JOURNAL_RECORD + at, SEEK_SET) && (byte = fgetc(f)) != EOF &&
              !fseek(f, -1, SEEK_CUR) && fputc(byte ^ 1, f) != EOF);
        CHECK(f && !fclose(f));
        recovers(1, N - 1);
        unlink(inside);
        snprintf(inside, sizeof inside, "%s/data", folder);
        unlink(inside);
    }
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/bioinfer-journal-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/a.npz", folder);
    TEST(first_failure_is_told);
    TEST(resume_reads_no_results);
    TEST(near_records_are_read_once);
    TEST(synced_records_are_on_disk);
    TEST(damaged_records_are_lost);
    rmdir(folder);
    return test_report();
}

/* units_test.c - a job from inside whose units have several records: each has its own status, its
 * number and its row in the manifest, whatever was killed and however the units were sharded. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../jobs/job.h"
#include "output.h"

enum { UNITS = 5, PIECES = 9 }; /* unit k has k % 3 + 1 records */

static char folder[64], path[96];
static int passing; /* not 0: the status that the records of unit 2 have */
static const char *head = "id\tstatus\n";

static int next(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    int *n = user;
    (void)err;
    if (*n == UNITS)
        return 0;
    *r = (struct bioinfer_record){
        .id = "unit", .description = "", .sequence = "AC", .length = 2, .message = ""};
    ++*n;
    return 1;
}

static const char whole[] = "id\tstatus\nr0.0\tok\nr1.0\ttoo_long\nr1.1\tok\nr2.0\tok\n"
                            "r2.1\ttoo_long\nr2.2\tok\nr3.0\tok\nr4.0\tok\nr4.1\ttoo_long\n";
static const char manifest[] =
    "ordinal\tid\tlength\tstatus\tsame_as\tmessage\n"
    "0\tr0.0\t2\tok\t\t\n1\tr1.0\t2\ttoo_long\t\tgone\n2\tr1.1\t2\tok\t\t\n3\tr2.0\t2\tok\t\t\n"
    "4\tr2.1\t2\ttoo_long\t\tgone\n5\tr2.2\t2\tok\t\t\n6\tr3.0\t2\tok\t\t\n7\tr4.0\t2\tok\t\t\n"
    "8\tr4.1\t2\ttoo_long\t\tgone\n";

static int sink(struct bioinfer_job *job, uint64_t unit, uint32_t piece, struct bioinfer_error *err)
{
    const uint64_t record = 10 * unit + piece;
    const bool fails = record == 10 || record == 21 || record == 41;
    char id[16], row[32];
    struct bioinfer_text text = {"row", row, 0};
    struct bioinfer_result r = {.ordinal = unit,
                                .id = id,
                                .length = 2,
                                .message = fails ? "gone" : "",
                                .piece = piece,
                                .status = fails ? BIOINFER_TOO_LONG : 0,
                                .more = piece < unit % 3,
                                .n_texts = 1,
                                .texts = &text};
    if (unit == 2 && passing)
        r.status = passing;
    snprintf(id, sizeof id, "r%d.%d", (int)unit, (int)piece);
    text.length = (size_t)snprintf(row, sizeof row, "%s\t%s\n", id,
                                   bi_status_name(fails ? r.status : 0));
    return bi_job_sink(job, &r, err);
}

static int open_job(struct bioinfer_job **job, struct bioinfer_job_params p, int *n,
                    struct bioinfer_error *err)
{
    static struct bi_env env;
    static const struct bioinfer_writer_params w = {
        .struct_size = sizeof w, .model = "m", .fingerprint = "f"};
    int st;
    env = bi_env_default();
    p.writer = &w;
    p.options = "";
    p.text_head = head;
    p.units = 1;
    if (!(st = bi_job_open(job, &env, path, &p, err))) {
        (*job)->source = next;
        (*job)->source_user = n;
    }
    *n = 0;
    return st;
}

/* Sinks at most `most` records, unit by unit. */
static int work(struct bioinfer_job *job, int most, struct bioinfer_error *err)
{
    struct bioinfer_record r;
    int st;
    while ((st = bi_job_source(job, &r, err)) == 1) {
        const uint64_t unit = r.ordinal;
        for (uint32_t piece = 0; piece <= unit % 3; piece++)
            if (most-- > 0 && (st = sink(job, unit, piece, err)) < 0)
                return st;
    }
    return st;
}

static void check_whole(void)
{
    check_output(path, "", whole, 0);
    check_output(path, ".manifest.tsv", manifest, 0);
}

/* Whatever number of records is there when a run ends, going on gives the same bytes and counts. */
static void every_record_has_its_row(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p, .resume = BIOINFER_RESUME_MATCH};
    for (int most = 0; most <= PIECES; most++) {
        struct bioinfer_job *job = NULL;
        struct bioinfer_error err = {0};
        int n, done = most < 1 ? 0 : most < 3 ? 1 : most < 6 ? 3 : most < 7 ? 6 : most < 9 ? 7 : 9;
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(work(job, most, &err), 0);
        CHECK_EQ(job->stats.records, done);
        CHECK_EQ(bi_job_commit(job, &err), 0);
        bi_job_close(&job);
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(job->stats.resumed, done);
        CHECK_EQ(job->stats.records, done);
        CHECK_EQ(work(job, 100, &err), 0);
        CHECK_EQ(bi_job_finish(job, &err), 0);
        CHECK_EQ(job->stats.records, PIECES);
        CHECK_EQ(job->stats.failed, 3);
        CHECK_EQ(job->stats.by_status[-BIOINFER_TOO_LONG], 3);
        bi_job_close(&job);
        check_whole();
    }
}

static void shards_are_of_units(void)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_job_stats stats = {.struct_size = sizeof stats};
    struct bioinfer_error err = {0};
    const int n_records[] = {6, 3}, n_failed[] = {2, 1};
    char part[128];
    for (int i = 1; i <= 2; i++) {
        struct bioinfer_job_params p = {.struct_size = sizeof p, .shard = i, .n_shards = 2};
        struct bioinfer_job *job = NULL;
        int n;
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(work(job, 100, &err), 0);
        CHECK_EQ(bi_job_finish(job, &err), 0);
        CHECK_EQ(job->stats.records, n_records[i - 1]);
        CHECK_EQ(job->stats.failed, n_failed[i - 1]);
        bi_job_close(&job);
    }
    CHECK_EQ(bi_job_merge(&env, path, NULL, 0, NULL, &stats, &err), 0);
    CHECK_EQ(stats.records, PIECES);
    CHECK_EQ(stats.failed, 3);
    check_whole();
    for (int i = 1; i <= 2; i++) {
        snprintf(part, sizeof part, "%s.part-%d-of-2", path, i);
        bi_folder_remove(&env, part);
    }
}

/* A unit is computed again when one of its records failed for a reason that passes. */
static void units_that_met_a_passing_failure_are_done_again(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p, .resume = BIOINFER_RESUME_MATCH};
    struct bioinfer_job *job = NULL;
    struct bioinfer_error err = {0};
    int n;
    passing = BIOINFER_DEVICE;
    CHECK_EQ(open_job(&job, p, &n, &err), 0);
    CHECK_EQ(work(job, 100, &err), 0);
    CHECK_EQ(bi_job_commit(job, &err), 0);
    bi_job_close(&job);
    passing = 0;
    CHECK_EQ(open_job(&job, p, &n, &err), 0);
    CHECK_EQ(job->stats.resumed, 6);
    CHECK_EQ(work(job, 100, &err), 0);
    CHECK_EQ(bi_job_finish(job, &err), 0);
    CHECK_EQ(job->stats.failed, 3);
    bi_job_close(&job);
    check_whole();
}

/* Changes the row of a record in the journal's data, as a disk may. */
static void spoil(const char *row)
{
    struct bi_env env = bi_env_default();
    char name[160], *data = NULL, *at;
    size_t size = 0;
    FILE *f;
    snprintf(name, sizeof name, "%s.part-1-of-1/data", path);
    CHECK_EQ(bi_file_slurp(&env, name, 1 << 20, &data, &size, NULL), 0);
    CHECK((at = memmem(data, size, row, strlen(row))) != NULL);
    if (at && (f = fopen(name, "r+b"))) {
        fseek(f, at - data, SEEK_SET);
        fputc('?', f);
        fclose(f);
    }
    bi_free(&env, data);
}

/* A unit is computed again when one of its records is damaged, and counted once. */
static void damaged_units_are_done_again(void)
{
    struct bioinfer_job_params p = {
        .struct_size = sizeof p, .resume = BIOINFER_RESUME_MATCH, .shard = 1, .n_shards = 1};
    struct bi_env env = bi_env_default();
    struct bioinfer_job_stats stats = {.struct_size = sizeof stats};
    struct bioinfer_job *job = NULL;
    struct bioinfer_error err = {0};
    char part[128];
    int n;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(job->stats.records, i ? 6 : 0); /* the three of unit 2 are not there */
        CHECK_EQ(job->stats.failed, i ? 2 : 0);
        CHECK_EQ(work(job, 100, &err), 0);
        CHECK_EQ(bi_job_finish(job, &err), 0);
        CHECK_EQ(job->stats.records, PIECES);
        CHECK_EQ(job->stats.failed, 3);
        bi_job_close(&job);
        if (!i)
            spoil("r2.1\ttoo_long");
    }
    CHECK_EQ(bi_job_merge(&env, path, NULL, 0, NULL, &stats, &err), 0);
    check_whole();
    snprintf(part, sizeof part, "%s.part-1-of-1", path);
    bi_folder_remove(&env, part);
}

/* A head of very many columns can be read again, or is refused when it is written. */
static void long_heads_are_read_again(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p, .resume = BIOINFER_RESUME_MATCH};
    const char *usual = head;
    const size_t sizes[] = {3 << 20, 17 << 20};
    char *long_head = calloc(sizes[1] + 1, 1), name[160];
    for (int i = 0; long_head && i < 2; i++) {
        struct bioinfer_job *job = NULL;
        struct bioinfer_error err = {0};
        int n;
        memset(long_head, 'x', sizes[i]);
        head = long_head;
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(work(job, 100, &err), 0);
        CHECK_EQ(bi_job_commit(job, &err), i ? BIOINFER_LIMIT : 0);
        bi_job_close(&job);
        if (i) {
            CHECK_HAS(err.text, "bytes, expected at most 16777216");
            continue;
        }
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(job->stats.resumed, PIECES);
        CHECK_EQ(work(job, 100, &err), 0);
        CHECK_EQ(bi_job_finish(job, &err), 0);
        bi_job_close(&job);
        unlink(path);
        snprintf(name, sizeof name, "%s.manifest.tsv", path);
        unlink(name);
    }
    head = usual;
    free(long_head);
}

static void mixed_units_are_refused(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p};
    struct bioinfer_job *job = NULL;
    struct bioinfer_error err = {0};
    struct bioinfer_record r;
    int n;
    p.part_records = 2;
    CHECK_EQ(open_job(&job, p, &n, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "parts of records of units");
    p.part_records = 0;
    CHECK_EQ(open_job(&job, p, &n, &err), 0);
    while (bi_job_source(job, &r, &err) == 1)
        ;
    CHECK_EQ(sink(job, 2, 0, &err), 0);
    CHECK_EQ(sink(job, 3, 0, &err), BIOINFER_MISUSE);
    CHECK_HAS(err.text, "piece 0 of unit 3 while unit 2 waits for its last");
    CHECK_EQ(sink(job, 2, 1, &err), 0);
    CHECK_EQ(sink(job, 2, 2, &err), 0);
    CHECK_EQ(sink(job, 3, 0, &err), 0);
    bi_job_discard(job);
    bi_job_close(&job);
}

/* Has no record at every second call. */
static int next_seldom(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    static bool has;
    has = !has;
    return has ? BIOINFER_NONE_NOW : next(user, r, err);
}

/* A source that has no record at present is asked again, and is not at its end. */
static void sources_may_have_none_now(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p};
    struct bioinfer_job *job = NULL;
    struct bioinfer_error err = {0};
    int n, st, n_none = 0;
    CHECK_EQ(open_job(&job, p, &n, &err), 0);
    job->source = next_seldom;
    while ((st = work(job, PIECES, &err)) == BIOINFER_NONE_NOW)
        n_none++;
    CHECK_EQ(st, 0);
    CHECK_EQ(n_none, UNITS + 1);
    CHECK_EQ(bi_job_finish(job, &err), 0);
    bi_job_close(&job);
    check_whole();
}

static int none(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    (void)user;
    (void)r;
    (void)err;
    return 0;
}

/* A text that was named goes to every job of the context that is open then, and one that was named
 * before there was any to all of them; it is forgotten with the last. */
static void notes_go_to_open_jobs(void)
{
    static const char names[] = "ordinal\tid\tlength\tstatus\tsame_as\tmessage\n";
    static const char rows[] = "ordinal\tid\tlength\tstatus\tsame_as\tmessage\n"
                               "\t\t\tnote\t\tboth, of two  lines\n\t\t\tnote\t\tearly\n";
    struct bioinfer_job_params p = BIOINFER_PARAMS(struct bioinfer_job_params, .text_head = head,
                                                   .options = "");
    struct bioinfer_record r;
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_job *jobs[3] = {NULL};
    char out[3][112];
    CHECK_EQ(bioinfer_context_new(&ctx, NULL, &err), 0);
    bioinfer_context_note(ctx, "early");
    for (int i = 0; i < 3; i++) {
        snprintf(out[i], sizeof out[i], "%s.%d", path, i);
        if (i == 2) { /* the others are closed */
            bioinfer_job_close(&jobs[0]);
            bioinfer_job_close(&jobs[1]);
        }
        CHECK_EQ(bioinfer_job_open(&jobs[i], ctx, out[i], &p, &err), 0);
        bioinfer_job_set_source(jobs[i], none, NULL);
        CHECK_EQ(bioinfer_job_source(jobs[i], &r, &err), 0);
        for (int k = 0; i == 1 && k < 2; k++)
            bioinfer_context_note(ctx, "both, of two\r\nlines");
        if (i == 1)
            CHECK_EQ(bioinfer_job_finish(jobs[0], &err), 0);
        if (i)
            CHECK_EQ(bioinfer_job_finish(jobs[i], &err), 0);
    }
    bioinfer_job_close(&jobs[2]);
    bioinfer_context_free(&ctx);
    for (int i = 0; i < 3; i++) {
        check_output(out[i], "", head, 0);
        check_output(out[i], ".manifest.tsv", i < 2 ? rows : names, 0);
    }
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/bioinfer-units-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/a.txt", folder);
    TEST(every_record_has_its_row);
    TEST(shards_are_of_units);
    TEST(units_that_met_a_passing_failure_are_done_again);
    TEST(damaged_units_are_done_again);
    TEST(long_heads_are_read_again);
    TEST(mixed_units_are_refused);
    TEST(sources_may_have_none_now);
    TEST(notes_go_to_open_jobs);
    rmdir(folder);
    return test_report();
}

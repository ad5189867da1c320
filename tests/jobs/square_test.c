/* square_test.c - a matrix of all pairs from inside: tiles of a job as tables and arrays, shards,
 * and what is refused. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../jobs/job.h"
#include "output.h"

enum { ROWS = 5, TILE = 2 };

static char folder[64], path[96];

/* Row i and column j of the matrix; of one file it is symmetric. Pair (1, 3) has no result. */
static double value(int i, int j)
{
    return i + j == 4 && i * j == 3 ? NAN : (double)(10 * (i < j ? i : j) + (i < j ? j : i)) / 64;
}

struct source {
    int n, all;
};

static int next(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    struct source *s = user;
    static char id[16];
    (void)err;
    if (s->n == s->all)
        return 0;
    snprintf(id, sizeof id, "t%d", s->n++);
    *r = (struct bioinfer_record){
        .id = id, .description = "", .sequence = "AC", .length = 2, .message = ""};
    return 1;
}

static int open_job(struct bioinfer_job **job, const struct bioinfer_square *square,
                    struct bioinfer_job_params p, struct source *s, struct bioinfer_error *err)
{
    static struct bi_env env;
    static const struct bioinfer_writer_params w = {
        .struct_size = sizeof w, .model = "m", .fingerprint = "f"};
    int st;
    env = bi_env_default();
    p.struct_size = sizeof p;
    p.writer = &w;
    p.task = "test";
    p.options = "";
    p.square = square;
    s->n = 0;
    if ((st = bi_job_open(job, &env, path, &p, err)))
        return st;
    (*job)->source = next;
    (*job)->source_user = s;
    return 0;
}

/* Names, then values, of the tile in row i and column j of tiles, in two pieces. */
static int sink(struct bioinfer_job *job, const struct bioinfer_square *q, uint64_t ordinal, int i,
                int j, struct bioinfer_error *err)
{
    struct bi_env env = bi_env_default();
    struct bi_buf names = {.env = &env}, values = {.env = &env};
    const int rows = (int)q->n_rows, columns = (int)q->n_columns;
    struct bioinfer_text text = {.name = "text"};
    struct bioinfer_result r = {.ordinal = ordinal,
                                .id = "",
                                .length = 1,
                                .message = "",
                                .more = 1,
                                .n_texts = 1,
                                .texts = &text};
    int st;
    for (int a = i * TILE; a < rows && a < (i + 1) * TILE; a++) {
        bi_buf_printf(&names, "r%d", a);
        bi_buf_putc(&names, 0);
        for (int b = j * TILE; b < columns && b < (j + 1) * TILE; b++)
            if (!q->one_file || a <= b) {
                const double x = value(a, b) * (q->scale > 1 ? 64 : 1);
                bi_buf_append(&values, &x, sizeof x);
            }
    }
    for (int b = j * TILE; b < columns && b < (j + 1) * TILE; b++) {
        bi_buf_printf(&names, q->one_file ? "r%d" : "c%d", b);
        bi_buf_putc(&names, 0);
    }
    text.text = names.data;
    text.length = names.size;
    st = bi_job_sink(job, &r, err);
    text.text = values.data;
    text.length = values.size;
    r.piece = 1;
    r.more = 0;
    st = st ? st : bi_job_sink(job, &r, err);
    bi_buf_free(&names);
    bi_buf_free(&values);
    return st;
}

/* All tiles that the job hands out. */
static int work(struct bioinfer_job *job, const struct bioinfer_square *q,
                struct bioinfer_error *err)
{
    const int across = ((int)q->n_columns + TILE - 1) / TILE;
    struct bioinfer_record r;
    int st;
    while ((st = bi_job_source(job, &r, err)) == 1) {
        uint64_t k = 0;
        for (int i = 0; i * TILE < (int)q->n_rows; i++)
            for (int j = q->one_file ? i : 0; j < across; j++, k++)
                if (k == r.ordinal && (st = sink(job, q, k, i, j, err)))
                    return st;
    }
    return st;
}

static const struct bioinfer_square plain = {.kind = "distance",
                                             .format = "tsv",
                                             .n_rows = ROWS,
                                             .n_columns = ROWS,
                                             .tile_rows = TILE,
                                             .tile_columns = TILE,
                                             .one_file = 1,
                                             .scale = 1};

static void run(const struct bioinfer_square *q, int n_tiles, const char *want)
{
    struct bioinfer_job *job = NULL;
    struct bioinfer_error err = {0};
    struct source s = {.all = n_tiles};
    CHECK_EQ(open_job(&job, q, (struct bioinfer_job_params){0}, &s, &err), 0);
    CHECK_EQ(work(job, q, &err), 0);
    CHECK_EQ(bi_job_finish(job, &err), 0);
    CHECK_EQ(job->stats.records, (uint64_t)n_tiles);
    bi_job_close(&job);
    check_output(path, "", want, 0);
    unlink(strcat(strcpy((char[128]){0}, path), ".manifest.tsv"));
}

static const char distances[] = "\tr0\tr1\tr2\tr3\tr4\n"
                                "r0\t0.000000\t0.015625\t0.031250\t0.046875\t0.062500\n"
                                "r1\t0.015625\t0.171875\t0.187500\tnan\t0.218750\n"
                                "r2\t0.031250\t0.187500\t0.343750\t0.359375\t0.375000\n"
                                "r3\t0.046875\tnan\t0.359375\t0.515625\t0.531250\n"
                                "r4\t0.062500\t0.218750\t0.375000\t0.531250\t0.687500\n";

static void one_file_is_mirrored(void)
{
    struct bioinfer_square q = plain;
    run(&q, 6, distances);
    q.format = "phylip";
    q.lower = q.strict_names = 1;
    run(&q, 6,
        "    5\nr0        \nr1         0.015625\nr2         0.031250 0.187500\n"
        "r3         0.046875 nan 0.359375\nr4         0.062500 0.218750 0.375000 0.531250\n");
    q.format = "npz";
    q.lower = 0;
    run(&q, 6, NULL);
}

static void two_files_have_names_of_both(void)
{
    struct bioinfer_square q = plain;
    q.kind = "score";
    q.one_file = 0;
    q.n_columns = 3;
    q.scale = 8;
    run(&q, 6,
        "\tc0\tc1\tc2\nr0\t0\t0.125\t0.25\nr1\t0.125\t1.375\t1.5\nr2\t0.25\t1.5\t2.75\n"
        "r3\t0.375\tnan\t2.875\nr4\t0.5\t1.75\t3\n");
}

static void shards_merge(void)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_writer_params params = {.struct_size = sizeof params, .format = "npy"};
    struct bioinfer_error err = {0};
    char part[128];
    for (int i = 1; i <= 2; i++) {
        const struct bioinfer_job_params p = {.shard = i, .n_shards = 2};
        struct bioinfer_job *job = NULL;
        struct source s = {.all = 6};
        CHECK_EQ(open_job(&job, &plain, p, &s, &err), 0);
        CHECK_EQ(work(job, &plain, &err), 0);
        CHECK_EQ(bi_job_finish(job, &err), 0);
        bi_job_close(&job);
    }
    CHECK_EQ(bi_job_merge(&env, path, NULL, 0, &params, NULL, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "the parts hold a matrix, distance, which npy cannot hold");
    CHECK_EQ(bi_job_merge(&env, path, NULL, 0, NULL, NULL, &err), 0);
    check_output(path, "", distances, 0);
    params.format = "npz";
    CHECK_EQ(bi_job_merge(&env, path, NULL, 0, &params, NULL, &err), 0);
    check_output(path, "", NULL, ROWS * ROWS * sizeof(float));
    unlink(strcat(strcpy((char[128]){0}, path), ".manifest.tsv"));
    for (int i = 1; i <= 2; i++) {
        snprintf(part, sizeof part, "%s.part-%d-of-2", path, i);
        bi_folder_remove(&env, part);
    }
}

/* Parameters that describe no matrix, and tiles that are not those of the matrix. */
static void no_matrices_are_refused(void)
{
    const struct bioinfer_job_params none = {0}, headed = {.text_head = "x"};
    struct bioinfer_square wrong[8];
    struct bioinfer_job *job = NULL;
    struct bioinfer_error err = {0};
    struct source s = {.all = 5}; /* a tile too few */
    for (int i = 0; i < 8; i++)
        wrong[i] = plain;
    wrong[0].n_columns = 4;
    wrong[1].tile_rows = 0;
    wrong[2].tile_columns = 1 << 20;
    wrong[3].scale = 3;
    wrong[4].format = "sam";
    wrong[5].kind = "a b";
    wrong[6].format = "npz";
    wrong[6].lower = 1;
    wrong[7].format = "phylip";
    wrong[7].one_file = 0;
    for (int i = 0; i < 8; i++)
        CHECK_EQ(open_job(&job, &wrong[i], none, &s, &err), BIOINFER_INVALID);
    CHECK_EQ(open_job(&job, &plain, headed, &s, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "a matrix with a text before it");
    CHECK_EQ(open_job(&job, &plain, none, &s, &err), 0);
    CHECK_EQ(work(job, &plain, &err), 0);
    CHECK_EQ(bi_job_finish(job, &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "5 records, expected 6, as many as the matrix has tiles");
    bi_job_discard(job);
    bi_job_close(&job);
}

/* Finishes a matrix of one row and one column, whose tile has these bytes. */
static void refuse(const struct bioinfer_square *like, const char *bytes, size_t n, int status,
                   const char *words)
{
    struct bioinfer_square q = *like;
    const struct bioinfer_text text = {"text", bytes, n};
    const struct bioinfer_result r = {
        .id = "t0", .length = 1, .message = "", .n_texts = 1, .texts = &text};
    struct bioinfer_job *job = NULL;
    struct bioinfer_record record;
    struct bioinfer_error err = {0};
    struct source s = {.all = 1};
    q.n_rows = q.n_columns = q.tile_rows = q.tile_columns = 1;
    CHECK_EQ(open_job(&job, &q, (struct bioinfer_job_params){0}, &s, &err), 0);
    CHECK_EQ(bi_job_source(job, &record, &err), 1);
    CHECK_EQ(bi_job_sink(job, &r, &err), 0);
    CHECK_EQ(bi_job_source(job, &record, &err), 0);
    CHECK_EQ(bi_job_finish(job, &err), status);
    CHECK_HAS(err.text, words);
    bi_job_discard(job);
    bi_job_close(&job);
}

/* A tile whose names or values are others than the matrix has. */
static void wrong_tiles_are_refused(void)
{
    static const struct {
        const char *text;
        size_t n;
    } tiles[] = {{"", 0}, {"r0", 2}, {"r0\0", 3}, {"r0\0c0\0 1234567", 13}};
    static const struct {
        const char *kind, *words;
        double value;
    } values[] = {{"distance", "has the value 1.5, expected one from 0 to 1", 1.5},
                  {"distance", "has the value -0.5, expected one from 0 to 1", -0.5},
                  {"score", "has the value inf, expected a whole number", INFINITY},
                  {"score", "has the value 1e+300, expected a whole number", 1e300},
                  {"score", "has the value 0.5, expected a whole number", 0.5}};
    for (size_t k = 0; k < BI_COUNT(tiles); k++)
        refuse(&plain, tiles[k].text, tiles[k].n, BIOINFER_FORMAT,
               "expected 2 names and as many values");
    for (size_t k = 0; k < BI_COUNT(values); k++) {
        struct bioinfer_square q = plain;
        char tile[6 + sizeof values[k].value] = "r0\0c0";
        memcpy(tile + 6, &values[k].value, sizeof values[k].value);
        q.kind = values[k].kind;
        refuse(&q, tile, sizeof tile, BIOINFER_FORMAT, values[k].words);
    }
}

static void strict_names_are_short(void)
{
    static const char tile[] = "elevenchars\0elevenchars";
    struct bioinfer_square q = plain;
    q.format = "phylip";
    q.strict_names = 1;
    refuse(&q, tile, sizeof tile, BIOINFER_UNSUPPORTED,
           "record elevenchars: strict PHYLIP has names of up to 10 characters");
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/bioinfer-square-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/out", folder);
    TEST(one_file_is_mirrored);
    TEST(two_files_have_names_of_both);
    TEST(shards_merge);
    TEST(no_matrices_are_refused);
    TEST(wrong_tiles_are_refused);
    TEST(strict_names_are_short);
    CHECK_EQ(rmdir(folder), 0);
    return test_report();
}

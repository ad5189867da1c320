/* pieces_test.c - a job from inside: results in pieces, outputs of finished text, what a run that
 * ended early leaves, and what a resume and a merge refuse. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../jobs/job.h"
#include "../../writers/text.h"
#include "output.h"

enum { UNITS = 7 };

static char folder[64], path[96], genome[96];

/* The input: unit k gives k % 3 + 1 pieces; unit 4 fails behind its first piece, unit 5 at once. */
static int next(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    int *n = user;
    static char id[16];
    (void)err;
    if (*n == UNITS)
        return 0;
    snprintf(id, sizeof id, "u%d", (*n)++);
    *r = (struct bioinfer_record){
        .id = id, .description = "", .sequence = "AC", .length = 2, .message = ""};
    return 1;
}

static const char whole[] = "id\tpiece\n"
                            "u0\t0\nu1\t0\nu1\t1\nu2\t0\nu2\t1\nu2\t2\nu3\t0\nu4\t0\nu6\t0\n";
static const char manifest[] =
    "ordinal\tid\tlength\tstatus\tsame_as\tmessage\n"
    "0\tu0\t2\tok\t\t\n1\tu1\t2\tok\t\t\n2\tu2\t2\tok\t\t\n3\tu3\t2\tok\t\t\n"
    "4\tu4\t2\ttoo_long\t\tgone\n5\tu5\t2\ttoo_long\t\tgone\n6\tu6\t2\tok\t\t\n";

static int sink(struct bioinfer_job *job, uint64_t unit, uint32_t piece, struct bioinfer_error *err)
{
    const bool fails = unit == 5 || (unit == 4 && piece == 1);
    char id[16], row[32];
    struct bioinfer_text text = {"rows", row, 0};
    struct bioinfer_result r = {.ordinal = unit,
                                .id = id,
                                .length = 2,
                                .message = fails ? "gone" : "",
                                .piece = piece,
                                .status = fails ? BIOINFER_TOO_LONG : 0,
                                .more = !fails && piece < unit % 3,
                                .n_texts = !fails,
                                .texts = &text};
    snprintf(id, sizeof id, "u%d", (int)unit);
    text.length = (size_t)snprintf(row, sizeof row, "%s\t%d\n", id, (int)piece);
    return bi_job_sink(job, &r, err);
}

static int open_job(struct bioinfer_job **job, struct bioinfer_job_params p, int *n,
                    struct bioinfer_error *err)
{
    static struct bi_env env;
    static const struct bioinfer_writer_params w = {
        .struct_size = sizeof w, .model = "m", .fingerprint = "f"};
    static struct bioinfer_job_input input;
    int st;
    input = (struct bioinfer_job_input){"genome", genome};
    env = bi_env_default();
    p.writer = &w;
    p.task = p.task ? p.task : "test";
    p.options = p.options ? p.options : "a=1 b=2";
    p.text_head = "id\tpiece\n";
    p.inputs = &input;
    p.n_inputs = 1;
    if (!(st = bi_job_open(job, &env, path, &p, err))) {
        (*job)->source = next;
        (*job)->source_user = n;
    }
    *n = 0;
    return st;
}

/* Sinks at most `most` pieces of all units by turns: the first of each, then the second ... */
static int work(struct bioinfer_job *job, int most, struct bioinfer_error *err)
{
    uint64_t units[UNITS];
    struct bioinfer_record r;
    int n = 0, st;
    while ((st = bi_job_source(job, &r, err)) == 1)
        units[n++] = r.ordinal;
    for (uint32_t piece = 0; piece < 3; piece++)
        for (int i = 0; i < n && !st; i++)
            if (piece <= units[i] % 3 && !(units[i] == 5 && piece) && most-- > 0)
                st = sink(job, units[i], piece, err);
    return st;
}

static void interleaved_pieces_come_out_in_order(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p};
    struct bioinfer_job *job = NULL;
    struct bioinfer_error err = {0};
    int n;
    CHECK_EQ(open_job(&job, p, &n, &err), 0);
    CHECK_EQ(work(job, 100, &err), 0);
    CHECK_EQ(bi_job_finish(job, &err), 0);
    CHECK_EQ(job->stats.records, UNITS);
    CHECK_EQ(job->stats.failed, 2);
    bi_job_close(&job);
    check_output(path, "", whole, 0);
    check_output(path, ".manifest.tsv", manifest, 0);
}

/* Whatever number of pieces is there when a run ends, going on gives the same bytes. */
static void unfinished_units_are_done_again(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p, .resume = BIOINFER_RESUME_MATCH};
    for (int most = 0; most < 13; most++) {
        struct bioinfer_job *job = NULL;
        struct bioinfer_error err = {0};
        int n;
        for (int i = 0; i < 2; i++) { /* the second run begins where the first one ended */
            CHECK_EQ(open_job(&job, p, &n, &err), 0);
            CHECK_EQ(work(job, i ? 2 : most, &err), 0);
            CHECK_EQ(bi_job_commit(job, &err), 0);
            bi_job_close(&job);
        }
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK(job->stats.resumed >= (uint64_t)(most > 7));
        CHECK_EQ(work(job, 100, &err), 0);
        CHECK_EQ(bi_job_finish(job, &err), 0);
        bi_job_close(&job);
        check_output(path, "", whole, 0);
        check_output(path, ".manifest.tsv", manifest, 0);
    }
}

static void shards_merge(void)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_job_stats stats = {.struct_size = sizeof stats};
    struct bioinfer_writer_params tsv = {.struct_size = sizeof tsv, .format = "tsv"};
    struct bioinfer_error err = {0};
    char part[128];
    for (int i = 1; i <= 3; i++) {
        struct bioinfer_job_params p = {.struct_size = sizeof p, .shard = i, .n_shards = 3};
        struct bioinfer_job *job = NULL;
        int n;
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(work(job, 100, &err), 0);
        CHECK_EQ(bi_job_finish(job, &err), 0);
        bi_job_close(&job);
    }
    CHECK_EQ(bi_job_merge(&env, path, NULL, 0, &tsv, &stats, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "finished text");
    CHECK_EQ(bi_job_merge(&env, path, NULL, 0, NULL, &stats, &err), 0);
    CHECK_EQ(stats.failed, 2);
    check_output(path, "", whole, 0);
    check_output(path, ".manifest.tsv", manifest, 0);
    snprintf(part, sizeof part, "%s.part-2-of-3", path);
    bi_folder_remove(&env, part);
    CHECK_EQ(bi_job_merge(&env, path, NULL, 0, NULL, &stats, &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "1 of 3 shards missing: 2");
    for (int i = 1; i <= 3; i++) {
        snprintf(part, sizeof part, "%s.part-%d-of-3", path, i);
        bi_folder_remove(&env, part);
    }
}

/* Piece 0 of a record that has pieces already begins it anew. */
static void a_record_begins_anew(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p};
    struct bioinfer_record r;
    struct bioinfer_job *job = NULL;
    struct bioinfer_error err = {0};
    uint64_t ordinals[UNITS];
    int n, n_read = 0;
    CHECK_EQ(open_job(&job, p, &n, &err), 0);
    while (bi_job_source(job, &r, &err) == 1)
        ordinals[n_read++] = r.ordinal;
    for (int i = 0; i < n_read; i++) {
        const uint64_t unit = ordinals[i];
        for (uint32_t piece = 0; piece < unit % 3 && unit != 5; piece++) /* all but the last */
            CHECK_EQ(sink(job, unit, piece, &err), 0);
        for (uint32_t piece = 0; piece <= unit % 3 && !(unit == 5 && piece); piece++)
            CHECK_EQ(sink(job, unit, piece, &err), 0);
    }
    CHECK_EQ(bi_job_finish(job, &err), 0);
    bi_job_close(&job);
    check_output(path, "", whole, 0);
    check_output(path, ".manifest.tsv", manifest, 0);
}

static void wrong_pieces_are_refused(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p};
    struct bioinfer_job *job = NULL;
    struct bioinfer_error err = {0};
    struct bioinfer_record r;
    struct bioinfer_result failed = {
        .ordinal = 2, .id = "u2", .message = "", .piece = 1, .more = 1, .status = -1};
    struct bioinfer_result rows = {
        .ordinal = 2, .id = "u2", .message = "", .piece = 1, .more = 1, .n_rows = 3};
    int n;
    CHECK_EQ(open_job(&job, p, &n, &err), 0);
    while (bi_job_source(job, &r, &err) == 1)
        ;
    CHECK_EQ(sink(job, 2, 1, &err), BIOINFER_MISUSE);
    CHECK_HAS(err.text, "piece 1 of record 2, expected 0");
    CHECK_EQ(sink(job, 2, 0, &err), 0);
    CHECK_EQ(sink(job, 2, 2, &err), BIOINFER_MISUSE);
    CHECK_EQ(bi_job_sink(job, &failed, &err), BIOINFER_MISUSE);
    CHECK_HAS(err.text, "has a status");
    CHECK_EQ(sink(job, 99, 0, &err), BIOINFER_MISUSE);
    CHECK_EQ(bi_job_sink(job, &rows, &err), BIOINFER_UNSUPPORTED);
    CHECK_HAS(err.text, "record 2: 3 rows of columns");
    bi_job_discard(job);
    bi_job_close(&job);
}

/* Changes a bit of byte `at` of a folder's data; false behind its end. */
static bool flip(const char *part, long at)
{
    char name[160];
    FILE *f;
    int c;
    snprintf(name, sizeof name, "%s/data", part);
    if (!(f = fopen(name, "r+b")))
        return false;
    fseek(f, at, SEEK_SET);
    if ((c = fgetc(f)) != EOF) {
        fseek(f, at, SEEK_SET);
        fputc(c ^ 4, f);
    }
    fclose(f);
    return c != EOF;
}

/* A resume does not read what was synced. A byte of it that changed reaches no output nevertheless,
 * wherever it is, and one more run mends it. */
static void damage_reaches_no_output(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p, .resume = BIOINFER_RESUME_MATCH};
    char part[128];
    long at = 0;
    snprintf(part, sizeof part, "%s.part", path);
    for (;; at += 41) {
        struct bioinfer_job *job = NULL;
        struct bioinfer_error err = {0};
        bool there;
        int n;
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(work(job, 11, &err), 0); /* all but one piece */
        CHECK_EQ(bi_job_commit(job, &err), 0);
        bi_job_close(&job);
        there = flip(part, at) && flip(part, at > 300 ? at - 300 : at + 300);
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(work(job, 100, &err), 0);
        if (there) {
            CHECK_EQ(bi_job_finish(job, &err), BIOINFER_FORMAT);
            CHECK_HAS(err.text, "damaged");
            CHECK_HAS(err.text, "--resume computes");
            CHECK(!bi_path_exists(path));
            bi_job_close(&job);
            CHECK_EQ(open_job(&job, p, &n, &err), 0);
            CHECK(job->stats.resumed && job->stats.resumed < UNITS);
            CHECK_EQ(work(job, 100, &err), 0);
        }
        CHECK_EQ(bi_job_finish(job, &err), 0);
        CHECK_EQ(job->stats.records, UNITS);
        CHECK_EQ(job->stats.failed, 2);
        bi_job_close(&job);
        check_output(path, "", whole, 0);
        check_output(path, ".manifest.tsv", manifest, 0);
        if (!there)
            break;
    }
    CHECK(at > 600);
}

/* A merge says which shard is damaged and leaves it as it is; the shard mends itself. */
static void damaged_shard_is_mended(void)
{
    struct bioinfer_job_params p = {
        .struct_size = sizeof p, .resume = BIOINFER_RESUME_MATCH, .shard = 1, .n_shards = 1};
    struct bi_env env = bi_env_default();
    char part[128];
    snprintf(part, sizeof part, "%s.part-1-of-1", path);
    for (long at = 0; at < 700; at += 83) {
        struct bioinfer_job *job = NULL;
        struct bioinfer_error err = {0};
        int n;
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(work(job, 100, &err), 0);
        CHECK_EQ(bi_job_finish(job, &err), 0);
        bi_job_close(&job);
        CHECK(flip(part, at));
        CHECK_EQ(bi_job_merge(&env, path, NULL, 0, NULL, NULL, &err), BIOINFER_FORMAT);
        CHECK_HAS(err.text, "damaged");
        CHECK_HAS(err.text, "--resume computes it again");
        CHECK(!bi_path_exists(path));
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(job->stats.resumed, UNITS - 1);
        bi_job_close(&job); /* it is not finished again yet */
        CHECK_EQ(bi_job_merge(&env, path, NULL, 0, NULL, NULL, &err), BIOINFER_MISMATCH);
        CHECK_HAS(err.text, "shard 1 is not finished");
        CHECK_EQ(open_job(&job, p, &n, &err), 0);
        CHECK_EQ(work(job, 100, &err), 0);
        CHECK_EQ(bi_job_finish(job, &err), 0);
        bi_job_close(&job);
        CHECK_EQ(bi_job_merge(&env, path, NULL, 0, NULL, NULL, &err), 0);
        check_output(path, "", whole, 0);
        check_output(path, ".manifest.tsv", manifest, 0);
        bi_folder_remove(&env, part);
    }
}

/* A difference is named: the task, an option, an input by its role. */
static void differences_are_named(void)
{
    struct bioinfer_job_params p = {.struct_size = sizeof p, .resume = BIOINFER_RESUME_MATCH};
    struct bioinfer_job_params other;
    struct bi_env env = bi_env_default();
    struct bioinfer_job *job = NULL;
    struct bioinfer_error err = {0};
    char name[160];
    FILE *f;
    int n;
    CHECK_EQ(open_job(&job, p, &n, &err), 0);
    CHECK_EQ(work(job, 3, &err), 0);
    CHECK_EQ(bi_job_commit(job, &err), 0);
    bi_job_close(&job);
    other = p;
    other.task = "else";
    CHECK_EQ(open_job(&job, other, &n, &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "the task was 'test', now 'else'");
    other = p;
    other.options = "a=1 b=3";
    CHECK_EQ(open_job(&job, other, &n, &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "an option was 'b=2', now 'b=3'");
    if ((f = fopen(genome, "w"))) {
        fputs(">b\nACGT\n", f);
        fclose(f);
    }
    CHECK_EQ(open_job(&job, p, &n, &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "the content of the genome");
    snprintf(name, sizeof name, "%s.part/job.json", path);
    for (int format = 1; format <= 4; format += format == 2 ? 2 : 1) { /* all but this one */
        if (CHECK((f = fopen(name, "w")) != NULL)) {
            fprintf(f, "{\"format\": %d, \"bioinfer\": \"0.1.0\"}", format);
            fclose(f);
        }
        CHECK_EQ(open_job(&job, p, &n, &err), BIOINFER_MISMATCH);
        CHECK_HAS(err.text, format < 3 ? "made by an older bioinfer" : "made by a newer bioinfer");
    }
    snprintf(name, sizeof name, "%s.part", path);
    bi_folder_remove(&env, name);
}

static int append(void *user, const void *bytes, size_t size)
{
    struct bi_buf *to = user;
    bi_buf_append(to, bytes, size);
    return to->failed ? BIOINFER_NOMEM : 0;
}

/* A result as bytes is the result: layers, shapes and numbers. Sizes that an array has no use for
 * are zeros, so that equal results have equal bytes. */
static void results_come_back(void)
{
    static const float numbers[6] = {1, 2, 3, 4, 5, 6};
    const struct bioinfer_array arrays[2] = {
        {"mean", 1, 7, 1, {2, 91, 92, 93}, numbers},
        {"logits", 0, 0, 2, {2, 3, 94, 95}, numbers},
    };
    const struct bioinfer_result r = {.ordinal = 5,
                                      .id = "P1",
                                      .length = 2,
                                      .message = "",
                                      .n_arrays = 2,
                                      .arrays = arrays,
                                      .n_layers_kept = 1,
                                      .n_kinds = 2};
    const struct bi_env env = bi_env_default();
    struct bioinfer_array found[2];
    const struct bi_unpacked room = {.arrays = found, .n_arrays = 2};
    struct bi_buf bytes = {.env = &env};
    struct bioinfer_result back;
    struct bioinfer_error err = {0};
    CHECK_EQ(bi_pack(&r, append, &bytes, &err), 0);
    CHECK_EQ(bytes.size, bi_pack_size(&r));
    if (CHECK_EQ(bi_unpack(&back, &room, bytes.data, bytes.size, &err), 0)) {
        CHECK_STR(back.id, "P1");
        CHECK(back.ordinal == 5 && back.length == 2 && back.n_arrays == 2);
        for (int i = 0; i < 2; i++) {
            int64_t n = 1;
            CHECK_STR(found[i].kind, arrays[i].kind);
            CHECK_EQ(found[i].has_layer, arrays[i].has_layer);
            CHECK_EQ(found[i].layer, arrays[i].layer);
            CHECK_EQ(found[i].n_dims, arrays[i].n_dims);
            for (int k = 0; k < 4; k++) {
                CHECK_EQ(found[i].shape[k], k < arrays[i].n_dims ? arrays[i].shape[k] : 0);
                n *= k < arrays[i].n_dims ? arrays[i].shape[k] : 1;
            }
            CHECK(!memcmp(found[i].data, numbers, (size_t)n * sizeof *numbers));
        }
    }
    bi_buf_free(&bytes);
}

/* So do columns of all types; texts that do not follow each other are refused. */
static void columns_come_back(void)
{
    static const float f32[] = {1, 0.1f, -3};
    static const double f64[] = {0.25, 1e300, 0};
    static const int64_t i64[] = {7, BIOINFER_MISSING, -1}, at[] = {0, 2, 2, 5};
    const struct bioinfer_column columns[] = {{"a", BIOINFER_F32, f32, NULL},
                                              {"b", BIOINFER_TEXT, at, "ab\tcd"},
                                              {"c", BIOINFER_F64, f64, NULL},
                                              {"d", BIOINFER_I64, i64, NULL}};
    const struct bioinfer_text text = {"counts", "1", 1};
    struct bioinfer_result r = {.id = "v",
                                .message = "",
                                .n_texts = 1,
                                .texts = &text,
                                .n_rows = 3,
                                .n_columns = 4,
                                .columns = columns};
    const struct bi_env env = bi_env_default();
    struct bioinfer_column found[4];
    struct bioinfer_text texts[1];
    struct bi_unpacked room = {.texts = texts, .columns = found};
    struct bi_buf bytes = {.env = &env}, lines = {.env = &env};
    struct bioinfer_result back;
    struct bioinfer_error err = {0};
    CHECK_EQ(bi_pack(&r, append, &bytes, &err), 0);
    CHECK_EQ(bytes.size, bi_pack_size(&r));
    bi_pack_count(bytes.data, bytes.size, &room);
    CHECK(room.n_columns == 4 && room.n_texts == 1 && !room.n_arrays);
    if (CHECK_EQ(bi_unpack(&back, &room, bytes.data, bytes.size, &err), 0)) {
        bi_put_lines(&lines, &back, 4);
        CHECK_STR(bi_buf_text(&lines) ? lines.data : "", "1\tab\t0.25\t7\n"
                                                         "0.100000001\t\t1e+300\t\n"
                                                         "-3\t cd\t0\t-1\n");
        ((char *)(uintptr_t)found[1].data)[8] = 6; /* past the next one */
        CHECK_EQ(bi_unpack(&back, &room, bytes.data, bytes.size, &err), BIOINFER_FORMAT);
        CHECK_HAS(err.text, "the texts of a column");
    }
    room.n_columns = 3;
    CHECK_EQ(bi_unpack(&back, &room, bytes.data, bytes.size, &err), BIOINFER_FORMAT);
    lines.size = 0;
    r.status = BIOINFER_FORMAT; /* no numbers: the cells of the line are empty */
    r.n_rows = r.n_columns = 1;
    bi_put_lines(&lines, &r, 4);
    CHECK_STR(bi_buf_text(&lines) ? lines.data : "", "1\tbad_format\t\t\n");
    r.columns = &(struct bioinfer_column){"a", BIOINFER_TEXT, NULL, ""};
    CHECK_EQ(bi_pack_size(&r), 0);
    r.columns = &(struct bioinfer_column){"a", BIOINFER_TEXT + 1, at, ""};
    CHECK_EQ(bi_pack(&r, append, &bytes, &err), BIOINFER_INVALID);
    r.columns = &(struct bioinfer_column){NULL, BIOINFER_F32, f32, NULL};
    CHECK_EQ(bi_pack_size(&r), 0);
    bi_buf_free(&lines);
    bi_buf_free(&bytes);
}

int main(void)
{
    FILE *f;
    snprintf(folder, sizeof folder, "/tmp/bioinfer-pieces-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/a.txt", folder);
    snprintf(genome, sizeof genome, "%s/genome.fa", folder);
    if (!(f = fopen(genome, "w")))
        return 1;
    fputs(">a\nACGT\n", f);
    fclose(f);
    TEST(interleaved_pieces_come_out_in_order);
    TEST(unfinished_units_are_done_again);
    TEST(shards_merge);
    TEST(damage_reaches_no_output);
    TEST(damaged_shard_is_mended);
    TEST(a_record_begins_anew);
    TEST(wrong_pieces_are_refused);
    TEST(differences_are_named);
    TEST(results_come_back);
    TEST(columns_come_back);
    unlink(genome);
    rmdir(folder);
    return test_report();
}

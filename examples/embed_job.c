/* embed_job.c - embeddings as a job that may be killed at any moment, cut into shards, and merged.
 *
 *     cc embed_job.c $(pkg-config --cflags --libs bioinfer) -o embed_job
 *     ./embed_job WEIGHTS proteins.fasta out.npz           go on with it, or begin
 *     ./embed_job WEIGHTS proteins.fasta out.npz anew      forget an unfinished one first
 *     ./embed_job WEIGHTS proteins.fasta out.npz forget    that, and no more
 *     ./embed_job WEIGHTS proteins.fasta out.npz 2/3       the second of three shards
 *     ./embed_job merge   out.npz                          the shards become the output
 *
 * bioinfer_job_run() does in one call what compute() does here step by step: the steps are for
 * programs that hand out records and collect results in their own way. A shard reads its own blocks
 * of the file alone, by an index that is made beside it.
 */
#include <bioinfer.h>
#include <stdio.h>
#include <string.h>

struct run {
    bioinfer_reader *reader;
    bioinfer_index *index;
    bioinfer_job *job;
    unsigned long n_results;
};

static void print_log(void *user, int level, const char *text)
{
    static const char *const words[] = {[BIOINFER_LOG_ERROR] = "error",
                                        [BIOINFER_LOG_WARNING] = "warning",
                                        [BIOINFER_LOG_INFO] = "note",
                                        [BIOINFER_LOG_NAMED] = "warning"};
    (void)user;
    fprintf(stderr, "embed_job: %s: %s\n", words[level], text);
}

/* ---- the records of the job: a source, and a way to pass over those of other shards ---- */

static int next(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    return bioinfer_reader_next(((struct run *)user)->reader, record, err);
}

static int seek(void *user, uint64_t ordinal, struct bioinfer_error *err)
{
    struct run *run = user;
    return bioinfer_reader_seek(run->reader, run->index, ordinal, err);
}

/* Opens the index of the file, and makes it first where there is none or the file has changed. */
static int open_index(struct run *run, bioinfer_context *ctx, const char *path,
                      struct bioinfer_error *err)
{
    int st = bioinfer_index_open(&run->index, ctx, path, NULL, err);
    if ((st == BIOINFER_NOT_FOUND || st == BIOINFER_MISMATCH) &&
        !(st = bioinfer_index_make(ctx, path, NULL, err)))
        st = bioinfer_index_open(&run->index, ctx, path, NULL, err);
    if (!st)
        fprintf(stderr, "embed_job: %llu records in blocks of %llu\n",
                (unsigned long long)bioinfer_index_records(run->index),
                (unsigned long long)bioinfer_index_block(run->index));
    return st;
}

/* Tells the job of the names to come: two equal ones are found now and not after days. */
static int look_ahead(struct run *run, bioinfer_context *ctx, const char *path,
                      struct bioinfer_error *err)
{
    bioinfer_reader *names = NULL;
    struct bioinfer_record record = {0};
    int st = bioinfer_reader_open(&names, ctx, path, NULL, err);
    while (!st && bioinfer_reader_next(names, &record, err) == 1) {
        if (bioinfer_job_wants(run->job, record.ordinal) == record.ordinal)
            st = bioinfer_job_expect(run->job, &record, err);
    }
    bioinfer_reader_close(&names);
    return st == 1 ? 0 : st; /* 1: this output holds anything */
}

/* ---- the run ---- */

/* A sink: hands results to the job, and makes them safe now and then. */
static int keep(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct run *run = user;
    const int st = bioinfer_job_sink(run->job, result, err);
    return st || ++run->n_results % 100 ? st : bioinfer_job_commit(run->job, err);
}

static int compute(struct run *run, bioinfer_task *task, struct bioinfer_error *err)
{
    int st;
    bioinfer_job_set_source(run->job, next, run);
    do /* copies of a record that failed are handed out when the source has ended */
        st = bioinfer_task_run(task, bioinfer_job_source, run->job, keep, run, err);
    while (!st && bioinfer_job_pending(run->job));
    return st ? st : bioinfer_job_finish(run->job, err);
}

static int embed(bioinfer_context *ctx, char **argv, const char *how, struct bioinfer_error *err)
{
    struct bioinfer_writer_params writer = BIOINFER_PARAMS(struct bioinfer_writer_params);
    struct bioinfer_job_params params = BIOINFER_PARAMS(
        struct bioinfer_job_params, .writer = &writer, .options = "mean", .input = argv[2],
        .resume = BIOINFER_RESUME_MATCH);
    struct bioinfer_embed_params task_params = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                               .include = BIOINFER_MEAN);
    struct bioinfer_job_stats stats = BIOINFER_PARAMS(struct bioinfer_job_stats);
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    struct run run = {0};
    int st;
    if (!strcmp(how, "anew"))
        params.resume = BIOINFER_RESUME_RESTART;
    else if (strchr(how, '/') && sscanf(how, "%d/%d", &params.shard, &params.n_shards) == 2)
        params.seek = seek;
    if ((st = bioinfer_model_open(&model, ctx, argv[1], NULL, err)) ||
        (st = bioinfer_model_fingerprint(model, &writer.fingerprint, err)) ||
        (st = bioinfer_reader_open(&run.reader, ctx, argv[2], NULL, err)) ||
        (params.seek && (st = open_index(&run, ctx, argv[2], err))))
        goto out;
    params.index = run.index;
    if ((st = bioinfer_job_open(&run.job, ctx, argv[3], &params, err)))
        goto out;
    if (!strcmp(how, "forget")) {
        bioinfer_job_discard(run.job);
        goto out;
    }
    if (!(st = look_ahead(&run, ctx, argv[2], err)) &&
        !(st = bioinfer_embed_open(&task, model, &task_params, err)) &&
        !(st = compute(&run, task, err)) && !(st = bioinfer_job_get_stats(run.job, &stats)))
        printf("%llu records, %llu without a result, %llu of an earlier run\n",
               (unsigned long long)stats.records, (unsigned long long)stats.failed,
               (unsigned long long)stats.resumed);
out:
    bioinfer_task_close(&task);
    bioinfer_job_close(&run.job);
    bioinfer_index_close(&run.index);
    bioinfer_reader_close(&run.reader);
    bioinfer_model_close(&model);
    return st;
}

int main(int argc, char **argv)
{
    struct bioinfer_context_params params = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                            .log = print_log);
    bioinfer_context *ctx = NULL;
    struct bioinfer_error err = {0};
    int st;
    if (argc != 4 && argc != 5 && (argc != 3 || strcmp(argv[1], "merge"))) {
        fprintf(stderr, "usage: embed_job WEIGHTS FASTA OUT [anew | forget | SHARD/N]\n"
                        "       embed_job merge OUT\n");
        return 2;
    }
    if (!(st = bioinfer_context_new(&ctx, &params, &err)))
        st = argc == 3 ? bioinfer_job_merge(ctx, argv[2], NULL, 0, NULL, NULL, &err)
                       : embed(ctx, argv, argc == 5 ? argv[4] : "", &err);
    if (st)
        fprintf(stderr, "embed_job: %s\n", err.text);
    bioinfer_context_free(&ctx);
    return st != 0;
}

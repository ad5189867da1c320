/* results.c - public calls of writers, jobs, merges and packed results. */
#include <string.h>

#include "../engine/engine.h"
#include "../jobs/parts.h"
#include "../writers/writer.h"

/* ---- writers ---- */

int bioinfer_writer_open(bioinfer_writer **out, bioinfer_context *ctx, const char *path,
                         const struct bioinfer_writer_params *params, struct bioinfer_error *err)
{
    struct bioinfer_writer_params p = {0};
    int st;
    if (!out || !ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "writer: out, context and path must be given");
    *out = NULL;
    st = bi_params_copy(&p, sizeof p, params, "writer params", err);
    p.struct_size = sizeof p;
    if (!st && !(st = bi_writer_open(out, &ctx->env, path, &p, err)))
        (*out)->n_threads = ctx->n_threads;
    return st;
}

/* Whether all that a result must point to is there. */
static bool is_whole(const struct bioinfer_result *r)
{
    if (!r || !r->id || (r->status && !r->message) || (r->n_arrays > 0 && !r->arrays) ||
        (r->n_texts > 0 && !r->texts) || (r->n_columns > 0 && !r->columns))
        return false;
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        bool has_values = true;
        for (int d = 0; d < a->n_dims && d < (int)BI_COUNT(a->shape); d++)
            has_values = has_values && a->shape[d];
        if (!a->kind || (has_values && !a->data))
            return false;
    }
    return true;
}

int bioinfer_writer_put(void *writer, const struct bioinfer_result *result,
                        struct bioinfer_error *err)
{
    if (!writer || !is_whole(result))
        return bi_fail(err, BIOINFER_INVALID,
                       "writer and result, with its id and values, must be given");
    return bi_writer_put(writer, result, err);
}

int bioinfer_result_fits(const struct bioinfer_result *result, const char *dtype,
                         struct bioinfer_error *err)
{
    if (!is_whole(result))
        return bi_fail(err, BIOINFER_INVALID, "result, with its id and values, must be given");
    return dtype && !strcmp(dtype, "f16") ? bi_result_fits_half(result, err) : 0;
}

int bioinfer_writer_set_fingerprint(bioinfer_writer *writer, const char *text,
                                    struct bioinfer_error *err)
{
    if (!writer || !text)
        return bi_fail(err, BIOINFER_INVALID, "writer and text must be given");
    return bi_writer_set_fingerprint(writer, text, err);
}

int bioinfer_writer_finish(bioinfer_writer *writer, struct bioinfer_error *err)
{
    if (!writer)
        return bi_fail(err, BIOINFER_INVALID, "writer must be given");
    return bi_writer_finish(writer, err);
}

void bioinfer_writer_close(bioinfer_writer **writer)
{
    if (writer)
        bi_writer_close(writer);
}

const char *bioinfer_writer_format(int index)
{
    return bi_writer_format(index);
}

/* ---- jobs ---- */

int bioinfer_job_open(bioinfer_job **out, bioinfer_context *ctx, const char *path,
                      const struct bioinfer_job_params *params, struct bioinfer_error *err)
{
    struct bioinfer_job_params p = {0};
    struct bioinfer_writer_params w = {0};
    int st;
    if (!out || !ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "job: out, context and path must be given");
    *out = NULL;
    if ((st = bi_params_copy(&p, sizeof p, params, "job params", err)) ||
        (st = bi_params_copy(&w, sizeof w, p.writer, "writer params", err)))
        return st;
    p.struct_size = sizeof p;
    w.struct_size = sizeof w;
    p.writer = &w;
    return bi_job_open(out, &ctx->env, path, &p, err);
}

void bioinfer_job_set_source(bioinfer_job *job, bioinfer_source source, void *user)
{
    if (!job)
        return;
    job->source = source;
    job->source_user = user;
}

int bioinfer_job_expect(bioinfer_job *job, const struct bioinfer_record *record,
                        struct bioinfer_error *err)
{
    if (!job || !record)
        return bi_fail(err, BIOINFER_INVALID, "job and record must be given");
    return bi_job_expect(job, record, err);
}

uint64_t bioinfer_job_wants(const bioinfer_job *job, uint64_t ordinal)
{
    return job ? bi_job_wants(job, ordinal) : ordinal;
}

int bioinfer_job_source(void *job, struct bioinfer_record *record, struct bioinfer_error *err)
{
    if (!job || !record)
        return bi_fail(err, BIOINFER_INVALID, "job and record must be given");
    return bi_job_source(job, record, err);
}

int bioinfer_job_sink(void *job, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    if (!job || !result)
        return bi_fail(err, BIOINFER_INVALID, "job and result must be given");
    return bi_job_sink(job, result, err);
}

int bioinfer_job_pending(const bioinfer_job *job)
{
    return job && bi_job_pending(job);
}

int bioinfer_job_run(bioinfer_job *job, bioinfer_task *task, struct bioinfer_error *err)
{
    int st;
    if (!job || !task)
        return bi_fail(err, BIOINFER_INVALID, "job and task must be given");
    do
        st = bioinfer_task_run(task, bioinfer_job_source, job, bioinfer_job_sink, job, err);
    while (!st && bioinfer_job_pending(job));
    return st;
}

int bioinfer_job_commit(bioinfer_job *job, struct bioinfer_error *err)
{
    return job ? bi_job_commit(job, err) : bi_fail(err, BIOINFER_INVALID, "job must be given");
}

int bioinfer_job_finish(bioinfer_job *job, struct bioinfer_error *err)
{
    return job ? bi_job_finish(job, err) : bi_fail(err, BIOINFER_INVALID, "job must be given");
}

int bioinfer_job_get_stats(const bioinfer_job *job, struct bioinfer_job_stats *stats)
{
    struct bioinfer_job_stats s;
    size_t size;
    if (!job || !stats || stats->struct_size < sizeof stats->struct_size)
        return BIOINFER_INVALID;
    s = job->stats;
    s.input_records = job->n_read;
    s.committed = job->unsaid && job->fresh ? 0 : job->n_kept;
    if (job->parts)
        bi_parts_count(job->parts, &s);
    s.struct_size = size = stats->struct_size;
    memcpy(stats, &s, size < sizeof s ? size : sizeof s);
    return 0;
}

void bioinfer_job_discard(bioinfer_job *job)
{
    if (job)
        bi_job_discard(job);
}

void bioinfer_job_close(bioinfer_job **job)
{
    if (job)
        bi_job_close(job);
}

int bioinfer_parts_merge(bioinfer_context *ctx, const char *folder, int check,
                         struct bioinfer_job_stats *stats, struct bioinfer_error *err)
{
    struct bioinfer_job_stats s = {0};
    int st;
    if (!ctx || !folder)
        return bi_fail(err, BIOINFER_INVALID, "merge: context and folder must be given");
    if (stats && stats->struct_size < sizeof stats->struct_size)
        return bi_fail(err, BIOINFER_INVALID, "merge: stats without struct_size");
    st = bi_parts_merge(&ctx->env, folder, check, &s, err);
    if (!st && stats) {
        s.struct_size = stats->struct_size;
        memcpy(stats, &s, s.struct_size < sizeof s ? s.struct_size : sizeof s);
    }
    return st;
}

int bioinfer_job_merge(bioinfer_context *ctx, const char *path, const char *const *parts,
                       size_t n_parts, const struct bioinfer_writer_params *writer,
                       struct bioinfer_job_stats *stats, struct bioinfer_error *err)
{
    struct bioinfer_writer_params w = {0};
    struct bioinfer_job_stats s = {0};
    int st;
    if (!ctx || !path || (n_parts && !parts))
        return bi_fail(err, BIOINFER_INVALID, "merge: context and path must be given");
    if (stats && stats->struct_size < sizeof stats->struct_size)
        return bi_fail(err, BIOINFER_INVALID, "merge: stats without struct_size");
    if ((st = bi_params_copy(&w, sizeof w, writer, "writer params", err)))
        return st;
    w.struct_size = sizeof w;
    st = bi_job_merge(&ctx->env, path, parts, n_parts, &w, &s, err);
    if (!st && stats) {
        s.struct_size = stats->struct_size;
        memcpy(stats, &s, s.struct_size < sizeof s ? s.struct_size : sizeof s);
    }
    return st;
}

uint64_t bioinfer_result_size(const struct bioinfer_result *result)
{
    return result ? bi_pack_size(result) : 0;
}

int bioinfer_result_pack(const struct bioinfer_result *result,
                         int (*write)(void *user, const void *bytes, size_t size), void *user,
                         struct bioinfer_error *err)
{
    if (!result || !write)
        return bi_fail(err, BIOINFER_INVALID, "pack: result and write must be given");
    return bi_pack(result, write, user, err);
}

int bioinfer_result_unpack(struct bioinfer_result *result, struct bioinfer_array *arrays,
                           int n_arrays, struct bioinfer_text *texts, int n_texts,
                           struct bioinfer_column *columns, int n_columns, const void *bytes,
                           uint64_t size, struct bioinfer_error *err)
{
    const struct bi_unpacked room = {arrays, texts, n_arrays, n_texts, columns, n_columns};
    if (!result || !bytes || n_arrays < 0 || (n_arrays && !arrays) || n_texts < 0 ||
        (n_texts && !texts) || n_columns < 0 || (n_columns && !columns))
        return bi_fail(err, BIOINFER_INVALID, "unpack: result and bytes must be given");
    return bi_unpack(result, &room, bytes, size, err);
}

/* api.c - public calls that stand for a loader or a writer. */
#include <string.h>

#include "../jobs/parts.h"
#include "../loaders/fasta.h"
#include "../loaders/fasta_index.h"
#include "../loaders/genome.h"
#include "../loaders/loci.h"
#include "../loaders/structure.h"
#include "../writers/bigwig.h"
#include "../writers/writer.h"
#include "../engine/engine.h"

/* ---- readers ---- */

int bioinfer_reader_open(bioinfer_reader **out, bioinfer_context *ctx, const char *path,
                         const struct bioinfer_reader_params *params, struct bioinfer_error *err)
{
    struct bioinfer_reader_params p = {0};
    int st;
    if (!out || !ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "reader: out, context and path must be given");
    *out = NULL;
    st = bi_params_copy(&p, sizeof p, params, "reader params", err);
    p.struct_size = sizeof p;
    return st ? st : bi_fasta_open(out, &ctx->env, path, &p, err);
}

int bioinfer_reader_open_text(bioinfer_reader **out, bioinfer_context *ctx,
                              const struct bioinfer_text *text,
                              const struct bioinfer_reader_params *params,
                              struct bioinfer_error *err)
{
    struct bioinfer_reader_params p = {0};
    int st;
    if (!out || !ctx || !text || (text->length && !text->text))
        return bi_fail(err, BIOINFER_INVALID, "reader: out, context and text must be given");
    *out = NULL;
    if ((st = bi_context_check(ctx, err)) ||
        (st = bi_params_copy(&p, sizeof p, params, "reader params", err)))
        return st;
    return bi_fasta_open_memory(out, &ctx->env, text->name ? text->name : "text", text->text,
                                text->length, &p, err);
}

int bioinfer_reader_next(bioinfer_reader *reader, struct bioinfer_record *record,
                         struct bioinfer_error *err)
{
    if (!reader || !record)
        return bi_fail(err, BIOINFER_INVALID, "reader and record must be given");
    return bi_fasta_next(reader, record, err);
}

int bioinfer_reader_next_many(bioinfer_reader *reader, struct bioinfer_records **records,
                              struct bioinfer_error *err)
{
    if (!reader || !records)
        return bi_fail(err, BIOINFER_INVALID, "reader and records must be given");
    return bi_fasta_next_many(reader, records, err);
}

void bioinfer_records_free(struct bioinfer_records **records)
{
    if (records)
        bi_fasta_many_free(records);
}

int bioinfer_reader_source(void *reader, struct bioinfer_record *record, struct bioinfer_error *err)
{
    return bioinfer_reader_next(reader, record, err);
}

void bioinfer_reader_progress(const bioinfer_reader *reader, uint64_t *done, uint64_t *total)
{
    uint64_t d = 0, t = 0;
    if (reader)
        bi_fasta_progress(reader, &d, &t);
    if (done)
        *done = d;
    if (total)
        *total = t;
}

int bioinfer_index_make(bioinfer_context *ctx, const char *path,
                        const struct bioinfer_reader_params *params, struct bioinfer_error *err)
{
    struct bioinfer_reader_params p = {0};
    bioinfer_index *index = NULL;
    int st;
    if (!ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "index: context and path must be given");
    if (!(st = bi_params_copy(&p, sizeof p, params, "reader params", err)) &&
        !(st = bi_fasta_index_make(&index, &ctx->env, path, &p, err)))
        st = bi_fasta_index_write(index, path, err);
    bi_fasta_index_close(&index);
    return st;
}

int bioinfer_index_open(bioinfer_index **out, bioinfer_context *ctx, const char *path,
                        const struct bioinfer_reader_params *params, struct bioinfer_error *err)
{
    struct bioinfer_reader_params p = {0};
    int st;
    if (!out || !ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "index: out, context and path must be given");
    *out = NULL;
    st = bi_params_copy(&p, sizeof p, params, "reader params", err);
    return st ? st : bi_fasta_index_open(out, &ctx->env, path, &p, err);
}

uint64_t bioinfer_index_records(const bioinfer_index *index)
{
    return index ? index->n_records : 0;
}

uint64_t bioinfer_index_block(const bioinfer_index *index)
{
    return index ? index->block : 0;
}

int bioinfer_reader_seek(bioinfer_reader *reader, const bioinfer_index *index, uint64_t ordinal,
                         struct bioinfer_error *err)
{
    if (!reader || !index)
        return bi_fail(err, BIOINFER_INVALID, "reader and index must be given");
    return bi_fasta_seek(reader, index, ordinal, err);
}

void bioinfer_index_close(bioinfer_index **index)
{
    if (index)
        bi_fasta_index_close(index);
}

void bioinfer_reader_close(bioinfer_reader **reader)
{
    if (reader)
        bi_fasta_close(reader);
}

/* ---- files as records ---- */

struct file_record {
    struct bioinfer_record record; /* first: it is what the caller frees */
    const struct bi_env *env;
    char *id, *path, *text;
};

void bioinfer_record_free(struct bioinfer_record **record)
{
    struct file_record *f = record ? (struct file_record *)*record : NULL;
    if (!f)
        return;
    bi_free(f->env, f->id);
    bi_free(f->env, f->path);
    bi_free(f->env, f->text);
    bi_free(f->env, f);
    *record = NULL;
}

int bioinfer_record_read(struct bioinfer_record **record, bioinfer_context *ctx, const char *path,
                         struct bioinfer_error *err)
{
    struct file_record *f;
    int st;
    if (!record || !ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "record: out, context and path must be given");
    *record = NULL;
    if (!(f = bi_zalloc(&ctx->env, sizeof *f)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    *record = &f->record;
    f->env = &ctx->env;
    f->id = bi_structure_name(f->env, path);
    f->path = bi_strdup(f->env, path);
    st = f->id && f->path
             ? bi_file_slurp(f->env, path, BI_MAX_STRUCTURE_SIZE, &f->text, &f->record.length, err)
             : bi_fail(err, BIOINFER_NOMEM, "%s", path);
    f->record.id = f->id;
    f->record.description = f->path;
    f->record.sequence = f->text;
    f->record.message = "";
    if (st)
        bioinfer_record_free(record);
    return st;
}

/* ---- genomes and places in them ---- */

int bioinfer_genome_open(bioinfer_genome **out, bioinfer_context *ctx, const char *path,
                         struct bioinfer_error *err)
{
    if (!out || !ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "genome: out, context and path must be given");
    return bi_genome_open(out, &ctx->env, path, err);
}

int bioinfer_genome_index(bioinfer_context *ctx, const char *path, struct bioinfer_error *err)
{
    if (!ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "genome: context and path must be given");
    return bi_genome_index(&ctx->env, path, err);
}

const char *bioinfer_genome_contig(const bioinfer_genome *genome, int64_t index, int64_t *length)
{
    int64_t unused;
    return genome ? bi_genome_contig(genome, index, length ? length : &unused) : NULL;
}

int bioinfer_genome_length(const bioinfer_genome *genome, const char *contig, int64_t *length)
{
    int64_t n;
    if (!genome || !contig || !length)
        return BIOINFER_INVALID;
    n = bi_genome_length(genome, contig);
    *length = n < 0 ? 0 : n;
    return n < 0 ? BIOINFER_NOT_FOUND : BIOINFER_OK;
}

int bioinfer_genome_read(bioinfer_genome *genome, const char *contig, int64_t start, int64_t end,
                         char *bases, struct bioinfer_error *err)
{
    if (!genome || !contig || !bases)
        return bi_fail(err, BIOINFER_INVALID, "genome: contig and bases must be given");
    return bi_genome_read(genome, contig, start, end, bases, err);
}

void bioinfer_genome_close(bioinfer_genome **genome)
{
    if (genome)
        bi_genome_close(genome);
}

int bioinfer_loci_open(bioinfer_loci **out, bioinfer_context *ctx, const char *path,
                       struct bioinfer_error *err)
{
    if (!out || !ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "loci: out, context and path must be given");
    return bi_loci_open(out, &ctx->env, path, err);
}

int bioinfer_loci_are_variants(const bioinfer_loci *loci)
{
    return loci && bi_loci_are_variants(loci);
}

int bioinfer_loci_next(bioinfer_loci *loci, struct bioinfer_locus *locus,
                       struct bioinfer_error *err)
{
    if (!loci || !locus)
        return bi_fail(err, BIOINFER_INVALID, "loci and locus must be given");
    return bi_loci_next(loci, locus, err);
}

void bioinfer_loci_close(bioinfer_loci **loci)
{
    if (loci)
        bi_loci_close(loci);
}

int bioinfer_bigwig_open(bioinfer_bigwig **out, bioinfer_context *ctx, const char *path,
                         struct bioinfer_error *err)
{
    if (!out || !ctx || !path)
        return bi_fail(err, BIOINFER_INVALID, "bigwig: out, context and path must be given");
    return bi_bigwig_open(out, &ctx->env, path, err);
}

int bioinfer_bigwig_put(bioinfer_bigwig *bigwig, const char *contig, int64_t length, int64_t start,
                        int64_t bin_size, const float *values, int64_t n,
                        struct bioinfer_error *err)
{
    if (!bigwig || !contig || (!values && n))
        return bi_fail(err, BIOINFER_INVALID, "bigwig: contig and values must be given");
    return bi_bigwig_put(bigwig, contig, length, start, bin_size, values, n, err);
}

int bioinfer_bigwig_finish(bioinfer_bigwig *bigwig, struct bioinfer_error *err)
{
    if (!bigwig)
        return bi_fail(err, BIOINFER_INVALID, "bigwig must be given");
    return bi_bigwig_finish(bigwig, err);
}

void bioinfer_bigwig_close(bioinfer_bigwig **bigwig)
{
    if (bigwig)
        bi_bigwig_close(bigwig);
}

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
        (r->n_texts > 0 && !r->texts))
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
                           const void *bytes, uint64_t size, struct bioinfer_error *err)
{
    const struct bi_unpacked room = {arrays, texts, n_arrays, n_texts};
    if (!result || !bytes || n_arrays < 0 || (n_arrays && !arrays) || n_texts < 0 ||
        (n_texts && !texts))
        return bi_fail(err, BIOINFER_INVALID, "unpack: result and bytes must be given");
    return bi_unpack(result, &room, bytes, size, err);
}

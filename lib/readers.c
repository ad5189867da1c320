/* readers.c - public calls of readers: records, indexes, genomes, loci; and of BigWig files. */
#include <string.h>

#include "../loaders/fasta.h"
#include "../loaders/fasta_index.h"
#include "../loaders/genome.h"
#include "../loaders/loci.h"
#include "../loaders/structure.h"
#include "../writers/bigwig.h"
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

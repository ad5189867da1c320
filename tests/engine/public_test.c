/* public_test.c - calls of bioinfer.h that stand beside the tasks: files, indexes of contigs,
 * results as bytes, outputs and their reports, parts of a job, limits.
 *
 *     public_test BIOINFER_TINY FASTA */
#define _POSIX_C_SOURCE 200809L
#include "../folder.h"
#include "engine.h"

static const char *model_path, *fasta_path;
static char folder[256];

/* The path of a file in the folder of this test; valid until the fourth call behind it. */
static const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const char *write_file(const char *name, const char *text)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fputs(text, f) >= 0 && !fclose(f));
    return path;
}

struct text {
    char bytes[1 << 20];
    size_t size;
};

/* A bioinfer_write. */
static int gather(void *user, const char *text, size_t length)
{
    struct text *t = user;
    if (!CHECK(length < sizeof t->bytes - t->size))
        return BIOINFER_LIMIT;
    memcpy(t->bytes + t->size, text, length);
    t->bytes[t->size += length] = '\0';
    return 0;
}

/* ---- places ---- */

static bioinfer_places *open_places(bioinfer_context *ctx, bioinfer_loci *loci,
                                    bioinfer_genome *genome, int64_t cluster, int mutagenesis)
{
    const struct bioinfer_places_params p = BIOINFER_PARAMS(struct bioinfer_places_params,
                                                            .window = 16, .cluster = cluster,
                                                            .mutagenesis = mutagenesis);
    bioinfer_places *places = NULL;
    struct bioinfer_error err = {0};
    CHECK_EQ(bioinfer_places_open(&places, ctx, loci, genome, &p, &err), 0);
    CHECK_STR(err.text, "");
    return places;
}

/* The next record: its status, text and number. */
static void check_record(bioinfer_places *places, uint64_t ordinal, int status, const char *text)
{
    struct bioinfer_record r = {0};
    CHECK_EQ(bioinfer_places_source(places, &r, NULL), 1);
    CHECK_EQ(r.status, status);
    CHECK_EQ(r.ordinal, ordinal);
    CHECK(r.length == strlen(text) && !memcmp(r.sequence, text, r.length));
}

/* A record holds the places that share a window, and they can be read again. */
static void clusters(bioinfer_context *ctx, bioinfer_genome *genome)
{
    const char *vcf = write_file("c.vcf", "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n"
                                          "chrA\t1\ta\tA\tC\nchrA\t3\tb\tG\tGT\n"
                                          "A\t1\tc\tA\tC\nchrA\t4\td\tT\t<DEL>\n"
                                          "chrA\t1\te\tACGTA\tA\nchrA\t5\tf\tA\tC\n");
    struct bioinfer_record r = {.id = "x", .sequence = "7\tchrA\t3\tn\tAC\tG\n8\tchrA\t4"};
    bioinfer_loci *loci = NULL;
    bioinfer_places *places;
    struct bioinfer_locus l;
    char text[64];
    size_t at = 0;
    CHECK_EQ(bioinfer_loci_open(&loci, ctx, vcf, NULL), 0);
    places = open_places(ctx, loci, genome, 4, 1);
    check_record(places, 0, 0, "3\tchrA\t0\ta\tA\tC\n4\tchrA\t2\tb\tG\tGT\n");
    CHECK_EQ(bioinfer_places_indels(places), 1);
    check_record(places, 1, BIOINFER_INVALID, "5\tA\t0\tc\tA\tC\n"); /* it is called chrA */
    check_record(places, 2, BIOINFER_UNSUPPORTED, "6\tchrA\t3\td\tT\t<DEL>\n");
    check_record(places, 3, BIOINFER_TOO_LONG, "7\tchrA\t0\te\tACGTA\tA\n");
    check_record(places, 4, 0, "8\tchrA\t4\tf\tA\tC\n");
    CHECK_EQ(bioinfer_places_source(places, &r, NULL), 0);
    bioinfer_places_close(&places);
    bioinfer_loci_close(&loci);
    CHECK_EQ(
        bioinfer_loci_open(&loci, ctx, write_file("c.bed", "chrA\t0\t5\tn\nchrA\t2\t2\n"), NULL),
        0);
    places = open_places(ctx, loci, genome, 0, 1);
    check_record(places, 0, 0, "1\tchrA\t0\t5\tn\n");
    check_record(places, 1, BIOINFER_INVALID, "2\tchrA\t2\t2\tchrA:2-2\n"); /* no base */
    bioinfer_places_close(&places);
    r = (struct bioinfer_record){.id = "x", .sequence = "7\tchrA\t3\tn\tAC\tG\n8\tchrA\t4"};
    r.length = strlen(r.sequence);
    CHECK_EQ(bioinfer_record_place(&r, &at, text, &l, NULL), 1);
    CHECK(l.line == 7 && l.start == 3 && l.end == 5);
    CHECK_STR(l.chrom, "chrA");
    CHECK_STR(l.name, "n");
    CHECK_STR(l.reference, "AC");
    CHECK_STR(l.alternative, "G");
    CHECK_EQ(bioinfer_record_place(&r, &at, text, &l, NULL), BIOINFER_FORMAT);
    r.length = at;
    CHECK_EQ(bioinfer_record_place(&r, &at, text, &l, NULL), 0);
    CHECK_EQ(bioinfer_places_open(&places, ctx, loci, genome, NULL, NULL), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_places_open(&places, ctx, loci, genome,
                                  &BIOINFER_PARAMS(struct bioinfer_places_params), NULL),
             BIOINFER_INVALID); /* without a window */
    CHECK_EQ(bioinfer_places_open(
                 &places, ctx, loci, genome,
                 &BIOINFER_PARAMS(struct bioinfer_places_params, .window = 16, .cluster = 8), NULL),
             BIOINFER_INVALID);
    bioinfer_loci_close(&loci);
}

/* Blocks of records hold what single records hold, also when the reader is closed. */
static void records_in_blocks(bioinfer_context *ctx)
{
    bioinfer_reader *many = NULL, *one = NULL;
    struct bioinfer_records *block = NULL;
    struct bioinfer_record r;
    uint64_t n = 0, residues;
    int st;
    CHECK_EQ(bioinfer_reader_open(&many, ctx, fasta_path, NULL, NULL), 0);
    CHECK_EQ(bioinfer_reader_open(&one, ctx, fasta_path, NULL, NULL), 0);
    while ((st = bioinfer_reader_next_many(many, &block, NULL)) == 1) {
        CHECK(block->n_records > 0);
        residues = 0;
        for (size_t i = 0; i < block->n_records; i++) {
            const struct bioinfer_record *b = &block->records[i];
            CHECK_EQ(bioinfer_reader_next(one, &r, NULL), 1);
            CHECK_STR(b->id, r.id);
            CHECK(b->length == r.length && !memcmp(b->sequence, r.sequence, r.length));
            CHECK_EQ(b->ordinal, n++);
            residues += b->length;
        }
        CHECK_EQ(block->n_residues, residues);
        bioinfer_records_free(&block);
        CHECK(!block);
    }
    CHECK_EQ(st, 0);
    CHECK_EQ(bioinfer_reader_next(one, &r, NULL), 0);
    CHECK(n > 3);
    bioinfer_reader_close(&one);
    bioinfer_reader_close(&many);
    CHECK_EQ(bioinfer_reader_open(&many, ctx, fasta_path, NULL, NULL), 0);
    CHECK_EQ(bioinfer_reader_next_many(many, &block, NULL), 1);
    bioinfer_reader_close(&many);
    CHECK(block->records[0].id[0] && block->records[0].length > 0);
    bioinfer_records_free(&block);
    bioinfer_records_free(&block);
}

static void contigs_and_loci(bioinfer_context *ctx)
{
    bioinfer_genome *genome = NULL;
    bioinfer_loci *loci = NULL;
    int64_t length = 0;
    const char *fasta = write_file("g.fa", ">chrA\nACGTACGT\n>chrB\nGGG\n");
    CHECK_EQ(bioinfer_genome_index(ctx, fasta, NULL), 0);
    CHECK_EQ(bioinfer_genome_open(&genome, ctx, fasta, NULL), 0);
    CHECK_STR(bioinfer_genome_contig(genome, 0, &length), "chrA");
    CHECK_EQ(length, 8);
    CHECK_STR(bioinfer_genome_contig(genome, 1, NULL), "chrB");
    CHECK(!bioinfer_genome_contig(genome, 2, &length) && !bioinfer_genome_contig(genome, -1, NULL));
    CHECK(!bioinfer_genome_length(genome, "chrB", &length) && length == 3);
    CHECK_EQ(bioinfer_genome_length(genome, "chrC", &length), BIOINFER_NOT_FOUND);
    CHECK_EQ(length, 0);
    CHECK_EQ(bioinfer_genome_length(genome, "chrB", NULL), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_genome_length(genome, NULL, &length), BIOINFER_INVALID);
    CHECK_EQ(bioinfer_genome_length(NULL, "chrB", &length), BIOINFER_INVALID);
    clusters(ctx, genome);
    bioinfer_genome_close(&genome);
    CHECK_EQ(bioinfer_loci_open(&loci, ctx, write_file("a.bed", "chrA\t1\t3\tname\n"), NULL), 0);
    CHECK(!bioinfer_loci_are_variants(loci));
    bioinfer_loci_close(&loci);
    CHECK_EQ(
        bioinfer_loci_open(&loci, ctx,
                           write_file("a.vcf", "##fileformat=VCFv4.2\n"
                                               "#CHROM\tPOS\tID\tREF\tALT\nchrA\t1\tv\tA\tC\n"),
                           NULL),
        0);
    CHECK(bioinfer_loci_are_variants(loci));
    bioinfer_loci_close(&loci);
}

static int append(void *user, const void *bytes, size_t size)
{
    return gather(user, bytes, size);
}

/* A result as bytes is the result; half of the bytes are refused. */
static int through_bytes(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    static struct {
        double align;
        struct text text;
    } packed;
    const uint64_t size = bioinfer_result_size(r);
    struct bioinfer_result back = {0};
    struct bioinfer_array arrays[4];
    struct bioinfer_text texts[4];
    int *n = user;
    packed.text.size = 0;
    CHECK_EQ(size % 8, 0);
    CHECK_EQ(bioinfer_result_pack(r, append, &packed.text, err), 0);
    CHECK_EQ(packed.text.size, size);
    if (!CHECK_EQ(bioinfer_result_unpack(&back, arrays, 4, texts, 4, NULL, 0, packed.text.bytes,
                                         size, err),
                  0))
        return 0;
    CHECK_STR(back.id, r->id);
    CHECK_STR(back.message, r->message);
    CHECK(back.status == r->status && back.ordinal == r->ordinal && back.length == r->length);
    CHECK_EQ(back.n_arrays, r->n_arrays);
    for (int i = 0; i < r->n_arrays; i++) {
        CHECK_STR(back.arrays[i].kind, r->arrays[i].kind);
        CHECK_EQ(back.arrays[i].shape[0], r->arrays[i].shape[0]);
        CHECK(!memcmp(back.arrays[i].data, r->arrays[i].data,
                      (size_t)r->arrays[i].shape[0] * sizeof *r->arrays[i].data));
    }
    CHECK(bioinfer_result_unpack(&back, arrays, 4, texts, 4, NULL, 0, packed.text.bytes,
                                 size / 16 * 8, err) < 0);
    CHECK(!r->n_arrays || bioinfer_result_unpack(&back, arrays, 0, texts, 4, NULL, 0,
                                                 packed.text.bytes, size, err) < 0);
    ++*n;
    return 0;
}

static void results_as_bytes(const struct open *o)
{
    const struct bioinfer_result zeroed = {.message = ""};
    struct bioinfer_error err = {0};
    const struct bioinfer_record records[] = {record_of("one", "MKTAYIAKQR", 0),
                                              record_of("none", "", 1)};
    int n = 0;
    CHECK_EQ(bioinfer_task_compute(o->task, records, 2, through_bytes, &n, NULL), 0);
    CHECK_EQ(n, 2);
    { /* no result has no id, and a caller may ask all the same */
        static struct text bytes;
        const uint64_t size = bioinfer_result_size(&zeroed);
        CHECK(size > 0 && size < 200);
        CHECK_EQ(bioinfer_result_pack(&zeroed, append, &bytes, &err), 0);
        CHECK_EQ(bytes.size, size);
        CHECK_EQ(bioinfer_result_size(&(struct bioinfer_result){0}), size);
    }
}

static int take_first(void *user, const char *query, uint64_t ordinal,
                      const struct bioinfer_neighbour *hits, uint64_t n)
{
    double *sum = user;
    CHECK_STR(query, ordinal ? "second" : "first");
    if (CHECK_EQ(n, 1))
        *sum += hits->value;
    CHECK_STR(hits->id, ordinal ? "first" : "second");
    CHECK_EQ(hits->ordinal, !ordinal);
    return 0;
}

static int stop_at_once(void *user, double share)
{
    (void)user, (void)share;
    return 1;
}

/* Two records are each other's neighbours, by both metrics. */
static void neighbours(const struct open *o, const char *path)
{
    struct bioinfer_nearest_params p = BIOINFER_PARAMS(struct bioinfer_nearest_params);
    struct bioinfer_error err = {0};
    double cosines = 0, distances = 0;
    p.metric = BIOINFER_COSINE;
    CHECK_EQ(bioinfer_file_nearest(o->ctx, path, NULL, &p, take_first, &cosines, &err), 0);
    CHECK(cosines > -2 && cosines < 2);
    p.metric = BIOINFER_EUCLIDEAN;
    CHECK_EQ(bioinfer_file_nearest(o->ctx, path, NULL, &p, take_first, &distances, &err), 0);
    CHECK(distances > 0);
    p.progress = stop_at_once;
    CHECK_EQ(bioinfer_file_nearest(o->ctx, path, NULL, &p, take_first, &distances, &err),
             BIOINFER_CANCELLED);
    p.metric = 2;
    CHECK_EQ(bioinfer_file_nearest(o->ctx, path, NULL, &p, take_first, &distances, &err),
             BIOINFER_INVALID);
}

/* An output says of which weights it is, and shows its records. */
static void outputs_and_reports(const struct open *o)
{
    const struct bioinfer_record records[] = {record_of("first", "MKTAYIAKQR", 0),
                                              record_of("second", "GSHMSLFDFF", 1)};
    struct bioinfer_report_params one = BIOINFER_PARAMS(struct bioinfer_report_params,
                                                        .record = "absent");
    struct bioinfer_error err = {0};
    static struct text text;
    bioinfer_writer *w = NULL;
    const char *fingerprint = NULL, *path = in_folder("o.safetensors");
    CHECK_EQ(bioinfer_writer_open(&w, o->ctx, path, NULL, NULL), 0);
    CHECK_EQ(bioinfer_task_compute(o->task, records, 2, bioinfer_writer_put, w, NULL), 0);
    CHECK_EQ(bioinfer_model_fingerprint(o->model, &fingerprint, NULL), 0);
    CHECK_EQ(bioinfer_writer_set_fingerprint(w, fingerprint, NULL), 0);
    CHECK_EQ(bioinfer_writer_finish(w, NULL), 0);
    bioinfer_writer_close(&w);
    text.size = 0;
    CHECK_EQ(bioinfer_file_info(o->ctx, path, gather, &text, &err), 0);
    CHECK_HAS(text.bytes, fingerprint);
    CHECK_HAS(text.bytes, "second");
    text.size = 0;
    if (!CHECK_EQ(bioinfer_file_report(o->ctx, path, NULL, gather, &text, &err), 0))
        fprintf(stderr, "%s\n", err.text);
    CHECK_HAS(text.bytes, "<html");
    CHECK_HAS(text.bytes, "first");
    CHECK_EQ(bioinfer_file_report(o->ctx, path, &one, gather, &text, &err), BIOINFER_NOT_FOUND);
    CHECK_HAS(err.text, "absent");
    neighbours(o, path);
}

/* Parts of a job are checked without a merge of their data, and an unfinished job is not run over
 * by one that was not told to. */
static void parts_of_a_job(const struct open *o)
{
    struct bioinfer_writer_params writer = BIOINFER_PARAMS(struct bioinfer_writer_params,
                                                           .format = "npz");
    struct bioinfer_job_params p = BIOINFER_PARAMS(struct bioinfer_job_params, .writer = &writer,
                                                   .options = "mean", .input = fasta_path,
                                                   .part_records = 3, .resume = BIOINFER_RESUME_NO);
    struct bioinfer_job_stats stats = BIOINFER_PARAMS(struct bioinfer_job_stats);
    struct bioinfer_error err = {0};
    bioinfer_reader *reader = NULL;
    bioinfer_job *job = NULL;
    char path[512];
    FILE *f;
    snprintf(path, sizeof path, "%s", in_folder("o.parts"));
    CHECK_EQ(bioinfer_reader_open(&reader, o->ctx, fasta_path, NULL, NULL), 0);
    CHECK_EQ(bioinfer_job_open(&job, o->ctx, path, &p, &err), 0);
    bioinfer_job_set_source(job, bioinfer_reader_source, reader);
    CHECK_EQ(bioinfer_job_run(job, o->task, &err), 0);
    CHECK_EQ(bioinfer_job_finish(job, &err), 0);
    bioinfer_job_close(&job);
    bioinfer_reader_close(&reader);
    CHECK_EQ(bioinfer_parts_merge(o->ctx, path, 1, &stats, &err), 0);
    CHECK(stats.records > 3);
    CHECK_EQ(bioinfer_job_open(&job, o->ctx, path, &p, &err) != 0, 1);
    CHECK(err.text[0] && !job);
    /* a byte in the middle of a file is another one */
    snprintf(path, sizeof path, "%s", in_folder("o.parts/part-000000.npz"));
    if (!CHECK((f = fopen(path, "r+b")) != NULL))
        return;
    CHECK(!fseek(f, 900, SEEK_SET));
    const int c = fgetc(f);
    CHECK(c != EOF && !fseek(f, 900, SEEK_SET) && fputc(c ^ 1, f) != EOF && !fclose(f));
    CHECK_EQ(bioinfer_parts_merge(o->ctx, in_folder("o.parts"), 0, NULL, &err), 0);
    CHECK_EQ(bioinfer_parts_merge(o->ctx, in_folder("o.parts"), 1, NULL, &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "part-000000.npz");
}

/* No task takes a longer record than the header says; what needs a head is refused without one. */
/* A result of a caller's own that lacks a part is refused, and read no further. */
static void results_without_parts(bioinfer_context *ctx)
{
    float values[2] = {1, 2};
    const struct bioinfer_array good = {"mean", 0, 0, 1, {2}, values};
    for (int part = 0; part < 6; part++) {
        struct bioinfer_array a = good;
        struct bioinfer_result r = {.id = "a", .message = "", .n_arrays = 1, .arrays = &a};
        struct bioinfer_error err = {0};
        bioinfer_writer *w = NULL;
        a.kind = part == 1 ? NULL : a.kind;
        a.data = part == 2 ? NULL : a.data;
        r.id = part == 3 ? NULL : r.id;
        r.arrays = part == 4 ? NULL : r.arrays;
        r.status = part == 5 ? BIOINFER_FORMAT : 0;
        r.message = part == 5 ? NULL : r.message;
        CHECK_EQ(bioinfer_result_fits(&r, "f16", &err), part ? BIOINFER_INVALID : 0);
        CHECK_EQ(bioinfer_writer_open(&w, ctx, in_folder("parts.jsonl"), NULL, NULL), 0);
        CHECK_EQ(bioinfer_writer_put(w, &r, &err), part ? BIOINFER_INVALID : 0);
        CHECK(!part || strstr(err.text, "must be given"));
        bioinfer_writer_close(&w);
    }
}

static void limits(const struct open *o)
{
    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                     .include = BIOINFER_HEAD);
    struct bioinfer_record r = record_of("long", "", 0);
    struct bioinfer_error err = {0};
    struct sink sink = {0};
    bioinfer_task *task = NULL;
    char *sequence = malloc(BIOINFER_MAX_RESIDUES + 1);
    if (!CHECK(sequence != NULL))
        return;
    memset(sequence, 'A', BIOINFER_MAX_RESIDUES + 1);
    r.sequence = sequence;
    r.length = BIOINFER_MAX_RESIDUES + 1;
    CHECK_EQ(bioinfer_task_compute(o->task, &r, 1, keep_result, &sink, NULL), 0);
    CHECK_EQ(sink.n, 1);
    CHECK_EQ(sink.kept[0].status, BIOINFER_TOO_LONG);
    sink_free(&sink);
    free(sequence);
    CHECK_EQ(bioinfer_include_from_name("head"), BIOINFER_HEAD);
    CHECK_STR(bioinfer_include_name(BIOINFER_HEAD), "head");
    CHECK(bioinfer_embed_open(&task, o->model, &p, &err) < 0);
    CHECK_HAS(err.text, "head");
}

int main(int argc, char **argv)
{
    struct open o;
    char command[300];
    if (argc != 3)
        return 2;
    model_path = argv[1];
    fasta_path = argv[2];
    if (!CHECK(test_folder(folder, sizeof folder, "public")) ||
        open_all(&o, model_path, NULL, NULL, NULL))
        return test_report();
    records_in_blocks(o.ctx);
    contigs_and_loci(o.ctx);
    results_without_parts(o.ctx);
    results_as_bytes(&o);
    outputs_and_reports(&o);
    parts_of_a_job(&o);
    limits(&o);
    close_all(&o);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK_EQ(system(command), 0);
    return test_report();
}

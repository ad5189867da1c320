/* track_regions.c - tracks of the DNA around intervals, as a BigWig file.
 *
 *     cc track_regions.c $(pkg-config --cflags --libs bioinfer) -o track_regions
 *     ./track_regions WEIGHTS 1 genome.fa regions.bed out.bw
 *
 * The window of the model lies around the middle of each interval of the BED file. Track 1 (from 0)
 * of its first head goes to out.bw; a line for each interval says where its bins begin and what
 * their mean is. The genome has its index beside it (samtools faidx). Intervals whose bins overlap
 * are more than a BigWig file can hold: the second one is an error. */
#include <bioinfer.h>
#include <stdio.h>
#include <stdlib.h>

struct run {
    bioinfer_genome *genome;
    bioinfer_loci *loci;
    bioinfer_bigwig *out;
    struct bioinfer_tracks_info info;
    struct bioinfer_locus locus; /* the interval at hand */
    int64_t first_base;          /* the first one of the bins that are given */
    char *bases;                 /* the bases of its window */
};

/* Reads the window around the next interval: 1, 0 = there are no more, < 0 = a status. */
static int next_window(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    struct bioinfer_locus *at = &run->locus;
    const int64_t window = run->info.window;
    int64_t start;
    int st = bioinfer_loci_next(run->loci, at, err);
    if (st != 1)
        return st;
    record->id = at->name;
    start = (at->start + at->end) / 2 - window / 2;
    run->first_base = start + run->info.first_bin * run->info.bin_size;
    record->sequence = run->bases;
    record->length = (size_t)window;
    record->status = at->status; /* an interval that cannot be used says why */
    record->message = at->message;
    if (!at->status) {
        record->status = bioinfer_genome_read(run->genome, at->chrom, start, start + window,
                                              run->bases, err);
        record->message = err->text;
    }
    return 1;
}

static int put_bins(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct run *run = user;
    const int64_t n = run->info.n_bins;
    int64_t contig;
    double sum = 0;
    int st;
    if (result->status) {
        printf("%s\t%s\n", result->id, result->message);
        return 0;
    }
    for (int64_t i = 0; i < n; i++)
        sum += result->arrays[0].data[i]; /* [n_bins, 1]: one track was asked for */
    printf("%s\t%s:%lld\t%.6g\n", result->id, run->locus.chrom, (long long)run->first_base,
           sum / (double)n);
    if ((st = bioinfer_genome_length(run->genome, run->locus.chrom, &contig)))
        return st;
    return bioinfer_bigwig_put(run->out, run->locus.chrom, contig, run->first_base,
                               run->info.bin_size, result->arrays[0].data, n, err);
}

int main(int argc, char **argv)
{
    const int track = argc == 6 ? atoi(argv[2]) : 0;
    struct run run = {.info = BIOINFER_PARAMS(struct bioinfer_tracks_info)};
    struct bioinfer_tracks_params params = BIOINFER_PARAMS(struct bioinfer_tracks_params,
                                                           .tracks = &track, .n_tracks = 1);
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    int st;
    if (argc != 6) {
        fprintf(stderr, "usage: track_regions WEIGHTS TRACK GENOME BED OUT.bw\n");
        return 2;
    }
    if ((st = bioinfer_context_new(&ctx, NULL, &err)) ||
        (st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err)) ||
        (st = bioinfer_tracks_open(&task, model, &params, &err)) ||
        (st = bioinfer_tracks_get_info(task, &run.info)) ||
        (st = bioinfer_genome_open(&run.genome, ctx, argv[3], &err)) ||
        (st = bioinfer_loci_open(&run.loci, ctx, argv[4], &err)) ||
        (st = bioinfer_bigwig_open(&run.out, ctx, argv[5], &err)))
        goto out;
    st = BIOINFER_NOMEM;
    if (!(run.bases = malloc((size_t)run.info.window)))
        goto out;
    for (;;) { /* call and response: the interval at hand is that of the result */
        struct bioinfer_record record = {0};
        if ((st = next_window(&run, &record, &err)) != 1 ||
            (st = bioinfer_task_compute(task, &record, 1, put_bins, &run, &err)))
            break;
    }
    if (!st)
        st = bioinfer_bigwig_finish(run.out, &err);
out:
    if (st)
        fprintf(stderr, "track_regions: %s\n", err.text);
    free(run.bases);
    bioinfer_bigwig_close(&run.out);
    bioinfer_loci_close(&run.loci);
    bioinfer_genome_close(&run.genome);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st != 0;
}

/* score_variants.c - what variants change: scores by AlphaGenome's scorers, or SAD of every track.
 *
 *     cc score_variants.c $(pkg-config --cflags --libs bioinfer) -o score_variants
 *     ./score_variants WEIGHTS genome.fa variants.vcf genes.gtf recommended
 *     ./score_variants WEIGHTS genome.fa variants.vcf
 *
 * Prints a table: with scorers a row for each variant, scorer, track and gene, else one for each
 * variant and track. The genome has its index beside it (bioinfer index --fai, samtools faidx). */
#include <bioinfer.h>
#include <inttypes.h>
#include <stdio.h>

static void print_cell(const struct bioinfer_column *c, int64_t row)
{
    const int64_t *at = c->data;
    if (c->type == BIOINFER_TEXT)
        printf("%.*s", (int)(at[row + 1] - at[row]), c->bytes + at[row]);
    else if (c->type == BIOINFER_F32)
        printf("%.6g", (double)((const float *)c->data)[row]);
    else if (c->type == BIOINFER_F64)
        printf("%.6g", ((const double *)c->data)[row]);
    else if (at[row] != BIOINFER_MISSING)
        printf("%" PRId64, at[row]);
}

static void print_row(const struct bioinfer_result *r, int64_t row)
{
    for (int i = 0; i < r->n_columns; i++) {
        printf("%s", i ? "\t" : "");
        print_cell(&r->columns[i], row);
    }
}

/* A result is one variant, also one of several that share a window. */
static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct bioinfer_track track = BIOINFER_PARAMS(struct bioinfer_track);
    const bioinfer_task *task = user;
    (void)err;
    if (r->status) {
        fprintf(stderr, "%s: %s\n", r->id, r->message);
        return 0;
    }
    for (int64_t row = 0; !r->n_arrays && row < r->n_rows; row++) {
        print_row(r, row);
        printf("\n");
    }
    for (int i = 0; r->n_arrays && !bioinfer_variants_get_track(task, 0, i, &track); i++) {
        print_row(r, 0);
        if (track.identifier)
            printf("\t%s", track.identifier);
        else
            printf("\ttrack_%d", track.number);
        printf("\t%.6g\n", (double)r->arrays[0].data[i]);
    }
    return 0;
}

static void print_header(const bioinfer_task *task, int scorers)
{
    const char *name;
    for (int i = 0; (name = bioinfer_variants_column(task, i)); i++)
        printf("%s%s", i ? "\t" : "", name);
    printf("%s\n", scorers ? "" : "\ttrack\tSAD");
}

int main(int argc, char **argv)
{
    struct bioinfer_variants_params params = BIOINFER_PARAMS(struct bioinfer_variants_params,
                                                             .kind = BIOINFER_VARIANTS);
    struct bioinfer_places_params near = BIOINFER_PARAMS(struct bioinfer_places_params);
    struct bioinfer_tracks_info info = BIOINFER_PARAMS(struct bioinfer_tracks_info);
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_genome *genome = NULL;
    bioinfer_loci *loci = NULL;
    bioinfer_places *places = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    int st;
    if (argc != 4 && argc != 6) {
        fprintf(stderr, "usage: score_variants WEIGHTS GENOME VCF [GTF SCORERS]\n");
        return 2;
    }
    if ((st = bioinfer_context_new(&ctx, NULL, &err)) ||
        (st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err)) ||
        (st = bioinfer_genome_open(&genome, ctx, argv[2], &err)) ||
        (st = bioinfer_loci_open(&loci, ctx, argv[3], &err)))
        goto out;
    params.genome = genome;
    params.gtf = argc == 6 ? argv[4] : NULL;
    params.scorers = argc == 6 ? argv[5] : NULL;
    if ((st = bioinfer_variants_open(&task, model, &params, &err)) ||
        (st = bioinfer_tracks_get_info(task, &info)))
        goto out;
    near.window = info.window;
    near.scorers = params.scorers != NULL;
    if ((st = bioinfer_places_open(&places, ctx, loci, genome, &near, &err)))
        goto out;
    print_header(task, params.scorers != NULL);
    if (!(st = bioinfer_task_run(task, bioinfer_places_source, places, take, task, &err)))
        fprintf(stderr, "tracks by the table '%s'\n", bioinfer_variants_table(task));
out:
    if (st)
        fprintf(stderr, "score_variants: %s\n", err.text);
    bioinfer_task_close(&task);
    bioinfer_places_close(&places);
    bioinfer_loci_close(&loci);
    bioinfer_genome_close(&genome);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st != 0;
}

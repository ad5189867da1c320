/* embed_fasta.c - the shortest whole program: embed each sequence of a FASTA file.
 *
 *     cc embed_fasta.c $(pkg-config --cflags --libs bioinfer) -lm -o embed_fasta
 *     ./embed_fasta WEIGHTS proteins.fasta
 *
 * prints one line for each record: id, residues, and the length of the mean embedding.
 */
#include <bioinfer.h>
#include <math.h>
#include <stdio.h>

/* A sink: called once for each record, in input order. */
static int print_result(void *user, const struct bioinfer_result *result,
                        struct bioinfer_error *err)
{
    long *n_failed = user;
    double sum = 0;
    (void)err;
    if (result->status) { /* this record has no result; the run goes on */
        printf("%s\t%s\n", result->id, result->message);
        ++*n_failed;
        return 0;
    }
    /* arrays[0] is the mean embedding: the only kind asked for below */
    for (int64_t i = 0; i < result->arrays[0].shape[0]; i++)
        sum += (double)result->arrays[0].data[i] * result->arrays[0].data[i];
    printf("%s\t%lld\t%.4f\n", result->id, (long long)result->length, sqrt(sum));
    return 0;
}

int main(int argc, char **argv)
{
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    bioinfer_reader *reader = NULL;
    struct bioinfer_error err = {0};
    struct bioinfer_embed_params params = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                          .include = BIOINFER_MEAN);
    long n_failed = 0;
    int st;
    if (argc != 3) {
        fprintf(stderr, "usage: embed_fasta WEIGHTS FASTA\n");
        return 2;
    }
    /* each call takes what the one before made; the first failure skips the rest */
    if ((st = bioinfer_context_new(&ctx, NULL, &err)) ||
        (st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err)) ||
        (st = bioinfer_embed_open(&task, model, &params, &err)) ||
        (st = bioinfer_reader_open(&reader, ctx, argv[2], NULL, &err)) ||
        (st = bioinfer_task_run(task, bioinfer_reader_source, reader, print_result, &n_failed,
                                &err)))
        fprintf(stderr, "embed_fasta: %s: %s\n", bioinfer_status_name(st), err.text);
    bioinfer_reader_close(&reader);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st || n_failed ? 1 : 0;
}

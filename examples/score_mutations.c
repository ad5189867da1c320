/* score_mutations.c - how well a model likes mutations of the sequences of a FASTA file.
 *
 *     cc score_mutations.c $(pkg-config --cflags --libs bioinfer) -o score_mutations
 *     ./score_mutations WEIGHTS wildtype.fasta K2G K2G:T3W
 *
 * prints a line for each record and mutation: id, mutation, and the sum over its terms of
 * log p(mutant) - log p(wild type), each with its position masked. Positions count from 1. */
#include <bioinfer.h>
#include <stdio.h>

struct question {
    const bioinfer_model *model;
    char **mutations;
    int n_mutations;
};

/* A sink: the result of a record answers all questions about it. */
static int print_scores(void *user, const struct bioinfer_result *result,
                        struct bioinfer_error *err)
{
    const struct question *q = user;
    for (int i = 0; i < q->n_mutations; i++) {
        const char *why = result->message;
        double score = 0;
        int st = result->status;
        if (!st &&
            (st = bioinfer_score_mutation(q->model, result, q->mutations[i], 1, &score, err)))
            why = err->text; /* this mutation does not fit this record */
        if (st)
            printf("%s\t%s\t%s\n", result->id, q->mutations[i], why);
        else
            printf("%s\t%s\t%.4f\n", result->id, q->mutations[i], score);
    }
    return 0;
}

int main(int argc, char **argv)
{
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    bioinfer_reader *reader = NULL;
    struct bioinfer_error err = {0};
    struct bioinfer_score_params params = BIOINFER_PARAMS(struct bioinfer_score_params,
                                                          .method = BIOINFER_MASKED_MARGINALS);
    struct question q = {.mutations = argv + 3, .n_mutations = argc - 3};
    int st;
    if (argc < 4) {
        fprintf(stderr, "usage: score_mutations WEIGHTS FASTA MUTATION...\n");
        return 2;
    }
    if ((st = bioinfer_context_new(&ctx, NULL, &err)) ||
        (st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err)) ||
        (st = bioinfer_score_open(&task, model, &params, &err)) ||
        (st = bioinfer_reader_open(&reader, ctx, argv[2], NULL, &err)))
        goto out;
    q.model = model;
    st = bioinfer_task_run(task, bioinfer_reader_source, reader, print_scores, &q, &err);
out:
    if (st)
        fprintf(stderr, "score_mutations: %s: %s\n", bioinfer_status_name(st), err.text);
    bioinfer_reader_close(&reader);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st != 0;
}

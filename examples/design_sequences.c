/* design_sequences.c - sequences for backbones, as FASTA.
 *
 *     cc design_sequences.c $(pkg-config --cflags --libs bioinfer) -o design_sequences
 *     ./design_sequences WEIGHTS 4 a.pdb b.cif
 *
 * prints the native sequence of each structure and 4 new ones, with their scores; the first residue
 * of chain A keeps its type. */
#include <bioinfer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sink: a structure gives its sequences in pieces, one each. */
static int print_sequence(void *user, const struct bioinfer_result *result,
                          struct bioinfer_error *err)
{
    (void)user;
    (void)err;
    if (result->design)
        printf(">%s\n%s\n", result->design->header, result->sequence);
    else if (result->status)
        fprintf(stderr, "%s: %s\n", result->id, result->message);
    return 0;
}

/* Computes one structure. What stays fixed is told by its name, as the reference's files do. */
static int design(const bioinfer_model *model, const struct bioinfer_record *structure,
                  int n_sequences, struct bioinfer_error *err)
{
    char json[300];
    struct bioinfer_text fixed = {.name = "fixed", .text = json};
    struct bioinfer_design_params params = BIOINFER_PARAMS(
        struct bioinfer_design_params, .mode = BIOINFER_DESIGN_SAMPLE, .n_sequences = n_sequences,
        .fixed_json = &fixed);
    bioinfer_task *task = NULL;
    int st;
    snprintf(json, sizeof json, "{\"%.200s\": {\"A\": [1]}}", structure->id);
    fixed.length = strlen(json);
    if (!(st = bioinfer_design_open(&task, model, &params, err)))
        st = bioinfer_task_compute(task, structure, 1, print_sequence, NULL, err);
    bioinfer_task_close(&task);
    return st;
}

int main(int argc, char **argv)
{
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    struct bioinfer_error err = {0};
    int st;
    if (argc < 4 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: design_sequences WEIGHTS N STRUCTURE...\n");
        return 2;
    }
    if (!(st = bioinfer_context_new(&ctx, NULL, &err)))
        st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err);
    for (int i = 3; i < argc && !st; i++) {
        struct bioinfer_record *file = NULL; /* any text will do: here it comes from a file */
        if (!(st = bioinfer_record_read(&file, ctx, argv[i], &err)))
            st = design(model, file, atoi(argv[2]), &err);
        bioinfer_record_free(&file);
    }
    if (st)
        fprintf(stderr, "design_sequences: %s: %s\n", bioinfer_status_name(st), err.text);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st != 0;
}

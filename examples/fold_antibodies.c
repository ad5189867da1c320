/* fold_antibodies.c - structures of antibodies, each as a PDB file, and how sure the model is.
 *
 *     cc fold_antibodies.c $(pkg-config --cflags --libs bioinfer) -o fold_antibodies
 *     ./fold_antibodies WEIGHTS antibodies.fasta
 *
 * A record of the FASTA file is a heavy and a light chain with ':' between. NAME.pdb is written for
 * each, and a line is printed: name, mean pLDDT, and the residue that the model is least sure of.
 */
#include <bioinfer.h>
#include <stdio.h>
#include <string.h>

/* The residue of least pLDDT as "H99". */
static void name_least(const struct bioinfer_fold *f, char *name, size_t size)
{
    int64_t least = 0;
    int chain = 0;
    for (int64_t i = 1; i < f->n_residues; i++)
        least = f->plddt[i] < f->plddt[least] ? i : least;
    while (chain + 1 < f->n_chains && f->chains[chain + 1].first <= least)
        chain++;
    snprintf(name, size, "%s%lld", f->chains[chain].name,
             (long long)(least - f->chains[chain].first + 1));
}

/* A sink: writes the text of a structure. Names of records are used as names of files, so one that
 * leads elsewhere is refused. */
static int write_structure(void *user, const struct bioinfer_result *result,
                           struct bioinfer_error *err)
{
    char path[256], least[32];
    FILE *file;
    int bad;
    (void)user;
    (void)err;
    if (result->status || strchr(result->id, '/')) {
        fprintf(stderr, "%s: %s\n", result->id,
                result->status ? result->message : "not the name of a file");
        return 0;
    }
    snprintf(path, sizeof path, "%.200s.pdb", result->id);
    if (!(file = fopen(path, "w")))
        return BIOINFER_IO;
    bad = fwrite(result->texts[0].text, 1, result->texts[0].length, file) !=
          result->texts[0].length;
    if (fclose(file) || bad)
        return BIOINFER_IO;
    name_least(result->fold, least, sizeof least);
    printf("%s\t%.3f\t%s\n", result->id, result->fold->mean_plddt, least);
    return 0;
}

int main(int argc, char **argv)
{
    struct bioinfer_fold_params params = BIOINFER_PARAMS(struct bioinfer_fold_params,
                                                         .text = BIOINFER_FOLD_PDB);
    struct bioinfer_reader_params chains = BIOINFER_PARAMS(struct bioinfer_reader_params,
                                                           .residues = BIOINFER_RESIDUES_COMPLEX);
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    bioinfer_reader *reader = NULL;
    struct bioinfer_error err = {0};
    int st;
    if (argc != 3) {
        fprintf(stderr, "usage: fold_antibodies WEIGHTS FASTA\n");
        return 2;
    }
    if (!(st = bioinfer_context_new(&ctx, NULL, &err)) &&
        !(st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err)) &&
        !(st = bioinfer_fold_open(&task, model, &params, &err)) &&
        !(st = bioinfer_reader_open(&reader, ctx, argv[2], &chains, &err)))
        st = bioinfer_task_run(task, bioinfer_reader_source, reader, write_structure, NULL, &err);
    if (st)
        fprintf(stderr, "fold_antibodies: %s\n", err.text[0] ? err.text : bioinfer_status_name(st));
    bioinfer_reader_close(&reader);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st != 0;
}

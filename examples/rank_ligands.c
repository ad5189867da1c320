/* rank_ligands.c - ligands in their poses, from the one that binds best to the worst.
 *
 *     cc rank_ligands.c $(pkg-config --cflags --libs bioinfer) -o rank_ligands
 *     ./rank_ligands WEIGHTS protein.pdb ligands.sdf
 *
 * prints energy, pairs of atoms that it comes from, and name of each ligand; lower binds better.
 */
#include <bioinfer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ligand {
    struct bioinfer_affinity affinity;
    char name[64];
};

struct list {
    struct ligand *of;
    size_t n, room;
};

/* A sink: what it is given is valid during the call alone, so it is copied. */
static int keep(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct list *list = user;
    (void)err;
    if (result->status) {
        fprintf(stderr, "%s: %s\n", result->id, result->message);
        return 0;
    }
    if (list->n == list->room) {
        const size_t room = 2 * list->room + 64;
        struct ligand *more = realloc(list->of, room * sizeof *more);
        if (!more)
            return BIOINFER_NOMEM;
        list->of = more;
        list->room = room;
    }
    list->of[list->n].affinity = *result->affinity;
    snprintf(list->of[list->n++].name, sizeof list->of->name, "%s", result->id);
    return 0;
}

static int by_energy(const void *a, const void *b)
{
    const struct ligand *x = a, *y = b;
    const float e = x->affinity.energy, f = y->affinity.energy;
    return e != f ? (e > f) - (e < f) : strcmp(x->name, y->name);
}

int main(int argc, char **argv)
{
    struct bioinfer_affinity_params params = BIOINFER_PARAMS(struct bioinfer_affinity_params,
                                                             .receptor = argc == 4 ? argv[2] : "");
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    bioinfer_ligands *ligands = NULL;
    struct bioinfer_error err = {0};
    struct list list = {0};
    int st;
    if (argc != 4) {
        fprintf(stderr, "usage: rank_ligands WEIGHTS RECEPTOR LIGANDS\n");
        return 2;
    }
    if ((st = bioinfer_context_new(&ctx, NULL, &err)) ||
        (st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err)) ||
        (st = bioinfer_affinity_open(&task, model, &params, &err)) ||
        (st = bioinfer_ligands_open(&ligands, ctx, argv[3], &err)) ||
        (st = bioinfer_task_run(task, bioinfer_ligands_source, ligands, keep, &list, &err)))
        goto out;
    if (*bioinfer_affinity_caveat(model))
        fprintf(stderr, "%s\n", bioinfer_affinity_caveat(model));
    if (list.n)
        qsort(list.of, list.n, sizeof *list.of, by_energy);
    for (size_t i = 0; i < list.n; i++)
        printf("%.4f\t%lld\t%s\n", (double)list.of[i].affinity.energy,
               (long long)list.of[i].affinity.n_pairs, list.of[i].name);
out:
    if (st)
        fprintf(stderr, "rank_ligands: %s\n", err.text);
    free(list.of);
    bioinfer_ligands_close(&ligands);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st != 0;
}

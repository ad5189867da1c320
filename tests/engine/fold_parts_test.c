/* fold_parts_test.c - structures whose pairs are computed in parts, for less memory: they have the
 * bits of those computed at once.
 *
 *     fold_parts_test [--msa FOLDER] WEIGHTS
 *
 * That parts are taken where a limit of memory asks for them is tested by "cli esmfold2". */
#include "../../tasks/fold.h"
#include "engine.h"

static const char *const chains[][2] = {
    {"MKW", "MKW"},
    {"A_G", "A:G"},
    {"ACDXFGHI", "ACDXFGHI"},
    {"G", "G"},
    {"long", "MKWGARVCEDMKWGARVCEDHHIL:WHRV:MKWGARVCEDMKWGARVCEDHHIL"}};

static struct open open_;

/* Keeps arrays, and after them the place of each atom. */
static int keep_fold(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct sink *s = user;
    keep_result(user, r, err);
    CHECK_EQ(r->status, 0);
    for (int64_t i = 0; r->fold && i < r->fold->n_atoms; i++)
        kept_append(&s->kept[s->n - 1], r->fold->atoms[i].position,
                    sizeof r->fold->atoms[i].position);
    return 0;
}

/* Folds a record, at once or in parts. */
static void fold(const char *const of[2], const char *msa, bool parts, struct sink *sink)
{
    const struct bioinfer_record record = {
        .id = of[0], .description = "", .sequence = of[1], .length = strlen(of[1])};
    struct bioinfer_error err = {0};
    const struct bioinfer_fold_params params = BIOINFER_PARAMS(
        struct bioinfer_fold_params, .include = BIOINFER_FOLD_PLDDT | BIOINFER_FOLD_PAE,
        .cycles = 2, .msa = strlen(of[1]) < 16 && of[0][1] ? msa : NULL);
    struct fold *f;
    bioinfer_task_close(&open_.task);
    if (!CHECK_EQ(bioinfer_fold_open(&open_.task, open_.model, &params, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        exit(1);
    }
    f = (struct fold *)(void *)open_.task;
    f->parts_alone = parts;
    CHECK_EQ(bioinfer_task_compute(open_.task, &record, 1, keep_fold, sink, &err), 0);
    CHECK_EQ(f->shape.n_parts > 1, parts);
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    const struct bioinfer_model_params model = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                               .device = "cpu");
    const char *msa = argc == 4 ? argv[2] : NULL;
    if (argc != 2 && argc != 4)
        return 2;
    if (!CHECK_EQ(bioinfer_context_new(&open_.ctx, NULL, &err), 0) ||
        !CHECK_EQ(bioinfer_model_open(&open_.model, open_.ctx, argv[argc - 1], &model, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < BI_COUNT(chains); i++) {
        struct sink whole = {0}, sink = {0};
        fold(chains[i], msa, false, &whole);
        fold(chains[i], msa, true, &sink);
        CHECK(whole.n > 0);
        if (CHECK_EQ(sink.n, whole.n))
            for (size_t r = 0; r < sink.n; r++)
                CHECK(same_result(&sink.kept[r], &whole.kept[r]));
        sink_free(&sink);
        sink_free(&whole);
    }
    close_all(&open_);
    return test_report();
}

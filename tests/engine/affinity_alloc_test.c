/* affinity_alloc_test.c - allocation number n fails while ligands are rated, for one n after the
 * other until nothing fails.
 *
 *     affinity_alloc_test RECEPTOR LIGANDS WEIGHTS WEIGHTS
 *
 * Twice for each n: that allocation alone, and from there on. What is run: an ensemble of two is
 * opened, and all ligands are read and rated, among them one that names its own receptor. The
 * status, of the run or of a ligand, is NOMEM or all energies are as ever, nothing leaks; after a
 * single failure the same task gives them. failing.h says which n are tried. */
#include "failing_task.h"

enum { MAX_LIGANDS = 16 };

struct energies {
    int n, status;
    float of[MAX_LIGANDS];
};

struct source {
    bioinfer_ligands *ligands;
    int n;
};

static const char *receptor, *ligands, *weights, *other;

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct energies *all = user;
    (void)err;
    if (r->status)
        all->status = r->status;
    else if (CHECK(all->n < MAX_LIGANDS))
        all->of[all->n++] = r->affinity->energy;
    return 0;
}

static int next(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct source *s = user;
    const int st = bioinfer_ligands_source(s->ligands, record, err);
    if (st == 1 && s->n++ == 1)
        record->receptor = receptor;
    return st;
}

static int rate(bioinfer_context *ctx, bioinfer_task *t, struct energies *out,
                struct bioinfer_error *err)
{
    struct source s = {NULL, 0};
    int st = bioinfer_ligands_open(&s.ligands, ctx, ligands, err);
    *out = (struct energies){0};
    if (!st)
        st = bioinfer_task_run(t, next, &s, keep, out, err);
    bioinfer_ligands_close(&s.ligands);
    return st ? st : out->status;
}

/* want NULL: the first run, which fills `got`. */
static bool everything(struct failing *f, void *got, const void *want)
{
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .alloc = failing_alloc, .free = failing_free,
                                                       .alloc_user = f, .n_threads = 2);
    struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params, .device = "cpu",
                                                     .ensemble = &other, .n_ensemble = 1);
    struct bioinfer_affinity_params p = BIOINFER_PARAMS(struct bioinfer_affinity_params,
                                                        .receptor = receptor, .pocket = 3);
    struct bioinfer_error err = {0};
    struct open o = {0};
    int st;
    if ((st = bioinfer_context_new(&o.ctx, &c, &err)) ||
        (st = bioinfer_model_open(&o.model, o.ctx, weights, &m, &err)) ||
        (st = bioinfer_affinity_open(&o.task, o.model, &p, &err)))
        goto out;
    st = rate(o.ctx, o.task, got, &err);
    if (st == BIOINFER_NOMEM && !f->from_there)
        CHECK_EQ(rate(o.ctx, o.task, got, NULL), 0);
    if ((!st || !f->from_there) && want)
        CHECK(!memcmp(got, want, sizeof(struct energies)));
out:
    return failing_end(f, st, &err, &o);
}

int main(int argc, char **argv)
{
    struct energies want, got;
    if (argc != 5)
        return 2;
    receptor = argv[1];
    ligands = argv[2];
    weights = argv[3];
    other = argv[4];
    failing_test(everything, &got, &want);
    CHECK(want.n > 3);
    return test_report();
}

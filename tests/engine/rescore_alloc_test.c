/* rescore_alloc_test.c - allocation number n fails while poses are rated, for one n after the other
 * until nothing fails.
 *
 *     rescore_alloc_test RECEPTOR POSES
 *
 * Twice for each n: that allocation alone, and from there on. Poses are minimised, checked and
 * written as texts. The status is NOMEM or all numbers are as ever, nothing leaks; after a single
 * failure the same task gives them. failing.h says which n are tried. */
#include "failing_task.h"

enum { MAX_POSES = 32 };

struct scores {
    int n, n_bytes;
    double of[MAX_POSES];
};

static const char *receptor, *poses;

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct scores *all = user;
    (void)err;
    if (CHECK(!r->status && all->n < MAX_POSES)) {
        const struct bioinfer_rescored *p = r->rescored;
        const unsigned checks = BIOINFER_POSE_CLASH | BIOINFER_POSE_OVERLAP |
                                BIOINFER_POSE_INTERNAL | BIOINFER_POSE_FAR;
        all->of[all->n++] = p->affinity;
        CHECK(!(p->failed & ~checks) && !(p->failed & BIOINFER_POSE_CHIRALITY));
        all->n_bytes += (int)r->texts[0].length;
    }
    return 0;
}

static int rate(bioinfer_context *ctx, bioinfer_task *t, struct scores *out,
                struct bioinfer_error *err)
{
    bioinfer_ligands *l = NULL;
    int st = bioinfer_ligands_open(&l, ctx, poses, err);
    *out = (struct scores){0};
    if (!st)
        st = bioinfer_task_run(t, bioinfer_ligands_source, l, keep, out, err);
    bioinfer_ligands_close(&l);
    return st;
}

/* want NULL: the first run, which fills `got`. */
static bool everything(struct failing *f, void *got, const void *want)
{
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .alloc = failing_alloc, .free = failing_free,
                                                       .alloc_user = f, .n_threads = 2);
    struct bioinfer_rescore_params p = BIOINFER_PARAMS(
        struct bioinfer_rescore_params, .receptor = receptor, .minimize = 1, .text = 1);
    struct bioinfer_error err = {0};
    struct open o = {0};
    int st;
    if ((st = bioinfer_context_new(&o.ctx, &c, &err)) ||
        (st = bioinfer_rescore_open(&o.task, o.ctx, &p, &err)))
        goto out;
    st = rate(o.ctx, o.task, got, &err);
    if (st == BIOINFER_NOMEM && !f->from_there)
        CHECK_EQ(rate(o.ctx, o.task, got, NULL), 0);
    if ((!st || !f->from_there) && want)
        CHECK(!memcmp(got, want, sizeof(struct scores)));
out:
    return failing_end(f, st, &err, &o);
}

int main(int argc, char **argv)
{
    struct scores want, got;
    if (argc != 3)
        return 2;
    receptor = argv[1];
    poses = argv[2];
    failing_test(everything, &got, &want);
    CHECK(want.n > 3);
    return test_report();
}

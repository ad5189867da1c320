/* energy_alloc_test.c - allocation number n fails while energies of frames are computed, for one n
 * after the other until nothing fails.
 *
 *     energy_alloc_test FRAMES WEIGHTS
 *
 * Twice for each n: that allocation alone, and from there on. What is run: all frames of the file
 * are read and computed, with forces, stress and the text of each, the first one as atoms in memory
 * and the others as texts. The status is NOMEM or all numbers are as ever, nothing leaks; after a
 * single failure the same task gives them. failing.h says which n are tried. */
#include "failing_task.h"

enum { MAX_FRAMES = 16 };

struct frames {
    int n, status;
    struct {
        double energy, largest, stress;
        size_t text;
    } of[MAX_FRAMES];
};

static const char *frames, *weights;

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct frames *all = user;
    (void)err;
    if (r->status) {
        all->status = r->status;
    } else if (CHECK(all->n < MAX_FRAMES) && CHECK_EQ(r->n_texts, 1)) {
        all->of[all->n].energy = r->energy->energy;
        all->of[all->n].largest = r->energy->largest;
        all->of[all->n].stress = r->energy->stress ? r->energy->stress[0] : 0;
        all->of[all->n++].text = r->texts[0].length;
    }
    return 0;
}

/* A bioinfer_source over bioinfer_frames. */
static int next(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    const int st = bioinfer_frames_source(user, record, err);
    if (st == 1 && record->ordinal)
        record->atoms = NULL; /* the text is parsed again */
    return st;
}

static int compute(bioinfer_context *ctx, bioinfer_task *t, struct frames *out,
                   struct bioinfer_error *err)
{
    bioinfer_frames *in = NULL;
    int st = bioinfer_frames_open(&in, ctx, frames, err);
    *out = (struct frames){0};
    if (!st)
        st = bioinfer_task_run(t, next, in, keep, out, err);
    bioinfer_frames_close(&in);
    return st ? st : out->status;
}

/* want NULL: the first run, which fills `got`. */
static bool everything(struct failing *f, void *got, const void *want)
{
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .alloc = failing_alloc, .free = failing_free,
                                                       .alloc_user = f, .n_threads = 2);
    struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params, .device = "cpu");
    struct bioinfer_energy_params p = BIOINFER_PARAMS(struct bioinfer_energy_params, .as_text = 1,
                                                      .charge = 1, .has_charge = 1);
    struct bioinfer_error err = {0};
    struct open o = {0};
    int st;
    if ((st = bioinfer_context_new(&o.ctx, &c, &err)) ||
        (st = bioinfer_model_open(&o.model, o.ctx, weights, &m, &err)) ||
        (st = bioinfer_energy_open(&o.task, o.model, &p, &err)))
        goto out;
    st = compute(o.ctx, o.task, got, &err);
    if (st == BIOINFER_NOMEM && !f->from_there)
        CHECK_EQ(compute(o.ctx, o.task, got, NULL), 0);
    if ((!st || !f->from_there) && want)
        CHECK(!memcmp(got, want, sizeof(struct frames)));
out:
    return failing_end(f, st, &err, &o);
}

int main(int argc, char **argv)
{
    struct frames want, got;
    if (argc != 3)
        return 2;
    frames = argv[1];
    weights = argv[2];
    failing_test(everything, &got, &want);
    CHECK_EQ(want.n, 4);
    return test_report();
}

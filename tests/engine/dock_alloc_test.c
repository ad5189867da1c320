/* dock_alloc_test.c - allocation number n fails while a ligand is docked, for one n after the other
 * until nothing fails.
 *
 *     dock_alloc_test FOLDER
 *
 * FOLDER has networks and a complex, as tools/diffdock_weights.py makes them. Twice for each n:
 * that allocation alone, and from there on. The status is NOMEM or all numbers are as ever, nothing
 * leaks; after a single failure the same task gives them. failing.h says which n are tried. */
#include "failing_task.h"

enum { MAX_POSES = 8 };

struct scores {
    int n, n_bytes;
    double of[MAX_POSES][3];
};

static char receptor[4096], ligands[4096], weights[8192];
static int convention;

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct scores *all = user;
    const struct bioinfer_docked *p = r->docked;
    (void)err;
    if (CHECK(!r->status && all->n < MAX_POSES) && CHECK(p && p->rank == all->n + 1)) {
        const double of[] = {p->confidence, r->rescored->affinity, p->positions[3]};
        memcpy(all->of[all->n++], of, sizeof of);
        all->n_bytes += (int)r->texts[0].length;
    }
    return 0;
}

static int dock(bioinfer_context *ctx, bioinfer_task *t, struct scores *out,
                struct bioinfer_error *err)
{
    bioinfer_ligands *l = NULL;
    int st = bioinfer_ligands_open(&l, ctx, ligands, err);
    *out = (struct scores){0};
    if (!st)
        st = bioinfer_task_run(t, bioinfer_ligands_source, l, keep, out, err);
    bioinfer_ligands_close(&l);
    return st;
}

static struct bioinfer_dock_params params_of(void)
{
    return BIOINFER_PARAMS(struct bioinfer_dock_params, .receptor = receptor, .weights = weights,
                           .samples = 1, .steps = 3, .minimize = 1, .text = 1,
                           .convention = convention);
}

/* want NULL: the first run, which fills `got`. */
static bool everything(struct failing *f, void *got, const void *want)
{
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .alloc = failing_alloc, .free = failing_free,
                                                       .alloc_user = f, .n_threads = 2);
    const struct bioinfer_dock_params p = params_of();
    struct bioinfer_error err = {0};
    struct open o = {0};
    int st;
    if ((st = bioinfer_context_new(&o.ctx, &c, &err)) ||
        (st = bioinfer_dock_open(&o.task, o.ctx, &p, &err)))
        goto out;
    st = dock(o.ctx, o.task, got, &err);
    if (st == BIOINFER_NOMEM && !f->from_there)
        CHECK_EQ(dock(o.ctx, o.task, got, NULL), 0);
    if ((!st || !f->from_there) && want)
        CHECK(!memcmp(got, want, sizeof(struct scores)));
out:
    return failing_end(f, st, &err, &o);
}

/* Poses follow from the convention; files are those that the parameters name. */
static void conventions(void)
{
    static const int of[] = {BIOINFER_DOCK_BY_WEIGHTS, BIOINFER_DOCK_V10, BIOINFER_DOCK_V11};
    static const char *const ends[] = {"score.safetensors", "score.yml", "confidence.safetensors",
                                       "confidence.yml"};
    struct scores found[3] = {{0}};
    struct bioinfer_error err = {0};
    char path[4096];
    for (int i = 0; i < 3; i++) {
        bioinfer_context *ctx = NULL;
        bioinfer_task *task = NULL;
        convention = of[i];
        const struct bioinfer_dock_params p = params_of();
        CHECK_EQ(bioinfer_context_new(&ctx, NULL, &err), 0);
        if (CHECK_EQ(bioinfer_dock_open(&task, ctx, &p, &err), 0))
            CHECK_EQ(dock(ctx, task, &found[i], &err), 0);
        bioinfer_task_close(&task);
        bioinfer_context_free(&ctx);
    }
    convention = 0;
    CHECK(!memcmp(&found[0], &found[1], sizeof found[0]));
    CHECK(memcmp(&found[0], &found[2], sizeof found[0]) != 0);
    const struct bioinfer_dock_params p = params_of();
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(bioinfer_dock_file(&p, i, path, sizeof path, &err), 1);
        CHECK_HAS(path, ends[i]);
    }
    CHECK_EQ(bioinfer_dock_file(&p, 4, path, sizeof path, &err), 0);
    CHECK_EQ(bioinfer_dock_file(&p, 0, path, 4, &err), BIOINFER_INVALID);
}

int main(int argc, char **argv)
{
    struct stacks stacks = STACKS;
    struct failing f = {.stacks = &stacks};
    struct scores want = {0}, got = {0};
    if (argc != 2)
        return 2;
    snprintf(receptor, sizeof receptor, "%s/receptor.pdb", argv[1]);
    snprintf(ligands, sizeof ligands, "%s/butane.sdf", argv[1]);
    snprintf(weights, sizeof weights, "%s/score.safetensors,%s/confidence.safetensors", argv[1],
             argv[1]);
    TEST(conventions);
    everything(&f, &want, NULL);
    CHECK_EQ(want.n, 1);
    stacks_choose(&stacks);
    printf("%ld allocations in a run, %ld stacks\n", (long)f.n_calls, stacks.n_distinct);
    failing_runs(&stacks, everything, &got, &want);
    stacks_free(&stacks);
    return test_report();
}

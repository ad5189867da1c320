/* plans_test.c - 1,000 random records of a task compile at most 40 plans.
 *
 *     plans_test EMBED TRACKS DESIGN AFFINITY RECEPTOR ENERGY
 *
 * Five models; RECEPTOR is the protein of the fourth.
 *
 * The null backend plans as a device does and computes nothing. Batches are as small as on a CPU,
 * and as large as on a GPU. */
#include <math.h>
#include <stdbool.h>

#include "engine.h"

enum { RECORDS = 1000, MOST = 40, GPU_TOKENS = 16384, MOST_TEXT = 1 << 18 };

/* Random records of one kind; each lives until the next. */
struct source {
    uint64_t state;
    int n;
    void (*make)(struct source *s, struct bioinfer_record *r);
    int64_t window;
    struct bioinfer_change change;
    char id[16], alt[16], text[MOST_TEXT];
};

static double unit(struct source *s)
{
    return (double)(next_random(&s->state) >> 11) * 0x1p-53;
}

/* A length as proteins have them: half of them below `middle`, few above four times that. */
static int length_of(struct source *s, double middle, int least, int most)
{
    const double normal = sqrt(-2 * log(unit(s) + 1e-12)) * cos(6.283185307179586 * unit(s));
    const int n = (int)(middle * exp(0.7 * normal));
    return n < least ? least : n > most ? most : n;
}

static void protein(struct source *s, struct bioinfer_record *r)
{
    random_sequence(&s->state, s->text, length_of(s, 300, 20, 2000));
    r->length = strlen(s->text);
}

static void short_protein(struct source *s, struct bioinfer_record *r)
{
    random_sequence(&s->state, s->text, length_of(s, 60, 10, 200));
    r->length = strlen(s->text);
}

/* A chain whose residues stand on a spiral. */
static void backbone(struct source *s, struct bioinfer_record *r)
{
    static const char *const atoms[] = {"N", "CA", "C", "O"};
    const int n = length_of(s, 150, 20, 600);
    size_t at = 0;
    for (int i = 0; i < n; i++)
        for (int a = 0; a < 4; a++)
            at += (size_t)snprintf(s->text + at, sizeof s->text - at,
                                   "ATOM  %5d  %-3s ALA A%4d    %8.3f%8.3f%8.3f  1.00  0.00\n",
                                   4 * i + a + 1, atoms[a], i + 1, 8 * cos(1.7 * i) + a,
                                   8 * sin(1.7 * i) + (a == 3), 1.5 * i + 0.5 * a);
    r->length = at;
}

static void window(struct source *s, struct bioinfer_record *r)
{
    for (int64_t i = 0; i < s->window; i++)
        s->text[i] = "ACGT"[below(&s->state, 4)];
    r->length = (size_t)s->window;
}

/* A window with one change of up to 8 bases, not far from its middle. */
static void variant(struct source *s, struct bioinfer_record *r)
{
    const int n = 1 + below(&s->state, 8);
    window(s, r);
    for (int i = 0; i < n; i++)
        s->alt[i] = "ACGT"[below(&s->state, 4)];
    s->alt[n] = '\0';
    s->change = (struct bioinfer_change){s->window / 2 + below(&s->state, 64) - 32, n, s->alt};
    r->changes = &s->change;
    r->n_changes = 1;
}

/* A chain of carbons near the protein's first atoms. */
static void ligand(struct source *s, struct bioinfer_record *r)
{
    const int n = length_of(s, 25, 6, 90);
    const double x = 20 * unit(s), y = 20 * unit(s);
    size_t at = (size_t)snprintf(s->text, sizeof s->text,
                                 "l\n\n\n%3d%3d  0  0  0  0  0  0  0  0999 V2000\n", n, n - 1);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(s->text + at, sizeof s->text - at,
                               "%10.4f%10.4f%10.4f C   0  0  0  0  0  0  0  0  0  0  0  0\n",
                               x + 1.2 * i, y + 0.8 * (i % 2), 0.3 * i);
    for (int i = 1; i < n; i++)
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, "%3d%3d  1  0\n", i, i + 1);
    at += (size_t)snprintf(s->text + at, sizeof s->text - at, "M  END\n$$$$\n");
    r->length = at;
}

/* Carbon and hydrogen on a bent sheet. */
static void frame(struct source *s, struct bioinfer_record *r)
{
    const int n = length_of(s, 60, 1, 400), side = (int)ceil(sqrt(n));
    size_t at = (size_t)snprintf(s->text, sizeof s->text, "%d\n\n", n);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(s->text + at, sizeof s->text - at, "%s %.4f %.4f %.4f\n",
                               i % 3 ? "H" : "C", 1.4 * (i % side), 1.4 * (i / side),
                               sin(i) + unit(s));
    r->length = at;
}

static int next(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct source *s = user;
    (void)err;
    if (s->n == RECORDS)
        return 0;
    snprintf(s->id, sizeof s->id, "r%d", s->n);
    *record = (struct bioinfer_record){.id = s->id,
                                       .description = "",
                                       .sequence = s->text,
                                       .message = "",
                                       .ordinal = (uint64_t)s->n++};
    s->make(s, record);
    return 1;
}

struct seen {
    int n, n_failed;
    char why[200];
};

static int see(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct seen *seen = user;
    (void)err;
    seen->n++;
    if (r->status) {
        seen->n_failed++;
        snprintf(seen->why, sizeof seen->why, "%s", r->message);
    }
    return 0;
}

/* Runs the records through an open task, which is closed. st: of its opening. */
static void count(const char *what, int64_t tokens, bioinfer_task *t, int st, struct source *s,
                  struct bioinfer_error *err)
{
    struct bioinfer_profile profile = BIOINFER_PARAMS(struct bioinfer_profile);
    struct seen seen = {0};
    if (!st)
        bioinfer_task_set_profile(t, 1);
    if (!st)
        st = bioinfer_task_run(t, next, s, see, &seen, err);
    if (!CHECK(!st))
        fprintf(stderr, "    %s: %s\n", what, err->text);
    if (!CHECK(seen.n >= RECORDS && !seen.n_failed))
        fprintf(stderr, "    %s: %d results, %d failed: %s\n", what, seen.n, seen.n_failed,
                seen.why);
    if (!st)
        bioinfer_task_get_profile(t, &profile);
    printf("%s, batches of %lld tokens: %d plans, %d batches\n", what, (long long)tokens,
           (int)profile.plans, (int)profile.passes);
    CHECK(st || (profile.plans && profile.plans <= MOST));
    bioinfer_task_close(&t);
}

static bioinfer_context *ctx;

static bioinfer_model *open_model(const char *path)
{
    struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params, .device = "null",
                                                     .window = 0, .positions = "formula-pt");
    struct bioinfer_error err = {0};
    bioinfer_model *m = NULL;
    if (!CHECK(!bioinfer_model_open(&m, ctx, path, &p, &err)))
        fprintf(stderr, "    %s: %s\n", path, err.text);
    return m;
}

static struct source source;

static struct source *begin(void (*make)(struct source *s, struct bioinfer_record *r))
{
    source.state = 17;
    source.n = 0;
    source.make = make;
    return &source;
}

static void sequences(const char *path, int64_t tokens)
{
    struct bioinfer_embed_params e = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                     .include = BIOINFER_MEAN | BIOINFER_CONTACTS,
                                                     .tokens_at_once = tokens);
    struct bioinfer_score_params p = BIOINFER_PARAMS(struct bioinfer_score_params,
                                                     .tokens_at_once = tokens);
    struct bioinfer_error err = {0};
    bioinfer_model *m = open_model(path);
    bioinfer_task *t = NULL;
    int st = bioinfer_embed_open(&t, m, &e, &err);
    count("embed", tokens, t, st, begin(protein), &err);
    t = NULL;
    st = bioinfer_score_open(&t, m, &p, &err);
    count("score", tokens, t, st, begin(short_protein), &err);
    bioinfer_model_close(&m);
}

static void tracks(const char *path)
{
    static const int which[] = {1, 3};
    struct bioinfer_tracks_params p = BIOINFER_PARAMS(struct bioinfer_tracks_params,
                                                      .tracks = which, .n_tracks = 2);
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    bioinfer_model *m = open_model(path);
    for (int k = 0; k < 2; k++) {
        bioinfer_task *t = NULL;
        const int st = bioinfer_tracks_open(&t, m, &p, &err);
        struct source *s = begin(k ? variant : window);
        if (!st)
            bioinfer_tracks_get_info(t, &info);
        s->window = info.window;
        CHECK(s->window > 0 && s->window < MOST_TEXT);
        count(k ? "variants" : "tracks", 0, t, st, s, &err);
    }
    bioinfer_model_close(&m);
}

static void designs(const char *path, int64_t tokens)
{
    struct bioinfer_design_params p = BIOINFER_PARAMS(struct bioinfer_design_params,
                                                      .tokens_at_once = tokens);
    struct bioinfer_error err = {0};
    bioinfer_model *m = open_model(path);
    bioinfer_task *t = NULL;
    const int st = bioinfer_design_open(&t, m, &p, &err);
    count("design", tokens, t, st, begin(backbone), &err);
    bioinfer_model_close(&m);
}

static void affinities(const char *path, const char *receptor, int64_t tokens)
{
    struct bioinfer_affinity_params p = BIOINFER_PARAMS(
        struct bioinfer_affinity_params, .receptor = receptor, .tokens_at_once = tokens);
    struct bioinfer_error err = {0};
    bioinfer_model *m = open_model(path);
    bioinfer_task *t = NULL;
    const int st = bioinfer_affinity_open(&t, m, &p, &err);
    count("affinity", tokens, t, st, begin(ligand), &err);
    bioinfer_model_close(&m);
}

static void energies(const char *path, int64_t atoms)
{
    struct bioinfer_energy_params p = BIOINFER_PARAMS(struct bioinfer_energy_params,
                                                      .tokens_at_once = atoms, .has_charge = 1);
    struct bioinfer_error err = {0};
    bioinfer_model *m = open_model(path);
    bioinfer_task *t = NULL;
    const int st = bioinfer_energy_open(&t, m, &p, &err);
    count("energy", atoms, t, st, begin(frame), &err);
    bioinfer_model_close(&m);
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    if (argc != 7)
        return 2;
    if (!CHECK(!bioinfer_context_new(&ctx, NULL, &err)))
        return test_report();
    for (int64_t tokens = 0; tokens <= GPU_TOKENS; tokens += GPU_TOKENS) {
        sequences(argv[1], tokens);
        designs(argv[3], tokens);
        affinities(argv[4], argv[5], tokens);
        energies(argv[6], tokens ? tokens : 16); /* 16: frames one by one, of all sizes */
    }
    tracks(argv[2]);
    bioinfer_context_free(&ctx);
    return test_report();
}

/* diffdock.c - networks of DiffDock against a statement of them in float64.
 *
 *   diffdock FOLDER NAME
 *
 * FOLDER has what tools/golden_diffdock.py wrote: inputs.safetensors (a pocket and a ligand), the
 * results NAME.safetensors, and NAME.txt, names and shapes of the weights. These are made here, by
 * the formula that the statement's author gives: the tensors are numbered in the order of their
 * names, and number k of tensor p is splitmix64(2^32 p + k). */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/team.h"
#include "../../models/diffdock/diffdock.h"
#include "../../tasks/dock/dock.h"
#include "../test.h"

enum {
    ATOMS = 30,
    BONDS = 70,
    RESIDUES = 59,
    POSES = 2,
    TORSIONS = 3,
    LM = 1280,
    MOST_TENSORS = 512,
    POCKET = 481 /* atoms of the protein */
};
static const double gate = 1e-5; /* relative L2 */

static struct bi_env env;
static struct bi_checkpoint *inputs, *golden;

/* ---- weights by a formula ---- */

struct tensor {
    char name[128], shape[64];
    int64_t rows, columns; /* columns 0: rank 1 */
};

/* Number k of tensor p, in [0, 1): 24 bits. */
static double hash01(uint64_t p, uint64_t k)
{
    uint64_t z = (p << 32) + k + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (double)(z >> 40) / 16777216.0;
}

static bool ends(const char *name, const char *end)
{
    return bi_ends_with(name, end);
}

static float formula(const struct tensor *t, uint64_t p, uint64_t k)
{
    const double u = 2 * hash01(p, k) - 1;
    if (ends(t->name, ".running_var"))
        return (float)(1 + 0.5 * u);
    if (ends(t->name, ".running_mean"))
        return (float)(0.1 * u);
    if (strstr(t->name, "batch_norm.weight") || (!t->columns && ends(t->name, ".weight")))
        return (float)(1 + 0.3 * u);
    if (strstr(t->name, "atom_embedding_list"))
        return (float)(0.5 * u);
    return (float)(t->columns ? u * 1.5 / sqrt((double)t->columns) : 0.1 * u);
}

static int read_table(const char *path, struct tensor *tensors)
{
    FILE *file = fopen(path, "r");
    char line[256];
    int n = 0;
    while (CHECK(file != NULL) && n < MOST_TENSORS && fgets(line, sizeof line, file)) {
        struct tensor *t = &tensors[n++];
        long long rows = 0, columns = 0;
        const int got = sscanf(line, "%127s %lld %lld", t->name, &rows, &columns);
        CHECK(got == 2 || got == 3);
        t->rows = rows;
        t->columns = got == 3 ? columns : 0;
        snprintf(t->shape, sizeof t->shape, got == 3 ? "%lld,%lld" : "%lld", rows, columns);
    }
    if (file)
        fclose(file);
    return n;
}

/* A checkpoint of the tensors, but for number `without`, as bytes that the caller frees. */
static struct bi_buf make_weights(const struct tensor *tensors, int n, int without)
{
    struct bi_buf head = {.env = &env}, out = {.env = &env};
    unsigned long long at = 0;
    uint64_t size;
    bi_buf_putc(&head, '{');
    for (int p = 0; p < n; p++) {
        const struct tensor *t = &tensors[p];
        const uint64_t bytes = 4 * (uint64_t)(t->rows * (t->columns ? t->columns : 1));
        if (p == without)
            continue;
        bi_buf_printf(
            &head, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}",
            head.size > 1 ? "," : "", t->name, t->shape, at, at + (unsigned long long)bytes);
        at += bytes;
    }
    bi_buf_putc(&head, '}');
    while (head.size % 8)
        bi_buf_putc(&head, ' ');
    size = head.size;
    for (int i = 0; i < 8; i++)
        bi_buf_putc(&out, (char)(size >> 8 * i));
    bi_buf_append(&out, head.data, head.size);
    for (int p = 0; p < n; p++)
        for (int64_t k = 0;
             p != without && k < tensors[p].rows * (tensors[p].columns ? tensors[p].columns : 1);
             k++) {
            const float v = formula(&tensors[p], (uint64_t)p, (uint64_t)k);
            bi_buf_append(&out, &v, sizeof v);
        }
    bi_buf_free(&head);
    CHECK(!out.failed);
    return out;
}

/* ---- what the golden files have ---- */

/* All numbers of a tensor, n of them, that the caller frees. */
static float *numbers(const struct bi_checkpoint *cp, const char *name, uint64_t n)
{
    const struct bi_tensor *t = bi_checkpoint_find(cp, name);
    float *values = calloc(n, sizeof *values);
    struct bioinfer_error err = {0};
    if (!CHECK(t != NULL) || !CHECK_EQ(t->n_elements, n) ||
        !CHECK_EQ(bi_tensor_read_f32(cp, t, 0, n, values, &err), 0))
        fprintf(stderr, "    %s %s\n", name, err.text);
    return values;
}

static int32_t *integers(const char *name, uint64_t n)
{
    float *from = numbers(inputs, name, n);
    int32_t *to = calloc(n, sizeof *to);
    for (uint64_t i = 0; i < n; i++)
        to[i] = (int32_t)from[i];
    free(from);
    return to;
}

static double *doubles(const char *name, uint64_t n)
{
    float *from = numbers(inputs, name, n);
    double *to = calloc(n, sizeof *to);
    for (uint64_t i = 0; i < n; i++)
        to[i] = (double)from[i];
    free(from);
    return to;
}

struct complex {
    struct bi_diffdock_ligand ligand;
    struct bi_diffdock_protein protein;
    int32_t *features, *bonds, *bond_type, torsions[TORSIONS][2], *type, *atom_features, *residue;
    double *ca, *poses, *atoms;
    float *embedding;
};

static struct complex read_complex(void)
{
    struct complex c = {.features = integers("atoms", ATOMS * 16),
                        .bonds = integers("bonds", BONDS * 2),
                        .bond_type = integers("bond_types", BONDS),
                        .type = integers("res_type", RESIDUES),
                        .atom_features = integers("atom_types", POCKET * 4),
                        .residue = integers("atom_residue", POCKET),
                        .atoms = doubles("atom_pos", POCKET * 3),
                        .ca = doubles("ca", RESIDUES * 3),
                        .poses = doubles("poses", POSES * ATOMS * 3),
                        .embedding = calloc(RESIDUES * LM, sizeof(float))};
    int32_t *marked = integers("marked", BONDS);
    int n = 0;
    for (int e = 0; e < BONDS; e++)
        if (marked[e] && CHECK(n < TORSIONS))
            memcpy(c.torsions[n++], c.bonds + 2 * e, sizeof c.torsions[0]);
    CHECK_EQ(n, TORSIONS);
    free(marked);
    for (int i = 0; i < RESIDUES * LM; i++)
        c.embedding[i] = (float)(2 * hash01(9999, (uint64_t)i) - 1);
    return c;
}

static void join_complex(struct complex *c)
{
    c->ligand = (struct bi_diffdock_ligand){.n = ATOMS,
                                            .n_bonds = BONDS,
                                            .n_torsions = TORSIONS,
                                            .features = (const int32_t(*)[16])c->features,
                                            .bonds = (const int32_t(*)[2])c->bonds,
                                            .bond_type = c->bond_type,
                                            .torsions = (const int32_t(*)[2])c->torsions};
    c->protein = (struct bi_diffdock_protein){.n_atoms = POCKET,
                                              .atoms = (const double(*)[3])c->atoms,
                                              .features = (const int32_t(*)[4])c->atom_features,
                                              .residue = c->residue,
                                              .n = RESIDUES,
                                              .ca = (const double(*)[3])c->ca,
                                              .type = c->type,
                                              .embedding = c->embedding};
}

static void free_complex(struct complex *c)
{
    free(c->features);
    free(c->bonds);
    free(c->bond_type);
    free(c->type);
    free(c->ca);
    free(c->poses);
    free(c->embedding);
    free(c->atom_features);
    free(c->residue);
    free(c->atoms);
}

/* ---- comparing ---- */

/* L2 distance of a from b over b's norm; NaN stays. */
static double off(const double *a, const float *b, uint64_t n)
{
    double d = 0, norm = 0;
    for (uint64_t i = 0; i < n; i++) {
        d += (a[i] - (double)b[i]) * (a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    return sqrt(d / norm);
}

struct seen {
    const char *prefix;
    int layers;
    double worst;
};

/* A watcher: compares features of pose 0 where the golden file has them. */
static void layer(void *user, int pose, bool ligand, int number, int32_t n, int width,
                  const float *x)
{
    struct seen *seen = user;
    const uint64_t size = (uint64_t)n * (uint64_t)width;
    char name[64];
    float *want;
    double *got, distance;
    snprintf(name, sizeof name, "%s%s.%d", seen->prefix, ligand ? "lig" : "rec", number);
    if (pose || !bi_checkpoint_find(golden, name))
        return;
    want = numbers(golden, name, size);
    got = calloc(size, sizeof *got);
    for (uint64_t i = 0; i < size; i++)
        got[i] = (double)x[i];
    distance = off(got, want, size);
    if (!CHECK(distance < gate))
        fprintf(stderr, "    %s: %.3g off\n", name, distance);
    seen->worst = fmax(seen->worst, distance);
    seen->layers++;
    free(got);
    free(want);
}

/* Everything of a step at time `t`, "0.9" say. */
struct step {
    struct bi_diffdock_time time;
    float *embedding;
};

static struct step read_step(const char *t, int width)
{
    char name[64];
    struct step step = {0};
    float *norms;
    snprintf(name, sizeof name, "t%s.time_embedding", t);
    step.embedding = numbers(golden, name, (uint64_t)width);
    snprintf(name, sizeof name, "t%s.time", t);
    norms = numbers(golden, name, 3);
    step.time = (struct bi_diffdock_time){step.embedding, (double)norms[0], (double)norms[1],
                                          (double)norms[2]};
    free(norms);
    return step;
}

static void compare(const char *t, const char *centre, const char *what, const double *got,
                    uint64_t n, double *worst)
{
    char name[64];
    float *want;
    double distance;
    snprintf(name, sizeof name, "t%s.%s.%s", t, centre, what);
    want = numbers(golden, name, (uint64_t)POSES * 3);
    distance = off(got, want, n);
    if (!CHECK(distance < gate))
        fprintf(stderr, "    %s: %.3g off\n", name, distance);
    *worst = fmax(*worst, distance);
    free(want);
}

/* Scores of n poses as arrays. */
struct scores {
    double tr[POSES * 3], rot[POSES * 3], tor[POSES * TORSIONS];
};

static struct scores score(const struct bi_diffdock_receptor *r, const struct complex *c,
                           const struct bi_diffdock_time *time, const double *poses, int n,
                           int n_threads, const struct bi_diffdock_watch *watch)
{
    struct scores s = {0};
    struct bi_diffdock_score parts[POSES] = {{.torsions = s.tor}, {.torsions = s.tor + TORSIONS}};
    struct bioinfer_error err = {0};
    if (!CHECK_EQ(bi_diffdock_score(r, &c->ligand, time, (const double(*)[3])poses, n, n_threads,
                                    watch, parts, &err),
                  0))
        fprintf(stderr, "    %s\n", err.text);
    for (int i = 0; i < n; i++) {
        memcpy(s.tr + 3 * i, parts[i].shift, sizeof parts[i].shift);
        memcpy(s.rot + 3 * i, parts[i].turn, sizeof parts[i].turn);
    }
    return s;
}

/* ---- tests ---- */

static const struct bi_diffdock_settings v10 = {
    .kind = BI_DIFFDOCK_OLD,
    .ns = 8,
    .nv = 4,
    .n_layers = 4,
    .lmax = 2,
    .fc_layers = 2,
    .time_width = 8,
    .distance_width = 8,
    .cross_width = 12,
    .time_scale = 10000,
    .ligand_radius = 5,
    .cross_radius = 80,
    .dynamic_cross = true,
    .scale_by_sigma = true,
    .lm_width = LM,
    .residues = {.radius = 15, .limit = 24, .receives = true}};

static const struct bi_diffdock_settings v11 = {.kind = BI_DIFFDOCK_NEW,
                                                .ns = 8,
                                                .nv = 4,
                                                .n_layers = 3,
                                                .n_embedding_layers = 2,
                                                .lmax = 2,
                                                .fc_layers = 2,
                                                .time_width = 8,
                                                .distance_width = 8,
                                                .cross_width = 12,
                                                .time_scale = 1000,
                                                .ligand_radius = 5,
                                                .cross_radius = 80,
                                                .dynamic_cross = true,
                                                .scale_by_sigma = true,
                                                .lm_width = LM,
                                                .residues = {.radius = 15, .limit = 24}};

static const struct bi_diffdock_settings rating = {.kind = BI_DIFFDOCK_CONFIDENCE,
                                                   .ns = 6,
                                                   .nv = 3,
                                                   .n_layers = 4,
                                                   .lmax = 2,
                                                   .fc_layers = 2,
                                                   .time_width = 6,
                                                   .distance_width = 6,
                                                   .cross_width = 7,
                                                   .time_scale = 10000,
                                                   .ligand_radius = 5,
                                                   .cross_radius = 80,
                                                   .dynamic_cross = true,
                                                   .lm_width = LM,
                                                   .n_outputs = 2,
                                                   .residues = {.radius = 15, .limit = 24},
                                                   .atoms = {.radius = 5, .limit = 8}};

static struct tensor tensors[MOST_TENSORS];
static int n_tensors;
static struct bi_diffdock_settings settings;

/* Opens the weights with `s`; NULL, and the status in *st, where that fails. */
static struct bi_diffdock *open_model(const struct bi_diffdock_settings *s, int without, int *st,
                                      struct bioinfer_error *err)
{
    struct bi_buf bytes = make_weights(tensors, n_tensors, without);
    struct bi_checkpoint *cp = NULL;
    struct bi_diffdock *model = NULL;
    if (!CHECK_EQ(
            bi_checkpoint_open_memory(&cp, &env, "weights", bytes.data, bytes.size, NULL, err), 0))
        fprintf(stderr, "    %s\n", err->text);
    else
        *st = bi_diffdock_open(&model, &env, cp, s, err);
    bi_checkpoint_close(&cp);
    bi_buf_free(&bytes);
    return model;
}

/* Runs `test` with a model, its receptor and the complex. */
static void with_model(const struct bi_diffdock_settings *s,
                       void (*test)(const struct bi_diffdock_receptor *, struct complex *))
{
    struct complex c = read_complex();
    struct bioinfer_error err = {0};
    struct bi_diffdock *model;
    struct bi_diffdock_receptor *receptor = NULL;
    int st = 1;
    join_complex(&c);
    model = open_model(s, -1, &st, &err);
    if (!CHECK_EQ(st, 0) ||
        !CHECK_EQ(bi_diffdock_receptor_new(&receptor, model, &c.protein, 2, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    else
        test(receptor, &c);
    bi_diffdock_receptor_free(&receptor);
    bi_diffdock_close(&model);
    free_complex(&c);
}

static void own_golden(const struct bi_diffdock_receptor *r, struct complex *c)
{
    static const char *const times[] = {"0.9", "0.35"};
    for (size_t i = 0; i < BI_COUNT(times); i++) {
        struct step step = read_step(times[i], settings.time_width);
        struct seen seen = {.prefix = i ? "t0.35." : "t0.9."};
        const struct bi_diffdock_watch watch = {layer, &seen};
        const struct scores s = score(r, c, &step.time, c->poses, POSES, 2, &watch);
        double worst = 0;
        compare(times[i], "own", "tr", s.tr, POSES * 3, &worst);
        compare(times[i], "own", "rot", s.rot, POSES * 3, &worst);
        compare(times[i], "own", "tor", s.tor, POSES * TORSIONS, &worst);
        CHECK_EQ(seen.layers, i ? 2 * settings.n_layers - 1 : 0);
        printf("t %s: features %.2g, scores %.2g off\n", times[i], seen.worst, worst);
        free(step.embedding);
    }
}

/* ---- a whole path of the sampler ---- */

struct path {
    float *want; /* [steps][POSES][ATOMS][3] */
    double farthest;
    int n;
};

static void moved(void *user, int step, int sample, const double (*x)[3])
{
    struct path *path = user;
    const float *want = path->want + ((int64_t)step * POSES + sample) * ATOMS * 3;
    for (int i = 0; i < ATOMS * 3; i++)
        path->farthest = fmax(path->farthest, fabs(x[i / 3][i % 3] - (double)want[i]));
    path->n++;
}

/* Poses after each step, with the recorded starts and random numbers, and the second sample alone.
 * Shifts of the golden paths have less noise than the released weights. */
static void path_matches(const struct bi_diffdock_receptor *r, struct complex *c)
{
    const bool new = settings.kind == BI_DIFFDOCK_NEW;
    const int n_steps = new ? 19 : 20, row = 6 + TORSIONS;
    float *from = numbers(golden, "noise", (uint64_t)(n_steps * POSES * row));
    struct path path = {
        .want = numbers(golden, "trajectory", (uint64_t)n_steps * POSES * ATOMS * 3)};
    int32_t *masks = integers("masks", TORSIONS * ATOMS);
    uint8_t mask[TORSIONS * ATOMS];
    double *noise = calloc((size_t)(n_steps * POSES * row), sizeof *noise);
    double(*x)[3] = calloc(POSES * ATOMS, sizeof *x), (*alone)[3] = calloc(ATOMS, sizeof *alone);
    const struct bi_dock_ligand ligand = {.env = &env,
                                          .n = ATOMS,
                                          .n_bonds = BONDS,
                                          .n_torsions = TORSIONS,
                                          .features = (int32_t(*)[16])c->features,
                                          .bonds = (int32_t(*)[2])c->bonds,
                                          .bond_type = c->bond_type,
                                          .torsions = c->torsions,
                                          .moved = mask};
    struct bi_dock_recorded recorded = {
        .n_steps = n_steps, .n_samples = POSES, .n_torsions = TORSIONS, .n_atoms = ATOMS};
    struct bi_dock_plan plan = {.arena.env = &env};
    struct bi_dock_sample samples[POSES] = {{.status = 1}, {.status = 1}};
    struct bi_dock_run run = {.plan = &plan,
                              .receptor = r,
                              .ligand = &ligand,
                              .recorded = &recorded,
                              .n_threads = 2,
                              .moved = moved,
                              .user = &path};
    struct bi_dock_schedule schedule;
    struct bioinfer_error err = {0};
    for (int i = 0; i < n_steps * POSES * row; i++)
        noise[i] = (double)from[i];
    for (int i = 0; i < TORSIONS * ATOMS; i++)
        mask[i] = (uint8_t)masks[i];
    bi_dock_schedule_fill(&schedule, new ? BI_DOCK_V11 : BI_DOCK_V10);
    schedule.n_run = n_steps;
    schedule.high[BI_DOCK_SHIFT] = 3;
    if (new) {
        schedule.low[BI_DOCK_TURN] = 0.1;
        schedule.high[BI_DOCK_TURN] = 1.65;
    }
    recorded.noise = noise;
    recorded.start = (const double(*)[3])c->poses;
    CHECK_EQ(bi_dock_plan_make(&plan, &schedule, &settings, &err), 0);
    CHECK_EQ(bi_dock_sample(&run, samples, POSES, x, &err), 0);
    CHECK_EQ(samples[0].status, 0);
    CHECK_EQ(samples[1].status, 0);
    CHECK_EQ(path.n, n_steps * POSES);
    printf("path of %d steps: %.2g angstrom off\n", n_steps, path.farthest);
    CHECK(path.farthest < 1e-3);
    run.moved = NULL;
    run.n_threads = 1;
    recorded.start += ATOMS; /* the second sample's */
    for (int i = 0; i < n_steps; i++)
        memmove(noise + (int64_t)i * POSES * row, noise + ((int64_t)i * POSES + 1) * row,
                (size_t)row * sizeof *noise);
    CHECK_EQ(bi_dock_sample(&run, samples, 1, alone, &err), 0);
    CHECK(!memcmp(alone, x + ATOMS, ATOMS * sizeof *alone));
    bi_arena_reset(&plan.arena);
    free(from);
    free(path.want);
    free(masks);
    free(noise);
    free(x);
    free(alone);
}

/* The statement takes atom b of the batch for sample b: 0 for the first. */
static void graph_golden(const struct bi_diffdock_receptor *r, struct complex *c)
{
    struct step step = read_step("0.35", settings.time_width);
    const struct scores s = score(r, c, &step.time, c->poses, 1, 1, NULL);
    double worst = 0;
    compare("0.35", "graph", "tr", s.tr, 3, &worst);
    compare("0.35", "graph", "rot", s.rot, 3, &worst);
    compare("0.35", "graph", "tor", s.tor, TORSIONS, &worst);
    free(step.embedding);
}

/* A pose alone, and with any number of threads, has the same bits. */
static void same_bits(const struct bi_diffdock_receptor *r, struct complex *c)
{
    struct step step = read_step("0.35", settings.time_width);
    const struct scores both = score(r, c, &step.time, c->poses, POSES, 2, NULL);
    const struct scores alone = score(r, c, &step.time, c->poses + ATOMS * 3, 1, 1, NULL);
    CHECK(!memcmp(alone.tr, both.tr + 3, 3 * sizeof *alone.tr));
    CHECK(!memcmp(alone.rot, both.rot + 3, 3 * sizeof *alone.rot));
    CHECK(!memcmp(alone.tor, both.tor + TORSIONS, TORSIONS * sizeof *alone.tor));
    free(step.embedding);
}

/* A turn about an axis through (1, 2, 2), by 0.7 radians, and a shift. */
static void turn(const double x[3], double out[3], double shift, double sign)
{
    static const double k[3] = {1. / 3, 2. / 3, 2. / 3};
    const double s = sin(0.7), c = cos(0.7),
                 d = (k[0] * x[0] + k[1] * x[1] + k[2] * x[2]) * (1 - c);
    for (int i = 0; i < 3; i++) {
        const int a = (i + 1) % 3, b = (i + 2) % 3;
        out[i] = sign * (x[i] * c + (k[a] * x[b] - k[b] * x[a]) * s + k[i] * d + shift);
    }
}

/* A whole complex that is turned turns its scores; its mirror image has others. */
static void turned(const struct bi_diffdock_receptor *r, struct complex *c)
{
    struct step step = read_step("0.35", settings.time_width);
    const struct scores before = score(r, c, &step.time, c->poses, POSES, 1, NULL);
    struct bioinfer_error err = {0};
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        struct complex moved = read_complex();
        struct bi_diffdock_receptor *receptor = NULL;
        struct bi_diffdock *model;
        struct scores after;
        float want[2][POSES * 3], want_tor[POSES * TORSIONS];
        int st = 1;
        const double sign = mirrored ? -1 : 1;
        for (int i = 0; i < RESIDUES; i++)
            turn(c->ca + 3 * i, moved.ca + 3 * i, 5, sign);
        for (int i = 0; i < POSES * ATOMS; i++)
            turn(c->poses + 3 * i, moved.poses + 3 * i, 5, sign);
        join_complex(&moved);
        model = open_model(&settings, -1, &st, &err);
        CHECK_EQ(bi_diffdock_receptor_new(&receptor, model, &moved.protein, 1, &err), 0);
        after = score(receptor, &moved, &step.time, moved.poses, POSES, 1, NULL);
        for (int i = 0; i < POSES; i++) {
            double t[3], q[3];
            turn(before.tr + 3 * i, t, 0, sign);
            turn(before.rot + 3 * i, q, 0, 1); /* a turn has no sign to lose */
            for (int k = 0; k < 3; k++) {
                want[0][3 * i + k] = (float)t[k];
                want[1][3 * i + k] = (float)q[k];
            }
        }
        for (int i = 0; i < POSES * TORSIONS; i++)
            want_tor[i] = (float)(sign * before.tor[i]);
        const double offs[] = {off(after.tr, want[0], POSES * 3),
                               off(after.rot, want[1], POSES * 3),
                               off(after.tor, want_tor, POSES * TORSIONS)};
        printf("%s: %.2g %.2g %.2g off\n", mirrored ? "mirrored" : "turned", offs[0], offs[1],
               offs[2]);
        for (size_t k = 0; k < BI_COUNT(offs); k++)
            CHECK(mirrored ? offs[k] > 0.01 : offs[k] < gate);
        bi_diffdock_receptor_free(&receptor);
        bi_diffdock_close(&model);
        free_complex(&moved);
    }
    (void)r;
    free(step.embedding);
}

/* The time embedding: float32 sines of large arguments. */
static void own_time(void)
{
    float own[8], *want = numbers(golden, "t0.35.time_embedding", 8);
    double worst = 0;
    bi_diffdock_embed_time(&settings, 0.35, own);
    for (int i = 0; i < 8; i++)
        worst = fmax(worst, fabs((double)own[i] - (double)want[i]));
    CHECK(worst < 1e-3);
    free(want);
}

/* Bad settings and weights are refused, by name. */
static void refused(void)
{
    struct bioinfer_error err = {0};
    struct bi_diffdock_settings s = settings;
    struct bi_diffdock *model;
    int st = 0;
    CHECK(!open_model(&settings, 3, &st, &err));
    CHECK_EQ(st, BIOINFER_MISMATCH);
    CHECK_HAS(err.text, tensors[3].name);
    s.n_layers--;
    CHECK(!open_model(&s, -1, &st, &err));
    CHECK_EQ(st, BIOINFER_MISMATCH);
    s = settings;
    s.no_torsion = true;
    CHECK(!open_model(&s, -1, &st, &err));
    CHECK_HAS(err.text, "is not one of the network");
    s = settings;
    s.nv++;
    CHECK(!open_model(&s, -1, &st, &err));
    CHECK_HAS(err.text, "expected [");
    s = settings;
    s.ns = 0;
    model = open_model(&s, -1, &st, &err);
    CHECK(!model);
    CHECK_EQ(st, BIOINFER_INVALID);
}

static void refused_complex(const struct bi_diffdock_receptor *r, struct complex *c)
{
    struct bi_diffdock_score s = {.torsions = (double[TORSIONS]){0}};
    struct step step = read_step("0.35", settings.time_width);
    struct bioinfer_error err = {0};
    const int32_t type = c->bond_type[4], feature = c->features[16 * 7];
    const double x = c->poses[5];
#define SCORE                                                                                      \
    bi_diffdock_score(r, &c->ligand, &step.time, (const double(*)[3])c->poses, 1, 1, NULL, &s, &err)
    CHECK_EQ(SCORE, 0);
    c->bond_type[4] = 4;
    CHECK_EQ(SCORE, BIOINFER_INVALID);
    CHECK_HAS(err.text, "bond 4");
    c->bond_type[4] = type;
    c->features[16 * 7] = 119;
    CHECK_EQ(SCORE, BIOINFER_INVALID);
    CHECK_HAS(err.text, "atom 7: feature 0 is 119, expected 0 to 118");
    c->features[16 * 7] = feature;
    c->poses[5] = (double)NAN;
    CHECK_EQ(SCORE, BIOINFER_INVALID);
    c->poses[5] = x;
    c->ligand.n = 0;
    CHECK_EQ(SCORE, BIOINFER_INVALID);
    c->ligand.n = ATOMS;
    CHECK_EQ(SCORE, 0);
#undef SCORE
    free(step.embedding);
}

/* Edges among atoms of the pocket are the statement's; radii are strict, limits cut in order. */
static void edges_match(void)
{
    enum { EDGES = 3829, ROW = 40 };
    const struct bi_near_rule how = {.radius = 5, .limit = 8};
    struct bi_pose_edges list = {.env = &env};
    struct bioinfer_error err = {0};
    double *x = doubles("atom_pos", POCKET * 3), row[ROW][3] = {{0}};
    int32_t *want = integers("atom_edges", 2 * EDGES);
    int *has = calloc((size_t)POCKET * POCKET, sizeof *has);
    CHECK_EQ(bi_edges_nearest(&list, (const double(*)[3])x, POCKET, &how, &err), 0);
    CHECK_EQ(list.n, EDGES); /* as sets: in another order */
    for (int32_t i = 0; i < list.n; i++)
        has[(size_t)list.to[i] * POCKET + (size_t)list.from[i]]++;
    for (int i = 0; i < EDGES; i++)
        if (!CHECK_EQ(has[(size_t)want[i] * POCKET + (size_t)want[EDGES + i]]--, 1))
            break;
    free(has);
    bi_edges_free(&list);
    for (int i = 0; i < ROW; i++)
        row[i][0] = 0.125 * i;
    CHECK_EQ(bi_edges_among(&list, (const double(*)[3])row, ROW, 4.0, 32, &err), 0);
    /* point 0 has 31 neighbours nearer than 4, and point 20 the first 32 of its 39 */
    for (int32_t i = 0, n0 = 0, n20 = 0, last = -1; i < list.n; i++) {
        n0 += list.from[i] == 0;
        n20 += list.from[i] == 20;
        last = list.from[i] == 20 ? list.to[i] : last;
        if (i + 1 == list.n) {
            CHECK_EQ(n0, 31);
            CHECK_EQ(n20, 32);
            CHECK_EQ(last, 32);
        }
    }
    bi_edges_free(&list);
    CHECK_EQ(bi_edges_within(&list, (const double(*)[3])row, 1, (const double(*)[3])row, ROW, 4.0,
                             10, &err),
             0);
    CHECK_EQ(list.n, 10);
    CHECK_EQ(list.from[9], 9);
    bi_edges_free(&list);
    free(want);
    free(x);
}

/* Confidence in both poses, alone and together; an atom in no residue, and scores, are refused. */
static void rate(const struct bi_diffdock_receptor *r, struct complex *c)
{
    const double(*poses)[3] = (const double(*)[3])c->poses;
    float *want = numbers(golden, "confidence", POSES * 2);
    struct seen seen = {.prefix = ""};
    const struct bi_diffdock_watch watch = {layer, &seen};
    const struct bi_diffdock_time time = {.embedding = want, .sigma = 1};
    struct bi_diffdock_score score = {0};
    struct bioinfer_error err = {0};
    double both[POSES * 2] = {0}, alone[2] = {0}, distance;
    CHECK_EQ(bi_diffdock_confidence(r, &c->ligand, poses, POSES, 2, &watch, both, &err), 0);
    CHECK_EQ(bi_diffdock_confidence(r, &c->ligand, poses + ATOMS, 1, 1, NULL, alone, &err), 0);
    distance = off(both, want, POSES * 2);
    printf("features %.2g, confidence %.2g off\n", seen.worst, distance);
    CHECK(distance < gate);
    CHECK_EQ(seen.layers, rating.n_layers);
    CHECK(!memcmp(alone, both + 2, sizeof alone));
    CHECK_EQ(bi_diffdock_score(r, &c->ligand, &time, poses, 1, 1, NULL, &score, &err),
             BIOINFER_INVALID);
    free(want);
}

static void confidence_matches(void)
{
    with_model(&settings, rate);
}

static void score_matches(void)
{
    with_model(&settings, own_golden);
}

static void whole_path_matches(void)
{
    with_model(&settings, path_matches);
}

static void graph_centre_matches(void)
{
    struct bi_diffdock_settings s = settings;
    s.graph_centre = true;
    with_model(&s, graph_golden);
}

static void pose_alone_is_same(void)
{
    with_model(&settings, same_bits);
}

static void turns_with_complex(void)
{
    with_model(&settings, turned);
}

static void bad_complex_is_refused(void)
{
    with_model(&settings, refused_complex);
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    char path[4096];
    if (argc != 3)
        return 2;
    env = bi_env_default();
    CHECK_EQ(bi_team_new(&env.team, &env, &err), 0);
    snprintf(path, sizeof path, "%s/inputs.safetensors", argv[1]);
    CHECK_EQ(bi_checkpoint_open(&inputs, &env, path, NULL, &err), 0);
    snprintf(path, sizeof path, "%s/%s.safetensors", argv[1], argv[2]);
    CHECK_EQ(bi_checkpoint_open(&golden, &env, path, NULL, &err), 0);
    snprintf(path, sizeof path, "%s/%s.txt", argv[1], argv[2]);
    n_tensors = read_table(path, tensors);
    if (!inputs || !golden || !n_tensors)
        return 1;
    settings = !strcmp(argv[2], "score_v10") ? v10 : !strcmp(argv[2], "score_v11") ? v11 : rating;
    if (settings.kind == BI_DIFFDOCK_CONFIDENCE)
        TEST(confidence_matches);
    else {
        TEST(edges_match);
        TEST(score_matches);
        TEST(whole_path_matches);
        TEST(graph_centre_matches);
        TEST(pose_alone_is_same);
        TEST(turns_with_complex);
        TEST(own_time);
        TEST(refused);
        TEST(bad_complex_is_refused);
    }
    bi_checkpoint_close(&inputs);
    bi_checkpoint_close(&golden);
    bi_team_free(&env.team);
    return test_report();
}

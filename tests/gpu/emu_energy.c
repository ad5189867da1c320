/* emu_energy.c - energies and forces of atoms through the GPU path on the host: against the CPU
 * backend, and alone and in company.
 *
 *   emu_energy WEIGHTS FRAMES [DEVICE]
 *
 * With a device, of a real chip, it alone is looked at.
 *
 * Steps of molecular dynamics and of relaxations that one submission makes are also made one by
 * one: to the bit. */
#include <stdlib.h>
#include <unistd.h>

#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../../engine/task.h"
#include "../../models/energy.h"
#include "../../tasks/frames.h"
#include "../engine/host_relax.h"
#include "../test.h"
#include "emu_backend.h"

enum { MOST_FRAMES = 8, MOST_ATOMS = 16 };

/* Launches of a step of a relaxation, whose model has two layers: small systems wait for them, so
 * more are to be meant. The head of MatGL's is larger than torchmd-net's. */
enum { TORCHMD_LAUNCHES = 53, MATGL_LAUNCHES = 67 };

static int trip_launches(const bioinfer_model *model)
{
    const struct bi_energy_def *def = model->base.def->def;
    return def->facts(&model->base)->takes_charge ? TORCHMD_LAUNCHES : MATGL_LAUNCHES;
}

struct energies {
    int n;
    double of[MOST_FRAMES];
    double forces[MOST_FRAMES][3 * MOST_ATOMS];
    double stress[MOST_FRAMES][9];
};

static const char *weights, *frames, *device;
static bioinfer_context *ctx;

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct energies *all = user;
    const struct bioinfer_energy *e = r->energy;
    (void)err;
    if (!CHECK(r->status == 0 && e) || !CHECK(all->n < MOST_FRAMES && e->n_atoms <= MOST_ATOMS)) {
        fprintf(stderr, "    %s: %s\n", r->id, r->message);
        return 0;
    }
    all->of[all->n] = e->energy;
    memcpy(all->forces[all->n], e->forces, 3 * e->n_atoms * sizeof *e->forces);
    if (e->stress)
        memcpy(all->stress[all->n], e->stress, sizeof all->stress[0]);
    all->n++;
    return 0;
}

/* Computes all frames by one run, of so many atoms at once; 0 = as usual. no_rules may be NULL. */
static void compute(const bioinfer_model *model, int64_t atoms, const char *no_rules,
                    struct energies *out)
{
    struct bioinfer_energy_params p = BIOINFER_PARAMS(
        struct bioinfer_energy_params, .tokens_at_once = atoms, .no_rules = no_rules);
    bioinfer_frames *in = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    *out = (struct energies){0};
    if (!CHECK(!bioinfer_frames_open(&in, ctx, frames, &err)) ||
        !CHECK(!bioinfer_energy_open(&task, model, &p, &err)) ||
        !CHECK(!bioinfer_task_run(task, bioinfer_frames_source, in, keep, out, &err)))
        fprintf(stderr, "    %s\n", err.text);
    bioinfer_task_close(&task);
    bioinfer_frames_close(&in);
}

/* ops NULL: on a device by its name. */
static bioinfer_model *open_on(const struct bi_backend_ops *ops, const char *name)
{
    struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params);
    struct bioinfer_error err = {0};
    bioinfer_model *model = NULL;
    p.device = ops ? NULL : name;
    if (!CHECK(!bi_model_open_on(&model, ctx, weights, &p, ops, &err)))
        fprintf(stderr, "    %s\n", err.text);
    return model;
}

/* Forces are small differences of large numbers: float16 is refused, not computed in float32. */
static void half_is_refused(const struct bi_backend_ops *ops)
{
    struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .precision = "fp16");
    struct bioinfer_error err = {0};
    bioinfer_model *model = NULL;
    CHECK_EQ(bi_model_open_on(&model, ctx, weights, &p, ops, &err), BIOINFER_UNSUPPORTED);
    CHECK(strstr(err.text, "tensornet is computed in fp32"));
    bioinfer_model_close(&model);
}

/* The largest difference of any number. */
static double compare(const struct energies *a, const struct energies *b)
{
    double worst = 0;
    CHECK_EQ(a->n, b->n);
    for (int i = 0; i < a->n && i < b->n; i++) {
        worst = fmax(worst, fabs(a->of[i] - b->of[i]));
        for (int k = 0; k < 3 * MOST_ATOMS; k++)
            worst = fmax(worst, fabs(a->forces[i][k] - b->forces[i][k]));
        for (int k = 0; k < 9; k++)
            worst = fmax(worst, fabs(a->stress[i][k] - b->stress[i][k]));
    }
    return worst;
}

/* Takes the status of the only result. */
static int take_status(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    (void)user;
    (void)err;
    if (!CHECK(!r->status))
        fprintf(stderr, "    %s: %s\n", r->id, r->message);
    return 0;
}

/* The last frame of 12 steps with a frame after every `every` of them; `submits`: of the device. */
static void move(const bioinfer_model *model, bool fixes, uint64_t every, char *frame, size_t size,
                 uint64_t *submits)
{
    static const char free[] =
        "4\nLattice=\"4 0 0 0.3 4.1 0 0 0.2 4.2\" pbc=\"T T F\" Properties=species:S:1:pos:R:3 "
        "charge=1\nC 0 0 0\nC 1.6 0.1 0\nC 0.2 1.7 0.3\nC 2.2 2.1 1.9\n";
    static const char fixed[] =
        "4\nLattice=\"4 0 0 0.3 4.1 0 0 0.2 4.2\" pbc=\"T T F\" "
        "Properties=species:S:1:pos:R:3:move_mask:L:3 charge=1\nC 0 0 0 F F F\n"
        "C 1.6 0.1 0 T T T\nC 0.2 1.7 0.3 F T F\nC 2.2 2.1 1.9 T T T\n";
    const char *crystal = fixes ? fixed : free;
    char input[80], path[80], text[20000], *at = text;
    struct bioinfer_md_params p = BIOINFER_PARAMS(struct bioinfer_md_params, .steps = 12,
                                                  .every = every, .dt = 0.5, .temperature = 300,
                                                  .trajectory = path);
    struct bioinfer_profile profile = {.struct_size = sizeof profile};
    bioinfer_frames *in = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    FILE *file = NULL;
    snprintf(input, sizeof input, "emu_energy_%ld.xyz", (long)getpid());
    snprintf(path, sizeof path, "emu_energy_%ld.extxyz", (long)getpid());
    *frame = 0;
    if (!CHECK((file = fopen(input, "w")) && fputs(crystal, file) >= 0 && !fclose(file)))
        return;
    if (!CHECK(!bioinfer_frames_open(&in, ctx, input, &err)) ||
        !CHECK(!bioinfer_md_open(&task, model, &p, &err)) ||
        !CHECK(!bioinfer_task_run(task, bioinfer_frames_source, in, take_status, NULL, &err)) ||
        !CHECK(!bioinfer_task_get_profile(task, &profile)))
        fprintf(stderr, "    %s\n", err.text);
    *submits = profile.submits;
    bioinfer_task_close(&task);
    bioinfer_frames_close(&in);
    remove(input);
    if (!CHECK((file = fopen(path, "r")) != NULL))
        return;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    remove(path);
    for (char *next = text; (next = strstr(next, "Properties="));)
        at = next++;
    at = strchr(at, '\n');
    if (CHECK(at && strlen(at) < size))
        snprintf(frame, size, "%s", at);
}

static void leaps(const bioinfer_model *model)
{
    char one[4000], many[4000];
    uint64_t submits[2];
    for (int fixes = 0; fixes < 2; fixes++) {
        move(model, fixes, 1, one, sizeof one, &submits[0]);
        move(model, fixes, 12, many, sizeof many, &submits[1]);
        CHECK(*one && !strcmp(one, many));
        CHECK_EQ(submits[0], 13); /* the forces of the first frame, and each step */
        CHECK_EQ(submits[1], 3);  /* the first step, and all others */
        CHECK(!strstr(one, "\nC 0 0 0 0 0 0 ") == !fixes); /* place and momentum */
        CHECK(!strstr(one, "\nC 0.2 1.") == !fixes);
    }
}

/* A relaxation of four atoms, where it ends. */
struct relaxed {
    uint64_t steps;
    bool relaxed;
    double energy, largest, position[12], cell[9];
    char text[2000]; /* the frame, forces and stress too */
};

static bool fixes; /* relaxations fix some components of their atoms */

static const char crystal[] =
    "4\nLattice=\"3.7 0 0 0.3 3.8 0 0 0.2 3.9\" pbc=\"T T T\" Properties=species:S:1:pos:R:3 "
    "charge=0\nC 0 0 0\nC 1.6 0.1 0\nC 0.2 1.7 0.3\nC 2.2 2.1 1.9\n";

/* Reads the crystal, of which some components are fixed where `fixes` says so. */
static bool read_crystal(struct bi_frame *frame, struct bioinfer_error *err)
{
    static const uint8_t held[4] = {BI_HELD_ALL, 0, 5, 0};
    struct bi_frames *in = NULL;
    bool read = CHECK(!bi_frames_open_memory(&in, frame->env, "crystal", crystal,
                                             sizeof crystal - 1, err)) &&
                CHECK(bi_frames_next(in, frame, err) == 1 && !frame->status);
    bi_frames_close(&in);
    if (read && fixes) {
        frame->held = bi_alloc(frame->env, sizeof held);
        if ((frame->has_held = read = CHECK(frame->held != NULL)))
            memcpy(frame->held, held, sizeof held);
    }
    return read;
}

/* Reads places and cell of a relaxed frame as the task wrote it, to the bit; its forces have fewer
 * digits. */
static int take_relaxed(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct relaxed *out = user;
    const struct bi_env env = bi_env_default();
    struct bi_frame frame = {.env = &env};
    struct bi_frames *in = NULL;
    if (!CHECK(!r->status && r->relaxed && r->n_texts == 1) ||
        !CHECK(
            !bi_frames_open_memory(&in, &env, r->id, r->texts[0].text, r->texts[0].length, err)) ||
        !CHECK(bi_frames_next(in, &frame, err) == 1 && frame.n == 4)) {
        fprintf(stderr, "    %s\n", r->message);
    } else {
        out->steps = r->relaxed->steps;
        out->relaxed = r->relaxed->relaxed;
        out->energy = r->relaxed->energy;
        out->largest = r->relaxed->largest;
        memcpy(out->position, frame.position, sizeof out->position);
        memcpy(out->cell, frame.cell, sizeof out->cell);
        snprintf(out->text, sizeof out->text, "%s", r->texts[0].text);
    }
    bi_frame_free(&frame);
    bi_frames_close(&in);
    return 0;
}

/* Relaxes atoms, and their cell with `cell`, by at most so many steps, `at_once` by a submission.
 * Gives the submits of the device. */
static uint64_t relax(const bioinfer_model *model, bool cell, double fmax, uint64_t steps,
                      int32_t at_once, struct relaxed *out)
{
    const struct bioinfer_relax_params p = BIOINFER_PARAMS(
        struct bioinfer_relax_params, .fmax = fmax, .cell = cell, .steps = steps);
    const struct bi_env env = bi_env_default();
    struct bioinfer_profile profile = {.struct_size = sizeof profile};
    struct bi_frame frame = {.env = &env};
    struct bioinfer_atoms atoms;
    struct bioinfer_record record = {.id = "crystal", .atoms = &atoms};
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    *out = (struct relaxed){0};
    if (CHECK(!bioinfer_relax_open(&task, model, &p, &err)) && read_crystal(&frame, &err)) {
        bi_frame_atoms(&frame, &atoms);
        bi_relax_set_chunk(task, at_once);
        CHECK(!bioinfer_task_compute(task, &record, 1, take_relaxed, out, &err));
        CHECK(!bioinfer_task_get_profile(task, &profile));
    }
    if (err.status)
        fprintf(stderr, "    %s\n", err.text);
    bioinfer_task_close(&task);
    bi_frame_free(&frame);
    return profile.submits;
}

/* ---- the same on the host ---- */

static int take_forces(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct bi_motion *m = user;
    (void)err;
    if (!CHECK(!r->status && r->energy))
        return 0;
    m->energy = r->energy->energy;
    memcpy(m->force, r->energy->forces, 3 * (size_t)m->n * sizeof *m->force);
    m->has_stress = r->energy->stress != NULL;
    if (m->has_stress)
        memcpy(m->stress, r->energy->stress, sizeof m->stress);
    return 0;
}

static int compute_forces(void *user, struct bi_motion *m, struct bioinfer_error *err)
{
    const struct bioinfer_atoms atoms = {
        .n = m->n,
        .numbers = m->number,
        .positions = m->position,
        .cell = m->cell,
        .periodic = {m->periodic[0], m->periodic[1], m->periodic[2]},
        .charge = m->charge,
        .has_charge = m->has_charge};
    const struct bioinfer_record record = {.id = "crystal", .atoms = &atoms};
    return bioinfer_task_compute(user, &record, 1, take_forces, m, err);
}

static void relax_on_host(const bioinfer_model *model, bool cell, double fmax, uint64_t steps,
                          struct relaxed *out)
{
    const struct host_relax r = {.fmax = fmax, .cell = cell, .steps = steps};
    const struct bi_env env = bi_env_default();
    struct bi_frame frame = {.env = &env};
    struct bi_buf text = {.env = &env};
    struct bioinfer_atoms atoms;
    struct bi_motion m = {0};
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    *out = (struct relaxed){0};
    if (!CHECK(!bioinfer_energy_open(&task, model, NULL, &err)) || !read_crystal(&frame, &err))
        return;
    bi_frame_atoms(&frame, &atoms);
    CHECK(!bi_motion_open(&m, &env, &atoms, &err));
    if (!CHECK(!host_relax(&r, &m, &(struct bi_forces){compute_forces, task}, &out->steps,
                           &out->relaxed, &err)))
        fprintf(stderr, "    %s\n", err.text);
    out->energy = m.energy;
    out->largest = bi_motion_largest_force(&m);
    memcpy(out->position, m.position, sizeof out->position);
    memcpy(out->cell, m.cell, sizeof out->cell);
    bi_motion_write(&m, "crystal", false, out->relaxed ? "relaxed=T" : "relaxed=F", &text);
    if (CHECK(bi_buf_text(&text)))
        snprintf(out->text, sizeof out->text, "%s", text.data);
    bi_buf_free(&text);
    bi_motion_close(&m);
    bi_frame_free(&frame);
    bioinfer_task_close(&task);
}

static double farthest(const double *a, const double *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* Steps of one submission are those of one each, and of the host, also where they end on the way;
 * and they lead where those of the CPU do. */
static void relaxes(const bioinfer_model *model, const bioinfer_model *cpu)
{
    for (int i = 0; i < 4; i++) {
        const bool cell = i & 1;
        struct relaxed one, many, host, want;
        fixes = i > 1;
        CHECK_EQ(relax(model, cell, 1e-9, 10, 1, &one), 11);
        CHECK_EQ(relax(model, cell, 1e-9, 10, 100, &many), 1);
        relax_on_host(model, cell, 1e-9, 10, &host);
        relax(cpu, cell, 1e-9, 10, 100, &want);
        CHECK(!one.relaxed && one.steps == 10 && want.steps == 10);
        CHECK(!memcmp(&one, &many, sizeof one) && !memcmp(&one, &host, sizeof one));
        CHECK(farthest(one.position, want.position, 12) < 1e-4);
        CHECK(farthest(one.cell, want.cell, 9) < 1e-4);
        CHECK(fabs(one.energy - want.energy) < 1e-4);
        CHECK((farthest(one.cell, (double[9]){3.7, 0, 0, 0.3, 3.8, 0, 0, 0.2, 3.9}, 9) > 0) ==
              cell);
        CHECK(cell || (one.position[0] == 0 && one.position[1] == 0 && one.position[2] == 0 &&
                       one.position[6] == 0.2 && one.position[7] != 1.7 &&
                       one.position[8] == 0.3) == fixes);
        relax(model, cell, 1e3, 10, 100, &one);
        CHECK(one.relaxed && one.steps == 0);
    }
    fixes = false;
}

/* A relaxation that converges has the same end whatever is made at once: trips behind it change
 * nothing. */
static void ends(const bioinfer_model *model)
{
    struct relaxed one, some, many;
    relax(model, false, 0.05, 200, 1, &one);
    relax(model, false, 0.05, 200, 7, &some);
    CHECK_EQ(relax(model, false, 0.05, 200, 201, &many), 1);
    CHECK(one.relaxed && one.steps > 3 && one.steps < 100);
    CHECK(!memcmp(&one, &some, sizeof one) && !memcmp(&one, &many, sizeof one));
}

/* ---- company ---- */

enum { MOST_TEXT = 20000 };

/* The ends of frames: texts of relaxations, or last steps of dynamics. */
struct became {
    int n, n_lost;
    char text[MOST_TEXT];
};

static int take_text(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct became *all = user;
    const size_t n = strlen(all->text);
    (void)err;
    all->n++;
    all->n_lost += r->status != 0;
    if (r->status)
        snprintf(all->text + n, MOST_TEXT - n, "%s: %s\n", r->id, r->message);
    else if (r->relaxed)
        snprintf(all->text + n, MOST_TEXT - n, "%s %llu %a\n%s", r->id,
                 (unsigned long long)r->relaxed->steps, r->relaxed->energy, r->texts[0].text);
    else
        snprintf(all->text + n, MOST_TEXT - n, "%s %llu %a %a\n", r->id,
                 (unsigned long long)r->moved->step, r->moved->energy, r->moved->kinetic);
    return 0;
}

/* Moves all frames, this number of atoms at once; 0 = as usual. */
static void move_all(const bioinfer_model *model, bool dynamics, int64_t atoms, struct became *out)
{
    char folder[] = "/tmp/emu_energy_XXXXXX", command[80];
    const struct bioinfer_md_params md = BIOINFER_PARAMS(
        struct bioinfer_md_params, .steps = 9, .every = 5, .dt = 0.5, .temperature = 300, .seed = 3,
        .tokens_at_once = atoms, .trajectory = folder, .folder = 1);
    const struct bioinfer_relax_params relaxes = BIOINFER_PARAMS(
        struct bioinfer_relax_params, .steps = 12, .fmax = 0.3, .tokens_at_once = atoms);
    bioinfer_frames *in = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    *out = (struct became){0};
    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    if (!CHECK(!bioinfer_frames_open(&in, ctx, frames, &err)) ||
        !CHECK(!(dynamics ? bioinfer_md_open(&task, model, &md, &err)
                          : bioinfer_relax_open(&task, model, &relaxes, &err))) ||
        !CHECK(!bioinfer_task_run(task, bioinfer_frames_source, in, take_text, out, &err)))
        fprintf(stderr, "    %s\n", err.text);
    bioinfer_task_close(&task);
    bioinfer_frames_close(&in);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(!system(command));
}

/* Frames that move have the bits alone that they have in company. */
static void company(const bioinfer_model *model)
{
    static struct became alone, together;
    for (int dynamics = 0; dynamics < 2; dynamics++) {
        move_all(model, dynamics, 1, &alone);
        move_all(model, dynamics, 0, &together);
        CHECK(alone.n > 2 && alone.n - alone.n_lost > 2);
        CHECK(!strcmp(alone.text, together.text));
    }
}

/* All that a chip must do as the CPU does. */
static void on_chip(const bioinfer_model *model, const bioinfer_model *cpu)
{
    struct energies want, got, alone;
    double worst;
    compute(cpu, 0, NULL, &want);
    CHECK(want.n > 2);
    compute(model, 0, NULL, &got);
    worst = compare(&got, &want);
    printf("%.2g off\n", worst);
    CHECK(worst < 1e-5);
    compute(model, 1, NULL, &alone); /* the bytes do not depend on company */
    CHECK(!memcmp(&alone, &got, sizeof got));
    /* nor on what is fused for gradients */
    compute(model, 0, "linear_silu_pair,linear_silu_slope,tensor_sums,tensor_pair", &alone);
    CHECK(!memcmp(&alone, &got, sizeof got));
    leaps(model);
    relaxes(model, cpu);
    company(model);
}

static void on_all_chips(void)
{
    static const struct bi_backend_ops *const chips[] = {&emu_nvidia, &emu_cdna, &emu_cdna2,
                                                         &emu_rdna};
    bioinfer_model *cpu = open_on(NULL, "cpu");
    if (!cpu)
        return;
    half_is_refused(chips[0]);
    relaxes(cpu, cpu);
    ends(cpu);
    company(cpu);
    for (size_t i = 0; i < BI_COUNT(chips); i++) {
        bioinfer_model *model = open_on(chips[i], NULL);
        const long before = emu_counts.launches;
        struct relaxed end;
        if (!model)
            continue;
        relax(model, false, 1e-9, 10, 100, &end);
        /* 11 trips, and two launches in front of them */
        CHECK_EQ(emu_counts.launches - before, 11 * trip_launches(model) + 2);
        on_chip(model, cpu);
        bioinfer_model_close(&model);
    }
    bioinfer_model_close(&cpu);
}

static void on_the_device(void)
{
    bioinfer_model *cpu = open_on(NULL, "cpu"), *model = open_on(NULL, device);
    if (cpu && model) {
        on_chip(model, cpu);
        ends(model);
    }
    bioinfer_model_close(&model);
    bioinfer_model_close(&cpu);
}

int main(int argc, char **argv)
{
    struct bioinfer_context_params params = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                            .n_threads = 1);
    if (argc < 3 || bioinfer_context_new(&ctx, &params, NULL))
        return 1;
    weights = argv[1];
    frames = argv[2];
    device = argc > 3 ? argv[3] : NULL;
    if (device)
        TEST(on_the_device);
    else
        TEST(on_all_chips);
    bioinfer_context_free(&ctx);
    return test_report();
}

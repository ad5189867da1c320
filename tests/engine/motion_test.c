/* motion_test.c - molecular dynamics and relaxation over Lennard-Jones forces. */
#include "../../kernels/fire.h"
#include "../../kernels/motion.h"
#include "../test.h"
#include "host_relax.h"
#include "lennard_jones.h"

static const struct bi_env *the_env(void)
{
    static struct bi_env env;
    env = bi_env_default();
    return &env;
}

/* An icosahedron of 13 argon atoms, a little out of place. */
static void make_cluster(struct bi_motion *m, double shake)
{
    static const double g = 1.618033988749895;
    const double at[13][3] = {{0, 0, 0},  {0, 1, g},  {0, 1, -g}, {0, -1, g},  {0, -1, -g},
                              {1, g, 0},  {1, -g, 0}, {-1, g, 0}, {-1, -g, 0}, {g, 0, 1},
                              {g, 0, -1}, {-g, 0, 1}, {-g, 0, -1}};
    int32_t number[13];
    double x[39];
    const struct bioinfer_atoms frame = {.n = 13, .numbers = number, .positions = x};
    for (int i = 0; i < 13; i++) {
        number[i] = 18;
        for (int k = 0; k < 3; k++)
            x[3 * i + k] = 1.9 * at[i][k] + shake * sin(1.0 + 7 * i + 3 * k);
    }
    CHECK(!bi_motion_open(m, the_env(), &frame, NULL));
}

/* A crystal: the primitive cell of argon, pressed and sheared, or a cube of 32 atoms. */
static void make_crystal(struct bi_motion *m, bool primitive)
{
    static const double corner[4][3] = {{0, 0, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}};
    int32_t number[32];
    double x[96];
    static const double cube[9] = {10.6, 0, 0, 0, 10.6, 0, 0, 0, 10.6};
    static const double pressed[9] = {0.1, 2.5, 2.6, 2.4, 0, 2.6, 2.5, 2.5, 0.2};
    for (int i = 0; i < 32; i++) {
        number[i] = 18;
        for (int k = 0; k < 3; k++)
            x[3 * i + k] = 5.3 * (corner[i % 4][k] + (i >> (2 + k) & 1));
    }
    const struct bioinfer_atoms frame = {.n = primitive ? 1 : 32,
                                         .numbers = number,
                                         .positions = x,
                                         .cell = primitive ? pressed : cube,
                                         .periodic = {1, 1, 1}};
    CHECK(!bi_motion_open(m, the_env(), &frame, NULL));
}

static const struct lennard_jones argon = {.epsilon = 0.0104, .sigma = 3.4, .cutoff = 50};

/* The forces that the other tests trust are the derivatives of their energy. */
static void forces_are_derivatives(void)
{
    struct lennard_jones lj = argon;
    const double h = 1e-4;
    struct bi_motion m = {0};
    double force[96], stress[9], cell[9], x[96];
    lj.cutoff = 4.6; /* no distance is near it */
    make_crystal(&m, false);
    m.position[4] += 0.3;
    m.position[17] -= 0.2;
    CHECK(!lennard_jones(&lj, &m, NULL));
    memcpy(force, m.force, sizeof force);
    memcpy(stress, m.stress, sizeof stress);
    memcpy(cell, m.cell, sizeof cell);
    memcpy(x, m.position, sizeof x);
    for (int i = 0; i < 96; i += 5) {
        double up, down;
        m.position[i] = x[i] + h;
        lennard_jones(&lj, &m, NULL);
        up = m.energy;
        m.position[i] = x[i] - h;
        lennard_jones(&lj, &m, NULL);
        down = m.energy;
        m.position[i] = x[i];
        CHECK(fabs(force[i] + (up - down) / (2 * h)) < 1e-6);
    }
    for (int a = 0; a < 9; a++) { /* strain: x' = x + strain x */
        double energy[2];
        for (int sign = 0; sign < 2; sign++) {
            const double s = sign ? -h : h;
            memcpy(m.cell, cell, sizeof cell);
            memcpy(m.position, x, sizeof x);
            for (int i = 0; i < 3; i++)
                m.cell[3 * i + a / 3] += s * cell[3 * i + a % 3];
            for (int i = 0; i < 32; i++)
                m.position[3 * i + a / 3] += s * x[3 * i + a % 3];
            lennard_jones(&lj, &m, NULL);
            energy[sign] = m.energy;
        }
        CHECK(fabs(stress[a] - (energy[0] - energy[1]) / (2 * h) / bi_cell_volume(cell)) < 1e-7);
    }
    bi_motion_close(&m);
    bi_neighbours_free(&lj.near);
}

/* Energy stays: the drift of 2,000 steps is far below what a step changes. */
static void conserves_energy(void)
{
    struct lennard_jones lj = argon;
    const struct bi_forces forces = {lennard_jones, &lj};
    struct bi_dynamics d = {.dt = 5 * BI_FEMTOSECOND, .temperature = 20};
    struct bi_motion m = {0};
    double before, most = 0, p[3] = {0};
    make_cluster(&m, 0.05);
    bi_random_start(&d.random, BI_RNG_NATIVE, 7, 0);
    bi_dynamics_start(&d, &m);
    CHECK(!lennard_jones(&lj, &m, NULL));
    before = m.energy + bi_motion_kinetic(&m);
    CHECK(fabs(bi_motion_temperature(&m) - 20) < 10);
    for (uint64_t step = 1; step <= 2000; step++) {
        CHECK(!bi_dynamics_step(&d, &m, step, &forces, NULL));
        most = fmax(most, fabs(m.energy + bi_motion_kinetic(&m) - before));
    }
    CHECK(most < 2e-5);
    CHECK(fabs(m.energy + bi_motion_kinetic(&m) - before) / 13 / 10 < 1e-6); /* eV/atom/ps */
    for (size_t i = 0; i < 39; i++)
        p[i % 3] += m.momentum[i];
    for (int k = 0; k < 3; k++)
        CHECK(fabs(p[k]) < 1e-10);
    bi_motion_close(&m);
    bi_neighbours_free(&lj.near);
}

/* Langevin's thermostat gives its temperature, whatever the start. */
static void keeps_the_temperature(void)
{
    enum { STEPS = 4000 };
    struct lennard_jones lj = argon;
    const struct bi_forces forces = {lennard_jones, &lj};
    struct bi_dynamics d = {
        .dt = 5 * BI_FEMTOSECOND, .temperature = 40, .friction = 0.02 / BI_FEMTOSECOND};
    struct bi_motion m = {0};
    double sum = 0;
    lj.cutoff = 5;
    make_crystal(&m, false);
    bi_random_start(&d.random, BI_RNG_NATIVE, 1, 0);
    CHECK(!lennard_jones(&lj, &m, NULL));
    for (uint64_t step = 1; step <= STEPS; step++) {
        CHECK(!bi_dynamics_step(&d, &m, step, &forces, NULL));
        sum += step > STEPS / 3 ? bi_motion_temperature(&m) : 0;
    }
    sum /= STEPS - STEPS / 3;
    CHECK(fabs(sum - 40) < 2);
    bi_motion_close(&m);
    bi_neighbours_free(&lj.near);
}

/* Random numbers are those of a step: a run that goes on at step 51 gives the same bits. */
static void goes_on_to_the_bit(void)
{
    struct lennard_jones lj = argon;
    const struct bi_forces forces = {lennard_jones, &lj};
    struct bi_dynamics d = {
        .dt = 2 * BI_FEMTOSECOND, .temperature = 30, .friction = 0.001 / BI_FEMTOSECOND};
    struct bi_motion a = {0}, b = {0};
    make_cluster(&a, 0.05);
    make_cluster(&b, 0);
    bi_random_start(&d.random, BI_RNG_NATIVE, 3, 0);
    bi_dynamics_start(&d, &a);
    lennard_jones(&lj, &a, NULL);
    for (uint64_t step = 1; step <= 100; step++) {
        CHECK(!bi_dynamics_step(&d, &a, step, &forces, NULL));
        if (step == 50) {
            memcpy(b.position, a.position, 39 * sizeof *a.position);
            memcpy(b.momentum, a.momentum, 39 * sizeof *a.momentum);
        }
    }
    lennard_jones(&lj, &b, NULL);
    for (uint64_t step = 51; step <= 100; step++)
        CHECK(!bi_dynamics_step(&d, &b, step, &forces, NULL));
    CHECK(!memcmp(a.position, b.position, 39 * sizeof *a.position));
    CHECK(!memcmp(a.momentum, b.momentum, 39 * sizeof *a.momentum));
    bi_motion_close(&a);
    bi_motion_close(&b);
    bi_neighbours_free(&lj.near);
}

static void says_when_it_explodes(void)
{
    struct lennard_jones lj = argon;
    const struct bi_forces forces = {lennard_jones, &lj};
    struct bi_dynamics d = {.dt = 5 * BI_FEMTOSECOND};
    struct bioinfer_error err = {0};
    struct bi_motion m = {0};
    int st = 0;
    uint64_t step = 0;
    make_cluster(&m, 0);
    m.position[0] = 2.6; /* into a neighbour */
    m.position[2] = 1.3;
    lennard_jones(&lj, &m, NULL);
    while (!st && step < 100)
        st = bi_dynamics_step(&d, &m, ++step, &forces, &err);
    CHECK_EQ(st, BIOINFER_NONFINITE);
    CHECK_HAS(err.text, "step ");
    CHECK_HAS(err.text, "fly apart");
    bi_motion_close(&m);
    bi_neighbours_free(&lj.near);
}

/* The minimum of 13 atoms is known: -44.326801 epsilon. */
static void relaxes_a_cluster(void)
{
    struct lennard_jones lj = argon;
    const struct bi_forces forces = {lennard_jones, &lj};
    const struct host_relax r = {.fmax = 1e-5, .steps = 1000};
    struct host_relax few = r;
    struct bi_motion m = {0};
    bool relaxed = false;
    uint64_t steps = 0;
    lj.cutoff = 900;
    make_cluster(&m, 0.3);
    CHECK(!host_relax(&r, &m, &forces, &steps, &relaxed, NULL));
    CHECK(relaxed && steps > 10 && steps < 1000);
    CHECK(bi_motion_largest_force(&m) <= 1e-5);
    CHECK(fabs(m.energy / lj.epsilon + 44.326801) < 1e-5);
    bi_motion_close(&m);
    make_cluster(&m, 0.3);
    few.steps = 5;
    CHECK(!host_relax(&few, &m, &forces, &steps, &relaxed, NULL));
    CHECK(!relaxed && steps == 5);
    few.cell = true;
    CHECK_EQ(host_relax(&few, &m, &forces, &steps, &relaxed, NULL), BIOINFER_INVALID);
    bi_motion_close(&m);
    bi_neighbours_free(&lj.near);
}

/* Fixes two atoms of the cluster, and a component of a third. */
static void hold_some(struct bi_motion *m)
{
    m->held[0] = m->held[3] = BI_HELD_ALL;
    m->held[5] = 2;
    m->n_held = 7;
}

/* Fixed components stay to the bit, and the rest finds the minimum that ASE 3.29 finds by FIRE and
 * by BFGS (FixAtoms and FixCartesian over LennardJones in float64): -0.4551892459 eV. */
static void relaxes_around_what_is_fixed(void)
{
    struct lennard_jones lj = argon;
    const struct bi_forces forces = {lennard_jones, &lj};
    const struct host_relax r = {.fmax = 1e-6, .steps = 5000};
    struct bi_motion m = {0}, first = {0};
    bool relaxed = false;
    uint64_t steps = 0;
    lj.cutoff = 900;
    make_cluster(&m, 0.3);
    make_cluster(&first, 0.3);
    hold_some(&m);
    CHECK(!host_relax(&r, &m, &forces, &steps, &relaxed, NULL));
    CHECK(relaxed && steps > 10);
    CHECK(fabs(m.energy + 0.4551892459) < 1e-8);
    CHECK(bi_motion_largest_force(&m) <= 1e-6); /* on all that moves */
    CHECK(!memcmp(m.position, first.position, 24) &&
          !memcmp(m.position + 9, first.position + 9, 24));
    CHECK(m.position[16] == first.position[16] && m.position[15] != first.position[15]);
    bi_motion_close(&m);
    bi_motion_close(&first);
    bi_neighbours_free(&lj.near);
}

/* Where the cell moves, fixed atoms keep their place in it, as ASE 3.29 has it (UnitCellFilter,
 * FixAtoms): FIRE leads to -2.72101062 eV and 1161.19681 cubic angstrom. */
static void relaxes_a_cell_around_what_is_fixed(void)
{
    struct lennard_jones lj = argon;
    const struct bi_forces forces = {lennard_jones, &lj};
    const struct host_relax r = {.fmax = 1e-6, .cell = true, .steps = 3000};
    struct bi_motion m = {0};
    bool relaxed = false;
    uint64_t steps = 0;
    lj.cutoff = 12;
    make_crystal(&m, false);
    m.position[3] += 0.3;
    m.position[17] -= 0.2;
    m.held[1] = m.held[5] = BI_HELD_ALL;
    m.n_held = 6;
    CHECK(!host_relax(&r, &m, &forces, &steps, &relaxed, NULL));
    CHECK(relaxed);
    CHECK(fabs(m.energy + 2.72101062) < 1e-6);
    CHECK(fabs(bi_cell_volume(m.cell) - 1161.19681) < 0.01);
    for (int c = 0; c < 3; c++) { /* places are those fractions of the cell */
        const double *a = m.cell;
        CHECK(fabs(m.position[3 + c] - (0.3 / 10.6 * a[c] + 0.25 * (a[3 + c] + a[6 + c]))) < 1e-9);
    }
    bi_motion_close(&m);
    bi_neighbours_free(&lj.near);
}

/* Molecular dynamics leaves alone what is fixed, with and without a thermostat: constant energy
 * stays, and the thermostat gives its temperature to what moves. */
static void moves_around_what_is_fixed(void)
{
    struct lennard_jones lj = argon;
    const struct bi_forces forces = {lennard_jones, &lj};
    for (int heat = 0; heat < 2; heat++) {
        struct bi_dynamics d = {.dt = 5 * BI_FEMTOSECOND,
                                .temperature = 30,
                                .friction = heat ? 0.02 / BI_FEMTOSECOND : 0};
        struct bi_motion m = {0}, first = {0};
        double before, most = 0, sum = 0;
        lj.cutoff = 50;
        make_cluster(&m, 0.05);
        make_cluster(&first, 0.05);
        hold_some(&m);
        bi_random_start(&d.random, BI_RNG_NATIVE, 5, 0);
        bi_dynamics_start(&d, &m);
        lennard_jones(&lj, &m, NULL);
        before = m.energy + bi_motion_kinetic(&m);
        for (uint64_t step = 1; step <= 3000; step++) {
            CHECK(!bi_dynamics_step(&d, &m, step, &forces, NULL));
            most = fmax(most, fabs(m.energy + bi_motion_kinetic(&m) - before));
            sum += step > 1000 ? bi_motion_temperature(&m) / 2000 : 0;
        }
        CHECK(heat ? fabs(sum - 30) < 3 : most < 1e-4);
        for (int i = 0; i < 39; i++)
            if (m.held[i / 3] >> i % 3 & 1)
                CHECK(m.position[i] == first.position[i] && m.momentum[i] == 0);
            else
                CHECK(m.position[i] != first.position[i]);
        bi_motion_close(&m);
        bi_motion_close(&first);
    }
    bi_neighbours_free(&lj.near);
}

/* Sums have the order that kernels/fire.h says: one by one up to 256 numbers, in lanes beyond. */
static void adds_up_in_lanes(void)
{
    enum { N = 1000 };
    double x[N], lanes[BI_FIRE_LANES] = {0}, vv[BI_FIRE_LANES] = {0}, ff[BI_FIRE_LANES] = {0};
    double plain = 0, want = 0;
    for (int i = 0; i < N; i++)
        x[i] = sin(i) * exp(20 * cos(3 * i));
    for (int i = 0; i < 256; i++)
        plain += x[i] * x[i];
    bi_fire_add(lanes, vv, ff, 0, x, x, 256);
    CHECK(bi_fire_lanes(lanes, 256) == plain);
    bi_fire_add(lanes, vv, ff, 256, x + 256, x + 256, N - 256);
    for (int lane = 0; lane < 256; lane++) {
        double sum = 0;
        for (int i = lane; i < N; i += 256)
            sum += x[i] * x[i];
        want += sum;
    }
    CHECK(bi_fire_lanes(lanes, N) == want);
    CHECK(bi_fire_lanes(vv, N) == want && bi_fire_lanes(ff, N) == want);
}

/* A pressed and sheared cell becomes that of a face-centred cubic crystal without stress. */
static void relaxes_a_cell(void)
{
    struct lennard_jones lj = argon;
    const struct bi_forces forces = {lennard_jones, &lj};
    const struct host_relax r = {.fmax = 1e-6, .cell = true, .steps = 2000};
    struct bi_motion m = {0};
    bool relaxed = false;
    uint64_t steps = 0;
    lj.cutoff = 12;
    make_crystal(&m, true);
    CHECK(!host_relax(&r, &m, &forces, &steps, &relaxed, NULL));
    CHECK(relaxed);
    for (int i = 0; i < 9; i++)
        CHECK(fabs(m.stress[i]) < 1e-6);
    for (int i = 0; i < 3; i++) { /* three vectors of one length, at 60 degrees to each other */
        const double *a = m.cell + 3 * i, *b = m.cell + 3 * ((i + 1) % 3);
        const double aa = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
        const double ab = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        CHECK(fabs(ab / aa - 0.5) < 1e-3);
        CHECK(fabs(sqrt(aa) / lj.sigma - 1.09) < 0.01);
    }
    bi_motion_close(&m);
    bi_neighbours_free(&lj.near);
}

/* Steps draw the numbers of base/random.h, but for the last bits of a logarithm and a cosine. */
static void draws_as_the_host(void)
{
    struct bi_random r;
    double worst = 0;
    bi_random_start(&r, BI_RNG_NATIVE, 0x123456789abcdefull, 0);
    for (uint64_t step = 4294967000; step < 4294967600; step++)
        for (uint32_t i = 0; i < 40; i++) {
            const double want = bi_random_normal_at(&r, 256 + (uint32_t)(step >> 32),
                                                    (uint32_t)step, i);
            worst = fmax(worst, fabs(bi_motion_normal(r.seed, step, i) - want));
        }
    CHECK(worst < 4e-15);
    CHECK(bi_motion_cos(0) == 1 && bi_motion_cos(0.5) == -1 && bi_motion_cos(0.25) == 0);
    CHECK(bi_motion_log(1) == 0 && fabs(bi_motion_log(0x1p-53) + 53 * log(2)) < 1e-14);
}

int main(void)
{
    TEST(forces_are_derivatives);
    TEST(conserves_energy);
    TEST(keeps_the_temperature);
    TEST(goes_on_to_the_bit);
    TEST(says_when_it_explodes);
    TEST(relaxes_a_cluster);
    TEST(adds_up_in_lanes);
    TEST(relaxes_a_cell);
    TEST(draws_as_the_host);
    TEST(relaxes_around_what_is_fixed);
    TEST(relaxes_a_cell_around_what_is_fixed);
    TEST(moves_around_what_is_fixed);
    return test_report();
}

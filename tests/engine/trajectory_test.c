/* trajectory_test.c - runs that are ended anywhere and taken up give the bytes of whole ones. */
#include <unistd.h>

#include "../../base/file.h"
#include "../test.h"
#include "lennard_jones.h"

enum { N = 5, STEPS = 47, EVERY = 10 };

static struct bi_env env;
static char folder[] = "/tmp/bi_trajectory_XXXXXX";

static void make_atoms(struct bi_motion *m)
{
    static const double x[3 * N] = {0, 0, 0, 3.8, 0, 0, 0, 3.8, 0, 0, 0, 3.8, 3.8, 3.8, 0.1};
    static const int32_t number[N] = {18, 18, 18, 10, 18};
    static const double cell[9] = {9, 0, 0, 0, 9, 0, 0.5, 0, 9};
    const struct bioinfer_atoms frame = {
        .n = N, .numbers = number, .positions = x, .cell = cell, .periodic = {1, 1, 0}};
    CHECK(!bi_motion_open(m, &env, &frame, NULL));
}

static int stop_at;
static uint8_t held; /* the bits of atom 2 */
static bool many;    /* the file is closed between frames: every second time */

/* Makes the steps of a trajectory that is open. */
static int make_steps(struct bi_trajectory *t, const struct bi_dynamics *d,
                      const struct bi_forces *forces, struct bi_motion *m, uint64_t step,
                      struct bioinfer_error *err)
{
    int st = forces->compute(forces->user, m, err);
    if (!st && !t->has_frame)
        st = bi_trajectory_put(t, m, 0, err);
    while (!st && step < t->steps) {
        st = bi_dynamics_step(d, m, ++step, forces, err);
        if (!st && (step % t->every == 0 || step == t->steps))
            st = bi_trajectory_put(t, m, step, err);
        if (!st && (int)step == stop_at)
            st = bi_fail(err, BIOINFER_CANCELLED, "stopped");
    }
    return st;
}

/* Runs to `steps`; stop_at is a step after which the run is ended. */
static int run(const char *path, bool resume, uint64_t steps, const char *words,
               struct bioinfer_error *err)
{
    struct lennard_jones lj = {.epsilon = 0.0104, .sigma = 3.4, .cutoff = 4.5};
    const struct bi_forces forces = {lennard_jones, &lj};
    struct bi_dynamics d = {
        .dt = 2 * BI_FEMTOSECOND, .temperature = 50, .friction = 0.01 / BI_FEMTOSECOND};
    struct bi_trajectory t = {
        .path = path, .run = words, .dt = 2, .steps = steps, .every = EVERY, .many = many};
    struct bi_motion m = {0};
    uint64_t step = 0;
    int st;
    make_atoms(&m);
    m.held[2] = held;
    m.n_held = held == BI_HELD_ALL ? 3 : 0;
    bi_random_start(&d.random, BI_RNG_NATIVE, 11, 0);
    st = bi_trajectory_open(&t, &env, resume, &m, &step, err);
    if (!st && !t.has_frame)
        bi_dynamics_start(&d, &m);
    if (!st)
        st = make_steps(&t, &d, &forces, &m, step, err);
    bi_trajectory_close(&t);
    bi_motion_close(&m);
    bi_neighbours_free(&lj.near);
    many = !many;
    return st;
}

static char *slurp(const char *path, size_t *size)
{
    static char *text;
    CHECK(!bi_file_slurp(&env, path, 1 << 24, &text, size, NULL));
    return text;
}

/* Opens a trajectory for two runs at once, the first of which puts a frame. */
static void check_two_runs(const char *path)
{
    struct bi_trajectory one = {.path = path, .run = "a=1", .steps = 5, .every = 1}, two = one;
    struct bi_motion m = {0};
    struct bioinfer_error err = {0};
    uint64_t step;
    size_t size = 0, after = 0;
    char *text;
    make_atoms(&m);
    for (int i = 0; i < 2; i++) {
        one.many = two.many = i != 0;
        remove(path);
        CHECK(!bi_trajectory_open(&one, &env, true, &m, &step, &err));
        CHECK_EQ(bi_trajectory_open(&two, &env, true, &m, &step, &err), i ? 0 : BIOINFER_IO);
        CHECK_HAS(i ? path : err.text, path);
        CHECK(!bi_trajectory_put(&one, &m, 0, &err));
        bi_free(&env, slurp(path, &size));
        if (i) {
            CHECK_EQ(bi_trajectory_put(&two, &m, 0, &err), BIOINFER_IO);
            CHECK_HAS(err.text, "another run writes it, too");
        }
        bi_trajectory_close(&two); /* the file is not its to remove */
        CHECK(!bi_trajectory_put(&one, &m, 1, &err));
        bi_trajectory_close(&one);
        text = slurp(path, &after);
        CHECK(size && after == 2 * size);
        bi_free(&env, text);
    }
    bi_motion_close(&m);
    remove(path);
}

static void write_part(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (CHECK(f != NULL)) {
        CHECK(fwrite(text, 1, n, f) == n);
        fclose(f);
    }
}

static void check_same(const char *path, const char *want, size_t n)
{
    size_t size = 0;
    char *got = slurp(path, &size);
    CHECK(got && size == n && !memcmp(got, want, n));
    bi_free(&env, got);
}

int main(void)
{
    char whole[64], cut[64], *want;
    struct bioinfer_error err = {0};
    size_t n = 0, first = 0;
    long n_frames = 0;
    env = bi_env_default();
    if (!CHECK(mkdtemp(folder) != NULL))
        return 1;
    snprintf(whole, sizeof whole, "%s/whole.xyz", folder);
    snprintf(cut, sizeof cut, "%s/cut.xyz", folder);
    CHECK(!run(whole, false, STEPS, "a=1", &err));
    want = slurp(whole, &n);
    for (const char *at = want; at && (at = strstr(at, " step=")); at++) {
        n_frames++;
        first = n_frames == 2 ? (size_t)(at - want) : first;
    }
    CHECK_EQ(n_frames, STEPS / EVERY + 2); /* 0, 10, ... 40, and the last step */
    /* the file is there */
    CHECK_EQ(run(whole, false, STEPS, "a=1", &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "--resume");
    CHECK(!run(whole, true, STEPS, "a=1", &err)); /* that makes the last frame again */
    check_same(whole, want, n);
    /* cut behind any byte from the second frame's comment on */
    for (size_t at = first; at <= n; at += at + 40 > n ? 1 : 97) {
        write_part(cut, want, at);
        if (!CHECK(!run(cut, true, STEPS, "a=1", &err)))
            fprintf(stderr, "    cut at %zu of %zu: %s\n", at, n, err.text);
        check_same(cut, want, n);
    }
    /* stopped between frames; a run that was to be shorter; one with nothing there */
    remove(cut);
    stop_at = 25;
    CHECK_EQ(run(cut, true, STEPS, "a=1", &err), BIOINFER_CANCELLED);
    stop_at = 0;
    CHECK(!run(cut, true, 33, "a=1", &err));
    CHECK(!run(cut, true, STEPS, "a=1", &err));
    check_same(cut, want, n);
    /* a file that is not of this run stays as it is, as does one that goes on for longer */
    for (uint64_t steps = 1; steps < STEPS; steps += 13) {
        CHECK_EQ(run(cut, true, steps, "a=1", &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, "already, and this run is to end at step");
        check_same(cut, want, n);
    }
    CHECK_EQ(run(cut, true, STEPS, "a=2", &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "of another run: it has 'a=1', this one 'a=2'");
    check_same(cut, want, n);
    held = BI_HELD_ALL; /* nor one whose atoms were free */
    CHECK_EQ(run(cut, true, STEPS, "a=1", &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "other atoms");
    check_same(cut, want, n);
    remove(cut);
    CHECK(!run(cut, true, 33, "a=1", &err)); /* one that fixes them goes on as it began */
    CHECK(!run(cut, true, STEPS, "a=1", &err));
    held = 0;
    CHECK_EQ(run(cut, true, STEPS, "a=1", &err), BIOINFER_MISMATCH);
    write_part(cut, "1\nx\nH 0 0 0\n", 12);
    CHECK_EQ(run(cut, true, STEPS, "a=1", &err), BIOINFER_MISMATCH);
    CHECK_HAS(err.text, "has no step");
    check_same(cut, "1\nx\nH 0 0 0\n", 12);
    write_part(cut, "hello\n", 6);
    CHECK_EQ(run(cut, true, STEPS, "a=1", &err), BIOINFER_MISMATCH);
    check_same(cut, "hello\n", 6);
    if (want && n > first + 100) { /* a damaged frame between good ones */
        want[strstr(want + first, "\nAr ") - want + 1] = '?';
        write_part(cut, want, n);
        CHECK_EQ(run(cut, true, STEPS, "a=1", &err), BIOINFER_MISMATCH);
        CHECK_HAS(err.text, "damaged frame");
        check_same(cut, want, n);
    }
    check_two_runs(cut);
    bi_free(&env, want);
    remove(cut);
    remove(whole);
    rmdir(folder);
    return test_report();
}

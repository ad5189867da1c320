/* stop_test.c - runs that are to end while the CPU computes, and tasks that are in use meanwhile.
 *
 *     stop_test WEIGHTS
 *
 * Nothing is measured: a launch lasts long as its tasks sleep, and a backend over the CPU's asks
 * at each submission. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../base/team.h"
#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../../kernels/cpu/cpu.h"
#include "../test.h"

/* ---- the backend of the CPU ---- */

enum { N_TASKS = 4000, N_LAUNCHES = 3 };

static _Atomic int n_run, n_asked;
static pthread_t caller;

static int64_t many(const void *params, int n_threads)
{
    (void)params, (void)n_threads;
    return N_TASKS;
}

static void sleep_a_little(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct timespec t = {.tv_nsec = 1000000};
    (void)params, (void)task, (void)n_tasks, (void)scratch;
    n_run++;
    nanosleep(&t, NULL);
}

static int says(void *user)
{
    n_asked++;
    CHECK(pthread_equal(pthread_self(), caller));
    return *(const int *)user;
}

/* Launches of seconds are left when the answer says so, and asked about on the caller's thread. */
static void launches_are_left(void)
{
    static const struct bi_cpu_entry slow = {.name = "slow", .tasks = many, .run = sleep_a_little};
    const struct bi_backend_ops *ops = &bi_backend_cpu;
    const struct bi_device_params params = {.n_threads = 2};
    struct bi_launch launches[N_LAUNCHES] = {
        {.function = &slow}, {.function = &slow}, {.function = &slow}};
    struct bi_program program = {
        .launches = launches, .n_launches = N_LAUNCHES, .bucket = {.n_tokens = 1}};
    const struct bi_counts counts = {.n_tokens = 1};
    struct bi_env env = bi_env_default();
    struct bi_device *device = NULL;
    struct bi_queue *queue = NULL;
    int answer = 1;
    caller = pthread_self();
    if (!CHECK(!bi_team_new(&env.team, &env, NULL)) ||
        !CHECK(!ops->open(&device, &env, &params, NULL)) ||
        !CHECK(!ops->queue_new(&queue, device, NULL)) ||
        !CHECK(!ops->prepare(queue, &program, NULL)))
        return;
    ops->ask(queue, says, &answer);
    CHECK_EQ(ops->submit(queue, 0, &program, &counts, NULL), BIOINFER_CANCELLED);
    CHECK_EQ(n_asked, 1);
    CHECK(n_run < N_TASKS);
    program.n_launches = 1;
    answer = n_run = n_asked = 0; /* on it goes */
    CHECK_EQ(ops->submit(queue, 0, &program, &counts, NULL), 0);
    CHECK(n_asked > 1);
    CHECK_EQ(n_run, N_TASKS);
    ops->ask(queue, NULL, NULL);
    answer = 1;
    n_run = n_asked = 0;
    CHECK_EQ(ops->submit(queue, 0, &program, &counts, NULL), 0);
    CHECK_EQ(n_asked, 0);
    CHECK_EQ(n_run, N_TASKS);
    ops->queue_free(&queue);
    ops->close(&device);
    bi_team_free(&env.team);
}

/* ---- molecular dynamics and relaxations ---- */

static int (*asks)(void *user); /* the queue was told last */
static void *asks_user;
static int n_submits, stop_at; /* the answer of this submission is to stop; 0 = of none */
static bool inside;

static void take_ask(struct bi_queue *queue, int (*ask)(void *user), void *user)
{
    (void)queue;
    asks = ask;
    asks_user = user;
}

static int ask_and_submit(struct bi_queue *queue, int slot, const struct bi_program *program,
                          const struct bi_counts *counts, struct bioinfer_error *err)
{
    int answer = 0;
    n_submits++;
    inside = true;
    if (asks)
        answer = asks(asks_user);
    inside = false;
    return answer ? bi_fail(err, BIOINFER_CANCELLED, "stopped")
                  : bi_backend_cpu.submit(queue, slot, program, counts, err);
}

static int stop(void *user)
{
    (void)user;
    return inside && n_submits == stop_at ? BIOINFER_CANCELLED : 0;
}

static char input[64], output[64];
static bioinfer_context *ctx;
static bioinfer_model *model;
static bioinfer_task *task; /* that runs */

static int take(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    (void)user;
    return result->status ? bi_fail(err, result->status, "%s", result->message) : 0;
}

/* The task of a run is in use, between its steps too. */
static void check_busy(void)
{
    static const int32_t number = 8;
    static const double position[3] = {0};
    const struct bioinfer_atoms atoms = {.n = 1, .numbers = &number, .positions = position};
    const struct bioinfer_record record = {
        .id = "o", .description = "", .sequence = "", .atoms = &atoms};
    CHECK_EQ(bioinfer_task_compute(task, &record, 1, take, NULL, NULL), BIOINFER_MISUSE);
}

static int n_shown;

static int show_md(void *user, const struct bioinfer_md_state *state)
{
    (void)user, (void)state;
    n_shown++;
    check_busy();
    return 0;
}

static int show_relax(void *user, const struct bioinfer_relax_state *state)
{
    (void)user, (void)state;
    n_shown++;
    check_busy();
    return 0;
}

/* Runs the task that was opened, with status st, on the input. */
static int run(int st, struct bioinfer_error *err)
{
    bioinfer_frames *frames = NULL;
    if (!st)
        st = bioinfer_frames_open(&frames, ctx, input, err);
    bioinfer_frames_set_motion(frames, 1);
    if (!st)
        st = bioinfer_task_run(task, bioinfer_frames_source, frames, take, NULL, err);
    bioinfer_frames_close(&frames);
    bioinfer_task_close(&task);
    return st;
}

static int run_md(uint64_t steps, bool resume, int at, struct bioinfer_error *err)
{
    struct bioinfer_md_params p = BIOINFER_PARAMS(
        struct bioinfer_md_params, .steps = steps, .every = 4, .dt = 0.1, .temperature = 10,
        .resume = resume, .trajectory = output, .progress = show_md, .stop = stop);
    n_submits = n_shown = 0;
    stop_at = at;
    return run(bioinfer_md_open(&task, model, &p, err), err);
}

static int run_relax(int at, struct bioinfer_error *err)
{
    struct bioinfer_relax_params p = BIOINFER_PARAMS(struct bioinfer_relax_params, .steps = 40,
                                                     .fmax = 1e-9, .progress = show_relax,
                                                     .stop = stop);
    n_submits = n_shown = 0;
    stop_at = at;
    return run(bioinfer_relax_open(&task, model, &p, err), err);
}

static void runs_are_left(void)
{
    struct bioinfer_error err = {0};
    CHECK_EQ(run_md(12, false, 3, &err), BIOINFER_CANCELLED); /* forces, step 1, steps 2 to 4 */
    CHECK_EQ(n_submits, 3);
    CHECK_EQ(n_shown, 1);
    CHECK_EQ(run_md(12, true, 1, &err), BIOINFER_CANCELLED);
    CHECK_EQ(n_shown, 0);
    CHECK_EQ(run_md(12, true, 0, &err), 0);
    CHECK_EQ(run_md(16, true, 2, &err), BIOINFER_CANCELLED); /* after step 12 */
    CHECK_EQ(run_md(16, true, 0, &err), 0);
    CHECK(n_shown > 1);
    remove(output);
    CHECK_EQ(run_relax(2, &err), BIOINFER_CANCELLED);
    CHECK_EQ(n_submits, 2);
    CHECK_EQ(run_relax(0, &err), 0);
    CHECK(n_shown > 1);
}

/* A run without numbers of its own has 1,000 steps, and a trajectory of every 100th. */
static void runs_have_the_usual_length(void)
{
    static const char key[] = " step=";
    const struct bioinfer_md_params p = BIOINFER_PARAMS(struct bioinfer_md_params,
                                                        .trajectory = output);
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    char *text = NULL;
    size_t size;
    int n = 0;
    FILE *file = fopen(input, "w");
    CHECK(file && fputs("1\ncharge=0\nH 0 0 0\n", file) >= 0 && !fclose(file));
    CHECK_EQ(run(bioinfer_md_open(&task, model, &p, &err), &err), 0);
    CHECK_EQ(bi_file_slurp(&env, output, 1 << 20, &text, &size, NULL), 0);
    for (const char *at = text; at && (at = strstr(at, key)); n++) {
        at += strlen(key);
        CHECK_EQ(atoi(at), 100 * n);
    }
    CHECK_EQ(n, 11);
    bi_free(&env, text);
    remove(output);
}

int main(int argc, char **argv)
{
    struct bi_backend_ops ops = bi_backend_cpu;
    struct bioinfer_error err = {0};
    FILE *file;
    if (argc != 2)
        return 2;
    snprintf(input, sizeof input, "stop_test_%ld.xyz", (long)getpid());
    snprintf(output, sizeof output, "stop_test_%ld.extxyz", (long)getpid());
    launches_are_left();
    ops.ask = take_ask;
    ops.submit = ask_and_submit;
    if (!CHECK((file = fopen(input, "w")) &&
               fputs("3\ncharge=0\nO 0 0 0.12\nH 0 0.76 -0.48\nH 0 -0.76 -0.48\n", file) >= 0 &&
               !fclose(file)) ||
        !CHECK(!bioinfer_context_new(&ctx, NULL, &err)) ||
        !CHECK(!bi_model_open_on(&model, ctx, argv[1], NULL, &ops, &err)))
        fprintf(stderr, "    %s\n", err.text);
    else {
        runs_are_left();
        runs_have_the_usual_length();
    }
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    remove(input);
    return test_report();
}

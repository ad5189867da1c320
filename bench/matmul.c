/* matmul.c - speed of the packed matmul on the shapes of ESM-2, against the arithmetic peak.
 *
 *     matmul [--isa NAME] [--precision NAME] [--threads N] [--rows N] [--seconds S] [--rounds N]
 *            [--cpu-time] [N K]
 *
 * The peak is measured in the same run (probe.c), on as many threads. Probe and kernels take
 * turns, and each number is the fastest of its short runs: other load on the machine can only
 * slow one down. A share of the peak therefore compares two undisturbed runs. On a machine
 * that is never idle for long, --cpu-time counts what the threads spent on a CPU, divided by
 * the number of threads; waiting for each other does not show in that.
 * On AMX the peak is that of bfloat16 products, of which bf16x2 takes 3 and fp32 6 for one of
 * float32: the share counts them, GFLOP/s do not.
 *   plain   y = x w^T                       gelu   y = gelu(x w^T + bias)
 *   res     y = x w^T + bias + residual                                             */
#define _POSIX_C_SOURCE 200809L

#include "base/team.h"
#include "kernels/cpu/cpu.h"
#include "kernels/linear.h"
#include "probe.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLAIN, GELU, RESIDUAL, KINDS };

struct options {
    const char *isa, *precision;
    int threads, rounds;
    long rows, n, k;
    bool cpu_time;
    double seconds; /* one timed run repeats its work for about so long */
};

static const int shapes[][3] = {
    {8, 960, 320},     {8, 320, 320},     {8, 1280, 320},    {8, 320, 1280},
    {35, 1440, 480},   {35, 480, 480},    {35, 1920, 480},   {35, 480, 1920},
    {150, 1920, 640},  {150, 640, 640},   {150, 2560, 640},  {150, 640, 2560},
    {650, 3840, 1280}, {650, 1280, 1280}, {650, 5120, 1280}, {650, 1280, 5120},
};

struct run {
    const struct bi_env *env;
    const struct bi_cpu_entry *entry;
    struct bi_linear_params params;
    int threads;
    bool cpu_time;
    char *scratch;
    size_t scratch_size;
};

static void fail(const char *what)
{
    fprintf(stderr, "matmul: %s\n", what);
    exit(1);
}

static void *allocate(size_t size)
{
    void *p = aligned_alloc(64, (size + 63) & ~(size_t)63);
    if (!p)
        fail("out of memory");
    memset(p, 0, size);
    return p;
}

static float *random_floats(size_t n)
{
    static uint32_t state = 1;
    float *x = allocate(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) / 8388608.0f - 1;
    }
    return x;
}

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Launches of one call, and what its threads add up. */
struct launches {
    const struct run *run;
    int64_t n_tasks, n;
    atomic_llong next;
    double (*probe)(int64_t);
    pthread_mutex_t lock; /* guards sum */
    double sum;
};

static void add(struct launches *l, double x)
{
    pthread_mutex_lock(&l->lock);
    l->sum += x;
    pthread_mutex_unlock(&l->lock);
}

static void run_tasks(void *user, const struct bi_share *share)
{
    struct launches *l = user;
    const struct run *r = l->run;
    double start = thread_seconds();
    void *scratch = r->scratch + (size_t)share->thread * r->scratch_size;
    long long task;
    while ((task = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed)) < l->n)
        r->entry->run(&r->params, task % l->n_tasks, l->n_tasks, scratch);
    add(l, thread_seconds() - start);
}

/* As the backend runs a launch: threads claim tasks. `times` launches in one call; the time
 * of all threads on a CPU. */
static double launch(const struct run *r, int times)
{
    int64_t n_tasks = r->entry->tasks(&r->params, r->threads);
    struct launches l = {
        .run = r, .n_tasks = n_tasks, .n = n_tasks * times, .lock = PTHREAD_MUTEX_INITIALIZER};
    bi_team_run(r->env, r->threads, run_tasks, &l);
    return l.sum;
}

static double time_of(const struct run *r, int times)
{
    double start = now(), used = launch(r, times);
    return (r->cpu_time ? used / r->threads : now() - start) / times;
}

static void run_probe(void *user, const struct bi_share *share)
{
    struct launches *l = user;
    (void)share;
    add(l, l->probe(200000));
}

static double probe(const struct bi_env *env, const char *isa, int threads)
{
    double (*f)(int64_t) = bi_cpu_probe_generic;
#if defined __x86_64__
    if (!strcmp(isa, "avx2"))
        f = bi_cpu_probe_avx2;
    if (!strcmp(isa, "avx512"))
        f = bi_cpu_probe_avx512;
    if (!strcmp(isa, "amx"))
        f = bi_cpu_probe_amx;
#elif defined __aarch64__
    if (!strcmp(isa, "neon"))
        f = bi_cpu_probe_neon;
#endif
    struct launches l = {.probe = f, .lock = PTHREAD_MUTEX_INITIALIZER};
    double start = now();
    bi_team_run(env, threads, run_probe, &l);
    return l.sum / (now() - start);
}

static void measure(const struct bi_env *env, const struct options *o,
                    const struct bi_cpu_kernels *kernels, const struct bi_cpu_entry *entry,
                    int model, int n, int k)
{
    size_t m = (size_t)o->rows;
    float *x = random_floats(m * (size_t)k), *plain = random_floats((size_t)n * (size_t)k);
    float *bias = random_floats((size_t)n), *residual = random_floats(m * (size_t)n);
    float *y = allocate(m * (size_t)n * sizeof *y);
    void *w = allocate(kernels->pack_size(n, k));
    double flops = 2.0 * (double)m * n * k, best[KINDS] = {0}, peak = 0;
    struct bi_counts counts = {.n_tokens = (int32_t)o->rows};
    struct run r = {.env = env, .entry = entry, .threads = o->threads, .cpu_time = o->cpu_time};
    kernels->pack(w, n, k, 0, n, plain);
    r.params = (struct bi_linear_params){.counts = &counts,
                                         .axis = BI_AXIS_TOKENS,
                                         .x = x,
                                         .w = w,
                                         .y = y,
                                         .n = n,
                                         .k = k,
                                         .ldx = k,
                                         .ldy = n,
                                         .ldr = n,
                                         .rows = o->rows};
    r.scratch_size = (entry->scratch_size(&r.params, o->rows, 0) + 63) & ~(size_t)63;
    r.scratch = allocate(r.scratch_size * (size_t)o->threads);
    int times = (int)(o->seconds * 5e10 * o->threads / flops) + 1;
    for (int i = 0; i < o->rounds; i++) {
        double p = probe(env, kernels->name, o->threads);
        peak = p > peak ? p : peak;
        for (int kind = 0; kind < KINDS; kind++) {
            r.params.bias = kind == PLAIN ? NULL : bias;
            r.params.act = kind == GELU ? BI_ACT_GELU : BI_ACT_NONE;
            r.params.residual = kind == RESIDUAL ? residual : NULL;
            double speed = flops / time_of(&r, times);
            best[kind] = speed > best[kind] ? speed : best[kind];
        }
    }
    const int products = strcmp(kernels->name, "amx")         ? 1
                         : strcmp(kernels->precision, "fp32") ? 3
                                                              : 6;
    printf("%4dM %5ld %5d %5d %8.1f", model, o->rows, n, k, peak / 1e9);
    for (int kind = 0; kind < KINDS; kind++)
        printf("  %7.1f %5.1f%%", best[kind] / 1e9, 100 * products * best[kind] / peak);
    printf("\n");
    fflush(stdout);
    free(x), free(plain), free(bias), free(residual), free(y), free(w), free(r.scratch);
}

static void parse(struct options *o, int argc, char **argv)
{
    int sizes = 0;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (a[0] != '-' && sizes < 2)
            *(sizes++ ? &o->k : &o->n) = atol(a);
        else if (!strcmp(a, "--cpu-time"))
            o->cpu_time = true;
        else if (!value)
            fail("usage: matmul [--isa NAME] [--precision NAME] [--threads N] [--rows N] "
                 "[--seconds S] [--rounds N] [--cpu-time] [N K]");
        else if (!strcmp(a, "--precision"))
            o->precision = value, i++;
        else if (!strcmp(a, "--isa"))
            o->isa = value, i++;
        else if (!strcmp(a, "--threads"))
            o->threads = atoi(value), i++;
        else if (!strcmp(a, "--rows"))
            o->rows = atol(value), i++;
        else if (!strcmp(a, "--seconds"))
            o->seconds = atof(value), i++;
        else if (!strcmp(a, "--rounds"))
            o->rounds = atoi(value), i++;
        else
            fail("unknown option");
    }
    if (o->threads < 1 || o->rows < 1 || o->rounds < 1 || (o->n && (o->n < 1 || o->k < 1)))
        fail("sizes must be positive");
}

int main(int argc, char **argv)
{
    struct options o = {.threads = bi_thread_count(), .rounds = 20, .rows = 2048, .seconds = 0.01};
    struct bi_env env = bi_env_default();
    const struct bi_cpu_kernels *kernels;
    const struct bi_cpu_entry *entry;
    char cpu[128];
    parse(&o, argc, argv);
    for (int i = 0; (kernels = bi_cpu_kernels_usable(i)); i++)
        if ((!o.isa || !strcmp(kernels->name, o.isa)) &&
            (!o.precision || !strcmp(kernels->precision, o.precision)))
            break;
    if (!kernels)
        fail("this machine does not run that instruction set in that precision");
    entry = bi_cpu_find_entry(kernels, "linear", NULL);
    if (bi_team_new(&env.team, &env, NULL))
        fail("out of memory");
    bi_cpu_description(cpu, sizeof cpu);
    printf("%s, running %s in %s, %d thread(s); GFLOP/s and share of the probed peak\n", cpu,
           kernels->name, kernels->precision, o.threads);
    printf("model  rows     n     k     peak           plain             gelu         residual\n");
    if (o.n)
        measure(&env, &o, kernels, entry, 0, (int)o.n, (int)o.k);
    for (size_t i = 0; !o.n && i < sizeof shapes / sizeof *shapes; i++)
        measure(&env, &o, kernels, entry, shapes[i][0], shapes[i][1], shapes[i][2]);
    bi_team_free(&env.team);
    return 0;
}

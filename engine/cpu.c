/* cpu.c - the CPU backend: SIMD kernels picked at run time, a team of threads over tasks.
 *
 * A program is one call of the team: threads claim tasks of a launch from a counter, meet
 * at a barrier, go on with the next. Tasks divide output elements only, so results do not
 * depend on the number of threads. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/team.h"
#include "../kernels/cpu/cpu.h"
#include "backend.h"

struct bi_device {
    const struct bi_env *env;
    const struct bi_cpu_kernels *kernels;
    int n_threads;
};

struct bi_queue {
    struct bi_device *device;
    void *scratch; /* n_threads pieces of scratch_size */
    size_t scratch_size;
    struct counter *counters; /* one per launch */
    int n_counters;
    int (*ask)(void *user); /* whether to stop; NULL = never */
    void *ask_user;
    double asked; /* when */
    _Atomic bool stopped;
};

static const double ask_every = 0.25; /* seconds */

/* Alone in its cache line: threads hammer it. */
struct counter {
    _Alignas(BI_ALIGN) _Atomic int64_t next;
};

static int no_kernels(const struct bi_device_params *params, struct bioinfer_error *err)
{
    const char *mask = params->cpu_mask, *refused = bi_cpu_amx_refused();
    const struct bi_cpu_kernels *k, *last = NULL;
    char list[80] = "";
    if (bi_cpu_kernels_choose(mask, NULL))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "precision %s: the %s kernels of this machine compute in fp32%s%s",
                       params->precision, bi_cpu_kernels_choose(mask, NULL)->name,
                       refused ? "; " : "", refused ? refused : "");
    for (int i = 0; (k = bi_cpu_kernels_usable(i)); i++, last = k)
        if (!last || strcmp(k->name, last->name))
            snprintf(list + strlen(list), sizeof list - strlen(list), " %s", k->name);
    return bi_fail(err, BIOINFER_UNSUPPORTED,
                   "this machine has no '%s' kernels; usable here:%s%s%s", mask, list,
                   refused ? "; " : "", refused ? refused : "");
}

static int cpu_open(struct bi_device **out, const struct bi_env *env,
                    const struct bi_device_params *params, struct bioinfer_error *err)
{
    const struct bi_cpu_kernels *k = bi_cpu_kernels_choose(params->cpu_mask, params->precision);
    struct bi_device *d;
    if (!k)
        return no_kernels(params, err);
    if (!(d = bi_zalloc(env, sizeof *d)))
        return bi_fail(err, BIOINFER_NOMEM, "device");
    d->env = env;
    d->kernels = k;
    d->n_threads = params->n_threads;
    *out = d;
    return 0;
}

static void cpu_close(struct bi_device **device)
{
    if (*device)
        bi_free((*device)->env, *device);
    *device = NULL;
}

/* MemAvailable of the system, lowered by the limit of the control group. */
static uint64_t memory_available(uint64_t *total)
{
    uint64_t available = 0, limit = 0, used = 0;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    char line[128];
    unsigned long long v;
    FILE *f = fopen("/proc/meminfo", "re");
    *total = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &v) == 1)
            available = (uint64_t)v << 10;
    if (f)
        fclose(f);
    if ((f = fopen("/sys/fs/cgroup/memory.max", "re"))) {
        if (fscanf(f, "%llu", &v) == 1)
            limit = v;
        fclose(f);
    }
    if ((f = fopen("/sys/fs/cgroup/memory.current", "re"))) {
        if (fscanf(f, "%llu", &v) == 1)
            used = v;
        fclose(f);
    }
    if (limit && limit > used && limit - used < available)
        available = limit - used;
    return available ? available : *total / 2;
}

static void cpu_caps(const struct bi_device *device, struct bi_caps *caps)
{
    *caps = (struct bi_caps){.kernels = device->kernels->name,
                             .precision = device->kernels->precision,
                             .weight_panel = device->kernels->panel(),
                             .gate_block = (int32_t)device->kernels->panel() / 2,
                             .runs = true,
                             .host = true,
                             .traits = BI_TARGET_CPU};
    bi_cpu_description(caps->description, sizeof caps->description - 16);
    snprintf(caps->description + strlen(caps->description), 16, ", %d threads", device->n_threads);
    caps->memory_free = memory_available(&caps->memory_size);
}

static int cpu_alloc(struct bi_device *device, struct bi_buffer *buffer, uint64_t size,
                     struct bioinfer_error *err)
{
    if (!(buffer->ptr = bi_alloc(device->env, (size_t)size)))
        return bi_fail(err, BIOINFER_NOMEM, "%llu bytes of memory", (unsigned long long)size);
    buffer->size = size;
    return 0;
}

static void cpu_free(struct bi_device *device, struct bi_buffer *buffer)
{
    bi_free(device->env, buffer->ptr);
    *buffer = (struct bi_buffer){0};
}

static int cpu_host_alloc(struct bi_device *device, void **ptr, uint64_t size,
                          struct bioinfer_error *err)
{
    *ptr = bi_zalloc(device->env, (size_t)size);
    return *ptr ? 0
                : bi_fail(err, BIOINFER_NOMEM, "%llu bytes of memory for a batch",
                          (unsigned long long)size);
}

static void cpu_host_free(struct bi_device *device, void *ptr)
{
    bi_free(device->env, ptr);
}

static uint64_t cpu_weight_size(const struct bi_device *device, enum bi_layout layout, int64_t n,
                                int64_t k)
{
    return layout == BI_LAYOUT_LINEAR   ? device->kernels->pack_size(n, k)
           : layout == BI_LAYOUT_PANELS ? device->kernels->panels_size(n, k)
                                        : (uint64_t)n * (uint64_t)k * sizeof(float);
}

static int cpu_weight_write(struct bi_device *device, void *dst, enum bi_layout layout, int64_t n,
                            int64_t k, int64_t first, int64_t rows, const float *src,
                            struct bioinfer_error *err)
{
    (void)err;
    if (layout == BI_LAYOUT_LINEAR)
        device->kernels->pack(dst, n, k, first, rows, src);
    else if (layout == BI_LAYOUT_PANELS)
        device->kernels->panels(dst, n, k, first, rows, src);
    else
        memcpy((float *)dst + first * k, src, (size_t)(rows * k) * sizeof *src);
    return 0;
}

static const struct bi_cpu_entry *entry_of(const struct bi_device *device,
                                           const struct bi_launch *launch)
{
    const struct bi_call call = bi_launch_call(launch, 0);
    return bi_cpu_find_entry(device->kernels, launch->entry, &call);
}

static bool cpu_takes(const struct bi_device *device, const struct bi_launch *launch)
{
    return entry_of(device, launch) != NULL;
}

static int cpu_module(struct bi_device *device, struct bi_launch *launches, int n,
                      struct bioinfer_error *err)
{
    for (int i = 0; i < n; i++)
        if (!(launches[i].function = entry_of(device, &launches[i])))
            return bi_fail(err, BIOINFER_INTERNAL, "no %s kernel takes a launch of '%s'",
                           device->kernels->name, launches[i].entry);
    return 0;
}

static int cpu_queue_new(struct bi_queue **out, struct bi_device *device,
                         struct bioinfer_error *err)
{
    struct bi_queue *q = bi_zalloc(device->env, sizeof *q);
    if (!q)
        return bi_fail(err, BIOINFER_NOMEM, "queue");
    q->device = device;
    *out = q;
    return 0;
}

static void cpu_queue_free(struct bi_queue **queue)
{
    struct bi_queue *q = *queue;
    if (!q)
        return;
    bi_free(q->device->env, q->scratch);
    bi_free(q->device->env, q->counters);
    bi_free(q->device->env, q);
    *queue = NULL;
}

static int cpu_prepare(struct bi_queue *q, struct bi_program *program, struct bioinfer_error *err)
{
    const struct bi_env *env = q->device->env;
    size_t need = BI_ALIGN;
    for (int i = 0; i < program->n_launches; i++) {
        const struct bi_launch *l = &program->launches[i];
        const struct bi_cpu_entry *e = l->function;
        size_t size = e->scratch_size ? e->scratch_size(l->params, program->bucket.n_tokens,
                                                        program->bucket.longest)
                                      : 0;
        if (size > need)
            need = size;
    }
    need = (need + 4095) & ~(size_t)4095; /* threads on pages of their own */
    /* the old memory goes only when the new is there: programs made ready before need it */
    if (need > q->scratch_size) {
        void *scratch = bi_calloc(env, (size_t)q->device->n_threads, need);
        if (!scratch)
            return bi_fail(err, BIOINFER_NOMEM, "%zu bytes of scratch for each of %d threads", need,
                           q->device->n_threads);
        bi_free(env, q->scratch);
        q->scratch = scratch;
        q->scratch_size = need;
    }
    if (program->n_launches > q->n_counters) {
        struct counter *counters = bi_calloc(env, (size_t)program->n_launches, sizeof *counters);
        if (!counters)
            return bi_fail(err, BIOINFER_NOMEM, "counters of %d launches", program->n_launches);
        bi_free(env, q->counters);
        q->counters = counters;
        q->n_counters = program->n_launches;
    }
    return 0;
}

static int cpu_copy(struct bi_queue *queue, int slot, void *dst, const void *src, uint64_t size,
                    struct bioinfer_error *err)
{
    (void)queue;
    (void)slot;
    (void)err;
    memcpy(dst, src, (size_t)size);
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Is the program to be left? Thread 0, which is the caller's, asks, and not again once it is; all
 * see the answer behind the barrier of the launch at hand. */
static bool is_stopped(struct bi_queue *q, const struct bi_share *share)
{
    int (*const ask)(void *user) = q->ask;
    if (!ask)
        return false;
    if (atomic_load_explicit(&q->stopped, memory_order_relaxed))
        return true;
    if (share->thread || !(now() - q->asked > ask_every))
        return false;
    const bool stop = ask(q->ask_user) != 0;
    if (stop)
        atomic_store_explicit(&q->stopped, true, memory_order_relaxed);
    q->asked = now();
    return stop;
}

/* Does one thread's work: launches [first, end), its share of tasks, a barrier after each. How many
 * tasks a launch has is asked behind the launches before it, which may have set counts. In a loop
 * thread 0 winds a counter back behind the barrier that ends its launch; nobody reads it before
 * the barrier of the next one. */
static void run_launches(struct bi_queue *q, const struct bi_program *program, int first, int end,
                         const struct bi_share *share, double *before)
{
    void *scratch = (char *)q->scratch + (size_t)share->thread * q->scratch_size;
    bool loop = program->launches[first].phase & 1;
    for (int i = first; i < end; i++) {
        const struct bi_launch *l = &program->launches[i];
        const struct bi_cpu_entry *e = l->function;
        int64_t task, n = e->tasks(l->params, q->device->n_threads);
        while (!is_stopped(q, share) && (task = atomic_fetch_add_explicit(
                                             &q->counters[i].next, 1, memory_order_relaxed)) < n)
            e->run(l->params, task, n, scratch);
        bi_team_barrier(share);
        if (loop && !share->thread)
            atomic_store_explicit(&q->counters[i].next, 0, memory_order_relaxed);
        if (before) {
            double after = now();
            program->seconds[i] += after - *before;
            *before = after;
        }
    }
    if (loop && end - first == 1)
        bi_team_barrier(share);
}

static int cpu_copy_kept(struct bi_queue *queue, enum bi_copy_way way, void *dst, const void *src,
                         uint64_t size, struct bioinfer_error *err)
{
    (void)way;
    return cpu_copy(queue, 0, dst, src, size, err);
}

struct submit {
    struct bi_queue *queue;
    const struct bi_program *program;
    const struct bi_counts *counts; /* the host's: launches may change the device's own */
};

static void run_thread(void *user, const struct bi_share *share)
{
    const struct submit *s = user;
    const struct bi_program *program = s->program;
    const bool timed = program->seconds && !share->thread;
    double before = timed ? now() : 0;
    for (int first = 0, end; first < program->n_launches; first = end) {
        const struct bi_launch *l = &program->launches[first];
        const int32_t trips = l->phase & 1 ? bi_counter_value(s->counts, l->trips) : 1;
        for (end = first + 1;
             end < program->n_launches && program->launches[end].phase == l->phase;)
            end++;
        for (int32_t trip = 0; trip < trips; trip++)
            run_launches(s->queue, program, first, end, share, timed ? &before : NULL);
    }
}

static int cpu_submit(struct bi_queue *q, int slot, const struct bi_program *program,
                      const struct bi_counts *counts, struct bioinfer_error *err)
{
    struct submit s = {q, program, counts};
    (void)slot;
    q->asked = now();
    atomic_store_explicit(&q->stopped, false, memory_order_relaxed);
    for (int i = 0; i < program->n_launches; i++)
        atomic_store_explicit(&q->counters[i].next, 0, memory_order_relaxed);
    bi_team_run(q->device->env, q->device->n_threads, run_thread, &s);
    return q->stopped ? bi_fail(err, BIOINFER_CANCELLED, "stopped") : 0;
}

static void cpu_ask(struct bi_queue *q, int (*ask)(void *user), void *user)
{
    q->ask = ask;
    q->ask_user = user;
}

static int cpu_wait(struct bi_queue *queue, int slot, struct bioinfer_error *err)
{
    (void)queue;
    (void)slot;
    (void)err;
    return 0;
}

const struct bi_backend_ops bi_backend_cpu = {
    .abi = BI_BACKEND_ABI,
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .caps = cpu_caps,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .weight_size = cpu_weight_size,
    .weight_write = cpu_weight_write,
    .takes = cpu_takes,
    .module = cpu_module,
    .queue_new = cpu_queue_new,
    .queue_free = cpu_queue_free,
    .prepare = cpu_prepare,
    .upload = cpu_copy,
    .submit = cpu_submit,
    .download = cpu_copy,
    .copy = cpu_copy_kept,
    .wait = cpu_wait,
    .ask = cpu_ask,
};

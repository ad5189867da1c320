/* emu.c - fibers, barriers and waves of the host emulation; see emu.h.
 *
 * Sections: switching stacks, state, scheduling, waves and barriers, shared memory and copies,
 * launches, the machine of a thread. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "emu.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#endif
#if defined SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define STACK_SIZE ((size_t)256 << 10)
#else
#define STACK_SIZE ((size_t)128 << 10)
#endif
/* From one stack to the next. At a power of two they would share a few sets of each cache. */
#define STACK_STRIDE (STACK_SIZE + 17 * 64)

enum {
    MAX_THREADS = 1024,
    MAX_WAVES = 32,
    MAX_WAVE = 64,
    SLOT = 160, /* bytes a lane may bring to a meeting */
    MAX_COPIES = 128,
    MAX_SHARED = 256 << 10,
    CANARY = 512,
    UNTOUCHED = 64 /* bytes at the end of each stack, all 0x5a */
};

/* ---- switching stacks ---- */

#if defined __x86_64__
/* Saves the callee-saved registers and the stack pointer, takes those of the other. */
void bi_emu_switch(void **save, void *load);
__asm__(".text\n"
        ".hidden bi_emu_switch\n"
        ".globl bi_emu_switch\n"
        ".type bi_emu_switch, @function\n"
        "bi_emu_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size bi_emu_switch, . - bi_emu_switch\n");

struct context {
    void *sp;
};

static void context_start(struct context *c, void *stack, size_t size, void (*entry)(void))
{
    void **sp = (void **)((char *)stack + size);
    *--sp = NULL; /* where entry() would return to; keeps the stack aligned for it */
    memcpy(--sp, &entry, sizeof entry);
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    c->sp = sp;
}

static void context_switch(struct context *save, struct context *load)
{
    bi_emu_switch(&save->sp, load->sp);
}
#else
struct context {
    ucontext_t u;
};

static void context_start(struct context *c, void *stack, size_t size, void (*entry)(void))
{
    getcontext(&c->u);
    c->u.uc_stack.ss_sp = stack;
    c->u.uc_stack.ss_size = size;
    c->u.uc_link = NULL;
    makecontext(&c->u, entry, 0);
}

static void context_switch(struct context *save, struct context *load)
{
    swapcontext(&save->u, &load->u);
}
#endif

/* ---- state ---- */

enum state { READY, IN_WAVE, AT_BARRIER, DONE };

struct copy {
    void *to;
    const void *from;
    int bytes, group;
};

struct fiber {
    struct bi_emu_thread self; /* first: bi_emu_self points here */
    struct context context;
    enum state state;
    unsigned meetings;
    int commits; /* groups closed so far */
    int n_copies;
    struct copy copies[MAX_COPIES];
    void *fake_stack; /* the sanitizer's */
};

struct wave {
    int arrived;
    size_t size;
    void (*last)(void *all);
    _Alignas(64) unsigned char slots[2][MAX_WAVE * SLOT]; /* by parity of the meeting */
};

struct machine {
    const struct bi_emu_launch *launch;
    const char *error;
    uint64_t random;
    struct context scheduler;
    void *scheduler_fake_stack;
    const void *scheduler_stack;
    size_t scheduler_stack_size;
    unsigned char *stacks, *shared;
    int n_stacks;
    size_t shared_size; /* as the kernel asked for it */
    struct fiber fibers[MAX_THREADS];
    struct wave waves[MAX_WAVES];
};

_Thread_local struct bi_emu_thread *bi_emu_self;
static _Thread_local struct machine *machine;

static uint64_t next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- scheduling ---- */

static struct fiber *self(void)
{
    return (struct fiber *)bi_emu_self;
}

static void to_scheduler(struct fiber *f)
{
#if defined SANITIZED
    __sanitizer_start_switch_fiber(f->state == DONE ? NULL : &f->fake_stack,
                                   machine->scheduler_stack, machine->scheduler_stack_size);
#endif
    context_switch(&f->context, &machine->scheduler);
#if defined SANITIZED
    __sanitizer_finish_switch_fiber(f->fake_stack, NULL, NULL);
#endif
}

/* Gives the processor to the next lane of the wave that can run, in the order of run_wave(), else
 * to the scheduler. */
static void pass_on(struct fiber *f)
{
#if !defined SANITIZED /* it would have to know which stack each one comes from */
    const int wave = machine->launch->wave, at = f->self.thread % wave;
    struct fiber *lanes = f - at;
    for (int i = at + 1; i < at + wave && !machine->error; i++) {
        struct fiber *next = &lanes[i < wave ? i : i - wave];
        if (next->state == READY) {
            bi_emu_self = &next->self;
            context_switch(&f->context, &next->context);
            return;
        }
    }
#endif
    to_scheduler(f);
}

static void fail(const char *error)
{
    if (!machine->error)
        machine->error = error;
    to_scheduler(self()); /* which gives up, so this does not return */
}

static void to_fiber(struct fiber *f)
{
    bi_emu_self = &f->self;
#if defined SANITIZED
    __sanitizer_start_switch_fiber(&machine->scheduler_fake_stack,
                                   machine->stacks + (size_t)f->self.thread * STACK_STRIDE,
                                   STACK_SIZE);
#endif
    context_switch(&machine->scheduler, &f->context);
#if defined SANITIZED
    __sanitizer_finish_switch_fiber(machine->scheduler_fake_stack, NULL, NULL);
#endif
    bi_emu_self = NULL;
}

static void fiber_main(void)
{
    struct fiber *f = self();
#if defined SANITIZED
    __sanitizer_finish_switch_fiber(NULL, &machine->scheduler_stack,
                                    &machine->scheduler_stack_size);
#endif
    machine->launch->run(machine->launch->params);
    if (f->n_copies)
        fail("a thread ended before its asynchronous copies");
    f->state = DONE;
    pass_on(f);
}

/* Runs what can run of one wave. False: nothing could. */
static bool run_wave(int w)
{
    const int wave = machine->launch->wave;
    bool any = false;
    for (bool again = true; again && !machine->error;) {
        again = false;
        for (int i = 0; i < wave && !machine->error; i++) {
            struct fiber *f = &machine->fibers[w * wave + i];
            if (f->state != READY)
                continue;
            to_fiber(f);
            any = again = true;
        }
    }
    return any;
}

static void run_block(void)
{
    struct machine *m = machine;
    const int block = m->launch->block, n_waves = block / m->launch->wave;
    int done = 0;
    memset(m->shared, 0xff, m->shared_size + CANARY); /* the block before wrote no further */
    m->shared_size = 0;
    for (int w = 0; w < n_waves; w++)
        m->waves[w].arrived = 0;
    while (done < block && !m->error) {
        int order[MAX_WAVES], waiting = 0;
        bool any = false;
        for (int w = 0; w < n_waves; w++) {
            const int j = (int)(next(&m->random) % (unsigned)(w + 1));
            order[w] = order[j];
            order[j] = w;
        }
        for (int w = 0; w < n_waves && !m->error; w++)
            any = run_wave(order[w]) || any;
        done = 0;
        for (int t = 0; t < block; t++) {
            done += m->fibers[t].state == DONE;
            waiting += m->fibers[t].state == AT_BARRIER;
        }
        if (m->error || done == block)
            break;
        if (waiting == block)
            for (int t = 0; t < block; t++)
                m->fibers[t].state = READY;
        else if (!any)
            m->error = waiting + done == block ? "a barrier that some threads do not reach"
                                               : "a wave whose lanes do not all meet";
    }
    for (size_t i = 0; i < CANARY && !m->error; i++)
        if (m->shared[m->shared_size + i] != 0xff)
            m->error = "a write behind the end of shared memory";
}

/* ---- waves and barriers ---- */

const void *bi_emu_meet(const void *mine, size_t size, int lane, void (*last)(void *all))
{
    struct fiber *f = self();
    const int wave = machine->launch->wave, index = f->self.thread / wave;
    struct wave *w = &machine->waves[index];
    unsigned char *slots = w->slots[f->meetings++ & 1];
    if (size > SLOT || lane < 0 || lane >= wave)
        fail("a lane outside the wave");
    if (w->arrived && (w->last != last || w->size != size))
        fail("lanes of a wave meet in different operations");
    w->last = last;
    w->size = size;
    memcpy(slots + (size_t)(f->self.thread % wave) * size, mine, size);
    if (++w->arrived == wave) {
        w->arrived = 0;
        if (last)
            last(slots);
        for (int i = 0; i < wave; i++)
            machine->fibers[index * wave + i].state = READY;
    } else {
        f->state = IN_WAVE;
        pass_on(f);
    }
    return slots + (size_t)lane * size;
}

void bi_emu_barrier(void)
{
    struct fiber *f = self();
    f->state = AT_BARRIER;
    pass_on(f);
}

/* ---- shared memory and copies ---- */

void *bi_emu_shared(size_t size)
{
    if (size > (size_t)machine->launch->shared_size)
        fail("the kernel needs more shared memory than the launch grants");
    machine->shared_size = size;
    return machine->shared;
}

void bi_emu_copy(void *to, const void *from, int bytes)
{
    struct fiber *f = self();
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16)
        fail("an asynchronous copy that is not aligned");
    if (f->n_copies == MAX_COPIES)
        fail("too many asynchronous copies at once");
    f->copies[f->n_copies++] = (struct copy){to, from, bytes, f->commits};
}

void bi_emu_commit(void)
{
    self()->commits++;
}

void bi_emu_wait(int groups)
{
    struct fiber *f = self();
    int kept = 0;
    for (int i = 0; i < f->n_copies; i++) {
        const struct copy *c = &f->copies[i];
        if (c->group >= f->commits - groups) {
            f->copies[kept++] = *c;
            continue;
        }
        memset(c->to, 0, 16);
        memcpy(c->to, c->from, (size_t)c->bytes);
    }
    f->n_copies = kept;
}

int bi_emu_flushes(void)
{
    return machine->launch->flushes;
}

/* ---- launches ---- */

static void start_block(int32_t x, int32_t y)
{
    for (int t = 0; t < machine->launch->block; t++) {
        struct fiber *f = &machine->fibers[t];
        unsigned char *stack = machine->stacks + (size_t)t * STACK_STRIDE;
        f->self = (struct bi_emu_thread){t, {x, y}};
        f->state = READY;
        f->meetings = 0;
        f->commits = f->n_copies = 0;
        f->fake_stack = NULL;
#if defined SANITIZED
        __asan_unpoison_memory_region(stack, STACK_SIZE); /* frames of the last block */
#endif
        memset(stack, 0x5a, UNTOUCHED);
        context_start(&f->context, stack, STACK_SIZE, fiber_main);
    }
}

static void check_stacks(void)
{
    unsigned char untouched[UNTOUCHED];
    memset(untouched, 0x5a, sizeof untouched);
    for (int t = 0; t < machine->launch->block && !machine->error; t++)
        if (memcmp(machine->stacks + (size_t)t * STACK_STRIDE, untouched, sizeof untouched))
            machine->error = "a stack overflow";
}

/* ---- the machine of a thread, which its next launch uses again ---- */

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

static void machine_free(void *machine_of)
{
    struct machine *m = machine_of;
    if (m && m->stacks)
        munmap(m->stacks, (size_t)m->n_stacks * STACK_STRIDE);
    if (m)
        free(m->shared);
    free(m);
}

static void make_key(void)
{
    has_key = !pthread_key_create(&key, machine_free);
}

/* A thread may outlive this code, which is in libraries that are closed. */
static void __attribute__((destructor)) drop_key(void)
{
    if (!has_key)
        return;
    machine_free(pthread_getspecific(key));
    pthread_key_delete(key);
}

/* Gives it with so many stacks, or NULL: no memory. */
static struct machine *machine_of_thread(int n_stacks)
{
    struct machine *m;
    void *stacks;
    pthread_once(&once, make_key);
    if (!has_key)
        return NULL;
    if (!(m = pthread_getspecific(key))) {
        m = aligned_alloc(_Alignof(struct machine), sizeof *m);
        if (m)
            memset(m, 0, sizeof *m);
        if (!m || !(m->shared = aligned_alloc(128, MAX_SHARED + CANARY)) ||
            pthread_setspecific(key, m)) {
            machine_free(m);
            return NULL;
        }
        memset(m->shared, 0xff, MAX_SHARED + CANARY);
    }
    if (m->n_stacks < n_stacks) {
        stacks = mmap(NULL, (size_t)n_stacks * STACK_STRIDE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stacks == MAP_FAILED)
            return NULL;
        if (m->stacks)
            munmap(m->stacks, (size_t)m->n_stacks * STACK_STRIDE);
        m->stacks = stacks;
        m->n_stacks = n_stacks;
    }
    return m;
}

const char *bi_emu_run(const struct bi_emu_launch *launch)
{
    const int64_t n = (int64_t)launch->grid[0] * launch->grid[1];
    struct machine *m;
    if (launch->block < 1 || launch->block > MAX_THREADS || launch->block % launch->wave ||
        launch->block / launch->wave > MAX_WAVES || launch->shared_size > MAX_SHARED)
        return "a launch of a shape that no device has";
    if (!(m = machine_of_thread(launch->block)))
        return "no memory for the emulation";
    m->launch = launch;
    m->error = NULL;
    m->random = launch->seed;
    machine = m;
    /* from a random block on, forwards or backwards */
    const int64_t first = n ? (int64_t)(next(&m->random) % (uint64_t)n) : 0;
    const bool back = next(&m->random) & 1;
    for (int64_t i = 0; i < n && !m->error; i++) {
        const int64_t at = (first + (back ? n - i : i)) % n;
        start_block((int32_t)(at % launch->grid[0]), (int32_t)(at / launch->grid[0]));
        run_block();
        check_stacks();
    }
    machine = NULL;
    return m->error;
}

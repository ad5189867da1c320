/* fault.c - the one file by which bioinfer-faults differs from bioinfer: its workers meet the fault
 * that BIOINFER_WORKER_FAULT names, KIND:ID at record ID or KIND:* at every one.
 *
 *     crash    a segmentation fault
 *     hang     for ever
 *     lost     what a driver reports when its device has gone
 *     illegal  a kernel that writes where there is no memory: CUDA's own error 700, on the device
 *
 * BIOINFER_NO_WORKER=DEVICE: each worker of this device ends, with exit status 3, before it is
 * ready. BIOINFER_NO_MEMFD=1: there is no shared memory, BIOINFER_NO_MEMFD=N: of N bytes at most.
 * BIOINFER_KILL_AT_RENAME=N ends the process by SIGKILL when it is about to give a file or folder
 * its name for the Nth time. BIOINFER_KILL_AT_CALL=N does so at the Nth point of all writes,
 * syncs, cuts, renames and removals of files: each has one before it and one behind it, a write
 * also one where half of it is done; BIOINFER_STOP_AT_CALL=N stops the process there until SIGCONT
 * comes. BIOINFER_COUNT_CALLS=FILE: the number of these points is written there when the process
 * exits. BIOINFER_FAST_CLOCK=1: every look at the clock is 40 seconds after the one before it, so
 * that a journal commits whenever it is asked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../cli/pool/worker.h"

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry fault()\n{\n.reg .b64 %a;\n.reg .b32 %v;\n"
                          "mov.u64 %a, 8;\nmov.u32 %v, 1;\nst.global.u32 [%a], %v;\nret;\n}\n";

/* Launches it on every device that this process computes on, and waits for nothing. */
static int touch_nothing(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *entry;
    int (*init)(unsigned), (*count)(int *), (*state)(int, unsigned *, int *);
    int (*retain)(void **, int), (*push)(void *), (*load)(void **, const void *);
    int (*function)(void **, void *, const char *), (*pop)(void **);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    const struct {
        const char *name;
        void *to;
    } calls[] = {{"cuInit", &init},
                 {"cuDeviceGetCount", &count},
                 {"cuDevicePrimaryCtxGetState", &state},
                 {"cuDevicePrimaryCtxRetain", &retain},
                 {"cuCtxPushCurrent_v2", &push},
                 {"cuModuleLoadData", &load},
                 {"cuModuleGetFunction", &function},
                 {"cuLaunchKernel", &launch},
                 {"cuCtxPopCurrent_v2", &pop}};
    int n = 0, n_touched = 0;
    for (size_t i = 0; cuda && i < sizeof calls / sizeof *calls; i++) {
        void *call = dlsym(cuda, calls[i].name);
        if (!call)
            return -1;
        memcpy(calls[i].to, &call, sizeof call);
    }
    if (!cuda || init(0) || count(&n))
        return -1;
    for (int device = 0; device < n; device++) {
        unsigned flags;
        int active = 0;
        if (state(device, &flags, &active) || !active)
            continue;
        if (retain(&context, device) || push(context) || load(&module, ptx) ||
            function(&entry, module, "fault") ||
            launch(entry, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) || pop(&context))
            return -1;
        n_touched++;
    }
    return n_touched ? 0 : -1;
}

static int meet(const char *id, struct bioinfer_error *err)
{
    const char *fault = getenv("BIOINFER_WORKER_FAULT");
    const char *which = fault ? strchr(fault, ':') : NULL;
    if (!which || (strcmp(which + 1, id) && strcmp(which + 1, "*")))
        return 0;
    if (!strncmp(fault, "crash:", 6))
        raise(SIGSEGV);
    if (!strncmp(fault, "hang:", 5))
        for (;;)
            pause();
    if (!strncmp(fault, "illegal:", 8) && !touch_nothing())
        return 0; /* the computing that follows finds out */
    snprintf(err->text, sizeof err->text, "an injected device fault");
    return strncmp(fault, "lost:", 5) ? BIOINFER_INTERNAL : BIOINFER_DEVICE_LOST;
}

/* Whether this process is a worker of the device, by its first argument: --worker=DEVICE/... */
static int is_worker_of(const char *device)
{
    char words[PATH_MAX + 256], want[64];
    FILE *f = fopen("/proc/self/cmdline", "r");
    const size_t n = f ? fread(words, 1, sizeof words - 1, f) : 0;
    const int n_want = snprintf(want, sizeof want, "--worker=%s/", device);
    const char *first = words;
    if (f)
        fclose(f);
    words[n] = '\0';
    first += strlen(words) + 1;
    return first < words + n && !strncmp(first, want, (size_t)n_want);
}

static void __attribute__((constructor)) set(void)
{
    const char *device = getenv("BIOINFER_NO_WORKER");
    cli_worker_meets = meet;
    if (device && is_worker_of(device))
        _exit(3);
}

/* ---- calls on files: these stand before the C library's ---- */

static int n_points;

/* Whether points are counted. */
static int has_points(void)
{
    return getenv("BIOINFER_KILL_AT_CALL") || getenv("BIOINFER_STOP_AT_CALL") ||
           getenv("BIOINFER_COUNT_CALLS");
}

static void point(void)
{
    const char *end = getenv("BIOINFER_KILL_AT_CALL"), *stop = getenv("BIOINFER_STOP_AT_CALL");
    if (!has_points())
        return;
    n_points++;
    if (end && n_points == atoi(end))
        kill(getpid(), SIGKILL);
    if (stop && n_points == atoi(stop))
        kill(getpid(), SIGSTOP);
}

static void __attribute__((destructor)) say_points(void)
{
    const char *to = getenv("BIOINFER_COUNT_CALLS");
    FILE *f = to ? fopen(to, "w") : NULL;
    if (!f)
        return;
    fprintf(f, "%d\n", n_points);
    fclose(f);
}

int memfd_create(const char *name, unsigned flags)
{
    const char *none = getenv("BIOINFER_NO_MEMFD");
    if (none && atoi(none) == 1) {
        errno = ENOSYS;
        return -1;
    }
    return (int)syscall(SYS_memfd_create, name, flags);
}

static int is_file(int fd)
{
    struct stat st;
    return !fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    ssize_t done = 0, rest;
    if (!has_points() || !is_file(fd))
        return syscall(SYS_write, fd, bytes, n);
    point();
    if (n > 1 && (done = syscall(SYS_write, fd, bytes, n / 2)) < 0)
        return done;
    point();
    if ((rest = syscall(SYS_write, fd, (const char *)bytes + done, n - (size_t)done)) < 0)
        return rest;
    point();
    return done + rest;
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    const char *room = getenv("BIOINFER_NO_MEMFD");
    struct stat file; /* one without a name is shared memory */
    ssize_t done = 0, rest;
    if (room && !fstat(fd, &file) && !file.st_nlink && at + (off_t)n > atoi(room)) {
        errno = ENOSPC;
        return -1;
    }
    if (!has_points() || !is_file(fd))
        return syscall(SYS_pwrite64, fd, bytes, n, at);
    point();
    if (n > 1 && (done = syscall(SYS_pwrite64, fd, bytes, n / 2, at)) < 0)
        return done;
    point();
    rest = syscall(SYS_pwrite64, fd, (const char *)bytes + done, n - (size_t)done, at + done);
    if (rest < 0)
        return rest;
    point();
    return done + rest;
}

/* The result of a system call with a point before it and one behind it. */
#define POINTS(call)                                                                               \
    do {                                                                                           \
        long result;                                                                               \
        point();                                                                                   \
        result = (call);                                                                           \
        point();                                                                                   \
        return (int)result;                                                                        \
    } while (0)

int fsync(int fd)
{
    POINTS(syscall(SYS_fsync, fd));
}

int fdatasync(int fd)
{
    POINTS(syscall(SYS_fdatasync, fd));
}

int ftruncate(int fd, off_t size)
{
    POINTS(syscall(SYS_ftruncate, fd, size));
}

int unlink(const char *path)
{
    POINTS(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    static _Atomic long n;
    int st = (int)syscall(SYS_clock_gettime, clock, t);
    if (clock == CLOCK_MONOTONIC && getenv("BIOINFER_FAST_CLOCK"))
        t->tv_sec += 40 * ++n;
    return st;
}

static void count_rename(void)
{
    const char *at = getenv("BIOINFER_KILL_AT_RENAME");
    static int n;
    if (at && ++n == atoi(at))
        kill(getpid(), SIGKILL);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    count_rename();
    POINTS(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int rename(const char *from, const char *to)
{
    count_rename();
    POINTS(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

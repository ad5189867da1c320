/* fault.c - the one file by which bioinfer-faults differs from bioinfer: its workers meet the fault
 * that BIOINFER_WORKER_FAULT names, KIND:ID at record ID or KIND:* at every one.
 *
 *     crash    a segmentation fault
 *     hang     for ever
 *     lost     what a driver reports when its device has gone
 *     illegal  a kernel that writes where there is no memory: CUDA's own error 700, on the device
 *
 * BIOINFER_KILL_AT_RENAME=N ends the process by SIGKILL when it is about to give a file or folder its name
 * for the Nth time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../cli/worker.h"

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
    } calls[] = {{"cuInit", &init},         {"cuDeviceGetCount", &count},
                 {"cuDevicePrimaryCtxGetState", &state}, {"cuDevicePrimaryCtxRetain", &retain},
                 {"cuCtxPushCurrent_v2", &push}, {"cuModuleLoadData", &load},
                 {"cuModuleGetFunction", &function}, {"cuLaunchKernel", &launch},
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

static void __attribute__((constructor)) set(void)
{
    cli_worker_meets = meet;
}

/* ---- renames: these stand before the C library's ---- */

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
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int rename(const char *from, const char *to)
{
    count_rename();
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* driver.c - loading a driver library; words and status of its error codes. */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The first of the names that opens; NULL = none does. folder NULL: where the loader looks. */
static void *open_any(const char *const *names, const char *folder, int flags, const char **name)
{
    char path[4096];
    void *library = NULL;
    for (size_t i = 0; !library && names[i]; i++) {
        const int n = folder ? snprintf(path, sizeof path, "%s/%s", folder, names[i]) : 0;
        *name = names[i];
        if (n >= 0 && n < (int)sizeof path)
            library = dlopen(folder ? path : names[i], flags | RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

int bi_driver_load(void **library, void *table, const struct bi_driver_library *what,
                   const struct bi_driver_symbol *symbols, size_t n, int ordinal,
                   struct bioinfer_error *err)
{
    const char *driver = what->driver, *name = NULL;
    *library = open_any(what->names, NULL, RTLD_NOLOAD, &name);
    if (!*library)
        *library = open_any(what->names, NULL, 0, &name);
    for (size_t i = 0; !*library && what->folders && what->folders[i]; i++)
        *library = open_any(what->names, what->folders[i], 0, &name);
    if (!*library)
        return bi_fail(err, BIOINFER_DEVICE, "%s:%d: no %s driver on this machine (%s not found)",
                       driver, ordinal, what->vendor, what->names[0]);
    for (size_t i = 0; i < n; i++) {
        void *symbol = dlsym(*library, symbols[i].name);
        if (!symbol && symbols[i].needed)
            return bi_fail(err, BIOINFER_DEVICE, "%s:%d: the driver is too old: %s has no %s",
                           driver, ordinal, name, symbols[i].name);
        memcpy((char *)table + symbols[i].at, &symbol, sizeof symbol);
    }
    return 0;
}

int bi_driver_describe(const char *api, int code, char *text, size_t size)
{
    /* after those that are lost the device's state is undefined: every later call fails */
    /* clang-format off */
    static const struct { int code; bool lost; const char *words; } known[] = {
        {1, false, "invalid value"}, {BI_DRIVER_NO_MEMORY, false, "out of device memory"},
        {3, false, "not initialised"}, {35, false, "the driver is older than the runtime"},
        {53, true, "an earlier launch failed"}, {BI_DRIVER_NO_DEVICE, false, "no device"},
        {BI_DRIVER_INVALID_DEVICE, false, "no such device"},
        {200, false, "not a kernel image"}, {209, false, "no kernel image for this device"},
        {214, true, "uncorrectable memory error"}, {218, false, "PTX could not be compiled"},
        {220, true, "NVLink error"}, {222, false, "the driver is too old for these kernels"},
        {226, true, "exception on the device"}, {500, false, "kernel not found in its module"},
        {700, true, "illegal address"}, {701, false, "out of launch resources"},
        {702, true, "launch timed out"}, {709, true, "the context is gone"},
        {710, true, "assertion in a kernel"}, {714, true, "hardware stack error"},
        {715, true, "illegal instruction"}, {716, true, "misaligned address"},
        {717, true, "invalid address space"}, {718, true, "invalid program counter"},
        {719, true, "launch failed"}, {721, true, "cluster error"},
        {999, true, "unknown error"}, {1053, true, "error of the HSA runtime"}};
    /* clang-format on */
    const char *words = "error";
    bool lost = false;
    for (size_t i = 0; i < BI_COUNT(known); i++)
        if (known[i].code == code) {
            words = known[i].words;
            lost = known[i].lost;
        }
    snprintf(text, size, "%s (%s error %d)", words, api, code);
    return code == BI_DRIVER_NO_MEMORY ? BIOINFER_NOMEM
           : lost                      ? BIOINFER_DEVICE_LOST
                                       : BIOINFER_DEVICE;
}

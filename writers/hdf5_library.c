/* hdf5_library.c - loads libhdf5 and guards it. */
#include "hdf5_library.h"

#if BI_HDF5

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

void bi_hdf5_enter(struct bi_hdf5 *s)
{
    pthread_mutex_lock(&library_lock);
    s->H5Eget_auto2_(H5E_DEFAULT, &s->saved_print, &s->saved_data);
    s->H5Eset_auto2_(H5E_DEFAULT, NULL, NULL);
    errno = 0;
}

void bi_hdf5_leave(struct bi_hdf5 *s)
{
    s->H5Eset_auto2_(H5E_DEFAULT, s->saved_print, s->saved_data);
    pthread_mutex_unlock(&library_lock);
}

int bi_hdf5_load(struct bi_hdf5 *s, const char *path, struct bioinfer_error *err)
{
    static const char *const names[] = {
        "libhdf5_serial.so.103", "libhdf5.so.103",    "libhdf5.so.200", "libhdf5_serial.so.310",
        "libhdf5.so.310",        "libhdf5_serial.so", "libhdf5.so",
    };
    unsigned major = 0, minor = 0, patch = 0;
    const char *missing = NULL;
    for (size_t i = 0; i < BI_COUNT(names) && !s->library; i++)
        s->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!s->library)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: HDF5 needs libhdf5, which is not installed (tried %s ... "
                       "%s); npz needs no library",
                       path, names[0], names[BI_COUNT(names) - 1]);
#define X(name)                                                                                    \
    *(void **)&s->name##_ = dlsym(s->library, #name);                                              \
    missing = s->name##_ ? missing : #name;
    HDF5_FUNCTIONS(X)
    HDF5_IDS(X)
#undef X
    if (missing)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: libhdf5 has no %s", path, missing);
    pthread_mutex_lock(&library_lock);
    s->H5dont_atexit_(); /* the process's exit is not ours; fails if H5 is in use
                            already */
    s->H5open_();
    s->H5get_libversion_(&major, &minor, &patch);
    pthread_mutex_unlock(&library_lock);
    if (major < 1 || (major == 1 && minor < 10))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: libhdf5 %u.%u.%u is too old, 1.10 is "
                       "needed",
                       path, major, minor, patch);
    return 0;
}

void bi_hdf5_unload(struct bi_hdf5 *s)
{
    if (s->library)
        dlclose(s->library);
    s->library = NULL;
}

#endif

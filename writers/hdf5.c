/* hdf5.c - one HDF5 dataset per array, named by key, through libhdf5: with one kind of one
 * layer one dataset per record in the root group, as users of ProtTrans expect.
 *
 * The library is loaded when the first such file is opened, so bioinfer runs without
 * it. It writes to a temporary file; finish() closes, syncs and renames that. Keys with
 * '/' make groups: ID/KIND, ID/layer_N/KIND. What carries the record's name also has
 * the attribute original_id when the name is not the id; the root has bioinfer, model
 * and fingerprint. Disk errors inside libhdf5 show as the status of the errno it leaves
 * behind. */
#define _GNU_SOURCE
#include "writer.h"

#if BI_HDF5

#include <dlfcn.h>
#include <errno.h>
#include <hdf5.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

_Static_assert(sizeof(hid_t) == 8, "HDF5 1.10 or later");

/* its constants call into the library, which is only loaded later */
#undef H5OPEN
#undef H5CHECK
#define H5OPEN
#define H5CHECK

/* clang-format off */
/* X(function of libhdf5 by its versioned name) */
#define HDF5_FUNCTIONS(X)                                                              \
    X(H5dont_atexit) X(H5open) X(H5get_libversion) X(H5Eget_auto2) X(H5Eset_auto2)     \
    X(H5Fcreate) X(H5Fclose) X(H5Pcreate) X(H5Pclose) X(H5Pset_obj_track_times)        \
    X(H5Pset_create_intermediate_group) X(H5Pset_char_encoding) X(H5Screate)           \
    X(H5Screate_simple) X(H5Sclose) X(H5Dcreate2) X(H5Dwrite) X(H5Dclose) X(H5Tcopy)   \
    X(H5Tset_size) X(H5Tset_cset) X(H5Tclose) X(H5Acreate2) X(H5Awrite) X(H5Aclose)    \
    X(H5Oopen) X(H5Oclose)
/* variables that its macros hide; valid after H5open() */
#define HDF5_IDS(X)                                                                    \
    X(H5P_CLS_DATASET_CREATE_ID_g) X(H5P_CLS_LINK_CREATE_ID_g) X(H5T_IEEE_F32LE_g)     \
    X(H5T_C_S1_g)
/* clang-format on */

struct hdf5 {
    void *library;
#define X(name) __typeof__(&name) name##_;
    HDF5_FUNCTIONS(X)
#undef X
#define X(name) hid_t *name##_;
    HDF5_IDS(X)
#undef X
    hid_t file, links, links_utf8, creation, text_type; /* -1 = none */
    H5E_auto2_t saved_print;
    void *saved_data;
    struct bi_buf key;
    char *temp;
};

/* libhdf5 is one per process and most builds of it are not thread-safe: the lock
 * follows. */
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

/* Between enter and leave this thread owns libhdf5, which prints nothing. */
static void enter(struct hdf5 *s)
{
    pthread_mutex_lock(&library_lock);
    s->H5Eget_auto2_(H5E_DEFAULT, &s->saved_print, &s->saved_data);
    s->H5Eset_auto2_(H5E_DEFAULT, NULL, NULL);
    errno = 0;
}

static void leave(struct hdf5 *s)
{
    s->H5Eset_auto2_(H5E_DEFAULT, s->saved_print, s->saved_data);
    pthread_mutex_unlock(&library_lock);
}

static int fail(const struct bioinfer_writer *w, const char *what,
                struct bioinfer_error *err)
{
    int e = errno;
    if (e == ENOSPC || e == EDQUOT || e == EFBIG || e == ENOMEM || e == EIO)
        return bi_fail_errno(err, e, "%s: libhdf5: %s", w->path, what);
    return bi_fail(err, BIOINFER_IO, "%s: libhdf5: %s failed", w->path, what);
}

static int load(struct bioinfer_writer *w, struct hdf5 *s, struct bioinfer_error *err)
{
    static const char *const names[] = {
        "libhdf5_serial.so.103",
        "libhdf5.so.103",
        "libhdf5.so.200",
        "libhdf5_serial.so.310",
        "libhdf5.so.310",
        "libhdf5_serial.so",
        "libhdf5.so",
    };
    unsigned major = 0, minor = 0, patch = 0;
    const char *missing = NULL;
    for (size_t i = 0; i < BI_COUNT(names) && !s->library; i++)
        s->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!s->library)
        return bi_fail(
            err, BIOINFER_UNSUPPORTED,
            "%s: HDF5 output needs libhdf5, which is not installed (tried %s ... "
            "%s); npz needs no library",
            w->path, names[0], names[BI_COUNT(names) - 1]);
#define X(name)                                                                        \
    *(void **)&s->name##_ = dlsym(s->library, #name);                                  \
    missing = s->name##_ ? missing : #name;
    HDF5_FUNCTIONS(X)
    HDF5_IDS(X)
#undef X
    if (missing)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: libhdf5 has no %s", w->path,
                       missing);
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
                       w->path, major, minor, patch);
    return 0;
}

/* A variable-length UTF-8 string attribute (what h5py hands out as str). */
static bool put_attribute(struct hdf5 *s, hid_t object, const char *name,
                          const char *text)
{
    hid_t space = s->H5Screate_(H5S_SCALAR), attribute = -1;
    bool ok = false;
    if (space >= 0)
        attribute =
            s->H5Acreate2_(object, name, s->text_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        ok = s->H5Awrite_(attribute, s->text_type, &text) >= 0;
        ok &= s->H5Aclose_(attribute) >= 0;
    }
    if (space >= 0)
        s->H5Sclose_(space);
    return ok;
}

static bool make_file(struct hdf5 *s, const char *model, const char *fingerprint)
{
    char version[32];
    hid_t root;
    bool ok;
    snprintf(version, sizeof version, "%d.%d.%d", BIOINFER_VERSION_MAJOR,
             BIOINFER_VERSION_MINOR, BIOINFER_VERSION_PATCH);
    s->file = s->H5Fcreate_(s->temp, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (s->file < 0)
        return false;
    s->links = s->H5Pcreate_(*s->H5P_CLS_LINK_CREATE_ID_g_);
    s->links_utf8 = s->H5Pcreate_(*s->H5P_CLS_LINK_CREATE_ID_g_);
    s->creation = s->H5Pcreate_(*s->H5P_CLS_DATASET_CREATE_ID_g_);
    s->text_type = s->H5Tcopy_(*s->H5T_C_S1_g_);
    if (s->links < 0 || s->links_utf8 < 0 || s->creation < 0 || s->text_type < 0)
        return false;
    /* no times: equal results are equal files */
    if (s->H5Pset_create_intermediate_group_(s->links, 1) < 0 ||
        s->H5Pset_create_intermediate_group_(s->links_utf8, 1) < 0 ||
        s->H5Pset_char_encoding_(s->links_utf8, H5T_CSET_UTF8) < 0 ||
        s->H5Pset_obj_track_times_(s->creation, 0) < 0 ||
        s->H5Tset_size_(s->text_type, H5T_VARIABLE) < 0 ||
        s->H5Tset_cset_(s->text_type, H5T_CSET_UTF8) < 0)
        return false;
    if ((root = s->H5Oopen_(s->file, "/", H5P_DEFAULT)) < 0)
        return false;
    ok = put_attribute(s, root, "bioinfer", version) &&
         put_attribute(s, root, "model", model) &&
         put_attribute(s, root, "fingerprint", fingerprint);
    return s->H5Oclose_(root) >= 0 && ok;
}

static int h5_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct hdf5 *s = bi_zalloc(w->env, sizeof *s);
    size_t n = strlen(w->path) + 32;
    int st = 0;
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = s;
    s->file = s->links = s->links_utf8 = s->creation = s->text_type = -1;
    s->key.env = w->env;
    if (bi_path_is_folder(w->path))
        return bi_fail(err, BIOINFER_IO, "%s: output is a folder", w->path);
    if ((st = load(w, s, err)))
        return st;
    if (!(s->temp = bi_alloc(w->env, n)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", w->path);
    snprintf(s->temp, n, "%s.tmp.%ld", w->path, (long)getpid());
    enter(s);
    if (!make_file(s, w->params.model, w->params.fingerprint))
        st = errno && errno != EINVAL
                 ? bi_fail_errno(err, errno, "%s: cannot create output", w->path)
                 : fail(w, "creating the file", err);
    leave(s);
    return st;
}

/* The script of ProtTrans takes the header line, removes '>', strips it, and replaces '/'
 * and '.'. */
static void prottrans_name(struct bi_buf *out, const struct bioinfer_result *r)
{
    const char *parts[3] = {r->id, " ", r->description};
    int n = r->description && *r->description ? 3 : 1;
    for (int i = 0; i < n; i++)
        for (const char *c = parts[i]; *c; c++)
            if (*c != '>')
                bi_buf_putc(out, *c == '/' || *c == '.' ? '_' : *c);
    while (!out->failed && out->size && strchr(" \t\r", out->data[out->size - 1]))
        out->size--;
}

static void h5_rename(const struct bioinfer_writer *w, struct bi_buf *out,
                      const struct bioinfer_result *r)
{
    if (w->params.prottrans_names)
        prottrans_name(out, r);
    else
        for (const char *c = r->id; *c; c++)
            bi_buf_putc(out, *c == '/' ? '_' : *c);
    if (!out->size || out->size > 255 || (out->size == 1 && out->data[0] == '.')) {
        out->size = 0;
        bi_buf_printf(out, "seq_%llu", (unsigned long long)r->ordinal);
    }
}

static bool put_dataset(struct hdf5 *s, const struct bioinfer_array *a)
{
    hsize_t shape[4] = {0};
    hid_t space, set = -1;
    bool ok = false;
    for (int i = 0; i < a->n_dims; i++)
        shape[i] = (hsize_t)a->shape[i];
    space = a->n_dims ? s->H5Screate_simple_(a->n_dims, shape, NULL)
                      : s->H5Screate_(H5S_SCALAR);
    if (space >= 0)
        set = s->H5Dcreate2_(s->file, s->key.data, *s->H5T_IEEE_F32LE_g_, space,
                             bi_utf8_valid(s->key.data) ? s->links_utf8 : s->links,
                             s->creation, H5P_DEFAULT);
    if (set >= 0) {
        ok = s->H5Dwrite_(set, *s->H5T_IEEE_F32LE_g_, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                          a->data) >= 0;
        ok &= s->H5Dclose_(set) >= 0;
    }
    if (space >= 0)
        s->H5Sclose_(space);
    return ok;
}

static bool put_original_id(struct hdf5 *s, const char *name, const char *id)
{
    hid_t object = s->H5Oopen_(s->file, name, H5P_DEFAULT);
    bool ok;
    if (object < 0)
        return false;
    ok = put_attribute(s, object, "original_id", id);
    return s->H5Oclose_(object) >= 0 && ok;
}

static int h5_put(struct bioinfer_writer *w, const struct bioinfer_result *r,
                  const char *name, struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    int st = 0;
    for (int i = 0; i < r->n_arrays && !st; i++) {
        uint64_t n, size;
        if ((st = bi_array_size(w, r, &r->arrays[i], &n, &size, err)))
            return st;
        if (bi_array_key(&s->key, name, r, &r->arrays[i]))
            return bi_writer_check(w, &s->key, err);
        enter(s);
        if (!put_dataset(s, &r->arrays[i]))
            st = fail(w, "writing a dataset", err);
        leave(s);
    }
    if (!st && r->n_arrays && strcmp(name, r->id)) {
        enter(s);
        if (!put_original_id(s, name, r->id))
            st = fail(w, "writing an attribute", err);
        leave(s);
    }
    return st;
}

/* Closes what is open in libhdf5; false when data may be lost. */
static bool close_file(struct hdf5 *s)
{
    bool ok = true;
    if (s->links >= 0)
        s->H5Pclose_(s->links);
    if (s->links_utf8 >= 0)
        s->H5Pclose_(s->links_utf8);
    if (s->creation >= 0)
        s->H5Pclose_(s->creation);
    if (s->text_type >= 0)
        s->H5Tclose_(s->text_type);
    if (s->file >= 0)
        ok = s->H5Fclose_(s->file) >= 0;
    s->file = s->links = s->links_utf8 = s->creation = s->text_type = -1;
    return ok;
}

static int h5_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    int st = 0;
    enter(s);
    if (!close_file(s))
        st = fail(w, "closing the file", err);
    leave(s);
    if (st || (st = bi_out_rename(w->env, s->temp, w->path, err)))
        return st;
    bi_free(w->env, s->temp);
    s->temp = NULL;
    return 0;
}

static void h5_close(struct bioinfer_writer *w)
{
    struct hdf5 *s = w->state;
    if (!s)
        return;
    if (s->file >= 0) {
        enter(s);
        close_file(s);
        leave(s);
    }
    if (s->temp)
        unlink(s->temp);
    if (s->library)
        dlclose(s->library);
    bi_free(w->env, s->temp);
    bi_buf_free(&s->key);
    bi_free(w->env, s);
}

const struct bi_writer_ops bi_writer_h5 = {
    .name = "h5",
    .suffix = ".h5",
    .suffix2 = ".hdf5",
    .keyed_by_id = true,
    .open = h5_open,
    .rename = h5_rename,
    .put = h5_put,
    .finish = h5_finish,
    .close = h5_close,
};

#endif

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

#include "../base/temp.h"
#include "rows.h"
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
    X(H5Oopen) X(H5Oclose) X(H5Fopen) X(H5Gget_info) X(H5Lget_name_by_idx)                \
    X(H5Iget_type) X(H5Dget_space) X(H5Dget_type) X(H5Sget_simple_extent_ndims)            \
    X(H5Sget_simple_extent_dims) X(H5Tget_class) X(H5Tget_size)            \
    X(H5Tset_fields) X(H5Tset_ebias) X(H5Pset_chunk) X(H5Dset_extent)                      \
    X(H5Sselect_hyperslab) X(H5Pcopy) X(H5Pset_deflate) X(H5Pset_shuffle)                  \
    X(H5Zfilter_avail)
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
    hid_t file, links, links_utf8, creation, text_type, half_type; /* -1 = none */
    H5E_auto2_t saved_print;
    void *saved_data;
    struct bi_buf key;
    char *temp;
    /* used by the layout matrix: datasets of rows and of ids, and rows that wait to be written */
    hid_t rows, ids;
    struct bi_buf waiting, names; /* names: one text behind the other, each with its NUL */
    int64_t n, n_waiting, width;  /* rows written and waiting; values of each, -1 = none yet */
    int64_t n_piece;              /* rows written at a time */
};

enum { PIECE_SIZE = 1 << 20 }; /* bytes of a chunk, about */

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

static int fail(const struct bioinfer_writer *w, const char *what, struct bioinfer_error *err)
{
    int e = errno;
    if (e == ENOSPC || e == EDQUOT || e == EFBIG || e == ENOMEM || e == EIO)
        return bi_fail_errno(err, e, "%s: libhdf5: %s", w->path, what);
    return bi_fail(err, BIOINFER_IO, "%s: libhdf5: %s failed", w->path, what);
}

static int load(const char *path, struct hdf5 *s, struct bioinfer_error *err)
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

/* A variable-length UTF-8 string attribute (what h5py hands out as str). */
static bool put_attribute(struct hdf5 *s, hid_t object, const char *name, const char *text)
{
    hid_t space = s->H5Screate_(H5S_SCALAR), attribute = -1;
    bool ok = false;
    if (space >= 0)
        attribute = s->H5Acreate2_(object, name, s->text_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        ok = s->H5Awrite_(attribute, s->text_type, &text) >= 0;
        ok &= s->H5Aclose_(attribute) >= 0;
    }
    if (space >= 0)
        s->H5Sclose_(space);
    return ok;
}

/* A text of the whole file, as an attribute of its root group. */
static bool put_about(struct hdf5 *s, const char *name, const char *text)
{
    hid_t root = s->H5Oopen_(s->file, "/", H5P_DEFAULT);
    bool ok = root >= 0 && put_attribute(s, root, name, text);
    return root >= 0 && s->H5Oclose_(root) >= 0 && ok;
}

static bool make_file(struct hdf5 *s, const char *model)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", BIOINFER_VERSION_MAJOR, BIOINFER_VERSION_MINOR,
             BIOINFER_VERSION_PATCH);
    /* EXCL: a file or a link that has this name is left alone, see temp.h */
    s->file = s->H5Fcreate_(s->temp, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    if (s->file < 0)
        return false;
    s->links = s->H5Pcreate_(*s->H5P_CLS_LINK_CREATE_ID_g_);
    s->links_utf8 = s->H5Pcreate_(*s->H5P_CLS_LINK_CREATE_ID_g_);
    s->creation = s->H5Pcreate_(*s->H5P_CLS_DATASET_CREATE_ID_g_);
    s->text_type = s->H5Tcopy_(*s->H5T_C_S1_g_);
    s->half_type = s->H5Tcopy_(*s->H5T_IEEE_F32LE_g_);
    if (s->links < 0 || s->links_utf8 < 0 || s->creation < 0 || s->text_type < 0 ||
        s->half_type < 0)
        return false;
    /* IEEE half: sign at bit 15, 5 bits of exponent from 10 on, 10 of mantissa; HDF5 before 1.14.4
     * has no name for it */
    if (s->H5Tset_fields_(s->half_type, 15, 10, 5, 0, 10) < 0 ||
        s->H5Tset_size_(s->half_type, 2) < 0 || s->H5Tset_ebias_(s->half_type, 15) < 0)
        return false;
    /* no times: equal results are equal files */
    if (s->H5Pset_create_intermediate_group_(s->links, 1) < 0 ||
        s->H5Pset_create_intermediate_group_(s->links_utf8, 1) < 0 ||
        s->H5Pset_char_encoding_(s->links_utf8, H5T_CSET_UTF8) < 0 ||
        s->H5Pset_obj_track_times_(s->creation, 0) < 0 ||
        s->H5Tset_size_(s->text_type, H5T_VARIABLE) < 0 ||
        s->H5Tset_cset_(s->text_type, H5T_CSET_UTF8) < 0)
        return false;
    return put_about(s, "bioinfer", version) && put_about(s, "model", model);
}

static int h5_ready(const struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct hdf5 s = {0};
    int st = load(w->path, &s, err);
    if (s.library)
        dlclose(s.library);
    return st;
}

static int h5_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct hdf5 *s = bi_zalloc(w->env, sizeof *s);
    int st = 0;
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = s;
    s->file = s->links = s->links_utf8 = s->creation = -1;
    s->text_type = s->half_type = s->rows = s->ids = -1;
    s->key.env = s->waiting.env = s->names.env = w->env;
    s->width = -1;
    if (bi_path_is_folder(w->path))
        return bi_fail(err, BIOINFER_IO, "%s: output is a folder", w->path);
    if ((st = load(w->path, s, err)))
        return st;
    if (w->gzip && s->H5Zfilter_avail_(H5Z_FILTER_DEFLATE) <= 0)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: this libhdf5 has no gzip", w->path);
    if (!(s->temp = bi_alloc(w->env, strlen(w->path) + BI_TEMP_SUFFIX)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", w->path);
    bi_temp_name(s->temp, w->path);
    enter(s);
    if (!make_file(s, w->params.model))
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

/* Adds filters to the list of a dataset that has chunks. gzip of level 4, as in h5py; the bytes of
 * numbers are sorted by their place first, as those of exponents are alike. */
static bool add_filters(struct hdf5 *s, hid_t creation)
{
    return s->H5Pset_shuffle_(creation) >= 0 && s->H5Pset_deflate_(creation, 4) >= 0;
}

/* The list for a dataset of this shape in chunks of whole rows, about a MiB each, with filters;
 * -1: it could not be made. */
static hid_t chunked(struct hdf5 *s, const hsize_t *shape, int n_dims, size_t item_size)
{
    hsize_t chunk[4] = {0}, row = item_size;
    hid_t creation = s->H5Pcopy_(s->creation);
    for (int i = 1; i < n_dims; i++)
        row *= chunk[i] = shape[i];
    chunk[0] = PIECE_SIZE / row;
    chunk[0] = !chunk[0] ? 1 : chunk[0] < shape[0] ? chunk[0] : shape[0];
    if (creation >= 0 &&
        (s->H5Pset_chunk_(creation, n_dims, chunk) < 0 || !add_filters(s, creation))) {
        s->H5Pclose_(creation);
        creation = -1;
    }
    return creation;
}

/* bytes: the values of a, of which w->half says the type. */
static bool put_dataset(const struct bioinfer_writer *w, const struct bioinfer_array *a,
                        const void *bytes)
{
    struct hdf5 *s = w->state;
    const bool half = w->half;
    const hid_t type = half ? s->half_type : *s->H5T_IEEE_F32LE_g_;
    hsize_t shape[4] = {0};
    hid_t space, set = -1, creation = s->creation;
    bool ok = false, empty = !a->n_dims; /* a chunk of nothing is an error */
    for (int i = 0; i < a->n_dims; i++) {
        shape[i] = (hsize_t)a->shape[i];
        empty = empty || !shape[i];
    }
    if (w->gzip && !empty && (creation = chunked(s, shape, a->n_dims, half ? 2 : 4)) < 0)
        return false;
    space = a->n_dims ? s->H5Screate_simple_(a->n_dims, shape, NULL) : s->H5Screate_(H5S_SCALAR);
    if (space >= 0)
        set = s->H5Dcreate2_(s->file, s->key.data, type, space,
                             bi_utf8_valid(s->key.data) ? s->links_utf8 : s->links, creation,
                             H5P_DEFAULT);
    if (set >= 0) {
        ok = s->H5Dwrite_(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0;
        ok &= s->H5Dclose_(set) >= 0;
    }
    if (space >= 0)
        s->H5Sclose_(space);
    if (creation != s->creation)
        s->H5Pclose_(creation);
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

static int h5_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                  struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    int st = 0;
    for (int i = 0; i < r->n_arrays && !st; i++) {
        const void *bytes;
        size_t size;
        if ((st = bi_array_bytes(w, r, &r->arrays[i], &bytes, &size, err)))
            return st;
        if (bi_array_key(&s->key, name, r, &r->arrays[i]))
            return bi_writer_check(w, &s->key, err);
        enter(s);
        if (!put_dataset(w, &r->arrays[i], bytes))
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
    if (s->half_type >= 0)
        s->H5Tclose_(s->half_type);
    if (s->rows >= 0)
        ok = s->H5Dclose_(s->rows) >= 0;
    if (s->ids >= 0)
        ok &= s->H5Dclose_(s->ids) >= 0;
    if (s->file >= 0)
        ok &= s->H5Fclose_(s->file) >= 0;
    s->file = s->links = s->links_utf8 = s->creation = -1;
    s->text_type = s->half_type = s->rows = s->ids = -1;
    return ok;
}

static int h5_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    int st = 0;
    enter(s);
    if (!put_about(s, "fingerprint", w->params.fingerprint))
        st = fail(w, "attribute fingerprint", err);
    else if (!close_file(s))
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
    bi_buf_free(&s->waiting);
    bi_buf_free(&s->names);
    bi_free(w->env, s);
}

const struct bi_writer_ops bi_writer_h5 = {
    .name = "h5",
    .suffix = ".h5",
    .suffix2 = ".hdf5",
    .keyed_by_id = true,
    .has_half = true,
    .has_gzip = true,
    .matrix = &bi_writer_h5_matrix,
    .ready = h5_ready,
    .open = h5_open,
    .rename = h5_rename,
    .put = h5_put,
    .finish = h5_finish,
    .close = h5_close,
};

/* ---- the layout matrix: datasets embeddings and ids, written a piece of rows at a time ---- */

enum { MOST_ROWS = 4096 }; /* a piece, which is also a chunk of the file */

/* A dataset of no rows yet, which grows by chunks of `rows`, compressed with gzip. width 0: texts.
 */
static hid_t make_growing(struct hdf5 *s, const char *name, hid_t type, int64_t rows, int n_dims,
                          int64_t width, bool gzip)
{
    const hsize_t shape[2] = {0, (hsize_t)width}, most[2] = {H5S_UNLIMITED, (hsize_t)width};
    const hsize_t chunk[2] = {(hsize_t)rows, width ? (hsize_t)width : 1};
    hid_t space = s->H5Screate_simple_(n_dims, shape, most), set = -1;
    hid_t creation = s->H5Pcreate_(*s->H5P_CLS_DATASET_CREATE_ID_g_);
    if (space >= 0 && creation >= 0 && s->H5Pset_obj_track_times_(creation, 0) >= 0 &&
        s->H5Pset_chunk_(creation, n_dims, chunk) >= 0 && (!gzip || add_filters(s, creation)))
        set = s->H5Dcreate2_(s->file, name, type, space, s->links, creation, H5P_DEFAULT);
    if (creation >= 0)
        s->H5Pclose_(creation);
    if (space >= 0)
        s->H5Sclose_(space);
    return set;
}

/* Adds n rows behind the `have` rows of a dataset. */
static bool put_rows(struct hdf5 *s, hid_t set, hid_t type, int n_dims, int64_t have, int64_t n,
                     int64_t width, const void *bytes)
{
    const hsize_t shape[2] = {(hsize_t)(have + n), (hsize_t)width};
    const hsize_t first[2] = {(hsize_t)have, 0}, count[2] = {(hsize_t)n, (hsize_t)width};
    hid_t all = -1, here = -1;
    bool ok = s->H5Dset_extent_(set, shape) >= 0 && (all = s->H5Dget_space_(set)) >= 0 &&
              (here = s->H5Screate_simple_(n_dims, count, NULL)) >= 0 &&
              s->H5Sselect_hyperslab_(all, H5S_SELECT_SET, first, NULL, count, NULL) >= 0 &&
              s->H5Dwrite_(set, type, here, all, H5P_DEFAULT, bytes) >= 0;
    if (here >= 0)
        s->H5Sclose_(here);
    if (all >= 0)
        s->H5Sclose_(all);
    return ok;
}

/* Rows of a piece, by the size of one. */
static int64_t piece_of(int64_t size)
{
    const int64_t n = size > 0 ? PIECE_SIZE / size : MOST_ROWS;
    return n > MOST_ROWS ? MOST_ROWS : n < 1 ? 1 : n;
}

/* Makes both datasets. A chunk is a piece, or all rows where they are fewer. */
static int make_datasets(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    const int64_t chunk = s->n_waiting ? s->n_waiting : 1;
    int st = 0;
    enter(s);
    s->rows = make_growing(s, BI_ROWS_VALUES, w->half ? s->half_type : *s->H5T_IEEE_F32LE_g_, chunk,
                           2, s->width < 0 ? 0 : s->width, w->gzip);
    s->ids = make_growing(s, BI_ROWS_IDS, s->text_type, chunk, 1, 0, false);
    if (s->rows < 0 || s->ids < 0)
        st = fail(w, "creating the datasets", err);
    leave(s);
    return st;
}

/* Writes the rows that wait. */
static int put_waiting(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    const char **ids, *id;
    int st = s->rows < 0 ? make_datasets(w, err) : 0;
    if (st)
        return st;
    if (!(ids = bi_calloc(w->env, (size_t)s->n_waiting + 1, sizeof *ids)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: ids", w->path);
    id = s->names.data;
    for (int64_t i = 0; i < s->n_waiting; i++, id += strlen(id) + 1)
        ids[i] = id;
    enter(s);
    if (s->n_waiting && (!put_rows(s, s->rows, w->half ? s->half_type : *s->H5T_IEEE_F32LE_g_, 2,
                                   s->n, s->n_waiting, s->width, s->waiting.data) ||
                         !put_rows(s, s->ids, s->text_type, 1, s->n, s->n_waiting, 0, ids)))
        st = fail(w, "writing rows", err);
    leave(s);
    s->n += s->n_waiting;
    s->n_waiting = 0;
    s->waiting.size = s->names.size = 0;
    bi_free(w->env, ids);
    return st;
}

static int matrix_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                      struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    const void *bytes;
    size_t size;
    int st = bi_array_bytes(w, r, r->arrays, &bytes, &size, err);
    if (st)
        return st;
    if (s->width < 0) {
        s->width = r->arrays[0].shape[0];
        s->n_piece = piece_of((int64_t)size);
    }
    if ((st = bi_rows_same_width(w, r, s->width, err)))
        return st;
    bi_buf_append(&s->waiting, bytes, size);
    bi_buf_append(&s->names, name, strlen(name) + 1);
    if ((st = bi_writer_check(w, &s->waiting, err)) || (st = bi_writer_check(w, &s->names, err)))
        return st;
    return ++s->n_waiting < s->n_piece ? 0 : put_waiting(w, err);
}

static int matrix_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    int st = put_waiting(w, err);
    return st ? st : h5_finish(w, err);
}

const struct bi_writer_ops bi_writer_h5_matrix = {
    .name = "h5",
    .suffix = ".h5",
    .suffix2 = ".hdf5",
    .has_half = true,
    .has_gzip = true,
    .matrix = &bi_writer_h5_matrix,
    .check = bi_rows_check,
    .ready = h5_ready,
    .open = h5_open,
    .rename = bi_rows_rename,
    .put = matrix_put,
    .finish = matrix_finish,
    .close = h5_close,
};

/* ---- listing ---- */

enum { MOST_LISTED = 1000, MOST_LEVELS = 8 };

struct listing {
    struct hdf5 *s;
    struct bi_buf *out;
    uint64_t n; /* datasets seen, of which MOST_LISTED are printed */
    bool cut;   /* names that are longer, groups that are deeper, more entries than are looked at */
};

static void print_dataset(struct listing *l, hid_t set, const char *name)
{
    static const char *const classes[] = {"int",  "float",           "time",     "string",
                                          "bits", "opaque",          "compound", "reference",
                                          "enum", "variable-length", "array"};
    hid_t space = l->s->H5Dget_space_(set), type = l->s->H5Dget_type_(set);
    hsize_t shape[H5S_MAX_RANK];
    int class = type < 0 ? -1 : (int)l->s->H5Tget_class_(type);
    int rank = space < 0 ? -1 : l->s->H5Sget_simple_extent_ndims_(space);
    if (++l->n <= MOST_LISTED) {
        bi_buf_printf(l->out, "  %s %s", name,
                      class >= 0 && class < (int)BI_COUNT(classes) ? classes[class]
                                                                   : "of an unknown type");
        if (class == 0 || class == 1)
            bi_buf_printf(l->out, "%zu", 8 * l->s->H5Tget_size_(type));
        bi_buf_puts(l->out, " [");
        if (rank > 0 && rank <= H5S_MAX_RANK &&
            l->s->H5Sget_simple_extent_dims_(space, shape, NULL) == rank)
            for (int k = 0; k < rank; k++)
                bi_buf_printf(l->out, "%s%llu", k ? ", " : "", (unsigned long long)shape[k]);
        bi_buf_puts(l->out, "]\n");
    }
    if (type >= 0)
        l->s->H5Tclose_(type);
    if (space >= 0)
        l->s->H5Sclose_(space);
}

/* The datasets of a group by name, and those of the groups in it. */
static void list_group(struct listing *l, hid_t group, const char *above, int level)
{
    char name[1024];
    H5G_info_t info = {0};
    if (l->s->H5Gget_info_(group, &info) < 0)
        return;
    for (hsize_t k = 0; k < info.nlinks && l->n < MOST_LISTED; k++) {
        const size_t used = (size_t)snprintf(name, sizeof name, "%s%s", above, *above ? "/" : "");
        ssize_t length = used >= sizeof name
                             ? -1
                             : l->s->H5Lget_name_by_idx_(group, ".", H5_INDEX_NAME, H5_ITER_INC, k,
                                                         name + used, sizeof name - used,
                                                         H5P_DEFAULT);
        hid_t object;
        if (length <= 0 || (size_t)length >= sizeof name - used) {
            l->cut = true;
            continue;
        }
        if ((object = l->s->H5Oopen_(group, name + used, H5P_DEFAULT)) < 0)
            continue; /* a link to nothing */
        if (l->s->H5Iget_type_(object) == H5I_DATASET)
            print_dataset(l, object, name);
        else if (l->s->H5Iget_type_(object) == H5I_GROUP && level < MOST_LEVELS)
            list_group(l, object, name, level + 1);
        else
            l->cut = true;
        l->s->H5Oclose_(object);
    }
    l->cut = l->cut || l->n >= MOST_LISTED;
}

int bi_hdf5_list(struct bi_buf *out, const char *path, struct bioinfer_error *err)
{
    struct hdf5 s = {.file = -1,
                     .links = -1,
                     .links_utf8 = -1,
                     .creation = -1,
                     .text_type = -1,
                     .half_type = -1,
                     .rows = -1,
                     .ids = -1};
    struct listing l = {.s = &s, .out = out};
    hid_t root = -1;
    int st = load(path, &s, err);
    if (!st) {
        enter(&s);
        bi_buf_printf(out, "%s: HDF5\ndatasets:\n", path);
        if ((s.file = s.H5Fopen_(path, H5F_ACC_RDONLY, H5P_DEFAULT)) < 0 ||
            (root = s.H5Oopen_(s.file, "/", H5P_DEFAULT)) < 0)
            st = bi_fail(err, BIOINFER_FORMAT, "%s: libhdf5 cannot open it: damaged, or cut off",
                         path);
        else
            list_group(&l, root, "", 0);
        if (root >= 0)
            s.H5Oclose_(root);
        close_file(&s);
        leave(&s);
    }
    if (!st && l.cut)
        bi_buf_printf(out, "  ... the first %llu are listed\n", (unsigned long long)l.n);
    if (s.library)
        dlclose(s.library);
    return st;
}

#else

int bi_hdf5_list(struct bi_buf *out, const char *path, struct bioinfer_error *err)
{
    (void)out;
    return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: this is HDF5, and bioinfer was built without it",
                   path);
}

#endif

/* hdf5.c - one HDF5 dataset per array, named by key, through libhdf5: with one kind of one
 * layer one dataset per record in the root group, as users of ProtTrans expect.
 *
 * It writes to a temporary file; finish() closes, syncs and renames that. Keys with
 * '/' make groups: ID/KIND, ID/layer_N/KIND. What carries the record's name also has
 * the attribute original_id when the name is not the id; the root has bioinfer, model
 * and fingerprint. Disk errors inside libhdf5 show as the status of the errno it leaves
 * behind. */
#define _GNU_SOURCE
#include "hdf5_library.h"

#if BI_HDF5

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/temp.h"
#include "columns.h"
#include "place.h"
#include "rows.h"
#include "text.h"

struct hdf5 {
    struct bi_hdf5 h5;
    hid_t file, links, links_utf8, creation, text_type, half_type; /* -1 = none */
    struct bi_buf key;
    char *temp;
    /* used by the layout matrix: datasets of rows and of ids, and rows that wait to be written */
    hid_t rows, ids;
    struct bi_buf waiting, names; /* names: one text behind the other, each with its NUL */
    int64_t n, n_waiting, width;  /* rows written and waiting; values of each, -1 = none yet */
    int64_t n_piece;              /* rows written at a time */
    struct bi_columns columns;
};

enum { PIECE_SIZE = 1 << 20 }; /* bytes of a chunk, about */

static int fail(const struct bioinfer_writer *w, const char *what, struct bioinfer_error *err)
{
    int e = errno;
    if (e == ENOSPC || e == EDQUOT || e == EFBIG || e == ENOMEM || e == EIO)
        return bi_fail_errno(err, e, "%s: libhdf5: %s", w->path, what);
    return bi_fail(err, BIOINFER_IO, "%s: libhdf5: %s failed", w->path, what);
}

/* A variable-length UTF-8 string attribute (what h5py hands out as str). */
static bool put_attribute(struct hdf5 *s, hid_t object, const char *name, const char *text)
{
    hid_t space = s->h5.H5Screate_(H5S_SCALAR), attribute = -1;
    bool ok = false;
    if (space >= 0)
        attribute = s->h5.H5Acreate2_(object, name, s->text_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        ok = s->h5.H5Awrite_(attribute, s->text_type, &text) >= 0;
        ok &= s->h5.H5Aclose_(attribute) >= 0;
    }
    if (space >= 0)
        s->h5.H5Sclose_(space);
    return ok;
}

/* A text of the whole file, as an attribute of its root group. */
static bool put_about(struct hdf5 *s, const char *name, const char *text)
{
    hid_t root = s->h5.H5Oopen_(s->file, "/", H5P_DEFAULT);
    bool ok = root >= 0 && put_attribute(s, root, name, text);
    return root >= 0 && s->h5.H5Oclose_(root) >= 0 && ok;
}

static bool make_file(struct hdf5 *s, const char *model)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", BIOINFER_VERSION_MAJOR, BIOINFER_VERSION_MINOR,
             BIOINFER_VERSION_PATCH);
    /* EXCL: a file or a link that has this name is left alone, see temp.h */
    s->file = s->h5.H5Fcreate_(s->temp, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    if (s->file < 0)
        return false;
    s->links = s->h5.H5Pcreate_(*s->h5.H5P_CLS_LINK_CREATE_ID_g_);
    s->links_utf8 = s->h5.H5Pcreate_(*s->h5.H5P_CLS_LINK_CREATE_ID_g_);
    s->creation = s->h5.H5Pcreate_(*s->h5.H5P_CLS_DATASET_CREATE_ID_g_);
    s->text_type = s->h5.H5Tcopy_(*s->h5.H5T_C_S1_g_);
    s->half_type = s->h5.H5Tcopy_(*s->h5.H5T_IEEE_F32LE_g_);
    if (s->links < 0 || s->links_utf8 < 0 || s->creation < 0 || s->text_type < 0 ||
        s->half_type < 0)
        return false;
    /* IEEE half: sign at bit 15, 5 bits of exponent from 10 on, 10 of mantissa; HDF5 before 1.14.4
     * has no name for it */
    if (s->h5.H5Tset_fields_(s->half_type, 15, 10, 5, 0, 10) < 0 ||
        s->h5.H5Tset_size_(s->half_type, 2) < 0 || s->h5.H5Tset_ebias_(s->half_type, 15) < 0)
        return false;
    /* no times: equal results are equal files */
    if (s->h5.H5Pset_create_intermediate_group_(s->links, 1) < 0 ||
        s->h5.H5Pset_create_intermediate_group_(s->links_utf8, 1) < 0 ||
        s->h5.H5Pset_char_encoding_(s->links_utf8, H5T_CSET_UTF8) < 0 ||
        s->h5.H5Pset_obj_track_times_(s->creation, 0) < 0 ||
        s->h5.H5Tset_size_(s->text_type, H5T_VARIABLE) < 0 ||
        s->h5.H5Tset_cset_(s->text_type, H5T_CSET_UTF8) < 0)
        return false;
    return put_about(s, "bioinfer", version) && put_about(s, "model", model);
}

static int h5_ready(const struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct bi_hdf5 s = {0};
    int st = bi_hdf5_load(&s, w->path, err);
    bi_hdf5_unload(&s);
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
    if ((st = bi_path_replaceable(w->path, err)) || (st = bi_hdf5_load(&s->h5, w->path, err)))
        return st;
    if (w->gzip && s->h5.H5Zfilter_avail_(H5Z_FILTER_DEFLATE) <= 0)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: this libhdf5 has no gzip", w->path);
    if (!(s->temp = bi_alloc(w->env, strlen(w->path) + BI_TEMP_SUFFIX)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", w->path);
    bi_temp_name(s->temp, w->path);
    bi_hdf5_enter(&s->h5);
    if (!make_file(s, w->params.model))
        st = errno && errno != EINVAL
                 ? bi_fail_errno(err, errno, "%s: cannot create output", w->path)
                 : fail(w, "creating the file", err);
    bi_hdf5_leave(&s->h5);
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
    return s->h5.H5Pset_shuffle_(creation) >= 0 && s->h5.H5Pset_deflate_(creation, 4) >= 0;
}

/* The list for a dataset of this shape in chunks of whole rows, about a MiB each, with filters;
 * -1: it could not be made. */
static hid_t chunked(struct hdf5 *s, const hsize_t *shape, int n_dims, size_t item_size)
{
    hsize_t chunk[4] = {0}, row = item_size;
    hid_t creation = s->h5.H5Pcopy_(s->creation);
    for (int i = 1; i < n_dims; i++)
        row *= chunk[i] = shape[i];
    chunk[0] = PIECE_SIZE / row;
    chunk[0] = !chunk[0] ? 1 : chunk[0] < shape[0] ? chunk[0] : shape[0];
    if (creation >= 0 &&
        (s->h5.H5Pset_chunk_(creation, n_dims, chunk) < 0 || !add_filters(s, creation))) {
        s->h5.H5Pclose_(creation);
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
    const hid_t type = half ? s->half_type : *s->h5.H5T_IEEE_F32LE_g_;
    hsize_t shape[4] = {0};
    hid_t space, set = -1, creation = s->creation;
    bool ok = false, empty = !a->n_dims; /* a chunk of nothing is an error */
    for (int i = 0; i < a->n_dims; i++) {
        shape[i] = (hsize_t)a->shape[i];
        empty = empty || !shape[i];
    }
    if (w->gzip && !empty && (creation = chunked(s, shape, a->n_dims, half ? 2 : 4)) < 0)
        return false;
    space = a->n_dims ? s->h5.H5Screate_simple_(a->n_dims, shape, NULL)
                      : s->h5.H5Screate_(H5S_SCALAR);
    if (space >= 0)
        set = s->h5.H5Dcreate2_(s->file, s->key.data, type, space,
                                bi_utf8_valid(s->key.data) ? s->links_utf8 : s->links, creation,
                                H5P_DEFAULT);
    if (set >= 0) {
        ok = s->h5.H5Dwrite_(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0;
        ok &= s->h5.H5Dclose_(set) >= 0;
    }
    if (space >= 0)
        s->h5.H5Sclose_(space);
    if (creation != s->creation)
        s->h5.H5Pclose_(creation);
    return ok;
}

static bool put_original_id(struct hdf5 *s, const char *name, const char *id)
{
    hid_t object = s->h5.H5Oopen_(s->file, name, H5P_DEFAULT);
    bool ok;
    if (object < 0)
        return false;
    ok = put_attribute(s, object, "original_id", id);
    return s->h5.H5Oclose_(object) >= 0 && ok;
}

/* Says where the dataset s->key lies on a genome, by attributes that are texts. */
static bool put_place(struct hdf5 *s, const struct bi_window_place *p)
{
    hid_t set = s->h5.H5Oopen_(s->file, s->key.data, H5P_DEFAULT);
    char contig[256], start[24], bin_size[24];
    bool ok;
    if (set < 0)
        return false;
    snprintf(contig, sizeof contig, "%.*s", (int)p->n_contig, p->contig);
    snprintf(start, sizeof start, "%lld", p->start);
    snprintf(bin_size, sizeof bin_size, "%lld", p->bin_size);
    ok = put_attribute(s, set, "contig", contig) && put_attribute(s, set, "start", start) &&
         put_attribute(s, set, "bin_size", bin_size);
    return s->h5.H5Oclose_(set) >= 0 && ok;
}

static int h5_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                  struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    int st = 0;
    for (int i = 0; i < r->n_arrays && !st; i++) {
        struct bi_window_place place;
        const void *bytes;
        size_t size;
        bool last;
        if ((st = bi_array_bytes(w, r, &r->arrays[i], &bytes, &size, err)))
            return st;
        if (bi_array_key(&s->key, name, r, &r->arrays[i]))
            return bi_writer_check(w, &s->key, err);
        bi_hdf5_enter(&s->h5);
        if (!put_dataset(w, &r->arrays[i], bytes))
            st = fail(w, "writing a dataset", err);
        else if (bi_read_place(r, i, &place, &last) && !put_place(s, &place))
            st = fail(w, "writing attributes of a window", err);
        bi_hdf5_leave(&s->h5);
    }
    if (!st && r->n_arrays && strcmp(name, r->id)) {
        bi_hdf5_enter(&s->h5);
        if (!put_original_id(s, name, r->id))
            st = fail(w, "writing an attribute", err);
        bi_hdf5_leave(&s->h5);
    }
    return st;
}

/* Closes what is open in libhdf5; false when data may be lost. */
static bool close_file(struct hdf5 *s)
{
    bool ok = true;
    if (s->links >= 0)
        s->h5.H5Pclose_(s->links);
    if (s->links_utf8 >= 0)
        s->h5.H5Pclose_(s->links_utf8);
    if (s->creation >= 0)
        s->h5.H5Pclose_(s->creation);
    if (s->text_type >= 0)
        s->h5.H5Tclose_(s->text_type);
    if (s->half_type >= 0)
        s->h5.H5Tclose_(s->half_type);
    if (s->rows >= 0)
        ok = s->h5.H5Dclose_(s->rows) >= 0;
    if (s->ids >= 0)
        ok &= s->h5.H5Dclose_(s->ids) >= 0;
    if (s->file >= 0)
        ok &= s->h5.H5Fclose_(s->file) >= 0;
    s->file = s->links = s->links_utf8 = s->creation = -1;
    s->text_type = s->half_type = s->rows = s->ids = -1;
    return ok;
}

static int h5_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    int st = 0;
    bi_hdf5_enter(&s->h5);
    if (w->kinds.size && !put_about(s, "kinds", w->kinds.data))
        st = fail(w, "attribute kinds", err);
    else if (w->units.size && !put_about(s, "units", w->units.data))
        st = fail(w, "attribute units", err);
    else if (!put_about(s, "fingerprint", w->params.fingerprint))
        st = fail(w, "attribute fingerprint", err);
    else if (!close_file(s))
        st = fail(w, "closing the file", err);
    bi_hdf5_leave(&s->h5);
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
        bi_hdf5_enter(&s->h5);
        close_file(s);
        bi_hdf5_leave(&s->h5);
    }
    if (s->temp)
        unlink(s->temp);
    bi_hdf5_unload(&s->h5);
    bi_columns_close(&s->columns);
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
    .columns = &bi_writer_h5_columns,
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
    hid_t space = s->h5.H5Screate_simple_(n_dims, shape, most), set = -1;
    hid_t creation = s->h5.H5Pcreate_(*s->h5.H5P_CLS_DATASET_CREATE_ID_g_);
    if (space >= 0 && creation >= 0 && s->h5.H5Pset_obj_track_times_(creation, 0) >= 0 &&
        s->h5.H5Pset_chunk_(creation, n_dims, chunk) >= 0 && (!gzip || add_filters(s, creation)))
        set = s->h5.H5Dcreate2_(s->file, name, type, space, s->links, creation, H5P_DEFAULT);
    if (creation >= 0)
        s->h5.H5Pclose_(creation);
    if (space >= 0)
        s->h5.H5Sclose_(space);
    return set;
}

/* Writes rows [from, from + count[0]) of a dataset. */
static bool write_rows(struct hdf5 *s, hid_t set, hid_t type, int n_dims, int64_t from,
                       const hsize_t *count, const void *bytes)
{
    const hsize_t first[4] = {(hsize_t)from};
    hid_t all = -1, here = -1;
    bool ok = (all = s->h5.H5Dget_space_(set)) >= 0 &&
              (here = s->h5.H5Screate_simple_(n_dims, count, NULL)) >= 0 &&
              s->h5.H5Sselect_hyperslab_(all, H5S_SELECT_SET, first, NULL, count, NULL) >= 0 &&
              s->h5.H5Dwrite_(set, type, here, all, H5P_DEFAULT, bytes) >= 0;
    if (here >= 0)
        s->h5.H5Sclose_(here);
    if (all >= 0)
        s->h5.H5Sclose_(all);
    return ok;
}

/* Adds n rows behind the `have` rows of a dataset. */
static bool put_rows(struct hdf5 *s, hid_t set, hid_t type, int n_dims, int64_t have, int64_t n,
                     int64_t width, const void *bytes)
{
    const hsize_t shape[2] = {(hsize_t)(have + n), (hsize_t)width};
    const hsize_t count[2] = {(hsize_t)n, (hsize_t)width};
    return s->h5.H5Dset_extent_(set, shape) >= 0 &&
           write_rows(s, set, type, n_dims, have, count, bytes);
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
    bi_hdf5_enter(&s->h5);
    s->rows = make_growing(s, w->params.matrix_name,
                           w->half ? s->half_type : *s->h5.H5T_IEEE_F32LE_g_, chunk, 2,
                           s->width < 0 ? 0 : s->width, w->gzip);
    s->ids = make_growing(s, BI_ROWS_IDS, s->text_type, chunk, 1, 0, false);
    if (s->rows < 0 || s->ids < 0)
        st = fail(w, "creating the datasets", err);
    bi_hdf5_leave(&s->h5);
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
    bi_hdf5_enter(&s->h5);
    if (s->n_waiting && (!put_rows(s, s->rows, w->half ? s->half_type : *s->h5.H5T_IEEE_F32LE_g_, 2,
                                   s->n, s->n_waiting, s->width, s->waiting.data) ||
                         !put_rows(s, s->ids, s->text_type, 1, s->n, s->n_waiting, 0, ids)))
        st = fail(w, "writing rows", err);
    bi_hdf5_leave(&s->h5);
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

/* ---- arrays of all records: a dataset for each, offsets and ids; units are attributes ---- */

/* A dataset that is written a piece of rows at a time. */
struct filling {
    const struct bioinfer_writer *w;
    hid_t set, type;
    int n_dims;
    int64_t n;         /* rows written */
    hsize_t piece[4];  /* the shape of a piece; [0]: its rows */
    size_t size;       /* bytes of a row */
    struct bi_buf ids; /* pointers to texts, and then the texts */
};

static hid_t type_of(const struct hdf5 *s, const char *type)
{
    return !strcmp(type, "<f8")   ? *s->h5.H5T_IEEE_F64LE_g_
           : !strcmp(type, "<f4") ? *s->h5.H5T_IEEE_F32LE_g_
           : !strcmp(type, "<i8") ? *s->h5.H5T_STD_I64LE_g_
                                  : *s->h5.H5T_STD_I32LE_g_;
}

/* Makes a dataset of its final shape, f->piece, in compressed chunks where they are asked for.
 * item_size: bytes of a number, 0 = texts; unit: "" = none. */
static int make_filling(struct filling *f, const char *name, const char *unit, size_t item_size,
                        struct bioinfer_error *err)
{
    struct hdf5 *s = f->w->state;
    hid_t creation = s->creation, space = -1;
    bool ok = true;
    int st = 0;
    bi_hdf5_enter(&s->h5);
    if (f->w->gzip && item_size && f->piece[0]) /* a chunk of nothing is an error */
        ok = (creation = chunked(s, f->piece, f->n_dims, item_size)) >= 0;
    ok = ok && (space = s->h5.H5Screate_simple_(f->n_dims, f->piece, NULL)) >= 0 &&
         (f->set = s->h5.H5Dcreate2_(s->file, name, f->type, space, s->links, creation,
                                     H5P_DEFAULT)) >= 0 &&
         (!*unit || put_attribute(s, f->set, "unit", unit));
    if (!ok)
        st = fail(f->w, "creating a dataset", err);
    if (space >= 0)
        s->h5.H5Sclose_(space);
    if (creation >= 0 && creation != s->creation)
        s->h5.H5Pclose_(creation);
    bi_hdf5_leave(&s->h5);
    return st;
}

static int fill(struct filling *f, int64_t n, const void *values, struct bioinfer_error *err)
{
    struct hdf5 *s = f->w->state;
    int st = 0;
    f->piece[0] = (hsize_t)n;
    bi_hdf5_enter(&s->h5);
    if (!write_rows(s, f->set, f->type, f->n_dims, f->n, f->piece, values))
        st = fail(f->w, "writing rows", err);
    bi_hdf5_leave(&s->h5);
    f->n += n;
    return st;
}

static int take_values(void *user, const void *bytes, size_t n, struct bioinfer_error *err)
{
    struct filling *f = user;
    return fill(f, (int64_t)(n / f->size), bytes, err);
}

/* Takes ids that fill f->size bytes each, with zeros behind them. */
static int take_ids(void *user, const void *bytes, size_t n, struct bioinfer_error *err)
{
    struct filling *f = user;
    const size_t n_ids = n / f->size, pointers = n_ids * sizeof(char *);
    const char **ids;
    char *text;
    f->ids.size = 0;
    if (!(ids = (const char **)(void *)bi_buf_reserve(&f->ids, pointers + n + n_ids)))
        return bi_writer_check(f->w, &f->ids, err);
    text = (char *)ids + pointers;
    for (size_t i = 0; i < n_ids; i++, text += f->size + 1) {
        memcpy(text, (const char *)bytes + i * f->size, f->size);
        text[f->size] = '\0';
        ids[i] = text;
    }
    return fill(f, (int64_t)n_ids, ids, err);
}

/* Closes a dataset. */
static int end_filling(struct filling *f, int st, struct bioinfer_error *err)
{
    struct hdf5 *s = f->w->state;
    bi_buf_free(&f->ids);
    if (f->set < 0)
        return st;
    bi_hdf5_enter(&s->h5);
    if (s->h5.H5Dclose_(f->set) < 0 && !st)
        st = fail(f->w, "closing a dataset", err);
    bi_hdf5_leave(&s->h5);
    return st;
}

static int put_column(struct bioinfer_writer *w, int i, struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    const struct bi_column *c = &s->columns.of[i];
    struct filling f = {
        .w = w, .set = -1, .type = type_of(s, c->type), .n_dims = c->n_dims, .size = c->size};
    int st;
    for (int k = 0; k < c->n_dims; k++)
        f.piece[k] = (hsize_t)c->shape[k];
    if (!(st = make_filling(&f, c->name, c->unit, (size_t)(c->type[2] - '0'), err)))
        st = bi_columns_rows(&s->columns, w, i, take_values, &f, err);
    return end_filling(&f, st, err);
}

static int put_ids(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    struct bi_rows *ids = &s->columns.ids;
    struct filling f = {.w = w,
                        .set = -1,
                        .type = s->text_type,
                        .n_dims = 1,
                        .size = ids->longest,
                        .piece = {(hsize_t)ids->n},
                        .ids.env = w->env};
    int st = make_filling(&f, BI_ROWS_IDS, "", 0, err);
    if (!st)
        st = bi_rows_ids(ids, w, take_ids, &f, err);
    return end_filling(&f, st, err);
}

static int columns_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    int st = h5_open(w, err);
    struct hdf5 *s = w->state;
    return st ? st : bi_columns_open(&s->columns, w, err);
}

static int columns_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                       struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    return bi_columns_put(&s->columns, w, r, name, err);
}

static int columns_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct hdf5 *s = w->state;
    int st = 0;
    for (int i = 0; i <= s->columns.n && !st; i++)
        st = put_column(w, i, err);
    if (st || (st = put_ids(w, err)))
        return st;
    return h5_finish(w, err);
}

const struct bi_writer_ops bi_writer_h5_columns = {
    .name = "h5",
    .suffix = ".h5",
    .suffix2 = ".hdf5",
    .has_gzip = true,
    .columns = &bi_writer_h5_columns,
    .check = bi_columns_check,
    .ready = h5_ready,
    .open = columns_open,
    .rename = bi_rows_rename,
    .put = columns_put,
    .finish = columns_finish,
    .close = h5_close,
};

#endif

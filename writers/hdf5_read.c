/* hdf5_read.c - lists and reads the datasets of an HDF5 file, through libhdf5.
 *
 * Names are looked at as they stand: groups to a depth of 8, names of a KiB. What is deeper or
 * longer is left out, which the listing says. */
#define _GNU_SOURCE
#include "hdf5_read.h"

#include "hdf5_library.h"

#if BI_HDF5

#include <stdio.h>
#include <string.h>

enum { MOST_LISTED = 1000, MOST_LEVELS = 8, NAME_SIZE = 1024 };

struct bi_hdf5_file {
    const struct bi_env *env;
    struct bi_hdf5 h5;
    const char *path; /* the caller's */
    hid_t file;       /* -1 = none */
};

static int damaged(const struct bi_hdf5_file *f, const char *name, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: libhdf5 cannot read%s%.200s%s: damaged, or cut off",
                   f->path, *name ? " '" : " it", name, *name ? "'" : "");
}

int bi_hdf5_open(struct bi_hdf5_file **out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err)
{
    struct bi_hdf5_file *f = bi_zalloc(env, sizeof *f);
    int st;
    *out = f;
    if (!f)
        return bi_fail(err, BIOINFER_NOMEM, "%s: reader", path);
    f->env = env;
    f->path = path;
    f->file = -1;
    if ((st = bi_hdf5_load(&f->h5, path, err)))
        return st;
    bi_hdf5_enter(&f->h5);
    f->file = f->h5.H5Fopen_(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    bi_hdf5_leave(&f->h5);
    return f->file < 0 ? damaged(f, "", err) : 0;
}

void bi_hdf5_close(struct bi_hdf5_file **file)
{
    struct bi_hdf5_file *f = *file;
    if (!f)
        return;
    if (f->file >= 0) {
        bi_hdf5_enter(&f->h5);
        f->h5.H5Fclose_(f->file);
        bi_hdf5_leave(&f->h5);
    }
    bi_hdf5_unload(&f->h5);
    bi_free(f->env, f);
    *file = NULL;
}

/* ---- datasets ---- */

struct walk {
    struct bi_hdf5_file *f;
    bi_hdf5_take take;
    void *user;
    bool cut; /* longer names, deeper groups, links to other things */
    int status;
};

static void take_dataset(struct walk *w, hid_t set, const char *name)
{
    const struct bi_hdf5 *h5 = &w->f->h5;
    hid_t space = h5->H5Dget_space_(set), type = h5->H5Dget_type_(set);
    struct bi_hdf5_set s = {.name = name, .class = type < 0 ? -1 : (int)h5->H5Tget_class_(type)};
    hsize_t shape[H5S_MAX_RANK];
    s.rank = space < 0 ? -1 : h5->H5Sget_simple_extent_ndims_(space);
    s.width = type < 0 ? 0 : h5->H5Tget_size_(type);
    s.is_text = s.class == H5T_STRING && h5->H5Tis_variable_str_(type) > 0;
    if (s.rank > (int)BI_COUNT(s.shape) ||
        (s.rank > 0 && h5->H5Sget_simple_extent_dims_(space, shape, NULL) != s.rank))
        s.rank = -1;
    for (int k = 0; k < s.rank; k++)
        s.shape[k] = shape[k];
    w->status = w->take(w->user, &s);
    if (type >= 0)
        h5->H5Tclose_(type);
    if (space >= 0)
        h5->H5Sclose_(space);
}

/* Takes the datasets of a group by name, and those of the groups in it. */
static void walk_group(struct walk *w, hid_t group, const char *above, int level)
{
    const struct bi_hdf5 *h5 = &w->f->h5;
    char name[NAME_SIZE];
    H5G_info_t info = {0};
    if (h5->H5Gget_info_(group, &info) < 0)
        return;
    for (hsize_t k = 0; k < info.nlinks && !w->status; k++) {
        const size_t used = (size_t)snprintf(name, sizeof name, "%s%s", above, *above ? "/" : "");
        ssize_t length = used >= sizeof name
                             ? -1
                             : h5->H5Lget_name_by_idx_(group, ".", H5_INDEX_NAME, H5_ITER_INC, k,
                                                       name + used, sizeof name - used,
                                                       H5P_DEFAULT);
        hid_t object;
        if (length <= 0 || (size_t)length >= sizeof name - used) {
            w->cut = true;
            continue;
        }
        if ((object = h5->H5Oopen_(group, name + used, H5P_DEFAULT)) < 0)
            continue; /* a link to nothing */
        if (h5->H5Iget_type_(object) == H5I_DATASET)
            take_dataset(w, object, name);
        else if (h5->H5Iget_type_(object) == H5I_GROUP && level < MOST_LEVELS)
            walk_group(w, object, name, level + 1);
        else
            w->cut = true;
        h5->H5Oclose_(object);
    }
}

int bi_hdf5_each(struct bi_hdf5_file *f, bi_hdf5_take take, void *user, bool *cut,
                 struct bioinfer_error *err)
{
    struct walk w = {.f = f, .take = take, .user = user};
    hid_t root;
    bi_hdf5_enter(&f->h5);
    if ((root = f->h5.H5Oopen_(f->file, "/", H5P_DEFAULT)) >= 0) {
        walk_group(&w, root, "", 0);
        f->h5.H5Oclose_(root);
    }
    bi_hdf5_leave(&f->h5);
    *cut = w.cut;
    return root < 0 ? damaged(f, "", err) : w.status;
}

/* ---- values ---- */

/* Reads rows [first, first + n) of a dataset whose shape is still that one. */
static bool read_rows(struct bi_hdf5_file *f, hid_t set, const struct bi_hdf5_set *s,
                      uint64_t first, uint64_t n, float *dst)
{
    const struct bi_hdf5 *h5 = &f->h5;
    hsize_t start[BI_HDF5_RANK] = {0}, count[BI_HDF5_RANK] = {0}, shape[H5S_MAX_RANK];
    hid_t all = h5->H5Dget_space_(set), here = -1;
    bool ok = all >= 0 && h5->H5Sget_simple_extent_ndims_(all) == s->rank;
    if (ok && s->rank) {
        ok = h5->H5Sget_simple_extent_dims_(all, shape, NULL) == s->rank;
        for (int k = 0; k < s->rank; k++) {
            ok = ok && shape[k] == s->shape[k];
            count[k] = s->shape[k];
        }
        start[0] = first;
        count[0] = n;
        ok = ok && h5->H5Sselect_hyperslab_(all, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
    }
    here = !ok       ? -1
           : s->rank ? h5->H5Screate_simple_(s->rank, count, NULL)
                     : h5->H5Screate_(H5S_SCALAR);
    ok = ok && here >= 0 &&
         h5->H5Dread_(set, *h5->H5T_IEEE_F32LE_g_, here, all, H5P_DEFAULT, dst) >= 0;
    if (here >= 0)
        h5->H5Sclose_(here);
    if (all >= 0)
        h5->H5Sclose_(all);
    return ok;
}

int bi_hdf5_read(struct bi_hdf5_file *f, const struct bi_hdf5_set *s, uint64_t first, uint64_t n,
                 float *dst, struct bioinfer_error *err)
{
    uint64_t row = 1, all = 1, begin, end;
    float *rows = dst;
    hid_t set;
    bool ok = true;
    if (!n)
        return 0;
    for (int k = 1; k < s->rank; k++)
        ok = ok && bi_mul_size(row, s->shape[k], &row);
    ok = ok && bi_mul_size(row, s->rank > 0 ? s->shape[0] : 1, &all);
    if (!ok || !bi_range_ok(first, n, all)) /* so that a row has elements */
        return damaged(f, s->name, err);
    ok = false;
    begin = first / row;
    end = (first + n - 1) / row + 1;
    if ((first % row || n % row) && !(rows = bi_calloc(f->env, (end - begin) * row, sizeof *rows)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: values of '%.200s'", f->path, s->name);
    bi_hdf5_enter(&f->h5);
    if ((set = f->h5.H5Dopen2_(f->file, s->name, H5P_DEFAULT)) >= 0) {
        ok = read_rows(f, set, s, begin, end - begin, rows);
        f->h5.H5Dclose_(set);
    }
    bi_hdf5_leave(&f->h5);
    if (ok && rows != dst)
        memcpy(dst, rows + first % row, (size_t)n * sizeof *dst);
    if (rows != dst)
        bi_free(f->env, rows);
    return ok ? 0 : damaged(f, s->name, err);
}

/* ---- texts ---- */

/* Reads texts of any length into all[n], which free_texts() gives back to libhdf5. */
static bool read_texts(struct bi_hdf5_file *f, const char *name, uint64_t n, char **all,
                       hid_t *type, hid_t *space)
{
    const struct bi_hdf5 *h5 = &f->h5;
    hid_t set = h5->H5Dopen2_(f->file, name, H5P_DEFAULT);
    hsize_t shape[H5S_MAX_RANK];
    bool ok = false;
    if (set >= 0 && (*type = h5->H5Dget_type_(set)) >= 0 &&
        (*space = h5->H5Dget_space_(set)) >= 0 && h5->H5Tis_variable_str_(*type) > 0 &&
        h5->H5Sget_simple_extent_ndims_(*space) == 1 &&
        h5->H5Sget_simple_extent_dims_(*space, shape, NULL) == 1 && shape[0] == n)
        ok = h5->H5Dread_(set, *type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0;
    if (set >= 0)
        h5->H5Dclose_(set);
    return ok;
}

static void free_texts(struct bi_hdf5_file *f, char **all, bool read, hid_t type, hid_t space)
{
    if (read)
        f->h5.H5Dvlen_reclaim_(type, space, H5P_DEFAULT, all);
    if (space >= 0)
        f->h5.H5Sclose_(space);
    if (type >= 0)
        f->h5.H5Tclose_(type);
}

int bi_hdf5_texts(struct bi_hdf5_file *f, const char *name, uint64_t n, bi_hdf5_take_text take,
                  void *user, struct bioinfer_error *err)
{
    char **all = bi_calloc(f->env, (size_t)n + 1, sizeof *all);
    hid_t type = -1, space = -1;
    int st = 0;
    bool ok;
    if (!all)
        return bi_fail(err, BIOINFER_NOMEM, "%s: texts of '%.200s'", f->path, name);
    bi_hdf5_enter(&f->h5);
    ok = read_texts(f, name, n, all, &type, &space);
    for (uint64_t i = 0; i < n && ok && !st; i++)
        st = take(user, (size_t)i, all[i] ? all[i] : "");
    free_texts(f, all, ok, type, space);
    bi_hdf5_leave(&f->h5);
    bi_free(f->env, all);
    return ok ? st : damaged(f, name, err);
}

int bi_hdf5_about(struct bi_hdf5_file *f, const char *name, bi_hdf5_take_text take, void *user)
{
    const struct bi_hdf5 *h5 = &f->h5;
    hid_t root, attribute = -1, type = -1, space = -1;
    char *text = NULL;
    bool ok = false;
    int st = 0;
    bi_hdf5_enter(&f->h5);
    if ((root = h5->H5Oopen_(f->file, "/", H5P_DEFAULT)) >= 0)
        attribute = h5->H5Aopen_(root, name, H5P_DEFAULT);
    if (attribute >= 0 && (type = h5->H5Aget_type_(attribute)) >= 0 &&
        (space = h5->H5Aget_space_(attribute)) >= 0 && h5->H5Tis_variable_str_(type) > 0 &&
        h5->H5Sget_simple_extent_ndims_(space) == 0)
        ok = h5->H5Aread_(attribute, type, &text) >= 0;
    if (ok && text)
        st = take(user, 0, text);
    free_texts(f, &text, ok, type, space);
    if (attribute >= 0)
        h5->H5Aclose_(attribute);
    if (root >= 0)
        h5->H5Oclose_(root);
    bi_hdf5_leave(&f->h5);
    return st;
}

/* ---- listing ---- */

struct listing {
    struct bi_buf *out;
    uint64_t n;
};

static int print_dataset(void *user, const struct bi_hdf5_set *s)
{
    static const char *const classes[] = {"int",  "float",           "time",     "string",
                                          "bits", "opaque",          "compound", "reference",
                                          "enum", "variable-length", "array"};
    struct listing *l = user;
    if (l->n++ >= MOST_LISTED)
        return 1;
    bi_buf_printf(l->out, "  %s %s", s->name,
                  s->class >= 0 && s->class < (int)BI_COUNT(classes) ? classes[s->class]
                                                                     : "of an unknown type");
    if (s->class == 0 || s->class == 1)
        bi_buf_printf(l->out, "%zu", 8 * s->width);
    bi_buf_puts(l->out, " [");
    for (int k = 0; k < s->rank; k++)
        bi_buf_printf(l->out, "%s%llu", k ? ", " : "", (unsigned long long)s->shape[k]);
    bi_buf_puts(l->out, "]\n");
    return 0;
}

int bi_hdf5_list(struct bi_buf *out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err)
{
    struct bi_hdf5_file *f = NULL;
    struct listing l = {.out = out};
    bool cut = false;
    int st = bi_hdf5_open(&f, env, path, err);
    if (!st) {
        bi_buf_printf(out, "%s: HDF5\ndatasets:\n", path);
        st = bi_hdf5_each(f, print_dataset, &l, &cut, err);
    }
    if (st > 0 || (!st && cut))
        bi_buf_printf(out, "  ... the first %llu are listed\n",
                      (unsigned long long)(l.n < MOST_LISTED ? l.n : MOST_LISTED));
    bi_hdf5_close(&f);
    return st > 0 ? 0 : st;
}

#else

static int absent(const char *path, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: this is HDF5, and bioinfer was built without it",
                   path);
}

int bi_hdf5_open(struct bi_hdf5_file **out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err)
{
    (void)env;
    *out = NULL;
    return absent(path, err);
}

void bi_hdf5_close(struct bi_hdf5_file **file)
{
    *file = NULL;
}

int bi_hdf5_each(struct bi_hdf5_file *f, bi_hdf5_take take, void *user, bool *cut,
                 struct bioinfer_error *err)
{
    (void)f, (void)take, (void)user, (void)cut;
    return absent("HDF5", err);
}

int bi_hdf5_read(struct bi_hdf5_file *f, const struct bi_hdf5_set *s, uint64_t first, uint64_t n,
                 float *dst, struct bioinfer_error *err)
{
    (void)f, (void)s, (void)first, (void)n, (void)dst;
    return absent("HDF5", err);
}

int bi_hdf5_texts(struct bi_hdf5_file *f, const char *name, uint64_t n, bi_hdf5_take_text take,
                  void *user, struct bioinfer_error *err)
{
    (void)f, (void)name, (void)n, (void)take, (void)user;
    return absent("HDF5", err);
}

int bi_hdf5_about(struct bi_hdf5_file *f, const char *name, bi_hdf5_take_text take, void *user)
{
    (void)f, (void)name, (void)take, (void)user;
    return 0;
}

int bi_hdf5_list(struct bi_buf *out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err)
{
    (void)out, (void)env;
    return absent(path, err);
}

#endif

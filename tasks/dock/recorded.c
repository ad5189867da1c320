/* recorded.c - random numbers of another program, for comparisons with it. */
#include <math.h>
#include <string.h>

#include "../../loaders/npy.h"
#include "../../loaders/zip.h"
#include "dock.h"

enum { MOST_NUMBERS = 1 << 26 };

struct archive {
    struct bi_file file;
    struct bi_zip zip;
    const char *path;
};

/* Shape and type of an array of rank 3, as checked; *begin: where its numbers are in the file. */
static int read_shape(const struct archive *a, const struct bi_zip_entry *e, uint64_t shape[3],
                      bool *wide, uint64_t *begin, struct bioinfer_error *err)
{
    struct bi_npy npy;
    uint8_t head[12] = {0};
    uint64_t n = 1;
    int st = bi_npy_read(&npy, &a->file, e->data, e->size, e->name, err);
    if (!st)
        st = bi_file_read(&a->file, e->data, head, sizeof head, err);
    if (st)
        return st;
    *wide = !strcmp(npy.dtype, "<f8");
    if (npy.rank != 3 || npy.fortran || (!*wide && strcmp(npy.dtype, "<f4") != 0))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: %s: %s of %d axes, expected float32 or float64 of 3 in C order",
                       a->path, e->name, npy.dtype, npy.rank);
    for (int k = 0; k < 3; k++) {
        shape[k] = npy.shape[k];
        if (shape[k] > MOST_NUMBERS || (n *= shape[k]) > MOST_NUMBERS)
            return bi_fail(err, BIOINFER_LIMIT, "%s: %s: more than %d numbers", a->path, e->name,
                           MOST_NUMBERS);
    }
    /* the length of the header's text has two bytes in version 1, and four in later ones */
    *begin = 10 + head[8] + 256u * head[9];
    if (head[6] > 1)
        *begin += 2 + (head[10] + 256u * head[11]) * 65536u;
    n *= *wide ? sizeof(double) : sizeof(float);
    if (*begin > e->size || n != e->size - *begin)
        return bi_fail(err, BIOINFER_FORMAT, "%s: %s: %llu bytes, expected %llu", a->path, e->name,
                       (unsigned long long)e->size, (unsigned long long)(*begin + n));
    *begin += e->data;
    return 0;
}

/* The numbers of an array of rank 3 in the arena; *out stays NULL where it is not there. */
static int read_array(const struct archive *a, struct bi_arena *arena, const char *name,
                      uint64_t shape[3], const double **out, struct bioinfer_error *err)
{
    const struct bi_zip_entry *e = bi_zip_find(&a->zip, name, strlen(name));
    uint64_t begin = 0;
    bool wide = false;
    int st = e ? read_shape(a, e, shape, &wide, &begin, err) : 0;
    if (!e || st)
        return st;
    const size_t width = wide ? sizeof(double) : sizeof(float);
    const uint64_t n = shape[0] * shape[1] * shape[2];
    double *x = bi_arena_calloc(arena, (size_t)n + 1, sizeof *x);
    if (!x)
        return bi_fail(err, BIOINFER_NOMEM, "%s: %llu numbers", a->path, (unsigned long long)n);
    /* float32 is read into the second half, and spread from there */
    char *raw = (char *)x + (size_t)n * (sizeof *x - width);
    if ((st = bi_file_read(&a->file, begin, raw, (size_t)n * width, err)))
        return st;
    for (size_t i = 0; i < n; i++) {
        float narrow;
        if (!wide) {
            memcpy(&narrow, raw + i * width, width);
            x[i] = (double)narrow;
        }
        if (!isfinite(x[i]))
            return bi_fail(err, BIOINFER_FORMAT, "%s: %s: number %zu is not finite", a->path, name,
                           i);
    }
    *out = x;
    return 0;
}

static int check(const char *path, const char *what, uint64_t got, int64_t wanted, bool exact,
                 struct bioinfer_error *err)
{
    if (exact ? got == (uint64_t)wanted : got >= (uint64_t)wanted)
        return 0;
    return bi_fail(err, BIOINFER_MISMATCH, "%s: %llu %s, expected %lld%s", path,
                   (unsigned long long)got, what, (long long)wanted, exact ? "" : " or more");
}

static int read_arrays(struct bi_dock_recorded *out, const struct archive *a, int n_steps,
                       int n_samples, const struct bi_dock_ligand *l, struct bioinfer_error *err)
{
    uint64_t noise[3] = {0}, start[3] = {0};
    const double *x = NULL;
    int st = read_array(a, &out->arena, "noise.npy", noise, &out->noise, err);
    if (!st && !out->noise)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: no array 'noise'", a->path);
    if (!st)
        st = read_array(a, &out->arena, "start.npy", start, &x, err);
    if (st || (st = check(a->path, "steps of noise", noise[0], n_steps, false, err)) ||
        (st = check(a->path, "samples of noise", noise[1], n_samples, false, err)) ||
        (st = check(a->path, "numbers of noise a step", noise[2], 6 + l->n_torsions, true, err)))
        return st;
    if (x && ((st = check(a->path, "samples that start", start[0], n_samples, false, err)) ||
              (st = check(a->path, "atoms that start", start[1], l->n, true, err)) ||
              (st = check(a->path, "coordinates of an atom", start[2], 3, true, err))))
        return st;
    out->n_steps = (int32_t)noise[0];
    out->n_samples = (int32_t)noise[1];
    out->n_torsions = l->n_torsions;
    out->n_atoms = l->n;
    out->start = (const double(*)[3])x;
    return 0;
}

int bi_dock_recorded_read(struct bi_dock_recorded *out, const char *path, int n_steps,
                          int n_samples, const struct bi_dock_ligand *ligand,
                          struct bioinfer_error *err)
{
    const struct bi_env *env = out->arena.env;
    struct archive a = {.file = BI_FILE_NONE, .zip = {.env = env, .any_name = true}, .path = path};
    int st = bi_file_open(&a.file, env, path, err);
    if (!st && !(st = bi_zip_open(&a.zip, &a.file, err)) && !(st = bi_zip_check(&a.zip, err)))
        st = read_arrays(out, &a, n_steps, n_samples, ligand, err);
    bi_zip_close(&a.zip);
    bi_file_close(&a.file);
    return st;
}

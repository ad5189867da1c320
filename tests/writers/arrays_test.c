/* arrays_test.c - the numbers of arrays and how files lay them out: float16, one matrix.
 *
 * "arrays_test --samples FOLDER" writes the files that read_back.py compares. */
#define _GNU_SOURCE
#include "../../writers/hdf5_read.h"
#include "../../writers/writer.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "../faults.h"
#include "../test.h"

/* ---- 1 a folder and its files ---- */

static char folder[256] = "/tmp/bioinfer-arrays-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Removes all files of the folder and returns how many there were. */
static int empty_folder(void)
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.' && !unlink(in_folder(e->d_name));
    closedir(d);
    return n;
}

static unsigned char *slurp(const char *name, size_t *size)
{
    struct bi_env env = bi_env_default();
    char *text = NULL;
    CHECK_EQ(bi_file_slurp(&env, in_folder(name), 1 << 28, &text, size, NULL), 0);
    return (unsigned char *)text;
}

/* ---- 2 results and writers ---- */

/* Value k of record i; read_back.py has the same formula. */
static float value(uint64_t i, uint64_t k)
{
    return (float)((double)((i * 31 + k * 7) % 1000) - 500) / 7.0f;
}

static struct bioinfer_result vector_of(uint64_t i, const char *id, struct bioinfer_array *a,
                                        const float *values, int64_t n)
{
    *a = (struct bioinfer_array){
        .kind = "mean", .has_layer = 1, .layer = 6, .n_dims = 1, .shape = {n}, .data = values};
    return (struct bioinfer_result){.ordinal = i,
                                    .id = id,
                                    .length = 3,
                                    .message = "",
                                    .n_arrays = 1,
                                    .arrays = a,
                                    .n_layers_kept = 1,
                                    .n_kinds = 1};
}

static struct bi_env environment;

static struct bioinfer_writer *open_with(const char *name, struct bioinfer_writer_params p)
{
    struct bioinfer_writer *w = NULL;
    struct bioinfer_error err = {0};
    p.struct_size = sizeof p;
    p.model = "esm2 \"tiny\"";
    p.fingerprint = "00112233445566778899aabbccddeeff";
    if (!CHECK(!bi_writer_open(&w, &environment, in_folder(name), &p, &err)))
        fprintf(stderr, "    %s\n", err.text);
    return w;
}

static void finish(struct bioinfer_writer **w)
{
    struct bioinfer_error err = {0};
    if (!CHECK(!bi_writer_finish(*w, &err)))
        fprintf(stderr, "    %s\n", err.text);
    bi_writer_close(w);
}

/* ---- 3 half precision ---- */

/* Is it a format of arrays, not of text? */
static bool has_arrays(const char *format)
{
    return strcmp(format, "jsonl") && strcmp(format, "tsv") && strcmp(format, "esm-pt");
}

/* Every 1,054th float32, all kinds of NaN and infinity among them, as float16. */
static void rounds_to_half(void)
{
    enum { STEP = 1054 };
    struct bioinfer_writer *w = open_with("a.npy", (struct bioinfer_writer_params){.dtype = "f16"});
    float *x = malloc(((size_t)UINT32_MAX / STEP + 1) * sizeof *x);
    size_t size, n = 0, wrong = 0;
    struct bioinfer_array a;
    struct bioinfer_result r;
    unsigned char *p;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STEP) {
        union {
            uint32_t u;
            float f;
        } v = {.u = (uint32_t)bits};
        if (!(fabsf(v.f) >= 65520 && fabsf(v.f) < INFINITY))
            x[n++] = v.f;
    }
    r = vector_of(0, "all", &a, x, (int64_t)n);
    CHECK(!bi_writer_put(w, &r, NULL));
    finish(&w);
    p = slurp("a.npy", &size);
    CHECK(!memcmp(p + 10, "{'descr': '<f2', 'fortran_order': False, 'shape': (1, ", 54));
    CHECK_EQ(size, 10 + bi_le16(p + 8) + 2 * n);
    for (size_t i = 0; i < n; i++)
        wrong += bi_le16(p + size - 2 * (n - i)) != bi_f32_to_f16(x[i]);
    CHECK_EQ(wrong, 0);
    free(p);
    free(x);
    empty_folder();
}

/* The header of safetensors names the type that the bytes have. */
static void names_half(void)
{
    static const struct {
        const char *dtype, *entry;
    } cases[] = {{"f32", "\"P1\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}"},
                 {"f16", "\"P1\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[0,6]}"}};
    static const float values[3] = {1, -2, 0.5F};
    for (size_t k = 0; k < BI_COUNT(cases); k++) {
        struct bioinfer_writer *w = open_with(
            "a.safetensors", (struct bioinfer_writer_params){.dtype = cases[k].dtype});
        struct bioinfer_array a;
        const struct bioinfer_result r = vector_of(0, "P1", &a, values, 3);
        unsigned char *p;
        size_t size;
        CHECK(!bi_writer_put(w, &r, NULL));
        finish(&w);
        p = slurp("a.safetensors", &size);
        CHECK(memmem(p, size, cases[k].entry, strlen(cases[k].entry)) != NULL);
        free(p);
        empty_folder();
    }
}

/* A value that would become infinite is refused; formats of text know no float16. */
static void refuses_what_half_cannot_hold(void)
{
    static const struct {
        float x;
        bool fits;
    } cases[] = {{65519.99F, true}, {-65519.99F, true}, {65520, false}, {-65520, false},
                 {3e38F, false},    {INFINITY, true},   {NAN, true},    {1e-30F, true}};
    for (int i = 0; bi_writer_format(i); i++) {
        const char *format = bi_writer_format(i);
        struct bioinfer_writer_params p = {
            .struct_size = sizeof p, .format = format, .dtype = "f16"};
        struct bioinfer_writer *w = NULL;
        struct bioinfer_error err = {0};
        if (!has_arrays(format)) {
            CHECK_EQ(bi_writer_open(&w, &environment, in_folder("x"), &p, &err), BIOINFER_INVALID);
            CHECK_HAS(err.text, "holds no float16 (f16); npz, npy");
            continue;
        }
        for (size_t k = 0; k < BI_COUNT(cases); k++) {
            const float values[3] = {1, cases[k].x, 2};
            struct bioinfer_array a;
            struct bioinfer_result r = vector_of(0, "P1", &a, values, 3);
            w = open_with("x", p);
            CHECK_EQ(bioinfer_result_fits(&r, "f32", &err), 0);
            CHECK_EQ(bioinfer_result_fits(&r, NULL, &err), 0);
            CHECK_EQ(bioinfer_result_fits(&r, "f16", &err),
                     cases[k].fits ? 0 : BIOINFER_OUT_OF_RANGE);
            CHECK_EQ(bi_writer_put(w, &r, &err), cases[k].fits ? 0 : BIOINFER_OUT_OF_RANGE);
            if (!cases[k].fits) {
                CHECK_HAS(err.text, "record 'P1': mean: value ");
                CHECK_HAS(err.text, " at place 1 is beyond 65504, the largest of float16 "
                                    "(1 of 3 values are)");
            }
            bi_writer_close(&w);
        }
    }
    struct bioinfer_writer_params p = {.struct_size = sizeof p, .dtype = "bf16"};
    struct bioinfer_writer *w = NULL;
    struct bioinfer_error err = {0};
    CHECK_EQ(bi_writer_open(&w, &environment, in_folder("x.npz"), &p, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "unknown type of numbers 'bf16', expected f32 or f16");
    CHECK_EQ(empty_folder(), 0);
}

/* ---- 4 the layout matrix ---- */

/* Writes `rows` vectors of 5 values; id 3 is too long, 4 empty, 5 no UTF-8, 6 and 7 are equal. */
static int write_matrix(const struct bi_env *env, const char *path, const char *format,
                        uint64_t rows, struct bioinfer_error *err)
{
    struct bioinfer_writer_params p = {
        .struct_size = sizeof p, .format = format, .layout = "matrix", .model = "esm2 \"tiny\""};
    struct bioinfer_writer *w = NULL;
    int st = bi_writer_open(&w, env, path, &p, err);
    for (uint64_t k = 0; k < rows && !st; k++) {
        float values[5];
        char id[301];
        struct bioinfer_array a;
        struct bioinfer_result r = vector_of(k, id, &a, values, 5);
        snprintf(id, sizeof id, "id%d", (int)k - (k == 7));
        if (k == 3)
            memset(id, 'x', 300), id[300] = '\0';
        if (k == 4 || k == 5)
            strcpy(id, k == 4 ? "" : "\xFF\xC3\xA9");
        for (uint64_t v = 0; v < 5; v++)
            values[v] = value(k, v);
        r.status = k == 9 ? BIOINFER_EMPTY : 0;
        st = bi_writer_put(w, &r, err);
    }
    if (!st)
        st = bi_writer_finish(w, err);
    bi_writer_close(&w);
    return st;
}

static void refuses_what_is_no_row(void)
{
    for (int i = 0; bi_writer_format(i); i++) {
        const char *format = bi_writer_format(i);
        struct bioinfer_writer_params p = {
            .struct_size = sizeof p, .format = format, .layout = "matrix"};
        struct bioinfer_writer *w = NULL;
        struct bioinfer_error err = {0};
        const float values[8] = {0};
        struct bioinfer_array a[2];
        struct bioinfer_result r = vector_of(0, "P1", a, values, 4);
        if (!has_arrays(format)) {
            CHECK_EQ(bi_writer_open(&w, &environment, in_folder("x"), &p, &err), BIOINFER_INVALID);
            CHECK_HAS(err.text, "has no layout matrix; npz, npy");
            continue;
        }
        for (int k = 0; k < 3; k++) {
            w = open_with("x", p);
            CHECK_EQ(bi_writer_put(w, &r, &err), 0);
            a[1] = a[0];
            a[0].n_dims = k == 0 ? 2 : 1;
            a[0].shape[0] = k == 2 ? 5 : 4;
            a[0].shape[1] = 1;
            r.n_arrays = k == 1 ? 2 : 1;
            CHECK_EQ(bi_writer_put(w, &r, &err), BIOINFER_INVALID);
            CHECK_HAS(err.text, k == 0   ? "one vector per record, got 'mean' of 2 dimensions"
                                : k == 1 ? "per record, got 2 (several kinds or layers)"
                                         : "record 'P1' has 5 values, the ones before have 4");
            r = vector_of(0, "P1", a, values, 4);
            bi_writer_close(&w);
            CHECK_EQ(empty_folder(), 0);
        }
    }
    struct bioinfer_writer_params p = {.struct_size = sizeof p, .layout = "rows"};
    struct bioinfer_writer *w = NULL;
    struct bioinfer_error err = {0};
    CHECK_EQ(bi_writer_open(&w, &environment, in_folder("x.npz"), &p, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "unknown layout 'rows', expected records or matrix");
}

/* Equal results are equal files, whatever was in the memory before. */
static void writes_the_same_matrix_twice(void)
{
    for (int i = 0; bi_writer_format(i); i++) {
        unsigned char *of[2];
        size_t size[2];
        if (!has_arrays(bi_writer_format(i)))
            continue;
        for (int k = 0; k < 2; k++) {
            CHECK(!write_matrix(&environment, in_folder("x"), bi_writer_format(i), 9000, NULL));
            of[k] = slurp("x", &size[k]);
        }
        CHECK(size[0] == size[1] && !memcmp(of[0], of[1], size[0]));
        for (int k = 0; k < 2; k++)
            bi_free(&environment, of[k]);
        empty_folder();
    }
}

/* A bi_hdf5_take: ends at the dataset of a matrix. */
static int take_matrix(void *user, const struct bi_hdf5_set *s)
{
    static char name[100];
    struct bi_hdf5_set *matrix = user;
    if (s->rank != 2 || s->class != 1)
        return 0;
    snprintf(name, sizeof name, "%.99s", s->name);
    *matrix = *s;
    matrix->name = name;
    return 1;
}

/* Elements of HDF5 that a dataset has are read, and shapes that have no such elements are refused:
 * one of none, and one of more than a file has room for. */
static void reads_hdf5(void)
{
    static const uint64_t shapes[][3] = {
        {9, 0, 0}, {9, 0, 5}, {9, 5, 0}, {0, 5, 1}, {1, 1ULL << 32, 1ULL << 32}, {1, 1, 1}};
    enum { ROWS = 9 }; /* id 9 has none */
    struct bi_hdf5_set matrix = {0};
    struct bi_hdf5_file *f = NULL;
    const char *path = in_folder("x");
    float got[8];
    bool is_there = false, cut;
    for (int i = 0; bi_writer_format(i); i++)
        is_there |= !strcmp(bi_writer_format(i), "h5");
    if (!is_there)
        return;
    CHECK(!write_matrix(&environment, path, "h5", ROWS, NULL));
    if (CHECK(!bi_hdf5_open(&f, &environment, path, NULL)) &&
        CHECK_EQ(bi_hdf5_each(f, take_matrix, &matrix, &cut, NULL), 1)) {
        const uint64_t width = matrix.shape[1];
        CHECK_EQ(matrix.shape[0], ROWS);
        for (uint64_t at = 0; at + 8 <= ROWS * width; at++) {
            long wrong = 0;
            CHECK_EQ(bi_hdf5_read(f, &matrix, at, 8, got, NULL), 0);
            for (uint64_t k = 0; k < 8; k++)
                wrong += got[k] != value((at + k) / width, (at + k) % width);
            CHECK_EQ(wrong, 0);
        }
        CHECK_EQ(bi_hdf5_read(f, &matrix, ROWS * width - 7, 8, got, NULL), BIOINFER_FORMAT);
        matrix.rank = 3;
        for (size_t i = 0; i < BI_COUNT(shapes); i++) {
            struct bioinfer_error err = {0};
            memcpy(matrix.shape, shapes[i], sizeof shapes[i]);
            CHECK_EQ(bi_hdf5_read(f, &matrix, 0, 1, got, &err), BIOINFER_FORMAT);
            CHECK_HAS(err.text, path);
        }
        CHECK_EQ(bi_hdf5_read(f, &matrix, UINT64_MAX, 8, got, NULL), BIOINFER_FORMAT);
    }
    bi_hdf5_close(&f);
    empty_folder();
}

/* Whichever system call fails, it is told and leaves no file. */
static void survives_faults(void)
{
    for (int i = 0; bi_writer_format(i); i++)
        for (int kind = BI_FAULT_ALLOC; kind < BI_FAULT_COUNT; kind++)
            for (int at = 1;; at++) {
                struct test_fault f = {(enum bi_fault)kind, at, 0, ENOSPC, true};
                struct bi_env env = environment;
                struct bioinfer_error err = {0};
                int st;
                if (!has_arrays(bi_writer_format(i)))
                    break;
                env.fault = test_on_fault;
                env.fault_user = &f;
                st = write_matrix(&env, in_folder("x"), bi_writer_format(i), 20, &err);
                if (f.count < at) {
                    CHECK_EQ(st, 0);
                    empty_folder();
                    break;
                }
                CHECK(st != 0 && err.status == st && *err.text);
                CHECK_EQ(empty_folder(), 0);
            }
}

/* ---- 5 samples for read_back.py ---- */

static void write_samples(void)
{
    static const char *const odd[] = {"\xC3\xA9", "a/b", "sp|P1|X Y", "..", "\"q\""};
    for (int i = 0; bi_writer_format(i); i++) {
        const char *format = bi_writer_format(i);
        struct bioinfer_writer *w;
        char name[64];
        if (!has_arrays(format))
            continue;
        snprintf(name, sizeof name, "half.%s", format);
        w = open_with(name, (struct bioinfer_writer_params){.dtype = "f16"});
        for (uint64_t k = 0; k < 50; k++) {
            float values[5];
            struct bioinfer_array a;
            struct bioinfer_result r;
            char id[32];
            snprintf(id, sizeof id, "id%d", (int)k);
            for (uint64_t v = 0; v < 5; v++)
                values[v] = value(k, v);
            r = vector_of(k, k < 5 ? odd[k] : id, &a, values, 5);
            r.status = k == 7 ? BIOINFER_EMPTY : 0;
            CHECK(!bi_writer_put(w, &r, NULL));
        }
        finish(&w);
        for (int k = 0; k < 3; k++) {
            static const uint64_t rows[] = {0, 20, 20000};
            snprintf(name, sizeof name, "matrix%d.%s", (int)rows[k], format);
            CHECK_EQ(write_matrix(&environment, in_folder(name), format, rows[k], NULL), 0);
        }
    }
}

int main(int argc, char **argv)
{
    environment = bi_env_default();
    if (argc == 3 && !strcmp(argv[1], "--samples")) {
        snprintf(folder, sizeof folder, "%s", argv[2]);
        TEST(write_samples);
        return test_report();
    }
    if (!mkdtemp(folder))
        return 1;
    TEST(rounds_to_half);
    TEST(names_half);
    TEST(refuses_what_half_cannot_hold);
    TEST(refuses_what_is_no_row);
    TEST(writes_the_same_matrix_twice);
    TEST(reads_hdf5);
    TEST(survives_faults);
    rmdir(folder);
    return test_report();
}

/* frame.h - what tests of the writers share: a folder with its files, results to put into them. */
#ifndef WRITERS_FRAME_H
#define WRITERS_FRAME_H

#include "../../writers/writer.h"

#include <dirent.h>
#include <unistd.h>

#include "../test.h"

/* libhdf5 loses the memory of a file that it could not close on a full disk. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

/* ---- a folder and its files ---- */

static char folder[256] = "/tmp/bioinfer-writers-XXXXXX";

static inline const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int k;
    k = (k + 1) % 4;
    snprintf(paths[k], sizeof paths[k], "%s/%s", folder, name);
    return paths[k];
}

/* Names in the folder, sorted, joined by a space. */
static inline const char *listing(void)
{
    static char text[4096];
    struct dirent **names;
    int n = scandir(folder, &names, NULL, alphasort);
    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.') {
            strcat(text, text[0] ? " " : "");
            strcat(text, names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
    return text;
}

static inline void empty_folder(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && unlink(in_folder(e->d_name))) {
            struct bi_env env = bi_env_default();
            bi_folder_remove(&env, in_folder(e->d_name));
        }
    closedir(d);
}

static inline unsigned char *slurp(const char *name, size_t *n)
{
    FILE *f = fopen(in_folder(name), "rb");
    unsigned char *p = NULL;
    *n = 0;
    if (!CHECK(f != NULL))
        return calloc(1, 1);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    p = malloc(*n + 1);
    CHECK(fread(p, 1, *n, f) == *n);
    p[*n] = '\0';
    fclose(f);
    return p;
}

static inline void check_text(const char *name, const char *expected)
{
    size_t n;
    unsigned char *p = slurp(name, &n);
    CHECK_STR((char *)p, expected);
    free(p);
}

/* ---- results ---- */

static char logged[1024];

static inline void on_log(void *user, int level, const char *text)
{
    size_t n = strlen(logged);
    (void)user;
    snprintf(logged + n, sizeof logged - n, "%d:%s\n", level, text);
}

/* Value k of record i; read_back.py has the same formula. */
static inline float value(uint64_t i, uint64_t k)
{
    return (float)((double)((i * 31 + k * 7) % 1000) - 500) / 7.0f;
}

enum { MOST = 80000 };
static float buffer[3][MOST];

struct shape {
    const char *kind;
    int layer, n_dims;
    int64_t dims[4];
};

/* One result whose arrays are filled by value(). */
static inline int put(struct bioinfer_writer *w, uint64_t i, const char *id, int status,
                      const struct shape *shapes, int n_arrays, int n_layers, int n_kinds,
                      struct bioinfer_error *err)
{
    struct bioinfer_array arrays[3] = {0};
    struct bioinfer_result r = {.ordinal = i,
                                .id = id,
                                .length = 3,
                                .status = status,
                                .message = status ? "in.fa: record (line 3): why" : "",
                                .n_arrays = status ? 0 : n_arrays,
                                .arrays = arrays,
                                .n_layers_kept = n_layers,
                                .n_kinds = n_kinds};
    for (int k = 0; k < n_arrays; k++) {
        uint64_t n = 1;
        arrays[k] = (struct bioinfer_array){.kind = shapes[k].kind,
                                            .has_layer = shapes[k].layer >= 0,
                                            .layer = shapes[k].layer,
                                            .n_dims = shapes[k].n_dims,
                                            .data = buffer[k]};
        for (int d = 0; d < shapes[k].n_dims; d++) {
            arrays[k].shape[d] = shapes[k].dims[d];
            n *= (uint64_t)shapes[k].dims[d];
        }
        for (uint64_t v = 0; v < n; v++)
            buffer[k][v] = value(i + (uint64_t)k, v);
    }
    return bi_writer_put(w, &r, err);
}

static const struct shape mean5 = {"mean", 6, 1, {5}};

static inline struct bioinfer_writer *open_as(const char *name, const char *format, int suffix,
                                              int json_floats)
{
    struct bi_env env_value = bi_env_default();
    static struct bi_env env;
    struct bioinfer_writer *w = NULL;
    struct bioinfer_error err = {0};
    struct bioinfer_writer_params p = {.struct_size = sizeof p,
                                       .format = format,
                                       .suffix_duplicates = suffix,
                                       .json_floats = json_floats,
                                       .model = "esm2 \"tiny\"",
                                       .fingerprint = "00112233445566778899aabbccddeeff"};
    env = env_value;
    env.log = on_log;
    logged[0] = '\0';
    if (!CHECK(!bi_writer_open(&w, &env, in_folder(name), &p, &err)))
        fprintf(stderr, "    %s\n", err.text);
    return w;
}

static inline void finish(struct bioinfer_writer **w)
{
    struct bioinfer_error err = {0};
    if (!CHECK(!bi_writer_finish(*w, &err)))
        fprintf(stderr, "    %s\n", err.text);
    bi_writer_close(w);
    CHECK(!*w);
}

#endif

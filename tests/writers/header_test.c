/* header_test.c - how many records a safetensors header can name is known from the first result. */
#include "../../writers/writer.h"

#include "../test.h"

enum { LIMIT = 100000000, STEP = 64 };

/* Long names make few records do. */
static const char *name(char *text, int i)
{
    memset(text, 'x', 500);
    sprintf(text + 500, "%d", i);
    return text;
}

/* Bytes of the header's entry for one array of a record; *at is where its data begin. */
static uint64_t entry(const char *id, const char *kind, const struct bioinfer_array *a, int element,
                      uint64_t *at)
{
    uint64_t size = (uint64_t)element;
    char shape[64] = "";
    int n = 0;
    for (int k = 0; k < a->n_dims; k++) {
        n += sprintf(shape + n, "%s%d", k ? "," : "", (int)a->shape[k]);
        size *= (uint64_t)a->shape[k];
    }
    n = snprintf(NULL, 0, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}",
                 kind, shape, (unsigned long long)*at, (unsigned long long)(*at + size));
    *at += size;
    return (uint64_t)n + strlen(id);
}

/* Reserves records until the format refuses a result of theirs. The header of so many must be
 * larger than the limit, and that of STEP fewer must not. */
static void refuses(const char *dtype, const struct bioinfer_array *arrays, int n_arrays,
                    const char *const *kinds, int n_layers)
{
    const struct bioinfer_writer_params params = BIOINFER_PARAMS(
        struct bioinfer_writer_params, .format = "safetensors", .dtype = dtype);
    const struct bi_env env = bi_env_default();
    struct bioinfer_writer *w = NULL;
    struct bioinfer_error err = {0};
    uint64_t size = 0, at = 0, before = 0;
    char id[600];
    int st = bi_writer_new(&w, &env, "/nowhere/a.safetensors", &params, &err);
    CHECK(!st);
    for (int i = 0; !st && i < 900000; i++) {
        struct bioinfer_result r = {.ordinal = (uint64_t)i,
                                    .id = name(id, i),
                                    .length = 5,
                                    .n_arrays = n_arrays,
                                    .arrays = arrays,
                                    .n_layers_kept = n_layers,
                                    .n_kinds = n_arrays / n_layers};
        if ((st = w->ops->reserve(w, &r, &err)))
            break;
        for (int k = 0; k < n_arrays; k++)
            size += entry(id, kinds[k], &arrays[k], dtype ? 2 : 4, &at);
        if (i % STEP)
            continue;
        st = w->ops->check(w, &r, &err);
        if (!st)
            before = size;
    }
    CHECK_EQ(st, BIOINFER_LIMIT);
    CHECK_HAS(err.text,
              "/nowhere/a.safetensors: more tensors than a safetensors header of 100000000 ");
    CHECK(before <= LIMIT && size > LIMIT);
    bi_writer_close(&w);
}

static void of_means(void)
{
    const struct bioinfer_array mean = {.kind = "mean", .n_dims = 1, .shape = {1280}};
    static const char *const none[] = {""};
    refuses(NULL, &mean, 1, none, 1);
    refuses("f16", &mean, 1, none, 1);
}

static void of_several_arrays(void)
{
    static const char *const kinds[] = {"/layer_3/mean", "/layer_3/bos", "/layer_12/mean",
                                        "/layer_12/bos"};
    const struct bioinfer_array arrays[] = {
        {.kind = "mean", .has_layer = 1, .layer = 3, .n_dims = 1, .shape = {1280}},
        {.kind = "bos", .has_layer = 1, .layer = 3, .n_dims = 1, .shape = {1280}},
        {.kind = "mean", .has_layer = 1, .layer = 12, .n_dims = 1, .shape = {1280}},
        {.kind = "bos", .has_layer = 1, .layer = 12, .n_dims = 1, .shape = {1280}}};
    refuses(NULL, arrays, 4, kinds, 2);
}

/* Dimensions of residues or tokens may be as short as one in later records. */
static void of_what_varies(void)
{
    static const char *const kinds[] = {"/per-residue", "/attentions"};
    const struct bioinfer_array least[] = {
        {.kind = "per-residue", .n_dims = 2, .shape = {1, 48}},
        {.kind = "attentions", .n_dims = 4, .shape = {3, 4, 1, 1}}};
    struct bioinfer_array arrays[2] = {least[0], least[1]};
    const struct bioinfer_writer_params params = BIOINFER_PARAMS(struct bioinfer_writer_params,
                                                                 .format = "safetensors");
    const struct bi_env env = bi_env_default();
    struct bioinfer_writer *w = NULL;
    refuses(NULL, least, 2, kinds, 1);
    /* 400,000 records fit if they are short */
    CHECK(!bi_writer_new(&w, &env, "/nowhere/a.safetensors", &params, NULL));
    w->n_reserved = 400000;
    w->reserved_size = 10 * w->n_reserved;
    for (int64_t length = 1; length < 2000; length += 111) {
        const struct bioinfer_result r = {
            .length = length, .n_arrays = 2, .arrays = arrays, .n_layers_kept = 1, .n_kinds = 2};
        arrays[0].shape[0] = length;
        arrays[1].shape[2] = arrays[1].shape[3] = length + 2;
        CHECK(!w->ops->check(w, &r, NULL));
    }
    bi_writer_close(&w);
}

int main(void)
{
    TEST(of_means);
    TEST(of_several_arrays);
    TEST(of_what_varies);
    return test_report();
}

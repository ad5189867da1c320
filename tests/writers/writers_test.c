/* writers_test.c - every output format, read back by small naive readers.
 *
 * Sections: 1 naive readers  2 opening  3 round trips  4 names  5 failed records  6 texts
 *
 * "writers_test --samples FOLDER" writes the files that read_back.py compares. */
#define _GNU_SOURCE
#include "frame.h"

#include <sys/stat.h>
#include <zlib.h>

#include "../../writers/text.h"

static const struct shape mean_and_rows[2] = {{"mean", 6, 1, {5}}, {"per-residue", 6, 2, {3, 5}}};
static const struct shape layers[3] = {
    {"mean", 0, 1, {4}}, {"mean", 6, 1, {4}}, {"logits", -1, 2, {3, 2}}};

static bool has_h5(void)
{
    for (int i = 0; bi_writer_format(i); i++)
        if (!strcmp(bi_writer_format(i), "h5"))
            return true;
    return false;
}

/* ---- 1 naive readers ---- */

/* A float32 array found in a file. */
struct found {
    int n_dims;
    long dims[4];
    const unsigned char *data;
    size_t n;
};

static void read_npy(struct found *a, const unsigned char *p, size_t n)
{
    size_t header = bi_le16(p + 8);
    const char *shape, *end;
    memset(a, 0, sizeof *a);
    a->n = 1;
    CHECK(n >= 10 + header && !memcmp(p, "\x93NUMPY\x01\0", 8));
    CHECK((10 + header) % 64 == 0 && p[9 + header] == '\n');
    CHECK(!memcmp(p + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (", 51));
    for (shape = (const char *)p + 61; *shape != ')'; shape = end + strspn(end, ", ")) {
        a->dims[a->n_dims] = strtol(shape, (char **)(uintptr_t)&end, 10);
        a->n *= (size_t)a->dims[a->n_dims++];
    }
    CHECK((shape[-1] == ',') == (a->n_dims == 1)); /* Python's tuple of one */
    a->data = p + 10 + header;
    CHECK_EQ(n, 10 + header + 4 * a->n);
}

/* A member of a zip by its central directory; checks what the two headers say. */
static bool read_zip(struct found *a, const unsigned char *p, size_t n, const char *member,
                     size_t *n_members)
{
    bool any = false;
    size_t end, dir;
    for (end = n - 22; memcmp(p + end, "PK\5\6", 4); end--)
        ;
    CHECK_EQ(end + 22 + bi_le16(p + end + 20), n);
    CHECK(!memcmp(p + end - 20, "PK\6\7", 4));
    CHECK(!memcmp(p + bi_le64(p + end - 12), "PK\6\6", 4));
    *n_members = bi_le16(p + end + 10);
    dir = bi_le32(p + end + 16);
    CHECK_EQ(dir + bi_le32(p + end + 12), bi_le64(p + end - 12));
    for (size_t i = 0; i < *n_members; i++) {
        size_t n_name = bi_le16(p + dir + 28), extra = dir + 46 + n_name, local, data;
        uint64_t size = bi_le64(p + extra + 4);
        CHECK(!memcmp(p + dir, "PK\1\2", 4));
        local = bi_le64(p + extra + 20);
        data = local + 30 + n_name + bi_le16(p + local + 28);
        CHECK(!memcmp(p + local, "PK\3\4", 4) && data % 64 == 0);
        CHECK(!memcmp(p + local + 4, p + dir + 6, 24)); /* version to size of name */
        CHECK(!memcmp(p + local + 30, p + dir + 46, n_name));
        CHECK(bi_le64(p + local + 30 + n_name + 4) == size);
        CHECK_EQ(crc32_z(0, p + data, size), bi_le32(p + dir + 16));
        if (n_name == strlen(member) && !memcmp(p + dir + 46, member, n_name)) {
            CHECK(!any);
            any = true;
            read_npy(a, p + data, size);
        }
        dir = extra + bi_le16(p + dir + 30);
    }
    return any;
}

/* A tensor by its key as it stands in the JSON text. */
static bool read_safetensors(struct found *a, const unsigned char *p, size_t n, const char *key)
{
    uint64_t size = bi_le64(p), begin, stop;
    char *header = strndup((const char *)p + 8, size), pattern[256], *at, *end;
    memset(a, 0, sizeof *a);
    a->n = 1;
    CHECK(size % 8 == 0 && size + 8 <= n && header[0] == '{');
    snprintf(pattern, sizeof pattern, "\"%s\":{\"dtype\":\"F32\",\"shape\":[", key);
    at = strstr(header, pattern);
    if (at) {
        for (at += strlen(pattern); *at != ']'; at = end + (*end == ',')) {
            a->dims[a->n_dims] = strtol(at, &end, 10);
            a->n *= (size_t)a->dims[a->n_dims++];
        }
        CHECK(sscanf(at, "],\"data_offsets\":[%lu,%lu]}", &begin, &stop) == 2);
        CHECK_EQ(stop - begin, 4 * a->n);
        CHECK(8 + size + stop <= n);
        a->data = p + 8 + size + begin;
    }
    free(header);
    return at != NULL;
}

/* The array is record i's (plus k: its k-th array) of this shape. */
static void check_found(const struct found *a, uint64_t i, const struct shape *s)
{
    size_t n = 1;
    CHECK_EQ(a->n_dims, s->n_dims);
    for (int d = 0; d < s->n_dims; d++) {
        CHECK_EQ(a->dims[d], s->dims[d]);
        n *= (size_t)s->dims[d];
    }
    for (size_t v = 0; v < n && v < a->n; v++) {
        float x;
        memcpy(&x, a->data + 4 * v, 4);
        if (!CHECK(x == value(i, v)))
            break;
    }
}

/* ---- 2 opening ---- */

static void opens(void)
{
    static const struct {
        const char *path, *format;
        int status;
        const char *error;
    } cases[] = {
        {"x.bin", NULL, BIOINFER_INVALID, "no output format has this suffix, expected one of npz"},
        {"x", NULL, BIOINFER_INVALID, "no output format has this suffix"},
        {".npz", NULL, BIOINFER_INVALID, "no output format has this suffix"},
        {"x.npz", "zip", BIOINFER_INVALID, "unknown output format 'zip', expected one of npz"},
        {"x.npz", "", BIOINFER_INVALID, "unknown output format ''"},
        {"-", NULL, BIOINFER_INVALID, "standard output: name its format, jsonl or tsv"},
        {"-", "npz", BIOINFER_INVALID, "standard output: npz needs a file"},
        {"-", "npy", BIOINFER_INVALID, "standard output: npy needs a file"},
        {"-", "safetensors", BIOINFER_INVALID, "standard output: safetensors needs a file"},
    };
    struct bi_env env = bi_env_default();
    struct bioinfer_writer *w;
    struct bioinfer_error err;
    struct stat file;
    char pipe[sizeof folder + 8];
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct bioinfer_writer_params p = {.struct_size = sizeof p, .format = cases[i].format};
        CHECK_EQ(bi_writer_open(&w, &env, cases[i].path, &p, &err), cases[i].status);
        CHECK_HAS(err.text, cases[i].error);
        CHECK(!w);
    }
    for (int i = 0; bi_writer_format(i); i++) {
        struct bioinfer_writer_params p = {.struct_size = sizeof p, .format = bi_writer_format(i)};
        bool h5 = !strcmp(p.format, "h5");
        int st = bi_writer_open(&w, &env, "/no/such/folder/x", &p, &err);
        CHECK(st == BIOINFER_NOT_FOUND || (h5 && st == BIOINFER_IO));
        CHECK_HAS(err.text, "/no/such/folder/x");
        CHECK_EQ(bi_writer_open(&w, &env, folder, &p, &err), BIOINFER_IO);
        CHECK_HAS(err.text, "output is a folder");
        CHECK(!mkfifo(pipe, 0600)); /* as a device would be, it is never replaced by a file */
        CHECK_EQ(bi_writer_open(&w, &env, pipe, &p, &err), BIOINFER_IO);
        CHECK(!lstat(pipe, &file) && S_ISFIFO(file.st_mode) && !unlink(pipe));
    }
    CHECK(!bi_writer_format(-1) && !bi_writer_format(99));
    CHECK_STR(listing(), "");
}

static void refuses_misuse(void)
{
    for (int i = 0; bi_writer_format(i); i++) {
        struct bioinfer_writer *w = open_as("x", bi_writer_format(i), 0, 0);
        struct bioinfer_error err;
        char seen[4096];
        CHECK(!put(w, 0, "a", 0, &mean5, 1, 1, 1, &err));
        bi_writer_close(&w); /* without finish: nothing stays */
        CHECK_STR(listing(), "");
        bi_writer_close(&w);
        w = open_as("x", bi_writer_format(i), 0, 0);
        CHECK(!bi_writer_finish(w, &err));
        snprintf(seen, sizeof seen, "%s", listing());
        CHECK_EQ(put(w, 0, "a", 0, &mean5, 1, 1, 1, &err), BIOINFER_MISUSE);
        CHECK_HAS(err.text, "put after finish");
        CHECK_EQ(bi_writer_finish(w, &err), BIOINFER_MISUSE);
        bi_writer_close(&w);
        CHECK_STR(listing(), seen); /* close leaves what finish has made */
        empty_folder();
        w = open_as("x", bi_writer_format(i), 0, 0);
        struct shape bad = {"mean", 6, 1, {-1}};
        CHECK_EQ(put(w, 0, "a", 0, &bad, 0, 1, 1, &err),
                 strcmp(bi_writer_format(i), "npy") ? 0 : BIOINFER_INVALID);
        bi_writer_close(&w);
        CHECK_STR(listing(), "");
    }
}

/* ---- 3 round trips ---- */

static void writes_npz(void)
{
    struct bioinfer_writer *w = open_as("a.npz", NULL, 0, 0);
    struct found a;
    size_t n, n_members;
    unsigned char *p;
    struct shape empty = {"per-residue", 6, 2, {0, 5}}, scalar = {"mean", 6, 0, {0}};
    CHECK(!put(w, 0, "P1", 0, &mean5, 1, 1, 1, NULL));
    CHECK(!put(w, 1, "\xC3\xA9", 0, &mean_and_rows[1], 1, 1, 1, NULL));
    CHECK(!put(w, 2, "empty", 0, &empty, 1, 1, 1, NULL));
    CHECK(!put(w, 3, "scalar", 0, &scalar, 1, 1, 1, NULL));
    finish(&w);
    CHECK_STR(listing(), "a.npz");
    p = slurp("a.npz", &n);
    CHECK(read_zip(&a, p, n, "P1.npy", &n_members));
    check_found(&a, 0, &mean5);
    CHECK(read_zip(&a, p, n, "\xC3\xA9.npy", &n_members));
    check_found(&a, 1, &mean_and_rows[1]);
    CHECK(read_zip(&a, p, n, "empty.npy", &n_members));
    check_found(&a, 2, &empty);
    CHECK(read_zip(&a, p, n, "scalar.npy", &n_members));
    check_found(&a, 3, &scalar);
    CHECK_EQ(n_members, 4);
    CHECK_STR((char *)p + n -
                  strlen("bioinfer 0.1.0 esm2 \"tiny\" 00112233445566778899aabbccddeeff\n"
                         "kinds mean,per-residue"),
              "bioinfer 0.1.0 esm2 \"tiny\" 00112233445566778899aabbccddeeff\n"
              "kinds mean,per-residue");
    free(p);
    empty_folder();
}

/* Several threads make the CRC of a large member: any number of pieces, even and uneven ones. */
static void writes_large_members(void)
{
    static const int64_t rows[] = {(1 << 19) - 1, 1 << 19, (1 << 19) + 1, (1 << 20) - 3, 17 << 20};
    struct bioinfer_writer *w = open_as("a.npz", NULL, 0, 0);
    struct found a;
    size_t n, n_members;
    unsigned char *p;
    float *values = malloc((size_t)(17 << 20) * sizeof *values);
    w->n_threads = 3;
    for (int64_t i = 0; i < 17 << 20; i++)
        values[i] = (float)i;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct bioinfer_array one = {.kind = "mean",
                                           .has_layer = 1,
                                           .layer = 6,
                                           .n_dims = 1,
                                           .shape = {rows[i]},
                                           .data = values};
        char id[16];
        const struct bioinfer_result r = {.ordinal = i,
                                          .id = id,
                                          .length = 3,
                                          .message = "",
                                          .n_arrays = 1,
                                          .arrays = &one,
                                          .n_layers_kept = 1,
                                          .n_kinds = 1};
        snprintf(id, sizeof id, "id%zu", i);
        CHECK(!bi_writer_put(w, &r, NULL));
    }
    finish(&w);
    p = slurp("a.npz", &n);
    CHECK(!read_zip(&a, p, n, "none.npy", &n_members)); /* it looks at the CRC of all */
    CHECK_EQ(n_members, sizeof rows / sizeof *rows);
    free(p);
    free(values);
    empty_folder();
}

static void names_arrays(void)
{
    struct bioinfer_writer *w = open_as("a.npz", NULL, 0, 0);
    struct found a;
    size_t n, n_members;
    unsigned char *p;
    CHECK(!put(w, 0, "x", 0, mean_and_rows, 2, 1, 2, NULL));
    finish(&w);
    p = slurp("a.npz", &n);
    CHECK(read_zip(&a, p, n, "x/mean.npy", &n_members));
    check_found(&a, 0, &mean_and_rows[0]);
    CHECK(read_zip(&a, p, n, "x/per-residue.npy", &n_members));
    check_found(&a, 1, &mean_and_rows[1]);
    free(p);
    w = open_as("a.npz", NULL, 0, 0); /* over the old one */
    CHECK(!put(w, 7, "x", 0, layers, 3, 2, 2, NULL));
    finish(&w);
    p = slurp("a.npz", &n);
    CHECK(read_zip(&a, p, n, "x/layer_0/mean.npy", &n_members));
    check_found(&a, 7, &layers[0]);
    CHECK(read_zip(&a, p, n, "x/layer_6/mean.npy", &n_members));
    check_found(&a, 8, &layers[1]);
    CHECK(read_zip(&a, p, n, "x/logits.npy", &n_members));
    check_found(&a, 9, &layers[2]);
    CHECK_EQ(n_members, 3);
    free(p);
    empty_folder();
}

static void writes_many_members(void)
{
    enum { N = 70000 }; /* more than the end record's 16 bits hold */
    struct bioinfer_writer *w = open_as("a.npz", NULL, 0, 0);
    struct shape one = {"mean", 6, 1, {1}};
    size_t n, end;
    unsigned char *p;
    for (int i = 0; i < N; i++) {
        char id[16];
        snprintf(id, sizeof id, "id%d", i);
        if (!CHECK(!put(w, (uint64_t)i, id, 0, &one, 1, 1, 1, NULL)))
            break;
    }
    finish(&w);
    p = slurp("a.npz", &n);
    for (end = n - 22; memcmp(p + end, "PK\5\6", 4); end--)
        ;
    CHECK_EQ(bi_le16(p + end + 10), 0xFFFF);
    CHECK_EQ(bi_le64(p + bi_le64(p + end - 12) + 32), N);
    free(p);
    empty_folder();
}

static void writes_npy(void)
{
    for (int rows = 0; rows < 12; rows += rows < 2 ? 1 : 9) {
        struct bioinfer_writer *w = open_as("a.npy", NULL, 0, 0);
        struct found a;
        char ids[256] = "";
        size_t n;
        unsigned char *p;
        for (int i = 0; i < rows; i++) {
            CHECK(!put(w, (uint64_t)i, i % 2 ? "dup" : "x\ny", 0, &mean5, 1, 1, 1, NULL));
            strcat(ids, i % 2 ? "dup\n" : "x y\n");
        }
        finish(&w);
        CHECK_STR(listing(), "a.ids.txt a.npy");
        check_text("a.ids.txt", ids);
        p = slurp("a.npy", &n);
        read_npy(&a, p, n);
        CHECK_EQ(a.n_dims, 2);
        CHECK_EQ(a.dims[0], rows);
        CHECK_EQ(a.dims[1], rows ? 5 : 0);
        for (int i = 0; i < rows; i++) {
            float x;
            memcpy(&x, a.data + 20 * i + 16, 4);
            CHECK(x == value((uint64_t)i, 4));
        }
        free(p);
        empty_folder();
    }
}

static void refuses_shapes(void)
{
    static const char *const formats[] = {"npy", "tsv"};
    struct shape mean6 = {"mean", 6, 1, {6}};
    struct bioinfer_error err, first;
    for (int i = 0; i < 2; i++) {
        struct bioinfer_writer *w = open_as("a.out", formats[i], 0, 0);
        CHECK_EQ(put(w, 0, "x", 0, &mean_and_rows[1], 1, 1, 1, &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, "holds one vector per record, got 'per-residue' of 2 dimensions; "
                            "formats that hold it: npz, safetensors");
        bi_writer_close(&w);
        w = open_as("a.out", formats[i], 0, 0);
        CHECK(!put(w, 0, "x", 0, &mean5, 1, 1, 1, &err));
        CHECK_EQ(put(w, 1, "y", 0, &mean6, 1, 1, 1, &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, "record 'y' has 6 values, the ones before have 5");
        /* later calls are told the first failure */
        first = err;
        CHECK_EQ(put(w, 1, "y", 0, &mean5, 1, 1, 1, &err), first.status);
        CHECK_STR(err.text, first.text);
        CHECK_EQ(bi_writer_finish(w, &err), first.status);
        CHECK_STR(err.text, first.text);
        bi_writer_close(&w);
        CHECK_STR(listing(), "");
    }
    struct bioinfer_writer *w = open_as("a.npy", NULL, 0, 0);
    CHECK_EQ(put(w, 0, "x", 0, layers, 2, 2, 1, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "npy holds one array per record, got 2");
    bi_writer_close(&w);
}

static void writes_safetensors(void)
{
    struct bioinfer_writer *w = open_as("a.safetensors", NULL, 0, 0);
    struct found a;
    size_t n;
    unsigned char *p;
    struct shape large = {"per-residue", 6, 2, {160, 500}};
    CHECK(!put(w, 0, "P\"1\\", 0, &mean5, 1, 1, 1, NULL));
    CHECK(!put(w, 1, "big", 0, &large, 1, 1, 1, NULL));
    CHECK(!put(w, 2, "r", 0, mean_and_rows, 2, 1, 2, NULL));
    CHECK(!put(w, 3, "__metadata__", 0, &mean5, 1, 1, 1, NULL));
    finish(&w);
    CHECK_STR(listing(), "a.safetensors");
    p = slurp("a.safetensors", &n);
    CHECK_HAS((char *)p + 8,
              "{\"__metadata__\":{\"format\":\"pt\",\"bioinfer\":\"0.1.0\",\"model\":"
              "\"esm2 \\\"tiny\\\"\",\"fingerprint\":\"00112233");
    CHECK_HAS((char *)p + 8, "eeff\",\"kinds\":\"mean,per-residue\"}");
    CHECK(read_safetensors(&a, p, n, "P\\\"1\\\\"));
    check_found(&a, 0, &mean5);
    CHECK(read_safetensors(&a, p, n, "big"));
    check_found(&a, 1, &large);
    CHECK(read_safetensors(&a, p, n, "r/per-residue"));
    check_found(&a, 3, &mean_and_rows[1]);
    CHECK(read_safetensors(&a, p, n, "seq_3"));
    CHECK_EQ(a.data + 4 * a.n - p, n); /* no byte behind the last tensor */
    free(p);
    w = open_as("a.safetensors", NULL, 0, 0);
    finish(&w);
    p = slurp("a.safetensors", &n);
    CHECK_EQ(n, 8 + bi_le64(p));
    free(p);
    empty_folder();
}

static void writes_jsonl(void)
{
    struct bioinfer_writer *w = open_as("a.jsonl", NULL, 0, 0);
    struct shape two = {"mean", -1, 1, {2}}, empty = {"per-residue", 6, 2, {2, 0}};
    CHECK(!put(w, 0, "a", 0, &two, 1, 1, 1, NULL));
    CHECK(!put(w, (uint64_t)1 << 53, "q\"\t\xFF", BIOINFER_EMPTY, NULL, 0, 1, 1, NULL));
    finish(&w);
    check_text(
        "a.jsonl",
        "{\"ordinal\":0,\"id\":\"a\",\"length\":3,\"status\":\"ok\",\"arrays\":[{\"kind\":\"mean\","
        "\"dtype\":\"f4\",\"shape\":[2],\"data\":\"btuOwm7bjMI=\"}]}\n"
        "{\"ordinal\":\"9007199254740992\",\"id\":\"q\\\"\\u0009\xEF\xBF\xBD\","
        "\"id_b64\":\"cSIJ/w==\",\"length\":3,\"status\":\"empty\","
        "\"message\":\"in.fa: record (line 3): why\"}\n");
    w = open_as("a.jsonl", NULL, 0, 1);
    CHECK(!put(w, 0, "a", 0, layers, 3, 2, 2, NULL));
    CHECK(!put(w, 1, "a", 0, &empty, 1, 1, 1, NULL));
    buffer[0][0] = NAN;
    finish(&w);
    check_text(
        "a.jsonl",
        "{\"ordinal\":0,\"id\":\"a\",\"length\":3,\"status\":\"ok\",\"arrays\":[{\"kind\":\"mean\","
        "\"layer\":0,\"dtype\":\"f4\",\"shape\":[4],\"data\":[-71.42857,-70.42857,-69.42857,"
        "-68.42857]},{\"kind\":\"mean\",\"layer\":6,\"dtype\":\"f4\",\"shape\":[4],\"data\":"
        "[-67,-66,-65,-64]},{\"kind\":\"logits\",\"unit\":\"logit\",\"dtype\":\"f4\","
        "\"shape\":[3,2],\"data\":"
        "[[-62.57143,-61.57143],[-60.57143,-59.57143],[-58.57143,-57.57143]]}]}\n"
        "{\"ordinal\":1,\"id\":\"a\",\"length\":3,\"status\":\"ok\",\"arrays\":[{"
        "\"kind\":\"per-residue\",\"layer\":6,\"dtype\":\"f4\",\"shape\":[2,0],"
        "\"data\":[[],[]]}]}\n");
    empty_folder();
}

static void writes_tsv(void)
{
    struct bioinfer_writer *w = open_as("a.tsv", NULL, 0, 0);
    struct shape two = {"mean", 6, 1, {2}}, four[2] = {{"mean", 0, 1, {2}}, {"bos", 6, 1, {2}}};
    CHECK(!put(w, 0, "bad", BIOINFER_BAD_RESIDUE, NULL, 0, 1, 1, NULL));
    CHECK(!put(w, 1, "b\td", BIOINFER_EMPTY, NULL, 0, 1, 1, NULL));
    CHECK(!put(w, 2, "x", 0, &two, 1, 1, 1, NULL));
    CHECK(!put(w, 3, "late", BIOINFER_TOO_LONG, NULL, 0, 1, 1, NULL));
    CHECK(!put(w, 4, "x", 0, &two, 1, 1, 1, NULL));
    finish(&w);
    check_text("a.tsv", "id\tlength\tstatus\tmessage\td0\td1\n"
                        "bad\t3\tbad_residue\tin.fa: record (line 3): why\t\t\n"
                        "b d\t3\tempty\tin.fa: record (line 3): why\t\t\n"
                        "x\t3\tok\t\t-62.57143\t-61.57143\n"
                        "late\t3\ttoo_long\tin.fa: record (line 3): why\t\t\n"
                        "x\t3\tok\t\t-53.714287\t-52.714287\n");
    w = open_as("a.tsv", NULL, 0, 0);
    CHECK(!put(w, 0, "x", 0, four, 2, 2, 2, NULL));
    CHECK(!put(w, 1, "y", BIOINFER_EMPTY, NULL, 0, 2, 2, NULL));
    finish(&w);
    check_text("a.tsv", "id\tlength\tstatus\tmessage\tlayer\tkind\td0\td1\n"
                        "x\t3\tok\t\t0\tmean\t-71.42857\t-70.42857\n"
                        "x\t3\tok\t\t6\tbos\t-67\t-66\n"
                        "y\t3\tempty\tin.fa: record (line 3): why\t\t\t\t\n");
    w = open_as("a.tsv", NULL, 0, 0);
    CHECK(!put(w, 0, "bad", BIOINFER_EMPTY, NULL, 0, 1, 1, NULL));
    finish(&w);
    check_text("a.tsv",
               "id\tlength\tstatus\tmessage\nbad\t3\tempty\tin.fa: record (line 3): why\n");
    empty_folder();
}

/* Equal results are equal files. */
static void writes_the_same_twice(void)
{
    for (int i = 0; bi_writer_format(i); i++) {
        bool many = !strcmp(bi_writer_format(i), "esm-pt");
        unsigned char *p[2];
        size_t n[2];
        for (int k = 0; k < 2; k++) {
            empty_folder();
            struct bioinfer_writer *w = open_as("x", bi_writer_format(i), 0, 0);
            CHECK(!put(w, 0, "a/b", 0, &mean5, 1, 1, 1, NULL));
            CHECK(!put(w, 1, "c", 0, &mean5, 1, 1, 1, NULL));
            finish(&w);
            p[k] = slurp(many ? "x/a_b.pt" : "x", &n[k]);
        }
        CHECK(n[0] == n[1] && n[0] && !memcmp(p[0], p[1], n[0]));
        free(p[0]);
        free(p[1]);
        empty_folder();
    }
}

/* ---- 4 names ---- */

static void keeps_names_safe(void)
{
    static const char *const cases[][2] = {
        /* clang-format off */
        {"../../etc/passwd", "_/_/etc/passwd"}, {"/etc/passwd", "_etc/passwd"},
        {"\\x", "_x"},                          {"a/../b", "a/_/b"},
        {"a\\..\\b", "a\\_\\b"},                {"..", "_"},
        {"a..b", "a..b"},                       {"...", "..."},
        {"x.npy", "x_npy"},                     {"a\tb\x7F", "a_b_"},
        {"", "seq_4"},                          {"sp|P1|X", "sp|P1|X"},
        {"a//b", "a//b"},                       {"b/..", "b/_"},
        {"\xFF", "\xFF"},                       {"./a", "./a"},
        /* clang-format on */
    };
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct bioinfer_writer *w = open_as("a.npz", NULL, 0, 0);
        char member[64];
        struct found a;
        size_t n, n_members;
        unsigned char *p;
        CHECK(!put(w, 4, cases[i][0], 0, &mean5, 1, 1, 1, NULL));
        finish(&w);
        snprintf(member, sizeof member, "%s.npy", cases[i][1]);
        p = slurp("a.npz", &n);
        CHECK(read_zip(&a, p, n, member, &n_members));
        CHECK(!strcmp(cases[i][0], cases[i][1]) == !logged[0]);
        free(p);
    }
    empty_folder();
}

static void limits_names(void)
{
    static char id[70000];
    static const struct {
        const char *format;
        size_t most;
    } cases[] = {{"npz", 60000}, {"safetensors", 900}, {"h5", 255}};
    for (size_t i = 0; i < BI_COUNT(cases); i++)
        for (size_t n = cases[i].most - 1; n <= cases[i].most + 1; n++) {
            struct bioinfer_writer *w;
            if (!strcmp(cases[i].format, "h5") && !has_h5())
                continue;
            memset(id, 'x', n);
            id[n] = '\0';
            w = open_as("x", cases[i].format, 0, 0);
            CHECK(!put(w, 3, id, 0, mean_and_rows, 2, 1, 2, NULL));
            CHECK_EQ(strlen(w->name.data), n > cases[i].most ? 5 : n);
            finish(&w);
        }
    empty_folder();
}

static void refuses_duplicates(void)
{
    static const char *const keyed[] = {"npz", "safetensors", "h5"};
    struct bioinfer_error err;
    for (size_t i = 0; i < BI_COUNT(keyed); i++) {
        struct bioinfer_writer *w;
        if (!strcmp(keyed[i], "h5") && !has_h5())
            continue;
        w = open_as("x", keyed[i], 0, 0);
        CHECK(!put(w, 0, "a", 0, &mean5, 1, 1, 1, &err));
        CHECK(!put(w, 1, "b", 0, &mean5, 1, 1, 1, &err));
        CHECK_EQ(put(w, 2, "a", 0, &mean5, 1, 1, 1, &err), BIOINFER_DUPLICATE_ID);
        CHECK_HAS(err.text, "id 'a' of record 2 and the id of record 0 are both stored as 'a'");
        bi_writer_close(&w);
        CHECK_STR(listing(), "");
        w = open_as("x", keyed[i], 0, 0); /* failed records have no array, so no key */
        CHECK(!put(w, 0, "a", BIOINFER_EMPTY, NULL, 0, 1, 1, &err));
        CHECK(!put(w, 1, "a", 0, &mean5, 1, 1, 1, &err));
        bi_writer_close(&w);
    }
    for (size_t i = 0; i < 3; i++) { /* different ids, one name */
        static const char *const pairs[][2] = {{"../x", "_/x"}, {"\xFE", "\xFF"}, {"a/b", "a_b"}};
        struct bioinfer_writer *w;
        if (!strcmp(keyed[i], "h5") && !has_h5())
            continue;
        w = open_as("x", keyed[i], 0, 0);
        CHECK(!put(w, 0, pairs[i][0], 0, &mean5, 1, 1, 1, &err));
        CHECK_EQ(put(w, 5, pairs[i][1], 0, &mean5, 1, 1, 1, &err), BIOINFER_DUPLICATE_ID);
        CHECK_HAS(err.text, "of record 5 and the id of record 0 are both stored as '");
        bi_writer_close(&w);
    }
    CHECK_STR(listing(), "");
}

static void suffixes_duplicates(void)
{
    static const char *const ids[] = {"a", "a", "a_2", "a", "a_2", "b", "a"};
    struct bioinfer_writer *w = open_as("a.npy", NULL, 1, 0);
    for (int i = 0; i < 7; i++)
        CHECK(!put(w, (uint64_t)i, ids[i], 0, &mean5, 1, 1, 1, NULL));
    finish(&w);
    check_text("a.ids.txt", "a\na_2\na_2_2\na_3\na_2_3\nb\na_4\n");
    w = open_as("a.npz", NULL, 1, 0);
    for (int i = 0; i < 50000; i++) /* no quadratic search for the next free name */
        if (!CHECK(!put(w, (uint64_t)i, "same", 0, &mean5, 1, 1, 1, NULL)))
            break;
    CHECK_STR(w->name.data, "same_50000");
    bi_writer_close(&w);
    empty_folder();
}

/* ---- 5 failed records ---- */

static void leaves_out_failed_records(void)
{
    for (int i = 0; bi_writer_format(i); i++) {
        const char *format = bi_writer_format(i);
        struct bioinfer_writer *w = open_as("x", format, 0, 0);
        CHECK(!put(w, 0, "a", 0, &mean5, 1, 1, 1, NULL));
        CHECK(!put(w, 1, "b\tc", BIOINFER_BAD_RESIDUE, NULL, 0, 1, 1, NULL));
        CHECK(!put(w, 2, "d", BIOINFER_NONFINITE, NULL, 0, 1, 1, NULL));
        CHECK(!put(w, 3, "e", 0, &mean5, 1, 1, 1, NULL));
        finish(&w);
        CHECK_STR(listing(), strcmp(format, "npy") ? "x" : "x x.ids.txt");
        if (!strcmp(format, "npy"))
            check_text("x.ids.txt", "a\ne\n");
        empty_folder();
    }
}

/* ---- 6 texts ---- */

static void checks_utf8(void)
{
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {
        /* clang-format off */
        {"a", 1},             {"\x7F", 1},         {"\x80", 0},         {"\xC0\x80", 0},
        {"\xC1\xBF", 0},      {"\xC2\x80", 2},     {"\xC2", 0},         {"\xDF\xBF", 2},
        {"\xE0\x9F\xBF", 0},  {"\xE0\xA0\x80", 3}, {"\xED\x9F\xBF", 3}, {"\xED\xA0\x80", 0},
        {"\xEF\xBF\xBF", 3},  {"\xE2\x82", 0},     {"\xE2\x82x", 0},    {"\xF0\x8F\xBF\xBF", 0},
        {"\xF0\x90\x80\x80", 4}, {"\xF4\x8F\xBF\xBF", 4}, {"\xF4\x90\x80\x80", 0},
        {"\xF5\x80\x80\x80", 0}, {"\xFF", 0},
        /* clang-format on */
    };
    for (size_t i = 0; i < BI_COUNT(cases); i++)
        CHECK_EQ(bi_utf8_char(cases[i].text, strlen(cases[i].text)), cases[i].n);
    CHECK(bi_utf8_valid("") && bi_utf8_valid("a\xC3\xA9") && !bi_utf8_valid("a\xC3"));
}

static void checks_base64(void)
{
    static const char *const cases[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"},
                                           {"\xFB\xFF", "+/8="}};
    struct bi_env env = bi_env_default();
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct bi_buf buf = {.env = &env};
        bi_put_base64(&buf, cases[i][0], strlen(cases[i][0]));
        CHECK_STR(bi_buf_text(&buf), cases[i][1]);
        bi_buf_free(&buf);
    }
}

/* ---- samples for read_back.py ---- */

static void write_samples(void)
{
    for (int i = 0; bi_writer_format(i); i++) {
        const char *format = bi_writer_format(i);
        bool vectors = !strcmp(format, "npy") || !strcmp(format, "tsv");
        char name[64];
        for (int kind = 0; kind < 3; kind++) {
            struct bioinfer_writer *w;
            if (kind && vectors)
                continue;
            if (kind == 2 && !strcmp(format, "esm-pt"))
                continue; /* has no place for logits */
            snprintf(name, sizeof name, "%s.%s",
                     kind == 2   ? "layers"
                     : kind == 1 ? "two"
                                 : "one",
                     format);
            w = open_as(name, format, 0, 0);
            if (!CHECK(w != NULL))
                continue;
            for (uint64_t k = 0; k < 50; k++) {
                const char *const odd[] = {"\xC3\xA9", "a/b", "sp|P1|X Y", "..", "\"q\""};
                char id[32];
                snprintf(id, sizeof id, "id%d", (int)k);
                CHECK(!put(w, k, k < 5 ? odd[k] : id, k == 7 ? BIOINFER_EMPTY : 0,
                           kind == 2   ? layers
                           : kind == 1 ? mean_and_rows
                                       : &mean5,
                           kind + 1, kind == 2 ? 2 : 1, kind ? 2 : 1, NULL));
            }
            finish(&w);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--samples")) {
        snprintf(folder, sizeof folder, "%s", argv[2]);
        TEST(write_samples);
        return test_report();
    }
    if (!mkdtemp(folder))
        return 1;
    TEST(opens);
    TEST(refuses_misuse);
    TEST(writes_npz);
    TEST(writes_large_members);
    TEST(names_arrays);
    TEST(writes_many_members);
    TEST(writes_npy);
    TEST(refuses_shapes);
    TEST(writes_safetensors);
    TEST(writes_jsonl);
    TEST(writes_tsv);
    TEST(writes_the_same_twice);
    TEST(keeps_names_safe);
    TEST(limits_names);
    TEST(refuses_duplicates);
    TEST(suffixes_duplicates);
    TEST(leaves_out_failed_records);
    TEST(checks_utf8);
    TEST(checks_base64);
    rmdir(folder);
    return test_report();
}

/* test_good.c - what must be read: known answers, JSON values, folders on disk, links,
 * the hub cache, CRCs, and files that change or are no files. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../test.h"

#include "../../loaders/reader.h"
#include "seeds.h"

static struct bi_env env;
static struct bioinfer_error err;
static char folder[] = "/tmp/bioinfer-loaders-XXXXXX";
static int n_warnings;

static void count_warnings(void *user, int level, const char *text)
{
    (void)user;
    n_warnings += level == BIOINFER_LOG_WARNING && text[0];
}

/* ---- known answers of the reference's own tests ---- */

static struct bi_checkpoint *open_bytes(const void *bytes, size_t size)
{
    struct bi_checkpoint *cp = NULL;
    err = (struct bioinfer_error){0};
    if (bi_checkpoint_open_memory(&cp, &env, "test", bytes, size, NULL, &err))
        CHECK(!cp);
    return cp;
}

static struct bi_checkpoint *open_header(const char *header, size_t n_data)
{
    struct bi_buf *kept = calloc(1, sizeof *kept); /* must outlive the checkpoint */
    struct bi_checkpoint *cp;
    if (!kept)
        return NULL;
    kept->env = &env;
    make_safetensors(kept, header, strlen(header), n_data);
    cp = open_bytes(kept->data, kept->size);
    if (cp) { /* read once here, so that the bytes may go */
        float values[16];
        for (size_t i = 0; i < cp->n_tensors; i++)
            CHECK_EQ(
                bi_tensor_read_f32(cp, &cp->tensors[i], 0, cp->tensors[i].n_elements, values, &err),
                0);
    } else {
        fprintf(stderr, "    %s: %s\n", header, err.text);
    }
    bi_buf_free(kept);
    free(kept);
    return cp;
}

static void known_answers(void)
{
    struct bi_checkpoint *cp = open_bytes("\x08\0\0\0\0\0\0\0{}      ", 16);
    if (CHECK(cp != NULL))
        CHECK_EQ(cp->n_tensors, 0);
    bi_checkpoint_close(&cp);
    cp = open_header("{\"test\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}", 16);
    if (CHECK(cp != NULL)) {
        CHECK_EQ(cp->tensors[0].offset, 8 + 0x3C);
        CHECK_EQ(cp->tensors[0].n_elements, 4);
        CHECK_EQ(cp->tensors[0].stride[0], 2);
    }
    bi_checkpoint_close(&cp);
    cp = open_header("{\"test\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4);
    if (CHECK(cp != NULL))
        CHECK_EQ(cp->tensors[0].n_elements, 1);
    bi_checkpoint_close(&cp);
    cp = open_header("{\"test\":{\"dtype\":\"I32\",\"shape\":[2,0],\"data_offsets\":[0, 0]}}", 0);
    if (CHECK(cp != NULL))
        CHECK_EQ(cp->tensors[0].n_elements, 0);
    bi_checkpoint_close(&cp);
    /* leading white space, any order, empty tensors between, eight dimensions, unknown
     * keys */
    cp = open_header(
        " \n{\"b\":{\"data_offsets\":[4,8],\"shape\":[1,1,1,1,1,1,1,1],\"dtype\":"
        "\"F32\","
        "\"extra\":[{}]},\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}"
        ","
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}} \r\n\t",
        8);
    if (CHECK(cp != NULL))
        CHECK_EQ(cp->n_tensors, 3);
    bi_checkpoint_close(&cp);
}

static void long_name(void)
{
    struct bi_buf header = {.env = &env};
    struct bi_checkpoint *cp;
    bi_buf_puts(&header, "{\"");
    for (int i = 0; i < BI_MAX_NAME; i++)
        bi_buf_putc(&header, 'n');
    bi_buf_puts(&header, "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}");
    cp = open_header(bi_buf_text(&header), 1);
    CHECK(cp && strlen(cp->tensors[0].name) == BI_MAX_NAME);
    bi_checkpoint_close(&cp);
    bi_buf_free(&header);
}

/* 20,000 tensors in reverse order: sorted and found. */
static void many_tensors(void)
{
    enum { N = 20000 };
    struct bi_buf header = {.env = &env}, out = {.env = &env};
    struct bi_checkpoint *cp;
    bi_buf_putc(&header, '{');
    for (int i = N; i-- > 0;)
        bi_buf_printf(&header,
                      "\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}%c", i, i,
                      i + 1, i ? ',' : '}');
    make_safetensors(&out, header.data, header.size, N);
    cp = open_bytes(out.data, out.size);
    if (CHECK(cp && cp->n_tensors == N)) {
        float v = -1;
        CHECK_EQ(bi_tensor_read_f32(cp, bi_checkpoint_find(cp, "t12345"), 0, 1, &v, &err), 0);
        CHECK(v == (float)(12345 % 256));
    }
    bi_checkpoint_close(&cp);
    bi_buf_free(&header);
    bi_buf_free(&out);
}

/* ---- JSON ---- */

static void json_values(void)
{
    static const char text[] =
        "{\"i\":18446744073709551615,\"o\":18446744073709551616,\"n\":-1,\"z\":0,\"e\":"
        "1e-05,"
        "\"f\":-2.5E+3,\"big\":1000000000000000019884624838656,\"inf\":1e999,\"tiny\":"
        "1e-999,"
        "\"zeros\":0.000,\"minus\":-0.0,\"exact\":0.1,\"long\":3."
        "14159265358979323846264338327950288419716939937510,"
        "\"s\":\"a\\\"\\\\\\/"
        "\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\",\"t\":true,\"x\":false,\"nil\":null,"
        "\"list\":[1,[],{},\"\"],\"\":1}";
    struct bi_arena arena = {.env = &env};
    struct bi_json *j = NULL;
    uint64_t u = 7;
    double d = 7;
    bool b = false;
    CHECK_EQ(bi_json_parse(&j, &arena, "test", text, sizeof text - 1, &err), 0);
    CHECK(bi_json_u64(bi_json_get(j, "i"), &u) && u == UINT64_MAX);
    CHECK(!bi_json_u64(bi_json_get(j, "o"), &u));
    CHECK(!bi_json_u64(bi_json_get(j, "n"), &u));
    CHECK(!bi_json_u64(bi_json_get(j, "e"), &u));
    CHECK(!bi_json_u64(bi_json_get(j, "s"), &u));
    CHECK(!bi_json_u64(bi_json_get(j, "absent"), &u) && u == UINT64_MAX);
    CHECK(bi_json_u64(bi_json_get(j, "z"), &u) && u == 0);
    CHECK(bi_json_double(bi_json_get(j, "e"), &d) && d == 1e-05);
    CHECK(bi_json_double(bi_json_get(j, "f"), &d) && d == -2500);
    CHECK(bi_json_double(bi_json_get(j, "big"), &d) && d == 1000000000000000019884624838656.0);
    CHECK(!bi_json_double(bi_json_get(j, "inf"), &d));
    CHECK(bi_json_double(bi_json_get(j, "tiny"), &d) && d == 0);
    CHECK(bi_json_double(bi_json_get(j, "zeros"), &d) && d == 0 && !signbit(d));
    CHECK(bi_json_double(bi_json_get(j, "minus"), &d) && d == 0 && signbit(d));
    CHECK(bi_json_double(bi_json_get(j, "exact"), &d) && d == 0.1);
    CHECK(bi_json_double(bi_json_get(j, "long"), &d) && d == 3.14159265358979323846);
    CHECK(!bi_json_double(bi_json_get(j, "t"), &d));
    CHECK_STR(bi_json_string(bi_json_get(j, "s")), "a\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\x98\x80");
    CHECK(!bi_json_string(bi_json_get(j, "t")));
    CHECK(bi_json_bool(bi_json_get(j, "t"), &b) && b);
    CHECK(bi_json_bool(bi_json_get(j, "x"), &b) && !b);
    CHECK(!bi_json_bool(bi_json_get(j, "nil"), &b));
    CHECK_EQ(bi_json_get(j, "list")->n, 4);
    CHECK_EQ(bi_json_get(j, "")->type, BI_JSON_NUMBER);
    CHECK(!bi_json_get(bi_json_get(j, "list"), "x"));
    CHECK(!bi_json_get(NULL, "x"));
    bi_arena_reset(&arena);
    /* a number alone has nothing before it */
    CHECK_EQ(bi_json_parse(&j, &arena, "test", "12345", 5, &err), 0);
    CHECK(bi_json_u64(j, &u) && u == 12345);
    bi_arena_reset(&arena);
}

/* Doubles against the C library, in forms that strtod() reads too. */
static void json_doubles(void)
{
    uint64_t seed = 12345;
    for (int i = 0; i < 20000; i++) {
        struct bi_arena arena = {.env = &env};
        struct bi_json *j = NULL;
        union {
            uint64_t u;
            double d;
        } v;
        char text[64];
        double got = 0;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        v.u = seed;
        if (!isfinite(v.d))
            continue;
        snprintf(text, sizeof text, i % 2 ? "%.17g" : "%.25e", v.d);
        CHECK_EQ(bi_json_parse(&j, &arena, "test", text, strlen(text), &err), 0);
        CHECK(bi_json_double(j, &got) && got == strtod(text, NULL));
        bi_arena_reset(&arena);
    }
}

/* ---- folders on disk ---- */

static const char *in_folder(const char *name)
{
    static char paths[4][1024];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put_file(const char *name, const void *bytes, size_t size)
{
    FILE *f = fopen(in_folder(name), "wb");
    if (CHECK(f != NULL)) {
        CHECK_EQ(fwrite(bytes, 1, size, f), size);
        fclose(f);
    }
}

static void put_header(const char *name, const char *header, size_t n_data)
{
    struct bi_buf out = {.env = &env};
    make_safetensors(&out, header, strlen(header), n_data);
    put_file(name, out.data, out.size);
    bi_buf_free(&out);
}

static int open_path(const char *name, size_t n_tensors)
{
    struct bi_checkpoint *cp = NULL;
    err = (struct bioinfer_error){0};
    int st = bi_checkpoint_open(&cp, &env, in_folder(name), NULL, &err);
    if (cp && n_tensors != SIZE_MAX)
        CHECK_EQ(cp->n_tensors, n_tensors);
    bi_checkpoint_close(&cp);
    return st;
}

#define A "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}"
#define AB                                                                                         \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"x\":{\"dtype\":"             \
    "\"U8\","                                                                                      \
    "\"shape\":[1],\"data_offsets\":[2,3]}}"
#define B "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}"

static void folders(void)
{
    static const char index[] = "{\"metadata\":{\"total_size\":1e3},\"weight_map\":{"
                                "\"a\":\"model-00001-of-00002.safetensors\","
                                "\"b\":\"model-00002-of-00002.safetensors\"}}";
    static const char bin_index[] = "{\"weight_map\":{\"w\":\"pytorch_model-00001-of-00001.bin\"}}";
    struct bi_checkpoint *cp = NULL;
    struct bi_buf out = {.env = &env};
    uint64_t u = 0;
    mkdir(in_folder("hf"), 0777);
    CHECK_EQ(open_path("hf", 0), BIOINFER_NOT_FOUND);
    CHECK_HAS(err.text, "no weights in this folder");
    /* the order of preference, from the last to the first */
    make_torch_zip(&out, P_GOOD, NULL);
    put_file("hf/pytorch_model.bin.index.json", bin_index, sizeof bin_index - 1);
    CHECK_EQ(open_path("hf", 0), BIOINFER_NOT_FOUND);
    CHECK_HAS(err.text, "shard 'pytorch_model-00001-of-00001.bin' is not in the folder");
    put_file("hf/pytorch_model-00001-of-00001.bin", out.data, out.size);
    CHECK_EQ(open_path("hf", 1), 0);
    out.size = 0;
    make_torch_legacy(&out, NULL);
    put_file("hf/pytorch_model.bin", out.data, out.size);
    CHECK_EQ(open_path("hf", 1), 0);
    put_file("hf/model.safetensors.index.json", index, sizeof index - 1);
    put_header("hf/model-00001-of-00002.safetensors", AB, 3);
    put_header("hf/model-00002-of-00002.safetensors", B, 1);
    n_warnings = 0;
    CHECK_EQ(open_path("hf", 2), 0); /* x is not in the index */
    CHECK_EQ(n_warnings, 1);
    put_header("hf/model.safetensors", A, 2);
    put_file("hf/config.json", "{\"hidden_size\":320}", 19);
    put_file("hf/vocab.txt", "<cls>\nA\n", 8);
    for (int i = 0; i < 2; i++) { /* the folder, and the file with what lies beside it */
        CHECK_EQ(
            bi_checkpoint_open(&cp, &env, in_folder(i ? "hf/model.safetensors" : "hf"), NULL, &err),
            0);
        if (cp) {
            CHECK_EQ(cp->n_tensors, 1);
            CHECK(bi_json_u64(bi_json_get(cp->config, "hidden_size"), &u) && u == 320);
            CHECK_STR(cp->vocab, "<cls>\nA\n");
        }
        bi_checkpoint_close(&cp);
    }
    /* relative, without a slash in the name */
    char *here = getcwd(NULL, 0);
    CHECK_EQ(chdir(in_folder("hf")), 0);
    CHECK_EQ(bi_checkpoint_open(&cp, &env, "model.safetensors", NULL, &err), 0);
    CHECK(cp && cp->config);
    bi_checkpoint_close(&cp);
    CHECK_EQ(bi_checkpoint_open(&cp, &env, ".", NULL, &err), 0);
    bi_checkpoint_close(&cp);
    CHECK_EQ(chdir(here), 0);
    free(here);
    put_file("hf/config.json", "{", 1);
    CHECK_EQ(open_path("hf/model.safetensors", 0), BIOINFER_FORMAT);
    CHECK_HAS(err.text, "config.json: byte 1");
    bi_buf_free(&out);
}

static void no_files(void)
{
    CHECK_EQ(open_path("absent", 0), BIOINFER_NOT_FOUND);
    CHECK_EQ(open_path("absent/model.safetensors", 0), BIOINFER_NOT_FOUND);
    CHECK_EQ(mkfifo(in_folder("fifo"), 0666), 0);
    CHECK_EQ(open_path("fifo", 0), BIOINFER_IO);
    CHECK_HAS(err.text, "expected a regular file, got a device or pipe");
    struct bi_checkpoint *cp = NULL;
    CHECK_EQ(bi_checkpoint_open(&cp, &env, "/dev/zero", NULL, &err), BIOINFER_IO);
    mkdir(in_folder("odd"), 0777);
    mkdir(in_folder("odd/model.safetensors"), 0777);
    CHECK_EQ(open_path("odd", 0), BIOINFER_IO);
    CHECK_HAS(err.text, "expected a regular file, got a folder");
}

/* A file that shrinks after it was opened: a status, no signal. */
static void shrinking(void)
{
    struct bi_checkpoint *cp = NULL;
    float v[2];
    put_header("shrinks", A, 2);
    CHECK_EQ(bi_checkpoint_open(&cp, &env, in_folder("shrinks"), NULL, &err), 0);
    CHECK_EQ(truncate(in_folder("shrinks"), 20), 0);
    if (cp) {
        CHECK_EQ(bi_tensor_read_f32(cp, &cp->tensors[0], 0, 2, v, &err), BIOINFER_FORMAT);
        CHECK_HAS(err.text, "file shrank while being read");
    }
    bi_checkpoint_close(&cp);
}

static void links(void)
{
    struct bi_checkpoint_options follow = {.follow_links = true};
    struct bi_checkpoint *cp = NULL;
    mkdir(in_folder("outside"), 0777);
    mkdir(in_folder("linked"), 0777);
    put_header("outside/real.safetensors", A, 2);
    CHECK_EQ(symlink(in_folder("outside/real.safetensors"), in_folder("linked/model.safetensors")),
             0);
    CHECK_EQ(open_path("linked", 1), BIOINFER_INVALID);
    CHECK_HAS(err.text, "link leads out of its folder");
    CHECK_EQ(bi_checkpoint_open(&cp, &env, in_folder("linked"), &follow, &err), 0);
    bi_checkpoint_close(&cp);
    /* a link that the user names himself, and one that stays inside */
    CHECK_EQ(open_path("linked/model.safetensors", 1), 0);
    unlink(in_folder("linked/model.safetensors"));
    put_header("linked/blob", A, 2);
    CHECK_EQ(symlink("blob", in_folder("linked/model.safetensors")), 0);
    CHECK_EQ(open_path("linked", 1), 0);
    /* the folder itself may be a link; its name may be a prefix of another */
    CHECK_EQ(symlink("linked", in_folder("alias")), 0);
    CHECK_EQ(open_path("alias", 1), 0);
    unlink(in_folder("linked/model.safetensors"));
    mkdir(in_folder("linked-more"), 0777);
    put_header("linked-more/blob", A, 2);
    CHECK_EQ(symlink("../linked-more/blob", in_folder("linked/model.safetensors")), 0);
    CHECK_EQ(open_path("linked", 1), BIOINFER_INVALID);
}

/* ---- the hub cache ---- */

static void check_hub(const char *name, int status, const char *end)
{
    char *path = NULL;
    err = (struct bioinfer_error){0};
    int st = bi_hub_resolve(&path, &env, name, &err);
    if (!CHECK_EQ(st, status))
        fprintf(stderr, "    %s: %s\n", name, err.text);
    if (!st)
        CHECK_HAS(path, end);
    else
        CHECK_HAS(err.text, end);
    bi_free(&env, path);
}

static void hub(void)
{
    mkdir(in_folder("cache"), 0777);
    mkdir(in_folder("cache/hub"), 0777);
    unsetenv("HF_HUB_CACHE");
    unsetenv("HUGGINGFACE_HUB_CACHE");
    setenv("HF_HOME", in_folder("cache"), 1);
#define MODEL "cache/hub/models--org--name"
    check_hub("org/name", BIOINFER_NOT_FOUND, "hf download org/name\n");
    CHECK_HAS(err.text, MODEL);
    check_hub("org/name@v1", BIOINFER_NOT_FOUND, "download org/name --revision v1\n");
    mkdir(in_folder(MODEL), 0777);
    mkdir(in_folder(MODEL "/refs"), 0777);
    mkdir(in_folder(MODEL "/blobs"), 0777);
    mkdir(in_folder(MODEL "/snapshots"), 0777);
    mkdir(in_folder(MODEL "/snapshots/c0ffee"), 0777);
    check_hub("org/name", BIOINFER_NOT_FOUND, "hf download org/name\n");
    put_file(MODEL "/refs/main", "c0ffee", 6);
    put_file(MODEL "/refs/v1", "c0ffee\n", 7);
    put_header(MODEL "/blobs/1234", A, 2);
    CHECK_EQ(symlink("../../blobs/1234", in_folder(MODEL "/snapshots/c0ffee/model.safetensors")),
             0);
    check_hub("org/name", 0, MODEL "/snapshots/c0ffee");
    check_hub("org/name@v1", 0, MODEL "/snapshots/c0ffee");
    check_hub("org/name@c0ffee", 0, MODEL "/snapshots/c0ffee");
    check_hub("org/name@v2", BIOINFER_NOT_FOUND, "looked for revision v2");
    check_hub(in_folder("cache"), 0, "cache");
    CHECK_EQ(open_path(MODEL "/snapshots/c0ffee", 1), 0);
    CHECK_EQ(open_path(MODEL "/snapshots/c0ffee/model.safetensors", 1), 0);
    /* a commit that is no commit, a snapshot that is a link out of the model's folder
     */
    put_file(MODEL "/refs/up", "../../..", 8);
    check_hub("org/name@up", BIOINFER_FORMAT, "expected a commit id");
    put_file(MODEL "/refs/empty", "", 0);
    check_hub("org/name@empty", BIOINFER_FORMAT, "expected a commit id");
    CHECK_EQ(symlink(in_folder("hf"), in_folder(MODEL "/snapshots/away")), 0);
    check_hub("org/name@away", BIOINFER_INVALID, "link leads out of its folder");
    CHECK_EQ(symlink(in_folder("hf/model.safetensors"),
                     in_folder(MODEL "/snapshots/c0ffee/pytorch_model.bin")),
             0);
    unlink(in_folder(MODEL "/snapshots/c0ffee/model.safetensors"));
    CHECK_EQ(open_path(MODEL "/snapshots/c0ffee", 1), BIOINFER_INVALID);
    /* names that are none */
    static const char *const names[] = {
        "name",      "",          "/",         "a/b/c",         "../etc",
        "org/..",    "org/na me", "org/name@", "org/name@../x", "org/name@a//b",
        ".org/name", "org/-name", "org/",      "/name"};
    for (size_t i = 0; i < BI_COUNT(names); i++)
        if (strcmp(names[i], "/"))
            check_hub(names[i], BIOINFER_NOT_FOUND, "no such file or folder");
    /* where the cache is */
    setenv("HF_HUB_CACHE", in_folder("elsewhere"), 1);
    check_hub("org/name", BIOINFER_NOT_FOUND, "elsewhere/models--org--name");
    unsetenv("HF_HUB_CACHE");
    unsetenv("HF_HOME");
    setenv("XDG_CACHE_HOME", in_folder("xdg"), 1);
    check_hub("org/name", BIOINFER_NOT_FOUND, "xdg/huggingface/hub/models--org--name");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", in_folder("home"), 1);
    check_hub("org/name", BIOINFER_NOT_FOUND, "home/.cache/huggingface/hub/models--org--name");
}

/* ---- PyTorch details ---- */

static void crc(void)
{
    struct bi_checkpoint_options verify = {.verify = true};
    struct bi_checkpoint *cp = NULL;
    struct bi_buf out = {.env = &env};
    float v[4];
    make_torch_zip(&out, P_GOOD, &(struct make_zip_faults){.victim = 1, .crc_xor = 1});
    CHECK_EQ(bi_checkpoint_open_memory(&cp, &env, "crc", out.data, out.size, NULL, &err), 0);
    CHECK_EQ(bi_tensor_read_f32(cp, &cp->tensors[0], 0, 4, v, &err), 0);
    bi_checkpoint_close(&cp);
    CHECK_EQ(bi_checkpoint_open_memory(&cp, &env, "crc", out.data, out.size, &verify, &err), 0);
    CHECK_EQ(bi_tensor_read_f32(cp, &cp->tensors[0], 0, 4, v, &err), BIOINFER_FORMAT);
    CHECK_HAS(err.text, "tensor 'w': CRC of its record is");
    bi_checkpoint_close(&cp);
    bi_buf_free(&out);
}

static void strict(void)
{
    struct bi_checkpoint_options options = {.strict_pickle = true};
    struct bi_checkpoint *cp = NULL;
    struct bi_buf out = {.env = &env};
    make_torch_zip(&out, "x8002 } ( 'w' " P_TENSOR "'x' c:my.cls:Thing ) R u .", NULL);
    CHECK_EQ(bi_checkpoint_open_memory(&cp, &env, "strict", out.data, out.size, NULL, &err), 0);
    if (cp) {
        CHECK_EQ(cp->n_tensors, 1);
        CHECK_EQ(bi_checkpoint_meta(cp, "x")->type, BI_META_OPAQUE);
        CHECK_STR(bi_checkpoint_meta(cp, "x")->text, "my.cls.Thing");
    }
    bi_checkpoint_close(&cp);
    CHECK_EQ(bi_checkpoint_open_memory(&cp, &env, "strict", out.data, out.size, &options, &err),
             BIOINFER_UNSUPPORTED);
    CHECK_HAS(err.text, "Python name my.cls.Thing is not on the list (strict pickle)");
    bi_buf_free(&out);
}

/* GPU storages, renamed modules, one argument dict, very old set_ state. */
static void dialects(void)
{
    static const char *const good[] = {
        P_HEAD P_REBUILD
        "( 'storage' c:torch.cuda:FloatStorage '0' 'cuda:0' i4 t Q " P_VIEW P_REST P_TAIL,
        P_HEAD "c:torch._utils:_rebuild_tensor ( " P_STORAGE P_VIEW "t R " P_TAIL,
        P_HEAD "c:torch._utils:_rebuild_parameter " P_TENSOR "x89 N x87 R " P_TAIL,
        P_HEAD "c:torch.nn.parameter:Parameter " P_TENSOR "x85 x81 " P_TAIL,
        "x8002 c:collections:OrderedDict ] 'w' " P_TENSOR "x86 a x85 R .",
        P_HEAD P_TENSOR "( " P_STORAGE "i0 i4 x85 i1 x85 t b " P_TAIL,
        P_HEAD P_REBUILD P_STORAGE P_VIEW "x89 N } 'conj' x89 s t R " P_TAIL,
        "x8002 } 'state_dict' } ( 'w' " P_TENSOR "u s .",
        "x8002 } 'model_state_dict' } ( 'w' " P_TENSOR "u s .",
        "x8002 } ( i0 " P_TENSOR "'w' " P_TENSOR "u .", /* a nameless tensor is left out */
        P_HEAD P_TENSOR P_TAIL " x00FF",                /* bytes behind STOP */
    };
    for (size_t i = 0; i < BI_COUNT(good); i++) {
        struct bi_buf out = {.env = &env};
        struct bi_checkpoint *cp;
        float v[4] = {0};
        make_torch_zip(&out, good[i], NULL);
        cp = open_bytes(out.data, out.size);
        if (!CHECK(cp && cp->n_tensors == 1))
            fprintf(stderr, "    dialect %zu: %s\n", i, err.text);
        if (cp && cp->n_tensors == 1) {
            CHECK_STR(cp->tensors[0].name, "w");
            CHECK_EQ(bi_tensor_read_f32(cp, &cp->tensors[0], 0, 4, v, &err), 0);
            CHECK(v[0] == 1 && v[3] == 4);
        }
        bi_checkpoint_close(&cp);
        bi_buf_free(&out);
    }
}

/* ---- reads and opens that fail ---- */

struct failing {
    enum bi_fault kind;
    long left;
    bool fired;
    int error;
};

static int fail_one(void *user, enum bi_fault kind)
{
    struct failing *f = user;
    if (kind != f->kind || --f->left)
        return 0;
    f->fired = true;
    return f->error;
}

static void system_errors(void)
{
    static const struct {
        enum bi_fault kind;
        int error, status;
    } kinds[] = {{BI_FAULT_OPEN, EACCES, BIOINFER_IO},
                 {BI_FAULT_OPEN, EINTR, BIOINFER_IO},
                 {BI_FAULT_READ, EIO, BIOINFER_IO},
                 {BI_FAULT_READ, EINTR, 0},
                 {BI_FAULT_ALLOC, ENOMEM, BIOINFER_NOMEM}};
    static const char *const paths[] = {"good", "good/model.safetensors", "good.pt"};
    struct bi_buf out = {.env = &env};
    mkdir(in_folder("good"), 0777);
    put_header("good/model.safetensors", A, 2);
    put_file("good/config.json", "{}", 2);
    put_file("good/vocab.txt", "A\n", 2);
    make_torch_zip(&out, P_GOOD, NULL);
    put_file("good.pt", out.data, out.size);
    put_file("good-contact-regression.pt", out.data, out.size);
    CHECK_EQ(open_path("good.pt", 0), BIOINFER_FORMAT);
    CHECK_HAS(err.text, "tensor 'w': also in ");
    out.size = 0;
    make_torch_zip(&out, "x8002 } ( 'contact' " P_TENSOR P_TAIL, NULL);
    put_file("good-contact-regression.pt", out.data, out.size);
    CHECK_EQ(open_path("good.pt", 2), 0);
    for (size_t p = 0; p < BI_COUNT(paths); p++)
        for (size_t k = 0; k < BI_COUNT(kinds); k++) {
            struct failing f = {.fired = true};
            struct bi_env broken = env;
            broken.fault = fail_one;
            broken.fault_user = &f;
            for (long n = 1; f.fired && n < 10000; n++) {
                struct bi_checkpoint *cp = NULL;
                f = (struct failing){kinds[k].kind, n, false, kinds[k].error};
                int st = bi_checkpoint_open(&cp, &broken, in_folder(paths[p]), NULL, &err);
                if (!CHECK(st == (f.fired ? kinds[k].status : 0) && !cp == !!st))
                    fprintf(stderr, "    %s: fault %zu, call %ld: status %d '%s'\n", paths[p], k, n,
                            st, err.text);
                bi_checkpoint_close(&cp);
            }
        }
    /* resolving names, with memory running out */
    setenv("HF_HOME", in_folder("cache"), 1);
    struct failing f = {.fired = true};
    struct bi_env broken = env;
    broken.fault = fail_one;
    broken.fault_user = &f;
    for (long n = 1; f.fired; n++) {
        char *path = NULL;
        f = (struct failing){BI_FAULT_ALLOC, n, false, ENOMEM};
        int st = bi_hub_resolve(&path, &broken, "org/name", &err);
        CHECK_EQ(st, f.fired ? BIOINFER_NOMEM : 0);
        bi_free(&env, path);
    }
    bi_buf_free(&out);
}

int main(void)
{
    char command[128];
    env = bi_env_default();
    env.log = count_warnings;
    if (!mkdtemp(folder))
        return 1;
    TEST(known_answers);
    TEST(long_name);
    TEST(many_tensors);
    TEST(json_values);
    TEST(json_doubles);
    TEST(folders);
    TEST(no_files);
    TEST(shrinking);
    TEST(links);
    TEST(hub);
    TEST(crc);
    TEST(strict);
    TEST(dialects);
    TEST(system_errors);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK_EQ(system(command), 0);
    return test_report();
}

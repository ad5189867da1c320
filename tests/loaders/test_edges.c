/* test_edges.c - limits from both sides, long numbers and strings, views over huge
 * storages, and names that must never mean anything. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "../test.h"

#include "../../loaders/pickle.h"
#include "../../loaders/reader.h"
#include "make.h"

static struct bi_env env;
static struct bioinfer_error err;

/* ---- JSON ---- */

static void long_numbers(void)
{
    static const struct {
        const char *digit;
        int n;
        const char *end;
    } cases[] = {{"1", 900, "e-900"}, {"9", 300, ""},          {"0", 1, ".1"},
                 {"7", 801, "e-800"}, {"3", 2000, ".5e-1999"}, {"5", 1, "e308"},
                 {"1", 1, "e-400"},   {"1", 1, "e99999999999"}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct bi_arena arena = {.env = &env};
        struct bi_buf text = {.env = &env};
        struct bi_json *j = NULL;
        double got = 0, expected;
        bool finite;
        for (int k = 0; k < cases[i].n; k++)
            bi_buf_puts(&text, cases[i].digit);
        bi_buf_puts(&text, cases[i].end);
        expected = strtod(bi_buf_text(&text), NULL);
        finite = isfinite(expected);
        CHECK_EQ(bi_json_parse(&j, &arena, "test", text.data, text.size, &err), 0);
        CHECK_EQ(bi_json_double(j, &got), finite);
        CHECK(got == (finite ? expected : 0));
        bi_arena_reset(&arena);
        bi_buf_free(&text);
    }
}

/* Deep as allowed, one deeper; values by the million against the bound on memory. */
static void json_limits(void)
{
    struct bi_arena arena = {.env = &env};
    struct bi_buf text = {.env = &env};
    struct bi_json *j = NULL;
    for (int depth = 64; depth <= 65; depth++) {
        text.size = 0;
        for (int i = 0; i < depth; i++)
            bi_buf_putc(&text, '[');
        for (int i = 0; i < depth; i++)
            bi_buf_putc(&text, ']');
        CHECK_EQ(bi_json_parse(&j, &arena, "test", text.data, text.size, &err),
                 depth > 64 ? BIOINFER_LIMIT : 0);
    }
    bi_arena_reset(&arena);
    text.size = 0;
    bi_buf_putc(&text, '[');
    for (int i = 0; i < 3000000; i++)
        bi_buf_puts(&text, "0,");
    bi_buf_puts(&text, "0]");
    CHECK_EQ(bi_json_parse(&j, &arena, "test", text.data, text.size, &err), BIOINFER_LIMIT);
    CHECK_HAS(err.text, "JSON values");
    CHECK(arena.total_size <= ((size_t)64 << 20) + 17 * text.size + 64);
    bi_arena_reset(&arena);
    bi_buf_free(&text);
}

/* ---- pickles ---- */

static int unpickle(const void *bytes, size_t size, struct bi_pickle *p, struct bi_pickle_value *v)
{
    struct bi_file f = BI_FILE_NONE;
    uint64_t stop;
    int st;
    *p = (struct bi_pickle){.env = &env, .label = "test.pkl", .strict = p->strict};
    err = (struct bioinfer_error){0};
    st = bi_file_from_memory(&f, &env, "test.pkl", bytes, size, &err);
    if (!st)
        st = bi_pickle_read(p, &f, 0, size, &stop, v, &err);
    bi_file_close(&f);
    return st;
}

/* Every type has words, that of no value too. */
static void type_words(void)
{
    static const char *const want[] = {"None",
                                       "a bool",
                                       "an int",
                                       "a float",
                                       "a big int",
                                       "a string",
                                       "bytes",
                                       "a tuple",
                                       "a list",
                                       "a set",
                                       "a dict",
                                       "a Namespace",
                                       "an unsupported Python name a.b",
                                       "a dtype",
                                       "a storage",
                                       "a tensor",
                                       "an unsupported Python class a.b",
                                       "no value"};
    const struct bi_pickle_symbol symbol = {"a.b", -1};
    CHECK_EQ(BI_COUNT(want), BI_PICKLE_UNSET + 1);
    for (size_t i = 0; i < BI_COUNT(want); i++) {
        const struct bi_pickle_value v = {.type = (enum bi_pickle_type)i, .u.symbol = &symbol};
        char buffer[80];
        CHECK_STR(bi_pickle_describe(&v, buffer, sizeof buffer), want[i]);
    }
}

static void long_strings(void)
{
    static const size_t sizes[] = {0, 1, 16383, 16384, 16385, 100000, BI_MAX_TEXT, BI_MAX_TEXT + 1};
    for (size_t i = 0; i < BI_COUNT(sizes); i++) {
        struct bi_buf out = {.env = &env};
        struct bi_pickle p = {0};
        struct bi_pickle_value v;
        bi_buf_puts(&out, "\x80\2X");
        put_le(&out, sizes[i], 4);
        for (size_t k = 0; k < sizes[i]; k++)
            bi_buf_putc(&out, (char)('a' + k % 23));
        bi_buf_putc(&out, '.');
        if (sizes[i] > BI_MAX_TEXT) {
            CHECK_EQ(unpickle(out.data, out.size, &p, &v), BIOINFER_LIMIT);
        } else if (CHECK_EQ(unpickle(out.data, out.size, &p, &v), 0)) {
            CHECK_EQ(v.u.text->n, sizes[i]);
            CHECK(!memcmp(v.u.text->data, out.data + 7, sizes[i]));
            CHECK_EQ(v.u.text->data[sizes[i]], 0);
        }
        bi_pickle_free(&p);
        bi_buf_free(&out);
    }
}

/* The value of an assembled pickle, described: type and number of items. */
static void check_value(const char *text, enum bi_pickle_type type, size_t n)
{
    struct bi_buf out = {.env = &env};
    struct bi_pickle p = {0};
    struct bi_pickle_value v;
    make_pickle(&out, text);
    if (!CHECK(!unpickle(out.data, out.size, &p, &v)))
        fprintf(stderr, "    %s: %s\n", text, err.text);
    else if (!CHECK(v.type == type) ||
             (type >= BI_PICKLE_TUPLE && type <= BI_PICKLE_OBJECT && !CHECK(v.u.list->n == n)))
        fprintf(stderr, "    %s: type %d\n", text, (int)v.type);
    bi_pickle_free(&p);
    bi_buf_free(&out);
}

static void calls(void)
{
    check_value("x8002 c:builtins:list ( i1 i2 x86 t R .", BI_PICKLE_LIST, 2);
    check_value("x8002 c:builtins:tuple ] ( i1 i2 i3 e x85 R .", BI_PICKLE_TUPLE, 3);
    check_value("x8002 c:__builtin__:set ] ( i1 i2 e x85 R .", BI_PICKLE_SET, 2);
    check_value("x8002 c:builtins:frozenset ) R .", BI_PICKLE_SET, 0);
    check_value("x8002 c:builtins:list i1 x85 R .", BI_PICKLE_OPAQUE, 0);
    check_value("x8002 c:builtins:list ] ] x86 R .", BI_PICKLE_OPAQUE, 0);
    check_value("x8002 c:builtins:dict } i1 i2 s x85 R .", BI_PICKLE_DICT, 2);
    check_value("x8002 c:builtins:dict ] ] ( i1 i2 e a x85 R .", BI_PICKLE_DICT, 2);
    check_value("x8002 c:builtins:dict i1 x85 R .", BI_PICKLE_OPAQUE, 0);
    check_value("x8002 c:collections:Counter } 'a' i2 s x85 R .", BI_PICKLE_DICT, 2);
    check_value("x8002 c:collections:defaultdict c:builtins:list } 'a' i2 s x86 R .",
                BI_PICKLE_DICT, 2);
    check_value("x8002 c:types:SimpleNamespace ) R } 'a' i2 s b .", BI_PICKLE_OBJECT, 2);
    check_value("x8002 c:argparse:Namespace ) R x7100 x6800 b .", BI_PICKLE_OBJECT, 0);
    check_value("x8002 c:torch:Size i2 i3 x86 x85 R .", BI_PICKLE_TUPLE, 2);
    check_value("x8002 c:builtins:bytearray ) R .", BI_PICKLE_OPAQUE, 0);
    check_value("x8005 c:builtins:bytearray x43026162 x85 R .", BI_PICKLE_BYTES, 0);
    check_value("x8002 c:_codecs:encode x5802000000C3A9 'latin1' x86 R .", BI_PICKLE_BYTES, 0);
    check_value("x8002 c:_codecs:encode 'a' 'utf8' x86 R .", BI_PICKLE_OPAQUE, 0);
    check_value("x8002 c:torch:device 'cuda' i0 x86 R .", BI_PICKLE_OPAQUE, 0);
    check_value("x8002 c:a:b ) R ) R ( i1 i2 u ( i1 e i5 b .", BI_PICKLE_OPAQUE, 0);
    check_value("x8002 c:torch:bfloat16 .", BI_PICKLE_DTYPE, 0);
    check_value("x8002 c:torch._tensor:_rebuild_from_type_v2 ( c:a:b N ) N t R .", BI_PICKLE_OPAQUE,
                0);
    check_value("x8002 c:torch.tensor:_rebuild_from_type_v2 ( c:torch:Size N ) N t R .",
                BI_PICKLE_OPAQUE, 0);
    check_value("x8002 x8A020080 .", BI_PICKLE_INT, 0);
    check_value("x8002 ] x7100 x6800 a .", BI_PICKLE_LIST, 1); /* a list in itself */
}

static void long1_values(void)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"x8002 x8A00 .", 0},
                 {"x8002 x8A01FF .", -1},
                 {"x8002 x8A020080 .", -32768},
                 {"x8002 x8A03FFFF00 .", 65535},
                 {"x8002 x8A08FFFFFFFFFFFFFF7F .", INT64_MAX},
                 {"x8002 x8A080000000000000080 .", INT64_MIN},
                 {"x8002 x4AFFFFFFFF .", -1},
                 {"x8002 x4BFF .", 255},
                 {"x8002 x4DFFFF .", 65535}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct bi_buf out = {.env = &env};
        struct bi_pickle p = {0};
        struct bi_pickle_value v = {0};
        make_pickle(&out, cases[i].text);
        CHECK_EQ(unpickle(out.data, out.size, &p, &v), 0);
        CHECK(v.type == BI_PICKLE_INT && v.u.i == cases[i].value);
        bi_pickle_free(&p);
        bi_buf_free(&out);
    }
}

/* Names that scanners of pickles warn of. */
static const char *const dangerous[] = {
    "os:system",
    "posix:system",
    "nt:system",
    "os:popen",
    "os:execv",
    "os:fork",
    "os:remove",
    "subprocess:Popen",
    "subprocess:call",
    "subprocess:check_output",
    "subprocess:run",
    "builtins:eval",
    "builtins:exec",
    "builtins:compile",
    "builtins:open",
    "builtins:getattr",
    "builtins:setattr",
    "builtins:__import__",
    "__builtin__:eval",
    "__builtin__:execfile",
    "sys:exit",
    "sys:settrace",
    "socket:socket",
    "shutil:rmtree",
    "shutil:copyfile",
    "pickle:loads",
    "pickle:Unpickler",
    "_pickle:loads",
    "cPickle:loads",
    "marshal:loads",
    "types:FunctionType",
    "types:CodeType",
    "importlib:import_module",
    "runpy:run_path",
    "runpy:_run_code",
    "ctypes:CDLL",
    "ctypes:cdll",
    "webbrowser:open",
    "requests:get",
    "urllib.request:urlopen",
    "httplib:HTTPSConnection",
    "aiohttp.client:ClientSession",
    "asyncio.unix_events:_UnixSubprocessTransport._start",
    "bdb:Bdb",
    "pdb:run",
    "timeit:timeit",
    "trace:Trace.run",
    "profile:run",
    "cProfile:runctx",
    "doctest:debug_script",
    "code:InteractiveInterpreter",
    "pip:main",
    "pip._internal:main",
    "ensurepip:_run_pip",
    "venv:create",
    "pty:spawn",
    "platform:popen",
    "idlelib.run:Executive",
    "lib2to3.pgen2.grammar:Grammar.loadd",
    "operator:attrgetter",
    "operator:methodcaller",
    "functools:partial",
    "functools:reduce",
    "itertools:starmap",
    "copyreg:_reconstructor",
    "copy_reg:_reconstructor",
    "commands:getoutput",
    "dill:loads",
    "joblib:load",
    "numpy.testing._private.utils:runstring",
    "numpy.f2py.crackfortran:getlincoef",
    "torch:load",
    "torch.jit:load",
    "torch.hub:load",
    "torch.utils.cpp_extension:load",
    "torch.serialization:load",
    "torch._dynamo.guards:GuardBuilder.get",
    "torch.utils._config_module:ConfigModule.load_config",
    "torch.storage:_load_from_bytes",
    "torch.fx.experimental.symbolic_shapes:ShapeEnv.evaluate_guards_expression",
    "torch.distributed.rpc:rpc_sync",
    "transformers:pipeline",
    "keras.models:load_model",
    "yaml:unsafe_load",
    "logging.config:listen",
    "smtplib:SMTP",
    "ftplib:FTP",
    "telnetlib:Telnet",
    "multiprocessing.util:spawnv_passfds",
    "concurrent.futures:ProcessPoolExecutor",
    "signal:signal",
    "gc:get_objects",
    "inspect:getattr_static",
    "linecache:updatecache",
    "zipimport:zipimporter",
    "pydoc:pipepager",
    "uuid:_popen",
    "tempfile:mktemp",
    "sqlite3:connect",
    "imaplib:IMAP4_stream"};

/* Called, dangerous names make nothing; strict refuses them. */
static void dangerous_names(void)
{
    for (size_t i = 0; i < BI_COUNT(dangerous); i++) {
        char text[256];
        struct bi_buf out = {.env = &env};
        struct bi_pickle p = {.strict = true};
        struct bi_pickle_value v;
        snprintf(text, sizeof text, "x8002 c:%s 'touch' x85 R .", dangerous[i]);
        check_value(text, BI_PICKLE_OPAQUE, 0);
        make_pickle(&out, text);
        CHECK_EQ(unpickle(out.data, out.size, &p, &v), BIOINFER_UNSUPPORTED);
        CHECK_HAS(err.text, "is not on the list (strict pickle)");
        bi_pickle_free(&p);
        bi_buf_free(&out);
    }
    CHECK(BI_COUNT(dangerous) >= 100);
}

static void metadata_of_a_tensor(void)
{
    struct bi_buf text = {.env = &env}, out = {.env = &env};
    struct bi_checkpoint *cp = NULL;
    bi_buf_puts(&text, P_HEAD P_REBUILD P_STORAGE P_VIEW "x89 N } ( ");
    for (int i = 0; i < 33; i++)
        bi_buf_puts(&text, "N N ");
    bi_buf_puts(&text, "u t R " P_TAIL);
    make_torch_zip(&out, bi_buf_text(&text), NULL);
    CHECK_EQ(bi_checkpoint_open_memory(&cp, &env, "test", out.data, out.size, NULL, &err),
             BIOINFER_LIMIT);
    CHECK_HAS(err.text, "66 metadata items");
    bi_buf_free(&text);
    bi_buf_free(&out);
}

/* ---- huge storages, in a file with holes ---- */

static void huge_views(void)
{
    enum { N = 40000000 }; /* elements of float32: 160 MB that take no room */
    static const char graph[] = P_HEAD P_REBUILD
        "( 'storage' c:torch:FloatStorage '0' 'cpu' i40000000 N t Q "
        "i0 i3 i2 x86 i13000000 i13999999 x86 " P_REST "'all' " P_REBUILD
        "( 'storage' c:torch:FloatStorage '0' 'cpu' i40000000 N t Q i0 i40000000 x85 "
        "i1 x85 " P_REST P_TAIL;
    char path[] = "/tmp/bioinfer-huge-XXXXXX";
    struct bi_buf out = {.env = &env};
    struct bi_checkpoint *cp = NULL;
    int fd = mkstemp(path);
    float got[6] = {0};
    uint64_t start;
    if (!CHECK(fd >= 0))
        return;
    make_torch_legacy(&out, &(struct make_legacy){
                                .pickles = {NULL, NULL, NULL, graph}, .tail = "", .tail_size = 0});
    put_le(&out, N, 8);
    start = out.size;
    CHECK(write(fd, out.data, out.size) == (ssize_t)out.size);
    CHECK_EQ(ftruncate(fd, (off_t)(start + 4 * (uint64_t)N)), 0);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            float v = (float)(10 * i + k + 1);
            off_t at = (off_t)(start + 4 * (13000000 * (uint64_t)i + 13999999 * (uint64_t)k));
            CHECK(pwrite(fd, &v, 4, at) == 4);
        }
    close(fd);
    if (CHECK(!bi_checkpoint_open(&cp, &env, path, NULL, &err))) {
        static const float expected[] = {1, 2, 11, 12, 21, 22};
        const struct bi_tensor *t = bi_checkpoint_find(cp, "w");
        CHECK_EQ(bi_tensor_read_f32(cp, t, 0, 6, got, &err), 0); /* through a moving window */
        CHECK(!memcmp(got, expected, sizeof got));
        for (uint64_t first = 0; first < 6; first++) { /* row by row: 56 MB gathered at once */
            CHECK_EQ(bi_tensor_read_f32(cp, t, first, 1, got, &err), 0);
            CHECK(got[0] == expected[first]);
        }
        CHECK_EQ(bi_tensor_read_f32(cp, bi_checkpoint_find(cp, "all"), 13000000, 1, got, &err), 0);
        CHECK(got[0] == 11);
        CHECK_EQ(truncate(path, (off_t)start + 4), 0);
        CHECK_EQ(bi_tensor_read_f32(cp, t, 0, 6, got, &err), BIOINFER_FORMAT);
    } else {
        fprintf(stderr, "    %s\n", err.text);
    }
    bi_checkpoint_close(&cp);
    unlink(path);
    bi_buf_free(&out);
}

/* ---- printing ---- */

static void printing(void)
{
    struct bi_buf out = {.env = &env}, text = {.env = &env};
    struct bi_checkpoint *cp = NULL;
    make_torch_zip(&out,
                   "x8002 } ( x5803000000771B5B " P_REBUILD P_STORAGE
                   "i0 i4611686018427387904 i2 x86 i0 i0 x86 " P_REST "'v' " P_REBUILD P_STORAGE
                   "i0 i9223372036854775807 x85 i0 x85 " P_REST "'u' " P_REBUILD P_STORAGE
                   "i0 i9223372036854775807 x85 i0 x85 " P_REST
                   "'s' x58010000000A 'f' x473FF0000000000000 'o' c:a:b 'n' N 't' x88 u .",
                   NULL);
    CHECK_EQ(bi_checkpoint_open_memory(&cp, &env, "test", out.data, out.size, NULL, &err), 0);
    if (cp) {
        CHECK_EQ(bi_checkpoint_print(cp, &text), 0);
        CHECK_HAS(bi_buf_text(&text), "tensors: 3, 18446744073709551615 elements\n");
        CHECK_HAS(bi_buf_text(&text), "  w\\x1B[ float32 [4611686018427387904, 2] strided\n");
        CHECK_HAS(bi_buf_text(&text), "  s = \"\\x0A\"\n");
        CHECK_HAS(bi_buf_text(&text), "  f = 1\n");
        CHECK_HAS(bi_buf_text(&text), "  o = <a.b>\n");
        CHECK_HAS(bi_buf_text(&text), "  t = true\n");
    } else {
        fprintf(stderr, "    %s\n", err.text);
    }
    bi_checkpoint_close(&cp);
    bi_buf_free(&text);
    bi_buf_free(&out);
}

int main(void)
{
    env = bi_env_default();
    TEST(long_numbers);
    TEST(json_limits);
    TEST(type_words);
    TEST(long_strings);
    TEST(calls);
    TEST(long1_values);
    TEST(dangerous_names);
    TEST(metadata_of_a_tensor);
    TEST(huge_views);
    TEST(printing);
    return test_report();
}

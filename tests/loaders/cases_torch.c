/* cases_torch.c - malformed PyTorch archives, legacy streams and pickles. */
#include <string.h>

#include "cases.h"

#define FORMAT BIOINFER_FORMAT
#define LIMIT BIOINFER_LIMIT
#define UNSUPPORTED BIOINFER_UNSUPPORTED

/* ---- the archive ---- */

/* victim 0 is data.pkl, 1 data/0, 2 byteorder, 3 version */
static const struct {
    const char *name;
    struct make_zip_faults faults;
    int status;
    const char *expected;
} archives[] = {
    {"no-end", {.bad_end_signature = true}, FORMAT, "no end record"},
    {"comment-short", {.comment_len_add = 1}, FORMAT, "comment does not reach the end"},
    {"second-end-in-comment",
     {.comment = "PK\5\6 and 18 bytes or more behind"},
     FORMAT,
     "comment does not reach the end"},
    {"cut", {.cut = 1}, FORMAT, "no end record"},
    {"disk", {.end_disk = 1}, FORMAT, "more than one disk"},
    {"disk64", {.end64_disk = 1}, FORMAT, "more than one disk"},
    {"disks", {.n_disks_add = 1}, FORMAT, "more than one disk"},
    {"entry-disk", {.disk = 1}, FORMAT, "on another disk"},
    {"count", {.count_add = 1}, FORMAT, "the two counts of records differ"},
    {"count64-disk", {.count64_disk_add = 1}, FORMAT, "the two counts of records differ"},
    {"count64",
     {.count64_add = 1, .count64_disk_add = 1},
     FORMAT,
     "the end record and the ZIP64 end record differ"},
    {"size64", {.dir_size64_add = 1}, FORMAT, "the end record and the ZIP64 end record differ"},
    {"size32", {.dir_size_add = -1}, FORMAT, "the end record and the ZIP64 end record differ"},
    {"offset64", {.dir_offset64_add = 4}, FORMAT, "the end record and the ZIP64 end record differ"},
    {"offset32", {.dir_offset_add = 4}, FORMAT, "the end record and the ZIP64 end record differ"},
    {"offset-both", {.dir_offset_add = -4, .dir_offset64_add = -4}, FORMAT, "expected to end at"},
    {"locator", {.locator_add = 1}, FORMAT, "not right before its locator"},
    {"locator-far", {.locator_add = INT64_MAX}, FORMAT, "not right before its locator"},
    {"end64-signature", {.bad_end64_signature = true}, FORMAT, "no ZIP64 end record where"},
    {"gap", {.between = "gap!"}, FORMAT, "expected to end at"},
    {"no64-offset", {.no_zip64 = true, .dir_offset_add = 1}, FORMAT, "expected to end at"},
    {"no64-size", {.no_zip64 = true, .dir_size_add = 1000000}, FORMAT, "expected to end at"},
    {"no64-shifted",
     {.no_zip64 = true, .dir_size_add = -1, .dir_offset_add = 1},
     FORMAT,
     "no directory entry for record 0"},
    {"encrypted", {.victim = 1, .flags = 1}, UNSUPPORTED, "'archive/data/0': encrypted"},
    {"strong-encryption", {.victim = 1, .flags = 0x40}, UNSUPPORTED, "encrypted"},
    {"deflated", {.victim = 1, .method = 8}, UNSUPPORTED, "compressed (method 8)"},
    {"deflated-pickle", {.victim = 0, .method = 8}, UNSUPPORTED, "compressed (method 8)"},
    {"sizes-differ", {.victim = 1, .stored_add = 1}, FORMAT, "its two sizes differ"},
    {"header-far", {.victim = 1, .header_add = 1 << 20}, FORMAT, "local header outside"},
    {"header-off", {.victim = 1, .header_add = 1}, FORMAT, "no local header where"},
    {"local-name", {.victim = 1, .local_name = "archive/data/1"}, FORMAT, "has another name"},
    {"local-crc", {.victim = 1, .local_crc = 5}, FORMAT, "differs from the directory"},
    {"local-size", {.victim = 1, .local_size = 5}, FORMAT, "differs from the directory"},
    {"local-stored", {.victim = 1, .local_stored = 5}, FORMAT, "differs from the directory"},
    {"data-beyond",
     {.victim = 3, .size_add = 100000, .stored_add = 100000},
     FORMAT,
     "data outside the records"},
    {"overlap",
     {.victim = 1, .size_add = 200, .stored_add = 200},
     FORMAT,
     "overlaps another record"},
    {"twice",
     {.victim = 3, .local_name = "archive/data/0x", .central_name = "archive/data/0"},
     FORMAT,
     "'archive/data/0': name appears twice"},
    {"dotdot", {.victim = 3, .central_name = "archive/../v"}, FORMAT, "name with '..'"},
    {"absolute", {.victim = 3, .central_name = "/etc/passwd"}, FORMAT, "absolute name"},
    {"backslash", {.victim = 3, .central_name = "archive\\version"}, FORMAT, "backslash"},
    {"drive", {.victim = 3, .central_name = "c:archive/version"}, FORMAT, "absolute name"},
    {"empty-name", {.victim = 3, .central_name = ""}, FORMAT, "empty name"},
    {"extra-beyond", {.victim = 1, .extra_len = 100}, FORMAT, "extra field beyond its end"},
    {"zip64-short", {.victim = 1, .short_zip64_extra = true}, FORMAT, "extra field too short"},
    {"zip64-twice",
     {.victim = 1, .zip64_extra = true, .twice_zip64_extra = true},
     FORMAT,
     "two ZIP64 extra fields"},
    {"zip64-far",
     {.victim = 1, .zip64_extra = true, .header_add = INT64_MAX},
     FORMAT,
     "local header outside"},
    {"zip64-huge",
     {.victim = 1, .zip64_extra = true, .size_add = INT64_MAX, .stored_add = INT64_MAX},
     FORMAT,
     "data outside the records"},
    {"pickle-crc", {.victim = 0, .crc_xor = 1}, FORMAT, "data.pkl: CRC is"},
};

/* ---- records of a good archive ---- */

static const float ones[4] = {1, 1, 1, 1};
static const struct {
    const char *name;
    struct make_record records[4]; /* behind data.pkl */
    int status;
    const char *expected;
} contents[] = {
    {"no-storage", {{"archive/version", "3\n", 2}}, FORMAT, "no record 'data/0' for a storage"},
    {"short-storage",
     {{"archive/data/0", ones, 12}},
     FORMAT,
     "record 'data/0' has 12 bytes, expected 4 elements of 4"},
    {"long-storage", {{"archive/data/0", ones, 15}}, FORMAT, "record 'data/0' has 15 bytes"},
    {"other-prefix", {{"elsewhere/data/0", ones, 16}}, FORMAT, "no record 'data/0'"},
    {"big-endian",
     {{"archive/data/0", ones, 16}, {"archive/byteorder", "big", 3}},
     UNSUPPORTED,
     "big-endian"},
    {"byteorder",
     {{"archive/data/0", ones, 16}, {"archive/byteorder", "middle", 6}},
     FORMAT,
     "expected 'little', got 'middle'"},
    {"byteorder-long",
     {{"archive/data/0", ones, 16}, {"archive/byteorder", "little endian", 13}},
     FORMAT,
     "record 'byteorder' has 13 bytes"},
    {"version-0",
     {{"archive/data/0", ones, 16}, {"archive/version", "0\n", 2}},
     UNSUPPORTED,
     "checkpoint version 0"},
    {"version-11",
     {{"archive/data/0", ones, 16}, {"archive/version", "11\n", 3}},
     UNSUPPORTED,
     "checkpoint version 11"},
    {"version-text",
     {{"archive/data/0", ones, 16}, {"archive/version", "three", 5}},
     FORMAT,
     "expected a number, got 'three'"},
    {"version-empty",
     {{"archive/data/0", ones, 16}, {"archive/version", "", 0}},
     FORMAT,
     "record 'version' has 0 bytes"},
    {"alignment",
     {{"archive/data/0", ones, 16}, {"archive/.storage_alignment", "x", 1}},
     FORMAT,
     "record '.storage_alignment': expected a number"},
    {"torchscript", {{"archive/constants.pkl", "x", 1}}, UNSUPPORTED, "a TorchScript archive"},
};

static void zip_contents(const struct bi_env *env, case_visitor *visit)
{
    struct bi_buf out = {.env = env}, pickle = {.env = env};
    make_pickle(&pickle, P_GOOD);
    for (size_t i = 0; i < BI_COUNT(contents); i++) {
        struct bad_case c = {CASE_WEIGHTS, "torch_zip", contents[i].name, contents[i].status,
                             contents[i].expected};
        struct make_record all[5] = {{"archive/data.pkl", pickle.data, pickle.size}};
        size_t n = 1;
        while (n < 5 && contents[i].records[n - 1].name) {
            all[n] = contents[i].records[n - 1];
            n++;
        }
        out.size = 0;
        make_zip(&out, all, n, NULL);
        visit(&c, out.data, out.size, NULL, 0);
    }
    out.size = 0;
    make_zip(&out, &(struct make_record){"arr_0.npy", "\x93NUMPY", 6}, 1, NULL);
    visit(&(struct bad_case){CASE_WEIGHTS, "torch_zip", "npz", UNSUPPORTED, "a NumPy archive"},
          out.data, out.size, NULL, 0);
    out.size = 0;
    make_zip(&out, &(struct make_record){"word/document.xml", "<", 1}, 1, NULL);
    visit(&(struct bad_case){CASE_WEIGHTS, "torch_zip", "docx", UNSUPPORTED,
                             "without a data.pkl record"},
          out.data, out.size, NULL, 0);
    out.size = 0;
    make_zip(&out, &(struct make_record){"data.pkl", pickle.data, pickle.size}, 1, NULL);
    visit(&(struct bad_case){CASE_WEIGHTS, "torch_zip", "no-folder", UNSUPPORTED,
                             "without a data.pkl record"},
          out.data, out.size, NULL, 0);
    bi_buf_free(&pickle);
    bi_buf_free(&out);
}

/* ---- what is in data.pkl: the same pickle goes into an archive ---- */

#define V2(storage, view) P_HEAD P_REBUILD storage view P_REST P_TAIL
static const struct {
    const char *name, *pickle;
    int status;
    const char *expected;
} tensors[] = {
    {"view-beyond", V2(P_STORAGE, "i0 i2 i3 x86 i3 i1 x86 "), FORMAT,
     "its last element is 5 of a storage of 4 elements"},
    {"offset-beyond", V2(P_STORAGE, "i1 i2 i2 x86 i2 i1 x86 "), FORMAT, "its last element is 4"},
    {"offset-empty", V2(P_STORAGE, "i5 i0 i2 x86 i2 i1 x86 "), FORMAT, "its last element is 5"},
    {"stride-beyond", V2(P_STORAGE, "i0 i2 i2 x86 i4 i1 x86 "), FORMAT, "its last element is 5"},
    {"stride-overflow",
     V2(P_STORAGE, "i0 i3 i3 x86 i9223372036854775807 i9223372036854775807 x86 "), FORMAT,
     "storage of 4 elements"},
    {"size-overflow", V2(P_STORAGE, "i0 i4294967296 i4294967296 x86 i0 i0 x86 "), FORMAT,
     "size overflows 64 bits"},
    {"size-negative", V2(P_STORAGE, "i0 i-2 i2 x86 i2 i1 x86 "), FORMAT,
     "size: expected a whole number >= 0"},
    {"stride-negative", V2(P_STORAGE, "i0 i2 i2 x86 i-2 i1 x86 "), FORMAT,
     "stride: expected a whole number >= 0"},
    {"offset-negative", V2(P_STORAGE, "i-1 i2 i2 x86 i2 i1 x86 "), FORMAT,
     "offset: expected a whole number >= 0"},
    {"size-float", V2(P_STORAGE, "i0 x474000000000000000 i2 x86 i2 i1 x86 "), FORMAT,
     "whole number"},
    {"size-int", V2(P_STORAGE, "i0 i4 i1 x85 "), FORMAT, "expected a tuple as size"},
    {"rank-differs", V2(P_STORAGE, "i0 i4 x85 i2 i1 x86 "), FORMAT, "1 sizes and 2 strides"},
    {"rank-9", V2(P_STORAGE, "i0 ( i1 i1 i1 i1 i1 i1 i1 i1 i1 t ) "), LIMIT, "9 dimensions"},
    {"no-storage-value", V2("N ", P_VIEW), FORMAT, "expected a storage first"},
    {"numel-negative", V2("( 'storage' c:torch:FloatStorage '0' 'cpu' i-4 t Q ", P_VIEW), FORMAT,
     "expected a count of elements"},
    {"numel-huge",
     V2("( 'storage' c:torch:FloatStorage '0' 'cpu' i9223372036854775807 t Q ", P_VIEW), FORMAT,
     "storage '0': size overflows 64 bits"},
    {"numel-text", V2("( 'storage' c:torch:FloatStorage '0' 'cpu' '4' t Q ", P_VIEW), FORMAT,
     "expected a count of elements"},
    {"numel-5", V2("( 'storage' c:torch:FloatStorage '0' 'cpu' i5 t Q ", P_VIEW), FORMAT,
     "record 'data/0' has 16 bytes, expected 5 elements of 4"},
    {"storage-double", V2("( 'storage' c:torch:DoubleStorage '0' 'cpu' i4 t Q ", P_VIEW), FORMAT,
     "expected 4 elements of 8"},
    {"id-short", V2("( 'storage' c:torch:FloatStorage '0' i4 t Q ", P_VIEW), FORMAT,
     "expected 5 members, got 4"},
    {"id-long", V2("( 'storage' c:torch:FloatStorage '0' 'cpu' i4 N t Q ", P_VIEW), FORMAT,
     "expected 5 members, got 6"},
    {"id-list", V2("] 'storage' a Q ", P_VIEW), FORMAT,
     "persistent id: expected a tuple, got a list"},
    {"id-empty", V2(") Q ", P_VIEW), FORMAT, "persistent id: expected a tuple"},
    {"id-word", V2("( 'storages' c:torch:FloatStorage '0' 'cpu' i4 t Q ", P_VIEW), FORMAT,
     "expected 'storage' first"},
    {"id-module", V2("( 'module' c:a:B 'f.py' 'code' t Q ", P_VIEW), UNSUPPORTED,
     "a whole pickled module"},
    {"class-unknown", V2("( 'storage' c:evil:Storage '0' 'cpu' i4 t Q ", P_VIEW), UNSUPPORTED,
     "storage class is an unsupported Python name evil.Storage"},
    {"class-quantised", V2("( 'storage' c:torch:QInt8Storage '0' 'cpu' i16 t Q ", P_VIEW),
     UNSUPPORTED, "quantised tensors (torch.QInt8Storage)"},
    {"class-other", V2("( 'storage' c:torch:Size '0' 'cpu' i4 t Q ", P_VIEW), FORMAT,
     "torch.Size is no storage class"},
    {"key-int", V2("( 'storage' c:torch:FloatStorage i0 'cpu' i4 t Q ", P_VIEW), FORMAT,
     "expected a short string as key"},
    {"key-empty", V2("( 'storage' c:torch:FloatStorage '' 'cpu' i4 t Q ", P_VIEW), FORMAT,
     "expected a short string as key"},
    {"untyped-v2", V2("( 'storage' c:torch.storage:UntypedStorage '0' 'cpu' i16 t Q ", P_VIEW),
     FORMAT, "an untyped storage without a dtype"},
    {"two-stories",
     P_HEAD P_TENSOR "'v' " P_REBUILD
                     "( 'storage' c:torch:IntStorage '0' 'cpu' i4 t Q " P_VIEW P_REST P_TAIL,
     FORMAT, "storage '0' is described twice, differently"},
    {"arguments", P_HEAD P_REBUILD P_STORAGE P_VIEW "t R " P_TAIL, FORMAT,
     "expected 6 arguments, got 4"},
    {"conjugate", P_HEAD P_REBUILD P_STORAGE P_VIEW "x89 N } 'conj' x88 s t R " P_TAIL, UNSUPPORTED,
     "stored as conjugate or negative view"},
    {"v3-dtype",
     P_HEAD "c:torch._utils:_rebuild_tensor_v3 ( " P_STORAGE P_VIEW "x89 N 'f' t R " P_TAIL, FORMAT,
     "expected a dtype as argument 7"},
    {"parameter", P_HEAD "c:torch._utils:_rebuild_parameter ( N t R " P_TAIL, FORMAT,
     "parameter: expected 3 or 4 arguments, got 1"},
    {"name-twice", "x8002 } ( 'w' " P_TENSOR "'w' " P_TENSOR P_TAIL, FORMAT,
     "tensor 'w': name appears twice"},
    {"name-empty", "x8002 } ( '' " P_TENSOR P_TAIL, FORMAT, "tensor with an empty name"},
    {"name-nul", "x8002 } ( x58030000006100 x62 " P_TENSOR P_TAIL, FORMAT, "NUL in the name"},
    {"name-utf8", "x8002 } ( x5801000000FF " P_TENSOR P_TAIL, FORMAT,
     "tensor '\\xFF': name is not UTF-8"},
    {"top-list", "x8002 ] .", UNSUPPORTED, "top level is a list, expected a dict of tensors"},
    {"top-class", "x8002 c:my.net:Net ) x81 } b .", UNSUPPORTED,
     "top level is an unsupported Python class my.net.Net"},
    {"model-class", "x8002 } ( 'model' c:my.net:Net ) x81 u .", UNSUPPORTED,
     "checkpoint value 'model' is an unsupported Python class my.net.Net"},
};

void zip_cases(const struct bi_env *env, case_visitor *visit)
{
    struct bi_buf out = {.env = env};
    for (size_t i = 0; i < BI_COUNT(archives); i++) {
        struct bad_case c = {CASE_WEIGHTS, "torch_zip", archives[i].name, archives[i].status,
                             archives[i].expected};
        out.size = 0;
        make_torch_zip(&out, P_GOOD, &archives[i].faults);
        visit(&c, out.data, out.size, NULL, 0);
    }
    for (size_t i = 0; i < BI_COUNT(tensors); i++) {
        struct bad_case c = {CASE_WEIGHTS, "torch_zip", tensors[i].name, tensors[i].status,
                             tensors[i].expected};
        out.size = 0;
        make_torch_zip(&out, tensors[i].pickle, NULL);
        visit(&c, out.data, out.size, NULL, 0);
    }
    bi_buf_free(&out);
    zip_contents(env, visit);
}

/* ---- legacy streams ---- */

#define L_ID6(view)                                                                                \
    P_HEAD P_REBUILD "( 'storage' c:torch:FloatStorage '0' 'cpu' i4 " view                         \
                     "t Q " P_VIEW P_REST P_TAIL
static const struct {
    const char *name;
    struct make_legacy stream;
    int status;
    const char *expected;
} streams[] = {
    {"magic-alone",
     {.pickles = {NULL, "", "", "", ""}, .tail = "", .tail_size = 0},
     FORMAT,
     "a pickle of 0 bytes"},
    {"protocol", {.pickles = {NULL, "x8002 i1000 ."}}, UNSUPPORTED, "expected protocol 1001"},
    {"protocol-text", {.pickles = {NULL, "x8002 '1001' ."}}, UNSUPPORTED, "expected protocol 1001"},
    {"system-list",
     {.pickles = {NULL, NULL, "x8002 ] ."}},
     FORMAT,
     "expected little_endian in a dict"},
    {"system-empty", {.pickles = {NULL, NULL, "x8002 } ."}}, FORMAT, "expected little_endian"},
    {"big-endian",
     {.pickles = {NULL, NULL, "x8002 } 'little_endian' x89 s ."}},
     UNSUPPORTED,
     "big-endian"},
    {"top-int",
     {.pickles = {NULL, NULL, NULL, "x8002 i5 .", "x8002 ] ."}, .tail = "", .tail_size = 0},
     UNSUPPORTED,
     "top level is an int"},
    {"keys-dict",
     {.pickles = {NULL, NULL, NULL, NULL, "x8002 } ."}},
     FORMAT,
     "expected a list of storage keys"},
    {"keys-int",
     {.pickles = {NULL, NULL, NULL, NULL, "x8002 ] i0 a ."}},
     FORMAT,
     "a storage key is no string"},
    {"keys-none",
     {.pickles = {NULL, NULL, NULL, NULL, "x8002 ] ."}},
     FORMAT,
     "1 storages are used, 0 are there"},
    {"keys-unknown",
     {.pickles = {NULL, NULL, NULL, NULL, "x8002 ] '1' a ."}},
     FORMAT,
     "storage '1' is listed, but not used"},
    {"keys-twice",
     {.pickles = {NULL, NULL, NULL, NULL, "x8002 ] ( '0' '0' e ."}},
     FORMAT,
     "storage '0' is listed twice"},
    {"count-missing", {.tail = "\4\0", .tail_size = 2}, FORMAT, "expected 8 bytes at offset"},
    {"count-more",
     {.tail = "\5\0\0\0\0\0\0\0", .tail_size = 8},
     FORMAT,
     "storage '0' has 5 elements, expected 4"},
    {"count-negative",
     {.tail = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", .tail_size = 8},
     FORMAT,
     "storage '0' has 18446744073709551615 elements, expected 4"},
    {"data-short",
     {.tail = "\4\0\0\0\0\0\0\0 0123456789abcd", .tail_size = 8 + 15},
     FORMAT,
     "storage '0' of 16 bytes"},
    {"view",
     {.pickles = {NULL, NULL, NULL, L_ID6("( 'v' i0 i4 t ")}},
     UNSUPPORTED,
     "a storage that is a view of another one"},
    {"id-7",
     {.pickles = {NULL, NULL, NULL, L_ID6("N N ")}},
     FORMAT,
     "expected 5 or 6 members, got 7"},
    {"view-beyond",
     {.pickles = {NULL, NULL, NULL,
                  P_HEAD P_REBUILD P_STORAGE "i0 i3 i2 x86 i2 i1 x86 " P_REST P_TAIL}},
     FORMAT,
     "its last element is 5"},
    {"memo-not-shared",
     {.pickles = {NULL, NULL, "x8002 } 'little_endian' x88 s x7100 .", "x8002 x6800 ."}},
     FORMAT,
     "memo entry 0 was never set"},
};

void legacy_cases(const struct bi_env *env, case_visitor *visit)
{
    struct bi_buf out = {.env = env};
    for (size_t i = 0; i < BI_COUNT(streams); i++) {
        struct bad_case c = {CASE_WEIGHTS, "torch_legacy", streams[i].name, streams[i].status,
                             streams[i].expected};
        out.size = 0;
        make_torch_legacy(&out, &streams[i].stream);
        visit(&c, out.data, out.size, NULL, 0);
    }
    bi_buf_free(&out);
}

/* ---- bare pickles ---- */

static const struct {
    const char *name, *pickle;
    int status;
    const char *expected;
} pickles[] = {
    {"empty", "", FORMAT, "a pickle of 0 bytes"},
    {"one-byte", "x80", FORMAT, "a pickle of 1 bytes"},
    {"no-proto", "N .", FORMAT, "expected PROTO first, got byte 0x4E"},
    {"proto-0", "x8000 N .", UNSUPPORTED, "pickle protocol 0"},
    {"proto-1", "x8001 N .", UNSUPPORTED, "pickle protocol 1"},
    {"proto-6", "x8006 N .", UNSUPPORTED, "pickle protocol 6"},
    {"proto-again", "x8002 x8002 N .", FORMAT, "PROTO within a pickle"},
    {"no-stop", "x8002 N", FORMAT, "ends within an opcode"},
    {"stop-empty", "x8002 .", FORMAT, "STOP with 0 values"},
    {"stop-two", "x8002 N N .", FORMAT, "STOP with 2 values"},
    {"stop-mark", "x8002 N ( .", FORMAT, "STOP with 1 marks left"},
    {"ext1", "x8002 x8201 .", UNSUPPORTED, "opcode EXT1 is not read"},
    {"ext2", "x8002 x830100 .", UNSUPPORTED, "opcode EXT2"},
    {"ext4", "x8002 x8401000000 .", UNSUPPORTED, "opcode EXT4"},
    {"inst", "x8002 ( x696F730A73797374656D0A .", UNSUPPORTED, "opcode INST"},
    {"obj", "x8002 ( c:os:system x6F .", UNSUPPORTED, "opcode OBJ"},
    {"persid", "x8002 x50310A .", UNSUPPORTED, "opcode PERSID"},
    {"next-buffer", "x8005 x97 .", UNSUPPORTED, "opcode NEXT_BUFFER"},
    {"readonly-buffer", "x8005 N x98 .", UNSUPPORTED, "opcode READONLY_BUFFER"},
    {"int-text", "x8002 x49310A .", UNSUPPORTED, "opcode INT"},
    {"long-text", "x8002 x4C314C0A .", UNSUPPORTED, "opcode LONG"},
    {"float-text", "x8002 x46310A .", UNSUPPORTED, "opcode FLOAT"},
    {"string-text", "x8002 x5327610A .", UNSUPPORTED, "opcode STRING"},
    {"unicode-text", "x8002 x56610A .", UNSUPPORTED, "opcode UNICODE"},
    {"get-text", "x8002 x67300A .", UNSUPPORTED, "opcode GET"},
    {"put-text", "x8002 N x70300A .", UNSUPPORTED, "opcode PUT"},
    {"unknown-00", "x8002 x00 .", FORMAT, "no opcode 0x00"},
    {"unknown-ff", "x8002 xFF .", FORMAT, "no opcode 0xFF"},
    {"pop-empty", "x8002 0", FORMAT, "the stack has 0 of 1 values needed"},
    {"dup-empty", "x8002 2", FORMAT, "the stack has 0 of 1"},
    {"pop-mark-none", "x8002 1", FORMAT, "no mark on the stack"},
    {"tuple-none", "x8002 N t", FORMAT, "no mark on the stack"},
    {"tuple1-empty", "x8002 x85", FORMAT, "0 of 1 values"},
    {"tuple3-two", "x8002 N N x87", FORMAT, "2 of 3 values"},
    {"tuple-across-mark", "x8002 N ( x85", FORMAT, "0 of 1 values"},
    {"append-dict", "x8002 } N a .", FORMAT, "APPEND: expected a list, got a dict"},
    {"append-alone", "x8002 N a .", FORMAT, "1 of 2 values"},
    {"appends-tuple", "x8002 ) ( N e .", FORMAT, "APPENDS: expected a list, got a tuple"},
    {"appends-nothing", "x8002 ( N e .", FORMAT, "APPENDS: no container on the stack"},
    {"setitem-tuple", "x8002 ) N N s .", FORMAT, "SETITEM: expected a dict, got a tuple"},
    {"setitems-odd", "x8002 } ( N N N u .", FORMAT, "SETITEMS: a key without a value"},
    {"setitems-list", "x8002 ] ( N N u .", FORMAT, "SETITEMS: expected a dict, got a list"},
    {"additems-list", "x8004 ] ( N x90 .", FORMAT, "ADDITEMS: expected a set, got a list"},
    {"dict-odd", "x8002 ( N d .", FORMAT, "a key without a value"},
    {"reduce-int", "x8002 i5 ) R .", FORMAT, "call: expected a function or class, got an int"},
    {"reduce-list", "x8002 c:a:b ] R .", FORMAT, "expected a tuple of arguments, got a list"},
    {"reduce-one", "x8002 ) R .", FORMAT, "1 of 2 values"},
    {"newobj-none", "x8002 N ) x81 .", FORMAT, "expected a function or class, got None"},
    {"newobj-ex", "x8004 c:a:b ) x92 .", FORMAT, "2 of 3 values"},
    {"build-int", "x8002 i5 } b .", FORMAT, "BUILD on an int"},
    {"build-tuple", "x8002 ) } b .", FORMAT, "BUILD on a tuple"},
    {"build-namespace", "x8002 c:argparse:Namespace ) x81 i5 b .", FORMAT,
     "expected a dict of attributes, got an int"},
    {"get-unset", "x8002 x6800 .", FORMAT, "memo entry 0 was never set"},
    {"get-sparse", "x8002 N x7205000000 0 x6A04000000 .", FORMAT, "memo entry 4 was never set"},
    {"get-far", "x8002 x6AFFFFFFFF .", FORMAT, "memo entry 4294967295 was never set"},
    {"put-far", "x8002 N x7200000001 .", LIMIT, "memo index 16777216, at most 16777215"},
    {"put-empty", "x8002 x7100", FORMAT, "0 of 1 values"},
    {"memoize-empty", "x8004 x94", FORMAT, "0 of 1 values"},
    {"text-beyond", "x8002 x58FFFFFFFF61", FORMAT, "a string of 4294967295 bytes, 1 are left"},
    {"text8-beyond", "x8004 x8DFFFFFFFFFFFFFFFF61", FORMAT,
     "a string of 18446744073709551615 bytes"},
    {"bytes8-beyond", "x8004 x8EFFFFFFFFFFFFFF7F61", FORMAT, "bytes of 9223372036854775807 bytes"},
    {"bytearray-beyond", "x8005 x960100000000000000", FORMAT, "bytes of 1 bytes, 0 are left"},
    {"string-negative", "x8002 x54FFFFFFFF", FORMAT, "a negative length"},
    {"long4-negative", "x8002 x8BFFFFFFFF", FORMAT, "a negative length"},
    {"long1-beyond", "x8002 x8AFF01", FORMAT, "a big int of 255 bytes, 1 are left"},
    {"long1-short", "x8002 x8A0401", FORMAT, "ends within an opcode"},
    {"float-short", "x8002 x4740", FORMAT, "ends within an opcode"},
    {"binint-short", "x8002 x4A01", FORMAT, "ends within an opcode"},
    {"frame-beyond", "x8004 x95FF00000000000000 N .", FORMAT, "FRAME of 255 bytes, 2 are left"},
    {"global-no-newline", "x8002 x636F73", FORMAT, "ends within an opcode"},
    {"global-nul", "x8002 x636F00730A780A .", FORMAT, "NUL in a name"},
    {"stack-global-int", "x8004 i1 'b' x93 .", FORMAT, "STACK_GLOBAL: expected two short strings"},
    {"ordereddict-items", "x8002 c:collections:OrderedDict ( ] i5 a t R .", FORMAT,
     "dict: expected pairs"},
    {"encode-wide", "x8002 c:_codecs:encode ( x5803000000E282AC 'latin1' t R .", FORMAT,
     "a character above U+00FF"},
    {"id-none", "x8002 N Q .", FORMAT, "persistent id: expected a tuple, got None"},
    {"id-alone", "x8002 Q .", FORMAT, "0 of 1 values"},
};

void pickle_cases(const struct bi_env *env, case_visitor *visit)
{
    struct bi_buf out = {.env = env};
    for (size_t i = 0; i < BI_COUNT(pickles); i++) {
        struct bad_case c = {CASE_PICKLE, "pickle", pickles[i].name, pickles[i].status,
                             pickles[i].expected};
        out.size = 0;
        bi_buf_putc(&out, '\0'); /* flavour of the fuzz target: zip, not strict */
        make_pickle(&out, pickles[i].pickle);
        visit(&c, out.data, out.size, NULL, 0);
    }
    { /* a GLOBAL line beyond its limit */
        struct bad_case c = {CASE_PICKLE, "pickle", "global-long", LIMIT,
                             "a name longer than 1024 bytes"};
        out.size = 0;
        bi_buf_append(&out, "\0\x80\2c", 4);
        for (int i = 0; i < 1025; i++)
            bi_buf_putc(&out, 'm');
        bi_buf_puts(&out, "\nn\n.");
        visit(&c, out.data, out.size, NULL, 0);
    }
    { /* strict: the first unknown name */
        struct bad_case c = {CASE_PICKLE, "pickle", "strict", UNSUPPORTED,
                             "Python name os.system is not on the list"};
        out.size = 0;
        bi_buf_putc(&out, 2);
        make_pickle(&out, "x8002 c:os:system ( 'id' t R .");
        visit(&c, out.data, out.size, NULL, 0);
    }
    bi_buf_free(&out);
}

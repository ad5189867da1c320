/* cases_folder.c - malformed folders: indexes, shards, config.json, vocab.txt. */
#include <string.h>

#include "cases.h"

#define FORMAT BIOINFER_FORMAT
#define SHARD1 "model-00001-of-00002.safetensors"
#define SHARD2 "model-00002-of-00002.safetensors"
#define MAP(members) "{\"metadata\":{\"total_size\":8},\"weight_map\":{" members "}}"

static const struct {
    const char *name, *index, *first, *second; /* headers of the shards, 4 bytes of data each */
    int status;
    const char *expected;
} indexes[] = {
    {"index-empty", "", "{}", "{}", FORMAT, "expected a value, got the end of the text"},
    {"index-array", "[]", "{}", "{}", FORMAT, "expected a JSON object"},
    {"index-cut", "{\"weight_map\":{", "{}", "{}", FORMAT, "expected a name in quotes"},
    {"no-map", "{\"metadata\":{}}", "{}", "{}", FORMAT, "expected an object 'weight_map'"},
    {"map-array", "{\"weight_map\":[]}", "{}", "{}", FORMAT, "expected an object 'weight_map'"},
    {"map-empty", "{\"weight_map\":{}}", "{}", "{}", FORMAT, "expected an object 'weight_map'"},
    {"map-twice", "{\"weight_map\":{},\"weight_map\":{}}", "{}", "{}", FORMAT,
     "name 'weight_map' appears twice"},
    {"tensor-twice", MAP("\"a\":\"" SHARD1 "\",\"a\":\"" SHARD2 "\""), "{}", "{}", FORMAT,
     "name 'a' appears twice"},
    {"shard-number", MAP("\"a\":1"), "{}", "{}", FORMAT, "'a': expected a file name"},
    {"shard-empty", MAP("\"a\":\"\""), "{}", "{}", FORMAT,
     "expected a name ending in .safetensors"},
    {"shard-dotdot", MAP("\"a\":\"../x.safetensors\""), "{}", "{}", FORMAT,
     "shard '../x.safetensors': expected a name without a folder"},
    {"shard-absolute", MAP("\"a\":\"/x.safetensors\""), "{}", "{}", FORMAT, "without a folder"},
    {"shard-sub", MAP("\"a\":\"d/x.safetensors\""), "{}", "{}", FORMAT, "without a folder"},
    {"shard-backslash", MAP("\"a\":\"d\\\\x.safetensors\""), "{}", "{}", FORMAT,
     "without a folder"},
    {"shard-drive", MAP("\"a\":\"c:x.safetensors\""), "{}", "{}", FORMAT, "without a folder"},
    {"shard-hidden", MAP("\"a\":\".x.safetensors\""), "{}", "{}", FORMAT, "begin with a dot"},
    {"shard-nul", MAP("\"a\":\"x\\u0000.safetensors\""), "{}", "{}", FORMAT, "NUL in the name"},
    {"shard-bin", MAP("\"a\":\"x.bin\""), "{}", "{}", FORMAT,
     "expected a name ending in .safetensors"},
    {"shard-suffix-only", MAP("\"a\":\".safetensors\""), "{}", "{}", FORMAT, "begin with a dot"},
    {"shard-absent", MAP("\"a\":\"model-00003-of-00002.safetensors\""), "{}", "{}",
     BIOINFER_NOT_FOUND, "shard 'model-00003-of-00002.safetensors' is not in the folder"},
    {"shard-bad", MAP("\"a\":\"" SHARD1 "\""), "{\"a\":1}", "{}", FORMAT,
     "tensor 'a': expected an object, got a number"},
    {"not-in-shard", MAP("\"a\":\"" SHARD1 "\",\"b\":\"" SHARD1 "\""),
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "{}", FORMAT,
     "tensor 'b' is not in its shard '" SHARD1 "'"},
    {"in-other-shard", MAP("\"a\":\"" SHARD2 "\",\"b\":\"" SHARD1 "\""),
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     "{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", FORMAT,
     "tensor 'b': the index says it is in '" SHARD1 "'"},
    {"in-two-shards", MAP("\"a\":\"" SHARD1 "\",\"b\":\"" SHARD2 "\""),
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", FORMAT,
     "tensor 'a': the index says it is in '" SHARD1 "'"},
    {"ignored-twice", MAP("\"b\":\"" SHARD1 "\""),
     "{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
     "\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}",
     "{}", FORMAT, "tensor 'a': name appears twice"},
};

static const struct {
    const char *name, *config, *vocab;
    size_t vocab_size; /* 0 = strlen */
    int status;
    const char *expected;
} configs[] = {
    {"config-empty", "", "", 0, FORMAT, "config.json: byte 0: expected a value, got the end"},
    {"config-array", "[1]", "", 0, FORMAT, "config.json: expected a JSON object"},
    {"config-number", "1e-5", "", 0, FORMAT, "config.json: expected a JSON object"},
    {"config-cut", "{\"hidden_size\": 32", "", 0, FORMAT, "expected ',' or '}', got the end"},
    {"config-twice", "{\"hidden_size\":1,\"hidden_size\":2}", "", 0, FORMAT,
     "config.json: name 'hidden_size' appears twice in one object"},
    {"config-twice-many",
     "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"d\":"
     "2}",
     "", 0, FORMAT, "name 'd' appears twice"},
    {"config-utf8", "{\"a\":\"\xFE\"}", "", 0, FORMAT, "byte 6: not UTF-8 (byte 0xFE)"},
    {"config-infinity", "{\"a\":Infinity}", "", 0, FORMAT, "expected a value, got 'I'"},
    {"config-plus", "{\"a\":+1}", "", 0, FORMAT, "expected a value, got '+'"},
    {"config-dot", "{\"a\":1.}", "", 0, FORMAT, "expected a digit, got '}'"},
    {"config-exponent", "{\"a\":1e}", "", 0, FORMAT, "expected a digit, got '}'"},
    {"config-minus", "{\"a\":-}", "", 0, FORMAT, "expected a value, got '}'"},
    {"config-word", "{\"a\":truth}", "", 0, FORMAT, "expected a value, got 't'"},
    {"config-two", "{} {}", "", 0, FORMAT, "expected nothing after the value, got '{'"},
    {"vocab-twice", "{}", "<cls>\nA\nC\nA\n", 0, FORMAT,
     "vocab.txt: line 4: token 'A' is also on line 2"},
    {"vocab-twice-crlf", "{}", "A\r\nA\n", 0, FORMAT, "line 2: token 'A' is also on line 1"},
    {"vocab-nul", "{}", "A\n\0\nB", 5, FORMAT, "vocab.txt: NUL at byte 2"},
    {"vocab-blank-twice", "{}", "A\n\n\n", 0, FORMAT, "line 3: token '' is also on line 2"},
};

static const struct {
    const char *name, *text; /* the first piece of a spiece.model */
    char size;
} pieces[] = {
    {"piece-empty", "", 0},
    {"piece-nul", "A\0B", 3},
    {"piece-overlong-3", "\xE0\x80\xAF", 3},
    {"piece-overlong-4", "\xF0\x80\x80\xAF", 4},
    {"piece-above", "\xF4\x90\x80\x80", 4},
    {"piece-cut", "\xE2\x96", 2},
};

void folder_cases(const struct bi_env *env, case_visitor *visit)
{
    struct bi_buf first = {.env = env}, second = {.env = env}, all = {.env = env};
    for (size_t i = 0; i < BI_COUNT(indexes); i++) {
        struct bad_case c = {CASE_FOLDER, "st_index", indexes[i].name, indexes[i].status,
                             indexes[i].expected};
        first.size = second.size = all.size = 0;
        make_safetensors(&first, indexes[i].first, strlen(indexes[i].first),
                         strstr(indexes[i].first, "[0,4]") ? 4 : 0);
        make_safetensors(&second, indexes[i].second, strlen(indexes[i].second),
                         strstr(indexes[i].second, "[0,4]") ? 4 : 0);
        struct bi_named_bytes files[] = {
            {"model.safetensors.index.json", indexes[i].index, strlen(indexes[i].index)},
            {SHARD1, first.data, first.size},
            {SHARD2, second.data, second.size},
        };
        bi_buf_puts(&all, indexes[i].index);
        bi_buf_putc(&all, '\0');
        put_le(&all, first.size, 2);
        bi_buf_append(&all, first.data, first.size);
        bi_buf_append(&all, second.data, second.size);
        visit(&c, all.data, all.size, files, 3);
    }
    for (size_t i = 0; i < BI_COUNT(configs); i++) {
        struct bad_case c = {CASE_FOLDER, "hf_config", configs[i].name, configs[i].status,
                             configs[i].expected};
        size_t n = configs[i].vocab_size ? configs[i].vocab_size : strlen(configs[i].vocab);
        struct bi_named_bytes files[] = {
            {"model.safetensors", "\2\0\0\0\0\0\0\0{}", 10},
            {"config.json", configs[i].config, strlen(configs[i].config)},
            {"vocab.txt", configs[i].vocab, n},
        };
        all.size = 0;
        bi_buf_puts(&all, configs[i].config);
        bi_buf_putc(&all, '\0');
        bi_buf_append(&all, configs[i].vocab, n);
        visit(&c, all.data, all.size, files, 3);
    }
    for (size_t i = 0; i < BI_COUNT(pieces); i++) {
        struct bad_case c = {CASE_FOLDER, NULL, pieces[i].name, FORMAT,
                             "spiece.model: byte 0: piece 0 has no text in UTF-8"};
        const char head[] = {'\n', (char)(pieces[i].size + 2), '\n', pieces[i].size};
        all.size = 0;
        bi_buf_append(&all, head, sizeof head);
        bi_buf_append(&all, pieces[i].text, (size_t)pieces[i].size);
        struct bi_named_bytes files[] = {
            {"model.safetensors", "\2\0\0\0\0\0\0\0{}", 10},
            {"spiece.model", all.data, all.size},
        };
        visit(&c, NULL, 0, files, 2);
    }
    { /* no weights; weights of others; a pickle under the name of safetensors */
        struct bi_named_bytes none = {"config.json", "{}", 2};
        struct bi_named_bytes keras = {"tf_model.h5", "\x89HDF\r\n\x1A\n", 8};
        struct bi_named_bytes confused[2] = {{"model.safetensors", NULL, 0}, none};
        struct bi_named_bytes twin[2] = {
            {"pytorch_model.bin.index.json", "{\"weight_map\":{\"a\":\"a.bin\"}}", 0},
            {"a.bin", "\2\0\0\0\0\0\0\0{}", 10}};
        visit(&(struct bad_case){CASE_FOLDER, NULL, "no-weights", BIOINFER_NOT_FOUND,
                                 "no weights in this folder"},
              NULL, 0, &none, 1);
        visit(&(struct bad_case){CASE_FOLDER, NULL, "keras", BIOINFER_NOT_FOUND,
                                 "not read: tf_model.h5"},
              NULL, 0, &keras, 1);
        all.size = 0;
        make_torch_zip(&all, P_GOOD, NULL);
        confused[0].bytes = all.data;
        confused[0].size = all.size;
        visit(&(struct bad_case){CASE_FOLDER, NULL, "pickle-named-safetensors", FORMAT,
                                 "expected safetensors by its name, got pytorch zip"},
              NULL, 0, confused, 2);
        twin[0].size = strlen(twin[0].bytes);
        visit(&(struct bad_case){CASE_FOLDER, NULL, "safetensors-named-bin", FORMAT,
                                 "a.bin: expected pytorch by its name, got safetensors"},
              NULL, 0, twin, 2);
    }
    bi_buf_free(&first);
    bi_buf_free(&second);
    bi_buf_free(&all);
}

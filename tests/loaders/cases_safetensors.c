/* cases_safetensors.c - malformed safetensors files, and files that are something else.
 */
#include <string.h>

#include "cases.h"

#define T(name, dtype, shape, begin, end)                                                          \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end \
    "]}"
#define OK4 T("a", "F32", "[1]", 0, 4)
#define FORMAT BIOINFER_FORMAT
#define LIMIT BIOINFER_LIMIT

/* Header text and bytes of data behind it. */
static const struct {
    const char *name, *header;
    size_t n_data;
    int status;
    const char *expected;
} headers[] = {
    {"no-brace", "[]", 0, FORMAT, "expected an object, got an array"},
    {"one-brace", "{", 0, FORMAT, "expected a name in quotes, got the end of the text"},
    {"not-closed", "{" OK4, 4, FORMAT, "expected ',' or '}', got the end of the text"},
    {"bad-utf8", "\xFF", 0, FORMAT, "byte 0: not UTF-8 (byte 0xFF)"},
    {"utf8-overlong", "{\"\xC0\xAF\":1}", 0, FORMAT, "not UTF-8 (byte 0xC0)"},
    {"utf8-surrogate", "{\"\xED\xA0\x80\":1}", 0, FORMAT, "not UTF-8 (byte 0xED)"},
    {"utf8-above", "{\"\xF4\x90\x80\x80\":1}", 0, FORMAT, "not UTF-8 (byte 0xF4)"},
    {"bom", "\xEF\xBB\xBF{}", 0, FORMAT, "byte order mark"},
    {"trailing-text", "{} x", 0, FORMAT, "expected nothing after the value, got 'x'"},
    {"two-objects", "{}{}", 0, FORMAT, "expected nothing after the value, got '{'"},
    {"trailing-comma", "{" OK4 ",}", 4, FORMAT, "expected a name in quotes, got '}'"},
    {"single-quotes", "{'a':1}", 0, FORMAT, "expected a name in quotes, got '''"},
    {"no-colon", "{\"a\" 1}", 0, FORMAT, "expected ':', got '1'"},
    {"control-char", "{\"a\nb\":1}", 0, FORMAT, "no control character in a string, got byte 0x0A"},
    {"bad-escape", "{\"\\q\":1}", 0, FORMAT, "expected an escape, got 'q'"},
    {"short-unicode", "{\"\\u12\":1}", 0, FORMAT, "four hexadecimal digits"},
    {"lone-high", "{\"\\ud800x\":1}", 0, FORMAT, "lone surrogate U+D800"},
    {"lone-low", "{\"\\udc00\":1}", 0, FORMAT, "lone surrogate U+DC00"},
    {"comment", "{/**/}", 0, FORMAT, "expected a name in quotes, got '/'"},
    {"nan", "{\"a\":NaN}", 0, FORMAT, "expected a value, got 'N'"},
    {"deep", "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 0,
     FORMAT, "tensor 'a': expected an object, got an array"},
    {"deep-unknown",
     "{\"a\":{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 0, LIMIT,
     "nested deeper than 64"},
    {"entry-number", "{\"a\":5}", 0, FORMAT, "tensor 'a': expected an object, got a number"},
    {"entry-array", "{\"a\":[\"F32\",[1],[0,4]]}", 4, FORMAT, "expected an object, got an array"},
    {"entry-null", "{\"a\":null}", 0, FORMAT, "expected an object, got null"},
    {"no-dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, FORMAT,
     "tensor 'a': no dtype"},
    {"no-shape", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, FORMAT,
     "tensor 'a': no shape"},
    {"no-offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, FORMAT, "no data_offsets"},
    {"dtype-number", "{\"a\":{\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, FORMAT,
     "dtype: expected a string, got a number"},
    {"dtype-unknown", "{" T("a", "F33", "[1]", 0, 4) "}", 4, FORMAT, "unknown dtype 'F33'"},
    {"dtype-case", "{" T("a", "f32", "[1]", 0, 4) "}", 4, FORMAT, "unknown dtype 'f32'"},
    {"dtype-twice",
     "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}"
     "}",
     4, FORMAT, "key 'dtype' appears twice"},
    {"shape-object", "{\"a\":{\"dtype\":\"F32\",\"shape\":{},\"data_offsets\":[0,4]}}", 4, FORMAT,
     "shape: expected an array, got an object"},
    {"shape-negative", "{" T("a", "F32", "[-1]", 0, 4) "}", 4, FORMAT,
     "shape: expected a whole number below 2^64, got -1"},
    {"shape-fraction", "{" T("a", "F32", "[1.0]", 0, 4) "}", 4, FORMAT, "below 2^64, got 1.0"},
    {"shape-exponent", "{" T("a", "F32", "[1e0]", 0, 4) "}", 4, FORMAT, "below 2^64, got 1e0"},
    {"shape-zero-led", "{" T("a", "F32", "[01]", 0, 4) "}", 4, FORMAT, "leading zero"},
    {"shape-string", "{" T("a", "F32", "[\"1\"]", 0, 4) "}", 4, FORMAT,
     "shape: expected a number, got a string"},
    {"shape-2^64", "{" T("a", "F32", "[18446744073709551616]", 0, 4) "}", 4, FORMAT, "below 2^64"},
    {"shape-9", "{" T("a", "U8", "[1,1,1,1,1,1,1,1,1]", 0, 1) "}", 1, LIMIT,
     "9 dimensions, at most 8"},
    {"product-1", "{" T("a", "I32", "[2,18446744073709551614]", 0, 16) "}", 16, FORMAT,
     "size overflows 64 bits"},
    {"product-2", "{" T("a", "I32", "[2,9223372036854775807]", 0, 16) "}", 16, FORMAT,
     "size overflows 64 bits"},
    {"product-bits", "{" T("a", "F64", "[288230376151711744]", 0, 0) "}", 0, FORMAT,
     "size overflows 64 bits"},
    {"misaligned", "{" T("a", "F4", "[3]", 0, 2) "}", 2, FORMAT, "not a whole number of bytes"},
    {"offsets-one", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, FORMAT,
     "expected 2 data_offsets, got 1"},
    {"offsets-three", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4,
     FORMAT, "expected 2 data_offsets, got 3"},
    {"offsets-negative", "{" T("a", "F32", "[1]", -4, 0) "}", 4, FORMAT, "below 2^64, got -4"},
    {"offsets-reversed", "{" T("a", "F32", "[1]", 4, 0) "}", 4, FORMAT,
     "expected 4 bytes by its shape, got data_offsets [4, 0]"},
    {"offsets-short", "{" T("a", "F32", "[1]", 0, 3) "}", 3, FORMAT,
     "expected 4 bytes by its shape"},
    {"offsets-long", "{" T("a", "F32", "[1]", 0, 5) "}", 5, FORMAT,
     "expected 4 bytes by its shape"},
    {"first-hole", "{" T("a", "F32", "[1]", 4, 8) "}", 8, FORMAT, "begins at 4, expected 0 (hole)"},
    {"hole", "{" OK4 "," T("b", "F32", "[1]", 8, 12) "}", 12, FORMAT,
     "begins at 8, expected 4 (hole)"},
    {"overlap", "{" OK4 "," T("b", "F32", "[1]", 2, 6) "}", 6, FORMAT,
     "begins at 2, expected 4 (overlap)"},
    {"same-range", "{" OK4 "," T("b", "F32", "[1]", 0, 4) "}", 4, FORMAT,
     "begins at 0, expected 4 (overlap)"},
    {"ten-same",
     "{" OK4 "," T("b", "F32", "[1]", 0, 4) "," T("c", "F32", "[1]", 0, 4) "," T(
         "d", "F32", "[1]", 0,
         4) "," T("e", "F32", "[1]", 0,
                  4) "," T("f", "F32", "[1]", 0,
                           4) "," T("g", "F32", "[1]", 0,
                                    4) "," T("h", "F32", "[1]", 0,
                                             4) "," T("i", "F32", "[1]", 0,
                                                      4) "," T("j", "F32", "[1]", 0, 4) "}",
     4, FORMAT, "invalid offset"},
    {"data-missing", "{" T("a", "I32", "[2,2]", 0, 16) "}", 14, FORMAT, "incomplete buffer"},
    {"data-trailing", "{" T("a", "I32", "[2,2]", 0, 16) "}", 20, FORMAT, "incomplete buffer"},
    {"data-without", "{}", 1, FORMAT, "incomplete buffer"},
    {"huge-end", "{" T("a", "U8", "[18446744073709551615]", 0, 18446744073709551615) "}", 4, FORMAT,
     "size overflows 64 bits"},
    {"far-begin", "{" T("a", "U8", "[1]", 18446744073709551614, 18446744073709551615) "}", 4,
     FORMAT, "invalid offset"},
    {"twice", "{" OK4 "," T("a", "F32", "[1]", 4, 8) "}", 8, FORMAT,
     "tensor 'a': name appears twice"},
    {"twice-escaped", "{" OK4 "," T("\\u0061", "F32", "[1]", 4, 8) "}", 8, FORMAT,
     "tensor 'a': name appears twice"},
    {"empty-name", "{" T("", "F32", "[1]", 0, 4) "}", 4, FORMAT, "tensor with an empty name"},
    {"nul-name", "{" T("a\\u0000b", "F32", "[1]", 0, 4) "}", 4, FORMAT, "NUL in the name"},
    {"metadata-array", "{\"__metadata__\":[]}", 0, FORMAT,
     "__metadata__: expected an object, got an array"},
    {"metadata-number", "{\"__metadata__\":{\"a\":1}}", 0, FORMAT,
     "__metadata__: expected a string, got a number"},
    {"metadata-twice", "{\"__metadata__\":{},\"__metadata__\":{}}", 0, FORMAT,
     "__metadata__ appears twice"},
    {"metadata-key-twice", "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, FORMAT,
     "key 'a' appears twice"},
};

/* Whole files; lengths count because of the NULs. */
#define BYTES(text) text, sizeof(text) - 1
static const struct {
    const char *target, *name, *bytes;
    size_t size;
    int status;
    const char *expected;
} files[] = {
    {"safetensors", "empty", BYTES(""), FORMAT, "0 bytes are too few"},
    {"safetensors", "seven", BYTES("\2\0\0\0\0\0\0"), FORMAT, "7 bytes are too few"},
    {"safetensors", "length-0", BYTES("\0\0\0\0\0\0\0\0"), FORMAT, "neither safetensors nor"},
    {"safetensors", "length-0-brace", BYTES("\0\0\0\0\0\0\0\0{}"), FORMAT,
     "expected a value, got the end"},
    {"safetensors", "length-beyond", BYTES("\3\0\0\0\0\0\0\0{}"), FORMAT, "invalid header length"},
    {"safetensors", "length-large", BYTES("\x3C\0\0\0\0\xFF\xFF\xFF{}"), LIMIT, "header too large"},
    {"safetensors", "length-100000001", BYTES("\x01\xE1\xF5\x05\0\0\0\0{}"), LIMIT,
     "header too large"},
    {"safetensors", "length-max", BYTES("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}"), LIMIT,
     "header too large"},
    {"safetensors", "numpy", BYTES("\x93NUMPY\1\0v\0{'descr'"), BIOINFER_UNSUPPORTED,
     "NumPy array"},
    {"safetensors", "hdf5", BYTES("\x89HDF\r\n\x1A\n\0\0\0\0"), BIOINFER_UNSUPPORTED, "HDF5"},
    {"safetensors", "gguf", BYTES("GGUF\3\0\0\0\0\0\0\0"), BIOINFER_UNSUPPORTED, "GGUF"},
    {"safetensors", "gguf-swapped", BYTES("FUGG\0\0\0\3\0\0\0\0"), BIOINFER_UNSUPPORTED,
     "byte-swapped GGUF"},
    {"safetensors", "gzip", BYTES("\x1F\x8B\x08\0\0\0\0\0\0\3"), BIOINFER_UNSUPPORTED, "gzip data"},
    {"safetensors", "bzip2", BYTES("BZh91AY&SY"), BIOINFER_UNSUPPORTED, "bzip2 data"},
    {"safetensors", "xz",
     BYTES("\xFD"
           "7zXZ\0\0\4"),
     BIOINFER_UNSUPPORTED, "xz data"},
    {"safetensors", "zstd", BYTES("\x28\xB5\x2F\xFD\0\0\0\0"), BIOINFER_UNSUPPORTED, "zstd data"},
    {"safetensors", "parquet", BYTES("PAR1\0\0\0\0"), BIOINFER_UNSUPPORTED, "Parquet"},
    {"safetensors", "arrow", BYTES("ARROW1\0\0"), BIOINFER_UNSUPPORTED, "an Arrow IPC file"},
    {"safetensors", "bigwig", BYTES("\x26\xFC\x8F\x88\4\0\0\0"), BIOINFER_UNSUPPORTED, "bigWig"},
    {"safetensors", "elf",
     BYTES("\x7F"
           "ELF\2\1\1\0"),
     BIOINFER_UNSUPPORTED, "a program"},
    {"safetensors", "lfs", BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
     BIOINFER_UNSUPPORTED, "a git-lfs pointer"},
    {"safetensors", "html", BYTES("<!DOCTYPE html><html>"), BIOINFER_UNSUPPORTED, "an HTML page"},
    {"safetensors", "fasta", BYTES(">seq\nMKV\n"), BIOINFER_UNSUPPORTED, "FASTA, not weights"},
    {"safetensors", "json-alone", BYTES("{\"a\": 1234}"), BIOINFER_UNSUPPORTED, "JSON text"},
    {"safetensors", "text", BYTES("hello, world!"), FORMAT, "it begins 68 65 6C 6C"},
    {"torch_legacy", "plain-pickle", BYTES("\x80\2}q\0."), BIOINFER_UNSUPPORTED,
     "a plain Python pickle"},
    {"torch_zip", "empty-zip", BYTES("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), FORMAT,
     "an empty zip archive"},
};

void safetensors_cases(const struct bi_env *env, case_visitor *visit)
{
    struct bi_buf out = {.env = env};
    for (size_t i = 0; i < BI_COUNT(headers); i++) {
        struct bad_case c = {CASE_WEIGHTS, "safetensors", headers[i].name, headers[i].status,
                             headers[i].expected};
        out.size = 0;
        make_safetensors(&out, headers[i].header, strlen(headers[i].header), headers[i].n_data);
        visit(&c, out.data, out.size, NULL, 0);
    }
    { /* a name one byte too long */
        struct bad_case c = {CASE_WEIGHTS, "safetensors", "long-name", LIMIT,
                             "name of 1025 bytes, at most 1024"};
        struct bi_buf header = {.env = env};
        bi_buf_puts(&header, "{\"");
        for (int i = 0; i < 1025; i++)
            bi_buf_putc(&header, 'n');
        bi_buf_puts(&header, "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}");
        out.size = 0;
        make_safetensors(&out, header.data, header.size, 1);
        visit(&c, out.data, out.size, NULL, 0);
        bi_buf_free(&header);
    }
    bi_buf_free(&out);
}

void other_cases(const struct bi_env *env, case_visitor *visit)
{
    struct bi_buf out = {.env = env};
    for (size_t i = 0; i < BI_COUNT(files); i++) {
        struct bad_case c = {CASE_WEIGHTS, files[i].target, files[i].name, files[i].status,
                             files[i].expected};
        visit(&c, files[i].bytes, files[i].size, NULL, 0);
    }
    for (int i = 0; i < 512; i++) /* the signature in the second block */
        bi_buf_putc(&out, '\0');
    bi_buf_append(&out, "\x89HDF\r\n\x1A\n", 8);
    visit(&(struct bad_case){CASE_WEIGHTS, "safetensors", "hdf5-512", BIOINFER_UNSUPPORTED, "HDF5"},
          out.data, out.size, NULL, 0);
    out.size = 257;
    bi_buf_append(&out, "ustar  ", 8);
    visit(&(struct bad_case){CASE_WEIGHTS, "safetensors", "tar", BIOINFER_UNSUPPORTED,
                             "a tar archive"},
          out.data, out.size, NULL, 0);
    bi_buf_free(&out);
}

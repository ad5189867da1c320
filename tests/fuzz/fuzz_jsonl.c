/* fuzz_jsonl.c - what the text writers put out must read back: JSON strings as the same
 * text with ill-formed UTF-8 replaced, base64 as the same bytes. fuzz_number.c tries numbers. */
#include "../../loaders/json.h"
#include "../../writers/text.h"
#include "fuzz.h"

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c ? strchr(digits, c) : NULL;
    if (!p)
        abort();
    return (int)(p - digits);
}

static void check_base64(const char *text, size_t n, const uint8_t *data, size_t size)
{
    size_t at = 0;
    if (n % 4 || n / 4 != (size + 2) / 3)
        abort();
    for (size_t i = 0; i < n; i += 4) {
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++)
            v = v << 6 | (uint32_t)(text[i + k] == '=' ? 0 : digit_of(text[i + k]));
        for (int shift = 16; shift >= 0 && at < size; shift -= 8)
            if (data[at++] != (v >> shift & 255))
                abort();
    }
    if (at != size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bi_arena arena = {.env = &env};
    struct bi_buf line = {.env = &env}, repaired = {.env = &env}, field = {.env = &env};
    struct bioinfer_error err;
    struct bi_json *json = NULL;
    const struct bi_json *text, *bytes;
    char *copy = malloc(size + 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    copy[size] = '\0';
    bi_buf_puts(&line, "{\"id\":");
    bi_put_json(&line, copy);
    bi_buf_puts(&line, ",\"id_b64\":\"");
    bi_put_base64(&line, data, size);
    bi_buf_puts(&line, "\",\"i\":");
    bi_put_u64(&line, size);
    bi_buf_puts(&line, ",\"x\":");
    bi_put_json_f32(&line, size >= 4 ? (union {
                                           uint32_t u;
                                           float f;
                                       }){bi_le32(data)}
                                           .f
                                     : 0);
    bi_buf_putc(&line, '}');
    bi_put_utf8(&repaired, copy);
    bi_put_field(&field, copy);
    if (!bi_buf_text(&line) || !bi_buf_text(&repaired) || !bi_buf_text(&field))
        abort();
    if (memchr(line.data, '\n', line.size) || strpbrk(field.data, "\t\r\n"))
        abort();
    if (!bi_utf8_valid(repaired.data) || bi_utf8_valid(copy) != !strcmp(copy, repaired.data))
        abort();
    if (bi_json_parse(&json, &arena, "line", line.data, line.size, &err))
        abort();
    text = bi_json_get(json, "id");
    bytes = bi_json_get(json, "id_b64");
    if (!text || !bytes || text->text_len != repaired.size ||
        memcmp(text->text, repaired.data, repaired.size))
        abort();
    check_base64(bytes->text, bytes->text_len, data, size);
    bi_buf_free(&line);
    bi_buf_free(&repaired);
    bi_buf_free(&field);
    bi_arena_reset(&arena);
    free(copy);
    return 0;
}

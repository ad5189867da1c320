/* png.c - images of 8-bit RGB as PNG, by zlib. */
#include <string.h>
#include <zlib.h>

#include "../loaders/gunzip.h"
#include "raster.h"

enum { MOST_SIDE = 1 << 15 };
static const char signature[] = "\x89PNG\r\n\x1A\n";

static void put_be32(uint8_t *dst, uint32_t x)
{
    for (int k = 0; k < 4; k++)
        dst[k] = (uint8_t)(x >> (24 - 8 * k));
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_chunk(struct bi_buf *png, const char *type, const void *bytes, size_t n)
{
    uint8_t word[4];
    const size_t start = png->size + 4;
    put_be32(word, (uint32_t)n);
    bi_buf_append(png, word, 4);
    bi_buf_append(png, type, 4);
    bi_buf_append(png, bytes, n);
    if (png->failed)
        return;
    put_be32(word, (uint32_t)crc32(0, (const Bytef *)png->data + start, (uInt)(n + 4)));
    bi_buf_append(png, word, 4);
}

/* Compresses n bytes; false without memory. */
static bool deflate_bytes(struct bi_buf *out, uint8_t *bytes, size_t n)
{
    z_stream z = {BI_Z_ENV(out->env)};
    bool ok;
    char *room;
    if (deflateInit(&z, 9) != Z_OK)
        return false;
    room = bi_buf_reserve(out, deflateBound(&z, (uLong)n));
    z.next_in = bytes;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)room;
    z.avail_out = (uInt)deflateBound(&z, (uLong)n);
    ok = room && deflate(&z, Z_FINISH) == Z_STREAM_END;
    out->size += ok ? z.total_out : 0;
    deflateEnd(&z);
    return ok;
}

void bi_png_write(struct bi_buf *out, const uint8_t *rgb, uint32_t width, uint32_t height)
{
    const size_t line = 3 * (size_t)width;
    uint8_t head[13] = {[8] = 8 /* bits */, [9] = 2 /* RGB */};
    struct bi_buf packed = {.env = out->env};
    uint8_t *rows = bi_zalloc(out->env, (line + 1) * height); /* each begins with its filter, 0 */
    for (uint32_t r = 0; rows && r < height; r++)
        memcpy(rows + r * (line + 1) + 1, rgb + r * line, line);
    if (!rows || !deflate_bytes(&packed, rows, (line + 1) * height))
        out->failed = true;
    put_be32(head, width);
    put_be32(head + 4, height);
    bi_buf_append(out, signature, sizeof signature - 1);
    put_chunk(out, "IHDR", head, sizeof head);
    put_chunk(out, "IDAT", packed.data, packed.size);
    put_chunk(out, "IEND", "", 0);
    bi_free(out->env, rows);
    bi_buf_free(&packed);
}

/* Inflates n bytes to exactly `size`. */
static bool inflate_bytes(const struct bi_env *env, const uint8_t *bytes, size_t n, uint8_t *to,
                          size_t size)
{
    z_stream z = {BI_Z_ENV(env)};
    bool ok;
    if (inflateInit(&z) != Z_OK)
        return false;
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)n;
    z.next_out = to;
    z.avail_out = (uInt)size;
    ok = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == size;
    inflateEnd(&z);
    return ok;
}

bool bi_png_read(const struct bi_env *env, const uint8_t *bytes, size_t n, uint8_t **rgb,
                 uint32_t *width, uint32_t *height)
{
    const size_t head = 8 + 12 + 13, all = head + 8;
    size_t line, packed;
    uint8_t *rows = NULL;
    bool ok = false;
    *rgb = NULL;
    if (n < all + 4 || memcmp(bytes, signature, 8) || memcmp(bytes + head + 4, "IDAT", 4))
        return false;
    *width = be32(bytes + 16);
    *height = be32(bytes + 20);
    packed = be32(bytes + head);
    if (!*width || !*height || *width > MOST_SIDE || *height > MOST_SIDE || packed > n - all)
        return false;
    line = 3 * (size_t)*width;
    *rgb = bi_zalloc(env, line * *height);
    rows = bi_zalloc(env, (line + 1) * *height);
    ok = *rgb && rows && inflate_bytes(env, bytes + all, packed, rows, (line + 1) * *height);
    for (uint32_t r = 0; ok && r < *height; r++)
        memcpy(*rgb + r * line, rows + r * (line + 1) + 1, line);
    bi_free(env, rows);
    return ok;
}

/* make.c - builds weight files byte by byte, right or deliberately wrong. */
#include "make.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void put_le(struct bi_buf *out, uint64_t v, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        bi_buf_putc(out, (char)(v >> 8 * i & 0xFF));
}

void make_safetensors(struct bi_buf *out, const char *header, size_t header_len, size_t n_data)
{
    put_le(out, header_len, 8);
    bi_buf_append(out, header, header_len);
    for (size_t i = 0; i < n_data; i++)
        bi_buf_putc(out, (char)i);
}

static void put_int(struct bi_buf *out, long long v)
{
    if (v >= INT32_MIN && v <= INT32_MAX) {
        bi_buf_putc(out, 'J');
        put_le(out, (uint64_t)v, 4);
    } else {
        bi_buf_puts(out, "\x8A\x08");
        put_le(out, (uint64_t)v, 8);
    }
}

void make_pickle(struct bi_buf *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        if (text[0] == 'x' && n > 1) {
            for (size_t i = 1; i + 1 < n; i += 2) {
                char byte[3] = {text[i], text[i + 1], '\0'};
                bi_buf_putc(out, (char)strtoul(byte, NULL, 16));
            }
        } else if (text[0] == '\'') {
            bi_buf_putc(out, 'X');
            put_le(out, n - 2, 4);
            bi_buf_append(out, text + 1, n - 2);
        } else if (text[0] == 'i' && n > 1) {
            put_int(out, strtoll(text + 1, NULL, 10));
        } else if (text[0] == 'c' && n > 1) {
            size_t module = strcspn(text + 2, ":");
            bi_buf_putc(out, 'c');
            bi_buf_append(out, text + 2, module);
            bi_buf_putc(out, '\n');
            bi_buf_append(out, text + 3 + module, n - 3 - module);
            bi_buf_putc(out, '\n');
        } else if (n) {
            bi_buf_putc(out, text[0]);
        }
        text += n;
        text += strspn(text, " ");
    }
}

/* ---- zip ---- */

static void put_central(struct bi_buf *out, const struct make_record *r, uint64_t header,
                        uint32_t crc, const struct make_zip_faults *f)
{
    const char *name = f->central_name ? f->central_name : r->name;
    uint64_t size = r->size + (uint64_t)f->size_add, stored = r->size + (uint64_t)f->stored_add;
    struct bi_buf extra = {.env = out->env};
    header += (uint64_t)f->header_add;
    for (int i = 0; i < 1 + f->twice_zip64_extra && (f->zip64_extra || f->short_zip64_extra); i++) {
        put_le(&extra, 1, 2);
        put_le(&extra, f->short_zip64_extra ? 8 : 24, 2);
        put_le(&extra, size, 8);
        if (!f->short_zip64_extra) {
            put_le(&extra, stored, 8);
            put_le(&extra, header, 8);
        }
    }
    if (extra.size)
        size = stored = header = 0xFFFFFFFF;
    if (f->extra_len) {
        put_le(&extra, 0x4242, 2);
        put_le(&extra, f->extra_len, 2);
    }
    bi_buf_puts(out, "PK\1\2");
    put_le(out, 0, 4);
    put_le(out, 0x0808 | f->flags, 2);
    put_le(out, f->method, 2);
    put_le(out, 0, 4);
    put_le(out, crc ^ f->crc_xor, 4);
    put_le(out, stored, 4);
    put_le(out, size, 4);
    put_le(out, strlen(name), 2);
    put_le(out, extra.size, 2);
    put_le(out, 0, 2);
    put_le(out, f->disk, 2);
    put_le(out, 0, 6);
    put_le(out, header, 4);
    bi_buf_puts(out, name);
    bi_buf_append(out, extra.data, extra.size);
    bi_buf_free(&extra);
}

static void put_ends(struct bi_buf *out, size_t n, uint64_t dir, uint64_t dir_size,
                     const struct make_zip_faults *f)
{
    uint64_t end64 = out->size;
    const char *comment = f->comment ? f->comment : "";
    if (!f->no_zip64) {
        bi_buf_puts(out, f->bad_end64_signature ? "PK\6\5" : "PK\6\6");
        put_le(out, 44, 8);
        put_le(out, 0, 4);
        put_le(out, f->end64_disk, 4);
        put_le(out, 0, 4);
        put_le(out, n + (uint64_t)f->count64_disk_add, 8);
        put_le(out, n + (uint64_t)f->count64_add, 8);
        put_le(out, dir_size + (uint64_t)f->dir_size64_add, 8);
        put_le(out, dir + (uint64_t)f->dir_offset64_add, 8);
        bi_buf_puts(out, "PK\6\7");
        put_le(out, 0, 4);
        put_le(out, end64 + (uint64_t)f->locator_add, 8);
        put_le(out, 1 + f->n_disks_add, 4);
    }
    bi_buf_puts(out, f->bad_end_signature ? "PK\5\5" : "PK\5\6");
    put_le(out, f->end_disk, 2);
    put_le(out, 0, 2);
    put_le(out, n, 2);
    put_le(out, n + (uint64_t)f->count_add, 2);
    put_le(out, dir_size + (uint64_t)f->dir_size_add, 4);
    put_le(out, dir + (uint64_t)f->dir_offset_add, 4);
    put_le(out, strlen(comment) + f->comment_len_add, 2);
    bi_buf_puts(out, comment);
}

void make_zip(struct bi_buf *out, const struct make_record *records, size_t n,
              const struct make_zip_faults *faults)
{
    static const struct make_zip_faults none;
    uint64_t headers[16];
    uint32_t crcs[16];
    size_t dir;
    if (!faults)
        faults = &none;
    for (size_t i = 0; i < n; i++) {
        const struct make_record *r = &records[i];
        const struct make_zip_faults *f = i == faults->victim ? faults : &none;
        const char *name = f->local_name ? f->local_name : r->name;
        size_t pad;
        headers[i] = out->size;
        crcs[i] = (uint32_t)crc32(0, r->data, (uInt)r->size);
        bi_buf_puts(out, "PK\3\4");
        put_le(out, 0, 2);
        put_le(out, 0x0808 | f->flags, 2);
        put_le(out, f->method, 2);
        put_le(out, 0, 4);
        put_le(out, f->local_crc, 4);
        put_le(out, f->local_stored, 4);
        put_le(out, f->local_size, 4);
        put_le(out, strlen(name), 2);
        pad = 64 - (out->size + 2 + strlen(name) + 4) % 64;
        put_le(out, pad + 4, 2);
        bi_buf_puts(out, name);
        bi_buf_puts(out, "FB");
        put_le(out, pad, 2);
        for (size_t k = 0; k < pad; k++)
            bi_buf_putc(out, 'Z');
        bi_buf_append(out, r->data, r->size);
        bi_buf_puts(out, "PK\7\10");
        put_le(out, crcs[i], 4);
        put_le(out, r->size, 4);
        put_le(out, r->size, 4);
    }
    dir = out->size;
    for (size_t i = 0; i < n; i++)
        put_central(out, &records[i], headers[i], crcs[i], i == faults->victim ? faults : &none);
    size_t dir_size = out->size - dir;
    if (faults->between)
        bi_buf_puts(out, faults->between);
    put_ends(out, n, dir, dir_size, faults);
    out->size -= faults->cut;
}

static const float storage[4] = {1, 2, 3, 4};

void make_torch_zip(struct bi_buf *out, const char *pickle, const struct make_zip_faults *faults)
{
    struct bi_buf text = {.env = out->env};
    make_pickle(&text, pickle);
    struct make_record records[] = {
        {"archive/data.pkl", text.data, text.size},
        {"archive/data/0", storage, sizeof storage},
        {"archive/byteorder", "little", 6},
        {"archive/version", "3\n", 2},
    };
    make_zip(out, records, 4, faults);
    bi_buf_free(&text);
}

/* ---- legacy ---- */

void make_torch_legacy(struct bi_buf *out, const struct make_legacy *l)
{
    static const char *const good[] = {
        "x80028A0A6CFC9C46F9206AA850192E", "x80024DE9032E",
        "x8002 } ( 'protocol_version' i1001 'little_endian' x88 'type_sizes' } u .",
        P_HEAD P_REBUILD
        "( 'storage' c:torch:FloatStorage '0' 'cpu' i4 N t Q " P_VIEW P_REST P_TAIL,
        "x8002 ] '0' a ."};
    for (int i = 0; i < 5; i++)
        make_pickle(out, l && l->pickles[i] ? l->pickles[i] : good[i]);
    if (l && l->tail) {
        bi_buf_append(out, l->tail, l->tail_size);
    } else {
        put_le(out, 4, 8);
        bi_buf_append(out, storage, sizeof storage);
    }
}

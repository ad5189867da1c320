/* pack.c - a result as bytes; see pack.h for the layout. */
#include "pack.h"

#include <string.h>

enum { HEAD = 56, ARRAY = BI_PACK_ARRAY, MAX_TEXT = 1 << 30, LABELS = 1 };

struct sizes {
    uint64_t all, head, texts, data;
};

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static bool array_size(const struct bioinfer_array *a, uint64_t *size)
{
    if (a->n_dims < 0 || a->n_dims > (int)BI_COUNT(a->shape))
        return false;
    *size = sizeof(float);
    for (int i = 0; i < a->n_dims; i++)
        if (a->shape[i] < 0 || !bi_mul_size(*size, (uint64_t)a->shape[i], size))
            return false;
    return true;
}

static bool measure(const struct bioinfer_result *r, struct sizes *s)
{
    *s = (struct sizes){.texts = strlen(r->id) + strlen(text_of(r->description)) +
                                 strlen(text_of(r->message)) + 3};
    if (r->labels)
        s->texts += strlen(r->labels) + 1;
    if (r->n_arrays < 0)
        return false;
    for (int i = 0; i < r->n_arrays; i++) {
        uint64_t n;
        s->texts += strlen(r->arrays[i].kind) + 1;
        if (!array_size(&r->arrays[i], &n) || !bi_add_size(s->data, n, &s->data))
            return false;
    }
    if (s->texts > MAX_TEXT)
        return false;
    s->head = (HEAD + ARRAY * (uint64_t)r->n_arrays + s->texts + 7) & ~(uint64_t)7;
    return bi_round_size(s->data, 8, &s->all) && bi_add_size(s->all, s->head, &s->all);
}

uint64_t bi_pack_size(const struct bioinfer_result *r)
{
    struct sizes s;
    return measure(r, &s) ? s.all : 0;
}

static void put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static void put64(uint8_t *p, uint64_t v)
{
    put32(p, (uint32_t)v);
    put32(p + 4, (uint32_t)(v >> 32));
}

int bi_pack(const struct bioinfer_result *r,
            int (*write)(void *user, const void *bytes, size_t size), void *user,
            struct bioinfer_error *err)
{
    static const uint8_t zeros[8];
    const char *texts[4] = {r->id, text_of(r->description), text_of(r->message), r->labels};
    const int n_texts = r->labels ? 4 : 3;
    uint8_t head[HEAD], entry[ARRAY];
    uint64_t size, kind_at = 0;
    struct sizes s;
    int st = 0;
    if (!measure(r, &s))
        return bi_fail(err, BIOINFER_INVALID, "record '%.60s': impossible result", r->id);
    put64(head, s.all);
    put64(head + 8, s.head);
    put64(head + 16, r->ordinal);
    put64(head + 24, (uint64_t)r->length);
    put32(head + 32, (uint32_t)r->status);
    put32(head + 36, (uint32_t)r->n_arrays);
    put32(head + 40, (uint32_t)r->n_layers_kept);
    put32(head + 44, (uint32_t)r->n_kinds);
    put32(head + 48, (uint32_t)s.texts);
    put32(head + 52, r->labels ? LABELS : 0);
    if ((st = write(user, head, sizeof head)))
        return st;
    for (int k = 0; k < n_texts; k++)
        kind_at += strlen(texts[k]) + 1;
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        put32(entry, (uint32_t)a->layer);
        put32(entry + 4, (uint32_t)a->n_dims);
        for (int k = 0; k < 4; k++)
            put64(entry + 8 + 8 * k, k < a->n_dims ? (uint64_t)a->shape[k] : 0);
        put32(entry + 40, (uint32_t)kind_at);
        put32(entry + 44, 0);
        kind_at += strlen(a->kind) + 1;
        if ((st = write(user, entry, sizeof entry)))
            return st;
    }
    for (int k = 0; k < n_texts; k++)
        if ((st = write(user, texts[k], strlen(texts[k]) + 1)))
            return st;
    for (int i = 0; i < r->n_arrays; i++)
        if ((st = write(user, r->arrays[i].kind, strlen(r->arrays[i].kind) + 1)))
            return st;
    size = s.head - HEAD - ARRAY * (uint64_t)r->n_arrays - s.texts;
    if (size && (st = write(user, zeros, (size_t)size)))
        return st;
    for (int i = 0; i < r->n_arrays; i++) {
        array_size(&r->arrays[i], &size);
        if (size && (st = write(user, r->arrays[i].data, (size_t)size)))
            return st;
    }
    size = s.all - s.head - s.data;
    return size ? write(user, zeros, (size_t)size) : 0;
}

static int damaged(struct bioinfer_error *err, const char *what)
{
    return bi_fail(err, BIOINFER_FORMAT, "packed result: %s", what);
}

/* The text at texts[*at], *at moved behind its NUL; NULL when there is none. */
static const char *next_text(const char *texts, uint64_t size, uint64_t *at)
{
    const char *text = texts + *at, *end;
    if (*at >= size || !(end = memchr(text, '\0', (size_t)(size - *at))))
        return NULL;
    *at = (uint64_t)(end - texts) + 1;
    return text;
}

int bi_unpack(struct bioinfer_result *r, struct bioinfer_array *arrays, int n_max,
              const void *bytes, uint64_t size, struct bioinfer_error *err)
{
    const uint8_t *p = bytes;
    const char *texts;
    uint64_t head, n_texts, at = 0, data;
    uint32_t n;
    bool labelled = true;
    *r = (struct bioinfer_result){.arrays = arrays};
    if (size < HEAD || bi_le64(p) != size || size % 8)
        return damaged(err, "its size");
    head = bi_le64(p + 8);
    n = bi_le32(p + 36);
    n_texts = bi_le32(p + 48);
    if (n > (uint32_t)n_max)
        return damaged(err, "more arrays than there are kinds and layers");
    if (head > size || head % 8 || n_texts > MAX_TEXT ||
        head != ((HEAD + ARRAY * (uint64_t)n + n_texts + 7) & ~(uint64_t)7))
        return damaged(err, "the size of its head");
    r->ordinal = bi_le64(p + 16);
    r->length = (int64_t)bi_le64(p + 24);
    r->status = (int32_t)bi_le32(p + 32);
    r->n_arrays = (int)n;
    r->n_layers_kept = (int32_t)bi_le32(p + 40);
    r->n_kinds = (int32_t)bi_le32(p + 44);
    texts = (const char *)p + HEAD + ARRAY * (uint64_t)n;
    r->id = next_text(texts, n_texts, &at);
    r->description = next_text(texts, n_texts, &at);
    r->message = next_text(texts, n_texts, &at);
    if (bi_le32(p + 52) & LABELS)
        labelled = (r->labels = next_text(texts, n_texts, &at)) != NULL;
    if (!r->id || !r->description || !r->message || !labelled)
        return damaged(err, "its texts");
    data = head;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *e = p + HEAD + ARRAY * (uint64_t)i;
        struct bioinfer_array *a = &arrays[i];
        uint64_t kind_at = bi_le32(e + 40), n_bytes;
        *a = (struct bioinfer_array){.layer = (int32_t)bi_le32(e),
                                     .n_dims = (int32_t)bi_le32(e + 4)};
        for (int k = 0; k < 4; k++)
            a->shape[k] = (int64_t)bi_le64(e + 8 + 8 * k);
        if (!(a->kind = next_text(texts, n_texts, &kind_at)))
            return damaged(err, "its texts");
        if (!array_size(a, &n_bytes) || !bi_range_ok(data, n_bytes, size))
            return damaged(err, "a shape");
        a->data = (const float *)(const void *)(p + data);
        data += n_bytes;
    }
    if (((data + 7) & ~(uint64_t)7) != size)
        return damaged(err, "the size of its data");
    return 0;
}

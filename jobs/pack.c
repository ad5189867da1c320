/* pack.c - a result as bytes; see pack.h for the layout. */
#include "pack.h"

#include <string.h>

enum {
    HEAD = 56,
    ARRAY = BI_PACK_ARRAY,
    TEXT = BI_PACK_TEXT,
    COLUMN = BI_PACK_COLUMN,
    PIECE = 8,
    ROWS = 16,
    MAX_TEXT = 1 << 30, /* bytes of ids, messages and names */
    LABELS = 1,         /* flags at 52 */
    MORE = 2,
    PIECES = 4,
    COLUMNS = 8
};

struct sizes {
    uint64_t all, head, texts, data;
};

/* Has it anything that results of one piece, of arrays alone, do not have? */
static bool has_piece(const struct bioinfer_result *r)
{
    return r->n_texts || r->piece;
}

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

/* Bytes of the numbers of a column, and of its texts. */
static bool column_size(const struct bioinfer_column *c, int64_t n_rows, uint64_t *numbers,
                        uint64_t *texts)
{
    const bool has_texts = c->type == BIOINFER_TEXT && n_rows;
    if (n_rows < 0 || (n_rows && !c->data) || c->type < 0 || c->type > BIOINFER_TEXT || !c->name)
        return false;
    *texts = has_texts ? (uint64_t)((const int64_t *)c->data)[n_rows] : 0;
    return bi_mul_size((uint64_t)n_rows + has_texts, c->type == BIOINFER_F32 ? 4 : 8, numbers);
}

/* Adds the bytes of the columns. */
static bool measure_columns(const struct bioinfer_result *r, struct sizes *s)
{
    for (int i = 0; i < r->n_columns; i++) {
        uint64_t numbers, texts;
        if (!bi_round_size(s->data, 8, &s->data) ||
            !column_size(&r->columns[i], r->n_rows, &numbers, &texts) ||
            !bi_round_size(numbers, 8, &numbers) || !bi_add_size(s->data, numbers, &s->data) ||
            !bi_add_size(s->data, texts, &s->data))
            return false;
        s->texts += strlen(r->columns[i].name) + 1;
    }
    return true;
}

static bool measure(const struct bioinfer_result *r, struct sizes *s)
{
    *s = (struct sizes){.texts = strlen(text_of(r->id)) + strlen(text_of(r->description)) +
                                 strlen(text_of(r->message)) + 3};
    if (r->labels)
        s->texts += strlen(r->labels) + 1;
    if (r->n_arrays < 0 || r->n_texts < 0)
        return false;
    for (int i = 0; i < r->n_arrays; i++) {
        uint64_t n;
        s->texts += strlen(r->arrays[i].kind) + 1;
        if (!array_size(&r->arrays[i], &n) || !bi_add_size(s->data, n, &s->data))
            return false;
    }
    for (int i = 0; i < r->n_texts; i++) {
        s->texts += strlen(r->texts[i].name) + 1;
        if (!bi_add_size(s->data, r->texts[i].length, &s->data))
            return false;
    }
    if (!measure_columns(r, s) || s->texts > MAX_TEXT)
        return false;
    s->head = HEAD + ARRAY * (uint64_t)r->n_arrays + s->texts;
    if (has_piece(r))
        s->head += PIECE + TEXT * (uint64_t)r->n_texts;
    if (r->n_columns)
        s->head += ROWS + COLUMN * (uint64_t)r->n_columns;
    s->head = (s->head + 7) & ~(uint64_t)7;
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

/* Where the bytes of a result go, and how many have gone there. */
struct target {
    int (*write)(void *user, const void *bytes, size_t size);
    void *user;
    uint64_t done;
    int status; /* the first write's that failed: nothing is written behind it */
};

static void put(struct target *t, const void *bytes, uint64_t size)
{
    if (t->status || !size)
        return;
    t->status = t->write(t->user, bytes, (size_t)size);
    t->done += size;
}

static void put_text(struct target *t, const char *text)
{
    put(t, text, strlen(text) + 1);
}

static void put_zeros(struct target *t)
{
    static const uint8_t zeros[8];
    put(t, zeros, -t->done & 7);
}

/* Writes how the columns look; their names start at `name_at` in the texts. */
static void put_columns(struct target *t, const struct bioinfer_result *r, uint64_t name_at)
{
    uint8_t entry[COLUMN];
    put64(entry, (uint64_t)r->n_rows);
    put32(entry + 8, (uint32_t)r->n_columns);
    put32(entry + 12, 0);
    put(t, entry, ROWS);
    for (int i = 0; i < r->n_columns; i++) {
        uint64_t numbers, texts;
        column_size(&r->columns[i], r->n_rows, &numbers, &texts);
        put32(entry, (uint32_t)r->columns[i].type);
        put32(entry + 4, (uint32_t)name_at);
        put64(entry + 8, texts);
        put(t, entry, COLUMN);
        name_at += strlen(r->columns[i].name) + 1;
    }
}

/* Writes the numbers and texts of the columns. */
static void put_rows(struct target *t, const struct bioinfer_result *r)
{
    for (int i = 0; i < r->n_columns; i++) {
        uint64_t numbers, texts;
        column_size(&r->columns[i], r->n_rows, &numbers, &texts);
        put(t, r->columns[i].data, numbers);
        put_zeros(t);
        put(t, r->columns[i].bytes, texts);
        put_zeros(t);
    }
}

/* Writes how arrays, texts and columns look; their names start at `name_at` in the texts. */
static void put_entries(struct target *t, const struct bioinfer_result *r, uint64_t name_at)
{
    uint8_t entry[ARRAY];
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        put32(entry, a->has_layer ? (uint32_t)a->layer : UINT32_MAX);
        put32(entry + 4, (uint32_t)a->n_dims);
        for (int k = 0; k < 4; k++)
            put64(entry + 8 + 8 * k, k < a->n_dims ? (uint64_t)a->shape[k] : 0);
        put32(entry + 40, (uint32_t)name_at);
        put32(entry + 44, 0);
        name_at += strlen(a->kind) + 1;
        put(t, entry, ARRAY);
    }
    put32(entry, r->piece);
    put32(entry + 4, (uint32_t)r->n_texts);
    if (has_piece(r))
        put(t, entry, PIECE);
    for (int i = 0; i < r->n_texts; i++) {
        put64(entry, r->texts[i].length);
        put32(entry + 8, (uint32_t)name_at);
        put32(entry + 12, 0);
        name_at += strlen(r->texts[i].name) + 1;
        put(t, entry, TEXT);
    }
    if (r->n_columns)
        put_columns(t, r, name_at);
}

int bi_pack(const struct bioinfer_result *r,
            int (*write)(void *user, const void *bytes, size_t size), void *user,
            struct bioinfer_error *err)
{
    const char *texts[4] = {text_of(r->id), text_of(r->description), text_of(r->message),
                            r->labels};
    const int n_texts = r->labels ? 4 : 3;
    struct target t = {.write = write, .user = user};
    uint8_t head[HEAD];
    uint64_t size, name_at = 0;
    struct sizes s;
    if (!measure(r, &s))
        return bi_fail(err, BIOINFER_INVALID, "record '%.60s': impossible result", text_of(r->id));
    put64(head, s.all);
    put64(head + 8, s.head);
    put64(head + 16, r->ordinal);
    put64(head + 24, (uint64_t)r->length);
    put32(head + 32, (uint32_t)r->status);
    put32(head + 36, (uint32_t)r->n_arrays);
    put32(head + 40, (uint32_t)r->n_layers_kept);
    put32(head + 44, (uint32_t)r->n_kinds);
    put32(head + 48, (uint32_t)s.texts);
    put32(head + 52, (r->labels ? LABELS : 0) | (r->more ? MORE : 0) | (has_piece(r) ? PIECES : 0) |
                         (r->n_columns ? COLUMNS : 0));
    put(&t, head, sizeof head);
    for (int k = 0; k < n_texts; k++)
        name_at += strlen(texts[k]) + 1;
    put_entries(&t, r, name_at);
    for (int k = 0; k < n_texts; k++)
        put_text(&t, texts[k]);
    for (int i = 0; i < r->n_arrays; i++)
        put_text(&t, r->arrays[i].kind);
    for (int i = 0; i < r->n_texts; i++)
        put_text(&t, r->texts[i].name);
    for (int i = 0; i < r->n_columns; i++)
        put_text(&t, r->columns[i].name);
    put_zeros(&t);
    for (int i = 0; i < r->n_arrays; i++) {
        array_size(&r->arrays[i], &size);
        put(&t, r->arrays[i].data, size);
    }
    for (int i = 0; i < r->n_texts; i++)
        put(&t, r->texts[i].text, r->texts[i].length);
    put_zeros(&t);
    put_rows(&t, r);
    return t.status;
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

/* A count that the bytes tell, or how many of `each` bytes there could be at most. */
static int count_of(uint64_t told, uint64_t size, uint64_t each)
{
    told = told < size / each ? told : size / each;
    return told < INT32_MAX ? (int)told : INT32_MAX;
}

void bi_pack_count(const void *bytes, uint64_t size, struct bi_unpacked *room)
{
    const uint8_t *p = bytes;
    const uint32_t flags = size >= HEAD ? bi_le32(p + 52) : 0;
    uint64_t at;
    room->n_texts = room->n_columns = 0;
    room->n_arrays = size >= HEAD ? count_of(bi_le32(p + 36), size, ARRAY) : 0;
    at = HEAD + ARRAY * (uint64_t)room->n_arrays;
    if (flags & PIECES && bi_range_ok(at, PIECE, size)) {
        room->n_texts = count_of(bi_le32(p + at + 4), size, TEXT);
        at += PIECE + TEXT * (uint64_t)room->n_texts;
    }
    if (flags & COLUMNS && bi_range_ok(at, ROWS, size))
        room->n_columns = count_of(bi_le32(p + at + 8), size, COLUMN);
}

/* The parts of a packed result, as its head says and as they were found to fit in. */
struct parts {
    const uint8_t *bytes, *entries, *columns; /* entries: of own texts */
    const char *texts;
    uint64_t size, texts_size, data;
    uint32_t n_arrays, n_texts, n_columns;
};

/* Finds the parts; NULL, or what contradicts. */
static const char *find_parts(struct parts *of, struct bioinfer_result *r,
                              const struct bi_unpacked *room)
{
    const uint8_t *p = of->bytes;
    uint64_t at;
    if (of->size < HEAD || bi_le64(p) != of->size || of->size % 8)
        return "its size";
    of->data = bi_le64(p + 8);
    of->n_arrays = bi_le32(p + 36);
    of->texts_size = bi_le32(p + 48);
    if (of->n_arrays > (uint32_t)room->n_arrays)
        return "more arrays than there are kinds and layers";
    at = HEAD + ARRAY * (uint64_t)of->n_arrays;
    if (bi_le32(p + 52) & PIECES) {
        if (!bi_range_ok(at, PIECE, of->size))
            return "the size of its head";
        r->piece = bi_le32(p + at);
        of->n_texts = bi_le32(p + at + 4);
        if (of->n_texts > (uint32_t)room->n_texts)
            return "more texts than there is room for";
        of->entries = p + at + PIECE;
        at += PIECE + TEXT * (uint64_t)of->n_texts;
    }
    if (bi_le32(p + 52) & COLUMNS) {
        if (!bi_range_ok(at, ROWS, of->size))
            return "the size of its head";
        r->n_rows = (int64_t)bi_le64(p + at);
        of->n_columns = bi_le32(p + at + 8);
        if (of->n_columns > (uint32_t)room->n_columns)
            return "more columns than there is room for";
        of->columns = p + at + ROWS;
        at += ROWS + COLUMN * (uint64_t)of->n_columns;
    }
    if (of->data > of->size || of->data % 8 || of->texts_size > MAX_TEXT ||
        of->data != ((at + of->texts_size + 7) & ~(uint64_t)7))
        return "the size of its head";
    of->texts = (const char *)p + at;
    return NULL;
}

/* Do texts begin and end in order, and end where `size` says? */
static bool are_texts(const int64_t *at, int64_t n_rows, uint64_t size)
{
    for (int64_t i = 0; i < n_rows; i++)
        if (at[i] > at[i + 1])
            return false;
    return !*at && (uint64_t)at[n_rows] == size;
}

/* Fills in the columns, whose data begin at `data`; NULL, or what contradicts. */
static const char *find_columns(const struct parts *of, const struct bi_unpacked *room,
                                int64_t n_rows, uint64_t data)
{
    for (uint32_t i = 0; i < of->n_columns; i++) {
        const uint8_t *e = of->columns + COLUMN * (uint64_t)i;
        struct bioinfer_column *c = &room->columns[i];
        uint64_t name_at = bi_le32(e + 4), size = bi_le64(e + 8), numbers;
        const bool has_texts = bi_le32(e) == BIOINFER_TEXT && n_rows;
        *c = (struct bioinfer_column){.type = (int)bi_le32(e)};
        data = (data + 7) & ~(uint64_t)7;
        if (!(c->name = next_text(of->texts, of->texts_size, &name_at)))
            return "its texts";
        if (n_rows < 0 || bi_le32(e) > BIOINFER_TEXT || (size && !has_texts) ||
            !bi_mul_size((uint64_t)n_rows + has_texts, c->type == BIOINFER_F32 ? 4 : 8, &numbers) ||
            !bi_range_ok(data, numbers, of->size))
            return "the size of a column";
        c->data = n_rows ? of->bytes + data : NULL;
        data = (data + numbers + 7) & ~(uint64_t)7;
        if (!bi_range_ok(data, size, of->size) || (has_texts && !are_texts(c->data, n_rows, size)))
            return "the texts of a column";
        c->bytes = c->type == BIOINFER_TEXT ? (const char *)of->bytes + data : NULL;
        data += size;
    }
    return ((data + 7) & ~(uint64_t)7) == of->size ? NULL : "the size of its data";
}

/* Fills in arrays, own texts and columns; NULL, or what contradicts. */
static const char *find_data(const struct parts *of, const struct bi_unpacked *room, int64_t n_rows)
{
    uint64_t data = of->data;
    for (uint32_t i = 0; i < of->n_arrays; i++) {
        const uint8_t *e = of->bytes + HEAD + ARRAY * (uint64_t)i;
        struct bioinfer_array *a = &room->arrays[i];
        uint64_t kind_at = bi_le32(e + 40), n_bytes;
        *a = (struct bioinfer_array){.n_dims = (int32_t)bi_le32(e + 4)};
        a->has_layer = bi_le32(e) <= INT32_MAX;
        a->layer = a->has_layer ? (int32_t)bi_le32(e) : 0;
        for (int k = 0; k < 4; k++)
            a->shape[k] = (int64_t)bi_le64(e + 8 + 8 * k);
        if (!(a->kind = next_text(of->texts, of->texts_size, &kind_at)))
            return "its texts";
        if (!array_size(a, &n_bytes) || !bi_range_ok(data, n_bytes, of->size))
            return "a shape";
        a->data = (const float *)(const void *)(of->bytes + data);
        data += n_bytes;
    }
    for (uint32_t i = 0; i < of->n_texts; i++) {
        const uint8_t *e = of->entries + TEXT * (uint64_t)i;
        struct bioinfer_text *t = &room->texts[i];
        uint64_t name_at = bi_le32(e + 8), n_bytes = bi_le64(e);
        if (!(t->name = next_text(of->texts, of->texts_size, &name_at)))
            return "its texts";
        if (!bi_range_ok(data, n_bytes, of->size))
            return "the size of a text";
        t->text = (const char *)of->bytes + data;
        t->length = (size_t)n_bytes;
        data += n_bytes;
    }
    return find_columns(of, room, n_rows, data);
}

int bi_unpack(struct bioinfer_result *r, const struct bi_unpacked *room, const void *bytes,
              uint64_t size, struct bioinfer_error *err)
{
    struct parts of = {.bytes = bytes, .size = size};
    const uint8_t *p = bytes;
    const char *wrong;
    uint64_t at = 0;
    bool labelled = true;
    *r = (struct bioinfer_result){
        .arrays = room->arrays, .texts = room->texts, .columns = room->columns};
    if ((wrong = find_parts(&of, r, room)))
        return damaged(err, wrong);
    r->ordinal = bi_le64(p + 16);
    r->length = (int64_t)bi_le64(p + 24);
    r->status = (int32_t)bi_le32(p + 32);
    r->n_arrays = (int)of.n_arrays;
    r->n_layers_kept = (int32_t)bi_le32(p + 40);
    r->n_kinds = (int32_t)bi_le32(p + 44);
    r->more = (bi_le32(p + 52) & MORE) != 0;
    r->n_texts = (int)of.n_texts;
    r->n_columns = (int)of.n_columns;
    r->id = next_text(of.texts, of.texts_size, &at);
    r->description = next_text(of.texts, of.texts_size, &at);
    r->message = next_text(of.texts, of.texts_size, &at);
    if (bi_le32(p + 52) & LABELS)
        labelled = (r->labels = next_text(of.texts, of.texts_size, &at)) != NULL;
    if (!r->id || !r->description || !r->message || !labelled)
        return damaged(err, "its texts");
    wrong = find_data(&of, room, r->n_rows);
    return wrong ? damaged(err, wrong) : 0;
}

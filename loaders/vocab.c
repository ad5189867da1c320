/* vocab.c - pieces of a tokenizer from spiece.model or tokenizer.json, and those added to them.
 *
 * spiece.model is a protocol buffer: fields of (number << 3 | wire type) and a value. Field 1,
 * repeated, is a piece: a message whose field 1 is the text, 2 the score, 3 the kind. All else
 * (trainer, normalizer) is skipped, but must be well formed. */
#include "vocab.h"

#include <string.h>

#include "reader.h"
#include "scan.h"

/* ---- protocol buffers ---- */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct wire {
    const unsigned char *at, *end;
};

static bool read_varint(struct wire *w, uint64_t *out)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        unsigned char b;
        if (w->at == w->end)
            return false;
        b = *w->at++;
        if (shift == 63 && b > 1)
            return false;
        v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) {
            *out = v;
            return true;
        }
    }
    return false;
}

/* The next field; *value is its bytes when it has some. False: malformed. */
static bool read_field(struct wire *w, uint64_t *number, int *type, struct wire *value)
{
    uint64_t tag, n = 0;
    if (!read_varint(w, &tag) || tag >> 3 == 0 || tag >> 3 > 536870911)
        return false;
    *number = tag >> 3;
    *type = (int)(tag & 7);
    switch (*type) {
    case VARINT:
        return read_varint(w, &n);
    case FIXED64:
        n = 8;
        break;
    case FIXED32:
        n = 4;
        break;
    case BYTES:
        if (!read_varint(w, &n))
            return false;
        break;
    default:
        return false;
    }
    if (n > (uint64_t)(w->end - w->at))
        return false;
    *value = (struct wire){w->at, w->at + n};
    w->at += n;
    return true;
}

/* ---- the table ---- */

/* Sets piece `id`; ids between are "". */
static int put(struct bi_vocab *v, struct bi_arena *arena, const char *name, uint64_t id,
               const char *text, size_t n, struct bioinfer_error *err)
{
    if (id >= BI_MAX_PIECES || n > BI_MAX_PIECE)
        return bi_fail(err, BIOINFER_LIMIT,
                       "%s: piece %llu of %zu bytes: at most %d pieces of %d "
                       "bytes are read",
                       name, (unsigned long long)id, n, BI_MAX_PIECES, BI_MAX_PIECE);
    if (id >= v->cap) { /* in an arena nothing is given back: grow by doubling */
        size_t cap = v->cap ? 2 * v->cap : 128;
        const char **pieces;
        while (cap <= id)
            cap *= 2;
        if (!(pieces = bi_arena_calloc(arena, cap, sizeof *pieces)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: %zu pieces", name, cap);
        for (size_t i = 0; i < cap; i++)
            pieces[i] = i < v->n ? v->pieces[i] : "";
        v->pieces = pieces;
        v->cap = cap;
    }
    if (id >= v->n)
        v->n = (size_t)id + 1;
    if (!(v->pieces[id] = bi_arena_strndup(arena, text, n)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: pieces", name);
    return 0;
}

int bi_vocab_spiece(struct bi_vocab *out, struct bi_arena *arena, const char *name,
                    const void *bytes, size_t size, struct bioinfer_error *err)
{
    struct wire w = {bytes, (const unsigned char *)bytes + size};
    struct bi_vocab v = {0};
    while (w.at < w.end) {
        struct wire piece, value, text = {NULL, NULL};
        size_t at = (size_t)(w.at - (const unsigned char *)bytes);
        uint64_t number;
        int type, st;
        if (!read_field(&w, &number, &type, &piece))
            return bi_fail(err, BIOINFER_FORMAT, "%s: byte %zu: not a SentencePiece model", name,
                           at);
        if (number != 1)
            continue;
        if (type != BYTES)
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: byte %zu: a piece of wire type %d, expected "
                           "%d",
                           name, at, type, BYTES);
        while (piece.at < piece.end) {
            if (!read_field(&piece, &number, &type, &value) || (number == 1 && type != BYTES))
                return bi_fail(err, BIOINFER_FORMAT, "%s: byte %zu: piece %zu is malformed", name,
                               at, v.n);
            if (number == 1)
                text = value;
        }
        const size_t n = (size_t)(text.end - text.at);
        if (!n || bi_utf8_check((const char *)text.at, n) < n || memchr(text.at, '\0', n))
            return bi_fail(err, BIOINFER_FORMAT, "%s: byte %zu: piece %zu has no text in UTF-8",
                           name, at, v.n);
        if ((st = put(&v, arena, name, v.n, (const char *)text.at, n, err)))
            return st;
    }
    if (!v.n)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: %zu bytes without a piece: not a SentencePiece "
                       "model",
                       name, size);
    *out = v;
    return 0;
}

int bi_vocab_tokenizer(struct bi_vocab *out, struct bi_arena *arena, const char *name,
                       const struct bi_json *json, struct bioinfer_error *err)
{
    const struct bi_json *model = bi_json_get(json, "model"), *vocab = bi_json_get(model, "vocab");
    const struct bi_json *added = bi_json_get(json, "added_tokens");
    const char *type = bi_json_string(bi_json_get(model, "type"));
    struct bi_vocab v = {0};
    bool list = type && !strcmp(type, "Unigram"), map = type && !strcmp(type, "WordPiece");
    uint64_t id = 0;
    int st = 0;
    *out = v;
    if (!list && !map)
        return 0;
    if (!vocab || vocab->type != (list ? BI_JSON_ARRAY : BI_JSON_OBJECT))
        return bi_fail(err, BIOINFER_FORMAT, "%s: model.vocab of a %s model is no %s", name, type,
                       list ? "list" : "object");
    for (const struct bi_json *j = vocab->first; !st && j; j = j->next, id++) {
        const struct bi_json *piece = list && j->type == BI_JSON_ARRAY ? j->first : NULL;
        if (list ? !bi_json_string(piece) : !bi_json_u64(j, &id))
            return bi_fail(err, BIOINFER_FORMAT, "%s: model.vocab: entry %llu is no %s", name,
                           (unsigned long long)id, list ? "[piece, score]" : "id");
        st = list ? put(&v, arena, name, id, piece->text, piece->text_len, err)
                  : put(&v, arena, name, id, j->key, j->key_len, err);
    }
    for (const struct bi_json *j = added ? added->first : NULL; !st && j; j = j->next) {
        const struct bi_json *content = bi_json_get(j, "content");
        if (!bi_json_u64(bi_json_get(j, "id"), &id) || !bi_json_string(content))
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: added_tokens: an entry without id and "
                           "content",
                           name);
        st = put(&v, arena, name, id, content->text, content->text_len, err);
    }
    if (!st)
        *out = v;
    return st;
}

static int put_added(struct bi_vocab *v, struct bi_arena *arena, const char *name, uint64_t id,
                     const char *text, size_t n, struct bioinfer_error *err)
{
    const char *have = id < v->n ? v->pieces[id] : "";
    if (!*have)
        return put(v, arena, name, id, text, n, err);
    return strlen(have) == n && !memcmp(have, text, n)
               ? 0
               : bi_fail(err, BIOINFER_FORMAT, "%s: id %llu is '%s' in the vocabulary, '%s' here",
                         name, (unsigned long long)id, have, bi_quote(text, n).text);
}

int bi_vocab_added(struct bi_vocab *v, struct bi_arena *arena, const char *name,
                   const struct bi_json *json, struct bioinfer_error *err)
{
    const struct bi_json *decoder = bi_json_get(json, "added_tokens_decoder");
    int st = 0;
    if (decoder && decoder->type != BI_JSON_OBJECT)
        return bi_fail(err, BIOINFER_FORMAT, "%s: added_tokens_decoder is no object", name);
    for (const struct bi_json *j = (decoder ? decoder : json)->first; !st && j; j = j->next) {
        const struct bi_json *content = decoder ? bi_json_get(j, "content") : NULL;
        uint64_t id = 0;
        bool ok = decoder ? bi_json_string(content) != NULL && j->key_len && j->key_len < 8 &&
                                strspn(j->key, "0123456789") == j->key_len
                          : bi_json_u64(j, &id);
        for (size_t i = 0; ok && decoder && i < j->key_len; i++)
            id = 10 * id + (uint64_t)(j->key[i] - '0');
        st = !ok       ? bi_fail(err, BIOINFER_FORMAT, "%s: '%s' is not a token and its id", name,
                                 bi_quote(j->key, j->key_len).text)
             : decoder ? put_added(v, arena, name, id, content->text, content->text_len, err)
                       : put_added(v, arena, name, id, j->key, j->key_len, err);
    }
    return st;
}

/* fuzz_pack.c - a packed result, as journals and workers have them. The first byte: 1 =
 * the sizes are put right first. What unpacks is whole, and packs and unpacks to the
 * same again. */
#include "packed.h"

enum { MOST = 8 };

static int append(void *user, const void *bytes, size_t n)
{
    struct bi_buf *buf = user;
    bi_buf_append(buf, bytes, n);
    return buf->failed ? BIOINFER_NOMEM : 0;
}

static void check_same(const struct bioinfer_result *a, const struct bioinfer_result *b)
{
    if (a->ordinal != b->ordinal || a->length != b->length || a->status != b->status ||
        a->n_arrays != b->n_arrays || a->n_layers_kept != b->n_layers_kept ||
        a->n_kinds != b->n_kinds || strcmp(a->id, b->id) ||
        strcmp(a->description, b->description) || strcmp(a->message, b->message) ||
        !a->labels != !b->labels || (a->labels && strcmp(a->labels, b->labels)) ||
        a->piece != b->piece || a->more != b->more || a->n_texts != b->n_texts ||
        a->n_columns != b->n_columns || (a->n_columns && a->n_rows != b->n_rows))
        abort();
    for (int i = 0; i < a->n_columns; i++) {
        const struct bioinfer_column *x = &a->columns[i], *y = &b->columns[i];
        const size_t width = x->type == BIOINFER_F32 ? 4 : 8;
        const int64_t *at = x->data, *also = y->data;
        if (x->type != y->type || strcmp(x->name, y->name) || !x->data != !a->n_rows)
            abort();
        if (a->n_rows && memcmp(at, also, (size_t)a->n_rows * width))
            abort();
        if (x->type == BIOINFER_TEXT && a->n_rows &&
            (at[a->n_rows] != also[a->n_rows] || memcmp(x->bytes, y->bytes, (size_t)at[a->n_rows])))
            abort();
    }
    for (int i = 0; i < a->n_texts; i++) {
        const struct bioinfer_text *x = &a->texts[i], *y = &b->texts[i];
        if (strcmp(x->name, y->name) || x->length != y->length ||
            memcmp(x->text, y->text, x->length))
            abort();
    }
    for (int i = 0; i < a->n_arrays; i++) {
        const struct bioinfer_array *x = &a->arrays[i], *y = &b->arrays[i];
        uint64_t n = sizeof(float);
        if (x->n_dims < 0 || x->n_dims > 4 || x->n_dims != y->n_dims || x->layer != y->layer ||
            x->has_layer != y->has_layer || strcmp(x->kind, y->kind))
            abort();
        for (int k = 0; k < x->n_dims; k++) {
            if (x->shape[k] < 0 || x->shape[k] != y->shape[k] ||
                !bi_mul_size(n, (uint64_t)x->shape[k], &n))
                abort();
        }
        if (n && memcmp(x->data, y->data, n))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_array arrays[MOST], arrays_again[MOST];
    struct bioinfer_text texts[MOST], texts_again[MOST];
    struct bioinfer_column columns[MOST], columns_again[MOST];
    const struct bi_unpacked room = {arrays, texts, MOST, MOST, columns, MOST},
                             again = {arrays_again, texts_again, MOST, MOST, columns_again, MOST};
    struct bioinfer_result r, other;
    struct bioinfer_error err = {0};
    struct bi_buf packed = {.env = &env};
    uint8_t *bytes;
    size_t n = size ? size - 1 : 0;
    int st;
    if (!size || !(bytes = aligned_alloc(8, (n + 8) & ~(size_t)7)))
        return 0;
    memcpy(bytes, data + 1, n);
    if (data[0] & 1)
        n = fuzz_mend_packed(bytes, n);
    st = bi_unpack(&r, &room, bytes, n, &err);
    if (st && (st != BIOINFER_FORMAT || !err.text[0] || err.status != st))
        abort();
    if (!st) {
        uint64_t expected = bi_pack_size(&r);
        if (bi_pack(&r, append, &packed, &err) || packed.size != expected ||
            bi_unpack(&other, &again, packed.data, packed.size, &err))
            abort();
        check_same(&r, &other);
    }
    bi_buf_free(&packed);
    free(bytes);
    return 0;
}

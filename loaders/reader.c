/* reader.c - what all weight readers share: adding tensors and metadata, sorting,
 * quoting. */
#include "reader.h"

#include <string.h>

#include "scan.h"

struct bi_quoted bi_quote(const char *text, size_t n)
{
    static const char hex[] = "0123456789ABCDEF";
    struct bi_quoted q;
    size_t used = 0, i;
    for (i = 0; i < n && used + 8 < sizeof q.text; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c < 0x7F) {
            q.text[used++] = (char)c;
        } else {
            q.text[used++] = '\\';
            q.text[used++] = 'x';
            q.text[used++] = hex[c >> 4];
            q.text[used++] = hex[c & 15];
        }
    }
    if (i < n) {
        memcpy(q.text + used, "...", 3);
        used += 3;
    }
    q.text[used] = '\0';
    return q;
}

/* ---- spans: heap sort, so that crafted orders cost no more and nothing is allocated
 * ---- */

static bool span_less(const struct bi_span *a, const struct bi_span *b)
{
    if (a->begin != b->begin)
        return a->begin < b->begin;
    if (a->end != b->end)
        return a->end < b->end;
    return a->index < b->index;
}

static void sift_down(struct bi_span *spans, size_t i, size_t n)
{
    struct bi_span top = spans[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && span_less(&spans[child], &spans[child + 1]))
            child++;
        if (!span_less(&top, &spans[child]))
            break;
        spans[i] = spans[child];
    }
    spans[i] = top;
}

void bi_span_sort(struct bi_span *spans, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(spans, i, n);
    for (size_t end = n; end-- > 1;) {
        struct bi_span last = spans[end];
        spans[end] = spans[0];
        spans[0] = last;
        sift_down(spans, 0, end);
    }
}

/* ---- tensors ---- */

bool bi_tensor_set_dense(struct bi_tensor *t)
{
    uint64_t n = 1, step = 1;
    for (int i = 0; i < t->rank; i++)
        if (!bi_mul_size(n, t->shape[i], &n))
            return false;
    for (int i = t->rank - 1; i >= 0; i--) {
        t->stride[i] = n ? step : 0;
        step *= n ? t->shape[i] : 0; /* cannot overflow: a factor of n, which did not */
    }
    t->n_elements = n;
    t->contiguous = true;
    return true;
}

static const char *file_name(const struct bi_reader *r, int file)
{
    return r->cp->files[file].path;
}

static int check_name(const char *path, const char *name, size_t n, struct bioinfer_error *err)
{
    if (!n)
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor with an empty name", path);
    if (n > BI_MAX_NAME)
        return bi_fail(err, BIOINFER_LIMIT, "%s: tensor '%s': name of %zu bytes, at most %d", path,
                       bi_quote(name, n).text, n, BI_MAX_NAME);
    if (memchr(name, '\0', n))
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': NUL in the name", path,
                       bi_quote(name, n).text);
    if (bi_utf8_check(name, n) < n)
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': name is not UTF-8", path,
                       bi_quote(name, n).text);
    return 0;
}

/* *take says whether the index wants this tensor from this shard. */
static int check_index(struct bi_reader *r, const char *path, const char *name, size_t n,
                       bool *take, struct bioinfer_error *err)
{
    uint64_t shard;
    char *copy;
    int st;
    *take = true;
    if (!r->weight_map)
        return 0;
    if (bi_map_find(r->weight_map, name, n, &shard)) {
        if (shard == r->shard)
            return 0;
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': the index says it is in '%s'", path,
                       bi_quote(name, n).text,
                       bi_quote(r->shards[shard], strlen(r->shards[shard])).text);
    }
    *take = false;
    if (!(copy = bi_arena_strndup(&r->cp->arena, name, n)) ||
        (st = bi_map_add(&r->ignored, copy, n, r->shard, NULL)) < 0)
        return bi_fail(err, BIOINFER_NOMEM, "%s: tensor names", path);
    if (!st)
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': name appears twice", path,
                       bi_quote(name, n).text);
    bi_log(r->cp->env, BIOINFER_LOG_WARNING, "%s: tensor '%s' is not in the index: ignored", path,
           bi_quote(name, n).text);
    return 0;
}

int bi_reader_add_tensor(struct bi_reader *r, const struct bi_tensor *tensor, const char *name,
                         size_t name_len, struct bioinfer_error *err)
{
    struct bi_checkpoint *cp = r->cp;
    const char *path = file_name(r, tensor->file);
    uint64_t other;
    bool take;
    char *copy;
    int st = check_name(path, name, name_len, err);
    if (st || (st = check_index(r, path, name, name_len, &take, err)) || !take)
        return st;
    if (cp->n_tensors >= BI_MAX_TENSORS)
        return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d tensors", path, BI_MAX_TENSORS);
    if (!bi_grow(cp->env, &cp->tensors, &r->tensor_cap, cp->n_tensors + 1, sizeof *cp->tensors) ||
        !(copy = bi_arena_strndup(&cp->arena, name, name_len)) ||
        (st = bi_map_add(&cp->by_name, copy, name_len, cp->n_tensors, &other)) < 0)
        return bi_fail(err, BIOINFER_NOMEM, "%s: tensor table", path);
    if (!st && cp->tensors[other].file == tensor->file)
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': name appears twice", path,
                       bi_quote(name, name_len).text);
    if (!st)
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': also in %s", path,
                       bi_quote(name, name_len).text, file_name(r, cp->tensors[other].file));
    cp->tensors[cp->n_tensors] = *tensor;
    cp->tensors[cp->n_tensors++].name = copy;
    r->n_found++;
    return 0;
}

/* ---- metadata ---- */

int bi_reader_add_meta(struct bi_reader *r, const struct bi_meta *meta, struct bioinfer_error *err)
{
    struct bi_checkpoint *cp = r->cp;
    uint64_t i = cp->n_meta;
    int st;
    if (bi_map_find(&r->meta_names, meta->key, strlen(meta->key), &i)) {
        r->meta[i] = *meta;
        return 0;
    }
    if (cp->n_meta >= BI_MAX_META)
        return 0;
    if (!bi_grow(cp->env, &r->meta, &r->meta_cap, cp->n_meta + 1, sizeof *r->meta))
        return bi_fail(err, BIOINFER_NOMEM, "%s: metadata", cp->path);
    st = bi_map_add(&r->meta_names, meta->key, strlen(meta->key), i, NULL);
    if (st < 0)
        return bi_fail(err, BIOINFER_NOMEM, "%s: metadata", cp->path);
    r->meta[cp->n_meta++] = *meta;
    return 0;
}

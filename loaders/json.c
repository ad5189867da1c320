/* json.c - JSON documents as trees, over the tokens of scan.c. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/map.h"
#include "reader.h"
#include "scan.h"

/* The tree may take this much more than 16 bytes for each byte of text. */
#define TREE_BASE_SIZE ((uint64_t)64 << 20)

/* Two members of one name make a document ambiguous. Small objects are compared in
 * pairs, others through a map, so that the work stays linear. */
static int check_keys(const struct bi_arena *arena, const char *name, const struct bi_json *object,
                      struct bioinfer_error *err)
{
    struct bi_map seen = {.env = arena->env};
    const struct bi_json *twice = NULL;
    int st = 0;
    if (object->n <= 8) {
        for (const struct bi_json *a = object->first; a; a = a->next)
            for (const struct bi_json *b = a->next; b; b = b->next)
                if (a->key_len == b->key_len && !memcmp(a->key, b->key, a->key_len))
                    twice = b;
    } else {
        for (const struct bi_json *a = object->first; a && st >= 0; a = a->next) {
            st = bi_map_add(&seen, a->key, a->key_len, 0, NULL);
            if (!st)
                twice = a;
        }
        bi_map_free(&seen);
        if (st < 0)
            return bi_fail(err, BIOINFER_NOMEM, "%s: %zu names", name, object->n);
    }
    if (twice)
        return bi_fail(err, BIOINFER_FORMAT, "%s: name '%s' appears twice in one object", name,
                       bi_quote(twice->key, twice->key_len).text);
    return 0;
}

static const enum bi_json_type types[] = {
    [BI_TOKEN_NULL] = BI_JSON_NULL,     [BI_TOKEN_FALSE] = BI_JSON_FALSE,
    [BI_TOKEN_TRUE] = BI_JSON_TRUE,     [BI_TOKEN_NUMBER] = BI_JSON_NUMBER,
    [BI_TOKEN_STRING] = BI_JSON_STRING, [BI_TOKEN_ARRAY] = BI_JSON_ARRAY,
    [BI_TOKEN_OBJECT] = BI_JSON_OBJECT,
};

int bi_json_parse(struct bi_json **out, struct bi_arena *arena, const char *name, const char *text,
                  size_t size, struct bioinfer_error *err)
{
    struct {
        struct bi_json *node, *last;
    } open[BI_SCAN_MAX_DEPTH + 1];
    struct bi_json *root = NULL, *node;
    struct bi_scan scan;
    uint64_t n_nodes = 0;
    size_t tree_start;
    int depth = 0, st;
    char *copy;
    if (size > UINT32_MAX - 2)
        return bi_fail(err, BIOINFER_LIMIT, "%s: %zu bytes of JSON", name, size);
    if (!(copy = bi_arena_alloc(arena, size + 2)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %zu bytes of JSON", name, size);
    tree_start = arena->total_size;
    if (size)
        memcpy(copy + 1, text, size);
    if ((st = bi_scan_start(&scan, name, copy + 1, size, err)))
        return st;
    for (;;) {
        if ((st = bi_scan_next(&scan, err)))
            return st;
        if (scan.token == BI_TOKEN_END)
            break;
        if (scan.token == BI_TOKEN_ARRAY_END || scan.token == BI_TOKEN_OBJECT_END) {
            node = open[--depth].node;
            if (node->type == BI_JSON_OBJECT && (st = check_keys(arena, name, node, err)))
                return st;
            continue;
        }
        n_nodes++;
        if (arena->total_size - tree_start > TREE_BASE_SIZE + (uint64_t)size * 16)
            return bi_fail(err, BIOINFER_LIMIT, "%s: more than %llu JSON values", name,
                           (unsigned long long)n_nodes - 1);
        if (!(node = bi_arena_calloc(arena, 1, sizeof *node)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: JSON values", name);
        node->type = types[scan.token];
        node->key = scan.key;
        node->key_len = (uint32_t)scan.key_len;
        node->text = scan.value;
        node->text_len = (uint32_t)scan.value_len;
        if (!depth) {
            root = node;
        } else {
            struct bi_json *parent = open[depth - 1].node, *last = open[depth - 1].last;
            *(last ? &last->next : &parent->first) = node;
            open[depth - 1].last = node;
            parent->n++;
        }
        if (scan.token == BI_TOKEN_ARRAY || scan.token == BI_TOKEN_OBJECT) {
            open[depth].node = node;
            open[depth++].last = NULL;
        }
    }
    *out = root;
    return 0;
}

const struct bi_json *bi_json_get(const struct bi_json *json, const char *key)
{
    const struct bi_json *child;
    size_t n = strlen(key);
    if (!json || json->type != BI_JSON_OBJECT)
        return NULL;
    if (json->watch)
        json->watch->member(json->watch->user, json, key);
    for (child = json->first; child; child = child->next)
        if (child->key_len == n && !memcmp(child->key, key, n))
            break;
    return child;
}

static void set_watch(struct bi_json *json, const struct bi_watch *watch)
{
    json->watch = watch;
    for (struct bi_json *child = json->first; child; child = child->next)
        set_watch(child, watch); /* at most as deep as a document is */
}

void bi_json_watch(struct bi_json *root, const char *name, const struct bi_watch *watch)
{
    if (!watch || !root)
        return;
    watch->document(watch->user, name, root);
    set_watch(root, watch);
}

bool bi_text_u64(const char *text, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    if (!n || (n > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (text[i] < '0' || text[i] > '9' || !bi_mul_size(v, 10, &v) ||
            !bi_add_size(v, (uint64_t)(text[i] - '0'), &v))
            return false;
    *out = v;
    return true;
}

bool bi_json_u64(const struct bi_json *json, uint64_t *out)
{
    return json && json->type == BI_JSON_NUMBER && bi_text_u64(json->text, json->text_len, out);
}

/* strtod() reads the decimal point of the process's locale, so it gets none: 1.25e-3
 * goes in as 125e-5. Digits past the 800th cannot change a double except as "there was
 * more". */
bool bi_json_double(const struct bi_json *json, double *out)
{
    enum { MAX_DIGITS = 800 };
    char digits[MAX_DIGITS + 40];
    size_t n = 0, i = 0;
    int64_t exponent = 0, written = 0;
    bool fraction = false, negative, more = false;
    double v;
    if (!json || json->type != BI_JSON_NUMBER)
        return false;
    negative = json->text[0] == '-';
    for (i = negative; i < json->text_len; i++) {
        char c = json->text[i];
        if (c == '.') {
            fraction = true;
        } else if (c == 'e' || c == 'E') {
            break;
        } else if (n < MAX_DIGITS) {
            if (n || c != '0')
                digits[n++] = c;
            exponent -= fraction;
        } else {
            more |= c != '0';
            exponent += !fraction;
        }
    }
    if (i < json->text_len) {
        bool minus = json->text[++i] == '-';
        i += minus || json->text[i] == '+';
        for (; i < json->text_len && written < 1000000000; i++)
            written = written * 10 + (json->text[i] - '0');
        exponent += minus ? -written : written;
    }
    if (!n) {
        *out = negative ? -0.0 : 0.0;
        return true;
    }
    if (more) {
        digits[n++] = '1';
        exponent--;
    }
    exponent = exponent > 100000 ? 100000 : exponent < -100000 ? -100000 : exponent;
    snprintf(digits + n, sizeof digits - n, "e%lld", (long long)exponent);
    v = strtod(digits, NULL);
    if (!isfinite(v))
        return false;
    *out = negative ? -v : v;
    return true;
}

bool bi_json_bool(const struct bi_json *json, bool *out)
{
    if (!json || (json->type != BI_JSON_TRUE && json->type != BI_JSON_FALSE))
        return false;
    *out = json->type == BI_JSON_TRUE;
    return true;
}

const char *bi_json_string(const struct bi_json *json)
{
    return json && json->type == BI_JSON_STRING ? json->text : NULL;
}

/* complex_list.c - a file of jobs of complexes as records (complex_list.h). */
#include "complex_list.h"

#include <stdio.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/file.h"
#include "json.h"

enum { MOST_BYTES = 256 << 20 };

struct bi_complex_list {
    const struct bi_env *env;
    struct bi_arena arena;
    struct bi_buf text; /* the job at hand */
    const struct bi_json *next;
    uint64_t n;
    char id[32];
};

/* ---- texts ---- */

static void put_string(struct bi_buf *out, const char *text, size_t n)
{
    bi_buf_putc(out, '"');
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c < 0x20)
            bi_buf_printf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            bi_buf_printf(out, "\\%c", c);
        else
            bi_buf_putc(out, (char)c);
    }
    bi_buf_putc(out, '"');
}

/* Puts a value; it is nested no deeper than the reader allows. */
static void put_value(struct bi_buf *out, const struct bi_json *v)
{
    static const char *const words[] = {
        [BI_JSON_NULL] = "null", [BI_JSON_FALSE] = "false", [BI_JSON_TRUE] = "true"};
    const bool object = v->type == BI_JSON_OBJECT;
    if (v->type <= BI_JSON_TRUE) {
        bi_buf_puts(out, words[v->type]);
    } else if (v->type == BI_JSON_NUMBER) {
        bi_buf_append(out, v->text, v->text_len);
    } else if (v->type == BI_JSON_STRING) {
        put_string(out, v->text, v->text_len);
    } else {
        bi_buf_putc(out, object ? '{' : '[');
        for (const struct bi_json *at = v->first; at; at = at->next) {
            if (object) {
                put_string(out, at->key, at->key_len);
                bi_buf_putc(out, ':');
            }
            put_value(out, at);
            if (at->next)
                bi_buf_putc(out, ',');
        }
        bi_buf_putc(out, object ? '}' : ']');
    }
}

/* ---- the list ---- */

static int check(const struct bi_json *root, const char *path, struct bioinfer_error *err)
{
    int64_t n = 0;
    if (root->type != BI_JSON_ARRAY)
        return bi_fail(err, BIOINFER_FORMAT, "%s: expected a list of jobs", path);
    if (!root->n)
        return bi_fail(err, BIOINFER_EMPTY, "%s: no jobs", path);
    for (const struct bi_json *at = root->first; at; at = at->next, n++)
        if (at->type != BI_JSON_OBJECT)
            return bi_fail(err, BIOINFER_FORMAT, "%s: [%lld]: expected a job, an object", path,
                           (long long)n);
    return 0;
}

int bi_complex_list_open(struct bi_complex_list **out, const struct bi_env *env, const char *path,
                         struct bioinfer_error *err)
{
    struct bi_complex_list *l = bi_calloc(env, 1, sizeof *l);
    struct bi_json *root = NULL;
    char *text = NULL;
    size_t size = 0;
    int st;
    if (!l)
        return bi_fail(err, BIOINFER_NOMEM, "%s: jobs", path);
    l->env = l->arena.env = l->text.env = env;
    if (!(st = bi_file_slurp(env, path, MOST_BYTES, &text, &size, err)) &&
        !(st = bi_json_parse(&root, &l->arena, path, text, size, err)))
        st = check(root, path, err);
    bi_free(env, text);
    if (st) {
        bi_complex_list_close(&l);
        return st;
    }
    l->next = root->first;
    *out = l;
    return 0;
}

int bi_complex_list_next(struct bi_complex_list *l, struct bioinfer_record *record)
{
    const char *name;
    if (!l->next)
        return 0;
    l->text.size = 0;
    put_value(&l->text, l->next);
    if (!bi_buf_text(&l->text))
        return BIOINFER_NOMEM;
    name = bi_json_string(bi_json_get(l->next, "name"));
    snprintf(l->id, sizeof l->id, "job_%llu", (unsigned long long)l->n);
    *record = (struct bioinfer_record){.id = name && *name ? name : l->id,
                                       .description = "",
                                       .sequence = l->text.data,
                                       .length = l->text.size,
                                       .ordinal = l->n++,
                                       .message = ""};
    l->next = l->next->next;
    return 1;
}

void bi_complex_list_close(struct bi_complex_list **list)
{
    struct bi_complex_list *l = *list;
    if (!l)
        return;
    bi_arena_reset(&l->arena);
    bi_buf_free(&l->text);
    bi_free(l->env, l);
    *list = NULL;
}

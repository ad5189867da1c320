/* yaml.c - a flat mapping of YAML, line by line. */
#include "yaml.h"

#include <math.h>
#include <string.h>

#include "../base/file.h"
#include "../base/number.h"
#include "scan.h"

enum { LONGEST = 4096 }; /* bytes of a text that goes on over lines */

/* The reader cuts lines out of its copy of the text. */
struct reader {
    struct bi_yaml *out;
    char *at;      /* begins at the next line, and ends with a NUL */
    uint64_t line; /* the one at hand */
    bool ended;    /* "..." came */
    struct bioinfer_error *err;
};

static int fail(const struct reader *r, const char *what, const char *got)
{
    return bi_fail(r->err, BIOINFER_FORMAT, "%s: line %llu: %s: '%.40s'", r->out->path,
                   (unsigned long long)r->line, what, got);
}

static int no_memory(const struct reader *r)
{
    return bi_fail(r->err, BIOINFER_NOMEM, "%s: settings", r->out->path);
}

/* ---- bytes ---- */

/* Finds the first byte that no text has. */
static int check_bytes(struct reader *r, size_t size)
{
    const char *text = r->at;
    const size_t good = bi_utf8_check(text, size);
    r->line = 1;
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (i == good)
            return bi_fail(r->err, BIOINFER_FORMAT, "%s: line %llu: byte 0x%02x is no UTF-8",
                           r->out->path, (unsigned long long)r->line, c);
        if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
            return bi_fail(r->err, BIOINFER_FORMAT,
                           "%s: line %llu: a control character, 0x%02x, in a text of settings",
                           r->out->path, (unsigned long long)r->line, c);
        r->line += c == '\n';
    }
    return 0;
}

/* Ends the text before a comment and the blanks before it. */
static void cut_end(char *text)
{
    char quote = 0;
    size_t n = 0;
    for (; text[n]; n++) {
        if (quote && text[n] == quote && text[n + 1] == quote)
            n++;
        else if (quote)
            quote = text[n] == quote ? 0 : quote;
        else if (text[n] == '#' && (!n || text[n - 1] == ' ' || text[n - 1] == '\t'))
            break;
        else if ((text[n] == '"' || text[n] == '\'') && (!n || strchr(" [,", text[n - 1])))
            quote = text[n];
    }
    while (n && strchr(" \t\r", text[n - 1]))
        n--;
    text[n] = '\0';
}

/* The next line that is not empty, without its comment; NULL at the end. */
static char *next_line(struct reader *r)
{
    while (*r->at) {
        char *line = r->at;
        const size_t n = strcspn(line, "\n");
        r->at += n + (line[n] != '\0');
        line[n] = '\0';
        r->line++;
        cut_end(line);
        if (*line)
            return line;
    }
    return NULL;
}

/* ---- scalars ---- */

static bool is_one_of(const char *text, const char *words)
{
    const size_t n = strlen(text);
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && !memcmp(at, text, n))
            return true;
    return false;
}

/* Takes the quotes off a text, in place; false: it is not one text in quotes. */
static bool unquote(char *text)
{
    const char quote = *text;
    char *to = text, *from = text + 1;
    while (*from && (*from != quote || (quote == '\'' && from[1] == quote))) {
        if (*from == quote) /* twice: it stands for itself */
            from++;
        else if (quote == '"' && *from == '\\' && !strchr("\"\\/ ", *++from))
            return false;
        if (!*from)
            return false;
        *to++ = *from++;
    }
    if (*from != quote || from[1])
        return false;
    *to = '\0';
    return true;
}

static void set_scalar(struct bi_yaml_entry *e, char *text)
{
    const size_t n = strlen(text), sign = *text == '-' || *text == '+';
    double number;
    e->text = text;
    if (*text == '"' || *text == '\'')
        e->kind = unquote(text) ? BI_YAML_TEXT : BI_YAML_OTHER;
    else if (!n || is_one_of(text, "~ null Null NULL"))
        e->kind = BI_YAML_NULL;
    else if (is_one_of(text, "true True TRUE false False FALSE")) {
        e->kind = BI_YAML_BOOL;
        e->flag = *text == 't' || *text == 'T';
    } else if (bi_parse_f64(text, n, &number) && isfinite(number)) {
        e->kind = BI_YAML_NUMBER;
        e->number = number;
        e->whole = strspn(text + sign, "0123456789") == n - sign;
    } else
        e->kind = strchr("&*!|>{%@`?", *text) ? BI_YAML_OTHER : BI_YAML_TEXT;
}

/* ---- lists ---- */

static void add_item(struct bi_yaml_entry *e, char *text)
{
    struct bi_yaml_entry item = {0};
    if (e->kind != BI_YAML_LIST || !*text || *text == '[' || !strncmp(text, "- ", 2)) {
        e->kind = BI_YAML_OTHER;
        return;
    }
    set_scalar(&item, text);
    if (item.kind == BI_YAML_OTHER)
        e->kind = BI_YAML_OTHER;
    else if (!e->n_items++)
        e->text = item.text;
}

/* "[a, b]" on one line. */
static void set_flow(struct bi_yaml_entry *e, char *text)
{
    const size_t n = strlen(text);
    char *at = text + 1;
    e->kind = BI_YAML_LIST;
    if (text[n - 1] != ']' || strpbrk(at, "[{\"'") || strchr(at, ']') != text + n - 1) {
        e->kind = BI_YAML_OTHER;
        return;
    }
    text[n - 1] = '\0';
    while (*at && e->kind == BI_YAML_LIST) {
        char *end = at + strcspn(at, ","), *last = end;
        const bool more = *end == ',';
        while (last > at && last[-1] == ' ')
            last--;
        *last = '\0';
        at += strspn(at, " ");
        if (*at || more)
            add_item(e, at);
        at = end + more;
    }
}

/* ---- lines ---- */

static struct bi_yaml_entry *last_of(const struct reader *r)
{
    return r->out->n ? &r->out->entries[r->out->n - 1] : NULL;
}

/* "- item", at the margin or indented. */
static int read_item(struct reader *r, char *text)
{
    struct bi_yaml_entry *e = last_of(r);
    if (!e)
        return fail(r, "an item of a list without a key", text);
    if (e->kind == BI_YAML_NULL && !*e->text) /* "key:" alone came before it */
        e->kind = BI_YAML_LIST;
    if (e->kind != BI_YAML_LIST && e->kind != BI_YAML_OTHER)
        return fail(r, "an item of a list after a key that has a value", text);
    text += text[1] ? 2 : 1;
    text += strspn(text, " ");
    add_item(e, text);
    return 0;
}

/* An indented line: it goes on with a text, or is of a value that is passed over. */
static int read_rest(struct reader *r, char *text)
{
    struct bi_yaml_entry *e = last_of(r);
    char *joined;
    if (!e)
        return fail(r, "the first line is indented", text);
    if (e->kind != BI_YAML_TEXT || strlen(e->text) > LONGEST) {
        e->kind = BI_YAML_OTHER;
        return 0;
    }
    joined = bi_arena_printf(&r->out->arena, "%s %s", e->text, text);
    e->text = joined;
    return joined ? 0 : no_memory(r);
}

/* The end of the key that a line begins with: at its ':'; NULL = there is none. */
static char *end_of_key(char *line)
{
    char *end = line;
    if (*line == '"' || *line == '\'') {
        end = strchr(line + 1, *line);
        return end && end[1] == ':' && (!end[2] || end[2] == ' ') ? end + 1 : NULL;
    }
    while ((end = strchr(end, ':')) && end[1] && end[1] != ' ')
        end++;
    return end == line ? NULL : end;
}

static int read_pair(struct reader *r, char *line)
{
    struct bi_yaml *y = r->out;
    char *end = end_of_key(line), *value;
    struct bi_yaml_entry *e;
    if (!end || strchr("&*!|>{}[]%@`?,", *line))
        return fail(r, "expected 'key: value' or '- item'", line);
    value = end + 1 + strspn(end + 1, " ");
    *end = '\0';
    if ((*line == '"' || *line == '\'') && !unquote(line))
        return fail(r, "a key in quotes that do not end", line);
    if (bi_yaml_find(y, line))
        return fail(r, "a key that comes twice", line);
    if (y->n == BI_YAML_MOST_KEYS)
        return bi_fail(r->err, BIOINFER_LIMIT, "%s: more than %d settings", y->path,
                       BI_YAML_MOST_KEYS);
    if (y->n == y->cap) { /* the arena keeps the old ones until the end */
        const size_t cap = y->cap ? 2 * y->cap : 128;
        struct bi_yaml_entry *grown = bi_arena_calloc(&y->arena, cap, sizeof *grown);
        if (!grown)
            return no_memory(r);
        if (y->n)
            memcpy(grown, y->entries, y->n * sizeof *grown);
        y->entries = grown;
        y->cap = cap;
    }
    e = &y->entries[y->n++];
    *e = (struct bi_yaml_entry){.key = line, .line = r->line, .text = value};
    if (*value == '[')
        set_flow(e, value);
    else
        set_scalar(e, value);
    return 0;
}

static int read_line(struct reader *r, char *line)
{
    const size_t indent = strspn(line, " ");
    char *text = line + indent;
    const bool item = text[0] == '-' && (!text[1] || text[1] == ' ');
    if (*text == '\t')
        return fail(r, "a tab before a value", line);
    if (r->ended)
        return fail(r, "a line after the end of the settings", line);
    if (!indent && !strcmp(line, "---") && !r->out->n)
        return 0;
    if (!indent && !strcmp(line, "...")) {
        r->ended = true;
        return 0;
    }
    return item ? read_item(r, text) : indent ? read_rest(r, text) : read_pair(r, line);
}

int bi_yaml_read_memory(struct bi_yaml *out, const struct bi_env *env, const char *name,
                        const char *text, size_t size, struct bioinfer_error *err)
{
    struct reader r = {.out = out, .err = err};
    char *line;
    int st;
    *out = (struct bi_yaml){.arena.env = env};
    if (size > BI_YAML_MOST_BYTES)
        return bi_fail(err, BIOINFER_LIMIT, "%s: %zu bytes of settings, at most %d", name, size,
                       BI_YAML_MOST_BYTES);
    if (!(out->path = bi_arena_strndup(&out->arena, name, strlen(name))) ||
        !(r.at = bi_arena_strndup(&out->arena, text, size)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: settings", name);
    if ((st = check_bytes(&r, size)))
        return st;
    r.line = 0;
    if (size >= 3 && !memcmp(r.at, "\xef\xbb\xbf", 3))
        r.at += 3;
    while (!st && (line = next_line(&r)))
        st = read_line(&r, line);
    return st;
}

int bi_yaml_read(struct bi_yaml *out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int st;
    *out = (struct bi_yaml){.arena.env = env};
    if ((st = bi_file_slurp(env, path, BI_YAML_MOST_BYTES, &text, &size, err)))
        return st;
    st = bi_yaml_read_memory(out, env, path, text, size, err);
    bi_free(env, text);
    return st;
}

struct bi_yaml_entry *bi_yaml_find(const struct bi_yaml *yaml, const char *key)
{
    for (size_t i = 0; i < yaml->n; i++)
        if (!strcmp(yaml->entries[i].key, key))
            return &yaml->entries[i];
    return NULL;
}

void bi_yaml_free(struct bi_yaml *yaml)
{
    if (yaml->arena.env)
        bi_arena_reset(&yaml->arena);
    *yaml = (struct bi_yaml){0};
}

/* provenance.c - reads the file OUT.provenance.json beside an output: how that was made. */
#include "provenance.h"

#include <inttypes.h>
#include <string.h>

#include "../base/file.h"
#include "../loaders/json.h"
#include "show.h"

enum { MOST = 64 << 20, MOST_ROWS = 200 };

struct reading {
    struct bi_arena arena;
    const struct bi_json *root, *first; /* first: the first of merged runs, or root */
    struct bi_buf text;                 /* the value at hand */
    bi_provenance_take take;
    void *user;
    bool units;          /* these alone are wanted; */
    const char *columns; /* or the columns of arrays of this kind; NULL = all rows are */
    int n;
};

/* Hands out the text that was gathered, unless it is empty. */
static int give(struct reading *r, const char *name, struct bioinfer_error *err)
{
    const char *text = bi_buf_text(&r->text);
    if (!text)
        return bi_fail(err, BIOINFER_NOMEM, "how an output was made");
    return r->text.size && r->n++ < MOST_ROWS ? r->take(r->user, name, text, err) : 0;
}

static void put_scalar(struct reading *r, const struct bi_json *j)
{
    if (j && (j->type == BI_JSON_STRING || j->type == BI_JSON_NUMBER))
        bi_buf_puts(&r->text, j->text);
}

/* A text, a number, a list of words, or names with numbers. */
static int give_value(struct reading *r, const char *name, const struct bi_json *j,
                      struct bioinfer_error *err)
{
    r->text.size = 0;
    put_scalar(r, j);
    if (j && (j->type == BI_JSON_ARRAY || j->type == BI_JSON_OBJECT))
        for (const struct bi_json *k = j->first; k; k = k->next) {
            bi_buf_puts(&r->text, k == j->first ? "" : k->key ? ", " : " ");
            if (k->key && k->type == BI_JSON_STRING) /* a name and its unit */
                bi_buf_printf(&r->text, "%s ", k->key);
            put_scalar(r, k);
            if (k->key && k->type != BI_JSON_STRING) /* a number of them */
                bi_buf_printf(&r->text, " %s", k->key);
        }
    return give(r, name, err);
}

/* Files that were read, a row each. */
static int give_inputs(struct reading *r, struct bioinfer_error *err)
{
    const struct bi_json *list = bi_json_get(r->first, "inputs");
    int st = 0;
    if (!list || list->type != BI_JSON_ARRAY)
        return 0;
    for (const struct bi_json *j = list->first; j && !st; j = j->next) {
        const char *role = bi_json_string(bi_json_get(j, "role"));
        const struct bi_json *size = bi_json_get(j, "size"), *sum = bi_json_get(j, "sha256"),
                             *changed = bi_json_get(j, "changed");
        r->text.size = 0;
        put_scalar(r, bi_json_get(j, "name"));
        if (size) {
            bi_buf_puts(&r->text, ", ");
            put_scalar(r, size);
            bi_buf_puts(&r->text, " bytes");
        }
        if (sum || changed) {
            bi_buf_puts(&r->text, sum ? ", sha256 " : ", changed ");
            put_scalar(r, sum ? sum : changed);
        }
        st = give(r, role ? role : "input", err);
    }
    return st;
}

static int give_units(struct reading *r, struct bioinfer_error *err)
{
    const struct bi_json *units = bi_json_get(r->first, "units");
    int st = 0;
    if (units && units->type == BI_JSON_OBJECT)
        for (const struct bi_json *k = units->first; k && !st; k = k->next)
            st = k->type == BI_JSON_STRING ? r->take(r->user, k->key, k->text, err) : 0;
    return st;
}

static int give_columns(struct reading *r, struct bioinfer_error *err)
{
    const struct bi_json *all = bi_json_get(r->first, "columns");
    const struct bi_json *list = all && all->type == BI_JSON_OBJECT ? bi_json_get(all, r->columns)
                                                                    : NULL;
    int st = 0;
    if (list && list->type == BI_JSON_ARRAY)
        for (const struct bi_json *k = list->first; k && !st; k = k->next)
            st = r->take(r->user, "", k->type == BI_JSON_STRING ? k->text : "", err);
    return st;
}

static int give_all(struct reading *r, struct bioinfer_error *err)
{
    static const struct {
        const char *key, *name;
        bool whole; /* said of the output, not of the first run */
    } rows[] = {{"command", "command", false},
                {"bioinfer", "bioinfer", false},
                {"task", "task", false},
                {"model", "model", false},
                {"weights", "weights", false},
                {"revision", "revision", false},
                {"fingerprint", "fingerprint", false},
                {"device", "device", false},
                {"device_name", "device name", false},
                {"kernels", "kernels", false},
                {"precision", "precision", false},
                {"options", "options", false},
                {"units", "units", false},
                {"records", "records", true},
                {"failed", "without a result", true},
                {"reasons", "reasons", true},
                {"resumed", "records of an earlier run", true},
                {"date", "date", true},
                {"seconds", "seconds", true}};
    const struct bi_json *runs = bi_json_get(r->root, "runs");
    int st = 0;
    for (size_t k = 0; k < BI_COUNT(rows) && !st; k++) {
        st = give_value(r, rows[k].name,
                        bi_json_get(rows[k].whole ? r->root : r->first, rows[k].key), err);
        if (!st && !strcmp(rows[k].key, "options"))
            st = give_inputs(r, err);
    }
    if (st || !runs || runs->type != BI_JSON_ARRAY)
        return st;
    r->text.size = 0;
    bi_buf_printf(&r->text, "%zu, of which the first is described", runs->n);
    return give(r, "merged runs", err);
}

/* Does the description tell another size than the output has? */
static bool is_of_another(const struct reading *r, const char *path, uint64_t *told)
{
    struct bi_file f = BI_FILE_NONE;
    bool differs;
    if (!bi_json_u64(bi_json_get(r->root, "output_size"), told) || !bi_path_is_regular(path) ||
        bi_file_open(&f, r->arena.env, path, NULL))
        return false;
    differs = f.size != *told;
    bi_file_close(&f);
    return differs;
}

static int read_all(struct reading *r, const char *path, const char *side,
                    struct bioinfer_error *err)
{
    struct bi_json *root = NULL;
    const struct bi_json *runs;
    char *text = NULL;
    size_t size = 0;
    uint64_t told = 0;
    int st = bi_file_slurp(r->arena.env, side, MOST, &text, &size, err);
    if (!st)
        st = bi_json_parse(&root, &r->arena, side, text, size, err);
    bi_free(r->arena.env, text);
    if (st)
        return st;
    if (root->type != BI_JSON_OBJECT)
        return bi_fail(err, BIOINFER_FORMAT, "%s: expected an object of JSON", side);
    r->root = r->first = root;
    runs = bi_json_get(root, "runs");
    if (runs && runs->type == BI_JSON_ARRAY && runs->first)
        r->first = runs->first;
    if (!is_of_another(r, path, &told))
        return r->units ? give_units(r, err) : r->columns ? give_columns(r, err) : give_all(r, err);
    if (r->units || r->columns)
        return 0;
    r->text.size = 0;
    bi_buf_printf(&r->text, "%s is of another file, which had %" PRIu64 " bytes", side, told);
    return give(r, "not described", err);
}

static int each(struct reading *r, const char *path, struct bioinfer_error *err)
{
    const struct bi_env *env = r->arena.env;
    struct bi_buf side = {.env = env};
    size_t n = strlen(path);
    const char *name;
    int st = 0;
    while (n > 1 && path[n - 1] == '/')
        n--;
    bi_buf_append(&side, path, n);
    bi_buf_puts(&side, ".provenance.json");
    if (!(name = bi_buf_text(&side)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
    else if (bi_path_is_regular(name))
        st = read_all(r, path, name, err);
    bi_buf_free(&side);
    bi_buf_free(&r->text);
    bi_arena_reset(&r->arena);
    return st;
}

int bi_provenance_each(const struct bi_env *env, const char *path, bi_provenance_take take,
                       void *user, struct bioinfer_error *err)
{
    struct reading r = {.arena = {.env = env}, .text = {.env = env}, .take = take, .user = user};
    return each(&r, path, err);
}

int bi_provenance_units(const struct bi_env *env, const char *path, bi_provenance_take take,
                        void *user, struct bioinfer_error *err)
{
    struct reading r = {.arena = {.env = env}, .text = {.env = env}, .take = take, .user = user};
    r.units = true;
    return each(&r, path, err);
}

int bi_provenance_columns(const struct bi_env *env, const char *path, const char *kind,
                          bi_provenance_take take, void *user, struct bioinfer_error *err)
{
    struct reading r = {.arena = {.env = env}, .text = {.env = env}, .take = take, .user = user};
    r.columns = kind;
    return each(&r, path, err);
}

/* ---- as text, and as a table of a page ---- */

struct printing {
    struct bi_buf *out;
    bool begun;
};

static int print_row(void *user, const char *name, const char *value, struct bioinfer_error *err)
{
    struct printing *p = user;
    (void)err;
    if (!p->begun)
        bi_buf_puts(p->out, "how it was made:\n");
    p->begun = true;
    bi_buf_printf(p->out, "  %s: ", name);
    for (const char *c = value; *c; c++) /* a line each */
        bi_buf_putc(p->out, *c == '\n' || *c == '\r' ? ' ' : *c);
    bi_buf_putc(p->out, '\n');
    return 0;
}

int bi_provenance_print(struct bi_buf *out, const char *path, struct bioinfer_error *err)
{
    struct printing p = {.out = out};
    return bi_provenance_each(out->env, path, print_row, &p, err);
}

struct showing {
    struct bi_show *s;
    const char **names, **values;
    size_t n;
};

static int keep_row(void *user, const char *name, const char *value, struct bioinfer_error *err)
{
    struct showing *w = user;
    struct bi_shown *v = &w->s->view;
    w->names[w->n] = bi_view_text(v, name, strlen(name));
    w->values[w->n] = bi_view_text(v, value, strlen(value));
    return w->names[w->n] && w->values[w->n++] ? 0 : bi_show_no_memory(w->s, err);
}

int bi_provenance_show(struct bi_show *s, struct bioinfer_error *err)
{
    struct bi_arena *arena = &s->view.arena;
    struct showing w = {.s = s,
                        .names = bi_arena_calloc(arena, MOST_ROWS, sizeof(char *)),
                        .values = bi_arena_calloc(arena, MOST_ROWS, sizeof(char *))};
    struct bi_figure *f;
    int st;
    if (!w.names || !w.values)
        return bi_show_no_memory(s, err);
    if ((st = bi_provenance_each(s->env, s->path, keep_row, &w, err)) || !w.n)
        return st;
    f = bi_view_add(&s->view, BI_FIGURE_TABLE, "How it was made", "How it was made");
    if (!f || !bi_view_columns(&s->view, &f->as.table, w.n, 2))
        return bi_show_no_memory(s, err);
    f->as.table.columns[0] = (struct bi_shown_column){.name = "what", .texts = w.names};
    f->as.table.columns[1] = (struct bi_shown_column){.name = "value", .texts = w.values};
    return 0;
}

/* params.c - parameters of tasks by their names, from the tables of tasks/table.h.
 *
 * Sections: fields, handles, values from text, values as text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/number.h"
#include "../tasks/table.h"

/* ---- fields ---- */

int bioinfer_params_field(const char *task, int index, struct bioinfer_field *field)
{
    const struct bi_params_table *t = bi_table_find(task);
    struct bioinfer_field f = {0};
    const struct bi_row *r;
    size_t size;
    if (!field || field->struct_size < sizeof size)
        return BIOINFER_INVALID;
    if (!t || index < 0 || (size_t)index >= t->n_rows)
        return BIOINFER_NOT_FOUND;
    r = &t->rows[index];
    size = field->struct_size < sizeof f ? field->struct_size : sizeof f;
    f = (struct bioinfer_field){field->struct_size,
                                r->name,
                                r->member,
                                r->kind,
                                r->count != 0,
                                r->least,
                                r->most,
                                r->choices,
                                r->value,
                                r->otherwise,
                                r->unit,
                                r->help,
                                r->takers & t->takers};
    memcpy(field, &f, size);
    return 0;
}

/* ---- handles ---- */

struct bioinfer_params {
    struct bi_env env;
    struct bi_arena arena; /* lists and texts */
    const struct bi_params_table *table;
    char *names; /* the last that were added to, and the bytes that there are for them */
    size_t names_size;
    uint64_t given; /* bit i: row i was set */
    char *values;   /* the struct */
};

int bioinfer_params_new(bioinfer_params **out, const char *task, struct bioinfer_error *err)
{
    const struct bi_params_table *table = bi_table_find(task);
    const struct bi_env env = bi_env_default();
    struct bioinfer_params *p;
    if (!out)
        return bi_fail(err, BIOINFER_INVALID, "params: out must be given");
    *out = NULL;
    if (!table)
        return bi_fail(err, BIOINFER_NOT_FOUND, "no table of parameters is of '%.60s'",
                       task ? task : "NULL");
    if (!(p = bi_zalloc(&env, sizeof *p)))
        return bi_fail(err, BIOINFER_NOMEM, "params");
    p->env = env;
    p->arena.env = &p->env;
    p->table = table;
    if (!(p->values = bi_arena_calloc(&p->arena, 1, table->size))) {
        bioinfer_params_free(&p);
        return bi_fail(err, BIOINFER_NOMEM, "params");
    }
    memcpy(p->values, &table->params_size, sizeof table->params_size);
    if (table->settle)
        table->settle(p->values);
    *out = p;
    return 0;
}

void bioinfer_params_free(bioinfer_params **params)
{
    struct bioinfer_params *p = params ? *params : NULL;
    const struct bi_env env = bi_env_default();
    if (!p)
        return;
    bi_arena_reset(&p->arena);
    bi_free(&env, p);
    *params = NULL;
}

void *bioinfer_params_struct(bioinfer_params *params)
{
    return params ? params->values : NULL;
}

/* Has a copy of the struct point to the texts of the files that it names, which are read. */
static int read_files(const struct bioinfer_params *p, char *values, struct bi_arena *arena,
                      struct bioinfer_record **files, bioinfer_context *ctx,
                      struct bioinfer_error *err)
{
    int st = 0;
    for (size_t i = 0; i < p->table->n_rows && !st; i++) {
        const struct bi_row *r = &p->table->rows[i];
        struct bioinfer_text *text;
        if (r->kind != BIOINFER_PARAMS_FILE)
            continue;
        memcpy(&text, values + r->offset, sizeof text);
        if (!text || text->text)
            continue;
        if ((st = bioinfer_record_read(&files[i], ctx, text->name, err)))
            return st;
        if (!(text = bi_arena_calloc(arena, 1, sizeof *text)))
            return bi_fail(err, BIOINFER_NOMEM, "%s", r->name);
        text->name = files[i]->description;
        text->text = files[i]->sequence;
        text->length = files[i]->length;
        memcpy(values + r->offset, &text, sizeof text);
    }
    return st;
}

int bioinfer_task_open(bioinfer_task **out, bioinfer_context *ctx, const bioinfer_model *model,
                       const bioinfer_params *params, struct bioinfer_error *err)
{
    struct bioinfer_record *files[BI_MOST_ROWS] = {NULL};
    struct bi_arena arena = {0};
    char *values;
    int st;
    if (out)
        *out = NULL;
    if (!params)
        return bi_fail(err, BIOINFER_INVALID, "task: params must be given");
    arena.env = &params->env;
    if (!(values = bi_arena_alloc(&arena, params->table->size)))
        return bi_fail(err, BIOINFER_NOMEM, "params");
    memcpy(values, params->values, params->table->size);
    if (!(st = bioinfer_params_check(params, err)) &&
        !(st = read_files(params, values, &arena, files, ctx, err)))
        st = params->table->open(out, ctx, model, values, err);
    for (size_t i = 0; i < BI_MOST_ROWS; i++)
        bioinfer_record_free(&files[i]);
    bi_arena_reset(&arena);
    return st;
}

int bioinfer_params_check(const bioinfer_params *params, struct bioinfer_error *err)
{
    if (!params)
        return bi_fail(err, BIOINFER_INVALID, "params must be given");
    return params->table->check ? params->table->check(params->values, err) : 0;
}

static const struct bi_row *find_row(const struct bioinfer_params *p, const char *name)
{
    for (size_t i = 0; name && i < p->table->n_rows; i++)
        if (!strcmp(p->table->rows[i].name, name) || !strcmp(p->table->rows[i].member, name))
            return &p->table->rows[i];
    return NULL;
}

/* ---- values from text ---- */

static int parse_int(const struct bi_row *r, const char *text, size_t n, int64_t *out,
                     struct bioinfer_error *err)
{
    char copy[24];
    char *end = copy;
    errno = 0;
    if (n && n < sizeof copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
        *out = strtoll(copy, &end, 10);
    }
    if (!n || n >= sizeof copy || *end || errno || !strchr("-0123456789", *copy) ||
        (double)*out < r->least || (double)*out > r->most)
        return bi_fail(err, BIOINFER_INVALID, "%s: '%.*s' is not a whole number from %.0f to %.0f",
                       r->name, n < 60 ? (int)n : 60, text, r->least, r->most);
    return 0;
}

/* Stores "FIRST-LAST" as the first and how many there are. */
static int store_range(struct bioinfer_params *p, const struct bi_row *r, const char *text,
                       struct bioinfer_error *err)
{
    const size_t n = strcspn(text, "-");
    int64_t first, last;
    if (text[n] != '-' || parse_int(r, text, n, &first, NULL) ||
        parse_int(r, text + n + 1, strlen(text + n + 1), &last, NULL) || last < first)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: '%.60s': expected FIRST-LAST, as in 447-448, from %.0f to %.0f",
                       r->name, text, r->least, r->most);
    last += 1 - first;
    memcpy(p->values + r->offset, &first, sizeof first);
    memcpy(p->values + r->length, &last, sizeof last);
    return 0;
}

static int parse_real(const struct bi_row *r, const char *text, size_t n, double *out,
                      struct bioinfer_error *err)
{
    if (!bi_parse_f64(text, n, out) || !(*out >= r->least && *out <= r->most))
        return bi_fail(err, BIOINFER_INVALID, "%s: '%.*s' is not a number from %g to %g", r->name,
                       n < 60 ? (int)n : 60, text, r->least, r->most);
    return 0;
}

/* Reads a cost in points as whole thousandths. */
static int parse_cost(const struct bi_row *r, const char *text, size_t n, int64_t *out,
                      struct bioinfer_error *err)
{
    double points = 0;
    const int st = parse_real(r, text, n, &points, err);
    if (st)
        return st;
    *out = (int64_t)(points * 1000 + (points < 0 ? -0.5 : 0.5));
    if ((double)*out / 1000 - points > 1e-9 || points - (double)*out / 1000 > 1e-9)
        return bi_fail(err, BIOINFER_INVALID, "%s: '%.*s' has more than three decimals", r->name,
                       n < 60 ? (int)n : 60, text);
    return 0;
}

static int parse_word(const struct bi_row *r, const char *text, size_t length, int *out,
                      struct bioinfer_error *err)
{
    const char *at = r->choices, *word;
    char known[512] = "";
    size_t n, used = 0;
    for (int place = 0; bi_table_word(&at, &place, &word, &n, out);) {
        if (n == length && !memcmp(word, text, n))
            return 0;
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%.*s", used ? ", " : "",
                                 (int)n, word);
    }
    return bi_fail(err, BIOINFER_INVALID, "%s: '%.*s' is not one of %s", r->name,
                   length < 60 ? (int)length : 60, text, known);
}

static void store_int(char *at, size_t size, int64_t value)
{
    const int narrow = (int)value;
    if (size == sizeof narrow)
        memcpy(at, &narrow, size);
    else
        memcpy(at, &value, size);
}

/* Stores one value at the member, or at an element of its list. */
static int store(const struct bi_row *r, char *at, const char *text, size_t n,
                 struct bioinfer_error *err)
{
    int64_t number = 0;
    double real = 0;
    int word = 0, st;
    switch (r->kind) {
    case BIOINFER_PARAMS_REAL:
        if (!(st = parse_real(r, text, n, &real, err))) {
            real += 0; /* -0 is 0 */
            memcpy(at, &real, sizeof real);
        }
        return st;
    case BIOINFER_PARAMS_CHOICE:
    case BIOINFER_PARAMS_BITS:
        if ((st = parse_word(r, text, n, &word, err)))
            return st;
        number = r->kind == BIOINFER_PARAMS_CHOICE ? word : bi_table_int(at, r->size) | 1 << word;
        break;
    case BIOINFER_PARAMS_COST:
        if ((st = parse_cost(r, text, n, &number, err)))
            return st;
        break;
    default:
        if ((st = parse_int(r, text, n, &number, err)))
            return st;
    }
    store_int(at, r->size, number);
    return 0;
}

/* Refuses a flag where another one has set their member: names them all. */
static int say_flags(const struct bioinfer_params *p, const struct bi_row *r,
                     struct bioinfer_error *err)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < p->table->n_rows && used < sizeof names; i++)
        if (p->table->rows[i].offset == r->offset && p->table->rows[i].number)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     p->table->rows[i].name);
    return bi_fail(err, BIOINFER_INVALID, "%s: only one of %s", r->name, names);
}

static int set_flag(const struct bioinfer_params *p, const struct bi_row *r, char *at,
                    const char *text, struct bioinfer_error *err)
{
    const bool yes = !strcmp(text, "true") || !strcmp(text, "1");
    if (!yes && strcmp(text, "false") && strcmp(text, "0"))
        return bi_fail(err, BIOINFER_INVALID, "%s: '%.60s' is not true or false", r->name, text);
    if (yes && r->number && bi_table_int(at, r->size) && bi_table_int(at, r->size) != r->number)
        return say_flags(p, r, err);
    if (yes || !r->number)
        store_int(at, r->size, yes && r->number ? r->number : yes);
    return 0;
}

/* Adds a name to a member's. A request may have many, so they are given room for more. */
static int add_name(struct bioinfer_params *p, const struct bi_row *r, char *at, const char *text,
                    struct bioinfer_error *err)
{
    enum { MOST = 1 << 17 }; /* Linux takes no longer argument */
    const size_t n = strlen(text) + 1;
    const char *before;
    char *names = p->names;
    size_t used;
    memcpy(&before, at, sizeof before);
    used = before ? strlen(before) + 1 : 0;
    if (n > MOST || used > MOST - n)
        return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d characters", r->name, MOST - 1);
    if (!before || before != names || used + n > p->names_size) {
        const size_t size = before ? 2 * (used + n) : n;
        if (!(names = bi_arena_alloc(&p->arena, size)))
            return bi_fail(err, BIOINFER_NOMEM, "%s", r->name);
        if (used)
            memcpy(names, before, used);
        p->names = names;
        p->names_size = size;
        memcpy(at, &names, sizeof names);
    }
    if (used)
        names[used - 1] = ',';
    memcpy(names + used, text, n);
    return 0;
}

static int set_text(struct bioinfer_params *p, const struct bi_row *r, char *at, const char *text,
                    struct bioinfer_error *err)
{
    const char *copy;
    if (!*text)
        return bi_fail(err, BIOINFER_INVALID, "%s: the value is empty", r->name);
    for (const char *c = text; *c && r->kind != BIOINFER_PARAMS_PATH; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return bi_fail(err, BIOINFER_INVALID, "%s: control character 0x%02x in the value",
                           r->name, (unsigned char)*c);
    if (r->kind == BIOINFER_PARAMS_NAMES)
        return add_name(p, r, at, text, err);
    if (!(copy = bi_arena_strndup(&p->arena, text, strlen(text))))
        return bi_fail(err, BIOINFER_NOMEM, "%s", r->name);
    memcpy(at, &copy, sizeof copy);
    return 0;
}

/* Sets a file by its path, or as it is; it is read when the task is opened. */
static int set_file(struct bioinfer_params *p, const struct bi_row *r, char *at,
                    const struct bioinfer_text *file, struct bioinfer_error *err)
{
    struct bioinfer_text *copy = bi_arena_calloc(&p->arena, 1, sizeof *copy);
    if (!*file->name)
        return bi_fail(err, BIOINFER_INVALID, "%s: the value is empty", r->name);
    if (!copy || !(copy->name = bi_arena_strndup(&p->arena, file->name, strlen(file->name))) ||
        (file->text && !(copy->text = bi_arena_strndup(&p->arena, file->text, file->length))))
        return bi_fail(err, BIOINFER_NOMEM, "%s", r->name);
    copy->length = file->length;
    memcpy(at, &copy, sizeof copy);
    return 0;
}

/* Stores "NAME" or "NAME:0+3" as an element of the list of outputs. */
static int store_output(struct bioinfer_params *p, const struct bi_row *r, char *to,
                        const char *text, size_t n, struct bioinfer_error *err)
{
    const struct bi_row number = {.name = r->name, .most = INT32_MAX};
    struct bioinfer_tracks_output o = {0};
    const char *colon = memchr(text, ':', n);
    size_t at = colon ? (size_t)(colon - text) : n;
    int *tracks = bi_arena_calloc(&p->arena, n + 1, sizeof *tracks);
    int64_t track;
    o.tracks = at < n ? tracks : NULL;
    o.name = bi_arena_strndup(&p->arena, text, at);
    if (!tracks || !o.name)
        return bi_fail(err, BIOINFER_NOMEM, "%s", r->name);
    if (!at)
        return bi_fail(err, BIOINFER_INVALID, "%s: an output without a name", r->name);
    while (at++ < n) {
        const char *plus = memchr(text + at, '+', n - at);
        const size_t end = plus ? (size_t)(plus - text) : n;
        if (parse_int(&number, text + at, end - at, &track, err))
            return BIOINFER_INVALID;
        tracks[o.n_tracks++] = (int)track;
        at = end;
    }
    memcpy(to, &o, sizeof o);
    return 0;
}

enum { MOST_VALUES = 4096 };

/* Adds the values of a text, with commas between, to a list. */
static int add_values(struct bioinfer_params *p, const struct bi_row *r, const char *text,
                      struct bioinfer_error *err)
{
    const char *old, *end = text;
    char *list;
    int n = (int)bi_table_int(p->values + r->count, sizeof n);
    int more = 1, st = 0;
    memcpy(&old, p->values + r->offset, sizeof old);
    while ((end = strchr(end, ',')) && more <= MOST_VALUES) {
        more++;
        end++;
    }
    if (more > MOST_VALUES - n)
        return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d values", r->name, MOST_VALUES);
    if (!(list = bi_arena_calloc(&p->arena, (size_t)(n + more), r->size)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", r->name);
    if (n)
        memcpy(list, old, (size_t)n * r->size);
    for (int i = 0; i < more && !st; i++) {
        const size_t length = strcspn(text, ",");
        char *to = list + (size_t)(n + i) * r->size;
        st = r->kind == BIOINFER_PARAMS_OUTPUT ? store_output(p, r, to, text, length, err)
                                               : store(r, to, text, length, err);
        text += length + (text[length] == ',');
    }
    if (!st) {
        memcpy(p->values + r->offset, &list, sizeof list);
        store_int(p->values + r->count, sizeof n, n + more);
    }
    return st;
}

/* Adds the words of a text, with commas between, to a set; all or none. */
static int add_words(const struct bi_row *r, char *at, const char *text, struct bioinfer_error *err)
{
    const int64_t before = bi_table_int(at, r->size);
    int st;
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        st = store(r, at, text, length, err);
        text += length;
        if (st || !*text)
            break;
    }
    if (st)
        store_int(at, r->size, before);
    return st;
}

/* Notes whether a zero or a word was set. A flag that its own row has set stays, so that the task
 * refuses what excludes it. */
static void store_zero(struct bioinfer_params *p, const struct bi_row *r, bool yes)
{
    for (size_t i = 0; i < p->table->n_rows; i++)
        yes |= p->table->rows[i].offset == r->zero && p->given >> i & 1 &&
               bi_table_int(p->values + r->zero, sizeof(int));
    store_int(p->values + r->zero, sizeof(int), yes);
}

static int set(struct bioinfer_params *p, const struct bi_row *r, const char *text,
               struct bioinfer_error *err)
{
    char *at = p->values + r->offset;
    if (r->count)
        return add_values(p, r, text, err);
    if (r->kind == BIOINFER_PARAMS_BITS)
        return add_words(r, at, text, err);
    if (r->kind == BIOINFER_PARAMS_FLAG)
        return set_flag(p, r, at, text, err);
    if (r->kind == BIOINFER_PARAMS_TEXT || r->kind == BIOINFER_PARAMS_NAMES ||
        r->kind == BIOINFER_PARAMS_PATH)
        return set_text(p, r, at, text, err);
    if (r->kind == BIOINFER_PARAMS_RANGE)
        return store_range(p, r, text, err);
    if (r->kind == BIOINFER_PARAMS_FILE)
        return set_file(p, r, at, &(struct bioinfer_text){text, NULL, 0}, err);
    return store(r, at, text, strlen(text), err);
}

int bioinfer_params_set(bioinfer_params *params, const char *name, const char *text,
                        struct bioinfer_error *err)
{
    const struct bi_row *found;
    struct bi_row r;
    bool word;
    int st = 0;
    if (!params || !name || !text)
        return bi_fail(err, BIOINFER_INVALID, "params, name and text must be given");
    if (!(found = find_row(params, name)))
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s has no parameter '%.60s'", params->table->task,
                       name);
    r = *found;
    r.name = name; /* for messages */
    word = r.word && !strcmp(text, r.word);
    if (word)
        memset(params->values + r.offset, 0, r.size);
    else
        st = set(params, &r, text, err);
    if (!st && r.zero)
        store_zero(params, &r, r.word ? word : !bi_table_int(params->values + r.offset, r.size));
    if (!st)
        params->given |= UINT64_C(1) << (found - params->table->rows);
    if (!st && params->table->settle)
        params->table->settle(params->values);
    return st;
}

int bioinfer_params_set_file(bioinfer_params *params, const char *name,
                             const struct bioinfer_text *file, struct bioinfer_error *err)
{
    const struct bi_row *r;
    int st;
    if (!params || !name || !file || !file->name || !file->text)
        return bi_fail(err, BIOINFER_INVALID, "params, name and the file must be given");
    if (!(r = find_row(params, name)) || r->kind != BIOINFER_PARAMS_FILE)
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s has no parameter '%.60s' that is a file",
                       params->table->task, name);
    if (!(st = set_file(params, r, params->values + r->offset, file, err))) {
        if (r->zero)
            store_zero(params, r, false);
        params->given |= UINT64_C(1) << (r - params->table->rows);
    }
    return st;
}

/* ---- values as text ---- */

static void print_words(struct bi_buf *out, const struct bi_row *r, int64_t value)
{
    const char *at = r->choices, *word, *comma = "";
    const bool bits = r->kind == BIOINFER_PARAMS_BITS;
    size_t n;
    int number;
    for (int place = 0; bi_table_word(&at, &place, &word, &n, &number);)
        if (bits ? value >> number & 1 : number == value) {
            bi_buf_printf(out, "%s%.*s", comma, (int)n, word);
            comma = ",";
            if (!bits)
                return;
        }
}

static void print_one(struct bi_buf *out, const struct bi_row *r, const char *at)
{
    char number[BI_NUMBER_SIZE];
    const struct bioinfer_text *file;
    struct bioinfer_tracks_output o;
    const char *text;
    double real;
    switch (r->kind) {
    case BIOINFER_PARAMS_OUTPUT:
        memcpy(&o, at, sizeof o);
        bi_buf_puts(out, o.name);
        for (int i = 0; i < o.n_tracks; i++)
            bi_buf_printf(out, "%c%d", i ? '+' : ':', o.tracks[i]);
        break;
    case BIOINFER_PARAMS_FILE:
        memcpy(&file, at, sizeof file);
        bi_buf_puts(out, file ? file->name : "");
        break;
    case BIOINFER_PARAMS_FLAG:
        bi_buf_puts(out, bi_table_int(at, r->size) == (r->number ? r->number : 1) ? "1" : "0");
        break;
    case BIOINFER_PARAMS_REAL:
        memcpy(&real, at, sizeof real);
        bi_buf_append(out, number, bi_print_f64(number, real));
        break;
    case BIOINFER_PARAMS_COST:
        real = (double)bi_table_int(at, r->size) / 1000;
        bi_buf_append(out, number, bi_print_f64(number, real));
        break;
    case BIOINFER_PARAMS_CHOICE:
    case BIOINFER_PARAMS_BITS:
        print_words(out, r, bi_table_int(at, r->size));
        break;
    case BIOINFER_PARAMS_TEXT:
    case BIOINFER_PARAMS_NAMES:
    case BIOINFER_PARAMS_PATH:
        memcpy(&text, at, sizeof text);
        bi_buf_puts(out, text ? text : "");
        break;
    default:
        bi_buf_printf(out, "%lld", (long long)bi_table_int(at, r->size));
    }
}

static void print_row(struct bi_buf *out, const struct bioinfer_params *p, const struct bi_row *r)
{
    const char *at = p->values + r->offset;
    int n = 1;
    if (r->word && bi_table_int(p->values + r->zero, sizeof n)) {
        bi_buf_puts(out, r->word);
        return;
    }
    if (r->length) {
        const int64_t first = bi_table_int(at, r->size);
        const int64_t length = bi_table_int(p->values + r->length, r->size);
        if (length)
            bi_buf_printf(out, "%lld-%lld", (long long)first, (long long)(first + length - 1));
        return;
    }
    if (r->count) {
        n = (int)bi_table_int(p->values + r->count, sizeof n);
        memcpy(&at, at, sizeof at);
    }
    for (int i = 0; i < n; i++) {
        if (i)
            bi_buf_putc(out, ',');
        print_one(out, r, at + (size_t)i * r->size);
    }
}

int bioinfer_params_text(const bioinfer_params *params, const char *name, bioinfer_write write,
                         void *user, struct bioinfer_error *err)
{
    struct bi_buf out = {0};
    const struct bi_row *r = NULL;
    int st = 0;
    if (!params || !write)
        return bi_fail(err, BIOINFER_INVALID, "params and write must be given");
    if (name && !(r = find_row(params, name)))
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s has no parameter '%.60s'", params->table->task,
                       name);
    out.env = &params->env;
    if (r)
        print_row(&out, params, r);
    for (size_t i = 0; !r && i < params->table->n_rows; i++)
        if (params->given >> i & 1) {
            bi_buf_printf(&out, "%s=", params->table->rows[i].name);
            print_row(&out, params, &params->table->rows[i]);
            bi_buf_putc(&out, '\n');
        }
    if (out.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "params");
    else if (out.size && write(user, out.data, out.size))
        st = bi_fail(err, BIOINFER_IO, "params: the caller takes no text");
    bi_buf_free(&out);
    return st;
}

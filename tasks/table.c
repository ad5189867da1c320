/* table.c - the tables of parameters, and the bounds of members. */
#include "table.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "align_params.h"

#define KIND(kind) BIOINFER_PARAMS_##kind
#define COMMAND BIOINFER_PARAMS_COMMAND
#define REQUEST BIOINFER_PARAMS_REQUEST
#define SERVE BIOINFER_PARAMS_SERVE
#define PYTHON BIOINFER_PARAMS_PYTHON
#define AT(member) offsetof(STRUCT, member)
#define PARAM(member, kind, name, value, ...)                                                      \
    {#member,                                                                                      \
     KIND(kind),                                                                                   \
     name,                                                                                         \
     value,                                                                                        \
     offsetof(STRUCT, member),                                                                     \
     sizeof((STRUCT *)0)->member,                                                                  \
     _Generic(((STRUCT *)0)->member, uint64_t: true, default: false),                              \
     __VA_ARGS__},
#define PARAM_LIST(member, counter, kind, name, value, ...)                                        \
    {#member,                                                                                      \
     KIND(kind),                                                                                   \
     name,                                                                                         \
     value,                                                                                        \
     offsetof(STRUCT, member),                                                                     \
     sizeof *((STRUCT *)0)->member,                                                                \
     .count = offsetof(STRUCT, counter),                                                           \
     __VA_ARGS__},

#define PARAM_RANGE(first, n, name, value, ...)                                                    \
    {name,                                                                                         \
     KIND(RANGE),                                                                                  \
     name,                                                                                         \
     value,                                                                                        \
     offsetof(STRUCT, first),                                                                      \
     sizeof((STRUCT *)0)->first,                                                                   \
     .length = offsetof(STRUCT, n),                                                                \
     __VA_ARGS__},
#define NO_ROW(...)    /* members that no text sets */
#define ROW_ALONE(...) /* rows that no member has as they are */

#include "tasks/tables.h" /* the rows of each task, <task>_rows[] */

#define OPEN(task, of, other)                                                                      \
    _Static_assert(BI_COUNT(task##_rows) <= BI_MOST_ROWS, "no task has more rows");                \
    static int open_##task(bioinfer_task **out, bioinfer_context *ctx,                             \
                           const bioinfer_model *model, const void *params,                        \
                           struct bioinfer_error *err)                                             \
    {                                                                                              \
        (void)other;                                                                               \
        return bioinfer_##task##_open(out, of, params, err);                                       \
    }
#define TASK(task, takers) OPEN(task, model, ctx)
#define DIRECT(task, takers) OPEN(task, ctx, model)
#define SETTLED(task, takers) DIRECT(task, takers)
#include "tasks.inc"

#define ALL (COMMAND | REQUEST | SERVE | PYTHON)
#define TABLE(task, type, takers, ...)                                                             \
    {#task,                                                                                        \
     sizeof(type),                                                                                 \
     sizeof(struct bioinfer_##task##_params),                                                      \
     BI_COUNT(task##_rows),                                                                        \
     task##_rows,                                                                                  \
     takers,                                                                                       \
     open_##task,                                                                                  \
     __VA_ARGS__},
#define TASK(task, takers) TABLE(task, struct bioinfer_##task##_params, takers, NULL, NULL)
#define DIRECT(task, takers) TASK(task, takers)
#define SETTLED(task, takers)                                                                      \
    TABLE(task, struct bi_##task##_given, takers, bi_##task##_settle, bi_##task##_check)
static const struct bi_params_table tables[] = {
#include "tasks.inc"
};

const struct bi_params_table *bi_table_find(const char *task)
{
    for (size_t i = 0; task && i < BI_COUNT(tables); i++)
        if (!strcmp(tables[i].task, task))
            return &tables[i];
    return NULL;
}

bool bi_table_word(const char **at, int *place, const char **word, size_t *n, int *number)
{
    const size_t whole = strcspn(*at, "|");
    if (!whole)
        return false;
    *word = *at;
    *n = strcspn(*at, "|=");
    *number = *n < whole ? (int)strtol(*at + *n + 1, NULL, 10) : *place;
    ++*place;
    *at += whole + ((*at)[whole] == '|');
    return true;
}

int64_t bi_table_int(const char *at, size_t size)
{
    int64_t wide;
    int narrow;
    memcpy(size == sizeof narrow ? (void *)&narrow : (void *)&wide, at, size);
    return size == sizeof narrow ? narrow : wide;
}

/* ---- bounds of members ---- */

/* Is the number one of the words, or made of bits of them? */
static bool is_known(const struct bi_row *r, int64_t value)
{
    const char *at = r->choices, *word;
    int64_t bits = 0;
    size_t n;
    int number;
    for (int place = 0; bi_table_word(&at, &place, &word, &n, &number);) {
        if (r->kind == BIOINFER_PARAMS_CHOICE && number == value)
            return true;
        bits |= (int64_t)1 << (number & 63);
    }
    return r->kind == BIOINFER_PARAMS_BITS && !(value & ~bits);
}

static int check_value(const struct bi_row *r, const char *task, const char *at,
                       struct bioinfer_error *err)
{
    double real = 0;
    int64_t value;
    switch (r->kind) {
    case BIOINFER_PARAMS_REAL:
        memcpy(&real, at, sizeof real);
        if (real == 0 || (real >= r->least && real <= r->most))
            return 0;
        return bi_fail(err, BIOINFER_INVALID, "%s params: %s is %g, expected %g to %g", task,
                       r->member, real, r->least, r->most);
    case BIOINFER_PARAMS_CHOICE:
    case BIOINFER_PARAMS_BITS:
        value = bi_table_int(at, r->size);
        if (!value || is_known(r, value))
            return 0;
        return bi_fail(err, BIOINFER_INVALID, "%s params: %s is %lld, expected numbers of %s", task,
                       r->member, (long long)value, r->choices);
    case BIOINFER_PARAMS_INT:
        value = bi_table_int(at, r->size);
        if (!value || (r->is_unsigned && value < 0) ||
            ((double)value >= r->least && (double)value <= r->most))
            return 0;
        return bi_fail(err, BIOINFER_INVALID, "%s params: %s is %lld, expected %.0f to %.0f", task,
                       r->member, (long long)value, r->least, r->most);
    default:
        return 0; /* a flag is any number; texts and files are read by the task */
    }
}

static int check_row(const struct bi_row *r, const char *task, const char *values,
                     struct bioinfer_error *err)
{
    const char *at = values + r->offset;
    int64_t n = 1;
    int st = 0;
    if (r->count) {
        n = bi_table_int(values + r->count, sizeof(int));
        memcpy(&at, at, sizeof at);
        if (n < 0 || (n && !at))
            return bi_fail(err, BIOINFER_INVALID, "%s params: %s: %lld values%s", task, r->member,
                           (long long)n, n < 0 ? "" : " at NULL");
    }
    for (int64_t i = 0; i < n && !st; i++)
        st = check_value(r, task, at + (size_t)i * r->size, err);
    return st;
}

int bi_params_take(void *dst, size_t size, const void *src, const char *task,
                   struct bioinfer_error *err)
{
    const struct bi_params_table *t;
    char what[40];
    int st;
    snprintf(what, sizeof what, "%.30s params", task);
    t = bi_table_find(task);
    st = bi_params_copy(dst, size, src, what, err);
    for (size_t i = 0; t && !t->settle && i < t->n_rows && !st; i++)
        st = check_row(&t->rows[i], task, dst, err);
    return st;
}

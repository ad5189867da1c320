/* table.h - tables of parameters: a row of tasks/<task>.inc for each. */
#ifndef BI_TASKS_TABLE_H
#define BI_TASKS_TABLE_H

#include "../engine/engine.h"

/* A row. What it does not name is zero: no list, no bounds, no words. */
struct bi_row {
    const char *member;
    enum bioinfer_params_kind kind;
    const char *name, *value;
    size_t offset, size; /* the member, or an element of the list that it points to */
    bool is_unsigned;    /* it is a uint64_t */
    size_t count;        /* the int that counts a list; 0 = no list */
    double least, most;
    const char *choices, *otherwise, *unit, *help;
    const char *word; /* a word that is set in place of a file, at `zero` */
    size_t zero;      /* the int that says so, or that a number is 0; 0 = none does */
    size_t length;    /* the int64_t that has the length of a range */
    int number;       /* a flag that is true sets this; 0 = 1 */
    unsigned takers;
};

struct bi_params_table {
    const char *task;
    size_t size, params_size; /* bytes that rows set, and of the task's struct, which is first */
    size_t n_rows;
    const struct bi_row *rows;
    unsigned takers; /* ways to the task; rows that tasks share may name more */
    int (*open)(bioinfer_task **out, bioinfer_context *ctx, const bioinfer_model *model,
                const void *params, struct bioinfer_error *err);
    void (*settle)(void *values); /* makes the struct; NULL: the rows set it itself */
    int (*check)(const void *values, struct bioinfer_error *err); /* all values together */
};

enum { BI_MOST_ROWS = 64 }; /* bits of what was given */

/* The table of a task; NULL where there is none. */
const struct bi_params_table *bi_table_find(const char *task);
/* The words of "a|b|c" in turn, moved on: false past the last one. *number is the place of the
 * word, or the number after its '='. */
bool bi_table_word(const char **at, int *place, const char **word, size_t *n, int *number);
/* The value of a member, or of an element of a list, that is an int or an int64_t. */
int64_t bi_table_int(const char *at, size_t size);
/* Copies a caller's struct as bi_params_copy() does, and refuses members outside the bounds of
 * their rows: INVALID. A number that is 0 stands for its default. */
int bi_params_take(void *dst, size_t size, const void *src, const char *task,
                   struct bioinfer_error *err);

#endif

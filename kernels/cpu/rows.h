/* rows.h - tasks of kernels whose rows do not know each other: so many rows that a task is
 * about TASK_FLOATS numbers. */
#ifndef BI_CPU_ROWS_H
#define BI_CPU_ROWS_H

#include "../counts.h"
#include "simd.h"

enum { TASK_FLOATS = 16384 };

/* Rows of this width that a task takes, at least 1; a width below 1 counts as 1. */
BI_INLINE int64_t rows_per_task(int64_t width)
{
    return width < TASK_FLOATS ? TASK_FLOATS / (width > 0 ? width : 1) : 1;
}

/* Tasks that so many rows are cut into; 0 for none. */
BI_INLINE int64_t row_tasks(int64_t rows, int64_t width)
{
    const int64_t n = rows_per_task(width);
    return (rows + n - 1) / n;
}

/* Rows [first, end). */
struct rows {
    int64_t first, end;
};

/* The rows [first, end) of a task, which is below row_tasks(); end is at most `rows`. */
BI_INLINE struct rows task_rows(int64_t task, int64_t rows, int64_t width)
{
    const int64_t n = rows_per_task(width), end = (task + 1) * n;
    return (struct rows){task * n, end < rows ? end : rows};
}

/* How many lanes of the vector that begins at column c, below width, lie in the row: 1 to VW. */
BI_INLINE int lanes(int c, int width)
{
    return width - c < VW ? width - c : VW;
}

/* The _tasks of an entry whose params have counts, axis, rows and width. */
#define ROW_TASKS(name)                                                                            \
    int64_t BI_ISA_NAME(name##_tasks)(const void *params, int n_threads)                           \
    {                                                                                              \
        const struct bi_##name##_params *p = params;                                               \
        (void)n_threads;                                                                           \
        return row_tasks(bi_live_rows(p->counts, p->axis, p->rows), p->width);                     \
    }

#endif

/* units.h - the units of what outputs hold: arrays by their kinds, columns of tables by the task.
 * One table; writers, the command and reports read it. Needs libc alone. */
#ifndef BI_UNITS_H
#define BI_UNITS_H

#include <stddef.h>

/* '@' in a unit stands for the unit of energy that was asked for. */
struct bi_unit_name {
    const char *task; /* whose table it is; "" = an array */
    const char *name; /* names the kind, or the column */
    const char *unit;
};

/* All of them, *n in number. */
const struct bi_unit_name *bi_units(size_t *n);
/* The unit of a kind of array; NULL: a plain number, or an unknown kind. */
const char *bi_unit_of_kind(const char *kind);

#endif

/* number.h - numbers to text and back, whatever the process's locale. */
#ifndef BI_NUMBER_H
#define BI_NUMBER_H

#include "base.h"

enum { BI_NUMBER_SIZE = 32 }; /* room that every function below is content with */

/* The shortest decimal that reads back to the same float32; of several the nearest.
 * Written plainly ("-0.0625", "0", "-0.0", "150000") for 1e-6 <= |x| < 1e10, else as
 * "1.5e-07". NaN is "NaN", infinities are "inf" and "-inf". Returns the length;
 * NUL-terminated. */
size_t bi_print_f32(char *dst, float x);
/* The same for a double, with the fewest of 15, 16 or 17 digits that read back equal.
 */
size_t bi_print_f64(char *dst, double x);
/* The same as printf's "%.9g", which reads back to the same float32; NaN is "nan". */
size_t bi_print_g9(char *dst, float x);
/* text[0, n) as a whole is one number ("-1.5e3", "+1", ".5", "5."; no spaces, no "nan" or "inf", no
 * hex): true, *out the nearest double, ties to even; beyond the range infinity, too small a zero,
 * with its sign. False, as for n 0: *out is untouched. */
bool bi_parse_f64(const char *text, size_t n, double *out);

#endif

/* text.h - text of outputs: UTF-8, JSON strings, base64, fields of tables. */
#ifndef BI_TEXT_H
#define BI_TEXT_H

#include "../base/buf.h"

/* Bytes of the well-formed UTF-8 character at text[0] (n > 0 bytes are there), 0 = none, or one
 * that is cut off. A NUL is one of 1 byte. */
size_t bi_utf8_char(const char *text, size_t n);
/* Says whether a NUL-terminated text of any length is well-formed; "" is. */
bool bi_utf8_valid(const char *text);
/* Each bi_put_...() appends; out->failed is set where there is no memory.
 * text with every ill-formed byte as U+FFFD. */
void bi_put_utf8(struct bi_buf *out, const char *text);
/* A JSON string with its quotes; ill-formed bytes become U+FFFD, control bytes and DEL \u00XX. */
void bi_put_json(struct bi_buf *out, const char *text);
/* Base64 of n bytes, padded with '=', without line ends; nothing of 0 bytes. */
void bi_put_base64(struct bi_buf *out, const void *bytes, size_t n);
/* A field of a table: tab, CR, LF and other control bytes, DEL too, become a space each; the rest
 * stays as it is, ill-formed or not. */
void bi_put_field(struct bi_buf *out, const char *text);
/* The number in decimal digits. */
void bi_put_u64(struct bi_buf *out, uint64_t n);
/* NaN and infinity as JSON has them: null. */
void bi_put_json_f32(struct bi_buf *out, float x);
/* The values of an array, nested by its shape. */
void bi_put_json_nested(struct bi_buf *out, const struct bioinfer_array *a);
/* As bi_print_f32(), NaN and infinity as words. */
void bi_put_f32(struct bi_buf *out, float x);
/* The cells of the last line of a table's head, which has tabs between them. */
int bi_count_cells(const char *head);
/* The rows of a result as lines of n_cells cells with tabs between: its columns, and where there
 * are more cells its status and the numbers of its arrays, which are empty without a result. A
 * missing whole number is empty, another one "nan"; tabs and line ends of a text become spaces. */
void bi_put_lines(struct bi_buf *out, const struct bioinfer_result *r, int n_cells);

#endif

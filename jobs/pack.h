/* pack.h - a result as bytes, for journals and between processes.
 *
 * All little-endian; the whole and its float data start at multiples of 8:
 *    0 u64 size of all    8 u64 size of the head   16 u64 ordinal    24 i64 length
 *   32 i32 status  36 u32 arrays   40 i32 layers kept   44 i32 kinds   48 u32 size of texts
 *   52 u32 1 = it has labels, 2 = more pieces follow, 4 = the 8 bytes of a piece are there,
 *      8 = it has columns of rows
 *   56 arrays of 48 bytes: i32 layer, i32 dimensions, i64 shape[4], u32 where its kind
 *      starts in the texts, u32 0
 *      of a piece, or of a result with texts of its own: u32 number of the piece, u32 own texts;
 *      own texts of 16 bytes: u64 size, u32 where its name starts in the texts, u32 0
 *      of columns: i64 rows, u32 number of columns, u32 0; columns of 16 bytes: u32 type, u32 where
 *      its name starts in the texts, u64 bytes of its texts
 *      texts, each with a NUL: id, description, message, labels if there are any, kinds, names of
 *      own texts, names of columns; zeros up to a multiple of 8
 *      data of the arrays, then the own texts, one after the other; zeros up to a multiple of 8
 *      of each column its data and the bytes of its texts, each with zeros up to a multiple of 8
 * A result that is one piece of arrays has the bytes that it had before there were others. */
#ifndef BI_PACK_H
#define BI_PACK_H

#include "../base/base.h"

/* Bytes that say what an array is, a text, a column. */
enum { BI_PACK_ARRAY = 48, BI_PACK_TEXT = 16, BI_PACK_COLUMN = 16 };

/* Bytes of a packed result, a multiple of 8; 0 when it has shapes or texts no result can have. The
 * id is not NULL; description and message may be, and come back as "". */
uint64_t bi_pack_size(const struct bioinfer_result *r);
/* Hands out the bytes piece by piece; a non-zero return of `write` stops with it, and is returned
 * without words in *err. INVALID: the size would be 0, and nothing was handed out. Other fields
 * (sequence, changed, design, alignment, affinity, energy) are left out. */
int bi_pack(const struct bioinfer_result *r,
            int (*write)(void *user, const void *bytes, size_t size), void *user,
            struct bioinfer_error *err);
/* Room for what bi_unpack() finds. */
struct bi_unpacked {
    struct bioinfer_array *arrays;
    struct bioinfer_text *texts;
    int n_arrays, n_texts; /* that fit */
    struct bioinfer_column *columns;
    int n_columns;
};
/* Counts in room->n_... what the bytes say they hold, no more than that many bytes could; 0 for
 * less than a head. Nothing else is checked; room for as many is enough for bi_unpack(). */
void bi_pack_count(const void *bytes, uint64_t size, struct bi_unpacked *room);
/* Fills *r with pointers into bytes[0, size), which may come from anywhere and start at a multiple
 * of 8; r is good as long as they and what `room` points to are. Fields that are not
 * packed are NULL. FORMAT when the bytes contradict themselves, are more or fewer than they say, or
 * there is no room; neither *r nor what `room` holds is to be read then. */
int bi_unpack(struct bioinfer_result *r, const struct bi_unpacked *room, const void *bytes,
              uint64_t size, struct bioinfer_error *err);

#endif

/* square.h - a matrix of all pairs, of the tiles that a journal holds.
 *
 * Tiles are the records of a job. Of two files they go row of tiles by row of tiles; of one file a
 * row begins with the tile on the diagonal, and the output takes what lies below it from the tiles
 * above, so that nothing is computed twice. The output grows by rows: in memory is one row of
 * tiles. */
#ifndef BI_SQUARE_H
#define BI_SQUARE_H

#include "../base/arena.h"
#include "../base/buf.h"
#include "../writers/writer.h"

/* As struct bioinfer_square. */
struct bi_square {
    char kind[16], format[8];
    uint64_t n_rows, n_columns, tile_rows, tile_columns;
    bool one_file, lower, strict_names;
    int scale;
};

enum { BI_SQUARE_TILE = 1 << 20 }; /* values of a tile, at most: job.json decides no memory */

/* Checks the numbers and names of a matrix: 0, or INVALID. */
int bi_square_take(struct bi_square *q, const struct bioinfer_square *from,
                   struct bioinfer_error *err);
/* A matrix as a line of text, for job.json, in the arena; NULL: no memory. */
const char *bi_square_text(const struct bi_square *q, struct bi_arena *arena);
/* Reads such a line, which may come from anywhere. FORMAT: it describes no matrix; MISMATCH: one
 * with another number of tiles than the job `name` has records. */
int bi_square_parse(struct bi_square *q, const char *text, uint64_t n_records, const char *name,
                    struct bioinfer_error *err);

/* Has the matrix written in another format: 0, or INVALID where that cannot hold it. */
int bi_square_set_format(struct bi_square *q, const char *format, const char *path,
                         struct bioinfer_error *err);

/* Opens a writer for the output of the matrix, which is not started: as bi_writer_new(). params
 * have what else the format takes. */
int bi_square_writer(struct bioinfer_writer **out, const struct bi_square *q,
                     const struct bi_env *env, const char *path,
                     const struct bioinfer_writer_params *params, struct bioinfer_error *err);
/* Puts the content of a tile in place of what is in *bytes: names of its rows, then of its columns,
 * each with a NUL, then its values as doubles, row by row; values may be missing altogether. */
typedef int (*bi_square_read)(void *user, uint64_t tile, struct bi_buf *bytes,
                              struct bioinfer_error *err);
/* Writes all rows to a writer that was started; path: the output's name in messages. FORMAT: a tile
 * has other names or numbers than the matrix says; OUT_OF_RANGE: the output holds 32 bits, and a
 * score does not fit. */
int bi_square_write(const struct bi_square *q, const char *path, struct bioinfer_writer *writer,
                    bi_square_read read, void *user, struct bioinfer_error *err);

#endif

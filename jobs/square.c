/* square.c - a matrix of all pairs, of the tiles that a journal holds. */
#include "square.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../writers/text.h"

enum { STRICT_NAME = 10 }; /* columns of a name in PHYLIP as its own programs read it */

/* ---- what a matrix is ---- */

static bool is_sound(const struct bi_square *q)
{
    static const char *const formats[] = {"tsv", "phylip", "npz"};
    bool known = false;
    for (size_t i = 0; i < BI_COUNT(formats); i++)
        known |= !strcmp(q->format, formats[i]);
    if (!known || !*q->kind || strcspn(q->kind, " \t\n") != strlen(q->kind))
        return false;
    if (!q->n_rows || !q->n_columns || !q->tile_rows || !q->tile_columns ||
        q->tile_rows > BI_SQUARE_TILE || q->tile_columns > BI_SQUARE_TILE / q->tile_rows ||
        q->scale < 1 || 1000 % q->scale)
        return false;
    if (q->one_file)
        return q->n_rows == q->n_columns && q->tile_rows == q->tile_columns &&
               !(q->lower && !strcmp(q->format, "npz"));
    return !q->lower && strcmp(q->format, "phylip");
}

int bi_square_take(struct bi_square *q, const struct bioinfer_square *from,
                   struct bioinfer_error *err)
{
    *q = (struct bi_square){.n_rows = from->n_rows,
                            .n_columns = from->n_columns,
                            .tile_rows = from->tile_rows,
                            .tile_columns = from->tile_columns,
                            .one_file = from->one_file,
                            .lower = from->lower,
                            .strict_names = from->strict_names,
                            .scale = from->scale};
    if (from->kind && from->format && strlen(from->kind) < sizeof q->kind &&
        strlen(from->format) < sizeof q->format) {
        snprintf(q->kind, sizeof q->kind, "%s", from->kind);
        snprintf(q->format, sizeof q->format, "%s", from->format);
        if (is_sound(q))
            return 0;
    }
    return bi_fail(err, BIOINFER_INVALID,
                   "job: a matrix '%.20s' of %" PRIu64 " x %" PRIu64 " as '%.20s', in tiles of "
                   "%" PRIu64 " x %" PRIu64 ", scale %d, is none",
                   from->kind ? from->kind : "", from->n_rows, from->n_columns,
                   from->format ? from->format : "", from->tile_rows, from->tile_columns,
                   from->scale);
}

const char *bi_square_text(const struct bi_square *q, struct bi_arena *arena)
{
    return bi_arena_printf(arena,
                           "%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d %d %d",
                           q->kind, q->format, q->n_rows, q->n_columns, q->tile_rows,
                           q->tile_columns, q->one_file, q->lower, q->strict_names, q->scale);
}

int bi_square_set_format(struct bi_square *q, const char *format, const char *path,
                         struct bioinfer_error *err)
{
    struct bi_square other = *q;
    if (strlen(format) < sizeof other.format) {
        snprintf(other.format, sizeof other.format, "%s", format);
        if (is_sound(&other)) {
            *q = other;
            return 0;
        }
    }
    return bi_fail(err, BIOINFER_INVALID,
                   "%s: the parts hold a matrix, %s, which %.20s cannot hold", path, q->kind,
                   format);
}

static uint64_t count_tiles(uint64_t n, uint64_t of)
{
    return n / of + (n % of != 0);
}

static uint64_t all_tiles(const struct bi_square *q)
{
    const uint64_t down = count_tiles(q->n_rows, q->tile_rows);
    const uint64_t across = count_tiles(q->n_columns, q->tile_columns);
    if (down > UINT32_MAX || across > UINT32_MAX)
        return UINT64_MAX; /* no job has so many */
    return q->one_file ? down * (down + 1) / 2 : down * across;
}

int bi_square_parse(struct bi_square *q, const char *text, uint64_t n_records, const char *name,
                    struct bioinfer_error *err)
{
    int flags[3], end = 0;
    *q = (struct bi_square){0};
    if (sscanf(text, "%15s %7s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %d %d %d %d%n",
               q->kind, q->format, &q->n_rows, &q->n_columns, &q->tile_rows, &q->tile_columns,
               &flags[0], &flags[1], &flags[2], &q->scale, &end) != 10 ||
        text[end])
        return bi_fail(err, BIOINFER_FORMAT, "%s: job.json: '%.60s' is no matrix", name, text);
    q->one_file = flags[0];
    q->lower = flags[1];
    q->strict_names = flags[2];
    if (!is_sound(q))
        return bi_fail(err, BIOINFER_FORMAT, "%s: job.json: '%.60s' is no matrix", name, text);
    if (all_tiles(q) == n_records)
        return 0;
    return bi_fail(err, BIOINFER_MISMATCH,
                   "%s: %" PRIu64 " records, expected %" PRIu64 ", as many as the matrix has tiles",
                   name, n_records, all_tiles(q));
}

/* The number of the tile in row i and column j of tiles; of one file i <= j. */
static uint64_t tile_at(const struct bi_square *q, uint64_t i, uint64_t j)
{
    const uint64_t across = count_tiles(q->n_columns, q->tile_columns);
    return q->one_file ? i * across - i * (i + 1) / 2 + j : i * across + j;
}

static uint64_t rows_of(const struct bi_square *q, uint64_t i)
{
    const uint64_t left = q->n_rows - i * q->tile_rows;
    return left < q->tile_rows ? left : q->tile_rows;
}

static uint64_t columns_of(const struct bi_square *q, uint64_t j)
{
    const uint64_t left = q->n_columns - j * q->tile_columns;
    return left < q->tile_columns ? left : q->tile_columns;
}

/* ---- rows ---- */

struct square {
    const struct bi_square *q;
    const char *path;
    struct bioinfer_writer *writer;
    bi_square_read read;
    void *user;
    struct bi_buf bytes; /* a tile */
    double *cells;       /* [tile_rows][n_columns]: a row of tiles */
    float *row;          /* a row of npz */
    struct bi_buf names; /* names of these rows */
    struct bi_buf text;
    uint64_t n_put;
};

static int no_memory(const struct square *s, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "%s: %" PRIu64 " columns of a matrix", s->path,
                   s->q->n_columns);
}

static double value_at(const char *values, uint64_t k)
{
    double value = NAN;
    if (values)
        memcpy(&value, values + k * sizeof value, sizeof value);
    return value;
}

/* Whether all n values are of the matrix's kind. */
static int check_values(const struct square *s, uint64_t tile, const char *values, uint64_t n,
                        struct bioinfer_error *err)
{
    const bool score = !strcmp(s->q->kind, "score");
    for (uint64_t k = 0; k < n; k++) {
        const double v = value_at(values, k);
        if (!isnan(v) && !(score ? fabs(v) <= 0x1p53 && v == trunc(v) : v >= 0 && v <= 1))
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: tile %" PRIu64 " of the matrix has the value %g, expected %s",
                           s->path, tile, v, score ? "a whole number" : "one from 0 to 1");
    }
    return 0;
}

/* Reads the tile in row i and column j of tiles: *columns is where the names of its columns begin,
 * *values where its numbers do, NULL = it has none. */
static int read_tile(struct square *s, uint64_t i, uint64_t j, const char **columns,
                     const char **values, struct bioinfer_error *err)
{
    const struct bi_square *q = s->q;
    const uint64_t rows = rows_of(q, i), across = columns_of(q, j), tile = tile_at(q, i, j);
    const uint64_t n = q->one_file && i == j ? rows * (rows + 1) / 2 : rows * across;
    const char *at, *end;
    const int st = s->read(s->user, tile, &s->bytes, err);
    if (st)
        return st;
    at = s->bytes.size ? s->bytes.data : "";
    end = at + s->bytes.size;
    *columns = at;
    for (uint64_t k = 0; k < rows + across && at; k++) {
        const char *nul = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        at = nul ? nul + 1 : NULL;
        if (k + 1 == rows)
            *columns = at;
    }
    if (!at || (at != end && (uint64_t)(end - at) != n * sizeof(double)))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: tile %" PRIu64 " of the matrix has %zu bytes, expected %" PRIu64
                       " names and as many values",
                       s->path, tile, s->bytes.size, rows + across);
    *values = at == end ? NULL : at;
    return *values ? check_values(s, tile, *values, n, err) : 0;
}

/* Fills the cells of row i of tiles that column j of tiles has. */
static int fill(struct square *s, uint64_t i, uint64_t j, struct bioinfer_error *err)
{
    const struct bi_square *q = s->q;
    const bool mirrored = q->one_file && j < i, diagonal = q->one_file && i == j;
    const uint64_t rows = rows_of(q, i), across = columns_of(q, j), n = q->n_columns;
    const char *columns, *values;
    double *cells = s->cells + j * q->tile_columns;
    uint64_t k = 0;
    int st;
    if ((st = read_tile(s, mirrored ? j : i, mirrored ? i : j, &columns, &values, err)))
        return st;
    if (j == (q->one_file ? i : 0)) {
        s->names.size = 0;
        bi_buf_append(&s->names, s->bytes.data, (size_t)(columns - s->bytes.data));
    }
    if (mirrored)
        for (uint64_t b = 0; b < across; b++)
            for (uint64_t a = 0; a < rows; a++)
                cells[a * n + b] = value_at(values, k++);
    else
        for (uint64_t a = 0; a < rows; a++)
            for (uint64_t b = diagonal ? a : 0; b < across; b++) {
                cells[a * n + b] = value_at(values, k++);
                if (diagonal)
                    cells[b * n + a] = cells[a * n + b];
            }
    return 0;
}

/* Points, with as many decimals as they have, at most three: scale divides 1000. */
static void put_score(struct bi_buf *out, int64_t score, int64_t scale)
{
    const uint64_t size = score < 0 ? 0 - (uint64_t)score : (uint64_t)score;
    const uint64_t of = (uint64_t)scale, most = 9999999;
    uint64_t rest = size % of * (1000 / of);
    char decimals[] = ".000";
    size_t n = sizeof decimals - 1;
    if (rest && size / of > most) {
        bi_buf_printf(out, "%.10g", (double)score / (double)scale);
        return;
    }
    if (score < 0)
        bi_buf_putc(out, '-');
    bi_put_u64(out, size / of);
    for (int k = 3; k; k--, rest /= 10)
        decimals[k] = (char)('0' + rest % 10);
    while (n > 1 && decimals[n - 1] == '0')
        n--;
    if (n > 1)
        bi_buf_append(out, decimals, n);
}

static void put_value(const struct bi_square *q, struct bi_buf *out, double value)
{
    char text[] = "0.000000";
    long millionths;
    if (isnan(value)) {
        bi_buf_puts(out, "nan");
        return;
    }
    if (!strcmp(q->kind, "score")) {
        put_score(out, (int64_t)value, q->scale);
        return;
    }
    millionths = lround(value * 1e6); /* from 0 to 1 */
    text[0] = (char)('0' + millionths / 1000000);
    for (size_t k = sizeof text - 2; k > 1; k--, millionths /= 10)
        text[k] = (char)('0' + millionths % 10);
    bi_buf_append(out, text, sizeof text - 1);
}

static int put_text(struct square *s, struct bioinfer_error *err)
{
    const struct bioinfer_text text = {"text", s->text.data, s->text.size};
    const struct bioinfer_result r = {
        .ordinal = s->n_put++, .id = "", .message = "", .n_texts = 1, .texts = &text};
    const int st = s->text.failed ? no_memory(s, err) : bi_writer_put(s->writer, &r, err);
    s->text.size = 0;
    return st;
}

/* Row `row` of the matrix as text, from column 0 on. */
static int put_line(struct square *s, uint64_t row, const double *cells, const char *name,
                    struct bioinfer_error *err)
{
    const struct bi_square *q = s->q;
    const bool phylip = !strcmp(q->format, "phylip");
    const uint64_t n = q->lower ? row : q->n_columns;
    if (phylip && q->strict_names && strlen(name) > STRICT_NAME)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: record %.300s: strict PHYLIP has names of up to %d characters", s->path,
                       name, STRICT_NAME);
    if (phylip && q->strict_names)
        bi_buf_printf(&s->text, "%-*s", STRICT_NAME, name);
    else
        bi_put_field(&s->text, name);
    for (uint64_t k = 0; k < n; k++) {
        bi_buf_putc(&s->text, phylip ? ' ' : '\t');
        put_value(q, &s->text, cells[k]);
    }
    bi_buf_putc(&s->text, '\n');
    return put_text(s, err);
}

/* The same in 32 bits. */
static int put_array(struct square *s, uint64_t row, const double *cells, const char *name,
                     struct bioinfer_error *err)
{
    const struct bi_square *q = s->q;
    const bool score = !strcmp(q->kind, "score");
    const struct bioinfer_array array = {
        .kind = q->kind, .n_dims = 1, .shape = {(int64_t)q->n_columns}, .data = s->row};
    const struct bioinfer_result r = {
        .ordinal = row, .id = name, .message = "", .n_arrays = 1, .n_kinds = 1, .arrays = &array};
    for (uint64_t k = 0; k < q->n_columns; k++) {
        if (score && fabs(cells[k]) > 0x1p24)
            return bi_fail(err, BIOINFER_OUT_OF_RANGE,
                           "%s: record %.100s has scores above 2^24, which npz does not hold "
                           "exactly; tsv does",
                           s->path, name);
        s->row[k] = (float)(score ? cells[k] / q->scale : cells[k]);
    }
    return bi_writer_put(s->writer, &r, err);
}

/* The lines above the rows: in tsv the names of the columns, in phylip the number of rows. */
static int put_head(struct square *s, struct bioinfer_error *err)
{
    const struct bi_square *q = s->q;
    const char *columns, *values;
    int st;
    if (!strcmp(q->format, "phylip")) {
        bi_buf_printf(&s->text, "%5" PRIu64 "\n", q->n_rows);
        return put_text(s, err);
    }
    for (uint64_t j = 0; j * q->tile_columns < q->n_columns; j++) {
        if ((st = read_tile(s, q->one_file ? j : 0, j, &columns, &values, err)))
            return st;
        for (uint64_t k = 0; k < columns_of(q, j); k++, columns += strlen(columns) + 1) {
            bi_buf_putc(&s->text, '\t');
            bi_put_field(&s->text, columns);
        }
        if ((st = put_text(s, err)))
            return st;
    }
    bi_buf_putc(&s->text, '\n');
    return put_text(s, err);
}

static int put_rows(struct square *s, struct bioinfer_error *err)
{
    const struct bi_square *q = s->q;
    const bool arrays = !strcmp(q->format, "npz");
    int st = arrays ? 0 : put_head(s, err);
    for (uint64_t i = 0; i * q->tile_rows < q->n_rows && !st; i++) {
        const char *name;
        for (uint64_t j = 0; j * q->tile_columns < q->n_columns && !st && !(q->lower && j > i); j++)
            st = fill(s, i, j, err);
        if (!st && !(name = bi_buf_text(&s->names)))
            st = no_memory(s, err);
        for (uint64_t a = 0; a < rows_of(q, i) && !st; a++, name += strlen(name) + 1)
            st = (arrays ? put_array : put_line)(s, i * q->tile_rows + a,
                                                 s->cells + a * q->n_columns, name, err);
    }
    return st;
}

/* ---- the output ---- */

int bi_square_writer(struct bioinfer_writer **out, const struct bi_square *q,
                     const struct bi_env *env, const char *path,
                     const struct bioinfer_writer_params *params, struct bioinfer_error *err)
{
    struct bioinfer_writer_params of = *params;
    if (strcmp(q->format, "npz"))
        return bi_writer_of_texts(out, env, path, "", NULL, err);
    of.format = q->format;
    of.layout = "matrix";
    of.matrix_name = q->kind;
    return bi_writer_new(out, env, path, &of, err);
}

int bi_square_write(const struct bi_square *q, const char *path, struct bioinfer_writer *writer,
                    bi_square_read read, void *user, struct bioinfer_error *err)
{
    const struct bi_env *env = writer->env;
    const uint64_t rows = q->tile_rows < q->n_rows ? q->tile_rows : q->n_rows;
    struct square s = {.q = q,
                       .path = path,
                       .writer = writer,
                       .read = read,
                       .user = user,
                       .bytes.env = env,
                       .names.env = env,
                       .text.env = env};
    uint64_t n;
    int st;
    if (bi_mul_size(rows, q->n_columns, &n) && n < SIZE_MAX / sizeof *s.cells) {
        s.cells = bi_alloc(env, (size_t)n * sizeof *s.cells);
        s.row = bi_calloc(env, (size_t)q->n_columns, sizeof *s.row);
    }
    st = s.cells && s.row ? put_rows(&s, err) : no_memory(&s, err);
    bi_free(env, s.cells);
    bi_free(env, s.row);
    bi_buf_free(&s.bytes);
    bi_buf_free(&s.names);
    bi_buf_free(&s.text);
    return st;
}

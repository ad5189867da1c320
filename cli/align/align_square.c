/* align_square.c - a matrix of all pairs: identities, distances or scores.
 *
 * In one file every record meets itself and each one after it; what they give stands on both
 * sides of the diagonal. A pair without a result is nan. Blocks are tiles of the matrix, and a job
 * keeps their values until all are there; the library makes the matrix of them. Where no file is
 * to be written the job has a folder of its own, and the matrix is copied. */
#include "../../base/temp.h"
#include "align.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STRICT_NAME = 10 }; /* characters of a name in PHYLIP as its own programs read it */

/* ---- tiles ---- */

static const double most_cells = 0x1p38; /* that a tile may have: seconds of a core */

static uint64_t at_most(uint64_t n, double limit)
{
    return limit < 1 ? 1 : limit < (double)n ? (uint64_t)limit : n;
}

/* The mean length of records, at least 1. */
static double mean_length(const struct cli_side *side)
{
    double sum = 0;
    for (size_t i = 0; i < side->n; i++)
        sum += (double)side->items[i].length;
    return sum > (double)side->n ? sum / (double)side->n : 1;
}

/* Rows and columns of a tile follow from the input alone: no more pairs and cells than other blocks
 * have, and a row of tiles fits in memory. */
static void cut(struct cli_square *s, uint64_t most_pairs)
{
    enum {
        MEMORY = 1 << 23, /* values of a row of tiles, */
        FEWEST = 32,      /* rows that it has anyway, */
        MOST = 1 << 20    /* values of a tile */
    };
    const double cells = mean_length(&s->rows) * mean_length(&s->columns);
    const uint64_t pairs = at_most(at_most(most_pairs, MOST), most_cells / cells);
    const double fit = (double)MEMORY / (double)s->columns.n;
    struct bioinfer_square *m = &s->matrix;
    m->tile_rows = at_most(at_most(s->rows.n, sqrt((double)pairs)), fit > FEWEST ? fit : FEWEST);
    m->tile_columns = m->one_file ? m->tile_rows
                                  : at_most(s->columns.n, (double)(pairs / m->tile_rows));
    s->n_down = (m->n_rows - 1) / m->tile_rows + 1;
    s->n_across = (m->n_columns - 1) / m->tile_columns + 1;
}

/* The place of a tile among rows and columns of tiles. */
static void find_tile(const struct cli_square *s, uint64_t ordinal, uint64_t *i, uint64_t *j)
{
    *i = *j = 0;
    if (!s->matrix.one_file) {
        *i = ordinal / s->n_across;
        *j = ordinal % s->n_across;
        return;
    }
    for (; *i < s->n_across && ordinal >= s->n_across - *i; ++*i)
        ordinal -= s->n_across - *i;
    *j = *i + ordinal;
}

/* Part k of a side, of `size` records, the last one of fewer. */
static struct cli_side part(const struct cli_side *side, uint64_t k, uint64_t size)
{
    const size_t at = (size_t)(k * size), left = side->n - at;
    return (struct cli_side){.items = side->items + at, .n = left < size ? left : (size_t)size};
}

int cli_square_next(struct cli_square *s, struct cli_blocks *blocks, uint64_t ordinal,
                    struct bioinfer_error *err)
{
    const struct bioinfer_square *m = &s->matrix;
    struct cli_block *b = &blocks->block;
    struct cli_side rows, columns;
    uint64_t i, j;
    int st = 0;
    *b = (struct cli_block){.ordinal = ordinal};
    blocks->n_spans = 0;
    find_tile(s, ordinal, &i, &j);
    if (i == s->n_down)
        return 0;
    rows = part(&s->rows, i, m->tile_rows);
    columns = part(&s->columns, j, m->tile_columns);
    for (size_t k = 0; k < rows.n && !st; k++) {
        const size_t from = m->one_file && i == j ? k : 0;
        st = cli_blocks_add(blocks,
                            &(struct cli_span){.query = &rows.items[k],
                                               .target = &columns.items[from],
                                               .n = columns.n - from},
                            err);
        b->n_pairs += columns.n - from;
        for (size_t c = from; c < columns.n; c++) {
            b->residues += rows.items[k].length + columns.items[c].length;
            b->cells += (double)rows.items[k].length * (double)columns.items[c].length;
        }
    }
    snprintf(b->id, sizeof b->id, "%" PRIu64 "-%" PRIu64 ",%" PRIu64 "-%" PRIu64, i * m->tile_rows,
             i * m->tile_rows + rows.n - 1, j * m->tile_columns,
             j * m->tile_columns + columns.n - 1);
    return st ? st : 1;
}

const char *cli_square_names(struct cli_square *s, uint64_t ordinal, size_t *n)
{
    struct cli_side sides[2];
    uint64_t i, j;
    find_tile(s, ordinal, &i, &j);
    sides[0] = part(&s->rows, i, s->matrix.tile_rows);
    sides[1] = part(&s->columns, j, s->matrix.tile_columns);
    s->names.n_text = 0;
    for (int side = 0; side < 2; side++)
        for (size_t k = 0; k < sides[side].n; k++)
            cli_output_write(&s->names, sides[side].items[k].id,
                             strlen(sides[side].items[k].id) + 1);
    *n = s->names.n_text;
    return s->names.status ? NULL : s->names.text;
}

/* Hashes of all parts of a side. */
static bool hash_parts(const struct cli_side *side, uint64_t size, uint64_t n, uint64_t **hashes)
{
    if (!(*hashes = calloc(n, sizeof **hashes)))
        return false;
    for (uint64_t k = 0; k < n; k++) {
        const struct cli_side of = part(side, k, size);
        for (size_t i = 0; i < of.n; i++)
            (*hashes)[k] = cli_align_mix_record((*hashes)[k], &of.items[i]);
    }
    return true;
}

uint64_t cli_square_hash(const struct cli_square *s, uint64_t ordinal)
{
    uint64_t i, j;
    find_tile(s, ordinal, &i, &j);
    return s->hashes[0][i] ^ s->hashes[1][j] * 0x9E3779B97F4A7C15u;
}

/* ---- the matrix ---- */

/* Whether strict PHYLIP can hold all names, which are words of up to ten characters. */
static bool check_names(const struct cli_square *s, struct cli *cli)
{
    for (size_t i = 0; i < s->rows.n; i++) {
        const char *id = s->rows.items[i].id;
        if (strlen(id) <= STRICT_NAME && !strpbrk(id, "()[]:;,"))
            continue;
        cli_say(cli,
                "record %.300s: strict PHYLIP has no such names: expected up to %d characters "
                "without ( ) [ ] : ; and comma; --names relaxed takes them",
                id, STRICT_NAME);
        return false;
    }
    return true;
}

/* A folder of its own for a job whose output is copied to standard output, or into a device. */
static int make_folder(struct cli_square *s, struct cli *cli)
{
    const char *base = getenv("TMPDIR");
    char folder[256], path[256 + sizeof "/matrix"];
    int error = ENAMETOOLONG;
    if (snprintf(path, sizeof path, "%s/bioinfer", base && *base ? base : "/tmp") + BI_TEMP_SUFFIX <
        (int)sizeof folder)
        error = bi_temp_folder(folder, path);
    if (error) {
        cli_say(cli, "%s: no folder for a matrix can be made: %s", path, strerror(error));
        return CLI_EXIT_NO_OUTPUT;
    }
    if (!(s->folder = strdup(folder)))
        rmdir(folder);
    snprintf(path, sizeof path, "%s/matrix", folder);
    if (!s->folder || !(s->path = strdup(path)))
        return cli_fail(cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    return CLI_EXIT_OK;
}

/* Whether the job can write the output where it is to be. */
static bool has_place(const struct cli_options *o)
{
    struct stat st;
    if (!o->output || !strcmp(o->output, "-"))
        return false;
    return cli_job_wanted(o) || stat(o->output, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

int cli_square_open(struct cli_square *s, struct cli *cli, const struct cli_align_out *w,
                    const struct cli_side *rows, const struct cli_side *columns,
                    uint64_t most_pairs)
{
    const struct cli_options *o = cli->options;
    *s = (struct cli_square){.rows = *rows, .columns = columns ? *columns : *rows};
    s->matrix = (struct bioinfer_square){.kind = o->values,
                                         .format = w->format,
                                         .n_rows = rows->n,
                                         .n_columns = s->columns.n,
                                         .one_file = !columns,
                                         .lower = o->shape && !strcmp(o->shape, "lower"),
                                         .strict_names = o->names && !strcmp(o->names, "strict"),
                                         .scale = (int)w->scale};
    if (s->matrix.strict_names && !check_names(s, cli))
        return CLI_EXIT_DATA;
    cut(s, most_pairs);
    if (!hash_parts(&s->rows, s->matrix.tile_rows, s->n_down, &s->hashes[0]) ||
        !hash_parts(&s->columns, s->matrix.tile_columns, s->n_across, &s->hashes[1]))
        return cli_fail(cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    if (!has_place(o))
        return make_folder(s, cli);
    if (!(s->path = strdup(o->output)))
        return cli_fail(cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    return CLI_EXIT_OK;
}

void cli_square_put(const struct cli_align_out *w, const struct cli_batch *b)
{
    double values[512];
    size_t n = 0;
    for (size_t k = 0; k < b->n; k++) {
        const struct bioinfer_record *q = b->sides[2 * k], *t = b->sides[2 * k + 1];
        const struct bioinfer_alignment *a = &b->results[k];
        double of, *value = &values[n++];
        if (q->status || t->status || a->status) {
            *value = NAN;
        } else if (w->values[0] == 's') {
            *value = (double)a->score;
        } else {
            of = w->shorter ? (double)(q->length < t->length ? q->length : t->length)
                            : (double)cli_align_columns(w, q, t, a);
            *value = of > 0 ? (double)a->identities / of : 0;
            if (w->values[0] == 'd')
                *value = 1 - *value;
        }
        if (n == CLI_COUNT(values) || k + 1 == b->n) {
            cli_output_write(w->out, (const char *)values, n * sizeof *values);
            n = 0;
        }
    }
}

int cli_square_copy(const struct cli_square *s, struct cli_output *out, struct bioinfer_error *err)
{
    char bytes[1 << 13];
    ssize_t n = 0;
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && !out->status &&
           ((n = read(fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR))) {
        if (n > 0)
            cli_output_write(out, bytes, (size_t)n);
        cli_output_start(out);
    }
    if (fd < 0 || n < 0) {
        *err = (struct bioinfer_error){.status = BIOINFER_IO};
        snprintf(err->text, sizeof err->text, "%.400s: %s", s->path, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    return err->status;
}

void cli_square_close(struct cli_square *s)
{
    static const char *const suffixes[] = {"", ".manifest.tsv"};
    char path[4200];
    for (size_t k = 0; s->folder && s->path && k < CLI_COUNT(suffixes); k++) {
        snprintf(path, sizeof path, "%s%s", s->path, suffixes[k]);
        unlink(path);
    }
    if (s->folder)
        rmdir(s->folder);
    cli_output_close(&s->names);
    free(s->hashes[0]);
    free(s->hashes[1]);
    free(s->folder);
    free(s->path);
    *s = (struct cli_square){0};
}

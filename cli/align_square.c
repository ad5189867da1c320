/* align_square.c - a matrix of all pairs: identities, distances or scores.
 *
 * In one file every record meets itself and each one behind it; what they give stands on both
 * sides of the diagonal. A pair without a result is nan. */
#include "align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRICT_NAME = 10 }; /* characters of a name in PHYLIP as its own programs read it */

bool cli_square_check(const struct cli_options *o, const char *format)
{
    const bool phylip = !strcmp(format, "phylip"), npz = !strcmp(format, "npz");
    const bool score = o->values && !strcmp(o->values, "score");

    if (!o->values && (phylip || npz || o->identity_of || o->names || o->shape))
        cli_say(NULL, "%s is for the matrix of --values",
                phylip           ? "--format phylip"
                : npz            ? "--format npz"
                : o->identity_of ? "--identity-of"
                : o->names       ? "--names"
                                 : "--shape");
    else if (!o->values)
        return true;
    else if (!phylip && !npz && strcmp(format, "tsv"))
        cli_say(NULL, "--values: a matrix is written as tsv, phylip or npz, not as %s", format);
    else if (phylip && strcmp(o->values, "distance"))
        cli_say(NULL, "--format phylip holds distances: say --values distance");
    else if ((phylip || o->shape) && o->second)
        cli_say(NULL, "--values: the matrix of two files is no square one, as %s needs it",
                phylip ? "phylip" : "--shape");
    else if (npz && (!o->output || !strcmp(o->output, "-")))
        cli_say(NULL, "--format npz needs a file: say -o FILE");
    else if (npz && o->shape)
        cli_say(NULL, "--shape is for tsv and phylip: npz holds whole matrices");
    else if (!phylip && o->names)
        cli_say(NULL, "--names is for --format phylip");
    else if (score && o->identity_of)
        cli_say(NULL, "--identity-of is for --values identity and distance");
    else if (!score && o->score_only)
        cli_say(NULL, "--values %s needs alignments, which --score-only does not make", o->values);
    else if (o->top || o->min_score || o->min_identity || o->one_vs_all)
        cli_say(NULL, "--values fills a matrix of all pairs: leave out %s",
                o->top            ? "--top"
                : o->min_score    ? "--min-score"
                : o->min_identity ? "--min-identity"
                                  : "--one-vs-all");
    else if (cli_job_wanted(o))
        cli_say(NULL, "--values writes one matrix at the end: no --resume and no --shard");
    else if (cli_align_several(o))
        cli_say(NULL, "--values computes in one process, on one device");
    else
        return true;
    return false;
}

/* ---- cells ---- */

/* The place of row i and column j. */
static size_t place(const struct cli_square *s, size_t i, size_t j)
{
    const size_t n = s->rows.n;

    if (!s->one_file)
        return i * s->columns.n + j;
    return i <= j ? i * n - i * (i + 1) / 2 + j : j * n - j * (j + 1) / 2 + i;
}

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

int cli_square_open(struct cli_square *s, struct cli *cli, const struct cli_align_out *w,
                    const struct cli_side *rows, const struct cli_side *columns)
{
    const struct cli_options *o = cli->options;
    const size_t a = rows->n, b = columns ? columns->n : (a + 1) / 2 + 1;
    size_t n;

    *s = (struct cli_square){.writer = w,
                             .rows = *rows,
                             .columns = columns ? *columns : *rows,
                             .one_file = !columns,
                             .kind = o->values,
                             .shorter = o->identity_of && !strcmp(o->identity_of, "shorter"),
                             .strict = o->names && !strcmp(o->names, "strict"),
                             .lower = o->shape && !strcmp(o->shape, "lower")};
    if (s->strict && !check_names(s, cli))
        return CLI_EXIT_DATA;
    if (b && a > SIZE_MAX / sizeof *s->cells / b)
        return cli_fail(cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    n = columns ? a * b : a * (a + 1) / 2;
    if (!(s->cells = malloc((n + 1) * sizeof *s->cells)))
        return cli_fail(cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    for (size_t i = 0; i < n; i++)
        s->cells[i] = NAN;
    return CLI_EXIT_OK;
}

void cli_square_take(struct cli_square *s, const struct cli_batch *b)
{
    for (size_t k = 0; k < b->n; k++) {
        const struct bioinfer_record *q = b->sides[2 * k], *t = b->sides[2 * k + 1];
        const struct bioinfer_alignment *a = &b->results[k];
        double of, *cell = &s->cells[place(s, (size_t)q->ordinal, (size_t)t->ordinal)];
        if (q->status || t->status || a->status)
            continue;
        if (s->kind[0] == 's') {
            *cell = (double)a->score;
            continue;
        }
        of = s->shorter ? (double)(q->length < t->length ? q->length : t->length)
                        : (double)cli_align_columns(s->writer, q, t, a);
        *cell = of > 0 ? (double)a->identities / of : 0;
        if (s->kind[0] == 'd')
            *cell = 1 - *cell;
    }
}

void cli_square_close(struct cli_square *s)
{
    free(s->cells);
    *s = (struct cli_square){0};
}

/* ---- text ---- */

static void put_value(const struct cli_square *s, struct cli_output *out, double value)
{
    char text[] = "0.000000";
    long millionths;

    if (isnan(value)) {
        cli_output_write(out, "nan", 3);
        return;
    }
    if (s->kind[0] == 's') {
        struct cli_align_out writer = *s->writer;
        writer.out = out;
        cli_align_put_score(&writer, (int64_t)value);
        return;
    }
    millionths = lround(value * 1e6); /* from 0 to 1 */
    text[0] = (char)('0' + millionths / 1000000);
    for (size_t k = sizeof text - 2; k > 1; k--, millionths /= 10)
        text[k] = (char)('0' + millionths % 10);
    cli_output_write(out, text, sizeof text - 1);
}

/* Values of row i from column 0 on, each behind a separator. */
static void put_values(const struct cli_square *s, struct cli_output *out, size_t i,
                       const char *separator)
{
    const size_t n = s->lower ? i : s->columns.n;

    for (size_t j = 0; j < n; j++) {
        cli_output_write(out, separator, 1);
        put_value(s, out, s->cells[place(s, i, j)]);
    }
    cli_output_write(out, "\n", 1);
    cli_output_start(out);
}

static void put_tsv(const struct cli_square *s, struct cli_output *out)
{
    for (size_t j = 0; j < s->columns.n; j++) {
        cli_output_write(out, "\t", 1);
        cli_output_field(out, s->columns.items[j].id);
    }
    cli_output_write(out, "\n", 1);
    for (size_t i = 0; i < s->rows.n; i++) {
        cli_output_field(out, s->rows.items[i].id);
        put_values(s, out, i, "\t");
    }
}

/* The number of records, then a line each: its name, in strict files of ten columns, and values. */
static void put_phylip(const struct cli_square *s, struct cli_output *out)
{
    cli_output_printf(out, "%5zu\n", s->rows.n);
    for (size_t i = 0; i < s->rows.n; i++) {
        if (s->strict)
            cli_output_printf(out, "%-*s", STRICT_NAME, s->rows.items[i].id);
        else
            cli_output_field(out, s->rows.items[i].id);
        put_values(s, out, i, " ");
    }
}

void cli_square_put(const struct cli_square *s, struct cli_output *out)
{
    (s->writer->format[0] == 'p' ? put_phylip : put_tsv)(s, out);
}

/* ---- arrays ---- */

/* Row i in 32 bits; false: its scores do not fit these. */
static bool make_row(const struct cli_square *s, size_t i, float *row)
{
    for (size_t j = 0; j < s->columns.n; j++) {
        const double value = s->cells[place(s, i, j)];
        if (s->kind[0] == 's' && fabs(value) > 0x1p24)
            return false;
        row[j] = (float)(s->kind[0] == 's' ? value / s->writer->scale : value);
    }
    return true;
}

int cli_square_write(const struct cli_square *s, struct cli *cli)
{
    struct bioinfer_writer_params params = cli_writer_params(cli);
    struct bioinfer_error err = {0};
    bioinfer_writer *writer = NULL;
    float *row = malloc((s->columns.n + 1) * sizeof *row);
    const struct bioinfer_array array = {
        .kind = s->kind, .n_dims = 1, .shape = {(int64_t)s->columns.n}, .data = row};
    int st = row ? 0 : BIOINFER_NOMEM;

    params.format = "npz";
    params.layout = "matrix";
    params.matrix_name = s->kind;
    if (!st)
        st = bioinfer_writer_open(&writer, cli->ctx, cli->options->output, &params, &err);
    for (size_t i = 0; i < s->rows.n && !st; i++) {
        const struct bioinfer_record *r = &s->rows.items[i];
        const struct bioinfer_result result = {.ordinal = i,
                                               .id = r->id,
                                               .length = (int64_t)r->length,
                                               .message = "",
                                               .n_arrays = 1,
                                               .n_kinds = 1,
                                               .arrays = &array};
        if (make_row(s, i, row)) {
            st = bioinfer_writer_put(writer, &result, &err);
            continue;
        }
        st = err.status = BIOINFER_OUT_OF_RANGE;
        snprintf(err.text, sizeof err.text,
                 "%s: record %.100s has scores above 2^24, which npz does not hold exactly; tsv "
                 "does",
                 cli->options->output, r->id);
    }
    if (!st)
        st = bioinfer_writer_finish(writer, &err);
    bioinfer_writer_close(&writer);
    free(row);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* tracks_rows.c - the table of variants: its title and its rows. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *cli_variant_stat(const char *stats, int i, int *n)
{
    const char *list = stats ? stats : "SAD";

    for (; *list; list += *n + (list[*n] == ',')) {
        *n = (int)strcspn(list, ",");
        if (!i--)
            return list;
    }
    return NULL;
}

void cli_track_name(char *name, size_t size, const struct bioinfer_track *track)
{
    if (track->identifier)
        snprintf(name, size, "%s", track->identifier);
    else
        snprintf(name, size, "track_%d", track->number);
}

int cli_variant_title(struct cli_output *to, const bioinfer_task *task, const char *stats,
                      bool scorers)
{
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_track track = {.struct_size = sizeof track};
    const char *name, *stat;
    int n, n_numbers = 0;

    bioinfer_tracks_get_info(task, &info);
    const bool several = info.n_outputs > 1;
    for (int i = 0; (name = bioinfer_variants_column(task, i)); i++)
        cli_output_printf(to, "%s%s", i ? "\t" : "", name);
    if (!scorers)
        cli_output_printf(to, "\tstatus");
    for (int s = 0; !scorers && (stat = cli_variant_stat(stats, s, &n)); s++)
        for (int i = 0; !bioinfer_tracks_get_output(task, i, &info); i++)
            for (int k = 0; !bioinfer_variants_get_track(task, i, k, &track); k++) {
                char words[300];
                cli_track_name(words, sizeof words, &track);
                cli_output_printf(to, "\t%.*s:%s%s%s", n, stat, several ? info.array : "",
                                  several ? ":" : "", words);
                n_numbers++;
            }
    cli_output_printf(to, "\n");
    return scorers ? -1 : n_numbers;
}

/* ---- rows ---- */

enum { MOST_DIGITS = 24, NUMBERS = 1024 };

/* Scores as text, NUMBERS of them on a thread. */
struct numbers {
    const struct bioinfer_result *r;
    char *text;     /* MOST_DIGITS of each */
    size_t *n_text; /* bytes of each block */
    int64_t n;
};

/* The number of this index in the arrays of a result, one after the other. */
static const float *number_at(const struct bioinfer_result *r, int64_t index)
{
    int i = 0;

    while (index >= r->arrays[i].shape[0])
        index -= r->arrays[i++].shape[0];
    return r->arrays[i].data + index;
}

static void format_block(void *user, int block)
{
    const struct numbers *x = user;
    const int64_t first = (int64_t)block * NUMBERS;
    char *text = x->text + first * MOST_DIGITS;

    x->n_text[block] = 0;
    for (int64_t i = first; i < x->n && i < first + NUMBERS; i++)
        x->n_text[block] += (size_t)snprintf(text + x->n_text[block], MOST_DIGITS, "\t%.9g",
                                             (double)*number_at(x->r, i));
}

static void put_numbers(struct cli_output *to, int n_threads, const struct bioinfer_result *r)
{
    struct numbers x = {.r = r};
    int n_blocks;

    for (int i = 0; i < r->n_arrays; i++)
        x.n += r->arrays[i].shape[0];
    n_blocks = (int)((x.n + NUMBERS - 1) / NUMBERS);
    x.text = malloc((size_t)n_blocks * NUMBERS * MOST_DIGITS);
    x.n_text = calloc((size_t)n_blocks, sizeof *x.n_text);
    if (x.text && x.n_text) {
        cli_parallel(n_threads, n_blocks, format_block, &x);
        for (int i = 0; i < n_blocks; i++)
            cli_output_write(to, x.text + (size_t)i * NUMBERS * MOST_DIGITS, x.n_text[i]);
    } else {
        to->status = BIOINFER_NOMEM;
    }
    free(x.text);
    free(x.n_text);
}

static void put_number(struct cli_output *to, double number)
{
    if (isnan(number))
        cli_output_printf(to, "nan");
    else
        cli_output_printf(to, "%.9g", number);
}

/* Writes a cell; a number that is missing is empty. */
static void put_cell(struct cli_output *to, const struct bioinfer_column *c, int64_t row)
{
    const int64_t *at = c->data;
    char text[64], *copy = text;
    size_t n;

    switch (c->type) {
    case BIOINFER_F32:
        put_number(to, (double)((const float *)c->data)[row]);
        return;
    case BIOINFER_F64:
        put_number(to, ((const double *)c->data)[row]);
        return;
    case BIOINFER_I64:
        if (at[row] != BIOINFER_MISSING)
            cli_output_printf(to, "%lld", (long long)at[row]);
        return;
    }
    n = (size_t)(at[row + 1] - at[row]);
    if (n >= sizeof text && !(copy = malloc(n + 1))) {
        to->status = BIOINFER_NOMEM;
        return;
    }
    memcpy(copy, c->bytes + at[row], n);
    copy[n] = '\0';
    cli_output_field(to, copy);
    if (copy != text)
        free(copy);
}

void cli_variant_row(struct cli_output *to, int n_threads, const struct bioinfer_result *r,
                     int n_numbers)
{
    for (int64_t i = 0; i < r->n_rows; i++) {
        for (int k = 0; k < r->n_columns; k++) {
            cli_output_write(to, "\t", k > 0);
            put_cell(to, &r->columns[k], i);
        }
        if (n_numbers >= 0)
            cli_output_printf(to, "\t%s", r->status ? bioinfer_status_name(r->status) : "ok");
        if (n_numbers >= 0 && !r->status)
            put_numbers(to, n_threads, r);
        for (int k = 0; r->status && k < n_numbers; k++)
            cli_output_write(to, "\t", 1);
        cli_output_write(to, "\n", 1);
    }
}

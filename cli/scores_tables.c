/* scores_tables.c - tables that scores need: tracks, polyadenylation sites, quantiles.
 *
 * Sections: tracks, sites, quantiles. */
#include "scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../loaders/csv.h"

static int no_room(const char *path)
{
    cli_say(NULL, "%s: no memory for its lines", path);
    return CLI_EXIT_NO_MEMORY;
}

static int bad_row(const struct bi_csv *table, const struct bi_csv_row *row, const char *what)
{
    struct bioinfer_error err = {0};

    bi_csv_fail(table, row, &err, "%s", what);
    return cli_fail(NULL, CLI_AT_INPUT, err.status, &err);
}

/* ---- tracks ---- */

/* Columns of the table of tracks: first those of scores, in their order. */
enum { NAME, STRAND, TERM = 3, N_SHOWN = 13, IDENTIFIER = N_SHOWN, DESCRIPTION, HEAD, N_COLUMNS };
static const char *const track_columns[] = {"name",
                                            "strand",
                                            "assay",
                                            "ontology",
                                            "biosample_name",
                                            "biosample_type",
                                            "biosample_life_stage",
                                            "gtex_tissue",
                                            "data_source",
                                            "endedness",
                                            "genetically_modified",
                                            "transcription_factor",
                                            "histone_mark",
                                            "identifier",
                                            "description",
                                            "head"};

/* A cell, "" where there is none. */
static const char *cell_of(const struct bi_csv *table, const struct bi_csv_row *row, int column)
{
    const char *cell = bi_csv_cell(table, row, column);

    return cell ? cell : "";
}

static int read_track(struct score_track *track, const struct bi_csv *table,
                      const struct bi_csv_row *row, const int *columns)
{
    const char *strand = cell_of(table, row, columns[STRAND]);
    struct cli_output text = {0};

    for (int i = 0; i < N_SHOWN; i++) {
        cli_output_write(&text, "\t", i > 0);
        cli_output_field(&text, cell_of(table, row, columns[i]));
    }
    cli_output_write(&text, "", 1);
    track->strand = *strand && !strand[1] ? *strand : '\0';
    track->columns = text.status ? NULL : strdup(text.text);
    track->name = strdup(cell_of(table, row, columns[NAME]));
    track->identifier = strdup(
        cell_of(table, row, columns[columns[IDENTIFIER] < 0 ? NAME : IDENTIFIER]));
    track->description = strdup(cell_of(table, row, columns[DESCRIPTION]));
    track->term = strdup(cell_of(table, row, columns[TERM]));
    cli_output_close(&text);
    return track->columns && track->name && track->identifier && track->description && track->term
               ? CLI_EXIT_OK
               : CLI_EXIT_NO_MEMORY;
}

static int read_tracks(struct score_track *tracks, const struct bi_csv *table, const char *head,
                       int n_tracks)
{
    struct bioinfer_error err = {0};
    const struct bi_csv_row *row;
    int columns[N_COLUMNS], n = 0, st, code;
    size_t at = 0;

    if ((code = cli_table_columns(NULL, table, track_columns, N_COLUMNS, STRAND + 1, columns)))
        return code;
    while ((st = bi_csv_next(table, &at, &row, &err)) > 0) {
        if (!cli_table_belongs(bi_csv_cell(table, row, columns[HEAD]), head))
            continue;
        if (n < n_tracks && read_track(&tracks[n], table, row, columns))
            return no_room(table->path);
        if (n < n_tracks && !(tracks[n].strand && strchr("+-.", tracks[n].strand)))
            return bad_row(table, row, "strand: expected + - or .");
        n++;
    }
    if (st)
        return cli_fail(NULL, CLI_AT_INPUT, st, &err);
    if (n == n_tracks)
        return CLI_EXIT_OK;
    cli_say(NULL, "%s: %d tracks of %s, the head has %d", table->path, n, head, n_tracks);
    return CLI_EXIT_DATA;
}

int score_tracks_read(struct score_track **tracks, const char *path, const char *head, int n_tracks)
{
    struct bi_csv table = {0};
    int code = cli_table_read_file(NULL, &table, path);

    if (!code && !(*tracks = calloc((size_t)n_tracks + 1, sizeof **tracks)))
        code = no_room(path);
    if (!code)
        code = read_tracks(*tracks, &table, head, n_tracks);
    bi_csv_free(&table);
    return code;
}

void score_tracks_free(struct score_track **tracks, int n)
{
    for (int i = 0; *tracks && i < n; i++) {
        free((*tracks)[i].columns);
        free((*tracks)[i].name);
        free((*tracks)[i].identifier);
        free((*tracks)[i].description);
        free((*tracks)[i].term);
    }
    free(*tracks);
    *tracks = NULL;
}

/* ---- sites ---- */

static int by_gene(const void *a, const void *b)
{
    const struct score_site *x = a, *y = b;
    const int order = strcmp(x->gene, y->gene);

    return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static bool read_place(const char *text, int64_t *place)
{
    char *end;

    *place = strtoll(text, &end, 10);
    return end != text && !*end && *place >= 0;
}

enum { SITE_GENE, SITE_STRAND, SITE_START, SITE_END, N_SITE_COLUMNS };
static const char *const site_columns[] = {"gene_id", "pas_strand", "Start", "End"};

/* Reads a row into *site; an exit code. */
static int read_site(struct score_site *site, const struct bi_csv *table,
                     const struct bi_csv_row *row, const int *columns)
{
    const char *strand = bi_csv_cell(table, row, columns[SITE_STRAND]);

    if ((*strand != '+' && *strand != '-') || strand[1])
        return bad_row(table, row, "pas_strand: expected + or -");
    site->strand = *strand;
    if (!read_place(bi_csv_cell(table, row, columns[SITE_START]), &site->start) ||
        !read_place(bi_csv_cell(table, row, columns[SITE_END]), &site->end) ||
        site->end < site->start)
        return bad_row(table, row, "Start and End: expected a place");
    if (!(site->gene = strdup(bi_csv_cell(table, row, columns[SITE_GENE]))))
        return no_room(table->path);
    site->gene[strcspn(site->gene, ".")] = '\0';
    return *site->gene ? CLI_EXIT_OK : bad_row(table, row, "no gene_id");
}

static int read_sites(struct score_sites *s, const struct bi_csv *table)
{
    struct bioinfer_error err = {0};
    const struct bi_csv_row *row;
    int columns[N_SITE_COLUMNS], st, code;
    size_t at = 0;

    if ((code = cli_table_columns(NULL, table, site_columns, N_SITE_COLUMNS, N_SITE_COLUMNS,
                                  columns)))
        return code;
    if (!(s->of = calloc(table->n_rows, sizeof *s->of)))
        return no_room(table->path);
    while ((st = bi_csv_next(table, &at, &row, &err)) > 0) {
        s->of[s->n].line = (int64_t)row->line;
        if ((code = read_site(&s->of[s->n++], table, row, columns)))
            return code;
    }
    if (st)
        return cli_fail(NULL, CLI_AT_INPUT, st, &err);
    qsort(s->of, s->n, sizeof *s->of, by_gene);
    return CLI_EXIT_OK;
}

int score_sites_read(struct score_sites *s, const char *path)
{
    struct bi_csv table = {0};
    int code = cli_table_read(NULL, &table, path);

    if (!code)
        code = read_sites(s, &table);
    bi_csv_free(&table);
    return code;
}

size_t score_sites_find(const struct score_sites *s, const char *gene, size_t *first)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(s->of[middle].gene, gene) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    while (low < s->n && !strcmp(s->of[low].gene, gene))
        low++;
    return low;
}

void score_sites_free(struct score_sites *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->of[i].gene);
    free(s->of);
    *s = (struct score_sites){0};
}

/* ---- quantiles ---- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct score_quantile *)a)->key, ((const struct score_quantile *)b)->key);
}

/* Reads a number that ascends; false: it is none. */
static bool read_number(const char *text, const double *before, double *number)
{
    char *end;

    *number = strtod(text, &end);
    return end != text && !*end && isfinite(*number) && (!before || *number >= *before);
}

enum { N_KEYS = 3 };
static const char *const key_columns[] = {"variant_scorer", "track_name", "track_strand"};

/* The header: variant_scorer, track_name, track_strand, then quantiles. */
static int read_header(struct score_quantiles *q, const struct bi_csv *table)
{
    const struct bi_csv_row *header = &table->header;
    const char *cell = header->cells;
    int columns[N_KEYS], code;

    if ((code = cli_table_columns(NULL, table, key_columns, N_KEYS, N_KEYS, columns)))
        return code;
    for (int i = 0; i < N_KEYS; i++, cell = bi_csv_cell_next(cell))
        if (columns[i] != i)
            return bad_row(table, header,
                           "the columns begin with variant_scorer, track_name, track_strand");
    if (header->n_fields < N_KEYS + 2)
        return bad_row(table, header, "expected two quantiles at least");
    if (!(q->at = calloc(header->n_fields, sizeof *q->at)))
        return no_room(table->path);
    for (size_t i = N_KEYS; i < header->n_fields; i++, q->n_at++, cell = bi_csv_cell_next(cell))
        if (!read_number(cell, q->n_at ? &q->at[q->n_at - 1] : NULL, &q->at[q->n_at]) ||
            (q->n_at && q->at[q->n_at] <= q->at[q->n_at - 1]))
            return bad_row(table, header, "columns behind track_strand are quantiles, ascending");
    return CLI_EXIT_OK;
}

static int read_quantile(struct score_quantiles *q, const struct bi_csv *table,
                         const struct bi_csv_row *row)
{
    struct score_quantile *of = &q->of[q->n++];
    const char *key[N_KEYS], *cell = row->cells;
    size_t size = 0;

    for (int i = 0; i < N_KEYS; i++, cell = bi_csv_cell_next(cell)) {
        key[i] = cell;
        size += strlen(cell) + 1;
    }
    of->raw = calloc(q->n_at, sizeof *of->raw);
    if (!of->raw || !(of->key = malloc(size)))
        return no_room(table->path);
    snprintf(of->key, size, "%s\t%s\t%s", key[0], key[1], key[2]);
    for (size_t i = 0; i < q->n_at; i++, cell = bi_csv_cell_next(cell))
        if (!read_number(cell, i ? &of->raw[i - 1] : NULL, &of->raw[i]))
            return bad_row(table, row, "expected a raw score for each quantile, ascending");
    return CLI_EXIT_OK;
}

static int read_quantiles(struct score_quantiles *q, const struct bi_csv *table)
{
    struct bioinfer_error err = {0};
    const struct bi_csv_row *row;
    size_t at = 0;
    int st, code;

    if ((code = read_header(q, table)))
        return code;
    if (!(q->of = calloc(table->n_rows, sizeof *q->of)))
        return no_room(table->path);
    while ((st = bi_csv_next(table, &at, &row, &err)) > 0)
        if ((code = read_quantile(q, table, row)))
            return code;
    if (st)
        return cli_fail(NULL, CLI_AT_INPUT, st, &err);
    qsort(q->of, q->n, sizeof *q->of, by_key);
    for (size_t i = 1; i < q->n; i++)
        if (!strcmp(q->of[i - 1].key, q->of[i].key)) {
            cli_say(NULL, "%s: two lines of one scorer and track: %.200s", table->path,
                    q->of[i].key);
            return CLI_EXIT_DATA;
        }
    return CLI_EXIT_OK;
}

int score_quantiles_read(struct score_quantiles *q, const char *path)
{
    struct bi_csv table = {0};
    int code = cli_table_read(NULL, &table, path);

    if (!code)
        code = read_quantiles(q, &table);
    bi_csv_free(&table);
    return code;
}

const struct score_quantile *score_quantile_find(const struct score_quantiles *q,
                                                 const char *scorer,
                                                 const struct score_track *track)
{
    char key[1000];
    const struct score_quantile wanted = {.key = key};

    snprintf(key, sizeof key, "%s\t%s\t%c", scorer, track->name, track->strand);
    return q->n ? bsearch(&wanted, q->of, q->n, sizeof *q->of, by_key) : NULL;
}

double score_quantile(const struct score_quantiles *q, const char *scorer,
                      const struct score_track *track, double raw)
{
    const struct score_quantile *found = score_quantile_find(q, scorer, track);
    size_t i = 0;

    if (!found || !(raw == raw))
        return NAN;
    while (i < q->n_at && found->raw[i] <= raw)
        i++;
    if (!i || i == q->n_at)
        return q->at[i ? i - 1 : 0];
    return q->at[i - 1] + (q->at[i] - q->at[i - 1]) * (raw - found->raw[i - 1]) /
                              (found->raw[i] - found->raw[i - 1]);
}

void score_quantiles_free(struct score_quantiles *q)
{
    for (size_t i = 0; i < q->n; i++) {
        free(q->of[i].key);
        free(q->of[i].raw);
    }
    free(q->of);
    free(q->at);
    *q = (struct score_quantiles){0};
}

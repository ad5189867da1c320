/* scores_tables.c - tables that scores need: tracks, polyadenylation sites, quantiles.
 *
 * Sections: tracks, sites, quantiles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../loaders/csv.h"
#include "scores.h"

static int no_room(const char *path, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "%s: no memory for its lines", path);
}

/* ---- tracks ---- */

/* Columns of the table of tracks: first cells of scores, in their order. */
enum { NAME, STRAND, TERM = 3, IDENTIFIER = BI_TRACK_CELLS, DESCRIPTION, HEAD, N_COLUMNS };
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

/* Copies a cell, "" where there is none; NULL: no memory. */
static char *copy_cell(const struct bi_csv *table, const struct bi_csv_row *row, int column)
{
    const char *cell = bi_csv_cell(table, row, column);
    return bi_strdup(&table->env, cell ? cell : "");
}

/* Reads a track; false: no memory. */
static bool read_track(struct bi_score_track *track, const struct bi_csv *table,
                       const struct bi_csv_row *row, const int *columns)
{
    const char *strand;
    bool read = true;
    for (int i = 0; i < BI_TRACK_CELLS; i++)
        read &= (track->cells[i] = copy_cell(table, row, columns[i])) != NULL;
    track->identifier = copy_cell(table, row, columns[columns[IDENTIFIER] < 0 ? NAME : IDENTIFIER]);
    track->description = copy_cell(table, row, columns[DESCRIPTION]);
    track->name = track->cells[NAME];
    track->term = track->cells[TERM];
    strand = track->cells[STRAND];
    track->strand = strand && *strand && !strand[1] ? *strand : '\0';
    return read && track->identifier && track->description;
}

static int read_tracks(struct bi_score_track *tracks, const struct bi_csv *table, const char *head,
                       int n_tracks, struct bioinfer_error *err)
{
    const struct bi_csv_row *row;
    int columns[N_COLUMNS], n = 0, st;
    size_t at = 0;
    if ((st = bi_targets_columns(table, track_columns, N_COLUMNS, STRAND + 1, columns, err)))
        return st;
    while ((st = bi_csv_next(table, &at, &row, err)) > 0) {
        if (!bi_targets_belongs(bi_csv_cell(table, row, columns[HEAD]), head))
            continue;
        if (n < n_tracks && !read_track(&tracks[n], table, row, columns))
            return no_room(table->path, err);
        if (n < n_tracks && !(tracks[n].strand && strchr("+-.", tracks[n].strand)))
            return bi_csv_fail(table, row, err, "strand: expected + - or .");
        n++;
    }
    if (st || n == n_tracks)
        return st;
    return bi_fail(err, BIOINFER_FORMAT, "%s: %d tracks of %s, the head has %d", table->path, n,
                   head, n_tracks);
}

int bi_score_tracks_read(const struct bi_env *env, struct bi_score_track **tracks, const char *path,
                         const char *head, int n_tracks, struct bioinfer_error *err)
{
    struct bi_csv table = {0};
    int st = bi_targets_table(env, &table, path, err);
    if (!st && !(*tracks = bi_calloc(env, (size_t)n_tracks + 1, sizeof **tracks)))
        st = no_room(path, err);
    if (!st)
        st = read_tracks(*tracks, &table, head, n_tracks, err);
    bi_csv_free(&table);
    return st;
}

void bi_score_tracks_free(const struct bi_env *env, struct bi_score_track **tracks, int n)
{
    for (int i = 0; *tracks && i < n; i++) {
        for (int k = 0; k < BI_TRACK_CELLS; k++)
            bi_free(env, (*tracks)[i].cells[k]);
        bi_free(env, (*tracks)[i].identifier);
        bi_free(env, (*tracks)[i].description);
    }
    bi_free(env, *tracks);
    *tracks = NULL;
}

/* ---- sites ---- */

static int by_gene(const void *a, const void *b)
{
    const struct bi_score_site *x = a, *y = b;
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

/* Reads a row into *site. */
static int read_site(struct bi_score_site *site, const struct bi_csv *table,
                     const struct bi_csv_row *row, const int *columns, struct bioinfer_error *err)
{
    const char *strand = bi_csv_cell(table, row, columns[SITE_STRAND]);
    if ((*strand != '+' && *strand != '-') || strand[1])
        return bi_csv_fail(table, row, err, "pas_strand: expected + or -");
    site->strand = *strand;
    if (!read_place(bi_csv_cell(table, row, columns[SITE_START]), &site->start) ||
        !read_place(bi_csv_cell(table, row, columns[SITE_END]), &site->end) ||
        site->end < site->start)
        return bi_csv_fail(table, row, err, "Start and End: expected a place");
    if (!(site->gene = bi_strdup(&table->env, bi_csv_cell(table, row, columns[SITE_GENE]))))
        return no_room(table->path, err);
    site->gene[strcspn(site->gene, ".")] = '\0';
    return *site->gene ? 0 : bi_csv_fail(table, row, err, "no gene_id");
}

static int read_sites(struct bi_score_sites *s, const struct bi_csv *table,
                      struct bioinfer_error *err)
{
    const struct bi_csv_row *row;
    int columns[N_SITE_COLUMNS], st;
    size_t at = 0;
    if ((st = bi_targets_columns(table, site_columns, N_SITE_COLUMNS, N_SITE_COLUMNS, columns,
                                 err)))
        return st;
    if (!(s->of = bi_calloc(&table->env, table->n_rows, sizeof *s->of)))
        return no_room(table->path, err);
    while ((st = bi_csv_next(table, &at, &row, err)) > 0) {
        s->of[s->n].line = (int64_t)row->line;
        if ((st = read_site(&s->of[s->n++], table, row, columns, err)))
            return st;
    }
    if (st)
        return st;
    qsort(s->of, s->n, sizeof *s->of, by_gene);
    return 0;
}

int bi_score_sites_read(const struct bi_env *env, struct bi_score_sites *s, const char *path,
                        struct bioinfer_error *err)
{
    struct bi_csv table = {0};
    int st = bi_csv_read(&table, env, path, err);
    if (!st)
        st = read_sites(s, &table, err);
    bi_csv_free(&table);
    return st;
}

size_t bi_score_sites_find(const struct bi_score_sites *s, const char *gene, size_t *first)
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

void bi_score_sites_free(const struct bi_env *env, struct bi_score_sites *s)
{
    for (size_t i = 0; i < s->n; i++)
        bi_free(env, s->of[i].gene);
    bi_free(env, s->of);
    *s = (struct bi_score_sites){0};
}

/* ---- quantiles ---- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct bi_score_quantile *)a)->key,
                  ((const struct bi_score_quantile *)b)->key);
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
static int read_header(struct bi_score_quantiles *q, const struct bi_csv *table,
                       struct bioinfer_error *err)
{
    const struct bi_csv_row *header = &table->header;
    const char *cell = header->cells;
    int columns[N_KEYS], st;
    if ((st = bi_targets_columns(table, key_columns, N_KEYS, N_KEYS, columns, err)))
        return st;
    for (int i = 0; i < N_KEYS; i++, cell = bi_csv_cell_next(cell))
        if (columns[i] != i)
            return bi_csv_fail(table, header, err,
                               "the columns begin with variant_scorer, track_name, track_strand");
    if (header->n_fields < N_KEYS + 2)
        return bi_csv_fail(table, header, err, "expected two quantiles at least");
    if (!(q->at = bi_calloc(&table->env, header->n_fields, sizeof *q->at)))
        return no_room(table->path, err);
    for (size_t i = N_KEYS; i < header->n_fields; i++, q->n_at++, cell = bi_csv_cell_next(cell))
        if (!read_number(cell, q->n_at ? &q->at[q->n_at - 1] : NULL, &q->at[q->n_at]) ||
            (q->n_at && q->at[q->n_at] <= q->at[q->n_at - 1]))
            return bi_csv_fail(table, header, err,
                               "columns after track_strand are quantiles, ascending");
    return 0;
}

static int read_quantile(struct bi_score_quantiles *q, const struct bi_csv *table,
                         const struct bi_csv_row *row, struct bioinfer_error *err)
{
    struct bi_score_quantile *of = &q->of[q->n++];
    const char *key[N_KEYS], *cell = row->cells;
    size_t size = 0;
    for (int i = 0; i < N_KEYS; i++, cell = bi_csv_cell_next(cell)) {
        key[i] = cell;
        size += strlen(cell) + 1;
    }
    of->raw = bi_calloc(&table->env, q->n_at, sizeof *of->raw);
    if (!of->raw || !(of->key = bi_alloc(&table->env, size)))
        return no_room(table->path, err);
    snprintf(of->key, size, "%s\t%s\t%s", key[0], key[1], key[2]);
    for (size_t i = 0; i < q->n_at; i++, cell = bi_csv_cell_next(cell))
        if (!read_number(cell, i ? &of->raw[i - 1] : NULL, &of->raw[i]))
            return bi_csv_fail(table, row, err,
                               "expected a raw score for each quantile, ascending");
    return 0;
}

static int read_quantiles(struct bi_score_quantiles *q, const struct bi_csv *table,
                          struct bioinfer_error *err)
{
    const struct bi_csv_row *row;
    size_t at = 0;
    int st;
    if ((st = read_header(q, table, err)))
        return st;
    if (!(q->of = bi_calloc(&table->env, table->n_rows, sizeof *q->of)))
        return no_room(table->path, err);
    while ((st = bi_csv_next(table, &at, &row, err)) > 0)
        if ((st = read_quantile(q, table, row, err)))
            return st;
    if (st)
        return st;
    qsort(q->of, q->n, sizeof *q->of, by_key);
    for (size_t i = 1; i < q->n; i++)
        if (!strcmp(q->of[i - 1].key, q->of[i].key))
            return bi_fail(err, BIOINFER_FORMAT, "%s: two lines of one scorer and track: %.200s",
                           table->path, q->of[i].key);
    return 0;
}

int bi_score_quantiles_read(const struct bi_env *env, struct bi_score_quantiles *q,
                            const char *path, struct bioinfer_error *err)
{
    struct bi_csv table = {0};
    int st = bi_csv_read(&table, env, path, err);
    if (!st)
        st = read_quantiles(q, &table, err);
    bi_csv_free(&table);
    return st;
}

const struct bi_score_quantile *bi_score_quantile_find(const struct bi_score_quantiles *q,
                                                       const char *scorer,
                                                       const struct bi_score_track *track)
{
    char key[1000];
    const struct bi_score_quantile wanted = {.key = key};
    snprintf(key, sizeof key, "%s\t%s\t%c", scorer, track->name, track->strand);
    return q->n ? bsearch(&wanted, q->of, q->n, sizeof *q->of, by_key) : NULL;
}

double bi_score_quantile(const struct bi_score_quantiles *q, const char *scorer,
                         const struct bi_score_track *track, double raw)
{
    const struct bi_score_quantile *found = bi_score_quantile_find(q, scorer, track);
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

void bi_score_quantiles_free(const struct bi_env *env, struct bi_score_quantiles *q)
{
    for (size_t i = 0; i < q->n; i++) {
        bi_free(env, q->of[i].key);
        bi_free(env, q->of[i].raw);
    }
    bi_free(env, q->of);
    bi_free(env, q->at);
    *q = (struct bi_score_quantiles){0};
}

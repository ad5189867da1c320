/* scores_tables.c - tables that scores need: tracks, polyadenylation sites, quantiles.
 *
 * Sections: tracks, sites, quantiles. */
#include "scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_room(const char *path)
{
    cli_say(NULL, "%s: no memory for its lines", path);
    return CLI_EXIT_NO_MEMORY;
}

static int bad_line(const char *path, int64_t number, const char *what)
{
    cli_say(NULL, "%s: line %lld: %s", path, (long long)number, what);
    return CLI_EXIT_DATA;
}

/* Finds the header of a table: the first line without '#'; NULL: there is none. */
static const char *find_header(char **at, int64_t *number)
{
    const char *line;

    while ((line = table_line(at)) && (++*number, *line == '#'))
        ;
    return line;
}

static int need_column(const char *path, const char *header, const char *name, int *column)
{
    *column = header ? table_column(header, name) : -1;
    if (*column >= 0)
        return CLI_EXIT_OK;
    cli_say(NULL, "%s: the header has no column '%s'", path, name);
    return CLI_EXIT_DATA;
}

/* ---- tracks ---- */

/* Columns of the table of tracks, in the order of the columns of scores. */
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
                                            "histone_mark"};

static int read_track(struct score_track *track, const char *line, const int *columns,
                      const int *names)
{
    struct cli_output text = {0};
    size_t n;

    for (size_t i = 0; i < CLI_COUNT(track_columns); i++) {
        const char *field = columns[i] < 0 ? NULL : table_field(line, columns[i], &n);
        cli_output_printf(&text, "%s%.*s", i ? "\t" : "", field ? (int)n : 0, field ? field : "");
        if (i == 1)
            track->strand = field && n == 1 ? *field : '\0';
    }
    cli_output_write(&text, "", 1);
    track->columns = text.status ? NULL : strdup(text.text);
    track->name = table_copy(line, columns[0]);
    track->identifier = table_copy(line, names[0] < 0 ? columns[0] : names[0]);
    track->description = table_copy(line, names[1]);
    track->term = table_copy(line, columns[3]);
    cli_output_close(&text);
    return track->columns && track->name && track->identifier && track->description && track->term
               ? CLI_EXIT_OK
               : CLI_EXIT_NO_MEMORY;
}

static int read_tracks(struct score_track *tracks, char *text, const char *path, const char *head,
                       int n_tracks)
{
    int columns[CLI_COUNT(track_columns)], names[2], of_head, n = 0, code;
    const char *header, *line;
    int64_t number = 0;
    char *at = text;

    header = find_header(&at, &number);
    for (size_t i = 0; i < CLI_COUNT(track_columns); i++)
        columns[i] = header ? table_column(header, track_columns[i]) : -1;
    names[0] = header ? table_column(header, "identifier") : -1;
    names[1] = header ? table_column(header, "description") : -1;
    of_head = header ? table_column(header, "head") : -1;
    if ((code = need_column(path, header, "name", &columns[0])) ||
        (code = need_column(path, header, "strand", &columns[1])))
        return code;
    while ((line = table_line(&at))) {
        number++;
        if (!*line || !table_belongs(line, of_head, head))
            continue;
        if (n < n_tracks && read_track(&tracks[n], line, columns, names))
            return no_room(path);
        if (n < n_tracks && !(tracks[n].strand && strchr("+-.", tracks[n].strand)))
            return bad_line(path, number, "strand: expected + - or .");
        n++;
    }
    if (n == n_tracks)
        return CLI_EXIT_OK;
    cli_say(NULL, "%s: %d tracks of %s, the head has %d", path, n, head, n_tracks);
    return CLI_EXIT_DATA;
}

int score_tracks_read(struct score_track **tracks, const char *path, const char *head, int n_tracks)
{
    char *text = NULL;
    int code = table_read(&text, path);

    if (!code && !(*tracks = calloc((size_t)n_tracks + 1, sizeof **tracks)))
        code = no_room(path);
    if (!code)
        code = read_tracks(*tracks, text, path, head, n_tracks);
    free(text);
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

static bool read_place(const char *line, int column, int64_t *place)
{
    size_t n = 0;
    const char *field = table_field(line, column, &n);
    char *end = NULL;

    *place = field ? strtoll(field, &end, 10) : -1;
    return end && end != field && end == field + n && *place >= 0;
}

/* Reads a line into *site; an exit code. */
static int read_site(struct score_site *site, const char *line, const int *columns,
                     const char *path)
{
    size_t n = 0;
    const char *strand = table_field(line, columns[1], &n);

    if (!strand || n != 1 || (*strand != '+' && *strand != '-'))
        return bad_line(path, site->line, "pas_strand: expected + or -");
    site->strand = *strand;
    if (!read_place(line, columns[2], &site->start) || !read_place(line, columns[3], &site->end) ||
        site->end < site->start)
        return bad_line(path, site->line, "Start and End: expected a place");
    if (!(site->gene = table_copy(line, columns[0])))
        return no_room(path);
    site->gene[strcspn(site->gene, ".")] = '\0';
    return *site->gene ? CLI_EXIT_OK : bad_line(path, site->line, "no gene_id");
}

static int read_sites(struct score_sites *s, char *text, const char *path)
{
    static const char *const names[] = {"gene_id", "pas_strand", "Start", "End"};
    const char *header, *line;
    int64_t number = 0;
    int columns[4], code;
    char *at = text;
    size_t cap = 0;

    header = find_header(&at, &number);
    for (int i = 0; i < 4; i++)
        if ((code = need_column(path, header, names[i], &columns[i])))
            return code;
    while ((line = table_line(&at))) {
        number++;
        if (!*line)
            continue;
        if (s->n == cap) {
            struct score_site *of = realloc(s->of, (cap = cap ? 2 * cap : 1024) * sizeof *of);
            if (!of)
                return no_room(path);
            s->of = of;
        }
        s->of[s->n] = (struct score_site){.line = number};
        if ((code = read_site(&s->of[s->n++], line, columns, path)))
            return code;
    }
    qsort(s->of, s->n, sizeof *s->of, by_gene);
    return s->n ? CLI_EXIT_OK : bad_line(path, number, "the table has no sites");
}

int score_sites_read(struct score_sites *s, const char *path)
{
    char *text = NULL;
    int code = table_read(&text, path);

    if (!code)
        code = read_sites(s, text, path);
    free(text);
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
static bool read_number(const char *field, size_t n, const double *before, double *number)
{
    char *end;

    *number = strtod(field, &end);
    return n && end == field + n && isfinite(*number) && (!before || *number >= *before);
}

/* The header: variant_scorer, track_name, track_strand, then quantiles. */
static int read_header(struct score_quantiles *q, const char *header, const char *path)
{
    static const char *const names[] = {"variant_scorer", "track_name", "track_strand"};
    const char *field = header;
    size_t n = 0;
    int code, column;

    for (int i = 0; i < 3; i++) {
        if ((code = need_column(path, header, names[i], &column)))
            return code;
        if (column != i)
            return bad_line(path, 1,
                            "the columns begin with variant_scorer, track_name, "
                            "track_strand");
    }
    for (column = 3; (field = table_field(header, column, &n)); column++)
        ;
    if (!(q->at = calloc((size_t)column, sizeof *q->at)))
        return no_room(path);
    for (column = 3; (field = table_field(header, column, &n)); column++, q->n_at++)
        if (!read_number(field, n, q->n_at ? &q->at[q->n_at - 1] : NULL, &q->at[q->n_at]) ||
            (q->n_at && q->at[q->n_at] <= q->at[q->n_at - 1]))
            return bad_line(path, 1, "columns behind track_strand are quantiles, ascending");
    return q->n_at > 1 ? CLI_EXIT_OK : bad_line(path, 1, "expected two quantiles at least");
}

static int read_quantile(struct score_quantiles *q, const char *line, const char *path,
                         int64_t number)
{
    struct score_quantile *of = realloc(q->of, (q->n + 1) * sizeof *of);
    size_t n = 0;
    const char *field;

    if (!of)
        return no_room(path);
    q->of = of;
    of += q->n++;
    *of = (struct score_quantile){.raw = calloc(q->n_at, sizeof *of->raw)};
    if (!(field = table_field(line, 3, &n)))
        return bad_line(path, number, "fewer fields than the header");
    if (!of->raw || !(of->key = strndup(line, (size_t)(field - 1 - line))))
        return no_room(path);
    for (size_t i = 0; i < q->n_at; i++)
        if (!(field = table_field(line, 3 + (int)i, &n)) ||
            !read_number(field, n, i ? &of->raw[i - 1] : NULL, &of->raw[i]))
            return bad_line(path, number, "expected a raw score for each quantile, ascending");
    return CLI_EXIT_OK;
}

static int read_quantiles(struct score_quantiles *q, char *text, const char *path)
{
    const char *header, *line;
    int64_t number = 0;
    char *at = text;
    int code;

    if (!(header = find_header(&at, &number)))
        return bad_line(path, 1, "no header");
    if ((code = read_header(q, header, path)))
        return code;
    while ((line = table_line(&at))) {
        number++;
        if (*line && (code = read_quantile(q, line, path, number)))
            return code;
    }
    qsort(q->of, q->n, sizeof *q->of, by_key);
    for (size_t i = 1; i < q->n; i++)
        if (!strcmp(q->of[i - 1].key, q->of[i].key)) {
            cli_say(NULL, "%s: two lines of one scorer and track: %.200s", path, q->of[i].key);
            return CLI_EXIT_DATA;
        }
    return CLI_EXIT_OK;
}

int score_quantiles_read(struct score_quantiles *q, const char *path)
{
    char *text = NULL;
    int code = table_read(&text, path);

    if (!code)
        code = read_quantiles(q, text, path);
    free(text);
    return code;
}

double score_quantile(const struct score_quantiles *q, const char *scorer,
                      const struct score_track *track, double raw)
{
    char key[1000];
    const struct score_quantile wanted = {.key = key}, *found;
    size_t i = 0;

    snprintf(key, sizeof key, "%s\t%s\t%c", scorer, track->name, track->strand);
    found = q->n ? bsearch(&wanted, q->of, q->n, sizeof *q->of, by_key) : NULL;
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

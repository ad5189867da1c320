/* targets.c - the table of an output's tracks, and which of them --tracks and --ontology mean.
 *
 * The table is the one of basenji and baskerville: a header line, one line per track in the head's
 * order; columns are found by name, `identifier` must be there. A table with a column `head` has
 * the tracks of several heads: a row belongs to those of its name, or with its name between dots. A
 * column `ontology` has the terms that --ontology takes. */
#include "tracks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../loaders/csv.h"

enum { IDENTIFIER, HEAD, DESCRIPTION, PAIR, ONTOLOGY, N_COLUMNS };
static const char *const column_names[] = {"identifier", "head", "description", "strand_pair",
                                           "ontology"};

static int no_room(const char *path)
{
    cli_say(NULL, "%s: out of memory for its lines", path);
    return CLI_EXIT_NO_MEMORY;
}

/* Copies a cell, "" where there is none; NULL: no memory. */
static char *copy_cell(const struct bi_csv *table, const struct bi_csv_row *row, int column)
{
    const char *cell = bi_csv_cell(table, row, column);

    return strdup(cell ? cell : "");
}

/* Reads track n of the table; an exit code. */
static int read_track(struct targets *t, int n, const struct bi_csv *table,
                      const struct bi_csv_row *row, const int *columns)
{
    const char *other = bi_csv_cell(table, row, columns[PAIR]);
    char *end = NULL;
    long pair = other ? strtol(other, &end, 10) : n;
    struct bioinfer_error err = {0};

    t->of[n].identifier = copy_cell(table, row, columns[IDENTIFIER]);
    t->of[n].description = copy_cell(table, row, columns[DESCRIPTION]);
    t->of[n].ontology = copy_cell(table, row, columns[ONTOLOGY]);
    t->pairs[n] = n;
    if (!t->of[n].identifier || !t->of[n].description || !t->of[n].ontology)
        return no_room(table->path);
    if (!*t->of[n].identifier)
        bi_csv_fail(table, row, &err, "no identifier");
    else if (other && (end == other || *end || pair < 0 || pair >= t->n))
        bi_csv_fail(table, row, &err, "strand_pair '%.40s' is no track", other);
    else
        t->pairs[n] = (int)pair;
    return err.status ? cli_fail(NULL, CLI_AT_INPUT, err.status, &err) : CLI_EXIT_OK;
}

/* Says that a table is not of this head. */
static int other_count(const char *path, int n, const char *head, int n_tracks)
{
    cli_say(NULL, "%s: %d tracks of %s, the head has %d: --targets FILE takes its own table", path,
            n, head, n_tracks);
    return CLI_EXIT_DATA;
}

/* Finds the columns of a table that is read; `identifier` is needed where the tracks are. */
static int find_columns(const struct bi_csv *table, bool tracks, int *columns)
{
    return cli_table_columns(NULL, table, column_names, N_COLUMNS, tracks ? IDENTIFIER + 1 : 0,
                             columns);
}

/* Gives the next row of a head: 1; 0 = there is none; < 0 = the row is faulty, and *err says it. */
static int next_track(const struct bi_csv *table, const int *columns, const char *head, size_t *at,
                      const struct bi_csv_row **row, struct bioinfer_error *err)
{
    int st;

    while ((st = bi_csv_next(table, at, row, err)) > 0)
        if (cli_table_belongs(bi_csv_cell(table, *row, columns[HEAD]), head))
            break;
    return st;
}

static int read_tracks(struct targets *t, const struct bi_csv *table, const char *head,
                       int n_tracks)
{
    struct bioinfer_error err = {0};
    const struct bi_csv_row *row;
    int columns[N_COLUMNS], n = 0, st, code;
    size_t at = 0;

    t->of = calloc((size_t)n_tracks, sizeof *t->of);
    t->pairs = calloc((size_t)n_tracks, sizeof *t->pairs);
    if (!t->of || !t->pairs)
        return no_room(table->path);
    if ((code = find_columns(table, true, columns)))
        return code;
    t->has_pairs = columns[PAIR] >= 0;
    t->has_ontology = columns[ONTOLOGY] >= 0;
    while ((st = next_track(table, columns, head, &at, &row, &err)) > 0) {
        if (n < n_tracks && (code = read_track(t, n, table, row, columns)))
            return code;
        n++;
    }
    if (st)
        return cli_fail(NULL, CLI_AT_INPUT, st, &err);
    return n == n_tracks ? CLI_EXIT_OK : other_count(table->path, n, head, n_tracks);
}

int targets_read(struct targets *t, const char *path, const char *head, int n_tracks)
{
    struct bi_csv table = {0};
    int n, code;

    *t = (struct targets){.n = n_tracks, .path = path};
    if ((code = targets_count(&n, path, head)))
        return code;
    if (n && n != n_tracks) /* pairs of such a table are wrong, too */
        return other_count(path, n, head, n_tracks);
    if ((code = cli_table_read_file(NULL, &table, path)))
        return code;
    code = read_tracks(t, &table, head, n_tracks);
    bi_csv_free(&table);
    return code;
}

int targets_count(int *n_tracks, const char *path, const char *head)
{
    struct bioinfer_error err = {0};
    struct bi_csv table = {0};
    const struct bi_csv_row *row;
    int columns[N_COLUMNS], n = 0, st = 0, code = cli_table_read_file(NULL, &table, path);
    size_t at = 0;

    if (!code)
        code = find_columns(&table, false, columns);
    while (!code && (st = next_track(&table, columns, head, &at, &row, &err)) > 0)
        n++;
    if (st)
        code = cli_fail(NULL, CLI_AT_INPUT, st, &err);
    bi_csv_free(&table);
    *n_tracks = n;
    return code;
}

void targets_free(struct targets *t)
{
    for (int i = 0; t->of && i < t->n; i++) {
        free(t->of[i].identifier);
        free(t->of[i].description);
        free(t->of[i].ontology);
    }
    free(t->of);
    free(t->pairs);
    *t = (struct targets){0};
}

bool track_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;

    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (tolower((unsigned char)*pattern) == tolower((unsigned char)*text)) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    return !pattern[strspn(pattern, "*")];
}

static bool take(struct selection *s, int track)
{
    if (s->n == s->cap) {
        int cap = s->cap ? 2 * s->cap : 64, *of = realloc(s->of, (size_t)cap * sizeof *of);
        if (!of)
            return false;
        s->of = of;
        s->cap = cap;
    }
    s->of[s->n++] = track;
    return true;
}

/* "12" or "12-20"; false when it is neither. */
static bool is_range(const char *part, long *first, long *last)
{
    char *end;

    if (!isdigit((unsigned char)*part))
        return false;
    *first = *last = strtol(part, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1]))
        *last = strtol(end + 1, &end, 10);
    return !*end;
}

/* Does a pattern mean this track? One with '*' may also be of output, identifier and description
 * together: "RNA*K562*". */
static bool is_meant(const char *part, const struct target *t, const char *output)
{
    char all[1200];

    if (track_matches(part, t->identifier))
        return true;
    if (!strchr(part, '*'))
        return false;
    snprintf(all, sizeof all, "%s %s %s", output, t->identifier, t->description);
    return track_matches(part, t->description) || track_matches(part, all);
}

static int select_part(struct selection *s, const char *part, const struct targets *t,
                       const char *output, int n_tracks)
{
    long first, last;

    if (is_range(part, &first, &last)) {
        if (first > last || last >= n_tracks) {
            cli_say(NULL, "--tracks: %s: the head has tracks 0 to %d", part, n_tracks - 1);
            return CLI_EXIT_USAGE;
        }
        for (long i = first; i <= last; i++)
            if (!take(s, (int)i))
                return cli_no_memory(NULL, "the choice of tracks");
        return CLI_EXIT_OK;
    }
    if (!t->of) {
        cli_say(NULL, "--tracks: '%s' is no number; names need the table: --targets FILE", part);
        return CLI_EXIT_USAGE;
    }
    for (int i = 0; i < t->n; i++)
        if (is_meant(part, &t->of[i], output) && !take(s, i))
            return cli_no_memory(NULL, "the choice of tracks");
    return CLI_EXIT_OK;
}

int wish_open(struct wish *w, const char *tracks, const char *ontology)
{
    const char *lists[] = {tracks, ontology}, *names[] = {"tracks", "ontology"};
    char **hits[] = {&w->tracks_hit, &w->ontology_hit};

    *w = (struct wish){.tracks = tracks, .ontology = ontology};
    for (int i = 0; i < 2; i++) {
        if (lists[i] && !lists[i][strspn(lists[i], ",")]) {
            cli_say(NULL, "--%s: the list is empty", names[i]);
            return CLI_EXIT_USAGE;
        }
        if (lists[i] && !(*hits[i] = calloc(strlen(lists[i]) + 1, 1)))
            return cli_no_memory(NULL, "the lists of tracks");
    }
    return CLI_EXIT_OK;
}

void wish_close(struct wish *w)
{
    free(w->tracks_hit);
    free(w->ontology_hit);
    *w = (struct wish){0};
}

bool wish_needs_table(const struct wish *w)
{
    long first, last;
    char part[40];
    size_t n;

    for (const char *at = w->tracks; at && *at; at += n + (at[n] == ',')) {
        n = strcspn(at, ",");
        snprintf(part, sizeof part, "%.*s", (int)n, at);
        if (n && !is_range(part, &first, &last))
            return true;
    }
    return w->ontology != NULL;
}

/* Selects the tracks that a list of numbers and patterns means. */
static int select_list(struct selection *s, const struct wish *w, const struct targets *t,
                       const char *output, int n_tracks)
{
    char *copy = strdup(w->tracks), *part, *rest;
    int code = copy ? CLI_EXIT_OK : cli_no_memory(NULL, "the list of tracks");

    for (part = copy ? strtok_r(copy, ",", &rest) : NULL; part && !code;
         part = strtok_r(NULL, ",", &rest)) {
        const int before = s->n;
        code = select_part(s, part, t, output, n_tracks);
        w->tracks_hit[part - copy] |= s->n > before;
    }
    free(copy);
    return code;
}

/* Is the term one of the list? Notes which. */
static bool has_term(const struct wish *w, const char *term)
{
    const size_t length = strlen(term);
    bool found = false;
    size_t n;

    for (const char *at = w->ontology; *at; at += n + (at[n] == ',')) {
        size_t k = 0;
        n = strcspn(at, ",");
        while (k < n && n == length &&
               tolower((unsigned char)at[k]) == tolower((unsigned char)term[k]))
            k++;
        if (!n || k < n)
            continue;
        w->ontology_hit[at - w->ontology] = 1;
        found = true;
    }
    return found;
}

int selection_read(struct selection *s, const struct wish *w, const struct targets *t,
                   const char *output, int n_tracks)
{
    int code = CLI_EXIT_OK, n = 0;

    *s = (struct selection){0};
    if (w->tracks && (code = select_list(s, w, t, output, n_tracks)))
        return code;
    for (int i = 0; !w->tracks && i < n_tracks; i++)
        if (!take(s, i))
            return cli_no_memory(NULL, "the choice of tracks");
    if (!w->ontology)
        return CLI_EXIT_OK;
    if (!t->of || !t->has_ontology) {
        cli_say(NULL, "%s: the header has no column 'ontology'", t->path ? t->path : "--ontology");
        return t->of ? CLI_EXIT_DATA : CLI_EXIT_USAGE;
    }
    for (int i = 0; i < s->n; i++) /* tracks of no sample, such as splice sites, stay */
        if (!*t->of[s->of[i]].ontology || has_term(w, t->of[s->of[i]].ontology))
            s->of[n++] = s->of[i];
    s->n = n;
    return CLI_EXIT_OK;
}

void track_name(char *name, size_t size, const struct targets *t, int track)
{
    if (t->of)
        snprintf(name, size, "%s", t->of[track].identifier);
    else
        snprintf(name, size, "track_%d", track);
}

/* targets.c - the table of an output's tracks, and which of them lists of tracks and terms mean.
 *
 * The table is the one of basenji and baskerville: a header line, one line per track in the head's
 * order; columns are found by name, `identifier` must be there. A table with a column `head` has
 * the tracks of several heads: a row belongs to those of its name, or with its name between dots. A
 * column `ontology` has the terms. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../loaders/csv.h"
#include "variants.h"

enum { IDENTIFIER, HEAD, DESCRIPTION, PAIR, ONTOLOGY, N_COLUMNS };
static const char *const column_names[] = {"identifier", "head", "description", "strand_pair",
                                           "ontology"};

/* ---- tables ---- */

int bi_targets_table(const struct bi_env *env, struct bi_csv *table, const char *path,
                     struct bioinfer_error *err)
{
    struct stat st;
    if (!stat(path, &st) && !S_ISREG(st.st_mode))
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s: cannot be read as a table: it is no file",
                       path);
    return bi_csv_read(table, env, path, err);
}

int bi_targets_columns(const struct bi_csv *table, const char *const *names, int n, int n_needed,
                       int *columns, struct bioinfer_error *err)
{
    int st = 0;
    for (int i = 0; i < n && !st; i++)
        st = i < n_needed ? bi_csv_need(table, names[i], &columns[i], err)
                          : bi_csv_find(table, names[i], &columns[i], err);
    return st;
}

bool bi_targets_belongs(const char *name, const char *head)
{
    const size_t n = name ? strlen(name) : 0;
    size_t part;
    if (!name || !strcmp(name, head))
        return true;
    for (;; head += part + 1) {
        part = strcspn(head, ".");
        if (n == part && !memcmp(name, head, n))
            return true;
        if (!head[part])
            return false;
    }
}

static int no_room(const char *path, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "%s: no memory for its lines", path);
}

/* Copies a cell, "" where there is none; NULL: no memory. */
static char *copy_cell(const struct bi_csv *table, const struct bi_csv_row *row, int column)
{
    const char *cell = bi_csv_cell(table, row, column);
    return bi_strdup(&table->env, cell ? cell : "");
}

/* Reads track n of the table. */
static int read_track(struct bi_targets *t, int n, const struct bi_csv *table,
                      const struct bi_csv_row *row, const int *columns, struct bioinfer_error *err)
{
    const char *other = bi_csv_cell(table, row, columns[PAIR]);
    char *end = NULL;
    long pair = other ? strtol(other, &end, 10) : n;
    t->of[n].identifier = copy_cell(table, row, columns[IDENTIFIER]);
    t->of[n].description = copy_cell(table, row, columns[DESCRIPTION]);
    t->of[n].ontology = copy_cell(table, row, columns[ONTOLOGY]);
    t->pairs[n] = n;
    if (!t->of[n].identifier || !t->of[n].description || !t->of[n].ontology)
        return no_room(table->path, err);
    if (!*t->of[n].identifier)
        return bi_csv_fail(table, row, err, "no identifier");
    if (other && (end == other || *end || pair < 0 || pair >= t->n))
        return bi_csv_fail(table, row, err, "strand_pair '%.40s' is no track", other);
    t->pairs[n] = (int)pair;
    return 0;
}

/* Says that a table is not of this head. */
static int other_count(const char *path, int n, const char *head, int n_tracks,
                       struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT,
                   "%s: %d tracks of %s, the head has %d: targets takes its own table", path, n,
                   head, n_tracks);
}

/* Gives the next row of a head: 1; 0 = there is none; < 0 = the row is faulty, and *err says it. */
static int next_track(const struct bi_csv *table, const int *columns, const char *head, size_t *at,
                      const struct bi_csv_row **row, struct bioinfer_error *err)
{
    int st;
    while ((st = bi_csv_next(table, at, row, err)) > 0)
        if (bi_targets_belongs(bi_csv_cell(table, *row, columns[HEAD]), head))
            break;
    return st;
}

static int read_tracks(struct bi_targets *t, const struct bi_csv *table, const char *head,
                       int n_tracks, struct bioinfer_error *err)
{
    const struct bi_csv_row *row;
    int columns[N_COLUMNS], n = 0, st;
    size_t at = 0;
    t->of = bi_calloc(&table->env, (size_t)n_tracks, sizeof *t->of);
    t->pairs = bi_calloc(&table->env, (size_t)n_tracks, sizeof *t->pairs);
    if (!t->of || !t->pairs)
        return no_room(table->path, err);
    if ((st = bi_targets_columns(table, column_names, N_COLUMNS, IDENTIFIER + 1, columns, err)))
        return st;
    t->has_pairs = columns[PAIR] >= 0;
    t->has_ontology = columns[ONTOLOGY] >= 0;
    while ((st = next_track(table, columns, head, &at, &row, err)) > 0) {
        if (n < n_tracks && (st = read_track(t, n, table, row, columns, err)))
            return st;
        n++;
    }
    if (st)
        return st;
    return n == n_tracks ? 0 : other_count(table->path, n, head, n_tracks, err);
}

int bi_targets_read(const struct bi_env *env, struct bi_targets *t, const char *path,
                    const char *head, int n_tracks, struct bioinfer_error *err)
{
    struct bi_csv table = {0};
    int n, st;
    *t = (struct bi_targets){.n = n_tracks, .path = path};
    if ((st = bi_targets_count(env, &n, path, head, err)))
        return st;
    if (n && n != n_tracks) /* pairs of such a table are wrong, too */
        return other_count(path, n, head, n_tracks, err);
    if (!(st = bi_targets_table(env, &table, path, err)))
        st = read_tracks(t, &table, head, n_tracks, err);
    bi_csv_free(&table);
    return st;
}

int bi_targets_count(const struct bi_env *env, int *n_tracks, const char *path, const char *head,
                     struct bioinfer_error *err)
{
    struct bi_csv table = {0};
    const struct bi_csv_row *row;
    int columns[N_COLUMNS], n = 0, st = bi_targets_table(env, &table, path, err);
    size_t at = 0;
    if (!st)
        st = bi_targets_columns(&table, column_names, N_COLUMNS, 0, columns, err);
    if (!st)
        while ((st = next_track(&table, columns, head, &at, &row, err)) > 0)
            n++;
    bi_csv_free(&table);
    *n_tracks = n;
    return st;
}

void bi_targets_free(const struct bi_env *env, struct bi_targets *t)
{
    for (int i = 0; t->of && i < t->n; i++) {
        bi_free(env, t->of[i].identifier);
        bi_free(env, t->of[i].description);
        bi_free(env, t->of[i].ontology);
    }
    bi_free(env, t->of);
    bi_free(env, t->pairs);
    *t = (struct bi_targets){0};
}

/* ---- lists ---- */

bool bi_track_matches(const char *pattern, const char *text)
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

static bool take(const struct bi_env *env, struct bi_selection *s, int track)
{
    if (!bi_grow(env, &s->of, &s->cap, (size_t)s->n + 1, sizeof *s->of))
        return false;
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
static bool is_meant(const char *part, const struct bi_track_name *t, const char *output)
{
    char all[1200];
    if (bi_track_matches(part, t->identifier))
        return true;
    if (!strchr(part, '*'))
        return false;
    snprintf(all, sizeof all, "%s %s %s", output, t->identifier, t->description);
    return bi_track_matches(part, t->description) || bi_track_matches(part, all);
}

static int no_choice(struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "the choice of tracks");
}

static int select_part(const struct bi_env *env, struct bi_selection *s, const char *part,
                       const struct bi_targets *t, const char *output, int n_tracks,
                       struct bioinfer_error *err)
{
    long first, last;
    if (is_range(part, &first, &last)) {
        if (first > last || last >= n_tracks)
            return bi_fail(err, BIOINFER_INVALID, "tracks: %s: the head has tracks 0 to %d", part,
                           n_tracks - 1);
        for (long i = first; i <= last; i++)
            if (!take(env, s, (int)i))
                return no_choice(err);
        return 0;
    }
    if (!t->of)
        return bi_fail(err, BIOINFER_INVALID,
                       "tracks: '%s' is no number; names need the table: targets", part);
    for (int i = 0; i < t->n; i++)
        if (is_meant(part, &t->of[i], output) && !take(env, s, i))
            return no_choice(err);
    return 0;
}

int bi_wish_open(const struct bi_env *env, struct bi_wish *w, const char *tracks,
                 const char *ontology, struct bioinfer_error *err)
{
    const char *lists[] = {tracks, ontology}, *names[] = {"tracks", "ontology"};
    char **hits[] = {&w->tracks_hit, &w->ontology_hit};
    *w = (struct bi_wish){.tracks = tracks, .ontology = ontology};
    for (int i = 0; i < 2; i++) {
        if (lists[i] && !lists[i][strspn(lists[i], ",")])
            return bi_fail(err, BIOINFER_INVALID, "%s: the list is empty", names[i]);
        if (lists[i] && !(*hits[i] = bi_calloc(env, strlen(lists[i]) + 1, 1)))
            return bi_fail(err, BIOINFER_NOMEM, "the lists of tracks");
    }
    return 0;
}

void bi_wish_close(const struct bi_env *env, struct bi_wish *w)
{
    bi_free(env, w->tracks_hit);
    bi_free(env, w->ontology_hit);
    *w = (struct bi_wish){0};
}

bool bi_wish_needs_table(const struct bi_wish *w)
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
static int select_list(const struct bi_env *env, struct bi_selection *s, const struct bi_wish *w,
                       const struct bi_targets *t, const char *output, int n_tracks,
                       struct bioinfer_error *err)
{
    char *copy = bi_strdup(env, w->tracks), *part, *rest;
    int st = copy ? 0 : no_choice(err);
    for (part = copy ? strtok_r(copy, ",", &rest) : NULL; part && !st;
         part = strtok_r(NULL, ",", &rest)) {
        const int before = s->n;
        st = select_part(env, s, part, t, output, n_tracks, err);
        w->tracks_hit[part - copy] |= s->n > before;
    }
    bi_free(env, copy);
    return st;
}

/* Is the term one of the list? Notes which. */
static bool has_term(const struct bi_wish *w, const char *term)
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

int bi_selection_read(const struct bi_env *env, struct bi_selection *s, const struct bi_wish *w,
                      const struct bi_targets *t, const char *output, int n_tracks,
                      struct bioinfer_error *err)
{
    int n = 0, st;
    *s = (struct bi_selection){0};
    if (w->tracks && (st = select_list(env, s, w, t, output, n_tracks, err)))
        return st;
    for (int i = 0; !w->tracks && i < n_tracks; i++)
        if (!take(env, s, i))
            return no_choice(err);
    if (!w->ontology)
        return 0;
    if (!t->of || !t->has_ontology)
        return bi_fail(err, t->of ? BIOINFER_FORMAT : BIOINFER_INVALID,
                       "%s: the header has no column 'ontology'", t->path ? t->path : "ontology");
    for (int i = 0; i < s->n; i++) /* tracks of no sample, such as splice sites, stay */
        if (!*t->of[s->of[i]].ontology || has_term(w, t->of[s->of[i]].ontology))
            s->of[n++] = s->of[i];
    s->n = n;
    return 0;
}

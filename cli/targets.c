/* targets.c - the table of an output's tracks, and which of them --tracks and --ontology mean.
 *
 * The table is the tab-separated one of basenji and baskerville: a header line, one line per track
 * in the head's order; columns are found by name, `identifier` must be there. Lines that begin with
 * '#' in front of the header are skipped. A table with a column `head` has the tracks of several
 * heads: a row belongs to those of its name, or with its name between dots. A column `ontology` has
 * the terms that --ontology takes. */
#include "tracks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int no_room(const char *path)
{
    cli_say(NULL, "%s: out of memory for its lines", path);
    return CLI_EXIT_NO_MEMORY;
}

/* Reads track n of the table; an exit code. */
static int read_track(struct targets *t, int n, const char *line, const int *columns,
                      const char *path, int number)
{
    char *end = NULL, *other = table_copy(line, columns[2]);
    const bool paired = columns[2] >= 0;
    long pair = other && paired ? strtol(other, &end, 10) : n;
    int code = CLI_EXIT_DATA;

    t->of[n].identifier = table_copy(line, columns[0]);
    t->of[n].description = table_copy(line, columns[1]);
    t->of[n].ontology = table_copy(line, columns[4]);
    if (!other || !t->of[n].identifier || !t->of[n].description || !t->of[n].ontology)
        code = no_room(path);
    else if (!*t->of[n].identifier)
        cli_say(NULL, "%s: line %d: no identifier", path, number);
    else if (paired && (end == other || *end || pair < 0 || pair >= t->n))
        cli_say(NULL, "%s: line %d: strand_pair '%.40s' is no track", path, number, other);
    else
        code = CLI_EXIT_OK;
    t->pairs[n] = code ? n : (int)pair;
    free(other);
    return code;
}

/* Says that a table is not of this head. */
static int other_count(const char *path, int n, const char *head, int n_tracks)
{
    cli_say(NULL, "%s: %d tracks of %s, the head has %d: --targets FILE takes its own table", path,
            n, head, n_tracks);
    return CLI_EXIT_DATA;
}

static int read_lines(struct targets *t, char *text, const char *path, const char *head,
                      int n_tracks)
{
    /* identifier, description, strand_pair, head, ontology */
    int columns[5] = {-1, -1, -1, -1, -1}, number = 0, n = 0, code;
    bool begun = false;

    t->of = calloc((size_t)n_tracks, sizeof *t->of);
    t->pairs = calloc((size_t)n_tracks, sizeof *t->pairs);
    if (!t->of || !t->pairs)
        return no_room(path);
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        line[strcspn(line, "\r")] = 0;
        number++;
        if (!begun && *line == '#')
            continue;
        if (!begun) {
            begun = true;
            columns[0] = table_column(line, "identifier");
            columns[1] = table_column(line, "description");
            columns[2] = table_column(line, "strand_pair");
            columns[3] = table_column(line, "head");
            columns[4] = table_column(line, "ontology");
            if (columns[0] < 0) {
                cli_say(NULL, "%s: the header has no column 'identifier'", path);
                return CLI_EXIT_DATA;
            }
            t->has_pairs = columns[2] >= 0;
            t->has_ontology = columns[4] >= 0;
        } else if (*line && table_belongs(line, columns[3], head)) {
            if (n < n_tracks && (code = read_track(t, n, line, columns, path, number)))
                return code;
            n++;
        }
    }
    return n == n_tracks ? CLI_EXIT_OK : other_count(path, n, head, n_tracks);
}

int targets_read(struct targets *t, const char *path, const char *head, int n_tracks)
{
    char *text;
    int n, code;

    *t = (struct targets){.n = n_tracks, .path = path};
    if ((code = targets_count(&n, path, head)))
        return code;
    if (n && n != n_tracks) /* pairs of such a table are wrong, too */
        return other_count(path, n, head, n_tracks);
    if ((code = table_read(&text, path)))
        return code;
    code = read_lines(t, text, path, head, n_tracks);
    free(text);
    return code;
}

int targets_count(int *n_tracks, const char *path, const char *head)
{
    char *text;
    int column = -1, n = 0, code;
    bool begun = false;

    if ((code = table_read(&text, path)))
        return code;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        line[strcspn(line, "\r")] = 0;
        if (!begun && *line != '#')
            column = table_column(line, "head");
        else if (begun && *line && table_belongs(line, column, head))
            n++;
        begun |= *line != '#';
    }
    free(text);
    *n_tracks = n;
    return CLI_EXIT_OK;
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

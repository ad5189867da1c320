/* targets.c - the table of a head's tracks, and which of them --tracks means.
 *
 * The table is the tab-separated one of basenji and baskerville: a header line, one line per
 * track in the head's order; columns are found by name, `identifier` must be there. */
#include "tracks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TABLE = 64 << 20 };

/* Column of a header, -1 = none. */
static int column_of(const char *header, const char *name)
{
    size_t len = strlen(name);

    for (int i = 0;; i++) {
        size_t n = strcspn(header, "\t");
        if (n == len && !memcmp(header, name, len))
            return i;
        if (!header[n])
            return -1;
        header += n + 1;
    }
}

/* Field of a line; *len its length. NULL: there are fewer. */
static const char *field_of(const char *line, int column, size_t *len)
{
    for (; column > 0; column--) {
        line = strchr(line, '\t');
        if (!line)
            return NULL;
        line++;
    }
    *len = strcspn(line, "\t");
    return line;
}

static char *copy_field(const char *line, int column)
{
    size_t n = 0;
    const char *p = column < 0 ? NULL : field_of(line, column, &n);
    char *copy = malloc(n + 1);

    if (copy) {
        memcpy(copy, p ? p : "", n);
        copy[n] = 0;
    }
    return copy;
}

static bool read_lines(struct targets *t, char *text, const char *path, int n_tracks)
{
    int identifier = -1, description = -1, pair = -1, number = 0, n = 0;

    t->of = calloc((size_t)n_tracks, sizeof *t->of);
    t->pairs = calloc((size_t)n_tracks, sizeof *t->pairs);
    if (!t->of || !t->pairs)
        return false;
    for (char *line = text, *next; line && *line; line = next) {
        size_t len = strcspn(line, "\r\n");
        next = line + len + strspn(line + len, "\r\n");
        line[len] = 0;
        if (!number++) {
            identifier = column_of(line, "identifier");
            description = column_of(line, "description");
            pair = column_of(line, "strand_pair");
            if (identifier < 0) {
                cli_say(NULL, "%s: the header has no column 'identifier'", path);
                return false;
            }
            t->has_pairs = pair >= 0;
            continue;
        }
        if (n < n_tracks) {
            char *end, *other = copy_field(line, pair);
            t->of[n].identifier = copy_field(line, identifier);
            t->of[n].description = copy_field(line, description);
            t->pairs[n] = other && pair >= 0 ? (int)strtol(other, &end, 10) : n;
            if (!other || !t->of[n].identifier || !t->of[n].description)
                return free(other), false;
            if (pair >= 0 && (end == other || *end || t->pairs[n] < 0 ||
                              t->pairs[n] >= n_tracks)) {
                cli_say(NULL, "%s: line %d: strand_pair '%.40s' is no track", path, number,
                        other);
                return free(other), false;
            }
            free(other);
        }
        n++;
    }
    if (n != n_tracks) {
        cli_say(NULL, "%s: %d tracks, the head has %d", path, n, n_tracks);
        return false;
    }
    return true;
}

int targets_read(struct targets *t, const char *path, int n_tracks)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long size;
    bool ok;

    *t = (struct targets){.n = n_tracks};
    if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || size > MAX_TABLE ||
        fseek(f, 0, SEEK_SET)) {
        if (f)
            fclose(f);
        cli_say(NULL, "%s: cannot be read as a table of tracks", path);
        return CLI_EXIT_NO_INPUT;
    }
    text = calloc((size_t)size + 1, 1);
    ok = text && fread(text, 1, (size_t)size, f) == (size_t)size &&
         strlen(text) == (size_t)size;
    fclose(f);
    if (!ok)
        cli_say(NULL, "%s: not text", path);
    ok = ok && read_lines(t, text, path, n_tracks);
    free(text);
    return ok ? CLI_EXIT_OK : CLI_EXIT_DATA;
}

void targets_free(struct targets *t)
{
    for (int i = 0; t->of && i < t->n; i++) {
        free(t->of[i].identifier);
        free(t->of[i].description);
    }
    free(t->of);
    free(t->pairs);
    *t = (struct targets){0};
}

/* '*' stands for any characters; case does not matter. */
static bool matches(const char *pattern, const char *text)
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

static int select_part(struct selection *s, const char *part, const struct targets *t,
                       int n_tracks)
{
    long first, last;
    int before = s->n;

    if (is_range(part, &first, &last)) {
        if (first > last || last >= n_tracks) {
            cli_say(NULL, "--tracks: %s: the head has tracks 0 to %d", part, n_tracks - 1);
            return CLI_EXIT_USAGE;
        }
        for (long i = first; i <= last; i++)
            if (!take(s, (int)i))
                return CLI_EXIT_NO_MEMORY;
        return CLI_EXIT_OK;
    }
    if (!t->of) {
        cli_say(NULL, "--tracks: '%s' is no number; names need the table: --targets FILE",
                part);
        return CLI_EXIT_USAGE;
    }
    for (int i = 0; i < t->n; i++)
        if (matches(part, t->of[i].identifier) ||
            (strchr(part, '*') && matches(part, t->of[i].description)))
            if (!take(s, i))
                return CLI_EXIT_NO_MEMORY;
    if (s->n == before) {
        cli_say(NULL, "--tracks: no track is called '%s'", part);
        return CLI_EXIT_USAGE;
    }
    return CLI_EXIT_OK;
}

int selection_read(struct selection *s, const char *list, const struct targets *t,
                   int n_tracks)
{
    int code = CLI_EXIT_OK;
    char *copy, *part, *rest;

    *s = (struct selection){0};
    if (!list) {
        for (int i = 0; i < n_tracks; i++)
            if (!take(s, i))
                return CLI_EXIT_NO_MEMORY;
        return CLI_EXIT_OK;
    }
    if (!(copy = malloc(strlen(list) + 1)))
        return CLI_EXIT_NO_MEMORY;
    strcpy(copy, list);
    for (part = strtok_r(copy, ",", &rest); part && !code; part = strtok_r(NULL, ",", &rest))
        code = select_part(s, part, t, n_tracks);
    free(copy);
    if (!code && !s->n) {
        cli_say(NULL, "--tracks: the list is empty");
        code = CLI_EXIT_USAGE;
    }
    return code;
}

void track_name(char *name, size_t size, const struct targets *t, int track)
{
    if (t->of)
        snprintf(name, size, "%s", t->of[track].identifier);
    else
        snprintf(name, size, "track_%d", track);
}

/* table.c - tables with tabs: the whole text, and fields of its lines by the names of columns. */
#include "tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TABLE = 256 << 20 };

int table_read(char **text, const char *path)
{
    FILE *f = fopen(path, "rb");
    long size;
    bool ok, failed;
    int error;

    *text = NULL;
    if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || size > MAX_TABLE ||
        fseek(f, 0, SEEK_SET)) {
        if (f)
            fclose(f);
        cli_say(NULL, "%s: cannot be read as a table of tracks", path);
        return CLI_EXIT_NO_INPUT;
    }
    *text = calloc((size_t)size + 1, 1);
    if (!*text) {
        cli_say(NULL, "%s: out of memory for a table of %ld bytes", path, size);
        fclose(f);
        return CLI_EXIT_NO_MEMORY;
    }
    ok = fread(*text, 1, (size_t)size, f) == (size_t)size && strlen(*text) == (size_t)size;
    error = errno;
    failed = ferror(f);
    fclose(f);
    if (ok)
        return CLI_EXIT_OK;
    cli_say(NULL, "%s: %s", path, failed ? strerror(error) : "not text");
    free(*text);
    *text = NULL;
    return failed ? CLI_EXIT_IO : CLI_EXIT_DATA;
}

char *table_line(char **at)
{
    char *line = *at, *end;

    if (!line)
        return NULL;
    end = strchr(line, '\n');
    *at = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    line[strcspn(line, "\r")] = '\0';
    return line;
}

int table_column(const char *header, const char *name)
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

const char *table_field(const char *line, int column, size_t *len)
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

char *table_copy(const char *line, int column)
{
    size_t n = 0;
    const char *p = column < 0 ? NULL : table_field(line, column, &n);
    char *copy = malloc(n + 1);

    if (copy) {
        memcpy(copy, p ? p : "", n);
        copy[n] = 0;
    }
    return copy;
}

bool table_belongs(const char *line, int column, const char *head)
{
    size_t n = 0, part;
    const char *name = column < 0 ? NULL : table_field(line, column, &n);

    if (column < 0 || (name && n == strlen(head) && !memcmp(name, head, n)))
        return true;
    for (; name; head += part + 1) {
        part = strcspn(head, ".");
        if (n == part && !memcmp(name, head, n))
            return true;
        if (!head[part])
            break;
    }
    return false;
}

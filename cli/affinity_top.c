/* affinity_top.c - the best rows of a table of energies, in the memory of these rows. */
#include "affinity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct row {
    double energy;
    uint64_t place; /* in the table: of equal energies the first one is better */
    char *text;     /* the line, with its end */
};

static bool is_worse(const struct row *a, const struct row *b)
{
    return a->energy > b->energy || (a->energy >= b->energy && a->place > b->place);
}

static int compare(const void *a, const void *b)
{
    return is_worse(a, b) ? 1 : -1;
}

/* Moves row `at` of a heap with the worst row at its top to where it belongs. */
static void sink(struct row *heap, size_t n, size_t at)
{
    for (;;) {
        size_t top = at;
        for (size_t k = 2 * at + 1; k <= 2 * at + 2 && k < n; k++)
            if (is_worse(&heap[k], &heap[top]))
                top = k;
        if (top == at)
            return;
        struct row t = heap[at];
        heap[at] = heap[top];
        heap[top] = t;
        at = top;
    }
}

/* Finds column `wanted` of a line; NULL: it has none. */
static const char *column(const char *line, int wanted)
{
    for (; line && wanted; wanted--)
        line = (line = strchr(line, '\t')) ? line + 1 : NULL;
    return line;
}

/* The energy of a line that has one with pairs behind it. */
static bool energy_of(const char *line, double *energy)
{
    const char *text = column(line, CLI_AFFINITY_ENERGY);
    char *end;
    if (!text)
        return false;
    *energy = strtod(text, &end);
    return end != text && *end == '\t' && strtoull(end + 1, NULL, 10) > 0;
}

/* Keeps the n best rows of the file in heap[0, *kept). */
static int find_best(FILE *file, struct row *heap, size_t n, size_t *kept)
{
    char *line = NULL;
    size_t size = 0;
    int st = 0;
    for (uint64_t place = 0; !st && getline(&line, &size, file) >= 0; place++) {
        struct row row = {.place = place};
        if (!place || !energy_of(line, &row.energy))
            continue;
        if (*kept == n && !is_worse(&heap[0], &row))
            continue;
        if (!(row.text = strdup(line))) {
            st = BIOINFER_NOMEM;
            break;
        }
        if (*kept < n) {
            heap[(*kept)++] = row;
            for (size_t k = n / 2; *kept == n && k-- > 0;)
                sink(heap, n, k);
            continue;
        }
        free(heap[0].text);
        heap[0] = row;
        sink(heap, n, 0);
    }
    if (!st && !feof(file)) /* a failed read, or no memory for a line */
        st = ferror(file) ? BIOINFER_IO : BIOINFER_NOMEM;
    free(line);
    return st;
}

int cli_affinity_top(struct cli *cli, const char *path, int64_t n, char **to)
{
    struct row *heap = calloc((size_t)n, sizeof *heap);
    FILE *file = fopen(path, "r");
    const size_t size = strlen(path) + 16;
    char *name = malloc(size);
    struct cli_output out = {0};
    struct bioinfer_error err = {0};
    size_t kept = 0, stem = strlen(path);
    int st = heap && name ? 0 : BIOINFER_NOMEM;
    if (!st && !file) {
        st = BIOINFER_IO;
        snprintf(err.text, sizeof err.text, "%.900s: %s", path, strerror(errno));
    }
    if (!st && !(st = find_best(file, heap, (size_t)n, &kept))) {
        qsort(heap, kept, sizeof *heap, compare);
        stem -= stem > 4 && !strcmp(path + stem - 4, ".tsv") ? 4 : 0;
        snprintf(name, size, "%.*s.top%s", (int)stem, path, path + stem);
        st = cli_output_open(&out, name, &err);
    }
    if (!st) {
        cli_output_printf(&out, "%s", CLI_AFFINITY_HEAD);
        for (size_t i = 0; i < kept; i++)
            cli_output_write(&out, heap[i].text, strlen(heap[i].text));
        st = cli_output_finish(&out, &err);
    }
    if (!st && !cli->options->quiet)
        cli_say(cli, "the %zu of least energy -> %s", kept, name);
    for (size_t i = 0; heap && i < kept; i++)
        free(heap[i].text);
    cli_output_close(&out);
    if (file)
        fclose(file);
    free(heap);
    if (!st)
        *to = name;
    else
        free(name);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

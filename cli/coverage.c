/* coverage.c - windows as coverage along contigs: one bedGraph or BigWig file per track. */
#include "tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One window, kept until the end. */
struct covered {
    char *contig;
    int64_t length, start, n_bins;
    size_t number; /* in the input */
    float *values;
};

int coverage_open(struct coverage *c, struct cli *cli)
{
    struct stat st;

    if (mkdir(c->folder, 0777) && errno != EEXIST) {
        cli_say(cli, "%s: %s", c->folder, strerror(errno));
        return CLI_EXIT_NO_OUTPUT;
    }
    if (stat(c->folder, &st) || !S_ISDIR(st.st_mode)) {
        cli_say(cli, "%s: is a file; these formats write a folder, one file per track", c->folder);
        return CLI_EXIT_NO_OUTPUT;
    }
    return CLI_EXIT_OK;
}

int coverage_put(struct coverage *c, const char *contig, int64_t length, int64_t start,
                 int64_t n_bins, const float *values)
{
    struct covered v = {.length = length, .start = start, .n_bins = n_bins, .number = c->n};
    int64_t skip = start < 0 ? (-start + c->bin_size - 1) / c->bin_size : 0;
    int64_t there = start < length ? (length - start + c->bin_size - 1) / c->bin_size : 0;
    size_t row = (size_t)c->n_tracks;

    v.n_bins = (n_bins < there ? n_bins : there) - skip;
    if (v.n_bins <= 0)
        return CLI_EXIT_OK;
    v.start += skip * c->bin_size;
    if (c->n == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 64;
        struct covered *of = realloc(c->of, cap * sizeof *of);
        if (!of)
            return CLI_EXIT_NO_MEMORY;
        c->of = of;
        c->cap = cap;
    }
    v.contig = malloc(strlen(contig) + 1);
    v.values = malloc((size_t)v.n_bins * row * sizeof *v.values);
    if (!v.contig || !v.values) {
        free(v.contig);
        free(v.values);
        return CLI_EXIT_NO_MEMORY;
    }
    strcpy(v.contig, contig);
    memcpy(v.values, values + (size_t)skip * row, (size_t)v.n_bins * row * sizeof *values);
    c->of[c->n++] = v;
    return CLI_EXIT_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct covered *x = a, *y = b;
    int order = strcmp(x->contig, y->contig);

    if (order)
        return order;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* The group of windows from `first` on, one contig, each overlapping or touching what came
 * before; *end behind its last. False: two of them are not on one grid. */
static bool find_group(const struct coverage *c, size_t first, size_t *end, int64_t *n_bins)
{
    const struct covered *a = &c->of[first];
    int64_t last = a->start + a->n_bins * c->bin_size;
    size_t i = first + 1;

    for (; i < c->n && !strcmp(c->of[i].contig, a->contig) && c->of[i].start < last; i++) {
        int64_t to = c->of[i].start + c->of[i].n_bins * c->bin_size;
        if ((c->of[i].start - a->start) % c->bin_size)
            return false;
        last = to > last ? to : last;
    }
    *end = i;
    *n_bins = (last - a->start) / c->bin_size;
    return true;
}

/* Means over the windows of a group, in input order. NULL: no memory. */
static float *merge(const struct coverage *c, size_t first, size_t end, int64_t n_bins, int track)
{
    float *values = calloc((size_t)n_bins, sizeof *values);
    int *count = calloc((size_t)n_bins, sizeof *count);

    for (size_t i = first; values && count && i < end; i++) {
        const struct covered *v = &c->of[i];
        int64_t at = (v->start - c->of[first].start) / c->bin_size;
        for (int64_t b = 0; b < v->n_bins; b++) {
            values[at + b] += v->values[b * c->n_tracks + track];
            count[at + b]++;
        }
    }
    for (int64_t b = 0; values && count && b < n_bins; b++)
        if (count[b] > 1)
            values[b] /= (float)count[b];
    if (!count) {
        free(values);
        values = NULL;
    }
    free(count);
    return values;
}

/* Runs of bins with the same bits are one line. */
static void put_bedgraph(struct cli_output *out, const struct covered *v, int64_t bin,
                         const float *values, int64_t n)
{
    for (int64_t b = 0, next; b < n; b = next) {
        int64_t end;
        for (next = b + 1; next < n && !memcmp(&values[b], &values[next], sizeof *values); next++)
            ;
        end = v->start + next * bin;
        cli_output_printf(out, "%s\t%lld\t%lld\t%.9g\n", v->contig, (long long)(v->start + b * bin),
                          (long long)(end < v->length ? end : v->length), (double)values[b]);
    }
}

static int write_track(struct coverage *c, struct cli *cli, int track, const char *path)
{
    struct cli_output text = {0};
    struct bioinfer_error err = {0};
    bioinfer_bigwig *wig = NULL;
    int st = c->bigwig ? bioinfer_bigwig_open(&wig, cli->ctx, path, &err)
                       : cli_output_open(&text, path, &err);

    if (st)
        return cli_fail(cli, CLI_AT_CREATE, st, &err);
    for (size_t i = 0, end; !st && i < c->n; i = end) {
        int64_t n_bins;
        float *values;
        find_group(c, i, &end, &n_bins); /* checked before */
        if (!(values = merge(c, i, end, n_bins, track)))
            st = BIOINFER_NOMEM;
        else if (c->bigwig)
            st = bioinfer_bigwig_put(wig, c->of[i].contig, c->of[i].length, c->of[i].start,
                                     c->bin_size, values, n_bins, &err);
        else
            put_bedgraph(&text, &c->of[i], c->bin_size, values, n_bins);
        free(values);
    }
    if (c->bigwig) {
        if (!st)
            st = bioinfer_bigwig_finish(wig, &err);
        bioinfer_bigwig_close(&wig);
    } else {
        if (!st)
            st = cli_output_finish(&text, &err);
        cli_output_close(&text);
    }
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

int coverage_finish(struct coverage *c, struct cli *cli)
{
    int code = CLI_EXIT_OK;

    if (c->n) /* of none there is no array either */
        qsort(c->of, c->n, sizeof *c->of, by_place);
    for (size_t i = 0, end; i < c->n; i = end) {
        int64_t n_bins;
        if (find_group(c, i, &end, &n_bins))
            continue;
        cli_say(cli,
                "%s from %lld on: windows overlap, and not by whole bins of %lld bases: "
                "their values do not fit one file",
                c->of[i].contig, (long long)c->of[i].start, (long long)c->bin_size);
        return CLI_EXIT_DATA;
    }
    for (int k = 0; !code && k < c->n_tracks; k++) {
        char name[200], path[4096];
        track_name(name, sizeof name, c->targets, c->tracks[k]);
        for (char *p = name; *p; p++) /* a name is no path */
            *p = *p == '/' || (unsigned char)*p < ' ' ? '_' : *p;
        if (c->targets->of) /* identifiers may repeat, numbers do not */
            snprintf(path, sizeof path, "%.3600s/%d_%s.%s", c->folder, c->tracks[k], name,
                     c->bigwig ? "bw" : "bedgraph");
        else
            snprintf(path, sizeof path, "%.3600s/%s.%s", c->folder, name,
                     c->bigwig ? "bw" : "bedgraph");
        code = write_track(c, cli, k, path);
    }
    return code;
}

void coverage_close(struct coverage *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->of[i].contig);
        free(c->of[i].values);
    }
    free(c->of);
    c->of = NULL;
    c->n = 0;
}

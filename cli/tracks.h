/* tracks.h - what the files of `bioinfer MODEL INPUT` share for models of DNA windows.
 *
 *   tracks.c    windows, intervals, variants, mutagenesis
 *   targets.c   the table of tracks and --tracks
 *   coverage.c  bedGraph and BigWig */
#ifndef BI_CLI_TRACKS_H
#define BI_CLI_TRACKS_H

#include "cli.h"

/* ---- targets.c ---- */

struct target {
    char *identifier, *description;
};

struct targets {
    struct target *of; /* NULL = no table */
    const char *path;  /* of the table, the caller's */
    int *pairs;        /* the other strand's track of each */
    bool has_pairs;
    int n;
};

/* Each returns an exit code, its words said. */
int targets_read(struct targets *t, const char *path, int n_tracks);
void targets_free(struct targets *t);

struct selection {
    int *of, n, cap;
};

/* list NULL = all. */
int selection_read(struct selection *s, const char *list, const struct targets *t, int n_tracks);
void track_name(char *name, size_t size, const struct targets *t, int track);

/* ---- places.c ---- */

/* 0, or why the place is none of the genome: the reason goes to text. */
int check_place(const bioinfer_genome *genome, const struct bioinfer_locus *l, char *text,
                size_t size);

/* ---- coverage.c ---- */

struct coverage {
    bool bigwig;
    const char *folder;
    int n_tracks;
    const int *tracks;
    const struct targets *targets;
    int64_t bin_size;
    struct covered *of;
    size_t n, cap;
};

/* Makes the folder. */
int coverage_open(struct coverage *c, struct cli *cli);
/* values: [n_bins, n_tracks] from base `start` on (may be negative: such bins are left out). */
int coverage_put(struct coverage *c, const char *contig, int64_t length, int64_t start,
                 int64_t n_bins, const float *values);
/* One file per track; where windows overlap on one grid of bins, their mean. */
int coverage_finish(struct coverage *c, struct cli *cli);
void coverage_close(struct coverage *c);

#endif

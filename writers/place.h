/* place.h - where the arrays of a window lie on a genome.
 *
 * A result may have a text "window" in front of its others, with a line for each of its arrays:
 * contig, its length, the place of the first bin (it may be negative) and the bases of a bin, with
 * tabs between. */
#ifndef BI_PLACE_H
#define BI_PLACE_H

#include "writer.h"

struct bi_window_place {
    const char *contig; /* [n_contig], inside the text */
    size_t n_contig;
    long long length, start, bin_size;
};

/* Does a result say where its arrays lie? True where text 0 is "window", whatever stands in it. */
bool bi_has_places(const struct bioinfer_result *r);
/* Reads line `number` of the text; *last: no line follows, not even an empty one. False: there is
 * no such line, or it says nothing of the kind, or the result has no such text; *p and *last are
 * not to be read then. Line 0 is the first. Numbers are below 2^61, bin_size is 1 to 2^30 - 1. */
bool bi_read_place(const struct bioinfer_result *r, int number, struct bi_window_place *p,
                   bool *last);

#endif

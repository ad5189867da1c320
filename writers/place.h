/* place.h - where the arrays of a window lie on a genome.
 *
 * A result may have a text "window" in front of its others, with a line for each of its arrays:
 * contig, its length, the place of the first bin (it may be negative) and the bases of a bin, with
 * tabs between. */
#ifndef BI_PLACE_H
#define BI_PLACE_H

#include "writer.h"

struct bi_place {
    const char *contig; /* [n_contig], inside the text */
    size_t n_contig;
    long long length, start, bin_size;
};

/* Does a result say where its arrays lie? */
bool bi_has_places(const struct bioinfer_result *r);
/* Reads line `number` of the text; *last: no line follows. False: there is no such line, or it says
 * nothing of the kind, and *p is not to be read. Line 0 is the first. */
bool bi_read_place(const struct bioinfer_result *r, int number, struct bi_place *p, bool *last);

#endif

/* oracle.h - alignment once more, written without a look at ops/align.c: the best over all ways,
 * by recursion from the front with the states of a finished column, in 64 bits. The enumeration
 * and the costs of CIGARs know gaps by their lengths alone. */
#ifndef BI_ALIGN_ORACLE_H
#define BI_ALIGN_ORACLE_H

#include "../../include/bioinfer.h"

struct oracle_scoring {
    int score[32][32]; /* [query][target] */
    int open, extend;
    int open2, extend2; /* a second piece; open2 0: none */
    unsigned free_ends;
    int local;
};

/* Score of the best alignment of codes q[n] and t[m]. */
int64_t oracle_score(const struct oracle_scoring *s, const uint8_t *q, int n, const uint8_t *t,
                     int m);
/* Cost of a CIGAR, free ends included; INT64_MIN when it does not fit the sequences. */
int64_t oracle_cigar(const struct oracle_scoring *s, const uint8_t *q, const uint8_t *t,
                     const struct bioinfer_alignment *a, int64_t n, int64_t m);
/* The best score by trying every alignment, for sequences of a few residues. */
int64_t oracle_enumerate(const struct oracle_scoring *s, const uint8_t *q, int n, const uint8_t *t,
                         int m);

#endif

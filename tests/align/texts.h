/* texts.h - random sequences, and others like them. */
#ifndef BI_ALIGN_TEXTS_H
#define BI_ALIGN_TEXTS_H

#include "../../include/bioinfer.h"

struct text {
    char *letters;  /* n, as in `letters` of the calls */
    uint8_t *codes; /* their places there */
    int n;
};

void texts_seed(uint64_t seed); /* not 0 */
/* Takes the arguments [random pairs] [seed] of a test, and gives how many pairs there are to be:
 * n_random without an argument. Ends the test where it is none. */
long texts_arguments(int argc, char **argv, long n_random);
uint32_t below(uint32_t n);
struct text random_text(int n, int n_letters, const char *letters);
/* A copy with substitutions, and pieces left out or put in. */
struct text relative(const struct text *a, int percent, int n_letters, const char *letters);
void free_text(struct text *t);
struct bioinfer_align_pair pair_of(const struct text *q, const struct text *t);

#endif

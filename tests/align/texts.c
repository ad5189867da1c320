/* texts.c - see texts.h. */
#include "texts.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 1; /* without a seed */

void texts_seed(uint64_t seed)
{
    state = seed;
}

long texts_arguments(int argc, char **argv, long n_random)
{
    char *end;
    if (argc > 1 && ((n_random = strtol(argv[1], &end, 10)) < 1 || *end)) {
        fprintf(stderr, "%s: '%s' random pairs, expected a number above 0\n", argv[0], argv[1]);
        exit(2);
    }
    if (argc > 2) /* spread, so that neighbours have nothing in common */
        texts_seed(strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u | 1);
    return n_random;
}

uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % n);
}

struct text random_text(int n, int n_letters, const char *letters)
{
    struct text t = {malloc((size_t)n + 1), malloc((size_t)n + 1), n};
    for (int i = 0; i < n; i++)
        t.letters[i] = letters[t.codes[i] = (uint8_t)below((uint32_t)n_letters)];
    return t;
}

struct text relative(const struct text *a, int percent, int n_letters, const char *letters)
{
    struct text t = {malloc((size_t)a->n * 2 + 64), malloc((size_t)a->n * 2 + 64), 0};
    for (int i = 0; i < a->n && t.n < 2 * a->n; i++) {
        const uint32_t dice = below(100);
        uint8_t code = a->codes[i];
        if (dice < (uint32_t)percent / 2)
            code = (uint8_t)below((uint32_t)n_letters);
        else if (dice < (uint32_t)percent * 3 / 4) {
            i += (int)below(9);
            continue;
        } else if (dice < (uint32_t)percent)
            for (uint32_t k = below(9); k; k--)
                t.letters[t.n] = letters[t.codes[t.n] = (uint8_t)below((uint32_t)n_letters)], t.n++;
        t.letters[t.n] = letters[t.codes[t.n] = code];
        t.n++;
    }
    if (!t.n)
        t.letters[0] = letters[t.codes[0] = 0], t.n = 1;
    return t;
}

void free_text(struct text *t)
{
    free(t->letters);
    free(t->codes);
}

struct bioinfer_align_pair pair_of(const struct text *q, const struct text *t)
{
    return (struct bioinfer_align_pair){q->letters, t->letters, (size_t)q->n, (size_t)t->n};
}

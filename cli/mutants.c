/* mutants.c - what scores of sequences are made of: tokens of residues, the likelihood of a
 * sequence, positions that mutations touch. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>

void cli_residue_tokens(const struct cli *cli, int token[256])
{
    for (int c = 0; c < 256; c++)
        token[c] = -1;
    for (int id = 0; id < cli->info.vocab_size; id++) {
        const char *symbol = bioinfer_model_token(cli->model, id);
        if (symbol && symbol[0] && !symbol[1])
            token[(unsigned char)symbol[0]] = id;
    }
    for (int c = 'A'; c <= 'Z'; c++)
        if (token[c] < 0)
            token[c] = token['X'];
}

double cli_log_likelihood(const struct cli *cli, const int token[256],
                          const struct bioinfer_result *r)
{
    const size_t vocab = (size_t)cli->info.vocab_size;
    double sum = 0;
    for (size_t i = 0; i < (size_t)r->length; i++) {
        const int id = token[(unsigned char)r->sequence[i]];
        sum += id < 0 ? NAN : (double)r->arrays[0].data[i * vocab + (size_t)id];
    }
    return sum;
}

int cli_positions_add(struct cli_positions *p, const char *mutation, int64_t offset)
{
    const int n = bioinfer_mutation_positions(mutation, offset, NULL, 0, NULL);
    int64_t *grown;
    if (n <= 0)
        return 0;
    if (p->cap - p->n < (size_t)n) {
        const size_t cap = 2 * p->cap + (size_t)n + 64;
        if (!(grown = realloc(p->at, cap * sizeof *grown)))
            return BIOINFER_NOMEM;
        p->at = grown;
        p->cap = cap;
    }
    bioinfer_mutation_positions(mutation, offset, p->at + p->n, n, NULL);
    p->n += (size_t)n;
    return 0;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

int cli_positions_sort(struct cli_positions *p, size_t length)
{
    size_t kept = 0;
    if (p->n)
        qsort(p->at, p->n, sizeof *p->at, compare);
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i] >= 0 && (uint64_t)p->at[i] < length && (!kept || p->at[kept - 1] != p->at[i]))
            p->at[kept++] = p->at[i];
    p->n = kept;
    /* none at all is not NULL, which stands for all */
    return p->at || (p->at = malloc(sizeof *p->at)) ? 0 : BIOINFER_NOMEM;
}

void cli_positions_free(struct cli_positions *p)
{
    free(p->at);
    *p = (struct cli_positions){0};
}

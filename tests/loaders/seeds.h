/* seeds.h - one good file of every kind, built by hand: where mutations start. */
#ifndef BI_TEST_SEEDS_H
#define BI_TEST_SEEDS_H

#include "../../loaders/pickle.h"
#include "make.h"

enum seed_kind { SEED_WEIGHTS, SEED_PICKLE, SEED_INDEX, SEED_CONFIG };

struct seed {
    const char *name;
    enum seed_kind kind;
    struct bi_buf bytes;
};

enum { N_SEEDS = 13 };

void seeds_new(struct seed seeds[N_SEEDS], const struct bi_env *env);
void seeds_free(struct seed seeds[N_SEEDS]);
/* Opens bytes as this kind of file, reads all that opens; returns the status. */
int seed_open(enum seed_kind kind, const struct bi_env *env, const void *bytes, size_t size,
              struct bioinfer_error *err);

#endif

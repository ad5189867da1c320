/* nearest.h - exact nearest neighbours among vectors, which are read in blocks. */
#ifndef BI_NEAREST_H
#define BI_NEAREST_H

#include "../base/base.h"

/* n vectors of `width` numbers. */
struct bi_vectors {
    uint64_t n;
    size_t width;
    const char *path; /* for messages */
    /* Reads vector i, any number of times, in any order; one call at a time. */
    int (*read)(void *user, uint64_t i, float *dst, struct bioinfer_error *err);
    const char *(*id)(void *user, uint64_t i); /* never NULL */
    void *user;
};

/* A neighbour: the number of a target, and its similarity or distance. */
struct bi_neighbour {
    uint64_t target;
    double value;
};

struct bi_nearest {
    const struct bi_env *env;
    int n_threads;
    const char *cpu_mask;               /* "" = the best kernels */
    struct bi_vectors queries, targets; /* one width, above 0 */
    bool itself;                        /* both are the same: a vector is no neighbour of itself */
    int metric;                         /* enum bioinfer_metric */
    uint64_t k;                         /* above 0 */
    size_t memory;                      /* bytes of a block of either; 0 = 64 MiB */
    /* Takes the neighbours of query i, the nearest first, min(k, targets but itself) of them; not
     * 0: stop, and that is returned, without words. */
    int (*take)(void *user, uint64_t i, const struct bi_neighbour *hits, uint64_t n);
    /* Hears the share that is done, 0 to 1, now and then; not 0: stop, as CANCELLED. NULL = not
     * wanted. */
    int (*progress)(void *user, double share);
    void *user;
};

/* Hands out the neighbours of all queries in their order. The values are sums of float64 over the
 * float32 of the vectors, and decide alone; of equal ones the target that comes first is nearer. So
 * they depend on neither threads, blocks nor kernels. NONFINITE: a vector has a value that is no
 * number, which is named; INVALID: one of length 0 has no cosine; UNSUPPORTED: no kernels of that
 * name. */
int bi_nearest_run(const struct bi_nearest *nearest, struct bioinfer_error *err);

#endif

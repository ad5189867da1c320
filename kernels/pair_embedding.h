/* pair_embedding.h - rows of a table for pairs of tokens, by how far apart the tokens are along the
 * chain or in space. */
#ifndef BI_PAIR_EMBEDDING_PARAMS_H
#define BI_PAIR_EMBEDDING_PARAMS_H

#include "grids.h"
#include "rigid.h"

/* y[ij] = x[ij] + table[code of (i, j)], x and y: [G, width], x NULL: 0. start, grid_start: [S + 1]
 *   number, int32 [T]: the code is 1 + n + number[j] - number[i], that difference cut to [-n, n]
 *   else frame [T, 7] (rigid.h) and at [T, 4]: tokens stand at R (at0, at1, at2) + at3 t, and the
 *   code counts the distances, of n from `low` to `high` with equal steps, that two are beyond
 * at may be NULL: frame [T, 3] has the places of tokens then. frame may be NULL: all tokens stand
 * at 0 then, and `at` is not read. slope [width], NULL: 0, adds that distance times it; it has
 * places alone, without numbers. */
struct bi_pair_embedding_params {
    const struct bi_counts *counts;
    const float *x, *table, *frame, *at, *slope;
    const int32_t *number, *start, *grid_start;
    float *y;
    int64_t ldx, ldt, ldf, lda, ldy, rows;
    int32_t width, n;
    float low, high;
};

/* A place in space. */
struct bi_pair_place {
    float of[3];
};

/* Finds the place of a token. */
BI_RIGID_FUNCTION struct bi_pair_place bi_pair_place_of(const struct bi_pair_embedding_params *p,
                                                        int64_t token)
{
    const float *f = p->frame + token * p->ldf, *at = p->at + token * p->lda;
    if (!p->at) {
        const struct bi_pair_place given = {{f[0], f[1], f[2]}};
        return given;
    }
    const struct bi_rotation r = bi_rotation_of(f);
    const struct bi_pair_place place = {
        {r.of[0] * at[0] + r.of[1] * at[1] + r.of[2] * at[2] + at[3] * f[4],
         r.of[3] * at[0] + r.of[4] * at[1] + r.of[5] * at[2] + at[3] * f[5],
         r.of[6] * at[0] + r.of[7] * at[1] + r.of[8] * at[2] + at[3] * f[6]}};
    return place;
}

/* The square of the distance of tokens i and j. */
BI_RIGID_FUNCTION float bi_pair_square(const struct bi_pair_embedding_params *p, int64_t i,
                                       int64_t j)
{
    const struct bi_pair_place a = bi_pair_place_of(p, i), b = bi_pair_place_of(p, j);
    const float x = a.of[0] - b.of[0], y = a.of[1] - b.of[1], z = a.of[2] - b.of[2];
    return x * x + y * y + z * z;
}

/* The row of the table that tokens i and j have. */
BI_RIGID_FUNCTION int64_t bi_pair_code(const struct bi_pair_embedding_params *p, int64_t i,
                                       int64_t j)
{
    if (p->number) {
        const int64_t gap = (int64_t)p->number[j] - p->number[i], n = p->n;
        return 1 + n + (gap < -n ? -n : gap > n ? n : gap);
    }
    if (!p->frame)
        return 0;
    const float square = bi_pair_square(p, i, j), step = (p->high - p->low) / (float)(p->n - 1);
    int64_t code = 0;
    for (int32_t k = 0; k < p->n; k++) {
        const float edge = p->low + step * (float)k;
        code += square > edge * edge;
    }
    return code;
}

#endif

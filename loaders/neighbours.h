/* neighbours.h - the pairs of atoms within a cutoff, with all periodic images. */
#ifndef BI_NEIGHBOURS_H
#define BI_NEIGHBOURS_H

#include "../base/base.h"

enum { BI_NEIGHBOURS_BRUTE = 256 }; /* below as many atoms no cells are made */

/* Edges as compressed rows: edge e of atom i, row_start[i] <= e < row_start[i + 1], leads to the
 * image of atom col[e] at position[col[e]] + shift[e] x cell. Both directions of a pair are there,
 * and the pairs of an atom with its own images; an atom is no neighbour of itself. The edges of a
 * row are in the order of (col, shift[0], shift[1], shift[2]).
 * Zero-initialise but for env. The arrays are kept from one call to the next. */
struct bi_neighbours {
    const struct bi_env *env;
    uint32_t n;
    uint64_t n_edges;
    uint64_t *row_start; /* [n + 1] */
    uint32_t *col;       /* [n_edges] */
    int32_t (*shift)[3]; /* [n_edges] */
    size_t cap_row, cap_col, cap_shift;
};

/* Finds all pairs with a distance of at most `cutoff` angstrom. position [n, 3] in angstrom, not
 * necessarily within the cell; cell as rows, its rows 0 0 0 where an axis has no vector; shifts are
 * 0 along axes that are not periodic.
 * FORMAT: atoms that lie on each other (named from 1), a cell of no volume. LIMIT: more than
 * max_edges edges (0: as many as memory holds). NOMEM. */
int bi_neighbours_find(struct bi_neighbours *out, uint32_t n, const double *position,
                       const double cell[9], const bool periodic[3], double cutoff,
                       uint64_t max_edges, struct bioinfer_error *err);
/* Goes through the same pairs one image after the other: the definition, and slow. */
int bi_neighbours_plain(struct bi_neighbours *out, uint32_t n, const double *position,
                        const double cell[9], const bool periodic[3], double cutoff,
                        uint64_t max_edges, struct bioinfer_error *err);
void bi_neighbours_free(struct bi_neighbours *neighbours); /* NULL-safe */

#endif

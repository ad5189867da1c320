/* neighbours.h - the pairs of atoms within a cutoff, with all periodic images. */
#ifndef BI_NEIGHBOURS_H
#define BI_NEIGHBOURS_H

#include "../base/base.h"

enum {
    BI_NEIGHBOURS_BRUTE = 256, /* below as many atoms no bins are made */
    BI_NEIGHBOURS_BINS = 4     /* bins for each atom, at most */
};

/* How the neighbours of a frame's atoms are looked for: along each axis in `reach` bins to either
 * side of an atom's own. Axes without a vector have one of length 1 here. */
struct bi_neighbour_grid {
    double cell[9], inverse[9]; /* rows are vectors; columns turn a position into fractions */
    double low[3], width[3];    /* fractions where the bins begin, and that one takes */
    double cutoff2, nearly2;    /* squares of the cutoff, and of it and more than rounding */
    int n_bins[3], reach[3];
    bool periodic[3];
};

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
 * FORMAT: atoms nearer than 0.001 angstrom (named from 1), a coordinate beyond 1e7, a cell of no
 * volume or without the vector of a periodic axis. LIMIT: more than max_edges edges (0: as many as
 * memory holds), more than 2^24 atoms, or a cell so thin that its images are too many. MISUSE: a
 * cutoff that is not in (0, 1000]. The cell is checked first, then cutoff, atoms, pairs. n 0 has no
 * edges. After a failure *out may be used for another call, or freed. */
int bi_neighbours_find(struct bi_neighbours *out, uint32_t n, const double *position,
                       const double cell[9], const bool periodic[3], double cutoff,
                       uint64_t max_edges, struct bioinfer_error *err);
/* Goes through the same pairs one image after the other: the definition, and slow. Edges, their
 * order and statuses are the same. */
int bi_neighbours_plain(struct bi_neighbours *out, uint32_t n, const double *position,
                        const double cell[9], const bool periodic[3], double cutoff,
                        uint64_t max_edges, struct bioinfer_error *err);
/* The grid alone, for those who look for themselves (kernels/atom_edges.h). Statuses as above, but
 * for those of pairs. Without bins there is one, and width is 0. */
int bi_neighbours_grid(struct bi_neighbour_grid *out, uint32_t n, const double *position,
                       const double cell[9], const bool periodic[3], double cutoff,
                       struct bioinfer_error *err);
void bi_neighbours_free(struct bi_neighbours *neighbours); /* NULL-safe */

#endif

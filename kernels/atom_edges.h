/* atom_edges.h - the pairs of atoms within a cutoff, found on the device.
 *
 * Five launches, in this order:
 *   atom_cells    puts each atom into its cell, and lists the atoms of each cell
 *   edge_count    looks at the atoms around each atom, and counts those within the cutoff
 *   edge_start    adds these counts up, and says how many edges there are
 *   edge_list     looks again, and lists the edges of each atom in their order
 *   edge_reverse  finds the edge that leads back
 *
 * Edge e of atom i, start[i] <= e < start[i + 1], leads to an image of atom col[e]; all periodic
 * images within the cutoff are there, those of the atom itself too. The edges of an atom are in the
 * order of col and then of the images, so that nothing depends on how they were found. Distances
 * are those of loaders/neighbours.h, in double and to the bit: position[j] - position[i] + shift x
 * cell, from where atoms lie.
 *
 * Atoms and cells of all frames of a batch are numbered through; those of a frame follow each
 * other. Lengths are in angstrom. Arrays are dense. */
#ifndef BI_ATOM_EDGES_PARAMS_H
#define BI_ATOM_EDGES_PARAMS_H

#include "counts.h"

enum {
    BI_IMAGE_BITS = 11, /* that a component of an image has in a key */
    BI_IMAGE_ZERO = 1 << (BI_IMAGE_BITS - 1),
    BI_EDGE_SHARES = 32, /* threads that share what lies around an atom */
    BI_BINS_PER_ATOM = 4 /* at most, of a frame */
};

/* A frame. Axes without a vector have one of length 1 here, and are not
 * periodic. */
struct bi_atom_frame {
    double cell[9], inverse[9]; /* rows are vectors; columns turn a position into fractions */
    double low[3], width[3];    /* fractions where the cells begin, and that one takes */
    double cutoff2, nearly2;    /* squares of the cutoff, and of a distance above it */
    int32_t n_bins[3];          /* cells along each axis */
    int32_t reach[3];           /* cells to either side that are looked at */
    int32_t periodic;           /* bit k: along axis k */
    int32_t first_atom, n_atoms, first_bin;
};

/* Where an atom lies. */
struct bi_atom_place {
    double x[3];     /* wrapped into the frame's cell, but for rounding */
    int32_t wrap[3]; /* the image of the cell that it lies in */
    int32_t frame, bin;
    int32_t slot; /* among the atoms of its cell, in no order */
};

enum {
    BI_FRAME_WORDS = sizeof(struct bi_atom_frame) / 4,
    BI_PLACE_WORDS = sizeof(struct bi_atom_place) / 4
};

/* Numbers of the report, which the first trip of a loop finds as zeros; the largest of all trips
 * stays. */
enum {
    BI_REPORT_EDGES,   /* edges that there are, at most INT32_MAX, also where they have no room */
    BI_REPORT_TOUCHES, /* 1: two atoms lie on each other */
    BI_REPORT_WORDS = 4
};

/* Numbers that `first` has room for, with so many rows. */
static inline int64_t bi_atom_bins(int64_t rows)
{
    return BI_BINS_PER_ATOM * rows + 1;
}

struct bi_atom_edges_params {
    struct bi_counts *counts;          /* edge_start sets n_edges */
    const double *position;            /* [rows, 3] */
    const struct bi_atom_frame *frame; /* [n_seqs] */
    struct bi_atom_place *place;       /* [rows] */
    int32_t *order, *first; /* atoms of cell b: order[first[b]] ... order[first[b + 1] - 1] */
    int32_t *work;          /* [rows] of atom_cells */
    int32_t *found;         /* [rows, BI_EDGE_SHARES] edges that each share finds */
    int32_t *degree;        /* [rows] their sums n; -1 - n where the atom lies on another one */
    int32_t *report;        /* [BI_REPORT_WORDS] */
    int32_t *start;         /* [rows + 1]; all 0 where there are more edges than `capacity` */
    int32_t *col, *reverse; /* [capacity] */
    uint64_t *key, *loose;  /* [capacity] in order, and as they were found */
    float *vector;          /* [capacity, 3] position[i] less that of the image */
    int64_t rows, capacity;
};

#define bi_atom_cells_params bi_atom_edges_params
#define bi_edge_count_params bi_atom_edges_params
#define bi_edge_start_params bi_atom_edges_params
#define bi_edge_list_params bi_atom_edges_params
#define bi_edge_reverse_params bi_atom_edges_params

/* Atoms of the batch. */
static inline int64_t bi_edge_atoms(const struct bi_atom_edges_params *p)
{
    return bi_live_rows(p->counts, BI_AXIS_TOKENS, p->rows);
}

/* Neighbours of atom i, also where their number says by its sign that it lies on another one. */
static inline int32_t bi_edge_degree(const struct bi_atom_edges_params *p, int64_t i)
{
    return p->degree[i] < 0 ? -1 - p->degree[i] : p->degree[i];
}

/* Notes in the report that there are so many edges, and sets their number for the batch: 0
 * where they have no room. */
static inline void bi_edge_report(const struct bi_atom_edges_params *p, int64_t n)
{
    const int32_t wanted = n < INT32_MAX ? (int32_t)n : INT32_MAX;
    if (wanted > p->report[BI_REPORT_EDGES])
        p->report[BI_REPORT_EDGES] = wanted;
    p->counts->n_edges = n <= p->capacity ? wanted : 0;
}

/* Cells of all frames; 0 without frames. */
static inline int32_t bi_edge_bins(const struct bi_atom_edges_params *p)
{
    const struct bi_atom_frame *f = p->frame + (p->counts->n_seqs - 1);
    return p->counts->n_seqs < 1 ? 0 : f->first_bin + f->n_bins[0] * f->n_bins[1] * f->n_bins[2];
}

/* The frame of atom i of a batch of n frames, by a search; frames without atoms are passed over. */
static inline int32_t bi_frame_of_atom(const struct bi_atom_frame *frame, int32_t n, int64_t i)
{
    int32_t first = 0, end = n;
    while (end - first > 1) {
        const int32_t m = first + (end - first) / 2;
        if (frame[m].first_atom <= i)
            first = m;
        else
            end = m;
    }
    return first;
}

/* The cell, or the image, that x lies in, cut towards 0: `least` ... `most`, and `least` for what
 * is no number. */
static inline int32_t bi_whole_of(double x, int32_t least, int32_t most)
{
    if (!(x > (double)least))
        return least;
    return x < (double)most ? (int32_t)x : most;
}

/* Sets all of the place of atom i but its slot. Positions that a motion has carried away from the
 * cells of the frame lie in the outermost ones. */
static inline void bi_atom_place_of(const struct bi_atom_edges_params *p, int64_t i,
                                    struct bi_atom_place *at)
{
    const int32_t most = 1 << 30;
    const double *x = p->position + 3 * i;
    const struct bi_atom_frame *f;
    at->frame = bi_frame_of_atom(p->frame, p->counts->n_seqs, i);
    f = p->frame + at->frame;
    at->bin = 0;
    for (int k = 0; k < 3; k++) {
        const double along = x[0] * f->inverse[k] + x[1] * f->inverse[3 + k] +
                             x[2] * f->inverse[6 + k];
        const double whole = f->periodic >> k & 1 ? __builtin_floor(along) : 0.0;
        const double bin = f->width[k] > 0 ? (along - whole - f->low[k]) / f->width[k] : 0.0;
        at->wrap[k] = bi_whole_of(whole, -most, most);
        at->bin = at->bin * f->n_bins[k] + bi_whole_of(bin, 0, f->n_bins[k] - 1);
    }
    at->bin += f->first_bin;
    for (int c = 0; c < 3; c++)
        at->x[c] = x[c] - (at->wrap[0] * f->cell[c] + at->wrap[1] * f->cell[3 + c] +
                           at->wrap[2] * f->cell[6 + c]);
}

/* Goes through what lies around an atom: runs of `order`, each in one image of the cell. */
struct bi_around {
    const struct bi_atom_frame *frame;
    int32_t at[3], d[2], image[3], last;
    double moved[3]; /* where that image lies */
    int32_t first, end;
};

/* The image that a bin is in along an axis of n bins: 0 = the cell itself, -1 = the one below. */
static inline int32_t bi_image_of(int32_t bin, int32_t n)
{
    return bin >= 0 ? bin / n : -((n - 1 - bin) / n);
}

/* May the first two axes be at d? 0: an axis that is not periodic would leave the cell. Else 1, and
 * image and last say which images of the third axis come. */
static inline int bi_around_begin(struct bi_around *a)
{
    const struct bi_atom_frame *f = a->frame;
    const int32_t n = f->n_bins[2];
    for (int k = 0; k < 2; k++) {
        a->image[k] = bi_image_of(a->at[k] + a->d[k], f->n_bins[k]);
        if (a->image[k] && !(f->periodic >> k & 1))
            return 0;
    }
    a->image[2] = f->periodic >> 2 & 1 ? bi_image_of(a->at[2] - f->reach[2], n) : 0;
    a->last = f->periodic >> 2 & 1 ? bi_image_of(a->at[2] + f->reach[2], n) : 0;
    a->image[2]--;
    return 1;
}

/* Sets *a in front of the first run around the place of an atom, which bi_around_next() gives. */
static inline void bi_around_start(struct bi_around *a, const struct bi_atom_edges_params *p,
                                   const struct bi_atom_place *place)
{
    const struct bi_atom_frame *f = a->frame = p->frame + place->frame;
    const int32_t bin = place->bin - f->first_bin;
    a->at[0] = bin / (f->n_bins[1] * f->n_bins[2]);
    a->at[1] = bin / f->n_bins[2] % f->n_bins[1];
    a->at[2] = bin % f->n_bins[2];
    a->d[0] = -f->reach[0];
    a->d[1] = -f->reach[1];
    if (!bi_around_begin(a))
        a->image[2] = a->last = 0;
}

/* 1: the next run is order[a->first] ... order[a->end - 1], which may be none, in a->image; 0:
 * there are no more. */
static inline int bi_around_next(struct bi_around *a, const struct bi_atom_edges_params *p)
{
    const struct bi_atom_frame *f = a->frame;
    const int32_t n = f->n_bins[2];
    while (a->image[2] >= a->last) {
        do {
            if (++a->d[1] > f->reach[1]) {
                a->d[1] = -f->reach[1];
                if (++a->d[0] > f->reach[0])
                    return 0;
            }
        } while (!bi_around_begin(a));
    }
    a->image[2]++;
    int32_t low = a->at[2] - f->reach[2] - a->image[2] * n;
    int32_t high = a->at[2] + f->reach[2] - a->image[2] * n;
    low = low > 0 ? low : 0;
    high = high < n - 1 ? high : n - 1;
    const int32_t row = f->first_bin +
                        ((a->at[0] + a->d[0] - a->image[0] * f->n_bins[0]) * f->n_bins[1] +
                         (a->at[1] + a->d[1] - a->image[1] * f->n_bins[1])) *
                            n;
    a->first = p->first[row + low];
    a->end = p->first[row + high + 1];
    for (int c = 0; c < 3; c++)
        a->moved[c] = a->image[0] * f->cell[c] + a->image[1] * f->cell[3 + c] +
                      a->image[2] * f->cell[6 + c];
    return 1;
}

/* How near atoms are: no neighbours, neighbours, or one on the other. */
enum bi_nearness { BI_NEAR_NOT, BI_NEAR, BI_NEAR_TOUCHES };

/* Looks at atom j in the image that a run is of, from atom i. An atom is no neighbour of itself in
 * the cell, and nor is what lies where no number is; one touches below 0.001 angstrom. */
static inline enum bi_nearness bi_look(const struct bi_atom_edges_params *p,
                                       const struct bi_around *a, const struct bi_atom_place *mine,
                                       int32_t i, int32_t j)
{
    const double closest = 1e-3;
    const struct bi_atom_frame *f = a->frame;
    const struct bi_atom_place *other = p->place + j;
    const double *from = p->position + 3 * (int64_t)i, *to = p->position + 3 * (int64_t)j;
    double shift[3], x[3], r2 = 0;
    for (int c = 0; c < 3; c++) {
        x[c] = other->x[c] - mine->x[c] + a->moved[c];
        r2 += x[c] * x[c];
    }
    if (!(r2 <= f->nearly2))
        return BI_NEAR_NOT;
    for (int k = 0; k < 3; k++)
        shift[k] = a->image[k] + mine->wrap[k] - other->wrap[k];
    for (int c = 0; c < 3; c++)
        x[c] = to[c] - from[c] +
               (shift[0] * f->cell[c] + shift[1] * f->cell[3 + c] + shift[2] * f->cell[6 + c]);
    r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    if (!(r2 <= f->cutoff2) || (i == j && !a->image[0] && !a->image[1] && !a->image[2]))
        return BI_NEAR_NOT;
    return r2 < closest * closest ? BI_NEAR_TOUCHES : BI_NEAR;
}

/* The key of an edge to the image of atom j: sorted by keys, edges of an atom are in their order.
 * Components of the image are from -BI_IMAGE_ZERO to BI_IMAGE_ZERO - 1, which nobody checks. */
static inline uint64_t bi_edge_key(int32_t j, const int32_t image[3])
{
    uint64_t key = (uint64_t)j;
    for (int k = 0; k < 3; k++)
        key = key << BI_IMAGE_BITS | (uint64_t)(image[k] + BI_IMAGE_ZERO);
    return key;
}

/* The atom that the edge of a key leads to. */
static inline int32_t bi_edge_col(uint64_t key)
{
    return (int32_t)(key >> (3 * BI_IMAGE_BITS));
}

/* The image that a key means; back: that of the edge's reverse. */
static inline void bi_edge_image(uint64_t key, int back, int32_t image[3])
{
    for (int k = 0; k < 3; k++) {
        const int32_t x = (int32_t)(key >> (BI_IMAGE_BITS * (2 - k)) & (2 * BI_IMAGE_ZERO - 1)) -
                          BI_IMAGE_ZERO;
        image[k] = back ? -x : x;
    }
}

/* Writes edge e of atom i: a key of its row, in order. */
static inline void bi_edge_put(const struct bi_atom_edges_params *p, int64_t i, int64_t e,
                               uint64_t key)
{
    const int32_t j = bi_edge_col(key);
    const struct bi_atom_place *mine = p->place + i, *other = p->place + j;
    const struct bi_atom_frame *f = p->frame + mine->frame;
    const double *x = p->position + 3 * i, *y = p->position + 3 * (int64_t)j;
    int32_t shift[3];
    bi_edge_image(key, 0, shift);
    for (int k = 0; k < 3; k++)
        shift[k] += mine->wrap[k] - other->wrap[k];
    p->key[e] = key;
    p->col[e] = j;
    for (int k = 0; k < 3; k++) {
        double image = 0;
        for (int s = 0; s < 3; s++)
            image += shift[s] * f->cell[3 * s + k];
        p->vector[3 * e + k] = (float)(x[k] - y[k] - image);
    }
}

/* The edge of the list that leads back along edge e of atom i; e itself where there is none, which
 * only damaged lists have. */
static inline int32_t bi_edge_back(const struct bi_atom_edges_params *p, int32_t i, int32_t e)
{
    int32_t image[3], first, end;
    uint64_t want;
    bi_edge_image(p->key[e], 1, image);
    want = bi_edge_key(i, image);
    first = p->start[p->col[e]];
    end = p->start[p->col[e] + 1];
    while (first < end) {
        const int32_t m = first + (end - first) / 2;
        if (p->key[m] == want)
            return m;
        if (p->key[m] < want)
            first = m + 1;
        else
            end = m;
    }
    return e;
}

#endif

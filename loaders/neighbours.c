/* neighbours.c - pairs of atoms within a cutoff: a cell list, or all pairs where there are few.
 *
 * Most pairs are put aside by where atoms lie in the cell. For the others both ways look at the
 * same expression, position[j] - position[i] + shift x cell in double, so they find the same pairs.
 * Along a periodic axis atoms are wrapped into the cell for the search alone; `shift` counts from
 * where they lie. */
#include "neighbours.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "atoms.h"

enum {
    MAX_IMAGES = 1000, /* images of the cell along one axis, to either side */
    SHIFT_BITS = 11,   /* bits of one of them in a key; 2 x MAX_IMAGES + 1 fit */
    SHIFT_ZERO = 1 << (SHIFT_BITS - 1),
    MAX_ATOMS = 1 << (63 - 3 * SHIFT_BITS < 24 ? 63 - 3 * SHIFT_BITS : 24),
    MAX_PLACES = 1000000, /* bins or images that are looked at for an atom */
};

static const double closest = 1e-3; /* angstrom: below it atoms lie on each other */

struct search {
    const struct bi_env *env;
    uint32_t n;
    const double *position;
    struct bi_neighbour_grid grid;
    int32_t (*wrap)[3];          /* [n] the cell that an atom lies in */
    double *wrapped;             /* [n, 3] where it lies there, but for rounding */
    uint32_t *bin_start, *atoms; /* atoms of bin b: atoms[bin_start[b]] to [b + 1]; NULL: all */
    uint32_t *bin;               /* [n] */
    uint32_t hit[2];             /* atoms that lie on each other */
    bool is_hit;
};

/* ---- geometry ---- */

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* inverse: the columns turn a position into fractions of the vectors; height: between the faces. */
static void invert(const double cell[9], double inverse[9], double height[3])
{
    const double volume = bi_cell_volume(cell);
    for (int k = 0; k < 3; k++) {
        double area[3];
        cross(cell + 3 * ((k + 1) % 3), cell + 3 * ((k + 2) % 3), area);
        height[k] = fabs(volume) / sqrt(area[0] * area[0] + area[1] * area[1] + area[2] * area[2]);
        for (int c = 0; c < 3; c++)
            inverse[3 * c + k] = area[c] / volume;
    }
}

/* The fraction of the cell's vector k at x. */
static double fraction_of(const struct bi_neighbour_grid *g, const double x[3], int k)
{
    return x[0] * g->inverse[k] + x[1] * g->inverse[3 + k] + x[2] * g->inverse[6 + k];
}

/* Checks the positions, and finds between which fractions they lie. */
static int look_at_all(const struct bi_neighbour_grid *g, uint32_t n, const double *position,
                       double low[3], double high[3], struct bioinfer_error *err)
{
    for (int k = 0; k < 3; k++) {
        low[k] = g->periodic[k] ? 0 : INFINITY;
        high[k] = g->periodic[k] ? 1 : -INFINITY;
    }
    for (size_t i = 0; i < n; i++) {
        const double *x = position + 3 * i;
        for (int k = 0; k < 3; k++)
            if (!(fabs(x[k]) <= BI_FRAME_MAX_POSITION))
                return bi_fail(err, BIOINFER_FORMAT,
                               "atom %zu: coordinate %g, expected between -1e7 and 1e7", i + 1,
                               x[k]);
        for (int k = 0; k < 3; k++) {
            const double f = fraction_of(g, x, k);
            if (!g->periodic[k]) {
                low[k] = fmin(low[k], f);
                high[k] = fmax(high[k], f);
            } else if (fabs(f) > 1 << 30) {
                return bi_fail(err, BIOINFER_LIMIT, "atom %zu: %g cells away from the first one",
                               i + 1, floor(f));
            }
        }
    }
    return 0;
}

/* Fractions of the cell for all atoms, and which image of the cell they lie in. */
static void wrap_all(struct search *s, double *fraction)
{
    const double *cell = s->grid.cell;
    for (size_t i = 0; i < s->n; i++) {
        const double *x = s->position + 3 * i;
        for (int k = 0; k < 3; k++) {
            const double f = fraction_of(&s->grid, x, k);
            const double whole = s->grid.periodic[k] ? floor(f) : 0;
            s->wrap[i][k] = (int32_t)whole;
            fraction[3 * i + (size_t)k] = f - whole;
        }
        for (size_t c = 0; c < 3; c++)
            s->wrapped[3 * i + c] = x[c] - (s->wrap[i][0] * cell[c] + s->wrap[i][1] * cell[3 + c] +
                                            s->wrap[i][2] * cell[6 + c]);
    }
}

/* ---- bins ---- */

/* Chooses the bins of each axis, no smaller than the cutoff. */
static void choose_bins(struct bi_neighbour_grid *g, uint32_t n_atoms, const double high[3],
                        const double height[3], double cutoff)
{
    int *n = g->n_bins;
    uint64_t total = 1;
    double room[3];
    for (int k = 0; k < 3; k++) {
        room[k] = high[k] - g->low[k];
        n[k] = (int)fmin(fmax(floor(room[k] * height[k] / cutoff), 1), 1 << 20);
        total *= (uint64_t)n[k];
    }
    while (total > (uint64_t)BI_NEIGHBOURS_BINS * n_atoms) {
        const int k = n[0] >= n[1] && n[0] >= n[2] ? 0 : n[1] >= n[2] ? 1 : 2;
        n[k] = (n[k] + 1) / 2;
        total = (uint64_t)n[0] * (uint64_t)n[1] * (uint64_t)n[2];
    }
    for (int k = 0; k < 3; k++) {
        const double width = g->width[k] = room[k] / n[k];
        g->reach[k] = g->periodic[k] || n[k] > 1
                          ? (int)fmin(ceil(cutoff / (width * height[k]) - 1e-9), MAX_IMAGES + 1)
                          : 0;
        g->reach[k] += g->reach[k] != 0 && g->reach[k] * width * height[k] < cutoff;
    }
}

static int make_grid(struct bi_neighbour_grid *g, uint32_t n, const double *position,
                     const double cell[9], const bool periodic[3], double cutoff, bool bins,
                     struct bioinfer_error *err)
{
    double height[3], high[3];
    int st = bi_cell_check(cell, periodic, err);
    if (st)
        return st;
    if (!(cutoff > 0) || cutoff > 1000)
        return bi_fail(err, BIOINFER_MISUSE,
                       "cutoff %g, expected above 0 and at most 1000 angstrom", cutoff);
    if (n > MAX_ATOMS)
        return bi_fail(err, BIOINFER_LIMIT, "%u atoms, at most %d", n, MAX_ATOMS);
    *g = (struct bi_neighbour_grid){.cutoff2 = cutoff * cutoff,
                                    .nearly2 = (cutoff + 1e-4) * (cutoff + 1e-4)};
    bi_cell_complete(cell, g->cell);
    memcpy(g->periodic, periodic, sizeof g->periodic);
    invert(g->cell, g->inverse, height);
    if ((st = look_at_all(g, n, position, g->low, high, err)))
        return st;
    if (bins)
        choose_bins(g, n, high, height, cutoff);
    for (int k = 0; k < 3 && !bins; k++) {
        g->n_bins[k] = 1;
        g->reach[k] = periodic[k] ? (int)fmin(cutoff / height[k] + 1, MAX_IMAGES + 1) : 0;
    }
    if (g->reach[0] > MAX_IMAGES || g->reach[1] > MAX_IMAGES || g->reach[2] > MAX_IMAGES ||
        (2.0 * g->reach[0] + 1) * (2.0 * g->reach[1] + 1) * (2.0 * g->reach[2] + 1) > MAX_PLACES)
        return bi_fail(err, BIOINFER_LIMIT,
                       "the cell is %g x %g x %g angstrom thin: too many images within the cutoff",
                       height[0], height[1], height[2]);
    return 0;
}

int bi_neighbours_grid(struct bi_neighbour_grid *out, uint32_t n, const double *position,
                       const double cell[9], const bool periodic[3], double cutoff,
                       struct bioinfer_error *err)
{
    return make_grid(out, n, position, cell, periodic, cutoff, n >= BI_NEIGHBOURS_BRUTE, err);
}

static int fill_bins(struct search *s, const double *fraction, struct bioinfer_error *err)
{
    const int *n_bins = s->grid.n_bins;
    const double *low = s->grid.low, *width = s->grid.width;
    const uint64_t total = (uint64_t)n_bins[0] * (uint64_t)n_bins[1] * (uint64_t)n_bins[2];
    s->bin_start = bi_calloc(s->env, (size_t)total + 2, sizeof *s->bin_start);
    s->atoms = bi_calloc(s->env, s->n, sizeof *s->atoms);
    s->bin = bi_calloc(s->env, s->n, sizeof *s->bin);
    if (!s->bin_start || !s->atoms || !s->bin)
        return bi_fail(err, BIOINFER_NOMEM, "neighbours of %u atoms", s->n);
    for (size_t i = 0; i < s->n; i++) {
        uint32_t b = 0;
        for (int k = 0; k < 3; k++) {
            const double at = width[k] > 0 ? (fraction[3 * i + (size_t)k] - low[k]) / width[k] : 0;
            const int c = at < n_bins[k] ? (int)at : n_bins[k] - 1;
            b = b * (uint32_t)n_bins[k] + (uint32_t)(c > 0 ? c : 0);
        }
        s->bin[i] = b;
        s->bin_start[b + 2]++;
    }
    for (uint64_t b = 1; b < total; b++)
        s->bin_start[b + 1] += s->bin_start[b];
    for (uint32_t i = 0; i < s->n; i++)
        s->atoms[s->bin_start[s->bin[i] + 1]++] = i;
    return 0;
}

/* ---- pairs ---- */

/* Looks at atom j in the image at `image`, which is `moved` away. Adds its key where it is near. */
static inline void look(struct search *s, uint32_t i, uint32_t j, const int image[3],
                        const double moved[3], uint64_t *keys, uint64_t *n)
{
    const double *a = s->wrapped + 3 * (size_t)i, *b = s->wrapped + 3 * (size_t)j;
    const double *cell = s->grid.cell;
    double shift[3], x[3], r2 = 0;
    for (int c = 0; c < 3; c++) {
        x[c] = b[c] - a[c] + moved[c];
        r2 += x[c] * x[c];
    }
    if (r2 > s->grid.nearly2)
        return;
    a = s->position + 3 * (size_t)i;
    b = s->position + 3 * (size_t)j;
    for (int k = 0; k < 3; k++)
        shift[k] = image[k] + s->wrap[i][k] - s->wrap[j][k];
    for (int c = 0; c < 3; c++)
        x[c] = b[c] - a[c] + (shift[0] * cell[c] + shift[1] * cell[3 + c] + shift[2] * cell[6 + c]);
    r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    if (r2 > s->grid.cutoff2 || (i == j && !image[0] && !image[1] && !image[2]))
        return;
    if (r2 < closest * closest && !s->is_hit) {
        s->is_hit = true;
        s->hit[0] = i;
        s->hit[1] = j;
    }
    if (keys) {
        uint64_t key = j;
        for (int k = 0; k < 3; k++)
            key = key << SHIFT_BITS | (uint64_t)(image[k] + SHIFT_ZERO);
        keys[*n] = key;
    }
    ++*n;
}

/* All edges of atom i into keys[], where that is not NULL; their number. */
static uint64_t look_around(struct search *s, uint32_t i, uint64_t *keys)
{
    const int *n_bins = s->grid.n_bins, *reach = s->grid.reach;
    const double *cell = s->grid.cell;
    const uint32_t b = s->bin ? s->bin[i] : 0;
    const int at[3] = {(int)(b / (uint32_t)(n_bins[1] * n_bins[2])),
                       (int)(b / (uint32_t)n_bins[2]) % n_bins[1], (int)(b % (uint32_t)n_bins[2])};
    uint64_t n = 0;
    int d[3], image[3], bin[3];
    double moved[3];
    for (d[0] = -reach[0]; d[0] <= reach[0]; d[0]++)
        for (d[1] = -reach[1]; d[1] <= reach[1]; d[1]++)
            for (d[2] = -reach[2]; d[2] <= reach[2]; d[2]++) {
                bool there = true;
                uint32_t other, first = 0, last = s->n;
                for (int k = 0; k < 3; k++) {
                    const int to = at[k] + d[k];
                    image[k] = to >= 0 ? to / n_bins[k] : -((-to + n_bins[k] - 1) / n_bins[k]);
                    bin[k] = to - image[k] * n_bins[k];
                    there = there && (s->grid.periodic[k] || !image[k]);
                }
                if (!there)
                    continue;
                if (s->bin) {
                    other = (uint32_t)((bin[0] * n_bins[1] + bin[1]) * n_bins[2] + bin[2]);
                    first = s->bin_start[other];
                    last = s->bin_start[other + 1];
                }
                for (int c = 0; c < 3; c++)
                    moved[c] = image[0] * cell[c] + image[1] * cell[3 + c] + image[2] * cell[6 + c];
                for (uint32_t k = first; k < last; k++)
                    look(s, i, s->atoms ? s->atoms[k] : k, image, moved, keys, &n);
            }
    return n;
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_keys(uint64_t *keys, uint64_t n)
{
    if (n > 64) {
        qsort(keys, n, sizeof *keys, compare_keys);
        return;
    }
    for (uint64_t i = 1; i < n; i++) {
        const uint64_t key = keys[i];
        uint64_t k = i;
        for (; k && keys[k - 1] > key; k--)
            keys[k] = keys[k - 1];
        keys[k] = key;
    }
}

static int fill_rows(struct bi_neighbours *out, struct search *s, uint64_t max_edges,
                     struct bioinfer_error *err)
{
    uint64_t total = 0, most = 0, *keys;
    for (uint32_t i = 0; i < s->n; i++) {
        const uint64_t n = look_around(s, i, NULL);
        out->row_start[i] = total;
        most = n > most ? n : most;
        total += n;
        if (s->is_hit)
            return bi_fail(err, BIOINFER_FORMAT, "atoms %u and %u lie on each other", s->hit[0] + 1,
                           s->hit[1] + 1);
        if (max_edges && total > max_edges)
            return bi_fail(err, BIOINFER_LIMIT,
                           "more than %llu pairs within the cutoff (atom %u of %u)",
                           (unsigned long long)max_edges, i + 1, s->n);
    }
    out->row_start[s->n] = out->n_edges = total;
    keys = bi_calloc(s->env, most, sizeof *keys);
    if (!keys || !bi_grow(s->env, &out->col, &out->cap_col, total, sizeof *out->col) ||
        !bi_grow(s->env, &out->shift, &out->cap_shift, total, sizeof *out->shift)) {
        bi_free(s->env, keys);
        return bi_fail(err, BIOINFER_NOMEM, "%llu pairs of atoms", (unsigned long long)total);
    }
    for (uint32_t i = 0; i < s->n; i++) {
        const uint64_t n = look_around(s, i, keys), from = out->row_start[i];
        sort_keys(keys, n);
        for (uint64_t e = 0; e < n; e++) {
            const uint32_t j = (uint32_t)(keys[e] >> (3 * SHIFT_BITS));
            out->col[from + e] = j;
            for (int k = 0; k < 3; k++) {
                const int image = (int)(keys[e] >> (SHIFT_BITS * (2 - k)) & (2 * SHIFT_ZERO - 1));
                out->shift[from + e][k] = image - SHIFT_ZERO + s->wrap[i][k] - s->wrap[j][k];
            }
        }
    }
    bi_free(s->env, keys);
    return 0;
}

static int find(struct bi_neighbours *out, struct search *s, bool bins, uint64_t max_edges,
                struct bioinfer_error *err)
{
    double *fraction = NULL;
    int st = 0;
    out->n = s->n;
    out->n_edges = 0;
    s->wrap = bi_calloc(s->env, s->n, sizeof *s->wrap);
    s->wrapped = bi_calloc(s->env, 3 * (size_t)s->n, sizeof *s->wrapped);
    fraction = bi_calloc(s->env, 3 * (size_t)s->n, sizeof *fraction);
    if (!s->wrap || !s->wrapped || !fraction ||
        !bi_grow(s->env, &out->row_start, &out->cap_row, (size_t)s->n + 1, sizeof *out->row_start))
        st = bi_fail(err, BIOINFER_NOMEM, "neighbours of %u atoms", s->n);
    else
        wrap_all(s, fraction);
    if (!st && bins)
        st = fill_bins(s, fraction, err);
    if (!st)
        st = fill_rows(out, s, max_edges, err);
    bi_free(s->env, fraction);
    bi_free(s->env, s->wrap);
    bi_free(s->env, s->wrapped);
    bi_free(s->env, s->bin_start);
    bi_free(s->env, s->atoms);
    bi_free(s->env, s->bin);
    return st;
}

int bi_neighbours_find(struct bi_neighbours *out, uint32_t n, const double *position,
                       const double cell[9], const bool periodic[3], double cutoff,
                       uint64_t max_edges, struct bioinfer_error *err)
{
    struct search s = {.env = out->env, .n = n, .position = position};
    int st = bi_neighbours_grid(&s.grid, n, position, cell, periodic, cutoff, err);
    return st ? st : find(out, &s, n >= BI_NEIGHBOURS_BRUTE, max_edges, err);
}

int bi_neighbours_plain(struct bi_neighbours *out, uint32_t n, const double *position,
                        const double cell[9], const bool periodic[3], double cutoff,
                        uint64_t max_edges, struct bioinfer_error *err)
{
    struct search s = {.env = out->env, .n = n, .position = position};
    int st = make_grid(&s.grid, n, position, cell, periodic, cutoff, false, err);
    return st ? st : find(out, &s, false, max_edges, err);
}

void bi_neighbours_free(struct bi_neighbours *neighbours)
{
    if (!neighbours || !neighbours->env)
        return;
    bi_free(neighbours->env, neighbours->row_start);
    bi_free(neighbours->env, neighbours->col);
    bi_free(neighbours->env, neighbours->shift);
    *neighbours = (struct bi_neighbours){0};
}

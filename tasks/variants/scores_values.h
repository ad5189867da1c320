/* scores_values.h - what a variant changes, as numbers: from sums over rows of both alleles, which
 * the device makes, or from arrays of all rows [n_rows, n_tracks]. Scores are [n_tracks]. INVALID:
 * rows that are not there. */
#ifndef BI_VARIANTS_SCORES_VALUES_H
#define BI_VARIANTS_SCORES_VALUES_H

#include "../../base/base.h"

/* Alleles of different lengths are aligned by the row of the last base that both have. */
struct bi_alleles {
    const float *reference, *alternative;
    int64_t n_rows;
    int n_tracks;
    int64_t joint;    /* that row; rows are bases where `inserted` is not 0 */
    int64_t inserted; /* bases of the alternative less bases of the reference */
};

/* Finds the row of the alternative that lies beside row `row`, in [0, n_rows), of the reference:
 * BI_ROW_ZEROS for bases that were deleted and what moved in from outside the window; BI_ROW_SPAN
 * for the base in front of inserted ones and these, of which there are the largest values (struct
 * bi_row_lists). */
enum { BI_ROW_ZEROS = -1, BI_ROW_SPAN = -2 };
int64_t bi_aligned_row(const struct bi_alleles *alleles, int64_t row);
/* 0, or INVALID where there are no rows or no tracks, or alleles of different lengths are not
 * within the rows or not aligned at one of them. Arrays are not looked at. */
int bi_alleles_check(const struct bi_alleles *alleles);

enum bi_aggregation {
    BI_DIFF_MEAN,
    BI_DIFF_SUM,
    BI_DIFF_LOG2_SUM, /* log2(1 + sum) */
    BI_ACTIVE_MEAN,   /* the larger one */
    BI_ACTIVE_SUM
};

/* A score from sums over n_rows rows of the reference and of the alternative; n_rows counts for
 * means alone, which are NaN of no rows. */
double bi_score_of_sums(enum bi_aggregation how, double reference, double alternative,
                        int64_t n_rows);

/* Finds the rows [*first, *end) around base `at` of a window that hold `width` bases, by whole rows
 * of `resolution` bases; width 0 = all. Rows off the window are left out. `at` is in the window;
 * where rows are an even number, one more lies in front of its row than behind it. */
void bi_center_rows(int64_t window, int64_t width, int64_t resolution, int64_t at, int64_t *first,
                    int64_t *end);

enum bi_gene_score {
    BI_GENE_LFC,   /* ln(mean + 1e-3) of the alternative less that of the reference */
    BI_GENE_ACTIVE /* the larger mean */
};

/* The same over the exons of a gene; NaN of no row. */
double bi_score_of_gene(enum bi_gene_score how, double reference, double alternative,
                        int64_t n_rows);
/* The largest absolute difference in rows [first, end) of arrays, aligned; 0 of no rows. 0, or
 * INVALID, also where an array is NULL. */
int bi_alleles_gap(const struct bi_alleles *alleles, int64_t first, int64_t end, float *scores);

enum { BI_MOST_SITES = 256 };

/* A score from sums over the rows in front of each of n polyadenylation sites, at most
 * BI_MOST_SITES. The ratio of the two alleles at a site is 0 where it is no number. The score is
 * the largest absolute log2((n - k) / k * r_k), k in [1, n), r_k: the sum of k ratios over that
 * of the rest; those that are not finite are left out, and it is 0 where none is left, as for n <
 * 2. */
double bi_score_of_sites(const double *reference, const double *alternative, size_t n);

/* Chooses the sites [4, n] that junctions of both alleles are counted between: the n of each
 * class with the largest probabilities that are 0.1 at least, in the order of rows, -1 behind
 * the last; the first of equal ones. Alleles are the classes of splice sites, 4 tracks of them
 * or more, and are aligned; a probability is that of the allele that has the larger one. known
 * [n_rows]: bit c of a row is set where it is known to be a site of class c, with a probability
 * of 1; bit 4 where sites are looked for at all. 0, NOMEM, or INVALID for n < 1, fewer tracks or
 * missing arrays; sites are untouched then. */
int bi_alleles_junction_sites(const struct bi_env *env, const struct bi_alleles *alleles,
                              const unsigned char *known, int64_t n, int32_t *sites);
enum { BI_JUNCTION_SITES = 256 }; /* so many of a class are scored, the first ones */
enum { BI_SITE_CLASSES = 4, BI_SITES_WANTED = 1 << BI_SITE_CLASSES };

struct bi_junction {
    int64_t start, end;  /* the intron, [start, end) of the window */
    const float *scores; /* [n_tracks / 2] absolute differences of ln(1e-7 + count), in float16 */
};

/* Hands out the junctions of the first 256 sites strictly between bases start and end of the window
 * on a gene's strand that have the largest score of one track, in the order of the tracks, each
 * once. Alleles are counts [side, side, n_tracks], n_rows = side, of which the first half of the
 * tracks is of strand +; sites [4, side] are as in the array "sites" of a window, one list for both
 * alleles. The first of equal ones, by donor and then acceptor; none where no junction is there.
 * take: 0 = go on, > 0 = stop, which gives 0, < 0 = a status; scores live during the call. 0,
 * NOMEM, the status that take gives, or INVALID for an odd number of tracks or missing arrays. */
int bi_alleles_junctions(const struct bi_env *env, const struct bi_alleles *alleles,
                         const float *sites, char strand, int64_t start, int64_t end,
                         int (*take)(void *user, const struct bi_junction *junction), void *user);

#endif

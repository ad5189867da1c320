/* neighbours_test.c - pairs within a cutoff against every image of every pair, in random cells. */
#include "../../loaders/atoms.h"
#include "../../loaders/neighbours.h"
#include "../test.h"

enum { MAX_EDGES = 400000 };

struct edge {
    uint32_t i, j;
    int32_t shift[3];
};

static uint64_t state = 1;

/* A number in [0, 1). */
static double random01(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(state >> 11) * 0x1p-53;
}

/* The statement: all pairs (i, j, s) with |x_j + s cell - x_i| <= cutoff but (i, i, 0), for s in a
 * box that is larger than any distance asks for. */
static size_t state_edges(uint32_t n, const double *x, const double cell[9], const bool periodic[3],
                          double cutoff, int most, struct edge *out)
{
    const int m[3] = {periodic[0] ? most : 0, periodic[1] ? most : 0, periodic[2] ? most : 0};
    size_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            for (int a = -m[0]; a <= m[0]; a++)
                for (int b = -m[1]; b <= m[1]; b++)
                    for (int c = -m[2]; c <= m[2]; c++) {
                        double r2 = 0;
                        for (int k = 0; k < 3; k++) {
                            const double d = x[3 * j + k] - x[3 * i + k] +
                                             (a * cell[k] + b * cell[3 + k] + c * cell[6 + k]);
                            r2 += d * d;
                        }
                        if (r2 <= cutoff * cutoff && (i != j || a || b || c) && count < MAX_EDGES)
                            out[count++] = (struct edge){i, j, {a, b, c}};
                    }
    return count;
}

static void compare(const struct bi_neighbours *got, const struct edge *want, size_t n)
{
    size_t e = 0;
    if (!CHECK_EQ(got->n_edges, n))
        return;
    for (uint32_t i = 0; i < got->n; i++) {
        CHECK(got->row_start[i] == e);
        for (; e < n && want[e].i == i; e++)
            if (got->col[e] != want[e].j || memcmp(got->shift[e], want[e].shift, 12)) {
                CHECK(!"another edge");
                return;
            }
    }
    CHECK(got->row_start[got->n] == n);
}

/* A cell whose vectors are `size` angstrom or so, of either hand, at any angles. */
static void make_cell(double size, double cell[9])
{
    do {
        for (int i = 0; i < 9; i++)
            cell[i] = (i % 4 == 0 ? 1 : 0.8 * random01() - 0.4) * size * (0.8 + 0.4 * random01());
        if (random01() < 0.3)
            for (int i = 0; i < 3; i++)
                cell[i] = -cell[i];
    } while (fabs(bi_cell_volume(cell)) < 0.3 * size * size * size);
}

static void finds_every_image(void)
{
    static struct edge want[MAX_EDGES];
    struct bi_env env = bi_env_default();
    struct bi_neighbours got = {.env = &env};
    struct bioinfer_error err = {0};
    for (int trial = 0; trial < 48; trial++) {
        /* few atoms in small cells; many in cells of several bins, where bins are used */
        const bool many = trial % 4 == 3;
        const uint32_t n = many ? 300 : 1 + (uint32_t)(random01() * 12);
        const double cutoff = many ? 3 : 4, size = many ? 11 : 3 + 4 * random01();
        const bool periodic[3] = {trial & 1, trial & 2, trial % 3 == 0};
        double cell[9], x[900];
        make_cell(size, cell);
        for (uint32_t i = 0; i < n; i++) {
            const double f[3] = {3 * random01() - 1, 3 * random01() - 1, 3 * random01() - 1};
            for (int k = 0; k < 3; k++)
                x[3 * i + k] = f[0] * cell[k] + f[1] * cell[3 + k] + f[2] * cell[6 + k];
        }
        for (int k = 0; k < 3; k++)
            if (!periodic[k] && trial % 5 == 0) /* an axis without a vector */
                cell[3 * k] = cell[3 * k + 1] = cell[3 * k + 2] = 0;
        const size_t count = state_edges(n, x, cell, periodic, cutoff, many ? 4 : 7, want);
        if (!CHECK(!bi_neighbours_find(&got, n, x, cell, periodic, cutoff, 0, &err)))
            fprintf(stderr, "    %s\n", err.text);
        compare(&got, want, count);
        CHECK(!bi_neighbours_plain(&got, n, x, cell, periodic, cutoff, 0, &err));
        compare(&got, want, count);
    }
    bi_neighbours_free(&got);
}

/* Shells of a face-centred cubic crystal: 12, 6, 24 and 12 neighbours, all images of one atom. */
static void counts_a_crystal(void)
{
    static const double cell[9] = {0, 1.8, 1.8, 1.8, 0, 1.8, 1.8, 1.8, 0};
    static const bool periodic[3] = {true, true, true}, slab[3] = {true, true, false};
    const double x[3] = {0.3, -7.2, 40};
    struct bi_env env = bi_env_default();
    struct bi_neighbours got = {.env = &env};
    CHECK(!bi_neighbours_find(&got, 1, x, cell, periodic, 5.1, 0, NULL));
    CHECK_EQ(got.n_edges, 12 + 6 + 24 + 12);
    for (uint64_t e = 0; e < got.n_edges; e++)
        CHECK(got.col[e] == 0 && (got.shift[e][0] || got.shift[e][1] || got.shift[e][2]));
    CHECK(!bi_neighbours_find(&got, 1, x, cell, slab, 2.6, 0, NULL));
    CHECK_EQ(got.n_edges, 6);
    bi_neighbours_free(&got);
}

/* A large box takes bins, and finds what its plain form does. */
static void bins_are_plain(void)
{
    enum { N = 3000 };
    static double x[3 * N];
    static const double cell[9] = {31, 0, 0, 4, 29, 0, -7, 3, 33};
    static const bool periodic[3] = {true, true, false};
    struct bi_env env = bi_env_default();
    struct bi_neighbours a = {.env = &env}, b = {.env = &env};
    for (size_t i = 0; i < 3 * N; i++)
        x[i] = 60 * random01() - 20;
    CHECK(!bi_neighbours_find(&a, N, x, cell, periodic, 5, 0, NULL));
    CHECK(!bi_neighbours_plain(&b, N, x, cell, periodic, 5, 0, NULL));
    if (CHECK_EQ(a.n_edges, b.n_edges)) {
        CHECK(!memcmp(a.row_start, b.row_start, (N + 1) * sizeof *a.row_start));
        CHECK(!memcmp(a.col, b.col, a.n_edges * sizeof *a.col));
        CHECK(!memcmp(a.shift, b.shift, a.n_edges * sizeof *a.shift));
    }
    bi_neighbours_free(&a);
    bi_neighbours_free(&b);
}

static void says_what_is_wrong(void)
{
    static const double cube[9] = {10, 0, 0, 0, 10, 0, 0, 0, 10};
    static const double flat[9] = {10, 0, 0, 0, 10, 0, 10, 10, 0};
    static const double thin[9] = {10, 0, 0, 0, 10, 0, 0, 0, 0.001};
    static const bool periodic[3] = {true, true, true};
    struct bi_env env = bi_env_default();
    struct bi_neighbours got = {.env = &env};
    struct bioinfer_error err = {0};
    double x[6] = {1, 2, 3, 11, 2, -7};
    CHECK_EQ(bi_neighbours_find(&got, 2, x, cube, periodic, 5, 0, &err), BIOINFER_FORMAT);
    CHECK_HAS(err.text, "atoms 1 and 2 lie on each other");
    x[0] = 2;
    CHECK_EQ(bi_neighbours_find(&got, 2, x, cube, periodic, 5, 0, &err), 0);
    CHECK_EQ(got.n_edges, 2);
    CHECK_EQ(bi_neighbours_find(&got, 2, x, cube, periodic, 5, 1, &err), BIOINFER_LIMIT);
    CHECK_HAS(err.text, "more than 1 pairs");
    CHECK_EQ(bi_neighbours_find(&got, 2, x, flat, periodic, 5, 0, &err), BIOINFER_FORMAT);
    CHECK_HAS(err.text, "no volume");
    CHECK_EQ(bi_neighbours_find(&got, 1, x, thin, periodic, 5, 0, &err), BIOINFER_LIMIT);
    CHECK_HAS(err.text, "thin");
    static const double tiny[9] = {0.02, 0, 0, 0, 0.02, 0, 0, 0, 0.02};
    CHECK_EQ(bi_neighbours_find(&got, 1, x, tiny, periodic, 5, 0, &err), BIOINFER_LIMIT);
    x[4] = NAN;
    CHECK_EQ(bi_neighbours_find(&got, 2, x, cube, periodic, 5, 0, &err), BIOINFER_FORMAT);
    CHECK_HAS(err.text, "atom 2: coordinate nan");
    x[4] = 1e308;
    CHECK_EQ(bi_neighbours_find(&got, 2, x, cube, periodic, 5, 0, &err), BIOINFER_FORMAT);
    CHECK(!bi_neighbours_find(&got, 0, x, cube, periodic, 5, 0, &err));
    CHECK_EQ(got.n_edges, 0);
    bi_neighbours_free(&got);
}

int main(void)
{
    TEST(finds_every_image);
    TEST(counts_a_crystal);
    TEST(bins_are_plain);
    TEST(says_what_is_wrong);
    return test_report();
}

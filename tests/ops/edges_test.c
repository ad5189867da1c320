/* edges_test.c - the edges of atoms that the launches of kernels/atom_edges.h find, on every
 * instruction set, against those of loaders/neighbours.h: the same, in the same order, and the same
 * bits of their vectors. Several frames share a batch. */
#include "../../kernels/atom_edges.h"
#include "../../kernels/cpu/cpu.h"
#include "../../loaders/atoms.h"
#include "../../loaders/neighbours.h"
#include "../test.h"

enum { FRAMES = 3, MOST_ATOMS = 400, MOST = FRAMES * MOST_ATOMS, EDGES = 200000 };

static uint64_t state = 1;

/* A number in [0, 1). */
static double random01(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(state >> 11) * 0x1p-53;
}

struct frame {
    uint32_t n;
    double cell[9], position[3 * MOST_ATOMS];
    bool periodic[3];
};

static struct bi_counts counts;
static struct frame frames[FRAMES];
static struct bi_atom_frame grids[FRAMES];
static double position[3 * MOST];
static struct bi_atom_place place[MOST];
static int32_t order[MOST], first[4 * MOST + 1], found[BI_EDGE_SHARES * MOST], degree[MOST];
static int32_t report[BI_REPORT_WORDS], start[MOST + 1], col[EDGES], reverse[EDGES];
static uint64_t key[EDGES];
static float vector[3 * EDGES];
static const double cutoff = 5;

/* A frame of few atoms or many, dense or not; some atoms lie outside their cell. */
static void make_frame(struct frame *f, int trial)
{
    const double size = trial % 5 == 0 ? 4 : 8 + 12 * random01();
    f->n = 1 + (uint32_t)(random01() * (trial % 2 ? MOST_ATOMS : 30));
    do {
        for (int i = 0; i < 9; i++)
            f->cell[i] = (i % 4 == 0 ? 1 : 0.8 * random01() - 0.4) * size;
    } while (fabs(bi_cell_volume(f->cell)) < 0.3 * size * size * size);
    for (int k = 0; k < 3; k++)
        f->periodic[k] = random01() < 0.6;
    if (trial % 5 == 0 && f->n > 20)
        f->n = 20;
    for (uint32_t i = 0; i < f->n; i++) {
        double at[3];
        for (int k = 0; k < 3; k++)
            at[k] = random01() * (random01() < 0.1 ? 7 : 1);
        for (int k = 0; k < 3; k++)
            f->position[3 * i + (uint32_t)k] = at[0] * f->cell[k] + at[1] * f->cell[3 + k] +
                                               at[2] * f->cell[6 + k];
    }
}

static void fill_grid(struct bi_atom_frame *g, const struct frame *f)
{
    struct bi_neighbour_grid from;
    struct bioinfer_error err = {0};
    if (!CHECK(!bi_neighbours_grid(&from, f->n, f->position, f->cell, f->periodic, cutoff, &err)))
        fprintf(stderr, "    %s\n", err.text);
    *g = (struct bi_atom_frame){
        .cutoff2 = from.cutoff2, .nearly2 = from.nearly2, .n_atoms = (int32_t)f->n};
    memcpy(g->cell, from.cell, sizeof g->cell);
    memcpy(g->inverse, from.inverse, sizeof g->inverse);
    memcpy(g->low, from.low, sizeof g->low);
    memcpy(g->width, from.width, sizeof g->width);
    memcpy(g->n_bins, from.n_bins, sizeof g->n_bins);
    memcpy(g->reach, from.reach, sizeof g->reach);
    for (int k = 0; k < 3; k++)
        g->periodic |= (int32_t)f->periodic[k] << k;
}

/* Runs the five launches. */
static void launch(const struct bi_cpu_kernels *kernels, int64_t capacity)
{
    static const char *const names[] = {"atom_cells", "edge_count", "edge_start", "edge_list",
                                        "edge_reverse"};
    const struct bi_atom_edges_params p = {.counts = &counts,
                                           .position = position,
                                           .frame = grids,
                                           .place = place,
                                           .order = order,
                                           .first = first,
                                           .found = found,
                                           .degree = degree,
                                           .report = report,
                                           .start = start,
                                           .col = col,
                                           .reverse = reverse,
                                           .key = key,
                                           .vector = vector,
                                           .rows = MOST,
                                           .capacity = capacity};
    memset(report, 0, sizeof report);
    counts.n_edges = (int32_t)capacity;
    for (size_t k = 0; k < BI_COUNT(names); k++) {
        const struct bi_cpu_entry *e = bi_cpu_find_entry(kernels, names[k], NULL);
        const int64_t n = e->tasks(&p, 1);
        for (int64_t task = n; task-- > 0;)
            e->run(&p, task, n, NULL);
    }
}

/* Are the edges from `at` on those of the frame, whose atoms begin at `atom`? */
static int32_t compare(const struct frame *f, const struct bi_neighbours *want, int32_t atom,
                       int32_t at)
{
    for (uint32_t i = 0; i < f->n; i++) {
        CHECK(start[atom + (int32_t)i] == at + (int32_t)want->row_start[i]);
        for (uint64_t e = want->row_start[i]; e < want->row_start[i + 1]; e++) {
            const int32_t have = at + (int32_t)e, back = reverse[have];
            const double *x = f->position + 3 * i, *y = f->position + 3 * want->col[e];
            bool same = col[have] == atom + (int32_t)want->col[e] && col[back] == atom + (int32_t)i;
            for (int k = 0; k < 3; k++) {
                double image = 0;
                for (int s = 0; s < 3; s++)
                    image += want->shift[e][s] * f->cell[3 * s + k];
                same = same && vector[3 * have + k] == (float)(x[k] - y[k] - image) &&
                       vector[3 * back + k] == -vector[3 * have + k];
            }
            if (!CHECK(same && reverse[back] == have))
                return 0;
        }
    }
    return at + (int32_t)want->n_edges;
}

static void are_those_of_the_host(void)
{
    struct bi_env env = bi_env_default();
    struct bi_neighbours want = {.env = &env};
    struct bioinfer_error err = {0};
    for (int trial = 0; trial < 40; trial++) {
        int32_t n = 0, bins = 0;
        for (int s = 0; s < FRAMES; s++) {
            make_frame(&frames[s], trial + s);
            fill_grid(&grids[s], &frames[s]);
            grids[s].first_atom = n;
            grids[s].first_bin = bins;
            memcpy(position + 3 * n, frames[s].position, 24 * frames[s].n);
            n += (int32_t)frames[s].n;
            bins += grids[s].n_bins[0] * grids[s].n_bins[1] * grids[s].n_bins[2];
        }
        for (int k = 0; bi_cpu_kernels_usable(k); k++) {
            int32_t at = 0;
            counts = (struct bi_counts){.n_tokens = n, .n_seqs = FRAMES};
            launch(bi_cpu_kernels_usable(k), EDGES);
            for (int s = 0; s < FRAMES; s++) {
                CHECK(!bi_neighbours_find(&want, frames[s].n, frames[s].position, frames[s].cell,
                                          frames[s].periodic, cutoff, 0, &err));
                at = compare(&frames[s], &want, grids[s].first_atom, at);
            }
            CHECK_EQ(counts.n_edges, at);
            CHECK_EQ(report[BI_REPORT_EDGES], at);
            CHECK_EQ(report[BI_REPORT_TOUCHES], 0);
            if (at < 2)
                continue;
            /* without room for the last one there are none, and it is said how many there are */
            launch(bi_cpu_kernels_usable(k), at - 1);
            CHECK_EQ(counts.n_edges, 0);
            CHECK_EQ(start[n], 0);
            CHECK_EQ(report[BI_REPORT_EDGES], at);
        }
    }
    bi_neighbours_free(&want);
}

static void atoms_that_touch_are_told(void)
{
    frames[0] = (struct frame){.n = 2, .position = {1, 2, 3, 1, 2, 3.0001}};
    fill_grid(&grids[0], &frames[0]);
    memcpy(position, frames[0].position, sizeof frames[0].position);
    counts = (struct bi_counts){.n_tokens = 2, .n_seqs = 1};
    launch(bi_cpu_kernels_usable(0), EDGES);
    CHECK_EQ(report[BI_REPORT_TOUCHES], 1);
    CHECK_EQ(report[BI_REPORT_EDGES], 2);
    /* places that are no numbers have no neighbours, and nothing is read beside the arrays */
    position[0] = NAN;
    position[4] = INFINITY;
    launch(bi_cpu_kernels_usable(0), EDGES);
    CHECK_EQ(report[BI_REPORT_EDGES], 0);
}

int main(void)
{
    TEST(are_those_of_the_host);
    TEST(atoms_that_touch_are_told);
    return test_report();
}

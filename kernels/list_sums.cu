/* list_sums.cu - sums over rows that lists name.
 *
 * A block takes 32 columns of a list, a group of 32 threads every eighth entry of it, four of them
 * asked for at once; then one group adds the eight. An entry's group is told by its place in the
 * list, so equal numbers in lists of one length have equal sums. */
#include "gpu_rows.h"

#include "list_sums.h"

enum { LIST_SLICES = ROW_THREADS / ROW_LANES, LIST_ROWS = 4 };

struct list_sums {
    double of[LIST_SLICES][ROW_LANES];
};

/* The largest number of a column in the rows of the span. */
DEV float largest_of(const struct bi_list_sums_params &p, int c)
{
    float largest = p.x[p.lists[0] * p.ldx + c];
    for (int64_t r = p.lists[0] + 1; r < p.lists[1]; r++) {
        const float v = p.x[r * p.ldx + c];
        largest = v > largest ? v : largest;
    }
    return largest;
}

/* Finds the number that entry `at` of all lists adds to column c, or compares. */
template <int KIND> DEV double entry_of(const struct bi_list_sums_params &p, int64_t at, int c)
{
    const int32_t *rows = p.lists + 2 + p.n;
    const int32_t row = rows[at];
    const float v = row >= 0 ? p.x[row * p.ldx + c] : row == BI_LIST_NONE ? 0 : largest_of(p, c);
    if (KIND == BI_LIST_SUM)
        return (double)v;
    const float other = p.other[rows[p.size + at] * p.ldo + c];
    const double gap = KIND == BI_LIST_GAP ? (double)(v - other) : (double)v - (double)other;
    return gap < 0 ? -gap : gap;
}

template <int KIND> DEV double joined(double sum, double v)
{
    return KIND != BI_LIST_GAP ? sum + v : v > sum ? v : sum;
}

/* Entries first, first + LIST_SLICES ... below `end`. */
template <int KIND>
DEV double add_entries(const struct bi_list_sums_params &p, int64_t first, int64_t end, int c)
{
    double sum = 0;
    for (int64_t at = first; at < end; at += LIST_SLICES * LIST_ROWS) {
        double v[LIST_ROWS];
#pragma GCC unroll 4
        for (int i = 0; i < LIST_ROWS; i++)
            v[i] = at + i * LIST_SLICES < end ? entry_of<KIND>(p, at + i * LIST_SLICES, c) : 0;
#pragma GCC unroll 4
        for (int i = 0; i < LIST_ROWS; i++)
            sum = joined<KIND>(sum, v[i]);
    }
    return sum;
}

template <int KIND> DEV void sum_list(const struct bi_list_sums_params &p, list_sums &s)
{
    const int lane = thread_id() % ROW_LANES, slice = thread_id() / ROW_LANES;
    const int c = block_x() * ROW_LANES + lane, list = block_y();
    const int32_t *ends = p.lists + 2;
    const int64_t first = list ? ends[list - 1] : 0;
    double sum = c < p.width ? add_entries<KIND>(p, first + slice, ends[list], c) : 0;
    s.of[slice][lane] = sum;
    barrier();
    if (slice > 0 || c >= p.width)
        return;
#pragma GCC unroll 1
    for (int i = 1; i < LIST_SLICES; i++)
        sum = joined<KIND>(sum, s.of[i][lane]);
    float *y = p.y + 2 * list * p.ldy + c;
    y[0] = (float)sum;
    y[p.ldy] = (float)(sum - (double)y[0]);
}

KERNEL(list_sums_f32, struct bi_list_sums_params, ROW_THREADS, 4)
{
    SHARED(list_sums, s, sizeof(list_sums));
    if (p.kind == BI_LIST_SUM)
        sum_list<BI_LIST_SUM>(p, s);
    else if (p.kind == BI_LIST_GAP)
        sum_list<BI_LIST_GAP>(p, s);
    else
        sum_list<BI_LIST_GAPS>(p, s);
}

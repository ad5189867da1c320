/* list_sums.cu - sums over rows that lists name: list_sums, list_add, put_listed.
 *
 * A block takes 32 columns of a list, a group of 32 threads every eighth entry of it, four of them
 * asked for at once; then one group adds the eight. An entry's group is told by its place in the
 * list, so equal numbers in lists of one length have equal sums. */
#include "lib/gpu_rows.h"

#include "lib/gpu_sums.h"
#include "../list_sums.h"

enum { LIST_SLICES = ROW_THREADS / ROW_LANES, LIST_ROWS = 4 };
static_assert((int)LIST_SLICES == (int)BI_SUMS_SLICES, "partial sums of slices");

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

/* The number of column c that entry `at` names. */
DEV float value_of(const struct bi_list_sums_params &p, int32_t row, int c)
{
    return row >= 0 ? p.x[row * p.ldx + c] : row == BI_LIST_NONE ? 0 : largest_of(p, c);
}

/* Rows of a tile; `largest` is that of the span. */
struct listed_tile : bi_list_add_params {
    float largest;
};

DEV float value_of(const listed_tile &p, int32_t row, int c)
{
    return row >= 0              ? p.x[(row - p.tile[BI_TILE_BASE]) * p.ldx + c]
           : row == BI_LIST_NONE ? 0
                                 : p.largest;
}

/* Finds the number that entry `at` of all lists adds to column c, or compares. */
template <int KIND, typename P> DEV double entry_of(const P &p, int64_t at, int c)
{
    const int32_t *rows = p.lists + 2 + p.n;
    const float v = value_of(p, rows[at], c);
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

/* Adds to `sum` entries first, first + LIST_SLICES ... below `end`. */
template <int KIND, typename P>
DEV double add_entries(const P &p, int64_t first, int64_t end, int c, double sum)
{
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
    double sum = c < p.width ? add_entries<KIND>(p, first + slice, ends[list], c, 0) : 0;
    s.of[slice][lane] = sum;
    barrier();
    if (slice > 0 || c >= p.width)
        return;
#pragma GCC unroll 1
    for (int i = 1; i < LIST_SLICES; i++)
        sum = joined<KIND>(sum, s.of[i][lane]);
    put_sum(p.y + 2 * list * p.ldy + c, p.ldy, sum);
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

/* ---- a tile of a window ---- */

/* Makes the largest number of a column in the rows of the span up to those of the tile. */
DEV float widen_span(const struct bi_list_add_params &p, float largest, int c)
{
    const int32_t *tile = p.tile, begin = p.lists[0], end = p.lists[1];
    const int64_t from = begin > tile[BI_TILE_FIRST] ? begin : tile[BI_TILE_FIRST];
    const int64_t to = end < tile[BI_TILE_END] ? end : tile[BI_TILE_END];
    for (int64_t r = from; r < to; r++) {
        const float v = p.x[(r - tile[BI_TILE_BASE]) * p.ldx + c];
        largest = r == begin || v > largest ? v : largest;
    }
    return largest;
}

/* A slice takes the entries that it has of the list; all have found the span's largest number. */
template <int KIND> DEV void add_list(const struct bi_list_add_params &p, list_sums &s)
{
    const int lane = thread_id() % ROW_LANES, slice = thread_id() / ROW_LANES;
    const int c = block_x() * ROW_LANES + lane, list = block_y();
    const int64_t all = list ? p.lists[2 + list - 1] : 0, width = p.width;
    const int64_t begin = p.cuts[list], end = p.cuts[p.n + list];
    const int64_t first = begin + (slice + LIST_SLICES - (begin - all) % LIST_SLICES) % LIST_SLICES;
    float *y = p.y + c;
    float *part = y + (2 * p.n + 2 * (BI_SUMS_SLICES * (int64_t)list + slice)) * width;
    float *largest = y + ((2 + 2 * BI_SUMS_SLICES) * (int64_t)p.n + list) * width;
    double sum = 0;
    listed_tile of;
    (struct bi_list_add_params &)of = p;
    of.largest = c < p.width ? widen_span(p, largest[0], c) : 0;
    barrier();
    if (c < p.width) {
        sum = add_entries<KIND>(of, first, end, c, load_part(part, width));
        store_part(part, width, sum);
    }
    s.of[slice][lane] = sum;
    barrier();
    if (slice > 0 || c >= p.width)
        return;
    largest[0] = of.largest;
#pragma GCC unroll 1
    for (int i = 1; i < LIST_SLICES; i++)
        sum = joined<KIND>(sum, s.of[i][lane]);
    put_sum(y + 2 * list * width, width, sum);
}

KERNEL(list_add_f32, struct bi_list_add_params, ROW_THREADS, 4)
{
    SHARED(list_sums, s, sizeof(list_sums));
    if (p.kind == BI_LIST_SUM)
        add_list<BI_LIST_SUM>(p, s);
    else if (p.kind == BI_LIST_GAP)
        add_list<BI_LIST_GAP>(p, s);
    else
        add_list<BI_LIST_GAPS>(p, s);
}

KERNEL(put_listed_f32, struct bi_put_listed_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= p.rows || p.list[r] < p.tile[BI_TILE_FIRST] || p.list[r] >= p.tile[BI_TILE_END])
        return;
    const float *x = p.x + (p.list[r] - p.tile[BI_TILE_BASE]) * p.ldx;
    for (int c = thread_id() % ROW_LANES; c < p.width; c += ROW_LANES)
        p.y[r * p.width + c] = x[c];
}

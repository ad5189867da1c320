/* atom_edges.cu - the pairs of atoms within a cutoff (atom_edges.h). What lies around an atom is
 * shared by 32 threads, which look at every 32nd of it each. */
#include "lib/gpu_rows.h"

#pragma clang force_cuda_host_device begin
#include "../atom_edges.h"
#pragma clang force_cuda_host_device end

enum { ATOM_THREADS = ROW_THREADS };

DEV int64_t my_atom()
{
    return (int64_t)block_x() * ATOM_THREADS + thread_id();
}

/* ---- sums of the numbers before each, by one block ---- */

enum { AT_A_TIME = 8 }; /* numbers that a thread has at a time */

struct block_sums {
    int64_t of[ATOM_THREADS];
};

/* The sum of x over the threads before this one, and over all in *total. */
DEV int64_t sum_before(block_sums &s, int64_t x, int64_t *total)
{
    const int me = thread_id();
    barrier(); /* s may still be read */
    s.of[me] = x;
    barrier();
    for (int step = 1; step < ATOM_THREADS; step *= 2) {
        const int64_t before = me >= step ? s.of[me - step] : 0;
        barrier();
        s.of[me] += before;
        barrier();
    }
    *total = s.of[ATOM_THREADS - 1];
    return s.of[me] - x;
}

/* Calls put(i, sum of the numbers before i, number i) for n numbers get(i); returns their sum. */
template <typename G, typename P> DEV int64_t add_up(block_sums &s, int64_t n, G get, P put)
{
    int64_t sum = 0;
    for (int64_t first = 0; first < n; first += ATOM_THREADS * AT_A_TIME) {
        const int64_t mine = first + thread_id() * AT_A_TIME;
        int x[AT_A_TIME];
        int64_t of_mine = 0, total;
#pragma GCC unroll 8
        for (int k = 0; k < AT_A_TIME; k++)
            x[k] = mine + k < n ? get(mine + k) : 0;
#pragma GCC unroll 8
        for (int k = 0; k < AT_A_TIME; k++)
            of_mine += x[k];
        int64_t before = sum + sum_before(s, of_mine, &total);
#pragma GCC unroll 8
        for (int k = 0; k < AT_A_TIME; k++) {
            if (mine + k < n)
                put(mine + k, before, x[k]);
            before += x[k];
        }
        sum += total;
    }
    return sum;
}

/* ---- atom_cells ---- */

DEV void empty_cells(const struct bi_atom_edges_params &p, int64_t first, int64_t step)
{
    for (int64_t b = first; b <= bi_edge_bins(&p); b += step)
        p.first[b] = 0;
}

DEV void place_atoms(const struct bi_atom_edges_params &p, int64_t first, int64_t step)
{
    for (int64_t i = first; i < bi_edge_atoms(&p); i += step) {
        struct bi_atom_place at;
        bi_atom_place_of(&p, i, &at);
        at.slot = claim(p.first + at.bin + 1);
        p.place[i] = at;
    }
}

DEV void begin_cells(const struct bi_atom_edges_params &p, block_sums &s)
{
    int32_t *n = p.first + 1;
    add_up(
        s, bi_edge_bins(&p), [&](int64_t b) ALWAYS_INLINE { return n[b]; },
        [&](int64_t b, int64_t before, int x) ALWAYS_INLINE { n[b] = (int32_t)(before + x); });
}

/* Atoms by cell, those of a cell as they came. */
DEV void fill_cells(const struct bi_atom_edges_params &p, int64_t first, int64_t step)
{
    for (int64_t i = first; i < bi_edge_atoms(&p); i += step)
        p.work[p.first[p.place[i].bin] + p.place[i].slot] = (int32_t)i;
}

/* Atoms by cell, those of a cell by number. */
DEV void sort_cells(const struct bi_atom_edges_params &p, int64_t first, int64_t step)
{
    for (int64_t i = first; i < bi_edge_atoms(&p); i += step) {
        const int begin = p.first[p.place[i].bin], end = p.first[p.place[i].bin + 1];
        int before = 0;
        for (int k = begin; k < end; k++)
            before += p.work[k] < i;
        p.order[begin + before] = (int32_t)i;
        p.place[i].slot = before;
    }
}

/* The five that follow, by one block. */
KERNEL(atom_cells_few_f32, struct bi_atom_edges_params, ATOM_THREADS, 1)
{
    SHARED(block_sums, s, 4096);
    const int t = thread_id();
    empty_cells(p, t, ATOM_THREADS);
    barrier();
    place_atoms(p, t, ATOM_THREADS);
    barrier();
    begin_cells(p, s);
    barrier();
    fill_cells(p, t, ATOM_THREADS);
    barrier();
    sort_cells(p, t, ATOM_THREADS);
}

/* Each thread of the grids has one number: a step that leads behind all of them. */
static const int64_t once = (int64_t)1 << 40;

KERNEL(atom_cells_f32, struct bi_atom_edges_params, ATOM_THREADS, 4)
{
    empty_cells(p, my_atom(), once);
}

KERNEL(then_atom_places_f32, struct bi_atom_edges_params, ATOM_THREADS, 2)
{
    place_atoms(p, my_atom(), once);
}

KERNEL(then_atom_cells_first_f32, struct bi_atom_edges_params, ATOM_THREADS, 1)
{
    SHARED(block_sums, s, 4096);
    begin_cells(p, s);
}

KERNEL(then_atom_cells_fill_f32, struct bi_atom_edges_params, ATOM_THREADS, 4)
{
    fill_cells(p, my_atom(), once);
}

KERNEL(then_atom_cells_sort_f32, struct bi_atom_edges_params, ATOM_THREADS, 4)
{
    sort_cells(p, my_atom(), once);
}

/* ---- edge_count ---- */

/* Calls use(j, run, nearness) for this thread's share of what lies around atom i. */
template <typename F> DEV void look_around(const struct bi_atom_edges_params &p, int64_t i, F use)
{
    const struct bi_atom_place mine = p.place[i];
    const u32 share = thread_id() % BI_EDGE_SHARES;
    struct bi_around a;
    u32 seen = 0;
    bi_around_start(&a, &p, &mine);
    while (bi_around_next(&a, &p)) {
        for (int k = a.first + (int)((share - seen) % BI_EDGE_SHARES); k < a.end;
             k += BI_EDGE_SHARES) {
            const int32_t j = p.order[k];
            use(j, a, bi_look(&p, &a, &mine, (int32_t)i, j));
        }
        seen += (u32)(a.end - a.first);
    }
}

KERNEL(edge_count_f32, struct bi_atom_edges_params, ROW_THREADS, 2)
{
    const int64_t i = my_row();
    const bool mine = i < bi_edge_atoms(&p);
    int n = 0, touches = 0;
    if (mine) {
        look_around(p, i, [&](int32_t, const bi_around &, bi_nearness near) ALWAYS_INLINE {
            n += near != BI_NEAR_NOT;
            touches |= near == BI_NEAR_TOUCHES;
        });
        p.found[i * BI_EDGE_SHARES + thread_id() % BI_EDGE_SHARES] = n;
    }
    const int sum = (int)lanes_sum((float)n); /* exact: an atom has fewer than 2^24 edges */
    const bool any = lanes_max((float)touches) > 0;
    if (mine && thread_id() % BI_EDGE_SHARES == 0)
        p.degree[i] = any ? -1 - sum : sum;
}

/* ---- edge_start ---- */

KERNEL(edge_start_f32, struct bi_atom_edges_params, ATOM_THREADS, 1)
{
    SHARED(block_sums, s, 4096);
    const int64_t n = bi_edge_atoms(&p);
    bool touches = false;
    const int64_t total = add_up(
        s, n,
        [&](int64_t i) ALWAYS_INLINE {
            touches |= p.degree[i] < 0;
            return bi_edge_degree(&p, i);
        },
        [&](int64_t i, int64_t before, int) ALWAYS_INLINE { p.start[i] = (int32_t)before; });
    if (touches)
        p.report[BI_REPORT_TOUCHES] = 1;
    if (total > p.capacity)
        for (int64_t i = 0; i < n; i += ATOM_THREADS * AT_A_TIME) /* only its own */
            for (int k = 0; k < AT_A_TIME; k++)
                if (i + thread_id() * AT_A_TIME + k < n)
                    p.start[i + thread_id() * AT_A_TIME + k] = 0;
    if (thread_id() == 0) {
        p.start[n] = total <= p.capacity ? (int32_t)total : 0;
        bi_edge_report(&p, total);
    }
}

/* ---- edge_list ---- */

/* Keys of an atom's edges as they are found, share by share. */
DEV void list_keys(const struct bi_atom_edges_params &p, int64_t i)
{
    const int32_t *found = p.found + i * BI_EDGE_SHARES;
    const int end = p.start[i + 1];
    int e = p.start[i];
    for (int share = 0; share < thread_id() % BI_EDGE_SHARES; share++)
        e += found[share];
    look_around(p, i, [&](int32_t j, const bi_around &a, bi_nearness near) ALWAYS_INLINE {
        if (near != BI_NEAR_NOT && e < end)
            p.loose[e++] = bi_edge_key(j, a.image);
    });
}

/* Each to its place: behind the lesser ones of the row. */
DEV void sort_keys(const struct bi_atom_edges_params &p, int64_t i)
{
    const int first = p.start[i], end = p.start[i + 1];
    for (int e = first + thread_id() % BI_EDGE_SHARES; e < end; e += BI_EDGE_SHARES) {
        const u64 key = p.loose[e];
        int before = 0;
        for (int k = first; k < end; k++)
            before += p.loose[k] < key;
        bi_edge_put(&p, i, first + before, key);
    }
}

KERNEL(edge_list_f32, struct bi_atom_edges_params, ROW_THREADS, 2)
{
    const int64_t i = my_row();
    const bool mine = i < bi_edge_atoms(&p);
    if (mine)
        list_keys(p, i);
    barrier(); /* the keys of an atom are seen by all threads that share it */
    if (mine)
        sort_keys(p, i);
}

/* ---- edge_reverse ---- */

KERNEL(edge_reverse_f32, struct bi_atom_edges_params, ROW_THREADS, 4)
{
    const int64_t i = my_row();
    if (i >= bi_edge_atoms(&p))
        return;
    for (int e = p.start[i] + thread_id() % BI_EDGE_SHARES; e < p.start[i + 1]; e += BI_EDGE_SHARES)
        p.reverse[e] = bi_edge_back(&p, (int32_t)i, e);
}

/* atom_edges.cu - the pairs of atoms within a cutoff (atom_edges.h). What lies around an atom is
 * shared by 32 threads, which look at every 32nd of it each. */
#include "gpu_rows.h"

#pragma clang force_cuda_host_device begin
#include "atom_edges.h"
#pragma clang force_cuda_host_device end

enum { ATOM_THREADS = ROW_THREADS };

DEV int64_t my_atom()
{
    return (int64_t)block_x() * ATOM_THREADS + thread_id();
}

/* ---- sums of numbers before each, by one block ---- */

struct block_sums {
    int64_t of[ATOM_THREADS];
};

/* The sum of x over the threads up to this one, and over all in *total. */
DEV int64_t sum_up_to(block_sums &s, int64_t x, int64_t *total)
{
    const int me = thread_id();
    s.of[me] = x;
    barrier();
    for (int step = 1; step < ATOM_THREADS; step *= 2) {
        const int64_t before = me >= step ? s.of[me - step] : 0;
        barrier();
        s.of[me] += before;
        barrier();
    }
    *total = s.of[ATOM_THREADS - 1];
    return s.of[me];
}

/* The numbers of this thread among n. */
struct my_share {
    int64_t first, end;
};

DEV my_share share_of(int64_t n)
{
    const int64_t each = (n + ATOM_THREADS - 1) / ATOM_THREADS, first = each * thread_id();
    return my_share{first < n ? first : n, first + each < n ? first + each : n};
}

/* ---- atom_cells ---- */

KERNEL(atom_cells_f32, struct bi_atom_edges_params, ATOM_THREADS, 4)
{
    const int64_t b = my_atom();
    if (b <= bi_edge_bins(&p))
        p.first[b] = 0;
}

KERNEL(then_atom_places_f32, struct bi_atom_edges_params, ATOM_THREADS, 2)
{
    const int64_t i = my_atom();
    if (i >= bi_edge_atoms(&p))
        return;
    struct bi_atom_place at;
    bi_atom_place_of(&p, i, &at);
    at.slot = claim(p.first + at.bin + 1);
    p.place[i] = at;
}

KERNEL(then_atom_cells_first_f32, struct bi_atom_edges_params, ATOM_THREADS, 1)
{
    SHARED(block_sums, s, 4096);
    const my_share mine = share_of(bi_edge_bins(&p));
    int32_t *n = p.first + 1;
    int64_t sum = 0, total;
    for (int64_t b = mine.first; b < mine.end; b++)
        sum += n[b];
    sum = sum_up_to(s, sum, &total) - sum;
    for (int64_t b = mine.first; b < mine.end; b++) {
        sum += n[b];
        n[b] = (int32_t)sum;
    }
}

/* Atoms by cell, those of a cell as they came. */
KERNEL(then_atom_cells_fill_f32, struct bi_atom_edges_params, ATOM_THREADS, 4)
{
    const int64_t i = my_atom();
    if (i < bi_edge_atoms(&p))
        p.work[p.first[p.place[i].bin] + p.place[i].slot] = (int32_t)i;
}

/* Atoms by cell, those of a cell by number. */
KERNEL(then_atom_cells_sort_f32, struct bi_atom_edges_params, ATOM_THREADS, 4)
{
    const int64_t i = my_atom();
    if (i >= bi_edge_atoms(&p))
        return;
    const int first = p.first[p.place[i].bin], end = p.first[p.place[i].bin + 1];
    int before = 0;
    for (int k = first; k < end; k++)
        before += p.work[k] < i;
    p.order[first + before] = (int32_t)i;
    p.place[i].slot = before;
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
    const my_share mine = share_of(n);
    int64_t sum = 0, total;
    for (int64_t i = mine.first; i < mine.end; i++) {
        sum += bi_edge_degree(&p, i);
        if (p.degree[i] < 0)
            p.report[BI_REPORT_TOUCHES] = 1;
    }
    sum = sum_up_to(s, sum, &total) - sum;
    const bool fits = total <= p.capacity;
    for (int64_t i = mine.first; i < mine.end; i++) {
        p.start[i] = fits ? (int32_t)sum : 0;
        sum += bi_edge_degree(&p, i);
    }
    if (thread_id() == 0) {
        p.start[n] = fits ? (int32_t)total : 0;
        bi_edge_report(&p, total);
    }
}

/* ---- edge_list ---- */

/* Keys of an atom's edges as they are found, share by share. */
KERNEL(edge_list_f32, struct bi_atom_edges_params, ROW_THREADS, 2)
{
    const int64_t i = my_row();
    if (i >= bi_edge_atoms(&p))
        return;
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
KERNEL(then_edge_list_sort_f32, struct bi_atom_edges_params, ROW_THREADS, 2)
{
    const int64_t i = my_row();
    if (i >= bi_edge_atoms(&p))
        return;
    const int first = p.start[i], end = p.start[i + 1];
    for (int e = first + thread_id() % BI_EDGE_SHARES; e < end; e += BI_EDGE_SHARES) {
        const u64 key = p.loose[e];
        int before = 0;
        for (int k = first; k < end; k++)
            before += p.loose[k] < key;
        bi_edge_put(&p, i, first + before, key);
    }
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

/* atom_edges.c - the pairs of atoms within a cutoff (kernels/atom_edges.h). The launches that go
 * through all atoms one after the other are one task; in the others a task is a run of atoms. */
#include "../atom_edges.h"
#include "entries.h"
#include "rows.h"

enum { NUMBERS_OF_ATOM = 512 }; /* that are looked at, about */

static int64_t atom_tasks(const void *params)
{
    return row_tasks(bi_edge_atoms(params), NUMBERS_OF_ATOM);
}

/* ---- atom_cells ---- */

int64_t BI_ISA_NAME(atom_cells_tasks)(const void *params, int n_threads)
{
    (void)params;
    (void)n_threads;
    return 1;
}

void BI_ISA_NAME(atom_cells_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_atom_edges_params *p = params;
    const int64_t n = bi_edge_atoms(p);
    const int32_t bins = bi_edge_bins(p);
    (void)task;
    (void)n_tasks;
    (void)scratch;
    memset(p->first, 0, (size_t)(bins + 1) * sizeof *p->first);
    for (int64_t i = 0; i < n; i++) {
        bi_atom_place_of(p, i, &p->place[i]);
        p->place[i].slot = p->first[p->place[i].bin + 1]++;
    }
    for (int32_t b = 0; b < bins; b++)
        p->first[b + 1] += p->first[b];
    for (int64_t i = 0; i < n; i++)
        p->order[p->first[p->place[i].bin] + p->place[i].slot] = (int32_t)i;
}

BI_CPU_ENTRY(atom_cells)

/* ---- edge_count ---- */

int64_t BI_ISA_NAME(edge_count_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return atom_tasks(params);
}

static void count(const struct bi_atom_edges_params *p, int32_t i)
{
    const struct bi_atom_place *mine = &p->place[i];
    int32_t *found = p->found + (int64_t)i * BI_EDGE_SHARES, n = 0, touches = 0;
    uint32_t seen = 0;
    struct bi_around a;
    memset(found, 0, BI_EDGE_SHARES * sizeof *found);
    bi_around_start(&a, p, mine);
    while (bi_around_next(&a, p))
        for (int32_t k = a.first; k < a.end; k++, seen++) {
            const enum bi_nearness near = bi_look(p, &a, mine, i, p->order[k]);
            found[seen % BI_EDGE_SHARES] += near != BI_NEAR_NOT;
            n += near != BI_NEAR_NOT;
            touches |= near == BI_NEAR_TOUCHES;
        }
    p->degree[i] = touches ? -1 - n : n;
}

void BI_ISA_NAME(edge_count_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_atom_edges_params *p = params;
    const struct rows rows = task_rows(task, bi_edge_atoms(p), NUMBERS_OF_ATOM);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++)
        count(p, (int32_t)i);
}

BI_CPU_ENTRY(edge_count)

/* ---- edge_start ---- */

int64_t BI_ISA_NAME(edge_start_tasks)(const void *params, int n_threads)
{
    (void)params;
    (void)n_threads;
    return 1;
}

void BI_ISA_NAME(edge_start_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_atom_edges_params *p = params;
    const int64_t n = bi_edge_atoms(p);
    int64_t sum = 0;
    (void)task;
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = 0; i < n; i++) {
        sum += bi_edge_degree(p, i);
        if (p->degree[i] < 0)
            p->report[BI_REPORT_TOUCHES] = 1;
    }
    bi_edge_report(p, sum);
    const bool fits = sum <= p->capacity;
    sum = 0;
    for (int64_t i = 0; i < n; i++) {
        p->start[i] = (int32_t)sum;
        sum += fits ? bi_edge_degree(p, i) : 0;
    }
    p->start[n] = (int32_t)sum;
}

BI_CPU_ENTRY(edge_start)

/* ---- edge_list ---- */

int64_t BI_ISA_NAME(edge_list_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return atom_tasks(params);
}

static void swap_keys(uint64_t *a, uint64_t *b)
{
    const uint64_t t = *a;
    *a = *b;
    *b = t;
}

/* Moves key `at` of a heap of n down to its place. */
static void sift(uint64_t *keys, int32_t at, int32_t n)
{
    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && keys[child + 1] > keys[child];
        if (keys[at] >= keys[child])
            return;
        swap_keys(keys + at, keys + child);
    }
}

static void sort(uint64_t *keys, int32_t n)
{
    if (n <= 96) {
        for (int32_t i = 1; i < n; i++) {
            const uint64_t key = keys[i];
            int32_t k = i;
            for (; k && keys[k - 1] > key; k--)
                keys[k] = keys[k - 1];
            keys[k] = key;
        }
        return;
    }
    for (int32_t i = n / 2; i-- > 0;)
        sift(keys, i, n);
    for (int32_t end = n; end-- > 1;) {
        swap_keys(keys, keys + end);
        sift(keys, 0, end);
    }
}

static void list(const struct bi_atom_edges_params *p, int32_t i)
{
    const struct bi_atom_place *mine = &p->place[i];
    const int32_t begin = p->start[i], end = p->start[i + 1];
    uint64_t *keys = p->key + begin;
    int32_t n = 0;
    struct bi_around a;
    bi_around_start(&a, p, mine);
    while (n < end - begin && bi_around_next(&a, p))
        for (int32_t k = a.first; k < a.end && n < end - begin; k++)
            if (bi_look(p, &a, mine, i, p->order[k]) != BI_NEAR_NOT)
                keys[n++] = bi_edge_key(p->order[k], a.image);
    sort(keys, n);
    for (int32_t e = begin; e < end; e++)
        bi_edge_put(p, i, e, p->key[e]);
}

void BI_ISA_NAME(edge_list_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_atom_edges_params *p = params;
    const struct rows rows = task_rows(task, bi_edge_atoms(p), NUMBERS_OF_ATOM);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++)
        list(p, (int32_t)i);
}

BI_CPU_ENTRY(edge_list)

/* ---- edge_reverse ---- */

int64_t BI_ISA_NAME(edge_reverse_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return atom_tasks(params);
}

void BI_ISA_NAME(edge_reverse_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_atom_edges_params *p = params;
    const struct rows rows = task_rows(task, bi_edge_atoms(p), NUMBERS_OF_ATOM);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++)
        for (int32_t e = p->start[i]; e < p->start[i + 1]; e++)
            p->reverse[e] = bi_edge_back(p, (int32_t)i, e);
}

BI_CPU_ENTRY(edge_reverse)

/* tensor_edges.c - what atoms gather from their neighbours, and its derivatives (tensor_edges.h).
 *
 * A task is a run of atoms. The edges of an atom are taken some at a time: first their places in
 * the table, then, vector of channels by vector of channels, their sums, which stay in
 * registers. */
#include "../tensor_edges.h"
#include "entries.h"
#include "rows.h"

enum { AT_ONCE = 32, NUMBERS_OF_EDGE = 21, EDGES_GUESSED = 32 };

#define SQRT2 1.41421356237309504880f
#define SQRT3 1.73205080756887729353f
#define SIXTH 0.40824829046386301637f

/* The next edges of an atom. */
struct some {
    int n;
    int64_t first;
    struct bi_edge_place place[AT_ONCE];
    float u[AT_ONCE][3], r[AT_ONCE];
};

static void take(struct some *s, const struct bi_edge_list *l, int64_t first, int64_t end)
{
    s->first = first;
    s->n = end - first < AT_ONCE ? (int)(end - first) : AT_ONCE;
    for (int m = 0; m < s->n; m++) {
        const float *v = l->vector + 3 * (first + m);
        const float r = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), by = 1 / r;
        for (int k = 0; k < 3; k++)
            s->u[m][k] = v[k] * by;
        s->r[m] = r;
        s->place[m] = bi_edge_place_of(r, l->cutoff, l->knots);
    }
}

static int64_t atoms(const struct bi_edge_list *l)
{
    return bi_live_rows(l->counts, BI_AXIS_TOKENS, l->rows);
}

static int64_t load(const struct bi_edge_list *l)
{
    return (int64_t)l->width * NUMBERS_OF_EDGE * EDGES_GUESSED;
}

/* Factor k of channels f ... f + n - 1, or its derivative. */
BI_INLINE vf factor(const struct bi_edge_list *l, const struct bi_edge_place *e, bool slope, int k,
                    int f, int n)
{
    const int64_t w = l->width;
    const float *c = l->table + e->knot * 12 * w + k * w + f;
    const float *by = slope ? e->d : e->by;
    vf y = vf_mul(vf_set1(by[3]), vf_load_n(c + 9 * w, n));
    y = vf_fma(vf_set1(by[2]), vf_load_n(c + 6 * w, n), y);
    y = vf_fma(vf_set1(by[1]), vf_load_n(c + 3 * w, n), y);
    return slope ? y : vf_add(vf_load_n(c, n), y);
}

/* Number c of part k at atom i, from channel f on. */
BI_INLINE int64_t at(int k, int64_t i, int c, int64_t width, int f)
{
    return (i * (2 * k + 1) + c) * width + f;
}

/* The nine numbers of atom i of X, zero where a part is left out. */
BI_INLINE void load_atom(const float *const x[3], int64_t i, int64_t w, int f, int n, vf y[9])
{
    for (int k = 0; k < 3; k++)
        for (int c = 0; c <= 2 * k; c++)
            y[k * k + c] = x[k] ? vf_load_n(x[k] + at(k, i, c, w, f), n) : vf_zero();
}

BI_INLINE void store_atom(float *const y[3], int64_t i, int64_t w, int f, int n, const vf sum[9])
{
    for (int k = 0; k < 3; k++)
        for (int c = 0; c <= 2 * k; c++)
            vf_store_n(y[k] + at(k, i, c, w, f), sum[k * k + c], n);
}

/* ---- tensor_embed ---- */

int64_t BI_ISA_NAME(tensor_embed_tasks)(const void *params, int n_threads)
{
    const struct bi_tensor_embed_params *p = params;
    (void)n_threads;
    return row_tasks(atoms(&p->edges), load(&p->edges));
}

static void embed_some(const struct bi_tensor_embed_params *p, int64_t i, const struct some *s)
{
    const struct bi_edge_list *l = &p->edges;
    const bool first = s->first == l->start[i];
    const float *const before[3] = {first ? NULL : p->y[0], first ? NULL : p->y[1],
                                    first ? NULL : p->y[2]};
    for (int f = 0; f < l->width; f += VW) {
        const int n = lanes(f, l->width);
        const vf own = vf_load_n(p->own + (int64_t)p->code[i] * l->width + f, n);
        vf sum[9];
        load_atom(before, i, l->width, f, n, sum);
        if (first && p->self) {
            const vf z = vf_add(own, vf_load_n(p->other + (int64_t)p->code[i] * l->width + f, n));
            sum[0] = vf_mul(vf_set1(SQRT3), vf_mul(z, vf_load_n(p->self + f, n)));
        }
        for (int m = 0; m < s->n; m++) {
            const int64_t kind = p->code[l->col[s->first + m]];
            const struct bi_edge_place *e = &s->place[m];
            const vf z = vf_add(own, vf_load_n(p->other + kind * l->width + f, n));
            const vf a = vf_mul(z, factor(l, e, false, 1, f, n));
            const vf b = vf_mul(z, factor(l, e, false, 2, f, n));
            float square[5];
            bi_edge_square(s->u[m], square);
            sum[0] = vf_fma(vf_mul(z, factor(l, e, false, 0, f, n)), vf_set1(SQRT3), sum[0]);
            for (int k = 0; k < 3; k++)
                sum[1 + k] = vf_fma(a, vf_set1(SQRT2 * s->u[m][k]), sum[1 + k]);
            for (int k = 0; k < 5; k++)
                sum[4 + k] = vf_fma(b, vf_set1(square[k]), sum[4 + k]);
        }
        store_atom(p->y, i, l->width, f, n, sum);
    }
}

void BI_ISA_NAME(tensor_embed_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_tensor_embed_params *p = params;
    const struct bi_edge_list *l = &p->edges;
    const struct rows rows = task_rows(task, atoms(l), load(l));
    struct some s;
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++) {
        int64_t e = l->start[i];
        do { /* also once for an atom without edges */
            take(&s, l, e, l->start[i + 1]);
            embed_some(p, i, &s);
            e += s.n;
        } while (e < l->start[i + 1]);
    }
}

/* ---- tensor_embed_grad ---- */

/* Adds what others gave to the derivative by the vector of edge e. */
static void add_vector(float *dvector, const float *more, int64_t e)
{
    for (int k = 0; more && k < 3; k++)
        dvector[3 * e + k] += more[3 * e + k];
}

int64_t BI_ISA_NAME(tensor_embed_grad_tasks)(const void *params, int n_threads)
{
    return BI_ISA_NAME(tensor_embed_tasks)(params, n_threads);
}

/* Derivatives by length and direction of one edge: sums over channels. */
struct by_edge {
    vf r, u[3];
};

BI_INLINE void add_channels(const struct bi_tensor_embed_params *p, const struct some *s, int m,
                            int64_t kind, vf own, const vf g[9], int f, int n, struct by_edge *to)
{
    const struct bi_edge_list *l = &p->edges;
    const struct bi_edge_place *e = &s->place[m];
    const float *u = s->u[m];
    const vf z = vf_add(own, vf_load_n(p->other + kind * l->width + f, n));
    const vf a = vf_mul(z, factor(l, e, false, 1, f, n));
    const vf b = vf_mul(z, factor(l, e, false, 2, f, n));
    const vf x = vf_set1(u[0]), y = vf_set1(u[1]), w = vf_set1(u[2]), two = vf_set1(SQRT2);
    const vf sixth = vf_mul(vf_set1(2 * SIXTH), g[8]);
    float square[5];
    vf along = vf_zero(), part = vf_zero();
    bi_edge_square(u, square);
    for (int k = 0; k < 3; k++) {
        const vf t = vf_mul(two, g[1 + k]);
        along = vf_fma(vf_set1(u[k]), t, along);
        to->u[k] = vf_fma(a, t, to->u[k]);
    }
    for (int k = 0; k < 5; k++)
        part = vf_fma(vf_set1(square[k]), g[4 + k], part);
    part = vf_mul(part, factor(l, e, true, 2, f, n));
    part = vf_fma(along, factor(l, e, true, 1, f, n), part);
    part = vf_fma(vf_mul(vf_set1(SQRT3), g[0]), factor(l, e, true, 0, f, n), part);
    to->r = vf_fma(z, part, to->r);
    part = vf_fma(y, g[4], vf_fma(w, g[5], vf_mul(x, g[7])));
    to->u[0] = vf_fma(b, vf_fnma(x, sixth, vf_mul(two, part)), to->u[0]);
    part = vf_fma(x, g[4], vf_fnma(y, g[7], vf_mul(w, g[6])));
    to->u[1] = vf_fma(b, vf_fnma(y, sixth, vf_mul(two, part)), to->u[1]);
    part = vf_fma(x, g[5], vf_mul(y, g[6]));
    to->u[2] = vf_fma(b, vf_fma(vf_add(w, w), sixth, vf_mul(two, part)), to->u[2]);
}

void BI_ISA_NAME(tensor_embed_grad_run)(const void *params, int64_t task, int64_t n_tasks,
                                        void *scratch)
{
    const struct bi_tensor_embed_params *p = params;
    const struct bi_edge_list *l = &p->edges;
    const struct rows rows = task_rows(task, atoms(l), load(l));
    struct by_edge by[AT_ONCE];
    struct some s;
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++)
        for (int64_t e = l->start[i]; e < l->start[i + 1]; e += s.n) {
            take(&s, l, e, l->start[i + 1]);
            for (int m = 0; m < s.n; m++)
                by[m] = (struct by_edge){vf_zero(), {vf_zero(), vf_zero(), vf_zero()}};
            for (int f = 0; f < l->width; f += VW) {
                const int n = lanes(f, l->width);
                const vf own = vf_load_n(p->own + (int64_t)p->code[i] * l->width + f, n);
                vf g[9];
                load_atom(p->g, i, l->width, f, n, g);
                for (int m = 0; m < s.n; m++)
                    add_channels(p, &s, m, p->code[l->col[e + m]], own, g, f, n, &by[m]);
            }
            for (int m = 0; m < s.n; m++) {
                const float *u = s.u[m];
                const float d[3] = {vf_hsum(by[m].u[0]), vf_hsum(by[m].u[1]), vf_hsum(by[m].u[2])};
                const float along = u[0] * d[0] + u[1] * d[1] + u[2] * d[2];
                const float r = vf_hsum(by[m].r);
                for (int k = 0; k < 3; k++)
                    p->dvector[3 * (e + m) + k] = r * u[k] + (d[k] - along * u[k]) / s.r[m];
                add_vector(p->dvector, p->more_vector, e + m);
            }
        }
}

/* ---- tensor_message ---- */

int64_t BI_ISA_NAME(tensor_message_tasks)(const void *params, int n_threads)
{
    const struct bi_tensor_message_params *p = params;
    (void)n_threads;
    return row_tasks(atoms(&p->edges), load(&p->edges));
}

/* Adds the messages of some edges of atom i. x: where they come from. by: NULL, or the sums over
 * channels of f' own . x for each edge, own being the numbers of atom i itself. */
BI_INLINE void message_some(const struct bi_tensor_message_params *p, const float *const x[3],
                            int64_t i, const struct some *s, vf *by)
{
    const struct bi_edge_list *l = &p->edges;
    const int64_t w = l->width;
    const bool first = s->first == l->start[i];
    const float *const before[3] = {first ? NULL : p->y[0], first ? NULL : p->y[1],
                                    first ? NULL : p->y[2]};
    for (int f = 0; f < w; f += VW) {
        const int n = lanes(f, (int)w);
        vf sum[9], own[9];
        load_atom(before, i, w, f, n, sum);
        if (by)
            load_atom(p->x, i, w, f, n, own);
        for (int k = 0; first && p->self && k < 3; k++)
            for (int c = 0; x[k] && c <= 2 * k; c++)
                sum[k * k + c] = vf_mul(vf_load_n(p->self + k * w + f, n),
                                        vf_load_n(x[k] + at(k, i, c, w, f), n));
        for (int m = 0; m < s->n; m++) {
            const int64_t j = bi_message_from(l, i, s->first + m);
            const struct bi_edge_place *e = &s->place[m];
            vf from[9];
            load_atom(x, j, w, f, n, from);
            for (int k = 0; k < 3; k++) {
                const vf g = factor(l, e, false, k, f, n);
                vf dot = vf_zero();
                for (int c = k * k; c < (k + 1) * (k + 1); c++) {
                    sum[c] = vf_fma(g, from[c], sum[c]);
                    if (by)
                        dot = vf_fma(own[c], from[c], dot);
                }
                if (by)
                    by[m] = vf_fma(factor(l, e, true, k, f, n), dot, by[m]);
            }
        }
        store_atom(p->y, i, w, f, n, sum);
    }
}

void BI_ISA_NAME(tensor_message_run)(const void *params, int64_t task, int64_t n_tasks,
                                     void *scratch)
{
    const struct bi_tensor_message_params *p = params;
    const struct bi_edge_list *l = &p->edges;
    const struct rows rows = task_rows(task, atoms(l), load(l));
    struct some s;
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++) {
        int64_t e = l->start[i];
        do {
            take(&s, l, e, l->start[i + 1]);
            message_some(p, p->x, i, &s, NULL);
            e += s.n;
        } while (e < l->start[i + 1]);
    }
}

/* ---- tensor_message_grad ---- */

int64_t BI_ISA_NAME(tensor_message_grad_tasks)(const void *params, int n_threads)
{
    return BI_ISA_NAME(tensor_message_tasks)(params, n_threads);
}

void BI_ISA_NAME(tensor_message_grad_run)(const void *params, int64_t task, int64_t n_tasks,
                                          void *scratch)
{
    const struct bi_tensor_message_params *p = params;
    const struct bi_edge_list *l = &p->edges;
    const struct rows rows = task_rows(task, atoms(l), load(l));
    struct some s;
    vf by[AT_ONCE];
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++) {
        int64_t e = l->start[i];
        do {
            take(&s, l, e, l->start[i + 1]);
            for (int m = 0; m < s.n; m++)
                by[m] = vf_zero();
            message_some(p, p->g, i, &s, by);
            for (int m = 0; m < s.n; m++) {
                float sign;
                const int64_t back = bi_message_back(l, e + m, &sign);
                const float d = sign * vf_hsum(by[m]);
                for (int k = 0; k < 3; k++)
                    p->dvector[3 * back + k] = d * s.u[m][k];
                add_vector(p->dvector, p->more_vector, back);
            }
            e += s.n;
        } while (e < l->start[i + 1]);
        for (int f = 0; p->more[0] && f < l->width; f += VW) {
            const int n = lanes(f, l->width);
            vf sum[9], more[9];
            load_atom((const float *const[]){p->y[0], p->y[1], p->y[2]}, i, l->width, f, n, sum);
            load_atom(p->more, i, l->width, f, n, more);
            for (int k = 0; k < 9; k++)
                sum[k] = vf_add(sum[k], more[k]);
            store_atom(p->y, i, l->width, f, n, sum);
        }
    }
}

/* ---- edge_forces ---- */

int64_t BI_ISA_NAME(edge_forces_tasks)(const void *params, int n_threads)
{
    const struct bi_edge_forces_params *p = params;
    (void)n_threads;
    return row_tasks(atoms(&p->edges), (int64_t)NUMBERS_OF_EDGE * EDGES_GUESSED);
}

void BI_ISA_NAME(edge_forces_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_edge_forces_params *p = params;
    const struct bi_edge_list *l = &p->edges;
    const struct rows rows = task_rows(task, atoms(l), (int64_t)NUMBERS_OF_EDGE * EDGES_GUESSED);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++) {
        double sum[12] = {0};
        for (int64_t e = l->start[i]; e < l->start[i + 1]; e++) {
            const float *d = p->d + 3 * e, *back = p->d + 3 * (int64_t)l->reverse[e];
            for (int b = 0; b < 3; b++) {
                sum[b] += (double)back[b] - (double)d[b];
                for (int a = 0; a < 3; a++)
                    sum[3 + 3 * a + b] += (double)l->vector[3 * e + a] * (double)d[b];
            }
        }
        for (int k = 0; k < 12; k++)
            p->y[12 * i + k] = (float)sum[k];
    }
}

BI_CPU_ENTRY(tensor_embed)
BI_CPU_ENTRY(tensor_embed_grad)
BI_CPU_ENTRY(tensor_message)
BI_CPU_ENTRY(tensor_message_grad)
BI_CPU_ENTRY(edge_forces)

/* edges.c - kernels over the edges of residue graphs, see kernels/edges.h. A task is a run of
 * rows of the graph, so many that it is worth a claim.
 *
 * Sections: geometry, orientation, sums, atoms around residues, messages. */
#include "../edges.h"
#include "../linear.h"
#include "entries.h"
#include "math.h"
#include "rows.h"
#include "tile.h"

#define ROWS_RUN(name)                                                                             \
    int64_t BI_ISA_NAME(name##_tasks)(const void *params, int n_threads)                           \
    {                                                                                              \
        const struct bi_##name##_params *p = params;                                               \
        (void)n_threads;                                                                           \
        return row_tasks(name##_rows(p), name##_width(p));                                         \
    }                                                                                              \
    void BI_ISA_NAME(name##_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch) \
    {                                                                                              \
        const struct bi_##name##_params *p = params;                                               \
        const struct rows rows = task_rows(task, name##_rows(p), name##_width(p));                 \
        (void)n_tasks;                                                                             \
        for (int64_t r = rows.first; r < rows.end; r++)                                            \
            name##_row(p, r, scratch);                                                             \
    }

#define TOKEN_ROWS(name, floats)                                                                   \
    BI_INLINE int64_t name##_rows(const struct bi_##name##_params *p)                              \
    {                                                                                              \
        return p->counts->n_tokens;                                                                \
    }                                                                                              \
    BI_INLINE int64_t name##_width(const struct bi_##name##_params *p)                             \
    {                                                                                              \
        (void)p;                                                                                   \
        return floats;                                                                             \
    }                                                                                              \
    ROWS_RUN(name)

#define AXIS_ROWS(name, floats)                                                                    \
    BI_INLINE int64_t name##_rows(const struct bi_##name##_params *p)                              \
    {                                                                                              \
        return bi_live_rows(p->counts, p->axis, p->rows);                                          \
    }                                                                                              \
    BI_INLINE int64_t name##_width(const struct bi_##name##_params *p)                             \
    {                                                                                              \
        (void)p;                                                                                   \
        return floats;                                                                             \
    }                                                                                              \
    ROWS_RUN(name)

BI_INLINE void zero_row(float *y, int64_t n)
{
    memset(y, 0, (size_t)n * sizeof *y);
}

BI_INLINE void copy_row(float *y, const float *x, int64_t n)
{
    memcpy(y, x, (size_t)n * sizeof *y);
}

/* ---- geometry ---- */

BI_INLINE void virtual_cb_row(const struct bi_virtual_cb_params *p, int64_t r, void *scratch)
{
    const float *x = p->x + r * 12;
    float *y = p->y + r * 15, b[3], c[3];
    (void)scratch;
    for (int i = 0; i < 3; i++) {
        b[i] = x[3 + i] - x[i];
        c[i] = x[6 + i] - x[3 + i];
    }
    copy_row(y, x, 12);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        y[12 + i] = -0.58273431f * (b[j] * c[k] - b[k] * c[j]) + 0.56802827f * b[i] -
                    0.54067466f * c[i] + x[3 + i];
    }
}

AXIS_ROWS(virtual_cb, 128)

BI_INLINE void rbf_row(const struct bi_rbf_params *p, int64_t r, void *scratch)
{
    const int64_t width = BI_RBF_BINS * p->n_pairs;
    (void)scratch;
    for (int n = 0; n < p->k; n++) {
        const int64_t e = r * p->k + n;
        const float *a = p->x + r * p->width, *b = p->x + (int64_t)p->index[e] * p->width;
        float *y = p->y + e * width;
        if (p->index[e] < 0) {
            zero_row(y, width);
            continue;
        }
        for (int i = 0; i < p->n_pairs; i++, y += BI_RBF_BINS) {
            const float *u = a + 3 * (int)p->pairs[2 * i], *v = b + 3 * (int)p->pairs[2 * i + 1];
            const float dx = u[0] - v[0], dy = u[1] - v[1], dz = u[2] - v[2];
            const float d = i ? sqrtf(dx * dx + dy * dy + dz * dz + 1e-6f) : p->distance[e];
            for (int bin = 0; bin < BI_RBF_BINS; bin += VW) {
                float mu[VW];
                for (int c = 0; c < VW; c++)
                    mu[c] = 2 + (float)(bin + c) * (20.0f / 15);
                vf z = vf_mul(vf_sub(vf_set1(d), vf_load(mu)), vf_set1(0.8f));
                vf_store(y + bin, vf_exp(vf_neg(vf_mul(z, z))));
            }
        }
    }
}

TOKEN_ROWS(rbf, p->k *(int64_t)p->n_pairs * 4 * BI_RBF_BINS)

BI_INLINE void relative_row(const struct bi_relative_params *p, int64_t r, void *scratch)
{
    (void)scratch;
    for (int n = 0; n < p->k; n++) {
        const int64_t e = r * p->k + n;
        const int32_t j = p->index[e];
        int64_t d = 65;
        if (j < 0) {
            zero_row(p->y + e * p->width, p->width);
            continue;
        }
        if (p->chain[r] == p->chain[j]) {
            d = (int64_t)p->number[r] - p->number[j] + 32;
            d = d < 0 ? 0 : d > 64 ? 64 : d;
        }
        copy_row(p->y + e * p->width, p->table + d * p->width, p->width);
    }
}

TOKEN_ROWS(relative, p->k *(int64_t)p->width)

BI_INLINE void edge_concat_row(const struct bi_edge_concat_params *p, int64_t r, void *scratch)
{
    const int64_t width = 2 * p->width + p->edge_width;
    (void)scratch;
    for (int n = 0; n < p->k; n++) {
        const int64_t e = r * p->k + n;
        float *y = p->y + e * width;
        if (p->index[e] < 0) {
            zero_row(y, width);
            continue;
        }
        copy_row(y, p->h + r * p->width, p->width);
        copy_row(y + p->width, p->e + e * p->edge_width, p->edge_width);
        copy_row(y + p->width + p->edge_width, p->h + (int64_t)p->index[e] * p->width, p->width);
    }
}

TOKEN_ROWS(edge_concat, p->k * (2 * (int64_t)p->width + p->edge_width))

/* ---- orientation ---- */

static void unit3(float v[3])
{
    const float n = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; i++)
        v[i] /= n > 1e-12f ? n : 1e-12f;
}

static void cross3(const float a[3], const float b[3], float c[3])
{
    for (int i = 0; i < 3; i++)
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static void bond(const struct bi_orientation_params *p, int64_t t, float u[3])
{
    const float *a = p->x + t * p->width + p->first, *b = a + p->width;
    for (int i = 0; i < 3; i++)
        u[i] = b[i] - a[i];
    const float n = sqrtf(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    for (int i = 0; i < 3; i++)
        u[i] = n > 3.6f && n < 4.0f ? u[i] : 0;
    unit3(u);
}

static void frame(const struct bi_orientation_params *p, int32_t t, int32_t begin, int32_t end,
                  float f[3][3])
{
    float u[3], v[3];
    memset(f, 0, 9 * sizeof f[0][0]);
    if (t < begin + 1 || t > end - 3)
        return;
    bond(p, t - 1, u);
    bond(p, t, v);
    for (int i = 0; i < 3; i++)
        f[0][i] = u[i] - v[i];
    unit3(f[0]);
    cross3(u, v, f[1]);
    unit3(f[1]);
    cross3(f[0], f[1], f[2]);
}

BI_INLINE void orientation_row(const struct bi_orientation_params *p, int64_t r, void *scratch)
{
    int32_t low = 0, high = p->counts->n_seqs;
    float a[3][3], b[3][3];
    (void)scratch;
    while (high - low > 1) {
        const int32_t middle = (low + high) / 2;
        if (p->start[middle] <= r)
            low = middle;
        else
            high = middle;
    }
    const int32_t begin = p->start[low], end = p->start[low + 1];
    frame(p, (int32_t)r, begin, end, a);
    for (int n = 0; n < p->k; n++) {
        const int32_t j = p->index[r * p->k + n];
        float *y = p->y + (r * p->k + n) * 7, m[3][3] = {{0}}, d[3] = {0}, q[4], length = 0;
        zero_row(y, 7);
        if (j < 0)
            continue;
        frame(p, j, begin, end, b);
        for (int x = 0; x < 3; x++)
            for (int c = 0; c < 3; c++) {
                d[x] += a[x][c] * (p->x[(int64_t)j * p->width + p->first + c] -
                                   p->x[r * p->width + p->first + c]);
                for (int i = 0; i < 3; i++)
                    m[x][c] += a[i][x] * b[i][c];
            }
        unit3(d);
        for (int c = 0; c < 3; c++) {
            const int u = (c + 2) % 3, v = (c + 1) % 3;
            const float size = 1 + 2 * m[c][c] - m[0][0] - m[1][1] - m[2][2];
            const float sign = m[u][v] - m[v][u];
            q[c] = 0.5f * sqrtf(fabsf(size)) * (float)((sign > 0) - (sign < 0));
        }
        q[3] = 1 + m[0][0] + m[1][1] + m[2][2];
        if (q[3] < BI_ORIENTATION_NONE && q[0] == 0 && q[1] == 0 && q[2] == 0)
            q[3] = 0;
        q[3] = 0.5f * sqrtf(q[3] > 0 ? q[3] : 0);
        for (int c = 0; c < 4; c++)
            length += q[c] * q[c];
        length = sqrtf(length);
        copy_row(y, d, 3);
        for (int c = 0; c < 4; c++)
            y[3 + c] = q[c] / (length > 1e-12f ? length : 1e-12f);
    }
}

TOKEN_ROWS(orientation, (int64_t)p->k * 256)

/* ---- sums ---- */

/* y = act(z) of edge n of row r; false: there is no such edge. */
BI_INLINE int edge_row(const struct bi_edge_terms *e, int64_t r, int n, float *y, const int gelu)
{
    const int64_t token = e->token ? e->token[r] : r, row = e->row ? e->row[r] : r;
    const int64_t at = token * e->k + n, j = e->index ? e->index[at] : at;
    if (row < 0 || j < 0)
        return 0;
    const int64_t mine = e->index ? j - token + row : j;
    const int late = e->late && e->rank[mine] >= e->rank[row];
    const float *edge = e->edge + at * e->width, *self = e->self + r * e->width;
    const float *v = late ? e->late + j * e->width : e->other ? e->other + mine * e->width : NULL;
    const float *s = e->codes && !late ? e->table + (int64_t)e->codes[mine] * e->width : NULL;
    for (int c = 0; c < e->width; c += VW) {
        const int w = lanes(c, e->width);
        vf z = vf_add(vf_load_n(edge + c, w), vf_load_n(self + c, w));
        if (v)
            z = vf_add(z, vf_load_n(v + c, w));
        if (s)
            z = vf_add(z, vf_load_n(s + c, w));
        vf_store_n(y + c, gelu ? vf_gelu(z) : z, w);
    }
    return 1;
}

BI_INLINE float edge_mask(const float *mask, const int32_t *index, int64_t token, int k, int n)
{
    const int64_t j = index ? index[token * k + n] : token * k + n;
    if (j < 0)
        return 0;
    return !mask ? 1 : index ? mask[token] * mask[j] : mask[j];
}

BI_INLINE void edge_sum_row(const struct bi_edge_sum_params *p, int64_t r, void *scratch)
{
    const struct bi_edge_terms *e = &p->terms;
    (void)scratch;
    for (int n = 0; n < e->k; n++) {
        float *y = p->y + (r * e->k + n) * e->width;
        const int there = p->act == BI_ACT_GELU ? edge_row(e, r, n, y, 1) : edge_row(e, r, n, y, 0);
        if (!there)
            zero_row(y, e->width);
    }
}

AXIS_ROWS(edge_sum, (int64_t)p->terms.k * p->terms.width)

BI_INLINE void neighbor_sum_row(const struct bi_neighbor_sum_params *p, int64_t r, void *scratch)
{
    const int64_t token = p->token ? p->token[r] : r;
    float weight = 0;
    (void)scratch;
    for (int n = 0; n < p->k; n++)
        weight += edge_mask(p->mask, p->index, token, p->k, n);
    for (int c = 0; c < p->width; c += VW) {
        const int w = lanes(c, p->width);
        vf sum = vf_zero();
        for (int n = 0; n < p->k; n++) {
            const float m = edge_mask(p->mask, p->index, token, p->k, n);
            if (m != 0)
                sum = vf_fma(vf_set1(m), vf_load_n(p->x + (r * p->k + n) * p->width + c, w), sum);
        }
        vf_store_n(p->sum + r * p->width + c, vf_mul(sum, vf_set1(p->factor)), w);
    }
    p->weight[r] = weight * p->factor;
}

AXIS_ROWS(neighbor_sum, (int64_t)p->k * p->width)

BI_INLINE void row_bias_row(const struct bi_row_bias_params *p, int64_t r, void *scratch)
{
    (void)scratch;
    for (int c = 0; c < p->width; c += VW) {
        const int w = lanes(c, p->width);
        vf_store_n(
            p->y + r * p->ldy + c,
            vf_fma(vf_set1(p->c[r]), vf_load_n(p->b + c, w), vf_load_n(p->r + r * p->ldr + c, w)),
            w);
    }
}

AXIS_ROWS(row_bias, p->width)

/* ---- atoms around residues ---- */

/* The Gaussians of the distance of two points. */
BI_INLINE void gaussians(const float *a, const float *b, float *y)
{
    const float dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2];
    const float d = sqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
    for (int bin = 0; bin < BI_RBF_BINS; bin += VW) {
        float mu[VW];
        for (int c = 0; c < VW; c++)
            mu[c] = 2 + (float)(bin + c) * (20.0f / 15);
        vf z = vf_mul(vf_sub(vf_set1(d), vf_load(mu)), vf_set1(0.8f));
        vf_store(y + bin, vf_exp(vf_neg(vf_mul(z, z))));
    }
}

BI_INLINE float dot3(const float *a, const float *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

BI_INLINE int64_t atom_features_rows(const struct bi_atom_features_params *p)
{
    return bi_live_rows(p->counts, BI_AXIS_ATOMS, p->rows);
}

BI_INLINE int64_t atom_features_width(const struct bi_atom_features_params *p)
{
    (void)p;
    return 4 * BI_ATOM_FEATURES;
}

BI_INLINE void atom_features_row(const struct bi_atom_features_params *p, int64_t r, void *scratch)
{
    const float *x = p->x + r / p->n_atoms * 15, *a = p->atoms + 3 * r;
    float *y = p->y + r * BI_ATOM_FEATURES, e[3][3], c[3], v[3], u[3];
    (void)scratch;
    for (int i = 0; i < 5; i++)
        gaussians(x + 3 * i, a, y + i * BI_RBF_BINS);
    for (int i = 0; i < 3; i++) {
        e[0][i] = x[i] - x[3 + i];
        c[i] = x[6 + i] - x[3 + i];
        v[i] = a[i] - x[3 + i];
    }
    unit3(e[0]);
    const float along = dot3(e[0], c);
    for (int i = 0; i < 3; i++)
        e[1][i] = c[i] - e[0][i] * along;
    unit3(e[1]);
    cross3(e[0], e[1], e[2]);
    for (int i = 0; i < 3; i++)
        u[i] = dot3(v, e[i]);
    const float flat = sqrtf(u[0] * u[0] + u[1] * u[1] + 1e-8f);
    const float far = sqrtf(dot3(u, u)) + 1e-8f;
    y += 5 * BI_RBF_BINS;
    y[0] = u[0] / flat;
    y[1] = u[1] / flat;
    y[2] = flat / far;
    y[3] = u[2] / far;
}

ROWS_RUN(atom_features)

BI_INLINE int64_t atom_pairs_rows(const struct bi_atom_pairs_params *p)
{
    return bi_live_rows(p->counts, BI_AXIS_PAIRS, p->rows);
}

BI_INLINE int64_t atom_pairs_width(const struct bi_atom_pairs_params *p)
{
    (void)p;
    return 4 * BI_RBF_BINS;
}

BI_INLINE void atom_pairs_row(const struct bi_atom_pairs_params *p, int64_t r, void *scratch)
{
    const int64_t i = r / p->n_atoms, j = i / p->n_atoms * p->n_atoms + r % p->n_atoms;
    (void)scratch;
    gaussians(p->atoms + 3 * i, p->atoms + 3 * j, p->y + r * BI_RBF_BINS);
    p->pair_mask[r] = p->mask[i] * p->mask[j];
}

ROWS_RUN(atom_pairs)

/* ---- messages ---- */

enum { MESSAGE_WIDTH = 256 };

/* Floats of a row in a tile. */
BI_INLINE int64_t whole_fours(int64_t width)
{
    return (width + 3) & ~(int64_t)3;
}

size_t BI_ISA_NAME(edge_message_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_edge_message_params *p = params;
    (void)rows;
    (void)longest;
    return (size_t)whole_fours(p->terms.width) * (BI_NEIGHBORS_MAX + BI_NEIGHBORS_MAX + MR) *
           sizeof(float);
}

/* Sum over rows [0, n) of m gelu(tile + b), one panel of columns. */
BI_INLINE void add_tile(const float *tile, const float *m, int64_t n, const vf *bias, vf *sum)
{
    for (int64_t r = 0; r < n; r++)
        for (int v = 0; v < NV; v++)
            sum[v] = vf_fma(vf_set1(m[r]),
                            vf_gelu(vf_add(vf_load(tile + r * NR + v * VW), bias[v])), sum[v]);
}

BI_INLINE void edge_message_row(const struct bi_edge_message_params *p, int64_t r, void *scratch)
{
    const struct bi_edge_terms *e = &p->terms;
    const int64_t token = e->token ? e->token[r] : r, width = e->width;
    const int64_t ld = whole_fours(width);
    float *x = scratch, *packed = x + BI_NEIGHBORS_MAX * width;
    float m[BI_NEIGHBORS_MAX], weight = 0, tile[MR * NR] __attribute__((aligned(64)));
    int64_t n = 0;
    for (int i = 0; i < e->k; i++) {
        const float mask = edge_mask(p->mask, e->index, token, e->k, i);
        weight += mask;
        if (mask != 0 && edge_row(e, r, i, x + n * width, 1))
            m[n++] = mask;
    }
    p->weight[r] = weight * p->factor;
    for (int64_t at = 0; at < n; at += MR)
        pack_tile(packed + at * ld, x + at * width, width, n - at < MR ? n - at : MR, width);
    for (int64_t j = 0; j < width; j += NR) {
        const float *panel = (const float *)p->w + j * width;
        vf sum[NV], bias[NV];
        for (int v = 0; v < NV; v++) {
            const int64_t left = width - j - v * VW;
            sum[v] = vf_zero();
            bias[v] = left > 0 ? vf_load_n(p->b + j + v * VW, left < VW ? (int)left : VW)
                               : vf_zero();
        }
        for (int64_t at = 0; at < n; at += MR) {
            const int64_t rows = n - at < MR ? n - at : MR;
            const struct micro args = {
                .a = packed + at * ld, .b = panel, .next = panel, .k = width, .c = tile, .ldc = NR};
            micro_kernels[tile_height(rows) / 2 - 1](&args);
            add_tile(tile, m + at, rows, bias, sum);
        }
        for (int v = 0; v < NV; v++) {
            const int64_t left = width - j - v * VW;
            if (left > 0)
                vf_store_n(p->sum + r * width + j + v * VW, vf_mul(sum[v], vf_set1(p->factor)),
                           left < VW ? (int)left : VW);
        }
    }
}

AXIS_ROWS(edge_message, TASK_FLOATS)

BI_CPU_ENTRY(virtual_cb)
BI_CPU_ENTRY(rbf)
BI_CPU_ENTRY(relative)
BI_CPU_ENTRY(edge_concat)
BI_CPU_ENTRY(orientation)
BI_CPU_ENTRY(edge_sum)
BI_CPU_ENTRY(neighbor_sum)
BI_CPU_ENTRY(row_bias)
BI_CPU_ENTRY(atom_features)
BI_CPU_ENTRY(atom_pairs)
BI_CPU_ENTRY_SCRATCH(edge_message)

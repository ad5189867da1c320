/* edges.cu - ops over the edges of residue graphs, see kernels/edges.h. All in f32.
 *
 * Element kernels give a thread one number (or one edge); edge_message gives a block one row. */
#include "gpu_math.h"

#include "edges.h"
#include "linear.h"

enum { EDGE_THREADS = 256, MESSAGE_WIDTH = 128, MESSAGE_SLICE = 16, MESSAGE_LD = MESSAGE_WIDTH + 4 };

DEV int64_t my_element()
{
    return (int64_t)block_x() * EDGE_THREADS + thread_id();
}

DEV float square_root(float x)
{
    return __builtin_sqrtf(x);
}

/* ---- geometry ---- */

KERNEL(virtual_cb_f32, struct bi_virtual_cb_params, EDGE_THREADS, 4)
{
    const int64_t r = my_element();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const float *x = p.x + r * 12;
    float *y = p.y + r * 15;
    const float b0 = x[3] - x[0], b1 = x[4] - x[1], b2 = x[5] - x[2];
    const float c0 = x[6] - x[3], c1 = x[7] - x[4], c2 = x[8] - x[5];
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++)
        y[i] = x[i];
    y[12] = -0.58273431f * (b1 * c2 - b2 * c1) + 0.56802827f * b0 - 0.54067466f * c0 + x[3];
    y[13] = -0.58273431f * (b2 * c0 - b0 * c2) + 0.56802827f * b1 - 0.54067466f * c1 + x[4];
    y[14] = -0.58273431f * (b0 * c1 - b1 * c0) + 0.56802827f * b2 - 0.54067466f * c2 + x[5];
}

/* One neighbour into the row's sorted list, which lies where the result goes. */
DEV void take_neighbor(float *distance, int32_t *index, int *n, int k, float d, int32_t j)
{
    int at = *n;
    if (at == k) {
        at = k - 1;
        if (d > distance[at] || (d == distance[at] && j > index[at]))
            return;
    } else {
        ++*n;
    }
    while (at && (distance[at - 1] > d || (distance[at - 1] == d && index[at - 1] > j))) {
        distance[at] = distance[at - 1];
        index[at] = index[at - 1];
        at--;
    }
    distance[at] = d;
    index[at] = j;
}

DEV float edge_length(const struct bi_knn_params &p, int32_t i, int32_t j)
{
    const float *a = p.x + (int64_t)i * p.width + p.first;
    const float *b = p.x + (int64_t)j * p.width + p.first;
    const float dx = b[0] - a[0], dy = b[1] - a[1], dz = b[2] - a[2];
    return square_root(dx * dx + dy * dy + dz * dz + 1e-6f);
}

DEV int cell_along(const struct bi_cell_grid &g, float x, int axis)
{
    const float c = (x - g.origin[axis]) / g.size;
    const int i = c < 0 ? 0 : (int)c;
    return i >= g.n[axis] ? g.n[axis] - 1 : i;
}

DEV void look_in_cells(const struct bi_knn_params &p, const struct bi_cell_grid &g, int32_t i,
                       float *distance, int32_t *index, int *n)
{
    const float *x = p.x + (int64_t)i * p.width + p.first;
    const int32_t *first = p.cells + g.first;
    const int a = cell_along(g, x[0], 0), b = cell_along(g, x[1], 1), c = cell_along(g, x[2], 2);
    const int widest = g.n[0] + g.n[1] + g.n[2];
    for (int s = 0; s < widest; s++) {
        for (int u = a - s < 0 ? 0 : a - s; u <= a + s && u < g.n[0]; u++)
            for (int v = b - s < 0 ? 0 : b - s; v <= b + s && v < g.n[1]; v++) {
                const bool inside = u > a - s && u < a + s && v > b - s && v < b + s;
                for (int w = c - s; w <= c + s; w += inside && s ? 2 * s : 1) {
                    if (w < 0 || w >= g.n[2])
                        continue;
                    const int64_t cell = ((int64_t)u * g.n[1] + v) * g.n[2] + w;
                    for (int32_t m = first[cell]; m < first[cell + 1]; m++)
                        take_neighbor(distance, index, n, p.k, edge_length(p, i, p.cells[m]), p.cells[m]);
                }
            }
        if (*n == p.k && distance[p.k - 1] < (float)s * g.size * 0.9999f)
            return;
    }
}

KERNEL(knn_f32, struct bi_knn_params, EDGE_THREADS, 2)
{
    const int32_t i = (int32_t)my_element();
    if (i >= p.counts->n_tokens)
        return;
    float *distance = p.distance + (int64_t)i * p.k, far = 0;
    int32_t *index = p.index + (int64_t)i * p.k, s = 0;
    int n = 0;
    bool masked = false;
    while (i >= p.start[s + 1])
        s++;
    const int32_t begin = p.start[s], end = p.start[s + 1];
    if (p.mask[i] == 0) { /* all are equally far: the first ones */
        for (int32_t j = begin; j < end && n < p.k; j++, n++) {
            distance[n] = 0;
            index[n] = j;
        }
    } else if (p.grid && p.grid[s].n[0]) {
        look_in_cells(p, p.grid[s], i, distance, index, &n);
    } else {
        for (int32_t j = begin; j < end; j++) {
            if (p.mask[j] == 0) {
                masked = true;
                continue;
            }
            const float d = edge_length(p, i, j);
            far = d > far ? d : far;
            take_neighbor(distance, index, &n, p.k, d, j);
        }
        for (int32_t j = begin; masked && j < end; j++)
            if (p.mask[j] == 0)
                take_neighbor(distance, index, &n, p.k, far, j);
    }
    for (; n < p.k; n++) {
        distance[n] = 0;
        index[n] = -1;
    }
}

KERNEL(rbf_f32, struct bi_rbf_params, EDGE_THREADS, 4)
{
    const int64_t at = my_element(), e = at / p.n_pairs;
    const int i = (int)(at % p.n_pairs);
    if (e >= (int64_t)p.counts->n_tokens * p.k)
        return;
    const int32_t j = p.index[e];
    float *y = p.y + at * BI_RBF_BINS, d = 0;
    if (j >= 0) {
        const float *a = p.x + e / p.k * p.width + 3 * (int)p.pairs[2 * i];
        const float *b = p.x + (int64_t)j * p.width + 3 * (int)p.pairs[2 * i + 1];
        const float dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2];
        d = i ? square_root(dx * dx + dy * dy + dz * dz + 1e-6f) : p.distance[e];
    }
#pragma GCC unroll 16
    for (int n = 0; n < BI_RBF_BINS; n++) {
        const float z = (d - (2.0f + (float)n * (20.0f / 15))) * 0.8f;
        y[n] = j < 0 ? 0 : exp_(-z * z);
    }
}

KERNEL(relative_f32, struct bi_relative_params, EDGE_THREADS, 4)
{
    const int64_t at = my_element(), e = at / p.width;
    const int c = (int)(at % p.width);
    if (e >= (int64_t)p.counts->n_tokens * p.k)
        return;
    const int64_t i = e / p.k;
    const int32_t j = p.index[e];
    int64_t d = 65;
    if (j >= 0 && p.chain[i] == p.chain[j]) {
        d = (int64_t)p.number[i] - p.number[j] + 32;
        d = d < 0 ? 0 : d > 64 ? 64 : d;
    }
    p.y[at] = j < 0 ? 0 : p.table[d * p.width + c];
}

/* ---- orientation ---- */

struct vector3 {
    float x, y, z;
};

DEV vector3 difference(vector3 a, vector3 b)
{
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

DEV float dot_product(vector3 a, vector3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

DEV vector3 cross_product(vector3 a, vector3 b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

DEV vector3 unit_vector(vector3 a)
{
    const float n = square_root(dot_product(a, a)), by = n > 1e-12f ? n : 1e-12f;
    return {a.x / by, a.y / by, a.z / by};
}

struct local_frame {
    vector3 o, n, m;
};

DEV vector3 ca_of(const struct bi_orientation_params &p, int64_t t)
{
    const float *x = p.x + t * p.width + p.first;
    return {x[0], x[1], x[2]};
}

DEV vector3 bond_of(const struct bi_orientation_params &p, int64_t t)
{
    vector3 u = difference(ca_of(p, t + 1), ca_of(p, t));
    const float n = square_root(dot_product(u, u));
    if (!(n > 3.6f && n < 4.0f))
        u = {0, 0, 0};
    return unit_vector(u);
}

DEV local_frame frame_of(const struct bi_orientation_params &p, int32_t t, int32_t begin, int32_t end)
{
    local_frame f = {};
    if (t < begin + 1 || t > end - 3)
        return f;
    const vector3 u = bond_of(p, t - 1), v = bond_of(p, t);
    f.o = unit_vector(difference(u, v));
    f.n = unit_vector(cross_product(u, v));
    f.m = cross_product(f.o, f.n);
    return f;
}

/* Half a component of a quaternion, with its sign. */
DEV float quaternion_part(float size, float sign)
{
    const float half = 0.5f * square_root(size < 0 ? -size : size);
    return sign > 0 ? half : sign < 0 ? -half : 0;
}

KERNEL(orientation_f32, struct bi_orientation_params, EDGE_THREADS, 2)
{
    const int64_t e = my_element();
    if (e >= (int64_t)p.counts->n_tokens * p.k)
        return;
    const int32_t i = (int32_t)(e / p.k), j = p.index[e];
    float *y = p.y + e * 7;
    int32_t s = 0;
    if (j < 0) {
        for (int c = 0; c < 7; c++)
            y[c] = 0;
        return;
    }
    while (i >= p.start[s + 1])
        s++;
    const local_frame a = frame_of(p, i, p.start[s], p.start[s + 1]);
    const local_frame b = frame_of(p, j, p.start[s], p.start[s + 1]);
    const vector3 d = difference(ca_of(p, j), ca_of(p, i));
    const vector3 u = unit_vector({dot_product(a.o, d), dot_product(a.n, d), dot_product(a.m, d)});
    /* r = a^T b, of rows o, n, m */
    const float r00 = a.o.x * b.o.x + a.n.x * b.n.x + a.m.x * b.m.x;
    const float r01 = a.o.x * b.o.y + a.n.x * b.n.y + a.m.x * b.m.y;
    const float r02 = a.o.x * b.o.z + a.n.x * b.n.z + a.m.x * b.m.z;
    const float r10 = a.o.y * b.o.x + a.n.y * b.n.x + a.m.y * b.m.x;
    const float r11 = a.o.y * b.o.y + a.n.y * b.n.y + a.m.y * b.m.y;
    const float r12 = a.o.y * b.o.z + a.n.y * b.n.z + a.m.y * b.m.z;
    const float r20 = a.o.z * b.o.x + a.n.z * b.n.x + a.m.z * b.m.x;
    const float r21 = a.o.z * b.o.y + a.n.z * b.n.y + a.m.z * b.m.y;
    const float r22 = a.o.z * b.o.z + a.n.z * b.n.z + a.m.z * b.m.z;
    const float trace = 1 + r00 + r11 + r22;
    const float q0 = quaternion_part(1 + 2 * r00 - r00 - r11 - r22, r21 - r12);
    const float q1 = quaternion_part(1 + 2 * r11 - r00 - r11 - r22, r02 - r20);
    const float q2 = quaternion_part(1 + 2 * r22 - r00 - r11 - r22, r10 - r01);
    const float q3 = 0.5f * square_root(trace > 0 ? trace : 0);
    const float length = square_root(q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3);
    const float by = length > 1e-12f ? length : 1e-12f;
    y[0] = u.x;
    y[1] = u.y;
    y[2] = u.z;
    y[3] = q0 / by;
    y[4] = q1 / by;
    y[5] = q2 / by;
    y[6] = q3 / by;
}

/* ---- sums ---- */

KERNEL(edge_concat_f32, struct bi_edge_concat_params, EDGE_THREADS, 4)
{
    const int width = 2 * p.width + p.edge_width;
    const int64_t at = my_element(), e = at / width;
    const int c = (int)(at % width);
    if (e >= (int64_t)p.counts->n_tokens * p.k)
        return;
    const int32_t j = p.index[e];
    float v = 0;
    if (j >= 0)
        v = c < p.width                  ? p.h[e / p.k * p.width + c]
            : c < p.width + p.edge_width ? p.e[e * p.edge_width + c - p.width]
                                         : p.h[(int64_t)j * p.width + c - p.width - p.edge_width];
    p.y[at] = v;
}

/* z of column c of edge n of row r; *there: whether there is such an edge. */
DEV float edge_term(const struct bi_edge_terms &e, int64_t r, int n, int c, bool *there)
{
    const int64_t token = e.token ? e.token[r] : r, row = e.row ? e.row[r] : r;
    const int64_t at = token * e.k + n, j = e.index ? e.index[at] : at;
    *there = row >= 0 && j >= 0;
    if (!*there)
        return 0;
    const int64_t mine = e.index ? j - token + row : j;
    const bool late = e.late && e.rank[mine] >= e.rank[row];
    float z = e.edge[at * e.width + c] + e.self[r * e.width + c];
    if (late)
        z += e.late[j * e.width + c];
    else if (e.other)
        z += e.other[mine * e.width + c];
    if (e.codes && !late)
        z += e.table[(int64_t)e.codes[mine] * e.width + c];
    return z;
}

DEV float edge_mask(const float *mask, const int32_t *index, int64_t token, int k, int n)
{
    const int64_t j = index ? index[token * k + n] : token * k + n;
    return j < 0 ? 0 : !mask ? 1 : index ? mask[token] * mask[j] : mask[j];
}

KERNEL(edge_sum_f32, struct bi_edge_sum_params, EDGE_THREADS, 4)
{
    const struct bi_edge_terms &e = p.terms;
    const int64_t at = my_element(), edge = at / e.width, r = edge / e.k;
    bool there;
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const float z = edge_term(e, r, (int)(edge % e.k), (int)(at % e.width), &there);
    p.y[at] = !there ? 0 : p.act == BI_ACT_GELU ? gelu(z) : z;
}

KERNEL(neighbor_sum_f32, struct bi_neighbor_sum_params, EDGE_THREADS, 4)
{
    const int64_t at = my_element(), r = at / p.width;
    const int c = (int)(at % p.width);
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const int64_t token = p.token ? p.token[r] : r;
    float sum = 0, weight = 0;
    for (int n = 0; n < p.k; n++) {
        const float m = edge_mask(p.mask, p.index, token, p.k, n);
        weight += m;
        if (m != 0)
            sum = fma_(m, p.x[(r * p.k + n) * p.width + c], sum);
    }
    p.sum[at] = sum * p.factor;
    if (c == 0)
        p.weight[r] = weight * p.factor;
}

KERNEL(row_bias_f32, struct bi_row_bias_params, EDGE_THREADS, 4)
{
    const int64_t at = my_element(), r = at / p.width;
    const int c = (int)(at % p.width);
    if (r < bi_live_rows(p.counts, p.axis, p.rows))
        p.y[r * p.ldy + c] = fma_(p.c[r], p.b[c], p.r[r * p.ldr + c]);
}

/* ---- messages ---- */

struct message_tile {
    float x[BI_NEIGHBORS_MAX * MESSAGE_LD]; /* gelu(z), then partial sums */
    float w[MESSAGE_SLICE * MESSAGE_LD];    /* columns of a slice of k */
    float mask[BI_NEIGHBORS_MAX];
};

/* A block makes the message of one row: gelu(z) of its edges in shared memory times w, slice by
 * slice of k. A thread has edges 4 (t / 16) ... + 3 and columns t % 16 + 16 i; sums over edges go
 * through shared memory in the order of edges. */
KERNEL(edge_message_f32, struct bi_edge_message_params, EDGE_THREADS, 1)
{
    SHARED(message_tile, s, sizeof(message_tile));
    const struct bi_edge_terms &e = p.terms;
    const int64_t r = block_x();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const int64_t token = e.token ? e.token[r] : r;
    const float *weights = (const float *)p.w;
    const int width = e.width, edge = thread_id() / 16 * 4, column = thread_id() % 16;
    float d[4][8] = {};

    for (int n = thread_id(); n < BI_NEIGHBORS_MAX; n += EDGE_THREADS)
        s.mask[n] = n < e.k ? edge_mask(p.mask, e.index, token, e.k, n) : 0;
    for (int at = thread_id(); at < BI_NEIGHBORS_MAX * MESSAGE_WIDTH; at += EDGE_THREADS) {
        const int n = at / MESSAGE_WIDTH, c = at % MESSAGE_WIDTH;
        bool there = false;
        const float z = n < e.k && c < width ? edge_term(e, r, n, c, &there) : 0;
        s.x[n * MESSAGE_LD + c] = there ? gelu(z) : 0;
    }
    const bool idle = e.row && e.row[r] < 0;
    for (int k0 = 0; k0 < width; k0 += MESSAGE_SLICE) {
        barrier(); /* x is written; the last slice is used up */
        for (int at = thread_id(); at < MESSAGE_SLICE * MESSAGE_WIDTH; at += EDGE_THREADS) {
            const int k = at % MESSAGE_SLICE, c = at / MESSAGE_SLICE;
            s.w[k * MESSAGE_LD + c] =
                k0 + k < width && c < width ? weights[(int64_t)c * width + k0 + k] : 0;
        }
        barrier();
#pragma nounroll
        for (int k = 0; k < MESSAGE_SLICE; k++) {
            float a[4], b[8];
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                a[i] = s.x[(edge + i) * MESSAGE_LD + k0 + k];
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++)
                b[i] = s.w[k * MESSAGE_LD + column + 16 * i];
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
#pragma GCC unroll 8
                for (int j = 0; j < 8; j++)
                    d[i][j] = fma_(a[i], b[j], d[i][j]);
        }
    }
    barrier(); /* x is used up: it takes the partial sums */
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        const int c = column + 16 * j;
        float sum = 0;
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            if (s.mask[edge + i] != 0 && c < width && !idle)
                sum = fma_(s.mask[edge + i], gelu(d[i][j] + p.b[c]), sum);
        s.x[edge / 4 * MESSAGE_LD + c] = sum;
    }
    barrier();
    for (int c = thread_id(); c < width; c += EDGE_THREADS) {
        float sum = 0;
        for (int i = 0; i < 16; i++)
            sum += s.x[i * MESSAGE_LD + c];
        p.sum[r * width + c] = sum * p.factor;
    }
    if (thread_id() == 0) {
        float weight = 0;
        for (int n = 0; n < e.k; n++)
            weight += s.mask[n];
        p.weight[r] = weight * p.factor;
    }
}

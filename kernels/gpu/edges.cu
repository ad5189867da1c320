/* edges.cu - ops over the edges of residue graphs, see kernels/edges.h. All in f32.
 *
 * Element kernels give a thread one number (or one edge); knn and edge_message give a block one
 * row. */
#include "lib/gpu_math.h"

#include "../edges.h"
#include "../linear.h"

enum {
    EDGE_THREADS = 256,
    KNN_THREADS = 64,
    MESSAGE_WIDTH = 128,
    MESSAGE_SLICE = 16,
    MESSAGE_LD = MESSAGE_WIDTH + 4
};

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

/* A neighbour: nearer ones come first, of equally near ones that of lower index. */
struct candidate {
    float d;
    int32_t j; /* -1: none */
};

DEV bool is_before(const candidate &a, const candidate &b)
{
    return a.j >= 0 && (b.j < 0 || a.d < b.d || (a.d == b.d && a.j < b.j));
}

struct knn_tile {
    candidate of[2][KNN_THREADS];
};

/* Takes a residue when it comes after `last` and before the best so far. */
DEV void consider(candidate &best, const candidate &last, float d, int32_t j)
{
    const candidate c = {d, j};
    if ((last.j < 0 || is_before(last, c)) && is_before(c, best))
        best = c;
}

/* The first residue behind `last` among those that thread t looks at: the structure's, those
 * with a missing atom as far as the farthest. */
DEV candidate next_of_all(const struct bi_knn_params &p, int32_t i, int32_t begin, int32_t end,
                          float far, const candidate &last)
{
    candidate best = {0, -1};
    for (int32_t j = begin + thread_id(); j < end; j += KNN_THREADS)
        consider(best, last, p.mask[j] == 0 ? far : edge_length(p, i, j), j);
    return best;
}

/* The same among the cells at most `reach` away along every axis. */
DEV candidate next_of_cells(const struct bi_knn_params &p, const struct bi_cell_grid &g, int32_t i,
                            int reach, const candidate &last)
{
    const float *x = p.x + (int64_t)i * p.width + p.first;
    const int32_t *first = p.cells + g.first;
    const int a = cell_along(g, x[0], 0) - reach, b = cell_along(g, x[1], 1) - reach,
              c = cell_along(g, x[2], 2) - reach, edge = 2 * reach + 1;
    candidate best = {0, -1};
    for (int at = thread_id(); at < edge * edge * edge; at += KNN_THREADS) {
        const int u = a + at / (edge * edge), v = b + at / edge % edge, w = c + at % edge;
        if (u < 0 || v < 0 || w < 0 || u >= g.n[0] || v >= g.n[1] || w >= g.n[2])
            continue;
        const int64_t cell = ((int64_t)u * g.n[1] + v) * g.n[2] + w;
        for (int32_t m = first[cell]; m < first[cell + 1]; m++)
            consider(best, last, edge_length(p, i, p.cells[m]), p.cells[m]);
    }
    return best;
}

/* The first of what all threads have. Rounds use the two halves of the tile in turn. */
DEV candidate first_of_block(knn_tile &s, const candidate &mine, int round)
{
    candidate *of = s.of[round % 2];
    of[thread_id()] = mine;
    barrier();
    for (int h = KNN_THREADS / 2; h; h /= 2) {
        if (thread_id() < h && is_before(of[thread_id() + h], of[thread_id()]))
            of[thread_id()] = of[thread_id() + h];
        barrier();
    }
    return of[0];
}

/* A block has one residue. A thread keeps the nearest of those it looks at that is not taken, and
 * looks again only when that one is. */
KERNEL(knn_f32, struct bi_knn_params, KNN_THREADS, 8)
{
    SHARED(knn_tile, s, sizeof(knn_tile));
    const int32_t i = (int32_t)block_x();
    if (i >= p.counts->n_tokens)
        return;
    float *distance = p.distance + (int64_t)i * p.k, far = 0;
    int32_t *index = p.index + (int64_t)i * p.k;
    int32_t low = 0, high = p.counts->n_seqs;
    while (high - low > 1) {
        const int32_t middle = (low + high) / 2;
        if (p.start[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    const int32_t begin = p.start[low], end = p.start[low + 1];
    if (p.mask[i] == 0) { /* all are equally far: the first ones */
        for (int n = thread_id(); n < p.k; n += KNN_THREADS) {
            distance[n] = 0;
            index[n] = begin + n < end ? begin + n : -1;
        }
        return;
    }
    const bool cells = p.grid && p.grid[low].n[0];
    int round = 0;
    if (!cells) {
        candidate farthest = {0, -1}; /* by the negative distance */
        for (int32_t j = begin + thread_id(); j < end; j += KNN_THREADS)
            if (p.mask[j] != 0)
                consider(farthest, {0, -1}, -edge_length(p, i, j), j);
        far = -first_of_block(s, farthest, round++).d;
    }
    for (int reach = 1;; reach++) {
        candidate last = {0, -1}, mine;
        int n = 0;
        for (bool look = true; n < p.k; n++) {
            if (look)
                mine = cells ? next_of_cells(p, p.grid[low], i, reach, last)
                             : next_of_all(p, i, begin, end, far, last);
            last = first_of_block(s, mine, round++);
            if (last.j < 0)
                break;
            look = last.j == mine.j;
            if (thread_id() == 0) {
                distance[n] = last.d;
                index[n] = last.j;
            }
        }
        if (!cells || (n == p.k && last.d < (float)reach * p.grid[low].size * 0.9999f) ||
            reach > p.grid[low].n[0] + p.grid[low].n[1] + p.grid[low].n[2]) {
            for (n += thread_id(); n < p.k; n += KNN_THREADS) {
                distance[n] = 0;
                index[n] = -1;
            }
            return;
        }
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

DEV local_frame frame_of(const struct bi_orientation_params &p, int32_t t, int32_t begin,
                         int32_t end)
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
    const bool none = trace < BI_ORIENTATION_NONE && q0 == 0 && q1 == 0 && q2 == 0;
    const float q3 = 0.5f * square_root(trace > 0 && !none ? trace : 0);
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
    int32_t mine[BI_NEIGHBORS_MAX]; /* the neighbour of the sample; -1: there is none */
    int32_t code[BI_NEIGHBORS_MAX]; /* the neighbour's symbol, -1: adds nothing */
    int32_t late[BI_NEIGHBORS_MAX]; /* the structure's neighbour when it comes later, -1: earlier */
};

/* Looks up what edge_term needs, once for each edge n of row r. */
DEV void look_up_edge(message_tile &s, const struct bi_edge_message_params &p, int64_t r, int n)
{
    const struct bi_edge_terms &e = p.terms;
    const int64_t token = e.token ? e.token[r] : r, row = e.row ? e.row[r] : r;
    s.mask[n] = n < e.k ? edge_mask(p.mask, e.index, token, e.k, n) : 0;
    s.mine[n] = s.code[n] = s.late[n] = -1;
    if (n >= e.k || row < 0)
        return;
    const int64_t at = token * e.k + n, j = e.index ? e.index[at] : at;
    if (j < 0)
        return;
    const int64_t mine = e.index ? j - token + row : j;
    s.mine[n] = (int32_t)mine;
    if (e.late && e.rank[mine] >= e.rank[row])
        s.late[n] = (int32_t)j;
    else if (e.codes)
        s.code[n] = e.codes[mine];
}

/* z of columns c ... c + 3 (whole) or of c alone; as edge_term sums. */
DEV f32x4 message_term(const message_tile &s, const struct bi_edge_terms &e, int64_t r, int n,
                       int c, bool whole)
{
    const int64_t token = e.token ? e.token[r] : r;
    const float *edge = e.edge + (token * e.k + n) * e.width + c, *self = e.self + r * e.width + c;
    const float *v = s.late[n] >= 0 ? e.late + (int64_t)s.late[n] * e.width + c
                     : e.other      ? e.other + (int64_t)s.mine[n] * e.width + c
                                    : nullptr;
    const float *t = s.code[n] >= 0 ? e.table + (int64_t)s.code[n] * e.width + c : nullptr;
    f32x4 z = {};
    if (whole) {
        z = *(const f32x4 *)edge + *(const f32x4 *)self;
        if (v)
            z += *(const f32x4 *)v;
        if (t)
            z += *(const f32x4 *)t;
    } else {
        z[0] = edge[0] + self[0];
        if (v)
            z[0] += v[0];
        if (t)
            z[0] += t[0];
    }
    return z;
}

/* gelu(z) of N edges into shared memory, zero where there is none. */
DEV void fill_messages(message_tile &s, const struct bi_edge_terms &e, int64_t r, int edges)
{
    const bool whole = e.width == MESSAGE_WIDTH &&
                       ((u64)e.edge | (u64)e.self | (u64)e.other | (u64)e.late | (u64)e.table) %
                               16 ==
                           0;
    const int step = whole ? 4 : 1, row = MESSAGE_WIDTH / step;
#pragma GCC unroll 2
    for (int at = thread_id(); at < edges * row; at += EDGE_THREADS) {
        const int n = at / row, c = at % row * step;
        f32x4 z = {};
        const bool there = s.mine[n] >= 0 && c < e.width;
        if (there)
            z = message_term(s, e, r, n, c, whole);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            if (i < step)
                s.x[n * MESSAGE_LD + c + i] = there ? gelu(z[i]) : 0;
    }
}

/* Columns k0 ... of two chunks of w: thread t has k 4 (t % 4) ... + 3 of rows t / 4 and + 64. */
DEV void read_slice(f32x4 *v, const float *w, int k0, int width)
{
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const int c = thread_id() / 4 + 64 * i, k = k0 + thread_id() % 4 * 4;
        const float *at = w + (int64_t)c * width + k;
        v[i] = f32x4{};
        if (c < width && width % 4 == 0 && k < width && (u64)w % 16 == 0) {
            v[i] = *(const f32x4 *)at;
        } else {
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++)
                if (c < width && k + j < width)
                    v[i][j] = at[j];
        }
    }
}

/* The message of row r with N edges to a thread: those from N (t / 16) on, of columns
 * 4 (t % 16) ... + 3 and the same plus 64. */
template <int N>
DEV void make_message(message_tile &s, const struct bi_edge_message_params &p, int64_t r)
{
    const float *weights = (const float *)p.w;
    const int width = p.terms.width, edge = thread_id() / 16 * N, column = thread_id() % 16 * 4;
    float d[N][8] = {};
    f32x4 next[2];
    fill_messages(s, p.terms, r, 16 * N);
    read_slice(next, weights, 0, width);
    for (int k0 = 0; k0 < width; k0 += MESSAGE_SLICE) {
        barrier(); /* x is written; the last slice is used up */
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++)
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++)
                s.w[(thread_id() % 4 * 4 + j) * MESSAGE_LD + thread_id() / 4 + 64 * i] = next[i][j];
        barrier();
        if (k0 + MESSAGE_SLICE < width)
            read_slice(next, weights, k0 + MESSAGE_SLICE, width);
#pragma nounroll
        for (int k = 0; k < MESSAGE_SLICE; k += 4) {
            f32x4 a[N];
#pragma GCC unroll 4
            for (int i = 0; i < N; i++)
                a[i] = *(const f32x4 *)&s.x[(edge + i) * MESSAGE_LD + k0 + k];
#pragma GCC unroll 4
            for (int m = 0; m < 4; m++) {
                f32x4 b[2];
#pragma GCC unroll 2
                for (int i = 0; i < 2; i++)
                    b[i] = *(const f32x4 *)&s.w[(k + m) * MESSAGE_LD + column + 64 * i];
#pragma GCC unroll 4
                for (int i = 0; i < N; i++)
#pragma GCC unroll 8
                    for (int j = 0; j < 8; j++)
                        d[i][j] = fma_(a[i][m], b[j / 4][j % 4], d[i][j]);
            }
        }
    }
    barrier(); /* x is used up: it takes the partial sums */
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        const int c = column + j % 4 + j / 4 * 64;
        float sum = 0;
#pragma GCC unroll 4
        for (int i = 0; i < N; i++)
            if (s.mask[edge + i] != 0 && s.mine[edge + i] >= 0 && c < width)
                sum = fma_(s.mask[edge + i], gelu(d[i][j] + p.b[c]), sum);
        s.x[thread_id() / 16 * MESSAGE_LD + c] = sum;
    }
    barrier();
    for (int c = thread_id(); c < width; c += EDGE_THREADS) {
        float sum = 0;
        for (int i = 0; i < 16; i++)
            sum += s.x[i * MESSAGE_LD + c];
        p.sum[r * width + c] = sum * p.factor;
    }
}

/* A block makes the message of one row: gelu(z) of its edges in shared memory times w, slice by
 * slice of k; sums over edges go through shared memory in the order of edges. */
KERNEL(edge_message_f32, struct bi_edge_message_params, EDGE_THREADS, 1)
{
    SHARED(message_tile, s, sizeof(message_tile));
    const int64_t r = block_x();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    if (thread_id() < BI_NEIGHBORS_MAX)
        look_up_edge(s, p, r, thread_id());
    barrier();
    if (p.terms.k <= 32)
        make_message<2>(s, p, r);
    else if (p.terms.k <= 48)
        make_message<3>(s, p, r);
    else
        make_message<4>(s, p, r);
    if (thread_id() == 0) {
        float weight = 0;
        for (int n = 0; n < p.terms.k; n++)
            weight += s.mask[n];
        p.weight[r] = weight * p.factor;
    }
}

/* ---- atoms around residues ---- */

/* A thread has one atom. */
KERNEL(atom_features_f32, struct bi_atom_features_params, EDGE_THREADS, 2)
{
    const int64_t at = my_element();
    if (at >= bi_live_rows(p.counts, BI_AXIS_ATOMS, p.rows))
        return;
    const float *x = p.x + at / p.n_atoms * 15, *a = p.atoms + at * 3;
    float *y = p.y + at * BI_ATOM_FEATURES;
    for (int i = 0; i < 5; i++) {
        const vector3 v = {x[3 * i] - a[0], x[3 * i + 1] - a[1], x[3 * i + 2] - a[2]};
        const float d = square_root(dot_product(v, v) + 1e-6f);
#pragma GCC unroll 16
        for (int n = 0; n < BI_RBF_BINS; n++) {
            const float z = (d - (2.0f + (float)n * (20.0f / 15))) * 0.8f;
            y[i * BI_RBF_BINS + n] = exp_(-z * z);
        }
    }
    const vector3 ca = {x[3], x[4], x[5]};
    const vector3 e1 = unit_vector(difference({x[0], x[1], x[2]}, ca));
    const vector3 c = difference({x[6], x[7], x[8]}, ca);
    const float along = dot_product(e1, c);
    const vector3 e2 = unit_vector({c.x - e1.x * along, c.y - e1.y * along, c.z - e1.z * along});
    const vector3 e3 = cross_product(e1, e2), v = difference({a[0], a[1], a[2]}, ca);
    const float lx = dot_product(v, e1), ly = dot_product(v, e2), lz = dot_product(v, e3);
    const float flat = square_root(lx * lx + ly * ly + 1e-8f);
    const float far = square_root(lx * lx + ly * ly + lz * lz) + 1e-8f;
    y[5 * BI_RBF_BINS] = lx / flat;
    y[5 * BI_RBF_BINS + 1] = ly / flat;
    y[5 * BI_RBF_BINS + 2] = flat / far;
    y[5 * BI_RBF_BINS + 3] = lz / far;
}

/* A thread has one pair. */
KERNEL(atom_pairs_f32, struct bi_atom_pairs_params, EDGE_THREADS, 2)
{
    const int64_t at = my_element();
    if (at >= bi_live_rows(p.counts, BI_AXIS_PAIRS, p.rows))
        return;
    const int64_t i = at / p.n_atoms, j = i / p.n_atoms * p.n_atoms + at % p.n_atoms;
    const float *a = p.atoms + i * 3, *b = p.atoms + j * 3;
    const vector3 v = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    const float d = square_root(dot_product(v, v) + 1e-6f);
    float *y = p.y + at * BI_RBF_BINS;
#pragma GCC unroll 16
    for (int n = 0; n < BI_RBF_BINS; n++) {
        const float z = (d - (2.0f + (float)n * (20.0f / 15))) * 0.8f;
        y[n] = exp_(-z * z);
    }
    p.pair_mask[at] = p.mask[i] * p.mask[j];
}

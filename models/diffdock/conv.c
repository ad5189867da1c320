/* conv.c - products of matrices and convolutions over edges, on the threads of the caller's team.
 *
 * Sections: matrices, edges by receiver, messages, runs.
 * A block of receivers is one thread's; what a receiver gets does not depend on its block. */
#include "conv.h"

#include <string.h>

#include "../../base/team.h"

enum {
    ROWS = 4,
    COLUMNS = 8,
    DEPTH = 256, /* sums over this many products are added up, which keeps more digits of float32 */
    RECEIVERS = 16 /* in a block */
};

/* ---- matrices ---- */

/* One tile of ROWS rows and `columns` columns, 4 or COLUMNS. */
#define BI_TILE(columns)                                                                           \
    static void tile_##columns(int64_t k, const float *a, const int64_t row[ROWS], int64_t a_k,    \
                               const float *b, int64_t ldb, float sums[ROWS][COLUMNS])             \
    {                                                                                              \
        float s[ROWS][columns] = {{0}};                                                            \
        for (int64_t i = 0; i < k; i++) {                                                          \
            const float *p = b + i * ldb;                                                          \
            for (int r = 0; r < ROWS; r++) {                                                       \
                const float f = a[row[r] + i * a_k];                                               \
                for (int c = 0; c < columns; c++)                                                  \
                    s[r][c] += f * p[c];                                                           \
            }                                                                                      \
        }                                                                                          \
        for (int r = 0; r < ROWS; r++)                                                             \
            memcpy(sums[r], s[r], sizeof s[r]);                                                    \
    }
BI_TILE(4)
BI_TILE(8)
#undef BI_TILE

void bi_gemm(int rows, int columns, int64_t k, const float *a, int64_t a_row, int64_t a_k,
             const float *b, int64_t ldb, float *c, int64_t ldc, bool add)
{
    if (k <= 0 && !add)
        for (int r = 0; r < rows; r++)
            memset(c + r * ldc, 0, (size_t)columns * sizeof *c);
    for (int64_t at = 0; at < k; at += DEPTH) {
        const int64_t depth = k - at < DEPTH ? k - at : DEPTH;
        for (int column = 0; column < columns; column += COLUMNS) {
            const int width = columns - column < COLUMNS ? 4 : COLUMNS;
            for (int r = 0; r < rows; r += ROWS) {
                const int height = rows - r < ROWS ? rows - r : ROWS;
                float sums[ROWS][COLUMNS];
                int64_t row[ROWS];
                for (int i = 0; i < ROWS; i++) /* some of the last rows come twice */
                    row[i] = (r + (i < height ? i : 0)) * a_row;
                (width == 4 ? tile_4 : tile_8)(depth, a + at * a_k, row, a_k, b + at * ldb + column,
                                               ldb, sums);
                for (int i = 0; i < height; i++)
                    for (int j = 0; j < width; j++) {
                        float *to = c + (r + i) * ldc + column + j;
                        *to = (add || at ? *to : 0) + sums[i][j];
                    }
            }
        }
    }
}

void bi_dense_apply(const struct bi_dense *dense, int rows, const float *x, int64_t x_stride,
                    float *y, int64_t y_stride, bool add)
{
    if (!add)
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < dense->stride; c++)
                y[r * y_stride + c] = dense->bias && c < dense->out ? dense->bias[c] : 0;
    bi_gemm(rows, dense->stride, dense->in, x, x_stride, 1, dense->weight, dense->stride, y,
            y_stride, true);
}

/* ---- edges by receiver ---- */

/* A list of edges while it is computed. */
struct sorted {
    const struct bi_conv_edges *edges;
    int32_t *start, *order;          /* edges order[start[i]], ... are those that node i receives */
    float *ends[BI_CONV_BLOCKS - 1]; /* the first layer of scalars of nodes */
};

struct job {
    const struct bi_irreps_conv *conv;
    struct sorted list[BI_CONV_GROUPS];
    int n_lists;
    int32_t n_to;
    int32_t most; /* edges of a list that a block receives */
    float *out;
    float **room; /* by thread */
    size_t hidden_size, v_size, m_size;
};

/* Sorts edges by receiver; edges of one receiver stay in order. */
static void sort_edges(struct sorted *s, int32_t n_to)
{
    const struct bi_conv_edges *edges = s->edges;
    memset(s->start, 0, ((size_t)n_to + 1) * sizeof *s->start);
    for (int32_t e = 0; e < edges->n; e++)
        s->start[edges->to[e] + 1]++;
    for (int32_t i = 0; i < n_to; i++)
        s->start[i + 1] += s->start[i];
    for (int32_t e = 0; e < edges->n; e++)
        s->order[s->start[edges->to[e]]++] = e;
    memmove(s->start + 1, s->start, (size_t)n_to * sizeof *s->start);
    s->start[0] = 0;
}

/* The part of the first layer that block b of its inputs, 0 being the edge's own, goes through. */
static struct bi_dense first_block(const struct bi_irreps_conv *conv, int group, int b)
{
    struct bi_dense part = conv->group[group].first;
    part.in = conv->ns;
    part.weight += (size_t)b * (size_t)conv->ns * (size_t)part.stride;
    part.bias = NULL;
    return part;
}

static int begin_list(struct job *job, struct sorted *s, const struct bi_conv_edges *edges,
                      const struct bi_run *run)
{
    const struct bi_irreps_conv *conv = job->conv;
    s->edges = edges;
    s->start = bi_arena_calloc(run->arena, (size_t)job->n_to + 1, sizeof *s->start);
    s->order = bi_arena_calloc(run->arena, (size_t)edges->n, sizeof *s->order);
    if (!s->start || !s->order)
        return BIOINFER_NOMEM;
    sort_edges(s, job->n_to);
    for (int b = 0; b < conv->n_blocks - 1; b++) {
        const struct bi_conv_block *block = &edges->block[b];
        const struct bi_dense part = first_block(conv, edges->group, b + 1);
        s->ends[b] = bi_arena_calloc(run->arena, (size_t)block->n,
                                     (size_t)part.stride * sizeof *s->ends[b]);
        if (!s->ends[b])
            return BIOINFER_NOMEM;
        bi_dense_apply(&part, block->n, block->x, block->stride, s->ends[b], part.stride, true);
    }
    for (int32_t i = 0; i < job->n_to; i += RECEIVERS) {
        const int32_t end = job->n_to - i < RECEIVERS ? job->n_to : i + RECEIVERS;
        const int32_t n = s->start[end] - s->start[i];
        job->most = n > job->most ? n : job->most;
    }
    return 0;
}

/* ---- messages ---- */

static void relu(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}

/* h of edges order[first, end), [end - first][h_stride]; spare: as much room; gathered: room for
 * [end - first][ns]. */
static void hidden_rows(const struct bi_irreps_conv *conv, const struct sorted *s, int32_t first,
                        int32_t end, float *h, float *spare, float *gathered)
{
    const struct bi_conv_group *group = &conv->group[s->edges->group];
    const struct bi_dense part = first_block(conv, s->edges->group, 0);
    const int stride = conv->h_stride, width = conv->hidden, ns = conv->ns;
    float *begin = group->middle.out ? spare : h;
    for (int32_t at = first; at < end; at++) {
        const int32_t e = s->order[at];
        float *row = begin + (int64_t)(at - first) * stride;
        memset(row, 0, (size_t)stride * sizeof *row);
        for (int c = 0; c < width; c++)
            row[c] = group->first.bias[c];
        for (int b = 0; b < conv->n_blocks - 1; b++) {
            const float *end_row = s->ends[b] + (int64_t)s->edges->block[b].at[e] * part.stride;
            for (int c = 0; c < width; c++)
                row[c] += end_row[c];
        }
        memcpy(gathered + (int64_t)(at - first) * ns, s->edges->attr + (int64_t)e * ns,
               (size_t)ns * sizeof *gathered);
    }
    bi_dense_apply(&part, end - first, gathered, ns, begin, stride, true);
    relu(begin, (int64_t)(end - first) * stride);
    if (group->middle.out) {
        bi_dense_apply(&group->middle, end - first, spare, stride, h, stride, false);
        relu(h, (int64_t)(end - first) * stride);
    }
    for (int32_t at = first; at < end; at++) {
        float *row = h + (int64_t)(at - first) * stride;
        row[width] = 1;
        for (int c = width + 1; c < stride; c++)
            row[c] = 0;
    }
}

/* v[m][u] = sum of C x[u] y of one edge. */
static void couple(const struct bi_irreps_conv *conv, const struct bi_path *path, const float *x,
                   const float *y, float *v)
{
    const struct bi_irrep *in = &conv->in.part[path->in], *sh = &conv->sh.part[path->sh];
    const int n_in = 2 * in->l + 1, n_out = 2 * conv->out.part[path->out].l + 1;
    for (int m = 0; m < n_out; m++, v += in->mul) {
        float t[3] = {0};
        for (int i = 0; i < n_in; i++) {
            double sum = 0;
            for (int j = 0; j <= 2 * sh->l; j++)
                sum += path->coupling[i][j][m] * (double)y[sh->at + j];
            t[i] = (float)sum;
        }
        if (n_in == 1)
            for (int u = 0; u < in->mul; u++)
                v[u] = x[in->at + u] * t[0];
        else
            for (int u = 0; u < in->mul; u++) {
                const float *p = x + in->at + 3 * u;
                v[u] = p[0] * t[0] + p[1] * t[1] + p[2] * t[2];
            }
    }
}

static int round4(int n)
{
    return (n + 3) & ~3;
}

/* Adds to sums[(receiver, m)][w] the messages along one path of a list, to n receivers from
 * `first` on; room for v and for M. */
static void add_path(const struct bi_irreps_conv *conv, const struct sorted *s, int p,
                     int32_t first, int n, const float *h, float *v, float *m, float *sums)
{
    const struct bi_path *path = &conv->paths.path[p];
    const int rows = conv->in.part[path->in].mul * (2 * conv->out.part[path->out].l + 1);
    const int columns = round4(conv->out.part[path->out].mul), stride = conv->h_stride;
    const int64_t depth = (int64_t)conv->in.part[path->in].mul * stride;
    for (int i = 0; i < n; i++) {
        const int32_t begin = s->start[first + i], end = s->start[first + i + 1];
        for (int32_t at = begin; at < end; at++) {
            const int32_t e = s->order[at];
            couple(conv, path, s->edges->x + (int64_t)s->edges->from[e] * conv->in.width,
                   s->edges->sh + (int64_t)e * conv->sh.width, v + (int64_t)(at - begin) * rows);
        }
        bi_gemm(rows, stride, end - begin, v, 1, rows,
                h + (int64_t)(begin - s->start[first]) * stride, stride,
                m + (int64_t)i * rows * stride, stride, false);
    }
    bi_gemm(n * rows / conv->in.part[path->in].mul, columns, depth, m, depth, 1,
            conv->group[s->edges->group].last[p], columns, sums, columns, true);
}

/* The sums of one irrep of the output, [(receiver, m)][stride], as means and normed. */
static void finish(const struct job *job, const struct bi_irrep *out, int32_t first, int n,
                   const float *sums)
{
    const struct bi_irreps_conv *conv = job->conv;
    const int n_m = 2 * out->l + 1, stride = round4(out->mul);
    for (int i = 0; i < n; i++) {
        float *row = job->out + (int64_t)(first + i) * conv->out.width;
        int32_t count = 0;
        for (int l = 0; l < job->n_lists; l++)
            count += job->list[l].start[first + i + 1] - job->list[l].start[first + i];
        for (int m = 0; m < n_m; m++)
            for (int w = 0; w < out->mul; w++) {
                const int at = out->at + w * n_m + m;
                const float mean = sums[(int64_t)(i * n_m + m) * stride + w] /
                                   (float)(count ? count : 1);
                row[at] = mean * conv->scale[at] + conv->shift[at];
            }
    }
}

/* A body of bi_team_for(): blocks of receivers. */
static void run_blocks(void *user, int thread, int64_t begin_block, int64_t end_block)
{
    const struct job *job = user;
    const struct bi_irreps_conv *conv = job->conv;
    float *hidden = job->room[thread], *spare = hidden + job->hidden_size;
    float *v = spare + job->hidden_size, *m = v + job->v_size, *sums = m + job->m_size;
    for (int64_t block = begin_block; block < end_block; block++) {
        const int32_t first = (int32_t)block * RECEIVERS;
        const int n = job->n_to - first < RECEIVERS ? (int)(job->n_to - first) : RECEIVERS;
        float *of[BI_IRREPS_MAX], *end = sums;
        for (int k = 0; k < conv->out.n; k++) {
            of[k] = end;
            end += n * (2 * conv->out.part[k].l + 1) * round4(conv->out.part[k].mul);
        }
        memset(sums, 0, (size_t)((char *)end - (char *)sums));
        for (int l = 0; l < job->n_lists; l++) {
            const struct sorted *s = &job->list[l];
            if (s->start[first] == s->start[first + n])
                continue;
            hidden_rows(conv, s, s->start[first], s->start[first + n], hidden, spare, v);
            for (int p = 0; p < conv->paths.n; p++)
                add_path(conv, s, p, first, n, hidden, v, m, of[conv->paths.path[p].out]);
        }
        for (int k = 0; k < conv->out.n; k++)
            finish(job, &conv->out.part[k], first, n, of[k]);
    }
}

/* ---- runs ---- */

/* Gives each thread its room. */
static int take_room(struct job *job, const struct bi_run *run, int n_threads)
{
    const struct bi_irreps_conv *conv = job->conv;
    size_t rows = 0, sums = 0;
    for (int p = 0; p < conv->paths.n; p++) {
        const struct bi_path *path = &conv->paths.path[p];
        const size_t n = (size_t)conv->in.part[path->in].mul *
                         (size_t)(2 * conv->out.part[path->out].l + 1);
        rows = n > rows ? n : rows;
    }
    for (int k = 0; k < conv->out.n; k++)
        sums += (size_t)(2 * conv->out.part[k].l + 1) * (size_t)round4(conv->out.part[k].mul);
    job->hidden_size = (size_t)job->most * (size_t)conv->h_stride;
    job->v_size = (size_t)job->most * rows;
    job->m_size = RECEIVERS * rows * (size_t)conv->h_stride;
    job->room = bi_arena_calloc(run->arena, (size_t)n_threads, sizeof *job->room);
    for (int t = 0; job->room && t < n_threads; t++) {
        job->room[t] = bi_arena_alloc(
            run->arena, (2 * job->hidden_size + job->v_size + job->m_size + RECEIVERS * sums) *
                            sizeof *job->room[t]);
        if (!job->room[t])
            return BIOINFER_NOMEM;
    }
    return job->room ? 0 : BIOINFER_NOMEM;
}

int bi_conv_run(const struct bi_irreps_conv *conv, const struct bi_run *run,
                const struct bi_conv_edges *edges, int n_lists, int32_t n_to, float *out,
                struct bioinfer_error *err)
{
    const int64_t n_blocks = ((int64_t)n_to + RECEIVERS - 1) / RECEIVERS;
    const int n_threads = run->n_threads > 1 ? run->n_threads : 1;
    struct job job = {.conv = conv, .n_lists = n_lists, .n_to = n_to, .out = out};
    int st = 0;
    assert(n_lists <= BI_CONV_GROUPS);
    for (int l = 0; l < n_lists && !st; l++)
        st = begin_list(&job, &job.list[l], &edges[l], run);
    if (st || take_room(&job, run, n_threads))
        return bi_fail(err, BIOINFER_NOMEM, "no memory for a convolution of %d edges",
                       (int)edges->n);
    bi_team_for(run->env, n_threads, n_blocks, 1, run_blocks, &job);
    return 0;
}

/* features.c - first features of the nodes and edges of a complex. */
#include <math.h>
#include <string.h>

#include "../../base/team.h"
#include "net.h"

enum { CHUNK = 8 }; /* edges at a time */

static int no_memory(struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "no memory for the features of a complex");
}

static void relu(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}

void bi_two_layers_row(const struct bi_two_layers *net, const float *x, float *y)
{
    float hidden[BI_DIFFDOCK_WIDEST];
    bi_dense_apply(&net->first, 1, x, net->first.in, hidden, net->first.stride, false);
    relu(hidden, net->first.out);
    bi_dense_apply(&net->last, 1, hidden, net->first.stride, y, net->last.stride, false);
}

/* ---- rows ---- */

float *bi_rows_take(const struct bi_run *run, int32_t n, int width)
{
    return bi_arena_calloc(run->arena, (size_t)n, (size_t)width * sizeof(float));
}

void bi_messages_add(float *to, int width, const float *x, int x_width, const float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        float *row = to + (int64_t)i * width;
        for (int c = 0; y && c < width; c++)
            row[c] += y[(int64_t)i * width + c];
        for (int c = 0; c < x_width; c++)
            row[c] += x[(int64_t)i * x_width + c];
    }
}

int bi_residual_conv(const struct bi_irreps_conv *conv, const struct bi_run *run,
                     const struct bi_edge_set *set, const float *x, int32_t n, float **out,
                     struct bioinfer_error *err)
{
    const struct bi_conv_edges edges = {
        .n = set->n,
        .to = set->to,
        .from = set->from,
        .attr = set->attr,
        .sh = set->sh,
        .x = x,
        .block = {{x, set->to, n, conv->in.width}, {x, set->from, n, conv->in.width}}};
    int st;
    *out = bi_rows_take(run, n, conv->out.width);
    if (!*out)
        return no_memory(err);
    st = bi_conv_run(conv, run, &edges, 1, n, *out, err);
    bi_messages_add(*out, conv->out.width, x, conv->in.width, NULL, n);
    return st;
}

/* ---- edges ---- */

float *bi_edge_network_row(const struct bi_edge_network *net, int time_width, const float *time,
                           struct bi_arena *arena)
{
    const struct bi_dense *first = &net->net.first;
    float *row = bi_arena_calloc(arena, (size_t)first->stride, sizeof *row);
    for (int c = 0; row && c < first->out; c++) {
        double sum = (double)first->bias[c];
        for (int k = 0; net->time_at >= 0 && k < time_width; k++)
            sum += (double)time[k] *
                   (double)first->weight[(size_t)(net->time_at + k) * (size_t)first->stride + c];
        row[c] = (float)sum;
    }
    return row;
}

struct edge_job {
    const struct bi_edge_network *net;
    const float *row;
    const int32_t *to, *from, *bond_type;
    const double (*x)[3], (*y)[3];
    struct bi_edge_set *set;
    int32_t n_bonds;
    int ns, lmax;
};

/* Gaussians of a length about n centres. */
static void smear(double length, double stop, int n, float *out)
{
    const double step = stop / (n - 1);
    for (int k = 0; k < n; k++) {
        const float off = (float)((length - stop * k / (n - 1)) / step);
        out[k] = expf(-0.5F * off * off);
    }
}

/* A body of bi_team_for(). */
static void edge_rows(void *user, int thread, int64_t begin, int64_t end)
{
    const struct edge_job *job = user;
    const struct bi_edge_network *net = job->net;
    const struct bi_dense *first = &net->net.first;
    struct bi_dense distances = *first;
    const int n_sh = (job->lmax + 1) * (job->lmax + 1), n = (int)(end - begin);
    float smeared[CHUNK * BI_DIFFDOCK_WIDEST], hidden[CHUNK * BI_DIFFDOCK_WIDEST];
    float rows[CHUNK * BI_DIFFDOCK_WIDEST];
    (void)thread;
    distances.in = net->n_distances;
    distances.weight += (size_t)net->distance_at * (size_t)first->stride;
    for (int i = 0; i < n; i++) {
        const int64_t e = begin + i;
        const double *a = job->x[job->to[e]], *b = job->y[job->from[e]];
        const double v[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
        double sh[BI_DIFFDOCK_HARMONICS];
        bi_harmonics(v, job->lmax, sh);
        for (int k = 0; k < n_sh; k++)
            job->set->sh[e * n_sh + k] = (float)sh[k];
        smear(sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), net->stop, net->n_distances,
              smeared + i * net->n_distances);
        memcpy(hidden + i * first->stride, job->row, (size_t)first->stride * sizeof *hidden);
        if (e < job->n_bonds) {
            const float *bond = first->weight +
                                (size_t)(net->bond_at + job->bond_type[e]) * (size_t)first->stride;
            for (int c = 0; c < first->out; c++)
                hidden[i * first->stride + c] += bond[c];
        }
    }
    bi_dense_apply(&distances, n, smeared, net->n_distances, hidden, first->stride, true);
    relu(hidden, n * first->stride);
    bi_dense_apply(&net->net.last, n, hidden, first->stride, rows, net->net.last.stride, false);
    for (int i = 0; i < n; i++)
        memcpy(job->set->attr + (begin + i) * job->ns, rows + i * net->net.last.stride,
               (size_t)job->ns * sizeof *rows);
}

int bi_edge_set_make(struct bi_edge_set *set, const struct bi_run *run,
                     const struct bi_edge_network *net, const float *row, int ns, int lmax,
                     const struct bi_pose_edges *list, const double (*x)[3], const double (*y)[3],
                     const int32_t *bond_type, int32_t n_bonds, struct bioinfer_error *err)
{
    struct edge_job job = {.net = net,
                           .row = row,
                           .to = list->to,
                           .from = list->from,
                           .bond_type = bond_type,
                           .x = x,
                           .y = y,
                           .set = set,
                           .n_bonds = n_bonds,
                           .ns = ns,
                           .lmax = lmax};
    *set = (struct bi_edge_set){.n = list->n, .to = list->to, .from = list->from};
    set->sh = bi_arena_calloc(run->arena, (size_t)list->n,
                              (size_t)((lmax + 1) * (lmax + 1)) * sizeof *set->sh);
    set->attr = bi_arena_calloc(run->arena, (size_t)list->n, (size_t)ns * sizeof *set->attr);
    if (!row || !set->sh || !set->attr)
        return bi_fail(err, BIOINFER_NOMEM, "no memory for %d edges", (int)list->n);
    bi_team_for(run->env, run->n_threads, list->n, CHUNK, edge_rows, &job);
    return 0;
}

int bi_ligand_edges(struct bi_pose_edges *list, const struct bi_diffdock_ligand *ligand,
                    const double (*x)[3], double radius, struct bioinfer_error *err)
{
    const size_t n = (size_t)ligand->n_bonds;
    if (!bi_grow(list->env, &list->to, &list->cap_to, n, sizeof *list->to) ||
        !bi_grow(list->env, &list->from, &list->cap_from, n, sizeof *list->from))
        return bi_fail(err, BIOINFER_NOMEM, "no memory for %zu bonds", n);
    for (size_t e = 0; e < n; e++) {
        list->to[e] = ligand->bonds[e][0];
        list->from[e] = ligand->bonds[e][1];
    }
    list->n = ligand->n_bonds;
    return bi_edges_among(list, x, ligand->n, radius, BI_DIFFDOCK_LIGAND_NEIGHBOURS, err);
}

/* ---- nodes ---- */

int bi_node_check(const struct bi_node_encoder *encoder, int32_t n, const int32_t *features,
                  const char *what, struct bioinfer_error *err)
{
    for (int32_t i = 0; i < n; i++)
        for (int t = 0; t < encoder->n_tables; t++) {
            const int32_t v = features[(int64_t)i * encoder->n_tables + t];
            if (v < 0 || v >= encoder->n_rows[t])
                return bi_fail(err, BIOINFER_INVALID, "%s %d: feature %d is %d, expected 0 to %d",
                               what, (int)i, t, (int)v, (int)encoder->n_rows[t] - 1);
        }
    return 0;
}

/* The columns of a layer's input from `at` on, n of them, without the bias. */
static struct bi_dense part_of(const struct bi_dense *whole, int at, int n)
{
    struct bi_dense part = *whole;
    part.weight += (size_t)at * (size_t)whole->stride;
    part.in = n;
    part.bias = NULL;
    return part;
}

/* v1.0 cuts the row [model's columns | time] the other way round than it is joined: `linear` has
 * the first columns of the model's, as many as the time has, `model` the rest and the time. */
static void old_base(const struct bi_diffdock *model, const struct bi_node_encoder *encoder,
                     int32_t n, const float *embedding, int lm_width, const float *sums,
                     float *rows, float *out)
{
    const int ns = model->settings.ns, cut = model->settings.time_width;
    const int stride = encoder->linear.stride;
    const struct bi_dense first = part_of(&encoder->model, 0, ns);
    const struct bi_dense rest = part_of(&encoder->model, ns, lm_width - cut);
    for (int32_t i = 0; i < n; i++)
        for (int c = 0; c < stride; c++)
            rows[(int64_t)i * stride + c] = c < ns ? sums[(int64_t)i * stride + c] +
                                                         encoder->linear.bias[c]
                                                   : 0;
    bi_dense_apply(&encoder->linear, n, embedding, lm_width, rows, stride, true);
    for (int32_t i = 0; i < n; i++)
        for (int c = 0; c < stride; c++)
            out[(int64_t)i * stride + c] = c < ns ? encoder->model.bias[c] : 0;
    bi_dense_apply(&first, n, rows, stride, out, stride, true);
    bi_dense_apply(&rest, n, embedding + cut, lm_width, out, stride, true);
}

/* v1.1 joins the sums and the model's columns, and has one layer for both. */
static void new_base(const struct bi_diffdock *model, const struct bi_node_encoder *encoder,
                     int32_t n, const float *embedding, int lm_width, const float *sums, float *out)
{
    const int ns = model->settings.ns, stride = encoder->extra.stride;
    const struct bi_dense first = part_of(&encoder->extra, 0, ns);
    const struct bi_dense rest = part_of(&encoder->extra, ns, lm_width);
    for (int32_t i = 0; i < n; i++)
        for (int c = 0; c < stride; c++)
            out[(int64_t)i * stride + c] = c < ns ? encoder->extra.bias[c] : 0;
    bi_dense_apply(&first, n, sums, stride, out, stride, true);
    if (lm_width)
        bi_dense_apply(&rest, n, embedding, lm_width, out, stride, true);
}

float *bi_node_base(const struct bi_diffdock *model, const struct bi_node_encoder *encoder,
                    int32_t n, const int32_t *features, const float *embedding, int lm_width,
                    struct bi_arena *arena)
{
    const int ns = model->settings.ns, stride = (ns + 3) & ~3;
    const size_t row = (size_t)stride * sizeof(float);
    float *sums = bi_arena_calloc(arena, (size_t)n, row),
          *out = bi_arena_calloc(arena, (size_t)n, row);
    float *rows = bi_arena_calloc(arena, (size_t)n, row);
    if (!sums || !out || !rows)
        return NULL;
    for (int32_t i = 0; i < n; i++)
        for (int t = 0; t < encoder->n_tables; t++) {
            const float *from = encoder->table[t] +
                                (int64_t)features[(int64_t)i * encoder->n_tables + t] * ns;
            for (int c = 0; c < ns; c++)
                sums[(int64_t)i * stride + c] += from[c];
        }
    if (encoder->extra.out)
        new_base(model, encoder, n, embedding, lm_width, sums, out);
    else if (encoder->model.out)
        old_base(model, encoder, n, embedding, lm_width, sums, rows, out);
    else
        memcpy(out, sums, (size_t)n * row);
    for (int32_t i = 0; i < n; i++) /* rows without a gap */
        memmove(out + (int64_t)i * ns, out + (int64_t)i * stride, (size_t)ns * sizeof *out);
    return out;
}

int bi_node_add_time(const struct bi_diffdock *model, const struct bi_node_encoder *encoder,
                     int32_t n, const float *base, const float *time, float *out,
                     struct bi_arena *arena)
{
    const int ns = model->settings.ns, width = model->settings.time_width;
    const struct bi_dense *layer = encoder->extra.out   ? &encoder->extra
                                   : encoder->model.out ? &encoder->model
                                                        : &encoder->linear;
    const struct bi_dense part = part_of(layer, layer->in - width, width);
    float *row = bi_arena_calloc(arena, (size_t)part.stride, sizeof *row);
    if (!row)
        return BIOINFER_NOMEM;
    if (!encoder->extra.out && !encoder->model.out)
        for (int c = 0; c < ns; c++)
            row[c] = encoder->linear.bias[c];
    bi_dense_apply(&part, 1, time, width, row, part.stride, true);
    for (int32_t i = 0; i < n; i++)
        for (int c = 0; c < ns; c++)
            out[(int64_t)i * ns + c] = base[(int64_t)i * ns + c] + row[c];
    return 0;
}

void bi_diffdock_embed_time(const struct bi_diffdock_settings *settings, double t, float *out)
{
    const int half = settings->time_width / 2;
    for (int k = 0; k < half; k++) {
        const float f = expf((float)k * (float)(-log(10000.0) / (half - 1)));
        const float a = (float)settings->time_scale * (float)t * f;
        out[k] = sinf(a);
        out[half + k] = cosf(a);
    }
}

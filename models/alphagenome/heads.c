/* heads.c - the heads of AlphaGenome: their weights, and which of their tracks are real. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alphagenome.h"

enum { FARTHEST_BASES = 1 << 20 }; /* positions of splice sites */

/* Rows of a tensor [organisms, n, ...] that a head of one organism has: row r is
 * first + r / block * step + r % block. */
struct rows {
    int64_t n, first, block, step;
};

/* A matrix of these rows, of a tensor of more dimensions. */
static int rows_of_matrix(const struct bi_tracks_source *s, int *index, const char *name,
                          const struct rows *rows, int64_t in, struct bioinfer_error *err)
{
    struct bi_weight w = {.rank = 2,
                          .shape = {rows->n, in},
                          .flat = true,
                          .row_first = (uint64_t)rows->first,
                          .row_block = (uint64_t)rows->block,
                          .row_step = (uint64_t)rows->step};
    int st = bi_tracks_need(s, &w.tensor, err, "%s", name);
    return st ? st : bi_tracks_weight(s, index, &w, name, err);
}

/* Numbers of these rows, of a tensor of n of them in all. */
static int rows_of_vector(const struct bi_tracks_source *s, const char *name, int64_t n,
                          const struct rows *rows, float **values, struct bioinfer_error *err)
{
    float *all;
    int st = bi_tracks_read(s, &all, n, name, err);
    if (st)
        return st;
    *values = bi_arena_calloc(&s->model->arena, (size_t)rows->n, sizeof **values);
    if ((st = ag_need_memory(s, *values, err)))
        return st;
    for (int64_t i = 0; i < rows->n; i++)
        (*values)[i] = all[rows->first + i / rows->block * rows->step + i % rows->block];
    return 0;
}

/* name.weight and name.bias of an organism, of n rows for each of them. */
static int open_linear(const struct bi_tracks_source *s, struct ag_affine *l, const char *name,
                       int64_t n, const struct rows *rows, int64_t in, struct bioinfer_error *err)
{
    const struct alphagenome *a = s->model->config;
    char full[AG_NAME];
    float *bias;
    int st;
    if ((st = rows_of_matrix(s, &l->w, ag_join(full, name, "weight"), rows, in, err)) ||
        (st = rows_of_vector(s, ag_join(full, name, "bias"), a->n_organisms * n, rows, &bias, err)))
        return st;
    return bi_tracks_values(s, &l->b, full, 1, rows->n, 1, bias, err);
}

/* An output as the weights have it: names, and how many tracks are real where there are as many
 * columns as in the published weights. */
struct output {
    const char *name, *weight;
    enum ag_head_kind kind;
    int resolutions[2];
    float exponent;
    int64_t columns;
    int real[AG_ORGANISMS];
    int reverse_shift; /* see struct bi_tracks_head; bins of 128 bases are not moved */
};

/* clang-format off */
static const struct output outputs[] = {
    {"atac", "heads.atac", AG_TRACKS, {1, 128}, 1, 256, {167, 18}, 0},
    {"dnase", "heads.dnase", AG_TRACKS, {1, 128}, 1, 384, {305, 67}, 1},
    {"procap", "heads.procap", AG_TRACKS, {1, 128}, 1, 128, {12, 0}, 0},
    {"cage", "heads.cage", AG_TRACKS, {1, 128}, 1, 640, {546, 188}, 0},
    {"rna_seq", "heads.rna_seq", AG_TRACKS, {1, 128}, 1 / 0.75f, 768, {667, 173}, 0},
    {"chip_tf", "heads.chip_tf", AG_TRACKS, {128, 0}, 1, 1664, {1617, 127}, 0},
    {"chip_histone", "heads.chip_histone", AG_TRACKS, {128, 0}, 1, 1152, {1116, 183}, 0},
    {"contact_maps", "contact_maps_head.linear", AG_CONTACTS, {2048, 0}, 1, 28, {28, 8}, 0},
    {"splice_sites", "splice_sites_classification_head.conv", AG_SITE_CLASSES, {1, 0}, 1, 5,
     {5, 5}, 0},
    {"splice_site_usage", "splice_sites_usage_head.conv", AG_USAGE, {1, 0}, 1, 734, {734, 180}, 0},
    {"splice_junctions", "splice_sites_junction_head", AG_JUNCTIONS, {1, 0}, 1, 367, {367, 90}, 0}};
/* clang-format on */

/* The real tracks of n columns. */
static struct rows real_rows(const struct output *o, int organism, int64_t n, int64_t n_real)
{
    const bool halves = o->kind == AG_USAGE && n == o->columns && n_real < n;
    if (halves) /* a run for each strand */
        return (struct rows){n_real, organism * n, n_real / 2, n / 2};
    return (struct rows){n_real, organism * n, n_real ? n_real : 1, n};
}

/* Tracks whose values are scaled: the real ones have a mean. */
static int open_tracks(const struct bi_tracks_source *s, struct ag_head *h, const struct output *o,
                       int64_t in, int *n_tracks, struct bioinfer_error *err)
{
    const struct alphagenome *a = s->model->config;
    const struct bi_tensor *t;
    char name[AG_NAME], full[AG_NAME];
    float *mean, *gain;
    int64_t n, n_real = 0;
    struct rows rows;
    int st;
    if ((st = bi_tracks_need(s, &t, err, "%s.track_means", o->weight)))
        return st;
    n = t->rank == 2 && t->shape[1] <= 1 << 16 ? (int64_t)t->shape[1] : 0;
    snprintf(full, sizeof full, "%s.track_means", o->weight);
    rows = real_rows(o, h->organism, n, n);
    if ((st = rows_of_vector(s, full, a->n_organisms * n, &rows, &mean, err)))
        return st;
    if (n == o->columns)
        n_real = o->real[h->organism];
    else
        while (n_real < n && mean[n_real] > 0)
            n_real++;
    for (int64_t i = 0; i < n_real; i++)
        if (!(mean[i] > 0) || !isfinite(mean[i]))
            return bi_fail(err, BIOINFER_MISMATCH, "%s: %s of %s: track %lld has the mean %g",
                           s->model->cp->path, full, ag_organisms[h->organism], (long long)i,
                           (double)mean[i]);
    *n_tracks = (int)n_real;
    if (!n_real && n != o->columns)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s of %s: no track has a mean",
                       s->model->cp->path, full, ag_organisms[h->organism]);
    if (!n_real)
        return 0;
    rows = real_rows(o, h->organism, n, n_real);
    snprintf(name, sizeof name, "%s.convs.%d", o->weight, h->resolution);
    if ((st = open_linear(s, &h->linear, name, n, &rows, in, err)))
        return st;
    snprintf(full, sizeof full, "%s.residual_scales.%d", o->weight, h->resolution);
    if ((st = rows_of_vector(s, full, a->n_organisms * n, &rows, &gain, err)))
        return st;
    for (int64_t i = 0; i < n_real; i++) {
        const double x = (double)gain[i];
        gain[i] = (float)(fmax(x, 0) + log1p(exp(-fabs(x))));
        mean[i] *= (float)h->resolution;
    }
    h->exponent = o->exponent;
    st = bi_tracks_values(s, &h->gain, full, 1, n_real, 1, gain, err);
    return st ? st : bi_tracks_values(s, &h->mean, "means", 1, n_real, 1, mean, err);
}

/* The file has [organisms, columns of the grid, tracks]. */
static int open_contacts(const struct bi_tracks_source *s, struct ag_head *h,
                         const struct output *o, int *n_tracks, struct bioinfer_error *err)
{
    const struct alphagenome *a = s->model->config;
    const struct bi_tensor *t;
    const int64_t in = a->grid_width;
    char full[AG_NAME];
    float *all, *turned, *bias;
    int64_t n, n_real;
    struct rows rows;
    int st;
    if ((st = bi_tracks_need(s, &t, err, "%s", ag_join(full, o->weight, "weight"))))
        return st;
    n = t->rank == 3 && t->shape[2] <= 1 << 16 ? (int64_t)t->shape[2] : 0;
    n_real = n == o->columns ? o->real[h->organism] : n;
    rows = real_rows(o, h->organism, n, n_real);
    if ((st = bi_tracks_read(s, &all, a->n_organisms * in * n, full, err)))
        return st;
    if ((st = ag_need_memory(
             s, turned = bi_arena_calloc(&s->model->arena, (size_t)(n_real * in), sizeof *turned),
             err)))
        return st;
    for (int64_t i = 0; i < n_real; i++)
        for (int64_t c = 0; c < in; c++)
            turned[i * in + c] = all[(h->organism * in + c) * n + i];
    *n_tracks = (int)n_real;
    if ((st = bi_tracks_values(s, &h->linear.w, full, 2, n_real, in, turned, err)) ||
        (st = rows_of_vector(s, ag_join(full, o->weight, "bias"), a->n_organisms * n, &rows, &bias,
                             err)))
        return st;
    return bi_tracks_values(s, &h->linear.b, full, 1, n_real, 1, bias, err);
}

/* Splice sites and their usage, straight from the finest rows. */
static int open_sites(const struct bi_tracks_source *s, struct ag_head *h, const struct output *o,
                      int64_t in, int *n_tracks, struct bioinfer_error *err)
{
    const struct bi_tensor *t;
    struct rows rows;
    int64_t n;
    int st = bi_tracks_need(s, &t, err, "%s.weight", o->weight);
    if (st)
        return st;
    n = t->rank == 3 && t->shape[1] <= 1 << 16 ? (int64_t)t->shape[1] : 0;
    if (o->kind == AG_SITE_CLASSES && n < 5)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: %lld classes, expected 5",
                       s->model->cp->path, t->name, (long long)n);
    rows = real_rows(o, h->organism, n, n == o->columns ? o->real[h->organism] : n);
    *n_tracks = (int)rows.n;
    return open_linear(s, &h->linear, o->weight, n, &rows, in, err);
}

static int open_junctions(const struct bi_tracks_source *s, struct ag_head *h,
                          const struct output *o, int64_t in, int *n_tracks,
                          struct bioinfer_error *err)
{
    static const char *const classes[] = {"pos_donor", "pos_acceptor", "neg_donor", "neg_acceptor"};
    struct alphagenome *a = s->model->config;
    const struct bi_tensor *t;
    char name[AG_NAME];
    int64_t n, hidden, n_real;
    float *frequencies;
    struct rows rows;
    int st = bi_tracks_need(s, &t, err, "%s.rope_params.%s", o->weight, classes[0]);
    if (st)
        return st;
    if (t->rank != 4 || t->shape[2] < 1 || t->shape[2] > 1 << 16 || t->shape[3] < 2 ||
        t->shape[3] > 1 << 16 || t->shape[3] % 2)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [organisms, 2, tissues, channels]",
                       s->model->cp->path, t->name);
    n = (int64_t)t->shape[2];
    hidden = (int64_t)t->shape[3];
    n_real = n == o->columns ? o->real[h->organism] : n;
    *n_tracks = (int)(2 * n_real);
    rows = (struct rows){hidden, h->organism * hidden, hidden, hidden};
    snprintf(name, sizeof name, "%s.conv", o->weight);
    if ((st = open_linear(s, &a->site_rows[h->organism], name, hidden, &rows, in, err)))
        return st;
    rows = (struct rows){2 * n_real, h->organism * 2 * n, n_real, n};
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s.rope_params.%s", o->weight, classes[i]);
        if ((st = rows_of_matrix(s, &h->sites[i], name, &rows, hidden, err)))
            return st;
    }
    frequencies = bi_arena_calloc(&s->model->arena, (size_t)hidden / 2, sizeof *frequencies);
    if ((st = ag_need_memory(s, frequencies, err)))
        return st;
    for (int64_t c = 0; c < hidden / 2; c++)
        frequencies[c] = ag_frequency(c, hidden / 2, FARTHEST_BASES);
    return bi_tracks_values(s, &a->site_frequencies, "frequencies", 1, hidden / 2, 1, frequencies,
                            err);
}

/* A head, if the organism has tracks of it. */
static int open_head(const struct bi_tracks_source *s, struct alphagenome *a,
                     const struct output *o, int organism, int resolution, const int64_t width[2],
                     struct bioinfer_error *err)
{
    struct bi_model *m = s->model;
    struct bi_tracks *t = m->tracks;
    const int64_t side = t->n_tokens / AG_POOLED;
    struct ag_head *h = &a->head[t->n_heads];
    struct bi_tracks_head *out = &t->heads[t->n_heads];
    const int64_t in = width[resolution != 1];
    int n_tracks = 0, st;
    *h = (struct ag_head){.kind = o->kind, .organism = organism, .resolution = resolution};
    st = o->kind == AG_TRACKS      ? open_tracks(s, h, o, in, &n_tracks, err)
         : o->kind == AG_CONTACTS  ? open_contacts(s, h, o, &n_tracks, err)
         : o->kind == AG_JUNCTIONS ? open_junctions(s, h, o, in, &n_tracks, err)
                                   : open_sites(s, h, o, in, &n_tracks, err);
    if (st || !n_tracks)
        return st;
    if (o->kind == AG_SITE_CLASSES) { /* in front of junctions */
        a->site_classes[organism] = h->linear;
        a->n_classes[organism] = n_tracks;
    }
    *out = (struct bi_tracks_head){
        .name = bi_arena_printf(&m->arena, "%s.%s.%d", ag_organisms[organism], o->name, resolution),
        .output = o->name,
        .organism = ag_organisms[organism],
        .trunk = organism,
        .n_tracks = n_tracks,
        .kind = o->kind == AG_CONTACTS    ? BIOINFER_GRID
                : o->kind == AG_JUNCTIONS ? BIOINFER_JUNCTIONS
                                          : BIOINFER_BINS,
        .whole = o->kind == AG_SITE_CLASSES,
        .reverse_shift = resolution == 1 ? o->reverse_shift : 0,
        .bin_size = resolution,
        .n_bins = o->kind == AG_CONTACTS    ? side * side
                  : o->kind == AG_JUNCTIONS ? a->n_sites * a->n_sites
                                            : t->window / resolution,
        .side = o->kind == AG_CONTACTS    ? side
                : o->kind == AG_JUNCTIONS ? a->n_sites
                                          : 0,
        .row_width = o->kind == AG_JUNCTIONS ? in : 0,
        .n_classes = o->kind == AG_JUNCTIONS ? a->n_classes[organism] : 0,
        .n_features = resolution == 1 ? t->n_features : 1};
    if (!out->name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: heads", m->cp->path);
    t->n_heads++;
    return 0;
}

/* A row for each class of sites, 1 at its own column. */
static int open_classes(const struct bi_tracks_source *s, struct alphagenome *a,
                        struct bioinfer_error *err)
{
    const struct bi_tracks *t = s->model->tracks;
    int64_t n = 0;
    float *rows;
    for (int i = 0; i < t->n_heads; i++)
        n = a->head[i].kind == AG_SITE_CLASSES ? t->heads[i].n_tracks : n;
    if (!n)
        return 0;
    rows = bi_arena_calloc(&s->model->arena, (size_t)n, (size_t)n * sizeof *rows);
    if (!rows)
        return ag_need_memory(s, rows, err);
    for (int64_t i = 0; i < n; i++)
        rows[i * n + i] = 1;
    return bi_tracks_values(s, &a->each_class, "each_class", 2, n, n, rows, err);
}

int ag_open_heads(const struct bi_tracks_source *s, struct alphagenome *a, const int64_t width[2],
                  struct bioinfer_error *err)
{
    int st = bi_config_int(s->model, "max_splice_sites", 1, AG_SITES, &a->n_sites, err);
    for (int organism = 0; st >= 0 && organism < a->n_organisms; organism++)
        for (size_t i = 0; i < BI_COUNT(outputs); i++)
            for (int k = 0; k < 2 && outputs[i].resolutions[k]; k++)
                if ((st = open_head(s, a, &outputs[i], organism, outputs[i].resolutions[k], width,
                                    err)))
                    return st;
    return st < 0 ? st : open_classes(s, a, err);
}

/* model.c - TensorNet: the energy of atoms, from 3 x 3 matrices in F channels of each.
 *
 * Written from the formulas of a specification; no source of the authors was used. X is the matrix
 * of an atom in a channel, X = I + A + S its parts (kernels/tensor_math.h); products with a weight
 * mix channels only, those of a part with one weight.
 *
 *   Z_ij   = emb2 [emb[z_i]; emb[z_j]] + b (MatGL's version 1: j before i)
 *   X_i    = sum over neighbours j of f0 Z + f1 Z [u]x + f2 Z (u u^T - 1/3),
 *            f_k = C(r) (P_k e(r) + b)
 *   s      = act(L1 act(L0 norm(|X|^2))); X = s0 W0 I + s1 W1 A + s2 W2 S
 *   layer:   X <- X / (|X|^2 + 1); Y = W0 I + W1 A + W2 S; g = C(r) act(V2 act(V1 act(V0 e(r))))
 *            M_i = sum over j of g0 I(Y_j) + g1 A(Y_j) + g2 S(Y_j) (version 1 of MatGL's DGL
 *            code: Y_i in place of Y_j)
 *            C = c (Y M + M Y) (SO(3): 2 Y M); D = C / (|C|^2 + 1); D = W3 I + W4 A + W5 S
 *            X <- X + D + c D D, c = 1 + 0.1 charge
 *   head:    x = [|I|^2; |A|^2; |S|^2]; h = linear(norm(x)); MatGL: e = u(h) sigmoid(v(h)),
 *            torchmd: e = o2 act(o0 act(h)); E = std sum e + mean + references
 *
 * f and g are functions of the distance alone: they are tables of cubic pieces, made when the
 * model is opened (radial.c). In torchmd-net's models each atom is its own neighbour, too, at
 * distance 0. */
#include "tensornet.h"

#include <math.h>
#include <string.h>

enum { GATES = 4 };

static const float norm_eps = 1e-5f;

/* Indices of weights; -1 = there is none. */
struct layer {
    int table, self, tensor[6];
};

struct tensornet {
    struct bi_tensornet_settings s;
    struct bi_energy_facts facts;
    int own, other, table, self;
    int init_norm, init_norm_b, scalar[2], scalar_b[2], tensor[3];
    struct layer layers[BI_TENSORNET_MAX_LAYERS];
    int out_norm, out_norm_b, linear, linear_b;
    int head[GATES], head_b[GATES], gate[GATES], gate_b[GATES];
};

/* While a model is opened. */
struct opening {
    struct bi_model *model;
    struct tensornet *t;
    struct bi_arena arena; /* numbers that are not kept */
    const char *prefix;    /* the names of the representation's tensors begin with it */
    const char *head;      /* the other names do */
    int f, k;              /* channels, radial functions */
    struct bi_tensornet_radial radial;
};

static bool is_torchmd(const struct tensornet *t)
{
    return t->s.kind == BI_TENSORNET_TORCHMD;
}

/* ---- numbers of the file ---- */

/* Reads a tensor as double [rows, columns] (columns 0: [rows]) into the opening's arena. */
static int read(struct opening *o, const char *name, int rows, int columns, double **out,
                struct bioinfer_error *err)
{
    const struct bi_tensor *t = bi_model_find(o->model, name);
    const size_t n = (size_t)rows * (size_t)(columns ? columns : 1);
    float *values;
    int st;
    if (!t)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: tensor %s is missing", o->model->cp->path,
                       name);
    if (t->n_elements != n || t->rank != (columns ? 2 : 1) || t->shape[0] != (uint64_t)rows)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: %llu numbers, expected [%d%s%.0d]",
                       o->model->cp->path, name, (unsigned long long)t->n_elements, rows,
                       columns ? ", " : "", columns);
    if (!(values = bi_arena_calloc(&o->arena, n, sizeof *values)) ||
        !(*out = bi_arena_calloc(&o->arena, n, sizeof **out)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", o->model->cp->path, name);
    if (!bi_dtype_is_loadable(t->dtype))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s: dtype %s cannot be computed with",
                       o->model->cp->path, name, bi_dtype_name(t->dtype));
    if ((st = bi_tensor_read_f32(o->model->cp, t, 0, n, values, err)))
        return st;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            return bi_fail(err, BIOINFER_NONFINITE, "%s: %s holds a value that is not finite",
                           o->model->cp->path, name);
        (*out)[i] = (double)values[i];
    }
    return 0;
}

static int named(struct opening *o, const char *prefix, const char *pattern, int layer,
                 const char **name, struct bioinfer_error *err)
{
    *name = bi_model_name(o->model, prefix, pattern, layer);
    return *name ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: names", o->model->cp->path);
}

static int read_named(struct opening *o, const char *pattern, int layer, int rows, int columns,
                      double **out, struct bioinfer_error *err)
{
    const char *name;
    int st = named(o, o->prefix, pattern, layer, &name, err);
    return st ? st : read(o, name, rows, columns, out, err);
}

/* Adds a weight of these values, which stay; sets *index. */
static int add_values(struct opening *o, const char *name, const float *values, int64_t rows,
                      int64_t columns, int *index, struct bioinfer_error *err)
{
    const struct bi_weight w = {.name = name,
                                .values = values,
                                .rank = columns ? 2 : 1,
                                .shape = {rows, columns ? columns : 1}};
    *index = bi_model_weight(o->model, &w, err);
    return *index < 0 ? *index : 0;
}

/* The row of the file that is output `row` of 3 F, k F + f: the old layout has f 3 + k. */
static int row_of(const struct opening *o, int row)
{
    return o->t->s.old_layout ? row % o->f * 3 + row / o->f : row;
}

/* ---- functions of the distance ---- */

/* A product with a bias: y = W x + b; w is transposed, so that y is a sum of its rows. */
struct dense {
    int n_in, n_out;
    const double *w, *b;
};

/* The factors of an edge. `proj`: three products of e alone; else the product chain of a layer. */
struct factors {
    const struct bi_tensornet_radial *radial;
    struct dense dense[3];
    int f;
    bool chain;
    double *x, *dx, *y, *dy; /* room for 3 F numbers each */
};

static void apply(const struct dense *d, const double *x, const double *dx, double *y, double *dy)
{
    for (int i = 0; i < d->n_out; i++) {
        y[i] = d->b[i];
        dy[i] = 0;
    }
    for (int k = 0; k < d->n_in; k++)
        for (int i = 0; i < d->n_out; i++) {
            y[i] += d->w[k * d->n_out + i] * x[k];
            dy[i] += d->w[k * d->n_out + i] * dx[k];
        }
}

static void silu(int n, double *y, double *dy)
{
    for (int i = 0; i < n; i++) {
        const double s = 1 / (1 + exp(-y[i]));
        dy[i] *= s * (1 + y[i] * (1 - s));
        y[i] *= s;
    }
}

static void factors_at(const void *user, double r, double *y, double *dy)
{
    const struct factors *c = user;
    const double cutoff = c->radial->cutoff;
    double slope;
    const double by = bi_tensornet_cutoff_at(cutoff, r, &slope);
    bi_tensornet_radial_at(c->radial, r, c->x, c->dx);
    if (c->chain) {
        apply(&c->dense[0], c->x, c->dx, c->y, c->dy);
        silu(c->dense[0].n_out, c->y, c->dy);
        apply(&c->dense[1], c->y, c->dy, c->x, c->dx);
        silu(c->dense[1].n_out, c->x, c->dx);
        apply(&c->dense[2], c->x, c->dx, y, dy);
        silu(c->dense[2].n_out, y, dy);
    } else {
        for (int k = 0; k < 3; k++)
            apply(&c->dense[k], c->x, c->dx, y + k * c->f, dy + k * c->f);
    }
    for (int i = 0; i < 3 * c->f; i++) {
        dy[i] = slope * y[i] + by * dy[i];
        y[i] *= by;
    }
}

/* Reads W and b; `scalars`: outputs are 3 F in the layout of the file. */
static int read_dense(struct opening *o, const char *weight, const char *bias, int layer, int n_in,
                      int n_out, bool scalars, struct dense *d, struct bioinfer_error *err)
{
    double *w, *b, *turned;
    int st;
    if ((st = read_named(o, weight, layer, n_out, n_in, &w, err)) ||
        (st = read_named(o, bias, layer, n_out, 0, &b, err)))
        return st;
    if (!(turned = bi_arena_calloc(&o->arena, (size_t)n_in * (size_t)n_out + (size_t)n_out,
                                   sizeof *turned)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: radial functions", o->model->cp->path);
    *d = (struct dense){n_in, n_out, turned, turned + n_in * n_out};
    for (int i = 0; i < n_out; i++) {
        const int from = scalars ? row_of(o, i) : i;
        for (int k = 0; k < n_in; k++)
            turned[k * n_out + i] = w[from * n_in + k];
        turned[n_in * n_out + i] = b[from];
    }
    return 0;
}

/* The three products of the embedding: of their own, or stacked (MatGL 3). */
static int read_projections(struct opening *o, struct dense d[3], struct bioinfer_error *err)
{
    static const char stacked[] = "tensor_embedding.distance_proj.weight";
    struct dense all;
    const char *name;
    double *part;
    int st;
    if ((st = named(o, o->prefix, stacked, 0, &name, err)))
        return st;
    if (!bi_model_find(o->model, name)) {
        for (int k = 0; !st && k < 3; k++)
            st = read_dense(o, "tensor_embedding.distance_proj%d.weight",
                            "tensor_embedding.distance_proj%d.bias", k + 1, o->k, o->f, false,
                            &d[k], err);
        return st;
    }
    if ((st = read_dense(o, stacked, "tensor_embedding.distance_proj.bias", 0, o->k, 3 * o->f,
                         false, &all, err)))
        return st;
    for (int k = 0; k < 3; k++) {
        if (!(part = bi_arena_calloc(&o->arena, (size_t)(o->k + 1) * (size_t)o->f, sizeof *part)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: radial functions", o->model->cp->path);
        for (int i = 0; i <= o->k; i++)
            memcpy(part + i * o->f, (i < o->k ? all.w + i * 3 * o->f : all.b) + k * o->f,
                   (size_t)o->f * sizeof *part);
        d[k] = (struct dense){o->k, o->f, part, part + o->k * o->f};
    }
    return 0;
}

/* Makes the weights of a table and, where atoms are neighbours of themselves, of the factors at
 * distance 0: n_self of them. */
static int add_table(struct opening *o, const struct factors *c, const char *name, int n_self,
                     int *table, int *self, struct bioinfer_error *err)
{
    struct bi_model *model = o->model;
    const struct bi_tensornet_curve curve = {factors_at, c, 3 * o->f, o->t->s.cutoff};
    const char *own = bi_arena_printf(&model->arena, "%s.self", name);
    float *values = NULL;
    int knots = 0, st = bi_tensornet_table(&model->arena, &curve, &values, &knots, err);
    *self = -1;
    if (!st && !own)
        st = bi_fail(err, BIOINFER_NOMEM, "%s: names", model->cp->path);
    if (!st)
        st = add_values(o, name, values, knots, 12 * (int64_t)o->f, table, err);
    /* row 0 of the table begins with them */
    if (!st && is_torchmd(o->t))
        st = add_values(o, own, values, n_self, 0, self, err);
    return st;
}

static int add_tables(struct opening *o, struct bioinfer_error *err)
{
    const size_t room = 3 * (size_t)o->f > (size_t)o->k ? 3 * (size_t)o->f : (size_t)o->k;
    double *rows = bi_arena_calloc(&o->arena, 4 * room, sizeof *rows);
    struct factors c = {.radial = &o->radial, .f = o->f};
    const char *name;
    int st;
    if (!rows)
        return bi_fail(err, BIOINFER_NOMEM, "%s: radial functions", o->model->cp->path);
    c.x = rows;
    c.dx = rows + room;
    c.y = rows + 2 * room;
    c.dy = rows + 3 * room;
    if ((st = read_projections(o, c.dense, err)) ||
        (st = add_table(o, &c, "embedding.table", o->f, &o->t->table, &o->t->self, err)))
        return st;
    c.chain = true;
    for (int l = 0; !st && l < o->model->n_layers; l++) {
        struct layer *layer = &o->t->layers[l];
        if ((st = read_dense(o, "layers.%d.linears_scalar.0.weight",
                             "layers.%d.linears_scalar.0.bias", l, o->k, o->f, false, &c.dense[0],
                             err)) ||
            (st = read_dense(o, "layers.%d.linears_scalar.1.weight",
                             "layers.%d.linears_scalar.1.bias", l, o->f, 2 * o->f, false,
                             &c.dense[1], err)) ||
            (st = read_dense(o, "layers.%d.linears_scalar.2.weight",
                             "layers.%d.linears_scalar.2.bias", l, 2 * o->f, 3 * o->f, true,
                             &c.dense[2], err)) ||
            (st = named(o, "", "layers.%d.table", l, &name, err)))
            return st;
        st = add_table(o, &c, name, 3 * o->f, &layer->table, &layer->self, err);
    }
    return st;
}

/* ---- elements ---- */

/* The numbers that the elements of an atom and its neighbour add to Z: own, other [elements, F]. */
static int add_elements(struct opening *o, struct bioinfer_error *err)
{
    const int n = (int)o->t->s.n_embedded, f = o->f;
    const enum bi_tensornet_kind kind = o->t->s.kind;
    const bool other_leads = kind == BI_TENSORNET_MATGL_1_DGL || kind == BI_TENSORNET_MATGL_1_PYG;
    const int own_first = other_leads ? f : 0, other_first = f - own_first;
    double *emb, *w, *b;
    float *own, *other;
    int st;
    if ((st = read_named(o, "tensor_embedding.emb.weight", 0, n, f, &emb, err)) ||
        (st = read_named(o, "tensor_embedding.emb2.weight", 0, f, 2 * f, &w, err)) ||
        (st = read_named(o, "tensor_embedding.emb2.bias", 0, f, 0, &b, err)))
        return st;
    own = bi_arena_calloc(&o->model->arena, (size_t)n * (size_t)f, sizeof *own);
    other = bi_arena_calloc(&o->model->arena, (size_t)n * (size_t)f, sizeof *other);
    if (!own || !other)
        return bi_fail(err, BIOINFER_NOMEM, "%s: elements", o->model->cp->path);
    for (int z = 0; z < n; z++)
        for (int i = 0; i < f; i++) {
            double a = b[i], c = 0;
            for (int k = 0; k < f; k++) {
                a += w[i * 2 * f + own_first + k] * emb[z * f + k];
                c += w[i * 2 * f + other_first + k] * emb[z * f + k];
            }
            own[z * f + i] = (float)a;
            other[z * f + i] = (float)c;
        }
    if ((st = add_values(o, "elements.own", own, n, f, &o->t->own, err)))
        return st;
    return add_values(o, "elements.other", other, n, f, &o->t->other, err);
}

/* ---- the other weights ---- */

struct line {
    size_t at;
    const char *file;
    int rows, columns; /* times F; rows 0: one; columns 0: rank 1 */
};

#define AT(member) offsetof(struct tensornet, member)
#define AT_LAYER(member) offsetof(struct layer, member)

static const struct line embedding[] = {
    {AT(init_norm), "tensor_embedding.init_norm.weight", 1, 0},
    {AT(init_norm_b), "tensor_embedding.init_norm.bias", 1, 0},
    {AT(scalar[0]), "tensor_embedding.linears_scalar.0.weight", 2, 1},
    {AT(scalar_b[0]), "tensor_embedding.linears_scalar.0.bias", 2, 0},
    {AT(tensor[0]), "tensor_embedding.linears_tensor.0.weight", 1, 1},
    {AT(tensor[1]), "tensor_embedding.linears_tensor.1.weight", 1, 1},
    {AT(tensor[2]), "tensor_embedding.linears_tensor.2.weight", 1, 1},
    {AT(out_norm), "out_norm.weight", 3, 0},
    {AT(out_norm_b), "out_norm.bias", 3, 0},
    {AT(linear), "linear.weight", 1, 3},
    {AT(linear_b), "linear.bias", 1, 0}};

static const struct line of_layer[] = {
    {AT_LAYER(tensor[0]), "layers.%d.linears_tensor.0.weight", 1, 1},
    {AT_LAYER(tensor[1]), "layers.%d.linears_tensor.1.weight", 1, 1},
    {AT_LAYER(tensor[2]), "layers.%d.linears_tensor.2.weight", 1, 1},
    {AT_LAYER(tensor[3]), "layers.%d.linears_tensor.3.weight", 1, 1},
    {AT_LAYER(tensor[4]), "layers.%d.linears_tensor.4.weight", 1, 1},
    {AT_LAYER(tensor[5]), "layers.%d.linears_tensor.5.weight", 1, 1}};

static const struct line matgl_head[] = {{AT(head[0]), "final_layer.gated.layers.0.weight", 1, 1},
                                         {AT(head_b[0]), "final_layer.gated.layers.0.bias", 1, 0},
                                         {AT(head[1]), "final_layer.gated.layers.2.weight", 1, 1},
                                         {AT(head_b[1]), "final_layer.gated.layers.2.bias", 1, 0},
                                         {AT(head[2]), "final_layer.gated.layers.4.weight", 1, 1},
                                         {AT(head_b[2]), "final_layer.gated.layers.4.bias", 1, 0},
                                         {AT(head[3]), "final_layer.gated.layers.6.weight", 0, 1},
                                         {AT(head_b[3]), "final_layer.gated.layers.6.bias", 0, 0},
                                         {AT(gate[0]), "final_layer.gated.gates.0.weight", 1, 1},
                                         {AT(gate_b[0]), "final_layer.gated.gates.0.bias", 1, 0},
                                         {AT(gate[1]), "final_layer.gated.gates.2.weight", 1, 1},
                                         {AT(gate_b[1]), "final_layer.gated.gates.2.bias", 1, 0},
                                         {AT(gate[2]), "final_layer.gated.gates.4.weight", 1, 1},
                                         {AT(gate_b[2]), "final_layer.gated.gates.4.bias", 1, 0},
                                         {AT(gate[3]), "final_layer.gated.gates.6.weight", 0, 1},
                                         {AT(gate_b[3]), "final_layer.gated.gates.6.bias", 0, 0}};

static int bind_lines(struct opening *o, const char *prefix, const struct line *lines, size_t n,
                      int layer, void *base, struct bioinfer_error *err)
{
    int st = 0;
    for (size_t i = 0; !st && i < n; i++) {
        const struct bi_binding b = {.at = lines[i].at,
                                     .canonical = lines[i].file,
                                     .prefix = prefix,
                                     .file = lines[i].file,
                                     .rows = lines[i].rows ? lines[i].rows * o->f : 1,
                                     .columns = lines[i].columns * o->f};
        st = bi_model_bind(o->model, &b, layer, base, err);
    }
    return st;
}

/* torchmd-net's head: two products, whose names have changed with its versions. */
static int bind_torchmd_head(struct opening *o, struct bioinfer_error *err)
{
    static const char *const spellings[2] = {"output_model.output_network.layers.",
                                             "output_model.output_network."};
    const int half = o->f / 2;
    const char *name = bi_model_name(o->model, o->head,
                                     "output_model.output_network.layers.0.weight", 0);
    if (!name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", o->model->cp->path);
    const char *spelling = spellings[!bi_model_find(o->model, name)];
    const char *prefix = bi_model_name(o->model, o->head, spelling, 0);
    const struct bi_binding b[4] = {
        {AT(head[0]), "head.0.weight", prefix, "0.weight", half, o->f, 0, 0, 0, false, false, 0},
        {AT(head_b[0]), "head.0.bias", prefix, "0.bias", half, 0, 0, 0, 0, false, false, 0},
        {AT(head[1]), "head.2.weight", prefix, "2.weight", 1, half, 0, 0, 0, false, false, 0},
        {AT(head_b[1]), "head.2.bias", prefix, "2.bias", 1, 0, 0, 0, 0, false, false, 0}};
    int st = prefix ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: names", o->model->cp->path);
    for (int i = 0; !st && i < 4; i++)
        st = bi_model_bind(o->model, &b[i], 0, o->t, err);
    return st;
}

/* The last product of the factors s, its rows in our order. */
static int add_scalars(struct opening *o, struct bioinfer_error *err)
{
    const int n = 3 * o->f, k = 2 * o->f;
    double *w, *b;
    float *values;
    int st;
    if ((st = read_named(o, "tensor_embedding.linears_scalar.1.weight", 0, n, k, &w, err)) ||
        (st = read_named(o, "tensor_embedding.linears_scalar.1.bias", 0, n, 0, &b, err)))
        return st;
    if (!(values = bi_arena_calloc(&o->model->arena, (size_t)n * (size_t)(k + 1), sizeof *values)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: weights", o->model->cp->path);
    for (int r = 0; r < n; r++) {
        for (int c = 0; c < k; c++)
            values[r * k + c] = (float)w[row_of(o, r) * k + c];
        values[n * k + r] = (float)b[row_of(o, r)];
    }
    if ((st = add_values(o, "scalars.weight", values, n, k, &o->t->scalar[1], err)))
        return st;
    return add_values(o, "scalars.bias", values + n * k, n, 0, &o->t->scalar_b[1], err);
}

/* ---- opening ---- */

/* Refuses what the settings allow and this file does not compute. */
static int check(const struct opening *o, struct bioinfer_error *err)
{
    const struct bi_tensornet_settings *s = &o->t->s;
    const char *path = o->model->cp->path;
    if (s->kind == BI_TENSORNET_TORCHMD_2)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: TensorNet2, whose charges are equilibrated, is not computed", path);
    if (s->act != BI_TENSORNET_SILU)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: activations other than SiLU are not computed", path);
    if (s->rbf == BI_RBF_BESSEL || s->rbf == BI_RBF_GAUSS_MATGL)
        return bi_fail(
            err, BIOINFER_UNSUPPORTED,
            "%s: of MatGL's radial functions the smooth spherical Bessel functions alone "
            "are computed",
            path);
    if (s->cutoff_lower > 0)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: a lower cutoff of %g is not computed", path,
                       s->cutoff_lower);
    if (s->channels % 2 || s->channels > 1024 || s->n_layers > BI_TENSORNET_MAX_LAYERS)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %u channels in %u layers", path, s->channels,
                       s->n_layers);
    return 0;
}

static int read_radial(struct opening *o, struct bioinfer_error *err)
{
    const struct bi_tensornet_settings *s = &o->t->s;
    const bool gauss = s->rbf == BI_RBF_GAUSS;
    double *means = NULL, *betas = NULL;
    int st = 0;
    if (s->rbf == BI_RBF_EXPNORM || gauss) {
        const char *first = gauss ? "distance_expansion.offset" : "distance_expansion.means";
        const char *second = gauss ? "distance_expansion.coeff" : "distance_expansion.betas";
        if ((st = read_named(o, first, 0, o->k, 0, &means, err)))
            return st;
        if (!gauss) {
            st = read_named(o, second, 0, o->k, 0, &betas, err);
        } else if ((betas = bi_arena_calloc(&o->arena, 1, sizeof *betas))) {
            const double step = means[1] - means[0];
            betas[0] = -0.5 / (step * step);
        } else {
            st = bi_fail(err, BIOINFER_NOMEM, "%s: radial functions", o->model->cp->path);
        }
    }
    o->radial = (struct bi_tensornet_radial){s->rbf, o->k, s->cutoff, means, betas};
    return st;
}

static void set_facts(struct tensornet *t)
{
    struct bi_energy_facts *f = &t->facts;
    f->cutoff = t->s.cutoff;
    f->mean = t->s.mean;
    f->std = t->s.std;
    f->takes_charge = t->s.takes_charge;
    f->by_charge = 0.1;
    memcpy(f->code, t->s.row, sizeof f->code);
    for (int z = 0; t->s.has_references && z < BI_ENERGY_ELEMENTS; z++)
        f->reference[z] = t->s.reference[z];
    if (t->s.kind == BI_TENSORNET_MATGL_1_DGL)
        f->note = "rule 1-dgl: version 1 of MatGL's TensorNet, DGL code (MatGL 1.0 to 1.3, DGL "
                  "backend of 2.0 and 2.1): a message is the atom's own matrix for each neighbour; "
                  "MatGL 2.2 and later compute such weights by another rule, \"no longer "
                  "numerically valid\"";
    else if (t->s.kind == BI_TENSORNET_MATGL_1_PYG)
        f->note = "rule 1-pyg: version 1 of MatGL's TensorNet, PyG code (MatGL 1.3 to 2.1): "
                  "messages are the matrices of neighbours; MatGL 2.2 and later compute such "
                  "weights by another rule, \"no longer numerically valid\"";
    else if (t->s.kind == BI_TENSORNET_MATGL_2)
        f->note = "rule 2: version 2 of MatGL's TensorNet (MatGL 2.2 and later)";
    else
        f->note = t->s.order;
}

static int open_all(struct opening *o, struct bioinfer_error *err)
{
    struct bi_model *model = o->model;
    struct tensornet *t = o->t;
    int st = bi_tensornet_settings_read(&t->s, model->cp, model->factor_order, err);
    if (st || (st = check(o, err)))
        return st;
    o->f = (int)t->s.channels;
    o->k = (int)t->s.n_rbf;
    model->n_layers = (int)t->s.n_layers;
    model->width = o->f;
    model->n_heads = 1;
    model->head_dim = o->f;
    o->head = t->s.prefix;
    o->prefix = bi_arena_printf(&model->arena, "%s%s", t->s.prefix,
                                is_torchmd(t) ? "representation_model." : "");
    model->name = bi_arena_printf(&model->arena, "tensornet");
    if (!o->prefix || !model->name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", model->cp->path);
    set_facts(t);
    if ((st = read_radial(o, err)) || (st = add_elements(o, err)) || (st = add_tables(o, err)) ||
        (st = bind_lines(o, o->prefix, embedding, BI_COUNT(embedding), 0, t, err)) ||
        (st = add_scalars(o, err)))
        return st;
    for (int l = 0; !st && l < model->n_layers; l++)
        st = bind_lines(o, o->prefix, of_layer, BI_COUNT(of_layer), l, &t->layers[l], err);
    if (st)
        return st;
    return is_torchmd(t) ? bind_torchmd_head(o, err)
                         : bind_lines(o, o->prefix, matgl_head, BI_COUNT(matgl_head), 0, t, err);
}

static int tensornet_open(struct bi_model *model, struct bioinfer_error *err)
{
    struct opening o = {.model = model, .arena = {.env = model->env}};
    int st;
    if (!(o.t = bi_arena_calloc(&model->arena, 1, sizeof *o.t)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    st = open_all(&o, err);
    model->config = o.t;
    bi_arena_reset(&o.arena);
    return st;
}

/* ---- graph ---- */

struct builder {
    const struct bi_model *model;
    const struct tensornet *t;
    struct bi_graph *g;
    struct bi_edge_values edges;
    bi_value_id code, by_charge; /* 1 + 0.1 charge; BI_NONE = 1 */
};

static bi_value_id weight(const struct builder *b, int index)
{
    return index < 0 ? BI_NONE : bi_model_value(b->model, b->g, index);
}

static bi_value_id product(const struct builder *b, bi_value_id x, int w, int bias)
{
    return bi_add(b->g, bi_matmul(b->g, x, weight(b, w)), weight(b, bias));
}

static bi_value_id normal(const struct builder *b, bi_value_id x, int w, int bias)
{
    return bi_layernorm(b->g, x, weight(b, w), weight(b, bias), norm_eps);
}

/* The three outputs of the node that makes `first`. */
static void parts(const struct builder *b, bi_value_id first, bi_value_id x[3])
{
    for (int k = 0; k < 3; k++)
        x[k] = first == BI_NONE ? BI_NONE : b->g->nodes[b->g->values[first].node].out[k];
}

/* Each part times a weight of its own. */
static void mix(const struct builder *b, const int w[3], bi_value_id x[3])
{
    for (int k = 0; k < 3; k++)
        x[k] = bi_matmul(b->g, x[k], weight(b, w[k]));
}

static void embed(const struct builder *b, bi_value_id x[3])
{
    const struct tensornet *t = b->t;
    struct bi_graph *g = b->g;
    bi_value_id s;
    parts(b,
          bi_tensor_embed(g, &b->edges, b->code, weight(b, t->own), weight(b, t->other),
                          weight(b, t->table), weight(b, t->self), (float)t->s.cutoff),
          x);
    s = normal(b, bi_tensor_norm(g, x, 1), t->init_norm, t->init_norm_b);
    for (int i = 0; i < 2; i++)
        s = bi_silu(g, product(b, s, t->scalar[i], t->scalar_b[i]));
    mix(b, t->tensor, x);
    parts(b, bi_tensor_scale(g, x, s), x);
}

static void interact(const struct builder *b, const struct layer *l, bi_value_id x[3])
{
    struct bi_graph *g = b->g;
    bi_value_id y[3], m[3];
    parts(b, bi_tensor_normalise(g, x), x);
    memcpy(y, x, sizeof y);
    mix(b, l->tensor, y);
    parts(b,
          bi_tensor_message(g, &b->edges, y, weight(b, l->table), weight(b, l->self),
                            (float)b->t->s.cutoff, b->t->s.kind == BI_TENSORNET_MATGL_1_DGL),
          m);
    parts(b, bi_tensor_product(g, y, m, b->by_charge, b->t->s.so3), m);
    mix(b, l->tensor + 3, m);
    parts(b, bi_tensor_update(g, x, m, b->by_charge), x);
}

/* Three layers with an activation behind them, and a last one. */
static bi_value_id branch(const struct builder *b, bi_value_id x, const int w[GATES],
                          const int bias[GATES])
{
    for (int i = 0; i < GATES - 1; i++)
        x = bi_silu(b->g, product(b, x, w[i], bias[i]));
    return product(b, x, w[GATES - 1], bias[GATES - 1]);
}

/* [N, 1] */
static bi_value_id energies(const struct builder *b, const bi_value_id x[3])
{
    const struct tensornet *t = b->t;
    struct bi_graph *g = b->g;
    bi_value_id h = product(b, normal(b, bi_tensor_norm(g, x, 3), t->out_norm, t->out_norm_b),
                            t->linear, t->linear_b);
    if (!is_torchmd(t))
        return bi_mul(g, branch(b, h, t->head, t->head_b),
                      bi_sigmoid(g, branch(b, h, t->gate, t->gate_b)));
    h = bi_silu(g, product(b, bi_silu(g, h), t->head[0], t->head_b[0]));
    return product(b, h, t->head[1], t->head_b[1]);
}

static void tensornet_build(const struct bi_model *model, struct bi_graph *g,
                            const struct bi_energy_shape *shape)
{
    const struct tensornet *t = model->config;
    struct builder b = {.model = model, .t = t, .g = g, .by_charge = BI_NONE};
    struct bi_tensornet_places places;
    bi_value_id x[3], e, forces = BI_NONE;
    b.code = bi_input(g, "code", BI_I32, BI_AXIS_TOKENS, shape->n_atoms);
    if (t->s.takes_charge)
        b.by_charge = bi_input(g, "by_charge", BI_F32, BI_AXIS_TOKENS, shape->n_atoms);
    bi_tensornet_inputs(g, shape, &places);
    bi_tensornet_move(g, shape, &places);
    bi_tensornet_edges(g, &places, shape->n_edges, &b.edges);
    embed(&b, x);
    for (int l = 0; l < model->n_layers; l++)
        interact(&b, &t->layers[l], x);
    e = energies(&b, x);
    if (shape->gradient)
        forces = bi_edge_forces(g, bi_graph_gradient(g, e, b.edges.vector), &b.edges);
    bi_tensornet_moved(g, shape, &places, forces);
    bi_output(g, e, BI_ENERGY_ATOMS, -1, "energy");
    if (shape->gradient)
        bi_output(g, forces, BI_ENERGY_FORCES, -1, "forces");
    bi_output(g, places.report, BI_ENERGY_REPORT, -1, "report");
}

static const struct bi_energy_facts *tensornet_facts(const struct bi_model *model)
{
    return &((const struct tensornet *)model->config)->facts;
}

static const struct bi_energy_def energy = {.facts = tensornet_facts, .build = tensornet_build};

/* Every setting, whatever graphs and struct bi_energy_facts show of it. */
static int tensornet_settings(const struct bi_model *model, struct bi_hash *to)
{
    const struct bi_tensornet_settings *s = &((const struct tensornet *)model->config)->s;
    bi_hash_int(to, "network", 1 + (int)s->kind);
    bi_hash_int(to, "rbf", 1 + (int)s->rbf);
    bi_hash_int(to, "act", 1 + (int)s->act);
    bi_hash_int(to, "so3", s->so3);
    bi_hash_int(to, "old_layout", s->old_layout);
    bi_hash_int(to, "channels", s->channels);
    bi_hash_int(to, "n_layers", s->n_layers);
    bi_hash_int(to, "n_rbf", s->n_rbf);
    bi_hash_int(to, "max_n", s->max_n);
    bi_hash_int(to, "max_l", s->max_l);
    bi_hash_real(to, "width", s->width);
    bi_hash_real(to, "cutoff_lower", s->cutoff_lower);
    bi_hash_real(to, "cutoff", s->cutoff);
    bi_hash_real(to, "mean", s->mean);
    bi_hash_real(to, "std", s->std);
    bi_hash_int(to, "n_embedded", s->n_embedded);
    for (int z = 0; z < BI_TENSORNET_ELEMENTS; z++)
        if (s->row[z] >= 0) {
            bi_hash_int(to, "element", 1 + z);
            bi_hash_int(to, "row", 1 + s->row[z]);
        }
    bi_hash_int(to, "has_references", s->has_references);
    if (s->has_references)
        bi_hash_reals(to, "reference", s->reference, BI_TENSORNET_ELEMENTS);
    bi_hash_int(to, "takes_charge", s->takes_charge);
    bi_hash_int(to, "q_dim", s->q_dim);
    bi_hash_int(to, "n_head_layers", s->n_head_layers);
    bi_hash_reals(to, "q_weight", s->q_weights, BI_COUNT(s->q_weights));
    bi_hash_int(to, "coulomb", s->coulomb);
    bi_hash_real(to, "coulomb_cutoff", s->coulomb_cutoff);
    return 0;
}

/* MatGL's repository has its own, not the hub; `obtained` below says so. */
static const struct bi_release releases[] = {
    {"materialyzeai/matgl/TensorNet-MatPES-PBE-v2025.1-PES", "BSD-3-Clause", NULL, 0, 3400000},
    {"materialyzeai/matgl/TensorNet-MatPES-r2SCAN-v2025.1-PES", "BSD-3-Clause", NULL, 0, 3400000},
    {"materialyzeai/matgl/TensorNet-ANI-1x-Subset-PES", "BSD-3-Clause", NULL, 0, 857000},
    {"Acellera/AceFF-1.0", "Apache-2.0", NULL, 0, 0},
    {"Acellera/AceFF-1.1", "Apache-2.0", NULL, 0, 0},
    {0}};

const struct bi_model_def bi_model_tensornet = {
    .name = "tensornet",
    .summary = "TensorNet: energies, forces and stress of molecules and crystals",
    .obtained = "MatGL's repository (materialyzeai/matgl, pretrained_models) has trained weights: "
                "model.json and state.pt in a folder",
    .releases = releases,
    .gpu = true,
    .half = BI_HALF_NEVER,
    .orders_factors = true,
    .recognise = bi_tensornet_recognise,
    .open = tensornet_open,
    .kind = &bi_kind_energy,
    .def = &energy,
    .facts = tensornet_settings,
};

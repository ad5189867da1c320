/* model.c - DualBind: the binding free energy of a ligand in its pose, in kcal/mol.
 *
 * D wide (256 as published), 4 heads, one transformer layer. Written from the formulas of a
 * specification; no source or weights of the authors were used or are part of bioinfer.
 *
 *   ligand, a directed bond b from atom s(b), f_b = [atom s(b) 133 ; bond 14]:
 *     i_b = W_i f_b;  m_b = relu(i_b)
 *     twice: m_b = relu(i_b + W_h (sum of m over bonds into s(b), but for the reverse of b))
 *     s_v = relu(W_o [f_v ; sum of m over bonds into v] + b)
 *   tokens: atoms of the ligand, S = [W_bind s_v + b ; A_bind[1]], and atoms of the pocket,
 *     S = [W_tgt[:, residue] + b ; A_tgt[type of the atom]]
 *   frames: y = coordinates along the principal axes of all tokens, with each of 8 sign triples
 *     h = linear [y ; S];  h = LN1(h + dense(attention(h)));  h = LN2(h + W2 relu(W1 h))
 *     within the tokens of one complex and frame; then the mean over the 8 frames
 *   E = sum of u_i . w_j over atoms i of the ligand and j of the pocket nearer than 10 angstrom,
 *     u = B2 silu(B0 h),  w = silu(T0 h)
 *   Several checkpoints: the mean of their energies.
 *
 * What is equal for all complexes is folded into tables when the weights are opened, in double:
 * W_i and W_o times features that are 0 or 1 are rows of their transposes; a token of the pocket is
 * the sum of a row of its residue and a row of its atom, and so are its queries, keys and values
 * without coordinates; the first product and the one of queries, keys and values are the same in
 * all frames but for +-y times three vectors (kernels/frames.h).
 *
 * Sections: names, folding, opening, graph. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dualbind.h"

static const float cutoff = 10; /* angstrom */
static const float norm_eps = 1e-5f;

enum { DEPTH = 3, MAX_MEMBERS = 16, MAX_WIDTH = 2048 };

/* ---- names ---- */

/* Tensors of the file. */
enum source {
    A_BIND,
    A_TGT,
    BINDER0_B,
    BINDER0_W,
    BINDER2_B,
    BINDER2_W,
    DENSE_B,
    DENSE_W,
    K_B,
    K_W,
    Q_B,
    Q_W,
    V_B,
    V_W,
    LINEAR_B,
    LINEAR_W,
    FF1_B,
    FF1_W,
    FF2_B,
    FF2_W,
    NORM1_B,
    NORM1_W,
    NORM2_B,
    NORM2_W,
    TARGET_B,
    TARGET_W,
    W_BIND_B,
    W_BIND_W,
    W_TGT_B,
    W_TGT_W,
    W_H,
    W_I,
    W_O_B,
    W_O_W,
    N_SOURCES
};

#define LAYER_ "encoder.encoder."
#define ATTENTION_ LAYER_ "multihead_attention."

/* Columns: 0 = a vector; else so many, and `widths` times D. Rows: 0 = D. */
static const struct {
    const char *name;
    int rows, columns, widths;
} sources[N_SOURCES] = {[A_BIND] = {"encoder.A_bind.weight", DB_ATOM_TYPES, 0, 1},
                        [A_TGT] = {"encoder.A_tgt.weight", DB_ATOM_TYPES, 0, 1},
                        [BINDER0_B] = {"binder_output.0.bias", 0, 0, 0},
                        [BINDER0_W] = {"binder_output.0.weight", 0, 0, 1},
                        [BINDER2_B] = {"binder_output.2.bias", 0, 0, 0},
                        [BINDER2_W] = {"binder_output.2.weight", 0, 0, 1},
                        [DENSE_B] = {ATTENTION_ "dense.bias", 0, 0, 0},
                        [DENSE_W] = {ATTENTION_ "dense.weight", 0, 0, 1},
                        [K_B] = {ATTENTION_ "wk.bias", 0, 0, 0},
                        [K_W] = {ATTENTION_ "wk.weight", 0, 0, 1},
                        [Q_B] = {ATTENTION_ "wq.bias", 0, 0, 0},
                        [Q_W] = {ATTENTION_ "wq.weight", 0, 0, 1},
                        [V_B] = {ATTENTION_ "wv.bias", 0, 0, 0},
                        [V_W] = {ATTENTION_ "wv.weight", 0, 0, 1},
                        [LINEAR_B] = {"encoder.linear.bias", 0, 0, 0},
                        [LINEAR_W] = {"encoder.linear.weight", 0, DB_COORDINATES, 2},
                        [FF1_B] = {LAYER_ "linear1.bias", 0, 0, 0},
                        [FF1_W] = {LAYER_ "linear1.weight", 0, 0, 1},
                        [FF2_B] = {LAYER_ "linear2.bias", 0, 0, 0},
                        [FF2_W] = {LAYER_ "linear2.weight", 0, 0, 1},
                        [NORM1_B] = {LAYER_ "norm1.bias", 0, 0, 0},
                        [NORM1_W] = {LAYER_ "norm1.weight", 0, 0, 0},
                        [NORM2_B] = {LAYER_ "norm2.bias", 0, 0, 0},
                        [NORM2_W] = {LAYER_ "norm2.weight", 0, 0, 0},
                        [TARGET_B] = {"target_output.0.bias", 0, 0, 0},
                        [TARGET_W] = {"target_output.0.weight", 0, 0, 1},
                        [W_BIND_B] = {"encoder.W_bind.bias", 0, 0, 0},
                        [W_BIND_W] = {"encoder.W_bind.weight", 0, 0, 1},
                        [W_TGT_B] = {"encoder.W_tgt.bias", 0, 0, 0},
                        [W_TGT_W] = {"encoder.W_tgt.weight", 0, DB_RESIDUES, 0},
                        [W_H] = {"mpn.W_h.weight", 0, 0, 1},
                        [W_I] = {"mpn.W_i.weight", 0, DB_ATOM + DB_BOND, 0},
                        [W_O_B] = {"mpn.W_o.bias", 0, 0, 0},
                        [W_O_W] = {"mpn.W_o.weight", 0, DB_ATOM, 1}};

/* Weights of the graph, as indices of the model's table. */
enum part {
    P_BOND,      /* [147, D] W_i transposed */
    P_BOND_MASS, /* [D] its column of the mass */
    P_MESSAGE,   /* [D, D] */
    P_ATOM,      /* [133, D] W_o's columns of features, transposed */
    P_ATOM_MASS, /* [D] */
    P_INCOMING,  /* [D, D] W_o's columns of messages */
    P_ATOM_B,    /* [D] */
    P_BIND,
    P_BIND_B, /* [D, D], [D] */
    P_LIGAND,
    P_LIGAND_B, /* [D, D], [D]: linear's columns of the embedding; A_bind[1] and bias */
    P_POCKET,   /* [21 + 38, D]: residues, atoms */
    P_AXES,     /* [3, D] linear's columns of coordinates, transposed */
    P_QKV,
    P_QKV_B,
    P_QKV_AXES,   /* [3 D, D], [3 D], [3, 3 D]; queries are divided by sqrt(D / 4) */
    P_POCKET_QKV, /* [21 + 38, 3 D]: rows of P_POCKET times P_QKV, the bias in those of atoms */
    P_DENSE,
    P_DENSE_B,
    P_NORM1,
    P_NORM1_B,
    P_FF1,
    P_FF1_B,
    P_FF2,
    P_FF2_B,
    P_NORM2,
    P_NORM2_B,
    P_BINDER0,
    P_BINDER0_B,
    P_BINDER2,
    P_BINDER2_B,
    P_TARGET,
    P_TARGET_B,
    N_PARTS
};

struct member {
    int part[N_PARTS];
};

struct dualbind {
    int width, n_members;
    struct member members[MAX_MEMBERS];
};

/* ---- folding ---- */

/* A checkpoint while it is folded. */
struct file {
    struct bi_model *model;
    const struct bi_checkpoint *cp;
    int d;      /* D */
    int number; /* the member's */
    float *of[N_SOURCES];
};

static int64_t columns_of(const struct file *f, int k)
{
    return sources[k].columns + (int64_t)sources[k].widths * f->d;
}

/* Reads a tensor of the checkpoint, in the arena of the model. */
static int read_source(struct file *f, int k, struct bioinfer_error *err)
{
    const struct bi_tensor *t = bi_checkpoint_find(f->cp, sources[k].name);
    const int64_t rows = sources[k].rows ? sources[k].rows : f->d, columns = columns_of(f, k);
    char got[80] = "";
    bool fits;
    if (!t)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: tensor %s is missing", f->cp->path,
                       sources[k].name);
    fits = columns ? t->rank == 2 && t->shape[1] == (uint64_t)columns : t->rank == 1;
    for (int i = 0; i < t->rank; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%llu", i ? ", " : "",
                 (unsigned long long)t->shape[i]);
    if ((!fits || t->shape[0] != (uint64_t)rows) && columns)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: shape [%s], expected [%lld, %lld]",
                       f->cp->path, t->name, got, (long long)rows, (long long)columns);
    if (!fits || t->shape[0] != (uint64_t)rows)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: shape [%s], expected [%lld]", f->cp->path,
                       t->name, got, (long long)rows);
    if (!bi_dtype_is_loadable(t->dtype))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s: dtype %s cannot be computed with",
                       f->cp->path, t->name, bi_dtype_name(t->dtype));
    if (!(f->of[k] = bi_arena_calloc(&f->model->arena, (size_t)t->n_elements, sizeof(float))))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", f->cp->path, t->name);
    f->model->n_parameters += (int64_t)t->n_elements;
    return bi_tensor_read_f32(f->cp, t, 0, t->n_elements, f->of[k], err);
}

/* Adds a weight of the graph; values NULL: room for it, to be filled through *out. */
static int add_part(struct file *f, struct member *m, enum part part, const char *name,
                    int64_t rows, int64_t columns, float *values, float **out,
                    struct bioinfer_error *err)
{
    struct bi_weight w = {.rank = columns ? 2 : 1, .shape = {rows, columns ? columns : 1}};
    const size_t n = (size_t)(rows * (columns ? columns : 1));
    int index;
    w.name = f->number ? bi_arena_printf(&f->model->arena, "%s.%d", name, f->number) : name;
    if (!values)
        values = bi_arena_calloc(&f->model->arena, n, sizeof *values);
    if (!values || !w.name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", f->cp->path, name);
    w.values = values;
    if (out)
        *out = values;
    index = bi_model_weight(f->model, &w, err);
    m->part[part] = index;
    return index < 0 ? index : 0;
}

/* Weights that the graph takes as they stand. */
static const struct {
    enum part part;
    enum source source;
    const char *name;
} as_they_stand[] = {
    {P_MESSAGE, W_H, "message.weight"},       {P_ATOM_B, W_O_B, "atom.bias"},
    {P_BIND, W_BIND_W, "bind.weight"},        {P_BIND_B, W_BIND_B, "bind.bias"},
    {P_DENSE, DENSE_W, "dense.weight"},       {P_DENSE_B, DENSE_B, "dense.bias"},
    {P_NORM1, NORM1_W, "norm1.weight"},       {P_NORM1_B, NORM1_B, "norm1.bias"},
    {P_FF1, FF1_W, "linear1.weight"},         {P_FF1_B, FF1_B, "linear1.bias"},
    {P_FF2, FF2_W, "linear2.weight"},         {P_FF2_B, FF2_B, "linear2.bias"},
    {P_NORM2, NORM2_W, "norm2.weight"},       {P_NORM2_B, NORM2_B, "norm2.bias"},
    {P_BINDER0, BINDER0_W, "binder0.weight"}, {P_BINDER0_B, BINDER0_B, "binder0.bias"},
    {P_BINDER2, BINDER2_W, "binder2.weight"}, {P_BINDER2_B, BINDER2_B, "binder2.bias"},
    {P_TARGET, TARGET_W, "target.weight"},    {P_TARGET_B, TARGET_B, "target.bias"}};

/* Columns [first, first + n) of a matrix of D rows, transposed into [n, D]. */
static void transpose(const struct file *f, enum source from, int first, int n, float *to)
{
    const int64_t ld = columns_of(f, from);
    for (int c = 0; c < n; c++)
        for (int r = 0; r < f->d; r++)
            to[(int64_t)c * f->d + r] = f->of[from][r * ld + first + c];
}

/* Columns [first, first + D) of a matrix of D rows. */
static void cut(const struct file *f, enum source from, int first, float *to)
{
    const int64_t ld = columns_of(f, from);
    for (int r = 0; r < f->d; r++)
        memcpy(to + (int64_t)r * f->d, f->of[from] + r * ld + first, (size_t)f->d * sizeof *to);
}

/* Row r of columns [first, first + D) of `linear`, times x. */
static double times(const struct file *f, int r, int first, const float *x)
{
    const float *w = f->of[LINEAR_W] + r * columns_of(f, LINEAR_W) + first;
    double sum = 0;
    for (int c = 0; c < f->d; c++)
        sum += (double)w[c] * (double)x[c];
    return sum;
}

static int fold_ligand(struct file *f, struct member *m, struct bioinfer_error *err)
{
    const int d = f->d, embedding = DB_COORDINATES, kind = DB_COORDINATES + d;
    float *bond, *bond_mass, *atom, *atom_mass, *incoming, *ligand, *ligand_b;
    int st;
    if ((st = add_part(f, m, P_BOND, "bond.table", DB_ATOM + DB_BOND, d, NULL, &bond, err)) ||
        (st = add_part(f, m, P_BOND_MASS, "bond.mass", d, 0, NULL, &bond_mass, err)) ||
        (st = add_part(f, m, P_ATOM, "atom.table", DB_ATOM, d, NULL, &atom, err)) ||
        (st = add_part(f, m, P_ATOM_MASS, "atom.mass", d, 0, NULL, &atom_mass, err)) ||
        (st = add_part(f, m, P_INCOMING, "incoming.weight", d, d, NULL, &incoming, err)) ||
        (st = add_part(f, m, P_LIGAND, "ligand.weight", d, d, NULL, &ligand, err)) ||
        (st = add_part(f, m, P_LIGAND_B, "ligand.bias", d, 0, NULL, &ligand_b, err)))
        return st;
    transpose(f, W_I, 0, DB_ATOM + DB_BOND, bond);
    transpose(f, W_I, DB_MASS, 1, bond_mass);
    transpose(f, W_O_W, 0, DB_ATOM, atom);
    transpose(f, W_O_W, DB_MASS, 1, atom_mass);
    cut(f, W_O_W, DB_ATOM, incoming);
    cut(f, LINEAR_W, embedding, ligand);
    for (int r = 0; r < d; r++)
        ligand_b[r] = (float)((double)f->of[LINEAR_B][r] + times(f, r, kind, f->of[A_BIND] + d));
    return 0;
}

static int fold_pocket(struct file *f, struct member *m, struct bioinfer_error *err)
{
    const int d = f->d, embedding = DB_COORDINATES, kind = DB_COORDINATES + d;
    float *table, *column;
    int st;
    if ((st = add_part(f, m, P_POCKET, "pocket.table", DB_RESIDUES + DB_ATOM_TYPES, d, NULL, &table,
                       err)))
        return st;
    if (!(column = bi_calloc(f->model->env, (size_t)d, sizeof *column)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tables", f->cp->path);
    for (int i = 0; i < DB_RESIDUES; i++) {
        for (int r = 0; r < d; r++)
            column[r] = f->of[W_TGT_W][r * DB_RESIDUES + i] + f->of[W_TGT_B][r];
        for (int r = 0; r < d; r++)
            table[(int64_t)i * d + r] = (float)times(f, r, embedding, column);
    }
    for (int i = 0; i < DB_ATOM_TYPES; i++)
        for (int r = 0; r < d; r++)
            table[(int64_t)(DB_RESIDUES + i) * d + r] =
                (float)((double)f->of[LINEAR_B][r] +
                        times(f, r, kind, f->of[A_TGT] + (int64_t)i * d));
    bi_free(f->model->env, column);
    return 0;
}

/* Rows of `table` times qkv [3 D, D], in double; the bias goes to the rows of atoms. */
static void multiply_table(const struct file *f, const float *table, const float *qkv,
                           const float *bias, float *out)
{
    const int d = f->d;
    for (int i = 0; i < DB_RESIDUES + DB_ATOM_TYPES; i++)
        for (int r = 0; r < 3 * d; r++) {
            const float *w = qkv + (int64_t)r * d, *x = table + (int64_t)i * d;
            double sum = i < DB_RESIDUES ? 0 : (double)bias[r];
            for (int c = 0; c < d; c++)
                sum += (double)w[c] * (double)x[c];
            out[(int64_t)i * 3 * d + r] = (float)sum;
        }
}

static int fold_attention(struct file *f, struct member *m, struct bioinfer_error *err)
{
    static const enum source w[3] = {Q_W, K_W, V_W}, b[3] = {Q_B, K_B, V_B};
    const int d = f->d;
    const size_t square = (size_t)d * (size_t)d;
    const float *table = f->model->weights[m->part[P_POCKET]].values;
    float *axes, *qkv, *bias, *turned, *pocket;
    int st;
    if ((st = add_part(f, m, P_AXES, "axes.weight", DB_COORDINATES, d, NULL, &axes, err)) ||
        (st = add_part(f, m, P_QKV, "qkv.weight", 3 * d, d, NULL, &qkv, err)) ||
        (st = add_part(f, m, P_QKV_B, "qkv.bias", 3 * d, 0, NULL, &bias, err)) ||
        (st = add_part(f, m, P_QKV_AXES, "qkv.axes", DB_COORDINATES, 3 * d, NULL, &turned, err)) ||
        (st = add_part(f, m, P_POCKET_QKV, "pocket.qkv", DB_RESIDUES + DB_ATOM_TYPES, 3 * d, NULL,
                       &pocket, err)))
        return st;
    transpose(f, LINEAR_W, 0, DB_COORDINATES, axes);
    for (int i = 0; i < 3; i++) {
        const double by = i ? 1 : 1 / sqrt((double)(d / DB_HEADS));
        for (size_t k = 0; k < square; k++)
            qkv[(size_t)i * square + k] = (float)(by * (double)f->of[w[i]][k]);
        for (int r = 0; r < d; r++)
            bias[i * d + r] = (float)(by * (double)f->of[b[i]][r]);
        for (int k = 0; k < DB_COORDINATES; k++)
            for (int r = 0; r < d; r++) {
                double sum = 0;
                for (int c = 0; c < d; c++)
                    sum += (double)f->of[w[i]][(size_t)r * (size_t)d + (size_t)c] *
                           (double)axes[k * d + c];
                turned[(k * 3 + i) * d + r] = (float)(by * sum);
            }
    }
    multiply_table(f, table, qkv, bias, pocket);
    return 0;
}

/* ---- opening ---- */

static bool db_recognise(const struct bi_checkpoint *cp)
{
    return bi_checkpoint_find(cp, sources[W_I].name) && bi_checkpoint_find(cp, sources[A_TGT].name);
}

static int add_member(struct bi_model *model, struct dualbind *db, const struct bi_checkpoint *cp,
                      struct bioinfer_error *err)
{
    struct member *m = &db->members[db->n_members];
    struct file f = {.model = model, .cp = cp, .number = db->n_members};
    const struct bi_tensor *w = bi_checkpoint_find(cp, sources[W_H].name);
    int st = 0;
    if (!w || w->rank != 2 || w->shape[0] % (2 * DB_HEADS) || w->shape[0] < 2 * DB_HEADS ||
        w->shape[0] > MAX_WIDTH)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %s: expected [D, D] with D from %d to %d, a multiple of %d", cp->path,
                       sources[W_H].name, 2 * DB_HEADS, MAX_WIDTH, 2 * DB_HEADS);
    f.d = (int)w->shape[0];
    if (db->n_members && f.d != db->width)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %d wide, the first checkpoint is %d wide",
                       cp->path, f.d, db->width);
    db->width = f.d;
    for (int k = 0; !st && k < N_SOURCES; k++)
        st = read_source(&f, k, err);
    for (size_t k = 0; !st && k < BI_COUNT(as_they_stand); k++)
        st = add_part(&f, m, as_they_stand[k].part, as_they_stand[k].name, f.d,
                      columns_of(&f, as_they_stand[k].source), f.of[as_they_stand[k].source], NULL,
                      err);
    if (st || (st = fold_ligand(&f, m, err)) || (st = fold_pocket(&f, m, err)) ||
        (st = fold_attention(&f, m, err)))
        return st;
    db->n_members++;
    return 0;
}

/* The other checkpoints of an ensemble. */
static int add_others(struct bi_model *model, struct dualbind *db, struct bioinfer_error *err)
{
    int st = 0;
    if (model->n_more >= MAX_MEMBERS)
        return bi_fail(err, BIOINFER_LIMIT, "%d checkpoints, at most %d", model->n_more + 1,
                       MAX_MEMBERS);
    for (int i = 0; !st && i < model->n_more; i++) {
        const struct bi_model_def *def;
        struct bi_checkpoint *cp = NULL;
        if (!(st = bi_checkpoint_open(&cp, model->env, model->more[i], model->more_options, err)) &&
            !(st = bi_model_recognise(&def, model->def->name, cp, err)))
            st = add_member(model, db, cp, err);
        bi_checkpoint_close(&cp);
    }
    return st;
}

static int db_open(struct bi_model *model, struct bioinfer_error *err)
{
    struct dualbind *db = bi_arena_calloc(&model->arena, 1, sizeof *db);
    int st;
    if (!db)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    if ((st = add_member(model, db, model->cp, err)) || (st = add_others(model, db, err)))
        return st;
    model->config = db;
    model->n_layers = 1;
    model->width = db->width;
    model->n_heads = DB_HEADS;
    model->head_dim = db->width / DB_HEADS;
    model->name = db->n_members > 1 ? bi_arena_printf(&model->arena, "dualbind x %d", db->n_members)
                                    : "dualbind";
    return model->name ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: name", model->cp->path);
}

/* ---- graph ---- */

struct builder {
    const struct bi_model *model;
    const struct member *m;
    struct bi_graph *g;
    /* inputs, and what follows from them alone */
    bi_value_id receptor_code, row, atom_code, atom_mass, atom_bonds, bond_code, bond_mass,
        bond_before, atom_token, start, code, frame_rows, atom_frame_rows, span;
    bi_value_id x, at; /* coordinates of tokens, the same along the axes */
};

static bi_value_id weight(const struct builder *b, enum part part)
{
    return bi_model_value(b->model, b->g, b->m->part[part]);
}

/* x w^T, with a bias where the enum has one behind w. */
static bi_value_id product(const struct builder *b, bi_value_id x, enum part w, bool bias)
{
    bi_value_id y = bi_matmul(b->g, x, weight(b, w));
    return bias ? bi_add(b->g, y, weight(b, (enum part)(w + 1))) : y;
}

static bi_value_id relu(const struct builder *b, bi_value_id x)
{
    return bi_norm_act(b->g, x, BI_NONE, BI_NONE, BI_NORM_ACT_RELU, 0);
}

/* Embeddings of the ligand's atoms: [A, D] */
static bi_value_id messages(const struct builder *b)
{
    struct bi_graph *g = b->g;
    bi_value_id first = bi_row_bias(g, bi_gather_sum(g, weight(b, P_BOND), b->bond_code, 1),
                                    weight(b, P_BOND_MASS), b->bond_mass);
    bi_value_id m = relu(b, first), atom;
    for (int step = 1; step < DEPTH; step++)
        m = relu(b, bi_add(g, product(b, bi_gather_sum(g, m, b->bond_before, 1), P_MESSAGE, false),
                           first));
    atom = bi_row_bias(g, bi_gather_sum(g, weight(b, P_ATOM), b->atom_code, 1),
                       weight(b, P_ATOM_MASS), b->atom_mass);
    m = product(b, bi_gather_sum(g, m, b->atom_bonds, 1), P_INCOMING, false);
    return relu(b, bi_add(g, bi_add(g, m, weight(b, P_ATOM_B)), atom));
}

/* Rows of tokens: sums of rows of a table for the pocket, given ones for the ligand. */
static bi_value_id tokens(const struct builder *b, enum part table, bi_value_id ligand)
{
    struct bi_graph *g = b->g;
    bi_value_id pocket = bi_gather_sum(g, weight(b, table), b->receptor_code, 1);
    return bi_put_rows(g, bi_select_rows(g, pocket, b->row), ligand, b->atom_token);
}

/* The layer in all frames: [8 T, D] */
static bi_value_id layer(const struct builder *b, int32_t width)
{
    struct bi_graph *g = b->g;
    bi_value_id ligand = product(b, product(b, messages(b), P_BIND, true), P_LIGAND, true);
    bi_value_id h = bi_frames(g, tokens(b, P_POCKET, ligand), b->at, weight(b, P_AXES), b->code);
    bi_value_id qkv = bi_frames(g, tokens(b, P_POCKET_QKV, product(b, ligand, P_QKV, true)), b->at,
                                weight(b, P_QKV_AXES), b->code);
    bi_value_id q = bi_columns(g, qkv, 0, width), k = bi_columns(g, qkv, width, width);
    bi_value_id v = bi_columns(g, qkv, 2 * width, width);
    bi_value_id maps = bi_softmax(g, bi_scores(g, q, k, b->start, DB_HEADS), b->start);
    bi_value_id o = product(b, bi_mix(g, maps, v, b->start), P_DENSE, true);
    h = bi_layernorm(g, bi_add(g, o, h), weight(b, P_NORM1), weight(b, P_NORM1_B), norm_eps);
    o = product(b, relu(b, product(b, h, P_FF1, true)), P_FF2, true);
    return bi_layernorm(g, bi_add(g, o, h), weight(b, P_NORM2), weight(b, P_NORM2_B), norm_eps);
}

/* The shares of one member. The mean over the frames is taken of all tokens for w and once
 * more, of the ligand's atoms alone, for u: each mean then has one reader, a product. */
static bi_value_id energy(const struct builder *b, int32_t width)
{
    const float share = 1.0f / BI_FRAMES_OF_TOKEN;
    struct bi_graph *g = b->g;
    bi_value_id h = layer(b, width);
    bi_value_id atoms = bi_gather_sum(g, h, b->atom_frame_rows, share);
    bi_value_id u = bi_silu(g, product(b, atoms, P_BINDER0, true));
    bi_value_id w = bi_silu(g,
                            product(b, bi_gather_sum(g, h, b->frame_rows, share), P_TARGET, true));
    return bi_pair_energy(g, product(b, u, P_BINDER2, true), b->atom_token, w, b->x, b->span,
                          cutoff);
}

static void inputs(struct builder *b, const struct bi_affinity_shape *s)
{
    struct bi_graph *g = b->g;
    const int64_t n_frames = BI_FRAMES_OF_TOKEN * s->n_tokens;
    bi_value_id ligand_x = bi_input_rows(g, "ligand_x", BI_AXIS_ATOMS, s->n_atoms, 3);
    bi_value_id receptor_x = bi_input_rows(g, "receptor_x", BI_AXIS_ROWS, s->n_rows, 3);
    bi_value_id sets = bi_input(g, "sets", BI_I32, BI_AXIS_SAMPLES, s->n_complexes + 1);
    b->receptor_code = bi_input_matrix(g, "receptor_code", BI_I32, BI_AXIS_ROWS, s->n_rows, 2);
    b->row = bi_input(g, "row", BI_I32, BI_AXIS_SAMPLED, s->n_tokens);
    b->atom_code = bi_input_matrix(g, "atom_code", BI_I32, BI_AXIS_ATOMS, s->n_atoms,
                                   BI_ATOM_CODES);
    b->atom_mass = bi_input(g, "atom_mass", BI_F32, BI_AXIS_ATOMS, s->n_atoms);
    b->atom_bonds = bi_input_matrix(g, "atom_bonds", BI_I32, BI_AXIS_ATOMS, s->n_atoms, s->degree);
    b->atom_token = bi_input(g, "atom_token", BI_I32, BI_AXIS_ATOMS, s->n_atoms);
    b->bond_code = bi_input_matrix(g, "bond_code", BI_I32, BI_AXIS_EDGES, s->n_bonds,
                                   BI_BOND_CODES);
    b->bond_mass = bi_input(g, "bond_mass", BI_F32, BI_AXIS_EDGES, s->n_bonds);
    b->bond_before = bi_input_matrix(g, "bond_before", BI_I32, BI_AXIS_EDGES, s->n_bonds,
                                     s->degree);
    b->start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, BI_FRAMES_OF_TOKEN * s->n_complexes + 1);
    b->code = bi_input(g, "code", BI_I32, BI_AXIS_TOKENS, n_frames);
    b->frame_rows = bi_input_matrix(g, "frame_rows", BI_I32, BI_AXIS_SAMPLED, s->n_tokens,
                                    BI_FRAMES_OF_TOKEN);
    b->atom_frame_rows = bi_input_matrix(g, "atom_frame_rows", BI_I32, BI_AXIS_ATOMS, s->n_atoms,
                                         BI_FRAMES_OF_TOKEN);
    b->span = bi_input_matrix(g, "span", BI_I32, BI_AXIS_SAMPLES, s->n_complexes, 4);
    b->x = bi_put_rows(g, bi_select_rows(g, receptor_x, b->row), ligand_x, b->atom_token);
    b->at = bi_principal_axes(g, b->x, sets);
}

static void db_build(const struct bi_model *model, struct bi_graph *g,
                     const struct bi_affinity_shape *shape)
{
    const struct dualbind *db = model->config;
    struct builder b = {.model = model, .g = g};
    bi_value_id sum = BI_NONE;
    inputs(&b, shape);
    for (int i = 0; i < db->n_members; i++) {
        b.m = &db->members[i];
        bi_value_id e = energy(&b, db->width);
        sum = i ? bi_add(g, sum, e) : e;
    }
    if (db->n_members > 1)
        sum = bi_scale(g, sum, 1 / (float)db->n_members);
    bi_output(g, sum, BI_AFFINITY_ENERGY, -1, "energy");
}

static const struct bi_affinity_def affinity = {
    .receptor = db_receptor,
    .join = db_join,
    .build = db_build,
    .unit = "kcal/mol",
    .caveat = "trained on complexes of one protein, the estrogen receptor alpha: energies with "
              "others are extrapolated"};

static int db_facts(const struct bi_model *model, struct bi_hash *to)
{
    const struct dualbind *db = model->config;
    bi_hash_int(to, "members", db->n_members);
    bi_hash_int(to, "width", db->width);
    bi_hash_real(to, "cutoff", (double)cutoff);
    return 0;
}

/* NGC has it, not the hub; `obtained` below says so where it is missing. */
static const struct bi_release releases[] = {
    {"nvidia/clara/dualbind_v1_toxbench", "NVIDIA NSCLv1 (non-commercial)", NULL, 1019136, 0}, {0}};

const struct bi_model_def bi_model_dualbind = {
    .name = "dualbind",
    .summary = "DualBind: binding energies of small molecules in their poses",
    .releases = releases,
    .obtained = "the published checkpoint is the resource nvidia/clara/dualbind_v1_toxbench of "
                "NVIDIA's NGC catalog, under a licence for non-commercial use",
    .gpu = true,
    .recognise = db_recognise,
    .open = db_open,
    .kind = &bi_kind_affinity,
    .def = &affinity,
    .facts = db_facts,
};

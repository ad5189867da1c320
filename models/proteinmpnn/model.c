/* model.c - ProteinMPNN and its kin: sequences for a backbone, residue by residue.
 *
 * A graph over residues, each with edges from its k nearest (by CA), width D = 128.
 *
 *   edge   e_ij  = norm(W_edge [position class (16) | 16 Gaussians of each of 25 distances])
 *          h_E   = W_e e + b
 *   node   h_V   = 0, or of a label (membrane weights)
 *   encoder, 3 layers (m = mask_i mask_j, g = exact GELU):
 *          h_V <- norm1(h_V + 1/30 sum_j m W3 g(W2 g(W1 [h_i | e_ij | h_j])))
 *          h_V <- mask norm2(h_V + FFN(h_V))
 *          h_E <- norm3(h_E + W13 g(W12 g(W11 [h_i | e_ij | h_j])))
 *   decoder, 3 layers, over an order of the residues:
 *          W1 [h_i | e_ij | s_j | h_j] of neighbours that come before i, s_j their symbol,
 *          W1 [h_i | e_ij | 0 | h_j of the encoder] of all others; no mask but that of i
 *          h <- norm1(h + 1/30 sum), h <- norm2(h + FFN(h)); logits = W_out h + b
 *
 * W1 of the decoder is used by its column blocks: what e_ij and the encoder's h_j add is made
 * once, what s_j adds is a table (W1 W_s, folded when the weights are read), and what a decoded
 * neighbour adds replaces the encoder's share in a carried value when it is decoded. So the sums
 * of neighbours before and after need no mask, and sampling is a loop over the order in which
 * only the two inner products of a message run per edge.
 *
 * The class of positions (66 x 16) is folded through W_edge into a 66 x 128 table.
 *
 * CA-only weights have 9 distances among the CA of i - 1, i, i + 1 and the relative frame (7
 * numbers) instead of 25 distances; tensors features.node_embedding, features.norm_nodes and W_v
 * are in those files and unused.
 *
 * LigandMPNN adds the M atoms nearest to each residue that are not protein. V_iy of distances and
 * directions from residue i to atom y and of y's element, Y_y of the element, E_yz of the distance
 * of two atoms; then twice, from h_C = W_c h_V:
 *          Y   <- layer of atoms over their pairs: W1 [Y_y | E_yz], no state of the other atom
 *          h_C <- layer of residues over their atoms: W1 [h_C | W_v V_iy | Y_y]
 * and h_V <- h_V + norm(V_C h_C) before the decoder. All that is linear in an element is a table
 * of elements here, and what is linear behind a norm is folded into the first product after it.
 *
 * Source: dauparas/ProteinMPNN:protein_mpnn_utils.py, dauparas/LigandMPNN:model_utils.py */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../kernels/decode.h"
#include "../../kernels/edges.h"
#include "../design.h"

enum { D = 128, FFN = 512, LAYERS = 3, CLASSES = 66, POSITION = 16, LABELS = 3 };
/* The atoms' numbers of layers, elements (0: none), columns of a type, and columns of a residue's
 * features. */
enum { ATOM_LAYERS = 2, ELEMENTS = 119, TYPES = 147, TYPE_WIDTH = 64, SEEN = 148 };

static const char *const symbols[BI_SYMBOLS] = {"A", "C", "D", "E", "F", "G", "H",
                                                "I", "K", "L", "M", "N", "P", "Q",
                                                "R", "S", "T", "V", "W", "Y", "X"};

struct layer {
    int w1, b1, w2, b2, w3, b3, w11, b11, w12, b12, w13, b13;
    int n1w, n1b, n2w, n2b, n3w, n3b, in_w, in_b, out_w, out_b;
    int table;                /* decoder: [22, D], what a neighbour's symbol adds */
    int context_w, context_b; /* atoms: W1's second block with the matrix in front folded in */
};

struct context {
    int seen_w, seen_table, seen_nw, seen_nb; /* V: of features, of elements, norm */
    int atom_table;                           /* Y of elements */
    int pair_w, pair_nw, pair_nb;             /* E */
    int c_w, c_b, out_w, out_nw, out_nb;      /* W_c, V_C */
    struct layer atoms[ATOM_LAYERS], residues[ATOM_LAYERS];
};

struct mpnn {
    struct bi_design_facts facts;
    bool ca_only, labels;
    int edge_width; /* columns of W_edge */
    int n_pairs;
    int edge_w, positions, pairs, norm_w, norm_b, we_w, we_b, out_w, out_b, label_table;
    struct layer encoder[LAYERS], decoder[LAYERS];
    int n_atoms; /* M, 0 = no context */
    struct context context;
};

/* ---- weights ---- */

struct name {
    const char *name;      /* behind the prefix */
    size_t at;             /* offsetof(struct layer, ...) */
    int64_t rows, columns; /* columns 0: rank 1; -1: those of W1 in its stack */
    bool encoder_only;
};

#define M_(member) offsetof(struct layer, member)
static const struct name layer_names[] = {
    /* clang-format off */
    {"W1.weight", M_(w1), D, -1, false},         {"W1.bias", M_(b1), D, 0, false},
    {"W2.weight", M_(w2), D, D, false},          {"W2.bias", M_(b2), D, 0, false},
    {"W3.weight", M_(w3), D, D, false},          {"W3.bias", M_(b3), D, 0, false},
    {"W11.weight", M_(w11), D, 3 * D, true},     {"W11.bias", M_(b11), D, 0, true},
    {"W12.weight", M_(w12), D, D, true},         {"W12.bias", M_(b12), D, 0, true},
    {"W13.weight", M_(w13), D, D, true},         {"W13.bias", M_(b13), D, 0, true},
    {"norm1.weight", M_(n1w), D, 0, false},      {"norm1.bias", M_(n1b), D, 0, false},
    {"norm2.weight", M_(n2w), D, 0, false},      {"norm2.bias", M_(n2b), D, 0, false},
    {"norm3.weight", M_(n3w), D, 0, true},       {"norm3.bias", M_(n3b), D, 0, true},
    {"dense.W_in.weight", M_(in_w), FFN, D, false},
    {"dense.W_in.bias", M_(in_b), FFN, 0, false},
    {"dense.W_out.weight", M_(out_w), D, FFN, false},
    {"dense.W_out.bias", M_(out_b), D, 0, false},
    /* clang-format on */
};

/* Binds a whole tensor; its index or a status. */
static int bind(struct bi_model *model, const char *name, int64_t rows, int64_t columns,
                struct bioinfer_error *err)
{
    struct bi_weight w = {.tensor = bi_checkpoint_find(model->cp, name),
                          .rank = columns ? 2 : 1,
                          .shape = {rows, columns ? columns : 1}};
    if (!w.tensor)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: tensor %s is missing", model->cp->path, name);
    w.name = w.tensor->name;
    model->n_parameters += (int64_t)w.tensor->n_elements;
    return bi_model_weight(model, &w, err);
}

/* A layer whose W1 takes `blocks` vectors; `edges`: it has the update of edges. */
static int bind_layer(struct bi_model *model, struct layer *layer, const char *stack, int number,
                      int blocks, bool edges, struct bioinfer_error *err)
{
    for (size_t i = 0; i < BI_COUNT(layer_names); i++) {
        const struct name *n = &layer_names[i];
        int64_t columns = n->columns >= 0 ? n->columns : blocks * D;
        char name[96];
        int index;
        if (n->encoder_only && !edges)
            continue;
        snprintf(name, sizeof name, "%s_layers.%d.%s", stack, number, n->name);
        if ((index = bind(model, name, n->rows, columns, err)) < 0)
            return index;
        *(int *)(void *)((char *)layer + n->at) = index;
    }
    return 0;
}

/* A tensor as float32 in the model's arena. */
static int read_tensor(struct bi_model *model, const char *name, int64_t rows, int64_t columns,
                       const float **out, struct bioinfer_error *err)
{
    const struct bi_tensor *t = bi_checkpoint_find(model->cp, name);
    float *v;
    *out = NULL;
    if (!t || t->n_elements != (uint64_t)(rows * columns))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: tensor %s: %llu elements, expected [%lld, %lld]", model->cp->path, name,
                       t ? (unsigned long long)t->n_elements : 0, (long long)rows,
                       (long long)columns);
    if (!(v = bi_arena_calloc(&model->arena, (size_t)(rows * columns), sizeof *v)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", model->cp->path, name);
    *out = v;
    return bi_tensor_read_f32(model->cp, t, 0, t->n_elements, v, err);
}

/* A table made here, as a weight; columns 0: a vector. Rows are filled by the caller through
 * *out. */
static int new_table(struct bi_model *model, const char *name, int64_t rows, int64_t columns,
                     float **out, struct bioinfer_error *err)
{
    struct bi_weight w = {.rank = columns ? 2 : 1, .shape = {rows, columns ? columns : 1}};
    w.name = bi_arena_strndup(&model->arena, name, strlen(name));
    *out = bi_arena_calloc(&model->arena, (size_t)(rows * (columns ? columns : 1)), sizeof **out);
    if (!*out || !w.name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", model->cp->path, name);
    w.values = *out;
    return bi_model_weight(model, &w, err);
}

/* y[r, :] = w[:, first : first + n] x[r, :], in double. */
static void fold(float *y, int rows, const float *w, int64_t ldw, int64_t first, int n,
                 const float *x)
{
    for (int r = 0; r < rows; r++)
        for (int d = 0; d < D; d++) {
            double sum = 0;
            for (int i = 0; i < n; i++)
                sum += (double)w[d * ldw + first + i] * (double)x[r * n + i];
            y[r * D + d] = (float)sum;
        }
}

static int fold_tables(struct bi_model *model, struct mpnn *m, struct bioinfer_error *err)
{
    const float *edge, *position, *bias, *symbol, *w1;
    float classes[CLASSES * POSITION], *table;
    int st;
    if ((st = read_tensor(model, "features.edge_embedding.weight", D, m->edge_width, &edge, err)) ||
        (st = read_tensor(model, "features.embeddings.linear.weight", POSITION, CLASSES, &position,
                          err)) ||
        (st = read_tensor(model, "features.embeddings.linear.bias", POSITION, 1, &bias, err)) ||
        (st = read_tensor(model, "W_s.weight", BI_SYMBOLS, D, &symbol, err)))
        return st;
    for (int c = 0; c < CLASSES; c++)
        for (int i = 0; i < POSITION; i++)
            classes[c * POSITION + i] = position[i * CLASSES + c] + bias[i];
    if ((m->positions = new_table(model, "positions", CLASSES, D, &table, err)) < 0)
        return m->positions;
    fold(table, CLASSES, edge, m->edge_width, 0, POSITION, classes);
    for (int l = 0; l < LAYERS; l++) {
        char name[64];
        snprintf(name, sizeof name, "decoder_layers.%d.W1.weight", l);
        if ((st = read_tensor(model, name, D, 4 * D, &w1, err)))
            return st;
        snprintf(name, sizeof name, "symbols.%d", l);
        if ((m->decoder[l].table = new_table(model, name, BI_SYMBOLS + 1, D, &table, err)) < 0)
            return m->decoder[l].table;
        fold(table, BI_SYMBOLS, w1, 4 * D, 2 * D, D, symbol); /* the last row: none yet */
    }
    model->n_parameters += BI_SYMBOLS * D + CLASSES * POSITION + POSITION;
    return 0;
}

/* x <- norm(x) w + b of one row. */
static void norm_row(float *x, const float *w, const float *b)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < D; i++)
        mean += (double)x[i] / D;
    for (int i = 0; i < D; i++)
        variance += ((double)x[i] - mean) * ((double)x[i] - mean) / D;
    for (int i = 0; i < D; i++)
        x[i] = (float)(((double)x[i] - mean) / sqrt(variance + 1e-5) * (double)w[i] + (double)b[i]);
}

/* h_V of each label: W_v norm(node_embedding[:, label]) + b. */
static int fold_labels(struct bi_model *model, struct mpnn *m, struct bioinfer_error *err)
{
    const float *embed, *nw, *nb, *w, *b;
    float row[D], *table;
    int st;
    if ((st = read_tensor(model, "features.node_embedding.weight", D, LABELS, &embed, err)) ||
        (st = read_tensor(model, "features.norm_nodes.weight", D, 1, &nw, err)) ||
        (st = read_tensor(model, "features.norm_nodes.bias", D, 1, &nb, err)) ||
        (st = read_tensor(model, "W_v.weight", D, D, &w, err)) ||
        (st = read_tensor(model, "W_v.bias", D, 1, &b, err)))
        return st;
    if ((m->label_table = new_table(model, "labels", LABELS, D, &table, err)) < 0)
        return m->label_table;
    for (int l = 0; l < LABELS; l++) {
        for (int i = 0; i < D; i++)
            row[i] = embed[i * LABELS + l];
        norm_row(row, nw, nb);
        fold(table + l * D, 1, w, D, 0, D, row);
        for (int i = 0; i < D; i++)
            table[l * D + i] += b[i];
    }
    model->n_parameters += D * LABELS + 2 * D + D * D + D;
    return 0;
}

/* ---- weights of atoms ---- */

/* Group and period of an element, as the reference's table has them: 0 for none, lanthanides and
 * actinides in group 3. */
static void place_of(int z, int *group, int *period)
{
    static const uint8_t before[] = {0, 2, 10, 18, 36, 54, 86, 118}; /* noble gases */
    int p = 0, at, size;
    *group = *period = 0;
    if (!z)
        return;
    while (z > before[p])
        p++;
    at = z - before[p - 1];
    size = before[p] - before[p - 1];
    *period = p;
    if (at == size)
        *group = 18;
    else if (at <= 2)
        *group = at;
    else if (size == 8)
        *group = at + 10;
    else if (size == 18)
        *group = at;
    else /* 32 of them, of which fifteen share group 3 */
        *group = at <= 17 ? 3 : at - 14;
}

/* y = the columns of w [rows, TYPES] that element z has, added up. */
static void add_type(float *y, int rows, const float *w, int z)
{
    int group, period;
    place_of(z, &group, &period);
    for (int r = 0; r < rows; r++)
        y[r] = (float)((double)w[r * TYPES + z] + (double)w[r * TYPES + 120 + group] +
                       (double)w[r * TYPES + 139 + period]);
}

/* Makes the tables that an atom's features and element give a residue, and its element the atom. */
static int fold_elements(struct bi_model *model, struct context *c, struct bioinfer_error *err)
{
    const float *down, *down_b, *type, *type_b, *y_nodes, *nw, *nb, *w, *b;
    float *seen, *seen_table, *atom_table, row[D];
    int st;
    if ((st = read_tensor(model, "features.node_project_down.weight", D, SEEN, &down, err)) ||
        (st = read_tensor(model, "features.node_project_down.bias", D, 1, &down_b, err)) ||
        (st = read_tensor(model, "features.type_linear.weight", TYPE_WIDTH, TYPES, &type, err)) ||
        (st = read_tensor(model, "features.type_linear.bias", TYPE_WIDTH, 1, &type_b, err)) ||
        (st = read_tensor(model, "features.y_nodes.weight", D, TYPES, &y_nodes, err)) ||
        (st = read_tensor(model, "features.norm_y_nodes.weight", D, 1, &nw, err)) ||
        (st = read_tensor(model, "features.norm_y_nodes.bias", D, 1, &nb, err)) ||
        (st = read_tensor(model, "W_nodes_y.weight", D, D, &w, err)) ||
        (st = read_tensor(model, "W_nodes_y.bias", D, 1, &b, err)))
        return st;
    if ((c->seen_w = new_table(model, "atoms.seen", D, BI_ATOM_FEATURES, &seen, err)) < 0)
        return c->seen_w;
    if ((c->seen_table = new_table(model, "atoms.seen.elements", ELEMENTS, D, &seen_table, err)) <
        0)
        return c->seen_table;
    if ((c->atom_table = new_table(model, "atoms.elements", ELEMENTS, D, &atom_table, err)) < 0)
        return c->atom_table;
    for (int d = 0; d < D; d++) /* Gaussians, then the four directions behind the type */
        for (int i = 0; i < BI_ATOM_FEATURES; i++)
            seen[d * BI_ATOM_FEATURES + i] =
                down[d * SEEN + i + (i < 5 * BI_RBF_BINS ? 0 : TYPE_WIDTH)];
    for (int z = 0; z < ELEMENTS; z++) {
        add_type(row, TYPE_WIDTH, type, z);
        for (int i = 0; i < TYPE_WIDTH; i++)
            row[i] += type_b[i];
        fold(seen_table + z * D, 1, down, SEEN, 5 * BI_RBF_BINS, TYPE_WIDTH, row);
        for (int d = 0; d < D; d++)
            seen_table[z * D + d] += down_b[d];
        add_type(row, D, y_nodes, z);
        norm_row(row, nw, nb);
        fold(atom_table + z * D, 1, w, D, 0, D, row);
        for (int d = 0; d < D; d++)
            atom_table[z * D + d] += b[d];
    }
    model->n_parameters += D * SEEN + D + TYPE_WIDTH * TYPES + TYPE_WIDTH + D * TYPES + 2 * D +
                           D * D + D;
    return 0;
}

/* W1's second block times the product `inner` that stands in front of it, and the biases. */
static int fold_inner(struct bi_model *model, struct layer *layer, const char *stack, int number,
                      int blocks, const char *inner, struct bioinfer_error *err)
{
    const float *w1, *b1, *w, *b;
    float *out_w, *out_b;
    char name[96];
    int st;
    snprintf(name, sizeof name, "%s_layers.%d.W1.weight", stack, number);
    if ((st = read_tensor(model, name, D, blocks * D, &w1, err)))
        return st;
    snprintf(name, sizeof name, "%s_layers.%d.W1.bias", stack, number);
    if ((st = read_tensor(model, name, D, 1, &b1, err)))
        return st;
    snprintf(name, sizeof name, "%s.weight", inner);
    if ((st = read_tensor(model, name, D, D, &w, err)))
        return st;
    snprintf(name, sizeof name, "%s.bias", inner);
    if ((st = read_tensor(model, name, D, 1, &b, err)))
        return st;
    snprintf(name, sizeof name, "%s_layers.%d.W1 %s", stack, number, inner);
    if ((layer->context_w = new_table(model, name, D, D, &out_w, err)) < 0)
        return layer->context_w;
    snprintf(name, sizeof name, "%s_layers.%d.b1 %s", stack, number, inner);
    if ((layer->context_b = new_table(model, name, D, 0, &out_b, err)) < 0)
        return layer->context_b;
    for (int d = 0; d < D; d++) {
        const float *row = w1 + d * blocks * D + D;
        double bias = (double)b1[d];
        for (int k = 0; k < D; k++) {
            double sum = 0;
            for (int i = 0; i < D; i++)
                sum += (double)row[i] * (double)w[i * D + k];
            out_w[d * D + k] = (float)sum;
            bias += (double)row[k] * (double)b[k];
        }
        out_b[d] = (float)bias;
    }
    return 0;
}

static int open_context(struct bi_model *model, struct context *c, struct bioinfer_error *err)
{
    int st = 0;
#define BIND(member, name, rows, columns)                                                          \
    if ((c->member = bind(model, name, rows, columns, err)) < 0)                                   \
        return c->member;
    BIND(seen_nw, "features.norm_nodes.weight", D, 0)
    BIND(seen_nb, "features.norm_nodes.bias", D, 0)
    BIND(pair_w, "features.y_edges.weight", D, BI_RBF_BINS)
    BIND(pair_nw, "features.norm_y_edges.weight", D, 0)
    BIND(pair_nb, "features.norm_y_edges.bias", D, 0)
    BIND(c_w, "W_c.weight", D, D)
    BIND(c_b, "W_c.bias", D, 0)
    BIND(out_w, "V_C.weight", D, D)
    BIND(out_nw, "V_C_norm.weight", D, 0)
    BIND(out_nb, "V_C_norm.bias", D, 0)
#undef BIND
    for (int l = 0; !st && l < ATOM_LAYERS; l++)
        if (!(st = bind_layer(model, &c->atoms[l], "y_context_encoder", l, 2, false, err)) &&
            !(st = bind_layer(model, &c->residues[l], "context_encoder", l, 3, false, err)) &&
            !(st = fold_inner(model, &c->atoms[l], "y_context_encoder", l, 2, "W_edges_y", err)))
            st = fold_inner(model, &c->residues[l], "context_encoder", l, 3, "W_v", err);
    model->n_parameters += 2 * (D * D + D); /* W_edges_y, W_v */
    return st ? st : fold_elements(model, c, err);
}

/* ---- opening ---- */

/* Atoms of "x" by number: N, CA, C, O, C-beta; CA only: before, own, next. */
static const uint8_t atom_pairs[][2] = {{1, 1}, {0, 0}, {2, 2}, {3, 3}, {4, 4}, {1, 0}, {1, 2},
                                        {1, 3}, {1, 4}, {0, 2}, {0, 3}, {0, 4}, {4, 2}, {4, 3},
                                        {3, 2}, {0, 1}, {2, 1}, {3, 1}, {4, 1}, {2, 0}, {3, 0},
                                        {4, 0}, {2, 4}, {3, 4}, {2, 3}};
static const uint8_t ca_pairs[][2] = {{1, 1}, {0, 0}, {2, 2}, {0, 1}, {0, 2},
                                      {1, 0}, {1, 2}, {2, 0}, {2, 1}};

static int bind_pairs(struct bi_model *model, struct mpnn *m, struct bioinfer_error *err)
{
    const uint8_t(*pairs)[2] = m->ca_only ? ca_pairs : atom_pairs;
    float *table;
    m->n_pairs = m->ca_only ? (int)BI_COUNT(ca_pairs) : (int)BI_COUNT(atom_pairs);
    if ((m->pairs = new_table(model, "pairs", m->n_pairs, 2, &table, err)) < 0)
        return m->pairs;
    for (int i = 0; i < 2 * m->n_pairs; i++)
        table[i] = pairs[i / 2][i % 2];
    return 0;
}

static bool mpnn_recognise(const struct bi_checkpoint *cp)
{
    return bi_checkpoint_find(cp, "features.edge_embedding.weight") &&
           bi_checkpoint_find(cp, "features.embeddings.linear.weight") &&
           bi_checkpoint_find(cp, "decoder_layers.0.W1.weight");
}

/* A number of the checkpoint's own configuration under one of its names. */
static int64_t config_number(const struct bi_model *model, const char *const *names, int64_t none)
{
    for (; *names; names++) {
        const struct bi_meta *m = bi_checkpoint_meta(model->cp, *names);
        if (m && m->type == BI_META_INT)
            return m->i;
    }
    return none;
}

/* "proteinmpnn_v_48_020.mpnn" and "v_48_020.pt" are both "v_48_020". */
static const char *variant_of(struct bi_model *model)
{
    const char *base = strrchr(model->cp->path, '/'), *dot, *at;
    base = base ? base + 1 : model->cp->path;
    dot = strrchr(base, '.');
    at = strstr(base, "v_");
    if (!at || (dot && at > dot))
        at = base;
    return bi_arena_strndup(&model->arena, at, dot && dot > at ? (size_t)(dot - at) : strlen(at));
}

static int mpnn_open(struct bi_model *model, struct bioinfer_error *err)
{
    static const char *const k_names[] = {"metadata.k_neighbors", "num_edges", NULL};
    const struct bi_tensor *edge = bi_checkpoint_find(model->cp, "features.edge_embedding.weight");
    struct mpnn *m = bi_arena_calloc(&model->arena, 1, sizeof *m);
    static const char *const atom_names[] = {"metadata.atom_context_num", "atom_context_num", NULL};
    const bool ligand = bi_checkpoint_find(model->cp, "features.type_linear.weight");
    int64_t k, n_atoms;
    int st = 0;
    if (!m)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    if (edge->rank != 2 || edge->shape[0] != D || (edge->shape[1] != 416 && edge->shape[1] != 167))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %s: shape [%llu, %llu], expected [128, 416], or "
                       "[128, 167] of CA-only weights",
                       model->cp->path, edge->name, (unsigned long long)edge->shape[0],
                       edge->rank > 1 ? (unsigned long long)edge->shape[1] : 0);
    m->edge_width = (int)edge->shape[1];
    m->ca_only = m->edge_width == 167;
    m->labels = !m->ca_only && !ligand &&
                bi_checkpoint_find(model->cp, "features.node_embedding.weight");
    k = config_number(model, k_names, ligand ? 32 : 48);
    n_atoms = ligand ? config_number(model, atom_names, 25) : 0;
    if (k < 1 || k > BI_NEIGHBORS_MAX || (ligand && (n_atoms < 1 || n_atoms > BI_NEIGHBORS_MAX)))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: %lld neighbours, %lld atoms; at most %d are "
                       "possible",
                       model->cp->path, (long long)k, (long long)n_atoms, BI_NEIGHBORS_MAX);
    if (ligand && m->ca_only)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: ligand context of CA-only weights",
                       model->cp->path);
    m->n_atoms = (int)n_atoms;
#define BIND(member, name, rows, columns)                                                          \
    if ((m->member = bind(model, name, rows, columns, err)) < 0)                                   \
        return m->member;
    BIND(edge_w, "features.edge_embedding.weight", D, m->edge_width)
    BIND(norm_w, "features.norm_edges.weight", D, 0)
    BIND(norm_b, "features.norm_edges.bias", D, 0)
    BIND(we_w, "W_e.weight", D, D)
    BIND(we_b, "W_e.bias", D, 0)
    BIND(out_w, "W_out.weight", BI_SYMBOLS, D)
    BIND(out_b, "W_out.bias", BI_SYMBOLS, 0)
#undef BIND
    for (int l = 0; !st && l < LAYERS; l++)
        if (!(st = bind_layer(model, &m->encoder[l], "encoder", l, 3, true, err)))
            st = bind_layer(model, &m->decoder[l], "decoder", l, 4, false, err);
    if (st || (st = fold_tables(model, m, err)) || (st = bind_pairs(model, m, err)) ||
        (m->labels && (st = fold_labels(model, m, err))) ||
        (ligand && (st = open_context(model, &m->context, err))))
        return st;
    model->config = m;
    model->tokens = symbols;
    model->vocab_size = BI_SYMBOLS;
    model->n_layers = 2 * LAYERS;
    model->width = D;
    model->n_heads = 1;
    model->head_dim = D;
    model->design = &m->facts;
    m->facts = (struct bi_design_facts){.k = (int)k,
                                        .ca_only = m->ca_only,
                                        .labels = m->labels,
                                        .ligand_atoms = m->n_atoms,
                                        .run_py = m->labels || ligand,
                                        .torch_draws = m->ca_only  ? 3275237
                                                       : m->labels ? 3338981
                                                       : ligand    ? 5210789
                                                                   : 3305317,
                                        .variant = variant_of(model)};
    model->name = bi_arena_printf(&model->arena, "proteinmpnn%s",
                                  m->ca_only  ? "-ca"
                                  : m->labels ? "-membrane"
                                  : ligand    ? "-ligand"
                                              : "");
    if (!model->name || !m->facts.variant)
        return bi_fail(err, BIOINFER_NOMEM, "%s: name", model->cp->path);
    return 0;
}

/* ---- graph ---- */

#define NO_EDGES                                                                                   \
    (struct bi_edge_args)                                                                          \
    {                                                                                              \
        BI_NONE, BI_NONE, BI_NONE, BI_NONE, BI_NONE, BI_NONE, BI_NONE, BI_NONE, BI_NONE, BI_NONE   \
    }

struct builder {
    const struct bi_model *model;
    const struct mpnn *m;
    struct bi_graph *g;
    int32_t k;
    bi_value_id mask, index, x; /* x: [N, 15], CA-only [N, 9] */
};

static bi_value_id weight(const struct builder *b, int index)
{
    return bi_model_value(b->model, b->g, index);
}

static bi_value_id linear(const struct builder *b, bi_value_id x, int w, int bias)
{
    return bi_add(b->g, bi_matmul(b->g, x, weight(b, w)), weight(b, bias));
}

/* x w[:, block D : (block + 1) D]^T */
static bi_value_id block(const struct builder *b, bi_value_id x, int w, int at)
{
    return bi_matmul(b->g, x, bi_weight_columns(b->g, weight(b, w), at * D, D));
}

static bi_value_id norm(const struct builder *b, bi_value_id x, int w, int bias)
{
    return bi_layernorm(b->g, x, weight(b, w), weight(b, bias), 1e-5f);
}

static bi_value_id feed_forward(const struct builder *b, const struct layer *l, bi_value_id h)
{
    bi_value_id y = linear(b, bi_gelu(b->g, linear(b, h, l->in_w, l->in_b)), l->out_w, l->out_b);
    return norm(b, bi_add(b->g, y, h), l->n2w, l->n2b);
}

/* Features of edges and h_E. */
static bi_value_id edges(struct builder *b, const struct bi_design_shape *s, bi_value_id start)
{
    const struct mpnn *m = b->m;
    struct bi_graph *g = b->g;
    int64_t n = s->n_tokens;
    bi_value_id x = bi_input_matrix(g, "x", BI_F32, BI_AXIS_TOKENS, n, m->ca_only ? 9 : 12);
    bi_value_id number = bi_input(g, "number", BI_I32, BI_AXIS_TOKENS, n);
    bi_value_id chain = bi_input(g, "chain", BI_I32, BI_AXIS_TOKENS, n);
    bi_value_id cells = bi_input(g, "cells", BI_I32, BI_AXIS_FIXED, s->n_cells);
    bi_value_id grid = bi_input_matrix(g, "grid", BI_I32, BI_AXIS_SEQS, s->n_structures, 8);
    bi_value_id distance, e, w = weight(b, m->edge_w);
    if (!m->ca_only)
        x = bi_virtual_cb(g, x);
    b->x = x;
    b->index = bi_knn(g, x, 3, b->mask, start, cells, grid, b->k, &distance);
    e = bi_rbf(g, x, b->index, distance, weight(b, m->pairs));
    e = bi_matmul(g, e, bi_weight_columns(g, w, POSITION, BI_RBF_BINS * m->n_pairs));
    e = bi_add(g, e, bi_relative(g, weight(b, m->positions), number, chain, b->index));
    if (m->ca_only)
        e = bi_add(g,
                   bi_matmul(g, bi_orientation(g, x, 3, b->index, start),
                             bi_weight_columns(g, w, m->edge_width - 7, 7)),
                   e);
    return linear(b, norm(b, e, m->norm_w, m->norm_b), m->we_w, m->we_b);
}

static bi_value_id encoder_layer(const struct builder *b, const struct layer *l, bi_value_id h,
                                 bi_value_id *edge)
{
    struct bi_graph *g = b->g;
    bi_value_id x = bi_edge_concat(g, h, *edge, b->index), weight_sum;
    x = bi_gelu(g, linear(b, bi_gelu(g, linear(b, x, l->w1, l->b1)), l->w2, l->b2));
    x = bi_neighbor_sum(g, linear(b, x, l->w3, l->b3), b->mask, b->index, BI_NONE, b->k, 1 / 30.0f,
                        &weight_sum);
    h = norm(b, bi_add(g, x, h), l->n1w, l->n1b);
    h = bi_scale_rows(g, feed_forward(b, l, h), b->mask);
    x = bi_edge_concat(g, h, *edge, b->index);
    x = bi_gelu(g, linear(b, bi_gelu(g, linear(b, x, l->w11, l->b11)), l->w12, l->b12));
    *edge = norm(b, bi_add(g, linear(b, x, l->w13, l->b13), *edge), l->n3w, l->n3b);
    return h;
}

/* A layer whose edges are its rows' own: what they add is in `edge`. */
static bi_value_id own_layer(const struct builder *b, const struct layer *l, bi_value_id h,
                             bi_value_id edge, bi_value_id edge_mask, bi_value_id mask)
{
    struct bi_graph *g = b->g;
    struct bi_edge_args args = NO_EDGES;
    bi_value_id x, weight_sum;
    args.edge = edge;
    args.self = block(b, h, l->w1, 0);
    x = bi_gelu(g, linear(b, bi_gelu(g, bi_edge_sum(g, &args, b->m->n_atoms)), l->w2, l->b2));
    x = bi_neighbor_sum(g, linear(b, x, l->w3, l->b3), edge_mask, BI_NONE, BI_NONE, b->m->n_atoms,
                        1 / 30.0f, &weight_sum);
    return bi_scale_rows(g, feed_forward(b, l, norm(b, bi_add(g, x, h), l->n1w, l->n1b)), mask);
}

/* h_V with what is around the residues. */
static bi_value_id context(const struct builder *b, int64_t n, bi_value_id h)
{
    const struct context *c = &b->m->context;
    struct bi_graph *g = b->g;
    const int32_t k = b->m->n_atoms;
    bi_value_id atoms = bi_input_matrix(g, "atoms", BI_F32, BI_AXIS_ATOMS, n * k, 3);
    bi_value_id mask = bi_input(g, "atom_mask", BI_F32, BI_AXIS_ATOMS, n * k);
    bi_value_id element = bi_input(g, "element", BI_I32, BI_AXIS_ATOMS, n * k);
    bi_value_id seen, y = bi_select_rows(g, weight(b, c->atom_table), element), pairs, pair_mask;
    bi_value_id h_c = linear(b, h, c->c_w, c->c_b);
    seen = bi_matmul(g, bi_atom_features(g, b->x, atoms), weight(b, c->seen_w));
    seen = bi_add(g, seen, bi_select_rows(g, weight(b, c->seen_table), element));
    seen = norm(b, seen, c->seen_nw, c->seen_nb);
    pairs = bi_atom_pairs(g, atoms, mask, k, &pair_mask);
    pairs = norm(b, bi_matmul(g, pairs, weight(b, c->pair_w)), c->pair_nw, c->pair_nb);
    for (int l = 0; l < ATOM_LAYERS; l++) {
        const struct layer *a = &c->atoms[l], *r = &c->residues[l];
        y = own_layer(b, a, y, linear(b, pairs, a->context_w, a->context_b), pair_mask, mask);
        h_c = own_layer(
            b, r, h_c,
            bi_add(g, linear(b, seen, r->context_w, r->context_b), block(b, y, r->w1, 2)), mask,
            b->mask);
    }
    return bi_add(g, norm(b, bi_matmul(g, h_c, weight(b, c->out_w)), c->out_nw, c->out_nb), h);
}

/* One decoder layer of rows whose own share is `self`; its neighbours' are in `args`. */
static bi_value_id decoder_layer(const struct builder *b, const struct layer *l, bi_value_id h,
                                 const struct bi_edge_args *given)
{
    struct bi_graph *g = b->g;
    struct bi_edge_args args = *given;
    bi_value_id x, weight_sum;
    args.self = block(b, h, l->w1, 0);
    args.index = b->index;
    x = bi_gelu(g, linear(b, bi_gelu(g, bi_edge_sum(g, &args, b->k)), l->w2, l->b2));
    x = bi_neighbor_sum(g, linear(b, x, l->w3, l->b3), BI_NONE, b->index, args.token, b->k,
                        1 / 30.0f, &weight_sum);
    return feed_forward(b, l, norm(b, bi_add(g, x, h), l->n1w, l->n1b));
}

/* Values that edges and the encoder add in each decoder layer, for all that follows. */
struct shares {
    bi_value_id edge[LAYERS], late[LAYERS];
};

static bi_value_id unconditional(const struct builder *b, const struct shares *s, bi_value_id h)
{
    for (int l = 0; l < LAYERS; l++) {
        struct bi_edge_args args = NO_EDGES;
        args.edge = s->edge[l];
        args.other = s->late[l];
        h = bi_scale_rows(b->g, decoder_layer(b, &b->m->decoder[l], h, &args), b->mask);
    }
    return linear(b, h, b->m->out_w, b->m->out_b);
}

/* All positions at once, their symbols known. h: [N, D] of the encoder. */
static bi_value_id score(const struct builder *b, const struct bi_design_shape *shape,
                         const struct shares *s, bi_value_id h, bi_value_id codes,
                         bi_value_id token)
{
    struct bi_graph *g = b->g;
    bi_value_id rank = bi_input(g, "rank", BI_I32, BI_AXIS_SAMPLED, shape->n_sampled);
    bi_value_id mask = bi_input(g, "sampled_mask", BI_F32, BI_AXIS_SAMPLED, shape->n_sampled);
    h = bi_select_rows(g, h, token);
    for (int l = 0; l < LAYERS; l++) {
        struct bi_edge_args args = NO_EDGES;
        args.edge = s->edge[l];
        args.late = s->late[l];
        args.other = block(b, h, b->m->decoder[l].w1, 3);
        args.rank = rank;
        args.codes = codes;
        args.table = weight(b, b->m->decoder[l].table);
        args.token = token;
        h = bi_scale_rows(g, decoder_layer(b, &b->m->decoder[l], h, &args), mask);
    }
    return linear(b, h, b->m->out_w, b->m->out_b);
}

static void sample(const struct builder *b, const struct bi_design_shape *shape,
                   const struct shares *s, bi_value_id h, bi_value_id token)
{
    struct bi_graph *g = b->g;
    int64_t n = shape->n_samples, m = shape->n_sampled;
    bi_value_id start = bi_input(g, "sample_start", BI_I32, BI_AXIS_SAMPLES, n + 1);
    bi_value_id first = bi_input(g, "sample_first", BI_I32, BI_AXIS_SAMPLES, n);
    bi_value_id plan = bi_input_matrix(g, "plan", BI_I32, BI_AXIS_SAMPLED, m, BI_STEP_WIDTH);
    bi_value_id tied = bi_input(g, "weight", BI_F32, BI_AXIS_SAMPLED, m);
    bi_value_id noise = bi_input_matrix(g, "noise", BI_F64, BI_AXIS_SAMPLED, m, BI_SYMBOLS);
    bi_value_id temperature = bi_input(g, "temperature", BI_F32, BI_AXIS_SAMPLES, n);
    bi_value_id terms = bi_input_matrix(g, "terms", BI_F64, BI_AXIS_FIXED, shape->n_terms,
                                        BI_TERMS);
    bi_value_id step = bi_fill(g, BI_I32, BI_AXIS_FIXED, 1, 0, 0), x;
    bi_value_id codes = bi_fill(g, BI_I32, BI_AXIS_SAMPLED, m, 0, BI_SYMBOLS);
    bi_value_id logits = bi_fill(g, BI_F32, BI_AXIS_SAMPLED, m, BI_SYMBOLS, 0);
    bi_value_id known[LAYERS];
    struct bi_step_values now;
    for (int l = 0; l < LAYERS; l++)
        known[l] = bi_select_rows(g, s->late[l], token);
    bi_loop_begin(g, BI_COUNTER_n_steps);
    step = bi_next_step(g, step, start, first, plan, &now);
    x = bi_select_rows(g, h, now.token);
    for (int l = 0; l < LAYERS; l++) {
        struct bi_edge_args args = NO_EDGES;
        bi_value_id own = block(b, x, b->m->decoder[l].w1, 3);
        args.edge = s->edge[l];
        args.other = known[l];
        args.codes = codes;
        args.table = weight(b, b->m->decoder[l].table);
        args.row = now.row;
        args.token = now.token;
        x = bi_scale_rows(g, decoder_layer(b, &b->m->decoder[l], x, &args), now.alive);
        bi_put_rows(g, known[l], own, now.row);
    }
    logits = bi_put_rows(g, logits, linear(b, x, b->m->out_w, b->m->out_b), now.row);
    codes = bi_draw(g, codes, logits, step, start, plan, tied, noise, temperature, terms);
    bi_loop_end(g);
    bi_output(g, codes, BI_DESIGN_CODES, -1, "codes");
    bi_output(g, logits, BI_DESIGN_LOGITS, -1, "logits");
    if (shape->rescore)
        bi_output(g, score(b, shape, s, h, codes, token), BI_DESIGN_RESCORED, -1, "rescored");
}

/* Says how many neighbours and atoms a residue has. */
static void count_axes(const struct bi_model *model, struct bi_graph *g)
{
    const int32_t k = model->design->k, atoms = model->design->ligand_atoms;
    bi_axis_times(g, BI_AXIS_EDGES, BI_AXIS_TOKENS, k);
    bi_axis_times(g, BI_AXIS_SAMPLE_EDGES, BI_AXIS_SAMPLES, k);
    bi_axis_times(g, BI_AXIS_SAMPLED_EDGES, BI_AXIS_SAMPLED, k);
    bi_axis_times(g, BI_AXIS_ATOMS, BI_AXIS_TOKENS, atoms);
    bi_axis_times(g, BI_AXIS_PAIRS, BI_AXIS_ATOMS, atoms);
}

static void mpnn_build(const struct bi_model *model, struct bi_graph *g,
                       const struct bi_design_shape *shape)
{
    const struct mpnn *m = model->config;
    struct builder b = {.model = model, .m = m, .g = g, .k = model->design->k};
    int64_t n = shape->n_tokens;
    bi_value_id start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, shape->n_structures + 1);
    bi_value_id h, edge, token = BI_NONE;
    struct shares s;
    count_axes(model, g);
    b.mask = bi_input(g, "mask", BI_F32, BI_AXIS_TOKENS, n);
    edge = edges(&b, shape, start);
    h = m->labels ? bi_embedding(g, weight(&b, m->label_table),
                                 bi_input(g, "label", BI_I32, BI_AXIS_TOKENS, n))
                  : bi_fill(g, BI_F32, BI_AXIS_TOKENS, n, D, 0);
    for (int l = 0; l < LAYERS; l++)
        h = encoder_layer(&b, &m->encoder[l], h, &edge);
    if (m->n_atoms)
        h = context(&b, n, h);
    for (int l = 0; l < LAYERS; l++) {
        const struct layer *d = &m->decoder[l];
        s.edge[l] = bi_add(g, block(&b, edge, d->w1, 1), weight(&b, d->b1));
        s.late[l] = block(&b, h, d->w1, 3);
    }
    if (shape->pass != BI_PASS_UNCONDITIONAL)
        token = bi_input(g, "token", BI_I32, BI_AXIS_SAMPLED, shape->n_sampled);
    if (shape->pass == BI_PASS_UNCONDITIONAL)
        bi_output(g, unconditional(&b, &s, h), BI_DESIGN_LOGITS, -1, "logits");
    else if (shape->pass == BI_PASS_SCORE)
        bi_output(g,
                  score(&b, shape, &s, h,
                        bi_input(g, "codes", BI_I32, BI_AXIS_SAMPLED, shape->n_sampled), token),
                  BI_DESIGN_LOGITS, -1, "logits");
    else
        sample(&b, shape, &s, h, token);
}

static const struct bi_design_def designs = {.build = mpnn_build};

static int mpnn_facts(const struct bi_model *model, struct bi_hash *to)
{
    const struct mpnn *m = model->config;
    bi_hash_int(to, "neighbours", m->facts.k);
    bi_hash_int(to, "ca_only", m->ca_only);
    bi_hash_int(to, "labels", m->labels);
    bi_hash_int(to, "edge_width", m->edge_width);
    bi_hash_int(to, "n_pairs", m->n_pairs);
    bi_hash_int(to, "n_atoms", m->n_atoms);
    return 0;
}

/* The others are in the repositories of the published programs, not in the hub. */
static const struct bi_release releases[] = {
    {"proteinmpnn/proteinmpnn_v_48_020.mpnn", "MIT, comes with bioinfer", NULL, 1660485, 3329866},
    {0}};

const struct bi_model_def bi_model_proteinmpnn = {
    .name = "proteinmpnn",
    .summary = "ProteinMPNN: designs sequences for protein backbones",
    .default_name = "proteinmpnn/proteinmpnn_v_48_020.mpnn",
    .releases = releases,
    .gpu = true,
    .half = BI_HALF_NEVER,
    .recognise = mpnn_recognise,
    .open = mpnn_open,
    .kind = &bi_kind_design,
    .def = &designs,
    .facts = mpnn_facts,
};

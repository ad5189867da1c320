/* model.c - ESMFold: structures of proteins from single sequences.
 *
 * facebook/esmfold_v1, MIT, as transformers saves it. S 1,024 and Z 128 wide, 48 blocks, written
 * from a specification and compared with transformers' EsmForProteinFolding.
 *
 *   stem:  s0 = W2 relu(W1 LN(sum over ESM-2's representations, by shares)) + table[residue]
 *   pass:  s = s0 + LN(s of the pass before); z = LN(z of the pass before) + table[distance of two
 *          C-beta of the pass before] + table[distance along the chain, up to 32]
 *   block: s += attention(LN s, biased by LN z); s += mlp(s); z += W [k_i q_j, q_j - k_i] of LN s;
 *          z += triangle products, outgoing, then incoming; z += attention along rows, then
 *          columns, biased by z of the third side; z += mlp(z)
 *   structure module, 8 times with one set of weights: s = LN(s + point attention with pairs);
 *          s = LN(s + l3 relu(l2 relu(l1 s))); frames = update(frames, linear(s))
 *
 * Before the first pass all of the pass before is 0, and two residues are in the first class of
 * distances; X stands at 0 after any pass. The published program runs 4 passes (max_recycles) and
 * has no early stop. Translations are in units of 10 angstrom.
 *
 * The product of a triangle passes the range of float16 where weights are large. Its op writes
 * float32 on every device, and the norm after it reads that, so no scale is needed.
 *
 * Sections: graph of the stem, of a pass, the family. */
#include <math.h>
#include <string.h>

#include "esmfold.h"

static const float eps = 1e-5f, point_eps = 1e-8f;
static const float nearest = 3.375f, farthest = 21.375f; /* classes of distances, in angstrom */

struct builder {
    const struct bi_model *model;
    const struct esmfold *f;
    struct bi_graph *g;
    bi_value_id start, grid_start, row_start, code, number;
};

static bi_value_id value(const struct builder *b, int index)
{
    return bi_model_value(b->model, b->g, index);
}

static bi_value_id product(const struct builder *b, bi_value_id x, struct esmfold_linear l)
{
    const bi_value_id y = bi_matmul(b->g, x, value(b, l.w));
    return l.b < 0 ? y : bi_add(b->g, y, value(b, l.b));
}

static bi_value_id norm(const struct builder *b, bi_value_id x, struct esmfold_linear l)
{
    return bi_layernorm(b->g, x, value(b, l.w), value(b, l.b), eps);
}

static bi_value_id relu(const struct builder *b, bi_value_id x)
{
    return bi_norm_act(b->g, x, BI_NONE, BI_NONE, BI_NORM_ACT_RELU, 0);
}

/* mlp: norm, product, product. */
static bi_value_id mlp(const struct builder *b, bi_value_id x, const struct esmfold_linear of[3])
{
    return product(b, relu(b, product(b, norm(b, x, of[0]), of[1])), of[2]);
}

/* y gated by sigmoid(x W + b) */
static bi_value_id gated(const struct builder *b, bi_value_id x, struct esmfold_linear gate,
                         bi_value_id y)
{
    return bi_mul(b->g, bi_sigmoid(b->g, product(b, x, gate)), y);
}

/* ---- the stem ---- */

static void build_stem(const struct bi_model *model, struct bi_graph *g,
                       const struct bi_fold_shape *shape)
{
    const struct esmfold *f = model->config;
    const struct builder b = {.model = model, .f = f, .g = g};
    const bi_value_id x = bi_esm_mix(model, g,
                                     &(struct bi_shape){.n_tokens = shape->n_tokens,
                                                        .n_seqs = shape->n_records,
                                                        .longest = shape->longest},
                                     f->mix);
    const bi_value_id rows = bi_input(g, "rows", BI_I32, BI_AXIS_ROWS, shape->n_rows);
    bi_output_kept(g, mlp(&b, bi_select_rows(g, x, rows), f->stem), ESMFOLD_KEPT_STEM);
}

/* ---- a pass: the trunk ---- */

/* Part `which` of q, k and v, which follow each other within each head. */
static bi_value_id part(const struct builder *b, bi_value_id x, struct esmfold_linear l, int which)
{
    const int64_t width = b->f->size[ESMFOLD_SEQUENCE], d = b->f->size[ESMFOLD_SEQUENCE_HEAD];
    struct bi_graph *g = b->g;
    int32_t *rows = bi_arena_calloc(&g->arena, (size_t)width, sizeof *rows);
    if (!rows)
        return bi_graph_fail(g, BIOINFER_NOMEM, "esmfold: rows of heads");
    for (int64_t i = 0; i < width; i++)
        rows[i] = (int32_t)(i / d * 3 * d + which * d + i % d);
    return bi_matmul(g, x, bi_weight_rows(g, value(b, l.w), rows, width));
}

static bi_value_id attend(const struct builder *b, const struct esmfold_block *k, bi_value_id s,
                          bi_value_id z)
{
    const int64_t *n = b->f->size;
    const int32_t heads = (int32_t)(n[ESMFOLD_SEQUENCE] / n[ESMFOLD_SEQUENCE_HEAD]);
    struct bi_graph *g = b->g;
    const bi_value_id bias = product(b, norm(b, z, k->bias_norm), k->bias);
    const bi_value_id x = norm(b, s, k->norm);
    const bi_value_id q = bi_scale(g, part(b, x, k->qkv, 0),
                                   1 / sqrtf((float)n[ESMFOLD_SEQUENCE_HEAD]));
    bi_value_id y = bi_scores(g, q, part(b, x, k->qkv, 1), b->start, heads);
    y = bi_softmax(g, bi_grid_bias(g, y, bias, b->start, b->grid_start), b->start);
    y = bi_mix(g, y, part(b, x, k->qkv, 2), b->start);
    return product(b, gated(b, x, k->gate, y), k->out);
}

/* o [k_i q_j, q_j - k_i] + its bias, for pairs (i, j). */
static bi_value_id to_pair(const struct builder *b, const struct esmfold_block *k, bi_value_id s)
{
    const int32_t half = (int32_t)b->f->size[ESMFOLD_PAIR] / 2;
    struct bi_graph *g = b->g;
    const bi_value_id p = product(b, norm(b, s, k->to_pair_norm), k->to_pair);
    const bi_value_id key = bi_columns(g, p, half, half), query = bi_columns(g, p, 0, half);
    const bi_value_id w = value(b, k->to_pair_out.w);
    const bi_value_id right = bi_weight_columns(g, w, half, half);
    const bi_value_id column = bi_add(g, bi_matmul(g, query, right), value(b, k->to_pair_out.b));
    const bi_value_id y = bi_matmul(g, bi_outer_mul(g, key, query, b->start, b->grid_start),
                                    bi_weight_columns(g, w, 0, half));
    return bi_outer_add(g, y, bi_scale(g, bi_matmul(g, key, right), -1), column, b->start,
                        b->grid_start);
}

static bi_value_id triangle(const struct builder *b, const struct esmfold_triangle *t,
                            bi_value_id z, bool incoming)
{
    const bi_value_id x = norm(b, z, t->norm_in);
    const bi_value_id left = gated(b, x, t->a_gate, product(b, x, t->a_value));
    const bi_value_id right = gated(b, x, t->b_gate, product(b, x, t->b_value));
    const bi_value_id u = bi_triangle(b->g, left, right, b->grid_start, incoming);
    return gated(b, x, t->gate, product(b, norm(b, u, t->norm_out), t->out));
}

/* Attention of each row of pairs over its columns. */
static bi_value_id attend_rows(const struct builder *b, const struct esmfold_rows *r, bi_value_id z)
{
    const int64_t d = b->f->size[ESMFOLD_PAIR_HEAD];
    const int32_t heads = (int32_t)(b->f->size[ESMFOLD_PAIR] / d);
    struct bi_graph *g = b->g;
    const bi_value_id x = norm(b, z, r->norm);
    const bi_value_id q = bi_scale(g, product(b, x, r->q), 1 / sqrtf((float)d));
    bi_value_id y = bi_scores(g, q, product(b, x, r->k), b->row_start, heads);
    y = bi_grid_bias(g, y, product(b, x, r->bias), b->row_start, b->grid_start);
    y = bi_mix(g, bi_softmax(g, y, b->row_start), product(b, x, r->v), b->row_start);
    return product(b, gated(b, x, r->gate, y), r->out);
}

static void block(const struct builder *b, const struct esmfold_block *k, bi_value_id *s,
                  bi_value_id *z)
{
    struct bi_graph *g = b->g;
    *s = bi_add(g, *s, attend(b, k, *s, *z));
    *s = bi_add(g, *s, mlp(b, *s, k->mlp));
    *z = bi_add(g, *z, to_pair(b, k, *s));
    *z = bi_add(g, *z, triangle(b, &k->outgoing, *z, false));
    *z = bi_add(g, *z, triangle(b, &k->incoming, *z, true));
    *z = bi_add(g, *z, attend_rows(b, &k->start, *z));
    *z = bi_add(g, *z,
                bi_turn(g, attend_rows(b, &k->end, bi_turn(g, *z, b->grid_start)), b->grid_start));
    *z = bi_add(g, *z, mlp(b, *z, k->pair_mlp));
}

/* ---- a pass: the structure module ---- */

/* Part `which` of keys and values, which follow each other within each head. */
static bi_value_id head_part(const struct builder *b, bi_value_id s, int which)
{
    const int64_t c = b->f->size[ESMFOLD_SM_HEAD], width = b->f->size[ESMFOLD_SM_HEADS] * c;
    struct bi_graph *g = b->g;
    int32_t *rows = bi_arena_calloc(&g->arena, (size_t)width, sizeof *rows);
    if (!rows)
        return bi_graph_fail(g, BIOINFER_NOMEM, "esmfold: rows of heads");
    for (int64_t i = 0; i < width; i++)
        rows[i] = (int32_t)(i / c * 2 * c + which * c + i % c);
    return bi_add(g, bi_matmul(g, s, bi_weight_rows(g, value(b, b->f->kv.w), rows, width)),
                  bi_weight_rows(g, value(b, b->f->kv.b), rows, width));
}

/* z and bias: of pairs. */
static bi_value_id point_attention(const struct builder *b, bi_value_id s, bi_value_id frame,
                                   bi_value_id z, bi_value_id bias)
{
    const struct esmfold *f = b->f;
    const bi_value_id in[12] = {product(b, s, f->q),
                                head_part(b, s, 0),
                                head_part(b, s, 1),
                                product(b, s, f->q_points),
                                product(b, s, f->kv_points),
                                frame,
                                value(b, f->head_weights.w),
                                b->start,
                                BI_NONE,
                                bias,
                                z,
                                b->grid_start};
    return product(b,
                   bi_point_attention(b->g, in, (int32_t)f->size[ESMFOLD_SM_HEADS], 0, point_eps),
                   f->sm_out);
}

/* Returns s of the last block and, in *frame, its frames. */
static bi_value_id structure(const struct builder *b, bi_value_id s, bi_value_id z,
                             bi_value_id *frame)
{
    const struct esmfold *f = b->f;
    const bi_value_id pairs = norm(b, product(b, z, f->to_sm_pair), f->sm_pair_norm);
    const bi_value_id bias = product(b, pairs, f->sm_bias);
    *frame = BI_NONE;
    s = product(b, s, f->sm_in);
    for (int64_t i = 0; i < f->size[ESMFOLD_SM_BLOCKS]; i++) {
        bi_value_id y;
        s = norm(b, bi_add(b->g, s, point_attention(b, s, *frame, pairs, bias)), f->sm_out_norm);
        y = relu(b, product(b, s, f->transition[0]));
        y = product(b, relu(b, product(b, y, f->transition[1])), f->transition[2]);
        s = norm(b, bi_add(b->g, s, y), f->transition_norm);
        *frame = bi_frame_update(b->g, *frame, product(b, s, f->update));
    }
    return s;
}

static bi_value_id angles(const struct builder *b, bi_value_id s, bi_value_id s0)
{
    const struct esmfold *f = b->f;
    bi_value_id y = bi_add(b->g, product(b, relu(b, s), f->angle_in),
                           product(b, relu(b, s0), f->angle_initial));
    for (int k = 0; k < ESMFOLD_RESNET_BLOCKS; k++)
        y = bi_add(b->g, y,
                   product(b, relu(b, product(b, relu(b, y), f->angle[k][0])), f->angle[k][1]));
    return product(b, relu(b, y), f->angle_out);
}

/* ---- a pass ---- */

/* A kept value of the pass before, or 0 where there was none. */
static bi_value_id before(const struct builder *b, bool first, const char *name, enum bi_axis axis,
                          int64_t rows, int64_t width)
{
    return first ? bi_fill(b->g, BI_F32, axis, rows, width, 0)
                 : bi_input_kept(b->g, name, axis, rows, width);
}

/* s and z with which a pass begins. */
static void begin(struct builder *b, const struct bi_fold_shape *shape, bi_value_id *s,
                  bi_value_id *z)
{
    const bool first = shape->program == BI_FOLD_FIRST || shape->program == BI_FOLD_ONLY;
    const struct esmfold *f = b->f;
    const int64_t width = f->size[ESMFOLD_SEQUENCE], pairs = f->size[ESMFOLD_PAIR];
    const int64_t n = shape->n_tokens;
    struct bi_graph *g = b->g;
    const bi_value_id frame = first ? BI_NONE
                                    : bi_input_kept(g, ESMFOLD_KEPT_FRAME, BI_AXIS_TOKENS, n,
                                                    BI_FOLDED_FRAME);
    const bi_value_id at = first ? BI_NONE : bi_gather_sum(g, value(b, f->places), b->code, 1);
    const bi_value_id stem = bi_input_kept(g, ESMFOLD_KEPT_STEM, BI_AXIS_TOKENS, n, width);
    *s = bi_add(g, stem, bi_gather_sum(g, value(b, f->letters.w), b->code, 1));
    *s = bi_add(g, *s,
                norm(b, before(b, first, ESMFOLD_KEPT_TOKENS, BI_AXIS_TOKENS, n, width), f->again));
    *z = norm(b, before(b, first, ESMFOLD_KEPT_PAIRS, BI_AXIS_GRID, shape->n_grid, pairs),
              f->again_pair);
    *z = bi_pair_embedding(g,
                           (const bi_value_id[]){*z, value(b, f->far.w), BI_NONE, frame, at,
                                                 b->start, b->grid_start, BI_NONE},
                           nearest, farthest);
    *z = bi_pair_embedding(g,
                           (const bi_value_id[]){*z, value(b, f->gaps.w), b->number, BI_NONE,
                                                 BI_NONE, b->start, b->grid_start, BI_NONE},
                           0, 0);
}

/* Translations in angstrom. */
static bi_value_id in_angstrom(const struct builder *b, bi_value_id frame)
{
    return bi_norm_act(b->g, frame, value(b, b->f->units), BI_NONE, BI_NORM_ACT_NONE, 0);
}

static void build_pass(const struct bi_model *model, struct bi_graph *g,
                       const struct bi_fold_shape *shape)
{
    const struct esmfold *f = model->config;
    struct builder b = {.model = model, .f = f, .g = g};
    bi_value_id s, z, s0, frame, levels;
    b.code = bi_input_matrix(g, "code", BI_I32, BI_AXIS_TOKENS, shape->n_tokens, BI_FOLD_CODES);
    b.number = bi_input(g, "number", BI_I32, BI_AXIS_TOKENS, shape->n_tokens);
    b.start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, shape->n_records + 1);
    b.grid_start = bi_input(g, "grid_start", BI_I32, BI_AXIS_SEQS, shape->n_records + 1);
    b.row_start = bi_input(g, "row_start", BI_I32, BI_AXIS_TOKENS, shape->n_tokens + 1);
    begin(&b, shape, &s, &z);
    for (int64_t i = 0; i < f->size[ESMFOLD_N_BLOCKS]; i++)
        block(&b, &f->blocks[i], &s, &z);
    s0 = norm(&b, product(&b, s, f->to_sm), f->sm_norm);
    levels = structure(&b, s0, z, &frame);
    if (shape->program == BI_FOLD_FIRST || shape->program == BI_FOLD_AGAIN) {
        bi_output_kept(g, s, ESMFOLD_KEPT_TOKENS);
        bi_output_kept(g, z, ESMFOLD_KEPT_PAIRS);
        bi_output_kept(g, frame, ESMFOLD_KEPT_FRAME);
        return;
    }
    bi_output(g, in_angstrom(&b, frame), BI_FOLD_FRAME, -1, "frame");
    bi_output(g, angles(&b, levels, s0), BI_FOLD_ANGLES, -1, "angles");
    levels = product(&b, norm(&b, levels, f->level[0]), f->level[1]);
    levels = product(&b, product(&b, levels, f->level[2]), f->level[3]);
    bi_output(g, levels, BI_FOLD_LEVELS, -1, "levels");
    bi_output(g, bi_row_softmax(g, product(&b, z, f->errors)), BI_FOLD_ERRORS, -1, "errors");
}

static void build(const struct bi_model *model, struct bi_graph *g,
                  const struct bi_fold_shape *shape)
{
    (shape->program == BI_FOLD_STEM ? build_stem : build_pass)(model, g, shape);
}

/* ---- the family ---- */

/* Letters of amino acids that the network has no row for are X, as in the published program. */
static bool token(struct bi_fold_token *to, char letter, int chain, int place)
{
    static const char letters[] = ESMFOLD_ORDER;
    const char *at = letter ? strchr(letters, letter) : NULL;
    (void)chain;
    if (letter < 'A' || letter > 'Z')
        return false;
    *to = (struct bi_fold_token){.code = {at ? (int32_t)(at - letters) : ESMFOLD_UNKNOWN, -1},
                                 .number = place,
                                 .atoms = at ? letter : 0};
    return true;
}

static void stem_tokens(const struct bi_model *model, const char *letters, int64_t n, int32_t *ids,
                        float *scale)
{
    ids[0] = BI_ESM_CLS;
    for (int64_t i = 0; i < n; i++) {
        struct bi_fold_token t;
        token(&t, letters[i], 0, 0);
        ids[1 + i] = bi_esm_residue_token(model, t.atoms ? letters[i] : 'X');
    }
    ids[n + 1] = BI_ESM_EOS;
    bi_esm_token_scale(model, ids, (size_t)(n + 2), scale);
}

static void kept(const struct bi_model *model, struct bi_fold_kept to[BI_FOLD_KEPT])
{
    const struct esmfold *f = model->config;
    const struct bi_fold_kept all[BI_FOLD_KEPT] = {
        {ESMFOLD_KEPT_STEM, BI_AXIS_TOKENS, f->size[ESMFOLD_SEQUENCE]},
        {ESMFOLD_KEPT_TOKENS, BI_AXIS_TOKENS, f->size[ESMFOLD_SEQUENCE]},
        {ESMFOLD_KEPT_PAIRS, BI_AXIS_GRID, f->size[ESMFOLD_PAIR]},
        {ESMFOLD_KEPT_FRAME, BI_AXIS_TOKENS, BI_FOLDED_FRAME}};
    memcpy(to, all, sizeof all);
}

static int usual_passes(const struct bi_model *model)
{
    return (int)((const struct esmfold *)model->config)->size[ESMFOLD_CYCLES];
}

static const struct bi_fold_passes passes = {.kept = kept,
                                             .usual = usual_passes,
                                             .tokens = stem_tokens,
                                             .linker = 'G',
                                             .n_linkers = ESMFOLD_LINKER,
                                             .chain_step = ESMFOLD_CHAIN_STEP};

static const struct bi_fold_def fold = {
    .token = token, .build = build, .least = 1e-8, .passes = &passes};

static int facts(const struct bi_model *model, struct bi_hash *to)
{
    const struct esmfold *f = model->config;
    const int st = bi_esm_settings(model, to);
    for (int i = 0; !st && i < ESMFOLD_SIZES; i++)
        bi_hash_int(to, "size", f->size[i]);
    return st;
}

static const struct bi_release releases[] = {
    {"facebook/esmfold_v1", "MIT", "config.json vocab.txt pytorch_model.bin", 0, 8400000000}, {0}};

const struct bi_model_def bi_model_esmfold = {
    .name = "esmfold",
    .summary = "ESMFold: structures of proteins from single sequences",
    .default_name = "facebook/esmfold_v1",
    .releases = releases,
    .gpu = true,
    .half = BI_HALF_ASKED, /* nobody looks at kept values for overflows */
    .recognise = esmfold_recognise,
    .open = esmfold_open,
    .kind = &bi_kind_fold,
    .def = &fold,
    .facts = facts,
};

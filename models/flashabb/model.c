/* model.c - FlashABB: the structure of an antibody's variable domains, a heavy and a light chain.
 *
 * 128 wide, 12 heads, 8 blocks with weights of their own; 7.2 million numbers (oxpig/FlashABB,
 * BSD-3-Clause). Written from a specification and compared with the published package.
 *
 *   s = table[letter] + table[chain] + b; s0 = s; frames are the identity
 *   block:  a = point attention(s, frames) over both chains as one, with sums of its weights by the
 *           distance along the chain modulo 128 where AlphaFold 2 has a pair term
 *           s = norm(s + W a + b); s = norm(s + l3 relu(l2 relu(l1 s)))
 *           frames = update(frames, linear(s))
 *   angles: y = in(relu s) + initial(relu s0); twice y += l3 relu(l2 relu y); out(relu y)
 *   pLDDT:  softmax(l3 relu(l2 relu(l1 LN(s)))), 50 bins
 *
 * norm is dropout_norm with the part 0.9 kept, or, uncorrected, layernorm. Queries and keys are
 * rotated by pairs of neighbours, which rows of their weights bring into halves (kernels/rope.h).
 * The file's rotary frequencies are 10000^(-k/8), and are checked but not read: rounded to float16
 * they move atoms by 0.09 A.
 *
 * Sections: names, opening, tokens, graph. */
#include <math.h>
#include <string.h>

#include "../fold.h"

enum {
    WIDTH = 128,
    HEADS = 12,
    HEAD_DIM = 16,
    QUERY_POINTS = 4, /* Per head; as many of keys. */
    VALUE_POINTS = 8,
    POINTS = 2 * QUERY_POINTS + VALUE_POINTS,
    BINS = 128,
    BLOCKS = 8,
    LETTERS = 21,
    INPUTS = LETTERS + 2,
    HIDDEN = 256,
    ANGLES = 14,
    LEVELS = 50, /* Bins of pLDDT. */
    ATTENTION = HEADS * (HEAD_DIM + 4 * VALUE_POINTS + BINS),
    LIGHT = 500, /* the light chain's first number */
    TENSORS = 298,
    UNUSED = 98 /* angles of all blocks but the last one */
};

static const float norm_eps = 1e-5f, point_eps = 1e-7f, keep = 0.9f;

/* ---- names ---- */

/* Weight and bias. */
struct linear {
    int w, b;
};

struct block {
    int head_weights;
    struct linear q, kv, points, out, norm, transition[3], transition_norm, update;
};

struct flashabb {
    struct linear input, angle_in, angle_initial, angle[2][2], angle_out;
    struct linear level_norm, level[3];
    struct block blocks[BLOCKS];
    int freqs; /* Computed, no tensor. */
};

/* A product or a norm of the file: name without ".weight" and ".bias"; columns 0: a norm. */
struct source {
    size_t at; /* Where its struct linear lies. */
    const char *name;
    int rows, columns;
};

#define OF(member) offsetof(struct flashabb, member)
#define OF_BLOCK(member) offsetof(struct block, member)
#define RESNET "angle_resnet_layers.7."

static const struct source once[] = {
    {OF(input), "linear_in_node", WIDTH, INPUTS},
    {OF(angle_in), RESNET "linear_in", HIDDEN, WIDTH},
    {OF(angle_initial), RESNET "linear_initial", HIDDEN, WIDTH},
    {OF(angle[0][0]), RESNET "layers.0.linear_2", HIDDEN, HIDDEN},
    {OF(angle[0][1]), RESNET "layers.0.linear_3", HIDDEN, HIDDEN},
    {OF(angle[1][0]), RESNET "layers.1.linear_2", HIDDEN, HIDDEN},
    {OF(angle[1][1]), RESNET "layers.1.linear_3", HIDDEN, HIDDEN},
    {OF(angle_out), RESNET "linear_out", ANGLES, HIDDEN},
    {OF(level_norm), "plddt.layer_norm", WIDTH, 0},
    {OF(level[0]), "plddt.linear_1", HIDDEN, WIDTH},
    {OF(level[1]), "plddt.linear_2", HIDDEN, HIDDEN},
    {OF(level[2]), "plddt.linear_3", LEVELS, HIDDEN},
};

static const struct source each[] = {
    {OF_BLOCK(q), "ipa_layers.%d.linear_q", HEADS *HEAD_DIM, WIDTH},
    {OF_BLOCK(kv), "ipa_layers.%d.linear_kv", 2 * HEADS *HEAD_DIM, WIDTH},
    {OF_BLOCK(points), "ipa_layers.%d.linear_points", 3 * HEADS *POINTS, WIDTH},
    {OF_BLOCK(out), "ipa_layers.%d.linear_out", WIDTH, ATTENTION},
    {OF_BLOCK(norm), "layer_norm_ipa_layers.%d", WIDTH, 0},
    {OF_BLOCK(transition[0]), "transition_layers.%d.layers.0.linear_1", HIDDEN, WIDTH},
    {OF_BLOCK(transition[1]), "transition_layers.%d.layers.0.linear_2", HIDDEN, HIDDEN},
    {OF_BLOCK(transition[2]), "transition_layers.%d.layers.0.linear_3", WIDTH, HIDDEN},
    {OF_BLOCK(transition_norm), "transition_layers.%d.layer_norm", WIDTH, 0},
    {OF_BLOCK(update), "bb_update_layers.%d.linear", 6, WIDTH},
};

/* ---- opening ---- */

static bool fa_recognise(const struct bi_checkpoint *cp)
{
    return bi_checkpoint_find(cp, "model.ipa_layers.0.linear_points.weight") &&
           bi_checkpoint_find(cp, "model.linear_in_node.weight");
}

/* Binds weight and bias of a source into the struct linear at base + at. */
static int bind(struct bi_model *model, const struct source *s, int layer, void *base,
                struct bioinfer_error *err)
{
    const char *name = bi_arena_printf(&model->arena, "model.%s", s->name);
    int st = name ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: names", model->cp->path);
    for (int bias = 0; !st && bias < 2; bias++) {
        const char *file = bi_model_name(model, name, bias ? ".bias" : ".weight", layer);
        const char *canonical = s->name;
        struct bi_binding binding = {.at = s->at + (bias ? offsetof(struct linear, b) : 0),
                                     .prefix = "",
                                     .rows = s->rows,
                                     .columns = bias ? 0 : s->columns};
        if (!file || !(file = bi_model_name(model, "", file, layer)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: %s", model->cp->path, canonical);
        binding.file = file;
        binding.canonical = file + strlen("model.");
        st = bi_model_bind(model, &binding, layer, base, err);
    }
    return st;
}

/* Rotary frequencies of a block must be those that are computed with, but for rounding. */
static int check_freqs(struct bi_model *model, const float *freqs, int layer,
                       struct bioinfer_error *err)
{
    const char *name = bi_model_name(model, "", "model.ipa_layers.%d.rotary_emb.freqs", layer);
    const struct bi_tensor *t = name ? bi_checkpoint_find(model->cp, name) : NULL;
    float *got;
    int st;
    if (!t || t->rank != 1 || t->shape[0] != HEAD_DIM / 2)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: tensor %s is missing or not [%d]",
                       model->cp->path, name ? name : "rotary_emb.freqs", HEAD_DIM / 2);
    if ((st = bi_model_read(model, t, &got, err)))
        return st;
    for (int k = 0; k < HEAD_DIM / 2; k++)
        if (!(fabsf(got[k] - freqs[k]) <= 2e-3f * freqs[k]))
            return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: number %d is %g, expected %g",
                           model->cp->path, name, k, (double)got[k], (double)freqs[k]);
    return 0;
}

/* Angles of the other blocks are for training, and are left out of the graph. */
static int check_names(const struct bi_model *model, struct bioinfer_error *err)
{
    const struct bi_checkpoint *cp = model->cp;
    for (size_t i = 0; i < cp->n_tensors; i++) {
        const struct bi_tensor *t = &cp->tensors[i];
        bool known = !strncmp(t->name, "model.angle_resnet_layers.", 26) ||
                     strstr(t->name, ".rotary_emb.freqs");
        for (size_t k = 0; !known && k < model->n_weights; k++)
            known = model->weights[k].tensor == t;
        if (!known)
            return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: no tensor of FlashABB", cp->path,
                           t->name);
    }
    if (cp->n_tensors != TENSORS && cp->n_tensors != TENSORS - UNUSED)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %zu tensors, expected %d, or %d without angles of blocks 0 to 6",
                       cp->path, cp->n_tensors, TENSORS, TENSORS - UNUSED);
    return 0;
}

static int open_blocks(struct bi_model *model, struct flashabb *fa, const float *freqs,
                       struct bioinfer_error *err)
{
    int st = 0;
    for (int i = 0; !st && i < BLOCKS; i++) {
        const struct bi_binding heads = {.at = OF_BLOCK(head_weights),
                                         .canonical = "ipa_layers.%d.head_weights",
                                         .prefix = "model.",
                                         .file = "ipa_layers.%d.head_weights",
                                         .rows = HEADS};
        st = bi_model_bind(model, &heads, i, &fa->blocks[i], err);
        for (size_t k = 0; !st && k < BI_COUNT(each); k++)
            st = bind(model, &each[k], i, &fa->blocks[i], err);
        st = st ? st : check_freqs(model, freqs, i, err);
    }
    return st;
}

static int fa_open(struct bi_model *model, struct bioinfer_error *err)
{
    struct flashabb *fa = bi_arena_calloc(&model->arena, 1, sizeof *fa);
    float *freqs = bi_arena_calloc(&model->arena, HEAD_DIM / 2, sizeof *freqs);
    int st = 0;
    if (!fa || !freqs)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    for (int k = 0; k < HEAD_DIM / 2; k++)
        freqs[k] = (float)pow(10000, -2.0 * k / HEAD_DIM);
    for (size_t k = 0; !st && k < BI_COUNT(once); k++)
        st = bind(model, &once[k], 0, fa, err);
    if (st || (st = open_blocks(model, fa, freqs, err)) || (st = check_names(model, err)))
        return st;
    fa->freqs = bi_model_weight(
        model,
        &(struct bi_weight){
            .name = "inv_freq", .values = freqs, .rank = 1, .shape = {HEAD_DIM / 2, 1}},
        err);
    if (fa->freqs < 0)
        return fa->freqs;
    model->config = fa;
    model->n_layers = BLOCKS;
    model->width = WIDTH;
    model->n_heads = HEADS;
    model->head_dim = HEAD_DIM;
    model->name = "flashabb";
    return 0;
}

/* ---- tokens ---- */

static bool fa_token(struct bi_fold_token *token, char letter, int chain, int place)
{
    static const char letters[] = "ARNDCQEGHILKMFPSTWYVX";
    const char *at = letter ? strchr(letters, letter) : NULL;
    if (!at)
        return false;
    *token = (struct bi_fold_token){
        .code = {(int32_t)(at - letters), chain ? LETTERS : LETTERS + 1}, /* light, heavy */
        .number = chain ? LIGHT + place : place,
        .atoms = letter == 'X' ? 'G' : letter};
    return true;
}

/* ---- graph ---- */

struct builder {
    const struct bi_model *model;
    const struct flashabb *fa;
    struct bi_graph *g;
    bi_value_id start, number, table;
    bool corrected;
};

static bi_value_id value(const struct builder *b, int index)
{
    return bi_model_value(b->model, b->g, index);
}

static bi_value_id product(const struct builder *b, bi_value_id x, struct linear l)
{
    return bi_add(b->g, bi_matmul(b->g, x, value(b, l.w)), value(b, l.b));
}

/* A product with n rows of a weight. */
static bi_value_id rows_of(const struct builder *b, bi_value_id x, struct linear l,
                           const int32_t *rows, int n)
{
    const bi_value_id w = bi_weight_rows(b->g, value(b, l.w), rows, n);
    return bi_add(b->g, bi_matmul(b->g, x, w), bi_weight_rows(b->g, value(b, l.b), rows, n));
}

static bi_value_id relu(const struct builder *b, bi_value_id x)
{
    return bi_norm_act(b->g, x, BI_NONE, BI_NONE, BI_NORM_ACT_RELU, 0);
}

static bi_value_id norm(const struct builder *b, bi_value_id x, struct linear l)
{
    return b->corrected ? bi_dropout_norm(b->g, x, value(b, l.w), value(b, l.b), norm_eps, keep)
                        : bi_layernorm(b->g, x, value(b, l.w), value(b, l.b), norm_eps);
}

/* Rows of a head in the file, `first` and following, to a list of all heads: those with even
 * numbers first where they are rotated. */
static void list_heads(int32_t rows[HEADS * HEAD_DIM], int32_t of_head, int32_t first, bool rotated)
{
    for (int i = 0; i < HEADS * HEAD_DIM; i++) {
        const int c = i % HEAD_DIM, half = HEAD_DIM / 2;
        rows[i] = i / HEAD_DIM * of_head + first +
                  (!rotated   ? c
                   : c < half ? 2 * c
                              : 2 * (c - half) + 1);
    }
}

/* Points [first, first + n) of each head and coordinate. */
static int list_points(int32_t rows[3 * HEADS * POINTS], int32_t first, int32_t n)
{
    for (int i = 0; i < 3 * HEADS * n; i++)
        rows[i] = i / n * POINTS + first + i % n;
    return 3 * HEADS * n;
}

static bi_value_id attend(const struct builder *b, const struct block *k, bi_value_id s,
                          bi_value_id frame)
{
    int32_t rows[3 * HEADS * POINTS];
    bi_value_id in[12] = {[5] = frame,    [6] = value(b, k->head_weights),
                          [7] = b->start, [8] = b->number,
                          [9] = BI_NONE,  [10] = BI_NONE,
                          [11] = BI_NONE};
    list_heads(rows, HEAD_DIM, 0, true);
    in[0] = rows_of(b, s, k->q, rows, HEADS * HEAD_DIM);
    list_heads(rows, 2 * HEAD_DIM, 0, true);
    in[1] = rows_of(b, s, k->kv, rows, HEADS * HEAD_DIM);
    for (int i = 0; i < 2; i++)
        in[i] = bi_rope(b->g, in[i], b->table, b->start, HEADS);
    list_heads(rows, 2 * HEAD_DIM, HEAD_DIM, false);
    in[2] = rows_of(b, s, k->kv, rows, HEADS * HEAD_DIM);
    in[3] = rows_of(b, s, k->points, rows, list_points(rows, 0, QUERY_POINTS));
    in[4] = rows_of(b, s, k->points, rows, list_points(rows, QUERY_POINTS, POINTS - QUERY_POINTS));
    return product(b, bi_point_attention(b->g, in, HEADS, BINS, point_eps), k->out);
}

static bi_value_id angles(const struct builder *b, bi_value_id s, bi_value_id s0)
{
    const struct flashabb *fa = b->fa;
    bi_value_id y = bi_add(b->g, product(b, relu(b, s), fa->angle_in),
                           product(b, relu(b, s0), fa->angle_initial));
    for (int k = 0; k < 2; k++)
        y = bi_add(b->g, y,
                   product(b, relu(b, product(b, relu(b, y), fa->angle[k][0])), fa->angle[k][1]));
    return product(b, relu(b, y), fa->angle_out);
}

static void fa_build(const struct bi_model *model, struct bi_graph *g,
                     const struct bi_fold_shape *shape)
{
    const struct flashabb *fa = model->config;
    struct builder b = {.model = model, .fa = fa, .g = g, .corrected = !shape->uncorrected};
    bi_value_id code = bi_input_matrix(g, "code", BI_I32, BI_AXIS_TOKENS, shape->n_tokens,
                                       BI_FOLD_CODES);
    bi_value_id frame = BI_NONE, s, s0, levels;
    b.number = bi_input(g, "number", BI_I32, BI_AXIS_TOKENS, shape->n_tokens);
    b.start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, shape->n_records + 1);
    b.table = bi_rope_table(g, value(&b, fa->freqs), shape->longest);
    s = bi_gather_sum(g, bi_weight_transposed(g, value(&b, fa->input.w)), code, 1);
    s = s0 = bi_add(g, s, value(&b, fa->input.b));
    for (int i = 0; i < BLOCKS; i++) {
        const struct block *k = &fa->blocks[i];
        bi_value_id y;
        s = norm(&b, bi_add(g, s, attend(&b, k, s, frame)), k->norm);
        y = relu(&b, product(&b, s, k->transition[0]));
        y = product(&b, relu(&b, product(&b, y, k->transition[1])), k->transition[2]);
        s = norm(&b, bi_add(g, s, y), k->transition_norm);
        frame = bi_frame_update(g, frame, product(&b, s, k->update));
    }
    levels = bi_layernorm(g, s, value(&b, fa->level_norm.w), value(&b, fa->level_norm.b), norm_eps);
    levels = relu(&b, product(&b, levels, fa->level[0]));
    levels = product(&b, relu(&b, product(&b, levels, fa->level[1])), fa->level[2]);
    bi_output(g, frame, BI_FOLD_FRAME, -1, "frame");
    bi_output(g, angles(&b, s, s0), BI_FOLD_ANGLES, -1, "angles");
    bi_output(g, bi_row_softmax(g, levels), BI_FOLD_CONFIDENCE, -1, "confidence");
}

static const struct bi_fold_def fold = {
    .token = fa_token,
    .build = fa_build,
    .n_chains = 2,
    .chain_names = "HL",
    .takes = "the variable domains of an antibody's heavy and light chain, as heavy:light; a chain "
             "alone comes out with broken bonds",
    .shortest_chain = 70,
    .longest_chain = 160,
    .correction = "the correction of norms for dropout",
    .least = 1e-7};

static int fa_facts(const struct bi_model *model, struct bi_hash *to)
{
    (void)model; /* every setting is fixed, and the graph shows it */
    bi_hash_int(to, "blocks", BLOCKS);
    return 0;
}

static const struct bi_release releases[] = {
    {"flashabb/flashabb.safetensors", "BSD-3-Clause, comes with bioinfer", NULL, 4864528, 11918952},
    {0}};

const struct bi_model_def bi_model_flashabb = {
    .name = "flashabb",
    .summary = "FlashABB: structures of antibodies' variable domains",
    .default_name = "flashabb/flashabb.safetensors",
    .releases = releases,
    .gpu = true,
    .half = BI_HALF_ASKED, /* operands in float16 move atoms by up to 0.035 A */
    .recognise = fa_recognise,
    .open = fa_open,
    .kind = &bi_kind_fold,
    .def = &fold,
    .facts = fa_facts,
};

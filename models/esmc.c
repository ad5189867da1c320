/* esmc.c - ESM C (Cambrian): protein language models of 300M and 600M parameters.
 *
 * Pre-LayerNorm transformer encoder over 33 symbols in 64 rows, D wide, L layers, H = D / 64
 * heads of d = 64:
 *
 *   x = E[ids]
 *   L times, s = sqrt(L / 36):
 *     h = LN(x);  q = LN(h Wq) d^-1/2;  k = LN(h Wk);  v = h Wv    LN of q, k: all D, no bias
 *     x = x + (softmax(rope(q) rope(k)^T) v) Wo / s                within each sequence
 *     h = LN(x);  x = x + (silu(h Wg) * (h Wu)) W2 / s
 *   representations: 0 = embedding, i = x after layer i, L = LN(x) after the last, no bias
 *   logits = LN(gelu(x Wd + bd)) Wv + bv                         64 of them, 33 with a symbol
 *
 * Facts that cost others a bug: s is 1 for 600M and 0.913 for 300M (it is folded into Wo and W2
 * here); the first half of the stacked feed-forward matrix is the gate; queries and keys are
 * normalised over all heads at once; rotary frequencies are exact, not rounded to half
 * precision as ESM-2's are; the esm package numbers hidden states without the embedding and
 * takes the last one before the final norm, the numbering here is that of transformers.
 *
 * Weight layouts: the esm package (also ESM++), biohub's fused names (lm_head, layernorm_qkv
 * without numbers), transformers (q, k, v and gate, up apart).
 * Sources: evolutionaryscale/esm esm/models/esmc.py, esm/layers; huggingface/transformers
 * models/esmc.
 *
 * Sections: names, opening, graph, tokens. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "esmc.h"

/* Layers whose feed-forward products are near float32 in every precision: in front the stream is
 * short, and what they round grows through all others (tools/esmc_rounding.py). */
enum { EXACT_LAYERS = 2 };

enum { ROWS = 64, HEAD_DIM = 64, PAD = 1, UNK = 3, X_ID = 24, MASK = 32, MAX_LAYERS = 512 };

/* clang-format off */
static const char *const symbols[ROWS] = {
    "<cls>", "<pad>", "<eos>", "<unk>", "L", "A", "G", "V", "S", "E", "R",
    "T", "I", "D", "P", "K", "Q", "N", "F", "Y", "M", "H",
    "W", "C", "X", "B", "U", "Z", "O", ".", "-", "|", "<mask>",
    "<33>", "<34>", "<35>", "<36>", "<37>", "<38>", "<39>", "<40>", "<41>", "<42>", "<43>",
    "<44>", "<45>", "<46>", "<47>", "<48>", "<49>", "<50>", "<51>", "<52>", "<53>", "<54>",
    "<55>", "<56>", "<57>", "<58>", "<59>", "<60>", "<61>", "<62>", "<63>"};
/* clang-format on */

/* ---- names ---- */

enum layout { PACKAGE, FUSED, SPLIT, N_LAYOUTS };

/* Indices of weights in the model's table. */
struct layer {
    int norm1_w, norm1_b, q_w, k_w, v_w, q_norm, k_norm, out_w;
    int norm2_w, norm2_b, gate_w, up_w, down_w;
};

struct bi_esmc {
    enum layout layout;
    const char *prefix; /* in front of the trunk's names */
    int64_t n_layers, width, n_heads, ffn;
    int embed, inv_freq, norm_w;
    int dense_w, dense_b, lm_norm_w, lm_norm_b, lm_w, lm_b; /* -1: no LM head */
    struct layer *layers;
};

enum shape { S_D, S_DD, S_HD, S_DH, S_VD, S_V };

struct name {
    size_t at;
    const char *canonical;
    const char *file[N_LAYOUTS];
    enum shape shape;
    int part, parts; /* rows of this part of a stacked tensor; not in SPLIT */
};

enum { DOWN = 12 }; /* the line of layer_names that has down_w */

#define L_(member) offsetof(struct layer, member)
#define M_(member) offsetof(struct bi_esmc, member)
#define BLOCK_ "transformer.blocks.%d."

/* clang-format off */
static const struct name layer_names[] = {
    {L_(norm1_w), "layers.%d.norm1.weight",
     {BLOCK_ "attn.layernorm_qkv.0.weight", BLOCK_ "attn.layernorm_qkv.layer_norm_weight",
      "layers.%d.input_layernorm.weight"}, S_D, 0, 0},
    {L_(norm1_b), "layers.%d.norm1.bias",
     {BLOCK_ "attn.layernorm_qkv.0.bias", BLOCK_ "attn.layernorm_qkv.layer_norm_bias",
      "layers.%d.input_layernorm.bias"}, S_D, 0, 0},
    {L_(q_w), "layers.%d.q.weight",
     {BLOCK_ "attn.layernorm_qkv.1.weight", BLOCK_ "attn.layernorm_qkv.weight",
      "layers.%d.self_attn.q_proj.weight"}, S_DD, 0, 3},
    {L_(k_w), "layers.%d.k.weight",
     {BLOCK_ "attn.layernorm_qkv.1.weight", BLOCK_ "attn.layernorm_qkv.weight",
      "layers.%d.self_attn.k_proj.weight"}, S_DD, 1, 3},
    {L_(v_w), "layers.%d.v.weight",
     {BLOCK_ "attn.layernorm_qkv.1.weight", BLOCK_ "attn.layernorm_qkv.weight",
      "layers.%d.self_attn.v_proj.weight"}, S_DD, 2, 3},
    {L_(q_norm), "layers.%d.q_norm.weight",
     {BLOCK_ "attn.q_ln.weight", BLOCK_ "attn.q_ln.weight",
      "layers.%d.self_attn.q_norm.weight"}, S_D, 0, 0},
    {L_(k_norm), "layers.%d.k_norm.weight",
     {BLOCK_ "attn.k_ln.weight", BLOCK_ "attn.k_ln.weight",
      "layers.%d.self_attn.k_norm.weight"}, S_D, 0, 0},
    {L_(out_w), "layers.%d.out.weight",
     {BLOCK_ "attn.out_proj.weight", BLOCK_ "attn.out_proj.weight",
      "layers.%d.self_attn.o_proj.weight"}, S_DD, 0, 0},
    {L_(norm2_w), "layers.%d.norm2.weight",
     {BLOCK_ "ffn.0.weight", BLOCK_ "ffn.layer_norm_weight",
      "layers.%d.post_attention_layernorm.weight"}, S_D, 0, 0},
    {L_(norm2_b), "layers.%d.norm2.bias",
     {BLOCK_ "ffn.0.bias", BLOCK_ "ffn.layer_norm_bias",
      "layers.%d.post_attention_layernorm.bias"}, S_D, 0, 0},
    {L_(gate_w), "layers.%d.gate.weight",
     {BLOCK_ "ffn.1.weight", BLOCK_ "ffn.fc1_weight", "layers.%d.mlp.gate_proj.weight"}, S_HD, 0,
     2},
    {L_(up_w), "layers.%d.up.weight",
     {BLOCK_ "ffn.1.weight", BLOCK_ "ffn.fc1_weight", "layers.%d.mlp.up_proj.weight"}, S_HD, 1, 2},
    {L_(down_w), "layers.%d.down.weight",
     {BLOCK_ "ffn.3.weight", BLOCK_ "ffn.fc2_weight", "layers.%d.mlp.down_proj.weight"}, S_DH, 0,
     0},
};

static const struct name trunk_names[] = {
    {M_(embed), "embed.weight",
     {"embed.weight", "embed.weight", "embed_tokens.weight"}, S_VD, 0, 0},
    {M_(norm_w), "norm.weight",
     {"transformer.norm.weight", "transformer.norm.weight", "norm.weight"}, S_D, 0, 0},
};
/* clang-format on */

/* Without the trunk's prefix. */
/* clang-format off */
static const struct name head_names[] = {
    {M_(dense_w), "lm_head.dense.weight",
     {"sequence_head.0.weight", "lm_head.0.weight", "lm_head.dense.weight"}, S_DD, 0, 0},
    {M_(dense_b), "lm_head.dense.bias",
     {"sequence_head.0.bias", "lm_head.0.bias", "lm_head.dense.bias"}, S_D, 0, 0},
    {M_(lm_norm_w), "lm_head.norm.weight",
     {"sequence_head.2.weight", "lm_head.2.weight", "lm_head.layer_norm.weight"}, S_D, 0, 0},
    {M_(lm_norm_b), "lm_head.norm.bias",
     {"sequence_head.2.bias", "lm_head.2.bias", "lm_head.layer_norm.bias"}, S_D, 0, 0},
    {M_(lm_w), "lm_head.out.weight",
     {"sequence_head.3.weight", "lm_head.3.weight", "lm_head.decoder.weight"}, S_VD, 0, 0},
    {M_(lm_b), "lm_head.out.bias",
     {"sequence_head.3.bias", "lm_head.3.bias", "lm_head.decoder.bias"}, S_V, 0, 0},
};
/* clang-format on */

/* A tensor of the first block that only this layout has. */
static const struct {
    const char *prefix, *probe;
    enum layout layout;
} layouts[] = {
    {"", "transformer.blocks.0.attn.layernorm_qkv.1.weight", PACKAGE},
    {"esmc.", "esmc.transformer.blocks.0.attn.layernorm_qkv.1.weight", PACKAGE},
    {"esmc.", "esmc.transformer.blocks.0.attn.layernorm_qkv.weight", FUSED},
    {"", "transformer.blocks.0.attn.layernorm_qkv.weight", FUSED},
    {"esmc.", "esmc.layers.0.self_attn.q_norm.weight", SPLIT},
    {"", "layers.0.self_attn.q_norm.weight", SPLIT},
};

/* Index into layouts, -1 when the file is no ESM C. stem: a part of another family's file, which
 * has this prefix; NULL = none. */
static int layout_of(const struct bi_checkpoint *cp, const char *stem)
{
    for (size_t i = 0; i < BI_COUNT(layouts); i++) {
        bool split = layouts[i].layout == SPLIT; /* other families name their layers alike */
        const char *type = bi_json_string(bi_json_get(cp->config, "model_type"));
        char embed[64];
        snprintf(embed, sizeof embed, "%s%s", layouts[i].prefix,
                 trunk_names[0].file[layouts[i].layout]);
        if (bi_checkpoint_find(cp, layouts[i].probe) && bi_checkpoint_find(cp, embed) &&
            (stem ? !strcmp(stem, layouts[i].prefix) : !split || (type && !strcmp(type, "esmc"))))
            return (int)i;
    }
    return -1;
}

const char *bi_esmc_prefix(const struct bi_checkpoint *cp)
{
    const int which = layout_of(cp, NULL);
    return which < 0 ? NULL : layouts[which].prefix;
}

static bool esmc_recognise(const struct bi_checkpoint *cp)
{
    return layout_of(cp, NULL) >= 0;
}

/* ---- opening ---- */

static int bind(struct bi_model *model, const struct bi_esmc *e, const struct name *n,
                const char *prefix, int layer, void *base, struct bioinfer_error *err)
{
    const int64_t shapes[][2] = {
        [S_D] = {e->width, 0},       [S_DD] = {e->width, e->width}, [S_HD] = {e->ffn, e->width},
        [S_DH] = {e->width, e->ffn}, [S_VD] = {ROWS, e->width},     [S_V] = {ROWS, 0}};
    struct bi_binding b = {.at = n->at,
                           .canonical = n->canonical,
                           .prefix = prefix,
                           .file = n->file[e->layout],
                           .rows = shapes[n->shape][0],
                           .columns = shapes[n->shape][1]};
    if (n->parts && e->layout != SPLIT) {
        const char *file = bi_model_name(model, prefix, b.file, layer);
        const struct bi_tensor *t = file ? bi_checkpoint_find(model->cp, file) : NULL;
        if (t && (t->rank != 2 || t->shape[0] != (uint64_t)(n->parts * b.rows)))
            return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: %llu rows, expected %lld",
                           model->cp->path, t->name,
                           (unsigned long long)(t->rank ? t->shape[0] : 0),
                           (long long)(n->parts * b.rows));
        b.row_first = (uint64_t)(n->part * b.rows);
        b.row_block = b.row_step = (uint64_t)b.rows;
    }
    if (base != e && (n->at == L_(out_w) || n->at == L_(down_w))) /* 1 / s */
        b.factor = sqrtf(36.0f / (float)e->n_layers);
    return bi_model_bind(model, &b, layer, base, err);
}

/* A number of config.json under either of its names; 0 = neither is there. */
static int config_number(const struct bi_model *model, const char *hf, const char *biohub,
                         int64_t max, int64_t *out, struct bioinfer_error *err)
{
    int st = bi_config_int(model, hf, 1, max, out, err);
    return st ? st : bi_config_int(model, biohub, 1, max, out, err);
}

static int read_config(struct bi_model *model, struct bi_esmc *e, int which,
                       struct bioinfer_error *err)
{
    int st;
    const char *name, *act;
    const struct bi_tensor *embed, *down;
    int64_t value, heads;
    bool flag;
    e->layout = layouts[which].layout;
    e->prefix = layouts[which].prefix;
    if (!(name = bi_model_name(model, e->prefix, trunk_names[0].file[e->layout], 0)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", model->cp->path);
    embed = bi_checkpoint_find(model->cp, name);
    if (embed->rank != 2 || embed->shape[1] < HEAD_DIM || embed->shape[1] > 65536 ||
        embed->shape[1] % HEAD_DIM)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [%d, a multiple of %d]",
                       model->cp->path, name, ROWS, HEAD_DIM);
    e->width = value = (int64_t)embed->shape[1];
    if ((st = config_number(model, "hidden_size", "d_model", 65536, &value, err)) < 0)
        return st;
    heads = e->width / HEAD_DIM;
    if ((st = config_number(model, "num_attention_heads", "n_heads", 1024, &heads, err)) < 0)
        return st;
    if (value != e->width || heads != e->width / HEAD_DIM)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: width %lld with %lld heads, the "
                       "embedding is %lld wide (heads are %d wide)",
                       model->cp->path, (long long)value, (long long)heads, (long long)e->width,
                       HEAD_DIM);
    e->n_heads = heads;
    while (e->n_layers < MAX_LAYERS) { /* the layers that are there */
        name = bi_model_name(model, e->prefix, layer_names[0].file[e->layout], (int)e->n_layers);
        if (!name)
            return bi_fail(err, BIOINFER_NOMEM, "%s: names", model->cp->path);
        if (!bi_checkpoint_find(model->cp, name))
            break;
        e->n_layers++;
    }
    value = e->n_layers;
    if ((st = config_number(model, "num_hidden_layers", "n_layers", MAX_LAYERS, &value, err)) < 0)
        return st;
    if (value != e->n_layers || !value)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: config.json: %lld layers, the file has %lld",
                       model->cp->path, (long long)value, (long long)e->n_layers);
    /* published models: 8/3 of the width, up to a multiple of 256 */
    if (!(name = bi_model_name(model, e->prefix, layer_names[DOWN].file[e->layout], 0)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", model->cp->path);
    down = bi_checkpoint_find(model->cp, name);
    if (!down || down->rank != 2 || down->shape[1] < 1 || down->shape[1] > 1 << 20)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %s: missing, or not [width, feed-forward width]", model->cp->path,
                       name);
    e->ffn = value = (int64_t)down->shape[1];
    if ((st = bi_config_int(model, "intermediate_size", 1, 1 << 20, &value, err)) < 0)
        return st;
    if (value != e->ffn)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: intermediate_size is %lld, %s has "
                       "%lld columns",
                       model->cp->path, (long long)value, name, (long long)e->ffn);
    act = bi_json_string(bi_json_get(model->cp->config, "hidden_act"));
    if (act && strcmp(act, "silu") != 0)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: config.json: hidden_act is '%.40s', "
                       "expected 'silu'",
                       model->cp->path, act);
    if (bi_json_bool(bi_json_get(model->cp->config, "scale_residue"), &flag) && !flag)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: config.json: scale_residue is false",
                       model->cp->path);
    return 0;
}

static int bind_inv_freq(struct bi_model *model, struct bi_esmc *e, struct bioinfer_error *err)
{
    float *values = bi_arena_calloc(&model->arena, HEAD_DIM / 2, sizeof *values);
    struct bi_weight w = {
        .name = "inv_freq", .values = values, .rank = 1, .shape = {HEAD_DIM / 2, 1}};
    if (!values)
        return bi_fail(err, BIOINFER_NOMEM, "%s: inv_freq", model->cp->path);
    for (int i = 0; i < HEAD_DIM / 2; i++)
        values[i] = (float)pow(10000.0, -2.0 * i / HEAD_DIM);
    e->inv_freq = bi_model_weight(model, &w, err);
    return e->inv_freq < 0 ? e->inv_freq : 0;
}

/* Reads the settings and binds all weights, but no head. */
static int open_trunk(struct bi_model *model, struct bi_esmc *e, int which,
                      struct bioinfer_error *err)
{
    int st = read_config(model, e, which, err);
    if (st)
        return st;
    if (!(e->layers = bi_arena_calloc(&model->arena, (size_t)e->n_layers, sizeof *e->layers)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: layers", model->cp->path);
    for (size_t i = 0; !st && i < BI_COUNT(trunk_names); i++)
        st = bind(model, e, &trunk_names[i], e->prefix, 0, e, err);
    for (int l = 0; !st && l < e->n_layers; l++)
        for (size_t i = 0; !st && i < BI_COUNT(layer_names); i++)
            st = bind(model, e, &layer_names[i], e->prefix, l, &e->layers[l], err);
    e->dense_w = -1;
    return st ? st : bind_inv_freq(model, e, err);
}

int bi_esmc_open_stem(struct bi_model *model, const struct bi_esmc **out, const char *prefix,
                      const struct bi_json *settings, struct bioinfer_error *err)
{
    struct bi_esmc *e = bi_arena_calloc(&model->arena, 1, sizeof *e);
    const struct bi_json *all = model->cp->config;
    const int which = layout_of(model->cp, prefix);
    int st;
    if (!e)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    if (which < 0)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: no tensors of ESM C, expected names that begin with %s",
                       model->cp->path, prefix);
    model->cp->config = settings;
    if (!(st = bi_settings_check(model, err)))
        st = open_trunk(model, e, which, err);
    model->cp->config = all;
    *out = e;
    return st;
}

int64_t bi_esmc_layers(const struct bi_esmc *e)
{
    return e->n_layers;
}

int64_t bi_esmc_width(const struct bi_esmc *e)
{
    return e->width;
}

static int esmc_open(struct bi_model *model, struct bioinfer_error *err)
{
    struct bi_esmc *e = bi_arena_calloc(&model->arena, 1, sizeof *e);
    int st = 0;
    if (!e)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    if ((st = open_trunk(model, e, layout_of(model->cp, NULL), err)))
        return st;
    if (bi_checkpoint_find(model->cp, head_names[0].file[e->layout]))
        for (size_t i = 0; !st && i < BI_COUNT(head_names); i++)
            st = bind(model, e, &head_names[i], "", 0, e, err);
    if (st)
        return st;
    model->config = e;
    model->tokens = symbols;
    model->n_layers = (int)e->n_layers;
    model->width = (int)e->width;
    model->n_heads = (int)e->n_heads;
    model->head_dim = HEAD_DIM;
    model->vocab_size = ROWS;
    model->n_prefix = model->n_suffix = 1;
    model->mask_id = MASK;
    model->default_include = BIOINFER_MEAN;
    model->can_include = BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_BOS | BIOINFER_ATTENTIONS |
                         (e->dense_w >= 0 ? BIOINFER_LOGITS : 0);
    model->name = e->n_layers == 30 && e->width == 960    ? "esmc_300m"
                  : e->n_layers == 36 && e->width == 1152 ? "esmc_600m"
                  : e->n_layers == 80 && e->width == 2560
                      ? "esmc_6b"
                      : bi_arena_printf(&model->arena, "esmc_%.3gm",
                                        (double)model->n_parameters / 1e6);
    if (!model->name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: name", model->cp->path);
    return 0;
}

/* ---- graph ---- */

struct builder {
    const struct bi_model *model;
    const struct bi_esmc *e;
    struct bi_graph *g;
    const struct bi_wants *wants;
    bi_value_id ids, start, table;
};

static bi_value_id matmul(const struct builder *b, bi_value_id x, int w)
{
    return bi_matmul(b->g, x, bi_model_value(b->model, b->g, w));
}

/* bias -1 = none */
static bi_value_id norm(const struct builder *b, bi_value_id x, int w, int bias)
{
    return bi_layernorm(b->g, x, bi_model_value(b->model, b->g, w),
                        bias < 0 ? BI_NONE : bi_model_value(b->model, b->g, bias), 1e-5f);
}

/* Queries, keys and values of rows h, normalised and scaled. */
static void project(const struct builder *b, const struct layer *l, bi_value_id h,
                    bi_value_id of[3])
{
    of[0] = bi_scale(b->g, norm(b, matmul(b, h, l->q_w), l->q_norm, -1),
                     1 / sqrtf((float)HEAD_DIM));
    of[1] = norm(b, matmul(b, h, l->k_w), l->k_norm, -1);
    of[2] = matmul(b, h, l->v_w);
}

/* Queries, keys and values of the first layer depend on the symbol alone: rows of a table, float32
 * in every precision. What is rounded there passes through all layers. */
static void tabulate(const struct builder *b, const struct layer *l, bi_value_id of[3])
{
    bi_value_id embed = bi_model_value(b->model, b->g, b->e->embed);
    bi_value_id h = norm(b, embed, l->norm1_w, l->norm1_b);
    bi_graph_keep_wide(b->g, h);
    project(b, l, h, of);
    for (int i = 0; i < 3; i++)
        of[i] = bi_select_rows(b->g, of[i], b->ids);
}

/* Attention of one layer; of[] has queries, keys and values before the rotation. */
static bi_value_id attend(const struct builder *b, const bi_value_id of[3], int layer)
{
    struct bi_graph *g = b->g;
    int32_t heads = (int32_t)b->e->n_heads;
    bi_value_id q = of[0], k = of[1], v = of[2];
    bi_value_id maps = bi_softmax(g,
                                  bi_scores(g, bi_rope(g, q, b->table, b->start, heads),
                                            bi_rope(g, k, b->table, b->start, heads), b->start,
                                            heads),
                                  b->start);
    if (b->wants->include & BIOINFER_ATTENTIONS)
        bi_output(g, maps, BIOINFER_ATTENTIONS, layer, "attentions");
    return bi_mix(g, maps, v, b->start);
}

/* Adds the inputs of the trunk; its first level. */
static bi_value_id begin(struct builder *b, const struct bi_shape *shape)
{
    struct bi_graph *g = b->g;
    bi_value_id x;
    b->ids = bi_input(g, "ids", BI_I32, BI_AXIS_TOKENS, shape->n_tokens);
    x = bi_embedding(g, bi_model_value(b->model, g, b->e->embed), b->ids);
    b->start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, shape->n_seqs + 1);
    b->table = bi_rope_table(g, bi_model_value(b->model, g, b->e->inv_freq), shape->longest);
    return x;
}

/* Attention of layer i of rows x, before the output's product. */
static bi_value_id attend_rows(const struct builder *b, bi_value_id x, int i)
{
    const struct layer *l = &b->e->layers[i];
    bi_value_id qkv[3];
    if (i == 0)
        tabulate(b, l, qkv);
    else
        project(b, l, norm(b, x, l->norm1_w, l->norm1_b), qkv);
    return attend(b, qkv, i);
}

/* Rows x of layer i, with attention h, after the layer. */
static bi_value_id finish(const struct builder *b, bi_value_id x, bi_value_id h, int i)
{
    const struct layer *l = &b->e->layers[i];
    struct bi_graph *g = b->g;
    x = bi_add(g, matmul(b, h, l->out_w), x);
    h = norm(b, x, l->norm2_w, l->norm2_b);
    if (i < EXACT_LAYERS)
        bi_graph_exact(g, h);
    h = bi_mul(g, bi_silu(g, matmul(b, h, l->gate_w)), matmul(b, h, l->up_w));
    if (i < EXACT_LAYERS)
        bi_graph_exact(g, h);
    return bi_add(g, matmul(b, h, l->down_w), x);
}

bi_value_id bi_esmc_mix(const struct bi_model *model, const struct bi_esmc *e, struct bi_graph *g,
                        const struct bi_shape *shape, const float *weights, bi_value_id w,
                        bi_value_id bias)
{
    static const struct bi_wants nothing;
    struct builder b = {.model = model, .e = e, .g = g, .wants = &nothing};
    bi_value_id x = begin(&b, shape);
    bi_value_id sum = bi_scale(g, bi_layernorm(g, x, w, bias, 1e-5f), weights[0]);
    for (int i = 0; i < e->n_layers; i++) {
        x = finish(&b, x, attend_rows(&b, x, i), i);
        if (i == e->n_layers - 1)
            x = norm(&b, x, e->norm_w, -1);
        sum = bi_add(g, sum, bi_scale(g, bi_layernorm(g, x, w, bias, 1e-5f), weights[i + 1]));
    }
    return sum;
}

static void esmc_build(const struct bi_model *model, struct bi_graph *g,
                       const struct bi_shape *shape, const struct bi_wants *wants)
{
    const struct bi_esmc *e = model->config;
    struct builder b = {.model = model, .e = e, .g = g, .wants = wants};
    bool logits = wants->include & (BIOINFER_LOGITS | BI_WANT_ROW_LOGITS);
    bool rows_only = wants->include == BI_WANT_ROW_LOGITS;
    bi_value_id x = begin(&b, shape), rows;
    rows = wants->include & BI_WANT_ROW_LOGITS
               ? bi_input(g, "rows", BI_I32, BI_AXIS_ROWS, shape->n_rows)
               : BI_NONE;
    for (int i = 0; i < e->n_layers; i++) {
        bi_value_id h;
        bi_model_represent(model, g, wants, x, b.start, i);
        h = attend_rows(&b, x, i);
        if (rows_only && i == e->n_layers - 1) { /* the rest concerns the asked rows alone */
            h = bi_select_rows(g, h, rows);
            x = bi_select_rows(g, x, rows);
        }
        x = finish(&b, x, h, i);
    }
    x = norm(&b, x, e->norm_w, -1);
    bi_model_represent(model, g, wants, x, b.start, (int)e->n_layers);
    if (logits) {
        if (!rows_only && wants->include & BI_WANT_ROW_LOGITS)
            x = bi_select_rows(g, x, rows);
        x = bi_add(g, matmul(&b, x, e->dense_w), bi_model_value(model, g, e->dense_b));
        x = norm(&b, bi_gelu(g, x), e->lm_norm_w, e->lm_norm_b);
        x = bi_add(g, matmul(&b, x, e->lm_w), bi_model_value(model, g, e->lm_b));
        bi_output(g, x, (int)(wants->include & (BIOINFER_LOGITS | BI_WANT_ROW_LOGITS)), -1,
                  "logits");
    }
}

/* ---- tokens ---- */

static int esmc_residue_token(const struct bi_model *model, char residue)
{
    (void)model;
    for (int i = 4; i <= 31; i++) /* L ... |, all one character */
        if (symbols[i][0] == residue)
            return i;
    return residue == '_' ? MASK : -1;
}

static const int32_t specials[] = {0, PAD, 2, UNK, MASK};

static int esmc_encode(const struct bi_model *model, const struct bioinfer_record *r, bool raw,
                       struct bi_tokens *out, struct bioinfer_error *err)
{
    out->n = 0;
    out->n_mapped = 0;
    if (!bi_grow(model->env, &out->ids, &out->cap, r->length + 2, sizeof *out->ids))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tokens of %zu residues", r->id, r->length);
    out->ids[out->n++] = 0;
    for (size_t i = 0; i < r->length;) {
        char c = r->sequence[i];
        int32_t id = esmc_residue_token(model, c);
        size_t len = 1;
        if (id < 0)
            len = bi_model_special(model, specials, (int)BI_COUNT(specials), r->sequence + i,
                                   r->length - i, &id);
        if (id < 0 && raw) { /* the reference: every other character is one <unk> */
            id = UNK;
            len = 1;
        } else if (id < 0 && c == 'J') {
            id = X_ID;
            len = 1;
            out->n_mapped++;
        } else if (id < 0) {
            return bi_model_bad_residue(r, i, err);
        }
        out->ids[out->n++] = id;
        i += len;
    }
    out->ids[out->n++] = 2;
    return 0;
}

void bi_esmc_settings(const struct bi_esmc *e, struct bi_hash *to)
{
    bi_hash_int(to, "n_layers", e->n_layers);
    bi_hash_int(to, "width", e->width);
    bi_hash_int(to, "n_heads", e->n_heads);
    bi_hash_int(to, "ffn", e->ffn);
}

static int esmc_facts(const struct bi_model *model, struct bi_hash *to)
{
    bi_esmc_settings(model->config, to);
    return 0;
}

static const struct bi_release releases[] = {
    {"biohub/ESMC-300M", "MIT", "config.json model.safetensors", 332997184, 1331988736},
    {"biohub/ESMC-600M", "MIT", "config.json model.safetensors", 575036992, 2300147968},
    {0}};

static const struct bi_sequences_def sequences = {
    .build = esmc_build,
    .encode = esmc_encode,
    .residue_token = esmc_residue_token,
};

const struct bi_model_def bi_model_esmc = {
    .name = "esmc",
    .summary = "ESM C protein language models, 300M and 600M parameters",
    .default_name = "biohub/ESMC-300M",
    .releases = releases,
    .gpu = true,
    .trained_residues = 2046,
    .recognise = esmc_recognise,
    .open = esmc_open,
    .kind = &bi_kind_sequences,
    .def = &sequences,
    .facts = esmc_facts,
};

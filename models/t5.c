/* t5.c - the encoder of T5: configuration, weights, vocabulary and graph.
 *
 * Pre-norm encoder without biases, D wide, L layers, H heads of d (H d need not be D):
 *
 *   x = E[ids]
 *   L times:
 *     h = R(x);  q = h Wq;  k = h Wk;  v = h Wv
 *     x = x + softmax(q k^T + bias[bucket(j - i)]) v Wo      within each sequence
 *     x = x + relu(R(x) Wi) Wf        or  (gelu(R(x) W0) * (R(x) W1)) Wf   where it is gated
 *   representations: 0 = embedding, i = x after layer i, L = R(x) after the last layer
 *   R(x) = x / sqrt(mean x^2 + eps) w
 *
 * Facts that cost others a bug: scores are not divided by sqrt(d); the bias is in block 0 only
 * and belongs to all layers; a key to the right of the query has the upper half of the buckets;
 * the gelu is the one by tanh; there is no token in front, one </s> behind.
 *
 * Weight layouts: T5EncoderModel, T5ForConditionalGeneration (the decoder is not read) and
 * T5ForSequenceClassification (it is, t5_decoder.c), the embedding as shared or as
 * encoder.embed_tokens. The vocabulary comes from spiece.model, with what added_tokens.json or
 * tokenizer_config.json put behind it, or from tokenizer.json.
 * Source: huggingface/transformers models/t5.
 *
 * Half precision: the operand behind the first feed-forward matrix may leave the range of
 * float16. It then becomes infinite, every value that depends on it infinite or NaN, and the
 * record is computed again in float32 (engine/runner.c).
 *
 * Sections: names, opening, graph. */
#include "t5.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LAYERS = 512, MAX_BUCKETS = 4096, MAX_DISTANCE = 1 << 20 };

/* ---- names ---- */

#define L_(member) offsetof(struct bi_t5_layer, member)
#define M_(member) offsetof(struct bi_t5, member)
#define BLOCK_ "encoder.block.%d.layer."

/* clang-format off */
static const struct bi_t5_name layer_names[] = {
    {L_(norm1), "layers.%d.norm1.weight", BLOCK_ "0.layer_norm.weight", BI_T5_D, BI_T5_ANY},
    {L_(q_w), "layers.%d.q.weight", BLOCK_ "0.SelfAttention.q.weight", BI_T5_ID, BI_T5_ANY},
    {L_(k_w), "layers.%d.k.weight", BLOCK_ "0.SelfAttention.k.weight", BI_T5_ID, BI_T5_ANY},
    {L_(v_w), "layers.%d.v.weight", BLOCK_ "0.SelfAttention.v.weight", BI_T5_ID, BI_T5_ANY},
    {L_(out_w), "layers.%d.out.weight", BLOCK_ "0.SelfAttention.o.weight", BI_T5_DI, BI_T5_ANY},
    {L_(norm2), "layers.%d.norm2.weight", BLOCK_ "1.layer_norm.weight", BI_T5_D, BI_T5_ANY},
    {L_(wi), "layers.%d.wi.weight", BLOCK_ "1.DenseReluDense.wi.weight", BI_T5_FD, BI_T5_PLAIN},
    {L_(wi), "layers.%d.wi_0.weight", BLOCK_ "1.DenseReluDense.wi_0.weight", BI_T5_FD, BI_T5_GATED},
    {L_(wi2), "layers.%d.wi_1.weight",
     BLOCK_ "1.DenseReluDense.wi_1.weight", BI_T5_FD, BI_T5_GATED},
    {L_(wo), "layers.%d.wo.weight", BLOCK_ "1.DenseReluDense.wo.weight", BI_T5_DF, BI_T5_ANY},
};
/* clang-format on */

static const char bias_name[] =
    "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight";

/* In front of all names: models for classification have the base under a name of its own. */
static const char *const prefixes[] = {"", "transformer."};

static const struct bi_tensor *find(const struct bi_checkpoint *cp, const char *prefix,
                                    const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return bi_checkpoint_find(cp, full);
}

/* NULL when the file is no T5. */
static const char *prefix_of(const struct bi_checkpoint *cp)
{
    for (size_t i = 0; i < BI_COUNT(prefixes); i++)
        if (find(cp, prefixes[i], bias_name))
            return prefixes[i];
    return NULL;
}

const struct bi_tensor *bi_t5_buckets(const struct bi_checkpoint *cp)
{
    const char *prefix = bi_config_type_is(cp, "t5") ? prefix_of(cp) : NULL;
    return prefix ? find(cp, prefix, bias_name) : NULL;
}

bool bi_t5_has_piece(const struct bi_checkpoint *cp, const char *piece)
{
    for (size_t i = 0; i < cp->pieces.n; i++)
        if (!strcmp(cp->pieces.pieces[i], piece))
            return true;
    return false;
}

/* ---- opening ---- */

int bi_t5_bind(struct bi_model *model, const struct bi_t5 *e, const struct bi_t5_name *n, int layer,
               void *base, struct bioinfer_error *err)
{
    const int64_t inner = e->n_heads * e->head_dim;
    const int64_t shapes[][2] = {[BI_T5_D] = {e->width, 0},
                                 [BI_T5_ID] = {inner, e->width},
                                 [BI_T5_DI] = {e->width, inner},
                                 [BI_T5_FD] = {e->ffn, e->width},
                                 [BI_T5_DF] = {e->width, e->ffn}};
    struct bi_binding b = {.at = n->at,
                           .canonical = n->canonical,
                           .prefix = e->prefix,
                           .file = n->file,
                           .rows = shapes[n->shape][0],
                           .columns = shapes[n->shape][1]};
    if (n->when != BI_T5_ANY && (n->when == BI_T5_GATED) != e->gated)
        return 0;
    return bi_model_bind(model, &b, layer, base, err);
}

static const struct bi_tensor *embedding(const struct bi_checkpoint *cp, const char *prefix)
{
    const struct bi_tensor *t = find(cp, prefix, "shared.weight");
    return t ? t : find(cp, prefix, "encoder.embed_tokens.weight");
}

/* The activation that config.json names; the published file may name none: relu, not gated. */
static int read_activation(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err)
{
    const struct bi_json *config = model->cp->config;
    const char *proj = bi_json_string(bi_json_get(config, "feed_forward_proj"));
    const char *act = bi_json_string(bi_json_get(config, "dense_act_fn"));
    static const struct {
        const char *proj;
        bool gated;
        int act;
    } kinds[] = {{"relu", false, BI_T5_RELU}, {"gated-gelu", true, BI_T5_GELU_TANH}};
    e->gated = find(model->cp, e->prefix, "encoder.block.0.layer.1.DenseReluDense.wi_0.weight") !=
               NULL;
    proj = proj ? proj : e->gated ? "gated-gelu" : "relu";
    for (size_t i = 0; i < BI_COUNT(kinds); i++) {
        const char *own = kinds[i].act == BI_T5_RELU ? "relu" : "gelu_new";
        if (strcmp(kinds[i].proj, proj) || (act && strcmp(act, own)))
            continue;
        if (kinds[i].gated != e->gated)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: config.json: feed_forward_proj is '%s', the "
                           "weights are %sgated",
                           model->cp->path, proj, e->gated ? "" : "not ");
        e->act = kinds[i].act == BI_T5_RELU ? BI_T5_RELU : BI_T5_GELU_TANH;
        return 0;
    }
    return bi_fail(err, BIOINFER_UNSUPPORTED,
                   "%s: config.json: feed_forward_proj '%s' with "
                   "dense_act_fn '%s': expected relu, or gated-gelu with gelu_new",
                   model->cp->path, proj, act ? act : "none");
}

static int read_config(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err)
{
    const struct bi_checkpoint *cp = model->cp;
    const char *prefix = e->prefix = prefix_of(cp);
    const struct bi_tensor *embed = embedding(cp, prefix), *bias = find(cp, prefix, bias_name);
    const struct bi_tensor *q = find(cp, prefix, "encoder.block.0.layer.0.SelfAttention.q.weight");
    const struct bi_tensor *wo = find(cp, prefix,
                                      "encoder.block.0.layer.1.DenseReluDense.wo.weight");
    char name[96];
    int st;
    if (!embed || embed->rank != 2 || embed->shape[0] < 3 || embed->shape[0] > 1 << 20 ||
        embed->shape[1] < 1 || embed->shape[1] > 65536)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: shared.weight: missing, or not [vocabulary, "
                       "width]",
                       cp->path);
    if (bias->rank != 2 || bias->shape[0] < 2 || bias->shape[0] > MAX_BUCKETS ||
        bias->shape[0] % 2 || bias->shape[1] < 1 || bias->shape[1] > 1024)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [buckets, heads], buckets even",
                       cp->path, bias_name);
    e->vocab = (int64_t)embed->shape[0];
    e->width = (int64_t)embed->shape[1];
    e->n_heads = (int64_t)bias->shape[1];
    if (!q || q->rank != 2 || q->shape[0] % (uint64_t)e->n_heads || !q->shape[0] ||
        q->shape[0] / (uint64_t)e->n_heads > 256)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: queries of block 0: missing, or not [%lld "
                       "heads of at most 256, width]",
                       cp->path, (long long)e->n_heads);
    e->head_dim = (int64_t)q->shape[0] / e->n_heads;
    if (!wo || wo->rank != 2 || wo->shape[1] < 1 || wo->shape[1] > 1 << 20)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: feed-forward of block 0: missing, or not "
                       "[width, feed-forward width]",
                       cp->path);
    e->ffn = (int64_t)wo->shape[1];
    while (e->n_layers < MAX_LAYERS) {
        snprintf(name, sizeof name, "encoder.block.%d.layer.0.layer_norm.weight", (int)e->n_layers);
        if (!find(cp, prefix, name))
            break;
        e->n_layers++;
    }
    e->eps = 1e-6f;
    const struct bi_config_fact facts[] = {
        {"d_model", e->width},
        {"num_heads", e->n_heads},
        {"d_kv", e->head_dim},
        {"d_ff", e->ffn},
        {"num_layers", e->n_layers},
        {"vocab_size", e->vocab},
        {"relative_attention_num_buckets", (int64_t)bias->shape[0]}};
    if ((st = bi_config_agrees(model, facts, BI_COUNT(facts), err)))
        return st;
    if ((st = bi_config_eps(model, "layer_norm_epsilon", &e->eps, err)) < 0)
        return st;
    return read_activation(model, e, err);
}

int64_t bi_t5_bucket(int64_t n, int64_t buckets, int64_t max_distance)
{
    const int64_t exact = buckets / 2;
    float far;
    if (n < exact)
        return n;
    /* in float32, as the reference; no distance of the usual tables falls between */
    far = logf((float)n / (float)exact) / (float)log((double)max_distance / (double)exact) *
          (float)(buckets - exact);
    return exact + (int64_t)far < buckets - 1 ? exact + (int64_t)far : buckets - 1;
}

/* Bucket of key place less query place, of `buckets` for both directions: each distance below a
 * quarter of them has its own, further ones share by the logarithm up to max_distance. */
static int64_t bucket_of(int64_t gap, int64_t buckets, int64_t max_distance)
{
    return (gap > 0 ? buckets / 2 : 0) +
           bi_t5_bucket(gap < 0 ? -gap : gap, buckets / 2, max_distance);
}

/* [heads, 2 reach + 1], reach: where both directions have come to their last bucket. */
static int bind_bias(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err)
{
    const struct bi_tensor *t = find(model->cp, e->prefix, bias_name);
    const int64_t buckets = (int64_t)t->shape[0], heads = e->n_heads;
    int64_t max_distance = 128, reach = 1, width;
    float *stored, *table;
    struct bi_weight w = {.name = "relative_bias", .rank = 2};
    int st = bi_config_int(model, "relative_attention_max_distance", 1, MAX_DISTANCE, &max_distance,
                           err);
    if (st < 0)
        return st;
    if (max_distance <= buckets / 4 || !bi_dtype_is_loadable(t->dtype))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: %lld buckets up to a distance of %lld, as %s", model->cp->path,
                       (long long)buckets, (long long)max_distance, bi_dtype_name(t->dtype));
    while (reach < max_distance && bucket_of(-reach, buckets, max_distance) < buckets / 2 - 1)
        reach++;
    width = 2 * reach + 1;
    stored = bi_arena_calloc(&model->arena, (size_t)t->n_elements, sizeof *stored);
    table = bi_arena_calloc(&model->arena, (size_t)(heads * width), sizeof *table);
    if (!stored || !table)
        return bi_fail(err, BIOINFER_NOMEM, "%s: relative bias", model->cp->path);
    if ((st = bi_tensor_read_f32(model->cp, t, 0, t->n_elements, stored, err)))
        return st;
    for (int64_t h = 0; h < heads; h++)
        for (int64_t gap = -reach; gap <= reach; gap++)
            table[h * width + reach + gap] =
                stored[bucket_of(gap, buckets, max_distance) * heads + h];
    w.values = table;
    w.shape[0] = heads;
    w.shape[1] = width;
    e->bias = bi_model_weight(model, &w, err);
    model->n_parameters += (int64_t)t->n_elements;
    return e->bias < 0 ? e->bias : 0;
}

/* Symbols by id. T5's tokenizer puts <extra_id_0> and so on behind the pieces, the last one
 * first. */
static int read_vocab(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err)
{
    const struct bi_vocab *v = &model->cp->pieces;
    const char **symbols = bi_arena_calloc(&model->arena, (size_t)e->vocab, sizeof *symbols);
    int n_extra = 0;
    if (!symbols)
        return bi_fail(err, BIOINFER_NOMEM, "%s: vocabulary", model->cp->path);
    if (!v->n)
        return bi_fail(err, BIOINFER_NOT_FOUND,
                       "%s: neither spiece.model nor tokenizer.json of a "
                       "Unigram model is beside the weights",
                       model->cp->path);
    if (v->n > (size_t)e->vocab)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %zu pieces, the embedding has %lld rows",
                       model->cp->path, v->n, (long long)e->vocab);
    e->eos = e->unk = -1;
    for (int i = 0; i < 256; i++)
        e->letters[i] = -1;
    for (int64_t i = e->vocab; i-- > 0;) {
        const char *piece = (size_t)i < v->n ? v->pieces[i] : "";
        if (!strcmp(piece, "</s>"))
            e->eos = (int32_t)i;
        else if (!strcmp(piece, "<unk>"))
            e->unk = (int32_t)i;
        symbols[i] = *piece ? piece : bi_arena_printf(&model->arena, "<extra_id_%d>", n_extra++);
        if (!symbols[i])
            return bi_fail(err, BIOINFER_NOMEM, "%s: vocabulary", model->cp->path);
    }
    if (e->eos < 0 || e->unk < 0)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: the vocabulary lacks %s", model->cp->path,
                       e->eos < 0 ? "</s>" : "<unk>");
    model->tokens = symbols;
    return 0;
}

/* Does an adapter have the tensor `name`? */
static bool is_tuned(const struct bi_model *model, const struct bi_t5 *e, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s", e->prefix, name);
    return model->adapter && bi_adapter_tensor(model->adapter, full);
}

/* The table of tokens of the encoder or the decoder. PEFT trains a copy for each, and reads it
 * in place of the table that they share; no stack reads a copy of the shared table. */
static int bind_words(struct bi_model *model, struct bi_t5 *e, bool decoder,
                      struct bioinfer_error *err)
{
    const char *stack = decoder ? "decoder.embed_tokens.weight" : "encoder.embed_tokens.weight";
    const char *shared = embedding(model->cp, e->prefix)->name;
    const bool tuned = is_tuned(model, e, stack);
    const struct bi_binding words = {
        .at = decoder ? M_(before) : M_(embed),
        .canonical = decoder ? "decoder.embed_tokens.weight" : "embed_tokens.weight",
        .prefix = tuned ? e->prefix : "",
        .file = tuned ? stack : shared,
        .rows = e->vocab,
        .columns = e->width,
        .untied = !tuned && model->adapter && bi_adapter_unties(model->adapter, shared)};
    const int64_t before = model->n_parameters;
    int st = 0;
    if (decoder && !tuned && !is_tuned(model, e, "encoder.embed_tokens.weight"))
        e->before = e->embed;
    else
        st = bi_model_bind(model, &words, 0, e, err);
    if (decoder) /* counted with the encoder's */
        model->n_parameters = before;
    return st;
}

static int bind_weights(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err)
{
    struct bi_binding norm = {.at = M_(norm),
                              .canonical = "norm.weight",
                              .prefix = e->prefix,
                              .file = "encoder.final_layer_norm.weight",
                              .rows = e->width};
    int st = bind_bias(model, e, err);
    if (st || (st = bind_words(model, e, false, err)) ||
        (st = bi_model_bind(model, &norm, 0, e, err)))
        return st;
    for (int l = 0; !st && l < e->n_layers; l++) {
        e->layers[l].wi2 = -1;
        for (size_t i = 0; !st && i < BI_COUNT(layer_names); i++)
            st = bi_t5_bind(model, e, &layer_names[i], l, &e->layers[l], err);
    }
    return st;
}

int bi_t5_open(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err)
{
    int st;
    if ((st = read_config(model, e, err)) || (st = read_vocab(model, e, err)))
        return st;
    if (!(e->layers = bi_arena_calloc(&model->arena, (size_t)e->n_layers, sizeof *e->layers)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: layers", model->cp->path);
    if ((st = bind_weights(model, e, err)) || (st = bi_t5_decoder_open(model, e, err)) ||
        (st = e->decoder ? bind_words(model, e, true, err) : 0))
        return st;
    model->config = e;
    model->n_layers = (int)e->n_layers;
    model->width = (int)e->width;
    model->n_heads = (int)e->n_heads;
    model->head_dim = (int)e->head_dim;
    model->vocab_size = (int)e->vocab;
    model->n_suffix = 1;
    model->mask_id = -1;
    model->default_include = BIOINFER_MEAN;
    model->can_include = BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_ATTENTIONS;
    return 0;
}

int bi_t5_residue_token(const struct bi_model *model, char residue)
{
    const struct bi_t5 *e = model->config;
    return e->letters[(unsigned char)residue];
}

int bi_t5_settings(const struct bi_model *model, struct bi_hash *to)
{
    const struct bi_t5 *e = model->config;
    bi_hash_int(to, "n_layers", e->n_layers);
    bi_hash_int(to, "width", e->width);
    bi_hash_int(to, "n_heads", e->n_heads);
    bi_hash_int(to, "head_dim", e->head_dim);
    bi_hash_int(to, "ffn", e->ffn);
    bi_hash_int(to, "vocab", e->vocab);
    bi_hash_int(to, "gated", e->gated);
    bi_hash_int(to, "act", (int)e->act);
    bi_hash_real(to, "eps", (double)e->eps);
    bi_hash_int(to, "eos", 1 + e->eos);
    bi_hash_int(to, "unk", 1 + e->unk);
    bi_hash_int(to, "decoder", e->decoder ? e->decoder->n_layers : 0);
    return 0;
}

/* ---- graph ---- */

bi_value_id bi_t5_attend(const struct bi_model *model, struct bi_graph *g,
                         const struct bi_t5_layer *l, bi_value_id x, bi_value_id to, int bias,
                         bi_value_id start, bi_value_id *maps)
{
    const struct bi_t5 *e = model->config;
    bi_value_id q = bi_matmul(g, x, bi_model_value(model, g, l->q_w));
    bi_value_id k = bi_matmul(g, to, bi_model_value(model, g, l->k_w));
    bi_value_id v = bi_matmul(g, to, bi_model_value(model, g, l->v_w));
    bi_value_id scores = bi_scores(g, q, k, start, (int32_t)e->n_heads);
    if (bias >= 0)
        scores = bi_relative_bias(g, scores, bi_model_value(model, g, bias), start);
    *maps = bi_softmax(g, scores, start);
    return bi_matmul(g, bi_mix(g, *maps, v, start), bi_model_value(model, g, l->out_w));
}

bi_value_id bi_t5_feed_forward(const struct bi_model *model, struct bi_graph *g,
                               const struct bi_t5_layer *l, bi_value_id h)
{
    const struct bi_t5 *e = model->config;
    bi_value_id z = bi_norm_act(g, bi_matmul(g, h, bi_model_value(model, g, l->wi)), BI_NONE,
                                BI_NONE,
                                e->act == BI_T5_RELU ? BI_NORM_ACT_RELU : BI_NORM_ACT_TANH_GELU, 0);
    if (e->gated)
        z = bi_mul(g, z, bi_matmul(g, h, bi_model_value(model, g, l->wi2)));
    return bi_matmul(g, z, bi_model_value(model, g, l->wo));
}

void bi_t5_build(const struct bi_model *model, struct bi_graph *g, const struct bi_shape *shape,
                 const struct bi_wants *wants)
{
    const struct bi_t5 *e = model->config;
    bi_value_id ids = bi_input(g, "ids", BI_I32, BI_AXIS_TOKENS, shape->n_tokens);
    bi_value_id x = bi_embedding(g, bi_model_value(model, g, e->embed), ids);
    bi_value_id start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, shape->n_seqs + 1), h, maps, y;
    struct bi_wants encoder = *wants;
    if (e->decoder)
        encoder.include &= ~(unsigned)BIOINFER_CLASS_LOGITS;
    for (int i = 0; i < e->n_layers; i++) {
        const struct bi_t5_layer *l = &e->layers[i];
        bi_model_represent(model, g, &encoder, x, start, i);
        h = bi_rmsnorm(g, x, bi_model_value(model, g, l->norm1), e->eps);
        y = bi_t5_attend(model, g, l, h, h, e->bias, start, &maps);
        if (wants->include & BIOINFER_ATTENTIONS)
            bi_output(g, maps, BIOINFER_ATTENTIONS, i, "attentions");
        x = bi_add(g, y, x);
        h = bi_rmsnorm(g, x, bi_model_value(model, g, l->norm2), e->eps);
        x = bi_add(g, bi_t5_feed_forward(model, g, l, h), x);
    }
    x = bi_rmsnorm(g, x, bi_model_value(model, g, e->norm), e->eps);
    bi_model_represent(model, g, &encoder, x, start, (int)e->n_layers);
    if (e->decoder && wants->include & BIOINFER_CLASS_LOGITS)
        bi_t5_decoder_build(model, g, shape, x, start);
}

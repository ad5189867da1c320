/* t5_decoder.c - the decoder of T5ForSequenceClassification, whose row at the last token, </s>, is
 * what its classifier reads. The decoder reads the sequence that the encoder has read, each token a
 * place later, and the token decoder_start_token_id in front:
 *
 *   x = E[ids before]
 *   L times:
 *     h = R(x);  x = x + softmax(q k^T + bias[bucket(i - j)]) v Wo      keys j <= i alone
 *     h = R(x);  x = x + softmax(q ke^T) ve Wo                          keys, values of the encoder
 *     x = x + F(R(x))                                                   as in the encoder
 *   logits = tanh(R(x)[last] Wd + bd) Wc + bc
 *
 * The bias of a key behind the query is so low that its weight is 0. Keys in front share buckets by
 * the logarithm of their distance, all of them for one direction.
 * Source: huggingface/transformers models/t5. */
#include <stdio.h>
#include <string.h>

#include "head.h"
#include "t5.h"

enum { MAX_LAYERS = 512, MAX_DISTANCE = 1 << 20 };

/* The weight of a key with this bias is 0 beside any other; float16 can hold it. */
static const float BEHIND = -30000.0f;

static const char bias_name[] =
    "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight";

static const struct bi_tensor *find(const struct bi_model *model, const struct bi_t5 *e,
                                    const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s", e->prefix, name);
    return bi_checkpoint_find(model->cp, full);
}

/* ---- weights ---- */

#define S_(member) offsetof(struct bi_t5_decoder_layer, self.member)
#define C_(member) offsetof(struct bi_t5_decoder_layer, member)
#define BLOCK_ "decoder.block.%d.layer."

/* clang-format off */
static const struct bi_t5_name names[] = {
    {S_(norm1), "decoder.%d.norm1.weight", BLOCK_ "0.layer_norm.weight", BI_T5_D, BI_T5_ANY},
    {S_(q_w), "decoder.%d.q.weight", BLOCK_ "0.SelfAttention.q.weight", BI_T5_ID, BI_T5_ANY},
    {S_(k_w), "decoder.%d.k.weight", BLOCK_ "0.SelfAttention.k.weight", BI_T5_ID, BI_T5_ANY},
    {S_(v_w), "decoder.%d.v.weight", BLOCK_ "0.SelfAttention.v.weight", BI_T5_ID, BI_T5_ANY},
    {S_(out_w), "decoder.%d.out.weight", BLOCK_ "0.SelfAttention.o.weight", BI_T5_DI, BI_T5_ANY},
    {C_(norm), "decoder.%d.cross_norm.weight", BLOCK_ "1.layer_norm.weight", BI_T5_D, BI_T5_ANY},
    {C_(q_w), "decoder.%d.cross_q.weight",
     BLOCK_ "1.EncDecAttention.q.weight", BI_T5_ID, BI_T5_ANY},
    {C_(k_w), "decoder.%d.cross_k.weight",
     BLOCK_ "1.EncDecAttention.k.weight", BI_T5_ID, BI_T5_ANY},
    {C_(v_w), "decoder.%d.cross_v.weight",
     BLOCK_ "1.EncDecAttention.v.weight", BI_T5_ID, BI_T5_ANY},
    {C_(out_w), "decoder.%d.cross_out.weight",
     BLOCK_ "1.EncDecAttention.o.weight", BI_T5_DI, BI_T5_ANY},
    {S_(norm2), "decoder.%d.norm2.weight", BLOCK_ "2.layer_norm.weight", BI_T5_D, BI_T5_ANY},
    {S_(wi), "decoder.%d.wi.weight", BLOCK_ "2.DenseReluDense.wi.weight", BI_T5_FD, BI_T5_PLAIN},
    {S_(wi), "decoder.%d.wi_0.weight",
     BLOCK_ "2.DenseReluDense.wi_0.weight", BI_T5_FD, BI_T5_GATED},
    {S_(wi2), "decoder.%d.wi_1.weight",
     BLOCK_ "2.DenseReluDense.wi_1.weight", BI_T5_FD, BI_T5_GATED},
    {S_(wo), "decoder.%d.wo.weight", BLOCK_ "2.DenseReluDense.wo.weight", BI_T5_DF, BI_T5_ANY},
};
/* clang-format on */

/* [heads, 2 reach + 1], reach: where keys in front have come to the last bucket. */
static int bind_bias(struct bi_model *model, const struct bi_t5 *e, struct bi_t5_decoder *d,
                     struct bioinfer_error *err)
{
    const struct bi_tensor *t = find(model, e, bias_name);
    const int64_t buckets = (int64_t)t->shape[0], heads = e->n_heads;
    int64_t max_distance = 128, reach = 1, width;
    float *stored, *table;
    struct bi_weight w = {.name = "decoder.relative_bias", .rank = 2};
    int st = bi_config_int(model, "relative_attention_max_distance", 1, MAX_DISTANCE, &max_distance,
                           err);
    if (st < 0)
        return st;
    if (t->rank != 2 || buckets < 2 || buckets > 4096 || t->shape[1] != (uint64_t)heads ||
        max_distance <= buckets / 2)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [buckets, %lld heads]",
                       model->cp->path, t->name, (long long)heads);
    while (reach < max_distance && bi_t5_bucket(reach, buckets, max_distance) < buckets - 1)
        reach++;
    width = 2 * reach + 1;
    table = bi_arena_calloc(&model->arena, (size_t)(heads * width), sizeof *table);
    if (!table)
        return bi_fail(err, BIOINFER_NOMEM, "%s: relative bias", model->cp->path);
    if ((st = bi_model_read(model, t, &stored, err)))
        return st;
    for (int64_t h = 0; h < heads; h++)
        for (int64_t gap = -reach; gap <= reach; gap++)
            table[h * width + reach + gap] =
                gap > 0 ? BEHIND : stored[bi_t5_bucket(-gap, buckets, max_distance) * heads + h];
    w.values = table;
    w.shape[0] = heads;
    w.shape[1] = width;
    d->bias = bi_model_weight(model, &w, err);
    model->n_parameters += (int64_t)t->n_elements;
    return d->bias < 0 ? d->bias : 0;
}

int bi_t5_decoder_open(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err)
{
    struct bi_binding norm = {.at = offsetof(struct bi_t5_decoder, norm),
                              .canonical = "decoder.norm.weight",
                              .prefix = e->prefix,
                              .file = "decoder.final_layer_norm.weight",
                              .rows = e->width};
    struct bi_t5_decoder *d;
    int64_t first = 0;
    char name[96];
    int st;
    if (!bi_model_find(model, "classification_head.dense.weight") || !find(model, e, bias_name))
        return 0;
    if (!(d = bi_arena_calloc(&model->arena, 1, sizeof *d)) ||
        !(d->layers = bi_arena_calloc(&model->arena, MAX_LAYERS, sizeof *d->layers)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: layers", model->cp->path);
    if ((st = bi_config_int(model, "decoder_start_token_id", 0, e->vocab - 1, &first, err)) < 0 ||
        (st = bind_bias(model, e, d, err)) || (st = bi_model_bind(model, &norm, 0, d, err)))
        return st;
    for (; d->n_layers < MAX_LAYERS; d->n_layers++) {
        struct bi_t5_decoder_layer *l = &d->layers[d->n_layers];
        snprintf(name, sizeof name, BLOCK_ "0.layer_norm.weight", (int)d->n_layers);
        if (!find(model, e, name))
            break;
        l->self.wi2 = -1;
        for (size_t i = 0; i < BI_COUNT(names); i++)
            if ((st = bi_t5_bind(model, e, &names[i], (int)d->n_layers, l, err)))
                return st;
    }
    model->before_id = (int32_t)first;
    e->decoder = d;
    model->has_decoder = true;
    return 0;
}

/* ---- graph ---- */

void bi_t5_decoder_build(const struct bi_model *model, struct bi_graph *g,
                         const struct bi_shape *shape, bi_value_id encoded, bi_value_id start)
{
    const struct bi_t5 *e = model->config;
    const struct bi_t5_decoder *d = e->decoder;
    bi_value_id ids = bi_input(g, BI_INPUT_BEFORE, BI_I32, BI_AXIS_TOKENS, shape->n_tokens);
    bi_value_id last = bi_input(g, BI_INPUT_LAST, BI_I32, BI_AXIS_SEQS, shape->n_seqs + 1);
    bi_value_id x = bi_embedding(g, bi_model_value(model, g, e->before), ids), h, maps;
    for (int i = 0; i < d->n_layers; i++) {
        const struct bi_t5_decoder_layer *l = &d->layers[i];
        const struct bi_t5_layer cross = {
            .q_w = l->q_w, .k_w = l->k_w, .v_w = l->v_w, .out_w = l->out_w};
        h = bi_rmsnorm(g, x, bi_model_value(model, g, l->self.norm1), e->eps);
        x = bi_add(g, bi_t5_attend(model, g, &l->self, h, h, d->bias, start, &maps), x);
        h = bi_rmsnorm(g, x, bi_model_value(model, g, l->norm), e->eps);
        x = bi_add(g, bi_t5_attend(model, g, &cross, h, encoded, -1, start, &maps), x);
        h = bi_rmsnorm(g, x, bi_model_value(model, g, l->self.norm2), e->eps);
        x = bi_add(g, bi_t5_feed_forward(model, g, &l->self, h), x);
    }
    x = bi_rmsnorm(g, x, bi_model_value(model, g, d->norm), e->eps);
    bi_output(g, bi_head_build(model, model->classifier, g, x, last), BIOINFER_CLASS_LOGITS, -1,
              "class-logits");
}

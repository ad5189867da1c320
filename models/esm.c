/* esm.c - the encoder of ESM-2 and of what shares it: configuration, weights, graph, and the
 * alphabet of 33 symbols.
 *
 * Pre-LayerNorm transformer encoder, D wide, L layers, H heads of d = D / H:
 *
 *   x = E[ids] * scale[token]            scale = 0.88 / (1 - masked share), 0 at <mask>
 *   x = LN(x + P[place])                 learned positions; LN where the file has one
 *   L times:
 *     h = LN(x);  q = (h Wq + bq) d^-1/2;  k = h Wk + bk;  v = h Wv + bv
 *     x = x + (softmax(rope(q) rope(k)^T) v) Wo + bo        within each sequence; learned: no rope
 *     x = x + gelu(LN(x) W1 + b1) W2 + b2                   W1: [F, D]
 *   or, gated, h = LN(x);  x = x + (silu(h Wg) * (h Wu)) W2
 *   representations: 0 = embedding, i = x after layer i, L = LN(x) after the last layer
 *   logits = LN(gelu(x Wd + bd)) E^T + b                    E: the embedding, unless untied
 *   contacts = sigmoid(sum over maps of w (M - r r^T / t) + b), M = A + A^T without specials
 *
 * Facts that cost others a bug: the embedding is scaled by 0.88 even when nothing is masked
 * (token dropout at inference); rotary frequencies are the stored, half-precision rounded ones;
 * rotary pairs are (i, i + d/2); the table of positions begins with rows of no place, one for
 * each id up to that of <pad>; fair-esm sets the row of <mask> to zero when it loads a model
 * with learned positions, so its logit is the bias alone.
 *
 * Weight layouts: Hugging Face (EsmForMaskedLM, EsmModel), fair-esm, TransformerEngine (q, k, v
 * stacked per head, vocabulary padded to 64, no contact head, no inv_freq). Sources:
 * facebookresearch/esm esm/model, esm/modules.py, esm/rotary_embedding.py, esm/pretrained.py;
 * huggingface/transformers models/esm; NVIDIA/bionemo-framework recipes/models/esm2.
 *
 * Sections: names, opening, graph, tokens. */
#include "esm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = 512, MAX_POSITIONS = 1 << 20 };

enum layout { HF, FAIR, TE };

/* ---- names ---- */

enum shape { S_VD, S_D, S_DD, S_FD, S_F, S_DF, S_V, S_PD };

struct name {
    size_t at; /* offset of the index in struct bi_esm or struct bi_esm_layer */
    const char *canonical, *hf, *fair, *te;
    enum shape shape;
    enum { ANY, PLAIN, GATED } when;
};

#define L_(member) offsetof(struct bi_esm_layer, member)
#define M_(member) offsetof(struct bi_esm, member)

/* %d is the layer. A name that starts with '/' has no trunk prefix. */
static const struct name layer_names[] = {
    {L_(norm1_w), "layers.%d.norm1.weight", "encoder.layer.%d.attention.LayerNorm.weight",
     "layers.%d.self_attn_layer_norm.weight",
     "encoder.layers.%d.self_attention.layernorm_qkv.layer_norm_weight", S_D, ANY},
    {L_(norm1_b), "layers.%d.norm1.bias", "encoder.layer.%d.attention.LayerNorm.bias",
     "layers.%d.self_attn_layer_norm.bias",
     "encoder.layers.%d.self_attention.layernorm_qkv.layer_norm_bias", S_D, ANY},
    {L_(q_w), "layers.%d.q.weight", "encoder.layer.%d.attention.self.query.weight",
     "layers.%d.self_attn.q_proj.weight", "encoder.layers.%d.self_attention.layernorm_qkv.weight",
     S_DD, ANY},
    {L_(k_w), "layers.%d.k.weight", "encoder.layer.%d.attention.self.key.weight",
     "layers.%d.self_attn.k_proj.weight", "encoder.layers.%d.self_attention.layernorm_qkv.weight",
     S_DD, ANY},
    {L_(v_w), "layers.%d.v.weight", "encoder.layer.%d.attention.self.value.weight",
     "layers.%d.self_attn.v_proj.weight", "encoder.layers.%d.self_attention.layernorm_qkv.weight",
     S_DD, ANY},
    {L_(q_b), "layers.%d.q.bias", "encoder.layer.%d.attention.self.query.bias",
     "layers.%d.self_attn.q_proj.bias", "encoder.layers.%d.self_attention.layernorm_qkv.bias", S_D,
     ANY},
    {L_(k_b), "layers.%d.k.bias", "encoder.layer.%d.attention.self.key.bias",
     "layers.%d.self_attn.k_proj.bias", "encoder.layers.%d.self_attention.layernorm_qkv.bias", S_D,
     ANY},
    {L_(v_b), "layers.%d.v.bias", "encoder.layer.%d.attention.self.value.bias",
     "layers.%d.self_attn.v_proj.bias", "encoder.layers.%d.self_attention.layernorm_qkv.bias", S_D,
     ANY},
    {L_(out_w), "layers.%d.out.weight", "encoder.layer.%d.attention.output.dense.weight",
     "layers.%d.self_attn.out_proj.weight", "encoder.layers.%d.self_attention.proj.weight", S_DD,
     ANY},
    {L_(out_b), "layers.%d.out.bias", "encoder.layer.%d.attention.output.dense.bias",
     "layers.%d.self_attn.out_proj.bias", "encoder.layers.%d.self_attention.proj.bias", S_D, ANY},
    {L_(norm2_w), "layers.%d.norm2.weight", "encoder.layer.%d.LayerNorm.weight",
     "layers.%d.final_layer_norm.weight", "encoder.layers.%d.layernorm_mlp.layer_norm_weight", S_D,
     ANY},
    {L_(norm2_b), "layers.%d.norm2.bias", "encoder.layer.%d.LayerNorm.bias",
     "layers.%d.final_layer_norm.bias", "encoder.layers.%d.layernorm_mlp.layer_norm_bias", S_D,
     ANY},
    {L_(fc1_w), "layers.%d.fc1.weight", "encoder.layer.%d.intermediate.dense.weight",
     "layers.%d.fc1.weight", "encoder.layers.%d.layernorm_mlp.fc1_weight", S_FD, PLAIN},
    {L_(fc1_b), "layers.%d.fc1.bias", "encoder.layer.%d.intermediate.dense.bias",
     "layers.%d.fc1.bias", "encoder.layers.%d.layernorm_mlp.fc1_bias", S_F, PLAIN},
    {L_(fc2_w), "layers.%d.fc2.weight", "encoder.layer.%d.output.dense.weight",
     "layers.%d.fc2.weight", "encoder.layers.%d.layernorm_mlp.fc2_weight", S_DF, ANY},
    {L_(fc2_b), "layers.%d.fc2.bias", "encoder.layer.%d.output.dense.bias", "layers.%d.fc2.bias",
     "encoder.layers.%d.layernorm_mlp.fc2_bias", S_D, PLAIN},
    {L_(fc1_w), "layers.%d.gate.weight", "encoder.layer.%d.intermediate.dense.weight", NULL, NULL,
     S_FD, GATED},
    {L_(up_w), "layers.%d.up.weight", "encoder.layer.%d.intermediate.dense.weight", NULL, NULL,
     S_FD, GATED},
};

static const struct name embed_name = {M_(embed),
                                       "embed_tokens.weight",
                                       "embeddings.word_embeddings.weight",
                                       "embed_tokens.weight",
                                       "embeddings.word_embeddings.weight",
                                       S_VD,
                                       ANY};

/* Names in models with learned positions; the norm is not in all of them. */
static const struct name learned_names[] = {
    {M_(positions), "positions.weight", "embeddings.position_embeddings.weight",
     "embed_positions.weight", NULL, S_PD, ANY},
    {M_(norm0_w), "norm_before.weight", "embeddings.layer_norm.weight",
     "emb_layer_norm_before.weight", NULL, S_D, ANY},
    {M_(norm0_b), "norm_before.bias", "embeddings.layer_norm.bias", "emb_layer_norm_before.bias",
     NULL, S_D, ANY},
};

static const struct name trunk_names[] = {
    {M_(norm_w), "norm.weight", "encoder.emb_layer_norm_after.weight",
     "emb_layer_norm_after.weight", "encoder.emb_layer_norm_after.weight", S_D, ANY},
    {M_(norm_b), "norm.bias", "encoder.emb_layer_norm_after.bias", "emb_layer_norm_after.bias",
     "encoder.emb_layer_norm_after.bias", S_D, ANY},
};

static const struct name head_names[] = {
    {M_(dense_w), "lm_head.dense.weight", "lm_head.dense.weight", "lm_head.dense.weight",
     "lm_head.dense.weight", S_DD, ANY},
    {M_(dense_b), "lm_head.dense.bias", "lm_head.dense.bias", "lm_head.dense.bias",
     "lm_head.dense.bias", S_D, ANY},
    {M_(lm_norm_w), "lm_head.norm.weight", "lm_head.layer_norm.weight", "lm_head.layer_norm.weight",
     "lm_head.decoder.layer_norm_weight", S_D, ANY},
    {M_(lm_norm_b), "lm_head.norm.bias", "lm_head.layer_norm.bias", "lm_head.layer_norm.bias",
     "lm_head.decoder.layer_norm_bias", S_D, ANY},
    {M_(lm_b), "lm_head.bias", "lm_head.bias", "lm_head.bias", "lm_head.decoder.bias", S_V, ANY},
};

/* Where the embedding may be; the rest of the file's names follows from it. */
static const struct {
    const char *prefix, *lm_prefix, *embed;
    enum layout layout;
} layouts[] = {
    {"esm.", "", "esm.embeddings.word_embeddings.weight", HF},
    {"", "", "embeddings.word_embeddings.weight", HF},
    {"encoder.sentence_encoder.", "encoder.", "encoder.sentence_encoder.embed_tokens.weight", FAIR},
    {"sentence_encoder.", "", "sentence_encoder.embed_tokens.weight", FAIR},
    {"", "", "embed_tokens.weight", FAIR},
    {"model.", "", "model.embeddings.word_embeddings.weight", TE},
};

/* Index into layouts, -1 when the file is of another architecture. */
static int layout_of(const struct bi_checkpoint *cp)
{
    char probe[160];
    for (size_t i = 0; i < BI_COUNT(layouts); i++) {
        static const char *const first[] = {
            [HF] = "encoder.layer.0.attention.self.query.weight",
            [FAIR] = "layers.0.self_attn.q_proj.weight",
            [TE] = "encoder.layers.0.self_attention.layernorm_qkv.weight"};
        snprintf(probe, sizeof probe, "%s%s", layouts[i].prefix, first[layouts[i].layout]);
        char bert[160]; /* BERT calls its embedding and its first layer alike */
        snprintf(bert, sizeof bert, "%sembeddings.token_type_embeddings.weight", layouts[i].prefix);
        if ((bi_checkpoint_find(cp, layouts[i].embed) || bi_checkpoint_find(cp, probe)) &&
            !bi_checkpoint_find(cp, bert)) {
            const struct bi_json *type = bi_json_get(cp->config, "model_type");
            const char *text = bi_json_string(type);
            if (!text || !strcmp(text, "esm") || !strcmp(text, "nv_esm"))
                return (int)i;
        }
    }
    return -1;
}

/* The tensor of a name in the layout at `which`; NULL where there is none. */
static const struct bi_tensor *find_in(const struct bi_checkpoint *cp, int which, const char *hf,
                                       const char *fair)
{
    const char *name = layouts[which].layout == HF     ? hf
                       : layouts[which].layout == FAIR ? fair
                                                       : NULL;
    char full[160];
    if (!name)
        return NULL;
    snprintf(full, sizeof full, "%s%s", layouts[which].prefix, name);
    return bi_checkpoint_find(cp, full);
}

/* config.json says which positions there are. Where it does not, as beside fair-esm's files, the
 * table does, which files of rotary models in the Hugging Face layout have too, unused. */
static bool has_learned_positions(const struct bi_checkpoint *cp, int which)
{
    const char *type = bi_json_string(bi_json_get(cp->config, "position_embedding_type"));
    if (type)
        return !strcmp(type, "absolute");
    return find_in(cp, which, "embeddings.position_embeddings.weight", "embed_positions.weight") &&
           !find_in(cp, which, "encoder.layer.0.attention.self.rotary_embeddings.inv_freq",
                    "layers.0.self_attn.rot_emb.inv_freq");
}

bool bi_esm_facts(const struct bi_checkpoint *cp, struct bi_esm_facts *facts)
{
    int which = layout_of(cp);
    const struct bi_tensor *embed, *in, *out;
    if (which < 0)
        return false;
    embed = bi_checkpoint_find(cp, layouts[which].embed);
    in = find_in(cp, which, "encoder.layer.0.intermediate.dense.weight", NULL);
    out = find_in(cp, which, "encoder.layer.0.output.dense.weight", NULL);
    facts->vocab = embed && embed->rank == 2 ? embed->shape[0] : 0;
    facts->learned = has_learned_positions(cp, which);
    facts->gated = in && out && in->rank == 2 && out->rank == 2 && out->shape[1] &&
                   in->shape[0] / 2 == out->shape[1];
    return true;
}

/* ---- opening ---- */

static const char *name_in(const struct bi_esm *e, const struct name *n)
{
    return e->layout == HF ? n->hf : e->layout == FAIR ? n->fair : n->te;
}

static int bind(struct bi_model *model, const struct bi_esm *e, const struct name *n,
                const char *prefix, int layer, void *base, struct bioinfer_error *err)
{
    const int64_t d = e->width, f = e->ffn;
    const int64_t shapes[][2] = {[S_VD] = {e->vocab, d}, [S_D] = {d, 0},
                                 [S_DD] = {d, d},        [S_FD] = {f, d},
                                 [S_F] = {f, 0},         [S_DF] = {d, f},
                                 [S_V] = {e->vocab, 0},  [S_PD] = {e->n_positions, d}};
    struct bi_binding b = {.at = n->at,
                           .canonical = n->canonical,
                           .prefix = prefix,
                           .file = name_in(e, n),
                           .rows = shapes[n->shape][0],
                           .columns = shapes[n->shape][1]};
    if (n->when != ANY && (n->when == GATED) != e->kind->gated)
        return 0;
    if (n->when == GATED) { /* the gate's rows, then those of what it lets through */
        const char *file = bi_model_name(model, prefix, b.file, layer);
        const struct bi_tensor *t = file ? bi_checkpoint_find(model->cp, file) : NULL;
        if (t && (t->rank != 2 || t->shape[0] != (uint64_t)(2 * f)))
            return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: %llu rows, expected %lld",
                           model->cp->path, t->name,
                           (unsigned long long)(t->rank ? t->shape[0] : 0), (long long)(2 * f));
        b.row_first = n->at == L_(fc1_w) ? 0 : (uint64_t)f;
        b.row_block = b.row_step = (uint64_t)f;
    } else if (e->layout == TE && (n->shape == S_VD || n->shape == S_V)) {
        b.row_block = b.row_step = (uint64_t)e->vocab; /* padded to 64 symbols */
    } else if (e->layout == TE && strstr(n->te, "self_attention.layernorm_qkv.") &&
               !strstr(n->te, "layer_norm")) { /* rows are [head][q, k, v][d] */
        char which = n->canonical[strlen("layers.%d.")];
        b.row_block = (uint64_t)e->head_dim;
        b.row_step = 3 * b.row_block;
        b.row_first = which == 'q' ? 0 : which == 'k' ? b.row_block : 2 * b.row_block;
    }
    return bi_model_bind(model, &b, layer, base, err);
}

/* The frequencies that a file stores. transformers 4 and fair-esm keep a copy for each layer,
 * transformers 5 one for all, under a name that has '*' for the layer, or at the trunk. */
static const struct bi_tensor *find_inv_freq(const struct bi_model *model, const struct bi_esm *e,
                                             int layer)
{
    static const char tail[] = "attention.self.rotary_embeddings.inv_freq";
    const struct bi_tensor *t;
    char name[160];
    if (e->layout == TE)
        return NULL;
    if (e->layout == FAIR)
        snprintf(name, sizeof name, "%slayers.%d.self_attn.rot_emb.inv_freq", e->prefix, layer);
    else
        snprintf(name, sizeof name, "%sencoder.layer.%d.%s", e->prefix, layer, tail);
    if ((t = bi_checkpoint_find(model->cp, name)) || e->layout == FAIR)
        return t;
    snprintf(name, sizeof name, "%sencoder.layer.*.%s", e->prefix, tail);
    if ((t = bi_checkpoint_find(model->cp, name)))
        return t;
    snprintf(name, sizeof name, "%srotary_embeddings.inv_freq", e->prefix);
    return bi_checkpoint_find(model->cp, name);
}

/* The frequencies of the file, every layer the same; *values stays NULL when it has none. */
static int read_inv_freq(struct bi_model *model, const struct bi_esm *e, float **first,
                         struct bioinfer_error *err)
{
    int64_t n = e->head_dim / 2;
    for (int l = 0; l < e->n_layers; l++) {
        const struct bi_tensor *t = find_inv_freq(model, e, l);
        float *values;
        int st;
        if (!t)
            continue;
        if (t->n_elements != (uint64_t)n)
            return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: %llu elements, expected %lld",
                           model->cp->path, t->name, (unsigned long long)t->n_elements,
                           (long long)n);
        if ((st = bi_model_read(model, t, &values, err)))
            return st;
        if (!*first)
            *first = values;
        else if (memcmp(*first, values, (size_t)n * sizeof *values))
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: %s differs from the first layer's frequencies", model->cp->path,
                           t->name);
    }
    return 0;
}

/* Was the file written by transformers 5 or newer, which computes frequencies in float32? The
 * other layouts come from training, whatever wrote their config.json. */
static bool by_transformers_5(const struct bi_model *model, const struct bi_esm *e)
{
    const char *version = bi_json_string(bi_json_get(model->cp->config, "transformers_version"));
    return e->layout == HF && version && strtol(version, NULL, 10) >= 5;
}

static int choose_frequencies(struct bi_model *model, const struct bi_esm *e, bool stored,
                              bool *exact, struct bioinfer_error *err)
{
    const char *how = model->rope_frequencies ? model->rope_frequencies : "";
    if (!strcmp(how, "file") && !stored)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: the file stores no rotary frequencies; expected "
                       "exact or rounded",
                       model->cp->path);
    if (*how && strcmp(how, "exact") && strcmp(how, "rounded") && strcmp(how, "file"))
        return bi_fail(err, BIOINFER_INVALID,
                       "rotary frequencies '%.20s': expected exact, rounded "
                       "or file",
                       how);
    *exact = *how ? !strcmp(how, "exact") : e->kind->exact_rope || by_transformers_5(model, e);
    model->rope_used = !strcmp(how, "file") || (!*how && stored) ? "as the file stores them"
                       : *exact                                  ? "exact, in float32"
                                                                 : "rounded to float16";
    return 0;
}

/* Training ran in float16, so released files hold rounded frequencies. A file without any gets
 * the ones that the program which wrote it computes with: transformers 5 exact ones, training
 * rounded ones. */
static int bind_inv_freq(struct bi_model *model, struct bi_esm *e, struct bioinfer_error *err)
{
    struct bi_weight w = {.name = "inv_freq", .rank = 1, .shape = {e->head_dim / 2, 1}};
    int64_t n = e->head_dim / 2;
    float *values = NULL;
    bool exact = false;
    int st;
    if ((st = read_inv_freq(model, e, &values, err)) ||
        (st = choose_frequencies(model, e, values != NULL, &exact, err)))
        return st;
    if (strcmp(model->rope_used, "as the file stores them")) {
        if (!(values = bi_arena_calloc(&model->arena, (size_t)n, sizeof *values)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: inv_freq", model->cp->path);
        for (int64_t i = 0; i < n; i++) {
            /* as PyTorch: a power in float32, and its reciprocal */
            float f = 1.0f / powf(10000.0f, (float)(2 * i) / (float)e->head_dim);
            values[i] = exact ? f
                              : bi_f16_to_f32(bi_f32_to_f16(
                                    (float)pow(10000.0, -2.0 * (double)i / (double)e->head_dim)));
        }
    }
    w.values = values;
    e->inv_freq = bi_model_weight(model, &w, err);
    return e->inv_freq < 0 ? e->inv_freq : 0;
}

static int bind_contacts(struct bi_model *model, struct bi_esm *e, struct bioinfer_error *err)
{
    static const char *const names[] = {"esm.contact_head.regression.", "contact_head.regression.",
                                        "encoder.contact_head.regression."};
    const struct bi_tensor *tw = NULL, *tb = NULL;
    uint64_t n = (uint64_t)(e->n_layers * e->n_heads);
    float *w, *b;
    int st;
    e->contact_b = -1;
    for (size_t i = 0; i < BI_COUNT(names) && !tw; i++) {
        char name[80];
        snprintf(name, sizeof name, "%sweight", names[i]);
        tw = bi_model_find(model, name);
        snprintf(name, sizeof name, "%sbias", names[i]);
        tb = bi_model_find(model, name);
    }
    if (!tw || !tb)
        return 0;
    if (tw->n_elements != n || tb->n_elements != 1)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %s: %llu elements, expected %llu (layers x heads)", model->cp->path,
                       tw->name, (unsigned long long)tw->n_elements, (unsigned long long)n);
    if ((st = bi_model_read(model, tw, &w, err)) || (st = bi_model_read(model, tb, &b, err)))
        return st;
    for (int l = 0; l < e->n_layers; l++) {
        struct bi_weight part = {.name = bi_arena_printf(&model->arena, "contacts.%d.weight", l),
                                 .values = w + l * e->n_heads,
                                 .rank = 1,
                                 .shape = {e->n_heads, 1}};
        if (!part.name)
            return bi_fail(err, BIOINFER_NOMEM, "%s: names", model->cp->path);
        if ((e->layers[l].contact_w = bi_model_weight(model, &part, err)) < 0)
            return e->layers[l].contact_w;
    }
    e->contact_b = bi_model_weight(
        model,
        &(struct bi_weight){.name = "contacts.bias", .values = b, .rank = 1, .shape = {1, 1}}, err);
    return e->contact_b < 0 ? e->contact_b : 0;
}

/* The embedding. fair-esm's files of models with learned positions have a row of <mask> that was
 * trained as part of the tied output matrix, and is not used. */
static int bind_embedding(struct bi_model *model, struct bi_esm *e, struct bioinfer_error *err)
{
    const int64_t n = e->vocab, d = e->width;
    struct bi_weight w = {.name = embed_name.canonical, .rank = 2, .shape = {n, d}};
    const struct bi_tensor *t;
    float *values;
    int st;
    if (e->layout != FAIR || !e->kind->learned)
        return bind(model, e, &embed_name, e->prefix, 0, e, err);
    t = find_in(model->cp, e->which, NULL, embed_name.fair);
    if (t->shape[0] != (uint64_t)n)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: %llu rows, expected %lld", model->cp->path,
                       t->name, (unsigned long long)t->shape[0], (long long)n);
    if ((st = bi_model_read(model, t, &values, err)))
        return st;
    memset(values + e->mask * d, 0, (size_t)d * sizeof *values);
    w.values = values;
    e->embed = bi_model_weight(model, &w, err);
    model->n_parameters += n * d;
    return e->embed < 0 ? e->embed : 0;
}

/* The table of positions, and the norm behind it where the file has one. */
static int bind_learned(struct bi_model *model, struct bi_esm *e, struct bioinfer_error *err)
{
    const struct name *norm = &learned_names[1];
    bool flag, there = find_in(model->cp, e->which, norm->hf, norm->fair) != NULL;
    int st;
    if (!e->kind->learned)
        return 0;
    if (bi_json_bool(bi_json_get(model->cp->config, "emb_layer_norm_before"), &flag) &&
        flag != there)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: emb_layer_norm_before is %s, the file has %s%s",
                       model->cp->path, flag ? "true" : "false", there ? "" : "no ",
                       name_in(e, norm));
    st = bind(model, e, &learned_names[0], e->prefix, 0, e, err);
    for (size_t i = 1; !st && there && i < BI_COUNT(learned_names); i++)
        st = bind(model, e, &learned_names[i], e->prefix, 0, e, err);
    return st;
}

/* The output matrix: the embedding, or a copy of it in the file, which must be there in the
 * TransformerEngine layout and is preferred when present (equal in released files); or one of its
 * own, where config.json unties them. */
static int bind_head(struct bi_model *model, struct bi_esm *e, struct bioinfer_error *err)
{
    const struct name own = {M_(lm_w),
                             "lm_head.weight",
                             "lm_head.decoder.weight",
                             "lm_head.weight",
                             "lm_head.decoder.weight",
                             S_VD,
                             ANY};
    const struct bi_binding words = {.at = M_(lm_w),
                                     .canonical = own.canonical,
                                     .prefix = e->prefix,
                                     .file = name_in(e, &embed_name),
                                     .rows = e->vocab,
                                     .columns = e->width};
    bool tied = true;
    char name[96];
    int64_t before;
    int st = 0;
    snprintf(name, sizeof name, "%slm_head.dense.weight", e->lm_prefix);
    e->dense_w = -1;
    if (!bi_model_find(model, name))
        return 0;
    for (size_t i = 0; !st && i < BI_COUNT(head_names); i++)
        st = bind(model, e, &head_names[i], e->lm_prefix, 0, e, err);
    e->lm_w = e->embed;
    bi_json_bool(bi_json_get(model->cp->config, "tie_word_embeddings"), &tied);
    snprintf(name, sizeof name, "%s%s", e->lm_prefix, name_in(e, &own));
    before = model->n_parameters;
    if (!st && !(e->layout == FAIR && e->kind->learned) && (!tied || bi_model_find(model, name)))
        st = bind(model, e, &own, e->lm_prefix, 0, e, err);
    else if (!st)
        st = bi_model_untie(model, &words, e, err);
    if (tied) /* counted once */
        model->n_parameters = before;
    return st;
}

/* An integer of fair-esm's own configuration. */
static bool fair_int(const struct bi_model *model, const char *key, int64_t *out)
{
    char name[96];
    static const char *const prefixes[] = {"cfg.model.", "cfg.", "args."};
    for (size_t i = 0; i < BI_COUNT(prefixes); i++) {
        const struct bi_meta *m;
        snprintf(name, sizeof name, "%s%s", prefixes[i], key);
        m = bi_checkpoint_meta(model->cp, name);
        if (m && (m->type == BI_META_INT || m->type == BI_META_BOOL)) {
            *out = m->i;
            return true;
        }
    }
    return false;
}

static int expect_text(const struct bi_model *model, const char *key, const char *want,
                       struct bioinfer_error *err)
{
    const char *text = bi_json_string(bi_json_get(model->cp->config, key));
    if (text && strcmp(text, want))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: config.json: %s is '%s', expected '%s'",
                       model->cp->path, key, text, want);
    return 0;
}

/* vocab.txt, when there is one, must have the symbols. */
static int check_vocab(const struct bi_model *model, const struct bi_esm *e,
                       struct bioinfer_error *err)
{
    const char *p = e->kind->other_words ? NULL : model->cp->vocab;
    for (int i = 0; p && i < e->vocab; i++) {
        size_t n = strcspn(p, "\n"), cut = n && p[n - 1] == '\r' ? n - 1 : n;
        if (strlen(e->symbols[i]) != cut || memcmp(e->symbols[i], p, cut))
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: vocab.txt: token %d is '%.*s', expected '%s'", model->cp->path, i,
                           (int)(cut < 40 ? cut : 40), p, e->symbols[i]);
        p += n + (p[n] == '\n');
    }
    if (p && *p)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: vocab.txt: more than %d tokens",
                       model->cp->path, e->vocab);
    return 0;
}

/* Keys of config.json that have one value each here. */
static int check_config(const struct bi_model *model, const struct bi_esm *e,
                        struct bioinfer_error *err)
{
    const struct bi_json *config = model->cp->config;
    bool flag;
    int st = expect_text(model, "position_embedding_type", e->kind->learned ? "absolute" : "rotary",
                         err);
    if (!st && !e->kind->gated)
        st = expect_text(model, "hidden_act", "gelu", err);
    if (st || (st = check_vocab(model, e, err)))
        return st;
    if (!e->kind->learned && bi_json_bool(bi_json_get(config, "emb_layer_norm_before"), &flag) &&
        flag)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: config.json: emb_layer_norm_before is true: not a model with rotary "
                       "positions",
                       model->cp->path);
    if (e->kind->gated && bi_json_bool(bi_json_get(config, "add_bias_fnn"), &flag) && flag)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: config.json: add_bias_fnn is true, expected false", model->cp->path);
    return 0;
}

/* Rows of the table of positions; 0 without one. */
static int read_positions(struct bi_model *model, struct bi_esm *e, struct bioinfer_error *err)
{
    const struct bi_tensor *t = find_in(model->cp, e->which, learned_names[0].hf,
                                        learned_names[0].fair);
    int64_t value;
    int st;
    if (!e->kind->learned)
        return 0;
    if (!t || t->rank != 2 || t->shape[0] <= (uint64_t)e->pad + 1 || t->shape[0] > MAX_POSITIONS)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s%s: missing, or not [places, %lld]",
                       model->cp->path, e->prefix, name_in(e, &learned_names[0]),
                       (long long)e->width);
    e->n_positions = value = (int64_t)t->shape[0];
    if ((st = bi_config_int(model, "max_position_embeddings", 1, MAX_POSITIONS, &value, err)) < 0)
        return st;
    if (value != e->n_positions)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: max_position_embeddings is %lld, %s has %lld rows",
                       model->cp->path, (long long)value, t->name, (long long)e->n_positions);
    return 0;
}

/* Layers that the file has. */
static int64_t count_layers(const struct bi_model *model, const struct bi_esm *e)
{
    const char *pattern = e->layout == HF     ? "%sencoder.layer.%d.output.dense.weight"
                          : e->layout == FAIR ? "%slayers.%d.final_layer_norm.weight"
                                              : "%sencoder.layers.%d.layernorm_mlp.fc1_bias";
    char name[160];
    int n = 0;
    for (; n < MAX_LAYERS; n++) {
        snprintf(name, sizeof name, pattern, e->prefix, n);
        if (!bi_checkpoint_find(model->cp, name))
            break;
    }
    return n;
}

static int read_config(struct bi_model *model, struct bi_esm *e, struct bioinfer_error *err)
{
    const struct bi_tensor *embed, *t;
    const struct bi_json *config = model->cp->config;
    int64_t value, heads = 0, layers = 0, ffn = 0, width;
    int st;
    e->which = layout_of(model->cp);
    e->layout = layouts[e->which].layout;
    e->prefix = layouts[e->which].prefix;
    e->lm_prefix = layouts[e->which].lm_prefix;
    if (!(embed = bi_checkpoint_find(model->cp, layouts[e->which].embed)))
        return bi_fail(err, BIOINFER_MISMATCH, "%s: tensor %s is missing", model->cp->path,
                       layouts[e->which].embed);
    if (embed->rank != 2 || embed->shape[1] < 1 || embed->shape[1] > 65536)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [%d, width]", model->cp->path,
                       embed->name, e->vocab);
    width = e->width = (int64_t)embed->shape[1];
    if ((st = check_config(model, e, err)))
        return st;
    e->token_dropout = e->kind->token_dropout;
    bi_json_bool(bi_json_get(config, "token_dropout"), &e->token_dropout);
    if (fair_int(model, "token_dropout", &value))
        e->token_dropout = value != 0;
    e->eps = e->kind->eps;
    if ((st = bi_config_eps(model, "layer_norm_eps", &e->eps, err)) < 0)
        return st;
    value = width;
    if ((st = bi_config_int(model, "hidden_size", 1, 65536, &value, err)) < 0)
        return st;
    if (value != width)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: hidden_size is %lld, the embedding is %lld wide",
                       model->cp->path, (long long)value, (long long)width);
    value = e->vocab;
    if ((st = bi_config_int(model, "vocab_size", 1, 1000000, &value, err)) < 0)
        return st;
    if (value != e->vocab)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: config.json: vocab_size is %lld, expected %d", model->cp->path,
                       (long long)value, e->vocab);
    if ((st = bi_config_int(model, "num_hidden_layers", 1, MAX_LAYERS, &layers, err)) < 0 ||
        (st = bi_config_int(model, "num_attention_heads", 1, 1024, &heads, err)) < 0 ||
        (st = bi_config_int(model, "intermediate_size", 1, 1 << 20, &ffn, err)) < 0)
        return st;
    if (!layers && !fair_int(model, "encoder_layers", &layers))
        layers = count_layers(model, e);
    if (!heads && !fair_int(model, "encoder_attention_heads", &heads) &&
        (t = find_inv_freq(model, e, 0)) && t->n_elements && t->n_elements < 65536)
        heads = width / (2 * (int64_t)t->n_elements);
    if (layers < 1 || layers > MAX_LAYERS || heads < 1 || heads > 1024 || width % heads ||
        width / heads % 2 || width / heads > 256)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %lld layers, %lld heads over width %lld: not a usable configuration "
                       "(is config.json missing?)",
                       model->cp->path, (long long)layers, (long long)heads, (long long)width);
    e->n_layers = layers;
    e->n_heads = heads;
    e->head_dim = width / heads;
    e->ffn = ffn ? ffn : 4 * width;
    return read_positions(model, e, err);
}

/* Depth and size, as the published models are called: "t6_8M". */
static const char *size_name(struct bi_model *model, const struct bi_esm *e)
{
    double m = (double)model->n_parameters / 1e6;
    for (const struct bi_esm_size *size = e->kind->sizes; size->name; size++)
        if (size->n_layers == e->n_layers && size->width == e->width)
            return size->name;
    return bi_arena_printf(&model->arena, "%s_t%d_%.3gM", e->kind->name, (int)e->n_layers, m);
}

static int bind_weights(struct bi_model *model, struct bi_esm *e, struct bioinfer_error *err)
{
    int st = bind_embedding(model, e, err);
    if (st || (st = bind_learned(model, e, err)))
        return st;
    for (size_t i = 0; !st && i < BI_COUNT(trunk_names); i++)
        st = bind(model, e, &trunk_names[i], e->prefix, 0, e, err);
    for (int l = 0; !st && l < e->n_layers; l++)
        for (size_t i = 0; !st && i < BI_COUNT(layer_names); i++)
            st = bind(model, e, &layer_names[i], e->prefix, l, &e->layers[l], err);
    if (st || (!e->kind->learned && (st = bind_inv_freq(model, e, err))) ||
        (st = bind_head(model, e, err)))
        return st;
    return bind_contacts(model, e, err);
}

int bi_esm_open(struct bi_model *model, struct bi_esm *e, struct bioinfer_error *err)
{
    int st;
    e->positions = e->norm0_w = -1;
    if ((st = read_config(model, e, err)))
        return st;
    if (!(e->layers = bi_arena_calloc(&model->arena, (size_t)e->n_layers, sizeof *e->layers)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: layers", model->cp->path);
    if ((st = bind_weights(model, e, err)))
        return st;
    model->config = e;
    model->tokens = e->symbols;
    model->n_layers = (int)e->n_layers;
    model->width = (int)e->width;
    model->n_heads = (int)e->n_heads;
    model->head_dim = (int)e->head_dim;
    model->vocab_size = e->vocab;
    model->n_prefix = 1;
    model->n_suffix = e->kind->n_suffix;
    model->mask_id = e->mask;
    model->max_tokens = e->kind->learned ? e->n_positions - e->pad - 1 : 0;
    model->default_include = BIOINFER_MEAN;
    model->can_include = BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_BOS | BIOINFER_ATTENTIONS |
                         (e->dense_w >= 0 ? BIOINFER_LOGITS : 0) |
                         (e->contact_b >= 0 ? BIOINFER_CONTACTS : 0);
    if (!(model->name = size_name(model, e)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: name", model->cp->path);
    return 0;
}

int bi_esm_settings(const struct bi_model *model, struct bi_hash *to)
{
    const struct bi_esm *e = model->config;
    bi_hash_text(to, "architecture", e->kind->name);
    bi_hash_int(to, "learned", e->kind->learned);
    bi_hash_int(to, "gated", e->kind->gated);
    bi_hash_int(to, "exact_rope", e->kind->exact_rope);
    bi_hash_int(to, "n_suffix", e->kind->n_suffix);
    bi_hash_int(to, "vocab", e->vocab);
    bi_hash_int(to, "mask", e->mask);
    bi_hash_int(to, "pad", e->pad);
    bi_hash_int(to, "n_layers", e->n_layers);
    bi_hash_int(to, "width", e->width);
    bi_hash_int(to, "n_heads", e->n_heads);
    bi_hash_int(to, "head_dim", e->head_dim);
    bi_hash_int(to, "ffn", e->ffn);
    bi_hash_int(to, "n_positions", e->n_positions);
    bi_hash_int(to, "token_dropout", e->token_dropout);
    bi_hash_real(to, "eps", (double)e->eps);
    return 0;
}

/* ---- graph ---- */

struct builder {
    const struct bi_model *model;
    const struct bi_esm *e;
    struct bi_graph *g;
    const struct bi_wants *wants;
    bi_value_id start, table, contacts;
};

static bi_value_id weight(const struct builder *b, int index)
{
    return bi_model_value(b->model, b->g, index);
}

static bi_value_id linear(const struct builder *b, bi_value_id x, int w, int bias)
{
    return bi_add(b->g, bi_matmul(b->g, x, weight(b, w)), weight(b, bias));
}

static bi_value_id norm(const struct builder *b, bi_value_id x, int w, int bias)
{
    return bi_layernorm(b->g, x, weight(b, w), weight(b, bias), b->e->eps);
}

/* Attention of one layer over h, before the output matrix. */
static bi_value_id attend(struct builder *b, const struct bi_esm_layer *l, bi_value_id h, int layer)
{
    struct bi_graph *g = b->g;
    int32_t heads = (int32_t)b->e->n_heads;
    bi_value_id q = bi_scale(g, linear(b, h, l->q_w, l->q_b), 1 / sqrtf((float)b->e->head_dim));
    bi_value_id k = linear(b, h, l->k_w, l->k_b), v = linear(b, h, l->v_w, l->v_b);
    bi_value_id maps;
    if (!b->e->kind->learned) {
        q = bi_rope(g, q, b->table, b->start, heads);
        k = bi_rope(g, k, b->table, b->start, heads);
    }
    maps = bi_softmax(g, bi_scores(g, q, k, b->start, heads), b->start);
    if (b->wants->include & BIOINFER_ATTENTIONS)
        bi_output(g, maps, BIOINFER_ATTENTIONS, layer, "attentions");
    if (b->wants->include & BIOINFER_CONTACTS)
        b->contacts = bi_contacts(g, maps, weight(b, l->contact_w), b->start, b->contacts, 1, 1);
    return bi_mix(g, maps, v, b->start);
}

/* The feed-forward block of one layer, before it is added to the stream. */
static bi_value_id feed_forward(const struct builder *b, const struct bi_esm_layer *l,
                                bi_value_id x)
{
    struct bi_graph *g = b->g;
    bi_value_id h = norm(b, x, l->norm2_w, l->norm2_b);
    if (!b->e->kind->gated)
        return linear(b, bi_gelu(g, linear(b, h, l->fc1_w, l->fc1_b)), l->fc2_w, l->fc2_b);
    h = bi_mul(g, bi_silu(g, bi_matmul(g, h, weight(b, l->fc1_w))),
               bi_matmul(g, h, weight(b, l->up_w)));
    return bi_matmul(g, h, weight(b, l->fc2_w));
}

/* Representation 0. */
static bi_value_id embed(const struct builder *b, bi_value_id ids, bi_value_id scale)
{
    const struct bi_esm *e = b->e;
    bi_value_id x = bi_scale_rows(b->g, bi_embedding(b->g, weight(b, e->embed), ids), scale);
    if (e->positions >= 0)
        x = bi_add(b->g, x, bi_positions(b->g, weight(b, e->positions), b->start, e->pad + 1));
    return e->norm0_w >= 0 ? norm(b, x, e->norm0_w, e->norm0_b) : x;
}

/* Makes the inputs and what all layers read; returns representation 0. */
static bi_value_id begin(struct builder *b, const struct bi_shape *shape)
{
    struct bi_graph *g = b->g;
    bi_value_id ids = bi_input(g, "ids", BI_I32, BI_AXIS_TOKENS, shape->n_tokens), x;
    bi_value_id scale = bi_input(g, BI_INPUT_SCALE, BI_F32, BI_AXIS_TOKENS, shape->n_tokens);
    b->start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, shape->n_seqs + 1);
    x = embed(b, ids, scale);
    b->table = b->e->kind->learned ? BI_NONE
                                   : bi_rope_table(g, weight(b, b->e->inv_freq), shape->longest);
    return x;
}

bi_value_id bi_esm_mix(const struct bi_model *model, struct bi_graph *g,
                       const struct bi_shape *shape, const float *weights)
{
    static const struct bi_wants nothing;
    const struct bi_esm *e = model->config;
    struct builder b = {.model = model, .e = e, .g = g, .wants = &nothing, .contacts = BI_NONE};
    bi_value_id x = begin(&b, shape), sum = bi_scale(g, x, weights[0]);
    for (int i = 0; i < e->n_layers; i++) {
        const struct bi_esm_layer *l = &e->layers[i];
        const bi_value_id h = attend(&b, l, norm(&b, x, l->norm1_w, l->norm1_b), i);
        x = bi_add(g, linear(&b, h, l->out_w, l->out_b), x);
        x = bi_add(g, feed_forward(&b, l, x), x);
        if (i == e->n_layers - 1)
            x = norm(&b, x, e->norm_w, e->norm_b);
        sum = bi_add(g, sum, bi_scale(g, x, weights[i + 1]));
    }
    return sum;
}

void bi_esm_build(const struct bi_model *model, struct bi_graph *g, const struct bi_shape *shape,
                  const struct bi_wants *wants)
{
    const struct bi_esm *e = model->config;
    struct builder b = {.model = model, .e = e, .g = g, .wants = wants, .contacts = BI_NONE};
    bool logits = wants->include & (BIOINFER_LOGITS | BI_WANT_ROW_LOGITS);
    bool rows_only = wants->include == BI_WANT_ROW_LOGITS;
    bi_value_id x = begin(&b, shape), rows;
    rows = wants->include & BI_WANT_ROW_LOGITS
               ? bi_input(g, "rows", BI_I32, BI_AXIS_ROWS, shape->n_rows)
               : BI_NONE;
    for (int i = 0; i < e->n_layers; i++) {
        const struct bi_esm_layer *l = &e->layers[i];
        bi_value_id h;
        bi_model_represent(model, g, wants, x, b.start, i);
        h = attend(&b, l, norm(&b, x, l->norm1_w, l->norm1_b), i);
        if (rows_only && i == e->n_layers - 1) { /* the rest concerns the asked rows alone */
            h = bi_select_rows(g, h, rows);
            x = bi_select_rows(g, x, rows);
        }
        x = bi_add(g, linear(&b, h, l->out_w, l->out_b), x);
        x = bi_add(g, feed_forward(&b, l, x), x);
    }
    x = norm(&b, x, e->norm_w, e->norm_b);
    bi_model_represent(model, g, wants, x, b.start, (int)e->n_layers);
    if (logits) {
        bi_value_id h = x;
        if (!rows_only && wants->include & BI_WANT_ROW_LOGITS)
            h = bi_select_rows(g, h, rows);
        h = norm(&b, bi_gelu(g, linear(&b, h, e->dense_w, e->dense_b)), e->lm_norm_w, e->lm_norm_b);
        bi_output(g, linear(&b, h, e->lm_w, e->lm_b),
                  (int)(wants->include & (BIOINFER_LOGITS | BI_WANT_ROW_LOGITS)), -1, "logits");
    }
    if (wants->include & BIOINFER_CONTACTS)
        bi_output(g, bi_sigmoid(g, bi_add(g, b.contacts, weight(&b, e->contact_b))),
                  BIOINFER_CONTACTS, -1, "contacts");
}

/* ---- tokens ---- */

/* Token dropout at inference: 0.88 = 1 - 0.15 * 0.8 over the share that is not masked; the
 * share counts the special tokens around a sequence. */
void bi_esm_token_scale(const struct bi_model *model, const int32_t *ids, size_t n, float *scale)
{
    const struct bi_esm *e = model->config;
    size_t n_masked = 0, n_tokens = 0;
    float factor = 1;
    for (size_t i = 0; i < n; i++) {
        n_masked += ids[i] == e->mask;
        n_tokens += ids[i] != e->pad;
    }
    if (e->token_dropout)
        factor = 0.88f / (1 - (float)n_masked / (float)(n_tokens ? n_tokens : 1));
    for (size_t i = 0; i < n; i++)
        scale[i] = ids[i] == e->pad || (e->token_dropout && ids[i] == e->mask) ? 0 : factor;
}

/* ---- the alphabet of 33 symbols ---- */

static const char *const symbols[BI_ESM_VOCAB] = {
    "<cls>", "<pad>", "<eos>", "<unk>", "L", "A", "G", "V", "S", "E",        "R",
    "T",     "I",     "D",     "P",     "K", "Q", "N", "F", "Y", "M",        "H",
    "W",     "C",     "X",     "B",     "U", "Z", "O", ".", "-", "<null_1>", "<mask>"};

/* Letter to id. */
static const int8_t letters['Z' - 'A' + 1] = {
    ['A' - 'A'] = 5,  ['B' - 'A'] = 25, ['C' - 'A'] = 23, ['D' - 'A'] = 13, ['E' - 'A'] = 9,
    ['F' - 'A'] = 18, ['G' - 'A'] = 6,  ['H' - 'A'] = 21, ['I' - 'A'] = 12, ['J' - 'A'] = -1,
    ['K' - 'A'] = 15, ['L' - 'A'] = 4,  ['M' - 'A'] = 20, ['N' - 'A'] = 17, ['O' - 'A'] = 28,
    ['P' - 'A'] = 14, ['Q' - 'A'] = 16, ['R' - 'A'] = 10, ['S' - 'A'] = 8,  ['T' - 'A'] = 11,
    ['U' - 'A'] = 26, ['V' - 'A'] = 7,  ['W' - 'A'] = 22, ['X' - 'A'] = 24, ['Y' - 'A'] = 19,
    ['Z' - 'A'] = 27};

int bi_esm_open_residues(struct bi_model *model, const struct bi_esm_kind *kind,
                         struct bioinfer_error *err)
{
    struct bi_esm *e = bi_arena_calloc(&model->arena, 1, sizeof *e);
    if (!e)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    return bi_esm_open_in(model, e, kind, err);
}

int bi_esm_open_in(struct bi_model *model, struct bi_esm *e, const struct bi_esm_kind *kind,
                   struct bioinfer_error *err)
{
    e->kind = kind;
    e->symbols = symbols;
    e->vocab = BI_ESM_VOCAB;
    e->mask = BI_ESM_MASK;
    e->pad = BI_ESM_PAD;
    return bi_esm_open(model, e, err);
}

int bi_esm_residue_token(const struct bi_model *model, char residue)
{
    (void)model;
    if (residue >= 'A' && residue <= 'Z')
        return letters[residue - 'A'];
    return residue == '.' ? 29 : residue == '-' ? 30 : -1;
}

/* A padding in the middle would move the places behind it, where positions are learned. */
static const int32_t specials[] = {BI_ESM_CLS, BI_ESM_EOS, BI_ESM_UNK, 31, BI_ESM_MASK, BI_ESM_PAD};

int bi_esm_encode(const struct bi_model *model, const struct bioinfer_record *r, bool raw,
                  struct bi_tokens *out, struct bioinfer_error *err)
{
    const struct bi_esm *e = model->config;
    const int n_specials = (int)BI_COUNT(specials) - e->kind->learned;
    out->n = 0;
    out->n_mapped = 0;
    if (!bi_grow(model->env, &out->ids, &out->cap, r->length + 2, sizeof *out->ids))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tokens of %zu residues", r->id, r->length);
    out->ids[out->n++] = BI_ESM_CLS;
    for (size_t i = 0; i < r->length;) {
        char c = r->sequence[i];
        int32_t id = bi_esm_residue_token(model, c);
        size_t len = 1;
        if (id < 0 && c == 'J' && !raw) {
            id = 24;
            out->n_mapped++;
        }
        if (id < 0 && c == '<')
            len = bi_model_special(model, specials, n_specials, r->sequence + i, r->length - i,
                                   &id);
        if (id < 0 || !len)
            return bi_model_bad_residue(r, i, err);
        out->ids[out->n++] = id;
        i += len;
    }
    out->ids[out->n++] = BI_ESM_EOS;
    return 0;
}

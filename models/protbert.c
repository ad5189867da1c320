/* protbert.c - BERT as proteins use it: ProtBERT, ProtBERT-BFD, and plain checkpoints of the kind.
 *
 * Post-LayerNorm transformer encoder, D wide, L layers, H heads of d = D / H:
 *
 *   x = LN(W[ids] + P[place] + t)            P: learned rows by place, t: row 0 of token types
 *   L times:
 *     q = (x Wq + bq) d^-1/2;  k = x Wk + bk;  v = x Wv + bv
 *     x = LN(x + softmax(q k^T) v Wo + bo)   within each sequence
 *     x = LN(x + gelu(x W1 + b1) W2 + b2)    gelu by erf
 *   representations: 0 = the embedding behind its norm, i = x after layer i
 *   logits = LN(gelu(x Wt + bt)) W^T + b     the embedding, tied
 *
 * Facts that cost others a bug: eps is 1e-12, not 1e-5; without spaces the published tokenizer
 * reads a protein as one unknown word (letters are tokens here); U, Z, O and B have ids but the
 * published recipe reads them as X; prot_bert and prot_bert_bfd cannot be told apart by their
 * files; pooler and next-sentence head mean nothing in them and are left out.
 *
 * Weight layouts: BertForPreTraining and BertForMaskedLM (prefix bert.), BertModel (none); norms
 * also as gamma and beta. Sources: huggingface/transformers models/bert; agemagician/ProtTrans.
 *
 * Sections: names, opening, graph, tokens. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

enum { MAX_LAYERS = 512, MAX_POSITIONS = 1 << 20, TABLES = 6 };

/* ProtBERT's vocabulary, since vocab.txt may not be beside a single file. */
static const char *const protbert_symbols[] = {
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "L", "A", "G", "V", "E", "S", "I", "K", "R", "D",
    "T",     "P",     "N",     "Q",     "F",      "Y", "M", "H", "C", "W", "X", "U", "B", "Z", "O"};

/* Indices of weights in the model's table. */
struct layer {
    int q_w, q_b, k_w, k_b, v_w, v_b, out_w, out_b, norm1_w, norm1_b;
    int fc1_w, fc1_b, fc2_w, fc2_b, norm2_w, norm2_b;
};

struct bert {
    const char *prefix;
    int64_t n_layers, width, n_heads, head_dim, ffn, vocab, positions;
    float eps;
    int words, types, norm_w, norm_b;
    int tables[TABLES]; /* the first 512, 2048, ... rows of the table of positions, -1 = none */
    int64_t table_rows[TABLES];
    int dense_w, dense_b, lm_norm_w, lm_norm_b, lm_w, lm_b; /* -1: no LM head */
    struct layer *layers;
    int32_t letters[256]; /* token by character, -1 = none */
    int32_t cls, sep, mask, unk, x, specials[5];
    int n_specials;
};

/* ---- names ---- */

enum shape { S_D, S_DD, S_FD, S_F, S_DF, S_VD, S_V };

struct name {
    size_t at;
    const char *canonical, *file;
    enum shape shape;
};

#define L_(member) offsetof(struct layer, member)
#define M_(member) offsetof(struct bert, member)
#define LAYER_ "encoder.layer.%d."

/* clang-format off */
static const struct name layer_names[] = {
    {L_(q_w), "layers.%d.q.weight", LAYER_ "attention.self.query.weight", S_DD},
    {L_(q_b), "layers.%d.q.bias", LAYER_ "attention.self.query.bias", S_D},
    {L_(k_w), "layers.%d.k.weight", LAYER_ "attention.self.key.weight", S_DD},
    {L_(k_b), "layers.%d.k.bias", LAYER_ "attention.self.key.bias", S_D},
    {L_(v_w), "layers.%d.v.weight", LAYER_ "attention.self.value.weight", S_DD},
    {L_(v_b), "layers.%d.v.bias", LAYER_ "attention.self.value.bias", S_D},
    {L_(out_w), "layers.%d.out.weight", LAYER_ "attention.output.dense.weight", S_DD},
    {L_(out_b), "layers.%d.out.bias", LAYER_ "attention.output.dense.bias", S_D},
    {L_(norm1_w), "layers.%d.norm1.weight", LAYER_ "attention.output.LayerNorm.weight", S_D},
    {L_(norm1_b), "layers.%d.norm1.bias", LAYER_ "attention.output.LayerNorm.bias", S_D},
    {L_(fc1_w), "layers.%d.fc1.weight", LAYER_ "intermediate.dense.weight", S_FD},
    {L_(fc1_b), "layers.%d.fc1.bias", LAYER_ "intermediate.dense.bias", S_F},
    {L_(fc2_w), "layers.%d.fc2.weight", LAYER_ "output.dense.weight", S_DF},
    {L_(fc2_b), "layers.%d.fc2.bias", LAYER_ "output.dense.bias", S_D},
    {L_(norm2_w), "layers.%d.norm2.weight", LAYER_ "output.LayerNorm.weight", S_D},
    {L_(norm2_b), "layers.%d.norm2.bias", LAYER_ "output.LayerNorm.bias", S_D},
};
/* clang-format on */

static const struct name trunk_names[] = {
    {M_(words), "words.weight", "embeddings.word_embeddings.weight", S_VD},
    {M_(norm_w), "norm.weight", "embeddings.LayerNorm.weight", S_D},
    {M_(norm_b), "norm.bias", "embeddings.LayerNorm.bias", S_D},
};

/* Without the trunk's prefix. The matrix is the embedding. */
/* clang-format off */
static const struct name head_names[] = {
    {M_(dense_w), "lm_head.dense.weight", "cls.predictions.transform.dense.weight", S_DD},
    {M_(dense_b), "lm_head.dense.bias", "cls.predictions.transform.dense.bias", S_D},
    {M_(lm_norm_w), "lm_head.norm.weight", "cls.predictions.transform.LayerNorm.weight", S_D},
    {M_(lm_norm_b), "lm_head.norm.bias", "cls.predictions.transform.LayerNorm.bias", S_D},
    {M_(lm_b), "lm_head.bias", "cls.predictions.bias", S_V},
};
/* clang-format on */

static const char *const prefixes[] = {"bert.", ""};

/* Index into prefixes, -1 when the file is no BERT. */
static int prefix_of(const struct bi_checkpoint *cp)
{
    static const char *const probes[] = {"embeddings.position_embeddings.weight",
                                         "embeddings.token_type_embeddings.weight",
                                         "encoder.layer.0.attention.output.dense.weight"};
    for (size_t i = 0; i < BI_COUNT(prefixes) && bi_config_type_is(cp, "bert"); i++) {
        char name[96];
        size_t found = 0;
        for (size_t k = 0; k < BI_COUNT(probes); k++) {
            snprintf(name, sizeof name, "%s%s", prefixes[i], probes[k]);
            found += bi_checkpoint_find(cp, name) != NULL;
        }
        if (found == BI_COUNT(probes))
            return (int)i;
    }
    return -1;
}

static bool protbert_recognise(const struct bi_checkpoint *cp)
{
    return prefix_of(cp) >= 0;
}

/* ---- opening ---- */

static int bind(struct bi_model *model, const struct bert *e, const struct name *n,
                const char *prefix, int layer, void *base, struct bioinfer_error *err)
{
    const int64_t shapes[][2] = {
        [S_D] = {e->width, 0}, [S_DD] = {e->width, e->width}, [S_FD] = {e->ffn, e->width},
        [S_F] = {e->ffn, 0},   [S_DF] = {e->width, e->ffn},   [S_VD] = {e->vocab, e->width},
        [S_V] = {e->vocab, 0}};
    struct bi_binding b = {.at = n->at,
                           .canonical = n->canonical,
                           .prefix = prefix,
                           .file = n->file,
                           .rows = shapes[n->shape][0],
                           .columns = shapes[n->shape][1]};
    return bi_model_bind(model, &b, layer, base, err);
}

static const struct bi_tensor *find(const struct bi_model *model, const struct bert *e,
                                    const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", e->prefix, name);
    return bi_model_find(model, full);
}

static int read_config(struct bi_model *model, struct bert *e, struct bioinfer_error *err)
{
    const struct bi_json *config = model->cp->config;
    const struct bi_tensor *words, *positions, *fc1;
    const char *act = bi_json_string(bi_json_get(config, "hidden_act"));
    const char *kind = bi_json_string(bi_json_get(config, "position_embedding_type"));
    int64_t heads = 0;
    int st;
    e->prefix = prefixes[prefix_of(model->cp)];
    words = find(model, e, "embeddings.word_embeddings.weight");
    positions = find(model, e, "embeddings.position_embeddings.weight");
    fc1 = find(model, e, "encoder.layer.0.intermediate.dense.weight");
    if (!words || words->rank != 2 || words->shape[0] < 5 || words->shape[0] > 1 << 20 ||
        words->shape[1] < 1 || words->shape[1] > 65536)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %sembeddings.word_embeddings.weight: missing, "
                       "or not [vocabulary, width]",
                       model->cp->path, e->prefix);
    e->vocab = (int64_t)words->shape[0];
    e->width = (int64_t)words->shape[1];
    if (positions->rank != 2 || positions->shape[0] < 3 || positions->shape[0] > MAX_POSITIONS)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [places, %lld]", model->cp->path,
                       positions->name, (long long)e->width);
    e->positions = (int64_t)positions->shape[0];
    if (!fc1 || fc1->rank != 2 || fc1->shape[0] < 1 || fc1->shape[0] > 1 << 20)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %sencoder.layer.0.intermediate.dense.weight: "
                       "missing, or not [feed-forward width, width]",
                       model->cp->path, e->prefix);
    e->ffn = (int64_t)fc1->shape[0];
    if ((act && strcmp(act, "gelu")) || (kind && strcmp(kind, "absolute")))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: config.json: hidden_act %s, position "
                       "embeddings %s: expected gelu and absolute",
                       model->cp->path, act ? act : "gelu", kind ? kind : "absolute");
    while (e->n_layers < MAX_LAYERS) {
        char name[64];
        snprintf(name, sizeof name, LAYER_ "output.dense.weight", (int)e->n_layers);
        if (!find(model, e, name))
            break;
        e->n_layers++;
    }
    e->eps = 1e-12f; /* transformers takes this when config.json is silent, as ProtBERT's is */
    const struct bi_config_fact facts[] = {{"hidden_size", e->width},
                                           {"num_hidden_layers", e->n_layers},
                                           {"intermediate_size", e->ffn},
                                           {"vocab_size", e->vocab},
                                           {"max_position_embeddings", e->positions}};
    if ((st = bi_config_agrees(model, facts, BI_COUNT(facts), err)))
        return st;
    if ((st = bi_config_eps(model, "layer_norm_eps", &e->eps, err)) < 0 ||
        (st = bi_config_int(model, "num_attention_heads", 1, 1024, &heads, err)) < 0)
        return st;
    if (!st && e->vocab == (int64_t)BI_COUNT(protbert_symbols) && e->width == 1024)
        heads = 16;
    if (!e->n_layers || !heads || e->width % heads || e->width / heads > 256)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %lld layers, %lld heads over width %lld: not a "
                       "usable configuration (is config.json missing?)",
                       model->cp->path, (long long)e->n_layers, (long long)heads,
                       (long long)e->width);
    e->n_heads = heads;
    e->head_dim = e->width / heads;
    return 0;
}

/* Symbols by id: vocab.txt, else tokenizer.json, else ProtBERT's own. */
static int read_symbols(struct bi_model *model, const struct bert *e, struct bioinfer_error *err)
{
    const char **symbols = NULL;
    int64_t n = 0;
    int st = bi_model_vocab(model, e->vocab, &symbols, err);
    if (st)
        return st;
    if (!symbols) {
        if (!(symbols = bi_arena_calloc(&model->arena, (size_t)e->vocab, sizeof *symbols)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: vocabulary", model->cp->path);
        for (; n < (int64_t)model->cp->pieces.n && n < e->vocab; n++)
            symbols[n] = model->cp->pieces.pieces[n];
        if (!n && e->vocab == (int64_t)BI_COUNT(protbert_symbols))
            for (; n < e->vocab; n++)
                symbols[n] = protbert_symbols[n];
        if (n != e->vocab)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: %lld symbols in tokenizer.json, the embedding has %lld rows",
                           model->cp->path, (long long)n, (long long)e->vocab);
    }
    model->tokens = symbols;
    return 0;
}

static int32_t id_of(const struct bi_model *model, const struct bert *e, const char *symbol)
{
    for (int64_t i = 0; i < e->vocab; i++)
        if (!strcmp(model->tokens[i], symbol))
            return (int32_t)i;
    return -1;
}

static int read_vocab(struct bi_model *model, struct bert *e, struct bioinfer_error *err)
{
    const struct {
        const char *symbol;
        int32_t *id;
    } needed[] = {{"[CLS]", &e->cls}, {"[SEP]", &e->sep}, {"[UNK]", &e->unk}, {"[MASK]", &e->mask}};
    int st = read_symbols(model, e, err);
    if (st)
        return st;
    for (size_t i = 0; i < BI_COUNT(needed); i++) {
        if ((*needed[i].id = id_of(model, e, needed[i].symbol)) < 0)
            return bi_fail(err, BIOINFER_MISMATCH, "%s: the vocabulary has no %s", model->cp->path,
                           needed[i].symbol);
        e->specials[e->n_specials++] = *needed[i].id;
    }
    for (int i = 0; i < 256; i++)
        e->letters[i] = -1;
    for (int64_t i = e->vocab; i-- > 0;) /* a letter's first id */
        if (model->tokens[i][0] && !model->tokens[i][1])
            e->letters[(unsigned char)model->tokens[i][0]] = (int32_t)i;
    for (int c = 'A'; c <= 'Z'; c++) /* vocabularies without capitals */
        if (e->letters[c] < 0)
            e->letters[c] = e->letters[c + 'a' - 'A'];
    e->x = e->letters['X'];
    return 0;
}

/* The table of positions is large (164 MB of ProtBERT's 1.7 GB): plans of short sequences take
 * only its beginning. */
static int bind_positions(struct bi_model *model, struct bert *e, struct bioinfer_error *err)
{
    int64_t rows = 512;
    int st = 0;
    for (int i = 0; i < TABLES; i++, rows *= 4) {
        bool last = rows >= e->positions || i == TABLES - 1;
        struct bi_binding b = {.at = 0,
                               .canonical = "positions.weight",
                               .prefix = e->prefix,
                               .file = "embeddings.position_embeddings.weight",
                               .rows = last ? e->positions : rows,
                               .columns = e->width,
                               .row_block = last ? 0 : (uint64_t)rows,
                               .row_step = last ? 0 : (uint64_t)rows};
        int64_t before = model->n_parameters;
        e->table_rows[i] = b.rows;
        if ((st = bi_model_bind(model, &b, 0, &e->tables[i], err)) || last)
            break;
        model->n_parameters = before; /* counted with the whole */
    }
    return st;
}

/* Row 0 of the token types, as a row that is added: every token is of that type. */
static int bind_types(struct bi_model *model, struct bert *e, struct bioinfer_error *err)
{
    const struct bi_tensor *t = find(model, e, "embeddings.token_type_embeddings.weight");
    struct bi_weight w = {.name = "types.weight", .rank = 1, .shape = {e->width, 1}};
    float *row;
    int st;
    if (t->rank != 2 || t->shape[0] < 1 || t->shape[1] != (uint64_t)e->width ||
        !bi_dtype_is_loadable(t->dtype))
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected [kinds, %lld]", model->cp->path,
                       t->name, (long long)e->width);
    if ((st = bi_model_read(model, t, &row, err)))
        return st;
    w.values = row;
    e->types = bi_model_weight(model, &w, err);
    model->n_parameters += (int64_t)t->n_elements;
    return e->types < 0 ? e->types : 0;
}

/* The head for masked residues, where there is one. Its matrix is the embedding, unless config.json
 * unties them or an adapter has one of its own. */
static int bind_head(struct bi_model *model, struct bert *e, struct bioinfer_error *err)
{
    static const struct name own_w = {M_(lm_w), "lm_head.out.weight",
                                      "cls.predictions.decoder.weight", S_VD};
    static const struct name own_b = {M_(lm_b), "lm_head.bias", "cls.predictions.decoder.bias",
                                      S_V};
    const struct bi_binding words = {.at = M_(lm_w),
                                     .canonical = own_w.canonical,
                                     .prefix = e->prefix,
                                     .file = "embeddings.word_embeddings.weight",
                                     .rows = e->vocab,
                                     .columns = e->width};
    struct bi_adapter *a = model->adapter;
    bool tied = true;
    int st = 0;
    e->dense_w = -1;
    if (!bi_model_find(model, head_names[0].file))
        return 0;
    bi_json_bool(bi_json_get(model->cp->config, "tie_word_embeddings"), &tied);
    for (size_t i = 0; !st && i < BI_COUNT(head_names); i++)
        st = bind(model, e, &head_names[i], "", 0, e, err);
    if (!st && a && bi_adapter_tensor(a, own_b.file)) /* it is what transformers adds */
        st = bind(model, e, &own_b, "", 0, e, err);
    e->lm_w = e->words;
    if (!st && (!tied || (a && bi_adapter_tensor(a, own_w.file))))
        st = bind(model, e, &own_w, "", 0, e, err);
    else if (!st)
        st = bi_model_untie(model, &words, e, err);
    return st;
}

static int protbert_open(struct bi_model *model, struct bioinfer_error *err)
{
    struct bert *e = bi_arena_calloc(&model->arena, 1, sizeof *e);
    int st;
    if (!e)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    for (int i = 0; i < TABLES; i++)
        e->tables[i] = -1;
    if ((st = read_config(model, e, err)) || (st = read_vocab(model, e, err)))
        return st;
    if (!(e->layers = bi_arena_calloc(&model->arena, (size_t)e->n_layers, sizeof *e->layers)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: layers", model->cp->path);
    if ((st = bind_types(model, e, err)) || (st = bind_positions(model, e, err)))
        return st;
    for (size_t i = 0; !st && i < BI_COUNT(trunk_names); i++)
        st = bind(model, e, &trunk_names[i], e->prefix, 0, e, err);
    for (int l = 0; !st && l < e->n_layers; l++)
        for (size_t i = 0; !st && i < BI_COUNT(layer_names); i++)
            st = bind(model, e, &layer_names[i], e->prefix, l, &e->layers[l], err);
    if (st || (st = bind_head(model, e, err)))
        return st;
    model->config = e;
    model->n_layers = (int)e->n_layers;
    model->width = (int)e->width;
    model->n_heads = (int)e->n_heads;
    model->head_dim = (int)e->head_dim;
    model->vocab_size = (int)e->vocab;
    model->n_prefix = model->n_suffix = 1;
    model->mask_id = e->mask;
    model->max_tokens = e->positions;
    model->default_include = BIOINFER_MEAN;
    model->can_include = BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_BOS | BIOINFER_ATTENTIONS |
                         (e->dense_w >= 0 ? BIOINFER_LOGITS : 0);
    model->name = e->n_layers == 30 && e->width == 1024 && e->vocab == 30
                      ? "protbert"
                      : bi_arena_printf(&model->arena, "bert_l%d_%.3gM", (int)e->n_layers,
                                        (double)model->n_parameters / 1e6);
    if (!model->name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: name", model->cp->path);
    return 0;
}

/* ---- graph ---- */

struct builder {
    const struct bi_model *model;
    const struct bert *e;
    struct bi_graph *g;
    const struct bi_wants *wants;
    bi_value_id start;
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

static bi_value_id attend(const struct builder *b, const struct layer *l, bi_value_id x, int layer)
{
    struct bi_graph *g = b->g;
    bi_value_id q = bi_scale(g, linear(b, x, l->q_w, l->q_b), 1 / sqrtf((float)b->e->head_dim));
    bi_value_id k = linear(b, x, l->k_w, l->k_b), v = linear(b, x, l->v_w, l->v_b);
    bi_value_id maps = bi_softmax(g, bi_scores(g, q, k, b->start, (int32_t)b->e->n_heads),
                                  b->start);
    if (b->wants->include & BIOINFER_ATTENTIONS)
        bi_output(g, maps, BIOINFER_ATTENTIONS, layer, "attentions");
    return bi_mix(g, maps, v, b->start);
}

/* The smallest table that has a row for every place; a bucket may be longer than any sequence
 * can be. */
static int positions_for(const struct bert *e, int64_t longest)
{
    int i = 0;
    while (i + 1 < TABLES && e->tables[i + 1] >= 0 && e->table_rows[i] < longest)
        i++;
    return e->tables[i];
}

static void protbert_build(const struct bi_model *model, struct bi_graph *g,
                           const struct bi_shape *shape, const struct bi_wants *wants)
{
    const struct bert *e = model->config;
    struct builder b = {.model = model, .e = e, .g = g, .wants = wants};
    bool logits = wants->include & (BIOINFER_LOGITS | BI_WANT_ROW_LOGITS);
    bool rows_only = wants->include == BI_WANT_ROW_LOGITS;
    bi_value_id ids = bi_input(g, "ids", BI_I32, BI_AXIS_TOKENS, shape->n_tokens), x, rows;
    b.start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, shape->n_seqs + 1);
    rows = wants->include & BI_WANT_ROW_LOGITS
               ? bi_input(g, "rows", BI_I32, BI_AXIS_ROWS, shape->n_rows)
               : BI_NONE;
    x = bi_add(g, bi_embedding(g, weight(&b, e->words), ids),
               bi_positions(g, weight(&b, positions_for(e, shape->longest)), b.start, 0));
    x = norm(&b, bi_add(g, x, weight(&b, e->types)), e->norm_w, e->norm_b);
    for (int i = 0; i < e->n_layers; i++) {
        const struct layer *l = &e->layers[i];
        bi_value_id h;
        bi_model_represent(model, g, wants, x, b.start, i);
        h = attend(&b, l, x, i);
        if (rows_only && i == e->n_layers - 1) { /* the rest concerns the asked rows alone */
            h = bi_select_rows(g, h, rows);
            x = bi_select_rows(g, x, rows);
        }
        x = norm(&b, bi_add(g, linear(&b, h, l->out_w, l->out_b), x), l->norm1_w, l->norm1_b);
        h = bi_gelu(g, linear(&b, x, l->fc1_w, l->fc1_b));
        x = norm(&b, bi_add(g, linear(&b, h, l->fc2_w, l->fc2_b), x), l->norm2_w, l->norm2_b);
    }
    bi_model_represent(model, g, wants, x, b.start, (int)e->n_layers);
    if (logits) {
        if (!rows_only && wants->include & BI_WANT_ROW_LOGITS)
            x = bi_select_rows(g, x, rows);
        x = norm(&b, bi_gelu(g, linear(&b, x, e->dense_w, e->dense_b)), e->lm_norm_w, e->lm_norm_b);
        bi_output(g, linear(&b, x, e->lm_w, e->lm_b),
                  (int)(wants->include & (BIOINFER_LOGITS | BI_WANT_ROW_LOGITS)), -1, "logits");
    }
}

/* ---- tokens ---- */

static int protbert_residue_token(const struct bi_model *model, char residue)
{
    const struct bert *e = model->config;
    return e->letters[(unsigned char)residue];
}

/* U, Z, O, B and J are X, as the published recipe has it. Where the vocabulary has no X they are
 * [UNK], as is any other letter without a token: the tokenizer makes that of it. raw: the token
 * of every letter, [UNK] for the rest, as the tokenizer would see them between spaces. */
static int protbert_encode(const struct bi_model *model, const struct bioinfer_record *r, bool raw,
                           struct bi_tokens *out, struct bioinfer_error *err)
{
    const struct bert *e = model->config;
    out->n = 0;
    out->n_mapped = 0;
    if (!bi_grow(model->env, &out->ids, &out->cap, r->length + 2, sizeof *out->ids))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tokens of %zu residues", r->id, r->length);
    out->ids[out->n++] = e->cls;
    for (size_t i = 0; i < r->length;) {
        char c = r->sequence[i];
        int32_t id = protbert_residue_token(model, c);
        size_t len = 1;
        bool rare = memchr("UZOBJ", c, 5) != NULL;
        if (c == '<' && r->length - i >= 6 && !memcmp(r->sequence + i, "<mask>", 6)) {
            id = e->mask; /* as FASTA files write it for every family */
            len = 6;
        } else if (c == '[') {
            int32_t special = -1;
            len = bi_model_special(model, e->specials, e->n_specials, r->sequence + i,
                                   r->length - i, &special);
            id = len ? special : id;
            len = len ? len : 1;
        }
        if (raw && id < 0) {
            id = e->unk;
        } else if (!raw && rare && e->x >= 0) {
            id = e->x;
            out->n_mapped++;
        } else if (id < 0 && c >= 'A' &&
                   c <= 'Z') { /* a vocabulary without X, such as AntiBERTy's */
            id = e->unk;
            out->n_mapped++;
        }
        if (id < 0)
            return bi_model_bad_residue(r, i, err);
        out->ids[out->n++] = id;
        i += len;
    }
    out->ids[out->n++] = e->sep;
    return 0;
}

static int protbert_facts(const struct bi_model *model, struct bi_hash *to)
{
    const struct bert *e = model->config;
    bi_hash_int(to, "n_layers", e->n_layers);
    bi_hash_int(to, "width", e->width);
    bi_hash_int(to, "n_heads", e->n_heads);
    bi_hash_int(to, "head_dim", e->head_dim);
    bi_hash_int(to, "ffn", e->ffn);
    bi_hash_int(to, "vocab", e->vocab);
    bi_hash_int(to, "positions", e->positions);
    bi_hash_real(to, "eps", (double)e->eps);
    bi_hash_int(to, "cls", 1 + e->cls);
    bi_hash_int(to, "sep", 1 + e->sep);
    bi_hash_int(to, "mask", 1 + e->mask);
    bi_hash_int(to, "unk", 1 + e->unk);
    bi_hash_int(to, "x", 1 + e->x);
    return 0;
}

static const struct bi_release releases[] = {
    {"Rostlab/prot_bert", "AFL-3.0", "config.json vocab.txt pytorch_model.bin", 420984864,
     1684058277},
    {"Rostlab/prot_bert_bfd", "AFL-3.0", "config.json vocab.txt pytorch_model.bin", 420984864,
     1684058277},
    {0}};

static const struct bi_sequences_def sequences = {
    .build = protbert_build,
    .encode = protbert_encode,
    .residue_token = protbert_residue_token,
};

const struct bi_model_def bi_model_protbert = {
    .name = "protbert",
    .summary = "ProtBERT, ProtBERT-BFD and other BERT models over letters",
    .default_name = "Rostlab/prot_bert_bfd",
    .releases = releases,
    .gpu = true,
    .recognise = protbert_recognise,
    .open = protbert_open,
    .kind = &bi_kind_sequences,
    .def = &sequences,
    .facts = protbert_facts,
};

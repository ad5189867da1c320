/* weights.c - ESMFold: its configuration, and the names and shapes of its tensors, as transformers
 * saves EsmForProteinFolding. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../loaders/json.h"
#include "esmfold.h"

/* ---- sizes ---- */

static const struct {
    const char *within, *key;
    int64_t usual, most;
} size_keys[ESMFOLD_SIZES] = {
    [ESMFOLD_SEQUENCE] = {"trunk", "sequence_state_dim", 1024, 65536},
    [ESMFOLD_PAIR] = {"trunk", "pairwise_state_dim", 128, 4096},
    [ESMFOLD_SEQUENCE_HEAD] = {"trunk", "sequence_head_width", 32, 256},
    [ESMFOLD_PAIR_HEAD] = {"trunk", "pairwise_head_width", 32, 256},
    [ESMFOLD_N_BLOCKS] = {"trunk", "num_blocks", 48, ESMFOLD_BLOCKS},
    [ESMFOLD_POSITIONS] = {"trunk", "position_bins", 32, 4096},
    [ESMFOLD_CYCLES] = {"trunk", "max_recycles", 4, 1000},
    [ESMFOLD_SM_SEQUENCE] = {"structure_module", "sequence_dim", 384, 65536},
    [ESMFOLD_SM_PAIR] = {"structure_module", "pairwise_dim", 128, 4096},
    [ESMFOLD_SM_HEAD] = {"structure_module", "ipa_dim", 16, 256},
    [ESMFOLD_SM_HEADS] = {"structure_module", "num_heads_ipa", 12, 256},
    [ESMFOLD_SM_KEYS] = {"structure_module", "num_qk_points", 4, 256},
    [ESMFOLD_SM_VALUES] = {"structure_module", "num_v_points", 8, 256},
    [ESMFOLD_SM_BLOCKS] = {"structure_module", "num_blocks", 8, 256},
    [ESMFOLD_SM_RESNET] = {"structure_module", "resnet_dim", 128, 65536},
    [ESMFOLD_LEVELS] = {NULL, "lddt_head_hid_dim", 128, 65536},
};

/* Settings that have one value each here. */
static const struct {
    const char *within, *key;
    double want;
} fixed_keys[] = {
    {NULL, "bypass_lm", 0},
    {NULL, "embed_aa", 1},
    {NULL, "esm_ablate_pairwise", 0},
    {NULL, "esm_ablate_sequence", 0},
    {NULL, "use_esm_attn_map", 0},
    {"structure_module", "num_transition_layers", 1},
    {"structure_module", "num_resnet_blocks", ESMFOLD_RESNET_BLOCKS},
    {"structure_module", "num_angles", BI_FOLDED_ANGLES / 2},
    {"structure_module", "trans_scale_factor", 10},
    {"structure_module", "epsilon", 1e-8},
};

/* The object of config.json: NULL: esmfold_config, else one of its parts. */
static const struct bi_json *part_of(const struct bi_model *m, const char *within)
{
    const struct bi_json *json = bi_json_get(m->cp->config, "esmfold_config");
    if (within)
        json = bi_json_get(json, "trunk");
    return within && strcmp(within, "trunk") != 0 ? bi_json_get(json, within) : json;
}

static int read_sizes(const struct bi_model *m, struct esmfold *f, struct bioinfer_error *err)
{
    for (int i = 0; i < ESMFOLD_SIZES; i++) {
        const struct bi_json *j = bi_json_get(part_of(m, size_keys[i].within), size_keys[i].key);
        uint64_t n = (uint64_t)size_keys[i].usual;
        if (j && (!bi_json_u64(j, &n) || n < 1 || n > (uint64_t)size_keys[i].most))
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: config.json: %s is '%.20s', expected 1 to %lld", m->cp->path,
                           size_keys[i].key, j->text ? j->text : "no number",
                           (long long)size_keys[i].most);
        f->size[i] = (int64_t)n;
    }
    if (f->size[ESMFOLD_SEQUENCE] % f->size[ESMFOLD_SEQUENCE_HEAD] ||
        f->size[ESMFOLD_PAIR] % f->size[ESMFOLD_PAIR_HEAD] || f->size[ESMFOLD_PAIR] % 2)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: sequence_state_dim %lld and pairwise_state_dim %lld, with "
                       "sequence_head_width %lld and pairwise_head_width %lld",
                       m->cp->path, (long long)f->size[ESMFOLD_SEQUENCE],
                       (long long)f->size[ESMFOLD_PAIR], (long long)f->size[ESMFOLD_SEQUENCE_HEAD],
                       (long long)f->size[ESMFOLD_PAIR_HEAD]);
    for (size_t i = 0; i < BI_COUNT(fixed_keys); i++) {
        const struct bi_json *j = bi_json_get(part_of(m, fixed_keys[i].within), fixed_keys[i].key);
        double number = fixed_keys[i].want;
        bool on;
        if (bi_json_bool(j, &on))
            number = on;
        else if (j && !bi_json_double(j, &number))
            number = NAN;
        if (!(fabs(number - fixed_keys[i].want) <= 1e-12))
            return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: config.json: %s is %g, expected %g",
                           m->cp->path, fixed_keys[i].key, number, fixed_keys[i].want);
    }
    return 0;
}

/* ---- names ---- */

/* Dimensions count a size, a multiple of one, or what follows from several. */
enum dim {
    NONE, /* no columns: a norm or a vector */
    STEM,
    S,
    S3,
    S4,
    Z,
    Z4,
    SEQUENCE_HEADS,
    PAIR_HEADS,
    GAPS,
    FAR,
    LETTERS,
    M,
    P,
    Q,
    KV,
    Q_POINTS,
    KV_POINTS,
    HEADS,
    ATTENTION,
    UPDATE,
    RESNET,
    ANGLES,
    ERRORS,
    LEVELS,
    LEVEL_BINS,
    DIMS
};

static void count_dims(const struct esmfold *f, int64_t dims[DIMS])
{
    const int64_t *n = f->size, heads = n[ESMFOLD_SM_HEADS], c = n[ESMFOLD_SM_HEAD];
    const int64_t keys = n[ESMFOLD_SM_KEYS], values = n[ESMFOLD_SM_VALUES];
    const int64_t of[DIMS] = {
        [STEM] = f->esm.width,
        [S] = n[ESMFOLD_SEQUENCE],
        [S3] = 3 * n[ESMFOLD_SEQUENCE],
        [S4] = 4 * n[ESMFOLD_SEQUENCE],
        [Z] = n[ESMFOLD_PAIR],
        [Z4] = 4 * n[ESMFOLD_PAIR],
        [SEQUENCE_HEADS] = n[ESMFOLD_SEQUENCE] / n[ESMFOLD_SEQUENCE_HEAD],
        [PAIR_HEADS] = n[ESMFOLD_PAIR] / n[ESMFOLD_PAIR_HEAD],
        [GAPS] = 2 * n[ESMFOLD_POSITIONS] + 2,
        [FAR] = ESMFOLD_DISTANCES,
        [LETTERS] = ESMFOLD_LETTERS,
        [M] = n[ESMFOLD_SM_SEQUENCE],
        [P] = n[ESMFOLD_SM_PAIR],
        [Q] = heads * c,
        [KV] = 2 * heads * c,
        [Q_POINTS] = 3 * heads * keys,
        [KV_POINTS] = 3 * heads * (keys + values),
        [HEADS] = heads,
        [ATTENTION] = heads * (c + 4 * values + n[ESMFOLD_SM_PAIR]),
        [UPDATE] = ESMFOLD_UPDATE,
        [RESNET] = n[ESMFOLD_SM_RESNET],
        [ANGLES] = BI_FOLDED_ANGLES,
        [ERRORS] = BI_FOLDED_ERRORS,
        [LEVELS] = n[ESMFOLD_LEVELS],
        [LEVEL_BINS] = BI_FOLDED_NAMES * ESMFOLD_BINS,
    };
    memcpy(dims, of, sizeof of);
}

/* A product, a norm, a table or a vector of the file: its name without ".weight" and ".bias". */
struct source {
    size_t at; /* where its struct esmfold_linear lies */
    const char *name;
    enum dim rows, columns;
    enum { BOTH, WEIGHT, BARE } parts; /* BARE: the name is the tensor's */
};

#define OF(member) offsetof(struct esmfold, member)
#define IN(member) offsetof(struct esmfold_block, member)
#define SM "trunk.structure_module."
#define RESNET_OF SM "angle_resnet."

static const struct source once[] = {
    {OF(stem[0]), "esm_s_mlp.0", STEM, NONE, BOTH},
    {OF(stem[1]), "esm_s_mlp.1", S, STEM, BOTH},
    {OF(stem[2]), "esm_s_mlp.3", S, S, BOTH},
    {OF(letters), "embedding", LETTERS, S, WEIGHT},
    {OF(gaps), "trunk.pairwise_positional_embedding.embedding", GAPS, Z, WEIGHT},
    {OF(far), "trunk.recycle_disto", FAR, Z, WEIGHT},
    {OF(again), "trunk.recycle_s_norm", S, NONE, BOTH},
    {OF(again_pair), "trunk.recycle_z_norm", Z, NONE, BOTH},
    {OF(to_sm), "trunk.trunk2sm_s", M, S, BOTH},
    {OF(to_sm_pair), "trunk.trunk2sm_z", P, Z, BOTH},
    {OF(sm_norm), SM "layer_norm_s", M, NONE, BOTH},
    {OF(sm_pair_norm), SM "layer_norm_z", P, NONE, BOTH},
    {OF(sm_in), SM "linear_in", M, M, BOTH},
    {OF(head_weights), SM "ipa.head_weights", HEADS, NONE, BARE},
    {OF(q), SM "ipa.linear_q", Q, M, BOTH},
    {OF(kv), SM "ipa.linear_kv", KV, M, BOTH},
    {OF(q_points), SM "ipa.linear_q_points", Q_POINTS, M, BOTH},
    {OF(kv_points), SM "ipa.linear_kv_points", KV_POINTS, M, BOTH},
    {OF(sm_bias), SM "ipa.linear_b", HEADS, P, BOTH},
    {OF(sm_out), SM "ipa.linear_out", M, ATTENTION, BOTH},
    {OF(sm_out_norm), SM "layer_norm_ipa", M, NONE, BOTH},
    {OF(transition[0]), SM "transition.layers.0.linear_1", M, M, BOTH},
    {OF(transition[1]), SM "transition.layers.0.linear_2", M, M, BOTH},
    {OF(transition[2]), SM "transition.layers.0.linear_3", M, M, BOTH},
    {OF(transition_norm), SM "transition.layer_norm", M, NONE, BOTH},
    {OF(update), SM "bb_update.linear", UPDATE, M, BOTH},
    {OF(angle_in), RESNET_OF "linear_in", RESNET, M, BOTH},
    {OF(angle_initial), RESNET_OF "linear_initial", RESNET, M, BOTH},
    {OF(angle[0][0]), RESNET_OF "layers.0.linear_1", RESNET, RESNET, BOTH},
    {OF(angle[0][1]), RESNET_OF "layers.0.linear_2", RESNET, RESNET, BOTH},
    {OF(angle[1][0]), RESNET_OF "layers.1.linear_1", RESNET, RESNET, BOTH},
    {OF(angle[1][1]), RESNET_OF "layers.1.linear_2", RESNET, RESNET, BOTH},
    {OF(angle_out), RESNET_OF "linear_out", ANGLES, RESNET, BOTH},
    {OF(errors), "ptm_head", ERRORS, Z, BOTH},
    {OF(level[0]), "lddt_head.0", M, NONE, BOTH},
    {OF(level[1]), "lddt_head.1", LEVELS, M, BOTH},
    {OF(level[2]), "lddt_head.2", LEVELS, LEVELS, BOTH},
    {OF(level[3]), "lddt_head.3", LEVEL_BINS, LEVELS, BOTH},
};

#define B "trunk.blocks.%d."
#define TRIANGLE(member, name)                                                                     \
    {IN(member.a_value), B name ".linear_a_p", Z, Z, BOTH},                                        \
        {IN(member.a_gate), B name ".linear_a_g", Z, Z, BOTH},                                     \
        {IN(member.b_value), B name ".linear_b_p", Z, Z, BOTH},                                    \
        {IN(member.b_gate), B name ".linear_b_g", Z, Z, BOTH},                                     \
        {IN(member.gate), B name ".linear_g", Z, Z, BOTH},                                         \
        {IN(member.out), B name ".linear_z", Z, Z, BOTH},                                          \
        {IN(member.norm_in), B name ".layer_norm_in", Z, NONE, BOTH},                              \
    {                                                                                              \
        IN(member.norm_out), B name ".layer_norm_out", Z, NONE, BOTH                               \
    }
#define ROWS(member, name)                                                                         \
    {IN(member.norm), B name ".layer_norm", Z, NONE, BOTH},                                        \
        {IN(member.bias), B name ".linear", PAIR_HEADS, Z, WEIGHT},                                \
        {IN(member.q), B name ".mha.linear_q", Z, Z, WEIGHT},                                      \
        {IN(member.k), B name ".mha.linear_k", Z, Z, WEIGHT},                                      \
        {IN(member.v), B name ".mha.linear_v", Z, Z, WEIGHT},                                      \
        {IN(member.out), B name ".mha.linear_o", Z, Z, BOTH},                                      \
    {                                                                                              \
        IN(member.gate), B name ".mha.linear_g", Z, Z, BOTH                                        \
    }

static const struct source each[] = {
    {IN(norm), B "layernorm_1", S, NONE, BOTH},
    {IN(to_pair_norm), B "sequence_to_pair.layernorm", S, NONE, BOTH},
    {IN(to_pair), B "sequence_to_pair.proj", Z, S, BOTH},
    {IN(to_pair_out), B "sequence_to_pair.o_proj", Z, Z, BOTH},
    {IN(bias_norm), B "pair_to_sequence.layernorm", Z, NONE, BOTH},
    {IN(bias), B "pair_to_sequence.linear", SEQUENCE_HEADS, Z, WEIGHT},
    {IN(qkv), B "seq_attention.proj", S3, S, WEIGHT},
    {IN(gate), B "seq_attention.g_proj", S, S, BOTH},
    {IN(out), B "seq_attention.o_proj", S, S, BOTH},
    {IN(mlp[0]), B "mlp_seq.mlp.0", S, NONE, BOTH},
    {IN(mlp[1]), B "mlp_seq.mlp.1", S4, S, BOTH},
    {IN(mlp[2]), B "mlp_seq.mlp.3", S, S4, BOTH},
    {IN(pair_mlp[0]), B "mlp_pair.mlp.0", Z, NONE, BOTH},
    {IN(pair_mlp[1]), B "mlp_pair.mlp.1", Z4, Z, BOTH},
    {IN(pair_mlp[2]), B "mlp_pair.mlp.3", Z, Z4, BOTH},
    TRIANGLE(outgoing, "tri_mul_out"),
    TRIANGLE(incoming, "tri_mul_in"),
    ROWS(start, "tri_att_start"),
    ROWS(end, "tri_att_end"),
};

/* Names of tensors that are not computed with, or as they begin: masks and heads of training,
 * contacts, the table of letters, positions of the stem that rotary models do not have. */
static const char *const unused[] = {
    "af2_to_esm",
    "distogram_head.",
    "lm_head.",
    "esm.contact_head.",
    "esm.rotary_embeddings.inv_freq",
    "esm.embeddings.position_",
};

/* Checks that the stem reads residues as its own alphabet has them, and has rotary positions. Where
 * af2_to_esm is stored, the published program reads it: the id of <pad>, then of each letter. */
static int check_tokens(const struct bi_model *m, struct bioinfer_error *err)
{
    const struct bi_checkpoint *cp = m->cp;
    const struct bi_json *words = bi_json_get(cp->config, "vocab_list"), *word;
    const struct bi_tensor *t = bi_checkpoint_find(cp, "af2_to_esm");
    static const char letters[] = ESMFOLD_ORDER "X";
    struct bi_esm_facts facts;
    float ids[ESMFOLD_UNKNOWN + 2];
    int st = 0;
    if (bi_esm_facts(cp, &facts) && facts.learned)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: learned positions, expected rotary ones",
                       cp->path);
    if (words && words->type != BI_JSON_NULL && words->n != BI_ESM_VOCAB)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: config.json: vocab_list has %zu words, not %d",
                       cp->path, words->n, BI_ESM_VOCAB);
    word = words ? words->first : NULL;
    for (int i = 0; word; i++, word = word->next) {
        const char *text = bi_json_string(word);
        if (!text || strcmp(text, m->tokens[i]) != 0)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: config.json: vocab_list: word %d is '%.20s', expected '%s'",
                           cp->path, i, text ? text : "no text", m->tokens[i]);
    }
    if (t && (!bi_dtype_is_loadable(t->dtype) || t->n_elements != BI_COUNT(ids)))
        return bi_fail(err, BIOINFER_MISMATCH, "%s: af2_to_esm: expected %zu numbers", cp->path,
                       BI_COUNT(ids));
    if (t && (st = bi_tensor_read_f32(cp, t, 0, BI_COUNT(ids), ids, err)))
        return st;
    for (int i = 0; t && i < (int)BI_COUNT(ids); i++) {
        const int want = i ? bi_esm_residue_token(m, letters[i - 1]) : BI_ESM_PAD;
        if ((double)ids[i] != want)
            return bi_fail(err, BIOINFER_MISMATCH, "%s: af2_to_esm: number %d is %g, expected %d",
                           cp->path, i, (double)ids[i], want);
    }
    return 0;
}

bool esmfold_recognise(const struct bi_checkpoint *cp)
{
    struct bi_esm_facts facts;
    return bi_checkpoint_find(cp, "trunk.blocks.0.tri_mul_out.linear_a_p.weight") &&
           bi_checkpoint_find(cp, "esm_s_combine") && bi_esm_facts(cp, &facts);
}

/* ---- opening ---- */

static int bind(struct bi_model *m, const struct source *s, const int64_t *dims, int layer,
                void *base, struct bioinfer_error *err)
{
    static const char *const endings[] = {".weight", ".bias"};
    int st = 0;
    *(struct esmfold_linear *)(void *)((char *)base + s->at) = (struct esmfold_linear){-1, -1};
    for (int bias = 0; !st && bias < (s->parts == BOTH ? 2 : 1); bias++) {
        const char *pattern = s->parts == BARE
                                  ? s->name
                                  : bi_arena_printf(&m->arena, "%s%s", s->name, endings[bias]);
        const char *file = pattern ? bi_model_name(m, "", pattern, layer) : NULL;
        const struct bi_binding binding = {
            .at = s->at + (bias ? offsetof(struct esmfold_linear, b) : 0),
            .canonical = file,
            .prefix = "",
            .file = file,
            .rows = dims[s->rows],
            .columns = bias || s->columns == NONE ? 0 : dims[s->columns]};
        if (!file)
            return bi_fail(err, BIOINFER_NOMEM, "%s: names", m->cp->path);
        st = bi_model_bind(m, &binding, layer, base, err);
    }
    return st;
}

/* Rotary frequencies lie in every layer, or once. */
static bool is_unused(const char *name)
{
    const char *end = strstr(name, ".attention.self.rotary_embeddings.inv_freq");
    for (size_t i = 0; i < BI_COUNT(unused); i++)
        if (!strncmp(name, unused[i], strlen(unused[i])))
            return true;
    return end && !strncmp(name, "esm.encoder.layer.", 18) && !strstr(end + 1, "inv_freq.");
}

static int check_names(const struct bi_model *m, struct bioinfer_error *err)
{
    const struct bi_checkpoint *cp = m->cp;
    for (size_t i = 0; i < cp->n_tensors; i++) {
        bool known = is_unused(cp->tensors[i].name);
        for (size_t k = 0; !known && k < m->n_weights; k++)
            known = m->weights[k].tensor == &cp->tensors[i];
        if (!known && strcmp(cp->tensors[i].name, "esm_s_combine") != 0)
            return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: no tensor of ESMFold", cp->path,
                           cp->tensors[i].name);
    }
    return 0;
}

/* The shares of the stem's representations: a softmax of what the file has. */
static int read_mix(struct bi_model *m, struct esmfold *f, struct bioinfer_error *err)
{
    const struct bi_tensor *t = bi_checkpoint_find(m->cp, "esm_s_combine");
    const int64_t n = f->esm.n_layers + 1;
    double top = -INFINITY, total = 0;
    float *got;
    int st;
    if (!t || t->rank != 1 || t->shape[0] != (uint64_t)n)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: esm_s_combine: missing, or not [%lld]",
                       m->cp->path, (long long)n);
    if ((st = bi_model_read(m, t, &got, err)))
        return st;
    if (!(f->mix = bi_arena_calloc(&m->arena, (size_t)n, sizeof *f->mix)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: shares of layers", m->cp->path);
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(got[i]))
            return bi_fail(err, BIOINFER_MISMATCH, "%s: esm_s_combine: number %lld is %g",
                           m->cp->path, (long long)i, (double)got[i]);
        top = fmax(top, (double)got[i]);
    }
    for (int64_t i = 0; i < n; i++)
        total += exp((double)got[i] - top);
    for (int64_t i = 0; i < n; i++)
        f->mix[i] = (float)(exp((double)got[i] - top) / total);
    return 0;
}

/* Where C-beta stands in the frame of each residue, by its N, CA and C, and what a unit of a
 * translation is, in angstrom. X has no atoms, which the trunk sees as all of them at 0. */
static int make_places(struct bi_model *m, struct esmfold *f, struct bioinfer_error *err)
{
    static const float unit = 10;
    static const char letters[] = ESMFOLD_ORDER;
    float *places = bi_arena_calloc(&m->arena, (ESMFOLD_UNKNOWN + 2) * 4, sizeof *places);
    float *units = bi_arena_calloc(&m->arena, BI_FOLDED_FRAME, sizeof *units);
    if (!places || !units)
        return bi_fail(err, BIOINFER_NOMEM, "%s: places of atoms", m->cp->path);
    for (int r = 0; r < ESMFOLD_UNKNOWN; r++) {
        const struct bi_folded_residue *residue = bi_folded_residue(letters[r]);
        const double *n = residue->atoms[0].at, *ca = residue->atoms[1].at;
        const double *c = residue->atoms[2].at;
        double b[3], d[3], a[3];
        for (int i = 0; i < 3; i++) {
            b[i] = ca[i] - n[i];
            d[i] = c[i] - ca[i];
        }
        for (int i = 0; i < 3; i++)
            a[i] = b[(i + 1) % 3] * d[(i + 2) % 3] - b[(i + 2) % 3] * d[(i + 1) % 3];
        for (int i = 0; i < 3; i++)
            places[4 * r + i] = (float)(-0.58273431 * a[i] + 0.56802827 * b[i] - 0.54067466 * d[i] +
                                        ca[i]);
        places[4 * r + 3] = unit;
    }
    for (int i = 0; i < BI_FOLDED_FRAME; i++)
        units[i] = i < 4 ? 1 : unit;
    f->places = bi_model_weight(
        m,
        &(struct bi_weight){
            .name = "places", .values = places, .rank = 2, .shape = {ESMFOLD_UNKNOWN + 2, 4}},
        err);
    f->units = f->places < 0 ? f->places
                             : bi_model_weight(m,
                                               &(struct bi_weight){.name = "units",
                                                                   .values = units,
                                                                   .rank = 1,
                                                                   .shape = {BI_FOLDED_FRAME, 1}},
                                               err);
    return f->units < 0 ? f->units : 0;
}

static const struct bi_esm_kind stem_kind = {.name = "esmfold_stem",
                                             .sizes = (const struct bi_esm_size[]){{0, 0, NULL}},
                                             .token_dropout = true,
                                             .eps = 1e-5f,
                                             .n_suffix = 1,
                                             .other_words = true};

int esmfold_open(struct bi_model *m, struct bioinfer_error *err)
{
    struct esmfold *f = bi_arena_calloc(&m->arena, 1, sizeof *f);
    int64_t dims[DIMS];
    int st;
    if (!f)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", m->cp->path);
    if ((st = bi_esm_open_in(m, &f->esm, &stem_kind, err)) || (st = bi_settings_check(m, err)) ||
        (st = check_tokens(m, err)) || (st = read_sizes(m, f, err)))
        return st;
    count_dims(f, dims);
    f->blocks = bi_arena_calloc(&m->arena, (size_t)f->size[ESMFOLD_N_BLOCKS], sizeof *f->blocks);
    if (!f->blocks)
        return bi_fail(err, BIOINFER_NOMEM, "%s: blocks", m->cp->path);
    for (size_t k = 0; !st && k < BI_COUNT(once); k++)
        st = bind(m, &once[k], dims, 0, f, err);
    for (int i = 0; !st && i < f->size[ESMFOLD_N_BLOCKS]; i++)
        for (size_t k = 0; !st && k < BI_COUNT(each); k++)
            st = bind(m, &each[k], dims, i, &f->blocks[i], err);
    if (st || (st = read_mix(m, f, err)) || (st = check_names(m, err)))
        return st;
    m->config = f;
    m->name = "esmfold";
    m->can_include = m->default_include = 0;
    return make_places(m, f, err);
}

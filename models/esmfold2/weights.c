/* weights.c - ESMFold2: its configuration, and the names and shapes of its tensors, as transformers
 * saves EsmFold2Model, and as the authors published them first. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../loaders/json.h"
#include "../esmc.h"
#include "structure.h"

/* ---- settings ---- */

/* A key of config.json, as transformers has it and as the authors had it; NULL: there was none. */
struct key {
    const char *name, *old;
};

/* clang-format off */
/* Sizes; usual 0 = it follows from others, see follow(). */
static const struct {
    struct key key;
    int64_t usual, least, most;
} size_keys[ESMFOLD2_SIZES] = {
    [ESMFOLD2_SINGLE] = {{"hidden_size", "d_single"}, 384, 1, 65536},
    [ESMFOLD2_PAIR] = {{"pairwise_hidden_size", "d_pair"}, 256, 1, 4096},
    [ESMFOLD2_INPUTS] = {{"single_inputs_size", "inputs.d_inputs"}, 451, 68, 65536},
    [ESMFOLD2_WINDOW] = {{"sliding_window", "inputs.atom_encoder.swa_window_size"}, 128, 1, 65536},
    [ESMFOLD2_RESIDUE_BINS] = {{"num_relative_residx_bins", "n_relative_residx_bins"}, 32, 1, 4096},
    [ESMFOLD2_CHAIN_BINS] = {{"num_relative_chain_bins", "n_relative_chain_bins"}, 2, 1, 4096},
    [ESMFOLD2_LOOPS] = {{"num_loops", "num_loops"}, 10, 0, 1000},
    [ESMFOLD2_ELEMENTS] = {{"max_atomic_number", NULL}, 128, 17, 1024},
    [ESMFOLD2_LETTERS] = {{"char_vocab_size", NULL}, 64, 64, 1024},
    [ESMFOLD2_NAME] = {{"max_chars", NULL}, 4, 4, 4},
    [ESMFOLD2_TOKEN_ATOMS] = {{"max_atoms_per_token", NULL}, 23, 23, 23},
    [ESMFOLD2_TRUNK] = {{"folding_trunk_num_hidden_layers", "folding_trunk.n_layers"}, 0, 1, 256},
    [ESMFOLD2_CODA] = {{"parcae_num_coda_layers", "parcae.coda_n_layers"}, 2, 0, 64},
    [ESMFOLD2_ATOM] = {{"atom_encoder.hidden_size", "inputs.atom_encoder.d_atom"}, 128, 1, 4096},
    [ESMFOLD2_ATOM_OUT] = {{"atom_encoder.output_dim", NULL}, 0, 1, 65536},
    [ESMFOLD2_N_ATOM_LAYERS] = {{"atom_encoder.num_hidden_layers", "inputs.atom_encoder.n_blocks"},
     3, 0, ESMFOLD2_ATOM_LAYERS},
    [ESMFOLD2_ATOM_HEADS] = {{"atom_encoder.num_attention_heads", "inputs.atom_encoder.n_heads"},
     4, 1, 256},
    [ESMFOLD2_ATOM_HEAD] = {{"atom_encoder.head_dim", NULL}, 0, 2, 64},
    [ESMFOLD2_ATOM_HIDDEN] = {{"atom_encoder.intermediate_size", NULL}, 0, 1, 65536},
    [ESMFOLD2_SPATIAL_PAIRS] = {{"atom_encoder.num_spatial_rope_pairs_per_axis",
      "inputs.atom_encoder.n_spatial_rope_pairs_per_axis"}, 2, 0, 32},
    [ESMFOLD2_UID_PAIRS] =
        {{"atom_encoder.num_uid_rope_pairs", "inputs.atom_encoder.n_uid_rope_pairs"}, 10, 0, 32},
    [ESMFOLD2_DISTOGRAM] = {{"structure_head.num_distogram_bins", "structure_head.distogram_bins"},
     128, 1, 4096},
    [ESMFOLD2_SAMPLES] = {{"structure_head.num_diffusion_samples", "num_diffusion_samples"},
     8, 1, 1024},
    [ESMFOLD2_STEPS] =
        {{"structure_head.inference_num_steps", "structure_head.inference_num_steps"}, 68, 2, 1000},
    [ESMFOLD2_TOKEN] = {{"structure_head.diffusion_module.hidden_size",
      "structure_head.diffusion_module.c_token"}, 768, 1, 65536},
    [ESMFOLD2_FOURIER] = {{"structure_head.diffusion_module.fourier_dim",
      "structure_head.diffusion_module.fourier_dim"}, 256, 1, 65536},
    [ESMFOLD2_TOKEN_LAYERS] = {{"structure_head.diffusion_module.num_hidden_layers",
      "structure_head.diffusion_module.token_num_blocks"}, 12, 1, ESMFOLD2_LAYERS},
    [ESMFOLD2_TOKEN_HEADS] = {{"structure_head.diffusion_module.num_attention_heads",
      "structure_head.diffusion_module.token_num_heads"}, 16, 1, 256},
    [ESMFOLD2_TOKEN_HIDDEN] = {{"structure_head.diffusion_module.intermediate_size", NULL},
     0, 1, 1 << 20},
    [ESMFOLD2_PAIR_HIDDEN] = {{"structure_head.diffusion_module.pair_intermediate_size", NULL},
     0, 1, 1 << 20},
    [ESMFOLD2_CONFIDENCE] = {{"confidence_head.num_hidden_layers",
      "confidence_head.folding_trunk.n_layers"}, 4, 0, ESMFOLD2_LAYERS},
    [ESMFOLD2_LEVEL_BINS] = {{"confidence_head.num_plddt_bins", "confidence_head.num_plddt_bins"},
     50, 1, 1024},
    [ESMFOLD2_ERROR_BINS] = {{"confidence_head.num_pae_bins", "confidence_head.num_pae_bins"},
     64, 64, 64},
    [ESMFOLD2_DISTANCE_BINS] = {{"confidence_head.num_pde_bins", "confidence_head.num_pde_bins"},
     64, 1, 1024},
    [ESMFOLD2_DISTANCES] = {{"confidence_head.distogram_bins", "confidence_head.distogram_bins"},
     128, 2, 4096},
    [ESMFOLD2_LM_LAYERS] = {{"lm_encoder.num_hidden_layers", "lm_encoder.n_layers"},
     4, 0, ESMFOLD2_LAYERS},
    [ESMFOLD2_PAIR_TRANSITION] = {{"pair_transition_intermediate_size", NULL}, 0, 1, 1 << 20},
    [ESMFOLD2_ALIGNED_LAYERS] = {{"msa_encoder.num_hidden_layers", "msa_encoder.n_layers"},
     4, 1, ESMFOLD2_LAYERS},
    [ESMFOLD2_ALIGNED] = {{"msa_encoder.hidden_size", "msa_encoder.d_msa"}, 128, 1, 4096},
    [ESMFOLD2_OUTER] = {{"msa_encoder.outer_hidden_size", "msa_encoder.d_hidden"}, 32, 1, 256},
    [ESMFOLD2_ALIGNED_HEADS] = {{"msa_encoder.num_attention_heads", "msa_encoder.n_heads_msa"},
     8, 1, 256},
    [ESMFOLD2_ALIGNED_HEAD] = {{"msa_encoder.head_dim", "msa_encoder.msa_head_width"}, 32, 1, 256},
    [ESMFOLD2_ALIGNED_HIDDEN] = {{"msa_encoder.intermediate_size", NULL}, 0, 1, 1 << 20},
};

static const struct {
    struct key key;
    double usual, least, most;
} real_keys[ESMFOLD2_REALS] = {
    [ESMFOLD2_SPATIAL_BASE] = {{"atom_encoder.spatial_rope_base_frequency",
      "inputs.atom_encoder.spatial_rope_base_frequency"}, 20, 1e-3, 1e9},
    [ESMFOLD2_UID_BASE] = {{"atom_encoder.uid_rope_base_frequency",
      "inputs.atom_encoder.uid_rope_base_frequency"}, 1e4, 1e-3, 1e9},
    [ESMFOLD2_SIGMA] = {{"structure_head.diffusion_module.sigma_data",
      "structure_head.diffusion_module.sigma_data"}, 16, 1e-3, 1e4},
    [ESMFOLD2_GAMMA] = {{"structure_head.gamma_0", "structure_head.gamma_0"}, 0.605, 0, 100},
    [ESMFOLD2_GAMMA_MIN] = {{"structure_head.gamma_min", "structure_head.gamma_min"},
     1.107, 0, 1e6},
    [ESMFOLD2_NOISE_SCALE] = {{"structure_head.noise_scale", "structure_head.noise_scale"},
     0, 0, 100},
    [ESMFOLD2_STEP_SCALE] = {{"structure_head.step_scale", "structure_head.step_scale"}, 1, 0, 100},
    [ESMFOLD2_SIGMA_MAX] = {{"structure_head.inference_sigma_max_ratio",
      "structure_head.inference_s_max"}, 160, 1e-6, 1e6},
    [ESMFOLD2_SIGMA_MIN] = {{"structure_head.inference_sigma_min_ratio",
      "structure_head.inference_s_min"}, 4e-4, 1e-9, 1e6},
    [ESMFOLD2_EXPONENT] = {{"structure_head.inference_exponent", "structure_head.inference_p"},
     8, 1e-2, 100},
    [ESMFOLD2_SIGMA_CAP] = {{"structure_head.inference_sigma_cap", NULL}, 256, 1e-3, 1e6},
    [ESMFOLD2_DROPOUT] = {{"lm_encoder.lm_dropout", "lm_encoder.lm_dropout"}, 0.25, 0, 0.99},
};
/* clang-format on */

/* Settings that have one value each here. */
static const struct {
    const char *path;
    double want;
} fixed_keys[] = {
    {"num_res_types", ESMFOLD2_TYPES},
    {"lm_encoder.per_loop_lm_dropout", 1},
    {"lm_encoder.enabled", 1},
    {"confidence_head.enabled", 1},
    {"parcae.enabled", 1},
    {"disable_msa_features", 0},
    {"lm_mask_pct", 0},
    {"msa_encoder_overwrite", 1},
    {"msa_encoder.overwrite", 1},
    {"atom_feature_dim", 389},
    {"confidence_head.eps", 1e-6},
};

/* A value of config.json by its path of keys with dots between; NULL: there is none. */
static const struct bi_json *at_path(const struct bi_json *json, const char *path)
{
    while (path && json) {
        const char *dot = strchr(path, '.');
        char key[64];
        snprintf(key, sizeof key, "%.*s", dot ? (int)(dot - path) : (int)strlen(path), path);
        json = bi_json_get(json, key);
        path = dot ? dot + 1 : NULL;
    }
    return json && json->type != BI_JSON_NULL ? json : NULL;
}

static const struct bi_json *setting(const struct bi_model *m, struct key key, const char **name)
{
    const struct bi_json *json = at_path(m->cp->config, key.name);
    *name = key.name;
    if (!json && key.old && (json = at_path(m->cp->config, key.old)))
        *name = key.old;
    return json;
}

static int unfit(const struct bi_model *m, const char *name, const struct bi_json *json,
                 double least, double most, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_MISMATCH, "%s: config.json: %s is '%.20s', expected %g to %g",
                   m->cp->path, name, json->text ? json->text : "no number", least, most);
}

/* Sizes that a file may leave to others. */
static int64_t follow(const struct esmfold2 *f, int size)
{
    switch (size) {
    case ESMFOLD2_ATOM_OUT:
        return f->size[ESMFOLD2_INPUTS] - 2 * ESMFOLD2_TYPES - 1;
    case ESMFOLD2_ATOM_HEAD:
        return f->size[ESMFOLD2_ATOM] / f->size[ESMFOLD2_ATOM_HEADS];
    case ESMFOLD2_ATOM_HIDDEN: /* as the authors' code, of an expansion of 2 */
        return (2 * (f->size[ESMFOLD2_ATOM] / 3) * 2 + 255) / 256 * 256;
    case ESMFOLD2_TOKEN_HIDDEN:
        return 2 * f->size[ESMFOLD2_TOKEN];
    case ESMFOLD2_PAIR_HIDDEN:
        return 2 * f->size[ESMFOLD2_PAIR];
    case ESMFOLD2_PAIR_TRANSITION:
        return 4 * f->size[ESMFOLD2_PAIR];
    case ESMFOLD2_ALIGNED_HIDDEN:
        return 4 * f->size[ESMFOLD2_ALIGNED];
    default:
        return 0;
    }
}

/* null for the cap of the noise's levels: no level is cut. */
static bool cuts_nothing(const struct bi_model *m)
{
    const struct bi_json *j = bi_json_get(at_path(m->cp->config, "structure_head"),
                                          "inference_sigma_cap");
    return j && j->type == BI_JSON_NULL;
}

/* The atom encoder of samples has settings of its own, which must equal the other's. `inner` is its
 * key within the module; it may be absent. */
static int check_inner(const struct bi_model *m, const char *inner, double want,
                       struct bioinfer_error *err)
{
    char path[128];
    const struct bi_json *j;
    double x = want;
    snprintf(path, sizeof path, "structure_head.diffusion_module.%s", inner);
    j = at_path(m->cp->config, path);
    if (!j || (bi_json_double(j, &x) && fabs(x - want) <= 1e-6 * fabs(want)))
        return 0;
    return bi_fail(err, BIOINFER_UNSUPPORTED,
                   "%s: config.json: %s is '%.20s', expected %g as of the other atom encoder",
                   m->cp->path, path, j->text ? j->text : "no number", want);
}

static int check_atoms_of_samples(const struct bi_model *m, const struct esmfold2 *f,
                                  struct bioinfer_error *err)
{
    static const char prefix[] = "atom_encoder.";
    static const struct {
        int size;
        const char *old;
    } olds[] = {{ESMFOLD2_ATOM, "c_atom"},
                {ESMFOLD2_N_ATOM_LAYERS, "atom_num_blocks"},
                {ESMFOLD2_ATOM_HEADS, "atom_num_heads"}};
    int st = 0;
    for (int i = 0; i < ESMFOLD2_SIZES && !st; i++)
        if (i != ESMFOLD2_ATOM_OUT && !strncmp(size_keys[i].key.name, prefix, sizeof prefix - 1))
            st = check_inner(m, size_keys[i].key.name, (double)f->size[i], err);
    for (int i = 0; i < ESMFOLD2_REALS && !st; i++)
        if (!strncmp(real_keys[i].key.name, prefix, sizeof prefix - 1))
            st = check_inner(m, real_keys[i].key.name, (double)f->real[i], err);
    for (size_t i = 0; i < BI_COUNT(olds) && !st; i++)
        st = check_inner(m, olds[i].old, (double)f->size[olds[i].size], err);
    return st;
}

/* Sets whether the model reads alignments, which the tensors and config.json say alike. */
static int find_alignment(const struct bi_model *m, bool *aligns, struct bioinfer_error *err)
{
    static const char tensor[] = "msa_encoder.embed.weight";
    const bool there = bi_checkpoint_find(m->cp, tensor);
    bool enabled = there;
    *aligns = there;
    if (bi_json_bool(at_path(m->cp->config, "msa_encoder.enabled"), &enabled) && enabled != there)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: msa_encoder.enabled is %s, and %s is %s", m->cp->path,
                       enabled ? "true" : "false", tensor, there ? "there" : "missing");
    return 0;
}

static int read_settings(const struct bi_model *m, struct esmfold2 *f, struct bioinfer_error *err)
{
    const char *name, *type = bi_json_string(at_path(m->cp->config, "type"));
    bool aligns;
    int st;
    if (type && !strcmp(type, "experimental"))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: config.json: type is 'experimental'",
                       m->cp->path);
    if ((st = find_alignment(m, &aligns, err)))
        return st;
    for (int i = 0; i < (aligns ? ESMFOLD2_SIZES : ESMFOLD2_ALIGNED_LAYERS); i++) {
        const struct bi_json *j = setting(m, size_keys[i].key, &name);
        uint64_t n = (uint64_t)size_keys[i].usual;
        if (j && (!bi_json_u64(j, &n) || n < (uint64_t)size_keys[i].least ||
                  n > (uint64_t)size_keys[i].most))
            return unfit(m, name, j, (double)size_keys[i].least, (double)size_keys[i].most, err);
        f->size[i] = j || n ? (int64_t)n : follow(f, i);
    }
    for (int i = 0; i < ESMFOLD2_REALS; i++) {
        const struct bi_json *j = setting(m, real_keys[i].key, &name);
        double x = real_keys[i].usual;
        if (j && (!bi_json_double(j, &x) || !(x >= real_keys[i].least && x <= real_keys[i].most)))
            return unfit(m, name, j, real_keys[i].least, real_keys[i].most, err);
        f->real[i] = (float)x;
    }
    if (cuts_nothing(m))
        f->real[ESMFOLD2_SIGMA_CAP] = INFINITY;
    for (size_t i = 0; i < BI_COUNT(fixed_keys); i++) {
        const struct bi_json *j = at_path(m->cp->config, fixed_keys[i].path);
        double number = fixed_keys[i].want;
        bool on;
        if (bi_json_bool(j, &on))
            number = on;
        else if (j && !bi_json_double(j, &number))
            number = NAN;
        if (!(fabs(number - fixed_keys[i].want) <= 1e-12))
            return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: config.json: %s is %g, expected %g",
                           m->cp->path, fixed_keys[i].path, number, fixed_keys[i].want);
    }
    if (f->size[ESMFOLD2_INPUTS] != f->size[ESMFOLD2_ATOM_OUT] + 2 * ESMFOLD2_TYPES + 1)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: single_inputs_size is %lld, expected %lld and 67",
                       m->cp->path, (long long)f->size[ESMFOLD2_INPUTS],
                       (long long)f->size[ESMFOLD2_ATOM_OUT]);
    if (f->size[ESMFOLD2_ATOM_HEAD] * f->size[ESMFOLD2_ATOM_HEADS] != f->size[ESMFOLD2_ATOM] ||
        2 * (3 * f->size[ESMFOLD2_SPATIAL_PAIRS] + f->size[ESMFOLD2_UID_PAIRS]) >
            f->size[ESMFOLD2_ATOM_HEAD])
        return bi_fail(
            err, BIOINFER_MISMATCH,
            "%s: config.json: atom_encoder: %lld wide, %lld heads of %lld, which "
            "%lld and %lld rotary pairs do not fit",
            m->cp->path, (long long)f->size[ESMFOLD2_ATOM], (long long)f->size[ESMFOLD2_ATOM_HEADS],
            (long long)f->size[ESMFOLD2_ATOM_HEAD], (long long)f->size[ESMFOLD2_SPATIAL_PAIRS],
            (long long)f->size[ESMFOLD2_UID_PAIRS]);
    if (f->size[ESMFOLD2_TOKEN] % f->size[ESMFOLD2_TOKEN_HEADS])
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: diffusion_module: %lld heads of "
                       "%lld numbers",
                       m->cp->path, (long long)f->size[ESMFOLD2_TOKEN_HEADS],
                       (long long)f->size[ESMFOLD2_TOKEN]);
    if (!(f->real[ESMFOLD2_SIGMA_MIN] < f->real[ESMFOLD2_SIGMA_MAX]))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: inference_sigma_min_ratio is %g, expected below "
                       "inference_sigma_max_ratio, %g",
                       m->cp->path, (double)f->real[ESMFOLD2_SIGMA_MIN],
                       (double)f->real[ESMFOLD2_SIGMA_MAX]);
    return check_atoms_of_samples(m, f, err);
}

/* ---- names ---- */

enum dim {
    NONE, /* no columns: a norm or a vector */
    ONE,
    C,
    C2,
    PAIR_FF,
    INPUTS,
    POSITIONS,
    STEM,
    SINGLE,
    A,
    A6,
    ATOM_FF,
    FEATURES,
    ATOM_OUT,
    TOKEN,
    TOKEN_FF,
    COND_FF,
    FOURIER,
    HEADS,
    DISTOGRAM,
    DISTANCES,
    BOUNDARIES,
    ERRORS,
    DISTANCE_ERRORS,
    SIX,
    THREE,
    ALIGNED,
    ALIGNED_FF,
    ALIGNED_IN,
    ALIGNED_HEADS,
    AVERAGED,
    OUTER,
    OUTER2,
    DIMS
};

static void count_dims(const struct esmfold2 *f, int64_t dims[DIMS])
{
    const int64_t *n = f->size;
    const int64_t of[DIMS] = {
        [ONE] = 1,
        [C] = n[ESMFOLD2_PAIR],
        [C2] = 2 * n[ESMFOLD2_PAIR],
        [PAIR_FF] = n[ESMFOLD2_PAIR_TRANSITION],
        [INPUTS] = n[ESMFOLD2_INPUTS],
        [POSITIONS] = 2 * (2 * n[ESMFOLD2_RESIDUE_BINS] + 2) + 1 + 2 * n[ESMFOLD2_CHAIN_BINS] + 2,
        [STEM] = f->stem_width,
        [SINGLE] = n[ESMFOLD2_SINGLE],
        [A] = n[ESMFOLD2_ATOM],
        [A6] = 6 * n[ESMFOLD2_ATOM],
        [ATOM_FF] = n[ESMFOLD2_ATOM_HIDDEN],
        [FEATURES] = ESMFOLD2_ATOM_NUMBERS + n[ESMFOLD2_ELEMENTS] +
                     n[ESMFOLD2_NAME] * n[ESMFOLD2_LETTERS],
        [ATOM_OUT] = n[ESMFOLD2_ATOM_OUT],
        [TOKEN] = n[ESMFOLD2_TOKEN],
        [TOKEN_FF] = n[ESMFOLD2_TOKEN_HIDDEN],
        [COND_FF] = n[ESMFOLD2_PAIR_HIDDEN],
        [FOURIER] = n[ESMFOLD2_FOURIER],
        [HEADS] = n[ESMFOLD2_TOKEN_HEADS],
        [DISTOGRAM] = n[ESMFOLD2_DISTOGRAM],
        [DISTANCES] = n[ESMFOLD2_DISTANCES],
        [BOUNDARIES] = n[ESMFOLD2_DISTANCES] - 1,
        [ERRORS] = n[ESMFOLD2_ERROR_BINS],
        [DISTANCE_ERRORS] = n[ESMFOLD2_DISTANCE_BINS],
        [SIX] = 6,
        [THREE] = 3,
        [ALIGNED] = n[ESMFOLD2_ALIGNED],
        [ALIGNED_FF] = n[ESMFOLD2_ALIGNED_HIDDEN],
        [ALIGNED_IN] = ESMFOLD2_TYPES + ESMFOLD2_ALIGNED_NUMBERS,
        [ALIGNED_HEADS] = n[ESMFOLD2_ALIGNED_HEADS],
        [AVERAGED] = n[ESMFOLD2_ALIGNED_HEADS] * n[ESMFOLD2_ALIGNED_HEAD],
        [OUTER] = n[ESMFOLD2_OUTER],
        [OUTER2] = n[ESMFOLD2_OUTER] * n[ESMFOLD2_OUTER],
    };
    memcpy(dims, of, sizeof of);
}

/* Which rows of a stacked tensor: part `at` of `of`; of 0: it stands alone. */
struct part {
    int at, of;
};

/* A tensor with its bias where it has one: names without ".weight" and ".bias", as transformers has
 * them and as the authors had them; NULL: the same. A bare name is the tensor's own. */
struct source {
    size_t at; /* where its struct esmfold2_linear lies */
    const char *name, *old;
    enum dim rows, columns;
    enum { WEIGHT, BOTH, BARE, OLD_BARE } parts; /* OLD_BARE: bare in the authors' */
    struct part part, old_part;
};

struct prefix {
    const char *name, *old;
};

#define OF(member) offsetof(struct esmfold2, member)
#define D(member) offsetof(struct esmfold2_diffusion, member)
#define H(member) offsetof(struct esmfold2_confidence, member)
#define T(member) offsetof(struct esmfold2_token_layer, member)
#define L(member) offsetof(struct esmfold2_atom_layer, member)
#define P(member) offsetof(struct esmfold2_pair_layer, member)
#define S "structure_head."
#define SOLD S "diffusion_module."
#define SC S "conditioning."
#define SCOLD SOLD "conditioning."
#define CI "confidence_head.input_embedder."
#define ALONE {0, 0}

/* clang-format off */
static const struct source once[] = {
    {OF(row), "input_embedder.pair_init_1", "z_init_1", C, INPUTS, WEIGHT, ALONE, ALONE},
    {OF(column), "input_embedder.pair_init_2", "z_init_2", C, INPUTS, WEIGHT, ALONE, ALONE},
    {OF(positions), "input_embedder.rel_pos.embed", "rel_pos.embed", C, POSITIONS, WEIGHT, ALONE,
     ALONE},
    {OF(bonds), "input_embedder.token_bonds", "token_bonds", C, ONE, WEIGHT, ALONE, ALONE},
    {OF(level_norm), "language_model.pair_input_norm", "language_model.base_z_linear.0", STEM,
     NONE, BOTH, ALONE, ALONE},
    {OF(level), "language_model.pair_proj", "language_model.base_z_linear.1", C, STEM, WEIGHT,
     ALONE, ALONE},
    {OF(down), "language_model.single_to_pair.downproject",
     "language_model.base_z_mlp.0.downproject", C, C, BOTH, ALONE, ALONE},
    {OF(meet), "language_model.single_to_pair.output_fc1",
     "language_model.base_z_mlp.0.output_mlp.0", C, C2, BOTH, ALONE, ALONE},
    {OF(met), "language_model.single_to_pair.output_fc2",
     "language_model.base_z_mlp.0.output_mlp.2", C, C, BOTH, ALONE, ALONE},
    {OF(met_norm), "language_model.pair_output_norm", "language_model.base_z_mlp.1", C, NONE, BOTH,
     ALONE, ALONE},
    {OF(input_norm), "parcae.input_norm", "parcae_input_norm", C, NONE, BOTH, ALONE, ALONE},
    {OF(readout), "parcae.out_proj", "parcae_readout", C, C, WEIGHT, ALONE, ALONE},
    {OF(distogram), "distogram_head", NULL, DISTOGRAM, C, BOTH, ALONE, ALONE},
};

static const struct source diffusion[] = {
    {D(frequencies), SC "fourier.frequencies", SCOLD "fourier.w", FOURIER, NONE, BARE, ALONE,
     ALONE},
    {D(phases), SC "fourier.phases", SCOLD "fourier.b", FOURIER, NONE, BARE, ALONE, ALONE},
    {D(pair_norm), SC "pair_input_norm", SCOLD "z_input_norm", C2, NONE, BOTH, ALONE, ALONE},
    {D(pair), SC "pair_proj", SCOLD "z_proj", C, C2, WEIGHT, ALONE, ALONE},
    {D(single_norm), SC "single_input_norm", SCOLD "s_input_norm", INPUTS, NONE, BOTH, ALONE,
     ALONE},
    {D(single), SC "single_proj", SCOLD "s_proj", TOKEN, INPUTS, WEIGHT, ALONE, ALONE},
    {D(noise_norm), SC "noise_norm", SCOLD "noise_norm", FOURIER, NONE, BOTH, ALONE, ALONE},
    {D(noise), SC "noise_proj", SCOLD "noise_proj", TOKEN, FOURIER, WEIGHT, ALONE, ALONE},
    {D(coordinates), S "coords_linear", SOLD "atom_encoder.coords_linear", A, SIX, WEIGHT, ALONE,
     ALONE},
    {D(step_norm), S "single_step_norm", SOLD "s_step_norm", TOKEN, NONE, BOTH, ALONE, ALONE},
    {D(single_to_token), S "single_to_token", SOLD "s_to_token", TOKEN, TOKEN, WEIGHT, ALONE,
     ALONE},
    {D(token_norm), S "token_norm", SOLD "token_norm", TOKEN, NONE, BOTH, ALONE, ALONE},
    {D(to_atom), S "atom_decoder.token_to_atom_linear", SOLD "atom_decoder.token_to_atom_linear",
     A, TOKEN, WEIGHT, ALONE, ALONE},
    {D(atom_norm), S "atom_decoder.norm", SOLD "atom_decoder.norm", A, NONE, BOTH, ALONE, ALONE},
    {D(position), S "atom_decoder.output_linear", SOLD "atom_decoder.output_linear", THREE, A,
     WEIGHT, ALONE, ALONE},
};

/* A transition: the authors' names of four kinds. */
#define TRANSITION(base, width, hidden)                                                            \
    {base + offsetof(struct esmfold2_transition, norm), "norm", NULL, width, NONE, BOTH, ALONE,    \
     ALONE},                                                                                       \
    {base + offsetof(struct esmfold2_transition, gate), "mlp.gate_up_proj", "ffn.w12", hidden,     \
     width, WEIGHT, {0, 2}, {0, 2}},                                                               \
    {base + offsetof(struct esmfold2_transition, up), "mlp.gate_up_proj", "ffn.w12", hidden,       \
     width, WEIGHT, {1, 2}, {1, 2}},                                                               \
    {base + offsetof(struct esmfold2_transition, down), "mlp.down_proj", "ffn.w3", width, hidden,  \
     WEIGHT, ALONE, ALONE}
#define CONDITIONED(width, hidden)                                                                 \
    {offsetof(struct esmfold2_transition, norm), "norm", NULL, width, NONE, BOTH, ALONE, ALONE},   \
    {offsetof(struct esmfold2_transition, gate), "mlp.gate_up_proj", "a_proj", hidden, width,      \
     WEIGHT, {0, 2}, ALONE},                                                                       \
    {offsetof(struct esmfold2_transition, up), "mlp.gate_up_proj", "b_proj", hidden, width,        \
     WEIGHT, {1, 2}, ALONE},                                                                       \
    {offsetof(struct esmfold2_transition, down), "mlp.down_proj", "out_proj", width, hidden,       \
     WEIGHT, ALONE, ALONE}

static const struct source pair_transition[] = {CONDITIONED(C, COND_FF)};
static const struct source single_transition[] = {CONDITIONED(TOKEN, TOKEN_FF)};
static const struct source pair_layer_transition[] = {TRANSITION(0, C, PAIR_FF)};

#define OFT(member) offsetof(struct esmfold2_triangle, member)
#define BUNDLE "proj_bundle"
static const struct source triangle[] = {
    {OFT(norm_in), "norm_start", NULL, C, NONE, BOTH, ALONE, ALONE},
    {OFT(a_value), BUNDLE, NULL, C, C, WEIGHT, {0, 4}, {0, 4}},
    {OFT(b_value), BUNDLE, NULL, C, C, WEIGHT, {1, 4}, {1, 4}},
    {OFT(a_gate), BUNDLE, NULL, C, C, WEIGHT, {2, 4}, {2, 4}},
    {OFT(b_gate), BUNDLE, NULL, C, C, WEIGHT, {3, 4}, {3, 4}},
    {OFT(norm_out), "norm_mix", NULL, C, NONE, BOTH, ALONE, ALONE},
    {OFT(out), "proj_emit", NULL, C, C, WEIGHT, ALONE, ALONE},
    {OFT(gate), "proj_gate", NULL, C, C, WEIGHT, ALONE, ALONE},
};

#define M(member) offsetof(struct esmfold2_alignment, member)
static const struct source alignment[] = {
    {M(rows), "embed", NULL, ALIGNED, ALIGNED_IN, WEIGHT, ALONE, ALONE},
    {M(single), "project_inputs", NULL, ALIGNED, INPUTS, WEIGHT, ALONE, ALONE},
};

#define ML(member) offsetof(struct esmfold2_aligned_layer, member)
#define OUTER_MEAN "outer_product_mean."
static const struct source outer_mean[] = {
    {ML(outer_norm), OUTER_MEAN "norm", NULL, ALIGNED, NONE, BOTH, ALONE, ALONE},
    {ML(left), OUTER_MEAN "input_proj", OUTER_MEAN "W", OUTER, ALIGNED, WEIGHT, {0, 2}, {0, 2}},
    {ML(right), OUTER_MEAN "input_proj", OUTER_MEAN "W", OUTER, ALIGNED, WEIGHT, {1, 2}, {1, 2}},
    {ML(outer), OUTER_MEAN "output_proj", OUTER_MEAN "Wout", C, OUTER2, BOTH, ALONE, ALONE},
};

#define AVERAGING "msa_pair_weighted_averaging."
static const struct source averaging[] = {
    {ML(row_norm), AVERAGING "norm_single", NULL, ALIGNED, NONE, BOTH, ALONE, ALONE},
    {ML(pair_norm), AVERAGING "bias_norm", AVERAGING "compute_bias.0", C, NONE, BOTH, ALONE,
     ALONE},
    {ML(weight), AVERAGING "bias_proj", AVERAGING "compute_bias.1", ALIGNED_HEADS, C, WEIGHT,
     ALONE, ALONE},
    {ML(value), AVERAGING "v_proj", AVERAGING "Wv", AVERAGED, ALIGNED, WEIGHT, ALONE, ALONE},
    {ML(gate), AVERAGING "gate_proj", AVERAGING "Wgate", AVERAGED, ALIGNED, WEIGHT, ALONE, ALONE},
    {ML(out), AVERAGING "o_proj", AVERAGING "Wout", ALIGNED, AVERAGED, WEIGHT, ALONE, ALONE},
};
static const struct source aligned_transition[] = {TRANSITION(0, ALIGNED, ALIGNED_FF)};

#define OFE(member) offsetof(struct esmfold2_atom_encoder, member)
static const struct source encoder[] = {
    {OFE(features), "atom_linear", NULL, A, FEATURES, WEIGHT, ALONE, ALONE},
    {OFE(norm), "atom_norm", NULL, A, NONE, BOTH, ALONE, ALONE},
};
static const struct source to_single[] = {
    {OFE(to_token), "atom_to_token_linear", NULL, ATOM_OUT, A, WEIGHT, ALONE, ALONE}};
static const struct source to_token[] = {
    {OFE(to_token), "atom_to_token_linear", NULL, TOKEN, A, WEIGHT, ALONE, ALONE}};

static const struct source atom_layer[] = {
    {L(modulation), "adaln_linear", "adaln_modulation.1", A6, A, WEIGHT, ALONE, ALONE},
    {L(q), "self_attn.q_proj", "attn.Wqkv", A, A, WEIGHT, ALONE, {0, 3}},
    {L(k), "self_attn.k_proj", "attn.Wqkv", A, A, WEIGHT, ALONE, {1, 3}},
    {L(v), "self_attn.v_proj", "attn.Wqkv", A, A, WEIGHT, ALONE, {2, 3}},
    {L(gate), "self_attn.gate_proj", "attn.gate_proj", A, A, WEIGHT, ALONE, ALONE},
    {L(out), "self_attn.o_proj", "attn.out_proj", A, A, WEIGHT, ALONE, ALONE},
    {L(transition.gate), "mlp.gate_up_proj", "ffn.w_up", ATOM_FF, A, WEIGHT, {0, 2}, {0, 2}},
    {L(transition.up), "mlp.gate_up_proj", "ffn.w_up", ATOM_FF, A, WEIGHT, {1, 2}, {1, 2}},
    {L(transition.down), "mlp.down_proj", "ffn.w_down", A, ATOM_FF, WEIGHT, ALONE, ALONE},
};

#define BA "attn_blocks.%d."
#define BT "transition_blocks.%d."
#define LN "layers.%d."
#define ADAPTIVE(member, name, old)                                                                \
    {T(member.norm), LN name ".cond_norm", old "adaln.s_scale", TOKEN, NONE, OLD_BARE, ALONE,      \
     ALONE},                                                                                       \
    {T(member.gate), LN name ".gate_proj", old "adaln.s_gate", TOKEN, TOKEN, BOTH, ALONE, ALONE},  \
    {T(member.shift), LN name ".shift_proj", old "adaln.s_shift", TOKEN, TOKEN, WEIGHT, ALONE,     \
     ALONE}
static const struct source token_layer[] = {
    ADAPTIVE(before_attention, "input_layernorm", BA),
    ADAPTIVE(before_transition, "post_attention_layernorm", BT),
    {T(q), LN "self_attn.q_proj", BA "q_proj", TOKEN, TOKEN, BOTH, ALONE, ALONE},
    {T(k), LN "self_attn.k_proj", BA "kv_proj", TOKEN, TOKEN, WEIGHT, ALONE, {0, 2}},
    {T(v), LN "self_attn.v_proj", BA "kv_proj", TOKEN, TOKEN, WEIGHT, ALONE, {1, 2}},
    {T(gate), LN "self_attn.gate_proj", BA "g_proj", TOKEN, TOKEN, WEIGHT, ALONE, ALONE},
    {T(out), LN "self_attn.o_proj", BA "out_proj", TOKEN, TOKEN, WEIGHT, ALONE, ALONE},
    {T(attention_gate), LN "attn_gate", BA "out_gate", TOKEN, TOKEN, BOTH, ALONE, ALONE},
    {T(transition_gate), LN "mlp_gate", BT "output_gate", TOKEN, TOKEN, BOTH, ALONE, ALONE},
    {T(pair_norm), LN "pair_norm", BA "pair_norm", C, NONE, BOTH, ALONE, ALONE},
    {T(bias), LN "pair_bias_proj", BA "pair_bias_proj", HEADS, C, WEIGHT, ALONE, ALONE},
    {T(transition.gate), LN "mlp.gate_up_proj", BT "lin_swish", TOKEN_FF, TOKEN, WEIGHT, {0, 2},
     {0, 2}},
    {T(transition.up), LN "mlp.gate_up_proj", BT "lin_swish", TOKEN_FF, TOKEN, WEIGHT, {1, 2},
     {1, 2}},
    {T(transition.down), LN "mlp.down_proj", BT "lin_out", TOKEN, TOKEN_FF, WEIGHT, ALONE, ALONE},
};

static const struct source confidence[] = {
    {H(boundaries), "confidence_head.boundaries", NULL, BOUNDARIES, NONE, BARE, ALONE, ALONE},
    {H(distances), "confidence_head.dist_bin_pairwise_embed", NULL, DISTANCES, C, WEIGHT, ALONE,
     ALONE},
    {H(pair_norm), CI "pair_norm", "confidence_head.z_norm", C, NONE, BOTH, ALONE, ALONE},
    {H(single_norm), CI "single_inputs_norm", "confidence_head.s_inputs_norm", INPUTS, NONE, BOTH,
     ALONE, ALONE},
    {H(row), CI "single_to_pair", "confidence_head.s_to_z", C, INPUTS, WEIGHT, ALONE, ALONE},
    {H(column), CI "single_to_pair_transpose", "confidence_head.s_to_z_transpose", C, INPUTS,
     WEIGHT, ALONE, ALONE},
    {H(product_row), CI "single_to_pair_prod_in1", "confidence_head.s_to_z_prod_in1", C, INPUTS,
     WEIGHT, ALONE, ALONE},
    {H(product_column), CI "single_to_pair_prod_in2", "confidence_head.s_to_z_prod_in2", C, INPUTS,
     WEIGHT, ALONE, ALONE},
    {H(product_out), CI "single_to_pair_prod_out", "confidence_head.s_to_z_prod_out", C, C, WEIGHT,
     ALONE, ALONE},
    {H(pool), "confidence_head.row_attention_pooling.attn_proj", NULL, ONE, C, WEIGHT, ALONE,
     ALONE},
    {H(pooled), "confidence_head.row_attention_pooling.out_proj", NULL, SINGLE, C, WEIGHT, ALONE,
     ALONE},
    {H(level_norm), "confidence_head.plddt_layernorm", "confidence_head.plddt_ln", SINGLE, NONE,
     BOTH, ALONE, ALONE},
    {H(errors_norm), "confidence_head.pae_layernorm", "confidence_head.pae_ln", C, NONE, BOTH,
     ALONE, ALONE},
    {H(distance_errors_norm), "confidence_head.pde_layernorm", "confidence_head.pde_ln", C, NONE,
     BOTH, ALONE, ALONE},
    {H(errors), "confidence_head.pae_head", NULL, ERRORS, C, WEIGHT, ALONE, ALONE},
    {H(distance_errors), "confidence_head.pde_head", NULL, DISTANCE_ERRORS, C, WEIGHT, ALONE,
     ALONE},
};
/* clang-format on */

/* Names of tensors that no result here needs, as they begin; the authors' files have dead ones. */
static const char *const unused[] = {
    "confidence_head.resolved_",
    "confidence_head.s_norm.",
    "confidence_head.s_inputs_to_single.",
    "confidence_head.s_input_to_s.",
    "esmc.lm_head.",
    "esmc.sequence_head.",
};

/* Tensors that open() reads, and that no weight stands for. */
static const char *const read_once[] = {
    "language_model.layer_weights",
    "language_model.base_z_combine",
    "parcae.log_state_decay",
    "parcae_log_a",
    "parcae.log_delta",
    "parcae_log_delta",
    "parcae.input_matrix_continuous",
    "parcae_b_cont",
    "confidence_head.plddt_weight",
};

/* ---- opening ---- */

struct binder {
    struct bi_model *m;
    const struct esmfold2 *f;
    int64_t dims[DIMS];
    struct bioinfer_error *err;
};

/* Binds a tensor, and its bias. */
static int bind(const struct binder *b, const struct source *s, struct prefix prefix, int layer,
                void *base)
{
    static const char *const endings[] = {".weight", ".bias"};
    struct bi_model *m = b->m;
    const bool old = b->f->old;
    const char *before = old ? prefix.old : prefix.name;
    const char *name = old && s->old ? s->old : s->name;
    const struct part part = old ? s->old_part : s->part;
    const bool bare = s->parts == BARE || (s->parts == OLD_BARE && old);
    int st = 0;
    *(struct esmfold2_linear *)(void *)((char *)base + s->at) = (struct esmfold2_linear){-1, -1};
    for (int bias = 0; !st && bias < (s->parts == BOTH ? 2 : 1); bias++) {
        const char *pattern = bi_arena_printf(&m->arena, "%s%s%s", before, name,
                                              bare ? "" : endings[bias]);
        const char *file = pattern ? bi_model_name(m, "", pattern, layer) : NULL;
        struct bi_binding binding = {.at = s->at + (bias ? offsetof(struct esmfold2_linear, b) : 0),
                                     .canonical = file,
                                     .prefix = "",
                                     .file = file,
                                     .rows = b->dims[s->rows],
                                     .columns = bias || s->columns == NONE ? 0
                                                                           : b->dims[s->columns]};
        const struct bi_tensor *t = file ? bi_checkpoint_find(m->cp, file) : NULL;
        if (!file)
            return bi_fail(b->err, BIOINFER_NOMEM, "%s: names", m->cp->path);
        if (part.of && t && (t->rank != 2 || t->shape[0] != (uint64_t)(part.of * binding.rows)))
            return bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: %llu rows, expected %lld",
                           m->cp->path, t->name, (unsigned long long)(t->rank ? t->shape[0] : 0),
                           (long long)(part.of * binding.rows));
        if (part.of) {
            binding.row_first = (uint64_t)(part.at * binding.rows);
            binding.row_block = binding.row_step = (uint64_t)binding.rows;
        }
        st = bi_model_bind(m, &binding, layer, base, b->err);
    }
    return st;
}

static int bind_all(const struct binder *b, const struct source *s, size_t n, struct prefix prefix,
                    int layer, void *base)
{
    int st = 0;
    for (size_t i = 0; !st && i < n; i++)
        st = bind(b, &s[i], prefix, layer, base);
    return st;
}

/* Adds to both names of a prefix. */
static struct prefix within(const struct binder *b, struct prefix prefix, const char *name,
                            const char *old)
{
    struct bi_arena *arena = &b->m->arena;
    const struct prefix made = {bi_arena_printf(arena, "%s%s", prefix.name, name),
                                bi_arena_printf(arena, "%s%s", prefix.old, old)};
    return made.name && made.old ? made : (struct prefix){"", ""};
}

/* Binds n layers of a stack of pairs. */
static int bind_pairs(const struct binder *b, struct prefix prefix, int64_t n,
                      struct esmfold2_pair_layer **layers)
{
    const struct prefix of = within(b, prefix, "layers.%d.", "blocks.%d.");
    const struct prefix out = within(b, of, "tri_mul_out.", "tri_mul_out._engine.");
    const struct prefix in = within(b, of, "tri_mul_in.", "tri_mul_in._engine.");
    const struct prefix transition = within(b, of, "pair_transition.", "pair_transition.");
    int st = 0;
    if (!(*layers = bi_arena_calloc(&b->m->arena, (size_t)n + 1, sizeof **layers)))
        return bi_fail(b->err, BIOINFER_NOMEM, "%s: layers", b->m->cp->path);
    for (int i = 0; !st && i < n; i++) {
        struct esmfold2_pair_layer *layer = &(*layers)[i];
        if (!(st = bind_all(b, triangle, BI_COUNT(triangle), out, i, &layer->outgoing)) &&
            !(st = bind_all(b, triangle, BI_COUNT(triangle), in, i, &layer->incoming)))
            st = bind_all(b, pair_layer_transition, BI_COUNT(pair_layer_transition), transition, i,
                          &layer->transition);
    }
    return st;
}

static int bind_atoms(const struct binder *b, struct prefix prefix,
                      struct esmfold2_atom_layer *layers)
{
    const struct prefix of = within(b, prefix, "layers.%d.", "atom_transformer.blocks.%d.");
    int st = 0;
    for (int i = 0; !st && i < b->f->size[ESMFOLD2_N_ATOM_LAYERS]; i++) {
        layers[i].transition.norm = (struct esmfold2_linear){-1, -1};
        st = bind_all(b, atom_layer, BI_COUNT(atom_layer), of, i, &layers[i]);
    }
    return st;
}

static int bind_diffusion(const struct binder *b, struct esmfold2_diffusion *d)
{
    const struct prefix none = {"", ""}, atoms = {S "atom_encoder.", SOLD "atom_encoder."};
    const struct prefix tokens = {S "token_transformer.", SOLD "token_transformer."};
    const struct prefix of_pair = {SC "pair_transition_%d.", SCOLD "z_transitions.%d."};
    const struct prefix of_single = {SC "single_transition_%d.", SCOLD "s_transitions.%d."};
    const int64_t n = b->f->size[ESMFOLD2_TOKEN_LAYERS];
    int st = bind_all(b, diffusion, BI_COUNT(diffusion), none, 0, d);
    for (int i = 0; !st && i < 2; i++)
        if (!(st = bind_all(b, pair_transition, BI_COUNT(pair_transition), of_pair, i,
                            &d->pair_transition[i])))
            st = bind_all(b, single_transition, BI_COUNT(single_transition), of_single, i,
                          &d->single_transition[i]);
    if (st || (st = bind_all(b, encoder, BI_COUNT(encoder), atoms, 0, &d->encoder)) ||
        (st = bind_all(b, to_token, BI_COUNT(to_token), atoms, 0, &d->encoder)) ||
        (st = bind_atoms(b, atoms, d->encoder.layers)) ||
        (st = bind_atoms(b, (struct prefix){S "atom_decoder.", SOLD "atom_decoder."}, d->decoder)))
        return st;
    if (!(d->layers = bi_arena_calloc(&b->m->arena, (size_t)n, sizeof *d->layers)))
        return bi_fail(b->err, BIOINFER_NOMEM, "%s: layers", b->m->cp->path);
    for (int i = 0; !st && i < n; i++) {
        d->layers[i].transition.norm = (struct esmfold2_linear){-1, -1};
        st = bind_all(b, token_layer, BI_COUNT(token_layer), tokens, i, &d->layers[i]);
    }
    return st;
}

static int bind_confidence(const struct binder *b, struct esmfold2_confidence *h)
{
    const struct prefix trunk = {"confidence_head.folding_trunk.",
                                 "confidence_head.folding_trunk."};
    const int st = bind_all(b, confidence, BI_COUNT(confidence), (struct prefix){"", ""}, 0, h);
    return st ? st : bind_pairs(b, trunk, b->f->size[ESMFOLD2_CONFIDENCE], &h->layers);
}

/* The last layer changes pairs alone. */
static int bind_alignment(const struct binder *b, struct esmfold2_alignment *a)
{
    const struct prefix all = {"msa_encoder.", "msa_encoder."};
    const struct prefix of = within(b, all, "layers.%d.", "blocks.%d.");
    const struct prefix transition = within(b, of, "msa_transition.", "msa_transition.");
    const int64_t n = b->f->size[ESMFOLD2_ALIGNED_LAYERS];
    int st;
    if (!n)
        return 0;
    if (!(a->layers = bi_arena_calloc(&b->m->arena, (size_t)n, sizeof *a->layers)))
        return bi_fail(b->err, BIOINFER_NOMEM, "%s: layers", b->m->cp->path);
    st = bind_all(b, alignment, BI_COUNT(alignment), all, 0, a);
    for (int i = 0; !st && i < n; i++)
        if (!(st = bind_all(b, outer_mean, BI_COUNT(outer_mean), of, i, &a->layers[i])) &&
            i + 1 < n && !(st = bind_all(b, averaging, BI_COUNT(averaging), of, i, &a->layers[i])))
            st = bind_all(b, aligned_transition, BI_COUNT(aligned_transition), transition, i,
                          &a->layers[i].transition);
    return st ? st : bind_pairs(b, all, n, &a->pairs);
}

/* The values of a vector or a matrix, [rows, columns] or [rows], which must be finite. */
static int read_all(const struct binder *b, const char *name, const char *old, int64_t rows,
                    int64_t columns, float **values)
{
    const struct bi_checkpoint *cp = b->m->cp;
    const char *file = b->f->old ? old : name;
    const struct bi_tensor *t = bi_checkpoint_find(cp, file);
    int st;
    if (!t || t->rank < 1 || t->shape[0] != (uint64_t)rows ||
        t->n_elements != (uint64_t)(rows * columns))
        return bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: missing, or not [%lld, %lld]", cp->path,
                       file, (long long)rows, (long long)columns);
    if ((st = bi_model_read(b->m, t, values, b->err)))
        return st;
    for (int64_t i = 0; i < rows * columns; i++)
        if (!isfinite((*values)[i]))
            return bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: number %lld is %g", cp->path, file,
                           (long long)i, (double)(*values)[i]);
    b->m->n_parameters += rows * columns;
    return 0;
}

/* Adds a weight of values that are made here, in the model's arena. */
static int add_made(const struct binder *b, const char *name, float *values, int64_t rows,
                    int64_t columns, struct esmfold2_linear *to)
{
    to->b = -1;
    to->w = bi_model_weight(b->m,
                            &(struct bi_weight){.name = name,
                                                .values = values,
                                                .rank = columns ? 2 : 1,
                                                .shape = {rows, columns ? columns : 1}},
                            b->err);
    return to->w < 0 ? to->w : 0;
}

/* The loop's decay exp(-delta exp(log_state_decay)), and its input matrix times delta row by row,
 * delta = log(1 + exp(log_delta)). */
static int make_loop(const struct binder *b, struct esmfold2 *f)
{
    const int64_t c = f->size[ESMFOLD2_PAIR];
    float *decay, *log_delta, *input;
    int st;
    if ((st = read_all(b, "parcae.log_state_decay", "parcae_log_a", c, 1, &decay)) ||
        (st = read_all(b, "parcae.log_delta", "parcae_log_delta", c, 1, &log_delta)) ||
        (st = read_all(b, "parcae.input_matrix_continuous", "parcae_b_cont", c, c, &input)))
        return st;
    for (int64_t i = 0; i < c; i++) {
        const double x = (double)log_delta[i];
        const double delta = x > 30 ? x : log1p(exp(x));
        decay[i] = (float)exp(-delta * exp((double)decay[i]));
        for (int64_t k = 0; k < c; k++)
            input[i * c + k] = (float)(delta * (double)input[i * c + k]);
    }
    st = add_made(b, "decay", decay, c, 0, &f->decay);
    return st ? st : add_made(b, "input", input, c, c, &f->input);
}

/* The shares of the stem's levels: a softmax of what the file has. */
static int make_mix(const struct binder *b, struct esmfold2 *f)
{
    const int64_t n = bi_esmc_layers(f->stem) + 1;
    double top = -INFINITY, total = 0;
    const int st = read_all(b, "language_model.layer_weights", "language_model.base_z_combine", n,
                            1, &f->mix);
    for (int64_t i = 0; !st && i < n; i++)
        top = fmax(top, (double)f->mix[i]);
    for (int64_t i = 0; !st && i < n; i++)
        total += exp((double)f->mix[i] - top);
    for (int64_t i = 0; !st && i < n; i++)
        f->mix[i] = (float)(exp((double)f->mix[i] - top) / total);
    return st;
}

/* The matrices of pLDDT, one for each place in a token, turned: bins of all places are rows. */
static int make_levels(const struct binder *b, struct esmfold2 *f)
{
    const int64_t s = f->size[ESMFOLD2_SINGLE], bins = f->size[ESMFOLD2_LEVEL_BINS];
    const int64_t places = f->size[ESMFOLD2_TOKEN_ATOMS];
    float *read, *made;
    static const char name[] = "confidence_head.plddt_weight";
    const struct bi_tensor *t = bi_checkpoint_find(b->m->cp, name);
    int st;
    if (t && (t->rank != 3 || t->shape[1] != (uint64_t)s))
        return bi_fail(b->err, BIOINFER_MISMATCH, "%s: %s: expected [%lld, %lld, %lld]",
                       b->m->cp->path, name, (long long)places, (long long)s, (long long)bins);
    if ((st = read_all(b, name, name, places, s * bins, &read)))
        return st;
    if (!(made = bi_arena_calloc(&b->m->arena, (size_t)(places * bins * s), sizeof *made)))
        return bi_fail(b->err, BIOINFER_NOMEM, "%s: pLDDT", b->m->cp->path);
    for (int64_t p = 0; p < places; p++)
        for (int64_t k = 0; k < bins; k++)
            for (int64_t i = 0; i < s; i++)
                made[(p * bins + k) * s + i] = read[(p * s + i) * bins + k];
    return add_made(b, "levels", made, places * bins, s, &f->confidence.levels);
}

static bool is_known(const struct bi_model *m, const struct bi_tensor *t)
{
    const size_t n = strlen(t->name);
    for (size_t i = 0; i < BI_COUNT(unused); i++)
        if (!strncmp(t->name, unused[i], strlen(unused[i])))
            return true;
    for (size_t i = 0; i < BI_COUNT(read_once); i++)
        if (!strcmp(t->name, read_once[i]))
            return true;
    for (size_t k = 0; k < m->n_weights; k++)
        if (m->weights[k].tensor == t)
            return true;
    return n > 13 && !strcmp(t->name + n - 13, "._extra_state");
}

static int check_names(const struct bi_model *m, struct bioinfer_error *err)
{
    for (size_t i = 0; i < m->cp->n_tensors; i++)
        if (!is_known(m, &m->cp->tensors[i]))
            return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: no tensor of ESMFold2", m->cp->path,
                           m->cp->tensors[i].name);
    return 0;
}

static const char *const marks[2] = {"parcae.log_state_decay", "parcae_log_a"};

bool esmfold2_recognise(const struct bi_checkpoint *cp)
{
    return bi_checkpoint_find(cp, marks[0]) || bi_checkpoint_find(cp, marks[1]);
}

/* The layers of the trunk that are there, which config.json must not count otherwise. */
static int count_trunk(struct bi_model *m, struct esmfold2 *f, struct bioinfer_error *err)
{
    const int64_t told = f->size[ESMFOLD2_TRUNK];
    const char *pattern = f->old ? "folding_trunk.blocks.%d.pair_transition.norm.weight"
                                 : "folding_trunk.layers.%d.pair_transition.norm.weight";
    int64_t n = 0;
    for (; n <= ESMFOLD2_LAYERS; n++) {
        const char *name = bi_model_name(m, "", pattern, (int)n);
        if (!name)
            return bi_fail(err, BIOINFER_NOMEM, "%s: names", m->cp->path);
        if (!bi_checkpoint_find(m->cp, name))
            break;
    }
    if (n < 1 || n > ESMFOLD2_LAYERS || (told && told != n))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: the trunk has %lld layers, config.json says %lld, expected 1 to %d",
                       m->cp->path, (long long)n, (long long)told, ESMFOLD2_LAYERS);
    f->size[ESMFOLD2_TRUNK] = n;
    return 0;
}

int esmfold2_open(struct bi_model *m, struct bioinfer_error *err)
{
    const struct prefix atoms = {"input_embedder.atom_encoder.",
                                 "inputs_embedder.atom_attention_encoder."};
    struct esmfold2 *f = bi_arena_calloc(&m->arena, 1, sizeof *f);
    struct binder b = {.m = m, .f = f, .err = err};
    int st;
    if (!f)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", m->cp->path);
    f->old = !bi_checkpoint_find(m->cp, marks[0]);
    if ((st = read_settings(m, f, err)) || (st = count_trunk(m, f, err)) ||
        (st = esmfold2_open_stem(m, f, err)))
        return st;
    f->stem_width = bi_esmc_width(f->stem);
    count_dims(f, b.dims);
    if ((st = bind_all(&b, once, BI_COUNT(once), (struct prefix){"", ""}, 0, f)) ||
        (st = bind_all(&b, encoder, BI_COUNT(encoder), atoms, 0, &f->atoms)) ||
        (st = bind_all(&b, to_single, BI_COUNT(to_single), atoms, 0, &f->atoms)) ||
        (st = bind_atoms(&b, atoms, f->atoms.layers)) ||
        (st = bind_pairs(&b, (struct prefix){"lm_encoder.", "lm_encoder."},
                         f->size[ESMFOLD2_LM_LAYERS], &f->lm)) ||
        (st = bind_pairs(&b, (struct prefix){"folding_trunk.", "folding_trunk."},
                         f->size[ESMFOLD2_TRUNK], &f->trunk)) ||
        (st = bind_pairs(&b, (struct prefix){"parcae.output_stack.", "parcae_coda."},
                         f->size[ESMFOLD2_CODA], &f->coda)) ||
        (st = bind_alignment(&b, &f->alignment)) || (st = bind_diffusion(&b, &f->diffusion)) ||
        (st = bind_confidence(&b, &f->confidence)) || (st = make_loop(&b, f)) ||
        (st = make_mix(&b, f)) || (st = make_levels(&b, f)) || (st = check_names(m, err)))
        return st;
    m->config = f;
    if ((st = esmfold2_check_distances(m, err)))
        return st;
    m->name = "esmfold2";
    m->width = (int)f->stem_width;
    m->n_layers = (int)bi_esmc_layers(f->stem);
    m->can_include = m->default_include = 0;
    return 0;
}

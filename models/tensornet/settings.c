/* settings.c - reading what a checkpoint of a TensorNet says about itself.
 *
 * Sections: values of both kinds, MatGL, torchmd-net.
 * Source: materialyzeai/matgl:src/matgl/models/_tensornet.py,
 *         torchmd/torchmd-net:torchmdnet/models/model.py */
#include "settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../loaders/chem/molecule.h"
#include "../../loaders/json.h"

enum { MAX_CHANNELS = 4096, MAX_RBF = 1024 };

#define HYPER "hyper_parameters."

/* ---- numbers that lie in tensors ---- */

/* The first n numbers of a small tensor as doubles: a table of float64 keeps its digits. */
static int read_doubles(const struct bi_checkpoint *cp, const struct bi_tensor *t, double *out,
                        size_t n, struct bioinfer_error *err)
{
    float values[256];
    int st = 0;
    if (t->n_elements < n)
        return bi_fail(err, BIOINFER_FORMAT, "%s: %s has %llu numbers, expected %zu", cp->path,
                       t->name, (unsigned long long)t->n_elements, n);
    if (t->dtype == BI_F64 && t->contiguous)
        st = bi_file_read(&cp->files[t->file], t->offset, out, n * sizeof *out, err);
    else
        for (size_t i = 0; i < n && !st; i += BI_COUNT(values)) {
            const size_t k = n - i < BI_COUNT(values) ? n - i : BI_COUNT(values);
            st = bi_tensor_read_f32(cp, t, i, k, values, err);
            for (size_t j = 0; j < k && !st; j++)
                out[i + j] = (double)values[j];
        }
    for (size_t i = 0; i < n && !st; i++)
        if (!isfinite(out[i]))
            st = bi_fail(err, BIOINFER_FORMAT, "%s: %s: number %zu is not finite", cp->path,
                         t->name, i);
    return st;
}

static int read_scalar(const struct bi_checkpoint *cp, const char *name, double *out,
                       struct bioinfer_error *err)
{
    const struct bi_tensor *t = bi_checkpoint_find(cp, name);
    return t ? read_doubles(cp, t, out, 1, err)
             : bi_fail(err, BIOINFER_FORMAT, "%s: no tensor '%s'", cp->path, name);
}

static int check_sizes(const struct bi_checkpoint *cp, const struct bi_tensornet_settings *s,
                       struct bioinfer_error *err)
{
    if (s->channels < 1 || s->channels > MAX_CHANNELS || s->n_layers > BI_TENSORNET_MAX_LAYERS ||
        s->n_rbf < 1 || s->n_rbf > MAX_RBF)
        return bi_fail(err, BIOINFER_LIMIT,
                       "%s: %u channels, %u layers, %u radial functions: at most %d, %d and %d",
                       cp->path, s->channels, s->n_layers, s->n_rbf, MAX_CHANNELS,
                       BI_TENSORNET_MAX_LAYERS, MAX_RBF);
    if (!(s->cutoff > s->cutoff_lower) || !(s->cutoff_lower >= 0) || !(s->cutoff <= 100))
        return bi_fail(err, BIOINFER_FORMAT, "%s: cutoffs of %g and %g angstrom", cp->path,
                       s->cutoff_lower, s->cutoff);
    return 0;
}

/* ---- MatGL ---- */

static int fail_key(const struct bi_checkpoint *cp, const char *key, const char *want,
                    struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: model.json: %s: expected %s", cp->path, key, want);
}

static int json_u32(const struct bi_checkpoint *cp, const struct bi_json *args, const char *key,
                    uint32_t *out, struct bioinfer_error *err)
{
    uint64_t v;
    if (!bi_json_u64(bi_json_get(args, key), &v) || v > UINT32_MAX)
        return fail_key(cp, key, "a count", err);
    *out = (uint32_t)v;
    return 0;
}

/* Settings that change what the network gives and have one value here. */
static int check_fixed(const struct bi_checkpoint *cp, const struct bi_json *args,
                       struct bioinfer_error *err)
{
    static const struct {
        const char *key;
        bool want;
    } flags[] = {{"include_state", false}, {"is_intensive", false}};
    const char *task = bi_json_string(bi_json_get(args, "task_type"));
    uint64_t targets = 0;
    for (size_t i = 0; i < BI_COUNT(flags); i++) {
        bool v = !flags[i].want;
        if (!bi_json_bool(bi_json_get(args, flags[i].key), &v) || v != flags[i].want)
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: model.json: %s is not false: a model of a property, not a force "
                           "field",
                           cp->path, flags[i].key);
    }
    if (!task || strcmp(task, "regression") ||
        !bi_json_u64(bi_json_get(args, "ntargets"), &targets) || targets != 1)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: model.json: not a regression of one number (task_type, ntargets)",
                       cp->path);
    return 0;
}

static int read_rbf(const struct bi_checkpoint *cp, const struct bi_json *args,
                    struct bi_tensornet_settings *s, struct bioinfer_error *err)
{
    const char *type = bi_json_string(bi_json_get(args, "rbf_type"));
    bool smooth = false;
    int st;
    if ((st = json_u32(cp, args, "max_n", &s->max_n, err)) ||
        (st = json_u32(cp, args, "max_l", &s->max_l, err)) ||
        (st = json_u32(cp, args, "num_rbf", &s->n_rbf, err)))
        return st;
    if (type && !strcmp(type, "Gaussian")) {
        s->rbf = BI_RBF_GAUSS_MATGL;
        return bi_json_double(bi_json_get(args, "width"), &s->width) && s->width > 0
                   ? 0
                   : fail_key(cp, "width", "a number above 0", err);
    }
    if (!type || strcmp(type, "SphericalBessel"))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: model.json: rbf_type '%.40s', expected SphericalBessel or Gaussian",
                       cp->path, type ? type : "");
    if (!bi_json_bool(bi_json_get(args, "use_smooth"), &smooth))
        return fail_key(cp, "use_smooth", "true or false", err);
    if (s->max_n > MAX_RBF || s->max_l > MAX_RBF)
        return fail_key(cp, "max_n, max_l", "smaller counts", err);
    s->rbf = smooth ? BI_RBF_BESSEL_SMOOTH : BI_RBF_BESSEL;
    s->n_rbf = smooth ? s->max_n : s->max_n * s->max_l;
    return 0;
}

static int read_elements(const struct bi_checkpoint *cp, const struct bi_json *args,
                         struct bi_tensornet_settings *s, struct bioinfer_error *err)
{
    const struct bi_json *list = bi_json_get(args, "element_types");
    const struct bi_tensor *refs = bi_checkpoint_find(cp, "element_refs.property_offset");
    double offsets[BI_TENSORNET_ELEMENTS];
    int st = 0;
    if (!list || list->type != BI_JSON_ARRAY || !list->n || list->n >= BI_TENSORNET_ELEMENTS)
        return fail_key(cp, "element_types", "a list of elements", err);
    if (refs && refs->n_elements != list->n)
        return bi_fail(err, BIOINFER_FORMAT, "%s: %s has %llu numbers for %zu elements", cp->path,
                       refs->name, (unsigned long long)refs->n_elements, list->n);
    if (refs && (st = read_doubles(cp, refs, offsets, list->n, err)))
        return st;
    s->n_embedded = 0;
    for (const struct bi_json *e = list->first; e; e = e->next) {
        const char *symbol = bi_json_string(e);
        const uint8_t z = symbol ? bi_element_find(symbol, strlen(symbol)) : 0;
        if (!z || s->row[z] >= 0)
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: model.json: element_types: '%.8s' is no element, or there twice",
                           cp->path, symbol ? symbol : "");
        s->reference[z] = refs ? offsets[s->n_embedded] : 0;
        s->row[z] = (int16_t)s->n_embedded++;
    }
    s->has_references = refs != NULL;
    return 0;
}

/* The object of the network: of a Potential, its member "model". */
static int find_network(const struct bi_checkpoint *cp, const struct bi_json **out,
                        struct bioinfer_error *err)
{
    const struct bi_json *kwargs = bi_json_get(cp->config, "kwargs");
    const struct bi_json *network = bi_json_get(kwargs, "model");
    const char *outer = bi_json_string(bi_json_get(cp->config, "@class"));
    const char *inner = bi_json_string(bi_json_get(network, "@class"));
    bool repulsion = false;
    if (!outer || strcmp(outer, "Potential") || !inner)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: model.json: a %.60s, expected a Potential with a TensorNet", cp->path,
                       outer ? outer : "file without @class");
    if (strcmp(inner, "TensorNet"))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: model.json: a potential of the family %.60s, expected TensorNet",
                       cp->path, inner);
    if (bi_json_bool(bi_json_get(kwargs, "calc_repuls"), &repulsion) && repulsion)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: model.json: calc_repuls: a nuclear repulsion beside the network",
                       cp->path);
    *out = network;
    return 0;
}

/* Which of MatGL's networks it is: @module and @model_version of the network say so together, and
 * emb3 is in the state of DGL's alone, whose networks do not read it. Of version 2 all modules
 * compute the same. */
static int read_rule(struct bi_tensornet_settings *s, const struct bi_checkpoint *cp,
                     const struct bi_json *network, struct bioinfer_error *err)
{
    static const struct {
        uint64_t version;
        const char *module;
        enum bi_tensornet_kind kind;
    } rules[] = {{1, "matgl.models._tensornet", BI_TENSORNET_MATGL_1_DGL},
                 {1, "matgl.models._tensornet_dgl", BI_TENSORNET_MATGL_1_DGL},
                 {1, "matgl.models._tensornet_pyg", BI_TENSORNET_MATGL_1_PYG},
                 {1, "matgl.models._tensornetwarp_pyg", BI_TENSORNET_MATGL_1_PYG},
                 {2, "matgl.models._tensornet", BI_TENSORNET_MATGL_2},
                 {2, "matgl.models._tensornet_dgl", BI_TENSORNET_MATGL_2},
                 {2, "matgl.models._tensornet_pyg", BI_TENSORNET_MATGL_2}};
    const char *module = bi_json_string(bi_json_get(network, "@module"));
    const bool emb3 = bi_checkpoint_find(cp, "model.tensor_embedding.emb3.weight") != NULL;
    uint64_t version = 0;
    size_t i = 0;
    if (!bi_json_u64(bi_json_get(network, "@model_version"), &version) || version < 1 ||
        version > 2)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: model.json: TensorNet's @model_version is %llu, expected 1 (MatGL 1.0 "
                       "to 2.1) or 2 (MatGL 2.2 and later)",
                       cp->path, (unsigned long long)version);
    while (i < BI_COUNT(rules) &&
           (rules[i].version != version || !module || strcmp(rules[i].module, module)))
        i++;
    if (i == BI_COUNT(rules))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: model.json: TensorNet's @module is '%.80s' with @model_version %llu: "
                       "neither is MatGL's DGL network (matgl.models._tensornet, _tensornet_dgl) "
                       "nor its PyG network (_tensornet_pyg), which compute different energies",
                       cp->path, module ? module : "absent", (unsigned long long)version);
    s->kind = rules[i].kind;
    if (version == 1 && emb3 != (s->kind == BI_TENSORNET_MATGL_1_DGL))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: model.json's TensorNet is of '%s', but state.pt %s "
                       "tensor_embedding.emb3, which networks of the DGL code alone have",
                       cp->path, module, emb3 ? "has" : "lacks");
    return 0;
}

static int read_matgl(struct bi_tensornet_settings *s, const struct bi_checkpoint *cp,
                      struct bioinfer_error *err)
{
    const struct bi_json *network = NULL, *args;
    const char *text;
    int st = find_network(cp, &network, err);
    if (st || (st = read_rule(s, cp, network, err)))
        return st;
    args = bi_json_get(network, "init_args");
    s->old_layout = true;
    s->prefix = "model.";
    if ((st = check_fixed(cp, args, err)) || (st = read_rbf(cp, args, s, err)) ||
        (st = json_u32(cp, args, "units", &s->channels, err)) ||
        (st = json_u32(cp, args, "nblocks", &s->n_layers, err)) ||
        (st = read_elements(cp, args, s, err)) ||
        (st = read_scalar(cp, "data_mean", &s->mean, err)) ||
        (st = read_scalar(cp, "data_std", &s->std, err)))
        return st;
    if (!bi_json_double(bi_json_get(args, "cutoff"), &s->cutoff))
        return fail_key(cp, "cutoff", "a number", err);
    text = bi_json_string(bi_json_get(args, "activation_type"));
    if (!text || strcmp(text, "swish"))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: model.json: activation_type '%.40s', expected "
                       "swish",
                       cp->path, text ? text : "");
    s->act = BI_TENSORNET_SILU;
    text = bi_json_string(bi_json_get(args, "equivariance_invariance_group"));
    if (!text || (strcmp(text, "O(3)") && strcmp(text, "SO(3)")))
        return fail_key(cp, "equivariance_invariance_group", "O(3) or SO(3)", err);
    s->so3 = text[0] == 'S';
    return check_sizes(cp, s, err);
}

/* ---- torchmd-net ---- */

static const struct bi_meta *hyper(const struct bi_checkpoint *cp, const char *key)
{
    char name[128];
    snprintf(name, sizeof name, HYPER "%s", key);
    return bi_checkpoint_meta(cp, name);
}

static const char *hyper_text(const struct bi_checkpoint *cp, const char *key)
{
    const struct bi_meta *m = hyper(cp, key);
    return m && m->type == BI_META_STRING ? m->text : NULL;
}

static int fail_hyper(const struct bi_checkpoint *cp, const char *key, const char *want,
                      struct bioinfer_error *err)
{
    const struct bi_meta *m = hyper(cp, key);
    const char *got = m && m->type == BI_META_STRING ? m->text : m ? "another value" : "absent";
    return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: " HYPER "%s is %s%.60s%s, expected %s", cp->path,
                   key, m && m->type == BI_META_STRING ? "'" : "", got,
                   m && m->type == BI_META_STRING ? "'" : "", want);
}

static int hyper_u32(const struct bi_checkpoint *cp, const char *key, uint32_t *out,
                     struct bioinfer_error *err)
{
    const struct bi_meta *m = hyper(cp, key);
    if (!m || m->type != BI_META_INT || m->i < 0 || m->i > INT32_MAX)
        return fail_hyper(cp, key, "a count", err);
    *out = (uint32_t)m->i;
    return 0;
}

static int hyper_double(const struct bi_checkpoint *cp, const char *key, double *out,
                        struct bioinfer_error *err)
{
    const struct bi_meta *m = hyper(cp, key);
    if (!m || (m->type != BI_META_INT && m->type != BI_META_FLOAT))
        return fail_hyper(cp, key, "a number", err);
    *out = m->type == BI_META_INT ? (double)m->i : m->f;
    return isfinite(*out) ? 0 : fail_hyper(cp, key, "a finite number", err);
}

/* The index of a word in a list that ends in NULL, -1 where it is not. */
static int index_of(const char *word, const char *const *words)
{
    for (int i = 0; word && words[i]; i++)
        if (!strcmp(word, words[i]))
            return i;
    return -1;
}

static bool starts_with(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Do the settings name a prior, and is it enabled? Atomref alone is computed. */
static int read_prior_names(const struct bi_checkpoint *cp, bool *is_named, bool *enabled,
                            struct bioinfer_error *err)
{
    for (size_t i = 0; i < cp->n_meta; i++) {
        const struct bi_meta *m = &cp->meta[i];
        if (starts_with(m->key, HYPER "prior_model")) {
            *is_named = true;
            if (!strstr(m->key, ".Atomref") &&
                (m->type != BI_META_STRING || strcmp(m->text, "Atomref")))
                return bi_fail(err, BIOINFER_UNSUPPORTED,
                               "%s: %s is '%.60s', expected Atomref or none", cp->path, m->key,
                               m->type == BI_META_STRING ? m->text : "something else");
        }
        if (starts_with(m->key, HYPER "prior_") && bi_ends_with(m->key, ".enable"))
            *enabled = m->type == BI_META_BOOL && m->i;
    }
    return 0;
}

static int find_prior(const struct bi_checkpoint *cp, const struct bi_tensor **table,
                      struct bioinfer_error *err)
{
    *table = NULL;
    for (size_t i = 0; i < cp->n_tensors; i++) {
        const char *name = cp->tensors[i].name;
        if (!starts_with(name, "model.prior_model.") && !starts_with(name, "prior_model."))
            continue;
        if (bi_ends_with(name, ".atomref.weight") && !*table)
            *table = &cp->tensors[i];
        else if (!bi_ends_with(name, ".initial_atomref"))
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: tensor '%s' of a prior: one Atomref alone is computed", cp->path,
                           name);
    }
    return 0;
}

/* Energies of single atoms that the file adds to the network's. */
static int read_prior(struct bi_tensornet_settings *s, const struct bi_checkpoint *cp,
                      struct bioinfer_error *err)
{
    const struct bi_tensor *table;
    bool is_named = false, enabled = true;
    int st = read_prior_names(cp, &is_named, &enabled, err);
    if (st || (st = find_prior(cp, &table, err)))
        return st;
    if (is_named != (table != NULL))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: a prior %s", cp->path,
                       table ? "is stored that " HYPER "prior_model does not name"
                             : "that " HYPER "prior_model names is not stored");
    if (!table || !enabled)
        return 0;
    s->has_references = true;
    return read_doubles(cp, table, s->reference,
                        table->n_elements < BI_TENSORNET_ELEMENTS ? (size_t)table->n_elements
                                                                  : BI_TENSORNET_ELEMENTS,
                        err);
}

static int read_kind(struct bi_tensornet_settings *s, const struct bi_checkpoint *cp,
                     struct bioinfer_error *err)
{
    static const char *const models[] = {"tensornet", "tensornet2", "tensornetv2_alt",
                                         "tensornet-nqe", NULL};
    static const char *const rbfs[] = {"expnorm", "gauss", NULL};
    static const char *const acts[] = {"silu", "ssp", "tanh", "sigmoid", "swish", NULL};
    static const char *const groups[] = {"O(3)", "SO(3)", NULL};
    static const char *const sums[] = {"sum", "add", NULL};
    const int model = index_of(hyper_text(cp, "model"), models);
    const int rbf = index_of(hyper_text(cp, "rbf_type"), rbfs);
    const int act = index_of(hyper_text(cp, "activation"), acts);
    const int group = index_of(hyper_text(cp, "equivariance_invariance_group"), groups);
    if (model < 0)
        return fail_hyper(cp, "model", "tensornet or tensornet2", err);
    if (rbf < 0)
        return fail_hyper(cp, "rbf_type", "expnorm or gauss", err);
    if (act < 0)
        return fail_hyper(cp, "activation", "silu, ssp, tanh or sigmoid", err);
    if (group < 0)
        return fail_hyper(cp, "equivariance_invariance_group", "O(3) or SO(3)", err);
    if (index_of(hyper_text(cp, "reduce_op"), sums) < 0)
        return fail_hyper(cp, "reduce_op", "sum or add", err);
    if (hyper(cp, "box_vecs.0.0"))
        return fail_hyper(cp, "box_vecs.0.0", "none: a cell comes with the frames", err);
    s->kind = model ? BI_TENSORNET_TORCHMD_2 : BI_TENSORNET_TORCHMD;
    s->rbf = rbf ? BI_RBF_GAUSS : BI_RBF_EXPNORM;
    s->act = act == 4 ? BI_TENSORNET_SILU : (enum bi_tensornet_act)act;
    s->so3 = group == 1;
    s->takes_charge = true;
    return 0;
}

/* The order of the 3 F factors: f x 3 + k in every release before 3.0.0, k x F + f from there on.
 * 0.13.0 to 2.6.1 write check_errors, a key that 2.6.2 no longer has; distance.box is in the state
 * from 2.5.0 on. So a file with the box and without the key is 2.6.2's or of 3.0 and later, which
 * nothing else in it tells. */
static int read_order(struct bi_tensornet_settings *s, const struct bi_checkpoint *cp,
                      const char *choice, struct bioinfer_error *err)
{
    const bool key = hyper(cp, "check_errors") != NULL;
    const bool box = bi_checkpoint_find(cp, "model.representation_model.distance.box") != NULL;
    const bool old = key || !box;
    if (choice && strcmp(choice, "old") && strcmp(choice, "new"))
        return bi_fail(err, BIOINFER_INVALID, "factor order '%.40s', expected old or new", choice);
    s->old_layout = choice ? !strcmp(choice, "old") : old;
    s->order = choice ? s->old_layout
                            ? "factors in the old order (torchmd-net before 3.0), as asked"
                            : "factors in the new order (torchmd-net 3.0 and later), as "
                              "asked"
               : key  ? "factors in the old order: check_errors says torchmd-net 0.13 to 2.6.1"
               : old  ? "factors in the old order: without check_errors and distance.box it is of "
                        "torchmd-net before 0.13"
                     : "factors in the new order, but the file does not say: torchmd-net 2.6.2 has "
                       "the old one, 3.0 and later the new one; --factor-order old reads 2.6.2's";
    if (!choice && !old)
        bi_log(
            cp->env, BIOINFER_LOG_NAMED,
            "%s: written by torchmd-net 2.6.2 or by 3.0 and later, which order the factors of a "
            "TensorNet otherwise: read as by 3.0; --factor-order old reads 2.6.2's, new is silent",
            cp->path);
    if (choice && old && !s->old_layout)
        bi_log(
            cp->env, BIOINFER_LOG_NAMED,
            "%s: the file is of torchmd-net before 3.0 (%s), which has the old order of factors; "
            "the new one is asked for",
            cp->path, key ? "check_errors" : "no distance.box");
    return 0;
}

/* The head, and the charges of TensorNet2. */
static int read_head(struct bi_tensornet_settings *s, const struct bi_checkpoint *cp,
                     struct bioinfer_error *err)
{
    const char *head = hyper_text(cp, "output_model");
    const struct bi_tensor *weights;
    double all[(BI_TENSORNET_MAX_LAYERS + 1) * 64];
    char name[64];
    int st = 0;
    s->coulomb = head && !strcmp(head, "ScalarPlusWeightedCoulomb");
    if (!head || (strcmp(head, "Scalar") && (!s->coulomb || s->kind != BI_TENSORNET_TORCHMD_2)))
        return fail_hyper(cp, "output_model",
                          "Scalar, or with tensornet2 ScalarPlusWeightedCoulomb", err);
    if (hyper(cp, "output_mlp_num_layers") &&
        (st = hyper_u32(cp, "output_mlp_num_layers", &s->n_head_layers, err)))
        return st;
    if (s->kind == BI_TENSORNET_TORCHMD)
        return 0;
    if ((st = hyper_u32(cp, "q_dim", &s->q_dim, err)))
        return st;
    if (s->q_dim < 1 || s->q_dim > 64)
        return fail_hyper(cp, "q_dim", "1 to 64", err);
    if (!s->coulomb)
        return 0;
    if (hyper(cp, "coulomb_cutoff") &&
        ((st = hyper_double(cp, "coulomb_cutoff", &s->coulomb_cutoff, err)) ||
         !(s->coulomb_cutoff > 0 && s->coulomb_cutoff <= 1000)))
        return st ? st : fail_hyper(cp, "coulomb_cutoff", "above 0 and at most 1000", err);
    snprintf(name, sizeof name, "%soutput_model.qweights", s->prefix);
    if (!(weights = bi_checkpoint_find(cp, name)))
        return bi_fail(err, BIOINFER_FORMAT, "%s: no tensor '%s'", cp->path, name);
    if ((st = read_doubles(cp, weights, all, (size_t)(s->n_layers + 1) * s->q_dim, err)))
        return st;
    for (uint32_t i = 0; i <= s->n_layers; i++)
        s->q_weights[i] = all[i * s->q_dim];
    return 0;
}

static int read_torchmd(struct bi_tensornet_settings *s, const struct bi_checkpoint *cp,
                        const char *factor_order, struct bioinfer_error *err)
{
    uint32_t max_z = 0;
    int st = read_kind(s, cp, err);
    s->prefix = "model.";
    if (st || (st = read_order(s, cp, factor_order, err)) ||
        (st = hyper_u32(cp, "embedding_dimension", &s->channels, err)) ||
        (st = hyper_u32(cp, "num_layers", &s->n_layers, err)) ||
        (st = hyper_u32(cp, "num_rbf", &s->n_rbf, err)) ||
        (st = hyper_u32(cp, "max_z", &max_z, err)) ||
        (st = hyper_double(cp, "cutoff_lower", &s->cutoff_lower, err)) ||
        (st = hyper_double(cp, "cutoff_upper", &s->cutoff, err)) ||
        (st = check_sizes(cp, s, err)) || (st = read_scalar(cp, "model.mean", &s->mean, err)) ||
        (st = read_scalar(cp, "model.std", &s->std, err)) || (st = read_prior(s, cp, err)))
        return st;
    if (max_z < 2 || max_z > 1000)
        return fail_hyper(cp, "max_z", "2 to 1000", err);
    s->n_embedded = max_z;
    for (uint32_t z = 1; z < max_z && z < BI_TENSORNET_ELEMENTS; z++)
        s->row[z] = (int16_t)z;
    return read_head(s, cp, err);
}

/* ---- both ---- */

static bool is_matgl(const struct bi_checkpoint *cp)
{
    const char *module = bi_json_string(bi_json_get(cp->config, "@module"));
    return module && starts_with(module, "matgl.");
}

static bool is_torchmd(const struct bi_checkpoint *cp)
{
    return hyper_text(cp, "model") && hyper(cp, "embedding_dimension") && hyper(cp, "cutoff_upper");
}

bool bi_tensornet_recognise(const struct bi_checkpoint *cp)
{
    return is_matgl(cp) || is_torchmd(cp);
}

int bi_tensornet_settings_read(struct bi_tensornet_settings *out, const struct bi_checkpoint *cp,
                               const char *factor_order, struct bioinfer_error *err)
{
    struct bi_tensornet_settings s = {.std = 1};
    int st;
    for (int z = 0; z < BI_TENSORNET_ELEMENTS; z++)
        s.row[z] = -1;
    if (!bi_tensornet_recognise(cp))
        return bi_fail(
            err, BIOINFER_UNSUPPORTED,
            "%s: neither MatGL's state.pt with its model.json beside it nor a checkpoint "
            "of torchmd-net",
            cp->path);
    if (is_matgl(cp) && factor_order)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: factor order '%.40s': weights of MatGL have one order alone", cp->path,
                       factor_order);
    st = is_matgl(cp) ? read_matgl(&s, cp, err) : read_torchmd(&s, cp, factor_order, err);
    if (!st)
        *out = s;
    return st;
}

/* settings.c - model_parameters.yml, the settings that DiffDock's training writes beside weights.
 *
 * Sections: values, keys that play no part here, settings that are not computed, networks. */
#include <stdio.h>
#include <string.h>

#include "../../base/buf.h"
#include "net.h"

/* Settings while they are read. */
struct given {
    struct bi_yaml *yaml;
    struct bioinfer_error *err;
};

/* ---- values ---- */

static int wrong(const struct given *g, const struct bi_yaml_entry *e, const char *expected)
{
    return bi_fail(g->err, BIOINFER_FORMAT, "%s: line %llu: %s is '%.40s', expected %s",
                   g->yaml->path, (unsigned long long)e->line, e->key,
                   e->kind == BI_YAML_OTHER ? "of another form" : e->text, expected);
}

/* The entry of a key, marked as used; NULL = it is not there or null. */
static const struct bi_yaml_entry *find(const struct given *g, const char *key)
{
    struct bi_yaml_entry *e = bi_yaml_find(g->yaml, key);
    if (e)
        e->used = true;
    return e && e->kind != BI_YAML_NULL ? e : NULL;
}

static int missing(const struct given *g, const char *key)
{
    return bi_fail(g->err, BIOINFER_FORMAT,
                   "%s: no setting %s: is this the model_parameters.yml of the weights?",
                   g->yaml->path, key);
}

/* *out keeps its value where the key is not there; `needed`: it must be. */
static int take_real(const struct given *g, const char *key, double least, double most, bool needed,
                     double *out)
{
    const struct bi_yaml_entry *e = find(g, key);
    char expected[80];
    if (!e)
        return needed ? missing(g, key) : 0;
    if (e->kind != BI_YAML_NUMBER || !(e->number >= least && e->number <= most)) {
        snprintf(expected, sizeof expected, "a number from %g to %g", least, most);
        return wrong(g, e, expected);
    }
    *out = e->number;
    return 0;
}

static int take_whole(const struct given *g, const char *key, int least, int most, bool needed,
                      int *out)
{
    const struct bi_yaml_entry *e = find(g, key);
    char expected[80];
    if (!e)
        return needed ? missing(g, key) : 0;
    if (e->kind != BI_YAML_NUMBER || !e->whole || !(e->number >= least && e->number <= most)) {
        snprintf(expected, sizeof expected, "a whole number from %d to %d", least, most);
        return wrong(g, e, expected);
    }
    *out = (int)e->number;
    return 0;
}

static int take_flag(const struct given *g, const char *key, bool *out)
{
    const struct bi_yaml_entry *e = find(g, key);
    if (!e)
        return 0;
    if (e->kind != BI_YAML_BOOL)
        return wrong(g, e, "true or false");
    *out = e->flag;
    return 0;
}

/* ---- keys that play no part here ---- */

/* Settings of training and of files, one blank between. */
static const char idle[] =
    " affinity_prediction asyncronous_noise_schedule balance batch_size bond_rotate_prob "
    "cache_creation_id cache_ids_to_combine cache_path chain_cutoff ckpt confidence_dropout "
    "confidence_loss_weight confidence_no_batchnorm confidence_weight config "
    "crossdocking_data_dir cudnn_benchmark data_dir dataloader_drop_last dataset double_val "
    "dropout ema_rate enforce_timesplit fixed_length flexible_sidechains "
    "high_confidence_threshold inf_pocket_cutoff inf_pocket_knowledge inf_sched_alpha "
    "inf_sched_beta inference_earlystop_goal inference_earlystop_metric inference_samples "
    "inference_secondary_earlystop_metric inference_steps lig_transform_type "
    "ligand_descriptions limit_complexes limit_training_complexes log_dir lr lr_start_factor "
    "main_metric main_metric_goal matching_maxiter matching_popsize max_lig_size "
    "max_radius_lig max_receptor_size merge_clusters min_ligand_size minimum_t moad_dir "
    "model_save_frequency multiplicity n_epochs no_relative_pos norm_by_sigma "
    "not_fixed_knn_radius_graph num_conformers num_dataloader_workers num_inference_complexes "
    "num_workers original_model_dir parallel pdbbind_dir pdbsidechain_dir pin_memory "
    "pocket_buffer pocket_cutoff pocket_knowledge pocket_min_size pretrained_score_model "
    "project protein_file protein_path_list randomize_pocket_center remove_pdbbind "
    "restart_ckpt restart_dir restart_lr rmsd_prediction rot_alpha rot_beta rot_weight "
    "run_dir run_name samples_per_complex sampling_alpha sampling_beta scheduler "
    "scheduler_patience skip_matching smiles_path split_path split_test split_train split_val "
    "t_sampling test_sigma_intervals tor_alpha tor_beta tor_weight total_trainset_size "
    "tr_alpha tr_beta tr_only tr_weight train_inference_freq train_multiplicity "
    "train_sampling trainset_limit transfer_weights unroll_clusters use_ema "
    "use_original_conformer_fallback use_original_model_cache val_inference_freq "
    "val_multiplicity w_decay wandb wandb_id ";

static bool is_idle(const char *key)
{
    const size_t n = strlen(key);
    for (const char *at = idle; (at = strstr(at, key)); at++)
        if (at[-1] == ' ' && at[n] == ' ')
            return true;
    return false;
}

/* Names the keys that nothing knows. */
static int tell_unknown(const struct given *g, const struct bi_env *env)
{
    enum { ENOUGH = 400 };
    struct bi_buf text = {.env = env};
    size_t n = 0;
    for (size_t i = 0; i < g->yaml->n; i++) {
        const struct bi_yaml_entry *e = &g->yaml->entries[i];
        if (e->used || is_idle(e->key))
            continue;
        if (text.size < ENOUGH)
            bi_buf_printf(&text, "%s%.60s", n ? ", " : "", e->key);
        else if (text.data[text.size - 1] != '.')
            bi_buf_puts(&text, ", ...");
        n++;
    }
    if (n && bi_buf_text(&text))
        bi_log(env, BIOINFER_LOG_NAMED, "%s: %zu settings are not known and not used: %s",
               g->yaml->path, n, text.data);
    bi_buf_free(&text);
    return n && text.failed ? bi_fail(g->err, BIOINFER_NOMEM, "%s: settings", g->yaml->path) : 0;
}

/* ---- settings that are not computed ---- */

static int refuse(const struct given *g, const struct bi_yaml_entry *e, const char *why)
{
    return bi_fail(g->err, BIOINFER_UNSUPPORTED, "%s: line %llu: %s is '%.40s': %s", g->yaml->path,
                   (unsigned long long)e->line, e->key, e->text, why);
}

static int refuse_others(const struct given *g, enum bi_diffdock_kind kind)
{
    static const struct {
        const char *key;
        bool wanted;
    } flags[] = {{"use_second_order_repr", false},
                 {"depthwise_convolution", false},
                 {"smooth_edges", false},
                 {"odd_parity", false},
                 {"separate_noise_schedule", false},
                 {"asyncronous_noise_schedule", false},
                 {"no_aminoacid_identities", false},
                 {"include_miscellaneous_atoms", false},
                 {"remove_hs", true}};
    static const char *const absent[] = {"esm_embeddings_model", "crop_beyond"};
    const struct bi_yaml_entry *e;
    double weight = 0;
    int st = 0;
    for (size_t i = 0; i < BI_COUNT(flags) && !st; i++) {
        bool flag = flags[i].wanted;
        if (!(st = take_flag(g, flags[i].key, &flag)) && flag != flags[i].wanted)
            st = refuse(g, bi_yaml_find(g->yaml, flags[i].key), "this is not computed");
    }
    for (size_t i = 0; i < BI_COUNT(absent) && !st; i++)
        if ((e = find(g, absent[i])))
            st = refuse(g, e, "this is not computed");
    if (!st && !(st = take_real(g, "atom_confidence_loss_weight", 0, 1e9, false, &weight)) &&
        weight > 0)
        st = refuse(g, find(g, "atom_confidence_loss_weight"),
                    "confidence in single atoms is not computed");
    if (!st && kind != BI_DIFFDOCK_NEW && (e = find(g, "use_old_atom_encoder")) && !e->flag)
        st = refuse(g, e, "weights of these names have the old encoder of atoms");
    if (!st && kind == BI_DIFFDOCK_NEW && (e = find(g, "use_old_atom_encoder")) && e->flag)
        st = refuse(g, e, "weights of these names have the new encoder of atoms");
    if (!st && kind == BI_DIFFDOCK_NEW && (e = find(g, "embed_also_ligand")) && !e->flag)
        st = refuse(g, e, "this is not computed");
    return st;
}

/* ---- networks ---- */

int bi_diffdock_tell(enum bi_diffdock_kind *out, const struct bi_checkpoint *cp,
                     struct bioinfer_error *err)
{
    if (bi_checkpoint_find(cp, "confidence_predictor.0.weight"))
        *out = BI_DIFFDOCK_CONFIDENCE;
    else if (bi_checkpoint_find(cp, "lig_conv_layers.0.fc.0.weight"))
        *out = BI_DIFFDOCK_OLD;
    else if (bi_checkpoint_find(cp, "tr_final_layer.0.weight") &&
             bi_checkpoint_find(cp, "rec_sigma_embedding.0.weight"))
        *out = BI_DIFFDOCK_NEW;
    else
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: no network of DiffDock: there is neither confidence_predictor.0.weight "
                       "nor tr_final_layer.0.weight among its %zu tensors",
                       cp->path, cp->n_tensors);
    return 0;
}

/* Columns of a residue's embedding, by the tensors; the settings say whether there are any. */
static int take_lm(const struct given *g, const struct bi_checkpoint *cp,
                   struct bi_diffdock_settings *s)
{
    static const char *const paths[] = {"esm_embeddings_path", "moad_esm_embeddings_path",
                                        "pdbbind_esm_embeddings_path",
                                        "pdbsidechain_esm_embeddings_path"};
    const char *name = s->kind == BI_DIFFDOCK_NEW
                           ? "rec_node_embedding.additional_features_embedder.weight"
                           : "rec_node_embedding.lm_embedding_layer.weight";
    const struct bi_tensor *t = bi_checkpoint_find(cp, name);
    bool wanted = false;
    for (size_t i = 0; i < BI_COUNT(paths); i++)
        wanted |= find(g, paths[i]) && (s->kind == BI_DIFFDOCK_NEW || !i);
    if (wanted != (t != NULL))
        return bi_fail(g->err, BIOINFER_MISMATCH,
                       "%s: the settings %s embeddings of a language model, and %s has %s%s",
                       g->yaml->path, wanted ? "name" : "name no", cp->path,
                       t ? "a tensor " : "no tensor ", name);
    s->lm_width = 0;
    if (t && t->rank == 2 && t->shape[1] > (uint64_t)s->ns && t->shape[1] < 1 << 16)
        s->lm_width = (int)t->shape[1] - s->ns;
    return 0;
}

/* Outputs of a confidence network: one more than a list has cutoffs, one with a single cutoff. */
static int take_outputs(const struct given *g, struct bi_diffdock_settings *s)
{
    const struct bi_yaml_entry *e = find(g, "rmsd_classification_cutoff");
    s->n_outputs = 1;
    if (e && e->kind == BI_YAML_LIST)
        s->n_outputs = e->n_items < 1000 ? (int)e->n_items + 1 : 1000;
    else if (e && e->kind != BI_YAML_NUMBER)
        return wrong(g, e, "a number or a list of numbers");
    return 0;
}

static int take_noise(const struct given *g, bool needed, struct bi_diffdock_noise *noise)
{
    static const char *const names[] = {"tr_sigma_min",  "tr_sigma_max",  "rot_sigma_min",
                                        "rot_sigma_max", "tor_sigma_min", "tor_sigma_max"};
    bool not_nearest = true;
    int st = 0;
    for (int k = 0; k < 2 * BI_DIFFDOCK_KINDS && !st; k++)
        st = take_real(g, names[k], 1e-4, 1e3, needed,
                       k % 2 ? &noise->high[k / 2] : &noise->low[k / 2]);
    for (int k = 0; k < BI_DIFFDOCK_KINDS && !st && needed; k++)
        if (noise->high[k] <= noise->low[k])
            st = wrong(g, find(g, names[2 * k + 1]), "more than the least noise of its kind");
    if (!st)
        st = take_flag(g, "not_knn_only_graph", &not_nearest);
    noise->nearest_alone = !not_nearest;
    return st;
}

static int take_graphs(const struct given *g, struct bi_diffdock_settings *s,
                       const struct bi_diffdock_noise *noise, bool old)
{
    const bool rates = s->kind == BI_DIFFDOCK_CONFIDENCE;
    int st = take_real(g, "receptor_radius", 0.1, 1e3, true, &s->residues.radius);
    if (!st)
        st = take_whole(g, "c_alpha_max_neighbors", 1, 3000, true, &s->residues.limit);
    if (!st)
        st = take_real(g, "atom_radius", 0.1, 1e3, rates, &s->atoms.radius);
    if (!st)
        st = take_whole(g, "atom_max_neighbors", 1, 3000, rates, &s->atoms.limit);
    s->residues.receives = old;
    s->residues.no_radius = s->atoms.no_radius = noise->nearest_alone;
    return st;
}

static int take_sizes(const struct given *g, struct bi_diffdock_settings *s)
{
    const bool new = s->kind == BI_DIFFDOCK_NEW;
    bool lone = false;
    int st;
    if ((st = take_whole(g, "ns", 1, BI_DIFFDOCK_WIDEST, true, &s->ns)) ||
        (st = take_whole(g, "nv", 1, BI_DIFFDOCK_WIDEST, true, &s->nv)) ||
        (st = take_whole(g, "num_conv_layers", 1, BI_DIFFDOCK_LAYERS, true, &s->n_layers)) ||
        (st = take_whole(g, "num_prot_emb_layers", 0, new ? BI_DIFFDOCK_LAYERS : 0, false,
                         &s->n_embedding_layers)) ||
        (st = take_whole(g, "sh_lmax", new ? 1 : 2, 2, false, &s->lmax)) ||
        (st = take_whole(g, "tp_weights_layers", 2, new ? 3 : 2, false, &s->fc_layers)) ||
        (st = take_flag(g, "reduce_pseudoscalars", &s->reduced)) ||
        (st = take_flag(g, "no_differentiate_convolutions", &s->ungrouped)) ||
        (st = take_flag(g, "no_batch_norm", &s->no_batch_norm)) ||
        (st = take_flag(g, "no_torsion", &s->no_torsion)) ||
        (st = take_whole(g, "sigma_embed_dim", 4, BI_DIFFDOCK_WIDEST - 1, true, &s->time_width)) ||
        (st = take_whole(g, "distance_embed_dim", 2, BI_DIFFDOCK_WIDEST, true,
                         &s->distance_width)) ||
        (st = take_whole(g, "cross_distance_embed_dim", 2, BI_DIFFDOCK_WIDEST, true,
                         &s->cross_width)) ||
        (st = take_real(g, "max_radius", 0.1, 1e3, true, &s->ligand_radius)) ||
        (st = take_real(g, "cross_max_distance", 0.1, 1e4, true, &s->cross_radius)) ||
        (st = take_flag(g, "dynamic_max_cross", &s->dynamic_cross)) ||
        (st = take_flag(g, "scale_by_sigma", &s->scale_by_sigma)) ||
        (st = take_flag(g, "not_fixed_center_conv", &lone)))
        return st;
    /* Where the key is absent the published program takes atom b of the batch for sample b, by
     * mistake; here each edge has its own atom, so that no sample depends on another. */
    s->graph_centre = lone && new;
    return 0;
}

/* The scale of times: embedding_scale counts where the settings name a kind of embedding. */
static int take_time(const struct given *g, struct bi_diffdock_settings *s)
{
    const struct bi_yaml_entry *e = find(g, "embedding_type");
    double scale = 10000;
    int st = take_real(g, "embedding_scale", 1e-3, 1e6, false, &scale);
    if (st)
        return st;
    if (e && strcmp(e->text, "sinusoidal"))
        return refuse(g, e, "sinusoidal is the one that is computed");
    s->time_scale = e ? scale : 10000;
    return 0;
}

int bi_diffdock_settings_read(struct bi_diffdock_settings *out, struct bi_diffdock_noise *noise,
                              const struct bi_env *env, struct bi_yaml *yaml,
                              const struct bi_checkpoint *cp, bool old, struct bioinfer_error *err)
{
    const struct given g = {yaml, err};
    struct bi_diffdock_settings s = {.lmax = 2, .fc_layers = 2, .scale_by_sigma = true};
    struct bi_diffdock_noise unused = {{0}, {0}, false};
    bool all_atoms = false;
    int st = bi_diffdock_tell(&s.kind, cp, err);
    const bool rates = s.kind == BI_DIFFDOCK_CONFIDENCE;
    if (st || (st = take_flag(&g, "all_atoms", &all_atoms)))
        return st;
    if (all_atoms != rates)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: all_atoms is %s, and %s has tensors of a %s network: these are the "
                       "settings of other weights",
                       yaml->path, all_atoms ? "true" : "false", cp->path,
                       rates ? "confidence" : "score");
    if ((st = refuse_others(&g, s.kind)) || (st = take_sizes(&g, &s)) || (st = take_time(&g, &s)) ||
        (st = take_noise(&g, !rates, rates ? &unused : noise)) ||
        (st = take_graphs(&g, &s, noise, old)) || (st = take_lm(&g, cp, &s)) ||
        (st = take_outputs(&g, &s)) || (st = tell_unknown(&g, env)))
        return st;
    *out = s;
    return 0;
}

const struct bi_diffdock_settings *bi_diffdock_settings_of(const struct bi_diffdock *model)
{
    return &model->settings;
}

/* enformer.c - Enformer: 196,608 bases to tracks of 128 bases.
 *
 * x [L, 4] one-hot (A, C, G, T or U; others of IUPAC are zeros), D wide tokens of 2^(S + 1) bases:
 *
 *   cb(x)  = conv(quick_gelu(bn(x))) + b     zeros around the activation, never around x
 *   pool(x): y = x0 softmax(l0, l1) + x1 (1 - ...), l = x W, over pairs of positions, per channel
 *   stem:    x = conv15(x) + b;  x = x + cb1(x);  x = pool(x)
 *   tower, S times:  x = cb5(x);  x = x + cb1(x);  x = pool(x)
 *   layers:  x = x + MHA(ln(x));  x = x + W2 relu(W1 ln(x) + b1) + b2
 *   tail:    central tokens;  e = quick_gelu(cb1(x));  tracks = softplus(e Wh^T + bh)
 *
 * MHA: kernels/rel_attention.h, r = P Wr^T, P [2 n - 1, F]: F / 6 each of exponentials, central
 * masks and gamma densities of |position|, then the same times the sign of the position.
 *
 * Facts that cost others a bug: gelu is x sigmoid(1.702 x); padding follows the activation; only
 * q is scaled, not the biases added to it; and gamma columns are normalised over positions, not
 * over features. The last is known as a rounding matter but is not: the published weights were
 * trained with the former, and the PyTorch package computes the latter unless it is given its
 * table. The table holds float32 results of TensorFlow that no formula here reproduces to the
 * last digit (2e-3 off), so for windows of 1,536 tokens it is asked for. Which of the two weights
 * want is use_tf_gamma of config.json, where the package takes absence for false, but for the
 * published weights, which it knows by their name in the hub, and this file by their tracks.
 *
 * Layout: the PyTorch package's state dict; its aliases under _trunk are read where the
 * canonical names are missing, a leading "enformer." is taken off.
 * Sources: google-deepmind/deepmind-research enformer/; lucidrains/enformer-pytorch.
 *
 * Sections: configuration, positions, opening, graph. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tracks.h"

enum { MAX_STAGES = 12, USUAL_TOKENS = 1536, USUAL_KEPT = 896 };

/* ---- configuration ---- */

struct stage {
    struct bi_conv wide, point; /* wide: of the stem without a norm */
    int pool;
};

struct enformer {
    struct bi_tracks tracks;
    struct stage stage[MAX_STAGES]; /* [0]: the stem */
    int n_stages;
    struct bi_tracks_layers layers;
    struct bi_conv final;
    int bases, positions;
    int64_t n_bins;
    int head_w[BI_TRACKS_HEADS], head_b[BI_TRACKS_HEADS];
};

static const char *const aliases[][2] = {{"stem.", "_trunk.1."},
                                         {"conv_tower.", "_trunk.2."},
                                         {"transformer.", "_trunk.4."},
                                         {"final_pointwise.", "_trunk.6."},
                                         {NULL, NULL}};

static const char *const prefixes[] = {"", "enformer."};

static const char *prefix_of(const struct bi_checkpoint *cp)
{
    for (size_t i = 0; i < BI_COUNT(prefixes); i++) {
        char a[80], b[80];
        snprintf(a, sizeof a, "%sstem.2.to_attn_logits.weight", prefixes[i]);
        snprintf(b, sizeof b, "%s_trunk.1.2.to_attn_logits.weight", prefixes[i]);
        if (bi_checkpoint_find(cp, a) || bi_checkpoint_find(cp, b))
            return prefixes[i];
    }
    return NULL;
}

static bool enformer_recognise(const struct bi_checkpoint *cp)
{
    return prefix_of(cp) != NULL;
}

/* ---- positions ---- */

/* f32 as the references compute it: a + b that rounds, then exp. */
static double gamma_density(int64_t a, double mean, double std)
{
    double c = mean * mean / (std * std), rate = mean / (std * std);
    double log_p = (a ? (c - 1) * log((double)a) : -INFINITY) - rate * (double)a;
    if (!a && c == 1)
        log_p = 0;
    return exp(log_p - (lgamma(c) - c * log(rate)));
}

/* Columns [first, first + k) of rows 0 ... n - 1 by distance: gamma densities, their maximum
 * over positions or, as the PyTorch package has it, over features made 1. */
static int gamma_by_formula(float *half, int64_t width, int64_t k, int64_t n, bool by_feature,
                            const struct bi_env *env)
{
    double *p = bi_calloc(env, (size_t)(n * k), sizeof *p);
    if (!p)
        return BIOINFER_NOMEM;
    for (int64_t a = 0; a < n; a++)
        for (int64_t i = 0; i < k; i++) {
            double start = (double)n / (double)k;
            double mean = k > 1 ? start + (double)i * ((double)n - start) / (double)(k - 1) : start;
            p[a * k + i] = gamma_density(a, mean, (double)n / (2 * (double)k)) + 1e-8;
        }
    for (int64_t a = 0; a < n; a++)
        for (int64_t i = 0; i < k; i++) {
            double most = 0;
            for (int64_t other = 0; other < (by_feature ? k : n); other++)
                most = fmax(most, by_feature ? p[a * k + other] : p[other * k + i]);
            half[a * width + 2 * k + i] = (float)(p[a * k + i] / most);
        }
    bi_free(env, p);
    return 0;
}

/* Finds the table beside the weights; false: it is not there. */
static bool find_table(const struct bi_model *m, char *path, size_t size)
{
    static const char *const names[] = {"tf_gammas.pt", "enformer_tf_gammas.pt"};
    const char *slash = strrchr(m->cp->path, '/');
    int folder = bi_path_is_folder(m->cp->path) ? (int)strlen(m->cp->path)
                 : slash                        ? (int)(slash - m->cp->path)
                                                : 0;
    for (size_t i = 0; i < BI_COUNT(names); i++) {
        snprintf(path, size, "%.*s%s%s", folder, m->cp->path, folder ? "/" : "", names[i]);
        if (bi_path_exists(path))
            return true;
    }
    return false;
}

/* Are these the published weights, which no use_tf_gamma tells and TensorFlow trained? The numbers
 * of their tracks show it: names of files and folders are the user's. */
static bool are_published(const struct bi_model *m)
{
    const struct bi_tracks *t = m->tracks;
    return t->n_heads == 2 && t->heads[0].n_tracks == 5313 && t->heads[1].n_tracks == 1643;
}

/* Decides where gamma densities come from where nobody said it: *how is a formula's name, or a
 * table's, which is in `path`. What no configuration says is logged. */
static int usual_positions(const struct bi_model *m, int64_t n, const char **how, char *path,
                           size_t size, struct bioinfer_error *err)
{
    const struct bi_json *said = bi_json_get(m->cp->config, "use_tf_gamma");
    const bool found = find_table(m, path, size), published = are_published(m);
    bool by_tensorflow = found || published;
    if (said && !bi_json_bool(said, &by_tensorflow))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: use_tf_gamma: expected true or false", m->cp->path);
    *how = !by_tensorflow ? "formula-pt" : n != USUAL_TOKENS ? "formula-tf" : path;
    if (*how == path && !found)
        return bi_fail(err, BIOINFER_NOT_FOUND,
                       "%s: windows of %d tokens need the gamma table: put "
                       "tf_gammas.pt of the package enformer-pytorch beside the weights or name it "
                       "as positions; positions formula-tf or formula-pt do without",
                       m->cp->path, USUAL_TOKENS);
    if (!said)
        bi_log(m->env, BIOINFER_LOG_NAMED,
               "%s: config.json does not say use_tf_gamma: features of positions are %s, as %s; "
               "positions says otherwise",
               m->cp->path, *how,
               published ? "the published weights have these tracks"
               : found   ? "TensorFlow's table lies beside the weights"
                         : "the package enformer-pytorch has it");
    return 0;
}

/* Columns of the table [2 n - 1, k], which is symmetric: its lower half by distance. */
static int gamma_by_table(const struct bi_model *m, const char *path, float *half, int64_t width,
                          int64_t k, int64_t n, struct bioinfer_error *err)
{
    struct bi_checkpoint_options options = {0};
    struct bi_checkpoint *cp = NULL;
    const struct bi_tensor *t;
    int st = bi_checkpoint_open(&cp, m->env, path, &options, err);
    if (st)
        return st;
    t = cp->n_tensors == 1 ? &cp->tensors[0] : NULL;
    if (!t || t->rank != 2 || t->shape[0] != (uint64_t)(2 * n - 1) || t->shape[1] != (uint64_t)k ||
        !bi_dtype_is_loadable(t->dtype))
        st = bi_fail(err, BIOINFER_MISMATCH, "%s: no table of positions [%lld, %lld] alone", path,
                     (long long)(2 * n - 1), (long long)k);
    for (int64_t a = 0; !st && a < n; a++)
        st = bi_tensor_read_f32(cp, t, (uint64_t)((n - 1 + a) * k), (uint64_t)k,
                                half + a * width + 2 * k, err);
    bi_checkpoint_close(&cp);
    return st;
}

/* P [2 n - 1, F] into the model's arena. */
static int make_positions(struct bi_model *m, int64_t n, int64_t width, float **out,
                          struct bioinfer_error *err)
{
    const char *how = m->positions;
    int64_t k = width / 6, half_width = width / 2;
    float *half, *p;
    char path[1024];
    int st;
    if (width < 6 || width % 6)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %lld features of a position, expected a "
                       "multiple of 6",
                       m->cp->path, (long long)width);
    half = bi_calloc(m->env, (size_t)n, (size_t)half_width * sizeof *half);
    p = bi_arena_calloc(&m->arena, (size_t)(2 * n - 1), (size_t)width * sizeof *p);
    if (!half || !p) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: features of positions", m->cp->path);
        goto out;
    }
    for (int64_t a = 0; a < n; a++)
        for (int64_t i = 0; i < k; i++) {
            double most = log2((double)n);
            double life = exp2(3 + (k > 1 ? (double)i * (most - 3) / (double)(k - 1) : 0));
            half[a * half_width + i] = (float)exp(-0.69314718055994530942 / life * (double)a);
            half[a * half_width + k + i] = exp2((double)(i + 1)) - 1 > (double)a;
        }
    if (!how && (st = usual_positions(m, n, &how, path, sizeof path, err)))
        goto out;
    if (!strcmp(how, "formula-tf"))
        st = gamma_by_formula(half, half_width, k, n, false, m->env);
    else if (!strcmp(how, "formula-pt"))
        st = gamma_by_formula(half, half_width, k, n, true, m->env);
    else
        st = gamma_by_table(m, how, half, half_width, k, n, err);
    if (st == BIOINFER_NOMEM)
        bi_fail(err, st, "%s: features of positions", m->cp->path);
    for (int64_t r = 0; !st && r < 2 * n - 1; r++) {
        int64_t at = r - (n - 1), a = at < 0 ? -at : at;
        const float *from = half + a * half_width;
        for (int64_t i = 0; i < half_width; i++) {
            p[r * width + i] = from[i];
            p[r * width + half_width + i] = at < 0 ? -from[i] : at > 0 ? from[i] : 0;
        }
    }
    *out = p;
out:
    bi_free(m->env, half);
    return st;
}

/* ---- opening ---- */

static int open_stage(const struct bi_tracks_source *s, struct stage *y, const char *at, bool stem,
                      int64_t in, struct bioinfer_error *err)
{
    char norm[96], name[96];
    int64_t width;
    int st;
    snprintf(norm, sizeof norm, "%s.0.0", at);
    snprintf(name, sizeof name, stem ? "%s.0" : "%s.0.2", at);
    if ((st = bi_tracks_conv(s, &y->wide, stem ? NULL : norm, name, in, err)))
        return st;
    width = y->wide.out;
    snprintf(norm, sizeof norm, "%s.1.fn.0", at);
    snprintf(name, sizeof name, "%s.1.fn.2", at);
    if ((st = bi_tracks_conv(s, &y->point, norm, name, width, err)))
        return st;
    if (y->point.out != width || y->point.taps != 1)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %s: %lld channels of %lld taps, expected %lld "
                       "of 1",
                       s->model->cp->path, name, (long long)y->point.out, (long long)y->point.taps,
                       (long long)width);
    snprintf(name, sizeof name, "%s.2.to_attn_logits", at);
    return bi_tracks_matrix(s, &y->pool, name, &width, width, err);
}

/* Heads in the file's order, human first. */
static int open_heads(const struct bi_tracks_source *s, struct enformer *e, int64_t width,
                      struct bioinfer_error *err)
{
    struct bi_model *m = s->model;
    struct bi_tracks *t = m->tracks;
    size_t at = strlen(s->prefix);
    for (size_t i = 0; i < m->cp->n_tensors; i++) {
        const char *full = m->cp->tensors[i].name, *name, *end;
        char weight[128];
        int64_t out = 0;
        int k = t->n_heads, st;
        if (strncmp(full, s->prefix, at) || strncmp(full + at, "_heads.", 7))
            continue;
        name = full + at + 7;
        end = strstr(name, ".0.weight");
        if (!end || end[9] || end == name || end - name > 60)
            continue;
        if (k == BI_TRACKS_HEADS)
            return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d heads", m->cp->path,
                           BI_TRACKS_HEADS);
        snprintf(weight, sizeof weight, "_heads.%.*s.0", (int)(end - name), name);
        if ((st = bi_tracks_matrix(s, &e->head_w[k], weight, &out, width, err)))
            return st;
        snprintf(weight, sizeof weight, "_heads.%.*s.0.bias", (int)(end - name), name);
        if ((st = bi_tracks_vector(s, &e->head_b[k], weight, out, err)))
            return st;
        if (!(t->heads[k].name = bi_arena_strndup(&m->arena, name, (size_t)(end - name))))
            return bi_fail(err, BIOINFER_NOMEM, "%s: heads", m->cp->path);
        t->heads[k].n_tracks = (int)out;
        t->n_heads++;
        if (k && !strcmp(t->heads[k].name, "human")) {
            struct bi_tracks_head head = t->heads[0];
            int w = e->head_w[0], b = e->head_b[0];
            t->heads[0] = t->heads[k];
            e->head_w[0] = e->head_w[k];
            e->head_b[0] = e->head_b[k];
            t->heads[k] = head;
            e->head_w[k] = w;
            e->head_b[k] = b;
        }
    }
    return t->n_heads ? 0
                      : bi_fail(err, BIOINFER_MISMATCH, "%s: no head %s_heads.NAME.0.weight",
                                m->cp->path, s->prefix);
}

/* Sizes that follow from the stages. */
static int open_sizes(struct bi_model *m, struct enformer *e, struct bioinfer_error *err)
{
    struct bi_tracks *t = m->tracks;
    int64_t token = (int64_t)1 << e->n_stages, usual = USUAL_TOKENS * token, kept;
    const struct bi_json *target = bi_json_get(m->cp->config, "target_length");
    double given = 0;
    int st = bi_config_int(m, "seq_length", 1, 1 << 24, &usual, err);
    if (st < 0 || (st = bi_tracks_window(m, token, 1, BI_TRACKS_MOST, usual, err)))
        return st;
    t->reach = e->stage[0].wide.taps / 2;
    for (int i = 1; i < e->n_stages; i++)
        t->reach += e->stage[i].wide.taps / 2 << i;
    kept = t->n_tokens == USUAL_TOKENS ? USUAL_KEPT : t->n_tokens;
    if (bi_json_double(target, &given) && given >= 1 && given <= 1 << 24)
        kept = (int64_t)given;
    else if (given != 0 && given != -1)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: target_length is '%.40s', expected "
                       "-1 or a number of bins",
                       m->cp->path, target->text);
    else if (given == -1)
        kept = t->n_tokens;
    if (kept > t->n_tokens) { /* a shorter window than the weights were made for */
        if (!m->window)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: config.json: target_length is %lld, a "
                           "window has %lld tokens",
                           m->cp->path, (long long)kept, (long long)t->n_tokens);
        kept = t->n_tokens;
    }
    e->n_bins = kept;
    return 0;
}

static int enformer_open(struct bi_model *m, struct bioinfer_error *err)
{
    struct enformer *e = bi_arena_calloc(&m->arena, 1, sizeof *e);
    struct bi_tracks_source s = {
        .model = m, .prefix = prefix_of(m->cp), .aliases = aliases, .norm_eps = 1e-5};
    float *positions = NULL;
    int64_t width = 4;
    int st = 0;
    if (!e)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", m->cp->path);
    m->config = e;
    m->tracks = &e->tracks;
    m->name = "enformer";
    for (; !st && e->n_stages < MAX_STAGES; e->n_stages++) {
        char at[32] = "stem";
        if (e->n_stages)
            snprintf(at, sizeof at, "conv_tower.%d", e->n_stages - 1);
        if (e->n_stages && !bi_tracks_find(&s, "%s.0.2.weight", at))
            break;
        st = open_stage(&s, &e->stage[e->n_stages], at, !e->n_stages, width, err);
        width = e->stage[e->n_stages].wide.out;
    }
    if (st || (st = open_sizes(m, e, err)) ||
        (st = bi_tracks_layers(&s, &e->layers, width, 1e-5f, err)) ||
        (st = bi_tracks_conv(&s, &e->final, "final_pointwise.1.0", "final_pointwise.1.2", width,
                             err)) ||
        (st = open_heads(&s, e, e->final.out, err)) || (st = bi_tracks_bases(&s, &e->bases, err)) ||
        (st = make_positions(m, m->tracks->n_tokens, e->layers.n_features, &positions, err)))
        return st;
    m->tracks->n_features = 1;
    m->tracks->batches = true;
    m->tracks->features[0] = (struct bi_feature){"tokens", 1, width};
    bi_tracks_bins(m->tracks, m->tracks->token_size, e->n_bins,
                   (m->tracks->n_tokens - e->n_bins) / 2);
    return bi_tracks_values(&s, &e->positions, "positions", 2, 2 * m->tracks->n_tokens - 1,
                            e->layers.n_features, positions, err);
}

/* ---- graph ---- */

static void enformer_features(const struct bi_model *m, struct bi_graph *g, bi_value_id bases,
                              bi_value_id *features)
{
    const struct enformer *e = m->config;
    bi_value_id x = bi_embedding(g, bi_model_value(m, g, e->bases), bases);
    for (int i = 0; i < e->n_stages; i++) {
        const struct stage *y = &e->stage[i];
        x = bi_tracks_conv_block(m, g, x, &y->wide, i ? BI_NORM_ACT_QUICK_GELU : BI_NORM_ACT_NONE);
        x = bi_add(g, x, bi_tracks_conv_block(m, g, x, &y->point, BI_NORM_ACT_QUICK_GELU));
        x = bi_pair_pool(g, x, bi_matmul(g, x, bi_model_value(m, g, y->pool)));
    }
    features[0] = x;
}

static void enformer_trunk(const struct bi_model *m, struct bi_graph *g,
                           const bi_value_id *features, const struct bi_tracks_trunk *of,
                           bi_value_id *rows)
{
    const struct enformer *e = m->config;
    const struct bi_tracks_head *h = &m->tracks->heads[0]; /* all have these bins */
    const struct bi_tracks_kept crop = {h->first_bin, h->n_bins, of->n_windows, of->kept};
    bi_value_id x = bi_tracks_transformer(m, g, features[0], bi_model_value(m, g, e->positions),
                                          &e->layers, &crop);
    x = bi_tracks_conv_block(m, g, x, &e->final, BI_NORM_ACT_QUICK_GELU);
    rows[0] = bi_norm_act(g, x, BI_NONE, BI_NONE, BI_NORM_ACT_QUICK_GELU, 0);
}

static bi_value_id enformer_head(const struct bi_model *m, struct bi_graph *g,
                                 const bi_value_id *rows, const struct bi_tracks_asked *asked)
{
    const struct enformer *e = m->config;
    return bi_tracks_output(m, g, rows[0], e->head_w, e->head_b, asked);
}

static const struct bi_tracks_def network = {
    .features = enformer_features, .trunk = enformer_trunk, .head = enformer_head};

static int enformer_facts(const struct bi_model *m, struct bi_hash *to)
{
    const struct enformer *e = m->config;
    bi_hash_int(to, "n_stages", e->n_stages);
    bi_hash_int(to, "n_bins", e->n_bins);
    bi_tracks_settings(&e->layers, to);
    return 0;
}

static const struct bi_release releases[] = {{"EleutherAI/enformer-official-rough", "see its page",
                                              "config.json pytorch_model.bin", 0, 1005149571},
                                             {0}};

const struct bi_model_def bi_model_enformer = {
    .name = "enformer",
    .summary = "gene expression and chromatin tracks from 196,608 bases of DNA",
    .default_name = "EleutherAI/enformer-official-rough",
    .letters = BIOINFER_LETTERS_BASES,
    .releases = releases,
    .recognise = enformer_recognise,
    .open = enformer_open,
    .kind = &bi_kind_tracks,
    .def = &network,
    .facts = enformer_facts,
};

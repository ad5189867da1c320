/* model.c - ESMFold2: structures of proteins from single sequences, by ESM C, a trunk of pairs, and
 * diffusion of atoms.
 *
 * biohub/ESMFold2-Fast, MIT, as transformers saves it. c 256 wide, 24 layers, written from a
 * specification and compared with transformers' EsmFold2Model.
 *
 *   stem:  h = W sum over ESM C's levels, by shares, of LN level        each chain by itself
 *   pairs: L = LN(W2 gelu(W1 [d_i d_j, d_i - d_j])), d = W h
 *   token: [mean over its atoms of relu(W layers of atoms), kind, profile, deletions]
 *   z0 = W token_i + W token_j + R, R rows of a table for relative positions
 *   pass:  z = decay z + LN(align(z0) + layers(L keep)) B^T, then the trunk's layers
 *   coda:  pair = layers(z W^T); atoms are drawn on it (diffusion.c) and rated (confidence.c)
 *
 * A layer of pairs: z += triangle products, outgoing, then incoming; z += transition(z).
 *
 * The state z begins with random numbers, and `keep` drops a quarter of L at random in each pass,
 * also outside of training: both are inputs. Layers of the trunk are counted in the file. X is
 * <unk> of ESM C here, not its own X. */
#include <string.h>

#include "../esmc.h"
#include "features.h"
#include "structure.h"

/* ---- the stem ---- */

static void build_stem(const struct esmfold2_graph *b)
{
    const struct bi_fold_shape *shape = b->shape;
    const struct esmfold2 *f = b->f;
    const bi_value_id x = bi_esmc_mix(
        b->model, f->stem, b->g,
        &(struct bi_shape){
            .n_tokens = shape->n_tokens, .n_seqs = shape->n_records, .longest = shape->longest},
        f->mix, esmfold2_value(b, f->level_norm.w), esmfold2_value(b, f->level_norm.b));
    const bi_value_id rows = bi_input(b->g, "rows", BI_I32, BI_AXIS_ROWS, shape->n_rows);
    bi_output_kept(b->g, esmfold2_product(b, bi_select_rows(b->g, x, rows), f->level),
                   ESMFOLD2_KEPT_STEM);
}

/* ---- the trunk ---- */

/* layers(L keep) [G, c] of rows h [T, c] of the stem. */
static bi_value_id meet(const struct esmfold2_graph *b, bi_value_id h, bi_value_id keep)
{
    const struct esmfold2 *f = b->f;
    const int32_t c = (int32_t)f->size[ESMFOLD2_PAIR];
    struct bi_graph *g = b->g;
    const bi_value_id d = esmfold2_product(b, h, f->down), w = esmfold2_value(b, f->meet.w);
    bi_value_id x = bi_matmul(g, d, bi_weight_columns(g, w, c, c));
    bi_value_id y = bi_outer_mul(g, d, d, b->start, b->grid_start);
    esmfold2_begin(b);
    y = esmfold2_put(b, y, bi_matmul(g, esmfold2_rows(b, y), bi_weight_columns(g, w, 0, c)));
    esmfold2_end(b);
    y = bi_outer_add(g, y, bi_add(g, x, esmfold2_value(b, f->meet.b)), bi_scale(g, x, -1), b->start,
                     b->grid_start);
    esmfold2_begin(b);
    x = esmfold2_product(b, bi_gelu(g, esmfold2_rows(b, y)), f->met);
    x = bi_mul(g, esmfold2_norm(b, x, f->met_norm), esmfold2_rows(b, keep));
    y = esmfold2_put(b, y, x);
    esmfold2_end(b);
    return esmfold2_pair_layers(b, y, f->lm, f->size[ESMFOLD2_LM_LAYERS]);
}

/* [T, 451] */
static bi_value_id tokens(const struct esmfold2_graph *b)
{
    const struct esmfold2_atom_encoder *e = &b->f->atoms;
    const bi_value_id c = esmfold2_atom_features(b, e);
    const bi_value_id h = esmfold2_atom_layers(b, c, c, e->layers,
                                               b->f->size[ESMFOLD2_N_ATOM_LAYERS]);
    return bi_add_narrow(b->g, b->tail, esmfold2_to_tokens(b, h, e->to_token));
}

/* R [G, c] */
static bi_value_id positions(const struct esmfold2_graph *b)
{
    return bi_gather_sum(b->g, bi_weight_transposed(b->g, esmfold2_value(b, b->f->positions.w)),
                         b->relations, 1);
}

static bi_value_id pass(const struct esmfold2_graph *b, bi_value_id z)
{
    const struct esmfold2 *f = b->f;
    const struct bi_fold_shape *shape = b->shape;
    const int64_t c = f->size[ESMFOLD2_PAIR];
    struct bi_graph *g = b->g;
    const bi_value_id stem = bi_input_kept(g, ESMFOLD2_KEPT_STEM, BI_AXIS_TOKENS, shape->n_tokens,
                                           c);
    const bi_value_id keep = bi_input_rows(g, "keep", BI_AXIS_GRID, shape->n_grid, c);
    const bi_value_id single = tokens(b);
    bi_value_id l = esmfold2_in_parts(b) ? meet(b, stem, keep) : BI_NONE; /* before x is there */
    bi_value_id x = bi_outer_add(g, positions(b), esmfold2_product(b, single, f->row),
                                 esmfold2_product(b, single, f->column), b->start, b->grid_start);
    bi_value_id sum;
    x = esmfold2_align(b, x, single);
    l = l == BI_NONE ? meet(b, stem, keep) : l;
    esmfold2_begin(b);
    sum = bi_add(g, esmfold2_rows(b, x), esmfold2_rows(b, l));
    z = bi_norm_act(g, esmfold2_rows(b, z), esmfold2_value(b, f->decay.w), BI_NONE,
                    BI_NORM_ACT_NONE, 0);
    z = bi_add(g, z, esmfold2_product(b, esmfold2_norm(b, sum, f->input_norm), f->input));
    z = esmfold2_put(b, x, z);
    esmfold2_end(b);
    return esmfold2_pair_layers(b, z, f->trunk, f->size[ESMFOLD2_TRUNK]);
}

/* Adds the inputs of passes and samples. */
static void add_inputs(struct esmfold2_graph *b)
{
    const int64_t n = b->shape->n_tokens, atoms = b->shape->n_atoms, records = b->shape->n_records;
    const int64_t *size = b->f->size;
    struct bi_graph *g = b->g;
    b->start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, records + 1);
    b->grid_start = bi_input(g, "grid_start", BI_I32, BI_AXIS_SEQS, records + 1);
    b->row_start = bi_input(g, "row_start", BI_I32, BI_AXIS_TOKENS, n + 1);
    b->atom_start = bi_input(g, "atom_start", BI_I32, BI_AXIS_SEQS, records + 1);
    b->token_atoms = bi_input(g, "token_atoms", BI_I32, BI_AXIS_TOKENS, n + 1);
    b->atom_token = bi_input_matrix(g, "atom_token", BI_I32, BI_AXIS_ATOMS, atoms, 1);
    b->atom_place = bi_input_matrix(g, "atom_place", BI_I32, BI_AXIS_ATOMS, atoms, 1);
    b->seen_atom = bi_input_matrix(g, "seen_atom", BI_I32, BI_AXIS_TOKENS, n, 1);
    b->numbers = bi_input_rows(g, "numbers", BI_AXIS_ATOMS, atoms, ESMFOLD2_ATOM_NUMBERS);
    b->codes = bi_input_matrix(g, "codes", BI_I32, BI_AXIS_ATOMS, atoms, ESMFOLD2_ATOM_CODES);
    b->turns = bi_input_rows(g, "turns", BI_AXIS_ATOMS, atoms, size[ESMFOLD2_ATOM_HEAD]);
    b->tail = bi_input_rows(g, "tail", BI_AXIS_TOKENS, n, size[ESMFOLD2_INPUTS]);
    if (b->shape->n_parts > 1)
        b->grid_rows = bi_input(g, "grid_rows", BI_I32, BI_AXIS_GRID, b->shape->n_grid);
    b->relations = bi_input_matrix(g, "relations", BI_I32, BI_AXIS_GRID, b->shape->n_grid,
                                   ESMFOLD2_RELATIONS);
}

/* A sample of atoms, and what it is worth. */
static void build_sample(const struct esmfold2_graph *b)
{
    const struct esmfold2_trunk trunk = {.single = tokens(b),
                                         .pair = bi_input_kept(b->g, ESMFOLD2_KEPT_PAIRS,
                                                               BI_AXIS_GRID, b->shape->n_grid,
                                                               b->f->size[ESMFOLD2_PAIR]),
                                         .positions = positions(b)};
    esmfold2_rate(b, &trunk, esmfold2_sample(b, &trunk));
}

static void build(const struct bi_model *model, struct bi_graph *g,
                  const struct bi_fold_shape *shape)
{
    struct esmfold2_graph b = {.model = model, .f = model->config, .g = g, .shape = shape};
    const bool first = shape->program == BI_FOLD_FIRST || shape->program == BI_FOLD_ONLY;
    const bool last = shape->program == BI_FOLD_LAST || shape->program == BI_FOLD_ONLY;
    const int64_t c = b.f->size[ESMFOLD2_PAIR];
    bi_value_id z;
    if (shape->program == BI_FOLD_STEM) {
        build_stem(&b);
        return;
    }
    add_inputs(&b);
    if (shape->program == BI_FOLD_SAMPLE) {
        build_sample(&b);
        return;
    }
    z = pass(&b, first ? bi_input_rows(g, "state", BI_AXIS_GRID, shape->n_grid, c)
                       : bi_input_kept(g, ESMFOLD2_KEPT_PAIRS, BI_AXIS_GRID, shape->n_grid, c));
    if (last) {
        esmfold2_begin(&b);
        z = esmfold2_put(&b, z, esmfold2_product(&b, esmfold2_rows(&b, z), b.f->readout));
        esmfold2_end(&b);
        z = esmfold2_pair_layers(&b, z, b.f->coda, b.f->size[ESMFOLD2_CODA]);
    }
    bi_output_kept(g, z, ESMFOLD2_KEPT_PAIRS);
}

/* ---- the family ---- */

/* Letters of amino acids that the network has no row for are X, as in the published program. */
static bool token(struct bi_fold_token *to, char letter, int chain, int place)
{
    (void)chain;
    if (letter < 'A' || letter > 'Z')
        return false;
    *to = (struct bi_fold_token){.code = {esmfold2_stem_token(letter), -1},
                                 .number = place,
                                 .atoms = esmfold2_is_known(letter) ? letter : 'X'};
    return true;
}

static void stem_tokens(const struct bi_model *model, const char *letters, int64_t n, int32_t *ids,
                        float *scale)
{
    (void)model;
    ids[0] = BI_ESMC_CLS;
    for (int64_t i = 0; i < n; i++)
        ids[1 + i] = esmfold2_stem_token(letters[i]);
    ids[n + 1] = BI_ESMC_EOS;
    for (int64_t i = 0; i < n + 2; i++)
        scale[i] = 1;
}

static void kept(const struct bi_model *model, struct bi_fold_kept to[BI_FOLD_KEPT])
{
    const struct esmfold2 *f = model->config;
    const struct bi_fold_kept all[BI_FOLD_KEPT] = {
        {ESMFOLD2_KEPT_STEM, BI_AXIS_TOKENS, f->size[ESMFOLD2_PAIR]},
        {ESMFOLD2_KEPT_PAIRS, BI_AXIS_GRID, f->size[ESMFOLD2_PAIR]}};
    memcpy(to, all, sizeof all);
}

static int usual_passes(const struct bi_model *model)
{
    return 1 + (int)((const struct esmfold2 *)model->config)->size[ESMFOLD2_LOOPS];
}

static bool aligns(const struct bi_model *model)
{
    return ((const struct esmfold2 *)model->config)->size[ESMFOLD2_ALIGNED_LAYERS] > 0;
}

static int usual_samples(const struct bi_model *model)
{
    return (int)((const struct esmfold2 *)model->config)->size[ESMFOLD2_SAMPLES];
}

static int usual_points(const struct bi_model *model)
{
    return (int)((const struct esmfold2 *)model->config)->size[ESMFOLD2_STEPS];
}

static int64_t count_steps(const struct bi_model *model, int64_t points)
{
    double levels[BI_FOLD_POINTS + 2];
    return esmfold2_schedule(model->config, points, levels);
}

static int fill_levels(const struct bi_model *model, int64_t points, float *to, int64_t *width,
                       struct bioinfer_error *err)
{
    const struct esmfold2 *f = model->config;
    double levels[BI_FOLD_POINTS + 2];
    const int64_t n = esmfold2_schedule(f, points, levels);
    struct bi_edm_step *steps;
    int st;
    *width = f->size[ESMFOLD2_FOURIER];
    if (!to)
        return 0;
    if (!(steps = bi_calloc(model->env, (size_t)n, sizeof *steps)))
        return bi_fail(err, BIOINFER_NOMEM, "%lld steps", (long long)n);
    esmfold2_plan(f, levels, n, steps);
    st = esmfold2_levels(model, steps, n, to, err);
    bi_free(model->env, steps);
    return st;
}

/* Scores, and pLDDT of atoms. */
static int score(const struct bi_model *model, const struct bi_fold_record *r,
                 const struct bi_fold_rated *rated, float *plddt, struct bi_fold_scores *scores,
                 struct bioinfer_error *err)
{
    const struct esmfold2 *f = model->config;
    const struct bi_counts none = {0};
    const size_t atoms = (size_t)r->n_atoms, tokens_of = (size_t)r->n_tokens;
    const size_t chains = (size_t)r->n_chains;
    char *room = bi_calloc(model->env, 1,
                           (atoms + 2 * chains) * sizeof(double) +
                               (atoms + tokens_of) * sizeof(int32_t));
    double *levels = (double *)(void *)room, *sums = levels + atoms;
    int32_t *token_of = (int32_t *)(void *)(sums + 2 * chains), *seen = token_of + atoms;
    struct esmfold2_scores got;
    if (!room)
        return bi_fail(err, BIOINFER_NOMEM, "scores of %zu atoms", atoms);
    esmfold2_fill(model, r, "atom_token", token_of, &none, 0);
    esmfold2_fill(model, r, "seen_atom", seen, &none, 0);
    esmfold2_score(&(struct esmfold2_sampled){.n_tokens = r->n_tokens,
                                              .n_atoms = r->n_atoms,
                                              .n_chains = r->n_chains,
                                              .bins = f->size[ESMFOLD2_LEVEL_BINS],
                                              .chain = r->chain,
                                              .token = token_of,
                                              .seen = seen,
                                              .places = rated->rows[0],
                                              .levels = rated->rows[1],
                                              .errors = rated->rows[2],
                                              .ld_places = rated->ld[0],
                                              .ld_levels = rated->ld[1],
                                              .ld_errors = rated->ld[2]},
                   levels, sums, NULL, &got);
    for (size_t a = 0; a < atoms; a++)
        plddt[a] = (float)levels[a];
    scores->plddt = got.plddt;
    scores->interface_plddt = got.interface_plddt;
    scores->ptm = scores->rank = got.ptm; /* as published */
    scores->iptm = got.iptm;
    bi_free(model->env, room);
    return 0;
}

static const struct bi_fold_passes passes = {
    .kept = kept, .usual = usual_passes, .tokens = stem_tokens, .in_parts = true};

static const struct bi_fold_atoms atoms = {.names = esmfold2_names,
                                           .aligns = aligns,
                                           .samples = usual_samples,
                                           .points = usual_points,
                                           .steps = count_steps,
                                           .levels = fill_levels,
                                           .fill = esmfold2_fill,
                                           .score = score};

static const struct bi_fold_def fold = {
    .token = token, .build = build, .passes = &passes, .atoms = &atoms};

static int facts(const struct bi_model *model, struct bi_hash *to)
{
    const struct esmfold2 *f = model->config;
    bi_esmc_settings(f->stem, to);
    for (int i = 0; i < ESMFOLD2_SIZES; i++)
        bi_hash_int(to, "size", f->size[i]);
    for (int i = 0; i < ESMFOLD2_REALS; i++)
        bi_hash_real(to, "real", (double)f->real[i]);
    return 0;
}

static const struct bi_release releases[] = {{"biohub/ESMFold2-Fast", "MIT", NULL, 0, 0}, {0}};

const struct bi_model_def bi_model_esmfold2 = {
    .name = "esmfold2",
    .summary = "ESMFold2: structures of proteins, by ESM C and diffusion",
    .default_name = "biohub/ESMFold2-Fast",
    .releases = releases,
    .gpu = true,
    .half = BI_HALF_ASKED, /* nobody looks at kept values for overflows */
    .recognise = esmfold2_recognise,
    .open = esmfold2_open,
    .kind = &bi_kind_fold,
    .def = &fold,
    .facts = facts,
};

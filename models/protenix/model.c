/* model.c - Protenix: structures of complexes of proteins, nucleic acids, ligands and ions.
 *
 * bytedance/Protenix, Apache-2.0 (code and weights), an open model of AlphaFold 3's kind: base
 * v0.5.0 and v1.0.0, v2, mini and tiny. Written from a specification and a statement of it in
 * NumPy, which was compared with the published program.
 *
 *   stem:   inputs of tokens, once (trunk.c)
 *   passes: pairs and single tokens, 10 times or 4 (trunk.c)
 *   sample: atoms out of noise (diffusion.c), and how sure the network is of them (confidence.c)
 *
 * What one program keeps the next ones read (docs/design/complexes.md). */
#include <string.h>

#include "fold.h"
#include "structure.h"

static bi_value_id kept(const struct protenix_graph *b, const char *name, enum bi_axis axis,
                        int64_t n, int64_t width)
{
    return bi_input_kept(b->g, name, axis, n, width);
}

/* Finds the values that the last pass left, or zeros. */
static struct protenix_trunk before(const struct protenix_graph *b, bool first)
{
    const struct bi_fold_shape *s = b->shape;
    const struct protenix *f = b->f;
    struct protenix_trunk t = {
        .inputs = kept(b, PROTENIX_KEPT_INPUTS, BI_AXIS_TOKENS, s->n_tokens, f->inputs)};
    if (first) {
        t.single = bi_fill(b->g, BI_F32, BI_AXIS_TOKENS, s->n_tokens, f->single, 0);
        t.pair = bi_fill(b->g, BI_F32, BI_AXIS_GRID, s->n_grid, f->pair, 0);
    } else {
        t.single = kept(b, PROTENIX_KEPT_SINGLE, BI_AXIS_TOKENS, s->n_tokens, f->single);
        t.pair = kept(b, PROTENIX_KEPT_PAIRS, BI_AXIS_GRID, s->n_grid, f->pair);
    }
    return t;
}

void protenix_build(struct protenix_graph *b)
{
    const int32_t program = b->shape->program;
    struct protenix_trunk t;
    protenix_add_inputs(b);
    if (program == BI_FOLD_STEM) {
        bi_output_kept(b->g, protenix_inputs(b), PROTENIX_KEPT_INPUTS);
        return;
    }
    t = before(b, program == BI_FOLD_FIRST || program == BI_FOLD_ONLY);
    if (program == BI_FOLD_SAMPLE) {
        protenix_rate(b, &t, protenix_sample(b, &t));
        return;
    }
    t = protenix_pass(b, &t);
    bi_output_kept(b->g, t.single, PROTENIX_KEPT_SINGLE);
    bi_output_kept(b->g, t.pair, PROTENIX_KEPT_PAIRS);
}

/* ---- the family ---- */

static void build(const struct bi_model *model, struct bi_graph *g,
                  const struct bi_fold_shape *shape)
{
    struct protenix_graph b = {.model = model,
                               .f = model->config,
                               .g = g,
                               .shape = shape,
                               .slots = {{1, false}, {PROTENIX_TEMPLATES - 1, false}}};
    protenix_build(&b);
}

/* The letters of proteins that a record may have. */
static bool token(struct bi_fold_token *to, char letter, int chain, int place)
{
    (void)chain;
    *to = (struct bi_fold_token){.code = {-1, -1}, .number = place, .atoms = letter};
    return letter && strchr("ARNDCQEGHILKMFPSTWYVX", letter);
}

static void list_kept(const struct bi_model *model, struct bi_fold_kept to[BI_FOLD_KEPT])
{
    const struct protenix *f = model->config;
    to[0] = (struct bi_fold_kept){PROTENIX_KEPT_INPUTS, BI_AXIS_TOKENS, f->inputs};
    to[1] = (struct bi_fold_kept){PROTENIX_KEPT_SINGLE, BI_AXIS_TOKENS, f->single};
    to[2] = (struct bi_fold_kept){PROTENIX_KEPT_PAIRS, BI_AXIS_GRID, f->pair};
    to[3] = (struct bi_fold_kept){NULL, BI_AXIS_FIXED, 0};
}

static int usual_passes(const struct bi_model *model)
{
    return ((const struct protenix *)model->config)->cycles;
}

static bool aligns(const struct bi_model *model)
{
    (void)model;
    return true;
}

static int usual_samples(const struct bi_model *model)
{
    (void)model;
    return 5;
}

static int usual_points(const struct bi_model *model)
{
    return ((const struct protenix *)model->config)->steps;
}

static int64_t count_steps(const struct bi_model *model, int64_t points)
{
    (void)model;
    return points;
}

static int fill_levels(const struct bi_model *model, int64_t points, float *to, int64_t *width,
                       struct bioinfer_error *err)
{
    const struct protenix *f = model->config;
    const struct bi_sampler s = protenix_sampler(f);
    double levels[BI_FOLD_POINTS + 1];
    struct bi_edm_step *steps;
    int st;
    *width = f->fourier;
    if (!to)
        return 0;
    if (!(steps = bi_calloc(model->env, (size_t)points, sizeof *steps)))
        return bi_fail(err, BIOINFER_NOMEM, "%lld steps", (long long)points);
    protenix_schedule(points, levels);
    protenix_plan(f, levels, points, steps);
    st = bi_sampler_levels(&s, model, steps, points, to, err);
    bi_free(model->env, steps);
    return st;
}

static const struct bi_fold_passes passes = {
    .kept = list_kept, .usual = usual_passes, .samples_read_stem = true};

static const struct bi_fold_atoms sampled = {.aligns = aligns,
                                             .samples = usual_samples,
                                             .points = usual_points,
                                             .steps = count_steps,
                                             .levels = fill_levels,
                                             .fill = protenix_fold_fill,
                                             .score = protenix_fold_score};

static const struct bi_fold_complexes complexes = {.make = protenix_fold_make,
                                                   .free = protenix_fold_free};

static const struct bi_fold_def fold = {
    .token = token, .build = build, .passes = &passes, .atoms = &sampled, .complexes = &complexes};

static int facts(const struct bi_model *model, struct bi_hash *to)
{
    const struct protenix *f = model->config;
    const int64_t sizes[] = {f->single, f->pair,    f->inputs,  f->atom,   f->atom_pair,
                             f->token,  f->aligned, f->fourier, f->cycles, f->steps};
    for (size_t i = 0; i < BI_COUNT(sizes); i++)
        bi_hash_int(to, "size", sizes[i]);
    bi_hash_real(to, "gamma", (double)f->gamma);
    bi_hash_real(to, "step_scale", (double)f->step_scale);
    return 0;
}

/* The authors' own server has it, not the hub. */
static const struct bi_release releases[] = {
    {"bytedance/Protenix/protenix_base_default_v1.0.0", "Apache-2.0", NULL, 0, 0}, {0}};

const struct bi_model_def bi_model_protenix = {
    .name = "protenix",
    .summary = "Protenix: structures of proteins, nucleic acids, ligands, ions",
    .releases = releases,
    .obtained = "the authors' repository (bytedance/Protenix) names its checkpoints, such as "
                "protenix_base_default_v1.0.0.pt: give the file with --weights",
    .half = BI_HALF_ASKED,
    .recognise = protenix_recognise,
    .open = protenix_open,
    .kind = &bi_kind_fold,
    .def = &fold,
    .facts = facts,
};

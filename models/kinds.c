/* kinds.c - how a fingerprint sees the models of each kind. */
#include "kinds.h"

#include "affinity.h"
#include "design.h"
#include "energy.h"
#include "fold.h"
#include "head.h"
#include "programs.h"

const void *bi_family_def(const struct bi_model_def *family, const struct bi_family_kind *kind)
{
    return family->kind == kind ? family->def : NULL;
}

/* ---- graphs ---- */

/* Sizes that tasks set in a graph before the family writes it. */
struct sizes {
    int64_t n_tokens, n_seqs, n_rows, longest, n_grid;
};

static int graph_new(struct bi_graph **g, const struct bi_model *m, struct sizes s,
                     struct bioinfer_error *err)
{
    int st = bi_graph_new(g, m->env, err);
    if (st)
        return st;
    (*g)->n_tokens = s.n_tokens;
    (*g)->n_seqs = s.n_seqs;
    (*g)->n_rows = s.n_rows;
    (*g)->longest = s.longest;
    (*g)->n_grid = s.n_grid;
    return 0;
}

/* Adds a graph that a family has written, and frees it. */
static int add_graph(struct bi_hash *to, const struct bi_model *m, const char *name,
                     struct bi_graph **g, struct bioinfer_error *err)
{
    struct bi_buf text = {.env = m->env};
    int st = bi_graph_verify(*g, err);
    if (!st) {
        bi_graph_dce(*g);
        bi_graph_canonical(*g, &text);
        if (bi_buf_text(&text))
            bi_hash_text(to, name, text.data);
        else
            st = bi_fail(err, BIOINFER_NOMEM, "%s: fingerprint", m->cp->path);
    }
    bi_buf_free(&text);
    bi_graph_free(g);
    return st;
}

/* ---- sequences ---- */

static int add_sequences(struct bi_hash *to, const struct bi_model *m, const char *name,
                         const struct bi_wants *wants, struct bioinfer_error *err)
{
    const bool rows = wants->include & BI_WANT_ROW_LOGITS;
    const struct bi_shape shape = {16, 1, 16, rows ? 16 : 0};
    struct bi_graph *g;
    int st = graph_new(&g, m, (struct sizes){16, 1, rows ? 16 : 0, 16, 0}, err);
    if (st)
        return st;
    ((const struct bi_sequences_def *)m->def->def)->build(m, g, &shape, wants);
    return add_graph(to, m, name, &g, err);
}

/* Adds how residues become tokens, and the scales of these. */
static void add_tokens(struct bi_hash *to, const struct bi_model *m)
{
    const struct bi_sequences_def *def = m->def->def;
    const int32_t probe[] = {0, m->mask_id < 0 ? 1 : m->mask_id, 1, 2, 3, 4, 5, 6};
    float scale[BI_COUNT(probe)];
    for (int i = 0; i < m->vocab_size; i++)
        bi_hash_text(to, "token", m->tokens[i]);
    for (int c = 0; c < 128; c++) {
        bi_hash_int(to, "letter", 1 + c);
        bi_hash_int(to, "is", 1 + def->residue_token(m, (char)c));
    }
    bi_hash_int(to, "n_prefix", m->n_prefix);
    bi_hash_int(to, "n_suffix", m->n_suffix);
    bi_hash_int(to, "mask_id", 1 + m->mask_id);
    bi_hash_int(to, "max_tokens", m->max_tokens);
    bi_hash_int(to, "has_decoder", m->has_decoder);
    bi_hash_int(to, "before_id", m->before_id);
    if (def->token_scale) {
        def->token_scale(m, probe, BI_COUNT(probe), scale);
        for (size_t i = 0; i < BI_COUNT(probe); i++)
            bi_hash_real(to, "scale", 1 + (double)scale[i]);
    }
}

static int sequences(const struct bi_model *m, struct bi_hash *to, struct bioinfer_error *err)
{
    const struct bi_wants embed = {.include = m->can_include | (m->head ? BIOINFER_HEAD : 0),
                                   .layers = &m->n_layers,
                                   .n_layers = 1};
    const struct bi_wants score = {.include = BI_WANT_ROW_LOGITS};
    int st = add_sequences(to, m, "embed", &embed, err);
    add_tokens(to, m);
    if (!st && m->can_include & BIOINFER_LOGITS)
        st = add_sequences(to, m, "score", &score, err);
    return st;
}

const struct bi_family_kind bi_kind_sequences = {"sequences", BIOINFER_FAMILY_SEQUENCES,
                                                 "takes no sequences of residues", sequences};

/* ---- tracks ---- */

static void add_head(struct bi_hash *to, const struct bi_tracks_head *h)
{
    bi_hash_text(to, "head", h->name);
    bi_hash_text(to, "output", h->output);
    bi_hash_text(to, "organism", h->organism);
    bi_hash_int(to, "trunk", h->trunk);
    bi_hash_int(to, "n_tracks", h->n_tracks);
    bi_hash_int(to, "kind", (int)h->kind);
    bi_hash_int(to, "whole", h->whole);
    bi_hash_int(to, "reverse_shift", h->reverse_shift);
    bi_hash_int(to, "bin_size", h->bin_size);
    bi_hash_int(to, "n_bins", h->n_bins);
    bi_hash_int(to, "first_bin", h->first_bin);
    bi_hash_int(to, "side", h->side);
    bi_hash_int(to, "row_width", h->row_width);
    bi_hash_int(to, "n_classes", h->n_classes);
    bi_hash_int(to, "n_features", h->n_features);
}

/* Adds the graph of a window to all tracks of the heads of a trunk. */
static int add_trunk(struct bi_hash *to, const struct bi_model *m, int trunk,
                     struct bioinfer_error *err)
{
    const struct bi_tracks *t = m->tracks;
    const struct bi_tracks_program window = {
        .to = BI_AT_TRACKS, .n_windows = 1, .n_tokens = t->n_tokens};
    struct bi_tracks_asked asked[BI_TRACKS_HEADS];
    struct bi_tracks_shape shape = {.asked = asked};
    struct bi_graph *g;
    int st;
    for (int i = 0; i < t->n_heads; i++)
        if (t->heads[i].trunk == trunk)
            asked[shape.n_asked++] = (struct bi_tracks_asked){i, NULL, t->heads[i].n_tracks};
    if (!shape.n_asked)
        return 0;
    if ((st = graph_new(&g, m, (struct sizes){t->n_tokens, 1, 0, t->n_tokens, 0}, err)))
        return st;
    bi_tracks_write(m, g, &window, &shape);
    return add_graph(to, m, "tracks", &g, err);
}

static int tracks(const struct bi_model *m, struct bi_hash *to, struct bioinfer_error *err)
{
    const struct bi_tracks *t = m->tracks;
    int most = 0, st = 0;
    bi_hash_int(to, "window", t->window);
    bi_hash_int(to, "token_size", t->token_size);
    bi_hash_int(to, "reach", t->reach);
    bi_hash_int(to, "n_tokens", t->n_tokens);
    bi_hash_int(to, "halo", t->halo);
    bi_hash_int(to, "halo_anew", t->halo_anew);
    bi_hash_int(to, "batches", t->batches);
    for (int i = 0; i < t->n_features; i++) {
        bi_hash_text(to, "feature", t->features[i].name);
        bi_hash_int(to, "rows", t->features[i].rows);
        bi_hash_int(to, "width", t->features[i].width);
    }
    for (int i = 0; i < t->n_heads; i++) {
        add_head(to, &t->heads[i]);
        most = t->heads[i].trunk > most ? t->heads[i].trunk : most;
    }
    for (int k = 0; !st && k <= most; k++)
        st = add_trunk(to, m, k, err);
    return st;
}

const struct bi_family_kind bi_kind_tracks = {"tracks", BIOINFER_FAMILY_TRACKS, "gives no tracks",
                                              tracks};

/* ---- designs ---- */

static int add_pass(struct bi_hash *to, const struct bi_model *m, enum bi_design_pass pass,
                    int32_t rescore, struct bioinfer_error *err)
{
    const struct bi_design_shape shape = {.n_tokens = 16,
                                          .n_structures = 1,
                                          .longest = 16,
                                          .n_samples = 1,
                                          .n_sampled = 16,
                                          .n_terms = 1,
                                          .n_cells = 1,
                                          .pass = pass,
                                          .rescore = rescore};
    struct bi_graph *g;
    int st = graph_new(&g, m, (struct sizes){16, 1, 16, 16, 0}, err);
    if (st)
        return st;
    ((const struct bi_design_def *)m->def->def)->build(m, g, &shape);
    return add_graph(to, m, "design", &g, err);
}

static int design(const struct bi_model *m, struct bi_hash *to, struct bioinfer_error *err)
{
    const struct bi_design_facts *f = m->design;
    int st = 0;
    for (int i = 0; i < m->vocab_size; i++)
        bi_hash_text(to, "token", m->tokens[i]);
    bi_hash_int(to, "k", f->k);
    bi_hash_int(to, "ca_only", f->ca_only);
    bi_hash_int(to, "labels", f->labels);
    bi_hash_int(to, "ligand_atoms", f->ligand_atoms);
    bi_hash_int(to, "run_py", f->run_py);
    bi_hash_int(to, "torch_draws", f->torch_draws);
    for (int rescore = 0; !st && rescore < 2; rescore++)
        st = add_pass(to, m, BI_PASS_SAMPLE, rescore, err);
    st = st ? st : add_pass(to, m, BI_PASS_SCORE, 0, err);
    return st ? st : add_pass(to, m, BI_PASS_UNCONDITIONAL, 0, err);
}

const struct bi_family_kind bi_kind_design = {"design", BIOINFER_FAMILY_DESIGN,
                                              "designs no sequences", design};

/* ---- affinities ---- */

static int affinity(const struct bi_model *m, struct bi_hash *to, struct bioinfer_error *err)
{
    const struct bi_affinity_shape shape = {.n_complexes = 1,
                                            .n_tokens = 16,
                                            .longest = 16,
                                            .n_rows = 16,
                                            .n_atoms = 1,
                                            .n_bonds = 1,
                                            .degree = 1};
    const struct sizes sizes = {16 * BI_FRAMES_OF_TOKEN, BI_FRAMES_OF_TOKEN, 16, 16, 0};
    const struct bi_affinity_def *def = m->def->def;
    struct bi_graph *g;
    int st;
    bi_hash_text(to, "unit", def->unit);
    if ((st = graph_new(&g, m, sizes, err)))
        return st;
    def->build(m, g, &shape);
    return add_graph(to, m, "affinity", &g, err);
}

const struct bi_family_kind bi_kind_affinity = {"affinity", BIOINFER_FAMILY_AFFINITY,
                                                "rates no complexes", affinity};

/* ---- energies ---- */

static int add_moves(struct bi_hash *to, const struct bi_model *m, const char *name,
                     int32_t gradient, int32_t moves, struct bioinfer_error *err)
{
    const struct bi_energy_shape shape = {
        .n_atoms = 16, .n_frames = 1, .n_edges = 1, .gradient = gradient, .moves = moves};
    struct bi_graph *g;
    int st = graph_new(&g, m, (struct sizes){16, 1, 1, 16, 0}, err);
    if (st)
        return st;
    ((const struct bi_energy_def *)m->def->def)->build(m, g, &shape);
    return add_graph(to, m, name, &g, err);
}

static int energy(const struct bi_model *m, struct bi_hash *to, struct bioinfer_error *err)
{
    const struct bi_energy_def *def = m->def->def;
    const struct bi_energy_facts *f = def->facts(m);
    int st;
    bi_hash_real(to, "cutoff", f->cutoff);
    bi_hash_real(to, "mean", f->mean);
    bi_hash_real(to, "std", f->std);
    bi_hash_int(to, "takes_charge", f->takes_charge);
    bi_hash_real(to, "by_charge", f->by_charge);
    for (int z = 0; z < BI_ENERGY_ELEMENTS; z++)
        if (f->code[z] >= 0) {
            bi_hash_int(to, "element", 1 + z);
            bi_hash_int(to, "code", 1 + f->code[z]);
        }
    bi_hash_reals(to, "reference", f->reference, BI_ENERGY_ELEMENTS);
    if ((st = add_moves(to, m, "energy", 0, BI_MOVES_NOT, err)) ||
        (st = add_moves(to, m, "forces", 1, BI_MOVES_NOT, err)) ||
        (st = add_moves(to, m, "md", 1, BI_MOVES_DYNAMICS, err)))
        return st;
    return add_moves(to, m, "relax", 1, BI_MOVES_FIRE, err);
}

const struct bi_family_kind bi_kind_energy = {"energy", BIOINFER_FAMILY_ENERGY,
                                              "gives no energies of atoms", energy};

/* ---- structures ---- */

/* Adds the tokens of all letters, each at two places of two chains. */
static void add_letters(struct bi_hash *to, const struct bi_fold_def *def)
{
    for (int letter = 'A'; letter <= 'Z'; letter++)
        for (int i = 0; i < 4; i++) {
            struct bi_fold_token token;
            if (!def->token(&token, (char)letter, i / 2, i % 2))
                continue;
            bi_hash_int(to, "letter", letter);
            for (int k = 0; k < BI_FOLD_CODES; k++)
                bi_hash_int(to, "code", 1 + token.code[k]);
            bi_hash_int(to, "number", token.number);
            bi_hash_int(to, "atoms", token.atoms);
        }
}

static int add_fold(struct bi_hash *to, const struct bi_model *m, enum bi_fold_program program,
                    int32_t uncorrected, struct bioinfer_error *err)
{
    const bool atoms = ((const struct bi_fold_def *)m->def->def)->atoms != NULL;
    const bool complexes = ((const struct bi_fold_def *)m->def->def)->complexes != NULL;
    const struct bi_fold_shape shape = {.n_records = 1,
                                        .n_tokens = 16,
                                        .longest = 16,
                                        .n_grid = 256,
                                        .n_rows = 16,
                                        .n_atoms = atoms ? 128 : 0,
                                        .n_aligned = complexes ? 16 : 0,
                                        .n_steps = atoms,
                                        .uncorrected = uncorrected,
                                        .program = (int32_t)program};
    struct bi_graph *g;
    int st = graph_new(&g, m, (struct sizes){16, 1, 16, 16, 256}, err);
    if (st)
        return st;
    ((const struct bi_fold_def *)m->def->def)->build(m, g, &shape);
    return add_graph(to, m, uncorrected ? "fold uncorrected" : "fold", &g, err);
}

/* Adds the programs of a family that folds in passes, and how chains are joined. */
static int add_passes(struct bi_hash *to, const struct bi_model *m, const struct bi_fold_passes *p,
                      struct bioinfer_error *err)
{
    int st = 0;
    const bool atoms = ((const struct bi_fold_def *)m->def->def)->atoms != NULL;
    for (int i = BI_FOLD_STEM; !st && i <= (atoms ? BI_FOLD_SAMPLE : BI_FOLD_ONLY); i++)
        st = add_fold(to, m, (enum bi_fold_program)i, 0, err);
    for (int letter = 'A'; !st && p->tokens && letter <= 'Z'; letter++) {
        const char text = (char)letter;
        int32_t ids[3];
        float scale[3];
        p->tokens(m, &text, 1, ids, scale);
        for (int k = 0; k < 3; k++) {
            bi_hash_int(to, "id", ids[k]);
            bi_hash_real(to, "scale", (double)scale[k]);
        }
    }
    bi_hash_int(to, "linker", p->linker);
    bi_hash_int(to, "n_linkers", p->n_linkers);
    bi_hash_int(to, "chain_step", p->chain_step);
    bi_hash_int(to, "passes", p->usual(m));
    return st;
}

static int structures(const struct bi_model *m, struct bi_hash *to, struct bioinfer_error *err)
{
    const struct bi_fold_def *def = m->def->def;
    int st = def->passes ? add_passes(to, m, def->passes, err)
                         : add_fold(to, m, BI_FOLD_WHOLE, 0, err);
    if (!st && def->correction)
        st = add_fold(to, m, BI_FOLD_WHOLE, 1, err);
    bi_hash_int(to, "n_chains", def->n_chains);
    bi_hash_int(to, "shortest_chain", def->shortest_chain);
    bi_hash_int(to, "longest_chain", def->longest_chain);
    bi_hash_real(to, "least", def->least);
    add_letters(to, def);
    return st;
}

const struct bi_family_kind bi_kind_fold = {"fold", BIOINFER_FAMILY_FOLD, "folds no chains",
                                            structures};

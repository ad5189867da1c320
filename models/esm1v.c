/* esm1v.c - ESM-1v: five protein language models of 650M parameters for effects of mutations.
 *
 * The encoder of esm.c over 33 symbols with learned positions, as in ESM-1b, and a norm behind
 * the embedding where the file has one. At most 1,022 residues. The five differ in the seed of
 * their training, and the published score of a mutation is the mean over them of each one's
 * score; a run computes one.
 *
 * facebook/esm1v_t33_650M_UR90S_1 to _5; esm1v_t33_650M_UR90S_1.pt to _5.pt of fair-esm. A file
 * does not say which of the two models with learned positions it is: what is found by its
 * content alone goes by the name of the first of them in models.inc, with the same numbers. */
#include "esm.h"

static const struct bi_esm_size sizes[] = {{33, 1280, "esm1v_t33_650M"}, {0, 0, NULL}};

static const struct bi_esm_kind kind = {.name = "esm1v",
                                        .sizes = sizes,
                                        .learned = true,
                                        .token_dropout = true,
                                        .eps = 1e-5f,
                                        .n_suffix = 1};

static bool esm1v_recognise(const struct bi_checkpoint *cp)
{
    struct bi_esm_facts facts;
    return bi_esm_facts(cp, &facts) && facts.vocab < 100 && facts.learned && !facts.gated;
}

static int esm1v_open(struct bi_model *model, struct bioinfer_error *err)
{
    return bi_esm_open_residues(model, &kind, err);
}

static const struct bi_release releases[] = {
    {"facebook/esm1v_t33_650M_UR90S_1", "MIT", NULL, 652356534, 2609426136},
    {"facebook/esm1v_t33_650M_UR90S_2", "MIT", NULL, 652356534, 2609426136},
    {"facebook/esm1v_t33_650M_UR90S_3", "MIT", NULL, 652356534, 2609426136},
    {"facebook/esm1v_t33_650M_UR90S_4", "MIT", NULL, 652356534, 2609426136},
    {"facebook/esm1v_t33_650M_UR90S_5", "MIT", NULL, 652356534, 2609426136},
    {0}};

static const struct bi_sequences_def sequences = {
    .build = bi_esm_build,
    .encode = bi_esm_encode,
    .token_scale = bi_esm_token_scale,
    .residue_token = bi_esm_residue_token,
};

const struct bi_model_def bi_model_esm1v = {
    .name = "esm1v",
    .summary = "ESM-1v, five protein language models for effects of mutations",
    .default_name = "facebook/esm1v_t33_650M_UR90S_1",
    .releases = releases,
    .gpu = true,
    .recognise = esm1v_recognise,
    .open = esm1v_open,
    .kind = &bi_kind_sequences,
    .def = &sequences,
    .facts = bi_esm_settings,
};

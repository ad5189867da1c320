/* esm1b.c - ESM-1b: the protein language model of 650M parameters before ESM-2.
 *
 * The encoder of esm.c over 33 symbols, with a learned row for each of 1,024 places added to
 * the embedding and a norm behind that; everything else as in ESM-2. Two places are those of
 * <cls> and <eos>, so a protein of more than 1,022 residues has no result (TOO_LONG): there is
 * no row to add, and the published recipe is to cut it.
 *
 * facebook/esm1b_t33_650M_UR50S; esm1b_t33_650M_UR50S.pt of fair-esm, whose names begin with
 * encoder.sentence_encoder, with its contact regression beside it. */
#include "esm.h"

static const struct bi_esm_size sizes[] = {{33, 1280, "esm1b_t33_650M"}, {0, 0, NULL}};

static const struct bi_esm_kind kind = {.name = "esm1b",
                                        .sizes = sizes,
                                        .learned = true,
                                        .token_dropout = true,
                                        .eps = 1e-5f,
                                        .n_suffix = 1};

static bool esm1b_recognise(const struct bi_checkpoint *cp)
{
    struct bi_esm_facts facts;
    return bi_esm_facts(cp, &facts) && facts.vocab < 100 && facts.learned && !facts.gated;
}

static int esm1b_open(struct bi_model *model, struct bioinfer_error *err)
{
    return bi_esm_open_residues(model, &kind, err);
}

static const struct bi_release releases[] = {
    {"facebook/esm1b_t33_650M_UR50S", "MIT", NULL, 652359094, 2609436376}, {0}};

static const struct bi_sequences_def sequences = {
    .build = bi_esm_build,
    .encode = bi_esm_encode,
    .token_scale = bi_esm_token_scale,
    .residue_token = bi_esm_residue_token,
};

const struct bi_model_def bi_model_esm1b = {
    .name = "esm1b",
    .summary = "ESM-1b protein language model, 650M, at most 1,022 residues",
    .default_name = "facebook/esm1b_t33_650M_UR50S",
    .releases = releases,
    .gpu = true,
    .recognise = esm1b_recognise,
    .open = esm1b_open,
    .kind = &bi_kind_sequences,
    .def = &sequences,
    .facts = bi_esm_settings,
};

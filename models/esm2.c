/* esm2.c - ESM-2: protein language models of 8M to 15B parameters.
 *
 * The encoder of esm.c over 33 symbols: rotary positions, gelu, an output matrix that is the
 * embedding, token dropout, contacts. facebook/esm2_t6_8M_UR50D to esm2_t48_15B_UR50D; the
 * files of fair-esm; what NVIDIA publishes for TransformerEngine. Training crops at 1,024
 * tokens, and longer sequences are computed all the same. */
#include "esm.h"

static const struct bi_esm_size sizes[] = {{6, 320, "esm2_t6_8M"},
                                           {12, 480, "esm2_t12_35M"},
                                           {30, 640, "esm2_t30_150M"},
                                           {33, 1280, "esm2_t33_650M"},
                                           {36, 2560, "esm2_t36_3B"},
                                           {48, 5120, "esm2_t48_15B"},
                                           {0, 0, NULL}};

static const struct bi_esm_kind kind = {
    .name = "esm2", .sizes = sizes, .token_dropout = true, .eps = 1e-5f, .n_suffix = 1};

/* Models of other letters have larger tables. A wrong size is refused by name when it is opened. */
static bool esm2_recognise(const struct bi_checkpoint *cp)
{
    struct bi_esm_facts facts;
    return bi_esm_facts(cp, &facts) && facts.vocab < 100 && !facts.learned && !facts.gated &&
           !bi_checkpoint_find(cp, "esm_s_combine"); /* ESMFold's stem */
}

static int esm2_open(struct bi_model *model, struct bioinfer_error *err)
{
    return bi_esm_open_residues(model, &kind, err);
}

static const struct bi_release releases[] = {
    {"facebook/esm2_t6_8M_UR50D", "MIT", "config.json vocab.txt model.safetensors", 7842894,
     31371576},
    {"facebook/esm2_t12_35M_UR50D", "MIT", "config.json vocab.txt model.safetensors", 33996070,
     135984280},
    {"facebook/esm2_t30_150M_UR50D", "MIT", "config.json vocab.txt model.safetensors", 148799326,
     595197304},
    {"facebook/esm2_t33_650M_UR50D", "MIT", "config.json vocab.txt model.safetensors", 652359642,
     2609438568},
    {"facebook/esm2_t36_3B_UR50D", "MIT",
     "config.json vocab.txt pytorch_model.bin.index.json pytorch_model-00001-of-00002.bin "
     "pytorch_model-00002-of-00002.bin",
     2841635398, 11366541592},
    {"facebook/esm2_t48_15B_UR50D", "MIT", NULL, 15134358438, 60537433752},
    {"tiny", "CC0-1.0 or MIT-0, comes with bioinfer", NULL, 7841867, 15702516},
    {0}};

static const struct bi_sequences_def sequences = {
    .build = bi_esm_build,
    .encode = bi_esm_encode,
    .token_scale = bi_esm_token_scale,
    .residue_token = bi_esm_residue_token,
};

const struct bi_model_def bi_model_esm2 = {
    .name = "esm2",
    .summary = "ESM-2 protein language models, 8M to 15B parameters",
    .default_name = "facebook/esm2_t33_650M_UR50D",
    .releases = releases,
    .gpu = true,
    .trained_residues = 1022,
    .recognise = esm2_recognise,
    .open = esm2_open,
    .kind = &bi_kind_sequences,
    .def = &sequences,
    .facts = bi_esm_settings,
};

/* saprot.c - SaProt: protein language models over pairs of an amino acid and a state of its
 * structure, of 35M and 650M parameters.
 *
 * The encoder of esm.c, rotary, over 446 symbols: <cls>, <pad>, <eos>, <unk>, <mask>, and 441
 * pairs, one of the 20 amino acids or # (masked), then one of the 20 states of foldseek's 3Di
 * alphabet in lower case or # (not known: no structure, or one that is not trusted). A record
 * is a text of pairs, "MdEvVp#pA#": two characters for each residue, and arrays have a row for
 * each pair. Whoever has a structure gets the states from foldseek; without one every second
 * character is #.
 *
 * In a record of amino acids alone the second letter is no state, and the record has no result.
 * So letters keep their case (BIOINFER_LETTERS_PAIRS).
 *
 * westlake-repl/SaProt_35M_AF2, SaProt_650M_AF2, SaProt_650M_PDB: EsmForMaskedLM. Sources:
 * westlake-repl/SaProt utils/foldseek_util.py, model/saprot; huggingface/transformers
 * models/esm. */
#include <string.h>

#include "esm.h"

enum { LETTERS = 21, SPECIALS = 5, VOCAB = SPECIALS + LETTERS * LETTERS };
enum { CLS = 0, PAD = 1, EOS = 2, MASK = 4 };

static const char residues[] = "ACDEFGHIKLMNPQRSTVWY#", states[] = "pynwrqhgdlvtmfsaeikc#";
static const char *const specials[SPECIALS] = {"<cls>", "<pad>", "<eos>", "<unk>", "<mask>"};

static const struct bi_esm_size sizes[] = {
    {12, 480, "saprot_35M"}, {33, 1280, "saprot_650M"}, {0, 0, NULL}};

static const struct bi_esm_kind kind = {
    .name = "saprot", .sizes = sizes, .token_dropout = true, .eps = 1e-5f, .n_suffix = 1};

static bool saprot_recognise(const struct bi_checkpoint *cp)
{
    struct bi_esm_facts facts;
    return bi_esm_facts(cp, &facts) && facts.vocab == VOCAB && !facts.learned && !facts.gated;
}

static int saprot_open(struct bi_model *model, struct bioinfer_error *err)
{
    struct bi_esm *e = bi_arena_calloc(&model->arena, 1, sizeof *e);
    const char **symbols = bi_arena_calloc(&model->arena, VOCAB, sizeof *symbols);
    if (!e || !symbols)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    for (int i = 0; i < VOCAB; i++) {
        const int pair = i - SPECIALS;
        symbols[i] = pair < 0 ? specials[i]
                              : bi_arena_printf(&model->arena, "%c%c", residues[pair / LETTERS],
                                                states[pair % LETTERS]);
        if (!symbols[i])
            return bi_fail(err, BIOINFER_NOMEM, "%s: vocabulary", model->cp->path);
    }
    e->kind = &kind;
    e->symbols = symbols;
    e->vocab = VOCAB;
    e->mask = MASK;
    e->pad = PAD;
    return bi_esm_open(model, e, err);
}

/* Token of a pair; -1 when it is none. */
static int32_t pair_token(char residue, char state)
{
    const char *r = residue ? strchr(residues, residue) : NULL;
    const char *s = state ? strchr(states, state) : NULL;
    return r && s ? (int32_t)(SPECIALS + (r - residues) * LETTERS + (s - states)) : -1;
}

/* A residue without a structure. */
static int saprot_residue_token(const struct bi_model *model, char residue)
{
    (void)model;
    return pair_token(residue, '#');
}

static int bad_pair(const struct bioinfer_record *r, size_t i, struct bioinfer_error *err)
{
    char shown[3] = "";
    for (size_t k = 0; k < 2 && i + k < r->length; k++) {
        const char c = r->sequence[i + k];
        shown[k] = (char)(c >= 32 && c < 127 ? c : '?');
    }
    return bi_fail(
        err, BIOINFER_BAD_RESIDUE,
        "record '%.60s': '%s' at character %zu: expected an amino acid (one of %s) and a "
        "3Di state in lower case (one of %s), read with raw residues",
        r->id, shown, i + 1, residues, states);
}

static int saprot_encode(const struct bi_model *model, const struct bioinfer_record *r, bool raw,
                         struct bi_tokens *out, struct bioinfer_error *err)
{
    static const int32_t mask[] = {MASK};
    (void)raw;
    out->n = 0;
    out->n_mapped = 0;
    if (!bi_grow(model->env, &out->ids, &out->cap, r->length + 2, sizeof *out->ids))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tokens of %zu characters", r->id, r->length);
    out->ids[out->n++] = CLS;
    for (size_t i = 0; i < r->length;) {
        const size_t left = r->length - i;
        const char *at = r->sequence + i;
        int32_t id = left > 1 ? pair_token(at[0], at[1]) : -1;
        size_t len = 2;
        if (id < 0 && at[0] == '<')
            len = bi_model_special(model, mask, 1, at, left, &id);
        if (id < 0)
            return bad_pair(r, i, err);
        out->ids[out->n++] = id;
        i += len;
    }
    out->ids[out->n++] = EOS;
    return 0;
}

static const struct bi_release releases[] = {
    {"westlake-repl/SaProt_35M_AF2", "MIT", NULL, 34194723, 136778892},
    {"westlake-repl/SaProt_650M_AF2", "MIT", NULL, 652888695, 2611554780},
    {"westlake-repl/SaProt_650M_PDB", "MIT", NULL, 652888695, 2611554780},
    {0}};

static const struct bi_sequences_def sequences = {
    .build = bi_esm_build,
    .encode = saprot_encode,
    .token_scale = bi_esm_token_scale,
    .residue_token = saprot_residue_token,
};

const struct bi_model_def bi_model_saprot = {
    .name = "saprot",
    .summary = "SaProt, protein language models over pairs such as Md, Ev, #p",
    .default_name = "westlake-repl/SaProt_650M_AF2",
    .releases = releases,
    .letters = BIOINFER_LETTERS_PAIRS,
    .gpu = true,
    .trained_residues = 1022,
    .recognise = saprot_recognise,
    .open = saprot_open,
    .kind = &bi_kind_sequences,
    .def = &sequences,
    .facts = bi_esm_settings,
};

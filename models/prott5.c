/* prott5.c - T5 encoders over letters: ProtT5-XL-U50, both releases, ProstT5, and their kind.
 *
 * The encoder of t5.c, usually with relu. Every residue is the piece U+2581 and its letter,
 * since the published recipe puts spaces between them. ProstT5 knows two languages and has a
 * token in front that says which: <AA2fold> before residues, <fold2AA> before 3Di states, which
 * are lower-case letters. Sources: agemagician/ProtTrans; mheinzinger/ProstT5.
 *
 * Sections: opening, tokens. */
#include <stdio.h>
#include <string.h>

#include "t5.h"

enum { PROSTT5_VOCAB = 150 };

struct prott5 {
    struct bi_t5 t5;
    int32_t x;
    int32_t to_fold, to_residues; /* ProstT5's tokens in front; -1 = none */
};

/* ---- opening ---- */

/* A vocabulary of letters that do not begin words is another family's. */
static bool prott5_recognise(const struct bi_checkpoint *cp)
{
    return bi_t5_buckets(cp) && !bi_t5_has_piece(cp, "A");
}

/* Every residue is the piece of a word of one letter, every state of ProstT5's 3Di the added token
 * of its lower-case letter. */
static int read_letters(struct bi_model *model, struct prott5 *p, struct bioinfer_error *err)
{
    struct bi_t5 *e = &p->t5;
    static const char space[] = BI_T5_SPACE;
    const size_t n = sizeof space - 1;
    p->to_fold = p->to_residues = -1;
    for (int64_t i = e->vocab; i-- > 0;) { /* a letter's first id */
        const char *piece = model->tokens[i];
        if (!strncmp(piece, space, n) && piece[n] && !piece[n + 1])
            e->letters[(unsigned char)piece[n]] = (int32_t)i;
        else if (piece[0] >= 'a' && piece[0] <= 'z' && !piece[1])
            e->letters[(unsigned char)piece[0]] = (int32_t)i;
        else if (!strcmp(piece, "<AA2fold>"))
            p->to_fold = (int32_t)i;
        else if (!strcmp(piece, "<fold2AA>"))
            p->to_residues = (int32_t)i;
    }
    p->x = e->letters['X'];
    if (e->letters['A'] < 0)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: the vocabulary lacks pieces of single letters: not a model of proteins",
                       model->cp->path);
    if ((p->to_fold < 0) != (p->to_residues < 0) || (p->to_fold < 0 && e->vocab == PROSTT5_VOCAB))
        return bi_fail(err, BIOINFER_NOT_FOUND,
                       "%s: a vocabulary of %lld tokens, of ProstT5: neither "
                       "added_tokens.json nor tokenizer_config.json beside the weights names "
                       "<AA2fold> and <fold2AA>",
                       model->cp->path, (long long)e->vocab);
    return 0;
}

static int prott5_open(struct bi_model *model, struct bioinfer_error *err)
{
    struct prott5 *p = bi_arena_calloc(&model->arena, 1, sizeof *p);
    const struct bi_t5 *e = &p->t5;
    int st;
    if (!p)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    if ((st = bi_t5_open(model, &p->t5, err)) || (st = read_letters(model, p, err)))
        return st;
    model->n_prefix = p->to_fold >= 0;
    model->name = e->n_layers == 24 && e->width == 1024 && e->ffn == 16384
                      ? p->to_fold >= 0 ? "prostt5_encoder" : "prott5_xl_encoder"
                      : bi_arena_printf(&model->arena, "t5_encoder_l%d_%.3gM", (int)e->n_layers,
                                        (double)model->n_parameters / 1e6);
    if (!model->name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: name", model->cp->path);
    return 0;
}

/* ---- tokens ---- */

/* U, Z, O, B and J are X, as the published recipe has it; raw: the token of every letter, <unk>
 * for what has none. For ProstT5 a lower-case letter, which readers keep when they read raw, makes
 * the sequence one of 3Di states. */
static int prott5_encode(const struct bi_model *model, const struct bioinfer_record *r, bool raw,
                         struct bi_tokens *out, struct bioinfer_error *err)
{
    const struct prott5 *p = model->config;
    const struct bi_t5 *e = &p->t5;
    bool states = false;
    out->n = 0;
    out->n_mapped = 0;
    if (!bi_grow(model->env, &out->ids, &out->cap, r->length + 2, sizeof *out->ids))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tokens of %zu residues", r->id, r->length);
    for (size_t i = 0; i < r->length; i++)
        states |= r->sequence[i] >= 'a' && r->sequence[i] <= 'z';
    if (model->n_prefix)
        out->ids[out->n++] = states ? p->to_residues : p->to_fold;
    for (size_t i = 0; i < r->length; i++) {
        char c = r->sequence[i];
        int32_t id = e->letters[(unsigned char)c];
        if (raw && id < 0) {
            id = e->unk;
        } else if (!raw && memchr("UZOBJ", c, 5) && p->x >= 0) {
            id = p->x;
            out->n_mapped++;
        }
        if (id < 0)
            return bi_model_bad_residue(r, i, err);
        out->ids[out->n++] = id;
    }
    out->ids[out->n++] = e->eos;
    return 0;
}

static int prott5_facts(const struct bi_model *model, struct bi_hash *to)
{
    const struct prott5 *p = model->config;
    bi_hash_int(to, "to_fold", 1 + p->to_fold);
    bi_hash_int(to, "to_residues", 1 + p->to_residues);
    bi_hash_int(to, "x", 1 + p->x);
    return bi_t5_settings(model, to);
}

static const struct bi_release releases[] = {
    {"Rostlab/prot_t5_xl_half_uniref50-enc", "AFL-3.0",
     "config.json spiece.model pytorch_model.bin", 1208141824, 2416283648},
    {"Rostlab/prot_t5_xl_uniref50", "AFL-3.0", "config.json spiece.model pytorch_model.bin",
     1208141824, 11275562628},
    {"Rostlab/ProstT5", "see its page", NULL, 1208141824, 0},
    {"Rostlab/ProstT5_fp16", "see its page", NULL, 1208141824, 0},
    {0}};

static const struct bi_sequences_def sequences = {
    .build = bi_t5_build,
    .encode = prott5_encode,
    .residue_token = bi_t5_residue_token,
};

const struct bi_model_def bi_model_prott5 = {
    .name = "prott5",
    .summary = "ProtT5-XL-U50, ProstT5 and other T5 encoders over letters",
    .default_name = "Rostlab/prot_t5_xl_half_uniref50-enc",
    .releases = releases,
    .gpu = true,
    .recognise = prott5_recognise,
    .open = prott5_open,
    .kind = &bi_kind_sequences,
    .def = &sequences,
    .facts = prott5_facts,
};

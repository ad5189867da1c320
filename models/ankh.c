/* ankh.c - Ankh: T5 encoders of proteins, base (450M parameters) and large (1.15B).
 *
 * The encoder of t5.c with the gated feed-forward block and 64 buckets of positions, up to a
 * distance of 128. Every residue is the piece of its letter, without the mark of a word's
 * beginning that other vocabularies of SentencePiece have, since the published recipe gives a
 * protein to the tokenizer without spaces. Letters with that mark are taken where a vocabulary
 * has no others. B, O, U, X and Z have pieces of their own and are not replaced. One </s>
 * behind, nothing in front.
 *
 * ElnaggarLab/ankh-base, ankh-large: T5ForConditionalGeneration, whose decoder is not read,
 * with tokenizer.json. Sources: agemagician/Ankh; huggingface/transformers models/t5. */
#include <stdio.h>
#include <string.h>

#include "t5.h"

static const struct {
    int n_layers, width;
    const char *name;
} sizes[] = {{48, 768, "ankh_base_encoder"}, {48, 1536, "ankh_large_encoder"}};

/* Pieces of letters as they stand tell this vocabulary apart, and so do the 64 buckets. */
static bool ankh_recognise(const struct bi_checkpoint *cp)
{
    const struct bi_tensor *buckets = bi_t5_buckets(cp);
    return buckets && (bi_t5_has_piece(cp, "A") || buckets->shape[0] == 64);
}

static int read_letters(struct bi_model *model, struct bi_t5 *e, struct bioinfer_error *err)
{
    const size_t mark = strlen(BI_T5_SPACE);
    for (int marked = 1; marked >= 0; marked--) /* letters as they stand come last, and count */
        for (int64_t i = e->vocab; i-- > 0;) {  /* a letter's first id */
            const char *piece = model->tokens[i];
            if (marked && strncmp(piece, BI_T5_SPACE, mark))
                continue;
            piece += marked ? mark : 0;
            if (piece[0] >= 'A' && piece[0] <= 'Z' && !piece[1])
                e->letters[(unsigned char)piece[0]] = (int32_t)i;
        }
    if (e->letters['X'] < 0)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: the vocabulary lacks a piece X",
                       model->cp->path);
    return 0;
}

static int ankh_open(struct bi_model *model, struct bioinfer_error *err)
{
    struct bi_t5 *e = bi_arena_calloc(&model->arena, 1, sizeof *e);
    int st;
    if (!e)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    if ((st = bi_t5_open(model, e, err)) || (st = read_letters(model, e, err)))
        return st;
    for (size_t i = 0; i < BI_COUNT(sizes); i++)
        if (sizes[i].n_layers == e->n_layers && sizes[i].width == e->width)
            model->name = sizes[i].name;
    if (!model->name)
        model->name = bi_arena_printf(&model->arena, "ankh_encoder_l%d_%.3gM", (int)e->n_layers,
                                      (double)model->n_parameters / 1e6);
    if (!model->name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: name", model->cp->path);
    return 0;
}

/* J is read as X; raw: what has no piece is <unk>, as the tokenizer reads it. */
static int ankh_encode(const struct bi_model *model, const struct bioinfer_record *r, bool raw,
                       struct bi_tokens *out, struct bioinfer_error *err)
{
    const struct bi_t5 *e = model->config;
    out->n = 0;
    out->n_mapped = 0;
    if (!bi_grow(model->env, &out->ids, &out->cap, r->length + 1, sizeof *out->ids))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tokens of %zu residues", r->id, r->length);
    for (size_t i = 0; i < r->length; i++) {
        const char c = r->sequence[i];
        int32_t id = e->letters[(unsigned char)c];
        if (id < 0 && raw) {
            id = e->unk;
        } else if (id < 0 && c >= 'A' && c <= 'Z') {
            id = e->letters['X'];
            out->n_mapped++;
        }
        if (id < 0)
            return bi_model_bad_residue(r, i, err);
        out->ids[out->n++] = id;
    }
    out->ids[out->n++] = e->eos;
    return 0;
}

/* Parameters are the encoder's; the files have the decoder, too. */
static const struct bi_release releases[] = {
    {"ElnaggarLab/ankh-base", "CC-BY-NC-SA-4.0", NULL, 453170688, 0},
    {"ElnaggarLab/ankh-large", "CC-BY-NC-SA-4.0", NULL, 1151707648, 0},
    {0}};

static const struct bi_sequences_def sequences = {
    .build = bi_t5_build,
    .encode = ankh_encode,
    .residue_token = bi_t5_residue_token,
};

const struct bi_model_def bi_model_ankh = {
    .name = "ankh",
    .summary = "Ankh base and large, T5 encoders of proteins",
    .default_name = "ElnaggarLab/ankh-base",
    .releases = releases,
    .gpu = true,
    .recognise = ankh_recognise,
    .open = ankh_open,
    .kind = &bi_kind_sequences,
    .def = &sequences,
    .facts = bi_t5_settings,
};

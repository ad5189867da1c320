/* nucleotide_transformer.c - Nucleotide Transformer: language models of DNA over 6-mers, the
 * second generation (50M to 500M parameters) and the first (500M, 2.5B).
 *
 * The encoder of esm.c, without token dropout, with an output matrix of its own and no
 * contacts. The second generation is rotary, its feed-forward block gated by silu and without
 * biases; the first has learned positions and gelu. Tokens: the 4,096 words of six of A, C, G,
 * T, those four letters and N, and <unk>, <pad>, <mask>, <cls>; the second generation has <eos>
 * and <bos>, which are not used: <cls> stands in front, and nothing behind.
 *
 * A record is cut from its left end: six letters are one token where all are A, C, G or T; else
 * the first letter is a token of its own, and cutting goes on behind it. So bases in front of
 * an N, and those left at the end, are single letters, and words begin anew behind an N. Arrays
 * have a row for each token, not for each base; BAD_RESIDUE names a base.
 *
 * The order of tokens is that of vocab.txt, or, where none is beside the weights, that of the
 * package: A, T, C, G, the last letter fastest.
 *
 * InstaDeepAI/nucleotide-transformer-v2-50m-multi-species to -500m-, whose code comes with the
 * weights and is a variant of EsmForMaskedLM; nucleotide-transformer-500m-human-ref,
 * -500m-1000g, -2.5b-1000g, -2.5b-multi-species, which are EsmForMaskedLM. Sources:
 * instadeepai/nucleotide-transformer tokenizers.py, layers.py; huggingface/transformers
 * models/esm.
 *
 * Sections: opening, tokens. */
#include <string.h>

#include "esm.h"

enum { K = 6, WORDS = 4096, V1 = WORDS + 9, V2 = V1 + 2 };

struct transformer {
    struct bi_esm esm;
    int32_t words[WORDS]; /* tokens of words: two bits a letter, the first highest */
    int32_t letters[128]; /* tokens of single letters, -1 = none */
    int32_t cls;
};

/* ---- opening ---- */

static const struct bi_esm_size first_sizes[] = {{24, 1280, "nucleotide_transformer_500M"},
                                                 {32, 2560, "nucleotide_transformer_2.5B"},
                                                 {0, 0, NULL}};
static const struct bi_esm_size second_sizes[] = {{12, 512, "nucleotide_transformer_v2_50M"},
                                                  {22, 512, "nucleotide_transformer_v2_100M"},
                                                  {24, 768, "nucleotide_transformer_v2_250M"},
                                                  {29, 1024, "nucleotide_transformer_v2_500M"},
                                                  {0, 0, NULL}};

static const struct bi_esm_kind first = {
    .name = "nucleotide_transformer", .sizes = first_sizes, .learned = true, .eps = 1e-12f};
static const struct bi_esm_kind second = {.name = "nucleotide_transformer_v2",
                                          .sizes = second_sizes,
                                          .gated = true,
                                          .exact_rope = true,
                                          .eps = 1e-12f};

static bool transformer_recognise(const struct bi_checkpoint *cp)
{
    struct bi_esm_facts facts;
    return bi_esm_facts(cp, &facts) && (facts.vocab == V1 || facts.vocab == V2) &&
           facts.learned != facts.gated;
}

/* Two bits of a base; -1 for any other letter. */
static int base_code(char c)
{
    static const char bases[] = "ACGT";
    const char *at = c ? strchr(bases, c) : NULL;
    return at ? (int)(at - bases) : -1;
}

/* Index of the word at text[0, K), -1 when a letter is no base. */
static int word_at(const char *text)
{
    int word = 0;
    for (int i = 0; i < K; i++) {
        const int code = base_code(text[i]);
        if (code < 0)
            return -1;
        word = 4 * word + code;
    }
    return word;
}

/* The order of the package that trained the models. */
static const char **usual_symbols(struct bi_model *model, int n)
{
    static const char *const front[] = {"<unk>", "<pad>", "<mask>", "<cls>"};
    static const char *const behind[] = {"A", "T", "C", "G", "N", "<eos>", "<bos>"};
    static const char order[] = "ATCG";
    const char **symbols = bi_arena_calloc(&model->arena, (size_t)n, sizeof *symbols);
    const int first_word = (int)BI_COUNT(front);
    for (int i = 0; symbols && i < n; i++) {
        const int word = i - first_word;
        char text[K + 1] = "";
        for (int k = 0; k < K; k++)
            text[k] = order[(unsigned)word >> (2 * (K - 1 - k)) & 3];
        symbols[i] = word < 0        ? front[i]
                     : word >= WORDS ? behind[word - WORDS]
                                     : bi_arena_strndup(&model->arena, text, K);
        if (!symbols[i])
            return NULL;
    }
    return symbols;
}

/* Ids of the symbols that are used; every one must be there. */
static int index_symbols(struct bi_model *model, struct transformer *t, struct bioinfer_error *err)
{
    struct bi_esm *e = &t->esm;
    const char *missing = NULL;
    int n_words = 0;
    t->cls = e->mask = e->pad = -1;
    for (int i = 0; i < 128; i++)
        t->letters[i] = -1;
    for (int32_t i = 0; i < e->vocab; i++) {
        const char *symbol = e->symbols[i];
        const size_t n = strlen(symbol);
        const int word = n == K ? word_at(symbol) : -1;
        if (word >= 0) { /* lines of vocab.txt differ from each other */
            t->words[word] = i;
            n_words++;
        } else if (n == 1 && (unsigned char)symbol[0] < 128) {
            t->letters[(unsigned char)symbol[0]] = i;
        } else if (!strcmp(symbol, "<cls>")) {
            t->cls = i;
        } else if (!strcmp(symbol, "<mask>")) {
            e->mask = i;
        } else if (!strcmp(symbol, "<pad>")) {
            e->pad = i;
        }
    }
    for (const char *p = "ACGTN"; *p && !missing; p++)
        missing = t->letters[(unsigned char)*p] < 0 ? "one of A, C, G, T, N" : NULL;
    missing = n_words < WORDS ? "a word of six bases"
              : t->cls < 0    ? "<cls>"
              : e->mask < 0   ? "<mask>"
              : e->pad < 0    ? "<pad>"
                              : missing;
    if (missing)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: vocab.txt lacks %s", model->cp->path, missing);
    return 0;
}

static int transformer_open(struct bi_model *model, struct bioinfer_error *err)
{
    struct transformer *t = bi_arena_calloc(&model->arena, 1, sizeof *t);
    struct bi_esm_facts facts = {0};
    const char **symbols = NULL;
    int st;
    if (!t)
        return bi_fail(err, BIOINFER_NOMEM, "%s: configuration", model->cp->path);
    bi_esm_facts(model->cp, &facts);
    t->esm.kind = facts.gated ? &second : &first;
    t->esm.vocab = (int32_t)facts.vocab;
    if ((st = bi_model_vocab(model, t->esm.vocab, &symbols, err)))
        return st;
    if (!symbols && !(symbols = usual_symbols(model, t->esm.vocab)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: vocabulary", model->cp->path);
    t->esm.symbols = symbols;
    if ((st = index_symbols(model, t, err)))
        return st;
    return bi_esm_open(model, &t->esm, err);
}

/* ---- tokens ---- */

static int transformer_residue_token(const struct bi_model *model, char residue)
{
    const struct transformer *t = model->config;
    return (unsigned char)residue < 128 ? t->letters[(unsigned char)residue] : -1;
}

/* A letter for several bases is read as N, unless raw; <mask> stands for one token. */
static int transformer_encode(const struct bi_model *model, const struct bioinfer_record *r,
                              bool raw, struct bi_tokens *out, struct bioinfer_error *err)
{
    const struct transformer *t = model->config;
    const int32_t mask[] = {t->esm.mask};
    out->n = 0;
    out->n_mapped = 0;
    if (!bi_grow(model->env, &out->ids, &out->cap, r->length + 1, sizeof *out->ids))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tokens of %zu bases", r->id, r->length);
    out->ids[out->n++] = t->cls;
    for (size_t i = 0; i < r->length;) {
        const char *at = r->sequence + i;
        const int word = r->length - i >= K ? word_at(at) : -1;
        int32_t id = word >= 0 ? t->words[word] : transformer_residue_token(model, *at);
        size_t n = word >= 0 ? K : 1;
        if (id < 0 && !raw && *at && strchr("MRWSYKVHDB", *at)) {
            id = t->letters['N'];
            out->n_mapped++;
        }
        if (id < 0 && *at == '<')
            n = bi_model_special(model, mask, 1, at, r->length - i, &id);
        if (id < 0)
            return bi_model_bad_residue(r, i, err);
        out->ids[out->n++] = id;
        i += n;
    }
    return 0;
}

static int transformer_facts(const struct bi_model *model, struct bi_hash *to)
{
    const struct transformer *t = model->config;
    bi_hash_int(to, "cls", 1 + t->cls);
    return bi_esm_settings(model, to);
}

/* Numbers of parameters are those that the names state. */
static const struct bi_release releases[] = {
    {"InstaDeepAI/nucleotide-transformer-v2-50m-multi-species", "CC-BY-NC-SA-4.0", NULL, 50000000,
     0},
    {"InstaDeepAI/nucleotide-transformer-v2-100m-multi-species", "CC-BY-NC-SA-4.0", NULL, 100000000,
     0},
    {"InstaDeepAI/nucleotide-transformer-v2-250m-multi-species", "CC-BY-NC-SA-4.0", NULL, 250000000,
     0},
    {"InstaDeepAI/nucleotide-transformer-v2-500m-multi-species", "CC-BY-NC-SA-4.0", NULL, 500000000,
     0},
    {"InstaDeepAI/nucleotide-transformer-500m-human-ref", "CC-BY-NC-SA-4.0", NULL, 500000000, 0},
    {0}};

static const struct bi_sequences_def sequences = {
    .build = bi_esm_build,
    .encode = transformer_encode,
    .token_scale = bi_esm_token_scale,
    .residue_token = transformer_residue_token,
};

const struct bi_model_def bi_model_nucleotide_transformer = {
    .name = "nt",
    .summary = "Nucleotide Transformer v2 and v1, DNA language models of 6-mers",
    .default_name = "InstaDeepAI/nucleotide-transformer-v2-500m-multi-species",
    .releases = releases,
    .letters = BIOINFER_LETTERS_BASES,
    .gpu = true,
    .recognise = transformer_recognise,
    .open = transformer_open,
    .kind = &bi_kind_sequences,
    .def = &sequences,
    .facts = transformer_facts,
};

/* fold_letters.c - records of the task fold that are chains of letters.
 *
 * Sections: chains, units. */
#include <stdio.h>
#include <string.h>

#include "../writers/structure.h"
#include "fold.h"

enum { MOST_CHAINS = 4096, SHORTEST_DNA = 20 };

/* ---- chains ---- */

static bool is_separator(char c)
{
    return c == ':' || c == '|';
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* A chain of a record. */
struct chain {
    const char *letters;
    size_t n;
};

/* Takes the next chain of a text; false: there is none. *left NULL = the text is over. */
static bool next_chain(const char **left, const char *end, struct chain *chain)
{
    const char *at = *left;
    if (!at)
        return false;
    chain->letters = at;
    while (at < end && !is_separator(*at))
        at++;
    chain->n = (size_t)(at - chain->letters);
    *left = at < end ? at + 1 : NULL;
    return true;
}

/* Names the letters that the family knows. */
static int unknown_letter(const struct fold *f, const struct chain *chain, size_t place, int number,
                          struct bioinfer_error *err)
{
    const unsigned char c = (unsigned char)chain->letters[place];
    struct bi_fold_token token;
    char known[27], shown[8];
    int n = 0;
    for (char letter = 'A'; letter <= 'Z'; letter++)
        if (f->def->token(&token, letter, 0, 0))
            known[n++] = letter;
    known[n] = '\0';
    snprintf(shown, sizeof shown, c > ' ' && c < 0x7F ? "'%c'" : "0x%02X", c);
    return bi_fail(err, BIOINFER_BAD_RESIDUE,
                   "chain %d, residue %zu is %s, expected one of %s, and ':' between chains",
                   number, place + 1, shown, known);
}

/* A chain of bases would pass as one of alanine, cysteine, glycine and threonine. */
static bool looks_like_dna(const struct chain *chain)
{
    size_t n = 0;
    for (size_t i = 0; i < chain->n; i++)
        n += strchr("ACGTUN", upper(chain->letters[i])) != NULL;
    return chain->n >= SHORTEST_DNA && n == chain->n;
}

/* Sets the names of the atoms of a letter; their number, which may be 0. */
static int list_names(const struct fold *f, char letter, const char *names[BI_FOLDED_ATOMS])
{
    const struct bi_folded_residue *of;
    if (!letter || f->def->complexes)
        return 0;
    if (f->def->atoms)
        return f->def->atoms->names(letter, names);
    of = bi_folded_residue(letter);
    for (int k = 0; k < of->n_atoms; k++)
        names[k] = of->atoms[k].name;
    return of->n_atoms;
}

/* Adds the chain's atoms to *n_atoms. */
static int check_chain(const struct fold *f, const struct chain *chain, int number,
                       int64_t *n_atoms, struct bioinfer_error *err)
{
    const struct bi_fold_def *def = f->def;
    const char *names[BI_FOLDED_ATOMS];
    struct bi_fold_token token;
    if (!chain->n)
        return bi_fail(err, BIOINFER_EMPTY,
                       "chain %d has no residues: ':' or '|' stands between two chains", number);
    if (looks_like_dna(chain) && !f->p.force)
        return bi_fail(err, BIOINFER_BAD_RESIDUE,
                       "chain %d, of %zu letters, looks like DNA or RNA: amino acids are folded",
                       number, chain->n);
    for (size_t i = 0; i < chain->n; i++) {
        if (!def->token(&token, upper(chain->letters[i]), 0, 0))
            return unknown_letter(f, chain, i, number, err);
        *n_atoms += list_names(f, token.atoms, names);
    }
    if (def->longest_chain && chain->n > (size_t)def->longest_chain && !f->p.force)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "chain %d has %zu residues, %s is for chains of up to %d", number, chain->n,
                       f->task.model->base.name, def->longest_chain);
    if (chain->n < (size_t)def->shortest_chain && !f->p.force)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "chain %d has %zu residue%s, %s is for chains of at least %d", number,
                       chain->n, chain->n == 1 ? "" : "s", f->task.model->base.name,
                       def->shortest_chain);
    return 0;
}

int bi_fold_check_letters(const struct fold *f, const struct bioinfer_record *r,
                          struct fold_unit *u, struct bioinfer_error *err)
{
    const int64_t most = f->p.max_length > 0 && f->p.max_length < BIOINFER_MAX_RESIDUES
                             ? f->p.max_length
                             : BIOINFER_MAX_RESIDUES;
    const char *left = r->sequence, *end = r->sequence + r->length;
    struct chain chain;
    size_t n = 0, n_chains = 0;
    int st;
    if (!r->length || !r->sequence)
        return bi_fail(err, BIOINFER_EMPTY, "no residues");
    while (next_chain(&left, end, &chain)) {
        n += chain.n;
        n_chains++;
    }
    if (n > (size_t)most)
        return bi_fail(err, BIOINFER_TOO_LONG, "%zu residues, at most %lld are allowed", n,
                       (long long)most);
    if (n_chains > MOST_CHAINS)
        return bi_fail(err, BIOINFER_LIMIT, "%zu chains, at most %d are allowed", n_chains,
                       MOST_CHAINS);
    n_chains = 0;
    for (left = r->sequence; next_chain(&left, end, &chain);)
        if ((st = check_chain(f, &chain, (int)++n_chains, &u->n_atoms, err)))
            return st;
    if (f->def->n_chains && n_chains != (size_t)f->def->n_chains)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%zu chain%s, %s folds %s", n_chains,
                       n_chains == 1 ? "" : "s", f->task.model->base.name, f->def->takes);
    u->n = (int32_t)n;
    u->n_chains = (int32_t)n_chains;
    if (f->n_passes)
        n += (n_chains - 1) * (size_t)f->def->passes->n_linkers;
    if (f->n_passes && n > BI_FOLD_TOKENS)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "%zu residues, with linkers, have more pairs than are counted (%d)", n,
                       INT32_MAX);
    u->n_tokens = (int32_t)n;
    return 0;
}

/* ---- units ---- */

/* Takes a piece of the unit's block, and moves *at to its end. */
static void *piece(char **at, size_t n, size_t size)
{
    void *here = *at;
    *at += (n * size + 7) / 8 * 8;
    return here;
}

/* Makes the unit's block. */
static bool make_room(const struct fold *f, struct fold_unit *u)
{
    const size_t n = (size_t)u->n, chains = (size_t)u->n_chains, tokens = (size_t)u->n_tokens;
    const size_t atoms = (size_t)u->n_atoms;
    const size_t of_token = sizeof *u->code + sizeof *u->number + sizeof *u->ids + sizeof *u->rows +
                            sizeof *u->scale + sizeof *u->chain + 1;
    char *at = bi_calloc(f->task.env, 1,
                         chains * (sizeof *u->chains + sizeof *u->chain_names) +
                             (n + 1) * (sizeof *u->token + sizeof *u->first + 2) +
                             atoms * (sizeof *u->names + sizeof *u->elements) +
                             (tokens + 2 * chains) * of_token + 16 * 8);
    if (!at)
        return false;
    u->block = at;
    u->chains = piece(&at, chains, sizeof *u->chains);
    u->chain_names = piece(&at, chains, sizeof *u->chain_names);
    u->code = piece(&at, tokens, sizeof *u->code);
    u->number = piece(&at, tokens, sizeof *u->number);
    u->token = piece(&at, n, sizeof *u->token);
    u->chain = piece(&at, tokens, sizeof *u->chain);
    u->ids = piece(&at, tokens + 2 * chains, sizeof *u->ids);
    u->rows = piece(&at, tokens, sizeof *u->rows);
    u->scale = piece(&at, tokens + 2 * chains, sizeof *u->scale);
    u->first = piece(&at, n + 1, sizeof *u->first);
    u->letters = piece(&at, tokens, 1);
    u->sequence = piece(&at, n + 1, 1);
    u->atoms = piece(&at, n, 1);
    u->names = piece(&at, atoms, sizeof *u->names);
    u->elements = piece(&at, atoms, sizeof *u->elements);
    return true;
}

/* Adds token `at`, and returns the letter whose atoms it has. Numbers go on from chain to chain
 * where there are linkers, which belong to the chain before them. */
static char add_token(const struct fold *f, struct fold_unit *u, char letter, int chain, int place,
                      int32_t at)
{
    struct bi_fold_token token;
    f->def->token(&token, letter, chain, place);
    memcpy(u->code[at], token.code, sizeof token.code);
    u->number[at] = f->n_passes ? at + chain * f->def->passes->chain_step : token.number;
    u->letters[at] = letter;
    u->chain[at] = chain;
    return token.atoms;
}

/* Adds the atoms of a residue, after those before it. */
static void add_atoms(const struct fold *f, struct fold_unit *u, int32_t residue)
{
    const char *names[BI_FOLDED_ATOMS];
    const int n = list_names(f, u->atoms[residue], names);
    const int32_t first = u->first[residue];
    for (int k = 0; k < n; k++) {
        snprintf(u->names[first + k], sizeof u->names[0], "%s", names[k]);
        u->elements[first + k][0] = names[k][0];
    }
    u->first[residue + 1] = first + n;
}

/* Sets what the stem reads: all tokens as one sequence, or, where samples follow, each chain. */
static void set_stem(const struct fold *f, struct fold_unit *u)
{
    const struct bi_model *model = &f->task.model->base;
    int32_t first = 0;
    for (int32_t i = 0; i < u->n_tokens; i++)
        u->rows[i] = 1 + i + (f->n_samples ? 2 * u->chain[i] : 0);
    if (!f->n_samples) {
        f->def->passes->tokens(model, u->letters, u->n_tokens, u->ids, u->scale);
        return;
    }
    for (int c = 0; c < u->n_chains; c++) {
        const int64_t n = u->chains[c].n_residues;
        f->def->passes->tokens(model, u->letters + first, n, u->ids + first + 2 * c,
                               u->scale + first + 2 * c);
        first += (int32_t)n;
    }
}

/* Fills the unit with the residues of a record that was checked. */
static void take_chains(const struct fold *f, const struct bioinfer_record *r, struct fold_unit *u)
{
    const char *left = r->sequence, *end = r->sequence + r->length;
    struct chain chain;
    int32_t at = 0, token = 0;
    for (int c = 0; next_chain(&left, end, &chain); c++) {
        for (int k = 0; f->n_passes && c && k < f->def->passes->n_linkers; k++)
            add_token(f, u, f->def->passes->linker, c - 1, 0, token++);
        if (f->def->chain_names)
            u->chain_names[c][0] = f->def->chain_names[c];
        else
            bi_chain_name(u->chain_names[c], c);
        u->chains[c] = (struct bioinfer_fold_chain){.name = u->chain_names[c],
                                                    .first = at,
                                                    .n_residues = (int64_t)chain.n,
                                                    .kind = 'P',
                                                    .entity = c};
        for (size_t i = 0; i < chain.n; i++, at++) {
            u->sequence[at] = upper(chain.letters[i]);
            u->token[at] = token;
            u->atoms[at] = add_token(f, u, u->sequence[at], c, (int)i, token++);
            add_atoms(f, u, at);
        }
    }
    if (f->n_passes)
        set_stem(f, u);
}

int bi_fold_read_letters(const struct fold *f, const struct bioinfer_record *record,
                         struct fold_unit *u, struct bioinfer_error *err)
{
    const int st = bi_fold_check_letters(f, record, u, err);
    if (st)
        return st;
    if (!make_room(f, u))
        return bi_fail(err, BIOINFER_NOMEM, "%d residues", u->n);
    u->n_paired = u->n;
    take_chains(f, record, u);
    return 0;
}

/* fold_input.c - records of FASTA become complexes. */
#include "fold.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Ends of the names of two records that are one complex. */
static const char *const ends[][2] = {{"_H", "_L"}, {"_VH", "_VL"}, {"_heavy", "_light"}};

static int no_memory(struct bioinfer_error *err)
{
    err->status = BIOINFER_NOMEM;
    snprintf(err->text, sizeof err->text, "out of memory for a record");
    return BIOINFER_NOMEM;
}

static void drop(struct cli_chain *chain)
{
    free(chain->id);
    free(chain->sequence);
    free(chain->message);
    *chain = (struct cli_chain){0};
}

int cli_chains_open(struct cli_chains *c, bioinfer_context *ctx, const struct cli_paths *paths,
                    struct bioinfer_error *err)
{
    const struct bioinfer_reader_params params = BIOINFER_PARAMS(
        struct bioinfer_reader_params, .residues = BIOINFER_RESIDUES_COMPLEX,
        .max_length = 2 * BIOINFER_MAX_RESIDUES);
    c->ctx = ctx;
    c->paths = paths;
    if (cli_chain_table_named(paths->of[c->at]))
        return cli_chain_table_open(&c->table, paths->of[c->at], err);
    return bioinfer_reader_open(&c->reader, ctx, paths->of[c->at], &params, err);
}

void cli_chains_close(void *chains)
{
    struct cli_chains *c = chains;
    bioinfer_reader_close(&c->reader);
    cli_chain_table_close(&c->table);
    drop(&c->given);
    drop(&c->waiting);
}

/* Copies the next record of the file at hand. */
static int read_record(const struct cli_chains *c, struct cli_chain *chain,
                       struct bioinfer_error *err)
{
    struct bioinfer_record r = {0};
    const int st = bioinfer_reader_next(c->reader, &r, err);
    if (st != 1)
        return st;
    chain->status = r.status;
    chain->length = r.length;
    if (!(chain->id = strdup(r.id)) || !(chain->message = strdup(r.message ? r.message : "")) ||
        !(chain->sequence = malloc(r.length + 1))) {
        drop(chain);
        return no_memory(err);
    }
    if (r.length)
        memcpy(chain->sequence, r.sequence, r.length);
    chain->sequence[r.length] = '\0';
    return 1;
}

/* Reads the next record of all files. */
static int read_chain(struct cli_chains *c, struct cli_chain *chain, struct bioinfer_error *err)
{
    int st;
    while (!(st = c->reader ? read_record(c, chain, err)
                            : cli_chain_table_next(&c->table, chain, err)) &&
           c->at + 1 < c->paths->n) {
        bioinfer_reader_close(&c->reader);
        cli_chain_table_close(&c->table);
        c->at++;
        if ((st = cli_chains_open(c, c->ctx, c->paths, err)))
            return st;
    }
    return st;
}

/* Which end of `ends` a name has: its row, and *side 0 or 1; -1 = none, or the chain is a whole
 * complex, or has no letters. */
static int end_of(const struct cli_chain *chain, int *side)
{
    const size_t n = strlen(chain->id);
    if (chain->status || strpbrk(chain->sequence, ":|"))
        return -1;
    for (int i = 0; i < (int)CLI_COUNT(ends); i++)
        for (*side = 0; *side < 2; ++*side) {
            const size_t k = strlen(ends[i][*side]);
            if (n > k && !strcasecmp(chain->id + n - k, ends[i][*side]))
                return i;
        }
    return -1;
}

/* Whether b is the other chain of a, which has end `row` of this side. */
static bool is_other(const struct cli_chain *a, int row, int side, const struct cli_chain *b)
{
    const size_t stem = strlen(a->id) - strlen(ends[row][side]);
    int other;
    return end_of(b, &other) == row && other != side && !strncmp(a->id, b->id, stem) &&
           strlen(b->id) == stem + strlen(ends[row][other]);
}

/* Makes a of two chains, heavy first; false: no memory, and both are as they were. */
static bool join(struct cli_chain *a, int row, int side, const struct cli_chain *b)
{
    const struct cli_chain *heavy = side ? b : a, *light = side ? a : b;
    char *both = malloc(heavy->length + light->length + 2);
    if (!both)
        return false;
    a->length = (size_t)sprintf(both, "%s:%s", heavy->sequence, light->sequence);
    free(a->sequence);
    a->sequence = both;
    a->id[strlen(a->id) - strlen(ends[row][side])] = '\0';
    return true;
}

/* Gives the chain of a pair a status; false: no memory. */
static bool miss_other(struct cli_chain *chain, int row, int side)
{
    const size_t n = strlen(chain->id), k = strlen(ends[row][side]);
    char *message = malloc(2 * n + 160);
    if (!message)
        return false;
    sprintf(message,
            "record '%s': no record '%.*s%s' follows it, nor is it the one before: a lone chain is "
            "not folded",
            chain->id, (int)(n - k), chain->id, ends[row][!side]);
    free(chain->message);
    chain->message = message;
    chain->status = BIOINFER_UNSUPPORTED;
    return true;
}

/* Completes c->given, a chain of a pair, by the record that follows. */
static int pair_up(struct cli_chains *c, int row, int side, struct bioinfer_error *err)
{
    const int st = read_chain(c, &c->waiting, err);
    if (st < 0)
        return st;
    if (st && is_other(&c->given, row, side, &c->waiting)) {
        if (!join(&c->given, row, side, &c->waiting))
            return no_memory(err);
        drop(&c->waiting);
        return 1;
    }
    return miss_other(&c->given, row, side) ? 1 : no_memory(err);
}

int cli_chains_next(void *chains, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_chains *c = chains;
    int st = 1, row, side;
    drop(&c->given);
    c->given = c->waiting;
    c->waiting = (struct cli_chain){0};
    if (!c->given.id && (st = read_chain(c, &c->given, err)) != 1)
        return st;
    if (c->pairs && (row = end_of(&c->given, &side)) >= 0 && (st = pair_up(c, row, side, err)) != 1)
        return st;
    *record = (struct bioinfer_record){.id = c->given.id,
                                       .description = "",
                                       .sequence = c->given.sequence,
                                       .length = c->given.length,
                                       .ordinal = c->n++,
                                       .status = c->given.status,
                                       .message = c->given.message};
    return 1;
}

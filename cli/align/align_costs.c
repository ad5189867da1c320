/* align_costs.c - costs of alignments, limits and files, by the options. */
#include "align.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Reads the least score and identity of a pair that is written; an exit code. */
static int settle_least(struct cli_aligning *t)
{
    const struct cli_options *o = t->cli->options;
    char *end = "";
    t->writer.has_least = o->min_score != NULL;
    if (o->min_score)
        t->writer.least = strtod(o->min_score, &end);
    if (*end || (o->min_score && (end == o->min_score || !isfinite(t->writer.least)))) {
        cli_say(NULL, "--min-score: '%s' is not a number", o->min_score);
        return CLI_EXIT_USAGE;
    }
    end = "";
    if (o->min_identity)
        t->writer.least_identity = strtod(o->min_identity, &end);
    if (*end || (o->min_identity && end == o->min_identity) ||
        !(t->writer.least_identity >= 0 && t->writer.least_identity <= 1)) {
        cli_say(NULL, "--min-identity: '%s' is not a share from 0 to 1", o->min_identity);
        return CLI_EXIT_USAGE;
    }
    return CLI_EXIT_OK;
}

static bool is_built_in(const char *matrix)
{
    const char *name;
    for (int i = 0; (name = bioinfer_align_matrix(i)); i++)
        if (!strcasecmp(name, matrix))
            return true;
    return false;
}

bool cli_align_several(const struct cli_options *o)
{
    return o->workers || (o->device && (strchr(o->device, ',') || !strcmp(o->device, "all")));
}

int64_t cli_align_memory(const struct cli_options *o)
{
    return o->memory_limit ? o->memory_limit : 1024;
}

uint64_t cli_align_longest(const struct cli_options *o)
{
    enum { RESIDUES_PER_MIB = 50000 };
    const uint64_t limit = (uint64_t)cli_align_memory(o);
    if (o->max_length)
        return (uint64_t)o->max_length;
    return limit < UINT64_MAX / RESIDUES_PER_MIB ? limit * RESIDUES_PER_MIB : UINT64_MAX;
}

uint64_t cli_align_db_memory(const struct cli_options *o)
{
    enum { MIB = 1024 };
    return (uint64_t)(o->db_memory ? o->db_memory : MIB) << 20;
}

bool cli_align_has_costs(const struct cli_options *o)
{
    const struct bioinfer_align_params *p = bioinfer_params_struct(o->params);
    return p->matrix || p->match || p->mismatch;
}

int cli_align_costs(struct cli_aligning *t, struct bioinfer_error *err)
{
    const struct cli_options *o = t->cli->options;
    const bool no_cigar = o->cigar && !strcmp(o->cigar, "none");
    struct bioinfer_align_params *p = &t->params;
    int st;
    if (!cli_align_has_costs(o) &&
        (st = bioinfer_params_set(o->params, "matrix", t->cli->told, err)))
        return st;
    if ((st = bioinfer_params_check(o->params, err)))
        return st;
    *p = *(const struct bioinfer_align_params *)bioinfer_params_struct(o->params);
    t->writer = (struct cli_align_out){
        .out = &t->work.text,
        .format = o->format ? o->format : "tsv",
        .path = o->output && strcmp(o->output, "-") ? o->output : NULL,
        .matrix = p->matrix ? p->matrix : "match/mismatch",
        .matrix_file = p->matrix && !is_built_in(p->matrix) ? p->matrix : NULL,
        .scale = p->scale,
        .open = (double)p->gap_open / p->scale,
        .extend = (double)p->gap_extend / p->scale,
        .open2 = (double)p->gap_open2 / p->scale,
        .extend2 = (double)p->gap_extend2 / p->scale,
        .score_only = !p->traceback,
        .plain = o->cigar && !strcmp(o->cigar, "plain"),
        .no_cigar = no_cigar,
        .values = o->values,
        .shorter = o->identity_of && !strcmp(o->identity_of, "shorter"),
        .local = p->local,
        .free_ends = p->free_ends};
    p->identity = p->traceback && !(o->values && !strcmp(o->values, "score"));
    p->traceback = p->identity && !o->values && !no_cigar;
    p->device = o->device;
    p->memory_limit = (uint64_t)o->memory_limit << 20;
    return 0;
}

int cli_align_settle(struct cli_aligning *t)
{
    struct bioinfer_error err = {0};
    const int st = cli_align_costs(t, &err);
    int code;
    if (st) {
        cli_say(NULL, "--%s", err.text);
        return CLI_EXIT_USAGE;
    }
    t->writer.both_strands = cli_align_strands_wanted(t->cli->options);
    if (!cli_align_strands_check(t->cli->options, t->writer.format, &t->params))
        return CLI_EXIT_USAGE;
    code = cli_align_stats_make(&t->writer.stats, t->cli->options, &t->writer, &t->params);
    return code ? code : settle_least(t);
}

/* ---- files ---- */

int cli_align_reader(const struct cli *cli, const char *path, bioinfer_reader **reader,
                     struct bioinfer_error *err)
{
    const int threads = bioinfer_context_threads(cli->ctx);
    const struct bioinfer_reader_params params = BIOINFER_PARAMS(
        struct bioinfer_reader_params, .residues = BIOINFER_RESIDUES_STOPS,
        .max_length = cli_align_longest(cli->options),
        .n_threads = (threads + 1) / 2); /* for each of two files */
    return bioinfer_reader_open(reader, cli->ctx, path, &params, err);
}

int cli_align_reopen(void *user, int k, bioinfer_reader **reader, struct bioinfer_error *err)
{
    const struct cli *cli = user;
    const struct cli_options *o = cli->options;
    const char *path = k ? o->second : o->input;
    struct stat st;
    if (strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode))
        return cli_align_reader(cli, path, reader, err);
    *err = (struct bioinfer_error){.status = BIOINFER_LIMIT};
    snprintf(err->text, sizeof err->text,
             "%s: its records take more than --db-memory, %" PRIu64 " MiB, and would be read again "
             "for other queries, which takes a plain file",
             strcmp(path, "-") ? path : "standard input", cli_align_db_memory(o) >> 20);
    return BIOINFER_LIMIT;
}

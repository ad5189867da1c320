/* job.c - what the commands share of runs that keep a journal, and `bioinfer merge`. */
#include "provenance.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- what the options ask for ---- */

static int resume_of(const char *how)
{
    return !how                    ? BIOINFER_RESUME_NO
           : !strcmp(how, "force") ? BIOINFER_RESUME_FORCE
           : !strcmp(how, "no")    ? BIOINFER_RESUME_RESTART
                                   : BIOINFER_RESUME_MATCH;
}

struct bioinfer_writer_params cli_writer_params(const struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_writer_params params = BIOINFER_PARAMS(
        struct bioinfer_writer_params, .format = o->format,
        .suffix_duplicates = o->dup_ids && !strcmp(o->dup_ids, "suffix"),
        .json_floats = o->json_floats,
        .prottrans_names = o->h5_names && !strcmp(o->h5_names, "prottrans"), .dtype = o->dtype,
        .layout = o->layout, .compression = o->compression);
    params.model = cli->info.name;
    params.fingerprint = cli->fingerprint;
    return params;
}

/* The path of the input that a job knows: none where there are several, which it knows by their
 * records. */
static const char *job_input(const struct cli *cli)
{
    return !cli->inputs.n ? cli->options->input : cli->inputs.n == 1 ? cli->inputs.of[0] : NULL;
}

struct bioinfer_job_params cli_job_params(const struct cli *cli, const char *task)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_job_params params = BIOINFER_PARAMS(
        struct bioinfer_job_params, .task = task, .input = job_input(cli),
        .resume = resume_of(o->resume), .shard = o->shard, .n_shards = o->n_shards, .no_dedup = 1,
        .part_records = o->part_records);
    return params;
}

bool cli_job_wanted(const struct cli_options *o)
{
    return o->resume || o->n_shards;
}

bool cli_job_needs_file(struct cli *cli, const char *path)
{
    if (!cli_job_wanted(cli->options) || (path && strcmp(path, "-")))
        return true;
    cli_say(cli, "--%s needs a file: name it with -o", cli->options->n_shards ? "shard" : "resume");
    return false;
}

/* ---- how a run ends ---- */

/* "3 too_long, 1 empty" */
static void list_statuses(const struct bioinfer_job_stats *stats, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (unsigned s = 1; s < CLI_COUNT(stats->by_status); s++)
        if (stats->by_status[s] && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%llu %s", used ? ", " : "",
                                     (unsigned long long)stats->by_status[s],
                                     bioinfer_status_name(-(int)s));
}

void cli_job_say_failed(struct cli *cli, const char *what, const struct bioinfer_job_stats *stats,
                        const char *path)
{
    char text[256];
    list_statuses(stats, text, sizeof text);
    cli_say(cli, "%llu of %llu %s have no result: %s%s%s%s", (unsigned long long)stats->failed,
            (unsigned long long)stats->records, what, text, path ? "; see " : "", path ? path : "",
            path ? ".manifest.tsv" : "");
}

/* Is this an end that is nobody's mistake, so that going on later makes sense? */
static bool is_passing(int status)
{
    return status == BIOINFER_CANCELLED || status == BIOINFER_IO || status == BIOINFER_NO_SPACE ||
           status == BIOINFER_NOMEM || status == BIOINFER_DEVICE || status == BIOINFER_DEVICE_LOST;
}

bool cli_job_keeps(bioinfer_job *job, struct bioinfer_job_stats *stats, int status)
{
    if (!job)
        return false;
    if (is_passing(status))
        bioinfer_job_commit(job, NULL);
    stats->struct_size = sizeof *stats;
    return !bioinfer_job_get_stats(job, stats) && stats->committed;
}

void cli_job_say_kept(struct cli *cli, const struct bioinfer_job_stats *stats, bool all)
{
    if (!cli->kept)
        return;
    cli_say(cli, "%s keeps %llu records; --resume goes on with them", stats->folder,
            (unsigned long long)stats->committed);
    if (all && !cli->options->n_shards && !cli->options->part_records)
        cli_say(cli,
                "it is complete: 'bioinfer merge FILE %s' makes an output of it under any "
                "name, in any format",
                stats->folder);
}

void cli_job_say_shard(struct cli *cli, const struct bioinfer_job_stats *stats, const char *path)
{
    const bool folder = cli_format_is_folder(cli->options->format);
    if (cli->options->n_shards)
        cli_say(cli, "shard %d of %d is complete in %s; when all are: bioinfer merge %s%s%s",
                cli->options->shard, cli->options->n_shards, stats->folder, path,
                folder ? " --format " : "", folder ? cli->options->format : "");
}

int cli_job_stopped(struct cli *cli, bioinfer_job *job, int code)
{
    struct bioinfer_job_stats stats = {.struct_size = sizeof stats};
    if (!job)
        return code;
    if (cli->lost_record) {
        bioinfer_job_discard(job);
        return code;
    }
    cli->kept = cli_job_keeps(job, &stats,
                              code == CLI_EXIT_DATA ? BIOINFER_FORMAT : BIOINFER_CANCELLED);
    cli_job_say_kept(cli, &stats, false);
    return code;
}

int cli_job_finish(struct cli *cli, bioinfer_job *job, struct bioinfer_job_stats *stats)
{
    struct bioinfer_error err = {0};
    int code, st = bioinfer_job_finish(job, &err);
    stats->struct_size = sizeof *stats;
    bioinfer_job_get_stats(job, stats);
    if (!st)
        return CLI_EXIT_OK;
    cli->kept = cli_job_keeps(job, stats, st);
    code = cli_fail(cli, CLI_AT_WRITE, st, &err);
    /* damage that the build has found is no complete job */
    cli_job_say_kept(cli, stats, st != BIOINFER_FORMAT && st != BIOINFER_MISMATCH);
    return code;
}

char *cli_without_slash(const char *path)
{
    char *copy = strdup(path);
    for (size_t n = copy ? strlen(copy) : 0; n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0';
    return copy;
}

/* ---- the index of an input ---- */

/* The parameters of readers whose records go through jobs. */
static struct bioinfer_reader_params reader_params(const struct cli_options *o)
{
    struct bioinfer_reader_params params = BIOINFER_PARAMS(
        struct bioinfer_reader_params,
        .residues = o->raw_residues ? BIOINFER_RESIDUES_RAW : BIOINFER_RESIDUES_DEFAULT,
        .max_length = BIOINFER_MAX_RESIDUES);
    return params;
}

int cli_job_open_index(struct cli *cli, struct bioinfer_job_params *params)
{
    const struct cli_options *o = cli->options;
    const struct bioinfer_reader_params reader = reader_params(o);
    struct bioinfer_error err = {0};
    int st;
    const char *path = job_input(cli);
    if (!path || !strcmp(path, "-") || (!o->n_shards && !o->part_records))
        return CLI_EXIT_OK;
    st = bioinfer_index_open(&cli->index, cli->ctx, path, &reader, &err);
    params->index = cli->index;
    return st && st != BIOINFER_NOT_FOUND ? cli_fail(cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

/* Writes the index of a genome, and reads it. */
static int index_genome(struct cli *cli)
{
    const char *path = cli->options->input;
    bioinfer_genome *genome = NULL;
    struct bioinfer_error err = {0};
    int64_t n = 0, length = 0, bases = 0;
    int st = bioinfer_genome_index(cli->ctx, path, &err);
    if (!st)
        st = bioinfer_genome_open(&genome, cli->ctx, path, &err);
    for (; !st && bioinfer_genome_contig(genome, n, &length); n++)
        bases += length;
    bioinfer_genome_close(&genome);
    if (st)
        return cli_fail(cli, CLI_AT_INPUT, st, &err);
    if (!cli->options->quiet)
        cli_say(cli, "%lld contigs of %lld bases -> %s.fai", (long long)n, (long long)bases, path);
    return CLI_EXIT_OK;
}

int cli_index(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    const struct bioinfer_reader_params reader = reader_params(o);
    struct bioinfer_error err = {0};
    int st, code;
    if ((code = cli_open_context(cli)))
        return code;
    if (!strcmp(o->input, "-")) {
        cli_say(cli, "an index is of a file, not of standard input");
        return CLI_EXIT_USAGE;
    }
    if (o->fai)
        return index_genome(cli);
    if (!(st = bioinfer_index_make(cli->ctx, o->input, &reader, &err)))
        st = bioinfer_index_open(&cli->index, cli->ctx, o->input, &reader, &err);
    if (st)
        return cli_fail(cli, CLI_AT_INPUT, st, &err);
    if (!o->quiet)
        cli_say(cli, "%llu records in blocks of %llu -> %s.bfi",
                (unsigned long long)bioinfer_index_records(cli->index),
                (unsigned long long)bioinfer_index_block(cli->index), o->input);
    return CLI_EXIT_OK;
}

/* ---- bioinfer merge FILE [PART ...] ---- */

void cli_allow_many_files(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int cli_merge(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_writer_params params = cli_writer_params(cli);
    struct bioinfer_job_stats stats = {.struct_size = sizeof stats};
    struct bioinfer_error err = {0};
    struct stat file;
    char *path;
    int st, code;
    cli->progress.start = cli_now();
    if ((code = cli_open_context(cli)))
        return code;
    if (o->check && o->n_parts) {
        cli_say(cli, "--check is for a folder of parts: bioinfer merge FOLDER --check");
        return CLI_EXIT_USAGE;
    }
    if (!(path = cli_without_slash(o->input)))
        return cli_fail(cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    cli_allow_many_files(); /* two for each shard; the library does with fewer, more slowly */
    st = o->check ? bioinfer_parts_merge(cli->ctx, path, 1, &stats, &err)
                  : bioinfer_job_merge(cli->ctx, path, o->parts, (size_t)o->n_parts, &params,
                                       &stats, &err);
    free(path);
    if (st)
        return cli_fail(cli,
                        st == BIOINFER_IO        ? CLI_AT_WRITE
                        : st == BIOINFER_INVALID ? CLI_AT_CREATE
                                                 : CLI_AT_INPUT,
                        st, &err);
    if (!o->check && (code = cli_provenance_merge(cli, o->input, &stats)))
        return code;
    if (!o->quiet)
        cli_say(cli, "%llu records, %llu residues -> %s",
                (unsigned long long)(stats.records - stats.failed),
                (unsigned long long)stats.residues, o->input);
    if (!stats.failed)
        return CLI_EXIT_OK;
    cli_job_say_failed(cli, "records", &stats,
                       stat(o->input, &file) || S_ISDIR(file.st_mode) ? NULL : o->input);
    return CLI_EXIT_RECORDS;
}

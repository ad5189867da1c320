/* design.c - `bioinfer MODEL STRUCTURE...` for models that design sequences: FASTA with the
 * reference's headers, a table, or arrays. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- inputs: files, folders, lists of paths ---- */

struct paths {
    char **of;
    size_t n, cap;
};

/* Files of a folder that are no structures: one line names them. */
struct skipped {
    size_t n;
    char names[160]; /* the first ones */
};

static bool add_path(struct paths *p, const char *folder, const char *name, size_t len)
{
    size_t size = (folder ? strlen(folder) + 1 : 0) + len + 1;
    char *path;

    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        char **grown = realloc(p->of, cap * sizeof *grown);
        if (!grown)
            return false;
        p->of = grown;
        p->cap = cap;
    }
    if (!(path = malloc(size)))
        return false;
    if (folder)
        snprintf(path, size, "%s%s%.*s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
                 (int)len, name);
    else
        snprintf(path, size, "%.*s", (int)len, name);
    p->of[p->n++] = path;
    return true;
}

static bool ends_in(const char *text, const char *suffix)
{
    size_t n = strlen(text), k = strlen(suffix);

    return n > k && !strcmp(text + n - k, suffix);
}

/* Gives the length of the name without a suffix of structures. */
static size_t stem_length(const char *name)
{
    static const char *const suffixes[] = {".pdb",    ".ent",      ".cif",    ".mmcif",
                                           ".PDB",    ".CIF",      ".pdb.gz", ".ent.gz",
                                           ".cif.gz", ".mmcif.gz", ".PDB.gz", ".CIF.gz"};

    for (size_t i = 0; i < CLI_COUNT(suffixes); i++)
        if (ends_in(name, suffixes[i]))
            return strlen(name) - strlen(suffixes[i]);
    return strlen(name);
}

static bool is_structure(const char *name)
{
    return name[stem_length(name)];
}

static void skip(struct skipped *s, const char *name)
{
    size_t have = strlen(s->names);

    if (!strcmp(name, ".") || !strcmp(name, ".."))
        return;
    if (have + strlen(name) + 3 < sizeof s->names)
        snprintf(s->names + have, sizeof s->names - have, "%s%s", s->n ? ", " : "", name);
    else if (have + 5 < sizeof s->names && !ends_in(s->names, ", ..."))
        snprintf(s->names + have, sizeof s->names - have, ", ...");
    s->n++;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_folder(struct cli *cli, struct paths *p, const char *path)
{
    DIR *folder = opendir(path);
    struct skipped skipped = {0};
    struct dirent *entry;
    size_t first = p->n;
    int code = CLI_EXIT_OK;

    if (!folder) {
        cli_say(cli, "%s: %s", path, strerror(errno));
        return CLI_EXIT_NO_INPUT;
    }
    while (!code && (entry = readdir(folder)))
        if (!is_structure(entry->d_name))
            skip(&skipped, entry->d_name);
        else if (!add_path(p, path, entry->d_name, strlen(entry->d_name)))
            code = CLI_EXIT_NO_MEMORY;
    closedir(folder);
    if (!code && p->n == first) {
        cli_say(cli,
                "%s: no .pdb, .ent, .cif or .mmcif file in this folder, nor one with .gz "
                "behind that",
                path);
        code = CLI_EXIT_DATA;
    } else if (!code && skipped.n && !cli->options->quiet) {
        cli_say(cli, "warning: %s: %zu skipped, not named as structures: %s", path, skipped.n,
                skipped.names);
    }
    if (p->n > first)
        qsort(p->of + first, p->n - first, sizeof *p->of, compare_paths);
    return code;
}

/* One path a line; empty lines and those with # are skipped. */
static int add_list(struct cli *cli, struct paths *p, const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    int code = CLI_EXIT_OK;

    if (!file) {
        cli_say(cli, "%s: %s", path, strerror(errno));
        return CLI_EXIT_NO_INPUT;
    }
    while (!code && (n = getline(&line, &size, file)) >= 0) {
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        if (n && line[0] != '#' && !add_path(p, NULL, line, (size_t)n))
            code = CLI_EXIT_NO_MEMORY;
    }
    if (ferror(file))
        code = CLI_EXIT_IO;
    free(line);
    fclose(file);
    return code;
}

static int find_paths(struct cli *cli, struct paths *p)
{
    const struct cli_options *o = cli->options;
    struct stat st;
    int code = CLI_EXIT_OK;

    for (int i = 0; !code && i < o->n_inputs; i++) {
        if (!stat(o->inputs[i], &st) && S_ISDIR(st.st_mode))
            code = add_folder(cli, p, o->inputs[i]);
        else if (ends_in(o->inputs[i], ".txt"))
            code = add_list(cli, p, o->inputs[i]);
        else if (!add_path(p, NULL, o->inputs[i], strlen(o->inputs[i])))
            code = CLI_EXIT_NO_MEMORY;
    }
    if (!code && !p->n) {
        cli_say(cli, "no structures");
        code = CLI_EXIT_DATA;
    }
    return code;
}

/* Can none of them be opened? */
static bool none_there(const struct paths *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (!access(p->of[i], R_OK))
            return false;
    return true;
}

/* ---- output ---- */

enum format { FASTA, TABLE, ARRAYS };

enum { CHUNK = 4096 };                    /* structures that are handed to the library together */
static const size_t PIECE_SIZE = 1 << 20; /* text that is gathered before it is kept */

struct chunk {
    const char *paths[CHUNK];
    uint64_t ordinals[CHUNK];
    size_t n;
};

struct run {
    struct cli *cli;
    enum format format;
    bioinfer_job *job;     /* NULL: results go to `out` or `writer` ... */
    struct cli_output out; /* ... otherwise this gathers text of one structure */
    bioinfer_writer *writer;
    struct bioinfer_job_stats stats;
    const struct paths *paths;
    struct chunk *chunk;  /* the structures at hand */
    struct cli_unit unit; /* the structure whose results come in ... */
    char *name;           /* ... and its name, NULL = there is none */
    uint32_t piece;       /* the next of it */
    enum cli_stage stage;
    uint64_t n_structures, n_failed, n_sequences, n_residues, last;
    bool any;
    size_t n_read; /* paths that were handed to the job */
    char id[512];
};

/* Names the origin of a result's sequence: the file, a design, or a record of --sequences. */
static const char *source_of(const struct bioinfer_design_result *r)
{
    return r->sequence_id ? r->sequence_id : r->is_native ? "native" : "design";
}

/* The native sequence of a run that designs has no number. */
static int sample_of(const struct run *run, const struct bioinfer_design_result *r)
{
    return r->is_native && !run->cli->options->score_only ? 0 : r->sample;
}

static const char alphabet[] = "ACDEFGHIKLMNPQRSTVWYX";

static void put_rows(struct run *run, const struct bioinfer_design_result *r)
{
    const unsigned include = run->cli->options->design_include;

    for (int64_t i = 0; i < r->length; i++)
        for (int probs = 0; probs < 2; probs++) {
            const float *row = probs ? r->probs : r->log_probs;
            if (!(include & (probs ? CLI_PROBS : CLI_LOG_PROBS)) || !row)
                continue;
            cli_output_field(&run->out, r->name);
            cli_output_printf(&run->out, "\t%d\t%g\t%s\t%lld\t%c", sample_of(run, r),
                              r->temperature, probs ? "probs" : "logprobs", (long long)i + 1,
                              alphabet[r->codes[i]]);
            for (int c = 0; c < 21; c++)
                cli_output_printf(&run->out, "\t%.6g", (double)row[i * 21 + c]);
            cli_output_printf(&run->out, "\t");
            cli_output_field(&run->out, source_of(r));
            cli_output_printf(&run->out, "\n");
        }
}

/* Gives the first line of the output, "" = there is none. NUL-terminated, in `text`. */
static const char *head_of(const struct run *run, char *text, size_t size)
{
    size_t used;

    if (run->format != TABLE)
        return "";
    if (!run->cli->options->design_include)
        return "name\tsample\ttemperature\tscore\tglobal_score\tseq_recovery\tsequence\tsource\n";
    used = (size_t)snprintf(text, size, "name\tsample\ttemperature\tkind\tposition\tresidue");
    for (int c = 0; c < 21; c++)
        used += (size_t)snprintf(text + used, size - used, "\t%c", alphabet[c]);
    snprintf(text + used, size - used, "\tsource\n");
    return text;
}

static void put_table(struct run *run, const struct bioinfer_design_result *r)
{
    char head[256];

    if (!run->any && !run->job)
        cli_output_printf(&run->out, "%s", head_of(run, head, sizeof head));
    if (run->cli->options->design_include) {
        put_rows(run, r);
        return;
    }
    cli_output_field(&run->out, r->name);
    cli_output_printf(&run->out, "\t%d\t%g\t%.6g\t%.6g\t%.6g\t%s\t", sample_of(run, r),
                      r->temperature, (double)r->score, (double)r->global_score,
                      (double)r->recovery, r->sequence);
    cli_output_field(&run->out, source_of(r));
    cli_output_printf(&run->out, "\n");
}

/* Arrays of one sequence under NAME for the native one, NAME_T0.1_1 for sample 1 at 0.1, NAME_ID
 * for a sequence that was given; further samples of both under names with _2, _3, ... */
static int put_arrays(struct run *run, const struct bioinfer_design_result *r,
                      struct bioinfer_error *err)
{
    const unsigned include = run->cli->options->design_include;
    float scores[3] = {r->score, r->global_score, r->recovery}, *codes;
    struct bioinfer_array arrays[6];
    struct bioinfer_result v = {.ordinal = r->ordinal,
                                .id = r->name,
                                .length = r->length,
                                .message = "",
                                .arrays = arrays,
                                .n_layers_kept = 1};
    char id[1024];
    int n = 0, st;

#define ADD(name, values, dims, rows, columns)                                                     \
    arrays[n++] = (struct bioinfer_array)                                                          \
    {                                                                                              \
        .kind = name, .layer = -1, .n_dims = dims, .shape = {rows, columns}, .data = values        \
    }
    if (!r->is_native && !r->sequence_id)
        snprintf(id, sizeof id, "%.400s_T%g_%d", r->name, r->temperature, r->sample);
    else
        snprintf(id, sizeof id, "%.400s%s%.400s", r->name, r->sequence_id ? "_" : "",
                 r->sequence_id ? r->sequence_id : "");
    if (r->sample > 1 && (r->is_native || r->sequence_id))
        snprintf(id + strlen(id), sizeof id - strlen(id), "_%d", r->sample);
    v.id = id;
    if (!(codes = malloc((size_t)r->length * sizeof *codes))) {
        err->status = BIOINFER_NOMEM;
        snprintf(err->text, sizeof err->text, "%.100s: result", id);
        return BIOINFER_NOMEM;
    }
    for (int64_t i = 0; i < r->length; i++)
        codes[i] = (float)r->codes[i];
    if (!include || include & CLI_LOG_PROBS)
        ADD("log_probs", r->log_probs, 2, r->length, 21);
    if (include & CLI_PROBS && r->probs)
        ADD("probs", r->probs, 2, r->length, 21);
    ADD("S", codes, 1, r->length, 1);
    ADD("scores", scores, 1, 3, 1);
    ADD("mask", r->mask, 1, r->length, 1);
    ADD("design_mask", r->design_mask, 1, r->length, 1);
#undef ADD
    v.n_arrays = v.n_kinds = n;
    if (run->job) {
        v.ordinal = run->unit.ordinal;
        v.piece = run->piece++;
        v.more = 1;
    }
    st = run->job ? bioinfer_job_sink(run->job, &v, err)
                  : bioinfer_writer_put(run->writer, &v, err);
    free(codes);
    return st;
}

/* ---- structures as units of a job ---- */

/* Ends the structure at hand, as all its results are there or the reason why there are none. */
static int end_structure(struct run *run, struct bioinfer_error *err)
{
    int st = 0;

    if (!run->job || !run->name)
        return 0;
    run->stage = CLI_AT_WRITE;
    /* a failure has no row, so it is no first piece; the text of rounds before it stays */
    if (run->unit.status && (!run->piece || run->out.n_text))
        st = cli_job_put(run->job, &run->unit, run->piece++, true, &run->out, err);
    if (!st)
        st = cli_job_put(run->job, &run->unit, run->piece, false, &run->out, err);
    if (!st)
        run->stage = CLI_AT_RUN;
    free(run->name);
    run->name = NULL;
    return st;
}

/* Begins the structure of this result, if it is another one than that at hand. */
static int begin_structure(struct run *run, const struct bioinfer_design_result *r,
                           struct bioinfer_error *err)
{
    const uint64_t ordinal = run->job ? run->chunk->ordinals[r->ordinal] : r->ordinal;
    int st;

    if (!run->job || (run->name && run->unit.ordinal == ordinal))
        return 0;
    if ((st = end_structure(run, err)))
        return st;
    if (!(run->name = strdup(r->name))) {
        err->status = BIOINFER_NOMEM;
        snprintf(err->text, sizeof err->text, "%.100s: result", r->name);
        return BIOINFER_NOMEM;
    }
    run->unit = (struct cli_unit){.ordinal = ordinal, .id = run->name, .length = r->length};
    run->piece = 0;
    return 0;
}

/* Keeps the text of a structure that has very much of it. */
static int keep_text(struct run *run, struct bioinfer_error *err)
{
    if (!run->job || run->out.n_text < PIECE_SIZE)
        return 0;
    run->stage = CLI_AT_WRITE;
    return cli_job_put(run->job, &run->unit, run->piece++, true, &run->out, err);
}

static int take_result(void *user, const struct bioinfer_design_result *r,
                       struct bioinfer_error *err)
{
    struct run *run = user;
    int st;

    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    if ((st = begin_structure(run, r, err)))
        return st;
    if (!run->n_structures || r->ordinal != run->last)
        run->n_structures++;
    run->last = r->ordinal;
    if (r->status) {
        run->n_failed++;
        cli_say_lost(run->cli, "%s: no result: %s: %s", r->name, bioinfer_status_name(r->status),
                     r->message);
        if (run->cli->options->strict) {
            run->stage = CLI_AT_READ;
            err->status = r->status;
            snprintf(err->text, sizeof err->text, "--strict: stopped, nothing written");
            return r->status;
        }
        run->unit.status = r->status;
        run->unit.message = r->message;
        return end_structure(run, err);
    }
    run->n_sequences += !r->is_native || run->cli->options->score_only;
    run->n_residues += (uint64_t)r->length;
    if (run->format == FASTA)
        cli_output_printf(&run->out, ">%s\n%s\n", r->header, r->sequence);
    else if (run->format == TABLE)
        put_table(run, r);
    else if ((st = put_arrays(run, r, err)))
        run->stage = CLI_AT_WRITE;
    run->any = true;
    if (!st && run->out.status) {
        run->stage = CLI_AT_WRITE;
        st = run->out.status;
    }
    return st ? st : keep_text(run, err);
}

/* A bioinfer_source: the name of a structure, and its path for a sequence. */
static int next_structure(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    const char *path, *base;

    (void)err;
    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    if (run->n_read == run->paths->n)
        return 0;
    path = run->paths->of[run->n_read++];
    base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    snprintf(run->id, sizeof run->id, "%.*s", (int)stem_length(base), base);
    *record = (struct bioinfer_record){
        .id = run->id, .description = "", .message = "", .sequence = path, .length = strlen(path)};
    return 1;
}

static void add_structure(struct run *run, uint64_t ordinal)
{
    run->chunk->paths[run->chunk->n] = run->paths->of[ordinal];
    run->chunk->ordinals[run->chunk->n++] = ordinal;
}

/* Designs for all structures that the job hands out, some thousands at a time. Numbers of PyTorch's
 * are drawn for one structure after the other: also for those that an earlier run has done. */
static int run_job(struct run *run, bioinfer_design *design, struct bioinfer_error *err)
{
    const bool serial = run->cli->options->rng && strcmp(run->cli->options->rng, "native");
    struct chunk *c = run->chunk;
    struct bioinfer_record record;
    uint64_t next = 0, held = UINT64_MAX; /* held: taken from the job, and not yet in the chunk */
    int st = 0;

    bioinfer_job_set_source(run->job, next_structure, run);
    do {
        c->n = 0;
        if (held != UINT64_MAX) {
            if ((st = bioinfer_design_skip(design, (const char *const *)run->paths->of + next,
                                           (size_t)(held - next), err)))
                return st;
            add_structure(run, next = held);
            held = UINT64_MAX;
        }
        while (c->n < CHUNK && (st = bioinfer_job_source(run->job, &record, err)) > 0) {
            if (serial && record.ordinal != next + c->n) {
                held = record.ordinal;
                break;
            }
            add_structure(run, record.ordinal);
        }
        run->last = UINT64_MAX;
        if (st < 0)
            run->stage = st == BIOINFER_NO_SPACE || st == BIOINFER_IO ? CLI_AT_WRITE : CLI_AT_READ;
        if (st < 0 ||
            (c->n && ((st = bioinfer_design_run(design, c->paths, c->n, take_result, run, err)) ||
                      (st = end_structure(run, err)))))
            return st;
        next += c->n;
    } while (c->n || held != UINT64_MAX);
    return 0;
}

static bool choose_format(struct cli *cli, struct run *run)
{
    const struct cli_options *o = cli->options;
    const char *name = o->format ? o->format : "fasta";

    run->format = !strcmp(name, "fasta") ? FASTA : !strcmp(name, "tsv") ? TABLE : ARRAYS;
    if (run->format == ARRAYS && (!o->output || !strcmp(o->output, "-"))) {
        cli_say(cli, "--format %s needs -o FILE", name);
        return false;
    }
    if (run->format == FASTA && o->design_include) {
        cli_say(cli, "--include needs an output of arrays or a table: -o FILE.npz or FILE.tsv");
        return false;
    }
    return true;
}

/* ---- options ---- */

static bool take_number(const char *option, const char *text, double *out)
{
    char *end;

    if (!text)
        return true;
    *out = strtod(text, &end);
    if (end != text && !*end)
        return true;
    cli_say(NULL, "--%s: '%s' is not a number", option, text);
    return false;
}

/* "0.1,0.2 0.3" -> numbers; the count, -1: said why. */
static int take_list(const char *text, double *out, int max)
{
    int n = 0;

    while (text && *text) {
        char *end;
        if (n == max) {
            cli_say(NULL, "--temperature: more than %d", max);
            return -1;
        }
        out[n] = strtod(text, &end);
        if (end == text || (*end && *end != ',' && *end != ' ')) {
            cli_say(NULL, "--temperature: '%s' is not a number", text);
            return -1;
        }
        n++;
        text = end + strspn(end, ", ");
    }
    return n;
}

static int rng_of(const char *name)
{
    return !name || !strcmp(name, "native") ? BIOINFER_RNG_NATIVE
           : !strcmp(name, "torch")         ? BIOINFER_RNG_TORCH
           : !strcmp(name, "torch-mkl")     ? BIOINFER_RNG_TORCH_MKL
                                            : BIOINFER_RNG_TORCH_CUDA;
}

static bool fill_params(struct cli *cli, struct bioinfer_design_params *p, double *temperatures,
                        int max)
{
    const struct cli_options *o = cli->options;
    int modes = o->score_only + o->conditional + o->conditional_backbone + o->unconditional;

    if (modes > 1) {
        cli_say(cli, "only one of --score-only, --conditional, --conditional-backbone and "
                     "--unconditional");
        return false;
    }
    if (o->seed == 1) {
        cli_say(cli, "--seed 0: seeds begin at 1; to the reference programs 0 means any");
        return false;
    }
    if (o->sequences && !o->score_only) {
        cli_say(cli, "--sequences needs --score-only");
        return false;
    }
    p->mode = o->score_only             ? BIOINFER_DESIGN_SCORE
              : o->conditional          ? BIOINFER_DESIGN_CONDITIONAL
              : o->conditional_backbone ? BIOINFER_DESIGN_CONDITIONAL_BACKBONE
              : o->unconditional        ? BIOINFER_DESIGN_UNCONDITIONAL
                                        : BIOINFER_DESIGN_SAMPLE;
    p->rng = rng_of(o->rng);
    p->seed = o->seed ? (uint64_t)o->seed - 1 : 0; /* 0: the library's default */
    p->rng_skip = o->rng_skip == 1 ? -1 : o->rng_skip ? o->rng_skip - 1 : 0;
    p->n_sequences = (int)o->num_seq;
    p->batch = (int)o->batch;
    p->n_temperatures = take_list(o->temperature, temperatures, max);
    p->temperatures = p->n_temperatures > 0 ? temperatures : NULL;
    p->chains = o->chains;
    p->chains_file = o->chains_file;
    p->fixed_file = o->fixed;
    p->homooligomer = o->tied && !strcmp(o->tied, "homooligomer");
    p->tied_file = p->homooligomer ? NULL : o->tied;
    p->omit_aa = o->omit_aa;
    p->omit_file = o->omit;
    p->bias_file = o->bias;
    p->bias_residue_file = o->bias_residue;
    p->pssm_file = o->pssm;
    p->pssm_bias = o->pssm_bias;
    p->pssm_log_odds = o->pssm_log_odds;
    p->sequences = o->sequences;
    p->buried = o->buried;
    p->interface_ = o->interface_;
    p->transmembrane = o->transmembrane ? (int)o->transmembrane - 1 : 0;
    p->no_ligand = o->no_ligand;
    p->side_chains = o->side_chains;
    p->batch_tokens = o->batch_tokens;
    p->max_length = o->max_length;
    p->no_rules = o->no_rules[0] ? o->no_rules : NULL;
    p->progress = cli_progress_tick;
    p->progress_user = cli;
    return p->n_temperatures >= 0 && take_number("backbone-noise", o->noise, &p->backbone_noise) &&
           take_number("pssm-multi", o->pssm_multi, &p->pssm_multi) &&
           take_number("pssm-threshold", o->pssm_threshold, &p->pssm_threshold);
}

/* ---- the run ---- */

static void say_failed(const struct run *run)
{
    cli_say(run->cli, "%llu of %llu structures have no result", (unsigned long long)run->n_failed,
            (unsigned long long)run->n_structures);
}

static void say_summary(struct run *run)
{
    const struct cli *cli = run->cli;
    double seconds = cli_now() - cli->progress.start;

    if (cli->options->quiet)
        return;
    cli_say(run->cli, "%llu structures, %llu %s in %.2f s, model %s from %s, %s %s%s%s",
            (unsigned long long)(run->n_structures - run->n_failed),
            (unsigned long long)run->n_sequences, cli->options->score_only ? "scores" : "sequences",
            seconds, cli->info.name, cli->info.path, cli->info.device, cli->info.kernels,
            cli->options->output ? " -> " : "", cli->options->output ? cli->options->output : "");
    if (run->job)
        cli_job_say_shard(run->cli, &run->stats, cli->options->output);
}

static int dump(struct cli *cli, bioinfer_design *design)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st;

    cli_output_open(&out, NULL, &err);
    st = bioinfer_design_dump(design, 100, !o->dump_graph || strcmp(o->dump_graph, "plain"),
                              o->trace_rules, cli_output_callback, &out, &err);
    if (st && !out.status)
        return cli_fail(cli, CLI_AT_RUN, st, &err);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* All that changes results and is neither a file nor part of the model's fingerprint. */
static void describe_options(const struct run *run, const struct bioinfer_design_params *p,
                             struct cli_output *text)
{
    static const char *const formats[] = {"fasta", "tsv", "arrays"};
    const struct cli_options *o = run->cli->options;

    cli_output_printf(text,
                      "format=%s include=%u mode=%d rng=%s seed=%llu rng-skip=%lld "
                      "num-seq=%d batch=%d temperature=",
                      formats[run->format], o->design_include, p->mode, o->rng ? o->rng : "native",
                      (unsigned long long)(p->seed ? p->seed : 37), (long long)p->rng_skip,
                      p->n_sequences ? p->n_sequences : 1, p->batch ? p->batch : 1);
    for (int i = 0; i < p->n_temperatures; i++)
        cli_output_printf(text, "%s%.17g", i ? "," : "", p->temperatures[i]);
    cli_output_printf(text, "%s backbone-noise=%.17g chains=%s homooligomer=%d omit-aa=%s",
                      p->n_temperatures ? "" : "0.1", p->backbone_noise, p->chains ? p->chains : "",
                      p->homooligomer, p->omit_aa ? p->omit_aa : "X");
    cli_output_printf(text, " pssm-multi=%.17g pssm-threshold=%.17g pssm-bias=%d pssm-log-odds=%d",
                      p->pssm_multi, p->pssm_threshold, p->pssm_bias, p->pssm_log_odds);
    cli_output_printf(text,
                      " no-ligand=%d side-chain-context=%d transmembrane=%d buried=%s "
                      "interface=%s max-length=%lld no-rule=%s",
                      p->no_ligand, p->side_chains, p->transmembrane, p->buried ? p->buried : "",
                      p->interface_ ? p->interface_ : "", (long long)p->max_length, o->no_rules);
    cli_output_write(text, "", 1);
}

static int open_job(struct run *run, const struct bioinfer_design_params *p)
{
    struct cli *cli = run->cli;
    const struct bioinfer_job_input all[] = {
        {"chains", p->chains_file}, {"fixed", p->fixed_file},
        {"tied", p->tied_file},     {"omit", p->omit_file},
        {"bias", p->bias_file},     {"bias-residue", p->bias_residue_file},
        {"pssm", p->pssm_file},     {"sequences", p->sequences}};
    struct bioinfer_job_input given[CLI_COUNT(all)];
    struct bioinfer_job_params params = cli_job_params(cli, "design");
    struct bioinfer_writer_params writer;
    struct bioinfer_error err = {0};
    struct cli_output options = {0};
    char head[256];
    int st, code = cli_fingerprint(cli);

    if (code)
        return code;
    if (!(run->chunk = calloc(1, sizeof *run->chunk)))
        return cli_fail(cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    writer = cli_writer_params(cli);
    describe_options(run, p, &options);
    for (size_t i = 0; i < CLI_COUNT(all); i++)
        if (all[i].path)
            given[params.n_inputs++] = all[i];
    params.writer = &writer;
    params.options = options.text;
    params.inputs = given;
    params.files = 1;
    params.text_head = run->format == ARRAYS ? NULL : head_of(run, head, sizeof head);
    if (!(st = options.status))
        st = bioinfer_job_open(&run->job, cli->ctx, cli->options->output, &params, &err);
    cli_output_close(&options);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

static int open_output(struct run *run, struct bioinfer_error *err)
{
    struct cli *cli = run->cli;
    struct bioinfer_writer_params params = BIOINFER_PARAMS(
        struct bioinfer_writer_params, .format = cli->options->format,
        .suffix_duplicates = cli->options->dup_ids && !strcmp(cli->options->dup_ids, "suffix"),
        .model = cli->info.name);

    return run->format == ARRAYS
               ? bioinfer_writer_open(&run->writer, cli->ctx, cli->options->output, &params, err)
               : cli_output_open(&run->out, cli->options->output, err);
}

static int finish(struct run *run)
{
    struct cli *cli = run->cli;
    struct bioinfer_error err = {0};
    int st, code;

    if (run->job)
        return cli_job_finish(cli, run->job, &run->stats);
    if (run->format == ARRAYS && (code = cli_sign(cli, run->writer)))
        return code;
    st = run->format == ARRAYS ? bioinfer_writer_finish(run->writer, &err)
                               : cli_output_finish(&run->out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

int cli_design(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct paths paths = {0};
    struct run run = {.cli = cli, .stage = CLI_AT_RUN, .paths = &paths};
    struct bioinfer_design_params params = BIOINFER_PARAMS(struct bioinfer_design_params,
                                                           .mode = 0);
    bioinfer_design *design = NULL;
    struct bioinfer_error err = {0};
    double temperatures[64];
    bool opened = false;
    int st, code;

    if (!cli_job_needs_file(cli, o->output) || !choose_format(cli, &run) ||
        !fill_params(cli, &params, temperatures, 64))
        return CLI_EXIT_USAGE;
    if ((code = find_paths(cli, &paths)) || (code = cli_open_context(cli)) ||
        (code = cli_open_model(cli)))
        goto out;
    if ((st = bioinfer_design_new(&design, cli->model, &params, &err))) {
        code = cli_fail(cli,
                        st == BIOINFER_INVALID || st == BIOINFER_UNSUPPORTED ? CLI_AT_CONFIG
                                                                             : CLI_AT_INPUT,
                        st, &err);
        goto out;
    }
    if (o->dump_graph || o->trace_rules) {
        code = dump(cli, design);
        goto out;
    }
    if (cli_job_wanted(o)) {
        if ((code = open_job(&run, &params)))
            goto out;
    } else if ((st = open_output(&run, &err))) {
        code = cli_fail(cli, CLI_AT_CREATE, st, &err);
        goto out;
    }
    opened = true;
    if (o->profile)
        bioinfer_design_set_profile(design, 1);
    cli_progress_start(cli);
    st = run.job ? run_job(&run, design, &err)
                 : bioinfer_design_run(design, (const char *const *)paths.of, paths.n, take_result,
                                       &run, &err);
    cli_progress_end(cli);
    if (st) {
        code = cli_fail(cli, cli_stop_signal() ? CLI_AT_RUN : run.stage, st, &err);
        code = cli_job_stopped(cli, run.job, code);
        goto out;
    }
    if (run.n_failed == run.n_structures && none_there(&paths)) {
        say_failed(&run);
        if (run.job)
            bioinfer_job_discard(run.job);
        code = CLI_EXIT_NO_INPUT;
        goto out;
    }
    if ((code = finish(&run)))
        goto out;
    if (o->profile) {
        struct bioinfer_profile profile = {.struct_size = sizeof profile};
        if (!bioinfer_design_get_profile(design, &profile))
            cli_show_profile(cli, &profile);
    }
    say_summary(&run);
    if (run.job && run.stats.failed) {
        cli_job_say_failed(cli, "structures", &run.stats, o->n_shards ? NULL : o->output);
        code = CLI_EXIT_RECORDS;
    } else if (run.n_failed) {
        say_failed(&run);
        code = CLI_EXIT_RECORDS;
    }
out:
    if (opened)
        cli_output_close(&run.out);
    bioinfer_job_close(&run.job);
    free(run.name);
    free(run.chunk);
    bioinfer_writer_close(&run.writer);
    bioinfer_design_free(&design);
    for (size_t i = 0; i < paths.n; i++)
        free(paths.of[i]);
    free(paths.of);
    return code;
}

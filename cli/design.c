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

static bool is_structure(const char *name)
{
    static const char *const suffixes[] = {".pdb", ".ent", ".cif", ".mmcif", ".PDB", ".CIF",
                                           ".pdb.gz", ".ent.gz", ".cif.gz", ".mmcif.gz",
                                           ".PDB.gz", ".CIF.gz"};

    for (size_t i = 0; i < CLI_COUNT(suffixes); i++)
        if (ends_in(name, suffixes[i]))
            return true;
    return false;
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
        cli_say(cli, "%s: no .pdb, .ent, .cif or .mmcif file in this folder, nor one with .gz "
                     "behind that", path);
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

struct run {
    struct cli *cli;
    enum format format;
    struct cli_output out;
    bioinfer_writer *writer;
    enum cli_stage stage;
    uint64_t n_structures, n_failed, n_sequences, n_residues, last;
    bool any;
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

static void put_table(struct run *run, const struct bioinfer_design_result *r)
{
    if (!run->any && !run->cli->options->design_include)
        cli_output_printf(&run->out, "name\tsample\ttemperature\tscore\tglobal_score\t"
                                     "seq_recovery\tsequence\tsource\n");
    if (!run->any && run->cli->options->design_include) {
        cli_output_printf(&run->out, "name\tsample\ttemperature\tkind\tposition\tresidue");
        for (int c = 0; c < 21; c++)
            cli_output_printf(&run->out, "\t%c", alphabet[c]);
        cli_output_printf(&run->out, "\tsource\n");
    }
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
    struct bioinfer_result v = {.ordinal = r->ordinal, .id = r->name, .length = r->length,
                                .message = "", .arrays = arrays, .n_layers_kept = 1};
    char id[1024];
    int n = 0, st;

#define ADD(name, values, dims, rows, columns)                                         \
    arrays[n++] = (struct bioinfer_array){.kind = name, .layer = -1, .n_dims = dims,   \
                                          .shape = {rows, columns}, .data = values}
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
    st = bioinfer_writer_put(run->writer, &v, err);
    free(codes);
    return st;
}

static int take_result(void *user, const struct bioinfer_design_result *r,
                       struct bioinfer_error *err)
{
    struct run *run = user;
    int st = 0;

    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
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
        return 0;
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
    return st;
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
    p->mode = o->score_only            ? BIOINFER_DESIGN_SCORE
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
    return p->n_temperatures >= 0 &&
           take_number("backbone-noise", o->noise, &p->backbone_noise) &&
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
            (unsigned long long)run->n_sequences,
            cli->options->score_only ? "scores" : "sequences", seconds, cli->info.name,
            cli->info.path,
            cli->info.device, cli->info.kernels, cli->options->output ? " -> " : "",
            cli->options->output ? cli->options->output : "");
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

static int open_output(struct run *run, struct bioinfer_error *err)
{
    struct cli *cli = run->cli;
    struct bioinfer_writer_params params = BIOINFER_PARAMS(
        struct bioinfer_writer_params, .format = cli->options->format,
        .suffix_duplicates = cli->options->dup_ids && !strcmp(cli->options->dup_ids, "suffix"),
        .model = cli->info.name);

    return run->format == ARRAYS ? bioinfer_writer_open(&run->writer, cli->ctx,
                                                        cli->options->output, &params, err)
                                 : cli_output_open(&run->out, cli->options->output, err);
}

int cli_design(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli, .stage = CLI_AT_RUN};
    struct bioinfer_design_params params = BIOINFER_PARAMS(struct bioinfer_design_params, .mode = 0);
    bioinfer_design *design = NULL;
    struct bioinfer_error err = {0};
    struct paths paths = {0};
    double temperatures[64];
    bool opened = false;
    int st, code;

    if (!choose_format(cli, &run) || !fill_params(cli, &params, temperatures, 64))
        return CLI_EXIT_USAGE;
    if ((code = find_paths(cli, &paths)) || (code = cli_open_context(cli)) ||
        (code = cli_open_model(cli)))
        goto out;
    if ((st = bioinfer_design_new(&design, cli->model, &params, &err))) {
        code = cli_fail(cli, st == BIOINFER_INVALID || st == BIOINFER_UNSUPPORTED ? CLI_AT_CONFIG
                                                                                  : CLI_AT_INPUT,
                        st, &err);
        goto out;
    }
    if (o->dump_graph || o->trace_rules) {
        code = dump(cli, design);
        goto out;
    }
    if ((st = open_output(&run, &err))) {
        code = cli_fail(cli, CLI_AT_CREATE, st, &err);
        goto out;
    }
    opened = true;
    if (o->profile)
        bioinfer_design_set_profile(design, 1);
    cli_progress_start(cli);
    st = bioinfer_design_run(design, (const char *const *)paths.of, paths.n, take_result, &run,
                             &err);
    cli_progress_end(cli);
    if (st) {
        code = cli_fail(cli, cli_stop_signal() ? CLI_AT_RUN : run.stage, st, &err);
        goto out;
    }
    if (run.n_failed == run.n_structures && none_there(&paths)) {
        say_failed(&run);
        code = CLI_EXIT_NO_INPUT;
        goto out;
    }
    if (run.format == ARRAYS && (code = cli_sign(cli, run.writer)))
        goto out;
    st = run.format == ARRAYS ? bioinfer_writer_finish(run.writer, &err)
                              : cli_output_finish(&run.out, &err);
    if (st) {
        code = cli_fail(cli, CLI_AT_WRITE, st, &err);
        goto out;
    }
    if (o->profile) {
        struct bioinfer_profile profile = {.struct_size = sizeof profile};
        if (!bioinfer_design_get_profile(design, &profile))
            cli_show_profile(cli, &profile);
    }
    say_summary(&run);
    if (run.n_failed) {
        say_failed(&run);
        code = CLI_EXIT_RECORDS;
    }
out:
    if (opened && run.format != ARRAYS)
        cli_output_close(&run.out);
    bioinfer_writer_close(&run.writer);
    bioinfer_design_free(&design);
    for (size_t i = 0; i < paths.n; i++)
        free(paths.of[i]);
    free(paths.of);
    return code;
}

/* design_task.c - the task of designs: a structure becomes pieces of text, or of arrays. */
#include "design.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const size_t PIECE_SIZE = 1 << 20; /* text that is gathered before it is kept */

/* The ordinal of structures whose numbers are drawn alone. */
#define SKIPPED UINT64_MAX

/* ---- what a sequence looks like ---- */

const char *cli_design_source(const struct bioinfer_result *r)
{
    return r->design->sequence_id ? r->design->sequence_id
           : r->design->is_native ? "native"
                                  : "design";
}

int cli_design_sample(const struct bioinfer_result *r, bool score_only)
{
    return r->design->is_native && !score_only ? 0 : r->design->sample;
}

/* Gives what the sequence was drawn from; NULL where nothing was drawn. */
static const float *probs_of(const struct bioinfer_result *r)
{
    return r->n_arrays > 1 ? r->arrays[1].data : NULL;
}

static const char alphabet[] = "ACDEFGHIKLMNPQRSTVWYX";

static void put_rows(struct cli_designer *d, const struct bioinfer_result *r)
{
    const unsigned include = d->cli->options->design_include;

    for (int64_t i = 0; i < r->length; i++)
        for (int probs = 0; probs < 2; probs++) {
            const float *row = probs ? probs_of(r) : r->arrays[0].data;
            if (!(include & (probs ? CLI_PROBS : CLI_LOG_PROBS)) || !row)
                continue;
            cli_output_field(&d->text, r->id);
            cli_output_printf(&d->text, "\t%d\t%g\t%s\t%lld\t%c",
                              cli_design_sample(r, d->cli->options->score_only),
                              r->design->temperature, probs ? "probs" : "logprobs",
                              (long long)i + 1, alphabet[r->design->codes[i]]);
            for (int c = 0; c < 21; c++)
                cli_output_printf(&d->text, "\t%.6g", (double)row[i * 21 + c]);
            cli_output_printf(&d->text, "\t");
            cli_output_field(&d->text, cli_design_source(r));
            cli_output_printf(&d->text, "\n");
        }
}

void cli_design_row(struct cli_output *text, const struct bioinfer_result *r, bool score_only)
{
    cli_output_field(text, r->id);
    cli_output_printf(text, "\t%d\t%g\t%.6g\t%.6g\t%.6g\t%s\t", cli_design_sample(r, score_only),
                      r->design->temperature, (double)r->design->score,
                      (double)r->design->global_score, (double)r->design->recovery, r->sequence);
    cli_output_field(text, cli_design_source(r));
    cli_output_printf(text, "\n");
}

static void put_table(struct cli_designer *d, const struct bioinfer_result *r)
{
    if (d->cli->options->design_include)
        put_rows(d, r);
    else
        cli_design_row(&d->text, r, d->cli->options->score_only);
}

/* Names the arrays of a sequence: NAME for the native one, NAME_T0.1_1 for sample 1 at 0.1, NAME_ID
 * for a sequence that was given; further samples of both have names with _2, _3, ... */
static void name_arrays(char *id, size_t size, const struct bioinfer_result *r)
{
    if (!r->design->is_native && !r->design->sequence_id)
        snprintf(id, size, "%.400s_T%g_%d", r->id, r->design->temperature, r->design->sample);
    else
        snprintf(id, size, "%.400s%s%.400s", r->id, r->design->sequence_id ? "_" : "",
                 r->design->sequence_id ? r->design->sequence_id : "");
    if (r->design->sample > 1 && (r->design->is_native || r->design->sequence_id))
        snprintf(id + strlen(id), size - strlen(id), "_%d", r->design->sample);
}

int cli_design_arrays(struct cli_design_arrays *a, const struct bioinfer_result *r,
                      unsigned include, struct bioinfer_error *err)
{
    struct bioinfer_array *arrays = a->arrays;
    int n = 0;

    name_arrays(a->id, sizeof a->id, r);
    a->scores[0] = r->design->score;
    a->scores[1] = r->design->global_score;
    a->scores[2] = r->design->recovery;
    if (!(a->codes = malloc((size_t)r->length * sizeof *a->codes))) {
        err->status = BIOINFER_NOMEM;
        snprintf(err->text, sizeof err->text, "%.100s: result", a->id);
        return BIOINFER_NOMEM;
    }
    for (int64_t i = 0; i < r->length; i++)
        a->codes[i] = (float)r->design->codes[i];
#define ADD(name, values, dims, rows, columns)                                                     \
    arrays[n++] = (struct bioinfer_array)                                                          \
    {                                                                                              \
        .kind = name, .n_dims = dims, .shape = {rows, columns}, .data = values                     \
    }
    if (!include || include & CLI_LOG_PROBS)
        ADD("log_probs", r->arrays[0].data, 2, r->length, 21);
    if (include & CLI_PROBS && probs_of(r))
        ADD("probs", probs_of(r), 2, r->length, 21);
    ADD("S", a->codes, 1, r->length, 1);
    ADD("scores", a->scores, 1, 3, 1);
    ADD("mask", r->design->mask, 1, r->length, 1);
    ADD("design_mask", r->design->design_mask, 1, r->length, 1);
#undef ADD
    a->result = (struct bioinfer_result){.ordinal = r->ordinal,
                                         .id = a->id,
                                         .length = r->length,
                                         .message = "",
                                         .arrays = arrays,
                                         .n_arrays = n,
                                         .n_kinds = n,
                                         .n_layers_kept = 1};
    return 0;
}

static int put_arrays(struct cli_designer *d, const struct bioinfer_result *r,
                      struct bioinfer_error *err)
{
    struct cli_design_arrays a;
    int st = cli_design_arrays(&a, r, d->cli->options->design_include, err);

    if (st)
        return st;
    a.result.ordinal = d->unit.ordinal;
    a.result.piece = d->piece++;
    a.result.more = 1;
    st = d->sink(d->sink_user, &a.result, err);
    free(a.codes);
    return st;
}

const char *cli_design_head(const struct cli *cli, enum cli_design_format format, char *text,
                            size_t size)
{
    size_t used;

    if (format != CLI_TABLE)
        return "";
    if (!cli->options->design_include)
        return CLI_DESIGN_HEAD;
    used = (size_t)snprintf(text, size, "name\tsample\ttemperature\tkind\tposition\tresidue");
    for (int c = 0; c < 21; c++)
        used += (size_t)snprintf(text + used, size - used, "\t%c", alphabet[c]);
    snprintf(text + used, size - used, "\tsource\n");
    return text;
}

/* ---- structures as pieces ---- */

static int no_memory(const char *name, struct bioinfer_error *err)
{
    err->status = BIOINFER_NOMEM;
    snprintf(err->text, sizeof err->text, "%.100s: result", name);
    return BIOINFER_NOMEM;
}

/* Hands on the text that was gathered as a piece; the last one says how the structure ended. */
static int give_text(struct cli_designer *d, bool more, struct bioinfer_error *err)
{
    const struct cli_unit *u = &d->unit;
    char counts[32];
    struct bioinfer_text texts[2];
    struct bioinfer_result r = {.ordinal = u->ordinal,
                                .id = u->id,
                                .length = u->length,
                                .status = more ? 0 : u->status,
                                .message = more || !u->status ? "" : u->message,
                                .piece = d->piece++,
                                .more = more,
                                .texts = texts};

    if (d->text.status)
        return no_memory(u->id, err);
    if (d->text.n_text)
        texts[r.n_texts++] = (struct bioinfer_text){"text", d->text.text, d->text.n_text};
    d->text.n_text = 0;
    if (!more)
        texts[r.n_texts++] = (struct bioinfer_text){
            CLI_COUNTS, counts,
            (size_t)snprintf(counts, sizeof counts, "%llu", (unsigned long long)d->n_sequences)};
    return d->sink(d->sink_user, &r, err);
}

/* Ends the structure at hand, as all its results are there or the reason why there are none. */
static int end_structure(struct cli_designer *d, struct bioinfer_error *err)
{
    int st = 0;

    if (!d->name)
        return 0;
    /* a failure has no row, so it is no first piece; the text of rounds before it stays */
    if (d->unit.status && (!d->piece || d->text.n_text))
        st = give_text(d, true, err);
    if (!st)
        st = give_text(d, false, err);
    free(d->name);
    d->name = NULL;
    return st;
}

/* Begins the structure of this result, if it is another one than that at hand. */
static int begin_structure(struct cli_designer *d, const struct bioinfer_result *r,
                           struct bioinfer_error *err)
{
    int st;

    if (d->name && d->unit.ordinal == r->ordinal)
        return 0;
    if ((st = end_structure(d, err)))
        return st;
    if (!(d->name = strdup(r->id)))
        return no_memory(r->id, err);
    d->unit = (struct cli_unit){.ordinal = r->ordinal, .id = d->name, .length = r->length};
    d->piece = 0;
    d->n_sequences = 0;
    return 0;
}

/* A bioinfer_sink. */
static int take_sequence(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct cli_designer *d = user;
    int st;

    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    if (r->ordinal == SKIPPED)
        return 0;
    if ((st = begin_structure(d, r, err)))
        return st;
    if (r->status) {
        d->unit.status = r->status;
        d->unit.message = r->message;
        return end_structure(d, err);
    }
    if (!r->design)
        return 0;
    d->n_sequences += !r->design->is_native || d->cli->options->score_only;
    if (d->format == CLI_FASTA)
        cli_output_printf(&d->text, ">%s\n%s\n", r->design->header, r->sequence);
    else if (d->format == CLI_TABLE)
        put_table(d, r);
    else if ((st = put_arrays(d, r, err)))
        return st;
    return d->text.n_text < PIECE_SIZE ? 0 : give_text(d, true, err);
}

/* Reads the file of a structure into *record; a failure of the file is that of the record. */
static int read_file(struct cli_designer *d, const char *path, struct bioinfer_record *record,
                     struct bioinfer_error *err)
{
    int st;

    bioinfer_record_free(&d->file);
    st = bioinfer_record_read(&d->file, d->cli->ctx, path, &d->why);
    if (st == BIOINFER_NOMEM) {
        *err = d->why;
        return st;
    }
    if (st)
        *record = (struct bioinfer_record){
            .id = "", .description = "", .status = st, .message = d->why.text};
    else
        *record = *d->file;
    return 1;
}

/* A bioinfer_source: the next structure. Numbers of PyTorch's are drawn for one structure after the
 * other, also for those that an earlier run has done. */
static int next_design(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_designer *d = user;
    int st;

    if (!d->path) {
        struct bioinfer_record r = {0};
        if ((st = d->source(d->source_user, &r, err)) != 1)
            return st;
        if (!(d->path = strndup(r.sequence, r.length)) || !(d->id = strdup(r.id)))
            return no_memory(r.id, err);
        d->ordinal = r.ordinal;
    }
    if (cli_design_ordered(d->cli->options) && d->next < d->ordinal) {
        st = read_file(d, d->all->of[d->next++], record, err);
        record->ordinal = SKIPPED;
        record->skip = 1;
        return st;
    }
    free(d->given);
    d->given = d->id;
    d->id = NULL;
    st = read_file(d, d->path, record, err);
    record->id = d->given;
    record->ordinal = d->ordinal;
    d->next = d->ordinal + 1;
    free(d->path);
    d->path = NULL;
    return st;
}

static int run_task(struct cli *cli, bioinfer_source source, void *source_user, bioinfer_sink sink,
                    void *sink_user, struct bioinfer_error *err)
{
    struct cli_designer *d = cli->task;
    int st;

    d->source = source;
    d->source_user = source_user;
    d->sink = sink;
    d->sink_user = sink_user;
    st = bioinfer_task_run(d->design, next_design, d, take_sequence, d, err);
    return st ? st : end_structure(d, err);
}

/* ---- options ---- */

bool cli_design_ordered(const struct cli_options *o)
{
    return o->rng && strcmp(o->rng, "native");
}

static bool choose_format(struct cli *cli, struct cli_designer *d)
{
    const struct cli_options *o = cli->options;
    const char *name = o->format ? o->format : "fasta";

    d->format = !strcmp(name, "fasta") ? CLI_FASTA : !strcmp(name, "tsv") ? CLI_TABLE : CLI_ARRAYS;
    if (d->format == CLI_ARRAYS && (!o->output || !strcmp(o->output, "-"))) {
        cli_say(cli, "--format %s needs -o FILE", name);
        return false;
    }
    if (d->format == CLI_FASTA && o->design_include) {
        cli_say(cli, "--include needs an output of arrays or a table: -o FILE.npz or FILE.tsv");
        return false;
    }
    return true;
}

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

static int order_of(const char *name)
{
    return !name || !strcmp(name, "reference") ? BIOINFER_ORDER_REFERENCE
           : !strcmp(name, "file")             ? BIOINFER_ORDER_FILE
                                               : BIOINFER_ORDER_NUMBER;
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
    p->rng_skip = o->rng_skip ? o->rng_skip - 1 : 0;
    p->no_rng_skip = o->rng_skip == 1;
    p->n_sequences = (int)o->num_seq;
    p->per_draw = (int)o->batch;
    p->n_temperatures = take_list(o->temperature, temperatures, max);
    p->temperatures = p->n_temperatures > 0 ? temperatures : NULL;
    p->chains = o->chains;
    p->homooligomer = o->tied && !strcmp(o->tied, "homooligomer");
    p->omit_aa = o->omit_aa;
    p->pssm_bias = o->pssm_bias;
    p->pssm_log_odds = o->pssm_log_odds;
    p->buried = o->buried;
    p->interface_ = o->interface_;
    p->transmembrane = o->transmembrane ? (int)o->transmembrane - 1 : 0;
    p->no_ligand = o->no_ligand;
    p->side_chains = o->side_chains;
    p->residue_order = order_of(o->residue_order);
    p->all_chains = o->all_chains;
    p->tokens_at_once = o->batch_tokens;
    p->max_length = o->max_length;
    p->no_rules = o->no_rules[0] ? o->no_rules : NULL;
    p->progress_user = cli;
    return p->n_temperatures >= 0 && take_number("backbone-noise", o->noise, &p->backbone_noise) &&
           take_number("pssm-multi", o->pssm_multi, &p->pssm_multi) &&
           take_number("pssm-threshold", o->pssm_threshold, &p->pssm_threshold);
}

/* ---- files beside the structures ---- */

void cli_design_inputs(const struct cli *cli, struct bioinfer_job_input inputs[CLI_DESIGN_INPUTS])
{
    const struct cli_options *o = cli->options;
    const bool homooligomer = o->tied && !strcmp(o->tied, "homooligomer");
    const struct bioinfer_job_input all[CLI_DESIGN_INPUTS] = {
        {"chains", o->chains_file},
        {"fixed", o->fixed},
        {"tied", homooligomer ? NULL : o->tied},
        {"omit", o->omit},
        {"bias", o->bias},
        {"bias-residue", o->bias_residue},
        {"pssm", o->pssm},
        {"sequences", o->sequences}};

    memcpy(inputs, all, sizeof all);
}

/* Opens the design with the texts of these files, in the order of cli_design_inputs(). */
static int open_design(struct cli *cli, struct cli_designer *d, struct bioinfer_error *err)
{
    struct bioinfer_design_params *p = &d->params;
    const struct bioinfer_text **const params[CLI_DESIGN_INPUTS] = {
        &p->chains_json, &p->fixed_json,        &p->tied_json, &p->omit_json,
        &p->bias_json,   &p->bias_residue_json, &p->pssm_json, &p->sequences};
    struct bioinfer_job_input inputs[CLI_DESIGN_INPUTS];
    struct bioinfer_record *files[CLI_DESIGN_INPUTS] = {NULL};
    struct bioinfer_text texts[CLI_DESIGN_INPUTS];
    int st = 0;

    cli_design_inputs(cli, inputs);
    for (int i = 0; !st && i < CLI_DESIGN_INPUTS; i++) {
        if (!inputs[i].path ||
            (st = bioinfer_record_read(&files[i], cli->ctx, inputs[i].path, err)))
            continue;
        texts[i] = (struct bioinfer_text){
            .name = inputs[i].path, .text = files[i]->sequence, .length = files[i]->length};
        *params[i] = &texts[i];
    }
    if (!st)
        st = bioinfer_design_open(&d->design, cli->model, p, err);
    for (int i = 0; i < CLI_DESIGN_INPUTS; i++) {
        *params[i] = NULL;
        bioinfer_record_free(&files[i]);
    }
    return st;
}

/* ---- the task ---- */

static int begin(struct cli *cli)
{
    struct cli_designer *d = calloc(1, sizeof *d);

    if (!(cli->task = d))
        return cli_fail(cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    d->cli = cli;
    d->params.struct_size = sizeof d->params;
    return choose_format(cli, d) &&
                   fill_params(cli, &d->params, d->temperatures, CLI_COUNT(d->temperatures))
               ? CLI_EXIT_OK
               : CLI_EXIT_USAGE;
}

static int open_task(struct cli *cli, cli_tick tick)
{
    struct cli_designer *d = cli->task;
    struct bioinfer_error err = {0};
    int st;

    d->params.progress = tick;
    if ((st = open_design(cli, d, &err)))
        return cli_fail(cli,
                        st == BIOINFER_INVALID || st == BIOINFER_UNSUPPORTED ? CLI_AT_CONFIG
                                                                             : CLI_AT_INPUT,
                        st, &err);
    if (cli->options->profile)
        bioinfer_task_set_profile(d->design, 1);
    return CLI_EXIT_OK;
}

static void profile(struct cli *cli)
{
    struct cli_designer *d = cli->task;
    struct bioinfer_profile p = {.struct_size = sizeof p};

    if (!bioinfer_task_get_profile(d->design, &p))
        cli_show_profile(cli, &p);
}

static void end(struct cli *cli)
{
    struct cli_designer *d = cli->task;

    if (!d)
        return;
    bioinfer_task_close(&d->design);
    bioinfer_record_free(&d->file);
    free(d->path);
    free(d->id);
    free(d->given);
    free(d->name);
    cli_output_close(&d->text);
    free(d);
    cli->task = NULL;
}

/* A residue of a PDB file is about 650 bytes; the encoder's pass and each sequence take about as
 * long. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    const struct cli_designer *d = cli->task;
    const uint64_t n_sequences = d->params.n_sequences > 0 ? (uint64_t)d->params.n_sequences : 1;
    const uint64_t n_temperatures = d->params.n_temperatures > 0
                                        ? (uint64_t)d->params.n_temperatures
                                        : 1;
    struct cli_weight w = {1, 1};
    struct stat st;

    if (!stat(record->sequence, &st) && st.st_size > 0)
        w.bytes += (uint64_t)st.st_size;
    w.work += w.bytes / 650 * (1 + n_sequences * n_temperatures);
    return w;
}

const struct cli_task cli_design_task = {.begin = begin,
                                         .open = open_task,
                                         .run = run_task,
                                         .profile = profile,
                                         .end = end,
                                         .weigh = weigh,
                                         .ordered = cli_design_ordered,
                                         .of_files = true};

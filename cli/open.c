/* open.c - the steps that runs begin with: context, reader, device and model. */
#include "options.h"

#include <string.h>

static void on_log(void *user, int level, const char *text)
{
    struct cli *cli = user;
    if (cli_note_hook && (level == BIOINFER_LOG_NAMED || level == BIOINFER_LOG_ERROR))
        cli_note_hook(text);
    if (level == BIOINFER_LOG_ERROR) { /* results are there, but not all that there should be */
        cli->lost_data = true;
        cli_say(cli, "%s", text);
    } else if (!cli->options->quiet && !cli->hushed)
        cli_say(cli, "%s%s", level == BIOINFER_LOG_INFO ? "" : "warning: ", text);
}

int cli_open_context(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_context_params params = BIOINFER_PARAMS(
        struct bioinfer_context_params, .log = on_log, .log_user = cli,
        .n_threads = (int)o->threads, .cpu_mask = o->cpu_mask);
    struct bioinfer_error err = {0};
    int st = bioinfer_context_new(&cli->ctx, &params, &err);
    return st ? cli_fail(cli, CLI_AT_SETUP, st, &err) : CLI_EXIT_OK;
}

/* One protein of FEWEST residues in 10^12 is made of these letters alone. */
static bool looks_like_nucleotides(const struct bioinfer_record *r)
{
    enum { FEWEST = 20 };
    return r->length >= FEWEST && strspn(r->sequence, "ACGTUN") == r->length;
}

static struct bioinfer_reader_params reader_params(const struct cli_options *o, uint64_t longest)
{
    return BIOINFER_PARAMS(struct bioinfer_reader_params,
                           .residues = o->raw_residues ? BIOINFER_RESIDUES_RAW
                                                       : BIOINFER_RESIDUES_DEFAULT,
                           .max_length = longest);
}

/* Reads the next record of all inputs, one after the other, which count on. */
static int next_of_inputs(struct cli *cli, struct bioinfer_record *record,
                          struct bioinfer_error *err)
{
    struct cli_paths *p = &cli->inputs;
    int st;
    while (!(st = bioinfer_reader_next(cli->reader, record, err)) && cli->at_input + 1 < p->n) {
        const struct bioinfer_reader_params params = reader_params(cli->options,
                                                                   BIOINFER_MAX_RESIDUES);
        bioinfer_reader_close(&cli->reader);
        cli->first_ordinal = cli->next_ordinal;
        cli->input_name = p->of[++cli->at_input];
        if ((st = bioinfer_reader_open(&cli->reader, cli->ctx, cli->input_name, &params, err)))
            return st;
    }
    if (st > 0) {
        record->ordinal += cli->first_ordinal;
        cli->next_ordinal = record->ordinal + 1;
    }
    return st;
}

int cli_next_protein(struct cli *cli, struct bioinfer_record *record, struct bioinfer_error *err)
{
    const int st = next_of_inputs(cli, record, err);
    if (st > 0 && !record->status && !cli->told_nucleotides && !cli->options->quiet &&
        looks_like_nucleotides(record) &&
        cli_letters_of(cli->info.family) != BIOINFER_LETTERS_BASES) {
        cli->told_nucleotides = true;
        cli_say(cli,
                "warning: %s, %s: all letters are A, C, G, T, U or N, as of nucleotides; they "
                "are taken for amino acids",
                cli->input_name, record->id);
    }
    return st;
}

int cli_open_reader(struct cli *cli, uint64_t longest)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_reader_params params = reader_params(o, longest);
    struct bioinfer_error err = {0};
    const char *path = o->input;
    int st, code;
    if (cli_subcommand_of(o->command)->many) {
        if (!cli->inputs.n && (code = cli_sequences_find(cli, &cli->inputs)))
            return code;
        path = cli->inputs.of[0];
    }
    cli->input_name = strcmp(path, "-") ? path : "standard input";
    st = bioinfer_reader_open(&cli->reader, cli->ctx, path, &params, &err);
    return st ? cli_fail(cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

/* A device that is not there is told apart from broken weights before they are opened.
 */
int cli_check_device(struct cli *cli)
{
    const char *name = cli->options->device;
    char known[256] = "auto";
    struct bioinfer_device device;
    if (!name || !strcmp(name, "auto"))
        return CLI_EXIT_OK;
    /* Opening a GPU takes tenths of a second, so it is done once, for the model. `reference`, the
     * definitions of the ops, is for checks (tools/same.py) and stands in no list. */
    if (!strncmp(name, "cuda:", 5) || !strncmp(name, "hip:", 4) || !strcmp(name, "reference"))
        return CLI_EXIT_OK;
    for (int i = 0;; i++) {
        device = (struct bioinfer_device){.struct_size = sizeof device};
        if (bioinfer_device_get(cli->ctx, i, &device))
            break;
        if (!strcmp(device.name, name)) {
            if (device.usable)
                return CLI_EXIT_OK;
            cli_say(cli, "--device %s: %s", name, device.reason);
            return CLI_EXIT_NO_DEVICE;
        }
        if (device.usable && strlen(known) + strlen(device.name) + 3 < sizeof known)
            strcat(strcat(known, ", "), device.name);
    }
    cli_say(cli, "--device %s: no such device, expected one of: %s", name, known);
    return CLI_EXIT_NO_DEVICE;
}

/* Is the CPU the only device that a run with this --device can get? */
static bool cpu_alone(struct cli *cli)
{
    const char *name = cli->options->device;
    struct bioinfer_device device;
    if (name && strcmp(name, "auto"))
        return !strcmp(name, "cpu");
    for (int i = 0;; i++) {
        device = (struct bioinfer_device){.struct_size = sizeof device};
        if (bioinfer_device_get(cli->ctx, i, &device))
            return true;
        if (device.usable && strcmp(device.name, "cpu"))
            return false;
    }
}

int cli_open_model(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_model_params params = BIOINFER_PARAMS(
        struct bioinfer_model_params, .family = o->model, .device = o->device,
        .precision = o->precision, .check_weights = o->check_weights, .window = o->window,
        .positions = o->positions, .rope_frequencies = o->rope_frequencies,
        .factor_order = o->factor_order, .strict_pickle = o->strict_pickle, .verify = o->verify,
        .head = o->command & (CLI_EMBED | CLI_SERVE) ? o->head : NULL, .adapter = o->adapter,
        .ensemble = o->ensemble, .n_ensemble = o->n_ensemble);
    struct bioinfer_error err = {0};
    int st, code = cli_check_device(cli);
    if (code)
        return code;
    if (o->precision && !strcmp(o->precision, "fp16") && cpu_alone(cli)) {
        cli_say(cli, "--precision fp16 needs a GPU: the CPU computes in fp32");
        return CLI_EXIT_USAGE;
    }
    st = bioinfer_model_open(&cli->model, cli->ctx, o->weights, &params, &err);
    if (st)
        return cli_fail(cli, CLI_AT_MODEL, st, &err);
    cli->info.struct_size = sizeof cli->info;
    st = bioinfer_model_get_info(cli->model, &cli->info);
    return st ? cli_fail(cli, CLI_AT_MODEL, st, NULL) : CLI_EXIT_OK;
}

int cli_fingerprint(struct cli *cli)
{
    struct bioinfer_error err = {0};
    int st;
    if (cli->fingerprint) /* from workers, or from before */
        return CLI_EXIT_OK;
    st = cli->sequences && !cli->loads_late ? bioinfer_task_prepare(cli->sequences, &err) : 0;
    if (!st)
        st = bioinfer_model_fingerprint(cli->model, &cli->fingerprint, &err);
    return st ? cli_fail(cli, CLI_AT_MODEL, st, &err) : CLI_EXIT_OK;
}

void cli_close(struct cli *cli)
{
    bioinfer_task_close(&cli->sequences);
    bioinfer_model_close(&cli->model);
    bioinfer_reader_close(&cli->reader);
    cli_paths_free(&cli->inputs);
    bioinfer_index_close(&cli->index);
    bioinfer_context_free(&cli->ctx);
}

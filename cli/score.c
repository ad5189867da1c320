/* score.c - `bioinfer score MODEL INPUT`: zero-shot scores of a masked language model.
 *
 *   --mutations FILE   one wild type; the table comes back with one more column
 *   (none)             every record, every position, the 20 standard residues
 *   --method pppl      every record: log-likelihood and perplexity */
#include "score.h"

#include <stdlib.h>
#include <string.h>

struct scoring {
    struct cli_run run;
    struct bioinfer_record wild_type; /* the one record, with --mutations ... */
    char *text;                       /* ... which holds its texts ... */
    bool given;                       /* ... and has been handed out */
    uint64_t n_long;                  /* records beyond the window, or the model's longest */
    uint64_t n_too_long;              /* without a result for their length */
};

/* ---- the wild type ---- */

/* The wild type as the caller's own: the reader's copy ends with its next record. */
static int read_wild_type(struct scoring *s)
{
    struct cli *cli = s->run.cli;
    struct bioinfer_record *record = &s->wild_type;
    struct bioinfer_error err = {0};
    struct bioinfer_record more = {0};
    size_t id_size;
    int st = cli_next_protein(cli, record, &err);
    if (st < 0)
        return cli_fail(cli, CLI_AT_READ, st, &err);
    if (!st) {
        cli_say(cli, "%s: no records", cli->input_name);
        return CLI_EXIT_DATA;
    }
    if (record->status || !record->length) {
        cli_say(cli, "%s: %s", record->id,
                record->status ? record->message : "the wild type is empty");
        return CLI_EXIT_DATA;
    }
    id_size = strlen(record->id) + 1;
    if (!(s->text = malloc(id_size + record->length + 1)))
        return cli_fail(cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    memcpy(s->text, record->id, id_size);
    memcpy(s->text + id_size, record->sequence, record->length);
    s->text[id_size + record->length] = 0;
    record->id = s->text;
    record->sequence = s->text + id_size;
    record->description = "";
    record->message = "";
    if ((st = bioinfer_reader_next(cli->reader, &more, &err)) < 0)
        return cli_fail(cli, CLI_AT_READ, st, &err);
    if (st) {
        cli_say(cli, "%s: --mutations needs one wild type, the file has a second record '%s'",
                cli->input_name, more.id);
        return CLI_EXIT_DATA;
    }
    return CLI_EXIT_OK;
}

/* A bioinfer_source. */
static int give_wild_type(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct scoring *s = user;
    (void)err;
    if (s->given)
        return 0;
    *record = s->wild_type;
    return s->given = true;
}

/* Takes the wild type in place of all records. */
static int take_wild_type(struct cli_run *run)
{
    if (!run->cli->options->mutations)
        return CLI_EXIT_OK;
    run->source = give_wild_type;
    run->source_user = run;
    return read_wild_type((struct scoring *)run);
}

/* ---- words ---- */

/* Says how records of more residues than the model was trained with were scored. */
static void say_long(struct cli_run *run)
{
    const struct scoring *s = (struct scoring *)run;
    const long long window = cli_score_params(run->cli->options)->window,
                    longest = run->cli->info.longest;
    if (window && s->n_long)
        cli_say(run->cli,
                "%llu of more than %lld residues: in windows of %lld, by ProteinGym's rule",
                (unsigned long long)s->n_long, window, window);
    else if (s->n_long)
        cli_say(run->cli,
                "%llu of more than %lld residues: in one pass (--window %lld: in windows, as "
                "ProteinGym has them)",
                (unsigned long long)s->n_long, longest, longest);
    else if (s->n_too_long)
        cli_say(run->cli, "--window %lld scores longer records in windows", longest);
}

static void say_mutants(struct cli_run *run)
{
    if (run->counts[1])
        cli_run_say_lost(run, run->counts[1], run->counts[2], "mutants", "score");
}

/* ---- the command ---- */

static int check(struct cli_run *run)
{
    const struct cli_options *o = run->cli->options;
    return o->dry_run || cli_job_needs_file(run->cli, o->output) ? CLI_EXIT_OK : CLI_EXIT_USAGE;
}

static int open_input(struct cli_run *run)
{
    return cli_open_reader(run->cli, BIOINFER_MAX_RESIDUES);
}

static void describe(struct cli_run *run, struct cli_output *text)
{
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_score_params *p = cli_score_params(o);
    /* the words of a method that journals have had from the first one on */
    cli_output_printf(text, "method=%s offset=%lld mutation-col=",
                      p->method == BIOINFER_WT_MARGINALS ? "masked-marginals" : "",
                      (long long)(o->has_offset ? o->offset : 1));
    cli_output_printf(text, "%s max-length=%lld raw-residues=%d no-rule=%s",
                      !o->mutations     ? ""
                      : o->mutation_col ? o->mutation_col
                                        : "mutant",
                      (long long)p->max_length, p->raw_residues, p->no_rules ? p->no_rules : "");
    if (p->window)
        cli_output_printf(text, " window=%lld", (long long)p->window);
    cli_run_input(run, "mutations", o->mutations);
}

static int take(struct cli_run *run, struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct scoring *s = (struct scoring *)run;
    const int64_t window = cli_score_params(run->cli->options)->window;
    const int64_t most = window ? window : run->cli->info.longest;
    if (run->cli->options->mutations && r->status == BIOINFER_DEVICE) {
        snprintf(err->text, sizeof err->text, "%s", r->message); /* all there is to compute */
        return r->status;
    }
    if (!r->more) {
        s->n_too_long += cli_score_wants_windows(run->cli, r);
        s->n_long += !r->status && most > 0 && r->length > most;
    }
    return 0;
}

int cli_score(struct cli *cli)
{
    const bool mutations = cli->options->mutations != NULL;
    struct scoring s = {.run = {.cli = cli,
                                .task = &cli_score_task,
                                .check = check,
                                .open = open_input,
                                .indexed = !mutations,
                                .length = "residues",
                                .head = mutations ? ""
                                        : cli_score_is_pppl(cli->options)
                                            ? "id\tlength\tpll\tpppl\n"
                                            : "id\tposition\twildtype\tmutant\tscore\n",
                                .describe = describe,
                                .ahead = take_wild_type,
                                .take = take,
                                .records = "records",
                                .result = mutations ? NULL : "result",
                                .missing = "score",
                                .results = "scores",
                                .counted = true,
                                .say = say_long,
                                .say_failed = mutations ? say_mutants : NULL}};
    const int code = cli_run(&s.run);
    free(s.text);
    return code;
}

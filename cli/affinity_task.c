/* affinity_task.c - the task of affinities: a ligand becomes a row of a table. */
#include "affinity.h"
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The place of a record that is being computed, until its result comes. */
struct waiting {
    uint64_t ordinal, number;
};

struct rater {
    struct cli *cli;
    bioinfer_task *task;
    struct cli_output text; /* gathers a row */
    char *description;      /* the parts of that of the record given last */
    struct waiting *waiting;
    size_t first, n, cap; /* first ... first + n - 1 wait, in the order of the records */
    bioinfer_source source;
    bioinfer_sink sink;
    void *source_user, *sink_user;
};

static int no_memory(struct bioinfer_error *err)
{
    err->status = BIOINFER_NOMEM;
    snprintf(err->text, sizeof err->text, "out of memory for a row");
    return BIOINFER_NOMEM;
}

/* ---- records ---- */

static bool wait_for(struct rater *r, uint64_t ordinal, uint64_t number)
{
    if (r->first && r->first + r->n == r->cap) {
        memmove(r->waiting, r->waiting + r->first, r->n * sizeof *r->waiting);
        r->first = 0;
    }
    if (r->first + r->n == r->cap) {
        const size_t cap = r->cap ? 2 * r->cap : 1024;
        struct waiting *grown = realloc(r->waiting, cap * sizeof *grown);
        if (!grown)
            return false;
        r->waiting = grown;
        r->cap = cap;
    }
    r->waiting[r->first + r->n++] = (struct waiting){ordinal, number};
    return true;
}

/* A bioinfer_source: takes the description apart. */
static int next_complex(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct rater *r = user;
    struct cli_complex_place place;
    int st = r->source(r->source_user, record, err);

    if (st != 1)
        return st;
    free(r->description);
    if (!(r->description = strdup(record->description)))
        return no_memory(err);
    cli_complex_place(r->description, &place);
    if (!wait_for(r, record->ordinal, place.number))
        return no_memory(err);
    record->description = "";
    record->receptor = place.receptor;
    record->file = place.file;
    record->line = place.line;
    record->number = place.number;
    return 1;
}

/* ---- rows ---- */

void cli_affinity_row(struct cli_output *text, const struct bioinfer_result *result,
                      uint64_t number)
{
    const struct bioinfer_affinity *a = result->affinity;

    cli_output_field(text, result->id);
    cli_output_printf(text, "\t%" PRIu64, number);
    if (a)
        cli_output_printf(text, "\t%.6f\t%lld\t%lld\t%lld\t%.2f", (double)a->energy,
                          (long long)a->n_pairs, (long long)a->n_atoms,
                          (long long)a->n_pocket_atoms, a->distance);
    else
        cli_output_printf(text, "\t\t\t\t\t");
    cli_output_printf(text, "\t%s\t", bioinfer_status_name(result->status));
    if (a && !a->n_pairs)
        cli_output_printf(text, CLI_AFFINITY_FAR);
    else
        cli_output_field(text, result->message);
    cli_output_printf(text, "\n");
}

/* Hands out the row of a result. Every record has one. */
static int give(struct rater *r, const struct bioinfer_result *result, uint64_t number,
                bioinfer_sink sink, void *sink_user, struct bioinfer_error *err)
{
    cli_affinity_row(&r->text, result, number);
    return cli_rows_give(&r->text, result, result->affinity && !result->affinity->n_pairs, sink,
                         sink_user, err);
}

/* A bioinfer_sink. */
static int take_energy(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct rater *r = user;
    const struct waiting *next = r->waiting + r->first;

    if (!r->n || next->ordinal != result->ordinal) {
        err->status = BIOINFER_INTERNAL;
        snprintf(err->text, sizeof err->text, "%.100s: a result that nothing waits for",
                 result->id);
        return BIOINFER_INTERNAL;
    }
    r->first++;
    r->n--;
    return give(r, result, next->number, r->sink, r->sink_user, err);
}

/* Gives the row of a record that ended every worker. */
static int lose(struct cli *cli, const struct bioinfer_record *record, int status,
                const char *message, bioinfer_sink sink, void *sink_user,
                struct bioinfer_error *err)
{
    const struct bioinfer_result result = {
        .ordinal = record->ordinal, .id = record->id, .status = status, .message = message};
    char *description = strdup(record->description ? record->description : "");
    struct cli_complex_place place;
    int st;

    if (!description)
        return no_memory(err);
    cli_complex_place(description, &place);
    st = give(cli->task, &result, place.number, sink, sink_user, err);
    free(description);
    return st;
}

/* ---- the task ---- */

static int begin(struct cli *cli)
{
    struct rater *r = calloc(1, sizeof *r);

    if (!(cli->task = r))
        return cli_fail(cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    r->cli = cli;
    return CLI_EXIT_OK;
}

static int open_task(struct cli *cli, cli_tick tick)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_affinity_params params = BIOINFER_PARAMS(
        struct bioinfer_affinity_params, .receptor = o->receptor, .pocket = (int)o->pocket,
        .drop_unknown = o->drop_unknown, .tokens_at_once = o->batch_tokens,
        .no_rules = o->no_rules[0] ? o->no_rules : NULL, .progress = tick, .progress_user = cli);
    struct bioinfer_error err = {0};
    struct rater *r = cli->task;
    int st = bioinfer_affinity_open(&cli->sequences, cli->model, &params, &err);

    if (st)
        return cli_fail(cli,
                        st == BIOINFER_INVALID || st == BIOINFER_UNSUPPORTED ? CLI_AT_CONFIG
                                                                             : CLI_AT_INPUT,
                        st, &err);
    r->task = cli->sequences;
    if (o->profile)
        bioinfer_task_set_profile(r->task, 1);
    return CLI_EXIT_OK;
}

static int run_task(struct cli *cli, bioinfer_source source, void *source_user, bioinfer_sink sink,
                    void *sink_user, struct bioinfer_error *err)
{
    struct rater *r = cli->task;

    r->source = source;
    r->source_user = source_user;
    r->sink = sink;
    r->sink_user = sink_user;
    r->first = r->n = 0;
    return bioinfer_task_run(r->task, next_complex, r, take_energy, r, err);
}

static void end(struct cli *cli)
{
    struct rater *r = cli->task;

    bioinfer_task_close(&cli->sequences);
    if (!r)
        return;
    cli_output_close(&r->text);
    free(r->description);
    free(r->waiting);
    free(r);
    cli->task = NULL;
}

/* A line of SDF is about 70 bytes for an atom; the pocket's atoms cost as much for every ligand. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    (void)cli;
    return (struct cli_weight){.work = 400 + record->length / 70, .bytes = record->length + 5};
}

const struct cli_task cli_affinity_task = {.begin = begin,
                                           .open = open_task,
                                           .run = run_task,
                                           .lose = lose,
                                           .profile = cli_print_profile,
                                           .end = end,
                                           .weigh = weigh};

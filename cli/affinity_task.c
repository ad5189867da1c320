/* affinity_task.c - the task of affinities: a ligand becomes a row of a table. */
#include "affinity.h"
#include "task.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The place of a record that is being computed, until its result comes. */
struct waiting {
    uint64_t ordinal, number;
};

struct rater {
    struct cli_work work; /* gathers a row as text */
    char *description;    /* parts of the last record */
    struct waiting *waiting;
    size_t first, n, cap; /* first ... first + n - 1 wait, in the order of the records */
};

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
    const int st = cli_complex_take(&r->work, record, &r->description, &place, err);
    return st == 1 && !wait_for(r, record->ordinal, place.number)
               ? cli_status_no_memory(err, CLI_NO_ROW)
               : st;
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
                struct bioinfer_error *err)
{
    cli_affinity_row(&r->work.text, result, number);
    return cli_work_give(&r->work, result, result->affinity && !result->affinity->n_pairs, err);
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
    return give(r, result, next->number, err);
}

/* Gives the row of a record that ended every worker. */
static int lose(void *state, const struct bioinfer_record *record,
                const struct bioinfer_result *lost, struct bioinfer_error *err)
{
    char *description = strdup(record->description ? record->description : "");
    struct cli_complex_place place;
    int st;
    if (!description)
        return cli_status_no_memory(err, CLI_NO_ROW);
    cli_complex_place(description, &place);
    st = give(state, lost, place.number, err);
    free(description);
    return st;
}

/* ---- the task ---- */

static void fill(const struct cli_options *o, void *params)
{
    ((struct bioinfer_affinity_params *)params)->receptor = o->receptor;
}

static void end(void *state)
{
    struct rater *r = state;
    free(r->description);
    free(r->waiting);
}

/* A line of SDF is about 70 bytes for an atom; the pocket's atoms cost as much for every ligand. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    (void)cli;
    return (struct cli_weight){.work = 400 + record->length / 70, .bytes = record->length + 5};
}

const struct cli_task cli_affinity_task = {.name = "affinity",
                                           .size = sizeof(struct rater),
                                           .fill = fill,
                                           .next = next_complex,
                                           .take = take_energy,
                                           .lose = lose,
                                           .end = end,
                                           .reads_files = true,
                                           .weigh = weigh};

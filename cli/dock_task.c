/* dock_task.c - the task of docking: a ligand becomes a file of poses, and rows of scores.tsv. */
#include "dock.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EMPTY = 14 }; /* columns between `record` and `status` */

struct docker {
    struct cli_work work;    /* gathers rows as text */
    struct cli_output poses; /* the ligand's */
    char *description;       /* the record given last: its parts */
    uint64_t number;         /* where the ligand stands in its file */
    int n_poses, n_failed;   /* the ligand's poses; n_failed: that fail a check */
};

/* A bioinfer_source: takes the description apart. */
static int next_ligand(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct docker *d = user;
    struct cli_complex_place place;
    int st;
    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    if ((st = d->work.source(d->work.source_user, record, err)) != 1)
        return st;
    free(d->description);
    if (!(d->description = strdup(record->description)))
        return cli_status_no_memory(err, "out of memory for a row");
    cli_complex_place(d->description, &place);
    d->number = place.number ? place.number : record->ordinal + 1;
    record->description = "";
    record->receptor = place.receptor;
    record->file = *place.file ? place.file : NULL;
    record->line = place.line;
    record->number = place.number;
    return 1;
}

/* ---- rows ---- */

static void put_number(struct cli_output *text, double x, int digits)
{
    if (isnan(x))
        cli_output_printf(text, "\t");
    else
        cli_output_printf(text, "\t%.*f", digits, x);
}

static void put_rated(struct cli_output *text, const struct bioinfer_rescored *r)
{
    put_number(text, r->before, 6);
    put_number(text, r->moved, 3);
    cli_output_printf(text, "\t%d", r->n_clashes);
    put_number(text, r->distance, 3);
    put_number(text, r->closest, 3);
    put_number(text, r->overlap, 4);
    cli_output_printf(text, "\t%d", r->n_internal);
    cli_pose_checks(text, r->failed);
}

static void put_empty(struct cli_output *text, int n)
{
    for (int i = 0; i < n; i++)
        cli_output_printf(text, "\t");
}

/* A pose, or a sample that was lost. */
static void put_docked(struct cli_output *text, const struct bioinfer_docked *p,
                       const struct bioinfer_rescored *r)
{
    if (p->rank)
        cli_output_printf(text, "\t%d", p->rank);
    else
        put_empty(text, 1);
    put_number(text, p->confidence, 4);
    put_number(text, r ? r->affinity : (double)NAN, 6);
    cli_output_printf(text, "\t%" PRId64 "\t%d", p->seed, p->sample);
    if (p->rank)
        cli_output_printf(text, "\t%" PRId64, p->n_atoms);
    else
        put_empty(text, 1);
    if (r)
        put_rated(text, r);
    else
        put_empty(text, 8);
}

static void put_row(const struct docker *d, struct cli_output *text,
                    const struct bioinfer_result *r)
{
    const struct bioinfer_docked *p = r->docked;
    const int status = r->status ? r->status : p ? p->status : 0;
    cli_output_field(text, r->id);
    cli_output_printf(text, "\t%" PRIu64, d->number);
    if (p)
        put_docked(text, p, r->rescored);
    else
        put_empty(text, EMPTY);
    cli_output_printf(text, "\t%s\t", bioinfer_status_name(status));
    if (p && p->status)
        cli_output_printf(text, "%s",
                          status == BIOINFER_NONFINITE ? "scores of this sample are not finite"
                                                       : "this sample went astray");
    else if (p && !r->rescored)
        cli_output_printf(text, "Vina's function does not know an element: the pose is not rated");
    else if (r->rescored && !r->rescored->n_pairs)
        cli_output_printf(text, "%s", CLI_AFFINITY_FAR);
    else
        cli_output_field(text, r->message);
    cli_output_printf(text, "\n");
}

/* ---- results ---- */

/* Hands out rows and poses of a ligand, and counts. A status is a piece of its own. */
static int give(struct docker *d, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct cli_work *w = &d->work;
    char counts[64];
    struct bioinfer_text texts[3] = {{"row", w->text.text, w->text.n_text}};
    struct bioinfer_result piece = {.ordinal = r->ordinal,
                                    .id = r->id,
                                    .length = r->length,
                                    .message = "",
                                    .n_texts = 1,
                                    .texts = texts};
    int st;
    if (w->text.status || d->poses.status)
        return cli_status_no_memory(err, "out of memory for the poses of a ligand");
    if (d->poses.n_text)
        texts[piece.n_texts++] = (struct bioinfer_text){"sdf", d->poses.text, d->poses.n_text};
    snprintf(counts, sizeof counts, "%d %d", d->n_poses, d->n_failed);
    if (r->status) {
        piece.more = 1;
        if ((st = w->sink(w->sink_user, &piece, err)))
            return st;
        piece.piece = 1;
        piece.more = piece.n_texts = 0;
        piece.status = r->status;
        piece.message = r->message;
    }
    texts[piece.n_texts++] = (struct bioinfer_text){CLI_COUNTS, counts, strlen(counts)};
    st = w->sink(w->sink_user, &piece, err);
    w->text.n_text = d->poses.n_text = 0;
    d->n_poses = d->n_failed = 0;
    return st;
}

/* A bioinfer_sink: gathers the pieces of a ligand. */
static int take_pose(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct docker *d = user;
    put_row(d, &d->work.text, r);
    for (int i = 0; i < r->n_texts; i++)
        cli_output_write(&d->poses, r->texts[i].text, r->texts[i].length);
    d->n_poses += r->docked && r->docked->rank;
    d->n_failed += r->rescored && r->rescored->failed;
    return r->more ? 0 : give(d, r, err);
}

static int lose(void *state, const struct bioinfer_record *record,
                const struct bioinfer_result *lost, struct bioinfer_error *err)
{
    struct docker *d = state;
    struct cli_complex_place place = {0};
    char *description = strdup(record->description);
    if (!description)
        return cli_status_no_memory(err, "out of memory for a row");
    cli_complex_place(description, &place);
    d->number = place.number ? place.number : record->ordinal + 1;
    free(description);
    put_row(d, &d->work.text, lost);
    return give(d, lost, err);
}

/* ---- the task ---- */

static void fill(const struct cli_options *o, void *params)
{
    struct bioinfer_dock_params *p = params;
    p->receptor = o->receptor;
    p->weights = o->weights;
    p->text = 1;
}

/* Ligands take seconds: a worker gets few at a time. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    (void)cli;
    return (struct cli_weight){.work = CLI_FIRST_CHUNK / 2, .bytes = record->length};
}

static void end(void *state)
{
    struct docker *d = state;
    cli_output_close(&d->poses);
    free(d->description);
}

const struct cli_task cli_dock_task = {.name = "dock",
                                       .size = sizeof(struct docker),
                                       .fill = fill,
                                       .next = next_ligand,
                                       .take = take_pose,
                                       .lose = lose,
                                       .end = end,
                                       .weigh = weigh,
                                       .no_model = true,
                                       .reads_files = true};

/* design_task.c - the task of designs: a structure becomes pieces of text, or of arrays. */
#include "design.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const size_t PIECE_SIZE = 1 << 20; /* text that is gathered before it is kept */

/* The ordinal of structures whose numbers are drawn alone. */
#define SKIPPED UINT64_MAX

/* ---- sequences ---- */

static void put_table(struct cli_designer *d, const struct bioinfer_result *r)
{
    if (d->work.cli->options->design_include)
        cli_design_put_rows(d, r);
    else
        cli_design_row(&d->work.text, r, d->params->mode == BIOINFER_DESIGN_SCORE);
}

static int put_arrays(struct cli_designer *d, const struct bioinfer_result *r,
                      struct bioinfer_error *err)
{
    struct cli_design_arrays a;
    int st = cli_design_arrays(&a, r, d->work.cli->options->design_include, err);
    if (st)
        return st;
    a.result.ordinal = d->unit.ordinal;
    a.result.piece = d->piece++;
    a.result.more = 1;
    st = d->work.sink(d->work.sink_user, &a.result, err);
    free(a.codes);
    return st;
}

/* ---- structures as pieces ---- */

static int no_memory(const char *name, struct bioinfer_error *err)
{
    return cli_status_no_memory(err, "%.100s: result", name);
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
    if (d->work.text.status)
        return no_memory(u->id, err);
    if (d->work.text.n_text)
        texts[r.n_texts++] = (struct bioinfer_text){"text", d->work.text.text, d->work.text.n_text};
    d->work.text.n_text = 0;
    if (!more)
        texts[r.n_texts++] = (struct bioinfer_text){
            CLI_COUNTS, counts,
            (size_t)snprintf(counts, sizeof counts, "%llu", (unsigned long long)d->n_sequences)};
    return d->work.sink(d->work.sink_user, &r, err);
}

/* Ends the structure at hand, as all its results are there or the reason why there are none. */
static int end_structure(struct cli_designer *d, struct bioinfer_error *err)
{
    int st = 0;
    if (!d->name)
        return 0;
    /* a failure has no row, so it is no first piece; the text of rounds before it stays */
    if (d->unit.status && (!d->piece || d->work.text.n_text))
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
    d->n_sequences += !r->design->is_native || d->params->mode == BIOINFER_DESIGN_SCORE;
    if (d->format == CLI_FASTA)
        cli_output_printf(&d->work.text, ">%s\n%s\n", r->design->header, r->sequence);
    else if (d->format == CLI_TABLE)
        put_table(d, r);
    else if ((st = put_arrays(d, r, err)))
        return st;
    return d->work.text.n_text < PIECE_SIZE ? 0 : give_text(d, true, err);
}

/* Reads the file of a structure into *record; a failure of the file is that of the record. */
static int read_file(struct cli_designer *d, const char *path, struct bioinfer_record *record,
                     struct bioinfer_error *err)
{
    int st;
    bioinfer_record_free(&d->file);
    st = bioinfer_record_read(&d->file, d->work.cli->ctx, path, &d->why);
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
        if ((st = d->work.source(d->work.source_user, &r, err)) != 1)
            return st;
        if (!(d->path = strndup(r.sequence, r.length)) || !(d->id = strdup(r.id)))
            return no_memory(r.id, err);
        d->ordinal = r.ordinal;
    }
    if (cli_design_ordered(d->work.cli->options) && d->next < d->ordinal) {
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

/* Ends the last structure. */
static int flush(void *state, struct bioinfer_error *err)
{
    return end_structure(state, err);
}

/* ---- options ---- */

bool cli_design_ordered(const struct cli_options *o)
{
    const struct bioinfer_design_params *p = bioinfer_params_struct(o->params);
    return p->rng != BIOINFER_RNG_NATIVE;
}

static bool check_options(struct cli *cli, struct cli_designer *d)
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
    if (d->params->sequences && d->params->mode != BIOINFER_DESIGN_SCORE) {
        cli_say(cli, "--sequences needs --score-only");
        return false;
    }
    return true;
}

/* ---- the task ---- */

static int begin(struct cli *cli)
{
    struct cli_designer *d = cli->task;
    d->params = bioinfer_params_struct(cli->options->params);
    return check_options(cli, d) ? CLI_EXIT_OK : CLI_EXIT_USAGE;
}

static void end(void *state)
{
    struct cli_designer *d = state;
    bioinfer_record_free(&d->file);
    free(d->path);
    free(d->id);
    free(d->given);
    free(d->name);
}

/* A residue of a PDB file is about 650 bytes; the encoder's pass and each sequence take about as
 * long. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    const struct cli_designer *d = cli->task;
    const uint64_t n_sequences = d->params->n_sequences > 0 ? (uint64_t)d->params->n_sequences : 1;
    const uint64_t n_temperatures = d->params->n_temperatures > 0
                                        ? (uint64_t)d->params->n_temperatures
                                        : 1;
    struct cli_weight w = {1, 1};
    struct stat st;
    if (!stat(record->sequence, &st) && st.st_size > 0)
        w.bytes += (uint64_t)st.st_size;
    w.work += w.bytes / 650 * (1 + n_sequences * n_temperatures);
    return w;
}

const struct cli_task cli_design_task = {.name = "design",
                                         .size = sizeof(struct cli_designer),
                                         .begin = begin,
                                         .next = next_design,
                                         .take = take_sequence,
                                         .flush = flush,
                                         .end = end,
                                         .weigh = weigh,
                                         .ordered = cli_design_ordered,
                                         .of_files = true,
                                         .reads_files = true,
                                         .loads_late = true};

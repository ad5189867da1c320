/* tracks_input.c - the input of tracks: windows, intervals, and clusters of variants. */
#include "tracks.h"

static int read_window_of_fasta(struct tracks_input *in, struct bioinfer_record *record,
                                struct bioinfer_error *err)
{
    const long long window = (long long)in->tracker->is.window;
    int st = bioinfer_reader_next(in->tracker->work.cli->reader, record, err);
    record->ordinal = in->n_read;
    in->n_read += st > 0;
    if (st <= 0 || record->status || record->length == (size_t)window)
        return st;
    snprintf(in->why, sizeof in->why,
             "%zu bases, a window has %lld (--window takes others; --genome reads windows around "
             "intervals)",
             record->length, window);
    record->status = BIOINFER_INVALID;
    record->message = in->why;
    return st;
}

/* The places, now that the size of a window is known. */
static int open_places(struct tracks_input *in, struct bioinfer_error *err)
{
    const struct tracker *t = in->tracker;
    const struct cli_options *o = t->work.cli->options;
    const struct bioinfer_places_params p = BIOINFER_PARAMS(
        struct bioinfer_places_params, .window = t->is.window,
        .cluster = t->kind == BIOINFER_VARIANTS ? o->cluster : 0,
        .mutagenesis = t->kind == BIOINFER_MUTAGENESIS, .scorers = t->p->scorers != NULL);
    return bioinfer_places_open(&in->places, t->work.cli->ctx, in->loci, t->genome, &p, err);
}

int tracks_input_next(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct tracks_input *in = user;
    int st = 0;
    if (in->loci && !in->places)
        st = open_places(in, err);
    if (!st)
        st = in->loci ? bioinfer_places_source(in->places, record, err)
                      : read_window_of_fasta(in, record, err);
    return st;
}

int tracks_input_open(struct tracks_input *in, struct tracker *t)
{
    struct cli *cli = t->work.cli;
    struct bioinfer_error err = {0};
    int st, code;
    in->tracker = t;
    if (!cli->options->genome) {
        cli->told = "windows";
        return cli_open_reader(cli, 0);
    }
    if ((code = tracker_open_genome(t)))
        return code;
    if ((st = bioinfer_loci_open(&in->loci, cli->ctx, cli->options->input, &err)))
        return cli_fail(cli, CLI_AT_INPUT, st, &err);
    cli->told = bioinfer_loci_are_variants(in->loci) ? "variants" : "intervals";
    cli->input_name = cli->options->input;
    return CLI_EXIT_OK;
}

void tracks_input_close(struct tracks_input *in)
{
    bioinfer_places_close(&in->places);
    bioinfer_loci_close(&in->loci);
}

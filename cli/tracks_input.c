/* tracks_input.c - the input of tracks: windows, intervals, and clusters of variants.
 *
 * A record of FASTA is a window, its bases are those of the record. Every other record is a text of
 * its places, a line for each, with tabs between the fields:
 *
 *   an interval   number of its line, contig, start, end, name
 *   a variant     number of its line, contig, start, name, reference, alternative
 *
 * A record of variants is a cluster: variants on one contig, in order, that start within --cluster
 * bases of the first. Without --cluster it is one variant, and so is one that cannot be used. The
 * window of the reference lies around the middle of the first and the last, so the scores of a
 * cluster depend on which variants are in it: the input alone decides that. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

static const size_t MOST_KEPT = 64 << 20; /* bytes of one cluster; behind them another one begins */

/* ---- places in ---- */

static void spot_free(struct spot *s)
{
    free(s->text);
    *s = (struct spot){0};
}

/* Copies a locus and its strings. */
static int spot_copy(struct spot *s, const struct bioinfer_locus *l, struct bioinfer_error *err)
{
    const char *from[] = {l->chrom, l->name, l->reference, l->alternative, l->message};
    const char **to[] = {&s->l.chrom, &s->l.name, &s->l.reference, &s->l.alternative,
                         &s->l.message};
    size_t size = 0;
    char *at;

    *s = (struct spot){.l = *l};
    for (size_t i = 0; i < CLI_COUNT(from); i++)
        size += strlen(from[i]) + 1;
    if (!(at = s->text = malloc(size)))
        return no_memory(err, "the next record");
    for (size_t i = 0; i < CLI_COUNT(from); i++) {
        const size_t n = strlen(from[i]) + 1;
        *to[i] = memcpy(at, from[i], n);
        at += n;
    }
    return 0;
}

/* Says why a locus that can be read cannot be used. */
static void check_locus(struct tracks_input *in, struct bioinfer_locus *l)
{
    const struct tracker *t = in->tracker;
    const int64_t n = l->end - l->start, window = t->info.window;
    const int64_t n_alt = (int64_t)strlen(l->alternative);

    if (l->status)
        return;
    l->message = in->why;
    if ((l->status = check_place(t->genome, l, in->why, sizeof in->why)))
        return;
    if (t->kind == &variants_kind && n > window / 4) {
        snprintf(in->why, sizeof in->why,
                 "line %llu: REF of %lld bases, more than a quarter of a window",
                 (unsigned long long)l->line, (long long)n);
        l->status = BIOINFER_TOO_LONG;
    } else if (t->kind == &variants_kind &&
               n_alt > (t->cli->options->scorers ? window / 4 : window)) {
        snprintf(in->why, sizeof in->why, "line %llu: ALT of %lld bases, more than %s window",
                 (unsigned long long)l->line, (long long)n_alt,
                 t->cli->options->scorers ? "a quarter of a" : "a");
        l->status = BIOINFER_TOO_LONG;
    } else if (t->kind == &mutagenesis_kind && (n < 1 || n > window)) {
        snprintf(in->why, sizeof in->why, "line %llu: %lld bases, expected 1 to %lld",
                 (unsigned long long)l->line, (long long)n, (long long)window);
        l->status = BIOINFER_INVALID;
    } else {
        l->message = "";
    }
}

/* The next place: 1, 0 = the end, < 0 = status. */
static int next_spot(struct tracks_input *in, struct spot *s, struct bioinfer_error *err)
{
    struct bioinfer_locus l;
    int st = bioinfer_loci_next(in->loci, &l, err);

    if (st <= 0)
        return st;
    check_locus(in, &l);
    in->n_indels += !l.status && strlen(l.reference) != strlen(l.alternative);
    return (st = spot_copy(s, &l, err)) ? st : 1;
}

/* ---- records ---- */

static int read_window_of_fasta(struct tracks_input *in, struct bioinfer_record *record,
                                struct bioinfer_error *err)
{
    const long long window = (long long)in->tracker->info.window;
    int st = bioinfer_reader_next(in->tracker->cli->reader, record, err);

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

static void put_interval(struct cli_output *text, const struct bioinfer_locus *l)
{
    cli_output_printf(text, "%llu\t%s\t%lld\t%lld\t%s\n", (unsigned long long)l->line, l->chrom,
                      (long long)l->start, (long long)l->end, l->name);
}

static void put_variant(struct cli_output *text, const struct bioinfer_locus *l)
{
    cli_output_printf(text, "%llu\t%s\t%lld\t%s\t%s\t%s\n", (unsigned long long)l->line, l->chrom,
                      (long long)l->start, l->name, l->reference, l->alternative);
}

/* Adds the variants that belong to the cluster which in->spot begins. */
static int add_cluster(struct tracks_input *in, struct bioinfer_error *err)
{
    const int64_t most = in->tracker->cli->options->cluster;
    const struct bioinfer_locus *first = &in->spot.l, *l = &in->ahead.l;
    int64_t last = first->start;
    size_t size = sizeof(struct place);
    int st;

    while ((st = next_spot(in, &in->ahead, err)) > 0) {
        if (l->status || strcmp(first->chrom, l->chrom) || l->start < last ||
            l->start - first->start > most || size + in->text.n_text >= MOST_KEPT)
            return 1;
        put_variant(&in->text, l);
        last = l->start;
        size += sizeof(struct place);
        spot_free(&in->ahead);
    }
    return st ? st : 1;
}

static int read_places(struct tracks_input *in, struct bioinfer_record *record,
                       struct bioinfer_error *err)
{
    const bool variants = in->tracker->kind == &variants_kind;
    const struct bioinfer_locus *l = &in->spot.l;
    int st = 1;

    spot_free(&in->spot);
    in->spot = in->ahead;
    in->ahead = (struct spot){0};
    in->text.n_text = 0;
    if (!in->spot.text && (st = next_spot(in, &in->spot, err)) <= 0)
        return st;
    (variants ? put_variant : put_interval)(&in->text, l);
    if (variants && in->tracker->cli->options->cluster && !l->status)
        st = add_cluster(in, err);
    if (st > 0 && in->text.status)
        st = no_memory(err, "the next record");
    *record = (struct bioinfer_record){.id = l->name,
                                       .description = "",
                                       .message = l->message,
                                       .status = l->status,
                                       .sequence = in->text.text,
                                       .length = in->text.n_text};
    return st;
}

int tracks_input_next(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct tracks_input *in = user;
    int st;

    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    st = (in->loci ? read_places : read_window_of_fasta)(in, record, err);
    in->failed = st < 0;
    record->ordinal = in->n_read;
    in->n_read += st > 0;
    return st;
}

int tracks_input_open(struct tracks_input *in, struct tracker *t)
{
    struct cli *cli = t->cli;
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
    spot_free(&in->spot);
    spot_free(&in->ahead);
    cli_output_close(&in->text);
    bioinfer_loci_close(&in->loci);
}

/* ---- records as units ---- */

/* Cuts the next field off a text, whose tabs and line ends become NULs. */
static char *cut_field(char **at)
{
    char *field = *at, *end = field + strcspn(field, "\t\n");

    *at = *end ? end + 1 : end;
    *end = '\0';
    return field;
}

static void read_place(struct place *p, const struct kind *kind, char **at)
{
    *p = (struct place){.reference = "", .alternative = "", .message = ""};
    p->line = strtoull(cut_field(at), NULL, 10);
    p->chrom = cut_field(at);
    p->start = strtoll(cut_field(at), NULL, 10);
    if (kind != &variants_kind)
        p->end = strtoll(cut_field(at), NULL, 10);
    p->name = cut_field(at);
    if (kind != &variants_kind)
        return;
    p->reference = cut_field(at);
    p->alternative = cut_field(at);
    p->end = p->start + (int64_t)strlen(p->reference);
}

int unit_read(struct unit *u, const struct kind *kind, const struct bioinfer_record *record,
              struct bioinfer_error *err)
{
    const bool bases = kind == &records_kind;
    const char *words[] = {record->id, record->status ? record->message : ""};
    const size_t n_words[] = {strlen(words[0]) + 1, strlen(words[1]) + 1};
    const size_t n_text = bases ? 0 : record->length;
    char *at, *message;

    *u = (struct unit){.ordinal = record->ordinal, .n = 1};
    for (size_t i = 1; i < n_text; i++)
        u->n += record->sequence[i - 1] == '\n';
    u->of = calloc((size_t)u->n, sizeof *u->of);
    u->text = malloc(n_words[0] + n_words[1] + n_text + 1);
    if (!u->of || !u->text)
        return no_memory(err, record->id);
    at = u->text;
    message = memcpy(at + n_words[0], words[1], n_words[1]);
    if (bases) {
        u->sequence = record->sequence ? record->sequence : "";
        u->of[0] = (struct place){.chrom = "",
                                  .name = memcpy(at, words[0], n_words[0]),
                                  .reference = "",
                                  .alternative = ""};
    } else {
        at = message + n_words[1];
        memcpy(at, record->sequence, n_text);
        at[n_text] = '\0';
        for (int i = 0; i < u->n; i++)
            read_place(&u->of[i], kind, &at);
    }
    u->of[0].status = record->status;
    u->of[0].message = message;
    return 0;
}

/* tracks_check.c - what the options of tracks ask for, and what they cannot ask for together. */
#include "tracks.h"

#include <string.h>

/* Variants become a table unless the format, or the name of the output, asks for arrays. */
static bool wants_table(const struct cli_options *o)
{
    if (o->format)
        return !strcmp(o->format, "tsv");
    return !o->output || !strcmp(o->output, "-") || cli_ends_with(o->output, ".tsv");
}

void tracker_set_kind(struct tracker *t)
{
    const struct cli_options *o = t->work.cli->options;
    const char *holds = t->work.cli->told;
    t->kind = !strcmp(holds, "windows")    ? BIOINFER_WINDOWS
              : !strcmp(holds, "variants") ? BIOINFER_VARIANTS
              : o->ism                     ? BIOINFER_MUTAGENESIS
                                           : BIOINFER_INTERVALS;
    t->to_table = t->kind == BIOINFER_VARIANTS && wants_table(o);
    t->to_coverage = o->format && (!strcmp(o->format, "bedgraph") || !strcmp(o->format, "bigwig"));
}

static bool is(const char *format, const char *name)
{
    return format && !strcmp(format, name);
}

/* Says why contributions cannot be had; false: they cannot. */
static bool may_explain(const struct tracker *t)
{
    const struct cli_options *o = t->work.cli->options;
    const struct bioinfer_variants_params *p = t->p;
    const char *why = t->kind == BIOINFER_VARIANTS ? "of variants: give it intervals, a BED"
                      : o->ism                     ? "beside --ism: ask for one of them"
                      : p->reverse_complement      ? "with --rc: contributions are for one strand"
                      : p->shifts ? "with --shifts: contributions are for the window as it is"
                      : is(o->precision, "fp16") ? "in fp16: they are computed in float32"
                                                 : NULL;
    if (p->n_bins && !p->contributions) {
        cli_say(t->work.cli, "--bins says which bins --contributions explains");
        return false;
    }
    if (p->contributions && why) {
        cli_say(t->work.cli, "--contributions cannot be had %s", why);
        return false;
    }
    if (p->contributions && !p->tracks) {
        cli_say(t->work.cli, "--contributions explains the mean of tracks: say which by --tracks");
        return false;
    }
    return true;
}

/* Refuses what scorers do not go with. */
static int check_scorers(const struct tracker *t)
{
    const struct cli_options *o = t->work.cli->options;
    const struct bioinfer_variants_params *p = t->p;
    const char *other = p->stats                ? "--stats"
                        : cli_given(o, "indel") ? "--indel"
                        : o->head               ? "--head"
                        : p->outputs            ? "--outputs"
                        : p->resolution         ? "--resolution"
                        : p->reverse_complement ? "--rc"
                        : p->shifts             ? "--shifts"
                        : o->dry_run            ? "--dry-run"
                                                : NULL;
    if (t->kind != BIOINFER_VARIANTS) {
        cli_say(t->work.cli, "%s holds %s, and --scorers takes variants: a VCF",
                t->work.cli->input_name, t->work.cli->told);
        return CLI_EXIT_USAGE;
    }
    if (!t->to_table) {
        cli_say(t->work.cli, "--scorers makes a table: --format tsv, or an output .tsv");
        return CLI_EXIT_USAGE;
    }
    if (other)
        cli_say(t->work.cli, "--scorers does not go with %s", other);
    return other ? CLI_EXIT_USAGE : CLI_EXIT_OK;
}

/* Is a file named as variants and intervals are, compressed or not? */
static bool names_places(const char *name)
{
    static const char *const ends[] = {".vcf", ".vcf.gz", ".vcf.bgz",
                                       ".bed", ".bed.gz", ".bed.bgz"};
    bool found = false;
    for (size_t i = 0; name && i < CLI_COUNT(ends); i++)
        found |= cli_ends_with(name, ends[i]);
    return found;
}

int tracks_check_options(const struct tracker *t)
{
    const struct cli_options *o = t->work.cli->options;
    const int kind = t->kind;
    const char *name = t->work.cli->input_name, *holds = t->work.cli->told;
    const bool coverage = t->to_coverage;
    const bool variants = kind == BIOINFER_VARIANTS, records = kind == BIOINFER_WINDOWS;
    int code;
    if (!o->genome && names_places(name)) {
        cli_say(t->work.cli,
                "%s: variants and intervals lie in a genome: --genome FASTA says which", name);
        return CLI_EXIT_USAGE;
    }
    if (t->p->scorers && (code = check_scorers(t)))
        return code;
    if (o->ism && (records || variants)) {
        cli_say(t->work.cli, "%s holds %s, and --ism takes intervals: --genome FASTA and a BED",
                name, holds);
        return CLI_EXIT_USAGE;
    }
    if (coverage && (records || variants || o->ism)) {
        cli_say(t->work.cli,
                "%s holds %s, and --format %s takes intervals: --genome FASTA and a BED", name,
                holds, o->format);
        return CLI_EXIT_USAGE;
    }
    if ((t->p->stats || o->cluster || cli_given(o, "indel")) && o->genome && !variants) {
        cli_say(t->work.cli, "%s holds %s, and --%s takes variants: a VCF", name, holds,
                t->p->stats  ? "stats"
                : o->cluster ? "cluster"
                             : "indel");
        return CLI_EXIT_USAGE;
    }
    if (!variants && (is(o->format, "tsv") || is(o->format, "npy"))) {
        cli_say(t->work.cli,
                "%s holds %s, and --format %s takes variants; tracks go to npz, h5, "
                "safetensors, jsonl, bedgraph or bigwig",
                name, holds, o->format);
        return CLI_EXIT_USAGE;
    }
    if (!may_explain(t))
        return CLI_EXIT_USAGE;
    if (!cli_job_needs_file(t->work.cli, o->output))
        return CLI_EXIT_USAGE;
    if (!t->to_table && !o->output && !o->dry_run) {
        cli_say(t->work.cli, "name the output with -o");
        return CLI_EXIT_USAGE;
    }
    return CLI_EXIT_OK;
}

int tracks_check_outputs(const struct tracker *t)
{
    for (int i = 0; t->to_coverage && i < t->is.n_outputs; i++) {
        if (t->is.of[i].kind == BIOINFER_BINS)
            continue;
        cli_say(t->work.cli,
                "output %s gives pairs of %s, and --format %s takes bins: npz, h5, ...",
                t->is.of[i].name, t->is.of[i].kind == BIOINFER_GRID ? "bins" : "splice sites",
                t->work.cli->options->format);
        return CLI_EXIT_USAGE;
    }
    return CLI_EXIT_OK;
}

/* align_check.c - which options and formats go together. */
#include "align_command.h"

#include <string.h>
#include <sys/stat.h>

static bool square_check(const struct cli_options *o, const char *format)
{
    const bool phylip = !strcmp(format, "phylip"), npz = !strcmp(format, "npz");
    const bool score = o->values && !strcmp(o->values, "score");
    if (!o->values && (phylip || npz || o->identity_of || o->names || o->shape))
        cli_say(NULL, "%s is for the matrix of --values",
                phylip           ? "--format phylip"
                : npz            ? "--format npz"
                : o->identity_of ? "--identity-of"
                : o->names       ? "--names"
                                 : "--shape");
    else if (!o->values)
        return true;
    else if (!phylip && !npz && strcmp(format, "tsv"))
        cli_say(NULL, "--values: a matrix is written as tsv, phylip or npz, not as %s", format);
    else if (phylip && strcmp(o->values, "distance"))
        cli_say(NULL, "--format phylip holds distances: say --values distance");
    else if ((phylip || o->shape) && o->second)
        cli_say(NULL, "--values: the matrix of two files is no square one, as %s needs it",
                phylip ? "phylip" : "--shape");
    else if (npz && (!o->output || !strcmp(o->output, "-")))
        cli_say(NULL, "--format npz needs a file: say -o FILE");
    else if (npz && o->shape)
        cli_say(NULL, "--shape is for tsv and phylip: npz holds whole matrices");
    else if (!phylip && o->names)
        cli_say(NULL, "--names is for --format phylip");
    else if (score && o->identity_of)
        cli_say(NULL, "--identity-of is for --values identity and distance");
    else if (!score && cli_given(o, "score-only"))
        cli_say(NULL, "--values %s needs alignments, which --score-only does not make", o->values);
    else if (o->top || o->min_score || o->min_identity || o->one_vs_all)
        cli_say(NULL, "--values fills a matrix of all pairs: leave out %s",
                o->top            ? "--top"
                : o->min_score    ? "--min-score"
                : o->min_identity ? "--min-identity"
                                  : "--one-vs-all");
    else
        return true;
    return false;
}

static bool is_plain(const char *path)
{
    struct stat st;
    return strcmp(path, "-") && (stat(path, &st) || S_ISREG(st.st_mode));
}

bool cli_align_check(const struct cli_options *o, const char *format)
{
    const bool score_only = cli_given(o, "score-only");
    if (o->values && !square_check(o, format))
        return false; /* else it would be told what it then refuses, as --all-vs-all for --top */
    if (score_only && strcmp(format, "tsv"))
        cli_say(NULL, "--score-only has no alignment to write as %s: use tsv", format);
    else if (o->cigar && !strcmp(o->cigar, "none") && strcmp(format, "tsv"))
        cli_say(NULL, "--cigar none: %s is made of CIGARs: use tsv", format);
    else if (score_only && o->min_identity)
        cli_say(NULL, "--min-identity is not for --score-only: say --cigar none");
    else if (o->all_vs_all && o->one_vs_all)
        cli_say(NULL, "--all-vs-all and --one-vs-all exclude each other");
    else if (!o->second && !o->all_vs_all && !o->values)
        cli_say(NULL, "something is missing: a second file, or --all-vs-all");
    else if (o->top && !o->all_vs_all && !o->one_vs_all)
        cli_say(NULL, "--top is for queries that meet many: say --all-vs-all or --one-vs-all");
    else if (o->top && !strcmp(format, "sam"))
        cli_say(NULL, "--top: the head of sam names all targets: use tsv, paf or blast");
    else if (o->top && cli_align_several(o) && !is_plain(o->second ? o->second : o->input))
        cli_say(NULL,
                "--top: several processes read the targets, each for itself: expected a plain "
                "file of them");
    else if (o->second && !strcmp(o->second, "-") && !strcmp(o->input, "-"))
        cli_say(NULL, "only one of the files can be standard input");
    else
        return square_check(o, format);
    return false;
}

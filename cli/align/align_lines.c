/* align_lines.c - alignments as lines: tsv, PAF, SAM, and the columns of BLAST. */
#include "align_text.h"

#include <stdlib.h>
#include <string.h>

static void put_tab_number(const struct cli_align_out *w, int64_t x)
{
    cli_align_put_text(w, "\t");
    cli_align_put_number(w, x);
}

void cli_align_put_tsv(const struct cli_align_out *w, const struct bioinfer_record *q,
                       const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    cli_output_field(w->out, q->id);
    cli_output_write(w->out, "\t", 1);
    cli_output_field(w->out, t->id);
    cli_output_write(w->out, "\t", 1);
    cli_align_put_score(w, a->score);
    if (!w->score_only) {
        const int64_t columns = cli_align_columns(w, q, t, a);
        cli_align_put_text(w, "\t");
        cli_align_put_share(w, a->identities, columns ? columns : 1);
        if (w->both_strands)
            cli_align_put_text(w, w->reverse ? "\t-" : "\t+");
        if (w->local) { /* from 1, ends included; 0 and 0 where nothing is aligned */
            int64_t begin, end;
            cli_align_query_range(w, q, a, &begin, &end);
            put_tab_number(w, columns ? begin + 1 : 0);
            put_tab_number(w, columns ? end : 0);
            put_tab_number(w, a->target_begin + (columns > 0));
            put_tab_number(w, a->target_end);
        }
        if (!w->no_cigar)
            cli_align_put_text(w, "\t");
        if (!w->no_cigar && columns)
            cli_align_put_cigar(w, q, t, a, w->local ? "" : "ID");
        else if (!w->no_cigar)
            cli_align_put_text(w, "*");
    }
    if (w->score_only && w->both_strands)
        cli_align_put_text(w, w->reverse ? "\t-" : "\t+");
    cli_output_write(w->out, "\n", 1);
}

/* AS is whole in SAM and PAF; a score that is not has a tag of our own. */
static void put_score_tag(const struct cli_align_out *w, int64_t score)
{
    cli_align_put_text(w, score % (int64_t)w->scale ? "\tas:f:" : "\tAS:i:");
    cli_align_put_score(w, score);
}

/* Columns whose letters differ or that are gaps, as NM counts them: of nucleotides N is equal to
 * nothing (samtools calmd, minimap2), though CIGARs have = for two of them. */
static int64_t differences(const struct cli_align_out *w, const struct bioinfer_record *q,
                           const struct bioinfer_alignment *a)
{
    int64_t n = a->columns - a->identities, i = a->query_begin;
    for (size_t k = 0; w->nucleotides && k < a->n_cigar; k++) {
        const int64_t length = a->cigar[k] >> 4;
        const int op = a->cigar[k] & 15;
        for (int64_t x = i; op == EQUAL && x < i + length; x++)
            n += q->sequence[x] == 'N' || q->sequence[x] == 'n';
        i += op == GAP_QUERY ? 0 : length;
    }
    return n;
}

/* The columns of PAF: 0-based, ends not included; matches, columns, 255 = no quality. */
void cli_align_put_paf(const struct cli_align_out *w, const struct bioinfer_record *q,
                       const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    const int64_t different = differences(w, q, a);
    int64_t begin, end;
    cli_align_query_range(w, q, a, &begin, &end);
    cli_output_field(w->out, q->id);
    put_tab_number(w, (int64_t)q->length);
    put_tab_number(w, begin);
    put_tab_number(w, end);
    cli_align_put_text(w, w->reverse ? "\t-\t" : "\t+\t");
    cli_output_field(w->out, t->id);
    put_tab_number(w, (int64_t)t->length);
    put_tab_number(w, a->target_begin);
    put_tab_number(w, a->target_end);
    put_tab_number(w, a->columns - different);
    put_tab_number(w, a->columns);
    cli_align_put_text(w, "\t255\tNM:i:");
    cli_align_put_number(w, different);
    put_score_tag(w, a->score);
    if (a->n_cigar) {
        cli_align_put_text(w, "\tcg:Z:");
        cli_align_put_cigar(w, q, t, a, "");
    }
    cli_output_write(w->out, "\n", 1);
}

/* Whether SAM can name a target or a read so. */
static bool is_sam_name(const char *id, bool target)
{
    if (target ? *id == '*' || *id == '=' : !strcmp(id, "*") || strlen(id) > 254)
        return false;
    for (const char *c = id; *c; c++)
        if (*c < '!' || *c > '~' || strchr(target ? "\\,\"'`()[]{}<>" : "@", *c))
            return false;
    return *id;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The name that two targets have, or NULL; names: room for all of them. */
static const char *twice(const struct bioinfer_record *targets, size_t n, const char **names)
{
    for (size_t i = 0; i < n; i++)
        names[i] = targets[i].id;
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(names[i - 1], names[i]))
            return names[i];
    return NULL;
}

int cli_align_check_sam(struct cli *cli, const struct bioinfer_record *queries, size_t n_queries,
                        const struct bioinfer_record *targets, size_t n_targets)
{
    const char **names, *name = NULL;
    for (size_t i = 0; !name && i < n_targets; i++)
        if (!is_sam_name(targets[i].id, true)) {
            name = targets[i].id;
            cli_say(cli,
                    "target %s: SAM has no such names: expected one that does not begin with "
                    "* or =, of printable ASCII without \\ , \" ' ` ( ) [ ] { } < >; --format paf "
                    "takes it",
                    name);
        }
    for (size_t i = 0; !name && i < n_queries; i++)
        if (!is_sam_name(queries[i].id, false)) {
            name = queries[i].id;
            cli_say(cli,
                    "query %.300s: SAM has no such names: expected up to 254 printable ASCII "
                    "characters but @, and not * alone; --format paf takes it",
                    name);
        }
    if (name)
        return CLI_EXIT_DATA;
    if (!(names = malloc((n_targets + 1) * sizeof *names)))
        return cli_fail(cli, CLI_AT_READ, BIOINFER_NOMEM, NULL);
    if ((name = twice(targets, n_targets, names)))
        cli_say(cli,
                "two targets are named %s: SAM tells targets by their names; --format paf "
                "takes them",
                name);
    free(names);
    return name ? CLI_EXIT_DATA : CLI_EXIT_OK;
}

void cli_align_put_sam(const struct cli_align_out *w, const struct bioinfer_record *q,
                       const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    cli_output_field(w->out, q->id);
    if (a->n_cigar) {
        cli_align_put_text(w, w->reverse ? "\t16\t" : "\t0\t");
        cli_output_field(w->out, t->id);
        put_tab_number(w, a->target_begin + 1);
        cli_align_put_text(w, "\t255\t");
        cli_align_put_cigar(w, q, t, a, "S");
    } else { /* nothing is aligned: a read without a place */
        cli_align_put_text(w, "\t4\t*\t0\t0\t*");
    }
    cli_align_put_text(w, "\t*\t0\t0\t");
    cli_output_write(w->out, q->sequence, q->length);
    cli_align_put_text(w, "\t*");
    put_score_tag(w, a->score);
    if (a->n_cigar) {
        cli_align_put_text(w, "\tNM:i:");
        cli_align_put_number(w, differences(w, q, a));
    }
    cli_align_put_text(w, "\n");
}

/* The columns of BLAST's -outfmt 6, of numbers as it writes them. */
void cli_align_put_blast(const struct cli_align_out *w, const struct bioinfer_record *q,
                         const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    const double points = (double)a->score / w->scale, bits = cli_align_bits(&w->stats, points);
    const double e = cli_align_evalue(&w->stats, points, q->length, t->length);
    int64_t openings = 0, begin, end;
    for (size_t k = 0; k < a->n_cigar; k++)
        openings += (a->cigar[k] & 15) < EQUAL;
    cli_output_field(w->out, q->id);
    cli_align_put_text(w, "\t");
    cli_output_field(w->out, t->id);
    cli_output_printf(w->out, "\t%.3f", 100.0 * (double)a->identities / (double)a->columns);
    put_tab_number(w, a->columns);
    put_tab_number(w, a->columns - a->identities - a->gaps);
    put_tab_number(w, openings);
    cli_align_query_range(w, q, a, &begin, &end);
    put_tab_number(w, begin + 1);
    put_tab_number(w, end);
    put_tab_number(w, w->reverse ? a->target_end : a->target_begin + 1);
    put_tab_number(w, w->reverse ? a->target_begin + 1 : a->target_end);
    cli_output_printf(w->out,
                      e < 1e-180   ? "\t0.0"
                      : e < 0.0009 ? "\t%.2e"
                      : e < 0.1    ? "\t%.3f"
                      : e < 1      ? "\t%.2f"
                      : e < 10     ? "\t%.1f"
                                   : "\t%.0f",
                      e);
    /* BLAST cuts the fraction of what is above 99.9, and writes an exponent from 10^5 on. */
    if (bits > 99999)
        cli_output_printf(w->out, "\t%.3e\n", bits);
    else if (bits > 99.9)
        cli_output_printf(w->out, "\t%lld\n", (long long)bits);
    else
        cli_output_printf(w->out, "\t%.1f\n", bits);
}

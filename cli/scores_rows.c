/* scores_rows.c - the table of scores: a row for each variant, scorer, track and gene, with the
 * columns that tidy_scores() of the released tool gives. */
#include "scores.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

void scores_put_header(const struct tracker *t, struct cli_output *to)
{
    cli_output_printf(to,
                      "variant_id\tscored_interval\tgene_id\tgene_name\tgene_type\tgene_strand\t"
                      "junction_Start\tjunction_End\toutput_type\tvariant_scorer\ttrack_name\t"
                      "track_strand\tAssay title\tontology_curie\tbiosample_name\t"
                      "biosample_type\tbiosample_life_stage\tgtex_tissue\tdata_source\t"
                      "endedness\tgenetically_modified\ttranscription_factor\thistone_mark\t"
                      "raw_score%s\n",
                      t->cli->options->quantiles ? "\tquantile_score" : "");
}

static void put_upper(struct cli_output *to, const char *word)
{
    for (; *word; word++) {
        const char letter = (char)toupper((unsigned char)*word);
        cli_output_write(to, &letter, 1);
    }
}

/* A track of one strand says nothing of a gene on the other. */
static bool is_other_strand(const struct score_row *row, const struct score_track *track)
{
    return (row->strand == '+' && track->strand == '-') ||
           (row->strand == '-' && track->strand == '+');
}

static void put_number(struct cli_output *to, double number)
{
    if (isnan(number))
        cli_output_printf(to, "\tnan");
    else
        cli_output_printf(to, "\t%.9g", number);
}

static void put_row(struct tracker *t, const struct unit *u, const struct place *p,
                    const struct scorer *scorer, const struct score_row *row,
                    const struct score_track *track, float score)
{
    struct cli_output *to = &t->row;

    cli_output_printf(to, "%s:%lld:%s>%s\t%s:%lld-%lld:.\t", p->chrom, (long long)p->start + 1,
                      p->reference, p->alternative, p->chrom, (long long)u->start,
                      (long long)(u->start + t->info.window));
    if (row->id)
        cli_output_printf(to, "%.*s\t%s\t%s\t%c", (int)strcspn(row->id, "."), row->id, row->name,
                          row->type, row->strand);
    else
        cli_output_printf(to, "\t\t\t");
    if (row->end)
        cli_output_printf(to, "\t%lld\t%lld\t", (long long)row->start, (long long)row->end);
    else
        cli_output_printf(to, "\t\t\t");
    put_upper(to, scorer->output);
    cli_output_printf(to, "\t%s\t%s", scorer->name, track->columns);
    put_number(to, (double)score);
    if (t->cli->options->quantiles)
        put_number(to, score_quantile(&t->scores->quantiles, scorer->name, track, (double)score));
    cli_output_write(to, "\n", 1);
}

void scores_put_rows(struct tracker *t, const struct unit *u, const struct place *p,
                     const struct score_block *blocks)
{
    const struct scores *s = t->scores;

    for (int i = 0; i < s->n_scorers; i++) {
        const struct score_output *x = scores_output(s, i);
        const struct score_block *block = &blocks[i];
        const size_t n = (size_t)x->n_columns;
        for (size_t k = 0; k < n; k++) {
            const struct score_track *track = &x->tracks[x->chosen[k]];
            for (int r = 0; r < block->n && !(x->hidden && x->hidden[k]); r++)
                if (!is_other_strand(&block->rows[r], track))
                    put_row(t, u, p, s->scorers[i], &block->rows[r], track,
                            block->scores[(size_t)r * n + k]);
        }
    }
}

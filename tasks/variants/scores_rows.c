/* scores_rows.c - the rows of scores: one for each variant, scorer, track and gene, with the
 * columns that tidy_scores() of the released tool gives. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scores.h"

const char *const bi_track_cells[BI_TRACK_CELLS] = {
    "track_name",     "track_strand",   "Assay title",          "ontology_curie",
    "biosample_name", "biosample_type", "biosample_life_stage", "gtex_tissue",
    "data_source",    "endedness",      "genetically_modified", "transcription_factor",
    "histone_mark"};

void bi_scores_add_columns(struct bi_variants_task *t)
{
    static const struct {
        const char *name;
        int type;
    } first[] = {{"variant_id", BIOINFER_TEXT},    {"scored_interval", BIOINFER_TEXT},
                 {"gene_id", BIOINFER_TEXT},       {"gene_name", BIOINFER_TEXT},
                 {"gene_type", BIOINFER_TEXT},     {"gene_strand", BIOINFER_TEXT},
                 {"junction_Start", BIOINFER_I64}, {"junction_End", BIOINFER_I64},
                 {"output_type", BIOINFER_TEXT},   {"variant_scorer", BIOINFER_TEXT}};
    const struct bi_env *env = t->task.env;
    for (size_t i = 0; i < BI_COUNT(first); i++)
        bi_row_columns_add(env, &t->columns, first[i].name, first[i].type);
    for (int i = 0; i < BI_TRACK_CELLS; i++)
        bi_row_columns_add(env, &t->columns, bi_track_cells[i], BIOINFER_TEXT);
    bi_row_columns_add(env, &t->columns, "raw_score", BIOINFER_F32);
    if (t->params.quantiles)
        bi_row_columns_add(env, &t->columns, "quantile_score", BIOINFER_F64);
}

/* A track of one strand says nothing of a gene on the other. */
static bool is_other_strand(const struct bi_score_row *row, const struct bi_score_track *track)
{
    return (row->strand == '+' && track->strand == '-') ||
           (row->strand == '-' && track->strand == '+');
}

static void put_text(struct bi_row_columns *c, const char *text)
{
    bi_row_columns_text(c, text, strlen(text));
}

/* Texts that all rows of a variant and a scorer have. */
struct place_texts {
    struct bi_buf variant, interval;
    char output[40];
};

static void put_row(struct bi_variants_task *t, const struct place_texts *p,
                    const struct bi_scorer *scorer, const struct bi_score_row *row,
                    const struct bi_score_track *track, float score)
{
    struct bi_row_columns *c = &t->columns;
    bi_row_columns_text(c, p->variant.data, p->variant.size);
    bi_row_columns_text(c, p->interval.data, p->interval.size);
    bi_row_columns_text(c, row->id ? row->id : "", row->id ? strcspn(row->id, ".") : 0);
    put_text(c, row->id ? row->name : "");
    put_text(c, row->id ? row->type : "");
    bi_row_columns_text(c, &row->strand, row->id ? 1 : 0);
    bi_row_columns_i64(c, row->end ? row->start : BIOINFER_MISSING);
    bi_row_columns_i64(c, row->end ? row->end : BIOINFER_MISSING);
    put_text(c, p->output);
    put_text(c, scorer->name);
    for (int i = 0; i < BI_TRACK_CELLS; i++)
        put_text(c, track->cells[i]);
    bi_row_columns_f32(c, score);
    if (t->params.quantiles)
        bi_row_columns_f64(
            c, bi_score_quantile(&t->scores->quantiles, scorer->name, track, (double)score));
}

void bi_scores_put_rows(struct bi_variants_task *t, const struct bi_places_unit *u,
                        const struct bi_spot *p, const struct bi_score_block *blocks)
{
    const struct bi_scores *s = t->scores;
    struct place_texts texts = {.variant = {.env = t->task.env}, .interval = {.env = t->task.env}};
    bool failed;
    bi_buf_printf(&texts.variant, "%s:%lld:%s>%s", p->chrom, (long long)p->start + 1, p->reference,
                  p->alternative);
    bi_buf_printf(&texts.interval, "%s:%lld-%lld:.", p->chrom, (long long)u->start,
                  (long long)(u->start + t->window));
    failed = texts.variant.failed || texts.interval.failed;
    t->columns.of[0].bytes.failed |= failed;
    for (int i = 0; !failed && i < s->n_scorers; i++) {
        const struct bi_score_output *x = bi_scores_output(s, i);
        const struct bi_score_block *block = &blocks[i];
        const size_t n = (size_t)x->n_columns;
        snprintf(texts.output, sizeof texts.output, "%s", s->scorers[i]->output);
        for (char *at = texts.output; *at; at++)
            *at = (char)toupper((unsigned char)*at);
        for (size_t k = 0; k < n; k++) {
            const struct bi_score_track *track = &x->tracks[x->chosen[k]];
            for (int r = 0; r < block->n && !(x->hidden && x->hidden[k]); r++)
                if (!is_other_strand(&block->rows[r], track))
                    put_row(t, &texts, s->scorers[i], &block->rows[r], track,
                            block->scores[(size_t)r * n + k]);
        }
    }
    bi_buf_free(&texts.variant);
    bi_buf_free(&texts.interval);
}

/* design_rows.c - what a designed sequence looks like: rows of tables, and arrays. */
#include "design.h"

#include <stdlib.h>
#include <string.h>

const char *cli_design_source(const struct bioinfer_result *r)
{
    return r->design->sequence_id ? r->design->sequence_id
           : r->design->is_native ? "native"
                                  : "design";
}

int cli_design_sample(const struct bioinfer_result *r, bool score_only)
{
    return r->design->is_native && !score_only ? 0 : r->design->sample;
}

/* Gives what the sequence was drawn from; NULL where nothing was drawn. */
static const float *probs_of(const struct bioinfer_result *r)
{
    return r->n_arrays > 1 ? r->arrays[1].data : NULL;
}

static const char alphabet[] = "ACDEFGHIKLMNPQRSTVWYX";

void cli_design_put_rows(struct cli_designer *d, const struct bioinfer_result *r)
{
    const unsigned include = d->work.cli->options->design_include;
    for (int64_t i = 0; i < r->length; i++)
        for (int probs = 0; probs < 2; probs++) {
            const float *row = probs ? probs_of(r) : r->arrays[0].data;
            if (!(include & (probs ? CLI_PROBS : CLI_LOG_PROBS)) || !row)
                continue;
            cli_output_field(&d->work.text, r->id);
            cli_output_printf(&d->work.text, "\t%d\t%g\t%s\t%lld\t%c",
                              cli_design_sample(r, d->params->mode == BIOINFER_DESIGN_SCORE),
                              r->design->temperature, probs ? "probs" : "logprobs",
                              (long long)i + 1, alphabet[r->design->codes[i]]);
            for (int c = 0; c < 21; c++)
                cli_output_printf(&d->work.text, "\t%.6g", (double)row[i * 21 + c]);
            cli_output_printf(&d->work.text, "\t");
            cli_output_field(&d->work.text, cli_design_source(r));
            cli_output_printf(&d->work.text, "\n");
        }
}

void cli_design_row(struct cli_output *text, const struct bioinfer_result *r, bool score_only)
{
    cli_output_field(text, r->id);
    cli_output_printf(text, "\t%d\t%g\t%.6g\t%.6g\t%.6g\t%s\t", cli_design_sample(r, score_only),
                      r->design->temperature, (double)r->design->score,
                      (double)r->design->global_score, (double)r->design->recovery, r->sequence);
    cli_output_field(text, cli_design_source(r));
    cli_output_printf(text, "\n");
}

/* Names the arrays of a sequence: NAME for the native one, NAME_T0.1_1 for sample 1 at 0.1, NAME_ID
 * for a sequence that was given; further samples of both have names with _2, _3, ... */
static void name_arrays(char *id, size_t size, const struct bioinfer_result *r)
{
    if (!r->design->is_native && !r->design->sequence_id)
        snprintf(id, size, "%.400s_T%g_%d", r->id, r->design->temperature, r->design->sample);
    else
        snprintf(id, size, "%.400s%s%.400s", r->id, r->design->sequence_id ? "_" : "",
                 r->design->sequence_id ? r->design->sequence_id : "");
    if (r->design->sample > 1 && (r->design->is_native || r->design->sequence_id))
        snprintf(id + strlen(id), size - strlen(id), "_%d", r->design->sample);
}

int cli_design_arrays(struct cli_design_arrays *a, const struct bioinfer_result *r,
                      unsigned include, struct bioinfer_error *err)
{
    struct bioinfer_array *arrays = a->arrays;
    int n = 0;
    name_arrays(a->id, sizeof a->id, r);
    a->scores[0] = r->design->score;
    a->scores[1] = r->design->global_score;
    a->scores[2] = r->design->recovery;
    if (!(a->codes = malloc((size_t)r->length * sizeof *a->codes)))
        return cli_status_no_memory(err, "%.100s: result", a->id);
    for (int64_t i = 0; i < r->length; i++)
        a->codes[i] = (float)r->design->codes[i];
#define ADD(name, values, dims, rows, columns)                                                     \
    arrays[n++] = (struct bioinfer_array)                                                          \
    {                                                                                              \
        .kind = name, .n_dims = dims, .shape = {rows, columns}, .data = values                     \
    }
    if (!include || include & CLI_LOG_PROBS)
        ADD("log_probs", r->arrays[0].data, 2, r->length, 21);
    if (include & CLI_PROBS && probs_of(r))
        ADD("probs", probs_of(r), 2, r->length, 21);
    ADD("S", a->codes, 1, r->length, 1);
    ADD("scores", a->scores, 1, 3, 1);
    ADD("mask", r->design->mask, 1, r->length, 1);
    ADD("design_mask", r->design->design_mask, 1, r->length, 1);
#undef ADD
    a->result = (struct bioinfer_result){.ordinal = r->ordinal,
                                         .id = a->id,
                                         .length = r->length,
                                         .message = "",
                                         .arrays = arrays,
                                         .n_arrays = n,
                                         .n_kinds = n,
                                         .n_layers_kept = 1};
    return 0;
}

const char *cli_design_head(const struct cli *cli, enum cli_design_format format, char *text,
                            size_t size)
{
    size_t used;
    if (format != CLI_TABLE)
        return "";
    if (!cli->options->design_include)
        return CLI_DESIGN_HEAD;
    used = (size_t)snprintf(text, size, "name\tsample\ttemperature\tkind\tposition\tresidue");
    for (int c = 0; c < 21; c++)
        used += (size_t)snprintf(text + used, size - used, "\t%c", alphabet[c]);
    snprintf(text + used, size - used, "\tsource\n");
    return text;
}

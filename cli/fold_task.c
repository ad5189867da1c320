/* fold_task.c - the task of structures: a complex becomes files, and a row of scores.tsv. */
#include "fold.h"

#include <math.h>
#include <string.h>

int cli_fold_form(const struct cli_options *o)
{
    if (!o->format || !strcmp(o->format, "cif") || !strcmp(o->format, "mmcif"))
        return CLI_FOLD_CIF;
    if (!strcmp(o->format, "pdb"))
        return CLI_FOLD_PDB;
    if (!strcmp(o->format, "npz"))
        return CLI_FOLD_ARRAYS;
    cli_say(NULL, "--format '%s': structures are written as cif (mmcif), pdb or npz", o->format);
    return -1;
}

void cli_fold_row(struct cli_output *row, const struct bioinfer_result *r)
{
    const struct bioinfer_fold *f = r->fold;
    cli_output_field(row, r->id);
    cli_output_printf(row, "\t%d\t%.5f\t%lld\t", f->sample, f->mean_plddt,
                      (long long)f->n_residues);
    for (int c = 0; c < f->n_chains; c++)
        cli_output_printf(row, "%s%s", c ? "," : "", f->chains[c].name);
    for (int c = 0; c < f->n_chains; c++)
        cli_output_printf(row, "%c%lld", c ? ',' : '\t', (long long)f->chains[c].n_residues);
    for (int c = 0; c < f->n_chains; c++)
        cli_output_printf(row, "%c%.5f", c ? ',' : '\t', f->chains[c].plddt);
    cli_output_printf(row, "\t%.3f\t%.3f\t", f->shortest_bond, f->longest_bond);
    if (!isnan(f->ptm))
        cli_output_printf(row, "%.5f", f->ptm);
    cli_output_printf(row, "\t");
    if (!isnan(f->iptm))
        cli_output_printf(row, "%.5f", f->iptm);
    cli_output_printf(row, "\t");
    if (f->seed >= 0)
        cli_output_printf(row, "%lld", (long long)f->seed);
    cli_output_printf(row, "\n");
}

void cli_fold_part(const struct bioinfer_fold *f, char part[CLI_FOLD_PART])
{
    *part = '\0';
    if (f->seed >= 0)
        snprintf(part, CLI_FOLD_PART, "seed-%lld_sample-%d", (long long)f->seed, f->sample);
}

/* A bioinfer_sink: hands on the structure with its row. */
static int take_structure(void *user, const struct bioinfer_result *result,
                          struct bioinfer_error *err)
{
    struct cli_work *work = user;
    struct bioinfer_text texts[6] = {{NULL, NULL, 0}};
    struct bioinfer_result r = *result;
    char part[CLI_FOLD_PART], count[16];
    int st;
    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    if (!r.fold)
        return work->sink(work->sink_user, &r, err);
    cli_fold_row(&work->text, result);
    if (work->text.status)
        return cli_status_no_memory(err, "out of memory for a row");
    for (int i = 0; i < r.n_texts; i++) /* a file, and a summary */
        texts[i] = r.texts[i];
    texts[r.n_texts++] = (struct bioinfer_text){"row", work->text.text, work->text.n_text};
    cli_fold_part(r.fold, part);
    if (*part)
        texts[r.n_texts++] = (struct bioinfer_text){"part", part, strlen(part)};
    snprintf(count, sizeof count, "%u", r.piece + 1);
    if (!r.more)
        texts[r.n_texts++] = (struct bioinfer_text){CLI_COUNTS, count, strlen(count)};
    r.texts = texts;
    r.fold = NULL;
    st = work->sink(work->sink_user, &r, err);
    work->text.n_text = 0;
    return st;
}

/* ---- the task ---- */

static void fill(const struct cli_options *o, void *params)
{
    const int form = cli_fold_form(o);
    struct bioinfer_fold_params *p = params;
    p->text = form == CLI_FOLD_ARRAYS ? BIOINFER_FOLD_NO_TEXT
              : form == CLI_FOLD_PDB  ? BIOINFER_FOLD_PDB
                                      : BIOINFER_FOLD_CIF;
    p->memory_limit = o->memory_limit << 20;
    if (form == CLI_FOLD_ARRAYS && !p->include)
        p->include = BIOINFER_FOLD_PLDDT | BIOINFER_FOLD_COORDINATES;
}

const struct cli_task cli_fold_task = {
    .name = "fold", .fill = fill, .take = take_structure, .weigh = cli_weigh_sequence};

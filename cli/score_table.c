/* score_table.c - the table of --mutations: one wild type, one more column. */
#include "score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_score_table_read(struct cli_scorer *s)
{
    const struct cli_options *o = s->work.cli->options;
    const char *const names[] = {o->mutation_col ? o->mutation_col : "mutant"};
    int code = cli_table_read(s->work.cli, &s->csv, o->mutations);
    if (!code)
        code = cli_table_columns(s->work.cli, &s->csv, names, 1, 1, &s->column);
    if (!code && !cli_suffix_fits(o, s->csv.separator == '\t' ? "tsv" : "csv"))
        code = CLI_EXIT_USAGE;
    if (!code && !(s->scores = malloc(s->csv.n_rows * sizeof *s->scores)))
        code = cli_no_memory(s->work.cli, "scores of the table");
    return code;
}

int cli_score_table_positions(struct cli_scorer *s, size_t length)
{
    const char *mutant;
    int st = 0;
    s->positions.n = 0;
    for (size_t i = 0; i < s->csv.n_rows && !st; i++)
        if ((mutant = bi_csv_cell(&s->csv, &s->csv.rows[i], s->column)))
            st = cli_positions_add(&s->positions, mutant, s->offset);
    return st ? st : cli_positions_sort(&s->positions, length);
}

/* Do the wild-type letters of a mutation stand at its positions? */
static bool fits(const char *mutation, int64_t offset, const struct bioinfer_result *scores)
{
    int64_t position;
    char part[64];
    while (mutation) {
        size_t n = strcspn(mutation, ":");
        if (!n || n >= sizeof part)
            return false;
        memcpy(part, mutation, n);
        part[n] = 0;
        if (bioinfer_mutation_positions(part, offset, &position, 1, NULL) != 1 || position < 0 ||
            position >= scores->length || scores->sequence[position] != part[0])
            return false;
        mutation = mutation[n] ? mutation + n + 1 : NULL;
    }
    return true;
}

/* Tables that count from 0 are common enough to say so. */
static void suggest_offset(struct cli_scorer *s, const struct bioinfer_result *scores)
{
    size_t n_fit = 0, n_fit_other = 0, n_values = 0;
    int64_t other = s->offset ? 0 : 1;
    const char *mutant;
    for (size_t i = 0; i < s->csv.n_rows; i++)
        if ((mutant = bi_csv_cell(&s->csv, &s->csv.rows[i], s->column))) {
            n_values++;
            n_fit += fits(mutant, s->offset, scores);
            n_fit_other += fits(mutant, other, scores);
        }
    if (n_fit_other > n_fit)
        cli_say(s->work.cli,
                "with --offset %d, %zu of %zu mutants would match the sequence (now %zu)",
                (int)other, n_fit_other, n_values, n_fit);
}

/* Gives the status of the first row without a score. With --strict the rows after it are not
 * scored. */
static int score_rows(struct cli_scorer *s, const struct bioinfer_result *scores)
{
    const char *path = s->work.cli->options->mutations;
    struct bioinfer_error err;
    int status = 0;
    for (size_t i = 0; i < s->csv.n_rows; i++) {
        const struct bi_csv_row *row = &s->csv.rows[i];
        double score = NAN;
        int st;
        s->scores[i] = NAN;
        if (!row->n_fields || (status && s->work.cli->options->strict))
            continue;
        s->n_rows++;
        err.text[0] = '\0';
        if (!(st = bi_csv_check(&s->csv, row, &err)) &&
            (st = bioinfer_score_mutation(s->work.cli->model, scores,
                                          bi_csv_cell(&s->csv, row, s->column), s->offset, &score,
                                          &err)))
            bi_csv_fail(&s->csv, row, &err, "%s", err.text);
        if (!st && isfinite(score)) {
            s->scores[i] = score;
            s->n_values++;
            continue;
        }
        s->n_failed++;
        if (!status)
            status = st ? st : BIOINFER_NONFINITE;
        if (st)
            cli_say_lost(s->work.cli, "%s", err.text);
        else
            cli_say_lost(s->work.cli, "%s: line %llu: score is not finite", path,
                         (unsigned long long)row->line);
    }
    return status;
}

static void write_rows(struct cli_scorer *s)
{
    const struct bi_csv *csv = &s->csv;
    const char sep = csv->separator;
    const char *end = *csv->header.end ? csv->header.end : "\n";
    /* lines before the header stay, too */
    cli_output_write(&s->work.text, csv->text, (size_t)(csv->header.text - csv->text));
    cli_output_write(&s->work.text, csv->header.text, csv->header.len);
    cli_output_write(&s->work.text, &sep, 1);
    cli_csv_cell(&s->work.text, sep, s->work.cli->info.name);
    cli_output_write(&s->work.text, end, strlen(end));
    for (size_t i = 0; i < csv->n_rows; i++) {
        const struct bi_csv_row *row = &csv->rows[i];
        cli_output_write(&s->work.text, row->text, row->len);
        if (row->n_fields)
            cli_output_write(&s->work.text, &sep, 1);
        if (isfinite(s->scores[i]))
            cli_output_printf(&s->work.text, "%.6f", s->scores[i]);
        end = *row->end ? row->end : "\n";
        cli_output_write(&s->work.text, end, strlen(end));
    }
}

int cli_score_table_give(struct cli_scorer *s, const struct bioinfer_result *scores,
                         struct bioinfer_error *err)
{
    char why[96];
    int status;
    if (scores->status) { /* nothing of the table can be scored */
        err->status = scores->status;
        snprintf(err->text, sizeof err->text, "%s", scores->message);
        if (cli_score_wants_windows(s->work.cli, scores))
            snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text),
                     ": --window %lld scores it in windows", (long long)s->work.cli->info.longest);
        return scores->status;
    }
    s->n_values = s->n_failed = s->n_rows = 0;
    status = score_rows(s, scores);
    if (!status || !s->work.cli->options->strict)
        write_rows(s);
    if (s->n_failed)
        suggest_offset(s, scores);
    snprintf(why, sizeof why, "%llu of %llu mutants have no score", (unsigned long long)s->n_failed,
             (unsigned long long)s->n_rows);
    return cli_score_give(s, scores, status, why, err);
}

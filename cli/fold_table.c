/* fold_table.c - rows of a table of heavy and light chains become complexes.
 *
 * Columns are found by name, in upper or lower case: "heavy" and "light", "vh" and "vl", or as
 * files of paired sequences of the Observed Antibody Space have them. */
#include "fold.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Names of columns that go together: heavy, light, id. */
static const char *const names[][3] = {
    {"heavy", "light", "id"},
    {"vh", "vl", "id"},
    {"sequence_alignment_aa_heavy", "sequence_alignment_aa_light", "sequence_id_heavy"},
};

bool cli_chain_table_named(const char *path)
{
    static const char *const suffixes[] = {".csv", ".tsv", ".csv.gz", ".tsv.gz"};
    for (size_t i = 0; i < CLI_COUNT(suffixes); i++)
        if (cli_ends_with(path, suffixes[i]))
            return true;
    return false;
}

/* The column of a name, whatever its case; -1 = there is none. *twice: there are two. */
static int find(const struct bi_csv *t, const char *name, bool *twice)
{
    int found = -1;
    for (size_t k = 0; k < t->header.n_fields; k++)
        if (!strcasecmp(bi_csv_cell(t, &t->header, (int)k), name)) {
            *twice |= found >= 0;
            found = (int)k;
        }
    return found;
}

int cli_chain_table_open(struct cli_chain_table *t, const char *path, struct bioinfer_error *err)
{
    const struct bi_env env = bi_env_default();
    bool twice = false;
    int st = bi_csv_read(&t->csv, &env, path, err);
    t->at = 0;
    t->heavy = t->light = -1;
    for (size_t i = 0; !st && (t->heavy < 0 || t->light < 0) && i < CLI_COUNT(names); i++) {
        t->heavy = find(&t->csv, names[i][0], &twice);
        t->light = find(&t->csv, names[i][1], &twice);
        t->id = find(&t->csv, names[i][2], &twice);
    }
    if (!st && (t->heavy < 0 || t->light < 0))
        st = bi_csv_fail(&t->csv, &t->csv.header, err,
                         "no columns of chains, expected heavy and light, vh and vl, or "
                         "sequence_alignment_aa_heavy and sequence_alignment_aa_light");
    else if (!st && twice)
        st = bi_csv_fail(&t->csv, &t->csv.header, err, "two columns have one name");
    return st;
}

/* Says why the row has no complex; false: no memory. */
static bool refuse(struct cli_chain *chain, int status, const char *why)
{
    chain->status = status;
    return (chain->message = strdup(why)) != NULL;
}

/* Joins the chains of a row; false: no memory. */
static bool join(const struct cli_chain_table *t, const struct bi_csv_row *row,
                 struct cli_chain *chain)
{
    const char *heavy = bi_csv_cell(&t->csv, row, t->heavy);
    const char *light = bi_csv_cell(&t->csv, row, t->light);
    struct bioinfer_error why = {0};
    const size_t size = strlen(heavy) + strlen(light) + 2;
    if (!(chain->sequence = malloc(size)))
        return false;
    snprintf(chain->sequence, size, "%s:%s", heavy, light);
    chain->length = size - 1;
    if (*heavy && *light && !strpbrk(heavy, ":|") && !strpbrk(light, ":|"))
        return (chain->message = strdup("")) != NULL;
    chain->sequence[chain->length = 0] = '\0';
    bi_csv_fail(&t->csv, row, &why, "the %s chain %s",
                *heavy && !strpbrk(heavy, ":|") ? "light" : "heavy",
                *heavy && *light ? "has ':' or '|', expected one chain" : "is missing");
    return refuse(chain, *heavy && *light ? BIOINFER_FORMAT : BIOINFER_EMPTY, why.text);
}

int cli_chain_table_next(struct cli_chain_table *t, struct cli_chain *chain,
                         struct bioinfer_error *err)
{
    const struct bi_csv_row *row = NULL;
    struct bioinfer_error why = {0};
    char number[32];
    const char *id;
    int st = bi_csv_next(&t->csv, &t->at, &row, &why);
    bool ok;
    if (!st)
        return 0;
    id = st > 0 ? bi_csv_cell(&t->csv, row, t->id) : NULL;
    snprintf(number, sizeof number, "row_%zu", t->at);
    chain->id = strdup(id && *id ? id : number);
    ok = st > 0 ? join(t, row, chain)
                : (chain->sequence = strdup("")) && refuse(chain, st, why.text);
    if (chain->id && ok)
        return 1;
    free(chain->id);
    free(chain->sequence);
    free(chain->message);
    *chain = (struct cli_chain){0};
    err->status = BIOINFER_NOMEM;
    snprintf(err->text, sizeof err->text, "out of memory for a row");
    return BIOINFER_NOMEM;
}

void cli_chain_table_close(struct cli_chain_table *t)
{
    bi_csv_free(&t->csv);
}

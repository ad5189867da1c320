/* table.c - tables of text (loaders/csv.h): how the command reads them, and a cell that it adds. */
#include "cli.h"

#include <string.h>

#include "../loaders/csv.h"

int cli_table_read(struct cli *cli, struct bi_csv *table, const char *path)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    int st;
    if (!strcmp(path, "-")) { /* workers have other words there */
        cli_say(cli, "a table is read from a file, not from standard input");
        return CLI_EXIT_USAGE;
    }
    st = bi_csv_read(table, &env, path, &err);
    return st ? cli_fail(cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

int cli_table_columns(struct cli *cli, const struct bi_csv *table, const char *const *names, int n,
                      int n_needed, int *columns)
{
    struct bioinfer_error err = {0};
    int st = 0;
    for (int i = 0; i < n && !st; i++)
        st = i < n_needed ? bi_csv_need(table, names[i], &columns[i], &err)
                          : bi_csv_find(table, names[i], &columns[i], &err);
    return st ? cli_fail(cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

void cli_csv_cell(struct cli_output *out, char separator, const char *text)
{
    if (separator == '\t' || !strpbrk(text, ",\"\r\n")) {
        cli_output_field(out, text);
        return;
    }
    cli_output_write(out, "\"", 1);
    for (; *text; text++)
        cli_output_write(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    cli_output_write(out, "\"", 1);
}

/* help.c - --help, from the tables of options.c. */
#include "options.h"

#include <string.h>

static void print_option(const struct cli_option *opt)
{
    char left[64];
    const char *line = opt->help, *end;
    int used;

    used = snprintf(left, sizeof left, "%c%c%s--%s%s%s", opt->letter ? '-' : ' ',
                    opt->letter ? opt->letter : ' ', opt->letter ? ", " : "  ", opt->name,
                    opt->arg && opt->arg[0] != '[' ? " " : "", opt->arg ? opt->arg : "");
    if (used > 25)
        printf("  %s\n%29s", left, "");
    else
        printf("  %-25s  ", left);
    for (; (end = strchr(line, '\n')); line = end + 1)
        printf("%.*s\n%29s", (int)(end - line), line, "");
    printf("%s\n", line);
}

void cli_print_models(int command, const char *model)
{
    const char *name;
    const int kind = cli_kind_of(command);

    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        if (model ? !strcmp(model, name) : !command || bioinfer_family_kind(i) == kind)
            printf("  %-11s %s\n", name, bioinfer_family_summary(i));
}

void cli_help(int command, const char *model)
{
    const struct cli_subcommand *sub;
    const struct cli_option *opt;

    printf("Usage:\n");
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++)
        if (!command || sub->command == command)
            printf("  %s\n      %s\n", sub->usage, sub->summary);
    if (!command || command & (CLI_BOTH | CLI_TRACKS))
        printf("\nINPUT is FASTA%s: plain, gzip or BGZF; '-' reads standard input.\n",
               !command || command == CLI_TRACKS ? ", with --genome BED or VCF" : "");
    if (!command || command == CLI_DESIGN)
        printf("%sSTRUCTURE is a PDB or mmCIF file, a folder of them, or a list of paths (.txt).\n",
               command ? "\n" : "");
    if (!command || command & CLI_RUNS) {
        printf(model ? "\nModel:\n" : "\nModels:\n");
        cli_print_models(command, model);
    }
    printf("\nOptions:\n");
    for (size_t i = 0; (opt = cli_option_at(i)); i++)
        if (!command || opt->commands & (unsigned)command)
            print_option(opt);
    printf("\nExit status:\n");
#define CLI_X(id, value, text) printf("  %3d  %s\n", value, text);
    CLI_EXIT_LIST(CLI_X)
#undef CLI_X
    printf("\n`bioinfer help COMMAND`, `bioinfer help MODEL`, `bioinfer models` and `man bioinfer` "
           "tell more.\n");
}

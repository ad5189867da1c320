/* help.c - --help and `bioinfer help`, from the tables of options.c.
 *
 * Help of a command fits on one screen: its main options in full, the others by name. Lines have 80
 * columns at most. */
#include "options.h"

#include <string.h>

enum { COLUMNS = 80, MARGIN = 27 };

/* Prints words, which blanks or line ends separate, in lines from column `from` on; `at` is the
 * column that was reached. Ends the line. */
static void print_words(const char *text, int at, int from)
{
    const char *blanks = " \n";
    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        const int n = (int)strcspn(text, blanks);
        if (at > from && at + 1 + n > COLUMNS) {
            putchar('\n');
            at = 0;
        }
        at += printf("%*s%.*s", at < from ? from - at : at > from, "", n, text);
        text += n;
    }
    putchar('\n');
}

/* Prints the left column of an option; gives the column that was reached. */
static int print_name(const struct cli_option *opt)
{
    const bool optional = opt->arg && opt->arg[0] == '[';
    char letter[8] = "    ";
    int at;
    if (opt->letter)
        snprintf(letter, sizeof letter, "-%c, ", opt->letter);
    at = printf("  %s--%s%s%s", letter, opt->name, opt->arg && !optional ? " " : "",
                opt->arg ? opt->arg : "");
    if (at < MARGIN - 1)
        return at;
    putchar('\n');
    return 0;
}

static void print_option(const struct cli_option *opt, int command)
{
    print_words(cli_option_help(opt, command), print_name(opt), MARGIN);
}

/* The option of this name that a command knows; NULL = there is none. */
static const struct cli_option *option_of(const char *name, int command)
{
    const struct cli_option *opt;
    for (size_t i = 0; (opt = cli_option_at(i)); i++)
        if (opt->commands & (unsigned)command && !strcmp(opt->name, name))
            return opt;
    return NULL;
}

/* Does no other option of its name mean anything else? */
static bool has_one_meaning(const struct cli_option *opt)
{
    const struct cli_option *other;
    for (size_t i = 0; (other = cli_option_at(i)); i++)
        if (!strcmp(other->name, opt->name) && (!other->help || strcmp(other->help, opt->help)))
            return false;
    return true;
}

/* Prints what options of this name mean for each command that knows one. */
static void print_meanings(const char *name)
{
    const struct cli_option *opt = cli_option_find(name, strlen(name)), *same;
    const struct cli_subcommand *sub, *other;
    int at = print_name(opt);
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++) {
        char text[1000] = "";
        bool told = !(opt = option_of(name, sub->command));
        for (size_t k = 0; (other = cli_subcommand_at(k)) && !told; k++) {
            if (!(same = option_of(name, other->command)) ||
                strcmp(cli_option_help(same, other->command), cli_option_help(opt, sub->command)))
                continue;
            told = k < i;
            strcat(strcat(text, *text ? ", " : ""), other->name);
        }
        if (told)
            continue;
        snprintf(text + strlen(text), sizeof text - strlen(text), ": %s",
                 cli_option_help(opt, sub->command));
        print_words(text, at, MARGIN);
        at = 0;
    }
}

void cli_print_models(int command, const char *model)
{
    const char *name;
    const int kind = cli_kind_of(command);
    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        if (model ? !strcmp(model, name)
                  : !command || command == CLI_SERVE || bioinfer_family_kind(i) == kind)
            print_words(bioinfer_family_summary(i), printf("  %-11s", name), 14);
}

static void print_status(void)
{
    printf("Exit status:\n");
#define CLI_X(id, value, text) printf("  %3d  %s\n", value, text);
    CLI_EXIT_LIST(CLI_X)
#undef CLI_X
}

static void print_topics(void)
{
    const struct cli_topic *topic;
    for (size_t i = 0; (topic = cli_topic_at(i)); i++)
        print_words(topic->summary, printf("  %-11s", topic->name), 14);
}

/* Prints lines of examples, with the name of a model for MODEL. */
static void print_lines(const char *line, const char *model)
{
    while (*line) {
        const int n = (int)strcspn(line, "\n");
        const char *at = strstr(line, "MODEL");
        if (at && at < line + n)
            printf("  %.*s%s%.*s\n", (int)(at - line), line, model, (int)(line + n - at - 5),
                   at + 5);
        else
            printf("  %.*s\n", n, line);
        line += n + 1;
    }
}

/* Prints `bioinfer --help`. */
static void overview(void)
{
    const struct cli_subcommand *sub;
    printf("bioinfer %s runs biological foundation models.\n\n"
           "Usage: bioinfer MODEL INPUT [-o FILE] [options]\n"
           "       bioinfer COMMAND ...\n\nModels:\n",
           bioinfer_version());
    cli_print_models(0, NULL);
    printf("\nCommands:\n");
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++)
        print_words(sub->summary, printf("  %-11s", sub->name), 14);
    printf("\nFirst steps:\n");
    print_lines("bioinfer MODEL in.fasta --weights tiny -o out.npz\n"
                "bioinfer report out.npz -o report.html\n",
                bioinfer_family_name(0));
    printf("\n`bioinfer help MODEL` and `bioinfer help COMMAND` say more, `man bioinfer` all,\n"
           "and `bioinfer help TOPIC` has these topics:\n");
    print_topics();
}

static void print_examples(const struct cli_subcommand *sub, const char *model)
{
    const char *name;
    for (int i = 0; !model && (name = bioinfer_family_name(i)); i++)
        if (bioinfer_family_kind(i) == cli_kind_of(sub->command))
            model = name;
    printf("\nExamples:\n");
    print_lines(sub->examples, model);
}

/* Is the option one of those that the command's help explains? */
static bool is_main(const struct cli_subcommand *sub, const struct cli_option *opt)
{
    const size_t n = strlen(opt->name);
    for (const char *at = sub->main; (at = strstr(at, opt->name)); at += n)
        if ((at == sub->main || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

/* Prints the main options in their order, and the names of the others; all options where they are
 * few. */
static void print_main(const struct cli_subcommand *sub)
{
    enum { FEW = 8 };
    const struct cli_option *opt;
    char others[2000] = "";
    int n = 0;
    for (size_t i = 0; (opt = cli_option_at(i)); i++)
        n += (opt->commands & (unsigned)sub->command) != 0;
    printf(n > FEW ? "\nMain options:\n" : "\nOptions:\n");
    for (const char *at = sub->main; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        for (size_t i = 0; (opt = cli_option_at(i)); i++)
            if (opt->commands & (unsigned)sub->command && strlen(opt->name) == length &&
                !strncmp(opt->name, at, length))
                print_option(opt, sub->command);
        at += length;
    }
    for (size_t i = 0; (opt = cli_option_at(i)); i++) {
        if (!(opt->commands & (unsigned)sub->command) || is_main(sub, opt))
            continue;
        if (n <= FEW)
            print_option(opt, sub->command);
        else
            snprintf(others + strlen(others), sizeof others - strlen(others), " --%s", opt->name);
    }
    if (n <= FEW)
        return;
    printf("\nOther options (`bioinfer help %s all` explains them):\n", sub->name);
    print_words(others, 0, 2);
}

static void print_head(const struct cli_subcommand *sub, const char *model)
{
    const int command = sub->command;
    printf("Usage: %s\n\n", sub->usage);
    print_words(sub->summary, 0, 2);
    if (sub->reads)
        print_words(sub->reads, 0, 2);
    if (command & CLI_LOADS) {
        printf(model ? "\nModel:\n" : "\nModels:\n");
        cli_print_models(command, model);
    }
}

/* Prints all options, of a command or (NULL) of all. */
static void print_all(const struct cli_subcommand *sub)
{
    const struct cli_option *opt;
    printf("\nOptions:\n");
    for (size_t i = 0; (opt = cli_option_at(i)); i++)
        if (!sub && cli_option_find(opt->name, strlen(opt->name)) != opt)
            continue; /* told with the first one of its name */
        else if (!sub && (!opt->help || !has_one_meaning(opt)))
            print_meanings(opt->name);
        else if (!sub || opt->commands & (unsigned)sub->command)
            print_option(opt, sub ? sub->command : 0);
    putchar('\n');
    print_status();
}

void cli_help(const struct cli_options *o)
{
    const struct cli_subcommand *sub = o->command ? cli_subcommand_of(o->command) : NULL;
    const struct cli_subcommand *each;
    if (sub) {
        print_head(sub, o->model);
        if (o->topic) {
            print_all(sub);
            return;
        }
        print_main(sub);
        print_examples(sub, o->model);
        return;
    }
    if (!o->topic) {
        overview();
    } else if (o->topic->text) {
        fputs(o->topic->text, stdout);
    } else if (!strcmp(o->topic->name, "all")) {
        printf("Usage:\n");
        for (size_t i = 0; (each = cli_subcommand_at(i)); i++)
            printf("  %s\n", each->usage);
        print_all(NULL);
    } else {
        print_status();
    }
}

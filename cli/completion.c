/* completion.c - `bioinfer completion SHELL`: a script that completes command lines, from the
 * tables of options.c.
 *
 * All three scripts know the commands, the models, the options of each command, and the values of
 * options that have a list of them. Other values are files, or numbers, which nothing completes. */
#include "options.h"

#include <string.h>

/* ---- words of the tables ---- */

static void print_models(int command)
{
    const char *name;
    const int kind = cli_kind_of(command);
    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        if (!command || command == CLI_SERVE || bioinfer_family_kind(i) == kind)
            printf(" %s", name);
}

static void print_commands(void)
{
    const struct cli_subcommand *sub;
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++)
        printf(" %s", sub->name);
    printf(" help models version");
}

/* Is the value of the option a number, or one of many, so that no file completes it? */
static bool is_number(const struct cli_option *opt)
{
    return opt->type == COUNT || opt->type == LARGE || opt->type == SHARD || opt->type == OFFSET ||
           opt->type == NUMBERS || opt->type == NAMES;
}

/* Writes the values that an option may have for a command, with blanks between; "" = no list. */
static const char *values_of(const struct cli_option *opt, int command, char *text, size_t size)
{
    const char *name, *at = opt->choices;
    char word[64];
    size_t n = 0;
    *text = 0;
    if (at) {
        while (cli_next_choice(&at, word, sizeof word) && n < size)
            n += (size_t)snprintf(text + n, size - n, n ? " %s" : "%s", word);
    } else if (!strcmp(opt->name, "format")) {
        for (int i = 0; (name = cli_format_name(command, i)) && n < size; i++)
            n += (size_t)snprintf(text + n, size - n, n ? " %s" : "%s", name);
    } else if (!strcmp(opt->name, "device")) {
        snprintf(text, size, command == CLI_ALIGN ? "auto cpu cuda:0" : "auto cpu cuda:0 all");
    }
    return text;
}

/* ---- bash ---- */

static void print_bash_values(void)
{
    const struct cli_subcommand *sub;
    const struct cli_option *opt;
    char text[1000];
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++)
        for (size_t k = 0; (opt = cli_option_at(k)); k++)
            if (opt->commands & (unsigned)sub->command &&
                *values_of(opt, sub->command, text, sizeof text))
                printf("        \"%s --%s\") list=\"%s\" ;;\n", sub->name, opt->name, text);
    for (size_t k = 0; (opt = cli_option_at(k)); k++)
        if (cli_option_find(opt->name, strlen(opt->name)) != opt)
            continue; /* as the first one of its name */
        else if (is_number(opt))
            printf("        *\" --%s\") compopt +o default; return ;;\n", opt->name);
        else if (opt->type == TEXT && !*values_of(opt, 0, text, sizeof text))
            printf("        *\" --%s\") return ;;\n", opt->name);
    printf("        *\" -o\") return ;;\n");
}

static void bash(void)
{
    const struct cli_subcommand *sub;
    const struct cli_option *opt;
    const struct cli_topic *topic;
    const char *name;
    printf("# Completion of bioinfer for bash, made by `bioinfer completion bash`.\n"
           "_bioinfer()\n{\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local command= help= option= list= i\n"
           "    COMPREPLY=()\n"
           "    if [[ $cur == = ]]; then # --option=VALUE is three words\n"
           "        option=$prev cur=\n"
           "    elif [[ $prev == = ]]; then\n"
           "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
           "    elif [[ $prev == -* ]]; then\n"
           "        option=$prev\n"
           "    fi\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        [[ -z $command ]] || break\n"
           "        case ${COMP_WORDS[i]} in\n"
           "        help) help=1 ;;\n");
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++)
        printf("        %s) command=%s ;;\n", sub->name, sub->name);
    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        printf("        %s) command=%s ;;\n", name, cli_runner_of(bioinfer_family_kind(i))->name);
    printf("        esac\n    done\n    case \"$command $option\" in\n");
    for (size_t k = 0; (opt = cli_option_at(k)); k++)
        if (opt->type == OPTIONAL) /* the value needs an equals sign */
            printf("        *\" --%s\") [[ $prev == = || ${COMP_WORDS[COMP_CWORD]} == = ]] || "
                   "option= ;;\n",
                   opt->name);
    printf("    esac\n    case \"$command $option\" in\n");
    print_bash_values();
    printf("    esac\n"
           "    if [[ -n $list ]]; then\n"
           "        if [[ $option == --include && $cur == *,* ]]; then\n"
           "            COMPREPLY=($(compgen -P \"${cur%%,*},\" -W \"$list\" -- \"${cur##*,}\"))\n"
           "        else\n"
           "            COMPREPLY=($(compgen -W \"$list\" -- \"$cur\"))\n"
           "        fi\n"
           "        return\n"
           "    fi\n"
           "    if [[ $cur == -* ]]; then\n"
           "        case $command in\n");
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++) {
        printf("        %s) list=\"-o", sub->name);
        for (size_t k = 0; (opt = cli_option_at(k)); k++)
            if (opt->commands & (unsigned)sub->command)
                printf(" --%s", opt->name);
        printf("\" ;;\n");
    }
    printf("        *) list=\"--help --version\" ;;\n        esac\n");
    printf("        COMPREPLY=($(compgen -W \"$list\" -- \"$cur\"))\n"
           "    elif [[ -z $command ]]; then\n"
           "        list=\"");
    print_models(0);
    print_commands();
    printf("\"\n        [[ -z $help ]] || list+=\"");
    for (size_t i = 0; (topic = cli_topic_at(i)); i++)
        printf(" %s", topic->name);
    printf("\"\n        COMPREPLY=($(compgen -W \"$list\" -- \"$cur\"))\n    else\n");
    printf("        case ${COMP_WORDS[COMP_CWORD-1]} in\n");
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++)
        if (sub->command & CLI_RUNS) {
            printf("        %s) list=\"", sub->name);
            print_models(sub->command);
            printf("\" ;;\n");
        }
    printf("        esac\n"
           "        COMPREPLY=($(compgen -W \"$list\" -- \"$cur\") $(compgen -f -- \"$cur\"))\n"
           "        compopt -o filenames\n"
           "    fi\n}\n"
           "complete -o default -F _bioinfer bioinfer\n");
}

/* ---- zsh and fish, which also show what options mean ---- */

/* Prints the first clause of a text; quotes, brackets, colons and backslashes are left out, as they
 * mean something in the scripts. */
static void print_clause(const char *text)
{
    for (; *text && !strchr("\n;(", *text); text++)
        if (!strchr("'`[]:\\\"", *text))
            putchar(*text);
}

static void zsh_option(const struct cli_option *opt, int command)
{
    char text[1000];
    printf("            '%s--%s%s[", opt->type == NAMES ? "*" : "", opt->name,
           opt->type == FLAG       ? ""
           : opt->type == OPTIONAL ? "=-"
                                   : "=");
    print_clause(cli_option_help(opt, command));
    putchar(']');
    if (opt->type == FLAG)
        ;
    else if (opt->type == OPTIONAL)
        printf("::value:(%s)", values_of(opt, command, text, sizeof text));
    else if (*values_of(opt, command, text, sizeof text)) {
        printf(":value:");
        if (opt->type == WORDS)
            printf("_values -s , value %s", text);
        else if (strchr(text, ':')) /* a device */
            printf("(%.*s)", (int)strcspn(text, ":") - 5, text);
        else
            printf("(%s)", text);
    } else {
        printf(is_number(opt) ? ":number:" : ":file:_files");
    }
    printf("' \\\n");
    if (opt->letter && opt->type != FLAG)
        printf("            '-%c+[the same as --%s]:file:_files' \\\n", opt->letter, opt->name);
}

static void zsh(void)
{
    const struct cli_subcommand *sub;
    const struct cli_option *opt;
    const struct cli_topic *topic;
    const char *name;
    printf("#compdef bioinfer\n"
           "# Completion of bioinfer for zsh, made by `bioinfer completion zsh`.\n"
           "_bioinfer()\n{\n"
           "    local -a names\n    local word command=\n"
           "    for word in ${words[2,CURRENT-1]}; do\n"
           "        [[ -z $command ]] || break\n"
           "        case $word in\n");
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++)
        printf("        %s) command=%s ;;\n", sub->name, sub->name);
    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        printf("        %s) command=%s ;;\n", name, cli_runner_of(bioinfer_family_kind(i))->name);
    printf("        esac\n    done\n    case $command in\n");
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++) {
        printf("    %s)\n        _arguments \\\n", sub->name);
        for (size_t k = 0; (opt = cli_option_at(k)); k++)
            if (opt->commands & (unsigned)sub->command)
                zsh_option(opt, sub->command);
        if (sub->command & CLI_RUNS) {
            printf("            '*:model or file:{ [[ $words[CURRENT-1] == %s ]] && compadd",
                   sub->name);
            print_models(sub->command);
            printf("; _files }' ;;\n");
        } else {
            printf("            '*:file:_files' ;;\n");
        }
    }
    printf("    *)\n        names=(\n");
    for (int i = 0; (name = bioinfer_family_name(i)); i++) {
        printf("            '%s:", name);
        print_clause(bioinfer_family_summary(i));
        printf("'\n");
    }
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++) {
        printf("            '%s:", sub->name);
        print_clause(sub->summary);
        printf("'\n");
    }
    for (size_t i = 0; (topic = cli_topic_at(i)); i++) {
        printf("            ${${(M)words:#help}:+'%s:", topic->name);
        print_clause(topic->summary);
        printf("'}\n");
    }
    printf("            'help:help of a command, a model or a topic'\n"
           "            'models:the models'\n"
           "            'version:the version'\n"
           "        )\n"
           "        _describe 'model or command' names ;;\n"
           "    esac\n}\n"
           "_bioinfer \"$@\"\n");
}

static void fish_name(const char *condition, const char *name, const char *summary)
{
    printf("complete -c bioinfer -f -n %s -a %s -d '", condition, name);
    print_clause(summary);
    printf("'\n");
}

static void fish(void)
{
    const struct cli_subcommand *sub;
    const struct cli_option *opt;
    const struct cli_topic *topic;
    const char *name;
    char text[1000];
    printf("# Completion of bioinfer for fish, made by `bioinfer completion fish`.\n"
           "function __bioinfer_command\n"
           "    for word in (commandline -opc)[2..-1]\n"
           "        switch $word\n");
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++)
        printf("            case %s\n                echo %s\n                return\n", sub->name,
               sub->name);
    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        printf("            case %s\n                echo %s\n                return\n", name,
               cli_runner_of(bioinfer_family_kind(i))->name);
    printf("        end\n    end\nend\n"
           "function __bioinfer_is\n    set -l command (__bioinfer_command)\n"
           "    test \"$command\" = \"$argv\"\nend\n"
           "function __bioinfer_none\n    not count (__bioinfer_command) >/dev/null\nend\n"
           "function __bioinfer_help\n"
           "    __bioinfer_none; and contains help (commandline -opc)\nend\n");
    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        fish_name("__bioinfer_none", name, bioinfer_family_summary(i));
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++)
        fish_name("__bioinfer_none", sub->name, sub->summary);
    fish_name("__bioinfer_none", "help", "help of a command, a model or a topic");
    fish_name("__bioinfer_none", "models", "the models");
    for (size_t i = 0; (topic = cli_topic_at(i)); i++)
        fish_name("__bioinfer_help", topic->name, topic->summary);
    for (size_t i = 0; (sub = cli_subcommand_at(i)); i++)
        for (size_t k = 0; (opt = cli_option_at(k)); k++) {
            if (!(opt->commands & (unsigned)sub->command))
                continue;
            printf("complete -c bioinfer -n '__bioinfer_is %s' -l %s", sub->name, opt->name);
            if (opt->letter)
                printf(" -s %c", opt->letter);
            if (*values_of(opt, sub->command, text, sizeof text))
                printf(" -x -a '%s'", text);
            else if (opt->type != FLAG)
                printf(is_number(opt) ? " -x" : " -r -F");
            printf(" -d '");
            print_clause(cli_option_help(opt, sub->command));
            printf("'\n");
        }
}

bool cli_completion(const char *shell)
{
    if (!strcmp(shell, "bash"))
        bash();
    else if (!strcmp(shell, "zsh"))
        zsh();
    else if (!strcmp(shell, "fish"))
        fish();
    else
        return false;
    return true;
}

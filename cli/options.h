/* options.h - the tables of options and of commands, and what reads them.
 *
 *   options.c   the tables
 *   params.c    rows of parameters that the library's tasks have
 *   parse.c     the command line, by the tables
 *   help.c      --help, by the tables
 *   completion.c  scripts for shells, by the tables */
#ifndef BI_CLI_OPTIONS_H
#define BI_CLI_OPTIONS_H

#include "cli.h"

enum option_type {
    FLAG,     /* bool */
    TEXT,     /* const char * */
    CHOICE,   /* const char *, one of `choices` */
    OPTIONAL, /* const char *, one of `choices`; `implied` when no =VALUE follows */
    COUNT,    /* int64_t, at least 1, and an int holds it */
    LARGE,    /* int64_t, at least 1 */
    SHARD,    /* options.shard, options.n_shards */
    OFFSET,   /* options.offset */
    WORDS,    /* some of `choices`, with commas between; options.design_include */
    NUMBERS,  /* numbers with commas between; a parameter of a task */
    NAMES     /* texts with commas between, repeatable; a parameter of a task */
};

struct cli_option {
    const char *name;
    char letter; /* 0 = none */
    enum option_type type;
    const char *arg; /* the name of the value in --help */
    size_t field;    /* place in struct cli_options, or CLI_PARAM */
    unsigned commands;
    const char *choices; /* "a|b|c" */
    const char *help;    /* NULL: the commands say different things, cli_option_help() */
};

/* An option of the command line, and its value, "true" of a flag. Of an option with several rows
 * the first one. */
struct cli_given {
    const struct cli_option *option;
    const char *value;
};

/* A row of commands.inc. */
struct cli_subcommand {
    const char *name;
    int command;
    int (*run)(struct cli *cli);
    const struct cli_task *task; /* workers can do this; NULL = nothing */
    const char *usage, *summary;
    const char *main;     /* names of the options that its help explains, with spaces between */
    const char *examples; /* lines; MODEL stands for a family that the command runs */
    const char *reads;    /* a sentence on its input; NULL = the usage says it */
    const char *format;   /* the one that it writes; NULL = format.c knows */
    const char *params;   /* the task whose parameters it takes; NULL = the one of its name */
    bool many;            /* it takes several inputs */
};

/* A text of `bioinfer help NAME` that is no command's. */
struct cli_topic {
    const char *name, *summary, *text; /* text: paragraphs; NULL = help.c makes it */
};

#define CLI_FIELD(name) offsetof(struct cli_options, name)
#define CLI_PARAM SIZE_MAX /* a parameter of a task: bioinfer_params_set() takes the value */
#define CLI_BOTH (CLI_EMBED | CLI_SCORE)
#define CLI_MOTION (CLI_MD | CLI_RELAX)
#define CLI_LOADS (CLI_RUNS | CLI_SERVE | CLI_MOTION)
#define CLI_SHOWS (CLI_REPORT | CLI_PLOT)
#define CLI_EVERY ((1 << CLI_COMMANDS) - 1)
enum {
    CLI_RUNS = 0 /* a model on records */
#define RUN(NAME, name, ...) | CLI_##NAME
#define TASK(NAME, name, ...)
#include "commands.inc"
};

/* Option i of the table, and subcommand i; NULL past the end. Several options may have one name and
 * different commands. */
const struct cli_option *cli_option_at(size_t i);
const struct cli_subcommand *cli_subcommand_at(size_t i);
/* Topic i of the help; NULL past the end. */
const struct cli_topic *cli_topic_at(size_t i);
/* The first option of this name; NULL = there is none. */
const struct cli_option *cli_option_find(const char *name, size_t length);
/* Gives what the option means for one command; "" where that does not know it and the option has no
 * help of its own. */
const char *cli_option_help(const struct cli_option *option, int command);
/* Copies the next of "a|b|c" into `word`, without what follows an '=', and moves *choices to the
 * one after it; false past the last one. */
bool cli_next_choice(const char **choices, char *word, size_t size);
/* Is the value one of "a|b|c"? */
bool cli_is_choice(const char *choices, const char *value);

/* ---- params.c ---- */

/* Option i of those that the library's tasks have; NULL past the end. */
const struct cli_option *cli_params_option(size_t i);
/* Makes o->params of the command's task, where that has a table, from the values that were given;
 * of serve they are tried alone. False: said why. */
bool cli_params_take(struct cli_options *o);
/* The row of a command; that of the first one where there is none. */
const struct cli_subcommand *cli_subcommand_of(int command);
/* The kind of families that a command runs, enum bioinfer_family_kind: of serve, which runs several
 * kinds, that of sequences; -1 = it runs none. */
int cli_kind_of(int command);
/* The command that runs a family of that kind when none is named. */
const struct cli_subcommand *cli_runner_of(int kind);

#endif

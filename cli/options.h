/* options.h - the tables of options and of commands, and what reads them.
 *
 *   options.c   the tables
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
    NUMBER,   /* int64_t, at least 0; kept plus one: 0 = not given */
    SHARD,    /* options.shard, options.n_shards */
    OFFSET,   /* options.offset */
    KINDS,    /* options.include */
    LAYERS,   /* options.layers */
    RULES     /* options.no_rules, repeatable */
};

struct cli_option {
    const char *name;
    char letter; /* 0 = none */
    enum option_type type;
    const char *arg; /* the name of the value in --help */
    size_t field;
    unsigned commands;
    const char *choices; /* "a|b|c" */
    const char *help;    /* NULL: the commands say different things, cli_option_help() */
};

struct cli_subcommand {
    const char *name;
    int command;
    const char *usage, *summary;
    const char *main;     /* names of the options that its help explains, with spaces between */
    const char *examples; /* lines; MODEL stands for a family that the command runs */
};

/* A text of `bioinfer help NAME` that is no command's. */
struct cli_topic {
    const char *name, *summary, *text; /* text: paragraphs; NULL = help.c makes it */
};

#define CLI_FIELD(name) offsetof(struct cli_options, name)
#define CLI_BOTH (CLI_EMBED | CLI_SCORE)
#define CLI_RUNS                                                                                   \
    (CLI_BOTH | CLI_TRACKS | CLI_DESIGN | CLI_AFFINITY | CLI_ENERGY) /* a model on records */
#define CLI_MOTION (CLI_MD | CLI_RELAX)
#define CLI_LOADS (CLI_RUNS | CLI_SERVE | CLI_MOTION)
#define CLI_SHOWS (CLI_REPORT | CLI_PLOT)
#define CLI_EVERY                                                                                  \
    (CLI_RUNS | CLI_INFO | CLI_DEVICES | CLI_ALIGN | CLI_MERGE | CLI_MOLECULE | CLI_INDEX |        \
     CLI_SHOWS | CLI_SERVE | CLI_MOTION)

/* Option i of the table, and subcommand i; NULL past the end. */
const struct cli_option *cli_option_at(size_t i);
const struct cli_subcommand *cli_subcommand_at(size_t i);
/* Topic i of the help; NULL past the end. */
const struct cli_topic *cli_topic_at(size_t i);
/* Gives what the option means for one command; "" where that does not know it and the option has no
 * help of its own. */
const char *cli_option_help(const struct cli_option *option, int command);
/* The row of a command; that of the first one where there is none. */
const struct cli_subcommand *cli_subcommand_of(int command);
/* The kind of families that a command runs, enum bioinfer_family_kind: of serve, which runs several
 * kinds, that of sequences; -1 = it runs none. */
int cli_kind_of(int command);
/* The command that runs a family of that kind when none is named. */
const struct cli_subcommand *cli_runner_of(int kind);

#endif

/* params.c - parameters of the library's tasks as options: rows for the table of options, and the
 * values of a command line. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 256 }; /* more than there are */

static struct cli_option rows[MOST_ROWS];
static char helps[MOST_ROWS][400]; /* help of the rows, with the defaults */
static size_t n_rows;

static enum option_type type_of(const struct bioinfer_field *f)
{
    static const enum option_type types[] = {
        [BIOINFER_PARAMS_FLAG] = FLAG,     [BIOINFER_PARAMS_INT] = NUMBERS,
        [BIOINFER_PARAMS_REAL] = NUMBERS,  [BIOINFER_PARAMS_CHOICE] = CHOICE,
        [BIOINFER_PARAMS_BITS] = WORDS,    [BIOINFER_PARAMS_TEXT] = TEXT,
        [BIOINFER_PARAMS_NAMES] = NAMES,   [BIOINFER_PARAMS_FILE] = TEXT,
        [BIOINFER_PARAMS_OUTPUT] = NAMES,  [BIOINFER_PARAMS_PATH] = TEXT,
        [BIOINFER_PARAMS_RANGE] = NUMBERS, [BIOINFER_PARAMS_COST] = NUMBERS};
    return types[f->kind];
}

/* The task whose parameters a command takes. */
static const char *task_of(const struct cli_subcommand *sub)
{
    return sub->params ? sub->params : sub->name;
}

/* The commands that take a parameter of the task. */
static unsigned commands_of(const char *task, const struct bioinfer_field *f)
{
    const struct cli_subcommand *sub;
    unsigned commands = f->takers & BIOINFER_PARAMS_SERVE ? CLI_SERVE : 0;
    for (size_t i = 0; f->takers & BIOINFER_PARAMS_COMMAND && (sub = cli_subcommand_at(i)); i++)
        if (!strcmp(task_of(sub), task))
            commands |= (unsigned)sub->command;
    return commands;
}

static bool equal(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Adds a row, or the commands to one that is the same but for them. */
static void add_row(const char *task, const struct bioinfer_field *f)
{
    const unsigned commands = commands_of(task, f);
    struct cli_option *row = rows;
    char *help = helps[n_rows];
    if (!commands || n_rows == MOST_ROWS)
        return;
    snprintf(help, sizeof helps[0], f->otherwise ? "%s (default: %s)" : "%s", f->help,
             f->otherwise);
    while (row < rows + n_rows && (strcmp(row->name, f->name) || !equal(row->choices, f->choices) ||
                                   strcmp(row->help, help)))
        row++;
    if (row == rows + n_rows) {
        n_rows++;
        *row = (struct cli_option){.name = f->name,
                                   .type = type_of(f),
                                   .arg = f->value,
                                   .field = CLI_PARAM,
                                   .choices = f->choices,
                                   .help = help};
    }
    row->commands |= commands;
}

const struct cli_option *cli_params_option(size_t i)
{
    struct bioinfer_field f = {.struct_size = sizeof f};
    const bool made = n_rows;
    const struct cli_subcommand *sub;
    for (size_t k = 0; !made && (sub = cli_subcommand_at(k)); k++)
        for (int at = 0; !bioinfer_params_field(task_of(sub), at, &f); at++)
            add_row(task_of(sub), &f);
    return i < n_rows ? &rows[i] : NULL;
}

/* ---- values ---- */

const char *cli_given(const struct cli_options *o, const char *name)
{
    for (int i = o->n_given; i-- > 0;)
        if (!strcmp(o->given[i].option->name, name))
            return o->given[i].value;
    return NULL;
}

const struct bioinfer_embed_params *cli_embed_params(const struct cli_options *o)
{
    static const struct bioinfer_embed_params none;
    return o->command == CLI_EMBED && o->params ? bioinfer_params_struct(o->params) : &none;
}

bool cli_params_keep_files(const struct cli_options *o)
{
    struct bioinfer_field f = {.struct_size = sizeof f};
    const char *task = task_of(cli_subcommand_of(o->command));
    for (int i = 0; o->params && !bioinfer_params_field(task, i, &f); i++)
        if ((f.kind == BIOINFER_PARAMS_FILE || f.kind == BIOINFER_PARAMS_PATH) &&
            cli_output_replaces(o, cli_given(o, f.name)))
            return false;
    return true;
}

/* Says why a value was refused, and what a word that is no choice may have meant; false. */
static bool say_refused(const struct bioinfer_field *f, const char *value,
                        const struct bioinfer_error *err)
{
    char part[64], words[64][24], what[80];
    while (f->choices && cli_next_part(&value, part, sizeof part)) {
        struct cli_nearest n = {.word = part};
        const char *at = f->choices, *habit = cli_habit(part);
        if (cli_is_choice(at, part))
            continue;
        for (size_t i = 0; i < CLI_COUNT(words) && cli_next_choice(&at, words[i], sizeof words[i]);
             i++)
            cli_consider(&n, words[i]);
        /* a habit whose words are about another parameter is none */
        snprintf(what, sizeof what, "%.*s", habit ? (int)strcspn(habit, " ") : 0,
                 habit ? habit : "");
        const bool fits = habit ? cli_is_choice(f->choices, what) : n.best != NULL;
        snprintf(what, sizeof what, "value of --%s", f->name);
        if (fits)
            return cli_refuse_word(what, part, "", &n);
    }
    cli_say(NULL, "--%s", err->text);
    return false;
}

/* Sets what is given and the task takes; takers: BIOINFER_PARAMS_COMMAND or _SERVE. */
static bool set_given(const struct cli_options *o, const char *task, unsigned takers,
                      bioinfer_params *params)
{
    struct bioinfer_field f = {.struct_size = sizeof f};
    struct bioinfer_error err = {0};
    for (int i = 0; i < o->n_given; i++)
        for (int at = 0; !bioinfer_params_field(task, at, &f); at++)
            if (f.takers & takers && !strcmp(f.name, o->given[i].option->name) &&
                bioinfer_params_set(params, f.name, o->given[i].value, &err))
                return say_refused(&f, o->given[i].value, &err);
    return true;
}

int cli_params_serve(const struct cli *cli, const char *task, bioinfer_params **out,
                     struct bioinfer_error *err)
{
    int st = bioinfer_params_new(out, task, err);
    if (!st)
        set_given(cli->options, task, BIOINFER_PARAMS_SERVE,
                  *out); /* which cli_params_take() has tried */
    return st;
}

bool cli_params_take(struct cli_options *o)
{
    const bool serves = o->command == CLI_SERVE;
    struct bioinfer_error err = {0};
    const struct cli_subcommand *sub;
    bool ok = true;
    for (size_t i = 0; ok && (sub = cli_subcommand_at(i)); i++) {
        if (!serves && sub->command != o->command)
            continue;
        const int st = bioinfer_params_new(&o->params, task_of(sub), &err);
        if (st == BIOINFER_NOT_FOUND) /* no table */
            continue;
        if (st)
            cli_say(NULL, "%s", err.text);
        ok = !st && set_given(o, task_of(sub),
                              serves ? BIOINFER_PARAMS_SERVE : BIOINFER_PARAMS_COMMAND, o->params);
        if (ok && bioinfer_params_check(o->params, &err)) {
            cli_say(NULL, "--%s", err.text);
            ok = false;
        }
        if (serves)
            bioinfer_params_free(&o->params);
    }
    return ok;
}

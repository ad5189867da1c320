/* parse.c - the command line: options by the table, and what the words beside them mean. */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- values ---- */

static bool parse_integer(const char *text, int64_t *out)
{
    char *end;
    long long v;
    errno = 0;
    v = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return false;
    *out = v;
    return true;
}

bool cli_next_choice(const char **choices, char *word, size_t size)
{
    const char *at = *choices;
    if (!*at)
        return false;
    snprintf(word, size, "%.*s", (int)strcspn(at, "|="), at);
    at += strcspn(at, "|");
    *choices = at + (*at == '|');
    return true;
}

bool cli_is_choice(const char *choices, const char *value)
{
    char word[64];
    while (cli_next_choice(&choices, word, sizeof word))
        if (!strcmp(word, value))
            return true;
    return false;
}

bool cli_next_part(const char **list, char *part, size_t size)
{
    size_t n;
    if (!*list)
        return false;
    n = strcspn(*list, ",");
    if (n >= size)
        n = size - 1;
    memcpy(part, *list, n);
    part[n] = 0;
    *list = strchr(*list, ',');
    if (*list)
        ++*list;
    return true;
}

/* Takes words of a design. */
static bool parse_words(struct cli_options *o, const struct cli_option *opt, const char *value)
{
    char part[64];
    while (cli_next_part(&value, part, sizeof part)) {
        if (!cli_is_choice(opt->choices, part)) {
            cli_say(NULL, "--%s: '%s' is not one of %s", opt->name, part, opt->choices);
            return false;
        }
        o->design_include |= part[0] == 'l' ? CLI_LOG_PROBS : CLI_PROBS;
    }
    return true;
}

static bool parse_shard(struct cli_options *o, const char *value)
{
    char part[16] = "";
    const char *slash = strchr(value, '/');
    int64_t i = 0, n = 0;
    if (slash && (size_t)(slash - value) < sizeof part)
        memcpy(part, value, (size_t)(slash - value));
    if (!slash || !parse_integer(part, &i) || !parse_integer(slash + 1, &n) || i < 1 || n < i ||
        n > 1 << 20) {
        cli_say(NULL, "--shard: '%s' is not I/N with I from 1 to N", value);
        return false;
    }
    o->shard = (int)i;
    o->n_shards = (int)n;
    return true;
}

static bool set_value(struct cli_options *o, const struct cli_option *opt, const char *value)
{
    void *field = (char *)o + opt->field;
    int64_t n;
    switch (opt->type) {
    case FLAG:
        *(bool *)field = true;
        return true;
    case CHOICE:
    case OPTIONAL:
        if (!cli_is_choice(opt->choices, value)) {
            cli_say(NULL, "--%s: '%s' is not one of %s", opt->name, value, opt->choices);
            return false;
        }
        *(const char **)field = value;
        return true;
    case TEXT:
        if (!*value) {
            cli_say(NULL, "--%s: the value is empty", opt->name);
            return false;
        }
        *(const char **)field = value;
        return true;
    case COUNT:
    case OFFSET:
        if (!parse_integer(value, &n) || n > INT_MAX || n < (opt->type == COUNT ? 1 : -INT_MAX)) {
            cli_say(NULL, "--%s: '%s' is not a %snumber up to %d", opt->name, value,
                    opt->type == COUNT ? "positive " : "", INT_MAX);
            return false;
        }
        if (opt->type == OFFSET) {
            o->offset = n;
            o->has_offset = true;
        } else {
            *(int64_t *)field = n;
        }
        return true;
    case LARGE:
        if (!parse_integer(value, &n) || n < 1) {
            cli_say(NULL, "--%s: '%s' is not a positive number", opt->name, value);
            return false;
        }
        *(int64_t *)field = n;
        return true;
    case SHARD:
        return parse_shard(o, value);
    case WORDS:
        return parse_words(o, opt, value);
    case NUMBERS: /* parameters of tasks */
    case NAMES:
        break;
    }
    return false;
}

/* ---- the command line ---- */

static bool unknown_option(const char *name, size_t len)
{
    char word[64] = "";
    struct cli_nearest n = {.word = word};
    const struct cli_option *opt;
    memcpy(word, name, len < sizeof word ? len : sizeof word - 1);
    for (size_t i = 0; (opt = cli_option_at(i)); i++)
        cli_consider(&n, opt->name);
    return cli_refuse_word("option", word, "--", &n);
}

/* The value of an OPTIONAL that has none. */
static const char *implied(const struct cli_option *opt)
{
    return opt->field == CLI_FIELD(resume) ? "match" : "fused";
}

struct words {
    const char **word; /* has room for all arguments */
    int n;
};

/* The next option of this name from number *i on, which is moved; NULL = no more. */
static const struct cli_option *next_row(const char *name, size_t *i)
{
    const struct cli_option *opt;
    while ((opt = cli_option_at((*i)++)))
        if (!strcmp(opt->name, name))
            return opt;
    return NULL;
}

/* Is it the only option of its name, and no task's? */
static bool is_alone(const struct cli_option *opt)
{
    size_t i = 0;
    next_row(opt->name, &i);
    return opt->field != CLI_PARAM && !next_row(opt->name, &i);
}

static bool take_option(struct cli_options *o, const struct cli_option *opt, const char *value,
                        int argc, char **argv, int *i)
{
    if (opt->type == FLAG && value) {
        cli_say(NULL, "--%s takes no value", opt->name);
        return false;
    }
    if (opt->type == OPTIONAL && !value) {
        value = implied(opt);
    } else if (opt->type != FLAG && !value) {
        if (*i + 1 >= argc) {
            cli_say(NULL, "--%s needs a value", opt->name);
            return false;
        }
        value = argv[++*i];
    }
    o->given[o->n_given++] = (struct cli_given){opt, value ? value : "true"};
    return !is_alone(opt) || set_value(o, opt, value);
}

/* Takes the options that wait for the command. */
static bool take_given(struct cli_options *o)
{
    const struct cli_option *opt;
    for (int i = 0; i < o->n_given; i++) {
        const char *name = o->given[i].option->name;
        bool belongs = false;
        for (size_t k = 0; (opt = next_row(name, &k)) && !belongs;)
            belongs = opt->commands & (unsigned)o->command;
        if (!belongs) {
            cli_say(NULL, "--%s does not belong to `bioinfer %s`", name,
                    cli_subcommand_of(o->command)->name);
            return false;
        }
    }
    for (int i = 0; i < o->n_given; i++)
        for (size_t k = 0; (opt = next_row(o->given[i].option->name, &k));)
            if (opt->field != CLI_PARAM && !is_alone(opt) && opt->commands & (unsigned)o->command &&
                !set_value(o, opt, o->given[i].value))
                return false;
    o->raw_residues |= cli_given(o, "raw-residues") != NULL;
    return cli_params_take(o);
}

static bool take_letters(struct cli_options *o, int argc, char **argv, int *i)
{
    for (const char *c = argv[*i] + 1; *c; c++) {
        const struct cli_option *opt;
        for (size_t k = 0; (opt = cli_option_at(k)); k++)
            if (opt->letter == *c)
                break;
        if (!opt) { /* others have whole names behind one dash */
            const bool whole = c == argv[*i] + 1 && c[1] && cli_habit(c);
            const char word[] = {*c, 0};
            return cli_refuse_word("option", whole ? c : word, "-",
                                   &(struct cli_nearest){.word = word});
        }
        if (opt->type != FLAG) /* -oFILE or -o FILE */
            return take_option(o, opt, c[1] ? c + 1 : NULL, argc, argv, i);
        if (!take_option(o, opt, NULL, argc, argv, i))
            return false;
    }
    return true;
}

/* The kind of a family, enum bioinfer_family_kind; -1: no family is called so. */
static int kind_of(const char *family)
{
    const int index = bioinfer_family_find(family);
    return index < 0 ? -1 : bioinfer_family_kind(index);
}

int cli_letters_of(const char *family)
{
    const int index = bioinfer_family_find(family);
    return index < 0 ? BIOINFER_LETTERS_RESIDUES : bioinfer_family_letters(index);
}

static bool unknown_model(const char *word)
{
    struct cli_nearest n = {.word = word};
    const struct cli_subcommand *command;
    const char *name;
    for (size_t i = 0; (command = cli_subcommand_at(i)); i++)
        cli_consider(&n, command->name);
    for (int i = 0; (name = bioinfer_family_name(i)); i++) {
        if (cli_names_weights(word, name)) {
            cli_say(NULL,
                    "unknown model or command '%s'; it is a name of weights: bioinfer %s INPUT "
                    "--weights %s%s",
                    word, name, strchr(word, '/') ? "" : "ORG/", word);
            return false;
        }
        cli_consider(&n, name);
    }
    if (access(word, F_OK) == 0) {
        cli_say(NULL, "%s is a file, expected a model first: bioinfer MODEL %s", word, word);
        return false;
    }
    if (strpbrk(word, "./") && !n.best && !cli_habit(word)) {
        cli_say(NULL,
                "%s: no such file, and no model or command of this name; see `bioinfer --help`",
                word);
        return false;
    }
    return cli_refuse_word("model or command", word, "", &n);
}

static const struct cli_topic *find_topic(const char *word)
{
    const struct cli_topic *topic;
    for (size_t i = 0; (topic = cli_topic_at(i)); i++)
        if (!strcmp(topic->name, word))
            return topic;
    return NULL;
}

static bool unknown_topic(const char *word)
{
    struct cli_nearest n = {.word = word};
    const struct cli_subcommand *command;
    const struct cli_topic *topic;
    const char *name;
    for (size_t i = 0; (command = cli_subcommand_at(i)); i++)
        cli_consider(&n, command->name);
    for (size_t i = 0; (topic = cli_topic_at(i)); i++)
        cli_consider(&n, topic->name);
    for (int i = 0; (name = bioinfer_family_name(i)); i++)
        cli_consider(&n, name);
    return cli_refuse_word("model, command or topic", word, "", &n);
}

/* Finds whose help is asked for: the command, or the one that runs the model, or a topic. The other
 * words of a command line that ends in --help play no part. */
static bool find_help(struct cli_options *o, const struct words *w, int used, bool by_word)
{
    int kind;
    if (w->n > used && bioinfer_family_find(w->word[used]) >= 0 &&
        (!used || o->command & CLI_LOADS)) {
        o->model = w->word[used++];
        kind = kind_of(o->model);
        if (cli_kind_of(o->command) != kind)
            o->command = cli_runner_of(kind)->command;
    }
    if (w->n > used && (!o->command || !strcmp(w->word[used], "all")))
        o->topic = find_topic(w->word[used]);
    return !by_word || !w->n || o->command || o->topic || unknown_topic(w->word[0]);
}

/* Tells whether the command is one for the model; false: said which one is. */
static bool runs(const struct cli_options *o, const char *model)
{
    static const struct {
        int kind;
        const char *takes, *usage, *lacks; /* usage: of the command, around the model */
    } kinds[] = {
        {BIOINFER_FAMILY_DESIGN, "takes structures", "design %s", "designs no sequences"},
        {BIOINFER_FAMILY_AFFINITY, "rates ligands", "%s RECEPTOR LIGANDS", "rates no ligands"},
        {BIOINFER_FAMILY_ENERGY, "takes frames of atoms", "energy %s",
         "gives no energies of atoms"},
        {BIOINFER_FAMILY_FOLD, "folds chains", "fold %s", "folds no chains"},
    };
    for (size_t i = 0; i < CLI_COUNT(kinds); i++) {
        const bool is = kind_of(model) == kinds[i].kind;
        const char *usage = is ? kinds[i].usage : "%s", *at = strstr(usage, "%s");

        if (is == (cli_kind_of(o->command) == kinds[i].kind))
            continue;
        cli_say(NULL, "%s %s: bioinfer %.*s%s%s", model, is ? kinds[i].takes : kinds[i].lacks,
                (int)(at - usage), usage, model, at + 2);
        return false;
    }
    return true;
}

/* Takes the word of a model, where it is not left to --weights; which model it is may say what the
 * command is. */
static bool take_model(struct cli_options *o, const struct words *w, int *used, bool named)
{
    /* serve takes no word beside the model; a receptor and its ligands are two */
    const int n = w->n - *used, most = o->command == CLI_SERVE      ? 0
                                       : o->command == CLI_AFFINITY ? 2
                                                                    : 1;
    const bool found = named && o->weights && n <= most && (n > 0 || !most);
    int kind;
    if (bioinfer_family_find(w->word[*used]) >= 0)
        o->model = w->word[(*used)++];
    else if (!found && named && !o->weights && !access(w->word[*used], F_OK)) {
        cli_say(NULL, "%s is an input, and no model is named; usage: %s", w->word[*used],
                cli_subcommand_of(o->command)->usage);
        return false;
    } else if (!found)
        return unknown_model(w->word[*used]);
    kind = o->model ? kind_of(o->model) : -1;
    if (kind >= 0 && (named ? o->command == CLI_EMBED && kind == BIOINFER_FAMILY_TRACKS
                            : cli_kind_of(o->command) != kind))
        o->command = cli_runner_of(kind)->command;
    return !o->model || o->command == CLI_SERVE || runs(o, o->model);
}

/* Names the first word of a command's usage that is not given, behind `given` of them; false. MODEL
 * is apart: `model` says that there is one. */
static bool say_missing(int command, bool model, int given)
{
    const char *usage = cli_subcommand_of(command)->usage;
    int depth = 0, n;
    for (const char *at = usage; *at; at += n + strspn(at + n, " ")) {
        n = (int)strcspn(at, " ");
        depth += *at == '[';
        if (!depth && *at >= 'A' && *at <= 'Z' && (strncmp(at, "MODEL ", 6) ? !given-- : !model)) {
            while (n && at[n - 1] == '.')
                n--;
            cli_say(NULL, "%.*s is missing; usage: %s", n, at, usage);
            return false;
        }
        depth -= at[n - 1] == ']' || (n > 3 && at[n - 4] == ']');
    }
    cli_say(NULL, "something is missing; usage: %s", usage);
    return false;
}

/* Has sequences taken as they stand where letters of the model come in pairs. */
static bool keep_letters(struct cli_options *o)
{
    if (cli_letters_of(o->model) != BIOINFER_LETTERS_PAIRS)
        return true;
    o->raw_residues = true;
    return !o->params || !bioinfer_params_set(o->params, "raw-residues", "true", NULL);
}

/* Gives the words their places: [embed|score] MODEL INPUT, align A [B], merge FILE [PART ...],
 * info FILE, molecule info FILE, devices; embed|score INPUT where --weights says what the model
 * is. */
static bool place_words(struct cli_options *o, struct words *w)
{
    const struct cli_subcommand *command;
    int used = 0, wanted;
    bool named = false, by_word = false;
    if (w->n && !strcmp(w->word[0], "help")) {
        o->help = by_word = true;
        w->word++;
        w->n--;
    }
    if (w->n == 1 && !strcmp(w->word[0], "version"))
        o->version = true;
    if (w->n == 1 && !strcmp(w->word[0], "models"))
        o->models = true;
    if (w->n == 2 && !strcmp(w->word[0], "completion"))
        o->completion = w->word[1];
    for (size_t i = 0; w->n && (command = cli_subcommand_at(i)); i++)
        if (!strcmp(command->name, w->word[0])) {
            o->command = command->command;
            used = 1;
            named = true;
        }
    if (o->command == CLI_MOLECULE && w->n > 1 && !strcmp(w->word[1], "info"))
        used = 2;
    if (o->help)
        return find_help(o, w, used, by_word);
    if (o->version || o->models || o->completion)
        return true;
    if (!w->n) {
        cli_say(NULL, "no model given; see `bioinfer --help`");
        return false;
    }
    if (o->command == CLI_MOLECULE && used != 2) {
        return say_missing(CLI_MOLECULE, false, 0);
    }
    if (!named)
        o->command = CLI_EMBED;
    if (o->command & CLI_LOADS && w->n > used && !take_model(o, w, &used, named))
        return false;
    if ((o->license || o->list_outputs) && o->model && w->n == used)
        return true;
    if (o->command & (CLI_AFFINITY | CLI_DOCK | CLI_RESCORE) && w->n - used >= 2)
        o->receptor = w->word[used];
    if (o->command & (CLI_ALIGN | CLI_NEAREST) && w->n - used >= 2)
        o->second = w->word[used + 1];
    wanted = o->command & (CLI_DEVICES | CLI_SERVE)                  ? 0
             : o->second || o->receptor || o->command == CLI_RESCORE ? 2
                                                                     : 1;
    if (cli_subcommand_of(o->command)->many && w->n - used > wanted)
        wanted = w->n - used;
    if (o->command == CLI_MERGE && w->n > used) {
        o->parts = w->word + used + 1;
        o->n_parts = w->n - used - 1;
        wanted += o->n_parts;
    }
    if (w->n - used != wanted || (o->command & CLI_LOADS && !o->model && !(named && o->weights))) {
        if (w->n - used > wanted)
            cli_say(NULL, "one argument too many: '%s'", w->word[used + wanted]);
        else
            say_missing(o->command, o->model || o->weights, w->n - used);
        return false;
    }
    o->input = wanted ? w->word[used + (o->receptor != NULL)] : NULL;
    o->inputs = w->word + used;
    o->n_inputs = wanted;
    if (o->command == CLI_DESIGN && cli_given(o, "raw-residues")) {
        cli_say(NULL,
                "--raw-residues is for sequences: a design reads structures, and takes residues of "
                "--sequences as they stand anyway; leave it out");
        return false;
    }
    return take_given(o) && keep_letters(o);
}

/* Whether --device asks for more than one device, or may do so. */
static bool names_several(const char *device)
{
    return device && (!strcmp(device, "all") || strchr(device, ','));
}

/* Cuts weights of several checkpoints at their commas, for commands that take an average over them;
 * a file whose name has commas is one. */
static bool split_weights(struct cli_options *o)
{
    char *copy, *at;
    if (o->command != CLI_AFFINITY || !o->weights || !strchr(o->weights, ',') ||
        !access(o->weights, F_OK))
        return true;
    if (!(copy = strdup(o->weights))) { /* lives as long as the process */
        cli_say(NULL, "out of memory");
        return false;
    }
    o->weights = copy;
    for (at = copy; (at = strchr(at, ','));) {
        *at++ = '\0';
        if (o->n_ensemble == CLI_MAX_ENSEMBLE) {
            cli_say(NULL, "--weights: more than %d checkpoints", CLI_MAX_ENSEMBLE + 1);
            return false;
        }
        o->ensemble[o->n_ensemble++] = at;
    }
    return true;
}

/* Whether every file that the command line names for reading stays as it is. */
static bool keeps_inputs(const struct cli_options *o)
{
    const char *const read[] = {o->weights,   o->genome,    o->head,
                                o->positions, o->mutations, o->genes,
                                o->sequences, o->measured,  cli_given(o, "matrix")};
    for (int i = 0; i < o->n_inputs; i++)
        if (cli_output_replaces(o, o->inputs[i]))
            return false;
    for (size_t i = 0; i < CLI_COUNT(read); i++)
        if (cli_output_replaces(o, read[i]))
            return false;
    for (int i = 0; i < o->n_ensemble; i++)
        if (cli_output_replaces(o, o->ensemble[i]))
            return false;
    return cli_params_keep_files(o);
}

/* Checks options that exclude or need one another; says what is wrong. */
static bool check_together(struct cli_options *o)
{
    const char *method = cli_given(o, "method");
    const bool pppl = method && !strcmp(method, "pppl");
    const char *rng = cli_given(o, "rng");
    const bool torch = rng && strcmp(rng, "native");
    if (o->command == CLI_DOCK && !o->dup_ids)
        o->dup_ids = "suffix"; /* molecules of one name are no reason to stop */
    if (pppl && (o->mutations || o->has_offset)) {
        cli_say(NULL,
                "--method pppl scores whole sequences: give the mutants as FASTA "
                "records instead of --%s",
                o->mutations ? "mutations" : "offset");
        return false;
    }
    if (o->log_json && o->profile) {
        cli_say(NULL, "--log-json and --profile do not go together: a profile is a table");
        return false;
    }
    if (o->dry_run && (o->mutations || o->dump_graph || o->trace_rules || o->workers ||
                       names_several(o->device))) {
        cli_say(NULL, "--dry-run measures records on one device, without --mutations, --workers, "
                      "--dump-graph and --trace-rules");
        return false;
    }
    if (o->mutations && o->n_inputs > 1) {
        cli_say(NULL, "--mutations takes one wild type: '%s' is one input too many", o->inputs[1]);
        return false;
    }
    if (o->n_shards && o->strict) {
        cli_say(NULL, "--strict and --shard do not go together");
        return false;
    }
    if (o->n_shards && o->mutations) {
        cli_say(NULL, "--mutations and --shard do not go together: one wild type cannot be cut "
                      "into parts");
        return false;
    }
    if (o->n_shards && torch) {
        cli_say(NULL,
                "--rng %s and --shard do not go together: PyTorch's numbers are drawn for "
                "one structure after the other",
                rng);
        return false;
    }
    if (torch && (o->workers || names_several(o->device))) {
        cli_say(NULL,
                "--rng %s and %s do not go together: PyTorch's numbers are drawn for one "
                "structure after the other, by one process",
                rng, o->workers ? "--workers" : "several devices");
        return false;
    }
    if (o->mutation_col && !o->mutations) {
        cli_say(NULL, "--mutation-col needs --mutations");
        return false;
    }
    return split_weights(o) && keeps_inputs(o) && cli_check_format(o);
}

bool cli_parse(struct cli_options *o, int argc, char **argv)
{
    struct words w = {.word = calloc((size_t)argc + 1, sizeof *w.word), .n = 0};
    size_t n = 1;
    bool only_words = false;
    for (int i = 1; i < argc; i++)
        n += strlen(argv[i]); /* a letter each may be a flag */
    o->given = calloc(n, sizeof *o->given);
    if (!w.word || !o->given) {
        free(w.word);
        cli_say(NULL, "out of memory");
        return false;
    }
    o->words = w.word; /* lives as long as the options, which point into it */
    o->argc = argc;
    o->argv = argv;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (only_words || arg[0] != '-' || !arg[1]) {
            w.word[w.n++] = arg;
        } else if (!strcmp(arg, "--")) {
            only_words = true;
        } else if (arg[1] == '-') {
            const char *name = arg + 2, *value = strchr(name, '=');
            size_t len = value ? (size_t)(value - name) : strlen(name);
            const struct cli_option *opt = cli_option_find(name, len);
            if (!opt)
                return unknown_option(name, len);
            if (!take_option(o, opt, value ? value + 1 : NULL, argc, argv, &i))
                return false;
        } else if (!take_letters(o, argc, argv, &i)) {
            return false;
        }
    }
    return place_words(o, &w) && (o->help || o->version || o->models || o->completion ||
                                  o->license || o->list_outputs || check_together(o));
}
void cli_options_free(struct cli_options *o)
{
    bioinfer_params_free(&o->params);
    free(o->given);
    free(o->words);
}

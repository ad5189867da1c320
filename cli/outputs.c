/* outputs.c - the outputs of a model of DNA windows that are asked for: --outputs, --organism,
 * --resolution, --list-outputs. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

static int no_place(int n)
{
    cli_say(NULL, "--outputs: more than %d outputs in one run", n);
    return CLI_EXIT_USAGE;
}

static int add_output(struct tracker *t, int index)
{
    struct bioinfer_output_info row = {.struct_size = sizeof row};
    struct output_facts *is;

    if (t->n_outputs == MAX_OUTPUTS)
        return no_place(MAX_OUTPUTS);
    is = &t->of[t->n_outputs++].is;
    bioinfer_model_output(t->cli->model, index, &row);
    snprintf(is->name, sizeof is->name, "%s", row.name);
    snprintf(is->output, sizeof is->output, "%s", row.output);
    is->n_head_tracks = row.n_tracks;
    return CLI_EXIT_OK;
}

/* Adds the output that a name means; NULL = the first of the organism. */
static int add_name(struct tracker *t, const char *name)
{
    const struct cli_options *o = t->cli->options;
    struct bioinfer_error err = {0};
    int index, st = bioinfer_model_find_output(t->cli->model, name, o->organism, o->resolution,
                                               &index, &err);

    return st ? cli_fail(t->cli, CLI_AT_CONFIG, st, &err) : add_output(t, index);
}

/* Adds every output of the organism, each of one resolution. */
static int add_all(struct tracker *t)
{
    struct bioinfer_output_info row = {.struct_size = sizeof row}, first = row;
    const char *organism = t->cli->options->organism;
    int code = CLI_EXIT_OK;

    bioinfer_model_output(t->cli->model, 0, &first);
    organism = organism ? organism : first.organism;
    for (int i = 0; !code && !bioinfer_model_output(t->cli->model, i, &row); i++) {
        bool there = !row.organism || !organism || strcmp(row.organism, organism);
        for (int k = 0; k < t->n_outputs; k++)
            there |= !strcmp(t->of[k].is.output, row.output);
        if (!there)
            code = add_name(t, row.output);
    }
    /* where no output is of the organism, the words say so */
    return code || t->n_outputs ? code : add_name(t, NULL);
}

static int add_names(struct tracker *t, const char *list)
{
    char *copy = strdup(list), *part, *rest;
    int code = copy ? CLI_EXIT_OK : cli_no_memory(NULL, "the list of outputs");

    for (part = copy ? strtok_r(copy, ",", &rest) : NULL; part && !code;
         part = strtok_r(NULL, ",", &rest))
        code = strcmp(part, "all") ? add_name(t, part) : add_all(t);
    free(copy);
    if (!code && !t->n_outputs) {
        cli_say(NULL, "--outputs: the list is empty");
        return CLI_EXIT_USAGE;
    }
    return code;
}

/* Reads the output's part of the table of tracks, and selects its tracks. */
static int choose_tracks(struct tracker *t, struct output *o, const struct wish *wish)
{
    int code;

    if (t->table[0] &&
        (code = targets_read(&o->targets, t->table, o->is.name, o->is.n_head_tracks)))
        return code;
    return selection_read(&o->chosen, wish, &o->targets, o->is.output, o->is.n_head_tracks);
}

/* Tells whether a table has as many tracks of each output as the weights have. */
static int table_fits(const struct tracker *t, bool *fits)
{
    int code = CLI_EXIT_OK, n = 0;

    *fits = true;
    for (int i = 0; i < t->n_outputs && *fits && !code; i++) {
        code = targets_count(&n, t->table, t->of[i].is.name);
        *fits = n == t->of[i].is.n_head_tracks;
    }
    return code;
}

/* Names the table of tracks, if one is needed: that of --targets, or the one that comes with
 * bioinfer, which strands are exchanged by, too. */
static int find_table(struct tracker *t, const struct wish *wish)
{
    const struct cli_options *o = t->cli->options;
    struct bioinfer_output_info row = {.struct_size = sizeof row};
    struct bioinfer_error err = {0};
    const bool named = wish_needs_table(wish);
    bool fits = false;
    int code;

    if (o->targets) {
        if ((size_t)snprintf(t->table, sizeof t->table, "%s", o->targets) < sizeof t->table)
            return CLI_EXIT_OK;
        cli_say(NULL, "--targets: a path of more than %zu bytes", sizeof t->table - 1);
        return CLI_EXIT_USAGE;
    }
    if (!named && !o->rc)
        return CLI_EXIT_OK;
    for (int i = 0; !bioinfer_model_output(t->cli->model, i, &row); i++)
        if (!strcmp(row.name, t->of[0].is.name))
            break;
    if (!bioinfer_model_tracks_table(t->cli->model, row.organism, t->table, sizeof t->table,
                                     &err)) {
        if (!named && (code = table_fits(t, &fits)))
            return code;
        if (named || fits)
            return CLI_EXIT_OK;
    }
    t->unfit = t->table[0] != '\0';
    t->table[0] = '\0';
    if (!named)
        return CLI_EXIT_OK;
    cli_say(NULL, "--%s: names need the table: --targets FILE (%s)",
            o->ontology ? "ontology" : "tracks", err.text);
    return CLI_EXIT_USAGE;
}

/* Adds words to a list; false: they do not fit, and "..." stands there. */
static bool add_words(char *text, size_t size, const char *words)
{
    const size_t n = strlen(text), more = strlen(words) + (n ? 2 : 0);

    if (n + more + 6 > size) {
        if (n && strcmp(text + n - (n < 3 ? n : 3), "..."))
            strcat(text, ", ...");
        return false;
    }
    strcat(strcat(text, n ? ", " : ""), words);
    return true;
}

/* Says which terms there are instead of one that no track has. */
static void say_terms(const struct tracker *t, const char *term, int n)
{
    char text[240] = "";
    bool room = true;

    for (int i = 0; i < t->n_outputs; i++) {
        const struct targets *of = &t->of[i].targets;
        for (int k = 0; room && k < of->n; k++)
            if (*of->of[k].ontology && !strstr(text, of->of[k].ontology))
                room = add_words(text, sizeof text, of->of[k].ontology);
    }
    cli_say(NULL, "--ontology: no track has '%.*s'; those of the outputs chosen have %s", n, term,
            *text ? text : "none");
}

/* Every part of the lists means a track of some output. */
static int check_hits(const struct tracker *t, const struct wish *w)
{
    const struct {
        const char *list, *hit;
    } lists[] = {{w->tracks, w->tracks_hit}, {w->ontology, w->ontology_hit}};
    char names[200];

    outputs_name(t, names, sizeof names);
    for (int i = 0; i < 2; i++) {
        size_t n;
        for (const char *at = lists[i].list; at && *at; at += n + (at[n] == ',')) {
            n = strcspn(at, ",");
            if (!n || lists[i].hit[at - lists[i].list])
                continue;
            if (i)
                say_terms(t, at, (int)n);
            else
                cli_say(NULL, "--tracks: no track of %s is called '%.*s', of output %s", t->table,
                        (int)n, at, names);
            return CLI_EXIT_USAGE;
        }
    }
    return CLI_EXIT_OK;
}

/* Drops outputs of which no track is meant. */
static int leave_out(struct tracker *t)
{
    int n = 0;

    for (int i = 0; i < t->n_outputs; i++) {
        struct output *o = &t->of[i];
        if (o->chosen.n) {
            struct output kept = *o;
            *o = (struct output){0};
            t->of[n++] = kept;
            continue;
        }
        add_words(t->left_out, sizeof t->left_out, o->is.name);
        targets_free(&o->targets);
        free(o->chosen.of);
        *o = (struct output){0};
    }
    t->n_outputs = n;
    if (n)
        return CLI_EXIT_OK;
    cli_say(NULL, "--tracks and --ontology: no track is meant by both");
    return CLI_EXIT_USAGE;
}

int outputs_find(struct tracker *t)
{
    const struct cli_options *o = t->cli->options;
    const char *list = o->outputs ? o->outputs : o->head;
    struct wish wish;
    int code = list ? add_names(t, list) : add_name(t, NULL);

    if (code)
        return code;
    if (!(code = wish_open(&wish, o->tracks, o->ontology)))
        code = find_table(t, &wish);
    for (int i = 0; i < t->n_outputs && !code; i++)
        code = choose_tracks(t, &t->of[i], &wish);
    if (!code)
        code = check_hits(t, &wish);
    wish_close(&wish);
    return code ? code : leave_out(t);
}

int outputs_hear(struct tracker *t)
{
    const struct cli_options *o = t->cli->options;
    struct wish wish;
    int code = wish_open(&wish, o->tracks, o->ontology);

    for (int i = 0; i < t->n_outputs && !code; i++)
        code = choose_tracks(t, &t->of[i], &wish);
    wish_close(&wish);
    return code;
}

/* Keeps what the task says of an output. Contributions are of single bases. */
static void take_facts(struct tracker *t, int index)
{
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct output_facts *is = &t->of[index].is;

    if (t->cli->options->contributions) {
        bioinfer_contributions_get_info(t->tracks, &info);
        info.bin_size = 1;
        info.first_bin = 0;
    } else {
        bioinfer_tracks_get_output(t->tracks, index, &info);
    }
    snprintf(is->array, sizeof is->array, "%s", info.array);
    is->bin_size = info.bin_size;
    is->first_bin = info.first_bin;
    is->n_bins = info.n_bins;
    is->n_values = info.n_rows * info.n_tracks;
    is->values_at = info.values_at;
    is->n_tracks = info.n_tracks;
    is->kind = info.kind;
    is->first = t->n_tracks;
    t->n_tracks += info.n_tracks;
    t->n_values = info.n_values;
}

/* Opens the task that explains the tracks that p asks for, of one output. */
static int open_contributions(struct tracker *t, const struct bioinfer_tracks_params *p,
                              struct bioinfer_error *err)
{
    const struct bioinfer_contributions_params q = BIOINFER_PARAMS(
        struct bioinfer_contributions_params, .head = p->outputs[0].name,
        .tracks = p->outputs[0].tracks, .n_tracks = p->outputs[0].n_tracks,
        .first_bin = t->first_bin, .n_bins = t->n_bins, .no_rules = p->no_rules,
        .memory_limit = p->memory_limit, .progress = p->progress,
        .progress_user = p->progress_user);

    if (p->n_outputs == 1)
        return bioinfer_contributions_open(&t->tracks, t->cli->model, &q, err);
    err->status = BIOINFER_INVALID;
    snprintf(err->text, sizeof err->text, "--contributions explains one output, %d are asked for",
             p->n_outputs);
    return BIOINFER_INVALID;
}

int outputs_open(struct tracker *t, struct bioinfer_tracks_params *params)
{
    struct bioinfer_tracks_output of[MAX_OUTPUTS];
    struct bioinfer_error err = {0};
    int st;

    for (int i = 0; i < t->n_outputs; i++) {
        const struct output *o = &t->of[i];
        of[i] = (struct bioinfer_tracks_output){
            .name = o->is.name,
            .tracks = o->chosen.of,
            .n_tracks = o->chosen.n,
            .strand_pairs = o->targets.has_pairs ? o->targets.pairs : NULL};
    }
    params->outputs = of;
    params->n_outputs = t->n_outputs;
    st = t->cli->options->contributions
             ? open_contributions(t, params, &err)
             : bioinfer_tracks_open(&t->tracks, t->cli->model, params, &err);
    params->outputs = NULL;
    if (st)
        return cli_fail(t->cli, CLI_AT_CONFIG, st, &err);
    for (int i = 0; i < t->n_outputs; i++)
        take_facts(t, i);
    return CLI_EXIT_OK;
}

void outputs_free(struct tracker *t)
{
    for (int i = 0; i < t->n_outputs; i++) {
        targets_free(&t->of[i].targets);
        free(t->of[i].chosen.of);
    }
}

void outputs_name(const struct tracker *t, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < t->n_outputs; i++)
        add_words(text, size, t->of[i].is.name);
}

int outputs_list(struct cli *cli)
{
    static const char *const kinds[] = {"bins", "pairs of bins", "pairs of splice sites"};
    struct bioinfer_output_info row = {.struct_size = sizeof row};
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st, code;

    if ((code = cli_open_context(cli)) || (code = cli_open_model(cli)))
        return code;
    cli_output_open(&out, NULL, &err);
    cli_output_printf(&out, "name\toutput\torganism\tresolution\ttracks\tkind\n");
    for (int i = 0; !bioinfer_model_output(cli->model, i, &row); i++)
        cli_output_printf(&out, "%s\t%s\t%s\t%lld\t%d\t%s\n", row.name, row.output,
                          row.organism ? row.organism : "", (long long)row.resolution, row.n_tracks,
                          kinds[row.kind]);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* outputs.c - the outputs of a model of DNA windows that are asked for, and their tracks. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>

#include "variants.h"

static int add_output(struct bi_variants_task *t, int index, struct bioinfer_error *err)
{
    struct bioinfer_output_info row = {.struct_size = sizeof row};
    struct bi_variants_output *o;
    if (t->n_outputs == BI_MOST_OUTPUTS)
        return bi_fail(err, BIOINFER_INVALID, "outputs: more than %d outputs in one run",
                       BI_MOST_OUTPUTS);
    o = &t->of[t->n_outputs++];
    bioinfer_model_output(t->task.model, index, &row);
    snprintf(o->name, sizeof o->name, "%s", row.name);
    snprintf(o->output, sizeof o->output, "%s", row.output);
    o->n_head_tracks = row.n_tracks;
    return 0;
}

/* Adds the output that a name means; NULL = the first of the organism. */
static int add_name(struct bi_variants_task *t, const char *name, struct bioinfer_error *err)
{
    int index, st = bioinfer_model_find_output(t->task.model, name, t->params.organism,
                                               t->params.resolution, &index, err);
    return st ? st : add_output(t, index, err);
}

/* Adds every output of the organism, each of one resolution. */
static int add_all(struct bi_variants_task *t, struct bioinfer_error *err)
{
    struct bioinfer_output_info row = {.struct_size = sizeof row}, first = row;
    const char *organism = t->params.organism;
    int st = 0;
    bioinfer_model_output(t->task.model, 0, &first);
    organism = organism ? organism : first.organism;
    for (int i = 0; !st && !bioinfer_model_output(t->task.model, i, &row); i++) {
        bool there = !row.organism || !organism || strcmp(row.organism, organism);
        for (int k = 0; k < t->n_outputs; k++)
            there |= !strcmp(t->of[k].output, row.output);
        if (!there)
            st = add_name(t, row.output, err);
    }
    /* where no output is of the organism, the words say so */
    return st || t->n_outputs ? st : add_name(t, NULL, err);
}

static int add_names(struct bi_variants_task *t, const char *list, struct bioinfer_error *err)
{
    char *copy = bi_strdup(t->task.env, list), *part, *rest;
    int st = copy ? 0 : bi_fail(err, BIOINFER_NOMEM, "the list of outputs");
    for (part = copy ? strtok_r(copy, ",", &rest) : NULL; part && !st;
         part = strtok_r(NULL, ",", &rest))
        st = strcmp(part, "all") ? add_name(t, part, err) : add_all(t, err);
    bi_free(t->task.env, copy);
    return st || t->n_outputs ? st : bi_fail(err, BIOINFER_INVALID, "outputs: the list is empty");
}

/* Reads the output's part of the table of tracks, and selects its tracks. */
static int choose_tracks(struct bi_variants_task *t, struct bi_variants_output *o,
                         const struct bi_wish *wish, struct bioinfer_error *err)
{
    const struct bi_env *env = t->task.env;
    int st = 0;
    if (t->table[0])
        st = bi_targets_read(env, &o->targets, t->table, o->name, o->n_head_tracks, err);
    return st ? st
              : bi_selection_read(env, &o->chosen, wish, &o->targets, o->output, o->n_head_tracks,
                                  err);
}

/* Tells whether a table has as many tracks of each output as the weights have. */
static int table_fits(const struct bi_variants_task *t, bool *fits, struct bioinfer_error *err)
{
    int st = 0, n = 0;
    *fits = true;
    for (int i = 0; i < t->n_outputs && *fits && !st; i++) {
        st = bi_targets_count(t->task.env, &n, t->table, t->of[i].name, err);
        *fits = n == t->of[i].n_head_tracks;
    }
    return st;
}

int bi_outputs_table(struct bi_variants_task *t, struct bioinfer_error *err)
{
    const int n = snprintf(t->table, sizeof t->table, "%s", t->params.targets);
    return (size_t)n < sizeof t->table
               ? 0
               : bi_fail(err, BIOINFER_INVALID, "targets: a path of more than %zu bytes",
                         sizeof t->table - 1);
}

/* Names the table of tracks, if one is needed: that of the params, or the one that comes with
 * bioinfer, which strands are exchanged by, too. */
static int find_table(struct bi_variants_task *t, const struct bi_wish *wish,
                      struct bioinfer_error *err)
{
    const bool named = bi_wish_needs_table(wish);
    struct bioinfer_output_info row = {.struct_size = sizeof row};
    struct bioinfer_error why = {0};
    bool fits = false;
    int st;
    if (t->params.targets)
        return bi_outputs_table(t, err);
    if (!named && !t->params.reverse_complement)
        return 0;
    for (int i = 0; !bioinfer_model_output(t->task.model, i, &row); i++)
        if (!strcmp(row.name, t->of[0].name))
            break;
    if (!bioinfer_model_tracks_table(t->task.model, row.organism, t->table, sizeof t->table,
                                     &why)) {
        if (!named && (st = table_fits(t, &fits, err)))
            return st;
        if (named || fits)
            return 0;
    }
    if (t->table[0])
        bi_log(t->task.env, BIOINFER_LOG_WARNING,
               "the table of tracks that comes with bioinfer is of other weights, so strands keep "
               "their tracks: targets names another one");
    t->table[0] = '\0';
    if (!named)
        return 0;
    return bi_fail(err, BIOINFER_INVALID, "%s: names need the table: targets (%s)",
                   t->params.ontology ? "ontology" : "tracks", why.text);
}

/* Adds words to a list; false: they do not fit, and "..." stands there. */
static bool add_words(char *text, size_t size, const char *words)
{
    const size_t n = strlen(text), more = strlen(words) + (n ? 2 : 0);
    if (n + more + 6 > size) {
        if (n && strcmp(text + n - (n < 3 ? n : 3), "..."))
            snprintf(text + n, size - n, ", ...");
        return false;
    }
    snprintf(text + n, size - n, "%s%s", n ? ", " : "", words);
    return true;
}

/* Says which terms there are instead of one that no track has. */
static int no_term(const struct bi_variants_task *t, const char *term, int n,
                   struct bioinfer_error *err)
{
    char text[160] = "";
    bool room = true;
    for (int i = 0; i < t->n_outputs; i++) {
        const struct bi_targets *of = &t->of[i].targets;
        for (int k = 0; room && k < of->n; k++)
            if (*of->of[k].ontology && !strstr(text, of->of[k].ontology))
                room = add_words(text, sizeof text, of->of[k].ontology);
    }
    return bi_fail(err, BIOINFER_INVALID,
                   "ontology: no track has '%.*s'; the outputs chosen have %s", n, term,
                   *text ? text : "none");
}

/* Every part of the lists means a track of some output. */
static int check_hits(const struct bi_variants_task *t, const struct bi_wish *w,
                      struct bioinfer_error *err)
{
    const struct {
        const char *list, *hit;
    } lists[] = {{w->tracks, w->tracks_hit}, {w->ontology, w->ontology_hit}};
    char names[100] = "";
    for (int i = 0; i < t->n_outputs; i++)
        add_words(names, sizeof names, t->of[i].name);
    for (int i = 0; i < 2; i++) {
        size_t n;
        for (const char *at = lists[i].list; at && *at; at += n + (at[n] == ',')) {
            n = strcspn(at, ",");
            if (!n || lists[i].hit[at - lists[i].list])
                continue;
            return i ? no_term(t, at, (int)n, err)
                     : bi_fail(err, BIOINFER_INVALID,
                               "tracks: no track of %s is called '%.*s', of output %s", t->table,
                               (int)n, at, names);
        }
    }
    return 0;
}

/* Drops outputs of which no track is meant. */
static int leave_out(struct bi_variants_task *t, struct bioinfer_error *err)
{
    char left_out[160] = "";
    int n = 0;
    for (int i = 0; i < t->n_outputs; i++) {
        struct bi_variants_output *o = &t->of[i], kept = *o;
        *o = (struct bi_variants_output){.first = 0};
        if (kept.chosen.n) {
            t->of[n++] = kept;
            continue;
        }
        add_words(left_out, sizeof left_out, kept.name);
        bi_targets_free(t->task.env, &kept.targets);
        bi_free(t->task.env, kept.chosen.of);
    }
    t->n_outputs = n;
    if (!n)
        return bi_fail(err, BIOINFER_INVALID, "tracks and ontology: no track is meant by both");
    if (left_out[0])
        bi_log(t->task.env, BIOINFER_LOG_WARNING, "no track of %s is meant by %s: left out",
               left_out, t->params.tracks ? "tracks" : "ontology");
    return 0;
}

int bi_outputs_find(struct bi_variants_task *t, struct bioinfer_error *err)
{
    struct bi_wish wish;
    int st = t->params.outputs ? add_names(t, t->params.outputs, err) : add_name(t, NULL, err);
    if (st)
        return st;
    if (!(st = bi_wish_open(t->task.env, &wish, t->params.tracks, t->params.ontology, err)))
        st = find_table(t, &wish, err);
    for (int i = 0; i < t->n_outputs && !st; i++)
        st = choose_tracks(t, &t->of[i], &wish, err);
    if (!st)
        st = check_hits(t, &wish, err);
    bi_wish_close(t->task.env, &wish);
    if (st || (st = leave_out(t, err)))
        return st;
    if (t->params.reverse_complement && t->params.targets && !t->of[0].targets.has_pairs)
        bi_log(t->task.env, BIOINFER_LOG_WARNING,
               "%s has no column 'strand_pair', so strands keep their tracks", t->params.targets);
    return 0;
}

/* Keeps what the task of windows says of an output. Contributions are of single bases. */
static void take_facts(struct bi_variants_task *t, int index)
{
    struct bi_variants_output *o = &t->of[index];
    o->is.struct_size = sizeof o->is;
    bioinfer_tracks_get_output(&t->task, index, &o->is);
    o->first = t->n_tracks;
    t->n_tracks += o->is.n_tracks;
    t->n_values = o->is.n_values;
}

/* Opens the task that explains the tracks that p asks for, of one output. */
static int open_contributions(struct bi_variants_task *t, const struct bioinfer_tracks_params *p,
                              struct bioinfer_error *err)
{
    const struct bioinfer_contributions_params q = BIOINFER_PARAMS(
        struct bioinfer_contributions_params, .head = p->outputs[0].name,
        .tracks = p->outputs[0].tracks, .n_tracks = p->outputs[0].n_tracks,
        .first_bin = t->params.first_bin, .n_bins = t->params.n_bins, .no_rules = p->no_rules,
        .memory_limit = p->memory_limit, .progress = p->progress,
        .progress_user = p->progress_user);
    if (p->n_outputs == 1)
        return bioinfer_contributions_open(&t->task.inner, t->task.model, &q, err);
    return bi_fail(err, BIOINFER_INVALID,
                   "contributions: they explain one output, %d are asked for", p->n_outputs);
}

int bi_outputs_open(struct bi_variants_task *t, struct bioinfer_tracks_params *params,
                    struct bioinfer_error *err)
{
    struct bioinfer_tracks_output of[BI_MOST_OUTPUTS];
    int st;
    for (int i = 0; i < t->n_outputs; i++) {
        const struct bi_variants_output *o = &t->of[i];
        of[i] = (struct bioinfer_tracks_output){
            .name = o->name,
            .tracks = o->chosen.of,
            .n_tracks = o->chosen.n,
            .strand_pairs = o->targets.has_pairs ? o->targets.pairs : NULL};
    }
    params->outputs = of;
    params->n_outputs = t->n_outputs;
    st = t->params.contributions ? open_contributions(t, params, err)
                                 : bioinfer_tracks_open(&t->task.inner, t->task.model, params, err);
    params->outputs = NULL;
    for (int i = 0; !st && i < t->n_outputs; i++)
        take_facts(t, i);
    return st;
}

void bi_outputs_free(struct bi_variants_task *t)
{
    for (int i = 0; i < t->n_outputs; i++) {
        bi_targets_free(t->task.env, &t->of[i].targets);
        bi_free(t->task.env, t->of[i].chosen.of);
    }
}

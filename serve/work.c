/* work.c - the tasks that answer requests: which there are, and how each is opened. */
#include "serve.h"

#include <string.h>

static const char *const tasks[SERVE_WORKS] = {
    [SERVE_EMBED] = "embed",   [SERVE_SCORE] = "score",       [SERVE_TRACKS] = "tracks",
    [SERVE_DESIGN] = "design", [SERVE_AFFINITY] = "affinity", [SERVE_ALIGN] = "align",
};

/* The path of a task is this and its name. */
#define PATH "/v1/"

int serve_work_of(const char *path)
{
    for (int i = 0; !strncmp(path, PATH, strlen(PATH)) && i < SERVE_WORKS; i++)
        if (!strcmp(tasks[i], path + strlen(PATH)))
            return i;
    return -1;
}

/* A task that needs no model is done by every server. */
bool serve_work_done(const struct serve *s, int work)
{
    const int kind = bioinfer_task_kind(tasks[work]);
    const int family = bioinfer_family_find(s->cli->info.family);

    return kind < 0 || (family >= 0 && bioinfer_family_kind(family) == kind);
}

void serve_work_list(const struct serve *s, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < SERVE_WORKS && used < size; i++)
        if (serve_work_done(s, i))
            used += (size_t)snprintf(text + used, size - used, "%s" PATH "%s", used ? ", " : "",
                                     tasks[i]);
}

/* ---- tasks ---- */

static int open_embed(struct serve *s, struct serve_lane *l, struct bioinfer_error *err)
{
    const struct cli_options *o = s->cli->options;
    struct bioinfer_embed_params p = BIOINFER_PARAMS(
        struct bioinfer_embed_params, .include = l->key.include, .layers = l->key.layers,
        .n_layers = l->key.n_layers, .tokens_at_once = o->batch_tokens, .max_length = o->max_length,
        .raw_residues = o->raw_residues, .no_rules = o->no_rules[0] ? o->no_rules : NULL);

    return bioinfer_embed_open(&l->task, s->cli->model, &p, err);
}

static int open_score(struct serve *s, struct serve_lane *l, struct bioinfer_error *err)
{
    const struct cli_options *o = s->cli->options;
    struct bioinfer_score_params p = BIOINFER_PARAMS(
        struct bioinfer_score_params, .method = l->key.method, .tokens_at_once = o->batch_tokens,
        .max_length = o->max_length, .raw_residues = o->raw_residues,
        .no_rules = o->no_rules[0] ? o->no_rules : NULL);

    return bioinfer_score_open(&l->task, s->cli->model, &p, err);
}

static int open_tracks(struct serve *s, struct serve_lane *l, struct bioinfer_error *err)
{
    const struct cli_options *o = s->cli->options;
    struct bioinfer_tracks_params p = BIOINFER_PARAMS(
        struct bioinfer_tracks_params, .head = l->key.head[0] ? l->key.head : NULL,
        .tracks = l->key.tracks, .n_tracks = l->key.n_tracks,
        .reverse_complement = l->key.reverse_complement,
        .no_rules = o->no_rules[0] ? o->no_rules : NULL);

    return bioinfer_tracks_open(&l->task, s->cli->model, &p, err);
}

static int open_design(struct serve *s, struct serve_lane *l, struct bioinfer_error *err)
{
    const struct cli_options *o = s->cli->options;
    const struct serve_key *key = &l->key;
    struct bioinfer_design_params p = BIOINFER_PARAMS(
        struct bioinfer_design_params, .mode = key->method, .seed = (uint64_t)key->seed,
        .n_sequences = key->n_sequences,
        .temperatures = key->n_temperatures ? key->temperatures : NULL,
        .n_temperatures = key->n_temperatures, .chains = key->chains[0] ? key->chains : NULL,
        .omit_aa = key->omit_aa[0] ? key->omit_aa : NULL, .residue_order = key->residue_order,
        .all_chains = key->all_chains, .tokens_at_once = o->batch_tokens,
        .max_length = o->max_length, .no_rules = o->no_rules[0] ? o->no_rules : NULL);

    return bioinfer_design_open(&l->task, s->cli->model, &p, err);
}

static int open_affinity(struct serve *s, struct serve_lane *l, struct bioinfer_error *err)
{
    const struct cli_options *o = s->cli->options;
    struct bioinfer_affinity_params p = BIOINFER_PARAMS(
        struct bioinfer_affinity_params, .pocket = l->key.pocket,
        .drop_unknown = l->key.drop_unknown, .tokens_at_once = o->batch_tokens,
        .no_rules = o->no_rules[0] ? o->no_rules : NULL);

    return bioinfer_affinity_open(&l->task, s->cli->model, &p, err);
}

/* The words with which the command refuses its options. One thread computes, and no other one says
 * anything while options are settled. */
static char said[sizeof((struct bioinfer_error *)0)->text];

static void hear(const char *text)
{
    snprintf(said, sizeof said, "%s", text);
}

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static int open_align(struct serve *s, struct serve_lane *l, struct bioinfer_error *err)
{
    const struct serve_key *key = &l->key;
    struct cli_options *o = &l->options;
    int code, st;

    *o = (struct cli_options){.matrix = or_null(key->matrix),
                              .match = or_null(key->match),
                              .mismatch = or_null(key->mismatch),
                              .gap_open = or_null(key->gap_open),
                              .gap_extend = or_null(key->gap_extend),
                              .gap_convention = or_null(key->gap_convention),
                              .mode = or_null(key->mode),
                              .free_ends = or_null(key->free_ends),
                              .ties = or_null(key->ties),
                              .score_only = key->score_only,
                              .device = s->cli->options->device,
                              .memory_limit = s->cli->options->memory_limit};
    l->cli = (struct cli){.options = o, .told = "BLOSUM62"};
    l->aligning = (struct cli_aligning){.cli = &l->cli};
    cli_say_hook = hear;
    code = cli_align_settle(&l->aligning);
    cli_say_hook = NULL;
    if (code)
        return serve_refuse(err, BIOINFER_INVALID, "%s", said);
    st = bioinfer_align_open(&l->task, s->cli->ctx, &l->aligning.params, err);
    l->aligning.writer.align = l->task;
    l->aligning.writer.out = &s->row;
    return st;
}

int serve_work_open(struct serve *s, struct serve_lane *l, struct bioinfer_error *err)
{
    static int (*const open[SERVE_WORKS])(struct serve *, struct serve_lane *,
                                          struct bioinfer_error *) = {
        [SERVE_EMBED] = open_embed,       [SERVE_SCORE] = open_score,
        [SERVE_TRACKS] = open_tracks,     [SERVE_DESIGN] = open_design,
        [SERVE_AFFINITY] = open_affinity, [SERVE_ALIGN] = open_align};

    bioinfer_task_close(&l->task);
    l->batches = 0;
    return open[l->key.work](s, l, err);
}

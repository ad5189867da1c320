/* sequences.c - tasks over sequences of residues: records to tokens, and the family's graphs. */
#include "sequences.h"

#include <stdio.h>
#include <string.h>

/* ---- life ---- */

int bi_sequences_open(struct bi_sequences *s, const struct bi_sequence_params *params,
                      struct bioinfer_error *err)
{
    s->params = *params;
    if (params->no_rules && !(s->no_rules = bi_strdup(s->task.env, params->no_rules)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", s->task.def->name);
    s->task.progress = params->progress;
    s->task.progress_user = params->progress_user;
    return bi_task_open(&s->task, s->task.model, params->tokens_at_once, params->memory_limit, err);
}

void bi_sequences_free(struct bi_sequences *s)
{
    bi_free(s->task.env, s->no_rules);
}

/* ---- graphs ---- */

static const struct bi_sequences_def *def_of(const struct bi_model *m)
{
    return m->def->def;
}

static int build_graph(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    const struct bi_sequence_graph *of = shape;
    const struct bi_model *model = user;
    (void)err;
    g->n_tokens = of->shape.n_tokens;
    g->n_seqs = of->shape.n_seqs;
    g->n_rows = of->shape.n_rows;
    g->longest = of->shape.longest;
    def_of(model)->build(model, g, &of->shape, &of->wants);
    return 0;
}

/* Lists of layers are told apart by address: a task has one, and scores have none. */
int bi_sequences_recipe(struct bi_sequences *s, const struct bi_batch *b, struct bi_wants wants,
                        struct bi_recipe *recipe)
{
    const struct bi_counts *c = &b->capacity;
    s->graph = (struct bi_sequence_graph){{c->n_tokens, c->n_seqs, c->longest, c->n_rows}, wants};
    *recipe = (struct bi_recipe){.build = build_graph,
                                 .user = &s->task.model->base,
                                 .shape = &s->graph,
                                 .shape_size = sizeof s->graph,
                                 .n_sizes = 4,
                                 .wide = b->wide,
                                 .no_rules = s->no_rules};
    return 0;
}

struct bi_counts bi_sequences_one(const struct bioinfer_task *t, int64_t n_residues)
{
    const struct bi_model *m = &t->model->base;
    const int32_t n = (int32_t)n_residues + m->n_prefix + m->n_suffix;
    return (struct bi_counts){.n_seqs = 1, .n_tokens = n, .longest = n};
}

/* ---- records ---- */

int64_t bi_sequences_residues(const struct bi_model *m, int64_t n_tokens)
{
    int64_t n = n_tokens - m->n_prefix - m->n_suffix;
    return n > 0 ? n : 0;
}

/* EMPTY or TOO_LONG for a record of so many tokens, specials included. */
static int check_length(const struct bi_sequences *s, const char *id, int64_t n_tokens,
                        struct bioinfer_error *err)
{
    const struct bi_model *m = &s->task.model->base;
    int64_t n = bi_sequences_residues(m, n_tokens), max = BIOINFER_MAX_RESIDUES;
    if (s->params.max_length > 0 && s->params.max_length < max)
        max = s->params.max_length;
    const int64_t at_once = s->most_tokens && n_tokens > s->most_tokens ? s->most_tokens : n_tokens;
    if (m->max_tokens && at_once > m->max_tokens)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "record '%.60s' has %lld residues, the model has places for %lld", id,
                       (long long)n, (long long)bi_sequences_residues(m, m->max_tokens));
    if (n > max)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "record '%.60s' has %lld residues, at most %lld are allowed", id,
                       (long long)n, (long long)max);
    return n ? 0 : bi_fail(err, BIOINFER_EMPTY, "record '%.60s' has no residues", id);
}

/* Makes the token ids of a record. A failure of the record is its own status; the return value is
 * for what ends the run. */
static int encode(struct bi_sequences *s, struct bi_sequence_unit *u,
                  const struct bioinfer_record *r, struct bioinfer_error *err)
{
    const struct bi_model *m = &s->task.model->base;
    struct bioinfer_error why = {0};
    int st = r->status;
    if (st) {
        snprintf(why.text, sizeof why.text, "%s", r->message ? r->message : "");
    } else if (!r->length || !r->sequence) {
        st = bi_fail(&why, BIOINFER_EMPTY, "record '%.60s' has no residues", u->unit.id);
    } else if (!(st = def_of(m)->encode(m, r, s->params.raw_residues, &s->tokens, &why))) {
        s->n_mapped += s->tokens.n_mapped;
        st = check_length(s, u->unit.id, (int64_t)s->tokens.n, &why);
    }
    if (st == BIOINFER_NOMEM && !r->status)
        return bi_fail(err, st, "%s", why.text);
    if (st) {
        bi_unit_fail(s->task.env, &u->unit, st, why.text);
        return 0;
    }
    if (!(u->ids = bi_calloc(s->task.env, s->tokens.n, sizeof *u->ids)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': tokens", u->unit.id);
    memcpy(u->ids, s->tokens.ids, s->tokens.n * sizeof *u->ids);
    u->n_tokens = (int64_t)s->tokens.n;
    return 0;
}

int bi_sequences_read(struct bi_sequences *s, struct bi_sequence_unit *u, struct bioinfer_record *r,
                      struct bioinfer_error *err)
{
    struct bioinfer_task *t = &s->task;
    int st;
    *r = (struct bioinfer_record){0};
    if ((st = t->source(t->source_user, r, err)) != 1)
        return st;
    u->ordinal = r->ordinal;
    if (!(u->unit.id = bi_strdup(t->env, r->id ? r->id : "")))
        return bi_fail(err, BIOINFER_NOMEM, "record");
    st = encode(s, u, r, err);
    return st ? st : 1;
}

void bi_sequences_end(struct bi_sequences *s)
{
    if (s->n_mapped)
        bi_log(s->task.env, BIOINFER_LOG_WARNING,
               "%d letters were read as X (N of bases): the model has no token "
               "for them, or its published recipe replaces them",
               s->n_mapped);
    bi_free(s->task.env, s->tokens.ids);
    s->tokens = (struct bi_tokens){0};
    s->n_mapped = 0;
}

/* ---- inputs ---- */

const char *const bi_sequences_made[3] = {BI_INPUT_SCALE, BI_INPUT_BEFORE, BI_INPUT_LAST};

void bi_sequences_fill(const struct bioinfer_task *t, const struct bi_item *item,
                       const struct bi_batch_place *place)
{
    const struct bi_model *m = &t->model->base;
    const size_t first = (size_t)place->at.n_tokens, n = (size_t)item->size.n_tokens;
    const int32_t *ids = bi_batch_input(place, "ids");
    float *scale = bi_batch_input(place, BI_INPUT_SCALE);
    int32_t *before = bi_batch_input(place, BI_INPUT_BEFORE);
    int32_t *last = bi_batch_input(place, BI_INPUT_LAST);
    if (scale)
        def_of(m)->token_scale(m, ids + first, n, scale + first);
    for (size_t i = 0; before && i < n; i++)
        before[first + i] = i ? ids[first + i - 1] : m->before_id;
    if (last)
        last[place->index] = (int32_t)(first + n - 1);
}

/* score.c - the task score: zero-shot scores of masked language models.
 *
 * log p runs over the whole vocabulary. Masked marginals are n passes of one length that
 * differ in one token: packed densely, and only the masked row goes through the last layer's
 * second half and the output head. */
#include <math.h>
#include <string.h>

#include "embed.h"

/* Row of float logits to float log-probabilities, in double. False: not finite. */
static bool log_softmax(const float *logits, int n, float *out)
{
    double max = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++)
        max = fmax(max, (double)logits[i]);
    for (int i = 0; i < n; i++)
        sum += exp((double)logits[i] - max);
    for (int i = 0; i < n; i++)
        out[i] = (float)((double)logits[i] - max - log(sum));
    return isfinite(max) && isfinite(sum);
}

/* Position k of those asked for. */
static int64_t position_at(const int64_t *positions, size_t k)
{
    return positions ? positions[k] : (int64_t)k;
}

/* One record: an item for each masked position, or a single one. */
struct score_unit {
    struct bi_unit unit;
    const struct bi_tokens *tokens;
    int32_t *rows; /* [n_positions] tokens whose logits are wanted */
    bool masked;
};

/* The scores of one record, over the executor of a session. */
struct score {
    struct bi_task task;
    struct bioinfer_session *session;
    const struct bi_tokens *tokens;
    const char *id;
    const int64_t *positions;
    size_t n_positions;
    float *log_probs;
    bool masked, was_read;
    int status; /* the record has this one */
    struct bioinfer_error *err;
};

static int score_read(struct bi_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct score *s = (struct score *)t;
    struct score_unit *e = (struct score_unit *)u;
    const int32_t n = (int32_t)s->tokens->n;
    if (s->was_read)
        return 0;
    s->was_read = true;
    u->n_items = s->masked ? s->n_positions : 1;
    u->id = bi_strdup(t->env, s->id);
    u->items = bi_calloc(t->env, u->n_items, sizeof *u->items);
    e->rows = bi_calloc(t->env, s->n_positions, sizeof *e->rows);
    e->tokens = s->tokens;
    e->masked = s->masked;
    if (!u->id || !u->items || !e->rows)
        return bi_fail(err, BIOINFER_NOMEM, "rows of %zu positions", s->n_positions);
    for (size_t k = 0; k < s->n_positions; k++)
        e->rows[k] = (int32_t)position_at(s->positions, k) + t->model->base.n_prefix;
    for (size_t i = 0; i < u->n_items; i++)
        u->items[i] = (struct bi_item){.unit = u,
                                       .number = (int32_t)i,
                                       .weight = n,
                                       .size = {.n_tokens = n,
                                                .n_seqs = 1,
                                                .longest = n,
                                                .n_rows = s->masked ? 1 : (int32_t)s->n_positions}};
    return 1;
}

static int score_recipe(struct bi_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                        struct bioinfer_error *err)
{
    (void)err;
    return bi_session_recipe(((struct score *)t)->session, b,
                             (struct bi_wants){.include = BI_WANT_ROW_LOGITS}, recipe);
}

enum { IDS, START, ROWS };
static const struct bi_task_input score_inputs[] = {
    [IDS] = {.name = "ids", .axis = BI_AXIS_TOKENS, .row_size = sizeof(int32_t)},
    [START] = {.name = "start", .rebase = BI_AXIS_TOKENS, .starts = true},
    [ROWS] = {.name = "rows",
              .axis = BI_AXIS_ROWS,
              .row_size = sizeof(int32_t),
              .rebase = BI_AXIS_TOKENS}};

static const void *score_rows(const struct bi_task *t, const struct bi_item *item, int input)
{
    const struct score_unit *e = (const struct score_unit *)item->unit;
    (void)t;
    return input == IDS ? e->tokens->ids : input == ROWS ? e->rows + item->number : NULL;
}

static void score_fill(const struct bi_task *t, const struct bi_item *item,
                       const struct bi_batch_place *place)
{
    const struct score_unit *e = (const struct score_unit *)item->unit;
    int32_t *ids = bi_batch_input(place, "ids");
    if (e->masked)
        ids[place->at.n_tokens + e->rows[item->number]] = t->model->base.mask_id;
    bi_session_scale(t, item, place);
}

/* Writes one row of log p for each row of the item. */
static int score_collect(struct bi_task *t, struct bi_item *item,
                         const struct bi_batch_place *place, struct bioinfer_error *err)
{
    const struct score *s = (const struct score *)t;
    const struct bi_output *o = &place->slot->plan->graph->outputs[0];
    const int n = t->model->base.vocab_size;
    int64_t ld;
    const float *logits = bi_batch_output(place, o, &ld);
    logits += place->at.n_rows * ld;
    for (int32_t r = 0; r < item->size.n_rows; r++) {
        const int64_t at = position_at(s->positions, (size_t)(item->number + r));
        if (!log_softmax(logits + r * ld, n, s->log_probs + at * n))
            return bi_fail(err, BIOINFER_NONFINITE, "logits are not finite");
    }
    if (item->state == BI_ITEM_WAITS)
        t->part_residues += (uint64_t)item->size.n_rows;
    return 0;
}

static int score_result(struct bi_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct score *s = (struct score *)t;
    (void)err;
    if (u->status)
        s->status = bi_fail(s->err, u->status, "%s",
                            u->message ? u->message : bioinfer_status_name(u->status));
    return 0;
}

static void score_drop(struct bi_task *t, struct bi_unit *u)
{
    bi_free(t->env, u->items);
    bi_free(t->env, ((struct score_unit *)u)->rows);
}

static const struct bi_task_def score_def = {
    .name = "score",
    .unit_size = sizeof(struct score_unit),
    .smallest = {.n_tokens = 16, .n_seqs = 1, .n_rows = 16, .longest = 16},
    .inputs = score_inputs,
    .n_inputs = BI_COUNT(score_inputs),
    .made = bi_session_made,
    .n_made = BI_COUNT(bi_session_made),
    .read = score_read,
    .recipe = score_recipe,
    .rows = score_rows,
    .fill = score_fill,
    .collect = score_collect,
    .result = score_result,
    .drop = score_drop};

int bioinfer_score_table(bioinfer_session *s, const struct bioinfer_record *record, int method,
                         const int64_t *positions, size_t n_positions, float *log_probs,
                         struct bioinfer_error *err)
{
    struct bi_tokens tokens = {0};
    struct score score;
    const struct bi_model *m;
    int64_t n;
    int st;
    if (!s || !record || !log_probs || (!record->sequence && record->length))
        return bi_fail(err, BIOINFER_INVALID, "score: session, record and table must be given");
    if (method < BIOINFER_MASKED_MARGINALS || method > BIOINFER_PPPL)
        return bi_fail(err, BIOINFER_INVALID, "score: unknown method %d", method);
    m = &s->task.model->base;
    if (!(m->can_include & BIOINFER_LOGITS))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: these weights have no language model head",
                       s->task.model->path);
    if (record->status)
        return bi_fail(err, record->status, "%s", record->message ? record->message : "");
    if ((st = bi_task_enter(&s->task, err)))
        return st;
    if ((st = m->def->encode(m, record, s->params.raw_residues, &tokens, err)))
        goto out;
    if ((st = bi_session_check_length(s, record->id, (int64_t)tokens.n, err)))
        goto out;
    n = (int64_t)tokens.n - m->n_prefix - m->n_suffix;
    if ((uint64_t)n != record->length) { /* the caller sized the table by it */
        st = bi_fail(err, BIOINFER_BAD_RESIDUE,
                     "record '%.60s': %zu characters are %lld residues: scoring takes plain "
                     "residues only",
                     record->id, record->length, (long long)n);
        goto out;
    }
    if (!positions)
        n_positions = (size_t)n;
    for (size_t k = 0; k < n_positions; k++) {
        int64_t at = position_at(positions, k);
        if (at < 0 || at >= n || (k && at <= position_at(positions, k - 1))) {
            st = bi_fail(err, BIOINFER_INVALID,
                         "record '%.60s': position %lld: expected ascending positions from 0 to "
                         "%lld",
                         record->id, (long long)at, (long long)n - 1);
            goto out;
        }
    }
    for (int64_t i = 0; i < n * m->vocab_size; i++)
        log_probs[i] = NAN;
    if (!n_positions)
        goto out;
    score = (struct score){.task = s->task,
                           .session = s,
                           .tokens = &tokens,
                           .id = record->id,
                           .positions = positions,
                           .n_positions = n_positions,
                           .log_probs = log_probs,
                           .masked = method != BIOINFER_WT_MARGINALS,
                           .err = err};
    score.task.def = &score_def;
    score.task.n_wide = score.task.part_residues = 0;
    if (!(st = bi_task_run(&score.task, err)))
        st = score.status;
    if (!st) {
        s->task.exec->profile.records++;
        s->task.exec->profile.residues += (uint64_t)n;
    }
out:
    bi_free(s->task.env, tokens.ids);
    bi_task_leave(&s->task);
    return st;
}

/* One "A12G" at *text; leaves *text behind it. */
static int parse_mutation(const char **text, int64_t offset, char *from, int64_t *at, char *to,
                          const char *whole, struct bioinfer_error *err)
{
    const char *p = *text;
    int64_t value = 0;
    int digits = 0;
    *from = *p;
    if (*p >= 'A' && *p <= 'Z') {
        for (p++; *p >= '0' && *p <= '9' && digits < 12; p++, digits++)
            value = value * 10 + (*p - '0');
        *to = *p;
        if (digits && *p >= 'A' && *p <= 'Z' && (p[1] == '\0' || p[1] == ':')) {
            *at = value - offset;
            *text = p + 1;
            return 0;
        }
    }
    return bi_fail(err, BIOINFER_INVALID,
                   "mutation '%.60s': expected letter, position, letter, as "
                   "in A12G or A12G:K15R",
                   whole);
}

int bioinfer_mutation_positions(const char *mutation, int64_t offset, int64_t *positions, int n_max,
                                struct bioinfer_error *err)
{
    const char *p = mutation;
    char from, to;
    int64_t at;
    int n = 0, st;
    if (!mutation)
        return bi_fail(err, BIOINFER_INVALID, "mutation must be given");
    do {
        if ((st = parse_mutation(&p, offset, &from, &at, &to, mutation, err)))
            return st;
        if (at < 0)
            return bi_fail(err, BIOINFER_INVALID,
                           "mutation '%.60s': position before the first "
                           "residue (offset %lld)",
                           mutation, (long long)offset);
        if (n < n_max && positions)
            positions[n] = at;
        n++;
    } while (*p++ == ':');
    return n;
}

int bioinfer_score_mutation(const bioinfer_model *model, const struct bioinfer_record *record,
                            const float *log_probs, const char *mutation, int64_t offset,
                            double *score, struct bioinfer_error *err)
{
    const char *p = mutation;
    const struct bi_model *m;
    double sum = 0;
    if (!model || !record || !log_probs || !mutation || !score ||
        (!record->sequence && record->length))
        return bi_fail(err, BIOINFER_INVALID, "score: nothing may be NULL");
    m = &model->base;
    do {
        const float *row;
        char from, to;
        int64_t at;
        int a, b, st = parse_mutation(&p, offset, &from, &at, &to, mutation, err);
        if (st)
            return st;
        if (at < 0 || (uint64_t)at >= record->length)
            return bi_fail(err, BIOINFER_INVALID,
                           "mutation '%.60s': position %lld is outside '%.60s' (%zu residues, "
                           "offset %lld)",
                           mutation, (long long)(at + offset), record->id, record->length,
                           (long long)offset);
        if (record->sequence[at] != from)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "mutation '%.60s': '%.60s' has %c at position %lld, expected %c "
                           "(offset %lld)",
                           mutation, record->id, record->sequence[at], (long long)(at + offset),
                           from, (long long)offset);
        a = m->def->residue_token(m, from);
        b = m->def->residue_token(m, to);
        if (a < 0 || b < 0)
            return bi_fail(err, BIOINFER_BAD_RESIDUE, "mutation '%.60s': %s has no token for %c",
                           mutation, m->name, a < 0 ? from : to);
        row = log_probs + at * m->vocab_size;
        if (isnan(row[a]) || isnan(row[b]))
            return bi_fail(err, BIOINFER_INVALID,
                           "mutation '%.60s': the table has no row for "
                           "position %lld",
                           mutation, (long long)(at + offset));
        sum += (double)row[b] - (double)row[a];
    } while (*p++ == ':');
    *score = sum;
    return 0;
}

/* score.c - zero-shot scores of masked language models.
 *
 * log p runs over the whole vocabulary. Masked marginals are n passes of one length that
 * differ in one token: packed densely, and only the masked row goes through the last layer's
 * second half and the output head. */
#include <math.h>
#include <string.h>

#include "engine.h"

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

/* Runs items and writes one row of log p for each of their rows, in order. */
static int run_items(struct bioinfer_session *s, const struct bi_item *items, int64_t n_items,
                     const int64_t *positions, size_t first, float *log_probs,
                     struct bioinfer_error *err)
{
    struct bi_wants wants = {.include = BI_WANT_ROW_LOGITS};
    const struct bi_model *m = &s->model->base;
    struct bi_batch b;
    const float *logits;
    int64_t n_rows = 0, ld;
    int st = bi_session_batch(s, &wants, items, n_items, &b, err);
    if (st)
        return st;
    logits = bi_exec_output(b.slot, &b.slot->plan->graph->outputs[0], &ld);
    for (int64_t i = 0; i < n_items; i++)
        n_rows += items[i].n_rows;
    for (int64_t r = 0; r < n_rows; r++)
        if (!log_softmax(logits + r * ld, m->vocab_size,
                         log_probs + position_at(positions, first + (size_t)r) * m->vocab_size))
            return bi_fail(err, BIOINFER_NONFINITE, "logits are not finite");
    return 0;
}

/* One pass, nothing masked. */
static int one_pass(struct bioinfer_session *s, const struct bi_tokens *tokens,
                    const int64_t *positions, size_t n_positions, float *log_probs,
                    struct bioinfer_error *err)
{
    struct bi_item item = {.ids = tokens->ids, .n_tokens = (int64_t)tokens->n, .mask_at = -1,
                           .n_rows = (int64_t)n_positions};
    int64_t *rows = bi_calloc(s->env, n_positions, sizeof *rows);
    int st;
    if (!rows)
        return bi_fail(err, BIOINFER_NOMEM, "rows of %zu positions", n_positions);
    for (size_t k = 0; k < n_positions; k++)
        rows[k] = position_at(positions, k) + s->model->base.n_prefix;
    item.rows = rows;
    st = run_items(s, &item, 1, positions, 0, log_probs, err);
    bi_free(s->env, rows);
    return st;
}

/* One pass per position, that position masked. */
static int masked_passes(struct bioinfer_session *s, const struct bi_tokens *tokens,
                         const int64_t *positions, size_t n_positions, float *log_probs,
                         struct bioinfer_error *err)
{
    int64_t per_batch = s->batch_tokens / (int64_t)tokens->n;
    struct bi_item *items;
    int64_t *rows;
    int st = 0;
    if (per_batch < 1)
        per_batch = 1;
    items = bi_calloc(s->env, (size_t)per_batch, sizeof *items);
    rows = bi_calloc(s->env, (size_t)per_batch, sizeof *rows);
    if (!items || !rows)
        st = bi_fail(err, BIOINFER_NOMEM, "batch of %lld passes", (long long)per_batch);
    for (size_t first = 0; !st && first < n_positions; first += (size_t)per_batch) {
        int64_t n = (int64_t)(n_positions - first);
        n = n < per_batch ? n : per_batch;
        for (int64_t i = 0; i < n; i++) {
            rows[i] = position_at(positions, first + (size_t)i) + s->model->base.n_prefix;
            items[i] = (struct bi_item){.ids = tokens->ids, .n_tokens = (int64_t)tokens->n,
                                        .mask_at = rows[i], .rows = &rows[i], .n_rows = 1};
        }
        st = run_items(s, items, n, positions, first, log_probs, err);
        if (!st && s->params.progress &&
            s->params.progress(s->params.progress_user, s->exec->profile.records,
                               s->exec->profile.residues + first + (size_t)n))
            st = bi_fail(err, BIOINFER_CANCELLED, "cancelled after %zu of %zu positions",
                         first + (size_t)n, n_positions);
    }
    bi_free(s->env, items);
    bi_free(s->env, rows);
    return st;
}

int bioinfer_score_table(bioinfer_session *s, const struct bioinfer_record *record, int method,
                         const int64_t *positions, size_t n_positions, float *log_probs,
                         struct bioinfer_error *err)
{
    struct bi_tokens tokens = {0};
    const struct bi_model *m;
    int64_t n;
    int st;
    if (!s || !record || !log_probs || (!record->sequence && record->length))
        return bi_fail(err, BIOINFER_INVALID, "score: session, record and table must be given");
    if (method < BIOINFER_MASKED_MARGINALS || method > BIOINFER_PPPL)
        return bi_fail(err, BIOINFER_INVALID, "score: unknown method %d", method);
    m = &s->model->base;
    if (!(m->can_include & BIOINFER_LOGITS))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: these weights have no language model head",
                       s->model->path);
    if (record->status)
        return bi_fail(err, record->status, "%s", record->message ? record->message : "");
    if ((st = bi_session_enter(s, err)))
        return st;
    if ((st = m->def->encode(m, record, s->params.raw_residues, &tokens, err)))
        goto out;
    if ((st = bi_session_check_length(s, record->id, (int64_t)tokens.n, err)))
        goto out;
    n = (int64_t)tokens.n - m->n_prefix - m->n_suffix;
    if ((uint64_t)n != record->length) { /* the caller sized the table by it */
        st = bi_fail(err, BIOINFER_BAD_RESIDUE,
                     "record '%.60s': %zu characters are %lld residues: scoring takes plain "
                     "residues only", record->id, record->length, (long long)n);
        goto out;
    }
    if (!positions)
        n_positions = (size_t)n;
    for (size_t k = 0; k < n_positions; k++) {
        int64_t at = position_at(positions, k);
        if (at < 0 || at >= n || (k && at <= position_at(positions, k - 1))) {
            st = bi_fail(err, BIOINFER_INVALID,
                         "record '%.60s': position %lld: expected ascending positions from 0 to "
                         "%lld", record->id, (long long)at, (long long)n - 1);
            goto out;
        }
    }
    for (int64_t i = 0; i < n * m->vocab_size; i++)
        log_probs[i] = NAN;
    if (!n_positions)
        goto out;
    st = method == BIOINFER_WT_MARGINALS
             ? one_pass(s, &tokens, positions, n_positions, log_probs, err)
             : masked_passes(s, &tokens, positions, n_positions, log_probs, err);
    if (!st) {
        s->exec->profile.records++;
        s->exec->profile.residues += (uint64_t)n;
    }
out:
    bi_free(s->env, tokens.ids);
    bi_session_leave(s);
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
    return bi_fail(err, BIOINFER_INVALID, "mutation '%.60s': expected letter, position, letter, as "
                   "in A12G or A12G:K15R", whole);
}

int bioinfer_mutation_positions(const char *mutation, int64_t offset, int64_t *positions,
                                int n_max, struct bioinfer_error *err)
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
            return bi_fail(err, BIOINFER_INVALID, "mutation '%.60s': position before the first "
                           "residue (offset %lld)", mutation, (long long)offset);
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
                           "offset %lld)", mutation, (long long)(at + offset), record->id,
                           record->length, (long long)offset);
        if (record->sequence[at] != from)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "mutation '%.60s': '%.60s' has %c at position %lld, expected %c "
                           "(offset %lld)", mutation, record->id, record->sequence[at],
                           (long long)(at + offset), from, (long long)offset);
        a = m->def->residue_token(m, from);
        b = m->def->residue_token(m, to);
        if (a < 0 || b < 0)
            return bi_fail(err, BIOINFER_BAD_RESIDUE, "mutation '%.60s': %s has no token for %c",
                           mutation, m->name, a < 0 ? from : to);
        row = log_probs + at * m->vocab_size;
        if (isnan(row[a]) || isnan(row[b]))
            return bi_fail(err, BIOINFER_INVALID, "mutation '%.60s': the table has no row for "
                           "position %lld", mutation, (long long)(at + offset));
        sum += (double)row[b] - (double)row[a];
    } while (*p++ == ':');
    *score = sum;
    return 0;
}

/* score.c - the task score: zero-shot scores of masked language models.
 *
 * log p runs over the whole vocabulary. Masked marginals are n passes of one length that
 * differ in one token: packed densely, and only the masked row goes through the last layer's
 * second half and the output head.
 *
 * Windows of long records are ProteinGym's: with T tokens at once of N, the special ones counted, a
 * masked token i is computed in the T tokens around it, or in the first or last T where it is
 * nearer to an end than T / 2. Unmasked, windows go inwards from both ends by T / 2 - 1, until they
 * overlap, with one more in the middle where that is by less than T / 2 - 1; their log p are
 * averaged with weights 1, and within T / 4 of an end 1 / (1 + exp(-(k - T / 8) / (T / 64))), k
 * tokens from it, where T / 2 and T / 4 are whole numbers, T / 8 and T / 64 are not. Source:
 * OATML-Markslab/ProteinGym compute_fitness.py, utils/scoring_utils.py, with T = 1024.
 *
 * Sections: rows, windows, the task. */
#include <math.h>
#include <string.h>

#include "../base/larger.h"
#include "sequences.h"
#include "table.h"

/* ---- rows ---- */

/* Row of float logits to float log-probabilities, in double. False: not finite. */
static bool log_softmax(const float *logits, int n, float *out)
{
    double max = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++)
        max = bi_larger(max, (double)logits[i]);
    for (int i = 0; i < n; i++)
        sum += exp((double)logits[i] - max);
    for (int i = 0; i < n; i++)
        out[i] = (float)((double)logits[i] - max - log(sum));
    return isfinite(max) && isfinite(sum);
}

struct score {
    struct bi_sequences base;
    bool masked;
};

/* The part of a record that an item computes. */
struct span {
    int32_t first, end;   /* tokens */
    int32_t row, end_row; /* numbers in e->rows of rows there */
    int32_t n_first;      /* rows there that no span before it has */
    size_t place;         /* number in e->places of the first row */
    float *log_p;         /* [end_row - row, vocab_size] of windows that overlap, else NULL */
};

/* One record: an item for each masked position, or a single one. */
struct score_unit {
    struct bi_sequence_unit base;
    char *sequence; /* a copy, which the result shows */
    int64_t length;
    int32_t *rows;      /* [n_rows] tokens whose logits are wanted ... */
    int32_t *places;    /* ... and for each row of each item the token in its span */
    struct span *spans; /* [n_items] */
    double *weights;    /* [n_rows] sums over windows that overlap, else NULL */
    float *table;       /* [length, vocab_size] */
    uint64_t n_counted; /* rows that progress has been told of */
};

/* Lists the tokens of the positions asked for. A wrong one is the record's failure. */
static int list_rows(struct score_unit *e, const struct bioinfer_record *r, int32_t prefix,
                     size_t n_rows, struct bioinfer_error *why)
{
    int64_t last = -1;
    for (size_t k = 0; k < n_rows; k++) {
        const int64_t at = r->positions ? r->positions[k] : (int64_t)k;
        if (at <= last || at >= e->length)
            return bi_fail(why, BIOINFER_INVALID,
                           "record '%.60s': position %lld: expected ascending positions from 0 to "
                           "%lld",
                           e->base.unit.id, (long long)at, (long long)e->length - 1);
        e->rows[k] = (int32_t)at + prefix;
        last = at;
    }
    return 0;
}

/* ---- windows ---- */

enum { LEAST_OVERLAPPING = 8 }; /* residues of a window in which the two ends are apart */

/* The span of masked token i of n, t at once. */
static struct span around(int32_t i, int32_t n, int32_t t)
{
    const int32_t half = t / 2;
    if (n <= t)
        return (struct span){.end = n};
    if (i < half)
        return (struct span){.end = t};
    if (i >= n - half)
        return (struct span){.first = n - t, .end = n};
    return (struct span){.first = i - half, .end = i + half};
}

/* The weight of token k of an overlapping window of t. */
static double weight_of(int32_t k, int32_t t)
{
    const double middle = t / 8.0, slope = t / 64.0;
    if (k >= 1 && k <= t / 4)
        return 1 / (1 + exp(-(k - middle) / slope));
    if (k >= t - 2 - t / 4 && k <= t - 2)
        return 1 / (1 + exp((k - (t - 2) + middle) / slope));
    return 1;
}

/* Lists the windows of n tokens, t at once, into spans, which has room for them or is NULL; gives
 * their number. */
static size_t overlapping(int32_t n, int32_t t, struct span *spans)
{
    const int32_t step = t / 2 - 1;
    int32_t left = 0, right = n - t;
    size_t count = 0;
    if (n <= t) {
        if (spans)
            spans[0] = (struct span){.end = n};
        return 1;
    }
    for (;; left += step, right -= step) {
        if (spans) {
            spans[count] = (struct span){.first = left, .end = left + t};
            spans[count + 1] = (struct span){.first = right, .end = right + t};
        }
        count += 2;
        if (left + t - 1 > right)
            break;
    }
    if (left + t - right >= step)
        return count;
    if (spans)
        spans[count] = (struct span){.first = n / 2 - t / 2, .end = n / 2 - t / 2 + t};
    return count + 1;
}

/* The first of n ascending rows whose token is `token` or a later one. */
static int32_t first_row(const int32_t *rows, size_t n, int32_t token)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (rows[middle] < token)
            low = middle + 1;
        else
            high = middle;
    }
    return (int32_t)low;
}

/* Makes the place of a span of wanted rows for their log p. */
static int fill_span(const struct score *s, struct score_unit *e, struct span *w,
                     struct bioinfer_error *err)
{
    const uint64_t size = (uint64_t)s->base.task.model->base.vocab_size * sizeof *w->log_p;
    w->n_first = 0;
    for (int32_t r = w->row; r < w->end_row; r++) {
        w->n_first += e->weights[r] == 0;
        e->weights[r] += weight_of(e->rows[r] - w->first, w->end - w->first);
    }
    if (!(w->log_p = bi_calloc(s->base.task.env, (size_t)(w->end_row - w->row), size)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': a window", e->base.unit.id);
    e->base.unit.result_size += (uint64_t)(w->end_row - w->row) * size;
    return 0;
}

/* Keeps the overlapping windows that have wanted rows. */
static int fill_spans(const struct score *s, struct score_unit *e, size_t n_windows, size_t n_rows,
                      struct bioinfer_error *err)
{
    struct bi_unit *u = &e->base.unit;
    int st = 0;
    u->n_items = 0;
    if (!(e->weights = bi_calloc(s->base.task.env, n_rows, sizeof *e->weights)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': windows", u->id);
    for (size_t i = 0; i < n_windows && !st; i++) {
        struct span w = e->spans[i];
        w.row = first_row(e->rows, n_rows, w.first);
        w.end_row = first_row(e->rows, n_rows, w.end);
        if (w.row == w.end_row)
            continue;
        st = fill_span(s, e, &w, err);
        e->spans[u->n_items++] = w;
    }
    return st;
}

/* Makes the spans of a record's items. */
static int make_spans(struct score *s, struct score_unit *e, size_t n_rows,
                      struct bioinfer_error *err)
{
    const struct bi_env *env = s->base.task.env;
    const int32_t n = (int32_t)e->base.n_tokens;
    const int32_t t = s->base.most_tokens && s->base.most_tokens < n ? (int32_t)s->base.most_tokens
                                                                     : n;
    struct bi_unit *u = &e->base.unit;
    size_t n_places = 0, at = 0;
    int st = 0;
    u->n_items = s->masked ? n_rows : n_rows ? overlapping(n, t, NULL) : 0;
    if (!(e->spans = bi_calloc(env, u->n_items + 1, sizeof *e->spans)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': windows", u->id);
    for (size_t i = 0; s->masked && i < u->n_items; i++) {
        e->spans[i] = around(e->rows[i], n, t);
        e->spans[i].row = (int32_t)i;
        e->spans[i].end_row = (int32_t)i + 1;
        e->spans[i].n_first = 1;
    }
    if (!s->masked && u->n_items) {
        const size_t n_windows = overlapping(n, t, e->spans);
        e->spans[0].end_row = e->spans[0].n_first = (int32_t)n_rows;
        if (n_windows > 1 && (st = fill_spans(s, e, n_windows, n_rows, err)))
            return st;
    }
    for (size_t i = 0; i < u->n_items; i++) {
        e->spans[i].place = n_places;
        n_places += (size_t)(e->spans[i].end_row - e->spans[i].row);
    }
    if (!(e->places = bi_calloc(env, n_places + 1, sizeof *e->places)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': rows of windows", u->id);
    for (size_t i = 0; i < u->n_items; i++)
        for (int32_t r = e->spans[i].row; r < e->spans[i].end_row; r++)
            e->places[at++] = e->rows[r] - e->spans[i].first;
    u->result_size += (e->length * sizeof *e->rows) + n_places * sizeof *e->places +
                      u->n_items * (sizeof *e->spans + sizeof *u->items);
    return 0;
}

/* Averages the log p of overlapping windows into the table. */
static void join_windows(const struct score *s, struct score_unit *e)
{
    const int n = s->base.task.model->base.vocab_size;
    const int32_t prefix = s->base.task.model->base.n_prefix;
    for (size_t i = 0; i < e->base.unit.n_items; i++) {
        const struct span *w = &e->spans[i];
        for (int32_t r = w->row; r < w->end_row; r++) {
            float *to = e->table + (int64_t)(e->rows[r] - prefix) * n;
            const double weight = weight_of(e->rows[r] - w->first, w->end - w->first) /
                                  e->weights[r];
            for (int c = 0; c < n; c++) {
                const double part = weight * (double)w->log_p[(r - w->row) * n + c];
                to[c] = (float)(isnan(to[c]) ? part : (double)to[c] + part);
            }
        }
    }
}

/* ---- the task ---- */

/* Makes the items of a record, and a table of NaN. */
static int make_items(struct score *s, struct score_unit *e, const struct bioinfer_record *r,
                      struct bioinfer_error *err)
{
    const struct bi_env *env = s->base.task.env;
    const struct bi_model *m = &s->base.task.model->base;
    const size_t n_values = (size_t)e->length * (size_t)m->vocab_size;
    size_t n_rows = r->positions ? r->n_positions : (size_t)e->length;
    struct bi_unit *u = &e->base.unit;
    struct bioinfer_error why = {0};
    int st;
    e->rows = bi_calloc(env, n_rows + 1, sizeof *e->rows);
    e->table = bi_calloc(env, n_values, sizeof *e->table);
    if (!e->rows || !e->table)
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': rows of %zu positions", u->id, n_rows);
    if ((st = list_rows(e, r, m->n_prefix, n_rows, &why))) {
        bi_unit_fail(env, u, st, why.text);
        n_rows = 0;
    }
    if ((st = make_spans(s, e, n_rows, err)))
        return st;
    if (!(u->items = bi_calloc(env, u->n_items + 1, sizeof *u->items)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': rows of %zu positions", u->id, n_rows);
    for (size_t i = 0; i < n_values; i++)
        e->table[i] = NAN;
    for (size_t i = 0; i < u->n_items; i++) {
        const struct span *w = &e->spans[i];
        const int32_t n = w->end - w->first;
        u->items[i] = (struct bi_item){
            .unit = u,
            .number = (int32_t)i,
            .weight = n,
            .size = {.n_tokens = n, .n_seqs = 1, .longest = n, .n_rows = w->end_row - w->row}};
    }
    u->result_size += n_values * sizeof *e->table;
    return 0;
}

static int score_read(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct score *s = (struct score *)t;
    struct score_unit *e = (struct score_unit *)u;
    struct bioinfer_record r;
    int st = bi_sequences_read(&s->base, &e->base, &r, err);
    if (st != 1)
        return st;
    e->length = (int64_t)r.length;
    if (u->status)
        return 1;
    if ((uint64_t)bi_sequences_residues(&t->model->base, e->base.n_tokens) != r.length) {
        struct bioinfer_error why; /* rows are numbered by characters */
        bi_fail(&why, BIOINFER_BAD_RESIDUE,
                "record '%.60s': %zu characters are %lld residues: scoring takes plain residues "
                "only",
                u->id, r.length,
                (long long)bi_sequences_residues(&t->model->base, e->base.n_tokens));
        bi_unit_fail(t->env, u, why.status, why.text);
        return 1;
    }
    if (!(e->sequence = bi_calloc(t->env, r.length + 1, 1)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s'", u->id);
    memcpy(e->sequence, r.sequence, r.length);
    st = make_items(s, e, &r, err);
    return st ? st : 1;
}

static int score_recipe(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                        struct bioinfer_error *err)
{
    (void)err;
    return bi_sequences_recipe((struct bi_sequences *)t, b,
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

static const void *score_rows(const struct bioinfer_task *t, const struct bi_item *item, int input)
{
    const struct score_unit *e = (const struct score_unit *)item->unit;
    const struct span *w = &e->spans[item->number];
    (void)t;
    return input == IDS ? e->base.ids + w->first : input == ROWS ? e->places + w->place : NULL;
}

static void score_fill(const struct bioinfer_task *t, const struct bi_item *item,
                       const struct bi_batch_place *place)
{
    const struct score_unit *e = (const struct score_unit *)item->unit;
    int32_t *ids = bi_batch_input(place, "ids");
    if (((const struct score *)t)->masked)
        ids[place->at.n_tokens + e->places[item->number]] = t->model->base.mask_id;
    bi_sequences_fill(t, item, place);
}

/* Writes one row of log p for each row of the item. */
static int score_collect(struct bioinfer_task *t, struct bi_item *item,
                         const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct score_unit *e = (struct score_unit *)item->unit;
    const struct span *w = &e->spans[item->number];
    const struct bi_output *o = &place->slot->plan->graph->outputs[0];
    const int n = t->model->base.vocab_size;
    int64_t ld;
    const float *logits = bi_batch_output(place, o, &ld);
    logits += place->at.n_rows * ld;
    for (int32_t r = 0; r < item->size.n_rows; r++) {
        const int64_t at = e->rows[w->row + r] - t->model->base.n_prefix;
        if (!log_softmax(logits + r * ld, n, w->log_p ? w->log_p + r * n : e->table + at * n))
            return bi_fail(err, BIOINFER_NONFINITE, "logits are not finite");
    }
    if (item->state == BI_ITEM_WAITS) {
        t->part_residues += (uint64_t)w->n_first;
        e->n_counted += (uint64_t)w->n_first;
    }
    return 0;
}

static int score_result(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct score_unit *e = (struct score_unit *)u;
    const struct bioinfer_array table = {.kind = "log-probs",
                                         .n_dims = 2,
                                         .shape = {e->length, t->model->base.vocab_size},
                                         .data = e->table};
    const struct bioinfer_result result = {.ordinal = e->base.ordinal,
                                           .id = u->id,
                                           .length = e->length,
                                           .status = u->status,
                                           .message = bi_unit_message(u),
                                           .n_arrays = !u->status,
                                           .arrays = &table,
                                           .n_layers_kept = 1,
                                           .n_kinds = 1,
                                           .sequence = e->sequence};
    if (!u->status && e->weights)
        join_windows((struct score *)t, e);
    t->part_residues -= e->n_counted;
    t->exec->profile.records++;
    t->exec->profile.residues += e->n_counted;
    return t->sink(t->sink_user, &result, err);
}

static void score_drop(struct bioinfer_task *t, struct bi_unit *u)
{
    struct score_unit *e = (struct score_unit *)u;
    for (size_t i = 0; e->spans && i < u->n_items; i++)
        bi_free(t->env, e->spans[i].log_p);
    bi_free(t->env, e->spans);
    bi_free(t->env, e->weights);
    bi_free(t->env, e->places);
    bi_free(t->env, u->items);
    bi_free(t->env, e->base.ids);
    bi_free(t->env, e->sequence);
    bi_free(t->env, e->rows);
    bi_free(t->env, e->table);
}

static struct bi_counts score_one(const struct bioinfer_task *t, int64_t n_residues)
{
    const struct bi_model *m = &t->model->base;
    const int64_t most = ((const struct bi_sequences *)t)->most_tokens - m->n_prefix - m->n_suffix;
    struct bi_counts one;
    if (most > 0 && n_residues > most)
        n_residues = most;
    one = bi_sequences_one(t, n_residues);
    one.n_rows = (int32_t)n_residues;
    return one;
}

static void score_end(struct bioinfer_task *t)
{
    bi_sequences_end((struct bi_sequences *)t);
}

static void score_free(struct bioinfer_task *t)
{
    bi_sequences_free((struct bi_sequences *)t);
}

const struct bi_task_def bi_task_score = {
    .name = "score",
    .kind = &bi_kind_sequences,
    .unit_size = sizeof(struct score_unit),
    .smallest = {.n_tokens = 16, .n_seqs = 1, .n_rows = 16, .longest = 16},
    .inputs = score_inputs,
    .n_inputs = BI_COUNT(score_inputs),
    .made = bi_sequences_made,
    .n_made = BI_COUNT(bi_sequences_made),
    .one = score_one,
    .read = score_read,
    .recipe = score_recipe,
    .rows = score_rows,
    .fill = score_fill,
    .collect = score_collect,
    .result = score_result,
    .drop = score_drop,
    .end = score_end,
    .free = score_free};

int bioinfer_score_open(bioinfer_task **out, const bioinfer_model *model,
                        const struct bioinfer_score_params *params, struct bioinfer_error *err)
{
    struct bioinfer_score_params p = {0};
    struct score *s;
    int st = bi_task_new(out, model, &bi_task_score, sizeof *s, err);
    if (st)
        return st;
    s = (struct score *)*out;
    if (!(st = bi_params_take(&p, sizeof p, params, "score", err))) {
        s->masked = p.method == BIOINFER_MASKED_MARGINALS;
        const int64_t most = bi_sequences_residues(&model->base, model->base.max_tokens);
        const int least = s->masked ? 2 : LEAST_OVERLAPPING;
        if (p.window && (p.window < least || p.window > BIOINFER_MAX_RESIDUES))
            st = bi_fail(err, BIOINFER_INVALID,
                         "score: windows of %lld residues, expected %d to %d", (long long)p.window,
                         least, BIOINFER_MAX_RESIDUES);
        else if (most > 0 && p.window > most)
            st = bi_fail(err, BIOINFER_INVALID,
                         "score: windows of %lld residues, the model has places for %lld",
                         (long long)p.window, (long long)most);
        else if (!(model->base.can_include & BIOINFER_LOGITS))
            st = bi_fail(err, BIOINFER_UNSUPPORTED, "%s: these weights have no language model head",
                         model->path);
        s->base.most_tokens = st || !p.window
                                  ? 0
                                  : p.window + model->base.n_prefix + model->base.n_suffix;
        if (!st)
            st = bi_sequences_open(&s->base,
                                   &(struct bi_sequence_params){.tokens_at_once = p.tokens_at_once,
                                                                .max_length = p.max_length,
                                                                .memory_limit = p.memory_limit,
                                                                .raw_residues = p.raw_residues,
                                                                .no_rules = p.no_rules,
                                                                .progress = p.progress,
                                                                .progress_user = p.progress_user},
                                   err);
    }
    if (st)
        bioinfer_task_close(out);
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
        if (digits && *p >= 'A' && *p <= 'Z' && (p[1] == '\0' || p[1] == ':') &&
            !__builtin_sub_overflow(value, offset, at)) {
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

/* Adds what one term of a mutation gives to *sum, and marks its position in `seen`. */
static int add_term(const struct bi_model *m, const struct bioinfer_result *table, char from,
                    int64_t at, char to, int64_t offset, const char *mutation, uint8_t *seen,
                    double *sum, struct bioinfer_error *err)
{
    const struct bi_sequences_def *def = m->def->def;
    const long long position = (long long)(at + offset);
    const float *row;
    int a, b;
    if (at < 0 || at >= table->length)
        return bi_fail(err, BIOINFER_INVALID,
                       "mutation '%.60s': position %lld is outside '%.60s' (%lld residues, "
                       "offset %lld)",
                       mutation, position, table->id, (long long)table->length, (long long)offset);
    if (table->sequence[at] != from)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "mutation '%.60s': '%.60s' has %c at position %lld, expected %c "
                       "(offset %lld)",
                       mutation, table->id, table->sequence[at], position, from, (long long)offset);
    if (seen[at / 8] & 1 << at % 8)
        return bi_fail(err, BIOINFER_INVALID,
                       "mutation '%.60s': position %lld is there twice, expected one letter for it",
                       mutation, position);
    seen[at / 8] |= (uint8_t)(1 << at % 8);
    a = def->residue_token(m, from);
    b = def->residue_token(m, to);
    if (a < 0 || b < 0)
        return bi_fail(err, BIOINFER_BAD_RESIDUE, "mutation '%.60s': %s has no token for %c",
                       mutation, m->name, a < 0 ? from : to);
    row = table->arrays[0].data + at * m->vocab_size;
    if (isnan(row[a]) || isnan(row[b]))
        return bi_fail(err, BIOINFER_INVALID,
                       "mutation '%.60s': the table has no row for position %lld", mutation,
                       position);
    *sum += (double)row[b] - (double)row[a];
    return 0;
}

int bioinfer_score_mutation(const bioinfer_model *model, const struct bioinfer_result *table,
                            const char *mutation, int64_t offset, double *score,
                            struct bioinfer_error *err)
{
    const char *p = mutation;
    const struct bi_model *m;
    uint8_t *seen; /* a bit for each position */
    double sum = 0;
    int st;
    if (!model || !table || !mutation || !score || table->n_arrays != 1 || !table->sequence ||
        table->length < 0)
        return bi_fail(err, BIOINFER_INVALID, "mutation: model, scores and score must be given");
    m = &model->base;
    if (!bi_family_def(m->def, &bi_kind_sequences))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "mutation: %s %s", m->def->name,
                       bi_kind_sequences.lacks);
    if (!(seen = bi_zalloc(m->env, (size_t)table->length / 8 + 1)))
        return bi_fail(err, BIOINFER_NOMEM, "mutation '%.60s': its positions", mutation);
    do {
        char from, to;
        int64_t at;
        if (!(st = parse_mutation(&p, offset, &from, &at, &to, mutation, err)))
            st = add_term(m, table, from, at, to, offset, mutation, seen, &sum, err);
    } while (!st && *p++ == ':');
    bi_free(m->env, seen);
    if (!st)
        *score = sum;
    return st;
}

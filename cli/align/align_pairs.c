/* align_pairs.c - which record meets which, as spans of pairs in the order of the output.
 *
 * Sections: records, passes over the targets, opening, spans, what is used up. */
#include "align.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(struct bioinfer_error *err)
{
    *err = (struct bioinfer_error){.status = BIOINFER_NOMEM};
    return BIOINFER_NOMEM;
}

/* ---- records ---- */

/* Keeps a block whose records have met all they meet, for the caller to free. */
static bool keep_used(struct cli_pairs *p, struct bioinfer_records *block)
{
    if (p->n_used == p->cap_used) {
        const size_t cap = 2 * p->cap_used + 64;
        void *used = realloc(p->used, cap * sizeof *p->used);
        if (!used)
            return false;
        p->used = used;
        p->cap_used = cap;
    }
    p->used[p->n_used++] = block;
    return true;
}

/* Reads records of file k where there are none left; n stays 0 behind the last one. */
static int next_records(struct cli_pairs *p, int k, struct bioinfer_error *err)
{
    struct cli_side *side = &p->side[k];
    int st;
    if (side->at < side->n || !p->feed[k].open) /* all were read at once */
        return 0;
    if (side->block && !keep_used(p, side->block))
        return no_memory(err);
    *side = (struct cli_side){0};
    if ((st = cli_feed_next(&p->feed[k], &side->block, err)) <= 0)
        return st;
    side->items = side->block->records;
    side->n = side->block->n_records;
    return 0;
}

/* ---- passes over the targets ---- */

static bool is_one_file(const struct cli_pairs *p)
{
    return !p->reader[1];
}

static int reopen(struct cli_pairs *p, int k, struct bioinfer_error *err)
{
    int st;
    bioinfer_reader_close(&p->again[k]);
    if ((st = p->reopen(p->user, is_one_file(p) ? 0 : k, &p->again[k], err)))
        return st;
    return cli_feed_open(&p->feed[k], p->again[k]) ? 0 : no_memory(err);
}

/* Begins a pass that leaves out the first targets. */
static int begin_pass(struct cli_pairs *p, uint64_t skip, struct bioinfer_error *err)
{
    struct cli_side *targets = &p->side[1];
    p->in_pass = true;
    p->query = p->first = 0;
    p->n_before = 0;
    if (p->kept) {
        targets->at = skip < targets->n ? (size_t)skip : targets->n;
        return 0;
    }
    p->skip = skip;
    return p->feed[1].open ? 0 : reopen(p, 1, err);
}

static void end_pass(struct cli_pairs *p)
{
    p->in_pass = false;
    p->passed = true;
    cli_feed_close(&p->feed[1]);
}

/* Reads targets where there are none left; there are none then behind the last one. */
static int next_targets(struct cli_pairs *p, struct bioinfer_error *err)
{
    struct cli_side *targets = &p->side[1];
    int st;
    do {
        const size_t n = targets->n - targets->at;
        const size_t skipped = p->skip < n ? p->skip : n;
        targets->at += skipped;
        p->skip -= skipped;
        if (p->kept || targets->at < targets->n)
            return 0;
        if ((st = next_records(p, 1, err)))
            return st;
    } while (targets->n);
    return 0;
}

/* ---- opening ---- */

/* Reads the targets, file k, unless they take more memory than they may. */
static int keep_targets(struct cli_pairs *p, int k, struct bioinfer_error *err)
{
    struct cli_whole *w = &p->whole[1];
    const int st = cli_whole_read(w, p->reader[k], p->most_kept, err);
    p->kept = !st;
    if (st > 0)
        cli_whole_free(w);
    else
        p->side[1] = (struct cli_side){.items = w->items, .n = w->n};
    return st < 0 ? st : 0;
}

/* Whether one pass is all there is, so that no target need stay: < 0 = a status. */
static int is_one_pass(struct cli_pairs *p, struct bioinfer_error *err)
{
    int st;
    if (p->all_names)
        return false;
    if (p->pairing != CLI_GROUPS || p->one_query)
        return p->one_query;
    if ((st = next_records(p, 0, err)))
        return st;
    return !p->side[0].n || (cli_feed_is_over(&p->feed[0]) && p->side[0].n <= p->most_queries &&
                             p->side[0].block->n_residues <= p->most_residues);
}

static int open_in_order(struct cli_pairs *p, struct bioinfer_error *err)
{
    for (int k = 0; k < 2; k++) {
        int st;
        if (!p->all_names) {
            if (!cli_feed_open(&p->feed[k], p->reader[k]))
                return no_memory(err);
            continue;
        }
        if ((st = cli_whole_read(&p->whole[k], p->reader[k], UINT64_MAX, err)))
            return st;
        p->side[k] = (struct cli_side){.items = p->whole[k].items, .n = p->whole[k].n};
    }
    return 0;
}

int cli_pairs_open(struct cli_pairs *p, struct bioinfer_error *err)
{
    int st;
    if (p->pairing == CLI_IN_ORDER)
        return open_in_order(p, err);
    if (p->targets_alone)
        return keep_targets(p, !is_one_file(p), err);
    if (p->all_names)
        p->most_kept = UINT64_MAX;
    if (is_one_file(p)) {
        if ((st = keep_targets(p, 0, err)))
            return st;
        p->side[0] = p->side[1];
        return p->kept ? 0 : reopen(p, 0, err);
    }
    if (p->all_names || p->one_query) {
        if ((st = cli_whole_read(&p->whole[0], p->reader[0], UINT64_MAX, err)))
            return st;
        p->side[0] = (struct cli_side){.items = p->whole[0].items, .n = p->whole[0].n};
    } else if (!cli_feed_open(&p->feed[0], p->reader[0])) {
        return no_memory(err);
    }
    if ((st = is_one_pass(p, err)) < 0)
        return st;
    if (!st)
        return keep_targets(p, 1, err);
    return cli_feed_open(&p->feed[1], p->reader[1]) ? 0 : no_memory(err);
}

/* ---- spans ---- */

/* One query after the other meets all its targets. */
static int span_of_query(struct cli_pairs *p, struct cli_span *span, struct bioinfer_error *err)
{
    struct cli_side *queries = &p->side[0], *targets = &p->side[1];
    int st;
    for (;;) {
        if ((st = next_records(p, 0, err)))
            return st;
        if (queries->at == queries->n)
            return 0;
        if (!p->in_pass &&
            (st = begin_pass(p, p->pairing == CLI_EACH_ONCE ? p->n_queries + !p->with_self : 0,
                             err)))
            return st;
        if ((st = next_targets(p, err)))
            return st;
        if (targets->at < targets->n)
            break;
        end_pass(p);
        queries->at++;
        p->n_queries++;
    }
    *span = (struct cli_span){.query = &queries->items[queries->at],
                              .target = &targets->items[targets->at],
                              .n = targets->n - targets->at,
                              .scattered = !p->kept};
    return 1;
}

/* The targets of a block meet all queries of the group, one query after the other. Of one file no
 * record meets itself. */
static int span_of_group(struct cli_pairs *p, struct cli_span *span, struct bioinfer_error *err)
{
    struct cli_side *targets = &p->side[1];
    int st;
    for (;;) {
        if (!p->in_pass)
            return 0;
        if ((st = next_targets(p, err)))
            return st;
        if (targets->at == targets->n)
            break;
        for (; p->query < p->n_group; p->query++, p->first = 0) {
            const uint64_t self = p->n_queries + p->query - p->n_before; /* huge if in front */
            size_t n = targets->n;
            if (is_one_file(p) && self == p->first)
                p->first++;
            if (is_one_file(p) && self > p->first && self < n)
                n = (size_t)self;
            if (p->first >= n)
                continue;
            *span = (struct cli_span){.query = &p->group[p->query],
                                      .target = &targets->items[p->first],
                                      .n = n - p->first,
                                      .scattered = true};
            return 1;
        }
        p->n_before += targets->n;
        targets->at = targets->n;
        p->query = p->first = 0;
    }
    end_pass(p);
    return 0;
}

int cli_pairs_query(struct cli_pairs *p, const struct bioinfer_record **query,
                    struct bioinfer_error *err)
{
    struct cli_side *queries = &p->side[0];
    const int st = next_records(p, 0, err);
    if (st || queries->at == queries->n)
        return st;
    *query = &queries->items[queries->at++];
    return 1;
}

int cli_pairs_meet(struct cli_pairs *p, const struct bioinfer_record *queries, size_t n,
                   uint64_t first, struct bioinfer_error *err)
{
    p->group = queries;
    p->n_group = n;
    p->n_queries = first;
    return begin_pass(p, 0, err);
}

int cli_pairs_next(struct cli_pairs *p, struct cli_span *span, struct bioinfer_error *err)
{
    const struct cli_side *a = &p->side[0], *b = &p->side[1];
    int st;
    if (p->pairing == CLI_GROUPS)
        return span_of_group(p, span, err);
    if (p->pairing != CLI_IN_ORDER)
        return span_of_query(p, span, err);
    if ((st = next_records(p, 0, err)) || (st = next_records(p, 1, err)))
        return st;
    if (a->at == a->n || b->at == b->n)
        return 0;
    *span = (struct cli_span){.query = &a->items[a->at],
                              .target = &b->items[b->at],
                              .step = 1,
                              .n = a->n - a->at < b->n - b->at ? a->n - a->at : b->n - b->at};
    return 1;
}

void cli_pairs_take(struct cli_pairs *p, size_t n)
{
    p->n_taken += n;
    if (p->pairing == CLI_GROUPS) {
        p->first += n;
        return;
    }
    p->side[0].at += p->pairing == CLI_IN_ORDER ? n : 0;
    p->side[1].at += n;
}

/* ---- what is used up ---- */

void cli_pairs_hold(struct cli_pairs *p)
{
    for (int k = 0; k < 2; k++)
        p->held[k] = p->side[k].block;
}

void cli_pairs_drop(struct cli_pairs *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_used; i++)
        if (p->used[i] == p->held[0] || p->used[i] == p->held[1])
            p->used[n++] = p->used[i];
        else
            bioinfer_records_free(&p->used[i]);
    p->n_used = n;
}

int cli_pairs_longer(const struct cli_pairs *p)
{
    const bool more[2] = {p->side[0].at < p->side[0].n, p->side[1].at < p->side[1].n};
    return p->pairing != CLI_IN_ORDER || more[0] == more[1] ? -1 : more[1];
}

void cli_pairs_close(struct cli_pairs *p)
{
    for (int k = 0; k < 2; k++) {
        cli_feed_close(&p->feed[k]);
        bioinfer_records_free(&p->side[k].block);
        cli_whole_free(&p->whole[k]);
        bioinfer_reader_close(&p->again[k]);
    }
    for (size_t i = 0; i < p->n_used; i++)
        bioinfer_records_free(&p->used[i]);
    free(p->used);
    *p = (struct cli_pairs){0};
}

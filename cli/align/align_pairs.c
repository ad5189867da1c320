/* align_pairs.c - which record meets which, as spans of pairs in the order of the output.
 *
 * Sections: opening, spans, what is used up. */
#include "align.h"

#include <stdlib.h>
#include <string.h>

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
    if ((st = cli_pairs_records(p, 0, err)))
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
                return cli_align_no_memory(err, "records of pairs");
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
        return keep_targets(p, !cli_pairs_are_one_file(p), err);
    if (p->all_names)
        p->most_kept = UINT64_MAX;
    if (cli_pairs_are_one_file(p)) {
        if ((st = keep_targets(p, 0, err)))
            return st;
        p->side[0] = p->side[1];
        return p->kept ? 0 : cli_pairs_reopen(p, 0, err);
    }
    if (p->all_names || p->one_query) {
        if ((st = cli_whole_read(&p->whole[0], p->reader[0], UINT64_MAX, err)))
            return st;
        p->side[0] = (struct cli_side){.items = p->whole[0].items, .n = p->whole[0].n};
    } else if (!cli_feed_open(&p->feed[0], p->reader[0])) {
        return cli_align_no_memory(err, "records of pairs");
    }
    if ((st = is_one_pass(p, err)) < 0)
        return st;
    if (!st)
        return keep_targets(p, 1, err);
    return cli_feed_open(&p->feed[1], p->reader[1]) ? 0
                                                    : cli_align_no_memory(err, "records of pairs");
}

/* ---- spans ---- */

/* One query after the other meets all its targets. */
static int span_of_query(struct cli_pairs *p, struct cli_span *span, struct bioinfer_error *err)
{
    struct cli_side *queries = &p->side[0], *targets = &p->side[1];
    int st;
    for (;;) {
        if ((st = cli_pairs_records(p, 0, err)))
            return st;
        if (queries->at == queries->n)
            return 0;
        if (!p->in_pass &&
            (st = cli_pairs_begin_pass(
                 p, p->pairing == CLI_EACH_ONCE ? p->n_queries + !p->with_self : 0, err)))
            return st;
        if ((st = cli_pairs_targets(p, err)))
            return st;
        if (targets->at < targets->n)
            break;
        cli_pairs_end_pass(p);
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
        if ((st = cli_pairs_targets(p, err)))
            return st;
        if (targets->at == targets->n)
            break;
        for (; p->query < p->n_group; p->query++, p->first = 0) {
            const uint64_t self = p->n_queries + p->query - p->n_before; /* huge if in front */
            size_t n = targets->n;
            if (cli_pairs_are_one_file(p) && self == p->first)
                p->first++;
            if (cli_pairs_are_one_file(p) && self > p->first && self < n)
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
    cli_pairs_end_pass(p);
    return 0;
}

int cli_pairs_query(struct cli_pairs *p, const struct bioinfer_record **query,
                    struct bioinfer_error *err)
{
    struct cli_side *queries = &p->side[0];
    const int st = cli_pairs_records(p, 0, err);
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
    return cli_pairs_begin_pass(p, 0, err);
}

int cli_pairs_next(struct cli_pairs *p, struct cli_span *span, struct bioinfer_error *err)
{
    const struct cli_side *a = &p->side[0], *b = &p->side[1];
    int st;
    if (p->pairing == CLI_GROUPS)
        return span_of_group(p, span, err);
    if (p->pairing != CLI_IN_ORDER)
        return span_of_query(p, span, err);
    if ((st = cli_pairs_records(p, 0, err)) || (st = cli_pairs_records(p, 1, err)))
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

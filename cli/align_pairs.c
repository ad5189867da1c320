/* align_pairs.c - which record meets which, as spans of pairs in the order of the output. */
#include "align.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(struct bioinfer_error *err)
{
    *err = (struct bioinfer_error){.status = BIOINFER_NOMEM};
    return BIOINFER_NOMEM;
}

int cli_pairs_open(struct cli_pairs *p, enum cli_pairing pairing, bool whole,
                   bioinfer_reader *const reader[2], struct bioinfer_error *err)
{
    *p = (struct cli_pairs){.pairing = pairing};
    for (int k = 0; k < 2; k++) {
        int st;
        if (!reader[k])
            continue;
        if (pairing == CLI_IN_ORDER && !whole) {
            if (!cli_feed_open(&p->feed[k], reader[k]))
                return no_memory(err);
            continue;
        }
        if ((st = cli_whole_read(&p->whole[k], reader[k], err)))
            return st;
        p->side[k] = (struct cli_side){.items = p->whole[k].items, .n = p->whole[k].n};
    }
    return 0;
}

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

/* Queries meet the targets from `first` on, one query after the other. */
static bool span_of_query(struct cli_pairs *p, struct cli_span *span)
{
    const bool once = p->pairing == CLI_EACH_ONCE;
    const struct cli_side *targets = &p->side[once ? 0 : 1];
    struct cli_side *queries = &p->side[0];

    while (queries->at < queries->n && p->first >= targets->n) {
        queries->at++;
        p->first = once ? queries->at + 1 : 0;
    }
    if (queries->at == queries->n)
        return false;
    *span = (struct cli_span){.query = &queries->items[queries->at],
                              .target = &targets->items[p->first],
                              .n = targets->n - p->first};
    return true;
}

int cli_pairs_next(struct cli_pairs *p, struct cli_span *span, struct bioinfer_error *err)
{
    const struct cli_side *a = &p->side[0], *b = &p->side[1];
    int st;

    if (p->pairing == CLI_EACH_ONCE && !a->at && !p->first)
        p->first = 1;
    if (p->pairing != CLI_IN_ORDER)
        return span_of_query(p, span);
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
    if (p->pairing != CLI_IN_ORDER) {
        p->first += n;
        return;
    }
    p->side[0].at += n;
    p->side[1].at += n;
}

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
    }
    for (size_t i = 0; i < p->n_used; i++)
        bioinfer_records_free(&p->used[i]);
    free(p->used);
    *p = (struct cli_pairs){0};
}

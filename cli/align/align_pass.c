/* align_pass.c - records of the files of pairs, and passes over the targets. */
#include "align.h"

#include <stdlib.h>

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

int cli_pairs_records(struct cli_pairs *p, int k, struct bioinfer_error *err)
{
    struct cli_side *side = &p->side[k];
    int st;
    if (side->at < side->n || !p->feed[k].open) /* all were read at once */
        return 0;
    if (side->block && !keep_used(p, side->block))
        return cli_align_no_memory(err, "records of pairs");
    *side = (struct cli_side){0};
    if ((st = cli_feed_next(&p->feed[k], &side->block, err)) <= 0)
        return st;
    side->items = side->block->records;
    side->n = side->block->n_records;
    return 0;
}

bool cli_pairs_are_one_file(const struct cli_pairs *p)
{
    return !p->reader[1];
}

int cli_pairs_reopen(struct cli_pairs *p, int k, struct bioinfer_error *err)
{
    int st;
    bioinfer_reader_close(&p->again[k]);
    if ((st = p->reopen(p->user, cli_pairs_are_one_file(p) ? 0 : k, &p->again[k], err)))
        return st;
    return cli_feed_open(&p->feed[k], p->again[k]) ? 0
                                                   : cli_align_no_memory(err, "records of pairs");
}

int cli_pairs_begin_pass(struct cli_pairs *p, uint64_t skip, struct bioinfer_error *err)
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
    return p->feed[1].open ? 0 : cli_pairs_reopen(p, 1, err);
}

void cli_pairs_end_pass(struct cli_pairs *p)
{
    p->in_pass = false;
    p->passed = true;
    cli_feed_close(&p->feed[1]);
}

int cli_pairs_targets(struct cli_pairs *p, struct bioinfer_error *err)
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
        if ((st = cli_pairs_records(p, 1, err)))
            return st;
    } while (targets->n);
    return 0;
}

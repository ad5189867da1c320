/* align_best.c - of each query the targets of the highest scores, in memory that no database fills.
 *
 * Queries come in groups. For each group one pass over the targets finds scores alone, and a heap
 * keeps the best targets of each query, with their letters; then these few are aligned like any
 * other pairs. A target that comes later needs a higher score to displace one: what is kept is what
 * sorting all results by score, stably, would put first. */
#include "align.h"

#include <stdlib.h>
#include <string.h>

enum {
    GROUP_QUERIES = 4096, /* most queries of a group, */
    GROUP_HITS = 1 << 16, /* hits that all its queries may have, more where one has more, */
    GROUP_RESIDUES = 16 << 20
};

/* ---- groups ---- */

static void empty(struct cli_best *best)
{
    for (size_t k = 0; k < best->n; k++) {
        for (size_t i = 0; i < best->n_hits[k]; i++)
            free(best->hits[k * best->most + i]);
        best->n_hits[k] = 0;
    }
    for (size_t i = 0; i < best->n_used; i++)
        bioinfer_records_free(&best->used[i]);
    best->first += best->n;
    best->n = best->n_used = 0;
    best->residues = 0;
}

/* Takes over the blocks of records that its queries lie in. */
static int take_used(struct cli_best *best, struct bioinfer_error *err)
{
    struct cli_pairs *p = best->pairs;
    if (p->n_used > best->cap_used) {
        void *used = realloc(best->used, p->n_used * sizeof *best->used);
        if (!used)
            return cli_align_no_memory(err, "the best targets of queries");
        best->used = used;
        best->cap_used = p->n_used;
    }
    if (p->n_used)
        memcpy(best->used, p->used, p->n_used * sizeof *p->used);
    best->n_used = p->n_used;
    p->n_used = 0;
    return 0;
}

/* A cli_tick: the pass over the targets tells how far the run is. */
static int no_tick(void *user, uint64_t records, uint64_t residues)
{
    (void)user;
    (void)records;
    (void)residues;
    return 0;
}

int cli_best_start(struct cli_best *best, struct cli_aligning *task, struct cli_pairs *pairs)
{
    struct cli *cli = task->cli;
    const bool identity = cli->options->min_identity != NULL; /* the pass finds them, too */
    struct cli_align_run *scores = &best->scores;
    struct bioinfer_align_params params = task->params;
    struct bioinfer_error err = {0};
    int st;
    scores->cli = cli;
    scores->best = best;
    scores->align = task->run.align;
    scores->writer = &task->writer;
    scores->pairs = pairs;
    scores->tick = task->run.tick;
    task->run.tick = no_tick;
    if (params.traceback || (params.identity && !identity)) {
        params.traceback = 0;
        params.identity = identity;
        if ((st = bioinfer_align_open(&best->own, cli->ctx, &params, &err)))
            return cli_fail(cli, CLI_AT_CONFIG, st, &err);
        scores->align = best->own;
    }
    return cli_align_start(scores);
}

int cli_best_open(struct cli_best *best, struct cli_pairs *pairs, struct cli_blocks *blocks,
                  uint64_t most, uint64_t most_queries)
{
    const uint64_t fair = most < GROUP_HITS ? GROUP_HITS / most : 1;
    pairs->most_queries = most_queries ? most_queries : fair < GROUP_QUERIES ? fair : GROUP_QUERIES;
    pairs->most_residues = GROUP_RESIDUES;
    if (most > SIZE_MAX / sizeof *best->hits / pairs->most_queries)
        return BIOINFER_NOMEM;
    *best = (struct cli_best){.most = most, .pairs = pairs, .blocks = blocks};
    best->queries = calloc(pairs->most_queries, sizeof *best->queries);
    best->n_hits = calloc(pairs->most_queries, sizeof *best->n_hits);
    /* not calloc of all at once: what no hit is put into is never touched */
    best->hits = malloc(pairs->most_queries * most * sizeof *best->hits);
    best->targets = malloc(pairs->most_queries * most * sizeof *best->targets);
    return best->queries && best->n_hits && best->hits && best->targets ? 0 : BIOINFER_NOMEM;
}

int cli_best_read(struct cli_best *best, struct bioinfer_error *err)
{
    const struct cli_pairs *p = best->pairs;
    const struct bioinfer_record *query;
    int st;
    if (best->is_read)
        return 1;
    empty(best);
    while (best->n < p->most_queries && best->residues < p->most_residues) {
        if ((st = cli_pairs_query(best->pairs, &query, err)) < 0)
            return st;
        if (!st)
            break;
        best->queries[best->n] = *query;
        best->queries[best->n].ordinal = best->first + best->n;
        best->residues += query->length;
        best->n++;
    }
    if ((st = take_used(best, err)) || !best->n)
        return st;
    if ((st = cli_pairs_meet(best->pairs, best->queries, best->n, best->first, err)))
        return st;
    best->is_read = true;
    return 1;
}

int cli_best_list(struct cli_best *best, struct bioinfer_error *err)
{
    struct cli_blocks *b = best->blocks;
    int st = 0;
    b->n_spans = 0;
    b->block.n_pairs = best->n;
    for (size_t k = 0; k < best->n && !st; k++)
        st = cli_blocks_add(b,
                            &(struct cli_span){.query = &best->queries[k],
                                               .target = &best->queries[k],
                                               .scattered = true},
                            err);
    return st;
}

int cli_best_give(struct cli_best *best, uint64_t first, struct bioinfer_error *err)
{
    const struct cli_blocks *b = best->blocks;
    empty(best);
    best->first = first;
    for (size_t k = 0; k < b->n_spans; k++) {
        best->queries[k] = *b->spans[k].query;
        best->queries[k].ordinal = first + k;
    }
    best->n = b->n_spans;
    return cli_pairs_meet(best->pairs, best->queries, best->n, first, err);
}

static int by_score(const void *x, const void *y)
{
    const struct cli_hit *a = *(struct cli_hit *const *)x, *b = *(struct cli_hit *const *)y;
    return cli_hit_is_worse(a, b) - cli_hit_is_worse(b, a);
}

int cli_best_find(struct cli_best *best, struct bioinfer_error *err)
{
    struct cli_blocks *blocks = best->blocks;
    const struct cli_align_run *scores = &best->scores;
    const uint64_t before = best->pairs->n_taken, n_done = scores->n_done;
    const uint64_t n_residues = scores->n_residues;
    const double cells = scores->cells;
    int st = cli_align_pairs(&best->scores, err);
    blocks->result.n_done = scores->n_done - n_done;
    blocks->result.n_residues = scores->n_residues - n_residues;
    blocks->result.cells = scores->cells - cells;
    blocks->n_spans = 0;
    blocks->block.n_pairs = best->pairs->n_taken - before;
    for (size_t k = 0; k < best->n && !st; k++) {
        const size_t at = k * best->most, n = best->n_hits[k];
        qsort(best->hits + at, n, sizeof *best->hits, by_score);
        for (size_t i = 0; i < n; i++)
            best->targets[at + i] = best->hits[at + i]->record;
        if (n)
            st = cli_blocks_add(blocks,
                                &(struct cli_span){.query = &best->queries[k],
                                                   .target = &best->targets[at],
                                                   .n = n,
                                                   .scattered = true},
                                err);
    }
    return st;
}

void cli_best_close(struct cli_best *best)
{
    cli_align_end(&best->scores);
    bioinfer_task_close(&best->own);
    if (best->n_hits)
        empty(best);
    free(best->queries);
    free(best->n_hits);
    free(best->hits);
    free(best->targets);
    free(best->used);
    *best = (struct cli_best){0};
}

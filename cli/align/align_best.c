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

/* A target that is kept: a record whose texts follow the struct. */
struct cli_hit {
    struct bioinfer_record record;
    int64_t score;
    char text[];
};

static int no_memory(struct bioinfer_error *err)
{
    *err = (struct bioinfer_error){.status = BIOINFER_NOMEM, .text = "the best targets of queries"};
    return BIOINFER_NOMEM;
}

/* ---- heaps ---- */

static bool is_worse(const struct cli_hit *a, const struct cli_hit *b)
{
    return a->score != b->score ? a->score < b->score : a->record.ordinal > b->record.ordinal;
}

/* Lets the hit at `at` of a heap, whose first is the worst, sink to its place. */
static void sink_hit(struct cli_hit **heap, size_t n, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        struct cli_hit *hit = heap[at];
        if (child + 1 < n && is_worse(heap[child + 1], heap[child]))
            child++;
        if (!is_worse(heap[child], hit))
            return;
        heap[at] = heap[child];
        heap[child] = hit;
    }
}

static void raise_hit(struct cli_hit **heap, size_t at)
{
    for (size_t parent; at; at = parent) {
        struct cli_hit *hit = heap[at];
        parent = (at - 1) / 2;
        if (!is_worse(hit, heap[parent]))
            return;
        heap[at] = heap[parent];
        heap[parent] = hit;
    }
}

static struct cli_hit *copy_target(const struct bioinfer_record *r, int64_t score)
{
    const size_t n_id = strlen(r->id) + 1;
    struct cli_hit *hit = malloc(sizeof *hit + n_id + r->length + 1);
    if (!hit)
        return NULL;
    hit->score = score;
    hit->record = (struct bioinfer_record){.ordinal = r->ordinal,
                                           .id = hit->text,
                                           .description = "",
                                           .message = "",
                                           .sequence = hit->text + n_id,
                                           .length = r->length};
    memcpy(hit->text, r->id, n_id);
    memcpy(hit->text + n_id, r->sequence, r->length);
    hit->text[n_id + r->length] = 0;
    return hit;
}

/* Offers a target to the heap of query k: false = no memory. */
static bool offer(struct cli_best *best, size_t k, const struct bioinfer_record *target,
                  int64_t score)
{
    struct cli_hit **heap = best->hits + k * best->most;
    size_t *n = &best->n_hits[k];
    struct cli_hit *hit;
    if (*n == best->most && score <= heap[0]->score) /* the later one of equals */
        return true;
    if (!(hit = copy_target(target, score)))
        return false;
    if (*n < best->most) {
        heap[*n] = hit;
        raise_hit(heap, (*n)++);
        return true;
    }
    free(heap[0]);
    heap[0] = hit;
    sink_hit(heap, *n, 0);
    return true;
}

int cli_best_take(struct cli_best *best, const struct cli_batch *b)
{
    struct cli_align_out writer = *best->scores.writer;
    for (size_t i = 0; i < b->n; i++) {
        const struct bioinfer_record *q = b->sides[2 * i], *t = b->sides[2 * i + 1];
        writer.reverse = writer.both_strands && b->strands.reverse[i];
        if (q->status || t->status || b->results[i].status ||
            !cli_align_keeps(&writer, q, t, &b->results[i]))
            continue;
        if (!offer(best, (size_t)(q->ordinal - best->first), t, b->results[i].score))
            return BIOINFER_NOMEM;
    }
    if (b->any_failed && best->blocks->sink)
        cli_blocks_add_failed(best->blocks, b);
    return 0;
}

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
            return no_memory(err);
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
    return is_worse(a, b) - is_worse(b, a);
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

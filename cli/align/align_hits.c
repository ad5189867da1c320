/* align_hits.c - a heap for each query, of the targets that have the highest scores so far. */
#include "align.h"

#include <stdlib.h>
#include <string.h>

bool cli_hit_is_worse(const struct cli_hit *a, const struct cli_hit *b)
{
    return a->score != b->score ? a->score < b->score : a->record.ordinal > b->record.ordinal;
}

/* Lets the hit at `at` of a heap, whose first is the worst, sink to its place. */
static void sink_hit(struct cli_hit **heap, size_t n, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        struct cli_hit *hit = heap[at];
        if (child + 1 < n && cli_hit_is_worse(heap[child + 1], heap[child]))
            child++;
        if (!cli_hit_is_worse(heap[child], hit))
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
        if (!cli_hit_is_worse(hit, heap[parent]))
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

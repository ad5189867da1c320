/* pool_chunks.c - records read ahead in chunks, and results on their way to the sink. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CHUNK = 16384 };                               /* records */
static const uint64_t MOST_WAITING = (uint64_t)256 << 20; /* bytes of results out of order */
#define CHUNK_SECONDS 1.0

bool cli_pool_grow(void *array, size_t *cap, size_t n, size_t size)
{
    size_t more = *cap ? *cap : 64;
    void *old, *grown;
    if (n <= *cap)
        return true;
    while (more < n)
        more *= 2;
    memcpy(&old, array, sizeof old);
    if (!(grown = realloc(old, more * size)))
        return false;
    memcpy(array, &grown, sizeof grown);
    *cap = more;
    return true;
}

int cli_pool_no_memory(struct cli_pool *p)
{
    snprintf(p->err.text, sizeof p->err.text, "out of memory for records in flight");
    return p->status = BIOINFER_NOMEM;
}

/* ---- records in ---- */

static void chunk_free(struct cli_chunk *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->records[i].texts);
        free(c->records[i].packed);
    }
    free(c->records);
    free(c);
}

static int add_record(struct cli_pool *p, struct cli_chunk *c, const struct bioinfer_record *r)
{
    const char *texts[] = {r->id, r->description ? r->description : "",
                           r->message ? r->message : ""};
    const struct cli_weight weight = p->task->weigh(p->cli, r);
    size_t n[3], total = r->length + 1;
    struct cli_held *to;
    char *at;
    for (int i = 0; i < 3; i++)
        total += n[i] = strlen(texts[i]) + 1;
    if (!cli_pool_grow(&c->records, &c->cap, c->n + 1, sizeof *c->records) || !(at = malloc(total)))
        return cli_pool_no_memory(p);
    to = &c->records[c->n++];
    *to = (struct cli_held){.ordinal = r->ordinal,
                            .length = r->length,
                            .status = r->status,
                            .texts = at,
                            .n_id = n[0],
                            .n_description = n[1],
                            .n_message = n[2]};
    for (int i = 0; i < 3; i++) {
        memcpy(at, texts[i], n[i]);
        at += n[i];
    }
    if (r->length)
        memcpy(at, r->sequence, r->length);
    at[r->length] = '\0';
    c->work += weight.work;
    p->work_read += weight.work;
    p->bytes_read += weight.bytes;
    return 0;
}

/* Gives the work of the next chunk. Several workers share what is left in ever smaller pieces, so
 * that none computes for long when the others are done. What is left is taken to be like what was
 * read. */
static uint64_t most_work(const struct cli_pool *p)
{
    const uint64_t size = p->io->input_size;
    double left, share;
    if (p->n_workers < 2 || !p->bytes_read || p->bytes_read >= size)
        return p->chunk_work;
    left = (double)p->work_read / (double)p->bytes_read * (double)(size - p->bytes_read);
    share = left / (2 * CLI_AHEAD * p->n_workers);
    share = share > CLI_FIRST_CHUNK ? share : CLI_FIRST_CHUNK;
    return share < (double)p->chunk_work ? (uint64_t)share : p->chunk_work;
}

struct cli_chunk *cli_pool_new_chunk(struct cli_pool *p)
{
    const struct cli_run_io *io = p->io;
    const uint64_t most = most_work(p);
    struct cli_chunk *c;
    int st = 1;
    if (p->ended && io->pending && io->pending(io->user))
        p->ended = false;
    /* results wait for a chunk that a worker has, and that one goes on */
    if (p->ended || p->status || p->packed_size > MOST_WAITING || !(c = calloc(1, sizeof *c)))
        return NULL;
    while (c->n < MAX_CHUNK && c->work < most) {
        struct bioinfer_record r = {0};
        if ((st = io->source(io->user, &r, &p->err)) <= 0 || add_record(p, c, &r))
            break;
    }
    p->ended = st == 0;
    if (st < 0 && !p->status) {
        p->status = st;
        p->ended = p->broken = true; /* records read before it are still computed */
    }
    if (!c->n) {
        chunk_free(c);
        return NULL;
    }
    c->number = p->n_chunks++;
    *p->last = c;
    p->last = &c->next;
    return c;
}

void cli_pool_chunk_took(struct cli_pool *p, double seconds)
{
    if (seconds < CHUNK_SECONDS / 2 && p->chunk_work < CLI_LARGEST_CHUNK)
        p->chunk_work *= 2;
    else if (seconds > 2 * CHUNK_SECONDS && p->chunk_work > CLI_SMALLEST_CHUNK)
        p->chunk_work /= 2;
}

/* ---- results out ---- */

static int mixed_up(struct cli_pool *p, const char *how)
{
    snprintf(p->err.text, sizeof p->err.text, "a worker sent %s", how);
    return BIOINFER_INTERNAL;
}

static int unpack(struct cli_pool *p, struct bioinfer_result *r, const void *bytes, uint64_t size)
{
    return bioinfer_result_unpack(r, p->arrays, CLI_MAX_ARRAYS, p->texts, CLI_MAX_TEXTS, p->columns,
                                  CLI_MAX_COLUMNS, bytes, size, &p->err);
}

/* Gives a result, or a piece of one, to the sink under the ordinal that the record has here. */
static int hand_on(struct cli_pool *p, const struct cli_held *r, struct bioinfer_result *result)
{
    int st;
    result->ordinal = r->ordinal;
    if ((st = p->io->sink(p->io->user, result, &p->err)) || result->more)
        return st;
    p->cli->progress.records++;
    p->cli->progress.residues += result->status ? 0 : (uint64_t)result->length;
    return 0;
}

/* Gives all pieces that waited. */
static int hand_on_packed(struct cli_pool *p, struct cli_held *r)
{
    uint64_t at = 0, size;
    int st = 0;
    while (!st && at < r->packed_size) {
        struct bioinfer_result result;
        memcpy(&size, r->packed + at, sizeof size); /* a packed result begins with its size */
        if (!(st = unpack(p, &result, r->packed + at, size)))
            st = hand_on(p, r, &result);
        at += size;
    }
    p->packed_size -= r->packed_size;
    free(r->packed);
    r->packed = NULL;
    r->packed_size = r->packed_cap = 0;
    return st;
}

/* Keeps a piece until all of its record are there, and its turn has come. */
static int keep(struct cli_pool *p, struct cli_held *r, const void *bytes, uint64_t size)
{
    if (!cli_pool_grow(&r->packed, &r->packed_cap, r->packed_size + size, 1))
        return cli_pool_no_memory(p);
    memcpy(r->packed + r->packed_size, bytes, size);
    r->packed_size += size;
    p->packed_size += size;
    return 0;
}

/* Forgets the pieces of a worker that ended before it had computed them all. */
static void begin_again(struct cli_pool *p, struct cli_held *r)
{
    r->n_pieces = 0;
    p->packed_size -= r->packed_size;
    r->packed_size = 0;
}

int cli_pool_take(struct cli_pool *p, struct cli_chunk *c, const void *bytes, uint64_t size)
{
    struct bioinfer_result result;
    struct cli_held *r;
    bool at_once;
    int st = unpack(p, &result, bytes, size);
    if (st)
        return st;
    if (result.ordinal >= c->n || c->records[result.ordinal].done)
        return mixed_up(p, "a result nobody asked for");
    r = &c->records[result.ordinal];
    if (!result.piece)
        begin_again(p, r);
    if (result.piece != r->n_pieces++)
        return mixed_up(p, "the pieces of a result in a wrong order");
    r->done = !result.more;
    c->n_done += r->done;
    at_once = (!p->io->in_order || (p->first == c && c->n_delivered == result.ordinal)) &&
              (!(p->io->in_order || p->io->whole) || (r->done && !r->packed_size));
    if (!at_once) {
        st = keep(p, r, bytes, size);
        if (!st && r->done && !p->io->in_order)
            st = hand_on_packed(p, r);
        return st || !r->done ? st : cli_pool_deliver(p);
    }
    if (p->io->in_order)
        c->n_delivered++;
    st = hand_on(p, r, &result);
    return st || !r->done ? st : cli_pool_deliver(p);
}

int cli_pool_deliver(struct cli_pool *p)
{
    struct cli_chunk *c;
    int st = 0;
    while (!st && (c = p->first)) {
        while (!st && p->io->in_order && c->n_delivered < c->n && c->records[c->n_delivered].done)
            st = hand_on_packed(p, &c->records[c->n_delivered++]);
        if (c->n_done < c->n || (p->io->in_order && c->n_delivered < c->n))
            break;
        for (int i = 0; i < p->n_workers; i++) /* a worker may still owe DONE */
            for (int k = 0; k < p->workers[i].n_chunks; k++)
                if (p->workers[i].chunks[k] == c)
                    return st;
        if (!(p->first = c->next))
            p->last = &p->first;
        chunk_free(c);
    }
    return st;
}

void cli_pool_free_chunks(struct cli_pool *p)
{
    while (p->first) {
        struct cli_chunk *next = p->first->next;
        chunk_free(p->first);
        p->first = next;
    }
}

/* ---- records that end their worker ---- */

struct losing {
    struct cli_pool *pool;
    struct cli_chunk *chunk;
};

static int copy_piece(void *user, const void *bytes, size_t n)
{
    char **at = user;
    memcpy(*at, bytes, n);
    *at += n;
    return 0;
}

/* A bioinfer_sink: takes a piece as if it came from a worker. */
static int take_lost(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    const struct losing *l = user;
    const uint64_t size = bioinfer_result_size(result);
    char *packed = malloc(size), *at = packed;
    int st;
    if (!packed)
        return cli_pool_no_memory(l->pool);
    if (!(st = bioinfer_result_pack(result, copy_piece, &at, err)))
        st = cli_pool_take(l->pool, l->chunk, packed, size);
    free(packed);
    return st;
}

int cli_pool_set_aside(struct cli_pool *p, struct cli_chunk *c, uint64_t index,
                       const struct cli_pool_worker *w)
{
    const struct cli_held *r = &c->records[index];
    const char *description = r->texts + r->n_id, *message = description + r->n_description;
    const struct bioinfer_record record = {.ordinal = index,
                                           .id = r->texts,
                                           .description = description,
                                           .message = message,
                                           .status = r->status,
                                           .sequence = message + r->n_message,
                                           .length = r->length};
    struct losing losing = {p, c};
    char text[512];
    snprintf(text, sizeof text,
             "record '%.60s': the worker of %s ended twice while "
             "computing it: %.200s",
             r->texts, w->device, w->why);
    return cli_task_lose(p->cli, p->task, &record, BIOINFER_DEVICE, text, take_lost, &losing,
                         &p->err);
}

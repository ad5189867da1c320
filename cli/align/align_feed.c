/* align_feed.c - records of a file in blocks, read ahead by a thread or all at once. */
#include "align.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t most_ahead = 16u << 20; /* bytes; fresh memory is slow */

/* About the memory of a block, in bytes. Of short records the list is the most. */
static uint64_t size_of(const struct bioinfer_records *block)
{
    return block->n_residues + block->n_records * sizeof *block->records;
}

static void *read_ahead(void *arg)
{
    struct cli_feed *f = arg;
    pthread_mutex_lock(&f->lock);
    while (!f->stop && !f->end) {
        struct bioinfer_records *block = NULL;
        int st;
        if (f->n == CLI_FEED_BLOCKS || (f->n && f->bytes >= most_ahead)) {
            pthread_cond_wait(&f->changed, &f->lock);
            continue;
        }
        pthread_mutex_unlock(&f->lock);
        st = bioinfer_reader_next_many(f->reader, &block, &f->err);
        pthread_mutex_lock(&f->lock);
        if (st > 0) {
            f->blocks[(f->first + f->n++) % CLI_FEED_BLOCKS] = block;
            f->bytes += size_of(block);
        } else {
            f->end = true;
            f->status = st;
        }
        pthread_cond_signal(&f->changed);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

bool cli_feed_open(struct cli_feed *f, bioinfer_reader *reader)
{
    *f = (struct cli_feed){.reader = reader};
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->open = !pthread_create(&f->thread, NULL, read_ahead, f);
    return f->open;
}

int cli_feed_next(struct cli_feed *f, struct bioinfer_records **block, struct bioinfer_error *err)
{
    int st = 1;
    pthread_mutex_lock(&f->lock);
    while (!f->n && !f->end)
        pthread_cond_wait(&f->changed, &f->lock);
    if (f->n) {
        *block = f->blocks[f->first];
        f->first = (f->first + 1) % CLI_FEED_BLOCKS;
        f->n--;
        f->bytes -= size_of(*block);
        pthread_cond_signal(&f->changed);
    } else {
        st = f->status;
        *err = f->err;
    }
    pthread_mutex_unlock(&f->lock);
    return st;
}

bool cli_feed_is_over(struct cli_feed *f)
{
    bool over;
    pthread_mutex_lock(&f->lock);
    while (!f->n && !f->end)
        pthread_cond_wait(&f->changed, &f->lock);
    over = !f->n;
    pthread_mutex_unlock(&f->lock);
    return over;
}

void cli_feed_close(struct cli_feed *f)
{
    if (!f->open)
        return;
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    for (size_t i = 0; i < f->n; i++)
        bioinfer_records_free(&f->blocks[(f->first + i) % CLI_FEED_BLOCKS]);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
    f->open = false;
}

/* ---- all at once ---- */

static bool keep(struct cli_whole *w, struct bioinfer_records *block)
{
    if (w->n_blocks == w->blocks_cap) {
        const size_t cap = 2 * w->blocks_cap + 16;
        void *blocks = realloc(w->blocks, cap * sizeof *w->blocks);
        if (!blocks)
            return false;
        w->blocks = blocks;
        w->blocks_cap = cap;
    }
    if (block->n_records > w->cap - w->n) {
        const size_t cap = 2 * w->cap + block->n_records;
        void *items = realloc(w->items, cap * sizeof *w->items);
        if (!items)
            return false;
        w->items = items;
        w->cap = cap;
    }
    memcpy(w->items + w->n, block->records, block->n_records * sizeof *w->items);
    w->n += block->n_records;
    w->blocks[w->n_blocks++] = block;
    return true;
}

int cli_whole_read(struct cli_whole *w, bioinfer_reader *reader, uint64_t most,
                   struct bioinfer_error *err)
{
    struct bioinfer_records *block;
    uint64_t bytes = 0;
    int st;
    while ((st = bioinfer_reader_next_many(reader, &block, err)) > 0) {
        bytes += size_of(block);
        if (!keep(w, block)) {
            bioinfer_records_free(&block);
            *err = (struct bioinfer_error){.status = BIOINFER_NOMEM};
            return BIOINFER_NOMEM;
        }
        if (bytes > most)
            return 1;
    }
    return st;
}

void cli_whole_free(struct cli_whole *w)
{
    for (size_t i = 0; i < w->n_blocks; i++)
        bioinfer_records_free(&w->blocks[i]);
    free(w->blocks);
    free(w->items);
    *w = (struct cli_whole){0};
}

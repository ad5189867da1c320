/* records.c - blocks of records and the pool of their memory. */
#include "records.h"

#include <pthread.h>
#include <string.h>

enum {
    KEPT_TEXT = 8 << 20,  /* bytes of a free block's text; larger ones are given back */
    FIRST_TEXT = 9 << 16, /* bytes of a block's first text: what readers put into one, so that it */
    FIRST_ITEMS = 1 << 12 /* need not grow, which takes fresh pages each time; likewise records */
};

struct bi_records_pool {
    const struct bi_env *env;
    pthread_mutex_t lock; /* guards all below */
    struct bi_records *free;
    size_t n_users; /* blocks that are out, and the reader while it is open */
    bool closed;
};

static void destroy(const struct bi_env *env, struct bi_records *b)
{
    bi_free(env, b->items);
    bi_free(env, b->text);
    bi_free(env, b);
}

int bi_records_pool_new(struct bi_records_pool **out, const struct bi_env *env)
{
    struct bi_records_pool *p = bi_zalloc(env, sizeof *p);
    *out = NULL;
    if (!p)
        return BIOINFER_NOMEM;
    p->env = env;
    p->n_users = 1;
    if (pthread_mutex_init(&p->lock, NULL)) {
        bi_free(env, p);
        return BIOINFER_NOMEM;
    }
    *out = p;
    return 0;
}

/* Gives one use up; the last one ends the pool. The lock is held. */
static void leave(struct bi_records_pool *p)
{
    const bool last = !--p->n_users;
    pthread_mutex_unlock(&p->lock);
    if (last) {
        pthread_mutex_destroy(&p->lock);
        bi_free(p->env, p);
    }
}

void bi_records_pool_close(struct bi_records_pool **pool)
{
    struct bi_records_pool *p = *pool;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->closed = true;
    for (struct bi_records *b = p->free, *next; b; b = next) {
        next = b->next;
        destroy(p->env, b);
    }
    p->free = NULL;
    leave(p);
    *pool = NULL;
}

struct bi_records *bi_records_new(struct bi_records_pool *p)
{
    struct bi_records *b;
    pthread_mutex_lock(&p->lock);
    if ((b = p->free))
        p->free = b->next;
    p->n_users += b != NULL;
    pthread_mutex_unlock(&p->lock);
    if (!b) {
        if (!(b = bi_zalloc(p->env, sizeof *b)))
            return NULL;
        b->pool = p;
        pthread_mutex_lock(&p->lock);
        p->n_users++;
        pthread_mutex_unlock(&p->lock);
    }
    b->shown = (struct bioinfer_records){0};
    b->text_size = 0;
    return b;
}

/* n bytes and a NUL; returns where in b->text they lie. */
static uintptr_t add_text(struct bi_records *b, const char *bytes, size_t n)
{
    const uintptr_t place = b->text_size;
    memcpy(b->text + place, bytes, n);
    b->text[place + n] = '\0';
    b->text_size += n + 1;
    return place;
}

bool bi_records_add(struct bi_records *b, const struct bioinfer_record *r)
{
    const struct bi_env *env = b->pool->env;
    const size_t n_id = strlen(r->id), n_description = strlen(r->description);
    const size_t n_message = strlen(r->message), n = b->shown.n_records;
    const size_t more = n_id + n_description + r->length + n_message + 4;
    struct bioinfer_record *x;
    uintptr_t id, description, sequence, message;
    if (!bi_grow(env, &b->items, &b->cap, b->cap ? n + 1 : FIRST_ITEMS, sizeof *b->items) ||
        !bi_grow(env, &b->text, &b->text_cap,
                 b->text_size + more > FIRST_TEXT ? b->text_size + more : FIRST_TEXT, 1))
        return false;
    x = &b->items[b->shown.n_records++];
    *x = (struct bioinfer_record){.length = r->length, .status = r->status};
    /* places in b->text, which still moves, until finish() makes pointers of them */
    id = add_text(b, r->id, n_id);
    description = n_description ? add_text(b, r->description, n_description) : id + n_id;
    sequence = add_text(b, r->sequence, r->length);
    message = n_message ? add_text(b, r->message, n_message) : sequence + r->length;
    x->id = (const char *)id;
    x->description = (const char *)description;
    x->sequence = (const char *)sequence;
    x->message = (const char *)message;
    b->shown.n_residues += r->length;
    return true;
}

void bi_records_finish(struct bi_records *b, uint64_t first_ordinal)
{
    for (size_t i = 0; i < b->shown.n_records; i++) {
        struct bioinfer_record *x = &b->items[i];
        x->id = b->text + (uintptr_t)x->id;
        x->description = b->text + (uintptr_t)x->description;
        x->sequence = b->text + (uintptr_t)x->sequence;
        x->message = b->text + (uintptr_t)x->message;
        x->ordinal = first_ordinal + i;
    }
    b->shown.records = b->items;
}

void bi_records_free(struct bi_records **block)
{
    struct bi_records *b = *block;
    struct bi_records_pool *p;
    if (!b)
        return;
    p = b->pool;
    pthread_mutex_lock(&p->lock);
    if (p->closed || b->text_cap > KEPT_TEXT) {
        destroy(p->env, b);
    } else {
        b->next = p->free;
        p->free = b;
    }
    leave(p);
    *block = NULL;
}

/* arena.c - many small allocations with one lifetime. */
#include "arena.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK_SIZE = 16384 };

struct bi_arena_block {
    struct bi_arena_block *next;
    size_t used, size;
    _Alignas(16) unsigned char data[];
};

/* Takes a block of `need` bytes or more: a spare one, or new memory. */
static struct bi_arena_block *next_block(struct bi_arena *arena, uint64_t need)
{
    uint64_t total, data_size = need > BLOCK_SIZE ? need : BLOCK_SIZE;
    struct bi_arena_block *b = arena->spare;
    if (b && need <= BLOCK_SIZE) {
        arena->spare = b->next;
    } else {
        if (!bi_add_size(data_size, sizeof *b, &total) || total > SIZE_MAX ||
            !(b = bi_alloc(arena->env, (size_t)total)))
            return NULL;
        b->size = (size_t)data_size;
    }
    b->used = 0;
    b->next = arena->blocks;
    arena->blocks = b;
    return b;
}

void *bi_arena_alloc(struct bi_arena *arena, size_t size)
{
    struct bi_arena_block *b = arena->blocks;
    uint64_t need;
    void *p;
    if (!bi_round_size(size ? size : 1, 16, &need))
        return NULL;
    if ((!b || b->size - b->used < need) && !(b = next_block(arena, need)))
        return NULL;
    p = b->data + b->used;
    b->used += (size_t)need;
    arena->total_size += (size_t)need;
    return p;
}

void *bi_arena_calloc(struct bi_arena *arena, size_t n, size_t size)
{
    uint64_t total;
    void *p;
    if (!bi_mul_size(n, size, &total) || total > SIZE_MAX)
        return NULL;
    if ((p = bi_arena_alloc(arena, (size_t)total)))
        memset(p, 0, (size_t)total);
    return p;
}

char *bi_arena_strndup(struct bi_arena *arena, const char *text, size_t n)
{
    char *p = n < SIZE_MAX ? bi_arena_alloc(arena, n + 1) : NULL;
    if (p) {
        memcpy(p, text, n);
        p[n] = '\0';
    }
    return p;
}

char *bi_arena_printf(struct bi_arena *arena, const char *fmt, ...)
{
    va_list ap;
    char *p;
    int n;
    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !(p = bi_arena_alloc(arena, (size_t)n + 1)))
        return NULL;
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

static void free_blocks(const struct bi_arena *arena, struct bi_arena_block **list)
{
    while (*list) {
        struct bi_arena_block *next = (*list)->next;
        bi_free(arena->env, *list);
        *list = next;
    }
}

void bi_arena_reset(struct bi_arena *arena)
{
    free_blocks(arena, &arena->blocks);
    free_blocks(arena, &arena->spare);
    arena->total_size = 0;
}

void bi_arena_rewind(struct bi_arena *arena)
{
    struct bi_arena_block *b, *large = NULL;
    while ((b = arena->blocks)) {
        struct bi_arena_block **to = b->size == BLOCK_SIZE ? &arena->spare : &large;
        arena->blocks = b->next;
        b->next = *to;
        *to = b;
    }
    free_blocks(arena, &large);
    arena->total_size = 0;
}

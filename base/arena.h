/* arena.h - many small allocations with one lifetime. */
#ifndef BI_ARENA_H
#define BI_ARENA_H

#include "base.h"

struct bi_arena_block;

/* Zero-initialise but for env. Not thread-safe. */
struct bi_arena {
    const struct bi_env *env;
    struct bi_arena_block *blocks;
    size_t total_size; /* bytes handed out */
};

/* 16-byte aligned; NULL when there is no memory. */
void *bi_arena_alloc(struct bi_arena *arena, size_t size);
void *bi_arena_calloc(struct bi_arena *arena, size_t n, size_t size); /* zeroed, checked */
/* A NUL-terminated copy of n bytes. */
char *bi_arena_strndup(struct bi_arena *arena, const char *text, size_t n);
char *bi_arena_printf(struct bi_arena *arena, const char *fmt, ...) BI_PRINTF(2, 3);
/* Frees everything; the arena may be used again. */
void bi_arena_reset(struct bi_arena *arena);

#endif

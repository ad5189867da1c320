/* arena.h - many small allocations with one lifetime. */
#ifndef BI_ARENA_H
#define BI_ARENA_H

#include "base.h"

struct bi_arena_block;

/* Zero-initialise but for env. Not thread-safe. */
struct bi_arena {
    const struct bi_env *env;
    struct bi_arena_block *blocks, *spare; /* spare: left by bi_arena_rewind() */
    size_t total_size;                     /* bytes handed out, each time rounded up to 16 */
};

/* All that is taken goes with bi_arena_reset() or bi_arena_rewind(), nothing alone. NULL: there is
 * no memory, or the size overflows; the arena is as before. */

/* Gives `size` bytes, 16-byte aligned, whose content is undefined; size 0 gives a valid pointer. */
void *bi_arena_alloc(struct bi_arena *arena, size_t size);
void *bi_arena_calloc(struct bi_arena *arena, size_t n, size_t size); /* zeroed, checked */
/* Gives a NUL-terminated copy of n bytes, NULs among them; text may be NULL only where n is 0. */
char *bi_arena_strndup(struct bi_arena *arena, const char *text, size_t n);
/* Gives the whole text, whatever its length. NULL also where the format fails. */
char *bi_arena_printf(struct bi_arena *arena, const char *fmt, ...) BI_PRINTF(2, 3);
/* Frees everything; the arena may be used again. A zeroed arena is fine. */
void bi_arena_reset(struct bi_arena *arena);
/* The same, but memory of common size stays with the arena, for as much to be taken again. */
void bi_arena_rewind(struct bi_arena *arena);

#endif

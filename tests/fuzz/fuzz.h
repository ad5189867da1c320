/* fuzz.h - what the fuzz targets share. A target defines LLVMFuzzerTestOneInput(); it
 * is linked with libFuzzer (-Dfuzz=true, run.sh) or with replay.c, which feeds it
 * files. */
#ifndef BI_FUZZ_H
#define BI_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../loaders/checkpoint.h"

#if defined(__has_feature) /* clang; gcc says it by a macro */
#if __has_feature(address_sanitizer)
#define FUZZ_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FUZZ_ASAN 1
#endif
#ifdef FUZZ_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Large blocks that a target keeps from one input to the next: the address sanitizer maps and
 * unmaps each, which takes longer than most inputs. Bytes behind the size that was asked for, and
 * all bytes of a block that is free, are poisoned. One thread at a time uses a pool. */
enum { FUZZ_POOL = 16, FUZZ_POOL_FROM = 1 << 14 };
struct fuzz_pool {
    struct {
        uint8_t *block;
        size_t capacity;
        bool used;
    } kept[FUZZ_POOL];
};

static inline void *fuzz_pool_alloc(void *user, size_t size)
{
    struct fuzz_pool *pool = user;
    struct bi_env env = bi_env_default();
    int best = -1, empty = -1;
    for (int i = 0; size >= FUZZ_POOL_FROM && i < FUZZ_POOL; i++) {
        if (!pool->kept[i].block)
            empty = i;
        else if (!pool->kept[i].used && pool->kept[i].capacity >= size &&
                 pool->kept[i].capacity <= 2 * size)
            best = i;
    }
    if (best < 0 && empty >= 0 && size >= FUZZ_POOL_FROM &&
        (pool->kept[empty].block = env.alloc(NULL, size))) {
        best = empty;
        pool->kept[best].capacity = size;
    }
    if (best < 0)
        return env.alloc(NULL, size);
    pool->kept[best].used = true;
    ASAN_POISON_MEMORY_REGION(pool->kept[best].block, pool->kept[best].capacity);
    ASAN_UNPOISON_MEMORY_REGION(pool->kept[best].block, size);
    return pool->kept[best].block;
}

static inline void fuzz_pool_free(void *user, void *block)
{
    struct fuzz_pool *pool = user;
    struct bi_env env = bi_env_default();
    for (int i = 0; block && i < FUZZ_POOL; i++)
        if (pool->kept[i].block == block) {
            if (!pool->kept[i].used)
                abort(); /* freed twice */
            pool->kept[i].used = false;
            ASAN_POISON_MEMORY_REGION(block, pool->kept[i].capacity);
            return;
        }
    env.free(NULL, block);
}

static inline struct bi_env fuzz_pool_env(struct fuzz_pool *pool)
{
    return (struct bi_env){.alloc = fuzz_pool_alloc, .free = fuzz_pool_free, .alloc_user = pool};
}

/* Ends the process when a block is still in use behind an input: it leaked. */
static inline void fuzz_pool_check(const struct fuzz_pool *pool)
{
    for (int i = 0; i < FUZZ_POOL; i++)
        if (pool->kept[i].used)
            abort();
}

/* Reads what a checkpoint offers, the way an engine and `bioinfer info` would. */
static inline void fuzz_use_checkpoint(struct bi_checkpoint *cp)
{
    struct bi_buf text = {.env = cp->env};
    float values[64];
    for (size_t i = 0; i < cp->n_tensors; i++) {
        const struct bi_tensor *t = &cp->tensors[i];
        uint64_t n = t->n_elements < 64 ? t->n_elements : 64;
        if (bi_checkpoint_find(cp, t->name) != t)
            abort();
        bi_tensor_read_f32(cp, t, 0, n, values, NULL);
        bi_tensor_read_f32(cp, t, t->n_elements - n, n, values, NULL);
    }
    bi_checkpoint_print(cp, &text);
    bi_buf_free(&text);
}

/* One weight file. A refusal must come with words; data behind a checkpoint that opened
 * must all be readable. */
static inline int fuzz_weights(const char *name, const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_checkpoint *cp = NULL;
    struct bi_checkpoint_options options = {.verify = size & 1};
    int st = bi_checkpoint_open_memory(&cp, &env, name, data, size, &options, &err);
    if (st ? cp || !err.text[0] || err.status != st : !cp)
        abort();
    if (cp)
        fuzz_use_checkpoint(cp);
    bi_checkpoint_close(&cp);
    return 0;
}

#endif

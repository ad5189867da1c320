/* base.h - status, memory, logging and checked sizes: what every file here starts with.
 *
 * struct bi_env carries what a context gives to everything below it: allocator, log
 * callback, fault injection. It is passed by pointer and never global.
 *
 * Rules that hold for functions of all folders, unless a comment says otherwise:
 *  - A function that takes an err gives 0 or a negative status, whose words *err holds then; err
 *    may be NULL. NOMEM is possible wherever memory is taken, and is not listed for each.
 *  - After a failure, what an out-parameter points to is not to be read, and holds nothing that is
 *    to be freed.
 *  - bi_..._close(T **) and bi_..._free(T **) accept a pointer to NULL, and leave NULL there. The
 *    pointer itself must not be NULL, and nor may any other.
 *  - Any thread may call a function, but an object belongs to one thread at a time. */
#ifndef BI_BASE_H
#define BI_BASE_H

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../include/bioinfer.h"

#define BI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define BI_COUNT(array) (sizeof(array) / sizeof((array)[0])) /* elements; an array, no pointer */
#define BI_ALIGN 64 /* bytes: every allocation, tensor and buffer starts at a multiple */

/* ---- fault injection and environment ---- */

enum bi_fault {
    BI_FAULT_ALLOC,
    BI_FAULT_OPEN,
    BI_FAULT_READ,
    BI_FAULT_LIST, /* the next name of a folder */
    BI_FAULT_WRITE,
    BI_FAULT_SYNC,
    BI_FAULT_RENAME,
    BI_FAULT_COUNT
};

/* A context gives this to all below it; its functions may be called from several threads. */
struct bi_env {
    void *(*alloc)(void *user, size_t size);
    void (*free)(void *user, void *ptr);
    void *alloc_user;
    void (*log)(void *user, int level, const char *text);
    void *log_user;
    struct bi_named *named; /* hears what is named (named.h); NULL = nobody does */
    struct bi_team *team;   /* threads that share work (team.h); NULL = the caller works alone */
    /* Tests only: returns 0 or the errno with which call number n of `kind` fails. */
    int (*fault)(void *user, enum bi_fault kind);
    void *fault_user;
};

/* An environment over malloc, silent, with no team: all work is done by the caller. */
struct bi_env bi_env_default(void);

/* Logs a line through the context's callback, on this thread and whatever the level, cut to 1,023
 * bytes; without a callback nothing. With or without one, `named` hears what results do not follow:
 * BIOINFER_LOG_NAMED and BIOINFER_LOG_ERROR. */
void bi_log(const struct bi_env *env, int level, const char *fmt, ...) BI_PRINTF(3, 4);

/* ---- errors: the one place that fills a struct bioinfer_error ---- */

/* Returns `status`. A text longer than the buffer loses its middle, where "..." stands then. err
 * may be NULL, and arguments may point into err->text. */
int bi_fail(struct bioinfer_error *err, int status, const char *fmt, ...) BI_PRINTF(3, 4);
/* The word of a status ("ok", "bad_residue", ...), "unknown" for none of ours. */
const char *bi_status_name(int status);
/* The status of an errno: ENOMEM -> NOMEM, ENOSPC/EDQUOT/EFBIG -> NO_SPACE, EPIPE ->
 * CLOSED_PIPE, ENOENT/ENOTDIR -> NOT_FOUND, else IO, for 0 too. */
int bi_status_from_errno(int error);
/* bi_fail with ": strerror" appended, cut where the text leaves no room; the status, which is
 * returned, is that of the errno. Thread-safe. */
int bi_fail_errno(struct bioinfer_error *err, int error, const char *fmt, ...) BI_PRINTF(3, 4);

/* ---- memory ---- */

/* 64-byte aligned; NULL when there is none (or the fault hook says so). size 0 gives a
 * valid pointer. bi_free accepts NULL. */
void *bi_alloc(const struct bi_env *env, size_t size);
void *bi_zalloc(const struct bi_env *env, size_t size); /* zeroed */
/* Zeroed, n * size bytes; NULL also where the product overflows. */
void *bi_calloc(const struct bi_env *env, size_t n, size_t size);
void bi_free(const struct bi_env *env, void *ptr);
/* A copy, to be freed by bi_free() of the same env, or NULL; text must not be NULL. */
char *bi_strdup(const struct bi_env *env, const char *text);
/* Grows *array (elements of elem_size) to hold at least n: *cap is doubled from 8 on, and new ones
 * are not zeroed. array: the address of a T *, which may be NULL with *cap 0, and stays so where n
 * is 0. False: no memory, or too many bytes; then *array and *cap are untouched. */
bool bi_grow(const struct bi_env *env, void *array, size_t *cap, size_t n, size_t elem_size);

/* ---- checked sizes: false on overflow, *out untouched ---- */

/* a * b. */
static inline bool bi_mul_size(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* a + b. */
static inline bool bi_add_size(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* Rounds a up to a multiple of `align`, a power of two. */
static inline bool bi_round_size(uint64_t a, uint64_t align, uint64_t *out)
{
    uint64_t r;
    if (!bi_add_size(a, align - 1, &r))
        return false;
    *out = r & ~(align - 1);
    return true;
}

/* True when [off, off + len) lies inside [0, size). */
static inline bool bi_range_ok(uint64_t off, uint64_t len, uint64_t size)
{
    return off <= size && len <= size - off;
}

/* The little-endian number in 2 bytes at any address. */
static inline uint16_t bi_le16(const void *p)
{
    const uint8_t *b = p;
    return (uint16_t)(b[0] | b[1] << 8);
}

/* The same of 4 bytes. */
static inline uint32_t bi_le32(const void *p)
{
    const uint8_t *b = p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The same of 8 bytes. */
static inline uint64_t bi_le64(const void *p)
{
    return (uint64_t)bi_le32(p) | (uint64_t)bi_le32((const uint8_t *)p + 4) << 32;
}

/* ---- text and time ---- */

/* Says whether text ends with `end`: it ends with itself and with "". NULL ends with nothing. */
bool bi_ends_with(const char *text, const char *end);
double bi_now(void); /* seconds, monotonic */

/* ---- half precision ---- */

/* Rounds to nearest even; 65520 and more becomes infinity, NaN stays NaN. */
uint16_t bi_f32_to_f16(float f);
/* The exact float of a float16, and of a bfloat16; NaN and infinities stay. Without branches, so
 * that a loop of it becomes vectors. */
static inline float bi_f16_to_f32(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, abs = h & 0x7FFF;
    const uint32_t small = -(uint32_t)(abs < 0x400), huge = -(uint32_t)(abs >= 0x7C00);
    union {
        float f;
        uint32_t u;
    } denormal = {.f = (float)(int32_t)abs * 0x1p-24f}, v; /* exact */
    v.u = sign | (denormal.u & small) | (((abs << 13) + 0x38000000 + (huge & 0x38000000)) & ~small);
    return v.f;
}
static inline float bi_bf16_to_f32(uint16_t h)
{
    union {
        uint32_t u;
        float f;
    } v = {.u = (uint32_t)h << 16};
    return v.f;
}

#endif

/* base.c - environment, errors, memory and half precision. */
#define _GNU_SOURCE
#include "base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "named.h"

static void *default_alloc(void *user, size_t size)
{
    (void)user;
    void *p = NULL;
    return posix_memalign(&p, BI_ALIGN, size ? size : 1) ? NULL : p;
}

static void default_free(void *user, void *ptr)
{
    (void)user;
    free(ptr);
}

struct bi_env bi_env_default(void)
{
    return (struct bi_env){.alloc = default_alloc, .free = default_free};
}

void bi_log(const struct bi_env *env, int level, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    const bool hears = env->named && (level == BIOINFER_LOG_NAMED || level == BIOINFER_LOG_ERROR);
    if (!env->log && !hears)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (hears)
        bi_named_hear(env->named, text);
    if (env->log)
        env->log(env->log_user, level, text);
}

/* A text that is too long loses its middle: files are named at its beginning, reasons and the
 * last folders of a path stand at its end. */
static void set_text(struct bioinfer_error *err, const char *fmt, va_list ap)
{
    char all[8192];
    int written = vsnprintf(all, sizeof all, fmt, ap);
    size_t room = sizeof err->text, head = room / 2, n, tail;
    n = written < 0 ? 0 : (size_t)written < sizeof all ? (size_t)written : sizeof all - 1;
    if (written < 0)
        all[0] = '\0';
    if (n < room) {
        memcpy(err->text, all, n + 1);
        return;
    }
    while (((unsigned char)all[head] & 0xC0) == 0x80)
        head--; /* not within a character of UTF-8 */
    tail = n + 1 - (room - head - 3);
    while (((unsigned char)all[tail] & 0xC0) == 0x80)
        tail++;
    memcpy(err->text, all, head);
    memcpy(err->text + head, "...", 3);
    memcpy(err->text + head + 3, all + tail, n + 1 - tail);
}

int bi_fail(struct bioinfer_error *err, int status, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        err->status = status;
        va_start(ap, fmt);
        set_text(err, fmt, ap);
        va_end(ap);
    }
    return status;
}

const char *bi_status_name(int status)
{
    switch (status) {
#define BI_X(name, value, word)                                                                    \
    case value:                                                                                    \
        return word;
        BIOINFER_STATUS_LIST(BI_X)
#undef BI_X
    }
    return "unknown";
}

int bi_status_from_errno(int error)
{
    switch (error) {
    case ENOMEM:
    case EMFILE: /* the process is short of them, as of memory: the file is not at fault */
    case ENFILE:
        return BIOINFER_NOMEM;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return BIOINFER_NO_SPACE;
    case EPIPE:
        return BIOINFER_CLOSED_PIPE;
    case ENOENT:
    case ENOTDIR:
        return BIOINFER_NOT_FOUND;
    default:
        return BIOINFER_IO;
    }
}

int bi_fail_errno(struct bioinfer_error *err, int error, const char *fmt, ...)
{
    int status = bi_status_from_errno(error);
    if (err) {
        char reason[96] = "";
        va_list ap;
        size_t n;
        err->status = status;
        va_start(ap, fmt);
        set_text(err, fmt, ap);
        va_end(ap);
        n = strlen(err->text);
        snprintf(err->text + n, sizeof err->text - n, ": %s",
                 strerror_r(error, reason, sizeof reason));
    }
    return status;
}

void *bi_alloc(const struct bi_env *env, size_t size)
{
    if (env->fault && env->fault(env->fault_user, BI_FAULT_ALLOC))
        return NULL;
    return env->alloc(env->alloc_user, size ? size : 1);
}

void *bi_zalloc(const struct bi_env *env, size_t size)
{
    void *p = bi_alloc(env, size);
    if (p)
        memset(p, 0, size);
    return p;
}

void *bi_calloc(const struct bi_env *env, size_t n, size_t size)
{
    uint64_t total;
    if (!bi_mul_size(n, size, &total) || total > SIZE_MAX)
        return NULL;
    return bi_zalloc(env, (size_t)total);
}

void bi_free(const struct bi_env *env, void *ptr)
{
    if (ptr)
        env->free(env->alloc_user, ptr);
}

char *bi_strdup(const struct bi_env *env, const char *text)
{
    size_t n = strlen(text) + 1;
    char *p = bi_alloc(env, n);
    if (p)
        memcpy(p, text, n);
    return p;
}

bool bi_grow(const struct bi_env *env, void *array, size_t *cap, size_t n, size_t elem_size)
{
    void *old, *grown;
    uint64_t want = *cap ? *cap : 8, size;
    memcpy(&old, array, sizeof old); /* array is a T **: read it without aliasing */
    if (n <= *cap)
        return true;
    while (want < n)
        if (!bi_mul_size(want, 2, &want))
            return false;
    if (!bi_mul_size(want, elem_size, &size) || size > SIZE_MAX)
        return false;
    if (!(grown = bi_alloc(env, (size_t)size)))
        return false;
    if (old)
        memcpy(grown, old, *cap * elem_size);
    bi_free(env, old);
    memcpy(array, &grown, sizeof grown);
    *cap = (size_t)want;
    return true;
}

bool bi_ends_with(const char *text, const char *end)
{
    const size_t n = text ? strlen(text) : 0, m = strlen(end);
    return text && n >= m && !strcmp(text + n - m, end);
}

double bi_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint16_t bi_f32_to_f16(float f)
{
    union {
        float f;
        uint32_t u;
    } v = {.f = f};
    uint32_t sign = v.u >> 16 & 0x8000, abs = v.u & 0x7FFFFFFF, r;
    if (abs >= 0x7F800000) /* infinity, or NaN kept as a quiet NaN */
        return (uint16_t)(sign | 0x7C00 | (abs > 0x7F800000 ? 0x200 | (abs >> 13 & 0x3FF) : 0));
    if (abs >= 0x477FF000) /* rounds to beyond 65504 */
        return (uint16_t)(sign | 0x7C00);
    if (abs < 0x38800000) { /* below 2^-14: denormal; let the FPU round at 2^-24 */
        union {
            float f;
            uint32_t u;
        } d = {.u = abs};
        d.f += 0.5f; /* ulp of [0.5, 1) is 2^-24 */
        return (uint16_t)(sign | (d.u - 0x3F000000));
    }
    r = abs + 0xFFF + (abs >> 13 & 1);
    return (uint16_t)(sign | (r - 0x38000000) >> 13);
}

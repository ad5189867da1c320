/* no_memory.c - the one file by which bioinfer-no-memory differs from bioinfer: one of the
 * command's own allocations fails (those of the library: alloc_fail.c). meson.build has the linker
 * send malloc() and its like of all objects here; the library takes its memory elsewhere.
 *
 * Allocations of one place, by the five calls around them, fail alike, so the first one of each
 * place is tried. BIOINFER_NO_MEMORY=N: that of place number N, in order of their first calls.
 * BIOINFER_COUNT_PLACES=FILE: how many places there were, written there when the process exits.
 * BIOINFER_NO_PIPES=1: the process gets no pipe. BIOINFER_NO_NAMES=1: a folder fails behind its
 * third name. BIOINFER_NO_THREADS=1: it gets no thread. BIOINFER_NO_BYTES=1: what is read by
 * fread(), or of a file by read(), fails. A worker process has all it asks for.
 *
 * A file that is closed twice ends the process: in between another thread may have got its number
 * for a file of its own. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
ssize_t __real_getline(char **line, size_t *size, FILE *file);
size_t __real_fread(void *to, size_t size, size_t n, FILE *file);
ssize_t __real_read(int fd, void *to, size_t n);
int __real_pipe2(int *ends, int flags);
struct dirent *__real_readdir64(DIR *folder);
int __real_close(int fd);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *user);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);
ssize_t __wrap_getline(char **line, size_t *size, FILE *file);
size_t __wrap_fread(void *to, size_t size, size_t n, FILE *file);
ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n)
{
    struct stat of;
    if (!getenv("BIOINFER_NO_BYTES") || fstat(fd, &of) || !S_ISREG(of.st_mode))
        return __real_read(fd, to, n);
    errno = EBADF;
    return -1;
}

int __wrap_pipe2(int *ends, int flags);
struct dirent *__wrap_readdir64(DIR *folder);
int __wrap_close(int fd);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *user);

enum { MAX_PLACES = 4096, N_CALLS = 5 };

static struct {
    pthread_mutex_t lock;
    uint64_t of[MAX_PLACES]; /* a hash of the calls around it */
    int n, fails;            /* number of the one that fails; 0 = none */
    const char *told;        /* the file that the count goes to; NULL = none */
} places = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void __attribute__((constructor)) set(void)
{
    const char *number = getenv("BIOINFER_NO_MEMORY");
    void *frame;
    backtrace(&frame, 1); /* the first call takes memory of its own */
    places.fails = number ? atoi(number) : 0;
    places.told = getenv("BIOINFER_COUNT_PLACES");
    unsetenv("BIOINFER_NO_MEMORY"); /* workers see neither */
    unsetenv("BIOINFER_COUNT_PLACES");
}

static void __attribute__((destructor)) say_places(void)
{
    FILE *f = places.told ? fopen(places.told, "w") : NULL;
    if (!f)
        return;
    fprintf(f, "%d\n", places.n);
    fclose(f);
}

/* Whether this allocation is the one that fails. */
static __attribute__((noinline)) bool fails(void)
{
    void *frames[N_CALLS + 2];
    uint64_t hash = 0xcbf29ce484222325u;
    bool known = false, is_it;
    int n;
    if (!places.fails && !places.told)
        return false;
    n = backtrace(frames, N_CALLS + 2);
    for (int i = 2; i < n; i++) /* behind this function and the one that stands for malloc() */
        hash = (hash ^ (uintptr_t)frames[i]) * 0x100000001B3u;
    pthread_mutex_lock(&places.lock);
    for (int i = 0; !known && i < places.n; i++)
        known = places.of[i] == hash;
    if (!known && places.n == MAX_PLACES)
        abort();
    if (!known)
        places.of[places.n++] = hash;
    is_it = !known && places.n == places.fails;
    pthread_mutex_unlock(&places.lock);
    if (is_it)
        errno = ENOMEM;
    return is_it;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
    return fails() ? NULL : __real_strndup(text, n);
}

ssize_t __wrap_getline(char **line, size_t *size, FILE *file)
{
    return fails() ? -1 : __real_getline(line, size, file);
}

/* Puts a file that cannot be read in the place of the one that is. */
size_t __wrap_fread(void *to, size_t size, size_t n, FILE *file)
{
    const int fd = getenv("BIOINFER_NO_BYTES") ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    /* fflush() drops what fseek() has read ahead */
    if (fd >= 0 && (fflush(file) || dup2(fd, fileno(file)) < 0 || close(fd)))
        abort();
    return __real_fread(to, size, n, file);
}

int __wrap_pipe2(int *ends, int flags)
{
    if (!getenv("BIOINFER_NO_PIPES"))
        return __real_pipe2(ends, flags);
    errno = EMFILE;
    return -1;
}

/* Meson has files of any size everywhere, so this is what readdir() is called. */
struct dirent *__wrap_readdir64(DIR *folder)
{
    static int n;
    if (!getenv("BIOINFER_NO_NAMES") || n++ < 3)
        return __real_readdir64(folder);
    errno = EIO;
    return NULL;
}

int __wrap_close(int fd)
{
    const int st = __real_close(fd);
    if (st && errno == EBADF) {
        fprintf(stderr, "no_memory.c: file %d is closed, and it is not open\n", fd);
        abort();
    }
    return st;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *user)
{
    return getenv("BIOINFER_NO_THREADS") ? EAGAIN
                                         : __real_pthread_create(thread, attr, start, user);
}

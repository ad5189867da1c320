/* file.c - reading files by position, writing them so that they appear whole or not. */
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUT_BUFFER_SIZE = 1 << 18 };

/* 0, or the errno a test wants this call to fail with. */
static int fault(const struct bi_env *env, enum bi_fault kind)
{
    return env->fault ? env->fault(env->fault_user, kind) : 0;
}

static int open_fd(const struct bi_env *env, const char *path, int flags, int *fd)
{
    int e = fault(env, BI_FAULT_OPEN);
    if (e)
        return e;
    do
        *fd = open(path, flags | O_CLOEXEC, 0666);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? errno : 0;
}

static int sync_fd(const struct bi_env *env, int fd)
{
    int e = fault(env, BI_FAULT_SYNC);
    if (e)
        return e;
    /* a failed fsync is final; EINVAL and EROFS mean the file cannot be synced at all */
    return fsync(fd) && errno != EINVAL && errno != EROFS ? errno : 0;
}

/* ---- reading ---- */

int bi_file_open(struct bi_file *file, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err)
{
    struct bi_file f = BI_FILE_NONE;
    struct stat st;
    int e, status;
    *file = f;
    f.env = env;
    if (!(f.path = bi_strdup(env, path)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
    /* O_NONBLOCK: opening a FIFO must not wait for a writer; no effect on regular files */
    if ((e = open_fd(env, path, O_RDONLY | O_NONBLOCK, &f.fd))) {
        status = bi_fail_errno(err, e, "%s: cannot open", path);
        goto fail;
    }
    if (fstat(f.fd, &st)) {
        status = bi_fail_errno(err, errno, "%s: cannot stat", path);
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        status = bi_fail(err, BIOINFER_IO, "%s: expected a regular file, got a %s", path,
                         S_ISDIR(st.st_mode) ? "folder" : "device or pipe");
        goto fail;
    }
    f.size = (uint64_t)st.st_size;
    *file = f;
    return 0;
fail:
    bi_file_close(&f);
    return status;
}

int bi_file_from_memory(struct bi_file *file, const struct bi_env *env, const char *name,
                        const void *bytes, size_t size, struct bioinfer_error *err)
{
    *file = (struct bi_file){.env = env, .fd = -1, .size = size};
    file->memory = size ? bytes : (const void *)"";
    if (!(file->path = bi_strdup(env, name)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", name);
    return 0;
}

int bi_file_read(const struct bi_file *file, uint64_t offset, void *dst, size_t n,
                 struct bioinfer_error *err)
{
    size_t done = 0;
    if (!bi_range_ok(offset, n, file->size))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: expected %zu bytes at offset %llu, file has %llu bytes",
                       file->path, n, (unsigned long long)offset,
                       (unsigned long long)file->size);
    if (file->memory) {
        memcpy(dst, file->memory + offset, n);
        return 0;
    }
    while (done < n) {
        int e = fault(file->env, BI_FAULT_READ);
        ssize_t got = -1;
        if (!e) {
            got = pread(file->fd, (char *)dst + done, n - done, (off_t)(offset + done));
            e = got < 0 ? errno : 0;
        }
        if (e == EINTR)
            continue;
        if (e)
            return bi_fail_errno(err, e, "%s: read at offset %llu", file->path,
                                 (unsigned long long)(offset + done));
        if (!got)
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: file shrank while being read: expected %zu bytes at offset "
                           "%llu, got %zu", file->path, n, (unsigned long long)offset, done);
        done += (size_t)got;
    }
    return 0;
}

void bi_file_close(struct bi_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->env)
        bi_free(file->env, file->path);
    *file = BI_FILE_NONE;
}

int bi_file_slurp(const struct bi_env *env, const char *path, uint64_t cap, char **out,
                  size_t *size, struct bioinfer_error *err)
{
    struct bi_file f = BI_FILE_NONE;
    char *text = NULL;
    int st = bi_file_open(&f, env, path, err);
    if (st)
        goto out;
    if (f.size > cap) {
        st = bi_fail(err, BIOINFER_LIMIT, "%s: %llu bytes, at most %llu are read", path,
                     (unsigned long long)f.size, (unsigned long long)cap);
        goto out;
    }
    if (!(text = bi_alloc(env, (size_t)f.size + 1))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: %llu bytes of text", path,
                     (unsigned long long)f.size);
        goto out;
    }
    if ((st = bi_file_read(&f, 0, text, (size_t)f.size, err)))
        goto out;
    text[f.size] = '\0';
    *out = text;
    *size = (size_t)f.size;
    text = NULL;
out:
    bi_free(env, text);
    bi_file_close(&f);
    return st;
}

bool bi_path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool bi_path_is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int bi_path_real(char **out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return bi_fail_errno(err, errno, "%s: cannot follow links", path);
    if (!(*out = bi_strdup(env, real)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
    return 0;
}

/* ---- streams ---- */

int bi_stream_open(struct bi_stream *stream, const struct bi_env *env, const char *path,
                   struct bioinfer_error *err)
{
    struct bi_stream s = {.env = env, .fd = -1};
    struct stat st;
    int e, status;
    bool is_stdin = !strcmp(path, "-");
    *stream = BI_STREAM_NONE;
    if (!(s.path = bi_strdup(env, is_stdin ? "standard input" : path)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
    if (is_stdin) {
        s.fd = STDIN_FILENO;
    } else if ((e = open_fd(env, path, O_RDONLY, &s.fd))) {
        status = bi_fail_errno(err, e, "%s: cannot open", path);
        goto fail;
    }
    s.owned = !is_stdin;
    if (fstat(s.fd, &st)) {
        status = bi_fail_errno(err, errno, "%s: cannot stat", s.path);
        goto fail;
    }
    if (S_ISDIR(st.st_mode)) {
        status = bi_fail(err, BIOINFER_IO, "%s: expected a file, got a folder", s.path);
        goto fail;
    }
    if (S_ISREG(st.st_mode))
        s.size = (uint64_t)st.st_size;
    *stream = s;
    return 0;
fail:
    bi_stream_close(&s);
    return status;
}

int bi_stream_from_memory(struct bi_stream *stream, const struct bi_env *env,
                          const char *name, const void *bytes, size_t size,
                          struct bioinfer_error *err)
{
    *stream = (struct bi_stream){.env = env, .fd = -1, .size = size};
    stream->memory = size ? bytes : (const void *)"";
    if (!(stream->path = bi_strdup(env, name)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", name);
    return 0;
}

int bi_stream_read(struct bi_stream *stream, void *dst, size_t n, size_t *got,
                   struct bioinfer_error *err)
{
    ssize_t r;
    if (stream->memory) {
        uint64_t left = stream->size - stream->done;
        *got = left < n ? (size_t)left : n;
        memcpy(dst, stream->memory + stream->done, *got);
        stream->done += *got;
        return 0;
    }
    for (;;) {
        int e = fault(stream->env, BI_FAULT_READ);
        r = -1;
        if (!e) {
            r = read(stream->fd, dst, n);
            e = r < 0 ? errno : 0;
        }
        if (e == EINTR)
            continue;
        if (e)
            return bi_fail_errno(err, e, "%s: read after %llu bytes", stream->path,
                                 (unsigned long long)stream->done);
        break;
    }
    *got = (size_t)r;
    stream->done += *got;
    return 0;
}

void bi_stream_close(struct bi_stream *stream)
{
    if (stream->owned && stream->fd >= 0)
        close(stream->fd);
    if (stream->env)
        bi_free(stream->env, stream->path);
    *stream = BI_STREAM_NONE;
}

/* ---- writing ---- */

int bi_out_open(struct bi_out *out, const struct bi_env *env, const char *path,
                struct bioinfer_error *err)
{
    struct bi_out o = {.env = env, .fd = -1};
    size_t n = strlen(path) + 32;
    int e, status;
    *out = BI_OUT_NONE;
    o.path = bi_strdup(env, path);
    o.temp = bi_alloc(env, n);
    o.buffer = bi_alloc(env, OUT_BUFFER_SIZE);
    if (!o.path || !o.temp || !o.buffer) {
        status = bi_fail(err, BIOINFER_NOMEM, "%s: output buffer", path);
        goto fail;
    }
    snprintf(o.temp, n, "%s.tmp.%ld", path, (long)getpid());
    if (!strcmp(path, "-")) {
        o.fd = STDOUT_FILENO;
        o.is_stdout = true;
    } else if (bi_path_is_folder(path)) {
        status = bi_fail(err, BIOINFER_IO, "%s: output is a folder", path);
        goto fail;
    } else if ((e = open_fd(env, o.temp, O_RDWR | O_CREAT | O_TRUNC, &o.fd))) {
        status = bi_fail_errno(err, e, "%s: cannot create output", path);
        goto fail;
    }
    *out = o;
    return 0;
fail:
    bi_out_close(&o);
    return status;
}

/* One write of all bytes; SIGPIPE is kept from the process for the time of the call. */
static int write_all(struct bi_out *out, const char *bytes, size_t n,
                     struct bioinfer_error *err)
{
    sigset_t pipe_set, old_set, pending;
    bool was_pending = false, blocked = false;
    int status = 0;
    if (out->is_stdout) {
        sigemptyset(&pipe_set);
        sigaddset(&pipe_set, SIGPIPE);
        was_pending = !sigpending(&pending) && sigismember(&pending, SIGPIPE) == 1;
        blocked = !pthread_sigmask(SIG_BLOCK, &pipe_set, &old_set);
    }
    while (n) {
        int e = fault(out->env, BI_FAULT_WRITE);
        ssize_t r = -1;
        if (!e) {
            r = write(out->fd, bytes, n);
            e = r < 0 ? errno : 0;
        }
        if (e == EINTR)
            continue;
        if (e) {
            status = bi_fail_errno(err, e, "%s: write after %llu bytes",
                                   out->is_stdout ? "standard output" : out->path,
                                   (unsigned long long)out->size);
            break;
        }
        bytes += r;
        n -= (size_t)r;
        out->size += (uint64_t)r;
    }
    if (blocked) {
        if (status == BIOINFER_CLOSED_PIPE && !was_pending) {
            struct timespec now = {0, 0};
            while (sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
                ;
        }
        pthread_sigmask(SIG_SETMASK, &old_set, NULL);
    }
    return status;
}

int bi_out_flush(struct bi_out *out, struct bioinfer_error *err)
{
    size_t n = out->buffered;
    out->buffered = 0;
    out->size -= n; /* counted when gathered; write_all counts what really went out */
    return write_all(out, out->buffer, n, err);
}

int bi_out_write(struct bi_out *out, const void *bytes, size_t n, struct bioinfer_error *err)
{
    int st;
    if (n > OUT_BUFFER_SIZE - out->buffered) {
        if ((st = bi_out_flush(out, err)))
            return st;
        if (n >= OUT_BUFFER_SIZE)
            return write_all(out, bytes, n, err);
    }
    if (n)
        memcpy(out->buffer + out->buffered, bytes, n);
    out->buffered += n;
    out->size += n;
    return 0;
}

int bi_out_patch(struct bi_out *out, uint64_t offset, const void *bytes, size_t n,
                 struct bioinfer_error *err)
{
    int st = bi_out_flush(out, err);
    while (!st && n) {
        int e = fault(out->env, BI_FAULT_WRITE);
        ssize_t r = -1;
        if (!e) {
            r = pwrite(out->fd, bytes, n, (off_t)offset);
            e = r < 0 ? errno : 0;
        }
        if (e == EINTR)
            continue;
        if (e)
            return bi_fail_errno(err, e, "%s: write at offset %llu", out->path,
                                 (unsigned long long)offset);
        bytes = (const char *)bytes + r;
        offset += (uint64_t)r;
        n -= (size_t)r;
    }
    return st;
}

int bi_out_read(struct bi_out *out, uint64_t offset, void *dst, size_t n,
                struct bioinfer_error *err)
{
    int st = bi_out_flush(out, err);
    struct bi_file f = {.env = out->env, .fd = out->fd, .size = out->size, .path = out->path};
    return st ? st : bi_file_read(&f, offset, dst, n, err);
}

static int sync_folder(const struct bi_env *env, const char *path, struct bioinfer_error *err)
{
    char *copy = bi_strdup(env, path);
    int fd = -1, e;
    if (!copy)
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
    if (!(e = open_fd(env, dirname(copy), O_RDONLY | O_DIRECTORY, &fd)))
        e = sync_fd(env, fd);
    if (fd >= 0)
        close(fd);
    bi_free(env, copy);
    return e ? bi_fail_errno(err, e, "%s: sync of its folder", path) : 0;
}

static int rename_over(const struct bi_env *env, const char *from, const char *to,
                       struct bioinfer_error *err)
{
    int e = fault(env, BI_FAULT_RENAME);
    if (!e && rename(from, to))
        e = errno;
    if (e)
        return bi_fail_errno(err, e, "%s: cannot take its final name", to);
    if ((e = sync_folder(env, to, err)))
        unlink(to); /* what may not be there after a crash is not left there now */
    return e;
}

int bi_out_finish(struct bi_out *out, struct bioinfer_error *err)
{
    int e, st = bi_out_flush(out, err);
    if (st || out->is_stdout)
        return st;
    if ((e = sync_fd(out->env, out->fd)))
        return bi_fail_errno(err, e, "%s: sync", out->path);
    e = close(out->fd) ? errno : 0;
    out->fd = -1;
    if (e && e != EINTR)
        return bi_fail_errno(err, e, "%s: close", out->path);
    if ((st = rename_over(out->env, out->temp, out->path, err)))
        return st;
    bi_free(out->env, out->temp);
    out->temp = NULL;
    return 0;
}

void bi_out_close(struct bi_out *out)
{
    if (out->fd >= 0 && !out->is_stdout)
        close(out->fd);
    if (out->env) {
        if (out->temp && !out->is_stdout)
            unlink(out->temp);
        bi_free(out->env, out->temp);
        bi_free(out->env, out->path);
        bi_free(out->env, out->buffer);
    }
    *out = BI_OUT_NONE;
}

int bi_out_rename(const struct bi_env *env, const char *from, const char *to,
                  struct bioinfer_error *err)
{
    int fd = -1, e = open_fd(env, from, O_RDONLY, &fd);
    if (!e)
        e = sync_fd(env, fd);
    if (fd >= 0)
        close(fd);
    if (e)
        return bi_fail_errno(err, e, "%s: sync", from);
    return rename_over(env, from, to, err);
}

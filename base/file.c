/* file.c - reading files by position, writing them so that they appear whole or not. */
#define _GNU_SOURCE
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "map.h"
#include "temp.h"

enum { OUT_BUFFER_SIZE = 1 << 18 };

/* 0, or the errno a test wants this call to fail with. */
static int fault(const struct bi_env *env, enum bi_fault kind)
{
    return env->fault ? env->fault(env->fault_user, kind) : 0;
}

/* O_NONBLOCK opens a FIFO without a wait for its writer, and changes nothing of regular files. */
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

/* All n bytes at `offset`, or an errno. */
static int pwrite_all(const struct bi_env *env, int fd, const char *bytes, size_t n,
                      uint64_t offset)
{
    while (n) {
        int e = fault(env, BI_FAULT_WRITE);
        ssize_t r = -1;
        if (!e) {
            r = pwrite(fd, bytes, n, (off_t)offset);
            e = r < 0 ? errno : 0;
        }
        if (e == EINTR)
            continue;
        if (e)
            return e;
        bytes += r;
        offset += (uint64_t)r;
        n -= (size_t)r;
    }
    return 0;
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
    /* a FIFO is not opened, as its writer would write into what is closed at once */
    if (stat(path, &st) || !S_ISFIFO(st.st_mode)) {
        if ((e = open_fd(env, path, O_RDONLY | O_NONBLOCK, &f.fd))) {
            status = bi_fail_errno(err, e, "%s: cannot open", path);
            goto fail;
        }
        if (fstat(f.fd, &st)) {
            status = bi_fail_errno(err, errno, "%s: cannot stat", path);
            goto fail;
        }
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
                       "%s: expected %zu bytes at offset %llu, file has %llu bytes", file->path, n,
                       (unsigned long long)offset, (unsigned long long)file->size);
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
                           "%llu, got %zu",
                           file->path, n, (unsigned long long)offset, done);
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

uint64_t bi_files_max(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) ? 256 : (uint64_t)limit.rlim_cur;
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

bool bi_path_is_link(const char *path)
{
    struct stat st;
    return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

bool bi_path_is_regular(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

int bi_path_replaceable(const char *path, struct bioinfer_error *err)
{
    if (!bi_path_exists(path) || bi_path_is_regular(path))
        return 0;
    return bi_fail(err, BIOINFER_IO, "%s: output is a %s", path,
                   bi_path_is_folder(path) ? "folder" : "device or pipe");
}

int bi_path_real(char **out, const struct bi_env *env, const char *path, struct bioinfer_error *err)
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

int bi_stream_from_memory(struct bi_stream *stream, const struct bi_env *env, const char *name,
                          const void *bytes, size_t size, struct bioinfer_error *err)
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

int bi_stream_read_at(const struct bi_stream *stream, uint64_t offset, void *dst, size_t n,
                      size_t *got, struct bioinfer_error *err)
{
    *got = 0;
    if (stream->memory) {
        const uint64_t left = offset < stream->size ? stream->size - offset : 0;
        *got = left < n ? (size_t)left : n;
        memcpy(dst, stream->memory + (left ? offset : 0), *got);
        return 0;
    }
    while (*got < n) {
        int e = fault(stream->env, BI_FAULT_READ);
        ssize_t r = -1;
        if (!e) {
            r = pread(stream->fd, (char *)dst + *got, n - *got, (off_t)(offset + *got));
            e = r < 0 ? errno : 0;
        }
        if (e == EINTR)
            continue;
        if (e)
            return bi_fail_errno(err, e, "%s: read at offset %llu", stream->path,
                                 (unsigned long long)(offset + *got));
        if (!r)
            break;
        *got += (size_t)r;
    }
    return 0;
}

int bi_stream_seek(struct bi_stream *stream, uint64_t offset, struct bioinfer_error *err)
{
    if (!stream->memory && lseek(stream->fd, (off_t)offset, SEEK_SET) < 0)
        return bi_fail_errno(err, errno, "%s: seek to offset %llu", stream->path,
                             (unsigned long long)offset);
    stream->done = stream->memory && offset > stream->size ? stream->size : offset;
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
    int e, status;
    *out = BI_OUT_NONE;
    o.path = bi_strdup(env, path);
    o.temp = bi_zalloc(env, strlen(path) + BI_TEMP_SUFFIX);
    o.buffer = bi_alloc(env, OUT_BUFFER_SIZE);
    if (!o.path || !o.temp || !o.buffer) {
        status = bi_fail(err, BIOINFER_NOMEM, "%s: output buffer", path);
        goto fail;
    }
    if (!strcmp(path, "-")) {
        o.fd = STDOUT_FILENO;
        o.is_stdout = true;
    } else if ((status = bi_path_replaceable(path, err))) {
        goto fail;
    } else if ((e = fault(env, BI_FAULT_OPEN)) || (e = bi_temp_file(o.temp, path, &o.fd))) {
        o.temp[0] = '\0'; /* whatever has this name is not ours */
        status = bi_fail_errno(err, e, "%s: cannot create output", path);
        goto fail;
    }
    *out = o;
    return 0;
fail:
    bi_out_close(&o);
    return status;
}

/* Tells the system to begin with what is to be on the disk when the file is finished. A hint: what
 * goes wrong is met by the fsync. */
static void begin_sync(struct bi_out *out)
{
    enum { STEP_SIZE = 32 << 20 };
    if (out->is_stdout || out->sync == BI_SYNC_NONE || out->size - out->begun < STEP_SIZE)
        return;
    sync_file_range(out->fd, (off_t)out->begun, (off_t)(out->size - out->begun),
                    SYNC_FILE_RANGE_WRITE);
    out->begun = out->size;
}

/* One write of all bytes; SIGPIPE is kept from the process for the time of the call. Does nothing
 * after a failure, which it notes. */
static int write_all(struct bi_out *out, const char *bytes, size_t n)
{
    sigset_t pipe_set, old_set, pending;
    bool was_pending = false, blocked = false;
    int status = 0;
    if (out->failure.status)
        return out->failure.status;
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
            status = bi_fail_errno(&out->failure, e, "%s: write after %llu bytes",
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
    begin_sync(out);
    return status;
}

static int flush(struct bi_out *out)
{
    size_t n = out->buffered;
    out->buffered = 0;
    out->size -= n; /* counted when gathered; write_all counts what really went out */
    return write_all(out, out->buffer, n);
}

/* The status of the first failure of this output, 0 = none, and its words. */
static int failure_of(const struct bi_out *out, struct bioinfer_error *err)
{
    if (out->failure.status && err)
        *err = out->failure;
    return out->failure.status;
}

int bi_out_flush(struct bi_out *out, struct bioinfer_error *err)
{
    flush(out);
    return failure_of(out, err);
}

int bi_out_write(struct bi_out *out, const void *bytes, size_t n, struct bioinfer_error *err)
{
    if (out->failure.status)
        return failure_of(out, err);
    if (n > OUT_BUFFER_SIZE - out->buffered) {
        if (flush(out) || n >= OUT_BUFFER_SIZE) {
            write_all(out, bytes, n);
            return failure_of(out, err);
        }
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
    int e;
    if (!flush(out) && (e = pwrite_all(out->env, out->fd, bytes, n, offset)))
        bi_fail_errno(&out->failure, e, "%s: write at offset %llu", out->path,
                      (unsigned long long)offset);
    return failure_of(out, err);
}

int bi_out_read(struct bi_out *out, uint64_t offset, void *dst, size_t n,
                struct bioinfer_error *err)
{
    int st = bi_out_flush(out, err);
    struct bi_file f = {.env = out->env, .fd = out->fd, .size = out->size, .path = out->path};
    return st ? st : bi_file_read(&f, offset, dst, n, err);
}

int bi_folder_sync_of(const struct bi_env *env, const char *path, struct bioinfer_error *err)
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

int bi_path_rename(const struct bi_env *env, const char *from, const char *to,
                   struct bioinfer_error *err)
{
    int e = fault(env, BI_FAULT_RENAME);
    if (!e && rename(from, to))
        e = errno;
    return e ? bi_fail_errno(err, e, "%s: cannot take its final name", to) : 0;
}

int bi_path_rename_new(const struct bi_env *env, const char *from, const char *to,
                       struct bioinfer_error *err)
{
    int e = fault(env, BI_FAULT_RENAME);
    if (!e && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
        e = errno;
    if (e == EINVAL || e == ENOSYS) /* a file system, or a system, that does not know it */
        e = !bi_path_exists(to) && !bi_path_is_link(to) ? rename(from, to) ? errno : 0 : EEXIST;
    return e ? bi_fail_errno(err, e, "%s: cannot take its final name", to) : 0;
}

static int rename_over(const struct bi_env *env, const char *from, const char *to,
                       struct bioinfer_error *err)
{
    int e = bi_path_rename(env, from, to, err);
    if (e)
        return e;
    if ((e = bi_folder_sync_of(env, to, err)))
        unlink(to); /* a file that may be gone after a crash is not left there now */
    return e;
}

/* All of bi_out_finish() for a file behind the flush. */
static int take_name(struct bi_out *out, struct bioinfer_error *err)
{
    int e, st;
    if (out->sync != BI_SYNC_NONE && (e = sync_fd(out->env, out->fd)))
        return bi_fail_errno(err, e, "%s: sync", out->path);
    e = close(out->fd) ? errno : 0;
    out->fd = -1;
    if (e && e != EINTR)
        return bi_fail_errno(err, e, "%s: close", out->path);
    if ((st = out->sync == BI_SYNC_ALL ? rename_over(out->env, out->temp, out->path, err)
                                       : bi_path_rename(out->env, out->temp, out->path, err)))
        return st;
    bi_free(out->env, out->temp);
    out->temp = NULL;
    return 0;
}

int bi_out_finish(struct bi_out *out, struct bioinfer_error *err)
{
    if (!flush(out) && !out->is_stdout)
        take_name(out, &out->failure);
    return failure_of(out, err);
}

void bi_out_close(struct bi_out *out)
{
    if (out->fd >= 0 && !out->is_stdout)
        close(out->fd);
    if (out->env) {
        if (out->temp && out->temp[0])
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

/* ---- files that grow at their end ---- */

int bi_append_open(struct bi_append *file, const struct bi_env *env, const char *path,
                   bool read_only, struct bioinfer_error *err)
{
    struct bi_append a = {.env = env, .fd = -1};
    struct stat st;
    int e, status;
    *file = BI_APPEND_NONE;
    a.path = bi_strdup(env, path);
    a.buffer = bi_alloc(env, OUT_BUFFER_SIZE);
    if (!a.path || !a.buffer) {
        status = bi_fail(err, BIOINFER_NOMEM, "%s: buffer", path);
        goto fail;
    }
    e = open_fd(env, path, (read_only ? O_RDONLY : O_RDWR | O_CREAT) | O_NOFOLLOW | O_NONBLOCK,
                &a.fd);
    if (!e && fstat(a.fd, &st))
        e = errno;
    if (e) {
        status = bi_fail_errno(err, e, "%s: cannot open", path);
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        status = bi_fail(err, BIOINFER_IO, "%s: expected a regular file", path);
        goto fail;
    }
    a.size = (uint64_t)st.st_size;
    *file = a;
    return 0;
fail:
    bi_append_close(&a);
    return status;
}

static int append_out(struct bi_append *file, const char *bytes, size_t n, uint64_t offset,
                      struct bioinfer_error *err)
{
    int e = pwrite_all(file->env, file->fd, bytes, n, offset);
    return e ? bi_fail_errno(err, e, "%s: write at offset %llu", file->path,
                             (unsigned long long)offset)
             : 0;
}

int bi_append_flush(struct bi_append *file, struct bioinfer_error *err)
{
    size_t n = file->buffered;
    int st = append_out(file, file->buffer, n, file->size - n, err);
    if (!st)
        file->buffered = 0;
    return st;
}

int bi_append_write(struct bi_append *file, const void *bytes, size_t n, struct bioinfer_error *err)
{
    int st;
    if (n > OUT_BUFFER_SIZE - file->buffered) {
        if ((st = bi_append_flush(file, err)))
            return st;
        if (n >= OUT_BUFFER_SIZE) {
            if (!(st = append_out(file, bytes, n, file->size, err)))
                file->size += n;
            return st;
        }
    }
    if (n)
        memcpy(file->buffer + file->buffered, bytes, n);
    file->buffered += n;
    file->size += n;
    return 0;
}

int bi_append_sync(struct bi_append *file, struct bioinfer_error *err)
{
    int e, st = bi_append_flush(file, err);
    if (st)
        return st;
    if (!(e = fault(file->env, BI_FAULT_SYNC)) && fdatasync(file->fd) && errno != EINVAL &&
        errno != EROFS)
        e = errno;
    return e ? bi_fail_errno(err, e, "%s: sync", file->path) : 0;
}

int bi_append_read(const struct bi_append *file, uint64_t offset, void *dst, size_t n,
                   struct bioinfer_error *err)
{
    struct bi_file f = {
        .env = file->env, .fd = file->fd, .size = file->size - file->buffered, .path = file->path};
    return bi_file_read(&f, offset, dst, n, err);
}

int bi_append_cut(struct bi_append *file, uint64_t size, struct bioinfer_error *err)
{
    int e;
    file->buffered = 0;
    do
        e = (e = fault(file->env, BI_FAULT_WRITE)) ? e
            : ftruncate(file->fd, (off_t)size)     ? errno
                                                   : 0;
    while (e == EINTR);
    file->size = size;
    return e ? bi_fail_errno(err, e, "%s: cut to %llu bytes", file->path, (unsigned long long)size)
             : 0;
}

void bi_append_park(struct bi_append *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

int bi_append_wake(struct bi_append *file, struct bioinfer_error *err)
{
    int e = file->fd >= 0
                ? 0
                : open_fd(file->env, file->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, &file->fd);
    return e ? bi_fail_errno(err, e, "%s: cannot open again", file->path) : 0;
}

void bi_append_close(struct bi_append *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->env) {
        bi_free(file->env, file->path);
        bi_free(file->env, file->buffer);
    }
    *file = BI_APPEND_NONE;
}

/* ---- folders ---- */

int bi_folder_make(const struct bi_env *env, const char *path, struct bioinfer_error *err)
{
    int e = fault(env, BI_FAULT_OPEN);
    if (!e && mkdir(path, 0777) && !(errno == EEXIST && bi_path_is_folder(path)))
        e = errno;
    return e ? bi_fail_errno(err, e, "%s: cannot make this folder", path) : 0;
}

int bi_folder_make_temp(char *temp, const struct bi_env *env, const char *path,
                        struct bioinfer_error *err)
{
    int e = fault(env, BI_FAULT_OPEN);
    if (!e)
        e = bi_temp_folder(temp, path);
    return e ? bi_fail_errno(err, e, "%s: cannot make a folder beside it", path) : 0;
}

int bi_folder_list(const struct bi_env *env, const char *path,
                   int (*each)(void *user, const char *name), void *user,
                   struct bioinfer_error *err)
{
    int st = 0, e = fault(env, BI_FAULT_OPEN);
    DIR *d = e ? NULL : opendir(path);
    if (!d)
        return bi_fail_errno(err, e ? e : errno, "%s: cannot read this folder", path);
    while (!st && !e) {
        const struct dirent *entry = NULL;
        if (!(e = fault(env, BI_FAULT_LIST))) {
            errno = 0; /* a failure and the end differ by it alone */
            entry = readdir(d);
            e = entry ? 0 : errno;
        }
        if (!entry)
            break;
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            st = each(user, entry->d_name);
    }
    closedir(d);
    return e ? bi_fail_errno(err, e, "%s: cannot read this folder to its end", path) : st;
}

int bi_folder_sync_all(const struct bi_env *env, const char *path, struct bioinfer_error *err)
{
    int fd = -1, e = open_fd(env, path, O_RDONLY | O_DIRECTORY, &fd);
    if (!e && !(e = fault(env, BI_FAULT_SYNC)) && syncfs(fd))
        e = errno;
    if (fd >= 0)
        close(fd);
    return e ? bi_fail_errno(err, e, "%s: sync", path) : 0;
}

struct removal {
    const struct bi_env *env;
    const char *folder;
    int depth;
};

static void remove_all(const struct bi_env *env, const char *path, int depth);

static int remove_entry(void *user, const char *name)
{
    const struct removal *r = user;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", r->folder, name);
    if (n > 0 && (size_t)n < sizeof path && unlink(path) && r->depth < 2)
        remove_all(r->env, path, r->depth + 1);
    return 0;
}

static void remove_all(const struct bi_env *env, const char *path, int depth)
{
    struct removal r = {env, path, depth};
    bi_folder_list(env, path, remove_entry, &r, NULL);
    rmdir(path);
}

void bi_folder_remove(const struct bi_env *env, const char *path)
{
    if (unlink(path)) /* a link is gone by that */
        remove_all(env, path, 0);
}

void bi_folder_remove_empty(const char *path)
{
    rmdir(path);
}

void bi_path_remove(const char *path)
{
    unlink(path);
}

int bi_lock_take(int *fd, const struct bi_env *env, const char *path, struct bioinfer_error *err)
{
    struct stat here, there;
    int e;
    for (;;) {
        *fd = -1;
        if ((e = open_fd(env, path, O_RDWR | O_CREAT | O_NOFOLLOW, fd)))
            return bi_fail_errno(err, e, "%s: cannot open", path);
        if (flock(*fd, LOCK_EX | LOCK_NB)) {
            e = errno;
            bi_lock_release(fd);
            if (e == EINTR)
                continue;
            if (e == EWOULDBLOCK)
                return bi_fail(err, BIOINFER_MISUSE, "%s: another job holds this lock", path);
            if (e == ENOLCK || e == EOPNOTSUPP)
                return 0; /* a file system without locks: nothing to wait for */
            return bi_fail_errno(err, e, "%s: cannot lock", path);
        }
        /* the holder before may have removed the file meanwhile */
        if (!fstat(*fd, &here) && !stat(path, &there) && here.st_ino == there.st_ino &&
            here.st_dev == there.st_dev)
            return 0;
        bi_lock_release(fd);
    }
}

void bi_lock_release(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int bi_file_facts(struct bi_file_facts *facts, const struct bi_env *env, const char *path,
                  struct bioinfer_error *err)
{
    enum { PIECE = 1 << 16, N_PIECES = 256 };
    struct bi_file f = BI_FILE_NONE;
    uint64_t hash[2] = {1, 2}, step;
    struct stat s;
    void *piece = NULL;
    bool large;
    int st = bi_file_open(&f, env, path, err);
    if (st)
        return st;
    large = f.size > (uint64_t)PIECE * N_PIECES;
    step = large ? (f.size - PIECE) / (N_PIECES - 1) : PIECE;
    if (!(piece = bi_alloc(env, PIECE)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: a piece of it", path);
    else if (fstat(f.fd, &s))
        st = bi_fail_errno(err, errno, "%s: cannot stat", path);
    for (uint64_t k = 0; !st && k < N_PIECES && k * step < f.size; k++) {
        uint64_t at = large && k == N_PIECES - 1 ? f.size - PIECE : k * step;
        size_t n = f.size - at < PIECE ? (size_t)(f.size - at) : PIECE;
        if (!(st = bi_file_read(&f, at, piece, n, err)))
            for (int i = 0; i < 2; i++)
                hash[i] = bi_hash(piece, n, hash[i]);
    }
    if (!st)
        *facts = (struct bi_file_facts){.size = f.size,
                                        .mtime = (int64_t)s.st_mtim.tv_sec * 1000000000 +
                                                 s.st_mtim.tv_nsec,
                                        .hash = {hash[0], hash[1]}};
    bi_free(env, piece);
    bi_file_close(&f);
    return st;
}

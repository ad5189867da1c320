/* output.c - text results: to standard output, or to a file that appears under its name
 * only when it is complete. */
#define _GNU_SOURCE
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int status_of(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return BIOINFER_NO_SPACE;
    case EPIPE:
        return BIOINFER_CLOSED_PIPE;
    case ENOENT:
    case ENOTDIR:
        return BIOINFER_NOT_FOUND;
    case ENOMEM:
        return BIOINFER_NOMEM;
    }
    return BIOINFER_IO;
}

static int fail(struct bioinfer_error *err, int status, const char *what, int error)
{
    err->status = status;
    snprintf(err->text, sizeof err->text, "%s: %s", what, strerror(error));
    return status;
}

int cli_output_open(struct cli_output *out, const char *path,
                    struct bioinfer_error *err)
{
    struct stat st;
    size_t size;
    int fd;

    *out = (struct cli_output){0};
    if (!path || !strcmp(path, "-")) {
        out->file = stdout;
        return BIOINFER_OK;
    }
    if (!stat(path, &st) && S_ISDIR(st.st_mode))
        return fail(err, BIOINFER_IO, path, EISDIR);
    size = strlen(path) + sizeof ".part.XXXXXX";
    out->path = malloc(size);
    out->part = malloc(size);
    if (!out->path || !out->part) {
        cli_output_close(out);
        return fail(err, BIOINFER_NOMEM, path, ENOMEM);
    }
    strcpy(out->path, path);
    if (!stat(path, &st) &&
        !S_ISREG(st.st_mode)) { /* /dev/null, a fifo: written in place */
        free(out->part);
        out->part = NULL;
        out->file = fopen(path, "w");
    } else {
        snprintf(out->part, size, "%s.part.XXXXXX", path);
        if ((fd = mkstemp(out->part)) >= 0) {
            mode_t mask = umask(0);
            umask(mask);
            fchmod(fd, 0666 & ~mask); /* mkstemp makes it private */
            out->file = fdopen(fd, "w");
        } else {
            free(out->part); /* nothing to remove */
            out->part = NULL;
        }
    }
    if (!out->file) {
        int error = errno;
        cli_output_close(out);
        return fail(err, status_of(error), path, error);
    }
    return BIOINFER_OK;
}

/* Room for n more bytes of gathered text. */
static bool reserve(struct cli_output *out, size_t n)
{
    char *text;
    size_t cap;

    if (n <= out->text_cap - out->n_text)
        return true;
    cap = 2 * out->text_cap + n + 4096;
    if (!(text = realloc(out->text, cap))) {
        out->status = BIOINFER_NOMEM;
        return false;
    }
    out->text = text;
    out->text_cap = cap;
    return true;
}

void cli_output_write(struct cli_output *out, const char *text, size_t len)
{
    if (!len)
        return; /* text may be NULL then */
    if (!out->file && !out->status) {
        if (reserve(out, len)) {
            memcpy(out->text + out->n_text, text, len);
            out->n_text += len;
        }
        return;
    }
    if (!out->status && fwrite(text, 1, len, out->file) != len)
        out->status = status_of(errno);
}

void cli_output_printf(struct cli_output *out, const char *fmt, ...)
{
    va_list args;

    if (out->status)
        return;
    if (!out->file) {
        char *at;
        int n;
        va_start(args, fmt);
        n = vsnprintf(NULL, 0, fmt, args);
        va_end(args);
        if (n < 0 || !reserve(out, (size_t)n + 1))
            return;
        at = out->text + out->n_text;
        va_start(args, fmt);
        vsnprintf(at, (size_t)n + 1, fmt, args);
        va_end(args);
        out->n_text += (size_t)n;
        return;
    }
    va_start(args, fmt);
    if (vfprintf(out->file, fmt, args) < 0)
        out->status = status_of(errno);
    va_end(args);
}

void cli_output_field(struct cli_output *out, const char *text)
{
    for (;;) {
        size_t n = 0;
        while ((unsigned char)text[n] > '\r' || /* most are: strcspn() would take longer */
               (text[n] && text[n] != '\t' && text[n] != '\n' && text[n] != '\r'))
            n++;
        cli_output_write(out, text, n);
        if (!text[n])
            break;
        cli_output_write(out, " ", 1);
        text += n + 1;
    }
}

int cli_output_callback(void *user, const char *text, size_t len)
{
    struct cli_output *out = user;

    cli_output_write(out, text, len);
    return out->status;
}

void cli_output_start(struct cli_output *out)
{
    if (out->status || !out->part)
        return;
    if (fflush(out->file))
        out->status = status_of(errno);
    else /* a hint: what goes wrong is met by fsync() */
        sync_file_range(fileno(out->file), 0, 0, SYNC_FILE_RANGE_WRITE);
}

int cli_output_finish(struct cli_output *out, struct bioinfer_error *err)
{
    const char *name = out->path ? out->path : "standard output";
    FILE *file = out->file;
    int error = 0;

    if (!out->status && fflush(file))
        out->status = status_of(error = errno);
    if (!out->status && out->part && fsync(fileno(file)) && errno != EINVAL)
        out->status = status_of(error = errno);
    if (out->path) {
        out->file = NULL;
        if (fclose(file) && !out->status)
            out->status = status_of(error = errno);
    }
    if (!out->status && out->part) {
        if (rename(out->part, out->path)) {
            out->status = status_of(error = errno);
        } else {
            free(out->part);
            out->part = NULL;
        }
    }
    if (!out->status)
        return BIOINFER_OK;
    if (out->status == BIOINFER_NO_SPACE && !error)
        error = ENOSPC;
    return fail(err, out->status, name, error ? error : EIO);
}

void cli_output_close(struct cli_output *out)
{
    if (out->file && out->file != stdout)
        fclose(out->file);
    if (out->part)
        unlink(out->part);
    free(out->part);
    free(out->path);
    free(out->text);
    *out = (struct cli_output){0};
}

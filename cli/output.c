/* output.c - text results: to standard output, or to a file that appears under its name
 * only when it is complete. */
#define _GNU_SOURCE
#include "../base/temp.h"
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
    case EMFILE:
    case ENFILE:
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

/* Opens a file beside `path`, or a device or a FIFO itself, where what is written is there at
 * once. */
static int open_part(struct cli_output *out, const char *path)
{
    struct stat st;
    int fd = -1, error = 0;
    if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
        if (S_ISDIR(st.st_mode))
            return EISDIR;
        /* neither created nor cut: by now there may be something else */
        if ((fd = open(path, O_WRONLY | O_CLOEXEC)) < 0)
            return errno;
        if (fstat(fd, &st) || S_ISREG(st.st_mode))
            error = EEXIST;
    } else if (!(out->part = malloc(strlen(path) + BI_TEMP_SUFFIX))) {
        return ENOMEM;
    } else if ((error = bi_temp_file(out->part, path, &fd))) {
        free(out->part); /* nothing to remove */
        out->part = NULL;
        return error;
    }
    if (!error && !(out->file = fdopen(fd, "w")))
        error = errno;
    if (error)
        close(fd);
    return error;
}

bool cli_output_replaces(const struct cli_options *o, const char *path)
{
    struct stat out, in;
    if (!o->output || !path || stat(o->output, &out) || stat(path, &in) || !S_ISREG(out.st_mode) ||
        out.st_dev != in.st_dev || out.st_ino != in.st_ino)
        return false;
    cli_say(NULL, "%s: output and input are the same file", o->output);
    return true;
}

int cli_output_open(struct cli_output *out, const char *path, struct bioinfer_error *err)
{
    int error;
    *out = (struct cli_output){0};
    if (!path || !strcmp(path, "-")) {
        out->file = stdout;
        return BIOINFER_OK;
    }
    if (!(out->path = strdup(path)))
        return fail(err, BIOINFER_NOMEM, path, ENOMEM);
    if ((error = open_part(out, path))) {
        cli_output_close(out);
        return fail(err, error == EISDIR ? BIOINFER_IO : status_of(error), path, error);
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

int cli_output_begin(struct cli *cli, struct cli_output *out, const char *path)
{
    struct bioinfer_error err = {0};
    int st, code = cli_open_context(cli);
    if (code)
        return code;
    st = cli_output_open(out, path, &err);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

int cli_output_end(struct cli *cli, struct cli_output *out, enum cli_stage stage, int st,
                   struct bioinfer_error *err)
{
    if (!st || out->status) {
        st = cli_output_finish(out, err); /* which knows the reason of a failed write */
        stage = CLI_AT_WRITE;
    }
    cli_output_close(out);
    return st ? cli_fail(cli, stage, st, err) : CLI_EXIT_OK;
}

static void put_text(void *user, const char *text, size_t n)
{
    cli_output_write(user, text, n);
}

int cli_output_escaped(void *user, const char *text, size_t n)
{
    struct cli_output *out = user;
    cli_escape(put_text, out, text, n);
    return out->status;
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

/* releases.c - weights that families know by name: the table of `bioinfer models`, and how to fetch
 * those that are not there. */
#include <inttypes.h>
#include <string.h>

#include "lib.h"

static const struct bi_release *find(const char *name)
{
    for (int i = 0; bi_model_def(i); i++)
        for (const struct bi_release *r = bi_model_def(i)->releases; r && r->name; r++)
            if (!strcmp(r->name, name))
                return r;
    return NULL;
}

/* Appends the names of files with commas between them. */
static void put_files(struct bi_buf *out, const char *files)
{
    for (; *files; files++)
        bi_buf_putc(out, *files == ' ' ? ',' : *files);
}

int bi_release_missing(const struct bi_env *env, const char *name, struct bioinfer_error *err)
{
    static const char mark[] = "\nlooked for revision main in ";
    const struct bi_release *r = find(name);
    const char *looked = err ? strstr(err->text, mark) : NULL;
    const char *folder = strchr(name, '/');
    struct bi_buf text = {.env = env};
    if (!looked || !folder)
        return BIOINFER_NOT_FOUND;
    bi_buf_append(&text, err->text, (size_t)(looked - err->text));
    bi_buf_printf(&text,
                  "\nor, without Python, into a folder that --weights takes\n"
                  "  curl -fL --create-dirs -o '%s/#1' 'https://huggingface.co/%s/resolve/main/{",
                  folder + 1, name);
    put_files(&text, r && r->files ? r->files : "config.json vocab.txt model.safetensors");
    bi_buf_puts(&text, r && r->files ? "}'" : "}'\n(names of files may differ: look at its page)");
    bi_buf_puts(&text, looked);
    if (bi_buf_text(&text) && text.size < sizeof err->text)
        memcpy(err->text, text.data, text.size + 1);
    bi_buf_free(&text);
    return BIOINFER_NOT_FOUND;
}

/* A number with a unit of a thousand bytes each; "-": not known. */
static void put_size(struct bi_buf *out, double bytes)
{
    if (bytes <= 0)
        bi_buf_puts(out, "\t-");
    else
        bi_buf_printf(out, bytes < 1e9 ? "\t%.0f MB" : "\t%.1f GB",
                      bytes / (bytes < 1e9 ? 1e6 : 1e9));
}

static void put_release(struct bi_buf *out, const struct bi_env *env, const char *family,
                        const struct bi_release *r)
{
    char *path = NULL;
    const bool here = !bi_find_weights(&path, env, r->name, NULL, NULL);
    bi_buf_printf(out, "%s\t%s\t", family, r->name);
    if (r->n_parameters)
        bi_buf_printf(out, "%.0f M", (double)r->n_parameters / 1e6);
    else
        bi_buf_putc(out, '-');
    put_size(out, (double)r->size);
    put_size(out, (double)r->n_parameters * sizeof(float));
    bi_buf_printf(out, "\t%s\t%s\n", r->licence, here ? path : "-");
    bi_free(env, path);
}

int bioinfer_releases(bioinfer_context *ctx, bioinfer_write write, void *user,
                      struct bioinfer_error *err)
{
    struct bi_buf text;
    int st = 0;
    if (!ctx || !write)
        return bi_fail(err, BIOINFER_INVALID, "releases: context and write must be given");
    text = (struct bi_buf){.env = &ctx->env};
    bi_buf_puts(&text, "family\tweights\tparameters\tfiles\tmemory\tlicence\tcached\n");
    for (int i = 0; bi_model_def(i); i++)
        for (const struct bi_release *r = bi_model_def(i)->releases; r && r->name; r++)
            put_release(&text, &ctx->env, bi_model_def(i)->name, r);
    if (text.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "releases: the table");
    else if (write(user, text.data, text.size))
        st = bi_fail(err, BIOINFER_IO, "releases: the caller's write failed");
    bi_buf_free(&text);
    return st;
}

/* folder_out.c - an output that is a folder. */
#include "folder_out.h"

#include <string.h>

#include "../base/temp.h"

int bi_folder_out_open(struct bi_folder_out *f, const struct bioinfer_writer *w,
                       struct bioinfer_error *err)
{
    char *temp;
    int st;
    f->path.env = w->env;
    if (bi_path_exists(w->path))
        return bi_fail(err, BIOINFER_IO, "%s: output is a %s that is there already", w->path,
                       bi_path_is_folder(w->path) ? "folder" : "file");
    if (!(temp = bi_alloc(w->env, strlen(w->path) + BI_TEMP_SUFFIX)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    if ((st = bi_folder_make_temp(temp, w->env, w->path, err)))
        bi_free(w->env, temp);
    else
        f->temp = temp;
    return st;
}

void bi_folder_out_name(struct bi_buf *out, const char *id)
{
    enum { MOST = 180 }; /* bytes: within 255 with a number, a part and what files end in */
    const size_t n = strlen(id);
    for (size_t i = 0; i < n && n <= MOST; i++) {
        const unsigned char c = (unsigned char)id[i];
        const bool bad = c < 0x20 || c == 0x7F || strchr("/\\:*?\"<>|", c) || (!i && c == '.');
        bi_buf_putc(out, bad ? '_' : id[i]);
    }
}

int bi_folder_out_alignment(struct bi_buf *path, const char *folder, const char *id,
                            const char *chain)
{
    size_t n;
    path->size = 0;
    bi_buf_printf(path, "%s/", folder);
    n = path->size;
    bi_folder_out_name(path, id);
    if (!path->failed && path->size == n)
        return BIOINFER_INVALID;
    bi_buf_printf(path, chain ? "_%s.a3m" : ".a3m", chain);
    n = path->size;
    if (!bi_buf_text(path))
        return BIOINFER_NOMEM;
    if (bi_path_exists(path->data))
        return 1;
    bi_buf_puts(path, ".gz");
    if (!bi_buf_text(path))
        return BIOINFER_NOMEM;
    if (bi_path_exists(path->data))
        return 1;
    path->size = n;
    path->data[n] = '\0';
    return 0;
}

int bi_folder_out_path(struct bi_folder_out *f, const struct bioinfer_writer *w, const char *name,
                       const char *suffix, struct bioinfer_error *err)
{
    f->path.size = 0;
    bi_buf_printf(&f->path, "%s/%s.%s", f->temp, name, suffix);
    bi_buf_text(&f->path);
    return bi_writer_check(w, &f->path, err);
}

int bi_folder_out_finish(struct bi_folder_out *f, const struct bioinfer_writer *w,
                         struct bioinfer_error *err)
{
    int st;
    if ((st = bi_folder_sync_all(w->env, f->temp, err)) ||
        (st = bi_path_rename_new(w->env, f->temp, w->path, err)))
        return st;
    if ((st = bi_folder_sync_of(w->env, w->path, err))) {
        bi_path_rename(w->env, w->path, f->temp, NULL); /* for bi_folder_out_close to remove */
        return st;
    }
    bi_free(w->env, f->temp);
    f->temp = NULL;
    return 0;
}

void bi_folder_out_close(struct bi_folder_out *f, const struct bioinfer_writer *w)
{
    if (f->temp)
        bi_folder_remove(w->env, f->temp);
    bi_free(w->env, f->temp);
    bi_buf_free(&f->path);
}

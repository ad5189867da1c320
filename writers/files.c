/* files.c - a folder with the files of each record:
 *
 *   NAME.cif     a text of the record, here of the name "cif"; the text "row" is no file
 *   NAME.npz     its arrays by their kinds, where it has any
 *   scores.tsv   a first line, and after it the rows of all records
 *
 * Where a record gives its result in pieces the text "part" of each, which is no file, tells their
 * files apart: NAME_PART.cif. */
#include <stdio.h>
#include <string.h>

#include "folder_out.h"
#include "zip_out.h"

struct files {
    struct bi_folder_out folder;
    struct bi_buf header, name;
    struct bi_seen names; /* names of files, without their suffixes */
    struct bi_out rows;
};

/* Which texts are files: of a short name in lower case that no other file has. */
static bool is_suffix(const char *name)
{
    const size_t n = strlen(name);
    return n && n <= 8 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789") == n &&
           strcmp(name, "tsv") && strcmp(name, "npz");
}

static bool is_row(const struct bioinfer_text *text)
{
    return !strcmp(text->name, BI_FILES_ROW);
}

static bool is_part(const struct bioinfer_text *text)
{
    return !strcmp(text->name, BI_FILES_PART);
}

/* Can it be a part of a name? */
static bool is_part_good(const struct bioinfer_text *text)
{
    size_t n = 0;
    while (n < text->length && text->text[n] &&
           strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", text->text[n]))
        n++;
    return n && n == text->length && n <= BI_FILES_PART_MOST;
}

static int files_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                       struct bioinfer_error *err)
{
    for (int i = 0; i < r->n_texts; i++)
        if (is_part(&r->texts[i]) ? !is_part_good(&r->texts[i])
                                  : !is_row(&r->texts[i]) && !is_suffix(r->texts[i].name))
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: record '%.60s': a text '%.60s' cannot be a file", w->path, r->id,
                           r->texts[i].name);
    return 0;
}

static void files_rename(const struct bioinfer_writer *w, struct bi_buf *out,
                         const struct bioinfer_result *r)
{
    const size_t before = out->size;
    (void)w;
    bi_folder_out_name(out, r->id);
    if (out->size == before)
        bi_buf_printf(out, "seq_%llu", (unsigned long long)r->ordinal);
}

static int files_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct files *s = bi_zalloc(w->env, sizeof *s);
    int st;
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = s;
    s->header.env = s->name.env = s->names.env = w->env;
    s->rows = BI_OUT_NONE;
    if ((st = bi_folder_out_open(&s->folder, w, err)) ||
        (st = bi_folder_out_path(&s->folder, w, "scores", "tsv", err)) ||
        (st = bi_out_open(&s->rows, w->env, s->folder.path.data, err)))
        return st;
    s->rows.sync = BI_SYNC_NONE; /* files_finish syncs all */
    return bi_out_write(&s->rows, w->params.files, strlen(w->params.files), err);
}

static int put_text(struct bioinfer_writer *w, const char *name, const struct bioinfer_text *text,
                    struct bioinfer_error *err)
{
    struct files *s = w->state;
    struct bi_out out = BI_OUT_NONE;
    int st;
    if ((st = bi_folder_out_path(&s->folder, w, name, text->name, err)) ||
        (st = bi_out_open(&out, w->env, s->folder.path.data, err)))
        goto out;
    out.sync = BI_SYNC_NONE;
    if (!(st = bi_out_write(&out, text->text, text->length, err)))
        st = bi_out_finish(&out, err);
out:
    bi_out_close(&out);
    return st;
}

static int put_arrays(struct bioinfer_writer *w, const char *name, const struct bioinfer_result *r,
                      struct bioinfer_error *err)
{
    struct files *s = w->state;
    struct bi_zip_out zip = {.out = BI_OUT_NONE, .head.env = w->env, .central.env = w->env};
    int st;
    if ((st = bi_folder_out_path(&s->folder, w, name, "npz", err)) ||
        (st = bi_zip_out_open(&zip, w->env, s->folder.path.data, err)))
        goto out;
    zip.out.sync = BI_SYNC_NONE;
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        char member[64];
        const void *bytes;
        size_t size;
        snprintf(member, sizeof member, "%.50s.npy", a->kind);
        s->header.size = 0;
        if ((st = bi_array_bytes(w, r, a, &bytes, &size, err)))
            goto out;
        bi_npy_header(&s->header, bi_npy_type(w), a->n_dims, a->shape);
        if ((st = bi_writer_check(w, &s->header, err)) ||
            (st = bi_zip_out_put(&zip, member, s->header.data, s->header.size, bytes, size, err)))
            goto out;
    }
    st = bi_zip_out_finish(&zip, "", err);
out:
    bi_zip_out_close(&zip);
    return st;
}

/* Sets s->name to the name of the files of a result. */
static int find_name(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                     struct bioinfer_error *err)
{
    struct files *s = w->state;
    const struct bioinfer_text *part = NULL;
    struct bi_seen_slot *slot;
    int st;
    for (int i = 0; i < r->n_texts; i++)
        part = is_part(&r->texts[i]) ? &r->texts[i] : part;
    s->name.size = 0;
    bi_buf_puts(&s->name, name);
    if (part) {
        bi_buf_putc(&s->name, '_');
        bi_buf_append(&s->name, part->text, part->length);
    }
    if (!bi_buf_text(&s->name))
        return bi_fail(err, BIOINFER_NOMEM, "%s: a name", w->path);
    st = bi_seen_add(&s->names, s->name.data, s->name.size, &slot);
    if (st < 0)
        return bi_fail(err, BIOINFER_NOMEM, "%s: a name", w->path);
    return st ? 0
              : bi_fail(err, BIOINFER_DUPLICATE_ID,
                        "%s: record '%.60s': there are files named %.120s already", w->path, r->id,
                        s->name.data);
}

static int files_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                     struct bioinfer_error *err)
{
    struct files *s = w->state;
    int st = find_name(w, r, name, err);
    name = s->name.data;
    for (int i = 0; i < r->n_texts && !st; i++)
        if (is_row(&r->texts[i]))
            st = bi_out_write(&s->rows, r->texts[i].text, r->texts[i].length, err);
        else if (!is_part(&r->texts[i]))
            st = put_text(w, name, &r->texts[i], err);
    return st || !r->n_arrays ? st : put_arrays(w, name, r, err);
}

static int files_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct files *s = w->state;
    const int st = bi_out_finish(&s->rows, err);
    return st ? st : bi_folder_out_finish(&s->folder, w, err);
}

static void files_close(struct bioinfer_writer *w)
{
    struct files *s = w->state;
    if (!s)
        return;
    bi_out_close(&s->rows);
    bi_folder_out_close(&s->folder, w);
    bi_buf_free(&s->header);
    bi_buf_free(&s->name);
    bi_seen_free(&s->names);
    bi_free(w->env, s);
}

const struct bi_writer_ops bi_writer_files = {
    .name = "files",
    .keyed_by_id = true,
    .of_pieces = true,
    .has_half = true,
    .is_folder = true,
    .check = files_check,
    .open = files_open,
    .rename = files_rename,
    .put = files_put,
    .finish = files_finish,
    .close = files_close,
};

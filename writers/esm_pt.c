/* esm_pt.c - a folder with one PyTorch file per record, as fair-esm's extract script
 * writes them:
 *
 *   LABEL.pt   a zip whose pickle is the dictionary {"label": str, "representations":
 *              {layer: [L, D]}, "mean_representations": {layer: [D]}, "bos_representations":
 *              {layer: [D]}, "contacts": [L, L]}, with the entries that were asked for
 *
 * The label is the header line. torch.load(path, weights_only=True) reads the files. */
#include <stdio.h>
#include <string.h>

#include "folder_out.h"
#include "text.h"
#include "zip_out.h"

enum { MAX_NAME = 230 }; /* bytes: with a suffix and ".pt" within the 255 of a file name */

struct esm_pt {
    struct bi_folder_out folder;
    struct bi_buf pickle, label;
};

static const struct entry {
    const char *kind, *key;
    bool by_layer;
} entries[] = {
    /* in the order of the script */
    {"per-residue", "representations", true},
    {"mean", "mean_representations", true},
    {"bos", "bos_representations", true},
    {"contacts", "contacts", false},
};

static const struct entry *entry_of(const char *kind)
{
    for (size_t i = 0; i < BI_COUNT(entries); i++)
        if (!strcmp(entries[i].kind, kind))
            return &entries[i];
    return NULL;
}

static int pt_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                    struct bioinfer_error *err)
{
    for (int i = 0; i < r->n_arrays; i++)
        if (!entry_of(r->arrays[i].kind))
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: esm-pt has no place for '%s', only for mean, per-residue, "
                           "bos and contacts; npz, safetensors and jsonl hold it",
                           w->path, r->arrays[i].kind);
    return 0;
}

static void put_label(struct bi_buf *out, const struct bioinfer_result *r)
{
    bi_put_utf8(out, r->id);
    if (r->description && *r->description) {
        bi_buf_putc(out, ' ');
        bi_put_utf8(out, r->description);
    }
}

static bool good_name(struct bi_buf *name)
{
    for (size_t i = 0; !name->failed && i < name->size; i++) {
        unsigned char c = (unsigned char)name->data[i];
        if (c == '/' || c < 0x20 || c == 0x7F)
            name->data[i] = '_';
    }
    return name->size && name->size <= MAX_NAME &&
           !(name->size <= 2 && !memcmp(name->data, "..", name->size));
}

static void pt_rename(const struct bioinfer_writer *w, struct bi_buf *out,
                      const struct bioinfer_result *r)
{
    (void)w;
    put_label(out, r);
    if (good_name(out))
        return;
    out->size = 0;
    bi_buf_puts(out, r->id);
    if (good_name(out))
        return;
    out->size = 0;
    bi_buf_printf(out, "seq_%llu", (unsigned long long)r->ordinal);
}

static int pt_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct esm_pt *s = bi_zalloc(w->env, sizeof *s);
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = s;
    s->pickle.env = s->label.env = w->env;
    return bi_folder_out_open(&s->folder, w, err);
}

/* ---- the pickle, protocol 2 ---- */

static void put_le32(struct bi_buf *out, uint64_t v)
{
    for (int i = 0; i < 4; i++)
        bi_buf_putc(out, (char)(v >> 8 * i & 255));
}

static void put_string(struct bi_buf *out, const char *text, size_t n)
{
    bi_buf_putc(out, 'X'); /* BINUNICODE */
    put_le32(out, n);
    bi_buf_append(out, text, n);
}

static void put_int(struct bi_buf *out, uint64_t v)
{
    if (v < 256) {
        bi_buf_putc(out, 'K'); /* BININT1 */
        bi_buf_putc(out, (char)v);
    } else if (v < 1u << 31) {
        bi_buf_putc(out, 'J'); /* BININT */
        put_le32(out, v);
    } else {
        bi_buf_append(out, "\x8a\x08", 2); /* LONG1 of 8 bytes; v is below 2^63 */
        put_le32(out, v);
        put_le32(out, v >> 32);
    }
}

/* torch._utils._rebuild_tensor_v2(storage number `key`, offset 0, sizes, strides, ...) */
static void put_tensor(struct bi_buf *out, const struct bioinfer_array *a, int key)
{
    char text[16];
    uint64_t n = 1;
    for (int i = 0; i < a->n_dims; i++)
        n *= (uint64_t)a->shape[i];
    bi_buf_puts(out, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_string(out, "storage", 7);
    bi_buf_puts(out, "ctorch\nFloatStorage\n");
    put_string(out, text, (size_t)snprintf(text, sizeof text, "%d", key));
    put_string(out, "cpu", 3);
    put_int(out, n);
    bi_buf_puts(out, "tQ"); /* a persistent id */
    put_int(out, 0);
    bi_buf_putc(out, '(');
    for (int i = 0; i < a->n_dims; i++)
        put_int(out, (uint64_t)a->shape[i]);
    bi_buf_puts(out, "t(");
    for (int i = 0; i < a->n_dims; i++) {
        uint64_t stride = 1;
        for (int k = i + 1; k < a->n_dims; k++)
            stride *= (uint64_t)a->shape[k];
        put_int(out, stride);
    }
    bi_buf_puts(out, "t\x89"
                     "ccollections\nOrderedDict\n)RtR");
}

static void put_pickle(struct esm_pt *s, const struct bioinfer_result *r)
{
    struct bi_buf *out = &s->pickle;
    out->size = s->label.size = 0;
    put_label(&s->label, r);
    bi_buf_append(out, "\x80\x02}(", 4);
    put_string(out, "label", 5);
    put_string(out, s->label.data, s->label.size);
    for (size_t k = 0; k < BI_COUNT(entries); k++) {
        int n = 0;
        for (int i = 0; i < r->n_arrays; i++) {
            if (strcmp(r->arrays[i].kind, entries[k].kind))
                continue;
            if (!n++) {
                put_string(out, entries[k].key, strlen(entries[k].key));
                bi_buf_puts(out, entries[k].by_layer ? "}(" : "");
            }
            if (entries[k].by_layer)
                put_int(out, (uint64_t)r->arrays[i].layer);
            put_tensor(out, &r->arrays[i], i);
        }
        bi_buf_puts(out, n && entries[k].by_layer ? "u" : "");
    }
    bi_buf_puts(out, "u.");
}

static int pt_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                  struct bioinfer_error *err)
{
    struct esm_pt *s = w->state;
    struct bi_zip_out zip = {.out = BI_OUT_NONE, .head.env = w->env, .central.env = w->env};
    int st;
    put_pickle(s, r);
    if ((st = bi_writer_check(w, &s->pickle, err)) || (st = bi_writer_check(w, &s->label, err)) ||
        (st = bi_folder_out_path(&s->folder, w, name, "pt", err)) ||
        (st = bi_zip_out_open(&zip, w->env, s->folder.path.data, err)))
        goto out;
    zip.out.sync = BI_SYNC_NONE; /* pt_finish syncs all */
    if ((st = bi_zip_out_put(&zip, "archive/data.pkl", s->pickle.data, s->pickle.size, NULL, 0,
                             err)) ||
        (st = bi_zip_out_put(&zip, "archive/byteorder", "little", 6, NULL, 0, err)))
        goto out;
    for (int i = 0; i < r->n_arrays; i++) {
        char member[32];
        uint64_t n, size;
        snprintf(member, sizeof member, "archive/data/%d", i);
        if ((st = bi_array_size(w, r, &r->arrays[i], &n, &size, err)) ||
            (st = bi_zip_out_put(&zip, member, "", 0, r->arrays[i].data, (size_t)size, err)))
            goto out;
    }
    if (!(st = bi_zip_out_put(&zip, "archive/version", "3\n", 2, NULL, 0, err)))
        st = bi_zip_out_finish(&zip, "", err);
out:
    bi_zip_out_close(&zip);
    return st;
}

static int pt_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    return bi_folder_out_finish(&((struct esm_pt *)w->state)->folder, w, err);
}

static void pt_close(struct bioinfer_writer *w)
{
    struct esm_pt *s = w->state;
    if (!s)
        return;
    bi_folder_out_close(&s->folder, w);
    bi_buf_free(&s->pickle);
    bi_buf_free(&s->label);
    bi_free(w->env, s);
}

const struct bi_writer_ops bi_writer_esm_pt = {
    .name = "esm-pt",
    .keyed_by_id = true,
    .is_folder = true,
    .open = pt_open,
    .rename = pt_rename,
    .check = pt_check,
    .put = pt_put,
    .finish = pt_finish,
    .close = pt_close,
};

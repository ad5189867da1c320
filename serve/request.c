/* request.c - the body of a request becomes records.
 *
 *   {"sequences": ["MKT...", {"id": "P1", "sequence": "MKT...", "mutations": ["M1A"]}, ...],
 *    "include": ["mean"], "layers": [-1], "format": "npz", "floats": "base64",
 *    "method": "pppl", "mutations": ["M1A"], "offset": 1}
 *
 * or FASTA, or npz with an array of texts, with these names in the query of the address
 * (settings.c); any of these may be in gzip. */
#define _GNU_SOURCE
#include "serve.h"

#include "../loaders/gunzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- JSON ---- */

/* Copies a sequence as the reader of FASTA takes it: in upper case, without blanks, gaps and a
 * final '*'. A character that is no letter makes the record unusable. */
int serve_request_letters(struct serve *s, struct serve_request *r, struct bioinfer_record *record,
                          const char *text, size_t n, struct bioinfer_error *err)
{
    const bool raw = s->is.raw_residues;
    char *out = bi_arena_alloc(&r->arena, n + 1);
    size_t used = 0;
    if (!out)
        return serve_no_memory(err);
    while (!raw && n && text[n - 1] && strchr(" \t\r\n", text[n - 1]))
        n--;
    if (!raw && n && text[n - 1] == '*')
        n--;
    for (size_t i = 0; i < n && !record->status; i++) {
        const unsigned char c = (unsigned char)text[i];
        if ((c >= 'A' && c <= 'Z') || (raw && c > ' ' && c < 0x7f)) {
            out[used++] = (char)c;
        } else if (c >= 'a' && c <= 'z') {
            out[used++] = (char)(raw ? c : c - 32);
        } else if (raw || !c || !strchr(" \t\r\n-.", c)) {
            record->status = BIOINFER_BAD_RESIDUE;
            record->message = bi_arena_printf(&r->arena, "character 0x%02X at position %zu", c,
                                              i + 1);
        }
    }
    if (!record->status && !used) {
        record->status = BIOINFER_EMPTY;
        record->message = "no residues";
    }
    out[used] = '\0';
    record->sequence = record->status ? "" : out;
    record->length = record->status ? 0 : used;
    return 0;
}

static int take_mutations(struct serve_request *r, struct serve_mutations *m,
                          const struct bi_json *json, struct bioinfer_error *err)
{
    const struct bi_json *item = json->first;
    if (json->type != BI_JSON_ARRAY)
        return serve_refuse(err, BIOINFER_INVALID, "mutations: not an array");
    m->n = json->n;
    if (!(m->texts = bi_arena_calloc(&r->arena, m->n + 1, sizeof *m->texts)))
        return serve_no_memory(err);
    for (size_t i = 0; i < m->n; i++, item = item->next) {
        const char *text = bi_json_string(item);
        if (!text || strlen(text) != item->text_len)
            return serve_refuse(err, BIOINFER_INVALID, "mutations: number %zu is no text", i + 1);
        if (!(m->texts[i] = bi_arena_strndup(&r->arena, text, item->text_len)))
            return serve_no_memory(err);
        for (m->n_terms++; (text = strchr(text, ':')); text++)
            m->n_terms++;
    }
    return 0;
}

/* Gives the mutations of all records to each record without its own, and bounds the work. */
static int share_mutations(struct serve_request *r, const struct bi_json *json,
                           struct bioinfer_error *err)
{
    struct serve_mutations shared = {0};
    uint64_t n = 0;
    const int st = json ? take_mutations(r, &shared, json, err) : 0;
    for (size_t i = 0; i < r->n_records && !st; i++) {
        if (!r->mutations[i].texts)
            r->mutations[i] = shared;
        n += r->mutations[i].n_terms;
    }
    if (!st && n > SERVE_MAX_TERMS)
        return serve_refuse(err, BIOINFER_LIMIT,
                            "mutations: %llu terms for all records, more than %d",
                            (unsigned long long)n, SERVE_MAX_TERMS);
    return st;
}

int serve_request_id(struct serve_request *r, const char **id, size_t i, const struct bi_json *json,
                     struct bioinfer_error *err)
{
    if (!json) {
        *id = bi_arena_printf(&r->arena, "%zu", i);
        return *id ? 0 : serve_no_memory(err);
    }
    if (json->type != BI_JSON_STRING || !json->text_len)
        return serve_refuse(err, BIOINFER_INVALID, "%s: the id of number %zu is no text",
                            serve_settings_list(r), i);
    for (size_t k = 0; k < json->text_len; k++) /* no format can hold these */
        if ((unsigned char)json->text[k] < ' ' || json->text[k] == 0x7f)
            return serve_refuse(err, BIOINFER_INVALID, "%s: control character in the id of %zu",
                                serve_settings_list(r), i);
    *id = bi_arena_strndup(&r->arena, json->text, json->text_len);
    return *id ? 0 : serve_no_memory(err);
}

static int take_record(struct serve *s, struct serve_request *r, size_t i,
                       const struct bi_json *json, struct bioinfer_error *err)
{
    struct bioinfer_record *record = &r->records[i];
    const struct bi_json *sequence = json, *id = NULL, *mutations = NULL;
    int st;
    record->description = "";
    record->message = "";
    if (json->type == BI_JSON_OBJECT) {
        sequence = bi_json_get(json, "sequence");
        id = bi_json_get(json, "id");
        if (r->key.work == SERVE_SCORE)
            mutations = bi_json_get(json, "mutations");
        for (const struct bi_json *at = json->first; at; at = at->next)
            if (at != sequence && at != id && at != mutations)
                return serve_refuse(err, BIOINFER_INVALID, "sequences: '%.60s' is not known",
                                    at->key);
        if (mutations && (st = take_mutations(r, &r->mutations[i], mutations, err)))
            return st;
    }
    if (!sequence || sequence->type != BI_JSON_STRING)
        return serve_refuse(err, BIOINFER_INVALID, "sequences: number %zu has no text", i);
    if ((st = serve_request_id(r, &record->id, i, id, err)))
        return st;
    return serve_request_letters(s, r, record, sequence->text, sequence->text_len, err);
}

int serve_request_make(struct serve_request *r, size_t n, struct bioinfer_error *err)
{
    if (!n)
        return serve_refuse(err, BIOINFER_INVALID, "no %s", serve_settings_list(r));
    if (n > SERVE_MAX_RECORDS)
        return serve_refuse(err, BIOINFER_LIMIT, "%zu %s, more than %d", n, serve_settings_list(r),
                            SERVE_MAX_RECORDS);
    r->records = bi_arena_calloc(&r->arena, n, sizeof *r->records);
    r->mutations = bi_arena_calloc(&r->arena, n, sizeof *r->mutations);
    r->n_records = n;
    return r->records && r->mutations ? 0 : serve_no_memory(err);
}

static int read_sequences(struct serve *s, struct serve_request *r, const struct bi_json *root,
                          struct bioinfer_error *err)
{
    const struct bi_json *list = bi_json_get(root, "sequences"), *item;
    size_t i = 0;
    int st;
    if (!list || list->type != BI_JSON_ARRAY)
        return serve_refuse(err, BIOINFER_INVALID, "the request has no array \"sequences\"");
    if ((st = serve_request_make(r, list->n, err)))
        return st;
    for (item = list->first; item && !st; item = item->next)
        st = take_record(s, r, i++, item, err);
    return st || r->key.work != SERVE_SCORE
               ? st
               : share_mutations(r, bi_json_get(root, "mutations"), err);
}

static int read_json(struct serve *s, struct serve_request *r, const char *body, size_t size,
                     struct bioinfer_error *err)
{
    struct bi_arena tree = {.env = &s->env};
    struct bi_json *root;
    int st = bi_json_parse(&root, &tree, "request", body, size, err);
    if (!st)
        st = serve_settings_json(r, root, err);
    if (!st)
        st = r->key.work == SERVE_DESIGN     ? serve_bodies_structures(r, root, err)
             : r->key.work == SERVE_AFFINITY ? serve_bodies_ligands(s, r, root, err)
             : r->key.work == SERVE_ALIGN    ? serve_bodies_pairs(s, r, root, err)
             : r->key.work == SERVE_FOLD     ? serve_folds_read(r, root, err)
             : r->key.work == SERVE_VARIANTS ? serve_variants_read(s, r, root, err)
                                             : read_sequences(s, r, root, err);
    bi_arena_reset(&tree);
    return st;
}

/* ---- FASTA ---- */

/* Puts the body where a reader can open it. */
int serve_request_file(const char *body, size_t size, struct bioinfer_error *err)
{
    int fd = memfd_create("request", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < size;) {
        const ssize_t n = write(fd, body + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            close(fd);
            fd = -1;
            break;
        }
        done += (size_t)n;
    }
    if (fd < 0)
        serve_no_memory(err);
    return fd;
}

const char *serve_request_words(struct bi_arena *arena, const char *message, const char *path,
                                const char *name)
{
    const size_t n = strlen(path);
    const char *from = message, *at;
    char *words = bi_arena_strndup(arena, "", 0);
    while (words && n && (at = strstr(from, path))) {
        words = bi_arena_printf(arena, "%s%.*s%s", words, (int)(at - from), from, name);
        from = at + n;
    }
    return words ? bi_arena_printf(arena, "%s%s", words, from) : NULL;
}

static int copy_record(struct serve_request *r, struct bioinfer_record *to,
                       const struct bioinfer_record *from, const char *path,
                       struct bioinfer_error *err)
{
    *to = *from;
    to->id = bi_arena_strndup(&r->arena, from->id, strlen(from->id));
    to->description = bi_arena_strndup(&r->arena, from->description, strlen(from->description));
    to->sequence = bi_arena_strndup(&r->arena, from->length ? from->sequence : "", from->length);
    to->message = from->message ? serve_request_words(&r->arena, from->message, path, "request")
                                : "";
    return to->id && to->description && to->sequence && to->message ? 0 : serve_no_memory(err);
}

/* Reads the records twice: their number comes first. */
static int read_records(struct serve *s, struct serve_request *r, const char *path, bool count,
                        struct bioinfer_error *err)
{
    struct bioinfer_reader_params params = BIOINFER_PARAMS(
        struct bioinfer_reader_params,
        .residues = r->key.work == SERVE_FOLD ? BIOINFER_RESIDUES_COMPLEX
                    : s->is.raw_residues      ? BIOINFER_RESIDUES_RAW
                                              : BIOINFER_RESIDUES_DEFAULT,
        .max_length = BIOINFER_MAX_RESIDUES);
    struct bioinfer_record record;
    bioinfer_reader *reader = NULL;
    uint64_t n_bytes = 0;
    size_t n = 0;
    int st = bioinfer_reader_open(&reader, s->quiet, path, &params, err);
    while (!st && (st = bioinfer_reader_next(reader, &record, err)) > 0) {
        n_bytes += record.length;
        if (count && (n >= SERVE_MAX_RECORDS || n_bytes > (uint64_t)s->max_body))
            st = serve_refuse(err, BIOINFER_LIMIT, "more than %d sequences or %lld residues",
                              SERVE_MAX_RECORDS, (long long)s->max_body);
        else
            st = count ? 0 : copy_record(r, &r->records[n], &record, path, err);
        n++;
    }
    bioinfer_reader_close(&reader);
    return st || !count ? st : serve_request_make(r, n, err);
}

int serve_request_read_file(struct serve *s, struct serve_request *r, const char *bytes,
                            size_t size, serve_file_reader read, struct bioinfer_error *err)
{
    char path[64];
    int st, fd = serve_request_file(bytes, size, err);
    if (fd < 0)
        return BIOINFER_NOMEM;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!(st = read(s, r, path, true, err)))
        st = read(s, r, path, false, err);
    close(fd);
    if (st) {
        const char *text = serve_request_words(&r->arena, err->text, path, "request");
        snprintf(err->text, sizeof err->text, "%s", text ? text : "no memory for the request");
    }
    return st;
}

/* ---- all ---- */

static int read_body(struct serve *s, struct serve_request *r, const char *body, size_t size,
                     bool json, struct bioinfer_error *err)
{
    int st;
    if (json)
        return read_json(s, r, body, size, err);
    if (r->key.work == SERVE_DESIGN)
        return serve_bodies_structure(r, body, size, err);
    if (r->key.work == SERVE_VARIANTS)
        return serve_variants_text(s, r, body, size, err);
    if (r->key.work == SERVE_AFFINITY)
        return serve_refuse(err, BIOINFER_INVALID,
                            "the body is not JSON with a receptor and ligands");
    if (size > 4 && !memcmp(body, "PK\3\4", 4) && r->key.work != SERVE_ALIGN &&
        r->key.work != SERVE_FOLD)
        return serve_npz_read(s, r, body, size, err);
    st = serve_request_read_file(s, r, body, size, read_records, err);
    return st || r->key.work != SERVE_ALIGN ? st : serve_bodies_join(r, err);
}

/* Inflates a body of gzip, *body to *out, whose size becomes *size; *out stays NULL for another
 * one. */
static int inflate_body(struct serve *s, const char *body, size_t *size, char **out,
                        struct bioinfer_error *err)
{
    int st;
    if (*size < 2 || (unsigned char)body[0] != 0x1f || (unsigned char)body[1] != 0x8b)
        return 0;
    st = bi_gunzip_memory(&s->env, "request", body, *size, (size_t)s->max_body, out, size, err);
    return st != BIOINFER_LIMIT ? st
                                : serve_refuse(err, st,
                                               "the body inflates to more than %lld bytes "
                                               "(--max-body)",
                                               (long long)s->max_body);
}

int serve_request_read(struct serve *s, struct serve_request *r, const char *body, size_t size,
                       struct bioinfer_error *err)
{
    char *inflated = NULL;
    size_t blank = 0;
    int st = inflate_body(s, body, &size, &inflated, err);
    if (inflated)
        body = inflated;
    while (!st && blank < size && strchr(" \t\r\n", body[blank]) && body[blank])
        blank++;
    if (!st && blank == size)
        st = serve_refuse(err, BIOINFER_INVALID, "the request has no body");
    else if (!st && body[blank] == '[')
        st = serve_refuse(err, BIOINFER_INVALID,
                          "the body is a list of JSON, expected an object: {\"%s\": [...]}",
                          serve_settings_list(r));
    if (!st)
        st = read_body(s, r, body, size, body[blank] == '{', err);
    bi_free(&s->env, inflated);
    return st ? st : serve_settings_finish(s, r, err);
}

void serve_request_free(struct serve_request **request)
{
    struct serve_request *r = *request;
    if (!r)
        return;
    bioinfer_writer_close(&r->writer);
    if (r->path[0])
        unlink(r->path);
    if (r->receptor[0])
        unlink(r->receptor);
    if (r->fd >= 0)
        close(r->fd);
    bi_arena_reset(&r->arena);
    bi_buf_free(&r->text);
    bi_buf_free(&r->head);
    bi_buf_free(&r->values);
    bioinfer_params_free(&r->params);
    free(r);
    *request = NULL;
}

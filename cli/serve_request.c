/* serve_request.c - the body of a request becomes records.
 *
 *   {"sequences": ["MKT...", {"id": "P1", "sequence": "MKT...", "mutations": ["M1A"]}, ...],
 *    "include": ["mean"], "layers": [-1], "format": "npz", "floats": "base64",
 *    "method": "pppl", "mutations": ["M1A"], "offset": 1}
 *
 * or FASTA, plain or in gzip, with these names in the query of the address. Names that nobody knows
 * are refused, so that none is misspelt in silence. */
#define _GNU_SOURCE
#include "serve.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int refuse(struct bioinfer_error *err, int status, const char *fmt, ...) CLI_PRINTF(3, 4);
static int refuse(struct bioinfer_error *err, int status, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    err->status = status;
    return status;
}

static int no_memory(struct bioinfer_error *err)
{
    return refuse(err, BIOINFER_NOMEM, "no memory for the request");
}

/* ---- what is asked for ---- */

static int set_include(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    const unsigned bit = bioinfer_include_from_name(name);

    if (!bit)
        return refuse(err, BIOINFER_INVALID, "include: '%.60s' is no kind of output", name);
    r->key.include |= bit;
    return 0;
}

static int set_layer(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    char *end;
    const long layer = strtol(text, &end, 10);

    if (!*text || *end || layer < -10000 || layer > 10000)
        return refuse(err, BIOINFER_INVALID, "layers: '%.60s' is not a layer number", text);
    if (r->key.n_layers == SERVE_MAX_LAYERS)
        return refuse(err, BIOINFER_LIMIT, "layers: more than %d", SERVE_MAX_LAYERS);
    r->key.layers[r->key.n_layers++] = (int)layer;
    return 0;
}

static int set_offset(struct serve_request *r, const char *text, struct bioinfer_error *err)
{
    char *end;
    const long long offset = strtoll(text, &end, 10);

    if (!*text || *end || offset < -INT_MAX || offset > INT_MAX)
        return refuse(err, BIOINFER_INVALID, "offset: '%.60s' is not a whole number", text);
    r->offset = offset;
    return 0;
}

static int set_method(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    if (strcmp(name, "masked-marginals") && strcmp(name, "wt-marginals") && strcmp(name, "pppl"))
        return refuse(err, BIOINFER_INVALID,
                      "method: '%.60s' is not one of masked-marginals, wt-marginals, pppl", name);
    r->key.method = !strcmp(name, "wt-marginals") ? BIOINFER_WT_MARGINALS
                                                  : BIOINFER_MASKED_MARGINALS;
    return 0;
}

static int set_format(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    if (!serve_content_type(name) || (r->key.work == SERVE_SCORE && strcmp(name, "json")))
        return refuse(err, BIOINFER_INVALID, "format: '%.60s' is not one of %s", name,
                      r->key.work == SERVE_SCORE ? "json"
                                                 : "json, jsonl, npz, safetensors, h5, tsv");
    return (r->format = bi_arena_strndup(&r->arena, name, strlen(name))) ? 0 : no_memory(err);
}

static int set_floats(struct serve_request *r, const char *name, struct bioinfer_error *err)
{
    r->base64 = !strcmp(name, "base64");
    return r->base64 || !strcmp(name, "text")
               ? 0
               : refuse(err, BIOINFER_INVALID, "floats: '%.60s' is not text or base64", name);
}

/* Settings that a request may have beside its sequences. */
static const struct {
    const char *name;
    unsigned works; /* bits of enum serve_work */
    bool list;      /* several values: an array, or with commas between them */
    int (*set)(struct serve_request *r, const char *value, struct bioinfer_error *err);
} settings[] = {
    {"include", 1 << SERVE_EMBED, true, set_include},
    {"layers", 1 << SERVE_EMBED, true, set_layer},
    {"floats", 1 << SERVE_EMBED, false, set_floats},
    {"format", 1 << SERVE_EMBED | 1 << SERVE_SCORE, false, set_format},
    {"method", 1 << SERVE_SCORE, false, set_method},
    {"offset", 1 << SERVE_SCORE, false, set_offset},
};

/* ---- JSON ---- */

/* The text of a string or a number; NULL: it is another thing, or has a NUL inside. */
static const char *scalar(const struct bi_json *json)
{
    return (json->type == BI_JSON_STRING || json->type == BI_JSON_NUMBER) &&
                   strlen(json->text) == json->text_len
               ? json->text
               : NULL;
}

static int set_value(struct serve_request *r, size_t i, const struct bi_json *json,
                     struct bioinfer_error *err)
{
    const char *text = scalar(json);

    if (!text)
        return refuse(err, BIOINFER_INVALID, "%s: not a text or a number", settings[i].name);
    return settings[i].set(r, text, err);
}

/* Copies a sequence as the reader of FASTA takes it: in upper case, without blanks, gaps and a
 * final '*'. A character that is no letter makes the record unusable. */
static int take_sequence(struct serve *s, struct serve_request *r, struct bioinfer_record *record,
                         const char *text, size_t n, struct bioinfer_error *err)
{
    const bool raw = s->cli->options->raw_residues;
    char *out = bi_arena_alloc(&r->arena, n + 1);
    size_t used = 0;

    if (!out)
        return no_memory(err);
    while (!raw && n && strchr(" \t\r\n", text[n - 1]))
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
        return refuse(err, BIOINFER_INVALID, "mutations: not an array");
    m->n = json->n;
    if (!(m->texts = bi_arena_calloc(&r->arena, m->n + 1, sizeof *m->texts)))
        return no_memory(err);
    for (size_t i = 0; i < m->n; i++, item = item->next) {
        const char *text = bi_json_string(item);
        if (!text || strlen(text) != item->text_len)
            return refuse(err, BIOINFER_INVALID, "mutations: number %zu is no text", i + 1);
        if (!(m->texts[i] = bi_arena_strndup(&r->arena, text, item->text_len)))
            return no_memory(err);
    }
    return 0;
}

/* Takes an id as it stands, without controls, which no format can hold. */
static int take_id(struct serve_request *r, struct bioinfer_record *record, size_t i,
                   const struct bi_json *json, struct bioinfer_error *err)
{
    if (!json) {
        record->id = bi_arena_printf(&r->arena, "%zu", i);
        return record->id ? 0 : no_memory(err);
    }
    if (json->type != BI_JSON_STRING || !json->text_len)
        return refuse(err, BIOINFER_INVALID, "sequences: the id of number %zu is no text", i);
    for (size_t k = 0; k < json->text_len; k++)
        if ((unsigned char)json->text[k] < ' ' || json->text[k] == 0x7f)
            return refuse(err, BIOINFER_INVALID, "sequences: control character in the id of %zu",
                          i);
    record->id = bi_arena_strndup(&r->arena, json->text, json->text_len);
    return record->id ? 0 : no_memory(err);
}

static int take_record(struct serve *s, struct serve_request *r, size_t i,
                       const struct bi_json *json, struct bioinfer_error *err)
{
    struct bioinfer_record *record = &r->records[i];
    const struct bi_json *sequence = json, *id = NULL;
    int st;

    record->description = "";
    record->message = "";
    if (json->type == BI_JSON_OBJECT) {
        sequence = bi_json_get(json, "sequence");
        id = bi_json_get(json, "id");
        for (const struct bi_json *at = json->first; at; at = at->next)
            if (at != sequence && at != id &&
                (r->key.work != SERVE_SCORE || strcmp(at->key, "mutations")))
                return refuse(err, BIOINFER_INVALID, "sequences: '%.60s' is not known", at->key);
        json = bi_json_get(json, "mutations");
        if (json && (st = take_mutations(r, &r->mutations[i], json, err)))
            return st;
    }
    if (!sequence || sequence->type != BI_JSON_STRING)
        return refuse(err, BIOINFER_INVALID, "sequences: number %zu has no text", i);
    if ((st = take_id(r, record, i, id, err)))
        return st;
    return take_sequence(s, r, record, sequence->text, sequence->text_len, err);
}

static int make_records(struct serve_request *r, size_t n, struct bioinfer_error *err)
{
    if (!n)
        return refuse(err, BIOINFER_INVALID, "no sequences");
    if (n > SERVE_MAX_RECORDS)
        return refuse(err, BIOINFER_LIMIT, "%zu sequences, more than %d", n, SERVE_MAX_RECORDS);
    r->records = bi_arena_calloc(&r->arena, n, sizeof *r->records);
    r->mutations = bi_arena_calloc(&r->arena, n, sizeof *r->mutations);
    r->n_records = n;
    return r->records && r->mutations ? 0 : no_memory(err);
}

static int take_settings(struct serve_request *r, const struct bi_json *root,
                         struct bioinfer_error *err)
{
    int st = 0;

    for (const struct bi_json *at = root->first; at && !st; at = at->next) {
        size_t i = 0;
        if (!strcmp(at->key, "sequences") ||
            (r->key.work == SERVE_SCORE && !strcmp(at->key, "mutations")))
            continue;
        while (i < CLI_COUNT(settings) &&
               (strcmp(at->key, settings[i].name) || !(settings[i].works & 1u << r->key.work)))
            i++;
        if (i == CLI_COUNT(settings))
            return refuse(err, BIOINFER_INVALID, "'%.60s' is not known here", at->key);
        if (settings[i].list && at->type == BI_JSON_ARRAY)
            for (const struct bi_json *v = at->first; v && !st; v = v->next)
                st = set_value(r, i, v, err);
        else
            st = set_value(r, i, at, err);
    }
    return st;
}

static int read_json(struct serve *s, struct serve_request *r, const char *body, size_t size,
                     struct bioinfer_error *err)
{
    struct bi_arena tree = {.env = &s->env};
    struct bi_json *root;
    const struct bi_json *list, *item, *shared;
    size_t i = 0;
    int st = bi_json_parse(&root, &tree, "request", body, size, err);

    if (st)
        goto out;
    list = bi_json_get(root, "sequences");
    if (!list || list->type != BI_JSON_ARRAY) {
        st = refuse(err, BIOINFER_INVALID, "the request has no array \"sequences\"");
        goto out;
    }
    if ((st = take_settings(r, root, err)) || (st = make_records(r, list->n, err)))
        goto out;
    for (item = list->first; item && !st; item = item->next)
        st = take_record(s, r, i++, item, err);
    shared = r->key.work == SERVE_SCORE ? bi_json_get(root, "mutations") : NULL;
    for (i = 0; i < r->n_records && shared && !st; i++)
        if (!r->mutations[i].n)
            st = take_mutations(r, &r->mutations[i], shared, err);
out:
    bi_arena_reset(&tree);
    return st;
}

/* ---- FASTA ---- */

/* Puts the body where a reader can open it. */
static int memory_file(const char *body, size_t size, struct bioinfer_error *err)
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
        no_memory(err);
    return fd;
}

/* Copies what a message of the reader says behind the name of its file. */
static const char *without_path(struct bi_arena *arena, const char *message, const char *path)
{
    const size_t n = strlen(path);

    return strncmp(message, path, n) ? bi_arena_strndup(arena, message, strlen(message))
                                     : bi_arena_printf(arena, "request%s", message + n);
}

static int copy_record(struct serve_request *r, struct bioinfer_record *to,
                       const struct bioinfer_record *from, const char *path,
                       struct bioinfer_error *err)
{
    *to = *from;
    to->id = bi_arena_strndup(&r->arena, from->id, strlen(from->id));
    to->description = bi_arena_strndup(&r->arena, from->description, strlen(from->description));
    to->sequence = bi_arena_strndup(&r->arena, from->length ? from->sequence : "", from->length);
    to->message = from->message ? without_path(&r->arena, from->message, path) : "";
    return to->id && to->description && to->sequence && to->message ? 0 : no_memory(err);
}

/* Reads the records twice: their number comes first. */
static int read_records(struct serve *s, struct serve_request *r, const char *path, bool count,
                        struct bioinfer_error *err)
{
    struct bioinfer_reader_params params = BIOINFER_PARAMS(
        struct bioinfer_reader_params,
        .residues = s->cli->options->raw_residues ? BIOINFER_RESIDUES_RAW
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
            st = refuse(err, BIOINFER_LIMIT, "more than %d sequences or %lld residues",
                        SERVE_MAX_RECORDS, (long long)s->max_body);
        else
            st = count ? 0 : copy_record(r, &r->records[n], &record, path, err);
        n++;
    }
    bioinfer_reader_close(&reader);
    return st || !count ? st : make_records(r, n, err);
}

static int read_fasta(struct serve *s, struct serve_request *r, const char *body, size_t size,
                      struct bioinfer_error *err)
{
    char path[64];
    int st, fd = memory_file(body, size, err);

    if (fd < 0)
        return BIOINFER_NOMEM;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!(st = read_records(s, r, path, true, err)))
        st = read_records(s, r, path, false, err);
    close(fd);
    if (st) {
        const char *text = without_path(&r->arena, err->text, path);
        snprintf(err->text, sizeof err->text, "%s", text ? text : "no memory for the request");
    }
    return st;
}

/* ---- both ---- */

/* Takes settings from the query of the address, "a,b,c" where there may be several values. */
static int take_query(struct serve_request *r, const char *(*option)(void *user, const char *name),
                      void *user, struct bioinfer_error *err)
{
    int st = 0;

    for (size_t i = 0; i < CLI_COUNT(settings) && !st; i++) {
        const char *value = settings[i].works & 1u << r->key.work ? option(user, settings[i].name)
                                                                  : NULL;
        char part[64];
        if (value && !settings[i].list)
            st = settings[i].set(r, value, err);
        while (value && settings[i].list && cli_next_part(&value, part, sizeof part) && !st)
            st = settings[i].set(r, part, err);
    }
    return st;
}

int serve_request_read(struct serve *s, struct serve_request *r, const char *body, size_t size,
                       const char *(*option)(void *user, const char *name), void *user,
                       struct bioinfer_error *err)
{
    size_t blank = 0;
    int st;

    r->format = "json";
    r->offset = 1;
    if ((st = take_query(r, option, user, err)))
        return st;
    while (blank < size && strchr(" \t\r\n", body[blank]) && body[blank])
        blank++;
    if (blank == size)
        return refuse(err, BIOINFER_INVALID, "the request has no body");
    st = body[blank] == '{' ? read_json(s, r, body, size, err) : read_fasta(s, r, body, size, err);
    if (!st && r->key.work == SERVE_EMBED && !r->key.include && !s->cli->options->head &&
        (!strncmp(r->format, "json", 4) || !strcmp(r->format, "tsv")))
        r->key.include = BIOINFER_MEAN; /* as the command does for text */
    return st;
}

void serve_request_free(struct serve_request **request)
{
    struct serve_request *r = *request;

    if (!r)
        return;
    bioinfer_writer_close(&r->writer);
    if (r->path[0])
        unlink(r->path);
    if (r->fd >= 0)
        close(r->fd);
    bi_arena_reset(&r->arena);
    bi_buf_free(&r->text);
    free(r);
    *request = NULL;
}

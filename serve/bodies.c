/* bodies.c - structures, molecules and pairs become records.
 *
 *   {"structures": ["HEADER ...", {"id": "1ABC", "structure": "..."}, ...]}
 *   {"receptor": "ATOM ...", "ligands": "two\n..." or ["one\n...", ...]}
 *   {"pairs": [["HEAGAWGHEE", "PAWHEAE"], {"id": "q", "query": "...", "target_id": "t",
 *              "target": "..."}, ...]}
 *
 * A structure may be the body itself, and pairs may be FASTA. */
#include "serve.h"

#include "../base/temp.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const double MOST_CELLS = 1e11; /* a minute of a processor, about */

int serve_bodies_members(const char *what, const struct bi_json *json, const char *const *known,
                         struct bioinfer_error *err)
{
    for (const struct bi_json *at = json->first; at; at = at->next) {
        size_t i = 0;
        while (known[i] && (strcmp(known[i], at->key) || strlen(at->key) != at->key_len))
            i++;
        if (!known[i])
            return serve_refuse(err, BIOINFER_INVALID, "%s: '%.60s' is not known", what, at->key);
    }
    return 0;
}

int serve_bodies_list(const struct bi_json **list, const struct bi_json *root, const char *name,
                      struct bioinfer_error *err)
{
    *list = bi_json_get(root, name);
    if (!*list || (*list)->type != BI_JSON_ARRAY)
        return serve_refuse(err, BIOINFER_INVALID, "the request has no array \"%s\"", name);
    return 0;
}

/* ---- structures ---- */

static int put_structure(struct serve_request *r, struct bioinfer_record *record, const char *text,
                         size_t size, struct bioinfer_error *err)
{
    record->description = record->message = "";
    record->sequence = bi_arena_strndup(&r->arena, text, size);
    record->length = size;
    return record->sequence ? 0 : serve_no_memory(err);
}

int serve_bodies_structures(struct serve_request *r, const struct bi_json *root,
                            struct bioinfer_error *err)
{
    static const char *const known[] = {"id", "structure", NULL};
    const struct bi_json *list, *at;
    size_t i = 0;
    int st = serve_bodies_list(&list, root, "structures", err);
    if (!st && r->id)
        return serve_refuse(err, BIOINFER_INVALID,
                            "id is for a structure that is the body itself: name it in structures");
    if (st || (st = serve_request_make(r, list->n, err)))
        return st;
    for (at = list->first; at && !st; at = at->next, i++) {
        const struct bi_json *text = at->type == BI_JSON_OBJECT ? bi_json_get(at, "structure") : at;
        if (at->type == BI_JSON_OBJECT && (st = serve_bodies_members("structures", at, known, err)))
            return st;
        if (!text || text->type != BI_JSON_STRING)
            return serve_refuse(err, BIOINFER_INVALID, "structures: number %zu has no text", i);
        if (!(st = serve_request_id(r, &r->records[i].id, i, bi_json_get(at, "id"), err)))
            st = put_structure(r, &r->records[i], text->text, text->text_len, err);
    }
    return st;
}

int serve_bodies_structure(struct serve_request *r, const char *body, size_t size,
                           struct bioinfer_error *err)
{
    const struct bi_json id = {
        .type = BI_JSON_STRING, .text = r->id, .text_len = r->id ? (uint32_t)strlen(r->id) : 0};
    int st = serve_request_make(r, 1, err);
    if (!st)
        st = serve_request_id(r, &r->records[0].id, 0, r->id ? &id : NULL, err);
    return st ? st : put_structure(r, &r->records[0], body, size, err);
}

/* ---- ligands ---- */

/* Writes the receptor into a file of its own: the task knows receptors by their paths, so no two
 * requests have one. */
static int put_receptor(struct serve *s, struct serve_request *r, const struct bi_json *text,
                        struct bioinfer_error *err)
{
    const char *at = text->text;
    size_t left = text->text_len;
    uint64_t number;
    char path[sizeof r->receptor - BI_TEMP_SUFFIX];
    int fd;
    pthread_mutex_lock(&s->lock);
    number = ++s->n_receptors;
    pthread_mutex_unlock(&s->lock);
    snprintf(path, sizeof path, "%s/receptor-%llu", s->folder, (unsigned long long)number);
    if (bi_temp_file(r->receptor, path, &fd)) {
        r->receptor[0] = '\0';
        fd = -1;
    }
    while (fd >= 0 && left) {
        const ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        at += n;
        left -= (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return left || fd < 0 ? serve_refuse(err, BIOINFER_NO_SPACE, "receptor: no room to keep it")
                          : 0;
}

/* Reads the molecules of a text: counts them, or copies them behind the first *n. */
static int read_ligands(struct serve *s, struct serve_request *r, const struct bi_json *text,
                        bool count, size_t *n, struct bioinfer_error *err)
{
    struct bioinfer_record record = {0};
    bioinfer_ligands *ligands = NULL;
    uint64_t number = 0;
    char path[64];
    int st, fd = serve_request_file(text->text, text->text_len, err);
    if (fd < 0)
        return BIOINFER_NOMEM;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    st = bioinfer_ligands_open(&ligands, s->quiet, path, err);
    while (!st && (record = (struct bioinfer_record){0},
                   st = bioinfer_ligands_source(ligands, &record, err)) == 1) {
        struct bioinfer_record *to = count ? NULL : &r->records[*n];
        st = 0;
        ++*n;
        if (count) {
            if (*n > SERVE_MAX_RECORDS)
                st = serve_refuse(err, BIOINFER_LIMIT, "more than %d ligands", SERVE_MAX_RECORDS);
            continue;
        }
        *to = record;
        to->id = bi_arena_strndup(&r->arena, record.id, strlen(record.id));
        to->sequence = bi_arena_strndup(&r->arena, record.length ? record.sequence : "",
                                        record.length);
        to->message = record.message
                          ? serve_request_words(&r->arena, record.message, path, "ligands")
                          : "";
        to->description = "";
        to->receptor = r->receptor;
        to->file = "ligands";
        to->number = ++number;
        if (!to->id || !to->sequence || !to->message)
            st = serve_no_memory(err);
    }
    bioinfer_ligands_close(&ligands);
    close(fd);
    if (st) {
        const char *words = serve_request_words(&r->arena, err->text, path, "ligands");
        snprintf(err->text, sizeof err->text, "%s", words ? words : "no memory for the request");
    }
    return st;
}

int serve_bodies_ligands(struct serve *s, struct serve_request *r, const struct bi_json *root,
                         struct bioinfer_error *err)
{
    const struct bi_json *receptor = bi_json_get(root, "receptor");
    const struct bi_json *ligands = bi_json_get(root, "ligands"), *first;
    size_t n = 0;
    int st = 0;
    if (!receptor || receptor->type != BI_JSON_STRING)
        return serve_refuse(err, BIOINFER_INVALID, "the request has no text \"receptor\"");
    if (!ligands || (ligands->type != BI_JSON_STRING && ligands->type != BI_JSON_ARRAY))
        return serve_refuse(err, BIOINFER_INVALID,
                            "the request has no text \"ligands\", and no array of texts");
    first = ligands->type == BI_JSON_ARRAY ? ligands->first : ligands;
    for (int count = 1; count >= 0 && !st; count--) {
        n = 0;
        for (const struct bi_json *at = first; at && !st;
             at = ligands->type == BI_JSON_ARRAY ? at->next : NULL)
            st = at->type == BI_JSON_STRING
                     ? read_ligands(s, r, at, count, &n, err)
                     : serve_refuse(err, BIOINFER_INVALID, "ligands: one of them is no text");
        if (!st && count)
            st = serve_request_make(r, n, err);
    }
    return st ? st : put_receptor(s, r, receptor, err);
}

/* ---- pairs ---- */

static int make_targets(struct serve_request *r, struct bioinfer_error *err)
{
    r->targets = bi_arena_calloc(&r->arena, r->n_records, sizeof *r->targets);
    return r->targets ? 0 : serve_no_memory(err);
}

/* Gives the record of each pair its target, and bounds the work. */
static int join(struct serve_request *r, struct bioinfer_error *err)
{
    double cells = 0;
    for (size_t i = 0; i < r->n_records; i++) {
        struct bioinfer_record *q = &r->records[i], *t = &r->targets[i];
        if (!q->status && t->status) {
            q->status = t->status;
            q->message = t->message;
        }
        q->target = t->sequence;
        q->target_length = t->length;
        cells += (double)q->length * (double)t->length;
    }
    return cells > MOST_CELLS
               ? serve_refuse(err, BIOINFER_LIMIT,
                              "pairs: %.3g products of lengths, more than %.3g", cells, MOST_CELLS)
               : 0;
}

static int take_side(struct serve *s, struct serve_request *r, struct bioinfer_record *side,
                     size_t i, const struct bi_json *id, const struct bi_json *letters,
                     struct bioinfer_error *err)
{
    int st;
    side->description = side->message = "";
    if (!letters || letters->type != BI_JSON_STRING)
        return serve_refuse(err, BIOINFER_INVALID, "pairs: number %zu is not two texts", i);
    if ((st = serve_request_id(r, &side->id, i, id, err)))
        return st;
    return serve_request_letters(s, r, side, letters->text, letters->text_len, err);
}

int serve_bodies_pairs(struct serve *s, struct serve_request *r, const struct bi_json *root,
                       struct bioinfer_error *err)
{
    static const char *const known[] = {"id", "query", "target_id", "target", NULL};
    const struct bi_json *list, *at;
    size_t i = 0;
    int st = serve_bodies_list(&list, root, "pairs", err);
    if (st || (st = serve_request_make(r, list->n, err)) || (st = make_targets(r, err)))
        return st;
    for (at = list->first; at && !st; at = at->next, i++) {
        const bool object = at->type == BI_JSON_OBJECT,
                   two = at->type == BI_JSON_ARRAY && at->n == 2;
        const struct bi_json *query = object ? bi_json_get(at, "query") : two ? at->first : NULL;
        const struct bi_json *target = object ? bi_json_get(at, "target")
                                       : two  ? at->first->next
                                              : NULL;
        if (object && (st = serve_bodies_members("pairs", at, known, err)))
            return st;
        if (!(st = take_side(s, r, &r->records[i], i, bi_json_get(at, "id"), query, err)))
            st = take_side(s, r, &r->targets[i], i, bi_json_get(at, "target_id"), target, err);
    }
    return st ? st : join(r, err);
}

int serve_bodies_join(struct serve_request *r, struct bioinfer_error *err)
{
    const struct bioinfer_record *all = r->records;
    const size_t n = r->n_records;
    int st;
    if (n % 2)
        return serve_refuse(err, BIOINFER_INVALID,
                            "%zu records: a pair is a query and the target after it", n);
    if ((st = serve_request_make(r, n / 2, err)) || (st = make_targets(r, err)))
        return st;
    for (size_t i = 0; i < n; i++)
        (i % 2 ? r->targets : r->records)[i / 2] = all[i];
    return join(r, err);
}

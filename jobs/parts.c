/* parts.c - a partitioned output: a folder of files, each of N records, that are written once.
 *
 * Part k has the records from k N on. It is the output of a job of its own (job.c), with a journal
 * beside it while it is computed, so what holds for a job holds for every part: it is whole or not
 * there, and goes on where it stopped. Shard I of S computes the parts with k % S == I - 1: no part
 * depends on the number of shards. In the folder lie
 *
 *     part-000000.npz, part-000000.npz.manifest.tsv    a part; its ordinals begin with 0
 *     part-000000.json       the part is done: its files, their sizes and checksums, and where its
 *                            records are in the input
 *     shard-1-of-4.json      the shard is done: the job, and how many records the input has
 *     index.json             everything is done: the job and the descriptions of all parts
 *
 * Each of the three has what was named until then ("notes"), a part also in its manifest.
 *
 * A part is done when its description is there; no data is moved afterwards. Parts that are done
 * are checked against the input by a hash of all records up to their ends.
 *
 * Sections: 1 texts  2 descriptions of parts  3 opening  4 records  5 results  6 end */
#include "parts_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/map.h"
#include "../writers/text.h"

/* Parts that wait for results at a time; more records are read when one of them is done. */
enum { MOST_OPEN = 8, MAX_TEXT = 1 << 20, COPY_SIZE = 1 << 20 };

/* ---- 1 texts ---- */

char *bi_parts_path(const struct bi_parts *s, const char *name, struct bioinfer_error *err)
{
    char *path = bi_job_path(s->env, s->folder, name);
    if (!path)
        bi_fail(err, BIOINFER_NOMEM, "%s: path", s->folder);
    return path;
}

static void name_part(char name[BI_PARTS_NAME], uint64_t k, const char *suffix)
{
    snprintf(name, BI_PARTS_NAME, "part-%06" PRIu64 ".%s", k, suffix);
}

static int write_text(const struct bi_parts *s, const char *name, const struct bi_buf *text,
                      struct bioinfer_error *err)
{
    struct bi_out out = BI_OUT_NONE;
    char *path = bi_parts_path(s, name, err);
    int st = !path || text->failed ? bi_fail(err, BIOINFER_NOMEM, "%s: %s", s->folder, name) : 0;
    if (!st && !(st = bi_out_open(&out, s->env, path, err)) &&
        !(st = bi_out_write(&out, text->data, text->size, err)))
        st = bi_out_finish(&out, err);
    bi_out_close(&out);
    bi_free(s->env, path);
    return st;
}

int bi_parts_read_text(const struct bi_parts *s, struct bi_arena *arena, const char *name,
                       struct bi_json **root, const char **text, struct bioinfer_error *err)
{
    char *path = bi_parts_path(s, name, err), *bytes = NULL;
    size_t size = 0;
    int st = path ? bi_file_slurp(s->env, path, MAX_TEXT, &bytes, &size, err) : BIOINFER_NOMEM;
    if (!st && !(*text = bi_arena_strndup(arena, bytes, size)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s", path);
    /* one line, as it goes into the index */
    if (!st && (size < 3 || strcspn(*text, "\n") != size - 1 || (*text)[size - 2] != '}'))
        st = bi_fail(err, BIOINFER_FORMAT, "%s: expected one line with a JSON object", path);
    if (!st)
        st = bi_json_parse(root, arena, path, *text, size, err);
    bi_free(s->env, bytes);
    bi_free(s->env, path);
    return st;
}

bool bi_parts_get_hash(const struct bi_json *json, uint64_t *hash)
{
    const char *text = bi_json_string(json);
    *hash = 0;
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    for (; *text; text++)
        *hash = *hash << 4 | (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    return true;
}

/* ---- 2 descriptions of parts ---- */

int bi_parts_read_part(const struct bi_parts *s, uint64_t k, struct bi_described *d,
                       struct bi_arena *arena, struct bi_json **root, const char **text,
                       struct bioinfer_error *err)
{
    char name[BI_PARTS_NAME];
    uint64_t number;
    int st;
    name_part(name, k, "json");
    if ((st = bi_parts_read_text(s, arena, name, root, text, err)))
        return st;
    return bi_json_u64(bi_json_get(*root, "part"), &number) && number == k &&
                   bi_json_u64(bi_json_get(*root, "first"), &d->first) &&
                   bi_json_u64(bi_json_get(*root, "records"), &d->n) &&
                   bi_json_u64(bi_json_get(*root, "failed"), &d->failed) &&
                   bi_json_u64(bi_json_get(*root, "residues"), &d->residues) &&
                   bi_json_u64(bi_json_get(*root, "copied"), &d->copied) &&
                   bi_parts_get_hash(bi_json_get(*root, "input"), &d->input) &&
                   bi_parts_get_hash(bi_json_get(*root, "job"), &d->job)
               ? 0
               : bi_fail(err, BIOINFER_FORMAT, "%s/%s: a field is missing or wrong", s->folder,
                         name);
}

int bi_parts_sum(const struct bi_parts *s, const char *name, uint64_t *size, uint32_t *crc,
                 struct bioinfer_error *err)
{
    struct bi_file f = BI_FILE_NONE;
    const bi_crc32c sum = bi_crc32c_best();
    char *path = bi_parts_path(s, name, err), *chunk = bi_alloc(s->env, COPY_SIZE);
    int st = path && chunk ? bi_file_open(&f, s->env, path, err)
                           : bi_fail(err, BIOINFER_NOMEM, "%s: %s", s->folder, name);
    *size = f.size;
    *crc = 0;
    for (uint64_t at = 0; !st && at < f.size; at += COPY_SIZE) {
        const size_t n = (size_t)(f.size - at < COPY_SIZE ? f.size - at : COPY_SIZE);
        if (!(st = bi_file_read(&f, at, chunk, n, err)))
            *crc = sum(*crc, chunk, n);
    }
    bi_file_close(&f);
    bi_free(s->env, chunk);
    bi_free(s->env, path);
    return st;
}

/* Adds {"name", "size", "crc32c"} of a file of the folder. */
static int put_file(const struct bi_parts *s, struct bi_buf *out, const char *name,
                    struct bioinfer_error *err)
{
    uint64_t size;
    uint32_t crc;
    int st = bi_parts_sum(s, name, &size, &crc, err);
    bi_buf_puts(out, "{\"name\": ");
    bi_put_json(out, name);
    bi_buf_printf(out, ", \"size\": %" PRIu64 ", \"crc32c\": \"%08" PRIx32 "\"}", size, crc);
    return st;
}

/* Describes a part whose files are there: from here on it is done. */
static int describe(struct bi_parts *s, struct bi_open_part *p, struct bioinfer_error *err)
{
    struct bioinfer_job *job = p->job;
    const char *file = strrchr(job->path, '/') + 1;
    struct bi_buf text = {.env = s->env}, side = {.env = s->env};
    char name[BI_PARTS_NAME];
    int st;
    bi_buf_printf(&text,
                  "{\"part\": %" PRIu64 ", \"first\": %" PRIu64 ", \"records\": %" PRIu64
                  ", \"failed\": %" PRIu64 ", \"residues\": %" PRIu64 ", \"copied\": %" PRIu64
                  ", \"first_id\": ",
                  p->k, p->k * s->n_part, p->n, p->n - job->built.n_good, job->built.n_residues,
                  job->built.n_copied);
    bi_put_json(&text, bi_buf_text(&p->first_id));
    bi_buf_puts(&text, ", \"last_id\": ");
    bi_put_json(&text, bi_buf_text(&p->last_id));
    bi_buf_printf(&text,
                  ", \"arrays\": [%.*s], \"input\": \"%016" PRIx64 "\", \"job\": \"%016" PRIx64
                  "\", \"files\": [",
                  (int)job->built.arrays.size, job->built.arrays.size ? job->built.arrays.data : "",
                  p->input_hash, s->identity_hash);
    st = put_file(s, &text, file, err);
    if (!st && job->writer->ops->side_path) {
        job->writer->ops->side_path(&side, file);
        bi_buf_puts(&text, ", ");
        st = side.failed ? bi_writer_check(job->writer, &side, err)
                         : put_file(s, &text, side.data, err);
    }
    snprintf(name, sizeof name, "%.60s.manifest.tsv", file);
    bi_buf_puts(&text, ", ");
    if (!st && !(st = put_file(s, &text, name, err))) {
        bi_buf_puts(&text, "]");
        bi_notes_put_json(&job->notes, &text);
        bi_buf_puts(&text, "}\n");
        name_part(name, p->k, "json");
        st = write_text(s, name, &text, err);
    }
    bi_buf_free(&text);
    bi_buf_free(&side);
    return st;
}

/* ---- 3 opening ---- */

static bool keep(struct bi_arena *arena, const char **text)
{
    return !*text || (*text = bi_arena_strndup(arena, *text, strlen(*text)));
}

/* The parameters outlive the call that gave them. */
static int keep_params(struct bi_parts *s, const struct bioinfer_job_params *params,
                       struct bioinfer_error *err)
{
    struct bioinfer_job_params *p = &s->params;
    struct bioinfer_writer_params *w = &s->writer;
    struct bioinfer_job_input *inputs;
    bool ok;
    *p = *params;
    *w = params->writer ? *params->writer : (struct bioinfer_writer_params){0};
    inputs = bi_arena_calloc(&s->arena, (size_t)(p->n_inputs > 0 ? p->n_inputs : 0) + 1,
                             sizeof *inputs);
    ok = inputs && keep(&s->arena, &p->options) && keep(&s->arena, &p->input) &&
         keep(&s->arena, &p->input_role) && keep(&s->arena, &p->task) &&
         keep(&s->arena, &w->format) && keep(&s->arena, &w->model) &&
         keep(&s->arena, &w->fingerprint) && keep(&s->arena, &w->dtype) &&
         keep(&s->arena, &w->layout) && keep(&s->arena, &w->compression);
    for (int i = 0; ok && i < p->n_inputs; i++) {
        inputs[i] = p->inputs[i];
        ok = keep(&s->arena, &inputs[i].role) && keep(&s->arena, &inputs[i].path);
    }
    p->inputs = inputs;
    p->writer = w;
    p->shard = p->n_shards = 0;
    p->part_records = 0;
    return ok ? 0 : bi_fail(err, BIOINFER_NOMEM, "job");
}

/* A hash of what decides the bytes of parts, the writer's options included. */
static int hash_identity(struct bi_parts *s, struct bioinfer_error *err)
{
    const struct bioinfer_writer_params *w = &s->names->params;
    struct bi_identity id = {0};
    char text[256];
    int st = bi_identity_make(&id, s->env, &s->params, err);
    snprintf(text, sizeof text, "%s %s %s %s %d %d %d %" PRIu64, w->format, w->dtype, w->layout,
             w->compression, w->suffix_duplicates != 0, w->json_floats != 0,
             w->prottrans_names != 0, s->n_part);
    if (!st)
        s->identity_hash = bi_hash(text, strlen(text), bi_identity_hash(&id));
    bi_identity_free(&id);
    return st;
}

struct search {
    const struct bi_parts *s;
    bool forget, found;
};

static int remove_in(const struct bi_parts *s, const char *name)
{
    char *path = bi_parts_path(s, name, NULL);
    if (path)
        bi_path_remove(path);
    bi_free(s->env, path);
    return path ? 0 : BIOINFER_NOMEM;
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Finds files of parts of this shard; where it should, forgets that they are done. Descriptions
 * that a killed run was writing go. */
static int look_at(void *user, const char *name)
{
    struct search *search = user;
    const struct bi_parts *s = search->s;
    uint64_t k = 0;
    char begin[BI_PARTS_NAME];
    snprintf(begin, sizeof begin, "shard-%" PRIu64 "-of-%" PRIu64 ".json.tmp.", s->shard + 1,
             s->n_shards);
    if (begins(name, begin) || (!s->is_shard && begins(name, "index.json.tmp.")))
        return remove_in(s, name);
    if (!begins(name, "part-") || sscanf(name + 5, "%" SCNu64, &k) != 1)
        return 0;
    name_part(begin, k, "");
    if (!begins(name, begin) || k % s->n_shards != s->shard)
        return 0;
    if (begins(name + strlen(begin), "json.tmp."))
        return remove_in(s, name);
    search->found = true;
    return search->forget && !strcmp(name + strlen(begin), "json") ? remove_in(s, name) : 0;
}

static bool has_index(const struct bi_parts *s)
{
    char *path = bi_parts_path(s, "index.json", NULL);
    const bool there = path && bi_path_exists(path);
    bi_free(s->env, path);
    return there;
}

/* Without --resume parts that are there are in the way; --resume=no forgets that they are done. */
static int find_earlier(struct bi_parts *s, int resume, struct bioinfer_error *err)
{
    struct search search = {.s = s, .forget = resume == BIOINFER_RESUME_RESTART};
    char name[BI_PARTS_NAME];
    int st = bi_folder_list(s->env, s->folder, look_at, &search, err);
    if (!st && search.found && resume == BIOINFER_RESUME_NO)
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: parts are there already: --resume goes on with "
                     "them, --resume=no starts again",
                     s->folder);
    if (!st && !search.found && resume == BIOINFER_RESUME_NO && has_index(s))
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: an index.json is there without parts: it is of something else; name "
                     "another folder",
                     s->folder);
    if (st)
        return st;
    /* these say that all is done */
    snprintf(name, sizeof name, "shard-%" PRIu64 "-of-%" PRIu64 ".json", s->shard + 1, s->n_shards);
    return remove_in(s, "index.json") || remove_in(s, name)
               ? bi_fail(err, BIOINFER_NOMEM, "%s: path", s->folder)
               : 0;
}

/* The folder, and a lock on this shard's parts. */
static int take_folder(struct bi_parts *s, struct bioinfer_error *err)
{
    char name[BI_PARTS_NAME], *path;
    int st = bi_folder_make(s->env, s->folder, err);
    if (st)
        return st;
    snprintf(name, sizeof name, "shard-%" PRIu64 "-of-%" PRIu64 ".lock", s->shard + 1, s->n_shards);
    if (!(path = bi_parts_path(s, name, err)))
        return BIOINFER_NOMEM;
    if ((st = bi_lock_take(&s->lock, s->env, path, err)) == BIOINFER_MISUSE)
        st = bi_fail(err, BIOINFER_IO, "%s: another job is writing these parts", s->folder);
    bi_free(s->env, path);
    return st;
}

int bi_parts_open(struct bi_parts **out, struct bioinfer_job *owner, const char *path,
                  const struct bioinfer_job_params *params, struct bioinfer_error *err)
{
    const struct bi_env *env = owner->env;
    struct bi_parts *s = bi_zalloc(env, sizeof *s);
    char name[BI_PARTS_NAME], *part = NULL;
    int st;
    *out = NULL;
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "job");
    s->env = s->arena.env = env;
    s->lock = -1;
    s->owner = owner;
    s->index = params->seek ? params->index : NULL;
    s->part_expected = UINT64_MAX;
    s->n_part = (uint64_t)params->part_records;
    s->is_shard = params->n_shards > 0;
    s->n_shards = params->n_shards ? (uint64_t)params->n_shards : 1;
    s->shard = params->n_shards ? (uint64_t)params->shard - 1 : 0;
    if (!(s->folder = bi_strdup(env, path))) {
        st = bi_fail(err, BIOINFER_NOMEM, "job");
        goto out;
    }
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        s->folder[n - 1] = '\0';
    if (params->text_head || params->square || !params->writer || !params->writer->format ||
        params->writer->columns || params->writer->files) {
        st = bi_fail(err, BIOINFER_INVALID, "%s: parts are files of arrays; name their format",
                     s->folder);
        goto out;
    }
    name_part(name, 0, params->writer->format);
    if ((st = keep_params(s, params, err)) || !(part = bi_parts_path(s, name, err)) ||
        (st = bi_writer_new(&s->names, env, part, &s->writer, err))) {
        st = st ? st : BIOINFER_NOMEM;
        goto out;
    }
    if (s->names->ops->is_folder) {
        st = bi_fail(err, BIOINFER_INVALID, "%s: %s is a folder itself and has no parts", s->folder,
                     s->names->ops->name);
        goto out;
    }
    if ((st = bi_writer_ready(s->names, err)) || (st = hash_identity(s, err)) ||
        (st = take_folder(s, err)) || (st = find_earlier(s, params->resume, err)))
        goto out;
    *out = s;
    s = NULL;
out:
    bi_free(env, part);
    bi_parts_close(&s);
    return st;
}

/* ---- 4 records ---- */

int bi_parts_expect(struct bi_parts *s, const struct bioinfer_record *record,
                    struct bioinfer_error *err)
{
    const struct bi_writer_ops *ops = s->names->ops;
    const uint64_t ordinal = s->index ? record->ordinal : s->n_expected;
    const uint64_t k = ordinal / s->n_part;
    struct bioinfer_result name = {.ordinal = ordinal % s->n_part,
                                   .id = record->id ? record->id : "",
                                   .description = record->description};
    s->n_expected = ordinal + 1;
    if (s->n_read || (!ops->reserve && (!ops->keyed_by_id || s->writer.suffix_duplicates)))
        return 1;
    if (k != s->part_expected) { /* names are of one part */
        s->part_expected = k;
        bi_seen_free(&s->names->names);
        s->names->n_reserved = s->names->reserved_size = 0;
    }
    return k % s->n_shards == s->shard && !record->status ? bi_writer_reserve(s->names, &name, err)
                                                          : 0;
}

uint64_t bi_parts_wants(const struct bi_parts *s, uint64_t ordinal)
{
    const struct bi_split split = {s->n_part, s->n_shards, s->shard};
    return bi_split_next(&split, ordinal);
}

/* The next record of the input: 1, 0 at its end. Everything that it is counts in the hash. */
static int next(struct bi_parts *s, struct bioinfer_record *r, struct bioinfer_error *err)
{
    int st = s->ended || !s->owner->source ? 0 : s->owner->source(s->owner->source_user, r, err);
    if (st < 0)
        return st;
    if (st == BIOINFER_NONE_NOW)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "a folder of parts is made of a source that has "
                       "all of its records: it has none now");
    if (!st) {
        s->ended = true;
        return bi_index_check(s->index, s->n_read, true, s->input_hash, err);
    }
    if (!r->id)
        r->id = "";
    s->input_hash = bi_record_chain(s->input_hash, bi_record_hash(r));
    st = bi_index_check(s->index, ++s->n_read, false, s->input_hash, err);
    return st ? st : 1;
}

/* Goes on behind record number `end` - 1, or the last one, and reads no more of what lies before it
 * than the index needs. */
static int go_to(struct bi_parts *s, uint64_t end, struct bioinfer_error *err)
{
    const bioinfer_index *x = s->index;
    int st = 1;
    while (st > 0 && s->n_read < end) {
        struct bioinfer_record r = {0};
        const bool begins = x && s->n_read % x->block == 0;
        const uint64_t to = begins && end < x->n_records ? end - end % x->block : end;
        if (!begins || !bi_index_far(x, s->n_read, to)) {
            st = next(s, &r, err);
        } else if (to >= x->n_records) {
            s->n_read = x->n_records;
            s->input_hash = x->all;
            s->ended = true;
            st = 0;
        } else if (!(st = s->params.seek(s->owner->source_user, to, err))) {
            s->n_read = to;
            s->input_hash = x->entries[to / x->block].before;
            st = 1;
        }
    }
    return st < 0 ? st : 0;
}

/* The source of the job of a part: N records of the input, or those that there are. */
static int part_source(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    struct bi_open_part *p = user;
    int st;
    if (p->n == p->all->n_part || (st = next(p->all, r, err)) == 0)
        return 0;
    if (st < 0)
        return st;
    p->last_id.size = 0;
    bi_buf_puts(&p->last_id, r->id);
    if (!p->n++)
        bi_buf_puts(&p->first_id, r->id);
    p->input_hash = p->all->input_hash;
    return p->last_id.failed || p->first_id.failed
               ? bi_fail(err, BIOINFER_NOMEM, "record '%.60s'", r->id)
               : 1;
}

/* Removes the job of a part that is done: a run may have been killed before it did so. */
static void clear_part(const struct bi_parts *s, uint64_t k)
{
    struct bi_buf folder = {.env = s->env};
    char name[BI_PARTS_NAME];
    name_part(name, k, s->writer.format);
    bi_buf_printf(&folder, "%s/%s.part", s->folder, name);
    if (bi_buf_text(&folder) && bi_path_exists(folder.data))
        bi_job_clear(s->env, folder.data);
    bi_buf_free(&folder);
}

/* Goes on behind a part that is done, or of another shard. */
static int skip(struct bi_parts *s, uint64_t k, bool done, struct bioinfer_error *err)
{
    struct bi_arena arena = {.env = s->env};
    struct bi_described d = {0};
    struct bi_json *root;
    const char *text;
    uint64_t n = s->n_read;
    int st = done ? bi_parts_read_part(s, k, &d, &arena, &root, &text, err) : 0;
    if (!st && done)
        bi_notes_take_json(&s->owner->notes, bi_json_get(root, "notes"));
    bi_arena_reset(&arena);
    if (!st && done && d.job != s->identity_hash)
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: part %" PRIu64 " is of another model, of other "
                     "options, or of another format",
                     s->folder, k);
    if (st || (st = go_to(s, (k + 1) * s->n_part, err)) || !done)
        return st;
    n = s->n_read - n;
    if (d.n != n || d.input != s->input_hash)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: part %" PRIu64 " is of another input, or the "
                       "input has changed up to record %" PRIu64,
                       s->folder, k, s->n_read);
    clear_part(s, k);
    s->closed.records += d.n;
    s->closed.resumed += d.n;
    s->closed.failed += d.failed;
    s->closed.copied += d.copied;
    s->closed.by_status[0] += d.n - d.failed;
    return 0;
}

static int open_part(struct bi_parts *s, uint64_t k, struct bioinfer_error *err)
{
    struct bi_open_part *p = bi_zalloc(s->env, sizeof *p);
    char name[BI_PARTS_NAME], *path;
    int st;
    name_part(name, k, s->writer.format);
    if (!p || !(path = bi_parts_path(s, name, err))) {
        bi_free(s->env, p);
        return bi_fail(err, BIOINFER_NOMEM, "%s: part", s->folder);
    }
    p->all = s;
    p->k = k;
    p->first_id.env = p->last_id.env = s->env;
    p->input_hash = s->input_hash;
    /* a journal beside a part that is not done is ours: its job says whether it is the same */
    s->params.resume = s->params.resume == BIOINFER_RESUME_NO ? BIOINFER_RESUME_MATCH
                                                              : s->params.resume;
    st = bi_job_open(&p->job, s->env, path, &s->params, err);
    bi_free(s->env, path);
    if (st) {
        bi_free(s->env, p);
        return st;
    }
    p->job->source = part_source;
    p->job->source_user = p;
    p->next = s->open;
    s->open = s->current = p;
    s->n_open++;
    return 0;
}

/* Goes on to the next part that is to be computed: 1, 0 at the end or when too many are open. */
static int advance(struct bi_parts *s, struct bioinfer_error *err)
{
    while (!s->ended) {
        const uint64_t k = s->n_read / s->n_part;
        const bool mine = k % s->n_shards == s->shard;
        char name[BI_PARTS_NAME], *path;
        bool done;
        int st;
        name_part(name, k, "json");
        if (!(path = bi_parts_path(s, name, err)))
            return BIOINFER_NOMEM;
        done = mine && bi_path_exists(path);
        bi_free(s->env, path);
        if (mine && !done) {
            if ((s->blocked = s->n_open >= MOST_OPEN))
                return 0;
            st = open_part(s, k, err);
            return st ? st : 1;
        }
        if ((st = skip(s, k, done, err)))
            return st;
    }
    return 0;
}

static void drop(struct bi_parts *s, struct bi_open_part *p)
{
    struct bi_open_part **at = &s->open;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    s->current = s->current == p ? NULL : s->current;
    s->n_open--;
    bi_job_close(&p->job);
    bi_buf_free(&p->first_id);
    bi_buf_free(&p->last_id);
    bi_free(s->env, p);
}

static void add_stats(struct bioinfer_job_stats *to, const struct bioinfer_job_stats *s)
{
    to->records += s->records;
    to->failed += s->failed;
    to->resumed += s->resumed;
    to->copied += s->copied;
    to->residues += s->residues;
    for (size_t i = 0; i < BI_COUNT(to->by_status); i++)
        to->by_status[i] += s->by_status[i];
}

/* Writes a part all of whose results are there. */
static int finish_part(struct bi_parts *s, struct bi_open_part *p, struct bioinfer_error *err)
{
    int st = 0;
    if (!p->read || bi_job_pending(p->job) || p->job->part.n_set < p->n)
        return 0;
    if (p->n && p->job->complete && p->job->n_read != p->n)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: its input had %" PRIu64 " records, now %" PRIu64, p->job->folder,
                       p->job->n_read, p->n);
    /* an input that ends where a part does has no part behind it */
    if (p->n && ((st = bi_job_build(p->job, err)) || (st = describe(s, p, err))))
        return st;
    add_stats(&s->closed, &p->job->stats);
    bi_job_discard(p->job);
    drop(s, p);
    return 0;
}

/* A record of an open part: its own, or one that failed elsewhere and is computed after all. */
static int hand_out(struct bi_open_part *p, struct bioinfer_record *record,
                    struct bioinfer_error *err)
{
    int st = bi_job_source(p->job, record, err);
    if (st == 1)
        record->ordinal += p->k * p->all->n_part;
    return st;
}

int bi_parts_source(struct bi_parts *s, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct bioinfer_record rest = {0};
    int st;
    for (s->blocked = false;;) {
        struct bi_open_part *p = s->open;
        while (p && !p->job->retry)
            p = p->next;
        if (p)
            return hand_out(p, record, err);
        if (!s->current && (st = advance(s, err)) <= 0)
            return st;
        p = s->current;
        if ((st = hand_out(p, record, err)))
            return st;
        if (p->job->held_back)
            return 0;
        if (p->job->retry)
            continue;
        while ((st = part_source(p, &rest, err)) > 0) /* where the journal holds everything */
            ;
        if (st)
            return st;
        p->read = true;
        s->current = NULL;
        if ((st = finish_part(s, p, err)))
            return st;
    }
}

bool bi_parts_pending(const struct bi_parts *s)
{
    bool pending = s->blocked;
    for (const struct bi_open_part *p = s->open; p; p = p->next)
        pending = pending || bi_job_pending(p->job);
    return pending;
}

/* ---- 5 results ---- */

int bi_parts_sink(struct bi_parts *s, const struct bioinfer_result *result,
                  struct bioinfer_error *err)
{
    const uint64_t k = result->ordinal / s->n_part;
    struct bioinfer_result r = *result;
    struct bi_open_part *p = s->open;
    int st;
    while (p && p->k != k)
        p = p->next;
    if (!p)
        return bi_fail(err, BIOINFER_MISUSE,
                       "job: a result of record %" PRIu64 ", which was not handed out", r.ordinal);
    r.ordinal %= s->n_part;
    st = bi_job_sink(p->job, &r, err);
    return st ? st : finish_part(s, p, err);
}

int bi_parts_commit(struct bi_parts *s, struct bioinfer_error *err)
{
    int st = 0;
    for (struct bi_open_part *p = s->open; p && !st; p = p->next)
        st = bi_job_commit(p->job, err);
    return st;
}

void bi_parts_count(const struct bi_parts *s, struct bioinfer_job_stats *stats)
{
    *stats = s->closed;
    stats->committed = s->closed.records;
    for (const struct bi_open_part *p = s->open; p; p = p->next) {
        add_stats(stats, &p->job->stats);
        stats->committed += p->job->unsaid && p->job->fresh ? 0 : p->job->n_kept;
    }
    stats->input_records = s->n_read;
    stats->folder = s->folder;
}

/* ---- 6 end ---- */

/* Says that all parts of this shard are done. */
static int write_shard(const struct bi_parts *s, struct bioinfer_error *err)
{
    const struct bioinfer_writer_params *w = &s->names->params;
    const char *const texts[][2] = {{"model", w->model},
                                    {"fingerprint", w->fingerprint},
                                    {"task", s->params.task ? s->params.task : "embed"},
                                    {"options", s->params.options ? s->params.options : ""},
                                    {"format", w->format},
                                    {"dtype", w->dtype},
                                    {"layout", w->layout},
                                    {"compression", w->compression}};
    struct bi_buf text = {.env = s->env};
    char name[BI_PARTS_NAME];
    int st;
    bi_buf_printf(&text, "{\"bioinfer\": \"%d.%d.%d\"", BIOINFER_VERSION_MAJOR,
                  BIOINFER_VERSION_MINOR, BIOINFER_VERSION_PATCH);
    for (size_t i = 0; i < BI_COUNT(texts); i++) {
        bi_buf_printf(&text, ", \"%s\": ", texts[i][0]);
        bi_put_json(&text, texts[i][1]);
    }
    bi_buf_printf(&text,
                  ", \"part_records\": %" PRIu64 ", \"input_records\": %" PRIu64
                  ", \"input\": \"%016" PRIx64 "\", \"job\": \"%016" PRIx64 "\"",
                  s->n_part, s->n_read, s->input_hash, s->identity_hash);
    bi_notes_put_json(&s->owner->notes, &text);
    bi_buf_puts(&text, "}\n");
    snprintf(name, sizeof name, "shard-%" PRIu64 "-of-%" PRIu64 ".json", s->shard + 1, s->n_shards);
    st = write_text(s, name, &text, err);
    bi_buf_free(&text);
    return st;
}

int bi_parts_finish(struct bi_parts *s, struct bioinfer_error *err)
{
    int st;
    if (s->open || !s->ended)
        return bi_fail(err, BIOINFER_MISUSE,
                       "job: finish before the end of the input, or of its "
                       "results");
    if ((st = write_shard(s, err)) || s->is_shard)
        return st;
    return bi_parts_merge(s->env, s->folder, false, NULL, err);
}

void bi_parts_discard(struct bi_parts *s)
{
    while (s->open) {
        bi_job_discard(s->open->job);
        drop(s, s->open);
    }
}

void bi_parts_close(struct bi_parts **parts)
{
    struct bi_parts *s = *parts;
    char name[BI_PARTS_NAME], *path;
    if (!s)
        return;
    while (s->open)
        drop(s, s->open);
    if (s->lock >= 0) {
        snprintf(name, sizeof name, "shard-%" PRIu64 "-of-%" PRIu64 ".lock", s->shard + 1,
                 s->n_shards);
        if ((path = bi_parts_path(s, name, NULL)))
            bi_path_remove(path);
        bi_free(s->env, path);
        bi_folder_remove_empty(s->folder);
    }
    bi_lock_release(&s->lock);
    bi_writer_close(&s->names);
    bi_arena_reset(&s->arena);
    bi_free(s->env, s->folder);
    bi_free(s->env, s);
    *parts = NULL;
}

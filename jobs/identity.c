/* identity.c - job.json: what must be the same when a job is resumed or merged. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/map.h"
#include "../loaders/json.h"
#include "../writers/text.h"
#include "job.h"

enum { MAX_FILE = 1 << 24, MAX_INPUTS = 64 }; /* a head names up to 30,000 columns */
/* 2: in units, with inputs by role. 3: fingerprints are of all that decides results. */
enum { FORMAT = 3 };

/* As JSON will give it back: well-formed UTF-8. */
static const char *copy(struct bi_arena *arena, const char *text)
{
    struct bi_buf utf8 = {.env = arena->env};
    const char *out = NULL;
    bi_put_utf8(&utf8, text ? text : "");
    if (bi_buf_text(&utf8))
        out = bi_arena_strndup(arena, utf8.data, utf8.size);
    bi_buf_free(&utf8);
    return out;
}

static int add_input(struct bi_identity *id, const char *role, const char *path,
                     struct bioinfer_error *err)
{
    struct bi_input_fact *in = &id->inputs[id->n_inputs];
    const bool is_stdin = !path || !strcmp(path, "-");
    in->role = copy(&id->arena, role);
    in->path = copy(&id->arena, is_stdin ? "-" : path);
    if (!in->role || !in->path)
        return bi_fail(err, BIOINFER_NOMEM, "job");
    /* a pipe given by name has no facts either */
    if (!is_stdin && bi_file_facts(&in->facts, id->arena.env, path, NULL))
        in->facts = (struct bi_file_facts){0};
    id->n_inputs++;
    return 0;
}

static int take_square(struct bi_identity *id, const struct bioinfer_job_params *params,
                       struct bioinfer_error *err)
{
    struct bi_square square;
    int st;
    if (params->text_head || params->units)
        return bi_fail(err, BIOINFER_INVALID, "job: a matrix with %s",
                       params->units ? "units" : "a text before it");
    if ((st = bi_square_take(&square, params->square, err)))
        return st;
    id->square = bi_square_text(&square, &id->arena);
    return id->square ? 0 : bi_fail(err, BIOINFER_NOMEM, "job");
}

int bi_identity_make(struct bi_identity *id, const struct bi_env *env,
                     const struct bioinfer_job_params *params, struct bioinfer_error *err)
{
    const struct bioinfer_writer_params *w = params->writer;
    const char *head = params->text_head, *tail = params->text_tail;
    int st;
    *id = (struct bi_identity){.arena.env = env,
                               .shard = params->n_shards ? (uint64_t)params->shard : 1,
                               .n_shards = params->n_shards ? (uint64_t)params->n_shards : 1,
                               .units = params->units,
                               .dedup = !params->no_dedup && !head && !params->units &&
                                        !params->square && !(w && w->columns && *w->columns) &&
                                        !(w && w->files && *w->files)};
    if (params->n_inputs < 0 || params->n_inputs >= MAX_INPUTS)
        return bi_fail(err, BIOINFER_INVALID, "job: %d inputs, at most %d", params->n_inputs,
                       MAX_INPUTS - 1);
    id->version = bi_arena_printf(&id->arena, "%d.%d.%d", BIOINFER_VERSION_MAJOR,
                                  BIOINFER_VERSION_MINOR, BIOINFER_VERSION_PATCH);
    id->task = copy(&id->arena, params->task ? params->task : "embed");
    id->model = copy(&id->arena, w ? w->model : NULL);
    id->fingerprint = copy(&id->arena, w ? w->fingerprint : NULL);
    id->options = copy(&id->arena, params->options);
    id->text_head = head ? copy(&id->arena, head) : NULL;
    id->text_tail = tail ? copy(&id->arena, tail) : NULL;
    if (params->square && (st = take_square(id, params, err)))
        return st;
    id->tracks = w && w->tracks && *w->tracks ? copy(&id->arena, w->tracks) : NULL;
    id->columns = w && w->columns && *w->columns ? copy(&id->arena, w->columns) : NULL;
    id->files = w && w->files && *w->files ? copy(&id->arena, w->files) : NULL;
    id->inputs = bi_arena_calloc(&id->arena, (size_t)params->n_inputs + 1, sizeof *id->inputs);
    if (!id->version || !id->task || !id->model || !id->fingerprint || !id->options ||
        (head && !id->text_head) || (tail && !id->text_tail) ||
        (w && w->tracks && *w->tracks && !id->tracks) ||
        (w && w->columns && *w->columns && !id->columns) ||
        (w && w->files && *w->files && !id->files) || !id->inputs)
        return bi_fail(err, BIOINFER_NOMEM, "job");
    if (head && strcmp(head, id->text_head))
        return bi_fail(err, BIOINFER_INVALID, "job: the head of the output is no UTF-8");
    if (tail && (!head || strcmp(tail, id->text_tail)))
        return bi_fail(err, BIOINFER_INVALID,
                       head ? "job: the tail of the output is no UTF-8"
                            : "job: a text after the output without one before it");
    st = add_input(id, params->input_role ? params->input_role : "input", params->input, err);
    for (int i = 0; i < params->n_inputs && !st; i++)
        st = add_input(id, params->inputs[i].role, params->inputs[i].path, err);
    return st;
}

void bi_identity_free(struct bi_identity *id)
{
    if (id->arena.env)
        bi_arena_reset(&id->arena);
    *id = (struct bi_identity){0};
}

static void put_text(struct bi_buf *out, const char *key, const char *value)
{
    bi_buf_printf(out, "  \"%s\": ", key);
    bi_put_json(out, value);
    bi_buf_puts(out, ",\n");
}

static void put_inputs(struct bi_buf *out, const struct bi_identity *id)
{
    bi_buf_puts(out, "  \"inputs\": [");
    for (int i = 0; i < id->n_inputs; i++) {
        const struct bi_input_fact *in = &id->inputs[i];
        bi_buf_printf(out, "%s\n    {\"role\": ", i ? "," : "");
        bi_put_json(out, in->role);
        bi_buf_puts(out, ", \"path\": ");
        bi_put_json(out, in->path);
        bi_buf_printf(out,
                      ",\n     \"size\": %" PRIu64 ", \"time\": \"%" PRId64
                      "\", \"hash\": \"%016" PRIx64 "%016" PRIx64 "\"}",
                      in->facts.size, in->facts.mtime, in->facts.hash[0], in->facts.hash[1]);
    }
    bi_buf_puts(out, "\n  ],\n");
}

int bi_identity_write(const struct bi_identity *id, const struct bi_env *env, const char *folder,
                      struct bioinfer_error *err)
{
    struct bi_buf text = {.env = env};
    struct bi_out out = BI_OUT_NONE;
    char *path = bi_job_path(env, folder, "job.json");
    int st;
    bi_buf_printf(&text, "{\n  \"format\": %d,\n", FORMAT);
    put_text(&text, "bioinfer", id->version);
    put_text(&text, "task", id->task);
    put_text(&text, "model", id->model);
    put_text(&text, "fingerprint", id->fingerprint);
    put_text(&text, "options", id->options);
    if (id->text_head)
        put_text(&text, "text_head", id->text_head);
    if (id->text_tail)
        put_text(&text, "text_tail", id->text_tail);
    if (id->square)
        put_text(&text, "square", id->square);
    if (id->tracks)
        put_text(&text, "tracks", id->tracks);
    if (id->columns)
        put_text(&text, "arrays", id->columns);
    if (id->files)
        put_text(&text, "files", id->files);
    put_inputs(&text, id);
    bi_buf_printf(&text, "  \"shard\": %" PRIu64 ",\n  \"shards\": %" PRIu64 ",\n", id->shard,
                  id->n_shards);
    if (id->units) /* other jobs have what they had before there were any */
        bi_buf_puts(&text, "  \"units\": true,\n");
    if (id->block)
        bi_buf_printf(&text, "  \"block\": %" PRIu64 ",\n", id->block);
    bi_buf_printf(&text, "  \"dedup\": %s\n}\n", id->dedup ? "true" : "false");
    if (!path || text.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "%s: job.json", folder);
    else if (text.size > MAX_FILE)
        st = bi_fail(err, BIOINFER_LIMIT, "%s: job.json of %zu bytes, expected at most %d", folder,
                     text.size, MAX_FILE);
    else if (!(st = bi_out_open(&out, env, path, err)) &&
             !(st = bi_out_write(&out, text.data, text.size, err)))
        st = bi_out_finish(&out, err);
    bi_out_close(&out);
    bi_buf_free(&text);
    bi_free(env, path);
    return st;
}

static int hex_hash(const char *text, uint64_t hash[2])
{
    if (!text || strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
        return 0;
    for (int k = 0; k < 2; k++) {
        hash[k] = 0;
        for (int i = 0; i < 16; i++) {
            char c = text[16 * k + i];
            hash[k] = hash[k] << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
        }
    }
    return 1;
}

static bool decimal(const char *text, int64_t *out)
{
    uint64_t v = 0;
    bool minus = text && *text == '-';
    if (!text || !text[minus])
        return false;
    for (text += minus; *text; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (*text < '0' || *text > '9' || v > (INT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

/* False: a field of an input is missing or wrong; *st when there is no memory. */
static bool parse_inputs(struct bi_identity *id, const struct bi_json *list, int *st)
{
    if (!list || list->type != BI_JSON_ARRAY || !list->n || list->n > MAX_INPUTS)
        return false;
    if (!(id->inputs = bi_arena_calloc(&id->arena, list->n, sizeof *id->inputs))) {
        *st = BIOINFER_NOMEM;
        return false;
    }
    for (const struct bi_json *i = list->first; i; i = i->next) {
        struct bi_input_fact *in = &id->inputs[id->n_inputs++];
        in->role = bi_json_string(bi_json_get(i, "role"));
        in->path = bi_json_string(bi_json_get(i, "path"));
        if (!in->role || !in->path || !bi_json_u64(bi_json_get(i, "size"), &in->facts.size) ||
            !decimal(bi_json_string(bi_json_get(i, "time")), &in->facts.mtime) ||
            !hex_hash(bi_json_string(bi_json_get(i, "hash")), in->facts.hash))
            return false;
    }
    return true;
}

/* 0 when there is none. */
static bool parse_block(struct bi_identity *id, const struct bi_json *json)
{
    return !json || (bi_json_u64(json, &id->block) && id->block && id->block <= UINT32_MAX);
}

static int parse(struct bi_identity *id, const char *path, const char *text, size_t size,
                 struct bioinfer_error *err)
{
    struct bi_json *root;
    uint64_t format = 0;
    int st = bi_json_parse(&root, &id->arena, path, text, size, err);
    if (st)
        return st;
    if (!bi_json_u64(bi_json_get(root, "format"), &format) || format != FORMAT)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: a journal of format %" PRIu64
                       ", expected %d: made by %s bioinfer, which "
                       "can go on with it; --resume=no starts again",
                       path, format, FORMAT, format < FORMAT ? "an older" : "a newer");
    id->version = bi_json_string(bi_json_get(root, "bioinfer"));
    id->task = bi_json_string(bi_json_get(root, "task"));
    id->model = bi_json_string(bi_json_get(root, "model"));
    id->fingerprint = bi_json_string(bi_json_get(root, "fingerprint"));
    id->options = bi_json_string(bi_json_get(root, "options"));
    id->text_head = bi_json_string(bi_json_get(root, "text_head"));
    id->text_tail = bi_json_string(bi_json_get(root, "text_tail"));
    id->square = bi_json_string(bi_json_get(root, "square"));
    id->tracks = bi_json_string(bi_json_get(root, "tracks"));
    id->columns = bi_json_string(bi_json_get(root, "arrays"));
    id->files = bi_json_string(bi_json_get(root, "files"));
    bi_json_bool(bi_json_get(root, "units"), &id->units);
    if (!id->version || !id->task || !id->model || !id->fingerprint || !id->options ||
        !parse_inputs(id, bi_json_get(root, "inputs"), &st) ||
        !bi_json_u64(bi_json_get(root, "shard"), &id->shard) ||
        !bi_json_u64(bi_json_get(root, "shards"), &id->n_shards) ||
        !parse_block(id, bi_json_get(root, "block")) ||
        !bi_json_bool(bi_json_get(root, "dedup"), &id->dedup) || !id->shard ||
        id->shard > id->n_shards)
        return st ? bi_fail(err, st, "%s: inputs", path)
                  : bi_fail(err, BIOINFER_FORMAT, "%s: a field is missing or wrong", path);
    return 0;
}

int bi_identity_read(struct bi_identity *id, const struct bi_env *env, const char *folder,
                     struct bioinfer_error *err)
{
    char *path = bi_job_path(env, folder, "job.json"), *text = NULL;
    size_t size;
    int st;
    *id = (struct bi_identity){.arena.env = env};
    if (!path)
        return bi_fail(err, BIOINFER_NOMEM, "%s: job.json", folder);
    if (!(st = bi_file_slurp(env, path, MAX_FILE, &text, &size, err)))
        st = parse(id, path, text, size, err);
    bi_free(env, text);
    bi_free(env, path);
    return st;
}

/* Long texts are shown from the word that differs. */
static int differ(struct bioinfer_error *err, const char *folder, const char *what,
                  const char *have, const char *want)
{
    size_t same = 0;
    while (have[same] && have[same] == want[same])
        same++;
    while (same && have[same - 1] != ' ')
        same--;
    have += same;
    want += same;
    return bi_fail(err, BIOINFER_MISMATCH,
                   "%s: this journal is of another job: %s was '%.60s', "
                   "now '%.60s'",
                   folder, what, have, want);
}

/* An input that both have: between shards its path and time may differ. */
static int compare_input(const struct bi_input_fact *have, const struct bi_input_fact *want,
                         bool shards, const char *folder, struct bioinfer_error *err)
{
    char what[96], a[64], b[64];
    snprintf(what, sizeof what, "the %.60s", want->role);
    if (!shards && strcmp(have->path, want->path))
        return differ(err, folder, what, have->path, want->path);
    snprintf(what, sizeof what, "the size of the %.60s", want->role);
    if (have->facts.size != want->facts.size) {
        snprintf(a, sizeof a, "%" PRIu64, have->facts.size);
        snprintf(b, sizeof b, "%" PRIu64, want->facts.size);
        return differ(err, folder, what, a, b);
    }
    snprintf(what, sizeof what, "the content of the %.60s", want->role);
    if (memcmp(have->facts.hash, want->facts.hash, sizeof have->facts.hash)) {
        snprintf(a, sizeof a, "%016" PRIx64, have->facts.hash[0]);
        snprintf(b, sizeof b, "%016" PRIx64, want->facts.hash[0]);
        return differ(err, folder, what, a, b);
    }
    snprintf(what, sizeof what, "the time of the %.60s", want->role);
    if (!shards && have->facts.mtime != want->facts.mtime) {
        snprintf(a, sizeof a, "%" PRId64, have->facts.mtime);
        snprintf(b, sizeof b, "%" PRId64, want->facts.mtime);
        return differ(err, folder, what, a, b);
    }
    return 0;
}

/* Which inputs there are, then each of them. */
static int compare_inputs(const struct bi_identity *have, const struct bi_identity *want,
                          bool shards, const char *folder, struct bioinfer_error *err)
{
    int st = 0;
    for (int i = 0; i < have->n_inputs || i < want->n_inputs; i++) {
        const char *a = i < have->n_inputs ? have->inputs[i].role : "none";
        const char *b = i < want->n_inputs ? want->inputs[i].role : "none";
        if (strcmp(a, b))
            return differ(err, folder, "an input", a, b);
    }
    for (int i = 0; i < want->n_inputs && !st; i++)
        st = compare_input(&have->inputs[i], &want->inputs[i], shards, folder, err);
    return st;
}

int bi_identity_compare(const struct bi_identity *have, const struct bi_identity *want, bool shards,
                        const char *folder, struct bioinfer_error *err)
{
    const struct {
        const char *what, *have, *want;
    } texts[] = {
        {"bioinfer", have->version, want->version},
        {"the task", have->task, want->task},
        {"the model", have->model, want->model},
        {"the fingerprint of model, head, build and device", have->fingerprint, want->fingerprint},
        {"an option", have->options, want->options},
        {"the head of the output", have->text_head ? have->text_head : "none",
         want->text_head ? want->text_head : "none"},
        {"the tail of the output", have->text_tail ? have->text_tail : "none",
         want->text_tail ? want->text_tail : "none"},
        {"the matrix", have->square ? have->square : "none", want->square ? want->square : "none"},
        {"the names of tracks", have->tracks ? have->tracks : "none",
         want->tracks ? want->tracks : "none"},
        {"the arrays", have->columns ? have->columns : "none",
         want->columns ? want->columns : "none"},
        {"the table of the folder", have->files ? have->files : "none",
         want->files ? want->files : "none"},
    };
    char a[64], b[64];
    int st;
    for (size_t i = 0; i < BI_COUNT(texts); i++)
        if (strcmp(texts[i].have, texts[i].want))
            return differ(err, folder, texts[i].what, texts[i].have, texts[i].want);
    if ((st = compare_inputs(have, want, shards, folder, err)))
        return st;
    if (have->dedup != want->dedup)
        return differ(err, folder, "dedup", have->dedup ? "on" : "off", want->dedup ? "on" : "off");
    if (have->units != want->units)
        return differ(err, folder, "what a piece is", have->units ? "a record" : "a part",
                      want->units ? "a record" : "a part");
    if (have->block != want->block) {
        snprintf(a, sizeof a, have->block ? "of %" PRIu64 " records" : "there was none",
                 have->block);
        snprintf(b, sizeof b, want->block ? "of %" PRIu64 " records" : "there is none",
                 want->block);
        return differ(err, folder, "the blocks of the input's index (bioinfer index)", a, b);
    }
    if (have->n_shards != want->n_shards || (!shards && have->shard != want->shard)) {
        snprintf(a, sizeof a, "%" PRIu64 "/%" PRIu64, have->shard, have->n_shards);
        snprintf(b, sizeof b, "%" PRIu64 "/%" PRIu64, want->shard, want->n_shards);
        return differ(err, folder, "the shard", a, b);
    }
    return 0;
}

uint64_t bi_identity_hash(const struct bi_identity *id)
{
    const char *texts[] = {id->version,     id->task,    id->model,
                           id->fingerprint, id->options, id->text_head ? id->text_head : ""};
    uint64_t h = id->dedup + 2u * id->units;
    for (size_t i = 0; i < BI_COUNT(texts); i++)
        h = bi_hash(texts[i], strlen(texts[i]) + 1, h);
    if (id->square)
        h = bi_hash(id->square, strlen(id->square) + 1, h);
    if (id->tracks)
        h = bi_hash(id->tracks, strlen(id->tracks) + 1, h);
    if (id->columns)
        h = bi_hash(id->columns, strlen(id->columns) + 1, h);
    if (id->files)
        h = bi_hash(id->files, strlen(id->files) + 1, h);
    for (int i = 1; i < id->n_inputs; i++) /* the first one is known by its records */
        h = bi_hash(id->inputs[i].facts.hash, sizeof id->inputs[i].facts.hash,
                    bi_hash(id->inputs[i].role, strlen(id->inputs[i].role) + 1, h));
    return h;
}

/* identity.c - job.json: what must be the same when a job is resumed or merged. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/map.h"
#include "../loaders/json.h"
#include "../writers/text.h"
#include "job.h"

enum { MAX_FILE = 1 << 20, FORMAT = 1 };

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

int bi_identity_make(struct bi_identity *id, const struct bi_env *env,
                     const struct bioinfer_job_params *params, struct bioinfer_error *err)
{
    const struct bioinfer_writer_params *w = params->writer;
    bool is_stdin = !params->input || !strcmp(params->input, "-");
    *id = (struct bi_identity){.arena.env = env,
                               .shard = params->n_shards ? (uint64_t)params->shard : 1,
                               .n_shards = params->n_shards ? (uint64_t)params->n_shards : 1,
                               .dedup = !params->no_dedup};
    id->version = bi_arena_printf(&id->arena, "%d.%d.%d", BIOINFER_VERSION_MAJOR,
                                  BIOINFER_VERSION_MINOR, BIOINFER_VERSION_PATCH);
    id->model = copy(&id->arena, w ? w->model : NULL);
    id->fingerprint = copy(&id->arena, w ? w->fingerprint : NULL);
    id->options = copy(&id->arena, params->options);
    id->input = copy(&id->arena, is_stdin ? "-" : params->input);
    if (!id->version || !id->model || !id->fingerprint || !id->options || !id->input)
        return bi_fail(err, BIOINFER_NOMEM, "job");
    /* a pipe given by name has no facts either */
    if (!is_stdin && bi_file_facts(&id->facts, env, id->input, NULL))
        id->facts = (struct bi_file_facts){0};
    return 0;
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

int bi_identity_write(const struct bi_identity *id, const struct bi_env *env,
                      const char *folder, struct bioinfer_error *err)
{
    struct bi_buf text = {.env = env};
    struct bi_out out = BI_OUT_NONE;
    char *path = bi_job_path(env, folder, "job.json");
    int st;
    bi_buf_printf(&text, "{\n  \"format\": %d,\n", FORMAT);
    put_text(&text, "bioinfer", id->version);
    put_text(&text, "model", id->model);
    put_text(&text, "fingerprint", id->fingerprint);
    put_text(&text, "options", id->options);
    put_text(&text, "input", id->input);
    bi_buf_printf(&text,
                  "  \"input_size\": %" PRIu64 ",\n  \"input_time\": \"%" PRId64 "\",\n"
                  "  \"input_hash\": \"%016" PRIx64 "%016" PRIx64 "\",\n"
                  "  \"shard\": %" PRIu64 ",\n  \"shards\": %" PRIu64 ",\n  \"dedup\": %s\n}\n",
                  id->facts.size, id->facts.mtime, id->facts.hash[0], id->facts.hash[1],
                  id->shard, id->n_shards, id->dedup ? "true" : "false");
    if (!path || text.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "%s: job.json", folder);
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

static int parse(struct bi_identity *id, const char *path, const char *text, size_t size,
                 struct bioinfer_error *err)
{
    struct bi_json *root;
    uint64_t format = 0;
    int st = bi_json_parse(&root, &id->arena, path, text, size, err);
    if (st)
        return st;
    if (!bi_json_u64(bi_json_get(root, "format"), &format) || format != FORMAT)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: written by another version of bioinfer",
                       path);
    id->version = bi_json_string(bi_json_get(root, "bioinfer"));
    id->model = bi_json_string(bi_json_get(root, "model"));
    id->fingerprint = bi_json_string(bi_json_get(root, "fingerprint"));
    id->options = bi_json_string(bi_json_get(root, "options"));
    id->input = bi_json_string(bi_json_get(root, "input"));
    if (!id->version || !id->model || !id->fingerprint || !id->options || !id->input ||
        !bi_json_u64(bi_json_get(root, "input_size"), &id->facts.size) ||
        !decimal(bi_json_string(bi_json_get(root, "input_time")), &id->facts.mtime) ||
        !hex_hash(bi_json_string(bi_json_get(root, "input_hash")), id->facts.hash) ||
        !bi_json_u64(bi_json_get(root, "shard"), &id->shard) ||
        !bi_json_u64(bi_json_get(root, "shards"), &id->n_shards) ||
        !bi_json_bool(bi_json_get(root, "dedup"), &id->dedup) || !id->shard ||
        id->shard > id->n_shards)
        return bi_fail(err, BIOINFER_FORMAT, "%s: a field is missing or wrong", path);
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
    return bi_fail(err, BIOINFER_MISMATCH, "%s: this journal is of another job: %s was '%.60s', "
                   "now '%.60s'", folder, what, have, want);
}

int bi_identity_compare(const struct bi_identity *have, const struct bi_identity *want,
                        bool shards, const char *folder, struct bioinfer_error *err)
{
    const struct {
        const char *what, *have, *want;
    } texts[] = {
        {"bioinfer", have->version, want->version},
        {"the model", have->model, want->model},
        {"the fingerprint of model, head, build and device", have->fingerprint, want->fingerprint},
        {"an option", have->options, want->options},
        {"the input", have->input, want->input},
    };
    char a[64], b[64];
    for (size_t i = 0; i < BI_COUNT(texts) - shards; i++)
        if (strcmp(texts[i].have, texts[i].want))
            return differ(err, folder, texts[i].what, texts[i].have, texts[i].want);
    if (have->facts.size != want->facts.size) {
        snprintf(a, sizeof a, "%" PRIu64, have->facts.size);
        snprintf(b, sizeof b, "%" PRIu64, want->facts.size);
        return differ(err, folder, "the size of the input", a, b);
    }
    if (memcmp(have->facts.hash, want->facts.hash, sizeof have->facts.hash)) {
        snprintf(a, sizeof a, "%016" PRIx64, have->facts.hash[0]);
        snprintf(b, sizeof b, "%016" PRIx64, want->facts.hash[0]);
        return differ(err, folder, "the content of the input", a, b);
    }
    if (!shards && have->facts.mtime != want->facts.mtime) {
        snprintf(a, sizeof a, "%" PRId64, have->facts.mtime);
        snprintf(b, sizeof b, "%" PRId64, want->facts.mtime);
        return differ(err, folder, "the time of the input", a, b);
    }
    if (have->dedup != want->dedup)
        return differ(err, folder, "dedup", have->dedup ? "on" : "off",
                      want->dedup ? "on" : "off");
    if (have->n_shards != want->n_shards || (!shards && have->shard != want->shard)) {
        snprintf(a, sizeof a, "%" PRIu64 "/%" PRIu64, have->shard, have->n_shards);
        snprintf(b, sizeof b, "%" PRIu64 "/%" PRIu64, want->shard, want->n_shards);
        return differ(err, folder, "the shard", a, b);
    }
    return 0;
}

uint64_t bi_identity_hash(const struct bi_identity *id)
{
    const char *texts[] = {id->version, id->model, id->fingerprint, id->options};
    uint64_t h = id->dedup;
    for (size_t i = 0; i < BI_COUNT(texts); i++)
        h = bi_hash(texts[i], strlen(texts[i]) + 1, h);
    return h;
}

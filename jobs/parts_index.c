/* parts_index.c - the index of a partitioned output: all parts are there, of one job and one input,
 * and their descriptions become one file (parts.c says what lies in the folder). */
#include "parts_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/crc32c.h"

struct shards {
    struct bi_parts *s;
    uint64_t n_shards, n_found;
    struct bi_named_list notes;
    char other[BI_PARTS_NAME]; /* a shard of another number of shards */
};

static int count_shard(void *user, const char *name)
{
    struct shards *m = user;
    uint64_t i = 0, n = 0;
    char again[BI_PARTS_NAME];
    if (sscanf(name, "shard-%" SCNu64 "-of-%" SCNu64 ".json", &i, &n) != 2)
        return 0;
    snprintf(again, sizeof again, "shard-%" PRIu64 "-of-%" PRIu64 ".json", i, n);
    if (strcmp(name, again) || !i || i > n)
        return 0;
    if (m->n_shards && n != m->n_shards)
        memcpy(m->other, again, sizeof again);
    m->n_shards = n > m->n_shards ? n : m->n_shards;
    m->n_found++;
    return 0;
}

/* All shards are there, of one job and one input. *head: what the first says, without its end. */
static int check_shards(struct shards *m, struct bi_arena *arena, const char **head,
                        uint64_t *input_hash, struct bioinfer_error *err)
{
    struct bi_parts *s = m->s;
    for (uint64_t i = 1; i <= m->n_shards; i++) {
        uint64_t records = 0, size = 0, job = 0, input = 0;
        struct bi_arena own = {.env = s->env};
        struct bi_json *root;
        char name[BI_PARTS_NAME];
        const char *text;
        int st;
        snprintf(name, sizeof name, "shard-%" PRIu64 "-of-%" PRIu64 ".json", i, m->n_shards);
        if ((st = bi_parts_read_text(s, i == 1 ? arena : &own, name, &root, &text, err))) {
            bi_arena_reset(&own);
            return st == BIOINFER_NOT_FOUND
                       ? bi_fail(err, BIOINFER_MISMATCH,
                                 "%s: shard %" PRIu64 " of %" PRIu64
                                 " is not finished; run it again with --resume",
                                 s->folder, i, m->n_shards)
                       : st;
        }
        if (!bi_json_u64(bi_json_get(root, "input_records"), &records) ||
            !bi_json_u64(bi_json_get(root, "part_records"), &size) || !size ||
            !bi_parts_get_hash(bi_json_get(root, "job"), &job) ||
            !bi_parts_get_hash(bi_json_get(root, "input"), &input))
            st = bi_fail(err, BIOINFER_FORMAT, "%s/%s: a field is missing or wrong", s->folder,
                         name);
        else if (i > 1 && (job != s->identity_hash || size != s->n_part))
            st = bi_fail(err, BIOINFER_MISMATCH,
                         "%s/%s: it is of another model, of other options "
                         "or of another format than shard 1",
                         s->folder, name);
        else if (i > 1 && (records != s->n_read || input != *input_hash))
            st = bi_fail(err, BIOINFER_MISMATCH,
                         "%s/%s: its input is another one than that of "
                         "shard 1",
                         s->folder, name);
        if (!st)
            bi_notes_take_json(&m->notes, bi_json_get(root, "notes"));
        bi_arena_reset(&own);
        if (st)
            return st;
        if (i == 1) {
            s->identity_hash = job;
            s->n_part = size;
            s->n_read = records;
            *input_hash = input;
            *head = text;
        }
    }
    return 0;
}

/* Compares a file with the size, and where `sums` is set with the checksum, of its description. */
static int check_file(const struct bi_parts *s, const struct bi_json *f, uint64_t k, bool sums,
                      struct bioinfer_error *err)
{
    const char *name = bi_json_string(bi_json_get(f, "name"));
    const char *crc = bi_json_string(bi_json_get(f, "crc32c"));
    struct bi_file file = BI_FILE_NONE;
    uint64_t size, there = 0;
    uint32_t sum = 0;
    char *path, found[16];
    int st;
    if (!name || strchr(name, '/') || !bi_json_u64(bi_json_get(f, "size"), &size) || !crc)
        return bi_fail(err, BIOINFER_FORMAT, "%s: part %" PRIu64 ": a file is not described",
                       s->folder, k);
    if (!(path = bi_parts_path(s, name, err)))
        return BIOINFER_NOMEM;
    if (!(st = bi_file_open(&file, s->env, path, err)) && file.size != size)
        st = bi_fail(err, BIOINFER_MISMATCH, "%s: %" PRIu64 " bytes, expected %" PRIu64, path,
                     file.size, size);
    bi_file_close(&file);
    if (!st && sums && !(st = bi_parts_sum(s, name, &there, &sum, err))) {
        snprintf(found, sizeof found, "%08" PRIx32, sum);
        if (strcmp(found, crc))
            st = bi_fail(
                err, BIOINFER_MISMATCH,
                "%s: its checksum is %s, expected %.16s: the file has changed since it was "
                "written",
                path, found, crc);
    }
    bi_free(s->env, path);
    return st;
}

/* Compares the files that a description names. */
static int check_files(const struct bi_parts *s, const struct bi_json *root, uint64_t k, bool sums,
                       struct bioinfer_error *err)
{
    const struct bi_json *files = bi_json_get(root, "files");
    int st = files && files->first ? 0
                                   : bi_fail(err, BIOINFER_FORMAT,
                                             "%s: part %" PRIu64 " names no files", s->folder, k);
    for (const struct bi_json *f = st ? NULL : files->first; f && !st; f = f->next)
        st = check_file(s, f, k, sums, err);
    return st;
}

/* Adds all descriptions to the index, one at a time. */
static int put_parts(struct bi_parts *s, uint64_t input_hash, bool sums, struct bi_out *out,
                     struct bioinfer_job_stats *stats, struct bioinfer_error *err)
{
    const uint64_t n = s->n_read / s->n_part + (s->n_read % s->n_part != 0);
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t first = k * s->n_part, left = s->n_read - first;
        struct bi_arena arena = {.env = s->env};
        struct bi_described d = {0};
        struct bi_json *root = NULL;
        const char *text = NULL;
        int st = bi_parts_read_part(s, k, &d, &arena, &root, &text, err);
        if (st == BIOINFER_NOT_FOUND)
            st = bi_fail(err, BIOINFER_MISMATCH, "%s: part %" PRIu64 " of %" PRIu64 " is missing",
                         s->folder, k, n);
        else if (!st && (d.job != s->identity_hash || d.first != first ||
                         d.n != (left < s->n_part ? left : s->n_part) || d.failed > d.n ||
                         (k == n - 1 && d.input != input_hash)))
            st = bi_fail(err, BIOINFER_MISMATCH, "%s: part %" PRIu64 " is of another job or input",
                         s->folder, k);
        if (!st && !(st = check_files(s, root, k, sums, err)) &&
            !(st = bi_out_write(out, k ? ",\n" : "\n", k ? 2 : 1, err)))
            st = bi_out_write(out, text, strcspn(text, "\n"), err);
        bi_arena_reset(&arena);
        if (st)
            return st;
        stats->records += d.n;
        stats->failed += d.failed;
        stats->copied += d.copied;
        stats->residues += d.residues;
    }
    return 0;
}

/* Bytes of the line of a shard without its notes and its end. Within a text of JSON, quotes have a
 * backslash, so this is found in no other. */
static size_t length_of(const char *head)
{
    const char *notes = strstr(head, ", \"notes\": [");
    return notes ? (size_t)(notes - head) : strcspn(head, "\n") - 1;
}

bool bi_parts_found(const struct bi_env *env, const char *folder)
{
    struct shards m = {0};
    return bi_path_is_folder(folder) && !bi_folder_list(env, folder, count_shard, &m, NULL) &&
           m.n_found;
}

int bi_parts_merge(const struct bi_env *env, const char *folder, bool check,
                   struct bioinfer_job_stats *stats, struct bioinfer_error *err)
{
    struct bi_parts s = {.env = env, .folder = bi_strdup(env, folder)};
    struct shards m = {.s = &s, .notes.env = env};
    struct bi_arena arena = {.env = env};
    struct bi_out out = BI_OUT_NONE;
    struct bi_buf text = {.env = env};
    struct bioinfer_job_stats sums = {0};
    const char *head = NULL;
    char *path = NULL;
    uint64_t input_hash = 0;
    int st = s.folder ? bi_folder_list(env, folder, count_shard, &m, err)
                      : bi_fail(err, BIOINFER_NOMEM, "%s: path", folder);
    if (!st && !m.n_shards)
        st = bi_fail(err, BIOINFER_NOT_FOUND,
                     "%s: no shard of a partitioned output is finished "
                     "in it",
                     folder);
    if (!st && m.other[0])
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: shards of different numbers of shards are there, "
                     "as %s",
                     folder, m.other);
    if (st || (st = check_shards(&m, &arena, &head, &input_hash, err)))
        goto out;
    if (!(path = bi_parts_path(&s, "index.json", err))) {
        st = BIOINFER_NOMEM;
        goto out;
    }
    bi_buf_append(&text, head, length_of(head));
    bi_notes_put_json(&m.notes, &text);
    bi_buf_puts(&text, ", \"parts\": [");
    if (text.failed) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s", path);
        goto out;
    }
    if ((st = bi_out_open(&out, env, path, err)) ||
        (st = bi_out_write(&out, text.data, text.size, err)) ||
        (st = put_parts(&s, input_hash, check, &out, &sums, err)) ||
        (st = bi_out_write(&out, "\n]}\n", 4, err)))
        goto out;
    if (!(st = bi_out_finish(&out, err)) && stats) {
        sums.input_records = s.n_read;
        sums.by_status[0] = sums.records - sums.failed;
        *stats = sums;
    }
out:
    bi_out_close(&out);
    bi_buf_free(&text);
    bi_named_list_free(&m.notes);
    bi_arena_reset(&arena);
    bi_free(env, path);
    bi_free(env, s.folder);
    return st;
}

/* info_folder.c - what a folder of parts holds, and how far the journal of a run has come. */
#include "info_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/file.h"
#include "../jobs/journal.h"
#include "../loaders/json.h"

enum { MOST_TEXT = 256 << 20, MOST_PATH = 4096 };

struct folder {
    struct bi_buf *out;
    const char *path;
    struct bi_arena arena;
    char first_shard[64];
    uint64_t parts, records, failed, residues; /* in parts that are done */
};

static uint64_t number_of(const struct bi_json *json, const char *key)
{
    uint64_t n = 0;
    bi_json_u64(bi_json_get(json, key), &n);
    return n;
}

static int read_json(struct folder *f, const char *name, struct bi_json **root,
                     struct bioinfer_error *err)
{
    char path[MOST_PATH], *text = NULL;
    size_t size = 0;
    int st;
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    if (!(st = bi_file_slurp(f->out->env, path, MOST_TEXT, &text, &size, err)))
        st = bi_json_parse(root, &f->arena, path, text, size, err);
    bi_free(f->out->env, text);
    return st;
}

/* Prints texts and numbers of a description under names of their own. */
static void put_members(struct folder *f, const struct bi_json *root)
{
    static const char *const names[][2] = {{"task", "task"},
                                           {"model", "model"},
                                           {"fingerprint", "fingerprint"},
                                           {"options", "options"},
                                           {"format", "format"},
                                           {"dtype", "numbers"},
                                           {"layout", "layout"},
                                           {"compression", "compression"},
                                           {"part_records", "records of a part"},
                                           {"input_records", "records of the input"}};
    for (size_t k = 0; k < BI_COUNT(names); k++) {
        const struct bi_json *j = bi_json_get(root, names[k][0]);
        if (j && (j->type == BI_JSON_STRING || j->type == BI_JSON_NUMBER) && j->text_len)
            bi_buf_printf(f->out, "  %s: %s\n", names[k][1], j->text);
    }
}

static void add_part(struct folder *f, const struct bi_json *part)
{
    f->parts++;
    f->records += number_of(part, "records");
    f->failed += number_of(part, "failed");
    f->residues += number_of(part, "residues");
}

/* ---- parts ---- */

/* A bi_folder_list() callback: notes the first shard's name. */
static int look(void *user, const char *name)
{
    struct folder *f = user;
    uint64_t a, b;
    char again[64];
    if (sscanf(name, "shard-%" SCNu64 "-of-%" SCNu64, &a, &b) == 2) {
        snprintf(again, sizeof again, "shard-%" PRIu64 "-of-%" PRIu64 ".json", a, b);
        if (!strcmp(again, name) && (!f->first_shard[0] || strcmp(name, f->first_shard) < 0))
            memcpy(f->first_shard, again, sizeof again);
    }
    return 0;
}

static int add_described(void *user, const char *name)
{
    struct folder *f = user;
    struct bi_json *root;
    uint64_t k;
    char again[64];
    if (sscanf(name, "part-%" SCNu64, &k) != 1)
        return 0;
    snprintf(again, sizeof again, "part-%06" PRIu64 ".json", k);
    if (strcmp(again, name) || read_json(f, name, &root, NULL))
        return 0; /* one that cannot be read is not done */
    add_part(f, root);
    bi_arena_reset(&f->arena);
    return 0;
}

static void put_parts(struct folder *f, const char *state)
{
    bi_buf_printf(f->out,
                  "  state: %s\n  parts: %" PRIu64 "\n  Records: %" PRIu64
                  "\n  Without a result: %" PRIu64 "\n  Residues computed: %" PRIu64 "\n",
                  state, f->parts, f->records, f->failed, f->residues);
}

static int whole_info(struct folder *f, struct bioinfer_error *err)
{
    struct bi_json *root;
    const struct bi_json *parts;
    int st = read_json(f, "index.json", &root, err);
    if (st)
        return st;
    parts = bi_json_get(root, "parts");
    for (const struct bi_json *p = parts ? parts->first : NULL; p; p = p->next)
        add_part(f, p);
    bi_buf_printf(f->out, "%s: a folder of parts\n", f->path);
    put_members(f, root);
    put_parts(f, "complete");
    return 0;
}

static int unfinished_info(struct folder *f, struct bioinfer_error *err)
{
    struct bi_json *root;
    int st = bi_folder_list(f->out->env, f->path, add_described, f, err);
    if (st || (st = read_json(f, f->first_shard, &root, err)))
        return st;
    bi_buf_printf(f->out, "%s: a folder of parts\n", f->path);
    put_members(f, root);
    put_parts(f, "without index.json: shards are missing, or not merged");
    return 0;
}

/* ---- journals ---- */

static int journal_info(struct folder *f, struct bioinfer_error *err)
{
    struct bi_file file = BI_FILE_NONE;
    struct bi_json *root;
    char path[MOST_PATH];
    int st = read_json(f, "job.json", &root, err);
    if (st)
        return st;
    bi_buf_printf(f->out, "%s: the journal of a run that is not finished, or of a shard\n",
                  f->path);
    put_members(f, root);
    if (number_of(root, "shards"))
        bi_buf_printf(f->out, "  shard: %" PRIu64 " of %" PRIu64 "\n", number_of(root, "shard"),
                      number_of(root, "shards"));
    snprintf(path, sizeof path, "%s/journal", f->path);
    if (!(st = bi_file_open(&file, f->out->env, path, err)))
        bi_buf_printf(f->out, "  entries: %" PRIu64 "\n", file.size / BI_JOURNAL_RECORD);
    bi_file_close(&file);
    return st;
}

static bool has(const struct folder *f, const char *name)
{
    char path[MOST_PATH];
    return snprintf(path, sizeof path, "%s/%s", f->path, name) < (int)sizeof path &&
           bi_path_is_regular(path);
}

int bi_info_folder(struct bi_buf *out, const char *path, bool *known, struct bioinfer_error *err)
{
    struct folder f = {.out = out, .path = path, .arena = {.env = out->env}};
    int st = bi_folder_list(out->env, path, look, &f, err);
    *known = true;
    if (!st && has(&f, "index.json") && f.first_shard[0])
        st = whole_info(&f, err);
    else if (!st && f.first_shard[0])
        st = unfinished_info(&f, err);
    else if (!st && has(&f, "job.json") && has(&f, "journal"))
        st = journal_info(&f, err);
    else
        *known = false;
    bi_arena_reset(&f.arena);
    return *known ? st : 0;
}

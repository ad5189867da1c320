/* merge.c - the journals of all shards to output and manifest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

struct part {
    char *folder;
    uint64_t shard; /* from 0 */
};

struct merge {
    const struct bi_env *env;
    const char *path;
    struct part *parts;
    size_t n_parts, cap_parts;
    struct bi_part *of_shard;
    uint64_t n_shards, n_records;
    struct bi_split split;
    struct bi_identity first;
    const char *read_folder; /* the one before */
    struct bi_named_list notes;
    /* about the part being read */
    struct bi_part *part;
    const char *folder;
    uint64_t shard, identity_hash, input_hash;
    struct bi_journal_record end;
    bool complete;
};

static int add_part(struct merge *m, const char *folder, struct bioinfer_error *err)
{
    struct part part = {0};
    if (!bi_grow(m->env, &m->parts, &m->cap_parts, m->n_parts + 1, sizeof *m->parts) ||
        !(part.folder = bi_strdup(m->env, folder)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: parts", m->path);
    /* a folder given with a slash behind it */
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
        part.folder[n - 1] = '\0';
    m->parts[m->n_parts++] = part;
    return 0;
}

struct search {
    struct merge *m;
    const char *folder, *base;
    struct bioinfer_error *err;
};

/* Takes BASE.part-I-of-N. */
static int look_at(void *user, const char *name)
{
    struct search *s = user;
    size_t n = strlen(s->base);
    char *path;
    int st;
    if (strncmp(name, s->base, n) || strncmp(name + n, ".part-", 6) ||
        !strstr(name + n + 6, "-of-") ||
        strspn(name + n + 6, "0123456789-of") != strlen(name + n + 6))
        return 0;
    if (!(path = bi_job_path(s->m->env, s->folder, name)))
        return bi_fail(s->err, BIOINFER_NOMEM, "%s: parts", s->m->path);
    st = add_part(s->m, path, s->err);
    bi_free(s->m->env, path);
    return st;
}

static int by_name(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return strcmp(x->folder, y->folder);
}

/* Finds the parts beside the output, in the order of their names: a folder lists them in any. */
static int find_parts(struct merge *m, struct bioinfer_error *err)
{
    const char *slash = strrchr(m->path, '/');
    char *folder = bi_strdup(m->env, slash ? m->path : ".");
    struct search s = {m, folder, slash ? slash + 1 : m->path, err};
    int st;
    if (!folder)
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", m->path);
    if (slash)
        folder[slash == m->path ? 1 : slash - m->path] = '\0';
    st = bi_folder_list(m->env, folder, look_at, &s, err);
    bi_free(m->env, folder);
    if (!st && !m->n_parts)
        st = bi_fail(err, BIOINFER_NOT_FOUND, "%s: there is no %s.part-1-of-N beside it", m->path,
                     m->path);
    if (m->n_parts)
        qsort(m->parts, m->n_parts, sizeof *m->parts, by_name);
    return st;
}

static int take_record(void *user, const struct bi_journal_record *r, struct bioinfer_error *err)
{
    struct merge *m = user;
    if (r->flags & BI_JOURNAL_END) { /* the last of several, after a resume, counts */
        m->end = *r;
        m->complete = r->hash[1] == m->identity_hash;
        return 0;
    }
    if (bi_split_shard(&m->split, r->ordinal) != m->shard)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: shard %llu holds record %llu of another",
                       m->folder, (unsigned long long)m->shard + 1, (unsigned long long)r->ordinal);
    if (r->flags & BI_JOURNAL_VOID) {
        bi_part_forget(m->part, bi_split_place(&m->split, r->ordinal));
        return 0;
    }
    if (!(r->flags & BI_JOURNAL_LAST))
        return 0;
    return bi_part_add(m->part, m->env, bi_split_place(&m->split, r->ordinal), m->part->journal.n,
                       err);
}

/* Reads a part's identity: it must be of the same job as the first; it says which shard it is. */
static int read_identity(struct merge *m, struct part *part, struct bioinfer_error *err)
{
    struct bi_identity id = {0};
    int st;
    if (!bi_path_is_folder(part->folder))
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s: there is no such folder", part->folder);
    if ((st = bi_identity_read(&id, m->env, part->folder, err)))
        goto out;
    part->shard = id.shard - 1;
    if (part == m->parts) {
        m->first = id;
        id = (struct bi_identity){0};
        m->n_shards = m->first.n_shards;
        m->split = (struct bi_split){m->first.block ? m->first.block : 1, m->n_shards, 0};
        m->identity_hash = bi_identity_hash(&m->first);
    } else {
        st = bi_identity_compare(&id, &m->first, true, part->folder, err);
    }
    if (!st)
        st = bi_notes_read(&m->notes, m->env, part->folder, err);
out:
    bi_identity_free(&id);
    return st;
}

static int by_shard(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return x->shard < y->shard ? -1 : x->shard > y->shard;
}

/* Every shard is there, and once: before any journal is read, and before anything is allocated for
 * as many shards as a file says there are. */
static int check_all_there(struct merge *m, struct bioinfer_error *err)
{
    char list[160] = "";
    uint64_t next = 0, n = 0;
    size_t used = 0;
    qsort(m->parts, m->n_parts, sizeof *m->parts, by_shard);
    for (size_t i = 1; i < m->n_parts; i++)
        if (m->parts[i].shard == m->parts[i - 1].shard)
            return bi_fail(err, BIOINFER_MISMATCH, "shard %llu of %llu is there twice: %s and %s",
                           (unsigned long long)m->parts[i].shard + 1,
                           (unsigned long long)m->n_shards, m->parts[i - 1].folder,
                           m->parts[i].folder);
    for (size_t i = 0; i <= m->n_parts; i++) {
        uint64_t here = i < m->n_parts ? m->parts[i].shard : m->n_shards;
        n += here - next;
        for (; next < here && used < sizeof list - 24; next++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%llu", used ? ", " : "",
                                     (unsigned long long)next + 1);
        next = here + 1;
    }
    return n ? bi_fail(err, BIOINFER_MISMATCH, "%s: %llu of %llu shards missing: %s%s", m->path,
                       (unsigned long long)n, (unsigned long long)m->n_shards, list,
                       used >= sizeof list - 24 ? " ..." : "")
             : 0;
}

/* All shards are of one input: as many records, and the same ones, whoever computed them. */
static int check_input(struct merge *m, struct bioinfer_error *err)
{
    if (m->n_records != UINT64_MAX && m->n_records != m->end.ordinal)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: its input had %llu records, that of %s had %llu", m->folder,
                       (unsigned long long)m->end.ordinal, m->read_folder,
                       (unsigned long long)m->n_records);
    if (m->n_records != UINT64_MAX && m->input_hash != m->end.hash[0])
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: its input had other records than that of %s, though as many", m->folder,
                       m->read_folder);
    m->n_records = m->end.ordinal;
    m->input_hash = m->end.hash[0];
    m->read_folder = m->folder;
    return 0;
}

/* The records of one shard, which must be complete. */
static int read_part(struct merge *m, struct part *part, struct bi_build *b,
                     struct bioinfer_error *err)
{
    uint64_t n_lost = 0, n_own;
    int st;
    m->part = &m->of_shard[part->shard];
    m->folder = part->folder;
    m->shard = part->shard;
    m->complete = false;
    if ((st = bi_journal_open(&m->part->journal, m->env, part->folder, true, err)))
        return st;
    bi_journal_park(&m->part->journal); /* it is counted from here on */
    if ((st = bi_build_wake(b, m->part, err)) ||
        (st = bi_journal_recover(&m->part->journal, false, take_record, m, &n_lost, err)))
        return st;
    m->split.shard = m->shard;
    n_own = bi_split_count(&m->split, m->end.ordinal);
    if (!m->complete || m->part->n_set != n_own)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: shard %llu is not finished; run it again with --resume", part->folder,
                       (unsigned long long)m->shard + 1);
    return check_input(m, err);
}

/* Names, then journals of all parts. */
static int read_parts(struct merge *m, struct bi_build *b, struct bioinfer_error *err)
{
    int st = 0;
    for (size_t i = 0; i < m->n_parts && !st; i++)
        st = read_identity(m, &m->parts[i], err);
    if (st || (st = check_all_there(m, err)))
        return st;
    if (!(m->of_shard = bi_calloc(m->env, m->n_parts, sizeof *m->of_shard)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: parts", m->path);
    for (size_t i = 0; i < m->n_parts; i++)
        m->of_shard[i].journal = BI_JOURNAL_NONE;
    b->parts = m->of_shard;
    b->n_parts = m->n_shards;
    b->split = m->split;
    b->keys = m->first.block != 0;
    b->max_open = bi_files_max() / 4; /* two files each, and half of all for others */
    b->max_open = b->max_open ? b->max_open : 1;
    for (size_t i = 0; i < m->n_parts && !st; i++)
        st = read_part(m, &m->parts[i], b, err);
    b->n_records = m->n_records;
    return st;
}

static void merge_free(struct merge *m)
{
    for (uint64_t i = 0; m->of_shard && i < m->n_parts; i++) {
        bi_journal_close(&m->of_shard[i].journal);
        bi_free(m->env, m->of_shard[i].where);
    }
    bi_free(m->env, m->of_shard);
    for (size_t i = 0; i < m->n_parts; i++)
        bi_free(m->env, m->parts[i].folder);
    bi_free(m->env, m->parts);
    bi_identity_free(&m->first);
    bi_named_list_free(&m->notes);
}

int bi_job_merge(const struct bi_env *env, const char *path, const char *const *parts,
                 size_t n_parts, const struct bioinfer_writer_params *params,
                 struct bioinfer_job_stats *stats, struct bioinfer_error *err)
{
    struct merge m = {.env = env, .path = path, .n_records = UINT64_MAX, .notes.env = env};
    struct bi_build b = {.env = env, .path = path, .notes = &m.notes};
    struct bioinfer_writer *writer = NULL;
    struct bi_square square;
    char *folder = NULL, *job = NULL;
    size_t n = strlen(path) + sizeof ".part";
    int lock = -1, st = 0;
    if (!n_parts && bi_parts_found(env, path))
        return bi_parts_merge(env, path, false, stats, err);
    for (size_t i = 0; i < n_parts && !st; i++)
        st = add_part(&m, parts[i], err);
    if (!st && !n_parts)
        st = find_parts(&m, err);
    if (st || (st = read_parts(&m, &b, err)))
        goto out;
    if (params)
        b.params = *params;
    b.params.model = m.first.model;
    b.params.fingerprint = m.first.fingerprint;
    b.params.tracks = m.first.tracks;
    b.params.columns = m.first.columns;
    b.params.files = m.first.files;
    b.text_head = m.first.text_head;
    b.text_tail = m.first.text_tail;
    b.units = m.first.units;
    if (m.first.square) {
        if ((st = bi_square_parse(&square, m.first.square, b.n_records, m.parts[0].folder, err)) ||
            (params && params->format &&
             (st = bi_square_set_format(&square, params->format, path, err))))
            goto out;
        b.square = &square;
    }
    if (b.text_head && params && params->format) {
        st = bi_fail(err, BIOINFER_INVALID,
                     "%s: the parts hold finished text: it can be merged "
                     "into no other format, %s is asked for",
                     path, params->format);
        goto out;
    }
    if (m.first.files && params && params->format) {
        st = bi_fail(err, BIOINFER_INVALID,
                     "%s: the parts hold finished files: none of them "
                     "becomes %s, which is asked for",
                     path, params->format);
        goto out;
    }
    if ((st = bi_build_writer(&b, &writer, path, err)))
        goto out; /* the format is found from the final name */
    b.params.format = writer->ops->name;
    if (bi_path_is_folder(path) || (writer->ops->is_folder && bi_path_exists(path))) {
        st = bi_fail(err, BIOINFER_IO, "%s: output is %s", path,
                     writer->ops->is_folder ? "there already" : "a folder");
        goto out;
    }
    if (!(folder = bi_alloc(env, n))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
        goto out;
    }
    snprintf(folder, n, "%s.part", path);
    if (!(job = bi_job_path(env, folder, "job.json"))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
        goto out;
    }
    if ((st = bi_job_lock(&lock, env, folder, err)))
        goto out;
    if (bi_path_exists(job)) {
        st = bi_fail(err, BIOINFER_MISMATCH, "%s: an unfinished job of the same output is there",
                     folder);
        bi_lock_release(&lock);
        goto out;
    }
    b.folder = folder;
    st = bi_build(&b, err);
    bi_job_clear(env, folder);
    if (!st && stats) {
        stats->records = b.n_rows;
        stats->failed = b.n_rows - b.by_status[0];
        stats->copied = b.n_copied;
        stats->residues = b.n_residues;
        stats->input_records = b.n_records;
        memcpy(stats->by_status, b.by_status, sizeof b.by_status);
    }
out:
    bi_lock_release(&lock);
    bi_writer_close(&writer);
    bi_free(env, folder);
    bi_free(env, job);
    merge_free(&m);
    return st;
}

/* merge.c - the journals of all shards to output and manifest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

struct merge {
    const struct bi_env *env;
    const char *path;
    char **parts; /* folders */
    size_t n_parts, cap_parts;
    struct bi_part *by_shard;
    const char **folder_of; /* by shard */
    uint64_t n_shards, n_records;
    struct bi_identity first;
    const char *first_folder;
    /* of the part being read */
    struct bi_part *part;
    const char *folder;
    uint64_t shard, identity_hash;
    bool complete;
};

static int add_part(struct merge *m, const char *folder, struct bioinfer_error *err)
{
    if (!bi_grow(m->env, &m->parts, &m->cap_parts, m->n_parts + 1, sizeof *m->parts) ||
        !(m->parts[m->n_parts] = bi_strdup(m->env, folder)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: parts", m->path);
    /* a folder given with a slash behind it */
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
        m->parts[m->n_parts][n - 1] = '\0';
    m->n_parts++;
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
        !strstr(name + n + 6, "-of-") || strspn(name + n + 6, "0123456789-of") !=
                                             strlen(name + n + 6))
        return 0;
    if (!(path = bi_job_path(s->m->env, s->folder, name)))
        return bi_fail(s->err, BIOINFER_NOMEM, "%s: parts", s->m->path);
    st = add_part(s->m, path, s->err);
    bi_free(s->m->env, path);
    return st;
}

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
        st = bi_fail(err, BIOINFER_NOT_FOUND, "%s: there is no %s.part-1-of-N beside it",
                     m->path, m->path);
    return st;
}

static int take_record(void *user, const struct bi_journal_record *r,
                       struct bioinfer_error *err)
{
    struct merge *m = user;
    if (r->flags & BI_JOURNAL_END) {
        m->complete = r->hash[1] == m->identity_hash;
        if (m->n_records != UINT64_MAX && m->n_records != r->ordinal)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: its input had %llu records, that of %s had %llu", m->folder,
                           (unsigned long long)r->ordinal, m->first_folder,
                           (unsigned long long)m->n_records);
        m->n_records = r->ordinal;
        return 0;
    }
    if (r->ordinal % m->n_shards != m->shard)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: shard %llu holds record %llu of another",
                       m->folder, (unsigned long long)m->shard + 1,
                       (unsigned long long)r->ordinal);
    return bi_part_add(m->part, m->env, r->ordinal / m->n_shards, m->part->journal.n, err);
}

static int read_part(struct merge *m, const char *folder, struct bioinfer_error *err)
{
    struct bi_identity id = {0};
    uint64_t n_lost = 0;
    int st;
    if (!bi_path_is_folder(folder))
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s: there is no such folder", folder);
    if ((st = bi_identity_read(&id, m->env, folder, err)))
        goto out;
    if (!m->by_shard) {
        m->first = id;
        id = (struct bi_identity){0};
        m->first_folder = folder;
        m->n_shards = m->first.n_shards;
        if (m->n_shards > 1 << 20) {
            st = bi_fail(err, BIOINFER_LIMIT, "%s: %llu shards, at most %d can be merged",
                         folder, (unsigned long long)m->n_shards, 1 << 20);
            goto out;
        }
        m->by_shard = bi_calloc(m->env, (size_t)m->n_shards, sizeof *m->by_shard);
        m->folder_of = bi_calloc(m->env, (size_t)m->n_shards, sizeof *m->folder_of);
        if (!m->by_shard || !m->folder_of) {
            st = bi_fail(err, BIOINFER_NOMEM, "%s: parts", m->path);
            goto out;
        }
        for (uint64_t i = 0; i < m->n_shards; i++)
            m->by_shard[i].journal = BI_JOURNAL_NONE;
        m->shard = m->first.shard - 1;
        m->identity_hash = bi_identity_hash(&m->first);
    } else if ((st = bi_identity_compare(&m->first, &id, true, folder, err))) {
        goto out;
    } else {
        m->shard = id.shard - 1;
        m->identity_hash = bi_identity_hash(&id);
    }
    if (m->folder_of[m->shard]) {
        st = bi_fail(err, BIOINFER_MISMATCH, "shard %llu of %llu is there twice: %s and %s",
                     (unsigned long long)m->shard + 1, (unsigned long long)m->n_shards,
                     m->folder_of[m->shard], folder);
        goto out;
    }
    m->folder_of[m->shard] = m->folder = folder;
    m->part = &m->by_shard[m->shard];
    m->complete = false;
    if ((st = bi_journal_open(&m->part->journal, m->env, folder, true, err)) ||
        (st = bi_journal_recover(&m->part->journal, false, take_record, m, &n_lost, err)))
        goto out;
    if (!m->complete)
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: shard %llu is not finished; run it again with --resume", folder,
                     (unsigned long long)m->shard + 1);
out:
    bi_identity_free(&id);
    return st;
}

static int check_missing(const struct merge *m, struct bioinfer_error *err)
{
    char list[160] = "";
    size_t used = 0, n = 0;
    for (uint64_t i = 0; i < m->n_shards; i++)
        if (!m->folder_of[i]) {
            n++;
            if (used < sizeof list - 24)
                used += (size_t)snprintf(list + used, sizeof list - used, "%s%llu",
                                         used ? ", " : "", (unsigned long long)i + 1);
        }
    return n ? bi_fail(err, BIOINFER_MISMATCH, "%s: %zu of %llu shards missing: %s%s", m->path,
                       n, (unsigned long long)m->n_shards, list,
                       used >= sizeof list - 24 ? " ..." : "")
             : 0;
}

static void merge_free(struct merge *m)
{
    for (uint64_t i = 0; m->by_shard && i < m->n_shards; i++) {
        bi_journal_close(&m->by_shard[i].journal);
        bi_free(m->env, m->by_shard[i].where);
    }
    bi_free(m->env, m->by_shard);
    bi_free(m->env, m->folder_of);
    for (size_t i = 0; i < m->n_parts; i++)
        bi_free(m->env, m->parts[i]);
    bi_free(m->env, m->parts);
    bi_identity_free(&m->first);
}

int bi_job_merge(const struct bi_env *env, const char *path, const char *const *parts,
                 size_t n_parts, const struct bioinfer_writer_params *params,
                 struct bioinfer_job_stats *stats, struct bioinfer_error *err)
{
    struct merge m = {.env = env, .path = path, .n_records = UINT64_MAX};
    struct bi_build b = {.env = env, .path = path};
    struct bioinfer_writer *writer = NULL;
    char *folder = NULL, *job = NULL;
    size_t n = strlen(path) + sizeof ".part";
    int lock = -1, st = 0;
    for (size_t i = 0; i < n_parts && !st; i++)
        st = add_part(&m, parts[i], err);
    if (!st && !n_parts)
        st = find_parts(&m, err);
    for (size_t i = 0; i < m.n_parts && !st; i++)
        st = read_part(&m, m.parts[i], err);
    if (st || (st = check_missing(&m, err)))
        goto out;
    if (params)
        b.params = *params;
    b.params.model = m.first.model;
    b.params.fingerprint = m.first.fingerprint;
    if ((st = bi_writer_new(&writer, env, path, &b.params, err)))
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
    b.parts = m.by_shard;
    b.n_parts = m.n_shards;
    b.n_records = m.n_records;
    st = bi_build(&b, err);
    bi_folder_remove(env, folder);
    if (!st && stats) {
        stats->records = b.n_records;
        stats->failed = b.n_records - b.by_status[0];
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

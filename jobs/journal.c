/* journal.c - results as they come, on disk; see journal.h for files and order. */
#define _GNU_SOURCE
#include "journal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    CHUNK = 1 << 20,
    GROUP_RECORDS = 1 << 16
}; /* records in a group at most: they are in memory */
static const uint64_t GROUP_SIZE = 256u << 20; /* bytes of payload in a group at most */
static const uint32_t MAGIC = 0x324A4942;      /* "BIJ2" */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int open_in(struct bi_append *file, const struct bi_env *env, const char *folder,
                   const char *name, bool read_only, struct bioinfer_error *err)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = bi_alloc(env, n);
    int st;
    if (!path)
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", folder);
    snprintf(path, n, "%s/%s", folder, name);
    st = bi_append_open(file, env, path, read_only, err);
    bi_free(env, path);
    return st;
}

int bi_journal_open(struct bi_journal *j, const struct bi_env *env, const char *folder,
                    bool read_only, struct bioinfer_error *err)
{
    int st;
    *j = BI_JOURNAL_NONE;
    j->env = env;
    j->sum = bi_crc32c_best();
    j->interval = 0.25;
    j->committed_at = now();
    j->n_blocks = 1;
    if (!(j->blocks = bi_zalloc(env, sizeof *j->blocks)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: journal", folder);
    if ((st = open_in(&j->data, env, folder, "data", read_only, err)) ||
        (st = open_in(&j->log, env, folder, "journal", read_only, err)))
        bi_journal_close(j);
    return st;
}

void bi_journal_close(struct bi_journal *j)
{
    bi_append_close(&j->data);
    bi_append_close(&j->log);
    if (j->env) {
        bi_free(j->env, j->group);
        bi_free(j->env, j->blocks);
    }
    *j = BI_JOURNAL_NONE;
}

bool bi_journal_is_awake(const struct bi_journal *j)
{
    return j->data.fd >= 0 && j->log.fd >= 0;
}

void bi_journal_park(struct bi_journal *j)
{
    bi_append_park(&j->data);
    bi_append_park(&j->log);
}

int bi_journal_wake(struct bi_journal *j, struct bioinfer_error *err)
{
    int st = bi_append_wake(&j->data, err);
    return st ? st : bi_append_wake(&j->log, err);
}

/* ---- records as bytes ---- */

static void put(uint8_t *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static void encode(const struct bi_journal *j, uint8_t p[BI_JOURNAL_RECORD],
                   const struct bi_journal_record *r)
{
    put(p, MAGIC, 4);
    put(p + 8, r->ordinal, 8);
    put(p + 16, r->offset, 8);
    put(p + 24, r->size, 8);
    put(p + 32, r->crc, 4);
    put(p + 36, (uint32_t)r->status, 4);
    put(p + 40, r->flags, 8);
    put(p + 48, r->hash[0], 8);
    put(p + 56, r->hash[1], 8);
    put(p + 4, j->sum(0, p + 8, BI_JOURNAL_RECORD - 8), 4);
}

static bool decode(const struct bi_journal *j, const uint8_t p[BI_JOURNAL_RECORD],
                   struct bi_journal_record *r)
{
    if (bi_le32(p) != MAGIC || bi_le32(p + 4) != j->sum(0, p + 8, BI_JOURNAL_RECORD - 8))
        return false;
    *r = (struct bi_journal_record){.ordinal = bi_le64(p + 8),
                                    .offset = bi_le64(p + 16),
                                    .size = bi_le64(p + 24),
                                    .crc = bi_le32(p + 32),
                                    .status = (int32_t)bi_le32(p + 36),
                                    .flags = bi_le64(p + 40),
                                    .hash = {bi_le64(p + 48), bi_le64(p + 56)}};
    return true;
}

/* ---- recovery ---- */

/* 1 = the payload is as its record says, or was when it was synced; 0 = it is not, or a status. */
static int payload_good(const struct bi_journal *j, const struct bi_journal_record *r,
                        uint8_t *chunk, struct bioinfer_error *err)
{
    uint32_t crc = 0;
    if (!bi_range_ok(r->offset, r->size, j->data.size))
        return 0;
    if (r->flags & BI_JOURNAL_SYNCED)
        return 1;
    for (uint64_t at = 0; at < r->size; at += CHUNK) {
        size_t n = r->size - at < CHUNK ? (size_t)(r->size - at) : CHUNK;
        int st = bi_append_read(&j->data, r->offset + at, chunk, n, err);
        if (st)
            return st;
        crc = j->sum(crc, chunk, n);
    }
    return crc == r->crc;
}

int bi_journal_recover(struct bi_journal *j, bool cut,
                       int (*take)(void *user, const struct bi_journal_record *r,
                                   struct bioinfer_error *err),
                       void *user, uint64_t *n_lost, struct bioinfer_error *err)
{
    uint64_t n_whole = j->log.size / BI_JOURNAL_RECORD, end = 0;
    uint8_t *chunk = bi_alloc(j->env, CHUNK), *log = bi_alloc(j->env, CHUNK);
    int st = 0, good = 1;
    if (!chunk || !log) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: buffer", j->log.path);
        goto out;
    }
    for (j->n = 0; j->n < n_whole; j->n++) {
        const uint64_t in_log = j->n % (CHUNK / BI_JOURNAL_RECORD);
        const uint64_t left = (n_whole - j->n) * BI_JOURNAL_RECORD;
        struct bi_journal_record r;
        if (!in_log && (st = bi_append_read(&j->log, j->n * BI_JOURNAL_RECORD, log,
                                            (size_t)(left < CHUNK ? left : CHUNK), err)))
            goto out;
        if (!decode(j, log + in_log * BI_JOURNAL_RECORD, &r))
            break;
        if ((good = payload_good(j, &r, chunk, err)) < 0) {
            st = good;
            goto out;
        }
        if (!good)
            break;
        if ((st = take(user, &r, err)))
            goto out;
        if (r.offset + r.size > end)
            end = r.offset + r.size;
    }
    *n_lost = n_whole - j->n;
    if (cut && (j->log.size != j->n * BI_JOURNAL_RECORD || j->data.size != end) &&
        !(st = bi_append_cut(&j->log, j->n * BI_JOURNAL_RECORD, err)))
        st = bi_append_cut(&j->data, end, err);
    j->data_committed = end;
out:
    bi_free(j->env, chunk);
    bi_free(j->env, log);
    return st;
}

/* ---- adding ---- */

void bi_journal_begin(struct bi_journal *j, struct bi_journal_record *r)
{
    r->offset = j->data.size;
    j->crc = 0;
}

int bi_journal_fail(struct bi_journal *j, int st, const struct bioinfer_error *why,
                    struct bioinfer_error *err)
{
    if (!j->failed) {
        j->failed = true;
        j->why = *why;
        j->why.status = st;
    }
    if (err)
        *err = j->why;
    return j->why.status;
}

int bi_journal_write(struct bi_journal *j, const void *bytes, size_t n, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    int st;
    if (j->failed)
        return bi_journal_fail(j, 0, NULL, err);
    j->crc = j->sum(j->crc, bytes, n);
    st = bi_append_write(&j->data, bytes, n, &why);
    return st ? bi_journal_fail(j, st, &why, err) : 0;
}

int bi_journal_end(struct bi_journal *j, struct bi_journal_record *r, struct bioinfer_error *err)
{
    if (!bi_grow(j->env, &j->group, &j->cap_group, j->n_group + 1, sizeof *j->group))
        return bi_fail(err, BIOINFER_NOMEM, "%s: group of records", j->log.path);
    r->size = j->data.size - r->offset;
    r->crc = j->crc;
    j->group[j->n_group++] = *r;
    j->n++;
    return 0;
}

/* Gives up what is not committed: a failed sync or write leaves it unknown. */
static void cut_back(struct bi_journal *j)
{
    uint64_t n = j->n - j->n_group;
    j->n_group = 0;
    j->n = n;
    bi_append_cut(&j->log, n * BI_JOURNAL_RECORD, NULL);
    bi_append_cut(&j->data, j->data_committed, NULL);
}

int bi_journal_commit(struct bi_journal *j, bool sync, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    int st = 0;
    if (j->failed) {
        cut_back(j);
        return bi_journal_fail(j, 0, NULL, err);
    }
    if (j->n_group)
        st = sync ? bi_append_sync(&j->data, &why) : bi_append_flush(&j->data, &why);
    for (size_t i = 0; !st && i < j->n_group; i++) {
        uint8_t bytes[BI_JOURNAL_RECORD];
        j->group[i].flags |= sync ? BI_JOURNAL_SYNCED : 0;
        encode(j, bytes, &j->group[i]);
        st = bi_append_write(&j->log, bytes, sizeof bytes, &why);
    }
    if (!st)
        st = sync ? bi_append_sync(&j->log, &why) : bi_append_flush(&j->log, &why);
    if (st) {
        bi_journal_fail(j, st, &why, err);
        cut_back(j);
        return st;
    }
    j->data_committed = j->data.size;
    j->n_group = 0;
    j->committed_at = now();
    return 0;
}

bool bi_journal_due(const struct bi_journal *j, double *begun)
{
    if (!j->n_group)
        return false;
    *begun = now();
    return *begun - j->committed_at >= j->interval || j->n_group >= GROUP_RECORDS ||
           j->data.size - j->data_committed >= GROUP_SIZE;
}

void bi_journal_space(struct bi_journal *j, double begun)
{
    double took = j->committed_at - begun;
    j->interval = j->interval < 1 ? 2 * j->interval : 2;
    if (j->interval < 50 * took)
        j->interval = 50 * took < 30 ? 50 * took : 30;
}

/* ---- reading ---- */

int bi_journal_keep(struct bi_journal *j, size_t n, struct bioinfer_error *err)
{
    struct bi_journal_block *blocks = bi_calloc(j->env, n, sizeof *blocks);
    if (!blocks)
        return bi_fail(err, BIOINFER_NOMEM, "%s: records", j->log.path);
    bi_free(j->env, j->blocks);
    j->blocks = blocks;
    j->n_blocks = n;
    return 0;
}

int bi_journal_get(const struct bi_journal *j, uint64_t i, struct bi_journal_record *r,
                   struct bioinfer_error *err)
{
    const uint64_t first = j->n - j->n_group, most = sizeof j->blocks->bytes / BI_JOURNAL_RECORD;
    struct bi_journal_block *b = &j->blocks[i / most % j->n_blocks];
    int st = 0;
    if (i >= first && i < j->n) {
        *r = j->group[i - first];
        return 0;
    }
    if (i < b->first || i - b->first >= b->n) {
        b->first = i < first ? i - i % most : i; /* pieces are walked through backwards */
        b->n = i >= first ? 1 : first - b->first < most ? first - b->first : most;
        if ((st = bi_append_read(&j->log, b->first * BI_JOURNAL_RECORD, b->bytes,
                                 (size_t)b->n * BI_JOURNAL_RECORD, err)))
            b->n = 0;
    }
    if (!st && !decode(j, b->bytes + (i - b->first) * BI_JOURNAL_RECORD, r))
        st = bi_fail(err, BIOINFER_FORMAT, "%s: record %llu is damaged", j->log.path,
                     (unsigned long long)i);
    return st;
}

int bi_journal_read(const struct bi_journal *j, const struct bi_journal_record *r, void *dst,
                    struct bioinfer_error *err)
{
    int st = bi_append_read(&j->data, r->offset, dst, (size_t)r->size, err);
    if (!st && j->sum(0, dst, (size_t)r->size) != r->crc)
        st = bi_fail(err, BIOINFER_FORMAT,
                     "%s: the payload of record %llu is damaged; --resume computes it again",
                     j->data.path, (unsigned long long)r->ordinal);
    return st;
}

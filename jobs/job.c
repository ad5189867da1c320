/* job.c - records in, results into the journal.
 *
 * Blocks of records belong to shards by turns (struct bi_split); without an index of the input a
 * block is one record, and every shard reads all of them. Of equal sequences the first is computed;
 * the others wait for it, and become copies when it has a result, or are computed too when
 * it has none, so that copies never change what a record gets.
 *
 * A result may come in pieces. Each is a record of the journal, and says which one holds the piece
 * before it, so memory does not grow with their number. In a job with units each piece is a record.
 *
 * Sections: 1 opening  2 flights  3 records out  4 results in  5 end */
#include "parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/map.h"

static const uint64_t MAX_WAITING = 16u << 20; /* bytes of waiting copies, all that they take */
/* Results come in another order than their records, but within some 16,384 of them: the blocks of
 * the journal that hold so many are read once when it is gone through in the order of records. */
enum { KEPT_BLOCKS = 1024 };

/* ---- 1 opening ---- */

static char *folder_of(const struct bi_env *env, const char *path,
                       const struct bioinfer_job_params *p)
{
    size_t n = strlen(path) + 64;
    char *folder = bi_alloc(env, n);
    if (folder && p->n_shards)
        snprintf(folder, n, "%s.part-%d-of-%d", path, p->shard, p->n_shards);
    else if (folder)
        snprintf(folder, n, "%s.part", path);
    return folder;
}

/* Failures that need not happen again: such a record is computed anew by --resume. */
static bool is_passing(int status)
{
    return status == BIOINFER_NOMEM || status == BIOINFER_DEVICE ||
           status == BIOINFER_DEVICE_LOST || status == BIOINFER_IO;
}

static bool is_mine(const struct bioinfer_job *job, uint64_t ordinal)
{
    return bi_split_shard(&job->split, ordinal) == job->split.shard;
}

static uint64_t n_own(const struct bioinfer_job *job)
{
    return bi_split_count(&job->split, job->n_read);
}

static unsigned slot_of(const struct bioinfer_job *job, int32_t status)
{
    return -(unsigned)status % BI_COUNT(job->stats.by_status);
}

/* Counts a piece that is a record of a unit. */
static void count_piece(struct bioinfer_job *job, uint64_t ordinal, uint32_t piece, int32_t status)
{
    if (!piece)
        job->unit = (struct bi_open_unit){.ordinal = ordinal + 1};
    job->unit.by_status[slot_of(job, status)]++;
    job->unit.passing |= is_passing(status);
}

/* Adds the records of a unit to the statistics; without units it is one. */
static uint64_t count_unit(struct bioinfer_job *job, int32_t status)
{
    uint64_t n = 0;
    if (!job->units)
        job->unit.by_status[slot_of(job, status)]++;
    for (unsigned s = 0; s < BI_COUNT(job->stats.by_status); s++) {
        n += job->unit.by_status[s];
        job->stats.by_status[s] += job->unit.by_status[s];
        job->stats.failed += s ? job->unit.by_status[s] : 0;
    }
    job->stats.records += n;
    job->unit = (struct bi_open_unit){0};
    return n;
}

/* Takes a place, whose payload is damaged, for one that is still to be computed. The records of a
 * unit lie one behind the other in the journal. */
static int forget(struct bioinfer_job *job, uint64_t place, struct bioinfer_error *err)
{
    struct bi_journal_record was;
    uint64_t at, n = 1;
    int st;
    if (place >= job->part.n_where || !job->part.where[place])
        return 0;
    at = job->part.where[place] - 1;
    for (uint64_t k = 0; k < n; k++) {
        if ((st = bi_journal_get(&job->part.journal, at - k, &was, err)))
            return st;
        if (bi_split_place(&job->split, was.ordinal) != place)
            break; /* damaged, too: what is counted is nothing that results depend on */
        if (job->units && !k && bi_journal_piece(&was) <= at)
            n += bi_journal_piece(&was);
        job->stats.records--;
        job->stats.resumed -= job->stats.resumed > 0;
        job->stats.failed -= was.status != 0;
        job->stats.copied -= (was.flags & BI_JOURNAL_COPY) != 0;
        job->stats.by_status[slot_of(job, was.status)]--;
    }
    bi_part_forget(&job->part, place);
    job->complete = job->had_all = false;
    job->n_read = 0; /* the input is read again */
    return 0;
}

static int take_record(void *user, const struct bi_journal_record *r, struct bioinfer_error *err)
{
    struct bioinfer_job *job = user;
    if (r->flags & BI_JOURNAL_END) {
        if (r->hash[1] != job->identity_hash && !job->force)
            return bi_fail(err, BIOINFER_MISMATCH, "%s: this journal is of another job",
                           job->folder);
        job->n_read = r->ordinal;
        /* files of the input may have changed, and nothing but their own facts would tell */
        job->had_all = job->part.n_set == n_own(job);
        if (!(job->complete = job->had_all && !job->files && !job->alignments))
            job->n_read = 0; /* the input is read again */
        return 0;
    }
    if (!is_mine(job, r->ordinal))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: this journal is of another shard: it holds record %" PRIu64,
                       job->folder, r->ordinal);
    if (r->flags & BI_JOURNAL_VOID)
        return forget(job, bi_split_place(&job->split, r->ordinal), err);
    if (job->units)
        count_piece(job, r->ordinal, bi_journal_piece(r), r->status);
    if (!(r->flags & BI_JOURNAL_LAST) || job->unit.passing || is_passing(r->status))
        return 0;
    job->stats.resumed += count_unit(job, r->status);
    job->stats.copied += (r->flags & BI_JOURNAL_COPY) != 0;
    return bi_part_add(&job->part, job->env, bi_split_place(&job->split, r->ordinal),
                       job->part.journal.n, err);
}

/* Files of the folder. Their paths are made in memory taken when the job was opened: what is
 * there, and what must go, does not depend on memory that may be lacking. */
enum { NAME_SIZE = 16 };

static const char *path_in(const struct bioinfer_job *job, const char *name)
{
    size_t n = strlen(job->folder);
    assert(strlen(name) + 2 <= NAME_SIZE);
    snprintf(job->inside, n + NAME_SIZE, "%s/%s", job->folder, name);
    return job->inside;
}

static bool exists_in(const struct bioinfer_job *job, const char *name)
{
    return bi_path_exists(path_in(job, name));
}

static void remove_in(const struct bioinfer_job *job, const char *name)
{
    bi_path_remove(path_in(job, name));
}

/* Looks for what an earlier run left: nothing, a job to go on with, or one that is in the way. */
static int find_earlier(struct bioinfer_job *job, int resume, struct bioinfer_error *err)
{
    struct bi_identity have = {0};
    int st = 0;
    if (resume == BIOINFER_RESUME_RESTART) {
        remove_in(job, "job.json"); /* first: without it the rest counts for nothing */
        remove_in(job, "journal");
        remove_in(job, "data");
        remove_in(job, "named");
    }
    if (!exists_in(job, "job.json")) { /* killed before it began, or not there at all */
        job->fresh = job->unsaid = true;
        remove_in(job, "journal");
        remove_in(job, "data");
        remove_in(job, "named");
        return 0;
    }
    if (resume == BIOINFER_RESUME_NO)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: an unfinished job is there: --resume goes on with it, --resume=no "
                       "starts again",
                       job->folder);
    if (!(st = bi_identity_read(&have, job->env, job->folder, err))) {
        st = bi_identity_compare(&have, &job->identity, false, job->folder, err);
        if (st && resume == BIOINFER_RESUME_FORCE && have.block == job->identity.block) {
            bi_log(job->env, BIOINFER_LOG_WARNING, "%s", err ? err->text : job->folder);
            job->unsaid = true;
            st = 0;
        }
    }
    bi_identity_free(&have);
    return st;
}

/* Writes into the journal that its payloads of these places are damaged. */
static int void_lost(struct bioinfer_job *job, const struct bi_build *b, struct bioinfer_error *err)
{
    struct bi_journal *j = &job->part.journal;
    int st = 0;
    for (size_t i = 0; i < b->n_lost && !st; i++) {
        struct bi_journal_record r = {.ordinal = bi_split_ordinal(&job->split, b->lost[i]),
                                      .flags = BI_JOURNAL_VOID};
        bi_journal_begin(j, &r);
        if (!(st = bi_journal_end(j, &r, err)))
            st = forget(job, b->lost[i], err);
    }
    if (!st && !(st = bi_journal_commit(j, true, err)))
        job->n_kept = job->stats.records;
    return st;
}

/* A shard that holds all its records is read by nobody before it is merged, and a merge changes
 * nothing in it: what the disk has done to it since is found when it is resumed. */
static int check_complete(struct bioinfer_job *job, struct bioinfer_error *err)
{
    struct bi_build b = {
        .env = job->env, .path = job->path, .parts = &job->part, .want_lost = true};
    int st = bi_build_check(&b, 0, err);
    if (!st && b.n_lost && !(st = void_lost(job, &b, err)))
        bi_log(job->env, BIOINFER_LOG_WARNING,
               "%s: the journal is damaged: %zu of its records are computed again", job->folder,
               b.n_lost);
    bi_free(job->env, b.lost);
    return st;
}

static int recover(struct bioinfer_job *job, struct bioinfer_error *err)
{
    uint64_t n_lost = 0;
    int st = bi_journal_open(&job->part.journal, job->env, job->folder, false, err);
    if (!st && job->part.journal.log.size)
        st = bi_journal_keep(&job->part.journal, KEPT_BLOCKS, err);
    if (!st)
        st = bi_journal_recover(&job->part.journal, true, take_record, job, &n_lost, err);
    if (!st && n_lost)
        bi_log(job->env, BIOINFER_LOG_WARNING,
               "%s: the journal is damaged after %" PRIu64 " records: %" PRIu64
               " after them are computed again",
               job->folder, job->part.journal.n, n_lost);
    if (!st && job->had_all && job->is_shard)
        st = check_complete(job, err);
    job->n_kept = job->stats.records;
    job->unit = (struct bi_open_unit){0}; /* one that is not whole is computed again */
    return st;
}

/* A job that computes nothing itself: its output is partitioned. */
static int open_parts(struct bioinfer_job **out, const struct bi_env *env, const char *path,
                      const struct bioinfer_job_params *params, struct bioinfer_error *err)
{
    struct bioinfer_job *job = bi_zalloc(env, sizeof *job);
    int st;
    if (!job)
        return bi_fail(err, BIOINFER_NOMEM, "job");
    job->env = job->sequences.env = job->notes.env = env;
    job->lock = -1;
    job->part.journal = BI_JOURNAL_NONE;
    job->split = (struct bi_split){1, 1, 0};
    if ((st = bi_parts_open(&job->parts, job, path, params, err)))
        bi_job_close(&job);
    else
        bi_named_open(env->named, &job->notes);
    *out = job;
    return st;
}

int bi_job_open(struct bioinfer_job **out, const struct bi_env *env, const char *path,
                const struct bioinfer_job_params *params, struct bioinfer_error *err)
{
    struct bioinfer_job *job;
    bool is_folder;
    int st;
    *out = NULL;
    if (params->n_shards < 0 || params->shard < (params->n_shards ? 1 : 0) ||
        params->shard > params->n_shards)
        return bi_fail(err, BIOINFER_INVALID, "shard %d of %d: expected 1 to N of N", params->shard,
                       params->n_shards);
    if (!strcmp(path, "-"))
        return bi_fail(err, BIOINFER_INVALID, "a job needs a file, not standard output");
    if (params->part_records < 0)
        return bi_fail(err, BIOINFER_INVALID, "parts of %lld records",
                       (long long)params->part_records);
    if (params->part_records && params->units)
        return bi_fail(err, BIOINFER_INVALID, "job: parts of records of units");
    if (params->part_records)
        return open_parts(out, env, path, params, err);
    if (!(job = bi_zalloc(env, sizeof *job)))
        return bi_fail(err, BIOINFER_NOMEM, "job");
    job->env = job->sequences.env = job->notes.env = env;
    job->lock = -1;
    job->part.journal = BI_JOURNAL_NONE;
    job->sequences.max = BI_JOB_SEQUENCES;
    job->is_shard = params->n_shards > 0;
    job->index = job->is_shard && params->seek ? params->index : NULL;
    job->seek = params->seek;
    job->split.block = job->index ? job->index->block : 1;
    job->split.n_shards = job->is_shard ? (uint64_t)params->n_shards : 1;
    job->split.shard = job->is_shard ? (uint64_t)params->shard - 1 : 0;
    job->files = params->files;
    if (params->alignments && !(job->alignments = bi_strdup(env, params->alignments))) {
        st = bi_fail(err, BIOINFER_NOMEM, "job");
        goto out;
    }
    job->units = params->units;
    job->force = params->resume == BIOINFER_RESUME_FORCE;
    if (!(job->path = bi_strdup(env, path)) || !(job->folder = folder_of(env, path, params)) ||
        !(job->inside = bi_alloc(env, strlen(job->folder) + NAME_SIZE))) {
        st = bi_fail(err, BIOINFER_NOMEM, "job");
        goto out;
    }
    job->stats.folder = job->folder;
    if (params->text_head || params->square) /* tiles are texts, whatever is made of them */
        st = bi_writer_of_texts(&job->writer, env, path, params->text_head, params->text_tail, err);
    else
        st = bi_writer_new(&job->writer, env, path, params->writer, err);
    if (st || (!job->is_shard && (st = bi_writer_ready(job->writer, err))))
        goto out;
    is_folder = job->writer->ops->is_folder;
    if (!(is_folder && bi_path_is_folder(path)) && (st = bi_path_replaceable(path, err)))
        goto out;
    if ((st = bi_identity_make(&job->identity, env, params, err)))
        goto out;
    job->dedup = job->identity.dedup;
    job->identity.block = job->index ? job->split.block : 0;
    job->identity_hash = bi_identity_hash(&job->identity);
    if ((st = bi_job_lock(&job->lock, env, job->folder, err)))
        goto out;
    if ((st = find_earlier(job, params->resume, err)) || (st = recover(job, err)) ||
        (st = bi_notes_read(&job->notes, env, job->folder, err)))
        goto out;
    if (is_folder && bi_path_exists(path)) { /* who made it is not known: it is never replaced */
        st = bi_fail(err, BIOINFER_IO,
                     "%s: output is there already; move it away, or name another one", path);
        goto out;
    }
    bi_named_open(env->named, &job->notes);
    *out = job;
    job = NULL;
out:
    bi_job_close(&job);
    return st;
}

/* ---- 2 flights ---- */

/* One piece of memory: there may be very many, of very short records. */
static struct bi_flight *flight_new(const struct bi_env *env, const struct bioinfer_record *r,
                                    bool sequence)
{
    const char *description = r->description ? r->description : "";
    size_t n_id = strlen(r->id) + 1, n_description = strlen(description) + 1;
    uint64_t size = sizeof(struct bi_flight);
    struct bi_flight *f;
    char *at;
    if (!bi_add_size(size, n_id, &size) || !bi_add_size(size, n_description, &size) ||
        !bi_add_size(size, sequence ? (uint64_t)r->length + 1 : 0, &size) || size > SIZE_MAX ||
        !(f = bi_alloc(env, (size_t)size)))
        return NULL;
    at = (char *)(f + 1);
    *f = (struct bi_flight){.ordinal = r->ordinal,
                            .length = r->length,
                            .size = size,
                            .id = at,
                            .description = at + n_id};
    memcpy(f->id, r->id, n_id);
    memcpy(f->description, description, n_description);
    if (sequence) {
        f->sequence = at + n_id + n_description;
        memcpy(f->sequence, r->sequence, r->length);
        f->sequence[r->length] = '\0';
    }
    return f;
}

/* Gives the memory that it takes, with the allocator's share beside each piece. */
static uint64_t flight_size(const struct bi_flight *f)
{
    return f->size + 2 * BI_ALIGN;
}

/* Frees a list and what waits in it. */
static void flights_free(const struct bi_env *env, struct bi_flight *f)
{
    while (f) {
        struct bi_flight *next = f->next;
        flights_free(env, f->copies); /* one level: copies have none */
        bi_free(env, f);
        f = next;
    }
}

static struct bi_flight **flight_at(struct bioinfer_job *job, uint64_t ordinal)
{
    struct bi_flight **at = &job->flights[bi_split_place(&job->split, ordinal) % BI_FLIGHTS];
    while (*at && (*at)->ordinal != ordinal)
        at = &(*at)->next;
    return at;
}

static uint64_t done_at(const struct bioinfer_job *job, uint64_t ordinal)
{
    const uint64_t place = bi_split_place(&job->split, ordinal);
    return place < job->part.n_where ? job->part.where[place] : 0;
}

/* job.json says what the journal holds, so it is there before the journal holds anything. */
static int commit(struct bioinfer_job *job, bool sync, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    int st;
    if (job->unsaid && !job->part.journal.failed) {
        if ((st = bi_identity_write(&job->identity, job->env, job->folder, &why)))
            return bi_journal_fail(&job->part.journal, st, &why, err);
        job->unsaid = false;
    }
    /* a resume may not read again: notes are there before the records that they are of */
    if (!job->part.journal.failed && bi_named_is_new(job->env->named, &job->notes) &&
        (st = bi_notes_write(&job->notes, job->env, job->folder, &why)))
        return bi_journal_fail(&job->part.journal, st, &why, err);
    if (!(st = bi_journal_commit(&job->part.journal, sync, err)))
        job->n_kept = job->stats.records;
    return st;
}

static int commit_in_time(struct bioinfer_job *job, struct bioinfer_error *err)
{
    double begun;
    int st;
    if (!bi_journal_due(&job->part.journal, &begun))
        return 0;
    if (!(st = commit(job, true, err)))
        bi_journal_space(&job->part.journal, begun);
    return st;
}

/* ---- 3 records out ---- */

/* hash[0] is of the record, hash[1] of it and of all records before it, whoever computes them: so
 * each record of a journal says what the whole input was up to there. Files beside the input count
 * for records of this job alone. */
static void hash_record(struct bioinfer_job *job, const struct bioinfer_record *r, bool mine,
                        uint64_t hash[2])
{
    struct bioinfer_record named = *r;
    named.length = 0;
    hash[0] = job->files && r->length ? bi_job_hash_file(job->env, r, bi_record_hash(&named))
                                      : bi_record_hash(r);
    job->input_hash = bi_record_chain(job->input_hash, hash[0]);
    hash[1] = bi_hash(&job->input_hash, sizeof job->input_hash, job->identity_hash);
    if (job->alignments && mine)
        hash[0] = bi_job_hash_alignments(job->env, job->alignments, r, hash[0]);
}

/* A record that an earlier run has done must be the one that is read now. */
static int check_done(struct bioinfer_job *job, const struct bioinfer_record *r,
                      const uint64_t hash[2], struct bioinfer_error *err)
{
    struct bi_journal_record have;
    int st = bi_journal_get(&job->part.journal, done_at(job, r->ordinal) - 1, &have, err);
    if (!st && (have.hash[0] != hash[0] || (have.hash[1] != hash[1] && !job->force)))
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: record %" PRIu64 " ('%.60s') is not the one that this journal holds: "
                     "it is of another %s%s",
                     job->folder, r->ordinal, r->id,
                     have.hash[0] != hash[0] ? "input" : "job, or the input has changed before it",
                     have.hash[0] != hash[0] && job->alignments ? ", or of other alignments" : "");
    return st;
}

static int put_record(struct bioinfer_job *job, const struct bioinfer_result *r,
                      const struct bi_flight *f, uint64_t copy_of, struct bioinfer_error *err);

/* The result of a record whose sequence `first` had before. */
static int put_copy(struct bioinfer_job *job, const struct bi_flight *f, uint64_t first,
                    struct bioinfer_error *err)
{
    struct bioinfer_result r = {.ordinal = f->ordinal,
                                .id = f->id,
                                .message = "",
                                .length = (int64_t)f->length,
                                .description = f->description};
    return put_record(job, &r, f, first + 1, err);
}

/* Says what becomes of a record whose sequence was seen: 1 = nothing to compute now, 0 = compute
 * it, or a status. *same_as gets the first ordinal + 1. */
static int find_twin(struct bioinfer_job *job, const struct bioinfer_record *r, bool mine,
                     const uint64_t hash[2], uint64_t *same_as, struct bioinfer_error *err)
{
    struct bi_seen_slot *slot;
    struct bi_flight *twin = NULL, *f;
    uint64_t first, at;
    int st;
    if (!job->dedup || r->status || !r->length || r->ordinal >= UINT32_MAX)
        return 0;
    if (job->index) {
        *same_as = bi_hash(r->sequence, r->length, 1);
        *same_as += !*same_as;
        if (!mine) /* read between two of its own, or not: it makes no difference */
            return 0;
    }
    st = bi_seen_add(&job->sequences, r->sequence, r->length, &slot);
    if (st == BIOINFER_NOMEM)
        return bi_fail(err, st, "%s: table of sequences", job->path);
    if (st == BIOINFER_LIMIT)
        return 0;
    if (st == 1)
        slot->a = (uint32_t)r->ordinal + 1;
    else if (!job->index)
        *same_as = slot->a;
    if (!mine)
        return 0;
    if (!slot->b) {
        slot->b = (uint32_t)r->ordinal + 1;
        return 0;
    }
    first = slot->b - 1;
    at = done_at(job, first);
    if (done_at(job, r->ordinal) || first == r->ordinal)
        return 0;
    if (at) {
        struct bi_journal_record have;
        if ((st = bi_journal_get(&job->part.journal, at - 1, &have, err)))
            return st;
        if (have.status)
            return 0; /* the same will happen to this one, with its own name in the reason */
    } else if (!(twin = *flight_at(job, first))) {
        return 0;
    }
    if (!(f = flight_new(job->env, r, twin != NULL)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s'", r->id);
    f->same_as = *same_as;
    memcpy(f->hash, hash, sizeof f->hash);
    if (twin) {
        f->next = twin->copies;
        twin->copies = f;
        job->waiting_size += flight_size(f);
        return 1;
    }
    if (!(st = put_copy(job, f, first, err)))
        st = commit_in_time(job, err);
    flights_free(job->env, f);
    return st ? st : 1;
}

static int add_flight(struct bioinfer_job *job, const struct bioinfer_record *r,
                      const uint64_t hash[2], uint64_t same_as, struct bioinfer_error *err)
{
    struct bi_flight **at = flight_at(job, r->ordinal), *f;
    if (!(f = flight_new(job->env, r, false)))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s'", r->id);
    f->same_as = same_as;
    memcpy(f->hash, hash, sizeof f->hash);
    *at = f;
    return 0;
}

/* A copy whose twin has failed, to be computed after all. */
static int next_retry(struct bioinfer_job *job, struct bioinfer_record *r,
                      struct bioinfer_error *err)
{
    struct bi_flight *f = job->retry;
    *r = (struct bioinfer_record){.id = f->id,
                                  .description = f->description,
                                  .sequence = f->sequence,
                                  .length = f->length,
                                  .ordinal = f->ordinal,
                                  .message = ""};
    job->retry = f->next;
    f->next = NULL;
    job->handed = f; /* *r points into it */
    return add_flight(job, r, f->hash, f->same_as, err);
}

/* The name that a record will have, and its share of what the format can hold. */
static int reserve(struct bioinfer_job *job, const struct bioinfer_record *r,
                   struct bioinfer_error *err)
{
    struct bioinfer_result name = {
        .ordinal = r->ordinal, .id = r->id ? r->id : "", .description = r->description};
    return r->status ? 0 : bi_writer_reserve(job->writer, &name, err);
}

int bi_job_expect(struct bioinfer_job *job, const struct bioinfer_record *record,
                  struct bioinfer_error *err)
{
    const struct bioinfer_writer *w = job->writer;
    struct bioinfer_record r = *record;
    if (job->parts)
        return bi_parts_expect(job->parts, record, err);
    if (job->n_read || job->complete ||
        (!w->ops->reserve && (!w->ops->keyed_by_id || w->params.suffix_duplicates)))
        return 1;
    r.ordinal = job->index ? record->ordinal : job->n_expected;
    job->n_expected = r.ordinal + 1;
    return is_mine(job, r.ordinal) ? reserve(job, &r, err) : 0;
}

uint64_t bi_job_wants(const struct bioinfer_job *job, uint64_t ordinal)
{
    return job->parts ? bi_parts_wants(job->parts, ordinal) : bi_split_next(&job->split, ordinal);
}

/* Goes on to the next block of this shard, where blocks of others are many enough to be jumped
 * over. */
static int skip_blocks(struct bioinfer_job *job, struct bioinfer_error *err)
{
    const bioinfer_index *x = job->index;
    uint64_t next;
    int st;
    if (!x || job->n_read % x->block)
        return 0;
    next = bi_split_next(&job->split, job->n_read);
    if (!bi_index_far(x, job->n_read, next))
        return 0;
    if (next >= x->n_records) {
        job->n_read = x->n_records;
        job->input_hash = x->all;
        job->ended = true;
        return 0;
    }
    if (!(st = job->seek(job->source_user, next, err))) {
        job->n_read = next;
        job->input_hash = x->entries[next / x->block].before;
    }
    return st;
}

int bi_job_source(struct bioinfer_job *job, struct bioinfer_record *record,
                  struct bioinfer_error *err)
{
    int st;
    if (job->parts)
        return bi_parts_source(job->parts, record, err);
    flights_free(job->env, job->handed);
    job->handed = NULL;
    job->held_back = false;
    if ((st = commit_in_time(job, err)))
        return st; /* reading may take long: what is done shall not wait for it */
    while (!job->complete) {
        struct bioinfer_record r = {0};
        uint64_t hash[2], same_as = 0;
        bool mine;
        if (job->retry) {
            st = next_retry(job, record, err);
            return st ? st : 1;
        }
        if (job->ended || !job->source)
            return 0;
        /* enough waits for records in flight: let these be computed before more are read */
        if ((job->held_back = job->waiting_size >= MAX_WAITING))
            return 0;
        if ((st = skip_blocks(job, err)))
            return st;
        if (job->ended)
            return 0;
        if ((st = job->source(job->source_user, &r, err)) == BIOINFER_NONE_NOW)
            return st;
        if (st <= 0) {
            job->ended = st == 0;
            return st ? st : bi_index_check(job->index, job->n_read, true, job->input_hash, err);
        }
        if (r.target) /* neither what was read nor what comes out would be told by it */
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: record '%.60s' is a pair, and a job takes none", job->path,
                           r.id ? r.id : "");
        if (!r.id)
            r.id = "";
        r.ordinal = job->n_read++;
        mine = is_mine(job, r.ordinal);
        hash_record(job, &r, mine, hash);
        if ((st = bi_index_check(job->index, job->n_read, false, job->input_hash, err)))
            return st;
        /* the names of a unit's records are known with their results */
        if (mine && !job->units && r.ordinal >= job->n_expected && (st = reserve(job, &r, err)))
            return st;
        if (mine && done_at(job, r.ordinal) && (st = check_done(job, &r, hash, err)))
            return st;
        if ((st = find_twin(job, &r, mine, hash, &same_as, err)) < 0)
            return st;
        if (st || !mine || done_at(job, r.ordinal))
            continue;
        if ((st = add_flight(job, &r, hash, same_as, err)))
            return st;
        *record = r;
        return 1;
    }
    return 0;
}

bool bi_job_pending(const struct bioinfer_job *job)
{
    return job->parts ? bi_parts_pending(job->parts) : job->retry || job->held_back;
}

/* ---- 4 results in ---- */

struct piece_writer {
    struct bi_journal *journal;
    struct bioinfer_error *err;
};

static int write_piece(void *user, const void *bytes, size_t size)
{
    struct piece_writer *w = user;
    return bi_journal_write(w->journal, bytes, size, w->err);
}

static int put_record(struct bioinfer_job *job, const struct bioinfer_result *r,
                      const struct bi_flight *f, uint64_t copy_of, struct bioinfer_error *err)
{
    struct bi_journal *j = &job->part.journal;
    struct bi_journal_record record = {.ordinal = r->ordinal,
                                       .status = r->status,
                                       .hash = {f->hash[0], f->hash[1]},
                                       .flags = (uint64_t)r->piece << 32 |
                                                (copy_of ? BI_JOURNAL_COPY : 0) |
                                                (r->more ? 0 : BI_JOURNAL_LAST)};
    uint64_t prefix[2] = {r->status && !job->index ? 0 : f->same_as,
                          r->piece ? f->previous : copy_of};
    struct piece_writer writer = {j, err};
    int st;
    bi_journal_begin(j, &record);
    if ((st = bi_journal_write(j, prefix, sizeof prefix, err)) ||
        (st = bi_pack(r, write_piece, &writer, err)) || (st = bi_journal_end(j, &record, err)))
        return st;
    if (job->units)
        count_piece(job, r->ordinal, r->piece, r->status);
    if (r->more)
        return 0;
    count_unit(job, r->status);
    job->stats.copied += copy_of != 0;
    return bi_part_add(&job->part, job->env, bi_split_place(&job->split, r->ordinal), j->n - 1,
                       err);
}

/* Copies of a record that has its result; or they go where they will be computed. */
static int settle_copies(struct bioinfer_job *job, struct bi_flight *f, bool ok,
                         struct bioinfer_error *err)
{
    int st = 0;
    while (f->copies && !st) {
        struct bi_flight *copy = f->copies;
        f->copies = copy->next;
        job->waiting_size -= flight_size(copy);
        if (ok) {
            copy->next = NULL;
            st = put_copy(job, copy, f->ordinal, err);
            flights_free(job->env, copy);
        } else {
            copy->next = job->retry;
            job->retry = copy;
        }
    }
    return st;
}

/* The same for a record of a unit. */
static int reserve_result(struct bioinfer_job *job, const struct bioinfer_result *r,
                          struct bioinfer_error *err)
{
    const struct bioinfer_record name = {
        .ordinal = r->ordinal, .id = r->id, .description = r->description, .status = r->status};
    return reserve(job, &name, err);
}

/* Does this piece follow those that are there? */
static int check_piece(const struct bioinfer_job *job, const struct bi_flight *f,
                       const struct bioinfer_result *r, struct bioinfer_error *err)
{
    if (!f)
        return bi_fail(err, BIOINFER_MISUSE,
                       "job: a result of record %" PRIu64 ", which was not handed out", r->ordinal);
    if (((r->piece || job->units) && r->piece != f->n_pieces) ||
        (r->more && r->piece == UINT32_MAX))
        return bi_fail(err, BIOINFER_MISUSE,
                       "job: piece %" PRIu32 " of record %" PRIu64 ", expected %" PRIu32, r->piece,
                       r->ordinal, f->n_pieces);
    if (job->unit.ordinal && job->unit.ordinal != r->ordinal + 1)
        return bi_fail(err, BIOINFER_MISUSE,
                       "job: piece %" PRIu32 " of unit %" PRIu64 " while unit %" PRIu64
                       " waits for its last",
                       r->piece, r->ordinal, job->unit.ordinal - 1);
    if (r->more && ((r->status && !job->units) || job->dedup))
        return bi_fail(err, BIOINFER_MISUSE,
                       "job: record %" PRIu64 ": a piece that is not the "
                       "last %s",
                       r->ordinal, r->status ? "has a status" : "of a job with dedup");
    if (r->n_rows && !r->n_arrays && !r->n_texts && (!job->identity.text_head || !r->n_columns))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "job: record %" PRIu64 ": %" PRId64
                       " rows of columns, which the output does not hold: expected a text_head",
                       r->ordinal, r->n_rows);
    return 0;
}

int bi_job_sink(struct bioinfer_job *job, const struct bioinfer_result *result,
                struct bioinfer_error *err)
{
    struct bioinfer_result r = *result;
    struct bi_flight **at = flight_at(job, r.ordinal), *f = *at;
    int st;
    if (job->parts)
        return bi_parts_sink(job->parts, result, err);
    if ((st = check_piece(job, f, &r, err)))
        return st;
    if (!r.piece)
        f->n_pieces = 0; /* it is computed anew: pieces from before count no more */
    r.description = f->description;
    if (!job->identity.text_head)
        r.n_columns = 0;
    if (!r.status && job->writer->ops->check)
        st = job->writer->ops->check(job->writer, &r, err);
    if (!st && job->units)
        st = reserve_result(job, &r, err);
    if (!st)
        st = put_record(job, &r, f, 0, err);
    if (st)
        return st;
    if (r.more) {
        f->previous = job->part.journal.n - 1;
        f->n_pieces++;
        return commit_in_time(job, err);
    }
    job->stats.residues += r.status ? 0 : (uint64_t)r.length;
    *at = f->next;
    f->next = NULL;
    if (!(st = settle_copies(job, f, !r.status, err)))
        st = commit_in_time(job, err);
    flights_free(job->env, f);
    return st;
}

/* ---- 5 end ---- */

int bi_job_commit(struct bioinfer_job *job, struct bioinfer_error *err)
{
    if (job->parts)
        return bi_parts_commit(job->parts, err);
    return job->part.journal.n_group ? commit(job, true, err) : 0;
}

/* All records of this shard are there. */
static int check_all(const struct bioinfer_job *job, struct bioinfer_error *err)
{
    if (!job->ended && !job->complete)
        return bi_fail(err, BIOINFER_MISUSE, "job: finish before the end of the input");
    if (job->part.n_set < n_own(job))
        return bi_fail(err, BIOINFER_MISUSE,
                       "job: %" PRIu64 " of %" PRIu64 " records have neither result nor reason",
                       n_own(job) - job->part.n_set, n_own(job));
    if (job->part.n_set > n_own(job))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: the journal holds more records than the "
                       "input has: it is of another input",
                       job->folder);
    return 0;
}

static int close_journal(struct bioinfer_job *job, struct bioinfer_error *err)
{
    struct bi_journal *j = &job->part.journal;
    struct bi_journal_record end = {.ordinal = job->n_read,
                                    .flags = BI_JOURNAL_END,
                                    .hash = {job->input_hash, job->identity_hash}};
    int st = 0;
    if (!job->complete) {
        bi_journal_begin(j, &end);
        st = bi_journal_end(j, &end, err);
    }
    /* the next step syncs the output itself: a power loss until then costs seconds of work, and a
     * job that was too short for a commit leaves nothing to go on with */
    if (!st &&
        !(st = job->fresh && job->unsaid && !job->is_shard ? bi_journal_commit(j, false, err)
                                                           : commit(job, job->is_shard, err)))
        job->complete = true;
    return st;
}

int bi_job_build(struct bioinfer_job *job, struct bioinfer_error *err)
{
    struct bi_build b = {.env = job->env,
                         .path = job->path,
                         .folder = job->folder,
                         .parts = &job->part,
                         .split = {1, 1, 0},
                         .n_parts = 1,
                         .n_records = job->n_read,
                         .text_head = job->identity.text_head,
                         .text_tail = job->identity.text_tail,
                         .units = job->units,
                         .arrays = &job->built.arrays,
                         .notes = &job->notes,
                         .want_lost = true};
    struct bi_square square;
    int st = check_all(job, err);
    if (st || (st = close_journal(job, err)) || job->is_shard)
        return st;
    b.params = job->writer->params;
    if (job->identity.square &&
        (st = bi_square_parse(&square, job->identity.square, job->n_read, job->folder, err)))
        return st;
    b.square = job->identity.square ? &square : NULL;
    if (job->identity.tracks)
        b.params.tracks = job->identity.tracks; /* as a merge has them */
    if (job->identity.columns)
        b.params.columns = job->identity.columns;
    if (job->identity.files)
        b.params.files = job->identity.files;
    bi_seen_free(&job->writer->names); /* room for the names of what is built */
    bi_seen_free(&job->sequences);
    job->built.arrays.env = job->env;
    if ((st = bi_build(&b, err)) && job->unsaid)
        commit(job, true, NULL);
    if (b.n_lost && !void_lost(job, &b, NULL) && b.n_lost > 1)
        bi_fail(err, st, "%s: %zu records of the journal are damaged; --resume computes them again",
                job->folder, b.n_lost);
    bi_free(job->env, b.lost);
    job->built.n_good = b.by_status[0];
    job->built.n_copied = b.n_copied;
    job->built.n_residues = b.n_residues;
    return st;
}

int bi_job_finish(struct bioinfer_job *job, struct bioinfer_error *err)
{
    int st = job->parts ? bi_parts_finish(job->parts, err) : bi_job_build(job, err);
    if (!st && !job->parts && !job->is_shard)
        bi_job_discard(job);
    return st;
}

void bi_job_discard(struct bioinfer_job *job)
{
    if (job->parts) {
        bi_parts_discard(job->parts);
        return;
    }
    job->discarded = true;
    bi_journal_close(&job->part.journal);
    bi_job_clear(job->env, job->folder);
}

void bi_job_close(struct bioinfer_job **out)
{
    struct bioinfer_job *job = *out;
    if (!job)
        return;
    bi_parts_close(&job->parts);
    bi_named_close(job->env->named, &job->notes);
    bi_named_list_free(&job->notes);
    bi_buf_free(&job->built.arrays);
    if (job->part.journal.failed)
        bi_journal_commit(&job->part.journal, false, NULL); /* cuts it */
    if (job->fresh && (job->unsaid || !job->part.journal.log.size) && !job->discarded)
        bi_job_discard(job); /* a job that committed nothing leaves nothing */
    bi_journal_close(&job->part.journal);
    bi_lock_release(&job->lock);
    bi_free(job->env, job->part.where);
    bi_seen_free(&job->sequences);
    for (size_t i = 0; i < BI_FLIGHTS; i++)
        flights_free(job->env, job->flights[i]);
    flights_free(job->env, job->retry);
    flights_free(job->env, job->handed);
    bi_writer_close(&job->writer);
    bi_identity_free(&job->identity);
    bi_free(job->env, job->path);
    bi_free(job->env, job->folder);
    bi_free(job->env, job->inside);
    bi_free(job->env, job->alignments);
    bi_free(job->env, job);
    *out = NULL;
}

/* job.h - a run with a journal; the internals behind the bioinfer_job calls.
 *
 *   job.c       records in, results into the journal: what is done, what is a copy
 *   identity.c  job.json: what must be the same when a job is resumed or merged
 *   files.c     hashes of files that are records, or decide their results
 *   folder.c    PATH.part/: made, locked, cleared
 *   build.c     journals -> output and manifest
 *   merge.c     the journals of all shards -> output and manifest
 *   parts.c     a partitioned output: a job for each part
 *   journal.c   the two files of a journal
 *   pack.c      a result as bytes
 *   square.c    tiles of a journal -> a matrix of all pairs
 *   notes.c     what was named of the input and the settings
 *
 * A payload of the journal is u64 same_as + 1 (ordinal of the first record with the same
 * sequence, 0 = none; in shards that do not read the whole input a hash of the sequence, from
 * which the merge finds same_as), u64 copy_of + 1 (the record whose payload has the arrays,
 * 0 = this one), and the packed result. A piece behind the first has, instead of copy_of, the
 * number of the journal's record that holds the piece before it. A unit is done when its last piece
 * is there; a run that goes on computes all pieces of an unfinished unit again.
 *
 * PATH.part/ (PATH.part-I-of-N/ of a shard) holds job.json, data, journal and lock, named where
 * something was named, and while the output is built the manifest and a folder "output" where the
 * output grows; nothing else is written until all is complete. Other files in it are left alone. */
#ifndef BI_JOB_H
#define BI_JOB_H

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/named.h"
#include "../base/seen.h"
#include "../loaders/fasta_index.h"
#include "../loaders/json.h"
#include "../writers/writer.h"
#include "journal.h"
#include "pack.h"
#include "square.h"

#define BI_JOB_NOTE "note"           /* the status of rows of the manifest that are of no record */
enum { BI_JOB_PREFIX = 16 };         /* bytes of a payload in front of the packed result */
enum { BI_JOB_SEQUENCES = 3 << 19 }; /* remembered at most: 48 MiB of table */

/* ---- which records are whose ---- */

/* Blocks of records go to shards by turns. Places count the records of one shard. */
struct bi_split {
    uint64_t block, n_shards, shard; /* shard from 0 */
};

/* The shard that has a record, from 0. */
static inline uint64_t bi_split_shard(const struct bi_split *s, uint64_t ordinal)
{
    return ordinal / s->block % s->n_shards;
}

/* The place of a record among those of the shard that has it, from 0. */
static inline uint64_t bi_split_place(const struct bi_split *s, uint64_t ordinal)
{
    return ordinal / s->block / s->n_shards * s->block + ordinal % s->block;
}

/* The record at a place of this shard; the inverse of bi_split_place() for the shard's records. The
 * input need not have so many. */
static inline uint64_t bi_split_ordinal(const struct bi_split *s, uint64_t place)
{
    return (place / s->block * s->n_shards + s->shard) * s->block + place % s->block;
}

/* Gives how many of the first n records are the shard's. */
static inline uint64_t bi_split_count(const struct bi_split *s, uint64_t n)
{
    const uint64_t blocks = n / s->block, last = blocks % s->n_shards;
    return blocks / s->n_shards * s->block + (last > s->shard    ? s->block
                                              : last == s->shard ? n % s->block
                                                                 : 0);
}

/* The first record from this one on that is the shard's, this one included. */
static inline uint64_t bi_split_next(const struct bi_split *s, uint64_t ordinal)
{
    const uint64_t of = bi_split_shard(s, ordinal);
    const uint64_t ahead = (s->shard + s->n_shards - of) % s->n_shards;
    return ahead ? (ordinal / s->block + ahead) * s->block : ordinal;
}

/* ---- folder.c ---- */

#define BI_JOB_OUTPUT "output" /* the folder in it where the output grows */

/* folder + "/" + name as a new string, to be freed by bi_free(); NULL = no memory. */
char *bi_job_path(const struct bi_env *env, const char *folder, const char *name);
/* Makes the folder of a job and takes its lock, which bi_lock_release() gives back; after a failure
 * *fd is -1. IO when another job holds it, or when there is a folder of that name which is no
 * job's, or a link. An empty folder, and one with a job in it, are taken as they are. NOT_FOUND:
 * there is no folder to make it in. */
int bi_job_lock(int *fd, const struct bi_env *env, const char *folder, struct bioinfer_error *err);
/* Removes the files of a job, that of its lock too, which stays held, and its folder when nothing
 * else is in it. Best effort. */
void bi_job_clear(const struct bi_env *env, const char *folder);

/* ---- identity.c ---- */

/* A file that decides results, or a folder of them, by what the task takes it for. */
struct bi_input_fact {
    const char *role, *path;    /* "input", "genome", "mutations", ... */
    struct bi_file_facts facts; /* zeros = not a file */
};

/* The contents of job.json: all that makes a job the job that it is. */
struct bi_identity {
    struct bi_arena arena; /* texts live here */
    const char *version, *task, *model, *fingerprint, *options;
    struct bi_input_fact *inputs;
    int n_inputs;
    const char *text_head; /* NULL unless the output is finished text */
    const char *text_tail; /* NULL, or what stands behind it all */
    const char *square;    /* NULL, or the matrix that the output is, as bi_square_text() */
    const char *tracks;    /* NULL, or names of the files of bedGraph and BigWig */
    const char *columns;   /* NULL, or a list of arrays of all records */
    const char *files;     /* NULL, or the first line of a folder's scores.tsv */
    uint64_t shard, n_shards;
    uint64_t block; /* records that go to a shard together; 0: one, and the whole input is read */
    bool units, dedup;
};

/* Fills *id from the parameters, whose texts are copied; facts of the inputs are taken here, zeros
 * for one that cannot be read. INVALID: a number of inputs or a text that is not allowed. After a
 * failure, too, *id is to be freed. */
int bi_identity_make(struct bi_identity *id, const struct bi_env *env,
                     const struct bioinfer_job_params *params, struct bioinfer_error *err);
/* Writes job.json, which gets its name when it is whole, so nobody sees half of it, and one that
 * was there stays after a failure. LIMIT: it would be too long to be read back, which is 16 MiB. */
int bi_identity_write(const struct bi_identity *id, const struct bi_env *env, const char *folder,
                      struct bioinfer_error *err);
/* NOT_FOUND when the folder has no job.json, FORMAT when that is none, MISMATCH when another
 * version wrote it, LIMIT above 16 MiB. After a failure, too, *id is to be freed. */
int bi_identity_read(struct bi_identity *id, const struct bi_env *env, const char *folder,
                     struct bioinfer_error *err);
/* 0: both are one job. MISMATCH naming the first difference, as what it was (`have`) and is now
 * (`want`). Inputs are compared in their order: first all roles, then files. Between shards the
 * shard itself, and path and time of the inputs, may differ, but not the number of shards. */
int bi_identity_compare(const struct bi_identity *have, const struct bi_identity *want, bool shards,
                        const char *folder, struct bioinfer_error *err);
/* A hash of what decides results, but for the first input, which is known by its records. Neither
 * shard nor block, nor path and time of a file, is in it; the order of inputs is. */
uint64_t bi_identity_hash(const struct bi_identity *id);
/* Frees its texts; *id is zeros then. Safe on zeros. */
void bi_identity_free(struct bi_identity *id);

/* ---- notes.c ---- */

/* Adds what the file "named" of a job's folder has, which need not be there. */
int bi_notes_read(struct bi_named_list *list, const struct bi_env *env, const char *folder,
                  struct bioinfer_error *err);
/* Writes that file, which gets its name when it is whole, of a list that hears; clears is_new. */
int bi_notes_write(struct bi_named_list *list, const struct bi_env *env, const char *folder,
                   struct bioinfer_error *err);
/* Appends ', "notes": [...]', a JSON list of texts, of a list that hears; nothing of an empty one.
 * out->failed where there is no memory. */
void bi_notes_put_json(struct bi_named_list *list, struct bi_buf *out);
/* Adds the texts of such a JSON list to one that hears; json may be NULL. */
void bi_notes_take_json(struct bi_named_list *list, const struct bi_json *json);

/* ---- files.c ---- */

/* A hash of the file whose path a record has for its sequence; its place does not count. */
uint64_t bi_job_hash_file(const struct bi_env *env, const struct bioinfer_record *r, uint64_t seed);
/* A hash of the files in a folder of alignments that are the record's chains', also of those that
 * are missing. The place of the folder does not count. */
uint64_t bi_job_hash_alignments(const struct bi_env *env, const char *folder,
                                const struct bioinfer_record *r, uint64_t seed);

/* ---- build.c ---- */

/* One journal and which of its records hold which ordinals. */
struct bi_part {
    struct bi_journal journal;
    uint32_t *where; /* by place: number of its record + 1, 0 = none */
    size_t n_where, cap_where;
    uint64_t n_set; /* ordinals that have a record */
};

/* Notes that record number `at` of the journal holds place `index`; of two the last one that was
 * added counts. FORMAT when it is farther ahead of the records before it than any run can be: what
 * a file says decides no allocation. LIMIT: `at` is 2^32 - 2 or more. No place is noted then. */
int bi_part_add(struct bi_part *part, const struct bi_env *env, uint64_t index, uint64_t at,
                struct bioinfer_error *err);
/* Place `index` has no record any more; it may have had none. */
void bi_part_forget(struct bi_part *part, uint64_t index);

/* An output that is built of journals: what is asked, and then what came of it. */
struct bi_build {
    const struct bi_env *env;
    const char *path;   /* the output's */
    const char *folder; /* where its files grow, on the same file system */
    struct bi_part *parts;
    struct bi_split split; /* over the parts */
    uint64_t n_parts, n_records;
    bool keys; /* payloads have a hash of their sequence in the place of same_as + 1 */
    uint64_t max_open, n_open, oldest; /* journals open at once, 0 = all; one to be parked next */
    struct bioinfer_writer_params params;
    const char *text_head; /* not NULL: the output is this, and behind it the texts of all pieces */
    const char *text_tail; /* NULL, or what stands behind these */
    const struct bi_square *square; /* not NULL: the output is this matrix, the records its tiles */
    struct bi_buf *arrays; /* not NULL: takes those of the first record that has any, as JSON */
    bool units;            /* pieces are records */
    struct bi_named_list *notes; /* rows after the rows of records; it may hear */
    uint64_t n_rows;             /* records so far */
    uint64_t n_copied, n_residues, by_status[32];
    bool want_lost; /* goes on to find all that is damaged in the single part, when something is */
    uint64_t *lost; /* n_lost places in `where` whose payloads are damaged; the caller frees it */
    size_t n_lost, cap_lost;
};

/* Writes output and manifest, and moves both to their names when they are whole: after a failure
 * b->path is as it was; but where its folder cannot be synced at last, there is no such file, and a
 * manifest from before may be gone, too. Counts are in *b. FORMAT when a payload is not what was
 * written: no damaged byte reaches the output; with want_lost its place, and all others that are
 * damaged behind it, are in `lost`. */
int bi_build(struct bi_build *b, struct bioinfer_error *err);
/* The writer of the output, which is not started: as bi_writer_new(). */
int bi_build_writer(const struct bi_build *b, struct bioinfer_writer **out, const char *path,
                    struct bioinfer_error *err);
/* Reads what the single part holds from place `from` on, and adds to `lost` what is damaged, which
 * is no failure; a place without a record is none. A file that cannot be read is a failure. */
int bi_build_check(struct bi_build *b, uint64_t from, struct bioinfer_error *err);
/* Opens the journal of a part that is to be read, and parks another one when there are too many.
 * Nothing, and 0, where it is open or max_open is 0. */
int bi_build_wake(struct bi_build *b, struct bi_part *part, struct bioinfer_error *err);

/* ---- job.c ---- */

struct bi_parts;

/* Facts of an output that was built. */
struct bi_built {
    uint64_t n_good, n_copied, n_residues; /* records with a result; copies among them */
    struct bi_buf arrays; /* kinds, layers and shapes of the first record that has any, as JSON */
};

/* A record handed out and not yet answered, or one that waits for its twin. */
struct bi_flight {
    struct bi_flight *next;
    struct bi_flight *copies; /* records with the same sequence */
    uint64_t ordinal, same_as, hash[2];
    uint32_t n_pieces;      /* that are in the journal */
    uint64_t previous;      /* number of the journal's record that holds the last of them */
    char *id, *description; /* behind this struct, in the same piece of memory */
    char *sequence;         /* kept for copies alone: needed when the twin fails */
    size_t length;
    uint64_t size; /* bytes of the piece */
};

/* The records of a unit that is not complete yet. */
struct bi_open_unit {
    uint64_t ordinal; /* the unit's + 1; 0 = there is none */
    uint64_t by_status[32];
    bool passing; /* one has failed for a reason that need not be there again */
};

enum { BI_FLIGHTS = 4096 }; /* chains of the table; a window has at most 16384 records */

struct bioinfer_job {
    const struct bi_env *env;
    char *path, *folder;
    char *inside;     /* room for the path of a file in the folder */
    char *alignments; /* NULL, or a folder of them */
    struct bi_identity identity;
    uint64_t identity_hash;
    struct bioinfer_writer *writer; /* not started: format, checks and names */
    int lock;
    struct bi_part part;
    struct bi_split split;
    const bioinfer_index *index; /* the input's, where not all of it is read; or NULL */
    int (*seek)(void *user, uint64_t ordinal, struct bioinfer_error *err);
    bool is_shard, force, dedup, files, units, ended;
    bool unsaid;   /* job.json is to be written before the next commit */
    bool fresh;    /* began with this run */
    bool complete; /* the journal holds everything */
    bool had_all;  /* it did when it was opened, whatever has become of files that are records */
    bool discarded;
    bioinfer_source source;
    void *source_user;
    uint64_t n_read;
    uint64_t n_expected;      /* records whose names were reserved before they are read */
    uint64_t input_hash;      /* over all records read */
    struct bi_seen sequences; /* a = first ordinal + 1, b = first of this shard + 1 */
    struct bi_flight *flights[BI_FLIGHTS];
    struct bi_flight *retry;    /* copies of what has failed: to be computed */
    struct bi_flight *handed;   /* the retried record given out last */
    struct bi_open_unit unit;   /* the one at hand, of a job with units */
    uint64_t waiting_size;      /* bytes that waiting copies take */
    uint64_t n_kept;            /* records that the journal would keep now */
    struct bi_named_list notes; /* also of earlier runs; `env` of the job hears for it */
    bool held_back;             /* the source said "no more" because too many wait */
    struct bioinfer_job_stats stats;
    struct bi_built built;
    struct bi_parts *parts; /* not NULL: the output is partitioned, and these do all the work */
};

/* As the functions bioinfer_job_...() of bioinfer.h, whose pointers were checked. *out is NULL
 * after a failure. expect: 1 = no names need be reserved, or it is too late for it; without an
 * index it counts the records itself. wants: the first record from `ordinal` on that this shard
 * computes, done or not. source, sink: a bioinfer_source and a bioinfer_sink with the job as their
 * user. pending: whether the source is to be asked again though it said there is no more. */
int bi_job_open(struct bioinfer_job **out, const struct bi_env *env, const char *path,
                const struct bioinfer_job_params *params, struct bioinfer_error *err);
int bi_job_expect(struct bioinfer_job *job, const struct bioinfer_record *record,
                  struct bioinfer_error *err);
uint64_t bi_job_wants(const struct bioinfer_job *job, uint64_t ordinal);
int bi_job_source(struct bioinfer_job *job, struct bioinfer_record *record,
                  struct bioinfer_error *err);
bool bi_job_pending(const struct bioinfer_job *job);
int bi_job_sink(struct bioinfer_job *job, const struct bioinfer_result *result,
                struct bioinfer_error *err);
int bi_job_commit(struct bioinfer_job *job, struct bioinfer_error *err);
/* Builds output and manifest; the journal stays. A shard builds nothing: its journal is all.
 * MISUSE: the input, or a result, has not come to its end. MISMATCH: the journal holds more records
 * than the input. FORMAT: it is damaged, and notes where, so that a run that goes on computes that
 * anew. finish: that, and but for a shard the journal is removed; of parts bi_parts_finish().
 * build: never of parts. discard: removes the journal; close is still to be called. */
int bi_job_build(struct bioinfer_job *job, struct bioinfer_error *err);
int bi_job_finish(struct bioinfer_job *job, struct bioinfer_error *err);
void bi_job_discard(struct bioinfer_job *job);
void bi_job_close(struct bioinfer_job **job);

/* As bioinfer_job_merge(): joins journals of all shards, those in parts[0, n_parts), or those found
 * beside `path` where n_parts is 0; in any order. NOT_FOUND: there is none; MISMATCH: they are of
 * different jobs, one is missing, double or unfinished, or `path` has an unfinished job of its own;
 * IO: `path` is a folder; FORMAT: a journal is damaged; INVALID: it is of finished texts, and
 * params name a format. stats may be NULL; it is filled after success alone, but for resumed,
 * committed and folder. params may be NULL; model, fingerprint, tracks, columns and files are
 * the journals'. */
int bi_job_merge(const struct bi_env *env, const char *path, const char *const *parts,
                 size_t n_parts, const struct bioinfer_writer_params *params,
                 struct bioinfer_job_stats *stats, struct bioinfer_error *err);

#endif

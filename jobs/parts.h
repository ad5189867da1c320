/* parts.h - a partitioned output: a folder of parts of N records each, every one a job's output.
 *
 * parts.c says what lies in the folder. A bioinfer_job with part_records hands its calls to
 * these, which mean what those of job.h mean. */
#ifndef BI_PARTS_H
#define BI_PARTS_H

#include "job.h"

/* As the functions of job.h. owner: the job whose source gives the records; it lives as long. *out
 * is NULL after a failure. open: INVALID: texts, no format by name, or one that is a folder;
 * MISMATCH: RESUME_NO, and parts or an index.json are there; IO: another job is writing these
 * parts. It removes index.json and what says that the shard is done, and nothing of parts but, for
 * RESUME_RESTART, that they are done. source: 0 also while too many parts wait, which are then
 * pending; UNSUPPORTED: the owner's source has none now; MISMATCH: a part that is done is of
 * another job or input. count: figures of all parts so far. finish: describes the shard, and where
 * there is one alone writes index.json, as bi_parts_merge(); MISUSE before the end of the input or
 * of its results. close removes the lock, and the folder when it is empty; journals of parts that
 * are not done stay. */
int bi_parts_open(struct bi_parts **out, struct bioinfer_job *owner, const char *path,
                  const struct bioinfer_job_params *params, struct bioinfer_error *err);
int bi_parts_expect(struct bi_parts *s, const struct bioinfer_record *record,
                    struct bioinfer_error *err);
uint64_t bi_parts_wants(const struct bi_parts *s, uint64_t ordinal);
int bi_parts_source(struct bi_parts *s, struct bioinfer_record *record, struct bioinfer_error *err);
bool bi_parts_pending(const struct bi_parts *s);
int bi_parts_sink(struct bi_parts *s, const struct bioinfer_result *result,
                  struct bioinfer_error *err);
int bi_parts_commit(struct bi_parts *s, struct bioinfer_error *err);
void bi_parts_count(const struct bi_parts *s, struct bioinfer_job_stats *stats);
int bi_parts_finish(struct bi_parts *s, struct bioinfer_error *err);
void bi_parts_discard(struct bi_parts *s); /* parts that are done stay */
void bi_parts_close(struct bi_parts **parts);
/* Whether a finished shard of a partitioned output lies in the folder; false also where that cannot
 * be listed. */
bool bi_parts_found(const struct bi_env *env, const char *folder);
/* Checks that all parts of all shards are there and of one job, where `check` is set also that
 * their files have the checksums that were written, else their sizes alone, and writes
 * index.json. The sums of the parts go to *stats unless it is NULL or there is a failure.
 * NOT_FOUND: no shard is finished, or a file that a part names is gone; MISMATCH: a shard or
 * part is missing, or of another job or input, or a file has another size or checksum; FORMAT:
 * a description is damaged. */
int bi_parts_merge(const struct bi_env *env, const char *folder, bool check,
                   struct bioinfer_job_stats *stats, struct bioinfer_error *err);

#endif

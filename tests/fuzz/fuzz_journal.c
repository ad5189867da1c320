/* fuzz_journal.c - the folder of a job whose checksums are right, whatever else it
 * holds: merged into an output, or resumed and finished.
 *
 * Bytes: format and way (HOW_ below); with HOW_JOB u16 n and n bytes of job.json; then
 * records, each a byte (AS_ below), its fields and u16 n and n bytes of payload, which
 * fuzz_mend_packed puts right. A record has what is expected of it where no bit says
 * that it comes from the bytes. */
#include <stdio.h>
#include <unistd.h>

#include "../../jobs/job.h"
#include "packed.h"

enum { HOW_FORMAT = 7, HOW_RESUME = 8, HOW_JOB = 16, HOW_TWO_SHARDS = 32, HOW_FORCE = 64 };
enum {
    AS_WIDE = 1,
    AS_END = 2,
    AS_OFFSET = 4,
    AS_PAYLOAD = 8,
    AS_OTHER = 16,
    AS_COPY = 32,
    AS_STATUS = 64,
    AS_BAD_CRC = 128
};

struct input {
    const uint8_t *at;
    size_t left;
};

static uint64_t take(struct input *in, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n && in->left; i++, in->left--)
        v |= (uint64_t)*in->at++ << 8 * i;
    return v;
}

static const uint8_t *take_bytes(struct input *in, size_t *n)
{
    const uint8_t *p = in->at;
    *n = (size_t)take(in, 2);
    p = in->at;
    *n = *n < in->left ? *n : in->left;
    in->at += *n;
    in->left -= *n;
    return p;
}

static void write_file(const char *folder, const char *name, const struct bi_buf *bytes)
{
    char path[256];
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!(f = fopen(path, "wb")) ||
        fwrite(bytes->size ? bytes->data : "", 1, bytes->size, f) != bytes->size || fclose(f))
        abort();
}

/* The input of a job that is resumed. */
static const struct {
    const char *id, *sequence;
} records[] = {{"a", "MKT"}, {"b", "MKV"}, {"c", "MKT"}};

/* Makes the hash that a journal holds of record `ordinal`, so that the record counts as done. */
static void hash_record(uint64_t hash[2], uint64_t ordinal, uint64_t job)
{
    const char *id = records[ordinal % BI_COUNT(records)].id;
    const char *sequence = records[ordinal % BI_COUNT(records)].sequence;
    hash[0] = bi_hash(sequence, strlen(sequence), bi_hash("", 0, bi_hash(id, strlen(id), 0)));
    hash[1] = bi_hash(hash, sizeof *hash, job);
}

/* Makes the record of a packed result that says it is a piece one of that number. */
static uint64_t piece_of(const uint8_t *packed, size_t size, bool *more)
{
    const uint64_t at = size >= 56 ? 56 + 48 * (uint64_t)bi_le32(packed + 36) : 0;
    *more = size >= 56 && bi_le32(packed + 52) & 2;
    return at && bi_le32(packed + 52) & 4 && at + 8 <= size ? bi_le32(packed + at) % 4 : 0;
}

/* One record into data and journal. */
static void add_record(struct input *in, struct bi_buf *data, struct bi_buf *journal, uint64_t job)
{
    const unsigned as = (unsigned)take(in, 1);
    const uint64_t ordinal = take(in, as & AS_WIDE ? 8 : 1);
    const uint32_t status = as & AS_STATUS ? (uint32_t)take(in, 4) : 0;
    const uint64_t offset = as & AS_OFFSET ? take(in, 8) : data->size;
    const uint64_t same_as = as & AS_COPY ? take(in, 1) : 0,
                   copy_of = as & AS_COPY ? take(in, 1) : 0;
    uint8_t record[BI_JOURNAL_RECORD] = "BIJ2";
    uint64_t hash[2] = {0, job}, piece = 0;
    bool more;
    size_t n;
    const uint8_t *given = take_bytes(in, &n);
    uint8_t *payload = malloc(n + BI_JOB_PREFIX);
    if (!payload)
        return;
    fuzz_put(payload, same_as, 8);
    fuzz_put(payload + 8, copy_of, 8);
    memcpy(payload + BI_JOB_PREFIX, given, n);
    if (!(as & AS_PAYLOAD)) {
        n = fuzz_mend_packed(payload + BI_JOB_PREFIX, n);
        if (n >= 56) {
            fuzz_put(payload + BI_JOB_PREFIX + 16, ordinal, 8);
            fuzz_put(payload + BI_JOB_PREFIX + 32, status, 4);
        }
    }
    piece = piece_of(payload + BI_JOB_PREFIX, n, &more);
    if (piece) /* the record before this one holds the piece before it */
        fuzz_put(payload + 8, journal->size / sizeof record - 1, 8);
    n += BI_JOB_PREFIX;
    fuzz_put(record + 8, ordinal, 8);
    fuzz_put(record + 16, offset, 8);
    fuzz_put(record + 24, as & AS_END ? 0 : n, 8);
    fuzz_put(record + 32, as & AS_END ? 0 : bi_crc32c_best()(0, payload, n), 4);
    fuzz_put(record + 36, status, 4);
    fuzz_put(record + 40,
             as & AS_END    ? BI_JOURNAL_END
             : as & AS_COPY ? BI_JOURNAL_COPY | BI_JOURNAL_LAST
                            : piece << 32 | (more ? 0 : BI_JOURNAL_LAST),
             8);
    if (!(as & AS_END))
        hash_record(hash, ordinal, job);
    fuzz_put(record + 48, hash[0], 8);
    fuzz_put(record + 56, hash[1], 8);
    fuzz_put(record + 4,
             bi_crc32c_best()(0, record + 8, sizeof record - 8) ^ (as & AS_BAD_CRC ? 1 : 0), 4);
    if (!(as & AS_END))
        bi_buf_append(data, payload, n);
    bi_buf_append(journal, record, sizeof record);
    free(payload);
}

static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    uint64_t *n = user;
    (void)err;
    if (*n == BI_COUNT(records))
        return 0;
    *record = (struct bioinfer_record){.id = records[*n].id,
                                       .description = "",
                                       .message = "",
                                       .sequence = records[*n].sequence,
                                       .length = 3};
    ++*n;
    return 1;
}

/* Answers what the job still asks for. */
static int answer(struct bioinfer_job *job, struct bioinfer_error *err)
{
    static const float values[2] = {1, 2};
    struct bioinfer_record record;
    int st;
    while ((st = bi_job_source(job, &record, err)) > 0) {
        struct bioinfer_array array = {.kind = "mean", .n_dims = 1, .shape = {2}, .data = values};
        struct bioinfer_result r = {.ordinal = record.ordinal,
                                    .id = record.id,
                                    .description = "",
                                    .message = "",
                                    .length = (int64_t)record.length,
                                    .arrays = &array,
                                    .n_arrays = 1,
                                    .n_kinds = 1,
                                    .n_layers_kept = 1};
        if ((st = bi_job_sink(job, &r, err)))
            return st;
    }
    return st;
}

static int resume(const struct bi_env *env, const char *path,
                  const struct bioinfer_job_params *params, struct bioinfer_error *err)
{
    struct bioinfer_job *job = NULL;
    uint64_t n = 0;
    int st = bi_job_open(&job, env, path, params, err);
    if (!st) {
        job->source = next_record;
        job->source_user = &n;
        if (!(st = answer(job, err)))
            st = bi_job_finish(job, err);
    }
    bi_job_close(&job);
    return st;
}

static const char *scratch(void)
{
    static char folder[64];
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%s/bioinfer-fuzz-%ld",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (long)getpid());
    }
    return folder;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[8] = {"tsv",         "jsonl",  "npz", "npy",
                                           "safetensors", "esm-pt", "tsv", "npz"};
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct input in = {data, size};
    const unsigned how = (unsigned)take(&in, 1);
    const bool resumed = how & HOW_RESUME;
    const int n_shards = resumed ? 0 : how & HOW_TWO_SHARDS ? 2 : 1;
    struct bioinfer_writer_params writer = {.struct_size = sizeof writer,
                                            .format = formats[how & HOW_FORMAT],
                                            .model = "m",
                                            .fingerprint = "f"};
    struct bi_buf files[2][2] = {{{.env = &env}, {.env = &env}}, {{.env = &env}, {.env = &env}}};
    struct bi_buf job = {.env = &env};
    struct bioinfer_job_stats stats = {.struct_size = sizeof stats};
    char path[128], folder[160];
    int st;
    bi_folder_remove(&env, scratch());
    if (bi_folder_make(&env, scratch(), &err))
        abort();
    snprintf(path, sizeof path, "%s/out.x", scratch());
    if (how & HOW_JOB) {
        size_t n;
        const uint8_t *bytes = take_bytes(&in, &n);
        bi_buf_append(&job, bytes, n);
    }
    for (int i = 0; i < (n_shards ? n_shards : 1); i++) {
        struct bioinfer_job_params params = {.struct_size = sizeof params,
                                             .writer = &writer,
                                             .options = "o",
                                             .n_shards = n_shards,
                                             .shard = n_shards ? i + 1 : 0,
                                             .resume = how & HOW_FORCE ? BIOINFER_RESUME_FORCE
                                                                       : BIOINFER_RESUME_MATCH};
        struct bi_identity id;
        uint64_t hash;
        if (n_shards)
            snprintf(folder, sizeof folder, "%s.part-%d-of-%d", path, i + 1, n_shards);
        else
            snprintf(folder, sizeof folder, "%s.part", path);
        if (bi_folder_make(&env, folder, &err) || bi_identity_make(&id, &env, &params, &err) ||
            bi_identity_write(&id, &env, folder, &err))
            abort();
        hash = bi_identity_hash(&id);
        bi_identity_free(&id);
        if (how & HOW_JOB && !i) {
            write_file(folder, "job.json", &job);
            if (!bi_identity_read(&id, &env, folder, &err))
                hash = bi_identity_hash(&id);
            bi_identity_free(&id);
        }
        while (in.left && (i || n_shards < 2 || !(*in.at & AS_OTHER)))
            add_record(&in, &files[i][0], &files[i][1], hash);
        write_file(folder, "data", &files[i][0]);
        write_file(folder, "journal", &files[i][1]);
        if (resumed)
            st = resume(&env, path, &params, &err);
    }
    if (!resumed)
        st = bi_job_merge(&env, path, NULL, 0, &writer, &stats, &err);
    if (st && (!err.text[0] || err.status != st || st == BIOINFER_NOMEM || st == BIOINFER_INTERNAL))
        abort();
    if (!st && !bi_path_exists(path))
        abort();
    for (int i = 0; i < 4; i++)
        bi_buf_free(&files[i / 2][i % 2]);
    bi_buf_free(&job);
    bi_folder_remove(&env, scratch());
    return 0;
}

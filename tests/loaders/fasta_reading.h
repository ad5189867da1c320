/* fasta_reading.h - FASTA read into a log, from memory, by reads or by threads; and gzip of it.
 *
 * Whatever is read from memory is read again by threads, in blocks of many sizes, with the same
 * outcome. */
#ifndef FASTA_READING_H
#define FASTA_READING_H

#include "../../loaders/fasta.h"

#include "../../loaders/gunzip.h"
#include "bytes.h"

struct log {
    char text[4096];
    size_t n;
};

static inline void on_log(void *user, int level, const char *text)
{
    struct log *log = user;
    int n = snprintf(log->text + log->n, sizeof log->text - log->n, "%d:%s\n", level, text);
    if (n > 0 && log->n + (size_t)n < sizeof log->text)
        log->n += (size_t)n;
}

struct reading {
    char text[1 << 14]; /* id|description|sequence\n, or id|!status|message\n */
    size_t n_text;
    size_t n, n_good;
    int status; /* how it ended */
    char error[1020];
    struct log log;
};

static struct reading got; /* by the last read_*() */

static inline void add_record(const struct bioinfer_record *x)
{
    int n;
    size_t room = sizeof got.text - got.n_text;
    CHECK_EQ(x->ordinal, got.n);
    CHECK(x->sequence[x->length] == '\0');
    got.n++;
    got.n_good += !x->status;
    if (x->status)
        CHECK(x->length == 0 && x->message[0]);
    else
        CHECK(x->length > 0 && !x->message[0]);
    n = x->status ? snprintf(got.text + got.n_text, room, "%s|!%s|%s\n", x->id,
                             bi_status_name(x->status), x->message)
                  : snprintf(got.text + got.n_text, room, "%s|%s|%s\n", x->id, x->description,
                             x->sequence);
    if (n > 0 && (size_t)n < room)
        got.n_text += (size_t)n;
    else
        got.text[got.n_text] = '\0';
}

static inline void read_all(struct bioinfer_reader *r)
{
    struct bioinfer_record x;
    struct bioinfer_error err = {0}, again = {0};
    int st;
    while ((st = bi_fasta_next(r, &x, &err)) > 0)
        add_record(&x);
    got.status = st;
    if (st)
        snprintf(got.error, sizeof got.error, "%s", err.text);
    CHECK_EQ(bi_fasta_next(r, &x, &again), st); /* it stays so */
    CHECK_STR(again.text, err.text);
}

static inline void read_many(struct bioinfer_reader *r)
{
    struct bioinfer_records *x;
    struct bioinfer_error err = {0};
    int st;
    while ((st = bi_fasta_next_many(r, &x, &err)) > 0) {
        uint64_t n_residues = 0;
        CHECK(x->n_records > 0);
        for (size_t i = 0; i < x->n_records; i++) {
            add_record(&x->records[i]);
            n_residues += x->records[i].length;
        }
        CHECK_EQ(x->n_residues, n_residues);
        bi_fasta_many_free(&x);
    }
    CHECK(!x);
    got.status = st;
    if (st)
        snprintf(got.error, sizeof got.error, "%s", err.text);
    CHECK_EQ(bi_fasta_next_many(r, &x, NULL), st);
}

/* How a text is read: by reads of at most `chunk` bytes, or by threads in blocks of `block`. */
struct way {
    size_t chunk, block;
    bool many; /* by bi_fasta_next_many() */
};

static inline void read_way(const void *bytes, size_t n, int policy, const struct way *way)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_reader *r = NULL;
    struct bioinfer_error err;
    struct bioinfer_reader_params p = BIOINFER_PARAMS(
        struct bioinfer_reader_params, .residues = policy, .n_threads = way->block ? 3 : 0);
    memset(&got, 0, sizeof got);
    env.log = on_log;
    env.log_user = &got.log;
    if (!CHECK(!bi_fasta_open_memory(&r, &env, "t.fa", bytes, n, &p, &err)))
        return;
    if (way->chunk)
        bi_fasta_tune(r, way->chunk, BI_GUNZIP_RATIO);
    if (way->block)
        bi_fasta_tune_blocks(r, way->block);
    (way->many ? read_many : read_all)(r);
    bi_fasta_close(&r);
    CHECK(!r);
}

static inline void equal_readings(const struct reading *a, const struct reading *b, size_t block)
{
    const bool same = a->n == b->n && a->n_good == b->n_good && a->status == b->status &&
                      !strcmp(a->text, b->text) && !strcmp(a->error, b->error) &&
                      !strcmp(a->log.text, b->log.text);
    if (!CHECK(same))
        fprintf(stderr, "    blocks of %zu: %s%s%s\nnot\n%s%s%s\n", block, b->text, b->error,
                b->log.text, a->text, a->error, a->log.text);
}

static unsigned n_ways; /* ways of reading by threads, which sizes follow from */
static bool no_threads; /* they take long to start */

/* The text of `got` by threads, in blocks of some sizes; `got` is as before. */
static inline void read_by_threads(const void *bytes, size_t n, int policy)
{
    static struct reading serial;
    const size_t step = 2 + n / 5;
    serial = got;
    for (size_t block = 2 + n_ways % step; block <= n / 2; block += step) {
        read_way(bytes, n, policy, &(struct way){.block = block, .many = n_ways++ % 2});
        equal_readings(&serial, &got, block);
    }
    got = serial;
}

/* Reads bytes in pieces of at most `chunk`, and once more by threads. */
static inline void read_bytes(const void *bytes, size_t n, int policy, size_t chunk)
{
    read_way(bytes, n, policy, &(struct way){.chunk = chunk});
    if (n < 1 << 13 && !chunk && !no_threads)
        read_by_threads(bytes, n, policy);
}

static inline void read_text(const char *text)
{
    read_bytes(text, strlen(text), BIOINFER_RESIDUES_DEFAULT, 0);
}

/* ---- gzip and BGZF ---- */

struct bytes {
    unsigned char data[1 << 16];
    size_t n;
};

static inline void put(struct bytes *b, const void *p, size_t n)
{
    memcpy(b->data + b->n, p, n);
    b->n += n;
}

/* One gzip member; bgzf adds the field with the member's size. */
static inline void put_member(struct bytes *b, const char *text, size_t n, int bgzf)
{
    static unsigned char out[1 << 14];
    put(b, out, gzip_member(out, sizeof out, text, n, 9, bgzf));
}

#endif

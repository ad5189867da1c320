/* serve.h - what the files of `bioinfer serve` share.
 *
 *   serve.c     the command: where it listens, and the loop that computes
 *   http.c      connections: heads and bodies come in, answers go out (libmicrohttpd)
 *   settings.c  what a request asks for: its names and their values
 *   request.c   the body of a request becomes records: sequences
 *   bodies.c    structures, molecules and pairs become records
 *   variants.c  variants become records, and their scores an answer
 *   npz.c       arrays of texts become records
 *   answer.c    results become an answer: arrays and scores
 *   folds.c     complexes become records, and structures an answer
 *   rows.c      designs, energies and alignments become lines of an answer
 *   work.c      the tasks that answer requests, and their paths
 *   lanes.c     requests become batches: one task for each kind of work
 *   metrics.c   counters, as Prometheus reads them
 *   openapi.c   the description of the interface
 *   absent.c    the command in a build without libmicrohttpd
 *
 * Three threads work: the HTTP library's has the connections, another one reads bodies, the main
 * one computes. A request belongs to the first until its body is there, to the second until it is
 * put into a lane, then to the third, and to the first again when it has its answer.
 *
 * JSON is read and written by the library's own code (loaders/json.h, writers/text.h), which is
 * fuzzed and tested there; the command is linked with the static library. A public call for it
 * would promise users of bioinfer.h something that is not about models. */
#ifndef BI_SERVE_H
#define BI_SERVE_H

#include "../cli/shared.h" /* first: it says which calls of the system there are */

#include "../loaders/json.h"
#include "../writers/text.h"

enum serve_work {
    SERVE_EMBED,
    SERVE_SCORE,
    SERVE_TRACKS,
    SERVE_CONTRIBUTIONS,
    SERVE_DESIGN,
    SERVE_AFFINITY,
    SERVE_ALIGN,
    SERVE_FOLD,
    SERVE_VARIANTS,
    SERVE_WORKS /* from here on task 0, 1, ... of bioinfer_task_name() */
};

enum {
    SERVE_MAX_DESIGNS = 10000,   /* for one structure, ... */
    SERVE_MAX_DESIGNED = 300000, /* ... and their residues: half a minute of two cores, about */
    SERVE_MAX_RECORDS = 100000,  /* in one request */
    SERVE_MAX_VARIANTS = 10000,  /* in one request, of which each has a window */
    SERVE_MAX_TERMS = 10000000,  /* in the mutations of all its records together */
    SERVE_CONNECTIONS = 1024
};

/* Requests with equal keys, and equal values of parameters, are computed by one task and share its
 * batches. Keys are compared as bytes, so there is no room between the members. A member that plays
 * no part is 0. */
struct serve_key {
    int work; /* enum serve_work, or above */
    int score_only;
};

/* The mutations of a record, which several may share; n = 0: its perplexity is asked for. */
struct serve_mutations {
    const char **texts; /* NULL: the record says nothing of them */
    size_t n, n_terms;
};

/* A request, from its head to its answer. */
struct serve_request {
    struct serve_request *next;
    void *exchange; /* http.c's own */
    struct serve_key key;
    bioinfer_params *params;   /* NULL = the task has no table, or a lane took them */
    struct bi_buf values;      /* the parameters as text; goes to the lane, too */
    const char *stats;         /* variants: as asked for; NULL = not */
    bool scorers;              /* variants: with scorers */
    bool listed;               /* variants: a list, whose items have numbers, not lines */
    int n_cells;               /* variants: cells of a line of the table */
    const bioinfer_task *task; /* the lane's; NULL = not begun */
    uint64_t asked;            /* bit i: the query of the address has setting i of this work */
    int64_t offset;            /* number of the first residue, in mutations */
    const char *format;        /* a writer's, "json", "fasta", "tsv" or "paf" */
    bool base64;               /* arrays in JSON as base64 */
    unsigned include;          /* designs: CLI_LOG_PROBS, CLI_PROBS */
    const char *id;            /* names a structure that is the body itself; NULL = none does */
    struct bi_arena arena;
    struct bioinfer_record *records; /* live in the arena, as all that they point to */
    struct serve_mutations *mutations;
    struct bioinfer_record *targets; /* alignments: id, sequence and length of each target */
    char receptor[256];              /* affinities: the file that has the receptor; "" = none */
    const struct cli_align_answer *aligner; /* the lane's; alignments alone */
    size_t n_records, n_asked, n_done, n_failed;
    uint64_t number;          /* in order of arrival */
    bool gone;                /* the client has closed the connection; guarded by the lock */
    double arrived, deadline; /* seconds; not begun by then: 503 */
    /* The answer. */
    bioinfer_writer *writer;
    char path[256];     /* the file that the writer makes */
    int fd;             /* that file, -1 = none: the answer is `text` */
    uint64_t n_bytes;   /* in the arrays so far */
    struct bi_buf text; /* lines, or the words of an error */
    struct bi_buf head; /* members before "results", each with a comma after it */
    bool in_record;     /* the line of the record at hand has begun */
    int http;           /* status of HTTP; 0 = the answer is not there yet */
};

/* Requests with one key, and the task that answers them. */
struct serve_lane {
    bool keyed;
    struct serve_key key;
    bioinfer_params *params; /* NULL = the task has no table */
    struct bi_buf values;    /* the same as text */
    bioinfer_task *task;
    bool stale;                                   /* the task is there no more, or of another key */
    bool busy;                                    /* the task runs */
    struct serve_request *waiting, *last_waiting; /* not begun */
    struct serve_request *begun, *last_begun;     /* results are to come, in this order */
    struct serve *serve;
    uint64_t n_records; /* handed to the task so far */
    uint64_t turn;      /* the least of all lanes that have work is next */
    double turn_ends;   /* while other lanes have work, no record is read after that time */
    uint64_t horizon;   /* while other lanes wait, no request behind this number is taken */
    uint64_t batches;   /* the task's, told to the metrics */
    double used_at;
    struct cli_positions positions;
    struct cli_align_answer *aligner; /* alignments alone */
};

enum { SERVE_LANES = 8, SERVE_BUCKETS = 12, SERVE_CODES = 16 };

/* Counters since the start. */
struct serve_metrics {
    struct {
        int code;
        uint64_t n;
    } codes[SERVE_CODES];
    uint64_t records, failed_records, residues, batches, bytes_in, bytes_out, refused_connections;
    uint64_t buckets[SERVE_BUCKETS + 1];
    double seconds; /* spent on all requests that were computed */
    uint64_t n_seconds;
};

/* The server. */
struct serve {
    struct cli *cli;      /* for functions of the command */
    struct cli_served is; /* the options and the model */
    struct bi_env env;
    bioinfer_genome *genome;      /* NULL = variants are not served */
    bioinfer_context *quiet;      /* reads bodies: nobody here wants to hear of them */
    int64_t max_body, max_answer; /* bytes */
    int64_t max_queue;            /* requests */
    double timeout;               /* seconds */
    char paths[200];              /* said to those who ask for another path */
    const char *token;            /* NULL = none is asked for */
    bool local_names;             /* the Host of a request must be a name of this machine */
    int token_of[256];            /* gives the id of a residue letter */
    char folder[128];             /* answers and receptors are written there */
    struct cli_output row;        /* gathers a row of a table */
    pthread_mutex_t lock;         /* guards all below, and requests in lanes */
    pthread_cond_t changed;
    struct serve_lane lanes[SERVE_LANES];
    uint64_t n_requests;              /* that were ever put into a lane */
    uint64_t n_turns;                 /* that lanes have ever asked for */
    uint64_t n_receptors;             /* files of receptors that were ever made */
    int64_t n_queued;                 /* requests whose head was taken and that have no answer */
    int64_t n_exchanges, connections; /* open ones */
    bool draining;                    /* no request is taken any more */
    bool closed;                      /* nor does one enter a lane */
    struct serve_metrics metrics;
};

/* ---- settings.c ---- */

/* Gives what the query says of a name; NULL = nothing. */
typedef const char *(*serve_option)(void *user, const char *name);

/* Whether a request of this kind of work has a setting of this name. */
bool serve_settings_has(const struct serve_request *r, const char *name);
/* Hears a setting or, where its kind is -1, a member of the body that has records; 0: go on. */
typedef int (*serve_settings_take)(void *user, const struct bioinfer_field *field);
/* Tells all members of a JSON body for this kind of work. Choices of formats have ", " between.
 * Gives what take() returned last. */
int serve_settings_each(int work, serve_settings_take take, void *user);
/* The member of a JSON body that has the records of this kind of work. */
const char *serve_settings_list(const struct serve_request *r);
/* Takes settings from the query of the address, "a,b,c" where there may be several values, and
 * after that from the members of a JSON body; both a status. INVALID: a value that is none of the
 * name's, and of JSON a member that nobody knows (those with records are passed over), or one that
 * the query had, too; LIMIT: too many values. The query also sets what a request has that says
 * nothing. Settings taken before a failure stay. */
int serve_settings_query(const struct serve *s, struct serve_request *r, serve_option option,
                         void *user, struct bioinfer_error *err);
int serve_settings_json(struct serve_request *r, const struct bi_json *root,
                        struct bioinfer_error *err);
/* Checks settings that depend on each other, and sets those that a request may leave out, some by
 * its records, which are there already. LIMIT: more than SERVE_MAX_DESIGNS of a structure, or than
 * SERVE_MAX_DESIGNED of their residues; INVALID:
 * `include` of designs for a format of text, or settings of alignments that exclude each other. */
int serve_settings_finish(const struct serve *s, struct serve_request *r,
                          struct bioinfer_error *err);
/* Puts words, cut at the end where they are too long, and status into *err; returns the status. */
int serve_refuse(struct bioinfer_error *err, int status, const char *fmt, ...) CLI_PRINTF(3, 4);
/* The same for want of memory; NOMEM. */
int serve_no_memory(struct bioinfer_error *err);

/* ---- request.c ---- */

/* Makes the records of a request of its body, which is copied, and takes the settings in it. The
 * request has its work, its arena's env, fd -1 and the settings of its query. A status: INVALID for
 * an empty body, too, LIMIT, also of a body that inflates to more than s->max_body bytes, NO_SPACE
 * for a receptor, or one of a reader. A record that cannot be used is no failure: it has the
 * status. */
int serve_request_read(struct serve *s, struct serve_request *r, const char *body, size_t size,
                       struct bioinfer_error *err);
/* Frees the request, after a failure of the above, too, its writer and the arena, and removes its
 * files. fd is closed unless it is below 0, so a zeroed request would close standard input. */
void serve_request_free(struct serve_request **r);

/* Takes zeroed memory for n records and their mutations, in place of what there was; a status:
 * INVALID for 0, LIMIT above SERVE_MAX_RECORDS. The arena frees it. */
int serve_request_make(struct serve_request *r, size_t n, struct bioinfer_error *err);
/* Takes the id of record i, its number from 0 where `json` is NULL, into *id, which lives in the
 * arena. INVALID: no string, an empty one, or one with a control character. */
int serve_request_id(struct serve_request *r, const char **id, size_t i, const struct bi_json *json,
                     struct bioinfer_error *err);
/* Copies the letters of a record as the reader of FASTA takes them, into the arena: 0, or NOMEM. A
 * letter that is none, or no letters, is the record's status: BAD_RESIDUE or EMPTY, and its
 * sequence is "" then, as it is where it had a status before. */
int serve_request_letters(struct serve *s, struct serve_request *r, struct bioinfer_record *record,
                          const char *text, size_t n, struct bioinfer_error *err);
/* Puts bytes where a reader can open them, as /proc/self/fd/N: a file descriptor, which the caller
 * closes and whose own place is behind the last byte. -1, with NOMEM in *err, whatever failed. */
int serve_request_file(const char *bytes, size_t size, struct bioinfer_error *err);
/* Reads the records of the file at a path: with `count` it counts them and makes room, without it
 * fills them in; a status. */
typedef int (*serve_file_reader)(struct serve *s, struct serve_request *r, const char *path,
                                 bool count, struct bioinfer_error *err);
/* Makes the records of bytes that a reader opens as a file, twice. A status, whose words say
 * "request" in place of the path. */
int serve_request_read_file(struct serve *s, struct serve_request *r, const char *bytes,
                            size_t size, serve_file_reader read, struct bioinfer_error *err);
/* A copy of a message in which the path has become `name` wherever it stands, or nowhere where it
 * is ""; it lives in the arena. NULL: no memory. */
const char *serve_request_words(struct bi_arena *arena, const char *message, const char *path,
                                const char *name);

/* ---- bodies.c ---- */

/* Checks that an object, of the list `what`, has no other members than `known`, which ends with
 * NULL: INVALID. */
int serve_bodies_members(const char *what, const struct bi_json *json, const char *const *known,
                         struct bioinfer_error *err);
/* Finds the array of a body; INVALID: there is none of the name. */
int serve_bodies_list(const struct bi_json **list, const struct bi_json *root, const char *name,
                      struct bioinfer_error *err);
/* Each makes the records of a body of JSON; a status. INVALID: an array is missing or empty, a text
 * is missing, or an object has members that nobody knows; LIMIT: too many records, or pairs with
 * more than 1e11 products of lengths together. Ligands: also a status of their reader, and NO_SPACE
 * where the receptor cannot be kept in r->receptor. Pairs also make r->targets; a pair has the
 * status of its query, or where that can be used, of its target. */
int serve_bodies_structures(struct serve_request *r, const struct bi_json *root,
                            struct bioinfer_error *err);
int serve_bodies_ligands(struct serve *s, struct serve_request *r, const struct bi_json *root,
                         struct bioinfer_error *err);
int serve_bodies_pairs(struct serve *s, struct serve_request *r, const struct bi_json *root,
                       struct bioinfer_error *err);
/* Makes the one record of a body that is a structure, whose id is r->id or "0"; a status, as of
 * serve_request_id(). The text is not looked at. */
int serve_bodies_structure(struct serve_request *r, const char *body, size_t size,
                           struct bioinfer_error *err);
/* Makes pairs of the records of FASTA, 1 with 2, 3 with 4 and so on, so that half as many are left;
 * a status: INVALID for an odd number of them, LIMIT as of pairs in JSON. */
int serve_bodies_join(struct serve_request *r, struct bioinfer_error *err);

/* ---- folds.c ---- */

/* Makes the records of a body of JSON; a status, as those above. A chain with a character that is
 * no letter is the record's status. */
int serve_folds_read(struct serve_request *r, const struct bi_json *root,
                     struct bioinfer_error *err);
/* Checks settings that depend on the format, and sets texts and arrays by it; INVALID. */
int serve_folds_check(struct serve_request *r, struct bioinfer_error *err);
/* Adds a structure to the answer, as serve_rows_put(). In a format of one structure a record
 * without one becomes the answer. */
void serve_folds_put(struct serve *s, struct serve_request *r,
                     const struct bioinfer_result *result);

/* ---- variants.c ---- */

/* Checks settings that depend on each other; INVALID. */
int serve_variants_check(struct serve_request *r, struct bioinfer_error *err);
/* Makes the records of a body of JSON, or of VCF: a status. INVALID: no list or text, an item that
 * is no variant, or no variant at all; LIMIT: more than SERVE_MAX_VARIANTS, or a line that is too
 * long. A variant that cannot be used is a record with a status. */
int serve_variants_read(struct serve *s, struct serve_request *r, const struct bi_json *root,
                        struct bioinfer_error *err);
int serve_variants_text(struct serve *s, struct serve_request *r, const char *text, size_t size,
                        struct bioinfer_error *err);
/* Gives the parameters of a lane what no text sets. */
void serve_variants_ready(const struct serve *s, struct serve_lane *l);
/* Adds the result of a variant to the answer, as serve_rows_put(). */
void serve_variants_put(struct serve *s, struct serve_request *r,
                        const struct bioinfer_result *result);

/* ---- npz.c ---- */

/* Makes the records of a body in npz: "sequences", and "ids" where they are given; a status.
 * INVALID: no such array, another one beside them, arrays of another type, or other numbers of ids
 * than sequences; UNSUPPORTED: letters in Fortran's order; FORMAT: no npz, or a broken one. NULs at
 * the end of a text fill it up; one inside is a character. */
int serve_npz_read(struct serve *s, struct serve_request *r, const char *body, size_t size,
                   struct bioinfer_error *err);

/* ---- rows.c ---- */

/* Adds a result of designs, affinities or alignments, of record number r->n_done, to the lines of
 * an answer; a table has its title in front of the first. A failed record has a line in JSON and in
 * a table of affinities, and else none. No memory: r->text.failed is set, or, where arrays are
 * asked for, the failure has become the answer. */
void serve_rows_put(struct serve *s, struct serve_request *r, const struct bioinfer_result *result);
/* Begins the line of a record in JSON: its number, which is r->n_done, and id, also in base64 where
 * it is no UTF-8. */
void serve_rows_begin(struct serve_request *r, const char *id);
/* Adds the member "status" and, unless it is 0, "message". */
void serve_rows_status(struct serve_request *r, int status, const char *message);
/* Adds the member "arrays", as the writer of jsonl does for arrays of no layer. */
void serve_rows_arrays(struct serve_request *r, const struct bioinfer_result *result);
/* Moves what was gathered in s->row into the answer; no memory: r->text.failed. */
void serve_rows_take(struct serve *s, struct serve_request *r);

/* ---- work.c ---- */

/* The work that a path asks for, by the whole of it; -1 = none. */
int serve_work_of(const char *path);
/* The name of the task that does it; NULL past the last one. Tasks that have a number in enum
 * serve_work stand there a second time, for which serve_work_done() is false. */
const char *serve_work_name(int work);
/* Whether its results are arrays of sequences. */
bool serve_work_arrays(int work);
/* Whether the model of this server does it; align needs none. Not for -1. */
bool serve_work_done(const struct serve *s, int work);
/* Writes the paths of this server's work, with commas between, cut to size - 1 bytes. */
void serve_work_list(const struct serve *s, char *text, size_t size);
/* Opens the task of a lane, by its key, after closing the one it has; a status, as of the opening
 * call of the library, INVALID for options of alignments. l->task is NULL after a failure. */
int serve_work_open(struct serve *s, struct serve_lane *l, struct bioinfer_error *err);
void serve_work_close(struct serve_lane *l); /* accepts a zeroed one */

/* ---- answer.c ---- */

/* Adds a result, or a piece of one, of record number r->n_done to the answer, whatever ordinal the
 * result has. A failure becomes the answer: 503 for want of memory, 413 above max_answer bytes, or
 * what serve_http_status() says of the writer's. Nothing is done where r->http is set already. */
void serve_answer_put(struct serve *s, struct serve_request *r,
                      const struct bioinfer_result *result);
/* Completes the answer behind the last result: r->http is set then, in any case, to 200 unless
 * something failed. Arrays are in r->fd, a file without a name; the writer is closed. */
void serve_answer_finish(struct serve *s, struct serve_request *r);
/* Makes an error the answer, in place of the text that was there; the writer stays until finish().
 * The words are copied. */
void serve_answer_fail(struct serve_request *r, int http, int status, const char *message);
/* The status of HTTP that says what a status of the library does: 413 for LIMIT; 503 for NOMEM,
 * NO_SPACE, DEVICE_LOST and CANCELLED; 400 for INVALID, FORMAT, UNSUPPORTED, DUPLICATE_ID,
 * OUT_OF_RANGE, and for EMPTY, BAD_RESIDUE and TOO_LONG of an only record; 500 for any other, 0
 * among them. */
int serve_http_status(int status);
/* Whether a writer of arrays makes the format: npz, safetensors, h5. */
bool serve_is_arrays(const char *format);
/* The type of content of a format; "application/octet-stream" where it has none of its own. */
const char *serve_content_type(const char *format);
/* Hands arrays to the writer of the answer, which it opens with the first ones; a failure, such as
 * more than max_answer bytes, becomes the answer. r->http must be 0: it is not looked at here. */
void serve_answer_arrays(struct serve *s, struct serve_request *r,
                         const struct bioinfer_result *result);

/* ---- lanes.c ---- */

/* Puts the request, which is whole, behind others with its key, or into a lane without work, and
 * numbers it; the lock is held. False: no lane has its key, and all have work; the request is as
 * it was, and the caller's. */
bool serve_lanes_add(struct serve *s, struct serve_request *r);
/* Whether a request waits in a lane, or has records that were not read; the lock is held. */
bool serve_lanes_have_work(const struct serve *s);
/* Computes what the lane has that has waited longest, for a second or so where others have work,
 * too, and gives each request that is done its answer: 1, also where these say that it failed, has
 * waited too long or lost its client; 0 = nothing waits, at once; < 0 = DEVICE_LOST or FORKED, with
 * which no more can be computed. The lock is not held. */
int serve_lanes_run(struct serve *s, struct bioinfer_error *err);
/* Gives all requests of all lanes this answer, and closes the lanes to others. No lane runs, and
 * the lock is not held. */
void serve_lanes_fail(struct serve *s, int http, int status, const char *message);
/* The progress of a run, user = the lane: non-zero, which ends it, when no client waits for what
 * has begun. The lock is not held. */
int serve_lanes_tick(void *user, uint64_t records, uint64_t residues);
/* How many requests have begun to be computed and have no answer yet; the lock is held. */
uint64_t serve_lanes_begun(const struct serve *s);
/* Closes the tasks of all lanes, which are empty. */
void serve_lanes_close(struct serve *s);

/* ---- metrics.c ---- */

/* Count an answer by its status of HTTP, and the time that a request took; print all figures as
 * text for Prometheus (no memory: out->failed). All three are called with the lock held. After
 * SERVE_CODES - 1 different codes, all others are counted together, as the one that came last. */
void serve_metrics_code(struct serve *s, int code);
void serve_metrics_seconds(struct serve *s, double seconds);
void serve_metrics_print(struct serve *s, struct bi_buf *out);

/* ---- openapi.c ---- */

#define SERVE_OPENAPI "/openapi.json" /* where it stands */
/* Appends the description of this server's interface: OpenAPI 3.1, as JSON. */
void serve_openapi_print(const struct serve *s, struct bi_buf *out);

/* ---- http.c ---- */

struct serve_http;
/* Serves the socket, whose owner it becomes, until serve_http_stop(): a status. UNSUPPORTED: the
 * library is not installed, or lacks a function; IO: it does not start. After a failure *out is
 * untouched, and the socket is the caller's. */
int serve_http_start(struct serve_http **out, struct serve *s, int socket,
                     struct bioinfer_error *err);
/* Tells the connection that its request has an answer, and gives the request up. The lock is not
 * held. */
void serve_http_done(struct serve_request *r);
/* Takes the connections that still wait at the socket, ends all when they have their answers, or
 * after the time of a request and 5 seconds, and closes the socket. The lock is not held. */
void serve_http_stop(struct serve_http **http);

#endif

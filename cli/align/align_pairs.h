/* align_pairs.h - records of one file or two, and which of them meet. */
#ifndef BI_CLI_ALIGN_PAIRS_H
#define BI_CLI_ALIGN_PAIRS_H

#include "../pool/worker.h"

/* Fails for want of memory; NOMEM. */
static inline int cli_align_no_memory(struct bioinfer_error *err, const char *what)
{
    *err = (struct bioinfer_error){.status = BIOINFER_NOMEM};
    snprintf(err->text, sizeof err->text, "%s", what);
    return BIOINFER_NOMEM;
}

/* ---- align_feed.c: records of a file ---- */

enum { CLI_FEED_BLOCKS = 128 };

/* A thread that reads blocks ahead. */
struct cli_feed {
    bioinfer_reader *reader;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct bioinfer_records *blocks[CLI_FEED_BLOCKS]; /* a ring: n from first on */
    size_t first, n;
    uint64_t bytes; /* that the blocks have, about */
    int status;     /* why it ended */
    struct bioinfer_error err;
    bool open, end, stop;
};
/* Starts the thread, which has the reader until close, and does not close it; false: the system
 * gives none. */
bool cli_feed_open(struct cli_feed *feed, bioinfer_reader *reader);
/* 1: the next block, the caller's now, to be freed by bioinfer_records_free(); 0 after the last
 * one; < 0: a status, after all blocks that were read before it, and again at each call. */
int cli_feed_next(struct cli_feed *feed, struct bioinfer_records **block,
                  struct bioinfer_error *err);
/* Waits for the next block: whether there is none, be it that reading failed. */
bool cli_feed_is_over(struct cli_feed *feed);
void cli_feed_close(struct cli_feed *feed); /* accepts a zeroed one */

/* All records of a file. */
struct cli_whole {
    struct bioinfer_record *items;
    size_t n, cap;
    struct bioinfer_records **blocks;
    size_t n_blocks, blocks_cap;
};
/* Adds to a zeroed *whole. 0: all are read; 1: they take more than `most` bytes, and some are read,
 * which the reader does not give again; < 0: a status. To be freed in each case. */
int cli_whole_read(struct cli_whole *whole, bioinfer_reader *reader, uint64_t most,
                   struct bioinfer_error *err);
void cli_whole_free(struct cli_whole *whole); /* accepts a zeroed one */

/* ---- align_pairs.c: which record meets which ---- */

/* Pairs that follow each other: query[k * step] and target[k], for k in [0, n). */
struct cli_span {
    const struct bioinfer_record *query, *target;
    size_t step, n; /* step: 1, or 0 = one query for all */
    bool scattered; /* the targets of other spans lie elsewhere */
};

/* Records of one file that are in memory: those before `at` have met all they meet. */
struct cli_side {
    const struct bioinfer_record *items;
    size_t n, at;
    struct bioinfer_records *block; /* holds them; NULL: the file was read whole */
};

enum cli_pairing {
    CLI_IN_ORDER,  /* record k of one file and record k of the other */
    CLI_ALL_PAIRS, /* every record of one file and every one of the other */
    CLI_EACH_ONCE, /* every two records of the one file */
    CLI_GROUPS     /* queries a group at a time: one pass over the targets for each group */
};

/* Opens file k, 0 or 1, once more: a status. */
typedef int (*cli_reopen)(void *user, int k, bioinfer_reader **reader, struct bioinfer_error *err);

/* A target meets a query when a pass over the targets comes to it. Targets that fit in memory stay
 * there; others are read again for each pass. */
struct cli_pairs {
    enum cli_pairing pairing;
    bioinfer_reader *reader[2]; /* the second is NULL where there is one file */
    cli_reopen reopen;
    void *user;         /* has reopen() */
    bool all_names;     /* the head of the output needs the names of all targets: read them all */
    bool one_query;     /* file 0 has one record */
    bool with_self;     /* records of one file meet themselves, too */
    bool targets_alone; /* cli_pairs_meet() has queries of other files: none are read */
    uint64_t most_kept; /* bytes of targets that stay in memory */
    uint64_t most_queries, most_residues; /* a group has no more */
    struct cli_side side[2];              /* one file may be both sides */
    struct cli_feed feed[2];
    struct cli_whole whole[2];
    bioinfer_reader *again[2];           /* opened by reopen() */
    bool kept;                           /* all targets are in memory */
    bool in_pass, passed;                /* a pass has begun; one was ended */
    size_t skip;                         /* targets of the pass that the query does not meet */
    uint64_t n_queries;                  /* that have met all they meet */
    const struct bioinfer_record *group; /* the n_group queries of the pass, from query */
    size_t n_group, query;               /* n_queries on; query: the one that is next to meet */
    size_t first;                        /* the target of the block that it meets first */
    uint64_t n_before;                   /* targets before the block */
    uint64_t n_taken;
    struct bioinfer_records **used; /* blocks that no pair after the last span points into */
    size_t n_used, cap_used;
    const struct bioinfer_records *held[2]; /* see cli_pairs_hold() */
};

/* Begins to read the files of *p, of which the fields down to most_residues are set: a status,
 * NOMEM also where the system gives no thread. It is to be closed after a failure, too. */
int cli_pairs_open(struct cli_pairs *p, struct bioinfer_error *err);
/* Gives the next query that no group has had: 1; 0 = there is none; < 0 = a status. The record and
 * its letters stay until its block comes to `used` and is freed by whoever takes that. */
int cli_pairs_query(struct cli_pairs *p, const struct bioinfer_record **query,
                    struct bioinfer_error *err);
/* Begins a pass in which n queries, the first of them query `first` of its file, meet all targets,
 * but of one file no record itself: a status. They are the caller's, and stay until its end. */
int cli_pairs_meet(struct cli_pairs *p, const struct bioinfer_record *queries, size_t n,
                   uint64_t first, struct bioinfer_error *err);
/* Gives the pairs after the last one taken, at least one, and the same again where none was taken:
 * 1; 0 = there are none: in order as soon as one file is over, of groups when the pass is; < 0 = a
 * status. */
int cli_pairs_next(struct cli_pairs *p, struct cli_span *span, struct bioinfer_error *err);
/* Takes the first n pairs of the span given last, which has as many. */
void cli_pairs_take(struct cli_pairs *p, size_t n);
/* Has cli_pairs_drop() spare the blocks that are being read now, once they are used up: pairs taken
 * so far may point into them. A later call takes the place of this one. */
void cli_pairs_hold(struct cli_pairs *p);
/* Frees the blocks of `used` but those that the last cli_pairs_hold() spares. */
void cli_pairs_drop(struct cli_pairs *p);
/* The file, 0 or 1, that has records left where the other one ended; -1 = both or none have, or
 * pairs are not in order. Is known once cli_pairs_next() gave 0. */
int cli_pairs_longer(const struct cli_pairs *p);
void cli_pairs_close(struct cli_pairs *p); /* accepts a zeroed one; reader[] stays open */

/* ---- align_pass.c: passes over the targets, for align_pairs.c ---- */

/* Whether queries and targets are the records of one file. */
bool cli_pairs_are_one_file(const struct cli_pairs *p);
/* Opens file k once more, to be read ahead: a status. */
int cli_pairs_reopen(struct cli_pairs *p, int k, struct bioinfer_error *err);
/* Reads records of file k where there are none left; n stays 0 after the last one. A status. */
int cli_pairs_records(struct cli_pairs *p, int k, struct bioinfer_error *err);
/* Begins a pass that leaves out the first targets: a status. */
int cli_pairs_begin_pass(struct cli_pairs *p, uint64_t skip, struct bioinfer_error *err);
/* Ends it. */
void cli_pairs_end_pass(struct cli_pairs *p);
/* Reads targets where there are none left; there are none then after the last one. A status. */
int cli_pairs_targets(struct cli_pairs *p, struct bioinfer_error *err);

#endif

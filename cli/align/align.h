/* align.h - what the files of `bioinfer align` share.
 *
 *   align.c        the command: options, files, and the run as a whole
 *   align_task.c   the task: costs, the aligner, and blocks that a worker computes
 *   align_feed.c   records of a file, read ahead or all at once
 *   align_pairs.c  which record meets which
 *   align_best.c   the best targets of each query
 *   align_batch.c  batches of pairs on their way through the task
 *   align_block.c  blocks of pairs: what they give, and as bytes for a worker
 *   align_answer.c alignments that answer requests of the server (cli/shared.h)
 *   align_job.c    blocks of the input, which a journal keeps
 *   align_out.c    alignments as text
 *   align_stats.c  bit scores and E-values
 *   align_strand.c reverse complements of queries
 *   align_square.c a matrix of all pairs
 *
 * One process aligns pairs where they were read. With workers the command reads blocks and sends
 * their records, and a worker gives their text. */
#ifndef BI_CLI_ALIGN_H
#define BI_CLI_ALIGN_H

#include "../pool/worker.h"

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
/* 1: the next block, the caller's now, to be freed by bioinfer_records_free(); 0 behind the last
 * one; < 0: a status, behind all blocks that were read before it, and again at each call. */
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
    uint64_t n_before;                   /* targets in front of the block */
    uint64_t n_taken;
    struct bioinfer_records **used; /* blocks that no pair behind the last span points into */
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
/* Gives the pairs behind those that were taken, at least one, and the same again where none were:
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
/* The file, 0 or 1, that has records left where the other one has none; -1 = both or none have, or
 * pairs are not in order. Is known once cli_pairs_next() gave 0. */
int cli_pairs_longer(const struct cli_pairs *p);
void cli_pairs_close(struct cli_pairs *p); /* accepts a zeroed one; reader[] stays open */

/* ---- align_out.c: alignments as tsv, paf, sam, fasta or like EMBOSS needle ---- */

/* Statistics of local scores, where the format has them. */
struct cli_align_stats {
    double lambda, k;
    double alpha, beta, spread, covariance, gap; /* lengths of alignments; 0 = not known */
    bool even;                /* scores are rounded down to even ones for E-values */
    double residues, records; /* to be searched; 0 residues: the target's */
    double most;              /* E-value of a pair that is written */
};

struct cli_align_out {
    struct cli_output *out;
    const bioinfer_task *align;
    const char *format;         /* "tsv", "paf", "sam", "needle", "blast", "fasta" */
    const char *path;           /* the file that needle names in its header; NULL = none */
    const char *matrix;         /* for the header of needle */
    const char *matrix_file;    /* NULL: it is a built-in one, or none */
    double scale, open, extend; /* costs in points */
    double open2, extend2;      /* the second piece's; open2 0: none */
    bool both_strands;          /* the strand is written, too */
    bool reverse;               /* the pair at hand has the query's reverse complement */
    bool score_only, plain;     /* plain: M instead of = and X */
    bool no_cigar;              /* tsv ends in front of it */
    const char *values;         /* a matrix of "identity", "distance" or "score"; NULL = none */
    bool shorter; /* identity is a share of the shorter sequence, not of the columns */
    bool free_ends, local;
    bool nucleotides;      /* the letters are nucleotides; N is any of them */
    bool has_least;        /* pairs that score less are not written, */
    double least;          /* in points, */
    double least_identity; /* nor those with a smaller share of equal columns */
    struct cli_align_stats stats;
};

/* Whether SAM can hold these names, each target's once (queries may share one): an exit code, said
 * in words: DATA, for the first bad target, else query, else pair of targets. */
int cli_align_check_sam(struct cli *cli, const struct bioinfer_record *queries, size_t n_queries,
                        const struct bioinfer_record *targets, size_t n_targets);
/* Whether the alphabet of a task that is open has A, C, G, T, and none that is of amino acids
 * alone. */
bool cli_align_are_nucleotides(const bioinfer_task *align);
/* The first line of a table, "" = the format has none. */
const char *cli_align_title(const struct cli_align_out *w);
/* Writes what stands above the first alignment, the title too. targets: for sam, which leaves out
 * empty ones; else not read. */
void cli_align_head(const struct cli_align_out *w, const struct bioinfer_record *targets,
                    size_t n_targets);
/* Whether that is more than the title. */
bool cli_align_has_head(const struct cli_align_out *w);
/* Returns the lines below the last alignment; "" = none. */
const char *cli_align_tail(const struct cli_align_out *w);
/* Whether the pair, which has a result (its status is not looked at), is to be written: not below
 * the least score and identity, free ends' columns counted (one without columns has no identity, so
 * it is below any share above 0), and for blast with a score above 0 and an E-value of at most
 * stats.most. */
bool cli_align_keeps(const struct cli_align_out *w, const struct bioinfer_record *query,
                     const struct bioinfer_record *target, const struct bioinfer_alignment *a);
/* The number of columns of an alignment, those included that free ends leave out; 0 is possible. */
int64_t cli_align_columns(const struct cli_align_out *w, const struct bioinfer_record *query,
                          const struct bioinfer_record *target, const struct bioinfer_alignment *a);
/* Writes a score in points, with the decimals that it has; a whole alignment in the format. */
void cli_align_put_score(const struct cli_align_out *w, int64_t score);
void cli_align_put(const struct cli_align_out *w, const struct bioinfer_record *query,
                   const struct bioinfer_record *target, const struct bioinfer_alignment *a);

/* Adds the members of an object of JSON, each behind a comma: score, ranges without free ends,
 * identity, CIGAR; the score alone where w->score_only is set. */
void cli_align_put_json(const struct cli_align_out *w, const struct bioinfer_record *query,
                        const struct bioinfer_record *target, const struct bioinfer_alignment *a);

/* ---- align_stats.c: bit scores and E-values ---- */

/* Finds what statistics need. An exit code: USAGE
 * where the costs are not known, or options do not go together. A format but blast has no
 * statistics, and s->most is infinite. */
int cli_align_stats_make(struct cli_align_stats *s, const struct cli_options *o,
                         const struct cli_align_out *w, const struct bioinfer_align_params *p);
/* The bit score, and the E-value, of a score in points, for blast alone; lengths in residues, above
 * 0. s->residues, where it is set, stands for the target's. */
double cli_align_bits(const struct cli_align_stats *s, double score);
double cli_align_evalue(const struct cli_align_stats *s, double score, size_t query, size_t target);

/* ---- align_block.c: blocks of pairs ---- */

/* Pairs that are sharded, journalled and finished together: the input alone decides which. */
struct cli_block {
    uint64_t ordinal, first, n_pairs, residues;
    double cells;
    char id[48]; /* "FIRST-LAST": its pairs, counted from 0 */
};

/* The results of a block that is being computed. */
struct cli_block_result {
    uint32_t n_pieces; /* that were given */
    uint64_t n_done, n_failed, n_residues, n_unnamed;
    double cells;
    int status;               /* that of the first pair without a result, but NOMEM before others */
    struct cli_output failed; /* names of such pairs, and why */
};

/* The blocks of a run: where they come from, and where their text goes. */
struct cli_blocks {
    /* Fills in the next block and its pairs: 1; 0 = there is none; < 0 = a status. */
    int (*next)(void *user, struct bioinfer_error *err);
    bioinfer_sink sink; /* on another thread than next(); NULL: the writer's output is all */
    void *user;         /* the source and the sink have it */
    bool is_headed;     /* the text of block 0 begins with a head */
    struct cli_block block;
    struct cli_span *spans;
    size_t n_spans, cap_spans;
    void *memory;                   /* holds what the spans point into, where nothing else does */
    struct cli_output *lost, *note; /* texts for the end of a block; NULL = there are none */
    bool counted;                   /* the result has the counts of the block when it begins */
    struct cli_block_result result;
};

struct cli_batch;

/* Adds a copy of a span, but not of its records, to the block at hand: 0, or NOMEM. */
int cli_blocks_add(struct cli_blocks *b, const struct cli_span *span, struct bioinfer_error *err);
/* Names the pairs of a batch that have no result in the message of the block at hand; beyond 1 MiB
 * of names they are counted. A lack of memory is told by cli_blocks_put(). */
void cli_blocks_add_failed(struct cli_blocks *b, const struct cli_batch *batch);
/* Takes a batch whose text is in *text: its failures, and at the end of its block, or from 16 MiB
 * on, the text, which the sink gets; *text is empty then, else it goes on to be filled. A status,
 * also the sink's; NOMEM where writing the text failed. */
int cli_blocks_put(struct cli_blocks *b, const struct cli_batch *batch, struct cli_output *text,
                   struct bioinfer_error *err);
void cli_blocks_close(struct cli_blocks *b); /* accepts a zeroed one */

/* Writes the block at hand as bytes, in place of what is in *bytes, with each record that its pairs
 * need, but without ordinal, first and id: 0, or NOMEM. */
int cli_block_pack(const struct cli_blocks *b, struct cli_output *bytes,
                   struct bioinfer_error *err);
/* Makes the block of such bytes, to which its records point, the one at hand, whose ordinal, first
 * and id are the caller's to set: 0, or NOMEM. The bytes are trusted. b->memory is overwritten, and
 * whoever takes it frees it by free(), else cli_blocks_close(). */
int cli_block_unpack(struct cli_blocks *b, const char *bytes, struct bioinfer_error *err);
/* Reads the sizes of the block alone; ordinal, first and id are 0 and "". */
struct cli_block cli_block_peek(const char *bytes);

/* ---- align_job.c: blocks of the input, which a journal keeps ---- */

struct cli_best;
struct cli_square;

struct cli_align_job {
    struct cli *cli;
    struct cli_best *best;     /* a block is a group of its queries; NULL: a block is some pairs, */
    struct cli_square *square; /* or a tile of this matrix */
    bioinfer_job *job;         /* NULL: the run keeps no journal */
    pthread_mutex_t lock;      /* guards the job; valid while that is not NULL */
    struct cli_pairs *pairs;
    uint64_t most_pairs; /* that a block may have */
    uint64_t n_read;     /* blocks */
    struct cli_blocks blocks;
    uint64_t hash, digest; /* digest: of all targets, where pairs are not in order */
    bool given;            /* the block at hand has begun to be computed, */
    bool read, ended;      /* the block was read and not handed to the job; the input has no more */
    int failed;            /* why reading failed */
    char text[17];         /* hash as text */
};

/* Reads the next block: 1; 0 = there is none; < 0 = a status, which j->failed has where reading
 * failed. The first one is there also when the files have no pairs, named "none", but not where
 * blocks are groups of queries. */
int cli_block_read(struct cli_align_job *j, struct bioinfer_error *err);
/* Opens the job, whose identity has the options and a digest of the input, and makes j->blocks feed
 * it; a status, after which j->job is NULL. Pairs are open, and w is settled. */
int cli_align_job_open(struct cli_align_job *j, const struct cli_align_out *w, const char *options,
                       struct bioinfer_error *err);
/* Finds the next block that the job wants computed; without a job every block is: 1; 0 = there is
 * none; < 0 = a status, with a job CANCELLED once a signal came. */
int cli_align_job_next(struct cli_align_job *j, struct bioinfer_error *err);
/* A cli_blocks.next that gives the block at hand once, then 0 until another is read; user: the
 * struct cli_align_job. */
int cli_align_job_give(void *job, struct bioinfer_error *err);
/* Gives the job a piece of a block: a status. For a matrix, and where head is not NULL, piece 0
 * comes behind another one, with the names of the tile or with the n_head bytes of head. */
int cli_align_job_keep(struct cli_align_job *j, const struct bioinfer_result *piece,
                       const char *head, size_t n_head, struct bioinfer_error *err);
/* A hash of what a record is, behind those that h is of. */
uint64_t cli_align_mix_record(uint64_t h, const struct bioinfer_record *r);
/* Closes job and blocks; the journal stays. Pairs and `best` are the caller's. */
void cli_align_job_close(struct cli_align_job *j); /* accepts a zeroed one */

/* ---- align_strand.c: both strands of nucleotides ---- */

/* A batch keeps this for them. */
struct cli_align_strands {
    struct bioinfer_align_pair *pairs; /* two for each pair: forward, reverse */
    struct bioinfer_alignment *picked; /* the better result of each pair */
    struct bioinfer_record *turned;    /* queries as their reverse complement */
    bool *reverse;                     /* whether that was picked */
    char *letters;                     /* where the reverse complements lie */
    size_t letters_cap;
};

struct cli_batch;

/* Whether --strand asks for both. */
bool cli_align_strands_wanted(const struct cli_options *o);
/* Whether format, matrix and letters allow what is wanted; says why not. True where both strands
 * are not wanted, and of matrices for all but BLOSUM and PAM. */
bool cli_align_strands_check(const struct cli_options *o, const char *format,
                             const struct bioinfer_align_params *p);
/* Takes memory for batches of n pairs: 0, or NOMEM. */
int cli_align_strands_open(struct cli_align_strands *s, size_t n_pairs);
void cli_align_strands_close(struct cli_align_strands *s); /* accepts a zeroed one */
/* Makes the pairs of both strands of a batch that is filled: 0, or NOMEM. */
int cli_align_strands_give(struct cli_batch *b);
/* Makes the better of each two results that of the pair: the reverse strand's where both have one
 * and its score is larger, else the forward one's with its status. b->results is strands.picked
 * then, and b->sides[2 i] the turned query where it won. */
void cli_align_strands_pick(struct cli_batch *b, const struct bioinfer_alignment *results);

/* ---- align_batch.c: batches of pairs on their way through the task ---- */

struct cli_batch {
    struct cli_align_strands strands; /* where both are wanted */
    struct bioinfer_align_pair *pairs;
    const struct bioinfer_record **sides; /* two for each pair */
    const struct bioinfer_alignment *results;
    size_t n;
    uint64_t residues;
    double cells;
    bool any_bad;                   /* some record has no sequence */
    bool any_failed;                /* set when they are aligned: some pair has no result */
    uint64_t n_failed, n_residues;  /* set then, too: pairs without one, residues of the others */
    double n_cells;                 /* cells of these */
    struct cli_block block;         /* that of all pairs, where there are blocks ... */
    bool ends_block;                /* ... whose last batch this is */
    void *memory;                   /* that the records of this block lie in */
    struct bioinfer_records **used; /* blocks of records that no later pair points into */
    size_t n_used, used_cap;
};

struct cli_best;

struct cli_align_run {
    struct cli *cli;
    struct cli_best *best; /* takes all results; NULL: they are written */
    bioinfer_task *align;
    struct cli_align_out *writer;
    struct cli_pairs *pairs;               /* NULL: all pairs come in blocks */
    struct cli_blocks *blocks;             /* NULL: they come from `pairs` alone */
    const struct bioinfer_record *targets; /* that the head of sam names, before the first block */
    size_t n_targets;
    cli_tick tick;
    struct cli_output *lost, *note; /* gather what there is to say; NULL = it is said */
    struct cli_batch batches[BIOINFER_PAIRS_AHEAD];
    uint64_t n_batches;
    bool in_block;   /* pairs of the block at hand are left: from */
    size_t span, at; /* pair `at` of this span on */
    bool sink_failed;
    int source_failed;
    uint64_t n_done, n_failed, n_residues;
    double cells;
    bool told_sparse;
};
int cli_align_start(struct cli_align_run *run); /* takes memory; an exit code */
/* Aligns and writes all pairs, or those of all blocks; a status, CANCELLED once a signal came.
 * source_failed and sink_failed tell whose it is. Pairs without a result are said and counted in
 * n_failed, and are no failure. */
int cli_align_pairs(struct cli_align_run *run, struct bioinfer_error *err);
void cli_align_end(struct cli_align_run *run); /* accepts a zeroed one */

/* ---- align_best.c: the best targets of each query ---- */

struct cli_hit;
struct cli_aligning;

/* A group of queries, and what one pass over the targets found for them. */
struct cli_best {
    size_t most; /* hits of a query */
    struct cli_pairs *pairs;
    struct cli_blocks *blocks;       /* the block at hand gets the pairs that are to be aligned */
    struct cli_align_run scores;     /* the pass */
    bioinfer_task *own;              /* the task of the pass, where the run has another */
    struct bioinfer_record *queries; /* n of them; their ordinals count from `first` on */
    size_t n;
    uint64_t first, residues;
    bool is_read; /* the group was read, and nobody asked for it yet */
    size_t *n_hits;
    struct cli_hit **hits; /* [k most]: those of query k, a heap, and sorted behind the pass */
    struct bioinfer_record *targets; /* the same as records */
    struct bioinfer_records **used;  /* blocks that the queries lie in */
    size_t n_used, cap_used;
};

/* Takes memory, and sets most_queries and most_residues of the pairs, so before cli_pairs_open():
 * 0, or NOMEM. most: above 0; most_queries: of a group; 0 = as many as do. */
int cli_best_open(struct cli_best *best, struct cli_pairs *pairs, struct cli_blocks *blocks,
                  uint64_t most, uint64_t most_queries);
/* Reads the next group and makes it meet the targets: 1; 0 = there is none; < 0 = a status. Frees
 * the group before and its hits; while is_read is set it does nothing and gives 1. */
int cli_best_read(struct cli_best *best, struct bioinfer_error *err);
/* Opens the pass, which finds scores, on the device of the task, which is open; an exit code. The
 * run of the task does not tick from then on: the pass tells how far it is. */
int cli_best_start(struct cli_best *best, struct cli_aligning *task, struct cli_pairs *pairs);
/* Makes the queries of the group the block at hand, without pairs, for another process: 0, or
 * NOMEM. */
int cli_best_list(struct cli_best *best, struct bioinfer_error *err);
/* Takes the queries of the block at hand, such a one, instead of reading a group, and makes them
 * meet the targets: a status. The first of them is query `first` of its file. */
int cli_best_give(struct cli_best *best, uint64_t first, struct bioinfer_error *err);
/* Finds the pairs of the block at hand, whose group was read: a status. The spans go by query, hits
 * by score, of equals the earlier target first; a query without hits has no span. block.n_pairs is
 * the number of pairs of the pass, not of hits. */
int cli_best_find(struct cli_best *best, struct bioinfer_error *err);
/* Takes the results of a batch of the pass that cli_align_keeps(), with copies of their targets: 0,
 * or NOMEM. A later target needs a higher score to displace one. */
int cli_best_take(struct cli_best *best, const struct cli_batch *b);
void cli_best_close(struct cli_best *best); /* accepts a zeroed one */

/* ---- align_square.c: a matrix of all pairs ---- */

/* A matrix whose tiles are the blocks of a job. */
struct cli_square {
    struct bioinfer_square matrix;
    struct cli_side rows, columns; /* all records of both files; of one file the same */
    uint64_t n_down, n_across;     /* rows and columns of tiles */
    uint64_t *hashes[2];           /* hashes of the records of each */
    struct cli_output names;       /* kept for the tile that was asked for last */
    char *path;                    /* where the job writes the matrix, */
    char *folder;                  /* in a folder of its own; NULL: it is --output */
};

/* Whether options and format allow what is wanted; says why not. */
bool cli_square_check(const struct cli_options *o, const char *format);
/* columns: NULL = there is one file. The records of both stay the caller's. An exit code: DATA
 * where strict PHYLIP cannot hold a name. */
int cli_square_open(struct cli_square *s, struct cli *cli, const struct cli_align_out *w,
                    const struct cli_side *rows, const struct cli_side *columns,
                    uint64_t most_pairs);
/* Makes the tile of a number the block at hand: 1; 0 = there is none; NOMEM. */
int cli_square_next(struct cli_square *s, struct cli_blocks *blocks, uint64_t ordinal,
                    struct bioinfer_error *err);
/* The names of the rows and columns of a tile, each with a NUL, n bytes, until the next call; NULL:
 * no memory. */
const char *cli_square_names(struct cli_square *s, uint64_t ordinal, size_t *n);
/* A hash of the records of a tile. */
uint64_t cli_square_hash(const struct cli_square *s, uint64_t ordinal);
/* Writes the values of a batch of pairs, of one without a result nan, as bytes to w->out. */
void cli_square_put(const struct cli_align_out *w, const struct cli_batch *b);
/* Copies the output of a job that is finished; a failure of `out` is its own. */
int cli_square_copy(const struct cli_square *s, struct cli_output *out, struct bioinfer_error *err);
/* Removes the folder, too; the job in it was closed. */
void cli_square_close(struct cli_square *s); /* accepts a zeroed one */

/* ---- align_task.c: the task ---- */

/* The state of the task. */
struct cli_aligning {
    struct cli_work work;
    struct cli *cli;
    struct bioinfer_align_params params;
    struct cli_align_out writer; /* without an aligner in a command with workers */
    struct cli_align_run run;
    /* In a worker: */
    struct cli_best best; /* for --top, */
    struct cli_pairs targets;
    bioinfer_reader *reader; /* reads the targets */
    bool given;              /* the block at hand has begun to be computed */
    struct cli_blocks blocks;
    struct cli_output lost, note;
};

/* Names of texts of a result: pairs without one, a line each, and what is said once in a run. */
#define CLI_ALIGN_LOST "lost"
#define CLI_ALIGN_NOTE "note"

/* Whether the options give a matrix, or match and mismatch. */
bool cli_align_has_costs(const struct cli_options *o);
/* Sets parameters and writer by the options, which get the matrix that cli->told names where they
 * have no costs: a status, INVALID where parameters exclude each other. The writer's output is
 * t->work.text then, its align NULL, and what is asked of pairs that are written is not there.
 * Whether the matrix exists is not looked at. */
int cli_align_costs(struct cli_aligning *t, struct bioinfer_error *err);
/* Does so, and reads the other options that the writer needs; an exit code. */
int cli_align_settle(struct cli_aligning *t);
/* Whether the options ask for several processes: --workers, or --device with a list or "all". */
bool cli_align_several(const struct cli_options *o);
/* MiB that one traceback may take: what the options say, else 1024. */
int64_t cli_align_memory(const struct cli_options *o);
/* Bytes of targets that stay in memory. */
uint64_t cli_align_db_memory(const struct cli_options *o);
/* Residues that a record may have: one of a small compressed file may be of any length, and it is
 * in memory three times while its pair is aligned. */
uint64_t cli_align_longest(const struct cli_options *o);
/* Opens a file of sequences: a status. The context is open. */
int cli_align_reader(const struct cli *cli, const char *path, bioinfer_reader **reader,
                     struct bioinfer_error *err);
/* A cli_reopen of the files of the options; user: the struct cli. LIMIT: it is no plain file. */
int cli_align_reopen(void *user, int k, bioinfer_reader **reader, struct bioinfer_error *err);

#endif

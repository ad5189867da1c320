/* align_block.h - blocks of pairs, and the job that keeps them. */
#ifndef BI_CLI_ALIGN_BLOCK_H
#define BI_CLI_ALIGN_BLOCK_H

#include "align_out.h"
#include "align_pairs.h"

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
    int status;               /* the first pair without a result has it; NOMEM before others */
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
 * follows another one, which has the names of the tile or the n_head bytes of head. */
int cli_align_job_keep(struct cli_align_job *j, const struct bioinfer_result *piece,
                       const char *head, size_t n_head, struct bioinfer_error *err);
/* Adds a record to the hash h of those before it, and gives the new hash. */
uint64_t cli_align_mix_record(uint64_t h, const struct bioinfer_record *r);
/* Closes job and blocks; the journal stays. Pairs and `best` are the caller's. */
void cli_align_job_close(struct cli_align_job *j); /* accepts a zeroed one */

#endif

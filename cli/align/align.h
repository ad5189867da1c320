/* align.h - what the files of `bioinfer align` share.
 *
 * The command (align_command.h):
 *
 *   align.c         the run as a whole
 *   align_check.c   which options go together
 *   align_open.c    files, pairs, the task and the job
 *   align_workers.c blocks that workers compute, and the dry run
 *
 * The task, in the command or in a worker:
 *
 *   align_task.c    its state, and blocks that come as bytes
 *   align_costs.c   costs, limits and files by the options
 *   align_letters.c nucleotides or proteins?
 *   align_feed.c    records of a file, read ahead or all at once
 *   align_pass.c    passes over the targets
 *   align_pairs.c   which record meets which
 *   align_best.c    the best targets of each query, which align_hits.c keeps
 *   align_batch.c   batches of pairs on their way, and their text (align_pieces.c)
 *   align_block.c   blocks of pairs: what they give, and as bytes for a worker
 *   align_job.c     blocks of the input, which a journal keeps
 *   align_strand.c  reverse complements of queries
 *   align_square.c  a matrix of all pairs
 *   align_stats.c   bit scores and E-values
 *
 * Text (align_text.h):
 *
 *   align_out.c     what formats share, and JSON
 *   align_lines.c   tsv, PAF, SAM, columns of BLAST
 *   align_rows.c    needle, aligned FASTA
 *   align_answer.c  alignments that answer requests of the server (cli/shared.h)
 *
 * One process aligns pairs where they were read. With workers the command reads blocks and sends
 * their records, and a worker gives their text. */
#ifndef BI_CLI_ALIGN_H
#define BI_CLI_ALIGN_H

#include "align_block.h"

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
/* Gives each pair the better of its two results: the reverse strand's where both have one
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
    struct cli_block block;         /* all pairs are of it, where there are blocks ... */
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
/* Whether pair i of a batch has a result. */
static inline bool cli_batch_has_result(const struct cli_batch *b, size_t i)
{
    return !b->sides[2 * i]->status && !b->sides[2 * i + 1]->status && !b->results[i].status;
}
/* Writes the results of a batch as text (align_pieces.c): 0, or NOMEM. */
int cli_batch_write(struct cli_align_run *run, const struct cli_batch *b);
int cli_align_start(struct cli_align_run *run); /* takes memory; an exit code */
/* Aligns and writes all pairs, or the pairs of all blocks; a status, CANCELLED once a signal came.
 * source_failed and sink_failed tell whose it is. Pairs without a result are said and counted in
 * n_failed, and are no failure. */
int cli_align_pairs(struct cli_align_run *run, struct bioinfer_error *err);
void cli_align_end(struct cli_align_run *run); /* accepts a zeroed one */

/* ---- align_best.c: the best targets of each query ---- */

/* A target that is kept: a record whose texts follow the struct. */
struct cli_hit {
    struct bioinfer_record record;
    int64_t score;
    char text[];
};

/* Is a the one that is displaced first? (align_hits.c) */
bool cli_hit_is_worse(const struct cli_hit *a, const struct cli_hit *b);

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
    struct cli_hit **hits;           /* [k most]: hits of query k, a heap, sorted after the pass */
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

/* Whether these are letters of nucleotides (align_letters.c): mostly A, C, G, T, U and N, the rest
 * codes of several. Says what it guesses, and with --quiet where that may be wrong. */
bool cli_align_guess(struct cli *cli, const struct cli_side *a, const struct cli_side *b);
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

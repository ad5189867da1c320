/* sequences.h - tasks over sequences of residues: what embed.c and score.c share. */
#ifndef BI_SEQUENCES_H
#define BI_SEQUENCES_H

#include "tasks.h"

/* The shape of a recipe: a graph of a family that takes sequences. */
struct bi_sequence_graph {
    struct bi_shape shape;
    struct bi_wants wants;
};
_Static_assert(sizeof(struct bi_sequence_graph) == 6 * sizeof(int64_t), "no padding");

/* The parameters that such tasks have in common, as bioinfer.h describes them. */
struct bi_sequence_params {
    int64_t tokens_at_once, max_length, memory_limit;
    int raw_residues;
    const char *no_rules;
    int (*progress)(void *user, uint64_t records, uint64_t residues);
    void *progress_user;
};

struct bi_sequences {
    struct bioinfer_task task;
    struct bi_sequence_params params;
    char *no_rules;
    struct bi_sequence_graph graph; /* the last recipe points to it */
    struct bi_tokens tokens;        /* the record that was read last has these */
    int n_mapped;                   /* residues of one run that were read as X */
    int64_t most_tokens;            /* that are computed of a record at once; 0 = all of them */
};

/* One record. */
struct bi_sequence_unit {
    struct bi_unit unit;
    uint64_t ordinal;
    int32_t *ids;
    int64_t n_tokens; /* 0 where the status was known at once */
};

/* Takes the parameters and opens the task (bi_task_open()). After a failure the task is closed by
 * its owner as one that was opened. no_rules is copied. Statuses of bi_task_open(). */
int bi_sequences_open(struct bi_sequences *s, const struct bi_sequence_params *params,
                      struct bioinfer_error *err);
/* Frees what the parameters made, not the task; once, also after bi_sequences_open() failed. */
void bi_sequences_free(struct bi_sequences *s);
/* Fills the unit with the next record of the source, and *r with the record, which stays valid
 * until the source is asked again: 1; 0 = there is none, NONE_NOW = none at present, and *r is as
 * the source left it; < 0 = a status that ends the run: the source's, or NOMEM. A failure of the
 * record is the unit's status, and 1 is returned: the one it comes with, EMPTY without letters,
 * what the family says of them (BAD_RESIDUE), then TOO_LONG, or EMPTY where no residue is left. */
int bi_sequences_read(struct bi_sequences *s, struct bi_sequence_unit *u, struct bioinfer_record *r,
                      struct bioinfer_error *err);
/* Warns in the log how many residues were read as X, if any, forgets them, and frees the tokens. */
void bi_sequences_end(struct bi_sequences *s);
/* Residues of a record of so many tokens: without those in front and behind, at least 0. */
int64_t bi_sequences_residues(const struct bi_model *m, int64_t n_tokens);
/* Fills the recipe of a batch's graph that gives `wants`; it points into the task, until the next
 * call. wants.layers stays where it is as long as the task: plans are told apart by its address.
 * Returns 0. */
int bi_sequences_recipe(struct bi_sequences *s, const struct bi_batch *b, struct bi_wants wants,
                        struct bi_recipe *recipe);
/* The counts of a batch of one sequence of so many residues, with the tokens in front and
 * behind. The length is not checked. */
struct bi_counts bi_sequences_one(const struct bioinfer_task *t, int64_t n_residues);
/* The inputs that bi_sequences_fill() fills, where a graph has them. */
extern const char *const bi_sequences_made[3];
/* bi_task_def's fill: writes each of these for the tokens of an item, where the graph has it. */
void bi_sequences_fill(const struct bioinfer_task *t, const struct bi_item *item,
                       const struct bi_batch_place *place);

#endif

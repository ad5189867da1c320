/* design.h - the task design: what its files share. */
#ifndef BI_TASK_DESIGN_H
#define BI_TASK_DESIGN_H

#include "../models/design.h"
#include "tasks.h"

enum { BI_DESIGN_SAMPLED = 32 }; /* tokens of samples for each token of a batch */

/* Tables of cells for the structures of one batch. */
struct bi_design_cells {
    int32_t *of; /* [n], as struct bi_knn_params says */
    int64_t n;
    size_t cap;
    struct bi_cell_grid *grids; /* [n_grids], one for each structure */
    size_t n_grids, cap_grids;
};

/* How far a batch is filled. */
struct bi_design_filling {
    const struct bi_item *before;
    int32_t token, terms, row; /* where the structure and the terms in use begin; the next row */
};

struct bi_design_task {
    struct bioinfer_task task;
    struct bioinfer_model *model; /* that of the task */
    struct bi_design_run run;
    struct bi_arena strings;
    struct bi_design_cells cells; /* for the batch that is packed */
    struct bi_design_filling filling;
    struct bi_design_shape shape;  /* the last recipe points to it */
    struct bi_design_input *input; /* NULL, or the structure whose jobs are being made */
    struct bi_report report;
};

/* A structure, and the units that hold jobs of it. */
struct bi_design_input {
    struct bi_entry entry;
    int n_holders;
    uint32_t n_pieces; /* handed out */
    bool skip;         /* numbers are drawn for it, and that is all */
    bool told;         /* why it has no results was handed out */
};

/* A round of jobs of one structure. */
struct bi_design_unit {
    struct bi_unit unit;
    struct bi_design_input *input;
    struct bi_jobs jobs;
    bool last;  /* no other round of this structure follows */
    bool again; /* the items are those of the second scoring, of other coordinates */
};

/* ---- design_batch.c: what the task tells the runner of items and batches ---- */

/* Fills *item for job `number` of a unit, from 0; fails never. */
void bi_design_item(const struct bi_design_task *d, struct bi_design_unit *u, int32_t number,
                    struct bi_item *item);
/* bi_task_def's load: tokens, or a BI_DESIGN_SAMPLED-th of the tokens of samples where that is
 * more. */
int64_t bi_design_load(const struct bi_counts *counts);
/* The program that a dump shows, an enum bi_design_pass shifted left by 1: that of the mode. Bit 0,
 * which says that it scores again, is not set. */
int32_t bi_design_program(const struct bi_design_task *d);
/* bi_task_def's recipe. Without items it is that of bi_design_program(). 0, or NOMEM: there is none
 * for tables of cells, which are made here for the batch and hold until the next call.
 * Rounds up terms and cells, as b->capacity has all other sizes rounded already. The first 7 words
 * of the key are sizes; the last one is the pass and whether it scores again. */
int bi_design_recipe(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                     struct bioinfer_error *err);
/* bi_task_def's fill, of items one after the other, after bi_design_recipe() of the same batch.
 * Writes "grid" and "cells" with the first item of a batch alone. Jobs that are no samples get
 * temperature 1. */
void bi_design_fill(const struct bioinfer_task *t, const struct bi_item *item,
                    const struct bi_batch_place *place);
/* bi_task_def's collect: copies codes and logits of an item to its job, again where its batch is
 * run again. Returns 0: whether logits are finite is found out when results are handed out. */
int bi_design_collect(struct bioinfer_task *t, struct bi_item *item,
                      const struct bi_batch_place *place, struct bioinfer_error *err);

#endif

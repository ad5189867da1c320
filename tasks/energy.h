/* energy.h - what the task energy has in common with tasks whose frames move. */
#ifndef BI_ENERGY_TASK_H
#define BI_ENERGY_TASK_H

#include "../kernels/atom_edges.h"
#include "../models/energy.h"
#include "frames.h"
#include "tasks.h"

/* A frame. The struct of a task begins with it. */
struct bi_energy_unit {
    struct bi_unit base;
    struct bi_item item;
    uint64_t ordinal;
    /* The frame, in one block of memory, with the axes and the charge that it is computed with. */
    struct bioinfer_atoms atoms;
    double cell[9];
    void *memory;
    double *positions; /* atoms.positions, for tasks that move them */
    double *forces;
    struct bi_atom_frame frame; /* as if it were the first of a batch */
    double energy, network, virial[9], stress[9], largest;
};

/* A task over frames. The struct of a task begins with it. */
struct bi_energy {
    struct bioinfer_task task;
    const struct bi_energy_def *def;
    const struct bi_energy_facts *facts;
    struct bioinfer_energy_params p;
    char *no_rules;
    struct bi_frame frame;        /* that of a record that is a text */
    double edges_per_atom;        /* that batches had; 0 = there was none yet */
    bool said_charge;             /* that a frame has one which the model does not know */
    struct bi_buf text;           /* the result at hand */
    struct bi_energy_shape shape; /* the last recipe points to it */
};

/* struct bi_task_def.smallest, without and with steps */
#define BI_ENERGY_SMALLEST {.n_tokens = 16, .n_seqs = 1, .longest = 16, .n_edges = 256}
#define BI_ENERGY_SMALLEST_MOVE                                                                    \
    {.n_tokens = 16, .n_seqs = 1, .longest = 16, .n_edges = 256, .n_steps = 1}

/* Parameters of energy, from the parameters of a task whose frames move. */
#define BI_ENERGY_PARAMS(p)                                                                        \
    BIOINFER_PARAMS(struct bioinfer_energy_params, .charge = (p)->charge,                          \
                    .has_charge = (p)->has_charge, .pbc = (p)->pbc,                                \
                    .tokens_at_once = (p)->tokens_at_once, .memory_limit = (p)->memory_limit,      \
                    .no_rules = (p)->no_rules)
/* Checks and takes the parameters, and opens the task. */
int bi_energy_begin(struct bi_energy *e, const struct bioinfer_energy_params *params,
                    struct bioinfer_error *err);
/* As `read` of a task: fills the unit with the next record, which is *r, and its item. *atoms are
 * those of the record, and hold until the next call. A unit that cannot be used has its status. */
int bi_energy_read(struct bi_energy *e, struct bi_energy_unit *u, struct bioinfer_record *r,
                   struct bioinfer_atoms *atoms, struct bioinfer_error *err);
/* Makes the item of a unit anew, whose places and cell have changed. A status: it can no more be
 * computed. */
int bi_energy_moved(const struct bi_energy *e, struct bi_energy_unit *u,
                    struct bioinfer_error *err);
/* Finds the pairs of a frame on the host, where the device says that atoms lie on each other. A
 * status and their names: they are of this frame. */
int bi_energy_name_touches(const struct bi_energy *e, struct bi_energy_unit *u,
                           struct bioinfer_error *err);
/* Fills the recipe of a batch whose atoms move so. */
void bi_energy_recipe(struct bi_energy *e, const struct bi_batch *b, enum bi_energy_moves moves,
                      struct bi_recipe *recipe);
/* Fills the inputs of an item but for those of atoms that move. */
void bi_energy_fill(const struct bi_energy *e, const struct bi_energy_unit *u,
                    const struct bi_batch_place *place);
/* The first row of the output of a kind, BI_ENERGY_ATOMS or another one; NULL: the graph lacks
 * it. */
const void *bi_energy_output(const struct bi_batch_place *place, int kind, int64_t *ld);
/* Takes energy, forces and virial of an item's frame; false: one is not finite. */
bool bi_energy_take_outputs(const struct bi_energy *e, struct bi_energy_unit *u,
                            const struct bi_batch_place *place);
/* Sets the stress by the virial; false: the frame has none. */
bool bi_energy_set_stress(const struct bi_energy *e, struct bi_energy_unit *u);
/* The numbers of a frame as a result has them; `stress`: it was set. They point into the unit. */
struct bioinfer_energy bi_energy_told(const struct bi_energy_unit *u, bool stress);

/* Functions of struct bi_task_def that these tasks share. */
int bi_energy_again(struct bioinfer_task *t, struct bi_item *const *items,
                    const struct bi_batch_place *place, struct bioinfer_error *err);
void bi_energy_drop(struct bioinfer_task *t, struct bi_unit *unit);
struct bi_counts bi_energy_one(const struct bioinfer_task *t, int64_t n_residues);
void bi_energy_free(struct bioinfer_task *t);

#endif

/* energy.h - what the task energy gives to motions of atoms beside forces. */
#ifndef BI_ENERGY_TASK_H
#define BI_ENERGY_TASK_H

#include "../kernels/fire.h"
#include "../kernels/motion.h"
#include "../engine/task.h"

/* Steps that are made by one submission: of molecular dynamics, or of a relaxation. */
struct bi_chunk {
    int32_t steps; /* a relaxation has so many forces, and a step behind each unless it is over */
    struct bi_motion_facts facts; /* but for std */
    struct bi_motion_atom *atoms; /* [n] before the steps, then behind them; NULL: a relaxation */
    struct bi_fire *fire;         /* before the steps but for std, then behind them; 1 */
    struct bi_fire_atom *fire_atoms; /* [n] likewise */
    bool failed;                     /* a step cannot be made; all are as they were */
};

/* The frames that are computed from here on make these steps first, from the positions of the
 * chunk; one at a time. Results are of the last step; of a relaxation, where it is over, those of
 * its last forces, and in the cell of these; else they mean nothing. NULL: they make none. The
 * frame of a relaxation has the cell and positions of its state. The chunk, which is not
 * copied, stays until the next call of this; `energy` is a task of bioinfer_energy_open(), which is
 * not checked, and the caller has entered it. */
void bi_energy_move(bioinfer_task *energy, struct bi_chunk *chunk);

/* Whether it is a task of bioinfer_energy_open(), which the calls below do not check. */
bool bi_energy_is(const bioinfer_task *task);
/* Gives a frame the periodic axes and the charge that it is computed with: the parameters of the
 * task may say others than the file. */
struct bi_frame;
void bi_energy_settle(const bioinfer_task *energy, struct bi_frame *frame);
/* The fusion rules that the parameters leave out, as they say them; "" = all are used. It is the
 * task's. */
const char *bi_energy_no_rules(const bioinfer_task *energy);

#endif

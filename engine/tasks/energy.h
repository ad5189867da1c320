/* energy.h - what the task energy gives to motions of atoms beside forces. */
#ifndef BI_ENERGY_TASK_H
#define BI_ENERGY_TASK_H

#include "../../kernels/motion.h"
#include "task.h"

/* Steps of molecular dynamics that are made by one submission. */
struct bi_chunk {
    struct bi_motion_facts facts; /* but for std */
    int32_t steps;
    struct bi_motion_atom *atoms; /* [n] before the steps, then behind them */
    bool failed;                  /* a step cannot be made; atoms are as they were */
};

/* The frames that are computed from here on make these steps first, from the positions of the
 * chunk; one at a time. Results are of the last step. NULL: they make none. The chunk, which is not
 * copied, stays until the next call of this; `energy` is a task of bioinfer_energy_open(), which is
 * not checked. */
void bi_energy_move(bioinfer_task *energy, struct bi_chunk *chunk);

#endif

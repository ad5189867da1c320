/* frames.h - what readers of frames and the task energy share. */
#ifndef BI_FRAMES_TASK_H
#define BI_FRAMES_TASK_H

#include "../loaders/atoms.h"

/* The frame in the words of the interface; it points into the frame, which owns all arrays.
 * atoms->cell is NULL where all nine numbers of the frame's cell are 0. */
void bi_frame_atoms(const struct bi_frame *frame, struct bioinfer_atoms *atoms);
/* Words of the description of a record, which is a frame, for what a molecular dynamics follows or
 * passes over. */
#define BI_FRAME_VELOCITIES "velocities "
#define BI_FRAME_MASSES "masses "
#define BI_FRAME_CELL_VELOCITIES "cell "

/* Says why a molecular dynamics, or else a relaxation, cannot obey the frame of a record:
 * UNSUPPORTED; 0: it can. */
int bi_frame_obeyed(const struct bioinfer_record *record, bool dynamics,
                    struct bioinfer_error *err);

#endif

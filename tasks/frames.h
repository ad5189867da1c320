/* frames.h - what readers of frames and the task energy share. */
#ifndef BI_FRAMES_TASK_H
#define BI_FRAMES_TASK_H

#include "../loaders/atoms.h"

/* The frame in the words of the interface; it points into the frame, which owns all arrays.
 * atoms->cell is NULL where all nine numbers of the frame's cell are 0. */
void bi_frame_atoms(const struct bi_frame *frame, struct bioinfer_atoms *atoms);

#endif

/* frame_update.h - a small rotation and translation of each residue's frame. */
#ifndef BI_FRAME_UPDATE_PARAMS_H
#define BI_FRAME_UPDATE_PARAMS_H

#include "counts.h"

/* frame, y: [rows, 7], u: [rows, 6]; frames are as rigid.h has them, q and t their parts:
 *   t' = t + R(q) (u3, u4, u5)
 *   q' = q + q (0, u0, u1, u2), divided by its length
 * The product is Hamilton's. frame may be NULL: q is then (1, 0, 0, 0), and t is 0. */
struct bi_frame_update_params {
    const struct bi_counts *counts;
    const float *frame, *u;
    float *y;
    int64_t ldf, ldu, ldy, rows;
    int32_t axis;
};

#endif

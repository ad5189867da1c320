/* linear_sm90.h - linear.h for Hopper's own kernel. */
#ifndef BI_LINEAR_SM90_PARAMS_H
#define BI_LINEAR_SM90_PARAMS_H

#include "../../linear.h"
#include "sm90_maps.h"

/* Channels of a tap of x, which is read 64 at a time. Of windows (rows that overlap, ldx < k) they
 * are those of a row; narrow windows, of which 64 channels are several rows, are one tap of all k:
 * the copy engine takes rows that overlap. */
#define BI_LINEAR_CHANNELS(p) ((p)->ldx < 64 || (p)->ldx > (p)->k ? (p)->k : (int32_t)(p)->ldx)

struct bi_linear_sm90_params {
    struct bi_tensor_map maps[2]; /* x [rows + taps - 1, channels], w [n, k] */
    struct bi_linear_params linear;
};

/* The same with what follows y. */
struct bi_followed_sm90_params {
    struct bi_tensor_map maps[8]; /* linear_sm90_kinds.h */
    struct bi_linear_params followed;
};

#endif

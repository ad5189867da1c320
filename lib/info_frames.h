/* info_frames.h - files of frames in XYZ: atoms with coordinates. */
#ifndef BI_INFO_FRAMES_H
#define BI_INFO_FRAMES_H

#include "../base/buf.h"

/* Whether a text begins as XYZ or extended XYZ does: a number of atoms, a line of words, and an
 * atom, of which `head` has all or the first part. */
bool bi_info_is_xyz(const char *head);
/* Describes all frames of such a file; `head` is its beginning, from which the keys of the first
 * frame come. A frame that cannot be used is counted, and the first one says why. NOMEM alone. */
int bi_info_frames(struct bi_buf *out, const struct bi_env *env, const char *path, const char *head,
                   struct bioinfer_error *err);

#endif

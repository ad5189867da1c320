/* info_folder.h - folders of outputs, told by the descriptions in them. */
#ifndef BI_INFO_FOLDER_H
#define BI_INFO_FOLDER_H

#include "../base/buf.h"

/* Describes a folder of parts (jobs/parts.c), or the journal of a run that is not finished.
 * *known = false: it is none of them, and nothing was printed. Returns 0 then, also for a folder
 * that cannot be listed. After a failure, which is of a folder that is known, *known is true, and
 * *out may hold part of the text. */
int bi_info_folder(struct bi_buf *out, const char *path, bool *known, struct bioinfer_error *err);

#endif

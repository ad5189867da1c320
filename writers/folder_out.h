/* folder_out.h - an output that is a folder: its files are written into a temporary folder beside
 * it, which takes the final name when all are there. */
#ifndef BI_FOLDER_OUT_H
#define BI_FOLDER_OUT_H

#include "writer.h"

/* Zeros: nothing is open. */
struct bi_folder_out {
    char *temp;
    struct bi_buf path; /* set by bi_folder_out_path() */
};

/* Makes the temporary folder. IO: the output is there already, or cannot be made; NOMEM. The folder
 * is closed by bi_folder_out_close() after a failure, too. */
int bi_folder_out_open(struct bi_folder_out *f, const struct bioinfer_writer *w,
                       struct bioinfer_error *err);
/* Appends the name that the files of a record with this id get; nothing where the id is empty or
 * too long for a name. Where two ids give one name, the writer renames the second. */
void bi_folder_out_name(struct bi_buf *out, const char *id);
/* Sets path->data to the path of the alignment of a chain in a folder of such files: ID.a3m, or
 * ID_CHAIN.a3m where chain is not NULL, or with ".gz". 1: the file is there; 0: neither is, and the
 * path is the plain one's. NOMEM; INVALID: the id gives no name. */
int bi_folder_out_alignment(struct bi_buf *path, const char *folder, const char *id,
                            const char *chain);
/* Sets f->path.data to the path of the file NAME.SUFFIX, with a NUL. NOMEM. */
int bi_folder_out_path(struct bi_folder_out *f, const struct bioinfer_writer *w, const char *name,
                       const char *suffix, struct bioinfer_error *err);
/* Gives the folder its name, with all on disk. IO: something has that name now, or a call of the
 * system failed; there is no output then. */
int bi_folder_out_finish(struct bi_folder_out *f, const struct bioinfer_writer *w,
                         struct bioinfer_error *err);
/* Removes a folder that was not finished. */
void bi_folder_out_close(struct bi_folder_out *f, const struct bioinfer_writer *w);

#endif

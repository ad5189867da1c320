/* fasta.h - FASTA records from plain text, gzip or BGZF, streaming in constant memory.
 *
 * struct bioinfer_reader is the public handle itself; engine/api.c forwards to these. */
#ifndef BI_FASTA_H
#define BI_FASTA_H

#include "../base/base.h"

int bi_fasta_open(struct bioinfer_reader **out, const struct bi_env *env, const char *path,
                  const struct bioinfer_reader_params *params, struct bioinfer_error *err);
int bi_fasta_open_memory(struct bioinfer_reader **out, const struct bi_env *env,
                         const char *name, const void *bytes, size_t size,
                         const struct bioinfer_reader_params *params,
                         struct bioinfer_error *err);
/* As bioinfer_reader_next(): 1 record, 0 end, < 0 status. */
int bi_fasta_next(struct bioinfer_reader *reader, struct bioinfer_record *record,
                  struct bioinfer_error *err);
void bi_fasta_progress(const struct bioinfer_reader *reader, uint64_t *done, uint64_t *total);
void bi_fasta_close(struct bioinfer_reader **reader);

#endif

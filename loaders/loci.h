/* loci.h - places in a genome, one at a time: intervals of BED, variants of VCF; plain, gzip
 * or BGZF, told apart by content.
 *
 * A line that cannot be used comes with its status and a message, and the reader goes on:
 * FORMAT (missing fields, no number, start behind end, a variant in BED), UNSUPPORTED (an allele
 * that is not bases: *, <DEL>, breakends), TOO_LONG (more than a mebibyte in the columns that are
 * read, which are the first six; what follows them may have any length and takes no memory). What
 * makes the whole input unusable is returned instead: a damaged stream, BCF, a NUL byte. */
#ifndef BI_LOCI_H
#define BI_LOCI_H

#include "../base/base.h"

struct bioinfer_loci;

/* Opens BED or VCF, told by content; bytes in memory must outlive it. VCF is what has a line
 * ##fileformat=VCF or #CHROM and POS among the comments at its head, or REF and ALT in columns 4
 * and 5 of its first other line, whatever the ID; all else is taken for BED, also an empty file,
 * which has no locus. UNSUPPORTED: BCF; else what reading up to that line gives: NOT_FOUND, IO,
 * FORMAT. After a failure *out is NULL. */
int bi_loci_open(struct bioinfer_loci **out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err);
int bi_loci_open_memory(struct bioinfer_loci **out, const struct bi_env *env, const char *name,
                        const void *bytes, size_t size, struct bioinfer_error *err);
/* Known after open: variants, not intervals. */
bool bi_loci_are_variants(const struct bioinfer_loci *l);
/* 1 = *locus is the next one (with its texts valid until the next call), also one that cannot be
 * used, whose status says why; 0 = end; < 0 = status: FORMAT (a NUL byte, damaged
 * gzip), IO. The reader is only to be closed then. A line of VCF is a locus for each of its
 * alternative alleles, in their order. *locus is untouched unless 1 is returned. */
int bi_loci_next(struct bioinfer_loci *l, struct bioinfer_locus *locus, struct bioinfer_error *err);
/* Closes the file; NULL-safe, *loci is NULL then. */
void bi_loci_close(struct bioinfer_loci **loci);

#endif

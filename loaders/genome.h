/* genome.h - bases of an indexed FASTA by contig and position.
 *
 * The index is <path>.fai (samtools faidx); a FASTA compressed by bgzip also needs <path>.gzi.
 * Every number of both is checked against the file, and what is read must be lines of the
 * length the index says, after a header of the contig's name and before another header or the
 * file's end: a file that changed after it was indexed is FORMAT, not other bases. */
#ifndef BI_GENOME_H
#define BI_GENOME_H

#include "../base/file.h"

struct bioinfer_genome;

/* Writes the index path.fai, and path.gzi of a BGZF file, over those that are there, once the whole
 * file was read. FORMAT: the file is damaged, cut off or no FASTA, has a name twice, or lines of a
 * contig, but for its last, differ in length; UNSUPPORTED: gzip that is no BGZF; MISMATCH: the
 * file changed meanwhile. After a failure the index is as it was, but path.gzi may be written. */
int bi_genome_index(const struct bi_env *env, const char *path, struct bioinfer_error *err);
/* Opens path and its index path.fai, and path.gzi of a BGZF file. NOT_FOUND: one of these is
 * missing; UNSUPPORTED: gzip that is no BGZF; FORMAT: an index is damaged or empty, does not fit
 * the file or has a contig twice; the file is looked at first, then path.gzi, then path.fai. Lines
 * of the file are not checked before they are read. After a failure *out is NULL. */
int bi_genome_open(struct bioinfer_genome **out, const struct bi_env *env, const char *path,
                   struct bioinfer_error *err);
/* The three files as bytes, which must outlive the genome (fuzzing, tests). */
struct bi_genome_bytes {
    const void *fasta, *gzi;
    const char *fai;
    size_t fasta_size, gzi_size, fai_size;
};
/* As bi_genome_open(); gzi is looked at for BGZF alone. */
int bi_genome_open_memory(struct bioinfer_genome **out, const struct bi_env *env,
                          const struct bi_genome_bytes *bytes, struct bioinfer_error *err);
/* Contig by number in the index's order: its name and length; NULL past the end and below 0, and
 * *length is untouched. */
const char *bi_genome_contig(const struct bioinfer_genome *g, int64_t index, int64_t *length);
/* Length of a contig by its whole name, case and all; -1 = there is none. */
int64_t bi_genome_length(const struct bioinfer_genome *g, const char *contig);
/* Bases [start, end), 0-based, as they stand; 'N' off the ends of the contig. INVALID: no such
 * contig, or the range is empty or wholly off it. FORMAT: the file is not what the index says, in
 * the contig's header or in the lines read; IO. bases: end - start of them, without a NUL, in part
 * after a failure; the genome can be read on. One thread at a time. */
int bi_genome_read(struct bioinfer_genome *g, const char *contig, int64_t start, int64_t end,
                   char *bases, struct bioinfer_error *err);
/* Closes the files; NULL-safe, *genome is NULL then. */
void bi_genome_close(struct bioinfer_genome **genome);

#endif

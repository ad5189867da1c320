/* align_text.h - how alignments are written as text, for the files that have a format each. */
#ifndef BI_CLI_ALIGN_TEXT_H
#define BI_CLI_ALIGN_TEXT_H

#include "align.h"

enum { GAP_QUERY = 2, GAP_TARGET = 1, EQUAL = 7, DIFFERENT = 8 }; /* ops of a CIGAR */

/* ---- align_out.c: what formats share ---- */

/* Writes a text, a whole number. */
void cli_align_put_text(const struct cli_align_out *w, const char *text);
void cli_align_put_number(const struct cli_align_out *w, int64_t x);
/* Writes n / of with six decimals, 0 <= n <= of, as printf rounds it. */
void cli_align_put_share(const struct cli_align_out *w, int64_t n, int64_t of);
/* Writes the CIGAR. `clips` says what stands for residues that free ends leave out: I and D, S and
 * nothing, or nothing at all. */
void cli_align_put_cigar(const struct cli_align_out *w, const struct bioinfer_record *q,
                         const struct bioinfer_record *t, const struct bioinfer_alignment *a,
                         const char *clips);
/* Gives the number of columns that free ends leave out, which count as gaps of the whole alignment;
 * what a local one leaves out is no part of it. */
int64_t cli_align_left_out(const struct cli_align_out *w, const struct bioinfer_record *q,
                           const struct bioinfer_record *t, const struct bioinfer_alignment *a);
/* Finds where the query's piece lies on its own letters, which may have been aligned as their
 * reverse complement; from 0, the end not included. */
void cli_align_query_range(const struct cli_align_out *w, const struct bioinfer_record *q,
                           const struct bioinfer_alignment *a, int64_t *begin, int64_t *end);

/* ---- a whole alignment each: align_lines.c, align_rows.c ---- */

typedef void cli_align_format(const struct cli_align_out *w, const struct bioinfer_record *q,
                              const struct bioinfer_record *t, const struct bioinfer_alignment *a);
extern cli_align_format cli_align_put_tsv, cli_align_put_paf, cli_align_put_sam,
    cli_align_put_blast, cli_align_put_needle, cli_align_put_fasta;
extern cli_align_format cli_align_put_pieces; /* fasta of what a local alignment aligns */
extern const char cli_needle_bar[];

#endif

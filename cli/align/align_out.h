/* align_out.h - alignments as text, and their statistics. */
#ifndef BI_CLI_ALIGN_OUT_H
#define BI_CLI_ALIGN_OUT_H

#include "../pool/worker.h"

/* ---- align_out.c: alignments as tsv, paf, sam, fasta or like EMBOSS needle ---- */

/* Statistics of local scores, where the format has them. */
struct cli_align_stats {
    double lambda, k;
    double alpha, beta, spread, covariance, gap; /* lengths of alignments; 0 = not known */
    bool even;                /* scores are rounded down to even ones for E-values */
    double residues, records; /* to be searched; 0 residues: the target's */
    double most;              /* E-value of a pair that is written */
};

struct cli_align_out {
    struct cli_output *out;
    const bioinfer_task *align;
    const char *format;         /* "tsv", "paf", "sam", "needle", "blast", "fasta" */
    const char *path;           /* the file that needle names in its header; NULL = none */
    const char *matrix;         /* for the header of needle */
    const char *matrix_file;    /* NULL: it is a built-in one, or none */
    double scale, open, extend; /* costs in points */
    double open2, extend2;      /* the second piece's; open2 0: none */
    bool both_strands;          /* the strand is written, too */
    bool reverse;               /* the pair at hand has the query's reverse complement */
    bool score_only, plain;     /* plain: M instead of = and X */
    bool no_cigar;              /* tsv ends before it */
    const char *values;         /* a matrix of "identity", "distance" or "score"; NULL = none */
    bool shorter; /* identity is a share of the shorter sequence, not of the columns */
    bool free_ends, local;
    bool nucleotides;      /* the letters are nucleotides; N is any of them */
    bool has_least;        /* pairs that score less are not written, */
    double least;          /* in points, */
    double least_identity; /* nor those with a smaller share of equal columns */
    struct cli_align_stats stats;
};

/* Whether SAM can hold these names, each target's once (queries may share one): an exit code, said
 * in words: DATA, for the first bad target, else query, else pair of targets. */
int cli_align_check_sam(struct cli *cli, const struct bioinfer_record *queries, size_t n_queries,
                        const struct bioinfer_record *targets, size_t n_targets);
/* Whether the alphabet of a task that is open has A, C, G, T, and none that is of amino acids
 * alone. */
bool cli_align_are_nucleotides(const bioinfer_task *align);
/* The first line of a table, "" = the format starts without one. */
const char *cli_align_title(const struct cli_align_out *w);
/* Writes what stands above the first alignment, the title too. targets: for sam, which leaves out
 * empty ones; else not read. */
void cli_align_head(const struct cli_align_out *w, const struct bioinfer_record *targets,
                    size_t n_targets);
/* Whether that is more than the title. */
bool cli_align_has_head(const struct cli_align_out *w);
/* Returns the lines below the last alignment; "" = none. */
const char *cli_align_tail(const struct cli_align_out *w);
/* Whether the pair, which has a result (its status is not looked at), is to be written: not below
 * the least score and identity, free ends' columns counted (one without columns has no identity, so
 * it is below any share above 0), and for blast with a score above 0 and an E-value of at most
 * stats.most. */
bool cli_align_keeps(const struct cli_align_out *w, const struct bioinfer_record *query,
                     const struct bioinfer_record *target, const struct bioinfer_alignment *a);
/* The number of columns of an alignment, those included that free ends leave out; 0 is possible. */
int64_t cli_align_columns(const struct cli_align_out *w, const struct bioinfer_record *query,
                          const struct bioinfer_record *target, const struct bioinfer_alignment *a);
/* Writes a score in points, with the decimals that it has; a whole alignment in the format. */
void cli_align_put_score(const struct cli_align_out *w, int64_t score);
void cli_align_put(const struct cli_align_out *w, const struct bioinfer_record *query,
                   const struct bioinfer_record *target, const struct bioinfer_alignment *a);

/* Adds the members of an object of JSON, each after a comma: score, ranges without free ends,
 * identity, CIGAR; the score alone where w->score_only is set. */
void cli_align_put_json(const struct cli_align_out *w, const struct bioinfer_record *query,
                        const struct bioinfer_record *target, const struct bioinfer_alignment *a);

/* ---- align_stats.c: bit scores and E-values ---- */

/* Finds what statistics need. An exit code: USAGE
 * where the costs are not known, or options do not go together. A format but blast has no
 * statistics, and s->most is infinite. */
int cli_align_stats_make(struct cli_align_stats *s, const struct cli_options *o,
                         const struct cli_align_out *w, const struct bioinfer_align_params *p);
/* The bit score, and the E-value, of a score in points, for blast alone; lengths in residues, above
 * 0. s->residues, where it is set, stands for the target's. */
double cli_align_bits(const struct cli_align_stats *s, double score);
double cli_align_evalue(const struct cli_align_stats *s, double score, size_t query, size_t target);

#endif

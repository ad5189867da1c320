/* gtf.h - genes, transcripts and exons of a GTF file (GENCODE, Ensembl); plain, gzip or BGZF.
 *
 * Lines of genes, transcripts and exons are kept, in the order of the file; others are passed over.
 * FORMAT: a line that has no 9 columns, a place that is none, a missing gene_id, transcript_id or
 * gene_type (gene_biotype of Ensembl), a second line of a gene or a transcript, parts of a gene or
 * a transcript that has no line of its own, and a file without genes. */
#ifndef BI_GTF_H
#define BI_GTF_H

#include "../base/base.h"

struct bi_gtf;

struct bi_gene {
    const char *id, *name, *type; /* name: "" where the file has none */
    int64_t start, end;           /* 0-based, half-open */
    char strand;
    const int64_t (*exons)[2]; /* [n_exons] start and end, ascending, apart; STARTING, else NULL */
    size_t n_exons;
};
enum bi_gene_query {
    BI_GENES_OVERLAPPING, /* genes with a base in [start, end), in the order of their lines */
    /* Genes that begin a transcript there, at a first base of + or behind the last one of -, in the
     * order of the lines of transcripts. Exons are of all such transcripts together, cut to the
     * place. */
    BI_GENES_STARTING
};
/* Takes a gene, which is there until it returns, its texts until the genes are closed. 0: go on,
 * > 0: stop, < 0: a status. */
typedef int (*bi_gene_take)(void *user, const struct bi_gene *gene, struct bioinfer_error *err);

/* Reads the whole file, or bytes in memory, which need not stay; `name` is for messages. FORMAT:
 * see above; else the statuses of bi_lines_each(). After a failure *out is NULL. */
int bi_gtf_open(struct bi_gtf **out, const struct bi_env *env, const char *path,
                struct bioinfer_error *err);
int bi_gtf_open_memory(struct bi_gtf **out, const struct bi_env *env, const char *name,
                       const void *bytes, size_t size, struct bioinfer_error *err);
/* Name of a contig by number, in the order in which they come first; NULL past the end and below
 * 0. */
const char *bi_gtf_contig(const struct bi_gtf *genes, int64_t index);
/* Hands out the genes of a place, start < end; a contig that the file lacks has none. 0 also where
 * there is none, and where `take` says stop; < 0: the status that `take` gave, or NOMEM. Any number
 * of threads may ask. */
int bi_gtf_find(const struct bi_gtf *genes, enum bi_gene_query query, const char *contig,
                int64_t start, int64_t end, bi_gene_take take, void *user,
                struct bioinfer_error *err);
/* Takes bases [start, end) between two exons. 0: go on, > 0: stop, < 0: a status. */
typedef int (*bi_intron_take)(void *user, char strand, int64_t start, int64_t end);
/* Hands out the introns of transcripts that have a base in [start, end), in the order of their
 * lines, each one's ascending. An intron may lie beside the place, and one of several transcripts
 * comes as often. Else as bi_gtf_find(), but *err says nothing of a status that `take` gave. */
int bi_gtf_introns(const struct bi_gtf *genes, const char *contig, int64_t start, int64_t end,
                   bi_intron_take take, void *user, struct bioinfer_error *err);
/* Frees all of it; NULL-safe, *genes is NULL then. */
void bi_gtf_close(struct bi_gtf **genes);

#endif

/* places.c - whether a place of BED or VCF is one of the genome, and what to do when it is not. */
#include "tracks.h"

#include <string.h>
#include <strings.h>

/* Writes the genome's name of a contig that it lacks under this name: chr1 for 1, 1 for chr1, the
 * same in other letters; else the names that it begins with. */
static void put_known_contigs(const bioinfer_genome *genome, const char *chrom, char *text,
                              size_t size)
{
    const char *name;
    size_t n = 0;

    for (int64_t i = 0; (name = bioinfer_genome_contig(genome, i, NULL)); i++)
        if ((!strncmp(name, "chr", 3) && !strcmp(name + 3, chrom)) ||
            (!strncmp(chrom, "chr", 3) && !strcmp(name, chrom + 3)) || !strcasecmp(name, chrom)) {
            snprintf(text, size, "it is called '%.100s' there", name);
            return;
        }
    for (int64_t i = 0; i < 4 && n < size && (name = bioinfer_genome_contig(genome, i, NULL)); i++)
        n += (size_t)snprintf(text + n, size - n, "%s%.100s",
                              !i      ? "it has "
                              : i < 3 ? ", "
                                      : ", ...",
                              i < 3 ? name : "");
}

int check_place(const bioinfer_genome *genome, const struct bioinfer_locus *l, char *text,
                size_t size)
{
    char known[360] = "";
    int64_t length;

    if (bioinfer_genome_length(genome, l->chrom, &length)) {
        put_known_contigs(genome, l->chrom, known, sizeof known);
        snprintf(text, size, "line %llu: the genome has no contig '%.100s'; %s",
                 (unsigned long long)l->line, l->chrom, known);
        return BIOINFER_INVALID;
    }
    if (l->start < 0 || l->end > length) {
        snprintf(text, size, "line %llu: %.100s:%lld-%lld is off the contig, which has %lld bases",
                 (unsigned long long)l->line, l->chrom, (long long)l->start, (long long)l->end,
                 (long long)length);
        return BIOINFER_INVALID;
    }
    return 0;
}

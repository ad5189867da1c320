/* scores_junctions.c - junctions of both alleles of a variant, counted between the same sites.
 *
 * A window and its variants give probabilities of splice sites. The sites are the most likely ones
 * of either allele, and those that the genes have, in genes with a base of the variant. Junctions
 * are counted between them, in the window and in that with the variant.
 *
 * Source: model/dna_model.py and model/variant_scoring/splice_junction.py of the research code that
 * docs/genomics.md names (commit 3f79219).
 *
 * Sections: sites, scores. */
#include <math.h>
#include <string.h>

#include "scores.h"

/* ---- sites ---- */

/* Bases of a window whose genes are asked for. */
struct ground {
    unsigned char *known; /* [window] as bi_alleles_junction_sites() takes it */
    int64_t start, window;
    bool codes; /* one of the genes is that of a protein */
};

static void mark(const struct ground *g, int64_t at, int class)
{
    if (at >= g->start && at < g->start + g->window)
        g->known[at - g->start] |= (unsigned char)(1 << class);
}

/* A bi_gene_take: sites are looked for between a gene's ends. */
static int take_body(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    struct ground *g = user;
    const int64_t end = g->start + g->window;
    for (int64_t i = gene->start < g->start ? g->start : gene->start; i < gene->end && i < end; i++)
        mark(g, i, BI_SITE_CLASSES);
    g->codes |= !strcmp(gene->type, "protein_coding");
    return 0;
}

/* A bi_intron_take. A donor is the base in front of an intron, an acceptor the one behind it. */
static int take_intron(void *user, char strand, int64_t start, int64_t end)
{
    const struct ground *g = user;
    const bool reversed = strand == '-';
    mark(g, start - 1, reversed ? 3 : 0);
    mark(g, end, reversed ? 2 : 1);
    return 0;
}

/* Hands out the genes with a base of a variant. */
static int find_genes(const struct bi_variants_task *t, const struct bi_spot *p, bi_gene_take take,
                      void *user, struct bioinfer_error *err)
{
    const int64_t new = (int64_t)strlen(p->alternative);
    return bi_gtf_find(t->scores->genes, BI_GENES_OVERLAPPING, p->chrom, p->start,
                       p->end - p->start > new ? p->end : p->start + new, take, user, err);
}

int64_t bi_junctions_side(const struct bi_variants_task *t)
{
    return (int64_t)(sqrt((double)t->scores->junctions.info.n_bins) + 0.5);
}

int bi_junctions_find(const struct bi_variants_task *t, const struct bi_places_unit *u,
                      const struct bi_spot *p, const struct bi_alleles *alleles, int32_t **sites,
                      struct bioinfer_error *err)
{
    struct ground g = {.known = bi_calloc(t->task.env, (size_t)alleles->n_rows, 1),
                       .start = u->start,
                       .window = alleles->n_rows};
    const int64_t side = bi_junctions_side(t);
    int st = g.known ? find_genes(t, p, take_body, &g, err)
                     : bi_fail(err, BIOINFER_NOMEM, "%s", p->name);
    if (!st && g.codes)
        st = bi_gtf_introns(t->scores->genes, p->chrom, u->start, u->start + g.window, take_intron,
                            &g, err);
    if (!st && g.codes &&
        !(*sites = bi_alloc(t->task.env, (size_t)(BI_SITE_CLASSES * side) * sizeof **sites)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s", p->name);
    if (!st && g.codes)
        st = bi_alleles_junction_sites(t->task.env, alleles, g.known, side, *sites);
    for (int64_t i = 0; !st && g.codes && i < BI_SITE_CLASSES * side; i++)
        if (i % side >= BI_JUNCTION_SITES) /* these are not scored */
            (*sites)[i] = -1;
    bi_free(t->task.env, g.known);
    return st;
}

int bi_junctions_mark(const struct bi_variants_task *t, const struct bi_places_unit *u,
                      const struct bi_spot *p, unsigned char *wanted, struct bioinfer_error *err)
{
    const int64_t window = t->window;
    struct ground g = {
        .known = bi_calloc(t->task.env, (size_t)window, 1), .start = u->start, .window = window};
    const int st = g.known ? find_genes(t, p, take_body, &g, err)
                           : bi_fail(err, BIOINFER_NOMEM, "%s", p->name);
    for (int64_t i = 0; !st && g.codes && i < window; i++)
        wanted[i] |= g.known[i];
    bi_free(t->task.env, g.known);
    return st;
}

/* ---- scores ---- */

/* Counts of the two windows. */
struct counting {
    const struct bi_variants_task *task;
    const struct bi_places_unit *unit;
    struct bi_score_block *block;
    struct bi_alleles alleles;
    const float *sites;
    char strand;                /* the genes of this one have their rows added */
    const struct bi_gene *gene; /* at hand */
};

/* Adds a row of the block for a junction of the gene at hand. */
static int take_junction(void *user, const struct bi_junction *junction)
{
    const struct counting *c = user;
    const size_t n = (size_t)c->task->scores->junctions.n_columns;
    float *scores = bi_score_block_add(c->task->task.env, c->block, n, c->gene);
    struct bi_score_row *row;
    if (!scores)
        return BIOINFER_NOMEM;
    row = &c->block->rows[c->block->n - 1];
    row->start = c->unit->start + junction->start;
    row->end = c->unit->start + junction->end;
    memcpy(scores, junction->scores, n * sizeof *scores);
    return 0;
}

/* A bi_gene_take. */
static int score_gene(void *user, const struct bi_gene *gene, struct bioinfer_error *err)
{
    struct counting *c = user;
    int st;
    if (gene->strand != c->strand || strcmp(gene->type, "protein_coding") != 0)
        return 0;
    c->gene = gene;
    st = bi_alleles_junctions(c->task->task.env, &c->alleles, c->sites, gene->strand,
                              gene->start - c->unit->start, gene->end - c->unit->start,
                              take_junction, c);
    return st == BIOINFER_NOMEM ? bi_fail(err, BIOINFER_NOMEM, "%s", gene->id) : st;
}

/* Adds the rows of all genes of proteins, first of the strand +, as the released tool does. */
int bi_junctions_score(struct bi_variants_task *t, const struct bi_places_unit *u,
                       const struct bi_spot *p, const int32_t *sites, const float *counts,
                       struct bi_score_block *block, struct bioinfer_error *err)
{
    const int n_tracks = t->scores->junctions.info.n_tracks;
    const int64_t side = bi_junctions_side(t);
    float *places = bi_alloc(t->task.env, (size_t)(BI_SITE_CLASSES * side) * sizeof *places);
    struct counting c = {.task = t, .unit = u, .block = block, .sites = places};
    int st = 0;
    if (!places)
        return bi_fail(err, BIOINFER_NOMEM, "%s", p->name);
    for (int64_t i = 0; i < BI_SITE_CLASSES * side; i++)
        places[i] = (float)sites[i];
    c.alleles = (struct bi_alleles){.reference = counts,
                                    .alternative = counts + side * side * n_tracks,
                                    .n_rows = side,
                                    .n_tracks = n_tracks};
    for (int reversed = 0; !st && reversed < 2; reversed++) {
        c.strand = reversed ? '-' : '+';
        st = find_genes(t, p, score_gene, &c, err);
    }
    bi_free(t->task.env, places);
    return st;
}

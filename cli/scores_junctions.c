/* scores_junctions.c - junctions of both alleles of a variant, counted between the same sites.
 *
 * A window and its variants give probabilities of splice sites. The sites are the most likely ones
 * of either allele, and those that the genes have, in genes with a base of the variant. Junctions
 * are counted between them, in the window and in that with the variant.
 *
 * Source: google-deepmind/alphagenome_research (commit 3f79219): model/dna_model.py,
 * model/variant_scoring/splice_junction.py.
 *
 * Sections: sites, scores. */
#include "scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sites ---- */

/* Bases of a window whose genes are asked for. */
struct ground {
    unsigned char *known; /* [window] as alleles_junction_sites() takes it */
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

    (void)err;
    for (int64_t i = gene->start < g->start ? g->start : gene->start; i < gene->end && i < end; i++)
        mark(g, i, SITE_CLASSES);
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
static int find_genes(const struct tracker *t, const struct place *p, bi_gene_take take, void *user,
                      struct bioinfer_error *err)
{
    const int64_t new = (int64_t)strlen(p->alternative);

    return bi_gtf_find(t->scores->genes, BI_GENES_OVERLAPPING, p->chrom, p->start,
                       p->end - p->start > new ? p->end : p->start + new, take, user, err);
}

int64_t junctions_side(const struct tracker *t)
{
    return (int64_t)(sqrt((double)t->scores->junctions.info.n_bins) + 0.5);
}

int junctions_find(const struct tracker *t, const struct unit *u, const struct place *p,
                   const struct alleles *alleles, int32_t **sites, struct bioinfer_error *err)
{
    struct ground g = {
        .known = calloc((size_t)alleles->n_rows, 1), .start = u->start, .window = alleles->n_rows};
    const int64_t side = junctions_side(t);
    int st = g.known ? find_genes(t, p, take_body, &g, err) : no_memory(err, p->name);

    if (!st && g.codes)
        st = bi_gtf_introns(t->scores->genes, p->chrom, u->start, u->start + g.window, take_intron,
                            &g, err);
    if (!st && g.codes && !(*sites = malloc((size_t)(SITE_CLASSES * side) * sizeof **sites)))
        st = no_memory(err, p->name);
    if (!st && g.codes)
        st = alleles_junction_sites(alleles, g.known, side, *sites);
    for (int64_t i = 0; !st && g.codes && i < SITE_CLASSES * side; i++)
        if (i % side >= JUNCTION_SITES) /* these are not scored */
            (*sites)[i] = -1;
    free(g.known);
    return st;
}

int junctions_mark(const struct tracker *t, const struct unit *u, const struct place *p,
                   unsigned char *wanted, struct bioinfer_error *err)
{
    const int64_t window = t->info.window;
    struct ground g = {.known = calloc((size_t)window, 1), .start = u->start, .window = window};
    const int st = g.known ? find_genes(t, p, take_body, &g, err) : no_memory(err, p->name);

    for (int64_t i = 0; !st && g.codes && i < window; i++)
        wanted[i] |= g.known[i];
    free(g.known);
    return st;
}

/* ---- scores ---- */

/* Counts of the two windows. */
struct counting {
    const struct tracker *tracker;
    const struct unit *unit;
    struct score_block *block;
    struct alleles alleles;
    const float *sites;
    char strand;                /* the genes of this one have their rows added */
    const struct bi_gene *gene; /* at hand */
};

/* Adds a row of the block for a junction of the gene at hand. */
static int take_junction(void *user, const struct junction *junction)
{
    const struct counting *c = user;
    const size_t n = (size_t)c->tracker->scores->junctions.n_columns;
    float *scores = score_block_add(c->block, n, c->gene);
    struct score_row *row;

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
    st = alleles_junctions(&c->alleles, c->sites, gene->strand, gene->start - c->unit->start,
                           gene->end - c->unit->start, take_junction, c);
    return st == BIOINFER_NOMEM ? no_memory(err, gene->id) : st;
}

/* Adds the rows of all genes of proteins, first of the strand +, as the released tool does. */
int junctions_score(struct tracker *t, const struct unit *u, const struct place *p,
                    const int32_t *sites, const float *counts, struct score_block *block,
                    struct bioinfer_error *err)
{
    const int n_tracks = t->scores->junctions.info.n_tracks;
    const int64_t side = junctions_side(t);
    float *places = malloc((size_t)(SITE_CLASSES * side) * sizeof *places);
    struct counting c = {.tracker = t, .unit = u, .block = block, .sites = places};
    int st = 0;

    if (!places)
        return no_memory(err, p->name);
    for (int64_t i = 0; i < SITE_CLASSES * side; i++)
        places[i] = (float)sites[i];
    c.alleles = (struct alleles){.reference = counts,
                                 .alternative = counts + side * side * n_tracks,
                                 .n_rows = side,
                                 .n_tracks = n_tracks};
    for (int reversed = 0; !st && reversed < 2; reversed++) {
        c.strand = reversed ? '-' : '+';
        st = find_genes(t, p, score_gene, &c, err);
    }
    free(places);
    return st;
}

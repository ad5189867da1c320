/* scores_junctions.c - junctions of both alleles of a variant, counted between the same sites.
 *
 * The first run of a window and its variants gives probabilities of splice sites. The sites are the
 * most likely ones of either allele, and those that the genes have, in genes with a base of the
 * variant. A second run counts junctions between them, in the window and in that with the variant.
 *
 * Source: google-deepmind/alphagenome_research (commit 3f79219): model/dna_model.py,
 * model/variant_scoring/splice_junction.py.
 *
 * Sections: sites, counts, scores. */
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

/* Sites of a class in the array of junctions. */
static int64_t side_of(const struct score_output *x)
{
    return (int64_t)(sqrt((double)x->info.n_rows) + 0.5);
}

int junctions_find(const struct tracker *t, const struct unit *u, const struct place *p,
                   const struct alleles *alleles, int32_t **sites, struct bioinfer_error *err)
{
    struct ground g = {
        .known = calloc((size_t)alleles->n_rows, 1), .start = u->start, .window = alleles->n_rows};
    const int64_t side = side_of(&t->scores->junctions);
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

/* ---- counts ---- */

/* Counts of the two windows: the reference's are kept until the other ones come. */
struct counting {
    const struct tracker *tracker;
    const struct unit *unit;
    const struct place *place;
    struct score_block *block;
    float *reference;
    int status;
    char strand; /* the genes of this one have their rows added */
    struct bioinfer_error *why;
    const struct bioinfer_result *r; /* at hand */
    const struct bi_gene *gene;      /* the same */
};

static int score_genes(struct counting *c);

/* A bioinfer_sink: the reference first. */
static int take_counts(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct counting *c = user;
    const size_t size = (size_t)c->tracker->scores->junctions.info.n_values * sizeof(float);

    (void)err;
    if (r->status && !c->status)
        snprintf(c->why->text, sizeof c->why->text, "%s", r->message);
    if (c->status || (c->status = r->status))
        return 0;
    c->r = r;
    if (c->reference)
        c->status = score_genes(c);
    else if ((c->reference = malloc(size)))
        memcpy(c->reference, r->arrays[0].data, size);
    else
        c->status = no_memory(c->why, c->place->name);
    return 0;
}

int junctions_score(struct tracker *t, const struct unit *u, const struct place *p,
                    const struct window *w, const struct bioinfer_change *change,
                    const int32_t *sites, struct score_block *block, int *status,
                    struct bioinfer_error *err)
{
    const size_t window = (size_t)t->info.window;
    struct counting c = {
        .tracker = t, .unit = u, .place = p, .block = block, .why = err, .status = 0};
    struct alleles alleles = {.n_rows = 0};
    struct bioinfer_sites of[2] = {{.at = sites, .n = side_of(&t->scores->junctions)}};
    struct bioinfer_record records[2] = {
        {.id = p->name, .sequence = w->sequence, .length = window, .sites = &of[0]}};
    char *changed = malloc(window);
    int st;

    if (!changed)
        return no_memory(err, p->name);
    memcpy(changed, w->sequence, window);
    memcpy(changed + change->first, change->bases, (size_t)change->length);
    score_align(u, p, &alleles);
    of[1] = of[0];
    of[1].joint = alleles.joint;
    of[1].inserted = alleles.inserted;
    records[1] = records[0];
    records[1].sequence = changed;
    records[1].ordinal = 1;
    records[1].sites = &of[1];
    st = bioinfer_task_compute(t->scores->counts, records, 2, take_counts, &c, err);
    *status = c.status;
    free(c.reference);
    free(changed);
    return st;
}

/* ---- scores ---- */

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
    const struct bioinfer_array *counts = &c->r->arrays[0], *sites = &c->r->arrays[1];
    const struct alleles alleles = {.reference = c->reference,
                                    .alternative = counts->data,
                                    .n_rows = counts->shape[0],
                                    .n_tracks = (int)counts->shape[2]};
    int st;

    if (gene->strand != c->strand || strcmp(gene->type, "protein_coding") != 0)
        return 0;
    c->gene = gene;
    st = alleles_junctions(&alleles, sites->data, gene->strand, gene->start - c->unit->start,
                           gene->end - c->unit->start, take_junction, c);
    return st == BIOINFER_NOMEM ? no_memory(err, gene->id) : st;
}

/* Adds the rows of all genes of proteins, first of the strand +, as the released tool does. */
static int score_genes(struct counting *c)
{
    int st;

    c->strand = '+';
    if ((st = find_genes(c->tracker, c->place, score_gene, c, c->why)))
        return st;
    c->strand = '-';
    return find_genes(c->tracker, c->place, score_gene, c, c->why);
}

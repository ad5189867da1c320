/* places.c - records of the places of a genome: intervals, and clusters of variants.
 *
 * A record is a text of its places, a line for each, with tabs between the fields:
 *
 *   an interval   number of its line, contig, start, end, name
 *   a variant     number of its line, contig, start, name, reference, alternative
 *
 * A cluster is variants on one contig, in order, that start within `cluster` bases of the first.
 * One that cannot be used is a record alone. The window of the reference lies around the middle of
 * the first and the last, so the scores of a cluster depend on which variants are in it: the input
 * alone decides that. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../loaders/loci.h"
#include "variants.h"

/* Bytes of the text of one cluster and of what a task keeps of its places; a further variant
 * begins another cluster. */
static const size_t MOST_KEPT = 64 << 20, PLACE_KEPT = 80;

/* An interval or a variant that was read. */
struct spot {
    struct bioinfer_locus l;
    char *text; /* holds the strings of l; NULL = there is none */
};

struct bioinfer_places {
    const struct bi_env *env;
    bioinfer_loci *loci;
    struct bi_place_rules rules;
    int64_t cluster;
    struct spot spot, ahead; /* the first of the record at hand; the variant after a cluster */
    struct bi_buf text;      /* the record at hand */
    uint64_t n_read, n_indels;
};

/* ---- places that the genome lacks ---- */

/* Writes the genome's name of a contig that it lacks under this name: chr1 for 1, 1 for chr1, the
 * same in other letters; else the names that it begins with. */
static void put_known_contigs(const bioinfer_genome *genome, const char *chrom, char *text,
                              size_t size)
{
    int64_t length;
    const char *name;
    size_t n = 0;
    for (int64_t i = 0; (name = bi_genome_contig(genome, i, &length)); i++)
        if ((!strncmp(name, "chr", 3) && !strcmp(name + 3, chrom)) ||
            (!strncmp(chrom, "chr", 3) && !strcmp(name, chrom + 3)) || !strcasecmp(name, chrom)) {
            snprintf(text, size, "it is called '%.100s' there", name);
            return;
        }
    for (int64_t i = 0; i < 4 && n < size && (name = bi_genome_contig(genome, i, &length)); i++)
        n += (size_t)snprintf(text + n, size - n, "%s%.100s",
                              !i      ? "it has "
                              : i < 3 ? ", "
                                      : ", ...",
                              i < 3 ? name : "");
}

/* INVALID, where the genome lacks the contig, or it ends before the place does. */
static int check_bounds(const struct bi_place_rules *rules, const struct bioinfer_locus *l,
                        struct bioinfer_error *err)
{
    const int64_t length = bi_genome_length(rules->genome, l->chrom);
    char known[360] = "";
    if (length < 0) {
        put_known_contigs(rules->genome, l->chrom, known, sizeof known);
        return bi_fail(err, BIOINFER_INVALID,
                       "line %" PRIu64 ": the genome has no contig '%.100s'; %s", l->line, l->chrom,
                       known);
    }
    if (l->start < 0 || l->end < l->start || l->end > length)
        return bi_fail(err, BIOINFER_INVALID,
                       "line %" PRIu64 ": %.100s:%" PRId64 "-%" PRId64
                       " is off the contig, which has %" PRId64 " bases",
                       l->line, l->chrom, l->start, l->end, length);
    return 0;
}

int bi_place_check(const struct bi_place_rules *rules, const struct bioinfer_locus *l,
                   struct bioinfer_error *err)
{
    const int64_t n = l->end - l->start, n_alt = (int64_t)strlen(l->alternative);
    const int64_t window = rules->window;
    int st = check_bounds(rules, l, err);
    if (st)
        return st;
    if (rules->variants && n > window / 4)
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "line %" PRIu64 ": REF of %" PRId64
                       " bases, more than a quarter of a window",
                       l->line, n);
    if (rules->variants && n_alt > (rules->scorers ? window / 4 : window))
        return bi_fail(err, BIOINFER_TOO_LONG,
                       "line %" PRIu64 ": ALT of %" PRId64 " bases, more than %s window", l->line,
                       n_alt, rules->scorers ? "a quarter of a" : "a");
    if (rules->mutagenesis && (n < 1 || n > window))
        return bi_fail(err, BIOINFER_INVALID,
                       "line %" PRIu64 ": %" PRId64 " bases, expected 1 to %" PRId64, l->line, n,
                       window);
    return 0;
}

/* ---- places in ---- */

static void spot_free(const struct bi_env *env, struct spot *s)
{
    bi_free(env, s->text);
    *s = (struct spot){0};
}

/* Copies a locus and its strings. */
static int spot_copy(const struct bi_env *env, struct spot *s, const struct bioinfer_locus *l,
                     struct bioinfer_error *err)
{
    const char *from[] = {l->chrom, l->name, l->reference, l->alternative, l->message};
    const char **to[] = {&s->l.chrom, &s->l.name, &s->l.reference, &s->l.alternative,
                         &s->l.message};
    size_t size = 0;
    char *at;
    *s = (struct spot){.l = *l};
    for (size_t i = 0; i < BI_COUNT(from); i++)
        size += strlen(from[i]) + 1;
    if (!(at = s->text = bi_alloc(env, size)))
        return bi_fail(err, BIOINFER_NOMEM, "the next record");
    for (size_t i = 0; i < BI_COUNT(from); i++) {
        const size_t n = strlen(from[i]) + 1;
        *to[i] = memcpy(at, from[i], n);
        at += n;
    }
    return 0;
}

/* The next place: 1, 0 = the end, < 0 = status. */
static int next_spot(struct bioinfer_places *p, struct spot *s, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    struct bioinfer_locus l;
    int st = bi_loci_next(p->loci, &l, err);
    if (st <= 0)
        return st;
    if (!l.status && (l.status = bi_place_check(&p->rules, &l, &why)))
        l.message = why.text;
    p->n_indels += !l.status && strlen(l.reference) != strlen(l.alternative);
    return (st = spot_copy(p->env, s, &l, err)) ? st : 1;
}

/* ---- records ---- */

static void put_place(struct bioinfer_places *p, const struct bioinfer_locus *l)
{
    bi_buf_printf(&p->text, "%" PRIu64 "\t%s\t%" PRId64 "\t", l->line, l->chrom, l->start);
    if (p->rules.variants)
        bi_buf_printf(&p->text, "%s\t%s\t%s\n", l->name, l->reference, l->alternative);
    else
        bi_buf_printf(&p->text, "%" PRId64 "\t%s\n", l->end, l->name);
}

/* Adds the variants that belong to the cluster which p->spot begins. */
static int add_cluster(struct bioinfer_places *p, struct bioinfer_error *err)
{
    const struct bioinfer_locus *first = &p->spot.l, *l = &p->ahead.l;
    int64_t last = first->start;
    size_t kept = PLACE_KEPT;
    int st;
    while ((st = next_spot(p, &p->ahead, err)) > 0) {
        if (l->status || strcmp(first->chrom, l->chrom) || l->start < last ||
            l->start - first->start > p->cluster || kept + p->text.size >= MOST_KEPT)
            return 1;
        put_place(p, l);
        last = l->start;
        kept += PLACE_KEPT;
        spot_free(p->env, &p->ahead);
    }
    return st ? st : 1;
}

int bioinfer_places_source(void *places, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct bioinfer_places *p = places;
    const struct bioinfer_locus *l;
    int st = 1;
    if (!p || !record)
        return bi_fail(err, BIOINFER_INVALID, "places and record must be given");
    spot_free(p->env, &p->spot);
    p->spot = p->ahead;
    p->ahead = (struct spot){0};
    p->text.size = 0;
    l = &p->spot.l;
    if (!p->spot.text && (st = next_spot(p, &p->spot, err)) <= 0)
        return st;
    put_place(p, l);
    if (p->rules.variants && p->cluster && !l->status)
        st = add_cluster(p, err);
    if (st > 0 && p->text.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "the next record");
    *record = (struct bioinfer_record){.id = l->name,
                                       .description = "",
                                       .message = l->message,
                                       .status = l->status,
                                       .ordinal = p->n_read,
                                       .sequence = p->text.data,
                                       .length = p->text.size};
    p->n_read += st > 0;
    return st;
}

int bioinfer_places_open(bioinfer_places **out, bioinfer_context *ctx, bioinfer_loci *loci,
                         const bioinfer_genome *genome, const struct bioinfer_places_params *params,
                         struct bioinfer_error *err)
{
    struct bioinfer_places_params q = {0};
    struct bioinfer_places *p;
    int st;
    if (out)
        *out = NULL;
    if (!out || !ctx || !loci || !genome || !params)
        return bi_fail(err, BIOINFER_INVALID,
                       "places: out, context, loci, genome and params must be given");
    if ((st = bi_params_copy(&q, sizeof q, params, "places params", err)))
        return st;
    if (q.window < 1)
        return bi_fail(err, BIOINFER_INVALID, "places: a window of %" PRId64 " bases", q.window);
    if (q.cluster < 0 || (q.cluster && q.cluster >= q.window / 2))
        return bi_fail(err, BIOINFER_INVALID,
                       "cluster: %" PRId64 " bases, a window has %" PRId64
                       ": expected less than half",
                       q.cluster, q.window);
    if (!(p = bi_zalloc(&ctx->env, sizeof *p)))
        return bi_fail(err, BIOINFER_NOMEM, "places");
    p->env = p->text.env = &ctx->env;
    p->loci = loci;
    p->cluster = q.cluster;
    p->rules = (struct bi_place_rules){.genome = genome,
                                       .window = q.window,
                                       .variants = bi_loci_are_variants(loci),
                                       .scorers = q.scorers != 0};
    p->rules.mutagenesis = !p->rules.variants && q.mutagenesis;
    *out = p;
    return 0;
}

uint64_t bioinfer_places_indels(const bioinfer_places *places)
{
    return places ? places->n_indels : 0;
}

void bioinfer_places_close(bioinfer_places **places)
{
    struct bioinfer_places *p = places ? *places : NULL;
    if (!p)
        return;
    spot_free(p->env, &p->spot);
    spot_free(p->env, &p->ahead);
    bi_buf_free(&p->text);
    bi_free(p->env, p);
    *places = NULL;
}

/* ---- the places of a record ---- */

enum { LINE, CHROM, START, MOST_FIELDS = 6, INTERVAL_FIELDS = MOST_FIELDS - 1 };

/* Cuts the next line of `text` into fields, whose tabs and line end become NULs: their number. */
static int cut_fields(char *line, char *fields[MOST_FIELDS])
{
    int n = 0;
    for (char *at = line; at && n < MOST_FIELDS; n++) {
        fields[n] = at;
        if ((at = strchr(at, '\t')))
            *at++ = '\0';
        if (at && n + 1 == MOST_FIELDS)
            return MOST_FIELDS + 1;
    }
    return n;
}

/* Reads a whole number of at most 18 digits; false: it is none. */
static bool read_int(const char *text, int64_t *number)
{
    const size_t n = strspn(text + (*text == '-'), "0123456789");
    if (!n || n > 18 || text[n + (*text == '-')])
        return false;
    *number = strtoll(text, NULL, 10);
    return true;
}

int bioinfer_record_place(const struct bioinfer_record *record, size_t *at, char *text,
                          struct bioinfer_locus *locus, struct bioinfer_error *err)
{
    const char *end;
    char *fields[MOST_FIELDS];
    int64_t line, stop = 0;
    size_t length;
    int n;
    if (!record || !at || !text || !locus)
        return bi_fail(err, BIOINFER_INVALID, "record, at, text and locus must be given");
    if (!record->sequence || *at >= record->length)
        return 0;
    end = memchr(record->sequence + *at, '\n', record->length - *at);
    length = end ? (size_t)(end - record->sequence) - *at : record->length - *at;
    memcpy(text + *at, record->sequence + *at, length);
    text[*at + length] = '\0';
    n = cut_fields(text + *at, fields);
    *locus = (struct bioinfer_locus){
        .strand = '.', .reference = "", .alternative = "", .message = ""};
    if (n < INTERVAL_FIELDS || n > MOST_FIELDS || !read_int(fields[LINE], &line) || line < 0 ||
        !read_int(fields[START], &locus->start) ||
        (n == INTERVAL_FIELDS && !read_int(fields[START + 1], &stop)))
        return bi_fail(err, BIOINFER_FORMAT,
                       "'%.60s': byte %zu of a record is no place: expected a number, a contig, a "
                       "start, and an end and a name or a name and two alleles, with tabs between",
                       record->id ? record->id : "", *at);
    locus->line = (uint64_t)line;
    locus->chrom = fields[CHROM];
    if (n == MOST_FIELDS) {
        locus->name = fields[3];
        locus->reference = fields[4];
        locus->alternative = fields[5];
        locus->end = locus->start + (int64_t)strlen(locus->reference);
    } else {
        locus->end = stop;
        locus->name = fields[4];
    }
    *at += length + (end != NULL);
    return 1;
}

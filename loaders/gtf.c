/* gtf.c - GTF: genes, transcripts and exons, and which of them are at a place.
 *
 * Sections: fields, lines, the whole file, what is at a place, public. */
#include "gtf.h"

#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/map.h"
#include "lines.h"
#include "reader.h"

enum { COLUMNS = 9, MOST_NAME = 1000, NOT_SEEN = -1 };

struct span {
    int64_t start, end; /* 0-based, half-open; start NOT_SEEN: no line of it was read yet */
};

struct gene {
    const char *id, *name, *type;
    struct span at;
    int32_t contig;
    char strand;
};

struct transcript {
    struct span at;
    int32_t contig, gene;
    char strand;
    size_t first_exon, n_exons; /* known at the end of the file */
};

struct exon {
    struct span at;
    int32_t transcript;
};

/* The genes and the transcripts [first, end) among which those of a contig are. */
struct contig {
    const char *name;
    size_t genes[2], transcripts[2];
};

struct bi_gtf {
    const struct bi_env *env;
    struct bi_arena arena; /* names */
    struct bi_map by_contig;
    struct contig *contigs;
    struct gene *genes;
    struct transcript *transcripts;
    struct exon *exons; /* in the end by transcript, in the order of the file */
    size_t n_contigs, n_genes, n_transcripts, n_exons;
    size_t cap_contigs, cap_genes, cap_transcripts, cap_exons;
};

/* A file while it is read. */
struct reading {
    struct bi_gtf *g;
    struct bi_arena arena; /* names of transcripts */
    struct bi_map genes, transcripts, types;
    const char *path;
    uint64_t line;
};

/* ---- fields ---- */

static int no_memory(const struct reading *r, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "%s: genes", r->path);
}

static int bad(const struct reading *r, const char *what, const char *value,
               struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: %s '%s'", r->path,
                   (unsigned long long)r->line, what, bi_quote(value, strlen(value)).text);
}

/* Finds the value of an attribute, key "value"; or key value; and its length. NULL: none. */
static const char *attribute(const char *text, const char *key, size_t *n)
{
    const size_t k = strlen(key);
    while (*text) {
        bool found, quoted;
        text += strspn(text, " ;");
        found = !strncmp(text, key, k) && text[k] == ' ';
        text += strcspn(text, " ;");
        text += strspn(text, " ");
        quoted = *text == '"';
        text += quoted;
        *n = strcspn(text, quoted ? "\"" : ";");
        if (found)
            return text;
        text += *n;
        text += quoted && *text;
    }
    return NULL;
}

/* The same for one that must be there. */
static int need(const struct reading *r, const char *attributes, const char *key,
                const char **value, size_t *n, struct bioinfer_error *err)
{
    *value = attribute(attributes, key, n);
    if (*value && *n && *n <= MOST_NAME)
        return 0;
    return *value && *n
               ? bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: %s of %zu bytes, expected up to %d",
                         r->path, (unsigned long long)r->line, key, *n, MOST_NAME)
               : bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: no %s: %s", r->path,
                         (unsigned long long)r->line, key,
                         bi_quote(attributes, strlen(attributes)).text);
}

static int read_span(const struct reading *r, char *const *field, struct span *at,
                     struct bioinfer_error *err)
{
    uint64_t first, last;
    if (!bi_text_u64(field[3], strlen(field[3]), &first) || !first || first > INT64_MAX / 2)
        return bad(r, "the start is no place, from 1 on:", field[3], err);
    if (!bi_text_u64(field[4], strlen(field[4]), &last) || last < first || last > INT64_MAX / 2)
        return bad(r, "the end is no place from the start on:", field[4], err);
    *at = (struct span){(int64_t)first - 1, (int64_t)last};
    return 0;
}

static int find_contig(struct reading *r, const char *name, int32_t *index,
                       struct bioinfer_error *err)
{
    struct bi_gtf *g = r->g;
    const size_t n = strlen(name);
    uint64_t at = g->n_contigs;
    const char *copy;
    if (!n || n > MOST_NAME)
        return bad(r, "the contig has no name, or a very long one:", name, err);
    if (!bi_map_find(&g->by_contig, name, n, &at)) {
        if (g->n_contigs >= INT32_MAX ||
            !bi_grow(g->env, &g->contigs, &g->cap_contigs, g->n_contigs + 1, sizeof *g->contigs) ||
            !(copy = bi_arena_strndup(&g->arena, name, n)) ||
            bi_map_add(&g->by_contig, copy, n, at, NULL) < 0)
            return no_memory(r, err);
        g->contigs[g->n_contigs++] = (struct contig){copy, {SIZE_MAX, 0}, {SIZE_MAX, 0}};
    }
    *index = (int32_t)at;
    return 0;
}

/* ---- lines ---- */

/* Finds the gene of an id, or makes one whose line is to come. */
static int find_gene(struct reading *r, const char *id, size_t n, int32_t *index,
                     struct bioinfer_error *err)
{
    struct bi_gtf *g = r->g;
    uint64_t at = g->n_genes;
    const char *copy;
    if (!bi_map_find(&r->genes, id, n, &at)) {
        if (g->n_genes >= INT32_MAX ||
            !bi_grow(g->env, &g->genes, &g->cap_genes, g->n_genes + 1, sizeof *g->genes) ||
            !(copy = bi_arena_strndup(&g->arena, id, n)) ||
            bi_map_add(&r->genes, copy, n, at, NULL) < 0)
            return no_memory(r, err);
        g->genes[g->n_genes++] = (struct gene){.id = copy, .at = {NOT_SEEN, 0}};
    }
    *index = (int32_t)at;
    return 0;
}

static int find_transcript(struct reading *r, const char *id, size_t n, int32_t *index,
                           struct bioinfer_error *err)
{
    struct bi_gtf *g = r->g;
    uint64_t at = g->n_transcripts;
    const char *copy;
    if (!bi_map_find(&r->transcripts, id, n, &at)) {
        if (g->n_transcripts >= INT32_MAX ||
            !bi_grow(g->env, &g->transcripts, &g->cap_transcripts, g->n_transcripts + 1,
                     sizeof *g->transcripts) ||
            !(copy = bi_arena_strndup(&r->arena, id, n)) ||
            bi_map_add(&r->transcripts, copy, n, at, NULL) < 0)
            return no_memory(r, err);
        g->transcripts[g->n_transcripts++] = (struct transcript){.at = {NOT_SEEN, 0},
                                                                 .gene = NOT_SEEN};
    }
    *index = (int32_t)at;
    return 0;
}

/* Types are few: each is kept once. */
static int find_type(struct reading *r, const char *type, size_t n, const char **kept,
                     struct bioinfer_error *err)
{
    uint64_t at;
    if (bi_map_find(&r->types, type, n, &at)) {
        *kept = (const char *)(uintptr_t)at;
        return 0;
    }
    if (!(*kept = bi_arena_strndup(&r->g->arena, type, n)) ||
        bi_map_add(&r->types, *kept, n, (uint64_t)(uintptr_t)*kept, NULL) < 0)
        return no_memory(r, err);
    return 0;
}

static int take_gene(struct reading *r, char *const *field, const char *id, size_t n_id,
                     struct bioinfer_error *err)
{
    const char *type, *name;
    size_t n_type, n_name;
    struct gene *gene;
    int32_t index;
    int st = find_gene(r, id, n_id, &index, err);
    if (st)
        return st;
    gene = &r->g->genes[index];
    if (gene->at.start != NOT_SEEN)
        return bad(r, "a second line of gene", gene->id, err);
    if (!attribute(field[8], "gene_type", &n_type) && attribute(field[8], "gene_biotype", &n_type))
        st = need(r, field[8], "gene_biotype", &type, &n_type, err);
    else
        st = need(r, field[8], "gene_type", &type, &n_type, err);
    if (st || (st = find_type(r, type, n_type, &gene->type, err)))
        return st;
    name = attribute(field[8], "gene_name", &n_name);
    if (!(gene->name = bi_arena_strndup(&r->g->arena, name ? name : "",
                                        !name                ? 0
                                        : n_name > MOST_NAME ? MOST_NAME
                                                             : n_name)))
        return no_memory(r, err);
    gene->strand = *field[6];
    if ((st = find_contig(r, field[0], &gene->contig, err)))
        return st;
    return read_span(r, field, &gene->at, err);
}

static int take_transcript(struct reading *r, char *const *field, const char *gene, size_t n_gene,
                           const char *id, size_t n_id, struct bioinfer_error *err)
{
    struct transcript *t;
    int32_t index;
    int st = find_transcript(r, id, n_id, &index, err);
    if (st)
        return st;
    t = &r->g->transcripts[index];
    if (t->at.start != NOT_SEEN)
        return bad(r, "a second line of the transcript in", field[8], err);
    t->strand = *field[6];
    if ((st = find_gene(r, gene, n_gene, &t->gene, err)) ||
        (st = find_contig(r, field[0], &t->contig, err)))
        return st;
    return read_span(r, field, &t->at, err);
}

static int take_exon(struct reading *r, char *const *field, const char *id, size_t n_id,
                     struct bioinfer_error *err)
{
    struct bi_gtf *g = r->g;
    struct exon exon = {.transcript = 0};
    int st = find_transcript(r, id, n_id, &exon.transcript, err);
    if (st || (st = read_span(r, field, &exon.at, err)))
        return st;
    if (!bi_grow(g->env, &g->exons, &g->cap_exons, g->n_exons + 1, sizeof *g->exons))
        return no_memory(r, err);
    g->exons[g->n_exons++] = exon;
    return 0;
}

static int take_line(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    const char *gene, *transcript;
    size_t n_gene, n_transcript, columns;
    bool is_gene, is_transcript;
    char *field[COLUMNS];
    int st;
    r->line = number;
    if (!n || *line == '#')
        return 0;
    columns = bi_fields(line, '\t', field, COLUMNS);
    if (columns != COLUMNS)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: %zu columns with tabs between them, GTF has %d", r->path,
                       (unsigned long long)number, columns, COLUMNS);
    is_gene = !strcmp(field[2], "gene");
    is_transcript = !strcmp(field[2], "transcript");
    if (!is_gene && !is_transcript && strcmp(field[2], "exon"))
        return 0;
    if ((strcmp(field[6], "+") && strcmp(field[6], "-") && strcmp(field[6], ".")))
        return bad(r, "expected strand + - or . , got", field[6], err);
    if ((st = need(r, field[8], "gene_id", &gene, &n_gene, err)))
        return st;
    if (is_gene)
        return take_gene(r, field, gene, n_gene, err);
    if ((st = need(r, field[8], "transcript_id", &transcript, &n_transcript, err)))
        return st;
    return is_transcript ? take_transcript(r, field, gene, n_gene, transcript, n_transcript, err)
                         : take_exon(r, field, transcript, n_transcript, err);
}

/* ---- the whole file ---- */

/* Widens [range[0], range[1]) by i. */
static void widen(size_t *range, size_t i)
{
    range[0] = i < range[0] ? i : range[0];
    range[1] = i + 1 > range[1] ? i + 1 : range[1];
}

/* Puts the exons behind one another by transcript, in the order of the file. */
static int sort_exons(struct reading *r, struct bioinfer_error *err)
{
    struct bi_gtf *g = r->g;
    struct exon *sorted = bi_calloc(g->env, g->n_exons + 1, sizeof *sorted);
    size_t at = 0;
    if (!sorted)
        return no_memory(r, err);
    for (size_t i = 0; i < g->n_exons; i++)
        g->transcripts[g->exons[i].transcript].n_exons++;
    for (size_t t = 0; t < g->n_transcripts; t++) {
        g->transcripts[t].first_exon = at;
        at += g->transcripts[t].n_exons;
        g->transcripts[t].n_exons = 0;
    }
    for (size_t i = 0; i < g->n_exons; i++) {
        struct transcript *t = &g->transcripts[g->exons[i].transcript];
        sorted[t->first_exon + t->n_exons++] = g->exons[i];
    }
    bi_free(g->env, g->exons);
    g->exons = sorted;
    return 0;
}

/* Looks for what lines of others speak of, and that has none of its own. */
static int finish(struct reading *r, struct bioinfer_error *err)
{
    struct bi_gtf *g = r->g;
    for (size_t i = 0; i < g->n_genes; i++) {
        if (g->genes[i].at.start == NOT_SEEN)
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: gene '%s' has transcripts and no line of its own", r->path,
                           bi_quote(g->genes[i].id, strlen(g->genes[i].id)).text);
        widen(g->contigs[g->genes[i].contig].genes, i);
    }
    for (size_t i = 0; i < g->n_transcripts; i++) {
        if (g->transcripts[i].at.start == NOT_SEEN)
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: exons of a transcript that has no line of its own (transcript %zu "
                           "of the file)",
                           r->path, i + 1);
        widen(g->contigs[g->transcripts[i].contig].transcripts, i);
    }
    if (!g->n_genes)
        return bi_fail(err, BIOINFER_FORMAT, "%s: no line of a gene: expected GTF", r->path);
    return sort_exons(r, err);
}

static int read_stream(struct bi_gtf **out, const struct bi_env *env, const char *path,
                       struct bi_stream *stream, struct bioinfer_error *err)
{
    struct reading r = {.path = path,
                        .arena = {.env = env},
                        .genes = {.env = env},
                        .transcripts = {.env = env},
                        .types = {.env = env}};
    int st = 0;
    *out = NULL;
    if (!(r.g = bi_zalloc(env, sizeof *r.g))) {
        bi_stream_close(stream);
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    }
    r.g->env = r.g->arena.env = r.g->by_contig.env = env;
    if (!(st = bi_lines_of_stream(env, path, stream, take_line, &r, err)) &&
        !(st = finish(&r, err))) {
        *out = r.g;
        r.g = NULL;
    }
    bi_gtf_close(&r.g);
    bi_map_free(&r.genes);
    bi_map_free(&r.transcripts);
    bi_map_free(&r.types);
    bi_arena_reset(&r.arena);
    return st;
}

/* ---- what is at a place ---- */

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Joins spans that overlap or touch; gives how many are left, ascending. */
static size_t join(struct span *of, size_t n)
{
    size_t m = 0;
    if (n)
        qsort(of, n, sizeof *of, by_start);
    for (size_t i = 0; i < n; i++)
        if (m && of[i].start <= of[m - 1].end)
            of[m - 1].end = of[i].end > of[m - 1].end ? of[i].end : of[m - 1].end;
        else
            of[m++] = of[i];
    return m;
}

/* The transcript's start site, which is behind its last base on the other strand. */
static int64_t site_of(const struct transcript *t)
{
    return t->strand == '-' ? t->at.end : t->at.start;
}

static bool begins_in(const struct transcript *t, int32_t contig, int64_t start, int64_t end)
{
    return t->contig == contig && site_of(t) >= start && site_of(t) < end;
}

/* Adds the parts of a transcript's exons that lie in [start, end). */
static size_t add_exons(const struct bi_gtf *g, const struct transcript *t, int64_t start,
                        int64_t end, struct span *to)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_exons; i++) {
        struct span s = g->exons[t->first_exon + i].at;
        s.start = s.start < start ? start : s.start;
        s.end = s.end > end ? end : s.end;
        if (s.start < s.end)
            to[n++] = s;
    }
    return n;
}

static struct bi_gene describe(const struct bi_gtf *g, int32_t index)
{
    const struct gene *x = &g->genes[index];
    return (struct bi_gene){.id = x->id,
                            .name = x->name,
                            .type = x->type,
                            .strand = x->strand,
                            .start = x->at.start,
                            .end = x->at.end};
}

static int find_bodies(const struct bi_gtf *g, uint64_t contig, int64_t start, int64_t end,
                       bi_gene_take take, void *user, struct bioinfer_error *err)
{
    const struct contig *c = &g->contigs[contig];
    int st = 0;
    for (size_t i = c->genes[0]; !st && i < c->genes[1]; i++)
        if (g->genes[i].contig == (int32_t)contig && g->genes[i].at.end > start &&
            g->genes[i].at.start < end) {
            const struct bi_gene gene = describe(g, (int32_t)i);
            st = take(user, &gene, err);
        }
    return st;
}

/* A transcript that begins at a place; and, of each gene, those of its transcripts that do. */
struct hit {
    int32_t gene;
    size_t transcript;
};

struct hits {
    size_t first, at, n; /* the first transcript; hits [at, at + n) */
};

static int by_gene(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    if (x->gene != y->gene)
        return x->gene < y->gene ? -1 : 1;
    return x->transcript < y->transcript ? -1 : x->transcript > y->transcript;
}

static int by_first(const void *a, const void *b)
{
    const struct hits *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Groups n hits by gene, in the order of the first transcripts; gives how many groups there are. */
static size_t group_hits(struct hit *hit, size_t n, struct hits *groups)
{
    size_t m = 0;
    qsort(hit, n, sizeof *hit, by_gene);
    for (size_t i = 0; i < n; i++) {
        if (!i || hit[i].gene != hit[i - 1].gene)
            groups[m++] = (struct hits){hit[i].transcript, i, 0};
        groups[m - 1].n++;
    }
    qsort(groups, m, sizeof *groups, by_first);
    return m;
}

static int find_starting(const struct bi_gtf *g, uint64_t contig, int64_t start, int64_t end,
                         bi_gene_take take, void *user, struct bioinfer_error *err)
{
    const struct contig *c = &g->contigs[contig];
    size_t n_hits = 0, n_exons = 0, n = 0;
    struct span *spans = NULL;
    struct hits *groups = NULL;
    struct hit *hits = NULL;
    int st = 0;
    for (size_t i = c->transcripts[0]; i < c->transcripts[1]; i++)
        if (begins_in(&g->transcripts[i], (int32_t)contig, start, end)) {
            n_hits++;
            n_exons += g->transcripts[i].n_exons;
        }
    hits = bi_calloc(g->env, n_hits + 1, sizeof *hits);
    groups = bi_calloc(g->env, n_hits + 1, sizeof *groups);
    spans = bi_calloc(g->env, n_exons + 1, sizeof *spans);
    if (!hits || !groups || !spans)
        st = bi_fail(err, BIOINFER_NOMEM, "genes of a window");
    for (size_t i = c->transcripts[0]; !st && i < c->transcripts[1]; i++)
        if (begins_in(&g->transcripts[i], (int32_t)contig, start, end))
            hits[n++] = (struct hit){g->transcripts[i].gene, i};
    n = st ? 0 : group_hits(hits, n, groups);
    for (size_t i = 0; !st && i < n; i++) {
        struct bi_gene gene = describe(g, hits[groups[i].at].gene);
        size_t m = 0;
        for (size_t k = groups[i].at; k < groups[i].at + groups[i].n; k++)
            m += add_exons(g, &g->transcripts[hits[k].transcript], start, end, spans + m);
        gene.n_exons = join(spans, m);
        gene.exons = (const int64_t(*)[2])spans;
        st = take(user, &gene, err);
    }
    bi_free(g->env, hits);
    bi_free(g->env, groups);
    bi_free(g->env, spans);
    return st;
}

/* Hands out the introns of a transcript; `spans` has room for its exons. */
static int find_introns(const struct bi_gtf *g, const struct transcript *t, struct span *spans,
                        bi_intron_take take, void *user)
{
    const size_t n = join(spans, add_exons(g, t, 0, INT64_MAX, spans));
    int st = 0;
    for (size_t i = 1; !st && i < n; i++)
        st = take(user, t->strand, spans[i - 1].end, spans[i].start);
    return st;
}

/* ---- public ---- */

_Static_assert(sizeof(struct span) == sizeof(int64_t[2]), "spans are pairs");

int bi_gtf_open(struct bi_gtf **out, const struct bi_env *env, const char *path,
                struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    const int st = bi_stream_open(&stream, env, path, err);
    *out = NULL;
    return st ? st : read_stream(out, env, path, &stream, err);
}

int bi_gtf_open_memory(struct bi_gtf **out, const struct bi_env *env, const char *name,
                       const void *bytes, size_t size, struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    const int st = bi_stream_from_memory(&stream, env, name, bytes, size, err);
    *out = NULL;
    return st ? st : read_stream(out, env, name, &stream, err);
}

const char *bi_gtf_contig(const struct bi_gtf *g, int64_t index)
{
    return index < 0 || (uint64_t)index >= g->n_contigs ? NULL : g->contigs[index].name;
}

int bi_gtf_find(const struct bi_gtf *g, enum bi_gene_query query, const char *contig, int64_t start,
                int64_t end, bi_gene_take take, void *user, struct bioinfer_error *err)
{
    uint64_t at;
    int st;
    if (!bi_map_find(&g->by_contig, contig, strlen(contig), &at))
        return 0;
    st = query == BI_GENES_OVERLAPPING ? find_bodies(g, at, start, end, take, user, err)
                                       : find_starting(g, at, start, end, take, user, err);
    return st > 0 ? 0 : st;
}

int bi_gtf_introns(const struct bi_gtf *g, const char *contig, int64_t start, int64_t end,
                   bi_intron_take take, void *user, struct bioinfer_error *err)
{
    const struct contig *c;
    struct span *spans = NULL;
    size_t most = 0;
    uint64_t at;
    int st = 0;
    if (!bi_map_find(&g->by_contig, contig, strlen(contig), &at))
        return 0;
    c = &g->contigs[at];
    for (size_t i = c->transcripts[0]; i < c->transcripts[1]; i++)
        most = g->transcripts[i].n_exons > most ? g->transcripts[i].n_exons : most;
    if (!(spans = bi_calloc(g->env, most + 1, sizeof *spans)))
        return bi_fail(err, BIOINFER_NOMEM, "exons of a transcript");
    for (size_t i = c->transcripts[0]; !st && i < c->transcripts[1]; i++) {
        const struct transcript *t = &g->transcripts[i];
        if (t->contig == (int32_t)at && t->at.end > start && t->at.start < end)
            st = find_introns(g, t, spans, take, user);
    }
    bi_free(g->env, spans);
    return st > 0 ? 0 : st;
}

void bi_gtf_close(struct bi_gtf **genes)
{
    struct bi_gtf *g = *genes;
    if (!g)
        return;
    bi_map_free(&g->by_contig);
    bi_free(g->env, g->contigs);
    bi_free(g->env, g->genes);
    bi_free(g->env, g->transcripts);
    bi_free(g->env, g->exons);
    bi_arena_reset(&g->arena);
    bi_free(g->env, g);
    *genes = NULL;
}

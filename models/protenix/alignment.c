/* alignment.c - Protenix: the rows of a job (alignment.h).
 *
 * A sequence has rows of its own, from both its files. Where a job has several proteins, it also
 * has rows that are paired with rows of other sequences by species. Paired rows come first, then
 * each sequence's own, filled up with gaps. Chains that are no protein have their letters in place
 * of gaps, and ligands X in all rows.
 *
 * Sections: letters, rows of sequences, species, pairs, rows of tokens. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/buf.h"
#include "../../base/file.h"
#include "../../base/map.h"
#include "../../loaders/a3m.h"
#include "alignment.h"

/* ---- letters ---- */

enum { GAP = 31, UNKNOWN = 20, RNA_FIRST = 21, RNA_UNKNOWN = 25, DNA_FIRST = 26, DNA_UNKNOWN = 30 };
enum { MOST_DELETED = 127, SHORTEST = 5 }; /* shorter chains have no alignment */

/* The kind of a letter or gap. */
static uint8_t type_of(enum bi_complex_kind kind, char letter)
{
    static const uint8_t protein[] = {0, 3,  4,  3, 6, 13, 7,  8, 9,  20, 11, 10, 12,
                                      2, 20, 14, 5, 1, 15, 16, 4, 19, 17, 20, 18, 6};
    static const char rna[] = "AGCU", dna[] = "AGCT";
    const char *at;
    if (letter == '-')
        return GAP;
    if (kind == BI_COMPLEX_PROTEIN)
        return protein[letter - 'A'];
    at = strchr(kind == BI_COMPLEX_RNA ? rna : dna, letter);
    if (kind == BI_COMPLEX_RNA)
        return (uint8_t)(at ? RNA_FIRST + (at - rna) : RNA_UNKNOWN);
    return (uint8_t)(at ? DNA_FIRST + (at - dna) : DNA_UNKNOWN);
}

/* ---- rows of sequences ---- */

/* A row of a sequence. */
struct row {
    const uint8_t *types;
    const int32_t *deleted; /* NULL: nothing */
    const char *species;
    size_t n_species;
};

struct rows {
    struct row *at;
    size_t n, cap;
};

struct sequence {
    const struct bi_complex_entity *e;
    int32_t number, columns;
    uint8_t *query;
    struct bi_a3m files[2]; /* paired, unpaired */
    bool read[2];
    struct rows own, paired;
    float *profile, *deletions; /* [columns, PROTENIX_TYPES], [columns] */
};

/* A job at work. */
struct work {
    const struct bi_env *env;
    const struct bi_complex_job *job;
    struct bioinfer_error *err;
    struct sequence *sequences; /* polymers */
    int32_t n;
    bool pairs;
    int32_t *pair; /* [n_pairs, n] rows of sequences, -1: a gap */
    size_t n_pairs;
    uint8_t *gaps;
};

static int no_room(const struct work *w)
{
    return bi_fail(w->err, BIOINFER_NOMEM, "%s: rows of alignments", w->job->name);
}

static bool add_row(const struct work *w, struct rows *rows, struct row row)
{
    if (!bi_grow(w->env, &rows->at, &rows->cap, rows->n + 1, sizeof row))
        return false;
    rows->at[rows->n++] = row;
    return true;
}

/* Reads one of a sequence's alignments, where it has one. */
static int read_file(const struct work *w, struct sequence *s, int k)
{
    const struct bi_complex_alignment *from = k ? &s->e->unpaired : &s->e->paired;
    struct bi_buf path = {.env = w->env};
    int st = 0;
    if (from->text)
        bi_buf_printf(&path, "%s: sequence %d: %s", w->job->name, s->number,
                      k ? "unpairedMsa" : "pairedMsa");
    else if (from->path)
        bi_buf_puts(&path, from->path);
    else if (s->e->folder)
        bi_buf_printf(&path, "%s/%s", s->e->folder, k ? "non_pairing.a3m" : "pairing.a3m");
    if (!bi_buf_text(&path)) {
        st = no_room(w);
    } else if (from->text) {
        s->read[k] = true;
        st = bi_a3m_read_text(&s->files[k], w->env, path.data, from->text, from->size, w->err);
    } else if (from->path || (s->e->folder && bi_path_exists(path.data))) {
        s->read[k] = true;
        st = bi_a3m_read(&s->files[k], w->env, path.data, w->err);
    }
    if (!st && s->read[k] && s->files[k].columns != s->columns)
        st = bi_fail(w->err, BIOINFER_FORMAT,
                     "%s: rows have %d columns, expected %d as sequence %d of job '%s' has letters",
                     path.data, s->files[k].columns, s->columns, s->number, w->job->name);
    for (int32_t i = 0; !st && s->read[k] && i < s->columns; i++)
        if (type_of(s->e->kind, s->files[k].letters[i]) != s->query[i])
            st = bi_fail(w->err, BIOINFER_FORMAT,
                         "%s: the first row has %c in column %d, expected %c as sequence %d of job "
                         "'%s'",
                         path.data, s->files[k].letters[i], i + 1, s->e->sequence[i], s->number,
                         w->job->name);
    bi_buf_free(&path);
    return st;
}

/* Adds rows of a file to the sequence's own, each letters once; types take the place of letters
 * afterwards. */
static int add_own(const struct work *w, struct sequence *s, int k, struct bi_map *seen)
{
    const struct bi_a3m *a = &s->files[k];
    const size_t n = (size_t)s->columns;
    for (size_t r = 0; s->read[k] && r < (size_t)a->depth; r++) {
        const struct row row = {.types = (const uint8_t *)a->letters + r * n,
                                .deleted = a->deleted + r * n};
        const int st = bi_map_add(seen, a->letters + r * n, n, 0, NULL);
        if (st < 0 || (st && !add_row(w, &s->own, row)))
            return no_room(w);
    }
    return 0;
}

static void to_types(struct sequence *s, int k)
{
    const size_t n = s->read[k] ? (size_t)s->files[k].depth * (size_t)s->columns : 0;
    uint8_t *types = (uint8_t *)s->files[k].letters;
    for (size_t i = 0; i < n; i++)
        types[i] = type_of(s->e->kind, s->files[k].letters[i]);
}

/* Adds the rows that may be paired. */
static int add_paired(const struct work *w, struct sequence *s)
{
    const struct bi_a3m *a = &s->files[0];
    const size_t n = (size_t)s->columns;
    if (!w->pairs || !s->read[0])
        return add_row(w, &s->paired, (struct row){.types = s->query}) ? 0 : no_room(w);
    for (size_t r = 0; r < (size_t)a->depth; r++) {
        struct row row = {.types = (const uint8_t *)a->letters + r * n,
                          .deleted = a->deleted + r * n};
        row.species = protenix_species(a->headers + a->header[r], &row.n_species);
        if (!add_row(w, &s->paired, row))
            return no_room(w);
    }
    return 0;
}

/* How often kinds stand in each column, and how much is left out before it, over all own rows. */
static int profile(const struct work *w, struct sequence *s)
{
    const size_t n = (size_t)s->columns;
    double *counts = bi_calloc(w->env, n * (PROTENIX_TYPES + 1), sizeof *counts);
    double *left_out = counts + n * PROTENIX_TYPES;
    s->profile = bi_calloc(w->env, n * PROTENIX_TYPES, sizeof *s->profile);
    s->deletions = bi_calloc(w->env, n, sizeof *s->deletions);
    if (!counts || !s->profile || !s->deletions) {
        bi_free(w->env, counts);
        return no_room(w);
    }
    for (size_t r = 0; r < s->own.n; r++)
        for (size_t i = 0; i < n; i++) {
            const struct row *row = &s->own.at[r];
            counts[i * PROTENIX_TYPES + row->types[i]] += 1;
            left_out[i] += row->deleted ? row->deleted[i] : 0;
        }
    for (size_t i = 0; i < n * PROTENIX_TYPES; i++)
        s->profile[i] = (float)(counts[i] / (double)s->own.n);
    for (size_t i = 0; i < n; i++)
        s->deletions[i] = (float)(left_out[i] / (double)s->own.n);
    bi_free(w->env, counts);
    return 0;
}

static int read_sequence(const struct work *w, struct sequence *s)
{
    const bool aligned = s->e->kind != BI_COMPLEX_DNA && s->columns >= SHORTEST;
    struct bi_map seen = {.env = w->env};
    int st = 0;
    if (!(s->query = bi_alloc(w->env, (size_t)s->columns)))
        return no_room(w);
    for (int32_t i = 0; i < s->columns; i++)
        s->query[i] = type_of(s->e->kind, s->e->sequence[i]);
    for (int k = 0; !st && aligned && k < 2; k++)
        st = read_file(w, s, k);
    if (!st && aligned && s->e->folder && !s->read[0] && !s->read[1])
        st = bi_fail(w->err, BIOINFER_NOT_FOUND, "%s: no pairing.a3m and no non_pairing.a3m in it",
                     s->e->folder);
    if (st || (st = add_own(w, s, 0, &seen)) || (st = add_own(w, s, 1, &seen))) {
        bi_map_free(&seen);
        return st;
    }
    bi_map_free(&seen);
    to_types(s, 0);
    to_types(s, 1);
    if (!s->own.n && !add_row(w, &s->own, (struct row){.types = s->query}))
        return no_room(w);
    st = add_paired(w, s);
    return st ? st : profile(w, s);
}

/* ---- species ---- */

static bool is_capital(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Capital letters and digits at text; at most `most`. */
static size_t capitals(const char *text, size_t most)
{
    size_t n = 0;
    while (n < most && is_capital(text[n]))
        n++;
    return n;
}

const char *protenix_species(const char *header, size_t *n)
{
    static const char uniref[] = "UniRef100_";
    const char *at;
    size_t k;
    *n = 0;
    while (*header == ' ' || *header == '\t')
        header++;
    if (!strncmp(header, uniref, sizeof uniref - 1)) {
        at = header + sizeof uniref - 1;
        k = strcspn(at, "_");
        if (!k || !at[k])
            return header;
        at += k + 1;
        *n = strcspn(at, "_/");
        return at;
    }
    if (strncmp(header, "tr|", 3) != 0 && strncmp(header, "sp|", 3) != 0)
        return header;
    at = header + 3; /* ACCESSION or ACCESSION_1, then |NAME_SPECIES */
    if ((k = capitals(at, 11)) < 6 || k > 10)
        return header;
    at += k;
    if (*at == '_') {
        if (!(k = strspn(at + 1, "0123456789")))
            return header;
        at += k + 1;
    }
    if (*at++ != '|' || !(k = capitals(at, 11)) || k > 10 || at[k] != '_')
        return header;
    at += k + 1;
    *n = capitals(at, 5);
    return at;
}

/* ---- pairs ---- */

/* A row of a sequence that has a species. */
struct hit {
    const char *species;
    size_t n_species;
    int32_t sequence, row;
};

/* A species of at least two chains: hits from `first` on, of `n_sequences` sequences. */
struct species {
    size_t first, end, rows; /* rows: as many as each of its sequences has */
    int64_t chains;
    int32_t sequence; /* the first one */
    size_t order;
};

/* A row of pairs: which one of its species, and the product of numbers of rows. */
struct candidate {
    const struct species *of;
    size_t row, order;
    double mantissa;
    int64_t exponent;
};

static int compare_species(const struct hit *a, const struct hit *b)
{
    const size_t n = a->n_species < b->n_species ? a->n_species : b->n_species;
    const int c = n ? memcmp(a->species, b->species, n) : 0;
    return c ? c : (a->n_species > b->n_species) - (a->n_species < b->n_species);
}

static int by_species(const void *x, const void *y)
{
    const struct hit *a = x, *b = y;
    const int c = compare_species(a, b);
    if (c)
        return c;
    return a->sequence != b->sequence ? (a->sequence > b->sequence) - (a->sequence < b->sequence)
                                      : (a->row > b->row) - (a->row < b->row);
}

/* Most chains first, then the first sequence that has it, then the name. */
static int by_chains(const void *x, const void *y)
{
    const struct species *a = x, *b = y;
    if (a->chains != b->chains)
        return a->chains < b->chains ? 1 : -1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static int by_product(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    if (a->exponent != b->exponent)
        return a->exponent < b->exponent ? -1 : 1;
    if (a->mantissa < b->mantissa || a->mantissa > b->mantissa)
        return a->mantissa < b->mantissa ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Rows of all sequences with a species, in the order of species. */
static int find_hits(const struct work *w, struct hit **hits, size_t *n)
{
    size_t cap = 0;
    for (int32_t i = 0; i < w->n; i++) {
        const struct rows *p = &w->sequences[i].paired;
        for (size_t r = 0; r < p->n; r++) {
            if (!p->at[r].n_species)
                continue;
            if (!bi_grow(w->env, hits, &cap, *n + 1, sizeof **hits))
                return no_room(w);
            (*hits)[(*n)++] = (struct hit){p->at[r].species, p->at[r].n_species, i, (int32_t)r};
        }
    }
    if (*n)
        qsort(*hits, *n, sizeof **hits, by_species);
    return 0;
}

/* The end of hits of one sequence and species. */
static size_t run_end(const struct hit *hits, size_t n, size_t at)
{
    size_t end = at + 1;
    while (end < n && hits[end].sequence == hits[at].sequence &&
           !compare_species(&hits[end], &hits[at]))
        end++;
    return end;
}

/* Species that several chains have. */
static int find_species(const struct work *w, const struct hit *hits, size_t n_hits,
                        struct species **species, size_t *n)
{
    size_t cap = 0;
    for (size_t at = 0; at < n_hits;) {
        struct species s = {.first = at, .rows = PROTENIX_OF_SPECIES};
        s.sequence = hits[at].sequence;
        s.order = *n;
        while (at < n_hits && !compare_species(&hits[at], &hits[s.first])) {
            const size_t end = run_end(hits, n_hits, at);
            s.rows = end - at < s.rows ? end - at : s.rows;
            s.chains += w->sequences[hits[at].sequence].e->copies;
            at = end;
        }
        s.end = at;
        if (s.chains < 2)
            continue;
        if (!bi_grow(w->env, species, &cap, *n + 1, sizeof s))
            return no_room(w);
        (*species)[(*n)++] = s;
    }
    if (*n)
        qsort(*species, *n, sizeof **species, by_chains);
    return 0;
}

/* The product of the row's numbers over chains; the first row counts as 1e-10. */
static void weigh(const struct work *w, const struct hit *hits, struct candidate *c)
{
    c->mantissa = 0.5;
    c->exponent = 1;
    for (size_t at = c->of->first; at < c->of->end; at = run_end(hits, c->of->end, at)) {
        const int32_t row = hits[at + c->row].row;
        for (int32_t k = 0; k < w->sequences[hits[at].sequence].e->copies; k++) {
            int more = 0;
            c->mantissa = frexp(c->mantissa * (row ? row : 1e-10), &more);
            c->exponent += more;
        }
    }
}

/* Candidates of species [from, to), in the order of their products. */
static int find_candidates(const struct work *w, const struct hit *hits, const struct species *from,
                           const struct species *to, struct candidate **out, size_t *n, size_t *cap)
{
    *n = 0;
    for (const struct species *s = from; s < to; s++)
        for (size_t r = 0; r < s->rows; r++) {
            if (!bi_grow(w->env, out, cap, *n + 1, sizeof **out))
                return no_room(w);
            (*out)[*n] = (struct candidate){.of = s, .row = r, .order = *n};
            weigh(w, hits, &(*out)[(*n)++]);
        }
    qsort(*out, *n, sizeof **out, by_product);
    return 0;
}

/* Adds a row of pairs, of this candidate, or of first rows (NULL). */
static int add_pair(struct work *w, const struct hit *hits, const struct candidate *c, size_t *cap)
{
    const size_t n = (size_t)w->n;
    int32_t *row;
    if (!bi_grow(w->env, &w->pair, cap, (w->n_pairs + 1) * n + 1, sizeof *w->pair))
        return no_room(w);
    row = w->pair + w->n_pairs++ * n;
    for (size_t i = 0; i < n; i++)
        row[i] = c ? -1 : 0;
    for (size_t at = c ? c->of->first : 0; c && at < c->of->end; at = run_end(hits, c->of->end, at))
        row[hits[at].sequence] = hits[at + c->row].row;
    return 0;
}

/* Sets pairs: first rows, then rows of species that most chains have, and so on. */
static int make_pairs(struct work *w)
{
    struct hit *hits = NULL;
    struct species *species = NULL;
    struct candidate *candidates = NULL;
    size_t n_hits = 0, n_species = 0, n = 0, cap = 0, cap_pairs = 0;
    int st = add_pair(w, NULL, NULL, &cap_pairs);
    if (st || !w->pairs)
        return st;
    if (!(st = find_hits(w, &hits, &n_hits)))
        st = find_species(w, hits, n_hits, &species, &n_species);
    for (size_t at = 0, end; !st && at < n_species && w->n_pairs < PROTENIX_PAIRED; at = end) {
        for (end = at; end < n_species && species[end].chains == species[at].chains;)
            end++;
        st = find_candidates(w, hits, species + at, species + end, &candidates, &n, &cap);
        for (size_t k = 0; !st && k < n && w->n_pairs < PROTENIX_PAIRED; k++)
            st = add_pair(w, hits, &candidates[k], &cap_pairs);
    }
    bi_free(w->env, hits);
    bi_free(w->env, species);
    bi_free(w->env, candidates);
    return st;
}

/* The row of a sequence in a row of pairs; NULL: a gap. */
static const struct row *paired_row(const struct work *w, size_t pair, int32_t sequence)
{
    const int32_t row = w->pair[pair * (size_t)w->n + (size_t)sequence];
    return row < 0 ? NULL : &w->sequences[sequence].paired.at[row];
}

/* Takes a sequence's own rows away that are among its paired ones. */
static int drop_paired(const struct work *w, int32_t i)
{
    struct sequence *s = &w->sequences[i];
    struct bi_map seen = {.env = w->env};
    const size_t n = (size_t)s->columns;
    size_t kept = 0;
    for (size_t p = 0; p < w->n_pairs; p++) {
        const struct row *row = paired_row(w, p, i);
        const uint8_t *types = row ? row->types : w->gaps;
        if (bi_map_add(&seen, (const char *)types, n, 0, NULL) < 0) {
            bi_map_free(&seen);
            return no_room(w);
        }
    }
    for (size_t r = 0; r < s->own.n; r++)
        if (!bi_map_find(&seen, (const char *)s->own.at[r].types, n, NULL))
            s->own.at[kept++] = s->own.at[r];
    s->own.n = kept;
    bi_map_free(&seen);
    return 0;
}

/* Takes rows of pairs away that are gaps in all sequences. */
static void drop_gaps(struct work *w)
{
    const size_t n = (size_t)w->n;
    size_t kept = w->n ? 0 : w->n_pairs;
    for (size_t p = 0; n && p < w->n_pairs; p++) {
        bool gaps = true;
        for (int32_t i = 0; gaps && i < w->n; i++) {
            const struct row *row = paired_row(w, p, i);
            gaps = !row || !memcmp(row->types, w->gaps, (size_t)w->sequences[i].columns);
        }
        if (!gaps)
            memmove(w->pair + kept++ * n, w->pair + p * n, n * sizeof *w->pair);
    }
    w->n_pairs = kept;
}

/* ---- rows of tokens ---- */

/* The first token of a chain's tokens [first, end), and its sequence; NULL: it is of a ligand. */
struct chain {
    const struct sequence *s;
    int64_t first, end;
};

/* Sets a row of a chain's tokens; row NULL: a gap, or the letters of what is no protein. */
static void set_row(const struct protenix_features *f, const struct chain *c, const struct row *row,
                    const uint8_t *gaps, int32_t *aligned, float *deleted, float *deletion)
{
    const struct sequence *s = c->s;
    const uint8_t *types = row ? row->types : gaps;
    if (s && s->e->kind != BI_COMPLEX_PROTEIN && !memcmp(types, gaps, (size_t)s->columns))
        types = s->query;
    for (int64_t i = c->first; i < c->end; i++) {
        const int32_t column = f->residue[i] - 1;
        const int32_t n = row && row->deleted ? row->deleted[column] : 0;
        aligned[i] = s ? types[column] : UNKNOWN;
        deleted[i] = n > 0;
        deletion[i] = (float)(atan((n > MOST_DELETED ? MOST_DELETED : n) / 3.0) *
                              0.6366197723675814);
    }
}

static void set_chain(const struct work *w, struct protenix_features *f, const struct chain *c,
                      int32_t *aligned, float *deleted, float *deletion)
{
    const int32_t at = c->s ? (int32_t)(c->s - w->sequences) : 0;
    for (int64_t r = 0; r < f->depth; r++) {
        const size_t p = (size_t)r, own = p - w->n_pairs;
        const int64_t to = r * f->n_tokens;
        const struct row *row = NULL;
        if (c->s && p < w->n_pairs)
            row = paired_row(w, p, at);
        else if (c->s && own < c->s->own.n)
            row = &c->s->own.at[own];
        set_row(f, c, row, w->gaps, aligned + to, deleted + to, deletion + to);
    }
}

static void set_profile(const struct protenix_features *f, const struct chain *c, float *profiles,
                        float *deletions)
{
    for (int64_t i = c->first; i < c->end; i++) {
        const int64_t column = f->residue[i] - 1;
        float *to = profiles + i * PROTENIX_TYPES;
        if (!c->s) {
            to[UNKNOWN] = 1;
            continue;
        }
        memcpy(to, c->s->profile + column * PROTENIX_TYPES, sizeof *to * PROTENIX_TYPES);
        deletions[i] = c->s->deletions[column];
    }
}

/* Rows beside each other: as many as the sequence with the most has. */
static int64_t depth_of(const struct work *w)
{
    size_t own = 0;
    for (int32_t i = 0; i < w->job->n_entities; i++)
        own = !w->pairs && !w->job->entities[i].sequence ? 1 : own; /* a ligand's letters */
    for (int32_t i = 0; i < w->n; i++)
        own = w->sequences[i].own.n > own ? w->sequences[i].own.n : own;
    own = own > PROTENIX_ROWS - w->n_pairs ? PROTENIX_ROWS - w->n_pairs : own;
    return (int64_t)(w->n_pairs + own);
}

static int write_rows(const struct work *w, struct protenix_tokens *to)
{
    struct protenix_features *f = &to->f;
    const size_t n = (size_t)f->n_tokens, depth = (size_t)depth_of(w);
    size_t cells = 0;
    int32_t *aligned = NULL, e = 0, copy = 0, sequence = 0;
    float *deleted = NULL, *deletion = NULL;
    float *profiles = protenix_tokens_room(to, w->env, n * PROTENIX_TYPES, sizeof *profiles);
    float *deletions = protenix_tokens_room(to, w->env, n, sizeof *deletions);
    if (bi_mul_size(n, depth, &cells)) {
        aligned = protenix_tokens_room(to, w->env, cells, sizeof *aligned);
        deleted = protenix_tokens_room(to, w->env, cells, sizeof *deleted);
        deletion = protenix_tokens_room(to, w->env, cells, sizeof *deletion);
    }
    if (!profiles || !deletions || !aligned || !deleted || !deletion)
        return no_room(w);
    f->depth = (int64_t)depth;
    for (int64_t i = 0, end; i < f->n_tokens; i = end) {
        const struct bi_complex_entity *entity = &w->job->entities[e];
        struct chain c = {entity->sequence ? &w->sequences[sequence] : NULL, i, i};
        for (end = i; end < f->n_tokens && f->chain[end] == f->chain[i];)
            end++;
        c.end = end;
        set_chain(w, f, &c, aligned, deleted, deletion);
        set_profile(f, &c, profiles, deletions);
        if (++copy == entity->copies) {
            copy = 0;
            sequence += entity->sequence != NULL;
            e++;
        }
    }
    f->aligned = aligned;
    f->deleted = deleted;
    f->deletion = deletion;
    f->profile = profiles;
    f->deletions = deletions;
    return 0;
}

/* ---- a job ---- */

/* Are rows paired? Where there are proteins of different letters. */
static bool needs_pairs(const struct bi_complex_job *job)
{
    const char *first = NULL;
    for (int32_t i = 0; i < job->n_entities; i++) {
        const struct bi_complex_entity *e = &job->entities[i];
        if (e->kind != BI_COMPLEX_PROTEIN)
            continue;
        if (first && strcmp(first, e->sequence) != 0)
            return true;
        first = e->sequence;
    }
    return false;
}

static int read_sequences(struct work *w)
{
    const struct bi_complex_job *job = w->job;
    int32_t longest = 0;
    int st = 0;
    if (!(w->sequences = bi_calloc(w->env, (size_t)job->n_entities + 1, sizeof *w->sequences)))
        return no_room(w);
    w->pairs = needs_pairs(job);
    for (int32_t i = 0; !st && i < job->n_entities; i++) {
        struct sequence *s = &w->sequences[w->n];
        if (!job->entities[i].sequence)
            continue;
        s->e = &job->entities[i];
        s->number = i + 1;
        s->columns = s->e->n_codes;
        longest = s->columns > longest ? s->columns : longest;
        w->n++;
        st = read_sequence(w, s);
    }
    if (!st && !(w->gaps = bi_alloc(w->env, (size_t)longest + 1)))
        st = no_room(w);
    if (!st)
        memset(w->gaps, GAP, (size_t)longest + 1);
    return st;
}

static void free_work(struct work *w)
{
    for (int32_t i = 0; i < w->n; i++) {
        struct sequence *s = &w->sequences[i];
        bi_a3m_free(w->env, &s->files[0]);
        bi_a3m_free(w->env, &s->files[1]);
        bi_free(w->env, s->own.at);
        bi_free(w->env, s->paired.at);
        bi_free(w->env, s->query);
        bi_free(w->env, s->profile);
        bi_free(w->env, s->deletions);
    }
    bi_free(w->env, w->sequences);
    bi_free(w->env, w->pair);
    bi_free(w->env, w->gaps);
}

int protenix_align_job(struct protenix_tokens *to, const struct bi_env *env,
                       const struct bi_complex_job *job, struct bioinfer_error *err)
{
    struct work w = {.env = env, .job = job, .err = err};
    int st = read_sequences(&w);
    if (!st)
        st = make_pairs(&w);
    for (int32_t i = 0; !st && w.pairs && i < w.n; i++)
        st = drop_paired(&w, i);
    if (!st) {
        drop_gaps(&w);
        st = write_rows(&w, to);
    }
    free_work(&w);
    return st;
}

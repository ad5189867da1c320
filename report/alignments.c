/* alignments.c - the outputs of `bioinfer align` (tsv, sam, paf, needle): scores, identities, and
 * rows of some alignments, with letters where the records are at hand. */
#include <math.h>
#include <string.h>

#include "../base/number.h"
#include "../loaders/fasta.h"
#include "show.h"

struct pair {
    const char *query, *target, *cigar;
    const char *letters;        /* query as SAM and needle have it; "" = none */
    const char *target_letters; /* as needle has them; "" = none */
    double score, identity, columns;
    size_t i, j;         /* residues of query and target in front of the first column */
    size_t i_end, j_end; /* in PAF: residues up to the last column ... */
    bool reverse;        /* ... and whether the query's other strand is aligned */
};

struct reading {
    struct bi_show *s;
    char kind; /* t, s, p or n */
    bool second;
    uint64_t n, row, shown;
    struct pair *pairs; /* [shown] */
    size_t n_pairs;
};

/* ---- rows of the files ---- */

/* Counts columns, and those that are equal, of a CIGAR; false where it is none. */
static bool read_cigar(const char *cigar, double *columns, double *equal, bool *is_plain)
{
    *columns = *equal = 0;
    *is_plain = false;
    for (const char *c = cigar; *c; c++) {
        double n = 0;
        const char *digits = c;
        while (*c >= '0' && *c <= '9' && n < 1e12)
            n = 10 * n + (*c++ - '0');
        if (c == digits || !*c || !strchr("=XMIDSH", *c))
            return false;
        *columns += *c == 'S' || *c == 'H' ? 0 : n;
        *equal += *c == '=' ? n : 0;
        *is_plain = *is_plain || *c == 'M';
    }
    return *cigar != '\0';
}

/* The value of a tag like AS:i: among fields, NULL without. */
static char *tag_of(char **fields, size_t first, size_t n, const char *tag)
{
    for (size_t k = first; k < n; k++)
        if (!strncmp(fields[k], tag, 3))
            return strlen(fields[k]) > 5 ? fields[k] + 5 : NULL;
    return NULL;
}

static int bad_row(const struct reading *r, uint64_t number, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: expected the columns of %s", r->s->path,
                   (unsigned long long)number,
                   r->kind == 's'   ? "SAM"
                   : r->kind == 'p' ? "PAF"
                                    : "query, target, score, identity and cigar");
}

static size_t at_most(const char *letters)
{
    const size_t n = strlen(letters);
    return n < BI_VIEW_ALIGNED ? n : BI_VIEW_ALIGNED;
}

/* A count in a field; 0 when it holds none. */
static size_t number_of(const char *field)
{
    double x;
    return bi_parse_f64(field, strlen(field), &x) && x >= 0 && x < 1e15 ? (size_t)x : 0;
}

static int keep(struct reading *r, struct pair p, char **f, size_t n, struct bioinfer_error *err)
{
    struct bi_arena *arena = &r->s->view.arena;
    const size_t at = r->kind == 's' ? 11 : 12;
    const char *score = r->kind == 't' ? f[2] : tag_of(f, at, n, "AS:");
    double equal;
    bool is_plain;
    p.score = p.identity = NAN;
    if (!score && r->kind != 't')
        score = tag_of(f, at, n, "as:");
    if (score)
        bi_parse_f64(score, strlen(score), &p.score);
    if (r->kind == 't' && n > 3)
        bi_parse_f64(f[3], strlen(f[3]), &p.identity);
    if (r->kind == 's')
        p.j = number_of(f[3]) > 0 ? number_of(f[3]) - 1 : 0;
    if (r->kind == 'p') {
        p.i = number_of(f[2]);
        p.j = number_of(f[7]);
        p.i_end = number_of(f[3]);
        p.j_end = number_of(f[8]) > p.j ? number_of(f[8]) : p.j;
        p.reverse = *f[4] == '-';
    }
    p.columns = NAN;
    if (!p.cigar || !read_cigar(p.cigar, &p.columns, &equal, &is_plain))
        p.cigar = NULL;
    else if (r->kind != 't' && !is_plain)
        p.identity = equal / p.columns;
    p.query = bi_view_text(&r->s->view, p.query, strlen(p.query));
    p.target = bi_view_text(&r->s->view, p.target, strlen(p.target));
    p.cigar = bi_arena_strndup(arena, p.cigar ? p.cigar : "", p.cigar ? strlen(p.cigar) : 0);
    p.letters = bi_arena_strndup(arena, p.letters, at_most(p.letters));
    if (!p.query || !p.target || !p.cigar || !p.letters)
        return bi_show_no_memory(r->s, err);
    r->pairs[r->n_pairs++] = p;
    return 0;
}

static int take_row(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    struct pair p = {.letters = "", .target_letters = ""};
    char *f[64];
    size_t k;
    if (!n || (r->kind == 't' && number == 1) || (r->kind == 's' && *line == '@'))
        return 0;
    if (!r->second) {
        r->n++;
        return 0;
    }
    if ((k = bi_fields(line, '\t', f, 64)) > 64)
        k = 64;
    if (k < (r->kind == 's' ? 11u : r->kind == 'p' ? 12u : 3u))
        return bad_row(r, number, err);
    p.query = f[0];
    p.target = f[r->kind == 's' ? 2 : r->kind == 'p' ? 5 : 1];
    p.cigar = r->kind == 's'   ? f[5]
              : r->kind == 'p' ? tag_of(f, 12, k, "cg:")
              : k > 4          ? f[4]
                               : NULL;
    if (r->kind == 's' && strcmp(f[9], "*"))
        p.letters = f[9];
    if (r->s->view.record && !bi_view_wants(&r->s->view, p.query, strlen(p.query)) &&
        !bi_view_wants(&r->s->view, p.target, strlen(p.target)))
        return 0;
    if (r->n_pairs >= r->shown || r->row++ < bi_view_pick(r->n_pairs, r->shown, r->n))
        return 0;
    return keep(r, p, f, k, err);
}

/* ---- needle ---- */

/* Makes a CIGAR of two rows. */
static const char *cigar_of(struct bi_show *s, const struct bi_needle *n)
{
    struct bi_buf text = {.env = s->env};
    const char *a = n->rows[0], *b = n->rows[1];
    const char *cigar = NULL;
    for (size_t at = 0, next; a[at]; at = next) {
        char op = 0;
        for (next = at; a[next]; next++) {
            const char here = a[next] == '-'       ? 'D'
                              : b[next] == '-'     ? 'I'
                              : a[next] == b[next] ? '='
                                                   : 'X';
            if (op && op != here)
                break;
            op = here;
        }
        bi_buf_printf(&text, "%zu%c", next - at, op);
    }
    if (bi_buf_text(&text))
        cigar = bi_arena_strndup(&s->view.arena, text.data, text.size);
    bi_buf_free(&text);
    return cigar;
}

/* Copies the letters of a row without its gaps. */
static const char *letters_of(struct bi_show *s, const char *row)
{
    char *text = bi_arena_alloc(&s->view.arena, strlen(row) + 1), *to = text;
    for (; text && *row; row++)
        if (*row != '-')
            *to++ = *row;
    if (text)
        *to = '\0';
    return text;
}

static int take_needle(void *user, const struct bi_needle *n, struct bioinfer_error *err)
{
    struct reading *r = user;
    struct bi_shown *v = &r->s->view;
    struct pair p = {.score = n->score, .identity = n->identity, .columns = n->columns};
    if (!r->second) {
        r->n++;
        return 0;
    }
    if (v->record && !bi_view_wants(v, n->query, strlen(n->query)) &&
        !bi_view_wants(v, n->target, strlen(n->target)))
        return 0;
    if (r->n_pairs >= r->shown || r->row++ < bi_view_pick(r->n_pairs, r->shown, r->n))
        return 0;
    if (!(p.columns >= (double)strlen(n->rows[0])))
        p.columns = (double)strlen(n->rows[0]);
    p.query = bi_view_text(v, n->query, strlen(n->query));
    p.target = bi_view_text(v, n->target, strlen(n->target));
    p.cigar = cigar_of(r->s, n);
    p.letters = letters_of(r->s, n->rows[0]);
    p.target_letters = letters_of(r->s, n->rows[1]);
    if (!p.query || !p.target || !p.cigar || !p.letters || !p.target_letters)
        return bi_show_no_memory(r->s, err);
    r->pairs[r->n_pairs++] = p;
    return 0;
}

/* Reads all pairs, in any of the formats. */
static int read_pairs(struct reading *r, struct bioinfer_error *err)
{
    return r->kind == 'n' ? bi_needle_each(r->s->env, r->s->path, take_needle, r, err)
                          : bi_lines_each(r->s->env, r->s->path, take_row, r, err);
}

/* ---- rows of an alignment ---- */

/* Writes the three rows of a CIGAR. query, target: letters, "" = unknown. */
static bool draw(struct bi_show *s, struct bi_alignment *a, const struct pair *p, const char *query,
                 const char *target)
{
    const size_t n_query = strlen(query), n_target = strlen(target);
    size_t columns = (size_t)p->columns, at = 0, i = p->i, j = p->j;
    char *rows[3];
    a->n_columns = (uint32_t)(columns < UINT32_MAX ? columns : UINT32_MAX);
    columns = columns < BI_VIEW_ALIGNED ? columns : BI_VIEW_ALIGNED;
    for (int k = 0; k < 3; k++)
        if (!(a->rows[k] = rows[k] = bi_arena_calloc(&s->view.arena, columns + 1, 1)))
            return false;
    a->has_letters = n_query && n_target;
    for (const char *c = p->cigar; *c && at < columns; c++) {
        size_t n = 0;
        while (*c >= '0' && *c <= '9')
            n = 10 * n + (size_t)(*c++ - '0');
        if (*c == 'S' || *c == 'H') {
            i += *c == 'S' ? n : 0;
            continue;
        }
        for (; n && at < columns; n--, at++) {
            char q = i < n_query ? query[i] : 'x', t = j < n_target ? target[j] : 'x';
            if (*c == '=' && (n_query > i) != (n_target > j))
                q = t = n_query > i ? q : t; /* equal: the letter of one is that of the other */
            rows[0][at] = *c == 'D' ? '-' : q;
            rows[2][at] = *c == 'I' ? '-' : t;
            rows[1][at] = *c == '=' || (*c == 'M' && a->has_letters && q == t) ? '|'
                          : *c == 'X' || *c == 'M'                             ? '.'
                                                                               : ' ';
            i += *c != 'D';
            j += *c != 'I';
        }
    }
    return true;
}

/* Letters of the records that are drawn, by id. */
struct letters {
    struct bi_map map; /* id -> index into texts */
    const char **texts;
};

static int read_letters(struct bi_show *s, struct letters *l, struct bioinfer_error *err)
{
    const struct bioinfer_reader_params params = {.struct_size = sizeof params};
    const char *at = s->sequences;
    int st = 0;
    while (!st && at && *at) {
        const size_t n = strcspn(at, ",");
        char *path = bi_view_printf(&s->view, "%.*s", (int)n, at);
        struct bioinfer_reader *reader = NULL;
        struct bioinfer_record record;
        at += n + (at[n] == ',');
        if (!path)
            return bi_show_no_memory(s, err);
        st = bi_fasta_open(&reader, s->env, path, &params, err);
        while (!st && (st = bi_fasta_next(reader, &record, err)) > 0) {
            uint64_t k;
            st = 0;
            if (record.status || !bi_map_find(&l->map, record.id, strlen(record.id), &k) ||
                l->texts[k])
                continue;
            if (!(l->texts[k] = bi_arena_strndup(
                      &s->view.arena, record.sequence,
                      record.length < BI_VIEW_ALIGNED ? record.length : BI_VIEW_ALIGNED)))
                st = bi_show_no_memory(s, err);
        }
        bi_fasta_close(&reader);
    }
    return st;
}

static int draw_some(struct bi_show *s, const struct reading *r, struct bioinfer_error *err)
{
    const size_t n = r->n_pairs < BI_VIEW_ALIGNMENTS ? r->n_pairs : BI_VIEW_ALIGNMENTS;
    struct letters l = {.map = {.env = s->env}};
    uint64_t id = 0, k;
    int st = 0;
    if (!(l.texts = bi_arena_calloc(&s->view.arena, 2 * n + 1, sizeof *l.texts)))
        return bi_show_no_memory(s, err);
    for (size_t i = 0; i < 2 * n && !st; i++) {
        const struct pair *p = &r->pairs[bi_view_pick(i / 2, n, r->n_pairs)];
        const char *name = i % 2 ? p->target : p->query;
        const int added = bi_map_add(&l.map, name, strlen(name), id, NULL);
        id += added > 0;
        st = added < 0 ? bi_show_no_memory(s, err) : 0;
    }
    if (!st && s->sequences)
        st = read_letters(s, &l, err);
    for (size_t i = 0; i < n && !st; i++) {
        const struct pair *p = &r->pairs[bi_view_pick(i, n, r->n_pairs)];
        const char *query = p->letters, *target = p->target_letters;
        struct bi_figure *f;
        if (!*p->cigar)
            continue;
        if (!*query && bi_map_find(&l.map, p->query, strlen(p->query), &k) && l.texts[k])
            query = l.texts[k];
        if (!*target && bi_map_find(&l.map, p->target, strlen(p->target), &k) && l.texts[k])
            target = l.texts[k];
        f = bi_view_add(&s->view, BI_FIGURE_ALIGNMENT, "Alignments",
                        bi_view_printf(&s->view, "%s / %s", p->query, p->target));
        if (!f) {
            st = bi_show_no_memory(s, err);
            break;
        }
        f->as.alignment = (struct bi_alignment){
            .query = p->query, .target = p->target, .score = p->score, .identity = p->identity};
        if (!draw(s, &f->as.alignment, p, query, target))
            st = bi_show_no_memory(s, err);
    }
    bi_map_free(&l.map);
    return st;
}

/* ---- all of it ---- */

static int add_table(struct bi_show *s, const struct reading *r, struct bioinfer_error *err)
{
    static const char *const names[] = {"query", "target", "score", "identity", "columns"};
    struct bi_figure *f = bi_view_add(&s->view, BI_FIGURE_TABLE, "Pairs", "Pairs");
    struct bi_shown_column *c;
    if (!f || !bi_view_columns(&s->view, &f->as.table, r->n_pairs, BI_COUNT(names)))
        return bi_show_no_memory(s, err);
    c = f->as.table.columns;
    for (size_t k = 0; k < BI_COUNT(names); k++) {
        c[k].name = names[k];
        c[k].is_number = k > 1;
        c[k].texts = bi_arena_calloc(&s->view.arena, r->n_pairs + 1, sizeof *c[k].texts);
        c[k].numbers = bi_arena_calloc(&s->view.arena, r->n_pairs + 1, sizeof *c[k].numbers);
        if (!c[k].texts || !c[k].numbers)
            return bi_show_no_memory(s, err);
    }
    for (size_t i = 0; i < r->n_pairs; i++) {
        c[0].texts[i] = r->pairs[i].query;
        c[1].texts[i] = r->pairs[i].target;
        c[2].numbers[i] = r->pairs[i].score;
        c[3].numbers[i] = r->pairs[i].identity;
        c[4].numbers[i] = r->pairs[i].columns;
    }
    if (r->n_pairs < r->n)
        f->note = bi_view_printf(&s->view, "%zu of %llu pairs%s.", r->n_pairs,
                                 (unsigned long long)r->n, s->view.record ? "" : ", evenly chosen");
    for (int k = 2; k < 4; k++)
        if (!bi_view_histogram(&s->view, "Distributions", k == 2 ? "Scores" : "Identities",
                               c[k].numbers, r->n_pairs, ""))
            return bi_show_no_memory(s, err);
    return 0;
}

static bool of_same(const struct pair *a, const struct pair *b)
{
    return !strcmp(a->query, b->query) && !strcmp(a->target, b->target);
}

/* The pair whose alignment covers most of its target; NULL where its sequences have no other. */
static const struct pair *longest(const struct reading *r)
{
    const struct pair *most = r->pairs;
    size_t n = 0;
    for (size_t k = 1; k < r->n_pairs; k++) {
        const struct pair *p = &r->pairs[k];
        if (p->j_end > p->j && p->j_end - p->j > most->j_end - most->j)
            most = p;
    }
    for (size_t k = 0; k < r->n_pairs; k++)
        n += of_same(&r->pairs[k], most);
    return n > 1 ? most : NULL;
}

/* Adds a dot plot: a line for each alignment of two sequences that share several. */
static int add_dots(struct bi_show *s, const struct reading *r, struct bioinfer_error *err)
{
    struct bi_shown *v = &s->view;
    const struct pair *most = longest(r);
    struct bi_figure *f;
    struct bi_scatter *c;
    if (!most)
        return 0;
    if (!(f = bi_view_add(v, BI_FIGURE_SCATTER, "Dot plot",
                          bi_view_printf(v, "%.100s on %.100s", most->query, most->target))))
        return bi_show_no_memory(s, err);
    c = &f->as.scatter;
    *c = (struct bi_scatter){
        .segments = true,
        .x_name = bi_view_printf(v, "position in %.100s (residue)", most->target),
        .y_name = bi_view_printf(v, "position in %.100s (residue)", most->query),
        .x = bi_arena_calloc(&v->arena, 2 * r->n_pairs, sizeof *c->x),
        .y = bi_arena_calloc(&v->arena, 2 * r->n_pairs, sizeof *c->y),
        .colour = bi_arena_calloc(&v->arena, 2 * r->n_pairs, sizeof *c->colour),
        .labels = bi_arena_calloc(&v->arena, 2 * r->n_pairs, sizeof *c->labels)};
    if (!c->x_name || !c->y_name || !c->x || !c->y || !c->colour || !c->labels)
        return bi_show_no_memory(s, err);
    for (size_t k = 0; k < r->n_pairs; k++) {
        const struct pair *p = &r->pairs[k];
        const size_t n = c->n;
        if (!of_same(p, most))
            continue;
        c->x[n] = (float)p->j;
        c->x[n + 1] = (float)p->j_end;
        c->y[n] = (float)(p->reverse ? p->i_end : p->i);
        c->y[n + 1] = (float)(p->reverse ? p->i : p->i_end);
        c->colour[n] = c->colour[n + 1] = NAN;
        c->labels[n] = c->labels[n + 1] = bi_view_printf(
            v, "%.60s %zu-%zu on %.60s %zu-%zu, %s", p->query, p->i, p->i_end, p->target, p->j,
            p->j_end, p->reverse ? "reverse" : "forward");
        if (!c->labels[n])
            return bi_show_no_memory(s, err);
        c->n += 2;
    }
    f->note = bi_view_printf(v, "%zu of %llu alignments: of the two sequences with the longest.",
                             c->n / 2, (unsigned long long)r->n);
    return f->note ? 0 : bi_show_no_memory(s, err);
}

int bi_show_alignments(struct bi_show *s, char kind, struct bioinfer_error *err)
{
    struct reading r = {.s = s, .kind = kind};
    int st;
    s->view.kind = "alignments";
    if ((st = read_pairs(&r, err)))
        return st;
    if (!r.n)
        return bi_fail(err, BIOINFER_EMPTY, "%s: no alignment in it: nothing to show", s->path);
    if (!bi_view_fact(&s->view, "Pairs", "%llu", (unsigned long long)r.n))
        return bi_show_no_memory(s, err);
    r.second = true;
    r.shown = r.n < BI_VIEW_ROWS ? r.n : BI_VIEW_ROWS;
    if (s->view.record)
        r.n = r.shown; /* the first of the record asked for */
    if (!(r.pairs = bi_calloc(s->env, (size_t)r.shown, sizeof *r.pairs)))
        return bi_show_no_memory(s, err);
    st = read_pairs(&r, err);
    if (!st && r.n_pairs && kind == 'p')
        st = add_dots(s, &r, err);
    if (!st && r.n_pairs)
        st = add_table(s, &r, err);
    if (!st)
        st = draw_some(s, &r, err);
    bi_free(s->env, r.pairs);
    return st;
}

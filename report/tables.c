/* tables.c - any table as a figure with histograms of its numbers, and the table of substitutions
 * that `bioinfer score` writes as heat maps.
 *
 *   1  any table    2  embeddings in a table    3  substitutions */
#include <math.h>
#include <string.h>

#include "../base/number.h"
#include "provenance.h"
#include "show.h"

/* ---- 1 any table ---------------------------------------------------------------------- */

enum { MOST_FIELDS = 4096, MOST_COLUMNS = 24 };

struct reading {
    struct bi_show *s;
    char separator;
    const char *const *names; /* [BLAST_COLUMNS] where line 1 is a row; NULL = it names them */
    uint64_t n;               /* rows */
    size_t n_columns, n_shown;
    uint64_t row, shown;
    struct bi_table *t;
    const char **head;
    char *fields[MOST_FIELDS];
    float *vectors; /* [shown, n_columns - first] */
    size_t first;   /* column of d0 */
};

/* The columns of BLAST's tables (-outfmt 6), which have no line of names. */
enum { BLAST_COLUMNS = 12 };
static const char *const blast_columns[BLAST_COLUMNS] = {
    "query",       "subject",   "identity (%)",  "length",      "mismatches", "gap openings",
    "query start", "query end", "subject start", "subject end", "E-value",    "bit score"};

bool bi_is_blast(const char *line)
{
    char copy[1024], *f[BLAST_COLUMNS + 1];
    double x;
    const size_t n = strlen(line);
    if (n >= sizeof copy)
        return false;
    memcpy(copy, line, n + 1);
    if (bi_fields(copy, '\t', f, BLAST_COLUMNS + 1) != BLAST_COLUMNS || !*f[0] || !*f[1])
        return false;
    for (size_t k = 2; k < BLAST_COLUMNS; k++)
        if (!bi_parse_f64(f[k], strlen(f[k]), &x) ||
            (k > 2 && k < 10 && strspn(f[k], "0123456789") != strlen(f[k])))
            return false;
    return true;
}

static int count_row(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    r->n += n > 0 && (number > 1 || r->names);
    if (number > 1)
        return 0;
    r->separator = strchr(line, '\t') || !strchr(line, ',') ? '\t' : ',';
    r->n_columns = bi_fields(line, r->separator, r->fields, MOST_FIELDS);
    if (r->n_columns > MOST_FIELDS)
        return bi_fail(err, BIOINFER_LIMIT, "%s: a table of %zu columns, at most %d", r->s->path,
                       r->n_columns, MOST_FIELDS);
    if (!(r->head = bi_arena_calloc(&r->s->view.arena, r->n_columns, sizeof *r->head)))
        return bi_show_no_memory(r->s, err);
    for (size_t k = 0; k < r->n_columns; k++) {
        const char *name = r->names ? r->names[k] : r->fields[k];
        if (!(r->head[k] = bi_view_text(&r->s->view, name, strlen(name))))
            return bi_show_no_memory(r->s, err);
    }
    return 0;
}

/* Whether a line is a row: not empty, and not the names of the columns. */
static bool is_row(const struct reading *r, size_t n, uint64_t number)
{
    return n && (number > 1 || r->names);
}

/* Whether this row is among those that are kept. */
static bool keeps(struct reading *r)
{
    return r->t->n_rows < r->shown && r->row++ >= bi_view_pick(r->t->n_rows, r->shown, r->n);
}

static int check_fields(struct reading *r, char *line, uint64_t number, struct bioinfer_error *err)
{
    const size_t n = bi_fields(line, r->separator, r->fields, MOST_FIELDS);
    if (n == r->n_columns)
        return 0;
    return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: %zu fields, expected %zu as in line 1",
                   r->s->path, (unsigned long long)number, n, r->n_columns);
}

static int take_row(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    int st;
    if (!is_row(r, n, number))
        return 0;
    if ((st = check_fields(r, line, number, err)))
        return st;
    if (r->s->view.record && !bi_view_wants(&r->s->view, r->fields[0], strlen(r->fields[0])))
        return 0;
    if (!keeps(r))
        return 0;
    for (size_t k = 0; k < r->n_shown; k++) {
        struct bi_shown_column *c = &r->t->columns[k];
        double x = (double)NAN;
        const size_t length = strlen(r->fields[k]);
        c->is_number = c->is_number && (!length || bi_parse_f64(r->fields[k], length, &x));
        c->numbers[r->t->n_rows] = x;
        if (!(c->texts[r->t->n_rows] = bi_view_text(&r->s->view, r->fields[k], length)))
            return bi_show_no_memory(r->s, err);
    }
    r->t->n_rows++;
    return 0;
}

/* Makes room for a table; all columns are numbers until a text is met. */
static bool make_table(struct reading *r, struct bi_table *t)
{
    struct bi_shown *v = &r->s->view;
    r->t = t;
    r->shown = r->s->view.record ? BI_VIEW_ROWS : r->n < BI_VIEW_ROWS ? r->n : BI_VIEW_ROWS;
    r->n_shown = r->n_columns < MOST_COLUMNS ? r->n_columns : MOST_COLUMNS;
    if (!bi_view_columns(v, t, 0, r->n_shown))
        return false;
    for (size_t k = 0; k < r->n_shown; k++) {
        struct bi_shown_column *c = &t->columns[k];
        c->name = r->head[k];
        c->is_number = true;
        c->numbers = bi_arena_calloc(&v->arena, (size_t)r->shown + 1, sizeof *c->numbers);
        c->texts = bi_arena_calloc(&v->arena, (size_t)r->shown + 1, sizeof *c->texts);
        if (!c->numbers || !c->texts)
            return false;
    }
    return true;
}

/* A bi_provenance_take: notes the unit of the columns of that name. */
static int take_unit(void *user, const char *name, const char *unit, struct bioinfer_error *err)
{
    const struct reading *r = user;
    for (size_t k = 0; k < r->n_shown; k++)
        if (!strcmp(r->t->columns[k].name, name) &&
            !(r->t->columns[k].unit = bi_view_text(&r->s->view, unit, strlen(unit))))
            return bi_show_no_memory(r->s, err);
    return 0;
}

static bool is_count(const char *name)
{
    static const char *const names[] = {"position",      "pos",        "sample",      "ordinal",
                                        "line",          "record",     "query start", "query end",
                                        "subject start", "subject end"};
    for (size_t k = 0; k < BI_COUNT(names); k++)
        if (!strcmp(names[k], name))
            return true;
    return false;
}

/* A change like A12G: its letters and its number. */
static bool read_change(const char *text, char *from, char *to, double *position)
{
    const size_t n = strlen(text);
    if (n < 3 || text[0] < 'A' || text[0] > 'Z' || text[n - 1] < 'A' || text[n - 1] > 'Z')
        return false;
    *from = text[0];
    *to = text[n - 1];
    return strspn(text + 1, "0123456789") == n - 2 && bi_parse_f64(text + 1, n - 2, position) &&
           *position < 1e9;
}

/* Whether row i is a residue as it is (A12A, or the same letter as wildtype and as mutant), which
 * has a score of 0 by definition. */
static bool is_unchanged(const struct bi_table *t, size_t i)
{
    const char *wild = NULL, *mutant = NULL;
    double position;
    char from, to;
    for (size_t k = 0; k < t->n_columns; k++) {
        const struct bi_shown_column *c = &t->columns[k];
        if (!strcmp(c->name, "wildtype"))
            wild = c->texts[i];
        else if (!strcmp(c->name, "mutant"))
            mutant = c->texts[i];
    }
    if (wild && mutant)
        return !strcmp(wild, mutant);
    return mutant && read_change(mutant, &from, &to, &position) && from == to;
}

static int add_histograms(struct bi_show *s, const struct bi_table *t, struct bioinfer_error *err)
{
    double *values = bi_calloc(s->env, t->n_rows + 1, sizeof *values);
    bool *left_out = bi_calloc(s->env, t->n_rows + 1, sizeof *left_out);
    size_t energy = 0;
    int made = 0, st = values && left_out ? 0 : bi_show_no_memory(s, err);
    for (size_t i = 0; i < t->n_rows && !st; i++)
        left_out[i] = is_unchanged(t, i);
    while (energy < t->n_columns && strcmp(t->columns[energy].name, "energy"))
        energy++;
    for (size_t k = t->n_columns + 1; k-- > 0 && made < BI_VIEW_HISTOGRAMS && !st;) {
        const struct bi_shown_column *c =
            &t->columns[k < t->n_columns ? k : energy]; /* it comes first */
        if (k == energy || (k == t->n_columns && energy == k) || !c->is_number || is_count(c->name))
            continue;
        made++;
        for (size_t i = 0; i < t->n_rows; i++)
            values[i] = left_out[i] ? (double)NAN : c->numbers[i];
        if (!bi_view_histogram(&s->view, "Distributions", c->name, values, t->n_rows,
                               c->unit ? c->unit : ""))
            st = bi_show_no_memory(s, err);
    }
    bi_free(s->env, left_out);
    bi_free(s->env, values);
    return st;
}

/* Gives names to the rows of a table: changes (A12G), whole or in three columns, else the first
 * column. NULL: no memory. */
static const char **row_keys(struct bi_show *s, const struct bi_table *t)
{
    const struct bi_shown_column *wild = NULL, *position = NULL, *mutant = NULL;
    const char **keys = bi_arena_calloc(&s->view.arena, t->n_rows + 1, sizeof *keys);
    for (size_t k = 0; k < t->n_columns; k++) {
        const struct bi_shown_column *c = &t->columns[k];
        wild = !strcmp(c->name, "wildtype") ? c : wild;
        position = !strcmp(c->name, "position") ? c : position;
        mutant = !strcmp(c->name, "mutant") ? c : mutant;
    }
    for (size_t i = 0; keys && i < t->n_rows; i++) {
        keys[i] = wild && position && mutant ? bi_view_printf(&s->view, "%s%s%s", wild->texts[i],
                                                              position->texts[i], mutant->texts[i])
                  : mutant                   ? mutant->texts[i]
                                             : t->columns[0].texts[i];
        if (!keys[i])
            return NULL;
    }
    return keys;
}

/* Draws columns of numbers against measured ones: each column against a file's numbers, or, in a
 * table of changes, the last one, which is the score, against the others. */
static int add_comparisons(struct bi_show *s, const struct bi_table *t, bool changes,
                           struct bioinfer_error *err)
{
    const struct bi_shown_column *last = NULL;
    struct bi_shown_column measured;
    const char **keys;
    int made = 0, st = 0;
    for (size_t k = 0; k < t->n_columns; k++)
        if (t->columns[k].is_number && !is_count(t->columns[k].name))
            last = &t->columns[k];
    if (!last || !(changes || s->measured))
        return 0;
    if (!(keys = row_keys(s, t)))
        return bi_show_no_memory(s, err);
    if (s->measured && (st = bi_show_measured(s, t, keys, &measured, err)))
        return st;
    for (size_t k = t->n_columns; k-- > 0 && made < BI_VIEW_HISTOGRAMS && !st;) {
        const struct bi_shown_column *c = &t->columns[k];
        if (!c->is_number || is_count(c->name) || (c == last && !s->measured))
            continue;
        made++;
        st = s->measured ? bi_show_against(s, t, keys, &measured, c, err)
                         : bi_show_against(s, t, keys, c, last, err);
    }
    s->compared = !st && made;
    return st;
}

static int show_mutants(struct bi_show *s, const struct bi_table *t, bool *found,
                        struct bioinfer_error *err);

static int show_whole(struct bi_show *s, struct reading *r, struct bioinfer_error *err)
{
    struct bi_figure *f;
    struct bi_table t = {0};
    bool changes = false;
    int st;
    if (!make_table(r, &t))
        return bi_show_no_memory(s, err);
    if ((st = bi_lines_each(s->env, s->path, take_row, r, err)) ||
        (st = bi_provenance_units(s->env, s->path, take_unit, r, err)) ||
        (st = show_mutants(s, &t, &changes, err)) || (st = add_comparisons(s, &t, changes, err)) ||
        (st = bi_show_along(s, &t, err)) || (st = add_histograms(s, &t, err)))
        return st;
    if (!(f = bi_view_add(&s->view, BI_FIGURE_TABLE, "Table", "Rows of the table")))
        return bi_show_no_memory(s, err);
    f->as.table = t;
    if (t.n_rows < r->n || r->n_shown < r->n_columns)
        f->note = bi_view_printf(
            &s->view, "%zu of %llu rows%s, %zu of %zu columns.", t.n_rows, (unsigned long long)r->n,
            t.n_rows < r->n && !s->view.record ? ", evenly chosen" : "", r->n_shown, r->n_columns);
    return 0;
}

/* ---- 2 embeddings in a table ------------------------------------------------------------ */

static int take_vector(void *user, char *line, size_t n, uint64_t number,
                       struct bioinfer_error *err)
{
    struct reading *r = user;
    const size_t width = r->n_columns - r->first;
    int st;
    if (number == 1 || !n)
        return 0;
    if ((st = check_fields(r, line, number, err)))
        return st;
    if (!*r->fields[r->first] || !keeps(r)) /* a record without a result has empty cells */
        return 0;
    for (size_t k = 0; k < width; k++) {
        const char *field = r->fields[r->first + k];
        double x;
        if (!bi_parse_f64(field, strlen(field), &x))
            return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu, column %s: '%.40s' is no number",
                           r->s->path, (unsigned long long)number, r->head[r->first + k], field);
        r->vectors[r->t->n_rows * width + k] = (float)x;
    }
    if (!(r->t->columns[0].texts[r->t->n_rows++] = bi_view_text(&r->s->view, r->fields[0],
                                                                strlen(r->fields[0]))))
        return bi_show_no_memory(r->s, err);
    return 0;
}

static int read_vector(void *user, size_t i, float *dst, struct bioinfer_error *err)
{
    const struct reading *r = user;
    const size_t width = r->n_columns - r->first;
    (void)err;
    memcpy(dst, r->vectors + i * width, width * sizeof *dst);
    return 0;
}

static int show_embeddings(struct bi_show *s, struct reading *r, struct bioinfer_error *err)
{
    enum { MOST_VALUES = 16 << 20 };
    const size_t width = r->n_columns - r->first, most = MOST_VALUES / width;
    struct bi_table t = {0};
    int st = 0;
    s->view.kind = "embeddings";
    if (!make_table(r, &t))
        return bi_show_no_memory(s, err);
    r->shown = r->n < most ? r->n : most;
    r->shown = r->shown < BI_VIEW_ROWS ? r->shown : BI_VIEW_ROWS;
    if (!(r->vectors = bi_calloc(s->env, (size_t)r->shown * width + 1, sizeof *r->vectors)))
        return bi_show_no_memory(s, err);
    st = bi_lines_each(s->env, s->path, take_vector, r, err);
    if (!st && t.n_rows)
        st = bi_show_vectors(s, t.n_rows, width, t.columns[0].texts, read_vector, r,
                             "vectors of records", err);
    bi_free(s->env, r->vectors);
    return st;
}

static int show_table(struct bi_show *s, const char *const *names, struct bioinfer_error *err)
{
    struct reading *r = bi_zalloc(s->env, sizeof *r);
    int st = r ? 0 : bi_show_no_memory(s, err);
    if (!st) {
        r->s = s;
        r->names = names;
        st = bi_lines_each(s->env, s->path, count_row, r, err);
    }
    if (!st && !r->n)
        st = bi_fail(err, BIOINFER_EMPTY, "%s: a table without rows: nothing to show", s->path);
    if (!st && !s->manifest.found)
        st = bi_view_fact(&s->view, "Rows", "%llu", (unsigned long long)r->n)
                 ? 0
                 : bi_show_no_memory(s, err);
    for (size_t k = 4; !st && k < r->n_columns && !r->first; k++)
        if (!strcmp(r->head[0], "id") && !strcmp(r->head[k], "d0"))
            r->first = k;
    if (!st)
        st = r->first ? show_embeddings(s, r, err) : show_whole(s, r, err);
    bi_free(s->env, r);
    return st;
}

int bi_show_table(struct bi_show *s, struct bioinfer_error *err)
{
    return show_table(s, NULL, err);
}

int bi_show_blast(struct bi_show *s, struct bioinfer_error *err)
{
    s->view.kind = "alignments, in the columns of BLAST";
    return show_table(s, blast_columns, err);
}

/* ---- 3 substitutions --------------------------------------------------------------------- */

static const char letters[] =
    "GAVLIMFWYSTCPNQKRHDE"; /* small, aliphatic, aromatic, polar, charged */

static struct bi_figure *add_map(struct bi_show *s, const char *title, double first, double last)
{
    const uint64_t span = (uint64_t)(last - first) + 1;
    const uint32_t n = span < BI_VIEW_COLUMNS ? (uint32_t)span : BI_VIEW_COLUMNS;
    struct bi_figure *f = bi_view_add(&s->view, BI_FIGURE_HEAT, "Substitutions", title);
    char *wild = f ? bi_arena_calloc(&s->view.arena, n + 1, 1) : NULL;
    if (!wild)
        return NULL;
    f->as.heat = (struct bi_heat){.n_rows = 20,
                                  .n_columns = n,
                                  .row_letters = letters,
                                  .wild = memset(wild, ' ', n),
                                  .first = (int64_t)first,
                                  .step = 1,
                                  .scale = BI_SCALE_DIVERGING,
                                  .row_name = "substituted by",
                                  .column_name = "position",
                                  .value_name = "score"};
    if (n < span)
        f->note = bi_view_printf(&s->view, "The first %u of %llu positions.", n,
                                 (unsigned long long)span);
    if (!(f->as.heat.values = bi_arena_calloc(&s->view.arena, 20 * (size_t)n, sizeof(float))))
        return NULL;
    for (size_t i = 0; i < 20 * (size_t)n; i++)
        f->as.heat.values[i] = NAN;
    return f;
}

static void put_change(struct bi_figure *f, double position, char from, char to, double score)
{
    struct bi_heat *h = &f->as.heat;
    const double column = position - (double)h->first;
    const char *row = to ? strchr(letters, to) : NULL;
    if (!row || column < 0 || column >= h->n_columns)
        return;
    h->values[(size_t)(row - letters) * h->n_columns + (size_t)column] = (float)score;
    ((char *)(uintptr_t)h->wild)[(size_t)column] = from; /* the view's own bytes */
}

/* A table of single changes (A12G) with a score in its last column of numbers; tells whether it is
 * one. */
static int show_mutants(struct bi_show *s, const struct bi_table *t, bool *found,
                        struct bioinfer_error *err)
{
    const struct bi_shown_column *changes = NULL, *scores = NULL;
    double first = INFINITY, last = -INFINITY, position;
    struct bi_figure *f;
    char from, to;
    for (size_t k = 0; k < t->n_columns; k++) {
        size_t n = 0;
        if (t->columns[k].is_number)
            scores = &t->columns[k];
        for (size_t i = 0; i < t->n_rows && !changes; i++)
            n += read_change(t->columns[k].texts[i], &from, &to, &position);
        if (!changes && n && n >= t->n_rows / 2)
            changes = &t->columns[k];
    }
    *found = changes && scores;
    if (!*found)
        return 0;
    for (size_t i = 0; i < t->n_rows; i++)
        if (read_change(changes->texts[i], &from, &to, &position)) {
            first = fmin(first, position);
            last = fmax(last, position);
        }
    if (!(f = add_map(s, scores->name, first, last)) ||
        (scores->unit &&
         !(f->as.heat.value_name = bi_view_printf(&s->view, "score (%s)", scores->unit))))
        return bi_show_no_memory(s, err);
    for (size_t i = 0; i < t->n_rows; i++)
        if (read_change(changes->texts[i], &from, &to, &position))
            put_change(f, position, from, to, scores->numbers[i]);
    bi_heat_range(&f->as.heat);
    return 0;
}

enum pass { COUNT, CHOOSE, FILL };

struct substitutions {
    struct bi_show *s;
    enum pass pass;
    struct bi_buf id; /* names the record at hand */
    uint64_t n, at;   /* records in all, and those met in this pass */
    uint64_t shown;   /* records that get a map */
    uint64_t made;    /* records that were chosen in this pass */
    bool takes;       /* the record at hand is chosen: it is number made - 1 */
    const char *ids[BI_VIEW_HEATS];
    double first[BI_VIEW_HEATS], last[BI_VIEW_HEATS];
    struct bi_figure *figures[BI_VIEW_HEATS];
};

static int begin_record(struct substitutions *u, const char *id, double position,
                        struct bioinfer_error *err)
{
    u->id.size = 0;
    bi_buf_puts(&u->id, id);
    if (!bi_buf_text(&u->id))
        return bi_show_no_memory(u->s, err);
    u->takes = u->pass != COUNT && u->made < u->shown &&
               (u->s->view.record ? bi_view_wants(&u->s->view, id, strlen(id))
                                  : u->at >= bi_view_pick(u->made, u->shown, u->n));
    u->at++;
    if (!u->takes)
        return 0;
    if (u->pass == CHOOSE) {
        u->first[u->made] = u->last[u->made] = position;
        if (!(u->ids[u->made] = bi_view_text(&u->s->view, id, strlen(id))))
            return bi_show_no_memory(u->s, err);
    }
    u->made++;
    return 0;
}

static int take_change(void *user, char *line, size_t n, uint64_t number,
                       struct bioinfer_error *err)
{
    struct substitutions *u = user;
    char *f[5];
    double position, score;
    int st;
    if (number == 1 || !n)
        return 0;
    if (bi_fields(line, '\t', f, 5) != 5 || !bi_parse_f64(f[1], strlen(f[1]), &position) ||
        !(fabs(position) < 1e9) || position != floor(position) || strlen(f[2]) != 1 ||
        strlen(f[3]) != 1 || !bi_parse_f64(f[4], strlen(f[4]), &score))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: expected id, position, wildtype, mutant and score",
                       u->s->path, (unsigned long long)number);
    if ((!u->at || strcmp(f[0], u->id.data)) && (st = begin_record(u, f[0], position, err)))
        return st;
    if (u->takes && u->pass == FILL)
        put_change(u->figures[u->made - 1], position, f[2][0], f[3][0], score);
    if (u->takes) {
        u->first[u->made - 1] = fmin(u->first[u->made - 1], position);
        u->last[u->made - 1] = fmax(u->last[u->made - 1], position);
    }
    return 0;
}

static int take_score_unit(void *user, const char *name, const char *unit,
                           struct bioinfer_error *err)
{
    struct substitutions *u = user;
    const struct bi_shown_column score = {.name = "score", .unit = unit};
    for (uint64_t k = 0; k < u->made && !strcmp(name, score.name); k++)
        if (!(u->figures[k]->as.heat.value_name = bi_view_axis(&u->s->view, &score)))
            return bi_show_no_memory(u->s, err);
    return 0;
}

int bi_show_substitutions(struct bi_show *s, struct bioinfer_error *err)
{
    struct substitutions u = {.s = s, .id = {.env = s->env}};
    int st = 0;
    s->view.kind = "scores of substitutions";
    for (u.pass = COUNT; u.pass <= FILL && !st; u.pass++) {
        u.at = u.made = 0;
        u.takes = false;
        st = bi_lines_each(s->env, s->path, take_change, &u, err);
        if (u.pass == COUNT) {
            u.n = u.at;
            u.shown = u.n < BI_VIEW_HEATS ? u.n : BI_VIEW_HEATS;
        }
        if (u.pass == FILL && !st)
            st = bi_provenance_units(s->env, s->path, take_score_unit, &u, err);
        for (uint64_t k = 0; u.pass == CHOOSE && k < u.made && !st; k++) {
            u.figures[k] = add_map(s, u.ids[k], u.first[k], u.last[k]);
            if (!u.figures[k])
                st = bi_show_no_memory(s, err);
        }
    }
    for (uint64_t k = 0; k < u.made && !st; k++)
        bi_heat_range(&u.figures[k]->as.heat);
    if (!st && u.made && u.made < u.n && !s->view.record)
        u.figures[0]->note = bi_view_printf(
            &s->view, "%llu of %llu records, evenly chosen; --record shows one.",
            (unsigned long long)u.made, (unsigned long long)u.n);
    if (!st && !bi_view_fact(&s->view, "Records", "%llu", (unsigned long long)u.n))
        st = bi_show_no_memory(s, err);
    bi_buf_free(&u.id);
    return st ? st : bi_show_table(s, err);
}

/* square.c - values of all pairs of records, as `bioinfer align --values` writes them (npz, tsv,
 * PHYLIP), as one heat map with the names of the records. */
#include <math.h>
#include <string.h>

#include "../base/number.h"
#include "show.h"

int bi_square_begin(struct bi_show *s, struct bi_square_view *q, const char *what, uint64_t rows,
                    uint64_t columns, struct bioinfer_error *err)
{
    const uint64_t most = s->one ? BI_VIEW_ONE_SIDE : BI_VIEW_SIDE;
    struct bi_heat *h;
    *q = (struct bi_square_view){.rows = rows, .columns = columns};
    q->figure = bi_view_add(&s->view, BI_FIGURE_HEAT, "Pairs", what ? what : "values of pairs");
    if (!q->figure)
        return bi_show_no_memory(s, err);
    h = &q->figure->as.heat;
    *h = (struct bi_heat){.n_rows = (uint32_t)(rows < most ? rows : most),
                          .n_columns = (uint32_t)(columns < most ? columns : most),
                          .first = 1,
                          .row_name = "record",
                          .column_name = "record",
                          .value_name = what ? what : "value",
                          .scale = what && !strcmp(what, "identity") ? BI_SCALE_UNIT
                                                                     : BI_SCALE_RANGE};
    h->step = (double)columns / h->n_columns;
    h->values = bi_arena_calloc(&s->view.arena, (size_t)h->n_rows * h->n_columns, sizeof(float));
    q->counts = bi_arena_calloc(&s->view.arena, (size_t)h->n_rows * h->n_columns,
                                sizeof *q->counts);
    return h->values && q->counts ? 0 : bi_show_no_memory(s, err);
}

int bi_square_read(struct bi_show *s, struct bi_square_view *q, const struct bi_arrays *a,
                   const struct bi_array_entry *e, struct bioinfer_error *err)
{
    float *row = bi_calloc(s->env, (size_t)q->columns, sizeof *row);
    int st = row ? 0 : bi_show_no_memory(s, err);
    for (uint64_t r = 0; r < q->rows && !st; r++) {
        st = bi_arrays_read(a, e, r * q->columns, q->columns, row, err);
        for (uint64_t c = 0; c < q->columns && !st; c++)
            bi_square_put(q, r, c, row[c]);
    }
    bi_free(s->env, row);
    return st;
}

bool bi_square_fact(struct bi_show *s, const struct bi_square_view *q)
{
    return bi_view_fact(&s->view, "Matrix", "%llu rows, %llu columns", (unsigned long long)q->rows,
                        (unsigned long long)q->columns);
}

void bi_square_put(struct bi_square_view *q, uint64_t row, uint64_t column, float value)
{
    struct bi_heat *h = &q->figure->as.heat;
    const size_t cell = (size_t)(row * h->n_rows / q->rows * h->n_columns +
                                 column * h->n_columns / q->columns);
    if (!isfinite(value))
        return;
    h->values[cell] += value;
    q->counts[cell]++;
}

/* Copies the names of a side, none where several records share a cell. */
static int keep_names(struct bi_show *s, const char *const *names, uint64_t n, uint32_t shown,
                      const char *const **out, struct bioinfer_error *err)
{
    const char **kept;
    if (!names || n != shown)
        return 0;
    if (!(kept = bi_arena_calloc(&s->view.arena, (size_t)n, sizeof *kept)))
        return bi_show_no_memory(s, err);
    for (uint64_t i = 0; i < n; i++)
        if (!(kept[i] = bi_view_text(&s->view, names[i], strlen(names[i]))))
            return bi_show_no_memory(s, err);
    *out = kept;
    return 0;
}

int bi_square_end(struct bi_show *s, struct bi_square_view *q, const char *const *rows,
                  const char *const *columns, struct bioinfer_error *err)
{
    struct bi_heat *h = &q->figure->as.heat;
    int st;
    for (size_t i = 0; i < (size_t)h->n_rows * h->n_columns; i++)
        h->values[i] = q->counts[i] ? h->values[i] / (float)q->counts[i] : NAN;
    bi_heat_range(h);
    if (h->n_rows < q->rows || h->n_columns < q->columns)
        q->figure->note = bi_view_printf(&s->view,
                                         "%llu rows and %llu columns; each cell is the mean of "
                                         "the pairs it covers.",
                                         (unsigned long long)q->rows,
                                         (unsigned long long)q->columns);
    st = keep_names(s, rows, q->rows, h->n_rows, &h->row_names, err);
    return st ? st : keep_names(s, columns, q->columns, h->n_columns, &h->column_names, err);
}

/* ---- files of text ---- */

struct reading {
    struct bi_show *s;
    bool phylip, lower;
    uint64_t n_rows, n_columns, row;
    struct bi_square_view q;
    const char **rows, **columns; /* names */
};

static int bad_line(const struct reading *r, uint64_t number, const char *what,
                    struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: %s", r->s->path,
                   (unsigned long long)number, what);
}

static const char *keep(struct reading *r, const char *text, size_t n)
{
    return bi_view_text(&r->s->view, text, n);
}

/* Cuts the last field off a line of *n bytes; NULL where there is none besides a name. */
static char *cut_last(char *line, size_t *n, bool tabs)
{
    size_t end = *n, at;
    while (!tabs && end && (line[end - 1] == ' ' || line[end - 1] == '\t'))
        end--;
    line[end] = '\0';
    for (at = end;
         at && (tabs ? line[at - 1] != '\t' : line[at - 1] != ' ' && line[at - 1] != '\t');)
        at--;
    if (!at)
        return NULL;
    *n = at - 1;
    line[*n] = '\0';
    return line + at;
}

static int take_head(struct reading *r, char *line, size_t n, struct bioinfer_error *err)
{
    double count = 0;
    if (r->phylip) {
        while (n && line[n - 1] == ' ')
            n--;
        line += strspn(line, " ");
        line[strcspn(line, " ")] = '\0';
        bi_parse_f64(line, strlen(line), &count); /* digits: show.c saw them */
        r->n_columns = (uint64_t)count;
    } else {
        for (size_t i = 0; i < n; i++)
            r->n_columns += line[i] == '\t';
    }
    r->columns = bi_arena_calloc(&r->s->view.arena, (size_t)r->n_columns, sizeof *r->columns);
    r->rows = bi_arena_calloc(&r->s->view.arena, (size_t)r->n_rows, sizeof *r->rows);
    if (!r->columns || !r->rows)
        return bi_show_no_memory(r->s, err);
    for (uint64_t k = 0; !r->phylip && k < r->n_columns; k++) {
        line += strcspn(line, "\t") + 1;
        if (!(r->columns[k] = keep(r, line, strcspn(line, "\t"))))
            return bi_show_no_memory(r->s, err);
    }
    return bi_square_begin(r->s, &r->q, r->phylip ? "distance" : NULL, r->n_rows, r->n_columns,
                           err);
}

static int take_line(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    uint64_t want;
    if (!n)
        return 0;
    if (number == 1)
        return take_head(r, line, n, err);
    if (r->phylip && !r->row)
        r->lower = !line[strcspn(line, " \t") + strspn(line + strcspn(line, " \t"), " \t")];
    want = r->lower ? r->row : r->n_columns;
    for (uint64_t k = want; k-- > 0;) {
        char *field = cut_last(line, &n, !r->phylip);
        double x = 0;
        if (!field || !bi_parse_f64(field, strlen(field), &x)) {
            if (!field || strcmp(field, "nan"))
                return bad_line(r, number, "not a name and a number for each record", err);
            x = (double)NAN;
        }
        bi_square_put(&r->q, r->row, k, (float)x);
        if (r->lower)
            bi_square_put(&r->q, k, r->row, (float)x);
    }
    if (r->lower)
        bi_square_put(&r->q, r->row, r->row, 0);
    while (n && line[n - 1] == ' ')
        n--;
    if (memchr(line, '\t', n) || (r->phylip && memchr(line, ' ', n)))
        return bad_line(r, number, "more fields than a name and a number for each record", err);
    if (!(r->rows[r->row++] = keep(r, line, n)))
        return bi_show_no_memory(r->s, err);
    return 0;
}

static int count_line(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    (void)line;
    (void)err;
    r->n_rows += n && number > 1;
    return 0;
}

int bi_show_square(struct bi_show *s, bool phylip, uint64_t n, struct bioinfer_error *err)
{
    struct reading r = {.s = s, .phylip = phylip};
    int st = bi_lines_each(s->env, s->path, count_line, &r, err);
    s->view.kind = phylip ? "distances of pairs of records" : "values of pairs of records";
    if (st)
        return st;
    if (phylip && r.n_rows != n)
        return bi_fail(err, BIOINFER_FORMAT, "%s: %llu rows, line 1 says %llu", s->path,
                       (unsigned long long)r.n_rows, (unsigned long long)n);
    if (!r.n_rows)
        return bi_fail(err, BIOINFER_EMPTY, "%s: a matrix without rows: nothing to show", s->path);
    if ((st = bi_lines_each(s->env, s->path, take_line, &r, err)))
        return st;
    if ((st = bi_square_end(s, &r.q, r.rows, phylip ? r.rows : r.columns, err)))
        return st;
    return bi_square_fact(s, &r.q) ? 0 : bi_show_no_memory(s, err);
}

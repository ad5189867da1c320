/* measured.c - numbers of a table against what was measured, with their correlations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/number.h"
#include "../loaders/csv.h"
#include "show.h"

/* ---- 1 correlations -------------------------------------------------------------------- */

/* Pearson's correlation of n pairs; NaN where there are fewer than two or one side is constant. */
static double pearson(const double *x, const double *y, size_t n)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx) / sqrt(yy) : (double)NAN;
}

struct ranked {
    double value;
    size_t at;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* Replaces values by their ranks from 1; equal ones share the mean of theirs. room: [n]. */
static void rank(double *values, size_t n, struct ranked *room)
{
    for (size_t i = 0; i < n; i++)
        room[i] = (struct ranked){values[i], i};
    qsort(room, n, sizeof *room, compare_ranked);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && room[end].value == room[i].value; end++)
            ;
        for (size_t k = i; k < end; k++)
            values[room[k].at] = 0.5 * (double)(i + 1 + end);
    }
}

/* ---- 2 a figure ------------------------------------------------------------------------ */

static int make_scatter(struct bi_show *s, const struct bi_table *t, const char *const *keys,
                        const struct bi_shown_column *measured,
                        const struct bi_shown_column *predicted, double *x, double *y,
                        struct ranked *room, struct bioinfer_error *err)
{
    struct bi_shown *v = &s->view;
    struct bi_figure *f = bi_view_add(
        v, BI_FIGURE_SCATTER, "Predicted against measured",
        bi_view_printf(v, "%s against %s", predicted->name, measured->name));
    struct bi_scatter *c = f ? &f->as.scatter : NULL;
    double r;
    size_t n = 0;
    if (!f)
        return bi_show_no_memory(s, err);
    if (s->measured && !v->chosen)
        v->chosen = f;
    *c = (struct bi_scatter){.x_name = bi_view_axis(v, measured),
                             .y_name = bi_view_axis(v, predicted)};
    c->x = bi_arena_calloc(&v->arena, t->n_rows + 1, sizeof *c->x);
    c->y = bi_arena_calloc(&v->arena, t->n_rows + 1, sizeof *c->y);
    c->colour = bi_arena_calloc(&v->arena, t->n_rows + 1, sizeof *c->colour);
    c->labels = bi_arena_calloc(&v->arena, t->n_rows + 1, sizeof *c->labels);
    if (!c->x_name || !c->y_name || !c->x || !c->y || !c->colour || !c->labels)
        return bi_show_no_memory(s, err);
    for (size_t i = 0; i < t->n_rows; i++) {
        const double a = measured->numbers[i], b = predicted->numbers[i];
        if (!isfinite(a) || !isfinite(b))
            continue;
        x[n] = a;
        y[n] = b;
        c->x[n] = (float)a;
        c->y[n] = (float)b;
        c->colour[n] = NAN;
        if (!(c->labels[n] = bi_view_printf(v, "%.100s: %s %.6g, %s %.6g", keys[i], measured->name,
                                            a, predicted->name, b)))
            return bi_show_no_memory(s, err);
        n++;
    }
    c->n = n;
    r = pearson(x, y, n);
    rank(x, n, room);
    rank(y, n, room);
    f->note = isfinite(r)
                  ? bi_view_printf(v, "Spearman %.4f, Pearson %.4f; %zu of %zu rows have both.",
                                   pearson(x, y, n), r, n, t->n_rows)
                  : bi_view_printf(v, "No correlation: %zu of %zu rows have both%s.", n, t->n_rows,
                                   n < 2 ? "" : ", and one side is constant");
    return f->note && bi_view_fact(v, f->title, "%s", f->note) ? 0 : bi_show_no_memory(s, err);
}

int bi_show_against(struct bi_show *s, const struct bi_table *t, const char *const *keys,
                    const struct bi_shown_column *measured, const struct bi_shown_column *predicted,
                    struct bioinfer_error *err)
{
    double *x = bi_calloc(s->env, 2 * t->n_rows + 1, sizeof *x);
    struct ranked *room = bi_calloc(s->env, t->n_rows + 1, sizeof *room);
    const int st = x && room
                       ? make_scatter(s, t, keys, measured, predicted, x, x + t->n_rows, room, err)
                       : bi_show_no_memory(s, err);
    bi_free(s->env, room);
    bi_free(s->env, x);
    return st;
}

/* ---- 3 a file of measured numbers ------------------------------------------------------ */

struct measured {
    struct bi_show *s;
    struct bi_csv file;
    struct bi_map rows, met; /* rows of the table, and lines of the file, by id */
    double *numbers;         /* [rows of the table] */
    uint64_t n, n_found;
};

/* A cell of column 2 as a number, NaN where nothing was measured. */
static int read_number(const struct measured *m, const struct bi_csv_row *row, const char *id,
                       double *x, struct bioinfer_error *err)
{
    static const char *const none[] = {"", "NA", "N/A", "NaN", "nan"};
    const char *cell = bi_csv_cell(&m->file, row, 1);
    *x = (double)NAN;
    for (size_t k = 0; k < BI_COUNT(none); k++)
        if (!strcmp(cell, none[k]))
            return 0;
    if (bi_parse_f64(cell, strlen(cell), x) && isfinite(*x))
        return 0;
    return bi_csv_fail(&m->file, row, err,
                       "column 2 (%.60s): '%.40s' is no number, expected what was measured of "
                       "'%.60s', as 0.25, or NA",
                       bi_csv_cell(&m->file, &m->file.header, 1), cell, id);
}

static int take_measured(struct measured *m, const struct bi_csv_row *row,
                         struct bioinfer_error *err)
{
    const char *id = bi_csv_cell(&m->file, row, 0);
    uint64_t at;
    double x;
    int st = read_number(m, row, id, &x, err), added;
    if (st)
        return st;
    if ((added = bi_map_add(&m->met, id, strlen(id), row->line, &at)) < 0)
        return bi_show_no_memory(m->s, err);
    if (!added)
        return bi_csv_fail(&m->file, row, err, "column 1: '%.200s' again, as in line %llu", id,
                           (unsigned long long)at);
    m->n++;
    if (bi_map_find(&m->rows, id, strlen(id), &at)) {
        m->numbers[at] = x;
        m->n_found++;
    }
    return 0;
}

static int read_file(struct measured *m, struct bioinfer_error *err)
{
    const struct bi_csv_row *row;
    size_t at = 0;
    int st = bi_csv_read(&m->file, m->s->env, m->s->measured, err), more;
    if (!st && m->file.header.n_fields < 2)
        st = bi_csv_fail(&m->file, &m->file.header, err,
                         "one column '%.*s', expected ids and measured numbers with a comma or a "
                         "tab between them",
                         m->file.header.len < 60 ? (int)m->file.header.len : 60,
                         m->file.header.text);
    while (!st && (more = bi_csv_next(&m->file, &at, &row, err)))
        st = more == 1 ? take_measured(m, row, err) : more;
    return st;
}

/* Maps the keys of the table to its rows. */
static int map_keys(struct measured *m, const struct bi_table *t, const char *const *keys,
                    struct bioinfer_error *err)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const int added = bi_map_add(&m->rows, keys[i], strlen(keys[i]), i, NULL);
        m->numbers[i] = (double)NAN;
        if (added < 0)
            return bi_show_no_memory(m->s, err);
        if (!added)
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: several rows are '%.200s', so %s does not say which it is about; "
                           "--record shows the rows of one record",
                           m->s->path, keys[i], m->s->measured);
    }
    return 0;
}

int bi_show_measured(struct bi_show *s, const struct bi_table *t, const char *const *keys,
                     struct bi_shown_column *out, struct bioinfer_error *err)
{
    struct measured m = {.s = s, .rows = {.env = s->env}, .met = {.env = s->env}};
    int st;
    if (!(m.numbers = bi_arena_calloc(&s->view.arena, t->n_rows + 1, sizeof *m.numbers)))
        return bi_show_no_memory(s, err);
    if (!(st = map_keys(&m, t, keys, err)))
        st = read_file(&m, err);
    if (!st && !m.n_found)
        st = bi_fail(err, BIOINFER_NOT_FOUND,
                     "%s: none of its %llu ids is in %s, whose first is '%.200s'", s->measured,
                     (unsigned long long)m.n, s->path, t->n_rows ? keys[0] : "");
    if (!st) {
        const char *name = bi_csv_cell(&m.file, &m.file.header, 1);
        *out = (struct bi_shown_column){.is_number = true, .numbers = m.numbers};
        out->name = bi_view_text(&s->view, name, strlen(name));
        if (!out->name || (m.n_found < m.n &&
                           !bi_view_fact(&s->view, "Measured", "%llu of %llu ids are in the output",
                                         (unsigned long long)m.n_found, (unsigned long long)m.n)))
            st = bi_show_no_memory(s, err);
    }
    bi_csv_free(&m.file);
    bi_map_free(&m.met);
    bi_map_free(&m.rows);
    return st;
}

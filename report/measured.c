/* measured.c - numbers of a table against what was measured, with their correlations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/number.h"
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
    *c = (struct bi_scatter){.x_name = measured->name, .y_name = predicted->name};
    c->x = bi_arena_calloc(&v->arena, t->n_rows + 1, sizeof *c->x);
    c->y = bi_arena_calloc(&v->arena, t->n_rows + 1, sizeof *c->y);
    c->colour = bi_arena_calloc(&v->arena, t->n_rows + 1, sizeof *c->colour);
    c->labels = bi_arena_calloc(&v->arena, t->n_rows + 1, sizeof *c->labels);
    if (!c->x || !c->y || !c->colour || !c->labels)
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
    char separator;
    const char *name;
    struct bi_map rows; /* by key */
    double *numbers;    /* [rows of the table] */
    uint64_t n, n_found;
    struct bi_map met; /* the file's ids */
};

static int take_measured(void *user, char *line, size_t n, uint64_t number,
                         struct bioinfer_error *err)
{
    struct measured *m = user;
    struct bi_arena *arena = &m->s->view.arena;
    char *fields[2], *id;
    uint64_t row;
    double x = (double)NAN;
    int added;
    if (!n)
        return 0;
    if (number == 1)
        m->separator = strchr(line, '\t') ? '\t' : ',';
    if (bi_fields(line, m->separator, fields, 2) < 2)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: one field, expected an id and a measured number",
                       m->s->measured, (unsigned long long)number);
    if (number == 1)
        return (m->name = bi_view_text(&m->s->view, fields[1], strlen(fields[1])))
                   ? 0
                   : bi_show_no_memory(m->s, err);
    if (*fields[1] && !bi_parse_f64(fields[1], strlen(fields[1]), &x))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: '%.40s' is no number, expected what was measured of '%.40s'",
                       m->s->measured, (unsigned long long)number, fields[1], fields[0]);
    if (!(id = bi_arena_strndup(arena, fields[0], strlen(fields[0]))) ||
        (added = bi_map_add(&m->met, id, strlen(id), number, &row)) < 0)
        return bi_show_no_memory(m->s, err);
    if (!added)
        return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: '%.200s' again, as in line %llu",
                       m->s->measured, (unsigned long long)number, id, (unsigned long long)row);
    m->n++;
    if (bi_map_find(&m->rows, id, strlen(id), &row)) {
        m->numbers[row] = x;
        m->n_found++;
    }
    return 0;
}

int bi_show_measured(struct bi_show *s, const struct bi_table *t, const char *const *keys,
                     struct bi_shown_column *out, struct bioinfer_error *err)
{
    struct measured m = {.s = s, .rows = {.env = s->env}, .met = {.env = s->env}};
    int st = 0;
    if (!(m.numbers = bi_arena_calloc(&s->view.arena, t->n_rows + 1, sizeof *m.numbers)))
        st = bi_show_no_memory(s, err);
    for (size_t i = 0; i < t->n_rows && !st; i++) {
        const int added = bi_map_add(&m.rows, keys[i], strlen(keys[i]), i, NULL);
        m.numbers[i] = (double)NAN;
        if (added < 0)
            st = bi_show_no_memory(s, err);
        else if (!added)
            st = bi_fail(err, BIOINFER_INVALID,
                         "%s: several rows are '%.200s', so %s does not say which it is about; "
                         "--record shows the rows of one record",
                         s->path, keys[i], s->measured);
    }
    if (!st)
        st = bi_lines_each(s->env, s->measured, take_measured, &m, err);
    if (!st && !m.n)
        st = bi_fail(err, BIOINFER_EMPTY,
                     "%s: no row: expected names in line 1, then ids with "
                     "measured numbers",
                     s->measured);
    if (!st && !m.n_found)
        st = bi_fail(err, BIOINFER_NOT_FOUND,
                     "%s: none of its %llu ids is in %s, whose first is '%.200s'", s->measured,
                     (unsigned long long)m.n, s->path, t->n_rows ? keys[0] : "");
    *out = (struct bi_shown_column){.name = m.name, .is_number = true, .numbers = m.numbers};
    bi_map_free(&m.met);
    bi_map_free(&m.rows);
    return st;
}

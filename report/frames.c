/* frames.c - frames of atoms in extended XYZ: their energies, temperatures and so on as lines along
 * the trajectory, and a table. */
#include <math.h>
#include <string.h>

#include "../base/number.h"
#include "../writers/units.h"
#include "show.h"

enum { MOST_VALUES = 8 };

struct frames {
    struct bi_show *s;
    uint64_t atoms_left;  /* lines of the frame at hand that are still to come */
    bool comment;         /* the second line of a frame comes next */
    uint64_t n, at_least; /* frames, and atoms of the smallest one ... */
    uint64_t at_most;     /* ... and of the largest */
    uint64_t met;         /* frames that the second pass has met */
    size_t shown;         /* frames that get a row */
    struct bi_table table;
};

enum { FRAME, STEP, VALUES };

/* Finds the text of KEY=TEXT among the words of a comment, which quotes may hold together. */
static const char *find_key(const char *comment, const char *key, size_t *length)
{
    const size_t n = strlen(key);
    bool quoted = false;
    for (const char *at = comment; *at; at++) {
        if (*at == '"')
            quoted = !quoted;
        if (quoted || (at > comment && at[-1] != ' ') || strncmp(at, key, n) || at[n] != '=')
            continue;
        *length = strcspn(at + n + 1, " ");
        return at + n + 1;
    }
    return NULL;
}

static double number_of(const char *comment, const char *key)
{
    size_t n;
    double x = (double)NAN;
    const char *text = find_key(comment, key, &n);
    return text && bi_parse_f64(text, n, &x) ? x : (double)NAN;
}

static void take_comment(struct frames *f, const char *comment)
{
    struct bi_shown_column *c = f->table.columns;
    const size_t row = f->table.n_rows;
    if (!f->shown || row == f->shown || f->met++ < bi_view_pick(row, f->shown, f->n))
        return;
    c[FRAME].numbers[row] = (double)f->met;
    c[STEP].numbers[row] = number_of(comment, "step");
    for (size_t k = VALUES; k < f->table.n_columns; k++)
        c[k].numbers[row] = number_of(comment, c[k].name);
    f->table.n_rows++;
}

static int take_line(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct frames *f = user;
    double atoms;
    if (f->comment) {
        f->comment = false;
        take_comment(f, line);
        return 0;
    }
    if (f->atoms_left) {
        f->atoms_left--;
        return 0;
    }
    if (!n)
        return 0;
    while (n && line[n - 1] == ' ')
        n--;
    if (!bi_parse_f64(line, n, &atoms) || !(atoms >= 1 && atoms < 1e9) || atoms != floor(atoms))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: '%.40s', expected the number of atoms of the next frame",
                       f->s->path, (unsigned long long)number, line);
    f->atoms_left = (uint64_t)atoms;
    f->comment = true;
    if (f->shown)
        return 0;
    f->at_least = f->n && f->at_least < f->atoms_left ? f->at_least : f->atoms_left;
    f->at_most = f->at_most > f->atoms_left ? f->at_most : f->atoms_left;
    f->n++;
    return 0;
}

static int read_all(struct frames *f, struct bioinfer_error *err)
{
    const int st = bi_lines_each(f->s->env, f->s->path, take_line, f, err);
    if (!st && (f->comment || f->atoms_left))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: the last frame is cut off: %llu atoms are missing", f->s->path,
                       (unsigned long long)f->atoms_left);
    return st;
}

static bool make_columns(struct frames *f)
{
    struct bi_shown *v = &f->s->view;
    struct bi_table *t = &f->table;
    size_t n;
    const struct bi_unit_name *u = bi_units(&n);
    if (!bi_view_columns(v, t, 0, VALUES + MOST_VALUES))
        return false;
    t->columns[FRAME].name = "frame";
    t->columns[STEP].name = "step";
    t->n_columns = VALUES;
    for (size_t i = 0; i < n && t->n_columns < VALUES + MOST_VALUES; i++)
        if (!strcmp(u[i].task, "extxyz")) {
            t->columns[t->n_columns].name = u[i].name;
            t->columns[t->n_columns++].unit = u[i].unit;
        }
    for (size_t k = 0; k < t->n_columns; k++) {
        t->columns[k].is_number = true;
        t->columns[k].numbers = bi_arena_calloc(&v->arena, f->shown + 1, sizeof(double));
        if (!t->columns[k].numbers)
            return false;
    }
    return true;
}

/* Whether a column has a number in each row, or (any) in one. */
static bool has_numbers(const struct bi_table *t, size_t column, bool any)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows; i++)
        n += isfinite(t->columns[column].numbers[i]);
    return any ? n : n == t->n_rows;
}

/* Whether the numbers of a column rise evenly, to `off` steps. */
static bool is_even(const struct bi_table *t, size_t column, double off)
{
    const double *x = t->columns[column].numbers, n = (double)t->n_rows;
    const double step = (x[t->n_rows - 1] - x[0]) / (n - 1);
    for (size_t i = 1; i < t->n_rows; i++)
        if (!(x[i] > x[i - 1]) || fabs(x[i] - x[0] - step * (double)i) > off * step)
            return false;
    return true;
}

/* Drops columns without a number. */
static void drop_empty(struct bi_table *t)
{
    size_t n = 0;
    for (size_t k = 0; k < t->n_columns; k++)
        if (has_numbers(t, k, true))
            t->columns[n++] = t->columns[k];
    t->n_columns = n;
}

/* Adds lines along the steps where these are evenly spaced and rise, else along the frames. */
static int add_lines(struct frames *f, struct bioinfer_error *err)
{
    struct bi_shown *v = &f->s->view;
    const struct bi_table *t = &f->table;
    const bool any_steps = t->n_columns > STEP && !strcmp(t->columns[STEP].name, "step");
    /* a frame that was chosen among many may be one off */
    const bool steps = any_steps && has_numbers(t, STEP, false) &&
                       is_even(t, STEP, t->n_rows == f->n ? 1e-6 : 1);
    const struct bi_shown_column *x = &t->columns[steps ? STEP : FRAME];
    const size_t first = any_steps ? VALUES : STEP;
    struct bi_figure *g;
    struct bi_shown_tracks *to;
    if (t->n_columns == first)
        return 0;
    if (!(g = bi_view_add(v, BI_FIGURE_TRACKS, "Frames",
                          steps ? "Along the trajectory" : "Along the frames")))
        return bi_show_no_memory(f->s, err);
    to = &g->as.tracks;
    *to = (struct bi_shown_tracks){.n_tracks = (uint32_t)(t->n_columns - first),
                                   .n_bins = (uint32_t)t->n_rows,
                                   .lines = true,
                                   .place = x->name,
                                   .start = x->numbers[0]};
    to->step = (x->numbers[t->n_rows - 1] - x->numbers[0]) / (double)(t->n_rows - 1);
    to->values = bi_arena_calloc(&v->arena, to->n_tracks * t->n_rows, sizeof(float));
    to->names = bi_arena_calloc(&v->arena, to->n_tracks, sizeof *to->names);
    if (!to->values || !to->names)
        return bi_show_no_memory(f->s, err);
    for (size_t k = first; k < t->n_columns; k++) {
        if (!(to->names[k - first] = bi_view_axis(v, &t->columns[k])))
            return bi_show_no_memory(f->s, err);
        for (size_t i = 0; i < t->n_rows; i++)
            to->values[(k - first) * t->n_rows + i] = (float)t->columns[k].numbers[i];
    }
    return 0;
}

int bi_show_frames(struct bi_show *s, struct bioinfer_error *err)
{
    struct frames f = {.s = s};
    struct bi_shown *v = &s->view;
    struct bi_figure *table;
    int st = read_all(&f, err);
    v->kind = "frames of atoms";
    if (st)
        return st;
    f.shown = f.n < BI_VIEW_BINS ? (size_t)f.n : BI_VIEW_BINS;
    if (!make_columns(&f))
        return bi_show_no_memory(s, err);
    if ((st = read_all(&f, err)))
        return st;
    drop_empty(&f.table);
    if (!bi_view_fact(v, "Frames", "%llu", (unsigned long long)f.n) ||
        !(f.at_least == f.at_most
              ? bi_view_fact(v, "Atoms", "%llu in each", (unsigned long long)f.at_least)
              : bi_view_fact(v, "Atoms", "%llu to %llu", (unsigned long long)f.at_least,
                             (unsigned long long)f.at_most)))
        return bi_show_no_memory(s, err);
    if (f.table.n_rows > 1 && (st = add_lines(&f, err)))
        return st;
    if (!(table = bi_view_add(v, BI_FIGURE_TABLE, "Table", "Frames")))
        return bi_show_no_memory(s, err);
    table->as.table = f.table;
    if (f.table.n_rows < f.n &&
        !(table->note = bi_view_printf(v, "%zu of %llu frames, evenly chosen.", f.table.n_rows,
                                       (unsigned long long)f.n)))
        return bi_show_no_memory(s, err);
    return 0;
}

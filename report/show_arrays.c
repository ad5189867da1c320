/* show_arrays.c - arrays of an output as figures, by their kinds (kinds.h). Of a file that says
 * nothing (another program's) vectors and matrices are shown as such.
 *
 *   1  vectors    2  maps    3  rows with letters    4  tracks    5  values    6  all */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "../writers/units.h"
#include "kinds.h"
#include "provenance.h"
#include "show.h"

/* ---- 1 vectors ----------------------------------------------------------------------- */

struct vectors {
    const struct bi_arrays *a;
    const struct bi_array_named **at; /* the array of each vector; NULL where there is a matrix */
    const struct bi_array_entry *matrix;
    size_t width;
};

static int read_vector(void *user, size_t i, float *dst, struct bioinfer_error *err)
{
    const struct vectors *v = user;
    const struct bi_array_entry *e = v->matrix ? v->matrix : v->at[i]->e;
    float row[1024];
    int st = 0;
    if (v->matrix)
        return bi_arrays_read(v->a, e, i * v->width, v->width, dst, err);
    if (e->rank == 1)
        return bi_arrays_read(v->a, e, 0, v->width, dst, err);
    memset(dst, 0, v->width * sizeof *dst); /* the mean over residues, a piece of a row at a time */
    for (uint64_t r = 0; r < e->shape[0] && !st; r++)
        for (size_t c = 0; c < v->width && !st; c += BI_COUNT(row)) {
            const size_t n = v->width - c < BI_COUNT(row) ? v->width - c : BI_COUNT(row);
            st = bi_arrays_read(v->a, e, r * v->width + c, n, row, err);
            for (size_t k = 0; k < n && !st; k++)
                dst[c + k] += row[k] / (float)e->shape[0];
        }
    return st;
}

static int show_vectors(struct bi_show *s, const struct bi_arrays *a,
                        const struct bi_array_named *all, enum bi_array_kind kind,
                        struct bioinfer_error *err)
{
    struct vectors v = {.a = a};
    const char **ids = NULL, *what = "";
    int layer = -1, lowest = INT_MAX, st = 0;
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++)
        if (all[i].kind == kind) {
            layer = all[i].layer > layer ? all[i].layer : layer;
            lowest = all[i].layer < lowest ? all[i].layer : lowest;
        }
    v.at = bi_calloc(s->env, a->n + 1, sizeof *v.at);
    ids = bi_calloc(s->env, a->n + 1, sizeof *ids);
    if (!v.at || !ids)
        st = bi_show_no_memory(s, err);
    for (size_t i = 0; i < a->n && !st; i++) {
        const struct bi_array_named *m = &all[i];
        const size_t width = (size_t)m->e->shape[m->e->rank == 2];
        if (m->kind != kind || m->layer != layer || (n && strcmp(what, m->suffix)))
            continue;
        if (n && width != v.width)
            st = bi_fail(err, BIOINFER_FORMAT,
                         "%s: array '%.200s' has %zu values, the ones before have %zu", s->path,
                         m->e->name, width, v.width);
        what = m->suffix;
        v.width = width;
        v.at[n] = m;
        if (!(ids[n++] = bi_view_text(&s->view, m->e->name, m->id_len)))
            st = bi_show_no_memory(s, err);
    }
    if (!st && n && v.width)
        st = bi_show_vectors(s, n, v.width, ids, read_vector, &v,
                             kind == BI_ARRAY_RESIDUES ? "means of the vectors of residues"
                             : !strcmp(what, "bos")    ? "vectors of the first token"
                             : lowest < layer          ? "vectors of the last layer in the file"
                             : *what                   ? "vectors of records"
                                                       : "arrays",
                             err);
    bi_free(s->env, v.at);
    bi_free(s->env, ids);
    return st;
}

struct ids {
    struct bi_arena *arena;
    const char **ids;
};

/* A bi_array_take_text. */
static int take_text(void *user, size_t i, const char *text)
{
    const struct ids *l = user;
    const size_t n = strlen(text);
    l->ids[i] = bi_arena_strndup(l->arena, text, n < BI_VIEW_TEXT ? n : BI_VIEW_TEXT);
    return l->ids[i] ? 0 : BIOINFER_NOMEM;
}

static int read_ids(struct bi_show *s, const struct bi_arrays *a, const struct bi_array_entry *set,
                    const char **ids, size_t n, struct bioinfer_error *err)
{
    struct ids l = {&s->view.arena, ids};
    int st;
    for (size_t i = 0; i < n; i++)
        if (!(ids[i] = bi_view_printf(&s->view, "row %zu", i)))
            return bi_show_no_memory(s, err);
    st = bi_arrays_ids(a, set, n, take_text, &l, err);
    return st == BIOINFER_NOMEM ? bi_show_no_memory(s, err) : st;
}

static int show_matrix(struct bi_show *s, const struct bi_arrays *a,
                       const struct bi_array_named *all, struct bioinfer_error *err)
{
    struct vectors v = {.a = a};
    const struct bi_array_entry *set = NULL;
    const char **ids;
    size_t n;
    int st;
    for (size_t i = 0; i < a->n; i++) {
        v.matrix = all[i].kind == BI_ARRAY_MATRIX ? all[i].e : v.matrix;
        set = all[i].kind == BI_ARRAY_IDS ? all[i].e : set;
    }
    if (!v.matrix)
        return 0;
    n = (size_t)v.matrix->shape[0];
    v.width = (size_t)v.matrix->shape[1];
    if (!n || !v.width)
        return 0;
    if (!(ids = bi_calloc(s->env, n, sizeof *ids)))
        return bi_show_no_memory(s, err);
    if (!(st = read_ids(s, a, set, ids, n, err)))
        st = bi_show_vectors(s, n, v.width, ids, read_vector, &v, "rows of the matrix", err);
    bi_free(s->env, ids);
    return st;
}

/* ---- 2 maps -------------------------------------------------------------------------- */

/* Adds rows [rows, columns] of values to the cells of a heat map, a row of the file at a time, and
 * divides by their number: the mean where a cell stands for several. `from`: of the first value. */
static int pool(struct bi_show *s, const struct bi_arrays *a, const struct bi_array_entry *e,
                uint64_t from, uint64_t rows, uint64_t columns, struct bi_heat *h,
                struct bioinfer_error *err)
{
    float *row = bi_calloc(s->env, (size_t)columns + h->n_columns, sizeof *row);
    int st = row ? 0 : bi_show_no_memory(s, err);
    for (uint64_t r = 0; r < rows && !st; r++) {
        float *to = h->values + r * h->n_rows / rows * h->n_columns;
        const uint64_t first = r * h->n_rows / rows;
        const uint64_t high = ((first + 1) * rows + h->n_rows - 1) / h->n_rows -
                              (first * rows + h->n_rows - 1) / h->n_rows;
        if ((st = bi_arrays_read(a, e, from + r * columns, columns, row, err)))
            break;
        for (uint64_t c = 0; c < columns; c++) {
            const uint64_t cell = c * h->n_columns / columns;
            const uint64_t wide = ((cell + 1) * columns + h->n_columns - 1) / h->n_columns -
                                  (cell * columns + h->n_columns - 1) / h->n_columns;
            to[cell] += row[c] / (float)(high * wide);
        }
    }
    bi_free(s->env, row);
    return st;
}

static struct bi_figure *add_heat(struct bi_show *s, const char *group, const char *title,
                                  uint64_t rows, uint64_t columns)
{
    struct bi_figure *f = bi_view_add(&s->view, BI_FIGURE_HEAT, group, title);
    if (!f)
        return NULL;
    f->as.heat = (struct bi_heat){.n_rows = (uint32_t)rows,
                                  .n_columns = (uint32_t)columns,
                                  .first = 1,
                                  .step = 1,
                                  .row_name = "residue",
                                  .column_name = "residue"};
    f->as.heat.values = bi_arena_calloc(&s->view.arena, (size_t)rows * (size_t)columns,
                                        sizeof(float));
    return f->as.heat.values ? f : NULL;
}

static void note_pooled(struct bi_show *s, struct bi_figure *f, uint64_t columns)
{
    struct bi_heat *h = &f->as.heat;
    h->step = (double)columns / h->n_columns;
    if (h->n_columns < columns)
        f->note = bi_view_printf(&s->view,
                                 "%llu positions in %u cells, each the mean of those it covers.",
                                 (unsigned long long)columns, h->n_columns);
}

static uint64_t at_most(uint64_t n, uint64_t most)
{
    return n < most ? n : most;
}

static uint64_t most_cells(const struct bi_show *s)
{
    return s->one ? BI_VIEW_ONE_SIDE : BI_VIEW_SIDE;
}

static int show_map(struct bi_show *s, const struct bi_arrays *a, const struct bi_array_named *m,
                    struct bioinfer_error *err)
{
    const struct bi_array_entry *e = m->e;
    const uint64_t length = e->shape[e->rank - 1], side = at_most(length, most_cells(s));
    const uint64_t maps = m->kind == BI_ARRAY_ATTENTIONS ? e->shape[0] * e->shape[1] : 1;
    struct bi_figure *f = add_heat(s, m->kind == BI_ARRAY_ATTENTIONS ? "Attention" : "Contacts",
                                   bi_view_text(&s->view, e->name, m->id_len), side, side);
    struct bi_heat *h = f ? &f->as.heat : NULL;
    int st = f ? 0 : bi_show_no_memory(s, err);
    for (uint64_t k = 0; k < maps && !st; k++)
        st = pool(s, a, e, k * length * length, length, length, h, err);
    if (st)
        return st;
    for (size_t i = 0; i < (size_t)side * side; i++)
        h->values[i] /= (float)maps;
    h->scale = m->kind == BI_ARRAY_CONTACTS ? BI_SCALE_UNIT : BI_SCALE_RANGE;
    if (m->kind == BI_ARRAY_ATTENTIONS) /* the model's own tokens are among them */
        h->row_name = h->column_name = "token";
    h->value_name = m->kind == BI_ARRAY_CONTACTS ? "probability of a contact"
                                                 : "attention, mean over layers and heads";
    note_pooled(s, f, length);
    bi_heat_range(h);
    return 0;
}

/* A matrix of which nothing is known. */
static int show_plain(struct bi_show *s, const struct bi_arrays *a, const struct bi_array_named *m,
                      struct bioinfer_error *err)
{
    const struct bi_array_entry *e = m->e;
    const uint64_t rows = e->shape[0], columns = e->shape[1], most = most_cells(s);
    const uint64_t shown_rows = at_most(rows, most), shown = at_most(columns, most);
    struct bi_figure *f = add_heat(s, "Matrices", bi_view_text(&s->view, e->name, m->id_len),
                                   shown_rows, shown);
    const int st = f ? pool(s, a, e, 0, rows, columns, &f->as.heat, err)
                     : bi_show_no_memory(s, err);
    if (st)
        return st;
    f->as.heat.scale = BI_SCALE_RANGE;
    f->as.heat.first = 0;
    f->as.heat.step = (double)columns / (double)shown;
    f->as.heat.row_name = "row";
    f->as.heat.column_name = "column";
    f->as.heat.value_name = "value";
    f->note = bi_view_printf(
        &s->view, "%llu rows, %llu columns%s. The file does not say what they are.",
        (unsigned long long)rows, (unsigned long long)columns,
        shown_rows < rows || shown < columns ? "; a cell is the mean of those it covers" : "");
    bi_heat_range(&f->as.heat);
    return f->note ? 0 : bi_show_no_memory(s, err);
}

/* Values of all pairs of records, as `bioinfer align --values` writes them. */
static int show_square(struct bi_show *s, const struct bi_arrays *a,
                       const struct bi_array_named *all, struct bioinfer_error *err)
{
    const struct bi_array_entry *e = NULL, *set = NULL;
    const char *what = NULL, **ids;
    struct bi_square_view q = {0};
    int st;
    for (size_t i = 0; i < a->n; i++) {
        e = all[i].kind == BI_ARRAY_SQUARE ? all[i].e : e;
        what = all[i].kind == BI_ARRAY_SQUARE ? all[i].suffix : what;
        set = all[i].kind == BI_ARRAY_IDS ? all[i].e : set;
    }
    if (!e)
        return 0;
    if (!(ids = bi_calloc(s->env, (size_t)e->shape[0], sizeof *ids)))
        return bi_show_no_memory(s, err);
    if (!(st = read_ids(s, a, set, ids, (size_t)e->shape[0], err)) &&
        !(st = bi_square_begin(s, &q, what, e->shape[0], e->shape[1], err)) &&
        !(st = bi_square_read(s, &q, a, e, err)) &&
        !(st = bi_square_end(s, &q, ids, e->shape[0] == e->shape[1] ? ids : NULL, err)) &&
        !bi_square_fact(s, &q))
        st = bi_show_no_memory(s, err);
    bi_free(s->env, ids);
    return st;
}

/* [bins, bins, tracks]: the first track. */
static int show_pairs(struct bi_show *s, const struct bi_arrays *a, const struct bi_array_named *m,
                      struct bioinfer_error *err)
{
    const struct bi_array_entry *e = m->e;
    const uint64_t n = e->shape[0], side = at_most(n, most_cells(s)), tracks = e->shape[2];
    struct bi_figure *f = add_heat(s, "Pairs of bins", bi_view_text(&s->view, e->name, m->id_len),
                                   side, side);
    struct bi_heat *h = f ? &f->as.heat : NULL;
    float *row = bi_calloc(s->env, (size_t)(n * tracks), sizeof *row);
    uint64_t *cells = bi_calloc(s->env, (size_t)(side * side), sizeof *cells);
    int st = f && row && cells ? 0 : bi_show_no_memory(s, err);
    for (uint64_t r = 0; r < n && !st; r++) {
        st = bi_arrays_read(a, e, r * n * tracks, n * tracks, row, err);
        for (uint64_t c = 0; c < n && !st; c++) {
            const uint64_t cell = r * side / n * side + c * side / n;
            h->values[cell] += row[c * tracks];
            cells[cell]++;
        }
    }
    if (!st) {
        for (uint64_t i = 0; i < side * side; i++)
            h->values[i] /= (float)cells[i];
        h->scale = BI_SCALE_RANGE;
        h->first = 0;
        h->step = (double)n / (double)side;
        h->row_name = h->column_name = "bin";
        h->value_name = "value of the pair of bins";
        f->note = bi_view_printf(&s->view, "Track 0 of %llu; %llu bins%s.",
                                 (unsigned long long)tracks, (unsigned long long)n,
                                 side < n ? ", a cell is the mean of those it covers" : "");
        bi_heat_range(h);
        st = f->note ? 0 : bi_show_no_memory(s, err);
    }
    bi_free(s->env, cells);
    bi_free(s->env, row);
    return st;
}

/* ---- 3 rows with letters -------------------------------------------------------------- */

enum { MOST_LETTERS = 128 };

struct row_names {
    struct bi_show *s;
    const char **of; /* [n] */
    uint64_t n, met;
};

/* A bi_provenance_take: the name of a row of the figure. */
static int take_name(void *user, const char *name, const char *value, struct bioinfer_error *err)
{
    struct row_names *r = user;
    (void)name;
    if (r->met < r->n && !(r->of[r->met] = bi_view_text(&r->s->view, value, strlen(value))))
        return bi_show_no_memory(r->s, err);
    r->met++;
    return 0;
}

/* Names the rows of a figure as the file beside the output names the columns of the array, where it
 * names all of them. */
static int name_rows(struct bi_show *s, const char *kind, uint64_t n, uint64_t all,
                     struct bi_heat *h, struct bioinfer_error *err)
{
    struct row_names r = {.s = s, .n = n};
    int st;
    if (!(r.of = bi_arena_calloc(&s->view.arena, (size_t)n + 1, sizeof *r.of)))
        return bi_show_no_memory(s, err);
    st = bi_provenance_columns(s->env, s->path, kind, take_name, &r, err);
    if (!st && r.met == all) {
        h->row_names = r.of;
        h->row_name = "token";
    }
    return st;
}

static int show_letters(struct bi_show *s, const struct bi_arrays *a,
                        const struct bi_array_named *m, struct bioinfer_error *err)
{
    static const char amino[] = "ACDEFGHIKLMNPQRSTVWYX"; /* the order of designs */
    const struct bi_array_entry *e = m->e;
    const uint64_t shown = e->shape[0] < BI_VIEW_COLUMNS ? e->shape[0] : BI_VIEW_COLUMNS;
    float row[MOST_LETTERS];
    const uint64_t v = e->shape[1] < MOST_LETTERS ? e->shape[1] : MOST_LETTERS;
    const bool designs = e->shape[1] == 21 &&
                         (!strcmp(m->suffix, "log_probs") || !strcmp(m->suffix, "probs") ||
                          !strcmp(m->suffix, "log-probs"));
    const bool bases = e->shape[1] == 4 && !strcmp(m->suffix, "gradient");
    const char *unit = bi_unit_of_kind(m->suffix);
    struct bi_figure *f = add_heat(s, *m->suffix ? m->suffix : "Values along the sequence",
                                   bi_view_text(&s->view, e->name, m->id_len), v, shown);
    struct bi_heat *h = f ? &f->as.heat : NULL;
    int st = f ? 0 : bi_show_no_memory(s, err);
    for (uint64_t r = 0; r < shown && !st; r++) {
        st = bi_arrays_read(a, e, r * e->shape[1], v, row, err);
        for (uint64_t k = 0; k < v && !st; k++)
            h->values[k * shown + r] = row[k];
    }
    if (st)
        return st;
    if (shown < e->shape[0] || v < e->shape[1])
        f->note = bi_view_printf(&s->view,
                                 "The first %llu of %llu positions and %llu of %llu "
                                 "values.",
                                 (unsigned long long)shown, (unsigned long long)e->shape[0],
                                 (unsigned long long)v, (unsigned long long)e->shape[1]);
    h->scale = bases ? BI_SCALE_DIVERGING : BI_SCALE_RANGE;
    h->row_letters = designs ? amino : bases ? "ACGT" : NULL;
    h->row_name = designs ? "residue type" : bases ? "base" : "value";
    h->column_name = "position";
    h->value_name = !*m->suffix ? "value"
                    : unit      ? bi_view_printf(&s->view, "%s (%s)", m->suffix, unit)
                                : m->suffix;
    bi_heat_range(h);
    if (!h->value_name)
        return bi_show_no_memory(s, err);
    return h->row_letters || !*m->suffix ? 0 : name_rows(s, m->suffix, v, e->shape[1], h, err);
}

/* [bases, 4, tracks]: the first track. The base that is there is the one without a change of any
 * track. */
static int show_changes(struct bi_show *s, const struct bi_arrays *a,
                        const struct bi_array_named *m, struct bioinfer_error *err)
{
    static const char bases[] = "ACGT";
    const struct bi_array_entry *e = m->e;
    const uint64_t shown = at_most(e->shape[0], BI_VIEW_COLUMNS), tracks = e->shape[2];
    struct bi_figure *f = add_heat(s, "Substitutions", bi_view_text(&s->view, e->name, m->id_len),
                                   4, shown);
    struct bi_heat *h = f ? &f->as.heat : NULL;
    float *values = bi_calloc(s->env, (size_t)tracks, sizeof *values);
    char *wild = bi_arena_calloc(&s->view.arena, (size_t)shown + 1, 1);
    int st = f && values && wild ? 0 : bi_show_no_memory(s, err);
    for (uint64_t r = 0; r < shown && !st; r++) {
        int n_same = 0;
        wild[r] = ' ';
        for (uint64_t k = 0; k < 4 && !st; k++) {
            bool same = true;
            st = bi_arrays_read(a, e, (r * 4 + k) * tracks, tracks, values, err);
            for (uint64_t i = 0; i < tracks && !st; i++)
                same = same && values[i] == 0;
            h->values[k * shown + r] = values[0];
            n_same += same;
            wild[r] = same ? bases[k] : wild[r];
        }
        wild[r] = n_same == 1 ? wild[r] : ' ';
    }
    bi_free(s->env, values);
    if (st)
        return st;
    f->note = bi_view_printf(&s->view, "Track 0 of %llu%s.", (unsigned long long)tracks,
                             shown < e->shape[0] ? ", the first positions" : "");
    h->scale = BI_SCALE_DIVERGING;
    h->row_letters = bases;
    h->wild = wild;
    h->row_name = "base";
    h->column_name = "base of the interval";
    h->value_name = "change of the track";
    bi_heat_range(h);
    return 0;
}

/* ---- 4 tracks ------------------------------------------------------------------------- */

static int show_tracks(struct bi_show *s, const struct bi_arrays *a, const struct bi_array_named *m,
                       struct bioinfer_error *err)
{
    const struct bi_array_entry *e = m->e;
    const uint64_t bins = e->shape[0], tracks = e->rank == 1 ? 1 : e->shape[1];
    const uint64_t shown = tracks < BI_VIEW_TRACKS ? tracks : BI_VIEW_TRACKS;
    const uint64_t cells = bins < BI_VIEW_BINS ? bins : BI_VIEW_BINS;
    struct bi_figure *f = bi_view_add(&s->view, BI_FIGURE_TRACKS, "Tracks",
                                      bi_view_text(&s->view, e->name, m->id_len));
    struct bi_shown_tracks *t = f ? &f->as.tracks : NULL;
    float *row = bi_calloc(s->env, (size_t)tracks, sizeof *row);
    int st = f && row ? 0 : bi_show_no_memory(s, err);
    if (!st) {
        *t = (struct bi_shown_tracks){.n_tracks = (uint32_t)shown,
                                      .n_bins = (uint32_t)cells,
                                      .step = (double)bins / (double)cells};
        t->values = bi_arena_calloc(&s->view.arena, (size_t)(shown * cells), sizeof(float));
        t->names = bi_arena_calloc(&s->view.arena, (size_t)shown, sizeof *t->names);
        f->note = bi_view_printf(&s->view, "%llu of %llu tracks%s; %llu bins.",
                                 (unsigned long long)shown, (unsigned long long)tracks,
                                 shown < tracks ? ", evenly chosen" : "", (unsigned long long)bins);
        if (!t->values || !t->names || !f->note)
            st = bi_show_no_memory(s, err);
    }
    for (uint64_t b = 0; b < bins && !st; b++) {
        const uint64_t cell = b * cells / bins;
        if ((st = bi_arrays_read(a, e, b * tracks, tracks, row, err)))
            break;
        for (uint64_t k = 0; k < shown; k++) { /* the farthest from 0 of a cell: peaks stay */
            float *to = &t->values[k * cells + cell];
            const float x = row[bi_view_pick(k, shown, tracks)];
            if (b * cells % bins < cells || !(fabsf(*to) >= fabsf(x)))
                *to = x;
        }
    }
    for (uint64_t k = 0; k < shown && !st; k++)
        if (!(t->names[k] = e->rank == 1 ? m->suffix
                                         : bi_view_printf(
                                               &s->view, "track %llu",
                                               (unsigned long long)bi_view_pick(k, shown, tracks))))
            st = bi_show_no_memory(s, err);
    bi_free(s->env, row);
    return st;
}

/* ---- 5 values -------------------------------------------------------------------------- */

/* A table of all arrays of one name and size: a row for each record. */
static int show_values(struct bi_show *s, const struct bi_arrays *a,
                       const struct bi_array_named *all, const struct bi_array_named *of,
                       struct bioinfer_error *err)
{
    enum { MOST = 24 };
    const size_t width = (size_t)at_most(of->e->n, MOST);
    struct bi_figure *f = bi_view_add(&s->view, BI_FIGURE_TABLE, "Values", of->suffix);
    struct bi_table *t = f ? &f->as.table : NULL;
    const char **ids = bi_arena_calloc(&s->view.arena, a->n, sizeof *ids);
    float row[MOST];
    int st = f && ids && bi_view_columns(&s->view, t, 0, 1 + width) ? 0 : bi_show_no_memory(s, err);
    if (st)
        return st;
    t->columns[0] = (struct bi_shown_column){.name = "id", .texts = ids};
    for (size_t k = 0; k < width && !st; k++) {
        struct bi_shown_column *c = &t->columns[1 + k];
        c->is_number = true;
        c->name = width == 1 ? of->suffix : bi_view_printf(&s->view, "%s %zu", of->suffix, k);
        c->numbers = bi_arena_calloc(&s->view.arena, a->n, sizeof *c->numbers);
        st = c->name && c->numbers ? 0 : bi_show_no_memory(s, err);
    }
    for (size_t i = 0; i < a->n && !st && t->n_rows < BI_VIEW_ROWS; i++) {
        const struct bi_array_named *m = &all[i];
        if (m->kind != BI_ARRAY_VALUES || strcmp(m->suffix, of->suffix) || m->e->n != of->e->n ||
            !bi_view_wants(&s->view, m->e->name, m->id_len))
            continue;
        if ((st = bi_arrays_read(a, m->e, 0, width, row, err)))
            break;
        for (size_t k = 0; k < width; k++)
            t->columns[1 + k].numbers[t->n_rows] = row[k];
        if (!(ids[t->n_rows++] = bi_view_text(&s->view, m->e->name, m->id_len)))
            st = bi_show_no_memory(s, err);
    }
    return st;
}

/* A table for each name and size of arrays of values. */
static int show_all_values(struct bi_show *s, const struct bi_arrays *a,
                           const struct bi_array_named *all, struct bioinfer_error *err)
{
    const struct bi_array_named *made[BI_VIEW_HEATS];
    size_t n = 0;
    int st = 0;
    for (size_t i = 0; i < a->n && !st && n < BI_VIEW_HEATS; i++) {
        bool before = all[i].kind != BI_ARRAY_VALUES;
        for (size_t k = 0; k < n && !before; k++)
            before = !strcmp(made[k]->suffix, all[i].suffix) && made[k]->e->n == all[i].e->n;
        if (!before)
            st = show_values(s, a, all, made[n++] = &all[i], err);
    }
    return st;
}

/* ---- 6 all ----------------------------------------------------------------------------- */

static int show_each(struct bi_show *s, const struct bi_arrays *a, const struct bi_array_named *all,
                     enum bi_array_kind kind, const char *what,
                     int (*show)(struct bi_show *s, const struct bi_arrays *a,
                                 const struct bi_array_named *m, struct bioinfer_error *err),
                     struct bioinfer_error *err)
{
    struct bi_figure **before = s->view.last_figure;
    uint64_t n = 0, shown, at = 0, made = 0;
    int st = 0;
    for (size_t i = 0; i < a->n; i++)
        n += all[i].kind == kind;
    shown = s->one || n < BI_VIEW_HEATS ? n : BI_VIEW_HEATS;
    for (size_t i = 0; i < a->n && !st; i++) {
        if (all[i].kind != kind)
            continue;
        if (s->view.record) {
            if (bi_view_wants(&s->view, all[i].e->name, all[i].id_len) && made++ < BI_VIEW_HEATS)
                st = show(s, a, &all[i], err);
        } else if (at++ >= bi_view_pick(made, shown, n) && made < shown) {
            made++;
            st = show(s, a, &all[i], err);
        }
    }
    before = before ? before : &s->view.figures;
    if (!st && made && made < n && *before)
        (*before)->note = bi_view_printf(
            &s->view, "%llu of %llu %s, %s.%s%s", (unsigned long long)made, (unsigned long long)n,
            what, s->view.record ? "of the record asked for" : "evenly chosen; --record shows one",
            (*before)->note ? " " : "", (*before)->note ? (*before)->note : "");
    return st;
}

int bi_show_arrays(struct bi_show *s, const struct bi_arrays *a, struct bioinfer_error *err)
{
    static const struct {
        enum bi_array_kind kind;
        const char *what, *records; /* a word for the output, and for what has such an array */
        int (*show)(struct bi_show *s, const struct bi_arrays *a, const struct bi_array_named *m,
                    struct bioinfer_error *err);
    } kinds[] = {{BI_ARRAY_VECTOR, "embeddings", NULL, NULL},
                 {BI_ARRAY_RESIDUES, "embeddings of residues", NULL, NULL},
                 {BI_ARRAY_MATRIX, "embeddings", NULL, NULL},
                 {BI_ARRAY_SQUARE, "values of pairs of records", NULL, NULL},
                 {BI_ARRAY_VALUES, "values of records", NULL, NULL},
                 {BI_ARRAY_CONTACTS, "contact maps", "contact maps", show_map},
                 {BI_ARRAY_PAIRS, "tracks of pairs of bins", "windows", show_pairs},
                 {BI_ARRAY_TRACKS, "tracks", "windows", show_tracks},
                 {BI_ARRAY_CHANGES, "effects of substitutions", "intervals", show_changes},
                 {BI_ARRAY_LETTERS, "values along sequences", "arrays", show_letters},
                 {BI_ARRAY_ATTENTIONS, "attention", "arrays", show_map},
                 {BI_ARRAY_PLAIN, "matrices", "matrices", show_plain}};
    struct bi_array_named *all = bi_calloc(s->env, a->n + 1, sizeof *all);
    uint64_t counts[BI_ARRAY_KINDS] = {0};
    /* every line of our JSON names the kinds of its arrays */
    const bool unnamed = !a->kinds && !a->model && strcmp(a->format, "jsonl");
    const char *what = "";
    int st = all ? bi_arrays_tell(a, all, err) : bi_show_no_memory(s, err);
    for (size_t i = 0; i < a->n && !st; i++)
        counts[all[i].kind]++;
    for (size_t k = 0; k < BI_COUNT(kinds) && !st; k++)
        if (counts[kinds[k].kind] && what)
            what = bi_view_printf(&s->view, "%s%s%s", what, *what ? ", " : "",
                                  kinds[k].kind == BI_ARRAY_VECTOR && unnamed ? "vectors"
                                                                              : kinds[k].what);
    if (!st && what && *what)
        s->view.kind = what;
    for (size_t k = 0; k < BI_COUNT(kinds) && !st; k++)
        if (kinds[k].show)
            st = show_each(s, a, all, kinds[k].kind, kinds[k].records, kinds[k].show, err);
    if (!st && counts[BI_ARRAY_VECTOR])
        st = show_vectors(s, a, all, BI_ARRAY_VECTOR, err);
    else if (!st && counts[BI_ARRAY_RESIDUES])
        st = show_vectors(s, a, all, BI_ARRAY_RESIDUES, err);
    if (!st)
        st = show_matrix(s, a, all, err);
    if (!st)
        st = show_square(s, a, all, err);
    if (!st)
        st = show_all_values(s, a, all, err);
    bi_free(s->env, all);
    return st;
}

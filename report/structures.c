/* structures.c - structures of a file, or of a folder that `bioinfer fold` has written: a trace
 * through CA atoms (of nucleotides P), pLDDT along the chains, aligned errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../loaders/structure.h"
#include "../writers/folder_out.h"
#include "show.h"

static const char scores_head[] = "id\tsample\tplddt\t";

/* ---- 1 the trace of one structure ---- */

/* The atom that stands for its residue; of alternates the first. */
static bool is_traced(const struct bi_atom *a, const struct bi_atom *last)
{
    const bool protein = !strcmp(a->name, "CA") && strcmp(a->element, "CA") != 0;
    if ((!protein && strcmp(a->name, "P") != 0) || a->het || a->model != 1 ||
        !isfinite(a->x[0] + a->x[1] + a->x[2]))
        return false;
    return !last || last->number != a->number || last->icode != a->icode ||
           strcmp(last->chain, a->chain) != 0;
}

/* CA atoms of neighbours are 3.8 angstrom apart, of a cis bond less; P atoms 5 to 7.5. */
static bool is_joined(const struct bi_atom *a, const struct bi_atom *b)
{
    const double most = a->name[0] == 'P' ? 9 : 4.6;
    double d = 0;
    for (int k = 0; k < 3; k++)
        d += ((double)a->x[k] - b->x[k]) * ((double)a->x[k] - b->x[k]);
    return !strcmp(a->chain, b->chain) && d < most * most;
}

/* Turns the points so that they are widest along x, then y, and z points at the viewer. */
static int turn(struct bi_show *s, struct bi_trace *t, const float *x, struct bioinfer_error *err)
{
    float centre[3], to[3][3], *copy = bi_alloc(s->env, 3 * (size_t)t->n * sizeof *copy);
    double share[2];
    int st;
    if (!copy)
        return bi_show_no_memory(s, err);
    memcpy(copy, x, 3 * (size_t)t->n * sizeof *copy);
    st = bi_pca(s->env, copy, t->n, 3, centre, to[0], share, err);
    bi_free(s->env, copy);
    if (st)
        return st;
    for (int k = 0; k < 3; k++)
        to[2][k] = to[0][(k + 1) % 3] * to[1][(k + 2) % 3] -
                   to[0][(k + 2) % 3] * to[1][(k + 1) % 3];
    for (uint32_t i = 0; i < t->n; i++) {
        float *axes[3] = {t->x, t->y, t->z};
        for (int k = 0; k < 3; k++) {
            axes[k][i] = 0;
            for (int c = 0; c < 3; c++)
                axes[k][i] += to[k][c] * (x[3 * i + c] - centre[c]);
        }
    }
    return 0;
}

static bool make_room(struct bi_show *s, struct bi_trace *t)
{
    struct bi_arena *a = &s->view.arena;
    const size_t n = t->n;
    return (t->x = bi_arena_calloc(a, n, sizeof *t->x)) &&
           (t->y = bi_arena_calloc(a, n, sizeof *t->y)) &&
           (t->z = bi_arena_calloc(a, n, sizeof *t->z)) &&
           (t->value = bi_arena_calloc(a, n, sizeof *t->value)) &&
           (t->starts = bi_arena_calloc(a, n, sizeof *t->starts)) &&
           (t->labels = bi_arena_calloc(a, n, sizeof *t->labels));
}

/* Fills the trace from a structure of which t->n residues are taken. */
static int fill_trace(struct bi_show *s, struct bi_trace *t, const struct bi_structure *from,
                      struct bioinfer_error *err)
{
    float *x = bi_alloc(s->env, 3 * (size_t)t->n * sizeof *x);
    const struct bi_atom *last = NULL;
    uint32_t n = 0;
    int st = x && make_room(s, t) ? 0 : bi_show_no_memory(s, err);
    for (size_t i = 0; i < from->n_atoms && n < t->n && !st; i++) {
        const struct bi_atom *a = &from->atoms[i];
        if (!is_traced(a, last))
            continue;
        if (!last || !is_joined(last, a))
            t->starts[t->n_starts++] = n;
        last = a;
        memcpy(x + 3 * (size_t)n, a->x, sizeof a->x);
        t->value[n] = a->b;
        if (!(t->labels[n++] = bi_view_printf(&s->view, "%s%s%d%.1s %s", a->chain,
                                              *a->chain ? " " : "", (int)a->number,
                                              a->icode == ' ' ? "" : &a->icode, a->residue)))
            st = bi_show_no_memory(s, err);
    }
    if (!st)
        st = turn(s, t, x, err);
    bi_free(s->env, x);
    return st;
}

/* pLDDT along the chains, a track each. */
static int add_confidence(struct bi_show *s, const char *title, const struct bi_trace *trace,
                          struct bioinfer_error *err)
{
    uint32_t first[BI_VIEW_TRACKS + 1], n = 0, longest = 0, end = trace->n;
    struct bi_shown_tracks t = {.start = 1, .step = 1, .place = "residue of the chain"};
    struct bi_figure *f;
    for (uint32_t i = 0; i < end; i++) {
        const size_t chain = strcspn(trace->labels[i], " ");
        if (i && strcspn(trace->labels[i - 1], " ") == chain &&
            !strncmp(trace->labels[i], trace->labels[i - 1], chain))
            continue;
        if (n < BI_VIEW_TRACKS)
            first[n++] = i;
        else
            end = i;
    }
    first[n] = end;
    for (uint32_t k = 0; k < n; k++)
        longest = first[k + 1] - first[k] > longest ? first[k + 1] - first[k] : longest;
    t.n_tracks = n;
    t.n_bins = longest;
    t.values = bi_arena_calloc(&s->view.arena, (size_t)n * longest, sizeof *t.values);
    t.names = bi_arena_calloc(&s->view.arena, n, sizeof *t.names);
    if (!t.values || !t.names ||
        !(f = bi_view_add(&s->view, BI_FIGURE_TRACKS, "Confidence", title)))
        return bi_show_no_memory(s, err);
    for (uint32_t k = 0; k < n; k++) {
        const char *label = trace->labels[first[k]];
        if (!(t.names[k] = bi_view_printf(&s->view, "pLDDT, chain %.*s", (int)strcspn(label, " "),
                                          label)))
            return bi_show_no_memory(s, err);
        for (uint32_t i = 0; i < longest; i++)
            t.values[k * longest + i] = first[k] + i < first[k + 1] ? trace->value[first[k] + i]
                                                                    : NAN;
    }
    f->as.tracks = t;
    if (end < trace->n)
        f->note = bi_view_printf(&s->view, "The first %u chains.", n);
    return end == trace->n || f->note ? 0 : bi_show_no_memory(s, err);
}

/* Adds the structure of a file. *n_residues: how many it has, 0 = no trace was made. */
static int add_trace(struct bi_show *s, const char *path, const char *title, bool is_plddt,
                     struct bi_structure *from, uint32_t *n_residues, struct bioinfer_error *err)
{
    struct bi_trace t = {.is_plddt = is_plddt};
    const struct bi_atom *last = NULL;
    struct bi_figure *f;
    int st = bi_structure_open(from, s->env, path, err);
    *n_residues = 0;
    for (size_t i = 0; i < from->n_atoms && !st; i++)
        if (is_traced(&from->atoms[i], last)) {
            last = &from->atoms[i];
            ++*n_residues;
        }
    if (st || !*n_residues)
        return st;
    t.n = *n_residues < BI_VIEW_RESIDUES ? *n_residues : BI_VIEW_RESIDUES;
    if ((st = fill_trace(s, &t, from, err)))
        return st;
    if (!(f = bi_view_add(&s->view, BI_FIGURE_TRACE, "Structures", title)))
        return bi_show_no_memory(s, err);
    f->as.trace = t;
    if (t.n < *n_residues &&
        !(f->note = bi_view_printf(&s->view, "The first %u of %u residues.", t.n, *n_residues)))
        return bi_show_no_memory(s, err);
    return is_plddt ? add_confidence(s, title, &t, err) : 0;
}

int bi_show_structure(struct bi_show *s, struct bioinfer_error *err)
{
    struct bi_structure from = {.env = s->env};
    uint32_t n;
    int st = add_trace(s, s->path, s->view.title, false, &from, &n, err);
    s->view.kind = "a structure";
    if (!st && !n)
        st = bi_fail(err, BIOINFER_EMPTY,
                     "%s: no CA of a residue and no P of a nucleotide: nothing to show", s->path);
    if (!st && (!bi_view_fact(&s->view, "Residues", "%u", n) ||
                !bi_view_fact(&s->view, "Atoms", "%zu", from.n_atoms) ||
                !bi_view_fact(&s->view, "Format", "%s", from.format)))
        st = bi_show_no_memory(s, err);
    bi_structure_close(&from);
    return st;
}

/* ---- 2 a folder of folds ---- */

bool bi_is_folds(const struct bi_env *env, const char *path)
{
    struct bi_file file = BI_FILE_NONE;
    struct bi_buf name = {.env = env};
    char head[sizeof scores_head] = "";
    bool is;
    bi_buf_printf(&name, "%s/scores.tsv", path);
    is = !name.failed && !bi_file_open(&file, env, name.data, NULL) &&
         !bi_file_read(&file, 0, head, sizeof head - 1, NULL) && !strcmp(head, scores_head);
    bi_file_close(&file);
    bi_buf_free(&name);
    return is;
}

static const struct bi_shown_column *column(const struct bi_table *t, const char *name)
{
    for (size_t k = 0; k < t->n_columns; k++)
        if (!strcmp(t->columns[k].name, name))
            return &t->columns[k];
    return NULL;
}

struct order {
    double by;
    size_t i;
};

static int compare_order(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (isnan(x->by) || isnan(y->by) || x->by == y->by)
        return isnan(x->by) != isnan(y->by) ? (isnan(x->by) ? 1 : -1)
                                            : (x->i > y->i) - (x->i < y->i);
    return x->by < y->by ? 1 : -1;
}

/* Sorts the rows of a table by a column of numbers, the largest first. */
static int sort_rows(struct bi_show *s, struct bi_table *t, const struct bi_shown_column *by,
                     struct bioinfer_error *err)
{
    struct order *order = bi_calloc(s->env, t->n_rows + 1, sizeof *order);
    double *numbers = bi_calloc(s->env, t->n_rows + 1, sizeof *numbers);
    const char **texts = bi_calloc(s->env, t->n_rows + 1, sizeof *texts);
    const bool ok = order && numbers && texts;
    for (size_t i = 0; i < t->n_rows && ok; i++)
        order[i] = (struct order){by->numbers[i], i};
    if (ok)
        qsort(order, t->n_rows, sizeof *order, compare_order);
    for (size_t k = 0; k < t->n_columns && ok; k++) {
        struct bi_shown_column *c = &t->columns[k];
        for (size_t i = 0; i < t->n_rows; i++) {
            numbers[i] = c->numbers[order[i].i];
            texts[i] = c->texts[order[i].i];
        }
        memcpy(c->numbers, numbers, t->n_rows * sizeof *numbers);
        memcpy(c->texts, texts, t->n_rows * sizeof *texts);
    }
    bi_free(s->env, order);
    bi_free(s->env, numbers);
    bi_free(s->env, texts);
    return ok ? 0 : bi_show_no_memory(s, err);
}

/* Adds the aligned errors of a record's arrays; nothing where there are none. */
static int add_errors(struct bi_show *s, const char *path, const char *title,
                      struct bioinfer_error *err)
{
    struct bi_arrays a = {.arena = {.env = s->env}, .file = BI_FILE_NONE};
    struct bi_square_view q;
    bool is_arrays;
    int st = bi_arrays_open(&a, path, &is_arrays, err);
    for (size_t i = 0; i < a.n && !st; i++) {
        const struct bi_array_entry *e = &a.entries[i];
        if (strcmp(e->name, "pae") != 0 || e->rank != 2 || !e->shape[0] || !e->shape[1])
            continue;
        if ((st = bi_square_begin(s, &q, "aligned error, angstrom", e->shape[0], e->shape[1], err)))
            break;
        q.figure->group = "Aligned errors";
        q.figure->title = title;
        q.figure->as.heat.row_name = "aligned on residue";
        q.figure->as.heat.column_name = "error of residue";
        if (!(st = bi_square_read(s, &q, &a, e, err)))
            st = bi_square_end(s, &q, NULL, NULL, err);
    }
    bi_arrays_close(&a);
    return st;
}

/* The columns of scores.tsv by which files are found; seeds and samples may be NULL. */
struct scores {
    const struct bi_shown_column *ids, *plddt, *seeds, *samples;
};

/* The number of a row as it stands, of digits alone; NULL: there is none. */
static const char *digits(const struct bi_shown_column *of, size_t row)
{
    const char *text = of ? of->texts[row] : "";
    const size_t n = strlen(text);
    return n && n < 20 && strspn(text, "0123456789") == n ? text : NULL;
}

/* Adds the figures of a row; files of NAME.cif, NAME.pdb and NAME.npz that are there. */
static int add_record(struct bi_show *s, const char *folder, const struct scores *of, size_t row,
                      struct bioinfer_error *err)
{
    static const char *const suffixes[] = {"cif", "pdb"};
    struct bi_buf name = {.env = s->env};
    const char *id = of->ids->texts[row], *path;
    const char *seed = digits(of->seeds, row), *sample = digits(of->samples, row);
    const bool drawn = seed && sample;
    const double plddt = of->plddt->numbers[row];
    const char *title = drawn ? bi_view_printf(&s->view, "%s, seed %s, sample %s, pLDDT %.3f", id,
                                               seed, sample, plddt)
                              : bi_view_printf(&s->view, "%s, pLDDT %.3f", id, plddt);
    struct bi_structure from = {.env = s->env};
    uint32_t n = 0;
    int st = title ? 0 : bi_show_no_memory(s, err);
    bi_folder_out_name(&name, id);
    if (drawn)
        bi_buf_printf(&name, "_seed-%s_sample-%s", seed, sample);
    for (size_t k = 0; k < BI_COUNT(suffixes) && !st && !n; k++) {
        path = name.failed ? NULL
                           : bi_view_printf(&s->view, "%s/%.*s.%s", folder, (int)name.size,
                                            name.data, suffixes[k]);
        if (!path)
            st = bi_show_no_memory(s, err);
        else if (bi_path_exists(path)) {
            st = add_trace(s, path, title, true, &from, &n, err);
            bi_structure_close(&from);
        }
    }
    if (!st && !(path = bi_view_printf(&s->view, "%s/%.*s.npz", folder, (int)name.size, name.data)))
        st = bi_show_no_memory(s, err);
    if (!st && bi_path_exists(path))
        st = add_errors(s, path, title, err);
    bi_buf_free(&name);
    return st;
}

/* Is a row of its id before this one? */
static bool is_again(const struct bi_shown_column *ids, size_t row)
{
    size_t i = 0;
    while (i < row && strcmp(ids->texts[i], ids->texts[row]) != 0)
        i++;
    return i < row;
}

int bi_show_folds(struct bi_show *s, struct bioinfer_error *err)
{
    const char *folder = s->path;
    struct scores of;
    struct bi_figure *f;
    size_t shown = 0;
    int st;
    if (!(s->path = bi_view_printf(&s->view, "%s/scores.tsv", folder))) {
        s->path = folder;
        return bi_show_no_memory(s, err);
    }
    s->view.kind = "structures";
    if ((st = bi_show_table(s, err)))
        return st;
    for (f = s->view.figures; f && f->kind != BI_FIGURE_TABLE; f = f->next)
        ;
    of = f ? (struct scores){column(&f->as.table, "id"), column(&f->as.table, "plddt"),
                             column(&f->as.table, "seed"), column(&f->as.table, "sample")}
           : (struct scores){NULL, NULL, NULL, NULL};
    if (!of.ids || !of.plddt || !of.plddt->is_number)
        return bi_fail(err, BIOINFER_FORMAT, "%s: expected columns id and plddt, of numbers",
                       s->path);
    if ((st = sort_rows(s, &f->as.table, of.plddt, err)))
        return st;
    f->title = "Records, the most confident first";
    if (f->note && !s->view.record)
        f->title = "Some of the records, the most confident first";
    for (size_t i = 0; i < f->as.table.n_rows && shown < BI_VIEW_TRACES && !st; i++)
        if (!is_again(of.ids, i)) { /* the best of each record */
            st = add_record(s, folder, &of, i, err);
            shown++;
        }
    if (!st && !bi_view_fact(&s->view, "Structures", "%zu%s", f->as.table.n_rows,
                             f->note                      ? " of more, evenly chosen"
                             : shown < f->as.table.n_rows ? ", the best are drawn"
                                                          : ""))
        st = bi_show_no_memory(s, err);
    return st;
}

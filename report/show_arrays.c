/* show_arrays.c - arrays of an output as figures. The name of an array says what it is where
 * several kinds were computed ("ID/contacts"); where it is the id alone, its shape and the manifest
 * say it.
 *
 *   1  what an array is    2  vectors    3  maps    4  rows with letters    5  tracks    6  all */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "show.h"

/* ---- 1 what an array is ------------------------------------------------------------- */

enum kind {
    OTHER,
    VECTOR,     /* [D] */
    RESIDUES,   /* [L, D] */
    CONTACTS,   /* [L, L] */
    ATTENTIONS, /* [layers, heads, L, L] */
    LETTERS,    /* [L, V]: logits, log-probabilities */
    TRACKS,     /* [bins, tracks] */
    CHANGES,    /* [bases, 4, tracks] */
    MATRIX,     /* [N, D], a row for each record */
    IDS,
    N_KINDS
};

static const struct {
    const char *suffix;
    enum kind kind;
} suffixes[] = {{"mean", VECTOR},       {"bos", VECTOR},           {"head", OTHER},
                {"contacts", CONTACTS}, {"per-residue", RESIDUES}, {"attentions", ATTENTIONS},
                {"logits", LETTERS},    {"log_probs", LETTERS},    {"probs", LETTERS},
                {"S", OTHER},           {"scores", OTHER},         {"mask", OTHER},
                {"design_mask", OTHER}, {"class-logits", OTHER}};

struct named {
    const struct bi_array_entry *e;
    enum kind kind;
    const char *suffix; /* one of suffixes[]; "" = told by shape */
    size_t id_len;      /* bytes of e->name */
    int layer;          /* -1 = none */
};

/* The name ID/layer_N/KIND or ID/KIND in its parts; false where no kind stands at its end. */
static bool read_name(struct named *a)
{
    const char *name = a->e->name, *last = strrchr(name, '/'), *layer;
    a->layer = -1;
    a->suffix = "";
    a->id_len = strlen(name);
    for (size_t k = 0; last && k < BI_COUNT(suffixes); k++)
        if (!strcmp(last + 1, suffixes[k].suffix)) {
            a->suffix = suffixes[k].suffix;
            a->kind = suffixes[k].kind;
        }
    if (!*a->suffix)
        return false;
    a->id_len = (size_t)(last - name);
    for (layer = last; layer > name && layer[-1] != '/'; layer--)
        ;
    if (layer > name && !strncmp(layer, "layer_", 6) && strspn(layer + 6, "0123456789") < 6) {
        a->layer = 0;
        for (const char *c = layer + 6; *c >= '0' && *c <= '9'; c++)
            a->layer = 10 * a->layer + (*c - '0');
        a->id_len = (size_t)(layer - 1 - name);
    }
    return true;
}

/* Whether values that were read of the middle of a square array can be contacts: probabilities. */
static int looks_like_contacts(const struct bi_arrays *a, const struct bi_array_entry *e, bool *yes,
                               struct bioinfer_error *err)
{
    float row[64];
    const uint64_t n = e->shape[0] < 64 ? e->shape[0] : 64;
    const int st = bi_arrays_read(a, e, e->shape[0] / 2 * e->shape[0], n, row, err);
    *yes = !st;
    for (uint64_t i = 0; !st && i < n; i++)
        *yes = *yes && row[i] >= 0 && row[i] <= 1;
    return st;
}

static int tell_kind(const struct bi_show *s, const struct bi_arrays *a, struct named *m,
                     struct bioinfer_error *err)
{
    const struct bi_array_entry *e = m->e;
    uint64_t length = 0;
    const bool known = bi_map_find(&s->manifest.lengths_by_id, e->name, m->id_len, &length);
    bool square = e->rank == 2 && e->shape[0] == e->shape[1] && e->shape[0] > 1;
    int st = 0;
    m->kind = OTHER;
    if (e->rank > BI_ARRAY_RANK || !e->n)
        return 0;
    if (!strcmp(e->name, "ids") && a->n == 2) {
        m->kind = IDS;
        return 0;
    }
    if (e->dtype == BI_DTYPE_COUNT)
        return 0;
    if (e->rank == 2 && ((a->n == 2 && !strcmp(e->name, "embeddings")) || !*e->name)) {
        m->kind = MATRIX;
        return 0;
    }
    if (square && (!known || length == e->shape[0]) &&
        (st = looks_like_contacts(a, e, &square, err)))
        return st;
    if (square)
        m->kind = CONTACTS;
    else if (e->rank == 1)
        m->kind = VECTOR;
    else if (e->rank == 2 && known && length == e->shape[0])
        m->kind = e->shape[1] <= 64 ? LETTERS : RESIDUES;
    else if (e->rank == 2)
        m->kind = TRACKS;
    else if (e->rank == 3 && e->shape[1] == 4)
        m->kind = CHANGES;
    else if (e->rank == 4 && e->shape[2] == e->shape[3])
        m->kind = ATTENTIONS;
    return 0;
}

/* Whether the array has the rank that its name promises. */
static bool fits(const struct named *m)
{
    const struct bi_array_entry *e = m->e;
    switch (m->kind) {
    case VECTOR:
        return e->rank == 1;
    case RESIDUES:
    case LETTERS:
        return e->rank == 2;
    case CONTACTS:
        return e->rank == 2 && e->shape[0] == e->shape[1];
    case ATTENTIONS:
        return e->rank == 4 && e->shape[2] == e->shape[3];
    default:
        return true;
    }
}

/* ---- 2 vectors ----------------------------------------------------------------------- */

struct vectors {
    const struct bi_arrays *a;
    const struct named **at; /* place of each vector; NULL where the rows of `matrix` are */
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

static int show_vectors(struct bi_show *s, const struct bi_arrays *a, const struct named *all,
                        enum kind kind, struct bioinfer_error *err)
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
        const struct named *m = &all[i];
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
                             kind == RESIDUES       ? "means of the vectors of residues"
                             : !strcmp(what, "bos") ? "vectors of the first token"
                             : lowest < layer       ? "vectors of the last layer in the file"
                                                    : "vectors of records",
                             err);
    bi_free(s->env, v.at);
    bi_free(s->env, ids);
    return st;
}

/* The ids of a matrix: the array of texts beside it, or the file of ids of an npy. */
struct id_lines {
    const struct bi_show *s;
    struct bi_arena *arena;
    const char **ids;
    size_t n, most;
};

static int take_id(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct id_lines *l = user;
    (void)number;
    if (l->n == l->most)
        return 1;
    l->ids[l->n] = bi_arena_strndup(l->arena, line, n < BI_VIEW_TEXT ? n : BI_VIEW_TEXT);
    return l->ids[l->n++] ? 0 : bi_show_no_memory(l->s, err);
}

/* A bi_array_take_text. */
static int take_text(void *user, size_t i, const char *text)
{
    struct id_lines *l = user;
    const size_t n = strlen(text);
    l->ids[i] = bi_arena_strndup(l->arena, text, n < BI_VIEW_TEXT ? n : BI_VIEW_TEXT);
    return l->ids[i] ? 0 : BIOINFER_NOMEM;
}

static int read_ids(struct bi_show *s, const struct bi_arrays *a, const struct bi_array_entry *set,
                    const char **ids, size_t n, struct bioinfer_error *err)
{
    const size_t stem = strlen(s->path) > 4 ? strlen(s->path) - 4 : 0;
    struct id_lines l = {.s = s, .arena = &s->view.arena, .ids = ids, .most = n};
    char *side;
    int st;
    for (size_t i = 0; i < n; i++)
        if (!(ids[i] = bi_view_printf(&s->view, "row %zu", i)))
            return bi_show_no_memory(s, err);
    if (set) {
        st = bi_arrays_texts(a, set, n, take_text, &l, err);
        return st == BIOINFER_NOMEM ? bi_show_no_memory(s, err) : st;
    }
    if (!(side = bi_view_printf(&s->view, "%.*s.ids.txt", (int)stem, s->path)))
        return bi_show_no_memory(s, err);
    return bi_path_is_regular(side) ? bi_lines_each(s->env, side, take_id, &l, err) : 0;
}

static int show_matrix(struct bi_show *s, const struct bi_arrays *a, const struct named *all,
                       struct bioinfer_error *err)
{
    struct vectors v = {.a = a};
    const struct bi_array_entry *set = NULL;
    const char **ids;
    size_t n;
    int st;
    for (size_t i = 0; i < a->n; i++) {
        v.matrix = all[i].kind == MATRIX ? all[i].e : v.matrix;
        set = all[i].kind == IDS ? all[i].e : set;
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

/* ---- 3 maps -------------------------------------------------------------------------- */

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

static int show_map(struct bi_show *s, const struct bi_arrays *a, const struct named *m,
                    struct bioinfer_error *err)
{
    const struct bi_array_entry *e = m->e;
    const uint64_t length = e->shape[e->rank - 1], most = s->one ? BI_VIEW_ONE_SIDE : BI_VIEW_SIDE;
    const uint64_t side = length < most ? length : most;
    const uint64_t maps = m->kind == ATTENTIONS ? e->shape[0] * e->shape[1] : 1;
    struct bi_figure *f = add_heat(s, m->kind == ATTENTIONS ? "Attention" : "Contacts",
                                   bi_view_text(&s->view, e->name, m->id_len), side, side);
    struct bi_heat *h = f ? &f->as.heat : NULL;
    int st = f ? 0 : bi_show_no_memory(s, err);
    for (uint64_t k = 0; k < maps && !st; k++)
        st = pool(s, a, e, k * length * length, length, length, h, err);
    if (st)
        return st;
    for (size_t i = 0; i < (size_t)side * side; i++)
        h->values[i] /= (float)maps;
    h->scale = m->kind == CONTACTS ? BI_SCALE_UNIT : BI_SCALE_RANGE;
    if (m->kind == ATTENTIONS) /* the model's own tokens are among them */
        h->row_name = h->column_name = "token";
    h->value_name = m->kind == CONTACTS ? "probability of a contact"
                                        : "attention, mean over layers and heads";
    note_pooled(s, f, length);
    bi_heat_range(h);
    return 0;
}

/* ---- 4 rows with letters -------------------------------------------------------------- */

enum { MOST_LETTERS = 128 };

static int show_letters(struct bi_show *s, const struct bi_arrays *a, const struct named *m,
                        struct bioinfer_error *err)
{
    static const char amino[] = "ACDEFGHIKLMNPQRSTVWYX"; /* the order of designs */
    const struct bi_array_entry *e = m->e;
    const uint64_t shown = e->shape[0] < BI_VIEW_COLUMNS ? e->shape[0] : BI_VIEW_COLUMNS;
    float row[MOST_LETTERS];
    const uint64_t v = e->shape[1] < MOST_LETTERS ? e->shape[1] : MOST_LETTERS;
    const bool designs = e->shape[1] == 21 && strcmp(m->suffix, "logits");
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
    h->scale = BI_SCALE_RANGE;
    h->row_letters = designs ? amino : NULL;
    h->row_name = designs ? "residue type" : "value";
    h->column_name = "position";
    h->value_name = *m->suffix ? m->suffix : "value";
    bi_heat_range(h);
    return 0;
}

/* [bases, 4, tracks]: the first track. */
static int show_changes(struct bi_show *s, const struct bi_arrays *a, const struct named *m,
                        struct bioinfer_error *err)
{
    const struct bi_array_entry *e = m->e;
    const uint64_t shown = e->shape[0] < BI_VIEW_COLUMNS ? e->shape[0] : BI_VIEW_COLUMNS;
    struct bi_figure *f = add_heat(s, "Substitutions", bi_view_text(&s->view, e->name, m->id_len),
                                   4, shown);
    struct bi_heat *h = f ? &f->as.heat : NULL;
    int st = f ? 0 : bi_show_no_memory(s, err);
    for (uint64_t r = 0; r < shown && !st; r++)
        for (uint64_t k = 0; k < 4 && !st; k++)
            st = bi_arrays_read(a, e, (r * 4 + k) * e->shape[2], 1, &h->values[k * shown + r], err);
    if (st)
        return st;
    f->note = bi_view_printf(&s->view, "Track 0 of %llu%s.", (unsigned long long)e->shape[2],
                             shown < e->shape[0] ? ", the first positions" : "");
    h->scale = BI_SCALE_DIVERGING;
    h->row_letters = "ACGT";
    h->row_name = "base";
    h->column_name = "base of the interval";
    h->value_name = "change of the track";
    bi_heat_range(h);
    return 0;
}

/* ---- 5 tracks ------------------------------------------------------------------------- */

static int show_tracks(struct bi_show *s, const struct bi_arrays *a, const struct named *m,
                       struct bioinfer_error *err)
{
    const struct bi_array_entry *e = m->e;
    const uint64_t bins = e->shape[0], tracks = e->shape[1];
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
        for (uint64_t k = 0; k < shown; k++) { /* the largest of a cell: peaks stay */
            float *to = &t->values[k * cells + cell];
            const float x = row[bi_view_pick(k, shown, tracks)];
            if (b * cells % bins < cells || !(*to >= x))
                *to = x;
        }
    }
    for (uint64_t k = 0; k < shown && !st; k++)
        if (!(t->names[k] = bi_view_printf(&s->view, "track %llu",
                                           (unsigned long long)bi_view_pick(k, shown, tracks))))
            st = bi_show_no_memory(s, err);
    bi_free(s->env, row);
    return st;
}

/* ---- 6 all ----------------------------------------------------------------------------- */

static int show_each(struct bi_show *s, const struct bi_arrays *a, const struct named *all,
                     enum kind kind, const char *what,
                     int (*show)(struct bi_show *s, const struct bi_arrays *a,
                                 const struct named *m, struct bioinfer_error *err),
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
    struct named *all = bi_calloc(s->env, a->n + 1, sizeof *all);
    static const char *const names[N_KINDS] = {[VECTOR] = "embeddings",
                                               [RESIDUES] = "embeddings of residues",
                                               [CONTACTS] = "contact maps",
                                               [ATTENTIONS] = "attention",
                                               [LETTERS] = "values of tokens",
                                               [TRACKS] = "tracks",
                                               [CHANGES] = "effects of substitutions",
                                               [MATRIX] = "embeddings"};
    uint64_t counts[N_KINDS] = {0};
    const char *what = "";
    int st = all ? 0 : bi_show_no_memory(s, err);
    for (size_t i = 0; i < a->n && !st; i++) {
        all[i].e = &a->entries[i];
        if (!read_name(&all[i]))
            st = tell_kind(s, a, &all[i], err);
        else if (!fits(&all[i]))
            st = bi_fail(err, BIOINFER_FORMAT,
                         "%s: array '%.200s' has %d dimensions, which %s have not", s->path,
                         a->entries[i].name, a->entries[i].rank, all[i].suffix);
        if (!a->entries[i].n)
            all[i].kind = OTHER; /* nothing to show */
        counts[all[i].kind]++;
    }
    for (int k = 0; k < N_KINDS && !st; k++)
        if (counts[k] && names[k])
            what = bi_view_printf(&s->view, "%s%s%s", what ? what : "", what && *what ? ", " : "",
                                  names[k]);
    if (!st && what && *what)
        s->view.kind = what;
    if (!st)
        st = show_each(s, a, all, CONTACTS, "contact maps", show_map, err);
    if (!st)
        st = show_each(s, a, all, TRACKS, "windows", show_tracks, err);
    if (!st)
        st = show_each(s, a, all, CHANGES, "intervals", show_changes, err);
    if (!st)
        st = show_each(s, a, all, LETTERS, "arrays", show_letters, err);
    if (!st)
        st = show_each(s, a, all, ATTENTIONS, "arrays", show_map, err);
    if (!st && counts[VECTOR])
        st = show_vectors(s, a, all, VECTOR, err);
    else if (!st && counts[RESIDUES])
        st = show_vectors(s, a, all, RESIDUES, err);
    if (!st)
        st = show_matrix(s, a, all, err);
    bi_free(s->env, all);
    return st;
}

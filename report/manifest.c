/* manifest.c - the manifest beside an output: how many records, which failed and why. */
#include <math.h>
#include <string.h>

#include "../base/number.h"
#include "show.h"

struct reading {
    struct bi_show *s;
    uint64_t row, shown; /* the row at hand; rows that are kept */
    const char *path;
};

static int check_head(const char *line, const char *path, struct bioinfer_error *err)
{
    if (!strncmp(line, "ordinal\tid\tlength\tstatus\t", 25))
        return 0;
    return bi_fail(err, BIOINFER_FORMAT,
                   "%s: line 1: expected the columns ordinal, id, length, status of a manifest",
                   path);
}

/* Is this a row of what was named, and of no record (jobs/notes.c)? */
static bool is_note(const char *line)
{
    return !strncmp(line, "\t\t\tnote\t", 8);
}

static int count_row(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    if (number == 1)
        return check_head(line, r->path, err);
    r->s->manifest.n += n > 0 && !is_note(line);
    r->s->manifest.n_notes += is_note(line);
    return 0;
}

static int take_row(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    struct bi_manifest *m = &r->s->manifest;
    struct bi_shown *v = &r->s->view;
    char *f[6] = {"", "", "", "", "", ""};
    double ordinal = 0, length = 0;
    size_t k;
    char *id;
    bool failed;
    if (number == 1 || !n)
        return 0;
    if (is_note(line)) {
        if (m->n_notes_kept < m->n_notes && bi_fields(line, '\t', f, 6) == 6)
            m->notes[m->n_notes_kept++] = bi_view_text(v, f[5], strlen(f[5]));
        return m->n_notes_kept && !m->notes[m->n_notes_kept - 1] ? bi_show_no_memory(r->s, err) : 0;
    }
    if (bi_fields(line, '\t', f, 6) < 4 || !bi_parse_f64(f[0], strlen(f[0]), &ordinal) ||
        !bi_parse_f64(f[2], strlen(f[2]), &length) || ordinal < 0 ||
        !(length >= 0 && length < 1e15))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: expected ordinal, id, length and status", r->path,
                       (unsigned long long)number);
    failed = strcmp(f[3], "ok") != 0;
    m->n_failed += failed;
    m->residues += failed ? 0 : (uint64_t)length;
    /* arrays are told from tracks by the lengths of all records, those that are not shown, too */
    if (!(id = bi_arena_strndup(&v->arena, f[1], strlen(f[1]))) ||
        (!failed && bi_map_add(&m->lengths_by_id, id, strlen(id), (uint64_t)length, NULL) < 0))
        return bi_show_no_memory(r->s, err);
    if (m->n_kept >= r->shown || r->row++ < bi_view_pick(m->n_kept, r->shown, m->n))
        return 0;
    k = m->n_kept++;
    m->ordinals[k] = (uint64_t)ordinal;
    m->lengths[k] = length;
    m->used[k] = failed ? NAN : length;
    m->ids[k] = id;
    m->statuses[k] = bi_view_text(v, f[3], strlen(f[3]));
    m->messages[k] = bi_view_text(v, f[5], strlen(f[5]));
    if (!m->statuses[k] || !m->messages[k])
        return bi_show_no_memory(r->s, err);
    return 0;
}

int bi_manifest_read(struct bi_show *s, struct bioinfer_error *err)
{
    struct bi_manifest *m = &s->manifest;
    struct bi_arena *arena = &s->view.arena;
    struct reading r = {.s = s, .path = bi_view_printf(&s->view, "%s.manifest.tsv", s->path)};
    size_t n;
    int st;
    m->lengths_by_id.env = s->env;
    if (!r.path)
        return bi_show_no_memory(s, err);
    if (!bi_path_is_regular(r.path))
        return 0;
    m->found = true;
    if ((st = bi_lines_each(s->env, r.path, count_row, &r, err)))
        return st;
    n = m->n < BI_VIEW_ROWS ? (size_t)m->n : BI_VIEW_ROWS;
    r.shown = n;
    m->n_notes = m->n_notes < BI_VIEW_ROWS ? m->n_notes : BI_VIEW_ROWS;
    m->notes = bi_arena_calloc(arena, m->n_notes + 1, sizeof *m->notes);
    m->ordinals = bi_arena_calloc(arena, n + 1, sizeof *m->ordinals);
    m->lengths = bi_arena_calloc(arena, n + 1, sizeof *m->lengths);
    m->used = bi_arena_calloc(arena, n + 1, sizeof *m->used);
    m->ids = bi_arena_calloc(arena, n + 1, sizeof *m->ids);
    m->statuses = bi_arena_calloc(arena, n + 1, sizeof *m->statuses);
    m->messages = bi_arena_calloc(arena, n + 1, sizeof *m->messages);
    if (!m->notes || !m->ordinals || !m->lengths || !m->used || !m->ids || !m->statuses ||
        !m->messages)
        return bi_show_no_memory(s, err);
    return bi_lines_each(s->env, r.path, take_row, &r, err);
}

/* Counts the records that are kept by status. */
static bool show_reasons(struct bi_show *s)
{
    enum { MOST = 32 };
    const struct bi_manifest *m = &s->manifest;
    const char *names[MOST], *example[MOST];
    double counts[MOST];
    size_t n = 0, k;
    struct bi_figure *f;
    struct bi_table *t;
    for (size_t i = 0; i < m->n_kept; i++) {
        if (!strcmp(m->statuses[i], "ok"))
            continue;
        for (k = 0; k < n && strcmp(names[k], m->statuses[i]); k++)
            ;
        if (k == MOST)
            continue;
        if (k == n) {
            names[n] = m->statuses[i];
            example[n] = m->messages[i];
            counts[n++] = 0;
        }
        counts[k]++;
    }
    if (!n)
        return true;
    if (!(f = bi_view_add(&s->view, BI_FIGURE_TABLE, "Overview", "Records without a result")))
        return false;
    t = &f->as.table;
    if (m->n_kept < m->n)
        f->note = "Counted among the records listed below.";
    if (!bi_view_columns(&s->view, t, n, 3))
        return false;
    t->columns[0] = (struct bi_shown_column){.name = "reason"};
    t->columns[1] = (struct bi_shown_column){.name = "records", .is_number = true};
    t->columns[2] = (struct bi_shown_column){.name = "first message"};
    t->columns[0].texts = bi_arena_calloc(&s->view.arena, n, sizeof(char *));
    t->columns[1].numbers = bi_arena_calloc(&s->view.arena, n, sizeof(double));
    t->columns[2].texts = bi_arena_calloc(&s->view.arena, n, sizeof(char *));
    if (!t->columns[0].texts || !t->columns[1].numbers || !t->columns[2].texts)
        return false;
    memcpy(t->columns[0].texts, names, n * sizeof *names);
    memcpy(t->columns[1].numbers, counts, n * sizeof *counts);
    memcpy(t->columns[2].texts, example, n * sizeof *example);
    return true;
}

/* The texts of rows that are of no record. */
static bool show_notes(struct bi_show *s)
{
    const struct bi_manifest *m = &s->manifest;
    struct bi_figure *f;
    if (!m->n_notes_kept)
        return true;
    f = bi_view_add(&s->view, BI_FIGURE_TABLE, "Overview", "Notes on the input and the settings");
    if (!f || !bi_view_columns(&s->view, &f->as.table, m->n_notes_kept, 1))
        return false;
    f->as.table.columns[0] = (struct bi_shown_column){.name = "note", .texts = m->notes};
    return true;
}

int bi_manifest_show(struct bi_show *s, struct bioinfer_error *err)
{
    const struct bi_manifest *m = &s->manifest;
    struct bi_shown *v = &s->view;
    bool ok;
    if (!m->found)
        return 0;
    ok = bi_view_fact(v, "Records", "%llu", (unsigned long long)m->n) &&
         bi_view_fact(v, "With a result", "%llu", (unsigned long long)(m->n - m->n_failed)) &&
         bi_view_fact(v, "Without a result", "%llu", (unsigned long long)m->n_failed) &&
         bi_view_fact(v, "Residues computed", "%llu", (unsigned long long)m->residues);
    ok = ok && show_reasons(s) && show_notes(s) &&
         bi_view_histogram(v, "Overview", "Lengths of records with a result", m->used, m->n_kept,
                           "residues");
    return ok ? 0 : bi_show_no_memory(s, err);
}

int bi_manifest_table(struct bi_show *s, const struct bi_map *by_id, const float *norms,
                      struct bioinfer_error *err)
{
    const struct bi_manifest *m = &s->manifest;
    struct bi_arena *arena = &s->view.arena;
    struct bi_figure *f;
    struct bi_shown_column *c;
    double *ordinals, *column;
    uint64_t at;
    if (!m->found)
        return 0;
    f = bi_view_add(&s->view, BI_FIGURE_TABLE, "Records", "Records");
    ordinals = bi_arena_calloc(arena, m->n_kept + 1, sizeof *ordinals);
    column = bi_arena_calloc(arena, m->n_kept + 1, sizeof *column);
    if (!f || !ordinals || !column ||
        !bi_view_columns(&s->view, &f->as.table, m->n_kept, norms ? 6 : 5))
        return bi_show_no_memory(s, err);
    if (m->n_kept < m->n)
        f->note = bi_view_printf(&s->view, "%zu of %llu records, evenly chosen.", m->n_kept,
                                 (unsigned long long)m->n);
    for (size_t i = 0; i < m->n_kept; i++) {
        ordinals[i] = (double)m->ordinals[i];
        column[i] = norms && bi_map_find(by_id, m->ids[i], strlen(m->ids[i]), &at)
                        ? (double)norms[at]
                        : (double)NAN;
    }
    c = f->as.table.columns;
    *c++ = (struct bi_shown_column){.name = "ordinal", .is_number = true, .numbers = ordinals};
    *c++ = (struct bi_shown_column){.name = "id", .texts = m->ids};
    *c++ = (struct bi_shown_column){.name = "length", .is_number = true, .numbers = m->lengths};
    if (norms)
        *c++ = (struct bi_shown_column){.name = "norm", .is_number = true, .numbers = column};
    *c++ = (struct bi_shown_column){.name = "status", .texts = m->statuses};
    *c = (struct bi_shown_column){.name = "message", .texts = m->messages};
    return 0;
}

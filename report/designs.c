/* designs.c - designed sequences: a table of their scores, and what stands at each position. */
#include <math.h>
#include <string.h>

#include "../base/number.h"
#include "show.h"

enum { MOST_LOGOS = 12, MOST_LENGTH = 100000 };

static const char letters[] = "GAVLIMFWYSTCPNQKRHDEX"; /* as in tables.c, and what is no residue */

struct design {
    const char *name, *sequence;
    double sample, temperature, score, global, recovery;
    bool native;
};

struct designs {
    struct bi_show *s;
    struct design *all;
    size_t n, cap;
    const char *name; /* the structure at hand */
    uint64_t n_lines;
    bool open;   /* the last design waits for its sequence */
    bool is_cut; /* the file has more designs than are read */
};

static struct design *add(struct designs *d, struct bioinfer_error *err)
{
    struct design *x;
    if (!bi_grow(d->s->env, &d->all, &d->cap, d->n + 1, sizeof *d->all)) {
        bi_show_no_memory(d->s, err);
        return NULL;
    }
    x = &d->all[d->n++];
    *x = (struct design){.name = d->name,
                         .sequence = "",
                         .sample = NAN,
                         .temperature = NAN,
                         .score = NAN,
                         .global = NAN,
                         .recovery = NAN};
    return x;
}

/* The number behind "key=" in a header, else NaN. */
static double value_of(const char *header, const char *key)
{
    const size_t n = strlen(key);
    double x = NAN;
    for (const char *at = header; (at = strstr(at, key)); at += n)
        if ((at == header || at[-1] == ' ') && at[n] == '=') {
            bi_parse_f64(at + n + 1, strcspn(at + n + 1, ", "), &x);
            break;
        }
    return x;
}

static int take_fasta(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct designs *d = user;
    struct design *x;
    if (*line == '>') {
        const bool native = strncmp(line, ">T=", 3) != 0;
        const size_t name = strcspn(line + 1, ",");
        if (native && !(d->name = bi_view_text(&d->s->view, line + 1, name)))
            return bi_show_no_memory(d->s, err);
        if (d->n >= BI_VIEW_ROWS)
            return d->is_cut = true;
        if (!d->name)
            return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: a design before its structure",
                           d->s->path, (unsigned long long)number);
        if (!(x = add(d, err)))
            return BIOINFER_NOMEM;
        x->native = native;
        x->sample = native ? 0 : value_of(line + 1, "sample");
        x->temperature = value_of(line + 1, "T");
        x->score = value_of(line + 1, "score");
        x->global = value_of(line + 1, "global_score");
        x->recovery = native ? 1 : value_of(line + 1, "seq_recovery");
        d->open = true;
        return 0;
    }
    if (!n || !d->open)
        return n ? bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: expected one line of sequence",
                           d->s->path, (unsigned long long)number)
                 : 0;
    if (n > MOST_LENGTH)
        return bi_fail(err, BIOINFER_LIMIT, "%s: line %llu: a sequence of %zu letters, at most %d",
                       d->s->path, (unsigned long long)number, n, MOST_LENGTH);
    d->open = false;
    x = &d->all[d->n - 1];
    return (x->sequence = bi_arena_strndup(&d->s->view.arena, line, n))
               ? 0
               : bi_show_no_memory(d->s, err);
}

/* name, sample, temperature, score, global_score, seq_recovery, sequence, source */
static int take_row(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct designs *d = user;
    struct design *x;
    char *f[8];
    double *numbers[5];
    if (number == 1 || !n)
        return 0;
    if (d->n >= BI_VIEW_ROWS)
        return d->is_cut = true;
    if (bi_fields(line, '\t', f, 8) != 8 || strlen(f[6]) > MOST_LENGTH)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: expected the eight columns of a table of designs",
                       d->s->path, (unsigned long long)number);
    if (!d->name || strcmp(d->name, f[0]))
        d->name = bi_view_text(&d->s->view, f[0], strlen(f[0]));
    if (!d->name || !(x = add(d, err)))
        return bi_show_no_memory(d->s, err);
    numbers[0] = &x->sample;
    numbers[1] = &x->temperature;
    numbers[2] = &x->score;
    numbers[3] = &x->global;
    numbers[4] = &x->recovery;
    for (int k = 0; k < 5; k++)
        bi_parse_f64(f[k + 1], strlen(f[k + 1]), numbers[k]);
    x->native = !strcmp(f[7], "native");
    return (x->sequence = bi_arena_strndup(&d->s->view.arena, f[6], strlen(f[6])))
               ? 0
               : bi_show_no_memory(d->s, err);
}

/* The shares of letters at each position of the designs [begin, end) of a structure. */
static int add_logo(struct bi_show *s, const struct design *d, size_t n, struct bioinfer_error *err)
{
    struct bi_figure *f;
    struct bi_logo *l;
    size_t length = 0, counted = 0;
    for (size_t i = 0; i < n; i++)
        if (!d[i].native && !length)
            length = strlen(d[i].sequence);
    for (size_t i = 0; i < n; i++)
        counted += !d[i].native && strlen(d[i].sequence) == length;
    if (!length || !counted)
        return 0;
    if (!(f = bi_view_add(&s->view, BI_FIGURE_LOGO, "Designs", d[0].name)))
        return bi_show_no_memory(s, err);
    l = &f->as.logo;
    l->n_sequences = counted;
    l->n_columns = length < BI_VIEW_COLUMNS ? (uint32_t)length : BI_VIEW_COLUMNS;
    l->letters = letters;
    l->wild = d[0].native && strlen(d[0].sequence) == length ? d[0].sequence : NULL;
    if (!(l->shares = bi_arena_calloc(&s->view.arena, (sizeof letters - 1) * (size_t)l->n_columns,
                                      sizeof *l->shares)))
        return bi_show_no_memory(s, err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; !d[i].native && strlen(d[i].sequence) == length && k < l->n_columns;
             k++) {
            const char *row = d[i].sequence[k] == '/' ? NULL : strchr(letters, d[i].sequence[k]);
            if (row)
                l->shares[(size_t)(row - letters) * l->n_columns + k] += 1.0f / (float)counted;
        }
    f->note = bi_view_printf(&s->view, "%zu designs of %zu positions%s.", counted, length,
                             l->wild ? "; the native sequence stands below" : "");
    return 0;
}

/* The distribution of a column over the designs; the native sequences, sample 0, are left out. */
static bool add_histogram(struct bi_shown *v, const char *name, const double *values,
                          const double *samples, size_t n)
{
    double *designed = bi_alloc(v->arena.env, (n + 1) * sizeof *designed);
    bool ok;
    for (size_t i = 0; designed && i < n; i++)
        designed[i] = samples[i] > 0 ? values[i] : (double)NAN;
    ok = designed && bi_view_histogram(v, "Distributions", name, designed, n, "");
    bi_free(v->arena.env, designed);
    return ok;
}

static int add_table(struct designs *d, struct bioinfer_error *err)
{
    static const char *const names[] = {"name",         "sample",       "temperature", "score",
                                        "global_score", "seq_recovery", "sequence"};
    struct bi_shown *v = &d->s->view;
    struct bi_figure *f = bi_view_add(v, BI_FIGURE_TABLE, "Designs", "Designs");
    struct bi_shown_column *c;
    size_t n = 0;
    if (!f || !bi_view_columns(v, &f->as.table, d->n, BI_COUNT(names)))
        return bi_show_no_memory(d->s, err);
    c = f->as.table.columns;
    for (size_t k = 0; k < BI_COUNT(names); k++) {
        c[k].name = names[k];
        c[k].is_number = k && k < 6;
        c[k].texts = bi_arena_calloc(&v->arena, d->n, sizeof *c[k].texts);
        c[k].numbers = bi_arena_calloc(&v->arena, d->n, sizeof *c[k].numbers);
        if (!c[k].texts || !c[k].numbers)
            return bi_show_no_memory(d->s, err);
    }
    for (size_t i = 0; i < d->n; i++) {
        const struct design *x = &d->all[i];
        if (!bi_view_wants(v, x->name, strlen(x->name)))
            continue;
        c[0].texts[n] = x->name;
        c[1].numbers[n] = x->sample;
        c[2].numbers[n] = x->temperature;
        c[3].numbers[n] = x->score;
        c[4].numbers[n] = x->global;
        c[5].numbers[n] = x->recovery;
        if (!(c[6].texts[n++] = bi_view_text(v, x->sequence, strlen(x->sequence))))
            return bi_show_no_memory(d->s, err);
    }
    f->as.table.n_rows = n;
    for (int k = 3; k < 6; k++)
        if (!add_histogram(v, names[k], c[k].numbers, c[1].numbers, n))
            return bi_show_no_memory(d->s, err);
    return 0;
}

int bi_show_designs(struct bi_show *s, bool is_fasta, struct bioinfer_error *err)
{
    struct designs d = {.s = s};
    size_t structures = 0, logos = 0, designed = 0;
    int st;
    s->view.kind = "designed sequences";
    st = bi_lines_each(s->env, s->path, is_fasta ? take_fasta : take_row, &d, err);
    if (!st && !d.n)
        st = bi_fail(err, BIOINFER_EMPTY, "%s: no design in it: nothing to show", s->path);
    if (!st && d.open)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: the last header has no sequence: cut off?",
                     s->path);
    for (size_t i = 0, end; i < d.n && !st; i = end) {
        for (end = i + 1; end < d.n && d.all[end].name == d.all[i].name; end++)
            ;
        structures++;
        for (size_t k = i; k < end; k++)
            designed += !d.all[k].native;
        if (bi_view_wants(&s->view, d.all[i].name, strlen(d.all[i].name)) && logos++ < MOST_LOGOS)
            st = add_logo(s, d.all + i, end - i, err);
    }
    if (!st &&
        (!bi_view_fact(&s->view, "Structures", "%s%zu", d.is_cut ? "the first " : "", structures) ||
         !bi_view_fact(&s->view, "Designs", "%s%zu", d.is_cut ? "the first " : "", designed)))
        st = bi_show_no_memory(s, err);
    if (!st)
        st = add_table(&d, err);
    bi_free(s->env, d.all);
    return st;
}

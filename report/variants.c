/* variants.c - numbers of a table of variants along a chromosome. */
#include <math.h>
#include <string.h>

#include "show.h"

/* The columns that say where a variant is and what; NULL = the table lacks it. */
struct places {
    const struct bi_shown_column *chrom, *pos, *id, *ref, *alt;
};

static const struct bi_shown_column *column(const struct bi_table *t, const char *name)
{
    for (size_t k = 0; k < t->n_columns; k++)
        if (!strcmp(t->columns[k].name, name))
            return &t->columns[k];
    return NULL;
}

static const char *text_of(const struct bi_shown_column *c, size_t row)
{
    return c ? c->texts[row] : "";
}

/* Whether the positions lie so far from each other that they are told in megabases. */
static bool is_wide(const struct bi_table *t, const struct places *p, const char *chrom)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < t->n_rows; i++)
        if (!strcmp(p->chrom->texts[i], chrom) && isfinite(p->pos->numbers[i])) {
            low = fmin(low, p->pos->numbers[i]);
            high = fmax(high, p->pos->numbers[i]);
        }
    return high - low > 2e6;
}

/* Adds a scatter plot of one column over the variants of a chromosome. */
static int add_column(struct bi_show *s, const struct bi_table *t, const struct places *p,
                      const char *chrom, const struct bi_shown_column *of,
                      struct bioinfer_error *err)
{
    struct bi_shown *v = &s->view;
    struct bi_figure *f = bi_view_add(v, BI_FIGURE_SCATTER, "Along the chromosome",
                                      bi_view_printf(v, "%s along %.100s", of->name, chrom));
    struct bi_scatter *c = f ? &f->as.scatter : NULL;
    const bool wide = is_wide(t, p, chrom);
    size_t n = 0;
    if (!f)
        return bi_show_no_memory(s, err);
    *c = (struct bi_scatter){
        .x_name = bi_view_printf(v, "position on %.100s (%s)", chrom, wide ? "Mb" : "base"),
        .y_name = bi_view_axis(v, of),
        .x = bi_arena_calloc(&v->arena, t->n_rows, sizeof *c->x),
        .y = bi_arena_calloc(&v->arena, t->n_rows, sizeof *c->y),
        .colour = bi_arena_calloc(&v->arena, t->n_rows, sizeof *c->colour),
        .labels = bi_arena_calloc(&v->arena, t->n_rows, sizeof *c->labels)};
    if (!c->x_name || !c->y_name || !c->x || !c->y || !c->colour || !c->labels)
        return bi_show_no_memory(s, err);
    for (size_t i = 0; i < t->n_rows; i++) {
        const double at = p->pos->numbers[i], value = of->numbers[i];
        if (strcmp(p->chrom->texts[i], chrom) || !isfinite(at) || !isfinite(value))
            continue;
        c->x[n] = (float)(wide ? at / 1e6 : at);
        c->y[n] = (float)value;
        c->colour[n] = NAN;
        c->labels[n] = bi_view_printf(v, "%.60s:%.0f %.20s>%.20s %.60s: %.6g", chrom, at,
                                      text_of(p->ref, i), text_of(p->alt, i), text_of(p->id, i),
                                      value);
        if (!c->labels[n++])
            return bi_show_no_memory(s, err);
    }
    c->n = n;
    f->note = n == t->n_rows
                  ? bi_view_printf(v, "%zu variants.", n)
                  : bi_view_printf(v, "%zu of %zu rows have a number on this chromosome%s.", n,
                                   t->n_rows, v->record ? "" : "; --record shows another one");
    return f->note ? 0 : bi_show_no_memory(s, err);
}

int bi_show_along(struct bi_show *s, const struct bi_table *t, struct bioinfer_error *err)
{
    const struct places p = {column(t, "chrom"), column(t, "pos"), column(t, "id"),
                             column(t, "ref"), column(t, "alt")};
    int made = 0, st = 0;
    if (!p.chrom || !p.pos || !p.pos->is_number || t->n_rows < 2)
        return 0;
    for (size_t k = t->n_columns; k-- > 0 && made < BI_VIEW_HISTOGRAMS && !st;) {
        const struct bi_shown_column *c = &t->columns[k];
        size_t first = 0;
        if (!c->is_number || c == p.pos || c == p.chrom || c == p.id)
            continue;
        while (first < t->n_rows && !isfinite(c->numbers[first]))
            first++;
        if (first == t->n_rows)
            continue;
        made++;
        st = add_column(s, t, &p, p.chrom->texts[first], c, err);
    }
    return st;
}

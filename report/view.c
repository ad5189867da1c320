/* view.c - figures and facts of a view, histograms and scales. */
#include "view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *vprintf_text(struct bi_shown *v, const char *fmt, va_list args)
{
    va_list again;
    char *text;
    int n;
    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0 || !(text = bi_arena_alloc(&v->arena, (size_t)n + 1)))
        return NULL;
    vsnprintf(text, (size_t)n + 1, fmt, args);
    return text;
}

char *bi_view_printf(struct bi_shown *v, const char *fmt, ...)
{
    va_list args;
    char *text;
    va_start(args, fmt);
    text = vprintf_text(v, fmt, args);
    va_end(args);
    return text;
}

char *bi_view_text(struct bi_shown *v, const char *text, size_t n)
{
    return bi_arena_strndup(&v->arena, text, n < BI_VIEW_TEXT ? n : BI_VIEW_TEXT);
}

const char *bi_view_axis(struct bi_shown *v, const struct bi_shown_column *c)
{
    return c->unit ? bi_view_printf(v, "%s (%s)", c->name, c->unit) : c->name;
}

struct bi_figure *bi_view_add(struct bi_shown *v, enum bi_figure_kind kind, const char *group,
                              const char *title)
{
    struct bi_figure *f = bi_arena_calloc(&v->arena, 1, sizeof *f);
    if (!f || !title)
        return NULL;
    f->kind = kind;
    f->group = group;
    f->title = title;
    if (!v->last_figure)
        v->last_figure = &v->figures;
    *v->last_figure = f;
    v->last_figure = &f->next;
    return f;
}

bool bi_view_fact(struct bi_shown *v, const char *name, const char *fmt, ...)
{
    struct bi_fact *fact = bi_arena_calloc(&v->arena, 1, sizeof *fact);
    va_list args;
    if (!fact)
        return false;
    va_start(args, fmt);
    fact->name = name;
    fact->value = vprintf_text(v, fmt, args);
    va_end(args);
    if (!v->last_fact)
        v->last_fact = &v->facts;
    *v->last_fact = fact;
    v->last_fact = &fact->next;
    return fact->value;
}

bool bi_view_wants(struct bi_shown *v, const char *id, size_t n)
{
    if (v->record && (strlen(v->record) != n || memcmp(v->record, id, n)))
        return false;
    v->found = true;
    return true;
}

bool bi_view_columns(struct bi_shown *v, struct bi_table *t, size_t n_rows, size_t n_columns)
{
    t->n_rows = n_rows;
    t->n_columns = n_columns;
    return (t->columns = bi_arena_calloc(&v->arena, n_columns, sizeof *t->columns));
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The least of 1, 2 and 5 times a power of ten that is not below x > 0. */
static double nice_step(double x)
{
    const double power = pow(10, floor(log10(x)));
    const double share = x / power;
    return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

/* Sets the bins of a histogram whose least and largest value are known. */
static void set_bins(struct bi_histogram *h, double *step)
{
    enum { MOST = 40, AROUND = 5 };
    if (!(h->max > h->min)) { /* one value: a bar in the middle of an axis around it */
        *step = fabs(h->min) > 0 ? nice_step(fabs(h->min) / 20) : 0.1;
        *step = *step > 0 && isfinite(*step * AROUND) ? *step : 1;
        h->low = h->min - *step * AROUND / 2;
        h->n_bins = AROUND;
        return;
    }
    *step = (h->max - h->min) / (h->n < 400 ? 16 : MOST - 8);
    *step = *step > 0 && isfinite(nice_step(*step)) && nice_step(*step) > 0 ? nice_step(*step) : 1;
    h->low = floor(h->min / *step) * *step;
    h->n_bins = 1 + (int)((h->max - h->low) / *step);
    if (!isfinite(h->low) || h->n_bins < 1 || h->n_bins > MOST + 2) {
        h->low = h->min;
        h->n_bins = 1;
        *step = h->max - h->min;
    }
}

bool bi_view_histogram(struct bi_shown *v, const char *group, const char *title,
                       const double *values, size_t n, const char *unit)
{
    struct bi_histogram *h;
    struct bi_figure *f;
    double *sorted, sum = 0, step;
    size_t k = 0;
    if (!(sorted = bi_calloc(v->arena.env, n + 1, sizeof *sorted)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            sum += sorted[k++] = values[i];
    if (k > 1)
        qsort(sorted, k, sizeof *sorted, compare);
    if (k < 2 || !isfinite(sum) || !isfinite(sorted[k - 1] - sorted[0])) {
        bi_free(v->arena.env, sorted);
        return true;
    }
    if (!(f = bi_view_add(v, BI_FIGURE_HISTOGRAM, group, title))) {
        bi_free(v->arena.env, sorted);
        return false;
    }
    h = &f->as.histogram;
    *h = (struct bi_histogram){.n = k,
                               .min = sorted[0],
                               .max = sorted[k - 1],
                               .mean = sum / (double)k,
                               .median = k % 2 ? sorted[k / 2]
                                               : (sorted[k / 2 - 1] + sorted[k / 2]) / 2,
                               .unit = unit};
    set_bins(h, &step);
    h->high = h->low + step * h->n_bins;
    for (size_t i = 0; i < k; i++) {
        const int bin = (int)((sorted[i] - h->low) / step);
        h->counts[bin < 0 ? 0 : bin < h->n_bins ? bin : h->n_bins - 1]++;
    }
    bi_free(v->arena.env, sorted);
    return true;
}

void bi_axis_widen(double *low, double *high)
{
    if (*high > *low)
        return;
    const double value = *low, room = fabs(value) > 1 ? fabs(value) / 2 : 0.5;
    *low = value - room;
    *high = value + room;
}

void bi_heat_range(struct bi_heat *heat)
{
    const size_t n = (size_t)heat->n_rows * heat->n_columns;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(heat->values[i]))
            continue;
        low = heat->values[i] < low ? heat->values[i] : low;
        high = heat->values[i] > high ? heat->values[i] : high;
    }
    if (low > high)
        low = high = 0;
    if (heat->scale == BI_SCALE_UNIT && (low < 0 || high > 1))
        heat->scale = BI_SCALE_RANGE;
    if (heat->scale == BI_SCALE_UNIT) {
        low = 0;
        high = 1;
    } else if (heat->scale == BI_SCALE_DIVERGING) {
        high = fmax(fabs(low), fabs(high));
        high = high > 0 ? high : 1;
        low = -high;
    }
    bi_axis_widen(&low, &high);
    heat->low = low;
    heat->high = high;
}

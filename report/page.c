/* page.c - a view as one page: its data as JSON between the style and the script of page.html.
 *
 * Texts of files reach the page as strings of that JSON alone, in which no '<' stands, and the
 * script puts them into text nodes: nothing in a file becomes markup. Many numbers are
 * packed: 16 bits (8 in large maps) between the two ends of a scale, the largest code for no
 * value, in base64. */
#include "page.h"

#include <math.h>
#include <string.h>

#include "../base/number.h"
#include "../writers/text.h"
#include "view.h"

static void put_key(struct bi_buf *out, const char *key)
{
    bi_buf_printf(out, ",\"%s\":", key);
}

static void put_text(struct bi_buf *out, const char *key, const char *text)
{
    put_key(out, key);
    if (text)
        bi_put_json(out, text);
    else
        bi_buf_puts(out, "null");
}

static void put_value(struct bi_buf *out, double x)
{
    char text[BI_NUMBER_SIZE];
    if (isfinite(x))
        bi_buf_append(out, text, bi_print_f64(text, x));
    else
        bi_buf_puts(out, "null");
}

static void put_number(struct bi_buf *out, const char *key, double x)
{
    put_key(out, key);
    put_value(out, x);
}

static void put_texts(struct bi_buf *out, const char *key, const char *const *texts, size_t n)
{
    put_key(out, key);
    bi_buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        bi_buf_puts(out, i ? "," : "");
        bi_put_json(out, texts[i]);
    }
    bi_buf_putc(out, ']');
}

/* n values between low and high as {"bits", "low", "high", "data"}. */
static void put_packed(struct bi_buf *out, const char *key, const float *values, size_t n,
                       double low, double high)
{
    enum { MOST_WIDE = 1 << 16 };
    const int bits = n > MOST_WIDE ? 8 : 16;
    const double top = bits == 8 ? 254 : 65534;
    uint8_t *codes = bi_alloc(out->env, n * (size_t)bits / 8);
    if (!codes) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const double share = high > low ? ((double)values[i] - low) / (high - low) : 0;
        const unsigned code = !isfinite(values[i]) ? (unsigned)top + 1
                              : share <= 0         ? 0
                              : share >= 1         ? (unsigned)top
                                                   : (unsigned)lround(share * top);
        if (bits == 16)
            codes[2 * i + 1] = (uint8_t)(code >> 8);
        codes[bits == 8 ? i : 2 * i] = (uint8_t)code;
    }
    bi_buf_printf(out, ",\"%s\":{\"bits\":%d", key, bits);
    put_number(out, "low", low);
    put_number(out, "high", high);
    bi_buf_puts(out, ",\"data\":\"");
    bi_put_base64(out, codes, n * (size_t)bits / 8);
    bi_buf_puts(out, "\"}");
    bi_free(out->env, codes);
}

/* The scale goes from the least to the largest value; an axis is wider where both are one. */
static void put_ranged(struct bi_buf *out, const char *key, const float *values, size_t n,
                       bool is_axis)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            low = fmin(low, values[i]);
            high = fmax(high, values[i]);
        }
    if (low > high)
        low = high = 0;
    if (is_axis)
        bi_axis_widen(&low, &high);
    put_packed(out, key, values, n, low, high);
}

/* ---- one figure each ------------------------------------------------------------------------ */

static void put_table(struct bi_buf *out, const struct bi_table *t)
{
    put_number(out, "rows", (double)t->n_rows);
    bi_buf_puts(out, ",\"columns\":[");
    for (size_t k = 0; k < t->n_columns; k++) {
        const struct bi_shown_column *c = &t->columns[k];
        bi_buf_puts(out, k ? ",{\"name\":" : "{\"name\":");
        bi_put_json(out, c->name);
        if (c->unit)
            put_text(out, "unit", c->unit);
        if (!c->is_number) {
            put_texts(out, "texts", c->texts, t->n_rows);
        } else {
            bi_buf_puts(out, ",\"numbers\":[");
            for (size_t i = 0; i < t->n_rows; i++) {
                bi_buf_puts(out, i ? "," : "");
                put_value(out, c->numbers[i]);
            }
            bi_buf_putc(out, ']');
        }
        bi_buf_putc(out, '}');
    }
    bi_buf_putc(out, ']');
}

static void put_histogram(struct bi_buf *out, const struct bi_histogram *h)
{
    put_number(out, "low", h->low);
    put_number(out, "high", h->high);
    put_number(out, "n", (double)h->n);
    put_number(out, "min", h->min);
    put_number(out, "median", h->median);
    put_number(out, "mean", h->mean);
    put_number(out, "max", h->max);
    put_text(out, "unit", h->unit);
    bi_buf_puts(out, ",\"counts\":[");
    for (int k = 0; k < h->n_bins; k++)
        bi_buf_printf(out, "%s%llu", k ? "," : "", (unsigned long long)h->counts[k]);
    bi_buf_putc(out, ']');
}

static void put_heat(struct bi_buf *out, const struct bi_heat *h)
{
    static const char *const scales[] = {"unit", "range", "diverging"};
    put_number(out, "rows", h->n_rows);
    put_number(out, "columns", h->n_columns);
    put_number(out, "first", (double)h->first);
    put_number(out, "step", h->step);
    put_text(out, "letters", h->row_letters);
    put_text(out, "wild", h->wild);
    if (h->row_names)
        put_texts(out, "rowNames", h->row_names, h->n_rows);
    if (h->column_names)
        put_texts(out, "columnNames", h->column_names, h->n_columns);
    put_text(out, "scale", scales[h->scale]);
    put_text(out, "rowName", h->row_name);
    put_text(out, "columnName", h->column_name);
    put_text(out, "valueName", h->value_name);
    put_packed(out, "values", h->values, (size_t)h->n_rows * h->n_columns, h->low, h->high);
}

static void put_scatter(struct bi_buf *out, const struct bi_scatter *c)
{
    put_number(out, "n", (double)c->n);
    if (c->segments)
        bi_buf_puts(out, ",\"segments\":true");
    put_text(out, "xName", c->x_name);
    put_text(out, "yName", c->y_name);
    put_text(out, "colourName", c->colour_name);
    put_ranged(out, "x", c->x, c->n, true);
    put_ranged(out, "y", c->y, c->n, true);
    put_ranged(out, "colour", c->colour, c->n, true);
    put_texts(out, "labels", c->labels, c->n);
}

static void put_tracks(struct bi_buf *out, const struct bi_shown_tracks *t)
{
    put_number(out, "bins", t->n_bins);
    put_number(out, "start", t->start);
    put_number(out, "step", t->step);
    put_text(out, "contig", t->contig);
    put_text(out, "place", t->place);
    if (t->lines)
        bi_buf_puts(out, ",\"lines\":true");
    bi_buf_puts(out, ",\"tracks\":[");
    for (size_t k = 0; k < t->n_tracks; k++) {
        bi_buf_puts(out, k ? ",{\"name\":" : "{\"name\":");
        bi_put_json(out, t->names[k]);
        put_ranged(out, "values", t->values + k * t->n_bins, t->n_bins, t->lines);
        bi_buf_putc(out, '}');
    }
    bi_buf_puts(out, "],\"genes\":[");
    for (size_t k = 0; k < t->n_genes; k++) {
        const struct bi_shown_gene *g = &t->genes[k];
        bi_buf_puts(out, k ? ",{\"name\":" : "{\"name\":");
        bi_put_json(out, g->name);
        put_number(out, "start", g->start);
        put_number(out, "end", g->end);
        put_text(out, "strand", g->strand == '+' ? "+" : g->strand == '-' ? "-" : ".");
        bi_buf_puts(out, ",\"exons\":[");
        for (uint32_t i = 0; i < 2 * g->n_exons; i++) {
            bi_buf_puts(out, i ? "," : "");
            put_value(out, g->exons[i]);
        }
        bi_buf_puts(out, "]}");
    }
    bi_buf_putc(out, ']');
}

static void put_logo(struct bi_buf *out, const struct bi_logo *l)
{
    put_number(out, "columns", l->n_columns);
    put_number(out, "n", (double)l->n_sequences);
    put_text(out, "letters", l->letters);
    put_text(out, "wild", l->wild);
    put_packed(out, "values", l->shares, strlen(l->letters) * (size_t)l->n_columns, 0, 1);
}

static void put_alignment(struct bi_buf *out, const struct bi_alignment *a)
{
    put_text(out, "query", a->query);
    put_text(out, "target", a->target);
    put_number(out, "score", a->score);
    put_number(out, "identity", a->identity);
    put_number(out, "columns", a->n_columns);
    put_number(out, "hasLetters", a->has_letters);
    put_texts(out, "rows", a->rows, 3);
}

static void put_trace(struct bi_buf *out, const struct bi_trace *t)
{
    put_number(out, "n", t->n);
    put_number(out, "isPlddt", t->is_plddt);
    put_ranged(out, "x", t->x, t->n, false);
    put_ranged(out, "y", t->y, t->n, false);
    put_ranged(out, "z", t->z, t->n, false);
    if (t->is_plddt)
        put_packed(out, "values", t->value, t->n, 0, 100);
    else
        put_ranged(out, "values", t->value, t->n, true);
    bi_buf_puts(out, ",\"starts\":[");
    for (uint32_t k = 0; k < t->n_starts; k++)
        bi_buf_printf(out, k ? ",%u" : "%u", t->starts[k]);
    bi_buf_putc(out, ']');
    put_texts(out, "labels", t->labels, t->n);
}

static void put_figure(struct bi_buf *out, const struct bi_figure *f)
{
    static const char *const kinds[] = {"table",  "histogram", "heat",      "scatter",
                                        "tracks", "logo",      "alignment", "trace"};
    bi_buf_printf(out, "{\"kind\":\"%s\"", kinds[f->kind]);
    put_text(out, "group", f->group);
    put_text(out, "title", f->title);
    put_text(out, "note", f->note);
    switch (f->kind) {
    case BI_FIGURE_TABLE:
        put_table(out, &f->as.table);
        break;
    case BI_FIGURE_HISTOGRAM:
        put_histogram(out, &f->as.histogram);
        break;
    case BI_FIGURE_HEAT:
        put_heat(out, &f->as.heat);
        break;
    case BI_FIGURE_SCATTER:
        put_scatter(out, &f->as.scatter);
        break;
    case BI_FIGURE_TRACKS:
        put_tracks(out, &f->as.tracks);
        break;
    case BI_FIGURE_LOGO:
        put_logo(out, &f->as.logo);
        break;
    case BI_FIGURE_ALIGNMENT:
        put_alignment(out, &f->as.alignment);
        break;
    case BI_FIGURE_TRACE:
        put_trace(out, &f->as.trace);
        break;
    }
    bi_buf_putc(out, '}');
}

static void put_view(struct bi_buf *out, const struct bi_shown *v)
{
    bi_buf_puts(out, "{\"title\":");
    bi_put_json(out, v->title);
    put_text(out, "kind", v->kind);
    put_text(out, "record", v->record);
    bi_buf_puts(out, ",\"facts\":[");
    for (const struct bi_fact *f = v->facts; f; f = f->next) {
        bi_buf_puts(out, f == v->facts ? "[" : ",[");
        bi_put_json(out, f->name);
        bi_buf_putc(out, ',');
        bi_put_json(out, f->value);
        bi_buf_putc(out, ']');
    }
    bi_buf_puts(out, "],\"figures\":[");
    for (const struct bi_figure *f = v->figures; f; f = f->next) {
        bi_buf_puts(out, f == v->figures ? "" : ",\n");
        put_figure(out, f);
    }
    bi_buf_puts(out, "]}");
}

/* ---- the page ------------------------------------------------------------------------------- */

/* Appends JSON as it may stand in a script element: '<' and '>', which occur in strings alone, as
 * their codes. */
static void put_for_script(struct bi_buf *out, const struct bi_buf *json)
{
    for (size_t at = 0; at < json->size;) {
        size_t n = at;
        while (n < json->size && json->data[n] != '<' && json->data[n] != '>')
            n++;
        bi_buf_append(out, json->data + at, n - at);
        if (n < json->size)
            bi_buf_puts(out, json->data[n] == '<' ? "\\u003C" : "\\u003E");
        at = n + 1;
    }
}

/* Appends text for HTML; control bytes become spaces. */
static void put_html(struct bi_buf *out, const char *text)
{
    struct bi_buf utf8 = {.env = out->env};
    bi_put_utf8(&utf8, text);
    for (size_t i = 0; i < utf8.size; i++) {
        const char c = utf8.data[i];
        if (c == '<')
            bi_buf_puts(out, "&lt;");
        else if (c == '>')
            bi_buf_puts(out, "&gt;");
        else if (c == '&')
            bi_buf_puts(out, "&amp;");
        else if (c == '"')
            bi_buf_puts(out, "&quot;");
        else
            bi_buf_putc(out, (unsigned char)c < 0x20 || c == 0x7F ? ' ' : c);
    }
    out->failed = out->failed || utf8.failed;
    bi_buf_free(&utf8);
}

int bi_page_write(const struct bi_shown *v, struct bi_buf *out, struct bioinfer_error *err)
{
    static const char *const marks[] = {"@TITLE@", "@STYLE@", "@DATA@", "@SCRIPT@"};
    struct bi_buf json = {.env = out->env};
    const char *at = bi_page_html;
    put_view(&json, v);
    for (size_t k = 0; k < BI_COUNT(marks); k++) {
        const char *mark = strstr(at, marks[k]);
        assert(mark);
        bi_buf_append(out, at, (size_t)(mark - at));
        at = mark + strlen(marks[k]);
        if (k == 0)
            put_html(out, v->title);
        else if (k == 2)
            put_for_script(out, &json);
        else
            bi_buf_puts(out, k == 1 ? bi_page_css : bi_page_js);
    }
    bi_buf_puts(out, at);
    if (json.failed || out->failed) {
        bi_buf_free(&json);
        return bi_fail(err, BIOINFER_NOMEM, "%s: the page of a report", v->title);
    }
    bi_buf_free(&json);
    return 0;
}

/* svg.c - one figure of a view as a picture: SVG 1.1 with texts as texts; cells of heat maps are an
 * image within it. The colours are those of the light page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/larger.h"
#include "../base/number.h"
#include "../writers/text.h"
#include "raster.h"
#include "view.h"

/* ---- 1 texts and colours ------------------------------------------------------------- */

/* Appends text for XML: no control byte, and at most `most` characters. */
static void put_text(struct bi_buf *out, const char *text, size_t most)
{
    struct bi_buf utf8 = {.env = out->env};
    bi_put_utf8(&utf8, text);
    for (size_t i = 0; i < utf8.size; i++) {
        const unsigned char c = (unsigned char)utf8.data[i];
        if ((c & 0xC0) != 0x80 && !most--) {
            bi_buf_puts(out, "...");
            break;
        }
        if (c == '<' || c == '>' || c == '&' || c == '"')
            bi_buf_printf(out, "&#%d;", c);
        else
            bi_buf_putc(out, c < 0x20 || c == 0x7F ? ' ' : (char)c);
    }
    out->failed = out->failed || utf8.failed;
    bi_buf_free(&utf8);
}

static void label(struct bi_buf *out, double x, double y, const char *how, const char *text)
{
    bi_buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, how);
    put_text(out, text, 90);
    bi_buf_puts(out, "</text>\n");
}

static void number_label(struct bi_buf *out, double x, double y, const char *how, double value)
{
    char text[BI_NUMBER_SIZE];
    const bool whole = value == floor(value) && fabs(value) < 1e15; /* also beyond 2^24 */
    text[whole ? bi_print_f64(text, value) : bi_print_f32(text, (float)value)] = '\0';
    label(out, x, y, how, text);
}

/* Colours at equal distances along a scale. */
static const uint8_t scale_unit[][3] = {
    {247, 250, 253}, {200, 219, 238}, {115, 170, 214}, {38, 110, 178}, {8, 48, 107}};
static const uint8_t scale_range[][3] = {
    {68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
static const uint8_t scale_diverging[][3] = {
    {24, 79, 149}, {120, 171, 212}, {246, 246, 244}, {231, 142, 110}, {168, 30, 45}};

static void colour_of(enum bi_heat_scale scale, double share, uint8_t rgb[3])
{
    const uint8_t(*stops)[3] = scale == BI_SCALE_UNIT    ? scale_unit
                               : scale == BI_SCALE_RANGE ? scale_range
                                                         : scale_diverging;
    const double at = fmin(fmax(share, 0), 1) * 4;
    const int k = at >= 4 ? 3 : (int)at;
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)lround(stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]));
}

/* ---- 2 images ------------------------------------------------------------------------ */

/* The cells [rows, columns] of codes (share of the scale, NaN = none) as an image of that size. */
static void put_image(struct bi_buf *out, const struct bi_heat *h, double x, double y, double width,
                      double height)
{
    struct bi_buf png = {.env = out->env};
    uint8_t *cells = bi_calloc(out->env, (size_t)h->n_rows * h->n_columns, 3);
    for (size_t i = 0; cells && i < (size_t)h->n_rows * h->n_columns; i++)
        if (isfinite(h->values[i]))
            colour_of(h->scale, ((double)h->values[i] - h->low) / (h->high - h->low),
                      cells + 3 * i);
        else
            memset(cells + 3 * i, 224, 3);
    if (cells)
        bi_png_write(&png, cells, h->n_columns, h->n_rows);
    if (!cells || png.failed)
        out->failed = true;
    bi_buf_printf(out,
                  "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                  "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
                  "href=\"data:image/png;base64,",
                  x, y, width, height);
    if (!out->failed)
        bi_put_base64(out, png.data, png.size);
    bi_buf_puts(out, "\"/>\n");
    bi_free(out->env, cells);
    bi_buf_free(&png);
}

/* ---- 3 figures ----------------------------------------------------------------------- */

static void open_svg(struct bi_buf *out, const struct bi_shown *v, const struct bi_figure *f,
                     double width, double height)
{
    bi_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
                  "width=\"%.0f\" height=\"%.0f\" font-family=\"system-ui,Helvetica,Arial,"
                  "sans-serif\" font-size=\"12\" fill=\"#1c2430\" role=\"img\">\n<title>",
                  width, height, width, height);
    put_text(out, f->title, 200);
    bi_buf_puts(out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    label(out, 20, 28, "font-size=\"16\" font-weight=\"600\"", f->title);
    bi_buf_puts(out, "<text x=\"20\" y=\"47\" fill=\"#5b6675\">");
    put_text(out, v->title, 60);
    if (f->note) {
        bi_buf_puts(out, " - ");
        put_text(out, f->note, 110);
    }
    bi_buf_puts(out, "</text>\n");
}

/* The bar that says which colour is which value. */
static void put_scale(struct bi_buf *out, const struct bi_heat *h, double x, double y, double width)
{
    float ramp[64];
    struct bi_heat bar = *h;
    for (int k = 0; k < 64; k++)
        ramp[k] = (float)(h->low + (h->high - h->low) * k / 63);
    bar.n_rows = 1;
    bar.n_columns = 64;
    bar.values = ramp;
    put_image(out, &bar, x, y, width, 10);
    number_label(out, x, y + 24, "font-size=\"11\"", h->low);
    number_label(out, x + width, y + 24, "font-size=\"11\" text-anchor=\"end\"", h->high);
    label(out, x + width / 2, y + 24, "font-size=\"11\" text-anchor=\"middle\" fill=\"#5b6675\"",
          h->value_name);
}

/* Ticks of an axis: of numbers so large that a step does not change them there would be no end. */
enum { MOST_TICKS = 200 };

/* The least step of 1, 2 or 5 times a power of ten that gives at most `most` steps over `span`. */
static double step_of(double span, double most)
{
    double step;
    if (!(span > 0) || !isfinite(span))
        return 1;
    step = pow(10, floor(log10(span / most)));
    if (!(step > 0))
        return span;
    while (!(span / step <= most))
        step *= span / (2 * step) <= most ? 2 : span / (5 * step) <= most ? 5 : 10;
    return step;
}

/* Labels of an axis over `size` pixels from `start`, below a figure or, `upright`, at its left;
 * `beside` is their other coordinate. */
static void put_ticks(struct bi_buf *out, double low, double high, double start, double size,
                      double beside, bool upright)
{
    const double step = step_of(high - low, 8), from = ceil(low / step) * step;
    for (double at = from, k = 0; at <= high && k < MOST_TICKS; at = from + ++k * step) {
        const double pixel = start + (at - low) / (high - low) * size;
        if (upright)
            number_label(out, beside, pixel + 4, "font-size=\"11\" text-anchor=\"end\"", at);
        else
            number_label(out, pixel, beside, "font-size=\"11\" text-anchor=\"middle\"", at);
    }
}

/* Pixels that the longest of n names takes. */
static double names_width(const char *const *names, size_t n)
{
    size_t most = 7;
    for (size_t k = 0; k < n; k++)
        most = strlen(names[k]) > most ? strlen(names[k]) : most;
    return 6.8 * (double)(most < 90 ? most : 90);
}

static void svg_heat(struct bi_buf *out, const struct bi_shown *v, const struct bi_figure *f)
{
    const struct bi_heat *h = &f->as.heat;
    const bool square = !h->row_letters && h->n_rows == h->n_columns;
    const double cell = square ? 560.0 / h->n_columns : fmax(1, fmin(14, 1200.0 / h->n_columns));
    const bool named = h->row_names && h->n_rows <= 40;
    const double left = named ? 12 + names_width(h->row_names, h->n_rows) : 56, top = 66,
                 width = cell * h->n_columns,
                 height = square ? width : fmin(14.0 * h->n_rows, fmax(560, h->n_rows));
    const double span = h->n_columns * h->step;
    const double step = fmax(1, step_of(fmax(span, 2), fmax(2, width / 50)));
    char row[8];
    open_svg(out, v, f, fmax(left + width + 30, 620), top + height + 80);
    put_image(out, h, left, top, width, height);
    for (uint32_t r = 0; h->row_letters && r < h->n_rows; r++) {
        row[0] = h->row_letters[r];
        row[1] = '\0';
        label(out, left - 12, top + 14.0 * r + 11, "font-size=\"11\" text-anchor=\"middle\"", row);
    }
    for (uint32_t r = 0; named && r < h->n_rows; r++)
        label(out, left - 6, top + height * (r + 0.5) / h->n_rows + 4,
              "font-size=\"11\" text-anchor=\"end\"", h->row_names[r]);
    for (uint32_t c = 0; h->wild && c < h->n_columns; c++) {
        const char *at = h->wild[c] ? strchr(h->row_letters, h->wild[c]) : NULL;
        if (at)
            bi_buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"#1c2430\"/>\n",
                          left + cell * (c + 0.5), top + 14.0 * (double)(at - h->row_letters) + 7);
    }
    const double from = ceil((double)h->first / step) * step;
    for (double at = from, k = 0; at < (double)h->first + span && k < MOST_TICKS;
         at = from + ++k * step) {
        const double x = left + (at - (double)h->first + 0.5) / h->step * cell;
        number_label(out, x, top + height + 15, "font-size=\"11\" text-anchor=\"middle\"", at);
        if (square && !named)
            number_label(out, left - 6, top + x - left + 4, "font-size=\"11\" text-anchor=\"end\"",
                         at);
    }
    label(out, left + width / 2, top + height + 32, "text-anchor=\"middle\"", h->column_name);
    put_scale(out, h, left, top + height + 44, 240);
}

static void svg_histogram(struct bi_buf *out, const struct bi_shown *v, const struct bi_figure *f)
{
    const struct bi_histogram *h = &f->as.histogram;
    const double left = 60, top = 66, width = 600, height = 300, bar = width / h->n_bins;
    double most = 1;
    for (int k = 0; k < h->n_bins; k++)
        most = fmax(most, (double)h->counts[k]);
    open_svg(out, v, f, left + width + 30, top + height + 60);
    for (int k = 0; k < h->n_bins; k++)
        bi_buf_printf(out,
                      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                      "fill=\"#2f6db3\"><title>%llu</title></rect>\n",
                      left + k * bar + 1, top + height * (1 - (double)h->counts[k] / most),
                      fmax(bar - 2, 0.5), height * (double)h->counts[k] / most,
                      (unsigned long long)h->counts[k]);
    bi_buf_printf(out, "<path d=\"M%.0f %.0fh%.0f\" stroke=\"#8a94a3\"/>\n", left, top + height,
                  width);
    put_ticks(out, h->low, h->high, left, width, top + height + 17, false);
    number_label(out, left - 8, top + height + 4, "font-size=\"11\" text-anchor=\"end\"", 0);
    number_label(out, left - 8, top + 9, "font-size=\"11\" text-anchor=\"end\"", most);
    bi_buf_printf(out, "<text x=\"%.0f\" y=\"%.0f\" fill=\"#5b6675\">n = %llu, median ", left,
                  top + height + 42, (unsigned long long)h->n);
    {
        char text[BI_NUMBER_SIZE];
        bi_buf_append(out, text, bi_print_f32(text, (float)h->median));
        bi_buf_puts(out, ", mean ");
        bi_buf_append(out, text, bi_print_f32(text, (float)h->mean));
    }
    bi_buf_printf(out, " %s</text>\n", h->unit);
}

static void range_of(const float *values, size_t n, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            *low = fmin(*low, values[i]);
            *high = fmax(*high, values[i]);
        }
    if (*low > *high)
        *low = *high = 0;
}

static void svg_scatter(struct bi_buf *out, const struct bi_shown *v, const struct bi_figure *f)
{
    const struct bi_scatter *c = &f->as.scatter;
    static const uint8_t grey[3] = {128, 128, 128}, blue[3] = {37, 99, 168};
    const double left = 76, top = 66, side = 560; /* ticks have seven digits */
    const bool many = c->n > 1000;                /* they lie on each other */
    const struct bi_heat scale = {.scale = BI_SCALE_RANGE, .value_name = c->colour_name};
    struct bi_heat bar = scale;
    double x[2], y[2];
    range_of(c->x, c->n, &x[0], &x[1]);
    range_of(c->y, c->n, &y[0], &y[1]);
    range_of(c->colour, c->n, &bar.low, &bar.high);
    bi_axis_widen(&x[0], &x[1]);
    bi_axis_widen(&y[0], &y[1]);
    bi_axis_widen(&bar.low, &bar.high);
    open_svg(out, v, f, left + side + 40, top + side + (c->colour_name ? 100 : 56));
    bi_buf_printf(out,
                  "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"none\" "
                  "stroke=\"#c3cad4\"/>\n",
                  left, top, side, side);
    for (size_t i = 0; i < c->n && c->segments; i += 2) {
        bi_buf_puts(out,
                    "<path stroke=\"#2563a8\" stroke-width=\"1.6\" stroke-linecap=\"round\" d=\"");
        for (size_t k = i; k < i + 2; k++)
            bi_buf_printf(out, "%c%.1f %.1f", k == i ? 'M' : 'L',
                          left + 12 + (c->x[k] - x[0]) / (x[1] - x[0]) * (side - 24),
                          top + side - 12 - (c->y[k] - y[0]) / (y[1] - y[0]) * (side - 24));
        bi_buf_puts(out, "\"><title>");
        put_text(out, c->labels[i], 200);
        bi_buf_puts(out, "</title></path>\n");
    }
    for (size_t i = 0; i < c->n && !c->segments; i++) {
        uint8_t rgb[3];
        memcpy(rgb, c->colour_name ? grey : blue, sizeof rgb);
        if (isfinite(c->colour[i]))
            colour_of(BI_SCALE_RANGE, (c->colour[i] - bar.low) / (bar.high - bar.low), rgb);
        bi_buf_printf(out,
                      "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"#%02x%02x%02x\" "
                      "fill-opacity=\"%s\"><title>",
                      left + 12 + (c->x[i] - x[0]) / (x[1] - x[0]) * (side - 24),
                      top + side - 12 - (c->y[i] - y[0]) / (y[1] - y[0]) * (side - 24),
                      many ? "2" : "3.5", rgb[0], rgb[1], rgb[2], many ? ".45" : ".85");
        put_text(out, c->labels[i], 200);
        bi_buf_puts(out, "</title></circle>\n");
    }
    put_ticks(out, x[0], x[1], left + 12, side - 24, top + side + 14, false);
    put_ticks(out, y[0], y[1], top + side - 12, 24 - side, left - 6, true);
    label(out, left + side / 2, top + side + 32, "text-anchor=\"middle\"", c->x_name);
    bi_buf_printf(out, "<g transform=\"translate(16,%.0f) rotate(-90)\">", top + side / 2);
    label(out, 0, 0, "text-anchor=\"middle\"", c->y_name);
    bi_buf_puts(out, "</g>\n");
    if (c->colour_name)
        put_scale(out, &bar, left, top + side + 48, 240);
}

static void svg_genes(struct bi_buf *out, const struct bi_shown_tracks *t, double left, double top,
                      double width)
{
    const double span = t->step * t->n_bins;
    for (size_t k = 0; k < t->n_genes; k++) {
        const struct bi_shown_gene *g = &t->genes[k];
        const double y = top + 22.0 * (double)(k % 4);
        const double x0 = left + fmax(0, (g->start - t->start) / span) * width;
        const double x1 = left + fmin(1, (g->end - t->start) / span) * width;
        bi_buf_printf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#5b6675\"/>\n", x0, y + 4, x1);
        for (uint32_t i = 0; i < g->n_exons; i++) {
            const double a = fmax(0, (g->exons[2 * i] - t->start) / span);
            const double b = fmin(1, (g->exons[2 * i + 1] - t->start) / span);
            if (b > a)
                bi_buf_printf(out,
                              "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"8\" "
                              "fill=\"#5b6675\"/>\n",
                              left + a * width, y, fmax(1, (b - a) * width));
        }
        label(out, x0, y + 18, "font-size=\"10\" fill=\"#5b6675\"", g->name);
    }
}

static void svg_bars(struct bi_buf *out, const float *values, uint32_t n, double low, double high,
                     double left, double y, double width, double height)
{
    const double zero = y + height * (1 + low / (high - low));
    bi_buf_printf(out, "<path fill=\"#2f6db3\" d=\"M%.1f %.1f", left, zero);
    for (uint32_t i = 0; i < n; i++) {
        const double value = isfinite(values[i]) ? values[i] : 0;
        bi_buf_printf(out, "V%.1fH%.1f", y + height * (1 - (value - low) / (high - low)),
                      left + width * (i + 1) / n);
    }
    bi_buf_printf(out, "V%.1fZ\"/>\n<path d=\"M%.1f %.1fH%.1f\" stroke=\"#c3cad4\"/>\n", zero, left,
                  zero, left + width);
}

/* Moves both ends outwards to round numbers. */
static void round_out(double *low, double *high)
{
    const double step = step_of(*high - *low, 3);
    const double a = floor(*low / step) * step, b = ceil(*high / step) * step;
    if (isfinite(a) && isfinite(b) && a < b) {
        *low = a;
        *high = b;
    }
}

/* A line that has a gap where there is no value. */
static void svg_line(struct bi_buf *out, const float *values, uint32_t n, double low, double high,
                     double left, double y, double width, double height)
{
    char move = 'M';
    bi_buf_printf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#c3cad4\"/>\n", left, y + height,
                  left + width);
    bi_buf_puts(out, "<path fill=\"none\" stroke=\"#2f6db3\" stroke-width=\"1.4\" "
                     "stroke-linejoin=\"round\" d=\"");
    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(values[i]))
            bi_buf_printf(out, "%c%.1f %.1f", move, left + width * i / (n - 1),
                          y + height * (1 - (values[i] - low) / (high - low)));
        move = isfinite(values[i]) ? 'L' : 'M';
    }
    bi_buf_puts(out, "\"/>\n");
}

static void svg_tracks(struct bi_buf *out, const struct bi_shown *v, const struct bi_figure *f)
{
    const struct bi_shown_tracks *t = &f->as.tracks;
    const double left = names_width(t->names, t->n_tracks) + 80, top = 66, width = 800, height = 60,
                 gap = 12;
    const double genes = t->n_genes ? 100 : 0, bottom = top + t->n_tracks * (height + gap);
    const double span = t->step * (t->n_bins - t->lines), step = step_of(span, 6);
    open_svg(out, v, f, left + width + 30, bottom + genes + 50);
    for (uint32_t k = 0; k < t->n_tracks; k++) {
        const float *values = t->values + (size_t)k * t->n_bins;
        const double y = top + k * (height + gap);
        double low, high;
        range_of(values, t->n_bins, &low, &high);
        if (t->lines) {
            bi_axis_widen(&low, &high);
            round_out(&low, &high);
            svg_line(out, values, t->n_bins, low, high, left, y, width, height);
        } else {
            low = fmin(low, 0);
            high = fmax(high, 0);
            high = high > low ? high : 1;
            svg_bars(out, values, t->n_bins, low, high, left, y, width, height);
        }
        label(out, left - 76, y + height / 2 + 4, "text-anchor=\"end\"", t->names[k]);
        bi_buf_printf(out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#8a94a3\"/>\n", left, y,
                      y + height);
        number_label(out, left - 5, y + 8, "font-size=\"10\" text-anchor=\"end\"", high);
        number_label(out, left - 5, y + height, "font-size=\"10\" text-anchor=\"end\"", low);
    }
    svg_genes(out, t, left, bottom, width);
    const double from = ceil(t->start / step) * step;
    for (double at = from, k = 0; at <= t->start + span && k < MOST_TICKS; at = from + ++k * step) {
        char text[32];
        text[bi_print_f64(text, at)] = '\0';
        label(out, left + (at - t->start) / span * width, bottom + genes + 14,
              "font-size=\"11\" text-anchor=\"middle\"", text);
    }
    label(out, left + width / 2, bottom + genes + 34, "text-anchor=\"middle\"",
          t->contig  ? t->contig
          : t->place ? t->place
                     : "bin");
}

/* Information of a column in bits: what 20 letters could have, less the entropy of its shares. */
static double bits_of(const struct bi_logo *l, uint32_t column)
{
    double bits = log2(20), sum = 0;
    for (size_t r = 0; l->letters[r]; r++) {
        const double p = l->shares[r * l->n_columns + column];
        sum += p;
        bits += p > 0 ? p * log2(p) : 0;
    }
    return sum > 0 ? fmax(bits, 0) : 0;
}

/* Letters of a column on each other, the most frequent one on top; each as high as its share of the
 * column's bits. */
static void put_stack(struct bi_buf *out, const struct bi_logo *l, uint32_t column, double x,
                      double bottom, double height)
{
    enum { MOST = 64 };
    const double cap = 14.4, wide = 14; /* a letter has 20 pixels */
    const double bits = bits_of(l, column);
    bool put[MOST] = {false};
    for (;;) {
        size_t least = MOST;
        double p = 2, high;
        for (size_t r = 0; l->letters[r] && r < MOST; r++) {
            const double share = l->shares[r * l->n_columns + column];
            if (share > 0 && !put[r] && share < p) {
                p = share;
                least = r;
            }
        }
        if (least == MOST)
            return;
        put[least] = true;
        high = p * bits / log2(20) * height;
        bi_buf_printf(out,
                      "<text transform=\"translate(%.1f %.3f) scale(%.3f %.5f)\" "
                      "text-anchor=\"middle\" font-size=\"20\" font-weight=\"700\">%c</text>\n",
                      x, bottom, 13 / wide, high / cap, l->letters[least]);
        bottom -= high;
    }
}

static void svg_logo(struct bi_buf *out, const struct bi_shown *v, const struct bi_figure *f)
{
    enum { LINE = 60 };
    const struct bi_logo *l = &f->as.logo;
    const uint32_t lines = (l->n_columns + LINE - 1) / LINE;
    const double left = 60, top = 66, wide = 14, height = 90, below = 40;
    open_svg(out, v, f, left + wide * LINE + 30, top + lines * (height + below) + 30);
    for (uint32_t c = 0; c < l->n_columns; c++) {
        const double x = left + wide * (c % LINE + 0.5);
        const double bottom = top + c / LINE * (height + below) + height;
        if (c % LINE == 0) {
            bi_buf_printf(out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#8a94a3\"/>\n", left - 3,
                          bottom - height, bottom);
            number_label(out, left - 6, bottom, "font-size=\"10\" text-anchor=\"end\"", 0);
            label(out, left - 6, bottom - height + 8, "font-size=\"10\" text-anchor=\"end\"",
                  "4.32 bits");
        }
        put_stack(out, l, c, x, bottom, height);
        if (l->wild)
            label(out, x, bottom + 13, "font-size=\"11\" text-anchor=\"middle\" fill=\"#5b6675\"",
                  (char[2]){l->wild[c], '\0'});
        if ((c + 1) % 10 == 0 || c % LINE == 0)
            number_label(out, x, bottom + 26, "font-size=\"10\" text-anchor=\"middle\"", c + 1.0);
    }
}

static void svg_alignment(struct bi_buf *out, const struct bi_shown *v, const struct bi_figure *f)
{
    enum { WIDTH = 80 };
    const struct bi_alignment *a = &f->as.alignment;
    const size_t n = strlen(a->rows[0]);
    open_svg(out, v, f, 740, 90 + 60.0 * (double)((n + WIDTH - 1) / WIDTH));
    bi_buf_puts(out, "<g font-family=\"ui-monospace,Menlo,Consolas,monospace\" font-size=\"13\" "
                     "style=\"white-space:pre\">\n");
    for (size_t at = 0; at < n; at += WIDTH)
        for (int k = 0; k < 3; k++) {
            bi_buf_printf(out, "<text x=\"20\" y=\"%.0f\" xml:space=\"preserve\">",
                          78 + 60.0 * (double)(at / WIDTH) + 16 * k);
            for (size_t i = at; i < n && i < at + WIDTH; i++)
                put_text(out, (char[2]){a->rows[k][i], '\0'}, 2);
            bi_buf_puts(out, "</text>\n");
        }
    bi_buf_puts(out, "</g>\n");
}

/* Colours of pLDDT as AlphaFold's database has them: above 90, 70, 50, and the rest. */
static const uint8_t bands[4][3] = {{0, 83, 214}, {101, 203, 243}, {255, 219, 19}, {255, 125, 69}};

static void trace_colour(const struct bi_trace *t, const struct bi_heat *bar, double value,
                         uint8_t rgb[3])
{
    if (!isfinite(value))
        memset(rgb, 150, 3);
    else if (t->is_plddt)
        memcpy(rgb, bands[value > 90 ? 0 : value > 70 ? 1 : value > 50 ? 2 : 3], 3);
    else
        colour_of(BI_SCALE_RANGE, (value - bar->low) / (bar->high - bar->low), rgb);
}

struct piece {
    double depth;
    uint32_t i;
};

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return x->depth != y->depth ? (x->depth > y->depth) - (x->depth < y->depth)
                                : (x->i > y->i) - (x->i < y->i);
}

/* Each residue is a curve from the middle before it to the middle after it; the nearest is drawn
 * last, over a broader white one that parts it from what lies deeper. */
static void svg_trace(struct bi_buf *out, const struct bi_shown *v, const struct bi_figure *f)
{
    static const char *const words[] = {"pLDDT above 90", "above 70", "above 50", "below"};
    const struct bi_trace *t = &f->as.trace;
    const double left = 20, top = 66, side = 600;
    struct bi_heat bar = {.scale = BI_SCALE_RANGE, .value_name = "B-factor"};
    struct piece *pieces = bi_calloc(out->env, t->n, sizeof *pieces);
    double most = 1, deep = 1;
    uint32_t start = 0;
    if (!pieces) {
        out->failed = true;
        return;
    }
    range_of(t->value, t->n, &bar.low, &bar.high);
    bi_axis_widen(&bar.low, &bar.high);
    for (uint32_t i = 0; i < t->n; i++) {
        pieces[i] = (struct piece){t->z[i], i};
        most = bi_larger(most, fabs((double)t->x[i]));
        most = bi_larger(most, fabs((double)t->y[i]));
        deep = bi_larger(deep, fabs((double)t->z[i]));
    }
    qsort(pieces, t->n, sizeof *pieces, compare_pieces);
    open_svg(out, v, f, side + 2 * left, top + side + 60);
    bi_buf_puts(out, "<g fill=\"none\" stroke-linecap=\"round\">\n");
    for (uint32_t k = 0; k < t->n; k++) {
        const uint32_t i = pieces[k].i;
        const double scale = (side / 2 - 10) / most, fade = 0.45 * (deep - t->z[i]) / (2 * deep);
        double x[3], y[3];
        uint8_t rgb[3];
        bool first = false, last = i + 1 == t->n;
        for (start = 0; start < t->n_starts; start++) {
            first = first || t->starts[start] == i;
            last = last || t->starts[start] == i + 1;
        }
        for (int j = -1; j <= 1; j++) {
            const uint32_t to = (j < 0 && first) || (j > 0 && last) ? i : i + (uint32_t)j;
            x[j + 1] = left + side / 2 + scale * (t->x[i] + t->x[to]) / 2;
            y[j + 1] = top + side / 2 - scale * (t->y[i] + t->y[to]) / 2;
        }
        trace_colour(t, &bar, t->value[i], rgb);
        for (int c = 0; c < 3; c++)
            rgb[c] = (uint8_t)lround(rgb[c] + fade * (255 - rgb[c]));
        for (int wide = 1; wide >= 0; wide--)
            bi_buf_printf(out,
                          "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\" stroke=\"#%02x%02x%02x\" "
                          "stroke-width=\"%s\"%s",
                          x[0], y[0], x[1], y[1], x[2], y[2], wide ? 255 : rgb[0],
                          wide ? 255 : rgb[1], wide ? 255 : rgb[2], wide ? "7" : "4.5",
                          wide ? " stroke-linecap=\"butt\"/>\n" : "><title>");
        put_text(out, t->labels[i], 200);
        bi_buf_puts(out, "</title></path>\n");
    }
    bi_buf_puts(out, "</g>\n");
    bi_free(out->env, pieces);
    if (!t->is_plddt)
        put_scale(out, &bar, left, top + side + 14, 240);
    for (int k = 0; t->is_plddt && k < 4; k++) {
        bi_buf_printf(out,
                      "<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" "
                      "fill=\"#%02x%02x%02x\"/>\n",
                      left + 130 * k, top + side + 14, bands[k][0], bands[k][1], bands[k][2]);
        label(out, left + 130 * k + 18, top + side + 24, "font-size=\"11\"", words[k]);
    }
}

int bi_svg_write(const struct bi_shown *v, struct bi_buf *out, struct bioinfer_error *err)
{
    static void (*const draw[])(struct bi_buf *out, const struct bi_shown *v,
                                const struct bi_figure *f) = {
        [BI_FIGURE_HISTOGRAM] = svg_histogram, [BI_FIGURE_HEAT] = svg_heat,
        [BI_FIGURE_SCATTER] = svg_scatter,     [BI_FIGURE_TRACKS] = svg_tracks,
        [BI_FIGURE_LOGO] = svg_logo,           [BI_FIGURE_ALIGNMENT] = svg_alignment,
        [BI_FIGURE_TRACE] = svg_trace,
    };
    const struct bi_figure *f, *best = v->chosen;
    for (f = best ? NULL : v->figures; f;
         f = f->next) /* a distribution only where there is nothing else */
        if (f->kind != BI_FIGURE_TABLE &&
            (!best || (best->kind == BI_FIGURE_HISTOGRAM && f->kind != BI_FIGURE_HISTOGRAM)))
            best = f;
    if (!best)
        return bi_fail(err, BIOINFER_NOT_FOUND,
                       "%s: %s without a figure to plot; `bioinfer report` shows tables", v->title,
                       v->kind);
    draw[best->kind](out, v, best);
    bi_buf_puts(out, "</svg>\n");
    return out->failed ? bi_fail(err, BIOINFER_NOMEM, "%s: the picture", v->title) : 0;
}

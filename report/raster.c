/* raster.c - pixels of a picture. A shape is the signed area that its outline leaves in each pixel:
 * edges add what they cover of a row, and a sum along the row gives how much of each pixel lies
 * within. Parts of a shape that lie on each other cover no more than all of a pixel. */
#include "raster.h"

#include <math.h>
#include <string.h>

enum { MOST_SIDE = 16384, DISC = 24 /* corners of a disc */ };

static const char *const glyphs[] = {
#include "glyphs.inc"
};
/* In the units of glyphs: the base line, and the height of a capital. */
static const double base = 9, capital = 21;

/* ---- shapes ---- */

static void begin(struct bi_raster *r)
{
    r->low[0] = r->low[1] = INFINITY;
    r->high[0] = r->high[1] = -INFINITY;
}

int bi_raster_open(struct bi_raster *r, const struct bi_env *env, double width, double height,
                   struct bioinfer_error *err)
{
    size_t n;
    *r = (struct bi_raster){.env = env};
    if (!(width >= 1 && height >= 1 && width <= MOST_SIDE && height <= MOST_SIDE))
        return bi_fail(err, BIOINFER_LIMIT,
                       "a picture of %.0f x %.0f pixels, at most %d a side can be", width, height,
                       MOST_SIDE);
    r->width = (uint32_t)ceil(width);
    r->height = (uint32_t)ceil(height);
    n = (size_t)r->width * r->height * 3;
    r->rgb = bi_zalloc(env, n);
    r->cover = bi_calloc(env, (size_t)(r->width + 2) * (r->height + 1), sizeof *r->cover);
    if (!r->rgb || !r->cover) {
        bi_raster_close(r);
        return bi_fail(err, BIOINFER_NOMEM, "the pixels of a picture");
    }
    memset(r->rgb, 255, n);
    begin(r);
    return 0;
}

void bi_raster_close(struct bi_raster *r)
{
    bi_free(r->env, r->rgb);
    bi_free(r->env, r->cover);
    *r = (struct bi_raster){0};
}

static void meet(struct bi_raster *r, double x, double y)
{
    r->low[0] = fmin(r->low[0], x);
    r->low[1] = fmin(r->low[1], y);
    r->high[0] = fmax(r->high[0], x);
    r->high[1] = fmax(r->high[1], y);
}

/* The area left of t, in a row of height 1, under an edge from `left` at its top or bottom to
 * `right`. */
static double area_before(double t, double left, double right)
{
    if (t <= left)
        return 0;
    return t >= right ? t - 0.5 * (left + right) : (t - left) * (t - left) / (2 * (right - left));
}

/* Adds an edge from x = a to x = b within one row of pixels; height has a sign. */
static void add_row(float *row, double a, double b, double height)
{
    const double left = fmin(a, b), right = fmax(a, b), end = ceil(right);
    double before = 0;
    for (double x = floor(left); x < end; x++) {
        const double now = height * (area_before(x + 1, left, right) - area_before(x, left, right));
        row[(size_t)x] += (float)(now - before);
        before = now;
    }
    row[(size_t)end] += (float)(height - before);
}

void bi_raster_edge(struct bi_raster *r, double x0, double y0, double x1, double y1)
{
    const double sign = y0 < y1 ? 1 : -1;
    double slope, x;
    meet(r, x0, y0);
    meet(r, x1, y1);
    if (y0 == y1 || !isfinite(x0 + y0 + x1 + y1))
        return;
    if (sign < 0) {
        const double x2 = x0, y2 = y0;
        x0 = x1, y0 = y1, x1 = x2, y1 = y2;
    }
    slope = (x1 - x0) / (y1 - y0);
    if (y0 < 0) {
        x0 -= y0 * slope;
        y0 = 0;
    }
    y1 = fmin(y1, r->height);
    x = x0;
    for (double y = floor(y0); y < y1; y++) {
        const double height = fmin(y + 1, y1) - fmax(y, y0), next = x + slope * height;
        const double a = fmin(fmax(x, 0), r->width), b = fmin(fmax(next, 0), r->width);
        add_row(r->cover + (size_t)y * (r->width + 2), a, b, sign * height);
        x = next;
    }
}

void bi_raster_disc(struct bi_raster *r, double x, double y, double radius)
{
    const double turn = 2 * acos(-1) / DISC;
    for (int k = 0; k < DISC; k++)
        bi_raster_edge(r, x + radius * cos(turn * k), y + radius * sin(turn * k),
                       x + radius * cos(turn * (k + 1)), y + radius * sin(turn * (k + 1)));
}

void bi_raster_line(struct bi_raster *r, double x0, double y0, double x1, double y1, double width)
{
    const double length = hypot(x1 - x0, y1 - y0), half = width / 2;
    const double dx = (x1 - x0) / length * half, dy = (y1 - y0) / length * half;
    if (!(length > 0))
        return;
    bi_raster_edge(r, x0 + dy, y0 - dx, x1 + dy, y1 - dx); /* goes round as a disc does */
    bi_raster_edge(r, x1 + dy, y1 - dx, x1 - dy, y1 + dx);
    bi_raster_edge(r, x1 - dy, y1 + dx, x0 - dy, y0 + dx);
    bi_raster_edge(r, x0 - dy, y0 + dx, x0 + dy, y0 - dx);
}

void bi_raster_paint(struct bi_raster *r, const struct bi_paint *paint)
{
    const double x0 = fmax(floor(r->low[0]), 0), x1 = fmin(ceil(r->high[0]) + 1, r->width);
    const double y0 = fmax(floor(r->low[1]), 0), y1 = fmin(ceil(r->high[1]) + 1, r->height);
    for (double y = y0; y < y1; y++) {
        float *row = r->cover + (size_t)y * (r->width + 2), sum = 0;
        /* area left of the picture lies at x = 0 */
        for (size_t x = (size_t)x0; (double)x < x1; x++) {
            uint8_t *rgb = r->rgb + 3 * ((size_t)y * r->width + x);
            double share;
            sum += row[x];
            share = paint->none ? 0 : fmin(fabs((double)sum), 1) * paint->opacity;
            for (int c = 0; c < 3; c++)
                rgb[c] = (uint8_t)lround(rgb[c] + share * (paint->rgb[c] - rgb[c]));
        }
        memset(row + (size_t)x0, 0, (r->width + 2 - (size_t)x0) * sizeof *row);
    }
    begin(r);
}

/* ---- letters ---- */

/* The glyph of a character of UTF-8 at *at, which moves past it; NULL = there is none. */
static const char *next_glyph(const char *text, size_t n, size_t *at)
{
    const unsigned char c = (unsigned char)text[(*at)++];
    while (*at < n && c >= 0x80 && ((unsigned char)text[*at] & 0xC0) == 0x80)
        ++*at;
    return c >= ' ' && c < 0x7F ? glyphs[c - ' '] : NULL;
}

static double advance(const char *glyph, const struct bi_letters *how)
{
    const double mono = 0.6 / 0.72 * capital; /* in units of a glyph, of a capital of 0.72 em */
    return how->mono ? mono : !glyph ? 16 : 0.9 * (glyph[1] - glyph[0]);
}

/* Adds the lines of a glyph whose left edge is at x. */
static void add_glyph(struct bi_raster *r, const struct bi_affine *map, const char *glyph, double x,
                      double unit, double width)
{
    static const char box[] = "JZLFXFX[L[LF";
    bool down = false;
    double from[2] = {0, 0};
    const double left = (glyph ? glyph : box)[0] - 'R', narrow = 0.9 * unit;
    for (const char *p = (glyph ? glyph : box) + 2; *p; p += 2) {
        double u, v, to[2];
        if (p[0] == ' ') {
            down = false;
            continue;
        }
        u = x + (p[0] - 'R' - left) * narrow;
        v = (p[1] - 'R' - base) * unit;
        to[0] = map->a * u + map->c * v + map->e;
        to[1] = map->b * u + map->d * v + map->f;
        if (down)
            bi_raster_line(r, from[0], from[1], to[0], to[1], width);
        bi_raster_disc(r, to[0], to[1], width / 2);
        memcpy(from, to, sizeof from);
        down = true;
    }
}

void bi_raster_text(struct bi_raster *r, const struct bi_affine *map, const char *text, size_t n,
                    const struct bi_letters *how, const struct bi_paint *paint)
{
    const double unit = 0.72 * how->size / capital;
    /* lines of a letter that is stretched one way stay as wide as the other way asks for */
    const double size = fmin(hypot(map->a, map->b), hypot(map->c, map->d)) * how->size;
    const double width = fmax(size * (how->bold ? 0.12 : 0.085), 0.8);
    double x = 0;
    for (size_t at = 0; at < n;)
        x += advance(next_glyph(text, n, &at), how) * unit;
    x *= -how->shift;
    for (size_t at = 0; at < n;) {
        const char *glyph = next_glyph(text, n, &at);
        const double wide = advance(glyph, how) * unit;
        const double own = 0.9 * unit * (glyph ? glyph[1] - glyph[0] : 16);
        add_glyph(r, map, glyph, x + (how->mono ? (wide - own) / 2 : 0), unit, width);
        x += wide;
    }
    bi_raster_paint(r, paint);
}

/* ---- images ---- */

void bi_raster_image(struct bi_raster *r, const uint8_t *rgb, uint32_t rows, uint32_t columns,
                     double x, double y, double width, double height)
{
    const double x0 = fmax(ceil(x - 0.5), 0), x1 = fmin(x + width - 0.5, r->width - 1.0);
    const double y0 = fmax(ceil(y - 0.5), 0), y1 = fmin(y + height - 0.5, r->height - 1.0);
    for (double j = y0; j <= y1; j++)
        for (double i = x0; i <= x1; i++) {
            const double row = fmin(fmax((j + 0.5 - y) / height, 0) * rows, rows - 1.0);
            const double column = fmin(fmax((i + 0.5 - x) / width, 0) * columns, columns - 1.0);
            memcpy(r->rgb + 3 * ((size_t)j * r->width + (size_t)i),
                   rgb + 3 * ((size_t)row * columns + (size_t)column), 3);
        }
}

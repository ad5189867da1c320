/* raster.h - pixels of a picture: shapes with smooth edges, letters made of lines, images. */
#ifndef BI_RASTER_H
#define BI_RASTER_H

#include "../base/buf.h"

/* A point (x, y) lies at (a x + c y + e, b x + d y + f), in pixels. */
struct bi_affine {
    double a, b, c, d, e, f;
};

struct bi_paint {
    uint8_t rgb[3];
    bool none;
    double opacity; /* 0 to 1 */
};

struct bi_letters {
    double size; /* the font's, in units of the affine map */
    bool bold, mono;
    double shift; /* share of the text's width that lies left of its place: 0, 0.5 or 1 */
};

/* A white picture. */
struct bi_raster {
    const struct bi_env *env;
    uint32_t width, height;
    uint8_t *rgb;           /* [height, width, 3] */
    float *cover;           /* [height + 1, width + 2], zeros between shapes */
    double low[2], high[2]; /* pixels that the shape at hand may touch */
};

/* At most 16,384 pixels a side. NOMEM; LIMIT: it is larger, or empty. Frees itself then. */
int bi_raster_open(struct bi_raster *r, const struct bi_env *env, double width, double height,
                   struct bioinfer_error *err);
/* Accepts zeros, and leaves them. */
void bi_raster_close(struct bi_raster *r);
/* Adds an edge of the shape at hand, in pixels; an outline is closed, and its area counts by the
 * direction in which it goes round. */
void bi_raster_edge(struct bi_raster *r, double x0, double y0, double x1, double y1);
/* Adds a line of this width to the shape, in pixels, which ends where its points are. */
void bi_raster_line(struct bi_raster *r, double x0, double y0, double x1, double y1, double width);
/* Adds a disc to the shape. */
void bi_raster_disc(struct bi_raster *r, double x, double y, double radius);
/* Paints the shape at hand, and begins a new one. */
void bi_raster_paint(struct bi_raster *r, const struct bi_paint *paint);
/* Paints a text of UTF-8, whose base line begins at the origin of the map. Letters beyond ASCII are
 * boxes. */
void bi_raster_text(struct bi_raster *r, const struct bi_affine *map, const char *text, size_t n,
                    const struct bi_letters *how, const struct bi_paint *paint);
/* Paints an image [rows, columns, 3] over a rectangle in pixels, without smoothing. */
void bi_raster_image(struct bi_raster *r, const uint8_t *rgb, uint32_t rows, uint32_t columns,
                     double x, double y, double width, double height);

/* Appends an image of 8-bit RGB as PNG; out->failed where there is no memory. */
void bi_png_write(struct bi_buf *out, const uint8_t *rgb, uint32_t width, uint32_t height);
/* Reads such a PNG of bi_png_write(): *rgb is to be freed. False: it is another one, or there is no
 * memory. */
bool bi_png_read(const struct bi_env *env, const uint8_t *bytes, size_t n, uint8_t **rgb,
                 uint32_t *width, uint32_t *height);

/* Appends a picture of bi_svg_write() as PNG, `scale` pixels for each of its units. UNSUPPORTED: it
 * has an element, or a path, that svg.c does not write; LIMIT; NOMEM. */
int bi_svg_raster(const char *svg, size_t n, double scale, struct bi_buf *out,
                  struct bioinfer_error *err);

#endif

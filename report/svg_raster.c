/* svg_raster.c - a picture of svg.c as pixels: it reads the few elements and attributes that svg.c
 * writes, and refuses others. So a figure is drawn by one code, whatever the picture is. */
#include <math.h>
#include <string.h>

#include "../base/number.h"
#include "raster.h"

enum { DEPTH = 8, VALUE = 96 };

/* An element hands this on to the elements within it. */
struct style {
    struct bi_affine map;
    struct bi_paint fill, stroke;
    double stroke_width;
    struct bi_letters letters;
    bool round; /* lines end round */
};

struct drawing {
    const char *at, *end;
    struct bi_raster r;
    struct style of[DEPTH];
    int depth;  /* the innermost style is of[depth] */
    int hidden; /* elements that are open within a title, and it: nothing is drawn */
    struct bioinfer_error *err;
};

/* An element's attributes, from its name on to its end. */
struct element {
    const char *name, *end;
    size_t n_name;
    bool closes, is_empty; /* </name>, <name/> */
};

static bool is_named(const struct element *e, const char *name)
{
    return strlen(name) == e->n_name && !memcmp(e->name, name, e->n_name);
}

/* Finds an attribute: its value, of *n bytes, or NULL. */
static const char *find(const struct element *e, const char *name, size_t *n)
{
    const size_t length = strlen(name);
    const char *at = e->name + e->n_name;
    while (at < e->end) {
        const char *equals = memchr(at, '=', (size_t)(e->end - at)), *value, *close;
        if (!equals || equals + 1 >= e->end || equals[1] != '"')
            return NULL;
        value = equals + 2;
        if (!(close = memchr(value, '"', (size_t)(e->end - value))))
            return NULL;
        while (at < equals && *at == ' ')
            at++;
        if ((size_t)(equals - at) == length && !memcmp(at, name, length)) {
            *n = (size_t)(close - value);
            return value;
        }
        at = close + 1;
    }
    return NULL;
}

static bool has(const struct element *e, const char *name, const char *value)
{
    size_t n;
    const char *found = find(e, name, &n);
    return found && n == strlen(value) && !memcmp(found, value, n);
}

/* Reads a number of a text and moves past it; false: there is none. */
static bool take_number(const char **at, const char *end, double *x)
{
    size_t n = 0;
    while (*at < end && (**at == ' ' || **at == ','))
        ++*at;
    while (*at + n < end && (*at)[n] && strchr("+-.0123456789", (*at)[n]))
        n++;
    if (!n || !bi_parse_f64(*at, n, x))
        return false;
    *at += n;
    return true;
}

static double number(const struct element *e, const char *name, double usual)
{
    size_t n;
    const char *at = find(e, name, &n);
    double x;
    return at && take_number(&at, at + n, &x) ? x : usual;
}

static void take_paint(const struct element *e, const char *name, struct bi_paint *paint)
{
    size_t n;
    const char *value = find(e, name, &n);
    unsigned rgb = 0;
    if (!value)
        return;
    paint->none = n != 7 || *value != '#';
    for (size_t k = 1; k < n && !paint->none; k++) {
        const char *digits = "0123456789abcdef",
                   *digit = value[k] ? strchr(digits, value[k]) : NULL;
        rgb = rgb << 4 | (digit ? (unsigned)(digit - digits) : 0);
    }
    for (int c = 0; c < 3; c++)
        paint->rgb[c] = (uint8_t)(rgb >> (16 - 8 * c));
}

static struct bi_affine joined(const struct bi_affine *m, const struct bi_affine *n)
{
    return (struct bi_affine){m->a * n->a + m->c * n->b,        m->b * n->a + m->d * n->b,
                              m->a * n->c + m->c * n->d,        m->b * n->c + m->d * n->d,
                              m->a * n->e + m->c * n->f + m->e, m->b * n->e + m->d * n->f + m->f};
}

/* Applies translate, scale and rotate, by their first letters. */
static void take_transform(const struct element *e, struct bi_affine *map)
{
    size_t n;
    const char *at = find(e, "transform", &n), *end = at ? at + n : NULL;
    while (at && at < end) {
        const char kind = *at;
        struct bi_affine by = {1, 0, 0, 1, 0, 0};
        double x, y = 0;
        if (!(at = memchr(at, '(', (size_t)(end - at))))
            return;
        at++;
        if (!take_number(&at, end, &x))
            return;
        if (!take_number(&at, end, &y))
            y = kind == 's' ? x : 0;
        if (kind == 't')
            by.e = x, by.f = y;
        else if (kind == 's')
            by.a = x, by.d = y;
        else
            by = (struct bi_affine){cos(x * acos(-1) / 180),
                                    sin(x * acos(-1) / 180),
                                    -sin(x * acos(-1) / 180),
                                    cos(x * acos(-1) / 180),
                                    0,
                                    0};
        *map = joined(map, &by);
        at = memchr(at, ')', (size_t)(end - at));
        while (at && at < end && (*at == ')' || *at == ' '))
            at++;
    }
}

/* The style within an element. */
static struct style style_of(const struct drawing *d, const struct element *e)
{
    struct style s = d->of[d->depth];
    size_t n;
    const char *family = find(e, "font-family", &n);
    take_transform(e, &s.map);
    take_paint(e, "fill", &s.fill);
    take_paint(e, "stroke", &s.stroke);
    s.fill.opacity = number(e, "fill-opacity", s.fill.opacity);
    s.stroke_width = number(e, "stroke-width", s.stroke_width);
    s.letters.size = number(e, "font-size", s.letters.size);
    s.letters.bold |= number(e, "font-weight", 400) >= 600;
    if (family)
        s.letters.mono = n > 12 && !memcmp(family, "ui-monospace", 12);
    if (find(e, "text-anchor", &n))
        s.letters.shift = has(e, "text-anchor", "end")      ? 1
                          : has(e, "text-anchor", "middle") ? 0.5
                                                            : 0;
    if (find(e, "stroke-linecap", &n))
        s.round = has(e, "stroke-linecap", "round");
    return s;
}

static void to_pixels(const struct style *s, double x, double y, double to[2])
{
    to[0] = s->map.a * x + s->map.c * y + s->map.e;
    to[1] = s->map.b * x + s->map.d * y + s->map.f;
}

static double size_of(const struct style *s)
{
    return sqrt(fabs(s->map.a * s->map.d - s->map.b * s->map.c));
}

/* ---- elements ---- */

static void draw_rect(struct drawing *d, const struct element *e, const struct style *s)
{
    const double x = number(e, "x", 0), y = number(e, "y", 0);
    const bool all = has(e, "width", "100%");
    const double width = all ? 1e9 : number(e, "width", 0);
    const double height = all ? 1e9 : number(e, "height", 0);
    double p[4][2];
    for (int k = 0; k < 4; k++) {
        to_pixels(s, x + (k == 1 || k == 2 ? width : 0), y + (k > 1 ? height : 0), p[k]);
        p[k][0] = fmin(p[k][0], d->r.width);
        p[k][1] = fmin(p[k][1], d->r.height);
    }
    for (int k = 0; k < 4; k++)
        bi_raster_edge(&d->r, p[k][0], p[k][1], p[(k + 1) % 4][0], p[(k + 1) % 4][1]);
    bi_raster_paint(&d->r, &s->fill);
    for (int k = 0; k < 4 && !s->stroke.none; k++)
        bi_raster_line(&d->r, p[k][0], p[k][1], p[(k + 1) % 4][0], p[(k + 1) % 4][1],
                       s->stroke_width * size_of(s));
    bi_raster_paint(&d->r, &s->stroke);
}

static void draw_circle(struct drawing *d, const struct element *e, const struct style *s)
{
    double p[2];
    to_pixels(s, number(e, "cx", 0), number(e, "cy", 0), p);
    bi_raster_disc(&d->r, p[0], p[1], number(e, "r", 0) * size_of(s));
    bi_raster_paint(&d->r, &s->fill);
}

/* A pen that follows a path, once for its area and once for its line. */
struct pen {
    struct drawing *d;
    const struct style *s;
    bool is_line, begun;              /* begun: a part of the line was drawn */
    double start[2], at[2], units[2]; /* in pixels; the place in units of the picture */
};

static void draw_to(struct pen *p, double x, double y)
{
    double to[2];
    to_pixels(p->s, x, y, to);
    if (p->is_line) {
        const double width = p->s->stroke_width * size_of(p->s);
        bi_raster_line(&p->d->r, p->at[0], p->at[1], to[0], to[1], width);
        if (p->begun || p->s->round) /* joints are round, ends where they are asked to be */
            bi_raster_disc(&p->d->r, p->at[0], p->at[1], width / 2);
        if (p->s->round)
            bi_raster_disc(&p->d->r, to[0], to[1], width / 2);
        p->begun = true;
    } else {
        bi_raster_edge(&p->d->r, p->at[0], p->at[1], to[0], to[1]);
    }
    memcpy(p->at, to, sizeof to);
    p->units[0] = x;
    p->units[1] = y;
}

/* Draws the commands of a path; false: one is of no kind that svg.c writes. */
static bool follow(struct pen *p, const char *at, const char *end)
{
    char command = 0;
    while (at < end) {
        double x[4] = {0};
        int n = 0;
        if (*at && strchr("MLHVQZh", *at))
            command = *at++;
        if (command == 'Z') {
            if (!p->is_line)
                bi_raster_edge(&p->d->r, p->at[0], p->at[1], p->start[0], p->start[1]);
            memcpy(p->at, p->start, sizeof p->at);
            continue;
        }
        n = command == 'Q' ? 4 : command == 'M' || command == 'L' ? 2 : 1;
        for (int k = 0; k < n; k++)
            if (!command || !take_number(&at, end, &x[k]))
                return false;
        if (command == 'M') {
            if (!p->is_line)
                bi_raster_edge(&p->d->r, p->at[0], p->at[1], p->start[0], p->start[1]);
            to_pixels(p->s, x[0], x[1], p->start);
            memcpy(p->at, p->start, sizeof p->at);
            p->begun = false;
            memcpy(p->units, x, sizeof p->units);
        } else if (command == 'L') {
            draw_to(p, x[0], x[1]);
        } else if (command == 'H') {
            draw_to(p, x[0], p->units[1]);
        } else if (command == 'h') {
            draw_to(p, p->units[0] + x[0], p->units[1]);
        } else if (command == 'V') {
            draw_to(p, p->units[0], x[0]);
        } else if (command == 'Q') {
            enum { STEPS = 8 };
            const double from[2] = {p->units[0], p->units[1]};
            for (int k = 1; k <= STEPS; k++) {
                const double t = (double)k / STEPS, u = 1 - t;
                draw_to(p, u * u * from[0] + 2 * u * t * x[0] + t * t * x[2],
                        u * u * from[1] + 2 * u * t * x[1] + t * t * x[3]);
            }
        } else {
            return false;
        }
    }
    if (!p->is_line)
        bi_raster_edge(&p->d->r, p->at[0], p->at[1], p->start[0], p->start[1]);
    return true;
}

static bool draw_path(struct drawing *d, const struct element *e, const struct style *s)
{
    size_t n;
    const char *path = find(e, "d", &n);
    struct pen fill = {.d = d, .s = s}, line = {.d = d, .s = s, .is_line = true};
    bool ok = path != NULL;
    if (ok && !s->fill.none) {
        ok = follow(&fill, path, path + n);
        bi_raster_paint(&d->r, &s->fill);
    }
    if (ok && !s->stroke.none) {
        ok = follow(&line, path, path + n);
        bi_raster_paint(&d->r, &s->stroke);
    }
    return ok;
}

/* Replaces &#N; by its byte. */
static size_t plain_text(char *to, size_t most, const char *from, const char *end)
{
    size_t n = 0;
    while (from < end && n < most) {
        if (*from == '&' && end - from > 2 && from[1] == '#') {
            from += 2;
            to[n] = 0;
            while (from < end && *from >= '0' && *from <= '9')
                to[n] = (char)(10 * to[n] + (*from++ - '0'));
            n++;
            from += from < end;
        } else {
            to[n++] = *from++;
        }
    }
    return n;
}

static void draw_text(struct drawing *d, const struct element *e, struct style *s)
{
    char text[1024];
    const char *end = memchr(e->end, '<', (size_t)(d->end - e->end));
    const struct bi_affine place = {1, 0, 0, 1, number(e, "x", 0), number(e, "y", 0)};
    s->map = joined(&s->map, &place);
    bi_raster_text(&d->r, &s->map, text,
                   plain_text(text, sizeof text, e->end + 1, end ? end : d->end), &s->letters,
                   &s->fill);
}

/* Decodes base64 into *to, of n / 4 * 3 bytes; gives how many. */
static size_t from_base64(uint8_t *to, const char *text, size_t n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789+/";
    uint8_t value[256];
    size_t size = 0;
    uint32_t bits = 0;
    memset(value, 64, sizeof value);
    for (uint8_t k = 0; k < 64; k++)
        value[(unsigned char)letters[k]] = k;
    for (size_t i = 0; i < n && value[(unsigned char)text[i]] < 64; i++) {
        bits = bits << 6 | value[(unsigned char)text[i]];
        if (i % 4)
            to[size++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    return size;
}

static bool draw_image(struct drawing *d, const struct element *e, const struct style *s)
{
    static const char head[] = "data:image/png;base64,";
    size_t n;
    const char *text = find(e, "href", &n);
    uint8_t *bytes = NULL, *rgb = NULL;
    uint32_t width = 0, height = 0;
    double p[2];
    bool ok = text && n > sizeof head && !memcmp(text, head, sizeof head - 1);
    if (ok)
        ok = (bytes = bi_zalloc(d->r.env, n)) != NULL;
    if (ok)
        ok = bi_png_read(d->r.env, bytes,
                         from_base64(bytes, text + sizeof head - 1, n - (sizeof head - 1)), &rgb,
                         &width, &height);
    to_pixels(s, number(e, "x", 0), number(e, "y", 0), p);
    if (ok)
        bi_raster_image(&d->r, rgb, height, width, p[0], p[1], number(e, "width", 0) * s->map.a,
                        number(e, "height", 0) * s->map.d);
    bi_free(d->r.env, bytes);
    bi_free(d->r.env, rgb);
    return ok;
}

/* Draws what stands within <...>; false: it is not of svg.c. */
static bool draw_element(struct drawing *d, const struct element *e)
{
    struct style s = style_of(d, e);
    bool ok = true;
    if (is_named(e, "title") || d->hidden) {
        d->hidden += e->is_empty ? 0 : 1;
        return true;
    }
    if (is_named(e, "rect"))
        draw_rect(d, e, &s);
    else if (is_named(e, "circle"))
        draw_circle(d, e, &s);
    else if (is_named(e, "path"))
        ok = draw_path(d, e, &s);
    else if (is_named(e, "text"))
        draw_text(d, e, &s);
    else if (is_named(e, "image"))
        ok = draw_image(d, e, &s);
    else
        ok = is_named(e, "g") || is_named(e, "svg");
    if (!e->is_empty && d->depth + 1 < DEPTH)
        d->of[++d->depth] = s;
    else
        ok = ok && e->is_empty;
    return ok;
}

/* Finds the next element; false: there is none. */
static bool next_element(struct drawing *d, struct element *e)
{
    const char *at = memchr(d->at, '<', (size_t)(d->end - d->at));
    bool quoted = false;
    if (!at)
        return false;
    at++;
    *e = (struct element){.closes = at < d->end && *at == '/'};
    at += e->closes;
    e->name = at;
    while (at < d->end && *at && !strchr(" />", *at))
        at++;
    e->n_name = (size_t)(at - e->name);
    while (at < d->end && (quoted || *at != '>'))
        quoted ^= *at++ == '"';
    if (at == d->end)
        return false;
    e->end = at;
    e->is_empty = at[-1] == '/';
    d->at = at + 1;
    return true;
}

int bi_svg_raster(const char *svg, size_t n, double scale, struct bi_buf *out,
                  struct bioinfer_error *err)
{
    const struct bi_paint black = {.opacity = 1}, none = {.none = true, .opacity = 1};
    struct drawing d = {.at = svg, .end = svg + n};
    struct element e;
    bool ok = true;
    int st;
    if (!next_element(&d, &e) || !is_named(&e, "svg"))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "no picture of ours");
    if ((st = bi_raster_open(&d.r, out->env, scale * number(&e, "width", 0),
                             scale * number(&e, "height", 0), err)))
        return st;
    d.of[0] = (struct style){.map = {scale, 0, 0, scale, 0, 0},
                             .fill = black,
                             .stroke = none,
                             .stroke_width = 1,
                             .letters = {.size = 12}};
    d.of[0] = style_of(&d, &e);
    while (ok && next_element(&d, &e)) {
        if (!e.closes)
            ok = draw_element(&d, &e);
        else if (d.hidden)
            d.hidden--;
        else if (d.depth)
            d.depth--;
    }
    if (!ok)
        st = bi_fail(err, BIOINFER_UNSUPPORTED, "an element <%.*s> of a picture cannot be drawn",
                     (int)(e.n_name < 40 ? e.n_name : 40), e.name);
    else
        bi_png_write(out, d.r.rgb, d.r.width, d.r.height);
    bi_raster_close(&d.r);
    if (!st && out->failed)
        st = bi_fail(err, BIOINFER_NOMEM, "a picture");
    return st;
}

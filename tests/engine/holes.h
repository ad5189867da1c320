/* holes.h - checkpoints of full size for tests of plans: names and shapes in a safetensors file
 * whose values are a hole, zeros that take no room, but for those that have to be ones. */
#ifndef BI_TEST_HOLES_H
#define BI_TEST_HOLES_H

#include <stdio.h>
#include <unistd.h>

enum { HOLES_TEXT = 256 << 10, HOLES_ONES = 16, HOLES_MOST_ONES = 1 << 13 };

struct holes {
    char text[HOLES_TEXT];
    size_t used;
    long long size; /* bytes of the tensors so far */
    struct {
        long long at, n;
    } ones[HOLES_ONES];
    int n_ones;
};

static inline void holes_begin(struct holes *f)
{
    f->used = 0;
    f->size = 0;
    f->n_ones = 0;
    f->text[f->used++] = '{';
}

/* dims: of [a, b, c, d], those that are not 0. Names longer than the text has room for are for
 * holes_write() to notice. */
static inline void holes_tensor(struct holes *f, const char *name, int a, int b, int c, int d)
{
    const long long elements = (long long)a * (b ? b : 1) * (c ? c : 1) * (d ? d : 1);
    const size_t room = sizeof f->text - f->used;
    char shape[64];
    int n;
    snprintf(shape, sizeof shape,
             d   ? "%d,%d,%d,%d"
             : c ? "%d,%d,%d"
             : b ? "%d,%d"
                 : "%d",
             a, b, c, d);
    n = snprintf(f->text + f->used, room,
                 "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%lld,%lld]}",
                 f->used > 1 ? "," : "", name, shape, f->size, f->size + 4 * elements);
    f->used += n < 0 || (size_t)n >= room ? room : (size_t)n;
    f->size += 4 * elements;
}

/* The tensor `at`.`name`. */
static inline void holes_part(struct holes *f, const char *at, const char *name, int a, int b,
                              int c, int d)
{
    char full[160];
    snprintf(full, sizeof full, "%s.%s", at, name);
    holes_tensor(f, full, a, b, c, d);
}

/* The same, of ones: [a, b]. */
static inline void holes_ones(struct holes *f, const char *at, const char *name, int a, int b)
{
    if (f->n_ones < HOLES_ONES) {
        f->ones[f->n_ones].at = f->size;
        f->ones[f->n_ones++].n = (long long)a * b;
    }
    holes_part(f, at, name, a, b, 0, 0);
}

/* Writes the file; false: it did not work, or there was too much. */
static inline bool holes_write(struct holes *f, const char *path)
{
    static float one[HOLES_MOST_ONES];
    unsigned char head[8] = {0};
    FILE *out = fopen(path, "wb");
    bool ok;
    if (f->used + 8 > sizeof f->text) {
        if (out)
            fclose(out);
        return false;
    }
    f->text[f->used++] = '}';
    while (f->used % 8)
        f->text[f->used++] = ' ';
    for (int i = 0; i < 8; i++)
        head[i] = (unsigned char)(f->used >> 8 * i);
    for (int i = 0; i < HOLES_MOST_ONES; i++)
        one[i] = 1;
    ok = out && fwrite(head, 1, 8, out) == 8 && fwrite(f->text, 1, f->used, out) == f->used &&
         !fflush(out) && !ftruncate(fileno(out), (off_t)(8 + (long long)f->used + f->size));
    for (int i = 0; ok && i < f->n_ones; i++)
        ok = f->ones[i].n <= HOLES_MOST_ONES &&
             pwrite(fileno(out), one, (size_t)f->ones[i].n * sizeof *one,
                    (off_t)(8 + (long long)f->used + f->ones[i].at)) ==
                 (ssize_t)((size_t)f->ones[i].n * sizeof *one);
    return !(out && fclose(out)) && ok;
}

#endif

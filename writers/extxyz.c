/* extxyz.c - frames of atoms as extended XYZ.
 *
 * Source: github.com/libAtoms/extxyz, ase/io/extxyz.py */
#include "extxyz.h"

#include <string.h>

#include "../base/number.h"
#include "text.h"

static void put_f64(struct bi_buf *out, double x)
{
    char text[BI_NUMBER_SIZE];
    bi_buf_append(out, text, bi_print_f64(text, x));
}

/* key="a b c ..." */
static void put_numbers(struct bi_buf *out, const char *key, const double *x, int n)
{
    bi_buf_printf(out, "%s=\"", key);
    for (int i = 0; i < n; i++) {
        if (i)
            bi_buf_putc(out, ' ');
        put_f64(out, x[i]);
    }
    bi_buf_puts(out, "\" ");
}

static void put_one(struct bi_buf *out, const char *key, double x)
{
    bi_buf_printf(out, "%s=", key);
    put_f64(out, x);
    bi_buf_putc(out, ' ');
}

/* A value in quotes; what would end it is escaped, and control bytes become spaces. */
static void put_quoted(struct bi_buf *out, const char *key, const char *text)
{
    bi_buf_printf(out, "%s=\"", key);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            bi_buf_putc(out, '\\');
        bi_buf_putc(out, (unsigned char)*text < ' ' ? ' ' : *text);
    }
    bi_buf_puts(out, "\" ");
}

static void put_comment(struct bi_buf *out, const struct bi_extxyz *f)
{
    static const bool none[3] = {false, false, false};
    const bool *pbc = f->periodic ? f->periodic : none;
    bool has_cell = false;
    for (int i = 0; i < 9 && f->cell; i++)
        has_cell = has_cell || f->cell[i] != 0;
    if (has_cell)
        put_numbers(out, "Lattice", f->cell, 9);
    bi_buf_printf(out, "Properties=species:S:1:pos:R:3%s%s ", f->momentum ? ":momenta:R:3" : "",
                  f->force ? ":forces:R:3" : "");
    if (f->name)
        put_quoted(out, "name", f->name);
    if (f->has_energy)
        put_one(out, "energy", f->energy);
    if (f->stress)
        put_numbers(out, "stress", f->stress, 9);
    if (f->has_charge)
        put_one(out, "charge", f->charge);
    if (f->more && *f->more)
        bi_buf_printf(out, "%s ", f->more);
    bi_buf_printf(out, "pbc=\"%c %c %c\"\n", pbc[0] ? 'T' : 'F', pbc[1] ? 'T' : 'F',
                  pbc[2] ? 'T' : 'F');
}

void bi_put_extxyz(struct bi_buf *out, const struct bi_extxyz *f)
{
    bi_buf_printf(out, "%u\n", f->n);
    put_comment(out, f);
    for (size_t i = 0; i < f->n && !out->failed; i++) {
        bi_buf_puts(out, f->symbol(f->number[i]));
        for (size_t k = 3 * i; k < 3 * i + 3; k++) {
            bi_buf_putc(out, ' ');
            put_f64(out, f->position[k]);
        }
        for (size_t k = 3 * i; f->momentum && k < 3 * i + 3; k++) {
            bi_buf_putc(out, ' ');
            put_f64(out, f->momentum[k]);
        }
        for (size_t k = 3 * i; f->force && k < 3 * i + 3; k++) {
            bi_buf_putc(out, ' ');
            bi_put_f32(out, (float)f->force[k]);
        }
        bi_buf_putc(out, '\n');
    }
}

/* extxyz.c - frames of atoms as extended XYZ.
 *
 * Source: github.com/libAtoms/extxyz, ase/io/extxyz.py */
#include "extxyz.h"

#include <string.h>

#include "../base/number.h"
#include "../base/team.h"
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

/* How many columns say what is fixed: 0, 1, or 3 where a part of an atom is. */
static int mask_columns(const struct bi_extxyz *f)
{
    for (size_t i = 0; f->held && i < f->n; i++)
        if (f->held[i] && f->held[i] != 7)
            return 3;
    return f->held ? 1 : 0;
}

static void put_comment(struct bi_buf *out, const struct bi_extxyz *f, int mask)
{
    static const bool none[3] = {false, false, false};
    const bool *pbc = f->periodic ? f->periodic : none;
    bool has_cell = false;
    for (int i = 0; i < 9 && f->cell; i++)
        has_cell = has_cell || f->cell[i] != 0;
    if (has_cell)
        put_numbers(out, "Lattice", f->cell, 9);
    bi_buf_printf(out, "Properties=species:S:1:pos:R:3%s%s%s ", f->momentum ? ":momenta:R:3" : "",
                  f->force ? ":forces:R:3" : "",
                  mask == 3   ? ":move_mask:L:3"
                  : mask == 1 ? ":move_mask:L:1"
                              : "");
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

static void put_atoms(struct bi_buf *out, const struct bi_extxyz *f, int mask, size_t first,
                      size_t end)
{
    for (size_t i = first; i < end && !out->failed; i++) {
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
        for (int k = 0; k < mask; k++)
            bi_buf_printf(out, " %c", f->held[i] >> k & 1 ? 'F' : 'T');
        bi_buf_putc(out, '\n');
    }
}

enum { PIECE = 1024 }; /* atoms that a thread writes at a time */

struct pieces {
    const struct bi_extxyz *frame;
    int mask;            /* columns of what is fixed */
    struct bi_buf *text; /* a buffer for each piece */
};

static void put_pieces(void *user, int thread, int64_t first, int64_t end)
{
    const struct pieces *p = user;
    (void)thread;
    for (int64_t i = first; i < end; i++) {
        const size_t n = p->frame->n, from = (size_t)i * PIECE;
        put_atoms(&p->text[i], p->frame, p->mask, from, n - from < PIECE ? n : from + PIECE);
    }
}

/* The atoms of a frame, in pieces that threads write side by side. */
static void put_by_threads(struct bi_buf *out, const struct bi_extxyz *f, int mask)
{
    const size_t n = ((size_t)f->n + PIECE - 1) / PIECE;
    struct pieces p = {f, mask, bi_calloc(out->env, n, sizeof *p.text)};
    if (!p.text) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        p.text[i] = (struct bi_buf){.env = out->env};
    bi_team_for(out->env, f->n_threads, (int64_t)n, 1, put_pieces, &p);
    for (size_t i = 0; i < n; i++) {
        out->failed = out->failed || p.text[i].failed;
        if (!out->failed)
            bi_buf_append(out, p.text[i].data, p.text[i].size);
        bi_buf_free(&p.text[i]);
    }
    bi_free(out->env, p.text);
}

void bi_put_extxyz(struct bi_buf *out, const struct bi_extxyz *f)
{
    const int mask = mask_columns(f);
    bi_buf_printf(out, "%u\n", f->n);
    put_comment(out, f, mask);
    if (f->n_threads > 1 && f->n > PIECE && !out->failed)
        put_by_threads(out, f, mask);
    else
        put_atoms(out, f, mask, 0, f->n);
}

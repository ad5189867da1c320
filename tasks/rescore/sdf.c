/* sdf.c - a pose as a record of an SDF, version V2000, of its heavy atoms. */
#include <math.h>

#include "rescore.h"

enum { A_LINE = 8 };

/* Writes a property of atoms, eight of them a line; `value` gives 0 where there is nothing. */
static void put_property(struct bi_buf *out, const struct bi_molecule *mol, const struct bi_pose *p,
                         const char *name, int (*value)(const struct bi_mol_atom *atom))
{
    int32_t n = 0, put = 0;
    for (int32_t i = 0; i < p->n; i++)
        n += value(&mol->atoms[p->atom[i]]) != 0;
    for (int32_t i = 0; i < p->n; i++) {
        const int v = value(&mol->atoms[p->atom[i]]);
        if (!v)
            continue;
        if (put % A_LINE == 0)
            bi_buf_printf(out, "%sM  %s%3d", put ? "\n" : "", name,
                          (int)(n - put < A_LINE ? n - put : A_LINE));
        bi_buf_printf(out, " %3d %3d", (int)i + 1, v);
        put++;
    }
    if (put)
        bi_buf_putc(out, '\n');
}

static int charge_of(const struct bi_mol_atom *a)
{
    return a->charge;
}

static int isotope_of(const struct bi_mol_atom *a)
{
    return a->isotope;
}

/* Electrons without a pair, as the format counts: 2 is one of them, 3 are two. */
static int radical_of(const struct bi_mol_atom *a)
{
    return a->n_radicals ? a->n_radicals + 1 : 0;
}

static bool is_written(const struct bi_molecule *mol, const struct bi_pose *p, uint32_t bond)
{
    return p->number[mol->bonds[bond].a] >= 0 && p->number[mol->bonds[bond].b] >= 0;
}

/* Fails where the format has no room for a pose. */
static int check(const struct bi_molecule *mol, const struct bi_pose *p, uint32_t *n_bonds,
                 struct bioinfer_error *err)
{
    const double widest = 99999;
    *n_bonds = 0;
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        const struct bi_mol_bond *b = &mol->bonds[k];
        if (!is_written(mol, p, k))
            continue;
        ++*n_bonds;
        if (b->order < 1 || b->order > 3)
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "atoms %u and %u are joined by a bond without an order, which an SDF "
                           "of version V2000 cannot say",
                           b->a + 1, b->b + 1);
    }
    if (*n_bonds > BI_POSE_MAX_ATOMS)
        return bi_fail(err, BIOINFER_LIMIT, "more than %d bonds", BI_POSE_MAX_ATOMS);
    for (int32_t i = 0; i < p->n; i++)
        for (int k = 0; k < 3; k++)
            if (!(fabs(p->x[i][k]) < widest))
                return bi_fail(err, BIOINFER_LIMIT, "an atom lies at %g, beyond %g", p->x[i][k],
                               widest);
    return 0;
}

int bi_pose_write(struct bi_buf *out, const struct bi_molecule *mol, const struct bi_pose *p,
                  struct bioinfer_error *err)
{
    uint32_t n_bonds;
    int st = check(mol, p, &n_bonds, err);
    if (st)
        return st;
    bi_buf_printf(out, "%.80s\n  bioinfer          3D\n\n%3d%3u  0  0  0  0  0  0  0  0999 V2000\n",
                  mol->name, (int)p->n, n_bonds);
    for (int32_t i = 0; i < p->n; i++)
        bi_buf_printf(out, "%10.4f%10.4f%10.4f %-3s 0  0  0  0  0  0  0  0  0  0  0  0\n",
                      p->x[i][0], p->x[i][1], p->x[i][2],
                      bi_element(mol->atoms[p->atom[i]].element)->symbol);
    for (uint32_t k = 0; k < mol->n_bonds; k++)
        if (is_written(mol, p, k))
            bi_buf_printf(out, "%3d%3d%3d  0\n", (int)p->number[mol->bonds[k].a] + 1,
                          (int)p->number[mol->bonds[k].b] + 1, (int)mol->bonds[k].order);
    put_property(out, mol, p, "CHG", charge_of);
    put_property(out, mol, p, "RAD", radical_of);
    put_property(out, mol, p, "ISO", isotope_of);
    bi_buf_puts(out, "M  END\n");
    return out->failed ? bi_fail(err, BIOINFER_NOMEM, "a pose of %d atoms", (int)p->n) : 0;
}

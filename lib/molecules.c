/* molecules.c - what perception makes of each molecule of a file: bioinfer_molecule_info(). */
#include <string.h>

#include "../loaders/chem/molecule.h"
#include "../engine/engine.h"

static const char *const hybrids[] = {
#define X(name, word) word,
    BI_HYBRID_LIST(X)
#undef X
};

/* ---- sums over a molecule ---- */

/* Elements in Hill's order: C, H, then the others by their symbols. */
static void put_formula(struct bi_buf *out, const struct bi_molecule *mol)
{
    uint32_t n[BI_ELEMENTS] = {0};
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        n[mol->atoms[i].element]++;
        n[1] += mol->atoms[i].n_h;
    }
    for (const bool organic = n[6] > 0;;) {
        uint32_t next = 0;
        if (organic && (n[6] || n[1]))
            next = n[6] ? 6 : 1;
        else
            for (uint32_t z = 1; z < BI_ELEMENTS; z++)
                if (n[z] && (!next || strcmp(bi_element(z)->symbol, bi_element(next)->symbol) < 0))
                    next = z;
        if (!next)
            break;
        bi_buf_puts(out, bi_element(next)->symbol);
        if (n[next] > 1)
            bi_buf_printf(out, "%u", n[next]);
        n[next] = 0;
    }
}

/* Parts of a molecule that no bond connects. Each atom leads to a lower one of its part, the lowest
 * to itself; `part` has room for all. */
static uint32_t count_fragments(const struct bi_molecule *mol, uint32_t *part)
{
    uint32_t n = mol->n_atoms;
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        part[i] = i;
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        uint32_t a = mol->bonds[k].a, b = mol->bonds[k].b;
        while (part[a] != a)
            a = part[a] = part[part[a]];
        while (part[b] != b)
            b = part[b] = part[part[b]];
        n -= a != b;
        part[a > b ? a : b] = a > b ? b : a;
    }
    return n;
}

/* ---- a line ---- */

static void put_text(struct bi_buf *out, const char *text)
{
    for (; *text; text++)
        bi_buf_putc(out, (unsigned char)*text < ' ' ? ' ' : *text);
}

static void put_atoms(struct bi_buf *out, const struct bi_molecule *mol)
{
    static const char *const turns[] = {"", "@@", "@"};
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        const struct bi_mol_atom *a = &mol->atoms[i];
        bi_buf_printf(out, "%s%s:%d:%d:%d:%d:%s:%s%s%s", i ? " " : "\t",
                      bi_element(a->element)->symbol, a->charge, a->n_h, a->isotope, a->n_radicals,
                      hybrids[a->hybrid], a->aromatic ? "a" : "", a->in_ring ? "r" : "",
                      turns[a->chiral]);
    }
}

static void put_bonds(struct bi_buf *out, const struct bi_molecule *mol)
{
    static const char *const sides[] = {"", "?", "Z", "E"};
    bi_buf_putc(out, '\t');
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        const struct bi_mol_bond *b = &mol->bonds[k];
        bi_buf_printf(out, "%s%u-%u:%d:%s%s%s%s", k ? " " : "", b->a + 1, b->b + 1,
                      b->aromatic ? BI_MOL_ORDER_AROMATIC : b->order, b->aromatic ? "a" : "",
                      b->conjugated ? "c" : "", b->in_ring ? "r" : "", sides[b->stereo]);
    }
}

static void put_header(struct bi_buf *out, bool atoms)
{
    bi_buf_puts(out,
                "record\tname\tstatus\tformat\tcoordinates\tformula\tcharge\tfragments\tatoms\t"
                "bonds\thydrogens\trings\taromatic\tcentres\tdouble_bonds\tunpaired\tmessage");
    bi_buf_puts(out, atoms ? "\tatom_list\tbond_list\n" : "\n");
}

static int put_molecule(struct bi_buf *out, const struct bi_molecule *mol, bool atoms,
                        struct bioinfer_error *err)
{
    uint32_t n_h = 0, n_aromatic = 0, n_centres = 0, n_sides = 0, n_unpaired = 0, *part;
    int charge = 0;
    if (!(part = bi_calloc(out->env, mol->n_atoms + 1, sizeof *part)))
        return bi_fail(err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        const struct bi_mol_atom *a = &mol->atoms[i];
        n_h += a->n_h;
        n_aromatic += a->aromatic;
        n_centres += a->chiral != BI_CHIRAL_NONE;
        n_unpaired += a->n_radicals;
        charge += a->charge;
    }
    for (uint32_t k = 0; k < mol->n_bonds; k++)
        n_sides += mol->bonds[k].stereo == BI_STEREO_Z || mol->bonds[k].stereo == BI_STEREO_E;
    bi_buf_printf(out, "%llu\t", (unsigned long long)mol->ordinal);
    put_text(out, mol->name);
    bi_buf_printf(out, "\t%s\t%s\t", bi_status_name(mol->status), mol->format ? mol->format : "");
    if (mol->status)
        bi_buf_puts(out, "\t\t\t\t\t\t\t\t\t\t\t\t");
    else {
        bi_buf_puts(out, mol->has_3d ? "space\t" : "plane\t");
        put_formula(out, mol);
        bi_buf_printf(out, "\t%d\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t", charge,
                      count_fragments(mol, part), mol->n_atoms, mol->n_bonds, n_h, mol->n_sssr,
                      n_aromatic, n_centres, n_sides, n_unpaired);
    }
    put_text(out, mol->message);
    if (atoms && mol->status)
        bi_buf_puts(out, "\t\t");
    else if (atoms) {
        put_atoms(out, mol);
        put_bonds(out, mol);
    }
    bi_buf_putc(out, '\n');
    bi_free(out->env, part);
    return 0;
}

/* ---- the public call ---- */

int bioinfer_molecule_info(bioinfer_context *ctx, const char *path, int atoms,
                           int (*write)(void *user, const char *text, size_t len), void *user,
                           uint64_t *n_failed, struct bioinfer_error *err)
{
    struct bi_molecules *molecules = NULL;
    struct bi_molecule mol = {0};
    struct bi_buf line;
    uint64_t n = 0, failed = 0;
    uint8_t told = 0;
    int st;
    if (!ctx || !path || !write)
        return bi_fail(err, BIOINFER_INVALID, "molecules: context, path and write must be given");
    line = (struct bi_buf){.env = &ctx->env};
    if ((st = bi_molecules_open(&molecules, &ctx->env, path, err)))
        return st;
    put_header(&line, atoms != 0);
    while (!st && (st = bi_molecules_next(molecules, &mol, err)) > 0) {
        n++;
        failed += mol.status != 0;
        bi_molecule_tell(&ctx->env, path, mol.notes, &told);
        st = put_molecule(&line, &mol, atoms != 0, err);
        if (!st && line.failed)
            st = bi_fail(err, BIOINFER_NOMEM, "%s: a line of %zu bytes", path, line.size);
        if (!st && write(user, line.data, line.size))
            st = bi_fail(err, BIOINFER_IO, "molecules: the caller's write failed");
        line.size = 0;
    }
    if (!st && !n)
        st = bi_fail(err, BIOINFER_EMPTY, "%s: no molecule", path);
    if (n_failed)
        *n_failed = failed;
    bi_molecule_free(&mol);
    bi_molecules_close(&molecules);
    bi_buf_free(&line);
    return st;
}

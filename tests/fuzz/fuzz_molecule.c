/* fuzz_molecule.c - small molecules: what is read is consistent, what is refused has words. */
#include "../../loaders/chem/molecule.h"
#include "fuzz.h"

static void check(const struct bi_molecule *mol)
{
    if (mol->status ? !mol->message[0] || mol->n_atoms : mol->message[0] != '\0')
        abort();
    if (mol->status)
        return;
    for (uint32_t k = 0; k < mol->n_bonds; k++)
        if (mol->bonds[k].a >= mol->n_atoms || mol->bonds[k].b >= mol->n_atoms ||
            mol->bonds[k].a == mol->bonds[k].b)
            abort();
    for (uint32_t i = 0; i < mol->n_atoms; i++)
        if (!mol->atoms[i].element || mol->atoms[i].element >= BI_ELEMENTS ||
            bi_mol_degree(mol, i) > BI_MOL_MAX_NEIGHBOURS)
            abort();
    if (mol->n_sssr > mol->n_rings)
        abort();
    for (uint32_t k = 0; mol->n_rings && k < mol->ring_start[mol->n_rings]; k++)
        if (!mol->atoms[mol->ring_atoms[k]].in_ring || !mol->bonds[mol->ring_bonds[k]].in_ring)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_molecules *m = NULL;
    struct bi_molecule mol = {0};
    uint64_t n = 0;
    int st = bi_molecules_open_memory(&m, &env, "fuzz.sdf", data, size, &err);
    while (!st && (st = bi_molecules_next(m, &mol, &err)) > 0) {
        if (mol.ordinal != ++n)
            abort();
        check(&mol);
        st = 0;
    }
    if (st && !err.text[0])
        abort();
    bi_molecule_free(&mol);
    bi_molecules_close(&m);
    return 0;
}

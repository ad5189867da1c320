/* molecules.c - prints what perception made of each molecule of a file, for molecules.py. */
#include <stdio.h>

#include "../../loaders/chem/molecule.h"

static const char *const hybrids[] = {
#define X(name, word) word,
    BI_HYBRID_LIST(X)
#undef X
};

static void print_atom(const struct bi_mol_atom *a)
{
    printf(" %s:%d:%d:%d:%d:%s:%s%s", bi_element(a->element)->symbol, a->charge, a->n_h, a->isotope,
           a->n_radicals, hybrids[a->hybrid], a->aromatic ? "a" : "", a->in_ring ? "r" : "");
}

static void print_bond(const struct bi_mol_bond *b)
{
    printf(" %u-%u:%d:%s%s%s", b->a, b->b, b->aromatic ? BI_MOL_ORDER_AROMATIC : b->order,
           b->aromatic ? "a" : "", b->conjugated ? "c" : "", b->in_ring ? "r" : "");
}

int main(int argc, char **argv)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_molecules *m = NULL;
    struct bi_molecule mol = {0};
    int st = argc == 2 ? bi_molecules_open(&m, &env, argv[1], &err) : 2;
    while (!st && (st = bi_molecules_next(m, &mol, &err)) > 0) {
        st = 0;
        printf("%s", mol.status ? mol.message : "ok");
        for (uint32_t i = 0; i < mol.n_atoms; i++)
            print_atom(&mol.atoms[i]);
        printf(" |");
        for (uint32_t k = 0; k < mol.n_bonds; k++)
            print_bond(&mol.bonds[k]);
        printf(" | %u\n", mol.n_sssr);
    }
    if (st)
        fprintf(stderr, "%s\n", argc == 2 ? err.text : "usage: molecules FILE");
    bi_molecule_free(&mol);
    bi_molecules_close(&m);
    return st != 0;
}

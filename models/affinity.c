/* affinity.c - what families that rate complexes share. */
#include "affinity.h"

void bi_complex_free(struct bi_complex *c)
{
    if (!c || !c->env)
        return;
    bi_free(c->env, c->x);
    bi_free(c->env, c->atom_mass);
    bi_free(c->env, c->atom_code);
    bi_free(c->env, c->atom_token);
    bi_free(c->env, c->start);
    bi_free(c->env, c->into);
    bi_free(c->env, c->bond_code);
    bi_free(c->env, c->bond_from);
    bi_free(c->env, c->bond_reverse);
    bi_free(c->env, c->bond_mass);
    bi_free(c->env, c->row);
    *c = (struct bi_complex){0};
}

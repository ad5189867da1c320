/* ligand.c - what stands around a protein: atoms that are neither its own nor water.
 * Source: dauparas/LigandMPNN:data_utils.py, parse_PDB; names: ProDy's "protein" and "water" */
#include <stdlib.h>
#include <string.h>

#include "structure.h"

static bool named(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

bool bi_is_protein(const struct bi_atom *a)
{
    static const char *const names[] = {
        "ALA", "ARG", "ASN", "ASP", "CYS", "GLN", "GLU", "GLY", "HIS", "ILE", "LEU",
        "LYS", "MET", "PHE", "PRO", "SER", "THR", "TRP", "TYR", "VAL", "ASX", "GLX",
        "XAA", "XLE", "SEC", "MSE", "HID", "HIE", "HIP", "HSD", "HSE", "HSP", "CYX",
        "CME", "CSB", "CSO", "MEN", "PHD", "PTR", "SEP", "TPO"};
    return named(a->residue, names, BI_COUNT(names));
}

bool bi_is_water(const struct bi_atom *a)
{
    static const char *const names[] = {"HOH", "DOD",  "WAT",  "H2O", "OH2",
                                        "TIP", "TIP2", "TIP3", "TIP4"};
    return named(a->residue, names, BI_COUNT(names));
}

bool bi_is_read(const struct bi_atom *a, const struct bi_structure *s)
{
    return a->model == s->atoms[0].model && (a->altloc == ' ' || a->altloc == 'A') &&
           a->occupancy > 0;
}

/* The atomic number of a symbol, whatever its case; 0: none, or one the reference does not know
 * (molybdenum, which its table misspells, and the last). */
static int32_t element_of(const char *symbol)
{
    static const char symbols[] =
        "H HE LI BE B C N O F NE NA MG AL SI P S CL AR K CA SC TI V CR MN FE CO NI CU ZN GA GE AS "
        "SE BR KR RB SR Y ZR NB MB TC RU RH PD AG CD IN SN SB TE I XE CS BA LA CE PR ND PM SM EU "
        "GD TB DY HO ER TM YB LU HF TA W RE OS IR PT AU HG TL PB BI PO AT RN FR RA AC TH PA U NP "
        "PU AM CM BK CF ES FM MD NO LR RF DB SG BH HS MT DS RG CN UUT FL UUP LV UUS";
    const size_t n = strlen(symbol);
    int32_t z = 1;
    for (const char *at = symbols; *at; z++) {
        size_t k = strcspn(at, " "), same = 0;
        while (same < n && same < k &&
               (symbol[same] >= 'a' && symbol[same] <= 'z' ? symbol[same] - 'a' + 'A'
                                                           : symbol[same]) == at[same])
            same++;
        if (n && same == n && same == k)
            return z;
        at += k;
        at += *at == ' ';
    }
    return 0;
}

static int compare_residues(const void *a, const void *b)
{
    const struct bi_atom *x = *(const struct bi_atom *const *)a,
                         *y = *(const struct bi_atom *const *)b;
    int chain = strcmp(x->chain, y->chain);
    if (chain)
        return chain;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->icode < y->icode ? -1 : x->icode > y->icode;
}

int bi_ligand_build(struct bi_ligand *out, const struct bi_structure *s, struct bioinfer_error *err)
{
    struct bi_ligand l = {.env = s->env};
    const struct bi_atom **ca = bi_calloc(s->env, s->n_atoms + 1, sizeof *ca);
    size_t n_ca = 0;
    int st = ca ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: %zu atoms", s->name, s->n_atoms);
    for (size_t i = 0; !st && i < s->n_atoms; i++)
        if (bi_is_read(&s->atoms[i], s) && bi_is_protein(&s->atoms[i]) &&
            !strcmp(s->atoms[i].name, "CA"))
            ca[n_ca++] = &s->atoms[i];
    if (n_ca)
        qsort(ca, n_ca, sizeof *ca, compare_residues);
    for (size_t i = 0; !st && i < s->n_atoms; i++) {
        const struct bi_atom *a = &s->atoms[i];
        const int32_t element = element_of(a->element);
        l.n_unread += a->model == s->atoms[0].model && !bi_is_read(a, s) && !bi_is_water(a) &&
                      !bi_is_protein(a);
        if (!bi_is_read(a, s) || bi_is_water(a) ||
            (n_ca && bi_is_protein(a) && bsearch(&a, ca, n_ca, sizeof *ca, compare_residues)))
            continue;
        l.n_hydrogen += element == 1;
        l.n_unknown += element == 0;
        if (element < 2)
            continue;
        if ((st = bi_atom_check(s, a, BI_FAULT_POSITION, err)))
            break;
        if (!bi_grow(s->env, &l.atoms, &l.cap, l.n + 1, sizeof *l.atoms)) {
            st = bi_fail(err, BIOINFER_NOMEM, "%s: ligand atoms", s->name);
            break;
        }
        l.atoms[l.n].element = element;
        memcpy(l.atoms[l.n++].x, a->x, sizeof a->x);
    }
    bi_free(s->env, ca);
    if (st)
        bi_ligand_free(&l);
    *out = l;
    return st;
}

void bi_ligand_free(struct bi_ligand *l)
{
    if (l->env)
        bi_free(l->env, l->atoms);
    *l = (struct bi_ligand){0};
}

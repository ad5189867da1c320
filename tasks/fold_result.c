/* fold_result.c - results of the task fold: a piece for each structure of a record. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../models/folding/confidence.h"
#include "../writers/structure.h"
#include "fold.h"

const struct bi_fold_array bi_fold_arrays[BI_FOLD_ARRAYS] = {
    {"plddt", BIOINFER_FOLD_PLDDT},
    {"coordinates", BIOINFER_FOLD_COORDINATES},
    {"pae", BIOINFER_FOLD_PAE}};

/* Lists the atoms of a structure, and their rows of "coordinates" where these are wanted: the order
 * is bi_folded_name()'s. */
static int list_atoms(struct fold *f, const struct fold_unit *u, const struct fold_structure *s,
                      struct bioinfer_error *err)
{
    const struct bi_env *env = f->task.env;
    const bool rows = f->p.include & BIOINFER_FOLD_COORDINATES && !u->complex.features;
    const size_t n_rows = rows ? (size_t)u->n * BI_FOLDED_NAMES * 3 : 0;
    if (!bi_grow(env, &f->atoms, &f->cap_atoms, (size_t)u->n_atoms, sizeof *f->atoms) ||
        !bi_grow(env, &f->coordinates, &f->cap_coordinates, n_rows, sizeof *f->coordinates))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': %lld atoms", u->base.id,
                       (long long)u->n_atoms);
    for (size_t i = 0; i < n_rows; i++)
        f->coordinates[i] = NAN;
    for (int32_t i = 0; i < u->n; i++)
        for (int32_t at = u->first[i]; at < u->first[i + 1]; at++) {
            struct bioinfer_fold_atom *a = &f->atoms[at];
            *a = (struct bioinfer_fold_atom){.residue = i};
            memcpy(a->name, u->names[at], sizeof a->name);
            memcpy(a->element, u->elements[at], sizeof a->element);
            memcpy(a->position, s->x[at], sizeof a->position);
            a->plddt = s->level ? s->level[at] : s->plddt[i];
            if (rows)
                memcpy(f->coordinates +
                           (i * BI_FOLDED_NAMES + bi_folded_name(a->name)) * (int64_t)3,
                       a->position, sizeof a->position);
        }
    return 0;
}

/* The atom of a name in a residue; -1: there is none. */
static int32_t find_atom(const struct fold_unit *u, int64_t residue, const char *name)
{
    for (int32_t a = u->first[residue]; a < u->first[residue + 1]; a++)
        if (!strcmp(u->names[a], name))
            return a;
    return -1;
}

/* Sets the mean pLDDT of all atoms, and of each chain's. */
static void measure_atoms(struct fold_unit *u, const struct fold_structure *s,
                          struct bioinfer_fold *fold)
{
    double all = 0;
    for (int c = 0; c < u->n_chains; c++) {
        struct bioinfer_fold_chain *chain = &u->chains[c];
        const int32_t first = u->first[chain->first];
        const int32_t end = u->first[chain->first + chain->n_residues];
        double sum = 0;
        for (int32_t a = first; a < end; a++)
            sum += (double)s->level[a];
        chain->plddt = sum / (end - first);
        all += sum;
    }
    fold->mean_plddt = all / (double)u->n_atoms;
}

/* Sets the mean pLDDT of all and of each chain, and how long bonds are. */
static void measure(struct fold_unit *u, const struct fold_structure *s, struct bioinfer_fold *fold)
{
    double all = 0;
    fold->shortest_bond = INFINITY;
    for (int c = 0; c < u->n_chains; c++) {
        struct bioinfer_fold_chain *chain = &u->chains[c];
        double sum = 0;
        for (int64_t i = chain->first; i < chain->first + chain->n_residues; i++) {
            int32_t from, to;
            double square = 0;
            sum += (double)s->plddt[i];
            if (i == chain->first || chain->kind != 'P' || (from = find_atom(u, i - 1, "C")) < 0 ||
                (to = find_atom(u, i, "N")) < 0)
                continue;
            for (int k = 0; k < 3; k++) {
                const double d = (double)s->x[to][k] - (double)s->x[from][k];
                square += d * d;
            }
            fold->shortest_bond = fmin(fold->shortest_bond, sqrt(square));
            fold->longest_bond = fmax(fold->longest_bond, sqrt(square));
        }
        chain->plddt = sum / (double)chain->n_residues;
        all += sum;
    }
    fold->mean_plddt = all / u->n;
    if (u->complex.features)
        measure_atoms(u, s, fold);
    if (isinf(fold->shortest_bond))
        fold->shortest_bond = 0;
}

static const char (*components_of(const struct fold_unit *u))[6]
{
    return (const char(*)[6])u->complex.codes;
}

/* Makes the text of a structure in f->text. */
static int put_text(struct fold *f, struct bi_unit *unit, const struct bioinfer_fold *fold,
                    struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    int st = 0;
    f->text.env = f->task.env;
    f->text.size = 0;
    f->text.failed = false; /* that an earlier structure had no memory */
    if (f->p.text == BIOINFER_FOLD_PDB)
        st = bi_put_pdb(&f->text, unit->id, fold, &why);
    else
        bi_put_cif(&f->text, unit->id, fold);
    if (!bi_buf_text(&f->text))
        return bi_fail(err, BIOINFER_NOMEM, "record '%.60s': %lld atoms", unit->id,
                       (long long)fold->n_atoms);
    if (st)
        bi_unit_fail(f->task.env, unit, st, why.text);
    return 0;
}

/* Fills arrays by what is included; their number. */
static int list_arrays(const struct fold *f, const struct fold_unit *u,
                       const struct fold_structure *s, struct bioinfer_array arrays[BI_FOLD_ARRAYS])
{
    int n = 0;
    for (int i = 0; i < BI_FOLD_ARRAYS; i++) {
        struct bioinfer_array *a = &arrays[n];
        if (!(f->p.include & bi_fold_arrays[i].bit))
            continue;
        *a = (struct bioinfer_array){.kind = bi_fold_arrays[i].name};
        if (bi_fold_arrays[i].bit == BIOINFER_FOLD_PAE) {
            a->n_dims = 2;
            a->shape[0] = a->shape[1] = u->n_paired;
            a->data = s->pae;
        } else if (bi_fold_arrays[i].bit == BIOINFER_FOLD_PLDDT) {
            a->n_dims = 1;
            a->shape[0] = u->n;
            a->data = s->plddt;
        } else if (u->complex.features) {
            a->n_dims = 2;
            a->shape[0] = u->n_atoms;
            a->shape[1] = 3;
            a->data = s->x[0];
        } else {
            a->n_dims = 3;
            a->shape[0] = u->n;
            a->shape[1] = BI_FOLDED_NAMES;
            a->shape[2] = 3;
            a->data = f->coordinates;
        }
        n++;
    }
    return n;
}

/* The better one first, of equal ones the one that was drawn first. */
static int compare_ranks(const void *a, const void *b)
{
    const struct fold_structure *x = a, *y = b;
    if (x->rank > y->rank || x->rank < y->rank)
        return x->rank > y->rank ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Does every text hold its structure? Else the unit gets the status, before any piece is handed
 * out. */
static int try_texts(struct fold *f, struct fold_unit *u, struct bioinfer_error *err)
{
    int st = 0;
    for (int k = 0; k < bi_fold_n_structures(f, u) && !u->base.status && !st; k++) {
        struct bioinfer_fold fold = {.components = components_of(u),
                                     .n_chains = u->n_chains,
                                     .n_residues = u->n,
                                     .n_atoms = u->n_atoms,
                                     .chains = u->chains,
                                     .sequence = u->sequence};
        if (!(st = list_atoms(f, u, &u->of[k], err))) {
            fold.atoms = f->atoms;
            st = put_text(f, &u->base, &fold, err);
        }
    }
    return st;
}

/* Hands out a structure, as a piece of the record. */
static int give(struct fold *f, struct fold_unit *u, int piece, struct bioinfer_error *err)
{
    struct fold_structure *s = &u->of[piece];
    struct bioinfer_fold fold = {.sample = f->n_samples ? s->number % f->n_samples : 0,
                                 .n_chains = u->n_chains,
                                 .n_residues = u->n,
                                 .n_atoms = u->n_atoms,
                                 .chains = u->chains,
                                 .sequence = u->sequence,
                                 .plddt = s->plddt,
                                 .ptm = s->ptm,
                                 .pae = s->pae,
                                 .iptm = s->iptm,
                                 .seed = f->n_samples ? u->seeds[s->number / f->n_samples] : -1,
                                 .n_tokens = u->n_paired,
                                 .ranking = s->rank,
                                 .components = components_of(u)};
    struct bioinfer_array arrays[BI_FOLD_ARRAYS];
    struct bioinfer_text texts[2] = {{f->p.text == BIOINFER_FOLD_PDB ? "pdb" : "cif", NULL, 0}};
    int st;
    measure(u, s, &fold);
    if ((st = list_atoms(f, u, s, err)))
        return st;
    fold.atoms = f->atoms;
    if (f->p.text && (st = put_text(f, &u->base, &fold, err)))
        return st;
    texts[0].text = f->text.data;
    texts[0].length = f->text.size;
    texts[1] = (struct bioinfer_text){"json", s->summary.data, s->summary.size};
    const struct bioinfer_result result = {.ordinal = u->ordinal,
                                           .id = u->base.id,
                                           .length = u->n,
                                           .message = "",
                                           .arrays = arrays,
                                           .n_arrays = list_arrays(f, u, s, arrays),
                                           .n_layers_kept = 1,
                                           .n_kinds = BI_FOLD_ARRAYS,
                                           .piece = (uint32_t)piece,
                                           .more = piece + 1 < bi_fold_n_structures(f, u),
                                           .texts = texts,
                                           .n_texts = f->p.text ? 1 + (s->summary.size > 0) : 0,
                                           .fold = &fold};
    return f->task.sink(f->task.sink_user, &result, err);
}

static int give_status(const struct fold *f, const struct fold_unit *u, struct bioinfer_error *err)
{
    const struct bioinfer_result result = {.ordinal = u->ordinal,
                                           .id = u->base.id,
                                           .status = u->base.status,
                                           .message = bi_unit_message(&u->base),
                                           .n_layers_kept = 1,
                                           .n_kinds = BI_FOLD_ARRAYS};
    return f->task.sink(f->task.sink_user, &result, err);
}

int bi_fold_result(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct fold *f = (struct fold *)t;
    struct fold_unit *u = (struct fold_unit *)unit;
    const int n = bi_fold_n_structures(f, u);
    int st = 0;
    if (!unit->status && f->p.text == BIOINFER_FOLD_PDB && (st = try_texts(f, u, err)))
        return st;
    t->exec->profile.records++;
    if (unit->status)
        return give_status(f, u, err);
    t->exec->profile.residues += (uint64_t)u->n;
    qsort(u->of, (size_t)n, sizeof *u->of, compare_ranks);
    for (int k = 0; k < n && !st; k++)
        st = give(f, u, k, err);
    return st;
}

/* results.c - results of the library as Python tuples of text, numbers and bytearrays. */
#include "core.h"

#include <stdio.h>

PyObject *core_values(const void *values, size_t n, size_t size)
{
    if (!values)
        Py_RETURN_NONE;
    if (n > (size_t)PY_SSIZE_T_MAX / size)
        return PyErr_NoMemory();
    return PyByteArray_FromStringAndSize(values, (Py_ssize_t)(n * size));
}

/* Gives (kind, layer or None, values, shape). */
static PyObject *array_tuple(const struct bioinfer_array *a)
{
    PyObject *shape = PyTuple_New(a->n_dims), *values;
    size_t n = 1;
    for (int i = 0; shape && i < a->n_dims; i++) {
        PyObject *size = PyLong_FromLongLong(a->shape[i]);
        n *= (size_t)a->shape[i];
        if (!size || PyTuple_SetItem(shape, i, size)) {
            Py_DECREF(shape);
            return NULL;
        }
    }
    if (!shape)
        return NULL;
    if (!(values = core_values(a->data, n, sizeof *a->data))) {
        Py_DECREF(shape);
        return NULL;
    }
    if (!a->has_layer)
        return Py_BuildValue("(NONN)", core_text(a->kind), Py_None, values, shape);
    return Py_BuildValue("(NiNN)", core_text(a->kind), a->layer, values, shape);
}

static PyObject *array_tuples(const struct bioinfer_result *r)
{
    PyObject *all = PyTuple_New(r->n_arrays);
    for (int i = 0; all && i < r->n_arrays; i++) {
        PyObject *one = array_tuple(&r->arrays[i]);
        if (!one || PyTuple_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

/* Gives {name: bytes}. */
static PyObject *texts_dict(const struct bioinfer_result *r)
{
    PyObject *all = PyDict_New();
    for (int i = 0; all && i < r->n_texts; i++) {
        const struct bioinfer_text *t = &r->texts[i];
        PyObject *text = PyBytes_FromStringAndSize(t->text, (Py_ssize_t)t->length);
        if (!text || PyDict_SetItemString(all, t->name, text))
            Py_CLEAR(all);
        Py_XDECREF(text);
    }
    return all;
}

/* Gives (first, statuses, values); None where nothing differs. */
static PyObject *changed_tuple(const struct bioinfer_result *r)
{
    const struct bioinfer_changed *c = r->changed;
    size_t size = 0;
    if (!c || !c->n)
        Py_RETURN_NONE;
    /* values of a window are shaped as the arrays of the window itself; with changes there are no
     * sites of junctions */
    for (int k = 0; k < r->n_arrays; k++) {
        size_t n = 1;
        for (int i = 0; i < r->arrays[k].n_dims; i++)
            n *= (size_t)r->arrays[k].shape[i];
        size += n;
    }
    return Py_BuildValue("(nNN)", (Py_ssize_t)c->first,
                         core_values(c->statuses, c->n, sizeof *c->statuses),
                         core_values(c->values, c->n * size, sizeof *c->values));
}

static PyObject *design_tuple(const struct bioinfer_result *r)
{
    const struct bioinfer_design *d = r->design;
    size_t n = (size_t)r->length;
    if (!d)
        Py_RETURN_NONE;
    return Py_BuildValue("(NNNidfffNNNN)", core_text(d->header), core_text(d->sequence_id),
                         PyBool_FromLong(d->is_native), d->sample, d->temperature, (double)d->score,
                         (double)d->global_score, (double)d->recovery, core_text(d->chain_order),
                         core_values(d->codes, n, sizeof *d->codes),
                         core_values(d->mask, n, sizeof *d->mask),
                         core_values(d->design_mask, n, sizeof *d->design_mask));
}

/* Gives a CIGAR as text: "12=1X3=". */
static PyObject *cigar_text(const struct bioinfer_alignment *a)
{
    static const char ops[16] = "MIDNSHP=X";
    const size_t room = 12; /* a run: nine digits and the letter */
    char *text = PyMem_Malloc(a->n_cigar * room + 1), *end = text;
    PyObject *cigar;
    if (!text)
        return PyErr_NoMemory();
    for (size_t i = 0; i < a->n_cigar; i++)
        end += snprintf(end, room, "%lu%c", (unsigned long)(a->cigar[i] >> 4),
                        ops[a->cigar[i] & 15] ? ops[a->cigar[i] & 15] : '?');
    cigar = PyUnicode_FromStringAndSize(text, end - text);
    PyMem_Free(text);
    return cigar;
}

/* Gives (score, query_begin, ..., gaps, cigar or None, sparse); None where there is none. */
static PyObject *alignment_tuple(const struct bioinfer_alignment *a)
{
    PyObject *cigar = Py_None;
    if (!a)
        Py_RETURN_NONE;
    if (a->cigar)
        cigar = cigar_text(a);
    else
        Py_INCREF(cigar);
    return Py_BuildValue("(LLLLLLLLLNN)", (long long)a->score, (long long)a->query_begin,
                         (long long)a->query_end, (long long)a->target_begin,
                         (long long)a->target_end, (long long)a->columns, (long long)a->identities,
                         (long long)a->similarities, (long long)a->gaps, cigar,
                         PyBool_FromLong(a->sparse));
}

/* Gives (energy, n_pairs, n_atoms, n_pocket_atoms, n_pocket_residues, distance), or None. */
static PyObject *affinity_tuple(const struct bioinfer_affinity *a)
{
    if (!a)
        Py_RETURN_NONE;
    return Py_BuildValue("(fLLLLd)", (double)a->energy, (long long)a->n_pairs,
                         (long long)a->n_atoms, (long long)a->n_pocket_atoms,
                         (long long)a->n_pocket_residues, a->distance);
}

/* Gives (affinity, ..., overlap, failed): numbers of a pose, or None. */
static PyObject *rescored_tuple(const struct bioinfer_rescored *p)
{
    if (!p)
        Py_RETURN_NONE;
    return Py_BuildValue("(ddddddddLLddiiidddI)", p->affinity, p->inter, p->gauss1, p->gauss2,
                         p->repulsion, p->hydrophobic, p->hydrogen, p->n_rotors,
                         (long long)p->n_pairs, (long long)p->n_atoms, p->before, p->moved,
                         p->n_steps, p->n_clashes, p->n_internal, p->distance, p->closest,
                         p->overlap, p->failed);
}

/* Gives (energy, network, largest, forces or None, stress or None, atoms), or None. */
static PyObject *energy_tuple(const struct bioinfer_energy *e)
{
    if (!e)
        Py_RETURN_NONE;
    return Py_BuildValue("(dddNNN)", e->energy, e->network, e->largest,
                         core_values(e->forces, 3 * e->n_atoms, sizeof *e->forces),
                         core_values(e->stress, 9, sizeof *e->stress), core_atoms_tuple(e->atoms));
}

/* Gives (sample, sequence, mean pLDDT, shortest and longest bond, pTM, chains, ipTM, seed), or
 * None; a chain is (name, first, n, pLDDT). */
static PyObject *fold_tuple(const struct bioinfer_fold *f)
{
    PyObject *chains;
    if (!f)
        Py_RETURN_NONE;
    if (!(chains = PyTuple_New(f->n_chains)))
        return NULL;
    for (int i = 0; i < f->n_chains; i++) {
        const struct bioinfer_fold_chain *c = &f->chains[i];
        PyObject *chain = Py_BuildValue("(sLLd)", c->name, (long long)c->first,
                                        (long long)c->n_residues, c->plddt);
        if (!chain) {
            Py_DECREF(chains);
            return NULL;
        }
        PyTuple_SetItem(chains, i, chain);
    }
    return Py_BuildValue("(isddddNdL)", f->sample, f->sequence, f->mean_plddt, f->shortest_bond,
                         f->longest_bond, f->ptm, chains, f->iptm, (long long)f->seed);
}

/* Gives a column as (name, type, data, bytes or None), of enum bioinfer_column_type and as the
 * struct has them. */
static PyObject *column_tuple(const struct bioinfer_column *c, int64_t n_rows)
{
    const size_t sizes[] = {[BIOINFER_F32] = sizeof(float),
                            [BIOINFER_F64] = sizeof(double),
                            [BIOINFER_I64] = sizeof(int64_t),
                            [BIOINFER_TEXT] = sizeof(int64_t)};
    const bool texts = c->type == BIOINFER_TEXT && n_rows;
    const size_t n = n_rows ? (size_t)n_rows + texts : 0;
    const size_t n_bytes = texts ? (size_t)((const int64_t *)c->data)[n_rows] : 0;
    return Py_BuildValue("(NiNN)", core_text(c->name), c->type,
                         core_values(n ? c->data : "", n, sizes[c->type]),
                         core_values(texts ? c->bytes : NULL, n_bytes, 1));
}

/* Gives (n_rows, columns), or None. */
static PyObject *columns_tuple(const struct bioinfer_result *r)
{
    PyObject *columns;
    if (!r->n_columns)
        Py_RETURN_NONE;
    columns = PyTuple_New(r->n_columns);
    for (int i = 0; columns && i < r->n_columns; i++) {
        PyObject *column = column_tuple(&r->columns[i], r->n_rows);
        if (!column || PyTuple_SetItem(columns, i, column))
            Py_CLEAR(columns);
    }
    return columns ? Py_BuildValue("(LN)", (long long)r->n_rows, columns) : NULL;
}

/* Gives (relaxed, steps, energy, largest), or None. */
static PyObject *relaxed_tuple(const struct bioinfer_relaxed *x)
{
    if (!x)
        Py_RETURN_NONE;
    return Py_BuildValue("(NKdd)", PyBool_FromLong(x->relaxed), (unsigned long long)x->steps,
                         x->energy, x->largest);
}

/* Gives (step, time, energy, kinetic, temperature), or None. */
static PyObject *moved_tuple(const struct bioinfer_md_state *m)
{
    if (!m)
        Py_RETURN_NONE;
    return Py_BuildValue("(Kdddd)", (unsigned long long)m->step, m->time, m->energy, m->kinetic,
                         m->temperature);
}

PyObject *core_result(const struct bioinfer_result *r)
{
    PyObject *sequence = Py_None;
    if (r->sequence && r->design) /* chains with '/' between: longer than its tokens */
        sequence = core_text(r->sequence);
    else if (r->sequence)
        sequence = PyUnicode_DecodeUTF8(r->sequence, (Py_ssize_t)r->length, "surrogateescape");
    else
        Py_INCREF(sequence);
    return Py_BuildValue(
        "(KNLiNNNIiNNNNNiNNNNNNNN)", (unsigned long long)r->ordinal, core_text(r->id),
        (long long)r->length, r->status, core_text(r->message), core_text(r->description),
        core_text(r->labels), r->piece, r->more, array_tuples(r), texts_dict(r), sequence,
        changed_tuple(r), design_tuple(r), r->n_layers_kept, alignment_tuple(r->alignment),
        affinity_tuple(r->affinity), energy_tuple(r->energy), fold_tuple(r->fold), columns_tuple(r),
        rescored_tuple(r->rescored), relaxed_tuple(r->relaxed), moved_tuple(r->moved));
}

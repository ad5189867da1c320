/* params.c - parameter structs of bioinfer.h as tables, and Python dicts turned into them. */
#include "core.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
#define FIELD(of, name, kind) {#name, kind, offsetof(struct of, name), 0}
#define LIST(of, name, kind, count)                                                        \
    {#name, kind, offsetof(struct of, name), offsetof(struct of, count)}
#define END {NULL, CORE_INT, 0, 0}

static const struct core_field context_fields[] = {
#define F(name, kind) FIELD(bioinfer_context_params, name, kind)
    F(n_threads, CORE_INT), F(cpu_mask, CORE_TEXT), END
#undef F
};

static const struct core_field model_fields[] = {
#define F(name, kind) FIELD(bioinfer_model_params, name, kind)
    F(family, CORE_TEXT), F(device, CORE_TEXT), F(precision, CORE_TEXT),
    F(check_weights, CORE_INT), F(strict_pickle, CORE_INT), F(verify, CORE_INT),
    F(window, CORE_INT64), F(positions, CORE_TEXT), F(head, CORE_TEXT),
    F(rope_frequencies, CORE_TEXT), F(adapter, CORE_TEXT), F(factor_order, CORE_TEXT),
    LIST(bioinfer_model_params, ensemble, CORE_TEXTS, n_ensemble), END
#undef F
};

static const struct core_field embed_fields[] = {
#define F(name, kind) FIELD(bioinfer_embed_params, name, kind)
    F(include, CORE_UINT), LIST(bioinfer_embed_params, layers, CORE_INTS, n_layers),
    F(tokens_at_once, CORE_INT64), F(max_length, CORE_INT64), F(memory_limit, CORE_INT64),
    F(raw_residues, CORE_INT), F(no_rules, CORE_TEXT), END
#undef F
};

static const struct core_field score_fields[] = {
#define F(name, kind) FIELD(bioinfer_score_params, name, kind)
    F(method, CORE_INT), F(window, CORE_INT64), F(tokens_at_once, CORE_INT64),
    F(max_length, CORE_INT64),
    F(memory_limit, CORE_INT64), F(raw_residues, CORE_INT), F(no_rules, CORE_TEXT), END
#undef F
};

static const struct core_field tracks_fields[] = {
#define F(name, kind) FIELD(bioinfer_tracks_params, name, kind)
    F(head, CORE_TEXT), LIST(bioinfer_tracks_params, tracks, CORE_INTS, n_tracks),
    LIST(bioinfer_tracks_params, shifts, CORE_INTS, n_shifts), F(reverse_complement, CORE_INT),
    F(quarter, CORE_INT), F(memory_limit, CORE_INT64), F(no_rules, CORE_TEXT), F(sums, CORE_INT),
    LIST(bioinfer_tracks_params, outputs, CORE_OUTPUTS, n_outputs), F(organism, CORE_TEXT),
    F(resolution, CORE_INT64), END
#undef F
};

static const struct core_field design_fields[] = {
#define F(name, kind) FIELD(bioinfer_design_params, name, kind)
    F(mode, CORE_INT), F(rng, CORE_INT), F(seed, CORE_UINT64), F(rng_skip, CORE_INT64),
    F(no_rng_skip, CORE_INT), F(n_sequences, CORE_INT), F(per_draw, CORE_INT),
    LIST(bioinfer_design_params, temperatures, CORE_DOUBLES, n_temperatures),
    F(backbone_noise, CORE_DOUBLE), F(chains, CORE_TEXT), F(chains_json, CORE_NAMED),
    F(fixed_json, CORE_NAMED), F(tied_json, CORE_NAMED), F(omit_json, CORE_NAMED),
    F(bias_json, CORE_NAMED), F(bias_residue_json, CORE_NAMED), F(pssm_json, CORE_NAMED),
    F(homooligomer, CORE_INT), F(omit_aa, CORE_TEXT), F(pssm_multi, CORE_DOUBLE),
    F(pssm_threshold, CORE_DOUBLE), F(pssm_bias, CORE_INT), F(pssm_log_odds, CORE_INT),
    F(sequences, CORE_NAMED), F(buried, CORE_TEXT), F(interface_, CORE_TEXT),
    F(transmembrane, CORE_INT), F(tokens_at_once, CORE_INT64), F(max_length, CORE_INT64),
    F(memory_limit, CORE_INT64), F(no_rules, CORE_TEXT), F(no_ligand, CORE_INT),
    F(side_chains, CORE_INT), F(residue_order, CORE_INT),
    F(all_chains, CORE_INT), END
#undef F
};

static const struct core_field affinity_fields[] = {
#define F(name, kind) FIELD(bioinfer_affinity_params, name, kind)
    F(receptor, CORE_TEXT), F(pocket, CORE_INT), F(drop_unknown, CORE_INT),
    F(tokens_at_once, CORE_INT64), F(memory_limit, CORE_INT64), F(no_rules, CORE_TEXT), END
#undef F
};

static const struct core_field energy_fields[] = {
#define F(name, kind) FIELD(bioinfer_energy_params, name, kind)
    F(energy_only, CORE_INT), F(charge, CORE_DOUBLE), F(has_charge, CORE_INT),
    F(ignore_cell, CORE_INT), F(repeat_all, CORE_INT), F(as_text, CORE_INT),
    F(atoms_at_once, CORE_INT64), F(memory_limit, CORE_INT64), F(no_rules, CORE_TEXT), END
#undef F
};

static const struct core_field align_fields[] = {
#define F(name, kind) FIELD(bioinfer_align_params, name, kind)
    F(matrix, CORE_TEXT), F(match, CORE_INT), F(mismatch, CORE_INT), F(gap_open, CORE_INT),
    F(gap_extend, CORE_INT), F(scale, CORE_INT), F(free_ends, CORE_UINT), F(ties, CORE_INT),
    F(traceback, CORE_INT), F(memory_limit, CORE_UINT64), F(device, CORE_TEXT),
    F(free_gaps, CORE_INT), F(local, CORE_INT), F(gap_open2, CORE_INT), F(gap_extend2, CORE_INT),
    F(identity, CORE_INT), F(any_letters, CORE_INT), END
#undef F
};
/* clang-format on */

const struct core_params core_context_params = {"context", sizeof(struct bioinfer_context_params),
                                                context_fields};
const struct core_params core_model_params = {"model", sizeof(struct bioinfer_model_params),
                                              model_fields};

/* ---- tasks ---- */

#define OPEN(name)                                                                                 \
    static int open_##name(bioinfer_task **out, bioinfer_context *context,                         \
                           const bioinfer_model *model, const void *params,                        \
                           struct bioinfer_error *err)                                             \
    {                                                                                              \
        (void)context;                                                                             \
        return bioinfer_##name##_open(out, model, params, err);                                    \
    }
#define PARAMS(name) {#name, sizeof(struct bioinfer_##name##_params), name##_fields}
#define TASK(name)                                                                                 \
    {PARAMS(name), offsetof(struct bioinfer_##name##_params, progress),                            \
     offsetof(struct bioinfer_##name##_params, progress_user), false, open_##name}

OPEN(embed)
OPEN(score)
OPEN(tracks)
OPEN(design)
OPEN(affinity)
OPEN(energy)

static int open_align(bioinfer_task **out, bioinfer_context *context, const bioinfer_model *model,
                      const void *params, struct bioinfer_error *err)
{
    (void)model;
    return bioinfer_align_open(out, context, params, err);
}

static const struct core_task_def tasks[] = {
    TASK(embed),
    TASK(score),
    TASK(tracks),
    TASK(design),
    TASK(affinity),
    TASK(energy),
    {PARAMS(align), 0, 0, true, open_align},
};

const struct core_task_def *core_task_find(const char *name)
{
    for (size_t i = 0; i < CORE_COUNT(tasks); i++)
        if (!strcmp(name, tasks[i].params.name))
            return &tasks[i];
    PyErr_Format(PyExc_ValueError, "no task is called '%s'", name);
    return NULL;
}

/* ---- values ---- */

static bool set_text(char *params, const struct core_field *field, PyObject *value, PyObject *keep);
static bool set_list(char *params, const struct core_field *field, PyObject *value, PyObject *keep);

/* Gives an output, from (name, tracks); tracks None = all. */
static bool set_output(struct bioinfer_tracks_output *o, PyObject *item, PyObject *keep)
{
#define F(name, kind) FIELD(bioinfer_tracks_output, name, kind)
    static const struct core_field name_field = F(name, CORE_TEXT);
    static const struct core_field tracks_field = LIST(bioinfer_tracks_output, tracks, CORE_INTS,
                                                       n_tracks);
#undef F
    PyObject *name, *tracks;
    return core_is_tuple("an output", item) && PyArg_ParseTuple(item, "OO", &name, &tracks) &&
           set_text((char *)o, &name_field, name, keep) &&
           (tracks == Py_None || set_list((char *)o, &tracks_field, tracks, keep));
}

/* Gives a list's value, from a sequence, as element i of an array. */
static void set_item(void *array, Py_ssize_t i, const struct core_field *field, PyObject *item,
                     PyObject *keep)
{
    if (field->kind == CORE_INTS) {
        long number = PyLong_AsLong(item);
        if (number < INT32_MIN || number > INT32_MAX)
            PyErr_Format(PyExc_OverflowError, "%s: %ld does not fit", field->name, number);
        ((int *)array)[i] = (int)number;
    } else if (field->kind == CORE_DOUBLES) {
        ((double *)array)[i] = PyFloat_AsDouble(item);
    } else if (field->kind == CORE_OUTPUTS) {
        struct bioinfer_tracks_output *o = &((struct bioinfer_tracks_output *)array)[i];
        *o = (struct bioinfer_tracks_output){0};
        set_output(o, item, keep);
    } else {
        PyObject *bytes = core_bytes(item);
        if (bytes && !PyBytes_AsStringAndSize(bytes, &((char **)array)[i], NULL))
            PyList_Append(keep, bytes);
        Py_XDECREF(bytes);
    }
}

/* Stores the values of a sequence as an array that the struct points to. */
static bool set_list(char *params, const struct core_field *field, PyObject *value, PyObject *keep)
{
    const size_t size = field->kind == CORE_INTS      ? sizeof(int)
                        : field->kind == CORE_DOUBLES ? sizeof(double)
                        : field->kind == CORE_OUTPUTS ? sizeof(struct bioinfer_tracks_output)
                                                      : sizeof(char *);
    Py_ssize_t n = PySequence_Size(value);
    PyObject *memory;
    void *array;
    bool ok;
    if (n < 0)
        return false;
    if (n > INT32_MAX) {
        PyErr_Format(PyExc_OverflowError, "%s: too many values", field->name);
        return false;
    }
    if (!(memory = PyByteArray_FromStringAndSize(NULL, n * (Py_ssize_t)size)))
        return false;
    array = PyByteArray_AsString(memory);
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *item = PySequence_GetItem(value, i);
        if (item)
            set_item(array, i, field, item, keep);
        Py_XDECREF(item);
    }
    ok = !PyErr_Occurred() && !PyList_Append(keep, memory);
    if (ok && n) {
        memcpy(params + field->offset, &array, sizeof array);
        *(int *)(void *)(params + field->count_offset) = (int)n;
    }
    Py_DECREF(memory);
    return ok;
}

/* Stores (name, text) as a struct bioinfer_text that the struct points to. */
static bool set_named(char *params, const struct core_field *field, PyObject *value, PyObject *keep)
{
    PyObject *name, *text, *name_bytes = NULL, *bytes = NULL, *memory = NULL;
    struct bioinfer_text *named;
    char *start, *words;
    Py_ssize_t length;
    bool ok = core_is_tuple(field->name, value) && PyArg_ParseTuple(value, "OO", &name, &text) &&
              (name_bytes = core_bytes(name)) && (bytes = core_bytes(text)) &&
              !PyBytes_AsStringAndSize(name_bytes, &start, NULL) &&
              !PyBytes_AsStringAndSize(bytes, &words, &length) &&
              (memory = PyByteArray_FromStringAndSize(NULL, sizeof *named)) &&
              !PyList_Append(keep, memory) && !PyList_Append(keep, name_bytes) &&
              !PyList_Append(keep, bytes);
    if (ok) {
        named = (void *)PyByteArray_AsString(memory);
        *named = (struct bioinfer_text){start, words, (size_t)length};
        memcpy(params + field->offset, &named, sizeof named);
    }
    Py_XDECREF(memory);
    Py_XDECREF(bytes);
    Py_XDECREF(name_bytes);
    return ok;
}

static bool set_text(char *params, const struct core_field *field, PyObject *value, PyObject *keep)
{
    PyObject *bytes = core_bytes(value);
    char *text = NULL;
    /* a NULL length makes NUL bytes inside an error */
    bool ok = bytes && !PyBytes_AsStringAndSize(bytes, &text, NULL) && !PyList_Append(keep, bytes);
    if (ok)
        memcpy(params + field->offset, &text, sizeof text);
    Py_XDECREF(bytes);
    return ok;
}

static bool set_field(char *params, const struct core_field *field, PyObject *value, PyObject *keep)
{
    void *at = params + field->offset;
    switch (field->kind) {
    case CORE_INT:
    case CORE_UINT: {
        long long number = PyLong_AsLongLong(value);
        if (!PyErr_Occurred() && (number < (field->kind == CORE_INT ? INT32_MIN : 0) ||
                                  number > (field->kind == CORE_INT ? INT32_MAX : UINT32_MAX)))
            PyErr_Format(PyExc_OverflowError, "%s: %lld does not fit", field->name, number);
        if (field->kind == CORE_INT)
            *(int *)at = (int)number;
        else
            *(unsigned *)at = (unsigned)number;
        break;
    }
    case CORE_INT64:
        *(int64_t *)at = PyLong_AsLongLong(value);
        break;
    case CORE_UINT64:
        *(uint64_t *)at = PyLong_AsUnsignedLongLong(value);
        break;
    case CORE_DOUBLE:
        *(double *)at = PyFloat_AsDouble(value);
        break;
    case CORE_TEXT:
        return set_text(params, field, value, keep);
    case CORE_NAMED:
        return set_named(params, field, value, keep);
    case CORE_INTS:
    case CORE_DOUBLES:
    case CORE_TEXTS:
    case CORE_OUTPUTS:
        return set_list(params, field, value, keep);
    }
    return !PyErr_Occurred();
}

void *core_params_new(const struct core_params *def, PyObject *dict, PyObject *keep)
{
    char *params = core_zalloc(1, def->size);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    bool ok = params != NULL;
    if (!ok)
        PyErr_NoMemory();
    else
        *(size_t *)(void *)params = def->size;
    while (ok && PyDict_Next(dict, &at, &key, &value)) {
        const struct core_field *field = def->fields;
        PyObject *name;
        if (value == Py_None)
            continue; /* the default */
        if (!(name = core_bytes(key))) {
            ok = false;
            break;
        }
        while (field->name && strcmp(field->name, PyBytes_AsString(name)))
            field++;
        if (field->name) {
            ok = set_field(params, field, value, keep);
        } else {
            PyErr_Format(PyExc_TypeError, "%s has no option '%s'", def->name,
                         PyBytes_AsString(name));
            ok = false;
        }
        Py_DECREF(name);
    }
    if (!ok) {
        PyMem_Free(params);
        return NULL;
    }
    return params;
}

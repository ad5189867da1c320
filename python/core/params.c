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

/* clang-format on */

const struct core_params core_context_params = {"context", sizeof(struct bioinfer_context_params),
                                                context_fields};
const struct core_params core_model_params = {"model", sizeof(struct bioinfer_model_params),
                                              model_fields};

/* ---- parameters that the library has a table of ---- */

PyObject *core_params_field(PyObject *module, PyObject *args)
{
    struct bioinfer_field f = {.struct_size = sizeof f};
    const char *task;
    int index;
    (void)module;
    if (!PyArg_ParseTuple(args, "si", &task, &index))
        return NULL;
    if (bioinfer_params_field(task, index, &f))
        Py_RETURN_NONE;
    return Py_BuildValue("{sNsNsisisdsdsNsNsNsNsI}", "name", core_text(f.name), "member",
                         core_text(f.member), "kind", f.kind, "is_list", f.is_list, "least",
                         f.least, "most", f.most, "choices", core_text(f.choices), "otherwise",
                         core_text(f.otherwise), "unit", core_text(f.unit), "help",
                         core_text(f.help), "takers", f.takers);
}

/* Sets a file by a tuple (name, text). */
static bool set_named_file(bioinfer_params *params, const char *name, PyObject *value)
{
    struct bioinfer_error err = {0};
    struct bioinfer_text file = {0};
    PyObject *file_name, *text, *name_bytes = NULL, *bytes = NULL;
    char *start, *words;
    Py_ssize_t length;
    int st;
    if (PyArg_ParseTuple(value, "OO", &file_name, &text) && (name_bytes = core_bytes(file_name)) &&
        (bytes = core_bytes(text)) && !PyBytes_AsStringAndSize(name_bytes, &start, NULL) &&
        !PyBytes_AsStringAndSize(bytes, &words, &length)) {
        file = (struct bioinfer_text){start, words, (size_t)length};
        if ((st = bioinfer_params_set_file(params, name, &file, &err)))
            core_raise(st, &err);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(name_bytes);
    return !PyErr_Occurred();
}

static bool is_text(PyObject *value)
{
    return PyUnicode_Check(value) || PyBytes_Check(value);
}

/* Sets one value as its text. */
static bool set_named_value(bioinfer_params *params, const struct bioinfer_field *f,
                            PyObject *value)
{
    struct bioinfer_error err = {0};
    PyObject *text = NULL, *bytes;
    char *start;
    int st;
    if (!is_text(value) && (f->kind == BIOINFER_PARAMS_FILE || PySequence_Check(value))) {
        PyErr_Format(PyExc_TypeError, "%s: expected %s, got %R", f->member,
                     f->kind == BIOINFER_PARAMS_FILE ? "a tuple" : "one value", value);
        return false;
    }
    if (PyBool_Check(value))
        text = PyUnicode_FromString(value == Py_True ? "1" : "0");
    else if (!is_text(value))
        text = PyObject_Str(value);
    bytes = text || is_text(value) ? core_bytes(text ? text : value) : NULL;
    if (bytes && !PyBytes_AsStringAndSize(bytes, &start, NULL) &&
        (st = bioinfer_params_set(params, f->member, start, &err)))
        core_raise(st, &err);
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    return !PyErr_Occurred();
}

/* Sets what a keyword has: a value, or values of a parameter that takes several. */
static bool set_named(bioinfer_params *params, const struct bioinfer_field *f, PyObject *value)
{
    const bool several = f->is_list || f->kind == BIOINFER_PARAMS_BITS ||
                         f->kind == BIOINFER_PARAMS_NAMES;
    if (PyTuple_Check(value) && f->kind == BIOINFER_PARAMS_FILE)
        return set_named_file(params, f->member, value);
    if (!several || is_text(value) || !PySequence_Check(value))
        return set_named_value(params, f, value);
    for (Py_ssize_t i = 0, n = PySequence_Size(value); i < n && !PyErr_Occurred(); i++) {
        PyObject *item = PySequence_GetItem(value, i);
        if (item)
            set_named_value(params, f, item);
        Py_XDECREF(item);
    }
    return !PyErr_Occurred();
}

/* Gives the task variants its genome, which no text sets. */
static bool set_genome(bioinfer_params *params, PyObject *value, PyObject *keep)
{
    struct bioinfer_variants_params *p = bioinfer_params_struct(params);
    if (!keep)
        return true;
    if (!PyObject_TypeCheck(value, core_genome_type)) {
        PyErr_Format(PyExc_TypeError, "genome: expected a Genome, got %R", value);
        return false;
    }
    p->genome = ((struct core_genome *)value)->genome;
    return !PyList_Append(keep, value);
}

/* Sets a value by the name of its member. */
static bool set_member(bioinfer_params *params, const char *task, const char *name, PyObject *value,
                       PyObject *keep)
{
    struct bioinfer_field f = {.struct_size = sizeof f};
    int i = 0;
    if (!strcmp(task, "variants") && !strcmp(name, "genome"))
        return set_genome(params, value, keep);
    while (!bioinfer_params_field(task, i, &f) && strcmp(f.member, name))
        i++;
    if (!bioinfer_params_field(task, i, &f))
        return value == Py_None || set_named(params, &f, value);
    PyErr_Format(PyExc_TypeError, "%s has no option '%s'", task, name);
    return false;
}

bioinfer_params *core_params_named(const char *task, PyObject *dict, PyObject *keep)
{
    struct bioinfer_error err = {0};
    bioinfer_params *params = NULL;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    const int st = bioinfer_params_new(&params, task, &err);
    if (st && st != BIOINFER_NOT_FOUND)
        core_raise(st, &err);
    while (params && PyDict_Next(dict, &at, &key, &value)) {
        PyObject *name = core_bytes(key);
        if (!name || !set_member(params, task, PyBytes_AsString(name), value, keep))
            bioinfer_params_free(&params);
        Py_XDECREF(name);
    }
    return params;
}

PyObject *core_params_check(PyObject *module, PyObject *args)
{
    struct bioinfer_error err = {0};
    bioinfer_params *params;
    const char *task;
    PyObject *dict;
    int st;
    (void)module;
    if (!PyArg_ParseTuple(args, "sO!", &task, &PyDict_Type, &dict))
        return NULL;
    params = core_params_named(task, dict, NULL);
    if (params && (st = bioinfer_params_check(params, &err)))
        core_raise(st, &err);
    bioinfer_params_free(&params);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* ---- values ---- */

/* Stores the texts of a sequence as an array that the struct points to. */
static bool set_list(char *params, const struct core_field *field, PyObject *value, PyObject *keep)
{
    Py_ssize_t n = PySequence_Size(value);
    PyObject *memory;
    char **array;
    bool ok;
    if (n < 0)
        return false;
    if (n > INT32_MAX) {
        PyErr_Format(PyExc_OverflowError, "%s: too many values", field->name);
        return false;
    }
    if (!(memory = PyByteArray_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof *array)))
        return false;
    array = (char **)(void *)PyByteArray_AsString(memory);
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *item = PySequence_GetItem(value, i);
        PyObject *bytes = item ? core_bytes(item) : NULL;
        if (bytes && !PyBytes_AsStringAndSize(bytes, &array[i], NULL))
            PyList_Append(keep, bytes);
        Py_XDECREF(bytes);
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
    case CORE_INT: {
        long long number = PyLong_AsLongLong(value);
        if (!PyErr_Occurred() && (number < INT32_MIN || number > INT32_MAX))
            PyErr_Format(PyExc_OverflowError, "%s: %lld does not fit", field->name, number);
        *(int *)at = (int)number;
        break;
    }
    case CORE_INT64:
        *(int64_t *)at = PyLong_AsLongLong(value);
        break;
    case CORE_TEXT:
        return set_text(params, field, value, keep);
    case CORE_TEXTS:
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

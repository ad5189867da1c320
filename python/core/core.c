/* core.c - the extension module bioinfer._core: its types, functions and constants. */
#include "core.h"

#include <string.h>

/* {status: class} and the class of all others, from bioinfer._errors */
static PyObject *error_classes, *error_class;

void *core_alloc(PyTypeObject *type)
{
    return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

void core_free(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

void *core_zalloc(size_t n, size_t size)
{
    void *memory = NULL;
    if (n < (size_t)PY_SSIZE_T_MAX / size - 1)
        memory = PyMem_Malloc((n ? n : 1) * size);
    return memory ? memset(memory, 0, (n ? n : 1) * size) : NULL;
}

PyObject *core_raise(int status, const struct bioinfer_error *err)
{
    const char *text = err && *err->text ? err->text : bioinfer_status_name(status);
    PyObject *number = PyLong_FromLong(status), *type = NULL, *error;
    if (number && error_classes)
        type = PyDict_GetItemWithError(error_classes, number);
    Py_XDECREF(number);
    if (PyErr_Occurred())
        return NULL;
    if (!type)
        type = error_class ? error_class : PyExc_RuntimeError;
    if ((error = PyObject_CallFunction(type, "Ni", core_text(text), status))) {
        PyErr_SetObject(type, error);
        Py_DECREF(error);
    }
    return NULL;
}

PyObject *core_bytes(PyObject *text)
{
    if (PyBytes_Check(text)) {
        Py_INCREF(text);
        return text;
    }
    if (PyUnicode_Check(text))
        return PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    return PyErr_Format(PyExc_TypeError, "text must be str or bytes");
}

int core_path(PyObject *path, void *bytes)
{
    PyObject **to = bytes;
    char *name;
    Py_CLEAR(*to);
    if (!path) /* another argument failed */
        return 1;
    if ((*to = core_bytes(path)) && PyBytes_AsStringAndSize(*to, &name, NULL))
        Py_CLEAR(*to);
    return *to ? Py_CLEANUP_SUPPORTED : 0;
}

bool core_is_tuple(const char *name, PyObject *value)
{
    if (!PyTuple_Check(value))
        PyErr_Format(PyExc_TypeError, "%s: expected a tuple, got %R", name, value);
    return PyTuple_Check(value);
}

PyObject *core_text(const char *text)
{
    if (!text)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

int core_write(void *user, const char *text, size_t length)
{
    struct core_writing *w = user;
    PyObject *part;
    bool ok;
    PyEval_RestoreThread(w->state);
    part = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "surrogateescape");
    ok = part && !PyList_Append(w->parts, part);
    Py_XDECREF(part);
    w->state = PyEval_SaveThread();
    return ok ? 0 : BIOINFER_CANCELLED;
}

/* ---- functions ------------------------------------------------------------------ */

/* set_errors({status: class}, class of all others) */
static PyObject *set_errors(PyObject *module, PyObject *args)
{
    PyObject *classes, *other;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &classes, &other))
        return NULL;
    Py_INCREF(classes);
    Py_INCREF(other);
    Py_XDECREF(error_classes);
    Py_XDECREF(error_class);
    error_classes = classes;
    error_class = other;
    Py_RETURN_NONE;
}

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return core_text(bioinfer_version());
}

/* family(index or name) -> (name, summary, kind, letters), None past the end */
static PyObject *family(PyObject *module, PyObject *which)
{
    const char *name = NULL;
    long i;
    (void)module;
    if (PyUnicode_Check(which))
        i = PyArg_Parse(which, "s", &name) ? bioinfer_family_find(name) : -1;
    else
        i = PyLong_AsLong(which);
    if (PyErr_Occurred())
        return NULL;
    if (i < 0 || i > INT32_MAX || !(name = bioinfer_family_name((int)i)))
        Py_RETURN_NONE;
    return Py_BuildValue("(NNii)", core_text(name), core_text(bioinfer_family_summary((int)i)),
                         bioinfer_family_kind((int)i), bioinfer_family_letters((int)i));
}

/* align_matrix(index) -> name of a built-in matrix, None past the end */
static PyObject *align_matrix(PyObject *module, PyObject *index)
{
    long i = PyLong_AsLong(index);
    (void)module;
    if (PyErr_Occurred())
        return NULL;
    return core_text(i < 0 || i > INT32_MAX ? NULL : bioinfer_align_matrix((int)i));
}

/* mutation_positions(mutation, offset) -> list of 0-based positions */
static PyObject *mutation_positions(PyObject *module, PyObject *args)
{
    struct bioinfer_error err = {0};
    int64_t positions[256];
    const char *mutation;
    long long offset;
    PyObject *list;
    int n;
    (void)module;
    if (!PyArg_ParseTuple(args, "sL", &mutation, &offset))
        return NULL;
    n = bioinfer_mutation_positions(mutation, offset, positions, (int)CORE_COUNT(positions), &err);
    if (n < 0)
        return core_raise(n, &err);
    if (n > (int)CORE_COUNT(positions))
        return PyErr_Format(PyExc_ValueError, "a mutation of more than %zu terms",
                            CORE_COUNT(positions));
    list = PyList_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *position = PyLong_FromLongLong(positions[i]);
        if (!position || PyList_SetItem(list, i, position))
            Py_CLEAR(list);
    }
    return list;
}

static PyMethodDef functions[] = {
    {"set_errors", set_errors, METH_VARARGS, NULL},
    {"version", version, METH_NOARGS, NULL},
    {"params_field", core_params_field, METH_VARARGS, NULL},
    {"params_check", core_params_check, METH_VARARGS, NULL},
    {"family", family, METH_O, NULL},
    {"align_matrix", align_matrix, METH_O, NULL},
    {"mutation_positions", mutation_positions, METH_VARARGS, NULL},
    {"nearest", core_nearest, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- the module ----------------------------------------------------------------- */

static bool add(PyObject *module, const char *name, PyObject *value)
{
    if (value && !PyModule_AddObject(module, name, value))
        return true;
    Py_XDECREF(value);
    return false;
}

/* Gives {word: status} of enum bioinfer_status. */
static PyObject *statuses(void)
{
    PyObject *dict = PyDict_New();
#define BIOINFER_X(name, value, word)                                                              \
    if (dict) {                                                                                    \
        PyObject *number = PyLong_FromLong(value);                                                 \
        if (!number || PyDict_SetItemString(dict, word, number))                                   \
            Py_CLEAR(dict);                                                                        \
        Py_XDECREF(number);                                                                        \
    }
    BIOINFER_STATUS_LIST(BIOINFER_X)
#undef BIOINFER_X
    return dict;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "bioinfer._core",
                                        "The library bioinfer; see the package bioinfer.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);
    /* later types are made of earlier ones */
    if (module && add(module, "Context", core_context_make()) &&
        add(module, "Model", core_model_make()) && add(module, "Records", core_records_make()) &&
        add(module, "Reader", core_reader_make()) && add(module, "Task", core_task_make()) &&
        add(module, "Ligands", core_ligands_make()) && add(module, "Frames", core_frames_make()) &&
        add(module, "Genome", core_genome_make()) && add(module, "Places", core_places_make()) &&
        add(module, "Writer", core_writer_make()) && add(module, "STATUSES", statuses()))
        return module;
    Py_XDECREF(module);
    return NULL;
}

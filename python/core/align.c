/* align.c - pairwise alignment as a Python object. */
#include "core.h"

#include <stdio.h>
#include <unistd.h>

struct core_aligner {
    PyObject_HEAD bioinfer_aligner *aligner;
    struct core_context *context;
    bool busy;
};

/* Aligner(context, params) */
static PyObject *aligner_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct bioinfer_error err = {0};
    struct core_context *context;
    struct core_aligner *self = NULL;
    PyObject *options, *keep = NULL;
    void *params = NULL;
    int st;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!", core_context_type, &context, &PyDict_Type, &options) ||
        !(keep = PyList_New(0)) || !(params = core_params_new(&core_align_params, options, keep)) ||
        !(self = core_alloc(type)))
        goto out;
    Py_INCREF(context);
    self->context = context;
    Py_BEGIN_ALLOW_THREADS;
    st = bioinfer_aligner_new(&self->aligner, context->context, params, &err);
    Py_END_ALLOW_THREADS;
    if (st) {
        core_raise(st, &err);
        Py_CLEAR(self);
    }
out:
    PyMem_Free(params);
    Py_XDECREF(keep);
    return (PyObject *)self;
}

static void aligner_dealloc(PyObject *object)
{
    struct core_aligner *self = (struct core_aligner *)object;
    if (self->context && self->context->pid == getpid()) {
        Py_BEGIN_ALLOW_THREADS;
        bioinfer_aligner_free(&self->aligner);
        Py_END_ALLOW_THREADS;
    }
    Py_XDECREF(self->context);
    core_free(object);
}

/* Gives the pairs of a list of (query, target) of bytes, which lends them their letters. */
static struct bioinfer_align_pair *pairs_of(PyObject *list, Py_ssize_t n)
{
    struct bioinfer_align_pair *pairs = PyMem_Calloc((size_t)n + 1, sizeof *pairs);
    if (!pairs)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; pairs && i < n; i++) {
        Py_ssize_t n_query, n_target;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "y#y#", &pairs[i].query, &n_query,
                              &pairs[i].target, &n_target)) {
            PyMem_Free(pairs);
            return NULL;
        }
        pairs[i].query_length = (size_t)n_query;
        pairs[i].target_length = (size_t)n_target;
    }
    return pairs;
}

/* run([(query, target), ...]) -> list of tuples, see core_alignment(); the pairs are bytes, and the
 * list is nobody else's. */
static PyObject *aligner_run(PyObject *object, PyObject *list)
{
    struct core_aligner *self = (struct core_aligner *)object;
    struct bioinfer_error err = {0};
    struct bioinfer_align_pair *pairs;
    struct bioinfer_alignment *results = NULL;
    PyObject *tuples = NULL;
    Py_ssize_t n = PyList_Size(list);
    int st;
    if (n < 0 || !(pairs = pairs_of(list, n)))
        return NULL;
    if (self->busy) {
        snprintf(err.text, sizeof err.text, "aligner: it is running already");
        core_raise(BIOINFER_MISUSE, &err);
        goto out;
    }
    if (!(results = PyMem_Calloc((size_t)n + 1, sizeof *results))) {
        PyErr_NoMemory();
        goto out;
    }
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS;
    st = bioinfer_aligner_run(self->aligner, pairs, (size_t)n, results, &err);
    Py_END_ALLOW_THREADS;
    if (st)
        core_raise(st, &err);
    else
        tuples = PyList_New(n);
    for (Py_ssize_t i = 0; tuples && i < n; i++) {
        PyObject *tuple = core_alignment(&results[i]);
        if (!tuple || PyList_SetItem(tuples, i, tuple))
            Py_CLEAR(tuples);
    }
    self->busy = false; /* only now: the results point into the aligner */
out:
    PyMem_Free(results);
    PyMem_Free(pairs);
    return tuples;
}

static PyMethodDef aligner_methods[] = {
    {"run", aligner_run, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyObject *core_aligner_make(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)aligner_new},
        {Py_tp_dealloc, (void *)aligner_dealloc},
        {Py_tp_methods, aligner_methods},
        {0, NULL},
    };
    static PyType_Spec spec = {"bioinfer._core.Aligner", sizeof(struct core_aligner), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    return PyType_FromSpec(&spec);
}

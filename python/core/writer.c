/* writer.c - files of results, as the command writes them. */
#include "core.h"

#include <unistd.h>

PyTypeObject *core_writer_type;

#define FIELD(name, kind) {#name, kind, offsetof(struct bioinfer_writer_params, name), 0}
static const struct core_field fields[] = {
    FIELD(format, CORE_TEXT), FIELD(suffix_duplicates, CORE_INT), FIELD(json_floats, CORE_INT),
    FIELD(model, CORE_TEXT),  FIELD(fingerprint, CORE_TEXT),      FIELD(dtype, CORE_TEXT),
    FIELD(layout, CORE_TEXT), FIELD(compression, CORE_TEXT),      {NULL, CORE_INT, 0, 0}};
static const struct core_params writer_params = {"writer", sizeof(struct bioinfer_writer_params),
                                                 fields};

/* Writer(context, path, params) */
static PyObject *writer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct bioinfer_error err = {0};
    struct core_context *context;
    struct core_writer *self = NULL;
    PyObject *path = NULL, *options, *keep = NULL;
    void *params = NULL;
    int st;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O&O!", core_context_type, &context, core_path, &path,
                          &PyDict_Type, &options))
        return NULL;
    if ((keep = PyList_New(0)) && (params = core_params_new(&writer_params, options, keep)) &&
        (self = core_alloc(type))) {
        Py_INCREF(context);
        self->context = context;
        st = bioinfer_writer_open(&self->writer, context->context, PyBytes_AsString(path), params,
                                  &err);
        if (st) {
            core_raise(st, &err);
            Py_CLEAR(self);
        }
    }
    PyMem_Free(params);
    Py_XDECREF(keep);
    Py_DECREF(path);
    return (PyObject *)self;
}

static void writer_dealloc(PyObject *object)
{
    struct core_writer *self = (struct core_writer *)object;
    if (self->context && self->context->pid == getpid())
        bioinfer_writer_close(&self->writer);
    Py_XDECREF(self->context);
    core_free(object);
}

/* close(): removes what was written, unless it is finished */
static PyObject *writer_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    bioinfer_writer_close(&((struct core_writer *)object)->writer);
    Py_RETURN_NONE;
}

/* finish(): the file gets its name */
static PyObject *writer_finish(PyObject *object, PyObject *unused)
{
    struct core_writer *self = (struct core_writer *)object;
    struct bioinfer_error err = {0};
    int st;
    (void)unused;
    if (!self->writer)
        return core_raise(BIOINFER_MISUSE, &err);
    Py_BEGIN_ALLOW_THREADS;
    st = bioinfer_writer_finish(self->writer, &err);
    Py_END_ALLOW_THREADS;
    if (st)
        return core_raise(st, &err);
    Py_RETURN_NONE;
}

static PyMethodDef writer_methods[] = {
    {"finish", writer_finish, METH_NOARGS, NULL},
    {"close", writer_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyObject *core_writer_make(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)writer_new},
        {Py_tp_dealloc, (void *)writer_dealloc},
        {Py_tp_methods, writer_methods},
        {0, NULL},
    };
    static PyType_Spec spec = {"bioinfer._core.Writer", sizeof(struct core_writer), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    PyObject *type = PyType_FromSpec(&spec);
    core_writer_type = (PyTypeObject *)type;
    return type;
}

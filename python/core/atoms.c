/* atoms.c - atoms as Python tuples of bytes, and frames that are read from files. */
#include "core.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *core_kept(PyObject *keep, Py_ssize_t n, size_t size)
{
    PyObject *memory = PyByteArray_FromStringAndSize(NULL, n * (Py_ssize_t)size);
    void *bytes = NULL;
    if (memory && !PyList_Append(keep, memory)) {
        bytes = PyByteArray_AsString(memory);
        memset(bytes, 0, (size_t)n * size);
    }
    Py_XDECREF(memory);
    return bytes;
}

/* ---- atoms ---------------------------------------------------------------------- */

bool core_atoms_set(struct bioinfer_record *r, PyObject *tuple, PyObject *keep)
{
    struct bioinfer_atoms *a = core_kept(keep, 1, sizeof *a);
    PyObject *numbers, *positions, *cell, *charge;
    char *bytes;
    Py_ssize_t n, n_positions, n_cell = 0;
    int periodic;
    if (!a || !PyArg_ParseTuple(tuple, "SSOiO", &numbers, &positions, &cell, &periodic, &charge) ||
        PyList_Append(keep, tuple) || PyBytes_AsStringAndSize(numbers, &bytes, &n))
        return false;
    a->numbers = (const int32_t *)(void *)bytes;
    if (PyBytes_AsStringAndSize(positions, &bytes, &n_positions))
        return false;
    a->positions = (const double *)(void *)bytes;
    if (cell != Py_None) {
        if (PyBytes_AsStringAndSize(cell, &bytes, &n_cell))
            return false;
        a->cell = (const double *)(void *)bytes;
    }
    a->n = (size_t)n / sizeof *a->numbers;
    if ((size_t)n % sizeof *a->numbers || (size_t)n_positions != 3 * a->n * sizeof *a->positions ||
        (a->cell && (size_t)n_cell != 9 * sizeof *a->cell)) {
        PyErr_SetString(PyExc_ValueError, "atoms: numbers, positions or cell of a wrong size");
        return false;
    }
    for (int k = 0; k < 3; k++)
        a->periodic[k] = periodic >> k & 1;
    if (charge != Py_None) {
        a->has_charge = 1;
        a->charge = PyFloat_AsDouble(charge);
    }
    r->atoms = a;
    return !PyErr_Occurred();
}

static PyObject *tuple_of(const struct bioinfer_atoms *a,
                          PyObject *(*values)(const void *values, size_t n, size_t size))
{
    PyObject *charge = Py_None;
    int periodic = 0;
    if (!a)
        Py_RETURN_NONE;
    for (int k = 0; k < 3; k++)
        periodic |= (a->periodic[k] != 0) << k;
    if (a->has_charge)
        charge = PyFloat_FromDouble(a->charge);
    else
        Py_INCREF(charge);
    return Py_BuildValue("(NNNiN)", values(a->numbers, a->n, sizeof *a->numbers),
                         values(a->positions, 3 * a->n, sizeof *a->positions),
                         values(a->cell, 9, sizeof *a->cell), periodic, charge);
}

PyObject *core_atoms_tuple(const struct bioinfer_atoms *atoms)
{
    return tuple_of(atoms, core_values);
}

/* ---- frames of files -------------------------------------------------------------- */

struct core_frames {
    PyObject ob_base;
    struct core_context *context;
    bioinfer_frames *frames;
};

/* Frames(context, path) */
static PyObject *frames_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct bioinfer_error err = {0};
    struct core_context *context;
    struct core_frames *self = NULL;
    PyObject *path, *bytes;
    char *name;
    int st;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O", core_context_type, &context, &path) ||
        !(bytes = core_bytes(path)))
        return NULL;
    if (!PyBytes_AsStringAndSize(bytes, &name, NULL) && (self = core_alloc(type))) {
        Py_INCREF(context);
        self->context = context;
        if ((st = bioinfer_frames_open(&self->frames, context->context, name, &err))) {
            core_raise(st, &err);
            Py_CLEAR(self);
        }
    }
    Py_DECREF(bytes);
    return (PyObject *)self;
}

static void frames_dealloc(PyObject *object)
{
    struct core_frames *self = (struct core_frames *)object;
    if (self->context && self->context->pid == getpid())
        bioinfer_frames_close(&self->frames);
    Py_XDECREF(self->context);
    core_free(object);
}

/* Gives n values as bytes, which a record can point to; None for NULL. */
static PyObject *fixed_values(const void *values, size_t n, size_t size)
{
    if (!values)
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(values, (Py_ssize_t)(n * size));
}

/* next() -> (id, b"", {"atoms": tuple} or {"failed": (status, message)}), or None at the end. It
 * keeps the lock, and so one thread reads at a time. */
static PyObject *frames_next(PyObject *object, PyObject *unused)
{
    struct bioinfer_record r = {0};
    struct bioinfer_error err = {0};
    int st = bioinfer_frames_source(((struct core_frames *)object)->frames, &r, &err);
    (void)unused;
    if (st < 0)
        return core_raise(st, &err);
    if (st == 0)
        Py_RETURN_NONE;
    if (r.status || !r.atoms)
        return Py_BuildValue("(Ny{s(iN)})", core_text(r.id), "", "failed",
                             r.status ? r.status : BIOINFER_INTERNAL, core_text(r.message));
    return Py_BuildValue("(Ny{sN})", core_text(r.id), "", "atoms", tuple_of(r.atoms, fixed_values));
}

static PyMethodDef frames_methods[] = {
    {"next", frames_next, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyObject *core_frames_make(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)frames_new},
        {Py_tp_dealloc, (void *)frames_dealloc},
        {Py_tp_methods, frames_methods},
        {0, NULL},
    };
    static PyType_Spec spec = {"bioinfer._core.Frames", sizeof(struct core_frames), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    return PyType_FromSpec(&spec);
}

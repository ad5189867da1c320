/* atoms.c - atoms in their places as Python tuples of bytes. */
#include "core.h"

#include <string.h>

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

/* The values of bytes of that size; NULL: there are none (None), or an exception is set. */
static const void *values_of(const char *name, PyObject *values, size_t size)
{
    char *bytes = NULL;
    Py_ssize_t n;
    if (values == Py_None || PyErr_Occurred() || PyBytes_AsStringAndSize(values, &bytes, &n))
        return NULL;
    if ((size_t)n == size)
        return bytes;
    PyErr_Format(PyExc_ValueError, "atoms: %s of a wrong size", name);
    return NULL;
}

bool core_atoms_set(struct bioinfer_record *r, PyObject *tuple, PyObject *keep)
{
    struct bioinfer_atoms *a = core_kept(keep, 1, sizeof *a);
    PyObject *numbers, *positions, *cell, *charge, *momenta, *held;
    Py_ssize_t n;
    int periodic;
    if (!a || !core_is_tuple("atoms", tuple) ||
        !PyArg_ParseTuple(tuple, "SSOiOOO", &numbers, &positions, &cell, &periodic, &charge,
                          &momenta, &held) ||
        PyList_Append(keep, tuple))
        return false;
    n = PyBytes_Size(numbers);
    a->n = (size_t)n / sizeof *a->numbers;
    if ((size_t)n % sizeof *a->numbers) {
        PyErr_SetString(PyExc_ValueError, "atoms: numbers of a wrong size");
        return false;
    }
    a->numbers = values_of("numbers", numbers, (size_t)n);
    a->positions = values_of("positions", positions, 3 * a->n * sizeof *a->positions);
    a->cell = values_of("cell", cell, 9 * sizeof *a->cell);
    a->momenta = values_of("momenta", momenta, 3 * a->n * sizeof *a->momenta);
    a->held = values_of("held", held, a->n);
    if (PyErr_Occurred())
        return false;
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
    return Py_BuildValue("(NNNiNNN)", values(a->numbers, a->n, sizeof *a->numbers),
                         values(a->positions, 3 * a->n, sizeof *a->positions),
                         values(a->cell, 9, sizeof *a->cell), periodic, charge,
                         values(a->momenta, 3 * a->n, sizeof *a->momenta),
                         values(a->held, a->n, sizeof *a->held));
}

PyObject *core_atoms_tuple(const struct bioinfer_atoms *atoms)
{
    return tuple_of(atoms, core_values);
}

/* Gives n values as bytes, which a record can point to; None for NULL. */
static PyObject *fixed_values(const void *values, size_t n, size_t size)
{
    if (!values)
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(values, (Py_ssize_t)(n * size));
}

PyObject *core_atoms_fixed(const struct bioinfer_atoms *atoms)
{
    return tuple_of(atoms, fixed_values);
}

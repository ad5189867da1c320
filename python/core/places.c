/* places.c - genomes, and records of places in them: intervals and clusters of variants. */
#include "core.h"

#include <unistd.h>

PyTypeObject *core_genome_type;

/* ---- genomes -------------------------------------------------------------------- */

/* Genome(context, path) */
static PyObject *genome_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct bioinfer_error err = {0};
    struct core_context *context;
    struct core_genome *self = NULL;
    PyObject *path = NULL;
    int st;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O&", core_context_type, &context, core_path, &path))
        return NULL;
    if ((self = core_alloc(type))) {
        const char *name = PyBytes_AsString(path);
        Py_INCREF(context);
        self->context = context;
        Py_BEGIN_ALLOW_THREADS;
        st = bioinfer_genome_open(&self->genome, context->context, name, &err);
        Py_END_ALLOW_THREADS;
        if (st) {
            core_raise(st, &err);
            Py_CLEAR(self);
        }
    }
    Py_DECREF(path);
    return (PyObject *)self;
}

static void genome_dealloc(PyObject *object)
{
    struct core_genome *self = (struct core_genome *)object;
    if (self->context && self->context->pid == getpid())
        bioinfer_genome_close(&self->genome);
    Py_XDECREF(self->context);
    core_free(object);
}

/* index(context, path): writes the index of a FASTA beside it */
static PyObject *genome_index(PyObject *unused, PyObject *args)
{
    struct bioinfer_error err = {0};
    struct core_context *context;
    PyObject *path = NULL;
    const char *name;
    int st;
    (void)unused;
    if (!PyArg_ParseTuple(args, "O!O&", core_context_type, &context, core_path, &path))
        return NULL;
    name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS;
    st = bioinfer_genome_index(context->context, name, &err);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    if (st)
        return core_raise(st, &err);
    Py_RETURN_NONE;
}

static PyMethodDef genome_methods[] = {
    {"index", genome_index, METH_VARARGS | METH_STATIC, NULL},
    {NULL, NULL, 0, NULL},
};

PyObject *core_genome_make(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)genome_new},
        {Py_tp_dealloc, (void *)genome_dealloc},
        {Py_tp_methods, genome_methods},
        {0, NULL},
    };
    static PyType_Spec spec = {"bioinfer._core.Genome", sizeof(struct core_genome), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    PyObject *type = PyType_FromSpec(&spec);
    core_genome_type = (PyTypeObject *)type;
    return type;
}

/* ---- places --------------------------------------------------------------------- */

struct core_places {
    PyObject ob_base;
    struct core_genome *genome; /* which keeps the context */
    bioinfer_loci *loci;
    bioinfer_places *places;
};

/* Places(genome, path, window, cluster, mutagenesis, scorers) */
static PyObject *places_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct bioinfer_places_params params = BIOINFER_PARAMS(struct bioinfer_places_params);
    struct bioinfer_error err = {0};
    struct core_genome *genome;
    struct core_places *self = NULL;
    PyObject *path = NULL;
    long long window, cluster;
    int st;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O&LLpp", core_genome_type, &genome, core_path, &path, &window,
                          &cluster, &params.mutagenesis, &params.scorers))
        return NULL;
    params.window = window;
    params.cluster = cluster;
    if ((self = core_alloc(type))) {
        bioinfer_context *context = genome->context->context;
        const char *name = PyBytes_AsString(path);
        Py_INCREF(genome);
        self->genome = genome;
        Py_BEGIN_ALLOW_THREADS;
        st = bioinfer_loci_open(&self->loci, context, name, &err);
        if (!st)
            st = bioinfer_places_open(&self->places, context, self->loci, genome->genome, &params,
                                      &err);
        Py_END_ALLOW_THREADS;
        if (st) {
            core_raise(st, &err);
            Py_CLEAR(self);
        }
    }
    Py_DECREF(path);
    return (PyObject *)self;
}

static void places_dealloc(PyObject *object)
{
    struct core_places *self = (struct core_places *)object;
    if (self->genome && self->genome->context->pid == getpid()) {
        bioinfer_places_close(&self->places);
        bioinfer_loci_close(&self->loci);
    }
    Py_XDECREF(self->genome);
    core_free(object);
}

/* are_variants() -> bool */
static PyObject *places_are_variants(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(bioinfer_loci_are_variants(((struct core_places *)object)->loci));
}

/* next() -> (id, text, {"failed": (status, message)} or {}), or None at the end. It keeps the lock,
 * and so one thread reads at a time. */
static PyObject *places_next(PyObject *object, PyObject *unused)
{
    struct bioinfer_record r = {0};
    struct bioinfer_error err = {0};
    const int st = bioinfer_places_source(((struct core_places *)object)->places, &r, &err);
    (void)unused;
    if (st < 0)
        return core_raise(st, &err);
    if (st == 0)
        Py_RETURN_NONE;
    if (r.status)
        return Py_BuildValue("(Ny#{s(iN)})", core_text(r.id), r.sequence, (Py_ssize_t)r.length,
                             "failed", r.status, core_text(r.message));
    return Py_BuildValue("(Ny#{})", core_text(r.id), r.sequence, (Py_ssize_t)r.length);
}

static PyMethodDef places_methods[] = {
    {"are_variants", places_are_variants, METH_NOARGS, NULL},
    {"next", places_next, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyObject *core_places_make(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)places_new},
        {Py_tp_dealloc, (void *)places_dealloc},
        {Py_tp_methods, places_methods},
        {0, NULL},
    };
    static PyType_Spec spec = {"bioinfer._core.Places", sizeof(struct core_places), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    return PyType_FromSpec(&spec);
}

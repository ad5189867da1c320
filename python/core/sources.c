/* sources.c - records of files that are not FASTA: molecules, and frames of atoms. */
#include "core.h"

#include <stdio.h>
#include <unistd.h>

/* A kind of file, of which the library reads one record after the other. */
struct kind {
    int (*open)(void **out, bioinfer_context *ctx, const char *path, struct bioinfer_error *err);
    bioinfer_source next;
    void (*close)(void *of);
    void (*set_motion)(void *of, int on); /* NULL = nothing here moves */
    /* Gives a record as the tuple that Records() takes. */
    PyObject *(*tuple)(const struct bioinfer_record *r);
};

struct core_source {
    PyObject ob_base;
    struct core_context *context;
    const struct kind *kind;
    void *of;
};

/* Opens a file by (context, path), and for frames whether they move. */
static PyObject *source_new(PyTypeObject *type, PyObject *args, const struct kind *kind)
{
    struct bioinfer_error err = {0};
    struct core_context *context;
    struct core_source *self = NULL;
    PyObject *path = NULL;
    int st, moves = 0;
    if (!PyArg_ParseTuple(args, "O!O&|p", core_context_type, &context, core_path, &path, &moves))
        return NULL;
    if ((self = core_alloc(type))) {
        Py_INCREF(context);
        self->context = context;
        self->kind = kind;
        if ((st = kind->open(&self->of, context->context, PyBytes_AsString(path), &err))) {
            core_raise(st, &err);
            Py_CLEAR(self);
        } else if (moves && kind->set_motion) {
            kind->set_motion(self->of, 1);
        }
    }
    Py_DECREF(path);
    return (PyObject *)self;
}

static void source_dealloc(PyObject *object)
{
    struct core_source *self = (struct core_source *)object;
    if (self->of && self->context->pid == getpid())
        self->kind->close(self->of);
    Py_XDECREF(self->context);
    core_free(object);
}

/* next() -> (id, text, {name: value}), or None at the end. It keeps the lock, and so one thread
 * reads at a time. */
static PyObject *source_next(PyObject *object, PyObject *unused)
{
    const struct core_source *self = (struct core_source *)object;
    struct bioinfer_record r = {0};
    struct bioinfer_error err = {0};
    int st = self->kind->next(self->of, &r, &err);
    (void)unused;
    if (st < 0)
        return core_raise(st, &err);
    if (st == 0)
        Py_RETURN_NONE;
    return self->kind->tuple(&r);
}

static PyMethodDef source_methods[] = {
    {"next", source_next, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *source_make(const char *name, newfunc make)
{
    PyType_Slot slots[] = {
        {Py_tp_new, (void *)make},
        {Py_tp_dealloc, (void *)source_dealloc},
        {Py_tp_methods, source_methods},
        {0, NULL},
    };
    PyType_Spec spec = {name, sizeof(struct core_source), 0, Py_TPFLAGS_DEFAULT, slots};
    return PyType_FromSpec(&spec);
}

/* ---- molecules ------------------------------------------------------------------ */

static int open_ligands(void **out, bioinfer_context *ctx, const char *path,
                        struct bioinfer_error *err)
{
    bioinfer_ligands *ligands = NULL;
    const int st = bioinfer_ligands_open(&ligands, ctx, path, err);
    *out = ligands;
    return st;
}

static void close_ligands(void *of)
{
    bioinfer_ligands *ligands = of;
    bioinfer_ligands_close(&ligands);
}

/* (id, text, {"file", "number", "line"}) */
static PyObject *ligand_tuple(const struct bioinfer_record *r)
{
    struct bioinfer_error err = {0};
    if (r->status) {
        snprintf(err.text, sizeof err.text, "%s", r->message ? r->message : "");
        return core_raise(r->status, &err);
    }
    return Py_BuildValue("(Ny#{sNsKsK})", core_text(r->id), r->sequence, (Py_ssize_t)r->length,
                         "file", core_text(r->file ? r->file : ""), "number",
                         (unsigned long long)r->number, "line", (unsigned long long)r->line);
}

static PyObject *ligands_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const struct kind kind = {open_ligands, bioinfer_ligands_source, close_ligands, NULL,
                                     ligand_tuple};
    (void)kwargs;
    return source_new(type, args, &kind);
}

PyObject *core_ligands_make(void)
{
    return source_make("bioinfer._core.Ligands", ligands_new);
}

/* ---- frames of atoms -------------------------------------------------------------- */

static int open_frames(void **out, bioinfer_context *ctx, const char *path,
                       struct bioinfer_error *err)
{
    bioinfer_frames *frames = NULL;
    const int st = bioinfer_frames_open(&frames, ctx, path, err);
    *out = frames;
    return st;
}

static void close_frames(void *of)
{
    bioinfer_frames *frames = of;
    bioinfer_frames_close(&frames);
}

static void set_motion(void *of, int on)
{
    bioinfer_frames_set_motion(of, on);
}

/* (id, b"", {"atoms": tuple, "description": text} or {"failed": (status, message)}) */
static PyObject *frame_tuple(const struct bioinfer_record *r)
{
    if (r->status || !r->atoms)
        return Py_BuildValue("(Ny{s(iN)})", core_text(r->id), "", "failed",
                             r->status ? r->status : BIOINFER_INTERNAL, core_text(r->message));
    return Py_BuildValue("(Ny{sNsN})", core_text(r->id), "", "atoms", core_atoms_fixed(r->atoms),
                         "description", core_text(r->description ? r->description : ""));
}

static PyObject *frames_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const struct kind kind = {open_frames, bioinfer_frames_source, close_frames, set_motion,
                                     frame_tuple};
    (void)kwargs;
    return source_new(type, args, &kind);
}

PyObject *core_frames_make(void)
{
    return source_make("bioinfer._core.Frames", frames_new);
}

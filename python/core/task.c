/* task.c - contexts, models and tasks as Python objects.
 *
 * A task keeps its model and a model its context by a reference, so they are closed in the right
 * order whoever goes last. In a child of fork() nothing is closed: it belongs to the parent. */
#include "core.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

PyTypeObject *core_context_type, *core_model_type;

/* ---- contexts ------------------------------------------------------------------ */

/* Hands a line of the library's log to Python, from whatever thread it comes. */
static void log_line(void *user, int level, const char *text)
{
    struct core_context *self = user;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *type, *value, *trace, *done;
    PyErr_Fetch(&type, &value, &trace);
    done = PyObject_CallFunction(self->log, "iN", level, core_text(text));
    if (!done)
        PyErr_WriteUnraisable(self->log);
    Py_XDECREF(done);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(state);
}

/* Context(params, log): log is called with (level, text), None = not at all. */
static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct bioinfer_context_params *params = NULL;
    struct bioinfer_error err = {0};
    struct core_context *self;
    PyObject *options, *log, *keep;
    int st;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &options, &log) || !(self = core_alloc(type)))
        return NULL;
    self->pid = getpid();
    if (!(keep = PyList_New(0)) || !(params = core_params_new(&core_context_params, options, keep)))
        goto fail;
    if (log != Py_None) {
        Py_INCREF(log);
        self->log = log;
        params->log = log_line;
        params->log_user = self;
    }
    Py_BEGIN_ALLOW_THREADS;
    st = bioinfer_context_new(&self->context, params, &err);
    Py_END_ALLOW_THREADS;
    if (!st) {
        PyMem_Free(params);
        Py_DECREF(keep);
        return (PyObject *)self;
    }
    core_raise(st, &err);
fail:
    PyMem_Free(params);
    Py_XDECREF(keep);
    Py_DECREF(self);
    return NULL;
}

static void context_dealloc(PyObject *object)
{
    struct core_context *self = (struct core_context *)object;
    if (self->pid == getpid()) {
        Py_BEGIN_ALLOW_THREADS;
        bioinfer_context_free(&self->context);
        Py_END_ALLOW_THREADS;
    }
    Py_XDECREF(self->log);
    core_free(object);
}

static PyObject *context_threads(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(bioinfer_context_threads(((struct core_context *)object)->context));
}

/* device(index) -> (name, description, usable, reason, memory_size, memory_free), None past the
 * end */
static PyObject *context_device(PyObject *object, PyObject *index)
{
    struct core_context *self = (struct core_context *)object;
    struct bioinfer_device d = {.struct_size = sizeof d};
    long i = PyLong_AsLong(index);
    int st;
    if (PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    st = i < 0 || i > INT32_MAX ? BIOINFER_NOT_FOUND
                                : bioinfer_device_get(self->context, (int)i, &d);
    Py_END_ALLOW_THREADS;
    if (st == BIOINFER_NOT_FOUND)
        Py_RETURN_NONE;
    if (st)
        return core_raise(st, NULL);
    return Py_BuildValue("(NNNNKK)", core_text(d.name), core_text(d.description),
                         PyBool_FromLong(d.usable), core_text(d.reason),
                         (unsigned long long)d.memory_size, (unsigned long long)d.memory_free);
}

/* file_info(path) -> str: what `bioinfer info` prints */
static PyObject *context_file_info(PyObject *object, PyObject *path)
{
    struct core_context *self = (struct core_context *)object;
    struct core_writing writing = {NULL, NULL};
    struct bioinfer_error err = {0};
    PyObject *bytes = core_bytes(path), *text = NULL, *empty;
    char *name;
    int st;
    if (!bytes || PyBytes_AsStringAndSize(bytes, &name, NULL) || !(writing.parts = PyList_New(0))) {
        Py_XDECREF(bytes);
        return NULL;
    }
    writing.state = PyEval_SaveThread();
    st = bioinfer_file_info(self->context, name, core_write, &writing, &err);
    PyEval_RestoreThread(writing.state);
    if (!PyErr_Occurred() && st)
        core_raise(st, &err);
    if (!PyErr_Occurred() && (empty = PyUnicode_FromString(""))) {
        text = PyUnicode_Join(empty, writing.parts);
        Py_DECREF(empty);
    }
    Py_DECREF(writing.parts);
    Py_DECREF(bytes);
    return text;
}

static PyMethodDef context_methods[] = {
    {"threads", context_threads, METH_NOARGS, NULL},
    {"device", context_device, METH_O, NULL},
    {"file_info", context_file_info, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyObject *core_context_make(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)context_new},
        {Py_tp_dealloc, (void *)context_dealloc},
        {Py_tp_methods, context_methods},
        {0, NULL},
    };
    static PyType_Spec spec = {"bioinfer._core.Context", sizeof(struct core_context), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    PyObject *type = PyType_FromSpec(&spec);
    core_context_type = (PyTypeObject *)type;
    return type;
}

/* ---- models ------------------------------------------------------------------- */

/* Model(context, path or None, params) */
static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct bioinfer_model_params *params = NULL;
    struct bioinfer_error err = {0};
    struct core_context *context;
    struct core_model *self = NULL;
    PyObject *path, *options, *keep = NULL, *bytes = NULL;
    char *name = NULL;
    int st;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!OO!", core_context_type, &context, &path, &PyDict_Type,
                          &options) ||
        !(keep = PyList_New(0)) || !(params = core_params_new(&core_model_params, options, keep)))
        goto fail;
    if (path != Py_None &&
        (!(bytes = core_bytes(path)) || PyBytes_AsStringAndSize(bytes, &name, NULL)))
        goto fail;
    if (!(self = core_alloc(type)))
        goto fail;
    Py_INCREF(context);
    self->context = context;
    Py_BEGIN_ALLOW_THREADS;
    st = bioinfer_model_open(&self->model, context->context, name, params, &err);
    Py_END_ALLOW_THREADS;
    if (st) {
        core_raise(st, &err);
        Py_CLEAR(self);
    }
fail:
    PyMem_Free(params);
    Py_XDECREF(bytes);
    Py_XDECREF(keep);
    return (PyObject *)self;
}

static void model_dealloc(PyObject *object)
{
    struct core_model *self = (struct core_model *)object;
    if (self->context && self->context->pid == getpid()) {
        Py_BEGIN_ALLOW_THREADS;
        bioinfer_model_close(&self->model);
        Py_END_ALLOW_THREADS;
    }
    Py_XDECREF(self->context);
    core_free(object);
}

/* info() -> dict of bioinfer_model_info */
static PyObject *model_info(PyObject *object, PyObject *unused)
{
    struct bioinfer_model_info i = {.struct_size = sizeof i};
    int st = bioinfer_model_get_info(((struct core_model *)object)->model, &i);
    (void)unused;
    if (st)
        return core_raise(st, NULL);
    return Py_BuildValue("{sNsNsNsNsNsNsNsisisisisLsNsL}", "family", core_text(i.family), "name",
                         core_text(i.name), "architecture", core_text(i.architecture), "path",
                         core_text(i.path), "device", core_text(i.device), "kernels",
                         core_text(i.kernels), "precision", core_text(i.precision), "n_layers",
                         i.n_layers, "width", i.width, "n_heads", i.n_heads, "vocab_size",
                         i.vocab_size, "n_parameters", (long long)i.n_parameters, "has_contacts",
                         PyBool_FromLong(i.has_contacts), "longest", (long long)i.longest);
}

static PyObject *model_fingerprint(PyObject *object, PyObject *unused)
{
    struct core_model *self = (struct core_model *)object;
    struct bioinfer_error err = {0};
    const char *text = NULL;
    int st;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS;
    st = bioinfer_model_fingerprint(self->model, &text, &err);
    Py_END_ALLOW_THREADS;
    return st ? core_raise(st, &err) : core_text(text);
}

/* token(id) -> str, None outside the vocabulary */
static PyObject *model_token(PyObject *object, PyObject *id)
{
    long i = PyLong_AsLong(id);
    if (PyErr_Occurred())
        return NULL;
    return core_text(i < 0 || i > INT32_MAX
                         ? NULL
                         : bioinfer_model_token(((struct core_model *)object)->model, (int)i));
}

/* head(index) -> (name, number of tracks), None past the end */
static PyObject *model_head(PyObject *object, PyObject *index)
{
    long i = PyLong_AsLong(index);
    int n_tracks = 0;
    const char *name = NULL;
    if (PyErr_Occurred())
        return NULL;
    if (i >= 0 && i <= INT32_MAX)
        name = bioinfer_model_head(((struct core_model *)object)->model, (int)i, &n_tracks);
    if (!name)
        Py_RETURN_NONE;
    return Py_BuildValue("(Ni)", core_text(name), n_tracks);
}

/* output(index) -> row of the table of outputs as a dict, None past the end */
static PyObject *model_output(PyObject *object, PyObject *index)
{
    static const char *const kinds[] = {"bins", "grid", "junctions"};
    struct bioinfer_output_info row = {.struct_size = sizeof row};
    long i = PyLong_AsLong(index);
    if (PyErr_Occurred())
        return NULL;
    if (i < 0 || i > INT32_MAX ||
        bioinfer_model_output(((struct core_model *)object)->model, (int)i, &row))
        Py_RETURN_NONE;
    return Py_BuildValue("{sNsNsNsLsiss}", "name", core_text(row.name), "output",
                         core_text(row.output), "organism", core_text(row.organism), "resolution",
                         (long long)row.resolution, "n_tracks", row.n_tracks, "kind",
                         kinds[row.kind]);
}

/* mutation_score(id, sequence, log_probs, mutation, offset) -> float; log_probs are the bytes of
 * float32 [length, vocab_size] that the task `score` gave. */
static PyObject *model_mutation_score(PyObject *object, PyObject *args)
{
    struct core_model *self = (struct core_model *)object;
    struct bioinfer_model_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    struct bioinfer_array table = {.kind = "log-probs", .n_dims = 2};
    struct bioinfer_result result = {.n_arrays = 1, .arrays = &table};
    const char *id, *sequence, *mutation;
    PyObject *values;
    Py_ssize_t length;
    long long offset;
    double score = 0;
    int st;
    if (!PyArg_ParseTuple(args, "ss#O!sL", &id, &sequence, &length, &PyByteArray_Type, &values,
                          &mutation, &offset))
        return NULL;
    if ((st = bioinfer_model_get_info(self->model, &info)))
        return core_raise(st, NULL);
    if ((size_t)PyByteArray_Size(values) !=
        (size_t)length * (size_t)info.vocab_size * sizeof(float)) {
        PyErr_SetString(PyExc_ValueError, "the table is not of this sequence and model");
        return NULL;
    }
    table.shape[0] = result.length = length;
    table.shape[1] = info.vocab_size;
    table.data = (const float *)(const void *)PyByteArray_AsString(values);
    result.id = id;
    result.sequence = sequence;
    st = bioinfer_score_mutation(self->model, &result, mutation, offset, &score, &err);
    return st ? core_raise(st, &err) : PyFloat_FromDouble(score);
}

static PyMethodDef model_methods[] = {
    {"info", model_info, METH_NOARGS, NULL},
    {"fingerprint", model_fingerprint, METH_NOARGS, NULL},
    {"token", model_token, METH_O, NULL},
    {"head", model_head, METH_O, NULL},
    {"output", model_output, METH_O, NULL},
    {"mutation_score", model_mutation_score, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyObject *core_model_make(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)model_new},
        {Py_tp_dealloc, (void *)model_dealloc},
        {Py_tp_methods, model_methods},
        {0, NULL},
    };
    static PyType_Spec spec = {"bioinfer._core.Model", sizeof(struct core_model), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    PyObject *type = PyType_FromSpec(&spec);
    core_model_type = (PyTypeObject *)type;
    return type;
}

/* ---- tasks -------------------------------------------------------------------- */

struct core_task {
    PyObject ob_base;
    bioinfer_task *task;
    struct core_context *context;
    struct core_model *model; /* NULL: a task of the context alone */
    PyObject *keep;           /* list of what its parameters point to */
    /* the run at hand: */
    PyThreadState *state;       /* NULL = nothing runs */
    PyObject *results;          /* list */
    PyObject *progress;         /* callable or None */
    bioinfer_writer *writer;    /* takes results, too; NULL = none does */
    uint64_t records, residues; /* that the task had computed before it, where progress is told */
};

/* Ends a run because a callback has set an exception. */
static int stop(struct bioinfer_error *err)
{
    if (err) {
        err->status = BIOINFER_CANCELLED;
        snprintf(err->text, sizeof err->text, "a Python callback raised an exception");
    }
    return BIOINFER_CANCELLED;
}

static int on_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct core_task *self = user;
    PyObject *tuple;
    bool ok;
    if (self->writer) {
        const int st = bioinfer_writer_put(self->writer, result, err);
        if (st)
            return st;
    }
    PyEval_RestoreThread(self->state);
    tuple = core_result(result);
    ok = tuple && !PyList_Append(self->results, tuple) && !PyErr_CheckSignals();
    Py_XDECREF(tuple);
    self->state = PyEval_SaveThread();
    return ok ? 0 : stop(err);
}

static int on_progress(void *user, uint64_t records, uint64_t residues)
{
    struct core_task *self = user;
    PyObject *done = NULL;
    bool ok;
    if (!self->state) /* asked for while the task is opened */
        return 0;
    PyEval_RestoreThread(self->state);
    ok = !PyErr_CheckSignals();
    if (ok && self->progress != Py_None) {
        done = PyObject_CallFunction(self->progress, "KK",
                                     (unsigned long long)(records - self->records),
                                     (unsigned long long)(residues - self->residues));
        ok = done != NULL;
    }
    Py_XDECREF(done);
    self->state = PyEval_SaveThread();
    return ok ? 0 : BIOINFER_CANCELLED;
}

/* Asks Python while steps are made. */
static int on_step(void *user)
{
    struct core_task *self = user;
    bool ok;
    if (!self->state)
        return 0;
    PyEval_RestoreThread(self->state);
    ok = !PyErr_CheckSignals();
    self->state = PyEval_SaveThread();
    return ok ? 0 : BIOINFER_CANCELLED;
}

/* Has tasks whose atoms move ask whether to stop, which no text sets. */
static void set_stop(struct core_task *self, const char *name, bioinfer_params *params)
{
    struct bioinfer_relax_params *relax = bioinfer_params_struct(params);
    struct bioinfer_md_params *md = bioinfer_params_struct(params);
    if (params && !strcmp(name, "relax")) {
        relax->stop = on_step;
        relax->stop_user = self;
    }
    if (params && !strcmp(name, "md")) {
        md->stop = on_step;
        md->stop_user = self;
    }
}

/* Opens the task of this name; a status, or an exception set. */
static int open_task(struct core_task *self, const char *name, PyObject *options, PyObject *keep,
                     struct bioinfer_error *err)
{
    bioinfer_context *context = self->context->context;
    bioinfer_model *model = self->model ? self->model->model : NULL;
    bioinfer_params *named = core_params_named(name, options, keep);
    int st = 0;
    if (!named && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "no task is called '%s'", name);
    set_stop(self, name, named);
    if (named) {
        Py_BEGIN_ALLOW_THREADS;
        st = bioinfer_task_open(&self->task, context, model, named, err);
        Py_END_ALLOW_THREADS;
        bioinfer_task_set_progress(self->task, on_progress, self);
    }
    bioinfer_params_free(&named);
    return st;
}

/* Is this a task over a context alone? */
static bool needs_no_model(const char *name)
{
    struct bioinfer_field row = {.struct_size = sizeof row};
    return !bioinfer_params_field(name, 0, &row) && bioinfer_task_kind(name) < 0;
}

/* Task(context, model or None, name, params) */
static PyObject *task_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct bioinfer_error err = {0};
    struct core_context *context;
    struct core_task *self;
    PyObject *model, *options;
    const char *name;
    bool no_model;
    int st;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!OsO!", core_context_type, &context, &model, &name, &PyDict_Type,
                          &options))
        return NULL;
    no_model = needs_no_model(name);
    if (no_model ? model != Py_None
                 : !PyObject_TypeCheck(model, core_model_type) ||
                       ((struct core_model *)model)->context != context)
        return PyErr_Format(PyExc_TypeError, "the task %s is %s", name,
                            no_model ? "of no model" : "of a model of this context");
    if (!(self = core_alloc(type)))
        return NULL;
    Py_INCREF(context);
    self->context = context;
    if (!no_model) {
        Py_INCREF(model);
        self->model = (struct core_model *)model;
    }
    st = (self->keep = PyList_New(0)) ? open_task(self, name, options, self->keep, &err) : 0;
    if (st)
        core_raise(st, &err);
    if (PyErr_Occurred())
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void task_dealloc(PyObject *object)
{
    struct core_task *self = (struct core_task *)object;
    if (self->context && self->context->pid == getpid()) {
        Py_BEGIN_ALLOW_THREADS;
        bioinfer_task_close(&self->task);
        Py_END_ALLOW_THREADS;
    }
    Py_XDECREF(self->keep);
    Py_XDECREF(self->model);
    Py_XDECREF(self->context);
    core_free(object);
}

/* compute(records, first, n, progress, writer or None) -> list of result tuples, see
 * core_result(), which the writer gets, too */
static PyObject *task_compute(PyObject *object, PyObject *args)
{
    struct core_task *self = (struct core_task *)object;
    struct core_records *records;
    struct bioinfer_profile figures = {.struct_size = sizeof figures};
    struct bioinfer_error err = {0};
    unsigned long long first, n;
    PyObject *progress, *results, *writer = Py_None;
    int st;
    if (!PyArg_ParseTuple(args, "O!KKO|O", core_records_type, &records, &first, &n, &progress,
                          &writer))
        return NULL;
    if (writer != Py_None && !PyObject_TypeCheck(writer, core_writer_type))
        return PyErr_Format(PyExc_TypeError, "compute: expected a writer, got %R", writer);
    if (first > records->n || n > records->n - first) {
        PyErr_SetString(PyExc_IndexError, "records out of range");
        return NULL;
    }
    if (self->state) {
        snprintf(err.text, sizeof err.text, "task: it is running already");
        return core_raise(BIOINFER_MISUSE, &err);
    }
    if (progress != Py_None && (st = bioinfer_task_get_profile(self->task, &figures)))
        return core_raise(st, NULL);
    if (!(results = PyList_New(0)))
        return NULL;
    self->records = figures.records;
    self->residues = figures.residues;
    self->results = results;
    self->progress = progress;
    self->writer = writer == Py_None ? NULL : ((struct core_writer *)writer)->writer;
    self->state = PyEval_SaveThread();
    st = bioinfer_task_compute(self->task, records->records + first, n, on_result, self, &err);
    PyEval_RestoreThread(self->state);
    self->state = NULL;
    self->results = self->progress = NULL;
    self->writer = NULL;
    if (!PyErr_Occurred() && st)
        core_raise(st, &err);
    if (PyErr_Occurred())
        Py_CLEAR(results);
    return results;
}

static PyObject *task_prepare(PyObject *object, PyObject *unused)
{
    struct core_task *self = (struct core_task *)object;
    struct bioinfer_error err = {0};
    int st;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS;
    st = bioinfer_task_prepare(self->task, &err);
    Py_END_ALLOW_THREADS;
    if (st)
        return core_raise(st, &err);
    Py_RETURN_NONE;
}

/* tracks_info(index) -> dict of bioinfer_tracks_info of an output, None past the end */
static PyObject *task_tracks_info(PyObject *object, PyObject *index)
{
    struct bioinfer_tracks_info i = {.struct_size = sizeof i};
    long at = PyLong_AsLong(index);
    int st;
    if (PyErr_Occurred())
        return NULL;
    st = at < 0 || at > INT32_MAX
             ? BIOINFER_NOT_FOUND
             : bioinfer_tracks_get_output(((struct core_task *)object)->task, (int)at, &i);
    if (st == BIOINFER_NOT_FOUND)
        Py_RETURN_NONE;
    if (st)
        return core_raise(st, NULL);
    return Py_BuildValue(
        "{sNsNsLsLsLsLsisi}", "head", core_text(i.head), "array", core_text(i.array), "window",
        (long long)i.window, "bin_size", (long long)i.bin_size, "first_bin", (long long)i.first_bin,
        "n_bins", (long long)i.n_bins, "n_tracks", i.n_tracks, "n_head_tracks", i.n_head_tracks);
}

/* Gives the tracks of an output of a task of variants: [(number, identifier or None)]. */
static PyObject *output_tracks(const bioinfer_task *task, int output)
{
    struct bioinfer_track track = {.struct_size = sizeof track};
    PyObject *tracks = PyList_New(0);
    for (int i = 0; tracks && !bioinfer_variants_get_track(task, output, i, &track); i++) {
        PyObject *pair = Py_BuildValue("(iN)", track.number, core_text(track.identifier));
        if (!pair || PyList_Append(tracks, pair))
            Py_CLEAR(tracks);
        Py_XDECREF(pair);
    }
    return tracks;
}

/* variants_info() -> (window, [column], [(array, [(number, identifier or None)])]); with scorers no
 * arrays */
static PyObject *task_variants_info(PyObject *object, PyObject *unused)
{
    const bioinfer_task *task = ((struct core_task *)object)->task;
    struct bioinfer_tracks_info of = {.struct_size = sizeof of}, first = of;
    PyObject *columns = PyList_New(0), *outputs = PyList_New(0);
    const int st = bioinfer_tracks_get_info(task, &first);
    const char *name;
    (void)unused;
    if (st)
        core_raise(st, NULL);
    for (int i = 0; columns && !PyErr_Occurred() && (name = bioinfer_variants_column(task, i));
         i++) {
        PyObject *text = core_text(name);
        if (text)
            PyList_Append(columns, text);
        Py_XDECREF(text);
    }
    for (int i = 0; outputs && !PyErr_Occurred() && !bioinfer_tracks_get_output(task, i, &of);
         i++) {
        PyObject *tracks = output_tracks(task, i), *output = NULL;
        if (tracks && PyList_Size(tracks))
            output = Py_BuildValue("(NO)", core_text(of.array), tracks);
        if (output)
            PyList_Append(outputs, output);
        Py_XDECREF(output);
        Py_XDECREF(tracks);
    }
    if (columns && outputs && !PyErr_Occurred())
        return Py_BuildValue("(LNN)", (long long)first.window, columns, outputs);
    Py_XDECREF(columns);
    Py_XDECREF(outputs);
    return NULL;
}

/* scale() -> int: scores of alignments are in 1/scale of a point */
static PyObject *task_scale(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(bioinfer_align_scale(((struct core_task *)object)->task));
}

static PyMethodDef task_methods[] = {
    {"compute", task_compute, METH_VARARGS, NULL},
    {"prepare", task_prepare, METH_NOARGS, NULL},
    {"scale", task_scale, METH_NOARGS, NULL},
    {"tracks_info", task_tracks_info, METH_O, NULL},
    {"variants_info", task_variants_info, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyObject *core_task_make(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)task_new},
        {Py_tp_dealloc, (void *)task_dealloc},
        {Py_tp_methods, task_methods},
        {0, NULL},
    };
    static PyType_Spec spec = {"bioinfer._core.Task", sizeof(struct core_task), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    return PyType_FromSpec(&spec);
}

/* records.c - records for tasks: made from Python values, or read from files. */
#include "core.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

PyTypeObject *core_records_type;

/* ---- records from Python values ------------------------------------------------ */

/* Copies residues as a reader does by default (loaders/fasta.c): letters in upper case, without
 * white space, gaps and one final '*'. Other characters stay, and *bad is the first of them, or -1.
 * Returns their number. */
static size_t clean(char *to, const char *from, size_t n, int *bad)
{
    size_t length = 0;
    bool star = false;
    *bad = -1;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)from[i];
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '-' || c == '.')
            continue;
        if (c >= 'a' && c <= 'z')
            c = (unsigned char)(c - 'a' + 'A');
        if (star && *bad < 0) /* the one before was not the last */
            *bad = '*';
        star = c == '*';
        if (!star && (c < 'A' || c > 'Z') && *bad < 0)
            *bad = c;
        if (!star)
            to[length++] = (char)c;
    }
    return length;
}

/* Says in the record that a character is not a residue. */
static void spoil(struct bioinfer_record *r, char *message, size_t size, int bad)
{
    if (bad == '*')
        snprintf(message, size,
                 "character '*' (0x2A) inside the sequence: only one at its end is allowed");
    else if (bad > ' ' && bad < 0x7f)
        snprintf(message, size, "character '%c' (0x%02X) is not a residue", bad, (unsigned)bad);
    else
        snprintf(message, size, "byte 0x%02X is not a residue", (unsigned)bad);
    r->status = BIOINFER_BAD_RESIDUE;
    r->message = message;
}

enum { MESSAGE_SIZE = 96 };

/* Fills a record with an id and a sequence, copied into new memory at *text. */
static bool set_texts(struct bioinfer_record *r, char **text, PyObject *id, PyObject *sequence,
                      bool raw)
{
    char *id_bytes, *residues;
    Py_ssize_t n_id, n;
    PyObject *name = core_bytes(id), *letters = name ? core_bytes(sequence) : NULL;
    bool ok = letters && !PyBytes_AsStringAndSize(name, &id_bytes, &n_id) &&
              !PyBytes_AsStringAndSize(letters, &residues, &n);
    if (ok && memchr(id_bytes, '\0', (size_t)n_id)) {
        PyErr_SetString(PyExc_ValueError, "an id has a NUL character");
        ok = false;
    }
    if (ok && !(*text = PyMem_Malloc((size_t)n_id + (size_t)n + 2 + MESSAGE_SIZE))) {
        PyErr_NoMemory();
        ok = false;
    }
    if (ok) {
        char *to = *text;
        int bad = -1;
        memcpy(to, id_bytes, (size_t)n_id + 1);
        r->id = to;
        r->description = r->message = "";
        r->sequence = to += n_id + 1;
        r->length = (size_t)n;
        if (raw)
            memcpy(to, residues, (size_t)n);
        else
            r->length = clean(to, residues, (size_t)n, &bad);
        to[r->length] = '\0';
        if (bad >= 0)
            spoil(r, to + r->length + 1, MESSAGE_SIZE, bad);
    }
    Py_XDECREF(letters);
    Py_XDECREF(name);
    return ok;
}

/* Fills the positions of a record from a sequence of int. */
static bool set_positions(struct bioinfer_record *r, PyObject *values, PyObject *keep)
{
    Py_ssize_t n = PySequence_Size(values);
    int64_t *positions = n < 0 ? NULL : core_kept(keep, n, sizeof *positions);
    if (!positions)
        return false;
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *value = PySequence_GetItem(values, i);
        positions[i] = value ? PyLong_AsLongLong(value) : 0;
        Py_XDECREF(value);
    }
    r->positions = positions;
    r->n_positions = (size_t)n;
    return !PyErr_Occurred();
}

/* Fills the changes of a record from a sequence of (first, bases). */
static bool set_changes(struct bioinfer_record *r, PyObject *values, PyObject *keep)
{
    Py_ssize_t n = PySequence_Size(values);
    struct bioinfer_change *changes = n < 0 ? NULL : core_kept(keep, n, sizeof *changes);
    if (!changes)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = PySequence_GetItem(values, i), *text, *bytes;
        long long first;
        Py_ssize_t length;
        char *bases;
        bool ok = value && core_is_tuple("a change", value) &&
                  PyArg_ParseTuple(value, "LO", &first, &text);
        bytes = ok ? core_bytes(text) : NULL;
        ok = bytes && !PyList_Append(keep, bytes) &&
             !PyBytes_AsStringAndSize(bytes, &bases, &length);
        if (ok)
            changes[i] = (struct bioinfer_change){first, length, bases};
        Py_XDECREF(bytes);
        Py_XDECREF(value);
        if (!ok)
            return false;
    }
    r->changes = changes;
    r->n_changes = (size_t)n;
    return true;
}

/* Points *to at the text of a value, which `keep` holds. */
static bool keep_text(const char **to, size_t *length, PyObject *value, PyObject *keep)
{
    PyObject *bytes = core_bytes(value);
    char *text = NULL;
    Py_ssize_t n = 0;
    /* without a length NUL bytes inside are an error */
    bool ok = bytes && !PyBytes_AsStringAndSize(bytes, &text, length ? &n : NULL) &&
              !PyList_Append(keep, bytes);
    *to = text;
    if (length)
        *length = (size_t)n;
    Py_XDECREF(bytes);
    return ok;
}

/* Says of a record that it cannot be used, by (status, message). */
static bool set_failed(struct bioinfer_record *r, PyObject *value, PyObject *keep)
{
    PyObject *message;
    return core_is_tuple("failed", value) && PyArg_ParseTuple(value, "iO", &r->status, &message) &&
           keep_text(&r->message, NULL, message, keep);
}

/* Sets what some task takes besides a sequence. */
static bool set_extra(struct bioinfer_record *r, const char *name, PyObject *value, PyObject *keep)
{
    if (!strcmp(name, "positions"))
        return set_positions(r, value, keep);
    if (!strcmp(name, "changes"))
        return set_changes(r, value, keep);
    if (!strcmp(name, "atoms"))
        return core_atoms_set(r, value, keep);
    if (!strcmp(name, "description"))
        return keep_text(&r->description, NULL, value, keep);
    if (!strcmp(name, "failed"))
        return set_failed(r, value, keep);
    if (!strcmp(name, "skip"))
        return (r->skip = PyObject_IsTrue(value)) >= 0;
    if (!strcmp(name, "target"))
        return keep_text(&r->target, &r->target_length, value, keep);
    if (!strcmp(name, "receptor"))
        return keep_text(&r->receptor, NULL, value, keep);
    if (!strcmp(name, "file"))
        return keep_text(&r->file, NULL, value, keep);
    if (!strcmp(name, "number") || !strcmp(name, "line")) {
        uint64_t number = PyLong_AsUnsignedLongLong(value);
        *(strcmp(name, "line") ? &r->number : &r->line) = number;
        return !PyErr_Occurred();
    }
    PyErr_Format(PyExc_TypeError, "a record has no '%s'", name);
    return false;
}

/* Fills record i from (id, sequence) or (id, sequence, {name: value}). */
static bool set_record(struct core_records *self, size_t i, PyObject *item, bool raw)
{
    struct bioinfer_record *r = &self->own[i];
    PyObject *id, *sequence, *extras = NULL, *key, *value;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(item, "OO|O!", &id, &sequence, &PyDict_Type, &extras) ||
        !set_texts(r, &self->texts[i], id, sequence, raw))
        return false;
    while (extras && PyDict_Next(extras, &at, &key, &value)) {
        PyObject *name = core_bytes(key);
        bool ok = name && set_extra(r, PyBytes_AsString(name), value, self->keep);
        Py_XDECREF(name);
        if (!ok)
            return false;
    }
    return true;
}

static struct core_records *records_alloc(struct core_context *context)
{
    struct core_records *self = core_alloc(core_records_type);
    if (self) {
        Py_INCREF(context);
        self->context = context;
    }
    return self;
}

/* Records(context, items, first_ordinal, raw) */
static PyObject *records_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct core_context *context;
    struct core_records *self;
    PyObject *items;
    unsigned long long first;
    int raw;
    (void)type;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!Kp", core_context_type, &context, &PyList_Type, &items, &first,
                          &raw) ||
        !(self = records_alloc(context)))
        return NULL;
    self->n = (size_t)PyList_Size(items);
    self->own = core_zalloc(self->n + 1, sizeof *self->own);
    self->texts = core_zalloc(self->n + 1, sizeof *self->texts);
    self->keep = PyList_New(0);
    self->records = self->own;
    if (!self->own || !self->texts || !self->keep) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    for (size_t i = 0; i < self->n; i++) {
        if (!set_record(self, i, PyList_GetItem(items, (Py_ssize_t)i), raw)) {
            Py_DECREF(self);
            return NULL;
        }
        self->own[i].ordinal = first + i;
    }
    return (PyObject *)self;
}

static void records_dealloc(PyObject *object)
{
    struct core_records *self = (struct core_records *)object;
    for (size_t i = 0; self->texts && i < self->n; i++)
        PyMem_Free(self->texts[i]);
    PyMem_Free(self->texts);
    PyMem_Free(self->own);
    bioinfer_records_free(&self->block);
    Py_XDECREF(self->keep);
    Py_XDECREF(self->context);
    core_free(object);
}

static Py_ssize_t records_length(PyObject *object)
{
    return (Py_ssize_t)((struct core_records *)object)->n;
}

/* take(first, residues) -> n: how many records from `first` on have so many residues; at least 1 */
static PyObject *records_take(PyObject *object, PyObject *args)
{
    struct core_records *self = (struct core_records *)object;
    unsigned long long first, residues, n = 0, sum = 0;
    if (!PyArg_ParseTuple(args, "KK", &first, &residues))
        return NULL;
    for (; first + n < self->n; n++) {
        const struct bioinfer_record *r = &self->records[first + n];
        sum += r->atoms ? r->atoms->n : r->length;
        if (n && sum > residues)
            break;
    }
    return PyLong_FromUnsignedLongLong(n);
}

/* describe(i) -> (id, description, length, status, message) */
static PyObject *records_describe(PyObject *object, PyObject *index)
{
    struct core_records *self = (struct core_records *)object;
    size_t i = PyLong_AsSize_t(index);
    const struct bioinfer_record *r;
    if (PyErr_Occurred())
        return NULL;
    if (i >= self->n) {
        PyErr_SetString(PyExc_IndexError, "no such record");
        return NULL;
    }
    r = &self->records[i];
    return Py_BuildValue("(NNnsi)", core_text(r->id), core_text(r->description),
                         (Py_ssize_t)r->length, r->message ? r->message : "", r->status);
}

/* sequence(i) -> bytes */
static PyObject *records_sequence(PyObject *object, PyObject *index)
{
    struct core_records *self = (struct core_records *)object;
    size_t i = PyLong_AsSize_t(index);
    if (PyErr_Occurred())
        return NULL;
    if (i >= self->n) {
        PyErr_SetString(PyExc_IndexError, "no such record");
        return NULL;
    }
    return PyBytes_FromStringAndSize(self->records[i].sequence,
                                     (Py_ssize_t)self->records[i].length);
}

static PyMethodDef records_methods[] = {
    {"take", records_take, METH_VARARGS, NULL},
    {"describe", records_describe, METH_O, NULL},
    {"sequence", records_sequence, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

PyObject *core_records_make(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)records_new},
        {Py_tp_dealloc, (void *)records_dealloc},
        {Py_sq_length, (void *)records_length},
        {Py_tp_methods, records_methods},
        {0, NULL},
    };
    static PyType_Spec spec = {"bioinfer._core.Records", sizeof(struct core_records), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    PyObject *type = PyType_FromSpec(&spec);
    core_records_type = (PyTypeObject *)type;
    return type;
}

/* ---- files -------------------------------------------------------------------- */

struct core_reader {
    PyObject ob_base;
    struct core_context *context;
    bioinfer_reader *reader;
    bool busy; /* a thread reads without the lock */
};

/* Reader(context, path, residues, n_threads): residues of enum bioinfer_residue_policy. */
static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct bioinfer_reader_params params = BIOINFER_PARAMS(struct bioinfer_reader_params);
    struct bioinfer_error err = {0};
    struct core_context *context;
    struct core_reader *self;
    PyObject *path = NULL;
    bioinfer_reader *reader = NULL;
    const char *name;
    int st;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O&ii", core_context_type, &context, core_path, &path,
                          &params.residues, &params.n_threads))
        return NULL;
    name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS;
    st = bioinfer_reader_open(&reader, context->context, name, &params, &err);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    if (st)
        return core_raise(st, &err);
    if (!(self = core_alloc(type))) {
        bioinfer_reader_close(&reader);
        return NULL;
    }
    Py_INCREF(context);
    self->context = context;
    self->reader = reader;
    return (PyObject *)self;
}

static void reader_dealloc(PyObject *object)
{
    struct core_reader *self = (struct core_reader *)object;
    if (self->context && self->context->pid == getpid()) {
        Py_BEGIN_ALLOW_THREADS;
        bioinfer_reader_close(&self->reader);
        Py_END_ALLOW_THREADS;
    }
    Py_XDECREF(self->context);
    core_free(object);
}

/* next() -> Records, or None at the end */
static PyObject *reader_next(PyObject *object, PyObject *unused)
{
    struct core_reader *self = (struct core_reader *)object;
    struct bioinfer_records *block = NULL;
    struct bioinfer_error err = {0};
    struct core_records *records;
    int st;
    (void)unused;
    if (self->busy) {
        snprintf(err.text, sizeof err.text, "reader: another thread is reading");
        return core_raise(BIOINFER_MISUSE, &err);
    }
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS;
    st = bioinfer_reader_next_many(self->reader, &block, &err);
    Py_END_ALLOW_THREADS;
    self->busy = false;
    if (st < 0)
        return core_raise(st, &err);
    if (st == 0)
        Py_RETURN_NONE;
    if (!(records = records_alloc(self->context))) {
        bioinfer_records_free(&block);
        return NULL;
    }
    records->block = block;
    records->records = block->records;
    records->n = block->n_records;
    return (PyObject *)records;
}

static PyMethodDef reader_methods[] = {
    {"next", reader_next, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyObject *core_reader_make(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)reader_new},
        {Py_tp_dealloc, (void *)reader_dealloc},
        {Py_tp_methods, reader_methods},
        {0, NULL},
    };
    static PyType_Spec spec = {"bioinfer._core.Reader", sizeof(struct core_reader), 0,
                               Py_TPFLAGS_DEFAULT, slots};
    return PyType_FromSpec(&spec);
}

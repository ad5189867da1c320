/* core.h - what the files of the extension module bioinfer._core share.
 *
 * The module is a thin layer: it turns Python values into the structs of bioinfer.h and results
 * into tuples, and lets go of the interpreter lock while the library runs. What users see is
 * written in Python, in python/bioinfer. It keeps to the limited API, so one file serves all
 * releases of CPython from 3.9 on. */
#ifndef PYTHON_CORE_H
#define PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#include <Python.h>

#include <stdbool.h>
#include <sys/types.h>

#include "../../include/bioinfer.h"

#define CORE_COUNT(array) (sizeof(array) / sizeof *(array))

struct core_context {
    PyObject ob_base;
    bioinfer_context *context;
    PyObject *log; /* called with (level, text); NULL = silent */
    pid_t pid;     /* the process that made it */
};

struct core_model {
    PyObject ob_base;
    bioinfer_model *model;
    struct core_context *context;
};

struct core_genome {
    PyObject ob_base;
    bioinfer_genome *genome;
    struct core_context *context;
};

/* Records in memory that a task can take, from one of two places. */
struct core_records {
    PyObject ob_base;
    struct core_context *context;
    struct bioinfer_records *block; /* a reader's, or */
    struct bioinfer_record *own;    /* n, made from Python values, */
    char **texts;                   /* blocks of memory with their texts, n */
    PyObject *keep;                 /* list of what they point to besides */
    const struct bioinfer_record *records;
    size_t n;
};

/* A file of results that is being written. */
struct core_writer {
    PyObject ob_base;
    bioinfer_writer *writer; /* NULL = closed */
    struct core_context *context;
};

extern PyTypeObject *core_writer_type;
extern PyTypeObject *core_context_type, *core_model_type, *core_records_type, *core_genome_type;
/* Each makes one type of the module, once, and sets its variable above where it has one: a new
 * reference, or NULL with an exception set. That of contexts is made first. */
PyObject *core_context_make(void);
PyObject *core_model_make(void);
PyObject *core_task_make(void);
PyObject *core_records_make(void);
PyObject *core_reader_make(void);
PyObject *core_ligands_make(void);
PyObject *core_frames_make(void);
PyObject *core_genome_make(void);
PyObject *core_places_make(void);
PyObject *core_writer_make(void);

/* Makes an object of zeros of a type of this module; NULL with an exception set. */
void *core_alloc(PyTypeObject *type);
/* Frees the memory of one, and lets go of its type: the last call of its dealloc. */
void core_free(PyObject *object);
/* Gives n zeroed elements, at least 1, for PyMem_Free(); NULL, without an exception, where there is
 * no memory or the size overflows. PyMem_Calloc() is not in the headers of 3.9's limited API. */
void *core_zalloc(size_t n, size_t size);
/* Sets the exception of a status (its class is told by bioinfer._errors, before that RuntimeError)
 * and returns NULL. Its words are those of err, or, where that is NULL or empty, the status's. An
 * exception that is set already stays. */
PyObject *core_raise(int status, const struct bioinfer_error *err);
/* Gives str or bytes as bytes, str in UTF-8 with bytes of the file system kept: a new reference, of
 * bytes to the same object. NULL with an exception set: it is something else, or a str that UTF-8
 * cannot hold. NUL bytes stay. */
PyObject *core_bytes(PyObject *text);
/* A converter of PyArg_ParseTuple() ("O&") from a path to a new reference of bytes, as core_bytes()
 * gives them, without a NUL inside: ValueError. *bytes is NULL before, and after a failure of any
 * argument. */
int core_path(PyObject *path, void *bytes);
/* Whether a value is a tuple, which PyArg_ParseTuple() needs; false with TypeError set. */
bool core_is_tuple(const char *name, PyObject *value);
/* Gives text of the library as str, with bytes that are no UTF-8 as core_bytes() takes them back;
 * NULL gives None. A new reference, or NULL with an exception set. */
PyObject *core_text(const char *text);
/* Appends text to a list of str: a `write` of bioinfer_file_info(), called without the lock, whose
 * user is a struct core_writing. */
struct core_writing {
    PyObject *parts;
    PyThreadState *state;
};
/* 0, or CANCELLED with an exception set. The lock is held meanwhile, and `state` renewed; bytes
 * that are no UTF-8 are kept as core_text() keeps them. */
int core_write(void *user, const char *text, size_t length);

/* ---- params.c ---- */

struct core_field {
    const char *name;
    enum { CORE_INT, CORE_INT64, CORE_TEXT, CORE_TEXTS } kind;
    size_t offset, count_offset; /* lists: where the int is that counts them */
};

struct core_params {
    const char *name;
    size_t size;
    const struct core_field *fields; /* ends with a NULL name */
};

/* Makes a parameter struct of what the dict says: new memory for PyMem_Free(). What it points to is
 * appended to the list `keep`, which must live as long. None and an empty list mean the default.
 * NULL with an exception set: TypeError of an unknown name, and what a value of a wrong kind gives;
 * `keep` may have grown. */
void *core_params_new(const struct core_params *def, PyObject *dict, PyObject *keep);

extern const struct core_params core_model_params, core_context_params;

/* Makes parameters of a task that the library has a table of, from a dict of values by the
 * names of members; None is the default. The genome of variants is a Genome, which is appended to
 * the list `keep`, where that is not NULL. NULL without an exception: there is no table; with one:
 * TypeError of an unknown name, and the library's for a value. */
bioinfer_params *core_params_named(const char *task, PyObject *dict, PyObject *keep);
/* params_field(task, index) -> dict, None past the end */
PyObject *core_params_field(PyObject *module, PyObject *args);
/* params_check(task, params): raises what Task() would; nothing for a task without a table */
PyObject *core_params_check(PyObject *module, PyObject *args);

/* ---- atoms.c ---- */

/* Gives memory of zeros for n elements, n may be 0, that lives as long as the list `keep`. NULL
 * with an exception set. */
void *core_kept(PyObject *keep, Py_ssize_t n, size_t size);
/* Fills a record with the atoms of a tuple: (numbers, positions, cell or None, periodic, charge or
 * None), of which the first three are bytes of int32 [n], float64 [n, 3] and float64 [3, 3], which
 * the list `keep` holds, and `periodic` has a bit for each vector of the cell. False with an
 * exception set: it is no such tuple (TypeError), or sizes do not fit each other (ValueError). */
bool core_atoms_set(struct bioinfer_record *r, PyObject *tuple, PyObject *keep);
/* Gives atoms as such a tuple, of bytes that are copies; None for NULL, of the cell, too. Of this
 * and all below: a new reference, or NULL with an exception set. */
PyObject *core_atoms_fixed(const struct bioinfer_atoms *atoms);
/* The same of bytearrays, for numpy.frombuffer(). */
PyObject *core_atoms_tuple(const struct bioinfer_atoms *atoms);

/* ---- nearest.c ---- */

/* nearest(context, queries, targets or None, k, metric, array or None, progress or None) -> (ids of
 * the queries, {place: id} of the targets that are hits, places, values): of each query bytes of
 * uint64 [k] and of float64 [k] */
PyObject *core_nearest(PyObject *module, PyObject *args);

/* ---- results.c ---- */

/* Gives n values of `size` bytes as a bytearray, a copy for numpy.frombuffer(); None for NULL. */
PyObject *core_values(const void *values, size_t n, size_t size);

/* Gives a result as a tuple of copies, also where it has a status; what it lacks is None, but of
 * arrays and texts empty. The layout is in python/bioinfer/_results.py. */
PyObject *core_result(const struct bioinfer_result *result);

#endif

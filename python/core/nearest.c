/* nearest.c - neighbours between two files of vectors as Python values. */
#include "core.h"

struct neighbours {
    PyObject *queries, *ids;     /* list of str, {place among the targets: str} */
    PyObject *ordinals, *values; /* lists of bytes, of each query: uint64 and float64 [k] */
    PyObject *progress;          /* None, or called with the share that is done */
    PyThreadState *state;
    uint64_t *places; /* [cap], as are the values beside it */
    double *numbers;
    uint64_t cap;
};

/* Keeps what was found for one query; false with an exception set. */
static bool keep(struct neighbours *s, const char *query, const struct bioinfer_neighbour *hits,
                 uint64_t n)
{
    PyObject *parts[3] = {core_text(query)};
    bool ok = parts[0] && !PyErr_CheckSignals();
    if (n > s->cap) {
        PyMem_Free(s->places);
        PyMem_Free(s->numbers);
        s->places = core_zalloc(n, sizeof *s->places);
        s->numbers = core_zalloc(n, sizeof *s->numbers);
        s->cap = s->places && s->numbers ? n : 0;
        if (!s->cap && !PyErr_NoMemory())
            ok = false;
    }
    for (uint64_t i = 0; i < n && ok; i++) {
        PyObject *place = PyLong_FromUnsignedLongLong(hits[i].ordinal), *id = NULL;
        s->places[i] = hits[i].ordinal;
        s->numbers[i] = hits[i].value;
        ok = place != NULL;
        if (ok && !PyDict_GetItemWithError(s->ids, place))
            ok = !PyErr_Occurred() && (id = core_text(hits[i].id)) &&
                 !PyDict_SetItem(s->ids, place, id);
        Py_XDECREF(place);
        Py_XDECREF(id);
    }
    if (ok) {
        parts[1] = PyBytes_FromStringAndSize((const char *)s->places,
                                             (Py_ssize_t)(n * sizeof *s->places));
        parts[2] = PyBytes_FromStringAndSize((const char *)s->numbers,
                                             (Py_ssize_t)(n * sizeof *s->numbers));
        ok = parts[1] && parts[2] && !PyList_Append(s->queries, parts[0]) &&
             !PyList_Append(s->ordinals, parts[1]) && !PyList_Append(s->values, parts[2]);
    }
    for (size_t i = 0; i < CORE_COUNT(parts); i++)
        Py_XDECREF(parts[i]);
    return ok;
}

static int take(void *user, const char *query, uint64_t ordinal,
                const struct bioinfer_neighbour *hits, uint64_t n)
{
    struct neighbours *s = user;
    bool ok;
    (void)ordinal;
    PyEval_RestoreThread(s->state);
    ok = keep(s, query, hits, n);
    s->state = PyEval_SaveThread();
    return ok ? 0 : BIOINFER_CANCELLED;
}

static int on_progress(void *user, double share)
{
    struct neighbours *s = user;
    PyObject *done = NULL;
    bool ok;
    PyEval_RestoreThread(s->state);
    ok = !PyErr_CheckSignals();
    if (ok && s->progress != Py_None) {
        done = PyObject_CallFunction(s->progress, "d", share);
        ok = done != NULL;
    }
    Py_XDECREF(done);
    s->state = PyEval_SaveThread();
    return ok ? 0 : BIOINFER_CANCELLED;
}

PyObject *core_nearest(PyObject *module, PyObject *args)
{
    struct neighbours s = {.queries = PyList_New(0),
                           .ids = PyDict_New(),
                           .ordinals = PyList_New(0),
                           .values = PyList_New(0)};
    struct bioinfer_nearest_params params = BIOINFER_PARAMS(struct bioinfer_nearest_params,
                                                            .progress = on_progress, .user = &s);
    struct bioinfer_error err = {0};
    struct core_context *context;
    PyObject *queries = NULL, *targets = NULL, *second, *found = NULL;
    long long k;
    int st;
    (void)module;
    if (s.queries && s.ids && s.ordinals && s.values &&
        PyArg_ParseTuple(args, "O!O&OLizO", core_context_type, &context, core_path, &queries,
                         &second, &k, &params.metric, &params.array, &s.progress) &&
        (second == Py_None || core_path(second, &targets))) {
        params.k = k;
        s.state = PyEval_SaveThread();
        st = bioinfer_file_nearest(context->context, PyBytes_AsString(queries),
                                   targets ? PyBytes_AsString(targets) : NULL, &params, take, &s,
                                   &err);
        PyEval_RestoreThread(s.state);
        if (st || PyErr_Occurred())
            found = core_raise(st, &err);
        else
            found = Py_BuildValue("(OOOO)", s.queries, s.ids, s.ordinals, s.values);
    }
    PyMem_Free(s.places);
    PyMem_Free(s.numbers);
    Py_XDECREF(queries);
    Py_XDECREF(targets);
    Py_XDECREF(s.queries);
    Py_XDECREF(s.ids);
    Py_XDECREF(s.ordinals);
    Py_XDECREF(s.values);
    return found;
}

/* pickle.c - Python pickles as data: a restricted unpickler for PyTorch checkpoints.
 *
 * A stack machine over bytes (protocols 2 to 5). Sections: limits and state · input ·
 * values · the stack · the memo · names and what they mean · storages and tensors ·
 * calls · opcodes · the loop.
 *
 * Refused: opcodes whose meaning needs an interpreter or a registry (EXT*, INST, OBJ,
 * PERSID, buffers) and the text forms of protocol 0. Sources: CPython pickletools.py,
 * PyTorch torch/_weights_only_unpickler.py, torch/_utils.py. */
#include "pickle.h"

#include <stdio.h>
#include <string.h>

#include "reader.h"

/* ---- limits and state ---- */

enum {
    MAX_STACK = 1000000,
    MAX_MARKS = 10000,
    MAX_MEMO = 1 << 24,
    MAX_OPCODES = 100000000,
    MAX_ITEMS = 100000000,
    MAX_LINE = 1024,
    INPUT_SIZE = 16384,
    MEMO_PAGE = 256,
    MAX_CHUNK = 1024,
    MAX_METADATA = 64, /* of a tensor: looked through for each */
};
#define BASE_MEMORY ((uint64_t)64 << 20)

struct machine {
    struct bi_pickle *p;
    const struct bi_env *env;
    struct bioinfer_error *err;
    /* input */
    const struct bi_file *file;
    uint64_t begin, end, at; /* at: next byte to take */
    uint64_t buffer_at;
    size_t buffered;
    uint64_t op_at; /* where the current opcode stands */
    /* stack */
    struct bi_pickle_value *stack;
    size_t depth, stack_cap;
    size_t *marks;
    size_t n_marks, mark_cap;
    /* memo: pages of MEMO_PAGE values */
    struct bi_pickle_value **pages;
    size_t n_pages, page_cap;
    size_t n_memo; /* entries set: the next index of MEMOIZE */
    uint64_t n_items;
    bool stopped;
    uint8_t buffer[INPUT_SIZE];
};

static int fail(struct machine *m, int status, const char *fmt, ...) BI_PRINTF(3, 4);
static int fail(struct machine *m, int status, const char *fmt, ...)
{
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return bi_fail(m->err, status, "%s: byte %llu: %s", m->p->label,
                   (unsigned long long)(m->op_at - m->begin), text);
}

static int no_memory(struct machine *m)
{
    return fail(m, BIOINFER_NOMEM, "no memory for values");
}

/* ---- input ---- */

/* A pointer to the next n <= INPUT_SIZE bytes, which are taken. NULL: *st says why. */
static const uint8_t *take(struct machine *m, size_t n, int *st)
{
    const uint8_t *p;
    if (n > m->end - m->at) {
        *st = fail(m, BIOINFER_FORMAT, "the pickle ends within an opcode");
        return NULL;
    }
    if (m->at < m->buffer_at || m->at + n > m->buffer_at + m->buffered) {
        uint64_t left = m->end - m->at;
        size_t want = left < INPUT_SIZE ? (size_t)left : INPUT_SIZE;
        m->buffered = 0;
        if ((*st = bi_file_read(m->file, m->at, m->buffer, want, m->err)))
            return NULL;
        m->buffer_at = m->at;
        m->buffered = want;
    }
    p = m->buffer + (m->at - m->buffer_at);
    m->at += n;
    return p;
}

static int take_bytes(struct machine *m, char *dst, size_t n)
{
    int st = 0;
    if (n <= INPUT_SIZE) {
        const uint8_t *p = take(m, n, &st);
        if (p)
            memcpy(dst, p, n);
        return st;
    }
    if (n > m->end - m->at)
        return fail(m, BIOINFER_FORMAT, "the pickle ends within an opcode");
    st = bi_file_read(m->file, m->at, dst, n, m->err);
    m->at += n;
    return st;
}

/* A line of GLOBAL without its '\n'. */
static int take_line(struct machine *m, char *dst, size_t *n)
{
    int st = 0;
    for (*n = 0;; ++*n) {
        const uint8_t *p = take(m, 1, &st);
        if (!p)
            return st;
        if (*p == '\n')
            break;
        if (*n == MAX_LINE)
            return fail(m, BIOINFER_LIMIT, "GLOBAL: a name longer than %d bytes",
                        MAX_LINE);
        dst[*n] = (char)*p;
    }
    return 0;
}

/* ---- values ---- */

/* Arena memory within the bound that makes a small pickle unable to use much. */
static void *new_memory(struct machine *m, size_t size, int *st)
{
    uint64_t read = m->p->n_read + (m->at - m->begin), used = m->p->arena.total_size;
    void *p;
    if (used > BASE_MEMORY + 16 * read || size > BASE_MEMORY + 16 * read - used) {
        *st = fail(m, BIOINFER_LIMIT,
                   "values take more than 64 MiB and 16 bytes for each byte");
        return NULL;
    }
    if (!(p = bi_arena_alloc(&m->p->arena, size)))
        *st = no_memory(m);
    return p;
}

static struct bi_pickle_value make(enum bi_pickle_type type)
{
    struct bi_pickle_value v;
    memset(&v, 0, sizeof v);
    v.type = type;
    return v;
}

static struct bi_pickle_value make_int(int64_t i)
{
    struct bi_pickle_value v = make(BI_PICKLE_INT);
    v.u.i = i;
    return v;
}

static struct bi_pickle_value make_bool(bool b)
{
    struct bi_pickle_value v = make(BI_PICKLE_BOOL);
    v.u.i = b;
    return v;
}

static struct bi_pickle_value make_opaque(const struct bi_pickle_symbol *symbol)
{
    struct bi_pickle_value v = make(BI_PICKLE_OPAQUE);
    v.u.symbol = symbol;
    return v;
}

static int new_list(struct machine *m, enum bi_pickle_type type,
                    struct bi_pickle_value *out)
{
    int st = 0;
    struct bi_pickle_list *list = new_memory(m, sizeof *list, &st);
    if (!list)
        return st;
    memset(list, 0, sizeof *list);
    *out = make(type);
    out->u.list = list;
    return 0;
}

/* Appends n values. Chunks have even sizes, so that pairs lie in one chunk. */
static int append(struct machine *m, struct bi_pickle_list *list,
                  const struct bi_pickle_value *values, size_t n, bool exact)
{
    int st = 0;
    if (n > MAX_ITEMS - m->n_items)
        return fail(m, BIOINFER_LIMIT, "more than %d items", MAX_ITEMS);
    m->n_items += n;
    list->n += n;
    while (n) {
        struct bi_pickle_chunk *c = list->last;
        size_t k;
        if (!c || c->n == c->cap) {
            size_t cap = exact                ? n
                         : !c                 ? 2
                         : c->cap < MAX_CHUNK ? 2 * c->cap
                                              : MAX_CHUNK;
            if (!(c = new_memory(m, sizeof *c + cap * sizeof *values, &st)))
                return st;
            c->next = NULL;
            c->n = 0;
            c->cap = cap;
            *(list->last ? &list->last->next : &list->first) = c;
            list->last = c;
        }
        k = n < c->cap - c->n ? n : c->cap - c->n;
        memcpy(c->items + c->n, values, k * sizeof *values);
        c->n += k;
        values += k;
        n -= k;
    }
    return 0;
}

static int new_tuple(struct machine *m, const struct bi_pickle_value *values, size_t n,
                     struct bi_pickle_value *out)
{
    int st = new_list(m, BI_PICKLE_TUPLE, out);
    return st ? st : append(m, out->u.list, values, n, true);
}

/* Items of a tuple as an array; NULL when empty. */
static const struct bi_pickle_value *items(const struct bi_pickle_value *tuple)
{
    return tuple->u.list->first ? tuple->u.list->first->items : NULL;
}

const struct bi_pickle_value *bi_pickle_next(struct bi_pickle_iter *it)
{
    while (it->chunk && it->i == it->chunk->n) {
        it->chunk = it->chunk->next;
        it->i = 0;
    }
    return it->chunk ? &it->chunk->items[it->i++] : NULL;
}

bool bi_pickle_is_text(const struct bi_pickle_value *v, const char *text)
{
    return (v->type == BI_PICKLE_STRING || v->type == BI_PICKLE_BYTES) &&
           v->u.text->n == strlen(text) && !memcmp(v->u.text->data, text, v->u.text->n);
}

const struct bi_pickle_value *bi_pickle_get(const struct bi_pickle_value *dict,
                                            const char *key)
{
    const struct bi_pickle_value *k, *v, *found = NULL;
    struct bi_pickle_iter it = {0};
    if (dict->type != BI_PICKLE_DICT && dict->type != BI_PICKLE_OBJECT)
        return NULL;
    it.chunk = dict->u.list->first;
    while ((k = bi_pickle_next(&it)) && (v = bi_pickle_next(&it)))
        if (bi_pickle_is_text(k, key))
            found = v;
    return found;
}

static const char *const type_names[] = {
    [BI_PICKLE_NONE] = "None",         [BI_PICKLE_BOOL] = "a bool",
    [BI_PICKLE_INT] = "an int",        [BI_PICKLE_FLOAT] = "a float",
    [BI_PICKLE_BIGINT] = "a big int",  [BI_PICKLE_STRING] = "a string",
    [BI_PICKLE_BYTES] = "bytes",       [BI_PICKLE_TUPLE] = "a tuple",
    [BI_PICKLE_LIST] = "a list",       [BI_PICKLE_SET] = "a set",
    [BI_PICKLE_DICT] = "a dict",       [BI_PICKLE_OBJECT] = "a Namespace",
    [BI_PICKLE_SYMBOL] = "a name",     [BI_PICKLE_DTYPE] = "a dtype",
    [BI_PICKLE_STORAGE] = "a storage", [BI_PICKLE_TENSOR] = "a tensor",
    [BI_PICKLE_OPAQUE] = "an object",
};

const char *bi_pickle_describe(const struct bi_pickle_value *v, char *buffer,
                               size_t size)
{
    if (v->type != BI_PICKLE_OPAQUE && v->type != BI_PICKLE_SYMBOL)
        return type_names[v->type];
    snprintf(buffer, size, "an unsupported Python %s %s",
             v->type == BI_PICKLE_OPAQUE ? "class" : "name",
             bi_quote(v->u.symbol->name, strlen(v->u.symbol->name)).text);
    return buffer;
}

/* ---- the stack ---- */

static int push(struct machine *m, struct bi_pickle_value v)
{
    if (m->depth == MAX_STACK)
        return fail(m, BIOINFER_LIMIT, "more than %d values on the stack", MAX_STACK);
    if (!bi_grow(m->env, &m->stack, &m->stack_cap, m->depth + 1, sizeof *m->stack))
        return no_memory(m);
    m->stack[m->depth++] = v;
    return 0;
}

/* Values above the last mark: only those may be taken. */
static size_t available(const struct machine *m)
{
    return m->depth - (m->n_marks ? m->marks[m->n_marks - 1] : 0);
}

static int need(struct machine *m, size_t n)
{
    if (available(m) < n)
        return fail(m, BIOINFER_FORMAT, "the stack has %zu of %zu values needed",
                    available(m), n);
    return 0;
}

static struct bi_pickle_value *top(struct machine *m, size_t below)
{
    return &m->stack[m->depth - 1 - below];
}

static int push_mark(struct machine *m)
{
    if (m->n_marks == MAX_MARKS)
        return fail(m, BIOINFER_LIMIT, "more than %d marks", MAX_MARKS);
    if (!bi_grow(m->env, &m->marks, &m->mark_cap, m->n_marks + 1, sizeof *m->marks))
        return no_memory(m);
    m->marks[m->n_marks++] = m->depth;
    return 0;
}

/* *n values lie above the last mark, from *values; the mark goes, the values stay. */
static int pop_mark(struct machine *m, const struct bi_pickle_value **values, size_t *n)
{
    if (!m->n_marks)
        return fail(m, BIOINFER_FORMAT, "no mark on the stack");
    m->n_marks--;
    *n = m->depth - m->marks[m->n_marks];
    *values = m->stack ? m->stack + m->marks[m->n_marks] : NULL;
    return 0;
}

/* ---- the memo ---- */

static int memo_put(struct machine *m, uint64_t i)
{
    size_t page = (size_t)(i / MEMO_PAGE);
    int st = need(m, 1);
    if (st)
        return st;
    if (i >= MAX_MEMO)
        return fail(m, BIOINFER_LIMIT, "memo index %llu, at most %d",
                    (unsigned long long)i, MAX_MEMO - 1);
    if (!bi_grow(m->env, &m->pages, &m->page_cap, page + 1, sizeof *m->pages))
        return no_memory(m);
    while (m->n_pages <= page)
        m->pages[m->n_pages++] = NULL;
    if (!m->pages[page]) {
        if (!(m->pages[page] =
                  new_memory(m, MEMO_PAGE * sizeof(struct bi_pickle_value), &st)))
            return st;
        for (size_t k = 0; k < MEMO_PAGE; k++)
            m->pages[page][k] = make(BI_PICKLE_UNSET);
    }
    m->n_memo += m->pages[page][i % MEMO_PAGE].type == BI_PICKLE_UNSET;
    m->pages[page][i % MEMO_PAGE] = *top(m, 0);
    return 0;
}

static int memo_get(struct machine *m, uint64_t i)
{
    size_t page = (size_t)(i / MEMO_PAGE);
    if (i / MEMO_PAGE >= m->n_pages || !m->pages[page] ||
        m->pages[page][i % MEMO_PAGE].type == BI_PICKLE_UNSET)
        return fail(m, BIOINFER_FORMAT, "memo entry %llu was never set",
                    (unsigned long long)i);
    return push(m, m->pages[page][i % MEMO_PAGE]);
}

/* ---- names and what they mean ---- */

enum meaning {
    ORDERED_DICT,
    DEFAULT_DICT,
    NAMESPACE,
    SET,
    LIST,
    TUPLE,
    DICT,
    BYTEARRAY,
    ENCODE,
    STORAGE,
    UNTYPED_STORAGE,
    QUANTISED,
    DTYPE,
    REBUILD,
    REBUILD_V2,
    REBUILD_V3,
    REBUILD_PARAMETER,
    REBUILD_FROM_TYPE,
    PARAMETER,
    KNOWN_OPAQUE /* on the list of harmless names, but nothing is made of it */
};

static const struct symbol {
    const char *name;
    enum meaning meaning;
    enum bi_dtype dtype;
} symbols[] = {
    {"collections.OrderedDict", ORDERED_DICT, 0},
    {"collections.defaultdict", DEFAULT_DICT, 0},
    {"collections.Counter", ORDERED_DICT, 0},
    {"argparse.Namespace", NAMESPACE, 0},
    {"types.SimpleNamespace", NAMESPACE, 0},
    {"builtins.set", SET, 0},
    {"builtins.frozenset", SET, 0},
    {"builtins.list", LIST, 0},
    {"builtins.tuple", TUPLE, 0},
    {"builtins.dict", DICT, 0},
    {"builtins.bytearray", BYTEARRAY, 0},
    {"builtins.bytes", BYTEARRAY, 0},
    {"_codecs.encode", ENCODE, 0},
    {"builtins.complex", KNOWN_OPAQUE, 0},
    {"torch.FloatStorage", STORAGE, BI_F32},
    {"torch.DoubleStorage", STORAGE, BI_F64},
    {"torch.HalfStorage", STORAGE, BI_F16},
    {"torch.BFloat16Storage", STORAGE, BI_BF16},
    {"torch.LongStorage", STORAGE, BI_I64},
    {"torch.IntStorage", STORAGE, BI_I32},
    {"torch.ShortStorage", STORAGE, BI_I16},
    {"torch.CharStorage", STORAGE, BI_I8},
    {"torch.ByteStorage", STORAGE, BI_U8},
    {"torch.BoolStorage", STORAGE, BI_BOOL},
    {"torch.ComplexFloatStorage", STORAGE, BI_C64},
    {"torch.ComplexDoubleStorage", STORAGE, BI_C128},
    {"torch.storage.UntypedStorage", UNTYPED_STORAGE, BI_U8},
    {"torch.UntypedStorage", UNTYPED_STORAGE, BI_U8},
    {"torch.QInt8Storage", QUANTISED, 0},
    {"torch.QUInt8Storage", QUANTISED, 0},
    {"torch.QInt32Storage", QUANTISED, 0},
    {"torch.QUInt4x2Storage", QUANTISED, 0},
    {"torch.QUInt2x4Storage", QUANTISED, 0},
    {"torch._utils._rebuild_tensor", REBUILD, 0},
    {"torch._utils._rebuild_tensor_v2", REBUILD_V2, 0},
    {"torch._utils._rebuild_tensor_v3", REBUILD_V3, 0},
    {"torch._utils._rebuild_parameter", REBUILD_PARAMETER, 0},
    {"torch._utils._rebuild_parameter_with_state", REBUILD_PARAMETER, 0},
    {"torch._tensor._rebuild_from_type_v2", REBUILD_FROM_TYPE, 0},
    {"torch.nn.parameter.Parameter", PARAMETER, 0},
    {"torch.Size", TUPLE, 0},
    {"torch.Tensor", KNOWN_OPAQUE, 0},
    {"torch.device", KNOWN_OPAQUE, 0},
    {"torch.serialization._get_layout", KNOWN_OPAQUE, 0},
    {"pathlib.PosixPath", KNOWN_OPAQUE, 0},
    {"pathlib.PurePosixPath", KNOWN_OPAQUE, 0},
    {"pathlib.WindowsPath", KNOWN_OPAQUE, 0},
    {"torch.float32", DTYPE, BI_F32},
    {"torch.float", DTYPE, BI_F32},
    {"torch.float64", DTYPE, BI_F64},
    {"torch.double", DTYPE, BI_F64},
    {"torch.float16", DTYPE, BI_F16},
    {"torch.half", DTYPE, BI_F16},
    {"torch.bfloat16", DTYPE, BI_BF16},
    {"torch.int64", DTYPE, BI_I64},
    {"torch.long", DTYPE, BI_I64},
    {"torch.int32", DTYPE, BI_I32},
    {"torch.int", DTYPE, BI_I32},
    {"torch.int16", DTYPE, BI_I16},
    {"torch.short", DTYPE, BI_I16},
    {"torch.int8", DTYPE, BI_I8},
    {"torch.uint8", DTYPE, BI_U8},
    {"torch.uint16", DTYPE, BI_U16},
    {"torch.uint32", DTYPE, BI_U32},
    {"torch.uint64", DTYPE, BI_U64},
    {"torch.bool", DTYPE, BI_BOOL},
    {"torch.complex64", DTYPE, BI_C64},
    {"torch.complex128", DTYPE, BI_C128},
    {"torch.float8_e4m3fn", DTYPE, BI_F8_E4M3},
    {"torch.float8_e5m2", DTYPE, BI_F8_E5M2},
    {"torch.float8_e4m3fnuz", DTYPE, BI_F8_E4M3FNUZ},
    {"torch.float8_e5m2fnuz", DTYPE, BI_F8_E5M2FNUZ},
    {"torch.float8_e8m0fnu", DTYPE, BI_F8_E8M0},
};

static const struct {
    const char *from, *to;
} renames[] = {{"__builtin__", "builtins"},
               {"copy_reg", "copyreg"},
               {"torch.tensor", "torch._tensor"},
               {"torch.cuda", "torch"}}; /* storages of a GPU; see push_symbol() */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
}

static int push_symbol(struct machine *m, const char *module, size_t module_len,
                       const char *name, size_t name_len)
{
    char text[2 * MAX_LINE + 2];
    struct bi_pickle_symbol *s;
    struct bi_pickle_value v = make(BI_PICKLE_SYMBOL);
    int st = 0;
    size_t n;
    if (memchr(module, '\0', module_len) || memchr(name, '\0', name_len))
        return fail(m, BIOINFER_FORMAT, "NUL in a name");
    for (size_t i = 0; i < BI_COUNT(renames); i++)
        if (strlen(renames[i].from) == module_len &&
            !memcmp(renames[i].from, module, module_len) &&
            (strcmp(renames[i].from, "torch.cuda") ||
             (name_len > 7 && !memcmp(name + name_len - 7, "Storage", 7)))) {
            module = renames[i].to;
            module_len = strlen(module);
            break;
        }
    memcpy(text, module, module_len);
    text[module_len] = '.';
    memcpy(text + module_len + 1, name, name_len);
    n = module_len + 1 + name_len;
    text[n] = '\0';
    size_t i = 0;
    while (i < BI_COUNT(symbols) && strcmp(symbols[i].name, text))
        i++;
    if (i == BI_COUNT(symbols) && m->p->strict)
        return fail(m, BIOINFER_UNSUPPORTED,
                    "Python name %s is not on the list (strict pickle)",
                    bi_quote(text, n).text);
    if (i < BI_COUNT(symbols) && symbols[i].meaning == DTYPE) {
        v = make(BI_PICKLE_DTYPE);
        v.u.dtype = symbols[i].dtype;
        return push(m, v);
    }
    if (!(s = new_memory(m, sizeof *s, &st)))
        return st;
    if (i < BI_COUNT(symbols)) {
        s->name = symbols[i].name;
        s->meaning = (int)i;
    } else {
        char *copy = new_memory(m, n + 1, &st);
        if (!copy)
            return st;
        memcpy(copy, text, n + 1);
        s->name = copy;
        s->meaning = -1;
    }
    v.u.symbol = s;
    return push(m, v);
}

/* ---- storages and tensors ---- */

struct bi_pickle_storage *bi_pickle_find_storage(const struct bi_pickle *p,
                                                 const char *key, size_t n)
{
    uint64_t at;
    return bi_map_find(&p->storages, key, n, &at)
               ? (struct bi_pickle_storage *)(uintptr_t)at
               : NULL;
}

static bool is_quantised(const struct bi_pickle_symbol *s)
{
    return s->meaning >= 0 && symbols[s->meaning].meaning == QUANTISED;
}

static int new_storage(struct machine *m, const struct symbol *s,
                       const struct bi_pickle_text *key, int64_t n,
                       struct bi_pickle_storage **out)
{
    struct bi_pickle_storage *t, *old = bi_pickle_find_storage(m->p, key->data, key->n);
    uint64_t bytes, size = bi_dtype_bits(s->dtype) / 8;
    int st = 0;
    if (old) {
        if (old->dtype != s->dtype || old->untyped != (s->meaning == UNTYPED_STORAGE) ||
            old->n != (uint64_t)n)
            return fail(m, BIOINFER_FORMAT,
                        "storage '%s' is described twice, differently",
                        bi_quote(key->data, key->n).text);
        *out = old;
        return 0;
    }
    if (!bi_mul_size((uint64_t)n, size, &bytes))
        return fail(m, BIOINFER_FORMAT, "storage '%s': size overflows 64 bits",
                    bi_quote(key->data, key->n).text);
    if (!(t = new_memory(m, sizeof *t, &st)))
        return st;
    memset(t, 0, sizeof *t);
    t->key = key->data;
    t->dtype = s->dtype;
    t->untyped = s->meaning == UNTYPED_STORAGE;
    t->n = (uint64_t)n;
    t->element_size = size;
    if (bi_map_add(&m->p->storages, key->data, key->n, (uint64_t)(uintptr_t)t, NULL) <
        0)
        return no_memory(m);
    *out = t;
    return 0;
}

/* ('storage', class, key, location, n[, view]) becomes a storage. */
static int persistent_id(struct machine *m)
{
    struct bi_pickle_storage *storage;
    const struct bi_pickle_value *id, *v;
    char buffer[160];
    size_t n;
    int st = need(m, 1);
    if (st)
        return st;
    id = top(m, 0);
    if (id->type != BI_PICKLE_TUPLE || !id->u.list->n)
        return fail(m, BIOINFER_FORMAT, "persistent id: expected a tuple, got %s",
                    bi_pickle_describe(id, buffer, sizeof buffer));
    n = id->u.list->n;
    v = items(id);
    if (bi_pickle_is_text(&v[0], "module"))
        return fail(m, BIOINFER_UNSUPPORTED,
                    "a whole pickled module with its source; "
                    "save its state_dict instead");
    if (!bi_pickle_is_text(&v[0], "storage"))
        return fail(m, BIOINFER_FORMAT, "persistent id: expected 'storage' first");
    if (n != 5 && !(m->p->legacy && n == 6))
        return fail(m, BIOINFER_FORMAT, "persistent id: expected %s members, got %zu",
                    m->p->legacy ? "5 or 6" : "5", n);
    if (v[1].type != BI_PICKLE_SYMBOL || v[1].u.symbol->meaning < 0)
        return fail(m, BIOINFER_UNSUPPORTED, "persistent id: storage class is %s",
                    bi_pickle_describe(&v[1], buffer, sizeof buffer));
    if (is_quantised(v[1].u.symbol))
        return fail(m, BIOINFER_UNSUPPORTED, "quantised tensors (%s) are not read",
                    v[1].u.symbol->name);
    if (!ends_with(v[1].u.symbol->name, "Storage"))
        return fail(m, BIOINFER_FORMAT, "persistent id: %s is no storage class",
                    v[1].u.symbol->name);
    if (v[2].type != BI_PICKLE_STRING || !v[2].u.text->n ||
        v[2].u.text->n > BI_MAX_NAME || memchr(v[2].u.text->data, '\0', v[2].u.text->n))
        return fail(m, BIOINFER_FORMAT,
                    "persistent id: expected a short string as key");
    if (v[4].type != BI_PICKLE_INT || v[4].u.i < 0)
        return fail(m, BIOINFER_FORMAT, "persistent id: expected a count of elements");
    if (n == 6 && v[5].type != BI_PICKLE_NONE)
        return fail(
            m, BIOINFER_UNSUPPORTED,
            "a storage that is a view of another one (a very old file; re-save it)");
    if ((st = new_storage(m, &symbols[v[1].u.symbol->meaning], v[2].u.text, v[4].u.i,
                          &storage)))
        return st;
    *top(m, 0) = make(BI_PICKLE_STORAGE);
    top(m, 0)->u.storage = storage;
    return 0;
}

/* A tuple of non-negative ints. */
static int read_dims(struct machine *m, const struct bi_pickle_value *v,
                     const char *what, uint64_t *out, int *rank)
{
    const struct bi_pickle_value *item;
    size_t n;
    if (v->type != BI_PICKLE_TUPLE && v->type != BI_PICKLE_LIST)
        return fail(m, BIOINFER_FORMAT, "tensor: expected a tuple as %s", what);
    if ((n = v->u.list->n) > BI_MAX_RANK)
        return fail(m, BIOINFER_LIMIT, "tensor: %zu dimensions, at most %d", n,
                    BI_MAX_RANK);
    struct bi_pickle_iter it = {.chunk = v->u.list->first};
    for (*rank = 0; (item = bi_pickle_next(&it)); ++*rank) {
        if (item->type != BI_PICKLE_INT || item->u.i < 0)
            return fail(m, BIOINFER_FORMAT, "tensor: %s: expected a whole number >= 0",
                        what);
        out[*rank] = (uint64_t)item->u.i;
    }
    return 0;
}

/* Does the view stay inside its storage? */
static int check_view(struct machine *m, const struct bi_pickle_tensor *t)
{
    uint64_t have =
        t->storage->n * t->storage->element_size / (bi_dtype_bits(t->dtype) / 8);
    uint64_t last = t->offset, n = 1, step;
    bool fits = true;
    for (int i = 0; i < t->rank; i++)
        if (!bi_mul_size(n, t->shape[i], &n))
            return fail(m, BIOINFER_FORMAT, "tensor: size overflows 64 bits");
    for (int i = 0; i < t->rank && n && fits; i++)
        fits = bi_mul_size(t->shape[i] - 1, t->stride[i], &step) &&
               bi_add_size(last, step, &last);
    if (n ? !fits || last >= have : t->offset > have)
        return fail(m, BIOINFER_FORMAT,
                    "tensor: its last element is %llu of a storage of %llu elements",
                    fits ? (unsigned long long)last : UINT64_MAX,
                    (unsigned long long)have);
    return 0;
}

/* storage, offset, size, stride [, requires_grad, hooks, ...] */
static int new_tensor(struct machine *m, const struct bi_pickle_value *v,
                      const enum bi_dtype *dtype, struct bi_pickle_value *out)
{
    struct bi_pickle_tensor t;
    int strides, st = 0;
    memset(&t, 0, sizeof t);
    if (v[0].type != BI_PICKLE_STORAGE)
        return fail(m, BIOINFER_FORMAT, "tensor: expected a storage first");
    t.storage = v[0].u.storage;
    if (t.storage->untyped && !dtype)
        return fail(m, BIOINFER_FORMAT, "tensor: an untyped storage without a dtype");
    t.dtype = dtype ? *dtype : t.storage->dtype;
    if (v[1].type != BI_PICKLE_INT || v[1].u.i < 0)
        return fail(m, BIOINFER_FORMAT, "tensor: offset: expected a whole number >= 0");
    t.offset = (uint64_t)v[1].u.i;
    if ((st = read_dims(m, &v[2], "size", t.shape, &t.rank)) ||
        (st = read_dims(m, &v[3], "stride", t.stride, &strides)))
        return st;
    if (strides != t.rank)
        return fail(m, BIOINFER_FORMAT, "tensor: %d sizes and %d strides", t.rank,
                    strides);
    if ((st = check_view(m, &t)))
        return st;
    *out = make(BI_PICKLE_TENSOR);
    if (!(out->u.tensor = new_memory(m, sizeof t, &st)))
        return st;
    *out->u.tensor = t;
    return 0;
}

static bool is_true(const struct bi_pickle_value *dict, const char *key)
{
    const struct bi_pickle_value *v = bi_pickle_get(dict, key);
    return v && (v->type == BI_PICKLE_BOOL || v->type == BI_PICKLE_INT) && v->u.i;
}

/* _rebuild_tensor*: checks the number of arguments, dtype and metadata. */
static int rebuild(struct machine *m, enum meaning meaning,
                   const struct bi_pickle_value *v, size_t n,
                   struct bi_pickle_value *out)
{
    size_t min = meaning == REBUILD ? 4 : meaning == REBUILD_V2 ? 6 : 7;
    size_t max = meaning == REBUILD ? 4 : min + 1;
    if (n < min || n > max)
        return fail(m, BIOINFER_FORMAT, "tensor: expected %zu arguments, got %zu", min,
                    n);
    if (n > min && v[min].type == BI_PICKLE_DICT && v[min].u.list->n > MAX_METADATA)
        return fail(m, BIOINFER_LIMIT, "tensor: %zu metadata items", v[min].u.list->n);
    if (n > min && v[min].type == BI_PICKLE_DICT &&
        (is_true(&v[min], "conj") || is_true(&v[min], "neg")))
        return fail(m, BIOINFER_UNSUPPORTED,
                    "tensor: stored as conjugate or negative view");
    if (meaning != REBUILD_V3)
        return new_tensor(m, v, NULL, out);
    if (v[6].type != BI_PICKLE_DTYPE)
        return fail(m, BIOINFER_FORMAT, "tensor: expected a dtype as argument 7");
    return new_tensor(m, v, &v[6].u.dtype, out);
}

/* ---- calls ---- */

/* A copy of the items of a list, tuple or set (or nothing) as another container. */
static int copy_container(struct machine *m, enum bi_pickle_type type,
                          const struct bi_pickle_value *v, size_t n,
                          const struct bi_pickle_symbol *s, struct bi_pickle_value *out)
{
    struct bi_pickle_iter it = {0};
    const struct bi_pickle_value *item;
    int st = new_list(m, type, out);
    if (st || !n)
        return st;
    if (n > 1 || (v->type != BI_PICKLE_TUPLE && v->type != BI_PICKLE_LIST &&
                  v->type != BI_PICKLE_SET)) {
        *out = make_opaque(s);
        return 0;
    }
    /* a tuple must lie in one chunk: gather on the stack, where memory is bounded */
    size_t start = m->depth;
    it.chunk = v->u.list->first;
    while (!st && (item = bi_pickle_next(&it)))
        st = push(m, *item);
    if (!st)
        st = append(m, out->u.list, m->stack + start, m->depth - start, true);
    m->depth = start;
    return st;
}

/* dict(), dict(list of pairs), dict(dict); anything else is opaque. */
static int copy_dict(struct machine *m, const struct bi_pickle_value *v, size_t n,
                     const struct bi_pickle_symbol *s, struct bi_pickle_value *out)
{
    struct bi_pickle_iter it = {0};
    const struct bi_pickle_value *item;
    int st = new_list(m, BI_PICKLE_DICT, out);
    if (st || !n)
        return st;
    if (n > 1 || (v->type != BI_PICKLE_LIST && v->type != BI_PICKLE_TUPLE &&
                  v->type != BI_PICKLE_DICT)) {
        *out = make_opaque(s);
        return 0;
    }
    it.chunk = v->u.list->first;
    while (!st && (item = bi_pickle_next(&it))) {
        if (v->type == BI_PICKLE_DICT) {
            st = append(m, out->u.list, item, 1, false);
        } else if ((item->type == BI_PICKLE_TUPLE) && item->u.list->n == 2) {
            st = append(m, out->u.list, items(item), 2, false);
        } else if (item->type == BI_PICKLE_LIST && item->u.list->n == 2 &&
                   item->u.list->first->n == 2) {
            st = append(m, out->u.list, item->u.list->first->items, 2, false);
        } else {
            return fail(m, BIOINFER_FORMAT, "dict: expected pairs");
        }
    }
    return st;
}

/* _codecs.encode(text, 'latin1'): every character is one byte. */
static int encode(struct machine *m, const struct bi_pickle_value *v, size_t n,
                  const struct bi_pickle_symbol *s, struct bi_pickle_value *out)
{
    const struct bi_pickle_text *from;
    struct bi_pickle_text *to;
    int st = 0;
    *out = make_opaque(s);
    if (n != 2 || v[0].type != BI_PICKLE_STRING || !bi_pickle_is_text(&v[1], "latin1"))
        return 0;
    from = v[0].u.text;
    if (!(to = new_memory(m, sizeof *to + from->n + 1, &st)))
        return st;
    to->n = 0;
    for (size_t i = 0; i < from->n; i++) {
        unsigned char c = (unsigned char)from->data[i];
        if (c >= 0xC2 && c <= 0xC3 && i + 1 < from->n)
            c = (unsigned char)((c & 3) << 6 | ((unsigned char)from->data[++i] & 63));
        else if (c >= 0x80)
            return fail(m, BIOINFER_FORMAT, "encode: a character above U+00FF");
        to->data[to->n++] = (char)c;
    }
    to->data[to->n] = '\0';
    *out = make(BI_PICKLE_BYTES);
    out->u.text = to;
    return 0;
}

/* What calling `callee` with the tuple `args` gives. */
static int call(struct machine *m, const struct bi_pickle_value *callee,
                const struct bi_pickle_value *args, struct bi_pickle_value *out)
{
    const struct bi_pickle_symbol *s = callee->u.symbol;
    const struct bi_pickle_value *v = items(args);
    size_t n = args->u.list->n;
    enum meaning meaning;
    *out = make_opaque(s);
    if (callee->type == BI_PICKLE_OPAQUE || s->meaning < 0)
        return 0;
    meaning = symbols[s->meaning].meaning;
    if (meaning == REBUILD_FROM_TYPE) { /* (func, type, args, state) = func(*args) */
        if (n != 4)
            return fail(m, BIOINFER_FORMAT, "tensor: expected 4 arguments, got %zu", n);
        if (v[0].type != BI_PICKLE_SYMBOL || v[0].u.symbol->meaning < 0 ||
            v[2].type != BI_PICKLE_TUPLE)
            return 0;
        s = v[0].u.symbol;
        meaning = symbols[s->meaning].meaning;
        if (meaning < REBUILD || meaning > REBUILD_PARAMETER)
            return 0;
        n = v[2].u.list->n;
        v = items(&v[2]);
    }
    switch (meaning) {
    case ORDERED_DICT:
    case DICT:
        return copy_dict(m, v, n, s, out);
    case DEFAULT_DICT: /* the first argument is a factory */
        return copy_dict(m, n ? v + 1 : v, n ? n - 1 : 0, s, out);
    case NAMESPACE:
        return new_list(m, BI_PICKLE_OBJECT, out);
    case SET:
        return copy_container(m, BI_PICKLE_SET, v, n, s, out);
    case LIST:
        return copy_container(m, BI_PICKLE_LIST, v, n, s, out);
    case TUPLE:
        return copy_container(m, BI_PICKLE_TUPLE, v, n, s, out);
    case BYTEARRAY:
        if (n && v[0].type == BI_PICKLE_BYTES)
            *out = v[0];
        return 0;
    case ENCODE:
        return encode(m, v, n, s, out);
    case REBUILD:
    case REBUILD_V2:
    case REBUILD_V3:
        return rebuild(m, meaning, v, n, out);
    case REBUILD_PARAMETER:
        if (n < 3 || n > 4)
            return fail(m, BIOINFER_FORMAT,
                        "parameter: expected 3 or 4 arguments, got %zu", n);
        *out = v[0];
        return 0;
    case PARAMETER:
        if (n)
            *out = v[0];
        return 0;
    default:
        return 0;
    }
}

/* REDUCE and NEWOBJ: callee, args -> result. `extra` values lie above (NEWOBJ_EX). */
static int reduce(struct machine *m, size_t extra)
{
    char buffer[160];
    struct bi_pickle_value out;
    int st = need(m, 2 + extra);
    if (st)
        return st;
    m->depth -= extra;
    if (top(m, 0)->type != BI_PICKLE_TUPLE)
        return fail(m, BIOINFER_FORMAT, "call: expected a tuple of arguments, got %s",
                    bi_pickle_describe(top(m, 0), buffer, sizeof buffer));
    if (top(m, 1)->type != BI_PICKLE_SYMBOL && top(m, 1)->type != BI_PICKLE_OPAQUE)
        return fail(m, BIOINFER_FORMAT, "call: expected a function or class, got %s",
                    bi_pickle_describe(top(m, 1), buffer, sizeof buffer));
    if ((st = call(m, top(m, 1), top(m, 0), &out)))
        return st;
    m->depth--;
    *top(m, 0) = out;
    return 0;
}

/* BUILD: object, state -> object. */
static int build(struct machine *m)
{
    char buffer[160];
    struct bi_pickle_value *object, state, tensor;
    int st = need(m, 2);
    if (st)
        return st;
    state = *top(m, 0);
    object = top(m, 1);
    m->depth--;
    switch (object->type) {
    case BI_PICKLE_OBJECT: {
        struct bi_pickle_iter it = {0};
        const struct bi_pickle_value *v;
        if (state.type != BI_PICKLE_DICT && state.type != BI_PICKLE_OBJECT)
            return fail(m, BIOINFER_FORMAT,
                        "BUILD: expected a dict of attributes, got %s",
                        bi_pickle_describe(&state, buffer, sizeof buffer));
        if (state.u.list == object->u.list)
            return 0;
        it.chunk = state.u.list->first;
        while (!st && (v = bi_pickle_next(&it)))
            st = append(m, object->u.list, v, 1, false);
        return st;
    }
    case BI_PICKLE_TENSOR: /* very old: tensor.set_(storage, offset, size, stride) */
        if (state.type != BI_PICKLE_TUPLE || state.u.list->n != 4 ||
            items(&state)[0].type != BI_PICKLE_STORAGE)
            return 0;
        if ((st = new_tensor(m, items(&state), NULL, &tensor)))
            return st;
        *object->u.tensor = *tensor.u.tensor;
        return 0;
    case BI_PICKLE_DICT:
    case BI_PICKLE_LIST:
    case BI_PICKLE_SET:
    case BI_PICKLE_OPAQUE:
        return 0; /* attributes of containers and unknown classes mean nothing here */
    default:
        return fail(m, BIOINFER_FORMAT, "BUILD on %s",
                    bi_pickle_describe(object, buffer, sizeof buffer));
    }
}

/* ---- opcodes ---- */

static int push_text(struct machine *m, enum bi_pickle_type type, uint64_t n)
{
    struct bi_pickle_text *text;
    struct bi_pickle_value v = make(type);
    int st = 0;
    if (n > m->end - m->at)
        return fail(m, BIOINFER_FORMAT, "%s of %llu bytes, %llu are left",
                    type_names[type], (unsigned long long)n,
                    (unsigned long long)(m->end - m->at));
    if (n > BI_MAX_TEXT)
        return fail(m, BIOINFER_LIMIT, "%s of %llu bytes, at most %d", type_names[type],
                    (unsigned long long)n, BI_MAX_TEXT);
    if (!(text = new_memory(m, sizeof *text + (size_t)n + 1, &st)) ||
        (st = take_bytes(m, text->data, (size_t)n)))
        return st;
    text->n = (size_t)n;
    text->data[n] = '\0';
    v.u.text = text;
    return push(m, v);
}

static int push_long(struct machine *m, uint64_t n)
{
    const uint8_t *p;
    uint64_t bits = 0;
    int st = 0;
    if (n > 8)
        return push_text(m, BI_PICKLE_BIGINT, n);
    if (!n)
        return push(m, make_int(0));
    if (!(p = take(m, (size_t)n, &st)))
        return st;
    if (p[n - 1] & 0x80)
        bits = UINT64_MAX;
    for (size_t i = (size_t)n; i-- > 0;)
        bits = bits << 8 | p[i];
    return push(m, make_int((int64_t)bits));
}

static int push_float(struct machine *m)
{
    struct bi_pickle_value v = make(BI_PICKLE_FLOAT);
    uint64_t bits = 0;
    int st = 0;
    const uint8_t *p = take(m, 8, &st);
    if (!p)
        return st;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i]; /* big-endian, alone in the format */
    memcpy(&v.u.f, &bits, sizeof bits);
    return push(m, v);
}

static int push_new_list(struct machine *m, enum bi_pickle_type type)
{
    struct bi_pickle_value v;
    int st = new_list(m, type, &v);
    return st ? st : push(m, v);
}

/* Replaces the n top values (or those above the mark) by a container of them. */
static int collect(struct machine *m, enum bi_pickle_type type,
                   const struct bi_pickle_value *values, size_t n)
{
    struct bi_pickle_value out;
    int st;
    if (type == BI_PICKLE_DICT && n % 2)
        return fail(m, BIOINFER_FORMAT, "a key without a value");
    if (type == BI_PICKLE_TUPLE)
        st = new_tuple(m, values, n, &out);
    else if (!(st = new_list(m, type, &out)))
        st = append(m, out.u.list, values, n, false);
    if (st)
        return st;
    m->depth -= n;
    return push(m, out);
}

static int collect_top(struct machine *m, size_t n)
{
    int st = need(m, n);
    return st ? st : collect(m, BI_PICKLE_TUPLE, m->stack + m->depth - n, n);
}

static int collect_mark(struct machine *m, enum bi_pickle_type type)
{
    const struct bi_pickle_value *values;
    size_t n;
    int st = pop_mark(m, &values, &n);
    return st ? st : collect(m, type, values, n);
}

/* APPEND(S), SETITEM(S), ADDITEMS: n values go into the container below them. */
static int add_items(struct machine *m, const struct bi_pickle_value *values, size_t n,
                     const char *op, enum bi_pickle_type type)
{
    char buffer[160];
    struct bi_pickle_value *target;
    int st;
    if (available(m) < n + 1)
        return fail(m, BIOINFER_FORMAT, "%s: no container on the stack", op);
    if (type == BI_PICKLE_DICT && n % 2)
        return fail(m, BIOINFER_FORMAT, "%s: a key without a value", op);
    target = top(m, n);
    if (target->type == type)
        st = append(m, target->u.list, values, n, false);
    else if (target->type == BI_PICKLE_OPAQUE)
        st = 0; /* a dict or list of an unknown class: its items are lost with it */
    else
        st = fail(m, BIOINFER_FORMAT, "%s: expected %s, got %s", op, type_names[type],
                  bi_pickle_describe(target, buffer, sizeof buffer));
    m->depth -= n;
    return st;
}

static int add_marked(struct machine *m, const char *op, enum bi_pickle_type type)
{
    const struct bi_pickle_value *values;
    size_t n;
    int st = pop_mark(m, &values, &n);
    return st ? st : add_items(m, values, n, op, type);
}

static int add_top(struct machine *m, size_t n, const char *op,
                   enum bi_pickle_type type)
{
    int st = need(m, n + 1);
    return st ? st : add_items(m, m->stack + m->depth - n, n, op, type);
}

static int global(struct machine *m)
{
    char module[MAX_LINE], name[MAX_LINE];
    size_t module_len, name_len;
    int st = take_line(m, module, &module_len);
    if (st || (st = take_line(m, name, &name_len)))
        return st;
    return push_symbol(m, module, module_len, name, name_len);
}

static int stack_global(struct machine *m)
{
    const struct bi_pickle_value *module, *name;
    int st = need(m, 2);
    if (st)
        return st;
    module = top(m, 1);
    name = top(m, 0);
    if (module->type != BI_PICKLE_STRING || name->type != BI_PICKLE_STRING ||
        module->u.text->n > MAX_LINE || name->u.text->n > MAX_LINE)
        return fail(m, BIOINFER_FORMAT, "STACK_GLOBAL: expected two short strings");
    m->depth -= 2;
    return push_symbol(m, module->u.text->data, module->u.text->n, name->u.text->data,
                       name->u.text->n);
}

static int frame(struct machine *m, uint64_t n)
{
    if (n > m->end - m->at)
        return fail(m, BIOINFER_FORMAT, "FRAME of %llu bytes, %llu are left",
                    (unsigned long long)n, (unsigned long long)(m->end - m->at));
    return 0;
}

static int pop(struct machine *m)
{
    /* Python's POP takes a mark when nothing lies above it */
    if (!available(m) && m->n_marks) {
        m->n_marks--;
        return 0;
    }
    int st = need(m, 1);
    m->depth -= !st;
    return st;
}

static int duplicate(struct machine *m)
{
    int st = need(m, 1);
    return st ? st : push(m, *top(m, 0));
}

static int signed_size(struct machine *m, uint32_t n, enum bi_pickle_type type)
{
    if (n > INT32_MAX)
        return fail(m, BIOINFER_FORMAT, "a negative length");
    return type == BI_PICKLE_BIGINT ? push_long(m, n) : push_text(m, type, n);
}

/* Bytes of argument that follow each opcode, before any data they announce. */
static size_t argument_size(uint8_t op)
{
    switch (op) {
    case 0x80:
    case 0x4B:
    case 0x8A:
    case 0x71:
    case 0x68:
    case 0x55:
    case 0x8C:
    case 0x43:
        return 1;
    case 0x4D:
        return 2;
    case 0x4A:
    case 0x58:
    case 0x72:
    case 0x6A:
    case 0x8B:
    case 0x54:
    case 0x42:
        return 4;
    case 0x8D:
    case 0x8E:
    case 0x96:
    case 0x95:
        return 8;
    default:
        return 0;
    }
}

static int refuse(struct machine *m, uint8_t op)
{
    static const struct {
        uint8_t op;
        const char *name;
    } known[] = {{0x82, "EXT1"},        {0x83, "EXT2"},
                 {0x84, "EXT4"},        {0x69, "INST"},
                 {0x6F, "OBJ"},         {0x50, "PERSID"},
                 {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
                 {0x49, "INT"},         {0x4C, "LONG"},
                 {0x46, "FLOAT"},       {0x53, "STRING"},
                 {0x56, "UNICODE"},     {0x67, "GET"},
                 {0x70, "PUT"}};
    for (size_t i = 0; i < BI_COUNT(known); i++)
        if (known[i].op == op)
            return fail(m, BIOINFER_UNSUPPORTED, "opcode %s is not read",
                        known[i].name);
    return fail(m, BIOINFER_FORMAT, "no opcode 0x%02X", op);
}

static int step(struct machine *m, uint8_t op)
{
    const uint8_t *p = NULL;
    const struct bi_pickle_value *values;
    size_t n = argument_size(op);
    uint64_t a = 0;
    int st = 0;
    if (n && !(p = take(m, n, &st)))
        return st;
    if (p)
        a = n == 1 ? p[0] : n == 2 ? bi_le16(p) : n == 4 ? bi_le32(p) : bi_le64(p);
    switch (op) {
    case '.':
        m->stopped = true;
        return 0;
    case '(':
        return push_mark(m);
    case '0':
        return pop(m);
    case '1': /* POP_MARK */
        if (!(st = pop_mark(m, &values, &n)))
            m->depth -= n;
        return st;
    case '2':
        return duplicate(m);
    case '}':
        return push_new_list(m, BI_PICKLE_DICT);
    case ']':
        return push_new_list(m, BI_PICKLE_LIST);
    case ')':
        return push_new_list(m, BI_PICKLE_TUPLE);
    case 0x8F:
        return push_new_list(m, BI_PICKLE_SET);
    case 'N':
        return push(m, make(BI_PICKLE_NONE));
    case 0x88:
    case 0x89:
        return push(m, make_bool(op == 0x88));
    case 'J':
        return push(m, make_int((int32_t)(uint32_t)a));
    case 'K':
    case 'M':
        return push(m, make_int((int64_t)a));
    case 0x8A:
        return push_long(m, a);
    case 0x8B:
        return signed_size(m, (uint32_t)a, BI_PICKLE_BIGINT);
    case 'G':
        return push_float(m);
    case 'X':
    case 0x8C:
    case 0x8D:
    case 'U': /* a Python 2 str: mostly text */
        return push_text(m, BI_PICKLE_STRING, a);
    case 'T':
        return signed_size(m, (uint32_t)a, BI_PICKLE_STRING);
    case 'C':
    case 'B':
    case 0x8E:
    case 0x96:
        return push_text(m, BI_PICKLE_BYTES, a);
    case 't':
        return collect_mark(m, BI_PICKLE_TUPLE);
    case 'l':
        return collect_mark(m, BI_PICKLE_LIST);
    case 'd':
        return collect_mark(m, BI_PICKLE_DICT);
    case 0x91:
        return collect_mark(m, BI_PICKLE_SET);
    case 0x85:
    case 0x86:
    case 0x87:
        return collect_top(m, (size_t)op - 0x84);
    case 'a':
        return add_top(m, 1, "APPEND", BI_PICKLE_LIST);
    case 'e':
        return add_marked(m, "APPENDS", BI_PICKLE_LIST);
    case 's':
        return add_top(m, 2, "SETITEM", BI_PICKLE_DICT);
    case 'u':
        return add_marked(m, "SETITEMS", BI_PICKLE_DICT);
    case 0x90:
        return add_marked(m, "ADDITEMS", BI_PICKLE_SET);
    case 'c':
        return global(m);
    case 0x93:
        return stack_global(m);
    case 'R':
    case 0x81:
        return reduce(m, 0);
    case 0x92:
        return reduce(m, 1);
    case 'b':
        return build(m);
    case 'Q':
        return persistent_id(m);
    case 'q':
    case 'r':
        return memo_put(m, a);
    case 'h':
    case 'j':
        return memo_get(m, a);
    case 0x94:
        return memo_put(m, m->n_memo);
    case 0x95:
        return frame(m, a);
    case 0x80:
        return fail(m, BIOINFER_FORMAT, "PROTO within a pickle");
    default:
        return refuse(m, op);
    }
}

/* ---- the loop ---- */

static int run(struct machine *m, struct bi_pickle_value *out)
{
    const uint8_t *p;
    uint64_t n_ops = 0;
    int st = 0;
    m->op_at = m->at;
    if (m->end - m->at < 2)
        return fail(m, BIOINFER_FORMAT, "a pickle of %llu bytes",
                    (unsigned long long)(m->end - m->at));
    if (!(p = take(m, 2, &st)))
        return st;
    if (p[0] != 0x80)
        return fail(m, BIOINFER_FORMAT, "expected PROTO first, got byte 0x%02X", p[0]);
    if (p[1] < 2 || p[1] > 5)
        return fail(m, BIOINFER_UNSUPPORTED, "pickle protocol %u, 2 to 5 are read",
                    p[1]);
    if (p[1] != 2)
        bi_log(m->env, BIOINFER_LOG_WARNING, "%s: pickle protocol %u, PyTorch writes 2",
               m->p->label, p[1]);
    while (!m->stopped) {
        m->op_at = m->at;
        if (++n_ops > MAX_OPCODES)
            return fail(m, BIOINFER_LIMIT, "more than %d opcodes", MAX_OPCODES);
        if (!(p = take(m, 1, &st)) || (st = step(m, *p)))
            return st;
    }
    if (m->n_marks)
        return fail(m, BIOINFER_FORMAT, "STOP with %zu marks left", m->n_marks);
    if (m->depth != 1)
        return fail(m, BIOINFER_FORMAT, "STOP with %zu values on the stack, expected 1",
                    m->depth);
    *out = *top(m, 0);
    return 0;
}

int bi_pickle_read(struct bi_pickle *p, const struct bi_file *file, uint64_t begin,
                   uint64_t end, uint64_t *stop, struct bi_pickle_value *out,
                   struct bioinfer_error *err)
{
    struct machine *m = bi_alloc(p->env, sizeof *m);
    int st;
    if (!m)
        return bi_fail(err, BIOINFER_NOMEM, "%s: unpickler", p->label);
    memset(m, 0, offsetof(struct machine, buffer));
    m->p = p;
    m->env = p->env;
    m->err = err;
    m->file = file;
    m->begin = m->at = begin;
    m->end = end;
    p->arena.env = p->env;
    p->storages.env = p->env;
    st = run(m, out);
    p->n_read += m->at - begin;
    *stop = m->at;
    bi_free(p->env, m->stack);
    bi_free(p->env, m->marks);
    bi_free(p->env, m->pages);
    bi_free(p->env, m);
    return st;
}

void bi_pickle_free(struct bi_pickle *p)
{
    if (p->arena.env)
        bi_arena_reset(&p->arena);
    if (p->storages.env)
        bi_map_free(&p->storages);
}

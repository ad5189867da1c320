/* pickle_names.c - what the names of a pickle mean: dtypes, storages, tensors and
 * calls.
 *
 * Sections: names and what they mean · values · storages and tensors · calls.
 * Sources: PyTorch torch/_weights_only_unpickler.py, torch/_utils.py. */
#include "pickle_machine.h"

#include <string.h>

#include "reader.h"

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
               {"torch.cuda", "torch"}}; /* storages of a GPU; see bi_pickle_push_symbol() */

int bi_pickle_push_symbol(struct bi_pickle_machine *m, const char *module, size_t module_len,
                          const char *name, size_t name_len)
{
    char text[2 * BI_PICKLE_MAX_LINE + 2];
    struct bi_pickle_symbol *s;
    struct bi_pickle_value v = bi_pickle_make(BI_PICKLE_SYMBOL);
    int st = 0;
    size_t n;
    if (memchr(module, '\0', module_len) || memchr(name, '\0', name_len))
        return bi_pickle_fail(m, BIOINFER_FORMAT, "NUL in a name");
    for (size_t i = 0; i < BI_COUNT(renames); i++)
        if (strlen(renames[i].from) == module_len && !memcmp(renames[i].from, module, module_len) &&
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
        return bi_pickle_fail(m, BIOINFER_UNSUPPORTED,
                              "Python name %s is not on the list (strict pickle)",
                              bi_quote(text, n).text);
    if (i < BI_COUNT(symbols) && symbols[i].meaning == DTYPE) {
        v = bi_pickle_make(BI_PICKLE_DTYPE);
        v.u.dtype = symbols[i].dtype;
        return bi_pickle_push(m, v);
    }
    if (!(s = bi_pickle_alloc(m, sizeof *s, &st)))
        return st;
    if (i < BI_COUNT(symbols)) {
        s->name = symbols[i].name;
        s->meaning = (int)i;
    } else {
        char *copy = bi_pickle_alloc(m, n + 1, &st);
        if (!copy)
            return st;
        memcpy(copy, text, n + 1);
        s->name = copy;
        s->meaning = -1;
    }
    v.u.symbol = s;
    return bi_pickle_push(m, v);
}

/* ---- values ---- */

static struct bi_pickle_value make_opaque(const struct bi_pickle_symbol *symbol)
{
    struct bi_pickle_value v = bi_pickle_make(BI_PICKLE_OPAQUE);
    v.u.symbol = symbol;
    return v;
}

/* Items of a tuple as an array; NULL when empty. */
static const struct bi_pickle_value *items(const struct bi_pickle_value *tuple)
{
    return tuple->u.list->first ? tuple->u.list->first->items : NULL;
}

/* ---- storages and tensors ---- */

struct bi_pickle_storage *bi_pickle_find_storage(const struct bi_pickle *p, const char *key,
                                                 size_t n)
{
    uint64_t at;
    return bi_map_find(&p->storages, key, n, &at) ? (struct bi_pickle_storage *)(uintptr_t)at
                                                  : NULL;
}

static bool is_quantised(const struct bi_pickle_symbol *s)
{
    return s->meaning >= 0 && symbols[s->meaning].meaning == QUANTISED;
}

static int new_storage(struct bi_pickle_machine *m, const struct symbol *s,
                       const struct bi_pickle_text *key, int64_t n, struct bi_pickle_storage **out)
{
    struct bi_pickle_storage *t, *old = bi_pickle_find_storage(m->p, key->data, key->n);
    uint64_t bytes, size = bi_dtype_bits(s->dtype) / 8;
    int st = 0;
    if (old) {
        if (old->dtype != s->dtype || old->untyped != (s->meaning == UNTYPED_STORAGE) ||
            old->n != (uint64_t)n)
            return bi_pickle_fail(m, BIOINFER_FORMAT,
                                  "storage '%s' is described twice, differently",
                                  bi_quote(key->data, key->n).text);
        *out = old;
        return 0;
    }
    if (!bi_mul_size((uint64_t)n, size, &bytes))
        return bi_pickle_fail(m, BIOINFER_FORMAT, "storage '%s': size overflows 64 bits",
                              bi_quote(key->data, key->n).text);
    if (!(t = bi_pickle_alloc(m, sizeof *t, &st)))
        return st;
    memset(t, 0, sizeof *t);
    t->key = key->data;
    t->dtype = s->dtype;
    t->untyped = s->meaning == UNTYPED_STORAGE;
    t->n = (uint64_t)n;
    t->element_size = size;
    if (bi_map_add(&m->p->storages, key->data, key->n, (uint64_t)(uintptr_t)t, NULL) < 0)
        return bi_pickle_no_memory(m);
    *out = t;
    return 0;
}

int bi_pickle_persistent_id(struct bi_pickle_machine *m)
{
    struct bi_pickle_storage *storage;
    const struct bi_pickle_value *id, *v;
    char buffer[160];
    size_t n;
    int st = bi_pickle_need(m, 1);
    if (st)
        return st;
    id = bi_pickle_top(m, 0);
    if (id->type != BI_PICKLE_TUPLE || !id->u.list->n)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "persistent id: expected a tuple, got %s",
                              bi_pickle_describe(id, buffer, sizeof buffer));
    n = id->u.list->n;
    v = items(id);
    if (bi_pickle_is_text(&v[0], "module"))
        return bi_pickle_fail(m, BIOINFER_UNSUPPORTED,
                              "a whole pickled module with its source; "
                              "save its state_dict instead");
    if (!bi_pickle_is_text(&v[0], "storage"))
        return bi_pickle_fail(m, BIOINFER_FORMAT, "persistent id: expected 'storage' first");
    if (n != 5 && !(m->p->legacy && n == 6))
        return bi_pickle_fail(m, BIOINFER_FORMAT, "persistent id: expected %s members, got %zu",
                              m->p->legacy ? "5 or 6" : "5", n);
    if (v[1].type != BI_PICKLE_SYMBOL || v[1].u.symbol->meaning < 0)
        return bi_pickle_fail(m, BIOINFER_UNSUPPORTED, "persistent id: storage class is %s",
                              bi_pickle_describe(&v[1], buffer, sizeof buffer));
    if (is_quantised(v[1].u.symbol))
        return bi_pickle_fail(m, BIOINFER_UNSUPPORTED, "quantised tensors (%s) are not read",
                              v[1].u.symbol->name);
    if (!bi_ends_with(v[1].u.symbol->name, "Storage"))
        return bi_pickle_fail(m, BIOINFER_FORMAT, "persistent id: %s is no storage class",
                              v[1].u.symbol->name);
    if (v[2].type != BI_PICKLE_STRING || !v[2].u.text->n || v[2].u.text->n > BI_MAX_NAME ||
        memchr(v[2].u.text->data, '\0', v[2].u.text->n))
        return bi_pickle_fail(m, BIOINFER_FORMAT, "persistent id: expected a short string as key");
    if (v[4].type != BI_PICKLE_INT || v[4].u.i < 0)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "persistent id: expected a count of elements");
    if (n == 6 && v[5].type != BI_PICKLE_NONE)
        return bi_pickle_fail(
            m, BIOINFER_UNSUPPORTED,
            "a storage that is a view of another one (a very old file; re-save it)");
    if ((st = new_storage(m, &symbols[v[1].u.symbol->meaning], v[2].u.text, v[4].u.i, &storage)))
        return st;
    *bi_pickle_top(m, 0) = bi_pickle_make(BI_PICKLE_STORAGE);
    bi_pickle_top(m, 0)->u.storage = storage;
    return 0;
}

/* A tuple of non-negative ints. */
static int read_dims(struct bi_pickle_machine *m, const struct bi_pickle_value *v, const char *what,
                     uint64_t *out, int *rank)
{
    const struct bi_pickle_value *item;
    size_t n;
    if (v->type != BI_PICKLE_TUPLE && v->type != BI_PICKLE_LIST)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "tensor: expected a tuple as %s", what);
    if ((n = v->u.list->n) > BI_MAX_RANK)
        return bi_pickle_fail(m, BIOINFER_LIMIT, "tensor: %zu dimensions, at most %d", n,
                              BI_MAX_RANK);
    struct bi_pickle_iter it = {.chunk = v->u.list->first};
    for (*rank = 0; (item = bi_pickle_next(&it)); ++*rank) {
        if (item->type != BI_PICKLE_INT || item->u.i < 0)
            return bi_pickle_fail(m, BIOINFER_FORMAT, "tensor: %s: expected a whole number >= 0",
                                  what);
        out[*rank] = (uint64_t)item->u.i;
    }
    return 0;
}

/* Does the view stay inside its storage? */
static int check_view(struct bi_pickle_machine *m, const struct bi_pickle_tensor *t)
{
    uint64_t have = t->storage->n * t->storage->element_size / (bi_dtype_bits(t->dtype) / 8);
    uint64_t last = t->offset, n = 1, step;
    bool fits = true;
    for (int i = 0; i < t->rank; i++)
        if (!bi_mul_size(n, t->shape[i], &n))
            return bi_pickle_fail(m, BIOINFER_FORMAT, "tensor: size overflows 64 bits");
    for (int i = 0; i < t->rank && n && fits; i++)
        fits = bi_mul_size(t->shape[i] - 1, t->stride[i], &step) && bi_add_size(last, step, &last);
    if (n ? !fits || last >= have : t->offset > have)
        return bi_pickle_fail(
            m, BIOINFER_FORMAT, "tensor: its last element is %llu of a storage of %llu elements",
            fits ? (unsigned long long)last : UINT64_MAX, (unsigned long long)have);
    return 0;
}

/* storage, offset, size, stride [, requires_grad, hooks, ...] */
static int new_tensor(struct bi_pickle_machine *m, const struct bi_pickle_value *v,
                      const enum bi_dtype *dtype, struct bi_pickle_value *out)
{
    struct bi_pickle_tensor t;
    int strides, st = 0;
    memset(&t, 0, sizeof t);
    if (v[0].type != BI_PICKLE_STORAGE)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "tensor: expected a storage first");
    t.storage = v[0].u.storage;
    if (t.storage->untyped && !dtype)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "tensor: an untyped storage without a dtype");
    t.dtype = dtype ? *dtype : t.storage->dtype;
    if (v[1].type != BI_PICKLE_INT || v[1].u.i < 0)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "tensor: offset: expected a whole number >= 0");
    t.offset = (uint64_t)v[1].u.i;
    if ((st = read_dims(m, &v[2], "size", t.shape, &t.rank)) ||
        (st = read_dims(m, &v[3], "stride", t.stride, &strides)))
        return st;
    if (strides != t.rank)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "tensor: %d sizes and %d strides", t.rank,
                              strides);
    if ((st = check_view(m, &t)))
        return st;
    *out = bi_pickle_make(BI_PICKLE_TENSOR);
    if (!(out->u.tensor = bi_pickle_alloc(m, sizeof t, &st)))
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
static int rebuild(struct bi_pickle_machine *m, enum meaning meaning,
                   const struct bi_pickle_value *v, size_t n, struct bi_pickle_value *out)
{
    size_t min = meaning == REBUILD ? 4 : meaning == REBUILD_V2 ? 6 : 7;
    size_t max = meaning == REBUILD ? 4 : min + 1;
    if (n < min || n > max)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "tensor: expected %zu arguments, got %zu", min,
                              n);
    if (n > min && v[min].type == BI_PICKLE_DICT && v[min].u.list->n > BI_PICKLE_MAX_METADATA)
        return bi_pickle_fail(m, BIOINFER_LIMIT, "tensor: %zu metadata items", v[min].u.list->n);
    if (n > min && v[min].type == BI_PICKLE_DICT &&
        (is_true(&v[min], "conj") || is_true(&v[min], "neg")))
        return bi_pickle_fail(m, BIOINFER_UNSUPPORTED,
                              "tensor: stored as conjugate or negative view");
    if (meaning != REBUILD_V3)
        return new_tensor(m, v, NULL, out);
    if (v[6].type != BI_PICKLE_DTYPE)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "tensor: expected a dtype as argument 7");
    return new_tensor(m, v, &v[6].u.dtype, out);
}

/* ---- calls ---- */

/* A copy of the items of a list, tuple or set (or nothing) as another container. */
static int copy_container(struct bi_pickle_machine *m, enum bi_pickle_type type,
                          const struct bi_pickle_value *v, size_t n,
                          const struct bi_pickle_symbol *s, struct bi_pickle_value *out)
{
    struct bi_pickle_iter it = {0};
    const struct bi_pickle_value *item;
    int st = bi_pickle_new_list(m, type, out);
    if (st || !n)
        return st;
    if (n > 1 ||
        (v->type != BI_PICKLE_TUPLE && v->type != BI_PICKLE_LIST && v->type != BI_PICKLE_SET)) {
        *out = make_opaque(s);
        return 0;
    }
    /* a tuple must lie in one chunk: gather on the stack, where memory is bounded */
    size_t start = m->depth;
    it.chunk = v->u.list->first;
    while (!st && (item = bi_pickle_next(&it)))
        st = bi_pickle_push(m, *item);
    if (!st)
        st = bi_pickle_append(m, out->u.list, m->stack + start, m->depth - start, true);
    m->depth = start;
    return st;
}

/* dict(), dict(list of pairs), dict(dict); anything else is opaque. */
static int copy_dict(struct bi_pickle_machine *m, const struct bi_pickle_value *v, size_t n,
                     const struct bi_pickle_symbol *s, struct bi_pickle_value *out)
{
    struct bi_pickle_iter it = {0};
    const struct bi_pickle_value *item;
    int st = bi_pickle_new_list(m, BI_PICKLE_DICT, out);
    if (st || !n)
        return st;
    if (n > 1 ||
        (v->type != BI_PICKLE_LIST && v->type != BI_PICKLE_TUPLE && v->type != BI_PICKLE_DICT)) {
        *out = make_opaque(s);
        return 0;
    }
    it.chunk = v->u.list->first;
    while (!st && (item = bi_pickle_next(&it))) {
        if (v->type == BI_PICKLE_DICT) {
            st = bi_pickle_append(m, out->u.list, item, 1, false);
        } else if ((item->type == BI_PICKLE_TUPLE) && item->u.list->n == 2) {
            st = bi_pickle_append(m, out->u.list, items(item), 2, false);
        } else if (item->type == BI_PICKLE_LIST && item->u.list->n == 2 &&
                   item->u.list->first->n == 2) {
            st = bi_pickle_append(m, out->u.list, item->u.list->first->items, 2, false);
        } else {
            return bi_pickle_fail(m, BIOINFER_FORMAT, "dict: expected pairs");
        }
    }
    return st;
}

/* _codecs.encode(text, 'latin1'): every character is one byte. */
static int encode(struct bi_pickle_machine *m, const struct bi_pickle_value *v, size_t n,
                  const struct bi_pickle_symbol *s, struct bi_pickle_value *out)
{
    const struct bi_pickle_text *from;
    struct bi_pickle_text *to;
    int st = 0;
    *out = make_opaque(s);
    if (n != 2 || v[0].type != BI_PICKLE_STRING || !bi_pickle_is_text(&v[1], "latin1"))
        return 0;
    from = v[0].u.text;
    if (!(to = bi_pickle_alloc(m, sizeof *to + from->n + 1, &st)))
        return st;
    to->n = 0;
    for (size_t i = 0; i < from->n; i++) {
        unsigned char c = (unsigned char)from->data[i];
        if (c >= 0xC2 && c <= 0xC3 && i + 1 < from->n)
            c = (unsigned char)((c & 3) << 6 | ((unsigned char)from->data[++i] & 63));
        else if (c >= 0x80)
            return bi_pickle_fail(m, BIOINFER_FORMAT, "encode: a character above U+00FF");
        to->data[to->n++] = (char)c;
    }
    to->data[to->n] = '\0';
    *out = bi_pickle_make(BI_PICKLE_BYTES);
    out->u.text = to;
    return 0;
}

/* Calls `callee` with the tuple `args`. */
static int call(struct bi_pickle_machine *m, const struct bi_pickle_value *callee,
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
            return bi_pickle_fail(m, BIOINFER_FORMAT, "tensor: expected 4 arguments, got %zu", n);
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
        return bi_pickle_new_list(m, BI_PICKLE_OBJECT, out);
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
            return bi_pickle_fail(m, BIOINFER_FORMAT,
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

int bi_pickle_reduce(struct bi_pickle_machine *m, size_t extra)
{
    char buffer[160];
    struct bi_pickle_value out;
    int st = bi_pickle_need(m, 2 + extra);
    if (st)
        return st;
    m->depth -= extra;
    if (bi_pickle_top(m, 0)->type != BI_PICKLE_TUPLE)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "call: expected a tuple of arguments, got %s",
                              bi_pickle_describe(bi_pickle_top(m, 0), buffer, sizeof buffer));
    if (bi_pickle_top(m, 1)->type != BI_PICKLE_SYMBOL &&
        bi_pickle_top(m, 1)->type != BI_PICKLE_OPAQUE)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "call: expected a function or class, got %s",
                              bi_pickle_describe(bi_pickle_top(m, 1), buffer, sizeof buffer));
    if ((st = call(m, bi_pickle_top(m, 1), bi_pickle_top(m, 0), &out)))
        return st;
    m->depth--;
    *bi_pickle_top(m, 0) = out;
    return 0;
}

int bi_pickle_build(struct bi_pickle_machine *m)
{
    char buffer[160];
    struct bi_pickle_value *object, state, tensor;
    int st = bi_pickle_need(m, 2);
    if (st)
        return st;
    state = *bi_pickle_top(m, 0);
    object = bi_pickle_top(m, 1);
    m->depth--;
    switch (object->type) {
    case BI_PICKLE_OBJECT: {
        struct bi_pickle_iter it = {0};
        const struct bi_pickle_value *v;
        if (state.type != BI_PICKLE_DICT && state.type != BI_PICKLE_OBJECT)
            return bi_pickle_fail(m, BIOINFER_FORMAT,
                                  "BUILD: expected a dict of attributes, got %s",
                                  bi_pickle_describe(&state, buffer, sizeof buffer));
        if (state.u.list == object->u.list)
            return 0;
        it.chunk = state.u.list->first;
        while (!st && (v = bi_pickle_next(&it)))
            st = bi_pickle_append(m, object->u.list, v, 1, false);
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
        return bi_pickle_fail(m, BIOINFER_FORMAT, "BUILD on %s",
                              bi_pickle_describe(object, buffer, sizeof buffer));
    }
}

/* pickle.c - Python pickles as data: a restricted unpickler for PyTorch checkpoints.
 *
 * A stack machine over bytes (protocols 2 to 5); what names, storages and calls mean is
 * in pickle_names.c. Sections: failures · input · values · the stack · the memo ·
 * opcodes · the loop.
 *
 * Refused: opcodes whose meaning needs an interpreter or a registry (EXT*, INST, OBJ,
 * PERSID, buffers) and the text forms of protocol 0. Sources: CPython pickletools.py,
 * PyTorch torch/_weights_only_unpickler.py. */
#include "pickle_machine.h"

#include <stdio.h>
#include <string.h>

#include "reader.h"

/* ---- failures ---- */

int bi_pickle_fail(struct bi_pickle_machine *m, int status, const char *fmt, ...)
{
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return bi_fail(m->err, status, "%s: byte %llu: %s", m->p->label,
                   (unsigned long long)(m->op_at - m->begin), text);
}

int bi_pickle_no_memory(struct bi_pickle_machine *m)
{
    return bi_pickle_fail(m, BIOINFER_NOMEM, "no memory for values");
}

/* ---- input ---- */

/* The next n <= BI_PICKLE_INPUT_SIZE bytes, which are taken. NULL: *st says why. */
static const uint8_t *take(struct bi_pickle_machine *m, size_t n, int *st)
{
    const uint8_t *p;
    if (n > m->end - m->at) {
        *st = bi_pickle_fail(m, BIOINFER_FORMAT, "the pickle ends within an opcode");
        return NULL;
    }
    if (m->at < m->buffer_at || m->at + n > m->buffer_at + m->buffered) {
        uint64_t left = m->end - m->at;
        size_t want = left < BI_PICKLE_INPUT_SIZE ? (size_t)left : BI_PICKLE_INPUT_SIZE;
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

static int take_bytes(struct bi_pickle_machine *m, char *dst, size_t n)
{
    int st = 0;
    if (n <= BI_PICKLE_INPUT_SIZE) {
        const uint8_t *p = take(m, n, &st);
        if (p)
            memcpy(dst, p, n);
        return st;
    }
    if (n > m->end - m->at)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "the pickle ends within an opcode");
    st = bi_file_read(m->file, m->at, dst, n, m->err);
    m->at += n;
    return st;
}

/* A line of GLOBAL without its '\n'. */
static int take_line(struct bi_pickle_machine *m, char *dst, size_t *n)
{
    int st = 0;
    for (*n = 0;; ++*n) {
        const uint8_t *p = take(m, 1, &st);
        if (!p)
            return st;
        if (*p == '\n')
            break;
        if (*n == BI_PICKLE_MAX_LINE)
            return bi_pickle_fail(m, BIOINFER_LIMIT, "GLOBAL: a name longer than %d bytes",
                                  BI_PICKLE_MAX_LINE);
        dst[*n] = (char)*p;
    }
    return 0;
}

/* ---- values ---- */

void *bi_pickle_alloc(struct bi_pickle_machine *m, size_t size, int *st)
{
    uint64_t read = m->p->n_read + (m->at - m->begin), used = m->p->arena.total_size;
    void *p;
    if (used > BI_PICKLE_BASE_MEMORY + 16 * read ||
        size > BI_PICKLE_BASE_MEMORY + 16 * read - used) {
        *st = bi_pickle_fail(m, BIOINFER_LIMIT,
                             "values take more than 64 MiB and 16 bytes for each byte");
        return NULL;
    }
    if (!(p = bi_arena_alloc(&m->p->arena, size)))
        *st = bi_pickle_no_memory(m);
    return p;
}

struct bi_pickle_value bi_pickle_make(enum bi_pickle_type type)
{
    struct bi_pickle_value v;
    memset(&v, 0, sizeof v);
    v.type = type;
    return v;
}

static struct bi_pickle_value make_int(int64_t i)
{
    struct bi_pickle_value v = bi_pickle_make(BI_PICKLE_INT);
    v.u.i = i;
    return v;
}

static struct bi_pickle_value make_bool(bool b)
{
    struct bi_pickle_value v = bi_pickle_make(BI_PICKLE_BOOL);
    v.u.i = b;
    return v;
}

int bi_pickle_new_list(struct bi_pickle_machine *m, enum bi_pickle_type type,
                       struct bi_pickle_value *out)
{
    int st = 0;
    struct bi_pickle_list *list = bi_pickle_alloc(m, sizeof *list, &st);
    if (!list)
        return st;
    memset(list, 0, sizeof *list);
    *out = bi_pickle_make(type);
    out->u.list = list;
    return 0;
}

/* Chunks have even sizes, so that pairs lie in one chunk. */
int bi_pickle_append(struct bi_pickle_machine *m, struct bi_pickle_list *list,
                     const struct bi_pickle_value *values, size_t n, bool exact)
{
    int st = 0;
    if (n > BI_PICKLE_MAX_ITEMS - m->n_items)
        return bi_pickle_fail(m, BIOINFER_LIMIT, "more than %d items", BI_PICKLE_MAX_ITEMS);
    m->n_items += n;
    list->n += n;
    while (n) {
        struct bi_pickle_chunk *c = list->last;
        size_t k;
        if (!c || c->n == c->cap) {
            size_t cap = exact                          ? n
                         : !c                           ? 2
                         : c->cap < BI_PICKLE_MAX_CHUNK ? 2 * c->cap
                                                        : BI_PICKLE_MAX_CHUNK;
            if (!(c = bi_pickle_alloc(m, sizeof *c + cap * sizeof *values, &st)))
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

static int new_tuple(struct bi_pickle_machine *m, const struct bi_pickle_value *values, size_t n,
                     struct bi_pickle_value *out)
{
    int st = bi_pickle_new_list(m, BI_PICKLE_TUPLE, out);
    return st ? st : bi_pickle_append(m, out->u.list, values, n, true);
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

const struct bi_pickle_value *bi_pickle_get(const struct bi_pickle_value *dict, const char *key)
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
    [BI_PICKLE_OPAQUE] = "an object",  [BI_PICKLE_UNSET] = "no value",
};

const char *bi_pickle_describe(const struct bi_pickle_value *v, char *buffer, size_t size)
{
    if (v->type != BI_PICKLE_OPAQUE && v->type != BI_PICKLE_SYMBOL)
        return type_names[v->type];
    snprintf(buffer, size, "an unsupported Python %s %s",
             v->type == BI_PICKLE_OPAQUE ? "class" : "name",
             bi_quote(v->u.symbol->name, strlen(v->u.symbol->name)).text);
    return buffer;
}

/* ---- the stack ---- */

int bi_pickle_push(struct bi_pickle_machine *m, struct bi_pickle_value v)
{
    if (m->depth == BI_PICKLE_MAX_STACK)
        return bi_pickle_fail(m, BIOINFER_LIMIT, "more than %d values on the stack",
                              BI_PICKLE_MAX_STACK);
    if (!bi_grow(m->env, &m->stack, &m->stack_cap, m->depth + 1, sizeof *m->stack))
        return bi_pickle_no_memory(m);
    m->stack[m->depth++] = v;
    return 0;
}

/* Values above the last mark: only those may be taken. */
static size_t available(const struct bi_pickle_machine *m)
{
    return m->depth - (m->n_marks ? m->marks[m->n_marks - 1] : 0);
}

int bi_pickle_need(struct bi_pickle_machine *m, size_t n)
{
    if (available(m) < n)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "the stack has %zu of %zu values needed",
                              available(m), n);
    return 0;
}

static int push_mark(struct bi_pickle_machine *m)
{
    if (m->n_marks == BI_PICKLE_MAX_MARKS)
        return bi_pickle_fail(m, BIOINFER_LIMIT, "more than %d marks", BI_PICKLE_MAX_MARKS);
    if (!bi_grow(m->env, &m->marks, &m->mark_cap, m->n_marks + 1, sizeof *m->marks))
        return bi_pickle_no_memory(m);
    m->marks[m->n_marks++] = m->depth;
    return 0;
}

/* *n values lie above the last mark, from *values; the mark goes, the values stay. */
static int pop_mark(struct bi_pickle_machine *m, const struct bi_pickle_value **values, size_t *n)
{
    if (!m->n_marks)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "no mark on the stack");
    m->n_marks--;
    *n = m->depth - m->marks[m->n_marks];
    *values = m->stack ? m->stack + m->marks[m->n_marks] : NULL;
    return 0;
}

/* ---- the memo ---- */

static int memo_put(struct bi_pickle_machine *m, uint64_t i)
{
    size_t page = (size_t)(i / BI_PICKLE_MEMO_PAGE);
    int st = bi_pickle_need(m, 1);
    if (st)
        return st;
    if (i >= BI_PICKLE_MAX_MEMO)
        return bi_pickle_fail(m, BIOINFER_LIMIT, "memo index %llu, at most %d",
                              (unsigned long long)i, BI_PICKLE_MAX_MEMO - 1);
    if (!bi_grow(m->env, &m->pages, &m->page_cap, page + 1, sizeof *m->pages))
        return bi_pickle_no_memory(m);
    while (m->n_pages <= page)
        m->pages[m->n_pages++] = NULL;
    if (!m->pages[page]) {
        if (!(m->pages[page] = bi_pickle_alloc(
                  m, BI_PICKLE_MEMO_PAGE * sizeof(struct bi_pickle_value), &st)))
            return st;
        for (size_t k = 0; k < BI_PICKLE_MEMO_PAGE; k++)
            m->pages[page][k] = bi_pickle_make(BI_PICKLE_UNSET);
    }
    m->n_memo += m->pages[page][i % BI_PICKLE_MEMO_PAGE].type == BI_PICKLE_UNSET;
    m->pages[page][i % BI_PICKLE_MEMO_PAGE] = *bi_pickle_top(m, 0);
    return 0;
}

static int memo_get(struct bi_pickle_machine *m, uint64_t i)
{
    size_t page = (size_t)(i / BI_PICKLE_MEMO_PAGE);
    if (i / BI_PICKLE_MEMO_PAGE >= m->n_pages || !m->pages[page] ||
        m->pages[page][i % BI_PICKLE_MEMO_PAGE].type == BI_PICKLE_UNSET)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "memo entry %llu was never set",
                              (unsigned long long)i);
    return bi_pickle_push(m, m->pages[page][i % BI_PICKLE_MEMO_PAGE]);
}

/* ---- opcodes ---- */

static int push_text(struct bi_pickle_machine *m, enum bi_pickle_type type, uint64_t n)
{
    struct bi_pickle_text *text;
    struct bi_pickle_value v = bi_pickle_make(type);
    int st = 0;
    if (n > m->end - m->at)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "%s of %llu bytes, %llu are left",
                              type_names[type], (unsigned long long)n,
                              (unsigned long long)(m->end - m->at));
    if (n > BI_MAX_TEXT)
        return bi_pickle_fail(m, BIOINFER_LIMIT, "%s of %llu bytes, at most %d", type_names[type],
                              (unsigned long long)n, BI_MAX_TEXT);
    if (!(text = bi_pickle_alloc(m, sizeof *text + (size_t)n + 1, &st)) ||
        (st = take_bytes(m, text->data, (size_t)n)))
        return st;
    text->n = (size_t)n;
    text->data[n] = '\0';
    v.u.text = text;
    return bi_pickle_push(m, v);
}

static int push_long(struct bi_pickle_machine *m, uint64_t n)
{
    const uint8_t *p;
    uint64_t bits = 0;
    int st = 0;
    if (n > 8)
        return push_text(m, BI_PICKLE_BIGINT, n);
    if (!n)
        return bi_pickle_push(m, make_int(0));
    if (!(p = take(m, (size_t)n, &st)))
        return st;
    if (p[n - 1] & 0x80)
        bits = UINT64_MAX;
    for (size_t i = (size_t)n; i-- > 0;)
        bits = bits << 8 | p[i];
    return bi_pickle_push(m, make_int((int64_t)bits));
}

static int push_float(struct bi_pickle_machine *m)
{
    struct bi_pickle_value v = bi_pickle_make(BI_PICKLE_FLOAT);
    uint64_t bits = 0;
    int st = 0;
    const uint8_t *p = take(m, 8, &st);
    if (!p)
        return st;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i]; /* big-endian, alone in the format */
    memcpy(&v.u.f, &bits, sizeof bits);
    return bi_pickle_push(m, v);
}

static int push_new_list(struct bi_pickle_machine *m, enum bi_pickle_type type)
{
    struct bi_pickle_value v;
    int st = bi_pickle_new_list(m, type, &v);
    return st ? st : bi_pickle_push(m, v);
}

/* Replaces the n top values (or those above the mark) by a container of them. */
static int collect(struct bi_pickle_machine *m, enum bi_pickle_type type,
                   const struct bi_pickle_value *values, size_t n)
{
    struct bi_pickle_value out;
    int st;
    if (type == BI_PICKLE_DICT && n % 2)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "a key without a value");
    if (type == BI_PICKLE_TUPLE)
        st = new_tuple(m, values, n, &out);
    else if (!(st = bi_pickle_new_list(m, type, &out)))
        st = bi_pickle_append(m, out.u.list, values, n, false);
    if (st)
        return st;
    m->depth -= n;
    return bi_pickle_push(m, out);
}

static int collect_top(struct bi_pickle_machine *m, size_t n)
{
    int st = bi_pickle_need(m, n);
    return st ? st : collect(m, BI_PICKLE_TUPLE, m->stack + m->depth - n, n);
}

static int collect_mark(struct bi_pickle_machine *m, enum bi_pickle_type type)
{
    const struct bi_pickle_value *values;
    size_t n;
    int st = pop_mark(m, &values, &n);
    return st ? st : collect(m, type, values, n);
}

/* APPEND(S), SETITEM(S), ADDITEMS: n values go into the container below them. */
static int add_items(struct bi_pickle_machine *m, const struct bi_pickle_value *values, size_t n,
                     const char *op, enum bi_pickle_type type)
{
    char buffer[160];
    struct bi_pickle_value *target;
    int st;
    if (available(m) < n + 1)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "%s: no container on the stack", op);
    if (type == BI_PICKLE_DICT && n % 2)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "%s: a key without a value", op);
    target = bi_pickle_top(m, n);
    if (target->type == type)
        st = bi_pickle_append(m, target->u.list, values, n, false);
    else if (target->type == BI_PICKLE_OPAQUE)
        st = 0; /* a dict or list of an unknown class: its items are lost with it */
    else
        st = bi_pickle_fail(m, BIOINFER_FORMAT, "%s: expected %s, got %s", op, type_names[type],
                            bi_pickle_describe(target, buffer, sizeof buffer));
    m->depth -= n;
    return st;
}

static int add_marked(struct bi_pickle_machine *m, const char *op, enum bi_pickle_type type)
{
    const struct bi_pickle_value *values;
    size_t n;
    int st = pop_mark(m, &values, &n);
    return st ? st : add_items(m, values, n, op, type);
}

static int add_top(struct bi_pickle_machine *m, size_t n, const char *op, enum bi_pickle_type type)
{
    int st = bi_pickle_need(m, n + 1);
    return st ? st : add_items(m, m->stack + m->depth - n, n, op, type);
}

static int global(struct bi_pickle_machine *m)
{
    char module[BI_PICKLE_MAX_LINE], name[BI_PICKLE_MAX_LINE];
    size_t module_len, name_len;
    int st = take_line(m, module, &module_len);
    if (st || (st = take_line(m, name, &name_len)))
        return st;
    return bi_pickle_push_symbol(m, module, module_len, name, name_len);
}

static int stack_global(struct bi_pickle_machine *m)
{
    const struct bi_pickle_value *module, *name;
    int st = bi_pickle_need(m, 2);
    if (st)
        return st;
    module = bi_pickle_top(m, 1);
    name = bi_pickle_top(m, 0);
    if (module->type != BI_PICKLE_STRING || name->type != BI_PICKLE_STRING ||
        module->u.text->n > BI_PICKLE_MAX_LINE || name->u.text->n > BI_PICKLE_MAX_LINE)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "STACK_GLOBAL: expected two short strings");
    m->depth -= 2;
    return bi_pickle_push_symbol(m, module->u.text->data, module->u.text->n, name->u.text->data,
                                 name->u.text->n);
}

static int frame(struct bi_pickle_machine *m, uint64_t n)
{
    if (n > m->end - m->at)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "FRAME of %llu bytes, %llu are left",
                              (unsigned long long)n, (unsigned long long)(m->end - m->at));
    return 0;
}

static int pop(struct bi_pickle_machine *m)
{
    /* Python's POP takes a mark when nothing lies above it */
    if (!available(m) && m->n_marks) {
        m->n_marks--;
        return 0;
    }
    int st = bi_pickle_need(m, 1);
    m->depth -= !st;
    return st;
}

static int duplicate(struct bi_pickle_machine *m)
{
    int st = bi_pickle_need(m, 1);
    return st ? st : bi_pickle_push(m, *bi_pickle_top(m, 0));
}

static int signed_size(struct bi_pickle_machine *m, uint32_t n, enum bi_pickle_type type)
{
    if (n > INT32_MAX)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "a negative length");
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

static int refuse(struct bi_pickle_machine *m, uint8_t op)
{
    static const struct {
        uint8_t op;
        const char *name;
    } known[] = {
        {0x82, "EXT1"},    {0x83, "EXT2"},   {0x84, "EXT4"},        {0x69, "INST"},
        {0x6F, "OBJ"},     {0x50, "PERSID"}, {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
        {0x49, "INT"},     {0x4C, "LONG"},   {0x46, "FLOAT"},       {0x53, "STRING"},
        {0x56, "UNICODE"}, {0x67, "GET"},    {0x70, "PUT"}};
    for (size_t i = 0; i < BI_COUNT(known); i++)
        if (known[i].op == op)
            return bi_pickle_fail(m, BIOINFER_UNSUPPORTED, "opcode %s is not read", known[i].name);
    return bi_pickle_fail(m, BIOINFER_FORMAT, "no opcode 0x%02X", op);
}

/* Opcodes that put a value on the stack; a: their argument. All others are refused. */
static int make_value(struct bi_pickle_machine *m, uint8_t op, uint64_t a)
{
    switch (op) {
    case '}':
        return push_new_list(m, BI_PICKLE_DICT);
    case ']':
        return push_new_list(m, BI_PICKLE_LIST);
    case ')':
        return push_new_list(m, BI_PICKLE_TUPLE);
    case 0x8F:
        return push_new_list(m, BI_PICKLE_SET);
    case 'N':
        return bi_pickle_push(m, bi_pickle_make(BI_PICKLE_NONE));
    case 0x88:
    case 0x89:
        return bi_pickle_push(m, make_bool(op == 0x88));
    case 'J':
        return bi_pickle_push(m, make_int((int32_t)(uint32_t)a));
    case 'K':
    case 'M':
        return bi_pickle_push(m, make_int((int64_t)a));
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
    default:
        return refuse(m, op);
    }
}

static int step(struct bi_pickle_machine *m, uint8_t op)
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
        return bi_pickle_reduce(m, 0);
    case 0x92:
        return bi_pickle_reduce(m, 1);
    case 'b':
        return bi_pickle_build(m);
    case 'Q':
        return bi_pickle_persistent_id(m);
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
        return bi_pickle_fail(m, BIOINFER_FORMAT, "PROTO within a pickle");
    default:
        return make_value(m, op, a);
    }
}

/* ---- the loop ---- */

static int run(struct bi_pickle_machine *m, struct bi_pickle_value *out)
{
    const uint8_t *p;
    uint64_t n_ops = 0;
    int st = 0;
    m->op_at = m->at;
    if (m->end - m->at < 2)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "a pickle of %llu bytes",
                              (unsigned long long)(m->end - m->at));
    if (!(p = take(m, 2, &st)))
        return st;
    if (p[0] != 0x80)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "expected PROTO first, got byte 0x%02X", p[0]);
    if (p[1] < 2 || p[1] > 5)
        return bi_pickle_fail(m, BIOINFER_UNSUPPORTED, "pickle protocol %u, 2 to 5 are read", p[1]);
    if (p[1] != 2)
        bi_log(m->env, BIOINFER_LOG_WARNING, "%s: pickle protocol %u, PyTorch writes 2",
               m->p->label, p[1]);
    while (!m->stopped) {
        m->op_at = m->at;
        if (++n_ops > BI_PICKLE_MAX_OPCODES)
            return bi_pickle_fail(m, BIOINFER_LIMIT, "more than %d opcodes", BI_PICKLE_MAX_OPCODES);
        if (!(p = take(m, 1, &st)) || (st = step(m, *p)))
            return st;
    }
    if (m->n_marks)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "STOP with %zu marks left", m->n_marks);
    if (m->depth != 1)
        return bi_pickle_fail(m, BIOINFER_FORMAT, "STOP with %zu values on the stack, expected 1",
                              m->depth);
    *out = *bi_pickle_top(m, 0);
    return 0;
}

int bi_pickle_read(struct bi_pickle *p, const struct bi_file *file, uint64_t begin, uint64_t end,
                   uint64_t *stop, struct bi_pickle_value *out, struct bioinfer_error *err)
{
    struct bi_pickle_machine *m = bi_alloc(p->env, sizeof *m);
    int st;
    if (!m)
        return bi_fail(err, BIOINFER_NOMEM, "%s: unpickler", p->label);
    memset(m, 0, offsetof(struct bi_pickle_machine, buffer));
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

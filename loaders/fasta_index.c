/* fasta_index.c - where records lie in a plain FASTA file; see fasta_index.h. */
#include "fasta_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/crc32c.h"
#include "../base/map.h"

enum { MOST_ENTRIES = 1 << 16, HEAD = 80, ENTRY = 24, MAX_FILE = HEAD + MOST_ENTRIES * ENTRY + 8 };
static const char magic[8] = "BFINDEX1";

uint64_t bi_record_hash(const struct bioinfer_record *r)
{
    uint64_t h = bi_hash(r->id, strlen(r->id), (uint64_t)-(unsigned)r->status);
    if (r->description)
        h = bi_hash(r->description, strlen(r->description), h);
    for (size_t i = 0; i < r->n_alignments; i++) {
        const char *text = r->alignments[i] ? r->alignments[i] : "";
        h = bi_hash(text, strlen(text) + 1, h);
    }
    return r->length ? bi_hash(r->sequence, r->length, h) : h;
}

uint64_t bi_record_chain(uint64_t before, uint64_t hash)
{
    return bi_hash(&hash, sizeof hash, before);
}

static char *path_of(const struct bi_env *env, const char *path, struct bioinfer_error *err)
{
    const size_t n = strlen(path) + sizeof ".bfi";
    char *name = bi_alloc(env, n);
    if (name)
        snprintf(name, n, "%s.bfi", path);
    else
        bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
    return name;
}

static uint64_t longest(const struct bioinfer_reader_params *params)
{
    return params && params->max_length ? params->max_length : BI_FASTA_MAX_LENGTH;
}

static int new_index(struct bioinfer_index **out, const struct bi_env *env, const char *path,
                     struct bioinfer_error *err)
{
    if (!(*out = bi_zalloc(env, sizeof **out)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: index", path);
    (*out)->env = env;
    (*out)->block = 1;
    return 0;
}

/* ---- making ---- */

/* Twice as many records in a block: every second entry goes. */
static void widen(struct bioinfer_index *x)
{
    x->block *= 2;
    x->n_entries = (x->n_entries + 1) / 2;
    for (size_t i = 1; i < x->n_entries; i++)
        x->entries[i] = x->entries[2 * i];
}

static int add_entry(struct bioinfer_index *x, const struct bi_fasta_entry *entry, const char *path,
                     struct bioinfer_error *err)
{
    if (x->n_entries == MOST_ENTRIES) {
        widen(x);
        if (x->n_records % x->block)
            return 0;
    }
    if (!bi_grow(x->env, &x->entries, &x->cap_entries, x->n_entries + 1, sizeof *x->entries))
        return bi_fail(err, BIOINFER_NOMEM, "%s: index", path);
    x->entries[x->n_entries++] = *entry;
    return 0;
}

/* Reads all records. */
static int read_all(struct bioinfer_index *x, struct bioinfer_reader *reader, const char *path,
                    struct bioinfer_error *err)
{
    struct bioinfer_record r = {0};
    int st;
    while ((st = bi_fasta_next(reader, &r, err)) == 1) {
        struct bi_fasta_entry entry = {.before = x->all};
        if (!bi_fasta_where(reader, &entry.offset, &entry.line))
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: only plain FASTA in a file can be indexed: not what is compressed, "
                           "not a pipe, not lines that end with CR alone",
                           path);
        if (!(x->n_records % x->block) && (st = add_entry(x, &entry, path, err)))
            return st;
        x->all = bi_record_chain(x->all, bi_record_hash(&r));
        x->n_records++;
    }
    return st;
}

int bi_fasta_index_make(struct bioinfer_index **out, const struct bi_env *env, const char *path,
                        const struct bioinfer_reader_params *params, struct bioinfer_error *err)
{
    struct bioinfer_reader_params alone = params ? *params : (struct bioinfer_reader_params){0};
    struct bi_file_facts before = {0}, after = {0};
    struct bioinfer_index *x = NULL;
    struct bioinfer_reader *reader = NULL;
    int st = new_index(&x, env, path, err);
    *out = NULL;
    alone.n_threads = 0; /* whose blocks do not say where each record lies */
    if (st || (st = bi_file_facts(&before, env, path, err)) ||
        (st = bi_fasta_open(&reader, env, path, &alone, err)) ||
        (st = read_all(x, reader, path, err)) || (st = bi_file_facts(&after, env, path, err)))
        goto out;
    if (before.size != after.size || before.mtime != after.mtime ||
        memcmp(before.hash, after.hash, sizeof before.hash)) {
        st = bi_fail(err, BIOINFER_MISMATCH, "%s: it changed while it was read", path);
        goto out;
    }
    x->size = after.size;
    memcpy(x->hash, after.hash, sizeof x->hash);
    x->residues = (uint64_t)alone.residues;
    x->max_length = longest(params);
    *out = x;
    x = NULL;
out:
    bi_fasta_close(&reader);
    bi_fasta_index_close(&x);
    return st;
}

static uint8_t *put(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        *p++ = (uint8_t)(v >> 8 * i);
    return p;
}

int bi_fasta_index_write(const struct bioinfer_index *x, const char *path,
                         struct bioinfer_error *err)
{
    const uint64_t head[] = {x->size, x->hash[0],  x->hash[1],    x->n_records, x->block,
                             x->all,  x->residues, x->max_length, x->n_entries};
    const size_t size = HEAD + x->n_entries * ENTRY;
    struct bi_out out = BI_OUT_NONE;
    char *name = path_of(x->env, path, err);
    uint8_t *bytes = bi_alloc(x->env, size + 8), *p = bytes;
    int st = 0;
    if (!name || !bytes) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: index", path);
        goto out;
    }
    memcpy(p, magic, sizeof magic);
    p += sizeof magic;
    for (size_t i = 0; i < BI_COUNT(head); i++)
        p = put(p, head[i]);
    for (size_t i = 0; i < x->n_entries; i++)
        p = put(put(put(p, x->entries[i].offset), x->entries[i].line), x->entries[i].before);
    put(p, bi_crc32c_best()(0, bytes, size));
    if (!(st = bi_out_open(&out, x->env, name, err)) &&
        !(st = bi_out_write(&out, bytes, size + 8, err)))
        st = bi_out_finish(&out, err);
out:
    bi_out_close(&out);
    bi_free(x->env, bytes);
    bi_free(x->env, name);
    return st;
}

/* ---- reading ---- */

/* Entries go up through the file, and there are as many as the records need. */
static bool is_sound(const struct bioinfer_index *x)
{
    const bool power = x->block && !(x->block & (x->block - 1)) && x->block <= (uint64_t)1 << 48;
    if (!power || !x->n_records || x->n_entries != (x->n_records - 1) / x->block + 1)
        return false;
    for (size_t i = 0; i < x->n_entries; i++) {
        const struct bi_fasta_entry *e = &x->entries[i];
        if (e->offset >= x->size || !e->line || e->line > x->size ||
            (i && (e->offset <= e[-1].offset || e->line <= e[-1].line)))
            return false;
    }
    return true;
}

int bi_fasta_index_parse(struct bioinfer_index **out, const struct bi_env *env, const char *path,
                         const void *bytes, size_t size, struct bioinfer_error *err)
{
    const uint8_t *p = bytes;
    struct bioinfer_index *x = NULL;
    uint64_t n;
    int st;
    *out = NULL;
    if (size < HEAD + 8 || size > MAX_FILE || memcmp(p, magic, sizeof magic) ||
        (n = bi_le64(p + HEAD - 8)) > MOST_ENTRIES || size != HEAD + n * ENTRY + 8 ||
        bi_le64(p + size - 8) != bi_crc32c_best()(0, p, size - 8))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s.bfi: this is no index, or it is damaged; make it again: "
                       "bioinfer index %s",
                       path, path);
    if ((st = new_index(&x, env, path, err)))
        return st;
    x->size = bi_le64(p + 8);
    x->hash[0] = bi_le64(p + 16);
    x->hash[1] = bi_le64(p + 24);
    x->n_records = bi_le64(p + 32);
    x->block = bi_le64(p + 40);
    x->all = bi_le64(p + 48);
    x->residues = bi_le64(p + 56);
    x->max_length = bi_le64(p + 64);
    x->n_entries = (size_t)n;
    if (!(x->entries = bi_calloc(env, x->n_entries + 1, sizeof *x->entries))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: index", path);
        goto out;
    }
    for (size_t i = 0; i < x->n_entries; i++)
        x->entries[i] = (struct bi_fasta_entry){bi_le64(p + HEAD + i * ENTRY),
                                                bi_le64(p + HEAD + i * ENTRY + 8),
                                                bi_le64(p + HEAD + i * ENTRY + 16)};
    if (!is_sound(x)) {
        st = bi_fail(err, BIOINFER_FORMAT,
                     "%s.bfi: the index contradicts itself; make it again: bioinfer index %s", path,
                     path);
        goto out;
    }
    *out = x;
    x = NULL;
out:
    bi_fasta_index_close(&x);
    return st;
}

int bi_fasta_index_open(struct bioinfer_index **out, const struct bi_env *env, const char *path,
                        const struct bioinfer_reader_params *params, struct bioinfer_error *err)
{
    struct bi_file_facts facts = {0};
    struct bioinfer_index *x = NULL;
    char *name = path_of(env, path, err), *bytes = NULL;
    size_t size = 0;
    int st;
    *out = NULL;
    if (!name)
        return BIOINFER_NOMEM;
    if ((st = bi_file_slurp(env, name, MAX_FILE, &bytes, &size, err)) ||
        (st = bi_fasta_index_parse(&x, env, path, bytes, size, err)) ||
        (st = bi_file_facts(&facts, env, path, err)))
        goto out;
    if (facts.size != x->size || memcmp(facts.hash, x->hash, sizeof facts.hash))
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: the file has changed since this index of it was made; make it again: "
                     "bioinfer index %s, or remove it",
                     name, path);
    else if (x->residues != (uint64_t)(params ? params->residues : 0) ||
             x->max_length != longest(params))
        st = bi_fail(err, BIOINFER_MISMATCH,
                     "%s: this index is of records that were read with other options (raw "
                     "residues, or another length at most)",
                     name);
    if (!st) {
        *out = x;
        x = NULL;
    }
out:
    bi_fasta_index_close(&x);
    bi_free(env, bytes);
    bi_free(env, name);
    return st;
}

void bi_fasta_index_close(struct bioinfer_index **index)
{
    struct bioinfer_index *x = *index;
    if (!x)
        return;
    bi_free(x->env, x->entries);
    bi_free(x->env, x);
    *index = NULL;
}

int bi_fasta_seek(struct bioinfer_reader *reader, const struct bioinfer_index *x, uint64_t ordinal,
                  struct bioinfer_error *err)
{
    const struct bi_fasta_entry *e;
    if (ordinal >= x->n_records || ordinal % x->block)
        return bi_fail(err, BIOINFER_INVALID,
                       "reader: record %" PRIu64 " begins no block of the index", ordinal);
    e = &x->entries[ordinal / x->block];
    return bi_fasta_go_to(reader, e->offset, e->line, ordinal, err);
}

bool bi_index_far(const struct bioinfer_index *x, uint64_t from, uint64_t to)
{
    const uint64_t far = 1 << 20; /* a reader takes a quarter of it at once */
    const uint64_t end = to < x->n_records ? x->entries[to / x->block].offset : x->size;
    return from < x->n_records && end - x->entries[from / x->block].offset >= far && from < to;
}

int bi_index_check(const struct bioinfer_index *x, uint64_t n, bool end, uint64_t hash,
                   struct bioinfer_error *err)
{
    if (!x || (!end && n < x->n_records && n % x->block))
        return 0;
    if (n > x->n_records || (end && n < x->n_records) ||
        hash != (n == x->n_records ? x->all : x->entries[n / x->block].before))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "the input has changed since its index was made, before record %" PRIu64
                       "; make it again: bioinfer index",
                       n);
    return 0;
}

/* molecules.c - the molecules of a file, one record after the other in flat memory.
 *
 * file -> gunzip -> buffer[] -> one record -> its reader -> struct bi_molecule */
#include <string.h>

#include "../gunzip.h"
#include "molecule.h"

enum { CHUNK = 1 << 16 };

enum format { SDF, MOL2, PDB, SMILES };

struct bi_molecules {
    const struct bi_env *env;
    struct bi_gunzip input;
    char *name;
    char *buffer; /* bytes [at, used) are not yet read */
    size_t at, used, cap;
    uint64_t line;    /* lines before `at` */
    uint64_t ordinal; /* the number of the record read last */
    bool at_end;
    enum format format;
};

/* ---- records ---- */

/* Reads on, behind what is kept of the buffer. */
static int read_more(struct bi_molecules *m, struct bioinfer_error *err)
{
    size_t got = 0;
    int st;
    if (m->at) {
        memmove(m->buffer, m->buffer + m->at, m->used - m->at);
        m->used -= m->at;
        m->at = 0;
    }
    if (!bi_grow(m->env, &m->buffer, &m->cap, m->used + CHUNK, 1))
        return bi_fail(err, BIOINFER_NOMEM, "%s: a record of %zu bytes", m->name, m->used);
    if ((st = bi_gunzip_read(&m->input, m->buffer + m->used, CHUNK, &got, err)))
        return st;
    m->used += got;
    m->at_end = !got;
    return 0;
}

static bool begins(const char *line, size_t n, const char *with)
{
    return n >= strlen(with) && !memcmp(line, with, strlen(with));
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_blank(const char *line, size_t n)
{
    while (n && is_space(line[n - 1]))
        n--;
    return !n;
}

/* Does this line end the record that it stands in? In the text of a data item `$$$$` ends it only
 * where it is all of the line. */
static bool is_last_line(const struct bi_molecules *m, const char *line, size_t n, bool in_item)
{
    while (in_item && n && is_space(line[n - 1]))
        n--;
    return m->format == SDF   ? begins(line, n, "$$$$") && (!in_item || n == 4)
           : m->format == PDB ? begins(line, n, "END") &&
                                    (n == 3 || line[3] == ' ' || line[3] == '\r' || line[3] == '\n')
                              : false;
}

static bool is_first_line(const struct bi_molecules *m, const char *line, size_t n)
{
    return m->format == MOL2 && begins(line, n, "@<TRIPOS>MOLECULE");
}

/* The format of a text: MOL2 and PDB have marks at the beginning of a line; SDF may begin with
 * anything, but its fourth line names its version. Where no line tells, the path's suffix or the
 * first lines may say that it is SMILES. */
static enum format format_of(const char *path, const char *text, size_t size)
{
    const char *begin = text;
    static const char *const records[] = {"HEADER", "TITLE ", "COMPND", "REMARK", "CRYST1",
                                          "MODEL ", "ATOM  ", "HETATM", "AUTHOR"};
    const char *end = text + size;
    enum format format = SDF;
    for (int number = 1; number <= 1000 && text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const size_t n = (size_t)((stop ? stop : end) - text);
        if (number == 4 && n >= 39 &&
            (!memcmp(text + 34, "V2000", 5) || !memcmp(text + 34, "V3000", 5)))
            return SDF;
        if (begins(text, n, "@<TRIPOS>"))
            return MOL2;
        for (size_t k = 0; k < BI_COUNT(records) && number == 1; k++)
            if (begins(text, n, records[k]))
                format = PDB;
        text += n + (stop != NULL);
    }
    if (format == SDF && size && (bi_mol_is_smiles_path(path) || bi_mol_is_smiles(begin, size)))
        return SMILES;
    return format;
}

/* SMILES are no molecules in space; the words say how to make them. */
static int refuse_smiles(const struct bi_molecules *m, struct bioinfer_error *err)
{
    const char *file = bi_mol_is_smiles_path(m->name) ? m->name : "library.smi";
    return bi_fail(err, BIOINFER_UNSUPPORTED,
                   "%s: SMILES have no coordinates; this command makes conformers, which are to "
                   "be docked then: python3 -m bioinfer.conformers %s > ligands.sdf",
                   m->name, file);
}

/* 1: *record holds the lines of the next record; 0: there is none. Of a record that is too long
 * only its beginning is kept: *whole is false. */
static int next_record(struct bi_molecules *m, struct bi_mol_text *record, bool *whole,
                       struct bioinfer_error *err)
{
    size_t at = 0, size = 0; /* bytes of the record before this line; bytes kept */
    uint64_t n_lines = 0;
    bool blank = true, begun = false, in_item = false;
    int st = 0;
    if (!m->buffer) {
        if ((st = read_more(m, err)))
            return st;
        m->at = bi_text_mark(m->buffer, m->used);
        m->format = format_of(m->name, m->buffer + m->at, m->used - m->at);
        if (m->format == SMILES && m->ordinal) /* the record of a file that is known to be SDF */
            m->format = SDF;
    }
    if (m->format == SMILES)
        return refuse_smiles(m, err);
    *whole = true;
    for (;;) {
        const char *line = m->buffer + m->at + at;
        const size_t left = m->used - m->at - at;
        const char *end = left ? memchr(line, '\n', left) : NULL;
        size_t n;
        if (!end && !m->at_end && left + at < BI_MOL_MAX_RECORD) {
            if ((st = read_more(m, err)))
                return st;
            continue;
        }
        n = end ? (size_t)(end - line) + 1 : left;
        if (n && begun && is_first_line(m, line, n)) {
            *record = (struct bi_mol_text){.at = m->buffer + m->at,
                                           .end = m->buffer + m->at + size};
            m->at += at;
            break;
        }
        begun = begun || is_first_line(m, line, n);
        in_item = begins(line, n, ">") || (in_item && !is_blank(line, n));
        if (n && is_last_line(m, line, n, in_item)) {
            *record = (struct bi_mol_text){.at = m->buffer + m->at,
                                           .end = m->buffer + m->at + size};
            m->at += at + n;
            n_lines++;
            break;
        }
        blank = blank && is_blank(line, n);
        at += n;
        n_lines += n > 0;
        if (*whole)
            size = at;
        if (!end && m->at_end) {
            *record = (struct bi_mol_text){.at = m->buffer + m->at,
                                           .end = m->buffer + m->at + size};
            m->at = m->used;
            if (blank)
                return 0;
            break;
        }
        if (at >= BI_MOL_MAX_RECORD) {
            *whole = false;
            m->at += at;
            at = size = 0;
        }
    }
    record->number = m->line;
    m->line += n_lines;
    return 1;
}

/* ---- a molecule ---- */

static int read_molecule(struct bi_molecule *mol, enum format format, struct bi_mol_text *t,
                         bool whole, struct bioinfer_error *err)
{
    int st;
    if (!whole)
        return bi_mol_fail(t, err, BIOINFER_LIMIT, "a record of more than %d bytes",
                           BI_MOL_MAX_RECORD);
    if (memchr(t->at, '\0', (size_t)(t->end - t->at)))
        return bi_mol_fail(t, err, BIOINFER_FORMAT, "a NUL byte: this is no text");
    st = format == MOL2  ? bi_mol2_read(mol, t, err)
         : format == PDB ? bi_ligand_pdb_read(mol, t, err)
                         : bi_sdf_read(mol, t, err);
    if (st || (st = bi_mol_connect(mol, t, err)))
        return st;
    t->number = mol->line;
    if ((st = bi_mol_remove_hydrogens(mol, t, err)))
        return st;
    return bi_mol_perceive(mol, t, err);
}

int bi_molecules_next_text(struct bi_molecules *m, struct bi_mol_text *text, bool *whole,
                           struct bioinfer_error *err)
{
    const int st = next_record(m, text, whole, err);
    if (st <= 0)
        return st;
    text->ordinal = ++m->ordinal;
    text->name = m->name;
    return 1;
}

void bi_molecules_begin_at(struct bi_molecules *m, uint64_t ordinal, uint64_t line)
{
    m->ordinal = ordinal;
    m->line = line;
}

int bi_molecules_next(struct bi_molecules *m, struct bi_molecule *mol, struct bioinfer_error *err)
{
    struct bioinfer_error own = {0};
    struct bi_mol_text record;
    bool whole = true;
    int st = bi_molecules_next_text(m, &record, &whole, err);
    if (st <= 0)
        return st;
    mol->env = m->env;
    mol->name[0] = mol->message[0] = '\0';
    mol->format = NULL;
    mol->ordinal = record.ordinal;
    mol->line = record.number + 1;
    bi_mol_clear(mol);
    st = read_molecule(mol, m->format, &record, whole, &own);
    if (st == BIOINFER_NOMEM) {
        if (err)
            *err = own;
        return st;
    }
    if (st)
        bi_mol_clear(mol);
    mol->status = st;
    memcpy(mol->message, own.text, sizeof mol->message);
    return 1;
}

void bi_molecule_tell(const struct bi_env *env, const char *name, uint8_t notes, uint8_t *told)
{
    static const char *const texts[] = {
        "atoms at other alternate locations than none, A and 1 are left out",
        "models after the first are not read",
        "UNITY_ATOM_ATTR: attributes other than charge are not read",
        "counts of hydrogens are queries, and are not read as numbers"};
    for (size_t k = 0; k < BI_COUNT(texts); k++)
        if ((notes & ~*told) >> k & 1)
            bi_log(env, BIOINFER_LOG_NAMED, "%s: %s", name, texts[k]);
    *told |= notes;
}

/* ---- opening ---- */

static int open_stream(struct bi_molecules **out, const struct bi_env *env,
                       struct bi_stream *stream, const char *name, struct bioinfer_error *err)
{
    struct bi_molecules *m = bi_zalloc(env, sizeof *m);
    int st = 0;
    *out = NULL;
    if (!m) {
        bi_stream_close(stream);
        return bi_fail(err, BIOINFER_NOMEM, "%s", name);
    }
    m->env = env;
    st = bi_gunzip_open(&m->input, stream, err);
    m->input.records = true;
    if (!st && !(m->name = bi_strdup(env, name)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s", name);
    if (st)
        bi_molecules_close(&m);
    *out = m;
    return st;
}

int bi_molecules_open(struct bi_molecules **out, const struct bi_env *env, const char *path,
                      struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    int st = bi_stream_open(&stream, env, path, err);
    *out = NULL;
    return st ? st
              : open_stream(out, env, &stream, strcmp(path, "-") ? path : "standard input", err);
}

int bi_molecules_open_memory(struct bi_molecules **out, const struct bi_env *env, const char *name,
                             const void *bytes, size_t size, struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    int st = bi_stream_from_memory(&stream, env, name, bytes, size, err);
    *out = NULL;
    return st ? st : open_stream(out, env, &stream, name, err);
}

void bi_molecules_close(struct bi_molecules **m)
{
    if (!m || !*m)
        return;
    bi_gunzip_close(&(*m)->input);
    bi_free((*m)->env, (*m)->name);
    bi_free((*m)->env, (*m)->buffer);
    bi_free((*m)->env, *m);
    *m = NULL;
}

/* fasta.c - FASTA records, streaming.
 *
 * Sections: 1 the window and its lines  2 the start of a file  3 headers  4 residues
 *           5 records  6 blocks of threads  7 open and close
 *
 * file -> gunzip -> win[] -> pieces of lines -> header[] and seq[] -> struct
 * bioinfer_record. A piece is what the window holds of one line, so lines may be longer
 * than the window. With n_threads, blocks of a plain file come from fasta_ahead.c, and what
 * lies between these from the window. */
#include "complex_list.h"
#include "fasta.h"

#include <stdio.h>
#include <string.h>

#include "fasta_ahead.h"
#include "fasta_index.h"
#include "gunzip.h"

enum { WINDOW_SIZE = 1 << 18 };
enum {
    BLOCK_SIZE = 1 << 19, /* bytes of the file, for one thread */
    MANY_TEXT = 1 << 19,  /* bytes of a block that is not a thread's */
    MANY_RECORDS = 1 << 14
};
enum { SNIFF_SIZE = 1 << 16 }; /* no LF in these first bytes: lines may end with CR alone */

struct bioinfer_reader {
    const struct bi_env *env;
    struct bi_gunzip in;
    const char *path; /* for messages */
    bool raw;
    bool stops;          /* a '*' may be inside */
    const char *between; /* one of these may stand between chains */
    uint64_t max_length;

    char *win; /* win[pos, end) is not yet used */
    size_t pos, end;
    bool eof;
    char eol;
    uint64_t line, column; /* place of win[pos]; line from 1, column from 0 */

    char *header; /* the line without '>', then id and description in place */
    size_t header_size;
    char made_id[32];
    char *seq;
    size_t n, seq_cap;

    uint64_t ordinal;   /* number of the record being read */
    uint64_t begins[2]; /* byte of the file and line where it does */
    int bad;            /* the record's status; not 0 = the rest of it is skipped */
    char message[512];
    bool star; /* a '*' was seen, which must be the last residue, or with `stops` may be */
    uint64_t star_line, star_column;
    bool any_lower;

    struct bi_fasta_counts counts; /* over the file */
    bool begun, made_any_id;
    int ended;                    /* 1 = at the end */
    struct bioinfer_error failed; /* status != 0: what every further call returns */

    struct bioinfer_reader_params params;
    size_t block_size;
    bool alone; /* no thread is started for the blocks */
    struct bi_records_pool *pool;
    struct bi_fasta_ahead *ahead;
    bool ahead_tried;
    uint64_t at;              /* for `ahead`: byte of the file where the next record begins */
    struct bi_records *given; /* a block that next() gives one by one */
    size_t n_given;
    struct bi_complex_list *jobs; /* instead of FASTA; NULL = none */
};

/* ---- 1 the window and its lines ---------------------------------------------- */

/* Adds bytes behind win[pos, end), or sets eof. */
static int fill(struct bioinfer_reader *r)
{
    size_t got;
    int st;
    if (r->pos) {
        memmove(r->win, r->win + r->pos, r->end - r->pos);
        r->end -= r->pos;
        r->pos = 0;
    }
    if ((st = bi_gunzip_read(&r->in, r->win + r->end, WINDOW_SIZE - r->end, &got, &r->failed)))
        return st;
    r->eof = !got;
    r->end += got;
    return 0;
}

/* At the start of a line: its first byte, or -1 at the end of the file. */
static int first_byte(struct bioinfer_reader *r, int *c)
{
    while (r->pos == r->end && !r->eof) {
        int st = fill(r);
        if (st)
            return st;
    }
    *c = r->pos < r->end ? (unsigned char)r->win[r->pos] : -1;
    return 0;
}

struct piece {
    const char *text; /* valid until the next piece */
    size_t n;
    uint64_t line, column; /* place of text[0] */
    bool last;             /* the line ends behind it; its terminator is skipped */
};

static int next_piece(struct bioinfer_reader *r, struct piece *x)
{
    for (;;) {
        const char *p = r->win + r->pos;
        size_t n = r->end - r->pos, used;
        const char *q = n ? memchr(p, r->eol, n) : NULL;
        if (q) {
            n = (size_t)(q - p);
            used = n + 1;
        } else {
            used = n;
        }
        x->last = q || r->eof;
        if (n && p[n - 1] == '\r' && r->eol == '\n') {
            n--; /* half a CRLF, at the end of the file, or not yet known */
            used -= !x->last;
        }
        if (!n && !x->last) {
            int st = fill(r);
            if (st)
                return st;
            continue;
        }
        x->text = p;
        x->n = n;
        x->line = r->line;
        x->column = r->column;
        r->pos += used;
        r->column += n;
        if (x->last) {
            r->line++;
            r->column = 0;
        }
        return 0;
    }
}

static int skip_line(struct bioinfer_reader *r)
{
    struct piece x;
    int st;
    do
        st = next_piece(r, &x);
    while (!st && !x.last);
    return st;
}

/* ---- 2 the start of a file --------------------------------------------------- */

static const struct {
    const char *magic;
    size_t n;
    const char *what, *todo;
} refused[] = {
    {"\x28\xB5\x2F\xFD", 4, "zstd-compressed", "decompress it first: zstd -d"},
    {"BZh", 3, "bzip2-compressed", "decompress it first: bzip2 -dk"},
    {"\xFD"
     "7zXZ",
     5, "xz-compressed", "decompress it first: xz -dk"},
    {"PK\x03\x04", 4, "a zip archive", "unpack it first: unzip"},
    {"\xFF\xFE", 2, "UTF-16 text", "convert it first: iconv -f UTF-16 -t UTF-8"},
    {"\xFE\xFF", 2, "UTF-16 text", "convert it first: iconv -f UTF-16 -t UTF-8"},
};

/* Finds out how lines end, skips a byte order mark, refuses what is known not to be
 * FASTA. */
static int begin(struct bioinfer_reader *r)
{
    size_t sniffed = 0, n;
    bool lf = false;
    while (!lf && !r->eof && r->end < SNIFF_SIZE) {
        int st = fill(r);
        if (st)
            return st;
        n = r->end < SNIFF_SIZE ? r->end : SNIFF_SIZE;
        lf = n > sniffed && memchr(r->win + sniffed, '\n', n - sniffed);
        sniffed = n;
    }
    r->eol = !lf && sniffed && memchr(r->win, '\r', sniffed) ? '\r' : '\n';
    for (size_t i = 0; i < BI_COUNT(refused); i++)
        if (r->end >= refused[i].n && !memcmp(r->win, refused[i].magic, refused[i].n))
            return bi_fail(&r->failed, BIOINFER_UNSUPPORTED, "%s: %s; %s %s", r->path,
                           refused[i].what, refused[i].todo, r->path);
    r->pos += bi_text_mark(r->win, r->end);
    r->begun = true;
    return 0;
}

static bool is_control(unsigned char c)
{
    return (c < 0x20 && c != '\t') || c == 0x7F;
}

/* text[0, n) is where the first '>' should have been. */
static int not_fasta(struct bioinfer_reader *r, const struct piece *x, size_t at)
{
    const unsigned char *p = (const unsigned char *)x->text + at;
    size_t n = x->n - at, shown = 0;
    char hex[16] = "";
    if (p[0] == '@')
        return bi_fail(&r->failed, BIOINFER_UNSUPPORTED,
                       "%s: line %llu starts with '@': FASTQ; convert it first: seqtk seq -A %s",
                       r->path, (unsigned long long)x->line, r->path);
    while (shown < n && shown < 20 && p[shown] < 0x80 && !is_control(p[shown]))
        shown++;
    if (shown == n || shown >= 8)
        return bi_fail(&r->failed, BIOINFER_FORMAT,
                       "%s: line %llu: residues before the first '>' (got '%.*s'%s): not FASTA",
                       r->path, (unsigned long long)x->line, (int)shown, (const char *)p,
                       shown < n ? " ..." : "");
    for (size_t i = 0; i < n && i < 4; i++)
        snprintf(hex + 3 * i, sizeof hex - 3 * i, " %02X", p[i]);
    return bi_fail(&r->failed, BIOINFER_FORMAT,
                   "%s: line %llu: expected '>', got bytes%s: not FASTA", r->path,
                   (unsigned long long)x->line, hex);
}

/* One line before the first record: blank, or the file is no FASTA. */
static int blank_line(struct bioinfer_reader *r)
{
    struct piece x;
    do {
        int st = next_piece(r, &x);
        if (st)
            return st;
        for (size_t i = 0; i < x.n; i++)
            if (x.text[i] != ' ' && x.text[i] != '\t')
                return not_fasta(r, &x, i);
    } while (!x.last);
    return 0;
}

/* ---- 3 headers --------------------------------------------------------------- */

/* The record gets a status; the first one stays. */
static void spoil(struct bioinfer_reader *r, int status, uint64_t line, uint64_t column,
                  const char *fmt, ...) BI_PRINTF(5, 6);

/* The id as it stands; a made one where the header has none. */
static const char *record_id(const struct bioinfer_reader *r)
{
    return r->made_id[0] ? r->made_id : r->header;
}

static void spoil(struct bioinfer_reader *r, int status, uint64_t line, uint64_t column,
                  const char *fmt, ...)
{
    const char *id = record_id(r);
    size_t n;
    va_list ap;
    if (r->bad)
        return;
    r->bad = status;
    snprintf(r->message, sizeof r->message, "%s: record '%.60s%s' (line %llu", r->path, id,
             strlen(id) > 60 ? "..." : "", (unsigned long long)line);
    n = strlen(r->message);
    if (column)
        snprintf(r->message + n, sizeof r->message - n, ", column %llu",
                 (unsigned long long)column);
    n = strlen(r->message);
    snprintf(r->message + n, sizeof r->message - n, "): ");
    n = strlen(r->message);
    va_start(ap, fmt);
    vsnprintf(r->message + n, sizeof r->message - n, fmt, ap);
    va_end(ap);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Reads the line that starts with '>' and splits it into id and description. */
static int read_header(struct bioinfer_reader *r, struct bioinfer_record *record)
{
    struct piece x;
    char *p = r->header, *id, *end;
    uint64_t line = r->line, control_at = 0;
    unsigned control = 0;
    bool cut = false;
    size_t n = 0;
    do {
        int st = next_piece(r, &x);
        size_t room = BI_FASTA_HEADER - n;
        if (st)
            return st;
        if (x.n > room)
            cut = true;
        if (x.n < room)
            room = x.n;
        if (room)
            memcpy(p + n, x.text, room);
        n += room;
    } while (!x.last);
    for (size_t i = 0; i < n; i++)
        if (is_control((unsigned char)p[i])) {
            if (!control_at) {
                control_at = i + 1;
                control = (unsigned char)p[i];
            }
            p[i] = '_';
        }
    end = p + n;
    while (end > p + 1 && is_blank(end[-1]))
        end--;
    *end = '\0';
    for (id = p + 1; is_blank(*id); id++)
        ;
    for (p = id; *p && !is_blank(*p); p++)
        ;
    record->description = p;
    if (*p) {
        *p = '\0';
        for (p++; is_blank(*p); p++)
            ;
        record->description = p;
    }
    r->made_id[0] = '\0';
    memmove(r->header, id, strlen(id) + 1); /* the id's end stays in front of the description */
    if (!r->header[0]) {
        snprintf(r->made_id, sizeof r->made_id, "seq_%llu", (unsigned long long)r->ordinal);
        if (!r->made_any_id)
            bi_log(r->env, BIOINFER_LOG_NAMED, "%s: line %llu: record without an id is called %s",
                   r->path, (unsigned long long)line, r->made_id);
        r->made_any_id = true;
    }
    record->id = record_id(r);
    if (cut)
        spoil(r, BIOINFER_LIMIT, line, 0, "header line of more than %d bytes", BI_FASTA_HEADER);
    else if (control_at)
        spoil(r, BIOINFER_FORMAT, line, control_at, "control byte 0x%02X in the header", control);
    return 0;
}

/* ---- 4 residues -------------------------------------------------------------- */

enum residue_class { OTHER, UPPER, LOWER, SPACE, GAP, STAR, SYMBOL };

static enum residue_class class_of(unsigned char c)
{
    if ((unsigned)c - 'A' < 26)
        return UPPER;
    if ((unsigned)c - 'a' < 26)
        return LOWER;
    switch (c) {
    case ' ':
    case '\t':
        return SPACE;
    case '-':
    case '.':
        return GAP;
    case '*':
        return STAR;
    case '<': /* in raw sequences: <mask>, and a residue or a state that is not known */
    case '>':
    case '#':
        return SYMBOL;
    default:
        return OTHER;
    }
}

/* Upper-cases src into dst; true when all were letters. No branch in the loop, so that
 * the compiler makes vectors of it: this is where a reader spends its time. */
static bool copy_letters(char *dst, const char *src, size_t n, bool *any_lower)
{
    uint8_t other = 0, lower = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)src[i];
        uint8_t is_lower = (uint8_t)(c - 'a') < 26;
        c = (uint8_t)(c - (is_lower << 5));
        other |= (uint8_t)(c - 'A') >= 26;
        lower |= is_lower;
        dst[i] = (char)c;
    }
    *any_lower = lower;
    return !other;
}

static void bad_character(struct bioinfer_reader *r, unsigned char c, uint64_t line,
                          uint64_t column)
{
    if (c == '*')
        spoil(r, BIOINFER_BAD_RESIDUE, line, column,
              "character '*' (0x2A) inside the sequence: only one at its end is allowed");
    else if (c >= '0' && c <= '9')
        spoil(r, BIOINFER_BAD_RESIDUE, line, column,
              "character '%c' (0x%02X) is not a residue: numbered sequences are not "
              "FASTA",
              c, c);
    else if (c == '<')
        spoil(r, BIOINFER_BAD_RESIDUE, line, column,
              "character '<' (0x3C) is not a residue: symbols such as <mask> are read "
              "with raw residues only");
    else if (is_control(c))
        spoil(r, BIOINFER_BAD_RESIDUE, line, column, "control byte 0x%02X in the sequence", c);
    else if (c >= 0x80)
        spoil(r, BIOINFER_BAD_RESIDUE, line, column, "byte 0x%02X is not a residue", c);
    else
        spoil(r, BIOINFER_BAD_RESIDUE, line, column, "character '%c' (0x%02X) is not a residue", c,
              c);
}

static bool add_residue(struct bioinfer_reader *r, char c, uint64_t line, uint64_t column)
{
    if (r->n == r->max_length) {
        spoil(r, BIOINFER_TOO_LONG, line, column, "more than %llu residues",
              (unsigned long long)r->max_length);
        return false;
    }
    r->seq[r->n++] = c;
    return true;
}

/* One by one: everything but plain letters. seq has room. */
static void take_slowly(struct bioinfer_reader *r, const struct piece *x)
{
    for (size_t i = 0; i < x->n && !r->bad; i++) {
        unsigned char c = (unsigned char)x->text[i];
        enum residue_class k = class_of(c);
        uint64_t column = x->column + i + 1;
        if (k == SPACE)
            continue;
        if ((k == OTHER && !(c && strchr(r->between, c))) || (k == SYMBOL && !r->raw)) {
            bad_character(r, c, x->line, column);
            break;
        }
        if (!r->raw) {
            if (k == GAP) {
                r->counts.gaps++;
                continue;
            }
            if (r->star && !r->stops) {
                bad_character(r, '*', r->star_line, r->star_column);
                break;
            }
            if (r->star) { /* it was not the last one */
                r->star = false;
                if (!add_residue(r, '*', r->star_line, r->star_column))
                    break;
            }
            if (k == STAR) {
                r->star = true;
                r->star_line = x->line;
                r->star_column = column;
                continue;
            }
            if (k == LOWER) {
                c = (unsigned char)(c - 32);
                r->counts.lower++;
                r->any_lower = true;
            }
        }
        if (!add_residue(r, (char)c, x->line, column))
            break;
    }
}

static int take(struct bioinfer_reader *r, const struct piece *x)
{
    bool lower;
    uint64_t room = r->max_length - r->n, add = x->n < room ? x->n : room;
    if (r->bad || !x->n)
        return 0;
    if (!bi_grow(r->env, &r->seq, &r->seq_cap, r->n + (size_t)add + 2, 1)) /* a '*' may wait */
        return bi_fail(&r->failed, BIOINFER_NOMEM, "%s: line %llu: a sequence of %llu residues",
                       r->path, (unsigned long long)x->line, (unsigned long long)(r->n + add));
    if (add == x->n && !r->star && copy_letters(r->seq + r->n, x->text, x->n, &lower) &&
        !(lower && r->raw)) {
        if (lower) {
            size_t n_lower = 0;
            for (size_t i = 0; i < x->n; i++)
                n_lower += (unsigned char)x->text[i] >= 'a';
            r->counts.lower += n_lower;
            r->any_lower = true;
        }
        r->n += x->n;
    } else {
        take_slowly(r, x);
    }
    return 0;
}

/* ---- 5 records --------------------------------------------------------------- */

static void report(struct bioinfer_reader *r)
{
    if (r->counts.lower)
        bi_log(r->env, BIOINFER_LOG_NAMED,
               "%s: %llu lower-case residues in %llu records were upper-cased", r->path,
               (unsigned long long)r->counts.lower, (unsigned long long)r->counts.lower_records);
    if (r->counts.gaps)
        bi_log(r->env, BIOINFER_LOG_NAMED, "%s: %llu gap characters were removed", r->path,
               (unsigned long long)r->counts.gaps);
    if (r->counts.stops)
        bi_log(r->env, BIOINFER_LOG_NAMED, "%s: a final '*' was removed from %llu records", r->path,
               (unsigned long long)r->counts.stops);
}

/* Skips to the next line with '>': 1, 0 at the end of the file, or a status. */
static int find_record(struct bioinfer_reader *r)
{
    int c, st;
    if (!r->begun && (st = begin(r)))
        return st;
    for (;;) {
        if ((st = first_byte(r, &c)))
            return st;
        if (c == '>')
            return 1;
        if (c < 0)
            break;
        if ((st = c == ';' ? skip_line(r) : blank_line(r)))
            return st;
    }
    if (!r->ordinal)
        return bi_fail(&r->failed, BIOINFER_FORMAT, "%s: no FASTA records (%s)", r->path,
                       r->line > 1 ? "only blank lines and comments" : "file is empty");
    return 0;
}

/* Lines up to the next '>' or the end. */
static int read_residues(struct bioinfer_reader *r)
{
    struct piece x;
    for (;;) {
        int c, st = first_byte(r, &c);
        if (st || c == '>' || c < 0)
            return st;
        if (c == ';') {
            if ((st = skip_line(r)))
                return st;
            continue;
        }
        do {
            if ((st = next_piece(r, &x)) || (st = take(r, &x)))
                return st;
        } while (!x.last);
    }
}

/* Where win[pos] lies in the file. */
static uint64_t place(const struct bioinfer_reader *r)
{
    return r->in.stream.done - (r->in.end - r->in.pos) - (r->end - r->pos);
}

static int next_record(struct bioinfer_reader *r, struct bioinfer_record *record)
{
    uint64_t line;
    int st = find_record(r);
    if (st <= 0)
        return st;
    line = r->line;
    r->begins[0] = place(r);
    r->begins[1] = line;
    r->bad = 0;
    r->message[0] = '\0';
    r->n = 0;
    r->star = r->any_lower = false;
    if ((st = read_header(r, record)) || (st = read_residues(r)))
        return st;
    if (!r->bad && !r->n)
        spoil(r, BIOINFER_EMPTY, line, 0, "no residues");
    r->counts.lower_records += r->any_lower;
    if (r->bad)
        r->n = 0;
    else
        r->counts.stops += r->star;
    r->seq[r->n] = '\0';
    record->sequence = r->seq;
    record->length = r->n;
    record->ordinal = r->ordinal++;
    record->status = r->bad;
    record->message = r->message;
    return 1;
}

/* Any byte of the file is at hand, and lines end with LF. */
static bool can_seek(const struct bioinfer_reader *r)
{
    return r->eol == '\n' && r->in.stream.size && (r->in.stream.memory || r->in.stream.owned) &&
           !bi_gunzip_is_compressed(&r->in);
}

bool bi_fasta_where(const struct bioinfer_reader *r, uint64_t *offset, uint64_t *line)
{
    *offset = r->begins[0];
    *line = r->begins[1];
    return r->begun && !r->ahead && can_seek(r);
}

int bi_fasta_go_to(struct bioinfer_reader *r, uint64_t offset, uint64_t line, uint64_t ordinal,
                   struct bioinfer_error *err)
{
    int st = r->failed.status || r->begun ? r->failed.status : begin(r);
    uint64_t at;
    if (st)
        return bi_fail(err, st, "%s", r->failed.text);
    if (!can_seek(r))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: only a plain file is read from its middle on", r->path);
    bi_fasta_ahead_close(&r->ahead);
    r->ahead_tried = true;
    bi_records_free(&r->given);
    at = place(r);
    r->ended = 0;
    r->line = line;
    r->column = 0;
    r->ordinal = ordinal;
    if (offset >= at && offset - at < r->end - r->pos) {
        r->pos += (size_t)(offset - at);
        return 0;
    }
    r->pos = r->end = 0;
    r->eof = false;
    return bi_gunzip_seek(&r->in, offset, err);
}

/* ---- 6 blocks of threads ----------------------------------------------------- */

/* Threads read ahead where lines end with LF and any byte of the file is at hand. */
static int start_ahead(struct bioinfer_reader *r)
{
    int st = r->begun ? 0 : begin(r);
    r->ahead_tried = true;
    if (st || (r->params.n_threads < 2 && !r->alone) || !can_seek(r))
        return st;
    r->at = place(r);
    bi_fasta_ahead_open(&r->ahead, r->env, &r->in.stream, r->at, &r->params, r->block_size,
                        r->alone, r->pool);
    return 0;
}

/* A block of a thread where one begins: its records are numbered and all lines counted. */
static bool take_block(struct bioinfer_reader *r, struct bi_records **block)
{
    struct bi_fasta_block b;
    if (!bi_fasta_ahead_take(r->ahead, r->at, &b))
        return false;
    bi_records_finish(b.records, r->ordinal);
    r->ordinal += b.records->shown.n_records;
    r->line += b.n_lines;
    r->counts.lower += b.counts.lower;
    r->counts.lower_records += b.counts.lower_records;
    r->counts.gaps += b.counts.gaps;
    r->counts.stops += b.counts.stops;
    r->at = b.end;
    *block = b.records;
    return true;
}

/* The next record, or a block of them when *block is set. */
static int next_either(struct bioinfer_reader *r, struct bioinfer_record *record,
                       struct bi_records **block)
{
    int st;
    *block = NULL;
    if (!r->ahead_tried && (st = start_ahead(r)))
        return st;
    if (!r->ahead)
        return next_record(r, record);
    if (take_block(r, block))
        return 1;
    if (r->at != place(r)) {
        if ((st = bi_gunzip_seek(&r->in, r->at, &r->failed)))
            return st;
        r->pos = r->end = 0;
        r->eof = false;
    }
    st = next_record(r, record);
    r->at = place(r);
    return st;
}

/* As bi_fasta_next(); *block: the records are these. */
static int next_of_file(struct bioinfer_reader *r, struct bioinfer_record *record,
                        struct bi_records **block, struct bioinfer_error *err)
{
    int st;
    *block = NULL;
    if (r->failed.status)
        return bi_fail(err, r->failed.status, "%s", r->failed.text);
    if (r->ended)
        return 0;
    if (r->jobs) {
        st = bi_complex_list_next(r->jobs, record);
        return st < 0 ? bi_fail(err, st, "%s: a job", r->path) : st;
    }
    st = next_either(r, record, block);
    if (st < 0)
        return bi_fail(err, r->failed.status, "%s", r->failed.text);
    if (!st) {
        r->ended = true;
        report(r);
    }
    return st;
}

int bi_fasta_next(struct bioinfer_reader *r, struct bioinfer_record *record,
                  struct bioinfer_error *err)
{
    struct bioinfer_record next = {0};
    if (r->given && r->n_given == r->given->shown.n_records)
        bi_records_free(&r->given);
    if (!r->given) {
        int st = next_of_file(r, &next, &r->given, err);
        r->n_given = 0;
        if (st <= 0)
            return st;
    }
    *record = r->given ? r->given->items[r->n_given++] : next;
    return 1;
}

int bi_fasta_next_many(struct bioinfer_reader *r, struct bioinfer_records **records,
                       struct bioinfer_error *err)
{
    struct bioinfer_record x = {0};
    struct bi_records *many = NULL, *block = NULL;
    uint64_t first = 0;
    int st = 1;
    *records = NULL;
    if (r->given && !r->n_given) { /* a whole one, kept by the last call */
        *records = &r->given->shown;
        r->given = NULL;
        return 1;
    }
    for (;;) {
        const bool kept = r->given && r->n_given < r->given->shown.n_records;
        st = kept ? bi_fasta_next(r, &x, err) : next_of_file(r, &x, &block, err);
        if (st <= 0 || block)
            break;
        if (!many) {
            many = bi_records_new(r->pool);
            first = x.ordinal;
        }
        if (!many || !bi_records_add(many, &x)) {
            st = bi_fail(&r->failed, BIOINFER_NOMEM, "%s: record %llu", r->path,
                         (unsigned long long)x.ordinal);
            if (err)
                *err = r->failed;
            break;
        }
        if (many->text_size >= MANY_TEXT || many->shown.n_records >= MANY_RECORDS)
            break;
    }
    if (!many || !many->shown.n_records) {
        bi_records_free(&many);
        *records = block ? &block->shown : NULL;
        return st;
    }
    if (block) {
        bi_records_free(&r->given);
        r->given = block;
        r->n_given = 0;
    }
    bi_records_finish(many, first);
    *records = &many->shown;
    return 1; /* an error behind these waits for the next call */
}

void bi_fasta_many_free(struct bioinfer_records **records)
{
    struct bi_records *block = (struct bi_records *)*records; /* the first member */
    bi_records_free(&block);
    *records = NULL;
}

/* ---- 7 open and close -------------------------------------------------------- */

static int open_stream(struct bioinfer_reader **out, const struct bi_env *env,
                       struct bi_stream *stream, const struct bioinfer_reader_params *params,
                       struct bioinfer_error *err)
{
    struct bioinfer_reader *r = bi_zalloc(env, sizeof *r);
    int st;
    if (!r) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: reader", stream->path);
        bi_stream_close(stream);
        return st;
    }
    r->env = env;
    r->line = 1;
    r->max_length = BI_FASTA_MAX_LENGTH;
    if ((st = bi_gunzip_open(&r->in, stream, err)))
        goto out;
    r->in.records = true;
    r->path = r->in.stream.path;
    r->between = "";
    r->block_size = BLOCK_SIZE;
    if (bi_records_pool_new(&r->pool, env)) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: reader", r->path);
        goto out;
    }
    if (params) {
        r->params = *params;
        r->between = params->residues == BIOINFER_RESIDUES_CHAINS    ? "/"
                     : params->residues == BIOINFER_RESIDUES_COMPLEX ? ":|"
                                                                     : "";
        r->raw = params->residues == BIOINFER_RESIDUES_RAW || *r->between;
        if (params->max_length)
            r->max_length = params->max_length;
        r->in.n_threads = params->n_threads;
        if (params->no_ratio_limit)
            r->in.ratio_limit = 0;
        r->stops = params->residues == BIOINFER_RESIDUES_STOPS;
        if (params->residues != BIOINFER_RESIDUES_DEFAULT && !r->raw && !r->stops) {
            st = bi_fail(err, BIOINFER_INVALID, "%s: residues: got policy %d, expected 0 to 4",
                         r->path, params->residues);
            goto out;
        }
        if (params->n_threads < 0 || params->n_threads > 4096) {
            st = bi_fail(err, BIOINFER_INVALID, "%s: n_threads is %d, expected 0 to 4096", r->path,
                         params->n_threads);
            goto out;
        }
    }
    r->win = bi_alloc(env, WINDOW_SIZE);
    r->header = bi_alloc(env, BI_FASTA_HEADER + 1);
    if (!r->win || !r->header || !bi_grow(env, &r->seq, &r->seq_cap, 4096, 1)) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: reader", r->path);
        goto out;
    }
    *out = r;
    r = NULL;
out:
    bi_fasta_close(&r);
    return st;
}

/* A reader of jobs in JSON, whose FASTA is empty. */
static int open_jobs(struct bioinfer_reader **out, const struct bi_env *env, const char *path,
                     const struct bioinfer_reader_params *params, struct bioinfer_error *err)
{
    int st = bi_fasta_open_memory(out, env, path, "", 0, params, err);
    if (!st && (st = bi_complex_list_open(&(*out)->jobs, env, path, err)))
        bi_fasta_close(out);
    return st;
}

int bi_fasta_open(struct bioinfer_reader **out, const struct bi_env *env, const char *path,
                  const struct bioinfer_reader_params *params, struct bioinfer_error *err)
{
    struct bi_stream stream;
    int st;
    *out = NULL;
    if (params && params->residues == BIOINFER_RESIDUES_COMPLEX && bi_ends_with(path, ".json"))
        return open_jobs(out, env, path, params, err);
    st = bi_stream_open(&stream, env, path, err);
    return st ? st : open_stream(out, env, &stream, params, err);
}

int bi_fasta_open_memory(struct bioinfer_reader **out, const struct bi_env *env, const char *name,
                         const void *bytes, size_t size,
                         const struct bioinfer_reader_params *params, struct bioinfer_error *err)
{
    struct bi_stream stream;
    int st = bi_stream_from_memory(&stream, env, name, bytes, size, err);
    *out = NULL;
    return st ? st : open_stream(out, env, &stream, params, err);
}

/* A reader without a file: parts are its window. */
int bi_fasta_part_open(struct bioinfer_reader **out, const struct bi_env *env,
                       const struct bioinfer_reader_params *params)
{
    return bi_fasta_open_memory(out, env, "part", "", 0, params, NULL);
}

void bi_fasta_part_read(struct bioinfer_reader *r, const char *bytes, size_t n,
                        struct bi_fasta_block *block)
{
    struct bioinfer_record x = {0};
    char *const own = r->win;
    r->win = (char *)(uintptr_t)bytes; /* only read: there is nothing to fill it with */
    r->pos = 0;
    r->end = n;
    r->eol = '\n';
    r->begun = r->eof = true;
    r->made_any_id = true; /* the record is left to those who can name it */
    r->line = 1;
    r->column = 0;
    r->counts = (struct bi_fasta_counts){0};
    block->n_lines = block->end = 0;
    while (r->pos < n && next_record(r, &x) > 0 && !x.status && !r->made_id[0] &&
           bi_records_add(block->records, &x)) {
        block->end = r->pos;
        block->n_lines = r->line - 1;
        block->counts = r->counts;
    }
    block->end += block->start;
    r->win = own;
    r->failed = (struct bioinfer_error){0};
}

void bi_fasta_tune(struct bioinfer_reader *r, size_t chunk, uint64_t ratio)
{
    r->in.chunk = chunk;
    r->in.ratio_limit = ratio;
}

void bi_fasta_tune_blocks(struct bioinfer_reader *r, size_t size)
{
    r->block_size = size;
}

void bi_fasta_tune_alone(struct bioinfer_reader *r, size_t size)
{
    r->block_size = size;
    r->alone = true;
    r->in.n_threads = 2; /* without a team: the same code, by the caller */
}

void bi_fasta_progress(const struct bioinfer_reader *r, uint64_t *done, uint64_t *total)
{
    const uint64_t used = r->in.stream.done - (r->in.end - r->in.pos); /* bytes as stored */
    const uint64_t out = r->in.total_out, waiting = r->end - r->pos;
    /* bytes in the window are not consumed; for compressed ones their share is an estimate */
    if (r->ahead)
        *done = r->at;
    else if (!bi_gunzip_is_compressed(&r->in))
        *done = used - waiting;
    else
        *done = out ? (uint64_t)((double)used * ((double)(out - waiting) / (double)out)) : 0;
    *total = r->in.stream.size;
}

void bi_fasta_close(struct bioinfer_reader **reader)
{
    struct bioinfer_reader *r = *reader;
    if (!r)
        return;
    bi_fasta_ahead_close(&r->ahead);
    bi_records_free(&r->given);
    bi_records_pool_close(&r->pool);
    bi_complex_list_close(&r->jobs);
    bi_free(r->env, r->win);
    bi_free(r->env, r->header);
    bi_free(r->env, r->seq);
    bi_gunzip_close(&r->in);
    bi_free(r->env, r);
    *reader = NULL;
}

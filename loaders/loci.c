/* loci.c - BED and VCF, line by line.
 *
 * Sections: lines, fields, BED or VCF, BED, VCF, public. */
#include "loci.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "gunzip.h"

enum {
    LINE_SIZE = 1 << 20, /* most bytes of the columns that are wanted */
    CHUNK = 65536,
    N_WANTED = 7, /* columns: VCF up to FILTER, BED up to the strand and one more */
    ALLELE_SIZE = 100000
};

struct bioinfer_loci {
    const struct bi_env *env;
    struct bi_gunzip input;
    char *path;
    char *buffer; /* [0, used) read, of which [at, used) is not yet taken */
    size_t at, used, cap;
    bool at_end, variants;
    bool held;     /* the line at hand is still to be taken */
    bool too_long; /* it was cut within the columns that are wanted */
    char *line;    /* at hand: NUL-terminated in the buffer */
    size_t length;
    int64_t number; /* the line's, from 1 */
    uint64_t ordinal;
    /* VCF: what is left of the line's alleles, its ID, and whether they are several */
    char *alleles;
    const char *first_allele; /* a NUL is behind each of the line that was read */
    const char *id;
    bool several;
    bool told_samples, told_filter, told_strand, told_columns; /* each is said once */
    struct bioinfer_locus of;
    char name[300], message[1020];
};

/* ---- lines ---- */

static int read_more(struct bioinfer_loci *l, struct bioinfer_error *err)
{
    size_t got = 0;
    int st;
    if (l->at) {
        memmove(l->buffer, l->buffer + l->at, l->used - l->at);
        l->used -= l->at;
        l->at = 0;
    }
    if (!bi_grow(l->env, &l->buffer, &l->cap, l->used + CHUNK + 1, 1))
        return bi_fail(err, BIOINFER_NOMEM, "%s: a line", l->path);
    if ((st = bi_gunzip_read(&l->input, l->buffer + l->used, CHUNK, &got, err)))
        return st;
    l->used += got;
    l->at_end = !got;
    return 0;
}

/* Looks at bytes that belong to the line which comes next. */
static int check_text(const struct bioinfer_loci *l, const char *text, size_t n,
                      struct bioinfer_error *err)
{
    return !memchr(text, '\0', n) ? 0
                                  : bi_fail(err, BIOINFER_FORMAT,
                                            "%s: line %lld: a NUL byte: this is neither "
                                            "BED nor VCF",
                                            l->path, (long long)l->number + 1);
}

/* Where the columns that are wanted end in a line whose end is not there yet: behind the tab of the
 * last, or where a comment or LINE_SIZE bytes are enough. NULL: they may go on. */
static char *find_cut(const struct bioinfer_loci *l)
{
    char *p = l->buffer + l->at, *const end = l->buffer + l->used;
    if (*p == '#')
        return p + 64 < end ? p + 64 : NULL; /* as much as tells what it is */
    for (int i = 0; i < N_WANTED && p; i++)
        p = memchr(p, '\t', (size_t)(end - p)) ? (char *)memchr(p, '\t', (size_t)(end - p)) + 1
                                               : NULL;
    return p ? p - 1 : l->used - l->at >= LINE_SIZE ? end - 1 : NULL;
}

/* Passes over the rest of a line, whose first bytes are kept before l->at. */
static int skip_rest(struct bioinfer_loci *l, struct bioinfer_error *err)
{
    for (;;) {
        char *at = l->buffer + l->at, *end = memchr(at, '\n', l->used - l->at);
        size_t n = end ? (size_t)(end - at) : l->used - l->at, got = 0;
        int st = check_text(l, at, n, err);
        if (st)
            return st;
        if (end || l->at_end) {
            l->at += end ? n + 1 : n;
            return 0;
        }
        l->used = l->at;
        if (!bi_grow(l->env, &l->buffer, &l->cap, l->used + CHUNK + 1, 1))
            return bi_fail(err, BIOINFER_NOMEM, "%s: a line", l->path);
        if ((st = bi_gunzip_read(&l->input, l->buffer + l->used, CHUNK, &got, err)))
            return st;
        l->used += got;
        l->at_end = !got;
    }
}

static int count_tabs(const char *text, size_t n)
{
    int tabs = 0;
    for (size_t i = 0; i < n; i++)
        tabs += text[i] == '\t';
    return tabs;
}

/* Takes the line from l->at to `end`, where its end or a cut is. */
static int take_line(struct bioinfer_loci *l, char *end, bool cut, struct bioinfer_error *err)
{
    const size_t from = l->at, length = (size_t)(end - l->buffer) - l->at;
    int st = check_text(l, l->buffer + l->at, length, err);
    if (st)
        return st;
    l->too_long = cut && length + 1 >= LINE_SIZE && l->buffer[from] != '#' &&
                  count_tabs(l->buffer + from, length) < N_WANTED - 1;
    l->at += length + (l->at + length < l->used ? 1 : 0);
    if (cut && (st = skip_rest(l, err)))
        return st;
    l->line = l->buffer + from;
    l->length = length;
    l->number++;
    if (l->length && !cut && l->line[l->length - 1] == '\r')
        l->length--;
    l->line[l->length] = '\0';
    return 1;
}

/* 1 = a line without its end, and without what stands behind the columns that are wanted; 0 = no
 * more. */
static int next_line(struct bioinfer_loci *l, struct bioinfer_error *err)
{
    size_t seen = 0;
    if (l->held) {
        l->held = false;
        return 1;
    }
    for (;;) {
        const size_t n = l->used - l->at;
        char *end = n > seen ? memchr(l->buffer + l->at + seen, '\n', n - seen) : NULL;
        int st;
        if (!end && l->at_end && n)
            end = l->buffer + l->used; /* room for it was made */
        if (end)
            return take_line(l, end, false, err);
        if (l->at_end)
            return 0;
        if (n && (end = find_cut(l)))
            return take_line(l, end, true, err);
        seen = n;
        if ((st = read_more(l, err)))
            return st;
    }
}

/* ---- fields ---- */

static bool is_number(const char *text, int64_t *out)
{
    int64_t v = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || v > INT64_C(1) << 52)
            return false;
        v = v * 10 + (*text - '0');
    }
    *out = v;
    return true;
}

/* Is a line empty, or a comment? */
static bool is_nothing(const char *line)
{
    return !line[strspn(line, " \t")] || line[0] == '#';
}

/* Cuts the line at tabs, or at runs of spaces where it has no tab. */
static int cut(char *line, char **field)
{
    bool tabs = strchr(line, '\t') != NULL;
    int n = 0;
    while (n < N_WANTED) {
        size_t len;
        if (!tabs)
            line += strspn(line, " ");
        if (!tabs && !*line)
            break;
        field[n++] = line;
        len = strcspn(line, tabs ? "\t" : " ");
        if (!line[len])
            break;
        line[len] = '\0';
        line += len + 1;
    }
    return n;
}

static int unusable(struct bioinfer_loci *l, int status, const char *what, const char *value)
{
    snprintf(l->message, sizeof l->message, "%.800s: line %lld: %s%s%.60s%s", l->path,
             (long long)l->number, what, value ? " '" : "", value ? value : "", value ? "'" : "");
    l->of.status = status;
    l->of.message = l->message;
    return 1;
}

/* Says once what a line has that changes no result. */
static void name_once(const struct bioinfer_loci *l, bool *told, const char *what)
{
    if (!*told)
        bi_log(l->env, BIOINFER_LOG_NAMED, "%s: line %lld: %s", l->path, (long long)l->number,
               what);
    *told = true;
}

static void begin_locus(struct bioinfer_loci *l)
{
    l->of = (struct bioinfer_locus){.chrom = "",
                                    .name = "",
                                    .reference = "",
                                    .alternative = "",
                                    .message = "",
                                    .line = (uint64_t)l->number,
                                    .ordinal = l->ordinal++};
}

/* Ends a name that was cut with the number of the locus in the file, from 1. */
static void tell_apart(struct bioinfer_loci *l, bool was_cut)
{
    const size_t n = strlen(l->name);
    if (was_cut)
        snprintf(l->name + n, sizeof l->name - n, "_%llu", (unsigned long long)l->of.ordinal + 1);
}

/* ---- BED or VCF ---- */

/* Are n bytes letters of bases, some of which may stand for several bases? */
static bool are_letters(const char *text, size_t n)
{
    return n && strspn(text, "ACGTNRYSWKMBDHVacgtnryswkmbdhv") >= n;
}

/* Are n bytes alleles as ALT has them: bases, *, <NAME> or breakends, and commas between them? '.'
 * alone is none: the score of an interval may be one. */
static bool are_alleles(const char *text, size_t n)
{
    for (size_t at = 0;;) {
        const char *allele = text + at, *const comma = memchr(allele, ',', n - at);
        const size_t size = comma ? (size_t)(comma - allele) : n - at;
        if (!are_letters(allele, size) && !(size == 1 && *allele == '*') &&
            !(size > 2 && *allele == '<' && allele[size - 1] == '>') &&
            !memchr(allele, '[', size) && !memchr(allele, ']', size))
            return false;
        if (!comma)
            return true;
        at += size + 1;
    }
}

/* Does a line have alleles in columns 4 and 5, as VCF has and BED, whose fifth is a score, never?
 * The third tells nothing: an ID may be a number. An ALT of '.' counts where it is none. */
static bool looks_like_variant(const char *line)
{
    const bool tabs = strchr(line, '\t') != NULL;
    const char *field[5];
    size_t size[5];
    for (int i = 0; i < 5; i++) {
        line += tabs ? 0 : strspn(line, " ");
        field[i] = line;
        size[i] = strcspn(line, tabs ? "\t" : " ");
        line += size[i];
        if (!*line && i < 4)
            return false;
        line += *line != '\0';
    }
    if (!are_letters(field[3], size[3]))
        return false;
    return size[4] == 1 && *field[4] == '.' ? strspn(field[2], "0123456789") < size[2]
                                            : are_alleles(field[4], size[4]);
}

/* ---- BED ---- */

/* Is the line one for a browser: its first word says so, and no places follow? A contig may have
 * this name. */
static bool is_for_browser(char *line)
{
    const char *word = !strncmp(line, "track", 5) ? line + 5 : line + 7, *p = word;
    if (strncmp(line, "track", 5) && strncmp(line, "browser", 7))
        return false;
    if (*word && *word != ' ' && *word != '\t')
        return false;
    for (int i = 0; i < 2; i++) {
        p += strspn(p, " \t");
        if (!strspn(p, "0123456789"))
            return true;
        p += strspn(p, "0123456789");
        if (*p && *p != ' ' && *p != '\t')
            return true;
    }
    return false;
}

static int too_long(struct bioinfer_loci *l)
{
    char text[80];
    snprintf(text, sizeof text, "the columns that are wanted have more than %d bytes", LINE_SIZE);
    return unusable(l, BIOINFER_TOO_LONG, text, NULL);
}

static int next_interval(struct bioinfer_loci *l, struct bioinfer_error *err)
{
    char *field[N_WANTED] = {NULL};
    int n, st;
    do { /* comments, browser lines, empty lines */
        if ((st = next_line(l, err)) != 1)
            return st;
    } while (is_nothing(l->line) || is_for_browser(l->line));
    begin_locus(l);
    if (l->too_long)
        return too_long(l);
    if (looks_like_variant(l->line))
        return unusable(l, BIOINFER_FORMAT,
                        "REF and ALT of a variant among intervals: a file of variants begins with "
                        "##fileformat=VCFv4.2",
                        NULL);
    n = cut(l->line, field);
    if (n < 3)
        return unusable(l, BIOINFER_FORMAT, "expected contig, start and end, got", field[0]);
    l->of.chrom = field[0];
    if (!is_number(field[1], &l->of.start))
        return unusable(l, BIOINFER_FORMAT, "start is no number:", field[1]);
    if (!is_number(field[2], &l->of.end))
        return unusable(l, BIOINFER_FORMAT, "end is no number:", field[2]);
    if (l->of.start > l->of.end)
        return unusable(l, BIOINFER_FORMAT, "the start is after the end", NULL);
    if (n > 5 && *field[5] && strcmp(field[5], ".") && strcmp(field[5], "+") &&
        strcmp(field[5], "-"))
        return unusable(l, BIOINFER_FORMAT, "expected strand + - or . , got", field[5]);
    l->of.strand = n > 5 && *field[5] ? *field[5] : '.';
    if (l->of.strand == '-')
        name_once(l, &l->told_strand, "strand -: windows have the bases of the strand +");
    if (n > 6)
        name_once(l, &l->told_columns,
                  "columns after the sixth (blocks, the summit of a peak) are not read: a window "
                  "lies around the middle of its interval");
    if (n > 3 && *field[3] && strcmp(field[3], ".")) {
        snprintf(l->name, sizeof l->name, "%.200s", field[3]);
        tell_apart(l, strlen(field[3]) > 200);
    } else {
        snprintf(l->name, sizeof l->name, "%.200s:%lld-%lld", field[0], (long long)l->of.start,
                 (long long)l->of.end);
        tell_apart(l, strlen(field[0]) > 200);
    }
    l->of.name = l->name;
    return 1;
}

/* ---- VCF ---- */

static bool are_bases(const char *text)
{
    size_t n = strspn(text, "ACGTNacgtn");
    return n && n <= ALLELE_SIZE && !text[n];
}

/* The next allele of the line at hand. */
static int next_allele(struct bioinfer_loci *l)
{
    char *allele = l->alleles, *comma = strchr(allele, ',');
    const char *twin = l->first_allele; /* the first that is the same */
    l->alleles = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    while (twin < allele && strcasecmp(twin, allele))
        twin += strlen(twin) + 1;
    l->of.ordinal = l->ordinal++;
    l->of.alternative = allele;
    if (*l->id && strcmp(l->id, ".")) { /* names of one line's alleles differ */
        snprintf(l->name, sizeof l->name, "%.200s%s%.60s", l->id, l->several ? "_" : "",
                 l->several ? allele : "");
        tell_apart(l, strlen(l->id) > 200 || (l->several && strlen(allele) > 60));
    } else {
        snprintf(l->name, sizeof l->name, "%.100s_%lld_%.60s_%.60s", l->of.chrom,
                 (long long)l->of.start + 1, l->of.reference, allele);
        tell_apart(l, strlen(l->of.chrom) > 100 || strlen(l->of.reference) > 60 ||
                          strlen(allele) > 60);
    }
    l->of.name = l->name;
    l->of.status = 0;
    l->of.message = "";
    if (!are_bases(allele))
        return unusable(l, BIOINFER_UNSUPPORTED, "unsupported allele", allele);
    if (twin < allele)
        return unusable(l, BIOINFER_FORMAT, "ALT has an allele twice:", allele);
    return 1;
}

static int next_variant(struct bioinfer_loci *l, struct bioinfer_error *err)
{
    char *field[N_WANTED] = {NULL};
    int64_t pos;
    int n, st;
    if (l->alleles)
        return next_allele(l);
    do {
        if ((st = next_line(l, err)) != 1)
            return st;
    } while (is_nothing(l->line));
    begin_locus(l);
    if (l->too_long)
        return too_long(l);
    if ((n = cut(l->line, field)) < 5)
        return unusable(l, BIOINFER_FORMAT, "expected CHROM, POS, ID, REF and ALT, got", field[0]);
    l->of.chrom = field[0];
    if (!is_number(field[1], &pos))
        return unusable(l, BIOINFER_FORMAT, "POS is no number:", field[1]);
    l->of.start = pos - 1; /* -1: the telomere, off the contig */
    l->of.strand = '.';
    l->of.reference = field[3];
    if (!are_bases(field[3]))
        return unusable(l, BIOINFER_FORMAT, "REF is not bases:", field[3]);
    l->of.end = l->of.start + (int64_t)strlen(field[3]);
    if (n > 6 && *field[6] && strcmp(field[6], ".") && strcmp(field[6], "PASS"))
        name_once(l, &l->told_filter,
                  "FILTER is not PASS: variants are taken whatever their filters");
    l->id = field[2];
    l->several = strchr(field[4], ',') != NULL;
    l->first_allele = l->alleles = field[4];
    l->ordinal--; /* counted by its alleles */
    return next_allele(l);
}

/* Reads up to the first line that is no comment, which is held back: it, or a comment, tells
 * whether these are variants. */
static int read_head(struct bioinfer_loci *l, struct bioinfer_error *err)
{
    int st;
    while ((st = next_line(l, err)) == 1) {
        l->variants |= !strncmp(l->line, "##fileformat=VCF", 16) ||
                       !strncmp(l->line, "#CHROM\tPOS\t", 11);
        if (!strncmp(l->line, "#CHROM", 6) && strstr(l->line, "\tFORMAT"))
            name_once(l, &l->told_samples,
                      "genotypes are not read: each alternative allele is taken alone");
        if (is_nothing(l->line))
            continue;
        l->variants |= !l->too_long && looks_like_variant(l->line);
        l->held = true;
        return 0;
    }
    return st;
}

/* ---- public ---- */

static int open_stream(struct bioinfer_loci **out, const struct bi_env *env, const char *path,
                       struct bi_stream *stream, struct bioinfer_error *err)
{
    struct bioinfer_loci *l = bi_zalloc(env, sizeof *l);
    int st;
    *out = NULL;
    if (!l) {
        bi_stream_close(stream);
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    }
    l->env = env;
    if ((st = bi_gunzip_open(&l->input, stream, err)))
        goto out;
    l->input.records = true;
    if (!(l->path = bi_strdup(env, path))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s", path);
        goto out;
    }
    while (!st && !l->at_end && l->used < 64)
        st = read_more(l, err);
    if (st)
        goto out;
    l->at = bi_text_mark(l->buffer, l->used);
    if (l->used >= 5 && !memcmp(l->buffer, "BCF\2", 4)) {
        st = bi_fail(err, BIOINFER_UNSUPPORTED, "%s: BCF: write it as VCF (bcftools view)", path);
        goto out;
    }
    if ((st = read_head(l, err)))
        goto out;
    *out = l;
    l = NULL;
out:
    bi_loci_close(&l);
    return st;
}

int bi_loci_open(struct bioinfer_loci **out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    int st = bi_stream_open(&stream, env, path, err);
    *out = NULL;
    return st ? st : open_stream(out, env, path, &stream, err);
}

int bi_loci_open_memory(struct bioinfer_loci **out, const struct bi_env *env, const char *name,
                        const void *bytes, size_t size, struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    int st = bi_stream_from_memory(&stream, env, name, bytes, size, err);
    *out = NULL;
    return st ? st : open_stream(out, env, name, &stream, err);
}

bool bi_loci_are_variants(const struct bioinfer_loci *l)
{
    return l->variants;
}

int bi_loci_next(struct bioinfer_loci *l, struct bioinfer_locus *locus, struct bioinfer_error *err)
{
    int st = l->variants ? next_variant(l, err) : next_interval(l, err);
    if (st == 1)
        *locus = l->of;
    return st;
}

void bi_loci_close(struct bioinfer_loci **loci)
{
    struct bioinfer_loci *l = *loci;
    if (!l)
        return;
    bi_gunzip_close(&l->input);
    bi_free(l->env, l->buffer);
    bi_free(l->env, l->path);
    bi_free(l->env, l);
    *loci = NULL;
}

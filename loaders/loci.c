/* loci.c - BED and VCF, line by line.
 *
 * Sections: lines, fields, BED, VCF, public. */
#include "loci.h"

#include <stdio.h>
#include <string.h>

#include "gunzip.h"

enum { LINE_SIZE = 1 << 20, CHUNK = 65536, MAX_FIELDS = 12, ALLELE_SIZE = 100000 };

struct bioinfer_loci {
    const struct bi_env *env;
    struct bi_gunzip input;
    char *path;
    char *buffer; /* [0, used) read, of which [at, used) is not yet taken */
    size_t at, used, cap;
    bool at_end, variants, started;
    char *line; /* at hand: NUL-terminated in the buffer */
    size_t length;
    int64_t number; /* the line's, from 1 */
    uint64_t ordinal;
    /* VCF: what is left of the line's alleles, its ID, and whether they are several */
    char *alleles;
    const char *id;
    bool several;
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
    if (l->used >= LINE_SIZE)
        return bi_fail(err, BIOINFER_LIMIT, "%s: line %lld: more than %d bytes", l->path,
                       (long long)l->number + 1, LINE_SIZE);
    if (!bi_grow(l->env, &l->buffer, &l->cap, l->used + CHUNK + 1, 1))
        return bi_fail(err, BIOINFER_NOMEM, "%s: a line", l->path);
    if ((st = bi_gunzip_read(&l->input, l->buffer + l->used, CHUNK, &got, err)))
        return st;
    l->used += got;
    l->at_end = !got;
    return 0;
}

/* 1 = a line without its end, 0 = no more. */
static int next_line(struct bioinfer_loci *l, struct bioinfer_error *err)
{
    size_t seen = 0;
    for (;;) {
        char *end = l->used > l->at + seen
                        ? memchr(l->buffer + l->at + seen, '\n', l->used - l->at - seen)
                        : NULL;
        int st;
        if (!end && l->at_end && l->used > l->at)
            end = l->buffer + l->used; /* room for it was made */
        if (end) {
            l->line = l->buffer + l->at;
            l->length = (size_t)(end - l->line);
            l->at = (size_t)(end - l->buffer) + 1;
            l->at = l->at > l->used ? l->used : l->at;
            l->number++;
            if (l->length && l->line[l->length - 1] == '\r')
                l->length--;
            if (memchr(l->line, '\0', l->length))
                return bi_fail(err, BIOINFER_FORMAT,
                               "%s: line %lld: a NUL byte: this is neither "
                               "BED nor VCF",
                               l->path, (long long)l->number);
            l->line[l->length] = '\0';
            return 1;
        }
        if (l->at_end)
            return 0;
        seen = l->used - l->at;
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

/* Cuts the line at tabs, or at runs of spaces where it has no tab. */
static int cut(char *line, char **field)
{
    bool tabs = strchr(line, '\t') != NULL;
    int n = 0;
    while (n < MAX_FIELDS) {
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

/* ---- BED ---- */

static int next_interval(struct bioinfer_loci *l, struct bioinfer_error *err)
{
    char *field[MAX_FIELDS] = {NULL};
    int n, st;
    do { /* comments, browser lines, empty lines */
        if ((st = next_line(l, err)) != 1)
            return st;
    } while (!l->line[strspn(l->line, " \t")] || l->line[0] == '#' ||
             !strncmp(l->line, "track", 5) || !strncmp(l->line, "browser", 7));
    begin_locus(l);
    n = cut(l->line, field);
    if (n < 3)
        return unusable(l, BIOINFER_FORMAT, "expected contig, start and end, got", field[0]);
    l->of.chrom = field[0];
    if (!is_number(field[1], &l->of.start))
        return unusable(l, BIOINFER_FORMAT, "start is no number:", field[1]);
    if (!is_number(field[2], &l->of.end))
        return unusable(l, BIOINFER_FORMAT, "end is no number:", field[2]);
    if (l->of.start > l->of.end)
        return unusable(l, BIOINFER_FORMAT, "the start is behind the end", NULL);
    if (n > 5 && *field[5] && strcmp(field[5], ".") && strcmp(field[5], "+") &&
        strcmp(field[5], "-"))
        return unusable(l, BIOINFER_FORMAT, "expected strand + - or . , got", field[5]);
    l->of.strand = n > 5 && *field[5] ? *field[5] : '.';
    if (n > 3 && *field[3] && strcmp(field[3], "."))
        snprintf(l->name, sizeof l->name, "%.200s", field[3]);
    else
        snprintf(l->name, sizeof l->name, "%.200s:%lld-%lld", field[0], (long long)l->of.start,
                 (long long)l->of.end);
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
    l->alleles = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    l->of.ordinal = l->ordinal++;
    l->of.alternative = allele;
    if (*l->id && strcmp(l->id, ".")) /* names of one line's alleles differ */
        snprintf(l->name, sizeof l->name, "%.200s%s%.60s", l->id, l->several ? "_" : "",
                 l->several ? allele : "");
    else
        snprintf(l->name, sizeof l->name, "%.100s_%lld_%.60s_%.60s", l->of.chrom,
                 (long long)l->of.start + 1, l->of.reference, allele);
    l->of.name = l->name;
    l->of.status = 0;
    l->of.message = "";
    if (!are_bases(allele))
        return unusable(l, BIOINFER_UNSUPPORTED, "unsupported allele", allele);
    return 1;
}

static int next_variant(struct bioinfer_loci *l, struct bioinfer_error *err)
{
    char *field[MAX_FIELDS] = {NULL};
    int64_t pos;
    int st;
    if (l->alleles)
        return next_allele(l);
    do {
        if ((st = next_line(l, err)) != 1)
            return st;
    } while (!l->line[strspn(l->line, " \t")] || l->line[0] == '#');
    begin_locus(l);
    if (cut(l->line, field) < 5)
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
    l->id = field[2];
    l->several = strchr(field[4], ',') != NULL;
    l->alleles = field[4];
    l->ordinal--; /* counted by its alleles */
    return next_allele(l);
}

/* Does the file, of which the first bytes are there, begin with a text, at l->at? */
static bool begins(const struct bioinfer_loci *l, const char *text)
{
    const size_t n = strlen(text);
    return l->used - l->at >= n && !memcmp(l->buffer + l->at, text, n);
}

/* ---- public ---- */

/* The first line says what the rest is; it is read again. */
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
    l->variants = begins(l, "##fileformat=VCF") || begins(l, "#CHROM\tPOS\t");
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

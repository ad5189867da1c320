/* align_out.c - alignments as text. */
#include "align.h"

#include <stdlib.h>
#include <string.h>

enum { GAP_QUERY = 2, GAP_TARGET = 1, EQUAL = 7, DIFFERENT = 8 }; /* ops of a CIGAR */

static void put_id(struct cli_output *out, const char *id)
{
    cli_output_field(out, id);
}

/* Lines are many, and printf would take most of their time: numbers are made by hand, from the end
 * of `text` on; returns where they begin. */
enum { DIGITS = 24 };
static char *make_number(char text[DIGITS], int64_t x)
{
    char *p = text + DIGITS;
    uint64_t rest = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    do {
        *--p = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (x < 0)
        *--p = '-';
    return p;
}

static void put_number(const struct cli_align_out *w, int64_t x)
{
    char text[DIGITS], *p = make_number(text, x);
    cli_output_write(w->out, p, (size_t)(text + DIGITS - p));
}

static void put_text(const struct cli_align_out *w, const char *text)
{
    cli_output_write(w->out, text, strlen(text));
}

static void put_tab_number(const struct cli_align_out *w, int64_t x)
{
    put_text(w, "\t");
    put_number(w, x);
}

/* Points, with as many decimals as they have, at most three: scale divides 1000. As "%.10g". */
void cli_align_put_score(const struct cli_align_out *w, int64_t score)
{
    const int64_t scale = (int64_t)w->scale, most = 9999999;
    int64_t rest = (score < 0 ? -(score % scale) : score % scale) * (1000 / scale);
    char decimals[] = ".000";
    if (rest && (score / scale > most || score / scale < -most)) {
        cli_output_printf(w->out, "%.10g", (double)score / w->scale);
        return;
    }
    if (score < 0 && score > -scale)
        cli_output_write(w->out, "-", 1);
    put_number(w, score / scale);
    for (int k = 3; k; k--, rest /= 10)
        decimals[k] = (char)('0' + rest % 10);
    for (size_t n = sizeof decimals - 1; n > 1; n--)
        if (decimals[n - 1] != '0') {
            cli_output_write(w->out, decimals, n);
            return;
        }
}

/* n / of with six decimals, 0 <= n <= of, as printf rounds it. */
static void put_fraction(const struct cli_align_out *w, int64_t n, int64_t of)
{
    const int64_t millionths = n * 1000000 / of, rest = n * 1000000 % of;
    char text[DIGITS], *p;
    if (2 * rest == of) { /* printf knows on which side the double lies */
        cli_output_printf(w->out, "%.6f", (double)n / (double)of);
        return;
    }
    p = make_number(text, millionths + (2 * rest > of) + 10000000); /* 1x.xxxxxx without a point */
    p[0] = p[1];
    p[1] = '.';
    cli_output_write(w->out, p, 8);
}

/* Runs of a CIGAR, gathered; neighbours of one letter are joined: n waits for the next. */
struct runs {
    const struct cli_align_out *w;
    char text[512], last;
    size_t size;
    int64_t n;
};

static void flush_run(struct runs *r)
{
    char digits[DIGITS], *p;
    if (!r->n)
        return;
    if (r->size > sizeof r->text - DIGITS - 1) {
        cli_output_write(r->w->out, r->text, r->size);
        r->size = 0;
    }
    p = make_number(digits, r->n);
    memcpy(r->text + r->size, p, (size_t)(digits + DIGITS - p));
    r->size += (size_t)(digits + DIGITS - p);
    r->text[r->size++] = r->last;
}

static void add_run(struct runs *r, char op, int64_t length)
{
    if (!length)
        return;
    if (op != r->last) {
        flush_run(r);
        r->last = op;
        r->n = 0;
    }
    r->n += length;
}

/* `clips`: what stands for residues that free ends leave out: I and D, S and nothing, or
 * nothing at all. */
static void put_cigar(const struct cli_align_out *w, const struct bioinfer_record *q,
                      const struct bioinfer_record *t, const struct bioinfer_alignment *a,
                      const char *clips)
{
    struct runs r;
    r.w = w;
    r.last = 0;
    r.size = 0;
    r.n = 0;
    if (clips[0])
        add_run(&r, clips[0], a->query_begin);
    if (clips[0] && clips[1])
        add_run(&r, clips[1], a->target_begin);
    for (size_t k = 0; k < a->n_cigar; k++) {
        const int op = a->cigar[k] & 15;
        const char letter = w->plain && op >= EQUAL ? 'M' : "MIDNSHP=X"[op];

        add_run(&r, letter, a->cigar[k] >> 4);
    }
    if (clips[0])
        add_run(&r, clips[0], (int64_t)q->length - a->query_end);
    if (clips[0] && clips[1])
        add_run(&r, clips[1], (int64_t)t->length - a->target_end);
    flush_run(&r);
    cli_output_write(w->out, r.text, r.size);
}

/* Columns that free ends leave out, which count as gaps of the whole alignment; what a local one
 * leaves out is no part of it. */
static int64_t left_out(const struct cli_align_out *w, const struct bioinfer_record *q,
                        const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    if (w->local)
        return 0;
    return a->query_begin + a->target_begin + ((int64_t)q->length - a->query_end) +
           ((int64_t)t->length - a->target_end);
}

int64_t cli_align_columns(const struct cli_align_out *w, const struct bioinfer_record *query,
                          const struct bioinfer_record *target, const struct bioinfer_alignment *a)
{
    return a->columns + left_out(w, query, target, a);
}

/* Where the query's piece lies on its own letters, which may have been aligned as their reverse
 * complement; from 0, the end not included. */
static void query_range(const struct cli_align_out *w, const struct bioinfer_record *q,
                        const struct bioinfer_alignment *a, int64_t *begin, int64_t *end)
{
    *begin = w->reverse ? (int64_t)q->length - a->query_end : a->query_begin;
    *end = w->reverse ? (int64_t)q->length - a->query_begin : a->query_end;
}

static void put_tsv(const struct cli_align_out *w, const struct bioinfer_record *q,
                    const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    put_id(w->out, q->id);
    cli_output_write(w->out, "\t", 1);
    put_id(w->out, t->id);
    cli_output_write(w->out, "\t", 1);
    cli_align_put_score(w, a->score);
    if (!w->score_only) {
        const int64_t columns = a->columns + left_out(w, q, t, a);
        put_text(w, "\t");
        put_fraction(w, a->identities, columns ? columns : 1);
        if (w->both_strands)
            put_text(w, w->reverse ? "\t-" : "\t+");
        if (w->local) { /* from 1, ends included; 0 and 0 where nothing is aligned */
            int64_t begin, end;
            query_range(w, q, a, &begin, &end);
            put_tab_number(w, columns ? begin + 1 : 0);
            put_tab_number(w, columns ? end : 0);
            put_tab_number(w, a->target_begin + (columns > 0));
            put_tab_number(w, a->target_end);
        }
        if (!w->no_cigar)
            put_text(w, "\t");
        if (!w->no_cigar && columns)
            put_cigar(w, q, t, a, w->local ? "" : "ID");
        else if (!w->no_cigar)
            put_text(w, "*");
    }
    if (w->score_only && w->both_strands)
        put_text(w, w->reverse ? "\t-" : "\t+");
    cli_output_write(w->out, "\n", 1);
}

/* AS is whole in SAM and PAF; a score that is not has a tag of our own. */
static void put_score_tag(const struct cli_align_out *w, int64_t score)
{
    put_text(w, score % (int64_t)w->scale ? "\tas:f:" : "\tAS:i:");
    cli_align_put_score(w, score);
}

/* Columns whose letters differ or that are gaps, as NM counts them: of nucleotides N is equal to
 * nothing (samtools calmd, minimap2), though CIGARs have = for two of them. */
static int64_t differences(const struct cli_align_out *w, const struct bioinfer_record *q,
                           const struct bioinfer_alignment *a)
{
    int64_t n = a->columns - a->identities, i = a->query_begin;
    for (size_t k = 0; w->nucleotides && k < a->n_cigar; k++) {
        const int64_t length = a->cigar[k] >> 4;
        const int op = a->cigar[k] & 15;
        for (int64_t x = i; op == EQUAL && x < i + length; x++)
            n += q->sequence[x] == 'N' || q->sequence[x] == 'n';
        i += op == GAP_QUERY ? 0 : length;
    }
    return n;
}

/* The columns of PAF: 0-based, ends not included; matches, columns, 255 = no quality. */
static void put_paf(const struct cli_align_out *w, const struct bioinfer_record *q,
                    const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    const int64_t different = differences(w, q, a);
    int64_t begin, end;
    query_range(w, q, a, &begin, &end);
    put_id(w->out, q->id);
    put_tab_number(w, (int64_t)q->length);
    put_tab_number(w, begin);
    put_tab_number(w, end);
    put_text(w, w->reverse ? "\t-\t" : "\t+\t");
    put_id(w->out, t->id);
    put_tab_number(w, (int64_t)t->length);
    put_tab_number(w, a->target_begin);
    put_tab_number(w, a->target_end);
    put_tab_number(w, a->columns - different);
    put_tab_number(w, a->columns);
    put_text(w, "\t255\tNM:i:");
    put_number(w, different);
    put_score_tag(w, a->score);
    if (a->n_cigar) {
        put_text(w, "\tcg:Z:");
        put_cigar(w, q, t, a, "");
    }
    cli_output_write(w->out, "\n", 1);
}

/* Whether SAM can name a target or a read so. */
static bool is_sam_name(const char *id, bool target)
{
    if (target ? *id == '*' || *id == '=' : !strcmp(id, "*") || strlen(id) > 254)
        return false;
    for (const char *c = id; *c; c++)
        if (*c < '!' || *c > '~' || strchr(target ? "\\,\"'`()[]{}<>" : "@", *c))
            return false;
    return *id;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The name that two targets have, or NULL; names: room for all of them. */
static const char *twice(const struct bioinfer_record *targets, size_t n, const char **names)
{
    for (size_t i = 0; i < n; i++)
        names[i] = targets[i].id;
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(names[i - 1], names[i]))
            return names[i];
    return NULL;
}

int cli_align_check_sam(struct cli *cli, const struct bioinfer_record *queries, size_t n_queries,
                        const struct bioinfer_record *targets, size_t n_targets)
{
    const char **names, *name = NULL;
    for (size_t i = 0; !name && i < n_targets; i++)
        if (!is_sam_name(targets[i].id, true)) {
            name = targets[i].id;
            cli_say(cli,
                    "target %s: SAM has no such names: expected one that does not begin with "
                    "* or =, of printable ASCII without \\ , \" ' ` ( ) [ ] { } < >; --format paf "
                    "takes it",
                    name);
        }
    for (size_t i = 0; !name && i < n_queries; i++)
        if (!is_sam_name(queries[i].id, false)) {
            name = queries[i].id;
            cli_say(cli,
                    "query %.300s: SAM has no such names: expected up to 254 printable ASCII "
                    "characters but @, and not * alone; --format paf takes it",
                    name);
        }
    if (name)
        return CLI_EXIT_DATA;
    if (!(names = malloc((n_targets + 1) * sizeof *names)))
        return cli_fail(cli, CLI_AT_READ, BIOINFER_NOMEM, NULL);
    if ((name = twice(targets, n_targets, names)))
        cli_say(cli,
                "two targets are named %s: SAM tells targets by their names; --format paf "
                "takes them",
                name);
    free(names);
    return name ? CLI_EXIT_DATA : CLI_EXIT_OK;
}

static void put_sam(const struct cli_align_out *w, const struct bioinfer_record *q,
                    const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    put_id(w->out, q->id);
    if (a->n_cigar) {
        put_text(w, w->reverse ? "\t16\t" : "\t0\t");
        put_id(w->out, t->id);
        put_tab_number(w, a->target_begin + 1);
        put_text(w, "\t255\t");
        put_cigar(w, q, t, a, "S");
    } else { /* nothing is aligned: a read without a place */
        put_text(w, "\t4\t*\t0\t0\t*");
    }
    put_text(w, "\t*\t0\t0\t");
    cli_output_write(w->out, q->sequence, q->length);
    put_text(w, "\t*");
    put_score_tag(w, a->score);
    if (a->n_cigar) {
        put_text(w, "\tNM:i:");
        put_number(w, differences(w, q, a));
    }
    put_text(w, "\n");
}

/* The columns of BLAST's -outfmt 6, of numbers as it writes them. */
static void put_blast(const struct cli_align_out *w, const struct bioinfer_record *q,
                      const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    const double points = (double)a->score / w->scale, bits = cli_align_bits(&w->stats, points);
    const double e = cli_align_evalue(&w->stats, points, q->length, t->length);
    int64_t openings = 0, begin, end;
    for (size_t k = 0; k < a->n_cigar; k++)
        openings += (a->cigar[k] & 15) < EQUAL;
    put_id(w->out, q->id);
    put_text(w, "\t");
    put_id(w->out, t->id);
    cli_output_printf(w->out, "\t%.3f", 100.0 * (double)a->identities / (double)a->columns);
    put_tab_number(w, a->columns);
    put_tab_number(w, a->columns - a->identities - a->gaps);
    put_tab_number(w, openings);
    query_range(w, q, a, &begin, &end);
    put_tab_number(w, begin + 1);
    put_tab_number(w, end);
    put_tab_number(w, w->reverse ? a->target_end : a->target_begin + 1);
    put_tab_number(w, w->reverse ? a->target_begin + 1 : a->target_end);
    cli_output_printf(w->out,
                      e < 1e-180   ? "\t0.0"
                      : e < 0.0009 ? "\t%.2e"
                      : e < 0.1    ? "\t%.3f"
                      : e < 1      ? "\t%.2f"
                      : e < 10     ? "\t%.1f"
                                   : "\t%.0f",
                      e);
    /* BLAST cuts the fraction of what is above 99.9, and writes an exponent from 10^5 on. */
    if (bits > 99999)
        cli_output_printf(w->out, "\t%.3e\n", bits);
    else if (bits > 99.9)
        cli_output_printf(w->out, "\t%lld\n", (long long)bits);
    else
        cli_output_printf(w->out, "\t%.1f\n", bits);
}

/* ---- needle ---- */

enum { LINE = 50 };
static const char needle_bar[] = "########################################\n";

struct lines {
    char query[LINE + 1], middle[LINE + 1], target[LINE + 1];
    int n;
    int64_t i, j, from_i, from_j;
};

static void flush_lines(const struct cli_align_out *w, const struct bioinfer_record *q,
                        const struct bioinfer_record *t, struct lines *l)
{
    if (!l->n)
        return;
    l->query[l->n] = l->middle[l->n] = l->target[l->n] = 0;
    cli_output_printf(w->out, "%-13.13s %6lld %s %6lld\n", q->id,
                      (long long)l->from_i + (l->i > l->from_i), l->query, (long long)l->i);
    cli_output_printf(w->out, "%20s %s\n", "", l->middle);
    cli_output_printf(w->out, "%-13.13s %6lld %s %6lld\n\n", t->id,
                      (long long)l->from_j + (l->j > l->from_j), l->target, (long long)l->j);
    l->n = 0;
    l->from_i = l->i;
    l->from_j = l->j;
}

/* Gives the character that needle puts between two letters: a point for a score above 0, and one
 * where the query's letter has such a score with itself, which X and codes of several nucleotides
 * have not. */
static char between(const struct cli_align_out *w, char a, char b)
{
    int self = 0, score = 0;
    bioinfer_align_score(w->align, a, a, &self);
    bioinfer_align_score(w->align, a, b, &score);
    return self > 0 && score > 0 ? (a == b ? '|' : ':') : self > 0 || score > 0 ? '.' : ' ';
}

/* `length` columns of one op. */
static void add_columns(const struct cli_align_out *w, const struct bioinfer_record *q,
                        const struct bioinfer_record *t, struct lines *l, int op, int64_t length)
{
    for (int64_t x = 0; x < length; x++) {
        const char a = op == GAP_QUERY ? '-' : q->sequence[l->i++];
        const char b = op == GAP_TARGET ? '-' : t->sequence[l->j++];
        l->query[l->n] = a;
        l->target[l->n] = b;
        l->middle[l->n++] = op == GAP_QUERY || op == GAP_TARGET ? ' ' : between(w, a, b);
        if (l->n == LINE)
            flush_lines(w, q, t, l);
    }
}

/* A number as needle writes it: with a decimal, and with all it has. */
static void put_decimals(const struct cli_align_out *w, double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.10g", x);
    cli_output_printf(w->out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void put_decimal(const struct cli_align_out *w, const char *what, double x)
{
    cli_output_printf(w->out, "# %s: ", what);
    put_decimals(w, x);
    cli_output_write(w->out, "\n", 1);
}

/* The same of both pieces of a gap, where it has two. */
static void put_cost(const struct cli_align_out *w, const char *what, double one, double two)
{
    cli_output_printf(w->out, "# %s: ", what);
    put_decimals(w, one);
    if (w->open2) {
        cli_output_write(w->out, ",", 1);
        put_decimals(w, two);
    }
    cli_output_write(w->out, "\n", 1);
}

static void put_share(const struct cli_align_out *w, const char *what, int64_t n, int64_t of)
{
    cli_output_printf(w->out, "# %-11s %5lld/%lld (%4.1f%%)\n", what, (long long)n, (long long)of,
                      of ? 100.0 * (double)n / (double)of : 0.0);
}

/* Columns that needle counts as equal: to it U and T, which score as one letter, differ. */
static int64_t same_letters(const struct bioinfer_record *q, const struct bioinfer_record *t,
                            const struct bioinfer_alignment *a)
{
    int64_t n = a->identities, i = a->query_begin, j = a->target_begin;
    for (size_t k = 0; k < a->n_cigar; k++) {
        const int64_t length = a->cigar[k] >> 4;
        const int op = a->cigar[k] & 15;
        for (int64_t x = 0; op == EQUAL && x < length; x++)
            n -= (q->sequence[i + x] | 32) != (t->sequence[j + x] | 32);
        i += op == GAP_QUERY ? 0 : length;
        j += op == GAP_TARGET ? 0 : length;
    }
    return n;
}

static void put_needle(const struct cli_align_out *w, const struct bioinfer_record *q,
                       const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    static const char bar[] = "#=======================================\n";
    const int64_t outside = left_out(w, q, t, a), columns = a->columns + outside;
    struct lines l = {.n = 0};
    if (w->local) {
        l.i = l.from_i = a->query_begin;
        l.j = l.from_j = a->target_begin;
    }

    cli_output_printf(w->out, "%s#\n# Aligned_sequences: 2\n# 1: %s\n# 2: %s\n# Matrix: %s\n", bar,
                      q->id, t->id, w->matrix);
    put_cost(w, "Gap_penalty", w->open, w->open2);
    put_cost(w, "Extend_penalty", w->extend, w->extend2);
    cli_output_printf(w->out, "#\n# Length: %lld\n", (long long)columns);
    put_share(w, "Identity:", same_letters(q, t, a), columns);
    put_share(w, "Similarity:", a->similarities, columns);
    put_share(w, "Gaps:", a->gaps + outside, columns);
    put_decimal(w, "Score", (double)a->score / w->scale);
    cli_output_printf(w->out, "# \n#\n%s\n", bar);
    add_columns(w, q, t, &l, GAP_TARGET, w->local ? 0 : a->query_begin);
    add_columns(w, q, t, &l, GAP_QUERY, w->local ? 0 : a->target_begin);
    for (size_t k = 0; k < a->n_cigar; k++)
        add_columns(w, q, t, &l, a->cigar[k] & 15, a->cigar[k] >> 4);
    add_columns(w, q, t, &l, GAP_TARGET, w->local ? 0 : (int64_t)q->length - a->query_end);
    add_columns(w, q, t, &l, GAP_QUERY, w->local ? 0 : (int64_t)t->length - a->target_end);
    flush_lines(w, q, t, &l);
    cli_output_printf(w->out, "\n");
}

/* ---- fasta ---- */

/* A row that is being written: letters of a record, and gaps between them. */
struct row {
    const struct cli_align_out *w;
    const char *letters; /* the next one */
};

static void add_letters(struct row *row, int64_t n)
{
    cli_output_write(row->w->out, row->letters, (size_t)n);
    row->letters += n;
}

static void add_gaps(struct row *row, int64_t n)
{
    static const char gaps[] = "----------------------------------------------------------------";
    for (; n > 0; n -= (int64_t)sizeof gaps - 1)
        cli_output_write(row->w->out, gaps,
                         n < (int64_t)sizeof gaps - 1 ? (size_t)n : sizeof gaps - 1);
}

static void begin_row(struct row *row, const struct bioinfer_record *r, const char *words)
{
    put_text(row->w, ">");
    put_id(row->w->out, r->id);
    put_text(row->w, words);
    put_text(row->w, "\n");
    row->letters = r->sequence;
}

/* Two records of as many columns; residues that free ends leave out face gaps. Behind the query's
 * name stands its strand, where both were aligned. */
static void put_fasta(const struct cli_align_out *w, const struct bioinfer_record *q,
                      const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    struct row row = {.w = w};
    begin_row(&row, q, !w->both_strands ? "" : w->reverse ? " strand=-" : " strand=+");
    add_letters(&row, a->query_begin);
    add_gaps(&row, a->target_begin);
    for (size_t k = 0; k < a->n_cigar; k++)
        ((a->cigar[k] & 15) == GAP_QUERY ? add_gaps : add_letters)(&row, a->cigar[k] >> 4);
    add_letters(&row, (int64_t)q->length - a->query_end);
    add_gaps(&row, (int64_t)t->length - a->target_end);
    cli_output_write(w->out, "\n", 1);
    begin_row(&row, t, "");
    add_gaps(&row, a->query_begin);
    add_letters(&row, a->target_begin);
    for (size_t k = 0; k < a->n_cigar; k++)
        ((a->cigar[k] & 15) == GAP_TARGET ? add_gaps : add_letters)(&row, a->cigar[k] >> 4);
    add_gaps(&row, (int64_t)q->length - a->query_end);
    add_letters(&row, (int64_t)t->length - a->target_end);
    cli_output_write(w->out, "\n", 1);
}

/* The same of the pieces that a local alignment aligns. */
static void put_pieces(const struct cli_align_out *w, const struct bioinfer_record *q,
                       const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    struct bioinfer_record query = *q, target = *t;
    struct bioinfer_alignment whole = *a;
    query.sequence += a->query_begin;
    target.sequence += a->target_begin;
    query.length = (size_t)(a->query_end - a->query_begin);
    target.length = (size_t)(a->target_end - a->target_begin);
    whole.query_begin = whole.target_begin = 0;
    whole.query_end = (int64_t)query.length;
    whole.target_end = (int64_t)target.length;
    put_fasta(w, &query, &target, &whole);
}

/* ---- JSON ---- */

void cli_align_put_json(const struct cli_align_out *w, const struct bioinfer_record *query,
                        const struct bioinfer_record *target, const struct bioinfer_alignment *a)
{
    put_text(w, ",\"score\":");
    cli_align_put_score(w, a->score);
    if (w->score_only)
        return;
    put_text(w, ",\"query_begin\":");
    put_number(w, a->query_begin);
    put_text(w, ",\"query_end\":");
    put_number(w, a->query_end);
    put_text(w, ",\"target_begin\":");
    put_number(w, a->target_begin);
    put_text(w, ",\"target_end\":");
    put_number(w, a->target_end);
    put_text(w, ",\"identity\":");
    const int64_t columns = a->columns + left_out(w, query, target, a);
    put_fraction(w, a->identities, columns ? columns : 1);
    put_text(w, ",\"cigar\":\"");
    put_cigar(w, query, target, a, "");
    put_text(w, "\"");
}

/* ---- any format ---- */

bool cli_align_are_nucleotides(const bioinfer_task *align)
{
    static const char nucleotides[] = "ACGT", others[] = "EFILPQ";
    int score;
    for (const char *c = nucleotides; *c; c++)
        if (bioinfer_align_score(align, *c, *c, &score))
            return false;
    for (const char *c = others; *c; c++)
        if (!bioinfer_align_score(align, *c, *c, &score))
            return false;
    return true;
}

const char *cli_align_title(const struct cli_align_out *w)
{
#define PLAIN "query\ttarget\tscore"
#define IDENTITY PLAIN "\tidentity"
#define RANGES "\tquery_start\tquery_end\ttarget_start\ttarget_end"
    static const char *const titles[2][5] = {
        {PLAIN "\n", IDENTITY "\tcigar\n", IDENTITY RANGES "\tcigar\n", IDENTITY "\n",
         IDENTITY RANGES "\n"},
        {PLAIN "\tstrand\n", IDENTITY "\tstrand\tcigar\n", IDENTITY "\tstrand" RANGES "\tcigar\n",
         IDENTITY "\tstrand\n", IDENTITY "\tstrand" RANGES "\n"}};
#undef RANGES
#undef IDENTITY
#undef PLAIN
    return strcmp(w->format, "tsv")
               ? ""
               : titles[w->both_strands][w->score_only ? 0 : 1 + w->local + 2 * w->no_cigar];
}

void cli_align_head(const struct cli_align_out *w, const struct bioinfer_record *targets,
                    size_t n_targets)
{
    cli_output_printf(w->out, "%s", cli_align_title(w));
    if (!strcmp(w->format, "needle")) {
        cli_output_printf(w->out,
                          "%s# Program: bioinfer\n# Align_format: srspair\n"
                          "# Report_file: ",
                          needle_bar);
        cli_output_field(w->out, w->path ? w->path : "stdout");
        cli_output_printf(w->out, "\n%s\n", needle_bar);
    }
    if (strcmp(w->format, "sam"))
        return;
    cli_output_printf(w->out, "@HD\tVN:1.6\tSO:unknown\n");
    for (size_t i = 0; i < n_targets; i++) {
        if (!targets[i].length) /* it has no result */
            continue;
        cli_output_printf(w->out, "@SQ\tSN:");
        put_id(w->out, targets[i].id);
        cli_output_printf(w->out, "\tLN:%zu\n", targets[i].length);
    }
    cli_output_printf(w->out, "@PG\tID:bioinfer\tPN:bioinfer\tVN:%s\n", bioinfer_version());
}

bool cli_align_has_head(const struct cli_align_out *w)
{
    return !strcmp(w->format, "sam") || !strcmp(w->format, "needle");
}

const char *cli_align_tail(const struct cli_align_out *w)
{
    return strcmp(w->format, "needle") ? ""
                                       : "#---------------------------------------\n"
                                         "#---------------------------------------\n";
}

bool cli_align_keeps(const struct cli_align_out *w, const struct bioinfer_record *query,
                     const struct bioinfer_record *target, const struct bioinfer_alignment *a)
{
    if (w->format[0] == 'b' &&
        (a->score <= 0 || cli_align_evalue(&w->stats, (double)a->score / w->scale, query->length,
                                           target->length) > w->stats.most))
        return false;
    if (w->has_least && (double)a->score < w->least * w->scale)
        return false;
    const int64_t columns = a->columns + left_out(w, query, target, a);
    return w->least_identity <= 0 ||
           (columns && (double)a->identities >= w->least_identity * (double)columns);
}

void cli_align_put(const struct cli_align_out *w, const struct bioinfer_record *query,
                   const struct bioinfer_record *target, const struct bioinfer_alignment *a)
{
    switch (w->format[0]) {
    case 'p':
        put_paf(w, query, target, a);
        break;
    case 's':
        put_sam(w, query, target, a);
        break;
    case 'n':
        put_needle(w, query, target, a);
        break;
    case 'b':
        put_blast(w, query, target, a);
        break;
    case 'f':
        (w->local ? put_pieces : put_fasta)(w, query, target, a);
        break;
    default:
        put_tsv(w, query, target, a);
    }
}

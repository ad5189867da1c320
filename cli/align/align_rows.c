/* align_rows.c - alignments as rows of letters: as EMBOSS needle writes them, and aligned FASTA. */
#include "align_text.h"

#include <stdio.h>
#include <string.h>

/* ---- needle ---- */

enum { LINE = 50 };
const char cli_needle_bar[] = "########################################\n";

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

void cli_align_put_needle(const struct cli_align_out *w, const struct bioinfer_record *q,
                          const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    static const char bar[] = "#=======================================\n";
    const int64_t outside = cli_align_left_out(w, q, t, a), columns = a->columns + outside;
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
    cli_align_put_text(row->w, ">");
    cli_output_field(row->w->out, r->id);
    cli_align_put_text(row->w, words);
    cli_align_put_text(row->w, "\n");
    row->letters = r->sequence;
}

/* Two records of as many columns; residues that free ends leave out face gaps. After the query's
 * name stands its strand, where both were aligned. */
void cli_align_put_fasta(const struct cli_align_out *w, const struct bioinfer_record *q,
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
void cli_align_put_pieces(const struct cli_align_out *w, const struct bioinfer_record *q,
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
    cli_align_put_fasta(w, &query, &target, &whole);
}

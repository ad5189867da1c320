/* align_out.c - alignments as text. */
#include "cli.h"

#include <ctype.h>
#include <string.h>

enum { GAP_QUERY = 2, GAP_TARGET = 1, EQUAL = 7, DIFFERENT = 8 }; /* ops of a CIGAR */

static void put_id(struct cli_output *out, const char *id)
{
    cli_output_field(out, id);
}

/* Points, with as many decimals as they have. */
static void put_score(const struct cli_align_out *w, int64_t score)
{
    char digits[24], *p = digits + sizeof digits;
    uint64_t rest = score < 0 ? 0 - (uint64_t)score : (uint64_t)score;

    if (w->scale > 1) {
        cli_output_printf(w->out, "%.10g", (double)score / w->scale);
        return;
    }
    do { /* many lines: printf would take most of their time */
        *--p = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (score < 0)
        *--p = '-';
    cli_output_write(w->out, p, (size_t)(digits + sizeof digits - p));
}

/* One run; neighbours of one letter are joined: *n waits for the next. */
static void put_run(const struct cli_align_out *w, char op, int64_t length, char *last,
                    int64_t *waiting)
{
    if (!length)
        return;
    if (op == *last) {
        *waiting += length;
        return;
    }
    if (*waiting)
        cli_output_printf(w->out, "%lld%c", (long long)*waiting, *last);
    *last = op;
    *waiting = length;
}

/* `clips`: what stands for residues that free ends leave out: I and D, S and nothing, or
 * nothing at all. */
static void put_cigar(const struct cli_align_out *w, const struct bioinfer_record *q,
                      const struct bioinfer_record *t, const struct bioinfer_alignment *a,
                      const char *clips)
{
    char last = 0;
    int64_t waiting = 0;

    if (clips[0])
        put_run(w, clips[0], a->query_begin, &last, &waiting);
    if (clips[0] && clips[1])
        put_run(w, clips[1], a->target_begin, &last, &waiting);
    for (size_t k = 0; k < a->n_cigar; k++) {
        const int op = a->cigar[k] & 15;
        const char letter = w->plain && op >= EQUAL ? 'M' : "MIDNSHP=X"[op];
        put_run(w, letter, a->cigar[k] >> 4, &last, &waiting);
    }
    if (clips[0])
        put_run(w, clips[0], (int64_t)q->length - a->query_end, &last, &waiting);
    if (clips[0] && clips[1])
        put_run(w, clips[1], (int64_t)t->length - a->target_end, &last, &waiting);
    if (waiting)
        cli_output_printf(w->out, "%lld%c", (long long)waiting, last);
}

/* Columns that free ends leave out, which count as gaps of the whole alignment. */
static int64_t left_out(const struct bioinfer_record *q, const struct bioinfer_record *t,
                        const struct bioinfer_alignment *a)
{
    return a->query_begin + a->target_begin + ((int64_t)q->length - a->query_end) +
           ((int64_t)t->length - a->target_end);
}

static void put_tsv(const struct cli_align_out *w, const struct bioinfer_record *q,
                    const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    put_id(w->out, q->id);
    cli_output_write(w->out, "\t", 1);
    put_id(w->out, t->id);
    cli_output_write(w->out, "\t", 1);
    put_score(w, a->score);
    if (!w->score_only) {
        cli_output_printf(w->out, "\t%.6f\t",
                          (double)a->identities / (double)(a->columns + left_out(q, t, a)));
        put_cigar(w, q, t, a, "ID");
    }
    cli_output_write(w->out, "\n", 1);
}

/* The columns of PAF: 0-based, ends not included; matches, columns, 255 = no quality. */
static void put_paf(const struct cli_align_out *w, const struct bioinfer_record *q,
                    const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    put_id(w->out, q->id);
    cli_output_printf(w->out, "\t%zu\t%lld\t%lld\t+\t", q->length, (long long)a->query_begin,
                      (long long)a->query_end);
    put_id(w->out, t->id);
    cli_output_printf(w->out, "\t%zu\t%lld\t%lld\t%lld\t%lld\t255\tNM:i:%lld\tAS:%c:", t->length,
                      (long long)a->target_begin, (long long)a->target_end,
                      (long long)a->identities, (long long)a->columns,
                      (long long)(a->columns - a->identities), w->scale > 1 ? 'f' : 'i');
    put_score(w, a->score);
    cli_output_printf(w->out, "\tcg:Z:");
    put_cigar(w, q, t, a, "");
    cli_output_write(w->out, "\n", 1);
}

static void put_sam(const struct cli_align_out *w, const struct bioinfer_record *q,
                    const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    put_id(w->out, q->id);
    cli_output_printf(w->out, "\t0\t");
    put_id(w->out, t->id);
    cli_output_printf(w->out, "\t%lld\t255\t", (long long)a->target_begin + 1);
    put_cigar(w, q, t, a, "S");
    cli_output_printf(w->out, "\t*\t0\t0\t");
    cli_output_write(w->out, q->sequence, q->length);
    cli_output_printf(w->out, "\t*\tAS:%c:", w->scale > 1 ? 'f' : 'i');
    put_score(w, a->score);
    cli_output_printf(w->out, "\tNM:i:%lld\n", (long long)(a->columns - a->identities));
}

/* ---- needle ---- */

enum { LINE = 50 };

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
    cli_output_printf(w->out, "%-13.13s %6lld %-50s %6lld\n", q->id,
                      (long long)l->from_i + (l->i > l->from_i), l->query, (long long)l->i);
    cli_output_printf(w->out, "%20s %s\n", "", l->middle);
    cli_output_printf(w->out, "%-13.13s %6lld %-50s %6lld\n\n", t->id,
                      (long long)l->from_j + (l->j > l->from_j), l->target, (long long)l->j);
    l->n = 0;
    l->from_i = l->i;
    l->from_j = l->j;
}

/* `length` columns of one op; 0: of no gap. */
static void add_columns(const struct cli_align_out *w, const struct bioinfer_record *q,
                        const struct bioinfer_record *t, struct lines *l, int op, int64_t length)
{
    for (int64_t x = 0; x < length; x++) {
        const char a = op == GAP_QUERY ? '-' : q->sequence[l->i++];
        const char b = op == GAP_TARGET ? '-' : t->sequence[l->j++];
        int score = 0;
        if (op != GAP_QUERY && op != GAP_TARGET)
            bioinfer_aligner_score(w->aligner, a, b, &score);
        l->query[l->n] = a;
        l->target[l->n] = b;
        l->middle[l->n++] = op == EQUAL                               ? '|'
                            : op == GAP_QUERY || op == GAP_TARGET     ? ' '
                            : score > 0                               ? ':'
                                                                      : '.';
        if (l->n == LINE)
            flush_lines(w, q, t, l);
    }
}

static void put_share(const struct cli_align_out *w, const char *what, int64_t n, int64_t of)
{
    cli_output_printf(w->out, "# %-12s %6lld/%lld (%.1f%%)\n", what, (long long)n, (long long)of,
                      100.0 * (double)n / (double)of);
}

static void put_needle(const struct cli_align_out *w, const struct bioinfer_record *q,
                       const struct bioinfer_record *t, const struct bioinfer_alignment *a)
{
    static const char bar[] = "#=======================================\n";
    const int64_t outside = left_out(q, t, a), columns = a->columns + outside;
    struct lines l = {.n = 0};

    cli_output_printf(w->out, "%s#\n# Aligned_sequences: 2\n# 1: %s\n# 2: %s\n# Matrix: %s\n", bar,
                      q->id, t->id, w->matrix);
    cli_output_printf(w->out, "# Gap_penalty: %.10g\n# Extend_penalty: %.10g\n#\n# Length: %lld\n",
                      w->open, w->extend, (long long)columns);
    put_share(w, "Identity:", a->identities, columns);
    put_share(w, "Similarity:", a->similarities, columns);
    put_share(w, "Gaps:", a->gaps + outside, columns);
    cli_output_printf(w->out, "# Score: ");
    put_score(w, a->score);
    cli_output_printf(w->out, "\n#\n#\n%s\n", bar);
    add_columns(w, q, t, &l, GAP_TARGET, a->query_begin);
    add_columns(w, q, t, &l, GAP_QUERY, a->target_begin);
    for (size_t k = 0; k < a->n_cigar; k++)
        add_columns(w, q, t, &l, a->cigar[k] & 15, a->cigar[k] >> 4);
    add_columns(w, q, t, &l, GAP_TARGET, (int64_t)q->length - a->query_end);
    add_columns(w, q, t, &l, GAP_QUERY, (int64_t)t->length - a->target_end);
    flush_lines(w, q, t, &l);
    cli_output_printf(w->out, "\n");
}

/* ---- any format ---- */

void cli_align_head(const struct cli_align_out *w, const struct bioinfer_record *targets,
                    size_t n_targets)
{
    if (!strcmp(w->format, "tsv"))
        cli_output_printf(w->out, w->score_only ? "query\ttarget\tscore\n"
                                                : "query\ttarget\tscore\tidentity\tcigar\n");
    if (strcmp(w->format, "sam"))
        return;
    cli_output_printf(w->out, "@HD\tVN:1.6\tSO:unknown\n");
    for (size_t i = 0; i < n_targets; i++) {
        cli_output_printf(w->out, "@SQ\tSN:");
        put_id(w->out, targets[i].id);
        cli_output_printf(w->out, "\tLN:%zu\n", targets[i].length);
    }
    cli_output_printf(w->out, "@PG\tID:bioinfer\tPN:bioinfer\tVN:%s\n", bioinfer_version());
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
    default:
        put_tsv(w, query, target, a);
    }
}

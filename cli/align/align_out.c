/* align_out.c - alignments as text: numbers, CIGARs and what formats share; JSON; the choice of a
 * format. */
#include "align_text.h"

#include <string.h>

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

void cli_align_put_number(const struct cli_align_out *w, int64_t x)
{
    char text[DIGITS], *p = make_number(text, x);
    cli_output_write(w->out, p, (size_t)(text + DIGITS - p));
}

void cli_align_put_text(const struct cli_align_out *w, const char *text)
{
    cli_output_write(w->out, text, strlen(text));
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
    cli_align_put_number(w, score / scale);
    for (int k = 3; k; k--, rest /= 10)
        decimals[k] = (char)('0' + rest % 10);
    for (size_t n = sizeof decimals - 1; n > 1; n--)
        if (decimals[n - 1] != '0') {
            cli_output_write(w->out, decimals, n);
            return;
        }
}

void cli_align_put_share(const struct cli_align_out *w, int64_t n, int64_t of)
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

void cli_align_put_cigar(const struct cli_align_out *w, const struct bioinfer_record *q,
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

int64_t cli_align_left_out(const struct cli_align_out *w, const struct bioinfer_record *q,
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
    return a->columns + cli_align_left_out(w, query, target, a);
}

void cli_align_query_range(const struct cli_align_out *w, const struct bioinfer_record *q,
                           const struct bioinfer_alignment *a, int64_t *begin, int64_t *end)
{
    *begin = w->reverse ? (int64_t)q->length - a->query_end : a->query_begin;
    *end = w->reverse ? (int64_t)q->length - a->query_begin : a->query_end;
}

/* ---- JSON ---- */

void cli_align_put_json(const struct cli_align_out *w, const struct bioinfer_record *query,
                        const struct bioinfer_record *target, const struct bioinfer_alignment *a)
{
    cli_align_put_text(w, ",\"score\":");
    cli_align_put_score(w, a->score);
    if (w->score_only)
        return;
    cli_align_put_text(w, ",\"query_begin\":");
    cli_align_put_number(w, a->query_begin);
    cli_align_put_text(w, ",\"query_end\":");
    cli_align_put_number(w, a->query_end);
    cli_align_put_text(w, ",\"target_begin\":");
    cli_align_put_number(w, a->target_begin);
    cli_align_put_text(w, ",\"target_end\":");
    cli_align_put_number(w, a->target_end);
    cli_align_put_text(w, ",\"identity\":");
    const int64_t columns = cli_align_columns(w, query, target, a);
    cli_align_put_share(w, a->identities, columns ? columns : 1);
    cli_align_put_text(w, ",\"cigar\":\"");
    cli_align_put_cigar(w, query, target, a, "");
    cli_align_put_text(w, "\"");
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
                          cli_needle_bar);
        cli_output_field(w->out, w->path ? w->path : "stdout");
        cli_output_printf(w->out, "\n%s\n", cli_needle_bar);
    }
    if (strcmp(w->format, "sam"))
        return;
    cli_output_printf(w->out, "@HD\tVN:1.6\tSO:unknown\n");
    for (size_t i = 0; i < n_targets; i++) {
        if (!targets[i].length) /* it has no result */
            continue;
        cli_output_printf(w->out, "@SQ\tSN:");
        cli_output_field(w->out, targets[i].id);
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
    const int64_t columns = cli_align_columns(w, query, target, a);
    return w->least_identity <= 0 ||
           (columns && (double)a->identities >= w->least_identity * (double)columns);
}

void cli_align_put(const struct cli_align_out *w, const struct bioinfer_record *query,
                   const struct bioinfer_record *target, const struct bioinfer_alignment *a)
{
    switch (w->format[0]) {
    case 'p':
        cli_align_put_paf(w, query, target, a);
        break;
    case 's':
        cli_align_put_sam(w, query, target, a);
        break;
    case 'n':
        cli_align_put_needle(w, query, target, a);
        break;
    case 'b':
        cli_align_put_blast(w, query, target, a);
        break;
    case 'f':
        (w->local ? cli_align_put_pieces : cli_align_put_fasta)(w, query, target, a);
        break;
    default:
        cli_align_put_tsv(w, query, target, a);
    }
}

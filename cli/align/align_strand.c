/* align_strand.c - both strands of nucleotides: each query as it stands and its reverse complement.
 *
 * A batch gives the task two pairs for each of its own; the better one, the forward one of equal
 * ones, becomes the pair's result, with a record of the letters that were aligned. */
#include "align.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool cli_align_strands_wanted(const struct cli_options *o)
{
    return o->strand && !strcmp(o->strand, "both");
}

bool cli_align_strands_check(const struct cli_options *o, const char *format,
                             const struct bioinfer_align_params *p)
{
    if (!cli_align_strands_wanted(o))
        return true;
    if (!strcmp(format, "needle"))
        cli_say(NULL, "--strand both: needle has no place for a strand: use tsv, paf, sam, blast "
                      "or fasta");
    else if (p->any_letters)
        cli_say(NULL, "--strand both is for nucleotides, and --letters any for what is none");
    else if (p->matrix &&
             (!strncasecmp(p->matrix, "BLOSUM", 6) || !strncasecmp(p->matrix, "PAM", 3)))
        cli_say(NULL,
                "--strand both is for nucleotides, and matrix %s for proteins: say --matrix "
                "EDNAFULL, or --match and --mismatch",
                p->matrix);
    else
        return true;
    return false;
}

/* ---- letters ---- */

/* Letters and what stands on the other strand, codes of several nucleotides included. Of an A this
 * is U in a sequence that has one. */
static void make_complements(char to[256], bool is_rna)
{
    static const char from[] = "ACGTURYSWKMBDHVN", other[] = "TGCAAYRSWMKVHDBN";
    for (int c = 0; c < 256; c++)
        to[c] = (char)c;
    for (size_t i = 0; i < sizeof from - 1; i++) {
        to[(unsigned char)from[i]] = other[i];
        to[from[i] | 32] = (char)(other[i] | 32);
    }
    if (is_rna) {
        to['A'] = 'U';
        to['a'] = 'u';
    }
}

static void turn(char *to, const char *letters, size_t n)
{
    char complement[256];
    const bool is_rna = memchr(letters, 'U', n) || memchr(letters, 'u', n);
    make_complements(complement, is_rna);
    for (size_t i = 0; i < n; i++)
        to[i] = complement[(unsigned char)letters[n - 1 - i]];
}

/* ---- batches ---- */

int cli_align_strands_open(struct cli_align_strands *s, size_t n_pairs)
{
    s->pairs = malloc(2 * n_pairs * sizeof *s->pairs);
    s->picked = malloc(n_pairs * sizeof *s->picked);
    s->turned = malloc(n_pairs * sizeof *s->turned);
    s->reverse = malloc(n_pairs * sizeof *s->reverse);
    return s->pairs && s->picked && s->turned && s->reverse ? 0 : BIOINFER_NOMEM;
}

void cli_align_strands_close(struct cli_align_strands *s)
{
    free(s->pairs);
    free(s->picked);
    free(s->turned);
    free(s->reverse);
    free(s->letters);
    *s = (struct cli_align_strands){0};
}

/* Whether pair i has another query than the one before it. */
static bool is_new(const struct cli_batch *b, size_t i)
{
    return !i || b->sides[2 * i] != b->sides[2 * i - 2];
}

int cli_align_strands_give(struct cli_batch *b)
{
    struct cli_align_strands *s = &b->strands;
    size_t size = 0, at = 0;
    for (size_t i = 0; i < b->n; i++)
        size += is_new(b, i) ? b->pairs[i].query_length : 0;
    if (size > s->letters_cap) {
        free(s->letters);
        s->letters_cap = 0;
        if (!(s->letters = malloc(size)))
            return BIOINFER_NOMEM;
        s->letters_cap = size;
    }
    for (size_t i = 0; i < b->n; i++) {
        const struct bioinfer_record *q = b->sides[2 * i];
        if (is_new(b, i)) {
            s->turned[i] = *q;
            if (q->length) {
                s->turned[i].sequence = s->letters + at;
                turn(s->letters + at, q->sequence, q->length);
            }
            at += q->length;
        } else {
            s->turned[i] = s->turned[i - 1];
        }
        s->pairs[2 * i] = s->pairs[2 * i + 1] = b->pairs[i];
        s->pairs[2 * i + 1].query = s->turned[i].sequence;
    }
    return 0;
}

void cli_align_strands_pick(struct cli_batch *b, const struct bioinfer_alignment *results)
{
    struct cli_align_strands *s = &b->strands;
    for (size_t i = 0; i < b->n; i++) {
        const struct bioinfer_alignment *two = &results[2 * i];
        s->reverse[i] = !two[0].status && !two[1].status && two[1].score > two[0].score;
        s->picked[i] = two[s->reverse[i]];
        if (s->reverse[i])
            b->sides[2 * i] = &s->turned[i];
    }
    b->results = s->picked;
}

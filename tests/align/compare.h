/* compare.h - pairs by every set of kernels against the oracle. */
#ifndef BI_ALIGN_COMPARE_H
#define BI_ALIGN_COMPARE_H

#include <stdbool.h>

#include "aligners.h"
#include "oracle.h"

/* The oracle's costs: those of an aligner and of the params it was opened with. */
static inline void oracle_of(struct oracle_scoring *o, const bi_aligner *a,
                             const struct bioinfer_align_params *p)
{
    const char *letters = p->matrix ? protein : dna;
    *o = (struct oracle_scoring){.open = p->gap_open,
                                 .extend = p->gap_extend,
                                 .open2 = p->gap_open2,
                                 .extend2 = p->gap_extend2,
                                 .free_ends = p->free_ends,
                                 .local = p->local};
    for (int i = 0; letters[i]; i++)
        for (int j = 0; letters[j]; j++)
            CHECK(bi_aligner_score(a, letters[i], letters[j], &o->score[i][j]));
}

/* Whether a result, whose path costs what it should, is the one that is wanted of its kind. */
typedef bool result_check(const bi_aligner *a, const struct text *q, const struct text *t,
                          const struct bioinfer_alignment *r);

static inline void print_wrong(const struct bioinfer_align_params *p, const char *mask,
                               const struct text *q, const struct text *t,
                               const struct bioinfer_alignment *r, int64_t want)
{
    fprintf(stderr,
            "%s %s %d/%d gaps %d/%d %d/%d free %u local %d ties %d: %.*s x %.*s: %lld, want "
            "%lld%s\n",
            mask, p->matrix ? p->matrix : "dna", p->match, p->mismatch, p->gap_open, p->gap_extend,
            p->gap_open2, p->gap_extend2, p->free_ends, p->local, p->ties, q->n, q->letters, t->n,
            t->letters, (long long)r->score, (long long)want, p->traceback ? " (traceback)" : "");
}

/* n pairs by all kernels, with a path and without, each time with ties by chance. is_wanted NULL:
 * every path that costs what it should is. */
static inline void compare_with_oracle(struct bioinfer_align_params p,
                                       const struct bioinfer_align_pair *pairs,
                                       const struct text *q, const struct text *t, int n,
                                       result_check *is_wanted)
{
    struct bioinfer_alignment *results = calloc((size_t)n, sizeof *results);
    int64_t *want = calloc((size_t)n, sizeof *want);
    struct oracle_scoring o;
    long wrong = 0;
    CHECK(n > 0);
    for (int c = 0; c < n_contexts; c++)
        for (p.traceback = 0; p.traceback < 2; p.traceback++) {
            p.ties = (int)below(3);
            bi_aligner *a = aligner_of(contexts[c], &p);
            if (!c && !p.traceback) {
                oracle_of(&o, a, &p);
                for (int i = 0; i < n; i++)
                    want[i] = oracle_score(&o, q[i].codes, q[i].n, t[i].codes, t[i].n);
            }
            CHECK(!bi_aligner_run(a, pairs, (size_t)n, results, NULL));
            for (int i = 0; i < n; i++) {
                bool bad = results[i].status || results[i].score != want[i];
                if (!bad && p.traceback)
                    bad = oracle_cigar(&o, q[i].codes, t[i].codes, &results[i], q[i].n, t[i].n) !=
                              want[i] ||
                          (is_wanted && !is_wanted(a, &q[i], &t[i], &results[i]));
                if (bad && wrong++ < 3)
                    print_wrong(&p, masks[c], &q[i], &t[i], &results[i], want[i]);
            }
            bi_aligner_free(&a);
        }
    CHECK_EQ(wrong, 0);
    free(results);
    free(want);
}

#endif

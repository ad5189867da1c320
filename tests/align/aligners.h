/* aligners.h - what tests of aligners share: a context for each instruction set, and an aligner of
 * given costs. */
#ifndef BI_ALIGN_ALIGNERS_H
#define BI_ALIGN_ALIGNERS_H

#include "../../align/aligner.h"
#include "../test.h"
#include "texts.h"

static const char dna[] = "ACGTN", protein[] = "ARNDCQEGHILKMFPSTWYVBZX*";

static bioinfer_context *contexts[4]; /* one for each instruction set of this machine */
static const char *masks[4];          /* their names */
static int n_contexts;

/* Opens contexts[]. */
static inline void open_contexts(void)
{
    static const char *const all[] = {"generic", "avx2", "avx512", "neon"};
    for (size_t i = 0; i < BI_COUNT(all); i++) {
        const struct bioinfer_context_params p = BIOINFER_PARAMS(
            struct bioinfer_context_params, .cpu_mask = all[i], .n_threads = 2);
        bioinfer_context *ctx = NULL;
        bi_aligner *a = NULL;
        CHECK(!bioinfer_context_new(&ctx, &p, NULL));
        const int st = bi_aligner_new(&a, ctx, NULL, NULL);
        if (!st) {
            masks[n_contexts] = all[i];
            contexts[n_contexts++] = ctx;
        } else { /* this machine has none such */
            CHECK_EQ(st, BIOINFER_UNSUPPORTED);
            bioinfer_context_free(&ctx);
        }
        bi_aligner_free(&a);
    }
    CHECK(n_contexts > 0);
}

static inline void close_contexts(void)
{
    for (int c = 0; c < n_contexts; c++)
        bioinfer_context_free(&contexts[c]);
}

static inline bi_aligner *aligner_of(bioinfer_context *ctx, const struct bioinfer_align_params *p)
{
    struct bioinfer_error err = {0};
    bi_aligner *a = NULL;
    if (!CHECK(!bi_aligner_new(&a, ctx, p, &err)))
        fprintf(stderr, "    %s\n", err.text);
    return a;
}

static inline void free_texts(struct text *q, struct text *t, int n)
{
    for (int i = 0; i < n; i++) {
        free_text(&q[i]);
        free_text(&t[i]);
    }
}

#endif

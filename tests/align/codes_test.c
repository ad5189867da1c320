/* codes_test.c - how pairs are listed and encoded on several threads, against plain loops: places,
 * codes, sequences that neighbours share, and the statuses of those that cannot be aligned.
 *
 *     align_codes [random calls (default 300)] */
#include <stdlib.h>
#include <string.h>

#include "aligners.h"

enum { MOST_PAIRS = 5000, POOL = 12, LONGEST = 90 };

static long n_random = 300;
static char pool[POOL][LONGEST + 1];

/* Sequences of amino acids; number 0 is empty, 1 and 2 have a letter that no matrix has. */
static void make_pool(void)
{
    for (int i = 1; i < POOL; i++) {
        const uint32_t n = 1 + below(LONGEST);
        for (uint32_t k = 0; k < n; k++)
            pool[i][k] = protein[below(20)];
        pool[i][n] = 0;
        if (i < 3)
            pool[i][below(n)] = '!';
    }
}

/* Pairs whose sides change once in `change` times, so that runs of them share a sequence. */
static void make_pairs(struct bioinfer_align_pair *pairs, size_t n, uint32_t change, bool bad)
{
    uint32_t q = 5, t = 6;
    for (size_t i = 0; i < n; i++) {
        q = below(change) ? q : bad ? below(POOL) : 3 + below(POOL - 3);
        t = below(change) ? t : bad ? below(POOL) : 3 + below(POOL - 3);
        pairs[i] = (struct bioinfer_align_pair){.query = pool[q],
                                                .query_length = strlen(pool[q]),
                                                .target = pool[t],
                                                .target_length = strlen(pool[t])};
    }
}

/* The codes of pairs [first, end), one behind the other, but for a sequence that the pair before
 * has, too. */
static void check_codes(bi_aligner *a, const struct bioinfer_align_pair *pairs, size_t first,
                        size_t end, size_t place, struct bioinfer_alignment *results)
{
    const struct bioinfer_align_pair *before = NULL;
    struct bioinfer_error err = {0};
    uint64_t size, at = 0, query = 0, target = 0;
    const size_t begin = place;
    size_t n_sound;
    uint8_t *codes;
    CHECK_EQ(bi_aligner_list(a, pairs, first, end - first, place, results, &n_sound, &size, &err),
             0);
    codes = malloc(size + 64);
    bi_aligner_encode(a, pairs, codes, size, results);
    for (size_t i = first; i < end; i++) {
        const struct bioinfer_align_pair *p = &pairs[i];
        const bool odd = strchr(p->query, '!') || strchr(p->target, '!');
        if (!p->query_length || !p->target_length) {
            CHECK_EQ(results[i].status, BIOINFER_EMPTY);
            CHECK_STR(results[i].message,
                      p->query_length ? "the target has no residues" : "the query has no residues");
            continue;
        }
        if (!before || before->query != p->query) {
            query = at;
            at += p->query_length;
        }
        if (!before || before->target != p->target) {
            target = at;
            at += p->target_length;
        }
        before = p;
        CHECK_EQ(results[i].status, odd ? BIOINFER_BAD_RESIDUE : 0);
        if (odd)
            CHECK_HAS(results[i].message,
                      strchr(p->query, '!') ? "of the query is '!'" : "of the target is '!'");
        CHECK_EQ(a->pair[place], i);
        CHECK_EQ(a->inputs[place].n, p->query_length);
        CHECK_EQ(a->inputs[place].m, p->target_length);
        CHECK_EQ(a->inputs[place].query - codes, query);
        CHECK_EQ(a->inputs[place].target - codes, target);
        for (size_t k = 0; k < p->query_length && !odd; k++)
            if (codes[query + k] != a->matrix.code[(unsigned char)p->query[k]])
                CHECK_EQ(codes[query + k], a->matrix.code[(unsigned char)p->query[k]]);
        for (size_t k = 0; k < p->target_length && !odd; k++)
            if (codes[target + k] != a->matrix.code[(unsigned char)p->target[k]])
                CHECK_EQ(codes[target + k], a->matrix.code[(unsigned char)p->target[k]]);
        place++;
    }
    CHECK_EQ(n_sound, place - begin);
    CHECK_EQ(size, at);
    free(codes);
}

static void codes_are_those_of_plain_loops(void)
{
    const struct bioinfer_align_params params = BIOINFER_PARAMS(struct bioinfer_align_params,
                                                                .matrix = "BLOSUM62");
    struct bioinfer_align_pair *pairs = calloc(MOST_PAIRS, sizeof *pairs);
    struct bioinfer_alignment *results = calloc(MOST_PAIRS, sizeof *results);
    for (int threads = 1; threads < 5; threads += 3) {
        const struct bioinfer_context_params p = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                                 .n_threads = threads);
        bioinfer_context *ctx = NULL;
        bi_aligner *a = NULL;
        CHECK(!bioinfer_context_new(&ctx, &p, NULL) && (a = aligner_of(ctx, &params)));
        make_pool();
        make_pairs(pairs, MOST_PAIRS, 8, false); /* room for the most */
        CHECK_EQ(bi_aligner_run(a, pairs, MOST_PAIRS, results, NULL), 0);
        for (long k = 0; k < n_random; k++) {
            const uint32_t n = 1 + below(k % 3 ? 300 : MOST_PAIRS);
            const uint32_t first = k % 2 ? below(n) : 0, place = below(first + 1);
            make_pool();
            make_pairs(pairs, n, 1u << below(10), k % 4);
            check_codes(a, pairs, first, n, place, results);
        }
        bi_aligner_free(&a);
        bioinfer_context_free(&ctx);
    }
    free(pairs);
    free(results);
}

/* Aligns in one call, which the CPU takes in blocks, and in calls of a few pairs. */
static void blocks_are_no_different(void)
{
    enum { PAIRS = 2 * BI_ALIGN_CPU_BLOCK + 77, FEW = 1000 };
    struct bioinfer_align_pair *pairs = calloc(PAIRS, sizeof *pairs);
    struct bioinfer_alignment *results = calloc(PAIRS, sizeof *results);
    struct bioinfer_alignment *few = calloc(FEW, sizeof *few);
    struct bioinfer_error err = {0};
    char words[80];
    bi_aligner *a = aligner_of(contexts[n_contexts - 1], NULL), *b = aligner_of(contexts[0], NULL);
    long n_other = 0, n_bad = 0;
    make_pool();
    for (int i = 1; i < POOL; i++)
        pool[i][i < 3 ? LONGEST : 9] = 0; /* short ones take less time */
    make_pairs(pairs, PAIRS, 3, true);
    CHECK_EQ(bi_aligner_run(a, pairs, PAIRS, results, &err), 0);
    for (size_t first = 0; first < PAIRS; first += FEW) {
        const size_t n = PAIRS - first < FEW ? PAIRS - first : FEW;
        CHECK_EQ(bi_aligner_run(b, pairs + first, n, few, &err), 0);
        for (size_t i = 0; i < n; i++) {
            const struct bioinfer_alignment *r = &results[first + i];
            n_other += r->status != few[i].status || r->score != few[i].score ||
                       strcmp(r->message, few[i].message) != 0;
            n_bad += r->status != 0;
        }
    }
    CHECK_EQ(n_other, 0);
    CHECK(a->inputs_cap < PAIRS); /* blocks share it */
    CHECK(n_bad > PAIRS / 10);
    pairs[PAIRS - 9].query = NULL;
    CHECK_EQ(bi_aligner_run(a, pairs, PAIRS, results, &err), BIOINFER_INVALID);
    snprintf(words, sizeof words, "alignment: pair %d has no sequences", PAIRS - 9);
    CHECK_STR(err.text, words);
    bi_aligner_free(&a);
    bi_aligner_free(&b);
    free(few);
    free(pairs);
    free(results);
}

/* A call says which pair it is that has no sequences: the first one, on all threads. */
static void pairs_without_sequences_end_the_call(void)
{
    struct bioinfer_align_pair *pairs = calloc(MOST_PAIRS, sizeof *pairs);
    struct bioinfer_alignment *results = calloc(MOST_PAIRS, sizeof *results);
    struct bioinfer_error err = {0};
    bi_aligner *a = aligner_of(contexts[0], NULL);
    make_pool();
    make_pairs(pairs, MOST_PAIRS, 3, false);
    pairs[4711].target = pairs[MOST_PAIRS - 1].query = NULL;
    CHECK_EQ(bi_aligner_run(a, pairs, MOST_PAIRS, results, &err), BIOINFER_INVALID);
    CHECK_STR(err.text, "alignment: pair 4711 has no sequences");
    bi_aligner_free(&a);
    free(pairs);
    free(results);
}

int main(int argc, char **argv)
{
    n_random = texts_arguments(argc, argv, n_random);
    open_contexts();
    TEST(codes_are_those_of_plain_loops);
    TEST(blocks_are_no_different);
    TEST(pairs_without_sequences_end_the_call);
    close_contexts();
    return test_report();
}

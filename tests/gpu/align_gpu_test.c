/* align_gpu_test.c - alignments through the GPU backend, emulated on three vendors' waves,
 * against the CPU. */
#include "../../align/aligner.h"
#include "../test.h"
#include "emu_backend.h"

static uint64_t state = 12345;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % n);
}

enum { PAIRS = 11 };
static char letters[2 * PAIRS][1200];
static struct bioinfer_align_pair pairs[PAIRS];

static void make_pairs(const char *alphabet, uint32_t longest)
{
    const uint32_t n = (uint32_t)strlen(alphabet);
    for (int i = 0; i < PAIRS; i++) {
        size_t length[2] = {1 + below(longest), 1 + below(longest)};
        if (i % 3) /* some targets of one length */
            length[1] = longest / 2;
        for (int side = 0; side < 2; side++)
            for (size_t k = 0; k < length[side]; k++)
                letters[2 * i + side][k] = alphabet[below(n)];
        pairs[i] = (struct bioinfer_align_pair){letters[2 * i], letters[2 * i + 1], length[0],
                                                length[1]};
    }
}

static bool same(const struct bioinfer_alignment *x, const struct bioinfer_alignment *y)
{
    return x->status == y->status && x->score == y->score && x->query_begin == y->query_begin &&
           x->query_end == y->query_end && x->target_begin == y->target_begin &&
           x->target_end == y->target_end && x->columns == y->columns &&
           x->identities == y->identities && x->similarities == y->similarities &&
           x->gaps == y->gaps && x->n_cigar == y->n_cigar &&
           !memcmp(x->cigar, y->cigar, x->n_cigar * sizeof *x->cigar);
}

/* As the CPU does it: everything, or the score alone. Returns how many were sparse. */
static int compare(bioinfer_context *ctx, const struct bi_backend_ops *ops,
                   const struct bioinfer_align_params *p, size_t n)
{
    struct bioinfer_alignment want[PAIRS], got[PAIRS];
    struct bioinfer_error err = {0};
    bi_aligner *cpu = NULL, *gpu = NULL;
    struct bioinfer_align_profile profile = {.struct_size = sizeof profile};
    long wrong = 0, copies;
    int sparse = 0;
    /* the CPU's limit is another's business */
    struct bioinfer_align_params there = *p;
    there.memory_limit = 0;

    CHECK(!bi_aligner_new(&cpu, ctx, &there, &err));
    if (!CHECK(!bi_aligner_new_on(&gpu, ctx, p, ops, &err)))
        fprintf(stderr, "    %s\n", err.text);
    CHECK(!bi_aligner_run(cpu, pairs, n, want, &err));
    copies = emu_counts.copies_in + emu_counts.copies_out;
    if (!CHECK(!bi_aligner_run(gpu, pairs, n, got, &err)))
        fprintf(stderr, "    %s\n", err.text);
    CHECK(!bi_aligner_get_profile(gpu, &profile));
    CHECK_EQ(emu_counts.copies_in + emu_counts.copies_out - copies, 2 * (long)profile.uploads);
    for (size_t i = 0; i < n; i++) {
        sparse += got[i].sparse;
        if (!same(&got[i], &want[i]) && wrong++ < 3)
            fprintf(stderr, "%zu x %zu: %d %s %lld, want %lld\n", pairs[i].query_length,
                    pairs[i].target_length, got[i].status, got[i].message, (long long)got[i].score,
                    (long long)want[i].score);
    }
    CHECK_EQ(wrong, 0);
    bi_aligner_free(&cpu);
    bi_aligner_free(&gpu);
    return sparse;
}

static bioinfer_context *ctx;
static const struct bi_backend_ops *ops;

static const struct {
    const char *alphabet;
    uint32_t longest;
    struct bioinfer_align_params p;
} cases[] = {
    {"ACGT", 60, {.match = 1, .mismatch = -1, .gap_open = 2, .gap_extend = 2}},
    {"ACGT", 120, {.match = 5, .mismatch = -4, .gap_open = 10, .gap_extend = 1}},
    {"ACGT", 250, {.match = 1, .mismatch = -1, .gap_open = 2, .gap_extend = 2}},
    {"ACGTN", 700, {.match = 2, .mismatch = -20, .gap_open = 5, .gap_extend = 1}},
    {"ACGT", 400, {.match = 0, .mismatch = -4, .gap_open = 8, .gap_extend = 2}},
    {"ARNDCQEGHILKMFPSTWYV", 120, {.matrix = "BLOSUM62", .gap_open = 11, .gap_extend = 1}},
    {"ARNDCQEGHILKMFPSTWYV", 410, {.matrix = "BLOSUM62", .gap_open = 11, .gap_extend = 1}},
    {"ARNDCQEGHILKMFPSTWYV", 600, {.matrix = "PAM30", .gap_open = 9, .gap_extend = 2}},
    {"ARNDCQEGHILKMFPSTWYVBZXJOU*", 300, {.matrix = "BLOSUM45", .gap_open = 13, .gap_extend = 2}},
    {"ARNDCQEGHILKMFPSTWYVBZX*", 700, {.matrix = "BLOSUM45", .gap_open = 13}},
    /* ends free: many align nothing */
    {"ARNDCQEGHILKMFPSTWYV", 6, {.matrix = "PAM30", .gap_open = 9, .gap_extend = 2}},
    {"ACGT", 300, {.match = 901, .mismatch = -700, .gap_open = 4000, .gap_extend = 90}}};

static void every_case(bool traceback)
{
    static const unsigned free_ends[] = {0, BIOINFER_FREE_ENDS, BIOINFER_FREE_QUERY_BEGIN,
                                         BIOINFER_FREE_TARGET_BEGIN | BIOINFER_FREE_QUERY_END,
                                         BIOINFER_FREE_TARGET_END};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bioinfer_align_params p = cases[i].p;
        p.struct_size = sizeof p;
        p.traceback = traceback;
        for (int k = 0; k < 2; k++) {
            p.ties = (int)(i + (size_t)k) % 3;
            p.free_ends = k ? free_ends[i % 5] : 0;
            make_pairs(cases[i].alphabet, k ? cases[i].longest / 2 : cases[i].longest);
            CHECK_EQ(compare(ctx, ops, &p, PAIRS), 0);
        }
    }
}

static void every_shape(void)
{
    every_case(false);
}

static void every_path(void)
{
    every_case(true);
}

/* Pairs of which few fill the device, and those beyond the memory limit. */
static void long_pairs(void)
{
    struct bioinfer_align_params p = BIOINFER_PARAMS(
        struct bioinfer_align_params, .matrix = "BLOSUM62", .gap_open = 11, .gap_extend = 1);
    for (int ties = 0; ties < 3; ties++) {
        make_pairs("ARNDCQEGHILKMFPSTWYV", 1100);
        pairs[0].query_length = pairs[0].target_length = 600; /* not the rest */
        p.ties = ties;
        p.free_ends = ties == 1 ? BIOINFER_FREE_ENDS : 0;
        p.traceback = 0;
        CHECK_EQ(compare(ctx, ops, &p, 4), 0);
        p.traceback = 1;
        p.memory_limit = 0;
        CHECK_EQ(compare(ctx, ops, &p, 4), 0);
        p.memory_limit = 200 << 10;
        CHECK(compare(ctx, ops, &p, 2) > 0);
    }
}

static void bad_pairs(void)
{
    struct bioinfer_align_params p = BIOINFER_PARAMS(
        struct bioinfer_align_params, .matrix = "BLOSUM62", .gap_open = 11, .gap_extend = 1,
        .traceback = 1, .memory_limit = 1 << 10);
    struct bioinfer_error err = {0};
    struct bioinfer_alignment r[4];
    bi_aligner *a = NULL;
    const struct bioinfer_align_pair bad[4] = {{"ARND", "AR1D", 4, 4},
                                               {"ARND", "", 4, 0},
                                               {"ARND", "ARD", 4, 3},
                                               {letters[0], letters[1], 1000, 1000}};
    make_pairs("ARNDCQEGHILKMFPSTWYV", 1100);
    memset(letters[0], 'A', 1000);
    memset(letters[1], 'R', 1000);
    CHECK(!bi_aligner_new_on(&a, ctx, &p, ops, &err));
    CHECK(!bi_aligner_run(a, bad, 4, r, &err));
    CHECK_EQ(r[0].status, BIOINFER_BAD_RESIDUE);
    CHECK_HAS(r[0].message, "residue 3 of the target is '1'");
    CHECK_EQ(r[1].status, BIOINFER_EMPTY);
    CHECK_EQ(r[2].status, 0);
    CHECK_EQ(r[2].n_cigar, 3);
    CHECK_EQ(r[3].status, BIOINFER_LIMIT);
    CHECK_HAS(r[3].message, "the limit is");
    bi_aligner_free(&a);
    p = BIOINFER_PARAMS(struct bioinfer_align_params, .gap_open = 50003, .scale = 1000, .match = 9);
    CHECK(!bi_aligner_new_on(&a, ctx, &p, ops, &err));
    const size_t n = 20000;
    char *text = malloc(n);
    memset(text, 'A', n);
    struct bioinfer_align_pair pair = {text, text, n, n};
    CHECK(!bi_aligner_run(a, &pair, 1, r, &err));
    CHECK_EQ(r->status, BIOINFER_LIMIT);
    CHECK_HAS(r->message, "32 bits");
    free(text);
    bi_aligner_free(&a);
}

/* ---- every allocation fails once ---- */

static long allocations, failing;

static void *counted_alloc(void *user, size_t size)
{
    (void)user;
    if (++allocations == failing)
        return NULL;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void counted_free(void *user, void *ptr)
{
    (void)user;
    free(ptr);
}

/* Whether all of it went well: a batch, then a pair some strips at a time. */
static bool run_all(void)
{
    struct bioinfer_context_params cp = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                        .alloc = counted_alloc,
                                                        .free = counted_free, .n_threads = 1);
    struct bioinfer_align_params p = BIOINFER_PARAMS(
        struct bioinfer_align_params, .matrix = "BLOSUM62", .gap_open = 11, .gap_extend = 1,
        .traceback = 1, .memory_limit = 100 << 10);
    struct bioinfer_alignment r[PAIRS];
    struct bioinfer_error err = {0};
    bioinfer_context *c = NULL;
    bi_aligner *a = NULL;
    bool good = !bioinfer_context_new(&c, &cp, &err) && !bi_aligner_new_on(&a, c, &p, ops, &err) &&
                !bi_aligner_run(a, pairs, PAIRS, r, &err);
    for (int i = 0; good && i < PAIRS; i++) {
        CHECK(!r[i].status || (r[i].status == BIOINFER_NOMEM && r[i].message[0]));
        good = !r[i].status;
    }
    CHECK(good || err.status == BIOINFER_NOMEM || !err.status);
    bi_aligner_free(&a);
    bioinfer_context_free(&c);
    return good;
}

static void failing_allocations(void)
{
    long total, survived = 0;
    make_pairs("ARNDCQEGHILKMFPSTWYV", 90);
    pairs[3] = (struct bioinfer_align_pair){letters[0], letters[1], 400, 300};
    memset(letters[0], 'A', 400);
    memset(letters[1], 'R', 300);
    failing = allocations = 0;
    CHECK(run_all());
    total = allocations;
    CHECK(total > 20);
    for (failing = 1; failing <= total; failing++) {
        allocations = 0;
        survived += run_all();
    }
    CHECK_EQ(survived, 0);
    failing = 0;
}

int main(void)
{
    const struct bi_backend_ops *const all[] = {&emu_nvidia, &emu_cdna, &emu_rdna};
    CHECK(!bioinfer_context_new(&ctx, NULL, NULL));
    for (int i = 0; i < 3; i++) {
        ops = all[i];
        TEST(every_shape);
        TEST(every_path);
        TEST(long_pairs);
        TEST(bad_pairs);
    }
    TEST(failing_allocations);
    bioinfer_context_free(&ctx);
    return test_report();
}

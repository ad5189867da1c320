/* align_gpu_test.c - alignment scores through the GPU backend, emulated on three vendors' waves,
 * against the CPU. */
#include "../../engine/align_gpu.h"
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

enum { PAIRS = 24 };
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

static void compare(bioinfer_context *ctx, const struct bi_backend_ops *ops,
                    const struct bioinfer_align_params *p)
{
    struct bioinfer_alignment want[PAIRS], got[PAIRS];
    struct bioinfer_error err = {0};
    bioinfer_aligner *cpu = NULL, *gpu = NULL;
    long wrong = 0, copies;

    CHECK(!bioinfer_aligner_new(&cpu, ctx, p, &err));
    if (!CHECK(!bi_aligner_new_on(&gpu, ctx, p, ops, &err)))
        fprintf(stderr, "    %s\n", err.text);
    CHECK(!bioinfer_aligner_run(cpu, pairs, PAIRS, want, &err));
    copies = emu_counts.copies_in + emu_counts.copies_out + emu_counts.waits;
    if (!CHECK(!bioinfer_aligner_run(gpu, pairs, PAIRS, got, &err)))
        fprintf(stderr, "    %s\n", err.text);
    CHECK_EQ(emu_counts.copies_in + emu_counts.copies_out + emu_counts.waits, copies + 3);
    for (int i = 0; i < PAIRS; i++)
        if ((got[i].status || got[i].score != want[i].score) && wrong++ < 3)
            fprintf(stderr, "%zu x %zu: %lld, want %lld\n", pairs[i].query_length,
                    pairs[i].target_length, (long long)got[i].score, (long long)want[i].score);
    CHECK_EQ(wrong, 0);
    bioinfer_aligner_free(&cpu);
    bioinfer_aligner_free(&gpu);
}

static bioinfer_context *ctx;
static const struct bi_backend_ops *ops;

static void every_shape(void)
{
    static const struct {
        const char *alphabet;
        uint32_t longest;
        struct bioinfer_align_params p;
    } cases[] = {
        {"ACGT", 120, {.match = 5, .mismatch = -4, .gap_open = 10, .gap_extend = 1}},
        {"ACGT", 250, {.match = 1, .mismatch = -1, .gap_open = 2, .gap_extend = 2}},
        {"ACGTN", 700, {.match = 2, .mismatch = -20, .gap_open = 5, .gap_extend = 1}},
        {"ARNDCQEGHILKMFPSTWYV", 120, {.matrix = "BLOSUM62", .gap_open = 11, .gap_extend = 1}},
        {"ARNDCQEGHILKMFPSTWYV", 600,
         {.matrix = "PAM30", .gap_open = 9, .gap_extend = 2,
          .free_ends = BIOINFER_FREE_QUERY_BEGIN}},
        {"ARNDCQEGHILKMFPSTWYVBZX*", 300,
         {.matrix = "BLOSUM45", .gap_open = 13, .gap_extend = 2,
          .free_ends = BIOINFER_FREE_TARGET_BEGIN}},
        {"ACGT", 300, {.match = 900, .mismatch = -700, .gap_open = 4000, .gap_extend = 90}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bioinfer_align_params p = cases[i].p;
        p.struct_size = sizeof p;
        make_pairs(cases[i].alphabet, cases[i].longest);
        compare(ctx, ops, &p);
    }
}

static void refusals(void)
{
    struct bioinfer_align_params p = BIOINFER_PARAMS(struct bioinfer_align_params, .traceback = 1);
    struct bioinfer_error err = {0};
    bioinfer_aligner *a = NULL;

    CHECK_EQ(bi_aligner_new_on(&a, ctx, &p, ops, &err), BIOINFER_UNSUPPORTED);
    CHECK_HAS(err.text, "scores alone");
    p.traceback = 0;
    p.free_ends = BIOINFER_FREE_ENDS;
    CHECK_EQ(bi_aligner_new_on(&a, ctx, &p, ops, &err), BIOINFER_UNSUPPORTED);
    p.free_ends = 0;
    p.gap_open = 50000;
    p.scale = 1000;
    p.match = 9;
    CHECK(!bi_aligner_new_on(&a, ctx, &p, ops, &err));
    const size_t n = 20000;
    char *text = malloc(n);
    memset(text, 'A', n);
    struct bioinfer_align_pair pair = {text, text, n, n};
    struct bioinfer_alignment r;
    CHECK(!bioinfer_aligner_run(a, &pair, 1, &r, &err));
    CHECK_EQ(r.status, BIOINFER_LIMIT);
    CHECK_HAS(r.message, "32 bits");
    free(text);
    bioinfer_aligner_free(&a);
}

int main(void)
{
    const struct bi_backend_ops *const all[] = {&emu_nvidia, &emu_cdna, &emu_rdna};

    CHECK(!bioinfer_context_new(&ctx, NULL, NULL));
    for (int i = 0; i < 3; i++) {
        ops = all[i];
        TEST(every_shape);
    }
    TEST(refusals);
    bioinfer_context_free(&ctx);
    return test_report();
}

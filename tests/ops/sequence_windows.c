/* sequence_windows.c - cases of the sequence_windows kernel. */
#include "checkkernel.h"
#include "kernels/sequence_windows.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, int taps, int prefix,
                  int suffix, const char *note)
{
    typedef struct bi_sequence_windows_params T;
    T p = {.width = width, .taps = taps, .n_prefix = prefix, .n_suffix = suffix};
    ck_check(ck,
             &(struct ck_case){.entry = "sequence_windows",
                               .reference = bi_op_sequence_windows.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .start = offsetof(T, start),
                               .arrays =
                                   {
                                       {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = width},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS,
                                        .width = (int64_t)taps * width},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               .blind = prefix + suffix,
                               .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 4, 5, 7, 8, 0, 30, -1};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 1024, 7, 0, 1, "3800 x 7 x 1024");
        return;
    }
    for (int i = 0; i < 30; i++) {
        struct ck_lengths n = i < 6 ? ck_lengths_of(edges) : ck_lengths(ck, 6, 40);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 20 : 140), 1 + 2 * (int)ck_random(ck, 0, 4),
              (int)ck_random(ck, 0, 1), (int)ck_random(ck, 0, 1), i < 6 ? "edges" : "random");
    }
}

const struct ck_op ck_sequence_windows = {.stem = "sequence_windows", .cases = cases};

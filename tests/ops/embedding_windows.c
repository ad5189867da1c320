/* embedding_windows.c - cases of the embedding_windows kernel. */
#include "checkkernel.h"
#include "kernels/embedding_windows.h"

static void check(struct ck *ck, int n, int width, int taps, int pad, int vocab, const char *note)
{
    typedef struct bi_embedding_windows_params T;
    static const int32_t one[] = {1, -1};
    const struct ck_lengths lengths = ck_lengths_of(one);
    T p = {.axis = BI_AXIS_FIXED,
           .n = n,
           .rows = n + 2 * pad - taps + 1,
           .width = width,
           .taps = taps,
           .pad = pad,
           .vocab = vocab};
    ck_check(ck, &(struct ck_case){.entry = "embedding_windows",
                                   .reference = bi_op_embedding_windows.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .rows = CK_NONE,
                                   .arrays =
                                       {
                                           {CK_PLAIN(T, table), CK_IN, BI_AXIS_FIXED, .rows = vocab,
                                            .width = width},
                                           {CK_PLAIN(T, ids), CK_IN, BI_AXIS_FIXED, .rows = n,
                                            .width = 1, .fill = CK_IDS, .limit = vocab},
                                           {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                            .rows = p.rows, .width = (int64_t)taps * width},
                                       },
                                   .lengths = lengths.of,
                                   .n_seqs = lengths.n,
                                   .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        check(ck, 98304, 8, 15, 7, 6, "98304 x 15 x 8");
        check(ck, 98304, 8, 1, 7, 6, "98304 x 8");
        return;
    }
    for (int i = 0; i < 40; i++) {
        const int taps = 1 + 2 * (int)ck_random(ck, 0, 9);
        check(ck, taps + (int)ck_random(ck, 0, i % 4 ? 60 : 3), (int)ck_random(ck, 1, 12), taps,
              i % 3 ? taps / 2 : (int)ck_random(ck, 0, 9), (int)ck_random(ck, 1, 9), "random");
    }
    check(ck, 70, 8, 15, 7, 6, "bases");
    check(ck, 3, 8, 15, 7, 6, "fewer than taps");
    for (int width = 2; width <= 128; width *= 2)
        for (int i = 0; i < 3; i++)
            check(ck, 300, width - 1 + i, 1, 7, 6, "rows that windows overlap");
}

/* clang-format off */
static const struct ck_entry entries[] = {
    /* few different numbers, each rounded once: the bound of one holds for their sum, no less */
    {"embedding_windows_f16", {CK_AT(embedding_windows, y), CK_END}, 1e-7, 5e-4, 2.5e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_embedding_windows = {
    .stem = "embedding_windows", .cases = cases, .entries = entries};

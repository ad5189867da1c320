/* bin_sums.c - cases of the bin_sums kernel. */
#include "checkkernel.h"
#include "kernels/bin_sums.h"

static void check(struct ck *ck, int n_windows, int bins, int width, int logs, const char *note)
{
    typedef struct bi_bin_sums_params T;
    static const int32_t lengths[] = {1, -1};
    struct ck_lengths one = ck_lengths_of(lengths);
    T p = {.n_windows = n_windows, .bins = bins, .width = width, .logs = logs};
    ck_check(ck, &(struct ck_case){
                     .entry = "bin_sums",
                     .reference = bi_op_bin_sums.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED, .rows = n_windows * bins,
                              .width = width, .fill = CK_GAIN, .scale = 0.15},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                              .rows = n_windows * (logs ? 4 : 2), .width = width},
                         },
                     .lengths = one.of,
                     .n_seqs = one.n,
                     .absolute = 1e-10,
                     .relative = 1e-6,
                     .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        check(ck, 16, 896, 5313, 0, "16 windows, 5,313 tracks");
        check(ck, 16, 896, 5313, 1, "and their logarithms");
        check(ck, 16, 896, 16, 0, "16 windows, 16 tracks");
        return;
    }
    for (int i = 0; i < 24; i++)
        check(ck, (int)ck_random(ck, 1, 4), (int)ck_random(ck, 1, i % 3 ? 30 : 400),
              (int)ck_random(ck, 1, i % 2 ? 30 : 200), i % 4 == 3, "random");
}

const struct ck_op ck_bin_sums = {.stem = "bin_sums", .cases = cases};

/* rope_table.c - cases of the rope_table kernel. */
#include "checkkernel.h"
#include "kernels/rope_table.h"

static void check(struct ck *ck, int longest, int half, const char *note)
{
    typedef struct bi_rope_table_params T;
    T p = {.n = half};
    ck_check(ck,
             &(struct ck_case){.entry = "rope_table",
                               .reference = bi_op_rope_table.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .rows = offsetof(T, rows),
                               .arrays =
                                   {
                                       {CK_PLAIN(T, inv_freq), CK_IN, BI_AXIS_FIXED, .rows = 1,
                                        .width = half, .scale = 0.5},
                                       {CK_PLAIN(T, y), CK_OUT, BI_AXIS_LONGEST, .width = 2 * half},
                                   },
                               .lengths = &longest,
                               .n_seqs = 1,
                               .absolute = 2e-7,
                               .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        check(ck, 2000, 32, "2000 x 64");
        return;
    }
    for (int i = 0; i < 24; i++)
        check(ck, (int)ck_random(ck, 1, i % 2 ? 20 : 1500), (int)ck_random(ck, 1, 64), "random");
}

const struct ck_op ck_rope_table = {.stem = "rope_table", .cases = cases};

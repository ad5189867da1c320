/* positions.c - cases of the positions kernel. */
#include "checkkernel.h"
#include "kernels/positions.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, int first, const char *note)
{
    typedef struct bi_positions_params T;
    T p = {.width = width, .first = first};
    ck_check(
        ck, &(struct ck_case){.entry = "positions",
                              .reference = bi_op_positions.reference,
                              .params = &p,
                              .params_size = sizeof p,
                              .start = offsetof(T, start),
                              .arrays =
                                  {
                                      {CK_PLAIN(T, table), CK_IN, BI_AXIS_FIXED,
                                       .rows = n->longest + first + 1, .width = width},
                                      {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                                  },
                              .lengths = n->of,
                              .n_seqs = n->n,
                              .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 1024, 0, "3800 x 1024");
        return;
    }
    for (int i = 0; i < 30; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 300), i % 3, "random");
    }
}

const struct ck_op ck_positions = {.stem = "positions", .cases = cases};

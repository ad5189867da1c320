/* pair_softmax.c - cases of the pair_softmax kernel. */
#include "checkkernel.h"
#include "kernels/alignments.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, const char *note)
{
    typedef struct bi_pair_softmax_params T;
    T p = {.width = width};
    ck_check(ck, &(struct ck_case){
                     .entry = "pair_softmax",
                     .reference = bi_op_pair_softmax.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .start = offsetof(T, start),
                     .row_start = true,
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_GRID, .width = width, .scale = 3},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_GRID, .width = width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .blind = 1,
                     .absolute = 2e-6,
                     .relative = 2e-6,
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 17, 0, 9, -1};
    for (int i = 0; i < 20 && !ck_bench(ck); i++) {
        struct ck_lengths n = i < 4 ? ck_lengths_of(edges) : ck_lengths(ck, 5, 24);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 8 : 50), i < 4 ? "edges" : "random");
    }
}

const struct ck_op ck_pair_softmax = {.stem = "pair_softmax", .cases = cases};

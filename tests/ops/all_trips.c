/* all_trips.c - cases of rows that the trips of a stage make, one behind the other. The view has no
 * kernel; what it asks of the others is that they write rows of a part of a block and no other. */
#include "checkkernel.h"
#include "kernels/unary.h"

static void cases(struct ck *ck)
{
    typedef struct bi_unary_params T;
    for (int i = 0; i < 10 && !ck_bench(ck); i++) {
        struct ck_lengths n = ck_lengths(ck, 4, 40);
        T p = {.axis = BI_AXIS_FIXED,
               .rows = 3 + i,
               .width = 1 + 5 * i,
               .function = BI_UNARY_SCALE,
               .factor = 1};
        ck_check(ck, &(struct ck_case){.entry = "unary",
                                       .reference = bi_op_scale.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays =
                                           {
                                               {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                               {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                           },
                                       .lengths = n.of,
                                       .n_seqs = n.n,
                                       .note = "rows of a trip"});
    }
}

const struct ck_op ck_all_trips = {.stem = "all_trips", .cases = cases};

/* trip_rows.c - cases of rows that each trip of a stage sees of a value. The view has no kernel;
 * what it asks of the others is that they read rows of a part of a block, of floats or of int32. */
#include "checkkernel.h"
#include "kernels/embedding.h"

static void cases(struct ck *ck)
{
    typedef struct bi_embedding_params T;
    for (int i = 0; i < 10 && !ck_bench(ck); i++) {
        struct ck_lengths n = ck_lengths(ck, 4, 40);
        T p = {.axis = BI_AXIS_FIXED, .rows = 3 + i, .width = 1 + 5 * i, .vocab = 5};
        ck_check(ck,
                 &(struct ck_case){.entry = "embedding",
                                   .reference = bi_op_embedding.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .arrays =
                                       {
                                           {CK_PLAIN(T, table), CK_IN, BI_AXIS_FIXED,
                                            .rows = p.vocab, .width = p.width},
                                           {CK_PLAIN(T, ids), CK_IN, BI_AXIS_FIXED, .rows = p.rows,
                                            .width = 1, .fill = CK_IDS, .limit = p.vocab},
                                           {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                            .rows = p.rows, .width = p.width},
                                       },
                                   .lengths = n.of,
                                   .n_seqs = n.n,
                                   .note = "rows of a trip"});
    }
}

const struct ck_op ck_trip_rows = {.stem = "trip_rows", .cases = cases};

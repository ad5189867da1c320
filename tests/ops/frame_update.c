/* frame_update.c - cases of the frame_update kernel. */
#include "checkkernel.h"
#include "kernels/frame_update.h"

static void check(struct ck *ck, const struct ck_lengths *n, enum bi_axis axis, int first,
                  const char *note)
{
    typedef struct bi_frame_update_params T;
    T p = {.axis = (int32_t)axis};
    ck_check(ck, &(struct ck_case){
                     .entry = "frame_update",
                     .reference = bi_op_frame_update.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .arrays =
                         {
                             {CK_ARRAY(T, frame, ldf), CK_IN, axis, .rows = n->tokens, .width = 7,
                              .absent = first},
                             {CK_ARRAY(T, u, ldu), CK_IN, axis, .rows = n->tokens, .width = 6,
                              .scale = 0.4},
                             {CK_ARRAY(T, y, ldy), CK_OUT, axis, .rows = n->tokens, .width = 7},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 4e-6,
                     .relative = 2e-6,
                     .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(64, 230);
        check(ck, &n, BI_AXIS_TOKENS, 0, "14720 frames");
        return;
    }
    for (int i = 0; i < 16; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, i % 2 ? 60 : 500);
        check(ck, &n, i % 5 ? BI_AXIS_TOKENS : BI_AXIS_FIXED, i % 3 == 1,
              i % 3 == 1 ? "from the identity" : "random");
    }
}

const struct ck_op ck_frame_update = {.stem = "frame_update", .cases = cases};

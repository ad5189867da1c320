/* turn.c - cases of the turn kernel. */
#include "checkkernel.h"
#include "kernels/grids.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, const char *note)
{
    typedef struct bi_turn_params T;
    T p = {.width = width};
    ck_check(ck,
             &(struct ck_case){.entry = "turn",
                               .reference = bi_op_turn.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .grid_start = offsetof(T, grid_start),
                               .rows = offsetof(T, rows),
                               .arrays =
                                   {
                                       {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_GRID, .width = width},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_GRID, .width = width},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 17, 0, 9, -1};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(1, 512);
        check(ck, &n, 128, "L=512 C=128");
        return;
    }
    for (int i = 0; i < 16; i++) {
        struct ck_lengths n = i < 4 ? ck_lengths_of(edges) : ck_lengths(ck, 5, 20);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 8 : 150), i < 4 ? "edges" : "random");
    }
}

static const struct ck_entry entries[] = {
    {"turn_f16", {CK_AT(turn, x), CK_AT(turn, y), CK_END}, 0, 0, 0, NULL},
    {0},
};

const struct ck_op ck_turn = {.stem = "turn", .cases = cases, .entries = entries};

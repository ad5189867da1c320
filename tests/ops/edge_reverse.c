/* edge_reverse.c - cases of this kernel. */
#include "atoms.h"

static void cases(struct ck *ck)
{
    typedef struct bi_atom_edges_params T;
    for (int i = 0; i < CK_FRAMES_CASES && !ck_bench(ck); i++) {
        struct ck_frames f;
        ck_frames_new(&f, ck, i, 4);
        const struct ck_fixed_array arrays[] = {
            {offsetof(T, reverse), 4 * (size_t)f.n_edges + 4, CK_FIXED_I32}};
        ck_frames_check(ck, &f, 4, arrays, (int)(sizeof arrays / sizeof *arrays));
        ck_frames_free(&f);
    }
}

const struct ck_op ck_edge_reverse = {.stem = "edge_reverse", .cases = cases};

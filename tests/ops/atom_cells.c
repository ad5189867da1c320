/* atom_cells.c - cases of this kernel. */
#include "atoms.h"

static void cases(struct ck *ck)
{
    typedef struct bi_atom_edges_params T;
    for (int i = 0; i < CK_FRAMES_CASES && !ck_bench(ck); i++) {
        struct ck_frames f;
        ck_frames_new(&f, ck, i, 0);
        const size_t n = (size_t)f.counts.n_tokens;
        const struct ck_fixed_array arrays[] = {
            {offsetof(T, place), sizeof *f.params.place * n, CK_FIXED_I32},
            {offsetof(T, order), 4 * n, CK_FIXED_I32},
            {offsetof(T, first), 4 * (size_t)bi_edge_bins(&f.params) + 4, CK_FIXED_I32}};
        ck_frames_check(ck, &f, 0, arrays, (int)(sizeof arrays / sizeof *arrays));
        ck_frames_free(&f);
    }
}

const struct ck_op ck_atom_cells = {.stem = "atom_cells", .cases = cases};

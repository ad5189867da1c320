/* edge_start.c - cases of this kernel. */
#include "atoms.h"

static void cases(struct ck *ck)
{
    typedef struct bi_atom_edges_params T;
    for (int i = 0; i < CK_FRAMES_CASES && !ck_bench(ck); i++) {
        struct ck_frames f;
        ck_frames_new(&f, ck, i, 2);
        const struct ck_fixed_array arrays[] = {
            {offsetof(T, report), 4 * BI_REPORT_WORDS, CK_FIXED_I32},
            {offsetof(T, start), 4 * (size_t)f.counts.n_tokens + 4, CK_FIXED_I32}};
        ck_frames_check(ck, &f, 2, arrays, (int)(sizeof arrays / sizeof *arrays));
        ck_frames_free(&f);
    }
}

const struct ck_op ck_edge_start = {.stem = "edge_start", .cases = cases};

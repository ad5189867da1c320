/* pair_energy.c - cases of the pair_energy kernel. */
#include "graphs.h"

#include "kernels/pair_energy.h"

static void cases(struct ck *ck)
{
    typedef struct bi_pair_energy_params T;
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 600 : 2, 4);
        const int32_t n = g.counts.n_sampled, n_samples = g.counts.n_samples;
        const int32_t width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 300);
        struct bi_pair_span *span;
        int32_t *row = ck_graph_ints(&g, n, 1);
        T p = {.counts = &g.counts,
               .width = width,
               .samples = n_samples,
               .ldu = i % 3 ? width : width + 4,
               .ldw = width,
               .cutoff = i % 5 ? 10 : 200};
        p.span = span = (void *)ck_graph_ints(&g, BI_PAIR_SPAN_WIDTH * (int64_t)n_samples + 4, 1);
        for (int32_t s = 0; s < n_samples; s++) { /* the first third of a sample against the rest */
            const int32_t begin = g.sample_start[s], end = g.sample_start[s + 1];
            const int32_t cut = begin + (end - begin) / 3;
            for (int32_t t = begin; t < cut; t++) /* every fourth has no place */
                row[t] = ck_random(ck, 0, 3) ? t : -1;
            span[s] = (struct bi_pair_span){begin, cut, cut, end};
        }
        p.row = row;
        p.u = ck_graph_floats(&g, (int64_t)n * p.ldu, 0.1);
        p.w = ck_graph_floats(&g, (int64_t)n * p.ldw, 0.1);
        p.x = ck_graph_floats(&g, 3 * (int64_t)n, 8);
        p.y = ck_graph_zeros(&g, BI_PAIR_WIDTH * (int64_t)n_samples + 2);
        ck_check_fixed(
            ck, &(struct ck_fixed){
                    .entry = "pair_energy",
                    .reference = bi_op_pair_energy.reference,
                    .params = &p,
                    .params_size = sizeof p,
                    .absolute = 2e-4,
                    .relative = 1e-5,
                    .note = "random",
                    .arrays = {{offsetof(T, y), BI_PAIR_WIDTH * sizeof(float) * (size_t)n_samples,
                                CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_pair_energy = {.stem = "pair_energy", .cases = cases};

/* principal_axes.c - cases of the principal_axes kernel. */
#include "graphs.h"

#include "kernels/principal_axes.h"

static void cases(struct ck *ck)
{
    typedef struct bi_principal_axes_params T;
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 300 : 1, 4);
        const int64_t n = g.counts.n_sampled;
        T p = {.counts = &g.counts, .start = g.sample_start, .sets = g.counts.n_samples};
        float *x = ck_graph_floats(&g, 3 * n, 1);
        for (int64_t t = 0; t < n; t++) { /* axes of clearly different lengths, off the origin */
            const float u = x[3 * t], v = x[3 * t + 1], w = x[3 * t + 2];
            x[3 * t] = 12 * u + 3 * v + 30;
            x[3 * t + 1] = 7 * v - 2 * u - 55;
            x[3 * t + 2] = (i % 4 ? 3 * w : 0) + u + 4;
        }
        p.x = x;
        p.y = ck_graph_zeros(&g, 3 * n);
        ck_check_fixed(
            ck, &(struct ck_fixed){.entry = "principal_axes",
                                   .reference = bi_op_principal_axes.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .absolute = 2e-5,
                                   .relative = 1e-6,
                                   .note = "random",
                                   .arrays = {{offsetof(T, y), 12 * (size_t)n, CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_principal_axes = {.stem = "principal_axes", .cases = cases};

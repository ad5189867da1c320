/* tensor_mix.c - cases of products of the parts of matrices with weights of their own. */
#include "tensors.h"

#include "kernels/tensor_mix.h"

static void cases(struct ck *ck)
{
    typedef struct bi_tensor_mix_params T;
    for (int i = 0; i < (ck_bench(ck) ? 1 : 10); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, ck_bench(ck) ? 500 : i ? 40 : 1, 4);
        const int64_t n = g.counts.n_tokens;
        const int32_t width = ck_bench(ck) ? 128 : (int32_t)ck_random(ck, i % 2 ? 64 : 1, 140);
        T p = {.counts = &g.counts, .rows = n + i % 3, .n = width, .k = width};
        struct ck_fixed c = {.entry = "tensor_mix",
                             .reference = bi_op_tensor_mix.reference,
                             .params = &p,
                             .params_size = sizeof p,
                             .absolute = 1e-5,
                             .relative = 5e-6,
                             .gpu_only = 1,
                             .note = "random"};
        for (int k = 0; k < 3; k++) {
            const int64_t size = (2 * k + 1) * n * width;
            p.x[k] = ck_graph_floats(&g, size, 1);
            p.w[k] = ck_graph_floats(&g, (int64_t)width * width, 0.1);
            p.residual[k] = i / 2 % 2 ? ck_graph_floats(&g, size, 1) : NULL;
            p.y[k] = ck_graph_zeros(&g, size);
            c.arrays[k] = (struct ck_fixed_array){offsetof(T, y) + (size_t)k * sizeof *p.y,
                                                  4 * (size_t)size, CK_FIXED_F32};
        }
        ck_check_fixed(ck, &c);
        ck_graph_free(&g);
    }
}

const struct ck_op ck_tensor_mix = {.stem = "tensor_mix", .cases = cases};

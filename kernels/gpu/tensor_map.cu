/* tensor_map.cu - functions of an atom's matrices: 32 threads to an atom, a channel each at a
 * time. */
#include "lib/gpu_rows.h"

#define BI_NUM float
#define BI_REAL float
#define BI_TENSOR_FN DEV
#pragma clang force_cuda_host_device begin
#include "../tensor_map.h"
#pragma clang force_cuda_host_device end
#include "../tensor_math.h"

/* N numbers of input k of atom i, 0 where it is left out. */
template <int N>
DEV void take(const struct bi_tensor_map_params &p, int k, int64_t i, int f, float *x)
{
    const float *from = p.in[k];
#pragma GCC unroll 5
    for (int j = 0; j < N; j++)
        x[j] = from ? from[(i * N + j) * p.width + f] : 0.0f;
}

template <int N>
DEV void give(const struct bi_tensor_map_params &p, int k, int64_t i, int f, const float *y)
{
    float *to = p.out[k];
    if (to) {
#pragma GCC unroll 5
        for (int j = 0; j < N; j++)
            to[(i * N + j) * p.width + f] = y[j];
    }
}

/* The matrix that begins with operand k. */
DEV void take_matrix(const struct bi_tensor_map_params &p, int k, int64_t i, int f, float *x)
{
    take<1>(p, k, i, f, x);
    take<3>(p, k + 1, i, f, x + 1);
    take<5>(p, k + 2, i, f, x + 4);
}

DEV void give_matrix(const struct bi_tensor_map_params &p, int k, int64_t i, int f, const float *y)
{
    give<1>(p, k, i, f, y);
    give<3>(p, k + 1, i, f, y + 1);
    give<5>(p, k + 2, i, f, y + 4);
}

/* Maps all channels of atom i: so many matrices in and out, PARTS numbers of a norm. by: the input
 * that is c, 0 = there is none. */
template <int FUNCTION, int MATRICES, int OUT, int PARTS = 0>
DEV void map(const struct bi_tensor_map_params &p, int64_t i, int by)
{
    for (int f = thread_id() % ROW_LANES; f < p.width; f += ROW_LANES) {
        float x[BI_TENSOR_NUMBERS], y[18];
        const bool scale = FUNCTION == BI_TENSOR_SCALE || FUNCTION == BI_TENSOR_SCALE_GRAD;
        const float c = by && p.in[by] ? p.in[by][i] : 1.0f;
#pragma GCC unroll 3
        for (int m = 0; m < (scale ? 1 : MATRICES); m++)
            take_matrix(p, 3 * m, i, f, x + 9 * m);
        if (scale)
            take<3>(p, 3, i, f, x + 9);
        if (FUNCTION == BI_TENSOR_SCALE_GRAD)
            take_matrix(p, 4, i, f, x + 12);
        if (FUNCTION == BI_TENSOR_NORM_GRAD)
            take<PARTS>(p, 3, i, f, x + 9);
        if (p.so3 && (FUNCTION == BI_TENSOR_PRODUCT || FUNCTION == BI_TENSOR_PRODUCT_GRAD))
            bi_tensor_apply(FUNCTION, PARTS, 1, x, c, y);
        else
            bi_tensor_apply(FUNCTION, PARTS, 0, x, c, y);
        if (FUNCTION == BI_TENSOR_NORM)
            give<PARTS>(p, 0, i, f, y);
#pragma GCC unroll 2
        for (int m = 0; m < OUT; m++)
            give_matrix(p, 3 * m, i, f, y + 9 * m);
        if (FUNCTION == BI_TENSOR_SCALE_GRAD)
            give<3>(p, 3, i, f, y + 9);
    }
}

/* Functions of one matrix and its derivatives, and sums: all but products. */
DEV void map_simple(const struct bi_tensor_map_params &p, int64_t i)
{
    switch (p.function) {
    case BI_TENSOR_NORM:
        if (p.parts == 1)
            map<BI_TENSOR_NORM, 1, 0, 1>(p, i, 0);
        else
            map<BI_TENSOR_NORM, 1, 0, 3>(p, i, 0);
        break;
    case BI_TENSOR_NORM_GRAD:
        if (p.parts == 1)
            map<BI_TENSOR_NORM_GRAD, 1, 1, 1>(p, i, 0);
        else
            map<BI_TENSOR_NORM_GRAD, 1, 1, 3>(p, i, 0);
        break;
    case BI_TENSOR_NORMALISE:
        map<BI_TENSOR_NORMALISE, 1, 1>(p, i, 0);
        break;
    case BI_TENSOR_NORMALISE_GRAD:
        map<BI_TENSOR_NORMALISE_GRAD, 2, 1>(p, i, 0);
        break;
    case BI_TENSOR_UPDATE:
        map<BI_TENSOR_UPDATE, 2, 1>(p, i, 6);
        break;
    case BI_TENSOR_UPDATE_GRAD:
        map<BI_TENSOR_UPDATE_GRAD, 2, 1>(p, i, 6);
        break;
    case BI_TENSOR_SCALE:
        map<BI_TENSOR_SCALE, 1, 1>(p, i, 0);
        break;
    case BI_TENSOR_SCALE_GRAD:
        map<BI_TENSOR_SCALE_GRAD, 1, 1>(p, i, 0);
        break;
    }
}

KERNEL(tensor_map_f32, struct bi_tensor_map_params, ROW_THREADS, 2)
{
    const int64_t i = my_row();
    if (i >= bi_live_rows(p.counts, BI_AXIS_TOKENS, p.rows))
        return;
    if (p.function == BI_TENSOR_PRODUCT)
        map<BI_TENSOR_PRODUCT, 2, 1>(p, i, 6);
    else if (p.function == BI_TENSOR_PRODUCT_GRAD)
        map<BI_TENSOR_PRODUCT_GRAD, 3, 2>(p, i, 9);
    else
        map_simple(p, i);
}

/* A thread has the same channels of the same atom in both. */
KERNEL(tensor_pair_f32, struct bi_tensor_pair_params, ROW_THREADS, 2)
{
    const int64_t i = my_row();
    if (i >= bi_live_rows(p.of[0].counts, BI_AXIS_TOKENS, p.of[0].rows))
        return;
    map_simple(p.of[0], i);
    map_simple(p.of[1], i);
}

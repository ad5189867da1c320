/* random.h - random numbers of PyTorch, bit for bit.
 *
 * tests/golden/random holds what builds of PyTorch draw on the CPU.
 *
 * Source: pytorch/pytorch:aten/src/ATen/native/cpu/DistributionTemplates.h */
#ifndef BI_PROTEINMPNN_RANDOM_H
#define BI_PROTEINMPNN_RANDOM_H

#include "../../base/random.h"

/* n normal numbers, as one torch.randn(n) draws them, which is not what several calls of fewer
 * draw: from 16 on they are made 16 at a time, and of CUDA each call moves the generator by the
 * same. Not for NATIVE. */
void bi_random_normal(struct bi_random *r, float *x, size_t n);
/* n exponential numbers, as one exponential_() of a tensor of float64 draws them, or of float32
 * (`single`), whose numbers are floats. Each call for MKL, also with n 0, seeds anew, and gives no
 * 0; one for CUDA moves the generator by the same for any n. Not for NATIVE. */
void bi_random_exponential(struct bi_random *r, double *x, size_t n, bool single);

#endif

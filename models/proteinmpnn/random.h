/* random.h - random numbers of PyTorch, bit for bit.
 *
 * tests/golden/random holds what builds of PyTorch draw on the CPU.
 *
 * Source: pytorch/pytorch:aten/src/ATen/native/cpu/DistributionTemplates.h */
#ifndef BI_PROTEINMPNN_RANDOM_H
#define BI_PROTEINMPNN_RANDOM_H

#include "../../base/random.h"

/* n normal numbers, as torch.randn(n) draws them. Not for NATIVE. */
void bi_random_normal(struct bi_random *r, float *x, size_t n);
/* n exponential numbers, as one exponential_() of a tensor of float64 draws them, or of float32
 * (`single`). Not for NATIVE. */
void bi_random_exponential(struct bi_random *r, double *x, size_t n, bool single);

#endif

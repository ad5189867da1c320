/* gates.h - the fidelity gates, in one place. */
#ifndef BI_GATES_H
#define BI_GATES_H

/* Every row (residue) of every array, against the reference in float32. */
#define GATE_COSINE 0.99999
/* Whole arrays in float32: cosine alone would let recomputed rotary frequencies through. */
#define GATE_RELATIVE_L2 5e-6
/* Products of bfloat16 terms (kernels/cpu/linear_amx.c), three and two of each operand. The
 * reference's own rounding is in it: for ESM C AVX-512 is at 2.0e-6, the ops' definitions, which
 * sum in float64, at 1.8e-6. Three terms have 2.3e-6 for the four contacts of two residues of
 * ESM-1v. */
#define GATE_THREE_TERMS_L2 2.5e-6
#define GATE_THREE_TERMS_COSINE (1 - 1e-9)
#define GATE_TWO_TERMS_L2 5e-5
#define GATE_TWO_TERMS_COSINE (1 - 1e-8)
/* Top-1 must be equal wherever the reference's first two are further apart than this. */
#define GATE_TIE 1e-4
/* Mean negative log-likelihood of bioinfer-tiny's held-out set. */
#define GATE_NLL 1e-4

#endif

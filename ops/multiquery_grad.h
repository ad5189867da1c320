/* multiquery_grad.h - what multiquery and its derivatives share. */
#ifndef BI_OPS_MULTIQUERY_GRAD_H
#define BI_OPS_MULTIQUERY_GRAD_H

#include "../kernels/multiquery_grad.h"
#include "shared.h"

/* multiquery.c: number i of a row of d numbers, d even, rotated by a row of the table; the logit of
 * head h of two rows of one run, whose numbers are those in all runs, without rotation where the
 * table is NULL, and capped where p->cap is above 0. */
double bi_ref_rotated(const float *x, const float *table, int32_t d, int32_t i);
double bi_ref_multiquery_logit(const struct bi_multiquery_params *p, int64_t row, int32_t h,
                               int64_t key);
/* multiquery_grad.c: checks inputs q, k, v, table, bias, dy and sums of the derivatives, of which
 * table, bias and sums may be missing (0 or INTERNAL); the parameters that they have of multiquery,
 * all but y, missing inputs as *b has them; what they cost; the t of multiquery_grad.h, and *weight
 * = the p, by the sums, which are there. */
int bi_expect_multiquery_grad(const struct bi_graph *g, const struct bi_node *node,
                              struct bioinfer_error *err);
struct bi_multiquery_params bi_multiquery_params_of(const struct bi_graph *g,
                                                    const struct bi_node *node,
                                                    const struct bi_bind *b);
void bi_cost_multiquery_grad(const struct bi_graph *g, const struct bi_node *node, double *flops,
                             double *bytes);
double bi_ref_multiquery_slope(const struct bi_multiquery_grad_params *p, int64_t row, int32_t h,
                               int64_t key, double *weight);
/* multiquery_grad.c: x[d] rotated back from its place in a run, 0 to n - 1; rounded alone where
 * there is no table. */
void bi_ref_rotate_back(const struct bi_multiquery_params *p, int64_t place, const double *x,
                        float *y);

#endif

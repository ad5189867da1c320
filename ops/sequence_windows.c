/* sequence_windows.c - the rows around every residue, side by side; zero outside the sequence.
 *   x [T, C], start -> [T, taps C]; a matmul behind it is a convolution over residues */
#include <string.h>

#include "../kernels/sequence_windows.h"
#include "shared.h"

static int sequence_windows_infer(struct bi_graph *g, struct bi_node *node,
                                  struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect_start(g, node, 1, err);
    if (!st && (x->axis != BI_AXIS_TOKENS || BI_ATTR(node, sequence_windows)->taps < 1 ||
                BI_ATTR(node, sequence_windows)->taps % 2 == 0))
        st = bi_fail(err, BIOINFER_INTERNAL, "sequence_windows: %d taps over %s",
                     BI_ATTR(node, sequence_windows)->taps, bi_shape_text(x).text);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2,
                     (int64_t[]){x->shape[0], BI_ATTR(node, sequence_windows)->taps * x->shape[1]});
    return st;
}

static void sequence_windows_launch(const struct bi_graph *g, const struct bi_node *node,
                                    const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "sequence_windows", struct bi_sequence_windows_params, .counts = b->counts,
              .start = b->in[1], .x = b->in[0], .y = b->out[0], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .width = (int32_t)bi_in(g, node, 0)->shape[1],
              .taps = BI_ATTR(node, sequence_windows)->taps,
              .n_prefix = BI_ATTR(node, sequence_windows)->n_prefix,
              .n_suffix = BI_ATTR(node, sequence_windows)->n_suffix);
}

static void sequence_windows_reference(const void *params)
{
    const struct bi_sequence_windows_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++) {
        int64_t first = p->start[s] + p->n_prefix, end = p->start[s + 1] - p->n_suffix;
        for (int64_t t = p->start[s]; t < p->start[s + 1]; t++)
            for (int64_t k = 0; k < p->taps; k++) {
                int64_t from = t + k - p->taps / 2;
                bool there = t >= first && t < end && from >= first && from < end;
                for (int64_t c = 0; c < p->width; c++)
                    p->y[t * p->ldy + k * p->width + c] = there ? p->x[from * p->ldx + c] : 0;
            }
    }
}

/* taps odd; special tokens get zeros. A matmul behind it is a convolution over residues. */
bi_value_id bi_sequence_windows(struct bi_graph *g, bi_value_id x, bi_value_id start, int32_t taps,
                                int32_t n_prefix, int32_t n_suffix)
{
    return bi_node_add(
        g, BI_OP_SEQUENCE_WINDOWS, BI_IN(x, start),
        BI_ATTRS(sequence_windows, .taps = taps, .n_prefix = n_prefix, .n_suffix = n_suffix));
}

const struct bi_op bi_op_sequence_windows = {
    .name = "sequence_windows",
    .infer = sequence_windows_infer,
    .launch = sequence_windows_launch,
    .reference = sequence_windows_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};

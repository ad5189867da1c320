/* model.c - Protenix: structures of complexes of proteins, nucleic acids, ligands and ions.
 *
 * bytedance/Protenix, Apache-2.0 (code and weights), an open model of AlphaFold 3's kind: base
 * v0.5.0 and v1.0.0, v2, mini and tiny. Written from a specification and a statement of it in
 * NumPy, which was compared with the published program.
 *
 *   stem:   inputs of tokens, once (trunk.c)
 *   passes: pairs and single tokens, 10 times or 4 (trunk.c)
 *   sample: atoms out of noise (diffusion.c), and how sure the network is of them (confidence.c)
 *
 * What one program keeps the next ones read. No task runs these programs yet: the family is not in
 * models.inc (docs/design/complexes.md). */
#include "protenix.h"

static bi_value_id kept(const struct protenix_graph *b, const char *name, enum bi_axis axis,
                        int64_t n, int64_t width)
{
    return bi_input_kept(b->g, name, axis, n, width);
}

/* Finds the values that the last pass left, or zeros. */
static struct protenix_trunk before(const struct protenix_graph *b, bool first)
{
    const struct bi_fold_shape *s = b->shape;
    const struct protenix *f = b->f;
    struct protenix_trunk t = {
        .inputs = kept(b, PROTENIX_KEPT_INPUTS, BI_AXIS_TOKENS, s->n_tokens, f->inputs)};
    if (first) {
        t.single = bi_fill(b->g, BI_F32, BI_AXIS_TOKENS, s->n_tokens, f->single, 0);
        t.pair = bi_fill(b->g, BI_F32, BI_AXIS_GRID, s->n_grid, f->pair, 0);
    } else {
        t.single = kept(b, PROTENIX_KEPT_SINGLE, BI_AXIS_TOKENS, s->n_tokens, f->single);
        t.pair = kept(b, PROTENIX_KEPT_PAIRS, BI_AXIS_GRID, s->n_grid, f->pair);
    }
    return t;
}

void protenix_build(struct protenix_graph *b)
{
    const int32_t program = b->shape->program;
    struct protenix_trunk t;
    protenix_add_inputs(b);
    if (program == BI_FOLD_STEM) {
        bi_output_kept(b->g, protenix_inputs(b), PROTENIX_KEPT_INPUTS);
        return;
    }
    t = before(b, program == BI_FOLD_FIRST || program == BI_FOLD_ONLY);
    if (program == BI_FOLD_SAMPLE) {
        protenix_rate(b, &t, protenix_sample(b, &t));
        return;
    }
    t = protenix_pass(b, &t);
    bi_output_kept(b->g, t.single, PROTENIX_KEPT_SINGLE);
    bi_output_kept(b->g, t.pair, PROTENIX_KEPT_PAIRS);
}

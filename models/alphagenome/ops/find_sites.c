/* find_sites.c - find_sites: where sites of a window are among those that its tiles have found.
 *   found [tiles 4 k] i32, sites [4 k] i32 -> [4 k] i32 (kernels/junctions.h)
 * step: rows from the first one of a tile to that of the next */
#include <string.h>

#include "../../../kernels/junctions.h"
#include "../../../ops/shared.h"

static int find_sites_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *found = bi_in(g, node, 0), *sites = bi_in(g, node, 1);
    const int64_t n = sites->shape[0];
    int st = bi_expect(g, node, 0, 1, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, -1, err);
    if (!st && (found->dtype != BI_I32 || sites->dtype != BI_I32 || n < 1 ||
                n % BI_JUNCTION_CLASSES || found->shape[0] < n || found->shape[0] % n))
        st = bi_fail(err, BIOINFER_INTERNAL, "find_sites: %s of %s among %s of %s, expected int32",
                     bi_shape_text(sites).text, bi_dtype_name(sites->dtype),
                     bi_shape_text(found).text, bi_dtype_name(found->dtype));
    if (!st) {
        bi_out_shape(g, node, 0, BI_AXIS_FIXED, 1, (int64_t[]){n});
        bi_out(g, node, 0)->dtype = BI_I32;
    }
    return st;
}

static void find_sites_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    const int64_t n = bi_in(g, node, 1)->shape[0];
    BI_LAUNCH(launch, "find_sites", struct bi_find_sites_params, .counts = b->counts,
              .found = b->in[0], .sites = b->in[1], .y = b->out[0],
              .step = BI_ATTR(node, find_sites)->step,
              .n_tiles = (int32_t)(bi_in(g, node, 0)->shape[0] / n),
              .k = (int32_t)(n / BI_JUNCTION_CLASSES));
}

static void find_sites_reference(const void *params)
{
    const struct bi_find_sites_params *p = params;
    const int32_t n = BI_JUNCTION_CLASSES * p->k;
    for (int32_t i = 0; i < n; i++) {
        p->y[i] = -1;
        for (int32_t j = 0; p->sites[i] >= 0 && p->y[i] < 0 && j < p->n_tiles * n; j++)
            if (j % n / p->k == i / p->k && p->found[j] >= 0 &&
                p->found[j] + j / n * p->step == p->sites[i])
                p->y[i] = j;
    }
}

bi_value_id bi_find_sites(struct bi_graph *g, bi_value_id found, bi_value_id sites, int64_t step)
{
    return bi_node_add(g, BI_OP_FIND_SITES, BI_IN(found, sites),
                       BI_ATTRS(find_sites, .step = (int32_t)step));
}

const struct bi_op bi_op_find_sites = {
    .name = "find_sites",
    .infer = find_sites_infer,
    .launch = find_sites_launch,
    .reference = find_sites_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};

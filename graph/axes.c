/* axes.c - axes whose counts follow from those of others. */
#include "graph.h"

#include <stddef.h>
#include <string.h>

/* A row of axes.inc. */
static const struct axis {
    const char *name;
    size_t count; /* where struct bi_counts has it */
    int32_t times;
} axes[BI_AXES] = {
    [BI_AXIS_FIXED] = {.name = "FIXED"},
#define BI_AXIS_ROW(NAME, field, times)                                                            \
    [BI_AXIS_##NAME] = {#NAME, offsetof(struct bi_counts, field), times},
#include "../kernels/axes.inc"
};

const char *bi_axis_name(enum bi_axis axis)
{
    return axes[axis].name;
}

struct bi_counts bi_graph_bucket(const struct bi_graph *g)
{
    return (struct bi_counts){.n_tokens = (int32_t)g->n_tokens,
                              .n_seqs = (int32_t)g->n_seqs,
                              .n_rows = (int32_t)g->n_rows,
                              .longest = (int32_t)g->longest,
                              .n_grid = (int32_t)g->n_grid};
}

void bi_axis_times(struct bi_graph *g, enum bi_axis axis, enum bi_axis of, int32_t times)
{
    bool sound = axis != BI_AXIS_FIXED && axes[axis].times == 1 && of != BI_AXIS_FIXED &&
                 axes[of].count != axes[axis].count && times >= 0;
    for (int i = 0; i < g->n_follows; i++)
        sound = sound && g->follows[i].axis != axis;
    if (!sound || g->n_follows == BI_COUNT(g->follows)) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "axis %s cannot be %d of %s", axes[axis].name, times,
                      axes[of].name);
        return;
    }
    g->follows[g->n_follows++] = (struct bi_axis_follows){axis, of, times};
}

int bi_axes_count(const struct bi_graph *g, struct bi_counts *counts, struct bioinfer_error *err)
{
    for (int i = 0; i < g->n_follows; i++) {
        const struct bi_axis_follows *f = &g->follows[i];
        const int64_t n = f->times * bi_live_rows(counts, f->of, 0);
        const int32_t count = (int32_t)n;
        if (n > INT32_MAX)
            return bi_fail(err, BIOINFER_TOO_LONG, "a batch of %lld rows of axis %s, at most %d",
                           (long long)n, axes[f->axis].name, INT32_MAX);
        memcpy((char *)counts + axes[f->axis].count, &count, sizeof count);
    }
    return 0;
}

/* axes_test.c - axes: the rows that a count gives them, and counts that follow from others. */
#define _POSIX_C_SOURCE 200809L
#include "graph_fix.h"

static void axes_have_rows(void)
{
    const struct bi_counts counts = {
        .n_tokens = 7, .n_seqs = 2, .longest = 4, .n_edges = 30, .n_steps = 5, .n_grid = 25};
    CHECK_EQ(bi_live_rows(&counts, BI_AXIS_FIXED, 3), 3);
    CHECK_EQ(bi_live_rows(&counts, BI_AXIS_TOKENS, 3), 7);
    CHECK_EQ(bi_live_rows(&counts, BI_AXIS_SEQS, 3), 2);
    CHECK_EQ(bi_live_rows(&counts, BI_AXIS_LONGEST, 3), 4);
    CHECK_EQ(bi_live_rows(&counts, BI_AXIS_EDGES, 3), 30);
    CHECK_EQ(bi_live_rows(&counts, BI_AXIS_VECTORS, 3), 21);
    CHECK_EQ(bi_live_rows(&counts, BI_AXIS_TENSORS, 3), 35);
    CHECK_EQ(bi_live_rows(&counts, BI_AXIS_GRID, 3), 25);
    CHECK_STR(bi_axis_name(BI_AXIS_FIXED), "FIXED");
    CHECK_STR(bi_axis_name(BI_AXIS_SAMPLED_EDGES), "SAMPLED_EDGES");
    for (int a = 0; a < BI_AXES; a++)
        CHECK(bi_axis_name((enum bi_axis)a) != NULL);
}

static void counts_follow(void)
{
    struct bi_counts counts = {.n_tokens = 9, .n_seqs = 3, .n_samples = 2, .n_pairs = 77};
    struct bioinfer_error err = {0};
    struct fix f;
    fix_open(&f);
    bi_axis_times(f.g, BI_AXIS_EDGES, BI_AXIS_TOKENS, 48);
    bi_axis_times(f.g, BI_AXIS_SAMPLE_EDGES, BI_AXIS_SAMPLES, 48);
    bi_axis_times(f.g, BI_AXIS_ATOMS, BI_AXIS_TOKENS, 25);
    bi_axis_times(f.g, BI_AXIS_PAIRS, BI_AXIS_ATOMS, 25);
    CHECK_EQ(bi_graph_status(f.g, &err), 0);
    CHECK_EQ(bi_axes_count(f.g, &counts, &err), 0);
    CHECK_EQ(counts.n_edges, 432);
    CHECK_EQ(counts.n_sample_edges, 96);
    CHECK_EQ(counts.n_atoms, 225);
    CHECK_EQ(counts.n_pairs, 5625);
    CHECK_EQ(counts.n_tokens, 9);
    CHECK_EQ(counts.n_seqs, 3);
    CHECK_EQ(counts.n_sampled_edges, 0);
    counts.n_tokens = INT32_MAX / 48; /* the most that has room */
    counts.n_tokens = counts.n_tokens < INT32_MAX / 625 ? counts.n_tokens : INT32_MAX / 625;
    CHECK_EQ(bi_axes_count(f.g, &counts, &err), 0);
    counts.n_tokens++;
    CHECK_EQ(bi_axes_count(f.g, &counts, &err), BIOINFER_TOO_LONG);
    CHECK_HAS(err.text, "axis PAIRS");
    bi_graph_free(&f.g);
    fix_open(&f); /* one row too many */
    bi_axis_times(f.g, BI_AXIS_EDGES, BI_AXIS_TOKENS, 2);
    counts.n_tokens = INT32_MAX / 2 + 1;
    CHECK_EQ(bi_axes_count(f.g, &counts, &err), BIOINFER_TOO_LONG);
    CHECK_HAS(err.text, "2147483648 rows of axis EDGES, at most 2147483647");
    bi_graph_free(&f.g);
}

static void what_cannot_follow(void)
{
    static const struct {
        enum bi_axis axis, of;
        int32_t times;
    } bad[] = {{BI_AXIS_FIXED, BI_AXIS_TOKENS, 2},   {BI_AXIS_EDGES, BI_AXIS_FIXED, 2},
               {BI_AXIS_EDGES, BI_AXIS_EDGES, 2},    {BI_AXIS_VECTORS, BI_AXIS_SEQS, 2},
               {BI_AXIS_TOKENS, BI_AXIS_VECTORS, 2}, {BI_AXIS_EDGES, BI_AXIS_TOKENS, -1}};
    struct bioinfer_error err = {0};
    struct fix f;
    for (size_t i = 0; i < BI_COUNT(bad); i++) {
        fix_open(&f);
        bi_axis_times(f.g, bad[i].axis, bad[i].of, bad[i].times);
        CHECK_EQ(bi_graph_status(f.g, &err), BIOINFER_INTERNAL);
        CHECK_HAS(err.text, "cannot be");
        bi_graph_free(&f.g);
    }
    fix_open(&f); /* an axis follows from one other */
    bi_axis_times(f.g, BI_AXIS_EDGES, BI_AXIS_TOKENS, 2);
    CHECK_EQ(bi_graph_status(f.g, &err), 0);
    bi_axis_times(f.g, BI_AXIS_EDGES, BI_AXIS_SEQS, 2);
    CHECK_EQ(bi_graph_status(f.g, &err), BIOINFER_INTERNAL);
    bi_graph_free(&f.g);
}

int main(void)
{
    env = bi_env_default();
    TEST(axes_have_rows);
    TEST(counts_follow);
    TEST(what_cannot_follow);
    return test_report();
}

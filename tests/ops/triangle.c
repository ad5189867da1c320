/* triangle.c - cases of the triangle kernel; triangle_test.c has long sequences. */
#include "checkkernel.h"
#include "kernels/triangle.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, int incoming, int cpu_only,
                  const char *note)
{
    typedef struct bi_triangle_params T;
    T p = {.width = width, .incoming = incoming};
    double triples = 0;
    for (int i = 0; i < n->n; i++)
        triples += (double)n->of[i] * n->of[i] * n->of[i];
    ck_check(ck,
             &(struct ck_case){.entry = "triangle",
                               .reference = bi_op_triangle.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .grid_start = offsetof(T, grid_start),
                               .rows = offsetof(T, rows),
                               .arrays =
                                   {
                                       {CK_ARRAY(T, a, lda), CK_IN, BI_AXIS_GRID, .width = width},
                                       {CK_ARRAY(T, b, ldb), CK_IN, BI_AXIS_GRID, .width = width},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_GRID, .width = width},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               .cpu_only = cpu_only,
                               .absolute = 1e-4,
                               .relative = 1e-5,
                               .nmse = 1e-11,
                               .flops = 2 * triples * width,
                               .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 17, 0, 16, -1}, longer[] = {200, 65, -1};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(1, 256);
        check(ck, &n, 128, 0, 0, "L=256 C=128");
        check(ck, &n, 128, 1, 0, "L=256 C=128 incoming");
        return;
    }
    for (int i = 0; i < 16; i++) {
        struct ck_lengths n = i < 4 ? ck_lengths_of(edges) : ck_lengths(ck, 4, 20);
        check(ck, &n, (int)ck_random(ck, 1, i % 3 ? 8 : 40), i % 2, 0, i < 4 ? "edges" : "random");
    }
    struct ck_lengths n = ck_lengths_of(longer);
    check(ck, &n, 3, 0, 1, "long");
    check(ck, &n, 17, 1, 1, "long, incoming");
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"triangle_f16", {CK_AT(triangle, a), CK_AT(triangle, b), CK_END}, 0, 0, 0, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_triangle = {.stem = "triangle", .cases = cases, .entries = entries};

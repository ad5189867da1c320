/* pair_embedding.c - cases of the pair_embedding kernel. */
#include "checkkernel.h"
#include "kernels/pair_embedding.h"

typedef struct bi_pair_embedding_params T;

enum by { NUMBERS, FRAMES, NOTHING, PLACES, SLOPE };

static void check(struct ck *ck, const struct ck_lengths *n, int width, enum by by, int absent,
                  const char *note)
{
    const int frame = by == FRAMES ? 7 : by == PLACES || by == SLOPE ? 3 : 0;
    T p = {.width = width, .n = (int32_t)ck_random(ck, 2, 32), .low = 0.5f, .high = 4};
    ck_check(ck, &(struct ck_case){
                     .entry = "pair_embedding",
                     .reference = bi_op_pair_embedding.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .start = offsetof(T, start),
                     .grid_start = offsetof(T, grid_start),
                     .rows = offsetof(T, rows),
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_GRID, .width = width,
                              .absent = absent},
                             {CK_ARRAY(T, table, ldt), CK_IN, BI_AXIS_FIXED, .rows = 2 * p.n + 2,
                              .width = width},
                             {CK_PLAIN(T, number), CK_IN, BI_AXIS_TOKENS, .width = 1,
                              .fill = CK_IDS, .limit = 60, .absent = by != NUMBERS},
                             {CK_ARRAY(T, frame, ldf), CK_IN, BI_AXIS_TOKENS, .width = frame,
                              .scale = 0.5, .absent = !frame},
                             {CK_ARRAY(T, at, lda), CK_IN, BI_AXIS_TOKENS, .width = 4,
                              .absent = by != FRAMES},
                             {CK_PLAIN(T, slope), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width,
                              .absent = by != SLOPE},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_GRID, .width = width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .blind = by == NOTHING ? 0 : INT32_MAX, /* comparisons with NaN are false */
                     .absolute = 1e-6,
                     .relative = 1e-6,
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 17, 0, 9, -1};
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        struct ck_lengths n = i < 4 ? ck_lengths_of(edges) : ck_lengths(ck, 5, 20);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 8 : 150), (enum by)(i % 5), i / 2 % 2,
              i < 4 ? "edges" : "ragged");
    }
}

const struct ck_op ck_pair_embedding = {.stem = "pair_embedding", .cases = cases};

/* embedding.c - cases of the embedding kernel. */
#include "checkkernel.h"
#include "kernels/embedding.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, int vocab, int scaled,
                  const char *note)
{
    typedef struct bi_embedding_params T;
    T p = {.axis = BI_AXIS_TOKENS, .width = width, .vocab = vocab};
    ck_check(ck,
             &(struct ck_case){
                 .entry = "embedding",
                 .reference = bi_op_embedding.reference,
                 .params = &p,
                 .params_size = sizeof p,
                 .rows = offsetof(T, rows),
                 .arrays =
                     {
                         {CK_PLAIN(T, table), CK_IN, BI_AXIS_FIXED, .rows = vocab, .width = width},
                         {CK_PLAIN(T, ids), CK_IN, BI_AXIS_TOKENS, .width = 1, .fill = CK_IDS,
                          .limit = vocab},
                         {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                         {CK_PLAIN(T, scale), CK_IN, BI_AXIS_TOKENS, .width = 1, .absent = !scaled},
                     },
                 .lengths = n->of,
                 .n_seqs = n->n,
                 .relative = 1e-7,
                 .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 640, 33, 0, "3800 x 640");
        check(ck, &n, 640, 33, 1, "3800 x 640 scaled");
        return;
    }
    for (int i = 0; i < 40; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 700), (int)ck_random(ck, 1, 40), i % 3 > 0,
              "random");
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"embedding_f16", {CK_AT(embedding, table), CK_END}, 0, 0, 0, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_embedding = {.stem = "embedding", .cases = cases, .entries = entries};

/* contacts.c - cases of the contacts kernel. */
#include "checkkernel.h"
#include "kernels/contacts.h"

static void check(struct ck *ck, const struct ck_lengths *n, int heads, int prefix, int suffix,
                  int before, const char *note)
{
    typedef struct bi_contacts_params T;
    const int64_t longest = n->longest + 3;
    T p = {.n_heads = heads, .n_prefix = prefix, .n_suffix = suffix, .ldh = longest};
    ck_check(ck, &(struct ck_case){
                     .entry = "contacts",
                     .reference = bi_op_contacts.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .start = offsetof(T, start),
                     .arrays =
                         {
                             {CK_ARRAY(T, p, ldp), CK_IN, BI_AXIS_TOKENS, .width = heads * longest,
                              .fill = CK_MAPS, .limit = longest},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = longest,
                              .packed = 1},
                             {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = heads},
                             {CK_ARRAY(T, before, ldb), CK_IN, BI_AXIS_TOKENS, .width = longest,
                              .absent = !before},
                             {CK_PLAIN(T, sums), CK_WORK, BI_AXIS_TOKENS, .width = 2 * heads},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .blind = prefix + suffix,
                     .absolute = 5e-6,
                     .relative = 5e-6,
                     .nmse = 1e-8,
                     .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(1, 475);
        check(ck, &n, 20, 1, 1, 1, "H=20 S=475");
        return;
    }
    static const int32_t edges[] = {1, 2, 3, 4, 0, 15, 16, 17, 33, 34, 35, 66, -1};
    struct ck_lengths n = ck_lengths_of(edges);
    check(ck, &n, 2, 1, 1, 0, "edges");
    check(ck, &n, 3, 1, 1, 1, "edges");
    for (int i = 0; i < 30; i++) {
        n = ck_lengths(ck, 5, 70);
        check(ck, &n, (int)ck_random(ck, 1, 5), (int)ck_random(ck, 0, 2), (int)ck_random(ck, 0, 2),
              i % 2, "random");
    }
}

const struct ck_op ck_contacts = {.stem = "contacts", .cases = cases};

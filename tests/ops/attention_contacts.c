/* attention_contacts.c - cases of the attention_contacts kernel. */
#include "checkkernel.h"
#include "kernels/contacts.h"

static void check(struct ck *ck, const struct ck_lengths *n, int heads, int d, int table,
                  int prefix, int suffix, int before, const char *note)
{
    typedef struct bi_attention_contacts_params T;
    const int64_t width = (int64_t)heads * d, longest = n->longest + 3;
    double pairs = 0;
    for (int i = 0; i < n->n; i++)
        pairs += (double)n->of[i] * n->of[i];
    T p = {.n_heads = heads, .head_dim = d, .n_prefix = prefix, .n_suffix = suffix, .scale = 0.25f};
    ck_check(ck, &(struct ck_case){
                     .entry = "attention_contacts",
                     .reference = bi_op_attention_contacts.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .start = offsetof(T, start),
                     .arrays =
                         {
                             {CK_ARRAY(T, q, ldq), CK_IN, BI_AXIS_TOKENS, .width = width},
                             {CK_ARRAY(T, k, ldk), CK_IN, BI_AXIS_TOKENS, .width = width},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = longest,
                              .packed = 1},
                             {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = heads},
                             {CK_PLAIN(T, table), CK_IN, BI_AXIS_LONGEST, .width = d, .scale = 0.7,
                              .absent = !table},
                             {CK_ARRAY(T, before, ldb), CK_IN, BI_AXIS_TOKENS, .width = longest,
                              .absent = !before},
                             {CK_PLAIN(T, sums), CK_WORK, BI_AXIS_TOKENS, .width = 2 * heads},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .blind = prefix + suffix,
                     .absolute = 1e-5,
                     .relative = 1e-5,
                     .nmse = 1e-8,
                     .flops = 2 * pairs * (double)width,
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const int widths[] = {16, 24, 32, 64, 8, 10};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(1, 475);
        check(ck, &n, 20, 16, 1, 1, 1, 1, "H=20 d=16 S=475");
        check(ck, &n, 20, 64, 1, 1, 1, 1, "H=20 d=64 S=475");
        check(ck, &n, 20, 64, 0, 1, 1, 1, "H=20 d=64 S=475 plain");
        return;
    }
    static const int32_t edges[] = {1, 2, 3, 4, 0, 15, 16, 17, 49, 50, 51, 66, -1};
    struct ck_lengths n = ck_lengths_of(edges);
    check(ck, &n, 2, 16, 1, 1, 1, 0, "edges");
    check(ck, &n, 3, 24, 1, 1, 1, 1, "edges");
    for (int i = 0; i < 24; i++) {
        n = ck_lengths(ck, 5, 70);
        check(ck, &n, (int)ck_random(ck, 1, 4), widths[i % 6], i % 4 != 3, (int)ck_random(ck, 0, 2),
              (int)ck_random(ck, 0, 2), i % 2, "random");
    }
    static const int32_t longer[] = {140, -1}, longest[] = {497, -1};
    n = ck_lengths_of(longer);
    check(ck, &n, 34, 64, 0, 1, 1, 1, "many heads");
    check(ck, &n, 2, 128, 0, 1, 1, 1, "wide heads");
    check(ck, &n, 2, 80, 0, 0, 2, 0, "wide heads");
    check(ck, &n, 2, 16, 1, 1, 1, 1, "tiles of keys");
    n = ck_lengths_of(longest);
    check(ck, &n, 1, 8, 1, 1, 1, 1, "more than a piece");
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"attention_contacts_f32", {CK_END}, 5e-6, 0, 1e-11, NULL},
    {"attention_contacts_f16",
     {CK_AT(attention_contacts, q), CK_AT(attention_contacts, k), CK_END}, 5e-6, 0, 1e-11, NULL},
    {"attention_contacts_plain_f16",
     {CK_AT(attention_contacts, q), CK_AT(attention_contacts, k), CK_END}, 5e-6, 0, 1e-11, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_attention_contacts = {
    .stem = "attention_contacts", .cases = cases, .entries = entries};

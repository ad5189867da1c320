/* rel_attention_grads.h - sizes that the cases of both derivatives of rel_attention have. */
#ifndef BI_REL_ATTENTION_GRADS_TEST_H
#define BI_REL_ATTENTION_GRADS_TEST_H

#include "checkkernel.h"
#include "kernels/rel_attention_grad.h"

typedef void grad_check(struct ck *ck, const struct ck_lengths *one, int windows, int n, int first,
                        int queries, int heads, int key_dim, int value_dim, const char *note);

static void grad_cases(struct ck *ck, grad_check *check)
{
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    if (ck_bench(ck))
        return;
    check(ck, &one, 1, 1, 0, 1, 1, 1, 1, "one token");
    check(ck, &one, 1, 130, 0, 130, 1, 64, 192, "d=64 e=192");
    check(ck, &one, 1, 140, 6, 60, 2, 16, 24, "some queries");
    check(ck, &one, 2, 40, 5, 30, 2, 8, 12, "two windows");
    check(ck, &one, 1, 9, 0, 9, 1, BI_REL_GRAD_KEY, BI_REL_GRAD_VALUE, "the widest heads");
    for (int i = 0; i < 12; i++) {
        const int n = (int)ck_random(ck, 1, 50), first = i % 2 ? (int)ck_random(ck, 0, n - 1) : 0;
        check(ck, &one, i % 4 ? 1 : 3, n, first, (int)ck_random(ck, 1, n - first),
              (int)ck_random(ck, 1, 3), (int)ck_random(ck, 1, 40), (int)ck_random(ck, 1, 60),
              "random");
    }
}

#endif

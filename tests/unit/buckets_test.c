/* buckets_test.c - the buckets of distances, as the definition of relative positions has them. */
#include "models/t5.h"

#include "../test.h"

/* 16 buckets: each distance below 8 has its own, 8 + 8 log(n / 8) / log(128 / 8) rounded down is
 * the bucket of further ones, and all from 128 on have the last. */
static void distances_share_buckets(void)
{
    static const struct {
        int64_t n, bucket;
    } cases[] = {{0, 0},    {1, 1},    {7, 7},    {8, 8},    {11, 8},    {12, 9},    {15, 9},
                 {17, 10},  {22, 10},  {23, 11},  {63, 13},  {65, 14},   {90, 14},   {91, 15},
                 {127, 15}, {128, 15}, {129, 15}, {200, 15}, {1000, 15}, {40000, 15}};
    for (size_t i = 0; i < BI_COUNT(cases); i++)
        if (!CHECK_EQ(bi_t5_bucket(cases[i].n, 16, 128), cases[i].bucket))
            fprintf(stderr, "    distance %lld\n", (long long)cases[i].n);
    for (int64_t n = 1; n < 300; n++) { /* no bucket is left out, and none comes again */
        const int64_t step = bi_t5_bucket(n, 32, 128) - bi_t5_bucket(n - 1, 32, 128);
        CHECK(step == 0 || step == 1);
    }
    CHECK_EQ(bi_t5_bucket(299, 32, 128), 31);
}

int main(void)
{
    TEST(distances_share_buckets);
    return test_report();
}

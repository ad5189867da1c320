/* join_test.c - tensors of two sets in one: names, values, names that meet, and every allocation
 * failing in turn. */
#include "../../loaders/checkpoint.h"
#include "../test.h"
#include "failing_reads.h"

struct bytes {
    size_t n;
    char of[512];
};

/* A safetensors file of two tensors of two numbers each: first, first + 1, ... */
static struct bytes make(const char *a, const char *b, float first)
{
    const float x[4] = {first, first + 1, first + 2, first + 3};
    struct bytes made;
    const int n = snprintf(made.of + 8, sizeof made.of - 8,
                           "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                           "\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}",
                           a, b);
    memset(made.of, 0, 8);
    made.of[0] = (char)(n & 255);
    made.of[1] = (char)(n >> 8);
    memcpy(made.of + 8 + n, x, sizeof x);
    made.n = 8 + (size_t)n + sizeof x;
    return made;
}

static int open_both(const struct bi_env *env, const struct bytes file[2],
                     struct bi_checkpoint *cp[2], struct bioinfer_error *err)
{
    const int st = bi_checkpoint_open_memory(&cp[0], env, "first", file[0].of, file[0].n, NULL,
                                             err);
    return st ? st
              : bi_checkpoint_open_memory(&cp[1], env, "second", file[1].of, file[1].n, NULL, err);
}

static void joins(void)
{
    static const char *const names[] = {"a", "stem.b", "stem.c", "stem.d"};
    const struct bytes file[2] = {make("a", "stem.b", 1), make("esmc.c", "esmc.d", 5)};
    const struct bytes more = make("other.x", "esmc.y", 9);
    const struct bi_env env = bi_env_default();
    struct bi_checkpoint *cp[2] = {NULL, NULL};
    struct bioinfer_error err = {0};
    float x[2];
    CHECK_EQ(open_both(&env, file, cp, &err), 0);
    CHECK_EQ(bi_checkpoint_join(cp[0], &cp[1], "esmc.", "stem.", &err), 0);
    CHECK(!cp[1]);
    CHECK_EQ(cp[0]->n_tensors, 4);
    CHECK_EQ(cp[0]->n_files, 2);
    for (int i = 0; i < 4; i++) {
        const struct bi_tensor *t = bi_checkpoint_find(cp[0], names[i]);
        if (!CHECK(t != NULL))
            continue;
        CHECK_EQ(bi_tensor_read_f32(cp[0], t, 0, 2, x, &err), 0);
        CHECK(x[0] == (float)(1 + 2 * i) && x[1] == (float)(2 + 2 * i));
    }
    CHECK(!bi_checkpoint_find(cp[0], "esmc.c"));
    CHECK_EQ(bi_checkpoint_open_memory(&cp[1], &env, "third", more.of, more.n, NULL, &err), 0);
    CHECK_EQ(bi_checkpoint_join(cp[0], &cp[1], "esmc.", "stem.", &err), 0);
    CHECK_EQ(cp[0]->n_tensors, 5); /* a name without the word stays out */
    CHECK(bi_checkpoint_find(cp[0], "stem.y") != NULL);
    bi_checkpoint_close(&cp[0]);
}

static void refuses(void)
{
    const struct bytes file[2] = {make("a", "stem.b", 1), make("esmc.b", "esmc.d", 5)};
    const struct bi_env env = bi_env_default();
    struct bi_checkpoint *cp[2] = {NULL, NULL};
    struct bioinfer_error err = {0};
    CHECK_EQ(open_both(&env, file, cp, &err), 0);
    CHECK_EQ(bi_checkpoint_join(cp[0], &cp[1], "esmc.", "stem.", &err), BIOINFER_FORMAT);
    CHECK_HAS(err.text, "first and second: both have the tensor stem.b");
    bi_checkpoint_close(&cp[0]);
    bi_checkpoint_close(&cp[1]);
}

static int use(struct failing *f, struct bioinfer_error *err)
{
    const struct bytes file[2] = {make("a", "stem.b", 1), make("esmc.c", "esmc.d", 5)};
    struct bi_checkpoint *cp[2] = {NULL, NULL};
    struct bi_env env = bi_env_default();
    int st;
    env.alloc = failing_alloc;
    env.free = failing_free;
    env.alloc_user = f;
    if (!(st = open_both(&env, file, cp, err)))
        st = bi_checkpoint_join(cp[0], &cp[1], "esmc.", "stem.", err);
    bi_checkpoint_close(&cp[0]);
    bi_checkpoint_close(&cp[1]);
    return st;
}

static void failures(void)
{
    each_allocation_fails(use, 10);
}

int main(void)
{
    TEST(joins);
    TEST(refuses);
    TEST(failures);
    return test_report();
}
